// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements that record at which points subscripts leave their tensors. See Bounds.h and ir/te/Faults.h.
#include "frontend/Bounds.h"

#include "frontend/IndexModel.h"
#include "ir/te/Faults.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kernelc::frontend {

bool BoundsChecker::mayGuard(Node *root) {
  auto known = mayGuard_.find(root);
  if (known != mayGuard_.end())
    return known->second;
  bool found = false;
  walk(root, [&](Node *n) {
    if (n->kind == Node::Read && (n->bounds == te::BoundsMode::InBounds || n->isSpeculative))
      found |= llvm::any_of(n->ops, [](Node *s) { return !s->affine && !isOfIndicesAlone(s); });
  });
  return mayGuard_[root] = found;
}

void BoundsChecker::addGuard(Loc loc, Node *subscript, AffineExpr dim, StringRef tensor, unsigned number, const BoundsContext &c) {
  std::string what = "subscript " + std::to_string(number) + " of '" + tensor.str() + "' leaves 0:" + print(dim, kernel);
  guards.push_back({loc, subscript, dim, std::move(what), c});
}

namespace {

/// What conditions say, whatever their indices are called: two of one key hold at the same points. Of nodes that it does not
/// know it says where they are, so that no other is the same.
class ConditionKey {
public:
  explicit ConditionKey(ArrayRef<IndexVar *> vars) : vars_(vars) {
    for (IndexVar *v : vars)
      out_ << v->lo << ":" << v->extent << ";";
  }
  void add(Node *n) {
    out_ << "(" << unsigned(n->type) << " ";
    if (n->affine)
      add(n->affine);
    else
      addFields(n);
    out_ << ")";
  }
  std::string text;
  bool isFixed = true; ///< nothing that is read is written meanwhile

private:
  void add(AffineExpr e) { out_ << (vars_.empty() ? e : e.replaceDims(dims())); }
  SmallVector<AffineExpr> dims() {
    unsigned most = 0;
    for (IndexVar *v : vars_)
      most = std::max(most, v->id + 1);
    SmallVector<AffineExpr> to;
    for (unsigned d = 0; d < most; ++d)
      to.push_back(getAffineDimExpr(d + vars_.size(), vars_.front()->lo.getContext()));
    for (auto [place, v] : llvm::enumerate(vars_))
      to[v->id] = getAffineDimExpr(place, v->lo.getContext());
    return to;
  }
  void addFields(Node *n) {
    out_ << unsigned(n->kind) << " ";
    switch (n->kind) {
    case Node::ConstInt:
    case Node::ConstBool: out_ << n->intValue; break;
    case Node::ConstFloat: out_ << llvm::format_hex(llvm::bit_cast<uint64_t>(n->floatValue), 18); break;
    case Node::ScalarParam:
    case Node::Read:
      out_ << static_cast<const void *>(n->tensor) << " " << unsigned(n->bounds) << " ";
      isFixed &= n->tensor->kind != Tensor::Output && !n->tensor->isInout;
      if (n->padding)
        add(n->padding);
      break;
    case Node::Cmp: out_ << unsigned(n->predicate) << " "; break;
    case Node::Cast: out_ << unsigned(n->castTo) << " "; break;
    case Node::Math: out_ << n->callee << " "; break;
    case Node::Reduce:
    case Node::Index:
    case Node::Size: out_ << static_cast<const void *>(n); return;
    default: break;
    }
    for (Node *o : n->ops)
      add(o);
  }
  ArrayRef<IndexVar *> vars_;
  llvm::raw_string_ostream out_{text};
};

} // namespace

bool Sema::addGuards(const std::vector<Guard> &guards) {
  ++guardedStatements;
  return llvm::all_of(guards, [&](const Guard &g) { return addGuard(g); });
}

