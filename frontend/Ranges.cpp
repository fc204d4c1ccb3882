// The range of every index of a statement, in the order docs/language.md gives:
// written; its dim on the left; the smallest dim where it stands alone on the
// right; the solution of a subscript in which it is the only unknown.
#include "frontend/Sema.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

struct Use {
  AffineExpr subscript, dim;
  Node *read;
};

/// Interval of `e` over the indices' ranges, as expressions over sizes; nothing when
/// an index in it has no range yet or the form is not understood.
struct Interval {
  AffineExpr lo, hi; ///< both inclusive
};

class RangeSolver {
public:
  RangeSolver(Diagnostics &diags, Kernel &kernel, Prover &prover, CoreStatement &core)
      : diags(diags), kernel(kernel), prover(prover), core(core), context(&diags.getContext()) {}

  bool run();

private:
  void collect();
  bool resolveWritten(IndexVar *v);
  bool resolveLeft(IndexVar *v);
  bool resolveAlone(IndexVar *v);
  bool resolveSolved(IndexVar *v, ArrayRef<Use> uses);
  bool solve(AffineExpr e, IndexVar *v, AffineExpr lo, AffineExpr hi);
  bool setRange(IndexVar *v, AffineExpr lo, AffineExpr hi);
  std::optional<Interval> interval(AffineExpr e);
  bool onlyUnknown(AffineExpr e, IndexVar *v);
  bool mentions(AffineExpr e, IndexVar *v);
  bool hasDims(AffineExpr e);
  void reportUnknown(IndexVar *v);
  AffineExpr constant(int64_t c) { return getAffineConstantExpr(c, context); }

  Diagnostics &diags;
  Kernel &kernel;
  Prover &prover;
  CoreStatement &core;
  MLIRContext *context;
  llvm::SetVector<IndexVar *> vars;
  std::map<IndexVar *, SmallVector<Node *>> owners; ///< the reductions over an index
  SmallVector<Use> left, right;
  llvm::DenseSet<IndexVar *> failed;
};

void RangeSolver::collect() {
  vars.insert(core.vars.begin(), core.vars.end());
  if (!core.isLet)
    for (auto [i, s] : llvm::enumerate(core.subscripts))
      left.push_back({s->affine, core.target->dims[i], nullptr});
  auto visit = [&](Node *n) {
    if (n->kind == Node::Reduce) {
      vars.insert(n->vars.begin(), n->vars.end());
      for (IndexVar *v : n->vars)
        owners[v].push_back(n);
    }
    if (n->kind == Node::Read)
      for (auto [i, s] : llvm::enumerate(n->ops))
        if (s->affine)
          right.push_back({s->affine, n->tensor->dims[i], n});
  };
  walk(core.value, visit);
  for (Node *c : core.conditions)
    walk(c, visit);
}

bool RangeSolver::hasDims(AffineExpr e) {
  bool found = false;
  e.walk([&](AffineExpr x) { found |= isa<AffineDimExpr>(x); });
  return found;
}

bool RangeSolver::mentions(AffineExpr e, IndexVar *v) {
  bool found = false;
  e.walk([&](AffineExpr x) {
    if (auto d = dyn_cast<AffineDimExpr>(x))
      found |= d.getPosition() == v->id;
  });
  return found;
}

bool RangeSolver::onlyUnknown(AffineExpr e, IndexVar *v) {
  bool ok = true, found = false;
  e.walk([&](AffineExpr x) {
    auto d = dyn_cast<AffineDimExpr>(x);
    if (!d)
      return;
    if (d.getPosition() == v->id)
      found = true;
    else
      ok &= kernel.indices[d.getPosition()].hasRange();
  });
  return ok && found;
}

std::optional<Interval> RangeSolver::interval(AffineExpr e) {
  if (!hasDims(e))
    return Interval{e, e};
  if (auto d = dyn_cast<AffineDimExpr>(e)) {
    IndexVar &v = kernel.indices[d.getPosition()];
    if (!v.hasRange())
      return std::nullopt;
    return Interval{v.lo, v.hi() - 1};
  }
  auto b = cast<AffineBinaryOpExpr>(e);
  auto l = interval(b.getLHS()), r = interval(b.getRHS());
  if (!l || !r)
    return std::nullopt;
  switch (e.getKind()) {
  case AffineExprKind::Add:
    return Interval{l->lo + r->lo, l->hi + r->hi};
  case AffineExprKind::Mul: {
    AffineExpr f = b.getRHS();
    if (hasDims(f))
      return std::nullopt;
    if (auto c = dyn_cast<AffineConstantExpr>(f))
      return c.getValue() >= 0 ? Interval{l->lo * f, l->hi * f} : Interval{l->hi * f, l->lo * f};
    if (prover.proves(f))
      return Interval{l->lo * f, l->hi * f};
    return std::nullopt;
  }
  case AffineExprKind::FloorDiv:
    return Interval{l->lo.floorDiv(b.getRHS()), l->hi.floorDiv(b.getRHS())};
  case AffineExprKind::Mod:
    return Interval{constant(0), b.getRHS() - 1};
  default:
    return std::nullopt;
  }
}

