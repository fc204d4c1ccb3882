// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small sizes at which mistakes of passes show: ones, primes, and those beside a tile.
// Internal to the driver and the tools.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "driver/compile/Compiler.h"
#include "ir/te/Te.h"

namespace kernelc {

/// What the passes of `pipeline` (MLIR's text) or the plan and the tile functions in
/// `module` take for granted of each size of `kernel`: their size-div and size-max.
std::vector<SizeFact> findSizeFacts(mlir::ModuleOp module, te::KernelOp kernel, llvm::StringRef pipeline);

/// Up to `count` sets of sizes for which `facts` and every requirement of the kernel hold
/// and no tensor is empty: the least of all first, then of ones, primes, and the extents of
/// the tiles in `module` (32 and 64 where it has none), one less and one more. Strides that
/// are sizes of `kernel` are those of dense tensors. The same for the same arguments.
std::vector<std::vector<int64_t>> pickAwkwardSizes(mlir::ModuleOp module, te::KernelOp kernel, const Kernel &signature,
                                                   const std::vector<SizeFact> &facts, int count, uint64_t seed);

/// Whether `facts` and the kernel's requirements hold of `sizes` and no tensor is empty.
bool areLegalSizes(const Kernel &signature, const std::vector<SizeFact> &facts, const std::vector<int64_t> &sizes);

/// Gives the sizes that are strides of parameters the values of dense tensors; which they are.
std::set<size_t> setDenseStrides(te::KernelOp kernel, const Kernel &signature, std::vector<int64_t> &sizes);

} // namespace kernelc
