// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See Prover.h.
#include "frontend/Prover.h"

#include <numeric>

#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "mlir/Analysis/Presburger/Simplex.h"
#include "support/FloorDivide.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

/// Assumptions beyond this many are not used: fewer facts prove less, never something wrong.
constexpr size_t kMaxAssumed = 384;

} // namespace

int64_t evaluate(AffineExpr e, const std::map<unsigned, int64_t> &dims, const std::map<unsigned, int64_t> &symbols) {
  auto at = [](const std::map<unsigned, int64_t> &m, unsigned i) {
    auto it = m.find(i);
    return it == m.end() ? int64_t(0) : it->second;
  };
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return at(dims, d.getPosition());
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return at(symbols, s.getPosition());
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue();
  auto b = cast<AffineBinaryOpExpr>(e);
  int64_t l = evaluate(b.getLHS(), dims, symbols), r = evaluate(b.getRHS(), dims, symbols);
  switch (e.getKind()) {
  case AffineExprKind::Add: return int64_t(uint64_t(l) + uint64_t(r));
  case AffineExprKind::Mul: return int64_t(uint64_t(l) * uint64_t(r));
  case AffineExprKind::FloorDiv: return floorDivide(l, r);
  case AffineExprKind::CeilDiv: return -floorDivide(-l, r);
  default: return r == 0 ? 0 : int64_t(uint64_t(l) - uint64_t(floorDivide(l, r)) * uint64_t(r));
  }
}

void Prover::add(Linear &a, const Linear &b, int64_t scale) {
  a.overflow |= b.overflow;
  int64_t t;
  for (auto [atom, c] : b.terms) {
    a.overflow |= llvm::MulOverflow(c, scale, t);
    int64_t &slot = a.terms[atom];
    a.overflow |= llvm::AddOverflow(slot, t, slot);
    if (slot == 0)
      a.terms.erase(atom);
  }
  a.overflow |= llvm::MulOverflow(b.constant, scale, t);
  a.overflow |= llvm::AddOverflow(a.constant, t, a.constant);
}

unsigned Prover::productAtom(const Monomial &m) {
  if (m.size() == 1)
    return m[0];
  auto [it, fresh] = products.try_emplace(m, atoms.size());
  if (fresh) {
    Atom a;
    a.monomial = m;
    a.nonNegative = llvm::all_of(m, [&](unsigned f) { return atoms[f].nonNegative; });
    atoms.push_back(a);
    if (a.nonNegative) {
      Row r;
      r.form.terms[it->second] = 1;
      rows.push_back(r);
    }
  }
  return it->second;
}

Prover::Linear Prover::multiply(const Linear &a, const Linear &b) {
  Linear out;
  out.overflow = a.overflow || b.overflow;
  for (auto [x, cx] : a.terms) {
    for (auto [y, cy] : b.terms) {
      Monomial m(factors(x));
      m.append(factors(y));
      llvm::sort(m);
      if (m.size() > kMaxDegree) {
        out.overflow = true;
        return out;
      }
      Linear t;
      t.terms[productAtom(m)] = 1;
      int64_t c;
      out.overflow |= llvm::MulOverflow(cx, cy, c);
      add(out, t, c);
    }
  }
  Linear pureA = a, pureB = b;
  int64_t ca = a.constant, cb = b.constant;
  pureA.constant = pureB.constant = 0;
  add(out, pureA, cb);
  add(out, pureB, ca);
  Linear c;
  c.overflow |= llvm::MulOverflow(ca, cb, c.constant);
  add(out, c, 1);
  return out;
}

unsigned Prover::atomFor(AffineExpr e) {
  for (auto &[known, atom] : exprAtoms)
    if (known == e)
      return atom;
  Atom a;
  a.expr = e;
  a.monomial = {unsigned(atoms.size())};
  atoms.push_back(a);
  exprAtoms.push_back({e, unsigned(atoms.size() - 1)});
  return atoms.size() - 1;
}

bool Prover::knownPositive(AffineExpr e) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue() > 0;
  return proves(e - 1);
}

Prover::Linear Prover::quotient(AffineExpr e, AffineExpr divisor) {
  AffineExpr whole = getAffineBinaryOpExpr(AffineExprKind::FloorDiv, e, divisor);
  Linear out;
  if (auto c = dyn_cast<AffineConstantExpr>(whole)) {
    out.constant = c.getValue();
    return out;
  }
  Linear num = linearize(e), den = linearize(divisor);
  unsigned atom = atomFor(whole);
  out.terms[atom] = 1;
  if (atoms[atom].defined || depth > 6)
    return out;
  ++depth;
  if (knownPositive(divisor)) {
    atoms[atom].defined = true;
    Linear low = num; // e - q*t >= 0
    add(low, multiply(den, out), -1);
    rows.push_back({low});
    Linear high = den; // q - 1 - (e - q*t) >= 0
    add(high, low, -1);
    high.constant -= 1;
    rows.push_back({high});
    if (proves(e)) {
      atoms[atom].nonNegative = true;
      rows.push_back({out});
    }
    boundQuotient(num, den, atom);
  }
  --depth;
  return out;
}