bool RangeSolver::setRange(IndexVar *v, AffineExpr lo, AffineExpr hi) {
  auto a = interval(lo), b = interval(hi - 1);
  if (!a || !b)
    return false;
  v->lo = simplifyAffineExpr(a->lo, 0, kernel.sizes.size());
  v->extent = simplifyAffineExpr(b->hi + 1 - a->lo, 0, kernel.sizes.size());
  if (hasDims(lo) || hasDims(hi)) {
    v->movingLo = lo;
    v->movingHi = hi;
  }
  // Bounds that move with outer indices become conditions of the reduction.
  AffineExpr self = getAffineDimExpr(v->id, context);
  for (Node *r : owners[v]) {
    if (hasDims(lo))
      r->rangeConditions.push_back(self - lo);
    if (hasDims(hi))
      r->rangeConditions.push_back(hi - 1 - self);
  }
  bool free = llvm::is_contained(core.vars, v);
  if (free && (hasDims(lo) || hasDims(hi))) {
    diags.error(v->loc) << "the range " << print(lo, kernel) << ":" << print(hi, kernel)
                        << " of the free index '" << v->name
                        << "' depends on other indices; give a range over sizes";
    failed.insert(v);
  }
  return true;
}

bool RangeSolver::resolveWritten(IndexVar *v) {
  return v->declLo && setRange(v, v->declLo, v->declHi);
}

bool RangeSolver::resolveLeft(IndexVar *v) {
  for (const Use &u : left)
    if (auto d = dyn_cast<AffineDimExpr>(u.subscript); d && d.getPosition() == v->id)
      return setRange(v, constant(0), u.dim);
  return false;
}

bool RangeSolver::resolveAlone(IndexVar *v) {
  SmallVector<AffineExpr> dims;
  for (const Use &u : right)
    if (auto d = dyn_cast<AffineDimExpr>(u.subscript); d && d.getPosition() == v->id)
      if (!llvm::is_contained(dims, u.dim))
        dims.push_back(u.dim);
  if (dims.empty())
    return false;
  for (AffineExpr d : dims)
    if (llvm::all_of(dims, [&](AffineExpr o) { return o == d || prover.proves(o - d); }))
      return setRange(v, constant(0), d);
  auto e = diags.error(v->loc);
  e << "the range of index '" << v->name << "' is ambiguous: it stands in dims of "
    << print(dims[0], kernel) << " and of " << print(dims[1], kernel) << "; give it one, as in '"
    << v->name << " in 0:" << print(dims[0], kernel) << "', or say which is smaller with 'require "
    << print(dims[0], kernel) << " == " << print(dims[1], kernel) << "'";
  failed.insert(v);
  return true;
}

bool RangeSolver::solve(AffineExpr e, IndexVar *v, AffineExpr lo, AffineExpr hi) {
  if (isa<AffineDimExpr>(e))
    return setRange(v, lo, hi);
  auto b = cast<AffineBinaryOpExpr>(e);
  AffineExpr l = b.getLHS(), r = b.getRHS();
  switch (e.getKind()) {
  case AffineExprKind::Add:
    if (mentions(l, v) && mentions(r, v))
      return false;
    return mentions(l, v) ? solve(l, v, lo - r, hi - r) : solve(r, v, lo - l, hi - l);
  case AffineExprKind::Mul: {
    auto c = dyn_cast<AffineConstantExpr>(r);
    if (!c || c.getValue() == 0 || !mentions(l, v))
      return false;
    int64_t a = c.getValue();
    if (a > 0)
      return solve(l, v, lo.ceilDiv(a), hi.ceilDiv(a));
    // lo <= a*x < hi with a < 0: -hi < |a|*x <= -lo
    return solve(l, v, (1 - hi).ceilDiv(-a), (-lo).floorDiv(-a) + 1);
  }
  case AffineExprKind::FloorDiv:
    if (mentions(r, v))
      return false;
    return solve(l, v, lo * r, hi * r);
  default:
    return false;
  }
}

bool RangeSolver::resolveSolved(IndexVar *v, ArrayRef<Use> uses) {
  for (const Use &u : uses) {
    if (u.read && u.read->bounds != te::BoundsMode::InBounds)
      continue;
    if (onlyUnknown(u.subscript, v) && solve(u.subscript, v, constant(0), u.dim))
      return true;
  }
  return false;
}

void RangeSolver::reportUnknown(IndexVar *v) {
  auto e = diags.error(v->loc);
  e << "nothing gives index '" << v->name << "' a range; write one, as in '";
  if (llvm::is_contained(core.vars, v))
    e << "where " << v->name << " in 0:n'";
  else
    e << "[" << v->name << " in 0:n]'";
}

bool RangeSolver::run() {
  collect();
  auto pending = [&](IndexVar *v) { return !v->hasRange() && !failed.count(v); };
  bool progress = true;
  while (progress) {
    progress = false;
    for (IndexVar *v : vars) {
      if (!pending(v))
        continue;
      if (v->declLo ? resolveWritten(v) : resolveLeft(v) || resolveAlone(v))
        progress = true;
    }
    if (progress)
      continue;
    for (IndexVar *v : vars)
      if (pending(v) && !v->declLo && (resolveSolved(v, left) || resolveSolved(v, right))) {
        progress = true;
        break;
      }
  }
  bool ok = failed.empty();
  for (IndexVar *v : vars)
    if (pending(v)) {
      reportUnknown(v);
      ok = false;
    }
  return ok;
}

} // namespace

bool Sema::inferRanges(CoreStatement &core) {
  return RangeSolver(diags, kernel, prover, core).run();
}

} // namespace kernelc::frontend
