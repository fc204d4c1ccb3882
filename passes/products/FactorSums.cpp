// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-factor-sums: see Passes.td. Chooses in which order a sum of products is contracted, and writes the partial sums down.
#include "passes/Passes.h"

#include "ir/te/Factors.h"
#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/plan/PlanAttr.h"
#include "passes/products/ChooseRowsLast.h"
#include "passes/products/NestedSums.h"
#include "passes/products/SeparateWindows.h"
#include "passes/products/SpreadOffsets.h"
#include "passes/products/StepCosts.h"
#include "passes/products/SumBody.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEFACTORSUMS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

constexpr unsigned kMostFactors = 8; // all of whose subsets are tried

/// How the product of a set of factors is made, the indices summed that no other factor has.
struct Step {
  double cost = -1; ///< of all that leads to it; below zero: there is none
  unsigned left = 0, right = 0;
  bool leftSummed = false, rightSummed = false; ///< single factors, summed before
  llvm::BitVector domain, result;
  bool isSum() const { return domain != result; }
};

class Factoring {
public:
  Factoring(KernelOp kernel, ReduceOp reduce, ArrayRef<int64_t> sizeMax, bool policy)
      : kernel_(kernel), reduce_(reduce), points_(kernel, sizeMax), dims_(reduce.getNumDims()), parallel_(reduce.getNumParallel()),
        policy_(policy) {}

  /// What the sum comes to in steps; null where it stays. `written`: the sum whose work the text has, which may be one of two that follow
  /// each other.
  Value run(ReduceOp written) {
    if (reduce_.getInit() || reduce_.getOutMap() || reduce_.getCondition() || reduce_.getYield().getCondition())
      return {};
    llvm::BitVector covered(dims_);
    for (OpOperand *use : findFactors(reduce_.getYield().getValues()[0])) {
      llvm::BitVector support = findSupport(use->get(), dims_);
      if (support.find_next(parallel_ - 1) < 0) {
        scales_.push_back(use->get());
        continue;
      }
      factors_.push_back(use->get());
      supports_.push_back(support);
      covered |= support;
    }
    // Factors of results that no other one has: the sum goes before them.
    for (Value scale : llvm::to_vector(scales_)) {
      llvm::BitVector support = findSupport(scale, dims_), beyond = support;
      if (beyond.reset(covered).none())
        continue;
      llvm::erase(scales_, scale);
      factors_.push_back(scale);
      supports_.push_back(support);
      covered |= support;
    }
    if (factors_.size() < 2 || factors_.size() > kMostFactors || !covered.all())
      return {};
    search();
    const Step &best = steps_.back();
    double points = pointsOf(llvm::BitVector(dims_, true)), direct = points;
    if (std::optional<Contraction> c = findContraction(written); c && c->unitType && !policy_)
      direct /= factorCosts().unit;
    if (!policy_ && !findGeneralContraction(written) && beginsWithProduct(unsigned(steps_.size()) - 1))
      direct *= factorCosts().pointByPoint;
    if (best.cost * factorCosts().worthwhile > direct)
      return {};
    double work = 0;
    multiplyAdds(unsigned(steps_.size()) - 1, work);
    Location loc = reduce_.getLoc();
    Value made = rewrite();
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "this sum is taken in steps, " << llvm::join(names_, ", ") << " first: " << llvm::format("%.3g", work)
       << " multiply-adds instead of " << llvm::format("%.3g", points);
    if (assumed_)
      os << ", where sizes that are not known count as " << factorCosts().unknown << " (--set, --fact)";
    emitRemark(loc) << text;
    return made;
  }

private:
  double pointsAlong(AffineExpr e) {
    assumed_ |= points_.isAssumed(e);
    return points_.along(e);
  }
  double pointsOf(const llvm::BitVector &dims) {
    double points = 1;
    for (unsigned d : dims.set_bits())
      points *= pointsAlong(reduce_.getExtents().getResult(d));
    return points;
  }
  /// How many elements the tensors have that a factor reads.
  double elementsOf(unsigned factor) {
    double all = 0;
    for (ReadOp read : findReads(factors_[factor])) {
      double elements = 1;
      for (AffineExpr e : getTensorShape(read.getTensor()).getResults())
        elements *= pointsAlong(e);
      all += elements;
    }
    return all;
  }

