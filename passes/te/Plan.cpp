// te-plan: see Passes.td. Grouping.cpp decides what shares a launch; this file
// gives each launch its tiles, warps and unit.
#include "passes/Passes.h"

#include <numeric>

#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "passes/te/Affine.h"
#include "passes/te/Contraction.h"
#include "passes/te/Grouping.h"
#include "passes/te/PlanAttr.h"
#include "passes/te/Schedule.h"
#include "passes/te/Sharing.h"
#include "passes/te/Strides.h"
#include "passes/tile/Box.h"
#include "passes/tile/WgmmaOperand.h"
#include "support/Target.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEPLAN
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// How the elements of one launch are reached in memory.
struct AccessSummary {
  /// Per launch index: weight of the accesses that are contiguous along it. Bytes
  /// per element, times 2^8 for every index the access depends on: an access with
  /// one index more moves as many times more.
  SmallVector<int64_t> contiguousBytes;
  int64_t widestBytes = 1; ///< of the element types accessed
};

AccessSummary summarizeAccesses(const LaunchPlan &launch, ArrayRef<Operation *> ops) {
  AccessSummary s;
  s.contiguousBytes.assign(launch.indices.size(), 0);
  /// `indices`: the launch index of each dim of `map`, -1 for computed subscripts.
  auto count = [&](AffineMap map, ArrayRef<int64_t> indices, Type element) {
    int64_t bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
    s.widestBytes = std::max(s.widestBytes, bytes);
    if (map.getNumResults() == 0)
      return;
    int64_t weight = bytes;
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (map.isFunctionOfDim(d) && weight < int64_t(1) << 48)
        weight <<= 8;
    for (auto [d, index] : llvm::enumerate(indices))
      if (index >= 0 && linearCoefficient(map.getResults().back(), d) == 1)
        s.contiguousBytes[index] += weight;
  };
  for (auto [n, ordinal] : llvm::enumerate(launch.ops)) {
    Operation *op = ops[ordinal];
    const auto &dims = launch.dims[n];
    op->walk([&](ReadOp read) {
      Operation *producer = read.getTensor().getDefiningOp();
      if (producer && llvm::is_contained(launch.ops, llvm::find(ops, producer) - ops.begin()))
        return;
      SmallVector<int64_t> operandIndex;
      for (Value v : read.getOperands_()) {
        std::optional<unsigned> dim = findIndex(op, v);
        operandIndex.push_back(dim ? dims[*dim] : -1);
      }
      count(read.getMapOrIdentity(), operandIndex, read.getTensor().getType().getElementType());
    });
    if (auto compute = dyn_cast<ComputeOp>(op))
      count(compute.getOutMapOrIdentity(), dims, compute.getResult().getType().getElementType());
  }
  return s;
}

/// The index most bytes are contiguous along, or -1.
int64_t contiguousIndex(const AccessSummary &s) {
  auto it = llvm::max_element(s.contiguousBytes);
  return it == s.contiguousBytes.end() || *it == 0 ? -1 : it - s.contiguousBytes.begin();
}

class Scheduler {
public:
  Scheduler(KernelOp kernel, const Target &target, const KernelPlan &plan, Merge merge)
      : kernel_(kernel), ops_(getDomainOps(kernel)), target_(target), facts_{plan.sizeDiv, plan.sizeMax}, fast_(accumulatesFast(kernel)), merge_(merge) {}

