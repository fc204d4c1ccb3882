// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a factor's tensor lies in memory, and the copy that lies as a product's unit asks for (te-repack).
#pragma once

#include "passes/index/LinearRead.h"
#include "passes/products/Repacking.h"

namespace kernelc::te {

/// What the rows of a tensor copy's source are multiples of.
inline constexpr int64_t kRowBytes = 16;

/// How a tensor is copied: `last` is the dim that comes last in the copy.
struct FactorCopy {
  unsigned last;
};

/// Of products of `of.kernel`, for as long as that is not changed.
class FactorLayout {
public:
  explicit FactorLayout(const Repacking &of) : of_(of) {}

  /// Whether CUDA cores multiply words that asynchronous copies bring.
  bool isOnCores(const Contraction &c) const;
  /// Whether rows of the tensor start at multiples of 16 bytes.
  bool isAligned(mlir::Value tensor) const;
  /// The copy that makes tensor copies possible for a factor, or lets CUDA cores load vectors of it; nothing where they do already, or
  /// no copy would help.
  std::optional<FactorCopy> find(mlir::Operation *statement, const Contraction &c, mlir::Value factor) const;
  /// Whether what runs along a factor's memory is an index of which a tile has one point (a batch): a unit would bring each of its elements
  /// from another row.
  bool runsAcross(mlir::Operation *statement, const Contraction &c, mlir::Value factor) const;

private:
  std::optional<FactorCopy> forCores(mlir::Operation *statement, const Contraction &c, mlir::Value factor) const;
  std::optional<std::optional<FactorCopy>> along(mlir::Operation *statement, const Contraction &c, mlir::Value factor, unsigned k) const;
  std::optional<FactorCopy> forChain(mlir::Operation *statement, const Contraction &c, mlir::Value factor) const;
  bool isBesideGroups(mlir::Operation *statement, llvm::ArrayRef<unsigned> groups, const LinearRead &read, unsigned r, unsigned d) const;

  const Repacking &of_;
};

} // namespace kernelc::te
