// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-precision-cast: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Factors.h"
#include "ir/te/Hints.h"
#include "ir/te/Precision.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/ExactValues.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/te/GroupedContraction.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEPRECISIONCAST
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// A type that a policy can name. The unit roundoff is that of rounding to nearest.
struct Narrow {
  const char *name;
  double roundoff;
  bool wideRange; ///< has f32's range, so that nothing overflows
};
// Cheapest first: what `tolerance` tries in turn.
constexpr Narrow kTypes[] = {
    {"f8e5m2", 0x1p-3, false}, {"f8e4m3", 0x1p-4, false}, {"bf16", 0x1p-8, true}, {"f16", 0x1p-11, false}, {"tf32", 0x1p-11, true}};
// Of one addition in a matrix unit, which may cut instead of rounding to nearest.
constexpr double kAccumulate = 0x1p-23;

Type typeOf(const Narrow &narrow, MLIRContext *context) {
  StringRef name = narrow.name;
  return name == "bf16"     ? Type(BFloat16Type::get(context))
         : name == "f16"    ? Type(Float16Type::get(context))
         : name == "f8e4m3" ? Type(Float8E4M3FNType::get(context))
         : name == "f8e5m2" ? Type(Float8E5M2Type::get(context))
                            : Type(FloatTF32Type::get(context));
}

/// Operands as sums of two bf16: 16 bits of each.
constexpr llvm::StringLiteral kBf16x3 = "bf16x3", kTf32x3 = "tf32x3";
bool isInParts(const PrecisionPolicy &policy) { return policy.contract == kBf16x3 || policy.contract == kTf32x3; }

const Narrow *findNarrow(StringRef name) {
  for (const Narrow &n : kTypes)
    if (name == n.name)
      return &n;
  return nullptr;
}

std::string shortNumber(double v) {
  std::string s;
  llvm::raw_string_ostream(s) << llvm::format("%.2g", v);
  return s;
}

class Caster {
public:
  Caster(KernelOp kernel, const PrecisionPolicy &policy) : kernel_(kernel), policy_(policy) {
    // What the requirements say of each size alone: a · s + b ≥ 0 with a < 0.
    sizeDiv_.assign(kernel.getNumSizes(), 1);
    sizeMax_.assign(kernel.getNumSizes(), -1);
    for (Attribute a : kernel.getRequirements()) {
      IntegerSet set = cast<IntegerSetAttr>(a).getValue();
      for (unsigned i = 0; i < set.getNumConstraints(); ++i)
        if (!set.isEq(i))
          noteBound(set.getConstraint(i));
    }
  }

