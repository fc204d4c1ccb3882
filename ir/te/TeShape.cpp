// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/TeShape.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::te {

Type getStorageType(MLIRContext *context, ElementType t) {
  Builder b(context);
  switch (t) {
  case ElementType::f64: return b.getF64Type();
  case ElementType::f32: return b.getF32Type();
  case ElementType::f16: return b.getF16Type();
  case ElementType::bf16: return b.getBF16Type();
  case ElementType::f8e4m3: return Float8E4M3FNType::get(context);
  case ElementType::f8e5m2: return Float8E5M2Type::get(context);
  case ElementType::boolean: return b.getI1Type();
  default: return b.getIntegerType(elementBits(t));
  }
}

ElementType getElementType(StringAttr name) {
  auto t = findElementType(absl::string_view(name.data(), name.size()));
  assert(t && "the te.kernel verifier admits only known type names");
  return *t;
}

KernelOp getKernel(Operation *op) {
  if (auto kernel = dyn_cast<KernelOp>(op))
    return kernel;
  return op->getParentOfType<KernelOp>();
}

/// A division by a size that turns out to be no number of things stands where there are no points: it may be one by 1, which
/// keeps what is divided (an access that depends on no index is not guarded by the domain).
static AffineExpr withoutEmptyDivisions(AffineExpr e) {
  auto b = dyn_cast<AffineBinaryOpExpr>(e);
  if (!b)
    return e;
  AffineExpr l = withoutEmptyDivisions(b.getLHS()), r = withoutEmptyDivisions(b.getRHS());
  bool divides = e.getKind() != AffineExprKind::Add && e.getKind() != AffineExprKind::Mul;
  if (auto c = dyn_cast<AffineConstantExpr>(r); c && divides && c.getValue() < 1)
    return e.getKind() == AffineExprKind::Mod ? getAffineConstantExpr(0, e.getContext()) : l;
  return l == b.getLHS() && r == b.getRHS() ? e : getAffineBinaryOpExpr(e.getKind(), l, r);
}

void replaceSizes(KernelOp kernel, ArrayRef<AffineExpr> by, unsigned symbols) {
  AttrTypeReplacer replacer;
  auto dims = [&](unsigned count) {
    return llvm::map_to_vector(llvm::seq(count), [&](unsigned d) { return getAffineDimExpr(d, kernel.getContext()); });
  };
  replacer.addReplacement([&](AffineMapAttr a) -> std::optional<Attribute> {
    AffineMap m = a.getValue();
    if (m.getNumSymbols() != by.size())
      return std::nullopt;
    m = m.replaceDimsAndSymbols(dims(m.getNumDims()), by, m.getNumDims(), symbols);
    SmallVector<AffineExpr> results = llvm::map_to_vector(m.getResults(), withoutEmptyDivisions);
    return AffineMapAttr::get(AffineMap::get(m.getNumDims(), symbols, results, m.getContext()));
  });
  replacer.addReplacement([&](IntegerSetAttr a) -> std::optional<Attribute> {
    IntegerSet s = a.getValue();
    if (s.getNumSymbols() != by.size())
      return std::nullopt;
    s = s.replaceDimsAndSymbols(dims(s.getNumDims()), by, s.getNumDims(), symbols);
    SmallVector<AffineExpr> constraints = llvm::map_to_vector(s.getConstraints(), withoutEmptyDivisions);
    return IntegerSetAttr::get(IntegerSet::get(s.getNumDims(), symbols, constraints, s.getEqFlags()));
  });
  replacer.recursivelyReplaceElementsIn(kernel, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/false);
}

AffineMap getTensorShape(Value tensor) {
  if (RecurrenceOp own = findRecurrence(tensor))
    return own.getResultShape();
  if (auto arg = dyn_cast<BlockArgument>(tensor))
    return cast<KernelOp>(arg.getOwner()->getParentOp()).getArgShape(arg.getArgNumber());
  return llvm::TypeSwitch<Operation *, AffineMap>(tensor.getDefiningOp())
      .Case<ComputeOp, FoldOp, RecurrenceOp, ReduceOp, ScatterOp>([](auto op) { return op.getResultShape(); })
      .Case<CascadeOp>([&](CascadeOp op) { return op.getResultShape(cast<OpResult>(tensor).getResultNumber()); })
      .Default([](Operation *) { return AffineMap(); });
}

bool isDomainOp(Operation *op) { return isa<ComputeOp, ReduceOp, CascadeOp, FoldOp, RecurrenceOp, ScatterOp>(op); }

RecurrenceOp findRecurrence(Value self) {
  auto arg = dyn_cast<BlockArgument>(self);
  return arg ? dyn_cast_or_null<RecurrenceOp>(arg.getOwner()->getParentOp()) : RecurrenceOp();
}

SmallVector<unsigned> getResultDims(Value result) {
  Operation *op = result.getDefiningOp();
  if (auto cascade = dyn_cast<CascadeOp>(op))
    return cascade.getOwnDims(cast<OpResult>(result).getResultNumber());
  return llvm::to_vector(llvm::seq(0u, getNumParallel(op)));
}

SmallVector<Operation *> getDomainOps(KernelOp kernel) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getBlock())
    if (isDomainOp(&op))
      ops.push_back(&op);
  return ops;
}

AffineMap getExtents(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getExtents(); });
}
unsigned getNumParallel(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getNumParallel(); });
}
ArrayAttr getIndices(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getIndices(); });
}
std::optional<IntegerSet> getCondition(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getCondition(); });
}
Value findInit(Operation *op) {
  if (auto compute = dyn_cast_or_null<ComputeOp>(op))
    return compute.getInit();
  if (auto recurrence = dyn_cast_or_null<RecurrenceOp>(op))
    return recurrence.getInit();
  if (auto scatter = dyn_cast_or_null<ScatterOp>(op))
    return scatter.getInit();
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  return reduce ? reduce.getInit() : Value();
}
std::optional<unsigned> findIndex(Operation *op, Value v) {
  auto arg = dyn_cast<BlockArgument>(v);
  if (!arg || arg.getOwner()->getParentOp() != op)
    return std::nullopt;
  unsigned indices = arg.getOwner()->getNumArguments();
  if (auto cascade = dyn_cast<CascadeOp>(op)) {
    Region *region = arg.getOwner()->getParent();
    indices = region == &cascade.getElement() ? cascade.getNumDims() : region == &cascade.getFinalize() ? cascade.getNumParallel() : 0;
  }
  if (auto fold = dyn_cast<FoldOp>(op))
    indices = arg.getOwner()->getParent() == &fold.getElement() ? fold.getNumDims() : 0;
  if (auto recurrence = dyn_cast<RecurrenceOp>(op))
    indices = recurrence.getNumDims();
  return arg.getArgNumber() < indices ? std::optional(arg.getArgNumber()) : std::nullopt;
}
YieldOp getYield(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getYield(); });
}

} // namespace kernelc::te
