// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/RingKernel.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

bool hasFloat(Type t) { return isa<FloatType>(getElementTypeOrSelf(t)); }

Type ringType(Type t) {
  if (!hasFloat(t))
    return t;
  Type i32 = IntegerType::get(t.getContext(), 32);
  auto shaped = dyn_cast<ShapedType>(t);
  return shaped ? Type(shaped.clone(i32)) : i32;
}

/// The integer op that stands for `op`, whose operands have been rewritten; null when
/// there is none.
Value rewriteScalar(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  auto x = [&](unsigned i) { return op->getOperand(i); };
  if (isa<arith::AddFOp>(op))
    return arith::AddIOp::create(b, loc, x(0), x(1));
  if (isa<arith::SubFOp>(op))
    return arith::SubIOp::create(b, loc, x(0), x(1));
  if (isa<arith::MulFOp>(op))
    return arith::MulIOp::create(b, loc, x(0), x(1));
  if (isa<math::FmaOp>(op))
    return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, x(0), x(1)), x(2));
  if (isa<arith::NegFOp>(op))
    return arith::SubIOp::create(b, loc, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0)), x(0));
  if (isa<arith::ExtFOp, arith::TruncFOp, te::RoundOp>(op))
    return x(0);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    double v = cast<FloatAttr>(constant.getValue()).getValueAsDouble();
    if (std::trunc(v) != v || std::fabs(v) >= 9e18)
      return {};
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(int64_t(v))));
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    Type i32 = b.getI32Type();
    unsigned width = x(0).getType().getIntOrFloatBitWidth();
    if (width == 32)
      return x(0);
    if (width > 32)
      return arith::TruncIOp::create(b, loc, i32, x(0));
    return isa<arith::SIToFPOp>(op) ? Value(arith::ExtSIOp::create(b, loc, i32, x(0))) : arith::ExtUIOp::create(b, loc, i32, x(0));
  }
  return {};
}

absl::Status rewrite(te::KernelOp kernel) {
  auto none = [](Operation *op) {
    return absl::UnimplementedError(absl::StrCat("'", op->getName().getStringRef().str(), "' is no op of a ring"));
  };
  SmallVector<Operation *> ops;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  OpBuilder b(kernel.getContext());
  for (Operation *op : ops) {
    bool floats = llvm::any_of(op->getResultTypes(), hasFloat);
    for (Region &region : op->getRegions())
      for (BlockArgument arg : region.getArguments())
        arg.setType(ringType(arg.getType()));
    if (auto reduce = dyn_cast<te::ReduceOp>(op);
        reduce && floats && reduce.getKind() != te::Combiner::Sum && reduce.getKind() != te::Combiner::Prod)
      return none(op);
    if (isa<te::CascadeOp>(op))
      return none(op);
    // An arg reduction has integers for results and compares floats.
    if (auto reduce = dyn_cast<te::ReduceOp>(op); reduce && reduce.isArg() && hasFloat(reduce.getYield().getValues()[0].getType()))
      return none(op);
    if (op->getName().getDialectNamespace() == "te" && !isa<te::ConvertOp, te::RoundOp>(op)) {
      for (Value v : op->getResults())
        v.setType(ringType(v.getType()));
      continue;
    }
    if (isa<arith::SelectOp>(op)) {
      op->getResult(0).setType(ringType(op->getResult(0).getType()));
      continue;
    }
    // Operands have been rewritten: whether one was a float shows in the op's kind.
    bool takesFloats = isa<arith::CmpFOp, te::ConvertOp, arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp, math::IsNaNOp, math::IsInfOp,
                           math::IsFiniteOp>(op);
    if (!floats && !takesFloats)
      continue;
    b.setInsertionPoint(op);
    Value v = takesFloats ? Value() : rewriteScalar(b, op);
    if (!v)
      return none(op);
    op->getResult(0).replaceAllUsesWith(v);
    op->erase();
  }
  auto types = [&](ArrayAttr names) {
    SmallVector<Attribute> out;
    for (Attribute a : names) {
      std::optional<ElementType> t =
          findElementType(absl::string_view(cast<StringAttr>(a).getValue().data(), cast<StringAttr>(a).getValue().size()));
      out.push_back(t && isFloat(*t) ? b.getStringAttr("i32") : a);
    }
    return b.getArrayAttr(out);
  };
  kernel.setArgTypesAttr(types(kernel.getArgTypes()));
  kernel.setOutTypesAttr(types(kernel.getOutTypes()));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<ReferenceKernel>> compileRingKernel(te::KernelOp kernel) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  te::KernelOp copy = kernel.clone();
  module->push_back(copy);
  if (absl::Status s = rewrite(copy); !s.ok())
    return s;
  return ReferenceKernel::compile(copy, Arithmetic::Own);
}

} // namespace kernelc::reference
