// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks one kernel: parameters and sizes, statements, ranges, bounds, coverage.
// The result is Core, ready for Emit. Split by concern: Sema.cpp (parameters,
// requirements), SemaStatements.cpp, Ranges.cpp, Bounds.cpp, Coverage.cpp.
#pragma once

#include "frontend/Elaborate.h"
#include "frontend/Prover.h"
#include "llvm/ADT/StringSet.h"

namespace kernelc::frontend {

struct Guard;

class Sema {
public:
  Sema(Diagnostics &diags, Kernel &kernel, const FnTable &fns, const FnTable &reducers, const Constants &constants)
      : diags(diags), kernel(kernel), elab(diags, kernel, fns, reducers, constants), constants(constants) {
    elab.sizesAgree = [this](mlir::AffineExpr a, mlir::AffineExpr b) {
      Prover p = prover;
      return p.proves(a - b) && p.proves(b - a);
    };
  }

  /// Checks everything and fills `statements`; false after errors.
  bool run();
  std::vector<CoreStatement> statements;
  /// False where sizes, constants or requirements were refused already.
  bool statementsWereReached() const { return reached; }
  Elaborator &getElaborator() { return elab; }
  Prover &getProver() { return prover; }

private:
  mlir::MLIRContext *context() const { return &diags.getContext(); }

  // Sema.cpp
  bool declareParams();
  void reportNoOutput();
  bool declareConst(const Param &p);
  /// What `set` fixes `p` to; null after an error.
  Node *makeConstant(const Param &p, const Constant &set, ElementType type);
  /// `value` as one of `type`, with a warning where that is hardly what was meant.
  Node *roundConstant(Node *value, ElementType type);
  bool declareTensor(const Param &p, Tensor::Kind kind);
  bool checkParam(const Param &p, Tensor::Kind kind);
  bool checkDims(const Param &p, Tensor &t);
  bool declareSizes(const TypeRef &type);
  bool checkFreshName(llvm::StringRef name, Loc loc);
  bool addRequirement(const Statement &s);
  void seedProver();

  // SemaStatements.cpp
  bool checkStatement(const Statement &s);
  bool checkPolicy(const Statement &s);
  bool checkLet(const Statement &s);
  bool checkLetText(const Statement &s);
  bool checkLetSubscripts(const Statement &s, Scope *scope);
  /// The value of a let that may read itself: `t` is in scope for it alone.
  Node *elaborateLet(const Statement &s, Tensor &t, const Expr *assigned, Scope *scope);
  /// Gives `t` the elements that are written, or else those of `value`; returns that as them, null after an error.
  Node *giveElement(const Statement &s, Tensor &t, Node *value);
  /// Ranges, dims and order of a let; false after an error.
  bool finishLet(const Statement &s, CoreStatement &core, Tensor &t, const Expr *assigned);
  ElementType likelyElement(const Expr *e, llvm::StringRef own);
  bool defineTuple(CoreStatement &core, Tensor &t, Node *value);
  /// The tensors of a let of tuples that reads itself, before its value is known; false after an error.
  bool declareParts(const Statement &s, Tensor &t, const Expr *assigned);
  Tensor &addPart(Tensor &t, ElementType element);
  /// Of a let with conditions: keeps where it is defined, and gives it some value elsewhere; false after an error.
  bool restrictLet(CoreStatement &core, Tensor &t);
  /// The dims of a let: those that its statement's indices have.
  void giveWrittenDims(const CoreStatement &core, Tensor &t);
  bool giveDims(const CoreStatement &core, Tensor &t);
  mlir::AffineExpr largestOf(mlir::AffineExpr e, llvm::ArrayRef<IndexVar *> vars);
  bool checkAssign(const Statement &s);
  void reportUnknownTarget(const Statement &s);
  /// What the statement combines by, `form` where that is a reducer of the program; false after an error.
  bool checkAssignOperator(const Statement &s, CoreStatement &core, const ReducerForm *&form);
  /// Each makes `value` what the statement stores; false after an error. A plain one:
  bool storeAs(CoreStatement &core, Node *value, bool wraps);
  /// Points that may meet:
  bool formPoints(CoreStatement &core, Scope *scope, const ReducerForm *form, Node *value);
  /// Combined with what was there:
  bool combineAssigned(CoreStatement &core, Scope *scope, const ReducerForm *form, Node *value);
  bool checkAssignTarget(const Statement &s, Tensor *t);
  bool bindLeft(const Statement &s, Scope *scope, CoreStatement &core);
  void collectFreeNames(const Expr *e, llvm::SmallVectorImpl<const Expr *> &names);
  void collectSubscriptNames(const Expr *e, llvm::SmallVectorImpl<const Expr *> &names, llvm::SmallVectorImpl<llvm::StringRef> &bound,
                             bool inSubscript);
  bool checkWhere(llvm::ArrayRef<BracketItem> where, Scope *scope, CoreStatement &core);
  /// y[i] = sum[k](e) where off[g] <= i < off[g + 1]  ->  sum[g, k, off[g] <= i < off[g + 1]](e):
  /// takes such conditions out of `where`. Returns what is assigned; null after an error.
  const Expr *takeGroups(const Statement &s, std::vector<BracketItem> &where);
  bool finishStatement(CoreStatement &core);
  bool finishAssign(const Statement &s, CoreStatement &core);
  Node *combineWithOld(CoreStatement &core, te::Combiner kind, Node *value);
  /// `value` reduced over the statement's own indices; null after an error.
  Node *reduceAssigned(CoreStatement &core, te::Combiner kind, Node *value);
  /// The same by a reducer of the program.
  Node *combineWithOld(CoreStatement &core, const ReducerForm &form, Node *value);

