// te-split: see Passes.td.
#include "passes/Passes.h"

#include <numeric>

#include "mlir/IR/IRMapping.h"
#include "passes/te/Affine.h"
#include "passes/te/PlanAttr.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESPLIT
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// How an expression uses one dim.
struct DigitUse {
  int64_t smallest = 0; ///< the smallest constant c of `d floordiv c` and `d mod c`; 0: none
  bool plain = false;   ///< d stands somewhere else
  bool chain = true;    ///< every such constant is a multiple of the smallest
};

std::optional<int64_t> digitConstant(AffineExpr e, unsigned dim) {
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin || (e.getKind() != AffineExprKind::FloorDiv && e.getKind() != AffineExprKind::Mod))
    return std::nullopt;
  auto d = dyn_cast<AffineDimExpr>(bin.getLHS());
  auto c = dyn_cast<AffineConstantExpr>(bin.getRHS());
  if (!d || d.getPosition() != dim || !c || c.getValue() < 2)
    return std::nullopt;
  return c.getValue();
}

void noteUse(AffineExpr e, unsigned dim, DigitUse &use) {
  if (!e.isFunctionOfDim(dim))
    return;
  if (std::optional<int64_t> c = digitConstant(e, dim)) {
    int64_t before = use.smallest;
    use.smallest = before ? std::min(before, *c) : *c;
    use.chain &= before == 0 || std::max(before, *c) % use.smallest == 0;
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

/// `e` with dim = high * c + low, for 0 <= low < c.
AffineExpr splitDim(AffineExpr e, unsigned dim, AffineExpr high, AffineExpr low, int64_t c) {
  if (!e.isFunctionOfDim(dim))
    return e;
  if (isa<AffineDimExpr>(e))
    return high * c + low;
  auto bin = cast<AffineBinaryOpExpr>(e);
  if (std::optional<int64_t> k = digitConstant(e, dim); k && *k % c == 0) {
    if (e.getKind() == AffineExprKind::FloorDiv)
      return high.floorDiv(*k / c);
    return (high % (*k / c)) * c + low;
  }
  AffineExpr x = splitDim(bin.getLHS(), dim, high, low, c), y = splitDim(bin.getRHS(), dim, high, low, c);
  return getAffineBinaryOpExpr(e.getKind(), x, y);
}

class DigitSplitter {
public:
  DigitSplitter(KernelOp kernel, ArrayRef<int64_t> sizeDiv) : kernel_(kernel) {
    divisors_.assign(kernel.getNumSizes(), 1);
    for (auto [i, d] : llvm::enumerate(sizeDiv.take_front(divisors_.size())))
      divisors_[i] = d;
    // require N % 64 == 0
    for (Attribute a : kernel.getRequirements()) {
      IntegerSet set = cast<IntegerSetAttr>(a).getValue();
      for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
        auto mod = dyn_cast<AffineBinaryOpExpr>(set.getConstraint(i));
        if (!set.isEq(i) || !mod || mod.getKind() != AffineExprKind::Mod)
          continue;
        auto size = dyn_cast<AffineSymbolExpr>(mod.getLHS());
        auto c = dyn_cast<AffineConstantExpr>(mod.getRHS());
        if (size && c && c.getValue() > 0)
          divisors_[size.getPosition()] = std::lcm(divisors_[size.getPosition()], c.getValue());
      }
    }
  }

  void run() {
    SmallVector<ReduceOp> work(kernel_.getBlock().getOps<ReduceOp>());
    while (!work.empty()) {
      ReduceOp r = work.pop_back_val();
      for (unsigned d = r.getNumParallel(); d < r.getNumDims(); ++d)
        if (int64_t c = digitOf(r, d)) {
          work.push_back(split(r, d, c)); // the high part may have digits of its own
          break;
        }
    }
  }

private:
  /// The digit to take out of reduced dim d, or 0.
  int64_t digitOf(ReduceOp r, unsigned d) {
    if (r.isArg())
      return 0; // the position is the index itself
    DigitUse use;
    Value index = r.getBlock().getArgument(d);
    for (OpOperand &operand : index.getUses()) {
      auto read = dyn_cast<ReadOp>(operand.getOwner());
      if (!read)
        continue;
      for (AffineExpr e : read.getMapOrIdentity().getResults())
        noteUse(e, operand.getOperandNumber() - 1, use);
    }
    // Runs of neighbours shorter than this cost an access along the index itself more
    // than the digits save.
    constexpr int64_t kShortestRun = 32;
    if (!use.smallest || !use.chain || (use.plain && use.smallest < kShortestRun))
      return 0;
    int64_t divisor = knownDivisor(r.getExtents().getResult(d), {divisors_, {}});
    bool isWhole = divisor == use.smallest && isa<AffineConstantExpr>(r.getExtents().getResult(d));
    return divisor % use.smallest == 0 && !isWhole ? use.smallest : 0;
  }

  ReduceOp split(ReduceOp r, unsigned dim, int64_t c) {
    OpBuilder b(r);
    Location loc = r.getLoc();
    MLIRContext *context = b.getContext();
    unsigned symbols = r.getExtents().getNumSymbols(), dims = r.getNumDims();
    SmallVector<Attribute> names;
    SmallVector<AffineExpr> extents, toNew; // toNew: an old dim as a new one
    for (unsigned d = 0; d < dims; ++d) {
      toNew.push_back(getAffineDimExpr(d <= dim ? d : d + 1, context));
      auto name = cast<StringAttr>(r.getIndices()[d]);
      AffineExpr e = r.getExtents().getResult(d);
      names.push_back(d == dim ? b.getStringAttr(name.getValue() + "_high") : name);
      extents.push_back(d == dim ? e.floorDiv(c) : e);
      if (d == dim) {
        names.push_back(b.getStringAttr(name.getValue() + "_low"));
        extents.push_back(b.getAffineConstantExpr(c));
      }
    }
    IntegerSetAttr where;
    if (std::optional<IntegerSet> set = r.getCondition()) {
      SmallVector<AffineExpr> constraints;
      for (AffineExpr e : set->getConstraints())
        constraints.push_back(simplifyAffineExpr(splitRenamed(e, dim, dims, c, toNew), dims + 1, symbols));
      where = IntegerSetAttr::get(IntegerSet::get(dims + 1, symbols, constraints, set->getEqFlags()));
    }
    auto created = ReduceOp::create(b, loc, r.getResult().getType(), r.getKind(), b.getArrayAttr(names), r.getParallel(),
                                    AffineMap::get(0, symbols, extents, context), where, r.getInit(), r.getOutMapAttr(),
                                    r.getShapeAttr(), r.getNameAttr());
    Block &block = created.getBody().emplaceBlock();
    IRMapping mapping;
    for (unsigned d = 0; d < dims; ++d) {
      Location at = r.getBlock().getArgument(d).getLoc();
      Value arg = block.addArgument(b.getIndexType(), at);
      if (d == dim)
        block.addArgument(b.getIndexType(), at);
      else
        mapping.map(r.getBlock().getArgument(d), arg);
    }
    b.setInsertionPointToStart(&block);
    Value highArg = block.getArgument(dim), lowArg = block.getArgument(dim + 1);
    Value whole = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, highArg, arith::ConstantIndexOp::create(b, loc, c)), lowArg);
    mapping.map(r.getBlock().getArgument(dim), whole);
    for (Operation &op : r.getBlock()) {
      auto read = dyn_cast<ReadOp>(op);
      if (read && llvm::is_contained(read.getOperands_(), r.getBlock().getArgument(dim)))
        mapping.map(read.getResult(), splitRead(b, read, r.getBlock().getArgument(dim), highArg, lowArg, c, mapping));
      else
        b.clone(op, mapping);
    }
    r.replaceAllUsesWith(created.getResult());
    r.erase();
    return created;
  }

  /// splitDim, from the old dims' numbers to the new ones'.
  AffineExpr splitRenamed(AffineExpr e, unsigned dim, unsigned dims, int64_t c, ArrayRef<AffineExpr> toNew) {
    MLIRContext *context = e.getContext();
    // The new dims first stand behind the old ones, out of their way.
    e = splitDim(e, dim, getAffineDimExpr(dims, context), getAffineDimExpr(dims + 1, context), c);
    SmallVector<AffineExpr> all(toNew);
    all.push_back(getAffineDimExpr(dim, context));
    all.push_back(getAffineDimExpr(dim + 1, context));
    return e.replaceDims(all);
  }

  Value splitRead(OpBuilder &b, ReadOp read, Value index, Value high, Value low, int64_t c, IRMapping &mapping) {
    AffineMap map = read.getMapOrIdentity();
    unsigned n = map.getNumDims();
    SmallVector<Value> operands;
    for (Value v : read.getOperands_())
      operands.push_back(mapping.lookupOrDefault(v));
    operands.push_back(high);
    operands.push_back(low);
    SmallVector<AffineExpr> results;
    for (AffineExpr e : map.getResults()) {
      for (auto [i, v] : llvm::enumerate(read.getOperands_()))
        if (v == index)
          e = splitDim(e, i, b.getAffineDimExpr(n), b.getAffineDimExpr(n + 1), c);
      results.push_back(simplifyAffineExpr(e, n + 2, map.getNumSymbols()));
    }
    return ReadOp::create(b, read.getLoc(), read.getResult().getType(), mapping.lookupOrDefault(read.getTensor()), operands,
                          AffineMapAttr::get(AffineMap::get(n + 2, map.getNumSymbols(), results, b.getContext())),
                          read.getBoundsAttr(), read.getPadding() ? mapping.lookupOrDefault(read.getPadding()) : Value());
  }

  KernelOp kernel_;
  SmallVector<int64_t> divisors_;
};

struct TeSplitPass : impl::TeSplitBase<TeSplitPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<int64_t> div(sizeDiv.begin(), sizeDiv.end());
    if (failed(checkSizeFacts(getOperation(), div, {})))
      return signalPassFailure();
    DigitSplitter(getOperation(), div).run();
  }
};

} // namespace
} // namespace kernelc
