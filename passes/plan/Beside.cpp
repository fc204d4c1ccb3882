// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Beside.h"

#include <algorithm>
#include <cmath>

#include "ir/cu/Beside.h"
#include "ir/te/Hints.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Memories.h"
#include "passes/plan/Schedule.h"
#include "passes/plan/Scheduler.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Why record `n` cannot run beside those from `head` on; empty where it can.
std::string whyNotBeside(KernelOp kernel, const KernelPlan &plan, size_t head, size_t n) {
  const LaunchPlan &l = plan.launches[n], &first = plan.launches[head];
  if (n == head)
    return "there is no launch before it";
  std::pair<StringRef, int64_t LaunchPlan::*> alike[] = {{"warps", &LaunchPlan::warps},
                                                         {"producer_warps", &LaunchPlan::producerWarps},
                                                         {"pingpong", &LaunchPlan::pingpong},
                                                         {"min_blocks", &LaunchPlan::minBlocks},
                                                         {"cluster", &LaunchPlan::cluster}};
  for (auto [key, field] : alike)
    if (l.*field != first.*field)
      return llvm::formatv("its '{0}' is {1}, and that of '{2}' is {3}", key, l.*field, first.name, first.*field).str();
  if (l.persistent != first.persistent)
    return "blocks of one of the two stay for several tiles";
  if (l.dependent != first.dependent)
    return "one of the two waits for the launch before";
  Places places = placeTensors(kernel);
  SmallVector<Operation *> ops = getDomainOps(kernel);
  for (const LaunchPlan &other : ArrayRef(plan.launches).slice(head, n - head))
    if (!areApart(other, l, ops, [&](Value v) { return places.source.lookup(v); }))
      return "one reads or writes what launch '" + other.name + "' writes, or the other way round";
  return {};
}

} // namespace

bool areApart(const LaunchPlan &a, const LaunchPlan &b, ArrayRef<Operation *> ops, llvm::function_ref<int64_t(Value)> sourceOf) {
  struct Memory {
    llvm::DenseSet<int64_t> read, written; ///< sources
  };
  auto memoryOf = [&](const LaunchPlan &l) {
    Memory m;
    for (int64_t ordinal : l.ops) {
      ops[ordinal]->walk([&](Operation *inner) {
        for (Value v : inner->getOperands())
          if (isa<RankedTensorType>(v.getType()))
            m.read.insert(sourceOf(v));
      });
      for (Value result : ops[ordinal]->getResults())
        m.written.insert(sourceOf(result));
    }
    return m;
  };
  Memory own = memoryOf(a), other = memoryOf(b);
  auto isOwn = [&](int64_t source) { return own.read.contains(source) || own.written.contains(source); };
  return llvm::none_of(other.written, isOwn) && llvm::none_of(other.read, [&](int64_t source) { return own.written.contains(source); });
}

std::pair<size_t, size_t> findLaunch(const KernelPlan &plan, size_t n) {
  size_t first = n, end = n + 1;
  while (first > 0 && plan.launches[first].beside)
    --first;
  while (end < plan.launches.size() && plan.launches[end].beside)
    ++end;
  return {first, end};
}

LogicalResult checkBeside(KernelOp kernel, const KernelPlan &plan) {
  for (size_t n = 0; n < plan.launches.size(); ++n)
    if (plan.launches[n].beside)
      if (std::string why = whyNotBeside(kernel, plan, findLaunch(plan, n).first, n); !why.empty())
        return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), plan.launches[n].name, {"beside"}))
               << "plan of launch '" << plan.launches[n].name << "': it cannot run beside the launch before it: " << why;
  return success();
}

