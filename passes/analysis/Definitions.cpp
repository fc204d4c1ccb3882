// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/Definitions.h"

#include "ir/cu/Cu.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/index/IndexArithmetic.h"

using namespace mlir;

namespace kernelc::te {

bool isDefinition(ComputeOp op) {
  return !op.getInit() && !op.getCondition() && !op.getOutMap() && !op.getShape() && !op.getPartial() && !op.getYield().getCondition();
}

/// Whether `v` is an index of the statement that goes over all of subscript r of the tensor that `read` reads.
static bool isWithin(ReadOp read, unsigned r, Value v) {
  Operation *statement = read->getParentOp();
  std::optional<unsigned> d = findIndex(statement, v);
  return d && getExtents(statement).getResult(*d) == getTensorShape(read.getTensor()).getResult(r);
}

/// Whether a reduction reads what `statement` gives, or what is computed of that.
static bool feedsReduction(ComputeOp statement) {
  SmallVector<ComputeOp> work{statement};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      auto reader = dyn_cast<ComputeOp>(user->getParentOp());
      if (isa<ReadOp>(user) && !reader)
        return true;
      if (reader && seen.insert(reader).second)
        work.push_back(reader);
    }
  return false;
}

/// Whether a pointwise statement reads the element nearest to where its subscripts are, or one in place of those outside, once for each
/// of its points; with elements beside one another there are some where the statement has points. (A reduction would compute it for each
/// term; products know such reads, not what they come to.)
static bool isAtNearest(ReadOp read) {
  auto statement = dyn_cast<ComputeOp>(read->getParentOp());
  if (!statement || (read.getBounds() != BoundsMode::Edge && read.getBounds() != BoundsMode::Pad) || feedsReduction(statement))
    return false;
  if (read.getBounds() == BoundsMode::Edge)
    return true;
  AffineMap map = read.getMapOrIdentity(), shape = getTensorShape(read.getTensor());
  return llvm::all_of(llvm::enumerate(map.getResults()), [&](auto result) {
    for (auto [n, v] : llvm::enumerate(read.getOperands_())) {
      if (!result.value().isFunctionOfDim(n))
        continue;
      auto shift = dyn_cast<AffineConstantExpr>(result.value() - getAffineDimExpr(n, map.getContext()));
      std::optional<unsigned> d = findIndex(statement, v);
      return shift && d && getExtents(statement).getResult(*d) == shape.getResult(result.index());
    }
    return false;
  });
}

/// Whether all that a definition does with its point is to read there, of tensors that have its extents: the nearest point is where they
/// have theirs.
static bool readsAtPoint(ComputeOp definition) {
  auto isPlainRead = [&](ReadOp read) {
    AffineMap shape = getTensorShape(read.getTensor());
    return read.getBounds() == BoundsMode::InBounds &&
           llvm::all_of(llvm::enumerate(read.getMapOrIdentity().getResults()), [&](auto result) {
             auto d = dyn_cast<AffineDimExpr>(result.value());
             std::optional<unsigned> own = d ? findIndex(definition, read.getOperands_()[d.getPosition()]) : std::nullopt;
             return own && definition.getExtents().getResult(*own) == shape.getResult(result.index());
           });
  };
  return llvm::all_of(definition.getBlock().getArguments(), [&](BlockArgument arg) {
    return llvm::all_of(arg.getUsers(), [&](Operation *user) {
      auto read = dyn_cast<ReadOp>(user);
      return read && isPlainRead(read);
    });
  });
}

/// `v`, brought to what is nearest of subscript r of the tensor that `read` reads.
static Value nearest(OpBuilder &b, ReadOp read, unsigned r, Value v) {
  AffineMap shape = getTensorShape(read.getTensor());
  if (isWithin(read, r, v))
    return v;
  Location loc = read.getLoc();
  auto number = [&](AffineExpr e) { return materialize(b, loc, e, {}, shape.getNumSymbols()); };
  Value low = arith::MaxSIOp::create(b, loc, v, number(b.getAffineConstantExpr(0)));
  return arith::MinSIOp::create(b, loc, low, number(shape.getResult(r) - 1));
}

/// Whether the subscripts of `read` are inside its tensor; null where that is known.
static Value isInside(OpBuilder &b, ReadOp read, ValueRange subscripts) {
  AffineMap shape = getTensorShape(read.getTensor());
  Location loc = read.getLoc();
  Value all;
  for (auto [r, v] : llvm::enumerate(subscripts)) {
    if (isWithin(read, r, v))
      continue;
    auto number = [&](AffineExpr e) { return materialize(b, loc, e, {}, shape.getNumSymbols()); };
    Value low = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, v, number(b.getAffineConstantExpr(0)));
    Value high = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, v, number(shape.getResult(r)));
    for (Value is : {low, high})
      all = all ? arith::AndIOp::create(b, loc, all, is).getResult() : is;
  }
  return all;
}

/// Whether a statement reads one element of each of its tensor's rows (log-probabilities, each row's where its label is), or a number in
/// place of one outside: no element is computed twice where it is read.
static bool picksOfRows(ReadOp read) {
  Operation *statement = read->getParentOp();
  if (read.getBounds() != BoundsMode::Pad || !isDomainOp(statement))
    return false;
  llvm::BitVector rows(getExtents(statement).getNumResults());
  for (auto [r, e] : llvm::enumerate(read.getMapOrIdentity().getResults()))
    if (auto d = dyn_cast<AffineDimExpr>(e); d && isWithin(read, r, read.getOperands_()[d.getPosition()]))
      rows.set(*findIndex(statement, read.getOperands_()[d.getPosition()]));
  return rows.all();
}

