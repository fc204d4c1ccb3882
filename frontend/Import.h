// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The front door of the compiler: `.kc` text to te.
//
// Parses, checks names, types, shapes, ranges and bounds, and builds one
// te.kernel per `def`. Every problem is an MLIR diagnostic with a FileLineColLoc;
// nothing throws, no text crashes it. Thread-safe for different contexts.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "support/Constant.h"
#include "llvm/ADT/StringRef.h"

namespace kernelc::frontend {

struct ImportOptions {
  /// Sizes and `const` parameters fixed from outside (`--set N=1024`). A name that
  /// no kernel of the file has is an error.
  Constants constants;
  /// Only this kernel, or all when empty.
  std::string kernel;
  /// Reads what the text imports; without one it may import `std/` alone.
  std::function<std::optional<std::string>(const std::string &path, std::string &why)> readImport;
};

/// Imports `text`; `fileName` is what locations and diagnostics say. Null after
/// an error (diagnostics went to the context's handler; several per run).
mlir::OwningOpRef<mlir::ModuleOp> importKc(mlir::MLIRContext &context, llvm::StringRef text, llvm::StringRef fileName,
                                           const ImportOptions &options = {});

/// Canonical layout of `text` (`kernelc fmt`): idempotent, comments kept. Fails
/// with diagnostics when the text does not parse. Needs no semantic check.
mlir::FailureOr<std::string> formatKc(mlir::MLIRContext &context, llvm::StringRef text, llvm::StringRef fileName);

/// The same, with the inferred ranges of every statement's indices in a comment line
/// before it ("# ranges: i in 0:M"), replacing those of an earlier run. Needs a text
/// without errors; `options` as for importKc() (sizes that are set show as numbers).
mlir::FailureOr<std::string> formatKcWithRanges(mlir::MLIRContext &context, llvm::StringRef text, llvm::StringRef fileName,
                                                const ImportOptions &options = {});

} // namespace kernelc::frontend
