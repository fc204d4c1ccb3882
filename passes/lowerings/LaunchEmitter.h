// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One launch of a plan on its way to a tile.func: what the files beside this one that
// make the function, its loops, its reductions and its products share.
#pragma once

#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Domain.h"
#include "passes/index/TileCondition.h"
#include "passes/lowerings/BodyToTiles.h"
#include "passes/plan/PickedTiles.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc {

/// Where each tensor of a kernel lives: `sources` numbers as in tile.func.
class Buffers {
public:
  /// Fails with a diagnostic where one value would have to be in two places.
  mlir::LogicalResult assign(te::KernelOp kernel);
  int64_t sourceOf(mlir::Value v) const { return source_.lookup(v); }
  const llvm::DenseMap<mlir::Value, int64_t> &sources() const { return source_; }

private:
  llvm::DenseMap<mlir::Value, int64_t> source_;
};

class LaunchEmitter {
public:
  LaunchEmitter(mlir::OpBuilder &b, te::KernelOp kernel, const te::KernelPlan &plan, const te::LaunchPlan &launch, const Buffers &buffers)
      : b_(b), kernel_(kernel), plan_(plan), l_(launch), buffers_(buffers), ops_(te::getDomainOps(kernel)) {}

  /// The tile.func of launch `number` of the plan, at the builder's place.
  mlir::LogicalResult emit(unsigned number);

private:
  using Values = llvm::SmallVector<mlir::Value>;

  // TeToTile.cpp
  mlir::LogicalResult emitCompute(te::ComputeOp op, llvm::ArrayRef<int64_t> dims);
  /// Its points in the current tiles; `whole`: these are all that other statements of the launch ask for.
  mlir::LogicalResult emitPoints(te::ComputeOp op, llvm::ArrayRef<int64_t> dims, bool whole);
  mlir::LogicalResult emitScatter(te::ScatterOp op, llvm::ArrayRef<int64_t> dims);
  /// Subscripts of the dims in `clip` may lie beyond the tensor.
  void store(mlir::Value tile, mlir::Value te, mlir::AffineMap outMap, llvm::ArrayRef<int64_t> dims, mlir::Value condition,
             BodyToTiles &body, mlir::Location loc, llvm::ArrayRef<int64_t> clip = {});
  /// In loops over tiles, moves stores of what no statement of the launch reads behind the statements beside them: loads
  /// and arithmetic that several of them need become one then (CSE).
  void sinkStores();
  /// Whether a block has no loop and no product.
  bool isStraight();
  /// Of a straight launch: all loads, then all stores. An element that one statement reads and another writes at its point is read
  /// first, and what several of them read is loaded once.
  void storeLast();
  /// And what is known before a reduction across threads is stored before it.
  void storeBeforeExchange();

  // FunctionToTile.cpp
  bool isMember(mlir::Value v);
  /// A result that someone outside this launch wants.
  bool isStored(mlir::Value v) { return te::isStored(l_, ops_, v); }
  struct Argument;
  struct LookBackTensor;
  /// In source order: parameters, outputs, workspaces.
  std::vector<Argument> findArguments();
  Argument describeArgument(mlir::Value v);
  mlir::AffineMap boxToTest(mlir::Value v);
  /// The function of launch `number`; the builder is left where its statements stand.
  void makeFunction(unsigned number);
  void createFunction(llvm::ArrayRef<Argument> args, llvm::ArrayRef<LookBackTensor> lookBack, mlir::Location loc);
  /// What later passes know of the launch: its fields, and who runs before and behind it.
  void describeLaunch(unsigned number, bool looksBack);
  /// Where a block's tile starts along each index.
  void placeTiles(bool looksBack, mlir::Location loc);
  /// Which indices have tiles that are not full, or beyond the end.
  void findRagged();
  mlir::Value clusterRank(mlir::Location loc);
  mlir::Value startOfTile(int64_t index, mlir::Value number, mlir::Location loc);
  /// Along grid index `g`; `half`: which of a pair of tiles it is, if they come in pairs.
  mlir::Value numberOfTile(int64_t g, mlir::Value tileNumber, mlir::Value half, mlir::Location loc);
  /// The loop of a block, or of a cluster, over its tiles; the builder is left inside.
  /// Returns the tile's number. Where tiles come in pairs that is the pair's, and `half` says which of the two it is.
  mlir::Value openTileLoop(mlir::Location named, mlir::Value &half);

