// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost model of te-plan: gives each launch its tiles, warps and unit, and checks what a schedule
// from outside says of them. Its parts have a file each.
#pragma once

#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/plan/AccessSummary.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/Grouping.h"
#include "passes/plan/Legality.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Schedule.h"
#include "passes/plan/Sharing.h"
#include "passes/plan/Siblings.h"
#include "passes/tile/Box.h"
#include "support/Saturating.h"
#include "support/Target.h"
#include "support/TargetCosts.h"
#include "llvm/Support/MathExtras.h"

namespace kernelc::te {

class Scheduler {
public:
  /// `likely`: facts of sizes that need not hold, of the call that the plan is made for.
  Scheduler(KernelOp kernel, const Target &target, const KernelPlan &plan, Merge merge, const SizeFacts &likely)
      : kernel_(kernel), ops_(getDomainOps(kernel)), target_(target), facts_{plan.sizeDiv, plan.sizeMax}, likely_(likely),
        expectedMax_(expectedSizes(plan.sizeMax, likely.max)), expected_{plan.sizeDiv, expectedMax_}, merge_(merge) {}

  /// Tiles, warps, unit and what goes with them for one launch.
  /// False where no schedule holds two products that share it.
  bool schedule(LaunchPlan &l);
  /// Why not, of products side by side.
  llvm::StringRef whyApart() const { return apart_; }
  /// A reduction over all of a grid index that a launch's tile has only a part of.
  struct CutReduction {
    ReduceOp op;
    int64_t index, points; ///< of the launch; -1: any number
  };
  std::optional<CutReduction> findCutReduction(const LaunchPlan &l);
  /// What a complete record leaves to the compiler: how many products are in flight.
  void settle(LaunchPlan &l);
  /// Whether the unit of a launch takes its product, chosen by the cost model or by a schedule: a unit
  /// that would round its operands gets only operands that the program has rounded.
  mlir::LogicalResult checkUnit(const LaunchPlan &l);
  /// Why a unit that sums `32 / bytes` products at once does not take a tile's; empty: it does.
  std::string whyNotInSteps(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims, int64_t bytes);
  /// The same of the products of a cascade, whose terms a launch's rounds give.
  std::string whyNotInRounds(const LaunchPlan &l, CascadeOp cascade, llvm::ArrayRef<int64_t> dims);
  /// Emits the remarks on the launches that have been scheduled. Not called for a plan that is given up.
  void emitRemarks();

private:
  // Plan.cpp
  mlir::Diagnostic &remark(mlir::Operation *op) { return remarks_.emplace_back(op->getLoc(), mlir::DiagnosticSeverity::Remark); }
  /// The grid indices that statement `n` of the launch reduces over, within a tile.
  llvm::SmallVector<int64_t> reducedInTile(const LaunchPlan &l, size_t n);
  /// Those of all statements.
  llvm::BitVector findInTile(const LaunchPlan &l);
  /// A power-of-two tile for an index, at most `want`, no larger than the index can be.
  int64_t clampTile(const LaunchPlan &l, int64_t index, int64_t want);
  /// Whether no tile of an index sticks out of its extent.
  bool hasWholeTiles(const LaunchPlan &l, int64_t index) { return knownDivisor(l.extents.getResult(index), facts_) % l.tiles[index] == 0; }
  /// Spreads a tile over the indices of one class, fastest first.
  void assign(LaunchPlan &l, llvm::ArrayRef<unsigned> list, llvm::ArrayRef<int64_t> dims, int64_t tile);
  /// Gives summed indices tiles of up to `points` points together, and of `least` at least where they have as many: those whose rounds
  /// cost least with the points beyond extents (three taps of a window in a tile of four) and what a round costs besides.
  void assignRounds(LaunchPlan &l, llvm::ArrayRef<unsigned> list, llvm::ArrayRef<int64_t> dims, int64_t points, int64_t least);
  /// Gives indices of results tiles of `points` points together, of several those with fewest points beyond extents (260 columns in tiles
  /// of 128 are half as many again); rows in memory stay as long as a line, and what is reduced in the tile is whole.
  /// `filledFor`: threads bring the operand word by word, each for so many points of the other one; the more these are, the shorter rows
  /// may be. 0: they do not. Not `alongMemory`: neither the operand nor the results have these indices as their fastest (pixels of
  /// images whose channels are), and their rows may be as short as they like.
  void assignResults(LaunchPlan &l, llvm::ArrayRef<unsigned> list, llvm::ArrayRef<int64_t> dims, int64_t points, int64_t filledFor = 0,
                     bool alongMemory = true);
  /// Of all tiles of `list` with at most `points` points together, the one of least `cost`, if it is less than that of what `assign` gives.
  void assignBest(LaunchPlan &l, llvm::ArrayRef<unsigned> list, llvm::ArrayRef<int64_t> dims, int64_t points,
                  llvm::function_ref<double(llvm::ArrayRef<int64_t>)> cost);
  int64_t tileProduct(const LaunchPlan &l, llvm::ArrayRef<unsigned> list, llvm::ArrayRef<int64_t> dims);
  int64_t extentProduct(const LaunchPlan &l, llvm::ArrayRef<unsigned> list, llvm::ArrayRef<int64_t> dims, const SizeFacts &facts);

