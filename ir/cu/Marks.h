// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The marks of cu (ir/Mark.h): what passes leave on loops and index arithmetic, for later ones and for the text.
#pragma once

#include "ir/Mark.h"
#include "ir/cu/Cu.h"

namespace kernelc::cu {

/// Whether `op` gives one index, and nothing else.
bool isIndexOp(mlir::Operation *op);
bool isIndexOpOrLoop(mlir::Operation *op);

/// How a loop is unrolled: fully (`#pragma unroll`), or by so many rounds (`#pragma unroll 4`; 1: not at all). Without it NVRTC decides.
class UnrollMark : public Mark {
public:
  constexpr UnrollMark() : Mark("cu.unroll", isOp<mlir::scf::ForOp>, "loops", isUnroll, "a unit or a positive number") {}
  void putAllOn(mlir::Operation *loop) const { put(loop, mlir::UnitAttr::get(loop->getContext())); }
  void putOn(mlir::Operation *loop, int64_t rounds) const { put(loop, mlir::Builder(loop->getContext()).getI64IntegerAttr(rounds)); }
  /// As `from` is, if it says so.
  void copy(mlir::Operation *from, mlir::Operation *to) const {
    if (mlir::Attribute unroll = get(from))
      put(to, unroll);
  }
  bool isAllOn(mlir::Operation *loop) const { return llvm::isa_and_nonnull<mlir::UnitAttr>(get(loop)); }
  std::optional<int64_t> findRoundsOn(mlir::Operation *loop) const {
    auto rounds = llvm::dyn_cast_or_null<mlir::IntegerAttr>(get(loop));
    return rounds ? std::optional(rounds.getInt()) : std::nullopt;
  }
  static bool isUnroll(mlir::Operation *loop, mlir::Attribute a) {
    return llvm::isa<mlir::UnitAttr>(a) || (NumberMark::isNumber(loop, a) && llvm::cast<mlir::IntegerAttr>(a).getInt() > 0);
  }
};
inline constexpr UnrollMark kUnroll{};

/// Whether `v` is the variable of a loop that is unrolled fully: a number, once it is.
inline bool isUnrolledVariable(mlir::Value v) {
  auto arg = llvm::dyn_cast<mlir::BlockArgument>(v);
  auto loop = arg ? llvm::dyn_cast<mlir::scf::ForOp>(arg.getOwner()->getParentOp()) : mlir::scf::ForOp();
  return loop && loop.getInductionVar() == v && kUnroll.isAllOn(loop);
}

/// A loop over tiles. What is in flight in a round of it is the schedule's.
inline constexpr UnitMark kTiles{"cu.tiles", isOp<mlir::scf::ForOp>, "loops"};

/// An index, or of a loop its variable, of which 32 bits hold every value that it can have, whatever the kernel's `index_bits`.
inline constexpr UnitMark kNarrow{"cu.narrow", isIndexOpOrLoop, "loops and what gives one index"};

/// The most that an index can be where the variant's guard bounds every tensor.
inline constexpr NumberMark kMost{"cu.most", isIndexOp, "what gives one index"};

/// An index that the program computes, and no tensor's size bounds. `cu-widen` takes it away.
inline constexpr UnitMark kComputed{"cu.computed", isIndexOp, "what gives one index"};

/// What te says of a rounding (ir/te/Marks.h); it stays on it.
inline constexpr UnitMark kHighPart{"te.high_part", isOp<mlir::arith::TruncFOp, mlir::arith::ExtFOp>, "roundings of arith"};

inline constexpr const Mark *kMarks[] = {&kUnroll, &kTiles, &kNarrow, &kMost, &kComputed, &kHighPart};

} // namespace kernelc::cu
