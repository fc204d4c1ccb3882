// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans as tile values: a block walks its rows tile by tile, and carries what each scan has come to. What is computed from
// scans point by point goes with their tiles.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/tile/Marks.h"
#include "passes/analysis/Reduction.h"

using namespace mlir;

namespace kernelc {

using namespace te;

size_t LaunchEmitter::statesInWalk(size_t member, int64_t along, bool isWalked) const {
  Operation *op = ops_[l_.ops[member]];
  if (findScanOf(op))
    return isa<FoldOp>(op) ? cast<FoldOp>(op).getNumComponents() : 1;
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || !isWalked || !isReducedOver(l_, member, ops_, along))
    return 0;
  return reduce.isArg() ? 2 : 1; // (the positions beside the elements that stand there)
}

SmallVector<Value> LaunchEmitter::startOfScans(int64_t along, bool isWalked) {
  SmallVector<Value> carries;
  for (size_t n = 0; n < l_.ops.size(); ++n) {
    Operation *op = ops_[l_.ops[n]];
    ArrayRef<int64_t> dims = l_.dims[n];
    SmallVector<int64_t> beside;
    llvm::copy_if(dims, std::back_inserter(beside), [&](int64_t d) { return d != along; });
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!findScanOf(op)) {
      for (size_t k = 0; k < statesInWalk(n, along, isWalked); ++k) {
        Type element = k ? b_.getIndexType() : reduce.getYield().getValues()[0].getType();
        auto type = RankedTensorType::get(BodyToTiles(b_, c_, reduce, dims).shapeOf(dims), element);
        carries.push_back(identityTile(reduce.getKind(), type, reduce.getLoc()));
      }
      continue;
    }
    if (auto fold = dyn_cast<FoldOp>(op))
      llvm::append_range(carries, startOfFold(fold, BodyToTiles(b_, c_, fold, dims).shapeOf(beside), fold.getLoc()));
    if (!reduce)
      continue;
    auto type = RankedTensorType::get(BodyToTiles(b_, c_, reduce, dims).shapeOf(beside), reduce.getResult().getType().getElementType());
    carries.push_back(arith::ConstantOp::create(
        b_, reduce.getLoc(), type, SplatElementsAttr::get(type, Attribute(identityOf(reduce.getKind(), type.getElementType(), b_)))));
  }
  return carries;
}

LogicalResult LaunchEmitter::emitInWalk(size_t member, int64_t along, bool isWalked, MutableArrayRef<Value> state, size_t &next) {
  Operation *op = ops_[l_.ops[member]];
  ArrayRef<int64_t> dims = l_.dims[member];
  if (auto compute = dyn_cast<ComputeOp>(op))
    return emitPoints(compute, dims, /*whole=*/true);
  MutableArrayRef<Value> own = state.slice(next, statesInWalk(member, along, isWalked));
  next += own.size();
  if (auto fold = dyn_cast<FoldOp>(op))
    return emitFoldScan(fold, *findScanOf(op), dims, own);
  auto reduce = cast<ReduceOp>(op);
  if (std::optional<Scan> scan = findScan(reduce))
    return emitScan(reduce, *scan, dims, own.front());
  if (own.empty())
    return emitWithinTile(reduce, dims);
  SmallVector<Value> terms = reduceTerms(reduce, dims, own, NameLoc::get(b_.getStringAttr(nameOf(op)), op->getLoc()));
  llvm::copy(terms, own.begin());
  return success(!terms.empty());
}

