// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of the tile interpreter: dense arrays of elements, scalars as arrays of
// rank 0, and what types mean to them.
#pragma once

#include <cstdint>
#include <vector>

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::reference {

enum class TileArithmetic {
  /// The program's types: every float result is rounded to its type.
  Own,
  /// Floats are integers modulo 2^32: sums may be taken in any order, so a difference
  /// is a mistake. Ops that are not those of a ring are Unimplemented.
  Ring,
};

/// A float, or an integer: sign-extended from its width, i1 as 0 or 1, index as 64 bits.
union TileElement {
  double f;
  int64_t i;
};

struct TileValue {
  llvm::SmallVector<int64_t> shape;
  std::vector<TileElement> elements;

  TileValue() = default;
  TileValue(llvm::ArrayRef<int64_t> shape, TileElement fill = {.i = 0}) : shape(shape), elements(size_t(count(shape)), fill) {}
  static TileValue scalar(int64_t i) { return TileValue({}, {.i = i}); }
  static int64_t count(llvm::ArrayRef<int64_t> shape) {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    return n;
  }
  int64_t index() const { return elements[0].i; }
  /// The element at `at`, in dims of extent 1 the only one there.
  TileElement at(llvm::ArrayRef<int64_t> at) const { return elements[place(at)]; }
  TileElement &at(llvm::ArrayRef<int64_t> at) { return elements[place(at)]; }

private:
  size_t place(llvm::ArrayRef<int64_t> at) const {
    int64_t flat = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      flat = flat * shape[d] + (shape[d] == 1 ? 0 : at[d]);
    return size_t(flat);
  }
};

/// Steps `at` through `shape`, the last dim fastest; false after the last.
inline bool advance(llvm::MutableArrayRef<int64_t> at, llvm::ArrayRef<int64_t> shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++at[d] < shape[d])
      return true;
    at[d] = 0;
  }
  return false;
}

/// `v` as an integer of `width` bits is kept.
inline int64_t wrapped(int64_t v, unsigned width) {
  return width >= 64 ? v : width == 1 ? v & 1 : int64_t(uint64_t(v) << (64 - width)) >> (64 - width);
}
/// Bits of an integer or index type.
inline unsigned widthOf(mlir::Type t) { return t.isIndex() ? 64 : t.getIntOrFloatBitWidth(); }
/// `v` rounded to a float type, nearest even; f8 saturates.
double roundedTo(mlir::Type type, double v);

} // namespace kernelc::reference
