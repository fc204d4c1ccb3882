// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions as tile values: terms combined tile by tile in registers, then along
// the reduced dims.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/te/Hints.h"
#include "passes/analysis/Reduction.h"
#include "passes/plan/ChainSets.h"

using namespace mlir;

namespace kernelc {

using namespace te;

namespace {

/// Whether the elements of `tile` beyond the extents of all of `dims` are zero because the loads
/// that it is made of leave zeros there: a sum needs no mask of its own then.
bool isZeroBeyond(Value tile, ArrayRef<int64_t> dims) {
  Operation *op = tile.getDefiningOp();
  if (auto load = dyn_cast_or_null<tile::LoadOp>(op))
    return llvm::all_of(dims, [&](int64_t d) { return llvm::is_contained(load.getMask(), d); });
  // Not one factor alone: the other may be infinite.
  return isa_and_nonnull<arith::AddFOp, arith::AddIOp, arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, arith::MulFOp, arith::MulIOp,
                         arith::SIToFPOp, arith::UIToFPOp, tile::BroadcastOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value v) { return isZeroBeyond(v, dims); });
}

} // namespace

std::string LaunchEmitter::nameOf(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>("name"))
    return name.str();
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return isa<CascadeOp>(op) ? "state" : "result";
  if (findContraction(reduce))
    return "product";
  auto indices = reduce.getIndices().getAsValueRange<StringAttr>();
  std::string name = stringifyCombiner(reduce.getKind()).str();
  for (StringRef index : llvm::drop_begin(indices, reduce.getNumParallel()))
    name += "_" + index.str();
  return name;
}

Value LaunchEmitter::identityTile(Combiner kind, RankedTensorType type, Location loc) {
  Attribute neutral =
      type.getElementType().isIndex() ? Attribute(b_.getIndexAttr(kNowhere)) : Attribute(identityOf(kind, type.getElementType(), b_));
  return arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, neutral));
}

SmallVector<Value> LaunchEmitter::reduceTerms(ReduceOp op, ArrayRef<int64_t> dims, ValueRange carried, Location loc) {
  ArrayRef<int64_t> reduced = dims.drop_front(op.getNumParallel());
  BodyToTiles body(b_, c_, op, dims);
  if (!carried.empty()) // in a loop of its own, which those spans are of
    for (auto &[index, span] : dataSpans_)
      body.needOnly(index, span.begin, span.end);
  SmallVector<int64_t> full = body.shapeOf(dims);
  Value yielded = op.getYield().getValues()[0];
  auto partial = RankedTensorType::get(full, yielded.getType()), positions = RankedTensorType::get(full, b_.getIndexType());
  // A step of a sum of products is one fused multiply-add.
  auto product = yielded.getDefiningOp<arith::MulFOp>();
  Value condition = op.getCondition() ? body.evaluateSet(*op.getCondition(), loc) : Value();
  if (Value where = op.getYield().getCondition())
    condition = body.conjunction(condition, evaluateWhere(where, body, loc), loc);
  // The dims in which points of the tile may lie outside what is reduced.
  Value inside = body.inside(reduced, loc);
  auto isNeutralOutside = [&](Value tile) {
    return !inside || (op.getKind() == Combiner::Sum && isZeroBeyond(tile, inside.getDefiningOp<tile::InsideOp>().getMask()));
  };
  if (product && op.getKind() == Combiner::Sum && !condition && !carried.empty()) {
    Value x = body.evaluate(product.getLhs()), y = body.evaluate(product.getRhs());
    if (!x || !y)
      return {};
    if (isNeutralOutside(x) && isNeutralOutside(y))
      return {math::FmaOp::create(b_, loc, body.broadcast(x, full), body.broadcast(y, full), carried[0])};
  }
  Value value = body.evaluate(yielded);
  if (!value)
    return {};
  if (!isNeutralOutside(value))
    condition = body.conjunction(condition, inside, loc);
  SmallVector<Value> next{body.broadcast(value, full)};
  SmallVector<Type> types{partial};
  if (op.isArg()) {
    next.push_back(body.broadcast(body.evaluate(op.getBlock().getArguments().back()), full));
    types.push_back(positions);
  }
  if (condition) {
    condition = body.broadcast(condition, full);
    for (Value &v : next)
      v = arith::SelectOp::create(b_, loc, condition, v, identityTile(op.getKind(), cast<RankedTensorType>(v.getType()), loc));
  }
  if (carried.empty())
    return next;
  SmallVector<Value> both(carried);
  both.append(next);
  return llvm::to_vector_of<Value>(tile::CombineOp::create(b_, loc, types, op.getKind(), both).getResults());
}

