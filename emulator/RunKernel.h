// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a whole kernel of the artifact on host tensors: sizes, requires,
// workspaces and launches in order, as the runtime does on a GPU.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "emulator/Emulator.h"
#include "support/Artifact.h"
#include "support/TensorView.h"

namespace kernelc::emulator {

/// One argument per Kernel::params, in order. Scalars are rank-0 views.
struct RunArguments {
  std::vector<TensorView> params;
  /// One value per Kernel::sizes; empty: solved from the params' shapes.
  std::vector<int64_t> sizes;
  /// Bytes past a 256-byte boundary at which element [0, .., 0] of a tensor is placed;
  /// empty: 0.
  std::vector<uint32_t> placement;
};

/// Finds every size by its recipe. Errors name the size or the contradiction.
absl::StatusOr<std::vector<int64_t>> solveSizes(const Kernel &kernel, absl::Span<const TensorView> params, absl::Span<const int64_t> given);

/// Of each parameter, those that sizes and guards speak of.
std::vector<std::vector<int64_t>> stridesOf(const RunArguments &args);

/// Whether `variant`'s guard and layout and alignment classes hold.
absl::Status checkVariant(const Kernel &kernel, const Variant &variant, const RunArguments &args, absl::Span<const int64_t> sizes,
                          int smCount);

/// A variant compiled for the host; run it as often as needed.
class KernelRunner {
public:
  static absl::StatusOr<KernelRunner> create(const Kernel &kernel, const Variant &variant, const EmulatorOptions &options = {});
  struct Text {
    const Kernel *kernel;
    const Variant *variant;
  };
  /// Several at once; see EmulatedModule::compileAll.
  static std::vector<absl::StatusOr<KernelRunner>> createAll(absl::Span<const Text> texts, const EmulatorOptions &options = {});
  /// Tensors are copied into guarded memory and outputs copied back, so that an
  /// access beyond a tensor's own bytes is found. Findings of all launches.
  absl::StatusOr<Report> run(const RunArguments &args) const;
  /// The host build, for who runs launches one by one (PlacedRun.h).
  const EmulatedModule &module() const { return *module_; }
  /// Of the runs that follow; what the build depends on stays.
  void setOptions(const EmulatorOptions &options) { options_ = options; }
  /// The schedule of the runs that follow; see EmulatorOptions::seed.
  void setSeed(uint64_t seed) { options_.seed = seed; }

private:
  KernelRunner(const Kernel &kernel, const Variant &variant, const EmulatorOptions &options, std::shared_ptr<EmulatedModule> module)
      : kernel_(&kernel), variant_(&variant), options_(options), module_(std::move(module)) {}
  const Kernel *kernel_;
  const Variant *variant_;
  EmulatorOptions options_;
  std::shared_ptr<EmulatedModule> module_;
};

/// Compiles and runs once.
absl::StatusOr<Report> runKernel(const Kernel &kernel, const Variant &variant, const RunArguments &args,
                                 const EmulatorOptions &options = {});

} // namespace kernelc::emulator
