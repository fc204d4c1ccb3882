// How a tile access meets memory: its linear address, what it is contiguous
// along, and how wide its vectors may be.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// base + Σ subscript · stride of an access with `map` to a dense row-major tensor
/// of `shape`, in elements, as one expression over the map's dims and the sizes.
mlir::AffineExpr linearAddress(mlir::AffineMap map, mlir::AffineMap shape);

/// The launch index along which neighbouring elements are neighbours in memory, or -1.
int64_t contiguousDim(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

/// The largest v ≤ limit (a power of two) such that elements c .. c+v-1 along `dim`,
/// c a multiple of v, are v-aligned in memory and lie on one side of the dim's
/// extent. 1 if `dim` is -1.
int64_t provableVector(tile::FuncOp func, mlir::AffineMap map, mlir::AffineMap shape, int64_t dim, bool ragged,
                       int64_t limit);

/// The shape of the tensor behind a load's or store's base.
mlir::AffineMap shapeOfBase(tile::FuncOp func, mlir::Value base);

} // namespace kernelc
