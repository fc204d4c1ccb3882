// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-group-rows: see Passes.td. Rows are sorted by counting: a row's place is how many rows of its group stand before it, behind the
// tiles of the groups before its own.
#include "passes/Passes.h"

#include "ir/te/Factors.h"
#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/PlanAttr.h"
#include "passes/te/StatementWriter.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEGROUPROWS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

constexpr int64_t kLeastRows = 16, kMostRows = 128;   ///< of a tile
constexpr int kLaunches = 8;                          ///< beside the product
constexpr double kLaunch = 3000, kBytes = 1.0 / 3000; ///< nanoseconds, where no target is known
constexpr double kGathered = 1.0 / 8700;              ///< nanoseconds of a byte that each row loads for itself, from the cache
constexpr double kByUnit = 4e-6, kByCores = 75e-6;    ///< nanoseconds of a multiply-add of a tile
constexpr double kTimesAsFast = 2;                    ///< the estimate has to say
constexpr int64_t kMostWord = (int64_t(1) << 31) - 1;

/// Which operand rows of a product multiply, where data of each row says so.
struct RowChoice {
  Value key;                  ///< an index in the reduction's body
  SmallVector<unsigned> dims; ///< that number the rows
  AffineExpr choices;         ///< `key` is below
  bool isChecked = false;     ///< or is none of them, and what is read there is a constant
  int64_t bytes = 0;          ///< of an element that it chooses
};

/// An order of rows in which those of a group are neighbours, and each group begins with a tile.
struct RowOrder {
  ComputeOp keys; ///< what the group of a row is
  AffineExpr groups;
  int64_t tileRows;
  Value rows;   ///< in each place; their number where there is none
  Value chosen; ///< the group of each tile
};

bool isLoaded(Value v) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == v.getParentBlock(); };
  if (v.getDefiningOp())
    (void)getBackwardSlice(v, &slice, options);
  return llvm::any_of(slice, [](Operation *op) { return isa<ReadOp>(op); });
}

/// The choice that `read` makes by its subscript r, or nothing.
std::optional<RowChoice> findChoice(ReduceOp reduce, ReadOp read, unsigned r) {
  AffineMap map = read.getMapOrIdentity();
  auto d = dyn_cast<AffineDimExpr>(map.getResult(r));
  Value key = d ? read.getOperands_()[d.getPosition()] : Value();
  if (!key || !isLoaded(key))
    return std::nullopt;
  llvm::BitVector support = findSupport(key, reduce.getNumDims());
  if (support.none() || support.find_last() >= int(reduce.getNumParallel()))
    return std::nullopt;
  RowChoice choice{key, {}, getTensorShape(read.getTensor()).getResult(r)};
  llvm::append_range(choice.dims, support.set_bits());
  choice.isChecked = read.getBounds() == BoundsMode::Pad;
  choice.bytes = llvm::divideCeil(read.getResult().getType().getIntOrFloatBitWidth(), 8);
  // One number stands for all that are none of the choices: they have to be the same to all readers.
  for (OpOperand &use : key.getUses()) {
    auto other = dyn_cast<ReadOp>(use.getOwner());
    bool isInside = other && (other.getBounds() == BoundsMode::InBounds || other.getBounds() == BoundsMode::Assume);
    if (!choice.isChecked && isInside)
      continue;
    if (!choice.isChecked || !other || other.getBounds() != BoundsMode::Pad || use.getOperandNumber() == 0)
      return std::nullopt;
    AffineMap at = other.getMapOrIdentity(), shape = getTensorShape(other.getTensor());
    AffineExpr own = getAffineDimExpr(use.getOperandNumber() - 1, map.getContext());
    for (auto [n, e] : llvm::enumerate(at.getResults()))
      if (e == own ? shape.getResult(n) != choice.choices : e.isFunctionOfDim(use.getOperandNumber() - 1))
        return std::nullopt;
  }
  return choice;
}

/// One product, on its way to one of tiles of rows that choose alike.
class RowGrouper : StatementWriter {
public:
  RowGrouper(ReduceOp reduce, RowChoice choice, const KnownTarget &known)
      : StatementWriter(reduce, reduce.getName().value_or("rows")), reduce_(reduce), choice_(std::move(choice)), known_(known) {
    points_ = number(1);
    for (unsigned d : choice_.dims)
      points_ = points_ * reduce_.getExtents().getResult(d);
    groups_ = choice_.choices + (choice_.isChecked ? 1 : 0);
  }

