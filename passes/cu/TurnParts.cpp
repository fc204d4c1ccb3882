// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/TurnParts.h"

#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/cu/AlikeParts.h"
#include "passes/cu/Instructions.h"
#include "passes/cu/LinearIndex.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace kernelc {
namespace {

/// Instructions of one operation, about.
int64_t instructionsOf(Operation *op) {
  constexpr int64_t kDivision = 12, kByConstant = 4, kExponential = 10, kFunction = 28;
  if (op->getNumRegions() || !isInstruction(op))
    return 0;
  if (auto division = dyn_cast<arith::DivFOp>(op))
    return matchPattern(division.getRhs(), m_Constant()) ? kByConstant : kDivision;
  if (isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::SqrtOp, math::RsqrtOp>(op))
    return kExponential;
  bool isOne = isa<math::FmaOp, math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp>(op);
  return isa<math::MathDialect>(op->getDialect()) && !isOne ? kFunction : 1;
}

/// What a block comes to once the loops in it are unrolled.
int64_t instructionsOf(Block &block) {
  int64_t all = 0;
  for (Operation &op : block) {
    int64_t inside = 0;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        inside += instructionsOf(inner);
    auto loop = dyn_cast<scf::ForOp>(op);
    auto rounds = loop ? getConstantIntValue(loop.getUpperBound()) : std::nullopt;
    all += instructionsOf(&op) + inside * (loop && cu::kUnroll.isAllOn(loop) ? rounds.value_or(1) : 1);
  }
  return all;
}

/// Elements that a statement reads from memory into registers.
int64_t loadedBy(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return cu::spaceOf(load.getMemRef()) == cu::Global;
  if (auto copy = dyn_cast<cu::CopyOp>(op))
    return cu::spaceOf(copy.getSource()) == cu::Global ? int64_t(copy.getCount()) : 0;
  int64_t inside = 0;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      inside += loadedBy(&inner);
  auto loop = dyn_cast<scf::ForOp>(op);
  return inside * (loop && cu::kUnroll.isAllOn(loop) ? getConstantIntValue(loop.getUpperBound()).value_or(1) : 1);
}

bool dependsOn(Value v, ArrayRef<Value> variables) {
  Operation *op = v.getDefiningOp();
  return llvm::is_contained(variables, v) ||
         (op && llvm::any_of(op->getOperands(), [&](Value operand) { return dependsOn(operand, variables); }));
}

/// The only loop of a body that is index arithmetic beside it.
scf::ForOp findOnlyLoop(Block &body) {
  scf::ForOp only;
  for (Operation &op : body.without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if ((loop && only) || (!loop && !isScalarExpression(&op)))
      return {};
    only = loop ? loop : only;
  }
  return only;
}

/// A private array of several elements, and where statements of the nest say which they mean.
struct Turned {
  SmallVector<OpOperand *> subscripts;
  SmallVector<int64_t, 4> factors; ///< of the variables of the loops that stay, outermost first
  int64_t elements = 0;
  bool moves() const {
    return llvm::any_of(factors, [](int64_t f) { return f != 0; });
  }
};

/// Loops in each other that are unrolled fully.
class Nest {
public:
  explicit Nest(scf::ForOp root) {
    for (scf::ForOp loop = root; loop && unrolledRoundsOf(loop) > 0; loop = findOnlyLoop(*loop.getBody()))
      loops_.push_back(loop);
  }

  /// Lets loops of parts stay in the text, the shortest parts beside which moves are few; does nothing where there are none.
  void turn() {
    if (loops_.empty() || !areKnown() || !findArrays(variablesOf(loops_.size())) || !findReplaced())
      return;
    loadedBeside_ = loadedBeside();
    for (size_t kept = loops_.size(); kept > 0; --kept) {
      int64_t rounds = unrolledRoundsOf(loops_[kept - 1]);
      for (int64_t together = 1; together < rounds; ++together)
        if (rounds % together == 0 && isWorth(kept, together))
          return make(kept, together);
    }
  }

private:
  /// Instructions of functions for each one that moves.
  static constexpr int64_t kLeastForMove = 6;
  /// Registers of the largest array for each one of the others, which a loop holds all the time, where code without one loads them late;
  /// and for each element that is read from memory beside the nest.
  static constexpr int64_t kLeastOfOne = 4;
  /// Instructions of a part: those of one element wait for each other.
  static constexpr int64_t kLeastOfPart = 384;
  /// Threads of blocks of which several share a multiprocessor, whatever registers they take.
  static constexpr int64_t kSmallBlock = 128;

