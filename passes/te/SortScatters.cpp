// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-sort-scatters: see Passes.td. Points are sorted by merging: ranks within chunks by comparing all pairs, then runs of
// ever more points by binary search; what is left is a sum over a segment for each row.
#include "passes/Passes.h"

#include "ir/te/Limits.h"
#include "ir/te/Marks.h"
#include "ir/te/TeShape.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"
#include "passes/index/IndexArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESORTSCATTERS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

constexpr int64_t kChunk = 1024;     ///< points that are sorted by comparing all pairs
constexpr int64_t kFan = 32;         ///< runs that are merged at once
constexpr int64_t kFewPoints = 4096; ///< a row of which one thread adds up
constexpr int64_t kShare = 256;      ///< points of a long row that are added up apart from its others
constexpr int64_t kFewRows = 32;     ///< for so many every point is asked by each
constexpr int64_t kPointBits = 32;

/// One scatter whose order counts, on its way to sums over segments.
class ScatterSorter {
public:
  ScatterSorter(ScatterOp op, const SizeFacts &facts) : b(op), op_(op), facts_(facts), symbols_(op.getExtents().getNumSymbols()) {
    shareOutDims();
  }

  /// Few rows: each asks all points.
  bool hasFewRows() {
    int64_t rows = knownMax(rows_, facts_);
    return rows >= 0 && rows <= kFewRows;
  }
  LogicalResult checkSizes();
  void askAllPoints();
  void sortPoints();

private:
  using Body = llvm::function_ref<SmallVector<Value>(ValueRange)>;

  void shareOutDims();
  AffineExpr dim(unsigned d) { return b.getAffineDimExpr(d); }
  AffineExpr number(int64_t n) { return b.getAffineConstantExpr(n); }
  AffineMap over(ArrayRef<AffineExpr> exprs, unsigned dims = 0) { return AffineMap::get(dims, symbols_, exprs, b.getContext()); }
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, loc(), v); }
  Value integer(int64_t v) { return arith::ConstantIntOp::create(b, loc(), v, 64); }
  Value toInteger(Value v) { return arith::IndexCastOp::create(b, loc(), b.getI64Type(), v); }
  Value toIndex(Value v) { return arith::IndexCastOp::create(b, loc(), b.getIndexType(), v); }
  Value compare(arith::CmpIPredicate p, Value x, Value y) { return arith::CmpIOp::create(b, loc(), p, x, y); }
  Value both(Value x, Value y) { return !x ? y : !y ? x : Value(arith::AndIOp::create(b, loc(), x, y)); }
  Value value(AffineExpr e, ValueRange operands) {
    return materialize(b, loc(), simplifyAffineExpr(e, operands.size(), symbols_), operands, symbols_);
  }
  Location loc() { return op_.getLoc(); }
  Location called(StringRef name) { return NameLoc::get(b.getStringAttr(name), loc()); }
  StringAttr named(const Twine &suffix) { return b.getStringAttr(op_.getName().value_or("scatter") + suffix); }
  RankedTensorType typeOf(ArrayRef<AffineExpr> shape, Type element);

  Value makeCompute(const Twine &name, AffineExpr extent, llvm::function_ref<Value(Value)> body);
  Value makeSum(const Twine &name, ArrayRef<AffineExpr> extents, unsigned parallel, ArrayRef<AffineExpr> where, Body body);
  Value makePermuted(const Twine &name, ArrayRef<AffineExpr> extents, ArrayRef<AffineExpr> where, Body body);
  Value read(Value tensor, ValueRange operands, AffineExpr subscript = {}, bool padded = false);
  void fill(Region &region, unsigned dims, llvm::function_ref<void(ValueRange)> body);
  /// Clones what `roots` are computed from in the scatter's body, whose indices are `indices`.
  /// `padded`: reads that would lie outside give zero.
  IRMapping cloneBody(ArrayRef<Value> roots, ValueRange indices, bool padded = false);
  /// Indices of the key's dims of point `point`; others are null.
  SmallVector<Value> indicesOf(Value point);
  /// The constraints and data conditions that speak of carried dims, or those that do not.
  Value conditionAt(ValueRange indices, IRMapping &body, bool carried);
  SmallVector<Value> conditionRoots(bool carried);
  bool isCarried(Value v);

  /// What the sums go on from: null where that is the identity.
  Value startOf();
  void replaceBy(ReduceOp sum);

  Value makeKeys();
  Value sortChunks(Value keys);
  Value mergeRuns(Value sorted, int64_t length);
  /// How many of the `length` elements of `sorted` from `start` on (all, if null) are below `key`.
  Value countBelow(Value sorted, Value start, int64_t length, Value key);
  Value makeSegments(Value sorted);
  /// The row of the result at indices `out`, as an expression of them.
  AffineExpr rowOf();
  Value pointNumber(Value key) { return arith::AndIOp::create(b, loc(), key, integer((int64_t(1) << kPointBits) - 1)); }
  ReduceOp startSum(const Twine &name, ArrayRef<AffineExpr> lead, AffineExpr last, RankedTensorType type, IntegerSetAttr where, Value init);
  /// The value of point `point` (an i64) with the carried indices `carried`, and whether it counts there (null: always). `padded`: the
  /// point may be none, -1.
  std::pair<Value, Value> valueAt(Value point, ValueRange carried, bool padded = false);
  Value makeShares(Value sorted, Value segments);
  Value makeEnds(Value segments);
  void sumSegments(Value sorted, Value segments);
  void sumShares(Value sorted, Value segments, Value shares, Value ends);

  OpBuilder b;
  ScatterOp op_;
  SizeFacts facts_;
  unsigned symbols_;
  SmallVector<int64_t> carriedBy_;  ///< per dim of the domain, the dim of the result that it is; -1: of the key
  SmallVector<int64_t> carriedDim_; ///< per dim of the result, the dim of the domain that it is; -1: the key says
  AffineExpr points_, rows_;
};

