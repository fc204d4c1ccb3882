// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order in which a statement defines its elements, where it reads what it has defined itself at more than a fixed number of steps
// along one index: triangular solves, tables of two indices, states that each step needs all of. See Sema.h.
//
//   x[i] = (b[i] - sum[j, j < i](l[i, j] * x[j])) / l[i, i]                along i
//   y[i, j] = y.pad(0)[i - 1, j] + y.pad(0)[i, j - 1] + x[i, j]            along i + j
//
// A step is a sum of indices, each times a small number, so that every element which is read has a smaller one: proved for all sizes
// from the ranges and conditions around each read. Elements of one step, and indices that all reads keep, need nothing of each other.
#include "frontend/Sema.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

constexpr size_t kMostIndices = 4; ///< that a step may be made of
constexpr int64_t kMostTimes = 2;  ///< an index in a step
constexpr size_t kMostRegions = 4; ///< statements of the same output that are told apart

class OrderFinder {
public:
  OrderFinder(Diagnostics &diags, Kernel &kernel, CoreStatement &core, ArrayRef<CoreStatement> before)
      : diags_(diags), kernel_(kernel), core_(core), before_(before), own_(core.target), context_(&diags.getContext()) {}

  /// Fills core.order; false after an error.
  bool run() {
    if (!checkReductions() || !checkConditions() || !checkLeft())
      return false;
    llvm::stable_sort(core_.ownReads, [](const OwnRead &a, const OwnRead &b) { return a.read->loc.offset < b.read->loc.offset; });
    for (OwnRead &r : core_.ownReads)
      if (!takeRead(r))
        return false;
    OrderForm order;
    SmallVector<size_t> rest;
    for (auto [v, var] : llvm::enumerate(core_.vars))
      if (llvm::all_of(reads_, [&](Read &r) { return isZero(r.gap[v]); }))
        order.free.push_back(var);
      else
        rest.push_back(v);
    if (rest.size() > kMostIndices)
      return refuse(core_.ownReads.front().read, "along more than " + llvm::Twine(kMostIndices) + " indices");
    if (!findStep(rest, order))
      return false;
    for (Read &r : reads_)
      if (!isDefined(r))
        return refuse(r.node, "nothing proves that this element is defined by this statement or one before it");
    core_.order = std::move(order);
    return true;
  }

private:
  struct Read {
    Node *node;
    Prover known;
    SmallVector<AffineExpr> at;  ///< the indices of the point that defines what is read
    SmallVector<AffineExpr> gap; ///< how far each is before the point that reads
  };

  bool refuse(Node *read, const llvm::Twine &why) {
    diags_.error(read->loc) << "'" << own_->name << "' is read where its own statement defines it, and " << why;
    return false;
  }
  bool refuseOwnElement(Node *read) {
    auto d = diags_.error(read->loc);
    if (own_->kind == Tensor::Output)
      d << "output '" << own_->name << "' is read before its statements have defined it; name what they need with 'let', or declare '"
        << own_->name << "' an 'inout' parameter to read what memory holds";
    else
      d << "'" << own_->name << "' is read at the very element that its 'let' defines";
    return false;
  }
  bool isZero(AffineExpr e) { return e == getAffineConstantExpr(0, context_); }
  AffineExpr simplify(AffineExpr e) { return simplifyAffineExpr(e, kernel_.indices.size(), kernel_.sizes.size()); }
  AffineExpr dimOf(IndexVar *v) { return getAffineDimExpr(v->id, context_); }

  static bool containsOwn(Node *root, Tensor *own) {
    bool found = false;
    walk(root, [&](Node *n) { found |= n->kind == Node::Read && n->tensor == own && n->readsOwn; });
    return found;
  }

  /// What is reduced over elements defined so far is so by a named reduction, and in others only where that comes to the same for all
  /// of their terms.
  bool checkReductions() {
    bool ok = true;
    walk(core_.value, [&](Node *n) {
      if (!ok || n->kind != Node::Reduce || !containsOwn(n, own_))
        return;
      if (n->reducer || n->givesPosition()) {
        diags_.error(n->loc) << "a recurrence reduces what it has defined so far by a named reduction, such as 'sum' and 'max', and not by "
                             << (n->reducer ? "a reducer of the program" : "position");
        ok = false;
      }
      for (Node *o : n->ops)
        walk(o, [&](Node *inner) {
          if (ok && inner->kind == Node::Reduce && containsOwn(inner, own_) && !usedOuter(inner, n->vars).empty()) {
            diags_.error(inner->loc) << "a recurrence reduces what it has defined so far in one bracket, or by what is the same for all "
                                        "terms of another one; write 'sum[j, k](..)' for a sum of sums";
            ok = false;
          }
        });
    });
    return ok;
  }

