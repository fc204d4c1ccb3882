// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-split-scan: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Marks.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"
#include "passes/plan/LongScans.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Rewrite.h"
#include "passes/te/Digits.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESPLITSCAN
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Writes a scan as the scans of its chunks.
class ChunkedScan {
public:
  ChunkedScan(Operation *r, const Scan &scan, int64_t chunk, bool isWhole)
      : r_(r), fold_(dyn_cast<FoldOp>(r)), extents_(getExtents(r)), scan_(scan), chunk_(chunk), b_(r), loc_(r->getLoc()),
        symbols_(extents_.getNumSymbols()) {
    AffineExpr length = extents_.getResult(scan.along), c = b_.getAffineConstantExpr(chunk);
    chunks_ = isWhole ? length.floorDiv(c) : length.ceilDiv(c);
    endsEarly_ = !isWhole;
  }

  /// What run() makes.
  RewriteSketch sketch() {
    RewriteSketch s;
    const StatementSketch own = s.sketchOf(r_);
    AffineExpr c = b_.getAffineConstantExpr(chunk_);
    auto mapOf = [&](const Domain &d) { return AffineMap::get(0, symbols_, d.extents, b_.getContext()); };
    auto statesOf = [&](AffineMap shape) {
      return llvm::map_to_vector(stateTypes(r_), [&](Type element) { return TensorSketch{shape, element}; });
    };
    AffineMap whole = mapOf(domain({{"_at", c}}));
    SmallVector<TensorSketch> totals = statesOf(mapOf(domain({}))), within = statesOf(whole);
    s.make({own.kind, mapOf(domain({{"_low", c}})), parallel(), own.loads, totals});
    SmallVector<TensorSketch> combining = fold_ ? s.loadsIn({&fold_.getCombine()}) : SmallVector<TensorSketch>(), ofTotals(combining);
    ofTotals.append(totals);
    s.make({own.kind, mapOf(domain({{"_before", chunks_}})), parallel(), ofTotals, totals});
    s.make({own.kind, mapOf(domain({{"_at", c}, {"_low", c}})), parallel() + 1, own.loads, within});
    s.drop(r_);
    SmallVector<TensorSketch> both(combining);
    both.append(totals);
    both.append(within);
    if (ReadOp read = findOnlyRead()) {
      s.replace(r_->getResult(0), both);
      sketchSplitParallelDim(s, read->getParentOp(), cutOf(read), digits());
      return s;
    }
    for (const TensorSketch &result : own.stores)
      s.make({ComputeOp::getOperationName(), whole, parallel() + 1, both, {result}});
    return s;
  }

  /// Returns the scan of the chunks' totals, which may be long itself.
  Operation *run() {
    Operation *totals = makeTotals(), *before = makeBefore(totals), *within = makeWithin();
    if (ReadOp read = findOnlyRead())
      joinReader(read, before, within);
    else
      for (Value result : r_->getResults())
        result.replaceAllUsesWith(makeWhole(cast<OpResult>(result), before, within).getResult());
    r_->erase();
    return before;
  }

private:
  unsigned parallel() const { return scan_.reduced; }
  StringAttr name() { return r_->getAttrOfType<StringAttr>("name"); }
  StringAttr nameWith(StringRef suffix) { return name() ? b_.getStringAttr(name().getValue() + suffix) : StringAttr(); }
  StringRef along() { return cast<StringAttr>(getIndices(r_)[scan_.along]).getValue(); }
  Block &body() { return r_->getRegion(0).front(); }

  /// The read of the results by a pointwise statement that takes each at its own point, where nothing else reads them.
  ReadOp findOnlyRead() {
    bool isOnly = r_->getNumResults() == 1 && r_->getResult(0).hasOneUse();
    auto read = isOnly ? dyn_cast<ReadOp>(*r_->getResult(0).user_begin()) : ReadOp();
    auto reader = read ? dyn_cast<ComputeOp>(read->getParentOp()) : ComputeOp();
    if (!reader || read.getBounds() != BoundsMode::InBounds || !read.getMapOrIdentity().isIdentity() || reader.getInit() ||
        reader.getNumDims() != parallel())
      return {};
    llvm::BitVector seen(parallel());
    for (auto [p, v] : llvm::enumerate(read.getOperands_())) {
      std::optional<unsigned> d = findIndex(reader, v);
      if (!d || seen[*d] || reader.getExtents().getResult(*d) != extents_.getResult(p))
        return {};
      seen.set(*d);
    }
    return canSplitParallelDim(reader, *findIndex(reader, read.getOperands_()[scan_.along]), endsEarly_) ? read : ReadOp();
  }