/// A dim that is one subscript alone, and runs over all of it, is carried: the same for all rows.
void ScatterSorter::shareOutDims() {
  AffineMap extents = op_.getExtents(), shape = op_.getShape();
  carriedBy_.assign(extents.getNumResults(), -1);
  carriedDim_.assign(shape.getNumResults(), -1);
  llvm::BitVector elsewhere(extents.getNumResults());
  for (Value s : op_.getSubscripts())
    if (!findIndex(op_, s))
      elsewhere |= findSupport(s, extents.getNumResults());
  for (auto [r, s] : llvm::enumerate(op_.getSubscripts()))
    if (std::optional<unsigned> d = findIndex(op_, s);
        d && carriedBy_[*d] < 0 && !elsewhere[*d] && extents.getResult(*d) == shape.getResult(r)) {
      carriedBy_[*d] = int64_t(r);
      carriedDim_[r] = *d;
    }
  points_ = rows_ = number(1);
  for (auto [d, e] : llvm::enumerate(extents.getResults()))
    if (carriedBy_[d] < 0)
      points_ = points_ * e;
  for (auto [r, e] : llvm::enumerate(shape.getResults()))
    if (carriedDim_[r] < 0)
      rows_ = rows_ * e;
}

LogicalResult ScatterSorter::checkSizes() {
  int64_t points = knownMax(points_, facts_), rows = knownMax(rows_, facts_);
  if (points >= int64_t(1) << kPointBits || rows >= int64_t(1) << (63 - kPointBits))
    return op_.emitError() << "a scatter whose order counts sorts fewer than 2^" << kPointBits << " points into fewer than 2^"
                           << 63 - kPointBits << " rows; here there may be " << (points < 0 ? "any number" : std::to_string(points))
                           << " and " << (rows < 0 ? "any number" : std::to_string(rows)) << ": 'order(any)' has no such limit";
  // Sizes that are open are asked by each launch.
  std::string name = op_.getName().value_or("scatter").str();
  auto kernel = op_->getParentOfType<KernelOp>();
  if (points < 0)
    addLimit(kernel, {points_, int64_t(1) << kPointBits, "points sorted for '" + name + "'"});
  if (rows < 0)
    addLimit(kernel, {rows_, int64_t(1) << (63 - kPointBits), "rows sorted for '" + name + "'"});
  return success();
}

