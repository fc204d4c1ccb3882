// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contractions as dots: operands in the type that the unit takes, masked where a domain says so.
#include "ir/cu/Cu.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/analysis/Reduction.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/lowerings/LaunchEmitter.h"
#include "passes/plan/ProductRounds.h"
#include "passes/plan/Siblings.h"

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

/// `where` without what keeps the read of `factor` inside its tensor: tensor copies bring zeros from outside.
static std::optional<IntegerSet> withoutEnds(const Summation &sum, Value factor, std::optional<IntegerSet> where) {
  ReadOp read = findOperandRead(factor);
  if (!where || !read)
    return where;
  AffineMap subscripts = read.getMapOrIdentity(), shape = getTensorShape(read.getTensor());
  SmallVector<AffineExpr> dims, kept;
  SmallVector<bool> equalities;
  for (Value v : read.getOperands_()) {
    std::optional<unsigned> d = findIndex(sum.op, v);
    if (!d)
      return where;
    dims.push_back(getAffineDimExpr(*d, sum.op->getContext()));
  }
  for (auto [e, isEqual] : llvm::zip(where->getConstraints(), where->getEqFlags())) {
    bool isEnd = !isEqual && llvm::any_of(llvm::zip(subscripts.getResults(), shape.getResults()), [&, e = e](auto at) {
      AffineExpr room = std::get<1>(at) - 1 - std::get<0>(at).replaceDims(dims);
      return simplifyAffineExpr(room - e, sum.dims, where->getNumSymbols()) == 0;
    });
    if (isEnd)
      continue;
    kept.push_back(e);
    equalities.push_back(isEqual);
  }
  return kept.empty() ? std::nullopt : std::optional(IntegerSet::get(where->getNumDims(), where->getNumSymbols(), kept, equalities));
}

void LaunchEmitter::orderRounds(ReduceOp op, const Contraction &c, ArrayRef<int64_t> dims, DotForm &f) {
  f.walked = f.k;
  auto dimOf = [&](int64_t i) { return unsigned(llvm::find(dims, i) - dims.begin()); };
  // An index that an operand has a digit of alone (`part // 2`) comes last: the tile that it reads again has just been read.
  std::stable_partition(f.walked.begin(), f.walked.end(), [&](int64_t i) { return !isReadByDigit(op, c, dimOf(i)); });
  f.picked = f.walked.size();
  if (!c.where)
    return;
  llvm::BitVector support = findSupport(c.where, op.getNumDims()); // what the condition picks comes first
  auto others = std::stable_partition(f.walked.begin(), f.walked.end(), [&](int64_t i) { return support[dimOf(i)]; });
  f.picked = std::max<size_t>(1, others - f.walked.begin());
}

SmallVector<unsigned> LaunchEmitter::findRoundEnds(IntegerSet where, ArrayRef<int64_t> dims, const DotForm &f, bool picks) {
  SmallVector<DimRange> ranges = llvm::map_to_vector(dims, [&](int64_t i) { return tileRange(i); });
  SmallVector<unsigned> ends;
  for (unsigned i = 0; i < where.getNumConstraints(); ++i) {
    llvm::BitVector own(dims.size());
    collectDims(where.getConstraint(i), own);
    std::optional<unsigned> walked;
    bool isEnd = !where.isEq(i);
    for (unsigned d : own.set_bits()) {
      bool isWalked = llvm::is_contained(f.walked, dims[d]);
      // (Where data pick tiles, the slowest index alone begins and ends by the domain.)
      isEnd &= isWalked ? l_.tiles[dims[d]] == 1 && !walked && (!picks || dims[d] == f.walked.front()) : isOfBlock(dims[d]);
      walked = isWalked ? d : walked;
    }
    if (!isEnd || !walked || !linearCoefficient(where.getConstraint(i), *walked))
      continue;
    IndexBounds bounds = findBounds(select(where, i), *walked, ranges); // what findSpan makes of it
    if (!bounds.lowers.empty() || !bounds.uppers.empty())
      ends.push_back(i);
  }
  return ends;
}

std::optional<IntegerSet> LaunchEmitter::withoutRoundEnds(std::optional<IntegerSet> where, ArrayRef<int64_t> dims, const DotForm &f,
                                                          bool picks) {
  if (!where || !open_.empty()) // (within a loop that statements share no other one is walked)
    return where;
  SmallVector<unsigned> ends = findRoundEnds(*where, dims, f, picks), kept;
  for (unsigned i = 0; i < where->getNumConstraints(); ++i)
    if (!llvm::is_contained(ends, i))
      kept.push_back(i);
  return kept.empty() ? std::nullopt : std::optional(select(*where, kept));
}

