// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Precision.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace kernelc::te {

void setPrecision(KernelOp kernel, const PrecisionPolicy &policy) {
  Builder b(kernel.getContext());
  SmallVector<NamedAttribute> entries;
  if (!policy.contract.empty())
    entries.push_back(b.getNamedAttr("contract", b.getStringAttr(policy.contract)));
  if (policy.fastAccumulate)
    entries.push_back(b.getNamedAttr("accumulate", b.getStringAttr("fast")));
  if (policy.tolerance != 0)
    entries.push_back(b.getNamedAttr("tolerance", b.getF64FloatAttr(policy.tolerance)));
  if (entries.empty())
    kernel.removePrecisionAttr();
  else
    kernel.setPrecisionAttr(b.getDictionaryAttr(entries));
}

FailureOr<PrecisionPolicy> getPrecision(KernelOp kernel) {
  PrecisionPolicy policy;
  DictionaryAttr dict = kernel.getPrecisionAttr();
  if (!dict)
    return policy;
  for (NamedAttribute a : dict) {
    if (auto tolerance = dyn_cast<FloatAttr>(a.getValue()); tolerance && a.getName() == "tolerance" && tolerance.getValueAsDouble() > 0) {
      policy.tolerance = tolerance.getValueAsDouble();
      continue;
    }
    auto text = dyn_cast<StringAttr>(a.getValue());
    StringRef key = a.getName().getValue();
    if (!text || key == "rel" || key == "tolerance")
      return kernel.emitError() << "'precision' has a malformed entry '" << key << "'";
    absl::Status s = kernelc::setPrecision(policy, absl::string_view(key.data(), key.size()), text.getValue().str());
    if (!s.ok())
      return kernel.emitError() << std::string(s.message());
  }
  return policy;
}

void setAppliedPrecision(KernelOp kernel, StringRef what) { kernel.setPrecisionApplied(what); }

StringRef getAppliedPrecision(KernelOp kernel) { return kernel.getPrecisionApplied(); }

bool accumulatesFast(KernelOp kernel) { return kernel.getFastAccumulate(); }
void setAccumulatesFast(KernelOp kernel) { kernel.setFastAccumulate(true); }
bool accumulatesRounded(KernelOp kernel) { return kernel.getRoundedAccumulate(); }
void setAccumulatesRounded(KernelOp kernel) { kernel.setRoundedAccumulate(true); }

Value buildRoundToTf32(OpBuilder &b, Location loc, Value v) {
  auto like = [&](Type element) -> Type {
    auto shaped = dyn_cast<ShapedType>(v.getType());
    return shaped ? shaped.clone(element) : element;
  };
  Type bitsType = like(b.getI32Type());
  auto constant = [&](int32_t value) -> Value {
    TypedAttr scalar = b.getI32IntegerAttr(value);
    if (auto shaped = dyn_cast<ShapedType>(bitsType))
      scalar = SplatElementsAttr::get(shaped, Attribute(scalar));
    return arith::ConstantOp::create(b, loc, scalar);
  };
  // Half a unit of the last of tf32's 10 places, then cut the 13 places below it.
  Value bits = arith::BitcastOp::create(b, loc, bitsType, v);
  Value up = arith::AddIOp::create(b, loc, bits, constant(0x1000));
  Value cut = arith::AndIOp::create(b, loc, up, constant(~0x1fff));
  Value rounded = arith::BitcastOp::create(b, loc, v.getType(), cut);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, v, v);
  return arith::SelectOp::create(b, loc, isNan, v, rounded);
}

} // namespace kernelc::te