/// Whether a pointwise statement reads the element that its subscripts come to, brought back into the tensor from the other end.
static bool isBroughtBack(ReadOp read) {
  auto statement = dyn_cast<ComputeOp>(read->getParentOp());
  return statement && (read.getBounds() == BoundsMode::Wrap || read.getBounds() == BoundsMode::Reflect) && !feedsReduction(statement);
}

ComputeOp findDefinition(ReadOp read) {
  auto producer = read.getTensor().getDefiningOp<ComputeOp>();
  bool exists = read.getBounds() == BoundsMode::InBounds || read.getBounds() == BoundsMode::Assume || isAtNearest(read) ||
                (producer && (picksOfRows(read) || isBroughtBack(read)) && readsAtPoint(producer));
  return producer && exists && isDefinition(producer) && !producer->isAncestor(read) ? producer : ComputeOp();
}

/// The reads of read's block that give what it gives, in their order.
static SmallVector<ReadOp> equalReads(ReadOp read) {
  SmallVector<ReadOp> equal;
  for (Operation *user : read.getTensor().getUsers())
    if (auto other = dyn_cast<ReadOp>(user); other && other->getBlock() == read->getBlock() &&
                                             other.getOperands_() == read.getOperands_() &&
                                             other.getMapOrIdentity() == read.getMapOrIdentity() && other.getBounds() == read.getBounds() &&
                                             other.getPadding() == read.getPadding())
      equal.push_back(other);
  llvm::sort(equal, [](ReadOp a, ReadOp b) { return a->isBeforeInBlock(b); });
  return equal;
}

LogicalResult inlineRead(RewriterBase &rewriter, ReadOp read) {
  ComputeOp producer = findDefinition(read);
  assert(producer && "reads a definition");
  SmallVector<ReadOp> equal = equalReads(read);
  rewriter.setInsertionPoint(equal.front());
  if (Value padding = read.getPadding(); padding && padding.getDefiningOp() && padding.getDefiningOp()->getBlock() == read->getBlock() &&
                                         !padding.getDefiningOp()->isBeforeInBlock(equal.front()))
    return failure();
  AffineMap map = read.getMapOrIdentity();
  IRMapping mapping;
  SmallVector<Value> subscripts, own;
  bool isEdge = read.getBounds() == BoundsMode::Edge || read.getBounds() == BoundsMode::Pad;
  bool byReads = (isEdge || isBroughtBack(read)) && readsAtPoint(producer);
  bool isPicked = isEdge && byReads && !isAtNearest(read);
  for (auto [r, e] : llvm::enumerate(map.getResults())) {
    Value v = materialize(rewriter, read.getLoc(), e, read.getOperands_(), map.getNumSymbols());
    if (!v)
      return failure();
    own.push_back(v);
    subscripts.push_back(isEdge && !byReads ? nearest(rewriter, read, r, v) : v);
  }
  for (auto [arg, v] : llvm::zip(producer.getBlock().getArguments(), subscripts))
    mapping.map(arg, v);
  Value result, named = cast<YieldOp>(producer.getBlock().getTerminator()).getValues()[0];
  for (Operation &op : producer.getBlock()) {
    if (auto yield = dyn_cast<YieldOp>(op)) {
      result = mapping.lookupOrDefault(yield.getValues()[0]);
      break;
    }
    Operation *clone = rewriter.clone(op, mapping);
    if (auto at = dyn_cast<ReadOp>(clone); at && byReads && llvm::any_of(at.getOperands_(), [&](Value v) {
                                             size_t r = llvm::find(subscripts, v) - subscripts.begin();
                                             return r < subscripts.size() && !isWithin(read, r, v);
                                           })) {
      at.setBounds(isPicked ? BoundsMode::Pad : isEdge ? BoundsMode::Edge : read.getBounds());
      if (isPicked) { // (there may be no nearest element)
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPoint(at);
        at.getPaddingMutable().assign(arith::ConstantOp::create(rewriter, at.getLoc(), rewriter.getZeroAttr(at.getResult().getType())));
      }
    }
    // The name goes on with what is computed.
    if (StringAttr name = producer.getNameAttr();
        name && op.getResult(0) == named && !isa<ReadOp, arith::ConstantOp>(op) && cu::findName(op.getLoc()).empty())
      clone->setLoc(NameLoc::get(name, op.getLoc()));
  }
  if (Value inside = read.getBounds() == BoundsMode::Pad ? isInside(rewriter, read, own) : Value())
    result = arith::SelectOp::create(rewriter, read.getLoc(), inside, result, read.getPadding());
  for (ReadOp r : equal)
    rewriter.replaceOp(r, result);
  return success();
}

Value cloneValue(Value v, IRMapping &mapping, OpBuilder &b) {
  if (Value known = mapping.lookupOrNull(v))
    return known;
  Operation *op = v.getDefiningOp();
  if (!op || isDomainOp(op) || isa<KernelOp>(op->getParentOp()))
    return v;
  for (Value operand : op->getOperands())
    cloneValue(operand, mapping, b);
  b.clone(*op, mapping);
  return mapping.lookup(v);
}

} // namespace kernelc::te