  /// Whether the rows' own domain is whole, and there is at least one.
  bool isWhole() {
    if (reduce_.getInit() || reduce_.getOutMap() || reduce_.getYield().getCondition() || !knownPositive(points_, known_.facts()))
      return false;
    std::optional<IntegerSet> set = reduce_.getCondition();
    return !set || llvm::none_of(set->getConstraints(), [&](AffineExpr e) {
      return llvm::any_of(choice_.dims, [&](unsigned d) { return e.isFunctionOfDim(d); });
    });
  }

  /// Sets the rows of a tile; 0 where likely sizes do not promise a product that is clearly faster.
  bool pays(bool hasUnit) {
    const SizeFacts likely = known_.expected();
    int64_t points = knownMax(points_, likely), groups = knownMax(groups_, likely);
    if (points < 0 || groups < 0 || points / groups < kLeastRows)
      return false;
    rows_ = std::min<int64_t>(kMostRows, int64_t(llvm::bit_floor(uint64_t(points / groups))));
    double columns = 1, terms = 1;
    for (unsigned d = 0; d < reduce_.getNumDims(); ++d) {
      int64_t extent = knownMax(reduce_.getExtents().getResult(d), likely);
      if (extent < 0)
        return false;
      if (!llvm::is_contained(choice_.dims, d))
        (d < reduce_.getNumParallel() ? columns : terms) *= double(extent);
    }
    double all = double(points) * columns * terms;
    double own = std::max(all * double(choice_.bytes) * kGathered, hasUnit ? 0 : all * kByCores);
    double moved = 8 * (double(points) * double(groups) + double(points) * columns); // counts and results, written and read
    double tiles = double(points + groups * rows_) * columns * terms * (hasUnit ? kByUnit : kByCores);
    return (kLaunches * kLaunch + moved * kBytes + tiles) * kTimesAsFast < own;
  }

  /// Puts the product of tiles in the reduction's place; false, and nothing changed, where there would be none. `orders`: those that are
  /// there, and then this one's.
  bool group(SmallVectorImpl<RowOrder> &orders);
  /// Lets the pointwise statement that is the only reader of the results be computed in the tiles, and its results be put back in place of
  /// those; it may read results of `others` as well.
  void takeReader(ArrayRef<std::unique_ptr<RowGrouper>> others);
  /// Erases what is in nobody's use.
  void finish() {
    reduce_.erase();
    if (back_->use_empty())
      back_.erase();
  }

private:
  /// Whether a unit takes `product`.
  bool hasUnitFor(ReduceOp product) {
    std::optional<Contraction> c = findContraction(product);
    return c && hasUnit(*c, *known_.target);
  }
  AffineExpr tiles() { return points_.floorDiv(rows_) + groups_; }
  /// Words hold places of all slots.
  Type word() {
    int64_t slots = knownMax(tiles() * rows_, known_.facts());
    return b.getIntegerType(slots >= 0 && slots <= kMostWord ? 32 : 64);
  }
  Value integer(int64_t n) { return arith::ConstantOp::create(b, loc(), b.getIntegerAttr(word(), n)); }
  Value toWord(Value v) { return arith::IndexCastOp::create(b, loc(), word(), v); }
  Value isWord(arith::CmpIPredicate p, Value x, Value y) { return arith::ExtUIOp::create(b, loc(), word(), compare(p, x, y)); }
  Value tilesOf(Value count) {
    Value last = arith::AddIOp::create(b, loc(), count, integer(rows_ - 1));
    return arith::ShRUIOp::create(b, loc(), last, integer(llvm::Log2_64(uint64_t(rows_))));
  }
  /// The number of a row, of its indices, and back.
  AffineExpr rowOf() {
    AffineExpr row = number(0);
    for (unsigned d : choice_.dims)
      row = row * reduce_.getExtents().getResult(d) + dim(d);
    return row;
  }
  void mapRow(IRMapping &mapping, Value row) {
    AffineExpr rest = dim(0);
    for (unsigned d : llvm::reverse(choice_.dims)) {
      AffineExpr extent = reduce_.getExtents().getResult(d);
      bool isFirst = d == choice_.dims.front();
      mapping.map(reduce_.getBlock().getArgument(d), value(isFirst ? rest : rest % extent, row));
      rest = rest.floorDiv(extent);
    }
  }