LogicalResult LaunchEmitter::emitScans(int64_t along) {
  Operation *first = ops_[*llvm::find_if(l_.ops, [&](int64_t o) { return findScanOf(ops_[o]).has_value(); })];
  bool isReverse = findScanOf(first)->reverse;
  Location loc = cu::unnamed(first->getLoc());
  SmallVector<int64_t> loops = loopsOf(along);
  const bool isWalked = !loops.empty();
  SmallVector<Value> carries = startOfScans(along, isWalked);
  auto isInWalk = [&](size_t n) { return llvm::is_contained(l_.dims[n], along); };
  bool ok = true;
  if (findLookBack())
    placeLookBack(along, isReverse, loc);
  Location carried = NameLoc::get(b_.getStringAttr("before"), loc);
  SmallVector<Value> last = loopNest(loops, std::nullopt, along, carries, carried, [&](SmallVector<Value> state) {
    if (isReverse && !loops.empty()) { // the last tile first
      AffineExpr tile = b_.getAffineConstantExpr(l_.tiles[along]), tiles = l_.extents.getResult(along).ceilDiv(tile);
      AffineMap from = AffineMap::get(1, l_.extents.getNumSymbols(), (tiles - 1) * tile - b_.getAffineDimExpr(0));
      c_.offsets[along] = tile::ApplyOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[along] + "0"), loc), b_.getIndexType(), from,
                                                ValueRange(c_.offsets[along]));
    }
    size_t next = 0;
    for (size_t n = 0; ok && n < l_.ops.size(); ++n)
      if (isInWalk(n))
        ok = succeeded(emitInWalk(n, along, isWalked, state, next));
    return state;
  });
  return success(ok && succeeded(emitBehindWalk(along, isWalked, last)));
}

LogicalResult LaunchEmitter::emitBehindWalk(int64_t along, bool isWalked, ArrayRef<Value> last) {
  size_t next = 0;
  for (size_t n = 0; n < l_.ops.size(); ++n) {
    Operation *op = ops_[l_.ops[n]];
    ArrayRef<int64_t> dims = l_.dims[n];
    if (!llvm::is_contained(dims, along)) {
      if (failed(emitPoints(cast<ComputeOp>(op), dims, /*whole=*/true)))
        return failure();
      continue;
    }
    ArrayRef<Value> own = last.slice(next, statesInWalk(n, along, isWalked));
    next += own.size();
    if (!own.empty() && !findScanOf(op) && failed(finishWithinTile(cast<ReduceOp>(op), dims, own)))
      return failure();
  }
  return success();
}

LogicalResult LaunchEmitter::emitScan(ReduceOp op, const Scan &scan, ArrayRef<int64_t> dims, Value &carry) {
  Location loc = NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc());
  int64_t along = dims[scan.along];
  BodyToTiles body(b_, c_, op, dims);
  Value value = body.evaluate(op.getYield().getValues()[0]);
  if (!value)
    return failure();
  Value condition = scan.where.empty() ? Value() : body.evaluateSet(select(*op.getCondition(), scan.where), loc);
  if (op.getYield().getCondition()) {
    Value asked = body.evaluate(op.getYield().getCondition());
    if (!asked)
      return failure();
    condition = body.conjunction(condition, asked, loc);
  }
  condition = body.conjunction(condition, body.inside(along, loc), loc);
  SmallVector<int64_t> shape = body.shapeOf(dims);
  value = body.broadcast(value, shape);
  auto type = cast<RankedTensorType>(value.getType());
  if (condition) {
    TypedAttr neutral = identityOf(op.getKind(), type.getElementType(), b_);
    Value none = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(neutral)));
    value = arith::SelectOp::create(b_, loc, body.broadcast(condition, shape), value, none);
  }
  auto made = tile::ScanOp::create(b_, loc, TypeRange{type}, TypeRange{carry.getType()}, op.getKind(), ValueRange{value}, ValueRange{carry},
                                   uint64_t(along), scan.reverse, scan.exclusive, ArrayAttr());
  if (holdsScans())
    tile::kHeld.putOn(made);
  carry = made.getTotal();
  Value out = made.getOut();
  if (findLookBack())
    out = te::combine(op.getKind(), body.broadcast(lookBack(op, op.getKind(), carry, scan.reverse, loc).front(), shape), out, b_, loc);
  return finishReduce(op, dims, out, body);
}

} // namespace kernelc
