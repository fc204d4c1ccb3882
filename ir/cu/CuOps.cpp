// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/cu/Cu.h"

#include "ir/cu/KernelVerifier.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace kernelc;

#include "ir/cu/CuDialect.cpp.inc"

#define GET_OP_CLASSES
#include "ir/cu/CuOps.cpp.inc"

void cu::CuDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/cu/CuOps.cpp.inc"
      >();
}

OpFoldResult cu::DescAdvanceOp::fold(FoldAdaptor adaptor) { return matchPattern(adaptor.getBytes(), m_Zero()) ? getDescriptor() : Value(); }

LogicalResult cu::KernelOp::verifyRegions() { return verifyKernel(*this); }

cu::LambdaOp cu::CallOp::getLambda() { return getCallee().getDefiningOp<LambdaOp>(); }

MemRefType cu::memrefIn(ArrayRef<int64_t> shape, Type element, AddressSpace space) {
  auto attr = IntegerAttr::get(IntegerType::get(element.getContext(), 64), int64_t(space));
  return MemRefType::get(shape, element, MemRefLayoutAttrInterface(), attr);
}

cu::AddressSpace cu::spaceOf(Value memref) {
  auto attr = dyn_cast_or_null<IntegerAttr>(cast<MemRefType>(memref.getType()).getMemorySpace());
  return attr ? AddressSpace(attr.getInt()) : Global;
}

bool cu::isSearch(Operation *op) { return isa_and_nonnull<CountWhereOp, FindWhereOp, ExtremeOp>(op); }

Location cu::unnamed(Location loc) {
  while (auto name = dyn_cast<NameLoc>(loc))
    loc = name.getChildLoc();
  return loc;
}

StringRef cu::findName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().getValue();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location l : fused.getLocations())
      if (StringRef n = findName(l); !n.empty())
        return n;
  return {};
}
