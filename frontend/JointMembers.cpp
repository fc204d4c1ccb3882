// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/JointMembers.h"

using namespace mlir;

namespace kernelc::frontend {

bool mayJoin(const Statement &s) {
  return (s.kind == Statement::Let || s.kind == Statement::Assign) && s.op == "=" && s.mode.empty() && s.hasSubscripts &&
         s.type.fields.empty();
}

SmallVector<StringRef> readsOf(const Statement &s) {
  SmallVector<StringRef> names;
  auto take = [&](const Expr *e) {
    visit(e, [&](const Expr *part) {
      if (part->kind == Expr::Access)
        names.push_back(part->text);
    });
  };
  take(s.value);
  for (const Expr *sub : s.subscripts)
    take(sub);
  for (const BracketItem &i : s.where)
    for (const Expr *e : {i.expr, i.lo, i.hi})
      take(e);
  return names;
}

/// Whether `s` reads or writes the tensor of that name. (A name in a call may be one, too.)
static bool touches(const Statement &s, StringRef name) {
  bool names = s.target == name;
  auto take = [&](const Expr *e) {
    visit(e, [&](const Expr *part) { names |= (part->kind == Expr::Access || part->kind == Expr::Name) && part->text == name; });
  };
  take(s.value);
  llvm::for_each(s.subscripts, take);
  for (const BracketItem &i : s.where)
    for (const Expr *e : {i.expr, i.lo, i.hi})
      take(e);
  return names;
}

/// Whether one of two statements writes what the other reads or writes.
static bool areOrdered(const Statement &a, const Statement &b) {
  return (!a.target.empty() && touches(b, a.target)) || (!b.target.empty() && touches(a, b.target));
}

JointPlace placeJoint(ArrayRef<Statement> body, llvm::function_ref<bool(const Statement &)> isMember) {
  JointPlace place;
  size_t last = 0;
  llvm::StringSet<> names;
  for (auto [i, s] : llvm::enumerate(body))
    if (isMember(s)) {
      last = i;
      names.insert(s.target);
    }
  SmallVector<const Statement *> late; // of the group, and what has to stay behind one of it
  for (auto [i, s] : llvm::enumerate(body)) {
    bool isLate = llvm::any_of(late, [&](const Statement *l) { return areOrdered(*l, s); });
    if (isMember(s)) {
      for (const Statement *l : place.behind)
        if (!place.between && !l->target.empty() && touches(s, l->target))
          place.between = l;
      late.push_back(&s);
      continue;
    }
    if (i > last || isLate || llvm::any_of(readsOf(s), [&](StringRef n) { return names.contains(n); })) {
      place.behind.push_back(&s);
      late.push_back(&s);
    } else {
      place.before.push_back(&s);
    }
  }
  return place;
}

Member makeMember(StringRef name, ArrayRef<Statement> body, const Definition &def) {
  Member m;
  m.name = name;
  for (const Statement &s : body)
    if (mayJoin(s) && s.target == name)
      m.statements.push_back(&s);
  for (const Param &p : def.outputs)
    if (p.name == name)
      m.output = &p;
  return m;
}

} // namespace kernelc::frontend
