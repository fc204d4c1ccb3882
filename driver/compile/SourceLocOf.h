// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// MLIR's locations as the artifact's.
#pragma once

#include "mlir/IR/Location.h"
#include "support/Artifact.h"

namespace kernelc {

inline SourceLoc sourceLocOf(mlir::Location loc) {
  if (auto file = loc->findInstanceOf<mlir::FileLineColLoc>())
    return {file.getFilename().str(), int(file.getLine()), int(file.getColumn())};
  return {};
}

} // namespace kernelc
