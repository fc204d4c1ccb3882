// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From `.kc` text to an artifact: the one compile pipeline that the tools, the
// JIT and the bindings share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/compile/SizeFacts.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "support/Artifact.h"
#include "support/Precision.h"

namespace kernelc {

namespace te {
class KernelOp;
}

struct VariantOptions {
  std::string target = "sm_90a";
  std::map<std::string, SizeFact> facts; ///< by size name; goes into the guard
  bool index32 = true;                   ///< `index` is int; the guard then bounds every tensor
  bool mayWiden = false;                 ///< where that guard could never hold, `index` has 64 bits after all; else that is an error
  /// What to assume of each parameter (Kernel::params); empty: dense, 16-byte aligned.
  std::vector<ParamGuard> params;
  std::string name = "default";
};

/// The kernel of that name, or the first one where that is empty; null where there is none.
te::KernelOp findKernel(mlir::ModuleOp module, const std::string &name);
/// A module with a copy of that kernel of `module`, and nothing else; empty where there is none of the name.
mlir::OwningOpRef<mlir::ModuleOp> isolate(mlir::ModuleOp module, const std::string &name);

/// Where the pipeline stops.
enum class Stage { Te, Plan, Tile, Layouts, Cu };

/// Runs the passes on a copy of `module` (te, as the frontend makes it) up to
/// `stage`. Diagnostics go to the context's handler; null after an error.
mlir::OwningOpRef<mlir::ModuleOp> runPipeline(mlir::ModuleOp module, const VariantOptions &options, Stage stage);

/// Lets conditions that make factors of sums zero exclude the terms (te-exclude-masked), in place. To be called on what the
/// frontend has made, before anything else reads it.
mlir::LogicalResult excludeMaskedTerms(mlir::ModuleOp module);

/// Lets terms that conditions exclude from products on matrix units show as NaN (te-admit-excluded), in place: for the
/// second reference of `check`.
mlir::LogicalResult admitExcludedTerms(mlir::ModuleOp module);

/// Carries out the precision policies of the kernels in `module`, in place: `caller`,
/// unless it is empty, in place of what each kernel says. Does nothing where there is
/// no policy. Remarks and errors go to the context's handler. To be called before
/// anything else reads the module, the reference included.
mlir::LogicalResult applyPrecision(mlir::ModuleOp module, const PrecisionPolicy &caller);

/// The contract of one te.kernel (a module with exactly that kernel, or `name`
/// among several): parameters, sizes, requirements; no variants yet.
absl::StatusOr<Kernel> describeKernel(mlir::ModuleOp module, const std::string &name = "");

/// Compiles one variant of the kernel in `module` to CUDA text and launches, and
/// appends it to `kernel.variants`. Diagnostics go to the context's handler; the
/// status repeats that there was one.
absl::Status addVariant(mlir::ModuleOp module, const VariantOptions &options, Kernel &kernel);

/// Nothing assumed of any parameter: any strides, and the alignment of its elements.
std::vector<ParamGuard> generalParams(const Kernel &kernel);

} // namespace kernelc