RankedTensorType ScatterSorter::typeOf(ArrayRef<AffineExpr> shape, Type element) {
  return RankedTensorType::get(llvm::map_to_vector(shape,
                                                   [](AffineExpr e) {
                                                     auto c = dyn_cast<AffineConstantExpr>(e);
                                                     return c && c.getValue() >= 0 ? c.getValue() : ShapedType::kDynamic;
                                                   }),
                               element);
}

void ScatterSorter::fill(Region &region, unsigned dims, llvm::function_ref<void(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(b);
  Block &block = region.emplaceBlock();
  for (unsigned d = 0; d < dims; ++d)
    block.addArgument(b.getIndexType(), loc());
  b.setInsertionPointToStart(&block);
  body(block.getArguments());
}

Value ScatterSorter::makeCompute(const Twine &name, AffineExpr extent, llvm::function_ref<Value(Value)> body) {
  auto op = ComputeOp::create(b, loc(), typeOf(extent, b.getI64Type()), b.getStrArrayAttr({"p"}), over(extent), IntegerSetAttr(), Value(),
                              AffineMapAttr(), AffineMapAttr(), named(name), false);
  kOwnLaunch.putOn(op);
  fill(op.getBody(), 1, [&](ValueRange at) { YieldOp::create(b, loc(), ValueRange{body(at[0])}, Value()); });
  return op.getResult();
}

static IntegerSetAttr setOf(ArrayRef<AffineExpr> where, unsigned dims, unsigned symbols) {
  SmallVector<bool> equalities(where.size(), false);
  return where.empty() ? IntegerSetAttr() : IntegerSetAttr::get(IntegerSet::get(dims, symbols, where, equalities));
}

Value ScatterSorter::makeSum(const Twine &name, ArrayRef<AffineExpr> extents, unsigned parallel, ArrayRef<AffineExpr> where, Body body) {
  SmallVector<StringRef> indices = {"p", "q", "s"};
  auto op = ReduceOp::create(
      b, loc(), typeOf(extents.take_front(parallel), b.getI64Type()), CombinerAttr::get(b.getContext(), Combiner::Sum),
      b.getStrArrayAttr(ArrayRef(indices).take_front(extents.size())), b.getI64IntegerAttr(parallel), AffineMapAttr::get(over(extents)),
      setOf(where, extents.size(), symbols_), Value(), AffineMapAttr(), AffineMapAttr(), named(name));
  kOwnLaunch.putOn(op);
  fill(op.getBody(), extents.size(), [&](ValueRange at) { YieldOp::create(b, loc(), body(at), Value()); });
  return op.getResult();
}

Value ScatterSorter::makePermuted(const Twine &name, ArrayRef<AffineExpr> extents, ArrayRef<AffineExpr> where, Body body) {
  SmallVector<StringRef> indices = {"p", "q"};
  auto op = ScatterOp::create(b, loc(), typeOf(points_, b.getI64Type()), CombinerAttr(),
                              b.getStrArrayAttr(ArrayRef(indices).take_front(extents.size())), over(extents),
                              setOf(where, extents.size(), symbols_), Value(), over(points_), named(name), false, false);
  fill(op.getBody(), extents.size(), [&](ValueRange at) { YieldOp::create(b, loc(), body(at), Value()); });
  return op.getResult();
}

Value ScatterSorter::read(Value tensor, ValueRange operands, AffineExpr subscript, bool padded) {
  Value padding = padded ? integer(std::numeric_limits<int64_t>::max()) : Value();
  return ReadOp::create(b, loc(), cast<RankedTensorType>(tensor.getType()).getElementType(), tensor, operands,
                        subscript ? AffineMapAttr::get(over(subscript, operands.size())) : AffineMapAttr(),
                        BoundsModeAttr::get(b.getContext(), padded ? BoundsMode::Pad : BoundsMode::Assume), padding);
}

IRMapping ScatterSorter::cloneBody(ArrayRef<Value> roots, ValueRange indices, bool padded) {
  IRMapping mapping;
  for (auto [argument, v] : llvm::zip(op_.getBlock().getArguments(), indices))
    if (v)
      mapping.map(argument, v);
  llvm::SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &op_.getBlock(); };
  for (Value root : roots)
    if (root && root.getDefiningOp() && root.getParentBlock() == &op_.getBlock())
      (void)getBackwardSlice(root, &needed, options);
  for (Operation &op : op_.getBlock().without_terminator()) {
    if (!needed.contains(&op))
      continue;
    auto r = dyn_cast<ReadOp>(b.clone(op, mapping));
    if (!padded || !r || (r.getBounds() != BoundsMode::InBounds && r.getBounds() != BoundsMode::Assume))
      continue;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(r);
    Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(r.getResult().getType()));
    auto whole = ReadOp::create(b, r.getLoc(), r.getResult().getType(), r.getTensor(), r.getOperands_(), r.getMapAttr(),
                                BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
    mapping.map(op.getResult(0), whole.getResult());
    r.erase();
  }
  return mapping;
}

