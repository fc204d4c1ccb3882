// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor copies of every rank, swizzle and element size: boxes inside, over each
// edge and outside. Shared memory is compared byte for byte as it lies.
#include <algorithm>

#include "test/helpers/Cases.h"

namespace kernelc::helpers {
namespace {

const ElementType kTypes[] = {ElementType::bf16, ElementType::f32, ElementType::u8, ElementType::f64, ElementType::i16, ElementType::f16};

const ElementType kSummed[] = {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::i32};

int64_t roundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// A tensor of bytes with a map over it, and boxes at `origins`, innermost first.
struct Window {
  ElementType type;
  int element;
  std::vector<int64_t> dims, strides; ///< strides in bytes, strides[0] the element's
  std::vector<int64_t> box;
  std::vector<int64_t> steps; ///< between the box's elements; empty: 1
  int swizzle;
  std::vector<std::vector<int>> origins;

  int64_t tensorBytes() const { return strides.back() * dims.back(); }
  int64_t boxBytes() const {
    int64_t n = element;
    for (int64_t b : box)
      n *= b;
    return n;
  }
  int64_t slotBytes() const { return roundUp(boxBytes(), 1024); }

  TensorMapArg map(int param) const {
    TensorMapArg m;
    m.base.param = param;
    m.type = type;
    for (size_t i = 0; i < dims.size(); i++) {
      m.dims.push_back(dims[i]);
      if (i)
        m.strides.push_back(strides[i]);
      int64_t step = steps.empty() ? 1 : steps[i];
      m.box.push_back((box[i] - 1) * step + 1); // counts what lies between
      m.elementStrides.push_back(uint32_t(step));
    }
    m.swizzleBytes = swizzle;
    return m;
  }
  /// fn(byte in the slot, byte in the tensor or -1) for every byte of box `b`.
  template <class Fn> void eachByte(size_t b, Fn fn) const {
    int64_t count = boxBytes();
    for (int64_t n = 0; n < count; n++) {
      int64_t rest = n / element, at = n % element;
      bool inside = true;
      for (size_t d = 0; d < box.size(); d++) {
        int64_t index = origins[b][d] + rest % box[d] * (steps.empty() ? 1 : steps[d]);
        rest /= box[d];
        inside &= index >= 0 && index < dims[d];
        at += index * strides[d];
      }
      // 16-byte chunks change places with the number of their 128-byte line.
      int64_t chunk = n / 16, line = n / 128;
      int64_t keys = swizzle == 128 ? 8 : swizzle == 64 ? 4 : swizzle == 32 ? 2 : 1;
      fn((chunk ^ (line % keys)) * 16 + n % 16, inside ? at : -1);
    }
  }
};

/// Rank and swizzle choose extents and boxes; along the innermost dim
/// the boxes are inside, over the end, before the beginning (where they are read) and outside.
Window makeWindow(int rank, int swizzle, bool disjoint, ElementType type, bool written = false) {
  Window w;
  w.type = type;
  w.element = elementBits(w.type) / 8;
  w.swizzle = swizzle;
  int64_t inner = (swizzle ? swizzle : rank == 1 ? 256 : 48) / w.element; // of the box
  // Boxes start at multiples of 16 bytes of a row; a window that ends inside such a granule is
  // read to its end, but written to the granule's.
  const int64_t granule = std::max(1, 16 / w.element);
  w.dims.push_back(2 * inner + (disjoint || written ? granule : 5));
  w.strides.push_back(w.element);
  w.box.push_back(inner);
  const int64_t extents[] = {0, 11, 5, 4, 3}, boxes[] = {0, 8, 3, 2, 2};
  int64_t bytes = roundUp(w.dims[0] * w.element, 16) + 16; // a gap behind each row
  for (int d = 1; d < rank; d++) {
    w.dims.push_back(extents[d]);
    w.strides.push_back(bytes);
    w.box.push_back(boxes[d]);
    bytes *= extents[d];
  }
  for (int n = 0; n < 4; n++) {
    std::vector<int> origin;
    for (int d = 0; d < rank; d++) {
      int64_t box = w.box[size_t(d)], extent = w.dims[size_t(d)];
      int places[] = {0, int(extent - box + 1), written ? int(box / 2) : -int(box / 2), int(extent)};
      for (int &place : places)
        if (d == 0)
          place = int(roundUp(place, granule));
      if (disjoint) // stores must not race: boxes side by side along the innermost dim
        places[0] = 0, places[1] = int(d ? 0 : box), places[2] = int(d ? 0 : 2 * box), places[3] = int(d ? 0 : 3 * box);
      origin.push_back(places[(n + (d && !disjoint ? d / 2 : 0)) % 4]);
    }
    w.origins.push_back(origin);
  }
  if (!disjoint && rank > 1)
    w.origins[3][1] = 0; // outside along one dim only
  return w;
}

std::string coordinates(int rank) {
  std::string s;
  for (int d = 0; d < rank; d++)
    s += ", at[" + std::to_string(rank) + " * b + " + std::to_string(d) + "]";
  return s;
}

std::vector<int32_t> flatOrigins(const Window &w) {
  std::vector<int32_t> flat;
  for (const auto &o : w.origins)
    flat.insert(flat.end(), o.begin(), o.end());
  return flat;
}

enum class Load { Plain, Strided, RoundedToTf32, Streaming };
/// Of kc_tma_load_STREAMING_RANKd.
std::string streamingPrefix(bool streaming) { return streaming ? "streaming_" : ""; }

void addLoad(std::vector<HelperCaseMaker> &cases, int rank, int swizzle, Load kind = Load::Plain) {
  std::string dims = std::to_string(rank) + "d";
  const char *suffix = kind == Load::Strided ? "_strided" : kind == Load::RoundedToTf32 ? "_tf32" : "";
  const std::string load = "tma_load_" + streamingPrefix(kind == Load::Streaming) + dims;
  HelperCaseMaker maker{load + "_swizzle" + std::to_string(swizzle) + suffix,
                        90,
                        90,
                        {"kc_" + load, "kc_tensor_map", "kc_mbarrier_init", "kc_fence_mbarrier_init", "kc_mbarrier_expect_tx",
                         "kc_mbarrier_wait", "kc_shared"},
                        nullptr};
  maker.make = [=] {
    Window w = makeWindow(rank, swizzle, false, kind == Load::RoundedToTf32 ? ElementType::f32 : kTypes[(rank + swizzle / 32) % 6]);
    if (kind == Load::Strided)
      for (int d = 0; d < rank; d++)
        w.steps.push_back(d ? d + 1 : 1); // the innermost has none
    auto x = randomBits<uint8_t>(size_t(w.tensorBytes()), 80u + unsigned(rank));
    std::vector<uint8_t> y(4 * size_t(w.boxBytes()));
    auto rounded = x;
    if (kind == Load::RoundedToTf32)
      for (size_t i = 0; i + 4 <= x.size(); i += 4) {
        uint32_t bits;
        std::memcpy(&bits, &x[i], 4);
        if ((bits & 0x7f800000u) == 0x7f800000u) // no infinities, no NaN
          bits &= 0x3fffffffu;
        std::memcpy(&x[i], &bits, 4);
        bits = (bits + 0x1000u) & ~0x1fffu;
        std::memcpy(&rounded[i], &bits, 4);
      }
    for (size_t b = 0; b < 4; b++)
      w.eachByte(b, [&](int64_t to, int64_t from) {
        y[b * size_t(w.boxBytes()) + size_t(to)] = from < 0 ? 0 : kind == Load::RoundedToTf32 ? rounded[size_t(from)] : x[size_t(from)];
      });
    TensorMapArg map = w.map(0);
    map.roundsToTf32 = kind == Load::RoundedToTf32;
    return CaseBuilder(maker)
        .input("x", x)
        .input("at", flatOrigins(w))
        .output("y", y)
        .launch("load", 128,
                fill(R"(
  unsigned char *smem = kc_shared(), *bar = smem + 4 * $slot$;
  if (threadIdx.x == 0) {
    kc_mbarrier_init(bar, 1);
    kc_fence_mbarrier_init();
    kc_mbarrier_expect_tx(bar, 4 * $box$);
    for (int b = 0; b < 4; b++)
      kc_$load$(smem + b * $slot$, &m0$at$, bar);
  }
  __syncthreads();
  kc_mbarrier_wait(bar, 0);
  for (int i = threadIdx.x; i < 4 * $box$; i += 128) y[i] = smem[i / $box$ * $slot$ + i % $box$];)",
                     {{"slot", std::to_string(w.slotBytes())},
                      {"box", std::to_string(w.boxBytes())},
                      {"load", load},
                      {"at", coordinates(rank)}}),
                4 * w.slotBytes() + 8, 1, 1, {map})
        .build();
  };
  cases.push_back(maker);
}

void addMulticast(std::vector<HelperCaseMaker> &cases, int rank, bool streaming = false) {
  const std::string load = "tma_load_multicast_" + streamingPrefix(streaming) + std::to_string(rank) + "d";
  HelperCaseMaker maker{load,
                        90,
                        90,
                        {"kc_" + load, "kc_tensor_map", "kc_mbarrier_init", "kc_fence_mbarrier_init", "kc_mbarrier_expect_tx",
                         "kc_mbarrier_wait", "kc_cluster_sync", "kc_cluster_rank", "kc_shared"},
                        nullptr};
  maker.make = [=] {
    // Block r of four loads box r into slot r of blocks 0, 2 and itself.
    Window w = makeWindow(rank, 64, false, kTypes[(rank + 2) % 6]);
    auto x = randomBits<uint8_t>(size_t(w.tensorBytes()), 90u + unsigned(rank));
    size_t box = size_t(w.boxBytes());
    std::vector<uint8_t> y(16 * box);
    for (size_t block = 0; block < 4; block++)
      for (size_t b = 0; b < 4; b++)
        if (block % 2 == 0 || b == block)
          w.eachByte(b, [&](int64_t to, int64_t from) { y[(4 * block + b) * box + size_t(to)] = from < 0 ? 0 : x[size_t(from)]; });
    return CaseBuilder(maker)
        .input("x", x)
        .input("at", flatOrigins(w))
        .output("y", y)
        .launch("multicast", 128,
                fill(R"(
  unsigned char *smem = kc_shared(), *bar = smem + 4 * $slot$;
  int b = kc_cluster_rank(), t = threadIdx.x;
  for (int i = t; i < 4 * $slot$; i += 128)
    if (b % 2 && i / $slot$ != b) smem[i] = 0;
  if (t == 0) {
    kc_mbarrier_init(bar, 1);
    kc_fence_mbarrier_init();
  }
  kc_cluster_sync();
  if (t == 0) {
    kc_mbarrier_expect_tx(bar, b % 2 ? $box$ : 4 * $box$);
    kc_$load$(smem + b * $slot$, &m0$at$, bar, 5u | 1u << b);
  }
  kc_mbarrier_wait(bar, 0);
  for (int i = t; i < 4 * $box$; i += 128) y[b * 4 * $box$ + i] = smem[i / $box$ * $slot$ + i % $box$];
  kc_cluster_sync();)",
                     {{"slot", std::to_string(w.slotBytes())}, {"box", std::to_string(box)}, {"load", load}, {"at", coordinates(rank)}}),
                4 * w.slotBytes() + 8, 4, 4, {w.map(0)})
        .build();
  };
  cases.push_back(maker);
}