LaunchEmitter::DotForm LaunchEmitter::dotForm(const Summation &sum, const Contraction &c, ArrayRef<int64_t> dims) {
  auto indicesOf = [&](ArrayRef<unsigned> list) {
    SmallVector<int64_t, 4> indices = llvm::map_to_vector<4>(list, [&](unsigned d) { return dims[d]; });
    if (l_.unit == Unit::Wgmma || !l_.loops.empty()) // slots and chains have them in the launch's order, whatever the statement's is
      llvm::sort(indices);
    return indices;
  };
  // An operand that is computed from another product's results stays in registers, as rows, whatever the order of the statement's dims.
  auto isMadeHere = [&](Value factor) {
    return llvm::any_of(findReads(factor), [&](ReadOp read) {
      return llvm::any_of(l_.ops, [&](int64_t n) { return ops_[n] == read.getTensor().getDefiningOp(); });
    });
  };
  DotForm f{indicesOf(c.m), indicesOf(c.n), indicesOf(c.k), {c.a, c.aWhere, c.aMask}, {c.b, c.bWhere, c.bMask}};
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  f.oneInRegisters = form && (form->aInRegisters || form->bInRegisters);
  bool isFirst = l_.unit == Unit::Mma || !l_.loops.empty(); // what is made here, in chains
  if (l_.unit == Unit::Wgmma ? takesColumnsAsRows(l_, c, dims) : isFirst && isMadeHere(c.b) && !isMadeHere(c.a)) {
    std::swap(f.m, f.n);
    std::swap(f.left, f.right);
  }
  // What tensor copies bring as it stands is masked in its slot, also where it passes through registers on its way.
  f.right.inSlot = l_.unit == Unit::Wgmma && l_.producerWarps;
  f.left.inSlot = f.right.inSlot && (!f.oneInRegisters || isa<FloatTF32Type>(form->type));
  if (auto reduce = dyn_cast<ReduceOp>(sum.op))
    orderRounds(reduce, c, dims, f);
  for (DotForm::Side *side : {&f.left, &f.right}) {
    side->where = withoutRoundEnds(side->where, dims, f, bool(c.where));
    if (side->inSlot)
      side->where = withoutEnds(sum, side->factor, side->where);
  }
  BodyToTiles shaper(b_, c_, sum.op, dims);
  SmallVector<int64_t> own;
  for (unsigned d : sum.own.set_bits())
    own.push_back(dims[d]);
  f.type = RankedTensorType::get(shaper.shapeOf(own), sum.term.getType());
  f.chunk = roundsInAccumulators(l_, c, dims);
  f.byParts = f.chunk == 1 && (l_.promote || !c.partScales.empty());
  return f;
}

Value LaunchEmitter::startOfSum(const Summation &sum, const DotForm &f, Location loc) {
  for (int64_t ordinal : l_.ops)
    for (const AddedProducts &added : findAddedProducts(ops_[ordinal]))
      if (added.second == sum.op && goesOn(l_, ops_, added))
        return c_.results.lookup(ReduceOp(added.first).getResult());
  return zeroSum(sum, f, loc);
}

void LaunchEmitter::bindSums(Operation *op, BodyToTiles &body) {
  for (const AddedProducts &added : findAddedProducts(op))
    if (goesOn(l_, ops_, added))
      body.bind(added.sum, c_.results.lookup(ReduceOp(added.second).getResult()));
}

Value LaunchEmitter::zeroSum(const Summation &sum, const DotForm &f, Location loc) {
  Attribute neutral = identityOf(sum.kind, f.type.getElementType(), b_);
  return arith::ConstantOp::create(b_, loc, f.type, SplatElementsAttr::get(f.type, neutral));
}

