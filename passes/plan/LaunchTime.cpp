// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/LaunchTime.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Memories.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/ProductRounds.h"
#include "passes/plan/Siblings.h"
#include "passes/plan/Sketch.h"
#include "passes/plan/TensorBytes.h"
#include "support/TargetCosts.h"
#include "support/TargetRates.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace kernelc::te {
namespace {

bool isAddOf(Operation *op) { return isa<arith::AddFOp, arith::SubFOp, arith::AddIOp, arith::SubIOp>(op); }
/// Whether it is a product that nothing else uses: what adds it multiplies, too.
bool isProductForOne(Value value) {
  Operation *made = value.getDefiningOp();
  return made && isa<arith::MulFOp, arith::MulIOp>(made) && value.hasOneUse();
}

/// One launch with known sizes.
class Reckoner {
public:
  Reckoner(KernelOp kernel, const LaunchPlan &launch, const Target &target, const SizeFacts &likely)
      : ops_(getDomainOps(kernel)), l_(launch), target_(target), rates_(*findTargetRates(target.name)), likely_(likely),
        sketch_(sketchLaunch(kernel, launch, placeTensors(kernel).source)) {}

  std::optional<LaunchTime> run() {
    for (AffineExpr e : l_.extents.getResults())
      if (knownMax(e, likely_) < 0)
        return std::nullopt;
    time_.blocks = l_.cluster > 1 && !llvm::is_contained(l_.grid, l_.clusterIndex) ? double(l_.cluster) : 1;
    for (int64_t g : l_.grid)
      time_.blocks *= std::ceil(extent(g) / tile(g));
    time_.waves = std::ceil(time_.blocks / target_.smCount);
    for (auto [n, ordinal] : llvm::enumerate(l_.ops)) {
      reckonWork(ops_[ordinal], l_.dims[n]);
      reckonTraffic(ops_[ordinal]);
      steps_ = 0;
      reckonOwn(ops_[ordinal], l_.dims[n]);
    }
    double memory = target_.partRates.memory > 0 ? target_.partRates.memory : target_.costs->merging.rate;
    time_.memory = bytes_ / memory;
    time_.l2 = traffic_ / rates_.l2;
    time_.launch = target_.partRates.launch > 0 ? target_.partRates.launch : target_.costs->merging.start;
    time_.fill = time_.drain = target_.costs->merging.oneBlock / 2;
    return time_;
  }

private:
  /// Of mma.sync on parts whose matrix units take warpgroups' instructions, too: 0.52 to 0.65 of cuBLAS by forced schedules (docs/lab).
  static constexpr double kMmaShare = 0.6;
  double perUs(double perClock) { return perClock * rates_.clock; }
  double extent(int64_t index) { return double(std::max<int64_t>(1, knownMax(l_.extents.getResult(index), likely_))); }
  double tile(int64_t index) { return double(std::max<int64_t>(1, l_.tiles[index])); }
  /// Points of an index that a block has: a tile's, or all where it walks them; of a cluster its share.
  double ofBlock(int64_t index) {
    if (llvm::is_contained(l_.grid, index))
      return tile(index);
    double all = std::ceil(extent(index) / tile(index)) * tile(index);
    if (llvm::is_contained(walked_, index) && extent(index) < tile(index))
      all = extent(index);
    return l_.cluster > 1 && index == l_.clusterIndex ? std::ceil(all / double(l_.cluster)) : all;
  }

  /// Points of these dims that a block goes over.
  double pointsOf(ArrayRef<int64_t> dims, const llvm::BitVector &support) {
    double points = 1;
    llvm::SmallDenseSet<int64_t> seen; // (a scan goes along one index with two dims)
    for (unsigned d : support.set_bits())
      points *= d < dims.size() && seen.insert(dims[d]).second ? ofBlock(dims[d]) : 1;
    return points;
  }

