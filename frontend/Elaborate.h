// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Syntax to Core expressions: resolves names, inlines functions, gives types and
// makes conversions explicit. One Elaborator serves one kernel. Ranges, bounds
// and coverage are not its concern.
//
// Hygiene. A function's body is elaborated in a scope of its own; an argument is
// a *thunk*, elaborated in the caller's scope each time its name occurs. Index
// names stand for keys; what a key currently stands for is dynamic, so that
// `max[j](e)` inside `fn softmax[j](e)` rebinds the caller's j within e, and a
// bracket of the function's own cannot capture a name of the caller's.
#pragma once

#include <functional>

#include "frontend/Core.h"
#include "support/Constant.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace kernelc::frontend {

struct Scope;

/// What an index parameter of a function stands for: the indices of the call's bracket, with their ranges and conditions.
struct IndexPack {
  struct Index {
    unsigned key = 0;
    const Expr *lo = nullptr, *hi = nullptr; ///< where the call gives a range
    bool openLo = false, closedHi = false;
    const Scope *scope = nullptr; ///< of the range
  };
  llvm::SmallVector<Index, 1> indices;
  llvm::SmallVector<std::pair<const Expr *, const Scope *>> conditions;
};

struct Binding {
  enum Kind : uint8_t { Key, Thunk, Lambda };
  Kind kind = Key;
  unsigned key = 0;
  const Expr *expr = nullptr;
  const Scope *scope = nullptr;
  const Statement *lambda = nullptr; ///< a function's `let t[i] = ..`
  const Param *param = nullptr;      ///< a typed parameter converts
  unsigned callDepth = 0;            ///< Thunk: calls open where it was written
  const IndexPack *pack = nullptr;   ///< Key, of an index parameter: a bracket of this name rebinds the caller's keys
};

struct Scope {
  const Scope *parent = nullptr;
  bool kernelLevel = false; ///< the kernel's names are visible
  std::vector<std::pair<llvm::StringRef, Binding>> names;
  const Binding *find(llvm::StringRef name) const;
};

using FnTable = llvm::StringMap<const Definition *>;

inline constexpr unsigned kMaxOperations = 20000;
inline constexpr int64_t kMaxAffineConstant = int64_t(1) << 40; ///< of sizes, bounds and subscripts on the left
inline constexpr unsigned kMaxReductions = 512;                 ///< of a kernel: each is a statement that is compared with the others

inline std::optional<ElementType> elementNamed(llvm::StringRef name) {
  return findElementType(absl::string_view(name.data(), name.size()));
}
/// The built-in reduction of that name; mean is a sum.
std::optional<te::Combiner> reductionNamed(llvm::StringRef name);

/// `lo:hi` over indices and sizes, and what else bounds its index: `index predicate bound`. A side is null where data or scalars
/// alone bound it.
struct WrittenRange {
  mlir::AffineExpr lo, hi;
  llvm::SmallVector<std::pair<mlir::arith::CmpIPredicate, Node *>, 1> others;
};
/// `lo <= index < hi`, as it is written in either direction.
struct ChainedRange {
  const Expr *index, *lo, *hi;
  bool openLo, closedHi;
};
/// `e` as one; nothing where it is no chain around a name.
std::optional<ChainedRange> chainedRange(const Expr *e);
/// a, b and c of max(a, b, c), where that is what bounds are joined by.
llvm::SmallVector<Node *> boundsOf(Node *n, Node::Kind joined);

/// A reduction's bracket, sorted.
struct Bracket {
  struct Range {
    IndexVar *var;
    Node *node; ///< the index as a value
    const Expr *lo, *hi;
    bool openLo, closedHi;
    const Scope *scope; ///< of the bounds; null: the bracket's own, as far as it stands before
    size_t names, keys; ///< that the bounds may speak of: those before the index
  };
  llvm::SmallVector<IndexVar *> vars;
  llvm::SmallVector<llvm::StringRef> names; ///< in the text, one each per index or parameter
  llvm::SmallVector<Range> ranges;
  llvm::SmallVector<std::pair<const Expr *, const Scope *>> conditions; ///< scope null: the bracket's own
  llvm::SmallVector<std::pair<Node *, WrittenRange>> written;           ///< ranges with bounds beside their own
};

class Elaborator {
public:
  Elaborator(Diagnostics &diags, Kernel &kernel, const FnTable &fns, const FnTable &reducers, const Constants &constants)
      : diags(diags), kernel(kernel), fns(fns), reducers(reducers), constants(constants) {}

  // --- names of the kernel (Sema fills them)
  void addSize(llvm::StringRef name);
  llvm::StringMap<Node *> constValues; ///< const parameters and fixed sizes
  llvm::StringMap<Tensor *> tensors;
  llvm::StringMap<unsigned> sizeIndex;

