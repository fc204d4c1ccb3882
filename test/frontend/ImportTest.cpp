// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// importKc beyond what lit tests reach: options, locations, numbers of errors.
#include "frontend/Source.h"
#include "test/frontend/FrontendTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ImportOptions set(Constants constants, std::string kernel = "") {
  ImportOptions o;
  o.constants = std::move(constants);
  o.kernel = std::move(kernel);
  return o;
}

constexpr char kMatmul[] = "def mm(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[k, j]) }";

TEST(Import, SetSizesBecomeConstants) {
  Imported r(kMatmul, set({{"K", 64}}));
  ASSERT_TRUE(r.module) << r.errors.front();
  ASSERT_EQ(r.kernel().getNumSizes(), 2u);
  EXPECT_EQ(r.kernel().getSizeName(0), "M");
  EXPECT_EQ(r.kernel().getSizeName(1), "N");
  EXPECT_THAT(r.print(), HasSubstr("tensor<?x64xf32>"));
}

TEST(Import, ConstParameterSelectsASide) {
  const char *text = "def f(x: f32[N], const neg: bool = False) -> (y: f32[N]) { y[i] = -x[i] if neg else x[i] }";
  Imported off(text), on(text, set({{"neg", 1}}));
  ASSERT_TRUE(off.module && on.module);
  EXPECT_THAT(off.print(), testing::Not(HasSubstr("arith.negf")));
  EXPECT_THAT(on.print(), HasSubstr("arith.negf"));
  EXPECT_THAT(on.print(), testing::Not(HasSubstr("select")));
}

TEST(Import, ConstParameterInShapesAndSubscripts) {
  const char *text = "def f(x: f32[N], const s: i64 = 2) -> (y: f32[N // s]) { y[i] = x[s * i] }";
  for (int64_t s : {1, 2, 3}) {
    Imported r(text, set({{"s", s}}));
    EXPECT_TRUE(r.module) << s << ": " << r.errors.front();
  }
}

TEST(Import, FloatConstParameterKeepsItsFraction) {
  const char *text = "def f(x: f32[N], const c: f32 = 1) -> (y: f32[N]) { y[i] = c * x[i] }";
  EXPECT_THAT(Imported(text, set({{"c", 2.5}})).print(), HasSubstr("2.500000e+00"));
  EXPECT_THAT(Imported(text, set({{"c", 3}})).print(), HasSubstr("3.000000e+00"));
}

TEST(Import, ConstParameterRefusesWhatItsTypeLacks) {
  const char *text = "def f(x: f32[N], const n: i32 = 1, const b: bool = False) -> (y: f32[N]) { "
                     "y[i] = x[i] * f32(n) if b else 0.0 }";
  Imported fraction(text, set({{"n", 2.5}})), two(text, set({{"b", 2}})), size(text, set({{"N", 2.7}}));
  EXPECT_THAT(fraction.errors, ElementsAre(HasSubstr("'n' is set to 2.5; it takes an integer that fits in i64")));
  EXPECT_THAT(two.errors, ElementsAre(HasSubstr("'b' is set to 2; it takes True or False")));
  EXPECT_THAT(size.errors.front(), HasSubstr("size 'N' is set to 2.7; sizes are integers"));
}

TEST(Import, UnknownSetNameSuggests) {
  Imported r(kMatmul, set({{"m", 64}}));
  EXPECT_FALSE(r.module);
  EXPECT_THAT(r.errors, ElementsAre(HasSubstr("did you mean 'M'?")));
}

TEST(Import, NegativeSetSizeIsAnError) {
  Imported r(kMatmul, set({{"M", -1}}));
  EXPECT_FALSE(r.module);
  EXPECT_THAT(r.errors, ElementsAre(HasSubstr("sizes are not negative"))); // once, not for each tensor
}

TEST(Import, OneKernelByName) {
  std::string two = std::string(kMatmul) + " def bad(x: f32[N]) -> (y: f32[N]) { y[i] = x[i + 1] }";
  EXPECT_FALSE(Imported(two).module);
  EXPECT_TRUE(Imported(two, set({}, "mm")).module);
  Imported r(two, set({}, "mn"));
  EXPECT_THAT(r.errors, ElementsAre(HasSubstr("did you mean 'mm'?")));
}

TEST(Import, RequirementsWithTheirText) {
  Imported r("def f(x: f32[N]) -> (y: f32[N]) { require N % 8 == 0 and N >= 8\n y[i] = x[i] }");
  ASSERT_TRUE(r.module);
  ASSERT_EQ(r.kernel().getRequirements().size(), 1u);
  EXPECT_EQ(mlir::cast<mlir::StringAttr>(r.kernel().getRequirementTexts()[0]).getValue(), "N % 8 == 0 and N >= 8");
}

TEST(Import, DivisibilityBySizesExcludesZero) {
  Imported r("def f(x: f32[H, G]) -> (y: f32[H, G]) { require H % G == 0\n y[i, j] = x[i, j] }");
  ASSERT_TRUE(r.module);
  EXPECT_EQ(mlir::cast<mlir::StringAttr>(r.kernel().getRequirementTexts()[0]).getValue(), "G >= 1");
}

TEST(Import, LocationsReachTheSource) {
  Imported r("def f(x: f32[N]) -> (y: f32[N]) {\n  y[i] = x[i]\n}");
  ASSERT_TRUE(r.module);
  auto op = *r.kernel().getBody().getOps<te::ComputeOp>().begin();
  auto named = mlir::dyn_cast<mlir::NameLoc>(op.getLoc());
  ASSERT_TRUE(named);
  EXPECT_EQ(named.getName(), "y");
  EXPECT_EQ(mlir::cast<mlir::FileLineColLoc>(named.getChildLoc()).getLine(), 2u);
  auto arg = mlir::dyn_cast<mlir::NameLoc>(op.getBlock().getArgument(0).getLoc());
  ASSERT_TRUE(arg);
  EXPECT_EQ(arg.getName(), "i");
}

TEST(Import, InoutIsAnArgumentAndAnOutput) {
  Imported r("def f(a: f32, inout y: f32[N]) -> (z: f32[N]) { y[i] = a * y[i]\n z[i] = y[i] }");
  ASSERT_TRUE(r.module);
  EXPECT_EQ(r.kernel().getAlias(0), 1);
  EXPECT_EQ(r.kernel().getAlias(1), -1);
}

TEST(Import, StopsAtManyErrors) {
  std::string text = "def f(x: f32[N]) -> (y: f32[N]) {\n";
  for (int i = 0; i < 300; ++i)
    text += "  let t" + std::to_string(i) + "[i] = x[i] + unknown" + std::to_string(i) + "\n";
  text += "  y[i] = x[i]\n}";
  EXPECT_EQ(Imported(text).errors.size(), Diagnostics::kMaxErrors);
}

TEST(Import, ResultsVerify) {
  for (auto &[name, text] : exampleTexts()) {
    Imported r(text);
    ASSERT_TRUE(r.module) << name << ": " << r.errors.front();
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*r.module))) << name;
  }
}

} // namespace
} // namespace kernelc::frontend