  /// Whether the blocks of a cluster share launch index `i` out: block r takes tiles r, r + cluster,
  /// r + 2 cluster, ..
  bool isSharedOut(int64_t i) const { return l_.cluster > 1 && i == l_.clusterIndex && !llvm::is_contained(l_.grid, i); }
  bool sharesOut() const { return isSharedOut(l_.clusterIndex); }
  /// Whether each of these blocks has one tile of it, so that what it has loaded stays in registers.
  bool isHeld(int64_t i) const;

  // LoopsToTile.cpp
  mlir::Value constant(int64_t v, mlir::Location loc);
  /// Launch indices of `dims` that need a loop: off the grid and larger than a tile, or shared out.
  llvm::SmallVector<int64_t> loopsOf(llvm::ArrayRef<int64_t> dims);
  /// The largest (`high`) or smallest value of a form over where tiles start, for all tiles of the grid; null where that is not known.
  mlir::AffineExpr extremeOfTiles(mlir::AffineExpr e, bool high);
  /// Where the points of a domain lie along launch index `index`: the first tile's
  /// offset and one past the last point. Indices in `open` are yet to be walked by
  /// loops; the others have the offsets of the current tile.
  std::pair<mlir::Value, mlir::Value> findSpan(std::optional<mlir::IntegerSet> set, llvm::ArrayRef<int64_t> dims, int64_t index,
                                               llvm::ArrayRef<int64_t> open, mlir::Location loc);
  /// Whether a loop's end is that of its index, whatever the tile.
  static bool isExtent(mlir::Value end);
  void clearDataSpans() {
    dataSpans_.clear();
    tileBounds_.clear();
  }
  /// A condition of the body, with tile bounds as comparisons of indices; null where it holds wherever the loops come. `body` has
  /// such a bound's tile from then on, too.
  mlir::Value evaluateWhere(mlir::Value condition, BodyToTiles &body, mlir::Location loc);
  /// Whether some result of the current tile has a segment, where those without one are in place already; null elsewhere.
  mlir::Value hasSomeRound(te::ReduceOp op, llvm::ArrayRef<int64_t> loops, mlir::Location loc);
  /// for i0 .. for i1 .. { body } carrying `carried`, over the tiles that can hold a
  /// point of `set` (over launch indices `dims`); returns what comes out.
  Values loopNest(llvm::ArrayRef<int64_t> loops, std::optional<mlir::IntegerSet> set, llvm::ArrayRef<int64_t> dims, Values carried,
                  mlir::Location loc, llvm::function_ref<Values(Values)> body);
  /// The points of launch index `index` in the current tile, over the indices' offsets.
  te::DimRange tileRange(int64_t index);
  /// Whether some point of the current tile of results may satisfy those constraints of `set` that none of
  /// `reduced` is in; null where there are none, or nothing is known.
  mlir::Value resultHolds(mlir::IntegerSet set, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> reduced, mlir::Location loc);

  // RoundsToTile.cpp
  /// One loop over all tiles of reduced indices, however many there are: it becomes the pipeline. The slowest of them starts and ends
  /// where the domain does; tiles of results that lie outside it have no round.
  struct Walk {
    llvm::ArrayRef<int64_t> k;           ///< the reduced indices of the launch, slowest first
    std::optional<mlir::IntegerSet> set; ///< the domain, over launch indices `dims`
    llvm::ArrayRef<int64_t> dims;
    mlir::Location loc;
    size_t picked; ///< the first so many of k, at least one, say which tiles count: for each tile of these the loop walks all others
    /// Makes a condition on data at the current offsets of the picked indices, one i1: tiles for which it does not hold are passed over.
    llvm::function_ref<mlir::Value()> where = nullptr;
    int64_t chunk = 1; ///< more (of one sum, without `where`): so many rounds start afresh together, and what they come to is added up
    int64_t least = 0; ///< so many rounds at least, also where the first one has no point of the domain, or none is picked
    mlir::Value *isPicked = nullptr; ///< becomes, within a round, whether `where` has picked it, one i1; null where it always has
  };
  /// Carries sums that start as `init`.
  Values walkRounds(const Walk &walk, mlir::ValueRange init, llvm::function_ref<Values(mlir::ValueRange)> body);
  class RoundsLoop;

