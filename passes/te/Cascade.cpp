// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Cascade.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Reduction.h"
#include "passes/te/Digits.h"
#include "passes/te/Parts.h"

using namespace mlir;

namespace kernelc::te {
namespace {

RankedTensorType tensorOf(unsigned rank, Type element) {
  return RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), element);
}

/// Equal as keys: NaN equals NaN.
Value isSameKey(OpBuilder &b, Location loc, Value x, Value y) {
  if (!isa<FloatType>(x.getType()))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
  Value same = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, y);
  Value nanX = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, x);
  Value nanY = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, y, y);
  return arith::OrIOp::create(b, loc, same, arith::AndIOp::create(b, loc, nanX, nanY));
}

/// Clones the ops of `from` before its terminator.
void cloneBody(OpBuilder &b, Block &from, IRMapping &mapping) {
  for (Operation &op : from.without_terminator())
    b.clone(op, mapping);
}

/// Has reads in `body` that `start` + `low` is a subscript of, start = high * chunk, take `high` and `low`.
void readByDigits(Block &body, Value whole, Value high, Value low, int64_t chunk) {
  for (ReadOp read : llvm::to_vector(body.getOps<ReadOp>())) {
    if (!llvm::is_contained(read.getOperands_(), whole))
      continue;
    OpBuilder b(read);
    SmallVector<Value> operands;
    SmallVector<AffineExpr> by;
    for (Value v : read.getOperands_()) {
      AffineExpr first = b.getAffineDimExpr(operands.size());
      by.push_back(v == whole ? first * chunk + b.getAffineDimExpr(operands.size() + 1) : first);
      if (v == whole)
        operands.append({high, low});
      else
        operands.push_back(v);
    }
    AffineMap map = read.getMapOrIdentity();
    map = map.replaceDimsAndSymbols(by, {}, operands.size(), map.getNumSymbols());
    auto made = ReadOp::create(b, read.getLoc(), read.getResult().getType(), read.getTensor(), operands, AffineMapAttr::get(map),
                               read.getBoundsAttr(), read.getPadding());
    read.replaceAllUsesWith(made.getResult());
    read.erase();
  }
}

void addIndices(Block &block, unsigned n, OpBuilder &b, Location loc) {
  for (unsigned i = 0; i < n; ++i)
    block.addArgument(b.getIndexType(), loc);
}

} // namespace

/// A minimum propagates NaN, and an argmin of floats avoids it: it has the maximum of the negated elements for a key, -inf for NaN,
/// and among what has one key the positions of NaN stand behind all others.
static bool hasTurnedKeys(ReduceOp reduce) {
  return reduce.getKind() == Combiner::ArgMin && isa<FloatType>(reduce.getYield().getValues()[0].getType());
}
constexpr int64_t kBehindAll = int64_t(1) << 62;

/// What reduces the keys of an arg reduction, NaN as that does; nothing where no combiner does.
static std::optional<Combiner> combinerOfKeys(ReduceOp reduce) {
  switch (reduce.getKind()) {
  case Combiner::ArgMax: return Combiner::Max;
  case Combiner::ArgMaxU: return Combiner::MaxU;
  case Combiner::ArgMinU: return Combiner::MinU;
  case Combiner::ArgMin: return hasTurnedKeys(reduce) ? Combiner::Max : Combiner::Min;
  default: return std::nullopt;
  }
}

bool isConvertible(ReduceOp reduce) { return combinerOfKeys(reduce).has_value(); }