SmallVector<Value> ScatterSorter::indicesOf(Value point) {
  AffineMap extents = op_.getExtents();
  SmallVector<Value> indices(extents.getNumResults());
  AffineExpr left = points_;
  for (unsigned d = 0; d < extents.getNumResults(); ++d) {
    if (carriedBy_[d] >= 0)
      continue;
    AffineExpr inner = number(1); // points of the dims behind this one
    for (unsigned k = d + 1; k < extents.getNumResults(); ++k)
      if (carriedBy_[k] < 0)
        inner = inner * extents.getResult(k);
    bool isFirst = left == points_;
    AffineExpr at = inner == number(1) ? dim(0) : dim(0).floorDiv(inner);
    indices[d] = value(isFirst ? at : at % extents.getResult(d), point);
    left = inner;
  }
  return indices;
}

bool ScatterSorter::isCarried(Value v) {
  llvm::BitVector support = findSupport(v, op_.getNumDims());
  return llvm::any_of(support.set_bits(), [&](unsigned d) { return carriedBy_[d] >= 0; });
}

SmallVector<Value> ScatterSorter::conditionRoots(bool carried) {
  Value condition = op_.getYield().getCondition();
  return condition && isCarried(condition) == carried ? SmallVector<Value>{condition} : SmallVector<Value>();
}

Value ScatterSorter::conditionAt(ValueRange indices, IRMapping &body, bool carried) {
  Value all;
  if (std::optional<IntegerSet> set = op_.getCondition())
    for (unsigned i = 0; i < set->getNumConstraints(); ++i) {
      llvm::BitVector dims(op_.getNumDims());
      collectDims(set->getConstraint(i), dims);
      if (llvm::any_of(dims.set_bits(), [&](unsigned d) { return carriedBy_[d] >= 0; }) != carried)
        continue;
      SmallVector<Value> operands; // those that are not known here are not mentioned
      for (Value v : indices)
        operands.push_back(v ? v : index(0));
      auto relation = set->isEq(i) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
      all = both(all, compare(relation, value(set->getConstraint(i), operands), index(0)));
    }
  for (Value c : conditionRoots(carried))
    all = both(all, body.lookupOrDefault(c));
  return all;
}

Value ScatterSorter::startOf() {
  auto filled = op_.getInit().getDefiningOp<ComputeOp>();
  auto constant = filled && isDefinition(filled) ? filled.getYield().getValues()[0].getDefiningOp<arith::ConstantOp>() : nullptr;
  bool isIdentity = constant && constant.getValue() == identityOf(*op_.getKind(), constant.getType(), b);
  return isIdentity ? Value() : op_.getInit();
}

void ScatterSorter::replaceBy(ReduceOp sum) {
  Operation *init = op_.getInit().getDefiningOp();
  op_.replaceAllUsesWith(sum.getOperation());
  op_.erase();
  if (init && init->use_empty())
    init->erase();
}

