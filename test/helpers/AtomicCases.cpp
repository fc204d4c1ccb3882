// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics on global memory: those that order what stands around them, shown by what
// other blocks then read, and sums of several neighbours.
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/substitute.h"
#include "support/ElementType.h"
#include "test/helpers/Cases.h"

namespace kernelc::helpers {
namespace {

const int kBlocks = 24, kThreads = 64;

void addOrdered(std::vector<HelperCaseMaker> &cases) {
  HelperCaseMaker flag{"acquire_release", 75, 75, {"kc_load_acquire_i32", "kc_store_release_i32"}, nullptr};
  flag.make = [flag] {
    // Each block adds its row to the one before it hands on.
    auto x = randomBits<uint32_t>(size_t(kBlocks * kThreads), 140), y = x;
    for (size_t i = size_t(kThreads); i < y.size(); i++)
      y[i] = y[i - size_t(kThreads)] * 3 + x[i];
    std::vector<int32_t> flags(size_t(kBlocks), 0), set(size_t(kBlocks), 1);
    return CaseBuilder(flag)
        .input("x", x)
        .output("y", y)
        .inout("flags", flags, set)
        .launch("chain", kThreads, R"(
  int t = threadIdx.x, block = blockIdx.x;
  unsigned v = x[64 * block + t];
  if (block > 0) {
    if (t == 0)
      while (kc_load_acquire_i32(flags + block - 1) == 0) {}
    __syncthreads();
    v += ((volatile unsigned *)y)[64 * (block - 1) + t] * 3u;
  }
  y[64 * block + t] = v;
  __syncthreads();
  if (t == 0) kc_store_release_i32(flags + block, 1);)",
                0, kBlocks)
        .build();
  };
  cases.push_back(flag);

  HelperCaseMaker words{"tell_ask", 75, 75, {"kc_take_number", "kc_tell", "kc_ask"}, nullptr};
  words.make = [words] {
    // In the order in which they come, each block goes on from what the one before it says; the sign bit travels, too.
    auto x = randomBits<uint32_t>(size_t(kBlocks), 142);
    std::vector<int64_t> zero(size_t(kBlocks) + 1, 0), told(zero);
    std::vector<int32_t> y(size_t(kBlocks), 0);
    uint32_t sum = 0;
    for (int i = 0; i < kBlocks; i++) {
      y[size_t(i)] = int32_t(sum);
      sum = sum * 3 + x[size_t(i)];
      told[size_t(i) + 1] = int64_t(1ull << 32 | sum);
    }
    told[0] = kBlocks;
    return CaseBuilder(words)
        .input("x", x)
        .output("y", y)
        .inout("words", zero, told)
        .launch("chain", kThreads, R"(
  if (threadIdx.x == 0) {
    int n = kc_take_number((long long *)words);
    unsigned before = n > 0 ? (unsigned)kc_ask((long long *)words + n) : 0u;
    y[n] = (int)before;
    kc_tell((long long *)words + n + 1, (int)(before * 3u + x[n]));
  })",
                0, kBlocks)
        .build();
  };
  cases.push_back(words);

  HelperCaseMaker ticket{"add_acq_rel", 75, 75, {"kc_add_acq_rel_i32", "kc_shared"}, nullptr};
  ticket.make = [ticket] {
    // The block that comes last adds up what all have written.
    auto x = randomBits<uint32_t>(size_t(kBlocks * kThreads), 141);
    std::vector<uint32_t> sum(size_t(kThreads), 0);
    for (size_t i = 0; i < x.size(); i++)
      sum[i % size_t(kThreads)] += x[i] ^ 5;
    auto parts = x;
    for (uint32_t &p : parts)
      p ^= 5;
    return CaseBuilder(ticket)
        .input("x", x)
        .output("parts", parts)
        .output("sum", sum)
        .inout("count", std::vector<int32_t>{0}, std::vector<int32_t>{kBlocks})
        .launch("last", kThreads, R"(
  int *last = (int *)kc_shared();
  int t = threadIdx.x;
  parts[64 * blockIdx.x + t] = x[64 * blockIdx.x + t] ^ 5u;
  __syncthreads();
  if (t == 0) *last = kc_add_acq_rel_i32(count, 1) == 23;
  __syncthreads();
  if (*last) {
    unsigned s = 0;
    for (int b = 0; b < 24; b++) s += ((volatile unsigned *)parts)[64 * b + t];
    sum[t] = s;
  })",
                16, kBlocks)
        .build();
  };
  cases.push_back(ticket);
}

void addSums(std::vector<HelperCaseMaker> &cases) {
  for (int words : {2, 4}) {
    std::string n = std::to_string(words), name = "reduce_add_f32x" + n;
    HelperCaseMaker vector{name, 90, 90, {"kc_" + name}, nullptr};
    vector.make = [vector, words, n] {
      // Small whole numbers: any order gives the same.
      auto x = smallIntegers(size_t(kBlocks * kThreads * words), 142);
      std::vector<float> start = smallIntegers(size_t(kThreads * words), 143), sum = start;
      for (size_t i = 0; i < x.size(); i++)
        sum[i % sum.size()] += x[i];
      return CaseBuilder(vector)
          .input("x", x)
          .inout("sum", start, sum)
          .launch("sum", kThreads,
                  absl::Substitute(R"(
  int t = threadIdx.x;
  float v[$0];
  for (int i = 0; i < $0; i++) v[i] = x[$0 * ($1 * blockIdx.x + t) + i];
  kc_reduce_add_f32x$0(sum + $0 * t, v);)",
                                   n, kThreads),
                  0, kBlocks)
          .build();
    };
    cases.push_back(vector);
  }

  for (bool bf16 : {false, true}) {
    std::string name = bf16 ? "reduce_add_bf16x2" : "reduce_add_f16x2";
    HelperCaseMaker halves{name, bf16 ? 90 : 75, bf16 ? 90 : 75, {"kc_" + name}, nullptr};
    halves.make = [halves, bf16, name] {
      auto encode = [=](float v) { return bf16 ? toBF16(v) : toF16(v); };
      auto x = smallIntegers(size_t(kBlocks * kThreads * 2), 144);
      std::vector<float> total(size_t(kThreads * 2), 0);
      std::vector<uint16_t> packed, start(total.size(), encode(1)), sum;
      for (size_t i = 0; i < x.size(); i++) {
        packed.push_back(encode(x[i]));
        total[i % total.size()] += x[i];
      }
      for (float t : total)
        sum.push_back(encode(t + 1));
      return CaseBuilder(halves)
          .input("x", packed)
          .inout("sum", start, sum)
          .launch("sum", kThreads,
                  "  int t = threadIdx.x;\n  kc_" + name + "((unsigned *)sum + t, ((const unsigned *)x)[64 * blockIdx.x + t]);", 0, kBlocks)
          .build();
    };
    cases.push_back(halves);
  }
}