void addStore(std::vector<HelperCaseMaker> &cases, int rank, int swizzle) {
  std::string dims = std::to_string(rank) + "d";
  HelperCaseMaker maker{"tma_store_" + dims + "_swizzle" + std::to_string(swizzle),
                        90,
                        90,
                        {"kc_tma_store_" + dims, "kc_tensor_map", "kc_tma_commit", "kc_tma_wait_read", "kc_fence_proxy_async", "kc_shared"},
                        nullptr};
  maker.make = [=] {
    Window w = makeWindow(rank, swizzle, true, kTypes[(rank + swizzle / 32) % 6]);
    size_t box = size_t(w.boxBytes());
    auto before = randomBits<uint8_t>(size_t(w.tensorBytes()), 100u + unsigned(rank)), after = before;
    auto x = randomBits<uint8_t>(4 * box, 110u + unsigned(rank));
    for (size_t b = 0; b < 4; b++)
      w.eachByte(b, [&](int64_t from, int64_t to) {
        if (to >= 0)
          after[size_t(to)] = x[b * box + size_t(from)];
      });
    return CaseBuilder(maker)
        .input("x", x)
        .input("at", flatOrigins(w))
        .inout("y", before, after)
        .launch("store", 128,
                fill(R"(
  unsigned char *smem = kc_shared();
  for (int i = threadIdx.x; i < 4 * $box$; i += 128) smem[i / $box$ * $slot$ + i % $box$] = x[i];
  kc_fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int b = 0; b < 4; b++) {
      kc_tma_store_$rank$d(&m0, smem + b * $slot$$at$);
      kc_tma_commit();
    }
    kc_tma_wait_read<2>();
    kc_tma_wait_read<0>();
  })",
                     {{"slot", std::to_string(w.slotBytes())},
                      {"box", std::to_string(box)},
                      {"rank", std::to_string(rank)},
                      {"at", coordinates(rank)}}),
                4 * w.slotBytes(), 1, 1, {w.map(2)})
        .build();
  };
  cases.push_back(maker);
}

