// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/Check.h"

#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

TEST(Check, ComparesAgainstBounds) {
  std::vector<float> device = {1, 2, 3, 4, 5, 6};
  std::vector<double> expected = {1, 2, 3, 4, 5, 6}, bound(6, 0.5);
  auto check = [&] {
    auto r = checkOutput("y", view(device, {2, 3}), view(expected, {2, 3}), view(bound, {2, 3}));
    EXPECT_TRUE(r.ok()) << r.status();
    return *r;
  };
  EXPECT_TRUE(check().passed());
  device[4] = 5.25f;
  auto r = check();
  EXPECT_TRUE(r.passed());
  EXPECT_EQ(r.largest.index, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(r.largest.error, 0.25);
  device[5] = 6.75f;
  device[2] = 2.25f;
  r = check();
  EXPECT_EQ(r.failures, 2);
  EXPECT_EQ(r.worst.index, (std::vector<int64_t>{0, 2}));
  EXPECT_NE(r.toString().find("FAILED at 2 of 6"), std::string::npos) << r.toString();
  bound[2] = bound[5] = INFINITY;
  r = check();
  EXPECT_TRUE(r.passed());
  EXPECT_EQ(r.unchecked, 2);
}

TEST(Check, AnOutputWithoutABoundIsNotChecked) {
  std::vector<float> device = {1, NAN, 3};
  std::vector<double> expected = {1, NAN, 3}, bound(3, INFINITY);
  auto check = [&](int64_t n) { return *checkOutput("y", view(device, {n}), view(expected, {n}), view(bound, {n})); };
  auto r = check(3);
  EXPECT_TRUE(r.isUnbounded());
  EXPECT_FALSE(r.passed());
  EXPECT_EQ(r.toString(), "y: not checked, 3 elements without a bound");
  bound[0] = 0.5; // beside bounded elements the others are counted
  r = check(3);
  EXPECT_TRUE(r.passed());
  EXPECT_EQ(r.toString(), "y: ok, 3 elements, largest error 0 (bound 0.5) at [0], 2 without a bound");
  bound[1] = 0; // surely NaN
  r = check(3);
  EXPECT_TRUE(r.passed());
  EXPECT_EQ(r.special, 1);
  EXPECT_NE(r.toString().find("1 infinite or NaN, 1 without a bound"), std::string::npos) << r.toString();
  device[0] = 2; // a failure counts, whatever else is unknown
  EXPECT_FALSE(check(3).isUnbounded());
  EXPECT_FALSE(check(3).passed());
  EXPECT_TRUE(check(0).passed()); // nothing to check
}

TEST(Check, WhatMayBeLetThroughIsCountedApart) {
  std::vector<float> device = {1, NAN, NAN, 2};
  std::vector<double> expected = {1, 2, 3, NAN}, bound(4, 0.5), admitting = {NAN, NAN, 3, NAN};
  TensorView may = view(admitting, {4});
  auto r = *checkOutput("y", view(device, {4}), view(expected, {4}), view(bound, {4}), &may);
  EXPECT_EQ(r.admitted, 1); // the NaN at 1; that at 2 has no excuse, and a number where NaN is right has none
  EXPECT_EQ(r.failures, 2);
  device = {NAN, NAN};
  may = view(admitting, {2});
  r = *checkOutput("y", view(device, {2}), view(expected, {2}), view(bound, {2}), &may);
  EXPECT_EQ(r.failures, 0);
  EXPECT_FALSE(r.passed()); // nothing was compared
}

TEST(Check, SpecialValuesMustAgree) {
  struct {
    float device;
    double expected;
    bool passes;
  } cases[] = {{NAN, NAN, true}, {INFINITY, INFINITY, true}, {-INFINITY, INFINITY, false}, {NAN, 1, false},
               {1, NAN, false},  {INFINITY, 1, false},       {1, INFINITY, false}};
  for (auto &c : cases) {
    std::vector<float> d = {c.device};
    std::vector<double> v = {c.expected}, e = {1e30};
    auto r = checkOutput("y", view(d, {1}), view(v, {1}), view(e, {1}));
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->passed(), c.passes) << c.device << " " << c.expected;
  }
}

