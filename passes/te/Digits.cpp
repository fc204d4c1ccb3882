// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Digits.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Domain.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// The r of `d floordiv r` or `d mod r`; null for other expressions.
AffineExpr radixOf(AffineExpr e, unsigned dim) {
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin || (e.getKind() != AffineExprKind::FloorDiv && e.getKind() != AffineExprKind::Mod))
    return {};
  auto d = dyn_cast<AffineDimExpr>(bin.getLHS());
  auto c = dyn_cast<AffineConstantExpr>(bin.getRHS());
  if (!d || d.getPosition() != dim || !bin.getRHS().isSymbolicOrConstant() || (c && c.getValue() < 2))
    return {};
  return bin.getRHS();
}

/// splitDim, from the old dims' numbers to the new ones': those behind `dim` move up.
AffineExpr splitRenamed(AffineExpr e, unsigned dim, unsigned dims, AffineExpr radix) {
  MLIRContext *c = e.getContext();
  // The new dims first stand behind the old ones, out of their way.
  e = splitDim(e, dim, getAffineDimExpr(dims, c), getAffineDimExpr(dims + 1, c), radix);
  SmallVector<AffineExpr> all;
  for (unsigned d = 0; d < dims; ++d)
    all.push_back(getAffineDimExpr(d <= dim ? d : d + 1, c));
  all.push_back(getAffineDimExpr(dim, c));
  all.push_back(getAffineDimExpr(dim + 1, c));
  return e.replaceDims(all);
}

/// The parts of a domain op that change with its dims.
struct Domain {
  SmallVector<Attribute> names;
  AffineMap extents;
  IntegerSetAttr where;
};

Domain splitDomain(Operation *op, unsigned dim, const Digits &digits) {
  Builder b(op->getContext());
  AffineMap before = getExtents(op);
  unsigned dims = before.getNumResults(), symbols = before.getNumSymbols();
  Domain out;
  for (unsigned d = 0; d < dims; ++d) {
    auto name = cast<StringAttr>(getIndices(op)[d]);
    if (d != dim) {
      out.names.push_back(name);
      continue;
    }
    out.names.push_back(b.getStringAttr(name.getValue() + digits.high));
    out.names.push_back(b.getStringAttr(name.getValue() + digits.low));
  }
  out.extents = splitExtents(before, dim, digits);
  if (std::optional<IntegerSet> set = getCondition(op)) {
    SmallVector<AffineExpr> constraints;
    for (AffineExpr e : set->getConstraints())
      constraints.push_back(simplifyAffineExpr(splitRenamed(e, dim, dims, digits.radix), dims + 1, symbols));
    out.where = IntegerSetAttr::get(IntegerSet::get(dims + 1, symbols, constraints, set->getEqFlags()));
  }
  return out;
}

/// Leaves digits that make no index of `op` out of its domain.
void endWhereIndexEnds(Domain &domain, Operation *op, unsigned dim, const Digits &digits) {
  MLIRContext *c = op->getContext();
  unsigned dims = domain.names.size(), symbols = domain.extents.getNumSymbols();
  AffineExpr high = getAffineDimExpr(dim, c), low = getAffineDimExpr(dim + 1, c);
  IntegerSet inside = IntegerSet::get(dims, symbols, getExtents(op).getResult(dim) - 1 - high * digits.radix - low, false);
  std::optional<IntegerSet> before;
  if (domain.where)
    before = domain.where.getValue();
  domain.where = IntegerSetAttr::get(intersect(before, inside));
}

/// The body of `op` with two arguments in place of `dim`. With `padsReads` reads of what lies outside their tensors at
/// digits that make no index give zeros.
class BodySplitter {
public:
  BodySplitter(Operation *op, unsigned dim, const Digits &digits, bool padsReads)
      : op_(op), dim_(dim), digits_(digits), padsReads_(padsReads) {}

