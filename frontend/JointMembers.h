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

/// v of `t + v` for index `t`; nothing where `e` is something else.
std::optional<int64_t> stepsFrom(const Expr *e, llvm::StringRef t);
/// Whether the bracket says that its index `name` lies behind `index`, or at it: `k > t`, `k in t + 1:n`.
bool isBehind(const Expr *bracket, llvm::StringRef name, llvm::StringRef index);

/// The text of `name`'s statements of a kernel, as a member of such a group.
Member makeMember(llvm::StringRef name, llvm::ArrayRef<Statement> body, const Definition &def);

/// The type that a member is stored in: its own, or that of the inputs of its text.
llvm::StringRef typeOf(const Member &m, const Definition &def);

/// Where the statements of a kernel go of which some, those of a group, are defined in one place: each keeps its order with those that
/// write what it reads or writes. `between`, if not null, has to stand behind one of the group and before another.
struct JointPlace {
  llvm::SmallVector<const Statement *> before, behind;
  const Statement *between = nullptr;
};
JointPlace placeJoint(llvm::ArrayRef<Statement> body, llvm::function_ref<bool(const Statement &)> isMember);

/// Removes from the group each let whose elements are read once each, by other members: these compute the value where they read it.
/// `named` gets the names of such lets, `made` the rewritten statements.
void inlineNamed(std::vector<Member> &members, TextWriter &text, std::deque<Statement> &made, llvm::StringSet<> &named);

} // namespace kernelc::frontend