  // MemoryPlan.cpp
  /// Every point on its own: enough elements per thread for two 16-byte loads of
  /// the widest type, threads side by side along the contiguous index.
  void scheduleElementwise(LaunchPlan &l);
  /// The same, where each block first makes a few values that it needs (mergeLaunches). Whether l is such a launch.
  bool scheduleBehindFew(LaunchPlan &l);

  // WindowPlan.cpp
  /// Short sums of many results that lie side by side (pooling, depthwise filters): a thread has all
  /// terms of its results. Whether l is one.
  bool scheduleWindows(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, int64_t vector);
  /// Whether sums are so short, and of so many results, that each needs one thread only. `results`: how many those are.
  bool isOfThreads(const LaunchPlan &l, llvm::ArrayRef<int64_t> inner, int64_t vector, Count &results);
  /// The same of `results` windows beside each other in vectors along `contiguous`, which overlap along `near`.
  void assignVectorWindows(LaunchPlan &l, int64_t contiguous, int64_t near, int64_t vector, Count results);

  // ScanPlan.cpp
  /// Scans: a block has rows, or columns, from end to end, and walks them in tiles.
  void scheduleScan(LaunchPlan &l);
  /// How many rounds before its own a walk along launch index `along` asks for what a round reads (LaunchPlan::ahead).
  int64_t roundsAhead(const LaunchPlan &l, int64_t along);

  // FoldPlan.cpp
  void scheduleFold(LaunchPlan &l, FoldOp op);
  /// A thread for each result, which takes in its points one by one: tiles have one of each index off the grid.
  void schedulePointByPoint(LaunchPlan &l, int64_t contiguous);

  // RecurrencePlan.cpp
  void scheduleRecurrence(LaunchPlan &l, RecurrenceOp op);
  /// How many steps before their own what they read, and none of them defines, is asked for.
  int64_t stepsAhead(const LaunchPlan &l, RecurrenceOp op);

  // ScatterPlan.cpp
  void scheduleScatter(LaunchPlan &l, ScatterOp op);
  /// Long code for each point (`point_by_point`): a point a thread.
  void schedulePoints(LaunchPlan &l);

  // SegmentPlan.cpp
  /// Reductions of which all walk one index between bounds that data says. Whether l is of such.
  bool scheduleSegments(LaunchPlan &l);
  void shareSegments(LaunchPlan &l, int64_t walked, int64_t average);
  int64_t averageLength(const LaunchPlan &l, int64_t walked, const llvm::BitVector &rows);

