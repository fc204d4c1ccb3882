// The check of the te passes: quiet about the real ones, and loud about one that
// changes the meaning.
#include "driver/VerifyEach.h"

#include "driver/HostValues.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"

namespace kernelc {
namespace {

/// Turns every float sum of two operands into a difference.
struct PlantedPass : mlir::PassWrapper<PlantedPass, mlir::OperationPass<te::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantedPass)
  llvm::StringRef getArgument() const override { return "planted"; }
  void runOnOperation() override {
    getOperation().walk([](mlir::arith::AddFOp add) {
      mlir::OpBuilder builder(add);
      auto sub = mlir::arith::SubFOp::create(builder, add.getLoc(), add.getLhs(), add.getRhs());
      add.replaceAllUsesWith(sub.getResult());
    });
  }
};
/// Does nothing.
struct IdlePass : mlir::PassWrapper<IdlePass, mlir::OperationPass<te::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(IdlePass)
  llvm::StringRef getArgument() const override { return "idle"; }
  void runOnOperation() override {}
};

class VerifyEach : public ::testing::Test {
protected:
  void SetUp() override {
    SessionOptions options;
    options.diskCache = false;
    session = Session::create(options);
    auto compiled = session->compile("def f(x: f32[M, N], inout z: f32[M]) -> (y: f32[M, N]) {\n"
                                     "  y[i, j] = softmax[j](x[i, j]) + 0.5\n  z[i] += x[i, j]\n}\n");
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    kernel = *compiled;
    tensors.emplace_back(ElementType::f32, std::vector<int64_t>{5, 7});
    tensors.emplace_back(ElementType::f32, std::vector<int64_t>{5});
    tensors.emplace_back(ElementType::f32, std::vector<int64_t>{5, 7});
    for (int i = 0; i < 35; ++i)
      tensors[0].as<float>()[i] = float(i % 11) / 4 - 1;
  }
  std::shared_ptr<Session> session;
  std::shared_ptr<JitKernel> kernel;
  std::vector<HostTensor> tensors;
};

TEST_F(VerifyEach, ThePipelineKeepsTheMeaning) {
  auto verdicts = verifyTePasses(*kernel, "sm_90a", tensors, {5, 7});
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  std::vector<std::string> passes;
  for (const PassVerdict &v : *verdicts) {
    EXPECT_TRUE(v.passed) << v.pass << "\n" << v.text;
    passes.push_back(v.pass);
  }
  EXPECT_EQ(passes.front(), "source");
  EXPECT_THAT(passes, ::testing::IsSupersetOf({"te-simplify", "te-split-reduce", "te-plan"}));
  EXPECT_EQ(tensors[1].as<float>()[0], 0); // inputs are left alone
}

TEST_F(VerifyEach, NamesTheFirstPassThatChangesIt) {
  auto verdicts = verifyTePasses(*kernel, "sm_90a", tensors, {5, 7}, [](mlir::OpPassManager &pm) {
    pm.addNestedPass<te::KernelOp>(std::make_unique<IdlePass>());
    pm.addNestedPass<te::KernelOp>(std::make_unique<PlantedPass>());
    pm.addNestedPass<te::KernelOp>(std::make_unique<IdlePass>());
  });
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  ASSERT_EQ(verdicts->size(), 3u); // source, idle, planted; nothing after that
  EXPECT_TRUE((*verdicts)[1].passed);
  EXPECT_EQ(verdicts->back().pass, "planted");
  EXPECT_FALSE(verdicts->back().passed);
  EXPECT_THAT(verdicts->back().text, ::testing::HasSubstr("y: "));
}

/// A product whose operands are copied first, whatever the target says of their worth.
class VerifyRepack : public ::testing::TestWithParam<const char *> {};

TEST_P(VerifyRepack, CopiesKeepTheMeaning) {
  auto session = Session::create();
  ProgramOptions options;
  options.precision.contract = std::string(GetParam()).find("a: f32[3") != std::string::npos ? "tf32" : "";
  auto kernel = session->compile(GetParam(), "", options);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::vector<int64_t> sizes{13, 17, 19};
  std::vector<HostTensor> tensors;
  for (const Param &p : (*kernel)->signature().params) {
    std::vector<int64_t> shape;
    for (const SizeExpr &e : p.dims)
      shape.push_back(e.evaluate({sizes, 1, {}}));
    tensors.emplace_back(p.type, shape);
    fillRandom(tensors.back(), tensors.size());
  }
  auto verdicts = verifyTePasses(**kernel, "sm_90a", tensors, sizes, [](mlir::OpPassManager &pm) {
    TeRepackOptions options;
    options.target = "sm_90a";
    options.sizeMax = {32, 32, 32};
    options.work = options.reuse = 0;
    pm.addNestedPass<te::KernelOp>(createTeRepack(options));
  });
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  ASSERT_EQ(verdicts->size(), 2u);
  EXPECT_TRUE(verdicts->back().passed) << verdicts->back().text;
}

INSTANTIATE_TEST_SUITE_P(Products, VerifyRepack,
                         ::testing::Values("def m(a: bf16[M, K], b: bf16[K, N]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[k, j]) }",
                                           "def m(a: i8[K, M], b: i8[K, N]) -> (c: i32[M, N]) { c[i, j] = sum[k](a[k, i] * b[k, j]) }",
                                           "def m(a: f32[3, K, M], b: f32[3, K, N]) -> (c: f32[3, M, N]) { c[n, i, j] = sum[k](a[n, k, i] * b[n, k, j]) }",
                                           "def m(a: bf16[M, K], b: i8[N, K], s: f32[K]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * bf16(s[k] * f32(b[j, k]))) }",
                                           "def m(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) {\n  precision(contract = bf16x3)\n  c[i, j] = sum[k](a[i, k] * b[j, k])\n}",
                                           "def m(a: u8[M, K], b: u8[N, K]) -> (c: i32[M, N]) { c[i, j] = sum[k](a[i, k] * u8(b[j, k] // 2)) }",
                                           "def m(a: f16[M, K], b: f16[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k](a.pad(0)[i + 1, k] * b[j, k]) }"));

} // namespace
} // namespace kernelc
