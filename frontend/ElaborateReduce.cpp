// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions: their brackets and combiners. See Elaborate.h.
#include "frontend/Elaborate.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::frontend {

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

/// A range that outer indices move as a whole, `i - 1 <= k < i + 2`, is one of fixed
/// length from there: k becomes i - 1 + k' with k' in 0:3.
void Elaborator::shiftWindow(IndexVar *v) {
  auto hasDims = [](AffineExpr e) {
    bool found = false;
    e.walk([&](AffineExpr x) { found |= isa<AffineDimExpr>(x); });
    return found;
  };
  if (!v->declLo || !v->declHi)
    return;
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
  v->window = v->declLo;
  v->declLo = getAffineConstantExpr(0, context());
  v->declHi = length;
}

/// Whether a chained comparison around `name` declares it: it is bound neither in the bracket nor on the left.
bool Elaborator::isDeclaration(const Expr *name, const Scope *outer, ArrayRef<StringRef> declared) const {
  const Binding *b = outer->find(name->text);
  return !llvm::is_contained(declared, name->text) && !llvm::is_contained(leftNames, name->text) && !(b && b->kind != Binding::Key) &&
         !isKernelName(name->text);
}

/// An index parameter of the function stands for the caller's keys, each of which is a fresh index for as long as the body lasts.
bool Elaborator::declarePack(const Expr *e, const Binding &b, Scope *scope, Bracket &bracket, bool isRanged) {
  if (isRanged && b.pack->indices.size() != 1) {
    error(e->loc) << "'" << e->text << "' stands for " << b.pack->indices.size() << " indices here and takes no range of its own";
    return false;
  }
  for (const IndexPack::Index &index : b.pack->indices) {
    size_t names = scope->names.size(), before = pendingKeys.size();
    IndexVar *v = bindIndex(scope, keyNames[index.key], e->loc);
    Node *value = keyValues.back();
    keyValues.pop_back();
    keyNames.pop_back();
    scope->names.pop_back();
    pendingKeys.push_back({index.key, value});
    bracket.vars.push_back(v);
    if (index.lo && !isRanged)
      bracket.ranges.push_back({v, value, index.lo, index.hi, index.openLo, index.closedHi, index.scope, names, before});
  }
  scope->names.push_back({e->text, b});
  if (!isRanged)
    bracket.conditions.append(b.pack->conditions);
  return true;
}

/// `e`, which a bracket names, gives a range (`ranged`, `chain`) or leaves without one.
bool Elaborator::declareIndex(const Expr *e, const Scope *outer, Scope *scope, Bracket &bracket, const BracketItem *ranged,
                              const std::optional<ChainedRange> &chain) {
  const Binding *b = outer->find(e->text);
  const Scope *root = outer;
  while (root->parent)
    root = root->parent;
  if (b && b->kind != Binding::Key) {
    error(e->loc) << "'" << e->text << "' is a parameter and cannot be reduced over";
    return false;
  }
  if (root->kernelLevel && isKernelName(e->text) && !b) {
    error(e->loc) << "'" << e->text << "' already names " << (sizeIndex.contains(e->text) ? "a size" : "something else")
                  << " of this kernel; an index needs another name";
    return false;
  }
  if (llvm::is_contained(bracket.names, e->text)) {
    error(e->loc) << "index '" << e->text << "' stands twice in this bracket";
    return false;
  }
  bracket.names.push_back(e->text);
  size_t names = scope->names.size(), before = pendingKeys.size();
  bool isRanged = ranged || chain;
  if (b && b->pack) {
    if (!declarePack(e, *b, scope, bracket, isRanged))
      return false;
  } else {
    bracket.vars.push_back(bindIndex(scope, e->text, e->loc));
  }
  if (!isRanged)
    return true;
  Node *value = b && b->pack ? pendingKeys.back().second : keyValues.back();
  if (ranged)
    bracket.ranges.push_back({bracket.vars.back(), value, ranged->lo, ranged->hi, false, false, nullptr, names, before});
  else
    bracket.ranges.push_back({bracket.vars.back(), value, chain->lo, chain->hi, chain->openLo, chain->closedHi, nullptr, names, before});
  return true;
}

