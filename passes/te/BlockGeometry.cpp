// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/BlockGeometry.h"

#include <cmath>
#include <map>
#include <set>

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/IndexArithmetic.h"
#include "support/Target.h"
#include "support/TargetRates.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// The subscripts of a read over its statement's dims, and over `leaves` behind those, which are data.
SmallVector<AffineExpr> subscriptsOf(ReadOp read, Operation *reader, SmallVectorImpl<Value> &leaves) {
  AffineMap map = read.getMapOrIdentity();
  llvm::append_range(leaves, reader->getRegion(0).front().getArguments());
  SmallVector<AffineExpr> operands = llvm::map_to_vector(read.getOperands_(), [&](Value v) { return affineOf(v, leaves); });
  return llvm::map_to_vector(map.getResults(),
                             [&](AffineExpr e) { return simplifyAffineExpr(e.replaceDims(operands), leaves.size(), map.getNumSymbols()); });
}

} // namespace

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

namespace {

/// How many points a reduction over a window of constants has; 1 of a pointwise statement, 0 of others.
int64_t termsOf(Operation *op) {
  Count terms = 1;
  for (AffineExpr e : getExtents(op).getResults().drop_front(getNumParallel(op))) {
    auto c = dyn_cast<AffineConstantExpr>(e);
    terms *= c ? std::max<int64_t>(c.getValue(), 0) : 0;
  }
  return int64_t(terms);
}

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

double extentOf(AffineExpr e, const SizeFacts &facts, int64_t unknown) {
  int64_t most = knownMax(e, facts);
  return double(most < 0 ? unknown : most);
}

double bytesOf(Value tensor, const SizeFacts &facts, int64_t unknown) {
  double bytes = std::max(8u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth()) / 8.0;
  for (AffineExpr e : getTensorShape(tensor).getResults())
    bytes *= extentOf(e, facts, unknown);
  return bytes;
}

/// What a point of a statement asks of a multiprocessor's units.
struct PointWork {
  double instructions = 0, special = 0; ///< reads left out
  double ownReads = 0, memoryReads = 0;
  double bytes = 0; ///< of all reads, as lanes ask for them
};

constexpr unsigned kSector = 32; ///< bytes of memory that come together

PointWork workOf(const BlockSet &set, const BlockMember &m, const BlockCosts &costs) {
  PointWork w;
  double terms = double(termsOf(m.op));
  std::set<std::pair<const void *, SmallVector<const void *>>> seen;
  m.op->walk([&](Operation *inner) {
    if (auto read = dyn_cast<ReadOp>(inner)) {
      SmallVector<Value> leaves;
      SmallVector<AffineExpr> subscripts = subscriptsOf(read, m.op, leaves);
      SmallVector<const void *> at = llvm::map_to_vector(subscripts, [](AffineExpr e) { return e.getAsOpaquePointer(); });
      for (Value v : ArrayRef(leaves).drop_front(getExtents(m.op).getNumResults()))
        at.push_back(v.getAsOpaquePointer());
      if (!seen.insert({read.getTensor().getAsOpaquePointer(), at}).second)
        return;
      const BlockMember *made = set.find(read.getTensor().getDefiningOp());
      bool isOwn = made && !made->isSink;
      (isOwn ? w.ownReads : w.memoryReads) += terms;
      // Neighbours of a row are neighbours in memory, or each has a sector of its own.
      unsigned row = llvm::find(m.blockDims, unsigned(m.blockDims.size() - 1)) - m.blockDims.begin();
      auto isAlong = [&](unsigned d) { return !subscripts.empty() && subscripts.back().isFunctionOfDim(d); };
      bool isApart = !isOwn && !isAlong(row) && llvm::any_of(llvm::seq<unsigned>(0, m.blockDims.size()), isAlong);
      w.bytes += terms * (isApart ? kSector : std::max(4u, read.getTensor().getType().getElementTypeBitWidth() / 8));
      return;
    }
    StringRef dialect = inner->getName().getDialectNamespace();
    if (inner->getNumResults() != 1 || inner->getResult(0).getType().isIndex() || isa<arith::ConstantOp>(inner) ||
        (dialect != "arith" && dialect != "math"))
      return;
    (dialect == "math" || isa<arith::DivFOp>(inner) ? w.special : w.instructions) += terms;
  });
  w.instructions += costs.pointWork + (isa<ReduceOp>(m.op) ? terms : 0);
  return w;
}

/// Times of one launch, of which the longest counts.
struct UnitTimes {
  double memory = 0, l2 = 0, cores = 0, special = 0, shared = 0;
  double most() const { return std::max({memory, l2, cores, special, shared}); }
  double sum() const { return memory + l2 + cores + special + shared; }
};

struct Machine {
  const Target &target;
  const TargetRates &rates;
  double memory, launch;
  Machine(const Target &t)
      : target(t), rates(*findTargetRates(t.name)), memory(t.partRates.memory > 0 ? t.partRates.memory : t.costs->merging.rate),
        launch((t.partRates.launch > 0 ? t.partRates.launch : t.costs->merging.start) + t.costs->merging.oneBlock) {}
  /// Adds what `points` points on one multiprocessor take.
  void add(UnitTimes &t, const PointWork &w, double points, bool stores) const {
    const BlockCosts &c = target.costs->blocks;
    t.cores += points * (w.instructions + c.ownRead * w.ownReads + c.memoryRead * w.memoryReads) / (double(rates.f32) * rates.clock);
    t.special += points * w.special / (double(rates.special) * rates.clock);
    t.shared += points * (w.bytes + (stores ? 4 : 0)) / (double(rates.shared) * rates.clock);
  }
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
        if (m.bounds == BoundsMode::Edge) { // what is nearest may be the point itself
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

std::pair<double, unsigned> timeApart(const BlockSet &set, const Target &target, const SizeFacts &facts) {
  Machine machine(target);
  int64_t unknown = target.costs->merging.unknownExtent;
  // What is read at its own points is where it is made.
  std::map<Operation *, unsigned> launchOf;
  unsigned launches = 0;
  for (const BlockMember &m : set.members) {
    unsigned at = 0;
    m.op->walk([&](ReadOp read) {
      if (const BlockMember *made = set.find(read.getTensor().getDefiningOp())) {
        std::optional<SmallVector<Window>> windows = findWindows(read, m.op);
        bool isPoint = llvm::all_of(*windows, [](const Window &w) { return w.isPoint(); });
        at = std::max(at, launchOf[made->op] + !isPoint);
      }
    });
    launchOf[m.op] = at;
    launches = std::max(launches, at + 1);
  }
  double time = 0;
  for (unsigned launch = 0; launch < launches; ++launch) {
    UnitTimes t;
    llvm::SetVector<Value> moved;
    for (const BlockMember &m : set.members) {
      if (launchOf[m.op] != launch)
        continue;
      double points = 1;
      for (unsigned d = 0; d < getNumParallel(m.op); ++d)
        points *= extentOf(getExtents(m.op).getResult(d), facts, unknown);
      machine.add(t, workOf(set, m, target.costs->blocks), points / target.smCount, /*stores=*/false);
      m.op->walk([&](ReadOp read) {
        auto made = launchOf.find(read.getTensor().getDefiningOp());
        if (made == launchOf.end() || made->second != launch)
          moved.insert(read.getTensor());
      });
      Value result = m.op->getResult(0);
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            auto reader = launchOf.find(user->getParentOp());
            return reader == launchOf.end() || reader->second != launch;
          }))
        moved.insert(result);
    }
    for (Value v : moved)
      t.memory += bytesOf(v, facts, unknown) / machine.memory;
    time += t.most() + machine.launch;
  }
  return {time, launches};
}

