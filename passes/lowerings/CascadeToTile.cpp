// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cascades as tile values. A round of a block's loop takes one tile of points. Where moving a state to new values of the
// earlier components takes arithmetic (exponentials, divisions), the block has one state: each round reduces the tile's terms,
// component by component, and moves the state once. Where moving is only choosing (key and position), each point of a
// tile has a state of its own, and all of them meet at the end. A component that is a product has its sum in a unit's
// accumulators, which are moved before each round's dot.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/tile/AbsentMark.h"
#include "ir/tile/Marks.h"
#include "passes/analysis/CascadeMasks.h"
#include "passes/analysis/Reduction.h"
#include "passes/lowerings/PointCount.h"
#include "support/Target.h"

using namespace mlir;

namespace kernelc {

using namespace te;

namespace {

/// One cascade of a launch on its way.
class CascadeEmitter {
public:
  using Values = SmallVector<Value>;
  using Loops = llvm::function_ref<Values(Values, llvm::function_ref<Values(Values)>)>;
  using Merge = llvm::function_ref<Value(Combiner, Value)>;
  using Bind = llvm::function_ref<void(BodyToTiles &)>;
  using Where = llvm::function_ref<Value(Value, BodyToTiles &)>;
  /// Component k's state and a round of its product; null after a diagnostic. Null for a component that is no product.
  using Round = std::function<Value(BodyToTiles &, Value)>;

  /// `bind`: gives a body the values of the op's that stand as tiles already. `where`: evaluates a condition on data. `lag`: how large,
  /// as an exponent of two, terms may get before the first component moves. `mayAsk`: a first round stands alone. `hasPoints`: every result
  /// has a point that counts. `marked`: what a product takes with a mark where there is no term.
  CascadeEmitter(OpBuilder &b, LaunchContext &context, CascadeOp op, ArrayRef<int64_t> dims, ArrayRef<Round> products, Bind bind,
                 Where where, std::optional<double> lag, bool mayAsk, bool hasPoints, Value marked, Location loc)
      : b_(b), c_(context), op_(op), dims_(dims), products_(products), bind_(bind), where_(where), loc_(loc),
        reduced_(dims.drop_front(op.getNumParallel())), hasPoints_(hasPoints), marked_(marked) {
    BodyToTiles shaper(b_, c_, op_, dims_);
    for (unsigned k = 0; k < op_.getNumComponents(); ++k) {
      SmallVector<int64_t> own = ownIndices(k);
      kept_.push_back(shaper.shapeOf(own));
      llvm::append_range(own, reduced_);
      full_.push_back(shaper.shapeOf(own));
    }
    sorted_ = llvm::to_vector(reduced_);
    llvm::sort(sorted_);
    oneState_ = llvm::any_of(products_, [](const Round &round) { return bool(round); });
    for (Operation &o : op_.getRescale().front().without_terminator())
      oneState_ |= isa<arith::DivFOp>(o) || o.getDialect()->getNamespace() == math::MathDialect::getDialectNamespace();
    if (lag && canLag())
      lag_ = lag;
    followed_ = mayAsk && lag_ ? findFollowedExponents(op_, hasPoints_) : std::nullopt;
    asksAbove_ = followed_.has_value();
  }

  /// The launch indices of component k's parallel dims.
  SmallVector<int64_t> ownIndices(unsigned k) {
    return llvm::map_to_vector(op_.getOwnDims(k), [&](unsigned d) { return dims_[d]; });
  }
  ArrayRef<int64_t> keptShape(unsigned k) { return kept_[k]; }

  /// What the components come to, or nothing after a diagnostic. `merge`, where the blocks of a cluster share the points
  /// out, combines what each of them has of a component.
  std::optional<Values> run(bool loops, Loops loopNest, Merge merge) {
    Values start;
    for (unsigned k = 0; loops && k < op_.getNumComponents(); ++k)
      start.push_back(identity(k, stateShape(k)));
    if (loops && lag_ && !asksAbove_)
      start.push_back(identity(0, stateShape(0)));
    Values states = loopNest(start, [&](Values carried) {
      Values next = addTile(carried);
      return ok_ ? next : carried;
    });
    if (!ok_)
      return std::nullopt;
    if (loops && lag_ && !asksAbove_)
      states = catchUp(states);
    Values finals = oneState_ && !merge ? states : meet(states, merge);
    return ok_ ? std::optional(finals) : std::nullopt;
  }

private:
  ArrayRef<int64_t> stateShape(unsigned k) { return oneState_ ? kept_[k] : full_[k]; }

