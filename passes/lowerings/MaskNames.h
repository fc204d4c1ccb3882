// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of a mask are called in the CUDA text: by what each asks about.
#pragma once

#include "passes/lowerings/ThreadCode.h"

namespace kernelc {

/// What is asked of a subscript, by the launch indices that it is made of: `h_r_inside`, `h_r_not_negative`.
inline std::string maskName(ThreadCode &c, mlir::AffineExpr subscript, llvm::StringRef asked) {
  std::string name;
  for (unsigned d = 0; d < c.func.getIndices().size(); ++d)
    if (subscript.isFunctionOfDim(d))
      name += c.indexName(d).str() + "_";
  return name + asked.str();
}

} // namespace kernelc
