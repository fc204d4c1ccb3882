// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All `=` statements of an output together cover it exactly once: each maps its
// points to different elements, no two meet, and nothing is left out. Statements are
// Presburger sets: two that may meet there are left to the Prover, and what they leave
// is their difference, or a matter of counting. An `inout` may be
// covered in part and repeatedly.
#include "frontend/Alternatives.h"
#include "frontend/Sema.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Analysis/Presburger/PresburgerRelation.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

/// Element [i, j, ..] at (i, j, ..), every one of them.
bool isWhole(const CoreStatement &s, MLIRContext *context) {
  if (!s.conditions.empty() || s.vars.size() != s.target->dims.size())
    return false;
  for (auto [i, v] : llvm::enumerate(s.vars))
    if (s.subscripts[i]->affine != getAffineDimExpr(v->id, context) || v->lo != getAffineConstantExpr(0, context) ||
        v->extent != s.target->dims[i])
      return false;
  return true;
}

/// Parts of what statements leave undefined: a condition cuts each in two, and each takes its share of time.
constexpr unsigned kMaxParts = 256;

bool isOverSizes(AffineExpr e) {
  bool over = true;
  e.walk([&](AffineExpr x) { over &= !isa<AffineDimExpr>(x); });
  return over;
}

/// Its parts without those that are plainly empty, which would be cut further.
presburger::PresburgerSet subtract(const presburger::PresburgerSet &from, const presburger::PresburgerSet &what) {
  auto left = presburger::PresburgerRelation::getEmpty(from.getSpace());
  presburger::PresburgerRelation rest = from.subtract(what);
  for (const presburger::IntegerRelation &part : rest.getAllDisjuncts())
    if (!presburger::Simplex(part).isEmpty())
      left.unionInPlace(part);
  return presburger::PresburgerSet(left);
}

/// Pairs of alternatives beyond this many are not compared.
constexpr size_t kMaxPairs = 256;

/// A copy of a statement's indices under fresh dims, to compare two of its points.
struct Points {
  llvm::DenseMap<AffineExpr, AffineExpr> renamed;
  SmallVector<AffineExpr> vars, subscripts;
};

class CoverageChecker {
public:
  CoverageChecker(Diagnostics &diags, Kernel &kernel, const Prover &base)
      : diags(diags), kernel(kernel), base(base), context(&diags.getContext()) {}

  void check(Tensor *t, ArrayRef<CoreStatement *> list);
  bool isInjective(const CoreStatement &s);

private:
  Points points(const CoreStatement &s, const Conjunction &where, unsigned firstDim, Prover &prover);
  /// Whether no two points of a and b, numbered so, are as `assume` says of them.
  bool contradicts(const CoreStatement &a, const CoreStatement &b,
                   llvm::function_ref<void(Prover &, const Points &, const Points &)> assume);
  bool areDisjoint(const CoreStatement &a, const CoreStatement &b);
  bool coverByCounting(ArrayRef<CoreStatement *> list);
  void checkPartition(Tensor *t, ArrayRef<CoreStatement *> list);
  void reportUndefined(Tensor *t, Loc loc, ArrayRef<llvm::DynamicAPInt> sample);
  AffineExpr linear(AffineExpr e);
  AffineExpr quotient(AffineExpr e, int64_t divisor);
  AffineExpr symbolFor(AffineExpr e);
  AffineExpr solve(AffineExpr subscript, AffineExpr d, AffineExpr element);
  presburger::PresburgerSet box(Tensor *t);
  std::optional<presburger::PresburgerSet> image(const CoreStatement &s);
  std::optional<presburger::PresburgerSet> image(const CoreStatement &s, const Conjunction &where);

  Diagnostics &diags;
  Kernel &kernel;
  const Prover &base;
  MLIRContext *context;
  unsigned rank = 0;                           ///< of the output under check: its subscripts are the first dims of every set
  llvm::DenseMap<AffineExpr, unsigned> opaque; ///< semi-affine size expressions and quotients as further symbols
  llvm::SetVector<AffineExpr> quotients;       ///< what is not negative by what those are
};

Points CoverageChecker::points(const CoreStatement &s, const Conjunction &where, unsigned firstDim, Prover &prover) {
  Points p;
  for (auto [i, v] : llvm::enumerate(s.vars)) {
    AffineExpr fresh = getAffineDimExpr(firstDim + i, context);
    p.renamed[getAffineDimExpr(v->id, context)] = fresh;
    p.vars.push_back(fresh);
    prover.assume(fresh - v->lo);
    prover.assume(v->hi() - 1 - fresh);
  }
  for (const Constraint &c : where.affine)
    prover.assume(c.expr.replace(p.renamed), c.isEq);
  for (Node *n : s.subscripts)
    p.subscripts.push_back(n->affine.replace(p.renamed));
  return p;
}

