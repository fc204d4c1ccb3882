// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TMA tiled loads and stores. A load reads global memory and writes shared memory
// when the async engine gets to it, in the order of each mbarrier; a store reads
// its source at the latest moment its issuer's wait allows, or under a seed before.
// Swizzles act on the address bits, as the device's do. What lies outside the map reads
// as zero and is not written; the full box counts towards the mbarrier.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {
namespace {

size_t swizzled(size_t offset, int bytes) {
  switch (bytes) {
  case 128: return offset ^ ((offset >> 7 & 7) << 4);
  case 64: return offset ^ ((offset >> 7 & 3) << 4);
  case 32: return offset ^ ((offset >> 7 & 1) << 4);
  default: return offset;
  }
}

int elementsOf(const PackedTensorMap &m, int dim) {
  int stride = m.elementStrides[dim] ? m.elementStrides[dim] : 1;
  return (m.box[dim] + stride - 1) / stride;
}

size_t boxBytes(const PackedTensorMap &m) {
  size_t n = m.strides[0];
  for (int i = 0; i < m.rank; i++)
    n *= size_t(elementsOf(m, i));
  return n;
}

/// Visits the innermost rows of the box: fn(offset of the row in the dense box,
/// global address of its first element in range, bytes before it, bytes in range).
template <class Fn> void forEachRow(const Transfer &op, Fn &&fn) {
  const PackedTensorMap &m = op.map;
  int64_t element = int64_t(m.strides[0]), width = elementsOf(m, 0);
  int64_t first = std::clamp<int64_t>(-int64_t(op.coords[0]), 0, width);
  int64_t last = std::clamp<int64_t>(int64_t(m.lastIndex[0]) + 1 - op.coords[0], first, width);
  int at[5] = {};
  size_t row = 0;
  for (bool more = true; more; row++) {
    int64_t address = int64_t(m.base) + (op.coords[0] + first) * element;
    bool inside = last > first;
    for (int d = 1; d < m.rank; d++) {
      int64_t index = int64_t(op.coords[d]) + int64_t(at[d]) * std::max<int>(1, m.elementStrides[d]);
      inside &= index >= 0 && index <= int64_t(m.lastIndex[d]);
      address += index * int64_t(m.strides[d]);
    }
    fn(row * size_t(width * element), reinterpret_cast<unsigned char *>(address), size_t(first * element),
       inside ? size_t((last - first) * element) : 0);
    more = false;
    for (int d = 1; d < m.rank && !more; d++) {
      if (++at[d] < elementsOf(m, d))
        more = true;
      else
        at[d] = 0;
    }
  }
}

/// Every f32 of `line` to the nearest tf32, ties to even (as an H200 was seen to do; PTX
/// leaves it open, and cvt.rna.tf32.f32 has ties away from zero).
void roundToTf32(std::vector<unsigned char> &line) {
  for (size_t i = 0; i + 4 <= line.size(); i += 4) {
    uint32_t v;
    std::memcpy(&v, line.data() + i, 4);
    v = (v & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : (v + 0xfffu + (v >> 13 & 1)) & ~0x1fffu;
    std::memcpy(line.data() + i, &v, 4);
  }
}

/// What a store or a reduction writes of `bytes` in range from byte `before` of a row on: whole
/// 16-byte granules, also where the window ends inside one (seen on an H200).
size_t storedBytes(size_t before, size_t bytes) { return (before + bytes + 15) / 16 * 16 - before; }

template <class T> void addValues(unsigned char *into, const unsigned char *from, size_t bytes) {
  for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, into + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    a = T(a + b);
    std::memcpy(into + i, &a, sizeof(T));
  }
}
void addInto(ElementType type, unsigned char *into, const unsigned char *from, size_t bytes) {
  switch (type) {
  case ElementType::f32: return addValues<float>(into, from, bytes);
  case ElementType::f64: return addValues<double>(into, from, bytes);
  case ElementType::i32:
  case ElementType::u32: return addValues<uint32_t>(into, from, bytes);
  case ElementType::i64:
  case ElementType::u64: return addValues<uint64_t>(into, from, bytes);
  default:
    for (size_t i = 0; i < bytes; i += 2) {
      uint16_t a, b;
      std::memcpy(&a, into + i, 2);
      std::memcpy(&b, from + i, 2);
      a = type == ElementType::bf16 ? toBF16(fromBF16(a) + fromBF16(b)) : toF16(fromF16(a) + fromF16(b));
      std::memcpy(into + i, &a, 2);
    }
  }
}

} // namespace