  /// The indices of `dims` that the result has, or a factor outside of the set.
  llvm::BitVector keptOf(unsigned set, llvm::BitVector dims) {
    llvm::BitVector kept(dims_);
    kept.set(0, parallel_);
    for (unsigned f = 0; f < factors_.size(); ++f)
      if (!(set >> f & 1))
        kept |= supports_[f];
    dims &= kept;
    return dims;
  }

  double storedCost(const llvm::BitVector &dims) { return factorCosts().element * pointsOf(dims) + factorCosts().statement; }

  void search() {
    unsigned n = factors_.size();
    steps_.resize(1u << n);
    // Raw, and with the indices summed that a factor alone has.
    auto variants = [&](unsigned set) {
      SmallVector<std::tuple<llvm::BitVector, double, bool>> v{{steps_[set].result, steps_[set].cost, false}};
      // Sums over windows of what a factor reads are no step where there are more of them than of what they read: windows overlap, and
      // what follows would read each element of them once, where a convolution's tile reads its box.
      if (llvm::isPowerOf2_32(set))
        if (llvm::BitVector kept = keptOf(set, steps_[set].result);
            kept != steps_[set].result && pointsOf(kept) <= elementsOf(llvm::Log2_32(set)))
          v.push_back({kept, pointsOf(steps_[set].result) + storedCost(kept), true});
      return v;
    };
    for (unsigned set = 1; set < steps_.size(); ++set) {
      Step &step = steps_[set];
      if (llvm::isPowerOf2_32(set)) {
        step.cost = 0;
        step.domain = step.result = supports_[llvm::Log2_32(set)];
        continue;
      }
      for (unsigned left = (set - 1) & set; left; left = (left - 1) & set) {
        unsigned right = set & ~left;
        if (left > right)
          continue;
        for (auto &[a, costA, summedA] : variants(left))
          for (auto &[b, costB, summedB] : variants(right)) {
            Step s{0, left, right, summedA, summedB, a, {}};
            s.domain |= b;
            s.result = keptOf(set, s.domain);
            bool last = set + 1 == steps_.size();
            s.cost = costA + costB + pointsOf(s.domain) / (s.isSum() || last ? 1 : factorCosts().unit);
            if (s.isSum() && !last)
              s.cost += storedCost(s.result);
            if (step.cost < 0 || s.cost < step.cost)
              step = s;
          }
      }
    }
  }

  /// Whether a step before the last is a product of two operands that each have an index of their own.
  bool beginsWithProduct(unsigned set) {
    if (llvm::isPowerOf2_32(set))
      return false;
    const Step &s = steps_[set];
    auto isProduct = [&](unsigned child) {
      const Step &c = steps_[child];
      return !llvm::isPowerOf2_32(child) && c.isSum() && c.domain != steps_[c.left].result && c.domain != steps_[c.right].result;
    };
    return llvm::any_of(ArrayRef({s.left, s.right}), [&](unsigned child) { return isProduct(child) || beginsWithProduct(child); });
  }

  void multiplyAdds(unsigned set, double &work) {
    if (llvm::isPowerOf2_32(set))
      return;
    const Step &s = steps_[set];
    if (s.isSum() || set + 1 == steps_.size())
      work += pointsOf(s.domain);
    for (auto [child, summed] : {std::pair(s.left, s.leftSummed), std::pair(s.right, s.rightSummed)}) {
      if (summed)
        work += pointsOf(steps_[child].domain);
      multiplyAdds(child, work);
    }
  }

  /// What a statement multiplies: factors of the sum, and partial sums with their indices.
  struct Operands {
    SmallVector<unsigned> factors;
    SmallVector<std::pair<Value, llvm::BitVector>> sums;
  };