  void cloneInto(Block &block) {
    Block &from = op_->getRegion(0).front();
    OpBuilder b = OpBuilder::atBlockEnd(&block);
    for (BlockArgument arg : from.getArguments()) {
      Value first = block.addArgument(b.getIndexType(), arg.getLoc());
      if (arg.getArgNumber() != dim_) {
        mapping_.map(arg, first);
        continue;
      }
      index_ = arg;
      high_ = first;
      low_ = block.addArgument(b.getIndexType(), arg.getLoc());
    }
    unsigned symbols = getExtents(op_).getNumSymbols();
    Location loc = op_->getLoc();
    Value radix = SizeOp::create(b, loc, b.getIndexType(), AffineMap::get(0, symbols, digits_.radix));
    Value whole = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, high_, radix), low_);
    mapping_.map(index_, whole);
    for (Operation &op : from) {
      auto read = dyn_cast<ReadOp>(op);
      if (read && llvm::is_contained(read.getOperands_(), index_))
        mapping_.map(read.getResult(), clone(b, read));
      else
        b.clone(op, mapping_);
    }
    for (Value v : {whole, whole.getDefiningOp()->getOperand(0), radix})
      if (v.use_empty())
        v.getDefiningOp()->erase();
  }

private:
  Value clone(OpBuilder &b, ReadOp read) {
    AffineMap map = read.getMapOrIdentity();
    unsigned n = map.getNumDims(), symbols = map.getNumSymbols();
    SmallVector<Value> operands;
    // What replaces the old dims, and behind them those that splitDim puts there.
    SmallVector<AffineExpr> toNew, digits;
    SmallVector<unsigned> split;
    for (auto [i, v] : llvm::enumerate(read.getOperands_())) {
      AffineExpr first = b.getAffineDimExpr(operands.size());
      toNew.push_back(first);
      if (v != index_) {
        operands.push_back(mapping_.lookupOrDefault(v));
        continue;
      }
      split.push_back(i);
      operands.append({high_, low_});
      digits.append({first, b.getAffineDimExpr(operands.size() - 1)});
    }
    toNew.append(digits);
    SmallVector<AffineExpr> results;
    for (AffineExpr e : map.getResults()) {
      for (auto [k, i] : llvm::enumerate(split))
        e = splitDim(e, i, b.getAffineDimExpr(n + 2 * k), b.getAffineDimExpr(n + 2 * k + 1), digits_.radix);
      results.push_back(simplifyAffineExpr(e.replaceDims(toNew), operands.size(), symbols));
    }
    AffineMap subscripts = AffineMap::get(operands.size(), symbols, results, b.getContext());
    llvm::SmallBitVector unused = getUnusedDimsBitVector({subscripts});
    SmallVector<Value> used;
    for (auto [i, v] : llvm::enumerate(operands))
      if (!unused[i])
        used.push_back(v);
    BoundsModeAttr bounds = read.getBoundsAttr();
    Value padding = read.getPadding() ? mapping_.lookupOrDefault(read.getPadding()) : Value();
    if (padsReads_ && isUnchecked(read) && mayLeave(read.getTensor(), subscripts, operands)) {
      bounds = BoundsModeAttr::get(b.getContext(), BoundsMode::Pad);
      padding = arith::ConstantOp::create(b, read.getLoc(), b.getZeroAttr(read.getResult().getType()));
    }
    return ReadOp::create(b, read.getLoc(), read.getResult().getType(), mapping_.lookupOrDefault(read.getTensor()), used,
                          AffineMapAttr::get(compressUnusedDims(subscripts)), bounds, padding);
  }

  /// Whether a subscript made of the digits is more than one of them, as the tensor has it.
  bool mayLeave(Value tensor, AffineMap subscripts, ArrayRef<Value> operands) {
    AffineMap shape = getTensorShape(tensor);
    return llvm::any_of(llvm::zip(subscripts.getResults(), shape.getResults()), [&](auto subscript) {
      auto [e, extent] = subscript;
      for (auto [digit, most] : {std::pair(high_, digits_.highExtent), std::pair(low_, digits_.radix)})
        for (auto [n, v] : llvm::enumerate(operands))
          if (v == digit && e.isFunctionOfDim(n) && !(isa<AffineDimExpr>(e) && extent == most))
            return true;
      return false;
    });
  }

  Operation *op_;
  unsigned dim_;
  const Digits &digits_;
  bool padsReads_;
  IRMapping mapping_;
  Value index_, high_, low_;
};

