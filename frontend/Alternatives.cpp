// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See Alternatives.h.
#include "frontend/Alternatives.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

/// Ways beyond this many are one that is not known.
constexpr size_t kMaxAlternatives = 64;

SmallVector<Conjunction> allOf(ArrayRef<SmallVector<Conjunction>> parts) {
  SmallVector<Conjunction> all(1);
  for (ArrayRef<Conjunction> part : parts) {
    SmallVector<Conjunction> longer;
    for (const Conjunction &a : all)
      for (const Conjunction &b : part) {
        Conjunction &both = longer.emplace_back(a);
        both.affine.append(b.affine);
        both.isAffine &= b.isAffine;
      }
    if (longer.size() > kMaxAlternatives) {
      for (Conjunction &a : all)
        a.isAffine = false;
      return all;
    }
    all = std::move(longer);
  }
  return all;
}

SmallVector<Conjunction> alternatives(Node *n, bool negated) {
  using P = arith::CmpIPredicate;
  if (n->kind == Node::Not)
    return alternatives(n->ops[0], !negated);
  if (n->kind == Node::ConstBool && bool(n->intValue) != negated)
    return {Conjunction()};
  if (n->kind == Node::And || n->kind == Node::Or) {
    SmallVector<SmallVector<Conjunction>> parts;
    for (Node *o : n->ops)
      parts.push_back(alternatives(o, negated));
    if ((n->kind == Node::And) != negated)
      return allOf(parts);
    SmallVector<Conjunction> any;
    for (SmallVector<Conjunction> &p : parts)
      any.append(p);
    if (any.size() > kMaxAlternatives)
      return {Conjunction{{}, false}};
    return any;
  }
  if (auto c = constraintOf(n, negated))
    return {Conjunction{{*c}}};
  // i != 3 is i < 3 or i > 3.
  if (n->kind == Node::Cmp && n->predicate == (negated ? P::eq : P::ne))
    if (auto equal = constraintOf(n, !negated))
      return {Conjunction{{Constraint{equal->expr - 1}}}, Conjunction{{Constraint{-equal->expr - 1}}}};
  return {Conjunction{{}, false}};
}

} // namespace

SmallVector<Conjunction> alternatives(const CoreStatement &s) {
  SmallVector<SmallVector<Conjunction>> parts;
  for (Node *c : s.conditions)
    parts.push_back(alternatives(c, false));
  return allOf(parts);
}

} // namespace kernelc::frontend
