// te-simplify: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESIMPLIFY
#include "passes/Passes.h.inc"

namespace {

/// Pointwise, defined everywhere, each element from its own point.
bool isDefinition(te::ComputeOp op) {
  return !op.getInit() && !op.getCondition() && !op.getOutMap() && !op.getPartial() && !op.getYield().getCondition();
}

///   %p = te.compute [i] { yield f(i) }           %p = ...
///   ... te.read %p[m(j)] ...               =>    ... f(m(j)) ...
struct InlineRead : OpRewritePattern<te::ReadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(te::ReadOp read, PatternRewriter &rewriter) const override {
    auto producer = read.getTensor().getDefiningOp<te::ComputeOp>();
    if (!producer || !isDefinition(producer) || producer->isAncestor(read))
      return failure();
    if (read.getBounds() != te::BoundsMode::InBounds && read.getBounds() != te::BoundsMode::Assume)
      return failure();
    AffineMap map = read.getMapOrIdentity();
    IRMapping mapping;
    SmallVector<Value> subscripts;
    for (AffineExpr e : map.getResults()) {
      Value v = materialize(rewriter, read.getLoc(), e, read.getOperands_(), map.getNumSymbols());
      if (!v)
        return failure();
      subscripts.push_back(v);
    }
    for (auto [arg, v] : llvm::zip(producer.getBlock().getArguments(), subscripts))
      mapping.map(arg, v);
    Value result;
    for (Operation &op : producer.getBlock()) {
      if (auto yield = dyn_cast<te::YieldOp>(op)) {
        result = mapping.lookupOrDefault(yield.getValues()[0]);
        break;
      }
      rewriter.clone(op, mapping);
    }
    rewriter.replaceOp(read, result);
    return success();
  }

  /// An index value for `e` over `operands`: the operand itself, or a te.size /
  /// arith expression. Affine structure is recovered by ComposeSubscripts.
  static Value materialize(PatternRewriter &b, Location loc, AffineExpr e, ValueRange operands, unsigned symbols) {
    if (auto d = dyn_cast<AffineDimExpr>(e))
      return operands[d.getPosition()];
    if (e.isSymbolicOrConstant())
      return te::SizeOp::create(b, loc, b.getIndexType(), AffineMap::get(0, symbols, e));
    auto bin = cast<AffineBinaryOpExpr>(e);
    Value x = materialize(b, loc, bin.getLHS(), operands, symbols);
    Value y = materialize(b, loc, bin.getRHS(), operands, symbols);
    if (!x || !y)
      return {};
    switch (e.getKind()) {
    case AffineExprKind::Add: return arith::AddIOp::create(b, loc, x, y);
    case AffineExprKind::Mul: return arith::MulIOp::create(b, loc, x, y);
    case AffineExprKind::FloorDiv: return arith::FloorDivSIOp::create(b, loc, x, y);
    case AffineExprKind::Mod: {
      Value q = arith::FloorDivSIOp::create(b, loc, x, y);
      return arith::SubIOp::create(b, loc, x, arith::MulIOp::create(b, loc, q, y));
    }
    default: return {};
    }
  }
};

/// Subscripts computed by index arithmetic become part of the map:
///   %k = arith.addi %i, %j
///   te.read %x[%k]            =>   te.read %x[%i, %j] map (d0, d1) -> (d0 + d1)
struct ComposeSubscripts : OpRewritePattern<te::ReadOp> {
  using OpRewritePattern::OpRewritePattern;

  /// `v` as an affine expression over `leaves` (appended to as needed).
  static AffineExpr affineOf(Value v, SmallVectorImpl<Value> &leaves, unsigned symbols, MLIRContext *c) {
    Operation *op = v.getDefiningOp();
    auto leaf = [&]() -> AffineExpr {
      auto it = llvm::find(leaves, v);
      unsigned n = it - leaves.begin();
      if (it == leaves.end())
        leaves.push_back(v);
      return getAffineDimExpr(n, c);
    };
    if (!op)
      return leaf();
    if (auto size = dyn_cast<te::SizeOp>(op))
      return size.getMap().getResult(0);
    APInt value;
    if (matchPattern(v, m_ConstantInt(&value)))
      return getAffineConstantExpr(value.getSExtValue(), c);
    if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp>(op))
      return leaf();
    size_t before = leaves.size();
    AffineExpr x = affineOf(op->getOperand(0), leaves, symbols, c), y = affineOf(op->getOperand(1), leaves, symbols, c);
    if (isa<arith::AddIOp>(op))
      return x + y;
    if (isa<arith::SubIOp>(op)) {
      // x - (x floordiv c) * c is x mod c.
      if (auto mul = dyn_cast<AffineBinaryOpExpr>(y); mul && y.getKind() == AffineExprKind::Mul)
        if (auto div = dyn_cast<AffineBinaryOpExpr>(mul.getLHS());
            div && div.getKind() == AffineExprKind::FloorDiv && div.getLHS() == x && div.getRHS() == mul.getRHS())
          return x % mul.getRHS();
      return x - y;
    }
    bool isMul = isa<arith::MulIOp>(op);
    if (isMul && x.isSymbolicOrConstant())
      std::swap(x, y);
    if (y.isSymbolicOrConstant())
      return isMul ? x * y : x.floorDiv(y);
    leaves.truncate(before);
    return leaf();
  }

  LogicalResult matchAndRewrite(te::ReadOp read, PatternRewriter &rewriter) const override {
    AffineMap map = read.getMapOrIdentity();
    SmallVector<Value> leaves;
    SmallVector<AffineExpr> replacements;
    for (Value v : read.getOperands_())
      replacements.push_back(affineOf(v, leaves, map.getNumSymbols(), read.getContext()));
    SmallVector<AffineExpr> results;
    for (AffineExpr e : map.getResults())
      results.push_back(simplifyAffineExpr(e.replaceDims(replacements), leaves.size(), map.getNumSymbols()));
    AffineMap composed = AffineMap::get(leaves.size(), map.getNumSymbols(), results, read.getContext());
    if (leaves == SmallVector<Value>(read.getOperands_()) && composed == map)
      return failure();
    auto created = te::ReadOp::create(rewriter, read.getLoc(), read.getResult().getType(), read.getTensor(), leaves,
                                      AffineMapAttr::get(composed), read.getBoundsAttr(), read.getPadding());
    rewriter.replaceOp(read, created);
    return success();
  }
};

/// A tensor nobody reads or returns.
struct DropDead : RewritePattern {
  DropDead(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!te::isDomainOp(op) || !op->use_empty())
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct TeSimplifyPass : impl::TeSimplifyBase<TeSimplifyPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<InlineRead, ComposeSubscripts, DropDead>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
