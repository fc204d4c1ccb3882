// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/BlockTimes.h"

#include <cmath>
#include <map>

#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/plan/TensorBytes.h"
#include "passes/te/WindowReads.h"
#include "support/Target.h"
#include "support/TargetRates.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::te {

namespace {

double extentOf(AffineExpr e, const SizeFacts &facts, int64_t unknown) {
  int64_t most = knownMax(e, facts);
  return double(most < 0 ? unknown : most);
}

/// What a point of a statement asks of a multiprocessor's units.
struct PointWork {
  double instructions = 0, special = 0; ///< reads left out
  double ownReads = 0, memoryReads = 0;
  double bytes = 0; ///< of all reads, as lanes ask for them
};

/// `neighbours`: points along one dim that each thread makes.
PointWork workOf(const BlockSet &set, const BlockMember &m, const BlockCosts &costs, int64_t neighbours) {
  PointWork w;
  double terms = double(termsOf(m.op));
  WindowReads reads = readsOf(set, m, neighbours);
  w.ownReads = terms * reads.own;
  w.memoryReads = terms * reads.memory;
  w.bytes = terms * reads.bytes;
  m.op->walk([&](Operation *inner) {
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
      machine.add(t, workOf(set, m, target.costs->blocks, /*neighbours=*/1), points / target.smCount, /*stores=*/false);
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
      work_.push_back(workOf(set, m, costs_, costs_.roundPoints));
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
        double width = bytesOfElement(cast<RankedTensorType>(v.getType()).getElementType());
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
