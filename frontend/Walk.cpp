// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walking Core expressions, taking conditions apart, and printing index algebra.
#include "frontend/Sema.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kernelc::frontend {

void walk(Node *n, llvm::function_ref<void(Node *)> visit) {
  llvm::DenseSet<Node *> seen;
  SmallVector<Node *> work = {n};
  while (!work.empty()) {
    Node *top = work.pop_back_val();
    if (!seen.insert(top).second)
      continue;
    visit(top);
    for (Node *o : llvm::reverse(top->ops))
      work.push_back(o);
    for (Node *o : llvm::reverse(top->conditions))
      work.push_back(o);
    if (top->padding)
      work.push_back(top->padding);
  }
}

SmallVector<IndexVar *> usedOuter(Node *reduce, ArrayRef<IndexVar *> outer) {
  llvm::DenseSet<unsigned> used;
  auto note = [&](AffineExpr e) {
    e.walk([&](AffineExpr x) {
      if (auto d = dyn_cast<AffineDimExpr>(x))
        used.insert(d.getPosition());
    });
  };
  walk(reduce, [&](Node *n) {
    if (n->affine)
      note(n->affine);
    for (AffineExpr c : n->rangeConditions)
      note(c);
    if (n->givesPosition() && n->vars[0]->window) // the position is counted from there
      note(n->vars[0]->window);
  });
  SmallVector<IndexVar *> result;
  for (IndexVar *v : outer)
    if (used.contains(v->id))
      result.push_back(v);
  return result;
}

std::optional<Constraint> constraintOf(Node *n, bool negated) {
  using P = arith::CmpIPredicate;
  if (n->kind != Node::Cmp || !n->ops[0]->affine || !n->ops[1]->affine || n->ops[0]->type != Ty::I64)
    return std::nullopt;
  AffineExpr a = n->ops[0]->affine, b = n->ops[1]->affine;
  P p = n->predicate;
  if (negated)
    p = arith::invertPredicate(p);
  switch (p) {
  case P::eq: return Constraint{a - b, true};
  case P::slt: return Constraint{b - a - 1};
  case P::sle: return Constraint{b - a};
  case P::sgt: return Constraint{a - b - 1};
  case P::sge: return Constraint{a - b};
  default: return std::nullopt;
  }
}

void splitCondition(Node *n, SmallVectorImpl<Constraint> &affine, SmallVectorImpl<Node *> &rest) {
  SmallVector<Node *> work = {n};
  while (!work.empty()) {
    Node *top = work.pop_back_val();
    if (top->kind == Node::And) {
      work.push_back(top->ops[1]);
      work.push_back(top->ops[0]);
      continue;
    }
    bool negated = top->kind == Node::Not;
    if (auto c = constraintOf(negated ? top->ops[0] : top, negated))
      affine.push_back(*c);
    else if (top->kind != Node::ConstBool || !top->intValue)
      rest.push_back(top);
  }
}

namespace {

/// Precedence: 0 sum, 1 product, 2 atom.
std::string printAt(AffineExpr e, const Kernel &k, int level) {
  auto wrap = [&](std::string s, int own) { return own < level ? "(" + s + ")" : s; };
  switch (e.getKind()) {
  case AffineExprKind::Constant: {
    int64_t v = cast<AffineConstantExpr>(e).getValue();
    return v < 0 && level > 0 ? "(" + std::to_string(v) + ")" : std::to_string(v);
  }
  case AffineExprKind::DimId: {
    unsigned i = cast<AffineDimExpr>(e).getPosition();
    return i < k.indices.size() ? k.indices[i].name.str() : "?";
  }
  case AffineExprKind::SymbolId: {
    unsigned i = cast<AffineSymbolExpr>(e).getPosition();
    return i < k.sizes.size() ? k.sizes[i] : "?";
  }
  default: break;
  }
  auto b = cast<AffineBinaryOpExpr>(e);
  AffineExpr l = b.getLHS(), r = b.getRHS();
  if (e.getKind() == AffineExprKind::Add) {
    if (auto c = dyn_cast<AffineConstantExpr>(r); c && c.getValue() < 0)
      return wrap(printAt(l, k, 0) + " - " + std::to_string(-c.getValue()), 0);
    if (auto m = dyn_cast<AffineBinaryOpExpr>(r); m && m.getKind() == AffineExprKind::Mul) {
      if (auto c = dyn_cast<AffineConstantExpr>(m.getRHS()); c && c.getValue() < 0) {
        std::string term =
            c.getValue() == -1 ? printAt(m.getLHS(), k, 1) : std::to_string(-c.getValue()) + " * " + printAt(m.getLHS(), k, 2);
        if (auto lm = dyn_cast<AffineBinaryOpExpr>(l); lm && lm.getKind() == AffineExprKind::Mul && isa<AffineConstantExpr>(lm.getRHS()) &&
                                                       cast<AffineConstantExpr>(lm.getRHS()).getValue() < 0)
          return wrap(printAt(l, k, 0) + " - " + term, 0);
        return wrap(printAt(l, k, 0) + " - " + term, 0);
      }
    }
    // -a + b reads better as b - a.
    if (auto m = dyn_cast<AffineBinaryOpExpr>(l); m && m.getKind() == AffineExprKind::Mul)
      if (auto c = dyn_cast<AffineConstantExpr>(m.getRHS()); c && c.getValue() == -1)
        return wrap(printAt(r, k, 0) + " - " + printAt(m.getLHS(), k, 1), 0);
    return wrap(printAt(l, k, 0) + " + " + printAt(r, k, 0), 0);
  }
  if (e.getKind() == AffineExprKind::Mul) {
    if (auto c = dyn_cast<AffineConstantExpr>(r)) {
      if (c.getValue() == -1)
        return wrap("-" + printAt(l, k, 1), 0);
      return wrap(std::to_string(c.getValue()) + " * " + printAt(l, k, 2), 1);
    }
    return wrap(printAt(l, k, 1) + " * " + printAt(r, k, 2), 1);
  }
  StringRef op = e.getKind() == AffineExprKind::Mod ? " % " : " // ";
  return wrap(printAt(l, k, 2) + op.str() + printAt(r, k, 2), 1);
}

} // namespace

std::string print(AffineExpr e, const Kernel &kernel) { return printAt(e, kernel, 0); }

} // namespace kernelc::frontend