bool CoverageChecker::contradicts(const CoreStatement &a, const CoreStatement &b,
                                  llvm::function_ref<void(Prover &, const Points &, const Points &)> assume) {
  unsigned n = kernel.indices.size();
  auto excludes = [&](const Conjunction &v, const Conjunction &w) {
    Prover prover = base;
    Points x = points(a, v, n, prover), y = points(b, w, n + a.vars.size(), prover);
    assume(prover, x, y);
    return prover.contradictory();
  };
  SmallVector<Conjunction> left = alternatives(a), right = alternatives(b);
  size_t pairs = left.size() * right.size();
  if (pairs > 1 && excludes({}, {})) // whatever the conditions
    return true;
  return pairs <= kMaxPairs && llvm::all_of(left, [&](const Conjunction &v) {
           return llvm::all_of(right, [&](const Conjunction &w) { return excludes(v, w); });
         });
}

bool CoverageChecker::isInjective(const CoreStatement &s) {
  // One index after the other is shown to agree in two points of one element, each
  // from the agreement of those before: y[i * N + j] gives i, then j.
  SmallVector<bool> agrees(s.vars.size(), false);
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t k = 0; k < s.vars.size(); ++k) {
      if (agrees[k])
        continue;
      auto disagree = [&](Prover &prover, const Points &a, const Points &b) {
        for (size_t m = 0; m < s.vars.size(); ++m)
          if (agrees[m])
            prover.assume(b.vars[m] - a.vars[m], true);
        prover.assume(b.vars[k] - a.vars[k] - 1);
        for (auto [x, y] : llvm::zip(a.subscripts, b.subscripts))
          prover.assume(x - y, true);
      };
      if (contradicts(s, s, disagree))
        agrees[k] = progress = true;
    }
  }
  return llvm::all_of(agrees, [](bool b) { return b; });
}

bool CoverageChecker::areDisjoint(const CoreStatement &a, const CoreStatement &b) {
  auto meet = [](Prover &prover, const Points &x, const Points &y) {
    for (auto [p, q] : llvm::zip(x.subscripts, y.subscripts))
      prover.assume(p - q, true);
  };
  if (contradicts(a, b, meet))
    return true;
  // y[g * (P + Q) + o] and y[g * (P + Q) + P + o]: in one row, or one row before the other.
  for (auto [i, v] : llvm::enumerate(a.vars))
    for (auto [j, w] : llvm::enumerate(b.vars)) {
      if (v->extent != w->extent)
        continue;
      bool each = llvm::all_of(ArrayRef{0, 1, 2}, [&](int order) {
        return contradicts(a, b, [&](Prover &prover, const Points &x, const Points &y) {
          AffineExpr step = x.vars[i] - y.vars[j];
          prover.assume(order == 0 ? step : order == 1 ? step - 1 : -step - 1, order == 0);
          meet(prover, x, y);
        });
      });
      if (each)
        return true;
    }
  return false;
}

bool CoverageChecker::coverByCounting(ArrayRef<CoreStatement *> list) {
  // As many points as elements, and no two points at one element.
  Prover prover = base;
  for (const CoreStatement *s : list)
    if (!s->conditions.empty() || llvm::any_of(s->vars, [&](IndexVar *v) { return !prover.proves(v->extent); }))
      return false;
  // Dims that every statement runs over cancel: the Prover knows products of a few only.
  SmallVector<SmallVector<AffineExpr>> extents;
  for (const CoreStatement *s : list)
    extents.push_back(llvm::map_to_vector(s->vars, [](IndexVar *v) { return v->extent; }));
  AffineExpr points = getAffineConstantExpr(0, context), elements = getAffineConstantExpr(1, context);
  for (AffineExpr d : list[0]->target->dims) {
    auto find = [&](SmallVector<AffineExpr> &of) {
      return llvm::find_if(of, [&](AffineExpr e) { return simplifyAffineExpr(d - e, kernel.indices.size(), kernel.sizes.size()) == 0; });
    };
    if (llvm::all_of(extents, [&](auto &of) { return find(of) != of.end(); }))
      for (auto &of : extents)
        of.erase(find(of));
    else
      elements = elements * d;
  }
  for (auto &of : extents) {
    AffineExpr count = getAffineConstantExpr(1, context);
    for (AffineExpr e : of)
      count = count * e;
    points = points + count;
  }
  return prover.proves(points - elements) && prover.proves(elements - points);
}

