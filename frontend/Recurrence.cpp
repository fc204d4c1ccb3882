// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences: statements that read what they have defined themselves, a fixed number of steps before along one index. Others are
// computed in an order of their points (Order.cpp). See Sema.h.
//
//   h[i, t] = a[i, t] * h.pad(0)[i, t - 1] + b[i, t]
//
// becomes a fold along t whose state is the last results, h[i, t - 1] and as far back as the text reads, and whose elements are
// the parts of the right side that read none of them: here a[i, t], b[i, t], and whether t - 1 is inside.
#include "frontend/Sema.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

constexpr int64_t kMostSteps = 16; ///< back that a statement may read

class RecurrenceMaker {
public:
  RecurrenceMaker(Kernel &kernel, Elaborator &elab, CoreStatement &core)
      : kernel_(kernel), elab_(elab), core_(core), own_(core.target), isTuple_(core.value->kind == Node::Tuple) {
    Part whole{own_, core.value};
    if (!isTuple_)
      parts_.push_back(whole);
    else
      for (auto [part, value] : llvm::zip(own_->parts, core.value->ops))
        parts_.push_back({part, value});
  }

  /// Whether the right side reads the tensor that the statement defines.
  bool isOne() {
    bool found = false;
    walk(core_.value, [&](Node *n) { found |= isOwn(n); });
    return found;
  }

  /// Whether all it reads of itself is a fixed number of steps before, along one index.
  bool isFold() { return core_.conditions.empty() && findSteps(); }

  /// Replaces the statement's value by such a fold; false after an error.
  bool run(ElementType element, StringRef into) {
    form_ = &kernel_.reducers.emplace_back();
    form_->def = kernel_.def;
    return (!isTuple_ && makeAffine(element)) || makeSteps(element, into);
  }

  /// A tuple's, of fields with elements of their own: core.value becomes the tuple of what each comes to.
  bool runTuple() {
    form_ = &kernel_.reducers.emplace_back();
    form_->def = kernel_.def;
    return makeSteps(ElementType::f32, "'" + own_->name.str() + "'");
  }

private:
  /// What is defined together: a tensor, and what a step gives it. Of a let of tuples there is one for each field.
  struct Part {
    Tensor *tensor;
    Node *value;
    int64_t steps = 1;    ///< back that it is read
    size_t first = 0;     ///< component of the state: the last step; those before it follow
    Node *next = nullptr; ///< what this step gives, once that is known
  };

  /// Of steps that are any function of the state: one after the other.
  bool makeSteps(ElementType element, StringRef into) {
    for (Part &p : parts_) {
      ElementType own = isTuple_ ? p.tensor->element : element;
      p.first = form_->types.size();
      for (int64_t k = 0; k < p.steps; ++k) {
        form_->types.push_back(own);
        form_->params.push_back(makeParam(widened(own)));
        form_->identity.push_back(number(0, widened(own)));
      }
    }
    for (Part &p : parts_) {
      p.next = elab_.convertAsStored(rewrite(p.value), form_->types[p.first], into);
      if (!p.next)
        return false;
      form_->combined.push_back(p.next);
      for (int64_t k = 1; k < p.steps; ++k)
        form_->combined.push_back(form_->params[p.first + size_t(k - 1)]);
    }
    Node *n = makeScan({false, false, false}, isTuple_ ? -1 : 0);
    if (isTuple_)
      core_.value = elab_.makeTuple(llvm::map_to_vector(parts_, [&](Part &p) { return fieldOf(n, p); }), *own_->fields, core_.loc);
    n->lawText =
        kernel_.texts.emplace_back("'" + own_->name.str() + "' is computed in sequence along '" + along_->name.str() +
                                   "', of which each element needs the " + (steps_ == 1 ? "one" : std::to_string(steps_)) + " before it");
    return true;
  }

