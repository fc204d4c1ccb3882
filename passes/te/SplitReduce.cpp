// te-split-reduce: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/te/Affine.h"
#include "passes/te/Cascade.h"
#include "passes/te/Contraction.h"
#include "passes/te/PlanAttr.h"
#include "passes/te/Schedule.h"
#include "passes/te/Sharing.h"
#include "support/Target.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESPLITREDUCE
#include "passes/Passes.h.inc"

using namespace te;

namespace {

class Splitter {
public:
  Splitter(KernelOp kernel, const Target &target, const SizeFacts &facts, const KernelSchedule &schedule)
      : kernel_(kernel), target_(target), facts_(facts), schedule_(schedule) {}

  /// Fails with a diagnostic where a reduction cannot be cut as the schedule says.
  LogicalResult run() {
    for (Operation &op : llvm::make_early_inc_range(kernel_.getBlock())) {
      if (!isa<ReduceOp, CascadeOp>(op))
        continue;
      FailureOr<int64_t> chosen = chunkFor(&op);
      if (failed(chosen))
        return failure();
      auto r = dyn_cast<ReduceOp>(op);
      int64_t chunk = *chosen;
      if (!chunk)
        continue;
      if (r && !r.isArg())
        split(r, chunk);
      else if (CascadeOp cascade = r ? convertArgReduction(r) : cast<CascadeOp>(op))
        splitCascade(cascade, chunk);
    }
    return success();
  }

private:
  /// How many elements of the first reduced index one block should take; 0: leave alone.
  FailureOr<int64_t> chunkFor(Operation *op) {
    if (auto r = dyn_cast<ReduceOp>(op))
      if (r.getInit() || r.getOutMap() || (r.isArg() && (r.getCondition() || r.getYield().getCondition())))
        return 0; // (an arg reduction over no point has no position to merge)
    AffineMap extents = getExtents(op);
    unsigned parallel = getNumParallel(op);
    if (parallel == extents.getNumResults())
      return 0;
    int64_t points = 1;
    for (unsigned d = 0; d < parallel; ++d) {
      int64_t m = knownMax(extents.getResult(d), facts_);
      if (m < 0)
        return 0; // plenty of blocks, for all we know
      points *= m;
    }
    int64_t length = knownMax(extents.getResult(parallel), facts_);
    if (length < 0)
      return 0;
    int64_t divisor = knownDivisor(extents.getResult(parallel), facts_);
    auto r = dyn_cast<ReduceOp>(op);
    std::optional<Contraction> product = r ? findContraction(r) : std::nullopt;
    if (schedule_.parts == 1 || (product && (r.getCondition() || r.getYield().getCondition())))
      return 0;
    if (schedule_.parts) {
      int64_t chunk = length / schedule_.parts;
      if (!chunk || length % schedule_.parts || divisor % chunk)
        return op->emitError() << "schedule: a reduction over " << length << " points cannot be cut into " << schedule_.parts
                               << " equal parts";
      return chunk;
    }
    if (product)
      return chunkOfProduct(r, *product, length, divisor);
    // A block takes a warp's width of neighbouring results, or one result.
    int64_t perBlock = isContiguousInResult(op) ? 128 : 1;
    int64_t blocks = std::max<int64_t>(1, points / perBlock), wanted = 8 * int64_t(target_.smCount);
    if (blocks * 2 > wanted || !isWorthSharing(points, length))
      return 0;
    // The blocks of a cluster could merge, without a second launch: where a schedule says so, or where no chunk divides
    // the sum (te-plan). A second launch that overlaps with the first is faster (docs/performance.md).
    if (target_.cluster > 1 && schedule_.merge == Merge::Cluster && standsAlone(op))
      return 0;
    int64_t chunk = std::max<int64_t>(64, llvm::bit_floor(uint64_t(std::max<int64_t>(1, length * blocks / wanted))));
    while (chunk > 1 && divisor % chunk)
      chunk /= 2;
    return chunk >= 16 && chunk * 2 <= length ? chunk : 0;
  }

  /// A product with few results and a long sum: as many parts as multiprocessors have
  /// tiles of 64 x 128 to spare (of larger ones there would be more sums to write and to add).
  int64_t chunkOfProduct(ReduceOp reduce, const Contraction &c, int64_t length, int64_t divisor) {
    constexpr int64_t kRows = 64, kColumns = 128, kLeast = 1024; // a shorter sum is over before a second launch starts
    auto tilesOf = [&](ArrayRef<unsigned> dims, int64_t tile) {
      int64_t extent = 1;
      for (unsigned d : dims)
        extent *= std::max<int64_t>(1, knownMax(reduce.getExtents().getResult(d), facts_));
      return llvm::divideCeil(extent, tile);
    };
    int64_t tiles = tilesOf(c.batch, 1) * std::min(tilesOf(c.m, kRows) * tilesOf(c.n, kColumns), tilesOf(c.m, kColumns) * tilesOf(c.n, kRows));
    int64_t parts = int64_t(target_.smCount) / tiles;
    // Two or three parts do not pay for the second launch: few rows are bound by the other
    // operand's bytes, which half of the multiprocessors fetch as fast.
    if (parts < 4)
      return 0;
    int64_t chunk = std::max<int64_t>(kLeast, llvm::PowerOf2Ceil(llvm::divideCeil(length, parts)));
    return divisor % chunk == 0 && chunk * 2 <= length ? chunk : 0;
  }