  // ReductionPlan.cpp
  /// Indices off the grid are walked inside the block: in one tile when that fits
  /// the registers, else in a loop.
  void scheduleReduction(LaunchPlan &l);
  /// Windows of channels that lie along memory (ChannelPlan.cpp): neighbours share filters. Whether l is of such.
  bool scheduleChannels(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, const AccessSummary &s);
  /// Reductions over pairs (PairPlan.cpp): tiles have many of each side. Whether l is of such.
  bool schedulePairs(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, int64_t contiguous);
  /// The index that most bytes are contiguous along: of rows of their own, of which as much is, the longest.
  int64_t longestRow(const LaunchPlan &l, llvm::ArrayRef<int64_t> inner, const AccessSummary &s);
  /// Short rows, and what is reduced over them in the tile: it has all of both. False where nothing is.
  bool scheduleRowParts(LaunchPlan &l, llvm::ArrayRef<int64_t> inner);
  /// Reductions along rows of memory, which lie along launch index `row`.
  void scheduleRows(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, llvm::ArrayRef<int64_t> thin, int64_t row, const AccessSummary &s);
  /// How a launch goes over the rows along an index.
  struct RowWalk {
    int64_t row;
    bool once;             ///< one statement does
    bool resident;         ///< a block holds a row
    bool inRounds = false; ///< in rounds of many loads
  };
  /// Threads for `held` elements of a row.
  void setRowThreads(LaunchPlan &l, const RowWalk &walk, int64_t held);
  /// Tiles of the inner indices that are rows of their own.
  void assignApart(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, int64_t row);
  /// Whether a block's registers hold a row along all of `inner`, which every statement that has `row` goes over.
  bool holdsAll(const LaunchPlan &l, llvm::ArrayRef<int64_t> inner, int64_t row);
  /// Short rows: several to a block, a warp each, and no more than a thread can hold with what lengthens them: of windows of 11 x 11
  /// it has 64 elements, and no more of rows of one element that a long index is walked around.
  void joinShortRows(LaunchPlan &l, llvm::ArrayRef<int64_t> thin, int64_t row, int64_t held, int64_t vector);
  /// Has the blocks of a cluster hold rows in registers that several statements go over, where that is worth it.
  bool holdRow(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, int64_t row, const AccessSummary &s);
  /// Reductions across memory, of columns side by side along launch index `contiguous`.
  void scheduleColumns(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, int64_t contiguous, const AccessSummary &s);
  /// The launch indices of which streamed sums have few points, all in each tile.
  llvm::SmallVector<int64_t> thinIndices(const LaunchPlan &l);
  /// The grid's indices that the other operand of a streamed sum does not have.
  llvm::SmallVector<int64_t> thickIndices(const LaunchPlan &l);
  /// Whether all that is read beside streamed operands has rows of whole vectors.
  bool hasVectorsBeside(const LaunchPlan &l);
  /// Tiles of sums that multiply each element of a streamed operand by several of the other one.
  void scheduleStreamed(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, llvm::ArrayRef<int64_t> thin, const AccessSummary &s);
  /// Where the reductions of a launch, all of the same columns along launch index `contiguous`, fill the device with them.
  std::optional<ColumnBlocks> columnBlocksOf(const LaunchPlan &l, int64_t contiguous);
  /// Long sums for few blocks: those of a cluster share the longest of the indices off the grid out, until each multiprocessor has
  /// as many; `across`: they are not contiguous; `sharedBytes`: what the block's own part of the sum needs of shared memory; `fills`:
  /// blocks compute, and the last of few waves has to be full. Returns the number of blocks.
  int64_t shareOut(LaunchPlan &l, llvm::ArrayRef<int64_t> inner, int64_t perMultiprocessor, bool across, int64_t sharedBytes = 0,
                   bool fills = false);

  // ProductPlan.cpp
  /// What a policy did to a product, or why it does not run on the matrix unit.
  void remarkOn(ReduceOp reduce, const Contraction &c);
  void scheduleContraction(LaunchPlan &l, ReduceOp reduce, const Contraction &c, llvm::ArrayRef<int64_t> dims);
  class CoresProduct;
  /// Has warps that fill bring a product's operands to CUDA cores, where tensor copies can and its slots fit: the registers that
  /// copies of a thread's own would take are the product's.
  void feedCores(LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);
  /// How many tiles a product has, for all that is likely; 0: nobody knows.
  Count likelyTiles(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);
  /// Whether it has at most two for each multiprocessor.
  bool hasFewTiles(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);
  /// How many blocks of a small tile on CUDA cores, whose slots are filled by boxes or word by word, a multiprocessor is to hold.
  int64_t smallBlocksBeside(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims, bool byBoxes);
  /// Bytes of shared memory in which warps merge what the launch reduces over rows of a product's tile: partials and totals.
  int64_t partialBytes(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);
  /// The reduced indices that one tile may hold several points of.
  llvm::SmallVector<unsigned> tiledK(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);

