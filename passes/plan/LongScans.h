// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans that few blocks would walk: who takes their parts, and how long these are.
#pragma once

#include "ir/te/Scan.h"
#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// What one state of a scan is made of: a reduction's element, or the components of a fold.
llvm::SmallVector<mlir::Type> stateTypes(mlir::Operation *scan);
/// Parts of 32 bits that blocks tell each other of a state (tile.look_back).
int64_t wordsOfState(mlir::Operation *scan);

/// Whether neighbours along the scan lie side by side in memory.
bool runsAlongMemory(mlir::Operation *op, const Scan &scan);
/// So many points along memory has a block of scans at once, whatever vectors they are in.
int64_t longestHeldRow(mlir::Operation *op, const ScanCosts &costs);

/// Points of a part of a scan that blocks share out; 0: rows are enough, or too short to be cut.
int64_t chunkOf(mlir::Operation *op, const Scan &scan, const SizeFacts &facts, const Target &target);

/// Whether blocks take the parts of such a scan in one launch, each adding what those before it tell it (tile.look_back), so that
/// what is scanned is read once. Others are written as scans of parts and of what these come to (te-split-scan).
bool looksBack(mlir::Operation *op, const Scan &scan, const SizeFacts &facts, const Target &target);

/// How many blocks of a launch whose tiles look back along `along` a multiprocessor has at a time, where their elements wait in shared
/// memory, not in registers; 0 where registers have room for as many, and where a state or what a tile needs beside it takes more.
int64_t blocksThatHold(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, int64_t along, const SizeFacts &facts,
                       const Target &target);

} // namespace kernelc::te
