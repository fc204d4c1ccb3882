// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// By which numbers slots are filled: each round of a loop takes the next one, from the place where the loops before it that fill the same
// slots, and the rounds of the loops around it, have left off.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// The loop over all rounds: the one around this one, where this one walks a chunk of its rounds at a time.
mlir::scf::ForOp allRounds(mlir::scf::ForOp loop);

class FillNumbers {
public:
  /// `b`: makes what is counted, at its own places.
  FillNumbers(tile::FuncOp func, mlir::OpBuilder &b) : func_(func), b_(b) {}

  /// Rings that a loop fills, and loops that follow it beside it.
  struct Family {
    llvm::SmallVector<tile::RingType> types;
    tile::ChannelType channelType;
    llvm::SmallVector<mlir::Value> rings;
    mlir::Value channel;
    mlir::scf::ForOp last;
  };
  void add(Family family) { families_.push_back(std::move(family)); }

  /// The rings of an earlier loop that lies beside the one around `place`, where their slots are as those that it needs.
  Family *findFamily(mlir::Operation *place, llvm::ArrayRef<tile::RingType> types, tile::ChannelType channel);
  /// The number of what is filled at `place`, where the loop before it has filled the same slots. The builder is left there.
  mlir::Value numberBehind(Family &f, mlir::Operation *place, mlir::Location loc);
  /// The number of what is filled at `place`, once in each round of its loop. The builder is left there.
  mlir::FailureOr<mlir::Value> numberAt(mlir::Operation *place, mlir::Location loc);
  /// How often `loop`, which fills slots, did so before; null where it has not been counted.
  mlir::Value beforeIn(mlir::scf::ForOp loop);

private:
  /// The count that a loop around carries, of which `before` is a later value.
  static mlir::Value countOf(mlir::Value before);
  /// How many rounds of `loop` the earlier rounds of the loops around it have had; null where there are none around it.
  mlir::FailureOr<mlir::Value> countBefore(mlir::scf::ForOp loop, mlir::Location loc);
  /// A count that starts at 0 and is `next` of itself after each round of `loop`, whatever loops stand around it.
  mlir::FailureOr<mlir::Value> countThrough(mlir::scf::ForOp loop, mlir::Location loc,
                                            llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> next);
  /// A value that `loop` carries, 0 at first, and from one of its runs to the next.
  mlir::FailureOr<mlir::BlockArgument> carryInto(mlir::scf::ForOp &loop, mlir::Location loc);
  mlir::Location named(llvm::StringRef name, mlir::Location loc);

  tile::FuncOp func_;
  mlir::OpBuilder &b_;
  llvm::SmallVector<Family> families_;
  llvm::SmallVector<mlir::arith::AddIOp> numbers_; ///< of what loops within loops fill: how often they did before, and their round
};

} // namespace kernelc