// e <= g * d + r gives e // d <= g + r // d. For numbers d it is the rounding down that linear
// rows lack; for sizes (r = -1 then) it takes a product with d, and another one where the
// quotient is itself multiplied.
void Prover::boundQuotient(const Linear &e, const Linear &divisor, unsigned atom) {
  bool number = divisor.terms.empty();
  if (!number && (divisor.terms.size() != 1 || divisor.constant != 0 || divisor.terms.begin()->second != 1))
    return;
  for (size_t i = 0, n = rows.size(); i < n; ++i) {
    Linear rest = rows[i].form; // g * d + r where the row is g * d + r - e >= 0
    if (rows[i].isEq || !llvm::all_of(e.terms, [&](auto t) {
          auto at = rest.terms.find(t.first);
          return at != rest.terms.end() && at->second == -t.second;
        }))
      continue;
    add(rest, e, 1);
    Linear bound;
    auto divides = [&](const Linear &a) {
      bound = Linear();
      return !a.overflow && (number ? divideByNumber(a, divisor.constant, bound) : divideByAtom(a, divisor.terms.begin()->first, bound));
    };
    if (!divides(rest) && (number || !llvm::any_of(equalForms(rest), divides)))
      continue;
    add(bound, Linear{{{atom, 1}}}, -1);
    if (number || proves(bound))
      rows.push_back({bound});
  }
}

// N - 1 is also G * P - 1 where N % G == 0 and P is N // G.
std::vector<Prover::Linear> Prover::equalForms(const Linear &form) {
  std::vector<Linear> found;
  for (const Row &row : rows)
    for (auto [x, c] : row.form.terms) {
      auto at = form.terms.find(x);
      if (!row.isEq || at == form.terms.end() || (c != 1 && c != -1))
        continue;
      Linear other = form;
      add(other, row.form, -c * at->second);
      found.push_back(other);
    }
  return found;
}

/// `out` = floor(a / d), where that is linear.
bool Prover::divideByNumber(const Linear &a, int64_t d, Linear &out) {
  for (auto [term, c] : a.terms) {
    if (c % d != 0)
      return false;
    out.terms[term] = c / d;
  }
  out.constant = floorDivide(a.constant, d);
  return true;
}

/// `out` = g - 1 for `a` = g * d - 1, or the like with a smaller number in place of 1.
bool Prover::divideByAtom(const Linear &a, unsigned d, Linear &out) {
  if (a.terms.empty() || a.constant >= 0)
    return false;
  for (auto [term, c] : a.terms) {
    Monomial m = factors(term);
    for (unsigned f : Monomial(factors(d))) {
      auto *at = llvm::find(m, f);
      if (at == m.end())
        return false;
      m.erase(at);
    }
    Linear single;
    if (m.empty())
      single.constant = 1;
    else
      single.terms[productAtom(m)] = 1;
    add(out, single, c);
  }
  out.constant -= 1;
  return true;
}

Prover::Linear Prover::linearize(AffineExpr e) {
  Linear out;
  if (auto c = dyn_cast<AffineConstantExpr>(e)) {
    out.constant = c.getValue();
    return out;
  }
  if (isa<AffineDimExpr, AffineSymbolExpr>(e)) {
    out.terms[atomFor(e)] = 1;
    return out;
  }
  auto b = cast<AffineBinaryOpExpr>(e);
  switch (e.getKind()) {
  case AffineExprKind::Add:
    out = linearize(b.getLHS());
    add(out, linearize(b.getRHS()), 1);
    return out;
  case AffineExprKind::Mul: return multiply(linearize(b.getLHS()), linearize(b.getRHS()));
  case AffineExprKind::FloorDiv: return quotient(b.getLHS(), b.getRHS());
  case AffineExprKind::CeilDiv:
    out = quotient(-b.getLHS(), b.getRHS());
    {
      Linear neg;
      add(neg, out, -1);
      return neg;
    }
  default: {
    if (!knownPositive(b.getRHS())) { // by zero it is 0, so nothing is known of it
      out.terms[atomFor(e)] = 1;
      return out;
    }
    Linear q = quotient(b.getLHS(), b.getRHS());
    out = linearize(b.getLHS());
    add(out, multiply(linearize(b.getRHS()), q), -1);
    return out;
  }
  }
}

bool Prover::knownNonNegative(unsigned atom) { return atoms[atom].nonNegative; }

void Prover::assumeAll(ArrayRef<Constraint> constraints) {
  auto divisions = [](const Constraint &c) {
    unsigned n = 0;
    c.expr.walk([&](AffineExpr e) {
      n += e.getKind() == AffineExprKind::FloorDiv || e.getKind() == AffineExprKind::CeilDiv || e.getKind() == AffineExprKind::Mod;
    });
    return n;
  };
  llvm::SmallVector<Constraint> sorted(constraints);
  llvm::stable_sort(sorted, [&](const Constraint &a, const Constraint &b) { return divisions(a) < divisions(b); });
  for (const Constraint &c : sorted)
    assume(c.expr, c.isEq);
  assumeFactors();
}