  scf::ForOp root() { return loops_.front(); }

  SmallVector<Value> variablesOf(size_t kept) {
    return SmallVector<Value>(llvm::map_range(ArrayRef(loops_).take_front(kept), [](scf::ForOp loop) { return loop.getInductionVar(); }));
  }

  /// Whether nothing in the nest reads memory, or has to stand where it stands.
  bool areKnown() {
    auto isKnown = [&](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        return unrolledRoundsOf(loop) > 0;
      if (auto load = dyn_cast<memref::LoadOp>(op))
        return cu::spaceOf(load.getMemRef()) == cu::Private;
      if (auto copy = dyn_cast<cu::CopyOp>(op))
        return cu::spaceOf(copy.getSource()) == cu::Private;
      return isa<scf::IfOp, memref::StoreOp, cu::CommentOp>(op) || op->hasTrait<OpTrait::IsTerminator>() || isScalarExpression(op);
    };
    return !root()->walk([&](Operation *op) { return isKnown(op) ? WalkResult::advance() : WalkResult::interrupt(); }).wasInterrupted();
  }

  /// Elements that are read from memory beside the nest: in code without a loop, functions begin as these arrive, and other reads begin
  /// among them. Those behind it do not count where other warps have work meanwhile.
  int64_t loadedBeside() {
    auto kernel = root()->getParentOfType<cu::KernelOp>();
    int64_t loaded = 0;
    for (Operation *place = root(); !isa<cu::KernelOp>(place); place = place->getParentOp()) {
      const bool isWalk = isa<scf::ForOp, scf::WhileOp>(place->getParentOp()) && !kernel.getPersistent();
      const bool hides = !isWalk && (kernel.getPersistent() || kernel.getThreads() <= kSmallBlock);
      for (Operation &op : *place->getBlock())
        if (&op != place && !(hides && place->isBeforeInBlock(&op)))
          loaded += loadedBy(&op);
    }
    return loaded;
  }

  /// Finds what the variables name elements of; false where that is no number for each one of them.
  bool findArrays(ArrayRef<Value> variables) {
    arrays_.clear();
    bool good = true;
    root()->walk([&](Operation *op) {
      if (op == root() || !llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>))
        return;
      auto uses = arrayUsesOf(op);
      for (const ArrayUse &use : uses ? *uses : SmallVector<ArrayUse, 3>())
        good &= note(op->getOperand(use.array), op, use, variables);
      good &= uses.has_value();
    });
    return good;
  }

  bool note(Value memory, Operation *op, const ArrayUse &use, ArrayRef<Value> variables) {
    auto array = memory.getDefiningOp<memref::AllocaOp>();
    if (cu::spaceOf(memory) != cu::Private || (array && array.getType().getNumElements() == 1))
      return true;
    if (!array || array.getType().getRank() != 1 || use.subscripts.size() != 1)
      return false;
    OpOperand &subscript = op->getOpOperand(use.subscripts.front());
    LinearIndex at = LinearIndex::of(subscript.get());
    Turned &turned = arrays_[memory];
    SmallVector<int64_t, 4> factors;
    for (Value v : variables)
      factors.push_back(at.factorOf(v));
    for (auto [v, factor] : at.terms)
      if (!llvm::is_contained(variables, v) && dependsOn(v, variables))
        return false;
    bool isFirst = turned.subscripts.empty();
    turned.subscripts.push_back(&subscript);
    turned.elements = array.getType().getNumElements();
    if (isFirst)
      turned.factors = factors;
    bool isInNest = root()->isAncestor(array), isHeld = llvm::any_of(array->getUsers(), isProduct);
    bool moves = turned.moves() || llvm::any_of(factors, [](int64_t f) { return f != 0; });
    return !moves || (turned.factors == factors && !isInNest && !isHeld && llvm::none_of(factors, [](int64_t f) { return f < 0; }));
  }

