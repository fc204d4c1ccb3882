// te-mask-to-domain: see Passes.td. This file finds conditions under which a term
// counts for nothing and moves them to the domain; what a body comes to under a
// condition is ValueClasses' business, and conditions under which nobody asks for a
// product's result are GuardedProducts'.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/te/Domain.h"
#include "passes/te/GuardedProducts.h"
#include "passes/te/IndexArithmetic.h"
#include "passes/te/Reduction.h"
#include "passes/te/ValueClasses.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEMASKTODOMAIN
#include "passes/Passes.h.inc"

using namespace te;

namespace {

using Classes = llvm::DenseMap<Value, ValueClasses>;

/// A comparison of indices whose outcome `masking` makes the term count for nothing.
struct Mask {
  arith::CmpIOp compare;
  bool masking = false;
  /// constraint >= 0 (== 0) where the term counts.
  AffineExpr constraint;
  bool isEquality = false;
  /// Where the masked term may be NaN instead of zero, and its value; else null.
  Value carrier;
  Classes classes;
};

/// The class of `kind`'s identity for terms of `type`; 0 where there is none.
ValueClasses identityClass(Combiner kind, Type type) {
  switch (kind) {
  case Combiner::Sum:
  case Combiner::Any:
  case Combiner::Or:
  case Combiner::Xor:
  case Combiner::MaxU: return kZero;
  case Combiner::Prod:
    return kOne;
  case Combiner::All: return kOne;
  case Combiner::Max: return type.isInteger(1) ? 0 : kNegInf;
  case Combiner::Min: return type.isInteger(1) ? 0 : kPosInf;
  default: return 0; // an arg reduction prefers a masked key to no key
  }
}

class Masker {
public:
  explicit Masker(ReduceOp op) : op_(op), body_(op.getBlock()), parallel_(op.getNumParallel()), reduced_(op.getNumDims()) {
    reduced_.set(parallel_, op.getNumDims());
  }

  void run() {
    Type term = op_.getYield().getValues()[0].getType();
    identity_ = identityClass(op_.getKind(), term);
    if (!identity_)
      return;
    constexpr unsigned kMostComparisons = 64; // each costs a walk over the body
    unsigned tried = 0;
    for (auto compare : body_.getOps<arith::CmpIOp>()) {
      if (!compare.getLhs().getType().isIndex() || tried++ >= kMostComparisons)
        continue;
      for (bool outcome : {false, true})
        if (std::optional<Mask> m = match(compare, outcome)) {
          masks_.push_back(std::move(*m));
          break;
        }
    }
    if (masks_.empty())
      return;
    Value result = op_.getResult();
    OpBuilder b(op_->getContext());
    b.setInsertionPointAfter(op_);
    for (Mask &m : masks_)
      if (m.carrier)
        result = addMasked(b, result, m);
    if (result != op_.getResult())
      op_.getResult().replaceAllUsesExcept(result, added_);
    restrict();
  }

private:
  std::optional<Mask> match(arith::CmpIOp compare, bool outcome) {
    Mask m;
    m.compare = compare;
    m.masking = outcome;
    if (!findConstraint(m))
      return std::nullopt;
    bool sum = op_.getKind() == Combiner::Sum;
    m.classes = classifyBody(body_, compare, outcome, /*realProducts=*/sum);
    Value term = op_.getYield().getValues()[0];
    ValueClasses c = m.classes.lookup(term);
    if (c == identity_)
      return m;
    if (!sum || c != (kZero | kNan))
      return std::nullopt;
    m.carrier = findCarrier(term, m);
    if (!m.carrier || !canSayWhereMasked(m))
      return std::nullopt;
    return m;
  }

  /// The comparison as a constraint over the dims, true where the outcome is not
  /// the masking one.
  bool findConstraint(Mask &m) {
    std::optional<IndexConstraint> found = constraintOf(m.compare, !m.masking, body_.getArguments(), op_.getExtents().getNumSymbols());
    if (!found || !dependsOnReduced(found->form))
      return false;
    m.constraint = found->form;
    m.isEquality = found->isEquality;
    return true;
  }

