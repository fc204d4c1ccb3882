// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-inside-rounds: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/tile/States.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/index/Affine.h"
#include "passes/tile/RoundMasks.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILEINSIDEROUNDS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// What must not be negative at any point of a round, over the launch's indices and the sizes.
using Questions = SmallVector<AffineExpr>;

/// What an access does without where its questions have their answer.
struct FreeLoad {
  AffineMap map;             ///< in place of the one over index tiles
  bool bounds = false;       ///< no test whether a subscript leaves the tensor
  SmallVector<int64_t> mask; ///< what is left of it
};

/// The points of a round as affine forms of the launch's indices, as if no minimum and no maximum with a bound had anything to do. What
/// that takes is added to `questions`.
class PointForms {
public:
  PointForms(FuncOp func, ValueRange offsets) : func_(func), offsets_(offsets) {}

  AffineExpr of(Value tile, Questions &questions) {
    Operation *op = tile.getDefiningOp();
    if (auto spread = dyn_cast_or_null<BroadcastOp>(op))
      return of(spread.getInput(), questions);
    if (auto index = dyn_cast_or_null<IndexOp>(op))
      return index.getOffset() == offsets_[index.getDim()] ? dim(index.getDim()) : AffineExpr();
    if (auto splat = dyn_cast_or_null<SplatOp>(op))
      return ofScalar(splat.getInput());
    if (auto constant = dyn_cast_or_null<arith::ConstantOp>(op)) {
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      return splat ? getAffineConstantExpr(splat.getSplatValue<APInt>().getSExtValue(), func_.getContext()) : AffineExpr();
    }
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MinSIOp, arith::MaxSIOp>(op))
      return {};
    AffineExpr x = of(op->getOperand(0), questions), y = of(op->getOperand(1), questions);
    if (!x || !y)
      return {};
    if (isa<arith::AddIOp>(op))
      return x + y;
    if (isa<arith::SubIOp>(op))
      return x - y;
    bool isFirst = y.isSymbolicOrConstant(); // the form; the other one is a factor, or a bound
    if (isFirst == x.isSymbolicOrConstant())
      return {};
    if (isa<arith::MulIOp>(op))
      return x * y;
    AffineExpr form = isFirst ? x : y, bound = isFirst ? y : x;
    questions.push_back(isa<arith::MinSIOp>(op) ? bound - form : form - bound);
    return form;
  }

private:
  AffineExpr dim(unsigned d) { return getAffineDimExpr(d, func_.getContext()); }

  AffineExpr ofScalar(Value v) {
    APInt constant;
    if (matchPattern(v, m_ConstantInt(&constant)))
      return getAffineConstantExpr(constant.getSExtValue(), func_.getContext());
    if (auto apply = v.getDefiningOp<ApplyOp>()) {
      SmallVector<AffineExpr> operands = llvm::map_to_vector(apply.getOperands_(), [&](Value o) { return ofScalar(o); });
      return llvm::is_contained(operands, AffineExpr()) ? AffineExpr() : apply.getMap().getResult(0).replaceDims(operands);
    }
    for (auto [d, offset] : llvm::enumerate(offsets_))
      if (offset == v && func_.getTiles()[d] == 1)
        return dim(d);
    return {};
  }

  FuncOp func_;
  ValueRange offsets_;
};

class RoundVersions {
public:
  RoundVersions(FuncOp func, scf::ForOp loop) : func_(func), loop_(loop), tiles_(func.getTiles()), unwritten_(func.getRank()) {}

  void run() {
    if (loop_.getNumResults() != 0 || !isNatural(loop_.getLowerBound()) || !findOffsets())
      return;
    clampOwn();
    for (Operation &op : *loop_.getBody())
      if (auto load = dyn_cast<LoadOp>(op))
        visit(load);
      else if (auto condition = dyn_cast<arith::CmpIOp>(op))
        visit(condition);
    // (a read that stands alone asks once)
    if (tests_ > 1 && !rests_.empty())
      split();
  }

private:
  /// Whether it is the same in all rounds, and not negative.
  static bool isNatural(Value v) { return v.getDefiningOp<ProgramIdOp>() || getConstantIntValue(v).value_or(-1) >= 0; }

  /// Whether the rounds read, compute and write alone, all at the same points.
  bool findOffsets() {
    for (Operation &op : loop_.getBody()->without_terminator()) {
      auto load = dyn_cast<LoadOp>(op);
      auto store = dyn_cast<StoreOp>(op);
      if (!isStraight(&op) || isa<DotOp>(op) || (!load && !store && !isMemoryEffectFree(&op)))
        return false;
      if (!load && !store)
        continue;
      ValueRange offsets = load ? load.getOffsets() : store.getOffsets();
      if (offsets_.empty())
        llvm::append_range(offsets_, offsets);
      if (!llvm::equal(offsets_, offsets))
        return false;
    }
    return !offsets_.empty() && llvm::all_of(offsets_, [&](Value v) { return isNatural(v) || v == loop_.getInductionVar(); });
  }

