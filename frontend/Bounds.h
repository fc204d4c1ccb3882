// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bounds checker's shared parts: Bounds.cpp proves, BoundsReport.cpp explains
// what was not proved. Used by Sema only.
#pragma once

#include "frontend/Sema.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace kernelc::frontend {

/// Where an expression is evaluated, and what holds there.
struct BoundsContext {
  llvm::SmallVector<IndexVar *> domain;
  llvm::SmallVector<Constraint> hard;          ///< the domain's own conditions
  llvm::SmallVector<Constraint> soft;          ///< hold whenever the value matters
  llvm::SmallVector<mlir::AffineExpr> unequal; ///< are not 0 then
  using Facts = llvm::SmallVector<std::pair<Node *, bool>, 0>;
  Facts data; ///< the same of comparisons with data, true where they fail
  Facts path; ///< all conditions around the value, true where they have to fail
};

/// A subscript that depends on data and is not proved to stay inside, where it is evaluated. Such an access touches no memory
/// outside its tensor (it reads zero, or writes nothing); Guards.cpp makes a statement that finds the first point at which it would.
struct Guard {
  Loc loc;
  Node *subscript = nullptr;
  mlir::AffineExpr dim; ///< what it has to stay below
  std::string what;     ///< "subscript 0 of 'table' leaves 0:V"
  BoundsContext where;
};

class BoundsChecker {
public:
  BoundsChecker(Diagnostics &diags, Kernel &kernel, Elaborator &elab, const Prover &base)
      : diags(diags), kernel(kernel), elab(elab), base(base), context(&diags.getContext()) {}

