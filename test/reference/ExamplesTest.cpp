// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every kernel under examples/, from text, on small awkward sizes: the CPU in the
// program's types agrees with the oracle within the oracle's bounds.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "frontend/Import.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "reference/Check.h"
#include "reference/SizeExprs.h"
#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

namespace fs = std::filesystem;

struct Tensors {
  std::vector<std::vector<uint64_t>> memory;
  std::vector<TensorView> views;

  bool add(mlir::Attribute spelled, mlir::AffineMap shape, const std::vector<int64_t> &sizes) {
    TensorView v;
    v.type = te::getElementType(mlir::cast<mlir::StringAttr>(spelled));
    for (const SizeExpr &e : toSizeExprs(shape)) {
      v.shape.push_back(e.evaluate({sizes}));
      if (v.shape.back() < 0)
        return false;
    }
    v.strides = denseStrides(v.shape);
    memory.emplace_back(size_t(v.numElements()) + 1);
    v.data = memory.back().data();
    views.push_back(v);
    return true;
  }
};

void fill(TensorView &v, std::mt19937 &engine) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < v.numElements(); ++i) {
    float f = normal(engine);
    uint8_t small = uint8_t(engine() % 3); // integers: also legal as indices into most things
    switch (v.type) {
    case ElementType::f64: static_cast<double *>(v.data)[i] = f; break;
    case ElementType::f32: static_cast<float *>(v.data)[i] = f; break;
    case ElementType::f16: static_cast<uint16_t *>(v.data)[i] = toF16(f); break;
    case ElementType::bf16: static_cast<uint16_t *>(v.data)[i] = toBF16(f); break;
    case ElementType::f8e4m3: static_cast<uint8_t *>(v.data)[i] = toF8E4M3(f); break;
    case ElementType::f8e5m2: static_cast<uint8_t *>(v.data)[i] = toF8E5M2(f); break;
    case ElementType::i64:
    case ElementType::u64: static_cast<int64_t *>(v.data)[i] = small; break;
    case ElementType::i32:
    case ElementType::u32: static_cast<int32_t *>(v.data)[i] = small; break;
    case ElementType::i16:
    case ElementType::u16: static_cast<int16_t *>(v.data)[i] = small; break;
    case ElementType::boolean: static_cast<uint8_t *>(v.data)[i] = small & 1; break;
    default: static_cast<uint8_t *>(v.data)[i * elementBits(v.type) / 8] = small; break;
    }
  }
}

bool requirementsHold(te::KernelOp kernel, const std::vector<int64_t> &sizes) {
  for (mlir::Attribute a : kernel.getRequirements())
    if (!toSizeExpr(mlir::cast<mlir::IntegerSetAttr>(a).getValue()).evaluate({sizes}))
      return false;
  return true;
}

/// How many size assignments were run.
int runKernel(te::KernelOp kernel, const std::string &what) {
  auto own = ReferenceKernel::compile(kernel, Arithmetic::Own);
  auto oracle = ReferenceKernel::compile(kernel, Arithmetic::F64WithError);
  EXPECT_TRUE(own.ok()) << what << own.status();
  EXPECT_TRUE(oracle.ok()) << what << oracle.status();
  if (!own.ok() || !oracle.ok())
    return 0;
  ThreadPool pool(2);
  std::mt19937 engine(11);
  const int64_t choices[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 33};
  constexpr int64_t kMultiple = 128; // where no others are legal
  int runs = 0;
  for (int attempt = 0; attempt < 400 && runs < 5; ++attempt) {
    std::vector<int64_t> sizes;
    for (unsigned i = 0; i < kernel.getNumSizes(); ++i)
      sizes.push_back(attempt >= 200 && engine() % 2 ? kMultiple : choices[engine() % std::size(choices)]);
    Tensors args, outs;
    bool legal = requirementsHold(kernel, sizes);
    for (unsigned i = 0; legal && i < kernel.getArgTypes().size(); ++i)
      legal = args.add(kernel.getArgTypes()[i], kernel.getArgShape(i), sizes);
    for (unsigned i = 0; legal && i < kernel.getOutTypes().size(); ++i)
      legal = outs.add(kernel.getOutTypes()[i], kernel.getOutShape(i), sizes);
    if (!legal)
      continue;
    for (TensorView &v : args.views)
      fill(v, engine);
    auto s = (*own)->run(sizes, args.views, outs.views, &pool);
    if (s.code() == absl::StatusCode::kOutOfRange)
      continue; // random data that is no legal index
    EXPECT_TRUE(s.ok()) << what << s;
    auto report = checkOutputs(**oracle, sizes, args.views, outs.views, &pool);
    EXPECT_TRUE(report.ok()) << what << report.status();
    if (!report.ok())
      return runs;
    EXPECT_TRUE(report->passed()) << what << testing::PrintToString(sizes) << "\n" << report->toString();
    for (const OutputCheck &o : report->outputs)
      EXPECT_LE(o.unchecked, o.elements / 2) << what << report->toString();
    ++runs;
  }
  return runs;
}

TEST(Examples, AgreeWithTheOracle) {
  int kernels = 0;
  for (auto &entry : fs::directory_iterator(KERNELC_EXAMPLES)) {
    if (entry.path().extension() != ".kc")
      continue;
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    mlir::DialectRegistry registry;
    registry.insert<te::TeDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    mlir::MLIRContext context(registry);
    context.loadAllAvailableDialects();
    auto module = frontend::importKc(context, text.str(), entry.path().string());
    ASSERT_TRUE(module) << entry.path();
    for (te::KernelOp kernel : module->getOps<te::KernelOp>()) {
      EXPECT_GT(runKernel(kernel, entry.path().filename().string() + " "), 0) << entry.path();
      ++kernels;
    }
  }
  EXPECT_GT(kernels, 5);
}

} // namespace
} // namespace kernelc::reference