  /// Points beyond the ends of an index that all stores leave out may be made of anything: reads of the block's own memory there need no
  /// zeros, and so no branch of a thread's own.
  void clampOwn() {
    Questions unused;
    PointForms forms(func_, offsets_);
    llvm::BitVector written(func_.getRank());
    for (Operation &op : loop_.getBody()->without_terminator()) {
      auto load = dyn_cast<LoadOp>(op);
      bool isByData = load && llvm::any_of(load.getIndexTiles(), [&](Value index) { return !forms.of(index, unused); });
      if (isByData || !isPointwise(op))
        return;
      if (auto store = dyn_cast<StoreOp>(op))
        for (unsigned d = 0; d < func_.getRank(); ++d)
          if (!llvm::is_contained(store.getMask(), int64_t(d)))
            written.set(d);
    }
    unwritten_ = written.flip();
    for (LoadOp load : loop_.getBody()->getOps<LoadOp>())
      clamp(load);
  }

  /// (Index tiles may lead a point beyond the end anywhere.)
  void clamp(LoadOp load) {
    if (isOwnMemory(func_.getSources()[cast<BlockArgument>(load.getBase()).getArgNumber()]) && !load.getPadding() &&
        load.getIndexTiles().empty())
      load.setClamp(llvm::filter_to_vector(load.getMask(), [&](int64_t d) { return unwritten_.test(unsigned(d)); }));
  }

  static bool isPointwise(Operation &op) {
    return isa<LoadOp, StoreOp, BroadcastOp, SplatOp, IndexOp, InsideOp, ApplyOp, tile::ConvertOp>(op) ||
           llvm::is_contained({"arith", "math"}, op.getName().getDialectNamespace());
  }

  AffineExpr simplify(AffineExpr e) { return simplifyAffineExpr(e, func_.getRank(), func_.getSizes().size()); }

  /// What is asked of the offsets, where `question` is to hold at all points of a round; null for other forms.
  AffineExpr worst(AffineExpr question) {
    question = simplify(question);
    SmallVector<AffineExpr> points;
    for (unsigned d = 0; d < func_.getRank(); ++d) {
      std::optional<int64_t> by = te::linearCoefficient(question, d);
      if (!by)
        return {};
      std::optional<int64_t> start = getConstantIntValue(offsets_[d]);
      AffineExpr at = start ? getAffineConstantExpr(*start, func_.getContext()) : getAffineDimExpr(d, func_.getContext());
      points.push_back(*by < 0 ? at + (tiles_[d] - 1) : at);
    }
    return simplify(question.replaceDims(points));
  }

  /// Whether some round has all of the answers, as far as is known here: then they are asked for.
  bool ask(const Questions &questions) {
    SmallVector<AffineExpr> rests = llvm::map_to_vector(questions, [&](AffineExpr q) { return worst(q); });
    for (AffineExpr rest : rests)
      if (auto number = dyn_cast_or_null<AffineConstantExpr>(rest); !rest || (number && number.getValue() < 0))
        return false;
    for (AffineExpr rest : rests) {
      int64_t number = 0;
      bool holds = true; // offsets and sizes are never negative
      for (auto [term, by] : te::splitTerms(rest)) {
        if (auto c = dyn_cast<AffineConstantExpr>(term))
          number += c.getValue() * by;
        else
          holds &= by >= 0 && isa<AffineDimExpr, AffineSymbolExpr>(term);
      }
      if (holds && number >= 0)
        continue;
      AffineExpr form = simplify(rest - number);
      auto [at, isNew] = rests_.try_emplace(form, number);
      at->second = std::min(at->second, number);
    }
    return true;
  }

