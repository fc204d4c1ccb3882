// te-split-reduce: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/te/Affine.h"
#include "passes/te/Contraction.h"
#include "support/Target.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESPLITREDUCE
#include "passes/Passes.h.inc"

using namespace te;

namespace {

class Splitter {
public:
  Splitter(KernelOp kernel, const Target &target, const SizeFacts &facts) : kernel_(kernel), target_(target), facts_(facts) {}

  void run() {
    SmallVector<ReduceOp> reduces(kernel_.getBlock().getOps<ReduceOp>());
    for (ReduceOp r : reduces)
      if (int64_t chunk = chunkFor(r))
        split(r, chunk);
  }

private:
  /// How many elements of the first reduced index one block should take; 0: leave alone.
  int64_t chunkFor(ReduceOp r) {
    if (r.getInit() || r.getOutMap() || r.isArg() ||
        r.getNumParallel() == r.getNumDims() || findContraction(r))
      return 0;
    AffineMap extents = r.getExtents();
    int64_t points = 1;
    for (unsigned d = 0; d < r.getNumParallel(); ++d) {
      int64_t m = knownMax(extents.getResult(d), facts_);
      if (m < 0)
        return 0; // plenty of blocks, for all we know
      points *= m;
    }
    int64_t length = knownMax(extents.getResult(r.getNumParallel()), facts_);
    if (length < 0)
      return 0;
    // A block takes a warp's width of neighbouring results, or one result.
    int64_t perBlock = isContiguousInResult(r) ? 128 : 1;
    int64_t blocks = std::max<int64_t>(1, points / perBlock), wanted = 8 * int64_t(target_.smCount);
    // Less is over before a second launch starts.
    constexpr int64_t kWorthLength = 512, kWorthElements = int64_t(1) << 22;
    if (blocks * 2 > wanted || length < kWorthLength || points * length < kWorthElements)
      return 0;
    int64_t divisor = knownDivisor(extents.getResult(r.getNumParallel()), facts_);
    int64_t chunk = std::max<int64_t>(64, llvm::bit_floor(uint64_t(std::max<int64_t>(1, length * blocks / wanted))));
    while (chunk > 1 && divisor % chunk)
      chunk /= 2;
    return chunk >= 16 && chunk * 2 <= length ? chunk : 0;
  }

  /// Whether neighbouring results read neighbouring memory.
  bool isContiguousInResult(ReduceOp r) {
    bool contiguous = false;
    r.walk([&](ReadOp read) {
      AffineMap map = read.getMapOrIdentity();
      bool reduced = llvm::any_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
        auto arg = dyn_cast<BlockArgument>(operand.value());
        return arg && arg.getArgNumber() >= r.getNumParallel() && map.isFunctionOfDim(operand.index());
      });
      if (map.getNumResults() == 0 || !reduced)
        return; // read once per result, not once per element
      for (auto [i, v] : llvm::enumerate(read.getOperands_())) {
        auto arg = dyn_cast<BlockArgument>(v);
        if (arg && arg.getArgNumber() < r.getNumParallel() && linearCoefficient(map.getResults().back(), i) == 1)
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
    for (auto *list : {&names, &outerNames})
      list->push_back(part);
    for (auto *list : {&ext, &outerExtents})
      list->push_back(count);
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
        mapping.map(r.getBlock().getArgument(d), args[d]);
      Value start = arith::MulIOp::create(b, loc, args[parallel], arith::ConstantIndexOp::create(b, loc, chunk));
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
      Value v = ReadOp::create(b, loc, element, inner.getResult(), llvm::to_vector_of<Value>(outer.getBlock().getArguments()),
                               AffineMapAttr(), BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
      YieldOp::create(b, loc, v, Value());
    }
    Value result = outer.getResult();
    result.setType(r.getResult().getType());
    r.replaceAllUsesWith(outer.getResult());
    r.erase();
  }

  /// The condition over the dims of the partial reduction.
  IntegerSetAttr splitCondition(ReduceOp r, int64_t chunk) {
    std::optional<IntegerSet> set = r.getCondition();
    if (!set)
      return {};
    MLIRContext *c = r.getContext();
    unsigned parallel = r.getNumParallel(), dims = r.getNumDims();
    SmallVector<AffineExpr> toPart, constraints;
    for (unsigned d = 0; d < dims; ++d) {
      AffineExpr self = getAffineDimExpr(d < parallel ? d : d + 1, c);
      toPart.push_back(d == parallel ? getAffineDimExpr(d, c) * chunk + self : self);
    }
    for (AffineExpr e : set->getConstraints())
      constraints.push_back(simplifyAffineExpr(e.replaceDims(toPart), dims + 1, set->getNumSymbols()));
    return IntegerSetAttr::get(IntegerSet::get(dims + 1, set->getNumSymbols(), constraints, set->getEqFlags()));
  }

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
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
    Splitter(getOperation(), *found, {div, max}).run();
  }
};

} // namespace
} // namespace kernelc
