// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements: their left sides, free and reduced indices, conditions and types.
#include "frontend/Habits.h"
#include "frontend/Sema.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::frontend {

bool Sema::checkStatement(const Statement &s) {
  switch (s.kind) {
  case Statement::Let:
    if (checkLet(s))
      return true;
    // A name whose definition failed is declared all the same, so that its uses are no further errors.
    if (!elab.tensors.contains(s.target)) {
      Tensor &t = kernel.tensors.emplace_back();
      t.name = s.target;
      t.kind = Tensor::Let;
      t.poisoned = true;
      elab.tensors[s.target] = &t;
    }
    return false;
  case Statement::Assign: {
    bool ok = checkAssign(s);
    if (!ok)
      if (auto it = elab.tensors.find(s.target); it != elab.tensors.end() && it->second->kind != Tensor::Let) {
        it->second->isReadable = true;
        it->second->poisoned |= it->second->kind == Tensor::Output;
      }
    return ok;
  }
  case Statement::Policy: return checkPolicy(s);
  case Statement::Require: return true;
  case Statement::Assert: return checkAssert(s);
  }
  return false;
}

bool Sema::checkPolicy(const Statement &s) {
  bool types = s.target == "precision";
  if (!types && s.target != "tolerance") {
    auto d = diags.error(s.loc);
    if (s.target == "order")
      d << "'order(any)' stands behind the outputs of a kernel or behind a statement, as in 'y[idx[n]] += x[n] order(any)'";
    else
      d << "the policy '" << s.target << "' is not supported yet inside a kernel";
    return false;
  }
  if (!kernel.precision.empty()) {
    diags.error(s.loc) << "this kernel has a precision policy already: " << kernel.precision.toString();
    return false;
  }
  auto expected = [&](Loc loc) {
    diags.error(loc) << "expected " << (types ? "KEY = TYPE, as in precision(contract = tf32)" : "a bound, as in tolerance(rel = 1e-3)");
    return false;
  };
  const auto &tokens = s.policyTokens;
  for (size_t i = 0;; ++i) {
    if (i + 2 >= tokens.size() || tokens[i + 1].first != "=")
      return expected(i < tokens.size() ? tokens[i].second : s.loc);
    auto [key, keyLoc] = tokens[i];
    auto [value, valueLoc] = tokens[i + 2];
    if (types == (key == "rel")) {
      diags.error(keyLoc) << "'" << s.target << "' has " << (types ? "contract and accumulate" : "rel") << ", not '" << key << "'";
      return false;
    }
    std::vector<StringRef> keys = types ? std::vector<StringRef>{"contract", "accumulate"} : std::vector<StringRef>{"rel"};
    if (std::string near = findNearest(key, keys); !near.empty() && !llvm::is_contained(keys, key)) {
      diags.error(keyLoc) << "'" << s.target << "' has no '" << key << "'; did you mean '" << near << "'?";
      return false;
    }
    absl::Status set = setPrecision(kernel.precision, {key.data(), key.size()}, {value.data(), value.size()});
    if (!set.ok()) {
      diags.error(valueLoc) << std::string(set.message());
      return false;
    }
    i += 3;
    if (i == tokens.size())
      return true;
    if (tokens[i].first != ",")
      return expected(tokens[i].second);
  }
}

void Sema::collectFreeNames(const Expr *e, SmallVectorImpl<const Expr *> &names) {
  SmallVector<const Expr *> work = {e};
  while (!work.empty()) {
    const Expr *top = work.pop_back_val();
    if (top->kind == Expr::Name)
      names.push_back(top);
    for (const Expr *a : llvm::reverse(top->args))
      work.push_back(a);
  }
}

void Sema::collectSubscriptNames(const Expr *e, SmallVectorImpl<const Expr *> &names, SmallVectorImpl<StringRef> &bound, bool inSubscript) {
  // Depth is the parser's nesting, which is bounded.
  if (e->kind == Expr::Name) {
    if (inSubscript && !elab.isKernelName(e->text) && !llvm::is_contained(bound, e->text) && e->text != "inf" && e->text != "nan" &&
        e->text != "pi" && llvm::none_of(names, [&](const Expr *n) { return n->text == e->text; }))
      names.push_back(e);
    return;
  }
  size_t mark = bound.size();
  if (e->kind == Expr::Call) {
    for (const BracketItem &i : e->items) {
      const Expr *n = i.expr;
      if (!i.lo && n->kind == Expr::Compare && n->args.size() == 3)
        n = n->args[1];
      if (n->kind == Expr::Name)
        bound.push_back(n->text);
    }
    for (const NamedArg &a : e->named)
      collectSubscriptNames(a.value, names, bound, false);
  }
  for (const Expr *a : e->args)
    collectSubscriptNames(a, names, bound, inSubscript || e->kind == Expr::Access || e->kind == Expr::Subscripted);
  bound.resize(mark);
}

