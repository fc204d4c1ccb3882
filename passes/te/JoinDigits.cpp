// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-join-digits: see Passes.td. Makes one index of two that are summed together over a product's results.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/plan/PlanAttr.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEJOINDIGITS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Dims of a reduction that become one, high * radix + low, in the place of `high`.
struct Pair {
  unsigned high, low;
  int64_t radix;
  AffineExpr extent; ///< of `low`, that is known to be `radix`
};

/// The number of a dim, or of an operand, once `low` is gone.
unsigned without(unsigned d, unsigned low) { return d > low ? d - 1 : d; }

Value stripIndexCast(Value v) {
  auto cast = v.getDefiningOp<arith::IndexCastOp>();
  return cast ? cast.getIn() : v;
}

bool isRadix(Value v, Pair p) {
  if (auto size = stripIndexCast(v).getDefiningOp<SizeOp>())
    return size.getMap().getResult(0) == p.extent || size.getMap().getResult(0) == getAffineConstantExpr(p.radix, v.getContext());
  APInt c;
  return matchPattern(v, m_ConstantInt(&c)) && c.getSExtValue() == p.radix;
}

/// Whether `add` is high * radix + low, of values of any width.
bool isWhole(arith::AddIOp add, Value high, Value low, Pair p) {
  for (auto [x, y] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    auto product = x.getDefiningOp<arith::MulIOp>();
    if (!product || stripIndexCast(y) != low)
      continue;
    for (auto [v, c] : {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())})
      if (stripIndexCast(v) == high && isRadix(c, p))
        return true;
  }
  return false;
}

/// `e` with the number that the digit's extent is known to be.
AffineExpr withRadix(AffineExpr e, Pair p) {
  return isa<AffineSymbolExpr>(p.extent) ? e.replace(p.extent, getAffineConstantExpr(p.radix, e.getContext())) : e;
}

/// `e` over dims of which `low` is gone.
AffineExpr joinDims(AffineExpr e, Pair p, unsigned dims, unsigned symbols) {
  MLIRContext *c = e.getContext();
  AffineExpr whole = getAffineDimExpr(without(p.high, p.low), c);
  SmallVector<AffineExpr> to;
  for (unsigned d = 0; d < dims; ++d)
    to.push_back(d == p.high ? whole.floorDiv(p.radix) : d == p.low ? whole % p.radix : getAffineDimExpr(without(d, p.low), c));
  return simplifyAffineExpr(withRadix(e, p).replaceDims(to), dims - 1, symbols);
}

/// The condition of `r` over one index; nothing where it asks for the digits.
std::optional<IntegerSetAttr> joinCondition(ReduceOp r, Pair p) {
  std::optional<IntegerSet> set = r.getCondition();
  if (!set)
    return IntegerSetAttr();
  SmallVector<AffineExpr> constraints;
  for (AffineExpr e : set->getConstraints()) {
    constraints.push_back(joinDims(e, p, set->getNumDims(), set->getNumSymbols()));
    if (!constraints.back().isPureAffine() || constraints.back()
                                                  .walk([](AffineExpr part) {
                                                    bool divides =
                                                        part.getKind() == AffineExprKind::FloorDiv || part.getKind() == AffineExprKind::Mod;
                                                    return divides ? WalkResult::interrupt() : WalkResult::advance();
                                                  })
                                                  .wasInterrupted())
      return std::nullopt;
  }
  return IntegerSetAttr::get(IntegerSet::get(set->getNumDims() - 1, set->getNumSymbols(), constraints, set->getEqFlags()));
}