/// Replaces what Presburger sets do not know by opaque symbols, and quotients by symbols of their own: those
/// that every set names alike cut it like any other coordinate.
AffineExpr CoverageChecker::linear(AffineExpr e) {
  auto b = dyn_cast<AffineBinaryOpExpr>(e);
  if (!b)
    return e;
  AffineExpr l = linear(b.getLHS()), r = linear(b.getRHS());
  auto divisor = dyn_cast<AffineConstantExpr>(r);
  if (divisor && divisor.getValue() > 0) {
    if (e.getKind() == AffineExprKind::Mod)
      return l - quotient(l, divisor.getValue()) * r;
    if (e.getKind() == AffineExprKind::FloorDiv)
      return quotient(l, divisor.getValue());
    if (e.getKind() == AffineExprKind::CeilDiv)
      return -quotient(-l, divisor.getValue());
  }
  bool bothVary = !isa<AffineConstantExpr>(l) && !divisor;
  bool fine = e.getKind() == AffineExprKind::Add || (e.getKind() == AffineExprKind::Mul ? !bothVary : bool(divisor));
  return fine ? getAffineBinaryOpExpr(e.getKind(), l, r) : symbolFor(e);
}

AffineExpr CoverageChecker::quotient(AffineExpr e, int64_t divisor) {
  e = simplifyAffineExpr(e, rank + kernel.indices.size(), kernel.sizes.size() + opaque.size());
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(e); sum && e.getKind() == AffineExprKind::Add)
    for (auto [whole, rest] : {std::pair(sum.getLHS(), sum.getRHS()), std::pair(sum.getRHS(), sum.getLHS())})
      if (whole.isMultipleOf(divisor))
        return whole.floorDiv(divisor) + quotient(rest, divisor);
  AffineExpr q = e.floorDiv(divisor);
  bool sought = false; // by this set alone
  e.walk([&](AffineExpr x) { sought |= isa<AffineDimExpr>(x) && cast<AffineDimExpr>(x).getPosition() >= rank; });
  if (sought || !isa<AffineBinaryOpExpr>(q) || q.getKind() != AffineExprKind::FloorDiv)
    return q;
  AffineExpr symbol = symbolFor(q), rest = e - symbol * divisor;
  quotients.insert(rest);
  quotients.insert(-rest + (divisor - 1));
  return symbol;
}

AffineExpr CoverageChecker::symbolFor(AffineExpr e) {
  auto [it, fresh] = opaque.try_emplace(e, kernel.sizes.size() + opaque.size());
  return getAffineSymbolExpr(it->second, context);
}

/// What d is where c * d + r is `element`, for a number c of at least 1 and an r of sizes; else nothing.
AffineExpr CoverageChecker::solve(AffineExpr subscript, AffineExpr d, AffineExpr element) {
  auto simplified = [&](AffineExpr e) { return simplifyAffineExpr(e, kernel.indices.size(), kernel.sizes.size()); };
  auto c = dyn_cast<AffineConstantExpr>(simplified(subscript.replace(d, d + 1) - subscript));
  if (!c || c.getValue() < 1)
    return {};
  AffineExpr rest = simplified(subscript - d * c.getValue());
  if (auto number = dyn_cast<AffineConstantExpr>(rest))
    return element.floorDiv(c.getValue()) - number.floorDiv(c.getValue());
  return isOverSizes(rest) ? (element - rest).floorDiv(c.getValue()) : AffineExpr();
}

presburger::PresburgerSet CoverageChecker::box(Tensor *t) {
  SmallVector<AffineExpr> exprs;
  SmallVector<bool> eqs;
  auto add = [&](AffineExpr e, bool isEq = false) {
    exprs.push_back(linear(e));
    eqs.push_back(isEq);
  };
  for (unsigned i = 0; i < kernel.sizes.size(); ++i)
    add(getAffineSymbolExpr(i, context));
  for (auto [i, d] : llvm::enumerate(t->dims)) {
    AffineExpr y = getAffineDimExpr(i, context);
    add(y);
    add(d - 1 - y);
  }
  for (const Tensor &other : kernel.tensors)
    if (other.kind != Tensor::Let) // a launch refuses negative dims of parameters
      for (AffineExpr d : other.dims)
        add(d);
  for (const Requirement &r : kernel.requirements)
    for (const Constraint &c : r.constraints)
      add(c.expr, c.isEq);
  exprs.append(quotients.begin(), quotients.end());
  eqs.append(quotients.size(), false);
  FlatLinearValueConstraints poly(IntegerSet::get(rank, kernel.sizes.size() + opaque.size(), exprs, eqs));
  return presburger::PresburgerSet(presburger::PresburgerRelation(poly));
}

