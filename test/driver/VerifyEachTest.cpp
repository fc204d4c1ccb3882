// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check of the passes: quiet about the real ones, and loud about one that changes
// the meaning, at each level.
#include "driver/verify/VerifyEach.h"

#include "driver/verify/HostValues.h"
#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
  auto verdicts = verifyPasses(*kernel, tensors, {5, 7}, {.target = "sm_90a"});
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  std::vector<std::string> passes;
  for (const PassVerdict &v : *verdicts) {
    EXPECT_TRUE(v.passed) << v.pass << "\n" << v.text;
    passes.push_back(v.pass);
  }
  EXPECT_EQ(passes.front(), "source");
  EXPECT_THAT(passes, ::testing::IsSupersetOf({"te-simplify", "te-split-reduce", "te-plan", "te-to-tile", "tile-to-cu"}));
  EXPECT_EQ(tensors[1].as<float>()[0], 0); // inputs are left alone
}

TEST_F(VerifyEach, NamesTheFirstPassThatChangesIt) {
  VerifyOptions options;
  options.te = [](mlir::OpPassManager &pm) {
    pm.addNestedPass<te::KernelOp>(std::make_unique<IdlePass>());
    pm.addNestedPass<te::KernelOp>(std::make_unique<PlantedPass>());
    pm.addNestedPass<te::KernelOp>(std::make_unique<IdlePass>());
  };
  auto verdicts = verifyPasses(*kernel, tensors, {5, 7}, options);
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  ASSERT_EQ(verdicts->size(), 3u); // source, idle, planted; nothing after that
  EXPECT_TRUE((*verdicts)[1].passed);
  EXPECT_EQ(verdicts->back().pass, "planted");
  EXPECT_FALSE(verdicts->back().passed);
  EXPECT_THAT(verdicts->back().text, ::testing::HasSubstr("y: "));
  EXPECT_THAT(verdicts->back().reproducer, ::testing::HasSubstr("// RUN: kernelc-opt %s --verify-semantics"));
}

TEST_F(VerifyEach, ReducesWhatShowsIt) {
  mlir::PassRegistration<PlantedPass>();
  VerifyOptions options;
  options.te = [](mlir::OpPassManager &pm) {
    pm.addNestedPass<te::KernelOp>(createTeSimplify());
    pm.addNestedPass<te::KernelOp>(std::make_unique<PlantedPass>());
  };
  auto verdicts = verifyPasses(*kernel, tensors, {5, 7}, options);
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  const std::string &text = verdicts->back().reproducer;
  EXPECT_THAT(text, ::testing::StartsWith("// RUN: kernelc-opt %s --verify-semantics --verify-sizes=M=1,N=1 --verify-seed=1 "
                                          "--pass-pipeline='builtin.module(te.kernel(planted))'\n#map"))
      << text;
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("te.reduce"))); // neither the softmax nor the sum is needed
  EXPECT_THAT(text, ::testing::HasSubstr("arith.addf"));
}

/// Runs one function on every op of a kind in the module.
template <class Op> struct Planted : mlir::PassWrapper<Planted<Op>, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Planted)
  explicit Planted(std::function<void(Op)> change) : change(std::move(change)) {}
  llvm::StringRef getArgument() const override { return "planted"; }
  void runOnOperation() override {
    this->getOperation().walk([&](Op op) { change(op); });
  }
  std::function<void(Op)> change;
};

/// A product over awkward sizes, with sums and products only.
class VerifyLevels : public ::testing::TestWithParam<const char *> {
protected:
  void compile(const std::string &type, std::vector<int64_t> with) {
    sizes = std::move(with);
    SessionOptions options;
    options.diskCache = false;
    session = Session::create(options);
    auto compiled = session->compile("def mm(x: " + type + "[M, K], w: " + type +
                                     "[N, K]) -> (y: f32[M, N]) {\n"
                                     "  y[i, j] = sum[k](f32(x[i, k]) * f32(w[j, k]))\n}\n");
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    kernel = *compiled;
    int64_t m = sizes[0], k = sizes[1], n = sizes[2];
    ElementType t = *findElementType(type);
    tensors.emplace_back(t, std::vector<int64_t>{m, k});
    tensors.emplace_back(t, std::vector<int64_t>{n, k});
    tensors.emplace_back(ElementType::f32, std::vector<int64_t>{m, n});
    for (int a = 0; a < 2; ++a)
      for (int64_t i = 0; i < tensors[a].numElements(); ++i) {
        float v = float((i * 7 + a) % 23) / 8 - 1;
        if (t == ElementType::bf16)
          tensors[a].as<uint16_t>()[i] = toBF16(v);
        else
          tensors[a].as<float>()[i] = v;
      }
  }
  /// The verdicts when `change` is made before pass `at` of the cuda pipeline's levels.
  template <class Op> std::vector<PassVerdict> plant(CudaStop level, std::function<void(Op)> change) {
    VerifyOptions options;
    options.target = target;
    options.cuda = [=](mlir::OpPassManager &pm) {
      buildCudaPipeline(pm, level);
      pm.addPass(std::make_unique<Planted<Op>>(change));
    };
    auto verdicts = verifyPasses(*kernel, tensors, sizes, options);
    EXPECT_TRUE(verdicts.ok()) << verdicts.status();
    return verdicts.ok() ? *verdicts : std::vector<PassVerdict>();
  }
  void expectFound(const std::vector<PassVerdict> &verdicts) {
    ASSERT_FALSE(verdicts.empty());
    for (size_t i = 0; i + 1 < verdicts.size(); ++i)
      EXPECT_TRUE(verdicts[i].passed) << verdicts[i].pass << "\n" << verdicts[i].text;
    EXPECT_EQ(verdicts.back().pass, "planted");
    EXPECT_FALSE(verdicts.back().passed);
  }
  std::shared_ptr<Session> session;
  std::shared_ptr<JitKernel> kernel;
  std::vector<HostTensor> tensors;
  std::vector<int64_t> sizes;
  std::string target = "sm_90a";
};

