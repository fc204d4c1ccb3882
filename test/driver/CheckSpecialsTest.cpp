// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What has to be NaN or an infinity is compared: right kernels pass on every device, and kernels with a planted fault fail, at the element.
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "driver/jit/HostRun.h"
#include "driver/verify/HostCheck.h"
#include "driver/verify/HostValues.h"

namespace kernelc {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr int64_t kRows = 8, kColumns = 40;

struct Device {
  Place place;
  std::string target;
};
const Device kDevices[] = {{{Place::Cpu}, "cpu"}, {{Place::Emulator}, "sm_80"}, {{Place::Emulator}, "sm_90a"}};

std::shared_ptr<JitKernel> compiled(const Device &device, const std::string &text) {
  SessionOptions o;
  o.diskCache = false;
  o.cpuThreads = 1;
  o.tuned = false;
  if (device.target != "cpu")
    o.emulatorTarget = device.target;
  auto kernel = Session::create(o)->compile(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? *kernel : nullptr;
}

/// Arguments of `kernel`: its f32 inputs x, and s, lengths n, and outputs. Row 1 of x has a NaN, 2 an infinity, 3 infinities of both signs,
/// 4 none but zeros, 5 none but -inf, 6 large numbers; s has an infinity, a zero and a NaN.
std::vector<HostTensor> argumentsOf(const Kernel &signature) {
  std::vector<HostTensor> tensors;
  for (const Param &p : signature.params) {
    std::vector<int64_t> sizes;
    for (const SizeRecipe &r : signature.sizes)
      sizes.push_back(r.name == "M" ? kRows : kColumns);
    SizeEnv env{sizes, 3, {}};
    std::vector<int64_t> shape;
    for (const SizeExpr &d : p.dims)
      shape.push_back(d.evaluate(env));
    HostTensor &t = tensors.emplace_back(p.type, shape);
    if (p.kind == ParamKind::Output)
      continue;
    fillRandom(t, tensors.size());
    if (p.name == "n") {
      for (int64_t i = 0; i < kRows; ++i)
        t.as<int32_t>()[i] = int32_t(5 * i + 1);
      continue;
    }
    auto set = [&](int64_t i, double v) { t.as<float>()[i] = float(v); };
    if (p.name == "s") {
      set(1, kInf), set(2, 0), set(3, kNan);
      continue;
    }
    set(kColumns + 7, kNan);
    set(2 * kColumns + 33, kInf);
    set(3 * kColumns, kInf), set(3 * kColumns + 39, -kInf);
    for (int64_t j = 0; j < kColumns; ++j)
      set(4 * kColumns + j, 0), set(5 * kColumns + j, -kInf), set(6 * kColumns + j, 1e5);
  }
  return tensors;
}

/// What the check of `right` says of the results of `device` for `text`.
reference::OutputCheck judge(const Device &device, const std::string &right, const std::string &text) {
  auto oracle = compiled(device, right), kernel = compiled(device, text);
  if (!oracle || !kernel)
    return {};
  std::vector<HostTensor> tensors = argumentsOf(kernel->signature());
  absl::Status ran = runOnHost(*kernel, device.place, tensors);
  EXPECT_TRUE(ran.ok()) << ran << "\n" << text;
  std::vector<TensorView> args;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (kernel->signature().params[i].kind == ParamKind::Input)
      args.push_back(tensors[i].view());
  auto report = checkResults(*oracle, device.place, args, tensors);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() && !report->outputs.empty() ? report->outputs[0] : reference::OutputCheck();
}

struct Case {
  const char *right, *wrong; ///< of which the second is the first with a fault where values are not finite
  const char *at, *has_to_be;
  int special, unchecked; ///< elements that have to be NaN or infinite, and those of which nothing is known
};

const Case kCases[] = {
    // A mean of nothing.
    {"def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = mean[k, x[i, k] > 2](x[i, k]) }",
     "def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = sum[k, x[i, k] > 2](x[i, k]) / max(1, sum[k, x[i, k] > 2](1)) }", "[0]", "NaN", 7, 0},
    // NaN among the terms, and infinities of either sign.
    {"def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = sum[k](x[i, k]) }",
     "def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = sum[k](x[i, k] if x[i, k] == x[i, k] else 0) }", "[1]", "NaN", 4, 0},
    {"def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = sum[k](x[i, k]) }",
     "def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = sum[k](min(x[i, k], 3e38)) }", "[2]", "inf", 4, 0},
    // A product that passes over zeros; an infinity times zero.
    {"def f(x: f32[M, K], w: f32[M, K]) -> (y: f32[M, M]) { y[i, j] = sum[k](x[i, k] * w[j, k]) }",
     "def f(x: f32[M, K], w: f32[M, K]) -> (y: f32[M, M]) { y[i, j] = sum[k, w[j, k] != 0](x[i, k] * w[j, k]) }", "[1, 4]", "NaN", 48, 0},
    // Softmax of rows without keys, and rows of a product behind it.
    {"def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, j] = softmax[j](x[i, j] if j < i else -inf) }",
     "def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, j] = softmax[j](x[i, j] if j < i else -inf) if i > 0 else 0 }", "[0, 0]", "NaN", 120, 0},
    {"def f(x: f32[M, K], v: f32[K, M]) -> (y: f32[M, M]) { let p[i, j] = softmax[j](x[i, j] if j < i else -inf)\n"
     "  y[i, d] = sum[j](p[i, j] * v[j, d]) }",
     "def f(x: f32[M, K], v: f32[K, M]) -> (y: f32[M, M]) { let p[i, j] = softmax[j](x[i, j] if j < i else -inf)\n"
     "  y[i, d] = sum[j](p[i, j] * v[j, d]) if i > 0 else 0 }",
     "[0, 0]", "NaN", -1, -1},
    // A norm of zeros: 0 / 0.
    {"def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, k] = x[i, k] / norminf[k](x[i, k]) }",
     "def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, k] = x[i, k] / max(norminf[k](x[i, k]), 1e-30) }", "[4, 0]", "NaN", 123, 0},
    {"def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, k] = x[i, k] / sqrt(sum[k](x[i, k] ** 2)) }",
     "def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, k] = x[i, k] / max(sqrt(sum[k](x[i, k] ** 2)), 1e-30) }", "[4, 0]", "NaN", 123, 0},
    // A maximum that passes over NaN, and a logarithm of what is surely negative.
    {"def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = max[k](x[i, k]) }",
     "def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = max[k, x[i, k] == x[i, k]](x[i, k]) }", "[1]", "NaN", 4, 0},
    {"def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = log(-1 - sum[k](x[i, k] ** 2)) }",
     "def f(x: f32[M, K]) -> (y: f32[M]) { y[i] = log(abs(-1 - sum[k](x[i, k] ** 2))) }", "[0]", "NaN", 8, 0},
    // A recurrence and a scan.
    {"def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, t] = 0.5 * y.pad(0)[i, t - 1] + x[i, t] }",
     "def f(x: f32[M, K]) -> (y: f32[M, K]) { let z[i, t] = x[i, t] if x[i, t] == x[i, t] else 0\n"
     "  y[i, t] = 0.5 * y.pad(0)[i, t - 1] + z[i, t] }",
     "[1, 7]", "NaN", 120, 0},
    {"def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, j] = sum[k, k <= j](x[i, k]) }",
     "def f(x: f32[M, K]) -> (y: f32[M, K]) { y[i, j] = sum[k, k <= j](x[i, k] if x[i, k] == x[i, k] else 0) }", "[1, 7]", "NaN", 120, 0},
    // What a store makes an infinity.
    {"def f(x: f32[M, K]) -> (y: f16[M, K]) { y[i, k] = x[i, k] * 2 }",
     "def f(x: f32[M, K]) -> (y: f16[M, K]) { y[i, k] = min(x[i, k] * 2, 65504) }", "[2, 33]", "inf", 84, 0},
};

TEST(CheckSpecials, WhatHasToBeNanOrInfiniteIsCompared) {
  for (const Case &c : kCases)
    for (const Device &device : kDevices) {
      SCOPED_TRACE(std::string(device.target) + ": " + c.right);
      reference::OutputCheck right = judge(device, c.right, c.right), wrong = judge(device, c.right, c.wrong);
      EXPECT_TRUE(right.passed()) << right.toString();
      if (c.special >= 0) {
        EXPECT_EQ(right.special, c.special) << right.toString();
        EXPECT_EQ(right.unchecked, c.unchecked) << right.toString();
      }
      std::string said = wrong.toString(), expected = std::string(", and it has to be ") + c.has_to_be;
      EXPECT_GT(wrong.failures, 0) << said << "\n" << c.wrong;
      EXPECT_NE(said.find(std::string(", at ") + c.at + " the device has "), std::string::npos) << said;
      EXPECT_NE(said.find(expected), std::string::npos) << said;
    }
}

TEST(CheckSpecials, AFactorMayMoveAcrossTheSum) {
  // inf * 0 in a term is NaN; taken out, the infinity meets the sum, which is none.
  const char *inside = "def f(x: f32[M, K], s: f32[M]) -> (y: f32[M]) { y[i] = sum[k](x[i, k] * s[i]) }",
             *outside = "def f(x: f32[M, K], s: f32[M]) -> (y: f32[M]) { y[i] = s[i] * sum[k](x[i, k]) }";
  for (const Device &device : kDevices) {
    reference::OutputCheck moved = judge(device, inside, outside);
    EXPECT_EQ(moved.failures, 0) << device.target << ": " << moved.toString();
    EXPECT_GT(moved.special, 0) << moved.toString(); // a NaN among the elements stays one
    EXPECT_GT(moved.unchecked, 0) << moved.toString();
  }
}

TEST(CheckSpecials, AZeroOfTheProgramMayBePassedOver) {
  // Keys beyond n[i] have the weight 0, which may or may not meet what their values hold.
  const char *
      weighted =
         "def f(x: f32[M, K], w: f32[M, K], n: i32[M]) -> (y: f32[M, M]) { let p[i, j] = softmax[j](w[i, j] if j < n[i] else -inf)\n"
         "  y[i, d] = sum[j](p[i, j] * x[d, j]) }",
     *skipped = "def f(x: f32[M, K], w: f32[M, K], n: i32[M]) -> (y: f32[M, M]) { let p[i, j] = softmax[j](w[i, j] if j < n[i] else -inf)\n"
                "  y[i, d] = sum[j, j < n[i]](p[i, j] * x[d, j]) }";
  for (const Device &device : kDevices)
    for (const char *text : {weighted, skipped}) {
      reference::OutputCheck check = judge(device, weighted, text);
      EXPECT_EQ(check.failures, 0) << device.target << ": " << check.toString();
      EXPECT_GT(check.special, 0) << check.toString(); // NaN among the keys that count
      EXPECT_GT(check.unchecked, 0) << check.toString();
    }
}

} // namespace
} // namespace kernelc
