// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bodies of domain ops: expression trees, index values and reads. See Emit.h.
#include "frontend/Emit.h"

#include "ir/te/Marks.h"

using namespace mlir;

namespace kernelc::frontend {

Value RegionEmitter::argOf(IndexVar *v) {
  for (auto [d, a] : llvm::zip(domain, args))
    if (d == v)
      return a;
  if (AffineExpr e = parent.joined.lookup(v))
    return emitAffine(e, parent.location(v->loc, v->name));
  llvm_unreachable("an index outside its domain");
}

Value RegionEmitter::indexConstant(int64_t v, Location loc) { return arith::ConstantIndexOp::create(builder, loc, v); }

Value RegionEmitter::emitAll(ArrayRef<Node *> conditions) {
  Value all;
  for (Node *c : conditions) {
    Value v = emit(c);
    all = all ? arith::AndIOp::create(builder, parent.location(c->loc), all, v).getResult() : v;
  }
  return all;
}

Value RegionEmitter::emit(Node *n) {
  // Along first operands by a loop: chains of one operator are deep only there.
  SmallVector<Node *> spine;
  Value v;
  for (Node *top = n;; top = top->ops[0]) {
    if ((v = done.lookup(top)))
      break;
    spine.push_back(top);
    bool leaf = top->ops.empty() || top->kind == Node::Read || top->kind == Node::Reduce || top->kind == Node::Field ||
                (top->pureIndex && top->type == Ty::I64) || (top->kind == Node::Cmp && top->ops[0]->pureIndex && top->ops[1]->pureIndex);
    if (leaf)
      break;
  }
  for (Node *top : llvm::reverse(spine)) {
    v = emitNode(top, v);
    done[top] = v;
  }
  return v;
}

Value RegionEmitter::emitNode(Node *n, Value first) {
  Location loc = parent.location(n->loc);
  if (n->pureIndex && n->type == Ty::I64)
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), emitIndex(n));
  switch (n->kind) {
  case Node::ConstInt:
  case Node::ConstFloat:
  case Node::ConstBool:
    return constant(n->kind == Node::ConstFloat ? n->floatValue : double(n->intValue), n->intValue, parent.valueType(n->type), loc);
  case Node::ScalarParam: return emitWiden(n->tensor->value, n->tensor->element, n->type, loc);
  case Node::Read: return emitRead(n);
  case Node::Reduce: return readReduction(n);
  case Node::Field: return readResult(n->ops[0], n->intValue);
  case Node::Param: return emitParam(n);
  case Node::Neg:
    if (isFloat(n->type))
      return arith::NegFOp::create(builder, loc, first);
    return arith::SubIOp::create(builder, loc, constant(0, 0, first.getType(), loc), first);
  case Node::Not: return arith::XOrIOp::create(builder, loc, first, constant(1, 1, builder.getI1Type(), loc));
  case Node::BitNot: return arith::XOrIOp::create(builder, loc, first, constant(-1, -1, first.getType(), loc));
  case Node::Cmp:
    if (n->ops[0]->pureIndex && n->ops[1]->pureIndex)
      return arith::CmpIOp::create(builder, loc, n->predicate, emitIndex(n->ops[0]), emitIndex(n->ops[1]));
    return emitCompare(n, first, emit(n->ops[1]));
  case Node::And: return arith::AndIOp::create(builder, loc, first, emit(n->ops[1]));
  case Node::Or: return arith::OrIOp::create(builder, loc, first, emit(n->ops[1]));
  case Node::Select: {
    Value a = emit(n->ops[1]), b = emit(n->ops[2]);
    auto choice = arith::SelectOp::create(builder, loc, first, a, b);
    if (n->intValue)
      te::kOfManySteps.putOn(choice);
    return choice;
  }
  case Node::Cast: return emitWiden(emitNarrow(first, n->ops[0]->type, n->castTo, loc), n->castTo, n->type, loc);
  case Node::Math: {
    SmallVector<Value> ops = {first};
    for (Node *o : ArrayRef(n->ops).drop_front())
      ops.push_back(emit(o));
    return emitMath(n, ops);
  }
  default: return emitBinary(n, first, emit(n->ops[1]));
  }
}

