// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text that is written anew from other text: copies of expressions under other names.
#pragma once

#include <deque>
#include <string>

#include "frontend/Ast.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

namespace kernelc::frontend {

/// Calls `f` on `e` and all expressions in it.
void visit(const Expr *e, llvm::function_ref<void(const Expr *)> f);

/// Whether two texts are the same but for white space.
bool areAlike(const Expr *a, const Expr *b);

/// The names that the bracket of a call declares, where `outer` are those of indices around it.
llvm::SmallVector<llvm::StringRef> declaredNames(const Expr *call, llvm::function_ref<bool(llvm::StringRef)> isOuter);

class TextWriter {
public:
  TextWriter(std::deque<Expr> &exprs, std::deque<std::string> &texts) : exprs_(exprs), texts_(texts) {}

  using Names = llvm::StringMap<Expr *>;
  /// Called on each access, once its parts have been copied: gives what replaces `copy`, or null to keep it. `names`: the names that are
  /// replaced at this place.
  using OnAccess = llvm::function_ref<Expr *(const Expr *access, Expr *copy, const Names &names)>;
  /// Changes the copy of a call with a bracket.
  using OnBracket = llvm::function_ref<void(const Expr *call, Expr *copy)>;

  /// A copy of `e` in which expressions replace names, except where a bracket declares the name anew.
  Expr *copy(const Expr *e, const Names &names, OnAccess onAccess, OnBracket onBracket);

  Expr *make(Expr::Kind kind, Loc loc);
  Expr *name(llvm::StringRef text, Loc loc);
  Expr *number(int64_t v, Loc loc);
  Expr *binary(Expr *a, Tok op, Expr *b);
  Expr *compare(Expr *a, Tok op, Expr *b);
  Expr *select(Expr *condition, Expr *a, Expr *b);
  Expr *call(llvm::StringRef function, Expr *argument);
  /// a + v; `a` itself where v is 0.
  Expr *plus(Expr *a, int64_t v);
  llvm::StringRef keep(std::string text) { return texts_.emplace_back(std::move(text)); }

private:
  std::deque<Expr> &exprs_;
  std::deque<std::string> &texts_;
};

} // namespace kernelc::frontend