/// Two threads add the same four boxes each; a box over the edge adds what is inside.
void addSum(std::vector<HelperCaseMaker> &cases, int rank, ElementType type) {
  std::string dims = std::to_string(rank) + "d";
  HelperCaseMaker maker{"tma_reduce_add_" + dims + "_" + std::string(elementTypeName(type)),
                        90,
                        90,
                        {"kc_tma_reduce_add_" + dims, "kc_tensor_map", "kc_tma_commit", "kc_tma_wait", "kc_fence_proxy_async", "kc_shared"},
                        nullptr};
  maker.make = [=] {
    Window w = makeWindow(rank, 32, false, type, true);
    const size_t box = size_t(w.boxBytes()), bytes = size_t(w.element);
    auto encode = [&](float v) {
      uint32_t bits = 0;
      if (type == ElementType::f32)
        std::memcpy(&bits, &v, 4);
      else
        bits = type == ElementType::i32 ? uint32_t(int32_t(v)) : type == ElementType::bf16 ? toBF16(v) : toF16(v);
      return bits;
    };
    auto bytesOf = [&](const std::vector<float> &values) {
      std::vector<uint8_t> all(values.size() * bytes);
      for (size_t i = 0; i < values.size(); i++) {
        uint32_t bits = encode(values[i]);
        std::memcpy(&all[i * bytes], &bits, bytes);
      }
      return all;
    };
    auto start = smallIntegers(size_t(w.tensorBytes()) / bytes, 150u + unsigned(rank)), sum = start;
    auto x = smallIntegers(4 * box / bytes, 151u + unsigned(rank));
    for (size_t b = 0; b < 4; b++)
      w.eachByte(b, [&](int64_t from, int64_t to) {
        if (to >= 0 && to % int64_t(bytes) == 0)
          sum[size_t(to) / bytes] += 2 * x[(b * box + size_t(from)) / bytes];
      });
    return CaseBuilder(maker)
        .input("x", bytesOf(x))
        .input("at", flatOrigins(w))
        .inout("y", bytesOf(start), bytesOf(sum))
        .launch("sum", 128,
                fill(R"(
  unsigned char *smem = kc_shared();
  for (int i = threadIdx.x; i < 4 * $box$; i += 128) smem[i / $box$ * $slot$ + i % $box$] = x[i];
  kc_fence_proxy_async();
  __syncthreads();
  if (threadIdx.x % 64 == 0) {
    for (int b = 0; b < 4; b++)
      kc_tma_reduce_add_$rank$d(&m0, smem + b * $slot$$at$);
    kc_tma_commit();
    kc_tma_wait<0>();
  })",
                     {{"slot", std::to_string(w.slotBytes())},
                      {"box", std::to_string(box)},
                      {"rank", std::to_string(rank)},
                      {"at", coordinates(rank)}}),
                4 * w.slotBytes(), 1, 1, {w.map(2)})
        .build();
  };
  cases.push_back(maker);
}