  void check(Node *n, const BoundsContext &c) {
    llvm::DenseSet<Node *> seen;
    Prover prover = proverFor(c, false);
    visit(n, c, prover, seen);
  }
  /// The access of a left side.
  void checkWrite(Node *n, const BoundsContext &c) {
    isWrite = true;
    check(n, c);
    isWrite = false;
  }
  /// The left side of a scatter: what is not affine may lie outside, which `form` then says.
  void checkScatter(const CoreStatement &core, ScatterForm &form, const BoundsContext &hard, const BoundsContext &c);
  /// Whatever is checked in `c` from now on matters only where `condition` holds.
  void assumeIn(BoundsContext &c, Node *condition) { addHypotheses(condition, false, c); }
  /// The free indices of the statement: those of a `let` run from 0 as far as its text says, others as far as the left side does.
  void setFree(llvm::ArrayRef<IndexVar *> vars, bool ofLet) {
    free = vars;
    isLet = ofLet;
  }
  bool ok = true;
  std::vector<Guard> guards; ///< what was not proved of subscripts by data
  std::vector<OwnRead> ownReads;

private:
  /// Whether a guard may be needed below `n`: conditions around it then count that say nothing to a proof.
  bool mayGuard(Node *n);
  void addGuard(Loc loc, Node *subscript, mlir::AffineExpr dim, llvm::StringRef tensor, unsigned number, const BoundsContext &c);
  void visit(Node *n, const BoundsContext &c, Prover &prover, llvm::DenseSet<Node *> &seen);
  void visitReduce(Node *n, const BoundsContext &c);
  void checkRead(Node *n, const BoundsContext &c, Prover &prover);
  /// Of an access by a form such as '.edge'.
  void checkForm(Node *n, Prover &prover);
  /// What is proved of a subscript: that it is inside, always or where the conditions around it hold; not below; nothing.
  enum class Proved { Always, WhereItCounts, LowEnd, Neither };
  Proved proveSubscript(Node *s, mlir::AffineExpr dim, const BoundsContext &c, Prover &prover, std::optional<Prover> &softProver);
  void padWithZero(Node *n);
  void checkDefined(Node *n, const BoundsContext &c, Prover &prover);
  bool mayBeEmpty(Node *n);
  void checkPositions(Node *n);
  /// Is `n >= bound` (or `n <= bound`) proved? Sees through min, max and selects.
  bool provesAtLeast(Node *n, mlir::AffineExpr bound, Prover &prover);
  bool provesAtMost(Node *n, mlir::AffineExpr bound, Prover &prover);
  bool inEachCase(Node *select, Prover &prover, llvm::function_ref<bool(Node *, Prover &)> holds);
  bool checkDivisors(mlir::AffineExpr e, Prover &prover);
  Prover proverFor(const BoundsContext &c, bool withSoft);
  Loc subscriptLoc(Node *n, unsigned i);
  std::pair<Node *, mlir::AffineExpr> subscriptOf(Node *n, unsigned i);
  void report(Node *n, unsigned dim, const BoundsContext &c, bool below);
  /// The same of a subscript of indices alone that is not affine.
  void reportUnproved(Node *n, unsigned dim);
  void addHypotheses(Node *cond, bool negated, BoundsContext &to);
  /// What the model says of `n` with all that is assumed of data: whether `holds` of it.
  bool provesOfModel(Node *n, Prover &prover, llvm::function_ref<mlir::AffineExpr(mlir::AffineExpr)> goal);
  bool findPoint(mlir::AffineExpr sub, mlir::AffineExpr dim, const BoundsContext &c, std::map<unsigned, int64_t> &dims,
                 std::map<unsigned, int64_t> &symbols);
  /// The same with sizes up to 8, and with these sizes; `budget`: how many points may be looked at yet.
  bool findSmallPoint(mlir::AffineExpr sub, mlir::AffineExpr dim, const BoundsContext &c, std::map<unsigned, int64_t> &dims,
                      std::map<unsigned, int64_t> &symbols);
  bool findPointOf(mlir::AffineExpr sub, mlir::AffineExpr dim, const BoundsContext &c, std::map<unsigned, int64_t> &dims,
                   const std::map<unsigned, int64_t> &symbols, unsigned &budget);
  bool isPoint(mlir::AffineExpr sub, mlir::AffineExpr dim, const BoundsContext &c, const std::map<unsigned, int64_t> &dims,
               const std::map<unsigned, int64_t> &symbols);
  std::string divisorNeeded(mlir::AffineExpr sub, mlir::AffineExpr dim);
  std::string suggestion(Node *n, mlir::AffineExpr sub, mlir::AffineExpr dim, bool below, const BoundsContext &c);
  std::string repair(mlir::AffineExpr sub, mlir::AffineExpr dim, bool below, const BoundsContext &c);
  std::optional<std::pair<mlir::AffineExpr, mlir::AffineExpr>> extent(mlir::AffineExpr sub, const BoundsContext &c);
  bool isOfOutputsAlone(mlir::AffineExpr size);
  mlir::AffineExpr simplified(mlir::AffineExpr e) { return simplifyAffineExpr(e, kernel.indices.size(), kernel.sizes.size()); }
  /// The index of `sub`, where it has one alone; null for others.
  IndexVar *onlyIndexOf(mlir::AffineExpr sub);
  /// The range that keeps the only index of `sub` inside, as "i in 0:N - 1"; empty where that is not so simple.
  std::string rangeInside(mlir::AffineExpr sub, mlir::AffineExpr dim, bool below);
  /// The same of an index whose range nobody has written, and may be written: "write 'i in 0:N - 1'", or empty.
  std::string rangeToWrite(mlir::AffineExpr sub, mlir::AffineExpr dim, bool below);
  mlir::AffineExpr extreme(mlir::AffineExpr e, bool upper);

  Diagnostics &diags;
  Kernel &kernel;
  Elaborator &elab;
  const Prover &base;
  mlir::MLIRContext *context;
  bool isWrite = false, isLet = false;
  llvm::ArrayRef<IndexVar *> free;
  llvm::DenseMap<Node *, bool> mayGuard_;
  BoundsContext::Facts known; ///< of data, where an access is being proved
};

} // namespace kernelc::frontend