  /// Component k by what it is: max_j, sum_j, product.
  Location at(unsigned k) {
    std::string name = products_[k] ? "product" : stringifyCombiner(op_.getComponentKind(k)).str();
    if (!products_[k])
      for (StringRef index : llvm::drop_begin(op_.getIndices().getAsValueRange<StringAttr>(), op_.getNumParallel()))
        name += "_" + index.str();
    return NameLoc::get(b_.getStringAttr(name), op_.getLoc());
  }

  Value identity(unsigned k, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, op_.getComponentType(k));
    TypedAttr value = identityOf(op_.getComponentKind(k), op_.getComponentType(k), b_);
    return arith::ConstantOp::create(b_, at(k), type, SplatElementsAttr::get(type, Attribute(value)));
  }

  /// -0, which adds nothing either: a product's operand has it where a condition excludes a point (LaunchEmitter::markedOperand), and what
  /// is summed beside it is chosen with it, once.
  Value absent(unsigned k) {
    auto type = RankedTensorType::get(full_[k], op_.getComponentType(k));
    return arith::ConstantOp::create(b_, at(k), type,
                                     SplatElementsAttr::get(type, Attribute(b_.getFloatAttr(type.getElementType(), tile::absentMark()))));
  }

  Value combine(unsigned k, Value a, Value b) {
    return tile::CombineOp::create(b_, at(k), b.getType(), op_.getComponentKind(k), ValueRange{a, b}).getResult(0);
  }

  Value reduce(unsigned k, Value tile) {
    SmallVector<Type> type{RankedTensorType::get(kept_[k], op_.getComponentType(k))};
    return tile::ReduceOp::create(b_, at(k), type, op_.getComponentKind(k), tile, sorted_).getResult(0);
  }

  /// A body that knows the components up to k of a state, and what those before it have moved to.
  BodyToTiles rescaling(ArrayRef<Value> state, ArrayRef<Value> moved, unsigned k) {
    unsigned n = op_.getNumComponents();
    Block &block = op_.getRescale().front();
    BodyToTiles body(b_, c_, op_, {});
    for (unsigned j = 0; j <= k; ++j)
      body.bind(block.getArgument(j), state[j]);
    for (unsigned j = 0; j < k; ++j)
      body.bind(block.getArgument(n + j), moved[j]);
    return body;
  }

  /// Component k of `state`, moved to the new values of the components before it.
  Value rescale(ArrayRef<Value> state, ArrayRef<Value> moved, unsigned k, ArrayRef<int64_t> shape) {
    BodyToTiles body = rescaling(state, moved, k);
    Value factor = lag_ && products_[k] ? factorOf(k) : Value(), v = body.evaluate(factor ? factor : op_.getRescaledValue(k));
    ok_ &= bool(v);
    if (!v)
      return state[k];
    v = body.broadcast(v, shape);
    if (Operation *moves = v.getDefiningOp(); !factor && moves && v != state[k] && cu::findName(moves->getLoc()).empty())
      moves->setLoc(at(k)); // it is the component still
    // A factor is mostly one.
    return factor ? tile::ScaleOp::create(b_, at(k), v.getType(), state[k], v).getResult() : v;
  }

  //===- A reference that lags -===//

  /// What component k is multiplied by when it moves; null where moving is something else.
  Value factorOf(unsigned k) {
    auto product = op_.getRescaledValue(k).getDefiningOp<arith::MulFOp>();
    return product && product.getLhs() == op_.getRescale().front().getArgument(k) ? product.getRhs() : Value();
  }