Value LaunchEmitter::addRound(const Summation &sum, const Contraction &c, const DotForm &f, ArrayRef<int64_t> dims, BodyToTiles &body,
                              Value acc, Location loc) {
  if (!loadFactors(c.partScales, body)) // on their way before anybody waits for the operands
    return {};
  const Target *target = findTarget(absl::string_view(plan_.target));
  Location plain = cu::unnamed(loc);
  auto load = [&](const DotForm::Side &side, ArrayRef<int64_t> outer, bool &rounded) {
    Type unitType = l_.unit == Unit::Simt ? Type() : operandType(c, side.factor, l_.unit, *target);
    bool isMasked = side.where || !side.mask.empty();
    if (!side.inSlot || !isMasked)
      return operand(side.factor, unitType, side.where, side.mask, outer, f.k, body, plain, rounded);
    Value tile = operand(side.factor, unitType, std::nullopt, {}, outer, f.k, body, plain, rounded);
    return tile ? maskPoints(sum.op, tile, side.where, side.mask, dims, loc) : tile;
  };
  bool aRounded = false, bRounded = false;
  // In a chain on CUDA cores what is excluded has no terms: a slot says which that is.
  const bool isTurned = f.left.factor != c.a, marks = marksAbsent(c, f);
  Value a = marks ? markedOperand(f, body, plain) : load(f.left, f.m, aRounded), b = load(f.right, f.n, bRounded);
  if (!a || !b)
    return {};
  Value count = marks ? pointsPresent(sum.op, f, dims, body, plain) : c.term ? pointsLeft(f.k, loc) : Value();
  if (marks && !count)
    return {};
  auto dot = tile::DotOp::create(b_, loc, f.type, a, b, f.byParts ? zeroSum(sum, f, loc) : acc, f.m, f.n, f.k, Value(), Value(), count,
                                 isTurned ? c.bUnsigned : c.aUnsigned, isTurned ? c.aUnsigned : c.bUnsigned, aRounded, bRounded, sum.kind);
  if (c.term)
    fillTerm(dot, c);
  if (!f.byParts)
    return dot;
  Value scale = scaleOf(c.partScales, body, loc);
  return scale || c.partScales.empty() ? addPart(dot, scale, acc, loc) : Value();
}

Value LaunchEmitter::finishSum(ReduceOp op, const Contraction &c, const DotForm &f, ArrayRef<int64_t> dims, Value out, Location loc) {
  if (!c.sumScales.empty()) {
    BodyToTiles body(b_, c_, op, dims);
    Value scale = scaleOf(c.sumScales, body, loc);
    if (!scale)
      return {};
    out = arith::MulFOp::create(b_, loc, out, body.broadcast(scale, f.type.getShape()));
  }
  bool isOfChain = !l_.loops.empty(); // whose factors no other loop has
  if (c.tied && l_.unit == Unit::Simt && !isOfChain && isa<FloatType>(f.type.getElementType()))
    out = sumExactly(op, dims, out, loc);
  if (out && c.resultWhere) {
    BodyToTiles body(b_, c_, op, dims);
    Value holds = body.broadcast(body.evaluateSet(*c.resultWhere, loc), f.type.getShape());
    out = arith::SelectOp::create(b_, loc, holds, out, zeroSum(op, f, loc));
  }
  return out;
}

bool LaunchEmitter::areDecided(std::optional<IntegerSet> where, ArrayRef<int64_t> dims) {
  llvm::BitVector own(dims.size());
  for (AffineExpr e : where ? where->getConstraints() : ArrayRef<AffineExpr>())
    collectDims(e, own);
  return llvm::all_of(own.set_bits(), [&](unsigned d) { return isOfBlock(dims[d]); });
}

LogicalResult LaunchEmitter::emitContraction(ReduceOp op, const Contraction &c, ArrayRef<int64_t> dims) {
  Location loc = NameLoc::get(op.getNameAttr() ? op.getNameAttr() : b_.getStringAttr("acc"), op.getLoc());
  DotForm f = dotForm(op, c, dims);
  Value zero = startOfSum(op, f, loc), out;
  bool ok = true;
  auto round = [&](Value acc) -> Value {
    BodyToTiles body(b_, c_, op, dims);
    Value next = addRound(op, c, f, dims, body, acc, loc);
    ok &= bool(next);
    return next ? next : acc;
  };
  // Within a loop that statements share, a product whose sum one tile holds is one dot of its round.
  if (!open_.empty() && loopsOf(f.k).empty())
    out = round(zero);
  else
    out = sumOverRounds(op, c, f, dims, zero, loc, ok, round);
  Contraction left = c;
  if (open_.empty() && zero.getDefiningOp<arith::ConstantOp>() && areDecided(c.resultWhere, dims))
    left.resultWhere.reset(); // of results that have no terms no round was walked
  if (ok)
    out = finishSum(op, left, f, dims, out, loc);
  if (!ok || !out)
    return failure();
  BodyToTiles shaper(b_, c_, op, dims);
  return finishReduce(op, dims, out, shaper);
}

