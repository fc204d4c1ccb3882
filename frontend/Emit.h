// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checked kernels to te. Trusts Sema: everything here is in range, typed and in
// bounds. Split by concern: Emit.cpp (kernel and statements), EmitFold.cpp and EmitRecurrence.cpp, EmitRegion.cpp and
// EmitScalar.cpp (the bodies of the domain ops).
#pragma once

#include "frontend/Sema.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc::frontend {

class KernelEmitter;

/// Scalar code of one domain op's region.
class RegionEmitter {
public:
  /// Where a nested reduction's result is, and the outer indices it is read at.
  using Reductions = llvm::DenseMap<Node *, std::pair<mlir::Value, llvm::SmallVector<IndexVar *>>>;

  RegionEmitter(KernelEmitter &parent, mlir::OpBuilder &builder, llvm::ArrayRef<IndexVar *> domain, mlir::ValueRange args,
                const Reductions &reductions)
      : parent(parent), builder(builder), domain(domain), args(args.begin(), args.end()), reductions(reductions) {}

  mlir::Value emit(Node *n);
  /// Whether all of them hold; null where there is none.
  mlir::Value emitAll(llvm::ArrayRef<Node *> conditions);
  /// The value as `element` is stored.
  mlir::Value emitStored(Node *n, ElementType element);
  mlir::Value emitIndex(Node *n); ///< an index-typed value
  /// What is stored as `from` as `to` stores it.
  mlir::Value emitConverted(mlir::Value v, ElementType from, ElementType to, mlir::Location loc);
  /// Reads of the tensor that the statement itself defines stay where it is defined already: where `holds`, or everywhere where that is
  /// null, and the conditions around them do.
  void guardOwn(llvm::ArrayRef<OwnRead> reads, mlir::Value holds) {
    ownReads = reads;
    ownHolds = holds;
  }
  /// Whether `e` of each constraint is at least 0, or 0; null where there are none.
  mlir::Value emitConstraints(llvm::ArrayRef<Constraint> constraints, mlir::Location loc);
  /// `v` is what te gives for a reduction.
  void bindReduction(Node *n, mlir::Value v) { done[n] = emitIdentity(n, v); }

private:
  // EmitRegion.cpp: control, indices, reads
  mlir::Value emitNode(Node *n, mlir::Value first);
  mlir::Value emitAffine(mlir::AffineExpr e, mlir::Location loc);
  mlir::Value emitRead(Node *n);
  /// Whether a read of the statement's own tensor matters; null: always.
  mlir::Value emitOwnGuard(Node *n);
  mlir::Value readReduction(Node *n);
  mlir::Value emitParam(Node *n);
  /// Result `number` of the op that a reduction has become, at the indices that are there.
  mlir::Value readResult(Node *reduce, int64_t number);
  mlir::Value emitPosition(Node *n, mlir::Value position);
  mlir::Value emitIdentity(Node *n, mlir::Value v);
  mlir::Value argOf(IndexVar *v);
  mlir::Value indexConstant(int64_t v, mlir::Location loc);
  /// Floor division or remainder on index or integer values; by zero it gives 0.
  mlir::Value emitDivision(bool mod, mlir::Value a, mlir::Value b, bool isUnsigned, mlir::Location loc);
  // EmitScalar.cpp: arithmetic and conversions
  mlir::Value emitBinary(Node *n, mlir::Value a, mlir::Value b);
  mlir::Value emitFloatModulo(Node *n, mlir::Value a, mlir::Value b);
  mlir::Value emitCompare(Node *n, mlir::Value a, mlir::Value b);
  mlir::Value emitNarrow(mlir::Value v, Ty from, ElementType to, mlir::Location loc);
  mlir::Value emitWiden(mlir::Value v, ElementType from, Ty to, mlir::Location loc);
  mlir::Value emitMath(Node *n, llvm::ArrayRef<mlir::Value> ops);
  mlir::Value constant(double f, int64_t i, mlir::Type type, mlir::Location loc);

  KernelEmitter &parent;
  mlir::OpBuilder &builder;
  llvm::ArrayRef<IndexVar *> domain;
  llvm::SmallVector<mlir::Value> args;
  const Reductions &reductions;
  llvm::DenseMap<Node *, mlir::Value> done, doneIndex;

  llvm::ArrayRef<OwnRead> ownReads;
  mlir::Value ownHolds;

public:
  llvm::ArrayRef<mlir::Value> params; ///< of a reducer's body
};

/// Builds one te.kernel at the builder's insertion point.
class KernelEmitter {
public:
  KernelEmitter(mlir::OpBuilder &builder, Diagnostics &diags, Kernel &kernel) : builder(builder), diags(diags), kernel(kernel) {}
  te::KernelOp emit(llvm::ArrayRef<CoreStatement> statements);

private:
  friend class RegionEmitter;

