// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/JoinedText.h"

#include "llvm/ADT/STLExtras.h"

namespace kernelc::frontend {

using namespace llvm;

void visit(const Expr *e, function_ref<void(const Expr *)> f) {
  if (!e)
    return;
  f(e);
  for (const Expr *a : e->args)
    visit(a, f);
  for (const BracketItem &i : e->items) {
    visit(i.expr, f);
    visit(i.lo, f);
    visit(i.hi, f);
  }
  for (const NamedArg &a : e->named)
    visit(a.value, f);
  for (const NamedArg &a : e->modeArgs)
    visit(a.value, f);
}

bool areAlike(const Expr *a, const Expr *b) {
  return a->kind == b->kind && a->text == b->text && a->ops == b->ops && a->mode == b->mode && a->items.empty() && b->items.empty() &&
         a->named.size() == b->named.size() && a->args.size() == b->args.size() &&
         all_of(zip(a->args, b->args), [](auto pair) { return areAlike(std::get<0>(pair), std::get<1>(pair)); }) &&
         all_of(zip(a->named, b->named), [](auto pair) { return areAlike(std::get<0>(pair).value, std::get<1>(pair).value); });
}

SmallVector<StringRef> declaredNames(const Expr *call, function_ref<bool(StringRef)> isOuter) {
  SmallVector<StringRef> names;
  for (const BracketItem &item : call->items) {
    const Expr *e = item.expr;
    bool isChain = !item.lo && e->kind == Expr::Compare && e->args.size() == 3 && e->args[1]->kind == Expr::Name;
    if (e->kind == Expr::Name)
      names.push_back(e->text);
    else if (isChain && !isOuter(e->args[1]->text)) // (around an index of the left side it is a condition)
      names.push_back(e->args[1]->text);
  }
  return names;
}

Expr *TextWriter::make(Expr::Kind kind, Loc loc) {
  Expr &e = exprs_.emplace_back();
  e.kind = kind;
  e.loc = loc;
  e.begin = loc.offset;
  e.end = loc.offset;
  return &e;
}

Expr *TextWriter::name(StringRef text, Loc loc) {
  Expr *e = make(Expr::Name, loc);
  e->text = text;
  return e;
}

Expr *TextWriter::number(int64_t v, Loc loc) {
  Expr *e = make(Expr::Integer, loc);
  e->text = keep(std::to_string(v));
  return e;
}

Expr *TextWriter::binary(Expr *a, Tok op, Expr *b) {
  Expr *e = make(Expr::Chain, a->loc);
  e->args = {a, b};
  e->ops = {op};
  e->opLocs = {a->loc};
  return e;
}

Expr *TextWriter::compare(Expr *a, Tok op, Expr *b) {
  Expr *e = binary(a, op, b);
  e->kind = Expr::Compare;
  return e;
}

Expr *TextWriter::select(Expr *condition, Expr *a, Expr *b) {
  Expr *e = make(Expr::Select, a->loc);
  e->args = {a, condition, b};
  return e;
}

Expr *TextWriter::call(StringRef function, Expr *argument) {
  Expr *e = make(Expr::Call, argument->loc);
  e->text = function;
  e->named.push_back({StringRef(), argument, argument->loc});
  return e;
}

Expr *TextWriter::plus(Expr *a, int64_t v) { return v ? binary(a, v < 0 ? Tok::Minus : Tok::Plus, number(v < 0 ? -v : v, a->loc)) : a; }

Expr *TextWriter::copy(const Expr *e, const Names &names, OnAccess onAccess, OnBracket onBracket) {
  if (!e)
    return nullptr;
  if (e->kind == Expr::Name)
    if (Expr *other = names.lookup(e->text))
      return other;
  Expr *made = &exprs_.emplace_back(*e);
  Names inner = names;
  if (e->kind == Expr::Call)
    for (StringRef own : declaredNames(e, [&](StringRef n) { return names.contains(n); }))
      inner.erase(own);
  auto again = [&](const Expr *part, const Names &known) { return copy(part, known, onAccess, onBracket); };
  for (Expr *&a : made->args)
    a = again(a, inner);
  for (BracketItem &i : made->items) {
    i.expr = again(i.expr, inner);
    i.lo = again(i.lo, names);
    i.hi = again(i.hi, names);
  }
  for (NamedArg &a : made->named)
    a.value = again(a.value, inner);
  for (NamedArg &a : made->modeArgs)
    a.value = again(a.value, names);
  if (e->kind == Expr::Call && e->hasBracket)
    onBracket(e, made);
  Expr *instead = e->kind == Expr::Access ? onAccess(e, made, names) : nullptr;
  return instead ? instead : made;
}

} // namespace kernelc::frontend