PackedTensorMap Machine::readTensorMap(const void *map, int rank, const char *what, uint32_t pc) {
  PackedTensorMap m;
  std::memcpy(&m, map, sizeof m);
  if (m.magic != PackedTensorMap::kMagic || m.rank != rank)
    fail(FindingKind::InvalidOperation,
         m.magic != PackedTensorMap::kMagic ? absl::StrCat(what, ": the tensor map is none")
                                            : absl::StrCat(what, " with ", rank, " coordinates on a map of rank ", m.rank),
         what, pc);
  return m;
}

void Machine::checkTransfer(const Transfer &op, const Actor &global, const Actor &shared) {
  if (!checks())
    return;
  size_t width = size_t(elementsOf(op.map, 0)) * op.map.strides[0];
  forEachRow(op, [&](size_t row, unsigned char *address, size_t before, size_t bytes) {
    if (bytes)
      access(global, address, global.flags & Stamp::Write ? storedBytes(before, bytes) : bytes, false);
    for (size_t i = 0; i < width; i += 16)
      access(shared, op.block->shared + swizzled(op.offset + row + i, op.map.swizzleBytes), 16, true);
  });
}

/// A box that starts inside 16 bytes of a row is an illegal instruction on the device (seen
/// on an H200; the PTX manual does not say so).
void Machine::checkRowStart(const Transfer &op, const char *what, uint32_t at) {
  int64_t byte = int64_t(op.coords[0]) * int64_t(op.map.strides[0]);
  if (byte % 16)
    fail(FindingKind::Misaligned, absl::StrCat(what, " from byte ", byte, " of a row, which is no multiple of 16"), what, at);
}

void Machine::tmaLoad(int rank, void *dst, const void *map, const int *coords, void *bar, unsigned multicast, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  Transfer op;
  op.map = readTensorMap(map, rank, "TMA load", at);
  std::copy(coords, coords + rank, op.coords);
  op.issuer = party(t, "TMA load", at);
  checkRowStart(op, "TMA load", at);
  size_t bytes = boxBytes(op.map);
  op.offset = size_t(static_cast<unsigned char *>(dst) - t.block->shared);
  if (sharedBlockOf(t, dst, bytes) != t.block)
    fail(FindingKind::OutOfBounds,
         absl::StrCat("TMA load of ", bytes, " bytes to offset ", int64_t(op.offset), " of ", spec_.sharedBytes, " bytes of shared memory"),
         "TMA load", at);
  if (op.offset % 128)
    fail(FindingKind::Misaligned, absl::StrCat("TMA load to shared byte ", op.offset, ", which is no multiple of 128"), "TMA load", at);
  for (unsigned rank = 0; rank < 32; rank++) {
    if (multicast ? !(multicast >> rank & 1) : rank != t.block->rank)
      continue;
    Mbarrier &barrier = beginTransfer(op, bar, rank, "TMA load", at);
    Actor read{&t, barrier.agent.index, Stamp::AsyncProxy, op.sequence, at, 0};
    Actor write = read;
    write.flags |= Stamp::Write;
    checkTransfer(op, read, write);
    loads_.push_back(op);
  }
}

void Machine::completeLoad(size_t index) {
  // Those of one mbarrier complete in order: its agent's clock counts them.
  for (size_t i = 0; i < index; i++)
    if (loads_[i].block == loads_[index].block && loads_[i].barrier == loads_[index].barrier) {
      index = i;
      break;
    }
  Transfer op = loads_[index];
  loads_.erase(loads_.begin() + index);
  if (op.storedBytes) {
    std::memcpy(op.block->shared + op.offset, op.stored, op.storedBytes);
    finishTransfer(op, op.storedBytes);
    return;
  }
  size_t width = size_t(elementsOf(op.map, 0)) * op.map.strides[0];
  std::vector<unsigned char> line(width);
  forEachRow(op, [&](size_t row, unsigned char *address, size_t before, size_t bytes) {
    std::fill(line.begin(), line.end(), 0);
    if (bytes)
      std::memcpy(line.data() + before, address, bytes);
    if (op.map.roundsToTf32)
      roundToTf32(line);
    for (size_t i = 0; i < width; i += 16)
      std::memcpy(op.block->shared + swizzled(op.offset + row + i, op.map.swizzleBytes), line.data() + i, 16);
  });
  finishTransfer(op, boxBytes(op.map));
}