  void reckonProduct(const Contraction &c, ArrayRef<int64_t> dims) {
    double points = 1;
    for (unsigned d : llvm::concat<const unsigned>(c.batch, c.m, c.n, c.k, c.scaledK, c.ownK))
      points *= ofBlock(dims[d]);
    Type type = l_.unit == Unit::Wgmma ? findWarpgroupType(c) : c.aType;
    double bits = type ? std::max(8u, type.getIntOrFloatBitWidth()) : 16;
    double rate =
        (target_.productRate > 0 && l_.unit == Unit::Wgmma ? target_.productRate : perUs(rates_.matrix16) * kMmaShare) * 16 / bits;
    time_.tensor += time_.waves * points / rate;
    time_.tiles += time_.waves * points / rate * 100 / percentOfTile(c, dims);
    reckonShared(c, dims, points, bits / 8);
  }

  /// The unit's rows and columns of a tile of `c`.
  std::pair<double, double> tileOf(const Contraction &c, ArrayRef<int64_t> dims) {
    double m = 1, n = 1;
    for (unsigned d : c.m)
      m *= tile(dims[d]);
    for (unsigned d : c.n)
      n *= tile(dims[d]);
    return l_.unit == Unit::Wgmma && takesColumnsAsRows(l_, c, dims) ? std::pair(n, m) : std::pair(m, n);
  }

  /// The rate of the unit with the tile of `c`, of the best tile's; 100 where nothing is known of it.
  double percentOfTile(const Contraction &c, ArrayRef<int64_t> dims) {
    if (l_.unit != Unit::Wgmma)
      return 100;
    auto [m, n] = tileOf(c, dims);
    for (absl::Span<const ProductTile> tiles : {wgmmaTiles(), wgmmaPlainTiles()})
      for (const ProductTile &t : tiles)
        if (t.m == m && t.n == n && t.teams == l_.pingpong)
          return t.percent;
    return 100;
  }

  void reckonWork(Operation *op, ArrayRef<int64_t> dims) {
    auto reduce = dyn_cast<ReduceOp>(op);
    auto cascade = dyn_cast<CascadeOp>(op);
    if (std::optional<Contraction> c = reduce && l_.unit != Unit::Simt ? findContraction(reduce) : std::nullopt)
      return reckonProduct(*c, dims);
    double multiplied = 0; // points of products, whose multiply-adds are not those of CUDA cores
    for (unsigned k = 0; cascade && l_.unit != Unit::Simt && k < cascade->getNumResults(); ++k)
      if (std::optional<Contraction> c = findContraction(cascade, k)) {
        llvm::BitVector all(dims.size());
        for (unsigned d : llvm::concat<const unsigned>(c->batch, c->m, c->n, c->k))
          all.set(d);
        multiplied = std::max(multiplied, pointsOf(dims, all));
        reckonProduct(*c, dims);
      }
    walked_.clear();
    if (std::optional<Contraction> c = reduce && l_.unit == Unit::Simt ? findContraction(reduce) : std::nullopt)
      walked_ = llvm::map_to_vector(c->k, [&](unsigned d) { return dims[d]; });
    double plain = 0, special = 0; // of all points
    for (Region &region : op->getRegions())
      region.walk([&](Operation *inner) {
        StringRef dialect = inner->getName().getDialectNamespace();
        bool isIndex = llvm::all_of(inner->getResultTypes(), [](Type t) { return t.isIndex(); });
        if (inner->getNumResults() == 0 || isIndex || isa<arith::ConstantOp>(inner) || (dialect != "math" && dialect != "arith"))
          return;
        if (isAddOf(inner) && llvm::any_of(inner->getOperands(), isProductForOne))
          return; // one multiply-add with it
        double points = pointsOf(dims, findSupport(inner->getResult(0), dims.size()));
        if (multiplied > 0 && points >= multiplied)
          return;
        (dialect == "math" || isa<arith::DivFOp>(inner) ? special : plain) += points;
      });
    auto recurrence = dyn_cast<RecurrenceOp>(op);
    if (recurrence)
      plain += reckonSteps(recurrence, dims);
    bool addsProducts = reduce && reduce.getKind() == Combiner::Sum && isProductForOne(reduce.getYield().getValues()[0]);
    if (!isa<ComputeOp>(op) && !recurrence && multiplied == 0 && !addsProducts) // what combines
      plain += pointsOf(dims, llvm::BitVector(dims.size(), true));
    time_.cores += time_.waves * plain / perUs(rates_.f32);
    time_.special += time_.waves * special / perUs(rates_.special);
  }

