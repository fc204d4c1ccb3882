// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-forward-copies: see Passes.td.
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/Passes.h"
#include "passes/cu/AlikeParts.h"
#include "passes/cu/DeadCode.h"
#include "passes/cu/IndexRanges.h"
#include "passes/cu/LinearIndex.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUFORWARDCOPIES
#include "passes/Passes.h.inc"

namespace {

/// The rounds of a loop that counts from 0 by ones; 0 where there are none, or nobody knows how many.
int64_t roundsOf(scf::ForOp loop) {
  bool counts = getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1;
  return counts ? std::max<int64_t>(0, getConstantIntValue(loop.getUpperBound()).value_or(0)) : 0;
}

bool isIn(Value v, Operation *root) { return root->isAncestor(v.getParentBlock()->getParentOp()); }

/// Whether products of warpgroups keep an array in their registers. ptxas wants these read once, between products, and in order:
/// otherwise it has each product end before it begins the next one (C7514).
bool isHeld(memref::AllocaOp array) { return llvm::any_of(array->getUsers(), isProduct); }

/// How many neighbours `use` only reads, from its subscript on; 0 where it may write, or reads in another order.
int64_t widthRead(OpOperand &use) {
  return llvm::TypeSwitch<Operation *, int64_t>(use.getOwner())
      .Case([&](memref::LoadOp) { return 1; })
      .Case([&](cu::CopyOp o) { return &use == &o.getSourceMutable() ? int64_t(o.getCount()) : 0; })
      .Case([&](cu::AddVectorOp o) { return &use == &o.getSourceMutable() ? int64_t(o.getCount()) : 0; })
      .Default([](Operation *) { return 0; });
}

/// Whether `use` only reads, in whatever order.
bool isRead(OpOperand &use) {
  return widthRead(use) || llvm::TypeSwitch<Operation *, bool>(use.getOwner())
                               .Case<cu::GatherOp, cu::StmatrixOp>([&](auto o) { return &use == &o.getSourceMutable(); })
                               .Case([&](cu::MmaOp o) { return &use == &o.getAMutable() || &use == &o.getBMutable(); })
                               .Default(false);
}

/// A statement that stores to elements of a thread's own array, one in each round of constant loops around it.
struct Fill {
  memref::StoreOp store;
  memref::AllocaOp array;
  Operation *root;                   ///< the outermost of these loops, or the store itself
  SmallVector<scf::ForOp, 4> digits; ///< the loops by what their variables count in the subscript, most first
  LinearIndex at;                    ///< the subscript

  /// The statement beside `root` that `op` is or is in; null where it stands elsewhere.
  Operation *placeOf(Operation *op) { return root->getBlock()->findAncestorOpInBlock(*op); }
  bool isBehind(Operation *op) {
    Operation *place = placeOf(op);
    return place && root->isBeforeInBlock(place);
  }
  int64_t factorOf(scf::ForOp loop) { return at.factorOf(loop.getInductionVar()); }
  /// Whether every element gets its value.
  bool isWhole() {
    int64_t covered = 1;
    for (scf::ForOp loop : llvm::reverse(digits)) {
      if (factorOf(loop) != covered)
        return false;
      covered *= roundsOf(loop);
    }
    return at.constant == 0 && covered == array.getType().getNumElements();
  }
};

/// Of a store in constant loops in `block`, with a subscript whose digits are the variables of these loops.
std::optional<Fill> findFill(memref::StoreOp store, Block *block) {
  auto array = store.getMemRef().getDefiningOp<memref::AllocaOp>();
  Operation *root = block->findAncestorOpInBlock(*store);
  if (!array || array.getType().getRank() != 1 || !root)
    return std::nullopt;
  Fill fill{store, array, root};
  fill.at = LinearIndex::of(store.getIndices()[0]);
  for (Operation *op = store; op != fill.root; op = op->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!loop || !roundsOf(loop))
      return std::nullopt;
    if (fill.factorOf(loop) > 0)
      fill.digits.push_back(loop);
  }
  llvm::sort(fill.digits, [&](scf::ForOp x, scf::ForOp y) { return fill.factorOf(x) > fill.factorOf(y); });
  bool areDigits = fill.at.terms.size() == fill.digits.size() && fill.at.constant >= 0;
  for (unsigned i = 1; i < fill.digits.size(); ++i)
    areDigits &= fill.factorOf(fill.digits[i - 1]) >= fill.factorOf(fill.digits[i]) * roundsOf(fill.digits[i]);
  return areDigits ? std::optional(fill) : std::nullopt;
}

/// A fill with elements of another array of the thread's.
struct Copy {
  Fill fill;
  memref::LoadOp load;
  memref::AllocaOp source;
  LinearIndex from; ///< the subscript of what is read

