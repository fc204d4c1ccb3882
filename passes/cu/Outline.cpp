// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-outline: see Passes.td.
#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/Passes.h"
#include "passes/cu/DeadCode.h"
#include "passes/cu/SameRuns.h"
#include "llvm/ADT/Hashing.h"

#include <map>
#include <set>

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUOUTLINE
#include "passes/Passes.h.inc"

namespace {

/// Lines that a lambda saves at least: fewer read better where they stand.
constexpr int64_t kLeastSaved = 8;
/// Lines that it has at least: a name for less says no more than they do.
constexpr int64_t kLeastLines = 6;
/// What a reader can still follow.
constexpr size_t kMostArguments = 6;

/// What statements that are the same have in common, whatever their operands are; `known` for those in them.
llvm::hash_code shapeOf(Operation *op, llvm::DenseMap<Operation *, llvm::hash_code> &known) {
  if (auto shape = known.find(op); shape != known.end())
    return shape->second;
  llvm::hash_code shape = llvm::hash_combine(op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer());
  for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
    shape = llvm::hash_combine(shape, type.getAsOpaquePointer());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation *inner : comparedIn(block))
        shape = llvm::hash_combine(shape, shapeOf(inner, known));
  known.insert({op, shape});
  return shape;
}

/// How many lines a statement is, about: one for each statement in it and for each value with a name.
int64_t linesOf(Operation *op) {
  int64_t lines = 0;
  op->walk([&](Operation *inner) {
    bool isLine = isMovable(inner) ? !cu::findName(inner->getLoc()).empty() : !inner->hasTrait<OpTrait::IsTerminator>();
    lines += isLine && !isa<cu::CommentOp>(inner);
  });
  return lines;
}

/// Finds what stands in several places of a kernel, most lines first.
class PlaceFinder {
public:
  explicit PlaceFinder(cu::KernelOp kernel) : kernel_(kernel) {
    collect(kernel.getBlock());
    for (const Statement &statement : statements_)
      linesBefore_.push_back(linesBefore_.back() + statement.lines);
    for (unsigned i = 0; i < statements_.size(); ++i)
      if (statements_[i].op)
        ofShape_[statements_[i].shape].push_back(i);
    unsigned number = 0;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { numbers_[op] = number++; });
    for (auto &[shape, places] : ofShape_)
      llvm::sort(places, [&](unsigned i, unsigned j) { return numbers_[statements_[i].op] < numbers_[statements_[j].op]; });
    for (auto &[shape, places] : ofShape_)
      for (size_t i = 0; i < places.size(); ++i)
        for (size_t j = i + 1; j < places.size(); ++j)
          if (places[i] == 0 || places[j] == 0 || !isSame(places[i] - 1, places[j] - 1)) // else a longer run has it
            note(places[i], findLength(places[i], places[j]));
  }

  /// Makes a lambda of one run; false where there is none.
  bool outlineOne() {
    DominanceInfo dominance(kernel_);
    for (int tries = 0; tries < kTries && !runs_.empty(); ++tries) {
      auto [saved, start, length] = *runs_.begin();
      runs_.erase(runs_.begin());
      SmallVector<unsigned> places = findSame(start, length, dominance);
      int64_t least = countSaved(start, length, places.size());
      if (places.size() < 2 || least < kLeastSaved)
        continue;
      if (least < -saved && !runs_.empty() && -std::get<0>(*runs_.begin()) > least) { // fewer places than there seemed to be
        runs_.insert({-least, start, length});
        continue;
      }
      SameRuns runs = runsAt(places, length, dominance);
      if (runs.findDifference() || runs.countArguments() > kMostArguments)
        continue;
      runs.outline();
      return true;
    }
    return false;
  }