std::optional<presburger::PresburgerSet> CoverageChecker::image(const CoreStatement &s) {
  std::optional<presburger::PresburgerSet> whole;
  for (const Conjunction &where : alternatives(s)) {
    auto part = where.isAffine ? image(s, where) : std::nullopt;
    if (!part)
      return std::nullopt;
    whole = whole ? whole->unionSet(*part) : *part;
  }
  return whole;
}

std::optional<presburger::PresburgerSet> CoverageChecker::image(const CoreStatement &s, const Conjunction &where) {
  // An element names the indices of its point, where it can. For one multiple the statements then divide alike:
  // y[3 * i + 1] is where y % 3 == 1, as y[3 * i] is where y % 3 == 0, and i is y // 3 in both.
  llvm::DenseMap<AffineExpr, AffineExpr> positions;
  unsigned sought = 0;
  for (IndexVar *v : s.vars) {
    AffineExpr d = getAffineDimExpr(v->id, context), &at = positions[d];
    for (auto [i, n] : llvm::enumerate(s.subscripts))
      if (!at)
        at = solve(n->affine, d, getAffineDimExpr(i, context));
    if (!at)
      at = getAffineDimExpr(rank + sought++, context);
  }
  SmallVector<AffineExpr> exprs;
  SmallVector<bool> eqs;
  bool pure = true;
  auto add = [&](AffineExpr e, bool isEq = false) {
    exprs.push_back(linear(e.replace(positions)));
    pure &= exprs.back().isPureAffine();
    eqs.push_back(isEq);
  };
  for (auto [i, n] : llvm::enumerate(s.subscripts)) {
    // Only size expressions may be opaque.
    AffineExpr sub = n->affine;
    sub.walk([&](AffineExpr x) {
      auto b = dyn_cast<AffineBinaryOpExpr>(x);
      if (!b || x.isPureAffine() || b.getKind() == AffineExprKind::Add)
        return;
      pure &= isOverSizes(x);
    });
    if (!pure)
      return std::nullopt;
    exprs.push_back(linear(getAffineDimExpr(i, context) - sub.replace(positions)));
    eqs.push_back(true);
  }
  for (IndexVar *v : s.vars) {
    AffineExpr d = getAffineDimExpr(v->id, context);
    add(d - v->lo);
    add(v->hi() - 1 - d);
  }
  for (const Constraint &c : where.affine)
    add(c.expr, c.isEq);
  exprs.append(quotients.begin(), quotients.end());
  eqs.append(quotients.size(), false);
  FlatLinearValueConstraints poly(IntegerSet::get(rank + sought, kernel.sizes.size() + opaque.size(), exprs, eqs));
  poly.convertToLocal(presburger::VarKind::SetDim, rank, rank + sought);
  return presburger::PresburgerSet(presburger::PresburgerRelation(poly).computeReprWithOnlyDivLocals());
}

void CoverageChecker::reportUndefined(Tensor *t, Loc loc, ArrayRef<llvm::DynamicAPInt> sample) {
  auto d = diags.error(loc);
  d << "the statements of '" << t->name << "' leave elements undefined, as " << t->name << "[";
  for (unsigned i = 0; i < rank; ++i)
    d << (i ? ", " : "") << int64_t(sample[i]);
  d << "]";
  StringRef sep = " with ";
  for (unsigned i = 0; i < kernel.sizes.size(); ++i) {
    d << sep << kernel.sizes[i] << " = " << int64_t(sample[rank + i]);
    sep = ", ";
  }
  if (t->kind == Tensor::Let)
    d << "; a 'let' is defined by one statement";
  else
    d << "; add a statement for them, or make '" << t->name << "' an 'inout' parameter";
}

