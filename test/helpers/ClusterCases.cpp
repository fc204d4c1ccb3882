// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory of other blocks of a cluster: reads, writes, and asynchronous writes
// that complete on the other block's mbarrier.
#include "test/helpers/Cases.h"

namespace kernelc::helpers {
namespace {

struct Element {
  const char *name, *type; ///< of the helpers, of CUDA
  int words;               ///< of 32 bits
};
const Element kElements[] = {{"f32", "float", 1}, {"i32", "int", 1}, {"f64", "double", 2}, {"i64", "long long", 2}, {"f32x4", "float4", 4}};

const int kThreads = 64, kBlocks = 4;

/// Every block of four holds a row of 64 elements; `rows[4 * block + i]` is the row it wants
/// to have seen at the end, at position i of its output.
std::vector<uint32_t> outputOf(const std::vector<uint32_t> &x, int words, int positions,
                               const std::function<std::pair<int, int>(int, int, int)> &source) {
  std::vector<uint32_t> y;
  for (int block = 0; block < kBlocks; block++)
    for (int position = 0; position < positions; position++)
      for (int t = 0; t < kThreads; t++) {
        auto [row, thread] = source(block, position, t);
        for (int w = 0; w < words; w++)
          y.push_back(x[size_t((row * kThreads + thread) * words + w)]);
      }
  return y;
}

HelperCaseMaker maker(const std::string &name, std::vector<std::string> helpers) {
  for (const char *also : {"kc_cluster_rank", "kc_shared"})
    helpers.push_back(also);
  return {name, 90, 90, std::move(helpers), nullptr};
}

void addLoad(std::vector<HelperCaseMaker> &cases, const Element &e) {
  HelperCaseMaker m =
      maker(std::string("cluster_load_") + e.name, {std::string("kc_cluster_load_") + e.name, "kc_cluster_arrive", "kc_cluster_wait"});
  m.make = [=] {
    auto x = randomBits<uint32_t>(size_t(kBlocks * kThreads * e.words), 130);
    auto y = outputOf(x, e.words, kBlocks, [](int, int from, int t) { return std::pair(from, t ^ 21); });
    return CaseBuilder(m)
        .input("x", x)
        .output("y", y)
        .launch("load", kThreads,
                fill(R"(
  typedef $T$ T;
  T *row = (T *)(kc_shared() + 128);
  int t = threadIdx.x, rank = kc_cluster_rank();
  row[t] = ((const T *)x)[64 * rank + t];
  kc_cluster_arrive();
  kc_cluster_wait();
  for (int from = 0; from < 4; from++)
    ((T *)y)[256 * rank + 64 * from + t] = kc_cluster_load_$name$(row + (t ^ 21), from);
  kc_cluster_arrive();
  kc_cluster_wait();)",
                     {{"T", e.type}, {"name", e.name}}),
                128 + kThreads * 4 * e.words, kBlocks, kBlocks)
        .build();
  };
  cases.push_back(m);
}

void addStore(std::vector<HelperCaseMaker> &cases, const Element &e) {
  HelperCaseMaker m = maker(std::string("cluster_store_") + e.name, {std::string("kc_cluster_store_") + e.name, "kc_cluster_sync"});
  m.make = [=] {
    auto x = randomBits<uint32_t>(size_t(kBlocks * kThreads * e.words), 131);
    auto y = outputOf(x, e.words, kBlocks, [](int, int from, int t) { return std::pair(from, t ^ 13); });
    return CaseBuilder(m)
        .input("x", x)
        .output("y", y)
        .launch("store", kThreads,
                fill(R"(
  typedef $T$ T;
  T *rows = (T *)(kc_shared() + 128);
  int t = threadIdx.x, rank = kc_cluster_rank();
  kc_cluster_sync();
  for (int to = 0; to < 4; to++)
    kc_cluster_store_$name$(rows + 64 * rank + (t ^ 13), ((const T *)x)[64 * rank + t], to);
  kc_cluster_sync();
  for (int from = 0; from < 4; from++)
    ((T *)y)[256 * rank + 64 * from + t] = rows[64 * from + t];)",
                     {{"T", e.type}, {"name", e.name}}),
                128 + kBlocks * kThreads * 4 * e.words, kBlocks, kBlocks)
        .build();
  };
  cases.push_back(m);
}

void addStoreAsync(std::vector<HelperCaseMaker> &cases, const Element &e) {
  HelperCaseMaker m =
      maker(std::string("store_async_") + e.name, {std::string("kc_store_async_") + e.name, "kc_mbarrier_init", "kc_fence_mbarrier_init",
                                                   "kc_mbarrier_expect_tx", "kc_mbarrier_wait", "kc_cluster_sync"});
  m.make = [=] {
    // Each block sends its row to its two successors, twice: what comes second overwrites
    // what was read, a phase of the barrier later.
    auto x = randomBits<uint32_t>(size_t(2 * kBlocks * kThreads * e.words), 132);
    auto y = outputOf(x, e.words, 4, [](int block, int position, int t) {
      int from = (block + kBlocks - 1 - position % 2) % kBlocks;
      return std::pair(position / 2 * kBlocks + from, t ^ 6);
    });
    return CaseBuilder(m)
        .input("x", x)
        .output("y", y)
        .launch("send", kThreads,
                fill(R"(
  typedef $T$ T;
  unsigned char *bar = kc_shared();
  T *rows = (T *)(kc_shared() + 128);
  int t = threadIdx.x, rank = kc_cluster_rank();
  if (t == 0) {
    kc_mbarrier_init(bar, 1);
    kc_fence_mbarrier_init();
  }
  kc_cluster_sync();
  for (int round = 0; round < 2; round++) {
    if (t == 0) kc_mbarrier_expect_tx(bar, 2 * 64 * sizeof(T));
    T v = ((const T *)x)[256 * round + 64 * rank + t];
    for (int next = 0; next < 2; next++)
      kc_store_async_$name$(rows + 64 * next + (t ^ 6), v, bar, (rank + 1 + next) % 4);
    kc_mbarrier_wait(bar, round);
    for (int from = 0; from < 2; from++)
      ((T *)y)[256 * rank + 128 * round + 64 * from + t] = rows[64 * from + t];
    kc_cluster_sync();
  })",
                     {{"T", e.type}, {"name", e.name}}),
                128 + 2 * kThreads * 4 * e.words, kBlocks, kBlocks)
        .build();
  };
  cases.push_back(m);
}

} // namespace

void addClusterCases(std::vector<HelperCaseMaker> &cases) {
  for (const Element &e : kElements) {
    addLoad(cases, e);
    addStore(cases, e);
    addStoreAsync(cases, e);
  }
}

} // namespace kernelc::helpers