  // DataSpans.cpp
  /// What data says of where the points of a reduction's loops begin and end in the current tile of results (`off[g] <= i`): numbers
  /// by launch index, for findSpan. Bounds that are one number for all these results are in `tileBounds_`. `together`: threads wait
  /// for each other in a round, so each warp finds by itself how many there are.
  void findDataSpans(mlir::Operation *op, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> loops, mlir::Location loc,
                     bool together = true);
  struct Meeting;
  std::optional<Meeting> findMeeting(mlir::Value part, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> loops);
  /// Each adds what a part of a condition says to `dataSpans_`; false after a diagnostic. `isMask`: the part stands in the body.
  bool addMeeting(const Meeting &m, mlir::Operation *op, BodyToTiles &body, llvm::ArrayRef<int64_t> dims, mlir::Location loc);
  bool addLinearBound(mlir::Value part, const te::LinearBound &bound, mlir::Operation *op, BodyToTiles &body, llvm::ArrayRef<int64_t> dims,
                      mlir::Location loc, bool together, bool isMask);
  mlir::Value boundOf(mlir::Value data, const te::LinearBound &bound, int64_t index, mlir::Location loc);
  mlir::Value extentOf(int64_t index, mlir::Location loc);
  mlir::Value elementOf(mlir::Value tile, mlir::Location loc);
  /// The largest, or smallest, of `start` and what `number` says of `count` points from `first` on along launch index `index`; null
  /// after a diagnostic.
  mlir::Value searchAlong(int64_t index, te::Combiner kind, mlir::Value start, mlir::Value first, mlir::Value count, mlir::Location loc,
                          llvm::function_ref<mlir::Value(mlir::Value)> number);
  /// The same of the rows in the current tile, by `one`, a value of the body of `op`.
  mlir::Value overRows(mlir::Value one, mlir::Operation *op, llvm::ArrayRef<int64_t> dims, int64_t rows, te::Combiner kind,
                       mlir::Value start, mlir::Location loc, llvm::function_ref<mlir::Value(mlir::Value)> number);

  // ScanToTile.cpp
  /// The statements of a launch of scans along launch index `along`: tile by tile, carrying what each scan has come to.
  /// What is reduced over `along` is carried where rounds walk it, and what is computed from that stands behind them.
  mlir::LogicalResult emitScans(int64_t along);
  /// How many tiles a statement of it carries from round to round: a scan's state, and what is reduced over rows that rounds walk.
  size_t statesInWalk(size_t member, int64_t along, bool isWalked) const;
  /// What its rounds carry, in the order of its statements.
  Values startOfScans(int64_t along, bool isWalked);
  /// A statement in a round. `state`: what all of them carry, this one's from `next` on, which becomes that of the next statement.
  mlir::LogicalResult emitInWalk(size_t member, int64_t along, bool isWalked, llvm::MutableArrayRef<mlir::Value> state, size_t &next);
  mlir::LogicalResult emitBehindWalk(int64_t along, bool isWalked, llvm::ArrayRef<mlir::Value> last);
  /// One tile of a scan; `carry` becomes what the next tile starts from.
  mlir::LogicalResult emitScan(te::ReduceOp op, const te::Scan &scan, llvm::ArrayRef<int64_t> dims, mlir::Value &carry);

  // LookBackToTile.cpp
  /// The index along which the launch's scans have a tile a block; nothing where a block walks it, and where there are no scans.
  std::optional<int64_t> findLookBack() const;
  /// Whether elements of scans wait in shared memory for what the look-back says.
  bool holdsScans() const;
  /// Memory that blocks tell each other by.
  struct LookBackTensor {
    std::string name;
    mlir::AffineMap shape;
    int64_t source;
  };
  /// The words of each scan.
  llvm::SmallVector<LookBackTensor> lookBackTensors();
  /// The launch that zeroes them.
  void emitZeroes(llvm::ArrayRef<LookBackTensor> tensors);
  /// Them as arguments of the function.
  void addLookBack(llvm::ArrayRef<LookBackTensor> tensors);
  mlir::Value takeTicket(mlir::Location loc);
  /// Where the block's tile lies among those of its row.
  void placeLookBack(int64_t along, bool isReverse, mlir::Location loc);
  Values lookBack(mlir::Operation *op, te::Combiner kind, mlir::ValueRange totals, bool isReverse, mlir::Location loc);