  void visit(LoadOp load) {
    unsigned rank = func_.getRank();
    FreeLoad left{load.getMap(), false, llvm::to_vector(load.getMask())};
    SmallVector<int64_t> mask;
    for (int64_t d : left.mask)
      if (!ask({func_.getExtent(unsigned(d)) - 1 - getAffineDimExpr(unsigned(d), func_.getContext())}))
        mask.push_back(d);
    bool freed = mask.size() < left.mask.size();
    left.mask = std::move(mask);

    Questions questions;
    PointForms forms(func_, offsets_);
    SmallVector<AffineExpr> points;
    for (unsigned d = 0; d < rank; ++d)
      points.push_back(getAffineDimExpr(d, func_.getContext()));
    for (Value index : load.getIndexTiles())
      points.push_back(forms.of(index, questions));
    bool isTested = load.getBounds() == te::BoundsMode::Edge || load.getBounds() == te::BoundsMode::Pad;
    bool isIn = isTested || load.getBounds() == te::BoundsMode::InBounds || load.getBounds() == te::BoundsMode::Assume;
    if (isIn && !llvm::is_contained(points, AffineExpr()) && (isTested || points.size() > rank)) {
      SmallVector<AffineExpr> subscripts =
          llvm::map_to_vector(load.getMap().getResults(), [&](AffineExpr e) { return simplify(e.replaceDims(points)); });
      AffineMap shape = func_.getArgShape(cast<BlockArgument>(load.getBase()).getArgNumber());
      if (isTested)
        for (auto [subscript, size] : llvm::zip(subscripts, shape.getResults()))
          questions.append({subscript, size - 1 - subscript});
      if (ask(questions)) {
        left.map = AffineMap::get(rank, load.getMap().getNumSymbols(), subscripts, func_.getContext());
        left.bounds = freed = true;
      }
    }
    if (!freed)
      return;
    ++tests_;
    loads_[load] = left;
  }

  void visit(arith::CmpIOp condition) {
    auto type = dyn_cast<RankedTensorType>(condition.getLhs().getType());
    if (!type || !type.getElementType().isIndex())
      return;
    Questions questions;
    PointForms forms(func_, offsets_);
    AffineExpr x = forms.of(condition.getLhs(), questions), y = forms.of(condition.getRhs(), questions);
    if (!x || !y)
      return;
    switch (condition.getPredicate()) {
    case arith::CmpIPredicate::sge: questions.push_back(x - y); break;
    case arith::CmpIPredicate::sgt: questions.push_back(x - y - 1); break;
    case arith::CmpIPredicate::sle: questions.push_back(y - x); break;
    case arith::CmpIPredicate::slt: questions.push_back(y - x - 1); break;
    default: return;
    }
    if (!ask(questions))
      return;
    ++tests_;
    conditions_.push_back(condition);
  }

  Value emitGuard(OpBuilder &b) {
    Location plain = cu::unnamed(loop_.getLoc());
    Value all, zero = arith::ConstantIndexOp::create(b, plain, 0);
    for (auto [form, number] : rests_) {
      AffineMap map = AffineMap::get(func_.getRank(), func_.getSizes().size(), form + number);
      Value rest = ApplyOp::create(b, plain, b.getIndexType(), map, offsets_);
      Value holds = arith::CmpIOp::create(b, plain, arith::CmpIPredicate::sge, rest, zero);
      all = all ? arith::AndIOp::create(b, plain, all, holds).getResult() : holds;
    }
    return all;
  }

  void split() {
    Block *body = loop_.getBody();
    OpBuilder b = OpBuilder::atBlockBegin(body);
    SmallVector<Operation *> round;
    for (Operation &op : body->without_terminator())
      round.push_back(&op);
    auto branch = scf::IfOp::create(b, cu::unnamed(loop_.getLoc()), emitGuard(b), /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    for (Operation *op : round) {
      Operation *inside = b.clone(*op, mapping);
      if (auto load = dyn_cast<LoadOp>(op); load && loads_.contains(load))
        release(cast<LoadOp>(inside), loads_[load]);
    }
    for (Operation *op : round)
      op->moveBefore(branch.elseBlock()->getTerminator());
    for (arith::CmpIOp condition : conditions_)
      foldTrue(mapping.lookup(condition.getResult()));
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*branch.thenBlock())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  void release(LoadOp load, const FreeLoad &left) {
    load.setMask(left.mask);
    if (left.bounds) {
      load.setBounds(te::BoundsMode::InBounds);
      load.getPaddingMutable().clear();
      load.getIndexTilesMutable().clear();
      load.setMap(left.map);
    }
    clamp(load);
  }

  FuncOp func_;
  scf::ForOp loop_;
  ArrayRef<int64_t> tiles_;
  SmallVector<Value> offsets_;
  llvm::BitVector unwritten_;                  ///< indices beyond whose ends no point is written
  llvm::MapVector<AffineExpr, int64_t> rests_; ///< forms without their constants, with the least of these
  DenseMap<LoadOp, FreeLoad> loads_;
  SmallVector<arith::CmpIOp> conditions_;
  int64_t tests_ = 0;
};

struct TileInsideRoundsPass : impl::TileInsideRoundsBase<TileInsideRoundsPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (!llvm::any_of(func.getSources(), isOwnMemory))
      return;
    SmallVector<scf::ForOp> loops;
    func.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      RoundVersions(func, loop).run();
  }
};

} // namespace
} // namespace kernelc