bool Sema::bindLeft(const Statement &s, Scope *scope, CoreStatement &core) {
  // New names become the free indices, in order.
  SmallVector<const Expr *> names;
  for (const Expr *sub : s.subscripts) {
    SmallVector<const Expr *> work = {sub};
    while (!work.empty()) {
      const Expr *top = work.pop_back_val();
      for (const NamedArg &a : llvm::reverse(top->named))
        work.push_back(a.value);
      if (top->kind == Expr::Name)
        names.push_back(top);
      for (const Expr *a : llvm::reverse(top->args))
        work.push_back(a);
    }
  }
  for (const Expr *n : names) {
    if (scope->find(n->text) || elab.constValues.contains(n->text) || elab.sizeIndex.contains(n->text))
      continue;
    if (elab.isKernelName(n->text)) {
      diags.error(n->loc) << "'" << n->text << "' already names something else of this kernel; an index needs another name";
      return false;
    }
    core.vars.push_back(elab.bindIndex(scope, n->text, n->loc));
    elab.leftNames.push_back(n->text);
  }
  bool areIndices = core.target && s.subscripts.size() == elab.leftNames.size() && core.target->dims.size() == s.subscripts.size();
  for (auto [sub, name] : llvm::zip(s.subscripts, elab.leftNames))
    areIndices &= sub->kind == Expr::Name && sub->text == name;
  if (areIndices)
    elab.leftDims = core.target->dims;
  bool byValue = mayScatter(s);
  for (auto [d, sub] : llvm::enumerate(s.subscripts)) {
    Node *n = byValue ? elab.elaborateSubscript(sub, scope, "", core.target->dims[d])
                      : elab.elaborateInteger(sub, scope, "a subscript on the left");
    n = n ? elab.convert(n, Ty::I64) : nullptr;
    if (!n)
      return false;
    core.subscripts.push_back(n);
  }
  return true;
}

const Expr *Sema::takeGroups(const Statement &s, std::vector<BracketItem> &where) {
  where = s.where;
  SmallVector<const Expr *> names;
  auto isGroup = [&](const BracketItem &item) {
    if (item.lo)
      return false;
    SmallVector<StringRef> bound(elab.leftNames.begin(), elab.leftNames.end());
    SmallVector<const Expr *> own;
    collectSubscriptNames(item.expr, own, bound, false);
    for (const Expr *n : own)
      if (llvm::none_of(names, [&](const Expr *known) { return known->text == n->text; }))
        names.push_back(n);
    return !own.empty();
  };
  auto groups = std::stable_partition(where.begin(), where.end(), [&](const BracketItem &i) { return !isGroup(i); });
  if (groups == where.end())
    return s.value;
  if (s.value->kind != Expr::Call || !s.value->hasBracket || s.value->text != "sum") {
    diags.error(names.front()->loc) << "index '" << names.front()->text
                                    << "' is not on the left side of '='; a bound may have one where the right side "
                                       "is a 'sum[..](..)', which then runs over it too";
    return nullptr;
  }
  Expr &sum = grouped.emplace_back(*s.value);
  sum.items.clear();
  for (const Expr *n : names)
    sum.items.push_back({const_cast<Expr *>(n), nullptr, nullptr, n->loc});
  llvm::append_range(sum.items, s.value->items);
  sum.items.insert(sum.items.end(), groups, where.end());
  where.erase(groups, where.end());
  return &sum;
}

