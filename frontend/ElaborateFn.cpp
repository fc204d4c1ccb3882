// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inlining of `fn`s and of their `let`s. See Elaborate.h.
#include "frontend/Elaborate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc::frontend {

Node *Elaborator::elaborateFn(const Definition *fn, const Expr *e, const Scope *scope) {
  if (fn->isBroken)
    return nullptr;
  if (llvm::is_contained(callStack, fn)) {
    error(e->loc) << "function '" << fn->name << "' calls itself; functions are inlined and cannot recurse";
    return nullptr;
  }
  if (e->items.size() != fn->indexParams.size() || e->hasBracket != !fn->indexParams.empty()) {
    auto d = error(e->loc);
    d << "'" << fn->name << "' takes " << fn->indexParams.size() << (fn->indexParams.size() == 1 ? " index" : " indices")
      << " in brackets, not " << e->items.size() << "; write '" << fn->name;
    if (!fn->indexParams.empty())
      d << "[" << llvm::join(llvm::map_range(fn->indexParams, [](const Param &p) { return p.name; }), ", ") << "]";
    d << "(..)'";
    return nullptr;
  }
  Scope &body = scopes.emplace_back();
  Scope &args = scopes.emplace_back(); // the caller's scope, plus indices the call introduces
  args.parent = scope;
  for (auto [item, param] : llvm::zip(e->items, fn->indexParams)) {
    if (item.lo || item.expr->kind != Expr::Name) {
      error(item.loc) << "ranges and conditions in the bracket of a function are not supported yet; give the "
                         "index's name";
      return nullptr;
    }
    const Binding *b = scope->find(item.expr->text);
    if (b && b->kind != Binding::Key) {
      error(item.loc) << "'" << item.expr->text << "' is not an index";
      return nullptr;
    }
    Binding key;
    if (b) {
      key.key = b->key;
    } else {
      if (isKernelName(item.expr->text)) {
        error(item.loc) << "'" << item.expr->text
                        << "' already names something else of this kernel; an index needs "
                           "another name";
        return nullptr;
      }
      key.key = keyValues.size();
      keyValues.push_back(nullptr);
      keyNames.push_back(item.expr->text);
      args.names.push_back({item.expr->text, key});
    }
    key.isIndexParam = true;
    body.names.push_back({param.name, key});
  }
  std::vector<bool> given(fn->params.size());
  size_t next = 0;
  for (const NamedArg &a : e->named) {
    size_t i = next;
    if (!a.name.empty()) {
      for (i = 0; i < fn->params.size() && fn->params[i].name != a.name; ++i)
        ;
      if (i == fn->params.size()) {
        SmallVector<StringRef> names;
        for (const Param &p : fn->params)
          names.push_back(p.name);
        std::string near = findNearest(a.name, names);
        auto d = error(a.loc);
        d << "'" << fn->name << "' has no parameter '" << a.name << "'; ";
        if (!near.empty())
          d << "did you mean '" << near << "'?";
        else
          d << "it has " << llvm::join(names, ", ");
        return nullptr;
      }
    } else {
      ++next;
    }
    if (i >= fn->params.size() || given[i]) {
      error(e->loc) << "'" << fn->name << "' takes " << fn->params.size() << " arguments";
      return nullptr;
    }
    given[i] = true;
    Binding b;
    b.kind = Binding::Thunk;
    b.callDepth = callStack.size();
    b.expr = a.value;
    b.scope = &args;
    b.param = &fn->params[i];
    body.names.push_back({fn->params[i].name, b});
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i])
      continue;
    if (!fn->params[i].defaultValue) {
      error(e->loc) << "'" << fn->name << "' is called without its parameter '" << fn->params[i].name << "'";
      return nullptr;
    }
    Binding b;
    b.kind = Binding::Thunk;
    b.callDepth = callStack.size();
    b.expr = fn->params[i].defaultValue;
    b.scope = &body;
    b.param = &fn->params[i];
    body.names.push_back({fn->params[i].name, b});
  }
  for (const Statement &s : fn->body) {
    if (s.kind != Statement::Let || !s.where.empty()) {
      error(s.loc) << "the body of a function is 'let's and one expression";
      return nullptr;
    }
    Scope &visible = scopes.emplace_back(body); // what stands before this let
    Binding b;
    b.kind = Binding::Lambda;
    b.lambda = &s;
    b.expr = s.value;
    b.scope = &visible;
    body.names.push_back({s.target, b});
  }
  callStack.push_back(fn);
  auto savedSite = callSite;
  if (e->loc.file == 0 && fn->loc.file != 0)
    callSite = e->loc;
  bool savedSubscript = std::exchange(inSubscript, false);
  Node *n = fn->value ? elaborate(fn->value, &body) : nullptr;
  inSubscript = savedSubscript;
  callSite = savedSite;
  callStack.pop_back();
  if (n && !fn->outputs.empty()) {
    if (auto t = elementNamed(fn->outputs[0].type.name)) {
      n = convertForStore(n, *t, ("the value of '" + fn->name + "'").str());
      if (n)
        n = convert(n, widened(*t));
    } else {
      reportUnknownType(fn->outputs[0].type.name, at(fn->outputs[0].type.loc));
      return nullptr;
    }
  }
  return n;
}

Node *Elaborator::elaborateLambda(const Binding &b, const Expr *e, const Scope *scope) {
  const Statement &s = *b.lambda;
  if (e->args.size() != s.subscripts.size()) {
    error(e->loc) << "'" << s.target << "' takes " << s.subscripts.size() << " subscripts, not " << e->args.size();
    return nullptr;
  }
  Scope &inner = scopes.emplace_back();
  inner.parent = b.scope;
  for (auto [sub, arg] : llvm::zip(s.subscripts, e->args)) {
    if (sub->kind != Expr::Name) {
      error(sub->loc) << "the subscripts of a 'let' inside a function are index names";
      return nullptr;
    }
    Node *n = elaborateInteger(arg, scope, "a subscript");
    if (!n)
      return nullptr;
    Binding key;
    key.key = keyValues.size();
    keyValues.push_back(convert(n, Ty::I64));
    keyNames.push_back(sub->text);
    inner.names.push_back({sub->text, key});
  }
  Node *n = elaborate(s.value, &inner);
  if (n && !s.type.name.empty())
    if (auto t = elementNamed(s.type.name)) {
      n = convertForStore(n, *t, ("'" + s.target + "'").str());
      if (n)
        n = convert(n, widened(*t));
    }
  return n;
}

} // namespace kernelc::frontend
