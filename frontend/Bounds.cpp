// Every access stays inside its tensor: proved for all sizes, or an error with a
// point at which it does not.
//
// An access is proved from the ranges of its domain's indices and the conditions
// of its own reduction, which the domain excludes exactly. What holds only under an
// enclosing condition (`a if c else b`, an outer reduction's condition) may be read
// speculatively by later passes, so such a read gets a rule for what lies outside.
#include "frontend/Sema.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

struct Context {
  SmallVector<IndexVar *> domain;
  SmallVector<Constraint> hard; ///< the domain's own conditions
  SmallVector<Constraint> soft; ///< hold whenever the value matters
};

class BoundsChecker {
public:
  BoundsChecker(Diagnostics &diags, Kernel &kernel, Elaborator &elab, const Prover &base)
      : diags(diags), kernel(kernel), elab(elab), base(base), context(&diags.getContext()) {}

  void check(Node *n, const Context &c) {
    llvm::DenseSet<Node *> seen;
    Prover prover = proverFor(c, false);
    visit(n, c, prover, seen);
  }
  bool ok = true;

private:
  void visit(Node *n, const Context &c, Prover &prover, llvm::DenseSet<Node *> &seen);
  void visitReduce(Node *n, const Context &c);
  void checkRead(Node *n, const Context &c, Prover &prover);
  bool isScan(Node *n, const Context &inner);
  bool checkDivisors(AffineExpr e, Prover &prover);
  Prover proverFor(const Context &c, bool withSoft);
  void report(Node *n, unsigned dim, const Context &c, bool below);
  void addHypotheses(Node *cond, bool negated, SmallVectorImpl<Constraint> &out);
  bool findPoint(AffineExpr sub, AffineExpr dim, const Context &c, std::map<unsigned, int64_t> &dims,
                 std::map<unsigned, int64_t> &symbols);
  bool isPoint(AffineExpr sub, AffineExpr dim, const Context &c, const std::map<unsigned, int64_t> &dims,
               const std::map<unsigned, int64_t> &symbols);
  std::string suggestion(Node *n, AffineExpr sub, AffineExpr dim, bool below);
  AffineExpr extreme(AffineExpr e, bool upper);

  Diagnostics &diags;
  Kernel &kernel;
  Elaborator &elab;
  const Prover &base;
  MLIRContext *context;
};

Prover BoundsChecker::proverFor(const Context &c, bool withSoft) {
  Prover p = base;
  for (IndexVar *v : c.domain) {
    AffineExpr d = getAffineDimExpr(v->id, context);
    p.assume(d - v->lo);
    p.assume(v->hi() - 1 - d);
  }
  for (const Constraint &k : c.hard)
    p.assume(k.expr, k.isEq);
  if (withSoft)
    for (const Constraint &k : c.soft)
      p.assume(k.expr, k.isEq);
  return p;
}

void BoundsChecker::addHypotheses(Node *cond, bool negated, SmallVectorImpl<Constraint> &out) {
  SmallVector<std::pair<Node *, bool>> work = {{cond, negated}};
  while (!work.empty()) {
    auto [n, neg] = work.pop_back_val();
    if (n->kind == Node::Not)
      work.push_back({n->ops[0], !neg});
    else if ((n->kind == Node::And && !neg) || (n->kind == Node::Or && neg))
      for (Node *o : n->ops)
        work.push_back({o, neg});
    else if (auto k = constraintOf(n, neg))
      out.push_back(*k);
  }
}

void BoundsChecker::visit(Node *n, const Context &c, Prover &prover, llvm::DenseSet<Node *> &seen) {
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
      Context inner = c;
      bool negated = n->kind == Node::Or || (n->kind == Node::Select && i == 2);
      addHypotheses(n->ops[0], negated, inner.soft);
      if (inner.soft.size() == c.soft.size()) {
        visit(n->ops[i], c, prover, seen);
      } else {
        llvm::DenseSet<Node *> innerSeen;
        visit(n->ops[i], inner, prover, innerSeen);
      }
    }
    n = n->ops[0];
  }
}

void BoundsChecker::visitReduce(Node *n, const Context &c) {
  Context inner;
  inner.domain = usedOuter(n, c.domain);
  llvm::erase_if(inner.domain, [&](IndexVar *v) { return llvm::is_contained(n->vars, v); });
  inner.domain.append(n->vars.begin(), n->vars.end());
  inner.soft = c.hard;
  inner.soft.append(c.soft.begin(), c.soft.end());
  for (AffineExpr e : n->rangeConditions)
    inner.hard.push_back({e, false});
  SmallVector<Node *> data;
  for (Node *cond : n->conditions)
    splitCondition(cond, inner.hard, data);
  if (isScan(n, inner))
    return;
  for (Node *d : data)
    check(d, inner);
  for (Node *d : data)
    addHypotheses(d, false, inner.soft);
  check(n->ops[0], inner);
}

