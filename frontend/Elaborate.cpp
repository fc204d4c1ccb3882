// Names, operators and tensor accesses. See Elaborate.h.
#include "frontend/Elaborate.h"

#include <limits>

#include "llvm/ADT/ScopeExit.h"
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
    error(loc) << "kernel '" << kernel.def->name << "' has more than " << kMaxOperations
               << " operations; split it into several kernels";
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
  return constValues.contains(name) || tensors.contains(name) || sizeIndex.contains(name) ||
         (fn != fns.end() && fn->second->loc.file == 0);
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
  if (overBudget)
    return nullptr;
  DepthGuard guard(*this);
  if (!guard.ok(e->loc) || !count(e->loc))
    return nullptr;
  switch (e->kind) {
  case Expr::Integer: {
    uint64_t v = 0;
    if (e->text.getAsInteger(0, v) || v > uint64_t(std::numeric_limits<int64_t>::max())) {
      error(e->loc) << "'" << e->text << "' does not fit 64 bits";
      return nullptr;
    }
    return makeInt(v, Ty::IntLit, e->loc);
  }
  case Expr::Float: {
    double v = 0;
    if (e->text.getAsDouble(v))
      return nullptr;
    return makeFloat(v, Ty::FloatLit, e->loc);
  }
  case Expr::Bool:
    return makeBool(e->text.equals_insensitive("true"), e->loc);
  case Expr::String:
    error(e->loc) << "a string is not a value";
    return nullptr;
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
    if (elaborate(e->args[0], scope))
      error(e->loc) << "a scalar takes no subscripts";
    return nullptr;
  case Expr::Member:
    error(e->loc) << "fields of tuples are not supported yet";
    return nullptr;
  case Expr::Tuple:
    error(e->loc) << "tuples are not supported yet";
    return nullptr;
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
  Node *n = elaborate(e, scope);
  if (!n)
    return nullptr;
  if (!isInt(n->type)) {
    error(e->loc) << what << " must be an integer, not " << name(n->type);
    return nullptr;
  }
  if (n->affine)
    return n;
  if (!n->pureIndex)
    error(e->loc) << what << " that depends on data is not supported yet; use indices, sizes and integers";
  else
    error(e->loc) << what << " must be built from +, -, *, // and % of indices and sizes, with // and % by sizes or "
                     "positive integers only";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

Node *Elaborator::elaborateBinding(const Expr *e, const Binding &b) {
  switch (b.kind) {
  case Binding::Key:
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
    Node *n = elaborate(b.expr, b.scope);
    callStack.insert(callStack.end(), open.begin(), open.end());
    callSite = saved;
    if (n && b.param && !b.param->type.name.empty()) {
      auto t = findElementType(absl::string_view(b.param->type.name.data(), b.param->type.name.size()));
      if (t) {
        n = convertForStore(n, *t, ("parameter '" + b.param->name + "'").str());
        if (n && n->type != widened(*t))
          n = convert(n, widened(*t));
      }
    }
    return n;
  }
  case Binding::Lambda:
    return elaborateLambda(b, e, nullptr);
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

Node *Elaborator::unknownName(const Expr *e, const Scope *scope) {
  SmallVector<StringRef> known = {"inf", "nan", "pi"};
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
  if (inSubscript && plainAssign && root->kernelLevel) {
    d << "index '" << e->text << "' is not on the left side of '='; to sum over it write 'sum[" << e->text
      << "](..)'";
    if (near.size() > 1)
      d << ", or did you mean '" << near << "'?";
    return nullptr;
  }
  d << "unknown name '" << e->text << "'";
  if (!near.empty())
    d << "; did you mean '" << near << "'?";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static Node::Kind kindOf(Tok op) {
  switch (op) {
  case Tok::Plus: return Node::Add;
  case Tok::Minus: return Node::Sub;
  case Tok::Star: return Node::Mul;
  case Tok::Slash: return Node::Div;
  case Tok::SlashSlash: return Node::FloorDiv;
  case Tok::Percent: return Node::Mod;
  case Tok::Amp: return Node::BitAnd;
  case Tok::Pipe: return Node::BitOr;
  case Tok::Caret: return Node::BitXor;
  case Tok::Shl: return Node::Shl;
  default: return Node::Shr;
  }
}

Node *Elaborator::elaborateChain(const Expr *e, const Scope *scope) {
  Node *sum = elaborate(e->args[0], scope);
  for (size_t i = 0; i < e->ops.size() && !overBudget; ++i) {
    Node *next = elaborate(e->args[i + 1], scope);
    if (!count(e->args[i + 1]->loc))
      return nullptr;
    sum = sum && next ? makeBinary(kindOf(e->ops[i]), sum, next, e->args[i + 1]->loc) : nullptr;
    if (sum && i > 32 && isLiteral(sum->type) && !sum->isConst())
      sum = concrete(sum);
  }
  return overBudget ? nullptr : sum;
}

Node *Elaborator::elaborateUnary(const Expr *e, const Scope *scope) {
  Node *arg = elaborate(e->args[0], scope);
  if (!arg)
    return nullptr;
  switch (e->ops[0]) {
  case Tok::KwNot: {
    if (arg->type != Ty::Bool) {
      error(e->loc) << "'not' needs a condition, not " << name(arg->type) << "; compare it, as in '.. != 0'";
      return nullptr;
    }
    if (arg->kind == Node::ConstBool)
      return makeBool(!arg->intValue, e->loc);
    Node *n = make(Node::Not, Ty::Bool, e->loc);
    n->ops.push_back(arg);
    return n;
  }
  case Tok::Tilde: {
    if (!isInt(arg->type)) {
      error(e->loc) << "'~' needs an integer, not " << name(arg->type)
                    << (arg->type == Ty::Bool ? "; write 'not'" : "");
      return nullptr;
    }
    if (arg->kind == Node::ConstInt)
      return makeInt(~arg->intValue, arg->type, e->loc);
    Node *n = make(Node::BitNot, arg->type, e->loc);
    n->ops.push_back(arg);
    return n;
  }
  default:
    break;
  }
  if (arg->type == Ty::Bool && !(arg = convert(arg, Ty::I32)))
    return nullptr;
  if (e->ops[0] == Tok::Plus)
    return arg;
  Node *n = make(Node::Neg, arg->type, e->loc);
  n->ops.push_back(arg);
  fold(n);
  inferAffine(n);
  return n;
}

Node *Elaborator::elaboratePower(const Expr *e, const Scope *scope) {
  Node *base = elaborate(e->args[0], scope);
  Node *exponent = elaborate(e->args[1], scope);
  if (!base || !exponent)
    return nullptr;
  if (base->type == Ty::Bool && !(base = convert(base, Ty::I32)))
    return nullptr;
  if (exponent->kind == Node::ConstInt && exponent->intValue >= 0 && exponent->intValue <= 64) {
    // Square and multiply; the shared squares are one node each.
    Node *result = nullptr;
    Node *square = base;
    for (int64_t n = exponent->intValue; n > 0 && square; n >>= 1) {
      if (n & 1)
        result = result ? makeBinary(Node::Mul, result, square, e->loc) : square;
      if (n > 1)
        square = makeBinary(Node::Mul, square, square, e->loc);
    }
    return result ? result : isFloat(base->type) ? makeFloat(1, base->type, e->loc) : makeInt(1, base->type, e->loc);
  }
  if (isInt(base->type) && (base->type != Ty::IntLit || isInt(exponent->type))) {
    error(e->loc) << "an integer power needs a constant exponent between 0 and 64; cast the base to a float "
                     "for others";
    return nullptr;
  }
  if (exponent->kind == Node::ConstInt && exponent->intValue >= -64 && exponent->intValue < 0) {
    Expr one;
    Node *p = nullptr, *square = base;
    for (int64_t n = -exponent->intValue; n > 0 && square; n >>= 1) {
      if (n & 1)
        p = p ? makeBinary(Node::Mul, p, square, e->loc) : square;
      if (n > 1)
        square = makeBinary(Node::Mul, square, square, e->loc);
    }
    return p ? makeBinary(Node::Div, makeFloat(1, Ty::FloatLit, e->loc), p, e->loc) : nullptr;
  }
  if (isInt(exponent->type) && exponent->type != Ty::IntLit && exponent->type != Ty::I64 &&
      exponent->type != Ty::I32) {
    error(e->loc) << "the exponent must be a float or a signed integer";
    return nullptr;
  }
  if (!unify(base, exponent, e->loc, "**"))
    return nullptr;
  Node *n = make(Node::Pow, base->type, e->loc);
  n->ops = {base, exponent};
  return n;
}

Node *Elaborator::elaborateCompare(const Expr *e, const Scope *scope) {
  SmallVector<Node *> values, parts;
  for (const Expr *a : e->args) {
    Node *n = elaborate(a, scope);
    if (!n)
      return nullptr;
    values.push_back(n);
  }
  for (size_t i = 0; i < e->ops.size(); ++i) {
    using P = arith::CmpIPredicate;
    P p = P::eq;
    switch (e->ops[i]) {
    case Tok::Lt: p = P::slt; break;
    case Tok::Le: p = P::sle; break;
    case Tok::Gt: p = P::sgt; break;
    case Tok::Ge: p = P::sge; break;
    case Tok::Ne: p = P::ne; break;
    default: break;
    }
    Node *c = makeCompare(p, values[i], values[i + 1], e->loc);
    if (!c)
      return nullptr;
    parts.push_back(c);
  }
  return makeAnd(parts, e->loc);
}

Node *Elaborator::elaborateLogic(const Expr *e, const Scope *scope) {
  bool isAnd = e->kind == Expr::And;
  SmallVector<Node *> parts;
  for (const Expr *a : e->args) {
    Node *n = elaborate(a, scope);
    if (!n)
      return nullptr;
    if (n->type != Ty::Bool) {
      error(a->loc) << "'" << (isAnd ? "and" : "or") << "' needs conditions, not " << name(n->type)
                    << "; compare it, as in '.. != 0'";
      return nullptr;
    }
    if (n->kind == Node::ConstBool) {
      if (bool(n->intValue) != isAnd)
        return makeBool(!isAnd, e->loc);
      continue;
    }
    parts.push_back(n);
  }
  if (isAnd || parts.empty())
    return parts.empty() ? makeBool(isAnd, e->loc) : makeAnd(parts, e->loc);
  Node *n = parts[0];
  for (Node *p : ArrayRef(parts).drop_front()) {
    Node *both = make(Node::Or, Ty::Bool, e->loc);
    both->ops = {n, p};
    n = both;
  }
  return n;
}

Node *Elaborator::elaborateSelect(const Expr *e, const Scope *scope) {
  Node *cond = elaborate(e->args[1], scope);
  if (cond && cond->kind == Node::ConstBool) {
    // Both sides are checked, so that a constant hides no error.
    Node *a = elaborate(e->args[0], scope), *b = elaborate(e->args[2], scope);
    if (!a || !b || !unify(a, b, e->loc, "if"))
      return nullptr;
    return cond->intValue ? a : b;
  }
  Node *a = elaborate(e->args[0], scope), *b = elaborate(e->args[2], scope);
  if (!cond || !a || !b)
    return nullptr;
  if (cond->type != Ty::Bool) {
    error(e->args[1]->loc) << "expected a condition after 'if', found " << name(cond->type)
                           << "; compare it, as in '.. != 0'";
    return nullptr;
  }
  if (a->type == Ty::Bool && b->type == Ty::Bool) {
  } else if (!unify(a, b, e->loc, "if")) {
    return nullptr;
  }
  Node *n = make(Node::Select, a->type, e->loc);
  n->ops = {cond, a, b};
  if (a->narrow && a->narrow == b->narrow)
    n->narrow = a->narrow;
  return n;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

bool Elaborator::elaborateMode(Node *read, const Expr *e, const Scope *scope) {
  if (e->mode.empty())
    return true;
  auto mode = llvm::StringSwitch<std::optional<te::BoundsMode>>(e->mode)
                  .Case("pad", te::BoundsMode::Pad)
                  .Case("edge", te::BoundsMode::Edge)
                  .Case("reflect", te::BoundsMode::Reflect)
                  .Case("wrap", te::BoundsMode::Wrap)
                  .Case("assume_inbounds", te::BoundsMode::Assume)
                  .Default(std::nullopt);
  if (!mode) {
    auto d = error(e->modeLoc);
    d << "unknown bounds form '." << e->mode << "'; there are .pad(v), .edge, .reflect, .wrap and .assume_inbounds";
    return false;
  }
  read->bounds = *mode;
  unsigned wanted = *mode == te::BoundsMode::Pad ? 1 : 0;
  if (e->modeArgs.size() != wanted || (wanted && !e->modeArgs[0].name.empty())) {
    error(e->modeLoc) << "." << e->mode << " takes " << (wanted ? "one value, as in .pad(0)" : "no arguments");
    return false;
  }
  if (!wanted)
    return true;
  Node *v = elaborate(e->modeArgs[0].value, scope);
  if (v)
    v = convertForStore(v, read->tensor->element, "the padding");
  if (!v)
    return false;
  read->padding = v;
  return true;
}

Node *Elaborator::readTensor(Tensor *t, const Expr *e, const Scope *scope) {
  if (t->poisoned)
    return nullptr;
  if (t->kind == Tensor::Scalar) {
    if (e->hasBracket) {
      error(e->loc) << "'" << t->name << "' is a scalar and takes no subscripts";
      return nullptr;
    }
    Node *n = make(Node::ScalarParam, widened(t->element), e->loc);
    n->tensor = t;
    if (!kernelc::isFloat(t->element) && t->element != ElementType::boolean && elementBits(t->element) < 32)
      n->narrow = t->element;
    return n;
  }
  if (!e->hasBracket && !t->dims.empty()) {
    std::string subs = t->dims.size() == 1 ? "i" : t->dims.size() == 2 ? "i, j" : "i, j, ..";
    error(e->loc) << "tensors are never whole operands; write '" << t->name << "[" << subs << "]'";
    return nullptr;
  }
  if (e->hasBracket && e->args.size() != t->dims.size()) {
    error(e->loc) << "'" << t->name << "' has " << t->dims.size() << " dims, but " << e->args.size()
                  << " subscripts stand here";
    return nullptr;
  }
  if (!t->isReadable) {
    error(e->loc) << "output '" << t->name << "' is read before a statement has defined it";
    return nullptr;
  }
  Node *n = make(Node::Read, widened(t->element), e->loc);
  n->tensor = t;
  if (!kernelc::isFloat(t->element) && t->element != ElementType::boolean && elementBits(t->element) < 32)
    n->narrow = t->element;
  if (t->narrow)
    n->narrow = t->narrow;
  bool saved = std::exchange(inSubscript, true);
  bool ok = true;
  for (const Expr *a : e->args) {
    Node *s = elaborate(a, scope);
    if (!s) {
      ok = false;
      continue;
    }
    if (!isInt(s->type)) {
      error(a->loc) << "a subscript must be an integer, not " << name(s->type);
      ok = false;
      continue;
    }
    s = convert(s, Ty::I64);
    if (s && !s->pureIndex) {
      error(a->loc) << "a subscript that depends on data (a gather) is not supported yet";
      ok = false;
    }
    n->ops.push_back(s);
    ok &= s != nullptr;
  }
  inSubscript = saved;
  if (!elaborateMode(n, e, scope) || !ok)
    return nullptr;
  return n;
}

Node *Elaborator::elaborateAccess(const Expr *e, const Scope *scope) {
  if (const Binding *b = scope->find(e->text)) {
    if (b->kind == Binding::Lambda)
      return elaborateLambda(*b, e, scope);
    error(e->loc) << "'" << e->text << "' is " << (b->kind == Binding::Key ? "an index" : "a parameter of the function")
                  << " and takes no subscripts";
    return nullptr;
  }
  const Scope *root = scope;
  while (root->parent)
    root = root->parent;
  if (root->kernelLevel)
    if (auto it = tensors.find(e->text); it != tensors.end())
      return readTensor(it->second, e, scope);
  if (fns.contains(e->text) || reducers.contains(e->text)) {
    error(e->loc) << "expected '(' and the argument after '" << e->text << "[..]'";
    return nullptr;
  }
  if (isKernelName(e->text) && root->kernelLevel) {
    error(e->loc) << "'" << e->text << "' is not a tensor";
    return nullptr;
  }
  SmallVector<StringRef> known;
  for (auto &t : tensors)
    known.push_back(t.getKey());
  std::string near = findNearest(e->text, known);
  auto d = error(e->loc);
  d << "unknown tensor '" << e->text << "'";
  if (!near.empty())
    d << "; did you mean '" << near << "'?";
  return nullptr;
}

} // namespace kernelc::frontend