/// Gives the readers of `before` two subscripts for dim `position`, and `after` to read.
void redirectReads(Value before, Value after, unsigned position, AffineExpr radix) {
  for (Operation *user : llvm::make_early_inc_range(before.getUsers())) {
    auto read = cast<ReadOp>(user);
    AffineMap map = read.getMapOrIdentity();
    SmallVector<AffineExpr> results(map.getResults());
    AffineExpr e = results[position];
    auto digits = findDigits(read, position, radix);
    auto [high, low] = digits ? *digits : std::pair(e.floorDiv(radix), e % radix);
    results[position] = high;
    results.insert(results.begin() + position + 1, low);
    OpBuilder b(read);
    auto created = ReadOp::create(b, read.getLoc(), read.getResult().getType(), after, read.getOperands_(),
                                  AffineMapAttr::get(AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, b.getContext())),
                                  read.getBoundsAttr(), read.getPadding());
    read.replaceAllUsesWith(created.getResult());
    read.erase();
  }
}

/// Whether the body of `op` has a value also where its indices are none, once its reads by them are padded: data does not say
/// where it reads. (Whatever else it makes of a zero has a value: the language's division by zero has.)
bool hasValueBeyond(Operation *op) {
  return !op->getRegion(0)
              .walk([&](ReadOp read) {
                bool isByData = isUnchecked(read) && !llvm::all_of(read.getOperands_(), [&](Value v) { return findIndex(op, v); });
                return isByData ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

bool isReturned(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) { return isa<ReturnOp>(user); });
}

/// Copies `inner`, over the digits, to a tensor of the shape that `op` had.
Value writeBack(OpBuilder &b, Operation *op, Value inner, unsigned dim, const Digits &digits) {
  unsigned parallel = getNumParallel(op) + 1, symbols = getExtents(op).getNumSymbols();
  AffineMap extents = getTensorShape(inner);
  SmallVector<AffineExpr> out;
  for (unsigned d = 0; d + 1 < parallel; ++d)
    out.push_back(splitRenamed(b.getAffineDimExpr(d), dim, parallel - 1, digits.radix));
  Domain domain{splitDomain(op, dim, digits).names, extents, {}};
  domain.names.truncate(parallel);
  if (digits.endsEarly)
    endWhereIndexEnds(domain, op, dim, digits);
  auto copy = ComputeOp::create(b, op->getLoc(), op->getResult(0).getType(), b.getArrayAttr(domain.names), extents, domain.where, Value(),
                                AffineMapAttr::get(AffineMap::get(parallel, symbols, out, b.getContext())),
                                AffineMapAttr::get(getTensorShape(op->getResult(0))), op->getAttrOfType<StringAttr>("name"), false);
  Block &block = copy.getBody().emplaceBlock();
  for (unsigned d = 0; d < parallel; ++d)
    block.addArgument(b.getIndexType(), op->getLoc());
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  Value v = ReadOp::create(inside, op->getLoc(), cast<RankedTensorType>(inner.getType()).getElementType(), inner,
                           SmallVector<Value>(block.getArguments()), AffineMapAttr(),
                           BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  YieldOp::create(inside, op->getLoc(), ValueRange{v}, Value());
  return copy.getResult();
}

} // namespace

void noteUse(AffineExpr e, unsigned dim, DigitUse &use) {
  if (!e.isFunctionOfDim(dim))
    return;
  if (AffineExpr r = radixOf(e, dim)) {
    if (!llvm::is_contained(use.radices, r))
      use.radices.push_back(r);
    return;
  }
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin) {
    use.plain = true;
    return;
  }
  noteUse(bin.getLHS(), dim, use);
  noteUse(bin.getRHS(), dim, use);
}

AffineExpr splitDim(AffineExpr e, unsigned dim, AffineExpr high, AffineExpr low, AffineExpr radix) {
  if (!e.isFunctionOfDim(dim))
    return e;
  if (isa<AffineDimExpr>(e))
    return high * radix + low;
  auto bin = cast<AffineBinaryOpExpr>(e);
  AffineExpr r = radixOf(e, dim);
  if (r && r == radix)
    return e.getKind() == AffineExprKind::FloorDiv ? high : low;
  auto k = dyn_cast_or_null<AffineConstantExpr>(r), c = dyn_cast<AffineConstantExpr>(radix);
  if (k && c && k.getValue() % c.getValue() == 0) {
    int64_t more = k.getValue() / c.getValue();
    return e.getKind() == AffineExprKind::FloorDiv ? high.floorDiv(more) : (high % more) * radix + low;
  }
  AffineExpr x = splitDim(bin.getLHS(), dim, high, low, radix), y = splitDim(bin.getRHS(), dim, high, low, radix);
  return getAffineBinaryOpExpr(e.getKind(), x, y);
}