bool Sema::checkWhere(ArrayRef<BracketItem> where, Scope *scope, CoreStatement &core) {
  for (const BracketItem &item : where) {
    if (item.lo) {
      IndexVar *v = nullptr;
      for (IndexVar *x : core.vars)
        if (item.expr->kind == Expr::Name && x->name == item.expr->text)
          v = x;
      for (IndexVar *x : core.reduced)
        if (item.expr->kind == Expr::Name && x->name == item.expr->text)
          v = x;
      if (!v) {
        diags.error(item.loc) << "expected an index of this statement before 'in'";
        return false;
      }
      auto range = elab.elaborateRange(item.lo, false, item.hi, false, scope);
      if (!range || !elab.addConditions(*range, elab.elaborate(item.expr, scope), core.conditions))
        return false;
      v->declLo = range->lo;
      v->declHi = range->hi;
      v->boundByData = !range->lo || !range->hi;
      continue;
    }
    // A chained comparison around an index is its range.
    const Expr *e = item.expr;
    if (auto chain = chainedRange(e)) {
      IndexVar *v = nullptr;
      for (IndexVar *x : core.vars)
        if (x->name == chain->index->text && !x->declLo && !x->declHi)
          v = x;
      Node *lo = v ? elab.elaborate(chain->lo, scope) : nullptr;
      Node *hi = v ? elab.elaborate(chain->hi, scope) : nullptr;
      if (v && (!lo || !hi))
        return false;
      auto overSizes = [](Node *n) {
        if (!n->affine)
          return false;
        bool dims = false;
        n->affine.walk([&](AffineExpr x) { dims |= isa<AffineDimExpr>(x); });
        return !dims;
      };
      if (v && overSizes(lo) && overSizes(hi)) {
        v->declLo = lo->affine + (chain->openLo ? 1 : 0);
        v->declHi = hi->affine + (chain->closedHi ? 1 : 0);
        continue;
      }
    }
    Node *c = elab.elaborateCondition(e, scope);
    if (!c)
      return false;
    if (c->kind != Node::ConstBool || !c->intValue)
      core.conditions.push_back(c);
  }
  return true;
}

/// The subscripts as they are written, and new indices for the dims that none stands for.
static std::string allSubscripts(const Diagnostics &diags, const Statement &s, size_t dims) {
  if (s.subscripts.empty() || s.subscripts.size() > dims)
    return exampleIndices(dims);
  StringRef text = diags.file(s.targetLoc.file).text;
  uint32_t begin = s.subscripts.front()->begin, end = s.subscripts.back()->end;
  std::string all = text.slice(begin, end).str();
  SmallVector<StringRef> words;
  llvm::SplitString(text.slice(begin, s.value ? s.value->end : end), words, " \t\n,;:()[]{}+-*/%<>=!&|^~?.");
  size_t missing = dims - s.subscripts.size();
  for (StringRef name : {"i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w"})
    if (missing > 0 && !llvm::is_contained(words, name)) {
      all += (", " + name).str();
      --missing;
    }
  return all;
}

/// What an assignment form is called that `name` stands for; empty where the reduction is a call only.
static StringRef formMeant(StringRef name) {
  if (StringRef reduction = reductionMeant(name); !reduction.empty())
    name = reduction;
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"sum", "add", "atomic", "atomic_add", "accumulate"}, "+=")
      .Case("prod", "*=")
      .Case("min", "min=")
      .Case("max", "max=")
      .Cases({"all"}, "and=")
      .Cases({"any"}, "or=")
      .Default("");
}

bool Sema::checkAssignTarget(const Statement &s, Tensor *t) {
  if (t->kind == Tensor::Let) {
    if (!t->poisoned) {
      auto d = diags.error(s.targetLoc);
      d << "'" << s.target << "' is a 'let' and is defined once; give the new values another name, as in 'let " << s.target << "2["
        << exampleIndices(t->dims.size()) << "] = ..'";
      diags.note(d, t->loc) << "'" << s.target << "' is defined here";
    }
    return false;
  }
  if (t->outIndex < 0) {
    auto d = diags.error(s.targetLoc);
    if (t->dims.empty())
      d << "'" << s.target << "' is one value of the call, which nothing writes; give the new one another name, as in 'let " << s.target
        << "2 = ..'";
    else
      d << "'" << s.target << "' is an input; declare it 'inout " << s.target << ": ..' to write to it";
    return false;
  }
  if (s.hasSubscripts ? s.subscripts.size() != t->dims.size() : !t->dims.empty()) {
    bool isCall = !s.hasSubscripts && s.value->kind == Expr::Call && !hintForFunction(s.value->text).empty();
    if (!isCall || elab.elaborate(s.value, elab.openStatement())) // what is wrong with y = matmul(a, b) is matmul
      diags.error(s.targetLoc) << "'" << s.target << "' has " << describeRank(t->dims.size(), s.subscripts.size()) << "; write '"
                               << s.target << "[" << allSubscripts(diags, s, t->dims.size()) << "]'";
    return false;
  }
  if (!s.mode.empty() && s.mode != "unique") {
    StringRef form = formMeant(s.mode);
    auto d = diags.error(s.targetLoc);
    d << "'." << s.mode << "' does not go on the left side; '.unique' does, with subscripts that name no element twice";
    if (!form.empty())
      d << "; points that may meet are combined by '" << s.target << "[..] " << form << " ..'";
    return false;
  }
  return true;
}

