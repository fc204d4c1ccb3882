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
void lowerRelease(ThreadCode &code, tile::ReleaseOp op);
void lowerBoxCopy(ThreadCode &code, tile::RingCopyOp op);
void lowerBoxStore(ThreadCode &code, tile::BoxStoreOp op);
void lowerBoxDrain(ThreadCode &code, tile::BoxDrainOp op);

} // namespace kernelc
