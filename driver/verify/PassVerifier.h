// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Judges modules before and after passes: te by the CPU, tile by the interpreter, cu as
// text by the emulator, each compared with the f64 reference of the kernel as it was
// when the verifier was made. The one mechanism of `kernelc check --verify-each` and
// `kernelc-opt --verify-semantics`. Internal to the driver and the tools.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "driver/verify/VerifyEach.h"
#include "driver/verify/VerifyTrial.h"
#include "ir/cu/Cu.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace kernelc {

/// A call that every form of the kernel has to give the same results for.
struct VerifyCall {
  std::vector<HostTensor> tensors; ///< as Kernel::params
  std::vector<int64_t> sizes;      ///< as Kernel::sizes
};

/// The dense arguments of a call with these sizes, random by `seed`.
absl::StatusOr<VerifyCall> makeVerifyCall(const Kernel &signature, std::vector<int64_t> sizes, uint64_t seed);

/// "M=5, N=7".
std::string describeSizes(const Kernel &signature, const std::vector<int64_t> &sizes);

/// Whether `op`, a tile function or a cu kernel, is a launch of `kernel`, or does not say of which.
bool isLaunchOf(mlir::Operation *op, const std::string &kernel);

/// What was run when a pass changed the meaning.
struct PassFailure {
  mlir::OwningOpRef<mlir::ModuleOp> before; ///< the module; not the one at fault where it was wrong before any pass
  std::string pass;                         ///< alone, in MLIR's syntax for a module: "te.kernel(te-plan{..})"
  /// The module before the passes over functions that this one is among, and those up to it;
  /// null for a pass over modules.
  mlir::OwningOpRef<mlir::ModuleOp> beforeGroup;
  std::string group;
  std::vector<int64_t> sizes; ///< of the first call that shows it
};

class PassVerifier {
public:
  struct Options {
    bool runCu = true; ///< clang for the emulator is not everywhere: or stop before cu
    /// The cu that comes in has not been through cu-barriers: its barriers are added for each
    /// run, until a pass adds them. Else those it has are all it gets.
    bool addBarriers = true;
  };
  /// `source` says what is right; it need not outlive this call, its context must. Fails where
  /// there is no reference for it.
  static absl::StatusOr<std::unique_ptr<PassVerifier>> create(te::KernelOp source, const Kernel &signature, std::vector<VerifyCall> calls,
                                                              const Options &options, ThreadPool *pool);

  /// Runs the lowest level of the kernel that is in `module`. Does nothing after a failure.
  void check(const std::string &pass, mlir::ModuleOp module);
  /// For a pass manager whose context runs passes on one thread; check()s after every pass.
  /// The verifier must outlive it.
  std::unique_ptr<mlir::PassInstrumentation> instrumentation();

  /// Up to the first that did not pass.
  const std::vector<PassVerdict> &verdicts() const { return verdicts_; }
  /// Something could not be run.
  const absl::Status &status() const { return status_; }
  bool isDone() const { return !status_.ok() || hasFailed(); }
  bool hasFailed() const { return !verdicts_.empty() && !verdicts_.back().passed; }
  /// After hasFailed().
  PassFailure &failure() { return failure_; }
  const Kernel &signature() const { return signature_; }

private:
  friend class AfterEachPass;
  PassVerifier(const Kernel &signature, const Options &options) : signature_(signature), options_(options) {}
  mlir::OwningOpRef<mlir::ModuleOp> withBarriers(mlir::ModuleOp module) const;
  absl::StatusOr<Variant> printText(mlir::ModuleOp module) const;
  bool awaitsBarriers(cu::KernelOp kernel) const;
  te::KernelOp kernelOf(mlir::ModuleOp module) const;
  void fail(const std::string &pass, const absl::Status &s);

  Kernel signature_;
  Options options_;
  size_t calls_ = 0;
  std::vector<std::unique_ptr<VerifyTrial>> trials_;
  absl::Status status_;
  std::vector<PassVerdict> verdicts_;
  std::string lastText_;
  /// Kernels that have been through cu-barriers: what they have of barriers is all they get.
  std::set<std::string> synchronised_;
  PassFailure failure_;
};

} // namespace kernelc
