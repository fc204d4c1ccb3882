// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How far a let goes whose own text does not say so: as far as the statements behind it read it.
//
//   let n[i] = sum[r in 0:3](x.wrap[i + r - 1])      i in 0:H
//   y[i] = n[i]                                      y: f32[H]
//
// Read off the text, before those statements are checked: a subscript's largest value, by the ranges that its names have there (in a
// bracket, behind 'where', as a dim of an output or of a parameter). Whether all accesses stay inside is proved of each as ever.
#include "frontend/Sema.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

constexpr unsigned kMostNested = 8; ///< lets read by lets

class ReaderRanges {
public:
  ReaderRanges(const Definition &def, std::deque<Expr> &made, llvm::function_ref<bool(StringRef)> isNumber)
      : def_(def), made_(made), isNumber_(isNumber) {}

  /// Ends of the ranges that readers of `let` behind it ask for, of its index `position`.
  SmallVector<Expr *> endsOf(const Statement &let, size_t position, unsigned depth = 0) {
    SmallVector<Expr *> ends;
    if (depth > kMostNested)
      return ends;
    for (const Statement &s : def_.body) {
      if (s.loc.offset <= let.loc.offset)
        continue;
      reader_ = &s;
      depth_ = depth;
      brackets_.clear();
      collect(s.value, let.target, position, ends);
      for (const BracketItem &item : s.where)
        collect(item.expr, let.target, position, ends);
      for (const Expr *sub : s.subscripts)
        collect(sub, let.target, position, ends);
    }
    return ends;
  }

private:
  struct Ends {
    Expr *first, *last; ///< both included
  };

  void collect(const Expr *e, StringRef name, size_t position, SmallVectorImpl<Expr *> &ends) {
    if (!e)
      return;
    size_t open = brackets_.size();
    for (const BracketItem &item : e->kind == Expr::Call ? ArrayRef<BracketItem>(e->items) : ArrayRef<BracketItem>())
      brackets_.push_back(&item);
    if (e->kind == Expr::Access && e->text == name && e->mode.empty() && position < e->args.size())
      if (std::optional<Ends> range = rangeOf(e->args[position]))
        ends.push_back(sum(range->last, number("1", e->loc), Tok::Plus));
    for (const Expr *a : e->args)
      collect(a, name, position, ends);
    for (const NamedArg &a : e->named)
      collect(a.value, name, position, ends);
    for (const BracketItem &item : e->kind == Expr::Call ? ArrayRef<BracketItem>(e->items) : ArrayRef<BracketItem>())
      collect(item.expr, name, position, ends);
    brackets_.resize(open);
  }

  Expr *make(Expr::Kind kind, Loc loc) {
    Expr &e = made_.emplace_back();
    e.kind = kind;
    e.loc = loc;
    return &e;
  }
  Expr *number(StringRef text, Loc loc) {
    Expr *e = make(Expr::Integer, loc);
    e->text = text;
    return e;
  }
  Expr *sum(Expr *a, Expr *b, Tok op) {
    Expr *e = make(Expr::Chain, a->loc);
    e->args = {a, b};
    e->ops = {op};
    e->opLocs = {a->loc};
    return e;
  }

  /// From the first to the last value of a subscript; nothing where its text does not say.
  std::optional<Ends> rangeOf(const Expr *e) {
    if (e->kind == Expr::Integer)
      return Ends{const_cast<Expr *>(e), const_cast<Expr *>(e)};
    if (e->kind == Expr::Name)
      return isNumber_(e->text) ? std::optional(Ends{const_cast<Expr *>(e), const_cast<Expr *>(e)}) : rangeOfIndex(e);
    if (e->kind != Expr::Chain)
      return std::nullopt;
    std::optional<Ends> all = rangeOf(e->args[0]);
    for (size_t n = 1; all && n < e->args.size(); ++n) {
      std::optional<Ends> next = rangeOf(e->args[n]);
      Tok op = e->ops[n - 1];
      if (!next || (op != Tok::Plus && op != Tok::Minus && op != Tok::Star))
        return std::nullopt;
      if (op == Tok::Star && next->first != next->last && all->first != all->last)
        return std::nullopt; // (of a number and an index both ends rise with the index: sizes and numbers are not negative)
      bool turns = op == Tok::Minus;
      all = Ends{sum(all->first, turns ? next->last : next->first, op), sum(all->last, turns ? next->first : next->last, op)};
    }
    return all;
  }