  /// The dim of the statement that reads the results which is cut with them.
  unsigned cutOf(ReadOp read) { return *findIndex(read->getParentOp(), read.getOperands_()[scan_.along]); }
  Digits digits() { return {b_.getAffineConstantExpr(chunk_), chunks_, "_chunk", "_at", endsEarly_}; }

  /// Cuts the statement that reads the results into the same chunks, so that it goes on from both parts itself.
  void joinReader(ReadOp read, Operation *before, Operation *within) {
    auto reader = cast<ComputeOp>(read->getParentOp());
    SmallVector<unsigned> dims = llvm::map_to_vector(read.getOperands_(), [&](Value v) { return *findIndex(reader, v); });
    unsigned cut = cutOf(read);
    Operation *made = splitParallelDim(reader, cut, digits());
    SmallVector<ReadOp> reads;
    made->walk([&](ReadOp own) {
      if (own.getTensor() == r_->getResult(0))
        reads.push_back(own);
    });
    Block &block = made->getRegion(0).front();
    SmallVector<Value> point = llvm::map_to_vector(dims, [&](unsigned d) -> Value { return block.getArgument(d > cut ? d + 1 : d); });
    for (ReadOp own : reads) {
      OpBuilder inside(own);
      SmallVector<Value> e = this->read(inside, before, point);
      point.push_back(block.getArgument(cut + 1));
      SmallVector<Value> s = this->read(inside, within, point);
      point.pop_back();
      own.replaceAllUsesWith(combined(e, s, 0, inside));
      own.erase();
    }
  }

  /// A domain: names and extents of the results' dims with the chunk's number at the scanned one's place, and `extra` behind.
  struct Domain {
    SmallVector<Attribute> names;
    SmallVector<AffineExpr> extents, constraints;
    SmallVector<bool> equalities;
  };
  Domain domain(ArrayRef<std::pair<StringRef, AffineExpr>> extra) {
    Domain d;
    for (unsigned p = 0; p < parallel(); ++p) {
      d.names.push_back(p == scan_.along ? b_.getStringAttr(along() + "_chunk") : getIndices(r_)[p]);
      d.extents.push_back(p == scan_.along ? chunks_ : extents_.getResult(p));
    }
    for (auto [suffix, extent] : extra) {
      d.names.push_back(b_.getStringAttr(along() + suffix));
      d.extents.push_back(extent);
    }
    return d;
  }
  void require(Domain &d, AffineExpr e, bool isEquality = false) {
    d.constraints.push_back(simplifyAffineExpr(e, d.names.size(), symbols_));
    d.equalities.push_back(isEquality);
  }
  AffineExpr dim(unsigned d) { return b_.getAffineDimExpr(d); }
  /// The element that `low` is in the chunk.
  AffineExpr element(unsigned low) { return dim(scan_.along) * chunk_ + dim(low); }
  /// What is asked of terms, of term element(low).
  void requireTerm(Domain &d, unsigned low) {
    SmallVector<AffineExpr> moved;
    for (unsigned p = 0; p < parallel(); ++p)
      moved.push_back(dim(p));
    moved.push_back(element(low));
    for (unsigned c : scan_.where)
      require(d, getCondition(r_)->getConstraint(c).replaceDims(moved), getCondition(r_)->isEq(c));
    if (endsEarly_)
      require(d, extents_.getResult(scan_.along) - 1 - element(low));
  }
  void requireOrder(Domain &d, unsigned j, unsigned k, bool exclusive) {
    require(d, (scan_.reverse ? dim(k) - dim(j) : dim(j) - dim(k)) - (exclusive ? 1 : 0));
  }

