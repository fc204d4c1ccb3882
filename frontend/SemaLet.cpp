// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements that define a tensor of their own: a 'let', of tuples too.
#include "frontend/Sema.h"

#include "llvm/ADT/ScopeExit.h"

#include <utility>

using namespace mlir;

namespace kernelc::frontend {

/// Whether `name` stands with subscripts in the text of `e`.
static bool accesses(const Expr *e, StringRef name) {
  if (e->kind == Expr::Access && e->text == name)
    return true;
  return llvm::any_of(e->args, [&](const Expr *a) { return accesses(a, name); }) ||
         llvm::any_of(e->named, [&](const NamedArg &a) { return accesses(a.value, name); });
}

/// What a let that reads itself and has no type has for elements: as the other tensors of its text, f32 where there are none.
ElementType Sema::likelyElement(const Expr *e, StringRef own) {
  SmallVector<const Expr *> work{e};
  std::optional<Ty> type;
  while (!work.empty()) {
    const Expr *top = work.pop_back_val();
    work.append(top->args.begin(), top->args.end());
    for (const NamedArg &a : top->named)
      work.push_back(a.value);
    Tensor *t = (top->kind == Expr::Access || top->kind == Expr::Name) && top->text != own ? elab.tensors.lookup(top->text) : nullptr;
    if (!t || t->kind == Tensor::Scalar || !t->parts.empty())
      continue;
    Ty own = widened(t->element);
    bool isWider = !type || (isFloat(own) && !isFloat(*type)) || (isFloat(own) == isFloat(*type) && own > *type);
    type = isWider ? own : *type;
  }
  return type ? elementOf(*type) : ElementType::f32;
}

/// What does not depend on the value.
bool Sema::checkLetText(const Statement &s) {
  if (!s.mode.empty()) {
    diags.error(s.targetLoc) << "a 'let' takes no '." << s.mode << "'";
    return false;
  }
  if (!checkFreshName(s.target, s.targetLoc))
    return false;
  if (s.type.isTensor) {
    diags.error(s.type.loc) << "the type of a 'let' is an element type, as in 'let t[i]: bf16 = ..'";
    return false;
  }
  return true;
}

bool Sema::checkLetSubscripts(const Statement &s, Scope *scope) {
  for (const Expr *sub : s.subscripts) {
    if (sub->kind != Expr::Name)
      continue;
    if (scope->find(sub->text)) {
      diags.error(sub->loc) << "the subscripts of a 'let' are different index names";
      return false;
    }
    if (bool isSize = elab.sizeIndex.contains(sub->text); isSize || elab.constValues.contains(sub->text)) {
      diags.error(sub->loc) << "'" << sub->text << "' is a " << (isSize ? "size" : "constant") << "; a 'let' has an element for each value "
                            << "of its indices, which are other names, as in 'let " << s.target << "["
                            << exampleIndices(s.subscripts.size()) << "] = ..'";
      return false;
    }
  }
  return true;
}

Node *Sema::elaborateLet(const Statement &s, Tensor &t, const Expr *assigned, Scope *scope) {
  t.dims.resize(s.subscripts.size()); // known once the ranges are
  if (accesses(assigned, s.target)) { // a recurrence reads it
    if (!declareParts(s, t, assigned))
      return nullptr;
    elab.own = elab.tensors[s.target] = &t;
    auto element = findElementType(absl::string_view(s.type.name.data(), s.type.name.size()));
    t.element = element ? *element : likelyElement(assigned, s.target);
  }
  Node *value = elab.elaborateValue(assigned, scope);
  if (std::exchange(elab.own, nullptr))
    elab.tensors.erase(s.target);
  t.dims.clear();
  for (Tensor *part : t.parts)
    part->dims.clear();
  return value;
}

Tensor &Sema::addPart(Tensor &t, ElementType element) {
  Tensor &part = kernel.tensors.emplace_back();
  part.kind = Tensor::Let;
  part.name = t.name;
  part.loc = t.loc;
  part.element = element;
  t.parts.push_back(&part);
  return part;
}

bool Sema::declareParts(const Statement &s, Tensor &t, const Expr *assigned) {
  if (assigned->kind == Expr::Tuple && s.type.name.empty()) {
    diags.error(s.targetLoc) << "'" << s.target << "' is a tuple and reads itself; give it its type, as in 'let " << s.target << "["
                             << exampleIndices(s.subscripts.size()) << "]: (x: f32, y: f32) = ..'";
    return false;
  }
  FieldNames names;
  SmallVector<ElementType, 4> types;
  if (!elab.readFields(s.type, names, types))
    return false;
  for (ElementType element : types) {
    Tensor &part = addPart(t, elementOf(widened(element)));
    part.dims.resize(s.subscripts.size());
    part.declared = element;
    if (!kernelc::isFloat(element) && element != ElementType::boolean && elementBits(element) < 32)
      part.narrow = element;
  }
  if (!types.empty())
    t.fields = &kernel.fieldNames.emplace_back(names);
  return true;
}

Node *Sema::giveElement(const Statement &s, Tensor &t, Node *value) {
  if (s.type.name.empty()) {
    if ((value = elab.concrete(value))) {
      t.element = elementOf(value->type);
      t.narrow = value->narrow;
    }
    return value;
  }
  auto element = findElementType(absl::string_view(s.type.name.data(), s.type.name.size()));
  if (!element) {
    elab.reportUnknownType(s.type.name, s.type.loc);
    return nullptr;
  }
  t.element = *element;
  return elab.convertForStore(value, *element, ("'" + s.target + "'").str());
}

bool Sema::finishLet(const Statement &s, CoreStatement &core, Tensor &t, const Expr *assigned) {
  if (!readsOwn(core))
    return restrictLet(core, t) && finishStatement(core) && giveDims(core, t);
  if (s.type.name.empty() && t.element != likelyElement(assigned, s.target)) {
    StringRef type = name(core.value->type);
    diags.error(s.targetLoc) << "'" << s.target << "' reads itself and is of " << type << "; give it its type, as in 'let " << s.target
                             << "[" << exampleIndices(s.subscripts.size()) << "]: " << type << " = ..'";
    return false;
  }
  if (!core.conditions.empty()) {
    diags.error(core.conditions.front()->loc) << "a 'let' that reads itself takes no conditions; choose by 'a if c else b'";
    return false;
  }
  giveWrittenDims(core, t);
  return requirementsAreKnown && inferRanges(core) && giveDims(core, t) && checkBounds(core) && makeRecurrence(core);
}

bool Sema::checkLet(const Statement &s) {
  let = &s;
  auto done = llvm::make_scope_exit([&] { let = nullptr; });
  CoreStatement core;
  core.loc = s.loc;
  core.isLet = true;
  core.phases = s.phases;
  core.anyOrder = s.anyOrder || kernel.def->anyOrder;
  elab.leftNames.clear();
  elab.leftDims.clear();
  elab.plainAssign = true;
  elab.letName = s.target;
  if (!checkLetText(s))
    return false;
  Scope *scope = elab.openStatement();
  if (!checkLetSubscripts(s, scope) || !bindLeft(s, scope, core))
    return false;
  std::vector<BracketItem> where;
  const Expr *assigned = takeGroups(s, where);
  if (!assigned || !checkWhere(where, scope, core))
    return false;
  Tensor &t = kernel.tensors.emplace_back();
  t.kind = Tensor::Let;
  t.name = s.target;
  t.loc = s.targetLoc;
  Node *value = elaborateLet(s, t, assigned, scope);
  if (!value)
    return false;
  t.poisoned = true;
  if (value->type == Ty::Tuple || s.type.name == "(") {
    value = s.type.name.empty() ? value : elab.convertTupleTo(value, s.type, ("'" + s.target + "'").str());
    elab.tensors[s.target] = &t;
    return value && defineTuple(core, t, value);
  }
  // An index of the tensor may be made of several ones of the statement.
  bool isSplit = llvm::any_of(s.subscripts, [](const Expr *sub) { return sub->kind != Expr::Name; });
  if (isSplit && !core.conditions.empty()) {
    diags.error(core.conditions.front()->loc)
        << "a 'let' whose subscripts are no index names takes ranges behind 'where', and no conditions";
    elab.tensors[s.target] = &t;
    return false;
  }
  core.value = giveElement(s, t, value);
  elab.tensors[s.target] = &t;
  core.target = &t;
  if (!core.value || !finishLet(s, core, t, assigned))
    return false;
  t.poisoned = false;
  core.target = &t;
  addStatement(std::move(core));
  return true;
}

bool Sema::restrictLet(CoreStatement &core, Tensor &t) {
  if (core.conditions.empty())
    return true;
  SmallVector<Constraint> affine;
  SmallVector<Node *> rest;
  Node *all = nullptr;
  for (Node *c : core.conditions) {
    splitCondition(c, affine, rest);
    Node *both = all ? elab.make(Node::And, Ty::Bool, c->loc) : c;
    if (all)
      both->ops = {all, c};
    all = both;
  }
  if (!rest.empty()) {
    diags.error(rest.front()->loc) << "a condition of a 'let' compares its indices and sizes, so that each access can be proved to be of "
                                      "what is defined; data chooses by 'a if c else b'";
    return false;
  }
  t.definedWhere.assign(affine.begin(), affine.end());
  t.definedOver.assign(core.vars.begin(), core.vars.end());
  Node *none = t.element == ElementType::boolean ? elab.makeBool(false, core.loc)
               : kernelc::isFloat(t.element)     ? elab.makeFloat(0, core.value->type, core.loc)
                                                 : elab.makeInt(0, core.value->type, core.loc);
  Node *chosen = elab.make(Node::Select, core.value->type, core.loc); // (what nobody reads)
  chosen->ops = {all, core.value, none};
  chosen->narrow = core.value->narrow;
  core.value = chosen;
  core.conditions.clear();
  return true;
}

/// `let t[i] = (x, y)`: a tensor for each field, over the ranges that all of them leave.
bool Sema::defineTuple(CoreStatement &core, Tensor &t, Node *value) {
  SmallVector<Node *> fields;
  for (Node *n : value->ops) {
    if (!(n = elab.concrete(n)))
      return false;
    fields.push_back(n);
  }
  core.value = elab.makeTuple(fields, *value->fields, value->loc);
  core.target = &t;
  bool isRecurrence = readsOwn(core);
  if (!core.conditions.empty()) {
    diags.error(core.loc) << "a 'let' of tuples takes no conditions yet; use 'a if c else b' in each field";
    return false;
  }
  if (isRecurrence) {
    for (Tensor *part : t.parts)
      giveWrittenDims(core, *part);
    if (!requirementsAreKnown || !inferRanges(core))
      return false;
    for (Tensor *part : t.parts)
      if (!giveDims(core, *part))
        return false;
    if (!checkBounds(core) || !makeTupleRecurrence(core))
      return false;
  } else {
    if (!finishStatement(core))
      return false;
    t.fields = value->fields;
    for (Node *n : fields) {
      Tensor &part = addPart(t, elementOf(n->type));
      part.narrow = n->narrow;
      if (!giveDims(core, part))
        return false;
    }
  }
  for (auto [part, n] : llvm::zip(t.parts, core.value->ops)) {
    CoreStatement own = core;
    own.value = n;
    own.target = part;
    statements.push_back(std::move(own));
  }
  t.poisoned = false;
  return true;
}

/// The largest value of a subscript, a sum of indices with numbers or sizes before them; null for others.
AffineExpr Sema::largestOf(AffineExpr e, ArrayRef<IndexVar *> vars) {
  auto simplify = [&](AffineExpr x) { return simplifyAffineExpr(x, kernel.indices.size(), kernel.sizes.size()); };
  for (IndexVar *v : vars) {
    AffineExpr d = getAffineDimExpr(v->id, e.getContext());
    if (!e.isFunctionOfDim(v->id))
      continue;
    AffineExpr at0 = e.replace(d, getAffineConstantExpr(0, e.getContext())), at1 = e.replace(d, getAffineConstantExpr(1, e.getContext()));
    AffineExpr step = simplify(at1 - at0);
    bool isLinear = simplify(at0 + step * d - e) == getAffineConstantExpr(0, e.getContext());
    if (!isLinear || llvm::any_of(vars, [&](IndexVar *w) { return step.isFunctionOfDim(w->id); }) || !Prover(prover).proves(step))
      return {};
    e = at0 + step * (v->hi() - 1);
  }
  return e;
}

/// The dims that the text gives, before ranges are known: what reads the tensor itself may take one of its own from them.
void Sema::giveWrittenDims(const CoreStatement &core, Tensor &t) {
  t.dims.clear();
  if (llvm::all_of(core.subscripts, [](Node *n) { return isa_and_nonnull<AffineDimExpr>(n->affine); }))
    for (IndexVar *v : core.vars)
      t.dims.push_back(v->declLo == getAffineConstantExpr(0, context()) ? v->declHi : AffineExpr());
}

bool Sema::giveDims(const CoreStatement &core, Tensor &t) {
  t.dims.clear();
  auto isName = [](Node *n) { return isa_and_nonnull<AffineDimExpr>(n->affine); };
  if (!llvm::all_of(core.subscripts, isName)) {
    for (Node *n : core.subscripts) {
      AffineExpr largest = n->affine ? largestOf(n->affine, core.vars) : AffineExpr();
      if (!largest) {
        diags.error(n->loc)
            << "a subscript of a 'let' is an index, or a sum of indices with numbers or sizes before them, as in '4 * i + j'";
        return false;
      }
      t.dims.push_back(simplifyAffineExpr(largest + 1, kernel.indices.size(), kernel.sizes.size()));
    }
    return true;
  }
  for (IndexVar *v : core.vars) {
    if (v->lo != getAffineConstantExpr(0, context())) {
      auto d = diags.error(v->loc);
      d << "the range of index '" << v->name << "' of a 'let' starts at " << print(v->lo, kernel) << "; it must start at 0";
      if (auto start = dyn_cast<AffineConstantExpr>(v->lo))
        d << ", so write '" << v->name << (start.getValue() < 0 ? " - " : " + ") << std::to_string(std::abs(start.getValue()))
          << "' where the index is used";
      return false;
    }
    t.dims.push_back(v->extent);
  }
  return true;
}

} // namespace kernelc::frontend