LaunchTime timeTogether(ArrayRef<LaunchTime> times, bool stay, int64_t atOnce, SmallVectorImpl<int64_t> &blocks) {
  if (!stay) { // a block a tile, one record's behind the other's
    LaunchTime all = times.front();
    blocks.assign(1, int64_t(times.front().blocks));
    for (const LaunchTime &t : times.drop_front()) {
      blocks.push_back(int64_t(t.blocks));
      for (double LaunchTime::*term : {&LaunchTime::blocks, &LaunchTime::waves, &LaunchTime::tensor, &LaunchTime::cores,
                                       &LaunchTime::special, &LaunchTime::shared, &LaunchTime::l2, &LaunchTime::memory, &LaunchTime::tiles})
        all.*term += t.*term;
    }
    return all;
  }
  auto ofUnits = [](const LaunchTime &t) { return std::max({t.tensor, t.cores, t.special, t.shared, 1e-3}) / t.waves; };
  auto wavesOf = [&](size_t n) { return std::ceil(times[n].blocks / double(blocks[n])); };
  blocks.assign(times.size(), 1);
  // One after the other to the record that takes longest.
  for (int64_t left = atOnce - int64_t(times.size()); left > 0; --left) {
    size_t longest = times.size();
    double most = 0;
    for (size_t n = 0; n < times.size(); ++n)
      if (double time = wavesOf(n) * ofUnits(times[n]); double(blocks[n]) < times[n].blocks && time > most) {
        longest = n;
        most = time;
      }
    if (longest == times.size())
      break;
    ++blocks[longest];
  }
  LaunchTime all = times.front();
  all.blocks = all.waves = all.tensor = all.cores = all.special = all.shared = all.l2 = all.memory = all.tiles = 0;
  for (auto [n, t] : llvm::enumerate(times)) {
    double waves = wavesOf(n);
    all.blocks += t.blocks;
    all.waves = std::max(all.waves, waves);
    for (double LaunchTime::*unit :
         {&LaunchTime::tensor, &LaunchTime::cores, &LaunchTime::special, &LaunchTime::shared, &LaunchTime::tiles})
      all.*unit = std::max(all.*unit, t.*unit / t.waves * waves);
    all.l2 += t.l2;
    all.memory += t.memory;
  }
  return all;
}

namespace {

/// Records `head` to `n` of a plan as one launch.
struct Joined {
  std::vector<LaunchPlan> records;
  LaunchTime time;
  SmallVector<int64_t> blocks;
};

class JoinPlanner {
public:
  JoinPlanner(KernelOp kernel, const Target &target, Merge merge, const SizeFacts &likely, KernelPlan &plan)
      : kernel_(kernel), ops_(getDomainOps(kernel)), target_(target), merge_(merge), likely_(likely), plan_(plan) {}

  void run() {
    for (size_t n = 1; n < plan_.launches.size(); ++n)
      join(findLaunch(plan_, n - 1).first, n);
  }

private:
  void join(size_t head, size_t n) {
    LaunchPlan &l = plan_.launches[n];
    if (isInSchedule(kernel_, plan_.target, l.name, "beside")) { // checkBeside has a word for it
      if (l.beside)
        l.dependent = plan_.launches[head].dependent;
      return;
    }
    // (Chains leave no registers for code of others, which ptxas gives out for all of a kernel.)
    bool areCopies = isCopy(l) && isCopy(plan_.launches[head]);
    if (!areCopies && (!multiplies(l) || !multiplies(plan_.launches[head]) || isChain(l) || isChain(plan_.launches[head])))
      return;
    std::vector<LaunchPlan> apart(plan_.launches.begin() + head, plan_.launches.begin() + n + 1);
    if (areCopies) // whose tiles any number of threads moves
      apart.back().warps = apart.front().warps;
    std::optional<Joined> best = reckon(head, apart, /*isWhole=*/true),
                          others = reckon(head, ArrayRef(apart).drop_back(), /*isWhole=*/false);
    std::optional<LaunchTime> own = timeOf(kernel_, l, target_, likely_);
    if (!others || !own)
      return;
    // Tiles for as many multiprocessors as each has then.
    if (std::optional<Joined> shared = areCopies ? std::nullopt : reckon(head, scheduleShares(apart), /*isWhole=*/true);
        shared && (!best || shared->time.total() < best->time.total()))
      best = std::move(shared);
    double together = best ? best->time.total() : 0, one = others->time.total() + own->total();
    if (!best || together + std::max(target_.costs->beside.least, target_.costs->beside.part * one) > one) {
      if (best)
        kernel_->getContext()->getDiagEngine().emit(ops_[l.ops.back()]->getLoc(), DiagnosticSeverity::Remark)
            << "launch '" << l.name << "' could run beside launch '" << plan_.launches[head].name << "': together "
            << llvm::formatv("{0:f1}", together).str() << " us by the model, apart " << llvm::formatv("{0:f1}", one).str();
      return;
    }
    for (size_t m = head; m <= n; ++m)
      plan_.launches[m] = best->records[m - head];
  }

