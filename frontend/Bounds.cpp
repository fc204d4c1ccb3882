// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every access stays inside its tensor: proved for all sizes, or an error with a
// point at which it does not.
//
// An access is proved from the ranges of its domain's indices and the conditions
// of its own reduction, which the domain excludes exactly. What holds only under an
// enclosing condition (`a if c else b`, an outer reduction's condition) may be read
// speculatively by later passes, so such a read gets a rule for what lies outside.
#include "frontend/Bounds.h"
#include "frontend/IndexModel.h"

using namespace mlir;

namespace kernelc::frontend {

/// `e` is not 0: above where it is not below, and the other way round.
static void assumeUnequal(Prover &p, AffineExpr e) {
  if (Prover(p).proves(e))
    p.assume(e - 1);
  else if (Prover(p).proves(-e))
    p.assume(-e - 1);
}

Prover BoundsChecker::proverFor(const BoundsContext &c, bool withSoft) {
  SmallVector<Constraint> known;
  for (IndexVar *v : c.domain) {
    AffineExpr d = getAffineDimExpr(v->id, context);
    known.push_back({d - v->lo});
    known.push_back({v->hi() - 1 - d});
  }
  known.append(c.hard.begin(), c.hard.end());
  if (withSoft)
    known.append(c.soft.begin(), c.soft.end());
  Prover p = base;
  p.assumeAll(known);
  for (AffineExpr e : withSoft ? ArrayRef<AffineExpr>(c.unequal) : ArrayRef<AffineExpr>())
    assumeUnequal(p, e);
  return p;
}

void BoundsChecker::addHypotheses(Node *cond, bool negated, BoundsContext &to) {
  to.path.push_back({cond, negated});
  SmallVector<std::pair<Node *, bool>> work = {{cond, negated}};
  while (!work.empty()) {
    auto [n, neg] = work.pop_back_val();
    if (n->kind == Node::Not)
      work.push_back({n->ops[0], !neg});
    else if ((n->kind == Node::And && !neg) || (n->kind == Node::Or && neg))
      for (Node *o : n->ops)
        work.push_back({o, neg});
    else if (auto k = constraintOf(n, neg))
      to.soft.push_back(*k);
    else if (auto same = constraintOf(n, !neg); same && same->isEq)
      to.unequal.push_back(same->expr);
    else if (n->kind == Node::Cmp)
      to.data.push_back({n, neg});
  }
}

void BoundsChecker::visit(Node *n, const BoundsContext &c, Prover &prover, llvm::DenseSet<Node *> &seen) {
  while (true) {
    if (!seen.insert(n).second)
      return;
    if (n->padding)
      visit(n->padding, c, prover, seen);
    if (n->kind == Node::Reduce)
      return visitReduce(n, c);
    if (n->kind == Node::Read)
      return checkRead(n, c, prover);
    if (n->ops.empty())
      return;
    bool guarded = n->kind == Node::Select || n->kind == Node::And || n->kind == Node::Or;
    for (size_t i = n->ops.size(); i-- > 1;) {
      if (!guarded) {
        visit(n->ops[i], c, prover, seen);
        continue;
      }
      BoundsContext inner = c;
      bool negated = n->kind == Node::Or || (n->kind == Node::Select && i == 2);
      addHypotheses(n->ops[0], negated, inner);
      if (inner.soft.size() == c.soft.size() && inner.unequal.size() == c.unequal.size() && inner.data.size() == c.data.size() &&
          !mayGuard(n->ops[i])) {
        visit(n->ops[i], c, prover, seen);
      } else {
        llvm::DenseSet<Node *> innerSeen;
        visit(n->ops[i], inner, prover, innerSeen);
      }
    }
    n = n->ops[0];
  }
}

void BoundsChecker::visitReduce(Node *n, const BoundsContext &c) {
  BoundsContext inner;
  inner.domain = usedOuter(n, c.domain);
  llvm::erase_if(inner.domain, [&](IndexVar *v) { return llvm::is_contained(n->vars, v); });
  inner.domain.append(n->vars.begin(), n->vars.end());
  inner.soft = c.hard;
  inner.soft.append(c.soft.begin(), c.soft.end());
  inner.unequal = c.unequal;
  inner.data = c.data;
  inner.path = c.path;
  for (AffineExpr e : n->rangeConditions)
    inner.hard.push_back({e, false});
  SmallVector<Node *> data;
  for (Node *cond : n->conditions)
    splitCondition(cond, inner.hard, data);
  n->mayBeEmpty = mayBeEmpty(n);
  checkPositions(n);
  for (Node *d : data)
    check(d, inner);
  for (Node *d : data)
    addHypotheses(d, false, inner);
  for (Node *o : n->ops)
    check(o, inner);
}

/// Positions over several indices are counted by the product of their extents, which two negative ones would make positive.
void BoundsChecker::checkPositions(Node *n) {
  if (!n->givesPosition() || n->vars.size() == 1)
    return;
  Prover p = base;
  SmallVector<IndexVar *> negative;
  for (IndexVar *v : n->vars)
    if (!Prover(p).proves(v->extent))
      negative.push_back(v);
  if (negative.size() < 2)
    return;
  diags.error(n->loc) << "the ranges of '" << negative[0]->name << "' and '" << negative[1]->name
                      << "' may both end before they start, and then there are no positions to count; add 'require "
                      << print(negative[0]->extent, kernel) << " >= 0'";
  ok = false;
}

bool BoundsChecker::mayBeEmpty(Node *n) {
  Prover p = base;
  return !n->conditions.empty() || !n->rangeConditions.empty() ||
         llvm::any_of(n->vars, [&](IndexVar *v) { return !p.proves(v->extent - 1); });
}

bool BoundsChecker::provesAtLeast(Node *n, AffineExpr bound, Prover &prover) {
  if (n->affine)
    return prover.proves(n->affine - bound);
  auto holds = [&](Node *o) { return provesAtLeast(o, bound, prover); };
  switch (n->kind) {
  case Node::Min: return llvm::all_of(n->ops, holds);
  case Node::Max: return llvm::any_of(n->ops, holds);
  case Node::Select: return inEachCase(n, prover, [&](Node *o, Prover &p) { return provesAtLeast(o, bound, p); });
  case Node::Add:
    if (!isOfIndicesAlone(n)) // it may wrap, as the model knows
      break;
    if (n->ops[1]->affine)
      return provesAtLeast(n->ops[0], bound - n->ops[1]->affine, prover);
    if (n->ops[0]->affine)
      return provesAtLeast(n->ops[1], bound - n->ops[0]->affine, prover);
    break;
  case Node::Sub:
    if (!isOfIndicesAlone(n))
      break;
    if (n->ops[1]->affine)
      return provesAtLeast(n->ops[0], bound + n->ops[1]->affine, prover);
    if (n->ops[0]->affine)
      return provesAtMost(n->ops[1], n->ops[0]->affine - bound, prover);
    break;
  default: break;
  }
  return provesOfModel(n, prover, [&](AffineExpr e) { return e - bound; });
}

bool BoundsChecker::provesAtMost(Node *n, AffineExpr bound, Prover &prover) {
  if (n->affine)
    return prover.proves(bound - n->affine);
  auto holds = [&](Node *o) { return provesAtMost(o, bound, prover); };
  switch (n->kind) {
  case Node::Min: return llvm::any_of(n->ops, holds);
  case Node::Max: return llvm::all_of(n->ops, holds);
  case Node::Select: return inEachCase(n, prover, [&](Node *o, Prover &p) { return provesAtMost(o, bound, p); });
  case Node::Add:
    if (!isOfIndicesAlone(n))
      break;
    if (n->ops[1]->affine)
      return provesAtMost(n->ops[0], bound - n->ops[1]->affine, prover);
    if (n->ops[0]->affine)
      return provesAtMost(n->ops[1], bound - n->ops[0]->affine, prover);
    break;
  case Node::Sub:
    if (!isOfIndicesAlone(n))
      break;
    if (n->ops[1]->affine)
      return provesAtMost(n->ops[0], bound + n->ops[1]->affine, prover);
    if (n->ops[0]->affine)
      return provesAtLeast(n->ops[1], n->ops[0]->affine - bound, prover);
    break;
  default: break;
  }
  return provesOfModel(n, prover, [&](AffineExpr e) { return bound - e; });
}

bool BoundsChecker::provesOfModel(Node *n, Prover &prover, llvm::function_ref<AffineExpr(AffineExpr)> goal) {
  Prover local = prover;
  IndexModel model(local, kernel, context);
  for (auto [condition, negated] : known)
    model.assume(condition, negated);
  return local.proves(goal(model.of(n)));
}

bool BoundsChecker::inEachCase(Node *select, Prover &prover, llvm::function_ref<bool(Node *, Prover &)> holds) {
  for (unsigned i : {1, 2}) {
    BoundsContext facts;
    addHypotheses(select->ops[0], i == 2, facts);
    Prover inner = prover;
    for (const Constraint &k : facts.soft)
      inner.assume(k.expr, k.isEq);
    for (AffineExpr e : facts.unequal)
      assumeUnequal(inner, e);
    size_t before = known.size();
    known.append(facts.data);
    bool proved = holds(select->ops[i], inner);
    known.resize(before);
    if (!proved)
      return false;
  }
  return true;
}

bool BoundsChecker::checkDivisors(AffineExpr e, Prover &prover) {
  bool ok = true;
  e.walk([&](AffineExpr x) {
    if (x.getKind() != AffineExprKind::FloorDiv && x.getKind() != AffineExprKind::Mod)
      return;
    AffineExpr d = cast<AffineBinaryOpExpr>(x).getRHS();
    ok &= prover.proves(d - 1);
  });
  return ok;
}

/// What has to stay inside, and in what: of a view its own subscripts, from which those of the tensor follow.
std::pair<Node *, AffineExpr> BoundsChecker::subscriptOf(Node *n, unsigned i) {
  return n->views.empty() ? std::pair(n->ops[i], n->tensor->dims[i]) : n->views[i];
}

/// An element of a let that has conditions has to be one that these hold for.
void BoundsChecker::checkDefined(Node *n, const BoundsContext &c, Prover &prover) {
  Tensor *t = n->tensor;
  if (t->definedWhere.empty())
    return;
  llvm::DenseMap<AffineExpr, AffineExpr> at;
  bool isAffine = true;
  for (auto [v, s] : llvm::zip(t->definedOver, n->ops)) {
    isAffine &= bool(s->affine);
    at[getAffineDimExpr(v->id, context)] = s->affine;
  }
  auto holds = [&](const Constraint &k, Prover own) {
    AffineExpr e = k.expr.replace(at);
    return own.proves(e) && (!k.isEq || own.proves(-e));
  };
  for (const Constraint &k : t->definedWhere) {
    if (isAffine && (holds(k, prover) || holds(k, proverFor(c, true))))
      continue;
    auto d = diags.error(n->loc);
    d << "'" << t->name << "' is defined where " << print(k.expr, kernel) << (k.isEq ? " == 0" : " >= 0")
      << ", and nothing proves that of this element; read it where that holds, as in 'a if c else b'";
    diags.note(d, t->loc) << "'" << t->name << "' is defined here";
    ok = false;
    return;
  }
}

void BoundsChecker::checkForm(Node *n, Prover &prover) {
  if (n->bounds == te::BoundsMode::Pad || n->bounds == te::BoundsMode::Assume)
    return;
  for (AffineExpr d : n->tensor->dims)
    if (!Prover(prover).proves(d - 1)) {
      diags.error(n->loc) << "the form of this access needs at least one element in each dim of '" << n->tensor->name << "'; add 'require "
                          << print(d, kernel) << " >= 1'";
      ok = false;
    }
}

BoundsChecker::Proved BoundsChecker::proveSubscript(Node *s, AffineExpr dim, const BoundsContext &c, Prover &prover,
                                                    std::optional<Prover> &softProver) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  if (s->affine && isa<AffineDimExpr>(s->affine)) {
    IndexVar &v = kernel.indices[cast<AffineDimExpr>(s->affine).getPosition()];
    if (v.lo == zero && v.extent == dim)
      return Proved::Always;
  }
  Prover own = prover;
  bool low = provesAtLeast(s, zero, own), high = low && provesAtMost(s, dim - 1, own);
  if (low && high)
    return Proved::Always;
  if (!c.soft.empty() || !c.unequal.empty() || !c.data.empty()) {
    if (!softProver)
      softProver = proverFor(c, true);
    own = *softProver;
    known = c.data;
    low = provesAtLeast(s, zero, own);
    high = low && provesAtMost(s, dim - 1, own);
    known.clear();
    if (low && high)
      return Proved::WhereItCounts;
  }
  return low ? Proved::LowEnd : Proved::Neither;
}

