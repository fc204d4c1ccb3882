// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/BodyToTiles.h"

#include "ir/te/Marks.h"
#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/WrittenBox.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/index/Meeting.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

SmallVector<int64_t> BodyToTiles::shapeOf(ArrayRef<int64_t> indices) {
  SmallVector<int64_t> shape(c_.rank(), 1);
  for (int64_t i : indices)
    shape[i] = c_.tiles[i];
  return shape;
}

Value BodyToTiles::broadcast(Value tile, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getShape() == shape)
    return tile;
  return tile::BroadcastOp::create(b_, tile.getLoc(), RankedTensorType::get(shape, type.getElementType()), tile);
}

Value BodyToTiles::scalarTile(Value scalar, Location loc) {
  SmallVector<int64_t> ones(c_.rank(), 1);
  auto type = RankedTensorType::get(ones, scalar.getType());
  return tile::SplatOp::create(b_, loc, type, scalar);
}

Value BodyToTiles::constantTile(bool v, Location loc) {
  auto type = RankedTensorType::get(SmallVector<int64_t>(c_.rank(), 1), b_.getI1Type());
  return arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, v));
}

bool BodyToTiles::isZeroOutside(Value value) const {
  while (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return zeroOutside_.contains(value);
}

Value BodyToTiles::evaluate(Value v) {
  if (Value known = done_.lookup(v))
    return known;
  Value result;
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    if (arg.getOwner()->getParentOp() == op_) {
      int64_t index = dims_[arg.getArgNumber()];
      auto type = RankedTensorType::get(shapeOf(index), b_.getIndexType());
      result = tile::IndexOp::create(b_, v.getLoc(), type, index, c_.offsets[index]);
    } else {
      result = scalarTile(c_.buffers.lookup(v), v.getLoc()); // a scalar parameter
    }
  } else if (auto read = v.getDefiningOp<te::ReadOp>()) {
    result = load(read);
  } else {
    result = elementwise(v.getDefiningOp());
  }
  if (result)
    done_[v] = result;
  return result;
}

Value BodyToTiles::elementwise(Operation *op) {
  SmallVector<int64_t> ones(c_.rank(), 1);
  if (auto size = dyn_cast<te::SizeOp>(op))
    return scalarTile(tile::ApplyOp::create(b_, op->getLoc(), b_.getIndexType(), size.getMap(), ValueRange{}, /*computed=*/true),
                      op->getLoc());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto type = RankedTensorType::get(ones, constant.getType());
    return arith::ConstantOp::create(b_, op->getLoc(), type, SplatElementsAttr::get(type, constant.getValue()));
  }
  if (isa<arith::AndIOp>(op))
    for (unsigned i : {0u, 1u})
      if (Operation *part = op->getOperand(i).getDefiningOp(); part && te::kImplied.isOn(part))
        return evaluate(op->getOperand(1 - i));
  SmallVector<Value> operands;
  SmallVector<int64_t> shape = ones;
  for (Value operand : op->getOperands()) {
    Value t = evaluate(operand);
    if (!t)
      return {};
    operands.push_back(t);
    for (auto [s, e] : llvm::zip(shape, cast<RankedTensorType>(t.getType()).getShape()))
      s = std::max(s, e);
  }
  for (Value &t : operands)
    t = broadcast(t, shape);
  auto type = RankedTensorType::get(shape, op->getResult(0).getType());
  if (auto convert = dyn_cast<te::ConvertOp>(op))
    return tile::ConvertOp::create(b_, op->getLoc(), type, operands[0], convert.getToUnsigned());
  if (isa<te::RoundOp>(op))
    return te::buildRoundToTf32(b_, op->getLoc(), operands[0]);
  if (!op->hasTrait<OpTrait::Elementwise>()) {
    op->emitError() << "'" << op->getName() << "' cannot be computed tile by tile yet";
    return {};
  }
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addAttributes(op->getAttrs());
  state.addTypes(type);
  return b_.create(state)->getResult(0);
}

