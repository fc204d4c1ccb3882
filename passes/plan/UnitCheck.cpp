// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a unit asks of the schedule of a product, whoever chose it: the second half of the list in Legality.h.
#include "ir/te/ScheduleLoc.h"
#include "ir/tile/Accumulator.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/Legality.h"
#include "passes/plan/ProductRounds.h"
#include "passes/plan/Scheduler.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace kernelc::te {

/// A product of a launch.
struct Scheduler::UnitProduct {
  const LaunchPlan &l;
  ReduceOp reduce;
  const Contraction &c;
  ArrayRef<int64_t> dims; ///< of the statement: the launch's indices
  std::optional<WarpgroupForm> form;

  int64_t tileOf(unsigned d) const { return l.tiles[dims[d]]; }
  const std::string &nameOf(unsigned d) const { return l.indices[dims[d]]; }
};

/// What breaks a rule, with its numbers; empty: nothing. `inner`: of what the record has under the rule's key, where it points at one.
struct Scheduler::Broken {
  std::string why;
  StringRef inner = {};
};

/// The rules themselves, which ask what the scheduler asks when it chooses.
struct Scheduler::ProductRules {
  /// A dim of `list` whose tile has more than one point.
  static std::optional<unsigned> findWide(const UnitProduct &p, ArrayRef<unsigned> list) {
    const unsigned *wide = llvm::find_if(list, [&](unsigned d) { return p.tileOf(d) != 1; });
    return wide == list.end() ? std::nullopt : std::optional(*wide);
  }
  static std::string one(const UnitProduct &p, unsigned d, StringRef why) {
    return llvm::formatv(why.data(), p.nameOf(d)).str() + llvm::formatv(", so that its tile is 1, not {0}", p.tileOf(d)).str();
  }
  static Broken ofBatch(Scheduler &, const UnitProduct &p) {
    std::optional<unsigned> d = findWide(p, p.c.batch);
    return d ? Broken{one(p, *d, "both operands and the result have an index '{0}'"), p.nameOf(*d)} : Broken{};
  }
  static Broken ofScaled(Scheduler &, const UnitProduct &p) {
    std::optional<unsigned> d = findWide(p, p.c.scaledK);
    return d ? Broken{one(p, *d, "a scale depends on '{0}'"), p.nameOf(*d)} : Broken{};
  }
  static Broken ofOwn(Scheduler &, const UnitProduct &p) {
    std::optional<unsigned> d = findWide(p, p.c.ownK);
    return d ? Broken{one(p, *d, "one operand alone has the summed index '{0}'"), p.nameOf(*d)} : Broken{};
  }
  static Broken ofTerms(Scheduler &, const UnitProduct &p) {
    if (!p.c.term || llvm::count_if(p.c.k, [&](unsigned d) { return p.tileOf(d) > 1; }) <= 1)
      return {};
    return {"a reduction of terms that are no products has tiles of several points along one reduced index only"};
  }
  static Broken ofOtherTerms(Scheduler &, const UnitProduct &p) {
    if (!p.c.term || p.l.unit == Unit::Simt)
      return {};
    return {"unit " + std::string(nameOf(p.l.unit)) + " takes sums of products, and this reduces other terms; CUDA cores (simt) do that"};
  }
  static Broken ofCondition(Scheduler &, const UnitProduct &p) {
    for (auto [index, most] : llvm::enumerate(uniformTiles(p.l, p.c, p.dims)))
      if (most && p.l.tiles[index] > most)
        return {llvm::formatv("the condition picks blocks of {0} along '{1}', so that its tile is no more than that, not {2}", most,
                              p.l.indices[index], p.l.tiles[index]),
                p.l.indices[index]};
    return {};
  }

