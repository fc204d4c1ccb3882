// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inlining of `fn`s and of their `let`s. See Elaborate.h.
#include "frontend/Elaborate.h"
#include "frontend/Sema.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc::frontend {

/// One item of a call's bracket: an index that the function reduces over, or a condition of its reductions.
bool Elaborator::addToPack(const BracketItem &item, const Scope *scope, Scope &args, IndexPack &pack, ArrayRef<StringRef> declared) {
  std::optional<ChainedRange> chain = item.lo ? std::nullopt : chainedRange(item.expr);
  if (chain && !isDeclaration(chain->index, scope, declared))
    chain.reset();
  if (!item.lo && !chain && item.expr->kind != Expr::Name) {
    pack.conditions.push_back({item.expr, &args});
    return true;
  }
  const Expr *name = chain ? chain->index : item.expr;
  if (name->kind != Expr::Name) {
    error(item.loc) << "expected an index name before 'in'";
    return false;
  }
  const Binding *b = scope->find(name->text);
  if (b && b->kind != Binding::Key) {
    error(item.loc) << "'" << name->text << "' is not an index";
    return false;
  }
  if (b && b->pack && !item.lo && !chain) { // the bracket of a call around this one
    pack.indices.append(b->pack->indices);
    pack.conditions.append(b->pack->conditions);
    return true;
  }
  IndexPack::Index index;
  index.scope = &args;
  if (b) {
    index.key = b->key;
  } else {
    if (isKernelName(name->text)) {
      error(item.loc) << "'" << name->text << "' already names something else of this kernel; an index needs another name";
      return false;
    }
    Binding key;
    key.key = index.key = keyValues.size();
    keyValues.push_back(nullptr);
    keyNames.push_back(name->text);
    args.names.push_back({name->text, key});
  }
  if (item.lo)
    std::tie(index.lo, index.hi) = std::pair(item.lo, item.hi);
  else if (chain)
    std::tie(index.lo, index.hi, index.openLo, index.closedHi) = std::tuple(chain->lo, chain->hi, chain->openLo, chain->closedHi);
  pack.indices.push_back(index);
  return true;
}

/// Of one index parameter the whole bracket is the meaning; of several each has an index, with the conditions behind it.
bool Elaborator::bindIndexParams(const Definition *fn, const Expr *e, const Scope *scope, Scope &args, Scope &body) {
  SmallVector<StringRef> declared;
  for (const BracketItem &item : e->items)
    if (item.expr->kind == Expr::Name)
      declared.push_back(item.expr->text);
  SmallVector<IndexPack *> given;
  for (const BracketItem &item : e->items) {
    IndexPack one;
    if (!addToPack(item, scope, args, one, declared))
      return false;
    bool isCondition = one.indices.empty();
    if (given.empty() || (!isCondition && fn->indexParams.size() > 1)) {
      given.push_back(&packs.emplace_back(std::move(one)));
      continue;
    }
    IndexPack &last = *given.back();
    last.indices.append(one.indices);
    last.conditions.append(one.conditions);
  }
  bool fits = given.size() == fn->indexParams.size() && e->hasBracket == !fn->indexParams.empty() &&
              llvm::all_of(given, [](IndexPack *p) { return !p->indices.empty(); });
  if (!fits) {
    size_t count = 0;
    for (IndexPack *p : given)
      count += p->indices.size();
    auto d = error(e->loc);
    d << "'" << fn->name << "' takes " << fn->indexParams.size() << (fn->indexParams.size() == 1 ? " index" : " indices")
      << " in brackets, not " << count << "; write '" << fn->name;
    if (!fn->indexParams.empty())
      d << "[" << llvm::join(llvm::map_range(fn->indexParams, [](const Param &p) { return p.name; }), ", ") << "]";
    d << "(..)'";
    return false;
  }
  for (auto [pack, param] : llvm::zip(given, fn->indexParams)) {
    Binding b;
    b.key = pack->indices.front().key;
    b.pack = pack;
    body.names.push_back({param.name, b});
  }
  return true;
}

