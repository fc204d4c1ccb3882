// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions as dots: operands in the type that the unit takes, masked where a domain says so.
#include "ir/cu/Cu.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"
#include "passes/lowerings/LaunchEmitter.h"
#include "passes/plan/ProductRounds.h"

using namespace mlir;

namespace kernelc {

using namespace te;

/// Whether an operand is an element that has index `d` of its own in a subscript that is not linear.
static bool isReadByDigit(ReduceOp op, const Contraction &c, unsigned d) {
  return llvm::any_of(ArrayRef{c.a, c.b}, [&](Value factor) {
    ReadOp read = findOperandRead(factor);
    std::optional<unsigned> operand;
    for (auto [n, v] : llvm::enumerate(read ? ValueRange(read.getOperands_()) : ValueRange()))
      if (v == op.getBlock().getArgument(d))
        operand = n;
    return operand && llvm::any_of(read.getMapOrIdentity().getResults(),
                                   [&](AffineExpr e) { return e.isFunctionOfDim(*operand) && !linearCoefficient(e, *operand); });
  });
}

LogicalResult LaunchEmitter::emitContraction(ReduceOp op, const Contraction &c, ArrayRef<int64_t> dims) {
  Location loc = NameLoc::get(op.getNameAttr() ? op.getNameAttr() : b_.getStringAttr("acc"), op.getLoc());
  auto indicesOf = [&](ArrayRef<unsigned> list) {
    SmallVector<int64_t> out;
    for (unsigned d : list)
      out.push_back(dims[d]);
    return out;
  };
  SmallVector<int64_t> m = indicesOf(c.m), n = indicesOf(c.n), k = indicesOf(c.k);
  Value left = c.a, right = c.b;
  std::optional<IntegerSet> leftWhere = c.aWhere, rightWhere = c.bWhere;
  ArrayRef<Value> leftMask = c.aMask, rightMask = c.bMask;
  // The unit's rows are the side with tiles that fill them.
  auto tileOf = [&](ArrayRef<int64_t> list) {
    int64_t p = 1;
    for (int64_t d : list)
      p *= l_.tiles[d];
    return p;
  };
  // Or the one that comes from registers.
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  bool oneInRegisters = form && (form->aInRegisters || form->bInRegisters);
  if (l_.unit == "wgmma" && (oneInRegisters ? form->bInRegisters : tileOf(m) < 64)) {
    std::swap(m, n);
    std::swap(left, right);
    std::swap(leftWhere, rightWhere);
    std::swap(leftMask, rightMask);
  }
  bool inSlots = l_.unit == "wgmma" && l_.producerWarps;
  SmallVector<int64_t> kept(dims.take_front(op.getNumParallel()));
  BodyToTiles shaper(b_, c_, op, dims);
  auto type = RankedTensorType::get(shaper.shapeOf(kept), op.getResult().getType().getElementType());
  TypedAttr neutral = identityOf(op.getKind(), type.getElementType(), b_);
  Value zero = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(neutral)));
  bool ok = true;
  int64_t chunk = roundsInAccumulators(l_, c, dims);
  bool byParts = chunk == 1 && (l_.promote || !c.partScales.empty());
  const Target *target = findTarget(absl::string_view(plan_.target));
  auto unitType = [&](Value factor) { return l_.unit == "simt" ? Type() : operandType(c, factor, l_.unit, *target); };
  auto where = [&]() -> Value {
    Value holds = holdsSomewhere(op, c.where, dims);
    ok &= bool(holds);
    return holds;
  };
  llvm::function_ref<Value()> choice = nullptr;
  SmallVector<int64_t> walked(k); // what the condition picks first
  // An index that an operand has a digit of alone (`part // 2`) comes last: the tile that it reads again has just been read.
  std::stable_partition(walked.begin(), walked.end(), [&](int64_t i) { return !isReadByDigit(op, c, llvm::find(dims, i) - dims.begin()); });
  size_t picked = walked.size();
  if (c.where) {
    choice = where;
    llvm::BitVector support = findSupport(c.where, op.getNumDims());
    auto isPicked = [&](int64_t i) { return support[llvm::find(dims, i) - dims.begin()]; };
    picked = std::max<size_t>(1, std::stable_partition(walked.begin(), walked.end(), isPicked) - walked.begin());
  }
  Value out = contractionLoop(walked, op.getCondition(), dims, zero, loc, picked, choice, chunk, [&](Value acc) -> Value {
    BodyToTiles body(b_, c_, op, dims);
    ok = loadFactors(c.partScales, body); // on their way before anybody waits for the operands
    bool aRounded = false, bRounded = false;
    // What tensor copies bring as it stands is masked in its slot, also where it passes through registers on its way.
    bool aInSlot = inSlots && (!oneInRegisters || isa<FloatTF32Type>(form->type)), bInSlot = inSlots;
    Location plain = cu::unnamed(loc);
    auto load = [&](Value factor, ArrayRef<int64_t> outer, std::optional<IntegerSet> where, ArrayRef<Value> mask, bool inSlot,
                    bool &rounded) {
      bool isMasked = where || !mask.empty();
      if (!inSlot || !isMasked)
        return operand(factor, unitType(factor), where, mask, outer, k, body, plain, rounded);
      Value tile = operand(factor, unitType(factor), std::nullopt, {}, outer, k, body, plain, rounded);
      return tile ? maskPoints(op, tile, where, mask, dims, loc) : tile;
    };
    Value a = load(left, m, leftWhere, leftMask, aInSlot, aRounded), b = load(right, n, rightWhere, rightMask, bInSlot, bRounded);
    ok &= a && b;
    if (!ok)
      return acc;
    auto sum = tile::DotOp::create(b_, loc, type, a, b, byParts ? zero : acc, m, n, k, Value(), Value(),
                                   c.term ? pointsLeft(k, loc) : Value(), c.aUnsigned, c.bUnsigned, aRounded, bRounded, op.getKind());
    if (c.term)
      fillTerm(sum, c);
    if (!byParts)
      return sum;
    Value scale = scaleOf(c.partScales, body, loc);
    ok = scale || c.partScales.empty();
    return addPart(sum, scale, acc, loc);
  });
  if (ok && !c.sumScales.empty()) {
    BodyToTiles body(b_, c_, op, dims);
    Value scale = scaleOf(c.sumScales, body, loc);
    ok = bool(scale);
    if (ok)
      out = arith::MulFOp::create(b_, loc, out, body.broadcast(scale, type.getShape()));
  }
  if (ok && c.tied && l_.unit == "simt" && isa<FloatType>(type.getElementType())) {
    out = sumExactly(op, dims, out, loc);
    ok = bool(out);
  }
  if (ok && c.resultWhere) {
    BodyToTiles body(b_, c_, op, dims);
    out = arith::SelectOp::create(b_, loc, body.broadcast(body.evaluateSet(*c.resultWhere, loc), type.getShape()), out, zero);
  }
  if (!ok)
    return failure();
  return finishReduce(op, dims, out, shaper);
}

