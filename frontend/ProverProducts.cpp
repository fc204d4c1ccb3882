// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products in proofs: which rows are multiplied by which atoms. See Prover.h.
#include "frontend/Prover.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::frontend {

/// Rows beyond this make the simplex slow; products stop there.
constexpr size_t kMaxRows = 160;

void Prover::addProducts(std::vector<Row> &system) {
  // Which atoms stand in products, and are known not to be negative.
  llvm::SmallVector<unsigned> multipliers;
  for (auto &[m, atom] : products)
    for (unsigned f : m)
      if (atoms[f].nonNegative && !llvm::is_contained(multipliers, f))
        multipliers.push_back(f);
  size_t base = system.size();
  for (size_t i = 0; i < base && system.size() < kMaxRows; ++i) {
    if (system[i].form.overflow || system[i].form.terms.size() > 4)
      continue;
    for (unsigned v : multipliers) {
      // Only products that stand somewhere already can help.
      bool known = true, any = false;
      for (auto [x, c] : system[i].form.terms) {
        Monomial m(factors(x));
        m.push_back(v);
        llvm::sort(m);
        bool has = products.count(m);
        known &= has;
        any |= has;
      }
      if (!known || !any || system[i].form.terms.empty())
        continue;
      Linear single;
      single.terms[v] = 1;
      Row r{multiply(system[i].form, single), system[i].isEq};
      if (!r.form.overflow)
        system.push_back(r);
    }
  }
}

/// The factors of `m` without those of `part`, or nothing where it lacks one.
static std::optional<llvm::SmallVector<unsigned, 2>> without(llvm::SmallVector<unsigned, 2> m, llvm::ArrayRef<unsigned> part) {
  for (unsigned f : part) {
    auto *at = llvm::find(m, f);
    if (at == m.end())
      return std::nullopt;
    m.erase(at);
  }
  return m;
}

// i < A gives i * B * C <= A * B * C - B * C, and t <= k < N gives t * P < N * P. Each row is multiplied by what makes one of its terms a
// product that stands somewhere; of the products that this gives, all but one must stand somewhere already.
void Prover::addLongProducts(std::vector<Row> &system) {
  for (int round = 0; round < 2; ++round) {
    std::vector<Monomial> wanted;
    for (auto &[m, atom] : products)
      wanted.push_back(m);
    for (size_t i = system.size(); i-- > 0 && system.size() < kMaxRows;) { // what is to be refuted stands last
      Linear form = system[i].form;                                        // the rows move
      if (form.overflow || form.terms.empty() || form.terms.size() > 4)
        continue;
      std::vector<Monomial> multipliers;
      for (auto [x, c] : form.terms)
        for (const Monomial &m : wanted)
          if (auto rest = without(m, factors(x)); rest && !rest->empty() && !llvm::is_contained(multipliers, *rest) &&
                                                  llvm::all_of(*rest, [&](unsigned f) { return atoms[f].nonNegative; }))
            multipliers.push_back(*rest);
      for (const Monomial &by : multipliers) {
        unsigned unknown = 0;
        for (auto [x, c] : form.terms) {
          Monomial m(factors(x));
          m.append(by);
          llvm::sort(m);
          unknown += m.size() > kMaxDegree ? 2 : !products.count(m);
        }
        if (unknown > 1)
          continue;
        Linear single;
        single.terms[productAtom(by)] = 1;
        Row r{multiply(form, single), system[i].isEq};
        if (!r.form.overflow)
          system.push_back(r);
      }
    }
  }
}

bool Prover::isEmptyWithProducts(std::vector<Row> &system) {
  addProducts(system);
  if (isEmpty(system))
    return true;
  // The products that this brings serve this proof only: later ones would multiply by all of them.
  auto known = products;
  size_t numAtoms = atoms.size(), numRows = rows.size();
  addLongProducts(system);
  bool empty = isEmpty(system);
  products = std::move(known);
  atoms.resize(numAtoms);
  rows.resize(numRows);
  return empty;
}

/// A product that is at least 1 has factors that are.
void Prover::assumeFactors() {
  llvm::SmallVector<unsigned> candidates;
  for (auto &[m, atom] : products)
    for (unsigned f : m)
      if (atoms[f].nonNegative && !llvm::is_contained(candidates, f))
        candidates.push_back(f);
  for (unsigned f : candidates) {
    Linear positive;
    positive.terms[f] = 1;
    positive.constant = -1;
    if (proves(positive))
      rows.push_back({positive});
  }
}

} // namespace kernelc::frontend