void Sema::reportUnknownTarget(const Statement &s) {
  SmallVector<StringRef> known;
  for (Tensor *o : kernel.outs)
    known.push_back(o->name);
  std::string near = findNearest(s.target, known);
  // k = reduce_axis(..): the call says what is meant.
  StringRef instead = near.empty() && s.value->kind == Expr::Call && !elab.isFunction(s.value->text) ? hintForFunction(s.value->text) : "";
  auto d = diags.error(instead.empty() ? s.targetLoc : s.value->loc);
  if (!instead.empty())
    d << "unknown function '" << s.value->text << "'; " << instead;
  else
    d << "'" << s.target << "' is not an output of '" << kernel.def->name << "'";
  if (!near.empty())
    d << "; did you mean '" << near << "'?";
  else if (llvm::is_contained({"precision", "tolerance"}, s.target))
    d << "; a policy is written '" << (s.target == "precision" ? "precision(contract = tf32)'" : "tolerance(rel = 2e-3)'");
  else if (llvm::is_contained(kernel.sizes, s.target.str()))
    d << ", but a size: shapes give it its value, or '--set " << s.target << "=128'";
  else if (instead.empty())
    d << "; write 'let " << s.target << "[..] = ..' for an intermediate tensor";
  Tensor &unknown = kernel.tensors.emplace_back(); // what reads it is no second mistake
  unknown.name = s.target;
  unknown.kind = Tensor::Let;
  unknown.poisoned = true;
  elab.tensors[s.target] = &unknown;
}

static void reportUnknownForm(Diagnostics &diags, const Statement &s) {
  auto d = diags.error(s.opLoc);
  d << "'" << s.op << "=' is not an assignment form; ";
  StringRef reduction = reductionMeant(s.op).empty() ? s.op : reductionMeant(s.op);
  if (StringRef form = formMeant(s.op); !form.empty())
    d << "write '" << form << "'";
  else if (reductionNamed(reduction) || reduction == "mean") {
    StringRef text = diags.file(s.targetLoc.file).text;
    StringRef subs = s.subscripts.empty() ? "" : text.slice(s.subscripts.front()->begin, s.subscripts.back()->end);
    d << "write the reduction behind '=', as in '" << s.target << (s.hasSubscripts ? "[" + subs + "]" : "") << " = " << reduction
      << "[k](..)'";
  } else
    d << "there are = += *= min= max= and= or= xor= and those of reducers";
}

bool Sema::checkAssignOperator(const Statement &s, CoreStatement &core, const ReducerForm *&form) {
  using C = te::Combiner;
  core.reduceAssign = llvm::StringSwitch<std::optional<C>>(s.op)
                          .Case("+=", C::Sum)
                          .Case("*=", C::Prod)
                          .Case("min", C::Min)
                          .Case("max", C::Max)
                          .Case("and", C::And)
                          .Case("or", C::Or)
                          .Case("xor", C::Xor)
                          .Default(std::nullopt);
  form = nullptr;
  if (core.reduceAssign || s.op == "=")
    return true;
  if (!elab.isReducer(s.op)) {
    reportUnknownForm(diags, s);
    return false;
  }
  if (!(form = elab.findReducer(s.op)))
    return false;
  if (!form->isScalar()) {
    diags.error(s.opLoc) << "'" << s.op << "' reduces tuples, which no tensor holds; reduce in a 'let', as in 'let t[i] = " << s.op
                         << "[k](..)', and store its fields";
    return false;
  }
  core.reduceAssign = C::Custom;
  return true;
}