  /// Whether it only writes elements to a workspace as another launch takes them: the second of two has nothing to wait for.
  bool isCopy(const LaunchPlan &l) {
    return llvm::all_of(l.ops, [&](int64_t ordinal) {
      auto compute = dyn_cast<ComputeOp>(ops_[ordinal]);
      return compute && isa_and_nonnull<ReadOp>(compute.getYield().getValues()[0].getDefiningOp()) &&
             llvm::none_of(compute->getUsers(), llvm::IsaPred<ReturnOp>);
    });
  }

  /// Whether it has a product, of tiles or streamed. (What memory alone bounds fills the device by itself.)
  bool multiplies(const LaunchPlan &l) {
    return llvm::any_of(l.ops, [&](int64_t ordinal) {
      auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]);
      return reduce && (!getStreamedDims(reduce).empty() || findContraction(reduce));
    });
  }

  /// Whether a product's results are what another one takes, in registers.
  bool isChain(const LaunchPlan &l) { return !l.loops.empty() && siblingsOf(l, ops_).empty(); }

  /// Nothing where they cannot stand in one launch, or take no known time.
  std::optional<Joined> reckon(size_t head, ArrayRef<LaunchPlan> records, bool isWhole) {
    if (records.empty())
      return std::nullopt;
    Joined joined{{records.begin(), records.end()}, {}, {}};
    int64_t atOnce = target_.smCount * records.front().minBlocks;
    KernelPlan trial{plan_.target, plan_.sizeDiv, plan_.sizeMax, {}};
    SmallVector<LaunchTime> times;
    for (LaunchPlan &l : joined.records) {
      std::optional<LaunchTime> time = timeOf(kernel_, l, target_, likely_);
      if (!time || atOnce < int64_t(records.size()))
        return std::nullopt;
      times.push_back(*time);
      l.dependent = records.front().dependent; // (on what is before all of them)
      trial.launches.push_back(l);
    }
    if (isWhole && !whyNotBeside(kernel_, trial, 0, trial.launches.size() - 1).empty())
      return std::nullopt;
    bool stay = records.front().persistent;
    joined.time = timeTogether(times, stay, atOnce, joined.blocks);
    for (size_t m = 1; m < records.size(); ++m) // (a share of blocks that stay; of others any number says that they are beside)
      joined.records[m].beside =
          stay ? std::max<int64_t>(1, llvm::divideCeil(uint64_t(joined.blocks[m] * cu::kBesideParts), uint64_t(atOnce))) : 1;
    return joined;
  }

  /// The records as they would be on a part of the device each, by what they multiply.
  std::vector<LaunchPlan> scheduleShares(ArrayRef<LaunchPlan> apart) {
    SmallVector<double> work;
    double all = 0;
    for (const LaunchPlan &l : apart) {
      std::optional<LaunchTime> time = timeOf(kernel_, l, target_, likely_);
      work.push_back(!time ? 0 : time->tensor > 0 ? time->tensor * time->blocks / (time->waves * target_.smCount) : time->memory);
      all += work.back();
    }
    std::vector<LaunchPlan> records;
    for (auto [l, own] : llvm::zip(apart, work)) {
      LaunchPlan record;
      record.name = l.name;
      record.ops = l.ops;
      record.dims = l.dims;
      record.indices = l.indices;
      record.extents = l.extents;
      record.tiles.assign(l.indices.size(), 1);
      record.grid = l.grid;
      record.loops = l.loops;
      record.dependent = l.dependent;
      Target part = target_;
      part.smCount = std::max(1, int(double(target_.smCount) * own / std::max(all, 1e-9)));
      // What does not hold on a part of the device is no mistake of the user's.
      ScopedDiagnosticHandler quiet(kernel_->getContext(), [](Diagnostic &) { return success(); });
      Scheduler scheduler(kernel_, part, plan_, merge_, likely_);
      if (own <= 0 || !scheduler.schedule(record) || scheduler.findCutReduction(record) ||
          failed(applySchedule(kernel_, plan_.target, record)))
        return {};
      scheduler.settle(record);
      if (failed(scheduler.checkUnit(record)))
        return {};
      records.push_back(std::move(record));
    }
    return records;
  }

  KernelOp kernel_;
  SmallVector<Operation *> ops_;
  const Target &target_;
  Merge merge_;
  SizeFacts likely_;
  KernelPlan &plan_;
};

} // namespace

LogicalResult joinLaunches(KernelOp kernel, const Target &target, Merge merge, const SizeFacts &likely, KernelPlan &plan) {
  JoinPlanner(kernel, target, merge, likely, plan).run();
  return checkBeside(kernel, plan);
}

} // namespace kernelc::te