void Machine::tmaStore(int rank, const void *map, const void *src, const int *coords, bool reduceAdd, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  const char *what = reduceAdd ? "TMA reduction" : "TMA store";
  Transfer op;
  op.map = readTensorMap(map, rank, what, at);
  std::copy(coords, coords + rank, op.coords);
  op.reduceAdd = reduceAdd;
  op.issuer = party(t, what, at);
  checkRowStart(op, what, at);
  // An illegal instruction on the device, for stores and reductions of two dims and more (seen on an H200; loads may, and
  // the PTX manual makes no difference).
  for (int d = 0; d < rank && rank > 1; d++)
    if (coords[d] < 0)
      fail(FindingKind::OutOfBounds, absl::StrCat(what, " of a box that starts at ", coords[d], " along dim ", d), what, at);
  op.block = t.block;
  op.offset = size_t(static_cast<const unsigned char *>(src) - t.block->shared);
  size_t bytes = boxBytes(op.map);
  if (sharedBlockOf(t, src, bytes) != t.block)
    fail(FindingKind::OutOfBounds,
         absl::StrCat(what, " of ", bytes, " bytes from offset ", int64_t(op.offset), " of ", spec_.sharedBytes, " bytes of shared memory"),
         what, at);
  if (op.offset % 128)
    fail(FindingKind::Misaligned, absl::StrCat(what, " from shared byte ", op.offset, ", which is no multiple of 128"), what, at);
  allocateAgent(t, t.bulkAgent, "TMA store");
  allocateAgent(t, t.storeAgent, "TMA store");
  Actor read{&t, t.bulkAgent.index, Stamp::AsyncProxy, t.bulkAgent.issued + 1, at, 0};
  Actor write{&t,
              t.storeAgent.index,
              uint16_t(Stamp::AsyncProxy | Stamp::Write | (reduceAdd ? Stamp::Atomic : 0)),
              t.storeAgent.issued + 1,
              at,
              reduceAdd ? ++atomicCount_ : 0};
  checkTransfer(op, write, read);
  t.openStores.push_back(op);
}

void Machine::completeStore(Transfer &op) {
  if (std::exchange(op.isDone, true))
    return;
  size_t width = size_t(elementsOf(op.map, 0)) * op.map.strides[0];
  std::vector<unsigned char> line(width);
  forEachRow(op, [&](size_t row, unsigned char *address, size_t before, size_t bytes) {
    for (size_t i = 0; i < width; i += 16)
      std::memcpy(line.data() + i, op.block->shared + swizzled(op.offset + row + i, op.map.swizzleBytes), 16);
    if (bytes && op.reduceAdd)
      addInto(ElementType(op.map.type), address, line.data() + before, storedBytes(before, bytes));
    else if (bytes)
      std::memcpy(address, line.data() + before, storedBytes(before, bytes));
  });
}

void Machine::tmaCommit() {
  Thread &t = self();
  t.storeGroups.push_back(std::move(t.openStores));
  t.openStores.clear();
  t.bulkAgent.issued++;
  t.storeAgent.issued++;
  noteCommitted(t, EarlyWork::Stores);
}

void Machine::tmaWait(int pending, bool readOnly) {
  Thread &t = self();
  size_t keep = size_t(pending);
  while (t.storeGroups.size() > keep && t.storesRead < t.storeGroups.size() - keep) {
    for (Transfer &op : t.storeGroups[t.storesRead])
      completeStore(op);
    t.storeGroups[t.storesRead].clear();
    t.storesRead++;
    t.bulkAgent.done++;
  }
  while (!readOnly && t.storeGroups.size() > keep) {
    t.storeGroups.pop_front();
    t.storesRead--;
    t.storeAgent.done++;
  }
}

} // namespace kernelc::emulator
