// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/MaterializeFactor.h"

#include "ir/te/Factors.h"
#include "ir/te/TeShape.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/LinearRead.h"
#include "passes/products/FactorLayout.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Whether a subscript of a factor is one index, backwards. (Beside others, as in `x[p - r]`, tiles have one point of it.)
bool walksBackwards(ReduceOp reduce, Value factor) {
  ReadOp read = findOperandRead(factor);
  std::optional<LinearRead> linear = read ? lineariseRead(reduce, read) : std::nullopt;
  return linear && llvm::any_of(linear->coefficients, [](ArrayRef<int64_t> row) {
           return llvm::count(row, 0) + 1 == int64_t(row.size()) && llvm::any_of(row, [](int64_t c) { return c < 0; });
         });
}

/// Whether data says of each row by itself where `read` finds its element: neighbouring rows of a tile need not be neighbours in memory,
/// so that no tensor copy brings them.
bool isGathered(ReduceOp reduce, ReadOp read, ArrayRef<unsigned> outer) {
  return read && !outer.empty() && llvm::any_of(read.getOperands_(), [&](Value v) {
           bool isOfRow = !findIndex(reduce, v) && findSupport(v, reduce.getNumDims())[outer.back()] && !findReads(v).empty();
           return isOfRow && findUniformTile(v, outer.back()) == 1; // (rows of a page are neighbours)
         });
}

/// Whether `factor` is an element of a tensor of the unit's type, or one that the copy rounds to it.
bool isStored(Value factor, Type unitType) {
  ReadOp read = findOperandRead(factor);
  return read && (isa<FloatTF32Type>(unitType) ? read.getResult().getType().isF32() : read.getResult().getType() == unitType);
}

/// Whether `factor` is made of elements of products alone, at their own points, which nobody else reads: what their launch writes then
/// is no more than it writes anyway.
bool isLeftByProducts(ReduceOp reduce, Value factor) {
  SmallVector<ReadOp> reads = findReads(factor);
  return !reads.empty() && llvm::all_of(reads, [&](ReadOp read) {
    auto product = read.getTensor().getDefiningOp<ReduceOp>();
    llvm::BitVector seen(reduce.getNumDims());
    bool isOnly = product && findContraction(product) && product->hasOneUse() && read.getMapOrIdentity().isIdentity() &&
                  read.getBounds() == BoundsMode::InBounds && llvm::equal(read.getOperands_(), reads.front().getOperands_());
    return isOnly && llvm::all_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
             std::optional<unsigned> d = findIndex(reduce, operand.value());
             bool isOwn = d && !seen[*d] && reduce.getExtents().getResult(*d) == product.getExtents().getResult(operand.index());
             if (isOwn)
               seen.set(*d);
             return isOwn;
           });
  });
}

/// The dims of `reduce` that a tensor of the factor's values has: rows run along an index that tiles have several points of, summed
/// ones for units, rows (columns) for CUDA cores.
SmallVector<unsigned> dimsOf(ReduceOp reduce, const Contraction &c, Value factor, ArrayRef<unsigned> outer, bool onCores) {
  llvm::BitVector support = findSupport(factor, reduce.getNumDims());
  SmallVector<unsigned> dims(c.batch);
  if (!onCores)
    llvm::append_range(dims, outer);
  for (bool tiled : {false, true})
    llvm::copy_if(c.k, std::back_inserter(dims), [&](unsigned d) { return support[d] && c.isTiledK(d) == tiled; });
  if (onCores)
    llvm::append_range(dims, outer);
  return dims;
}

/// Whether tensor copies feed CUDA cores such a factor, were it in memory: words, one index each of rows, columns and sum, whole vectors of
/// those that it has.
bool feedsCores(const Repacking &of, ReduceOp reduce, const Contraction &c, Value factor, ArrayRef<unsigned> outer) {
  bool isPlain = factor.getType().isF32() && c.m.size() == 1 && c.n.size() == 1 && c.k.size() == 1;
  return isPlain && of.target.feedsCores && !hasUnit(c, of.target) &&
         knownDivisor(reduce.getExtents().getResult(outer.front()), of.facts) * int64_t(sizeof(float)) % kRowBytes == 0;
}

/// What leads to `value` in the body of `reduce`, but for what the forms of its indices stand for. False where it has effects.
bool findSlice(ReduceOp reduce, Value value, ArrayRef<IndexForm> forms, llvm::SetVector<Operation *> &slice) {
  auto isForm = [&](Operation *op) {
    return llvm::any_of(forms, [&](const IndexForm &d) {
      return llvm::any_of(op->getResults(), [&](Value v) { return llvm::is_contained(d.values, v); });
    });
  };
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &reduce.getBlock() && !isForm(op); };
  return succeeded(getBackwardSlice(value, &slice, options)) && llvm::all_of(slice, [](Operation *op) { return isPure(op); });
}

/// Of elements of the unit's type: tf32 lies in memory as f32.
Type elementOf(const ComputedFactor &f) {
  return isa<FloatTF32Type>(f.unitType) ? Type(Float32Type::get(f.unitType.getContext())) : f.unitType;
}