  /// True for names an index may not have.
  bool isKernelName(llvm::StringRef name) const;
  bool isFunction(llvm::StringRef name) const { return fns.contains(name); }

  // --- statements
  /// Opens the scope of a statement; free indices are then bound into it.
  Scope *openStatement();
  IndexVar *bindIndex(Scope *scope, llvm::StringRef name, Loc loc);
  /// Reports nothing for a poisoned subtree; null after an error. A value of one field: tuples are an error.
  Node *elaborate(const Expr *e, const Scope *scope);
  /// The same, tuples as well (Node::Tuple).
  Node *elaborateValue(const Expr *e, const Scope *scope);
  /// A condition: a bool.
  Node *elaborateCondition(const Expr *e, const Scope *scope);
  /// A size expression of a shape or a range: affine or null after an error.
  Node *elaborateInteger(const Expr *e, const Scope *scope, llvm::StringRef what);
  /// A subscript under a bounds form, of any integer type, as an i64 that is inside `dim` exactly where the integer is; null after an
  /// error.
  Node *elaborateSubscript(const Expr *e, const Scope *scope, llvm::StringRef mode, mlir::AffineExpr dim);
  /// Whether `n` is one; an error at `loc` where it is not.
  bool expectInteger(Node *n, Loc loc, llvm::StringRef what);
  /// Sorts items into declarations, bound into `scope`, and conditions.
  bool elaborateItems(llvm::ArrayRef<BracketItem> items, const Scope *outer, Scope *scope, Bracket &bracket);

  /// "unknown element type 'float'; did you mean 'f32'?"
  void reportUnknownType(llvm::StringRef type, Loc loc);

  // --- ranges (WrittenRange.cpp)
  /// Of `max(a, b):min(c, d)` one bound on each side is of indices, sizes and integers; what has none is as far as accesses allow.
  std::optional<WrittenRange> elaborateRange(const Expr *lo, bool openLo, const Expr *hi, bool closedHi, const Scope *scope);
  std::pair<Node *, Node *> pickBounds(llvm::ArrayRef<Node *> lower, llvm::ArrayRef<Node *> upper);
  bool collectBounds(const Expr *e, Node::Kind joined, const Scope *scope, llvm::SmallVectorImpl<Node *> &parts);
  /// The bounds that a range has beside its own, as conditions on its index.
  bool addConditions(const WrittenRange &range, Node *index, llvm::SmallVectorImpl<Node *> &conditions);

  // --- types (Types.cpp)
  /// `n` as a value of type `to`; literals adapt. Null and an error when that needs a cast.
  Node *convert(Node *n, Ty to);
  void reportUnfit(const Node *n, ElementType element);
  /// `n` converted for a store into `element`: rounding at stores is explicit.
  Node *convertForStore(Node *n, ElementType element, llvm::StringRef into);
  /// Whether the integer `n` is known to be one of `element`.
  static bool isOfType(const Node *n, ElementType element);
  /// The value that a store into `element` would leave, as it is read.
  Node *convertAsStored(Node *n, ElementType element, llvm::StringRef into);
  /// A literal's default type: i32 and f32.
  Node *concrete(Node *n);
  Node *castTo(Node *n, ElementType element, Loc loc);
  /// Brings two operands to one type; false after an error at `loc`.
  bool unify(Node *&a, Node *&b, Loc loc, llvm::StringRef what);
  /// The type both sides convert to, or Error.
  static Ty join(const Node *a, const Node *b);

  Node *make(Node::Kind kind, Ty type, Loc loc);
  Node *makeInt(int64_t v, Ty type, Loc loc);
  Node *makeFloat(double v, Ty type, Loc loc);
  Node *makeBool(bool v, Loc loc);
  /// The value of a reduction over no terms whose result is stored as `element`: its identity.
  Node *makeIdentity(te::Combiner kind, ElementType element, Loc loc);
  Node *makeAffine(mlir::AffineExpr e, Loc loc);
  Node *makeCompare(mlir::arith::CmpIPredicate p, Node *a, Node *b, Loc loc);
  /// Comparisons of integers turn round, so that a condition means the same however it is spelled.
  Node *makeNot(Node *n, Loc loc);
  /// `a if cond else b`; null after an error.
  Node *makeSelect(Node *cond, Node *a, Node *b, Loc loc);
  Node *makeAnd(llvm::ArrayRef<Node *> parts, Loc loc);
  /// Binary arithmetic on operands of any type; null after an error.
  Node *makeBinary(Node::Kind kind, Node *a, Node *b, Loc loc);
  bool unifyShift(Node *&a, Node *&b, Loc loc, llvm::StringRef what);
  bool divideIntegers(Node *&a, Node *&b, Loc loc);
  void reportFloatBits(Node::Kind kind, Node *a, Node *b, Loc loc);