std::optional<std::pair<AffineExpr, AffineExpr>> findDigits(ReadOp read, unsigned position, AffineExpr radix) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(read.getMapOrIdentity().getResult(position));
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return std::nullopt;
  for (auto [product, low] : {std::pair(sum.getLHS(), sum.getRHS()), std::pair(sum.getRHS(), sum.getLHS())}) {
    auto mul = dyn_cast<AffineBinaryOpExpr>(product);
    auto digit = dyn_cast<AffineDimExpr>(low);
    if (!mul || product.getKind() != AffineExprKind::Mul || mul.getRHS() != radix || !digit)
      continue;
    Operation *reader = read->getParentOp();
    std::optional<unsigned> dim = findIndex(reader, read.getOperands_()[digit.getPosition()]);
    if (dim && getExtents(reader).getResult(*dim) == radix)
      return std::pair(mul.getLHS(), low);
  }
  return std::nullopt;
}

Digits digitsOfParts(AffineExpr extent, int64_t chunk, bool isShorter) {
  AffineExpr radix = getAffineConstantExpr(chunk, extent.getContext());
  return {radix, isShorter ? extent.ceilDiv(radix) : extent.floorDiv(radix), "_part", "", isShorter};
}

AffineMap takeExtents(AffineMap extents, unsigned count) {
  return AffineMap::get(0, extents.getNumSymbols(), extents.getResults().take_front(count), extents.getContext());
}

AffineMap splitExtents(AffineMap extents, unsigned dim, const Digits &digits) {
  SmallVector<AffineExpr> split(extents.getResults());
  split[dim] = digits.radix;
  split.insert(split.begin() + dim, digits.highExtent);
  return AffineMap::get(0, extents.getNumSymbols(), split, extents.getContext());
}

ReduceOp splitReducedDim(ReduceOp r, unsigned dim, const Digits &digits) {
  OpBuilder b(r);
  Domain domain = splitDomain(r, dim, digits);
  if (digits.endsEarly)
    endWhereIndexEnds(domain, r, dim, digits);
  auto created = ReduceOp::create(b, r.getLoc(), r.getResult().getType(), r.getKind(), b.getArrayAttr(domain.names), r.getParallel(),
                                  domain.extents, domain.where, r.getInit(), r.getOutMapAttr(), r.getShapeAttr(), r.getNameAttr());
  copyHints(r, created);
  BodySplitter(r, dim, digits, /*padsReads=*/false).cloneInto(created.getBody().emplaceBlock());
  r.replaceAllUsesWith(created.getResult());
  r.erase();
  return created;
}

bool canSplitParallelDim(Operation *op, unsigned dim, bool endsEarly) {
  auto compute = dyn_cast<ComputeOp>(op);
  auto reduce = dyn_cast<ReduceOp>(op);
  bool isWhole =
      compute ? !compute.getInit() && !compute.getPartial() : reduce && !reduce.getInit() && !reduce.getOutMap() && !reduce.getShape();
  if (dim >= getNumParallel(op) || !isWhole)
    return false;
  Value result = op->getResult(0);
  if (endsEarly) {
    // What a condition leaves out is cut off where the result ends.
    AffineMap out = compute ? compute.getOutMapOrIdentity() : AffineMap(), shape = getTensorShape(result);
    bool isCut =
        out && llvm::any_of(llvm::zip(out.getResults(), shape.getResults()), [&](auto subscript) {
          auto [e, extent] = subscript;
          AffineExpr own = getExtents(op).getResult(dim);
          return e == getAffineDimExpr(dim, op->getContext()) && simplifyAffineExpr(extent - own, 0, getExtents(op).getNumSymbols()) == 0;
        });
    if (compute && (isReturned(result) || compute.getOutMap()) ? !isCut : !hasValueBeyond(op))
      return false;
  }
  if (isReturned(result)) {
    auto returned = getKernel(op).getReturn();
    for (auto [i, v] : llvm::enumerate(returned.getOperands()))
      if (v == result && getKernel(op).getAlias(i) >= 0)
        return false; // written in place
    return true;
  }
  return llvm::all_of(result.getUsers(), [](Operation *user) {
    auto read = dyn_cast<ReadOp>(user);
    return read && isUnchecked(read);
  });
}