/// The row of each point above the point's number; points that count for nothing go behind the last row.
Value ScatterSorter::makeKeys() {
  return makeCompute("_points", points_, [&](Value point) {
    SmallVector<Value> indices = indicesOf(point), roots = conditionRoots(false);
    for (auto [r, s] : llvm::enumerate(op_.getSubscripts()))
      if (carriedDim_[r] < 0)
        roots.push_back(s);
    IRMapping body = cloneBody(roots, indices);
    Value counts = conditionAt(indices, body, false);
    AffineExpr row = number(0);
    SmallVector<Value> subscripts;
    for (auto [r, s] : llvm::enumerate(op_.getSubscripts())) {
      if (carriedDim_[r] >= 0)
        continue;
      AffineExpr extent = op_.getShape().getResult(r);
      row = row * extent + dim(subscripts.size());
      subscripts.push_back(body.lookupOrDefault(s));
      if (op_.getGuarded()) {
        counts = both(counts, compare(arith::CmpIPredicate::sge, subscripts.back(), index(0)));
        counts = both(counts, compare(arith::CmpIPredicate::slt, subscripts.back(), value(extent, {})));
      }
    }
    Value key = value(row, subscripts);
    if (counts)
      key = arith::SelectOp::create(b, loc(), counts, key, value(rows_, {}));
    Value high = arith::ShLIOp::create(b, loc(), toInteger(key), integer(kPointBits));
    return Value(arith::OrIOp::create(b, loc(), high, toInteger(point)));
  });
}

Value ScatterSorter::sortChunks(Value keys) {
  AffineExpr chunks = points_.ceilDiv(kChunk), first = dim(0) * kChunk + dim(1), second = dim(0) * kChunk + dim(2);
  Value rank = makeSum("_ranks", {chunks, number(kChunk), number(kChunk)}, 2, {points_ - 1 - first, points_ - 1 - second},
                       [&](ValueRange at) -> SmallVector<Value> {
                         Value own = read(keys, {at[0], at[1]}, first), other = read(keys, {at[0], at[2]}, dim(0) * kChunk + dim(1));
                         Value below = compare(arith::CmpIPredicate::slt, other, own);
                         return {arith::ExtUIOp::create(b, loc(), b.getI64Type(), below)};
                       });
  return makePermuted("_runs", {chunks, number(kChunk)}, {points_ - 1 - first}, [&](ValueRange at) -> SmallVector<Value> {
    Value place = arith::AddIOp::create(b, loc(), value(dim(0) * kChunk, at), toIndex(read(rank, at)));
    return {read(keys, at, first), place};
  });
}

Value ScatterSorter::countBelow(Value sorted, Value start, int64_t length, Value key) {
  Value count = index(0);
  for (int64_t step = int64_t(llvm::bit_floor(uint64_t(length))); step >= 1; step /= 2) {
    Value next = arith::AddIOp::create(b, called("next"), count, index(step));
    SmallVector<Value> at = {next};
    if (start)
      at.push_back(start);
    // (what lies behind the last point is above every key)
    Value last = read(sorted, at, start ? dim(0) + dim(1) - 1 : dim(0) - 1, /*padded=*/true);
    Value isBelow = compare(arith::CmpIPredicate::slt, last, key);
    if (start)
      isBelow = both(isBelow, compare(arith::CmpIPredicate::sle, next, index(length)));
    count = arith::SelectOp::create(b, called("found"), isBelow, next, count);
  }
  return count;
}

/// Runs of `length` points become runs of kFan times as many.
Value ScatterSorter::mergeRuns(Value sorted, int64_t length) {
  int64_t whole = length * kFan;
  AffineExpr group = dim(0).floorDiv(whole) * whole, run = group + dim(1) * length;
  Value place = makeSum("_places", {points_, number(kFan)}, 1, {points_ - 1 - run}, [&](ValueRange at) -> SmallVector<Value> {
    return {toInteger(countBelow(sorted, value(run, at), length, read(sorted, at[0])))};
  });
  kPointwise.putOn(place.getDefiningOp());
  return makePermuted("_runs", {points_}, {}, [&](ValueRange at) -> SmallVector<Value> {
    return {read(sorted, at), arith::AddIOp::create(b, loc(), value(group, at), toIndex(read(place, at)))};
  });
}

/// Where the points of each row begin, and where those of the last one end.
Value ScatterSorter::makeSegments(Value sorted) {
  int64_t points = knownMax(points_, facts_), most = points < 0 ? int64_t(1) << kPointBits : points;
  Value found = makeCompute("_segments", rows_ + 1, [&](Value row) {
    Value key = arith::ShLIOp::create(b, loc(), toInteger(row), integer(kPointBits));
    return toInteger(countBelow(sorted, {}, most, key));
  });
  kPointwise.putOn(found.getDefiningOp());
  return found;
}

