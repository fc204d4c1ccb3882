// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tuples: values of several fields, which live in 'let's, functions and reducers only. See Elaborate.h.
#include "frontend/Elaborate.h"
#include "frontend/Habits.h"

using namespace mlir;

namespace kernelc::frontend {

Node *Elaborator::makeTuple(ArrayRef<Node *> values, const FieldNames &names, Loc loc) {
  Node *n = make(Node::Tuple, Ty::Tuple, loc);
  n->ops.append(values.begin(), values.end());
  n->fields = &kernel.fieldNames.emplace_back(names);
  return n;
}

Node *Elaborator::elaborateTuple(const Expr *e, const Scope *scope) {
  SmallVector<Node *> values;
  for (const Expr *a : e->args) {
    Node *n = elaborate(a, scope); // fields are no tuples
    if (!n)
      return nullptr;
    values.push_back(n);
  }
  return makeTuple(values, FieldNames(values.size()), e->loc);
}

Node *Elaborator::elaborateMember(const Expr *e, const Scope *scope) {
  if (const Expr *module = e->args[0];
      module->kind == Expr::Name && isModule(module->text) && !scope->find(module->text) && !tensors.contains(module->text)) { // np.inf
    auto d = error(module->loc);
    d << "constants stand in no module here";
    if (llvm::is_contained({"inf", "nan", "pi"}, e->text))
      d << "; write '" << e->text << "'";
    else
      d << "; there are inf, nan and pi";
    return nullptr;
  }
  if (const Expr *whole = e->args[0]; whole->kind == Expr::Access && !scope->find(whole->text)) // one field's tensor alone
    if (Tensor *t = tensors.lookup(whole->text); t && !t->poisoned && t->fields)
      for (auto [field, part] : llvm::zip(*t->fields, t->parts))
        if (field == e->text)
          return readTensor(part, whole, scope);
  Node *n = elaborateValue(e->args[0], scope);
  if (!n)
    return nullptr;
  if (n->type != Ty::Tuple) {
    error(e->loc) << "'" << e->text << "' is read of " << name(n->type) << ", which has no fields; tuples have";
    return nullptr;
  }
  for (auto [field, value] : llvm::zip(*n->fields, n->ops))
    if (field == e->text)
      return value;
  SmallVector<StringRef> known(n->fields->begin(), n->fields->end());
  llvm::erase(known, "");
  std::string near = findNearest(e->text, known);
  auto d = error(e->loc);
  d << "this tuple has no field '" << e->text << "'; ";
  if (known.empty())
    d << "its fields have no names; a type gives them, as in 'let t: (v: f32, i: i64) = ..', of a let, a reducer or a parameter";
  else if (!near.empty())
    d << "did you mean '" << near << "'?";
  else
    d << "it has " << llvm::join(known, ", ");
  return nullptr;
}

Node *Elaborator::selectTuple(Node *condition, Node *a, Node *b, Loc loc) {
  if (a->type != b->type || a->ops.size() != b->ops.size()) {
    auto describe = [](Node *n) { return n->type == Ty::Tuple ? "a tuple of " + std::to_string(n->ops.size()) : name(n->type).str(); };
    error(loc) << "'if' chooses between " << describe(a) << " and " << describe(b) << "; both sides have the same fields";
    return nullptr;
  }
  SmallVector<Node *> values;
  for (auto [x, y] : llvm::zip(a->ops, b->ops)) {
    Node *n = makeSelect(condition, x, y, loc);
    if (!n)
      return nullptr;
    values.push_back(n);
  }
  bool named = !a->fields->empty() && !a->fields->front().empty();
  return makeTuple(values, named ? *a->fields : *b->fields, loc);
}

bool Elaborator::readFields(const TypeRef &type, FieldNames &names, SmallVectorImpl<ElementType> &types) {
  for (const Param &p : type.fields) {
    std::optional<ElementType> element = p.type.isTensor || p.type.name == "(" ? std::nullopt : elementNamed(p.type.name);
    if (!element) {
      if (p.type.isTensor || p.type.name == "(")
        diags.error(at(p.type.loc)) << "a field is one number, as in '" << p.name << ": f32'";
      else
        reportUnknownType(p.type.name, at(p.type.loc));
      return false;
    }
    if (llvm::is_contained(names, p.name)) {
      diags.error(at(p.loc)) << "the tuple has two fields '" << p.name << "'";
      return false;
    }
    names.push_back(p.name);
    types.push_back(*element);
  }
  return true;
}

Node *Elaborator::convertTuple(Node *n, const TypeRef &type, StringRef into) {
  FieldNames names;
  SmallVector<ElementType, 4> types;
  if (!readFields(type, names, types))
    return nullptr;
  if (n->type != Ty::Tuple || n->ops.size() != types.size()) {
    auto d = error(n->loc);
    d << into << " is a tuple of " << types.size() << " fields (" << llvm::join(names, ", ") << "), not ";
    if (n->type == Ty::Tuple)
      d << "one of " << n->ops.size();
    else
      d << name(n->type);
    return nullptr;
  }
  SmallVector<Node *> values;
  for (auto [value, element, field] : llvm::zip(n->ops, types, names)) {
    Node *v = convertAsStored(value, element, ("field '" + field + "' of " + into).str());
    if (!v)
      return nullptr;
    values.push_back(v);
  }
  return makeTuple(values, names, n->loc);
}

} // namespace kernelc::frontend
