// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The math functions of the language: how emitted code calls them and how many
// ulps a device may be off. The one table for both.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace kernelc::reference {

struct MathFunction {
  const char *op;        ///< "math.exp"
  const char *intrinsic; ///< "llvm.exp", or null
  const char *symbol;    ///< runtime symbol stem ("kc_erf"; f32: + "f") where there is no intrinsic
  int operands;
  double ulp32; ///< budget of a device in f32, CUDA C Programming Guide, plus one for other devices
  double ulp64;
};

/// Null for ops that are not in the table.
const MathFunction *findMathFunction(llvm::StringRef op);

/// Every symbol that emitted code or LLVM's code generator may call, with its address.
const std::vector<std::pair<const char *, void *>> &runtimeSymbols();

} // namespace kernelc::reference