  /// A block's systems walk their steps, and in each of these the rounds of all sums, one after the other. Returns the points at which
  /// these combine what they sum up.
  double reckonSteps(RecurrenceOp op, ArrayRef<int64_t> dims) {
    const FoldCosts &costs = target_.costs->folds;
    auto roundsOf = [&](int64_t index) { return std::ceil(extent(index) / tile(index)); };
    double combined = 0, rounds = 0, times = 1;
    for (unsigned k = 0; k < op.getNumTerms(); ++k) {
      llvm::BitVector points(dims.size());
      points.set(0, op.getNumParallel());
      double own = 1;
      for (unsigned d : op.getReducedDims(k)) {
        points.set(d);
        own *= roundsOf(dims[d]);
      }
      rounds += own;
      if (op.getKind(k) != Combiner::Sum || !isProductForOne(op.getTermYield(k).getValues()[0]))
        combined += pointsOf(dims, points);
    }
    steps_ = roundsOf(dims[op.getFree()]);
    step_ = dims[op.getFree()];
    for (unsigned d = op.getFree() + 1; d < op.getNumParallel(); ++d)
      times *= roundsOf(dims[d]);
    // Blocks of one multiprocessor wait beside each other.
    double waves = std::ceil(time_.waves / std::max(1.0, std::floor(double(costs.warpsBeside) / double(l_.warps))));
    time_.steps += waves * steps_ * (times * rounds * costs.sumRound + costs.stepEnd);
    return combined;
  }

  /// Instructions of 64 rows read these and all columns; copies write rows and columns of each tile of the sum.
  void reckonShared(const Contraction &c, ArrayRef<int64_t> dims, double points, double bytes) {
    auto [m, n] = tileOf(c, dims);
    double read = std::ceil(m / 64) * (std::min(m, 64.0) + n), written = m + n;
    time_.shared += time_.waves * points / (m * n) * (read + written) * bytes / perUs(rates_.shared);
  }