  bool isSame() { return from == fill.at && source.getType() == fill.array.getType() && fill.isWhole(); }
};

std::optional<Copy> findCopy(memref::StoreOp store, Block *block) {
  auto load = store.getValueToStore().getDefiningOp<memref::LoadOp>();
  auto source = load ? load.getMemRef().getDefiningOp<memref::AllocaOp>() : memref::AllocaOp();
  if (!source || isHeld(source) || source.getType().getRank() != 1 || load->getBlock() != store->getBlock() || !load->hasOneUse())
    return std::nullopt;
  std::optional<Fill> fill = findFill(store, block);
  if (!fill || source == fill->array || fill->root->isProperAncestor(source))
    return std::nullopt;
  return Copy{*fill, load, source, LinearIndex::of(load.getIndices()[0])};
}

/// Whether one condition chooses all elements of the source. Of such an array ptxas holds both sides in registers where no copy stands
/// between the choice and what goes on with it.
bool isChosenAtOnce(Copy &copy) {
  return llvm::any_of(copy.source->getUsers(), [&](Operation *user) {
    auto store = dyn_cast<memref::StoreOp>(user);
    auto chosen = store ? store.getValueToStore().getDefiningOp<arith::SelectOp>() : arith::SelectOp();
    Operation *place = chosen ? copy.fill.placeOf(store) : nullptr;
    auto isOneForAll = [&](Value v) { return !isIn(v, place); };
    if (!place)
      return false;
    auto variable = chosen.getCondition().getDefiningOp<memref::LoadOp>();
    return isOneForAll(chosen.getCondition()) || (variable && llvm::all_of(variable.getIndices(), isOneForAll));
  });
}

/// Takes away arrays of one kernel.
class Forwarder {
public:
  explicit Forwarder(cu::KernelOp kernel) : kernel_(kernel) {}

  /// Whether `array` is gone.
  bool forward(memref::AllocaOp array) {
    if (array.getType().getNumElements() == 1 || isHeld(array)) // (a variable goes by its value's name in the text)
      return false;
    SmallVector<memref::StoreOp> stores;
    for (Operation *user : array->getUsers())
      if (auto store = dyn_cast<memref::StoreOp>(user))
        stores.push_back(store);
    if (stores.size() == 1 && (readValue(array, stores.front()) || readInPlace(array, stores.front())))
      return true;
    return llvm::any_of(stores, [&](memref::StoreOp store) {
      std::optional<Copy> copy = findCopy(store, array->getBlock());
      return (copy && copy->isSame() && returnToSource(*copy)) || join(array, store);
    });
  }

private:
  static void erase(Fill &fill) {
    Operation *value = fill.store.getValueToStore().getDefiningOp();
    bool isInLoop = fill.root != fill.store;
    fill.store.erase();
    if (isInLoop)
      eraseDeadIn(fill.root);
    else if (isa_and_nonnull<memref::LoadOp>(value))
      eraseDeadIn(value);
  }

  /// An array of one value: that is read.
  static bool readValue(memref::AllocaOp array, memref::StoreOp store) {
    std::optional<Fill> fill = findFill(store, array->getBlock());
    Value value = store.getValueToStore();
    if (!fill || isIn(value, fill->root) || value.getDefiningOp() == fill->root)
      return false;
    SmallVector<memref::LoadOp> loads;
    for (Operation *user : array->getUsers())
      if (auto load = dyn_cast<memref::LoadOp>(user); load && fill->isBehind(load))
        loads.push_back(load);
      else if (user != store)
        return false;
    for (memref::LoadOp load : loads) {
      load.getResult().replaceAllUsesWith(value);
      load.erase();
    }
    erase(*fill);
    array->erase();
    return true;
  }

  /// A copy that nobody writes to, of what stays as it is for as long as the copy is read: the source is read.
  bool readInPlace(memref::AllocaOp array, memref::StoreOp store) {
    std::optional<Copy> copy = findCopy(store, array->getBlock());
    if (!copy || llvm::any_of(copy->from.terms, [&](auto &term) { return !isKnownBehind(term.first, copy->fill); }))
      return false;
    IndexRanges ranges(kernel_);
    Operation *first = copy->fill.placeOf(copy->load), *last = copy->fill.root;
    SmallVector<std::pair<OpOperand *, LinearIndex>> reads;
    for (OpOperand &use : array->getUses()) {
      if (use.getOwner() == store)
        continue;
      std::optional<LinearIndex> from = findSource(*copy, use, ranges);
      if (!from || !copy->fill.isBehind(use.getOwner()))
        return false;
      reads.push_back({&use, *from});
      Operation *place = copy->fill.placeOf(use.getOwner());
      last = last->isBeforeInBlock(place) ? place : last;
    }
    for (OpOperand &use : copy->source->getUses()) {
      Operation *place = copy->fill.placeOf(use.getOwner());
      if (!isRead(use) && place && !place->isBeforeInBlock(first) && !last->isBeforeInBlock(place))
        return false;
    }
    for (auto &[use, from] : reads) {
      Operation *reader = use->getOwner();
      use->set(copy->source);
      if (copy->isSame())
        continue;
      OpBuilder b(reader);
      Value index = from.build(b, cu::unnamed(reader->getLoc()));
      if (auto load = dyn_cast<memref::LoadOp>(reader))
        load.getIndicesMutable().assign(index);
      else if (auto vector = dyn_cast<cu::CopyOp>(reader))
        vector.getSourceIndicesMutable().assign(index);
      else
        cast<cu::AddVectorOp>(reader).getSourceIndicesMutable().assign(index);
    }
    erase(copy->fill);
    array->erase();
    return true;
  }