/// The dims of `op` that a condition of its body compares, as numbers: what it reads at them says
/// nothing about where they are.
static void collectCompared(Operation *op, Value condition, llvm::BitVector &dims) {
  SmallVector<Value> work{condition};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (std::optional<unsigned> d = te::findIndex(op, v))
      dims.set(*d);
    Operation *def = v.getDefiningOp();
    if (def && !isa<te::ReadOp>(def) && !te::isDomainOp(def) && seen.insert(def).second)
      llvm::append_range(work, def->getOperands());
  }
}

/// Whether a subscript over the op's dims stays inside a dim of `size` elements at all points that the rounds of a product walk, whatever
/// the rest of the op's condition says.
bool BodyToTiles::staysInsideInRounds(AffineExpr subscript, AffineExpr size) {
  if (!c_.atAllPoints)
    return false;
  te::Meeting points(op_->getParentOfType<te::KernelOp>(), c_.facts);
  unsigned p = points.addPoint(op_, /*inDomain=*/false);
  SmallVector<AffineExpr> toOp(c_.rank());
  for (auto [d, index] : llvm::enumerate(dims_))
    toOp[index] = b_.getAffineDimExpr(d);
  for (AffineExpr form : *c_.atAllPoints) {
    llvm::BitVector dims(c_.rank());
    te::collectDims(form, dims);
    if (llvm::all_of(dims.set_bits(), [&](unsigned i) { return bool(toOp[i]); }))
      points.addAtLeastZero(form.replaceDims(toOp), p);
  }
  return points.isNeverNegative(subscript, p) && points.isNeverNegative(size - 1 - subscript, p);
}

/// Whether the grid's indices of a read that may stick out of their extents are subscripts of their own: tensor copies need no masks of
/// these, which padding spares others. (What is summed is masked in any case.)
bool BodyToTiles::isKeptByOwnMasks(te::ReadOp read) {
  AffineMap map = read.getMapOrIdentity(), shape = te::getTensorShape(read.getTensor());
  return llvm::all_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
    std::optional<unsigned> d = te::findIndex(op_, operand.value());
    if (!d || !c_.ragged[dims_[*d]] || !c_.onGrid[dims_[*d]])
      return d.has_value();
    return llvm::any_of(llvm::zip(map.getResults(), shape.getResults()), [&](auto at) {
      return std::get<0>(at) == b_.getAffineDimExpr(operand.index()) && std::get<1>(at) == c_.extents.getResult(dims_[*d]);
    });
  });
}

/// Whether an access that is proved (or promised) to stay inside may leave its
/// tensor at points of the tile that the op's condition excludes.
bool BodyToTiles::leansOnCondition(te::ReadOp read) {
  if (read.getBounds() != te::BoundsMode::InBounds && read.getBounds() != te::BoundsMode::Assume)
    return false;
  if (auto reduce = dyn_cast<te::ReduceOp>(op_); reduce && reduce.getAllExist())
    return false;
  AffineMap extents = te::getExtents(op_);
  unsigned n = extents.getNumResults(), symbols = extents.getNumSymbols();
  llvm::BitVector bound(n);
  // What is reduced in a recurrence has a range and a condition of its own.
  auto recurrence = dyn_cast<te::RecurrenceOp>(op_);
  unsigned region = read->getParentRegion()->getRegionNumber();
  bool isTerm = recurrence && region > 0;
  Value onData = isTerm ? recurrence.getTermYield(region - 1).getCondition() : te::getYield(op_).getCondition();
  if (onData)
    collectCompared(op_, onData, bound);
  std::optional<IntegerSet> own;
  if (isTerm)
    own = recurrence.getRange(region - 1);
  for (const std::optional<IntegerSet> &set : {te::getCondition(op_), own})
    for (AffineExpr e : set ? set->getConstraints() : ArrayRef<AffineExpr>())
      te::collectDims(e, bound);
  // A subscript of no index is proved for a domain that has points; a tile is read whether there are any.
  auto isPositive = [](AffineExpr e) {
    auto c = dyn_cast<AffineConstantExpr>(e);
    return c && c.getValue() > 0;
  };
  bool mayBeEmpty = llvm::any_of(extents.getResults().drop_front(te::getNumParallel(op_)), [&](AffineExpr e) { return !isPositive(e); });
  if (bound.none() && !onData && !mayBeEmpty)
    return false;
  // The subscripts over the op's dims; what is none of those is data.
  AffineMap map = read.getMapOrIdentity(), box = te::findWrittenBox(read.getTensor());
  AffineMap shape = box ? box : te::getTensorShape(read.getTensor());
  SmallVector<AffineExpr> toOp;
  SmallVector<te::DimRange> ranges;
  for (unsigned d = 0; d < n; ++d)
    ranges.push_back({b_.getAffineConstantExpr(0), extents.getResult(d) - 1});
  ranges.push_back({});
  bool leaves = false;
  for (Value v : read.getOperands_())
    toOp.push_back(b_.getAffineDimExpr(te::findIndex(op_, v).value_or(n)));
  auto isNatural = [&](AffineExpr e) {
    auto c = e ? dyn_cast<AffineConstantExpr>(simplifyAffineExpr(e, 0, symbols)) : AffineConstantExpr();
    return c && c.getValue() >= 0;
  };
  for (auto [subscript, size] : llvm::zip(map.getResults(), shape.getResults())) {
    AffineExpr e = subscript.replaceDims(toOp);
    llvm::BitVector dims(n + 1);
    te::collectDims(e, dims);
    if (!dims[n] && !dims.anyCommon(bound) && !(dims.none() && mayBeEmpty))
      continue; // proved without the condition
    AffineExpr low = te::findExtreme(e, false, ranges), high = te::findExtreme(e, true, ranges);
    bool stays = low && high && isNatural(low) && isNatural(size - 1 - high);
    leaves |= !stays && (dims[n] || !isKeptByOwnMasks(read) || !staysInsideInRounds(e, size));
  }
  return leaves;
}

