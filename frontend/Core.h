// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checked form between syntax and te: names resolved, functions inlined,
// conversions explicit, indices given a range. Sema builds it, the Bounds and
// Coverage checks read it, Emit turns it into te.
//
// Integer algebra on indices and sizes is kept as mlir::AffineExpr beside the
// tree: dim i stands for the *value* of IndexVar number i, symbol s for size s.
#pragma once

#include <deque>
#include <optional>

#include "frontend/Ast.h"
#include "frontend/Prover.h"
#include "ir/te/Te.h"
#include "mlir/IR/AffineExpr.h"
#include "support/Constant.h"
#include "support/ElementType.h"
#include "support/Precision.h"

namespace kernelc::frontend {

/// The type of a value in an expression. Narrow element types widen when read, so
/// only the wide ones occur; the literal types adapt to their context.
enum class Ty : uint8_t { Error, IntLit, FloatLit, Bool, I32, U32, I64, U64, F32, F64, Tuple };

inline bool isFloat(Ty t) { return t == Ty::FloatLit || t == Ty::F32 || t == Ty::F64; }
inline bool isInt(Ty t) { return t == Ty::IntLit || (t >= Ty::I32 && t <= Ty::U64); }
inline bool isUnsigned(Ty t) { return t == Ty::U32 || t == Ty::U64; }
inline bool isLiteral(Ty t) { return t == Ty::IntLit || t == Ty::FloatLit; }
llvm::StringRef name(Ty t);
/// The type that values of `t` have once read.
Ty widened(ElementType t);
/// The element type that stores `t` without change.
ElementType elementOf(Ty t);
/// The values of an integer type under 64 bits, or of bool.
int64_t lowestOf(ElementType t);
int64_t highestOf(ElementType t);

/// An index: a free one of a statement or a reduced one. Its values are
/// lo, lo + 1, .., lo + extent - 1, over the sizes.
struct IndexVar {
  unsigned id = 0;
  llvm::StringRef name;
  Loc loc;
  mlir::AffineExpr declLo, declHi; ///< as written, over sizes and outer indices; of one alone accesses give the other
  bool boundByData = false;        ///< data or scalars alone bound it on a side
  mlir::AffineExpr lo, extent;     ///< over the sizes; null until the range is known
  /// The bounds as found, where outer indices move them (then lo and extent are
  /// what they stay within); else null.
  mlir::AffineExpr movingLo, movingHi;
  mlir::AffineExpr window; ///< what outer indices add to its values in the text, where they move its range as a whole
  bool hasRange() const { return bool(extent); }
  mlir::AffineExpr hi() const { return lo + extent; }
};

/// The fields of a tuple, in order; empty names where the text gives none.
using FieldNames = llvm::SmallVector<llvm::StringRef, 4>;

/// A parameter, output or let.
struct Tensor {
  enum Kind : uint8_t { Input, Scalar, Output, Let };
  Kind kind = Input;
  llvm::StringRef name;
  Loc loc;
  ElementType element = ElementType::f32;
  llvm::SmallVector<mlir::AffineExpr> dims; ///< over the sizes
  std::optional<ElementType> narrow;        ///< a let whose values fit this type
  std::optional<ElementType> declared;      ///< of a tuple's field: as which it is stored
  bool isInout = false;
  bool isPartlyDefined = false; ///< an output: statements before the current one have defined elements of it
  bool isReadable = true;       ///< an output: a statement before has defined it
  bool poisoned = false;        ///< its definition failed: say nothing more
  int outIndex = -1;
  mlir::Value value;                    ///< the current one
  llvm::SmallVector<Tensor *, 0> parts; ///< a let of tuples: a tensor for each field, and none of its own
  const FieldNames *fields = nullptr;
  /// A let: where it is defined, of an element's subscripts under the numbers of these indices; empty: everywhere.
  llvm::SmallVector<Constraint, 0> definedWhere;
  llvm::SmallVector<IndexVar *, 0> definedOver;
};

struct ReducerForm;

/// Which laws hold of the states that a reduction can come to, as far as tests show.
struct Laws {
  bool associative = true, neutral = true, commutative = true;
  bool isMonoid() const { return associative && neutral; }
};

struct Node {
  enum Kind : uint8_t {
    ConstInt,
    ConstFloat,
    ConstBool,
    Index,
    Size,
    ScalarParam,
    Read,
    Neg,
    Not,
    BitNot,
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Min,
    Max,
    Pow,
    Cmp,
    And,
    Or,
    Select,
    Cast,
    Math,
    Reduce, ///< by a reducer of the program: `reducer`, with the fields of an element as operands
    Param,  ///< of a reducer's body: number intValue of both states' fields
    Field,  ///< number intValue of what the reduction ops[0] comes to
    Tuple,  ///< of the operands
  };
  Kind kind;
  Ty type = Ty::Error;
  Loc loc;
  llvm::SmallVector<Node *, 2> ops;  ///< Select: cond, then, else; Read: subscripts
  std::optional<ElementType> narrow; ///< all values fit this integer type
  mlir::AffineExpr affine;           ///< value over indices and sizes, where it is one
  unsigned affineHeight = 0;
  bool regionSubscripts = false; ///< Read: computed in the region, no affine map
  bool isSpeculative = false;    ///< Read: inside only where a condition around it holds, so that `bounds` is Pad
  bool pureIndex = false;        ///< of indices, sizes and integers only
  int64_t intValue = 0;          ///< ConstInt, ConstBool
  double floatValue = 0;
  IndexVar *index = nullptr;
  Tensor *tensor = nullptr;                                              ///< Read, ScalarParam
  mlir::arith::CmpIPredicate predicate = mlir::arith::CmpIPredicate::eq; ///< Cmp, signed form
  ElementType castTo = ElementType::f32;                                 ///< Cast: rounds or converts to this, then widens to `type`
  llvm::StringRef callee;                                                ///< Math
  te::BoundsMode bounds = te::BoundsMode::InBounds;                      ///< Read
  Node *padding = nullptr;                                               ///< Read
  llvm::SmallVector<std::pair<Node *, mlir::AffineExpr>, 0> views;       ///< Read, of a view: its subscripts with its dims
  const Expr *access = nullptr;                                          ///< Read: its text; an index is one node wherever it stands
  const FieldNames *fields = nullptr;                                    ///< Tuple
  // Reduce
  const ReducerForm *reducer = nullptr;
  te::Combiner combiner = te::Combiner::Sum;
  llvm::SmallVector<IndexVar *, 2> vars;
  bool isCount = false; ///< Reduce: the number of points, of 'mean'
  llvm::SmallVector<Node *, 1> conditions;
  llvm::SmallVector<mlir::AffineExpr, 0> rangeConditions; ///< each >= 0: bounds that outer indices move
  bool readsOwn = false;                                  ///< Read: of what its own statement defines
  IndexVar *scanned = nullptr; ///< Reduce: a recurrence along this index, field intValue; all fields where that is -1
  bool isReverse = false;      ///< of which it starts at the end
  llvm::StringRef lawText;     ///< what the compiler has to say of how it runs
  Laws laws;                   ///< of a reducer of the program
  bool mayBeEmpty = true;      ///< Reduce: not proved to have a term at every launch