Value LaunchEmitter::hasSomeRound(ReduceOp op, ArrayRef<int64_t> loops, Location loc) {
  if (!isSegmented(op) || !op.getInit() || loops.size() != 1 || buffers_.sourceOf(op.getInit()) != buffers_.sourceOf(op.getResult()))
    return {};
  DataSpan span = dataSpans_.lookup(loops[0]);
  return span.begin && span.end ? arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::slt, span.begin, span.end).getResult() : Value();
}

LogicalResult LaunchEmitter::emitReduce(ReduceOp op, ArrayRef<int64_t> dims) {
  if (std::optional<Contraction> c = findGeneralContraction(op))
    return emitContraction(op, *c, dims);
  Location loc = NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc());
  BodyToTiles shaper(b_, c_, op, dims);
  SmallVector<int64_t> full = shaper.shapeOf(dims);
  bool arg = op.isArg();
  Type element = op.getYield().getValues()[0].getType();
  SmallVector<Value> identity;
  SmallVector<int64_t> loops = loopsOf(dims);
  if (!loops.empty()) {
    identity.push_back(identityTile(op.getKind(), RankedTensorType::get(full, element), loc));
    if (arg)
      identity.push_back(identityTile(op.getKind(), RankedTensorType::get(full, b_.getIndexType()), loc));
  }
  bool ok = true;
  findDataSpans(op, dims, loops, loc, /*together=*/false);
  OpBuilder::InsertionGuard guard(b_);
  if (Value some = hasSomeRound(op, loops, loc)) // what is in place already stays there
    b_.setInsertionPoint(scf::IfOp::create(b_, cu::unnamed(loc), some, false).thenBlock()->getTerminator());
  Location partial = NameLoc::get(b_.getStringAttr(nameOf(op) + "_partial"), op.getLoc());
  SmallVector<Value> partials = loopNest(loops, op.getCondition(), dims, identity, partial, [&](SmallVector<Value> carried) {
    SmallVector<Value> next = reduceTerms(op, dims, carried, loc);
    ok &= !next.empty();
    return ok ? next : carried;
  });
  clearDataSpans();
  if (!ok)
    return failure();
  return finishWithinTile(op, dims, partials);
}

LogicalResult LaunchEmitter::emitWithinTile(ReduceOp op, ArrayRef<int64_t> dims) {
  SmallVector<Value> terms = reduceTerms(op, dims, {}, NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc()));
  return success(!terms.empty() && succeeded(finishWithinTile(op, dims, terms)));
}

LogicalResult LaunchEmitter::finishWithinTile(ReduceOp op, ArrayRef<int64_t> dims, ValueRange partials) {
  Location loc = NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc());
  BodyToTiles shaper(b_, c_, op, dims);
  ArrayRef<int64_t> reduced = dims.drop_front(op.getNumParallel());
  Type element = op.getYield().getValues()[0].getType();
  const bool arg = op.isArg();
  SmallVector<int64_t> kept(dims.take_front(op.getNumParallel()));
  SmallVector<int64_t> outShape = shaper.shapeOf(kept);
  SmallVector<Type> outTypes{RankedTensorType::get(outShape, element)};
  if (arg)
    outTypes.push_back(RankedTensorType::get(outShape, b_.getIndexType()));
  SmallVector<int64_t> sortedDims(reduced);
  llvm::sort(sortedDims);
  Value result = reduceTile(op.getKind(), partials, outTypes, sortedDims, loc).back();
  if (arg) {
    auto type = RankedTensorType::get(outShape, b_.getI64Type());
    auto splat = [&](int64_t v) { return arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, b_.getI64IntegerAttr(v))); };
    Value position = arith::IndexCastOp::create(b_, loc, type, result);
    Value none = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::eq, position, splat(kNowhere));
    result = arith::SelectOp::create(b_, loc, none, splat(-1), position);
  }
  return finishReduce(op, dims, result, shaper);
}

