// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How operands of dots get into slots in functions with warps that only fill them: which loads these warps take over, which operands go
// through registers, and which products of a round are issued, filled and waited for together.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// What a dot takes by way of slots.
struct Supply {
  tile::DotOp dot;
  llvm::SmallVector<tile::LoadOp>
      first; ///< what travels for a: itself, or what it is computed from (nothing, where that is another product)
  tile::LoadOp second;
  bool direct = false;                  ///< a is what travels for it
  bool inRegisters = false;             ///< a passes through registers
  bool across = false;                  ///< a is made of another dot's results, whose rows this one sums: it is written to a slot
  bool held = false;                    ///< a is loaded to registers once, before the loop
  tile::MaskOp aMask, bMask;            ///< applied in the slots
  llvm::SmallVector<tile::LoadOp> over; ///< what is filled together with its own for dots before it: those slots are free when its own are

  mlir::scf::ForOp loop() const { return llvm::cast<mlir::scf::ForOp>(tile::DotOp(dot)->getParentOp()); }
  llvm::SmallVector<tile::LoadOp> loads() const {
    llvm::SmallVector<tile::LoadOp> all(first);
    all.push_back(second);
    return all;
  }
};

class Supplies {
public:
  explicit Supplies(tile::FuncOp func) : func_(func) {}

  /// Finds what `dots` take, in their order; masks of boxes are taken off them. Fails with a diagnostic.
  mlir::LogicalResult find(llvm::ArrayRef<tile::DotOp> dots);

  llvm::MutableArrayRef<Supply> all() { return supplies_; }
  /// The ring that what a load reads comes to; null where it is contiguous along no index and threads do not copy it.
  tile::RingType ringOf(tile::LoadOp load, tile::DotOp dot);
  /// Whether threads copy what `load` reads: no box that a tensor copy brings, to slots that CUDA cores read.
  bool isCopiedByThreads(tile::LoadOp load, tile::DotOp dot);
  /// Whether the next round may run beside the product: its accumulators are carried on, and its operands lie in slots. (Registers
  /// are written anew: their product has been waited for.)
  bool runsOn(const Supply &s);
  /// The products of a round, where the next round may run beside all of them: they are issued one after the other and waited for
  /// together. Else no product but `s`.
  llvm::SmallVector<Supply *> sideBySide(Supply &s);
  /// The product of the same round that adds to the sum of `s` and to nothing else; null where there is none. Both are issued one behind
  /// the other, and waited for together.
  Supply *findNext(Supply &s);
  /// The product of the same round whose operands are filled together with those of `s`: the one that goes on from it, or where there are
  /// too few warps to fill all by themselves, the next one that starts from zero as it does.
  Supply *findFilledWith(Supply &s);
  /// Vectors that each round of `s` loads beside the operands of its products, where `s` is the first of several that take each other's
  /// results: tensor copies bring them with its operands, so that nobody holds registers for what is on its way.
  llvm::SmallVector<tile::LoadOp> vectorsOf(Supply &s);
  /// Whether `load` is one of them.
  bool isVector(tile::LoadOp load) const { return vectors_.contains(load); }
  /// The number of the last dot that reads what `load` brings.
  size_t lastReaderOf(tile::LoadOp load) const { return lastReader_.lookup(load); }
  /// Whether products take the elements of `load` as the unit rounds them.
  bool isRounded(tile::LoadOp load) const { return rounded_.contains(load); }

private:
  /// The last of the rows (columns) along which the tile of `load` has several points.
  static int64_t lastOf(tile::LoadOp load, tile::DotOp dot);
  /// Whether slots of boxes run along rows or columns of the product, and not along its sum.
  static bool runsAlongRows(tile::RingType boxes, tile::DotOp dot);
  /// The ring where tensor copies bring it.
  tile::RingType boxesOf(tile::LoadOp load, tile::DotOp dot);
  /// What travels by tensor copies: an operand as it lies in memory, or what the first is computed from.
  mlir::FailureOr<Supply> supplyOf(tile::DotOp dot);
  /// Whether a tensor copy can bring what `load` reads for `dot`.
  bool canTravel(tile::LoadOp load, tile::DotOp dot);
  /// Whether warpgroup products do not find a in slots: words that run along rows, not along what is summed.
  bool needsRegisters(tile::DotOp dot);
  /// The loads beside `dot` that its first operand is computed from and that have as many points. `fromProduct`: whether it is computed
  /// from what another dot leaves in registers.
  static llvm::SmallVector<tile::LoadOp> boxesBehind(tile::DotOp dot, bool &fromProduct);
  /// Whether registers hold the first operand of `dot` by what it sums: the other dot that it is made of has that in rows.
  static bool liesAcross(tile::DotOp dot);
  /// Whether the first operand of `s` may be loaded to registers once, before the loop of its rounds: nothing else is brought with it.
  bool canHold(Supply &s);
  /// Whether tensor copies bring both operands to slots as products read them.
  static bool isPlain(const Supply &x);
  /// Whether more sets of slots are filled than there are warps that fill.
  bool isCrowded();
  /// Gives what is filled together to the last product that reads of it, to let go of.
  void handOver();

  tile::FuncOp func_;
  llvm::SmallVector<Supply> supplies_;
  llvm::DenseMap<mlir::Operation *, size_t> lastReader_;
  llvm::DenseSet<mlir::Operation *> rounded_, vectors_;
  bool isCrowded_ = false;
};

} // namespace kernelc
