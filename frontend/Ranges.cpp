// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The range of every index of a statement, in the order docs/language.md gives:
// written; its dim on the left; the smallest dim where it stands alone on the
// right; the solution of the subscripts in which it is the only unknown. Neither the
// order of accesses nor that of indices decides.
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

/// lo <= x < hi.
struct Range {
  AffineExpr lo, hi;
};

class RangeSolver {
public:
  /// `ofReaders`: what those who read the statement's tensor ask for along an index of it; null: nothing is known of them.
  RangeSolver(Diagnostics &diags, Kernel &kernel, const Prover &prover, CoreStatement &core,
              llvm::function_ref<AffineExpr(size_t)> ofReaders)
      : diags(diags), kernel(kernel), prover(prover), core(core), context(&diags.getContext()), ofReaders(ofReaders) {}

  bool run();

private:
  void collect();
  bool resolveWritten(IndexVar *v);
  void addOwn(AffineExpr subscript, AffineExpr dim, Node *read);
  bool resolveLeft(IndexVar *v);
  bool resolveAlone(IndexVar *v);
  bool resolveSolved(ArrayRef<Use> uses, bool moving);
  bool resolveByReaders();
  std::optional<Range> solution(IndexVar *v, ArrayRef<Use> uses, bool moving);
  std::optional<Range> solve(AffineExpr e, IndexVar *v, AffineExpr lo, AffineExpr hi);
  SmallVector<AffineExpr> dimsOfAlone(ArrayRef<Use> uses, IndexVar *v);
  AffineExpr tightest(ArrayRef<AffineExpr> bounds, bool isUpper);
  Prover withRangesOf(AffineExpr e);
  void reportAmbiguous(IndexVar *v, ArrayRef<Range> ranges);
  static bool isWritten(IndexVar *v) { return v->declLo && v->declHi; }
  bool isPending(IndexVar *v) { return !v->hasRange() && !failed.count(v); }
  bool setRange(IndexVar *v, AffineExpr lo, AffineExpr hi);
  std::optional<Interval> interval(AffineExpr e);
  bool onlyUnknown(AffineExpr e, IndexVar *v);
  bool mentions(AffineExpr e, IndexVar *v);
  bool hasDims(AffineExpr e);
  void reportUnknown(IndexVar *v);
  AffineExpr simplified(AffineExpr e) { return simplifyAffineExpr(e, kernel.indices.size(), kernel.sizes.size()); }
  AffineExpr constant(int64_t c) { return getAffineConstantExpr(c, context); }

  Diagnostics &diags;
  Kernel &kernel;
  const Prover &prover;
  CoreStatement &core;
  MLIRContext *context;
  llvm::function_ref<AffineExpr(size_t)> ofReaders;
  llvm::SetVector<IndexVar *> vars;
  std::map<IndexVar *, SmallVector<Node *>> owners; ///< the reductions over an index
  SmallVector<Use> left, right;
  llvm::DenseSet<IndexVar *> failed;
};

/// What reads its own statement's tensor says nothing of that one's indices, but something of what it reduces over: k of `t[k]`, and of
/// `t[2 * k + 1]` where its elements are those of two statements in turns.
void RangeSolver::addOwn(AffineExpr subscript, AffineExpr dim, Node *read) {
  for (IndexVar *v : vars) {
    AffineExpr index = getAffineDimExpr(v->id, subscript.getContext());
    if (llvm::is_contained(core.vars, v))
      continue;
    if (subscript == index)
      right.push_back({index, dim, read});
    auto turn =
        dyn_cast<AffineConstantExpr>(simplifyAffineExpr(subscript - index * core.phases, kernel.indices.size(), kernel.sizes.size()));
    if (core.phases > 1 && turn && turn.getValue() >= 0 && turn.getValue() < core.phases)
      right.push_back({index, simplifyAffineExpr(dim.floorDiv(core.phases), kernel.indices.size(), kernel.sizes.size()), read});
  }
}