bool BodyToTiles::restrictToNeeded(Value &index, Location loc) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(index.getType()).getShape();
  Value all;
  for (const Needed &n : needed_) {
    if (shape[n.index] == 1) // the same data for all of its points, which are neighbours
      continue;
    auto type = RankedTensorType::get(shapeOf(n.index), b_.getIndexType());
    Value at = tile::IndexOp::create(b_, loc, type, n.index, c_.offsets[n.index]);
    auto require = [&](Value limit, arith::CmpIPredicate relation) {
      if (limit)
        all = conjunction(all, arith::CmpIOp::create(b_, loc, relation, at, broadcast(scalarTile(limit, loc), type.getShape())), loc);
    };
    require(n.begin, arith::CmpIPredicate::sge);
    require(n.end, arith::CmpIPredicate::slt);
  }
  if (!all)
    return false;
  auto type = cast<RankedTensorType>(index.getType());
  Value nowhere = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(b_.getIndexAttr(-1))));
  index = arith::SelectOp::create(b_, loc, broadcast(all, shape), index, nowhere);
  return true;
}

SmallVector<AffineExpr> BodyToTiles::inMemory(const LaunchContext &context, Value tensor, AffineMap map) {
  auto own = context.own.find(tensor);
  if (own == context.own.end())
    return llvm::to_vector(map.getResults());
  return llvm::map_to_vector(own->second, [&](unsigned d) { return map.getResult(d); });
}

/// The launch indices beyond whose extents a tile of `shape` may ask, of which those in `unmasked` are left alone. `walked`: indices that
/// may have no point at all in a block.
static SmallVector<int64_t> maskOf(const LaunchContext &c, ArrayRef<int64_t> shape, const llvm::BitVector &walked,
                                   const llvm::BitVector &unmasked) {
  SmallVector<int64_t> mask;
  for (unsigned d = 0; d < c.rank(); ++d)
    if (c.needsMask(d, shape[d]) && (shape[d] > 1 || walked[d]) && !unmasked[d])
      mask.push_back(d);
  return mask;
}

/// A tile of one zero.
static Value makeZero(OpBuilder &b, Location loc, Type element, unsigned rank) {
  auto type = RankedTensorType::get(SmallVector<int64_t>(rank, 1), element);
  return arith::ConstantOp::create(b, loc, type, SplatElementsAttr::get(type, Attribute(b.getZeroAttr(element))));
}