  /// The exponent of two that such a factor is, where it is not one.
  Value exponentOf(unsigned k) {
    SmallVector<Value> work{factorOf(k)};
    while (!work.empty()) {
      Operation *op = work.back() ? work.back().getDefiningOp() : nullptr;
      work.pop_back();
      if (auto power = dyn_cast_or_null<math::Exp2Op>(op))
        return power.getOperand();
      if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
        work.append({select.getTrueValue(), select.getFalseValue()});
    }
    return {};
  }

  /// Whether all but the first component are what they are whatever it has moved to, and products move by a power of two.
  bool canLag() {
    bool hasProduct = false;
    for (unsigned k = 1; k < op_.getNumComponents(); ++k)
      if (products_[k]) {
        hasProduct = true;
        if (!exponentOf(k))
          return false;
      }
    bool isExtreme = op_.getComponentKind(0) == Combiner::Max || op_.getComponentKind(0) == Combiner::Min;
    return hasProduct && !products_[0] && isExtreme;
  }

  /// The first component after one more tile: what it was, where products would hardly move. `all` becomes what it has come to by now.
  Value follow(ArrayRef<Value> carried, Value next, Value &all) {
    all = combine(0, all, next);
    Value keeps;
    for (unsigned k = 1; k < op_.getNumComponents(); ++k) {
      if (!products_[k])
        continue;
      BodyToTiles body = rescaling(carried, {next}, 1);
      Value exponent = body.evaluate(exponentOf(k));
      ok_ &= bool(exponent);
      if (!exponent)
        return next;
      exponent = body.broadcast(exponent, kept_[0]);
      auto type = cast<RankedTensorType>(exponent.getType());
      Attribute least = b_.getFloatAttr(type.getElementType(), -*lag_);
      Value bound = arith::ConstantOp::create(b_, loc_, type, SplatElementsAttr::get(type, least));
      keeps = body.conjunction(keeps, arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OGE, exponent, bound), loc_);
    }
    return arith::SelectOp::create(b_, loc_, keeps, carried[0], next);
  }

  /// The states at the end, moved to what the first component has come to.
  Values catchUp(const Values &states) {
    Values finals{states.back()};
    for (unsigned k = 1; k < op_.getNumComponents(); ++k)
      finals.push_back(rescale(states, finals, k, stateShape(k)));
    return finals;
  }

  //===- A reference that is only looked for where terms get large -===//

  Value splat(double number, ArrayRef<int64_t> shape) {
    auto type = RankedTensorType::get(shape, b_.getF32Type());
    return arith::ConstantOp::create(b_, loc_, type, SplatElementsAttr::get(type, Attribute(b_.getF32FloatAttr(float(number)))));
  }