  // WarpgroupPlan.cpp
  /// One to three warpgroups of products and one that fills. False where the target or
  /// the operands do not allow it; of the operands `why` then says so.
  bool scheduleWgmma(LaunchPlan &l, const Contraction &given, llvm::ArrayRef<int64_t> dims, std::string &why);
  struct WarpgroupProduct;
  /// `turns`: columns take the unit's rows, whatever is longer.
  WarpgroupProduct settleProduct(const LaunchPlan &l, const Contraction &given, const WarpgroupForm &form, llvm::ArrayRef<int64_t> dims,
                                 bool turns);
  /// Whether a tile's accumulators and slots can be had.
  bool takesTile(const WarpgroupProduct &w, const ProductTile &tile);
  /// Microseconds of all rounds over the device; of unknown sizes as timeOf. `cluster`: blocks that share the columns' operand.
  double timeOfTile(const WarpgroupProduct &w, const ProductTile &tile, int64_t cluster = 1);
  /// Whether the rows of a tile's columns are so short in slots that two blocks which share them are faster.
  bool isWorthPairs(const WarpgroupProduct &w, const ProductTile &tile);
  /// Whether blocks can share columns two by two.
  bool mayPair(const WarpgroupProduct &w, const ProductTile &tile);
  /// Gives `p` the unit and the tiles that take least time. False where no tile has all that is reduced in it.
  bool chooseTile(LaunchPlan &p, WarpgroupProduct &w, llvm::ArrayRef<int64_t> dims);
  /// Of several indices of rows or columns others may share the tile: in the order in which they stand in the tensor, or one alone that
  /// runs along memory. Those with most points that `isFed` takes.
  void shareOtherwise(LaunchPlan &p, llvm::SmallVector<unsigned> list, llvm::ArrayRef<int64_t> dims, llvm::function_ref<bool()> isFed);
  /// Makes tiles such that tensor copies feed the unit; false where none are, and `why`.
  bool feedTiles(LaunchPlan &p, WarpgroupProduct &w, llvm::ArrayRef<int64_t> dims, std::string &why);
  /// Columns of a part of the epilogue, for a tile of so many rows and columns of the unit.
  int64_t partOf(const WarpgroupProduct &w, int64_t rows, int64_t columns);
  /// Warps, parts of the epilogue and slots for the tiles of `l`; returns the bytes of a stage.
  int64_t stageTiles(LaunchPlan &l, const WarpgroupProduct &w, llvm::ArrayRef<int64_t> dims);
  /// In which order blocks take tiles, and how many they take.
  void walkTiles(LaunchPlan &l, const Contraction &given, const WarpgroupProduct &w, llvm::ArrayRef<int64_t> dims);
  /// Blocks in pairs where these share what two requests bring.
  void clusterTiles(LaunchPlan &l, const WarpgroupProduct &w, llvm::ArrayRef<int64_t> dims, int64_t stageBytes);
  /// The tiles to choose from: those of the target's that `isTaken`, or where a condition on data sets
  /// a limit to one side, what the other side may be.
  llvm::SmallVector<ProductTile> productTiles(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims,
                                              llvm::function_ref<bool(const ProductTile &)> isTaken);
  /// How many points of these indices a tile can have, where a condition on data sets a limit; else -1.
  int64_t mostPoints(const LaunchPlan &l, llvm::ArrayRef<unsigned> list, llvm::ArrayRef<int64_t> dims);
  /// Per launch index: the largest tile within which the condition of `c` on data is the same; 0: any.
  static llvm::SmallVector<int64_t> uniformTiles(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);
  /// Bytes of one point of everything that a product's launch reads beside its factors at every point and filling warps
  /// bring, an entry each; one of them is busy with the product.
  llvm::SmallVector<int64_t> stagedReads(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);
  /// Bytes of one point of everything the launch stores: by tensor copies, or by elements, which matrices are whose rows are
  /// no multiples of 16 bytes and that it returns (tile-stage-stores).
  struct StoredBytes {
    int64_t boxes = 0, turned = 0;
  };
  StoredBytes storedBytes(const LaunchPlan &l);
  /// What is settled of a product on warpgroups before its tiles are.
  struct WarpgroupProduct {
    Contraction c;         ///< the unit's rows are those of a
    int64_t bytes, aBytes; ///< of an operand's element in the unit, and as it is brought
    int64_t m, n, batch;   ///< likely extents
    int64_t slots;         ///< of the likely sum: a row of one has 128 bytes
    double operands;       ///< their bytes in memory
    int64_t promote,
        sets;           ///< of accumulators: a tile's and the sum's; or the product's, and what is made of them between two walks over it
    bool inRegisters;   ///< an operand comes from there
    bool straddled;     ///< rows of an operand lie in two lines each
    bool loadBound;     ///< so: by what is loaded, columns by half of a cluster of two; 192 of them are 2 to 20 % faster than 256 (H200)
    bool alike;         ///< the blocks walk the same tiles
    bool tall;          ///< 256 rows leave shared memory for four slots and a part of 16-bit results; registers for little beside these
    bool three;         ///< three warpgroups may share tiles (not measured with what leaves by elements)
    bool turned;        ///< columns have the unit's rows, which rows might have, too
    bool mayTurn;       ///< they may have it
    bool alone;         ///< nothing but results leaves or comes in beside the operands
    bool acrossColumns; ///< rows of slots run along columns
    bool isAdded, inChunks; ///< each tile's product is added to a sum, or that of several (roundsInAccumulators)
    StoredBytes stored;
    llvm::BitVector inTile;
    ProductTile tile; ///< chosen
    double time = 0;  ///< that it takes
    /// Slots whose rows run along columns are as wide as the largest power of two that such a tile is a multiple of.
    int64_t rowBytes(const ProductTile &tile) const {
      bool isBetween = !llvm::isPowerOf2_64(tile.n) && tile.n % 64;
      return isBetween && acrossColumns ? (tile.n & -tile.n) * bytes : 128;
    }
  };
  /// Whether a statement of the launch combines a product's results with what they are reduced to in the tile.
  bool walksTwice(const LaunchPlan &l);