  /// Whether statements of the array's block behind the nest, or before it, read or write it.
  bool isUsed(Value array, bool behind) {
    return llvm::any_of(array.getUsers(), [&](Operation *user) {
      Operation *place = root()->getBlock()->findAncestorOpInBlock(*user);
      return !place || (place != root() && root()->isBeforeInBlock(place) == behind);
    });
  }
  bool isOfThisBlock(Value array) { return array.getParentBlock() == root()->getBlock(); }

  /// Finds for each array that begins in the nest one that ends in it, whose place it can take; false where one has none.
  bool findReplaced() {
    for (auto &[begins, turned] : arrays_) {
      if (!turned.moves() || !isOfThisBlock(begins) || isUsed(begins, false))
        continue;
      auto isTaken = [&](Value array) { return llvm::any_of(replaced_, [&](auto &pair) { return pair.second == array; }); };
      auto ends = llvm::find_if(
          arrays_, [&](auto &other) { return other.first != begins && !isTaken(other.first) && canReplace(begins, other.first); });
      if (ends == arrays_.end())
        return false;
      replaced_[begins] = ends->first;
    }
    return true;
  }

  /// Whether each round reads the element of `ends` that it then stores in `begins`, and no other round does.
  bool canReplace(Value begins, Value ends) {
    if (begins.getType() != ends.getType() || !isOfThisBlock(ends) || isUsed(ends, true))
      return false;
    LinearIndex at = LinearIndex::of(arrays_[begins].subscripts.front()->get());
    memref::StoreOp store;
    for (OpOperand *subscript : arrays_[begins].subscripts) {
      auto found = dyn_cast<memref::StoreOp>(subscript->getOwner());
      if (!found || store)
        return false;
      store = found;
    }
    for (OpOperand *subscript : arrays_[ends].subscripts) {
      auto load = dyn_cast<memref::LoadOp>(subscript->getOwner());
      if (!load || load->getBlock() != store->getBlock() || !load->isBeforeInBlock(store) || !(LinearIndex::of(subscript->get()) == at))
        return false;
    }
    return storesEachOnce(store, root());
  }

  /// Whether moves are few where `kept` loops stay and `together` rounds of the last one are a part.
  bool isWorth(size_t kept, int64_t together) {
    int64_t part = instructionsOf(*loops_[kept - 1].getBody()) * together;
    if (part < kLeastOfPart)
      return false;
    int64_t moved = 0, most = 0;
    for (auto &[array, turned] : arrays_)
      if (!replaced_.contains(array) && llvm::any_of(ArrayRef(turned.factors).take_front(kept), [](int64_t f) { return f != 0; })) {
        moved += turned.elements;
        most = std::max(most, turned.elements);
      }
    return moved * kLeastForMove <= part && std::max(moved - most, loadedBeside_) * kLeastOfOne <= most;
  }

  /// Each round of the loop as one of a loop over parts and one in the part.
  void split(scf::ForOp loop, int64_t together) {
    OpBuilder b(loop);
    Location loc = loop.getLoc(), plain = cu::unnamed(loc);
    auto index = [&](int64_t n) { return arith::ConstantIndexOp::create(b, plain, n); };
    auto parts = scf::ForOp::create(b, plain, index(0), index(unrolledRoundsOf(loop) / together), index(1));
    parts.getInductionVar().setLoc(NameLoc::get(b.getStringAttr("part"), plain));
    loop->moveBefore(parts.getBody()->getTerminator());
    b.setInsertionPointToStart(parts.getBody());
    Value first = arith::MulIOp::create(b, plain, parts.getInductionVar(), index(together));
    loop.setUpperBound(index(together));
    b.setInsertionPointToStart(loop.getBody());
    auto at = arith::AddIOp::create(b, plain, loop.getInductionVar(), first);
    loop.getInductionVar().replaceAllUsesExcept(at.getResult(), at);
    cu::kUnroll.putAllOn(parts);
  }