  bool givesPosition() const {
    using C = te::Combiner;
    return kind == Reduce && !reducer &&
           (combiner == C::ArgMax || combiner == C::ArgMin || combiner == C::ArgMaxU || combiner == C::ArgMinU);
  }
  bool isConst() const { return kind == ConstInt || kind == ConstFloat || kind == ConstBool; }
  /// A constant zero or other value of either number kind.
  bool isNumber(double v) const { return (kind == ConstInt && double(intValue) == v) || (kind == ConstFloat && floatValue == v); }
};

/// A reducer of the program, as a kernel uses it.
struct ReducerForm {
  const Definition *def = nullptr;
  FieldNames fields;                       ///< none of a reducer of scalars
  llvm::SmallVector<ElementType, 4> types; ///< of the components
  llvm::SmallVector<Node *> params;        ///< the components of the state before, and of that behind
  llvm::SmallVector<Node *> combined, identity;
  bool isScalar() const { return fields.empty(); }
  /// What holds component k while it is reduced: as what is read is held.
  ElementType heldAs(size_t k) const { return elementOf(widened(types[k])); }
};

/// What a statement is whose points may meet in an element, or choose theirs by data: all its indices are free ones.
struct ScatterForm {
  std::optional<te::Combiner> kind; ///< nothing: no two points meet (`.unique`)
  Node *term = nullptr;             ///< what a point writes, or combines in the type of `element`
  ElementType element = ElementType::f32;
  bool guarded = false; ///< a subscript may lie outside
};

/// A read of what its own statement defines, and what holds where its value matters.
struct OwnRead {
  Node *read = nullptr;
  Prover known;
  llvm::SmallVector<std::pair<Node *, bool>, 0> path; ///< the conditions around it, true where they have to fail
};

/// The order in which a statement defines its elements that reads what it has defined itself.
struct OrderForm {
  llvm::SmallVector<IndexVar *> free;                     ///< that all reads keep
  llvm::SmallVector<std::pair<IndexVar *, int64_t>> rest; ///< the others, and how often a step counts each
};

/// A checked statement.
struct CoreStatement {
  Loc loc;
  Tensor *target = nullptr;
  bool isLet = false;
  std::optional<te::Combiner> reduceAssign;
  llvm::SmallVector<IndexVar *> vars;    ///< free indices, in order of the left side
  llvm::SmallVector<IndexVar *> reduced; ///< of a reduce-assign
  llvm::SmallVector<Node *> subscripts;
  llvm::SmallVector<Node *> conditions; ///< where
  Node *value = nullptr;
  bool whole = true;      ///< writes every element once, element [i, j, ..] at (i, j, ..)
  bool completed = false; ///< a later statement writes what this one leaves
  bool anyOrder = false;  ///< order(any)
  Node *fill = nullptr;   ///< what elements start at that no statement has written
  std::optional<ScatterForm> scatter;
  std::vector<OwnRead> ownReads;
  std::optional<OrderForm> order; ///< of a recurrence that is no fold along an index
  int64_t phases = 1;             ///< how many statements it was in the text, which take steps in turns
};

struct Requirement {
  llvm::SmallVector<Constraint> constraints; ///< over the sizes
  std::string text;
  Loc loc;
};

/// What a kernel's guards record (Guards.cpp): for each the least number of a point at which it found a subscript outside.
struct FaultRecord {
  struct Entry {
    Loc loc;
    std::string what;                   ///< "subscript 0 of 'table' leaves 0:V"
    llvm::SmallVector<IndexVar *> vars; ///< whose values number the points, the last one the fastest
  };
  Tensor *tensor = nullptr; ///< an inout of a number for each that no text names; null: there are no guards
  llvm::SmallVector<Entry> entries;
};

/// A kernel while it is checked and built.
struct Kernel {
  const Definition *def = nullptr;
  std::vector<std::string> sizes;
  std::deque<Tensor> tensors; ///< stable addresses
  llvm::SmallVector<Tensor *> args, outs;
  std::deque<Node> nodes;
  std::deque<IndexVar> indices;
  std::deque<FieldNames> fieldNames;
  std::deque<ReducerForm> reducers;
  std::deque<std::string> texts;          ///< that nodes refer to
  std::deque<Definition> madeDefinitions; ///< `def` is one where statements have been joined (Mutual.cpp)
  std::deque<Expr> madeExprs;             ///< of their text
  std::vector<Requirement> requirements;
  PrecisionPolicy precision;
  FaultRecord faults;
  Constants fixed; ///< sizes that the te.kernel is to have as numbers
};

} // namespace kernelc::frontend