  /// Whether neighbouring results read neighbouring memory.
  bool isContiguousInResult(Operation *op) {
    bool contiguous = false;
    unsigned parallel = getNumParallel(op);
    op->walk([&](ReadOp read) {
      AffineMap map = read.getMapOrIdentity();
      bool reduced = llvm::any_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
        std::optional<unsigned> d = findIndex(op, operand.value());
        return d && *d >= parallel && map.isFunctionOfDim(operand.index());
      });
      if (map.getNumResults() == 0 || !reduced)
        return; // read once per result, not once per element
      for (auto [i, v] : llvm::enumerate(read.getOperands_())) {
        if (findIndex(op, v).value_or(parallel) < parallel && linearCoefficient(map.getResults().back(), i) == 1)
          contiguous = true;
      }
    });
    return contiguous;
  }

  /// ⊕_{k < K} f(p, k)  =  ⊕_{q < K/C} ⊕_{k' < C} f(p, q·C + k')
  void split(ReduceOp r, int64_t chunk) {
    OpBuilder b(r);
    Location loc = r.getLoc();
    unsigned parallel = r.getNumParallel();
    AffineMap extents = r.getExtents();
    AffineExpr count = extents.getResult(parallel).floorDiv(chunk);
    auto name = [&](unsigned d) { return cast<StringAttr>(r.getIndices()[d]).getValue(); };
    std::string part = (name(parallel) + "_part").str();

    SmallVector<StringRef> names;
    SmallVector<AffineExpr> ext;
    for (unsigned d = 0; d < parallel; ++d) {
      names.push_back(name(d));
      ext.push_back(extents.getResult(d));
    }
    SmallVector<StringRef> outerNames = names;
    SmallVector<AffineExpr> outerExtents = ext;
    outerNames.push_back(part);
    outerExtents.push_back(count);
    // Parts of a product are a batch: rows and columns stay the fastest.
    unsigned at = findContraction(r) ? 0 : parallel;
    names.insert(names.begin() + at, part);
    ext.insert(ext.begin() + at, count);
    names.push_back(name(parallel));
    ext.push_back(b.getAffineConstantExpr(chunk));
    for (unsigned d = parallel + 1; d < r.getNumDims(); ++d) {
      names.push_back(name(d));
      ext.push_back(extents.getResult(d));
    }
    auto mapOf = [&](ArrayRef<AffineExpr> e) { return AffineMap::get(0, extents.getNumSymbols(), e, b.getContext()); };
    Type element = r.getResult().getType().getElementType();
    auto tensor = [&](unsigned rank) { return RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), element); };
    StringAttr partName = r.getNameAttr() ? b.getStringAttr(r.getNameAttr().getValue() + "_part") : StringAttr();
    auto make = [&](RankedTensorType type, ArrayRef<StringRef> indices, unsigned kept, AffineMap e, StringAttr n,
                    IntegerSetAttr where = {}) {
      auto op = ReduceOp::create(b, loc, type, r.getKind(), b.getStrArrayAttr(indices), kept, e, where, Value(),
                                 AffineMapAttr(), AffineMapAttr(), n);
      Block &block = op.getBody().emplaceBlock();
      for (size_t i = 0; i < indices.size(); ++i)
        block.addArgument(b.getIndexType(), loc);
      return op;
    };

    ReduceOp inner = make(tensor(parallel + 1), names, parallel + 1, mapOf(ext), partName, splitCondition(r, chunk));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&inner.getBlock());
      auto args = inner.getBlock().getArguments();
      IRMapping mapping;
      for (unsigned d = 0; d < parallel; ++d)
        mapping.map(r.getBlock().getArgument(d), args[d < at ? d : d + 1]);
      Value start = arith::MulIOp::create(b, loc, args[at], arith::ConstantIndexOp::create(b, loc, chunk));
      mapping.map(r.getBlock().getArgument(parallel), arith::AddIOp::create(b, loc, start, args[parallel + 1]));
      for (unsigned d = parallel + 1; d < r.getNumDims(); ++d)
        mapping.map(r.getBlock().getArgument(d), args[d + 1]);
      for (Operation &op : r.getBlock())
        b.clone(op, mapping);
    }
    ReduceOp outer = make(tensor(parallel), outerNames, parallel, mapOf(outerExtents), r.getNameAttr());
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&outer.getBlock());
      SmallVector<Value> point(outer.getBlock().getArguments().begin(), outer.getBlock().getArguments().end());
      std::rotate(point.begin() + at, point.end() - 1, point.end()); // the part's place
      Value v = ReadOp::create(b, loc, element, inner.getResult(), point, AffineMapAttr(), BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
      YieldOp::create(b, loc, v, Value());
    }
    Value result = outer.getResult();
    result.setType(r.getResult().getType());
    r.replaceAllUsesWith(outer.getResult());
    r.erase();
  }

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
  KernelSchedule schedule_;
};

struct TeSplitReducePass : impl::TeSplitReduceBase<TeSplitReducePass> {
  using Base::Base;
  void runOnOperation() override {
    const Target *found = findTarget(absl::string_view(target.data(), target.size()));
    if (!found) {
      getOperation().emitError() << "unknown target '" << target << "'";
      return signalPassFailure();
    }
    SmallVector<int64_t> div(sizeDiv.begin(), sizeDiv.end()), max(sizeMax.begin(), sizeMax.end());
    if (failed(checkSizeFacts(getOperation(), div, max)))
      return signalPassFailure();
    FailureOr<KernelSchedule> schedule = getKernelSchedule(getOperation(), target);
    if (failed(schedule))
      return signalPassFailure();
    if (failed(Splitter(getOperation(), *found, {div, max}, *schedule).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