  void collect(unsigned set, bool summed, Operands &into) {
    const Step &s = steps_[set];
    bool single = llvm::isPowerOf2_32(set);
    if (!summed && (single || !s.isSum())) {
      if (single)
        into.factors.push_back(llvm::Log2_32(set));
      else
        collectChildren(s, into);
      return;
    }
    Operands own;
    if (single)
      own.factors.push_back(llvm::Log2_32(set));
    else
      collectChildren(s, own);
    llvm::BitVector result = keptOf(set, s.domain);
    into.sums.push_back({makePartialSum(own, s.domain, result, set), result});
  }
  void collectChildren(const Step &s, Operands &into) {
    collect(s.left, s.leftSummed, into);
    collect(s.right, s.rightSummed, into);
  }

  std::string nameOf(Value tensor) {
    if (auto arg = dyn_cast<BlockArgument>(tensor))
      return cast<StringAttr>(kernel_.getArgNames()[arg.getArgNumber()]).str();
    auto name = tensor.getDefiningOp()->getAttrOfType<StringAttr>("name");
    return name ? name.str() : "sum";
  }

  /// The tensors that the factors read, joined; `b_sum` for one. Unlike all names of the kernel.
  std::string nameFor(unsigned set) {
    SmallVector<std::string> parts;
    for (unsigned f = 0; f < factors_.size(); ++f)
      if (set >> f & 1)
        if (SmallVector<ReadOp> reads = findReads(factors_[f]); !reads.empty())
          parts.push_back(nameOf(reads.front().getTensor()));
    if (parts.size() < 2)
      parts.push_back("sum");
    std::string base = llvm::join(parts, "_"), name = base;
    auto taken = [&] {
      auto is = [&](Attribute a) { return cast<StringAttr>(a).getValue() == name; };
      return llvm::any_of(kernel_.getArgNames(), is) || llvm::any_of(kernel_.getOutNames(), is) || llvm::any_of(kernel_.getSizes(), is) ||
             llvm::any_of(kernel_.getBlock(), [&](Operation &op) {
               auto other = op.getAttrOfType<StringAttr>("name");
               return other && other.getValue() == name;
             });
    };
    for (unsigned i = 2; taken(); ++i)
      name = base + "_" + std::to_string(i);
    return name;
  }

  /// The product of the operands and the scales.
  Value multiply(OpBuilder &b, IRMapping &mapping, const Operands &operands, ArrayRef<Value> scales) {
    Location loc = reduce_.getLoc();
    SmallVector<Value> wanted;
    for (unsigned f : operands.factors)
      wanted.push_back(factors_[f]);
    llvm::append_range(wanted, scales);
    cloneTerms(b, reduce_, wanted, mapping);
    SmallVector<Value> values;
    for (Value v : wanted)
      values.push_back(mapping.lookupOrDefault(v));
    for (const auto &[sum, dims] : operands.sums) {
      SmallVector<Value> point;
      for (unsigned d : dims.set_bits())
        point.push_back(mapping.lookup(reduce_.getBlock().getArgument(d)));
      values.push_back(ReadOp::create(b, loc, reduce_.getResult().getType().getElementType(), sum, point, AffineMapAttr(),
                                      BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value()));
    }
    return multiplyAll(b, loc, values);
  }

  /// The dims of a statement, those of its result first.
  SmallVector<unsigned> orderOf(const llvm::BitVector &domain, const llvm::BitVector &result) {
    SmallVector<unsigned> order(result.set_bits());
    for (unsigned d : domain.set_bits())
      if (!result[d])
        order.push_back(d);
    return order;
  }

  Value makePartialSum(const Operands &operands, const llvm::BitVector &domain, const llvm::BitVector &result, unsigned set) {
    OpBuilder at(reduce_);
    names_.push_back(nameFor(set));
    ReduceOp sum = makeSum(at, reduce_, orderOf(domain, result), result.count(), IntegerSetAttr(), at.getStringAttr(names_.back()),
                           [&](OpBuilder &b, IRMapping &mapping) { return multiply(b, mapping, operands, {}); });
    sum.setAnyOrder(reduce_.getAnyOrder());
    return sum.getResult();
  }

