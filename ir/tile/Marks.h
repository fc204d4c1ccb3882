// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The marks of tile (ir/Mark.h): what passes leave on loops, which are of scf, and where a launch's rows lie in memory.
#pragma once

#include "ir/Mark.h"
#include "ir/tile/Tile.h"
#include "llvm/Support/MathExtras.h"

namespace kernelc::tile {

/// A loop that goes round once or not at all, behind the loop whose results it starts from.
inline constexpr UnitMark kLastRound{"tile.last_round", isOp<mlir::scf::ForOp>, "loops"};

/// Rows of a launch that begin anywhere in memory, and its tiles where vectors do: up to `align` - 1 points before the first of `index`.
/// Masks along that index hold from point 0 on.
struct AlignedRows {
  mlir::AffineExpr form; ///< elements from a tensor's first to a point, over the launch's indices and the sizes
  unsigned index = 0;    ///< along which rows lie
  int64_t align = 1;     ///< a tile begins where the form is a multiple of that
};

/// `(indices)[sizes] -> (form, index, align)` on a function.
class RowsMark : public Mark {
public:
  constexpr RowsMark(llvm::StringLiteral name)
      : Mark(name, isOp<FuncOp>, "functions", isRows, "a map from the indices and the sizes to a form, an index and a power of two") {}
  void putOn(FuncOp func, const AlignedRows &rows) const {
    mlir::Builder b(func.getContext());
    mlir::AffineExpr results[] = {rows.form, b.getAffineDimExpr(rows.index), b.getAffineConstantExpr(rows.align)};
    put(func, mlir::AffineMapAttr::get(mlir::AffineMap::get(func.getRank(), func.getSizes().size(), results, func.getContext())));
  }
  std::optional<AlignedRows> findOn(FuncOp func) const {
    auto map = llvm::dyn_cast_or_null<mlir::AffineMapAttr>(get(func));
    if (!map)
      return std::nullopt;
    return AlignedRows{map.getValue().getResult(0), llvm::cast<mlir::AffineDimExpr>(map.getValue().getResult(1)).getPosition(),
                       llvm::cast<mlir::AffineConstantExpr>(map.getValue().getResult(2)).getValue()};
  }
  static bool isRows(mlir::Operation *op, mlir::Attribute a) {
    auto map = llvm::dyn_cast<mlir::AffineMapAttr>(a);
    auto func = llvm::cast<FuncOp>(op);
    if (!map || map.getValue().getNumResults() != 3 || map.getValue().getNumDims() != func.getRank() ||
        map.getValue().getNumSymbols() != func.getSizes().size())
      return false;
    auto align = llvm::dyn_cast<mlir::AffineConstantExpr>(map.getValue().getResult(2));
    return llvm::isa<mlir::AffineDimExpr>(map.getValue().getResult(1)) && align && align.getValue() > 1 &&
           llvm::isPowerOf2_64(uint64_t(align.getValue()));
  }
};
inline constexpr RowsMark kRows{"tile.rows"};

/// Whether tiles along index `d` may begin before its first point.
inline bool isAligned(FuncOp func, unsigned d) {
  std::optional<AlignedRows> rows = kRows.findOn(func);
  return rows && rows->index == d;
}

inline constexpr const Mark *kMarks[] = {&kLastRound, &kRows};

} // namespace kernelc::tile