/// The body of `r` with an argument for both digits. Reads of `joined`, an earlier statement whose digits were joined, have one
/// subscript for them.
void cloneBody(ReduceOp r, Pair p, Value before, Value joined, Pair ofBefore, Block &block) {
  Block &from = r.getBlock();
  OpBuilder b = OpBuilder::atBlockEnd(&block);
  IRMapping mapping;
  for (BlockArgument arg : from.getArguments())
    if (arg.getArgNumber() != p.low)
      mapping.map(arg, block.addArgument(b.getIndexType(), arg.getLoc()));
  Value oldHigh = from.getArgument(p.high), oldLow = from.getArgument(p.low), whole = mapping.lookup(oldHigh);
  Value radix = arith::ConstantIndexOp::create(b, r.getLoc(), p.radix);
  Value high = arith::FloorDivSIOp::create(b, r.getLoc(), whole, radix), low = arith::RemSIOp::create(b, r.getLoc(), whole, radix);
  mapping.map(oldHigh, high);
  mapping.map(oldLow, low);
  for (Operation &op : from) {
    auto add = dyn_cast<arith::AddIOp>(op);
    if (add && isWhole(add, oldHigh, oldLow, p)) {
      bool isIndex = add.getType().isIndex();
      mapping.map(add.getResult(), isIndex ? whole : arith::IndexCastOp::create(b, add.getLoc(), add.getType(), whole).getResult());
      continue;
    }
    auto read = dyn_cast<ReadOp>(op);
    if (!read) {
      b.clone(op, mapping);
      continue;
    }
    AffineMap map = read.getMapOrIdentity();
    SmallVector<Value> operands;
    SmallVector<AffineExpr> to;
    for (Value v : read.getOperands_()) {
      bool isDigit = v == oldHigh || v == oldLow;
      Value now = isDigit ? whole : mapping.lookupOrDefault(v);
      auto at = llvm::find(operands, now);
      AffineExpr d = b.getAffineDimExpr(at - operands.begin());
      if (at == operands.end())
        operands.push_back(now);
      to.push_back(v == oldHigh ? d.floorDiv(p.radix) : v == oldLow ? d % p.radix : d);
    }
    SmallVector<AffineExpr> results;
    for (AffineExpr e : map.getResults())
      results.push_back(simplifyAffineExpr(withRadix(e, p).replaceDims(to), operands.size(), map.getNumSymbols()));
    if (read.getTensor() == before) { // high and low stand in places of their own
      results[ofBefore.high] = b.getAffineDimExpr(llvm::find(operands, whole) - operands.begin());
      results.erase(results.begin() + ofBefore.low);
    }
    AffineMap subscripts = AffineMap::get(operands.size(), map.getNumSymbols(), results, b.getContext());
    Value padding = read.getPadding() ? mapping.lookupOrDefault(read.getPadding()) : Value();
    Value tensor = read.getTensor() == before ? joined : mapping.lookupOrDefault(read.getTensor());
    mapping.map(read.getResult(), ReadOp::create(b, read.getLoc(), read.getResult().getType(), tensor, operands,
                                                 AffineMapAttr::get(subscripts), read.getBoundsAttr(), padding)
                                      .getResult());
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// `r` with one index for both digits; `isResult`: they are dims of its result.
ReduceOp join(ReduceOp r, Pair p, IntegerSetAttr where, Value before, Value joined, Pair ofBefore, bool isResult) {
  OpBuilder b(r);
  SmallVector<Attribute> names;
  SmallVector<AffineExpr> extents;
  StringRef ofLow = cast<StringAttr>(r.getIndices()[p.low]).getValue();
  for (unsigned d = 0; d < r.getNumDims(); ++d) {
    StringRef name = cast<StringAttr>(r.getIndices()[d]).getValue();
    if (d == p.low)
      continue;
    bool isWhole = d == p.high, wasOne = isWhole && name.ends_with("_high") && ofLow == (name.drop_back(4) + "low").str();
    names.push_back(b.getStringAttr(!isWhole ? name.str() : wasOne ? name.drop_back(5).str() : (name + "_" + ofLow).str()));
    extents.push_back(isWhole ? r.getExtents().getResult(d) * p.radix : r.getExtents().getResult(d));
  }
  auto type = cast<RankedTensorType>(r.getResult().getType());
  if (isResult)
    type = RankedTensorType::get(SmallVector<int64_t>(type.getRank() - 1, ShapedType::kDynamic), type.getElementType());
  auto created = ReduceOp::create(b, r.getLoc(), type, r.getKind(), b.getArrayAttr(names), r.getParallel() - isResult,
                                  AffineMap::get(0, r.getExtents().getNumSymbols(), extents, b.getContext()), where, r.getInit(),
                                  r.getOutMapAttr(), r.getShapeAttr(), r.getNameAttr());
  copyHints(r, created);
  cloneBody(r, p, before, joined, ofBefore, created.getBody().emplaceBlock());
  return created;
}

/// A product whose results reductions walk along two digits, and these reductions.
class Joiner {
public:
  Joiner(ReduceOp product, const SizeFacts &facts) : product_(product), facts_(facts) {}

  bool run() {
    std::optional<Contraction> c = findContraction(product_);
    if (!c || product_.getInit() || product_.getOutMap() || product_.getShape() || !findReaders())
      return false;
    // (Digits that are a batch and a column, as heads and their columns are, would make none of its operands free of the index.)
    auto isOneSide = [&](unsigned high, unsigned low) {
      return llvm::any_of(ArrayRef({c->m, c->n}),
                          [&](auto &side) { return llvm::is_contained(side, high) && llvm::is_contained(side, low); });
    };
    for (unsigned high = 0; high < product_.getNumParallel(); ++high)
      for (unsigned low = 0; low < product_.getNumParallel(); ++low)
        if (std::optional<Pair> pair = isOneSide(high, low) ? pairOf(high, low) : std::nullopt; pair && joinAll(*pair))
          return true;
    return false;
  }

private:
  /// Whether all that is done with the product's results is to reduce them, one of the reductions as a product's factor.
  bool findReaders() {
    bool isFactor = false;
    for (Operation *user : product_.getResult().getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      auto reduce = read ? dyn_cast<ReduceOp>(read->getParentOp()) : ReduceOp();
      if (!reduce || reduce.isArg() || !read.getMapOrIdentity().isIdentity() || !isUnchecked(read))
        return false;
      if (!llvm::is_contained(readers_, reduce))
        readers_.push_back(reduce);
      // (A condition that compares digits of a size may keep it from being a contraction until they are one.)
      isFactor |= reduce.getKind() == Combiner::Sum && reduce.getYield().getValues()[0].getDefiningOp<arith::MulFOp>();
    }
    return isFactor;
  }

  /// Digits by which a tile of a product can be cut into pages, the pages' numbers alone known to data.
  std::optional<Pair> pairOf(unsigned high, unsigned low) {
    constexpr int64_t kRows = 8, kTile = 64; // of a swizzle's period, and of the smallest tile that is walked
    AffineExpr extent = product_.getExtents().getResult(low);
    int64_t radix = knownDivisor(extent, facts_), most = knownMax(extent, facts_);
    bool isKnown = most >= radix && most - radix < radix;
    if (high == low || !isKnown || radix % kRows || (radix % kTile && kTile % radix))
      return std::nullopt;
    bool asksForLow = false;
    product_->walk([&](ReadOp read) {
      for (Value v : read.getOperands_())
        if (!findIndex(product_, v))
          asksForLow |= findSupport(v, product_.getNumDims())[low];
    });
    return asksForLow ? std::nullopt : std::optional(Pair{high, low, radix, extent});
  }

  /// The digits as dims of `reader`, which reduces both.
  std::optional<Pair> pairIn(ReduceOp reader, Pair p) {
    std::optional<Pair> found;
    for (Operation *user : product_.getResult().getUsers()) {
      auto read = cast<ReadOp>(user);
      if (read->getParentOp() != reader)
        continue;
      std::optional<unsigned> high = findIndex(reader, read.getOperands_()[p.high]), low = findIndex(reader, read.getOperands_()[p.low]);
      bool isReduced = high && low && *high >= reader.getNumParallel() && *low >= reader.getNumParallel();
      if (!isReduced || (found && (found->high != *high || found->low != *low)))
        return std::nullopt;
      found = Pair{*high, *low, p.radix, p.extent};
    }
    return found;
  }

  bool joinAll(Pair p) {
    SmallVector<std::pair<Pair, IntegerSetAttr>> parts;
    std::optional<IntegerSetAttr> where = joinCondition(product_, p);
    for (ReduceOp reader : readers_) {
      std::optional<Pair> own = pairIn(reader, p);
      std::optional<IntegerSetAttr> condition = own ? joinCondition(reader, *own) : std::nullopt;
      if (!condition)
        return false;
      parts.push_back({*own, *condition});
    }
    if (!where)
      return false;
    ReduceOp joined = join(product_, p, *where, Value(), Value(), {}, /*isResult=*/true);
    for (auto [reader, part] : llvm::zip(readers_, parts)) {
      ReduceOp now = join(reader, part.first, part.second, product_.getResult(), joined.getResult(), p, /*isResult=*/false);
      reader.replaceAllUsesWith(now.getResult());
      reader.erase();
    }
    product_.erase();
    return true;
  }

  ReduceOp product_;
  const SizeFacts &facts_;
  SmallVector<ReduceOp> readers_;
};

struct TeJoinDigitsPass : impl::TeJoinDigitsBase<TeJoinDigitsPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<int64_t> div(sizeDiv.begin(), sizeDiv.end()), max(sizeMax.begin(), sizeMax.end());
    if (failed(checkSizeFacts(getOperation(), div, max)))
      return signalPassFailure();
    SizeFacts facts{div, max};
    while (llvm::any_of(getOperation().getBlock().getOps<ReduceOp>(), [&](ReduceOp r) { return Joiner(r, facts).run(); }))
      ;
  }
};

} // namespace
} // namespace kernelc