  /// h[t] = a h[t - 1] + b, which is not rounded on the way: a scan of the monoid of such steps, of which parts are computed beside
  /// each other. False where it is no such recurrence.
  bool makeAffine(ElementType element) {
    Ty wide = widened(element);
    if (steps_ != 1 || elementOf(wide) != element || element == ElementType::boolean || core_.value->type != wide)
      return false;
    std::optional<Step> step = affineOf(core_.value);
    if (!step || !step->a)
      return false;
    step->b = step->b ? step->b : number(0, wide);
    form_->types.assign(2, element);
    for (int k = 0; k < 4; ++k)
      form_->params.push_back(makeParam(wide));
    Node *zero = number(0, wide);
    form_->identity = {number(1, wide), zero};
    Node *a1 = form_->params[0], *b1 = form_->params[1], *a2 = form_->params[2], *b2 = form_->params[3];
    Node *factor = a2;
    if (isFloat(wide)) { // a long product that has overflowed says nothing of a state that is zero
      factor = select(elab_.makeCompare(arith::CmpIPredicate::eq, b1, zero, core_.loc), zero, a2);
      factor->intValue = 1; // kOfManySteps of ir/te/Marks.h
    }
    Node *next = nullptr;
    if (isFloat(wide)) {
      next = elab_.make(Node::Math, wide, core_.loc);
      next->callee = "fma";
      next->ops = {factor, b1, b2};
    } else {
      next = binary(Node::Add, binary(Node::Mul, factor, b1), b2);
    }
    form_->combined = {binary(Node::Mul, a1, a2), next};
    elements_ = {step->a, step->b};
    makeScan({true, true, false}, 1);
    return true;
  }

  Node *fieldOf(Node *scan, const Part &p) {
    Node *field = elab_.make(Node::Field, form_->params[p.first]->type, core_.loc);
    field->ops.push_back(scan);
    field->intValue = int64_t(p.first);
    return field;
  }

  struct Step {
    Node *a = nullptr, *b = nullptr; ///< a h + b; null: zero
  };

  Node *binary(Node::Kind kind, Node *x, Node *y) {
    Node *n = elab_.make(kind, x->type, core_.loc);
    n->ops = {x, y};
    return n;
  }
  Node *select(Node *condition, Node *x, Node *y) {
    Node *n = elab_.make(Node::Select, x->type, core_.loc);
    n->ops = {condition, x, y};
    return n;
  }
  Node *number(int v, Ty type) {
    return type == Ty::Bool ? elab_.makeBool(v, core_.loc)
           : isFloat(type)  ? elab_.makeFloat(v, type, core_.loc)
                            : elab_.makeInt(v, type, core_.loc);
  }
  Node *negated(Node *n) {
    if (!n)
      return nullptr;
    Node *m = elab_.make(Node::Neg, n->type, core_.loc);
    m->ops.push_back(n);
    return m;
  }
  Node *sum(Node *x, Node *y) { return !x ? y : !y ? x : binary(Node::Add, x, y); }

  /// `n` as a step; nothing where it is none.
  std::optional<Step> affineOf(Node *n) {
    if (isOwn(n)) {
      auto [isThere, before] = whereThere(n);
      Node *zero = number(0, n->type), *one = number(1, n->type);
      if (before->isNumber(0)) // as the state that the scan starts from
        return Step{one, nullptr};
      return Step{select(isThere, one, zero), select(isThere, zero, before)};
    }
    if (!containsOwn(n))
      return Step{nullptr, n};
    if (n->kind == Node::Neg) {
      std::optional<Step> s = affineOf(n->ops[0]);
      return s ? std::optional(Step{negated(s->a), negated(s->b)}) : std::nullopt;
    }
    if (n->kind == Node::Select && !containsOwn(n->ops[0])) {
      std::optional<Step> x = affineOf(n->ops[1]), y = affineOf(n->ops[2]);
      if (!x || !y)
        return std::nullopt;
      auto choose = [&](Node *p, Node *q) { return select(n->ops[0], p ? p : number(0, n->type), q ? q : number(0, n->type)); };
      return Step{choose(x->a, y->a), choose(x->b, y->b)};
    }
    bool isDivision = n->kind == Node::Div && !containsOwn(n->ops[1]);
    if (n->kind != Node::Add && n->kind != Node::Sub && n->kind != Node::Mul && !isDivision)
      return std::nullopt;
    std::optional<Step> x = affineOf(n->ops[0]), y = affineOf(n->ops[1]);
    if (!x || !y)
      return std::nullopt;
    if (n->kind == Node::Add)
      return Step{sum(x->a, y->a), sum(x->b, y->b)};
    if (n->kind == Node::Sub)
      return Step{sum(x->a, negated(y->a)), sum(x->b, negated(y->b))};
    if (x->a && y->a)
      return std::nullopt;
    const Step &scaled = x->a ? *x : *y;
    Node *by = x->a ? y->b : x->b;
    auto scale = [&](Node *p) { return !p ? nullptr : n->kind == Node::Mul && p->isNumber(1) ? by : binary(n->kind, p, by); };
    return Step{scale(scaled.a), scale(scaled.b)};
  }

