// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which elements combine how: what verifiers of te and tile ask alike.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Whether elements of `type` combine so: there is an identity, and what combines two of them.
bool combines(Combiner kind, mlir::Type type);

/// Whether elements come with their positions.
inline bool isArg(Combiner kind) { return kind >= Combiner::ArgMax && kind <= Combiner::ArgMinU; }

} // namespace kernelc::te