  // ReduceToTile.cpp
  /// What a statement's result is called in the text: the source's name, else what it is, as in `max_j`.
  static std::string nameOf(mlir::Operation *op);
  mlir::LogicalResult emitReduce(te::ReduceOp op, llvm::ArrayRef<int64_t> dims);
  /// A reduction over indices of which the current tile has all points.
  mlir::LogicalResult emitWithinTile(te::ReduceOp op, llvm::ArrayRef<int64_t> dims);
  /// The same of its terms in all tiles, which are there; of arg reductions with their positions.
  mlir::LogicalResult finishWithinTile(te::ReduceOp op, llvm::ArrayRef<int64_t> dims, mlir::ValueRange partials);
  /// A reduction's terms in the tile at the current offsets, combined with `carried` where there is such; of arg reductions their
  /// positions, too. Nothing after a diagnostic.
  Values reduceTerms(te::ReduceOp op, llvm::ArrayRef<int64_t> dims, mlir::ValueRange carried, mlir::Location loc);
  /// The identity of a reduction, all over a tile.
  mlir::Value identityTile(te::Combiner kind, mlir::RankedTensorType type, mlir::Location loc);
  /// What a block's tiles combine to along launch indices `reduced`, and the other blocks' where they share one out.
  Values reduceTile(te::Combiner kind, mlir::ValueRange partials, llvm::ArrayRef<mlir::Type> types, llvm::ArrayRef<int64_t> reduced,
                    mlir::Location loc);
  // CascadeToTile.cpp
  /// Whether the launch's loop over index `i` goes round once at least, also where there is no point: a round of no points changes
  /// nothing, and a product's rounds that follow each other may overlap.
  bool hasFirstRound(int64_t i);
  /// Several reductions at once.
  /// Within a loop of the launch each round first makes what the statements `made` do.
  mlir::LogicalResult emitCascade(te::CascadeOp op, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<size_t> made = {});
  /// Stores result k, which has dims of its own.
  void storeOwn(te::CascadeOp op, unsigned k, mlir::Value value, llvm::ArrayRef<int64_t> dims, BodyToTiles &body);
  // FoldToTile.cpp
  mlir::LogicalResult emitFold(te::FoldOp op, llvm::ArrayRef<int64_t> dims);
  /// One tile of a scan; `state` becomes what the next one starts from.
  mlir::LogicalResult emitFoldScan(te::FoldOp op, const te::Scan &scan, llvm::ArrayRef<int64_t> dims,
                                   llvm::MutableArrayRef<mlir::Value> state);
  /// The state of no points.
  Values startOfFold(te::FoldOp op, llvm::ArrayRef<int64_t> shape, mlir::Location loc);
  /// `state` with the elements of the tile at the current offsets, as far as `set` and the fold's condition let them in; they stand
  /// before it where it is `behind`. Nothing after a diagnostic.
  Values takeTile(te::FoldOp op, llvm::ArrayRef<int64_t> dims, std::optional<mlir::IntegerSet> set, mlir::ValueRange state, bool behind,
                  mlir::Location loc);
  /// Its elements in the tile at the current offsets, and where they count (null: everywhere); false after a diagnostic.
  bool findElement(te::FoldOp op, llvm::ArrayRef<int64_t> dims, std::optional<mlir::IntegerSet> set, llvm::ArrayRef<int64_t> shape,
                   Values &element, mlir::Value &condition, mlir::Location loc);
  Values combineTiles(te::FoldOp op, mlir::ValueRange state, mlir::ValueRange element, llvm::ArrayRef<int64_t> shape);
  /// Keeps the results for readers, and stores those that are wanted.
  void keepFold(te::FoldOp op, mlir::ValueRange state, llvm::ArrayRef<int64_t> kept, BodyToTiles &body);
  // RecurrenceToTile.cpp
  mlir::LogicalResult emitRecurrence(te::RecurrenceOp op, llvm::ArrayRef<int64_t> dims);
  /// The points of the current tiles. Fails after a diagnostic.
  mlir::LogicalResult definePoints(te::RecurrenceOp op, llvm::ArrayRef<int64_t> dims, mlir::Location loc);
  /// What its term k comes to there; null after a diagnostic.
  mlir::Value reduceSoFar(te::RecurrenceOp op, unsigned k, llvm::ArrayRef<int64_t> dims, mlir::Location loc);
  // ReduceToTile.cpp
  /// Continues from an init, keeps the value for readers, stores it if wanted.
  mlir::LogicalResult finishReduce(te::ReduceOp op, llvm::ArrayRef<int64_t> dims, mlir::Value result, BodyToTiles &shaper);
  /// Whether each block adds what its tile of a sum comes to (te::isAddedByBlocks).
  bool isAdded(te::ReduceOp op);
  /// Adds what tiles have come to, where all of a round has been made: the additions run beside its last products.
  void addToMemory();
  mlir::Value loadInit(te::ReduceOp op, llvm::ArrayRef<int64_t> kept, BodyToTiles &shaper);