  void schedule(LaunchPlan &l) {
    for (auto [n, ordinal] : llvm::enumerate(l.ops))
      if (auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]))
        if (auto c = findContraction(reduce)) {
          remarkOn(reduce, *c);
          uniform_ = uniformTiles(l, *c, l.dims[n]);
          return scheduleContraction(l, reduce, *c, l.dims[n]);
        }
    if (l.grid.size() == l.indices.size())
      return scheduleElementwise(l);
    scheduleReduction(l);
  }

  /// Whether the unit of a launch takes its product, whoever chose unit and tiles: a
  /// unit that would round its operands must not get any that nobody rounded.
  LogicalResult checkUnit(const LaunchPlan &l) {
    for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
      auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]);
      auto c = reduce ? findContraction(reduce) : std::nullopt;
      if (!c)
        continue;
      auto wrong = [&] { return reduce.emitError() << "schedule of launch '" << l.name << "': "; };
      for (unsigned d : c->scaledK)
        if (int64_t index = l.dims[n][d]; l.tiles[index] != 1)
          return wrong() << "a scale depends on '" << l.indices[index] << "', so that its tile is 1, not " << l.tiles[index];
      SmallVector<int64_t> uniform = uniformTiles(l, *c, l.dims[n]);
      for (auto [index, most] : llvm::enumerate(uniform))
        if (most && l.tiles[index] > most)
          return wrong() << "the condition picks blocks of " << most << " along '" << l.indices[index] << "', so that its tile is no more than that, not "
                         << l.tiles[index];
      // Blocks of a cluster fill each other's slots: they must walk the same tiles.
      if (l.cluster > 1) {
        auto shared = llvm::find(l.dims[n], l.clusterIndex);
        unsigned d = shared - l.dims[n].begin();
        std::optional<IntegerSet> set = reduce.getCondition();
        bool differs = uniform[l.clusterIndex] || (set && shared != l.dims[n].end() && llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }));
        if (differs)
          return wrong() << "the condition depends on '" << l.indices[l.clusterIndex] << "', along which the " << l.cluster
                         << " blocks of a cluster share what they load";
      }
      if (l.unit == "simt")
        continue;
      auto refuse = [&] { return wrong() << "unit " << l.unit << " "; };
      if (!c->unitType || !hasUnit(*c))
        return refuse() << "does not take a product of " << narrowestType(c->a) << " and " << narrowestType(c->b) << " on " << target_.name;
      if (l.unit == "wgmma" && !(target_.wgmma && findWarpgroupForm(*c)))
        return refuse()
               << "takes two operands of f16, of bf16, of f8 or of i8 as they are stored, or of f32 that are rounded to tf32, or one of f16 "
                  "or bf16 that is computed, on sm_90a";
      std::optional<WarpgroupForm> form = findWarpgroupForm(*c);
      for (auto [d, index] : llvm::enumerate(l.dims[n]))
        if (int64_t t = l.tiles[index]; (t & (t - 1)) && !isLastColumn(*c, form && form->bInRegisters, l, l.dims[n], unsigned(d)))
          return refuse() << "takes tiles that are no powers of two for its last index of columns only, not " << t << " for '"
                          << l.indices[index] << "'";
      int64_t m = tileProduct(l, c->m, l.dims[n]), columns = tileProduct(l, c->n, l.dims[n]), k = tileProduct(l, c->k, l.dims[n]);
      Type type = operandType(*c, c->a, l.unit, target_);
      if (l.unit == "wgmma") {
        // What ptxas asks for beside accumulators (C7602).
        constexpr int64_t kBeside = 26;
        int64_t threads = (l.warps * l.pingpong + l.producerWarps) * 32, sets = l.promote || !c->partScales.empty() ? 2 : 1;
        int64_t accumulators = sets * m * columns / (l.warps * 32);
        int64_t share = std::min<int64_t>(255, target_.registersPerSm / std::max<int64_t>(1, l.minBlocks) / threads / 8 * 8);
        if (accumulators + kBeside > share)
          return refuse() << "needs " << accumulators << " registers a thread for accumulators and " << kBeside << " beside them; "
                          << l.minBlocks << (l.minBlocks == 1 ? " block of " : " blocks of ") << threads << " threads leave each " << share;
      }
      int64_t leastK = 32 / unitBytes(type);
      if (l.unit == "mma" && (m < 16 || columns < 16 || k < leastK))
        return refuse() << "needs tiles of at least 16 x 16 x " << leastK << ", not " << m << " x " << columns << " x " << k;
      if (int64_t most = promoteAfter(type); most && (!l.promote || l.promote > most))
        return refuse() << "sums products of f8 in fewer bits than f32 has: they leave its accumulators after at most " << most
                        << " (promote), unless accumulate = fast";
      if (l.promote && k > l.promote)
        return refuse() << "sums tiles of " << k << " products, more than its accumulators may hold (promote " << l.promote << ")";
    }
    return success();
  }

