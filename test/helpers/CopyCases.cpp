// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory and its address; cp.async of each width, whole and zero-filled.
#include "test/helpers/Cases.h"

namespace kernelc::helpers {
namespace {

void addCopy(std::vector<HelperCaseMaker> &cases, int bytes, bool zeroFill) {
  std::string width = std::to_string(bytes), name = std::string("cp_async_") + (zeroFill ? "zfill_" : "") + width;
  HelperCaseMaker maker{name, 80, 80, {"kc_" + name, "kc_cp_async_commit", "kc_cp_async_wait", "kc_shared"}, nullptr};
  maker.make = [=] {
    // Two groups of 64 copies; the first is read while the second may be in flight.
    const size_t count = 128;
    auto x = randomBits<uint8_t>(count * size_t(bytes), 40u + unsigned(bytes)), y = x;
    std::vector<int32_t> kept(count, bytes);
    for (size_t i = 0; zeroFill && i < count; i++) {
      kept[i] = int32_t(i) % (bytes + 1);
      for (int b = kept[i]; b < bytes; b++)
        y[i * size_t(bytes) + size_t(b)] = 0;
    }
    std::string body = R"(
  unsigned char *smem = kc_shared();
  int t = threadIdx.x;
  $copy$(smem + t * $w$, x + t * $w$$kept0$);
  kc_cp_async_commit();
  $copy$(smem + (64 + t) * $w$, x + (64 + t) * $w$$kept1$);
  kc_cp_async_commit();
  kc_cp_async_wait<1>();
  __syncthreads();
  int other = t ^ 21;
  for (int b = 0; b < $w$; b++) y[other * $w$ + b] = smem[other * $w$ + b];
  kc_cp_async_wait<0>();
  __syncthreads();
  for (int b = 0; b < $w$; b++) y[(64 + other) * $w$ + b] = smem[(64 + other) * $w$ + b];)";
    return CaseBuilder(maker)
        .input("x", x)
        .input("kept", kept)
        .output("y", y)
        .launch("copy", 64,
                fill(body, {{"copy", "kc_" + name},
                            {"w", width},
                            {"kept0", zeroFill ? ", kept[t]" : ""},
                            {"kept1", zeroFill ? ", kept[64 + t]" : ""}}),
                int64_t(count) * bytes)
        .build();
  };
  cases.push_back(maker);
}

/// Copies of one warp, whose words an mbarrier says are there: another warp reads them.
void addCopyArrival(std::vector<HelperCaseMaker> &cases) {
  HelperCaseMaker maker{
      "cp_async_arrive",
      90,
      90,
      {"kc_cp_async_arrive", "kc_cp_async_4", "kc_mbarrier_init", "kc_fence_mbarrier_init", "kc_mbarrier_wait", "kc_shared"},
      nullptr};
  maker.make = [maker] {
    auto x = randomBits<uint32_t>(64, 73), y = x;
    for (size_t round = 0; round < 2; round++)
      for (size_t t = 0; t < 32; t++)
        y[32 * round + t] = x[32 * round + (t ^ 21)];
    return CaseBuilder(maker)
        .input("x", x)
        .output("y", y)
        .launch("arrive", 64, R"(
  unsigned *slots = (unsigned *)kc_shared();
  unsigned char *full = kc_shared() + 256;
  int t = threadIdx.x & 31;
  if (threadIdx.x == 0) {
    kc_mbarrier_init(full, 32);
    kc_fence_mbarrier_init();
  }
  __syncthreads();
  for (int round = 0; round < 2; round++) {
    if (threadIdx.x < 32) {
      kc_cp_async_4(slots + 32 * round + t, x + 32 * round + t);
      kc_cp_async_arrive(full);
    } else {
      kc_mbarrier_wait(full, round);
      y[32 * round + t] = slots[32 * round + (t ^ 21)];
    }
    __syncthreads();
  })",
                256 + 8)
        .build();
  };
  cases.push_back(maker);
}

} // namespace

void addCopyCases(std::vector<HelperCaseMaker> &cases) {
  HelperCaseMaker shared{"shared", 75, 75, {"kc_shared", "kc_address"}, nullptr};
  shared.make = [shared] {
    auto x = randomBits<uint32_t>(128, 39);
    std::vector<uint32_t> y(x.rbegin(), x.rend()), offsets;
    for (uint32_t i = 0; i < 128; i++)
      offsets.push_back(4 * i);
    return CaseBuilder(shared)
        .input("x", x)
        .output("y", y)
        .output("offsets", offsets)
        .output("misalignment", std::vector<uint32_t>{0})
        .launch("shared", 128, R"(
  unsigned *s = (unsigned *)kc_shared();
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[127 - t];
  offsets[t] = kc_address(s + t) - kc_address(s);
  if (t == 0) misalignment[0] = kc_address(s) % 1024;)",
                512)
        .build();
  };
  cases.push_back(shared);
  for (int bytes : {4, 8, 16})
    for (bool zeroFill : {false, true})
      addCopy(cases, bytes, zeroFill);
  addCopyArrival(cases);
}

} // namespace kernelc::helpers