AffineExpr ScatterSorter::rowOf() {
  AffineExpr row = number(0);
  for (unsigned r = 0; r < carriedDim_.size(); ++r)
    if (carriedDim_[r] < 0)
      row = row * op_.getShape().getResult(r) + dim(r);
  return simplifyAffineExpr(row, carriedDim_.size(), symbols_);
}

ReduceOp ScatterSorter::startSum(const Twine &name, ArrayRef<AffineExpr> lead, AffineExpr last, RankedTensorType type, IntegerSetAttr where,
                                 Value init) {
  // The result's indices, or shares and what is carried; then what is added up.
  SmallVector<AffineExpr> extents(lead);
  extents.push_back(last);
  SmallVector<std::string> names;
  bool isResult = name.str().empty();
  for (unsigned r = 0; r < carriedDim_.size(); ++r)
    if (carriedDim_[r] >= 0)
      names.push_back(cast<StringAttr>(op_.getIndices()[carriedDim_[r]]).str());
    else if (isResult)
      names.push_back("r" + std::to_string(r));
  if (!isResult)
    names.insert(names.begin(), "q");
  names.push_back("p");
  SmallVector<StringRef> indices(names.begin(), names.end());
  auto sum = ReduceOp::create(b, loc(), type, op_.getKindAttr(), b.getStrArrayAttr(indices), b.getI64IntegerAttr(lead.size()),
                              AffineMapAttr::get(over(extents)), where, init, AffineMapAttr(), AffineMapAttr(), named(name));
  kSegmented.putOn(sum);
  kOwnLaunch.putOn(sum);
  return sum;
}

std::pair<Value, Value> ScatterSorter::valueAt(Value point, ValueRange carried, bool padded) {
  SmallVector<Value> original = indicesOf(toIndex(point));
  unsigned next = 0;
  for (unsigned r = 0; r < carriedDim_.size(); ++r)
    if (carriedDim_[r] >= 0)
      original[carriedDim_[r]] = carried[next++];
  SmallVector<Value> roots = conditionRoots(true);
  roots.push_back(op_.getValue());
  IRMapping body = cloneBody(roots, original, padded);
  return {body.lookupOrDefault(op_.getValue()), conditionAt(original, body, true)};
}

/// What the first points of each kShare points add up to, those that are of the row of the first of them.
Value ScatterSorter::makeShares(Value sorted, Value segments) {
  AffineExpr shares = points_.ceilDiv(kShare);
  Value ends = makeCompute("_share_ends", shares, [&](Value share) {
    Value key = read(sorted, share, dim(0) * kShare);
    Value row = arith::ShRUIOp::create(b, loc(), key, integer(kPointBits));
    Value exists = compare(arith::CmpIPredicate::slt, row, toInteger(value(rows_, {})));
    Value known = arith::SelectOp::create(b, loc(), exists, row, integer(0));
    return Value(arith::SelectOp::create(b, loc(), exists, read(segments, toIndex(known), dim(0) + 1), integer(0)));
  });
  SmallVector<AffineExpr> lead = {shares};
  for (unsigned r = 0; r < carriedDim_.size(); ++r)
    if (carriedDim_[r] >= 0)
      lead.push_back(op_.getShape().getResult(r));
  AffineExpr p = dim(lead.size());
  auto where = setOf({p - dim(0) * kShare, dim(0) * kShare + (kShare - 1) - p}, lead.size() + 1, symbols_);
  ReduceOp sum = startSum("_shares", lead, points_, typeOf(lead, op_.getResult().getType().getElementType()), where, Value());
  fill(sum.getBody(), lead.size() + 1, [&](ValueRange at) {
    Value counts = compare(arith::CmpIPredicate::slt, at.back(), toIndex(read(ends, at[0])));
    auto [v, own] = valueAt(pointNumber(read(sorted, at.back())), at.drop_front().drop_back());
    if (!own)
      kAllExist.putOn(sum);
    YieldOp::create(b, loc(), ValueRange{v}, both(counts, own));
  });
  return sum.getResult();
}