  // BlockPlan.cpp
  /// Statements of which each block makes all points that the others need of it, in loops over rounds.
  void scheduleBlock(LaunchPlan &l);

  // ChainPlan.cpp
  /// Two products of which one takes the other's results in the launch's loop. False where no tile holds what they need.
  bool scheduleChain(LaunchPlan &l);
  /// A product whose results a launch walks, and the launch index of each of its dims.
  struct FirstOfLaunch {
    Contraction product;
    llvm::ArrayRef<int64_t> dims;
  };
  using FirstsOfLaunch = std::vector<FirstOfLaunch>;
  FirstsOfLaunch findFirsts(const LaunchPlan &l, llvm::ArrayRef<FirstProduct> products);
  bool scheduleChain(LaunchPlan &l, llvm::ArrayRef<ProductChain> chains, const FirstsOfLaunch &firsts, llvm::ArrayRef<int64_t> second);
  /// Whether some tiles of a chain have more rounds than others (`j <= i`): blocks then take tiles as they become free.
  bool isUneven(const LaunchPlan &l);
  /// Whether the launch's cascade needs to look for its reference only where terms get large (findFollowedExponents).
  bool followsSeldom(const LaunchPlan &l);
  /// Whether the loop over index `walked` ends later for later tiles of index `rows` (`j <= i`); `fromStart`: starts later (`j > i - W`).
  bool growsAlong(const LaunchPlan &l, int64_t rows, int64_t walked, bool fromStart);
  /// How blocks take tiles whose rounds follow from their place along `p.clusterIndex`: of a band (all alike) as they are numbered; else
  /// a long and a short one in turn, or as blocks become free, the longest first, so that none of them ends long after the others.
  void balance(LaunchPlan &p, int64_t walked);
  bool canBePaired(const LaunchPlan &p);
  /// Whether no condition tells points of an index apart.
  bool isAlikeAlong(const LaunchPlan &l, int64_t index);
  /// What launches of a loop may start from, the best first: by how many rows of the first product a tile has.
  std::vector<LaunchPlan> chainsOfRows(const LaunchPlan &l, llvm::ArrayRef<unsigned> rows, llvm::ArrayRef<unsigned> batch,
                                       llvm::ArrayRef<int64_t> dims);
  /// The same of three warpgroups, where that pays for a cascade with few columns.
  std::optional<LaunchPlan> chainOfThrees(const LaunchPlan &l, llvm::ArrayRef<unsigned> rows, llvm::ArrayRef<unsigned> batch,
                                          unsigned walked, llvm::ArrayRef<int64_t> dims);
  /// Gives a tile all of what the first product sums, index `index`, where its rows then stay in slots; else a line, and is false.
  bool assignSummed(LaunchPlan &p, int64_t index);
  /// What first products need for a tile of `rows` of theirs.
  struct FirstBytes {
    int64_t once = 0, each = 0; ///< bytes of slots that stay for the whole loop, and of a stage
    int64_t sets = 0;           ///< of accumulators
  };
  /// Chooses the tiles of what they sum.
  FirstBytes assignFirsts(LaunchPlan &p, const FirstsOfLaunch &firsts, int64_t rows, int64_t columns);
  bool canFeedFirsts(const LaunchPlan &p, const FirstsOfLaunch &firsts);
  /// A cascade over what products make, round by round.
  bool scheduleWalk(LaunchPlan &l, const ProductWalk &walk, const FirstsOfLaunch &firsts);
  /// Halves the part of an epilogue until it divides `columns`.
  static void fitPart(LaunchPlan &p, int64_t columns);
  /// Whether registers and slots hold the tiles of `p`, whose stages and parts it chooses. `second`: the second products' launch indices.
  bool fitsChain(LaunchPlan &p, llvm::ArrayRef<ProductChain> chains, const FirstsOfLaunch &firsts, llvm::ArrayRef<int64_t> second);

