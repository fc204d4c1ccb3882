// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences whose points have an order, as te.recurrence. See Emit.h and Order.cpp.
#include "frontend/Emit.h"

#include <functional>

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

/// A recurrence on its way to an op.
struct KernelEmitter::RecurrenceParts {
  SmallVector<Node *> reduces{}; ///< reductions that read the tensor itself: the op's terms
  std::vector<DomainParts> parts{};
  RegionEmitter::Reductions before{};             ///< what reads nothing of the tensor itself is made before
  SmallVector<IndexVar *> points{};               ///< indices of an element: the free ones, the step, those beside it
  SmallVector<IndexVar *> all{};                  ///< and those of each term
  SmallVector<IndexVar *> others{};               ///< the same; a reduction knows its own indices, those of the others have other numbers
  SmallVector<int64_t> counts{};                  ///< indices of each term
  SmallVector<Constraint> where{};                ///< points at which the statement defines anything
  std::vector<SmallVector<IndexVar *>> domains{}; ///< of each term
};

/// Inner reductions come before those that contain them.
static void orderTerms(SmallVectorImpl<Node *> &reduces) {
  SmallVector<Node *> order;
  std::function<void(Node *)> add = [&](Node *reduce) {
    if (llvm::is_contained(order, reduce))
      return;
    for (Node *other : reduces) {
      bool isInside = false;
      walk(reduce, [&](Node *n) { isInside |= n == other && other != reduce; });
      if (isInside)
        add(other);
    }
    order.push_back(reduce);
  };
  for (Node *reduce : reduces)
    add(reduce);
  reduces.assign(order.begin(), order.end());
}

void KernelEmitter::findTerms(const CoreStatement &s, RecurrenceParts &r) {
  walk(s.value, [&](Node *n) {
    if (n->kind == Node::Reduce)
      walk(n, [&](Node *inner) {
        if (inner->readsOwn && !llvm::is_contained(r.reduces, n))
          r.reduces.push_back(n);
      });
  });
  orderTerms(r.reduces);
  SmallVector<IndexVar *> vars(s.vars);
  for (Node *reduce : r.reduces)
    r.before.try_emplace(reduce);
  hoist(s.value, vars, r.before);
  for (Node *reduce : r.reduces) {
    SmallVector<IndexVar *> inner(vars);
    inner.append(reduce->vars.begin(), reduce->vars.end());
    SmallVector<Constraint> affine;
    for (AffineExpr e : reduce->rangeConditions)
      affine.push_back({e, false});
    RegionEmitter::Reductions terms; // others of the statement are at hand
    for (Node *other : r.reduces)
      terms.try_emplace(other);
    r.parts.push_back(prepare(reduce->conditions, reduce->ops[0], inner, std::move(affine), terms));
  }
}

void KernelEmitter::numberIndices(const OrderForm &order, RecurrenceParts &r) {
  r.points.assign(order.free.begin(), order.free.end());
  SmallVector<IndexVar *> beside;
  IndexVar *step = makeStep(order, beside);
  r.points.push_back(step);
  r.points.append(beside);
  r.all = r.others = r.points;
  for (Node *reduce : r.reduces) {
    r.counts.push_back(int64_t(reduce->vars.size()));
    for (IndexVar *v : reduce->vars) {
      r.all.push_back(v);
      IndexVar &other = kernel.indices.emplace_back(*v);
      other.id = kernel.indices.size() - 1;
      r.others.push_back(&other);
    }
  }
  size_t at = r.points.size();
  for (Node *reduce : r.reduces) {
    SmallVector<IndexVar *> &own = r.domains.emplace_back(r.others);
    for (IndexVar *v : reduce->vars)
      own[at++] = v;
  }
}

SmallVector<Constraint> KernelEmitter::pointsOf(const CoreStatement &s) {
  SmallVector<Constraint> where;
  SmallVector<Node *> none;
  for (Node *c : s.conditions)
    splitCondition(c, where, none);
  const OrderForm &order = *s.order;
  bool isSum = llvm::count_if(order.rest, [](auto &e) { return e.second != 0; }) > 1;
  for (auto [v, f] : order.rest)
    if (isSum && joined.contains(v)) { // (of one index the steps are its own)
      AffineExpr d = builder.getAffineDimExpr(v->id);
      where.push_back({d - v->lo, false});
      where.push_back({v->hi() - 1 - d, false});
    }
  return where;
}

