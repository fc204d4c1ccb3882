// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/WalkReaders.h"

#include "ir/te/TeShape.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/plan/Chain.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A read of a product's results at few points, and the product over these.
class FewPoints {
public:
  FewPoints(ReduceOp product, ReadOp read, const SizeFacts &facts)
      : product_(product), read_(read), statement_(read->getParentOp()), facts_(facts), b_(statement_) {}

  /// Whether a product of the points can be made, in clearly less memory than all results take.
  bool find() {
    Block *body = read_->getBlock();
    if (!isa<ComputeOp, ReduceOp>(statement_) || body != &statement_->getRegion(0).front())
      return false;
    if (read_.getBounds() != BoundsMode::InBounds && !(read_.getBounds() == BoundsMode::Pad && readsZeroOutside(read_)))
      return false;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getBlock() == body; };
    for (Value v : read_.getOperands_()) {
      support_ |= findSupport(v, getExtents(statement_).getNumResults());
      if (v.getDefiningOp() && failed(getBackwardSlice(v, &slice_, options)))
        return false;
    }
    // (A subscript that another product's result says would be known too late, or be computed twice.)
    auto isPlain = [](Operation *op) { return isPure(op) && (!isa<ReadOp>(op) || isa<BlockArgument>(cast<ReadOp>(op).getTensor())); };
    return llvm::all_of(slice_, isPlain) && areFew();
  }

  /// The product over the points, which the statement reads from now on; the read itself stays, of `other`.
  ReduceOp make() {
    OpBuilder::InsertionGuard guard(b_);
    Location loc = read_.getLoc();
    auto points = makeDomain(loc);
    fill(points, loc);
    b_.setInsertionPointAfter(read_);
    SmallVector<Value> at;
    for (unsigned d : support_.set_bits())
      at.push_back(statement_->getRegion(0).front().getArgument(d));
    Value point = ReadOp::create(b_, loc, read_.getResult().getType(), points.getResult(), at, AffineMapAttr(),
                                 BoundsModeAttr::get(b_.getContext(), BoundsMode::InBounds), Value());
    if (read_.getBounds() == BoundsMode::Pad)
      point = arith::SelectOp::create(b_, loc, isInside(loc), point, read_.getPadding());
    read_.getResult().replaceAllUsesWith(point);
    read_.erase();
    return points;
  }

  Operation *statement() const { return statement_; }