Tensor *Elaborator::findTensor(const Expr *e, const Scope *scope) const {
  while (e->kind == Expr::Name) {
    const Binding *b = scope->find(e->text);
    if (!b) {
      while (scope->parent)
        scope = scope->parent;
      return scope->kernelLevel ? tensors.lookup(e->text) : nullptr;
    }
    if (b->kind != Binding::Thunk)
      return nullptr;
    e = b->expr;
    scope = b->scope;
  }
  return nullptr;
}

/// A tensor for a parameter with a shape: its dims are what the names of the shape stand for.
bool Elaborator::bindShape(const Definition *fn, const Param &p, const Expr *given, Scope &args, Scope &body) {
  Tensor *t = findTensor(given, &args);
  if (!t || t->kind == Tensor::Scalar) {
    auto d = error(given->loc);
    d << "parameter '" << p.name << "' of '" << fn->name << "' is a tensor; give the name of one, without subscripts";
    if (given->hasBracket)
      d << "; for a row of one, let the function take an element and its index, as in 'fn total[j](e) { sum[j](e) }'";
    return false;
  }
  if (t->poisoned)
    return false;
  std::optional<ElementType> element = elementNamed(p.type.name);
  if (!element) {
    reportUnknownType(p.type.name, at(p.type.loc));
    return false;
  }
  auto text = [](ElementType e) { return StringRef(elementTypeName(e).data(), elementTypeName(e).size()); };
  if (*element != t->element || p.type.dims.size() != t->dims.size()) {
    auto dims = [](size_t n) { return std::to_string(n) + (n == 1 ? " dim" : " dims"); };
    error(given->loc) << "parameter '" << p.name << "' of '" << fn->name << "' is a tensor of " << text(*element) << " with "
                      << dims(p.type.dims.size()) << "; '" << t->name << "' is one of " << text(t->element) << " with "
                      << dims(t->dims.size()) << "; without a type '" << p.name << "' takes any";
    return false;
  }
  for (auto [dim, size] : llvm::zip(p.type.dims, t->dims)) {
    if (dim->kind == Expr::Name && !body.find(dim->text)) {
      Binding b;
      b.key = keyValues.size();
      keyValues.push_back(makeAffine(size, dim->loc));
      keyNames.push_back(dim->text);
      body.names.push_back({dim->text, b});
      continue;
    }
    Node *n = elaborateInteger(dim, &body, "a size");
    if (!n)
      return false;
    if (n->affine != size && !(sizesAgree && sizesAgree(n->affine, size))) {
      error(given->loc) << "'" << t->name << "' has a dim of " << print(size, kernel) << " where parameter '" << p.name << "' of '"
                        << fn->name << "' has one of " << print(n->affine, kernel) << "; add 'require " << print(size, kernel)
                        << " == " << print(n->affine, kernel) << "'";
      return false;
    }
  }
  return true;
}