//===----------------------------------------------------------------------===//
// Index values
//===----------------------------------------------------------------------===//

Value RegionEmitter::emitIndex(Node *n) {
  if (Value v = doneIndex.lookup(n))
    return v;
  Location loc = parent.location(n->loc);
  Value v;
  if (!n->pureIndex) { // a gather: data of type i64
    v = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), emit(n));
  } else if (n->affine) {
    v = emitAffine(n->affine, loc);
  } else if (n->kind == Node::ConstInt) {
    v = indexConstant(n->intValue, loc);
  } else {
    // The heights of index trees are bounded where they are affine; others are
    // short of the nesting limit or chains of at most that many operations.
    Value a = emitIndex(n->ops[0]);
    Value b = n->ops.size() > 1 ? emitIndex(n->ops[1]) : Value();
    switch (n->kind) {
    case Node::Neg: v = arith::SubIOp::create(builder, loc, indexConstant(0, loc), a); break;
    case Node::Add: v = arith::AddIOp::create(builder, loc, a, b); break;
    case Node::Sub: v = arith::SubIOp::create(builder, loc, a, b); break;
    case Node::Mul: v = arith::MulIOp::create(builder, loc, a, b); break;
    case Node::Min: v = arith::MinSIOp::create(builder, loc, a, b); break;
    case Node::Max: v = arith::MaxSIOp::create(builder, loc, a, b); break;
    default: v = emitDivision(n->kind == Node::Mod, a, b, false, loc); break;
    }
  }
  doneIndex[n] = v;
  return v;
}

Value RegionEmitter::emitAffine(AffineExpr e, Location loc) {
  bool dims = false;
  e.walk([&](AffineExpr x) { dims |= isa<AffineDimExpr>(x); });
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return indexConstant(c.getValue(), loc);
  if (!dims && e.isPureAffine())
    return te::SizeOp::create(builder, loc, builder.getIndexType(), AffineMapAttr::get(parent.sizesMap({e})));
  if (isa<AffineSymbolExpr>(e))
    return te::SizeOp::create(builder, loc, builder.getIndexType(), AffineMapAttr::get(parent.sizesMap({e})));
  if (auto d = dyn_cast<AffineDimExpr>(e)) {
    IndexVar *v = &parent.kernel.indices[d.getPosition()];
    Value arg = argOf(v);
    if (v->lo == getAffineConstantExpr(0, builder.getContext()))
      return arg;
    return arith::AddIOp::create(builder, loc, arg, emitAffine(v->lo, loc));
  }
  auto b = cast<AffineBinaryOpExpr>(e);
  AffineExpr l = b.getLHS(), r = b.getRHS();
  auto times = [&](AffineExpr x) -> std::optional<std::pair<AffineExpr, int64_t>> {
    auto m = dyn_cast<AffineBinaryOpExpr>(x);
    if (!m || m.getKind() != AffineExprKind::Mul)
      return std::nullopt;
    auto c = dyn_cast<AffineConstantExpr>(m.getRHS());
    return c ? std::optional(std::pair(m.getLHS(), c.getValue())) : std::nullopt;
  };
  switch (e.getKind()) {
  case AffineExprKind::Add:
    if (auto t = times(r); t && t->second == -1)
      return arith::SubIOp::create(builder, loc, emitAffine(l, loc), emitAffine(t->first, loc));
    if (auto t = times(l); t && t->second == -1)
      return arith::SubIOp::create(builder, loc, emitAffine(r, loc), emitAffine(t->first, loc));
    return arith::AddIOp::create(builder, loc, emitAffine(l, loc), emitAffine(r, loc));
  case AffineExprKind::Mul: return arith::MulIOp::create(builder, loc, emitAffine(l, loc), emitAffine(r, loc));
  case AffineExprKind::CeilDiv: {
    Value q = emitDivision(false, emitAffine(-l, loc), emitAffine(r, loc), false, loc);
    return arith::SubIOp::create(builder, loc, indexConstant(0, loc), q);
  }
  default: return emitDivision(e.getKind() == AffineExprKind::Mod, emitAffine(l, loc), emitAffine(r, loc), false, loc);
  }
}

