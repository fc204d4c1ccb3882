// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile dialect: include this to use its ops.
#pragma once

#include "ir/te/Te.h"
#include "ir/tile/AlignedRows.h"
#include "ir/tile/Layout.h"
#include "ir/tile/Schedule.h"
#include "ir/tile/SlotLayout.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "support/Unit.h"

#define GET_TYPEDEF_CLASSES
#include "ir/tile/TileTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/tile/TileAttrs.h.inc"

#define GET_OP_CLASSES
#include "ir/tile/TileOps.h.inc"

namespace kernelc::tile {

LayoutAttr toAttr(mlir::MLIRContext *context, const Layout &layout);
Layout fromAttr(LayoutAttr attr);
/// The layout of a tile value; asserts that `tile-layouts` has run.
Layout getLayout(mlir::Value tile);
/// Whether an op asks a region about numbers, by whole warps.
bool isSearch(mlir::Operation *op);
/// Index arithmetic: code of numbers alone, searches among them, which any role may repeat.
bool isScalarCode(mlir::Operation *op);
/// A tile of zeros that is written down nowhere: what products start from that set their accumulators.
bool isZeroTile(mlir::Value tile);
/// What a function's argument has for a source where it is memory of each block's own, which lies in shared memory: this and below it.
/// Its content is what the block has stored there.
inline constexpr int64_t kOwnMemory = -(int64_t(1) << 40);
inline bool isOwnMemory(int64_t source) { return source <= kOwnMemory; }
/// `type` with another layout.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, const Layout &layout);

} // namespace kernelc::tile