  static bool isKnownBehind(Value v, Fill &fill) {
    auto isDigit = [&](scf::ForOp loop) { return loop.getInductionVar() == v; };
    return llvm::any_of(fill.digits, isDigit) || (!isIn(v, fill.root) && v.getDefiningOp() != fill.root);
  }

  /// Where what `use` reads lies in the copy's source.
  static std::optional<LinearIndex> findSource(Copy &copy, OpOperand &use, IndexRanges &ranges) {
    if (copy.isSame())
      return isRead(use) ? std::optional(copy.from) : std::nullopt;
    int64_t width = widthRead(use);
    std::optional<Value> at = llvm::TypeSwitch<Operation *, std::optional<Value>>(use.getOwner())
                                  .Case([](memref::LoadOp o) { return o.getIndices()[0]; })
                                  .Case<cu::CopyOp, cu::AddVectorOp>([](auto o) { return o.getSourceIndices()[0]; })
                                  .Default(std::nullopt);
    if (!width || !at)
      return std::nullopt;
    Fill &fill = copy.fill;
    // What each digit of the copy is at this subscript.
    LinearIndex rest = LinearIndex::of(*at), from;
    rest.constant -= fill.at.constant;
    if (rest.constant < 0)
      return std::nullopt;
    from.constant = copy.from.constant;
    for (auto [v, factor] : copy.from.terms)
      if (llvm::none_of(fill.digits, [&](scf::ForOp loop) { return loop.getInductionVar() == v; }))
        from.add(v, factor);
    for (scf::ForOp loop : fill.digits) {
      int64_t unit = fill.factorOf(loop), neighbours = loop == fill.digits.back() ? width : 1;
      LinearIndex digit;
      digit.constant = rest.constant / unit;
      rest.constant %= unit;
      llvm::erase_if(rest.terms, [&](auto &term) {
        bool counts = term.second % unit == 0;
        if (counts)
          digit.add(term.first, term.second / unit);
        return counts;
      });
      Range range = rangeOf(digit, ranges);
      if (range.low < 0 || range.high + neighbours > roundsOf(loop))
        return std::nullopt;
      int64_t step = copy.from.factorOf(loop.getInductionVar());
      if (neighbours > 1 && (unit != 1 || step != 1))
        return std::nullopt;
      from.add(digit, step);
    }
    bool isAligned =
        rangeOf(from, ranges).divisor % width == 0 && copy.source.getType().getNumElements() >= fill.array.getType().getNumElements();
    bool isFound = rest.constant == 0 && rest.terms.empty() && (width == 1 || (!fill.digits.empty() && isAligned));
    return isFound ? std::optional(from) : std::nullopt;
  }

  static Range rangeOf(const LinearIndex &index, IndexRanges &ranges) {
    Range range = Range::just(index.constant);
    for (auto [v, factor] : index.terms)
      range = range + ranges.of(v) * Range::just(factor);
    return range;
  }

  /// What has been done to the copy goes back to the source, which nobody uses in between: it is done to the source.
  static bool returnToSource(Copy &there) {
    memref::AllocaOp array = there.fill.array;
    std::optional<Copy> back = findReturn(there);
    if (!back)
      return false;
    Operation *first = there.fill.root, *last = there.fill.placeOf(back->fill.store);
    auto isBetween = [&](Operation *user) {
      Operation *place = there.fill.placeOf(user);
      return place && first->isBeforeInBlock(place) && place->isBeforeInBlock(last);
    };
    auto isBeside = [&](Operation *user) {
      Operation *place = there.fill.placeOf(user);
      return !place || place->isBeforeInBlock(first) || last->isBeforeInBlock(place);
    };
    auto isInCopies = [&](Operation *user) {
      return llvm::is_contained<Operation *>({there.fill.store, there.load, back->fill.store, back->load}, user);
    };
    if (!first->isBeforeInBlock(last) ||
        !llvm::all_of(array->getUsers(), [&](Operation *user) { return isInCopies(user) || isBetween(user); }) ||
        !llvm::all_of(there.source->getUsers(), [&](Operation *user) { return isInCopies(user) || isBeside(user); }))
      return false;
    there.fill.store.erase();
    back->fill.store.erase();
    eraseDeadIn(first);
    eraseDeadIn(last);
    array.getResult().replaceAllUsesWith(there.source.getResult());
    array->erase();
    return true;
  }

