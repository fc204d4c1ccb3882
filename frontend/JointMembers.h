// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensors of a group that read each other, each with its statements: see Mutual.cpp.
#pragma once

#include "frontend/JoinedText.h"
#include "frontend/Sema.h"
#include "llvm/ADT/StringSet.h"

namespace kernelc::frontend {

/// Whether a statement is one that may be defined together with others: `t[i, j] = e`.
bool mayJoin(const Statement &s);
/// The names of tensors that stand in a statement's text.
llvm::SmallVector<llvm::StringRef> readsOf(const Statement &s);

/// One of the tensors that need each other.
struct Member {
  llvm::StringRef name;
  llvm::SmallVector<const Statement *> statements; ///< in the text's order
  const Statement *general = nullptr;              ///< the one that has an index of its own in each subscript
  const Param *output = nullptr;                   ///< null: a let
  llvm::SmallVector<unsigned> dims;                ///< its own dim for each of the joint tensor
};

/// The text of `name`'s statements of a kernel, as a member of such a group.
Member makeMember(llvm::StringRef name, llvm::ArrayRef<Statement> body, const Definition &def);

/// Removes from the group each let whose elements are read once each, by other members: these compute the value where they read it.
/// `named` gets the names of such lets, `made` the rewritten statements.
void inlineNamed(std::vector<Member> &members, TextWriter &text, std::deque<Statement> &made, llvm::StringSet<> &named);

} // namespace kernelc::frontend
