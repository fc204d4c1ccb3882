// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One set of inputs of verify-each, and what a kernel must make of it at each level.
// Internal to PassVerifier.cpp.
#pragma once

#include <memory>

#include "driver/jit/HostTensor.h"
#include "driver/jit/JitKernelImpl.h"
#include "emulator/RunKernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "reference/tile/TileValue.h"

namespace kernelc {

class VerifyTrial {
public:
  enum Inputs { Given, SmallIntegers, Ring };
  /// Ring: `source`'s copy over i32; Unimplemented where the program is more than a ring.
  static absl::StatusOr<std::unique_ptr<VerifyTrial>> create(const Kernel &signature, std::shared_ptr<CpuKernel> oracle,
                                                             te::KernelOp source, absl::Span<const HostTensor> tensors,
                                                             const std::vector<int64_t> &sizes, Inputs inputs, ThreadPool *pool);

  struct Verdict {
    bool passed = false;
    std::string text;
  };
  /// `kernel` for the CPU, in the types of `inputs`: all trials with such inputs can run it.
  static absl::StatusOr<std::unique_ptr<reference::ReferenceKernel>> compileTe(te::KernelOp kernel, Inputs inputs);
  /// `kernel`, of which `code` has been made.
  absl::StatusOr<Verdict> runTe(te::KernelOp kernel, const reference::ReferenceKernel &code) const;
  /// The tile functions of `module`.
  absl::StatusOr<Verdict> runTile(mlir::ModuleOp module) const;
  /// A CUDA text on the emulator. Not with Ring.
  absl::StatusOr<Verdict> runText(const emulator::KernelRunner &runner) const;
  Inputs inputs() const { return inputs_; }
  const std::vector<int64_t> &sizes() const { return sizes_; }

private:
  VerifyTrial() = default;
  absl::StatusOr<std::vector<HostTensor>> copies() const;
  absl::StatusOr<Verdict> judge(absl::Span<const HostTensor> results) const;

  const Kernel *signature_ = nullptr;
  Inputs inputs_ = Given;
  std::shared_ptr<CpuKernel> oracle_;
  std::vector<HostTensor> tensors_;  ///< as Kernel::params
  std::vector<HostTensor> expected_; ///< Ring: the outputs, as oracle_->outputParams
  std::vector<int64_t> sizes_;
  ThreadPool *pool_ = nullptr;
};

} // namespace kernelc