/// sum[j, j <= i](x[j]): the outer index stands in the condition alone, so that
/// neighbouring results share their terms. As a plain reduction it would silently
/// take quadratic time.
bool BoundsChecker::isScan(Node *n, const Context &inner) {
  for (IndexVar *o : inner.domain) {
    if (llvm::is_contained(n->vars, o))
      continue;
    if (!usedOuter(n->ops[0], {o}).empty())
      continue;
    for (const Constraint &k : inner.hard) {
      bool outer = false, own = false;
      k.expr.walk([&](AffineExpr x) {
        if (auto d = dyn_cast<AffineDimExpr>(x)) {
          outer |= d.getPosition() == o->id;
          own |= llvm::any_of(n->vars, [&](IndexVar *v) { return v->id == d.getPosition(); });
        }
      });
      if (outer && own && !k.isEq) {
        diags.error(n->loc) << "a reduction up to the outer index '" << o->name << "' is a scan, which is not supported yet";
        ok = false;
        return true;
      }
    }
  }
  return false;
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

void BoundsChecker::checkRead(Node *n, const Context &c, Prover &prover) {
  Tensor *t = n->tensor;
  for (Node *s : n->ops)
    if (!s->affine || !checkDivisors(s->affine, prover))
      n->regionSubscripts = true;
  if (n->bounds == te::BoundsMode::Pad || n->bounds == te::BoundsMode::Assume)
    return;
  if (n->bounds != te::BoundsMode::InBounds) {
    for (AffineExpr d : t->dims)
      if (!prover.proves(d - 1)) {
        diags.error(n->loc) << "the form of this access needs at least one element in each dim of '" << t->name
                            << "'; add 'require " << print(d, kernel) << " >= 1'";
        ok = false;
      }
    return;
  }
  std::optional<Prover> softProver;
  bool speculative = false;
  for (auto [i, s] : llvm::enumerate(n->ops)) {
    AffineExpr dim = t->dims[i];
    if (!s->affine) {
      diags.error(s->loc) << "subscript " << i << " of '" << t->name
                          << "' is not affine and cannot be proved in bounds; write '" << t->name
                          << ".pad(0)[..]', .edge, .wrap, .reflect or .assume_inbounds";
      ok = false;
      continue;
    }
    if (auto d = dyn_cast<AffineDimExpr>(s->affine)) {
      IndexVar &v = kernel.indices[d.getPosition()];
      if (v.lo == getAffineConstantExpr(0, context) && v.extent == dim)
        continue;
    }
    AffineExpr above = dim - 1 - s->affine;
    bool low = prover.proves(s->affine), high = low && prover.proves(above);
    if (low && high)
      continue;
    if (!c.soft.empty()) {
      if (!softProver)
        softProver = proverFor(c, true);
      low = softProver->proves(s->affine);
      high = low && softProver->proves(above);
      if (low && high) {
        speculative = true;
        continue;
      }
    }
    report(n, i, c, !low);
    ok = false;
    return;
  }
  if (speculative) {
    // Zero outside costs no memory access, even of an empty tensor.
    n->bounds = te::BoundsMode::Pad;
    bool isFloatElement = kernelc::isFloat(t->element);
    n->padding = t->element == ElementType::boolean ? elab.makeBool(false, n->loc)
                 : isFloatElement ? elab.makeFloat(0, widened(t->element), n->loc)
                                  : elab.makeInt(0, widened(t->element), n->loc);
  }
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

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
  default:
    return {};
  }
}

std::string BoundsChecker::suggestion(Node *n, AffineExpr sub, AffineExpr dim, bool below) {
  std::string forms = "write '" + n->tensor->name.str() + ".pad(0)[..]' (or .edge, .wrap, .reflect)";
  std::string divides;
  sub.walk([&](AffineExpr x) {
    // h // (H // G) is bounded by G where G divides H.
    if (x.getKind() != AffineExprKind::FloorDiv)
      return;
    auto b = cast<AffineBinaryOpExpr>(x);
    bool dims = false;
    x.walk([&](AffineExpr y) { dims |= isa<AffineDimExpr>(y); });
    if (!dims && !isa<AffineConstantExpr>(b.getRHS()))
      divides = "'require " + print(b.getLHS() % b.getRHS(), kernel) + " == 0'";
  });
  if (!divides.empty())
    return "add " + divides + ", or " + forms;
  AffineExpr e = extreme(sub, !below);
  if (!e)
    return forms;
  AffineExpr slack = simplifyAffineExpr(below ? e : dim - 1 - e, 0, kernel.sizes.size());
  if (isa<AffineConstantExpr>(slack))
    return forms;
  std::string need = below ? print(e, kernel) + " >= 0" : print(simplifyAffineExpr(e + 1, 0, kernel.sizes.size()), kernel) + " <= " + print(dim, kernel);
  return "add 'require " + need + "', or " + forms;
}

