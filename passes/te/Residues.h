// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions that pick every n-th point, as the transpose of a convolution in steps has them: (i + P - D * r) mod S == 0. By the
// digit i mod S the points r are known before they are walked, and are those of one residue class.
#pragma once

#include "ir/te/Te.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::te {

/// (a * i + b * r + rest) mod modulus == 0, i a parallel dim and r a reduced one, or none where `reduced` is the number of dims: what
/// else the condition speaks of stands in it by multiples of the modulus.
struct Residue {
  unsigned constraint; ///< of the reduction's condition
  unsigned parallel, reduced;
  int64_t modulus, a, b;
  mlir::AffineExpr rest; ///< of sizes
};

/// The conditions of a reduction that have this form.
llvm::SmallVector<Residue> findResidues(ReduceOp reduce);

/// Walks reduced dim r of a residue whose parallel dim has no more than `modulus` points, so that no condition tells r's
/// points apart, in steps: r = step * r' + first(i), with r' in 0:ceil(R / step) and what is left of the condition, r < R and, where
/// the step is less than the modulus, that i has points at all. Subscripts by quotients become linear in r'. Returns what stands in
/// `reduce`'s place; null, and nothing changed, where its body uses r for something else than subscripts.
ReduceOp walkResidue(ReduceOp reduce, const Residue &residue);

} // namespace kernelc::te