  void run() {
    SmallVector<ReduceOp> reduces(kernel_.getBlock().getOps<ReduceOp>());
    for (ReduceOp reduce : reduces)
      if (std::optional<Contraction> c = findContraction(reduce))
        visit(reduce, *c);
      else if (std::optional<Contraction> grouped = findGroupedContraction(reduce)) { // te-split makes it one
        for (unsigned &k : grouped->k)
          --k; // the digit that the copy has more
        visit(reduce, *grouped);
      }
  }

private:
  void noteBound(AffineExpr e) {
    for (unsigned s = 0; s < sizeMax_.size(); ++s) {
      // Linear in s alone: the value at 0 and the slope say all.
      MLIRContext *context = e.getContext();
      SmallVector<AffineExpr> zero(sizeMax_.size(), getAffineConstantExpr(0, context)), one = zero;
      bool others = false;
      for (unsigned t = 0; t < sizeMax_.size(); ++t)
        others |= t != s && e.isFunctionOfSymbol(t);
      if (others || !e.isFunctionOfSymbol(s) || !e.isPureAffine())
        continue;
      auto at = [&](int64_t v) {
        SmallVector<AffineExpr> values(sizeMax_.size(), getAffineConstantExpr(v, context));
        auto c = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(e.replaceSymbols(values), 0, 0));
        return c ? std::optional<int64_t>(c.getValue()) : std::nullopt;
      };
      std::optional<int64_t> b = at(0), next = at(1), far = at(1000);
      if (!b || !next || !far)
        continue;
      int64_t slope = *next - *b;
      if (slope >= 0 || *far != *b + 1000 * slope || *b < 0)
        continue;
      int64_t max = *b / -slope;
      sizeMax_[s] = sizeMax_[s] < 0 ? max : std::min(sizeMax_[s], max);
    }
  }

  /// The number of terms, or -1.
  int64_t termsOf(ReduceOp reduce, const Contraction &c) {
    int64_t terms = 1;
    for (unsigned k : c.k) {
      int64_t max = knownMax(reduce.getExtents().getResult(k), {sizeDiv_, sizeMax_});
      if (max < 0 || terms > (int64_t(1) << 40))
        return -1;
      terms *= std::max<int64_t>(max, 1);
    }
    return terms;
  }

  /// For te-plan's remark and for readers of the IR.
  void explain(ReduceOp reduce, const llvm::Twine &what) { reduce.setPrecision(what.str()); }

  void visit(ReduceOp reduce, const Contraction &c) {
    if (!c.a.getType().isF32() || c.unitType)
      return; // integers, f64, and what a matrix unit takes as it is
    std::string name = reduce.getNameAttr() ? reduce.getNameAttr().str() : "sum";
    if (policy_.tolerance != 0)
      return chooseType(reduce, c, name);
    if (policy_.contract.empty())
      return; // says how to add, not what
    if (isInParts(policy_))
      return castToParts(reduce, c, *findNarrow(StringRef(policy_.contract).drop_back(2)));
    const Narrow *narrow = findNarrow(policy_.contract);
    castFactors(reduce, c, *narrow);
    explain(reduce, "the product of '" + name + "' rounds its operands to " + narrow->name);
  }

  /// The cheapest type whose bound, relative to Σ|a||b|, is within the tolerance.
  void chooseType(ReduceOp reduce, const Contraction &c, const llvm::Twine &name) {
    int64_t terms = termsOf(reduce, c);
    if (terms < 0) {
      explain(reduce, "the product of '" + name +
                          "' stays f32: the number of its terms has no bound that is known; fix the size (--set), bound it "
                          "(require K <= 4096), or name a type (precision(contract = tf32))");
      return;
    }
    for (const Narrow &n : kTypes) {
      double bound = boundOf(c, n, terms);
      if (!n.wideRange || bound > policy_.tolerance)
        continue;
      castFactors(reduce, c, n);
      explain(reduce, "the product of '" + name + "' rounds its operands to " + n.name + ": the error is at most " + shortNumber(bound) +
                          " of the sum of |a b| over up to " + llvm::Twine(terms) + " terms, rel = " + shortNumber(policy_.tolerance) +
                          " allows it");
      return;
    }
    explain(reduce, "the product of '" + name + "' stays f32: rel = " + shortNumber(policy_.tolerance) +
                        " is less than the error of tf32, " + shortNumber(boundOf(c, *findNarrow("tf32"), terms)) + " over up to " +
                        llvm::Twine(terms) + " terms");
  }

  /// (1 + u)^casts - 1 for the operands, and an addition's roundoff for each term.
  double boundOf(const Contraction &c, const Narrow &n, int64_t terms) {
    Type type = typeOf(n, kernel_.getContext());
    double product = 1;
    for (Value factor : {c.a, c.b})
      if (!embeds(narrowestType(factor), type))
        product *= 1 + n.roundoff;
    return product - 1 + double(terms) * kAccumulate;
  }

  void castFactors(ReduceOp reduce, const Contraction &c, const Narrow &n) {
    Type type = typeOf(n, kernel_.getContext());
    for (OpOperand *use : findUsesIn(reduce.getYield().getValues()[0], {c.a, c.b})) {
      Value factor = use->get();
      if (embeds(narrowestType(factor), type))
        continue;
      OpBuilder b(use->getOwner());
      Location loc = factor.getLoc();
      if (isa<FloatTF32Type>(type)) {
        use->set(RoundOp::create(b, loc, factor, type));
      } else {
        Value rounded = type.getIntOrFloatBitWidth() == 8 ? Value(ConvertOp::create(b, loc, type, factor, false)) // saturates
                                                          : arith::TruncFOp::create(b, loc, type, factor);
        use->set(arith::ExtFOp::create(b, loc, factor.getType(), rounded));
      }
    }
  }

  /// Clamps an f32 to the finite numbers of `type`, so that the high part is never infinite; the low part holds the rest, which may be
  /// infinite.
  static Value saturated(Value v, Type type, OpBuilder &b, Location loc) {
    llvm::APFloat largest = llvm::APFloat::getLargest(cast<FloatType>(type).getFloatSemantics());
    float most = float(largest.convertToDouble());
    auto constant = [&](float f) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(f)); };
    Value atLeast = arith::MaximumFOp::create(b, loc, v, constant(-most));
    return arith::MinimumFOp::create(b, loc, atLeast, constant(most));
  }

  /// The condition of the sum, over its dims with the index `part` before the reduced ones.
  static IntegerSetAttr behindPart(ReduceOp reduce) {
    std::optional<IntegerSet> set = reduce.getCondition();
    if (!set)
      return {};
    SmallVector<AffineExpr> dims, symbols;
    for (unsigned d = 0; d < reduce.getNumDims(); ++d)
      dims.push_back(getAffineDimExpr(d < reduce.getNumParallel() ? d : d + 1, reduce.getContext()));
    for (unsigned s = 0; s < set->getNumSymbols(); ++s)
      symbols.push_back(getAffineSymbolExpr(s, reduce.getContext()));
    return IntegerSetAttr::get(set->replaceDimsAndSymbols(dims, symbols, dims.size() + 1, symbols.size()));
  }

  /// Σ_k a·b  →  Σ_part Σ_k a_part·b_part with a = a_high + a_low in a narrow type, b alike, over
  /// high·high, high·low, low·high: what is left out is 2^-16 of each term in bf16, 2^-22 in tf32.
  void castToParts(ReduceOp reduce, const Contraction &c, const Narrow &narrow) {
    OpBuilder b(reduce);
    Location loc = reduce.getLoc();
    Type type = typeOf(narrow, b.getContext());
    bool isTf32 = isa<FloatTF32Type>(type); // numbers of tf32 are f32 in the IR
    auto toNarrow = [&](Value v) -> Value {
      return isTf32 ? RoundOp::create(b, loc, v, type).getResult() : arith::TruncFOp::create(b, loc, type, v).getResult();
    };
    auto toF32 = [&](Value v) -> Value { return isTf32 ? v : arith::ExtFOp::create(b, loc, b.getF32Type(), v).getResult(); };
    unsigned parallel = reduce.getNumParallel();
    SmallVector<OpOperand *> uses = findUsesIn(reduce.getYield().getValues()[0], {c.a, c.b});
    constexpr int64_t parts = 3;
    SmallVector<Attribute> indices(reduce.getIndices().getValue());
    indices.insert(indices.begin() + parallel, b.getStringAttr("part"));
    SmallVector<AffineExpr> extents(reduce.getExtents().getResults());
    extents.insert(extents.begin() + parallel, b.getAffineConstantExpr(parts));
    auto made = ReduceOp::create(b, loc, cast<RankedTensorType>(reduce.getResult().getType()), reduce.getKind(), b.getArrayAttr(indices),
                                 parallel, AffineMap::get(0, reduce.getExtents().getNumSymbols(), extents, b.getContext()),
                                 behindPart(reduce), Value(), AffineMapAttr(), reduce.getShapeAttr(), reduce.getNameAttr());
    made.setAnyOrder(reduce.getAnyOrder());
    Block &block = made.getBody().emplaceBlock();
    IRMapping mapping;
    for (unsigned d = 0; d < reduce.getNumDims() + 1; ++d)
      block.addArgument(b.getIndexType(), loc);
    for (unsigned d = 0; d < reduce.getNumDims(); ++d)
      mapping.map(reduce.getBlock().getArgument(d), block.getArgument(d < parallel ? d : d + 1));
    b.setInsertionPointToStart(&block);
    for (Operation &op : reduce.getBlock())
      b.clone(op, mapping);
    Value part = block.getArgument(parallel);
    for (auto [side, use] : llvm::enumerate(uses)) {
      Operation *inner = mapping.lookup(use->getOwner());
      b.setInsertionPoint(inner);
      Value factor = inner->getOperand(use->getOperandNumber());
      // Low in the last part for the first factor, in part 1 for the second: a digit of the index, so that two parts are one in memory.
      AffineExpr self = b.getAffineDimExpr(0), half = side == 0 ? self.floorDiv(2) : self % 2;
      Value digit = materialize(b, loc, half, part, reduce.getExtents().getNumSymbols());
      Value isLow = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, digit, arith::ConstantIndexOp::create(b, loc, 1));
      Value high = toNarrow(saturated(factor, type, b, loc));
      setHighPart(high.getDefiningOp());
      Value rest = arith::SubFOp::create(b, loc, factor, toF32(high));
      // NaN counts in the high part alone.
      Value isNumber = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, rest, rest);
      Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
      Value low = toNarrow(arith::SelectOp::create(b, loc, isNumber, rest, zero));
      Value chosen = arith::SelectOp::create(b, loc, isLow, low, high);
      Value operand = isTf32 ? toNarrow(chosen) : toF32(chosen); // a tf32 already, and said so
      if (isTf32)
        setHighPart(operand.getDefiningOp());
      inner->setOperand(use->getOperandNumber(), operand);
    }
    reduce.getResult().replaceAllUsesWith(made.getResult());
    std::string name = reduce.getNameAttr() ? reduce.getNameAttr().str() : "sum";
    explain(made, "the product of '" + name + "' multiplies its operands as sums of two " + narrow.name + ": three products of them");
    reduce.erase();
  }

  KernelOp kernel_;
  const PrecisionPolicy &policy_;
  SmallVector<int64_t> sizeDiv_, sizeMax_;
};