CascadeOp convertArgReduction(ReduceOp reduce) {
  std::optional<Combiner> key = combinerOfKeys(reduce);
  if (!key)
    return {};
  Value term = reduce.getYield().getValues()[0];
  OpBuilder b(reduce);
  Location loc = reduce.getLoc();
  unsigned dims = reduce.getNumDims(), parallel = reduce.getNumParallel();
  Type i64 = b.getI64Type();
  StringRef kinds[] = {stringifyCombiner(*key), "min"};
  Type results[] = {tensorOf(parallel, term.getType()), reduce.getResult().getType()};
  auto made = CascadeOp::create(b, loc, results, b.getStrArrayAttr(kinds), reduce.getIndices(), parallel, ArrayAttr(), reduce.getExtents(),
                                reduce.getConditionAttr(), reduce.getNameAttr());
  auto nowhere = [&] { return arith::ConstantOp::create(b, loc, identityOf(Combiner::Min, i64, b)).getResult(); };
  const bool isTurned = hasTurnedKeys(reduce);
  auto behindAll = [&] { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(kBehindAll)).getResult(); };
  auto addComponents = [&](Block &block) {
    Value k = block.addArgument(term.getType(), loc), p = block.addArgument(i64, loc);
    return std::pair(k, p);
  };

  Block &element = made.getElement().emplaceBlock();
  addIndices(element, dims, b, loc);
  auto [best, unused] = addComponents(element);
  b.setInsertionPointToStart(&element);
  IRMapping mapping;
  for (unsigned d = 0; d < dims; ++d)
    mapping.map(reduce.getBlock().getArgument(d), element.getArgument(d));
  cloneBody(b, reduce.getBlock(), mapping);
  Value mine = mapping.lookupOrDefault(term);
  Value position = arith::IndexCastOp::create(b, loc, i64, element.getArgument(dims - 1));
  if (isTurned) {
    Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, mine, mine);
    position = arith::SelectOp::create(b, loc, isNaN, arith::AddIOp::create(b, loc, position, behindAll()), position);
    Value least = arith::ConstantOp::create(b, loc, identityOf(Combiner::Max, mine.getType(), b));
    mine = arith::SelectOp::create(b, loc, isNaN, least, arith::NegFOp::create(b, loc, mine));
  }
  Value first = arith::SelectOp::create(b, loc, isSameKey(b, loc, mine, best), position, nowhere());
  Value condition = reduce.getYield().getCondition();
  YieldOp::create(b, loc, ValueRange{mine, first}, condition ? mapping.lookupOrDefault(condition) : Value());

  Block &rescale = made.getRescale().emplaceBlock();
  auto [oldKey, oldPosition] = addComponents(rescale);
  auto [newKey, newPosition] = addComponents(rescale);
  b.setInsertionPointToStart(&rescale);
  Value kept = arith::SelectOp::create(b, loc, isSameKey(b, loc, oldKey, newKey), oldPosition, nowhere());
  YieldOp::create(b, loc, ValueRange{oldKey, kept}, Value());

  Block &finalize = made.getFinalize().emplaceBlock();
  addIndices(finalize, parallel, b, loc);
  auto [finalKey, finalPosition] = addComponents(finalize);
  b.setInsertionPointToStart(&finalize);
  Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, finalPosition, nowhere());
  Value minusOne = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(-1));
  Value found = arith::SelectOp::create(b, loc, none, minusOne, finalPosition);
  if (isTurned) {
    Value isBehind = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, finalPosition, behindAll());
    Value ofNaN = arith::SubIOp::create(b, loc, finalPosition, behindAll());
    found = arith::SelectOp::create(b, loc, none, minusOne, arith::SelectOp::create(b, loc, isBehind, ofNaN, finalPosition));
  }
  YieldOp::create(b, loc, ValueRange{finalKey, found}, Value());
  reduce.replaceAllUsesWith(made.getResult(1));
  reduce.erase();
  return made;
}