bool Elaborator::elaborateRanges(const Scope *outer, Scope *scope, Bracket &bracket, size_t firstKey) {
  bool ok = true;
  for (const Bracket::Range &r : bracket.ranges) {
    Scope &before = scopes.emplace_back();
    before.parent = outer;
    before.names.assign(scope->names.begin(), scope->names.begin() + r.names);
    auto rebind = [&] {
      for (auto &[key, value] : MutableArrayRef(pendingKeys).slice(firstKey, r.keys - firstKey))
        std::swap(keyValues[key], value);
      epoch = ++lastEpoch;
    };
    unsigned outerEpoch = epoch;
    rebind();
    auto range = elaborateRange(r.lo, r.openLo, r.hi, r.closedHi, r.scope ? r.scope : &before);
    rebind();
    epoch = outerEpoch;
    if (!range) {
      ok = false;
      continue;
    }
    r.var->declLo = range->lo;
    r.var->declHi = range->hi;
    r.var->boundByData = !range->lo || !range->hi;
    shiftWindow(r.var);
    if (!range->others.empty())
      bracket.written.push_back({r.node, std::move(*range)});
  }
  return ok;
}

bool Elaborator::elaborateItems(ArrayRef<BracketItem> items, const Scope *outer, Scope *scope, Bracket &bracket) {
  SmallVector<StringRef> declared;
  for (const BracketItem &item : items)
    if ((!item.lo && item.expr->kind == Expr::Name) || item.lo)
      declared.push_back(item.expr->text);
  bool ok = true;
  size_t firstKey = pendingKeys.size();
  for (const BracketItem &item : items) {
    if (item.expr->kind == Expr::Name) {
      ok &= declareIndex(item.expr, outer, scope, bracket, item.lo ? &item : nullptr, std::nullopt);
      continue;
    }
    if (item.lo) {
      error(item.loc) << "expected an index name before 'in'";
      ok = false;
      continue;
    }
    auto chain = chainedRange(item.expr);
    if (chain && isDeclaration(chain->index, outer, declared) && !llvm::is_contained(bracket.names, chain->index->text))
      ok &= declareIndex(chain->index, outer, scope, bracket, nullptr, chain);
    else
      bracket.conditions.push_back({item.expr, nullptr});
  }
  return elaborateRanges(outer, scope, bracket, firstKey) && ok;
}

StringRef Elaborator::indexAskedOf(const Expr *e, const Scope *outer) const {
  for (const BracketItem &item : e->items)
    if (item.expr && !item.lo && item.expr->kind == Expr::Compare)
      for (const Expr *side : item.expr->args)
        if (side->kind == Expr::Name && isDeclaration(side, outer, {}))
          return side->text;
  return "";
}

/// What to write in place of `sum[k | k < n](..)`; empty for what is no such bracket.
static std::string hintForBar(const Expr *e, StringRef text) {
  const Expr *first = e->items.empty() ? nullptr : e->items.front().expr;
  auto [index, condition] = (first ? text.slice(first->begin, first->end) : StringRef()).split('|');
  if (condition.empty() || !llvm::all_of(index.trim(), [](char c) { return llvm::isAlnum(c) || c == '_'; }))
    return "";
  return ("; its condition stands behind a comma: write '" + e->text + "[" + index.trim() + ", " + condition.trim() + "](..)'").str();
}

/// What is wrong with the values of a reduction that takes one, and where.
static std::pair<Loc, std::string> describeValues(const Expr *e) {
  auto known = llvm::find_if(e->named, [](const NamedArg &arg) { return !arg.name.empty(); });
  std::string name = "'" + e->text.str() + "[..]' ";
  if (known != e->named.end() && e->named.size() > 1)
    return {known->loc, name + "has no parameter '" + known->name.str() + "': the bracket says what it runs over"};
  return {e->loc, name + "takes one value, as in '" + e->text.str() + "[k](x[k])'"};
}