  bool dependsOnReduced(AffineExpr e) {
    return llvm::any_of(reduced_.set_bits(), [&](unsigned d) { return e.isFunctionOfDim(d); });
  }

  /// The factor of a masked term that makes it 0 or NaN, where that is the same at
  /// every masked point of one result; null where it is not.
  Value findCarrier(Value term, const Mask &m) {
    while (auto product = term.getDefiningOp<arith::MulFOp>()) {
      if (isFreeOfReduced(term, m))
        break;
      ValueClasses x = m.classes.lookup(product.getLhs()), y = m.classes.lookup(product.getRhs());
      bool left = x && !(x & ~(kZero | kNan));
      if (!left && (!y || (y & ~(kZero | kNan))))
        return {};
      term = left ? product.getLhs() : product.getRhs();
    }
    return isFreeOfReduced(term, m) ? term : Value();
  }

  /// What the masked value of a select is, where the mask decides it.
  static Value chosen(Value v, const Mask &m) {
    while (auto select = v.getDefiningOp<arith::SelectOp>()) {
      ValueClasses c = m.classes.lookup(select.getCondition());
      if (c != kZero && c != kOne)
        break;
      v = c == kOne ? select.getTrueValue() : select.getFalseValue();
    }
    return v;
  }

  /// The ops that compute `v` under the mask; `ok` becomes false when a reduced index
  /// is among their inputs.
  SmallPtrSet<Operation *, 16> sliceOf(Value v, const Mask &m, bool &ok) {
    SmallPtrSet<Operation *, 16> slice;
    SmallVector<Value> work{chosen(v, m)};
    while (!work.empty()) {
      Value next = chosen(work.pop_back_val(), m);
      if (auto arg = dyn_cast<BlockArgument>(next)) {
        ok &= arg.getOwner() != &body_ || !reduced_[arg.getArgNumber()];
        continue;
      }
      Operation *def = next.getDefiningOp();
      if (def->getBlock() != &body_ || !slice.insert(def).second)
        continue;
      llvm::append_range(work, def->getOperands());
    }
    return slice;
  }

  bool isFreeOfReduced(Value v, const Mask &m) {
    bool ok = true;
    (void)sliceOf(v, m, ok);
    return ok;
  }

  /// Whether "this result has a masked point" is an affine condition: the domain
  /// is a box in the reduced dims and the constraint's least value is attained.
  bool canSayWhereMasked(const Mask &m) {
    if (op_.getInit() || op_.getOutMap() || op_.getShape() || op_.getCondition() || op_.getYield().getCondition() ||
        !isSeparable(m.constraint, reduced_))
      return false;
    SmallVector<DimRange> ranges = rangesOfReduced();
    return findExtreme(m.constraint, false, ranges) && findExtreme(m.constraint, true, ranges);
  }

  /// A parallel dim is itself, a reduced one anything below its extent.
  SmallVector<DimRange> rangesOfReduced() {
    SmallVector<DimRange> ranges;
    MLIRContext *c = op_->getContext();
    for (unsigned d = 0; d < op_.getNumDims(); ++d) {
      AffineExpr self = getAffineDimExpr(d, c);
      ranges.push_back(d < parallel_ ? DimRange{self, self} : DimRange{getAffineConstantExpr(0, c), op_.getExtents().getResult(d) - 1});
    }
    return ranges;
  }