void RangeSolver::collect() {
  vars.insert(core.vars.begin(), core.vars.end());
  if (!core.isLet)
    for (auto [i, s] : llvm::enumerate(core.subscripts))
      if (s->affine)
        left.push_back({s->affine, core.target->dims[i], nullptr});
  auto visit = [&](Node *n) {
    if (n->kind == Node::Reduce) {
      vars.insert(n->vars.begin(), n->vars.end());
      for (IndexVar *v : n->vars)
        owners[v].push_back(n);
    }
    for (auto &[s, dim] : n->views)
      if (s->affine)
        right.push_back({s->affine, dim, n});
    if (n->kind == Node::Read && n->views.empty())
      for (auto [i, s] : llvm::enumerate(n->ops)) {
        if (s->affine && !n->readsOwn)
          right.push_back({s->affine, n->tensor->dims[i], n});
        if (s->affine && n->readsOwn && i < n->tensor->dims.size() && n->tensor->dims[i])
          addOwn(s->affine, n->tensor->dims[i], n);
      }
  };
  walk(core.value, visit);
  for (Node *c : core.conditions)
    walk(c, visit);
  for (Node *s : core.subscripts)
    if (!s->affine) // chosen by data, which is read there
      walk(s, visit);
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
  case AffineExprKind::Add: return Interval{l->lo + r->lo, l->hi + r->hi};
  case AffineExprKind::Mul: {
    AffineExpr f = b.getRHS();
    if (hasDims(f))
      return std::nullopt;
    if (auto c = dyn_cast<AffineConstantExpr>(f))
      return c.getValue() >= 0 ? Interval{l->lo * f, l->hi * f} : Interval{l->hi * f, l->lo * f};
    if (Prover(prover).proves(f))
      return Interval{l->lo * f, l->hi * f};
    return std::nullopt;
  }
  case AffineExprKind::FloorDiv: return Interval{l->lo.floorDiv(b.getRHS()), l->hi.floorDiv(b.getRHS())};
  case AffineExprKind::Mod: return Interval{constant(0), b.getRHS() - 1};
  default: return std::nullopt;
  }
}

bool RangeSolver::setRange(IndexVar *v, AffineExpr lo, AffineExpr hi) {
  lo = v->declLo ? v->declLo : lo; // what is written holds
  hi = v->declHi ? v->declHi : hi;
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
    diags.error(v->loc) << "the range " << print(lo, kernel) << ":" << print(hi, kernel) << " of the free index '" << v->name
                        << "' depends on other indices; give a range over sizes";
    failed.insert(v);
  }
  return true;
}

bool RangeSolver::resolveWritten(IndexVar *v) { return setRange(v, v->declLo, v->declHi); }

bool RangeSolver::resolveLeft(IndexVar *v) {
  SmallVector<AffineExpr> dims = dimsOfAlone(left, v);
  if (dims.empty())
    return false;
  AffineExpr smallest = tightest(dims, /*isUpper=*/true);
  return setRange(v, constant(0), smallest ? smallest : dims.front()); // the other dims tell what is wrong
}

SmallVector<AffineExpr> RangeSolver::dimsOfAlone(ArrayRef<Use> uses, IndexVar *v) {
  SmallVector<AffineExpr> dims;
  for (const Use &u : uses)
    if (auto d = dyn_cast<AffineDimExpr>(u.subscript); d && d.getPosition() == v->id)
      if (!llvm::is_contained(dims, u.dim))
        dims.push_back(u.dim);
  return dims;
}

/// The one of `bounds` that is provably the smallest (of upper ones) or largest (of lower ones); null where none is.
AffineExpr RangeSolver::tightest(ArrayRef<AffineExpr> bounds, bool isUpper) {
  for (AffineExpr b : bounds)
    if (llvm::all_of(bounds, [&](AffineExpr o) {
          AffineExpr gap = isUpper ? o - b : b - o;
          return o == b || withRangesOf(gap).proves(gap);
        }))
      return b;
  return {};
}