TEST_F(VerifyLevels, EveryUnitKeepsTheMeaning) {
  for (auto [type, on, with] :
       {std::tuple("bf16", "sm_90a", std::vector<int64_t>{65, 72, 136}), std::tuple("bf16", "sm_80", std::vector<int64_t>{17, 33, 9}),
        std::tuple("f32", "sm_80", std::vector<int64_t>{1, 7, 31})}) {
    tensors.clear();
    compile(type, with);
    auto verdicts = verifyPasses(*kernel, tensors, sizes, {.target = on});
    ASSERT_TRUE(verdicts.ok()) << verdicts.status();
    for (const PassVerdict &v : *verdicts)
      EXPECT_TRUE(v.passed) << type << " on " << on << " after " << v.pass << "\n" << v.text;
    EXPECT_GT(verdicts->size(), 15u);
  }
}

TEST_F(VerifyLevels, FindsALostMaskOfAStore) {
  compile("f32", {13, 17, 11});
  target = "sm_80";
  expectFound(plant<tile::StoreOp>(CudaStop::Tile, [](tile::StoreOp op) { op.setMask({}); }));
}

TEST_F(VerifyLevels, FindsSwappedSubscripts) {
  compile("f32", {16, 16, 16});
  target = "sm_80";
  auto verdicts = plant<tile::StoreOp>(CudaStop::Tile, [](tile::StoreOp op) {
    auto results = llvm::to_vector(op.getMap().getResults());
    std::reverse(results.begin(), results.end());
    op.setMap(mlir::AffineMap::get(op.getMap().getNumDims(), op.getMap().getNumSymbols(), results, op.getContext()));
  });
  expectFound(verdicts);
  // In every arithmetic, this being a ring program.
  EXPECT_THAT(verdicts.back().text, ::testing::HasSubstr("with small whole numbers: y"));
  EXPECT_THAT(verdicts.back().text, ::testing::HasSubstr("with integers modulo 2^32: y: differs"));
}

TEST_F(VerifyLevels, FindsALostTileOfK) {
  compile("bf16", {64, 136, 64});
  auto skip = [](mlir::scf::ForOp loop) { // the loop over tiles of k starts one late
    if (loop.getInitArgs().empty() || !mlir::isa<mlir::RankedTensorType>(loop.getInitArgs()[0].getType()))
      return;
    mlir::OpBuilder b(loop);
    loop.getLowerBoundMutable().assign(mlir::arith::ConstantIndexOp::create(b, loop.getLoc(), 1));
  };
  target = "sm_80";
  auto verdicts = plant<mlir::scf::ForOp>(CudaStop::Tile, skip);
  expectFound(verdicts);
}

TEST_F(VerifyLevels, FindsARoleThatFillsTooLittle) {
  compile("bf16", {128, 256, 128});
  expectFound(plant<tile::AcquireOp>(CudaStop::Tile, [](tile::AcquireOp op) { op.setBytes(op.getBytes() / 2); }));
}

TEST_F(VerifyLevels, FindsALostBarrierInCu) {
  compile("bf16", {64, 72, 64});
  target = "sm_80";
  expectFound(plant<cu::SyncOp>(CudaStop::Cu, [](cu::SyncOp op) { op.erase(); }));
}

TEST_F(VerifyLevels, FindsAWrongIndexInCu) {
  compile("f32", {5, 19, 7});
  target = "sm_80";
  bool changed = false;
  expectFound(plant<mlir::memref::StoreOp>(CudaStop::Cu, [&](mlir::memref::StoreOp op) { // the last store, one element further
    auto type = mlir::cast<mlir::MemRefType>(op.getMemRef().getType());
    if (changed || !mlir::isa<mlir::BlockArgument>(op.getMemRef()) || type.getRank() != 1)
      return;
    changed = true;
    mlir::OpBuilder b(op);
    mlir::Value one = mlir::arith::ConstantIndexOp::create(b, op.getLoc(), 1);
    op.getIndicesMutable().assign(mlir::arith::AddIOp::create(b, op.getLoc(), op.getIndices()[0], one).getResult());
  }));
  EXPECT_TRUE(changed);
}