private:
  /// Whether dim d is the last of the unit's columns: of b, unless a's rows are too few for the unit's
  /// or b comes from registers (see ProductToTile.cpp).
  bool isLastColumn(const Contraction &c, bool bInRegisters, const LaunchPlan &l, ArrayRef<int64_t> dims, unsigned d) {
    bool swapped = bInRegisters || tileProduct(l, c.m, dims) < 64;
    return d == (swapped ? c.m : c.n).back();
  }

  bool hasUnit(const Contraction &c) { return operandType(c, c.a, "mma", target_).isF16() || target_.mmaBf16; }

  /// After how many products sums leave the accumulators of a unit that takes `type`; 0: never.
  int64_t promoteAfter(Type type) { return type && sumsInFewBits(type) && !fast_ ? target_.promoteAfter : 0; }

  /// The reduced indices that one tile may hold several points of.
  static SmallVector<unsigned> tiledK(const Contraction &c) {
    return SmallVector<unsigned>(llvm::make_filter_range(c.k, [&](unsigned d) { return !llvm::is_contained(c.scaledK, d); }));
  }

  int64_t extentMax(const LaunchPlan &l, int64_t index) { return knownMax(l.extents.getResult(index), facts_); }

  /// Per launch index: the largest tile within which the condition of `c` on data is the same; 0: any.
  static SmallVector<int64_t> uniformTiles(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
    SmallVector<int64_t> most(l.indices.size(), 0);
    if (c.where)
      for (auto [d, index] : llvm::enumerate(dims))
        most[index] = findUniformTile(c.where, d);
    return most;
  }

  /// How many points of these indices a tile can have, where a condition on data sets a limit; else -1.
  int64_t mostPoints(const LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims) {
    int64_t points = 1;
    bool limited = false;
    for (unsigned d : list) {
      int64_t uniform = uniform_[dims[d]], extent = extentMax(l, dims[d]);
      limited |= uniform > 0;
      if (!uniform && extent < 0)
        return -1;
      points *= uniform ? uniform : int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(extent, 1)));
    }
    return limited ? points : -1;
  }

  /// The tiles to choose from: the target's, or where a condition on data sets a limit to one side,
  /// what the other side may be.
  SmallVector<ProductTile> productTiles(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
    int64_t rows = mostPoints(l, c.m, dims), columns = mostPoints(l, c.n, dims);
    if (rows < 0 && columns < 0)
      return llvm::to_vector(llvm::make_range(wgmmaTiles().begin(), wgmmaTiles().end()));
    SmallVector<ProductTile> tiles;
    auto sides = [](int64_t most) { return most < 0 ? SmallVector<int64_t>{256, 128, 64} : SmallVector<int64_t>{std::min<int64_t>(most, 256)}; };
    for (int64_t m : sides(rows))
      for (int64_t n : sides(columns)) {
        // As for the target's own tiles: operands of 1 / m + 1 / n a multiply-add come as fast as 64 of these are done.
        double reuse = double(m) * double(n) / double(m + n);
        tiles.push_back({int(m), int(n), int(175 * reuse / (reuse + 64))});
      }
    return tiles;
  }

  /// A power-of-two tile for an index, at most `want`, no larger than the index can be.
  int64_t clampTile(const LaunchPlan &l, int64_t index, int64_t want) {
    int64_t max = extentMax(l, index);
    if (size_t(index) < uniform_.size() && uniform_[index])
      want = std::min(want, uniform_[index]);
    return max < 0 ? want : std::min<int64_t>(want, llvm::PowerOf2Ceil(std::max<int64_t>(max, 1)));
  }

  /// Every point on its own: enough elements per thread for two 16-byte loads of
  /// the widest type, threads side by side along the contiguous index.
  void scheduleElementwise(LaunchPlan &l) {
    AccessSummary s = summarizeAccesses(l, ops_);
    int64_t contiguous = contiguousIndex(s);
    l.warps = 8;
    int64_t left = l.warps * 32 * (16 / s.widestBytes) * 2;
    // Where reads and writes are contiguous along different indices (a
    // transposition), the tile is square in them.
    SmallVector<int64_t> order = llvm::to_vector(llvm::reverse(l.grid));
    llvm::stable_sort(order, [&](int64_t a, int64_t b) { return s.contiguousBytes[a] > s.contiguousBytes[b]; });
    int64_t contiguousCount = llvm::count_if(s.contiguousBytes, [](int64_t b) { return b > 0; });
    for (int64_t index : order) {
      int64_t want = left;
      if (contiguousCount > 1 && contiguous >= 0 && s.contiguousBytes[index] > 0)
        want = std::min<int64_t>(left, 64);
      l.tiles[index] = clampTile(l, index, want);
      left /= l.tiles[index];
      if (left <= 1)
        break;
    }
  }

  /// Indices off the grid are walked inside the block: in one tile when that fits
  /// the registers, else in a loop.
  void scheduleReduction(LaunchPlan &l) {
    AccessSummary s = summarizeAccesses(l, ops_);
    int64_t contiguous = contiguousIndex(s);
    int64_t vector = std::max<int64_t>(1, 16 / s.widestBytes);
    SmallVector<int64_t> inner;
    for (size_t i = 0; i < l.indices.size(); ++i)
      if (!llvm::is_contained(l.grid, int64_t(i)))
        inner.push_back(i);
    bool rows = contiguous < 0 || llvm::is_contained(inner, contiguous);
    constexpr int64_t kPerThread = 32; // elements of one tile a thread holds
    if (rows) {
      int64_t row = contiguous < 0 ? inner.back() : contiguous;
      constexpr int64_t kLargestResident = 32768, kLoopTile = 4096;
      int64_t max = extentMax(l, row);
      bool resident = max >= 0 && max <= kLargestResident;
      l.tiles[row] = clampTile(l, row, resident ? kLargestResident : kLoopTile);
      int64_t threads = std::clamp<int64_t>(l.tiles[row] / kPerThread, 32, 1024);
      l.warps = threads / 32;
      // Short rows: several to a block, a warp each.
      if (l.tiles[row] < 32 * vector * 8 && !l.grid.empty()) {
        int64_t rowsPerBlock = 4;
        l.warps = 4;
        int64_t last = l.grid.back();
        l.tiles[last] = clampTile(l, last, rowsPerBlock * std::max<int64_t>(1, 32 * vector / l.tiles[row]));
      }
      // Further inner indices are walked one by one around it.
      int64_t room = kLoopTile / std::max<int64_t>(1, l.tiles[row]);
      for (int64_t index : llvm::reverse(inner))
        if (index != row && room > 1 && extentMax(l, index) >= 0) {
          l.tiles[index] = clampTile(l, index, room);
          room /= l.tiles[index];
        }
      return shareOut(l, inner);
    }
    // Columns: half a warp's width of them (256 bytes a row; kernelc tune on an H200), the
    // reduced index over the warps.
    l.warps = 8;
    l.tiles[contiguous] = clampTile(l, contiguous, 16 * vector);
    int64_t reps = 4;
    l.tiles[inner.back()] = clampTile(l, inner.back(), l.warps * reps * std::max<int64_t>(1, 32 * vector / l.tiles[contiguous]));
    shareOut(l, inner);
  }

  /// Long sums for few blocks: those of a cluster share the longest of the indices off the grid out.
  void shareOut(LaunchPlan &l, ArrayRef<int64_t> inner) {
    int64_t most = 0; // tiles
    l.clusterIndex = inner.front();
    for (int64_t index : inner) {
      int64_t max = extentMax(l, index), tiles = max < 0 ? std::numeric_limits<int32_t>::max() : llvm::divideCeil(max, l.tiles[index]);
      if (tiles > most) {
        most = tiles;
        l.clusterIndex = index;
      }
    }
    int64_t blocks = 1, results = 1, length = extentMax(l, l.clusterIndex);
    for (int64_t g : l.grid) {
      int64_t max = extentMax(l, g);
      if (max < 0)
        return; // plenty of blocks, for all we know
      blocks *= llvm::divideCeil(max, l.tiles[g]);
      results *= max;
    }
    if (merge_ == Merge::Launch || !isWorthSharing(results, length) || !whyNotShared(kernel_, l, l.clusterIndex, ops_).empty())
      return;
    constexpr int64_t kBlocksPerMultiprocessor = 4;
    while (l.cluster < target_.cluster && l.cluster * 2 <= most && blocks * l.cluster < kBlocksPerMultiprocessor * target_.smCount)
      l.cluster *= 2;
  }

  /// What a policy did to a product, or why it does not run on the matrix unit.
  void remarkOn(ReduceOp reduce, const Contraction &c) {
    if (auto note = reduce->getAttrOfType<StringAttr>(kPrecisionNote))
      emitRemark(reduce.getLoc()) << "precision: " << note.getValue();
    else if (target_.mmaBf16 && !c.unitType && c.a.getType().isF32())
      emitRemark(reduce.getLoc()) << "this product runs on CUDA cores: its operands are " << narrowestType(c.a) << " and "
                                  << narrowestType(c.b) << "; write bf16(..) around them or give a policy, precision(contract = tf32)";
  }

  /// The box of what `read`, of a product's factor, takes of its tensor for one tile.
  std::optional<Box> findReadBox(const LaunchPlan &l, ReadOp read, ArrayRef<unsigned> outer, ArrayRef<unsigned> k, ArrayRef<int64_t> dims,
                                 SmallVectorImpl<int64_t> &box, std::string &why) {
    auto no = [&](const char *reason) {
      why = reason;
      return std::nullopt;
    };
    SmallVector<AffineExpr> toLaunch;
    for (Value v : read.getOperands_()) {
      auto arg = dyn_cast<BlockArgument>(v);
      if (!arg || arg.getArgNumber() >= dims.size())
        return no("a subscript is data");
      toLaunch.push_back(getAffineDimExpr(dims[arg.getArgNumber()], read.getContext()));
    }
    AffineMap map = read.getMapOrIdentity();
    SmallVector<AffineExpr> subscripts;
    for (AffineExpr e : map.getResults())
      subscripts.push_back(e.replaceDims(toLaunch));
    map = AffineMap::get(l.indices.size(), map.getNumSymbols(), subscripts, read.getContext());
    box.assign(l.indices.size(), 1);
    for (unsigned d : llvm::concat<const unsigned>(outer, k))
      box[dims[d]] = l.tiles[dims[d]];
    int64_t bytes = std::max(1u, read.getResult().getType().getIntOrFloatBitWidth() / 8);
    TensorRead access{map, getTensorShape(read.getTensor()), l.extents, box, bytes, false, llvm::BitVector(box.size())};
    int64_t param = findParam(read.getTensor());
    access.strides = getParamStrides(getKernel(read), param);
    access.alignment = getParamAlignment(getKernel(read), param);
    if (read.getBounds() == BoundsMode::Pad) {
      access.zeroOutside = true;
      if (!readsZeroOutside(read))
        return no("what lies outside is not zero");
    } else if (read.getBounds() != BoundsMode::InBounds && read.getBounds() != BoundsMode::Assume) {
      return no("subscripts are clamped or wrapped");
    }
    for (unsigned d : k)
      access.reduced.set(dims[d]);
    return findBox(access, facts_, why);
  }

  SmallVector<int64_t> indicesOf(ArrayRef<unsigned> list, ArrayRef<int64_t> dims) {
    return llvm::map_to_vector(list, [&](unsigned d) { return dims[d]; });
  }

  /// Whether a factor can travel by tensor copies into slots that wgmma reads.
  bool canFeedWgmma(const LaunchPlan &l, Value factor, ArrayRef<unsigned> outer, ArrayRef<unsigned> k, ArrayRef<int64_t> dims,
                    std::string &why) {
    ReadOp read = findOperandRead(factor);
    SmallVector<int64_t> box;
    std::optional<Box> found = findReadBox(l, read, outer, k, dims, box, why);
    int64_t bytes = read.getResult().getType().getIntOrFloatBitWidth() / 8;
    return found && findWgmmaOperand(box, bytes, found->contiguous, indicesOf(outer, dims), indicesOf(k, dims), why);
  }

  /// Whether what a factor is computed from at every point can travel so; `bytes`: of one point of it.
  bool canFeedRegisters(const LaunchPlan &l, Value factor, ArrayRef<unsigned> outer, ArrayRef<unsigned> k, ArrayRef<int64_t> dims,
                        int64_t &bytes, std::string &why) {
    bytes = 0;
    why = "nothing is read at every point";
    for (ReadOp read : findReads(factor)) {
      llvm::BitVector support = findSupport(read.getResult(), dims.size());
      auto isFree = [&](unsigned d) { return l.tiles[dims[d]] == 1 || support[d]; };
      if (!llvm::all_of(outer, isFree) || !llvm::all_of(k, isFree))
        continue; // a row, a scale: loaded
      SmallVector<int64_t> box;
      if (read.getResult().getType().getIntOrFloatBitWidth() < 8 || !findReadBox(l, read, outer, k, dims, box, why))
        return false;
      bytes += read.getResult().getType().getIntOrFloatBitWidth() / 8;
    }
    return bytes > 0;
  }

  /// One or two warpgroups of products and one that fills. False where the target or
  /// the operands do not allow it; of the operands `why` then says so.
  bool scheduleWgmma(LaunchPlan &l, const Contraction &given, ArrayRef<int64_t> dims, std::string &why) {
    std::optional<WarpgroupForm> form = findWarpgroupForm(given);
    if (!target_.wgmma || !form)
      return false;
    int64_t bytes = unitBytes(form->type);
    // The unit's 64 rows are filled by the side that comes from registers, else by the longer one.
    Contraction c = given;
    int64_t m = extentProduct(l, c.m, dims), n = extentProduct(l, c.n, dims), batch = std::max<int64_t>(1, extentProduct(l, c.batch, dims));
    bool inRegisters = form->aInRegisters || form->bInRegisters;
    auto mostOf = [&](ArrayRef<unsigned> list, int64_t extent) {
      int64_t most = mostPoints(l, list, dims);
      return extent < 0 ? most : most < 0 ? extent : std::min(extent, most);
    };
    int64_t rows = mostOf(c.m, m), columns = mostOf(c.n, n);
    if (inRegisters ? form->bInRegisters : rows >= 0 && rows < 64 && (columns < 0 || columns >= 64)) {
      std::swap(c.a, c.b);
      std::swap(c.m, c.n);
      std::swap(m, n);
    }
    LaunchPlan p = l;
    p.promote = promoteAfter(form->type);
    int64_t sets = p.promote || !c.partScales.empty() ? 2 : 1; // of accumulators: a tile's and the sum's
    // The tile whose rounds over the device take least time.
    double least = 0;
    for (const ProductTile &tile : productTiles(l, c, dims)) {
      if (sets * tile.m * tile.n > target_.accumulatorRegisters * (tile.m >= 128 ? 256 : 128))
        continue;
      double rounds =
          m < 0 || n < 0 ? 1 : double(llvm::divideCeil(batch * llvm::divideCeil(m, tile.m) * llvm::divideCeil(n, tile.n), target_.smCount));
      double time = rounds * tile.m * tile.n / tile.percent;
      if (m < 0 || n < 0) // nothing known: the best
        time = -tile.percent;
      if (p.unit == "wgmma" && time >= least)
        continue;
      least = time;
      p.unit = "wgmma";
      p.tiles = l.tiles;
      assign(p, c.m, dims, tile.m);
      assign(p, c.n, dims, tile.n);
      assign(p, tiledK(c), dims, 128 / bytes); // rows of a slot fill the widest swizzle
    }
    // The unit's least is 8 columns, and 64 rows; what lies beyond the extent costs nothing to bring.
    if (tileProduct(p, c.n, dims) < 8)
      p.tiles[dims[c.n.back()]] *= 8 / tileProduct(p, c.n, dims);
    if (inRegisters && tileProduct(p, c.m, dims) < 64)
      p.tiles[dims[c.m.back()]] *= 64 / tileProduct(p, c.m, dims);
    int64_t aBytes = bytes;
    auto feeds = [&] {
      return (inRegisters ? canFeedRegisters(p, c.a, c.m, c.k, dims, aBytes, why) : canFeedWgmma(p, c.a, c.m, c.k, dims, why)) &&
             canFeedWgmma(p, c.b, c.n, c.k, dims, why);
    };
    // Else with rows of one reduced index alone, whichever runs along memory.
    SmallVector<unsigned> alone(tiledK(c));
    for (bool fed = feeds(); !fed;) {
      if (alone.empty())
        return false;
      unsigned run = alone.pop_back_val();
      for (unsigned d : c.k)
        p.tiles[dims[d]] = d == run ? clampTile(p, dims[d], 128 / bytes) : 1;
      fed = feeds();
    }
    int64_t bm = tileProduct(p, c.m, dims), bn = tileProduct(p, c.n, dims), bk = tileProduct(p, c.k, dims);
    if (bm % 64 || bn % 8 || bk * bytes % 32) {
      why = "its tiles are smaller than the unit's";
      return false;
    }
    l = p;
    l.warps = bm >= 128 ? 8 : 4;
    l.producerWarps = 4;
    // What an epilogue reads and writes passes through two slots of a part of the last column index each
    // (tile-stage-loads, tile-stage-stores).
    int64_t stageBytes = (bm * aBytes + bn * bytes) * bk, row = l.tiles[dims[c.n.back()]];
    auto stagesBeside = [&](int64_t part) {
      part = std::min(row, part);
      int64_t slots = std::min<int64_t>(2, row / part) * l.pingpong, slotBytes = bm * (bn / row * part) * epilogueBytes(l, c, dims);
      return (target_.maxSharedPerBlock - 2048 - slots * slotBytes) / stageBytes;
    };
    // Smaller parts where larger ones would cost the product a slot of a short ring.
    if (stagesBeside(l.part) < 4 && stagesBeside(l.part / 2) > stagesBeside(l.part))
      l.part /= 2;
    l.stages = std::clamp<int64_t>(stagesBeside(l.part), 2, 12);
    // Picked blocks leave little of one operand to share: all of a row's tiles beside each other keep the other in L2.
    l.raster = c.where ? 1 : 8;
    l.persistent = true;
    l.clusterIndex = dims[c.m.back()]; // for schedules that ask for clusters; no gain measured
    return true;
  }

  /// Bytes of one point of everything that a product's launch stores, and reads beside its factors at every point.
  int64_t epilogueBytes(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
    int64_t bytes = storedBytes(l);
    auto isMember = [&](Value tensor) {
      Operation *producer = tensor.getDefiningOp();
      return producer && llvm::is_contained(l.ops, llvm::find(ops_, producer) - ops_.begin());
    };
    SmallVector<Value> counted;
    for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
      Operation *op = ops_[ordinal];
      if (!isa<ComputeOp>(op))
        continue;
      op->walk([&](ReadOp read) {
        llvm::BitVector support = findSupport(read.getResult(), getExtents(op).getNumResults());
        auto dependsOn = [&](ArrayRef<unsigned> list) {
          return llvm::all_of(list, [&](unsigned d) {
            auto own = llvm::find(l.dims[n], dims[d]);
            return own != l.dims[n].end() && support[own - l.dims[n].begin()];
          });
        };
        if (isMember(read.getTensor()) || llvm::is_contained(counted, read.getTensor()) || !dependsOn(c.m) || !dependsOn(c.n))
          return;
        counted.push_back(read.getTensor());
        bytes += std::max(1u, read.getResult().getType().getIntOrFloatBitWidth() / 8);
      });
    }
    return bytes;
  }

  /// Bytes of one point of everything the launch stores.
  int64_t storedBytes(const LaunchPlan &l) {
    auto isOutside = [&](Operation *user) {
      while (!isa<ReturnOp>(user) && !isDomainOp(user))
        user = user->getParentOp();
      return isa<ReturnOp>(user) || !llvm::is_contained(l.ops, llvm::find(ops_, user) - ops_.begin());
    };
    int64_t bytes = 0;
    for (int64_t ordinal : l.ops) {
      Value result = ops_[ordinal]->getResult(0);
      if (llvm::any_of(result.getUsers(), isOutside))
        bytes += std::max(1u, cast<RankedTensorType>(result.getType()).getElementTypeBitWidth() / 8);
    }
    return bytes;
  }

  int64_t extentProduct(const LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims) {
    int64_t p = 1;
    for (unsigned d : list) {
      int64_t m = extentMax(l, dims[d]);
      if (m < 0)
        return -1;
      p *= m;
    }
    return p;
  }

  void scheduleContraction(LaunchPlan &l, ReduceOp reduce, const Contraction &c, ArrayRef<int64_t> dims) {
    std::string why;
    if (scheduleWgmma(l, c, dims, why))
      return;
    if (!why.empty())
      emitRemark(reduce.getLoc()) << "this product is not fed by tensor copies: " << why;
    bool unit = c.unitType && hasUnit(c);
    Type type = unit ? operandType(c, c.a, "mma", target_) : Type();
    int64_t bytes = unit ? unitBytes(type) : std::max<int64_t>(1, c.aType.getIntOrFloatBitWidth() / 8);
    l.unit = unit ? "mma" : "simt";
    // Measured on an H200 at 4096³ (docs/performance.md): two blocks of four warps
    // beat one of eight, and for mma a short K tile with more slots a long one.
    int64_t tileM = 128, tileN = 128, tileK = unit ? 64 / bytes : 32;
    // Small problems: smaller tiles fill the device.
    int64_t m = extentProduct(l, c.m, dims), n = extentProduct(l, c.n, dims);
    if (m > 0 && n > 0)
      while (tileN > 64 && llvm::divideCeil(m, tileM) * llvm::divideCeil(n, tileN) < uint64_t(target_.smCount)) {
        if (tileN > tileM)
          tileN /= 2;
        else if (tileM > 64)
          tileM /= 2;
        else
          tileN /= 2;
      }
    assign(l, c.m, dims, tileM);
    assign(l, c.n, dims, tileN);
    assign(l, tiledK(c), dims, tileK);
    int64_t bm = tileProduct(l, c.m, dims), bn = tileProduct(l, c.n, dims), bk = tileProduct(l, c.k, dims);
    if (unit && (bm < 16 || bn < 16 || bk < 32 / bytes)) // less than one instruction
      l.unit = "simt";
    bool mma = l.unit == "mma";
    // Accumulators of a tile beside those of the sum: half as many of each for a warp.
    int64_t sets = promoteAfter(type) || !c.partScales.empty() ? 2 : 1;
    int64_t warpTiles = mma ? std::max<int64_t>(1, sets * (bm / 64) * (bn / 64)) : std::max<int64_t>(1, bm * bn / 2048);
    l.warps = std::clamp<int64_t>(llvm::bit_floor(uint64_t(warpTiles)), 1, 8);
    int64_t stageBytes = (bm + bn) * bk * bytes;
    // A computed operand needs registers that the second block would take.
    auto isCopied = [&](Value factor) {
      if (auto round = factor.getDefiningOp<RoundOp>())
        return bool(round.getInput().getDefiningOp<ReadOp>());
      Value narrow = stripWidening(factor);
      return narrow.getDefiningOp<ReadOp>() && (!unit || narrow.getType() == operandType(c, factor, "mma", target_));
    };
    bool copied = isCopied(c.a) && isCopied(c.b) && !c.aWhere && !c.bWhere;
    int64_t blocks = mma && copied && sets == 1 ? 2 : 1, fit = (target_.maxSharedPerBlock / blocks - 1024) / stageBytes;
    // CUDA cores read padded slots: where two of them do not fit, shorter ones.
    auto paddedBytes = [&](int64_t outer, int64_t k) { return std::max(outer * (k * bytes + 16), k * (outer * bytes + 16)); };
    while (!mma && tileK > 1 && 2 * (paddedBytes(bm, bk) + paddedBytes(bn, bk)) > target_.maxSharedPerBlock) {
      tileK /= 2;
      assign(l, tiledK(c), dims, tileK);
      bk = tileProduct(l, c.k, dims);
    }
    l.stages = mma && target_.asyncCopy ? std::clamp<int64_t>(fit, 2, 4) : 2;
    l.minBlocks = fit >= 2 ? blocks : 1;
    l.fillLate = mma;
    l.promote = mma ? promoteAfter(type) : 0;
    l.raster = 8;
  }

  /// Spreads a tile over the indices of one class, fastest first.
  void assign(LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims, int64_t tile) {
    for (unsigned d : llvm::reverse(list)) {
      l.tiles[dims[d]] = clampTile(l, dims[d], tile);
      tile = std::max<int64_t>(1, tile / l.tiles[dims[d]]);
    }
  }
  int64_t tileProduct(const LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims) {
    int64_t p = 1;
    for (unsigned d : list)
      p *= l.tiles[dims[d]];
    return p;
  }

  KernelOp kernel_;
  SmallVector<Operation *> ops_;
  const Target &target_;
  SizeFacts facts_;
  SmallVector<int64_t> uniform_; ///< uniformTiles of the product being scheduled
  bool fast_; ///< sums of products may stay in accumulators of fewer bits
  Merge merge_;
};