  // Recurrence.cpp
  /// Whether a statement reads what it defines itself.
  bool readsOwn(CoreStatement &core);
  /// Makes a fold along an index of such a statement, whose ranges are known and whose accesses are proved, or orders its points; false
  /// after an error.
  bool makeRecurrence(CoreStatement &core);
  /// The same of a let of tuples, whose parts are defined together.
  bool makeTupleRecurrence(CoreStatement &core);

  // Mutual.cpp
  /// Writes statements that read each other as one; false after an error.
  bool joinMutual();

  // Order.cpp
  /// Finds the order in which such a statement defines its elements, where it is no such fold; false after an error.
  bool orderPoints(CoreStatement &core);

  // Scatter.cpp
  /// Whether the points of a statement may choose their element, or meet in one.
  static bool mayScatter(const Statement &s);
  /// Points that may meet in one element where nothing says what is to be done with them.
  void reportMeeting(Loc loc, llvm::StringRef target);
  bool checkScatterText(const Statement &s);
  /// Makes a scatter of a statement that assigns `value`, or combines it by `kind`; false after an error.
  bool formScatter(CoreStatement &core, std::optional<te::Combiner> kind, Node *value);
  /// A scatter by a reducer of the program: each element reduces the points that name it. Null after an error.
  Node *gatherPoints(CoreStatement &core, Scope *scope, const ReducerForm &form, Node *value);

  // Ranges.cpp
  bool inferRanges(CoreStatement &core);

  // ReaderRanges.cpp
  /// How many elements the readers of `let` ask for along its index `position`; null where they do not say.
  mlir::AffineExpr extentFromReaders(const Statement &let, size_t position);

  // Bounds.cpp
  bool checkBounds(CoreStatement &core);

  // Guards.cpp
  /// Statements that record at which points subscripts leave their tensors.
  bool addGuards(const std::vector<Guard> &guards);
  bool addGuard(const Guard &guard);
  bool checkAssert(const Statement &s);
  void recordWhere(CoreStatement core, std::string what);
  /// Adds a statement, and behind it what asks the elements that it defines.
  void addStatement(CoreStatement core);
  Tensor *recordTensor();
  /// The record becomes an inout behind those of the text.
  void finishRecord();

  // Coverage.cpp
  bool checkCoverage();
  /// Whether no two points of a statement are proved to name one element.
  bool namesElementsOnce(const CoreStatement &core);

  Diagnostics &diags;
  Kernel &kernel;
  Elaborator elab;
  const Constants &constants;
  std::deque<Expr> grouped; ///< made by takeGroups
  llvm::StringSet<> knownGuards;
  const Statement *let = nullptr; ///< the one that is being checked
  unsigned guardedStatements = 0;
  std::vector<CoreStatement> laterGuards; ///< of the statement being checked, that read what it defines
  bool requirementsAreKnown = true, reached = false;
  Prover prover; ///< knows what holds of the sizes at every launch
};

/// Calls `visit` on every node below (and with) `n`, once each;
/// reductions and conditions included. Deep chains need no deep stack.
void walk(Node *n, llvm::function_ref<void(Node *)> visit);

/// Those of `outer` that `n` uses and does not bind itself, in the order of `outer`.
llvm::SmallVector<IndexVar *> usedOuter(Node *n, llvm::ArrayRef<IndexVar *> outer);

/// A comparison of index expressions as a constraint, or nothing.
std::optional<Constraint> constraintOf(Node *n, bool negated);

/// The conjuncts `e >= 0` (or == 0) of a condition, as far as it is a conjunction of
/// integer comparisons; `rest` gets what is not.
void splitCondition(Node *n, llvm::SmallVectorImpl<Constraint> &affine, llvm::SmallVectorImpl<Node *> &rest);

/// Text of an index expression with the names of the source, for messages.
std::string print(mlir::AffineExpr e, const Kernel &kernel);

} // namespace kernelc::frontend
