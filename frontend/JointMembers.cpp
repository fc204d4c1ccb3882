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

std::optional<int64_t> stepsFrom(const Expr *e, StringRef t) {
  int64_t v;
  if (e->kind == Expr::Name && e->text == t)
    return 0;
  if (e->kind == Expr::Chain && e->args.size() == 2 && e->args[0]->kind == Expr::Name && e->args[0]->text == t &&
      e->args[1]->kind == Expr::Integer && (e->ops[0] == Tok::Plus || e->ops[0] == Tok::Minus) && !e->args[1]->text.getAsInteger(10, v) &&
      v < 1 << 20)
    return e->ops[0] == Tok::Minus ? -v : v;
  return std::nullopt;
}

StringRef typeOf(const Member &m, const Definition &def) {
  if (m.output)
    return m.output->type.name;
  if (!m.general->type.name.empty())
    return m.general->type.name;
  std::optional<ElementType> widest; // as the inputs of its text
  for (const Statement *s : m.statements)
    visit(s->value, [&](const Expr *e) {
      for (const Param &p : llvm::concat<const Param>(def.params, def.outputs))
        if (auto own = e->kind == Expr::Access && p.name == e->text ? elementNamed(p.type.name) : std::nullopt) {
          ElementType wide = elementOf(widened(*own));
          bool isWider = !widest || (isFloat(widened(wide)) && !isFloat(widened(*widest))) || wide == ElementType::f64;
          widest = isWider ? wide : *widest;
        }
    });
  absl::string_view name = elementTypeName(widest.value_or(ElementType::f32));
  return {name.data(), name.size()};
}

bool isBehind(const Expr *bracket, StringRef name, StringRef index) {
  auto isName = [](const Expr *e, StringRef text) { return e->kind == Expr::Name && e->text == text; };
  return llvm::any_of(bracket->items, [&](const BracketItem &i) {
    if (i.lo)
      return isName(i.expr, name) && stepsFrom(i.lo, index).has_value();
    bool found = false;
    for (size_t k = 0; i.expr->kind == Expr::Compare && k < i.expr->ops.size(); ++k) {
      const Expr *a = i.expr->args[k], *b = i.expr->args[k + 1];
      bool isLess = i.expr->ops[k] == Tok::Lt || i.expr->ops[k] == Tok::Le, isMore = i.expr->ops[k] == Tok::Gt || i.expr->ops[k] == Tok::Ge;
      found |= (isMore && isName(a, name) && stepsFrom(b, index)) || (isLess && isName(b, name) && stepsFrom(a, index));
    }
    return found;
  });
}

} // namespace kernelc::frontend