  /// The op with all but its body and its marks.
  te::KernelOp createKernel();
  void emitRecord(te::KernelOp op);
  void emitStatement(const CoreStatement &s);
  void emitScatter(const CoreStatement &s);
  /// A tensor with the elements of `from`, of type `have`, as `want` stores them.
  mlir::Value emitConverted(mlir::Value from, ElementType have, ElementType want, Tensor *t, Loc loc);
  mlir::Value emitReduce(Node *reduce, llvm::ArrayRef<IndexVar *> outer, llvm::StringRef name, ElementType element);
  /// The same of a reducer of the program: an op with a result per field.
  te::FoldOp emitFold(Node *reduce, llvm::ArrayRef<IndexVar *> outer, llvm::StringRef name);
  void fillCombine(te::FoldOp op, Node *reduce);
  // EmitRecurrence.cpp
  void emitRecurrence(const CoreStatement &s);
  struct RecurrenceParts;
  void findTerms(const CoreStatement &s, RecurrenceParts &r);
  void numberIndices(const OrderForm &order, RecurrenceParts &r);
  /// Where the statement defines elements, over the indices of its steps.
  llvm::SmallVector<Constraint> pointsOf(const CoreStatement &s);
  te::RecurrenceOp createRecurrence(const CoreStatement &s, const RecurrenceParts &r);
  void fillRecurrence(te::RecurrenceOp op, const CoreStatement &s, RecurrenceParts &r);
  IndexVar *makeStep(const OrderForm &order, llvm::SmallVectorImpl<IndexVar *> &beside);
  static std::string sequenceText(const CoreStatement &s, const OrderForm &order);
  /// What a domain op is made of, beside the values that its region computes.
  struct DomainParts {
    llvm::SmallVector<Constraint> affine; ///< conditions for its integer set
    llvm::SmallVector<Node *> data;       ///< the others, for its region
    RegionEmitter::Reductions reductions; ///< nested in these and in the values
  };
  /// The parts of an op over `domain` with `conditions`, beside `affine`, whose region computes `values`.
  DomainParts prepare(llvm::ArrayRef<Node *> conditions, llvm::ArrayRef<Node *> values, llvm::ArrayRef<IndexVar *> domain,
                      llvm::SmallVector<Constraint> affine = {}, RegionEmitter::Reductions known = RegionEmitter::Reductions());
  /// Nested reductions of `n` become ops of their own before the region's op.
  void hoist(Node *n, llvm::ArrayRef<IndexVar *> domain, RegionEmitter::Reductions &reductions);
  static llvm::SmallVector<mlir::AffineExpr> extentsOf(llvm::ArrayRef<IndexVar *> domain);
  mlir::ArrayAttr namesOf(llvm::ArrayRef<IndexVar *> domain);
  /// A block in `region`, with an argument for each index of `domain`; the builder then stands in it.
  mlir::Block *openBody(mlir::Region &region, llvm::ArrayRef<IndexVar *> domain);
  mlir::Value emitFill(Tensor *t, Node *value, Loc loc) { return emitFill(t, t->element, value, loc); }
  mlir::Value emitFill(Tensor *t, ElementType element, Node *value, Loc loc);
  /// A pointwise statement over the elements of `t`, of type `element`: `value(region, indices)`.
  mlir::Value emitPointwise(Tensor *t, ElementType element, Loc loc,
                            llvm::function_ref<mlir::Value(RegionEmitter &, mlir::ValueRange)> value);

  mlir::Location location(Loc loc, llvm::StringRef name = "");
  mlir::AffineMap sizesMap(llvm::ArrayRef<mlir::AffineExpr> exprs);
  mlir::RankedTensorType tensorType(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element);
  mlir::Type valueType(Ty t);
  mlir::Type storageType(ElementType t);
  /// Conditions as an integer set over the positions of `domain`, or null.
  mlir::IntegerSetAttr conditionSet(llvm::ArrayRef<Constraint> constraints, llvm::ArrayRef<IndexVar *> domain);
  /// `e` with each index replaced by its position in `domain`, shifted by its range.
  mlir::AffineExpr toDomain(mlir::AffineExpr e, llvm::ArrayRef<IndexVar *> domain);
  /// One index for those of an arg reduction over several: its values are their positions in row-major order. At most
  /// one extent may be negative, so that then there is nothing (BoundsChecker).
  IndexVar *joinIndices(Node *reduce);
  /// `e` in terms of the joined indices where `domain` lacks their parts.
  mlir::AffineExpr ofJoined(mlir::AffineExpr e, llvm::ArrayRef<IndexVar *> domain);

  mlir::OpBuilder &builder;
  Diagnostics &diags;
  Kernel &kernel;
  /// Folds whose fields may be asked for once more: statements that define a let of tuples are neighbours.
  bool anyOrder = false; ///< of the statement being emitted
  llvm::SmallVector<std::tuple<Node *, llvm::SmallVector<IndexVar *>, te::FoldOp>> folds;
  llvm::DenseMap<IndexVar *, mlir::AffineExpr> joined; ///< what an index is, from 0, of the one that it is joined into
};

/// Puts numbers in the place of sizes of `kernel`, which then takes the others only.
void fixSizes(te::KernelOp kernel, const Constants &sizes);

} // namespace kernelc::frontend