namespace {

/// The domain of a cascade whose first reduced index is cut into parts: that of a part, with the part as one more result index, and that
/// which goes over the parts.
struct PartDomains {
  PartDomains(CascadeOp op, int64_t chunk, bool isShorter) {
    Builder b(op.getContext());
    unsigned parallel = op.getNumParallel(), symbols = op.getExtents().getNumSymbols();
    SmallVector<Attribute> names(op.getIndices().getValue()), outerNames(names.begin(), names.begin() + parallel);
    SmallVector<AffineExpr> sizes(op.getExtents().getResults()), outerSizes(sizes.begin(), sizes.begin() + parallel);
    auto part = b.getStringAttr(cast<StringAttr>(names[parallel]).getValue() + "_part");
    AffineExpr count = isShorter ? sizes[parallel].ceilDiv(chunk) : sizes[parallel].floorDiv(chunk);
    sizes[parallel] = b.getAffineConstantExpr(chunk);
    names.insert(names.begin() + parallel, part);
    sizes.insert(sizes.begin() + parallel, count);
    outerNames.push_back(part);
    outerSizes.push_back(count);
    innerIndices = b.getArrayAttr(names);
    innerExtents = AffineMap::get(0, symbols, sizes, b.getContext());
    outerIndices = b.getArrayAttr(outerNames);
    outerExtents = AffineMap::get(0, symbols, outerSizes, b.getContext());
  }