SmallVector<Value> LaunchEmitter::reduceTile(Combiner kind, ValueRange partials, ArrayRef<Type> types, ArrayRef<int64_t> reduced,
                                             Location loc) {
  ValueRange results = tile::ReduceOp::create(b_, loc, types, kind, partials, reduced).getResults();
  if (llvm::any_of(reduced, [&](int64_t i) { return isSharedOut(i); }))
    results = tile::ClusterReduceOp::create(b_, loc, types, kind, results).getResults();
  return llvm::to_vector_of<Value>(results);
}

LogicalResult LaunchEmitter::finishReduce(ReduceOp op, ArrayRef<int64_t> dims, Value result, BodyToTiles &shaper) {
  SmallVector<int64_t> kept(dims.take_front(op.getNumParallel()));
  if (isAdded(op)) {
    parts_.push_back({op, kept, result});
    return success();
  }
  if (op.getInit()) {
    if (op.isArg())
      return op.emitError() << "an arg reduction cannot continue from an earlier value";
    Value before = loadInit(op, kept, shaper);
    result = tile::CombineOp::create(b_, op.getLoc(), result.getType(), op.getKind(), ValueRange{before, result}).getResult(0);
  }
  c_.results[op.getResult()] = result;
  if (isStored(op.getResult()))
    store(result, op.getResult(), op.getOutMapOrIdentity(), kept, {}, shaper, op.getLoc());
  return success();
}

bool LaunchEmitter::isAdded(ReduceOp op) {
  for (size_t n = 0; n < l_.ops.size(); ++n)
    if (ops_[l_.ops[n]] == op)
      return isAddedByBlocks(l_, n, ops_);
  return false;
}

void LaunchEmitter::addToMemory() {
  for (PartOfSum &part : parts_) {
    SmallVector<int64_t> mask;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(part.tile.getType()).getShape();
    for (auto [own, d] : llvm::enumerate(part.kept))
      if (c_.needsMask(d, shape[d]) && !hasRoomForTiles(part.op, own, shape[d]))
        mask.push_back(d);
    llvm::sort(mask);
    SmallVector<AffineExpr> indices = llvm::map_to_vector(part.kept, [&](int64_t d) { return b_.getAffineDimExpr(d); }), subscripts;
    AffineMap out = part.op.getOutMapOrIdentity();
    for (AffineExpr e : out.getResults())
      subscripts.push_back(e.replaceDims(indices));
    AffineMap map = AffineMap::get(c_.rank(), out.getNumSymbols(), subscripts, b_.getContext());
    tile::ScatterOp::create(b_, part.op.getLoc(), CombinerAttr::get(b_.getContext(), part.op.getKind()), part.tile,
                            c_.buffers.lookup(part.op.getResult()), map, c_.offsets, ValueRange{}, mask, Value(), /*guarded=*/false,
                            /*copies=*/0, /*elements=*/0);
  }
  parts_.clear();
}

Value LaunchEmitter::loadInit(ReduceOp op, ArrayRef<int64_t> kept, BodyToTiles &shaper) {
  SmallVector<AffineExpr> replacements, results;
  for (int64_t d : kept)
    replacements.push_back(b_.getAffineDimExpr(d));
  AffineMap out = op.getOutMapOrIdentity();
  for (AffineExpr e : out.getResults())
    results.push_back(e.replaceDims(replacements));
  SmallVector<int64_t> mask;
  for (int64_t d : kept)
    if (c_.needsMask(d, c_.tiles[d]))
      mask.push_back(d);
  llvm::sort(mask);
  auto type = RankedTensorType::get(shaper.shapeOf(kept), op.getResult().getType().getElementType());
  return tile::LoadOp::create(b_, op.getLoc(), type, c_.buffers.lookup(op.getInit()),
                              AffineMap::get(c_.rank(), out.getNumSymbols(), results, b_.getContext()), c_.offsets, ValueRange{}, mask,
                              BoundsMode::InBounds, Value());
}

} // namespace kernelc