  // ChainSetPlan.cpp
  /// Several products that take others' results in the launch's loop. False where no tile holds what they need.
  bool scheduleChainSet(LaunchPlan &l, const ChainSet &set);
  /// Whether registers and slots hold the tiles of `p`, whose stages and parts it chooses.
  bool fitsChainSet(LaunchPlan &p, const ChainSet &set);
  llvm::ArrayRef<int64_t> dimsOf(const LaunchPlan &l, mlir::Operation *op);

  // SiblingPlan.cpp
  /// Products side by side. False where no tile holds them, or launches of their own take less time: `apart_` says why then.
  bool scheduleSiblings(LaunchPlan &l, llvm::ArrayRef<Sibling> products);
  /// What a launch of such products may have for tiles.
  struct SiblingTiles {
    LaunchPlan launch;
    double time = 0; ///< microseconds; of unknown sizes what a tile's multiply-adds take
  };
  /// How many sets of accumulators they need: sums that go on from each other have one.
  int64_t accumulatorSets(const LaunchPlan &l, llvm::ArrayRef<Sibling> products);
  /// Rows, columns and sums of tiles; false where some product cannot have them, and `why`.
  bool assignSiblings(LaunchPlan &p, llvm::ArrayRef<Sibling> products, int64_t m, int64_t n, std::string &why);
  std::optional<SiblingTiles> tileSiblings(const LaunchPlan &l, llvm::ArrayRef<Sibling> products, int64_t m, int64_t n, int64_t sets,
                                           std::string &why);
  /// Bytes that one stage of all rings has.
  int64_t stageBytesOf(const LaunchPlan &p, llvm::ArrayRef<Sibling> products);
  /// Parts and stages for the tiles of `p`; false where shared memory does not hold them.
  bool stageSiblings(LaunchPlan &p, llvm::ArrayRef<Sibling> products, int64_t row);
  /// Microseconds that launches of their own take, and what these read and write more.
  double timeApart(const LaunchPlan &l, llvm::ArrayRef<Sibling> products);