  /// A reduction as the scan's own over `d`, of which the first `results` dims are those of the results: of a fold all components.
  Operation *makeReduce(const Domain &d, unsigned results, StringAttr name) {
    IntegerSetAttr where;
    if (!d.constraints.empty())
      where = IntegerSetAttr::get(IntegerSet::get(d.names.size(), symbols_, d.constraints, d.equalities));
    auto tensorOf = [&](Type element) -> Type {
      return RankedTensorType::get(SmallVector<int64_t>(results, ShapedType::kDynamic), element);
    };
    AffineMap extents = AffineMap::get(0, symbols_, d.extents, b_.getContext());
    if (!fold_) {
      auto op = ReduceOp::create(b_, loc_, tensorOf(elementType()), cast<ReduceOp>(r_).getKind(), b_.getArrayAttr(d.names), results,
                                 extents, where, Value(), AffineMapAttr(), AffineMapAttr(), name);
      addArguments(op.getBody(), d);
      return op;
    }
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, fold_.getNumComponents()));
    SmallVector<Type> types = llvm::map_to_vector(all, [&](int64_t k) { return tensorOf(fold_.getComponentType(unsigned(k))); });
    auto op = FoldOp::create(b_, loc_, types, b_.getArrayAttr(d.names), results, extents, where, fold_.getIdentity(), all, true,
                             fold_.getCommutative(), false, name);
    addArguments(op.getElement(), d);
    IRMapping mapping;
    fold_.getCombine().cloneInto(&op.getCombine(), mapping);
    return op;
  }
  void addArguments(Region &region, const Domain &d) {
    Block &block = region.emplaceBlock();
    for (size_t i = 0; i < d.names.size(); ++i)
      block.addArgument(b_.getIndexType(), loc_);
  }
  Type elementType() { return cast<RankedTensorType>(r_->getResult(0).getType()).getElementType(); }

  /// The terms of `r_`, of element(low).
  void cloneTerms(Block &block, unsigned low) {
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    IRMapping mapping;
    for (unsigned p = 0; p < parallel(); ++p)
      mapping.map(body().getArgument(p), block.getArgument(p));
    Value first = arith::MulIOp::create(inside, loc_, block.getArgument(scan_.along), arith::ConstantIndexOp::create(inside, loc_, chunk_));
    mapping.map(body().getArgument(scan_.reduced), arith::AddIOp::create(inside, loc_, first, block.getArgument(low)));
    for (Operation &op : body())
      inside.clone(op, mapping);
  }
  /// All that `op` has at a point.
  SmallVector<Value> read(OpBuilder &b, Operation *op, ArrayRef<Value> point) {
    return llvm::map_to_vector(op->getResults(), [&](Value tensor) -> Value {
      return ReadOp::create(b, loc_, cast<RankedTensorType>(tensor.getType()).getElementType(), tensor, point, AffineMapAttr(),
                            BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    });
  }
  /// What result `number` is of the chunks before, in the scan's order, and the chunk's own.
  Value combined(ValueRange before, ValueRange own, unsigned number, OpBuilder &b) {
    if (!fold_)
      return combine(cast<ReduceOp>(r_).getKind(), before[0], own[0], b, loc_);
    IRMapping mapping;
    Block &combine = fold_.getCombine().front();
    unsigned n = fold_.getNumComponents();
    for (unsigned k = 0; k < n; ++k) { // from the end those before stand behind
      mapping.map(combine.getArgument(scan_.reverse ? n + k : k), before[k]);
      mapping.map(combine.getArgument(scan_.reverse ? k : n + k), own[k]);
    }
    for (Operation &op : combine.without_terminator()) // of chunks, which are many steps
      kOfManySteps.removeFrom(b.clone(op, mapping));
    return mapping.lookupOrDefault(fold_.getCombined().getValues()[size_t(fold_.getFields()[number])]);
  }

  /// t[p, q] = ⊕_r f(p, q·C + r)
  Operation *makeTotals() {
    Domain d = domain({{"_low", b_.getAffineConstantExpr(chunk_)}});
    requireTerm(d, parallel());
    Operation *op = makeReduce(d, parallel(), nameWith("_totals"));
    cloneTerms(op->getRegion(0).front(), parallel());
    return op;
  }
  /// e[p, q] = ⊕_{q' < q} t[p, q']
  Operation *makeBefore(Operation *totals) {
    Domain d = domain({{"_before", chunks_}});
    requireOrder(d, scan_.along, parallel(), /*exclusive=*/true);
    Operation *op = makeReduce(d, parallel(), nameWith("_before"));
    Block &block = op->getRegion(0).front();
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    SmallVector<Value> point(block.getArguments().take_front(parallel()));
    point[scan_.along] = block.getArgument(parallel());
    YieldOp::create(inside, loc_, read(inside, totals, point), Value());
    return op;
  }
  /// s[p, q, r] = ⊕_{r' <= r} f(p, q·C + r')
  Operation *makeWithin() {
    AffineExpr c = b_.getAffineConstantExpr(chunk_);
    Domain d = domain({{"_at", c}, {"_low", c}});
    requireOrder(d, parallel(), parallel() + 1, scan_.exclusive);
    requireTerm(d, parallel() + 1);
    Operation *op = makeReduce(d, parallel() + 1, nameWith("_within"));
    cloneTerms(op->getRegion(0).front(), parallel() + 1);
    return op;
  }
  /// y[p, q·C + r] = e[p, q] ⊕ s[p, q, r]
  ComputeOp makeWhole(OpResult result, Operation *before, Operation *within) {
    Domain d = domain({{"_at", b_.getAffineConstantExpr(chunk_)}});
    if (endsEarly_)
      require(d, extents_.getResult(scan_.along) - 1 - element(parallel()));
    IntegerSetAttr where;
    if (!d.constraints.empty())
      where = IntegerSetAttr::get(IntegerSet::get(d.names.size(), symbols_, d.constraints, d.equalities));
    SmallVector<AffineExpr> to;
    for (unsigned p = 0; p < parallel(); ++p)
      to.push_back(p == scan_.along ? element(parallel()) : dim(p));
    AffineMap out = AffineMap::get(d.names.size(), symbols_, to, b_.getContext());
    auto op =
        ComputeOp::create(b_, loc_, result.getType(), b_.getArrayAttr(d.names), AffineMap::get(0, symbols_, d.extents, b_.getContext()),
                          where, Value(), AffineMapAttr::get(out), AffineMapAttr::get(getTensorShape(result)), name(), false);
    addArguments(op.getBody(), d);
    OpBuilder inside = OpBuilder::atBlockEnd(&op.getBlock());
    SmallVector<Value> point(op.getBlock().getArguments());
    SmallVector<Value> e = read(inside, before, ArrayRef<Value>(point).drop_back()), s = read(inside, within, point);
    YieldOp::create(inside, loc_, combined(e, s, result.getResultNumber(), inside), Value());
    return op;
  }

  Operation *r_;
  FoldOp fold_; ///< null: a named reduction
  AffineMap extents_;
  Scan scan_;
  int64_t chunk_;
  OpBuilder b_;
  Location loc_;
  unsigned symbols_;
  AffineExpr chunks_;
  bool endsEarly_;
};

