// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which laws hold of a reducer: found by running it, in the compiler, on states that its reduction can come to.
//
// Elements are what the call gives, of anything that it reads: numbers of all types, with NaN, infinities and the types'
// extremes among them. States are the identity, elements, and what these combine to. Where the
// states are few all pairs and triples are tried, else many of them. What arithmetic makes of no real number (inf - inf,
// 0 / 0) says nothing for or against a law, unless the infinity is one that the identity has too.
#pragma once

#include <string>

#include "frontend/Core.h"

namespace kernelc::frontend {

struct LawReport {
  Laws laws;
  std::string text; ///< a sentence with a counterexample for each law that fails, and what follows; empty where all hold
};

/// Tests the reduction by `form` of elements with these fields.
LawReport testLaws(const ReducerForm &form, llvm::ArrayRef<Node *> element);

} // namespace kernelc::frontend