/// What is known where `e` is evaluated: the ranges of its own indices. Those of others may be empty.
Prover RangeSolver::withRangesOf(AffineExpr e) {
  Prover p = prover;
  for (IndexVar *v : vars)
    if (mentions(e, v)) {
      AffineExpr d = getAffineDimExpr(v->id, context);
      p.assume(d - v->lo);
      p.assume(v->hi() - 1 - d);
    }
  return p;
}

void RangeSolver::reportAmbiguous(IndexVar *v, ArrayRef<Range> ranges) {
  auto text = [&](const Range &r) { return print(simplified(r.lo), kernel) + ":" + print(simplified(r.hi), kernel); };
  std::string first = text(ranges[0]), second;
  for (const Range &r : ranges)
    if (second.empty() && (r.lo != ranges[0].lo || r.hi != ranges[0].hi))
      second = text(r);
  diags.error(v->loc) << "the range of index '" << v->name << "' is ambiguous: its subscripts allow " << first << " and " << second
                      << "; give it one, as in '" << v->name << " in " << first << "', or say with 'require' which is smaller";
  failed.insert(v);
}

bool RangeSolver::resolveAlone(IndexVar *v) {
  SmallVector<AffineExpr> dims = dimsOfAlone(right, v);
  if (dims.empty())
    return false;
  if (AffineExpr smallest = tightest(dims, /*isUpper=*/true))
    return setRange(v, constant(0), smallest);
  auto e = diags.error(v->loc);
  e << "the range of index '" << v->name << "' is ambiguous: it stands in dims of " << print(dims[0], kernel) << " and of "
    << print(dims[1], kernel) << "; give it one, as in '" << v->name << " in 0:" << print(dims[0], kernel)
    << "', or say which is smaller with 'require " << print(dims[0], kernel) << " == " << print(dims[1], kernel) << "'";
  failed.insert(v);
  return true;
}

/// The values of v that keep lo <= e < hi.
std::optional<Range> RangeSolver::solve(AffineExpr e, IndexVar *v, AffineExpr lo, AffineExpr hi) {
  if (isa<AffineDimExpr>(e))
    return Range{simplified(lo), simplified(hi)};
  auto b = cast<AffineBinaryOpExpr>(e);
  AffineExpr l = b.getLHS(), r = b.getRHS();
  switch (e.getKind()) {
  case AffineExprKind::Add:
    if (mentions(l, v) && mentions(r, v))
      return std::nullopt;
    return mentions(l, v) ? solve(l, v, lo - r, hi - r) : solve(r, v, lo - l, hi - l);
  case AffineExprKind::Mul: {
    if (mentions(r, v))
      std::swap(l, r);
    if (!mentions(l, v) || mentions(r, v))
      return std::nullopt;
    auto c = dyn_cast<AffineConstantExpr>(r);
    if (c && c.getValue() < 0) // lo <= a*x < hi with a < 0: -hi < |a|*x <= -lo
      return solve(l, v, (1 - hi).ceilDiv(-c.getValue()), (-lo).floorDiv(-c.getValue()) + 1);
    if (c && c.getValue() > 0)
      return solve(l, v, lo.ceilDiv(r), hi.ceilDiv(r));
    if (!c && Prover(prover).proves(r - 1)) // rounded up, without a division that sizes lack
      return solve(l, v, (lo + r - 1).floorDiv(r), (hi + r - 1).floorDiv(r));
    return std::nullopt;
  }
  case AffineExprKind::FloorDiv:
    if (mentions(r, v))
      return std::nullopt;
    return solve(l, v, lo * r, hi * r);
  default: return std::nullopt;
  }
}