Value BodyToTiles::load(te::ReadOp read) {
  if (Value here = c_.results.lookup(read.getTensor()))
    return here;
  Location loc = read.getLoc();
  AffineMap map = read.getMapOrIdentity();
  unsigned rank = c_.rank();
  // Operands that are indices of the launch become dims of the map; others index tiles.
  SmallVector<AffineExpr> replacements;
  SmallVector<Value> indexTiles;
  SmallVector<int64_t> used;
  llvm::BitVector walked(rank);
  for (auto [i, operand] : llvm::enumerate(read.getOperands_())) {
    if (std::optional<unsigned> dim = te::findIndex(op_, operand)) {
      int64_t index = dims_[*dim];
      replacements.push_back(b_.getAffineDimExpr(index));
      walked[index] = c_.mayBeBeyond[index];
      if (llvm::any_of(map.getResults(), [&, i = i](AffineExpr e) { return te::variesInTile(e, i, c_.tiles[index]); }))
        used.push_back(index);
      continue;
    }
    Value tile = evaluate(operand);
    if (!tile)
      return {};
    replacements.push_back(b_.getAffineDimExpr(rank + indexTiles.size()));
    indexTiles.push_back(tile);
  }
  SmallVector<int64_t> shape = shapeOf(used);
  SmallVector<Value> along(indexTiles); // tiles that the result has the points of
  Value padding = read.getPadding() ? evaluate(read.getPadding()) : Value();
  if (read.getPadding() && !padding)
    return {};
  if (padding && cast<RankedTensorType>(padding.getType()).getNumElements() > 1)
    along.push_back(padding);
  for (Value t : along)
    for (auto [s, e] : llvm::zip(shape, cast<RankedTensorType>(t.getType()).getShape()))
      s = std::max(s, e);
  te::BoundsMode bounds = read.getBounds();
  // Elements that data chooses are no neighbours: each takes a request of its own, there is none for what counts for nothing.
  bool mayLeave = bounds == te::BoundsMode::InBounds || bounds == te::BoundsMode::Assume || bounds == te::BoundsMode::Pad;
  bool isNeeded = mayLeave && !indexTiles.empty() && restrictToNeeded(indexTiles[0], loc);
  for (Value &t : indexTiles)
    t = broadcast(t, shape);
  if (padding) {
    padding = along.size() > indexTiles.size() ? broadcast(padding, shape) : padding;
  } else if (isNeeded || leansOnCondition(read)) {
    padding = makeZero(b_, loc, read.getResult().getType(), rank); // (never used; zeros are what copies can make)
    bounds = te::BoundsMode::Pad;
  }
  // Where the padding's own test keeps a factor's reads inside the tensor, a mask is left to do for sums only.
  auto reduce = dyn_cast<te::ReduceOp>(op_);
  bool keptInside = bounds == te::BoundsMode::Pad && reduce && te::findContraction(reduce);
  SmallVector<int64_t> mask = maskOf(c_, shape, walked, keptInside ? c_.onGrid : llvm::BitVector(rank));
  SmallVector<AffineExpr> results;
  for (AffineExpr e : inMemory(c_, read.getTensor(), map))
    results.push_back(e.replaceDims(replacements));
  AffineMap full = AffineMap::get(rank + indexTiles.size(), map.getNumSymbols(), results, b_.getContext());
  auto type = RankedTensorType::get(shape, read.getResult().getType());
  return tile::LoadOp::create(b_, loc, type, c_.buffers.lookup(read.getTensor()), full, c_.offsets, indexTiles, mask, bounds, padding);
}