bool BoundsChecker::isPoint(AffineExpr sub, AffineExpr dim, const Context &c, const std::map<unsigned, int64_t> &dims,
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

bool BoundsChecker::findPoint(AffineExpr sub, AffineExpr dim, const Context &c, std::map<unsigned, int64_t> &dims,
                              std::map<unsigned, int64_t> &symbols) {
  // Small sizes first: they read best. The solver finds what is far away.
  unsigned n = kernel.sizes.size();
  if (n <= 6) {
    unsigned budget = 60000;
    for (int64_t top = 1; top <= 8 && budget; top *= 2) {
      SmallVector<int64_t> s(n, 0);
      while (budget) {
        symbols.clear();
        for (unsigned i = 0; i < n; ++i)
          symbols[i] = s[i];
        // The corners of the index box and a few points inside.
        SmallVector<int64_t> lo, hi;
        dims.clear();
        bool empty = false;
        for (IndexVar *v : c.domain) {
          lo.push_back(evaluate(v->lo, dims, symbols));
          hi.push_back(evaluate(v->hi(), dims, symbols));
          empty |= hi.back() <= lo.back();
        }
        unsigned points = 0;
        SmallVector<int64_t> at = lo;
        while (!empty && budget && points++ < 300) {
          --budget;
          for (auto [v, x] : llvm::zip(c.domain, at))
            dims[v->id] = x;
          if (isPoint(sub, dim, c, dims, symbols))
            return true;
          size_t k = 0;
          for (; k < at.size(); ++k) {
            if (++at[k] < hi[k])
              break;
            at[k] = lo[k];
          }
          if (k == at.size())
            break;
        }
        if (budget)
          --budget;
        unsigned k = 0;
        for (; k < n; ++k) {
          if (++s[k] <= top)
            break;
          s[k] = 0;
        }
        if (k == n)
          break;
      }
      if (n == 0)
        break;
    }
  }
  Prover p = proverFor(c, true);
  for (AffineExpr e : {sub, dim - 1 - sub}) {
    dims.clear();
    symbols.clear();
    if (p.findCounterexample(e, dims, symbols) && isPoint(sub, dim, c, dims, symbols))
      return true;
  }
  return false;
}

void BoundsChecker::report(Node *n, unsigned i, const Context &c, bool below) {
  AffineExpr sub = n->ops[i]->affine, dim = n->tensor->dims[i];
  std::map<unsigned, int64_t> dims, symbols;
  bool found = findPoint(sub, dim, c, dims, symbols);
  if (found)
    below = evaluate(sub, dims, symbols) < 0;
  auto d = diags.error(n->ops[i]->loc);
  d << "subscript '" << print(sub, kernel) << "' of '" << n->tensor->name << "' is not proved to stay in 0:"
    << print(dim, kernel);
  std::string sep = "; ";
  llvm::DenseSet<unsigned> used;
  sub.walk([&](AffineExpr x) {
    if (auto v = dyn_cast<AffineDimExpr>(x); v && used.insert(v.getPosition()).second) {
      IndexVar &var = kernel.indices[v.getPosition()];
      d << sep << "'" << var.name << "' runs over " << print(var.lo, kernel) << ":" << print(var.hi(), kernel);
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
    d << (sep.empty() ? "no indices " : " ") << "it is " << evaluate(sub, dims, symbols) << " of 0:"
      << evaluate(dim, dims, symbols);
  }
  d << "; " << suggestion(n, sub, dim, below);
}

} // namespace

bool Sema::checkBounds(CoreStatement &core) {
  BoundsChecker checker(diags, kernel, elab, prover);
  Context c;
  c.domain = core.vars;
  SmallVector<Node *> data;
  for (Node *cond : core.conditions)
    splitCondition(cond, c.hard, data);
  for (Node *d : data)
    checker.check(d, c);
  for (Node *d : data)
    if (auto k = constraintOf(d, false))
      c.soft.push_back(*k);
  checker.check(core.value, c);
  if (!core.isLet) {
    Node left;
    left.kind = Node::Read;
    left.tensor = core.target;
    left.loc = core.loc;
    left.ops.append(core.subscripts.begin(), core.subscripts.end());
    c.soft.clear();
    checker.check(&left, c);
  }
  return checker.ok;
}

} // namespace kernelc::frontend