Value LaunchEmitter::pointsLeft(ArrayRef<int64_t> k, Location loc) {
  for (int64_t i : k)
    if (l_.tiles[i] > 1 && c_.needsMask(i, l_.tiles[i])) {
      Value extent = tile::ApplyOp::create(b_, loc, b_.getIndexType(),
                                           AffineMap::get(0, l_.extents.getNumSymbols(), l_.extents.getResult(i)), ValueRange{});
      return arith::SubIOp::create(b_, loc, extent, c_.offsets[i]);
    }
  return {};
}

void LaunchEmitter::fillTerm(tile::DotOp dot, const Contraction &c) {
  OpBuilder::InsertionGuard guard(b_);
  Type type = c.term.getType();
  Block *block = b_.createBlock(&dot.getTerm(), {}, {type, type}, {dot.getLoc(), dot.getLoc()});
  IRMapping mapping;
  mapping.map(c.a, block->getArgument(0));
  mapping.map(c.b, block->getArgument(1));
  std::function<Value(Value)> copy = [&](Value v) -> Value {
    if (Value done = mapping.lookupOrNull(v))
      return done;
    for (Value operand : v.getDefiningOp()->getOperands())
      copy(operand);
    b_.setInsertionPointToEnd(block);
    return mapping.lookupOrDefault(b_.clone(*v.getDefiningOp(), mapping)->getResult(0));
  };
  Value term = copy(c.term);
  b_.setInsertionPointToEnd(block);
  tile::TermOp::create(b_, dot.getLoc(), term);
}

