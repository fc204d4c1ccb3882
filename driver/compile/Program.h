// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A `.kc` source as the compiler sees it: imported once, kept with its MLIR
// context, used by one thread at a time. Internal to the driver and the tools;
// applications use Session.h, which shows no MLIR.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "driver/compile/Compiler.h"
#include "driver/compile/ImportReader.h"
#include "driver/compile/ProgramOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace kernelc {

class Program {
public:
  /// Imports `text`. InvalidArgument with every diagnostic when it is not a program.
  /// A file name that ends in ".mlir" means te in MLIR's syntax.
  static absl::StatusOr<std::shared_ptr<Program>> create(std::string text, ProgramOptions options = {});
  /// As create(), but imports at the first need: `kernels` are its signatures, known
  /// from an earlier run.
  static std::shared_ptr<Program> createLazy(std::string text, ProgramOptions options, std::vector<Kernel> kernels);

  const std::string &text() const { return text_; }
  const ProgramOptions &options() const { return options_; }
  /// What the text imports from its folder, as it was when the program was made: part of keys.
  const std::string &imports() const { return imports_; }
  /// Every kernel's contract, without variants, in source order.
  const std::vector<Kernel> &kernels() const { return kernels_; }
  /// What the text says that hardly was meant (a literal beyond its type), rendered with its line.
  const std::vector<std::string> &warnings() const { return warnings_; }
  /// The kernel of that name; "" when there is exactly one.
  absl::StatusOr<const Kernel *> findKernel(absl::string_view name) const;

  /// Runs `fn` on the te module while no other thread uses the context. Errors it
  /// reports replace its status; remarks are appended to `remarks` if given.
  absl::Status withModule(absl::FunctionRef<absl::Status(mlir::ModuleOp)> fn, std::vector<std::string> *remarks = nullptr);

private:
  Program(std::string text, ProgramOptions options);
  absl::Status import(std::vector<std::string> *warnings = nullptr) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::string text_, imports_;
  ProgramOptions options_;
  ImportReader readImport_;
  std::vector<Kernel> kernels_;
  std::vector<std::string> warnings_;
  absl::Mutex mutex_;
  std::unique_ptr<mlir::MLIRContext> context_ ABSL_GUARDED_BY(mutex_);
  mlir::OwningOpRef<mlir::ModuleOp> module_ ABSL_GUARDED_BY(mutex_);
};

} // namespace kernelc
