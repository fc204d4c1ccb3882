// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scatters: statements whose points choose their element by data, or of which several may meet in one. See Sema.h.
#include "frontend/Sema.h"

using namespace mlir;

namespace kernelc::frontend {

/// Whether a subscript may depend on more than indices and sizes, as its text says: y[x[n]], y[abs(i)], y[i ^ 1].
static bool choosesByValue(const Expr *subscript) {
  SmallVector<const Expr *> work = {subscript};
  while (!work.empty()) {
    const Expr *e = work.pop_back_val();
    if (e->kind == Expr::Access || e->kind == Expr::Call)
      return true;
    work.append(e->args.begin(), e->args.end());
  }
  return false;
}

bool Sema::mayScatter(const Statement &s) { return s.kind == Statement::Assign && (s.mode == "unique" || s.op != "="); }

bool Sema::checkScatterText(const Statement &s) {
  if (!s.mode.empty() && s.op != "=") {
    diags.error(s.opLoc) << "'.unique' promises that no two points meet, which leaves nothing to combine; write '" << s.target
                         << ".unique[..] = ..', or '" << s.target << "[..] " << s.op << (s.op.ends_with("=") ? "" : "=") << " ..'";
    return false;
  }
  for (const Expr *sub : s.subscripts) {
    SmallVector<const Expr *> work = {sub};
    while (!work.empty()) {
      const Expr *e = work.pop_back_val();
      if (e->kind == Expr::Call && e->hasBracket) {
        diags.error(e->loc) << "a reduction in a subscript on the left is not supported; name it with 'let', as in 'let at[i] = " << e->text
                            << "[..](..)'";
        return false;
      }
      work.append(e->args.begin(), e->args.end());
      for (const NamedArg &a : e->named)
        work.push_back(a.value);
    }
  }
  auto chosen = llvm::find_if(s.subscripts, choosesByValue);
  if (s.op == "=" && s.mode.empty() && chosen != s.subscripts.end()) {
    reportMeeting((*chosen)->loc, s.target);
    return false;
  }
  return true;
}

void Sema::reportMeeting(Loc loc, StringRef target) {
  diags.error(loc) << "the left side is not proved to name each element of '" << target << "' at most once; if it does, write '" << target
                   << ".unique[..] = ..'; to combine what meets, '" << target << "[..] += ..'";
}

/// The kind that combines elements of `element` as signed or unsigned numbers of type `ty`.
static te::Combiner kindOf(te::Combiner kind, Ty ty) {
  using C = te::Combiner;
  if (isUnsigned(ty) && (kind == C::Max || kind == C::Min))
    return kind == C::Max ? C::MaxU : C::MinU;
  return kind;
}

bool Sema::formScatter(CoreStatement &core, std::optional<te::Combiner> kind, Node *value) {
  using C = te::Combiner;
  Tensor *t = core.target;
  std::string into = ("'" + t->name + "'").str();
  ScatterForm form;
  if (!kind) {
    form.element = t->element;
    form.term = elab.convertForStore(value, t->element, into);
  } else if (kernelc::isFloat(t->element)) {
    // As in other sums: in f32, or f64 where a side is one; rounded once, when all points are in.
    if (isLiteral(value->type))
      value = elab.convert(value, widened(t->element));
    if (value && !isFloat(value->type))
      value = elab.convertForStore(value, t->element, into); // says what to write
    if (value && t->element == ElementType::f64)
      value = elab.convert(value, Ty::F64);
    form.term = value;
  } else if (t->element == ElementType::boolean) {
    if (!(value = elab.convertForStore(value, t->element, into)))
      return false;
    form.term = elab.castTo(value, ElementType::i32, value->loc);
  } else {
    Ty wide = widened(t->element);
    bool wraps = *kind != C::Max && *kind != C::Min && isInt(value->type) && !isLiteral(value->type);
    value = wraps ? elab.castTo(value, elementOf(wide), value->loc) : elab.convertForStore(value, t->element, into);
    form.term = value ? elab.convert(value, wide) : nullptr;
  }
  if (!form.term)
    return false;
  if (kind) {
    form.element = elementOf(form.term->type);
    form.kind = kindOf(*kind, form.term->type);
    bool isBool = t->element == ElementType::boolean;
    core.fill = elab.makeIdentity(!isBool ? *form.kind : *kind == C::And ? C::All : *kind == C::Or ? C::Any : *kind, t->element, core.loc);
  } else {
    core.fill = elab.makeIdentity(C::Sum, t->element, core.loc);
    if (t->element == ElementType::boolean)
      core.fill = elab.makeBool(false, core.loc);
  }
  core.scatter = form;
  core.vars.append(core.reduced.begin(), core.reduced.end());
  core.reduced.clear();
  core.whole = false;
  return true;
}

Node *Sema::gatherPoints(CoreStatement &core, Scope *scope, const ReducerForm &form, Node *value) {
  Tensor *t = core.target;
  for (IndexVar *v : core.vars) // found anew, as those of a reduction
    v->lo = v->extent = v->movingLo = v->movingHi = AffineExpr();
  core.vars.append(core.reduced.begin(), core.reduced.end());
  core.reduced = std::move(core.vars);
  core.vars.clear();
  for (auto [d, subscript] : llvm::enumerate(core.subscripts)) {
    StringRef name = kernel.texts.emplace_back("at" + std::to_string(d));
    IndexVar *v = elab.bindIndex(scope, name, subscript->loc);
    v->declLo = getAffineConstantExpr(0, context());
    v->declHi = t->dims[d];
    core.vars.push_back(v);
    Node *index = elab.makeAffine(getAffineDimExpr(v->id, context()), subscript->loc);
    Node *isHere = elab.makeCompare(arith::CmpIPredicate::eq, subscript, index, subscript->loc);
    if (!isHere)
      return nullptr;
    core.conditions.push_back(isHere);
    subscript = index;
  }
  Node *combined = combineWithOld(core, form, value);
  return combined ? elab.convertForStore(combined, t->element, ("'" + t->name + "'").str()) : nullptr;
}

} // namespace kernelc::frontend