/// The domain of the tensor of the factor's values, and its shape, whose rows begin where tensor copies find them.
struct CopyForm {
  CopyForm(const Repacking &of, ReduceOp reduce, const ComputedFactor &f) {
    SmallVector<AffineExpr> domain = llvm::map_to_vector(f.forms, [](const IndexForm &taken) { return taken.extent; }), rows = domain;
    if (!f.onCores) // (whose rows are whole vectors as they are, and have nothing behind them that nobody writes)
      rows.back() = of.roundUp(rows.back(), of.target.costs->copies.elementsOfRow(elementOf(f).getIntOrFloatBitWidth()));
    auto mapOf = [&](ArrayRef<AffineExpr> e) { return AffineMap::get(0, reduce.getExtents().getNumSymbols(), e, reduce.getContext()); };
    extents = mapOf(domain);
    shape = mapOf(rows);
  }
  AffineMap extents, shape;
};

/// The tensor of the factor's values, behind a remark that it is made.
ComputeOp makeCopy(const Repacking &of, ReduceOp reduce, const ComputedFactor &f) {
  std::string name = "operand";
  if (f.isGathered)
    name = nameOfOperand(findOperandRead(f.factor).getTensor());
  else if (auto read = llvm::find_if(f.slice, llvm::IsaPred<ReadOp>); read != f.slice.end())
    name = nameOfOperand(cast<ReadOp>(*read).getTensor());
  OpBuilder b(reduce);
  SmallVector<Attribute> indices = llvm::map_to_vector(f.dims, [&](unsigned d) -> Attribute { return reduce.getIndices()[d]; });
  const CopyForm form(of, reduce, f);
  auto type = RankedTensorType::get(SmallVector<int64_t>(f.dims.size(), ShapedType::kDynamic), elementOf(f));
  auto copy = ComputeOp::create(b, f.factor.getLoc(), type, b.getArrayAttr(indices), form.extents, IntegerSetAttr(), Value(),
                                AffineMapAttr(), AffineMapAttr::get(form.shape), b.getStringAttr(name + "_rows"), false);
  if (f.isGathered)
    emitRemark(reduce.getLoc()) << "data says where each row of '" << name << "' lies: the rows are written to an aligned workspace first";
  else if (!f.isFree)
    emitRemark(reduce.getLoc()) << (f.isStored ? "an operand walks an index of '" : "an operand is computed from '") << name
                                << (f.isStored ? "' backwards" : "'") << ": it is written to an aligned workspace first";
  return copy;
}

/// The copy's body: what leads to the value, at the copy's indices, and that in the unit's type.
void fillCopy(ComputeOp copy, ReduceOp reduce, const ComputedFactor &f) {
  OpBuilder b(copy);
  Location loc = f.factor.getLoc();
  Type element = elementOf(f);
  Block &body = copy.getBody().emplaceBlock();
  IRMapping mapping;
  for (auto [d, taken] : llvm::zip(f.dims, f.forms)) {
    Value index = body.addArgument(b.getIndexType(), loc);
    if (taken.values.empty())
      mapping.map(reduce.getBlock().getArgument(d), index);
    for (Value v : taken.values)
      mapping.map(v, index);
  }
  b.setInsertionPointToStart(&body);
  for (Operation &op : reduce.getBlock())
    if (f.slice.contains(&op))
      b.clone(op, mapping);
  Value stored = mapping.lookupOrDefault(f.value);
  if (stored.getType() != element) { // exact: the unit's type holds the factor's
    if (stored.getType().getIntOrFloatBitWidth() < 32)
      stored = arith::ExtFOp::create(b, loc, b.getF32Type(), stored);
    if (!element.isF32())
      stored = arith::TruncFOp::create(b, loc, element, stored);
  }
  YieldOp::create(b, loc, stored, Value());
}