/// Factors that are computed in 32 bits and are values of a matrix unit's type all the same are cast to it, which changes nothing: signs
/// (`1.0 if .. else -1.0`), weights of few bits (`f32(w & 15) - 8`).
class ExactCaster {
public:
  explicit ExactCaster(ReduceOp reduce) : reduce_(reduce) {}

  void run() {
    std::optional<Contraction> c = findContraction(reduce_);
    if (!c || c->unitType)
      return;
    OpBuilder b(reduce_);
    if (c->a.getType().isF32()) {
      for (FloatType type : {FloatType(b.getF16Type()), FloatType(b.getBF16Type())})
        if (cast([&](Value factor) { return isExactIn(factor, type); }, type, /*isUnsigned=*/false))
          return;
    } else if (c->a.getType().isInteger(32)) {
      bool first = c->aUnsigned || c->bUnsigned;
      for (bool isUnsigned : {first, !first})
        if (cast([&](Value factor) { return isExactInByte(factor, isUnsigned); }, b.getI8Type(), isUnsigned))
          return;
    }
  }

private:
  /// Casts all factors that are `exact`, if a unit takes two of them then. (Whether the others are free of what te-split makes of an
  /// index is seen later.)
  bool cast(llvm::function_ref<bool(Value)> exact, Type type, bool isUnsigned) {
    SmallVector<OpOperand *> factors = findFactors(reduce_.getYield().getValues()[0]);
    llvm::erase_if(factors, [&](OpOperand *use) { return !exact(use->get()); });
    auto makeProduct = [&](OpOperand *a, OpOperand *b) {
      Contraction pair{a->get(), b->get()};
      return classify(reduce_, pair).has_value();
    };
    bool isProduct = false;
    for (unsigned n = 0; n < factors.size(); ++n)
      isProduct |= llvm::any_of(ArrayRef(factors).drop_front(n + 1), [&](OpOperand *other) { return makeProduct(factors[n], other); });
    if (!isProduct)
      return false;
    for (OpOperand *use : factors) {
      Value factor = use->get();
      if (embeds(narrowestType(factor), type))
        continue;
      OpBuilder b(use->getOwner());
      Location loc = factor.getLoc();
      if (isa<FloatType>(type))
        use->set(arith::ExtFOp::create(b, loc, factor.getType(), arith::TruncFOp::create(b, loc, type, factor).getResult()));
      else if (Value byte = arith::TruncIOp::create(b, loc, type, factor); isUnsigned)
        use->set(arith::ExtUIOp::create(b, loc, factor.getType(), byte));
      else
        use->set(arith::ExtSIOp::create(b, loc, factor.getType(), byte));
    }
    return true;
  }

  ReduceOp reduce_;
};

struct TePrecisionCastPass : impl::TePrecisionCastBase<TePrecisionCastPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<PrecisionPolicy> policy = given.empty() ? getPrecision(kernel) : PrecisionPolicy();
    if (failed(policy))
      return signalPassFailure();
    if (absl::Status s = given.empty() ? absl::OkStatus() : addPrecision(*policy, given.getValue()); !s.ok()) {
      kernel.emitError() << std::string(s.message());
      return signalPassFailure();
    }
    if (policy->empty()) {
      for (ReduceOp reduce : kernel.getBlock().getOps<ReduceOp>())
        ExactCaster(reduce).run();
      return;
    }
    Caster(kernel, *policy).run();
    if (policy->fastAccumulate)
      setAccumulatesFast(kernel);
    else if (isInParts(*policy))
      setAccumulatesRounded(kernel);
    setAppliedPrecision(kernel, policy->toString());
    setPrecision(kernel, {});
  }
};

} // namespace
} // namespace kernelc