void BoundsChecker::padWithZero(Node *n) {
  ElementType element = n->tensor->element;
  n->isSpeculative = true;
  n->bounds = te::BoundsMode::Pad;
  n->padding = element == ElementType::boolean ? elab.makeBool(false, n->loc)
               : kernelc::isFloat(element)     ? elab.makeFloat(0, widened(element), n->loc)
                                               : elab.makeInt(0, widened(element), n->loc);
}

void BoundsChecker::checkRead(Node *n, const BoundsContext &c, Prover &prover) {
  Tensor *t = n->tensor;
  if (n->readsOwn)
    ownReads.push_back({n, proverFor(c, true), c.path});
  for (Node *s : n->ops) {
    Prover own = prover; // what one access proves, another does not know: their order must not matter
    if (!s->affine || !checkDivisors(s->affine, own))
      n->regionSubscripts = true;
    if (!s->pureIndex)
      check(s, c);
  }
  checkDefined(n, c, prover);
  if (n->bounds != te::BoundsMode::InBounds && !n->isSpeculative) // a node may stand in several places
    return checkForm(n, prover);
  std::optional<Prover> softProver;
  bool speculative = false;
  for (unsigned i = 0, e = n->views.empty() ? n->ops.size() : n->views.size(); i < e; ++i) {
    auto [s, dim] = subscriptOf(n, i);
    Proved proved = proveSubscript(s, dim, c, prover, softProver);
    if (proved == Proved::Always)
      continue;
    if (proved == Proved::WhereItCounts) {
      speculative = true;
    } else if (!s->affine && !isOfIndicesAlone(s)) {
      addGuard(subscriptLoc(n, i), s, dim, t->name, i, c);
      speculative = true;
    } else if (!s->affine) {
      reportUnproved(n, i);
      ok = false;
    } else {
      report(n, i, c, /*below=*/proved == Proved::Neither);
      ok = false;
      return;
    }
  }
  if (speculative) // zero outside costs no memory access, even of an empty tensor
    padWithZero(n);
}