/// The product reads the copy where it had the factor, widened as that was.
void readCopy(ComputeOp copy, ReduceOp reduce, const ComputedFactor &f) {
  OpBuilder b(copy);
  Location loc = f.factor.getLoc();
  Type element = elementOf(f);
  if (Operation *def = f.factor.getDefiningOp())
    b.setInsertionPointAfter(def);
  SmallVector<Value> point;
  SmallVector<AffineExpr> subscripts;
  for (auto [n, d] : llvm::enumerate(f.dims)) {
    subscripts.push_back(f.forms[n].form.replace(b.getAffineDimExpr(0), b.getAffineDimExpr(n)));
    point.push_back(reduce.getBlock().getArgument(d));
  }
  auto map = AffineMap::get(f.dims.size(), reduce.getExtents().getNumSymbols(), subscripts, b.getContext());
  Value wide = ReadOp::create(b, loc, element, copy.getResult(), point, map.isIdentity() ? AffineMapAttr() : AffineMapAttr::get(map),
                              BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  if (f.factor.getDefiningOp<RoundOp>() || isa<FloatTF32Type>(f.unitType)) // what is a tf32 already stays the same
    wide = RoundOp::create(b, loc, wide, f.unitType);
  else if (isa<FloatType>(element) && element != f.factor.getType())
    wide = arith::ExtFOp::create(b, loc, f.factor.getType(), wide);
  else if (isa<IntegerType>(element) && f.isUnsigned)
    wide = arith::ExtUIOp::create(b, loc, f.factor.getType(), wide);
  else if (isa<IntegerType>(element))
    wide = arith::ExtSIOp::create(b, loc, f.factor.getType(), wide);
  for (OpOperand *use : findUsesIn(reduce.getYield().getValues()[0], f.factor))
    use->set(wide);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(reduce.getBlock())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace

std::optional<ComputedFactor> findComputedFactor(const Repacking &of, ReduceOp reduce, const Contraction &c, Value factor,
                                                 ArrayRef<unsigned> outer, bool isUnsigned) {
  bool onCores = feedsCores(of, reduce, c, factor, outer);
  Type unitType = onCores ? factor.getType() : operandType(c, factor, Unit::Wgmma, of.target);
  if (!of.target.wgmma || !unitType || c.isAMasked() || c.isBMasked())
    return std::nullopt;
  ComputedFactor f{.factor = factor, .unitType = unitType, .isUnsigned = isUnsigned, .onCores = onCores};
  f.isFree = isLeftByProducts(reduce, factor);
  f.isStored = isStored(factor, unitType);
  f.isGathered = f.isStored && isGathered(reduce, findOperandRead(factor), outer);
  f.looksUp = !f.isStored && llvm::any_of(findReads(factor), [&](ReadOp read) { return isGathered(reduce, read, outer); });
  if ((!of.workOf(reduce, c) && !f.isFree) || (f.isStored && !f.isGathered && !walksBackwards(reduce, factor)))
    return std::nullopt; // (of unknown work nobody says whether it pays)
  if (onCores && (f.isStored || f.looksUp))
    return std::nullopt; // (which copies to slots bring)
  f.dims = dimsOf(reduce, c, factor, outer, onCores);
  f.forms = llvm::map_to_vector(f.dims, [&](unsigned d) { return indexFormOf(reduce, factor, d); });
  auto round = factor.getDefiningOp<RoundOp>();
  f.value = round ? round.getInput() : isa<FloatTF32Type>(unitType) ? factor : stripWidening(factor);
  if (!findSlice(reduce, f.value, f.forms, f.slice))
    return std::nullopt;
  return f;
}

bool paysMaterialized(const Repacking &of, double work, const ComputedFactor &found) {
  double copied = 1;
  for (const IndexForm &taken : found.forms)
    copied *= double(knownMax(taken.extent, of.facts));
  // What is looked up (weights by a table) units would get element by element otherwise.
  const LeastWork &least = found.onCores ? of.policy.cores : found.looksUp ? of.policy.rows : of.policy.copies;
  return found.isFree || least.isMet(work, copied);
}

ComputeOp materialize(const Repacking &of, ReduceOp reduce, const ComputedFactor &found) {
  ComputeOp copy = makeCopy(of, reduce, found);
  fillCopy(copy, reduce, found);
  readCopy(copy, reduce, found);
  return copy;
}

void sketchMaterialize(RewriteSketch &sketch, const Repacking &of, ReduceOp reduce, const ComputedFactor &f) {
  const CopyForm form(of, reduce, f);
  TensorSketch copy{form.shape, elementOf(f)};
  llvm::SetVector<Value> inCopy;
  for (Operation *op : f.slice)
    if (auto read = dyn_cast<ReadOp>(op))
      inCopy.insert(read.getTensor());
  // Values that only the factor is computed from, where it is multiplied: the reduction itself no longer reads them.
  llvm::SmallPtrSet<Operation *, 16> kept;
  auto keep = [&](Value from, Value but) {
    SmallVector<Value> work{from};
    while (!work.empty()) {
      Value v = work.pop_back_val();
      Operation *op = v && v != but ? v.getDefiningOp() : nullptr;
      if (op && op->getBlock() == &reduce.getBlock() && kept.insert(op).second)
        llvm::append_range(work, op->getOperands());
    }
  };
  keep(reduce.getYield().getValues()[0], f.factor);
  llvm::SmallPtrSet<Operation *, 16> multiplied = std::exchange(kept, {});
  keep(reduce.getYield().getCondition(), {}); // (which may go through the factor, and stays as it is)
  kept.insert(multiplied.begin(), multiplied.end());
  SmallVector<ReadOp> gone;
  for (ReadOp read : reduce.getBlock().getOps<ReadOp>())
    if (!kept.contains(read))
      gone.push_back(read);
  StatementSketch own = sketch.sketchOf(reduce);
  own.loads = sketch.loadsIn({&reduce.getBody()}, gone);
  own.loads.push_back(copy);
  sketch.drop(reduce);
  sketch.make({ComputeOp::getOperationName(), form.extents, unsigned(f.dims.size()), llvm::map_to_vector(inCopy, sketchTensor), {copy}});
  sketch.make(own);
}

} // namespace kernelc::te