/// For each row, behind the last of what it adds up: its points up to where the first share begins, and its shares, numbered on.
Value ScatterSorter::makeEnds(Value segments) {
  return makeCompute("_ends", rows_, [&](Value row) {
    Value begin = toIndex(read(segments, row)), end = toIndex(read(segments, row, dim(0) + 1));
    auto firstShare = [&](Value at) { return value((dim(0) + (kShare - 1)).floorDiv(kShare), at); };
    Value own = arith::MinSIOp::create(b, loc(), end, arith::MulIOp::create(b, loc(), firstShare(begin), index(kShare)));
    Value shares = arith::SubIOp::create(b, loc(), firstShare(end), firstShare(begin));
    return toInteger(arith::AddIOp::create(b, loc(), own, shares));
  });
}

void ScatterSorter::sumSegments(Value sorted, Value segments) {
  AffineMap shape = op_.getShape();
  unsigned rank = shape.getNumResults();
  ReduceOp sum = startSum("", shape.getResults(), points_, cast<RankedTensorType>(op_.getResult().getType()), IntegerSetAttr(), startOf());
  fill(sum.getBody(), rank + 1, [&](ValueRange at) {
    ValueRange out = at.take_front(rank);
    Value begin = toIndex(read(segments, out, rowOf())), end = toIndex(read(segments, out, rowOf() + 1));
    Value counts = both(compare(arith::CmpIPredicate::sge, at.back(), begin), compare(arith::CmpIPredicate::slt, at.back(), end));
    SmallVector<Value> carried;
    for (unsigned r = 0; r < rank; ++r)
      if (carriedDim_[r] >= 0)
        carried.push_back(at[r]);
    auto [v, own] = valueAt(pointNumber(read(sorted, at.back())), carried);
    if (!own)
      kAllExist.putOn(sum);
    YieldOp::create(b, loc(), ValueRange{v}, both(counts, own));
  });
  replaceBy(sum);
}

/// As sumSegments, with the shares of long rows in the place of their points.
void ScatterSorter::sumShares(Value sorted, Value segments, Value shares, Value ends) {
  AffineMap shape = op_.getShape();
  unsigned rank = shape.getNumResults();
  ReduceOp sum =
      startSum("", shape.getResults(), points_ + 1, cast<RankedTensorType>(op_.getResult().getType()), IntegerSetAttr(), startOf());
  kAllExist.putOn(sum);
  fill(sum.getBody(), rank + 1, [&](ValueRange at) {
    ValueRange out = at.take_front(rank);
    Value p = at.back(), begin = toIndex(read(segments, out, rowOf())), end = toIndex(read(segments, out, rowOf() + 1));
    Value last = toIndex(read(ends, out, rowOf()));
    Value counts = both(compare(arith::CmpIPredicate::sge, p, begin), compare(arith::CmpIPredicate::slt, p, last));
    Value share = value((dim(0) + (kShare - 1)).floorDiv(kShare), begin);
    Value border = arith::MinSIOp::create(b, loc(), end, arith::MulIOp::create(b, loc(), share, index(kShare)));
    Value isPoint = compare(arith::CmpIPredicate::slt, p, border);
    SmallVector<Value> carried,
        ofShare = {arith::SelectOp::create(b, loc(), isPoint, index(-1),
                                           arith::AddIOp::create(b, loc(), share, arith::SubIOp::create(b, loc(), p, border)))};
    for (unsigned r = 0; r < rank; ++r)
      if (carriedDim_[r] >= 0)
        carried.push_back(at[r]);
    llvm::append_range(ofShare, carried);
    Type element = cast<RankedTensorType>(shares.getType()).getElementType();
    Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(element));
    Value whole =
        ReadOp::create(b, loc(), element, shares, ofShare, AffineMapAttr(), BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
    Value known = arith::SelectOp::create(b, loc(), isPoint, p, index(0));
    Value point = arith::SelectOp::create(b, loc(), isPoint, pointNumber(read(sorted, known, dim(0), /*padded=*/true)), integer(-1));
    auto [v, own] = valueAt(point, carried, /*padded=*/true);
    if (own) { // of points alone
      Value isShare = arith::XOrIOp::create(b, loc(), isPoint, arith::ConstantIntOp::create(b, loc(), 1, 1));
      counts = both(counts, arith::OrIOp::create(b, loc(), isShare, own));
    }
    YieldOp::create(b, loc(), ValueRange{arith::SelectOp::create(b, loc(), isPoint, v, whole)}, counts);
  });
  replaceBy(sum);
}

