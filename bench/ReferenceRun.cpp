// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the first kernel of a te file on random inputs in all three arithmetics:
// CPU time of compilation, run time, and the CPU in the program's types checked against the
// oracle.   reference-run file.mlir size..
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "reference/Check.h"
#include "reference/SizeExprs.h"

using namespace kernelc;
using namespace kernelc::reference;
using Clock = std::chrono::steady_clock;

static double seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

static std::vector<uint8_t> randomTensor(const TensorView &v) {
  std::vector<uint8_t> bytes(size_t(v.numElements()) * 8 + 8);
  std::mt19937 engine(7);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < v.numElements(); ++i) {
    float f = normal(engine);
    switch (v.type) {
    case ElementType::f64: reinterpret_cast<double *>(bytes.data())[i] = f; break;
    case ElementType::f32: reinterpret_cast<float *>(bytes.data())[i] = f; break;
    case ElementType::f16: reinterpret_cast<uint16_t *>(bytes.data())[i] = toF16(f); break;
    case ElementType::bf16: reinterpret_cast<uint16_t *>(bytes.data())[i] = toBF16(f); break;
    case ElementType::f8e4m3: bytes[i] = toF8E4M3(f); break;
    case ElementType::f8e5m2: bytes[i] = toF8E5M2(f); break;
    default: bytes[size_t(i * elementBits(v.type) / 8)] = uint8_t(engine() & 7); break; // small integers
    }
  }
  return bytes;
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<te::TeDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::MLIRContext context(registry);
  auto module = argc > 1 ? mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context) : nullptr;
  if (!module)
    return 2;
  te::KernelOp kernel;
  module->walk([&](te::KernelOp k) { kernel = k; });
  std::vector<int64_t> sizes;
  for (int i = 2; i < argc; ++i)
    sizes.push_back(std::atoll(argv[i]));
  if (sizes.size() != kernel.getNumSizes()) {
    for (unsigned i = 0; i < kernel.getNumSizes(); ++i)
      std::fprintf(stderr, "%s ", kernel.getSizeName(i).str().c_str());
    std::fprintf(stderr, "are the sizes\n");
    return 2;
  }
  std::vector<std::vector<uint8_t>> memory;
  auto views = [&](mlir::ArrayAttr types, auto shapeOf, bool f64, bool random) {
    std::vector<TensorView> result;
    for (unsigned i = 0; i < types.size(); ++i) {
      TensorView v;
      v.type = te::getElementType(mlir::cast<mlir::StringAttr>(types[i]));
      if (f64 && isFloat(v.type))
        v.type = ElementType::f64;
      for (const SizeExpr &e : toSizeExprs(shapeOf(i)))
        v.shape.push_back(e.evaluate({sizes}));
      v.strides = denseStrides(v.shape);
      memory.push_back(random ? randomTensor(v) : std::vector<uint8_t>(size_t(v.numElements()) * 8 + 8));
      v.data = memory.back().data();
      result.push_back(v);
    }
    return result;
  };
  auto args = views(kernel.getArgTypes(), [&](unsigned i) { return kernel.getArgShape(i); }, false, true);
  auto outs = views(kernel.getOutTypes(), [&](unsigned i) { return kernel.getOutShape(i); }, false, false);
  ThreadPool pool;
  for (auto [name, arithmetic] : {std::pair<const char *, Arithmetic>{"own", Arithmetic::Own},
                                  {"f64", Arithmetic::F64},
                                  {"f64 with error", Arithmetic::F64WithError}}) {
    std::clock_t cpu = std::clock(); // compilation is one thread; its CPU time is steadier than the clock
    auto compiled = ReferenceKernel::compile(kernel, arithmetic);
    double compile = double(std::clock() - cpu) / CLOCKS_PER_SEC;
    if (!compiled.ok()) {
      std::fprintf(stderr, "%s\n", compiled.status().ToString().c_str());
      return 1;
    }
    auto start = Clock::now();
    absl::Status status;
    std::string report;
    if (arithmetic == Arithmetic::F64WithError) {
      auto r = checkOutputs(**compiled, sizes, args, outs, &pool);
      status = r.status();
      report = r.ok() ? r->toString() : "";
    } else {
      auto to = arithmetic == Arithmetic::Own ? outs
                                              : views(kernel.getOutTypes(), [&](unsigned i) { return kernel.getOutShape(i); }, true, false);
      status = (*compiled)->run(sizes, args, to, &pool);
    }
    std::printf("%-15s compile %6.1f ms, run %8.1f ms %s\n%s", name, compile * 1e3, seconds(start) * 1e3,
                status.ok() ? "" : status.ToString().c_str(), report.c_str());
  }
}