te::RecurrenceOp KernelEmitter::createRecurrence(const CoreStatement &s, const RecurrenceParts &r) {
  Tensor *t = s.target;
  SmallVector<Attribute> kinds, ranges;
  for (auto [reduce, parts, own] : llvm::zip(r.reduces, r.parts, r.domains)) {
    kinds.push_back(builder.getStringAttr(stringifyCombiner(reduce->combiner)));
    IntegerSetAttr set = conditionSet(parts.affine, own);
    ranges.push_back(set ? set
                         : IntegerSetAttr::get(IntegerSet::get(own.size(), kernel.sizes.size(), builder.getAffineConstantExpr(0), false)));
  }
  Value init = s.whole ? Value() : t->value;
  if (!s.whole && !init && s.fill)
    init = emitFill(t, s.fill, s.loc);
  SmallVector<AffineExpr> subs;
  for (Node *n : s.subscripts)
    subs.push_back(toDomain(n->affine, r.points));
  return te::RecurrenceOp::create(
      builder, location(s.loc, t->name), tensorType(t->dims, storageType(t->element)), namesOf(r.all), r.points.size(),
      s.order->free.size(), sizesMap(extentsOf(r.all)), conditionSet(r.where, r.others), init, builder.getArrayAttr(kinds), r.counts,
      builder.getArrayAttr(ranges), AffineMapAttr::get(AffineMap::get(r.points.size(), kernel.sizes.size(), subs, builder.getContext())),
      AffineMapAttr::get(sizesMap(t->dims)), builder.getStringAttr(t->name), !s.whole && !init && (s.completed || !s.conditions.empty()),
      /*own_launch=*/false,
      /*point_by_point=*/false, /*behind_parts=*/false, /*block_text=*/"", sequenceText(s, *s.order), unsigned(r.reduces.size()));
}

/// What reductions come to: arguments behind the dims.
static void bindTerms(RegionEmitter &region, ArrayRef<Node *> reduces, Block *block, size_t dims) {
  for (auto [k, reduce] : llvm::enumerate(reduces))
    region.bindReduction(reduce, block->getArgument(unsigned(dims + k)));
}

void KernelEmitter::fillRecurrence(te::RecurrenceOp op, const CoreStatement &s, RecurrenceParts &r) {
  Tensor *t = s.target;
  // The dims, what reductions come to, and the tensor itself as far as it is defined.
  auto open = [&](Region &region, ArrayRef<IndexVar *> domain, ArrayRef<Node *> values) {
    Block *block = openBody(region, domain);
    for (Node *reduce : values)
      block->addArgument(valueType(reduce->type), location(reduce->loc));
    t->value = block->addArgument(op.getResult().getType(), location(s.loc, t->name));
    return block;
  };
  for (auto [k, reduce] : llvm::enumerate(r.reduces)) {
    Block *block = open(op.getTerms()[k], r.domains[k], ArrayRef(r.reduces).take_front(k));
    RegionEmitter region(*this, builder, r.domains[k], block->getArguments().take_front(r.all.size()), r.parts[k].reductions);
    bindTerms(region, ArrayRef(r.reduces).take_front(k), block, r.all.size());
    SmallVector<Constraint> counted(r.where);
    counted.append(r.parts[k].affine);
    Value holds = region.emitConstraints(counted, location(reduce->loc)), asked = region.emitAll(r.parts[k].data);
    region.guardOwn(s.ownReads, holds);
    Value value = region.emit(reduce->ops[0]);
    te::YieldOp::create(builder, location(reduce->loc), ValueRange{value}, asked);
  }
  Block *block = open(op.getBody(), r.others, r.reduces);
  RegionEmitter region(*this, builder, r.others, block->getArguments().take_front(r.all.size()), r.before);
  bindTerms(region, r.reduces, block, r.all.size());
  region.guardOwn(s.ownReads, region.emitConstraints(r.where, location(s.loc)));
  te::YieldOp::create(builder, location(s.loc), ValueRange{region.emitStored(s.value, t->element)}, Value());
}

void KernelEmitter::emitRecurrence(const CoreStatement &s) {
  RecurrenceParts r;
  findTerms(s, r);
  numberIndices(*s.order, r);
  r.where = pointsOf(s);
  te::RecurrenceOp op = createRecurrence(s, r);
  fillRecurrence(op, s, r);
  builder.setInsertionPointAfter(op);
  s.target->value = op.getResult();
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
