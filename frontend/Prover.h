// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Proves integer inequalities over indices and sizes from what is assumed.
//
// Expressions are AffineExprs, semi-affine ones included. They become linear
// forms over *atoms*: dims, symbols, floor quotients e // q, and products of
// those. A quotient brings its defining inequalities q*t <= e < q*t + q; a
// remainder is e - q*(e // q). Where products occur, assumptions are multiplied by
// atoms known not to be negative (this is what proves h // (H // G) < G from
// H % G == 0). What is left is decided by Presburger's simplex: an answer "true"
// is a proof, "false" means only that none was found.
#pragma once

#include <map>
#include <vector>

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::frontend {

/// `expr >= 0`, or `expr == 0`.
struct Constraint {
  mlir::AffineExpr expr;
  bool isEq = false;
};

class Prover {
public:
  /// From now on `e >= 0` (or `e == 0`) holds.
  void assume(mlir::AffineExpr e, bool isEq = false);
  /// All of them, those with fewer divisions first: a quotient says more once its divisor is known to be positive.
  void assumeAll(llvm::ArrayRef<Constraint> constraints);
  /// Is `e >= 0` proved? What a proof looks at stays known, so that another may succeed after it: ask copies where the order of
  /// questions must not matter.
  bool proves(mlir::AffineExpr e);
  bool provesLess(mlir::AffineExpr a, mlir::AffineExpr b) { return proves(b - a - 1); }
  /// Do the assumptions contradict each other?
  bool contradictory();
  /// Values of dims and symbols that fulfil the assumptions and make `e` negative:
  /// `dims[i]`, `symbols[i]`. A candidate only; the caller evaluates it.
  bool findCounterexample(mlir::AffineExpr e, std::map<unsigned, int64_t> &dims, std::map<unsigned, int64_t> &symbols);

private:
  /// A linear form: coefficients by atom (the last entry is the constant).
  struct Linear {
    std::map<unsigned, int64_t> terms;
    int64_t constant = 0;
    bool overflow = false;
  };
  static constexpr size_t kMaxDegree = 3; ///< of products
  struct Row {
    Linear form;
    bool isEq = false;
  };
  using Monomial = llvm::SmallVector<unsigned, 2>; ///< sorted atoms; one: the atom itself

  bool proves(const Linear &goal);
  Linear linearize(mlir::AffineExpr e);
  unsigned atomFor(mlir::AffineExpr e);
  Linear quotient(mlir::AffineExpr e, mlir::AffineExpr divisor);
  void boundQuotient(const Linear &e, const Linear &divisor, unsigned atom);
  /// `form` with one of its atoms replaced by what an equality says that it is.
  std::vector<Linear> equalForms(const Linear &form);
  static bool divideByNumber(const Linear &a, int64_t d, Linear &out);
  bool divideByAtom(const Linear &a, unsigned d, Linear &out);
  Linear multiply(const Linear &a, const Linear &b);
  unsigned productAtom(const Monomial &m);
  const Monomial &factors(unsigned atom) const { return atoms[atom].monomial; }
  static void add(Linear &a, const Linear &b, int64_t scale);
  void addProducts(std::vector<Row> &rows);
  void addLongProducts(std::vector<Row> &rows);
  bool isEmptyWithProducts(std::vector<Row> &rows);
  bool isEmpty(const std::vector<Row> &rows);
  bool knownNonNegative(unsigned atom);
  bool knownPositive(mlir::AffineExpr e);
  void assumeFactors();

  struct Atom {
    Monomial monomial;
    mlir::AffineExpr expr; ///< of a dim, symbol or quotient
    bool nonNegative = false;
    bool defined = false; ///< a quotient whose inequalities stand in `rows`
  };
  std::vector<Atom> atoms;
  std::map<Monomial, unsigned> products;
  llvm::SmallVector<std::pair<mlir::AffineExpr, unsigned>> exprAtoms;
  std::vector<Row> rows;
  unsigned depth = 0;
};

/// Value of `e`, with floor division, x // 0 == x % 0 == 0; wraps.
int64_t evaluate(mlir::AffineExpr e, const std::map<unsigned, int64_t> &dims, const std::map<unsigned, int64_t> &symbols);

} // namespace kernelc::frontend