  /// The first component after one more tile, where it moves only as terms would get larger than two to the `lag_` by it as it was: so
  /// nobody looks for the largest of them before. The exponents are what they are by it. (tile-skew-dots makes the first round exact.)
  Value followAbove(Value before, BodyToTiles &body, Value condition) {
    Value v = maskedTerms(0, op_.getElementValue(0), body, condition), c = body.evaluate(followed_->scale);
    if (!v || !c)
      return {};
    ArrayRef<int64_t> rows = kept_[0], points = full_[0];
    auto isNone = [&](Value x) -> Value {
      Value none = splat(-std::numeric_limits<double>::infinity(), rows);
      return arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::OEQ, x, none);
    };
    auto choose = [&](Value on, Value x, Value y) -> Value { return arith::SelectOp::create(b_, loc_, on, x, y); };
    Value ofRows = body.broadcast(c, rows), isNew = isNone(before), reference = choose(isNew, splat(0, rows), before);
    auto times = [&](Value x) -> Value { return arith::MulFOp::create(b_, loc_, x, ofRows); };
    Value exponents = exponentsBy(v, reference, c, body);
    auto [top, any] = largest(exponents, body.broadcast(isNew, points));
    Value above = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::UGT, top, splat(*lag_, rows));
    Value moves = arith::OrIOp::create(b_, loc_, any, above);
    Value inverse = arith::DivFOp::create(b_, loc_, splat(1, rows), ofRows);
    Value moved = math::FmaOp::create(b_, loc_, top, inverse, reference);
    Value next = choose(moves, moved, before), nextReference = choose(isNone(next), splat(0, rows), next);
    Value shift = isFused() ? arith::SubFOp::create(b_, loc_, times(nextReference), times(reference)).getResult()
                            : times(arith::SubFOp::create(b_, loc_, nextReference, reference));
    auto shifted = arith::SubFOp::create(b_, loc_, exponents, body.broadcast(shift, points));
    tile::kMostlyZero.putOn(shifted);
    for (Value exponent : followed_->exponents)
      body.bind(exponent, shifted);
    return next;
  }

  bool isFused() { return isa<math::FmaOp>(followed_->exponents.front().getDefiningOp()); }

  /// The exponents of terms `v` by a reference, written as the body has them.
  Value exponentsBy(Value v, Value reference, Value c, BodyToTiles &body) {
    ArrayRef<int64_t> rows = kept_[0], points = full_[0];
    Value ofPoints = body.broadcast(c, points);
    if (!isFused())
      return arith::MulFOp::create(b_, loc_, arith::SubFOp::create(b_, loc_, v, body.broadcast(reference, points)), ofPoints);
    Value lowered = arith::MulFOp::create(b_, loc_, reference, body.broadcast(c, rows));
    return math::FmaOp::create(b_, loc_, v, ofPoints, body.broadcast(arith::NegFOp::create(b_, loc_, lowered), points));
  }

  /// The largest of each row of `exponents`, and whether `isNew` holds, where either is asked.
  std::pair<Value, Value> largest(Value exponents, Value isNew) {
    SmallVector<Type> types{RankedTensorType::get(kept_[0], b_.getF32Type()), RankedTensorType::get(kept_[0], b_.getI1Type())};
    Attribute none = identityOf(Combiner::Max, b_.getF32Type(), b_);
    auto op = tile::ReduceOp::create(b_, at(0), types, Combiner::Custom, ValueRange{exponents, isNew}, sorted_,
                                     b_.getArrayAttr({none, b_.getBoolAttr(false)}));
    tile::kAskedAbove.putOn(op, int64_t(*lag_));
    OpBuilder::InsertionGuard guard(b_);
    Block &block = op.getCombine().emplaceBlock();
    for (Type type : {Type(b_.getF32Type()), Type(b_.getI1Type()), Type(b_.getF32Type()), Type(b_.getI1Type())})
      block.addArgument(type, loc_);
    b_.setInsertionPointToEnd(&block);
    Value most = te::combine(Combiner::Max, block.getArgument(0), block.getArgument(2), b_, loc_);
    Value either = arith::OrIOp::create(b_, loc_, block.getArgument(1), block.getArgument(3));
    tile::StateOp::create(b_, loc_, ValueRange{most, either});
    return {op.getResult(0), op.getResult(1)};
  }

  /// The states after one more tile; without `carried` it is the only one.
  Values addTile(ArrayRef<Value> carried) {
    BodyToTiles body(b_, c_, op_, dims_);
    bind_(body);
    Value condition = op_.getCondition() ? body.evaluateSet(*op_.getCondition(), loc_) : Value();
    if (op_.getYield().getCondition())
      condition = body.conjunction(condition, where_(op_.getYield().getCondition(), body), loc_);
    condition = body.conjunction(condition, body.inside(reduced_, loc_), loc_);
    Values next;
    Value all = lag_ && !asksAbove_ && !carried.empty() ? carried.back() : Value();
    for (unsigned k = 0; k < op_.getNumComponents() && ok_; ++k) {
      bool isReference = k == 0 && asksAbove_ && !carried.empty();
      Value moved = carried.empty() || isReference ? Value() : rescale(carried, next, k, stateShape(k));
      Value state = isReference    ? followAbove(carried[0], body, condition)
                    : products_[k] ? products_[k](body, moved ? moved : identity(k, kept_[k]))
                                   : addTerms(k, body, condition, moved);
      ok_ &= bool(state);
      if (ok_ && all && k == 0)
        state = follow(carried, state, all);
      if (!ok_)
        break;
      next.push_back(state);
      body.bind(op_.getBlock().getArgument(op_.getNumDims() + k), state);
    }
    if (all)
      next.push_back(all);
    return next;
  }

  /// Component k of the tile's points, combined with `moved`, what there was before it, if anything.
  Value addTerms(unsigned k, BodyToTiles &body, Value condition, Value moved) {
    Value term = termsOf(k, op_.getElementValue(k), body, condition);
    return term && moved ? combine(k, moved, term) : term;
  }

  /// The points that count of `element`, in one state for the tile where the block has one.
  Value termsOf(unsigned k, Value element, BodyToTiles &body, Value condition) {
    // A select whose condition is the same for all reduced points selects between the two reductions.
    auto select = element.getDefiningOp<arith::SelectOp>();
    if (select && oneState_ && findSupport(select.getCondition(), op_.getNumDims()).find_next(op_.getNumParallel() - 1) < 0) {
      Value choice = body.evaluate(select.getCondition());
      Value x = termsOf(k, select.getTrueValue(), body, condition), y = termsOf(k, select.getFalseValue(), body, condition);
      return choice && x && y ? arith::SelectOp::create(b_, loc_, body.broadcast(choice, kept_[k]), x, y).getResult() : Value();
    }
    if (Value sum = sumOfConstant(k, element, body))
      return sum;
    Value term = maskedTerms(k, element, body, condition);
    return term && oneState_ ? reduce(k, term) : term;
  }

  /// `element` at all points of the tile, neutral at those that do not count.
  Value maskedTerms(unsigned k, Value element, BodyToTiles &body, Value condition) {
    Value term = body.evaluate(element);
    if (!term)
      return term;
    term = body.broadcast(term, full_[k]);
    if (condition && !body.isZeroOutside(element)) {
      Location masked = NameLoc::get(b_.getStringAttr("masked"), op_.getLoc());
      Value neutral = marked_ == element && op_.getComponentKind(k) == Combiner::Sum ? absent(k) : identity(k, full_[k]);
      term = arith::SelectOp::create(b_, masked, body.broadcast(condition, full_[k]), term, neutral);
      if (k == 0 && oneState_)
        bindExcluded(element, term, body);
    }
    return term;
  }

  /// What a number comes to that each point adds: as often as points count, without a walk where bounds say how many. Null elsewhere.
  Value sumOfConstant(unsigned k, Value element, BodyToTiles &body) {
    FloatAttr number;
    if (!oneState_ || op_.getComponentKind(k) != Combiner::Sum || !matchPattern(element, m_Constant(&number)))
      return {};
    bool isFinite = number.getValue().isFinite();
    Value points = countPoints(b_, c_, op_, dims_, body, /*isAny=*/!isFinite, cu::unnamed(loc_));
    if (!points)
      return {};
    points = body.broadcast(points, kept_[k]);
    auto type = RankedTensorType::get(kept_[k], number.getType());
    Value each = arith::ConstantOp::create(b_, at(k), type, SplatElementsAttr::get(type, Attribute(number)));
    if (!isFinite)
      return arith::SelectOp::create(b_, at(k), points, each, identity(k, kept_[k]));
    Value n = arith::IndexCastOp::create(b_, at(k), type.clone(b_.getI32Type()), points);
    return arith::MulFOp::create(b_, at(k), arith::SIToFPOp::create(b_, at(k), type, n), each);
  }

  //===- Masks that are made once -===//

  /// Has later components take the first one's terms masked, where exponentials of them are zero at excluded points for it.
  void bindExcluded(Value element, Value masked, BodyToTiles &body) {
    if (op_.getComponentKind(0) != Combiner::Max)
      return;
    for (auto power : op_.getBlock().getOps<math::Exp2Op>())
      if (fallsWith(op_, power.getOperand(), element, hasPoints_)) {
        body.bind(element, masked);
        body.markZeroOutside(power.getResult());
      }
  }

  /// What the states of all points, or of all blocks, come to, component by component: each is moved to what they have in common.
  Values meet(const Values &states, Merge merge) {
    BodyToTiles shaper(b_, c_, op_, dims_);
    Values finals, spread;
    for (unsigned k = 0; k < op_.getNumComponents(); ++k) {
      Value all = rescale(states, spread, k, stateShape(k));
      if (!oneState_)
        all = reduce(k, all);
      finals.push_back(merge ? merge(op_.getComponentKind(k), all) : all);
      spread.push_back(shaper.broadcast(finals.back(), stateShape(k)));
    }
    return finals;
  }

  OpBuilder &b_;
  LaunchContext &c_;
  CascadeOp op_;
  ArrayRef<int64_t> dims_;
  ArrayRef<Round> products_; ///< per component
  Bind bind_;
  Where where_;
  Location loc_;
  ArrayRef<int64_t> reduced_;
  SmallVector<int64_t> sorted_;
  SmallVector<SmallVector<int64_t>> kept_, full_; ///< shapes of a component with and without its points
  bool oneState_ = false;                         ///< of the block
  std::optional<double> lag_;
  std::optional<FollowedExponents> followed_;
  bool asksAbove_ = false; ///< the first component is looked for only where terms get large
  bool hasPoints_;
  Value marked_;
  bool ok_ = true;
};

} // namespace