void ScatterSorter::sortPoints() {
  Value sorted = sortChunks(makeKeys());
  int64_t points = knownMax(points_, facts_), most = points < 0 ? int64_t(1) << kPointBits : points;
  for (int64_t length = kChunk; length < most; length *= kFan)
    sorted = mergeRuns(sorted, length);
  Value segments = makeSegments(sorted);
  if (points >= 0 && points <= kFewPoints)
    return sumSegments(sorted, segments);
  Value shares = makeShares(sorted, segments);
  sumShares(sorted, segments, shares, makeEnds(segments));
}

void ScatterSorter::askAllPoints() {
  AffineMap shape = op_.getShape(), extents = op_.getExtents();
  unsigned rank = shape.getNumResults();
  SmallVector<AffineExpr> all(shape.getResults());
  SmallVector<Attribute> names;
  SmallVector<unsigned> asked; // dims of the domain that are reduced
  for (unsigned r = 0; r < rank; ++r)
    names.push_back(carriedDim_[r] < 0 ? Attribute(b.getStringAttr("r" + std::to_string(r))) : op_.getIndices()[carriedDim_[r]]);
  for (unsigned d = 0; d < extents.getNumResults(); ++d)
    if (carriedBy_[d] < 0) {
      asked.push_back(d);
      all.push_back(extents.getResult(d));
      names.push_back(op_.getIndices()[d]);
    }
  auto sum = ReduceOp::create(b, loc(), cast<RankedTensorType>(op_.getResult().getType()), op_.getKindAttr(), b.getArrayAttr(names),
                              b.getI64IntegerAttr(rank), AffineMapAttr::get(over(all)), IntegerSetAttr(), startOf(), AffineMapAttr(),
                              AffineMapAttr(), op_.getNameAttr());
  fill(sum.getBody(), all.size(), [&](ValueRange at) {
    SmallVector<Value> original(extents.getNumResults());
    for (unsigned r = 0; r < rank; ++r)
      if (carriedDim_[r] >= 0)
        original[carriedDim_[r]] = at[r];
    for (auto [n, d] : llvm::enumerate(asked))
      original[d] = at[rank + n];
    SmallVector<Value> roots = llvm::to_vector_of<Value>(op_.getYield().getValues());
    llvm::append_range(roots, conditionRoots(true));
    llvm::append_range(roots, conditionRoots(false));
    IRMapping body = cloneBody(roots, original);
    Value counts = both(conditionAt(original, body, true), conditionAt(original, body, false));
    for (auto [r, s] : llvm::enumerate(op_.getSubscripts()))
      if (carriedDim_[r] < 0)
        counts = both(counts, compare(arith::CmpIPredicate::eq, body.lookupOrDefault(s), at[r]));
    YieldOp::create(b, loc(), ValueRange{body.lookupOrDefault(op_.getValue())}, counts);
  });
  replaceBy(sum);
}

struct TeSortScattersPass : impl::TeSortScattersBase<TeSortScattersPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    SmallVector<int64_t> div(sizeDiv.begin(), sizeDiv.end()), max(sizeMax.begin(), sizeMax.end());
    div.resize(kernel.getNumSizes(), 1);
    max.resize(kernel.getNumSizes(), -1);
    for (ScatterOp op : llvm::to_vector(kernel.getBlock().getOps<ScatterOp>())) {
      if (!op.hasOrder() || op.getAnyOrder())
        continue;
      ScatterSorter sorter(op, {div, max});
      if (sorter.hasFewRows()) {
        sorter.askAllPoints();
      } else if (!fewRows) {
        if (failed(sorter.checkSizes()))
          return signalPassFailure();
        sorter.sortPoints();
      }
    }
  }
};

} // namespace
} // namespace kernelc
