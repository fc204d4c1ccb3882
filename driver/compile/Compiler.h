// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From `.kc` text to an artifact: the one compile pipeline that the tools, the
// JIT and the bindings share.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "support/Artifact.h"
#include "support/Precision.h"

namespace kernelc {

namespace te {
class KernelOp;
}

/// What a variant may assume of one size.
struct SizeFact {
  int64_t divisor = 1;
  int64_t max = -1; ///< -1: no bound; else the size is also at least 1
  /// What times are reckoned for when tiles are chosen, at most `max`; -1: `max`. No assumption: any size that the rest holds of will do.
  int64_t like = -1;
};

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

/// Whether a size of `n` is worth a variant that takes no other: an odd one up to 15, as windows have, or a multiple of 8 up to 256, as
/// head dims and channels have, whole rows of which tensor copies take and chains of products hold in registers.
bool isWorthItself(int64_t n);

/// What holds of a size of `n` and is worth a specialisation; see factsFor().
SizeFact factOf(int64_t n);

/// What holds of all sizes of the class that `n` is of, where a size varies from call to call: that it is one; that it is less than the
/// rows of a unit's tile, which makes products change sides; or nothing. `rows`: what rows of memory have to be multiples of, which
/// decides whether tensor copies and vectors take them; kept where n is one. Tiles are chosen for n itself.
SizeFact classOf(int64_t n, int64_t rows);

/// The facts that hold of concrete sizes and are worth a specialisation: the power of two that divides each (rows that are a whole tile
/// need no masks), and a bound: the next power of two, or beyond 512 the next quarter of the way to it (which tiles fill the device, what
/// fits registers, how far a reduction is split). What is worth it itself is exactly that. Of the bound's range tiles are chosen for the
/// sizes themselves (SizeFact::like).
std::map<std::string, SizeFact> factsFor(const Kernel &kernel, const std::vector<int64_t> &sizes);

/// The sizes that an extent divides which is worth a variant itself: of heads of E // H columns, E. Each is exactly what it is in the
/// facts.
std::set<std::string> sizesOfColumns(const Kernel &kernel, const std::vector<int64_t> &sizes);

/// Nothing assumed of any parameter: any strides, and the alignment of its elements.
std::vector<ParamGuard> generalParams(const Kernel &kernel);

/// The facts of the variant `compile` emits: rows of 16-byte multiples.
std::map<std::string, SizeFact> denseFacts(const Kernel &kernel);

} // namespace kernelc