Value RegionEmitter::emitDivision(bool mod, Value a, Value b, bool isUnsigned, Location loc) {
  auto number = [&](int64_t v) { return constant(double(v), v, a.getType(), loc); };
  APInt c;
  bool isConst = matchPattern(b, m_ConstantInt(&c));
  if (isConst && c.isZero())
    return number(0);
  Value divisor = b, byZero, byMinusOne;
  if (!isConst || (c.isAllOnes() && !isUnsigned)) {
    using P = arith::CmpIPredicate;
    byZero = arith::CmpIOp::create(builder, loc, P::eq, b, number(0));
    Value unsafe = byZero;
    if (!isUnsigned) { // the smallest integer divided by -1 wraps
      byMinusOne = arith::CmpIOp::create(builder, loc, P::eq, b, number(-1));
      unsafe = arith::OrIOp::create(builder, loc, byZero, byMinusOne);
    }
    divisor = arith::SelectOp::create(builder, loc, unsafe, number(1), b);
  }
  if (mod) {
    // With a divisor of 1 in the place of 0 and -1 the remainder is 0, as it must.
    if (isUnsigned)
      return arith::RemUIOp::create(builder, loc, a, divisor);
    Value q = arith::FloorDivSIOp::create(builder, loc, a, divisor);
    return arith::SubIOp::create(builder, loc, a, arith::MulIOp::create(builder, loc, q, divisor));
  }
  Value q = isUnsigned ? arith::DivUIOp::create(builder, loc, a, divisor).getResult()
                       : arith::FloorDivSIOp::create(builder, loc, a, divisor).getResult();
  if (byMinusOne)
    q = arith::SelectOp::create(builder, loc, byMinusOne, arith::SubIOp::create(builder, loc, number(0), a), q);
  if (byZero)
    q = arith::SelectOp::create(builder, loc, byZero, number(0), q);
  return q;
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Value RegionEmitter::emitRead(Node *n) {
  Location loc = parent.location(n->loc, n->tensor->name);
  Value padding = n->padding ? emitStored(n->padding, n->tensor->element) : Value();
  SmallVector<Value> operands;
  AffineMapAttr map;
  te::BoundsMode bounds = n->bounds;
  Value holds = n->readsOwn ? emitOwnGuard(n) : Value();
  if (n->regionSubscripts || holds) {
    for (Node *s : n->ops)
      operands.push_back(emitIndex(s));
    if (holds) { // else it may not be defined yet: outside nothing is read
      operands[0] = arith::SelectOp::create(builder, loc, holds, operands[0], indexConstant(-1, loc));
      Type element = cast<RankedTensorType>(n->tensor->value.getType()).getElementType();
      if (!padding)
        padding = arith::ConstantOp::create(builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)));
      bounds = te::BoundsMode::Pad;
    }
  } else {
    SmallVector<IndexVar *> used;
    for (Node *s : n->ops)
      parent.ofJoined(s->affine, domain).walk([&](AffineExpr x) {
        if (auto d = dyn_cast<AffineDimExpr>(x)) {
          IndexVar *v = &parent.kernel.indices[d.getPosition()];
          if (!llvm::is_contained(used, v))
            used.push_back(v);
        }
      });
    SmallVector<AffineExpr> subs;
    for (Node *s : n->ops)
      subs.push_back(parent.toDomain(s->affine, used));
    for (IndexVar *v : used)
      operands.push_back(argOf(v));
    auto m = AffineMap::get(used.size(), parent.kernel.sizes.size(), subs, builder.getContext());
    bool identity = used.size() == subs.size();
    for (size_t i = 0; identity && i < subs.size(); ++i)
      identity = subs[i] == builder.getAffineDimExpr(i);
    if (!identity)
      map = AffineMapAttr::get(m);
  }
  auto type = cast<RankedTensorType>(n->tensor->value.getType());
  Value v = te::ReadOp::create(builder, loc, type.getElementType(), n->tensor->value, operands, map,
                               te::BoundsModeAttr::get(builder.getContext(), bounds), padding);
  return emitWiden(v, n->tensor->element, n->type, loc);
}

