// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings and dots, as tile-to-cu lowers them.
#pragma once

#include "passes/lowerings/ThreadCode.h"

namespace kernelc {

void lowerRing(ThreadCode &code, tile::RingOp op);
void lowerRingCopy(ThreadCode &code, tile::RingCopyOp op);
void lowerRingStore(ThreadCode &code, tile::RingStoreOp op);
void lowerRingLoad(ThreadCode &code, tile::RingLoadOp op);
/// Whether the first round of the loop that carries `acc` can set it: one dot of each round adds to it, and it starts at
/// zero.
bool startsAfreshInFirstRound(mlir::BlockArgument acc);
/// acc += a · b, in the private array `acc`; the wgmma unit sets one that starts afresh, also in a loop's first round.
mlir::LogicalResult lowerDot(ThreadCode &code, tile::DotOp op, mlir::Value acc);

/// Instructions of `perStep` points each that a dot has along K of its tile of `points`: where that tile is all there is of the one
/// index of K, and its extent is known, those beyond the extent multiply zeros and are left out.
int64_t stepsOf(ThreadCode &code, tile::DotOp op, int64_t points, int64_t perStep);

/// Points of each dim of K that a dot goes over. CUDA cores leave out those beyond the extent of an index of which a tile has all: three
/// taps in a tile of four. (Other dims: as in the slot of the second factor.)
llvm::SmallVector<int64_t> walkedSizes(ThreadCode &code, tile::DotOp op);
/// `layout` of the copies into a ring's slots without those of what no dot reads: of a dim of which a thread's copies have all points, but
/// not of the `contiguous` one, those beyond the extent. Adds such dims to `whole`.
tile::Layout withoutUnread(ThreadCode &code, mlir::Value ring, tile::Layout layout, int64_t contiguous,
                           llvm::SmallVectorImpl<int64_t> &whole);

// The mma unit: MmaToCu.cpp.

/// Points of k that an instruction takes, and how many steps of so many a dot has.
int64_t mmaPoints(tile::DotOp op);
int64_t mmaSteps(ThreadCode &code, tile::DotOp op);

/// A dot in a loop whose rounds end with the barrier behind which the next round's slots are there. Fragments of a round's first step of
/// k are read behind that barrier, and products of the step before it, the last one of the round before, go on beside that.
///
///     wait; barrier                          wait; barrier; read 0
///     for t { fill; dot t; wait; barrier }   for t { read 1; fill; multiply 0; { read s + 1; multiply s } of the s between;
///                                                    wait; barrier; read 0 of t + 1; multiply the last }
struct ReadAhead {
  /// Made ahead of the loop: the first fragments.
  ReadAhead(ThreadCode &code, mlir::scf::ForOp loop, tile::DotOp dot);
  /// At the start of a round, so that copies and products stand between what is read and what multiplies it.
  void begin(ThreadCode &code);
  /// In the dot's place.
  void run(ThreadCode &code, mlir::Value acc);
  /// At the end of a round. `end`: of the loop's rounds.
  void finish(ThreadCode &code, mlir::Value end);

  tile::DotOp dot;
  mlir::Value acc;
  mlir::Value a, b; ///< arrays of two sets of fragments
};

/// The dot of a loop of this kind, if it is one.
tile::DotOp findReadAhead(ThreadCode &code, mlir::scf::ForOp loop);

// The wgmma unit: WgmmaToCu.cpp.
mlir::LogicalResult lowerWgmma(ThreadCode &code, tile::DotOp op, mlir::Value acc);

// Channels, and the copies that signal them: ChannelToCu.cpp.
void lowerChannel(ThreadCode &code, tile::ChannelOp op);
void lowerOrder(ThreadCode &code, tile::OrderOp op);
void lowerTakeTurn(ThreadCode &code, tile::TakeTurnOp op);
void lowerPassTurn(ThreadCode &code, tile::PassTurnOp op);
void lowerAcquire(ThreadCode &code, tile::AcquireOp op);
void lowerFilled(ThreadCode &code, tile::FilledOp op);
void lowerAwait(ThreadCode &code, tile::AwaitOp op);
/// Whether `wait` has this thread's reads and writes of slots come before what products and tensor copies do with them.
bool isFence(tile::FuncOp func, tile::AsyncWaitOp wait);
void lowerRelease(ThreadCode &code, tile::ReleaseOp op);
void lowerBoxCopy(ThreadCode &code, tile::RingCopyOp op);
void lowerBoxStore(ThreadCode &code, tile::BoxStoreOp op);
void lowerBoxDrain(ThreadCode &code, tile::BoxDrainOp op);

} // namespace kernelc
