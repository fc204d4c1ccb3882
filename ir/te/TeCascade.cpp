// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifier and accessors of te.cascade. The labels [C1].. are those of TeCascade.td.
#include "ir/te/Combiners.h"
#include "ir/te/Te.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::te;

Combiner CascadeOp::getComponentKind(unsigned k) { return *symbolizeCombiner(cast<StringAttr>(getKinds()[k]).getValue()); }
Type CascadeOp::getComponentType(unsigned k) { return getElementValue(k).getType(); }
Value CascadeOp::getElementValue(unsigned k) { return getYield().getValues()[k]; }
Value CascadeOp::getRescaledValue(unsigned k) { return cast<YieldOp>(getRescale().front().getTerminator()).getValues()[k]; }
Value CascadeOp::getFinalValue(unsigned k) { return cast<YieldOp>(getFinalize().front().getTerminator()).getValues()[k]; }
YieldOp CascadeOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }
AffineMap CascadeOp::getResultShape() {
  AffineMap e = getExtents();
  return AffineMap::get(0, e.getNumSymbols(), e.getResults().take_front(getNumParallel()), getContext());
}

namespace {

/// Whether `value` depends on an argument of `block` with a number that `forbidden` holds for.
bool dependsOn(Value value, Block &block, llvm::function_ref<bool(unsigned)> forbidden) {
  SmallVector<Value> work{value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (auto arg = dyn_cast<BlockArgument>(v)) {
      if (arg.getOwner() == &block && forbidden(arg.getArgNumber()))
        return true;
      continue;
    }
    Operation *op = v.getDefiningOp();
    if (op->getBlock() == &block && seen.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// [C2] for one region: `indices` index arguments, then each of `types` `times` over;
/// n values are yielded.
LogicalResult verifyRegion(CascadeOp op, Region &region, StringRef name, unsigned indices, TypeRange types, unsigned times) {
  Block &block = region.front();
  unsigned n = types.size();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != n)
    return op.emitOpError() << "[C2] its " << name << " region must yield one value for each of the " << n << " components";
  if (&region != &op.getElement() && yield.getCondition())
    return op.emitOpError() << "[C2] only the element region may restrict the domain";
  bool ok = block.getNumArguments() == indices + times * n;
  for (unsigned i = 0; ok && i < block.getNumArguments(); ++i) {
    Type type = block.getArgument(i).getType();
    ok = i < indices ? type.isIndex() : type == types[(i - indices) % n];
  }
  if (!ok)
    return op.emitOpError() << "[C2] its " << name << " region must have " << indices << " index arguments and then "
                            << (times == 2 ? "twice " : "") << "the components'";
  return success();
}

} // namespace

namespace {

/// Whether a result in use, or another component, depends on component k.
bool isNeeded(CascadeOp op, unsigned k) {
  unsigned dims = op.getNumDims(), n = op.getNumComponents(), parallel = op.getNumParallel();
  for (unsigned j = 0; j < n; ++j) {
    if (!op.getResult(j).use_empty() &&
        dependsOn(op.getFinalValue(j), op.getFinalize().front(), [&](unsigned a) { return a == parallel + k; }))
      return true;
    if (j != k && (dependsOn(op.getElementValue(j), op.getBlock(), [&](unsigned a) { return a == dims + k; }) ||
                   dependsOn(op.getRescaledValue(j), op.getRescale().front(), [&](unsigned a) { return a % n == k; })))
      return true;
  }
  return !op.getResult(k).use_empty();
}

/// Moves a region without component k: what its yield gives for k, and arguments `first` + k, + n + k ..
void moveWithout(PatternRewriter &rewriter, Region &from, Region &to, unsigned k, unsigned n, unsigned first) {
  rewriter.inlineRegionBefore(from, to, to.end());
  Block &block = to.front();
  auto yield = cast<YieldOp>(block.getTerminator());
  rewriter.modifyOpInPlace(yield, [&] { yield.getValuesMutable().erase(k); });
  // Ops that only component k needed, the last first.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
  for (unsigned a = block.getNumArguments(); a-- > first;)
    if ((a - first) % n == k)
      block.eraseArgument(a);
}

} // namespace

///   %a, %b = te.cascade [..] { .. }   with %a unused and nothing of %b depending on it
///   => %b = te.cascade without component 0
LogicalResult CascadeOp::canonicalize(CascadeOp op, PatternRewriter &rewriter) {
  unsigned n = op.getNumComponents();
  // From the last: a later component may be the only one that needs an earlier one.
  for (unsigned k = n; k-- > 0;) {
    if (n == 1 || isNeeded(op, k))
      continue;
    SmallVector<Attribute> kinds(op.getKinds().getValue());
    kinds.erase(kinds.begin() + k);
    SmallVector<Type> types(op.getResultTypes());
    types.erase(types.begin() + k);
    auto smaller = CascadeOp::create(rewriter, op.getLoc(), types, rewriter.getArrayAttr(kinds), op.getIndices(), op.getParallel(),
                                     op.getExtents(), op.getConditionAttr(), op.getNameAttr());
    // The finalize region first: other unused results there may still name component k.
    Value filler;
    auto finalYield = cast<YieldOp>(op.getFinalize().front().getTerminator());
    for (unsigned j = 0; j < n; ++j)
      if (j != k &&
          dependsOn(finalYield.getValues()[j], op.getFinalize().front(), [&](unsigned a) { return a == op.getNumParallel() + k; })) {
        rewriter.setInsertionPoint(finalYield);
        filler =
            arith::ConstantOp::create(rewriter, op.getLoc(), cast<TypedAttr>(rewriter.getZeroAttr(finalYield.getValues()[j].getType())));
        rewriter.modifyOpInPlace(finalYield, [&] { finalYield.getValuesMutable()[j].set(filler); });
      }
    moveWithout(rewriter, op.getElement(), smaller.getElement(), k, n, op.getNumDims());
    moveWithout(rewriter, op.getRescale(), smaller.getRescale(), k, n, 0);
    moveWithout(rewriter, op.getFinalize(), smaller.getFinalize(), k, n, op.getNumParallel());
    for (unsigned j = 0; j < n; ++j)
      if (j != k)
        rewriter.replaceAllUsesWith(op.getResult(j), smaller.getResult(j < k ? j : j - 1));
    rewriter.eraseOp(op);
    return success();
  }
  return failure();
}

LogicalResult CascadeOp::verifyRegions() {
  KernelOp kernel = getKernel(*this);
  if (!kernel || (*this)->getParentOp() != kernel)
    return emitOpError() << "[C1] must stand in a te.kernel, as one of its statements";
  unsigned dims = getNumDims(), n = getNumComponents(), symbols = kernel.getNumSizes();
  AffineMap extents = getExtents();
  if (extents.getNumDims() != 0 || extents.getNumSymbols() != symbols || extents.getNumResults() != dims)
    return emitOpError() << "[C1] extents must be a map without dims over " << symbols << " sizes to " << dims << " results, one per index";
  if (getParallel() > uint64_t(dims))
    return emitOpError() << "[C1] has more parallel dims than indices";
  if (auto set = getCondition(); set && (set->getNumDims() != dims || set->getNumSymbols() != symbols))
    return emitOpError() << "[C1] the condition must be a set over the " << dims << " indices and the sizes";
  if (n == 0 || getNumResults() != n)
    return emitOpError() << "[C2] has " << n << " components and " << getNumResults() << " results";
  for (Attribute a : getKinds()) {
    std::optional<Combiner> kind = symbolizeCombiner(cast<StringAttr>(a).getValue());
    if (!kind || *kind >= Combiner::ArgMax)
      return emitOpError() << "[C2] " << a << " is no combiner of single values";
  }
  auto yield = dyn_cast<YieldOp>(getBlock().getTerminator());
  if (!yield || yield.getValues().size() != n)
    return emitOpError() << "[C2] its element region must yield one value for each of the " << n << " components";
  SmallVector<Type> types = llvm::to_vector(yield.getValues().getTypes());
  if (failed(verifyRegion(*this, getElement(), "element", dims, types, 1)) ||
      failed(verifyRegion(*this, getRescale(), "rescale", 0, types, 2)) ||
      failed(verifyRegion(*this, getFinalize(), "finalize", getParallel(), types, 1)))
    return failure();
  for (unsigned k = 0; k < n; ++k) {
    if (!combines(getComponentKind(k), types[k]))
      return emitOpError() << "[C5] " << getKinds()[k] << " does not reduce " << types[k];
    if (getRescaledValue(k).getType() != types[k])
      return emitOpError() << "[C2] component " << k << " is " << types[k] << ", rescaled it is " << getRescaledValue(k).getType();
    if (dependsOn(getElementValue(k), getBlock(), [&](unsigned a) { return a >= dims + k; }))
      return emitOpError() << "[C3] component " << k << " of the element depends on a component that is not before it";
    if (dependsOn(getRescaledValue(k), getRescale().front(), [&](unsigned a) { return a < n ? a > k : a - n >= k; }))
      return emitOpError() << "[C3] component " << k << " of the rescale depends on more than the old components up to it "
                           << "and the new ones before it";
    auto type = cast<RankedTensorType>(getResult(k).getType());
    if (type.getRank() != int64_t(getParallel()) || type.getElementType() != getFinalValue(k).getType())
      return emitOpError() << "[C4] result " << k << " must have " << getParallel() << " dims of type " << getFinalValue(k).getType();
  }
  if (Value c = yield.getCondition())
    if (dependsOn(c, getBlock(), [&](unsigned a) { return a >= dims; }))
      return emitOpError() << "[C3] the condition depends on a component";
  return success();
}
