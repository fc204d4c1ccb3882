// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/roofline/ValueForms.h"

#include "absl/strings/str_cat.h"
#include "driver/compile/SizeExprOf.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IntegerSet.h"
#include "passes/analysis/Definitions.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kernelc {
namespace {

/// Attributes and types are unique in a context.
std::string address(const void *p) { return absl::StrCat(reinterpret_cast<uintptr_t>(p), " "); }

/// The dims that `read` reads at, one a subscript, where that is what they are and none stands twice.
std::optional<std::vector<unsigned>> plainDims(te::ReadOp read, ArrayRef<ValueForm> operands) {
  std::vector<unsigned> dims;
  for (AffineExpr e : read.getMapOrIdentity().getResults()) {
    auto d = dyn_cast<AffineDimExpr>(e);
    if (!d || !isa<BlockArgument>(read.getOperands_()[d.getPosition()]))
      return std::nullopt;
    unsigned dim = operands[d.getPosition()].dims[0];
    if (llvm::is_contained(dims, dim))
      return std::nullopt;
    dims.push_back(dim);
  }
  return dims;
}

} // namespace

AffineExpr ValueForms::fixed(AffineExpr e) const {
  SmallVector<AffineExpr> numbers;
  for (int64_t s : sizes_)
    numbers.push_back(getAffineConstantExpr(s, e.getContext()));
  return simplifyAffineExpr(e.replaceSymbols(numbers), 64, 0);
}

std::vector<int64_t> ValueForms::extents(AffineMap map) const {
  std::vector<int64_t> numbers;
  for (AffineExpr e : map.getResults())
    numbers.push_back(std::max<int64_t>(0, sizeExprOf(e).evaluate({sizes_, 1, {}})));
  return numbers;
}

ValueForm ValueForms::make(std::string key, ArrayRef<ValueForm> operands) {
  ValueForm form;
  for (const ValueForm &f : operands) {
    absl::StrAppend(&key, "(", f.id);
    for (unsigned d : f.dims) {
      auto at = llvm::find(form.dims, d);
      absl::StrAppend(&key, ",", at - form.dims.begin());
      if (at == form.dims.end())
        form.dims.push_back(d);
    }
    absl::StrAppend(&key, ")");
  }
  form.id = number(std::move(key));
  return form;
}

std::string ValueForms::key(Operation *op) {
  std::string key = op->getName().getStringRef().str() + " ";
  for (Type t : op->getResultTypes())
    key += address(t.getAsOpaquePointer());
  for (NamedAttribute a : op->getAttrs())
    absl::StrAppend(&key, a.getName().str(), "=", address(a.getValue().getAsOpaquePointer()));
  return key;
}

ValueForm ValueForms::ofRead(te::ReadOp read) {
  SmallVector<ValueForm> operands;
  for (Value v : read.getOperands_())
    operands.push_back(of(v));
  // What a definition makes of the point is the point's own, as if it were written here.
  auto definition = read.getTensor().getDefiningOp<te::ComputeOp>();
  if (definition && te::isDefinition(definition) && read.getBounds() == te::BoundsMode::InBounds)
    if (auto dims = plainDims(read, operands)) {
      ValueForm form = of(definition.getYield().getValues()[0]);
      for (unsigned &d : form.dims)
        d = (*dims)[d];
      return form;
    }
  if (read.getPadding())
    operands.push_back(of(read.getPadding()));
  std::string key = absl::StrCat("read ", tensor(read.getTensor()), " ", int(read.getBounds()), " ");
  for (AffineExpr e : read.getMapOrIdentity().getResults())
    key += address(fixed(e).getAsOpaquePointer());
  return make(std::move(key), operands);
}

ValueForm ValueForms::of(Value v) {
  if (auto it = forms_.find(v); it != forms_.end())
    return it->second;
  ValueForm form;
  Operation *op = v.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    bool isIndex = te::isDomainOp(argument.getOwner()->getParentOp());
    form = isIndex ? ValueForm{number("index"), {argument.getArgNumber()}}
                   : ValueForm{number(absl::StrCat("scalar ", argument.getArgNumber())), {}};
  } else if (auto read = dyn_cast<te::ReadOp>(op)) {
    form = ofRead(read);
  } else if (auto size = dyn_cast<te::SizeOp>(op)) {
    form = {number("size " + address(fixed(size.getMap().getResult(0)).getAsOpaquePointer())), {}};
  } else {
    SmallVector<ValueForm> operands;
    for (Value o : op->getOperands())
      operands.push_back(of(o));
    form = make(absl::StrCat(key(op), cast<OpResult>(v).getResultNumber(), " "), operands);
  }
  return forms_[v] = form;
}

int ValueForms::tensor(Value v) {
  if (auto it = tensors_.find(v); it != tensors_.end())
    return it->second;
  Operation *op = v.getDefiningOp();
  if (te::RecurrenceOp own = te::findRecurrence(v))
    return tensors_[v] = tensor(own.getResult());
  if (!op)
    return tensors_[v] = number(absl::StrCat("argument ", cast<BlockArgument>(v).getArgNumber()));
  if (isa<te::RecurrenceOp>(op)) // like no other
    return tensors_[v] = number(absl::StrCat("recurrence ", address(op)));
  std::string key = op->getName().getStringRef().str() + " ";
  for (NamedAttribute a : op->getAttrs())
    if (a.getName() != "name" && a.getName() != "indices")
      absl::StrAppend(&key, a.getName().str(), "=", address(a.getValue().getAsOpaquePointer()));
  for (Value o : op->getOperands()) // what it starts from
    absl::StrAppend(&key, "init ", tensor(o), " ");
  te::YieldOp yield = te::getYield(op);
  for (Value y : yield->getOperands()) {
    ValueForm form = of(y);
    absl::StrAppend(&key, "yield ", form.id);
    for (unsigned d : form.dims)
      absl::StrAppend(&key, ",", d);
    key += " ";
  }
  return tensors_[v] = number(std::move(key));
}

} // namespace kernelc
