// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Cascade.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Reduction.h"
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

CascadeOp convertArgReduction(ReduceOp reduce) {
  Combiner key;
  Value term = reduce.getYield().getValues()[0];
  switch (reduce.getKind()) {
  case Combiner::ArgMax: key = Combiner::Max; break;
  case Combiner::ArgMaxU: key = Combiner::MaxU; break;
  case Combiner::ArgMinU: key = Combiner::MinU; break;
  case Combiner::ArgMin:
    if (isa<FloatType>(term.getType()))
      return {}; // a minimum propagates NaN, an argmin avoids it
    key = Combiner::Min;
    break;
  default: return {};
  }
  OpBuilder b(reduce);
  Location loc = reduce.getLoc();
  unsigned dims = reduce.getNumDims(), parallel = reduce.getNumParallel();
  Type i64 = b.getI64Type();
  StringRef kinds[] = {stringifyCombiner(key), "min"};
  Type results[] = {tensorOf(parallel, term.getType()), reduce.getResult().getType()};
  auto made = CascadeOp::create(b, loc, results, b.getStrArrayAttr(kinds), reduce.getIndices(), parallel, ArrayAttr(), reduce.getExtents(),
                                reduce.getConditionAttr(), reduce.getNameAttr());
  auto nowhere = [&] { return arith::ConstantOp::create(b, loc, identityOf(Combiner::Min, i64, b)).getResult(); };
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
  YieldOp::create(b, loc, ValueRange{finalKey, found}, Value());
  reduce.replaceAllUsesWith(made.getResult(1));
  reduce.erase();
  return made;
}

void splitCascade(CascadeOp op, int64_t chunk, bool isShorter) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  unsigned n = op.getNumComponents(), dims = op.getNumDims(), parallel = op.getNumParallel();
  AffineMap extents = op.getExtents();
  auto mapOf = [&](ArrayRef<AffineExpr> e) { return AffineMap::get(0, extents.getNumSymbols(), e, b.getContext()); };
  SmallVector<Attribute> names(op.getIndices().getValue());
  SmallVector<AffineExpr> sizes(extents.getResults());
  auto part = b.getStringAttr(cast<StringAttr>(names[parallel]).getValue() + "_part");
  AffineExpr count = isShorter ? sizes[parallel].ceilDiv(chunk) : sizes[parallel].floorDiv(chunk);
  sizes[parallel] = b.getAffineConstantExpr(chunk);
  SmallVector<Attribute> partNames = names;
  SmallVector<AffineExpr> partSizes = sizes;
  partNames.insert(partNames.begin() + parallel, part);
  partSizes.insert(partSizes.begin() + parallel, count);
  SmallVector<Type> types, partTypes;
  SmallVector<Attribute> partDims; // each component of a part has the part beside its own dims
  for (unsigned k = 0; k < n; ++k) {
    SmallVector<unsigned> own = op.getOwnDims(k);
    llvm::sort(own); // (as the domain has them: nobody else reads a part)
    types.push_back(op.getComponentType(k));
    partTypes.push_back(tensorOf(own.size() + 1, types.back()));
    own.push_back(parallel);
    partDims.push_back(b.getI64ArrayAttr(SmallVector<int64_t>(own.begin(), own.end())));
  }
  auto addComponents = [&](Block &block) {
    for (Type t : types)
      block.addArgument(t, loc);
  };
  auto cloneRescale = [&](CascadeOp into) {
    IRMapping mapping;
    op.getRescale().cloneInto(&into.getRescale(), mapping);
  };

  StringAttr partName = op.getNameAttr() ? b.getStringAttr(op.getNameAttr().getValue() + "_part") : StringAttr();
  auto inner = CascadeOp::create(b, loc, partTypes, op.getKinds(), b.getArrayAttr(partNames), parallel + 1,
                                 op.getDims() ? b.getArrayAttr(partDims) : ArrayAttr(), mapOf(partSizes),
                                 splitCondition(op, chunk, isShorter), partName);
  cloneRescale(inner);
  {
    OpBuilder::InsertionGuard guard(b);
    Block &element = inner.getElement().emplaceBlock();
    addIndices(element, dims + 1, b, loc);
    addComponents(element);
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
    Block &finalize = inner.getFinalize().emplaceBlock();
    addIndices(finalize, parallel + 1, b, loc);
    addComponents(finalize);
    b.setInsertionPointToStart(&finalize);
    YieldOp::create(b, loc, llvm::to_vector_of<Value>(finalize.getArguments().take_back(n)), Value());
  }

  // A part is a point whose terms are the part's components, rescaled.
  SmallVector<Attribute> outerNames(names.begin(), names.begin() + parallel);
  SmallVector<AffineExpr> outerSizes(sizes.begin(), sizes.begin() + parallel);
  outerNames.push_back(part);
  outerSizes.push_back(count);
  auto outer = CascadeOp::create(b, loc, op.getResultTypes(), op.getKinds(), b.getArrayAttr(outerNames), parallel, op.getDimsAttr(),
                                 mapOf(outerSizes), IntegerSetAttr(), op.getNameAttr());
  cloneRescale(outer);
  IRMapping finalized;
  op.getFinalize().cloneInto(&outer.getFinalize(), finalized);
  {
    OpBuilder::InsertionGuard guard(b);
    Block &element = outer.getElement().emplaceBlock();
    addIndices(element, parallel + 1, b, loc);
    addComponents(element);
    b.setInsertionPointToStart(&element);
    Block &rescale = op.getRescale().front();
    IRMapping mapping;
    for (unsigned k = 0; k < n; ++k) {
      SmallVector<unsigned> own = op.getOwnDims(k);
      llvm::sort(own);
      SmallVector<Value> at = llvm::map_to_vector(own, [&](unsigned d) -> Value { return element.getArgument(d); });
      at.push_back(element.getArgument(parallel));
      Value v = ReadOp::create(b, loc, types[k], inner.getResult(k), at, AffineMapAttr(),
                               BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
      mapping.map(rescale.getArgument(k), v);
      mapping.map(rescale.getArgument(n + k), element.getArgument(parallel + 1 + k));
    }
    cloneBody(b, rescale, mapping);
    SmallVector<Value> terms;
    for (unsigned k = 0; k < n; ++k)
      terms.push_back(mapping.lookupOrDefault(op.getRescaledValue(k)));
    YieldOp::create(b, loc, terms, Value());
  }
  op.replaceAllUsesWith(outer.getResults());
  op.erase();
}

} // namespace kernelc::te