/// What the subscripts in which v is the only unknown allow, the same whatever their order. Those over sizes alone decide
/// where there are any; what other indices move is a range only where nothing else is.
std::optional<Range> RangeSolver::solution(IndexVar *v, ArrayRef<Use> uses, bool moving) {
  SmallVector<Range> ranges;
  SmallVector<AffineExpr> lower, upper;
  for (const Use &u : uses) {
    if ((u.read && u.read->bounds != te::BoundsMode::InBounds) || !onlyUnknown(u.subscript, v))
      continue;
    auto range = solve(u.subscript, v, constant(0), u.dim);
    if (!range || (hasDims(range->lo) || hasDims(range->hi)) != moving || !interval(range->lo) || !interval(range->hi))
      continue;
    ranges.push_back(*range);
    lower.push_back(range->lo);
    upper.push_back(range->hi);
  }
  if (ranges.empty())
    return std::nullopt;
  if (core.isLet && llvm::is_contained(core.vars, v)) // a let starts at 0
    lower.push_back(constant(0));
  AffineExpr lo = tightest(lower, /*isUpper=*/false), hi = tightest(upper, /*isUpper=*/true);
  if (lo && hi)
    return Range{lo, hi};
  if (core.isLet && !lo && ranges.size() == 1)
    return ranges.front();
  reportAmbiguous(v, ranges);
  return std::nullopt;
}

/// One round of solving: of every index from what was known before, so that their order does not matter.
bool RangeSolver::resolveSolved(ArrayRef<Use> uses, bool moving) {
  SmallVector<std::pair<IndexVar *, Range>> found;
  for (IndexVar *v : vars)
    if (isPending(v) && !isWritten(v))
      if (auto range = solution(v, uses, moving))
        found.push_back({v, *range});
  bool progress = false;
  for (auto &[v, range] : found)
    progress |= setRange(v, range.lo, range.hi);
  return progress;
}

/// Of a let, where its own text says nothing.
bool RangeSolver::resolveByReaders() {
  bool progress = false;
  for (auto [position, v] : llvm::enumerate(core.vars))
    if (core.isLet && ofReaders && isPending(v))
      if (AffineExpr extent = ofReaders(position))
        progress |= setRange(v, constant(0), extent);
  return progress;
}

void RangeSolver::reportUnknown(IndexVar *v) {
  auto e = diags.error(v->loc);
  if (v->boundByData) {
    e << "data or scalars alone bound index '" << v->name
      << "', and no access says how far it may go; write a bound of sizes beside, as in '" << v->name << " in 0:min(n, N)'";
    return;
  }
  // The size of the index's own name, in a large letter, if there is one.
  std::string end = "n";
  for (const std::string &size : kernel.sizes)
    if (v->name.equals_insensitive(size))
      end = size;
  for (const Param &p : kernel.def->params)
    if (p.isConst && v->name.equals_insensitive(p.name))
      end = p.name.str();
  e << "nothing gives index '" << v->name << "' a range; write one, as in '";
  if (llvm::is_contained(core.vars, v))
    e << "where " << v->name << " in 0:" << end << "'";
  else
    e << "[" << v->name << " in 0:" << end << "]'";
}

bool RangeSolver::run() {
  collect();
  bool progress = true;
  while (progress) {
    progress = false;
    for (IndexVar *v : vars)
      if (isPending(v) && (isWritten(v) ? resolveWritten(v) : resolveLeft(v) || resolveAlone(v)))
        progress = true;
    progress = progress || resolveSolved(left, false) || resolveSolved(right, false) || resolveSolved(left, true) ||
               resolveSolved(right, true) || resolveByReaders();
  }
  bool ok = failed.empty();
  for (IndexVar *v : vars)
    if (isPending(v)) {
      reportUnknown(v);
      ok = false;
    }
  return ok;
}

} // namespace

bool Sema::inferRanges(CoreStatement &core) {
  auto ofReaders = [&](size_t position) { return let ? extentFromReaders(*let, position) : AffineExpr(); };
  return RangeSolver(diags, kernel, prover, core, ofReaders).run();
}

} // namespace kernelc::frontend
