// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared by the reference's tests: te text in, tensors in vectors, results out.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "reference/Reference.h"
#include "gtest/gtest.h"

namespace kernelc::reference {

/// te text of one kernel, compiled. The context dies here: the kernel must not need it.
inline absl::StatusOr<std::unique_ptr<ReferenceKernel>> compileText(const std::string &text, Arithmetic arithmetic) {
  mlir::DialectRegistry registry;
  registry.insert<te::TeDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return absl::InvalidArgumentError("te text does not parse");
  te::KernelOp kernel = *module->getOps<te::KernelOp>().begin();
  return ReferenceKernel::compile(kernel, arithmetic);
}

inline std::unique_ptr<ReferenceKernel> mustCompile(const std::string &text, Arithmetic arithmetic = Arithmetic::Own) {
  auto kernel = compileText(text, arithmetic);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return kernel.ok() ? std::move(*kernel) : nullptr;
}

template <typename T> struct ElementOf;
template <> struct ElementOf<float> {
  static constexpr ElementType type = ElementType::f32;
};
template <> struct ElementOf<double> {
  static constexpr ElementType type = ElementType::f64;
};
template <> struct ElementOf<int32_t> {
  static constexpr ElementType type = ElementType::i32;
};
template <> struct ElementOf<int64_t> {
  static constexpr ElementType type = ElementType::i64;
};
template <> struct ElementOf<int8_t> {
  static constexpr ElementType type = ElementType::i8;
};
template <> struct ElementOf<uint8_t> {
  static constexpr ElementType type = ElementType::u8;
};
template <> struct ElementOf<uint16_t> {
  static constexpr ElementType type = ElementType::bf16;
};

/// A dense view; `type` overrides the element type of T's storage.
template <typename T> TensorView view(std::vector<T> &v, std::vector<int64_t> shape, ElementType type = ElementOf<T>::type) {
  auto strides = denseStrides(shape);
  return {v.data(), type, std::move(shape), std::move(strides)};
}

/// Deterministic values in [-1, 1).
inline float noise(uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i ^= i >> 29;
  i *= 0xbf58476d1ce4e5b9u;
  return float(int32_t(i >> 32)) * 0x1p-31f;
}
inline std::vector<float> noiseVector(size_t n, uint64_t seed = 0) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i)
    v[i] = noise(i + (seed << 32));
  return v;
}

} // namespace kernelc::reference
