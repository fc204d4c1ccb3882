// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences whose points have an order, as te.recurrence. See Emit.h and Order.cpp.
#include "frontend/Emit.h"

using namespace mlir;

namespace kernelc::frontend {

/// The step as an index of its own, where it is not one of the statement's as it stands: then one of those follows from it and the others.
IndexVar *KernelEmitter::makeStep(const OrderForm &order, SmallVectorImpl<IndexVar *> &beside) {
  auto isUsed = [](auto &entry) { return entry.second != 0; };
  auto used = llvm::make_filter_range(order.rest, isUsed);
  unsigned count = unsigned(std::distance(used.begin(), used.end()));
  // What follows from the step is not the last index if that can be, so that neighbours in memory are points of one step.
  IndexVar *follows = nullptr;
  int64_t times = 0;
  for (auto [v, f] : order.rest)
    if (!follows && std::abs(f) == 1) {
      follows = v;
      times = f;
    }
  for (auto [v, f] : order.rest)
    if (v != follows)
      beside.push_back(v);
  if (count == 1 && times == 1)
    return follows;
  IndexVar &step = kernel.indices.emplace_back();
  step.id = kernel.indices.size() - 1;
  step.name = kernel.texts.emplace_back(count == 1 ? follows->name.str() : "step");
  step.loc = follows->loc;
  step.lo = builder.getAffineConstantExpr(0);
  AffineExpr others = step.lo, extent = builder.getAffineConstantExpr(1);
  for (auto [v, f] : used) {
    AffineExpr from0 = builder.getAffineDimExpr(v->id) - v->lo;
    extent = extent + (v->extent - 1) * std::abs(f);
    if (v != follows)
      others = others + (f > 0 ? from0 * f : (v->extent - 1 - from0) * -f);
  }
  AffineExpr own = builder.getAffineDimExpr(step.id) - others;
  joined[follows] = times == 1 ? own : follows->extent - 1 - own;
  step.extent = simplifyAffineExpr(extent, 0, kernel.sizes.size());
  return &step;
}

void KernelEmitter::emitRecurrence(const CoreStatement &s) {
  Tensor *t = s.target;
  const OrderForm &order = *s.order;
  SmallVector<Node *> reduces;
  walk(s.value, [&](Node *n) {
    if (n->kind == Node::Reduce)
      walk(n, [&](Node *inner) {
        if (inner->readsOwn && !llvm::is_contained(reduces, n))
          reduces.push_back(n);
      });
  });
  // What reads nothing of the tensor itself is made before.
  SmallVector<IndexVar *> vars(s.vars);
  RegionEmitter::Reductions before;
  for (Node *r : reduces)
    before.try_emplace(r);
  hoist(s.value, vars, before);
  SmallVector<DomainParts> parts;
  for (Node *r : reduces) {
    SmallVector<IndexVar *> inner(vars);
    inner.append(r->vars.begin(), r->vars.end());
    SmallVector<Constraint> affine;
    for (AffineExpr e : r->rangeConditions)
      affine.push_back({e, false});
    parts.push_back(prepare(r->conditions, r->ops[0], inner, std::move(affine)));
  }
  SmallVector<IndexVar *> points(order.free), beside;
  IndexVar *step = makeStep(order, beside);
  points.push_back(step);
  points.append(beside);
  // A reduction knows its own indices; those of the others have other numbers.
  SmallVector<IndexVar *> all(points), others(points);
  SmallVector<int64_t> counts;
  for (Node *r : reduces) {
    counts.push_back(int64_t(r->vars.size()));
    for (IndexVar *v : r->vars) {
      all.push_back(v);
      IndexVar &other = kernel.indices.emplace_back(*v);
      other.id = kernel.indices.size() - 1;
      others.push_back(&other);
    }
  }
  SmallVector<Constraint> where;
  SmallVector<Node *> none;
  for (Node *c : s.conditions)
    splitCondition(c, where, none);
  bool isSum = llvm::count_if(order.rest, [](auto &e) { return e.second != 0; }) > 1;
  for (auto [v, f] : order.rest)
    if (isSum && joined.contains(v)) { // (of one index the steps are its own)
      AffineExpr d = builder.getAffineDimExpr(v->id);
      where.push_back({d - v->lo, false});
      where.push_back({v->hi() - 1 - d, false});
    }
  SmallVector<Attribute> kinds, ranges;
  SmallVector<SmallVector<IndexVar *>> domains;
  size_t at = points.size();
  for (auto [k, r] : llvm::enumerate(reduces)) {
    SmallVector<IndexVar *> &own = domains.emplace_back(others);
    for (IndexVar *v : r->vars)
      own[at++] = v;
    kinds.push_back(builder.getStringAttr(stringifyCombiner(r->combiner)));
    if (IntegerSetAttr set = conditionSet(parts[k].affine, own))
      ranges.push_back(set);
    else
      ranges.push_back(IntegerSetAttr::get(IntegerSet::get(own.size(), kernel.sizes.size(), builder.getAffineConstantExpr(0), false)));
  }
  Value init = s.whole ? Value() : t->value;
  if (!s.whole && !init && s.fill)
    init = emitFill(t, s.fill, s.loc);
  SmallVector<AffineExpr> subs;
  for (Node *n : s.subscripts)
    subs.push_back(toDomain(n->affine, points));
  auto type = tensorType(t->dims, storageType(t->element));
  auto op = te::RecurrenceOp::create(builder, location(s.loc, t->name), type, namesOf(all), points.size(), order.free.size(),
                                     sizesMap(extentsOf(all)), conditionSet(where, others), init, builder.getArrayAttr(kinds), counts,
                                     builder.getArrayAttr(ranges),
                                     AffineMapAttr::get(AffineMap::get(points.size(), kernel.sizes.size(), subs, builder.getContext())),
                                     AffineMapAttr::get(sizesMap(t->dims)), builder.getStringAttr(t->name),
                                     !s.whole && !init && (s.completed || !s.conditions.empty()), /*own_launch=*/false,
                                     /*point_by_point=*/false, /*behind_parts=*/false, sequenceText(s, order), unsigned(reduces.size()));
  // The dims, what reductions come to, and the tensor itself as far as it is defined.
  auto open = [&](Region &region, ArrayRef<IndexVar *> domain, ArrayRef<Node *> values) {
    Block *block = openBody(region, domain);
    for (Node *r : values)
      block->addArgument(valueType(r->type), location(r->loc));
    t->value = block->addArgument(type, location(s.loc, t->name));
    return block;
  };
  for (auto [k, r] : llvm::enumerate(reduces)) {
    Block *block = open(op.getTerms()[k], domains[k], {});
    RegionEmitter region(*this, builder, domains[k], block->getArguments().take_front(all.size()), parts[k].reductions);
    SmallVector<Constraint> counted(where);
    counted.append(parts[k].affine);
    Value holds = region.emitConstraints(counted, location(r->loc)), asked = region.emitAll(parts[k].data);
    region.guardOwn(s.ownReads, holds);
    Value value = region.emit(r->ops[0]);
    te::YieldOp::create(builder, location(r->loc), ValueRange{value}, asked);
  }
  Block *block = open(op.getBody(), others, reduces);
  RegionEmitter region(*this, builder, others, block->getArguments().take_front(all.size()), before);
  for (auto [k, r] : llvm::enumerate(reduces))
    region.bindReduction(r, block->getArgument(unsigned(all.size() + k)));
  region.guardOwn(s.ownReads, region.emitConstraints(where, location(s.loc)));
  te::YieldOp::create(builder, location(s.loc), ValueRange{region.emitStored(s.value, t->element)}, Value());
  builder.setInsertionPointAfter(op);
  t->value = op.getResult();
}

/// What runs one after the other, for the remark.
std::string KernelEmitter::sequenceText(const CoreStatement &s, const OrderForm &order) {
  std::string along;
  for (auto [v, f] : order.rest)
    if (f) {
      along += f < 0 ? (along.empty() ? "-" : " - ") : (along.empty() ? "" : " + ");
      along += (std::abs(f) > 1 ? std::to_string(std::abs(f)) + " * " : "") + v->name.str();
    }
  std::string text =
      "'" + s.target->name.str() + "' is computed in sequence along '" + along + "', of which each element needs earlier ones";
  bool isBesides = !order.free.empty() || llvm::count_if(order.rest, [](auto &e) { return e.second != 0; }) > 1 ||
                   llvm::any_of(order.rest, [](auto &e) { return e.second == 0; });
  return isBesides ? text + "; elements of one step are computed beside each other" : text;
}

} // namespace kernelc::frontend
