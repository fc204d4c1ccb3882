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

TEST(Check, SpecialValuesMustAgree) {
  struct { float device; double expected; bool passes; } cases[] = {
      {NAN, NAN, true}, {INFINITY, INFINITY, true}, {-INFINITY, INFINITY, false}, {NAN, 1, false}, {1, NAN, false}, {INFINITY, 1, false}, {1, INFINITY, false}};
  for (auto &c : cases) {
    std::vector<float> d = {c.device};
    std::vector<double> v = {c.expected}, e = {1e30};
    auto r = checkOutput("y", view(d, {1}), view(v, {1}), view(e, {1}));
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->passed(), c.passes) << c.device << " " << c.expected;
  }
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

} // namespace
} // namespace kernelc::reference
