// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What subscripts, and the parts of a mask, are called in the CUDA text: by the indices that they are made of.
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

/// `v` goes by `name` where nothing has named it.
inline void nameIfUnnamed(ThreadCode &c, mlir::Value v, const llvm::Twine &name) {
  mlir::Operation *op = v.getDefiningOp();
  if (op && cu::findName(op->getLoc()).empty())
    op->setLoc(c.named(name.str(), op->getLoc()));
}

/// The value of a subscript at `coords`; one of several indices is called by these, as `h_r`.
inline mlir::Value subscriptAt(ThreadCode &c, mlir::AffineExpr subscript, mlir::ValueRange coords, mlir::Location loc) {
  mlir::Value v = c.expand(subscript, coords, loc, /*computed=*/true);
  std::string name = maskName(c, subscript, "");
  if (llvm::StringRef(name).count('_') > 1) // one behind each index
    nameIfUnnamed(c, v, llvm::StringRef(name).drop_back());
  return v;
}

} // namespace kernelc
