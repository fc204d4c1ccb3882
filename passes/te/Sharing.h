// Reduced indices that the blocks of a cluster share out: when they may, and when the sum is
// long enough to be worth more than one block.
#pragma once

#include <string>

#include "passes/te/PlanAttr.h"

namespace kernelc::te {

/// A sum of `length` for each of `results` points keeps several blocks busy for longer than
/// it takes to merge what they have.
bool isWorthSharing(int64_t results, int64_t length);

/// Whether op shares its launch with nothing but pointwise statements over its results, whoever groups them: it reads parameters,
/// and it and they make outputs.
bool standsAlone(mlir::Operation *op);

/// Why the blocks of a cluster cannot share launch index `index` out; empty where they can.
/// `ops`: the kernel's domain ops.
std::string whyNotShared(KernelOp kernel, const LaunchPlan &launch, int64_t index, llvm::ArrayRef<mlir::Operation *> ops);

} // namespace kernelc::te
