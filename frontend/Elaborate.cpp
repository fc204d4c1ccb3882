// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names, operators and tensor accesses. See Elaborate.h.
#include "frontend/Elaborate.h"
#include "frontend/Habits.h"
#include "frontend/Lexer.h"
#include "frontend/Sema.h"

#include <cmath>
#include <limits>

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::frontend {

/// Bounds the depth of inlining plus nesting.
struct DepthGuard {
  explicit DepthGuard(Elaborator &e) : e(e) { ++e.depth; }
  ~DepthGuard() { --e.depth; }
  bool ok(Loc loc) {
    if (e.depth <= 2 * 256)
      return true;
    if (!e.overBudget)
      e.error(loc) << "nested more than 512 levels deep after inlining functions";
    e.overBudget = true;
    return false;
  }
  Elaborator &e;
};

const Binding *Scope::find(StringRef name) const {
  for (const Scope *s = this; s; s = s->parent)
    for (auto it = s->names.rbegin(); it != s->names.rend(); ++it)
      if (it->first == name)
        return &it->second;
  return nullptr;
}

bool Elaborator::count(Loc loc) {
  if (++operations <= kMaxOperations)
    return true;
  if (!overBudget)
    error(loc) << "kernel '" << kernel.def->name << "' has more than " << kMaxOperations << " operations; split it into several kernels";
  overBudget = true;
  return false;
}

void Elaborator::addSize(StringRef name) {
  if (sizeIndex.try_emplace(name, kernel.sizes.size()).second)
    kernel.sizes.push_back(name.str());
}

bool Elaborator::isKernelName(StringRef name) const {
  // The prelude reserves no names.
  auto fn = fns.find(name);
  auto reducer = reducers.find(name);
  return constValues.contains(name) || tensors.contains(name) || sizeIndex.contains(name) ||
         (fn != fns.end() && fn->second->loc.file == 0) || (reducer != reducers.end() && reducer->second->loc.file == 0);
}

Scope *Elaborator::openStatement() {
  Scope &s = scopes.emplace_back();
  s.kernelLevel = true;
  return &s;
}

IndexVar *Elaborator::bindIndex(Scope *scope, StringRef name, Loc loc) {
  IndexVar &v = kernel.indices.emplace_back();
  v.id = kernel.indices.size() - 1;
  v.name = name;
  v.loc = at(loc);
  Node *n = make(Node::Index, Ty::I64, loc);
  n->index = &v;
  n->affine = getAffineDimExpr(v.id, context());
  n->pureIndex = true;
  Binding b;
  b.key = keyValues.size();
  keyValues.push_back(n);
  keyNames.push_back(name);
  scope->names.push_back({name, b});
  return &v;
}

Node *Elaborator::elaborate(const Expr *e, const Scope *scope) {
  Node *n = elaborateValue(e, scope);
  if (!n || n->type != Ty::Tuple)
    return n;
  auto d = error(e->whole());
  d << "expected one value, found a tuple";
  if (n->fields && !n->fields->empty() && !n->fields->front().empty())
    d << "; its fields are read by name, as in '." << n->fields->front() << "'";
  return nullptr;
}

Node *Elaborator::elaborateValue(const Expr *e, const Scope *scope) {
  if (overBudget)
    return nullptr;
  DepthGuard guard(*this);
  if (!guard.ok(e->loc) || !count(e->loc))
    return nullptr;
  switch (e->kind) {
  case Expr::Integer: {
    uint64_t v = 0;
    if (e->text.getAsInteger(0, v)) // the scanner has said so
      return nullptr;
    bool onlyUnsigned = v > uint64_t(std::numeric_limits<int64_t>::max());
    return makeInt(int64_t(v), onlyUnsigned ? Ty::U64 : Ty::IntLit, e->loc);
  }
  case Expr::Float: {
    std::optional<double> v = parseFloat(e->text);
    if (!v)
      return nullptr;
    if (std::isinf(*v))
      diags.warning(e->loc) << "'" << e->text.substr(0, 40) << "' is beyond f64: it is inf";
    if (*v == 0 && e->text.split('e').first.split('E').first.find_first_of("123456789") != StringRef::npos)
      diags.warning(e->loc) << "'" << e->text.substr(0, 40) << "' is too small for f64: it is 0";
    return makeFloat(*v, Ty::FloatLit, e->loc);
  }
  case Expr::Bool: return makeBool(e->text.equals_insensitive("true"), e->loc);
  case Expr::String: error(e->loc) << "a string is not a value: a kernel computes with numbers"; return nullptr;
  case Expr::Name: return elaborateName(e, scope);
  case Expr::Unary: return elaborateUnary(e, scope);
  case Expr::Chain: return elaborateChain(e, scope);
  case Expr::Power: return elaboratePower(e, scope);
  case Expr::Compare: return elaborateCompare(e, scope);
  case Expr::And:
  case Expr::Or: return elaborateLogic(e, scope);
  case Expr::Select: return elaborateSelect(e, scope);
  case Expr::Access: return elaborateAccess(e, scope);
  case Expr::Call: return elaborateCall(e, scope);
  case Expr::Subscripted:
    if (e->args[0]->kind == Expr::Call && e->args[0]->text == "view" && !fns.contains("view"))
      return elaborateView(e, scope);
    if (elaborate(e->args[0], scope))
      error(e->loc) << "a scalar takes no subscripts";
    return nullptr;
  case Expr::Member: return elaborateMember(e, scope);
  case Expr::Tuple: return elaborateTuple(e, scope);
  }
  return nullptr;
}

Node *Elaborator::elaborateCondition(const Expr *e, const Scope *scope) {
  Node *n = elaborate(e, scope);
  if (n && n->type != Ty::Bool) {
    error(e->loc) << "expected a condition, found " << name(n->type) << "; compare it, as in '.. != 0'";
    return nullptr;
  }
  return n;
}

Node *Elaborator::elaborateInteger(const Expr *e, const Scope *scope, StringRef what) {
  bool saved = std::exchange(inInteger, true);
  Node *n = elaborate(e, scope);
  inInteger = saved;
  return n && expectInteger(n, e->loc, what) ? n : nullptr;
}

bool Elaborator::expectInteger(Node *n, Loc loc, StringRef what) {
  if (!isInt(n->type)) {
    error(loc) << what << " must be an integer, not " << name(n->type);
    return false;
  }
  if (n->affine)
    return true;
  bool data = false, scalar = false;
  walk(n, [&](Node *o) {
    data |= o->kind == Node::Read || o->kind == Node::Reduce;
    scalar |= o->kind == Node::ScalarParam;
  });
  if (data)
    error(loc) << what << " that depends on data is not supported yet; use indices, sizes and integers";
  else if (scalar)
    error(loc) << what << " that depends on a scalar parameter is not supported yet";
  else if (n->kind == Node::ConstInt)
    error(loc) << what << " must be at most " << kMaxAffineConstant << " and at least -" << kMaxAffineConstant;
  else
    error(loc) << what
               << " must be built from +, -, *, // and % of indices and sizes, with // and % by sizes or "
                  "positive integers only";
  return false;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Node *Elaborator::elaborateBinding(const Expr *e, const Binding &b) {
  switch (b.kind) {
  case Binding::Key:
    if (b.pack && b.pack->indices.size() > 1) {
      error(e->loc) << "'" << e->text << "' stands for " << b.pack->indices.size() << " indices here and has no one value";
      return nullptr;
    }
    if (Node *n = keyValues[b.key])
      return n;
    error(e->loc) << "index '" << e->text << "' is not bound here; it ranges only inside a reduction over it";
    return nullptr;
  case Binding::Thunk: {
    // The argument means what it means at the call: leave the function's text.
    auto saved = callSite;
    if (b.expr->loc.file == 0)
      callSite.reset();
    std::vector<const Definition *> open(callStack.begin() + b.callDepth, callStack.end());
    callStack.resize(b.callDepth);
    Node *n = elaborateValue(b.expr, b.scope);
    callStack.insert(callStack.end(), open.begin(), open.end());
    callSite = saved;
    if (n && b.param && b.param->type.name == "(")
      return convertTuple(n, b.param->type, ("parameter '" + b.param->name + "'").str());
    if (n && n->type == Ty::Tuple && b.param && !b.param->type.name.empty()) {
      error(b.expr->whole()) << "parameter '" << b.param->name << "' is one value of " << b.param->type.name << ", not a tuple";
      return nullptr;
    }
    if (n && b.param && !b.param->type.name.empty()) {
      auto t = findElementType(absl::string_view(b.param->type.name.data(), b.param->type.name.size()));
      if (t)
        n = convertAsStored(n, *t, ("parameter '" + b.param->name + "'").str());
    }
    return n;
  }
  case Binding::Lambda: return elaborateLambda(b, e, nullptr);
  }
  return nullptr;
}

Node *Elaborator::elaborateName(const Expr *e, const Scope *scope) {
  if (const Binding *b = scope->find(e->text))
    return elaborateBinding(e, *b);
  const Scope *root = scope;
  while (root->parent)
    root = root->parent;
  if (root->kernelLevel) {
    if (auto it = constValues.find(e->text); it != constValues.end()) {
      Node *n = make(it->second->kind, it->second->type, e->loc);
      Loc loc = n->loc;
      *n = *it->second;
      n->loc = loc;
      return n;
    }
    if (auto it = tensors.find(e->text); it != tensors.end())
      return readTensor(it->second, e, scope);
    if (auto it = sizeIndex.find(e->text); it != sizeIndex.end()) {
      Node *n = make(Node::Size, Ty::I64, e->loc);
      n->affine = getAffineSymbolExpr(it->second, context());
      n->pureIndex = true;
      return n;
    }
  }
  if (e->text == "inf")
    return makeFloat(std::numeric_limits<double>::infinity(), Ty::FloatLit, e->loc);
  if (e->text == "nan")
    return makeFloat(std::numeric_limits<double>::quiet_NaN(), Ty::FloatLit, e->loc);
  if (e->text == "pi")
    return makeFloat(3.14159265358979323846, Ty::FloatLit, e->loc);
  return unknownName(e, scope);
}

void Elaborator::reportUnknownType(StringRef type, Loc loc) {
  std::string near = elementTypeMeant(type).str();
  if (near.empty())
    near = elementTypeMeant(type.lower()).str();
  if (near.empty())
    near = findNearest(
        type, {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16", "i8", "i4", "u64", "u32", "u16", "u8", "u4", "bool"});
  auto d = diags.error(loc);
  d << "unknown element type '" << type << "'";
  if (isTensorWord(type))
    d << "; a tensor is an element type with a shape, as in 'f32[N]'";
  else if (StringRef(type).starts_with_insensitive("complex") || llvm::is_contained({"c32", "c64", "c128", "cfloat"}, type))
    d << "; there are no complex numbers: real and imaginary parts are two tensors";
  else if (llvm::is_contained({"tf32", "bf16x3", "tf32x3"}, type))
    d << "; it is how products may round their factors: write 'f32', and 'precision(contract = " << type << ")' in the kernel";
  else if (StringRef hint = hintForType(type); !hint.empty())
    d << "; " << hint;
  else if (!near.empty())
    d << "; did you mean '" << near << "'?";
}

Node *Elaborator::unknownName(const Expr *e, const Scope *scope) {
  SmallVector<StringRef> known = {"inf", "nan", "pi", "True", "False"};
  const Scope *root = scope;
  for (const Scope *s = scope; s; s = s->parent) {
    root = s;
    for (auto &[n, b] : s->names)
      known.push_back(n);
  }
  if (root->kernelLevel) {
    for (auto &t : tensors)
      known.push_back(t.getKey());
    for (auto &t : constValues)
      known.push_back(t.getKey());
    for (auto &t : sizeIndex)
      known.push_back(t.getKey());
  }
  if (fns.contains(e->text)) {
    error(e->loc) << "'" << e->text << "' is a function; call it, as in '" << e->text << "(..)'";
    return nullptr;
  }
  std::string near = findNearest(e->text, known);
  auto d = error(e->loc);
  if (inSubscript && e->text == "end") { // of MATLAB and Julia
    d << "there is no 'end'; the last element has the number that the size's name gives, as in 'x[N - 1]'";
    return nullptr;
  }
  if (inSubscript && plainAssign && root->kernelLevel && hintForName(e->text).empty()) {
    d << "index '" << e->text << "' is not on the left side of '='; to sum over it write 'sum[" << e->text << "](..)'";
    if (!letName.empty()) {
      SmallVector<StringRef> names(leftNames);
      names.push_back(e->text);
      d << ", to define a value for each 'let " << letName << "[" << llvm::join(names, ", ") << "] = ..'";
    }
    if (near.size() > 1)
      d << ", or did you mean '" << near << "'?";
    return nullptr;
  }
  d << "unknown name '" << e->text << "'";
  if (inSubscript && !root->kernelLevel && near.empty()) {
    d << "; indices of the caller are parameters of a function, as in 'fn f(x, " << e->text << ") { .. }'";
    return nullptr;
  }
  StringRef before = e->loc.file == 0 ? diags.file(0).text.take_front(e->loc.offset).rtrim(" \t") : "";
  if (StringRef hint = hintForName(e->text); !hint.empty())
    d << "; " << hint;
  else if (elementNamed(e->text))
    d << "; a type's name is a cast, as in '" << e->text << "(..)'";
  else if (before.ends_with("//") || before.ends_with("--"))
    d << "; comments start with '#'" << (before.ends_with("//") ? ", '//' is floor division" : "");
  else if (!near.empty())
    d << "; did you mean '" << near << "'?";
  else if (StringRef(diags.file(0).name).ends_with(".py"))
    d << "; a kernel does not see variables of Python: make it a parameter, as in '" << e->text << ": const[f32]'";
  return nullptr;
}

} // namespace kernelc::frontend
