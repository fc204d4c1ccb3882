// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/RankedPlans.h"

#include "passes/plan/Schedule.h"
#include "passes/plan/Scheduler.h"
#include "support/TargetCosts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// `plan` with the longest of its tiles cut in halves that a schedule may choose, of those on the grid or off it; nothing where there is
/// none. `least`: what a tile keeps.
std::optional<LaunchPlan> withShorterTile(LaunchPlan plan, const llvm::BitVector &fixed, bool onGrid, int64_t least) {
  int64_t longest = -1;
  for (int64_t i = 0; i < int64_t(plan.indices.size()); ++i)
    if (!fixed[unsigned(i)] && llvm::is_contained(plan.grid, i) == onGrid && plan.tiles[i] > least && plan.tiles[i] % 2 == 0 &&
        (longest < 0 || plan.tiles[i] > plan.tiles[longest]))
      longest = i;
  if (longest < 0)
    return std::nullopt;
  plan.tiles[longest] /= 2;
  return plan;
}

/// Of products on matrix units: registers of the warps that fill, factors in slots, not in registers, shorter rounds of chained ones, one
/// product in flight, less of an epilogue at a time, then smaller tiles.
void rankProducts(const LaunchPlan &first, const llvm::BitVector &fixed, const Target &target, std::vector<LaunchPlan> &plans) {
  const bool onWarpgroups = first.unit == Unit::Wgmma;
  const int64_t fewest = target.costs->chains.fewestRegisters;
  if (onWarpgroups && first.producerWarps && first.producerRegisters > fewest)
    plans.emplace_back(first).producerRegisters = fewest;
  if (first.held)
    plans.emplace_back(first).held = false;
  constexpr int64_t kStep = 16; // of what the unit sums in one instruction
  if (onWarpgroups && first.inFlight > 1 && first.loops.size() == 1)
    for (int64_t steps : {1, 2})
      if (int64_t shorter = first.tiles[first.loops.front()] - steps * kStep; shorter >= 4 * kStep)
        plans.emplace_back(first).tiles[first.loops.front()] = shorter;
  if (onWarpgroups && first.inFlight > 1) {
    LaunchPlan &serial = plans.emplace_back(first);
    serial.inFlight = 1;
    serial.held = false;
  }
  if (onWarpgroups && first.part > 16)
    plans.emplace_back(first).part = first.part / 2;
  for (int64_t times : {2, 4})
    if (!onWarpgroups && times * first.warps <= 16)
      plans.emplace_back(first).warps = times * first.warps;
  if (std::optional<LaunchPlan> shorter = withShorterTile(first, fixed, /*onGrid=*/true, onWarpgroups ? 64 : 32)) {
    plans.push_back(*shorter);
    if (std::optional<LaunchPlan> again = withShorterTile(*shorter, fixed, /*onGrid=*/true, onWarpgroups ? 64 : 32))
      plans.push_back(*again);
  }
}

/// `plan` with the row that a block holds walked instead, where half as much as there is of it is held beside it for nothing: to compute
/// what is not there takes longer than to read again what is.
std::optional<LaunchPlan> withWalkedRow(LaunchPlan plan, const llvm::BitVector &fixed, const RowCosts &costs) {
  for (int64_t i = 0; i < int64_t(plan.indices.size()); ++i) {
    auto extent = dyn_cast<AffineConstantExpr>(plan.extents.getResult(unsigned(i)));
    if (!extent || fixed[unsigned(i)] || llvm::is_contained(plan.grid, i) || plan.cluster > 1 || plan.tiles[i] <= costs.loopTile ||
        2 * (plan.tiles[i] - extent.getValue()) < extent.getValue())
      continue;
    plan.tiles[i] = walkedTile(extent.getValue(), costs);
    plan.warps = std::max<int64_t>(1, plan.tiles[i] / costs.perWalk / 32);
    return plan;
  }
  return std::nullopt;
}

/// Of others: a row walked, more threads for a tile, then less of what a block has at a time, off the grid first, which changes no block's
/// results.
void rankOthers(const LaunchPlan &first, const llvm::BitVector &fixed, const RowCosts &costs, std::vector<LaunchPlan> &plans) {
  if (std::optional<LaunchPlan> walked = withWalkedRow(first, fixed, costs))
    plans.push_back(*walked);
  if (2 * first.warps <= 32)
    plans.emplace_back(first).warps = 2 * first.warps;
  std::optional<LaunchPlan> off = withShorterTile(first, fixed, /*onGrid=*/false, 32);
  if (off)
    plans.push_back(*off);
  if (std::optional<LaunchPlan> on = withShorterTile(first, fixed, /*onGrid=*/true, 1))
    plans.push_back(*on);
  if (off)
    if (std::optional<LaunchPlan> both = withShorterTile(*off, fixed, /*onGrid=*/true, 1))
      plans.push_back(*both);
}

} // namespace

std::vector<LaunchPlan> rankBehind(KernelOp kernel, const LaunchPlan &launch, const Target &target) {
  std::vector<LaunchPlan> plans;
  if (launch.minBlocks > 1) // the one bound that a plan puts on registers by itself
    plans.emplace_back(launch).minBlocks = 1;
  LaunchPlan first = launch;
  first.minBlocks = 1;
  llvm::BitVector fixed = findUntiled(kernel, launch);
  if (launch.unit == Unit::Simt && !launch.producerWarps)
    rankOthers(first, fixed, target.costs->rows, plans);
  else
    rankProducts(first, fixed, target, plans);
  return plans;
}

DictionaryAttr recordOf(MLIRContext *context, const LaunchPlan &plan, const LaunchPlan &first) {
  Builder b(context);
  SmallVector<NamedAttribute> entries{b.getNamedAttr("launch", b.getStringAttr(first.name))}, tiles;
  for (auto [index, own, other] : llvm::zip(plan.indices, plan.tiles, first.tiles))
    if (own != other)
      tiles.push_back(b.getNamedAttr(index, b.getI64IntegerAttr(own)));
  if (!tiles.empty())
    entries.push_back(b.getNamedAttr("tiles", b.getDictionaryAttr(tiles)));
  for (const ScheduleNumber &n : kScheduleNumbers)
    if (plan.*n.field != first.*n.field ||
        (n.field == &LaunchPlan::minBlocks && plan.minBlocks > 1 && !tiles.empty())) // which records of other tiles lose
      entries.push_back(b.getNamedAttr(n.key, b.getI64IntegerAttr(plan.*n.field)));
  for (const ScheduleFlag &f : kScheduleFlags)
    if (plan.*f.field != first.*f.field)
      entries.push_back(b.getNamedAttr(f.key, b.getBoolAttr(plan.*f.field)));
  return b.getDictionaryAttr(entries);
}

bool isScheduledFromOutside(KernelOp kernel, StringRef target, StringRef name) {
  ArrayAttr records = kernel.getScheduleAttr();
  return records && llvm::any_of(records.getAsRange<DictionaryAttr>(), [&](DictionaryAttr record) {
           auto launch = record.getAs<StringAttr>("launch"), own = record.getAs<StringAttr>("target");
           return launch && launch.getValue() == name && (!own || own.getValue() == target);
         });
}

void addRecords(KernelOp kernel, ArrayRef<DictionaryAttr> records) {
  SmallVector<Attribute> all;
  if (ArrayAttr given = kernel.getScheduleAttr())
    llvm::append_range(all, given);
  llvm::append_range(all, records);
  kernel.setScheduleAttr(ArrayAttr::get(kernel.getContext(), all));
}

} // namespace kernelc::te