  // ProductToTile.cpp
  /// A product as dots of the launch's unit take it.
  struct DotForm {
    struct Side {
      mlir::Value factor;
      std::optional<mlir::IntegerSet> where;
      llvm::ArrayRef<mlir::Value> mask;
      bool inSlot = false; ///< masked there
    };
    llvm::SmallVector<int64_t> m, n, k; ///< launch indices of the unit's rows, its columns, and what is summed
    Side left, right;                   ///< those of rows, and of columns
    bool oneInRegisters = false;
    mlir::RankedTensorType type;
    int64_t chunk = 1;                 ///< rounds that share the unit's accumulators, where sums leave them; else 0 or 1
    bool byParts = false;              ///< each round's product is one of its own, and is added
    llvm::SmallVector<int64_t> walked; ///< k as rounds walk it, slowest first
    size_t picked = 0;                 ///< so many of `walked` are picked by a condition on data, if there is one
  };
  /// Whether a block has one point of launch index `i`.
  bool isOfBlock(int64_t i) const { return l_.tiles[i] == 1 && llvm::is_contained(l_.grid, i); }
  /// Whether a condition on results is the same for all of a block: it walks no round where it does not hold.
  bool areDecided(std::optional<mlir::IntegerSet> where, llvm::ArrayRef<int64_t> dims);
  /// Numbers of those constraints of `where` by which the rounds of a product begin and end, so that they hold at all points of each:
  /// constraints on one of the walked indices, of which a round has one point, and on the block's. `picks`: data say which tiles count.
  llvm::SmallVector<unsigned> findRoundEnds(mlir::IntegerSet where, llvm::ArrayRef<int64_t> dims, const DotForm &f, bool picks);
  /// `where` without these.
  std::optional<mlir::IntegerSet> withoutRoundEnds(std::optional<mlir::IntegerSet> where, llvm::ArrayRef<int64_t> dims, const DotForm &f,
                                                   bool picks);
  /// In which order rounds walk what is summed.
  void orderRounds(te::ReduceOp op, const te::Contraction &c, llvm::ArrayRef<int64_t> dims, DotForm &f);
  DotForm dotForm(const te::Summation &sum, const te::Contraction &c, llvm::ArrayRef<int64_t> dims);
  mlir::LogicalResult emitContraction(te::ReduceOp op, const te::Contraction &c, llvm::ArrayRef<int64_t> dims);
  /// What a sum is before the first round: nothing, or the sum of another product that it goes on from (te::goesOn).
  mlir::Value startOfSum(const te::Summation &sum, const DotForm &f, mlir::Location loc);
  /// Zero, all over a product's tile.
  mlir::Value zeroSum(const te::Summation &sum, const DotForm &f, mlir::Location loc);
  /// `acc` and the terms of the tile at the current offsets. Null after a diagnostic.
  mlir::Value addRound(const te::Summation &sum, const te::Contraction &c, const DotForm &f, llvm::ArrayRef<int64_t> dims,
                       BodyToTiles &body, mlir::Value acc, mlir::Location loc);
  /// All rounds of the product's own loop. `ok` becomes false after a diagnostic.
  mlir::Value sumOverRounds(te::ReduceOp op, const te::Contraction &c, const DotForm &f, llvm::ArrayRef<int64_t> dims, mlir::Value zero,
                            mlir::Location loc, bool &ok, llvm::function_ref<mlir::Value(mlir::Value)> round);
  /// What is left to do with a sum: scales free of what is summed, terms that must not count. Null after a diagnostic.
  mlir::Value finishSum(te::ReduceOp op, const te::Contraction &c, const DotForm &f, llvm::ArrayRef<int64_t> dims, mlir::Value out,
                        mlir::Location loc);
  /// Additions in the body of `op` that products of the launch have made already, by going on from each other.
  void bindSums(mlir::Operation *op, BodyToTiles &body);
  // LaunchLoop.cpp
  /// The launch's statements from the first to the last that have one of its loops' indices, and that loop around them: what they make
  /// at an index of the loop lives for a round, what they reduce over it is carried.
  mlir::LogicalResult emitInLoop(llvm::ArrayRef<size_t> members);
  struct Carried;
  /// Whether that statement reduces over one of the launch's loops.
  bool isCarried(size_t member);
  /// What a statement has made in a round is gone behind the loop.
  void forget(size_t member);
  mlir::Value startOf(const Carried &sum);
  /// The rounds of all `members`; what `sums` come to, each from its part of `start` on. Nothing after a diagnostic.
  std::optional<Values> carryOverRounds(llvm::ArrayRef<size_t> members, llvm::ArrayRef<Carried> sums, mlir::ValueRange start);
  /// `sum` and what the tile at the current offsets adds to it. Null after a diagnostic.
  mlir::Value addTile(te::ReduceOp op, const std::optional<te::Contraction> &product, const DotForm &f, llvm::ArrayRef<int64_t> dims,
                      mlir::Value sum, mlir::Location loc);
  mlir::LogicalResult emitStatement(size_t member);