namespace {

class TileChooser {
public:
  TileChooser(const BlockSet &set, const Target &target, const SizeFacts &facts)
      : set_(set), target_(target), costs_(target.costs->blocks), facts_(facts), machine_(target),
        unknown_(target.costs->merging.unknownExtent) {
    for (const BlockMember &m : set.members)
      work_.push_back(workOf(set, m, costs_));
  }

  std::optional<BlockTiles> run() {
    tiles_.assign(set_.wide.size(), 1);
    choose(0);
    return best_;
  }

private:
  /// The points of a dim of which some member has a power of two in a block, and none more.
  void choose(unsigned dim) {
    if (dim == tiles_.size())
      return weigh();
    if (!set_.wide[dim])
      return choose(dim + 1);
    bool isRow = dim + 1 == tiles_.size();
    int64_t most = set_.wide.count() == 1 ? costs_.longestLine : isRow ? costs_.longestRow : costs_.longestSide;
    for (int64_t side = most, least = isRow ? most / 2 : 4; side >= least; side /= 2) { // (short rows begin and end inside sectors)
      int64_t tile = side;
      for (const BlockMember &m : set_.members)
        tile = std::min(tile, (side - (m.last[dim] - m.low[dim]) - 1) / m.scale[dim] + 1);
      if (tile < 1)
        continue;
      tiles_[dim] = tile;
      choose(dim + 1);
    }
    tiles_[dim] = 1;
  }