  /// Blocks of a cluster fill each other's slots: they must walk the same tiles.
  static Broken ofClusterWalk(Scheduler &, const UnitProduct &p) {
    const int64_t *shared = llvm::find(p.dims, p.l.clusterIndex);
    if (p.l.cluster <= 1 || shared == p.dims.end())
      return {};
    unsigned d = shared - p.dims.begin();
    std::optional<IntegerSet> set = ReduceOp(p.reduce).getCondition();
    bool differs = (p.c.where && findSupport(p.c.where, p.dims.size())[d]) ||
                   (set && llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }));
    if (!differs)
      return {};
    return {llvm::formatv("the condition depends on '{0}', along which the {1} blocks of a cluster share what they load",
                          p.l.indices[p.l.clusterIndex], p.l.cluster)};
  }
  static Broken ofClusterTile(Scheduler &s, const UnitProduct &p) {
    if (p.l.cluster <= 1 || !s.findInTile(p.l)[p.l.clusterIndex])
      return {};
    return {
        llvm::formatv("the {0} blocks of a cluster walk neighbouring tiles of '{1}', and what is reduced over it needs all of it in one",
                      p.l.cluster, p.l.indices[p.l.clusterIndex])};
  }
  /// Partial results of a team's warps meet in shared memory, of which teams have no share each.
  static Broken ofTeams(Scheduler &s, const UnitProduct &p) {
    if (p.l.pingpong <= 1)
      return {};
    llvm::BitVector inTile = s.findInTile(p.l);
    for (unsigned d : takesColumnsAsRows(p.l, p.c, p.dims) ? p.c.n : p.c.m)
      if (inTile[p.dims[d]])
        return {"what is reduced over '" + p.nameOf(d) + "' crosses warps, which pingpong does not allow yet"};
    return {};
  }
  static Broken ofFlight(Scheduler &, const UnitProduct &p) {
    if (p.l.inFlight <= 1 || !p.l.loops.empty() || startsFromZero(p.l, p.c, p.dims))
      return {};
    return {
        llvm::formatv("in_flight {0}: products are in flight beside each other where each starts from zero, to leave the accumulators of "
                      "unit wgmma after a tile (promote, scales of blocks), or where one takes what the other gives (chains), and "
                      "producer warps fill their slots",
                      p.l.inFlight)};
  }
  static Broken ofFlightSlots(Scheduler &, const UnitProduct &p) {
    if (p.l.inFlight <= p.l.stages)
      return {};
    return {llvm::formatv("in_flight {0}: each product reads slots of its own, and there are {1} (stages)", p.l.inFlight, p.l.stages)};
  }
  /// Where no two such products are in flight at once, ptxas 12.9 to 13.0 gives the second product's operand A the registers of the
  /// first one's, which the loop needs in its next round (docs/lab/2026-11-26-right-first-4.md).
  static Broken ofHeld(Scheduler &, const UnitProduct &p) {
    if (!p.l.held || p.l.inFlight > 1 || p.l.unit != Unit::Wgmma)
      return {};
    return {"held: rows stay in registers beside products in flight (in_flight 2)"};
  }

  // What follows is of matrix units.

  static Broken refuse(const UnitProduct &p, const llvm::Twine &why, StringRef inner = "") {
    return {("unit " + llvm::Twine(nameOf(p.l.unit)) + " " + why).str(), inner};
  }
  static bool isMatrix(const UnitProduct &p) { return isMatrixUnit(p.l.unit); }

  static Broken ofTypes(Scheduler &s, const UnitProduct &p) {
    if (!isMatrix(p) || hasUnit(p.c, s.target_))
      return {};
    std::string types;
    llvm::raw_string_ostream(types) << "'" << narrowestType(p.c.a) << "' and '" << narrowestType(p.c.b) << "' on " << s.target_.name;
    bool isF32 = narrowestType(p.c.a).isF32() && narrowestType(p.c.b).isF32();
    return refuse(p,
                  "does not take a product of " + types + (isF32 ? "; 'precision(contract = tf32)' in the kernel lets it round them" : ""));
  }
  static Broken ofTarget(Scheduler &s, const UnitProduct &p) {
    if (p.l.unit != Unit::Wgmma || hasInstructions(p.l.unit, s.target_))
      return {};
    return refuse(p, llvm::Twine("is one of sm_90a; ") + s.target_.name + " has none");
  }
  static Broken ofForm(Scheduler &, const UnitProduct &p) {
    if (p.l.unit != Unit::Wgmma || p.form)
      return {};
    return refuse(p, "takes two operands of f16, of bf16, of f8 or of i8 as they are stored, or of f32 that are rounded to tf32, or one of "
                     "f16 or bf16 that is computed");
  }
  static Broken ofPowers(Scheduler &s, const UnitProduct &p) {
    if (!isMatrix(p))
      return {};
    for (unsigned d = 0; d < p.dims.size(); ++d)
      if (int64_t t = p.tileOf(d); (t & (t - 1)) && !s.isLastColumn(p.c, p.form, p.l, p.dims, d) &&
                                   !(t == 16 * p.l.warps && s.isLastRow(p.c, p.form, p.l, p.dims, d)))
        return refuse(p,
                      llvm::formatv("takes tiles that are no powers of two for its last index of columns only (and 192 rows for 12 "
                                    "warps), not {0} for '{1}'",
                                    t, p.nameOf(d))
                          .str(),
                      p.nameOf(d));
    return {};
  }
  // What follows is of warpgroups, whose rows are those of the operand that comes first.

  static Contraction turned(Scheduler &s, const UnitProduct &p) {
    Contraction c = p.c;
    if (takesColumnsAsRows(p.l, c, p.dims))
      c.swapOperands();
    return c;
  }
  static tile::AccumulatorShape shapeOf(Scheduler &s, const UnitProduct &p) {
    Contraction c = turned(s, p);
    return tile::accumulatorShape(Unit::Wgmma, s.tileProduct(p.l, c.m, p.dims), s.tileProduct(p.l, c.n, p.dims), p.l.warps);
  }
  static bool isWarpgroups(const UnitProduct &p) { return p.l.unit == Unit::Wgmma; }

  static Broken ofWarps(Scheduler &s, const UnitProduct &p) {
    if (!isWarpgroups(p) || p.l.warps % 4 == 0)
      return {};
    std::string why = llvm::formatv("takes whole warpgroups, of 4 warps each, not {0}{1}", p.l.warps, p.l.warps == 1 ? " warp" : " warps");
    if (!s.unfed_.empty())
      why += "; the cost model does not choose it, because tensor copies do not feed this product: " + s.unfed_;
    return refuse(p, why);
  }
  static Broken ofShape(Scheduler &s, const UnitProduct &p) {
    if (!isWarpgroups(p))
      return {};
    tile::AccumulatorShape part = shapeOf(s, p);
    if (part.warpM % 64 == 0 && part.warpN % 8 == 0 && part.warpN != 0 && part.warpN <= 256)
      return {};
    Contraction c = turned(s, p);
    return refuse(p, llvm::formatv("takes rows by 64 and columns by 8, at most 256 a warpgroup, not {0} x {1} by {2}{3}",
                                   s.tileProduct(p.l, c.m, p.dims), s.tileProduct(p.l, c.n, p.dims), p.l.warps / 4,
                                   p.l.warps == 4 ? " warpgroup" : " warpgroups")
                         .str());
  }
  static Broken ofStep(Scheduler &s, const UnitProduct &p) {
    if (!isWarpgroups(p))
      return {};
    std::string why = s.whyNotInSteps(p.l, p.c, p.dims, unitBytes(p.form->type));
    return why.empty() ? Broken{} : refuse(p, why);
  }
  static Broken ofByteColumns(Scheduler &s, const UnitProduct &p) {
    if (!isWarpgroups(p) || !p.form->type.isInteger(8))
      return {};
    int64_t columns = shapeOf(s, p).warpN;
    return columns > 32 && columns % 16
               ? refuse(p, llvm::formatv("takes more than 32 columns of i8 by 16, not {0} a warpgroup", columns).str())
               : Broken{};
  }
  static Broken ofRegisters(Scheduler &s, const UnitProduct &p) {
    if (!isWarpgroups(p))
      return {};
    int64_t sets = p.l.promote || !p.c.partScales.empty() ? 1 + p.l.inFlight : 1;
    int64_t accumulators = s.accumulatorRegisters(p.l, turned(s, p), p.dims, sets), share = s.registerShares(p.l).consumer;
    if (accumulators + kBesideAccumulators <= share)
      return {};
    return refuse(p, llvm::formatv("needs {0} registers a thread for accumulators and {1} beside them; {2}{3}{4} threads leave each {5}",
                                   accumulators, kBesideAccumulators, p.l.minBlocks, p.l.minBlocks == 1 ? " block of " : " blocks of ",
                                   (p.l.producerWarps + p.l.warps * p.l.pingpong) * 32, share)
                         .str());
  }
  /// What one instruction takes must fit into the registers that threads begin with.
  static Broken ofFirstRegisters(Scheduler &s, const UnitProduct &p) {
    if (!isWarpgroups(p) || !p.l.producerWarps)
      return {};
    int64_t columns = shapeOf(s, p).warpN, one = columns / 2, even = s.registerShares(p.l).even;
    if (one + kBesideAccumulators <= even)
      return {};
    return refuse(p,
                  llvm::formatv("needs {0} registers a thread for the accumulators of {1} columns and {2} beside them in one instruction; "
                                "{3} threads begin with {4} each",
                                one, columns, kBesideAccumulators, (p.l.producerWarps + p.l.warps * p.l.pingpong) * 32, even)
                      .str());
  }
  static Broken ofFeed(Scheduler &s, const UnitProduct &p) {
    if (!isWarpgroups(p) || !p.l.producerWarps)
      return {};
    Contraction c = turned(s, p);
    std::string why;
    int64_t bytes = 0;
    bool feedsA = p.form->aInRegisters || p.form->bInRegisters ? s.canFeedRegisters(p.l, c.a, c.m, c.k, p.dims, bytes, why)
                                                               : s.canFeedWgmma(p.l, c.a, c.m, c.k, p.dims, why);
    return feedsA && s.canFeedWgmma(p.l, c.b, c.n, c.k, p.dims, why) ? Broken{} : refuse(p, "cannot be fed by producer warps: " + why);
  }

  static Broken ofTurned(Scheduler &, const UnitProduct &p) {
    if (!p.l.turned)
      return {};
    if (!isWarpgroups(p) || !p.l.producerWarps)
      return refuse(p, "has no rows that columns could take (turned), as warpgroups have whose slots producer warps fill", "turned");
    return p.form->aInRegisters || p.form->bInRegisters ? refuse(p, "takes its rows from registers, which columns cannot be (turned)")
                                                        : Broken{};
  }

  // What follows is of warps, and of sums.

  static Broken ofMma(Scheduler &s, const UnitProduct &p) {
    int64_t m = s.tileProduct(p.l, p.c.m, p.dims), n = s.tileProduct(p.l, p.c.n, p.dims), k = s.tileProduct(p.l, p.c.k, p.dims);
    if (p.l.unit != Unit::Mma)
      return {};
    int64_t leastK = 32 / unitBytes(operandType(p.c, p.c.a, p.l.unit, s.target_));
    if (m >= 16 && n >= 16 && k >= leastK)
      return {};
    return refuse(p, llvm::formatv("needs tiles of at least 16 x 16 x {0}, not {1} x {2} x {3}", leastK, m, n, k).str());
  }
  static Broken ofPromotion(Scheduler &s, const UnitProduct &p) {
    int64_t most = isMatrix(p) ? s.promoteAfter(operandType(p.c, p.c.a, p.l.unit, s.target_)) : 0;
    if (!most || (p.l.promote && p.l.promote <= most))
      return {};
    bool rounds = accumulatesRounded(s.kernel_);
    return refuse(p, llvm::formatv("{0}: they leave its accumulators after at most {1}{2}",
                                   rounds ? "cuts what it adds to its accumulators, and the policy asks for sums as close as f32's"
                                          : "sums products of f8 in fewer bits than f32 has",
                                   most, rounds ? " (promote)" : " (promote), unless accumulate = fast")
                         .str());
  }
  static Broken ofPromotedTile(Scheduler &s, const UnitProduct &p) {
    int64_t k = s.tileProduct(p.l, p.c.k, p.dims);
    if (!isMatrix(p) || !p.l.promote || k <= p.l.promote)
      return {};
    return refuse(p, llvm::formatv("sums tiles of {0} products, more than its accumulators may hold (promote {1})", k, p.l.promote).str());
  }

  struct Rule {
    PlanSentence says;
    Broken (*broken)(Scheduler &, const UnitProduct &);
  };
  /// In the order in which they are asked: later ones take earlier ones to hold.
  static constexpr Rule kAll[] = {
      {{20, "tiles", "An index of both operands and the result has tiles of one."}, ofBatch},
      {{21, "tiles", "So has a summed index that a scale depends on."}, ofScaled},
      {{22, "tiles", "So has a summed index of one operand alone."}, ofOwn},
      {{23, "tiles", "Terms that are no products are reduced in tiles along one index."}, ofTerms},
      {{24, "unit", "They are reduced on CUDA cores."}, ofOtherTerms},
      {{25, "tiles", "A condition that picks blocks of an index bounds its tile."}, ofCondition},
      {{26, "cluster", "The blocks of a cluster walk the same tiles of the summed indices."}, ofClusterWalk},
      {{27, "cluster", "What is reduced over the results of a product lies in one block."}, ofClusterTile},
      {{28, "pingpong", "And within a team's warps."}, ofTeams},
      {{29, "in_flight", "Products are in flight beside each other where each starts from zero, or in chains."}, ofFlight},
      {{30, "in_flight", "Each of them reads slots of its own."}, ofFlightSlots},
      {{31, "unit", "The target has a matrix unit for the operands' types."}, ofTypes},
      {{32, "unit", "Warpgroups multiply on sm_90a."}, ofTarget},
      {{33, "unit", "They take operands as they are stored, or one that is computed."}, ofForm},
      {{34, "tiles", "Tiles of matrix units are powers of two, but for the last index of warpgroups' columns or rows."}, ofPowers},
      {{35, "warps", "Warpgroups have 4 warps."}, ofWarps},
      {{36, "tiles", "A warpgroup takes rows by 64 and columns by 8, at most 256."}, ofShape},
      {{37, "tiles", "It sums by 32 bytes."}, ofStep},
      {{38, "tiles", "It takes more than 32 columns of bytes by 16."}, ofByteColumns},
      {{39, "unit", "A thread has registers for its accumulators and what lies beside them."}, ofRegisters},
      {{40, "unit", "It begins with registers for those of one instruction."}, ofFirstRegisters},
      {{41, "unit", "Tensor copies, or registers, can bring what producer warps feed."}, ofFeed},
      {{42, "tiles", "A warp multiplies 16 x 16 and 32 bytes of sums at least."}, ofMma},
      {{43, "unit", "Sums leave accumulators that round before they have rounded too much."}, ofPromotion},
      {{44, "unit", "A tile has no more products than that."}, ofPromotedTile},
      {{45, "held", "Rows stay in registers where products are in flight beside each other."}, ofHeld},
      {{46, "turned", "Columns take the rows of warpgroups, and both operands come from slots."}, ofTurned},
  };
};

