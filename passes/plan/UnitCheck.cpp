// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a unit asks of the schedule of a product, whoever chose it.
#include "ir/te/ScheduleLoc.h"
#include "ir/tile/Accumulator.h"
#include "passes/plan/ProductRounds.h"
#include "passes/plan/Scheduler.h"

using namespace mlir;

namespace kernelc::te {

LogicalResult Scheduler::checkUnit(const LaunchPlan &l) {
  bool hasProduct = false;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]);
    auto c = reduce ? findGeneralContraction(reduce) : std::nullopt;
    if (!c)
      continue;
    hasProduct = true;
    auto wrong = [&](StringRef key, StringRef inner = "") {
      return mlir::emitError(getScheduleLoc(reduce, kernel_.getSymName(), l.name, {key, inner}))
             << "schedule of launch '" << l.name << "': ";
    };
    for (unsigned d : c->batch)
      if (int64_t index = l.dims[n][d]; l.tiles[index] != 1)
        return wrong("tiles", l.indices[index])
               << "both operands and the result have an index '" << l.indices[index] << "', so that its tile is 1, not " << l.tiles[index];
    for (unsigned d : c->scaledK)
      if (int64_t index = l.dims[n][d]; l.tiles[index] != 1)
        return wrong("tiles", l.indices[index])
               << "a scale depends on '" << l.indices[index] << "', so that its tile is 1, not " << l.tiles[index];
    for (unsigned d : c->ownK)
      if (int64_t index = l.dims[n][d]; l.tiles[index] != 1)
        return wrong("tiles", l.indices[index])
               << "one operand alone has the summed index '" << l.indices[index] << "', so that its tile is 1, not " << l.tiles[index];
    if (c->term && llvm::count_if(c->k, [&](unsigned d) { return l.tiles[l.dims[n][d]] > 1; }) > 1)
      return wrong("tiles") << "a reduction of terms that are no products has tiles of several points along one reduced index only";
    if (c->term && l.unit != "simt")
      return wrong("unit") << "unit " << l.unit << " takes sums of products, and this reduces other terms; CUDA cores (simt) do that";
    SmallVector<int64_t> uniform = uniformTiles(l, *c, l.dims[n]);
    for (auto [index, most] : llvm::enumerate(uniform))
      if (most && l.tiles[index] > most)
        return wrong("tiles", l.indices[index]) << "the condition picks blocks of " << most << " along '" << l.indices[index]
                                                << "', so that its tile is no more than that, not " << l.tiles[index];
    // Blocks of a cluster fill each other's slots: they must walk the same tiles.
    if (l.cluster > 1) {
      auto shared = llvm::find(l.dims[n], l.clusterIndex);
      unsigned d = shared - l.dims[n].begin();
      std::optional<IntegerSet> set = reduce.getCondition();
      bool differs =
          shared != l.dims[n].end() && ((c->where && findSupport(c->where, l.dims[n].size())[d]) ||
                                        (set && llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(d); })));
      if (differs)
        return wrong("cluster") << "the condition depends on '" << l.indices[l.clusterIndex] << "', along which the " << l.cluster
                                << " blocks of a cluster share what they load";
    }
    llvm::BitVector inTile = findInTile(l);
    if (l.cluster > 1 && inTile[l.clusterIndex])
      return wrong("cluster") << "the " << l.cluster << " blocks of a cluster walk neighbouring tiles of '" << l.indices[l.clusterIndex]
                              << "', and what is reduced over it needs all of it in one";
    // Partial results of a team's warps meet in shared memory, of which teams have no share each.
    std::optional<WarpgroupForm> form = findWarpgroupForm(*c);
    for (unsigned d : takesColumnsAsRows(l, *c, l.dims[n]) ? c->n : c->m)
      if (l.pingpong > 1 && inTile[l.dims[n][d]])
        return wrong("pingpong") << "what is reduced over '" << l.indices[l.dims[n][d]]
                                 << "' crosses warps, which pingpong does not allow yet";
    if (l.inFlight > 1 && l.loops.empty() && !startsFromZero(l, *c, l.dims[n]))
      return wrong("in_flight")
             << "in_flight " << l.inFlight
             << ": products are in flight beside each other where each starts from zero, to leave the accumulators of unit wgmma after "
                "a tile (promote, scales of blocks), or where one takes what the other gives (chains), and producer warps fill their slots";
    if (l.inFlight > l.stages)
      return wrong("in_flight") << "in_flight " << l.inFlight << ": each product reads slots of its own, and there are " << l.stages
                                << " (stages)";
    if (l.unit == "simt")
      continue;
    auto refuse = [&](StringRef key = "unit", StringRef inner = "") { return wrong(key, inner) << "unit " << l.unit << " "; };
    if (!hasUnit(*c, target_))
      return refuse() << "does not take a product of " << narrowestType(c->a) << " and " << narrowestType(c->b) << " on " << target_.name
                      << (narrowestType(c->a).isF32() && narrowestType(c->b).isF32()
                              ? "; 'precision(contract = tf32)' in the kernel lets it round them"
                              : "");
    if (l.unit == "wgmma" && !target_.wgmma)
      return refuse() << "is one of sm_90a; " << target_.name << " has none";
    if (l.unit == "wgmma" && !form)
      return refuse()
             << "takes two operands of f16, of bf16, of f8 or of i8 as they are stored, or of f32 that are rounded to tf32, or one of f16 "
                "or bf16 that is computed";
    for (auto [d, index] : llvm::enumerate(l.dims[n]))
      if (int64_t t = l.tiles[index]; (t & (t - 1)) && !isLastColumn(*c, form, l, l.dims[n], unsigned(d)) &&
                                      !(t == 16 * l.warps && isLastRow(*c, form, l, l.dims[n], unsigned(d))))
        return refuse("tiles", l.indices[index])
               << "takes tiles of powers of two, but for its last index of columns (and 192 rows for 12 warps), not " << t << " for '"
               << l.indices[index] << "'";
    int64_t m = tileProduct(l, c->m, l.dims[n]), columns = tileProduct(l, c->n, l.dims[n]), k = tileProduct(l, c->k, l.dims[n]);
    Type type = operandType(*c, c->a, l.unit, target_);
    if (l.unit == "wgmma" && failed(checkWarpgroups(l, reduce, *c, *form, l.dims[n])))
      return failure();
    int64_t leastK = 32 / unitBytes(type);
    if (l.unit == "mma" && (m < 16 || columns < 16 || k < leastK))
      return refuse("tiles") << "needs tiles of at least 16 x 16 x " << leastK << ", not " << m << " x " << columns << " x " << k;
    if (int64_t most = promoteAfter(type); most && (!l.promote || l.promote > most))
      return refuse() << (accumulatesRounded(kernel_)
                              ? "cuts what it adds to its accumulators, and the policy asks for sums as close as f32's"
                              : "sums products of f8 in fewer bits than f32 has")
                      << ": they leave its accumulators after at most " << most
                      << (accumulatesRounded(kernel_) ? " (promote)" : " (promote), unless accumulate = fast");
    if (l.promote && k > l.promote)
      return refuse() << "sums tiles of " << k << " products, more than its accumulators may hold (promote " << l.promote << ")";
  }
  if (l.unit != "simt" && !hasProduct)
    return mlir::emitError(getScheduleLoc(kernel_, kernel_.getSymName(), l.name, {"unit"}))
           << "schedule of launch '" << l.name << "': unit " << l.unit << " takes products, and there is none";
  if (l.producerWarps && !hasProduct)
    return mlir::emitError(getScheduleLoc(kernel_, kernel_.getSymName(), l.name, {"producer_warps"}))
           << "schedule of launch '" << l.name << "': " << l.producerWarps
           << " producer warps load what a product takes, and there is none";
  if (l.promote && !hasProduct)
    return mlir::emitError(getScheduleLoc(kernel_, kernel_.getSymName(), l.name, {"promote"}))
           << "schedule of launch '" << l.name << "': promote " << l.promote
           << ": there is no product whose sums would leave a unit's accumulators";
  if (l.inFlight > 1 && !hasProduct)
    return mlir::emitError(getScheduleLoc(kernel_, kernel_.getSymName(), l.name, {"in_flight"}))
           << "schedule of launch '" << l.name << "': in_flight " << l.inFlight << ": there is no product";
  return success();
}