class ScanSplitter {
public:
  ScanSplitter(KernelOp kernel, const KnownTarget &known)
      : kernel_(kernel), target_(*known.target), facts_(known.facts()), expected_(known.expected()) {}

  /// What a scan's chunks come to is a scan, too, which may be long itself: it is cut before others are looked at.
  LogicalResult run() {
    for (Operation &op : kernel_.getBlock())
      if (isa<ReduceOp, FoldOp>(op))
        work_.push_back({&op, true});
    while (!work_.empty()) {
      auto [op, isWritten] = work_.pop_back_val();
      isWritten_ = isWritten;
      if (failed(rewriteAt(kernel_, op, *this)))
        return failure();
    }
    return success();
  }

  struct Site {
    Operation *op;
    Scan scan;
    int64_t chunk;
    bool isWhole; ///< the last chunk is as long as the others
  };
  StringRef name() const { return "te-split-scan"; }

  FailureOr<std::optional<Site>> find(Operation *op) {
    std::optional<Scan> scan = findScanOf(op);
    int64_t chunk = scan ? chunkOf(op, *scan, expected_, target_) : 0;
    if (!chunk || looksBack(op, *scan, expected_, target_))
      return std::optional<Site>();
    return std::optional(Site{op, *scan, chunk, knownDivisor(getExtents(op).getResult(scan->along), facts_) % chunk == 0});
  }

  RewriteSketch sketch(const Site &site) const { return ChunkedScan(site.op, site.scan, site.chunk, site.isWhole).sketch(); }

  void apply(const Site &site) {
    if (isWritten_)
      emitRemark(site.op->getLoc())
          << "this scan has parts of " << site.chunk
          << " points: what is scanned is read twice, first for what each part comes to (lanes lie across the scan)";
    work_.push_back({ChunkedScan(site.op, site.scan, site.chunk, site.isWhole).run(), false});
  }

private:
  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_, expected_;                     ///< `expected_`: what decides, where sizes are likely
  SmallVector<std::pair<Operation *, bool>> work_; ///< and whether the program has written it
  bool isWritten_ = false;                         ///< what is looked at
};

struct TeSplitScanPass : impl::TeSplitScanBase<TeSplitScanPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax, sizeLike);
    if (failed(known) || failed(ScanSplitter(getOperation(), *known).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