private:
  bool areFew() {
    Count points = 1, summed = 1, results = 1;
    auto count = [&](Count &of, AffineExpr e) {
      int64_t most = knownMax(e, facts_);
      of *= std::max<int64_t>(most, 1);
      return most >= 0;
    };
    bool isKnown = true;
    for (unsigned d : support_.set_bits())
      isKnown &= count(points, getExtents(statement_).getResult(d));
    for (auto [d, e] : llvm::enumerate(product_.getExtents().getResults()))
      isKnown &= count(d < product_.getNumParallel() ? results : summed, e);
    // What the points' factors take, and one of memory's ways of all results.
    return isKnown && points * summed < results;
  }

  ReduceOp makeDomain(Location loc) {
    SmallVector<Attribute> indices;
    SmallVector<AffineExpr> extents;
    for (unsigned d : support_.set_bits()) {
      indices.push_back(getIndexNames(statement_)[d]);
      extents.push_back(getExtents(statement_).getResult(d));
    }
    unsigned parallel = indices.size(), rank = product_.getNumParallel();
    for (unsigned d = rank; d < product_.getNumDims(); ++d) {
      StringRef name = cast<StringAttr>(product_.getIndices()[d]).getValue();
      bool isTaken = llvm::is_contained(indices, product_.getIndices()[d]);
      indices.push_back(b_.getStringAttr(isTaken ? name + "_sum" : llvm::Twine(name)));
      extents.push_back(product_.getExtents().getResult(d));
    }
    auto type = RankedTensorType::get(SmallVector<int64_t>(parallel, ShapedType::kDynamic),
                                      cast<RankedTensorType>(product_.getResult().getType()).getElementType());
    unsigned symbols = product_.getExtents().getNumSymbols();
    return ReduceOp::create(b_, loc, type, product_.getKind(), b_.getArrayAttr(indices), parallel,
                            AffineMap::get(0, symbols, extents, b_.getContext()), IntegerSetAttr(), Value(), AffineMapAttr(),
                            AffineMapAttr(), product_.getNameAttr());
  }

  static ArrayAttr getIndexNames(Operation *statement) {
    if (auto compute = dyn_cast<ComputeOp>(statement))
      return compute.getIndices();
    return cast<ReduceOp>(statement).getIndices();
  }

  void fill(ReduceOp points, Location loc) {
    Block &block = points.getBody().emplaceBlock();
    IRMapping ofStatement, ofProduct;
    for (unsigned d : support_.set_bits())
      ofStatement.map(statement_->getRegion(0).front().getArgument(d), block.addArgument(b_.getIndexType(), loc));
    unsigned rank = product_.getNumParallel();
    for (unsigned d = rank; d < product_.getNumDims(); ++d)
      ofProduct.map(product_.getBlock().getArgument(d), block.addArgument(b_.getIndexType(), loc));
    b_.setInsertionPointToStart(&block);
    for (Operation &op : *read_->getBlock())
      if (slice_.contains(&op))
        b_.clone(op, ofStatement);
    SmallVector<Value> operands;
    for (Value v : read_.getOperands_())
      operands.push_back(ofStatement.lookupOrDefault(v));
    AffineMap map = read_.getMapOrIdentity();
    for (unsigned d = 0; d < rank; ++d)
      ofProduct.map(product_.getBlock().getArgument(d), materialize(b_, loc, map.getResult(d), operands, map.getNumSymbols()));
    for (Operation &op : product_.getBlock()) {
      Operation *made = b_.clone(op, ofProduct);
      if (auto read = dyn_cast<ReadOp>(made); read && read_.getBounds() == BoundsMode::Pad && isUnchecked(read))
        padded(read);
    }
  }

  /// Outside of the product's results its factors have no element.
  void padded(ReadOp read) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(read);
    Value zero = arith::ConstantOp::create(b_, read.getLoc(), b_.getZeroAttr(read.getResult().getType()));
    read.setBoundsAttr(BoundsModeAttr::get(b_.getContext(), BoundsMode::Pad));
    read.getPaddingMutable().assign(zero);
  }

  /// In the statement: whether the product has the point.
  Value isInside(Location loc) {
    AffineMap map = read_.getMapOrIdentity();
    SmallVector<Value> operands(read_.getOperands_());
    Value zero = arith::ConstantIndexOp::create(b_, loc, 0), all;
    for (unsigned d = 0; d < product_.getNumParallel(); ++d) {
      Value at = materialize(b_, loc, map.getResult(d), operands, map.getNumSymbols());
      Value end = materialize(b_, loc, product_.getExtents().getResult(d), {}, product_.getExtents().getNumSymbols());
      Value inside = arith::AndIOp::create(b_, loc, arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sge, at, zero),
                                           arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::slt, at, end));
      all = all ? Value(arith::AndIOp::create(b_, loc, all, inside)) : inside;
    }
    return all;
  }

  ReduceOp product_;
  ReadOp read_;
  Operation *statement_;
  const SizeFacts &facts_;
  OpBuilder b_;
  llvm::BitVector support_;
  llvm::SetVector<Operation *> slice_;
};

/// Whether the product's condition, start and place are those of a plain sum of products.
bool isPlainProduct(ReduceOp product) {
  return findContraction(product) && !product.getCondition() && !product.getYield().getCondition() && !product.getInit() &&
         !product.getOutMap();
}

} // namespace

void computeFewPoints(KernelOp kernel, const Target &target, const SizeFacts &facts) {
  if (!target.chainRate || !target.wgmma)
    return;
  for (ReduceOp product : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>())) {
    if (!isPlainProduct(product))
      continue;
    std::vector<FewPoints> few;
    std::optional<ProductWalk> walk;
    bool isKnown = true;
    for (Operation *user : llvm::to_vector(product->getUsers())) {
      auto read = dyn_cast<ReadOp>(user);
      std::optional<ProductWalk> found = read ? findWalk(user->getParentOp(), target, facts) : std::nullopt;
      if (found) { // (of walks along both sides one has to read the results from memory in any case)
        isKnown &= !walk || walk->walkedOfS == found->walkedOfS;
        walk = std::move(found);
        continue;
      }
      isKnown = isKnown && read;
      if (isKnown && few.emplace_back(product, read, facts).find())
        continue;
      isKnown = false;
    }
    if (!isKnown || !walk || few.empty() || !paysToWalkAlone(*walk, target, facts))
      continue;
    for (FewPoints &points : few) {
      points.statement()->emitRemark() << "this product's results are reduced where they are made, and what is read of few of them is "
                                          "computed for these alone: that is faster than to write them all to memory";
      points.make();
    }
  }
}

} // namespace kernelc::te
