// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/Strides.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/Builders.h"

#include <numeric>

using namespace mlir;

namespace kernelc::te {

namespace {

/// Input `param` with its dims in another order: new dim d is dim order[d].
void reorderDims(KernelOp kernel, unsigned param, ArrayRef<int> order) {
  auto reordered = [&](AffineMap map) {
    auto results = llvm::map_to_vector(order, [&](int d) { return map.getResult(d); });
    return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, map.getContext());
  };
  SmallVector<Attribute> shapes(kernel.getArgShapes().getValue());
  shapes[param] = AffineMapAttr::get(reordered(kernel.getArgShape(param)));
  kernel.setArgShapesAttr(ArrayAttr::get(kernel.getContext(), shapes));
  BlockArgument tensor = kernel.getBlock().getArgument(param);
  auto type = cast<RankedTensorType>(tensor.getType());
  tensor.setType(RankedTensorType::get(llvm::map_to_vector(order, [&](int d) { return type.getDimSize(d); }), type.getElementType()));
  for (Operation *user : tensor.getUsers()) {
    auto read = cast<ReadOp>(user); // all that is done with an input
    read.setMapAttr(AffineMapAttr::get(reordered(read.getMapOrIdentity())));
  }
}

} // namespace

SmallVector<StrideSize> addStrides(KernelOp kernel, ArrayRef<ParamGuard> guards) {
  struct Param {
    StringRef name;
    unsigned rank;
  };
  SmallVector<Param> params;
  auto add = [&](Attribute name, AffineMap shape) { params.push_back({cast<StringAttr>(name).getValue(), shape.getNumResults()}); };
  for (unsigned i = 0; i < kernel.getArgNames().size(); ++i)
    add(kernel.getArgNames()[i], kernel.getArgShape(i));
  for (unsigned o = 0; o < kernel.getOutNames().size(); ++o)
    if (kernel.getAlias(o) < 0)
      add(kernel.getOutNames()[o], kernel.getOutShape(o));
  SmallVector<StrideSize> added;
  if (guards.empty())
    return added;
  assert(guards.size() == params.size() && "a guard for every parameter");
  for (auto [i, p] : llvm::enumerate(params))
    for (unsigned d = 0; d < p.rank; ++d)
      if (guards[i].layout == LayoutClass::Any || (guards[i].layout == LayoutClass::InnerUnit && d + 1 < p.rank))
        added.push_back({int(i), guards[i].dimAt(d)});
  for (auto [i, guard] : llvm::enumerate(guards))
    if (!guard.order.empty())
      reorderDims(kernel, i, guard.order);
  Builder b(kernel.getContext());
  unsigned before = kernel.getNumSizes(), symbols = before + added.size();
  if (!added.empty()) {
    SmallVector<Attribute> names(kernel.getSizes().getValue());
    for (const StrideSize &s : added)
      names.push_back(b.getStringAttr(params[s.param].name + "_stride" + Twine(s.dim)));
    kernel.setSizesAttr(b.getArrayAttr(names));
    SmallVector<AffineExpr> own;
    for (unsigned i = 0; i < before; ++i)
      own.push_back(b.getAffineSymbolExpr(i));
    replaceSizes(kernel, own, symbols);
  }
  SmallVector<Attribute> strides;
  SmallVector<int64_t> alignment;
  for (auto [i, p] : llvm::enumerate(params)) {
    alignment.push_back(std::clamp<int64_t>(guards[i].alignment, 1, 16));
    if (guards[i].layout == LayoutClass::Dense) {
      strides.push_back(b.getUnitAttr());
      continue;
    }
    SmallVector<AffineExpr> list(p.rank, b.getAffineConstantExpr(1));
    unsigned next = 0; // slowest first, as they were added
    for (auto [n, s] : llvm::enumerate(added))
      if (s.param == int(i))
        list[next++] = b.getAffineSymbolExpr(before + n);
    strides.push_back(AffineMapAttr::get(AffineMap::get(0, symbols, list, b.getContext())));
  }
  kernel.setParamStridesAttr(b.getArrayAttr(strides));
  kernel.setParamAlignmentAttr(b.getDenseI64ArrayAttr(alignment));
  return added;
}

int64_t findParam(Value tensor) {
  if (RecurrenceOp own = findRecurrence(tensor))
    return findParam(own.getResult());
  if (auto arg = dyn_cast<BlockArgument>(tensor))
    return arg.getArgNumber();
  KernelOp kernel = getKernel(tensor.getDefiningOp());
  int64_t next = kernel.getBlock().getNumArguments();
  for (auto [o, out] : llvm::enumerate(kernel.getReturn().getOperands())) {
    int64_t alias = kernel.getAlias(o), param = alias >= 0 ? alias : next++;
    for (Value v = out; v; v = findInit(v.getDefiningOp()))
      if (v == tensor)
        return param;
  }
  Value init = findInit(tensor.getDefiningOp());
  return init ? findParam(init) : -1;
}

AffineMap getParamStrides(KernelOp kernel, int64_t param) {
  ArrayAttr list = kernel.getParamStridesAttr();
  if (!list || param < 0)
    return {};
  auto map = dyn_cast<AffineMapAttr>(list[param]);
  return map ? map.getValue() : AffineMap();
}

void setBytesStrides(KernelOp kernel, int64_t param, bool rows) {
  AffineMap strides = getParamStrides(kernel, param);
  if (!strides)
    return;
  SmallVector<Attribute> list(kernel.getParamStridesAttr().getValue());
  SmallVector<AffineExpr> halved;
  for (AffineExpr s : strides.getResults())
    halved.push_back(isa<AffineConstantExpr>(s) ? s : s.floorDiv(2));
  Builder b(kernel.getContext());
  list[param] = rows ? Attribute(AffineMapAttr::get(AffineMap::get(0, strides.getNumSymbols(), halved, b.getContext()))) : b.getUnitAttr();
  kernel.setParamStridesAttr(b.getArrayAttr(list));
}

int64_t getParamAlignment(KernelOp kernel, int64_t param) {
  DenseI64ArrayAttr list = kernel.getParamAlignmentAttr();
  return list && param >= 0 ? list[param] : 16;
}

int64_t rowDivisor(ReadOp read, const SizeFacts &facts) {
  KernelOp kernel = getKernel(read);
  int64_t bytes = std::max(1u, read.getResult().getType().getIntOrFloatBitWidth() / 8), param = findParam(read.getTensor());
  int64_t divisor = getParamAlignment(kernel, param);
  auto note = [&](AffineExpr pitch) { divisor = std::gcd(divisor, knownDivisor(pitch, facts) * bytes); };
  if (AffineMap strides = getParamStrides(kernel, param)) {
    if (llvm::none_of(strides.getResults(), [](AffineExpr s) { return s == getAffineConstantExpr(1, s.getContext()); }))
      return bytes;
    for (AffineExpr s : strides.getResults())
      if (s != getAffineConstantExpr(1, s.getContext()))
        note(s);
  } else if (AffineMap shape = getTensorShape(read.getTensor()); shape.getNumResults() > 1) {
    note(shape.getResults().back());
  }
  return divisor;
}

bool hasVectorRows(ReadOp read, const SizeFacts &facts) { return rowDivisor(read, facts) % kVectorBytes == 0; }

} // namespace kernelc::te
