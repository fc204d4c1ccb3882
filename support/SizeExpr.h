// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer expressions over a kernel's sizes, as postfix code. The runtime
// evaluates them at launch; they never fail: division and remainder floor, and
// by zero they give 0; what does not fit into 64 bits is the nearest number that does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace kernelc {

struct SizeTerm {
  enum Op : uint8_t {
    Const,   ///< push value
    Size,    ///< push the size with index `value`
    Stride,  ///< push the stride in elements of dim (value & 0xff) of param (value >> 8)
    SmCount, ///< push the number of multiprocessors of the device
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    And,
    Or,
    Not,
  };
  Op op = Const;
  int64_t value = 0;
  friend bool operator==(const SizeTerm &, const SizeTerm &) = default;
};

/// The values of a call that an expression may use.
struct SizeEnv {
  absl::Span<const int64_t> sizes;
  int64_t smCount = 1;
  /// strides[param][dim] in elements; may be empty when no term asks for one.
  absl::Span<const std::vector<int64_t>> strides;
};

/// A postfix program that leaves one value. Empty evaluates to 0.
class SizeExpr {
public:
  SizeExpr() = default;
  SizeExpr(int64_t constant) : terms_{{SizeTerm::Const, constant}} {}
  explicit SizeExpr(std::vector<SizeTerm> terms) : terms_(std::move(terms)) {}
  static SizeExpr size(int index) { return SizeExpr({{SizeTerm::Size, index}}); }
  static SizeExpr smCount() { return SizeExpr({{SizeTerm::SmCount, 0}}); }
  static SizeExpr stride(int param, int dim) { return SizeExpr({{SizeTerm::Stride, (int64_t(param) << 8) | dim}}); }
  /// a `op` b, folded when both are constants.
  static SizeExpr binary(SizeTerm::Op op, const SizeExpr &a, const SizeExpr &b);

  int64_t evaluate(const SizeEnv &env) const;
  bool empty() const { return terms_.empty(); }
  /// True and the value when it depends on nothing.
  bool isConstant(int64_t *value = nullptr) const;
  const std::vector<SizeTerm> &terms() const { return terms_; }
  /// Infix text with the given size names, for messages: "(M + 127) // 128".
  std::string toString(absl::Span<const std::string> sizeNames) const;
  friend bool operator==(const SizeExpr &, const SizeExpr &) = default;

private:
  std::vector<SizeTerm> terms_;
};

inline SizeExpr operator+(const SizeExpr &a, const SizeExpr &b) { return SizeExpr::binary(SizeTerm::Add, a, b); }
inline SizeExpr operator-(const SizeExpr &a, const SizeExpr &b) { return SizeExpr::binary(SizeTerm::Sub, a, b); }
inline SizeExpr operator*(const SizeExpr &a, const SizeExpr &b) { return SizeExpr::binary(SizeTerm::Mul, a, b); }
inline SizeExpr ceilDiv(const SizeExpr &a, const SizeExpr &b) { return SizeExpr::binary(SizeTerm::CeilDiv, a, b); }

} // namespace kernelc