/// The points are those at which the subscript counts, and lies outside; they say their number.
bool Sema::addGuard(const Guard &guard) {
  using P = arith::CmpIPredicate;
  Loc loc = guard.loc;
  auto holds = [&](AffineExpr e, P p) { return elab.makeCompare(p, elab.makeAffine(e, loc), elab.makeInt(0, Ty::I64, loc), loc); };
  CoreStatement core;
  core.loc = loc;
  for (const auto *list : {&guard.where.hard, &guard.where.soft})
    for (const Constraint &k : *list)
      core.conditions.push_back(holds(k.expr, k.isEq ? P::eq : P::sge));
  for (auto [condition, negated] : guard.where.path)
    core.conditions.push_back(negated ? elab.makeNot(condition, loc) : condition);
  Node *s = guard.subscript, *dim = elab.makeAffine(guard.dim, loc), *outside = nullptr;
  if (s->type == Ty::U64) {
    dim = elab.castTo(dim, ElementType::u64, loc);
    outside = dim ? elab.makeCompare(P::sge, s, dim, loc) : nullptr;
  } else if (Node *wide = elab.castTo(s, ElementType::i64, loc)) {
    Node *inside =
        elab.makeAnd({elab.makeCompare(P::sge, wide, elab.makeInt(0, Ty::I64, loc), loc), elab.makeCompare(P::slt, wide, dim, loc)}, loc);
    outside = inside ? elab.makeNot(inside, loc) : nullptr;
  }
  core.conditions.push_back(outside);
  if (llvm::is_contained(core.conditions, nullptr))
    return false;
  // Where an index that nothing depends on has no value, there is no access.
  core.vars = usedOuter(elab.makeAnd(core.conditions, loc), guard.where.domain);
  for (IndexVar *v : guard.where.domain)
    if (!llvm::is_contained(core.vars, v))
      if (Prover p = prover; !p.proves(v->extent - 1))
        core.conditions.push_back(holds(v->extent - 1, P::sge));
  // A function's parameter stands in several places, and tensors are read by the same subscripts: one guard says it.
  ConditionKey key(core.vars);
  for (Node *c : core.conditions)
    key.add(c);
  if (!key.isFixed)
    key.text += std::to_string(guardedStatements);
  if (knownGuards.insert(key.text).second)
    recordWhere(std::move(core), guard.what);
  return true;
}

/// The least number of a point of `core`, whose indices and conditions are there, becomes a number of the record.
void Sema::recordWhere(CoreStatement core, std::string what) {
  Loc loc = core.loc;
  Node *number = elab.makeInt(0, Ty::I64, loc);
  for (IndexVar *v : core.vars) {
    Node *at = elab.makeAffine(getAffineDimExpr(v->id, context()) - v->lo, loc), *extent = elab.makeAffine(v->extent, loc);
    number = v == core.vars.front() ? at : elab.makeBinary(Node::Add, elab.makeBinary(Node::Mul, number, extent, loc), at, loc);
  }
  core.target = recordTensor();
  AffineExpr place = getAffineConstantExpr(int64_t(kernel.faults.entries.size()), context());
  core.subscripts = {elab.makeAffine(place, loc)};
  core.value = number;
  core.whole = false;
  core.scatter = ScatterForm{te::Combiner::Min, number, ElementType::i64, false};
  core.anyOrder = true;
  kernel.faults.entries.push_back({loc, std::move(what), core.vars});
  bool readsOwn = false;
  for (Node *c : core.conditions)
    walk(c, [&](Node *n) { readsOwn |= n->kind == Node::Read && n->readsOwn; });
  (readsOwn ? laterGuards : statements).push_back(std::move(core));
}

void Sema::addStatement(CoreStatement core) {
  statements.push_back(std::move(core));
  llvm::move(laterGuards, std::back_inserter(statements));
  laterGuards.clear();
}

Tensor *Sema::recordTensor() {
  if (!kernel.faults.tensor) {
    Tensor &t = kernel.tensors.emplace_back();
    t.kind = Tensor::Output;
    t.name = te::kRecord;
    t.loc = kernel.def->nameLoc;
    t.element = ElementType::i64;
    t.isInout = true;
    kernel.faults.tensor = &t;
  }
  return kernel.faults.tensor;
}

/// assert CONDITION, "TEXT" where ..: records a point of the indices in it at which it does not hold.
bool Sema::checkAssert(const Statement &s) {
  CoreStatement core;
  core.loc = s.loc;
  core.target = recordTensor();
  elab.leftNames.clear();
  elab.leftDims.clear();
  elab.plainAssign = false;
  elab.letName = "";
  Scope *scope = elab.openStatement();
  SmallVector<const Expr *> names;
  SmallVector<StringRef> bound;
  collectSubscriptNames(s.value, names, bound, false);
  for (const Expr *n : names)
    core.vars.push_back(elab.bindIndex(scope, n->text, n->loc));
  if (!checkWhere(s.where, scope, core))
    return false;
  core.value = elab.elaborate(s.value, scope);
  if (!core.value)
    return false;
  if (core.value->type != Ty::Bool) {
    diags.error(s.value->loc) << "'assert' takes a condition, not " << name(core.value->type);
    return false;
  }
  if (!finishStatement(core))
    return false;
  core.conditions.push_back(elab.makeNot(core.value, s.loc));
  recordWhere(std::move(core), "assertion failed: " + s.sourceText.str());
  return true;
}

void Sema::finishRecord() {
  Tensor *t = kernel.faults.tensor;
  if (!t)
    return;
  t->dims = {getAffineConstantExpr(int64_t(kernel.faults.entries.size()), context())};
  kernel.args.push_back(t);
  kernel.outs.insert(llvm::find_if(kernel.outs, [](Tensor *o) { return !o->isInout; }), t); // inouts come before outputs
}

} // namespace kernelc::frontend