  /// What is copied is of no use from there on, and nobody uses the copy while it is made: both are one array.
  static bool join(memref::AllocaOp array, memref::StoreOp store) {
    auto load = store.getValueToStore().getDefiningOp<memref::LoadOp>();
    auto source = load ? load.getMemRef().getDefiningOp<memref::AllocaOp>() : memref::AllocaOp();
    std::optional<Copy> copy = source ? findCopy(store, source->getBlock()) : std::nullopt;
    bool isBeside = source && array->getBlock() == source->getBlock();
    if (!copy || !copy->isSame() || isChosenAtOnce(*copy) || !(isBeside || array->getParentOp()->isProperAncestor(source)))
      return false;
    Operation *first = copy->fill.root;
    for (Operation *user : source->getUsers()) {
      Operation *place = copy->fill.placeOf(user);
      if (user != load && (!place || !place->isBeforeInBlock(copy->fill.root)))
        return false;
      first = place->isBeforeInBlock(first) ? place : first;
    }
    for (Operation *user : array->getUsers()) {
      Operation *place = copy->fill.placeOf(user); // null: in another block, which runs before this one or behind it
      if (user != store && place && !place->isBeforeInBlock(first) && !copy->fill.root->isBeforeInBlock(place))
        return false;
    }
    erase(copy->fill);
    memref::AllocaOp stays = isBeside ? source : array, goes = isBeside ? array : source;
    goes.getResult().replaceAllUsesWith(stays.getResult());
    goes->erase();
    return true;
  }

  static std::optional<Copy> findReturn(Copy &there) {
    for (Operation *user : there.fill.array->getUsers())
      if (auto load = dyn_cast<memref::LoadOp>(user); load && load->hasOneUse())
        if (auto store = dyn_cast<memref::StoreOp>(*load->getUsers().begin()); store && store.getMemRef() == there.source.getResult())
          if (std::optional<Copy> back = findCopy(store, there.fill.root->getBlock()); back && back->load == load && back->isSame())
            return back;
    return std::nullopt;
  }

  cu::KernelOp kernel_;
};

constexpr StringLiteral kAccumulators = "Accumulators are read in one place: ptxas would run products one after the other else.";
constexpr StringLiteral kChosen = "A copy of what was chosen as a whole: ptxas would keep both sides of the choice else.";

/// Why a copy to `array` stays; empty where there is none, or no reason to give.
StringRef findReason(memref::AllocaOp array) {
  for (Operation *user : array->getUsers()) {
    auto store = dyn_cast<memref::StoreOp>(user);
    auto load =
        store && store.getMemRef() == array.getResult() ? store.getValueToStore().getDefiningOp<memref::LoadOp>() : memref::LoadOp();
    auto source = load ? load.getMemRef().getDefiningOp<memref::AllocaOp>() : memref::AllocaOp();
    if (!source || source == array || isHeld(array) || array.getType().getNumElements() == 1)
      continue;
    if (isHeld(source))
      return kAccumulators;
    if (std::optional<Copy> copy = findCopy(store, source->getBlock()); copy && copy->isSame() && isChosenAtOnce(*copy))
      return kChosen;
  }
  return "";
}

/// Writes into the text why a copy stays. What an earlier run of the pass wrote may be true no longer.
void explainCopy(memref::AllocaOp array) {
  auto said = dyn_cast_or_null<cu::CommentOp>(array->getPrevNode());
  bool isReason = said && (said.getText() == kAccumulators || said.getText() == kChosen);
  StringRef why = findReason(array);
  if (isReason && said.getText() == why)
    return;
  if (isReason)
    said->erase();
  if (why.empty())
    return;
  OpBuilder b(array);
  cu::CommentOp::create(b, cu::unnamed(array.getLoc()), why);
}

struct CuForwardCopiesPass : impl::CuForwardCopiesBase<CuForwardCopiesPass> {
  void runOnOperation() override {
    Forwarder forwarder(getOperation());
    // A copy may be one of a copy; an array that goes may take others along.
    auto forwardOne = [&](memref::AllocaOp array) { return forwarder.forward(array) ? WalkResult::interrupt() : WalkResult::advance(); };
    while (getOperation().walk(forwardOne).wasInterrupted())
      ;
    getOperation().walk(explainCopy);
  }
};

} // namespace
} // namespace kernelc