/// Fields that only products have.
static std::pair<StringRef, std::string> findFieldOfProducts(const LaunchPlan &l) {
  if (l.unit != Unit::Simt)
    return {"unit", "unit " + std::string(nameOf(l.unit)) + " takes products, and there is none"};
  if (l.producerWarps)
    return {"producer_warps", llvm::formatv("{0} producer warps load what a product takes, and there is none", l.producerWarps)};
  if (l.turned)
    return {"turned", "turned: there is no product whose columns could take the unit's rows"};
  if (l.promote)
    return {"promote", llvm::formatv("promote {0}: there is no product whose sums would leave a unit's accumulators", l.promote)};
  if (l.inFlight > 1)
    return {"in_flight", llvm::formatv("in_flight {0}: there is no product", l.inFlight)};
  return {};
}

std::string Scheduler::whyNotInSteps(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims, int64_t bytes) {
  int64_t k = tileProduct(l, c.k, dims), step = 32 / bytes;
  return k % step ? llvm::formatv("sums products by {0}, not tiles of {1}", step, k).str() : std::string();
}

/// What a cascade's own products ask beyond those that give its terms: rounds are tiles of what they sum over.
std::string Scheduler::whyNotInRounds(const LaunchPlan &l, CascadeOp cascade, ArrayRef<int64_t> dims) {
  if (l.unit == Unit::Wgmma)
    for (unsigned k = 0; k < cascade.getNumComponents(); ++k)
      if (std::optional<Contraction> c = findContraction(cascade, k)) {
        std::optional<WarpgroupForm> form = findWarpgroupForm(*c); // (without one the unit takes halves)
        if (std::string why = whyNotInSteps(l, *c, dims, form ? unitBytes(form->type) : 2); !why.empty())
          return "unit " + std::string(nameOf(l.unit)) + " " + why;
      }
  return "";
}

