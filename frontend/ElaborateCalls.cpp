// Calls: casts, math functions, reductions and the inlining of `fn`s.
#include <cmath>

#include "frontend/Elaborate.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

std::optional<ElementType> elementNamed(StringRef name) {
  return findElementType(absl::string_view(name.data(), name.size()));
}

std::optional<te::Combiner> reductionNamed(StringRef name) {
  return llvm::StringSwitch<std::optional<te::Combiner>>(name)
      .Cases({"sum", "mean"}, te::Combiner::Sum)
      .Case("prod", te::Combiner::Prod)
      .Case("max", te::Combiner::Max)
      .Case("min", te::Combiner::Min)
      .Case("any", te::Combiner::Any)
      .Case("all", te::Combiner::All)
      .Case("xor", te::Combiner::Xor)
      .Case("argmax", te::Combiner::ArgMax)
      .Case("argmin", te::Combiner::ArgMin)
      .Default(std::nullopt);
}

/// Number of operands of the math functions with a C name, 0: no such function.
unsigned mathArity(StringRef name) {
  return llvm::StringSwitch<unsigned>(name)
      .Cases({"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt"}, 1)
      .Cases({"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh"}, 1)
      .Cases({"acosh", "atanh", "erf", "erfc", "floor", "ceil", "round", "rint", "trunc", "abs"}, 1)
      .Cases({"fabs", "isnan", "isinf", "isfinite"}, 1)
      .Cases({"pow", "atan2", "copysign", "fmod"}, 2)
      .Case("fma", 3)
      .Default(0);
}

bool unsupportedFunction(StringRef name) {
  return llvm::is_contained({StringRef("view"), StringRef("rand")}, name);
}

} // namespace

Node *Elaborator::elaborateCall(const Expr *e, const Scope *scope) {
  if (scope->find(e->text)) {
    error(e->loc) << "'" << e->text << "' is not a function";
    return nullptr;
  }
  if (elementNamed(e->text))
    return elaborateCast(e, scope);
  if (auto it = fns.find(e->text); it != fns.end())
    return elaborateFn(it->second, e, scope);
  if (reducers.contains(e->text)) {
    error(e->loc) << "reducers of your own ('" << e->text << "') are not supported yet";
    return nullptr;
  }
  if (e->hasBracket && reductionNamed(e->text))
    return elaborateReduce(e, scope);
  if (!e->hasBracket && (e->text == "min" || e->text == "max"))
    return elaborateMinMax(e, scope);
  if (!e->hasBracket && mathArity(e->text))
    return elaborateMath(e, scope);
  if (unsupportedFunction(e->text)) {
    error(e->loc) << "'" << e->text << "(..)' is not supported yet";
    return nullptr;
  }
  if (reductionNamed(e->text)) {
    error(e->loc) << "'" << e->text << "' needs the indices it reduces, as in '" << e->text << "[k](..)'";
    return nullptr;
  }
  SmallVector<StringRef> known = {"sum", "prod", "max", "min", "any", "all", "xor", "argmax", "argmin", "mean",
                                  "exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "erf", "sin", "cos", "pow",
                                  "abs", "floor", "ceil", "round", "fma", "log1p", "expm1", "cbrt"};
  for (auto &f : fns)
    known.push_back(f.getKey());
  std::string near = findNearest(e->text, known);
  auto d = error(e->loc);
  d << "unknown function '" << e->text << "'";
  if (!near.empty())
    d << "; did you mean '" << near << "'?";
  return nullptr;
}

Node *Elaborator::elaborateCast(const Expr *e, const Scope *scope) {
  if (e->hasBracket || e->named.size() != 1 || !e->named[0].name.empty()) {
    error(e->loc) << "a cast takes one value, as in '" << e->text << "(x)'";
    return nullptr;
  }
  Node *n = elaborate(e->named[0].value, scope);
  return n ? castTo(n, *elementNamed(e->text), e->loc) : nullptr;
}

Node *Elaborator::elaborateMinMax(const Expr *e, const Scope *scope) {
  if (e->named.size() < 2) {
    error(e->loc) << "'" << e->text << "' takes two values or more; a reduction names its indices, as in '"
                  << e->text << "[k](..)'";
    return nullptr;
  }
  Node *result = nullptr;
  for (const NamedArg &a : e->named) {
    Node *n = elaborate(a.value, scope);
    if (!n)
      return nullptr;
    result = result ? makeBinary(e->text == "min" ? Node::Min : Node::Max, result, n, e->loc) : n;
    if (!result)
      return nullptr;
  }
  return result;
}

