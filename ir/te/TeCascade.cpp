// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifier and accessors of te.cascade. The labels [C1].. are those of TeCascade.td.
#include "ir/te/Combiners.h"
#include "ir/te/Te.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::te;

Combiner CascadeOp::getComponentKind(unsigned k) { return *symbolizeCombiner(cast<StringAttr>(getKinds()[k]).getValue()); }
Type CascadeOp::getComponentType(unsigned k) { return getElementValue(k).getType(); }
Value CascadeOp::getElementValue(unsigned k) { return getYield().getValues()[k]; }
Value CascadeOp::getRescaledValue(unsigned k) { return cast<YieldOp>(getRescale().front().getTerminator()).getValues()[k]; }
Value CascadeOp::getFinalValue(unsigned k) { return cast<YieldOp>(getFinalize().front().getTerminator()).getValues()[k]; }
YieldOp CascadeOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }
SmallVector<unsigned> CascadeOp::getOwnDims(unsigned k) {
  if (!getDims())
    return llvm::to_vector(llvm::seq(0u, getNumParallel()));
  return llvm::map_to_vector(cast<ArrayAttr>((*getDims())[k]), [](Attribute a) { return unsigned(cast<IntegerAttr>(a).getInt()); });
}
AffineMap CascadeOp::getResultShape(unsigned k) {
  AffineMap e = getExtents();
  auto own = llvm::map_to_vector(getOwnDims(k), [&](unsigned d) { return e.getResult(d); });
  return AffineMap::get(0, e.getNumSymbols(), own, getContext());
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
    ArrayAttr dims = op.getDimsAttr();
    if (dims) {
      SmallVector<Attribute> own(dims.getValue());
      own.erase(own.begin() + k);
      dims = rewriter.getArrayAttr(own);
    }
    auto smaller = CascadeOp::create(rewriter, op.getLoc(), types, rewriter.getArrayAttr(kinds), op.getIndices(), op.getParallel(), dims,
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

namespace {

/// [C6] `dims` by itself: per component a list of parallel dims, each once.
LogicalResult verifyDims(CascadeOp op) {
  if (!op.getDims())
    return success();
  ArrayAttr dims = *op.getDims();
  if (dims.size() != op.getNumComponents())
    return op.emitOpError() << "[C6] has " << op.getNumComponents() << " components, and dims of " << dims.size();
  for (Attribute list : dims) {
    llvm::SmallSet<int64_t, 4> seen;
    auto array = dyn_cast<ArrayAttr>(list);
    bool ok = bool(array);
    for (size_t i = 0; ok && i < array.size(); ++i) {
      auto dim = dyn_cast<IntegerAttr>(array[i]);
      ok = dim && dim.getInt() >= 0 && dim.getInt() < int64_t(op.getNumParallel()) && seen.insert(dim.getInt()).second;
    }
    if (!ok)
      return op.emitOpError() << "[C6] " << list << " is no list of some of its " << op.getNumParallel() << " parallel dims, each once";
  }
  return success();
}

/// [C6] What component k depends on: parallel dims and components that it knows.
LogicalResult verifyOwnDims(CascadeOp op, unsigned k) {
  unsigned parallel = op.getNumParallel(), dims = op.getNumDims(), n = op.getNumComponents();
  SmallVector<unsigned> own = op.getOwnDims(k);
  auto lacksDim = [&](unsigned d) { return d < parallel && !llvm::is_contained(own, d); };
  auto lacksComponent = [&](unsigned j) { return llvm::any_of(op.getOwnDims(j), lacksDim); };
  if (dependsOn(op.getElementValue(k), op.getBlock(), [&](unsigned a) { return a < dims ? lacksDim(a) : lacksComponent(a - dims); }))
    return op.emitOpError() << "[C6] component " << k << " of the element depends on a dim that it does not have";
  if (dependsOn(op.getRescaledValue(k), op.getRescale().front(), [&](unsigned a) { return lacksComponent(a % n); }))
    return op.emitOpError() << "[C6] component " << k << " of the rescale depends on a dim that it does not have";
  if (dependsOn(op.getFinalValue(k), op.getFinalize().front(),
                [&](unsigned a) { return a < parallel ? lacksDim(a) : lacksComponent(a - parallel); }))
    return op.emitOpError() << "[C6] result " << k << " depends on a dim that it does not have";
  bool conditional = false;
  for (unsigned d = 0; d < parallel; ++d)
    if (lacksDim(d)) {
      std::optional<IntegerSet> set = op.getCondition();
      conditional |= set && llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(d); });
      if (Value c = op.getYield().getCondition())
        conditional |= dependsOn(c, op.getBlock(), [&](unsigned a) { return a == d; });
    }
  return conditional ? op.emitOpError() << "[C6] a condition depends on a dim that component " << k << " does not have" : success();
}

} // namespace

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
  if (failed(verifyDims(*this)))
    return failure();
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
    unsigned rank = getOwnDims(k).size();
    if (type.getRank() != int64_t(rank) || type.getElementType() != getFinalValue(k).getType())
      return emitOpError() << "[C4] result " << k << " must have " << rank << " dims of type " << getFinalValue(k).getType();
    if (failed(verifyOwnDims(*this, k)))
      return failure();
  }
  if (Value c = yield.getCondition())
    if (dependsOn(c, getBlock(), [&](unsigned a) { return a >= dims; }))
      return emitOpError() << "[C3] the condition depends on a component";
  return success();
}