bool LaunchEmitter::hasFirstRound(int64_t i) {
  return llvm::is_contained(l_.loops, i) && llvm::any_of(l_.ops, [&](int64_t ordinal) {
           auto cascade = dyn_cast<CascadeOp>(ops_[ordinal]);
           return cascade && llvm::any_of(llvm::seq(0u, cascade.getNumComponents()),
                                          [&](unsigned k) { return findContraction(cascade, k).has_value(); });
         });
}

LogicalResult LaunchEmitter::emitCascade(CascadeOp op, ArrayRef<int64_t> dims, ArrayRef<size_t> made) {
  Location loc = NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc());
  SmallVector<CascadeEmitter::Round> products(op.getNumComponents());
  std::vector<std::optional<Contraction>> contractions(op.getNumComponents());
  for (unsigned k = 0; k < op.getNumComponents() && !open_.empty(); ++k)
    if ((contractions[k] = findContraction(op, k)))
      products[k] = [this, op, k, dims, loc = NameLoc::get(b_.getStringAttr("product"), op.getLoc()), &c = *contractions[k],
                     f = dotForm(Summation(op, k), *contractions[k], dims)](BodyToTiles &body, Value sum) {
        return addRound(Summation(op, k), c, f, dims, body, sum, loc);
      };
  SmallVector<PickingMask> picking;
  if (!open_.empty())
    picking = findPickingMasks(op, l_, ops_, dims, open_.front(), findTarget(absl::string_view(plan_.target))->costs->chains);
  Value isPicked; // of a round
  auto bind = [&](BodyToTiles &body) {
    bindSums(op, body);
    for (const PickingMask &mask : picking)
      if (mask.isWhole)
        body.bind(mask.condition, isPicked ? isPicked : body.constantTile(true, cu::unnamed(loc)));
  };
  auto where = [&](Value condition, BodyToTiles &body) { return evaluateWhere(condition, body, loc); };
  Value marked;
  for (auto [k, c] : llvm::enumerate(contractions))
    if (c)
      if (DotForm f = dotForm(Summation(op, k), *c, dims); marksAbsent(*c, f))
        marked = f.left.factor;
  // A factor of a product is what the unit takes: as large as its type can be, and its sum with it.
  std::optional<double> lag;
  for (const std::optional<Contraction> &c : contractions)
    if (c && l_.lagging) {
      Type type = c->unitType ? c->unitType : c->aType;
      lag = std::min(lag.value_or(32), type.isF16() ? 14.0 : type.getIntOrFloatBitWidth() == 8 ? 6.0 : 32.0);
    }
  bool hasPoints = !op.getYield().getCondition() &&
                   hasPointEverywhere(op.getCondition(), op.getExtents(), op.getNumParallel(), {plan_.sizeDiv, plan_.sizeMax});
  CascadeEmitter emitter(b_, c_, op, dims, products, bind, where, lag, l_.inFlight > 1, hasPoints, marked, loc);
  SmallVector<int64_t> loops = loopsOf(dims);
  bool shares = llvm::any_of(dims.drop_front(op.getNumParallel()), [&](int64_t i) { return isSharedOut(i); });
  bool inLaunch = !open_.empty(), ok = true;
  int64_t least = inLaunch && hasFirstRound(open_.front()) ? 1 : 0;
  Location plain = cu::unnamed(loc); // each component that a loop carries has a name of its own
  auto walk = [&](Values start, llvm::function_ref<Values(Values)> body) {
    if (!inLaunch)
      return loopNest(loops, op.getCondition(), dims, start, plain, body);
    auto round = [&](ValueRange carried) {
      ok = ok && llvm::all_of(made, [&](size_t n) { return succeeded(emitStatement(n)); });
      return ok ? body(llvm::to_vector(carried)) : Values(carried);
    };
    auto where = [&]() -> Value {
      Value holds = holdsInPieces(op, picking, dims);
      ok &= bool(holds);
      return holds;
    };
    llvm::function_ref<Value()> choice = nullptr;
    if (!picking.empty())
      choice = where;
    return walkRounds({open_, op.getCondition(), dims, plain, open_.size(), choice, 1, least, &isPicked}, start, round);
  };
  auto merge = [&](Combiner kind, Value value) {
    return tile::ClusterReduceOp::create(b_, loc, TypeRange{value.getType()}, kind, value).getResult(0);
  };
  findDataSpans(op, dims, inLaunch ? open_ : ArrayRef<int64_t>(loops), loc);
  std::optional<Values> finals =
      emitter.run(inLaunch || !loops.empty(), walk, shares ? CascadeEmitter::Merge(merge) : CascadeEmitter::Merge());
  clearDataSpans();
  if (!finals || !ok)
    return failure();
  BodyToTiles last(b_, c_, op, dims.take_front(op.getNumParallel()));
  for (auto [k, value] : llvm::enumerate(*finals))
    last.bind(op.getFinalize().front().getArgument(op.getNumParallel() + k), value);
  for (unsigned k = 0; k < op.getNumComponents(); ++k) {
    Value value = last.evaluate(op.getFinalValue(k));
    if (!value)
      return failure();
    value = last.broadcast(value, emitter.keptShape(k));
    c_.results[op.getResult(k)] = value;
    if (isStored(op.getResult(k)))
      storeOwn(op, k, value, dims, last);
  }
  return success();
}