  /// The row in place `at[0] * R + at[1]`, or the first one, and whether there is one.
  std::pair<Value, Value> rowAt(Value rows, ValueRange at) {
    Value row = read(rows, at.take_front(2), {dim(0) * rows_ + dim(1)});
    Value exists = compare(arith::CmpIPredicate::ult, row, toWord(value(points_, {})));
    return {toIndex(arith::SelectOp::create(b, loc(), exists, row, integer(0))), exists};
  }

  ComputeOp makeKeys();
  RowOrder makeOrder(ComputeOp keys);
  ReduceOp makeProduct(Value rows, Value chosen);
  ScatterOp putBack(RankedTensorType type, StringAttr name, llvm::function_ref<Value(IRMapping &, ValueRange)> result);
  bool isReadBy(ComputeOp reader);

  ReduceOp reduce_;
  RowChoice choice_;
  const KnownTarget &known_;
  AffineExpr points_, groups_;
  int64_t rows_ = 0;
  // The statements that stand in for the reduction, which finish() erases.
  Value order_; ///< which row stands in each place
  ReduceOp product_;
  ScatterOp back_;
};

/// The group of each row.
ComputeOp RowGrouper::makeKeys() {
  return makeCompute(named("_keys"), {"p"}, {points_}, word(), [&](ValueRange at) {
    IRMapping mapping;
    mapRow(mapping, at[0]);
    Value key = cloneValue(choice_.key, mapping, b);
    if (choice_.isChecked) {
      Value none = value(choice_.choices, {});
      Value isOne = both(compare(arith::CmpIPredicate::sge, key, index(0)), compare(arith::CmpIPredicate::slt, key, none));
      key = arith::SelectOp::create(b, loc(), isOne, key, none);
    }
    return toWord(key);
  });
}

/// The product with `rows`, the row in each place, and `chosen`, the group of each tile.
ReduceOp RowGrouper::makeProduct(Value rows, Value chosen) {
  unsigned parallel = reduce_.getNumParallel();
  SmallVector<AffineExpr> extents{tiles(), number(rows_)}, moved(reduce_.getNumDims(), number(0));
  SmallVector<Attribute> names{b.getStringAttr("tile"), b.getStringAttr("row")};
  for (unsigned d = 0; d < reduce_.getNumDims(); ++d) {
    if (llvm::is_contained(choice_.dims, d))
      continue;
    moved[d] = dim(extents.size());
    extents.push_back(reduce_.getExtents().getResult(d));
    names.push_back(reduce_.getIndices()[d]);
  }
  unsigned own = 2 + parallel - choice_.dims.size();
  IntegerSetAttr condition;
  if (std::optional<IntegerSet> set = reduce_.getCondition())
    condition = IntegerSetAttr::get(
        IntegerSet::get(extents.size(), set->getNumSymbols(),
                        llvm::map_to_vector(set->getConstraints(), [&](AffineExpr e) { return e.replaceDims(moved); }), set->getEqFlags()));
  auto op = ReduceOp::create(b, loc(), typeOf(ArrayRef(extents).take_front(own), reduce_.getResult().getType().getElementType()),
                             reduce_.getKind(), b.getArrayAttr(names), own, over(extents), condition, Value(), AffineMapAttr(),
                             AffineMapAttr(), named("_groups"));
  copyHints(reduce_, op);
  return fill(op, [&](ValueRange at) {
    IRMapping mapping;
    for (unsigned d = 0; d < reduce_.getNumDims(); ++d)
      if (auto to = dyn_cast<AffineDimExpr>(moved[d]))
        mapping.map(reduce_.getBlock().getArgument(d), at[to.getPosition()]);
    mapRow(mapping, rowAt(rows, at).first);
    mapping.map(choice_.key, toIndex(read(chosen, at.take_front(1))));
    return SmallVector<Value>{cloneValue(reduce_.getYield().getValues()[0], mapping, b)};
  });
}

