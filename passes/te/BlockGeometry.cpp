// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/BlockGeometry.h"

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/IndexArithmetic.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::te {

SmallVector<AffineExpr> subscriptsOf(ReadOp read, Operation *reader, SmallVectorImpl<Value> &leaves) {
  AffineMap map = read.getMapOrIdentity();
  llvm::append_range(leaves, reader->getRegion(0).front().getArguments());
  SmallVector<AffineExpr> operands = llvm::map_to_vector(read.getOperands_(), [&](Value v) { return affineOf(v, leaves); });
  return llvm::map_to_vector(map.getResults(),
                             [&](AffineExpr e) { return simplifyAffineExpr(e.replaceDims(operands), leaves.size(), map.getNumSymbols()); });
}

std::optional<SmallVector<Window>> findWindows(ReadOp read, Operation *reader) {
  AffineMap extents = getExtents(reader);
  SmallVector<Value> leaves;
  SmallVector<Window> windows;
  llvm::BitVector taken(getNumParallel(reader));
  for (AffineExpr e : subscriptsOf(read, reader, leaves)) {
    Window w;
    bool found = false;
    for (auto [term, by] : splitTerms(e)) {
      if (auto c = dyn_cast<AffineConstantExpr>(term)) {
        w.low += by * c.getValue();
        w.high += by * c.getValue();
        continue;
      }
      auto operand = dyn_cast<AffineDimExpr>(term);
      unsigned d = operand ? operand.getPosition() : extents.getNumResults();
      if (d >= extents.getNumResults())
        return std::nullopt;
      if (d < taken.size()) {
        if (found || taken[d] || by < 1)
          return std::nullopt;
        found = true;
        taken.set(d);
        w.dim = d;
        w.step = by;
        continue;
      }
      auto points = dyn_cast<AffineConstantExpr>(extents.getResult(d));
      if (!points || points.getValue() < 1)
        return std::nullopt;
      (by > 0 ? w.high : w.low) += by * (points.getValue() - 1);
    }
    if (!found)
      return std::nullopt;
    windows.push_back(w);
  }
  return windows.size() == taken.size() ? std::optional(windows) : std::nullopt;
}

const BlockMember *BlockSet::find(Operation *op) const {
  auto it = llvm::find_if(members, [&](const BlockMember &m) { return m.op == op; });
  return it == members.end() ? nullptr : &*it;
}

AffineExpr BlockSet::extentOf(unsigned dim) const { return getExtents(sink).getResult(dim); }

int64_t termsOf(Operation *op) {
  Count terms = 1;
  for (AffineExpr e : getExtents(op).getResults().drop_front(getNumParallel(op))) {
    auto c = dyn_cast<AffineConstantExpr>(e);
    terms *= c ? std::max<int64_t>(c.getValue(), 0) : 0;
  }
  return int64_t(terms);
}

namespace {

/// Quotients of integers, which points beyond the extents would ask for by zero.
bool mayFault(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
                           arith::CeilDivUIOp>(inner);
        return divides && !inner->getResult(0).getType().isIndex() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a statement's points can be made by any block, as often as they are needed.
bool canBeMember(Operation *op, const BlockCosts &costs) {
  if (hasOwnLaunch(op) || isInBlock(op) || isPointByPoint(op) || isBehindParts(op) || getNumParallel(op) == 0 || mayFault(op))
    return false;
  if (auto compute = dyn_cast<ComputeOp>(op))
    return !compute.getInit() && !compute.getOutMap() && !compute.getCondition() && !compute.getPartial() &&
           !compute.getYield().getCondition();
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && !reduce.isArg() && !reduce.getInit() && !reduce.getOutMap() && !getCondition(op) && !reduce.getYield().getCondition() &&
         termsOf(op) > 0 && termsOf(op) <= costs.largestWindow && !findScan(reduce) && !findGeneralContraction(reduce) && !isInTile(op) &&
         getStreamedDims(op).empty() && !isSegmented(op);
}

class SetFinder {
public:
  SetFinder(KernelOp kernel, const BlockCosts &costs) : kernel_(kernel), costs_(costs) {}

  std::optional<BlockSet> run(Operation *sink, unsigned rounds) {
    if (!canBeMember(sink, costs_) || !isFree(sink))
      return std::nullopt;
    set_.sink = sink;
    set_.members.push_back({sink, llvm::to_vector(llvm::seq(getNumParallel(sink))), true});
    for (unsigned round = 0; round < rounds; ++round) {
      llvm::SetVector<Operation *> producers;
      for (const BlockMember &m : set_.members)
        m.op->walk([&](ReadOp read) {
          if (Operation *made = read.getTensor().getDefiningOp(); made && !set_.find(made))
            producers.insert(made);
        });
      // What is read last first: those before it may be read by it alone.
      SmallVector<Operation *> order(producers.takeVector());
      llvm::sort(order, [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
      size_t before = set_.members.size();
      for (Operation *made : order)
        add(made);
      if (set_.members.size() == before)
        break;
      // What members read at their own points alone would be in their launch, not in one of its own.
      for (size_t n = 0; n < set_.members.size(); ++n) {
        Operation *member = set_.members[n].op;
        member->walk([&](ReadOp read) {
          if (Operation *made = read.getTensor().getDefiningOp(); made && !set_.find(made) && isPoint(read, member))
            add(made);
        });
      }
      rounds_ = round + 1;
    }
    if (rounds_ < rounds || !readsMemoryAlone() || readsPointsOfOthers())
      return std::nullopt;
    llvm::sort(set_.members, [](const BlockMember &a, const BlockMember &b) { return a.op->isBeforeInBlock(b.op); });
    return set_.measure() ? std::optional(std::move(set_)) : std::nullopt;
  }

private:
  /// Whether nothing but reads and returns asks for a result, in memory that nothing else writes.
  bool isFree(Operation *op) {
    for (Operation *user : op->getUsers())
      if (!isa<ReadOp, ReturnOp>(user))
        return false;
    for (auto [n, v] : llvm::enumerate(kernel_.getReturn().getOperands()))
      if (v.getDefiningOp() == op && kernel_.getAlias(n) >= 0)
        return false;
    return true;
  }

  static bool isPoint(ReadOp read, Operation *reader) {
    std::optional<SmallVector<Window>> windows = findWindows(read, reader);
    return windows && read.getBounds() == BoundsMode::InBounds && llvm::all_of(*windows, [](const Window &w) { return w.isPoint(); });
  }

  /// Whether a member stands in the launch of a statement that is none, whose points it reads.
  bool readsPointsOfOthers() {
    return llvm::any_of(set_.members, [&](const BlockMember &m) {
      return !m.isSink && m.op->walk([&](ReadOp read) {
                                Operation *made = read.getTensor().getDefiningOp();
                                return made && !set_.find(made) && isPoint(read, m.op) ? WalkResult::interrupt() : WalkResult::advance();
                              })
                              .wasInterrupted();
    });
  }

  /// Adds what members alone read, at windows of their points.
  void add(Operation *made) {
    if (set_.members.size() >= size_t(costs_.mostStatements) || !canBeMember(made, costs_) || made->getNumResults() != 1 ||
        getNumParallel(made) != getNumParallel(set_.sink) || !isFree(made))
      return;
    BlockMember m{made, {}};
    SmallVector<ReadOp> reads;
    for (Operation *user : made->getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      const BlockMember *reader = read ? set_.find(read->getParentOp()) : nullptr;
      std::optional<SmallVector<Window>> windows = reader ? findWindows(read, reader->op) : std::nullopt;
      if (!windows || !agree(m, read))
        return;
      SmallVector<unsigned> dims = llvm::map_to_vector(*windows, [&](const Window &w) { return reader->blockDims[w.dim]; });
      if (!m.blockDims.empty() && m.blockDims != dims)
        return;
      m.blockDims = dims;
      // What is nearest to a point is in the block that needs it where both tensors end with the set's results.
      for (auto [r, w] : llvm::enumerate(*windows))
        if (m.bounds == BoundsMode::Edge && (w.step != 1 || getExtents(made).getResult(r) != set_.extentOf(dims[r])))
          return;
    }
    set_.members.push_back(std::move(m));
  }

  /// Whether a read sees outside of the tensor what the others do.
  static bool agree(BlockMember &m, ReadOp read) {
    BoundsMode mode = read.getBounds();
    if (mode == BoundsMode::InBounds || mode == BoundsMode::Assume)
      return true;
    auto padding = read.getPadding() ? read.getPadding().getDefiningOp<arith::ConstantOp>() : arith::ConstantOp();
    if ((mode != BoundsMode::Edge && mode != BoundsMode::Pad) || (mode == BoundsMode::Pad && !padding) ||
        (m.bounds != BoundsMode::InBounds && m.bounds != mode) || (m.padding && m.padding != padding.getValue()))
      return false;
    m.bounds = mode;
    m.padding = padding ? padding.getValue() : TypedAttr();
    return true;
  }

  /// Whether no member reads memory that the kernel writes in place.
  bool readsMemoryAlone() {
    llvm::SmallPtrSet<Value, 4> inout;
    for (size_t n = 0; n < kernel_.getOutNames().size(); ++n)
      if (int64_t alias = kernel_.getAlias(n); alias >= 0)
        inout.insert(kernel_.getBlock().getArgument(alias));
    auto readsNone = [&](const BlockMember &m) {
      return !m.op->walk([&](ReadOp read) { return inout.contains(read.getTensor()) ? WalkResult::interrupt() : WalkResult::advance(); })
                  .wasInterrupted();
    };
    return llvm::all_of(set_.members, readsNone);
  }

  KernelOp kernel_;
  const BlockCosts &costs_;
  BlockSet set_;
  unsigned rounds_ = 0;
};

} // namespace

bool BlockSet::measure() {
  unsigned rank = getNumParallel(sink);
  wide = llvm::BitVector(rank);
  wide.set(rank - 1);
  bool some = false;
  for (BlockMember &m : llvm::reverse(members)) {
    m.scale.assign(rank, m.isSink ? 1 : 0);
    m.low.assign(rank, 0);
    m.last.assign(rank, 0);
    if (m.isSink)
      continue;
    for (Operation *user : m.op->getUsers()) {
      auto read = cast<ReadOp>(user);
      const BlockMember *reader = find(read->getParentOp());
      std::optional<SmallVector<Window>> windows = findWindows(read, reader->op);
      for (const Window &w : *windows) {
        unsigned k = reader->blockDims[w.dim];
        int64_t scale = w.step * reader->scale[k], low = w.step * reader->low[k] + w.low, last = w.step * reader->last[k] + w.high;
        if (m.bounds == BoundsMode::Edge) { // what is nearest may be the point itself, and is the block's where it goes as far as the set
          if (scale != 1)
            return false;
          low = std::min<int64_t>(low, 0);
          last = std::max<int64_t>(last, 0);
        }
        if (m.scale[k] && m.scale[k] != scale)
          return false;
        m.low[k] = m.scale[k] ? std::min(m.low[k], low) : low;
        m.last[k] = m.scale[k] ? std::max(m.last[k], last) : last;
        m.scale[k] = scale;
        if (!w.isPoint() || scale != 1) {
          wide.set(k);
          some = true;
        }
      }
    }
  }
  return some;
}

std::optional<BlockSet> findBlockSet(KernelOp kernel, Operation *sink, unsigned rounds, const BlockCosts &costs) {
  return SetFinder(kernel, costs).run(sink, rounds);
}

} // namespace kernelc::te
