// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is said of an access that was not proved: the ranges, a point at which it
// leaves its tensor, and what would settle it. See Bounds.h.
#include "frontend/Bounds.h"
#include "frontend/IndexModel.h"

using namespace mlir;

namespace kernelc::frontend {

AffineExpr BoundsChecker::extreme(AffineExpr e, bool upper) {
  if (auto d = dyn_cast<AffineDimExpr>(e)) {
    IndexVar &v = kernel.indices[d.getPosition()];
    return upper ? v.hi() - 1 : v.lo;
  }
  auto b = dyn_cast<AffineBinaryOpExpr>(e);
  if (!b)
    return e;
  bool dims = false;
  e.walk([&](AffineExpr x) { dims |= isa<AffineDimExpr>(x); });
  if (!dims)
    return e;
  switch (e.getKind()) {
  case AffineExprKind::Add: {
    AffineExpr l = extreme(b.getLHS(), upper), r = extreme(b.getRHS(), upper);
    return l && r ? l + r : AffineExpr();
  }
  case AffineExprKind::Mul: {
    auto c = dyn_cast<AffineConstantExpr>(b.getRHS());
    if (!c)
      return {};
    AffineExpr l = extreme(b.getLHS(), upper == (c.getValue() >= 0));
    return l ? l * c.getValue() : AffineExpr();
  }
  default: return {};
  }
}

IndexVar *BoundsChecker::onlyIndexOf(AffineExpr sub) {
  IndexVar *v = nullptr;
  bool several = false;
  sub.walk([&](AffineExpr x) {
    if (auto d = dyn_cast<AffineDimExpr>(x)) {
      several |= v && v->id != d.getPosition();
      v = &kernel.indices[d.getPosition()];
    }
  });
  return several ? nullptr : v;
}

std::string BoundsChecker::rangeInside(AffineExpr sub, AffineExpr dim, bool below) {
  IndexVar *v = onlyIndexOf(sub);
  if (!v)
    return "";
  AffineExpr index = getAffineDimExpr(v->id, context), rest = simplified(sub - index);
  if (!rest.isSymbolicOrConstant()) // has a factor
    return "";
  return v->name.str() + " in " + print(below ? simplified(-rest) : v->lo, kernel) + ":" +
         print(simplified(below ? v->hi() : dim - rest), kernel);
}

std::string BoundsChecker::rangeToWrite(AffineExpr sub, AffineExpr dim, bool below) {
  IndexVar *v = onlyIndexOf(sub);
  bool isFree = v && llvm::is_contained(free, v);
  if (!v || v->declLo || v->declHi || v->window || (isFree && (!isLet || below)))
    return "";
  std::string range = rangeInside(sub, dim, below);
  return range.empty() ? "" : "write '" + std::string(isFree ? "where " : "") + range + "'";
}

/// The least and the largest value of `sub`, of one index with a factor of 1 or -1, under the conditions that bound the index.
std::optional<std::pair<AffineExpr, AffineExpr>> BoundsChecker::extent(AffineExpr sub, const BoundsContext &c) {
  IndexVar *v = onlyIndexOf(sub);
  if (!v)
    return std::nullopt;
  AffineExpr index = getAffineDimExpr(v->id, context), lo = v->lo, last = v->hi() - 1;
  auto withoutDims = [&](AffineExpr e) {
    e = simplified(e);
    return e.isSymbolicOrConstant() ? e : AffineExpr();
  };
  for (const auto *list : {&c.hard, &c.soft})
    for (const Constraint &k : *list) {
      if (k.isEq)
        continue;
      if (AffineExpr rest = withoutDims(k.expr - index)) // index + rest >= 0
        lo = -rest;
      else if (AffineExpr rest = withoutDims(k.expr + index))
        last = rest;
    }
  if (AffineExpr rest = withoutDims(sub - index))
    return std::pair(simplified(lo + rest), simplified(last + rest));
  if (AffineExpr rest = withoutDims(sub + index))
    return std::pair(simplified(rest - last), simplified(rest - lo));
  return std::nullopt;
}

/// What is meant by a read that leaves its tensor: the end of a range, another index, a shift; empty where nothing tells.
std::string BoundsChecker::repair(AffineExpr sub, AffineExpr dim, bool below, const BoundsContext &c) {
  auto pure = dyn_cast<AffineDimExpr>(sub);
  IndexVar *index = pure ? &kernel.indices[pure.getPosition()] : nullptr;
  auto isConstantAbove = [&](AffineExpr e, int64_t least) {
    auto k = dyn_cast<AffineConstantExpr>(simplified(e));
    return k && k.getValue() >= least;
  };
  if (index && index->declLo && index->declHi && !index->window && isConstantAbove(index->hi() - dim, 1)) // j in 0:N + 1
    return "write '" + index->name.str() + " in " + print(index->lo, kernel) + ":" + print(dim, kernel) + "'";
  if (index)
    for (IndexVar *other : c.domain)
      if (other != index && isConstantAbove(other->lo, 0) && simplified(other->hi()) == simplified(dim) && other->name != index->name)
        return "write '" + other->name.str() + "', which runs over 0:" + print(dim, kernel);
  auto found = extent(sub, c);
  if (!found)
    return "";
  auto [lo, last] = *found;
  bool isReversed = false; // N - i
  sub.walk([&](AffineExpr x) {
    auto b = dyn_cast<AffineBinaryOpExpr>(x);
    isReversed |= b && b.getKind() == AffineExprKind::Mul && isa<AffineDimExpr>(b.getLHS()) && isConstantAbove(-b.getRHS(), 1);
  });
  // x[i + 1] that has no room for a shift is a neighbour, and meant as it is written.
  bool isMoved = isReversed || !isa<AffineConstantExpr>(lo) || isConstantAbove(dim - 1 - (last - lo), 1);
  if (!isMoved)
    return rangeToWrite(sub, dim, below);
  if (!isConstantAbove(dim - 1 - (last - lo), 0))
    return "";
  return "write '" + print(simplified(sub - lo), kernel) + "', which begins at 0";
}

/// The requirement that bounds a quotient in `sub`; empty where there is none, or where the text has it.
std::string BoundsChecker::divisorNeeded(AffineExpr sub, AffineExpr dim) {
  std::string divides;
  auto divisible = [&](AffineExpr x, AffineExpr by) {
    Prover known = base;
    return known.proves(-(x % by)) ? std::string() : "'require " + print(x % by, kernel) + " == 0'";
  };
  sub.walk([&](AffineExpr x) {
    // h // (H // G) is bounded by G where G divides H.
    if (x.getKind() != AffineExprKind::FloorDiv)
      return;
    auto b = cast<AffineBinaryOpExpr>(x);
    bool dims = false;
    x.walk([&](AffineExpr y) { dims |= isa<AffineDimExpr>(y); });
    if (!dims && !isa<AffineConstantExpr>(b.getRHS()))
      divides = divisible(b.getLHS(), b.getRHS());
    // j // (N // 4) is bounded by 4 where 4 divides N.
    if (dims && b.getRHS().getKind() == AffineExprKind::FloorDiv)
      divides = divisible(cast<AffineBinaryOpExpr>(b.getRHS()).getLHS(), cast<AffineBinaryOpExpr>(b.getRHS()).getRHS());
    // x[i // 2] of N // 2 elements, where i goes up to N.
    dim.walk([&](AffineExpr y) {
      if (dims && y.getKind() == AffineExprKind::FloorDiv && cast<AffineBinaryOpExpr>(y).getRHS() == b.getRHS())
        divides = divisible(cast<AffineBinaryOpExpr>(y).getLHS(), b.getRHS());
    });
  });
  return divides;
}

std::string BoundsChecker::suggestion(Node *n, AffineExpr sub, AffineExpr dim, bool below, const BoundsContext &c) {
  bool isElement = true;
  sub.walk([&](AffineExpr x) { isElement &= !isa<AffineDimExpr>(x); });
  if (isa<AffineConstantExpr>(sub) && below) // x[-1]
    return "subscripts count from 0: the last element is at '" + print(dim - 1, kernel) + "'";
  std::string range = isWrite ? rangeInside(sub, dim, below) : "";
  std::string forms = !isWrite    ? "write '" + n->tensor->name.str() + ".pad(0)[..]' (or .edge, .wrap, .reflect)"
                      : isElement ? "the first element is at 0, the last one at '" + print(dim - 1, kernel) + "'"
                                  : "restrict the statement with 'where" + (range.empty() ? "'" : " " + range + "'");
  std::string meant = isWrite ? "" : repair(sub, dim, below, c);
  bool isOther = StringRef(meant).contains("runs over"); // beside it sizes may be equal
  if (!meant.empty() && !isOther)
    return meant + (StringRef(meant).contains(',') ? ", or " : " or ") + StringRef(forms).drop_front(StringRef("write ").size()).str();
  std::string divides = divisorNeeded(sub, dim);
  if (!divides.empty())
    return "add " + divides + ", or " + forms;
  AffineExpr e = extreme(sub, !below);
  if (!e)
    return forms;
  AffineExpr slack = simplifyAffineExpr(below ? e : dim - 1 - e, 0, kernel.sizes.size());
  if (isa<AffineConstantExpr>(slack))
    return forms;
  // No size worth the name satisfies '2 * N - 1 <= N', and none of one element 'M + N <= M'.
  auto holdsFor = [&](int64_t size) {
    std::map<unsigned, int64_t> symbols;
    for (unsigned i = 0; i < kernel.sizes.size(); ++i)
      symbols[i] = size;
    return evaluate(slack, {}, symbols) >= 0;
  };
  if (!below && !holdsFor(1 << 20) && (isWrite || !holdsFor(1))) {
    std::string inside = rangeInside(sub, dim, below);
    if (!isWrite)
      return inside.empty() ? forms : "restrict the statement with 'where " + inside + "', or " + forms;
    if (n->tensor->kind == Tensor::Output)
      return "give that dim of '" + n->tensor->name.str() + "' " + print(simplifyAffineExpr(e + 1, 0, kernel.sizes.size()), kernel) +
             " elements, or " + forms;
  }
  std::string need =
      below ? print(e, kernel) + " >= 0" : print(simplifyAffineExpr(e + 1, 0, kernel.sizes.size()), kernel) + " <= " + print(dim, kernel);
  std::string text = print(dim, kernel), same = print(simplifyAffineExpr(e + 1, 0, kernel.sizes.size()), kernel);
  if (!below && text != same && StringRef(text).equals_insensitive(same)) // x: f32[N], w: f32[n]
    return "'" + same + "' and '" + text + "' are two sizes; give both dims one name, or add 'require " + need + "'";
  if (!below && !isWrite && isOfOutputsAlone(e + 1) && isa<AffineSymbolExpr>(dim))
    return "no input has the size '" + same + "'; write '" + text + "' in its place, or add 'require " + need + "'";
  return (isOther ? meant + ", " : "") + "add 'require " + need + "', or " + forms;
}

/// A size that no input's shape names.
bool BoundsChecker::isOfOutputsAlone(AffineExpr size) {
  size = simplified(size);
  if (!isa<AffineSymbolExpr>(size))
    return false;
  return llvm::none_of(kernel.tensors, [&](const Tensor &t) {
    return t.kind == Tensor::Input && llvm::any_of(t.dims, [&](AffineExpr d) {
             bool found = false;
             d.walk([&](AffineExpr x) { found |= x == size; });
             return found;
           });
  });
}

bool BoundsChecker::isPoint(AffineExpr sub, AffineExpr dim, const BoundsContext &c, const std::map<unsigned, int64_t> &dims,
                            const std::map<unsigned, int64_t> &symbols) {
  auto eval = [&](AffineExpr e) { return evaluate(e, dims, symbols); };
  for (unsigned i = 0; i < kernel.sizes.size(); ++i)
    if (eval(getAffineSymbolExpr(i, context)) < 0)
      return false;
  for (const Tensor &t : kernel.tensors)
    for (AffineExpr d : t.dims)
      if (t.kind != Tensor::Let && eval(d) < 0)
        return false;
  for (const Requirement &r : kernel.requirements)
    for (const Constraint &k : r.constraints)
      if (k.isEq ? eval(k.expr) != 0 : eval(k.expr) < 0)
        return false;
  for (IndexVar *v : c.domain) {
    int64_t x = eval(getAffineDimExpr(v->id, context));
    if (x < eval(v->lo) || x >= eval(v->hi()))
      return false;
  }
  for (const auto *list : {&c.hard, &c.soft})
    for (const Constraint &k : *list)
      if (k.isEq ? eval(k.expr) != 0 : eval(k.expr) < 0)
        return false;
  int64_t s = eval(sub);
  return s < 0 || s >= eval(dim);
}

/// The next of the numbers from `low` to below `high` in all places, the first place the fastest; false behind the last.
static bool advance(MutableArrayRef<int64_t> at, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  for (size_t k = 0; k < at.size(); ++k) {
    if (++at[k] < high[k])
      return true;
    at[k] = low[k];
  }
  return false;
}

bool BoundsChecker::findPointOf(AffineExpr sub, AffineExpr dim, const BoundsContext &c, std::map<unsigned, int64_t> &dims,
                                const std::map<unsigned, int64_t> &symbols, unsigned &budget) {
  // The corners of the index box and a few points inside.
  SmallVector<int64_t> low, high;
  dims.clear();
  bool empty = false;
  for (IndexVar *v : c.domain) {
    low.push_back(evaluate(v->lo, dims, symbols));
    high.push_back(evaluate(v->hi(), dims, symbols));
    empty |= high.back() <= low.back();
  }
  if (empty)
    return false;
  SmallVector<int64_t> at = low;
  for (unsigned points = 0; budget && points < 300; ++points) {
    --budget;
    for (auto [v, x] : llvm::zip(c.domain, at))
      dims[v->id] = x;
    if (isPoint(sub, dim, c, dims, symbols))
      return true;
    if (!advance(at, low, high))
      break;
  }
  return false;
}

bool BoundsChecker::findSmallPoint(AffineExpr sub, AffineExpr dim, const BoundsContext &c, std::map<unsigned, int64_t> &dims,
                                   std::map<unsigned, int64_t> &symbols) {
  unsigned n = kernel.sizes.size(), budget = 60000;
  if (n > 6)
    return false;
  SmallVector<int64_t> least(n, 0);
  for (int64_t top = 1; top <= 8 && budget; top *= 2) {
    SmallVector<int64_t> sizes(n, 0), beyond(n, top + 1);
    while (budget) {
      symbols.clear();
      for (unsigned i = 0; i < n; ++i)
        symbols[i] = sizes[i];
      if (findPointOf(sub, dim, c, dims, symbols, budget))
        return true;
      if (budget)
        --budget;
      if (!advance(sizes, least, beyond))
        break;
    }
    if (n == 0)
      break;
  }
  return false;
}

bool BoundsChecker::findPoint(AffineExpr sub, AffineExpr dim, const BoundsContext &c, std::map<unsigned, int64_t> &dims,
                              std::map<unsigned, int64_t> &symbols) {
  // Small sizes first: they read best. The solver finds what is far away.
  if (findSmallPoint(sub, dim, c, dims, symbols))
    return true;
  Prover p = proverFor(c, true);
  for (AffineExpr e : {sub, dim - 1 - sub}) {
    dims.clear();
    symbols.clear();
    if (p.findCounterexample(e, dims, symbols) && isPoint(sub, dim, c, dims, symbols))
      return true;
  }
  return false;
}

Loc BoundsChecker::subscriptLoc(Node *n, unsigned i) {
  bool isText = n->access && n->views.empty() && n->loc.file == 0 && i < n->access->args.size() && n->access->args[i]->loc.file == 0;
  return isText ? n->access->args[i]->loc : subscriptOf(n, i).first->loc;
}

void BoundsChecker::reportUnproved(Node *n, unsigned i) {
  StringRef name = n->tensor->name;
  diags.error(subscriptOf(n, i).first->loc) << "subscript " << i << " of '" << name
                                            << "' is not affine and cannot be proved in bounds; write '" << name
                                            << ".pad(0)[..]', .edge, .wrap, .reflect or .assume_inbounds";
}

void BoundsChecker::report(Node *n, unsigned i, const BoundsContext &c, bool below) {
  auto [subscript, dim] = subscriptOf(n, i);
  AffineExpr sub = subscript->affine;
  Loc loc = subscriptLoc(n, i);
  if (sub == dim && isa<AffineSymbolExpr>(sub)) {
    diags.error(loc) << "'" << print(sub, kernel) << "' is a size: the last element of '" << n->tensor->name << "' is at '"
                     << print(dim - 1, kernel) << "'; to go over all of them write an index, a name that is no size";
    return;
  }
  std::map<unsigned, int64_t> dims, symbols;
  bool found = findPoint(sub, dim, c, dims, symbols);
  if (found)
    below = evaluate(sub, dims, symbols) < 0;
  auto d = diags.error(loc);
  d << "subscript '" << print(sub, kernel) << "' of '" << n->tensor->name << "' is not proved to stay in 0:" << print(dim, kernel);
  std::string sep = "; ";
  llvm::DenseSet<unsigned> used;
  sub.walk([&](AffineExpr x) {
    if (auto v = dyn_cast<AffineDimExpr>(x); v && used.insert(v.getPosition()).second) {
      IndexVar &var = kernel.indices[v.getPosition()];
      AffineExpr hi = simplifyAffineExpr(var.hi(), kernel.indices.size(), kernel.sizes.size());
      d << sep << "'" << var.name << "' runs over " << print(var.lo, kernel) << ":" << print(hi, kernel);
      sep = ", ";
    }
  });
  if (found) {
    d << "; with ";
    sep = "";
    llvm::DenseSet<unsigned> sizes;
    auto note = [&](AffineExpr e) {
      e.walk([&](AffineExpr x) {
        if (auto s = dyn_cast<AffineSymbolExpr>(x))
          sizes.insert(s.getPosition());
      });
    };
    note(sub);
    note(dim);
    for (unsigned v : used) {
      note(kernel.indices[v].lo);
      note(kernel.indices[v].extent);
    }
    for (auto [s, x] : symbols)
      if (sizes.contains(s)) {
        d << sep << kernel.sizes[s] << " = " << x;
        sep = ", ";
      }
    for (auto [v, x] : dims)
      if (used.contains(v)) {
        d << sep << kernel.indices[v].name << " = " << x;
        sep = ", ";
      }
    d << (sep.empty() ? "no indices " : " ") << "it is " << evaluate(sub, dims, symbols) << " of 0:" << evaluate(dim, dims, symbols);
  }
  d << "; " << suggestion(n, sub, dim, below, c);
}

} // namespace kernelc::frontend