/// What no instruction does: products, and extremes of floats with NaN, zeros and infinities among them.
template <class T>
void addReplacing(std::vector<HelperCaseMaker> &cases, const std::string &kind, const std::string &type, T start, T (*combine)(T, T),
                  T (*draw)(size_t)) {
  HelperCaseMaker replacing{"atomic_" + kind + "_" + type, 75, 75, {"kc_atomic_" + kind + "_" + type}, nullptr};
  replacing.make = [=] {
    std::vector<T> x, at(size_t(kThreads), start), result = at;
    for (size_t i = 0; i < size_t(kBlocks * kThreads); i++)
      x.push_back(draw(i));
    for (size_t i = 0; i < x.size(); i++) {
      T &r = result[(i * 7) % size_t(kThreads) / 2];
      r = combine(r, x[i]);
    }
    return CaseBuilder(replacing)
        .input("x", x)
        .inout("at", at, result)
        .launch("replace", kThreads,
                "  int i = 64 * blockIdx.x + threadIdx.x;\n  kc_atomic_" + kind + "_" + type + "(at + i * 7 % 64 / 2, x[i]);", 0, kBlocks)
        .build();
  };
  cases.push_back(replacing);
}

void addWriteOnce(std::vector<HelperCaseMaker> &cases) {
  HelperCaseMaker once{"write_once", 75, 75, {"kc_write_once"}, nullptr};
  once.make = [once] {
    auto x = randomBits<uint16_t>(size_t(kBlocks * kThreads), 145), y = x;
    for (size_t i = 0; i < x.size(); i++)
      y[i * 7 % x.size()] = x[i];
    return CaseBuilder(once)
        .input("x", x)
        .output("y", y)
        .launch("permute", kThreads,
                "  int i = 64 * blockIdx.x + threadIdx.x;\n  kc_write_once(&y[i * 7 % " + std::to_string(x.size()) + "], x[i]);", 0,
                kBlocks)
        .build();
  };
  cases.push_back(once);
}

template <class T> T special(size_t i) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const T values[] = {T(0), -T(0), T(1.5), -T(2), i % 293 == 5 ? inf : T(3), i % 401 == 7 ? -inf : T(-7), T(i % 19) - 9};
  return i % 787 == 100 ? std::numeric_limits<T>::quiet_NaN() : values[i * 5 % 7];
}

template <class T> T oneNan() {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(0x7fffffffu);
  else
    return std::bit_cast<double>(0x7fffffffffffffffull);
}

template <class T> T largest(T a, T b) { return a != a || b != b ? oneNan<T>() : a > b || (a == b && !std::signbit(a)) ? a : b; }
template <class T> T smallest(T a, T b) { return a != a || b != b ? oneNan<T>() : a < b || (a == b && std::signbit(a)) ? a : b; }

void addReplacingAtomics(std::vector<HelperCaseMaker> &cases) {
  addWriteOnce(cases);
  addReplacing<float>(cases, "max", "f32", -std::numeric_limits<float>::infinity(), largest<float>, special<float>);
  addReplacing<float>(cases, "min", "f32", std::numeric_limits<float>::infinity(), smallest<float>, special<float>);
  addReplacing<double>(cases, "max", "f64", -std::numeric_limits<double>::infinity(), largest<double>, special<double>);
  addReplacing<double>(cases, "min", "f64", std::numeric_limits<double>::infinity(), smallest<double>, special<double>);
  // Powers of two and odd numbers: any order gives the same.
  addReplacing<int32_t>(
      cases, "prod", "i32", 1, +[](int32_t a, int32_t b) { return int32_t(uint32_t(a) * uint32_t(b)); },
      +[](size_t i) { return int32_t(i * 2654435761u) | 1; });
  addReplacing<int64_t>(
      cases, "prod", "i64", 1, +[](int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); },
      +[](size_t i) { return int64_t(i * 0x9e3779b97f4a7c15ull) | 1; });
  addReplacing<float>(
      cases, "prod", "f32", 1.0f, +[](float a, float b) { return a * b; },
      +[](size_t i) { return i % 3 == 0   ? 2.0f
                             : i % 3 == 1 ? 0.5f
                                          : -1.0f; });
  addReplacing<double>(
      cases, "prod", "f64", 1.0, +[](double a, double b) { return a * b; },
      +[](size_t i) { return i % 3 == 0   ? 2.0
                             : i % 3 == 1 ? 0.5
                                          : -1.0; });
}

} // namespace

void addAtomicCases(std::vector<HelperCaseMaker> &cases) {
  addOrdered(cases);
  addSums(cases);
  addReplacingAtomics(cases);
}

} // namespace kernelc::helpers