void BoundsChecker::checkScatter(const CoreStatement &core, ScatterForm &form, const BoundsContext &hard, const BoundsContext &c) {
  Node affine; // the subscripts of indices alone, which are proved
  affine.kind = Node::Read;
  affine.tensor = core.target;
  affine.loc = core.loc;
  Prover prover = proverFor(hard, false);
  Node *zero = elab.makeInt(0, Ty::I64, core.loc);
  for (auto [d, s] : llvm::enumerate(core.subscripts)) {
    AffineExpr dim = core.target->dims[d], first = getAffineConstantExpr(0, context);
    affine.ops.push_back(s->affine ? s : zero);
    if (s->affine)
      continue;
    if (!s->pureIndex)
      check(s, c);
    Prover low = prover, high = prover;
    if (provesAtLeast(s, first, low) && provesAtMost(s, dim - 1, high))
      continue;
    form.guarded = true;
    addGuard(s->loc, s, dim, core.target->name, d, c);
  }
  isWrite = true;
  for (auto [d, s] : llvm::enumerate(affine.ops)) {
    Prover low = prover, high = prover;
    if (s == zero || (provesAtLeast(s, getAffineConstantExpr(0, context), low) && provesAtMost(s, core.target->dims[d] - 1, high)))
      continue;
    Prover below = prover;
    report(&affine, d, hard, !provesAtLeast(s, getAffineConstantExpr(0, context), below));
    ok = false;
    break;
  }
  isWrite = false;
}

bool Sema::checkBounds(CoreStatement &core) {
  BoundsChecker checker(diags, kernel, elab, prover);
  checker.setFree(core.vars, core.isLet);
  BoundsContext c;
  c.domain = core.vars;
  SmallVector<Node *> data;
  for (Node *cond : core.conditions)
    splitCondition(cond, c.hard, data);
  for (Node *d : data)
    checker.check(d, c);
  for (Node *d : data)
    checker.assumeIn(c, d);
  BoundsContext hard = c;
  hard.soft.clear();
  hard.unequal.clear();
  hard.data.clear();
  if (core.scatter) {
    checker.checkScatter(core, *core.scatter, hard, c);
  } else if (!core.isLet) {
    Node left;
    left.kind = Node::Read;
    left.tensor = core.target;
    left.loc = core.loc;
    left.ops.append(core.subscripts.begin(), core.subscripts.end());
    checker.checkWrite(&left, hard);
  }
  checker.check(core.value, c);
  core.ownReads = std::move(checker.ownReads);
  return checker.ok && addGuards(checker.guards);
}

} // namespace kernelc::frontend