void CoverageChecker::checkPartition(Tensor *t, ArrayRef<CoreStatement *> list) {
  auto unproved = [&](StringRef why) {
    diags.error(list.back()->loc) << "the statements of '" << t->name << "' are not proved to cover it: " << why;
  };
  // Counting first: integer programming over subscripts such as g * Q + q takes long where Q is a large number.
  auto areAllDisjoint = [&] {
    for (auto [n, s] : llvm::enumerate(list))
      for (CoreStatement *other : list.take_front(n))
        if (!areDisjoint(*other, *s))
          return false;
    return true;
  };
  bool counted = coverByCounting(list);
  if (counted && areAllDisjoint())
    return;
  rank = t->dims.size();
  opaque.clear();
  quotients.clear();
  bool affine = true;
  for (int pass = 0; pass < 2; ++pass) { // once to number the opaque symbols
    size_t before = opaque.size();
    (void)box(t);
    for (CoreStatement *s : list)
      affine &= image(*s).has_value();
    if (opaque.size() == before && pass == 0)
      break;
  }
  presburger::PresburgerSet left = box(t);
  SmallVector<presburger::PresburgerSet, 0> images;
  for (auto [n, s] : llvm::enumerate(list)) {
    if (affine)
      images.push_back(*image(*s));
    for (auto [m, other] : llvm::enumerate(list.take_front(n)))
      if (!(affine && images[n].intersect(images[m]).isIntegerEmpty()) && !areDisjoint(*other, *s)) {
        diags.error(s->loc) << "this statement defines elements of '" << t->name << "' that line " << diags.location(other->loc).getLine()
                            << " defines as well; restrict one of them with 'where', or give the first values a name of their own by 'let'";
        return;
      }
    if (affine)
      left = subtract(left, images[n]);
    if (left.getNumDisjuncts() > kMaxParts)
      return unproved("what is left has too many parts; use fewer conditions");
  }
  if (counted)
    return;
  if (!affine) {
    bool isByData = false;
    for (CoreStatement *s : list)
      for (Node *condition : s->conditions)
        walk(condition, [&](Node *n) { isByData |= n->kind == Node::Read; });
    return unproved(isByData
                        ? "a condition on data may leave elements out; choose within the expression, as in 'y[i] = a if x[i] > 0 else b'"
                        : "its subscripts or conditions are not affine");
  }
  SmallVector<llvm::DynamicAPInt, 8> sample;
  if (!left.findIntegerSample(sample))
    return;
  reportUndefined(t, list.back()->loc, sample);
}

void CoverageChecker::check(Tensor *t, ArrayRef<CoreStatement *> list) {
  constexpr size_t kMaxStatements = 64; // each is compared with each
  if (list.size() > kMaxStatements) {
    diags.error(list[kMaxStatements]->loc) << "more than " << kMaxStatements << " statements define '" << t->name << "'";
    return;
  }
  SmallVector<CoreStatement *> plain;
  bool reduced = false, ok = true;
  for (CoreStatement *s : list) {
    if (s->reduceAssign || s->scatter) {
      reduced = true;
    } else {
      if (reduced && !t->isInout) {
        diags.error(s->loc) << "'=' after a reducing assignment to '" << t->name << "' would discard it";
        ok = false;
      }
      plain.push_back(s);
    }
    // (a reducing assignment that is no scatter has been found to)
    if (!s->reduceAssign && !s->scatter && !s->whole && !isInjective(*s)) {
      auto d = diags.error(s->loc);
      d << "the left side is not proved to name each element of '" << t->name << "' at most once";
      if (t->kind != Tensor::Let)
        d << "; if it does, write '" << t->name << ".unique[..] = ..'; to combine what meets, '" << t->name << "[..] += ..'";
      ok = false;
    }
  }
  if (list.empty() && !t->isInout) {
    diags.error(t->loc) << "output '" << t->name << "' is never assigned; add a statement such as '" << t->name << "["
                        << exampleIndices(t->dims.size()) << "] = ..'";
    return;
  }
  if (t->isInout || plain.empty() || !ok)
    return;
  if (!(plain.size() == 1 && plain[0]->whole))
    checkPartition(t, plain);
}

} // namespace

bool Sema::namesElementsOnce(const CoreStatement &core) {
  return isWhole(core, context()) || CoverageChecker(diags, kernel, prover).isInjective(core);
}

bool Sema::checkCoverage() {
  unsigned before = diags.numErrors();
  CoverageChecker checker(diags, kernel, prover);
  for (Tensor *t : kernel.outs) {
    SmallVector<CoreStatement *> list;
    for (CoreStatement &s : statements)
      if (s.target == t)
        list.push_back(&s);
    for (CoreStatement *s : list) {
      s->whole = !s->scatter && isWhole(*s, context());
      s->completed = s != list.back();
    }
    checker.check(t, list);
  }
  for (CoreStatement &s : statements) // of which an index of the tensor is made of several
    if (s.isLet && !llvm::all_of(s.subscripts, [](Node *n) { return isa_and_nonnull<AffineDimExpr>(n->affine); })) {
      s.whole = false;
      CoreStatement *own = &s;
      checker.check(s.target, own);
    }
  return diags.numErrors() == before;
}

} // namespace kernelc::frontend