Value LaunchEmitter::addPart(Value part, Value scale, Value acc, Location loc) {
  if (!scale)
    return arith::AddFOp::create(b_, loc, acc, part);
  auto type = cast<RankedTensorType>(part.getType());
  if (scale.getType() != type)
    scale = tile::BroadcastOp::create(b_, loc, RankedTensorType::get(type.getShape(), type.getElementType()), scale);
  return math::FmaOp::create(b_, loc, part, scale, acc);
}

bool LaunchEmitter::loadFactors(ArrayRef<Value> factors, BodyToTiles &body) {
  SmallVector<Value> work(factors);
  bool ok = true;
  while (!work.empty() && ok) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || isDomainOp(op))
      continue;
    if (isa<ReadOp>(op))
      ok = bool(body.evaluate(op->getResult(0)));
    else
      llvm::append_range(work, op->getOperands());
  }
  return ok;
}

Value LaunchEmitter::scaleOf(ArrayRef<Value> factors, BodyToTiles &body, Location loc) {
  Value product;
  for (Value factor : factors) {
    Value tile = body.evaluate(factor);
    if (!tile)
      return {};
    if (!product) {
      product = tile;
      continue;
    }
    SmallVector<int64_t> shape(cast<RankedTensorType>(product.getType()).getShape());
    for (auto [s, e] : llvm::zip(shape, cast<RankedTensorType>(tile.getType()).getShape()))
      s = std::max(s, e);
    product = arith::MulFOp::create(b_, loc, body.broadcast(product, shape), body.broadcast(tile, shape));
  }
  return product;
}

Value LaunchEmitter::inUnitType(Value factor, Type unitType, BodyToTiles &body, Location loc, bool &rounded) {
  Value narrow = stripWidening(factor);
  if (!unitType || narrow.getType() == unitType)
    return body.evaluate(narrow);
  bool roundsInDot = l_.unit != "wgmma" || l_.producerWarps; // as tensor copies do for it
  if (auto round = factor.getDefiningOp<RoundOp>(); round && roundsInDot) {
    rounded = true;
    return body.evaluate(round.getInput());
  }
  Value tile = body.evaluate(factor);
  if (!tile || isa<FloatTF32Type>(unitType))
    return tile; // f32 that is a tf32
  auto type = cast<RankedTensorType>(tile.getType());
  return arith::TruncFOp::create(b_, loc, RankedTensorType::get(type.getShape(), unitType), tile);
}

Value LaunchEmitter::operand(Value factor, Type unitType, std::optional<IntegerSet> where, ArrayRef<Value> mask, ArrayRef<int64_t> outer,
                             ArrayRef<int64_t> k, BodyToTiles &body, Location loc, bool &rounded) {
  Value tile = inUnitType(factor, unitType, body, loc, rounded);
  if (!tile)
    return tile;
  // A tile within which the factor is the same along one of its indices (`a[h / 2, k]`, two points of h) has a single point there.
  SmallVector<int64_t> whole(cast<RankedTensorType>(tile.getType()).getShape());
  for (int64_t d : llvm::concat<const int64_t>(outer, k))
    whole[d] = l_.tiles[d];
  tile = body.broadcast(tile, whole);
  Value counts = where ? body.evaluateSet(*where, loc) : Value();
  for (Value condition : mask) {
    Value holds = body.evaluate(condition);
    if (!holds)
      return holds;
    counts = body.conjunction(counts, holds, loc);
  }
  if (!tile.getDefiningOp<tile::LoadOp>()) // loads give zero there
    counts = body.conjunction(counts, body.inside(k, loc), loc);
  if (!counts)
    return tile;
  SmallVector<int64_t> shape(cast<RankedTensorType>(tile.getType()).getShape());
  for (auto [s, n] : llvm::zip(shape, cast<RankedTensorType>(counts.getType()).getShape()))
    s = std::max(s, n);
  tile = body.broadcast(tile, shape);
  auto type = cast<RankedTensorType>(tile.getType());
  Value zero = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(b_.getZeroAttr(type.getElementType()))));
  return arith::SelectOp::create(b_, loc, body.broadcast(counts, shape), tile, zero);
}

} // namespace kernelc