  Node *makeScan(Laws laws, int field) {
    Node *n = elab_.make(Node::Reduce, form_->params[0]->type, core_.loc);
    n->reducer = form_;
    n->laws = laws;
    n->scanned = along_;
    n->isReverse = isReverse_;
    n->intValue = field;
    n->ops.append(elements_.begin(), elements_.end());
    core_.value = n;
    return n;
  }

  bool isOwn(Node *n) { return n->kind == Node::Read && n->readsOwn && partOf(n); }
  Part *partOf(Node *read) {
    auto it = llvm::find_if(parts_, [&](Part &p) { return p.tensor == read->tensor; });
    return it == parts_.end() ? nullptr : &*it;
  }

  Node *makeParam(Ty type) {
    Node *p = elab_.make(Node::Param, type, core_.loc);
    p->intValue = int64_t(form_->params.size());
    p->castTo = elementOf(type);
    return p;
  }

  /// How many steps before its own element a read goes, for each; along which index, and in which direction.
  bool findSteps() {
    bool ok = true;
    for (Part &p : parts_)
      walk(p.value, [&](Node *n) {
        if (n->kind == Node::Reduce)
          ok = ok && !containsOwn(n);
        else if (ok && isOwn(n))
          ok = (n->bounds == te::BoundsMode::InBounds || n->bounds == te::BoundsMode::Pad) && (findStep(n) || isOfThisStep(n, p));
      });
    return ok && along_;
  }

  /// A field of the same element that stands before.
  bool isOfThisStep(Node *read, const Part &reader) {
    for (auto [left, right] : llvm::zip(core_.subscripts, read->ops))
      if (!left->affine || !right->affine || left->affine != right->affine)
        return false;
    lags_[read] = 0;
    return partOf(read) < &reader;
  }

  bool findStep(Node *n) {
    IndexVar *along = nullptr;
    int64_t step = 0;
    for (auto [left, right] : llvm::zip(core_.subscripts, n->ops)) {
      AffineExpr gap;
      if (left->affine && right->affine)
        gap = simplifyAffineExpr(left->affine - right->affine, kernel_.indices.size(), kernel_.sizes.size());
      auto number = dyn_cast_or_null<AffineConstantExpr>(gap);
      if (!number)
        return false;
      if (number.getValue() == 0)
        continue;
      auto index = dyn_cast<AffineDimExpr>(left->affine);
      if (!index || along)
        return false;
      along = &kernel_.indices[index.getPosition()];
      step = number.getValue();
    }
    if (!along || (along_ && (along_ != along || isReverse_ != (step < 0))))
      return false;
    along_ = along;
    isReverse_ = step < 0;
    lags_[n] = std::abs(step);
    steps_ = std::max(steps_, lags_[n]);
    Part *part = partOf(n);
    part->steps = std::max(part->steps, lags_[n]);
    return lags_[n] <= kMostSteps;
  }

  bool containsOwn(Node *root) {
    auto known = contains_.find(root);
    if (known != contains_.end())
      return known->second;
    bool found = false;
    walk(root, [&](Node *n) { found |= isOwn(n); });
    return contains_[root] = found;
  }

  /// `n` over the state and elements.
  Node *rewrite(Node *n) {
    if (n->isConst() || n->kind == Node::Param)
      return n;
    if (Node *done = done_.lookup(n))
      return done;
    Node *result = nullptr;
    if (isOwn(n)) {
      result = readState(n);
    } else if (!containsOwn(n)) {
      result = addElement(n);
    } else {
      result = elab_.make(n->kind, n->type, n->loc);
      *result = *n;
      for (Node *&o : result->ops)
        o = rewrite(o);
    }
    return done_[n] = result;
  }