TEST(Check, SaysWhatHasToBe) {
  std::vector<float> device = {1, 7, -INFINITY};
  std::vector<double> expected = {1, NAN, INFINITY}, bound = {0.5, 1, 0};
  auto r = *checkOutput("y", view(device, {3}), view(expected, {3}), view(bound, {3}));
  EXPECT_EQ(r.failures, 2);
  EXPECT_EQ(r.special, 2);
  EXPECT_EQ(r.toString(), "y: FAILED at 2 of 3 elements, at [1] the device has 7, and it has to be NaN, 2 infinite or NaN");
  device[1] = NAN;
  r = *checkOutput("y", view(device, {3}), view(expected, {3}), view(bound, {3}));
  EXPECT_EQ(r.toString(), "y: FAILED at 1 of 3 elements, at [2] the device has -inf, and it has to be inf, 2 infinite or NaN");
}

TEST(Check, IntegersAreExact) {
  std::vector<int64_t> d = {int64_t(1) << 60}, v = {(int64_t(1) << 60) + 1};
  std::vector<double> e = {0};
  EXPECT_FALSE(checkOutput("y", view(d, {1}), view(v, {1}), view(e, {1}))->passed());
  e[0] = 1;
  EXPECT_TRUE(checkOutput("y", view(d, {1}), view(v, {1}), view(e, {1}))->passed());
}

TEST(Check, RunsTheOracle) {
  const char *text = R"(
te.kernel @third sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    %c = arith.constant 3.0 : f32
    %w = arith.divf %v, %c : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
})";
  auto oracle = mustCompile(text, Arithmetic::F64WithError);
  auto x = noiseVector(100);
  std::vector<float> y(100);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = x[i] / 3;
  auto report = checkOutputs(*oracle, {100}, {view(x, {100})}, {view(y, {100})});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << report->toString();
  y[17] = std::nextafter(std::nextafter(y[17], 9.0f), 9.0f); // two ulps off
  report = checkOutputs(*oracle, {100}, {view(x, {100})}, {view(y, {100})});
  EXPECT_FALSE(report->passed());
  EXPECT_EQ(report->outputs[0].worst.index, (std::vector<int64_t>{17}));
  EXPECT_FALSE(checkOutputs(*mustCompile(text), {100}, {view(x, {100})}, {view(y, {100})}).ok());
}

/// softmax(x) w with w gathered through a shifted, clamped read; whole against windows.
const char *kChain = R"(
te.kernel @chain sizes ["M", "N", "K"] args ["x", "w"] : ["f32", "f32"]
    [affine_map<()[s0, s1, s2] -> (s0, s2)>, affine_map<()[s0, s1, s2] -> (s2, s1)>]
    outs ["y", "m"] : ["f32", "f32"] [affine_map<()[s0, s1, s2] -> (s0, s1)>, affine_map<()[s0, s1, s2] -> (s0 + s0)>] {
^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
  %m = te.reduce max ["i", "k"] parallel 1 extents affine_map<()[s0, s1, s2] -> (s0, s2)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "mx"} : tensor<?xf32>
  %e = te.compute ["i", "k"] extents affine_map<()[s0, s1, s2] -> (s0, s2)> {
  ^bb0(%i: index, %k: index):
    %v = te.read %x[%i, %k] : tensor<?x?xf32>
    %mi = te.read %m[%i] : tensor<?xf32>
    %d = arith.subf %v, %mi : f32
    %r = math.exp %d : f32
    te.yield %r : f32
  } {name = "e"} : tensor<?x?xf32>
  %y0 = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0, s1, s2] -> (s0, s1, s2)> {
  ^bb0(%i: index, %j: index, %k: index):
    %a = te.read %e[%i, %k] map affine_map<(d0, d1)[s0, s1, s2] -> (d0 floordiv 2, s2 - d1 - 1)> : tensor<?x?xf32>
    %b = te.read %w[%k, %j] : tensor<?x?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } {name = "y0"} : tensor<?x?xf32>
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1, s2] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %a = te.read %y0[%i, %j] : tensor<?x?xf32>
    %b = te.read %y0[%i, %j] map affine_map<(d0, d1)[s0, s1, s2] -> (d0, (d1 + 1) mod s1)> : tensor<?x?xf32>
    %q = arith.subf %a, %b : f32
    te.yield %q : f32
  } {name = "y"} : tensor<?x?xf32>
  %h = te.compute ["i"] extents affine_map<()[s0, s1, s2] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %m[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "h", shape = affine_map<()[s0, s1, s2] -> (s0 + s0)>, partial} : tensor<?xf32>
  %g = te.compute ["i"] extents affine_map<()[s0, s1, s2] -> (s0)> init %h : tensor<?xf32> {
  ^bb0(%i: index):
    %v = te.read %m[%i] edge : tensor<?xf32>
    %n = arith.negf %v : f32
    te.yield %n : f32
  } {name = "m", shape = affine_map<()[s0, s1, s2] -> (s0 + s0)>, out_map = affine_map<(d0)[s0, s1, s2] -> (d0 + s0)>} : tensor<?xf32>
  te.return %y, %g : tensor<?x?xf32>, tensor<?xf32>
})";