Value BodyToTiles::indexExpr(AffineExpr e, Location loc) {
  if (e.isSymbolicOrConstant())
    return scalarTile(tile::ApplyOp::create(b_, loc, b_.getIndexType(), AffineMap::get(0, c_.extents.getNumSymbols(), e), ValueRange{},
                                            /*computed=*/true),
                      loc);
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return evaluate(op_->getRegion(0).getArgument(d.getPosition()));
  auto bin = cast<AffineBinaryOpExpr>(e);
  Value x = indexExpr(bin.getLHS(), loc), y = indexExpr(bin.getRHS(), loc);
  SmallVector<int64_t> shape(c_.rank(), 1);
  for (Value t : {x, y})
    for (auto [s, n] : llvm::zip(shape, cast<RankedTensorType>(t.getType()).getShape()))
      s = std::max(s, n);
  x = broadcast(x, shape);
  y = broadcast(y, shape);
  switch (e.getKind()) {
  case AffineExprKind::Add: return arith::AddIOp::create(b_, loc, x, y);
  case AffineExprKind::Mul: return arith::MulIOp::create(b_, loc, x, y);
  case AffineExprKind::FloorDiv: return arith::FloorDivSIOp::create(b_, loc, x, y);
  case AffineExprKind::CeilDiv: return arith::CeilDivSIOp::create(b_, loc, x, y);
  default: { // x mod y, y > 0
    Value q = arith::FloorDivSIOp::create(b_, loc, x, y);
    return arith::SubIOp::create(b_, loc, x, arith::MulIOp::create(b_, loc, q, y));
  }
  }
}

Value BodyToTiles::conjunction(Value a, Value b, Location loc) {
  if (!a || !b)
    return a ? a : b;
  SmallVector<int64_t> shape(c_.rank(), 1);
  for (Value t : {a, b})
    for (auto [s, n] : llvm::zip(shape, cast<RankedTensorType>(t.getType()).getShape()))
      s = std::max(s, n);
  return arith::AndIOp::create(b_, loc, broadcast(a, shape), broadcast(b, shape));
}

namespace {

/// e as more - less, where `less` holds the terms with a negative factor: the two
/// sides of a comparison, each over the fewest dims.
void splitSides(AffineExpr e, AffineExpr &more, AffineExpr &less) {
  if (e.getKind() == AffineExprKind::Add) {
    auto sum = cast<AffineBinaryOpExpr>(e);
    splitSides(sum.getLHS(), more, less);
    splitSides(sum.getRHS(), more, less);
    return;
  }
  auto product = dyn_cast<AffineBinaryOpExpr>(e);
  auto factor =
      product && e.getKind() == AffineExprKind::Mul ? dyn_cast<AffineConstantExpr>(product.getRHS()) : dyn_cast<AffineConstantExpr>(e);
  if (factor && factor.getValue() < 0)
    less = less - e;
  else
    more = more + e;
}

} // namespace

Value BodyToTiles::evaluateSet(IntegerSet set, Location loc) {
  Value all;
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    AffineExpr more = b_.getAffineConstantExpr(0), less = more;
    // n - x - 1 >= 0 is x < n.
    auto sum = dyn_cast<AffineBinaryOpExpr>(set.getConstraint(i));
    bool isStrict = !set.isEq(i) && sum && sum.getKind() == AffineExprKind::Add && sum.getRHS() == b_.getAffineConstantExpr(-1);
    splitSides(isStrict ? sum.getLHS() : set.getConstraint(i), more, less);
    Value left = indexExpr(more, loc), right = indexExpr(less, loc);
    SmallVector<int64_t> shape(c_.rank(), 1);
    for (Value t : {left, right})
      for (auto [s, n] : llvm::zip(shape, cast<RankedTensorType>(t.getType()).getShape()))
        s = std::max(s, n);
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
      return arith::CmpIOp::create(b_, loc, predicate, broadcast(x, shape), broadcast(y, shape));
    };
    all = conjunction(all,
                      set.isEq(i) ? compare(arith::CmpIPredicate::eq, left, right)
                      : isStrict  ? compare(arith::CmpIPredicate::slt, right, left)
                                  : compare(arith::CmpIPredicate::sge, left, right),
                      loc);
  }
  return all;
}

Value BodyToTiles::inside(ArrayRef<int64_t> among, Location loc) {
  SmallVector<int64_t> mask;
  for (int64_t i : among)
    if (c_.ragged[i])
      mask.push_back(i);
  if (mask.empty())
    return {};
  llvm::sort(mask);
  auto type = RankedTensorType::get(shapeOf(mask), b_.getI1Type());
  return tile::InsideOp::create(b_, loc, type, c_.offsets, mask);
}

} // namespace kernelc
