// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a tile access meets memory: its linear address, what it is contiguous
// along, and how wide its vectors may be.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// Where the elements of the tensor behind a base are.
struct BaseLayout {
  mlir::AffineMap strides; ///< in elements, over the sizes; null: dense row-major
  int64_t alignment = 16;  ///< bytes that the address is a multiple of, 16 at most
};
/// Records one layout per argument of `func`; those of all dense, aligned ones are implied.
void setBaseLayouts(tile::FuncOp func, llvm::ArrayRef<BaseLayout> layouts);
BaseLayout layoutOfBase(tile::FuncOp func, mlir::Value base);

/// base + Σ subscript · stride of an access with `map`, in elements, as one expression
/// over the map's dims and the sizes; without `strides` the tensor is dense row-major.
mlir::AffineExpr linearAddress(mlir::AffineMap map, mlir::AffineMap shape, mlir::AffineMap strides = {});

/// The launch index along which neighbouring elements of an access to `base` are
/// neighbours in memory, or -1.
int64_t contiguousDim(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

/// The same, where neighbours may also share an element (subscript `d floordiv c`, as of nibbles in bytes), or be every
/// second, third, .. element while other loads of `base` read those between (`2 * d` and `2 * d + 1`).
struct ContiguousRun {
  int64_t dim = -1, perElement = 1; ///< perElement: c
  int64_t step = 1, phase = 0;      ///< element step * d + phase
};
ContiguousRun contiguousRun(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

/// The shape of the box of memory that a tile of `shape` is read from: less of it where neighbours share elements.
llvm::SmallVector<int64_t> boxShape(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

/// The largest v ≤ limit (a power of two) such that elements c .. c+v-1 along `dim`,
/// c a multiple of v, are v-aligned in memory and lie on one side of the dim's
/// extent. 1 if `dim` is -1.
int64_t provableVector(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, int64_t dim, bool ragged, int64_t limit);
/// Likewise along a run: the elements that v neighbours share, or all between the first and the last of them, are one vector.
int64_t provableVector(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, const ContiguousRun &run, bool ragged, int64_t limit);
/// The launch's index that a subscript is by itself, where it ends with the tensor's dim: what keeps the index inside its extent keeps
/// the access inside. Nothing for other subscripts.
std::optional<int64_t> findOwnIndex(tile::FuncOp func, mlir::AffineExpr subscript, mlir::AffineExpr end);
/// Whether each block has a whole tile of `points` along launch index `d`: its points are inside the extent by themselves.
bool hasWholeTiles(tile::FuncOp func, int64_t d, int64_t points);
/// Which ends of dim `r` of `tensor` the subscripts of a tile of `shape` cannot leave, by the extents of the launch's indices alone: those
/// in `kept` are inside theirs, as are whole tiles. (An index off the grid may have no point; only if its tiles are of one is there a loop
/// that is not walked then.)
struct KeptEnds {
  bool low, high;
};
KeptEnds findKeptEnds(tile::FuncOp func, mlir::AffineMap map, mlir::AffineMap tensor, unsigned r, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> kept);
/// Elements along `dim` that one asynchronous copy may bring: as provableVector; one where zeros stand outside and a vector might straddle
/// the tensor's end, which the copy checks for its first element alone.
int64_t copiedVector(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, te::BoundsMode bounds, int64_t dim, bool ragged,
                     int64_t limit);

/// Whether threads can copy the elements of `load` asynchronously to slots that run along `dim`: neighbours of at least 4 bytes, and zero
/// for what lies outside.
bool isCopyable(tile::FuncOp func, tile::LoadOp load, int64_t dim);

/// Whether what lies outside the tensor reads as zero, as tensor copies make it.
bool isZeroPadded(tile::LoadOp load);

/// Whether nobody in this launch writes the tensor behind `base`.
bool isOnlyRead(mlir::Value base);

/// How many points a tile of `shape` has along `dims`.
int64_t pointsOf(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
/// The shape of the tensor behind a load's or store's base.
mlir::AffineMap shapeOfBase(tile::FuncOp func, mlir::Value base);

} // namespace kernelc