TEST(Check, WindowsComputeWhatTheWholeDoes) {
  auto oracle = mustCompile(kChain, Arithmetic::F64WithError);
  int64_t m = 37, n = 45, k = 19;
  auto x = noiseVector(m * k, 1), w = noiseVector(k * n, 2);
  std::vector<TensorView> args = {view(x, {m, k}), view(w, {k, n})};
  std::vector<double> y(m * n), g(2 * m), ye(m * n), ge(2 * m);
  ASSERT_TRUE(oracle->run({m, n, k}, args, {view(y, {m, n}), view(g, {2 * m})}, nullptr, {view(ye, {m, n}), view(ge, {2 * m})}).ok());
  double all = oracle->estimateWork({m, n, k});
  for (Box box : {Box{{0, 0}, {1, 1}}, Box{{36, 44}, {37, 45}}, Box{{5, 7}, {14, 41}}, Box{{3, 0}, {3, 0}}, Box{{0, 0}, {m, n}}})
    for (Box rows : {Box{{0}, {0}}, Box{{30}, {50}}}) {
      std::vector<double> y2(m * n, -5), g2(2 * m, -5), ye2(m * n, -5), ge2(2 * m, -5);
      std::vector<Box> boxes = {box, rows};
      auto s = oracle->run({m, n, k}, args, {view(y2, {m, n}), view(g2, {2 * m})}, nullptr, {view(ye2, {m, n}), view(ge2, {2 * m})}, boxes);
      ASSERT_TRUE(s.ok()) << s;
      if (box.upper[0] - box.lower[0] == 1)
        EXPECT_LT(oracle->estimateWork({m, n, k}, boxes), all / 10);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          bool in = i >= box.lower[0] && i < box.upper[0] && j >= box.lower[1] && j < box.upper[1];
          // FMA or not may differ between vector and border code by nothing: same operations.
          ASSERT_EQ(y2[i * n + j], in ? y[i * n + j] : -5) << i << " " << j;
          ASSERT_EQ(ye2[i * n + j], in ? ye[i * n + j] : -5);
        }
      for (int64_t i = 0; i < 2 * m; ++i) {
        bool in = i >= rows.lower[0] && i < rows.upper[0];
        ASSERT_EQ(g2[i], in ? g[i] : -5);
        ASSERT_EQ(ge2[i], in ? ge[i] : -5);
      }
    }
  EXPECT_FALSE(oracle
                   ->run({m, n, k}, args, {view(y, {m, n}), view(g, {2 * m})}, nullptr, {view(ye, {m, n}), view(ge, {2 * m})},
                         std::vector<Box>{{{0, 0}, {m + 1, n}}, {{0}, {1}}})
                   .ok());
}

TEST(Check, LargeProblemsAreSampled) {
  auto own = mustCompile(kChain), oracle = mustCompile(kChain, Arithmetic::F64WithError);
  int64_t m = 300, n = 520, k = 40;
  auto x = noiseVector(m * k, 1), w = noiseVector(k * n, 2);
  std::vector<float> y(m * n), g(2 * m);
  std::vector<TensorView> args = {view(x, {m, k}), view(w, {k, n})}, outs = {view(y, {m, n}), view(g, {2 * m})};
  ASSERT_TRUE(own->run({m, n, k}, args, outs).ok());
  CheckOptions options;
  options.maxWork = 2e7;
  auto report = checkOutputs(*oracle, {m, n, k}, args, outs, nullptr, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->passed()) << report->toString();
  EXPECT_GT(report->outputs[0].elements, 128);
  EXPECT_LT(report->outputs[0].elements, m * n);
  EXPECT_NE(report->toString().find("sampled elements of 156000"), std::string::npos) << report->toString();
  // The last element, and all that stands right after a multiple of 64.
  y[m * n - 1] += 1;
  report = checkOutputs(*oracle, {m, n, k}, args, outs, nullptr, options);
  EXPECT_EQ(report->outputs[0].worst.index, (std::vector<int64_t>{m - 1, n - 1})) << report->toString();
  y[m * n - 1] -= 1;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 64; j < n; j += 64)
      y[i * n + j] += 1;
  EXPECT_FALSE(checkOutputs(*oracle, {m, n, k}, args, outs, nullptr, options)->passed());
}

} // namespace
} // namespace kernelc::reference