  // --- reducers of the program (ElaborateReducer.cpp)
  /// The definition, checked; null after an error, or where there is none of that name.
  const ReducerForm *findReducer(llvm::StringRef name);
  bool isReducer(llvm::StringRef name) const { return reducers.contains(name); }
  /// The reduction of elements with these fields over `vars`; its laws are tested. Of scalars a value, else a tuple.
  Node *makeOwnReduce(const ReducerForm &form, llvm::ArrayRef<IndexVar *> vars, llvm::ArrayRef<Node *> conditions,
                      llvm::ArrayRef<Node *> element, Loc loc);
  /// What two states, with these fields, combine to.
  bool combineStates(const ReducerForm &form, llvm::ArrayRef<Node *> before, llvm::ArrayRef<Node *> behind,
                     llvm::SmallVectorImpl<Node *> &combined);
  Node *makeTuple(llvm::ArrayRef<Node *> values, const FieldNames &names, Loc loc);
  /// The fields of a tuple's type; false after an error.
  bool readFields(const TypeRef &type, FieldNames &names, llvm::SmallVectorImpl<ElementType> &types);
  /// `n` with the fields of `type`, each as it is stored; null after an error.
  Node *convertTupleTo(Node *n, const TypeRef &type, llvm::StringRef into) { return convertTuple(n, type, into); }

  Node *makeReduceNode(te::Combiner kind, llvm::ArrayRef<IndexVar *> vars, Node *body, Loc loc) {
    return makeReduce(kind, vars, {}, body, loc);
  }

  mlir::MLIRContext *context() const { return &diags.getContext(); }
  Diagnostics &diags;
  Kernel &kernel;

  /// Whether two expressions of sizes are known to be equal; Sema says.
  std::function<bool(mlir::AffineExpr, mlir::AffineExpr)> sizesAgree;

  /// Names of a reduce-assign's right side that stand for reduced indices are bound
  /// by Sema before; with plain `=` this is what an unknown index is told.
  bool plainAssign = false;
  Tensor *own = nullptr;   ///< what the statement defines, where it may read it (a recurrence)
  llvm::StringRef letName; ///< of the `let` that is elaborated; empty in an assignment
  /// The free indices of the statement.
  llvm::SmallVector<llvm::StringRef> leftNames;
  /// The dims of the output that they go over, where its subscripts are these indices; else empty.
  llvm::SmallVector<mlir::AffineExpr> leftDims;

private:
  friend struct DepthGuard;
  bool count(Loc loc);
  Loc at(Loc loc) const { return loc.file == 0 || !callSite ? loc : *callSite; }
  mlir::InFlightDiagnostic error(Loc loc) { return diags.error(at(loc)); }

