// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reducers of the program: their definitions, their elements, and what they combine. See Elaborate.h.
#include "frontend/Elaborate.h"
#include "frontend/LawTests.h"
#include "frontend/ScalarProgram.h"
#include "frontend/Sema.h"

using namespace mlir;

namespace kernelc::frontend {

const ReducerForm *Elaborator::findReducer(StringRef name) {
  if (auto known = forms.find(name); known != forms.end())
    return known->second;
  auto it = reducers.find(name);
  if (it == reducers.end() || it->second->isBroken)
    return nullptr;
  ReducerForm &form = kernel.reducers.emplace_back();
  bool ok = checkReducer(*it->second, form);
  return forms[name] = ok ? &form : nullptr;
}

bool Elaborator::checkReducer(const Definition &d, ReducerForm &form) {
  form.def = &d;
  auto report = [&](Loc loc) { return diags.error(at(loc)); };
  if (d.params.size() != 2) {
    report(d.nameLoc) << "a reducer combines two states, and '" << d.name << "' has " << d.params.size()
                      << (d.params.size() == 1 ? " parameter; write '" : " parameters; write '") << d.name << "(a, b: f32)' or '" << d.name
                      << "(a, b: (v: f32, i: i64))'";
    return false;
  }
  const TypeRef &type = d.params[1].type, &first = d.params[0].type;
  auto sameType = [&] {
    if (first.name.empty())
      return true;
    if (first.name != type.name || first.fields.size() != type.fields.size())
      return false;
    return llvm::all_of(llvm::zip(first.fields, type.fields), [](auto pair) {
      auto &[x, y] = pair;
      return x.name == y.name && x.type.name == y.type.name;
    });
  };
  if (type.name.empty() || type.isTensor || !sameType() || d.params[0].defaultValue || d.params[1].defaultValue) {
    report(d.params[1].loc) << "both parameters of a reducer have one type, a number's or a tuple's, as in '" << d.name << "("
                            << d.params[0].name << ", " << d.params[1].name << ": f32)' or '.. : (v: f32, i: i64))'";
    return false;
  }
  if (type.name == "(") {
    if (!readFields(type, form.fields, form.types))
      return false;
  } else if (auto element = elementNamed(type.name)) {
    form.types.push_back(*element);
  } else {
    reportUnknownType(type.name, at(type.loc));
    return false;
  }
  if (form.types.empty() || form.types.size() > 32) {
    report(type.loc) << "a state has 1 to 32 fields";
    return false;
  }
  for (unsigned i = 0; i < 2 * form.types.size(); ++i) {
    ElementType element = form.types[i % form.types.size()];
    Node *p = make(Node::Param, widened(element), d.params[i / form.types.size()].loc);
    p->intValue = i;
    p->castTo = element;
    if (!kernelc::isFloat(element) && element != ElementType::boolean && elementBits(element) < 32)
      p->narrow = element;
    form.params.push_back(p);
  }
  ArrayRef<Node *> params = form.params;
  return checkIdentity(d, form) &&
         combineStates(form, params.take_front(form.types.size()), params.drop_front(form.types.size()), form.combined);
}

bool Elaborator::toState(const ReducerForm &form, Node *n, StringRef what, SmallVectorImpl<Node *> &fields) {
  size_t have = n->type == Ty::Tuple ? n->ops.size() : 1;
  if (have != form.types.size() || (form.isScalar() && n->type == Ty::Tuple)) {
    auto d = error(n->loc);
    d << what << " of '" << form.def->name << "' has ";
    if (form.isScalar())
      d << "one value, not a tuple";
    else
      d << form.types.size() << " fields (" << llvm::join(form.fields, ", ") << "), not " << have;
    return false;
  }
  for (size_t k = 0; k < form.types.size(); ++k) {
    // A tuple with the same names may have them in another order.
    Node *value = n->type == Ty::Tuple ? n->ops[k] : n;
    if (n->type == Ty::Tuple && n->fields)
      for (auto [field, v] : llvm::zip(*n->fields, n->ops))
        if (field == form.fields[k])
          value = v;
    std::string into = form.isScalar() ? (what + " of '" + form.def->name + "'").str()
                                       : ("field '" + form.fields[k] + "' of '" + form.def->name + "'").str();
    Node *v = convertAsStored(value, form.types[k], into);
    if (!v)
      return false;
    fields.push_back(v);
  }
  return true;
}

bool Elaborator::checkIdentity(const Definition &d, ReducerForm &form) {
  Scope &scope = scopes.emplace_back(); // of constants and functions alone
  Node *n = elaborateValue(d.identity[0], &scope);
  if (!n || !toState(form, n, "the identity", form.identity))
    return false;
  for (Node *v : form.identity)
    if (!isConstant(v)) {
      diags.error(at(d.identity[0]->whole())) << "the identity of '" << d.name << "' must be made of constants";
      return false;
    }
  return true;
}

bool Elaborator::combineStates(const ReducerForm &form, ArrayRef<Node *> before, ArrayRef<Node *> behind,
                               SmallVectorImpl<Node *> &combined) {
  const Definition &d = *form.def;
  if (llvm::is_contained(callStack, &d)) {
    error(d.nameLoc) << "reducer '" << d.name << "' uses itself";
    return false;
  }
  Scope &body = scopes.emplace_back();
  for (const Param &param : d.params) {
    ArrayRef<Node *> state = &param == &d.params.front() ? before : behind;
    Binding b;
    b.key = keyValues.size();
    keyValues.push_back(form.isScalar() ? state[0] : makeTuple(state, form.fields, param.loc));
    keyNames.push_back(param.name);
    body.names.push_back({param.name, b});
  }
  if (!bindLets(&d, body))
    return false;
  callStack.push_back(&d);
  auto savedSite = callSite;
  bool savedSubscript = std::exchange(inSubscript, false);
  Node *n = d.value ? elaborateValue(d.value, &body) : nullptr;
  inSubscript = savedSubscript;
  callSite = savedSite;
  callStack.pop_back();
  if (!n || !toState(form, n, "the body", combined))
    return false;
  for (Node *v : combined) {
    Node *other = nullptr;
    walk(v, [&](Node *o) { other = o->kind == Node::Reduce ? o : other; });
    if (other && before[0] == form.params[0]) { // (states that are combined elsewhere may have been reduced)
      error(other->loc) << "the body of a reducer combines two states and has no reductions of its own";
      return false;
    }
  }
  return true;
}

bool Elaborator::elaborateElement(const ReducerForm &form, const Expr *e, const Scope *scope, SmallVectorImpl<Node *> &element) {
  auto report = [&] {
    auto d = error(e->loc);
    d << "'" << e->text << "[..]' takes ";
    if (form.isScalar())
      d << "one value, as in '" << e->text << "[k](x[k])'";
    else
      d << "its " << form.types.size() << " fields (" << llvm::join(form.fields, ", ") << ") or one tuple of them";
    return false;
  };
  if (e->named.size() == 1 && e->named[0].name.empty()) {
    Node *n = elaborateValue(e->named[0].value, scope);
    return n && toState(form, n, "an element", element);
  }
  if (e->named.size() != form.types.size() || form.isScalar())
    return report();
  SmallVector<Node *> values(form.types.size());
  size_t next = 0;
  for (const NamedArg &a : e->named) {
    size_t k = a.name.empty() ? next++ : size_t(llvm::find(form.fields, a.name) - form.fields.begin());
    if (k >= values.size() || values[k])
      return report();
    if (!(values[k] = elaborate(a.value, scope)))
      return false;
  }
  return toState(form, makeTuple(values, form.fields, e->loc), "an element", element);
}

Node *Elaborator::makeOwnReduce(const ReducerForm &form, ArrayRef<IndexVar *> vars, ArrayRef<Node *> conditions, ArrayRef<Node *> element,
                                Loc loc) {
  if (++reductions > kMaxReductions) {
    error(loc) << "kernel '" << kernel.def->name << "' has more than " << kMaxReductions << " reductions; split it into several kernels";
    overBudget = true;
    return nullptr;
  }
  Node *n = make(Node::Reduce, form.isScalar() ? widened(form.types[0]) : Ty::Tuple, loc);
  n->reducer = &form;
  n->vars.append(vars.begin(), vars.end());
  n->conditions.append(conditions.begin(), conditions.end());
  n->ops.append(element.begin(), element.end());
  LawReport report = testLaws(form, element);
  n->laws = report.laws;
  n->lawText = kernel.texts.emplace_back(std::move(report.text));
  if (form.isScalar()) {
    n->narrow = form.params[0]->narrow;
    return n;
  }
  SmallVector<Node *> fields;
  for (auto [k, type] : llvm::enumerate(form.types)) {
    Node *field = make(Node::Field, widened(type), loc);
    field->ops.push_back(n);
    field->intValue = int64_t(k);
    field->narrow = form.params[k]->narrow;
    fields.push_back(field);
  }
  return makeTuple(fields, form.fields, loc);
}

} // namespace kernelc::frontend