  // TiedProducts.cpp
  /// `out`, the results of a product on CUDA cores whose condition ties rows or columns to summed indices. Where a factor is
  /// zero because a term is excluded, the other may be infinite or NaN: a tile of which a result is NaN is summed once more,
  /// the terms that count alone.
  mlir::Value sumExactly(te::ReduceOp op, llvm::ArrayRef<int64_t> dims, mlir::Value out, mlir::Location loc);
  /// How many points of a product's tile along its reduced indices `k` are left from the offsets on; null where that is all of them.
  mlir::Value pointsLeft(llvm::ArrayRef<int64_t> k, mlir::Location loc);
  /// Gives a dot the term of a general contraction.
  void fillTerm(tile::DotOp dot, const te::Contraction &c);
  /// acc + scale · (a · b of one tile), where sums of tiles do not go on in the unit's accumulators.
  mlir::Value addPart(mlir::Value part, mlir::Value scale, mlir::Value acc, mlir::Location loc);
  /// Loads what `factors` read.
  bool loadFactors(llvm::ArrayRef<mlir::Value> factors, BodyToTiles &body);
  /// The product of factors that are free of what is summed; null where there are none.
  mlir::Value scaleOf(llvm::ArrayRef<mlir::Value> factors, BodyToTiles &body, mlir::Location loc);
  /// A factor in the type the matrix unit takes; without one, in the narrowest type
  /// that holds it.
  mlir::Value inUnitType(mlir::Value factor, mlir::Type unitType, BodyToTiles &body, mlir::Location loc, bool &rounded);
  /// As inUnitType, of all points of its tile along `outer` and `k`, zero beyond the reduced extents and where `where` or one
  /// of `mask` does not hold.
  mlir::Value operand(mlir::Value factor, mlir::Type unitType, std::optional<mlir::IntegerSet> where, llvm::ArrayRef<mlir::Value> mask,
                      llvm::ArrayRef<int64_t> outer, llvm::ArrayRef<int64_t> k, BodyToTiles &body, mlir::Location loc, bool &rounded);

  // PickedRounds.cpp
  /// Whether points of the tile at the current offsets count by `masks`, one i1: each mask is asked at a point of each of its pieces.
  /// Null after a diagnostic.
  mlir::Value holdsInPieces(te::CascadeOp op, llvm::ArrayRef<te::PickingMask> masks, llvm::ArrayRef<int64_t> dims);

  /// `tile` of a factor with all points of its tile along `outer` and `k`.
  mlir::Value ofWholeTile(mlir::Value tile, llvm::ArrayRef<int64_t> outer, llvm::ArrayRef<int64_t> k, BodyToTiles &body);
  // TiedProducts.cpp, of products in chains on CUDA cores
  /// Whether the rows' operand has the mark of what is absent where the condition excludes terms of some results and not of others.
  bool marksAbsent(const te::Contraction &c, const DotForm &f) const;
  /// The rows' operand, with that mark. Null after a diagnostic.
  mlir::Value markedOperand(const DotForm &f, BodyToTiles &body, mlir::Location loc);
  /// So many points of the current tile's reduced indices have none: all of them or 0. Null after a diagnostic.
  mlir::Value pointsPresent(mlir::Operation *op, const DotForm &f, llvm::ArrayRef<int64_t> dims, BodyToTiles &body, mlir::Location loc);