  /// What a block reads and writes of its own memory.
  void reckonOwn(Operation *op, ArrayRef<int64_t> dims) {
    auto isOwn = [&](Operation *made) {
      return made && isInBlock(made) && llvm::any_of(l_.ops, [&](int64_t o) { return ops_[o] == made; });
    };
    auto add = [&](Type element) {
      double width = std::max(4u, element.getIntOrFloatBitWidth() / 8); // (a lane has a word at least)
      time_.shared += time_.waves * pointsOf(dims, llvm::BitVector(dims.size(), true)) * width / perUs(rates_.shared);
    };
    op->walk([&](ReadOp read) {
      if (isOwn(read.getTensor().getDefiningOp()))
        add(read.getTensor().getType().getElementType());
    });
    if (isOwn(op) && !isStored(l_, ops_, op->getResult(0)))
      add(cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
  }

  void reckonTraffic(Operation *op) {
    auto add = [&](const Transfer &t) {
      double all = 1, own = 1, width = bytesOfElement(t.element);
      llvm::SmallDenseSet<int64_t> seen;
      for (int64_t i : t.indices)
        if (seen.insert(i).second) {
          all *= extent(i);
          own *= std::min(ofBlock(i), extent(i));
        }
      // Memory gives each element of the tensor once, wherever windows overlap.
      bytes_ += std::min(all, elementsOf(t.tensor, likely_, std::numeric_limits<double>::infinity())) * width;
      // What every step reads anew comes from L2 each time, if a multiprocessor does not hold it.
      bool isAnew = steps_ > 1 && !llvm::is_contained(t.indices, step_) && own * width > double(target_.costs->folds.heldBytes);
      traffic_ += own * width * time_.blocks * (isAnew ? steps_ : 1);
    };
    for (const Transfer &t : sketch_.loads) {
      std::pair<Value, SmallVector<int64_t>> key(t.tensor, t.indices);
      if (t.statement != op || llvm::is_contained(read_, key))
        continue;
      read_.push_back(key);
      add(t);
    }
    for (const Transfer &t : sketch_.stores)
      if (t.statement == op)
        add(t);
  }

  SmallVector<Operation *> ops_;
  const LaunchPlan &l_;
  const Target &target_;
  const TargetRates &rates_;
  SizeFacts likely_;
  LaunchSketch sketch_;
  LaunchTime time_;
  double bytes_ = 0, traffic_ = 0;
  double steps_ = 0;            ///< of the recurrence whose traffic is reckoned
  int64_t step_ = -1;           ///< their index
  SmallVector<int64_t> walked_; ///< indices of which CUDA cores multiply no more points than there are
  std::vector<std::pair<Value, SmallVector<int64_t>>> read_;
};

/// "'y'", or where it has no name what its launch is called by.
std::string nameOf(Operation *op, const LaunchPlan &launch) {
  auto named = op->getAttrOfType<StringAttr>("name");
  return named ? ("'" + named.getValue() + "' of launch '" + launch.name + "'").str() : "what launch '" + launch.name + "' makes";
}

bool isProduct(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && findGeneralContraction(reduce);
}

/// Why `reader` does not share the launch of `producer`, whose result it reads.
std::string whyApart(Operation *producer, Operation *reader, ReadOp read) {
  if (isa<ScatterOp>(producer))
    return "a scatter is done only when all of its launch is";
  if (isa<ScatterOp>(reader))
    return "a scatter has a launch of its own";
  if (auto reduce = dyn_cast<ReduceOp>(reader); reduce && !reduce.getNoSibling().empty())
    return reduce.getNoSibling().str();
  if (isProduct(producer) && isProduct(reader))
    return "a product takes its factors from memory, and no tile holds all that both need";
  if (!read.getMapOrIdentity().isProjectedPermutation() || read.getBounds() != BoundsMode::InBounds)
    return "it is read at other points than those at which it is made";
  bool reduces = llvm::any_of(read.getOperands_(), [&](Value v) {
    std::optional<unsigned> d = findIndex(reader, v);
    return d && *d >= getNumParallel(reader);
  });
  if (reduces)
    return "it is reduced over more than a block has of it";
  return getResultDims(read.getTensor()).size() < getNumParallel(reader) ? "many blocks read each element of it"
                                                                         : "the blocks of the two have other points";
}

/// Of a product's launch that reads what launch `of` reduces of each row: what that launch takes, and what the product's blocks would take
/// longer if each reduced its rows before it multiplied, as it would have to. Nothing where it is none, or sizes are not known.
std::string compareStatistics(KernelOp kernel, const KernelPlan &plan, size_t launch, size_t of) {
  SmallVector<Operation *> ops = getDomainOps(kernel);
  const LaunchPlan &product = plan.launches[launch], &own = plan.launches[of];
  const Target *target = findTarget(plan.target);
  const TargetRates *rates = target ? findTargetRates(target->name) : nullptr;
  auto isStatistic = [&](int64_t o) { return isa<ReduceOp, CascadeOp>(ops[o]) && !isProduct(ops[o]); };
  if (!rates || !llvm::any_of(product.ops, [&](int64_t o) { return isProduct(ops[o]); }) || !llvm::any_of(own.ops, isStatistic) ||
      llvm::any_of(own.ops, [&](int64_t o) { return isProduct(ops[o]); }))
    return {};
  SizeFacts facts{plan.sizeDiv, plan.sizeMax};
  std::optional<LaunchTime> apart = timeOf(kernel, own, *target, facts), together = timeOf(kernel, product, *target, facts);
  if (!apart || !together)
    return {};
  // Rows of the product's tile: what it has of the indices that the statistic is of.
  double rows = 1, bytes = 0;
  for (const Transfer &t : sketchLaunch(kernel, product, placeTensors(kernel).source).loads)
    if (Operation *made = t.tensor.getDefiningOp(); made && llvm::any_of(own.ops, [&](int64_t o) { return ops[o] == made; }))
      for (int64_t i : t.indices)
        if (llvm::is_contained(product.grid, i))
          rows = std::max(rows, double(product.tiles[i]));
  double all = 1; // rows that the statistics are of
  for (int64_t g : own.grid)
    all *= std::max<int64_t>(1, knownMax(own.extents.getResult(g), facts));
  for (const Transfer &t : sketchLaunch(kernel, own, placeTensors(kernel).source).loads)
    bytes = std::max(bytes, bytesOfElement(t.element) * elementsOf(t.tensor, facts, 1));
  double longer = together->waves * std::min(rows, all) * bytes / all / (rates->l2 / target->smCount);
  return llvm::formatv("; launch '{0}' takes {1:f1} us by the model, and would the blocks of '{2}' read their rows once more for it before "
                       "they multiply, {3:f1} us",
                       own.name, apart->total(), product.name, longer)
      .str();
}

} // namespace

double LaunchTime::withTiles() const { return total() + std::max(0.0, tiles - busy()); }

double LaunchTime::busy() const { return std::max({tensor, cores, special, shared, l2, memory, steps}); }

std::string LaunchTime::bound() const {
  std::pair<double, const char *> most{-1, ""};
  for (auto [name, value] : {std::pair("tensor", tensor),
                             {"cores", cores},
                             {"special", special},
                             {"shared", shared},
                             {"l2", l2},
                             {"memory", memory},
                             {"steps", steps}})
    if (value > most.first)
      most = {value, name};
  return most.second;
}

SmallVector<std::pair<StringRef, double>> termsOf(const LaunchTime &t) {
  return {{"tensor", t.tensor}, {"cores", t.cores}, {"special", t.special}, {"shared", t.shared}, {"l2", t.l2},
          {"memory", t.memory}, {"steps", t.steps}, {"fill", t.fill},       {"drain", t.drain},   {"start", t.launch}};
}

std::optional<LaunchTime> timeOf(KernelOp kernel, const LaunchPlan &launch, const Target &target, const SizeFacts &likely) {
  return Reckoner(kernel, launch, target, likely).run();
}

std::vector<std::string> describeReasons(KernelOp kernel, const KernelPlan &plan, size_t launch) {
  SmallVector<Operation *> ops = getDomainOps(kernel);
  std::vector<std::string> lines;
  for (int64_t o : plan.launches[launch].ops) {
    SmallVector<Operation *> told;
    ops[o]->walk([&](ReadOp read) {
      Operation *producer = read.getTensor().getDefiningOp();
      if (!producer || llvm::is_contained(told, producer))
        return;
      for (size_t n = 0; n < launch; ++n)
        for (int64_t other : plan.launches[n].ops)
          if (ops[other] == producer) {
            told.push_back(producer);
            lines.push_back("it reads " + nameOf(producer, plan.launches[n]) + " through memory: " + whyApart(producer, ops[o], read) +
                            compareStatistics(kernel, plan, launch, n));
          }
    });
  }
  for (int64_t o : plan.launches[launch].ops)
    if (StringRef text = getBlockText(ops[o]); !text.empty())
      lines.push_back(text.str());
  if (plan.launches[launch].beside)
    return {"launch '" + plan.launches[launch].name + "' is other blocks of the same launch: it needs nothing of the one before it"};
  if (lines.empty() && launch > 0)
    lines.push_back("it reads nothing that an earlier launch makes, and has other points than those");
  if (plan.launches[launch].turned)
    lines.push_back("columns of its product take the rows of the unit");
  return lines;
}

} // namespace kernelc::te