  std::optional<Ends> endsBelow(Expr *lo, Expr *hi) { return Ends{lo, sum(hi, number("1", hi->loc), Tok::Minus)}; }

  std::optional<Ends> rangeOfIndex(const Expr *name) {
    auto isIt = [&](const Expr *e) { return e && e->kind == Expr::Name && e->text == name->text; };
    for (const BracketItem *item : llvm::reverse(brackets_))
      if (isIt(item->expr))
        return item->lo && item->hi ? endsBelow(item->lo, item->hi) : ofAccesses(name, reader_->value);
    for (const BracketItem &item : reader_->where)
      if (isIt(item.expr) && item.lo && item.hi)
        return endsBelow(item.lo, item.hi);
    for (auto [position, sub] : llvm::enumerate(reader_->subscripts))
      if (isIt(sub)) {
        if (reader_->kind == Statement::Assign)
          return ofParam(reader_->target, position, name->loc);
        const Statement *own = reader_; // a let's index goes as far as its own text or its readers say
        if (std::optional<Ends> found = ofAccesses(name, own->value))
          return found;
        ReaderRanges inner(def_, made_, isNumber_);
        SmallVector<Expr *> ends = inner.endsOf(*own, position, depth_ + 1);
        return ends.empty() ? std::nullopt : endsBelow(number("0", name->loc), ends.front());
      }
    return ofAccesses(name, reader_->value);
  }

  std::optional<Ends> ofParam(StringRef tensor, size_t position, Loc loc) {
    for (const std::vector<Param> *list : {&def_.params, &def_.outputs})
      for (const Param &p : *list)
        if (p.name == tensor && position < p.type.dims.size())
          return endsBelow(number("0", loc), p.type.dims[position]);
    return std::nullopt;
  }

  /// Where the name stands alone in a subscript of a parameter.
  std::optional<Ends> ofAccesses(const Expr *name, const Expr *e) {
    if (!e)
      return std::nullopt;
    if (e->kind == Expr::Access)
      for (auto [position, sub] : llvm::enumerate(e->args))
        if (sub->kind == Expr::Name && sub->text == name->text)
          if (std::optional<Ends> found = ofParam(e->text, position, name->loc))
            return found;
    for (const Expr *a : e->args)
      if (std::optional<Ends> found = ofAccesses(name, a))
        return found;
    for (const NamedArg &a : e->named)
      if (std::optional<Ends> found = ofAccesses(name, a.value))
        return found;
    return std::nullopt;
  }

  const Definition &def_;
  std::deque<Expr> &made_;
  llvm::function_ref<bool(StringRef)> isNumber_;
  const Statement *reader_ = nullptr;
  unsigned depth_ = 0;
  SmallVector<const BracketItem *> brackets_;
};

} // namespace

AffineExpr Sema::extentFromReaders(const Statement &let, size_t position) {
  auto isNumber = [&](StringRef name) { return elab.sizeIndex.contains(name) || elab.constValues.contains(name); };
  SmallVector<AffineExpr> extents;
  if (llvm::any_of(let.subscripts, [](const Expr *sub) { return sub->kind != Expr::Name; }))
    return {}; // a subscript of the readers is no index of it
  for (Expr *end : ReaderRanges(*kernel.def, grouped, isNumber).endsOf(let, position)) {
    Node *n = elab.elaborate(end, elab.openStatement());
    bool isKnown = n && n->affine;
    if (isKnown)
      n->affine.walk([&](AffineExpr x) { isKnown &= !isa<AffineDimExpr>(x); });
    if (!isKnown)
      return {};
    extents.push_back(simplifyAffineExpr(n->affine, 0, kernel.sizes.size()));
  }
  for (AffineExpr e : extents) // as far as the reader that goes farthest
    if (llvm::all_of(extents, [&](AffineExpr o) { return o == e || Prover(prover).proves(e - o); }))
      return e;
  return {};
}

} // namespace kernelc::frontend
