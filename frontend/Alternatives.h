// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The conditions of a statement as the ways to fulfil them. Used by the coverage check.
#pragma once

#include "frontend/Sema.h"

namespace kernelc::frontend {

/// One of the ways to fulfil a statement's conditions.
struct Conjunction {
  llvm::SmallVector<Constraint> affine;
  bool isAffine = true; ///< that is all it asks
};

llvm::SmallVector<Conjunction> alternatives(const CoreStatement &s);

} // namespace kernelc::frontend
