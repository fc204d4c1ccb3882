// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Subscripts that are data, where a tensor copy brings what they say: one number for a box, or for each of its pieces.
#pragma once

#include "ir/tile/Tile.h"
#include "passes/tile/Box.h"

namespace kernelc {

/// Whether the index tiles of `load` are the same throughout each piece of its box (at whole tiles' places), and can be made for a piece.
bool isSameInPieces(tile::LoadOp load);

/// Their values piece by piece, made at `b`: subscripts that leave `load`'s tensor, and pieces beyond an extent, stay outside in 32 bits.
llvm::SmallVector<mlir::Value> makeByPieces(mlir::OpBuilder &b, tile::FuncOp func, tile::LoadOp load);

} // namespace kernelc
