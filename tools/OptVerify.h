// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc-opt --verify-semantics: whether each pass of the pipeline keeps the meaning of
// the kernels in the module, on small sizes.
#pragma once

#include <memory>
#include <string>

#include "mlir/Pass/PassManager.h"

namespace kernelc::tools {

struct OptVerifyOptions {
  std::string sizes;      ///< "M=5,N=7;M=1,N=3"; empty: chosen, see driver/verify/AwkwardSizes.h
  uint64_t seed = 1;      ///< of sizes and inputs
  std::string reproducer; ///< the file to write it to; empty: a name of its own in TMPDIR
};

class OptVerify {
public:
  explicit OptVerify(OptVerifyOptions options) : options_(std::move(options)) {}
  /// Has the passes of `pm` (a module's) checked, on one thread. To be called after they have
  /// been added. Reports by diagnostics; this must outlive `pm`.
  void attach(mlir::PassManager &pm);
  /// A pass changed a meaning, or something could not be run.
  bool hasFailed() const { return failed_; }

private:
  friend class VerifySemantics;
  OptVerifyOptions options_;
  bool failed_ = false;
};

} // namespace kernelc::tools