  // ProductFeed.cpp
  /// Whether rows of the tensor that a factor reads are no multiples of a line of L2 apart, for all that is known.
  bool rowsStraddleLines(mlir::Value factor);
  /// The box of what `read`, of a product's factor, takes of its tensor for one tile.
  std::optional<Box> findReadBox(const LaunchPlan &l, ReadOp read, llvm::ArrayRef<unsigned> outer, llvm::ArrayRef<unsigned> k,
                                 llvm::ArrayRef<int64_t> dims, llvm::SmallVectorImpl<int64_t> &box, std::string &why,
                                 int64_t pad = tile::kSwizzled);
  /// Whether `data`, of a statement with these dims, is the same throughout each piece of a tile.
  bool isSameInPieces(const LaunchPlan &l, mlir::Value data, llvm::ArrayRef<int64_t> dims, const Pieces &pieces);
  /// Whether a factor can travel by tensor copies into slots that wgmma reads.
  bool canFeedWgmma(const LaunchPlan &l, mlir::Value factor, llvm::ArrayRef<unsigned> outer, llvm::ArrayRef<unsigned> k,
                    llvm::ArrayRef<int64_t> dims, std::string &why);
  /// Whether a factor can travel so into slots that CUDA cores read: in vectors of rows (columns), which are neighbours there.
  bool canFeedCores(const LaunchPlan &l, mlir::Value factor, llvm::ArrayRef<unsigned> outer, llvm::ArrayRef<unsigned> k,
                    llvm::ArrayRef<int64_t> dims);
  /// Whether threads may bring its words into such slots one by one: windows, whatever their steps and borders are, that run along rows
  /// (columns). Other rows that begin anywhere are copied to where tensor copies take them (te-repack).
  bool isWindowOfWords(mlir::Value factor, llvm::ArrayRef<unsigned> outer, llvm::ArrayRef<unsigned> k) const;
  /// Whether they do, with these tiles.
  bool canCopyWords(const LaunchPlan &l, mlir::Value factor, llvm::ArrayRef<unsigned> outer, llvm::ArrayRef<unsigned> k,
                    llvm::ArrayRef<int64_t> dims);
  /// Whether what a factor is computed from at every point can travel so; `bytes`: of one point of it.
  bool canFeedRegisters(const LaunchPlan &l, mlir::Value factor, llvm::ArrayRef<unsigned> outer, llvm::ArrayRef<unsigned> k,
                        llvm::ArrayRef<int64_t> dims, int64_t &bytes, std::string &why);
  /// What travels so for a round beside the factors of chained products: tensors that their statements read at every point (row, walked).
  int64_t bytesBeside(const LaunchPlan &l, llvm::ArrayRef<int64_t> rows, int64_t walked);
  llvm::SmallVector<int64_t> indicesOf(llvm::ArrayRef<unsigned> list, llvm::ArrayRef<int64_t> dims);

  // UnitCheck.cpp
  struct UnitProduct;
  struct Broken;
  struct ProductRules;
  /// Whether each tile's product of `c` is one of its own in unit wgmma, from slots alone, that is added to a sum.
  static bool startsFromZero(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims);
  /// Registers that `sets` of accumulators of `c` take of a thread, and those that it has.
  int64_t accumulatorRegisters(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims, int64_t sets);
  RegisterShares registerShares(const LaunchPlan &l);
  /// Whether dim d is the last of the unit's columns: of b, unless they are swapped.
  bool isLastColumn(const Contraction &c, const std::optional<WarpgroupForm> &form, const LaunchPlan &l, llvm::ArrayRef<int64_t> dims,
                    unsigned d);
  /// Whether it is the last of the unit's rows.
  bool isLastRow(const Contraction &c, const std::optional<WarpgroupForm> &form, const LaunchPlan &l, llvm::ArrayRef<int64_t> dims,
                 unsigned d);

  /// After how many products sums leave the accumulators of a unit that takes `type`; 0: never.
  int64_t promoteAfter(mlir::Type type) { return type ? mostInAccumulators(kernel_, type, target_) : 0; }
  int64_t extentMax(const LaunchPlan &l, int64_t index) { return knownMax(l.extents.getResult(index), facts_); }
  int64_t likelyExtent(const LaunchPlan &l, int64_t index) { return knownMax(l.extents.getResult(index), likely_); }

  KernelOp kernel_;
  llvm::SmallVector<mlir::Operation *> ops_;
  const Target &target_;
  const TargetCosts &costs_ = *target_.costs;
  SizeFacts facts_;
  SizeFacts likely_; ///< what times are reckoned for; nothing may be wrong where it does not hold
  llvm::SmallVector<int64_t> expectedMax_;
  SizeFacts expected_;                 ///< the facts' bounds, and what is likely of sizes that have none: what earlier passes cut by
  llvm::SmallVector<int64_t> uniform_; ///< uniformTiles of the product being scheduled
  std::string unfed_;                  ///< why tensor copies do not feed that product; empty: they do, or it is none
  std::string apart_;                  ///< why the products of the launch that was given up last have launches of their own
  Merge merge_;
  std::vector<mlir::Diagnostic> remarks_;
};

/// The tile of a row of up to `max` elements that is walked: the longest that leaves little of its last round empty.
int64_t walkedTile(int64_t max, const RowCosts &costs);

} // namespace kernelc::te