/// A tensor like the reduction's: of each place that has a row, what `result` says of the row's indices and the product's.
ScatterOp RowGrouper::putBack(RankedTensorType type, StringAttr name, llvm::function_ref<Value(IRMapping &, ValueRange)> result) {
  unsigned parallel = reduce_.getNumParallel(), own = product_.getNumParallel();
  auto op = ScatterOp::create(b, loc(), type, CombinerAttr(), b.getArrayAttr(product_.getIndices().getValue().take_front(own)),
                              over(product_.getExtents().getResults().take_front(own)), IntegerSetAttr(), Value(),
                              over(reduce_.getExtents().getResults().take_front(parallel)), name, false, false);
  Value exists;
  fill(op, [&](ValueRange at) {
    IRMapping mapping;
    Value row;
    std::tie(row, exists) = rowAt(order_, at);
    mapRow(mapping, row);
    unsigned next = 2;
    for (unsigned d = 0; d < parallel; ++d)
      if (!llvm::is_contained(choice_.dims, d))
        mapping.map(reduce_.getBlock().getArgument(d), at[next++]);
    SmallVector<Value> yields{result(mapping, at)};
    for (unsigned d = 0; d < parallel; ++d)
      yields.push_back(mapping.lookup(reduce_.getBlock().getArgument(d)));
    return yields;
  });
  op.getYield().getConditionMutable().assign(exists);
  return op;
}

/// Whether `reader`, and nobody else, reads the results, each at its own point.
bool RowGrouper::isReadBy(ComputeOp reader) {
  return !back_->use_empty() && reader.getExtents().getResults() == back_.getShape().getResults() &&
         llvm::all_of(back_->getUsers(), [&](Operation *user) {
           auto read = dyn_cast<ReadOp>(user);
           return read && read->getParentOp() == reader && read.getMapOrIdentity().isIdentity() &&
                  llvm::equal(read.getOperands_(), reader.getBlock().getArguments());
         });
}

void RowGrouper::takeReader(ArrayRef<std::unique_ptr<RowGrouper>> others) {
  auto reader = back_->use_empty() ? nullptr : dyn_cast<ComputeOp>((*back_->user_begin())->getParentOp());
  if (!reader || reader.getInit() || reader.getOutMap() || reader.getCondition() || reader.getYield().getCondition() || !isReadBy(reader))
    return;
  llvm::SmallDenseMap<Value, Value> products;
  for (const std::unique_ptr<RowGrouper> &other : others)
    if (other->order_ == order_ && other->choice_.dims == choice_.dims && other->isReadBy(reader))
      products[other->back_.getResult()] = other->product_.getResult();
  b.setInsertionPoint(reader);
  ScatterOp op = putBack(reader.getResult().getType(), reader.getNameAttr(), [&](IRMapping &row, ValueRange at) {
    IRMapping mapping;
    for (auto [d, argument] : llvm::enumerate(reader.getBlock().getArguments()))
      mapping.map(argument, row.lookup(reduce_.getBlock().getArgument(d)));
    for (Operation &op : reader.getBlock().without_terminator()) {
      auto load = dyn_cast<ReadOp>(op);
      if (Value product = load ? products.lookup(load.getTensor()) : Value())
        mapping.map(load.getResult(), read(product, at));
      else
        b.clone(op, mapping);
    }
    return mapping.lookupOrDefault(reader.getYield().getValues()[0]);
  });
  reader.replaceAllUsesWith(op.getResult());
  reader.erase();
}

