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

LogicalResult LaunchEmitter::emitScans(int64_t along) {
  Operation *first = ops_[l_.ops.front()];
  bool isReverse = findScanOf(first)->reverse;
  Location loc = cu::unnamed(first->getLoc());
  SmallVector<Value> carries;
  for (auto [ordinal, dims] : llvm::zip(l_.ops, l_.dims)) {
    SmallVector<int64_t> beside;
    llvm::copy_if(dims, std::back_inserter(beside), [&](int64_t d) { return d != along; });
    if (!findScanOf(ops_[ordinal]))
      continue;
    if (auto fold = dyn_cast<FoldOp>(ops_[ordinal]))
      llvm::append_range(carries, startOfFold(fold, BodyToTiles(b_, c_, fold, dims).shapeOf(beside), fold.getLoc()));
    auto op = dyn_cast<ReduceOp>(ops_[ordinal]);
    if (!op)
      continue;
    auto type = RankedTensorType::get(BodyToTiles(b_, c_, op, dims).shapeOf(beside), op.getResult().getType().getElementType());
    carries.push_back(arith::ConstantOp::create(
        b_, op.getLoc(), type, SplatElementsAttr::get(type, Attribute(identityOf(op.getKind(), type.getElementType(), b_)))));
  }
  bool ok = true;
  SmallVector<int64_t> loops = loopsOf(along);
  if (findLookBack())
    placeLookBack(along, isReverse, loc);
  Location carried = NameLoc::get(b_.getStringAttr("before"), loc);
  loopNest(loops, std::nullopt, along, carries, carried, [&](SmallVector<Value> state) {
    if (isReverse && !loops.empty()) { // the last tile first
      AffineExpr tile = b_.getAffineConstantExpr(l_.tiles[along]), tiles = l_.extents.getResult(along).ceilDiv(tile);
      AffineMap from = AffineMap::get(1, l_.extents.getNumSymbols(), (tiles - 1) * tile - b_.getAffineDimExpr(0));
      c_.offsets[along] = tile::ApplyOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[along] + "0"), loc), b_.getIndexType(), from,
                                                ValueRange(c_.offsets[along]));
    }
    size_t scans = 0;
    for (auto [ordinal, dims] : llvm::zip(l_.ops, l_.dims)) {
      Operation *op = ops_[ordinal];
      if (auto compute = dyn_cast<ComputeOp>(op))
        ok = ok && succeeded(emitPoints(compute, dims, /*whole=*/true));
      else if (auto fold = dyn_cast<FoldOp>(op)) {
        ok = ok && succeeded(emitFoldScan(fold, *findScanOf(op), dims, MutableArrayRef(state).slice(scans, fold.getNumComponents())));
        scans += fold.getNumComponents();
      } else if (auto reduce = dyn_cast<ReduceOp>(op); reduce && !findScan(reduce))
        ok = ok && succeeded(emitWithinTile(reduce, dims));
      else
        ok = ok && succeeded(emitScan(cast<ReduceOp>(op), *findScanOf(op), dims, state[scans++]));
    }
    return state;
  });
  return success(ok);
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
