// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boxes: reads of a tensor that a tensor copy (TMA) can make.
//
// A tensor map describes a window of a tensor; a copy moves a box of it
// to shared memory, rows one after the other in the map's order, zero where the
// box leaves the window (PTX ISA, "Tensor copies"; cuTensorMapEncodeTiled's rules).
//
// A subscript may be data, if it is the same throughout the box, or throughout pieces of it (pages of a table): a copy for each.
//
// The map has a dim per subscript; where a subscript is a sum of several tiled indices, `2 * q + s`,
// a dim for each, with strides twice and once the tensor's: windows of the tensor that overlap. Where they do not, because
// the box has s as often as q steps on, they are digits of one dim.
#pragma once

#include <optional>
#include <string>

#include "ir/tile/SlotLayout.h"
#include "ir/tile/Tile.h"
#include "passes/index/Affine.h"
#include "llvm/ADT/BitVector.h"

namespace kernelc {

/// One read of a tensor, in the terms that the planner and the tile passes share, so that both find the same box for it.
struct TensorRead {
  mlir::AffineMap map;         ///< launch indices, and behind them subscripts that are data → subscripts
  mlir::AffineMap shape;       ///< the tensor's dims over the sizes
  mlir::AffineMap extents;     ///< of the launch's indices
  llvm::ArrayRef<int64_t> box; ///< of the launch's indices, 1 where not read
  int64_t elementBytes;
  bool zeroOutside;                    ///< subscripts outside the tensor read as zero
  llvm::BitVector reduced;             ///< indices whose points beyond the extent must read as zero
  mlir::AffineMap strides = {};        ///< the tensor's, in elements; null: dense row-major
  int64_t alignment = 16;              ///< bytes that the tensor's address is a multiple of
  llvm::ArrayRef<int64_t> points = {}; ///< the tile that the box is read for, if neighbours of it may share elements: boxShape's
  llvm::ArrayRef<int64_t> tiles = {};  ///< the launch's, of which `box` is a part; empty: boxes are whole tiles
  int64_t pad = tile::kSwizzled;       ///< of the slot's rows
};

/// Pieces of a box, between which a subscript jumps: `d mod c` starts anew, beside others that do not move within a piece.
struct Pieces {
  int64_t along = -1; ///< d, of which a box has several pieces; -1: the box is one
  int64_t points = 1; ///< of d, in a piece
  int64_t count = 1;
};
/// The pieces of a box of what `map` reads; nothing where they and the tile do not divide each other.
std::optional<Pieces> findPieces(mlir::AffineMap map, llvm::ArrayRef<int64_t> box);

/// How it is copied. All lists run over the map's dims, innermost first.
struct Box {
  int64_t contiguous;                          ///< the launch index of the innermost dim
  llvm::SmallVector<mlir::AffineExpr> starts;  ///< the box's first coordinates, over the offsets and the subscripts by data
  llvm::SmallVector<mlir::AffineExpr> window;  ///< the window's extents, over the sizes
  llvm::SmallVector<mlir::AffineExpr> strides; ///< bytes, over the sizes; without the innermost
  llvm::SmallVector<int64_t> sizes;            ///< of one copy: one panel of the slot, in elements of the slot
  llvm::SmallVector<int64_t> steps;            ///< every how many-th element along each dim is taken (1 innermost)
  int64_t panels;                              ///< copies, side by side along the innermost dim
  Pieces pieces;                               ///< and one behind the other along the slowest dim
  int64_t swizzleBytes;
};

/// The slowest of the box's dims with more than one point (0 when there is no other).
size_t slowestDim(const Box &box);

/// Whether `blocks` blocks can bring a part of the box each: whole panels, or groups of
/// eight rows of its slowest dim (the swizzle's period).
bool canShareBox(const Box &box, int64_t blocks);

/// The box of `read`, laid out in shared memory as tile::SlotLayout says. Nothing
/// when no tensor copy makes it; then `why` says in words of the user's program.
std::optional<Box> findBox(const TensorRead &read, const te::SizeFacts &facts, std::string &why);

/// The same for a copy in a function.
std::optional<Box> findBox(tile::FuncOp func, tile::RingCopyOp copy, std::string &why);
/// The same for the copy that would bring what `map` reads of `base` to slots of `ring`.
std::optional<Box> findBox(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, te::BoundsMode bounds, tile::RingType ring,
                           std::string &why);
/// The same for a store of a slot of `ring` to `base`: its window ends with every index,
/// so that nothing beyond is written.
std::optional<Box> findStoreBox(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, tile::RingType ring, std::string &why);

} // namespace kernelc