  bool checkConditions() {
    SmallVector<Constraint> affine;
    SmallVector<Node *> data;
    for (Node *c : core_.conditions)
      splitCondition(c, affine, data);
    if (data.empty())
      return true;
    diags_.error(data.front()->loc) << "a recurrence takes conditions on indices and sizes behind 'where'; data chooses by 'a if c else b'";
    return false;
  }

  /// Which index each subscript on the left is, beside what sizes add.
  std::optional<SmallVector<std::optional<size_t>>> indicesOf(const CoreStatement &s) {
    SmallVector<std::optional<size_t>> of;
    for (Node *sub : s.subscripts) {
      std::optional<size_t> found;
      if (!sub->affine)
        return std::nullopt;
      for (auto [v, var] : llvm::enumerate(s.vars))
        if (sub->affine.isFunctionOfDim(var->id)) {
          AffineExpr rest = simplify(sub->affine - dimOf(var));
          if (found || rest.isFunctionOfDim(var->id))
            return std::nullopt;
          found = v;
        }
      of.push_back(found);
    }
    return of;
  }

  bool checkLeft() {
    auto of = indicesOf(core_);
    SmallVector<bool> named(core_.vars.size());
    for (std::optional<size_t> v : of.value_or(SmallVector<std::optional<size_t>>()))
      if (v && !named[*v])
        named[*v] = true;
      else if (v)
        of.reset();
    if (of && !llvm::is_contained(named, false)) {
      left_ = *of;
      return true;
    }
    diags_.error(core_.loc) << "a recurrence has an index of its own in each subscript on the left, as in '" << own_->name << "["
                            << exampleIndices(own_->dims.size()) << "]'";
    return false;
  }

  /// A variable for the place along dim `d` of a read whose subscript comes from data; the order has to follow from the other dims.
  AffineExpr placeOfData(Node *read, unsigned d, Prover &known) {
    IndexVar &place = kernel_.indices.emplace_back();
    place.id = kernel_.indices.size() - 1;
    place.name = "place";
    place.loc = read->loc;
    AffineExpr at = getAffineDimExpr(place.id, context_);
    known.assume(at);
    known.assume(own_->dims[d] - 1 - at);
    places_[{read, d}] = at;
    return at;
  }
  /// The form of subscript `d` of a read.
  AffineExpr formOf(Node *read, size_t d) {
    Node *sub = read->ops[d];
    return sub->affine ? sub->affine : places_.lookup({read, unsigned(d)});
  }

  bool takeRead(OwnRead &r) {
    Node *n = r.read;
    if (n->bounds != te::BoundsMode::InBounds && n->bounds != te::BoundsMode::Pad)
      return refuse(n, "by a bounds form other than '.pad(v)'");
    Read read{n, r.known, {}, {}};
    read.at.resize(core_.vars.size());
    for (auto [d, sub] : llvm::enumerate(n->ops)) {
      if (!sub->affine) { // anywhere in the dim
        AffineExpr place = placeOfData(n, d, read.known);
        if (std::optional<size_t> v = left_[d])
          read.at[*v] = simplify(place - core_.subscripts[d]->affine + dimOf(core_.vars[*v]));
        continue;
      }
      if (n->bounds == te::BoundsMode::Pad) { // outside there is the padding
        read.known.assume(sub->affine);
        read.known.assume(own_->dims[d] - 1 - sub->affine);
      }
      if (std::optional<size_t> v = left_[d])
        read.at[*v] = simplify(sub->affine - core_.subscripts[d]->affine + dimOf(core_.vars[*v]));
    }
    for (auto [v, var] : llvm::enumerate(core_.vars))
      read.gap.push_back(simplify(dimOf(var) - read.at[v]));
    if (llvm::all_of(read.gap, [&](AffineExpr e) { return isZero(e); }))
      return refuseOwnElement(n);
    reads_.push_back(std::move(read));
    return true;
  }

  /// How often a step may count an index; where statements take steps in turns, a step of the text is as many.
  SmallVector<int64_t> timesOfIndex() {
    SmallVector<int64_t> times;
    for (int64_t f = -kMostTimes; f <= kMostTimes; ++f)
      for (int64_t unit : {int64_t(1), core_.phases})
        if (!llvm::is_contained(times, f * unit))
          times.push_back(f * unit);
    llvm::sort(times);
    return times;
  }