private:
  static constexpr int kTries = 64;
  static constexpr size_t kMostPlaces = 16;

  struct Statement {
    Operation *op = nullptr; ///< null behind the last one of a block
    llvm::hash_code shape = 0;
    int64_t lines = 0;
    bool isProduct = false;
  };

  void collect(Block &block) {
    for (Operation *op : statementsOf(block))
      if (!isa<cu::CommentOp>(op))
        statements_.push_back({op, shapeOf(op, knownShapes_), linesOf(op), isProduct(op)});
    statements_.emplace_back();
    for (Operation &op : block)
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          collect(inner);
  }

  /// Whether statements i and j may be the same.
  bool isSame(unsigned i, unsigned j) const {
    const Statement &x = statements_[i], &y = statements_[j];
    return x.op && y.op && x.shape == y.shape && !x.isProduct && !y.isProduct;
  }
  /// From i and j on; none in both.
  unsigned findLength(unsigned i, unsigned j) const {
    unsigned length = 0, most = i < j ? j - i : i - j;
    while (length < most && isSame(i + length, j + length))
      ++length;
    return length;
  }

  /// Where statements may be the same as those from `start` on, in the order of the text.
  SmallVector<unsigned> findPlaces(unsigned start, unsigned length) {
    SmallVector<unsigned> places;
    for (unsigned place : ofShape_[statements_[start].shape])
      if ((place == start || findLength(start, place) >= length) &&
          llvm::none_of(places, [&](unsigned other) { return place < other + length && other < place + length; }))
        places.push_back(place);
    return places;
  }

  /// Of the places of a run those that are the same as the first that is not alone; what is the same in parts is noted.
  SmallVector<unsigned> findSame(unsigned start, unsigned length, DominanceInfo &dominance) {
    SmallVector<unsigned> all = findPlaces(start, length);
    all.truncate(std::min(all.size(), kMostPlaces));
    for (ArrayRef<unsigned> left = all; left.size() > 1; left = left.drop_front()) {
      SmallVector<unsigned> same = {left.front()};
      for (unsigned place : left.drop_front())
        if (std::optional<unsigned> difference = runsAt({left.front(), place}, length, dominance).findDifference()) {
          note(start, *difference);
          note(start + *difference + 1, length - *difference - 1);
        } else {
          same.push_back(place);
        }
      if (same.size() > 1)
        return same;
    }
    return {};
  }

  /// None where the statements are too few.
  int64_t countSaved(unsigned start, unsigned length, size_t places) const {
    int64_t lines = linesBefore_[start + length] - linesBefore_[start];
    return lines < kLeastLines ? 0 : (int64_t(places) - 1) * lines;
  }

  void note(unsigned start, unsigned length) {
    if (countSaved(start, length, ofShape_[statements_[start].shape].size()) < kLeastSaved || !noted_.insert({start, length}).second)
      return; // (rejects most runs before their places are compared, which is slow)
    int64_t saved = countSaved(start, length, findPlaces(start, length).size());
    if (saved >= kLeastSaved)
      runs_.insert({-saved, start, length});
  }

  SameRuns runsAt(ArrayRef<unsigned> places, unsigned length, DominanceInfo &dominance) {
    SmallVector<SmallVector<Operation *>> runs;
    for (unsigned place : places)
      for (unsigned i = (runs.emplace_back(), 0); i < length; ++i)
        runs.back().push_back(statements_[place + i].op);
    return SameRuns(runs, dominance);
  }

  cu::KernelOp kernel_;
  SmallVector<Statement> statements_;             ///< of all blocks, those of one block in a row
  llvm::DenseMap<Operation *, unsigned> numbers_; ///< in the order of the text
  llvm::DenseMap<Operation *, llvm::hash_code> knownShapes_;
  SmallVector<int64_t> linesBefore_ = {0};
  std::map<size_t, SmallVector<unsigned>> ofShape_;
  std::set<std::pair<unsigned, unsigned>> noted_;          ///< starts and lengths
  std::set<std::tuple<int64_t, unsigned, unsigned>> runs_; ///< −lines saved, start, length
};

/// Whether ops compute the same of the same values, where numbers are the same wherever they stand.
bool areSame(Operation *x, Operation *y) {
  auto isSameValue = [](Value a, Value b) {
    std::optional<int64_t> number = getConstantIntValue(a);
    return success(a == b || (number && number == getConstantIntValue(b) && a.getType() == b.getType()));
  };
  return OperationEquivalence::isEquivalentTo(x, y, isSameValue, /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

/// Computes which thread, lane and warp this is (`tid % 32`) ahead of a lambda, where others behind it ask for it, too.
class ThreadNumbers {
public:
  explicit ThreadNumbers(cu::KernelOp kernel) : kernel_(kernel), dominance_(kernel) {}

  void shareWith(cu::LambdaOp lambda) {
    Operation *before = lambda->getPrevNode();
    place_ = isa_and_nonnull<cu::CommentOp>(before) ? before : lambda;
    SmallVector<Operation *> inside;
    lambda.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { inside.push_back(op); });
    for (Operation *op : inside)
      if (isOfThread(op))
        share(op, lambda);
  }

private:
  bool isOfThread(Operation *op) const {
    auto isKnown = [&](Value v) { return getConstantIntValue(v) || v.getDefiningOp<cu::ThreadIdOp>(); };
    return isa<cu::ThreadIdOp>(op) ||
           (isMovable(op) && cu::isIndexOp(op) && op->getNumOperands() && llvm::all_of(op->getOperands(), isKnown));
  }

  void share(Operation *op, cu::LambdaOp lambda) {
    SmallVector<Operation *> others;
    kernel_.walk([&](Operation *other) {
      if (!lambda->isProperAncestor(other) && areSame(op, other) && dominance_.properlyDominates(lambda.getOperation(), other))
        others.push_back(other);
    });
    if (others.empty())
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (Operation *number = operand.get().getDefiningOp(); lambda->isProperAncestor(number)) {
        OpBuilder b(place_);
        operand.set(b.clone(*number)->getResult(0));
      }
    op->moveBefore(place_);
    for (Operation *other : others) {
      if (cu::findName(op->getLoc()).empty())
        op->setLoc(other->getLoc());
      other->replaceAllUsesWith(op);
      other->erase();
    }
  }

  cu::KernelOp kernel_;
  DominanceInfo dominance_;
  Operation *place_ = nullptr; ///< ahead of the lambda and its comment
};

struct CuOutlinePass : impl::CuOutlineBase<CuOutlinePass> {
  void runOnOperation() override {
    for (bool isDone = false; !isDone; eraseDead(getOperation()))
      isDone = !PlaceFinder(getOperation()).outlineOne();
    SmallVector<cu::LambdaOp> lambdas;
    getOperation().walk([&](cu::LambdaOp lambda) { lambdas.push_back(lambda); });
    ThreadNumbers numbers(getOperation());
    for (cu::LambdaOp lambda : lambdas)
      numbers.shareWith(lambda);
  }
};

} // namespace
} // namespace kernelc