Node *Elaborator::elaborateMath(const Expr *e, const Scope *scope) {
  unsigned arity = mathArity(e->text);
  if (e->named.size() != arity) {
    error(e->loc) << "'" << e->text << "' takes " << arity << (arity == 1 ? " value" : " values") << ", not "
                  << e->named.size();
    return nullptr;
  }
  SmallVector<Node *> args;
  for (const NamedArg &a : e->named) {
    Node *n = elaborate(a.value, scope);
    if (!n)
      return nullptr;
    args.push_back(n);
  }
  Ty common = args[0]->type;
  if (e->text == "abs" && !isFloat(common)) {
    Node *n = make(Node::Math, common == Ty::Bool || common == Ty::IntLit ? Ty::I32 : common, e->loc);
    n->callee = "abs";
    n->ops.push_back(convert(args[0], n->type));
    return n->ops[0] ? n : nullptr;
  }
  for (Node *&a : args) {
    if (isInt(a->type) && a->type != Ty::IntLit) {
      error(a->loc) << "'" << e->text << "' needs a float, not " << name(a->type) << "; write f32(..)";
      return nullptr;
    }
    if ((a->type == Ty::IntLit || a->type == Ty::Bool) && !(a = convert(a, Ty::FloatLit)))
      return nullptr;
  }
  if (arity == 1 && args[0]->isConst() && args[0]->type == Ty::FloatLit) {
    double x = args[0]->floatValue;
    std::optional<double> folded = llvm::StringSwitch<std::optional<double>>(e->text)
                                       .Case("sqrt", std::sqrt(x))
                                       .Case("rsqrt", 1 / std::sqrt(x))
                                       .Case("exp", std::exp(x))
                                       .Case("log", std::log(x))
                                       .Default(std::nullopt);
    if (folded)
      return makeFloat(*folded, Ty::FloatLit, e->loc);
  }
  for (size_t i = 1; i < args.size(); ++i)
    if (!unify(args[0], args[i], e->loc, e->text))
      return nullptr;
  Ty type = args[0]->type == Ty::FloatLit ? Ty::F32 : args[0]->type;
  for (Node *&a : args)
    if (!(a = convert(a, type)))
      return nullptr;
  bool test = e->text.starts_with("is");
  Node *n = make(Node::Math, test ? Ty::Bool : type, e->loc);
  n->callee = e->text;
  n->ops.append(args.begin(), args.end());
  return n;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Takes `a <= k < b` apart when k is a name; null otherwise.
static const Expr *chainIndex(const Expr *e) {
  if (e->kind != Expr::Compare || e->ops.size() != 2 || e->args[1]->kind != Expr::Name)
    return nullptr;
  bool ascending = llvm::all_of(e->ops, [](Tok t) { return t == Tok::Lt || t == Tok::Le; });
  return ascending ? e->args[1] : nullptr;
}

/// A range that outer indices move as a whole, `i - 1 <= k < i + 2`, is one of fixed
/// length from there: k becomes i - 1 + k' with k' in 0:3.
void Elaborator::shiftWindow(IndexVar *v) {
  auto hasDims = [](AffineExpr e) {
    bool found = false;
    e.walk([&](AffineExpr x) { found |= isa<AffineDimExpr>(x); });
    return found;
  };
  AffineExpr length = simplifyAffineExpr(v->declHi - v->declLo, kernel.indices.size(), kernel.sizes.size());
  if (!hasDims(v->declLo) || hasDims(length))
    return;
  AffineExpr self = getAffineDimExpr(v->id, context());
  auto shift = [&](Node *n) {
    if (n && n->affine == self) {
      n->kind = Node::Size;
      n->affine = self + v->declLo;
    }
  };
  for (Node *n : keyValues)
    shift(n);
  for (auto &[key, n] : pendingKeys)
    shift(n);
  v->declLo = getAffineConstantExpr(0, context());
  v->declHi = length;
}

bool Elaborator::elaborateItems(ArrayRef<BracketItem> items, const Scope *outer, Scope *scope,
                                SmallVectorImpl<IndexVar *> &vars, SmallVectorImpl<unsigned> &keys,
                                SmallVectorImpl<const Expr *> &conditions) {
  SmallVector<StringRef> declared, texts;
  for (const BracketItem &item : items)
    if ((!item.lo && item.expr->kind == Expr::Name) || item.lo)
      declared.push_back(item.expr->text);
  bool ok = true;
  struct Range {
    IndexVar *var;
    const Expr *lo, *hi;
    bool openLo = false, closedHi = false;
  };
  SmallVector<Range> ranges;
  auto declare = [&](const Expr *e) -> IndexVar * {
    // An index parameter of the function stands for the caller's key.
    const Binding *b = outer->find(e->text);
    const Scope *root = outer;
    while (root->parent)
      root = root->parent;
    if (b && b->kind != Binding::Key) {
      error(e->loc) << "'" << e->text << "' is a parameter and cannot be reduced over";
      return nullptr;
    }
    if (root->kernelLevel && isKernelName(e->text) && !b) {
      error(e->loc) << "'" << e->text << "' already names " << (sizeIndex.contains(e->text) ? "a size" : "something else")
                    << " of this kernel; an index needs another name";
      return nullptr;
    }
    for (size_t i = 0; i < vars.size(); ++i)
      if (texts[i] == e->text) {
        error(e->loc) << "index '" << e->text << "' stands twice in this bracket";
        return nullptr;
      }
    bool isParam = b && b->isIndexParam;
    IndexVar *v = bindIndex(scope, isParam ? keyNames[b->key] : e->text, e->loc);
    if (isParam) {
      // Rebind the caller's key to the fresh index for as long as the body lasts.
      Binding own = scope->names.back().second;
      Node *value = keyValues[own.key];
      keyValues.pop_back();
      keyNames.pop_back();
      scope->names.pop_back();
      scope->names.push_back({e->text, *b});
      keys.push_back(b->key);
      pendingKeys.push_back({b->key, value});
    }
    vars.push_back(v);
    texts.push_back(e->text);
    return v;
  };
  for (const BracketItem &item : items) {
    if (item.lo) {
      if (item.expr->kind != Expr::Name) {
        error(item.loc) << "expected an index name before 'in'";
        ok = false;
        continue;
      }
      IndexVar *v = declare(item.expr);
      ok &= v != nullptr;
      if (v)
        ranges.push_back({v, item.lo, item.hi});
      continue;
    }
    if (item.expr->kind == Expr::Name) {
      ok &= declare(item.expr) != nullptr;
      continue;
    }
    const Expr *k = chainIndex(item.expr);
    if (k && !llvm::is_contained(declared, k->text) && !llvm::is_contained(leftNames, k->text) &&
        !(outer->find(k->text) && outer->find(k->text)->kind != Binding::Key) && !isKernelName(k->text)) {
      IndexVar *v = declare(k);
      ok &= v != nullptr;
      if (v)
        ranges.push_back({v, item.expr->args[0], item.expr->args[2], item.expr->ops[0] == Tok::Lt,
                          item.expr->ops[1] == Tok::Le});
      continue;
    }
    conditions.push_back(item.expr);
  }
  for (const Range &r : ranges) {
    Node *lo = elaborateInteger(r.lo, outer, "the bound of a range");
    Node *hi = elaborateInteger(r.hi, outer, "the bound of a range");
    if (!lo || !hi) {
      ok = false;
      continue;
    }
    r.var->declLo = lo->affine + (r.openLo ? 1 : 0);
    r.var->declHi = hi->affine + (r.closedHi ? 1 : 0);
    shiftWindow(r.var);
  }
  return ok;
}

Node *Elaborator::elaborateReduce(const Expr *e, const Scope *scope) {
  if (e->named.size() != 1 || !e->named[0].name.empty()) {
    error(e->loc) << "'" << e->text << "[..]' takes one value, as in '" << e->text << "[k](x[k])'";
    return nullptr;
  }
  Scope &inner = scopes.emplace_back();
  inner.parent = scope;
  SmallVector<IndexVar *> vars;
  SmallVector<unsigned> keys;
  SmallVector<const Expr *> conditionExprs;
  size_t pendingStart = pendingKeys.size();
  bool ok = elaborateItems(e->items, scope, &inner, vars, keys, conditionExprs);
  SmallVector<std::pair<unsigned, Node *>> rebound(pendingKeys.begin() + pendingStart, pendingKeys.end());
  pendingKeys.resize(pendingStart);
  for (auto &[key, value] : rebound)
    std::swap(keyValues[key], value);
  llvm::scope_exit restore([&] {
    for (auto &[key, value] : llvm::reverse(rebound))
      std::swap(keyValues[key], value);
  });
  if (!ok)
    return nullptr;
  if (vars.empty()) {
    error(e->loc) << "'" << e->text << "' needs an index to reduce, as in '" << e->text << "[k](..)'";
    return nullptr;
  }
  SmallVector<Node *> conditions;
  for (const Expr *c : conditionExprs) {
    Node *n = elaborateCondition(c, &inner);
    if (!n)
      return nullptr;
    if (n->kind != Node::ConstBool || !n->intValue)
      conditions.push_back(n);
  }
  bool saved = std::exchange(inSubscript, false);
  Node *body = elaborate(e->named[0].value, &inner);
  inSubscript = saved;
  if (!body)
    return nullptr;
  Node *reduce = makeReduce(*reductionNamed(e->text), vars, conditions, body, e->loc);
  if (reduce && e->text == "mean")
    return makeMean(reduce, vars, e->loc);
  return reduce;
}

Node *Elaborator::makeReduce(te::Combiner kind, ArrayRef<IndexVar *> vars, ArrayRef<Node *> conditions, Node *body,
                             Loc loc) {
  using C = te::Combiner;
  switch (kind) {
  case C::Any:
  case C::All:
    if (body->type != Ty::Bool) {
      error(body->loc) << "'any' and 'all' need a condition, not " << name(body->type)
                       << "; compare it, as in '.. != 0'";
      return nullptr;
    }
    break;
  case C::And:
  case C::Or:
  case C::Xor:
    if (body->type == Ty::Bool) {
      if (kind != C::Xor)
        kind = kind == C::And ? C::All : C::Any;
      else
        body = convert(body, Ty::I32);
    } else if (!isInt(body->type)) {
      error(body->loc) << "a bitwise reduction needs integers, not " << name(body->type);
      return nullptr;
    }
    break;
  default:
    if (body->type == Ty::Bool)
      body = convert(body, Ty::I32);
  }
  bool arg = kind == C::ArgMax || kind == C::ArgMin;
  if (arg) {
    if (vars.size() != 1) {
      error(loc) << "argmax and argmin reduce exactly one index; join indices by arithmetic first";
      return nullptr;
    }
    body = concrete(body);
  }
  if (!body)
    return nullptr;
  if (isUnsigned(body->type)) {
    switch (kind) {
    case C::Max: kind = C::MaxU; break;
    case C::Min: kind = C::MinU; break;
    case C::ArgMax: kind = C::ArgMaxU; break;
    case C::ArgMin: kind = C::ArgMinU; break;
    default: break;
    }
  }
  Node *n = make(Node::Reduce, arg ? Ty::I64 : body->type, loc);
  n->combiner = kind;
  n->vars.append(vars.begin(), vars.end());
  n->conditions.append(conditions.begin(), conditions.end());
  n->ops.push_back(body);
  if (kind == C::And || kind == C::Or || kind == C::Xor || kind == C::Max || kind == C::Min)
    if (kind != C::And || (body->narrow && isSignedInteger(*body->narrow)))
      if (kind != C::Max && kind != C::Min)
        n->narrow = body->narrow;
  return n;
}

Node *Elaborator::makeMean(Node *reduce, ArrayRef<IndexVar *> vars, Loc loc) {
  if (!isFloat(reduce->type)) {
    error(loc) << "'mean' needs floats, not " << name(reduce->type) << "; write f32(..)";
    return nullptr;
  }
  reduce = concrete(reduce);
  if (!reduce)
    return nullptr;
  // The count is a reduction of its own when conditions thin the range out; Sema
  // replaces the plain one by the product of the extents once these are known.
  Node *one = makeInt(1, Ty::I64, loc);
  Node *counted = make(Node::Reduce, Ty::I64, loc);
  counted->combiner = te::Combiner::Sum;
  counted->vars.append(vars.begin(), vars.end());
  counted->conditions = reduce->conditions;
  counted->ops.push_back(one);
  counted->isCount = true;
  Node *asFloat = make(Node::Cast, reduce->type, loc);
  asFloat->ops.push_back(counted);
  asFloat->castTo = elementOf(reduce->type);
  return makeBinary(Node::Div, reduce, asFloat, loc);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Node *Elaborator::elaborateFn(const Definition *fn, const Expr *e, const Scope *scope) {
  if (llvm::is_contained(callStack, fn)) {
    error(e->loc) << "function '" << fn->name << "' calls itself; functions are inlined and cannot recurse";
    return nullptr;
  }
  if (e->items.size() != fn->indexParams.size() || e->hasBracket != !fn->indexParams.empty()) {
    error(e->loc) << "'" << fn->name << "' takes " << fn->indexParams.size() << " index parameters in brackets, not "
                  << e->items.size();
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
        error(item.loc) << "'" << item.expr->text << "' already names something else of this kernel; an index needs "
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
        error(e->loc) << "'" << fn->name << "' has no parameter '" << a.name << "'";
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
      error(e->loc) << "the body of a function is 'let's and one expression";
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
      error(fn->outputs[0].type.loc) << "unknown element type '" << fn->outputs[0].type.name << "'";
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