  // TileChoice.cpp
  /// Whether a condition of the body of `op` may hold somewhere in the tile at the current offsets: a tile
  /// of one i1, never wrongly false. Null after a diagnostic.
  mlir::Value holdsSomewhere(te::ReduceOp op, mlir::Value condition, llvm::ArrayRef<int64_t> dims);
  /// Whether `where` and linear bounds hold at all points of the current tile that exist, a tile of one i1, never
  /// wrongly true. Null after a diagnostic.
  mlir::Value holdEverywhere(mlir::Operation *op, std::optional<mlir::IntegerSet> where, llvm::ArrayRef<mlir::Value> bounds,
                             llvm::ArrayRef<int64_t> dims);
  /// `tile` of a factor, zero where `where` or a linear bound does not hold, as a mask that slots in shared memory take.
  mlir::Value maskPoints(mlir::Operation *op, mlir::Value tile, std::optional<mlir::IntegerSet> where, llvm::ArrayRef<mlir::Value> bounds,
                         llvm::ArrayRef<int64_t> dims, mlir::Location loc);
  /// The values that a form takes in the current tile, within linear bounds.
  struct Span {
    mlir::AffineExpr form;
    mlir::Value low, high;       ///< the form's own ends there, tiles of one i64; null where not known
    mlir::Value atLeast, atMost; ///< the bounds; null where there are none
  };
  /// Adds a bound to the span of its form. Fails after a diagnostic.
  mlir::LogicalResult addBound(const te::LinearBound &bound, llvm::ArrayRef<int64_t> dims, BodyToTiles &body,
                               llvm::SmallVectorImpl<Span> &spans, mlir::Location loc);
  mlir::Value endOf(mlir::AffineExpr form, bool high, llvm::ArrayRef<int64_t> dims, BodyToTiles &body, mlir::Location loc);

  mlir::OpBuilder &b_;
  te::KernelOp kernel_;
  const te::KernelPlan &plan_;
  const te::LaunchPlan &l_;
  const Buffers &buffers_;
  llvm::SmallVector<mlir::Operation *> ops_;
  tile::FuncOp func_;
  llvm::DenseMap<int64_t, mlir::Value> byName_;
  LaunchContext c_;
  struct PartOfSum {
    te::ReduceOp op;
    llvm::SmallVector<int64_t> kept; ///< the launch's indices that its results have
    mlir::Value tile;
  };
  std::vector<PartOfSum> parts_;         ///< that are still to be added to memory
  llvm::SmallVector<int64_t> madeAlong_; ///< the grid's indices that the statement has not: all blocks along them make it
  Values lookBackArgs_;                  ///< as lookBackTensors has them
  size_t nextLookBack_ = 0;              ///< those of the next scan
  int64_t levels_ = 1;                   ///< of the tree that its tiles are combined in
  mlir::Value tileNumber_;               ///< where a block does not have the one of its own number
  mlir::Value numberAlong_, tilesAlong_, row_;
  llvm::ArrayRef<int64_t> open_; ///< the launch's loops, while statements are emitted within them
  struct DataSpan {
    mlir::Value begin, end; ///< null where nothing is known
  };
  llvm::DenseMap<int64_t, DataSpan> dataSpans_;
  /// A part of a condition on data: points count from `limit` on, where it is a low end, or before it.
  struct TileBound {
    int64_t index; ///< the launch's
    mlir::Value limit;
    bool isLow;
  };
  llvm::DenseMap<mlir::Value, TileBound> tileBounds_; ///< by the part's value in the body
  mlir::Value rank_;                                  ///< of this block in a cluster that shares an index out
};

/// The combine region of `op` as that of a tile op: `region` gets scalars, and ends in tile.state. Its states are `turned` where it
/// is to have them in the order of the index, and the fold has them in that of its descending steps.
void copyCombine(mlir::OpBuilder &b, te::FoldOp op, mlir::Region &region, bool turned, mlir::Location loc);

} // namespace kernelc