Value LaunchEmitter::sumOverRounds(ReduceOp op, const Contraction &c, const DotForm &f, ArrayRef<int64_t> dims, Value zero, Location loc,
                                   bool &ok, llvm::function_ref<Value(Value)> round) {
  auto where = [&]() -> Value {
    Value holds = holdsSomewhere(op, c.where, dims);
    ok &= bool(holds);
    return holds;
  };
  llvm::function_ref<Value()> choice = nullptr;
  if (c.where)
    choice = where;
  else
    findDataSpans(op, dims, f.walked, loc);
  Walk walk{f.walked, op.getCondition(), dims, loc, f.picked, choice, f.chunk};
  SmallVector<AffineExpr> toLaunch = llvm::map_to_vector(dims, [&](int64_t i) { return b_.getAffineDimExpr(i); });
  if (open_.empty()) // (rounds of a loop that statements share may have no points)
    c_.atAllPoints.emplace();
  if (std::optional<IntegerSet> set = c_.atAllPoints ? op.getCondition() : std::nullopt)
    for (unsigned i : findRoundEnds(*set, dims, f, bool(c.where)))
      c_.atAllPoints->push_back(set->getConstraint(i).replaceDims(toLaunch));
  Value out = walkRounds(walk, zero, [&](ValueRange acc) { return Values{round(acc.front())}; }).front();
  c_.atAllPoints.reset();
  clearDataSpans();
  return out;
}

Value LaunchEmitter::pointsLeft(ArrayRef<int64_t> k, Location loc) {
  for (int64_t i : k)
    if (l_.tiles[i] > 1 && c_.needsMask(i, l_.tiles[i]))
      return arith::SubIOp::create(b_, loc, extentOf(i, loc), c_.offsets[i]);
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
  bool roundsInDot = l_.unit != Unit::Wgmma || l_.producerWarps; // as tensor copies do for it
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

Value LaunchEmitter::ofWholeTile(Value tile, ArrayRef<int64_t> outer, ArrayRef<int64_t> k, BodyToTiles &body) {
  // A tile within which the factor is the same along one of its indices (`a[h / 2, k]`, two points of h) has a single point there.
  SmallVector<int64_t> whole(cast<RankedTensorType>(tile.getType()).getShape());
  for (int64_t d : llvm::concat<const int64_t>(outer, k))
    whole[d] = l_.tiles[d];
  return body.broadcast(tile, whole);
}

Value LaunchEmitter::operand(Value factor, Type unitType, std::optional<IntegerSet> where, ArrayRef<Value> mask, ArrayRef<int64_t> outer,
                             ArrayRef<int64_t> k, BodyToTiles &body, Location loc, bool &rounded) {
  Value tile = inUnitType(factor, unitType, body, loc, rounded);
  if (!tile)
    return tile;
  tile = ofWholeTile(tile, outer, k, body);
  Value counts = where ? body.evaluateSet(*where, loc) : Value();
  for (Value condition : mask) {
    Value holds = body.evaluate(condition);
    if (!holds)
      return holds;
    counts = body.conjunction(counts, holds, loc);
  }
  if (!tile.getDefiningOp<tile::LoadOp>()) // loads give zero there
    counts = body.conjunction(counts, body.inside(k, loc), loc);
  if (!counts || body.isZeroOutside(factor))
    return tile;
  SmallVector<int64_t> shape(cast<RankedTensorType>(tile.getType()).getShape());
  for (auto [s, n] : llvm::zip(shape, cast<RankedTensorType>(counts.getType()).getShape()))
    s = std::max(s, n);
  // Zero is chosen before a conversion, which then takes neighbours in pairs.
  auto narrowed = tile.getDefiningOp<arith::TruncFOp>();
  tile = body.broadcast(narrowed ? narrowed.getIn() : tile, shape);
  auto type = cast<RankedTensorType>(tile.getType());
  Value zero = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(b_.getZeroAttr(type.getElementType()))));
  Value chosen;
  // What is zero for another reason, too, is masked within, where others may have masked it already (a cascade's sum beside its product).
  auto guarded = tile.getDefiningOp<arith::SelectOp>();
  auto isZero = [](Value v) {
    auto spread = v.getDefiningOp<tile::BroadcastOp>();
    return matchPattern(spread ? spread.getInput() : v, m_AnyZeroFloat());
  };
  if (guarded && isZero(guarded.getTrueValue())) {
    chosen = arith::SelectOp::create(b_, loc, body.broadcast(counts, shape), guarded.getFalseValue(), zero);
    chosen = arith::SelectOp::create(b_, loc, guarded.getCondition(), zero, chosen);
  } else {
    chosen = arith::SelectOp::create(b_, loc, body.broadcast(counts, shape), tile, zero);
  }
  return narrowed
             ? arith::TruncFOp::create(b_, loc, RankedTensorType::get(shape, getElementTypeOrSelf(narrowed.getType())), chosen).getResult()
             : chosen;
}

} // namespace kernelc