  /// result[p] + (a point of p is masked ? carrier(p) : 0): NaN where the program
  /// as written adds a NaN, otherwise the result.
  Value addMasked(OpBuilder &b, Value result, Mask &m) {
    Location loc = op_.getLoc();
    AffineMap extents = op_.getExtents();
    unsigned symbols = extents.getNumSymbols();
    auto of = [&](ArrayRef<AffineExpr> e) { return AffineMap::get(0, symbols, e, b.getContext()); };
    auto compute = ComputeOp::create(b, loc, result.getType(), b.getArrayAttr(op_.getIndices().getValue().take_front(parallel_)),
                                     of(extents.getResults().take_front(parallel_)), IntegerSetAttr(), Value(),
                                     AffineMapAttr(), AffineMapAttr(), op_.getNameAttr(), false);
    Block &block = compute.getBody().emplaceBlock();
    IRMapping mapping;
    for (unsigned d = 0; d < parallel_; ++d)
      mapping.map(body_.getArgument(d), block.addArgument(b.getIndexType(), body_.getArgument(d).getLoc()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    auto args = block.getArguments();
    Type type = cast<RankedTensorType>(result.getType()).getElementType();
    Value sum = ReadOp::create(b, loc, type, result, llvm::to_vector_of<Value>(args), AffineMapAttr(),
                               BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    added_.insert(sum.getDefiningOp());
    bool ok = true;
    SmallPtrSet<Operation *, 16> slice = sliceOf(m.carrier, m, ok);
    for (Operation &op : body_) {
      if (!slice.contains(&op))
        continue;
      IRMapping operands;
      for (Value v : op.getOperands())
        operands.map(v, mapping.lookupOrDefault(chosen(v, m)));
      Operation *clone = b.clone(op, operands);
      mapping.map(op.getResults(), clone->getResults());
    }
    Value carrier = mapping.lookupOrDefault(chosen(m.carrier, m));
    Value masked = isSomewhereMasked(b, m, args, loc);
    Value zero = arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(type)));
    Value term = arith::SelectOp::create(b, loc, masked, carrier, zero);
    YieldOp::create(b, loc, arith::AddFOp::create(b, loc, sum, term).getResult(), Value());
    return compute.getResult();
  }

  Value isSomewhereMasked(OpBuilder &b, const Mask &m, ValueRange parallel, Location loc) {
    SmallVector<DimRange> ranges = rangesOfReduced();
    unsigned symbols = op_.getExtents().getNumSymbols();
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    auto compare = [&](AffineExpr e, arith::CmpIPredicate p) -> Value {
      e = simplifyAffineExpr(e, op_.getNumDims(), symbols);
      return arith::CmpIOp::create(b, loc, p, materialize(b, loc, e, parallel, symbols), zero);
    };
    Value masked = compare(findExtreme(m.constraint, false, ranges), arith::CmpIPredicate::slt);
    if (m.isEquality)
      masked = arith::OrIOp::create(b, loc, masked, compare(findExtreme(m.constraint, true, ranges), arith::CmpIPredicate::sgt));
    for (unsigned d : reduced_.set_bits())
      masked = arith::AndIOp::create(b, loc, masked, compare(op_.getExtents().getResult(d), arith::CmpIPredicate::sgt));
    return masked;
  }

  /// Every mask becomes a constraint of the domain, and in the body an outcome.
  void restrict() {
    OpBuilder b(op_->getContext());
    for (Mask &m : masks_) {
      IntegerSet set = IntegerSet::get(op_.getNumDims(), op_.getExtents().getNumSymbols(), m.constraint, m.isEquality);
      op_.setCondition(intersect(op_.getCondition(), set));
      b.setInsertionPoint(m.compare);
      Value outcome = arith::ConstantOp::create(b, m.compare.getLoc(), b.getBoolAttr(!m.masking));
      m.compare.getResult().replaceAllUsesWith(outcome);
    }
    for (Mask &m : masks_)
      m.compare.erase();
    // The select on a constant goes with te-simplify.
  }

  ReduceOp op_;
  Block &body_;
  unsigned parallel_;
  llvm::BitVector reduced_;
  ValueClasses identity_ = 0;
  SmallVector<Mask> masks_;
  SmallPtrSet<Operation *, 4> added_;
};

struct TeMaskToDomainPass : impl::TeMaskToDomainBase<TeMaskToDomainPass> {
  void runOnOperation() override {
    for (ReduceOp op : llvm::to_vector(getOperation().getBlock().getOps<ReduceOp>()))
      Masker(op).run();
    restrictGuardedProducts(getOperation());
  }
};

} // namespace
} // namespace kernelc
