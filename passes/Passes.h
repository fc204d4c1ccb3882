// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All passes and the pipelines made of them.
#pragma once

#include <memory>

#include "ir/cu/Cu.h"
#include "ir/te/Te.h"
#include "ir/tile/Tile.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace kernelc {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// Carries out precision policies and no more: the te that both the reference and
/// buildTePipeline start from, where a kernel has a policy.
void buildPrecisionPipeline(mlir::OpPassManager &pm);
/// te as the frontend makes it, to te with a plan.
void buildTePipeline(mlir::OpPassManager &pm, const TePlanOptions &options);
/// Where buildCudaPipeline ends.
enum class CudaStop { Tile, Layouts, Cu };
/// Planned te to cu, ready for printing; or part of the way. `fits32`: the variant's guard
/// bounds every tensor so that 32 bits hold all offsets.
void buildCudaPipeline(mlir::OpPassManager &pm, CudaStop stop = CudaStop::Cu, bool fits32 = true);

} // namespace kernelc
