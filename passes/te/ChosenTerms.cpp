// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/ChosenTerms.h"

#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/TileCondition.h"
#include "passes/te/StatementWriter.h"

using namespace mlir;

namespace kernelc::te {
namespace {

class TermChooser : StatementWriter {
public:
  explicit TermChooser(ReduceOp reduce)
      : StatementWriter(reduce, reduce.getName().value_or("term")), reduce_(reduce), summed_(reduce.getNumParallel()) {}

  bool find() {
    bool isPlain = reduce_.getNumDims() == summed_ + 1 && !reduce_.isArg() && !reduce_.getInit() && !reduce_.getOutMap() &&
                   !reduce_.getCondition() && reduce_.getYield().getValues().size() == 1;
    if (!isPlain)
      return false;
    term_ = reduce_.getYield().getValues()[0];
    Value condition = reduce_.getYield().getCondition();
    if (auto select = term_.getDefiningOp<arith::SelectOp>(); select && !condition && isIdentity(select.getFalseValue())) {
      condition = select.getCondition();
      term_ = select.getTrueValue();
    }
    for (Value part : condition ? splitConjuncts(condition) : SmallVector<Value>()) {
      std::optional<std::pair<unsigned, Value>> named = findNamedDim(part);
      bool isChosen = named && named->first == summed_ && !chosen_ && !findSupport(named->second, reduce_.getNumDims())[summed_];
      if (isChosen)
        chosen_ = named->second;
      else
        rest_.push_back(part);
    }
    return chosen_ && !readsResults();
  }

  void take() {
    auto extents = reduce_.getExtents().getResults().take_front(summed_);
    SmallVector<StringRef> names = llvm::map_to_vector(reduce_.getIndices().getValue().take_front(summed_),
                                                       [](Attribute a) { return cast<StringAttr>(a).getValue(); });
    Type element = reduce_.getResult().getType().getElementType();
    auto op = makeCompute(reduce_.getNameAttr(), names, extents, element, [&](ValueRange at) { return choose(at, element); });
    reduce_.getResult().replaceAllUsesWith(op.getResult());
    reduce_.erase();
  }

private:
  /// Whether a term is made of what another statement makes: those who walk that have the term, and elsewhere it would have to be stored.
  bool readsResults() {
    return llvm::any_of(reduce_.getBlock().getOps<ReadOp>(), [&](ReadOp r) {
      return r.getTensor().getDefiningOp() && findSupport(r.getResult(), reduce_.getNumDims())[summed_];
    });
  }
  bool isIdentity(Value v) {
    auto constant = v.getDefiningOp<arith::ConstantOp>();
    return constant && constant.getValue() == identityOf(reduce_.getKind(), v.getType(), b);
  }

  Value choose(ValueRange at, Type element) {
    IRMapping mapping;
    for (auto [d, v] : llvm::enumerate(at))
      mapping.map(reduce_.getBlock().getArgument(unsigned(d)), v);
    Value place = cloneValue(chosen_, mapping, b);
    if (!place.getType().isIndex())
      place = toIndex(place);
    mapping.map(reduce_.getBlock().getArgument(summed_), place);
    padReads(mapping);
    Value counts = isWithin(place, reduce_.getExtents().getResult(summed_));
    for (Value part : rest_)
      counts = both(counts, cloneValue(part, mapping, b));
    Value none = arith::ConstantOp::create(b, loc(), cast<TypedAttr>(identityOf(reduce_.getKind(), element, b)));
    return arith::SelectOp::create(b, loc(), counts, cloneValue(term_, mapping, b), none);
  }

  /// What lies outside, as far as the index was inside, is zero: no other point reads it.
  void padReads(IRMapping &mapping) {
    for (ReadOp r : reduce_.getBlock().getOps<ReadOp>()) {
      bool isUnpadded = r.getBounds() == BoundsMode::InBounds || r.getBounds() == BoundsMode::Assume;
      if (!isUnpadded || !findSupport(r.getResult(), reduce_.getNumDims())[summed_])
        continue;
      SmallVector<Value> operands;
      for (Value operand : r.getOperands_())
        operands.push_back(cloneValue(operand, mapping, b));
      Type type = r.getResult().getType();
      Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(type));
      auto whole = ReadOp::create(b, r.getLoc(), type, r.getTensor(), operands, r.getMapAttr(),
                                  BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
      mapping.map(r.getResult(), whole.getResult());
    }
  }

  ReduceOp reduce_;
  unsigned summed_;
  Value term_, chosen_; ///< what is reduced, and the one place at which it counts
  SmallVector<Value> rest_;
};

} // namespace

void takeChosenTerms(KernelOp kernel) {
  for (ReduceOp reduce : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>()))
    if (TermChooser chooser(reduce); chooser.find())
      chooser.take();
}

} // namespace kernelc::te
