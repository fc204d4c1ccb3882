// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions by reducers of the program, as te.fold. See Emit.h.
#include "frontend/Emit.h"
#include "frontend/ScalarProgram.h"

using namespace mlir;

namespace kernelc::frontend {

te::FoldOp KernelEmitter::emitFold(Node *reduce, ArrayRef<IndexVar *> outer, StringRef name) {
  for (auto &[node, indices, op] : folds)
    if (node == reduce && ArrayRef(indices) == outer)
      return op;
  const ReducerForm &form = *reduce->reducer;
  SmallVector<IndexVar *> domain(outer);
  domain.append(reduce->vars.begin(), reduce->vars.end());
  SmallVector<Constraint> affine;
  if (IndexVar *k = reduce->scanned) { // results at j of all k <= j
    IndexVar &j = kernel.indices.emplace_back(*k);
    j.id = kernel.indices.size() - 1;
    *llvm::find(domain, k) = &j;
    domain.push_back(k);
    AffineExpr gap = builder.getAffineDimExpr(j.id) - builder.getAffineDimExpr(k->id);
    affine.push_back({reduce->isReverse ? -gap : gap, false});
  }
  for (AffineExpr e : reduce->rangeConditions)
    affine.push_back({e, false});
  DomainParts parts = prepare(reduce->conditions, reduce->ops, domain, std::move(affine));
  SmallVector<Attribute> identity;
  SmallVector<Type> types;
  SmallVector<int64_t> fields;
  for (size_t k = 0; k < form.types.size(); ++k) {
    ElementType element = form.heldAs(k);
    if (!reduce->scanned || reduce->intValue < 0 || int64_t(k) == reduce->intValue) {
      types.push_back(tensorType(extentsOf(outer), storageType(element)));
      fields.push_back(int64_t(k));
    }
    identity.push_back(evaluateConstant(form.identity[k], storageType(element)));
  }
  const Laws &laws = reduce->laws;
  auto op = te::FoldOp::create(builder, location(reduce->loc, name), types, namesOf(domain), outer.size(), sizesMap(extentsOf(domain)),
                               conditionSet(parts.affine, domain), builder.getArrayAttr(identity), fields, laws.isMonoid(),
                               laws.isMonoid() && laws.commutative, reduce->scanned && reduce->isReverse,
                               builder.getStringAttr(name.empty() ? form.def->name : name));
  if (!reduce->lawText.empty())
    op.setLawText(reduce->lawText);
  Block *block = openBody(op.getElement(), domain);
  RegionEmitter region(*this, builder, domain, block->getArguments(), parts.reductions);
  SmallVector<Value> values;
  for (auto [k, field] : llvm::enumerate(reduce->ops))
    values.push_back(region.emitStored(field, reduce->scanned ? elementOf(field->type) : form.heldAs(k)));
  te::YieldOp::create(builder, location(reduce->loc), values, region.emitAll(parts.data));
  fillCombine(op, reduce);
  builder.setInsertionPointAfter(op);
  folds.push_back({reduce, SmallVector<IndexVar *>(outer), op});
  return op;
}

void KernelEmitter::fillCombine(te::FoldOp op, Node *reduce) {
  const ReducerForm &form = *reduce->reducer;
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (Node *p : form.params) {
    types.push_back(valueType(p->type));
    locs.push_back(location(p->loc));
  }
  Block *block = builder.createBlock(&op.getCombine(), {}, types, locs);
  RegionEmitter::Reductions none;
  SmallVector<Value> params(block->getArguments().begin(), block->getArguments().end());
  RegionEmitter region(*this, builder, {}, {}, none);
  region.params = params;
  SmallVector<Value> next;
  for (auto [k, n] : llvm::enumerate(form.combined))
    next.push_back(region.emitStored(n, form.heldAs(k)));
  te::YieldOp::create(builder, location(reduce->loc), next, Value());
}

Value RegionEmitter::emitParam(Node *n) { return params[size_t(n->intValue)]; }

Value RegionEmitter::readResult(Node *reduce, int64_t number) {
  auto it = reductions.find(reduce);
  SmallVector<Value> operands;
  for (IndexVar *x : it->second.second)
    operands.push_back(argOf(x));
  Value tensor = it->second.first.getDefiningOp()->getResult(unsigned(number));
  return te::ReadOp::create(builder, parent.location(reduce->loc), cast<RankedTensorType>(tensor.getType()).getElementType(), tensor,
                            operands, AffineMapAttr(), te::BoundsModeAttr::get(builder.getContext(), te::BoundsMode::InBounds), Value());
}

} // namespace kernelc::frontend