  Value rewrite() {
    const Step &last = steps_.back();
    Operands operands;
    collectChildren(last, operands);
    llvm::BitVector result(dims_), domain = last.domain;
    result.set(0, parallel_);
    domain |= result;
    SmallVector<unsigned> order = orderOf(domain, result);
    OpBuilder b(reduce_);
    auto type = reduce_.getResult().getType();
    auto body = [&](OpBuilder &b, IRMapping &mapping) { return multiply(b, mapping, operands, scales_); };
    Value made;
    if (domain == result) { // nothing is left to sum
      auto op = ComputeOp::create(b, reduce_.getLoc(), type, indicesOf(reduce_, order), extentsOf(reduce_, order), IntegerSetAttr(),
                                  Value(), AffineMapAttr(), reduce_.getShapeAttr(), reduce_.getNameAttr(), false);
      writeBody(op.getBody().emplaceBlock(), reduce_, order, body);
      made = op.getResult();
    } else {
      auto op = ReduceOp::create(b, reduce_.getLoc(), type, Combiner::Sum, indicesOf(reduce_, order), parallel_, extentsOf(reduce_, order),
                                 IntegerSetAttr(), Value(), AffineMapAttr(), reduce_.getShapeAttr(), reduce_.getNameAttr());
      op.setAnyOrder(reduce_.getAnyOrder());
      writeBody(op.getBody().emplaceBlock(), reduce_, order, body);
      made = op.getResult();
    }
    reduce_.getResult().replaceAllUsesWith(made);
    reduce_.erase();
    return made;
  }

  KernelOp kernel_;
  ReduceOp reduce_;
  BoundedPoints points_;
  unsigned dims_, parallel_;
  bool policy_, assumed_ = false;
  SmallVector<Value> factors_, scales_; ///< with and without a reduced index
  SmallVector<llvm::BitVector> supports_;
  SmallVector<Step> steps_; ///< by set of factors
  SmallVector<std::string> names_;
};

/// A sum of another sum's results, as one sum in steps, or as a product whose partial sums have scales.
void takeNested(KernelOp kernel, ReduceOp outer, ArrayRef<int64_t> sizeMax) {
  std::optional<NestedSum> nested = findNestedSum(outer);
  if (!nested)
    return;
  auto isOfUnit = [](ReduceOp reduce) {
    std::optional<Contraction> c = findContraction(reduce);
    return c && c->unitType;
  };
  bool wasOfUnit = isOfUnit(nested->inner) && !isOfUnit(outer);
  ReduceOp joint = writeJointSum(*nested);
  if (Value sum = Factoring(kernel, joint, sizeMax, false).run(nested->inner))
    replaceBySum(*nested, sum);
  else if (nested->isScaled && wasOfUnit && isOfUnit(joint))
    replaceBySum(*nested, joint.getResult());
  else
    joint.erase();
}

struct TeFactorSumsPass : impl::TeFactorSumsBase<TeFactorSumsPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    SmallVector<int64_t> max(sizeMax.begin(), sizeMax.end());
    FailureOr<PrecisionPolicy> policy = getPrecision(kernel);
    if (failed(policy) || failed(checkSizeFacts(kernel, {}, max)))
      return signalPassFailure();
    // What a policy has rounded are the operands of the order that was chosen then.
    if (!getAppliedPrecision(kernel).empty() || (policies && policy->empty()))
      return;
    if (policy->empty()) // (what a policy rounds are the factors of the sums that the text has)
      for (ReduceOp reduce : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>()))
        takeNested(kernel, reduce, max);
    for (ReduceOp reduce : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>()))
      if (!spreadOffsets(reduce, max) && policy->empty())
        chooseRowsLast(reduce, max);
    for (ReduceOp reduce : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>()))
      if (reduce.getKind() == Combiner::Sum)
        Factoring(kernel, reduce, max, !policy->empty()).run(reduce);
    if (!policy->empty())
      return;
    for (ReduceOp reduce : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>()))
      while (reduce)
        reduce = separateWindow(kernel, reduce, {{}, max});
  }
};

} // namespace
} // namespace kernelc
