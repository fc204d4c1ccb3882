// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reducing assignments: `y[i] += e` as a value that is stored. See Sema.h.
#include "frontend/Sema.h"

using namespace mlir;

namespace kernelc::frontend {

Node *Sema::reduceAssigned(CoreStatement &core, te::Combiner kind, Node *value) {
  using C = te::Combiner;
  ElementType element = core.target->element;
  // Conditions of the statement restrict the reduction.
  value = elab.makeReduceNode(kind, core.reduced, value, core.loc);
  if (!value)
    return nullptr;
  value->conditions = std::move(core.conditions);
  core.conditions.clear();
  if (kind == C::Xor && element == ElementType::boolean && // reduced as integers 0 and 1
      !(value = elab.makeCompare(arith::CmpIPredicate::ne, value, elab.makeInt(0, value->type, core.loc), core.loc)))
    return nullptr;
  // The identity of the output's type, should there be nothing to reduce.
  if (kind == C::Max || kind == C::Min)
    value->narrow.reset();
  if (isSignedInteger(element) && elementBits(element) < 32 && (kind == C::Max || kind == C::Min)) {
    Node *bound = elab.makeInt(kind == C::Max ? lowestOf(element) : highestOf(element), Ty::IntLit, core.loc);
    if (!(value = elab.makeBinary(kind == C::Max ? Node::Max : Node::Min, value, bound, core.loc)))
      return nullptr;
  }
  return value;
}

Node *Sema::combineWithOld(CoreStatement &core, te::Combiner kind, Node *value) {
  Tensor *t = core.target;
  using C = te::Combiner;
  if (value->type == Ty::Bool && (kind == C::And || kind == C::Or))
    kind = kind == C::And ? C::All : C::Any;
  if (isLiteral(value->type))
    value = elab.convert(value, widened(t->element));
  else if (isFloat(value->type) && t->element == ElementType::f64)
    value = elab.convert(value, Ty::F64);
  if (!value)
    return nullptr;
  if (!core.reduced.empty() && !(value = reduceAssigned(core, kind, value)))
    return nullptr;
  bool first = llvm::none_of(statements, [&](const CoreStatement &c) { return c.target == t; });
  if (first && !t->isInout) {
    core.fill = elab.makeIdentity(kind, t->element, core.loc);
    return value;
  }
  Node *old = elab.make(Node::Read, widened(t->element), core.loc);
  old->tensor = t;
  old->ops.append(core.subscripts.begin(), core.subscripts.end());
  if (!kernelc::isFloat(t->element) && t->element != ElementType::boolean && elementBits(t->element) < 32)
    old->narrow = t->element;
  Node::Kind op = Node::Add;
  switch (kind) {
  case C::Prod: op = Node::Mul; break;
  case C::Min: op = Node::Min; break;
  case C::Max: op = Node::Max; break;
  case C::And: op = Node::BitAnd; break;
  case C::Or: op = Node::BitOr; break;
  case C::Xor:
    if (value->type == Ty::Bool)
      return elab.makeCompare(arith::CmpIPredicate::ne, old, value, core.loc);
    op = Node::BitXor;
    break;
  case C::All:
  case C::Any: {
    Node *n = elab.make(kind == C::All ? Node::And : Node::Or, Ty::Bool, core.loc);
    n->ops = {old, value};
    return n;
  }
  default: break;
  }
  return elab.makeBinary(op, old, value, core.loc);
}

Node *Sema::combineWithOld(CoreStatement &core, const ReducerForm &form, Node *value) {
  Tensor *t = core.target;
  value = elab.convertAsStored(value, form.types[0], ("an element of '" + form.def->name + "'").str());
  if (!value)
    return nullptr;
  bool reduces = !core.reduced.empty();
  if (reduces) {
    value = elab.makeOwnReduce(form, core.reduced, core.conditions, value, core.loc);
    if (!value)
      return nullptr;
    core.conditions.clear();
  }
  bool first = llvm::none_of(statements, [&](const CoreStatement &c) { return c.target == t; });
  if (first && !t->isInout) {
    core.fill = elab.convertForStore(form.identity[0], t->element, ("'" + t->name + "'").str());
    if (!core.fill || reduces)
      return core.fill ? value : nullptr;
  }
  if (reduces && !value->laws.isMonoid()) {
    diags.error(core.loc) << "'" << form.def->name << "=' cannot go on from what '" << t->name << "' holds: " << value->lawText;
    return nullptr;
  }
  Node *old = form.identity[0];
  if (!first || t->isInout) {
    old = elab.make(Node::Read, widened(t->element), core.loc);
    old->tensor = t;
    old->ops.append(core.subscripts.begin(), core.subscripts.end());
    if (!kernelc::isFloat(t->element) && t->element != ElementType::boolean && elementBits(t->element) < 32)
      old->narrow = t->element;
    old = elab.convertAsStored(old, form.types[0], ("a state of '" + form.def->name + "'").str());
  }
  SmallVector<Node *> combined;
  return old && elab.combineStates(form, old, value, combined) ? combined[0] : nullptr;
}

} // namespace kernelc::frontend