  Node *addElement(Node *n) {
    elements_.push_back(n);
    Node *p = makeParam(n->type);
    p->narrow = n->narrow;
    form_->params.push_back(p);
    return p;
  }

  /// Whether there has been a step for a read of the own tensor, and what it gives where there has been none: its padding, or what
  /// an earlier statement has defined.
  std::pair<Node *, Node *> whereThere(Node *n) {
    int64_t lag = lags_[n];
    AffineExpr t = getAffineDimExpr(along_->id, elab_.context());
    AffineExpr first = along_->lo, last = along_->hi() - 1;
    Node *at = elab_.makeAffine(isReverse_ ? t + lag : t - lag, n->loc), *end = elab_.makeAffine(isReverse_ ? last : first, n->loc);
    Node *isThere = elab_.makeCompare(isReverse_ ? arith::CmpIPredicate::sle : arith::CmpIPredicate::sge, at, end, n->loc);
    if (own_->kind != Tensor::Output || !own_->isPartlyDefined)
      return {isThere, n->padding ? elab_.convert(n->padding, n->type) : number(0, n->type)};
    Node *before = elab_.make(Node::Read, n->type, n->loc); // it lies in memory
    *before = *n;
    before->readsOwn = false;
    readBehind(before, isReverse_ ? last + 1 : first - 1);
    return {isThere, before};
  }

  /// What a read gives: the state, as far as there has been a step.
  Node *readState(Node *n) {
    const Part &part = *partOf(n);
    if (lags_[n] == 0)
      return part.next;
    auto [isThere, before] = whereThere(n);
    return select(addElement(isThere), form_->params[part.first + size_t(lags_[n] - 1)], before->isConst() ? before : addElement(before));
  }

  /// Keeps what `read` takes of memory, whatever the step, outside of what this statement defines: up to `edge`.
  void readBehind(Node *read, AffineExpr edge) {
    for (auto [left, subscript] : llvm::zip(core_.subscripts, read->ops)) {
      if (left->affine != getAffineDimExpr(along_->id, elab_.context()))
        continue;
      Node *bound = elab_.makeAffine(edge, read->loc), *nearest = elab_.make(isReverse_ ? Node::Max : Node::Min, Ty::I64, read->loc);
      nearest->ops = {subscript, bound};
      nearest->pureIndex = true;
      subscript = nearest;
    }
    read->regionSubscripts = true;
    read->bounds = te::BoundsMode::Pad; // (where there is nothing before the first step nobody asks)
    read->padding = number(0, read->type);
  }

  Kernel &kernel_;
  Elaborator &elab_;
  CoreStatement &core_;
  Tensor *own_;
  bool isTuple_;
  SmallVector<Part, 2> parts_;
  ReducerForm *form_ = nullptr;
  IndexVar *along_ = nullptr;
  bool isReverse_ = false;
  int64_t steps_ = 0;
  llvm::DenseMap<Node *, int64_t> lags_;
  llvm::DenseMap<Node *, bool> contains_;
  llvm::DenseMap<Node *, Node *> done_;
  SmallVector<Node *> elements_;
};

} // namespace

bool Sema::readsOwn(CoreStatement &core) { return RecurrenceMaker(kernel, elab, core).isOne(); }

bool Sema::makeRecurrence(CoreStatement &core) {
  RecurrenceMaker maker(kernel, elab, core);
  return maker.isFold() ? maker.run(core.target->element, ("'" + core.target->name + "'").str()) : orderPoints(core);
}

bool Sema::makeTupleRecurrence(CoreStatement &core) {
  RecurrenceMaker maker(kernel, elab, core);
  if (maker.isFold())
    return maker.runTuple();
  diags.error(core.loc) << "the fields of '" << core.target->name
                        << "' read each other where no fixed number of steps before one index is; each reads fields that stand before its "
                           "own of the same element, and all fields of elements at most 16 steps before, as in '"
                        << core.target->name << ".pad(0)[t - 1].x'";
  return false;
}

} // namespace kernelc::frontend