void Prover::assume(AffineExpr e, bool isEq) {
  if (rows.size() >= kMaxAssumed)
    return;
  Linear form = linearize(e);
  if (form.overflow)
    return;
  rows.push_back({form, isEq});
  // atom >= 0, or atom - lo >= 0 with a non-negative lo.
  if (!isEq && form.terms.size() == 1 && form.constant <= 0 && form.terms.begin()->second > 0)
    atoms[form.terms.begin()->first].nonNegative = true;
}

bool Prover::isEmpty(const std::vector<Row> &system) {
  using namespace presburger;
  // Only the atoms that occur become columns.
  std::map<unsigned, unsigned> column;
  for (const Row &r : system)
    for (auto [atom, c] : r.form.terms)
      column.try_emplace(atom, 0);
  unsigned n = 0;
  for (auto &[atom, c] : column)
    c = n++;
  IntegerPolyhedron poly(PresburgerSpace::getSetSpace(n));
  for (const Row &r : system) {
    if (r.form.overflow)
      continue;
    llvm::SmallVector<int64_t> row(n + 1, 0);
    for (auto [atom, c] : r.form.terms)
      row[column[atom]] = c;
    row[n] = r.form.constant;
    int64_t g = 0;
    for (unsigned i = 0; i < n; ++i)
      g = std::gcd(g, row[i]);
    if (r.isEq) {
      // 2 * i == 2 * j + 1: no rational fact says so, and of many atoms nothing below looks for integers.
      if (g > 1 && row[n] % g)
        return true;
      poly.addEquality(row);
      continue;
    }
    // Tightening by the gcd makes most integer facts rational ones.
    if (g > 1) {
      for (unsigned i = 0; i < n; ++i)
        row[i] /= g;
      row[n] = floorDivide(row[n], g);
    }
    poly.addInequality(row);
  }
  Simplex simplex(poly);
  if (simplex.isEmpty())
    return true;
  if (n > 10)
    return false;
  return poly.isIntegerEmpty();
}

bool Prover::proves(AffineExpr e) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue() >= 0;
  return proves(linearize(e));
}

bool Prover::proves(const Linear &goal) {
  if (goal.overflow)
    return false;
  if (goal.terms.empty())
    return goal.constant >= 0;
  Row negated; // -e - 1 >= 0
  add(negated.form, goal, -1);
  negated.form.constant -= 1;
  std::vector<Row> system = rows;
  system.push_back(negated);
  if (isEmpty(system))
    return true;
  if (products.empty())
    return false;
  // Atoms that the negated goal forces to zero annihilate their products.
  if (goal.terms.size() == 1 && goal.constant == -1 && goal.terms.begin()->second == 1 && atoms[goal.terms.begin()->first].nonNegative) {
    unsigned zero = goal.terms.begin()->first;
    for (auto &[m, atom] : products)
      if (llvm::is_contained(m, zero)) {
        Row r;
        r.form.terms[atom] = 1;
        r.isEq = true;
        system.push_back(r);
      }
  }
  return isEmptyWithProducts(system);
}

bool Prover::contradictory() {
  if (isEmpty(rows))
    return true;
  if (products.empty())
    return false;
  std::vector<Row> system = rows;
  return isEmptyWithProducts(system);
}

bool Prover::findCounterexample(AffineExpr e, std::map<unsigned, int64_t> &dims, std::map<unsigned, int64_t> &symbols) {
  using namespace presburger;
  Linear goal = linearize(e);
  if (goal.overflow || atoms.size() > 16)
    return false;
  unsigned n = atoms.size();
  IntegerPolyhedron poly(PresburgerSpace::getSetSpace(n));
  auto addRow = [&](const Linear &form, bool isEq, int64_t sign, int64_t shift) {
    if (form.overflow)
      return;
    llvm::SmallVector<int64_t> row(n + 1, 0);
    for (auto [atom, c] : form.terms)
      row[atom] = sign * c;
    row[n] = sign * form.constant + shift;
    if (isEq)
      poly.addEquality(row);
    else
      poly.addInequality(row);
  };
  for (const Row &r : rows)
    addRow(r.form, r.isEq, 1, 0);
  addRow(goal, false, -1, -1);
  auto sample = poly.findIntegerSample();
  if (!sample)
    return false;
  for (unsigned i = 0; i < n; ++i) {
    if (!atoms[i].expr)
      continue;
    int64_t v = int64_t((*sample)[i]);
    if (auto d = dyn_cast<AffineDimExpr>(atoms[i].expr))
      dims[d.getPosition()] = v;
    else if (auto s = dyn_cast<AffineSymbolExpr>(atoms[i].expr))
      symbols[s.getPosition()] = v;
  }
  return true;
}

} // namespace kernelc::frontend