struct TePlanPass : impl::TePlanBase<TePlanPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    const Target *found = findTarget(absl::string_view(target.data(), target.size()));
    if (!found) {
      kernel.emitError() << "unknown target '" << target << "'";
      return signalPassFailure();
    }
    if (failed(checkSizeFacts(kernel, llvm::to_vector_of<int64_t>(sizeDiv), llvm::to_vector_of<int64_t>(sizeMax))))
      return signalPassFailure();
    KernelPlan plan;
    plan.target = target;
    plan.sizeDiv.assign(kernel.getNumSizes(), 1);
    plan.sizeMax.assign(kernel.getNumSizes(), -1);
    for (unsigned i = 0; i < kernel.getNumSizes(); ++i) {
      if (i < sizeDiv.size())
        plan.sizeDiv[i] = sizeDiv[i];
      if (i < sizeMax.size())
        plan.sizeMax[i] = sizeMax[i];
    }
    plan.launches = groupStatements(kernel);
    FailureOr<KernelSchedule> schedule = getKernelSchedule(kernel, target);
    if (failed(schedule))
      return signalPassFailure();
    Scheduler scheduler(kernel, *found, plan, schedule->merge);
    for (LaunchPlan &l : plan.launches) {
      l.dependent = found->dependentLaunch && &l != &plan.launches.front();
      scheduler.schedule(l);
      if (failed(applySchedule(kernel, target, l)) || failed(scheduler.checkUnit(l)))
        return signalPassFailure();
      if (l.cluster > found->cluster) {
        kernel.emitError() << "schedule of launch '" << l.name << "': a cluster of " << l.cluster << " blocks; " << found->name
                           << (found->cluster > 1 ? " has smaller ones" : " has none");
        return signalPassFailure();
      }
    }
    if (failed(checkScheduledLaunches(kernel, plan)))
      return signalPassFailure();
    setPlan(kernel, plan);
    if (failed(getPlan(kernel))) // a schedule that no launch can have
      return signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