/// Whether the result keeps its shape, as that of a te.compute can.
static bool canKeepShape(Operation *op) {
  auto compute = dyn_cast<ComputeOp>(op);
  return compute && (isReturned(compute.getResult()) || compute.getOutMap());
}

Operation *splitParallelDim(Operation *op, unsigned dim, const Digits &digits) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Domain domain = splitDomain(op, dim, digits);
  bool returned = isReturned(op->getResult(0)), keepsShape = canKeepShape(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto wider = RankedTensorType::get(SmallVector<int64_t>(type.getRank() + 1, ShapedType::kDynamic), type.getElementType());
  Value result;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    auto created = ReduceOp::create(b, loc, wider, reduce.getKind(), b.getArrayAttr(domain.names), reduce.getParallel() + 1, domain.extents,
                                    domain.where, Value(), AffineMapAttr(), AffineMapAttr(), reduce.getNameAttr());
    copyHints(reduce, created);
    BodySplitter(op, dim, digits, /*padsReads=*/digits.endsEarly).cloneInto(created.getBody().emplaceBlock());
    result = created.getResult();
  } else {
    auto compute = cast<ComputeOp>(op);
    unsigned parallel = domain.names.size(), symbols = domain.extents.getNumSymbols();
    AffineMapAttr outMap, shape;
    if (keepsShape) {
      SmallVector<AffineExpr> out;
      for (AffineExpr e : compute.getOutMapOrIdentity().getResults())
        out.push_back(simplifyAffineExpr(splitRenamed(e, dim, parallel - 1, digits.radix), parallel, symbols));
      outMap = AffineMapAttr::get(AffineMap::get(parallel, symbols, out, b.getContext()));
      shape = AffineMapAttr::get(getTensorShape(compute.getResult()));
      if (digits.endsEarly)
        endWhereIndexEnds(domain, op, dim, digits);
    } else if (std::optional<AffineMap> own = compute.getShape()) { // stays in memory, with rows as far apart
      shape = AffineMapAttr::get(splitExtents(*own, dim, digits));
    }
    auto created = ComputeOp::create(b, loc, keepsShape ? type : wider, b.getArrayAttr(domain.names), domain.extents, domain.where, Value(),
                                     outMap, shape, compute.getNameAttr(), false);
    copyHints(compute, created);
    BodySplitter(op, dim, digits, /*padsReads=*/digits.endsEarly && !keepsShape).cloneInto(created.getBody().emplaceBlock());
    result = created.getResult();
  }
  if (keepsShape)
    op->getResult(0).replaceAllUsesWith(result);
  else if (returned)
    op->getResult(0).replaceAllUsesWith(writeBack(b, op, result, dim, digits));
  else
    redirectReads(op->getResult(0), result, dim, digits.radix);
  op->erase();
  return result.getDefiningOp();
}

void sketchSplitParallelDim(RewriteSketch &sketch, Operation *op, unsigned dim, const Digits &digits) {
  Value result = op->getResult(0);
  StatementSketch made = sketch.sketchOf(op);
  made.extents = splitExtents(getExtents(op), dim, digits);
  ++made.parallel;
  sketch.drop(op);
  if (!canKeepShape(op)) {
    TensorSketch before = made.stores[0], &after = made.stores[0];
    auto compute = dyn_cast<ComputeOp>(op);
    after.shape = compute && compute.getShape() ? splitExtents(*compute.getShape(), dim, digits) : takeExtents(made.extents, made.parallel);
    if (isReturned(result)) // written back, from where all others read it
      sketch.make({ComputeOp::getOperationName(), after.shape, made.parallel, {after}, {before}});
    else
      sketch.replace(result, {after});
  }
  sketch.make(std::move(made));
}

} // namespace kernelc::te