/// A tensor for each parameter, every one from a seed of its own.
std::vector<HostTensor> randomTensors(const Kernel &kernel, const std::vector<int64_t> &sizes) {
  std::vector<HostTensor> tensors;
  for (const Param &p : kernel.params) {
    std::vector<int64_t> shape;
    for (const SizeExpr &e : p.dims)
      shape.push_back(e.evaluate({sizes, 1, {}}));
    tensors.emplace_back(p.type, shape);
    fillRandom(tensors.back(), tensors.size());
  }
  return tensors;
}

/// Masks in slots: of rows by data, and of points (sizes M, K, N and G).
class VerifyMasks : public ::testing::TestWithParam<const char *> {};

TEST_P(VerifyMasks, EveryPassKeepsTheMeaning) {
  auto session = Session::create();
  auto kernel = session->compile(GetParam(), "");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::map<std::string, int64_t> values{{"M", 136}, {"K", 72}, {"N", 72}, {"G", 5}};
  std::vector<int64_t> sizes;
  for (const SizeRecipe &r : (*kernel)->signature().sizes)
    sizes.push_back(values.at(r.name));
  std::vector<HostTensor> tensors = randomTensors((*kernel)->signature(), sizes);
  for (auto [p, tensor] : llvm::zip((*kernel)->signature().params, tensors))
    if (p.name == "off")
      for (int32_t g = 0; g <= 5; ++g)
        static_cast<int32_t *>(tensor.data())[g] = std::vector<int32_t>{3, 40, 40, 70, 64, 130}[size_t(g)];
  auto verdicts = verifyPasses(**kernel, tensors, sizes, {.target = "sm_90a"});
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_GT(verdicts->size(), 15u);
  for (const PassVerdict &v : *verdicts)
    EXPECT_TRUE(v.passed) << "after " << v.pass << "\n" << v.text;
}

INSTANTIATE_TEST_SUITE_P(
    Products, VerifyMasks,
    ::testing::Values("def m(x: bf16[M, K], w: bf16[G, K, N], off: i32[G + 1]) -> (y: f32[M, N]) {\n"
                      "  y[i, n] = sum[k](x[i, k] * w[g, k, n]) where off[g] <= i < off[g + 1]\n}",
                      "def m(a: bf16[M, M], b: bf16[M, N]) -> (c: f32[M, N]) { c[i, j] = sum[k, k <= i](a[i, k] * b[k, j]) }"));

/// A product whose operands are copied first, whatever the target says of their worth.
class VerifyRepack : public ::testing::TestWithParam<const char *> {};

TEST_P(VerifyRepack, CopiesKeepTheMeaning) {
  auto session = Session::create();
  ProgramOptions options;
  options.precision.contract = std::string(GetParam()).find("a: f32[3") != std::string::npos ? "tf32" : "";
  auto kernel = session->compile(GetParam(), "", options);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const std::vector<int64_t> sizes{13, 17, 19};
  std::vector<HostTensor> tensors = randomTensors((*kernel)->signature(), sizes);
  VerifyOptions verify;
  verify.te = [](mlir::OpPassManager &pm) {
    TeRepackOptions options;
    options.target = "sm_90a";
    options.sizeMax = {32, 32, 32};
    options.work = options.reuse = 0;
    pm.addNestedPass<te::KernelOp>(createTeRepack(options));
  };
  auto verdicts = verifyPasses(**kernel, tensors, sizes, verify);
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  ASSERT_EQ(verdicts->size(), 2u);
  EXPECT_TRUE(verdicts->back().passed) << verdicts->back().text;
}

INSTANTIATE_TEST_SUITE_P(
    Products, VerifyRepack,
    ::testing::Values(
        "def m(a: bf16[M, K], b: bf16[K, N]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[k, j]) }",
        "def m(a: i8[K, M], b: i8[K, N]) -> (c: i32[M, N]) { c[i, j] = sum[k](a[k, i] * b[k, j]) }",
        "def m(a: f32[3, K, M], b: f32[3, K, N]) -> (c: f32[3, M, N]) { c[n, i, j] = sum[k](a[n, k, i] * b[n, k, j]) }",
        "def m(a: bf16[M, K], b: i8[N, K], s: f32[K]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * bf16(s[k] * f32(b[j, k]))) }",
        "def m(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = min[k](a[i, k] + b[k, j]) }",
        "def m(a: u32[M, K], b: u32[N, K]) -> (c: u32[M, N]) { c[i, j] = sum[k]((a[i, k] ^ b[j, k]) & 7) }",
        "def m(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) {\n  precision(contract = bf16x3)\n  c[i, j] = sum[k](a[i, k] * b[j, k])\n}",
        "def m(a: u8[M, K], b: u8[N, K]) -> (c: i32[M, N]) { c[i, j] = sum[k](a[i, k] * u8(b[j, k] // 2)) }",
        "def m(a: f16[M, K], b: f16[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k](a.pad(0)[i + 1, k] * b[j, k]) }"));

} // namespace
} // namespace kernelc
