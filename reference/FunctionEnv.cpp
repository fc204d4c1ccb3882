// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FunctionEnv: the context array's contents as values of one function.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "reference/NarrowFloats.h"
#include "reference/ScalarEmitter.h"

using namespace mlir;

namespace kernelc::reference {

Type FunctionEnv::valueType(Type type) const {
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 64);
  if (isa<FloatType>(type))
    return isF64() ? Type(Float64Type::get(type.getContext())) : carrierType(type);
  return type;
}

Type FunctionEnv::memoryType(Type element, const Slot &slot) const {
  if (element.isInteger(1) || element.isInteger(4))
    return IntegerType::get(element.getContext(), 8);
  return slot.arg >= 0 ? carrierType(element) : valueType(element);
}

Value FunctionEnv::word(int index) {
  Value address = LLVM::GEPOp::create(entry, context.getType(), entry.getI64Type(), context, ArrayRef<LLVM::GEPArg>{int32_t(index)},
                                      LLVM::GEPNoWrapFlags::inbounds);
  return LLVM::LoadOp::create(entry, entry.getI64Type(), address);
}

ArrayRef<Value> FunctionEnv::sizes() {
  while (sizes_.size() < program.sizes.size())
    sizes_.push_back(word(kContextSizes + sizes_.size()));
  return sizes_;
}

const TensorAccess &FunctionEnv::tensor(int slot) {
  auto [it, isNew] = tensors_.try_emplace(slot);
  TensorAccess &t = it->second;
  if (!isNew)
    return t;
  const Slot &s = program.slots[slot];
  auto pointer = [&](int index) { return LLVM::IntToPtrOp::create(entry, LLVM::LLVMPointerType::get(entry.getContext()), word(index)); };
  t.data = pointer(s.context);
  if (s.hasError)
    t.errors = pointer(s.context + 1);
  int rank = int(s.dims.size());
  for (int i = 0; i < rank; ++i) {
    // Known to be 1: the runner packs arguments whose last stride is another.
    t.strides.push_back(i + 1 == rank ? constI64(entry, 1) : word(s.context + 2 + i));
    t.extents.push_back(word(s.context + 2 + rank + i));
  }
  return t;
}

void FunctionEnv::setAddresses(int slot, Value data, Value errors) {
  tensor(slot);
  TensorAccess &t = tensors_[slot];
  t.data = data;
  if (t.errors)
    t.errors = errors;
}

Value FunctionEnv::sizeExpr(AffineExpr expr) { return emitAffine(entry, expr, {}, sizes()); }

} // namespace kernelc::reference