void Scheduler::settle(LaunchPlan &l) {
  if (l.inFlight)
    return;
  l.inFlight = 1;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]);
    auto c = reduce ? findGeneralContraction(reduce) : std::nullopt;
    if (c && startsFromZero(l, *c, l.dims[n]) && l.stages >= 2 && !walksTwice(l) &&
        accumulatorRegisters(l, *c, l.dims[n], 3) + kBesideAccumulators <= registerShares(l).consumer)
      l.inFlight = 2;
  }
}

int64_t Scheduler::accumulatorRegisters(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims, int64_t sets) {
  return sets * tileProduct(l, c.m, dims) * tileProduct(l, c.n, dims) / (l.warps * 32);
}

RegisterShares Scheduler::registerShares(const LaunchPlan &l) {
  return shareRegisters(target_, l.producerWarps * 32, l.warps * l.pingpong * 32, l.minBlocks, l.producerRegisters);
}

LogicalResult Scheduler::checkWarpgroups(const LaunchPlan &l, ReduceOp reduce, const Contraction &given, const WarpgroupForm &form,
                                         ArrayRef<int64_t> dims) {
  auto refuse = [&](StringRef key = "unit") {
    return mlir::emitError(getScheduleLoc(reduce, kernel_.getSymName(), l.name, {key}))
           << "schedule of launch '" << l.name << "': unit wgmma ";
  };
  Contraction c = given;
  if (takesColumnsAsRows(l, c, dims))
    c.swapOperands();
  if (l.warps % 4) {
    InFlightDiagnostic error = refuse("warps");
    error << "takes whole warpgroups, of 4 warps each, not " << l.warps << (l.warps == 1 ? " warp" : " warps");
    if (!unfed_.empty())
      error << "; the cost model does not choose it, because tensor copies do not feed this product: " << unfed_;
    return error;
  }
  int64_t m = tileProduct(l, c.m, dims), n = tileProduct(l, c.n, dims);
  tile::AccumulatorShape part = tile::accumulatorShape("wgmma", m, n, l.warps);
  if (part.warpM % 64 || part.warpN % 8 || part.warpN == 0 || part.warpN > 256)
    return refuse("tiles") << "takes rows by 64 and columns by 8, at most 256 a warpgroup, not " << m << " x " << n << " by " << l.warps / 4
                           << (l.warps == 4 ? " warpgroup" : " warpgroups");
  if (int64_t k = tileProduct(l, c.k, dims), step = 32 / unitBytes(form.type); k % step)
    return refuse("tiles") << "sums products by " << step << ", not tiles of " << k;
  if (form.type.isInteger(8) && part.warpN > 32 && part.warpN % 16)
    return refuse() << "takes more than 32 columns of i8 by 16, not " << part.warpN << " a warpgroup";
  int64_t sets = l.promote || !c.partScales.empty() ? 1 + l.inFlight : 1, accumulators = accumulatorRegisters(l, c, dims, sets);
  if (int64_t share = registerShares(l).consumer; accumulators + kBesideAccumulators > share)
    return refuse() << "needs " << accumulators << " registers a thread for accumulators and " << kBesideAccumulators << " beside them; "
                    << l.minBlocks << (l.minBlocks == 1 ? " block of " : " blocks of ") << (l.producerWarps + l.warps * l.pingpong) * 32
                    << " threads leave each " << share;
  // What one instruction takes must fit into the registers that threads begin with.
  int64_t threads = (l.producerWarps + l.warps * l.pingpong) * 32, even = registerShares(l).even;
  if (int64_t one = part.warpN / 2; l.producerWarps && one + kBesideAccumulators > even)
    return refuse() << "needs " << one << " registers a thread for the accumulators of " << part.warpN << " columns and "
                    << kBesideAccumulators << " beside them in one instruction; " << threads << " threads begin with " << even << " each";
  std::string why;
  int64_t bytes = 0;
  bool inRegisters = form.aInRegisters || form.bInRegisters;
  auto feedsA = [&] {
    return inRegisters ? canFeedRegisters(l, c.a, c.m, c.k, dims, bytes, why) : canFeedWgmma(l, c.a, c.m, c.k, dims, why);
  };
  if (l.producerWarps && !(feedsA() && canFeedWgmma(l, c.b, c.n, c.k, dims, why)))
    return refuse() << "cannot be fed by producer warps: " << why;
  return success();
}

bool Scheduler::startsFromZero(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return l.unit == "wgmma" && l.producerWarps && (l.promote || !c.partScales.empty()) && form && !form->aInRegisters &&
         !form->bInRegisters && roundsInAccumulators(l, c, dims) == 1;
}

bool Scheduler::isLastColumn(const Contraction &c, const std::optional<WarpgroupForm> &form, const LaunchPlan &l, ArrayRef<int64_t> dims,
                             unsigned d) {
  return d == (takesColumnsAsRows(l, c, dims) ? c.m : c.n).back();
}

bool Scheduler::isLastRow(const Contraction &c, const std::optional<WarpgroupForm> &form, const LaunchPlan &l, ArrayRef<int64_t> dims,
                          unsigned d) {
  return d == (takesColumnsAsRows(l, c, dims) ? c.n : c.m).back();
}

} // namespace kernelc::te