  ArrayAttr innerIndices, outerIndices;
  AffineMap innerExtents, outerExtents;
};

void addComponents(CascadeOp op, Block &block) {
  for (unsigned k = 0; k < op.getNumComponents(); ++k)
    block.addArgument(op.getComponentType(k), op.getLoc());
}

/// The dims of component k in the order of the domain: nobody else reads a part.
SmallVector<unsigned> sortedDims(CascadeOp op, unsigned k) {
  SmallVector<unsigned> own = op.getOwnDims(k);
  llvm::sort(own);
  return own;
}

/// What each part of `op` comes to, unfinished.
CascadeOp makeParts(OpBuilder &b, CascadeOp op, const PartDomains &domains, int64_t chunk, bool isShorter) {
  Location loc = op.getLoc();
  unsigned n = op.getNumComponents(), dims = op.getNumDims(), parallel = op.getNumParallel();
  SmallVector<Type> types;
  SmallVector<Attribute> ownDims; // each component of a part has the part beside its own dims
  for (unsigned k = 0; k < n; ++k) {
    SmallVector<unsigned> own = sortedDims(op, k);
    types.push_back(tensorOf(own.size() + 1, op.getComponentType(k)));
    own.push_back(parallel);
    ownDims.push_back(b.getI64ArrayAttr(SmallVector<int64_t>(own.begin(), own.end())));
  }
  StringAttr name = op.getNameAttr() ? b.getStringAttr(op.getNameAttr().getValue() + "_part") : StringAttr();
  auto parts = CascadeOp::create(b, loc, types, op.getKinds(), domains.innerIndices, parallel + 1,
                                 op.getDims() ? b.getArrayAttr(ownDims) : ArrayAttr(), domains.innerExtents,
                                 splitCondition(op, chunk, isShorter), name);
  IRMapping rescale;
  op.getRescale().cloneInto(&parts.getRescale(), rescale);

  OpBuilder::InsertionGuard guard(b);
  Block &element = parts.getElement().emplaceBlock();
  addIndices(element, dims + 1, b, loc);
  addComponents(op, element);
  b.setInsertionPointToStart(&element);
  IRMapping mapping;
  for (unsigned d = 0; d < dims + n; ++d)
    mapping.map(op.getBlock().getArgument(d), element.getArgument(d < parallel ? d : d + 1));
  Value start = arith::MulIOp::create(b, loc, element.getArgument(parallel), arith::ConstantIndexOp::create(b, loc, chunk));
  Value whole = arith::AddIOp::create(b, loc, start, element.getArgument(parallel + 1));
  mapping.map(op.getBlock().getArgument(parallel), whole);
  for (Operation &o : op.getBlock())
    b.clone(o, mapping);
  readByDigits(element, whole, element.getArgument(parallel), element.getArgument(parallel + 1), chunk);
  Block &finalize = parts.getFinalize().emplaceBlock();
  addIndices(finalize, parallel + 1, b, loc);
  addComponents(op, finalize);
  b.setInsertionPointToStart(&finalize);
  YieldOp::create(b, loc, llvm::to_vector_of<Value>(finalize.getArguments().take_back(n)), Value());
  return parts;
}

/// `op` over its parts: a part is a point whose terms are the part's components, rescaled.
CascadeOp joinParts(OpBuilder &b, CascadeOp op, const PartDomains &domains, CascadeOp parts) {
  Location loc = op.getLoc();
  unsigned n = op.getNumComponents(), parallel = op.getNumParallel();
  auto whole = CascadeOp::create(b, loc, op.getResultTypes(), op.getKinds(), domains.outerIndices, parallel, op.getDimsAttr(),
                                 domains.outerExtents, IntegerSetAttr(), op.getNameAttr());
  IRMapping rescaled, finalized;
  op.getRescale().cloneInto(&whole.getRescale(), rescaled);
  op.getFinalize().cloneInto(&whole.getFinalize(), finalized);

  OpBuilder::InsertionGuard guard(b);
  Block &element = whole.getElement().emplaceBlock();
  addIndices(element, parallel + 1, b, loc);
  addComponents(op, element);
  b.setInsertionPointToStart(&element);
  Block &rescale = op.getRescale().front();
  IRMapping mapping;
  for (unsigned k = 0; k < n; ++k) {
    SmallVector<Value> at = llvm::map_to_vector(sortedDims(op, k), [&](unsigned d) -> Value { return element.getArgument(d); });
    at.push_back(element.getArgument(parallel));
    Value v = ReadOp::create(b, loc, op.getComponentType(k), parts.getResult(k), at, AffineMapAttr(),
                             BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    mapping.map(rescale.getArgument(k), v);
    mapping.map(rescale.getArgument(n + k), element.getArgument(parallel + 1 + k));
  }
  cloneBody(b, rescale, mapping);
  SmallVector<Value> terms;
  for (unsigned k = 0; k < n; ++k)
    terms.push_back(mapping.lookupOrDefault(op.getRescaledValue(k)));
  YieldOp::create(b, loc, terms, Value());
  return whole;
}

} // namespace

void splitCascade(CascadeOp op, int64_t chunk, bool isShorter) {
  OpBuilder b(op);
  PartDomains domains(op, chunk, isShorter);
  CascadeOp parts = makeParts(b, op, domains, chunk, isShorter);
  CascadeOp whole = joinParts(b, op, domains, parts);
  op.replaceAllUsesWith(whole.getResults());
  op.erase();
}

void sketchSplitCascade(RewriteSketch &sketch, Operation *op, int64_t chunk, bool isShorter) {
  const StatementSketch own = sketch.sketchOf(op);
  auto cascade = dyn_cast<CascadeOp>(op);
  auto reduce = dyn_cast<ReduceOp>(op);
  AffineMap extents = getExtents(op);
  const Digits digits = digitsOfParts(extents.getResult(own.parallel), chunk, isShorter);
  AffineMap inner = splitExtents(extents, own.parallel, digits), outer = takeExtents(inner, own.parallel + 1);
  SmallVector<TensorSketch> parts, wholes(own.stores), merged;
  if (reduce) { // keys and positions
    Type key = reduce.getYield().getValues()[0].getType();
    parts = {{outer, key}, {outer, own.stores[0].element}};
    AffineMap results = takeExtents(extents, own.parallel);
    wholes = {{results, key}, {results, own.stores[0].element}};
  } else {
    for (unsigned k = 0; k < cascade.getNumComponents(); ++k) {
      SmallVector<AffineExpr> shape = llvm::map_to_vector(sortedDims(cascade, k), [&](unsigned d) { return extents.getResult(d); });
      shape.push_back(digits.highExtent);
      parts.push_back({AffineMap::get(0, extents.getNumSymbols(), shape, op->getContext()), cascade.getComponentType(k)});
    }
    merged = sketch.loadsIn({&cascade.getRescale(), &cascade.getFinalize()});
  }
  merged.append(parts);
  SmallVector<TensorSketch> loads = cascade ? sketch.loadsIn({&cascade.getElement(), &cascade.getRescale()}) : own.loads;
  sketch.drop(op);
  sketch.make({CascadeOp::getOperationName(), inner, own.parallel + 1, loads, parts});
  sketch.make({CascadeOp::getOperationName(), outer, own.parallel, merged, wholes});
}

} // namespace kernelc::te