bool Sema::checkAssign(const Statement &s) {
  auto it = elab.tensors.find(s.target);
  if (it == elab.tensors.end()) {
    reportUnknownTarget(s);
    return false;
  }
  Tensor *t = it->second;
  if (!checkAssignTarget(s, t))
    return false;
  CoreStatement core;
  core.loc = s.loc;
  core.target = t;
  const ReducerForm *form;
  if (!checkAssignOperator(s, core, form))
    return false;
  elab.leftNames.clear();
  elab.leftDims.clear();
  elab.plainAssign = !core.reduceAssign;
  elab.letName = "";
  Scope *scope = elab.openStatement();
  if (!checkScatterText(s) || !bindLeft(s, scope, core))
    return false;
  bool scatters = !s.mode.empty() || llvm::any_of(core.subscripts, [](Node *n) { return !n->affine; });
  if (core.reduceAssign) {
    SmallVector<const Expr *> names;
    SmallVector<StringRef> bound(elab.leftNames.begin(), elab.leftNames.end());
    collectSubscriptNames(s.value, names, bound, false);
    for (const Expr *n : names)
      core.reduced.push_back(elab.bindIndex(scope, n->text, n->loc));
  }
  std::vector<BracketItem> where = s.where;
  const Expr *assigned = core.reduceAssign ? s.value : takeGroups(s, where);
  if (!assigned || !checkWhere(where, scope, core))
    return false;
  elab.own = !core.reduceAssign && !scatters && !t->isInout && !t->isReadable ? t : nullptr;
  t->isPartlyDefined = llvm::any_of(statements, [&](const CoreStatement &c) { return c.target == t; });
  Node *value = elab.elaborate(assigned, scope);
  elab.own = nullptr;
  if (!value)
    return false;
  bool isFormed = scatters            ? formPoints(core, scope, form, value)
                  : core.reduceAssign ? combineAssigned(core, scope, form, value)
                                      : storeAs(core, value, /*wraps=*/false);
  return isFormed && finishAssign(s, core);
}

bool Sema::storeAs(CoreStatement &core, Node *value, bool wraps) {
  ElementType element = core.target->element;
  core.value = !value  ? nullptr
               : wraps ? elab.castTo(value, element, value->loc)
                       : elab.convertForStore(value, element, ("'" + core.target->name + "'").str());
  return core.value;
}

bool Sema::formPoints(CoreStatement &core, Scope *scope, const ReducerForm *form, Node *value) {
  return form ? bool(core.value = gatherPoints(core, scope, *form, value)) : formScatter(core, core.reduceAssign, value);
}

bool Sema::combineAssigned(CoreStatement &core, Scope *scope, const ReducerForm *form, Node *value) {
  Tensor *t = core.target;
  CoreStatement meeting = core; // as it is should several points meet in one element
  meeting.value = value;
  value = form ? combineWithOld(core, *form, value) : combineWithOld(core, *core.reduceAssign, value);
  bool wraps = value && isInt(value->type) && !kernelc::isFloat(t->element) && t->element != ElementType::boolean; // as integer sums do
  if (!storeAs(core, value, wraps))
    return false;
  if (!requirementsAreKnown)
    return true;
  if (!inferRanges(core)) {
    t->poisoned = true;
    return false;
  }
  if (namesElementsOnce(core))
    return true;
  core = std::move(meeting);
  if (!formPoints(core, scope, form, core.value))
    return false;
  if (!form)
    for (IndexVar *v : core.vars) // as free indices they are found anew
      v->lo = v->extent = v->movingLo = v->movingHi = AffineExpr();
  return true;
}

bool Sema::finishAssign(const Statement &s, CoreStatement &core) {
  Tensor *t = core.target;
  core.anyOrder = s.anyOrder || kernel.def->anyOrder;
  if (core.scatter)
    core.value = core.scatter->term;
  if (!finishStatement(core) || (readsOwn(core) && !makeRecurrence(core))) {
    t->poisoned = true;
    return false;
  }
  // Elements that other statements define are not there yet.
  size_t later = llvm::count_if(kernel.def->body, [&](const Statement &o) {
    return o.kind == Statement::Assign && o.target == s.target && o.op == "=" && o.loc.offset > s.loc.offset;
  });
  t->isReadable = t->isInout || core.reduceAssign || later == 0;
  addStatement(std::move(core));
  return true;
}

bool Sema::finishStatement(CoreStatement &core) {
  return requirementsAreKnown && inferRanges(core) && checkBounds(core); // what fails to be known may be what a proof lacks
}

} // namespace kernelc::frontend