  void weigh() {
    BlockTiles own{tiles_};
    double blocks = 1, asked = 1;
    for (unsigned d = 0; d < tiles_.size(); ++d) {
      blocks *= std::ceil(extentOf(set_.extentOf(d), facts_, unknown_) / double(tiles_[d]));
      asked *= double(tiles_[d]);
    }
    UnitTimes t;
    llvm::SetVector<Value> moved;
    double made = 0, wanted = 0, most = 0;
    for (auto [m, work] : llvm::zip(set_.members, work_)) {
      double points = 1;
      for (unsigned d = 0; d < tiles_.size(); ++d)
        points *= set_.wide[d] ? double(m.extent(d, tiles_[d])) : 1;
      most = std::max(most, points);
      int64_t bytes = std::max(1u, cast<RankedTensorType>(m.op->getResult(0).getType()).getElementTypeBitWidth() / 8);
      if (m.isSink)
        t.memory += bytesOf(m.op->getResult(0), facts_, unknown_) / machine_.memory;
      else
        own.bytes += int64_t(llvm::alignTo(uint64_t(points * double(bytes)), 128));
      double perMultiprocessor = std::ceil(blocks / target_.smCount) * points;
      machine_.add(t, work, perMultiprocessor, !m.isSink);
      made += points;
      double scale = 1;
      for (int64_t s : m.scale)
        scale *= double(s);
      wanted += asked * scale;
      llvm::SetVector<Value> read;
      m.op->walk([&](ReadOp r) {
        const BlockMember *producer = set_.find(r.getTensor().getDefiningOp());
        if (!producer || producer->isSink)
          read.insert(r.getTensor());
      });
      for (Value v : read) {
        double width = std::max(8u, cast<RankedTensorType>(v.getType()).getElementTypeBitWidth()) / 8.0;
        t.l2 += std::min(bytesOf(v, facts_, unknown_) * points / asked, blocks * points * width) / machine_.rates.l2;
      }
      moved.insert_range(read);
    }
    for (Value v : moved)
      t.memory += bytesOf(v, facts_, unknown_) / machine_.memory;
    if (most > double(costs_.mostPoints) || most < double(costs_.fewestPoints) ||
        own.bytes * costs_.residentBlocks > target_.maxSharedPerBlock)
      return;
    own.points = made / wanted;
    own.time = t.most() + costs_.phases * (t.sum() - t.most()) + machine_.launch;
    if (!best_ || own.time < best_->time)
      best_ = std::move(own);
  }

  const BlockSet &set_;
  const Target &target_;
  const BlockCosts &costs_;
  SizeFacts facts_;
  Machine machine_;
  int64_t unknown_;
  std::vector<PointWork> work_;
  SmallVector<int64_t> tiles_;
  std::optional<BlockTiles> best_;
};

} // namespace

std::optional<BlockTiles> chooseTiles(const BlockSet &set, const Target &target, const SizeFacts &facts) {
  return TileChooser(set, target, facts).run();
}

} // namespace kernelc::te