LogicalResult Scheduler::checkUnit(const LaunchPlan &l) {
  bool hasProduct = false;
  auto wrong = [&](Operation *at, StringRef key, StringRef inner, StringRef why) {
    Operation *place = kernel_.getScheduleAtAttr() ? kernel_.getOperation() : at; // in the text there is the record itself
    return mlir::emitError(getScheduleLoc(place, kernel_.getSymName(), l.name, {key, inner}))
           << "schedule of launch '" << l.name << "': " << why;
  };
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    if (auto cascade = dyn_cast<CascadeOp>(ops_[ordinal]))
      if (std::string why = whyNotInRounds(l, cascade, l.dims[n]); !why.empty())
        return wrong(cascade, "tiles", "", why);
    auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]);
    auto c = reduce ? findGeneralContraction(reduce) : std::nullopt;
    if (!c)
      continue;
    hasProduct = true;
    UnitProduct p{l, reduce, *c, l.dims[n], findWarpgroupForm(*c)};
    for (const ProductRules::Rule &rule : ProductRules::kAll)
      if (Broken broken = rule.broken(*this, p); !broken.why.empty())
        return wrong(reduce, rule.says.key, broken.inner, broken.why);
  }
  auto [key, why] = hasProduct ? std::pair<StringRef, std::string>() : findFieldOfProducts(l);
  return why.empty() ? success() : LogicalResult(wrong(kernel_, key, "", why));
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

bool Scheduler::startsFromZero(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return l.unit == Unit::Wgmma && l.producerWarps && (l.promote || !c.partScales.empty()) && form && !form->aInRegisters &&
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
