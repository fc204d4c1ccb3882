// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR in the llvm dialect to machine code in this process. Knows nothing of te.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"

namespace kernelc::reference {

/// Machine code of one module. Functions live as long as it does. Thread-safe.
class JitModule {
public:
  /// Consumes the IR: lowers scf, cf, arith and math to the llvm dialect with the
  /// upstream patterns, optimises (for this host's CPU) and links against the
  /// runtime table (MathLibrary.h).
  static absl::StatusOr<std::unique_ptr<JitModule>> create(mlir::ModuleOp module);
  ~JitModule();
  /// Address of a function of the module.
  absl::StatusOr<void *> lookup(const std::string &symbol);

private:
  JitModule();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Bytes of the widest vector registers worth using on this host.
unsigned hostVectorBytes();

} // namespace kernelc::reference