  // Elaborate.cpp
  Node *elaborateName(const Expr *e, const Scope *scope);
  Node *elaborateBinding(const Expr *e, const Binding &b);
  Node *unknownName(const Expr *e, const Scope *scope);
  Node *elaborateChain(const Expr *e, const Scope *scope);
  Node *elaborateUnary(const Expr *e, const Scope *scope);
  Node *elaboratePower(const Expr *e, const Scope *scope);
  Node *elaborateCompare(const Expr *e, const Scope *scope);
  Node *elaborateLogic(const Expr *e, const Scope *scope);
  Node *elaborateSelect(const Expr *e, const Scope *scope);
  Node *elaborateAccess(const Expr *e, const Scope *scope);
  Node *readTensor(Tensor *t, const Expr *e, const Scope *scope);
  /// A read without its subscripts; null after an error.
  Node *makeRead(Tensor *t, const Expr *e);
  /// A subscript as an i64; `mode` and `dim` as for asIndex().
  Node *elaborateSubscript(const Expr *e, llvm::StringRef mode, mlir::AffineExpr dim, const Scope *scope);
  // ElaborateTuple.cpp
  Node *elaborateMember(const Expr *e, const Scope *scope);
  Node *elaborateTuple(const Expr *e, const Scope *scope);
  Node *selectTuple(Node *condition, Node *a, Node *b, Loc loc);
  /// `n` with the fields that a parameter or result of type `type` has, each as it is stored.
  Node *convertTuple(Node *n, const TypeRef &type, llvm::StringRef into);
  // ElaborateReducer.cpp
  bool checkReducer(const Definition &d, ReducerForm &form);
  bool checkIdentity(const Definition &d, ReducerForm &form);
  bool elaborateElement(const ReducerForm &form, const Expr *e, const Scope *scope, llvm::SmallVectorImpl<Node *> &element);
  /// The fields of `n`, as a state of `form` stores them.
  bool toState(const ReducerForm &form, Node *n, llvm::StringRef what, llvm::SmallVectorImpl<Node *> &fields);
  // ElaborateView.cpp
  struct View;
  Node *elaborateView(const Expr *e, const Scope *scope);
  bool parseView(View &view, const Scope *scope);
  bool findViewSizes(View &view, const Scope *scope);
  bool elaborateMode(Node *read, const Expr *e, const Scope *scope);
  void reportUnknownMode(const Tensor *t, const Expr *e);
  std::string subscriptsFor(const Tensor &t) const;
  /// "; write 'i32(p[i])'", as the end of a message.
  std::string castOf(const Expr *e, llvm::StringRef type) const;
  /// An unsigned subscript (or bound of a range) as an i64 that its bounds form takes to the same element of `dim`: a u64 of
  /// 2^63 and more would be negative.
  Node *asIndex(Node *s, llvm::StringRef mode, mlir::AffineExpr dim);
  // ElaborateCalls.cpp
  Node *elaborateCall(const Expr *e, const Scope *scope);
  /// A call of what takes no arguments, or other ones; false where it is none of these.
  bool reportNoCall(const Expr *e);
  void reportUnknownFunction(const Expr *e);
  llvm::StringRef textOfBracket(const Expr *e) const;
  Node *elaborateCast(const Expr *e, const Scope *scope);
  Node *elaborateMath(const Expr *e, const Scope *scope);
  Node *makeIntegerAbs(Node *of, Loc loc);
  Node *elaboratePopcount(const Expr *e, const Scope *scope);
  Node *elaborateMinMax(const Expr *e, const Scope *scope);
  Node *elaborateReduce(const Expr *e, const Scope *scope);
  Node *makeReduce(te::Combiner kind, llvm::ArrayRef<IndexVar *> vars, llvm::ArrayRef<Node *> conditions, Node *body, Loc loc);
  Node *makeMean(Node *reduce, llvm::ArrayRef<IndexVar *> vars, Loc loc);
  Node *elaborateFn(const Definition *fn, const Expr *e, const Scope *scope);
  Node *elaborateLambda(const Binding &b, const Expr *e, const Scope *scope);
  void shiftWindow(IndexVar *v);
  bool declareIndex(const Expr *e, const Scope *outer, Scope *scope, Bracket &bracket, const BracketItem *ranged,
                    const std::optional<ChainedRange> &chain);
  bool declarePack(const Expr *e, const Binding &b, Scope *scope, Bracket &bracket, bool isRanged);
  bool isDeclaration(const Expr *name, const Scope *outer, llvm::ArrayRef<llvm::StringRef> declared) const;
  /// The name in a bracket's conditions that would have to be an index of it: of `sum[j < N](..)`.
  llvm::StringRef indexAskedOf(const Expr *e, const Scope *outer) const;
  bool elaborateRanges(const Scope *outer, Scope *scope, Bracket &bracket, size_t firstKey);
  bool bindLets(const Definition *fn, Scope &body);
  bool bindIndexParams(const Definition *fn, const Expr *e, const Scope *scope, Scope &args, Scope &body);
  bool addToPack(const BracketItem &item, const Scope *scope, Scope &args, IndexPack &pack, llvm::ArrayRef<llvm::StringRef> declared);
  bool bindParams(const Definition *fn, const Expr *e, Scope &args, Scope &body);
  bool bindShape(const Definition *fn, const Param &p, const Expr *given, Scope &args, Scope &body);
  Tensor *findTensor(const Expr *name, const Scope *scope) const;
  void fold(Node *n);
  void inferAffine(Node *n);

  const FnTable &fns;
  const FnTable &reducers;
  const Constants &constants;
  std::deque<Scope> scopes;
  std::deque<IndexPack> packs;
  llvm::StringMap<const ReducerForm *> forms; ///< null: with an error
  /// A function's 'let's without subscripts, once for each meaning that indices have: (scope, text) to (epoch, value).
  llvm::DenseMap<std::pair<const Scope *, const Statement *>, std::pair<unsigned, Node *>> lets;
  unsigned epoch = 0, lastEpoch = 0; ///< what index keys stand for changes with it
  std::vector<Node *> keyValues;     ///< what each index key stands for now; null: unbound
  std::vector<llvm::StringRef> keyNames;
  std::vector<std::pair<unsigned, Node *>> pendingKeys; ///< keys a bracket is about to rebind
  std::vector<const Definition *> callStack;
  std::optional<Loc> callSite;
  unsigned operations = 0, reductions = 0, depth = 0;
  bool overBudget = false;
  bool inSubscript = false;
  bool inInteger = false; ///< a shape or a range
};

} // namespace kernelc::frontend