bool Elaborator::bindParams(const Definition *fn, const Expr *e, Scope &args, Scope &body) {
  SmallVector<StringRef> names(llvm::map_range(fn->params, [](const Param &p) { return p.name; }));
  SmallVector<const Expr *> given(fn->params.size());
  size_t next = 0;
  for (const NamedArg &a : e->named) {
    size_t i = next;
    if (!a.name.empty()) {
      for (i = 0; i < fn->params.size() && fn->params[i].name != a.name; ++i)
        ;
      if (i == fn->params.size()) {
        std::string near = findNearest(a.name, names);
        auto d = error(a.loc);
        d << "'" << fn->name << "' has no parameter '" << a.name << "'; ";
        if (!near.empty())
          d << "did you mean '" << near << "'?";
        else
          d << "it has " << llvm::join(names, ", ");
        return false;
      }
    } else {
      ++next;
    }
    if (i >= fn->params.size() || given[i]) {
      error(e->loc) << "'" << fn->name << "' takes " << fn->params.size() << (fn->params.size() == 1 ? " argument" : " arguments") << " ("
                    << llvm::join(names, ", ") << "), not " << e->named.size();
      return false;
    }
    given[i] = a.value;
  }
  for (auto [p, value] : llvm::zip(fn->params, given)) {
    if (!value && !p.defaultValue) {
      error(e->loc) << "'" << fn->name << "' is called without its parameter '" << p.name << "'; it takes " << llvm::join(names, ", ");
      return false;
    }
    Binding b;
    b.kind = Binding::Thunk;
    b.callDepth = callStack.size();
    b.expr = value ? value : p.defaultValue;
    b.scope = value ? &args : &body;
    b.param = &p;
    body.names.push_back({p.name, b});
    if (p.type.isTensor && !bindShape(fn, p, b.expr, args, body))
      return false;
  }
  return true;
}

/// The 'let's of a function or reducer, each of which sees those before it.
bool Elaborator::bindLets(const Definition *fn, Scope &body) {
  for (const Statement &s : fn->body) {
    if (s.kind != Statement::Let || !s.where.empty()) {
      error(s.loc) << "the body of a " << (fn->kind == Definition::Fn ? "function" : "reducer") << " is 'let's and one expression";
      return false;
    }
    Scope &visible = scopes.emplace_back(body);
    Binding b;
    b.kind = Binding::Lambda;
    b.lambda = &s;
    b.expr = s.value;
    b.scope = &visible;
    body.names.push_back({s.target, b});
  }
  return true;
}

Node *Elaborator::elaborateFn(const Definition *fn, const Expr *e, const Scope *scope) {
  if (fn->isBroken)
    return nullptr;
  if (llvm::is_contained(callStack, fn)) {
    error(e->loc) << "function '" << fn->name << "' calls itself; functions are inlined and cannot recurse";
    return nullptr;
  }
  Scope &body = scopes.emplace_back();
  Scope &args = scopes.emplace_back(); // the caller's scope, plus indices the call introduces
  args.parent = scope;
  if (!bindIndexParams(fn, e, scope, args, body) || !bindParams(fn, e, args, body))
    return nullptr;
  if (!bindLets(fn, body))
    return nullptr;
  callStack.push_back(fn);
  auto savedSite = callSite;
  if (e->loc.file == 0 && fn->loc.file != 0)
    callSite = e->loc;
  bool savedSubscript = std::exchange(inSubscript, false);
  Node *n = fn->value ? elaborateValue(fn->value, &body) : nullptr;
  inSubscript = savedSubscript;
  callSite = savedSite;
  callStack.pop_back();
  if (n && !fn->outputs.empty()) {
    if (fn->outputs[0].type.name == "(")
      return convertTuple(n, fn->outputs[0].type, ("the value of '" + fn->name + "'").str());
    if (n->type == Ty::Tuple) {
      error(e->loc) << "'" << fn->name << "' is to give one value, and gives a tuple";
      return nullptr;
    }
    if (auto t = elementNamed(fn->outputs[0].type.name)) {
      n = convertAsStored(n, *t, ("the value of '" + fn->name + "'").str());
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
  auto known = lets.find({b.scope, &s});
  if (s.subscripts.empty() && known != lets.end() && known->second.first == epoch)
    return known->second.second;
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
  Node *n = elaborateValue(s.value, &inner);
  if (n && n->type == Ty::Tuple && !s.type.name.empty())
    n = convertTuple(n, s.type, ("'" + s.target + "'").str());
  else if (n && !s.type.name.empty())
    if (auto t = elementNamed(s.type.name))
      n = convertAsStored(n, *t, ("'" + s.target + "'").str());
  if (s.subscripts.empty())
    lets[{b.scope, &s}] = {epoch, n};
  return n;
}

} // namespace kernelc::frontend