  /// Fewer indices first, then smaller numbers, then as the text has them: an index alone has the fewest steps.
  bool findStep(ArrayRef<size_t> rest, OrderForm &order) {
    SmallVector<SmallVector<int64_t>> candidates{{}};
    for (size_t k = 0; k < rest.size(); ++k) {
      SmallVector<SmallVector<int64_t>> longer;
      for (SmallVector<int64_t> &c : candidates)
        for (int64_t f : timesOfIndex()) {
          longer.push_back(c);
          longer.back().push_back(f);
        }
      candidates = std::move(longer);
    }
    auto weight = [](const SmallVector<int64_t> &c) {
      int64_t indices = 0, times = 0, back = 0;
      for (int64_t f : c) {
        indices += f != 0;
        times += std::abs(f);
        back += f < 0;
      }
      return std::tuple(indices, times, back);
    };
    llvm::erase_if(candidates, [](const SmallVector<int64_t> &c) { // (one index is counted once, and one is told from the others)
      bool one = llvm::any_of(c, [](int64_t f) { return f == 1 || f == -1; });
      return !one ||
             (llvm::count_if(c, [](int64_t f) { return f != 0; }) == 1 && llvm::any_of(c, [](int64_t f) { return std::abs(f) > 1; }));
    });
    llvm::stable_sort(candidates, [&](auto &a, auto &b) { return weight(a) < weight(b); });
    size_t most = 0; // reads that an order has proved before one that it has not
    for (const SmallVector<int64_t> &c : candidates) {
      size_t proved = 0;
      for (Read &r : reads_) {
        AffineExpr gap = getAffineConstantExpr(-1, context_);
        for (auto [v, f] : llvm::zip(rest, c))
          gap = gap + r.gap[v] * f;
        if (!Prover(r.known).proves(simplify(gap)))
          break;
        ++proved;
      }
      most = std::max(most, proved);
      if (proved < reads_.size())
        continue;
      for (auto [v, f] : llvm::zip(rest, c))
        order.rest.push_back({core_.vars[v], f});
      return true;
    }
    std::string names;
    for (size_t v : rest)
      names += (names.empty() ? "'" : ", '") + core_.vars[v]->name.str() + "'";
    auto d = diags_.error(reads_[most < reads_.size() ? most : 0].node->loc);
    d << "'" << own_->name << "' is read where its own statement defines it, and no order of " << names
      << " is proved to have each element behind those that it reads; it may read elements that come before its own, as in '" << own_->name
      << "[i - 1]', or 'sum[j, j < i](" << own_->name << "[j])' for element i";
    return false;
  }

  /// Constraints on the element of `read` that say that `s` defines it; nothing where they are not known.
  std::optional<SmallVector<Constraint>> regionOf(const CoreStatement &s, Node *read) {
    auto of = indicesOf(s);
    SmallVector<Constraint> all;
    SmallVector<Node *> data;
    llvm::DenseMap<AffineExpr, AffineExpr> at;
    if (!of || s.scatter)
      return std::nullopt;
    for (auto [d, v] : llvm::enumerate(*of)) {
      AffineExpr sub = formOf(read, d), left = s.subscripts[d]->affine;
      if (!v) {
        all.push_back({simplify(sub - left), true});
        continue;
      }
      IndexVar *var = s.vars[*v];
      AffineExpr place = simplify(sub - left + dimOf(var));
      if (auto [known, isNew] = at.try_emplace(dimOf(var), place); !isNew) {
        all.push_back({simplify(place - known->second), true});
        continue;
      }
      all.push_back({place - var->lo});
      all.push_back({var->hi() - 1 - place});
    }
    if (at.size() != s.vars.size())
      return std::nullopt;
    size_t ranges = all.size();
    for (Node *c : s.conditions)
      splitCondition(c, all, data);
    for (Constraint &c : MutableArrayRef(all).drop_front(ranges))
      c.expr = c.expr.replace(at);
    return data.empty() ? std::optional(all) : std::nullopt;
  }

  /// Whether what a read names is defined by one of the statements, whichever.
  bool isDefined(Read &r) {
    SmallVector<SmallVector<Constraint>> regions;
    if (auto own = regionOf(core_, r.node))
      regions.push_back(*own);
    for (const CoreStatement &s : before_)
      if (s.target == own_ && regions.size() < kMostRegions)
        if (auto other = regionOf(s, r.node))
          regions.push_back(*other);
    return isCovered(r.known, regions);
  }

  /// Whether no point that is `known` lies outside all of the regions.
  bool isCovered(const Prover &known, ArrayRef<SmallVector<Constraint>> regions) {
    if (regions.empty())
      return Prover(known).contradictory();
    auto failsOnlyInside = [&](AffineExpr e) { // where e >= 0 does not hold, the others do
      if (Prover(known).proves(e))
        return true;
      Prover outside = known;
      outside.assume(-e - 1);
      return isCovered(outside, regions.drop_front());
    };
    return llvm::all_of(regions.front(),
                        [&](const Constraint &c) { return failsOnlyInside(c.expr) && (!c.isEq || failsOnlyInside(-c.expr)); });
  }

  Diagnostics &diags_;
  Kernel &kernel_;
  CoreStatement &core_;
  ArrayRef<CoreStatement> before_;
  Tensor *own_;
  MLIRContext *context_;
  SmallVector<std::optional<size_t>> left_;
  std::vector<Read> reads_;
  llvm::DenseMap<std::pair<Node *, unsigned>, AffineExpr> places_; ///< of subscripts that are data
};

} // namespace

bool Sema::orderPoints(CoreStatement &core) { return OrderFinder(diags, kernel, core, statements).run(); }

} // namespace kernelc::frontend