RowOrder RowGrouper::makeOrder(ComputeOp sorted) {
  Value keys = sorted.getResult();
  // How many rows of a group there are up to each row.
  Value upTo = makeSum("_counts", {"g", "p", "q"}, {groups_, points_, points_}, where(dim(1) - dim(2), 3), word(), [&](ValueRange at) {
                 return isWord(arith::CmpIPredicate::eq, read(keys, at[2]), toWord(at[0]));
               }).getResult();
  auto countOf = [&](Value group) { return read(upTo, group, {dim(0), points_ - 1}); };
  // Behind which tile those of each group end.
  Value ends = makeSum("_ends", {"g", "h"}, {groups_, groups_}, where(dim(0) - dim(1), 2), word(), [&](ValueRange at) {
                 return tilesOf(countOf(at[1]));
               }).getResult();
  Value places = makeCompute(named("_places"), {"p"}, {points_}, word(), [&](ValueRange at) -> Value {
                   Value group = toIndex(read(keys, at));
                   Value first = arith::SubIOp::create(b, loc(), read(ends, group), tilesOf(countOf(group)));
                   Value before = arith::SubIOp::create(b, loc(), read(upTo, {group, at[0]}), integer(1));
                   return arith::AddIOp::create(b, loc(), arith::MulIOp::create(b, loc(), first, integer(rows_)), before);
                 }).getResult();
  AffineExpr slots = tiles() * rows_;
  Value none = makeCompute(named("_no_rows"), {"p"}, {slots}, word(), [&](ValueRange) { return toWord(value(points_, {})); }).getResult();
  Value rows = makePermuted("_rows", points_, slots, word(), none, [&](ValueRange at) {
                 return SmallVector<Value>{toWord(at[0]), toIndex(read(places, at))};
               }).getResult();
  // Tiles behind the last group's count as its own.
  Value chosen = makeSum("_chosen", {"t", "g"}, {tiles(), groups_}, where(groups_ - 2 - dim(1), 2), word(), [&](ValueRange at) {
                   return isWord(arith::CmpIPredicate::sle, read(ends, at[1]), toWord(at[0]));
                 }).getResult();
  return {sorted, groups_, rows_, rows, chosen};
}

bool RowGrouper::group(SmallVectorImpl<RowOrder> &orders) {
  ComputeOp keys = makeKeys();
  auto known = llvm::find_if(orders, [&](RowOrder &order) {
    return order.groups == groups_ && order.tileRows == rows_ && order.keys.getExtents() == keys.getExtents() &&
           OperationEquivalence::isRegionEquivalentTo(&order.keys.getBody(), &keys.getBody(), OperationEquivalence::IgnoreLocations);
  });
  bool isNew = known == orders.end();
  RowOrder order = isNew ? makeOrder(keys) : *known;
  ReduceOp product = makeProduct(order.rows, order.chosen);
  bool isTaken = findGeneralContraction(product) && pays(hasUnitFor(product));
  if (isTaken) {
    order_ = order.rows;
    product_ = product;
    back_ = putBack(reduce_.getResult().getType(), reduce_.getNameAttr(),
                    [&](IRMapping &, ValueRange at) { return read(product.getResult(), at); });
    reduce_.replaceAllUsesWith(back_.getResult());
  }
  if (isTaken && isNew)
    orders.push_back(order);
  else if (isTaken)
    keys.erase();
  else
    undo();
  return isTaken;
}

struct TeGroupRowsPass : impl::TeGroupRowsBase<TeGroupRowsPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax, sizeLike);
    if (failed(known))
      return signalPassFailure();
    SmallVector<RowOrder> orders;
    std::vector<std::unique_ptr<RowGrouper>> groupers;
    for (ReduceOp reduce : llvm::to_vector(getOperation().getBlock().getOps<ReduceOp>()))
      if (!findGeneralContraction(reduce))
        if (std::unique_ptr<RowGrouper> grouper = groupRows(reduce, *known, orders))
          groupers.push_back(std::move(grouper));
    for (const std::unique_ptr<RowGrouper> &grouper : groupers)
      grouper->takeReader(groupers);
    for (const std::unique_ptr<RowGrouper> &grouper : groupers)
      grouper->finish();
  }

private:
  static std::unique_ptr<RowGrouper> groupRows(ReduceOp reduce, const KnownTarget &known, SmallVectorImpl<RowOrder> &orders) {
    llvm::SmallPtrSet<Operation *, 4> tried;
    for (ReadOp read : llvm::to_vector(reduce.getBlock().getOps<ReadOp>()))
      for (unsigned r = 0; r < read.getMapOrIdentity().getNumResults(); ++r) {
        std::optional<RowChoice> choice = findChoice(reduce, read, r);
        if (!choice || !tried.insert(choice->key.getDefiningOp()).second)
          continue;
        auto grouper = std::make_unique<RowGrouper>(reduce, *choice, known);
        if (grouper->isWhole() && grouper->pays(true) && grouper->group(orders))
          return grouper;
      }
    return nullptr;
  }
};

} // namespace
} // namespace kernelc