Node *Elaborator::elaborateReduce(const Expr *e, const Scope *scope) {
  const ReducerForm *own = nullptr;
  if (reducers.contains(e->text)) {
    if (!(own = findReducer(e->text))) // (what is wrong with it has been said)
      return nullptr;
  } else if (e->named.size() != 1 || !e->named[0].name.empty()) {
    auto [loc, what] = describeValues(e);
    error(loc) << what;
    return nullptr;
  }
  Scope &inner = scopes.emplace_back();
  inner.parent = scope;
  Bracket bracket;
  size_t pendingStart = pendingKeys.size();
  bool ok = elaborateItems(e->items, scope, &inner, bracket);
  SmallVector<std::pair<unsigned, Node *>> rebound(pendingKeys.begin() + pendingStart, pendingKeys.end());
  pendingKeys.resize(pendingStart);
  for (auto &[key, value] : rebound)
    std::swap(keyValues[key], value);
  unsigned outerEpoch = std::exchange(epoch, rebound.empty() ? epoch : ++lastEpoch);
  llvm::scope_exit restore([&] {
    for (auto &[key, value] : llvm::reverse(rebound))
      std::swap(keyValues[key], value);
    epoch = outerEpoch;
  });
  if (!ok)
    return nullptr;
  if (bracket.vars.empty()) {
    auto d = error(e->loc);
    d << "'" << e->text << "' needs an index to reduce, ";
    if (StringRef index = indexAskedOf(e, scope); !index.empty() && e->loc.file == 0)
      d << "which stands before its conditions: write '" << e->text << "[" << index << ", " << textOfBracket(e) << "](..)'";
    else
      d << "as in '" << e->text << "[k](..)'" << hintForBar(e, diags.file(e->loc.file).text);
    return nullptr;
  }
  SmallVector<Node *> conditions;
  for (auto &[index, range] : bracket.written)
    if (!addConditions(range, index, conditions))
      return nullptr;
  for (auto [c, own] : bracket.conditions) {
    Node *n = elaborateCondition(c, own ? own : &inner);
    if (!n)
      return nullptr;
    if (n->kind != Node::ConstBool || !n->intValue)
      conditions.push_back(n);
  }
  bool saved = std::exchange(inSubscript, false);
  SmallVector<Node *> element;
  bool isElement = own && elaborateElement(*own, e, &inner, element);
  Node *body = own ? nullptr : elaborate(e->named[0].value, &inner);
  inSubscript = saved;
  if (isElement)
    return makeOwnReduce(*own, bracket.vars, conditions, element, e->loc);
  if (!body)
    return nullptr;
  Node *reduce = makeReduce(*reductionNamed(e->text), bracket.vars, conditions, body, e->loc);
  return reduce && e->text == "mean" ? makeMean(reduce, bracket.vars, e->loc) : reduce;
}

Node *Elaborator::makeReduce(te::Combiner kind, ArrayRef<IndexVar *> vars, ArrayRef<Node *> conditions, Node *body, Loc loc) {
  using C = te::Combiner;
  switch (kind) {
  case C::Any:
  case C::All:
    if (body->type != Ty::Bool) {
      error(body->loc) << "'any' and 'all' need a condition, not " << name(body->type) << "; compare it, as in '.. != 0'";
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
  if (arg)
    body = concrete(body);
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
  if (++reductions > kMaxReductions) {
    error(loc) << "kernel '" << kernel.def->name << "' has more than " << kMaxReductions << " reductions; split it into several kernels";
    overBudget = true;
    return nullptr;
  }
  Node *n = make(Node::Reduce, arg ? Ty::I64 : body->type, loc);
  n->combiner = kind;
  n->vars.append(vars.begin(), vars.end());
  n->conditions.append(conditions.begin(), conditions.end());
  n->ops.push_back(body);
  // What the results fit. Of nothing `and` gives -1, and max and min give the bound of that type (see RegionEmitter::emitIdentity).
  bool keepsNarrow = kind == C::Or || kind == C::Xor || kind == C::Max || kind == C::Min ||
                     (kind == C::And && body->narrow && isSignedInteger(*body->narrow));
  if (keepsNarrow && !isLiteral(body->type))
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

} // namespace kernelc::frontend
