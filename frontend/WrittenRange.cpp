// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranges as they are written: `k in a:b` and chained comparisons, of brackets and of `where`. See Elaborate.h.
#include "frontend/Elaborate.h"
#include "frontend/IndexModel.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

bool hasDims(AffineExpr e) {
  bool found = false;
  e.walk([&](AffineExpr x) { found |= isa<AffineDimExpr>(x); });
  return found;
}

} // namespace

std::optional<ChainedRange> chainedRange(const Expr *e) {
  if (e->kind != Expr::Compare || e->ops.size() != 2 || e->args[1]->kind != Expr::Name)
    return std::nullopt;
  if (llvm::all_of(e->ops, [](Tok t) { return t == Tok::Lt || t == Tok::Le; }))
    return ChainedRange{e->args[1], e->args[0], e->args[2], e->ops[0] == Tok::Lt, e->ops[1] == Tok::Le};
  if (llvm::all_of(e->ops, [](Tok t) { return t == Tok::Gt || t == Tok::Ge; }))
    return ChainedRange{e->args[1], e->args[2], e->args[0], e->ops[1] == Tok::Gt, e->ops[0] == Tok::Ge};
  return std::nullopt;
}

SmallVector<Node *> boundsOf(Node *n, Node::Kind joined) {
  SmallVector<Node *> parts, work = {n};
  while (!work.empty()) {
    Node *top = work.pop_back_val();
    if (top->kind == joined && !top->affine)
      work.append(top->ops.rbegin(), top->ops.rend());
    else
      parts.push_back(top);
  }
  return parts;
}

/// The bounds that min or max joins. Each keeps the type it has: a u64 that no i64 holds is beyond every index.
bool Elaborator::collectBounds(const Expr *e, Node::Kind joined, const Scope *scope, SmallVectorImpl<Node *> &parts) {
  bool joins = e->kind == Expr::Call && e->text == (joined == Node::Max ? "max" : "min") && !e->hasBracket && e->named.size() > 1 &&
               !fns.contains(e->text) && !scope->find(e->text);
  if (joins)
    return llvm::all_of(e->named, [&](const NamedArg &a) { return collectBounds(a.value, joined, scope, parts); });
  Node *n = elaborate(e, scope);
  if (n && isUnsigned(n->type))
    n = asIndex(n, "", AffineExpr());
  if (n)
    parts.append(boundsOf(n, joined));
  return n;
}

/// The bounds that are the range itself: of several those that give a window which outer indices move as a whole, else those over
/// sizes alone. Null on a side that has data and scalars alone: then accesses bound the index there.
std::pair<Node *, Node *> Elaborator::pickBounds(ArrayRef<Node *> lower, ArrayRef<Node *> upper) {
  auto rank = [&](Node *l, Node *h) {
    if (!l || !h)
      return (l ? 1 - hasDims(l->affine) : 0) + (h ? 1 - hasDims(h->affine) : 0);
    AffineExpr length = simplifyAffineExpr(h->affine - l->affine, kernel.indices.size(), kernel.sizes.size());
    bool isNumber = isa<AffineConstantExpr>(length);
    return hasDims(length) ? 0 : hasDims(l->affine) ? (isNumber ? 4 : 3) : isNumber ? 1 : 2;
  };
  auto candidates = [](ArrayRef<Node *> bounds) {
    SmallVector<Node *> found = llvm::to_vector(llvm::make_filter_range(bounds, [](Node *n) { return bool(n->affine); }));
    return found.empty() ? SmallVector<Node *>{nullptr} : found;
  };
  SmallVector<Node *> lows = candidates(lower), highs = candidates(upper);
  std::pair<Node *, Node *> best(lows.front(), highs.front());
  for (Node *l : lows)
    for (Node *h : highs)
      if (rank(l, h) > rank(best.first, best.second))
        best = {l, h};
  return best;
}

std::optional<WrittenRange> Elaborator::elaborateRange(const Expr *lo, bool openLo, const Expr *hi, bool closedHi, const Scope *scope) {
  auto elaborateBounds = [&](const Expr *e, Node::Kind joined) {
    SmallVector<Node *> parts;
    if (!collectBounds(e, joined, scope, parts))
      return SmallVector<Node *>();
    // Of numbers one is enough.
    Node *number = nullptr;
    llvm::erase_if(parts, [&](Node *p) {
      if (p->kind != Node::ConstInt || !p->affine)
        return false;
      if (!number || (joined == Node::Min ? p->intValue < number->intValue : p->intValue > number->intValue))
        number = p;
      return true;
    });
    if (number)
      parts.push_back(number);
    bool known = llvm::any_of(parts, [](Node *p) { return bool(p->affine); });
    for (Node *p : parts)
      if (!isInt(p->type) || (!known && isOfIndicesAlone(p))) {
        expectInteger(p, e->loc, "the bound of a range");
        parts.clear();
        break;
      }
    return parts;
  };
  SmallVector<Node *> lower = elaborateBounds(lo, Node::Max), upper = elaborateBounds(hi, Node::Min);
  if (lower.empty() || upper.empty())
    return std::nullopt;
  auto [first, last] = pickBounds(lower, upper);
  WrittenRange range;
  if (first)
    range.lo = first->affine + (openLo ? 1 : 0);
  if (last)
    range.hi = last->affine + (closedHi ? 1 : 0);
  using P = arith::CmpIPredicate;
  for (Node *l : lower)
    if (l != first)
      range.others.push_back({openLo ? P::sgt : P::sge, l});
  for (Node *h : upper)
    if (h != last)
      range.others.push_back({closedHi ? P::sle : P::slt, h});
  return range;
}

bool Elaborator::addConditions(const WrittenRange &range, Node *index, SmallVectorImpl<Node *> &conditions) {
  for (auto [predicate, bound] : range.others) {
    Node *c = index ? makeCompare(predicate, index, bound, bound->loc) : nullptr;
    if (!c)
      return false;
    if (c->kind != Node::ConstBool || !c->intValue)
      conditions.push_back(c);
  }
  return true;
}

} // namespace kernelc::frontend
