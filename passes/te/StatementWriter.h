// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes statements whose bodies are functions of their indices, in front of the statement that they stand in for.
#pragma once

#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/index/IndexArithmetic.h"

namespace kernelc::te {

class StatementWriter {
public:
  /// `name`: what those of the statements begin with.
  StatementWriter(mlir::Operation *at, llvm::StringRef name)
      : b(at), loc_(at->getLoc()), symbols_(getExtents(at).getNumSymbols()), name_(name) {}

  /// Erases what has been written.
  void undo() {
    for (mlir::Operation *op : llvm::reverse(made_))
      op->erase();
    made_.clear();
  }

protected:
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;

  mlir::Location loc() const { return loc_; }
  mlir::AffineExpr dim(unsigned d) { return b.getAffineDimExpr(d); }
  mlir::AffineExpr number(int64_t n) { return b.getAffineConstantExpr(n); }
  mlir::AffineMap over(llvm::ArrayRef<mlir::AffineExpr> exprs, unsigned dims = 0) {
    return mlir::AffineMap::get(dims, symbols_, exprs, b.getContext());
  }
  mlir::IntegerSetAttr where(mlir::AffineExpr isPositive, unsigned dims) {
    return mlir::IntegerSetAttr::get(mlir::IntegerSet::get(dims, symbols_, isPositive, false));
  }
  mlir::StringAttr named(llvm::StringRef suffix) { return b.getStringAttr(name_ + suffix); }
  mlir::Value index(int64_t n) { return mlir::arith::ConstantIndexOp::create(b, loc_, n); }
  mlir::Value toIndex(mlir::Value v) { return mlir::arith::IndexCastOp::create(b, loc_, b.getIndexType(), v); }
  mlir::Value compare(mlir::arith::CmpIPredicate p, mlir::Value x, mlir::Value y) { return mlir::arith::CmpIOp::create(b, loc_, p, x, y); }
  mlir::Value both(mlir::Value x, mlir::Value y) { return mlir::arith::AndIOp::create(b, loc_, x, y); }
  /// Whether an index lies in a range of `extent` points.
  mlir::Value isWithin(mlir::Value at, mlir::AffineExpr extent) {
    mlir::Value begins = compare(mlir::arith::CmpIPredicate::sge, at, index(0));
    return both(begins, compare(mlir::arith::CmpIPredicate::slt, at, value(extent, {})));
  }
  mlir::Value value(mlir::AffineExpr e, mlir::ValueRange operands) {
    return materialize(b, loc_, mlir::simplifyAffineExpr(e, operands.size(), symbols_), operands, symbols_);
  }
  /// An element that exists; with `padding` it may not.
  mlir::Value read(mlir::Value tensor, mlir::ValueRange operands, llvm::ArrayRef<mlir::AffineExpr> subscripts = {},
                   mlir::Value padding = {}) {
    auto map = subscripts.empty() ? mlir::AffineMapAttr() : mlir::AffineMapAttr::get(over(subscripts, operands.size()));
    auto bounds = BoundsModeAttr::get(b.getContext(), padding ? BoundsMode::Pad : BoundsMode::InBounds);
    return ReadOp::create(b, loc_, mlir::cast<mlir::RankedTensorType>(tensor.getType()).getElementType(), tensor, operands, map, bounds,
                          padding);
  }
  mlir::RankedTensorType typeOf(llvm::ArrayRef<mlir::AffineExpr> shape, mlir::Type element) {
    auto sizeOf = [](mlir::AffineExpr e) {
      auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(e);
      return c && c.getValue() >= 0 ? c.getValue() : mlir::ShapedType::kDynamic;
    };
    return mlir::RankedTensorType::get(llvm::map_to_vector(shape, sizeOf), element);
  }
  /// Gives a statement its body.
  template <typename Op> Op fill(Op op, Body body) {
    mlir::OpBuilder::InsertionGuard guard(b);
    mlir::Block &block = op.getBody().emplaceBlock();
    for (unsigned d = 0; d < op.getIndices().size(); ++d)
      block.addArgument(b.getIndexType(), loc_);
    b.setInsertionPointToStart(&block);
    YieldOp::create(b, loc_, body(block.getArguments()), mlir::Value());
    made_.push_back(op);
    return op;
  }
  ComputeOp makeCompute(mlir::StringAttr name, llvm::ArrayRef<llvm::StringRef> indices, llvm::ArrayRef<mlir::AffineExpr> extents,
                        mlir::Type element, llvm::function_ref<mlir::Value(mlir::ValueRange)> body) {
    auto op = ComputeOp::create(b, loc_, typeOf(extents, element), b.getStrArrayAttr(indices), over(extents), mlir::IntegerSetAttr(),
                                mlir::Value(), mlir::AffineMapAttr(), mlir::AffineMapAttr(), name, false);
    return fill(op, [&](mlir::ValueRange at) { return llvm::SmallVector<mlir::Value>{body(at)}; });
  }
  /// A sum over the last index, where `condition`, if any, holds.
  ReduceOp makeSum(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> indices, llvm::ArrayRef<mlir::AffineExpr> extents,
                   mlir::IntegerSetAttr condition, mlir::Type element, llvm::function_ref<mlir::Value(mlir::ValueRange)> body) {
    unsigned parallel = extents.size() - 1;
    auto op = ReduceOp::create(b, loc_, typeOf(extents.take_front(parallel), element), Combiner::Sum, b.getStrArrayAttr(indices), parallel,
                               over(extents), condition, mlir::Value(), mlir::AffineMapAttr(), mlir::AffineMapAttr(), named(name));
    op.setOwnLaunch(true);
    return fill(op, [&](mlir::ValueRange at) { return llvm::SmallVector<mlir::Value>{body(at)}; });
  }
  /// Elements where `body` says: an element and its subscript, no two the same. `init`: what stands where none is; null where there is
  /// an element everywhere.
  ScatterOp makePermuted(llvm::StringRef name, mlir::AffineExpr points, mlir::AffineExpr places, mlir::Type element, mlir::Value init,
                         Body body) {
    auto op = ScatterOp::create(b, loc_, typeOf(places, element), CombinerAttr(), b.getStrArrayAttr({"p"}), over(points),
                                mlir::IntegerSetAttr(), init, over(places), named(name), false, false);
    return fill(op, body);
  }

  mlir::OpBuilder b;

private:
  mlir::Location loc_;
  unsigned symbols_;
  std::string name_;
  llvm::SmallVector<mlir::Operation *> made_; ///< in their order
};

} // namespace kernelc::te