  void make(size_t kept, int64_t together) {
    for (auto [begins, ends] : replaced_) {
      begins.replaceAllUsesWith(ends);
      begins.getDefiningOp()->erase();
    }
    if (together > 1) {
      split(loops_[kept - 1], together);
      loops_[kept - 1] = loops_[kept - 1]->getParentOfType<scf::ForOp>();
    }
    loops_.resize(kept);
    SmallVector<Value> variables = variablesOf(kept);
    [[maybe_unused]] bool good = findArrays(variables);
    assert(good && "a split loop names the same elements");
    SmallVector<int64_t, 4> rounds(llvm::map_range(loops_, unrolledRoundsOf));
    for (auto &[array, turned] : arrays_)
      if (turned.moves()) {
        for (OpOperand *subscript : turned.subscripts)
          subscript->set(without(variables, subscript));
        turnIn(array, turned, rounds);
      }
    for (scf::ForOp loop : loops_)
      cu::kUnroll.putOn(loop, 1);
  }

  /// The subscript in the first part.
  static Value without(ArrayRef<Value> variables, OpOperand *subscript) {
    LinearIndex at = LinearIndex::of(subscript->get());
    llvm::erase_if(at.terms, [&](auto &term) { return llvm::is_contained(variables, term.first); });
    OpBuilder b(subscript->getOwner());
    return at.build(b, subscript->get().getLoc());
  }

  /// Turns the array at the end of each loop's round by what the loop's variable moves its elements, less what the loops inside have
  /// turned it by already; and after the last round back to where it was.
  void turnIn(Value array, const Turned &turned, ArrayRef<int64_t> rounds) {
    int64_t inside = 0;
    auto rest = [&](int64_t n) { return ((n % turned.elements) + turned.elements) % turned.elements; };
    for (size_t i = loops_.size(); i-- > 0;) {
      OpBuilder b(loops_[i].getBody()->getTerminator());
      turnBy(b, array, rest(turned.factors[i] - inside));
      inside = turned.factors[i] * rounds[i];
    }
    OpBuilder b(root()->getContext());
    b.setInsertionPointAfter(root());
    turnBy(b, array, rest(-inside));
  }

  static void turnBy(OpBuilder &b, Value array, int64_t by) {
    if (!by)
      return;
    auto type = cast<MemRefType>(array.getType());
    Location loc = cu::unnamed(array.getLoc());
    auto index = [&](int64_t n) { return arith::ConstantIndexOp::create(b, loc, n); };
    Value turned = memref::AllocaOp::create(b, NameLoc::get(b.getStringAttr("turned"), loc), type);
    auto forAll = [&](llvm::function_ref<void(OpBuilder &, Value)> move) {
      auto loop = scf::ForOp::create(b, loc, index(0), index(type.getNumElements()), index(1));
      cu::kUnroll.putAllOn(loop);
      OpBuilder inside(loop.getBody()->getTerminator());
      move(inside, loop.getInductionVar());
    };
    Value distance = index(by), all = index(type.getNumElements());
    forAll([&](OpBuilder &in, Value i) {
      Value from = arith::RemSIOp::create(in, loc, arith::AddIOp::create(in, loc, i, distance), all);
      memref::StoreOp::create(in, loc, memref::LoadOp::create(in, loc, array, from), turned, i);
    });
    forAll([&](OpBuilder &in, Value i) { memref::StoreOp::create(in, loc, memref::LoadOp::create(in, loc, turned, i), array, i); });
  }

  SmallVector<scf::ForOp, 4> loops_; ///< each the only one in the one before
  int64_t loadedBeside_ = 0;
  llvm::MapVector<Value, Turned> arrays_;
  llvm::MapVector<Value, Value> replaced_; ///< what begins in the nest → what ends in it
};

} // namespace

void turnParts(cu::KernelOp kernel, int64_t budget) {
  SmallVector<scf::ForOp> roots;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (!cu::kUnroll.isAllOn(loop))
      return WalkResult::advance();
    int64_t rounds = unrolledRoundsOf(loop);
    if (rounds > 0 && instructionsOf(*loop.getBody()) * rounds * 2 > budget)
      roots.push_back(loop);
    return WalkResult::skip();
  });
  for (scf::ForOp root : roots)
    Nest(root).turn();
}

} // namespace kernelc