/// What is brought into L2 shows nowhere: these run, and do no harm.
void addPrefetches(std::vector<HelperCaseMaker> &cases) {
  for (int rank = 1; rank <= 5; rank++) {
    std::string dims = std::to_string(rank) + "d";
    HelperCaseMaker maker{"tma_prefetch_" + dims, 90, 90, {"kc_tma_prefetch_" + dims, "kc_prefetch_tensor_map", "kc_tensor_map"}, nullptr};
    maker.make = [=] {
      Window w = makeWindow(rank, 64, false, kTypes[rank % 6]);
      auto x = randomBits<uint8_t>(size_t(w.tensorBytes()), 160u + unsigned(rank));
      return CaseBuilder(maker)
          .input("x", x)
          .input("at", flatOrigins(w))
          .output("y", x)
          .launch("prefetch", 128,
                  fill(R"(
  if (threadIdx.x == 0) {
    kc_prefetch_tensor_map(&m0);
    for (int b = 0; b < 4; b++) kc_tma_prefetch_$rank$d(&m0$at$);
  }
  for (int i = threadIdx.x; i < $bytes$; i += 128) y[i] = x[i];)",
                       {{"rank", std::to_string(rank)}, {"at", coordinates(rank)}, {"bytes", std::to_string(x.size())}}),
                  0, 1, 1, {w.map(0)})
          .build();
    };
    cases.push_back(maker);
  }
  HelperCaseMaker bulk{"prefetch_bulk", 90, 90, {"kc_prefetch_bulk"}, nullptr};
  bulk.make = [=] {
    auto x = randomBits<uint32_t>(1024, 170);
    return CaseBuilder(bulk)
        .input("x", x)
        .output("y", x)
        .launch("prefetch", 128, R"(
  if (threadIdx.x == 0) kc_prefetch_bulk(x + 512, 2048);
  for (int i = threadIdx.x; i < 1024; i += 128) y[i] = x[i];)")
        .build();
  };
  cases.push_back(bulk);
}

} // namespace

void addTmaCases(std::vector<HelperCaseMaker> &cases) {
  for (int rank = 1; rank <= 5; rank++) {
    for (int swizzle : {0, 32, 64, 128}) {
      addLoad(cases, rank, swizzle);
      addStore(cases, rank, swizzle);
    }
    addMulticast(cases, rank);
    addMulticast(cases, rank, /*streaming=*/true);
    addLoad(cases, rank, 64, Load::Streaming);
    addSum(cases, rank, kSummed[rank % 4]);
    if (rank > 1) {
      addLoad(cases, rank, 64, Load::Strided);
      addLoad(cases, rank, 128, Load::RoundedToTf32);
    }
  }
  addPrefetches(cases);
}

} // namespace kernelc::helpers