Value RegionEmitter::emitOwnGuard(Node *n) {
  Location loc = parent.location(n->loc);
  auto both = [&](Value a, Value b) { return a && b ? arith::AndIOp::create(builder, loc, a, b).getResult() : a ? a : b; };
  Value any;
  for (const OwnRead &read : ownReads) { // once for each place in the text
    if (read.read != n)
      continue;
    Value all;
    for (auto [condition, fails] : read.path) {
      Value holds = emit(condition);
      if (fails)
        holds = arith::XOrIOp::create(builder, loc, holds, arith::ConstantIntOp::create(builder, loc, 1, 1));
      all = both(all, holds);
    }
    if (!all)
      return ownHolds;
    any = any ? arith::OrIOp::create(builder, loc, any, all).getResult() : all;
  }
  return both(ownHolds, any);
}

Value RegionEmitter::emitConstraints(ArrayRef<Constraint> constraints, Location loc) {
  Value all;
  for (const Constraint &c : constraints) {
    auto predicate = c.isEq ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
    Value holds = arith::CmpIOp::create(builder, loc, predicate, emitAffine(c.expr, loc), indexConstant(0, loc));
    all = all ? arith::AndIOp::create(builder, loc, all, holds).getResult() : holds;
  }
  return all;
}

Value RegionEmitter::readReduction(Node *n) {
  Location loc = parent.location(n->loc);
  auto it = reductions.find(n);
  Value v;
  if (it == reductions.end()) { // the count of a mean
    AffineExpr sizes = getAffineConstantExpr(1, builder.getContext());
    Value count;
    for (IndexVar *x : n->vars) {
      // A size is never negative; what is computed from sizes may be, and then there is no term.
      if (auto known = dyn_cast<AffineConstantExpr>(x->extent)) {
        sizes = sizes * std::max<int64_t>(known.getValue(), 0);
        continue;
      }
      if (!n->mayBeEmpty || isa<AffineSymbolExpr>(x->extent)) {
        sizes = sizes * x->extent;
        continue;
      }
      Value none = arith::ConstantIndexOp::create(builder, loc, 0);
      Value terms = arith::MaxSIOp::create(builder, loc, emitAffine(x->extent, loc), none);
      count = count ? arith::MulIOp::create(builder, loc, count, terms).getResult() : terms;
    }
    if (!count)
      count = emitAffine(sizes, loc);
    else if (sizes != 1)
      count = arith::MulIOp::create(builder, loc, count, emitAffine(sizes, loc));
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count);
  }
  v = readResult(n, 0);
  if (n->reducer)
    return v;
  return n->givesPosition() ? emitPosition(n, v) : emitIdentity(n, v);
}

/// argmax and argmin: te counts positions from the start of the range, and of nothing gives -1.
Value RegionEmitter::emitPosition(Node *n, Value position) {
  if (n->vars.size() > 1) // row-major in the ranges
    return position;
  Location loc = parent.location(n->loc);
  AffineExpr start = n->vars[0]->lo;
  if (AffineExpr window = n->vars[0]->window)
    start = start + window;
  start = simplifyAffineExpr(start, parent.kernel.indices.size(), parent.kernel.sizes.size());
  if (start == getAffineConstantExpr(0, builder.getContext()))
    return position;
  Value from = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), emitAffine(start, loc));
  Value value = arith::AddIOp::create(builder, loc, position, from);
  if (!n->mayBeEmpty)
    return value;
  Value none = constant(-1, -1, builder.getI64Type(), loc);
  Value isNone = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, position, none);
  return arith::SelectOp::create(builder, loc, isNone, none, value);
}

/// max and min of narrow integers: te starts at the identity of the wide type that they are read as.
Value RegionEmitter::emitIdentity(Node *n, Value v) {
  using C = te::Combiner;
  if (!n->mayBeEmpty || !n->narrow || (n->combiner != C::Max && n->combiner != C::Min))
    return v;
  Location loc = parent.location(n->loc);
  bool isMax = n->combiner == C::Max;
  int64_t identity = isMax ? lowestOf(*n->narrow) : highestOf(*n->narrow);
  Value bound = constant(double(identity), identity, v.getType(), loc);
  return isMax ? arith::MaxSIOp::create(builder, loc, v, bound).getResult() : arith::MinSIOp::create(builder, loc, v, bound).getResult();
}

} // namespace kernelc::frontend