void LaunchEmitter::storeOwn(CascadeOp op, unsigned k, Value value, ArrayRef<int64_t> dims, BodyToTiles &body) {
  SmallVector<unsigned> own = op.getOwnDims(k);
  SmallVector<int64_t> kept = llvm::map_to_vector(own, [&](unsigned d) { return dims[d]; });
  AffineMap plain = AffineMap::getMultiDimIdentityMap(kept.size(), b_.getContext());
  plain = AffineMap::get(kept.size(), l_.extents.getNumSymbols(), plain.getResults(), b_.getContext());
  // Of blocks that all have it, the first along the dims that it does not have writes it.
  Value first;
  for (unsigned d = 0; d < op.getNumParallel(); ++d)
    if (!llvm::is_contained(own, d)) {
      Value is = arith::CmpIOp::create(b_, op.getLoc(), arith::CmpIPredicate::eq, c_.offsets[dims[d]], constant(0, op.getLoc()));
      first = first ? arith::AndIOp::create(b_, op.getLoc(), first, is).getResult() : is;
    }
  OpBuilder::InsertionGuard guard(b_);
  if (first)
    b_.setInsertionPoint(scf::IfOp::create(b_, op.getLoc(), first, false).thenBlock()->getTerminator());
  store(value, op.getResult(k), plain, kept, {}, body, op.getLoc());
}

} // namespace kernelc
