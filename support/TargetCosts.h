// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the planner weighs: coefficients and limits that decide speed, a struct for each kind of launch, each with its
// measurement. With Target.h the only place for such numbers: passes compare extents and counts with these, and a lint
// (cmake/check_thresholds.py) finds others. Where nothing else is said, a number is the best of a table of schedules on an
// H200 or H100 (docs/lab); a target of which nothing was measured has the same.
#pragma once

#include <cstdint>

namespace kernelc {

/// Statements computed point by point, and short sums that a thread has all terms of (MemoryPlan.cpp).
struct PointwiseCosts {
  int64_t fewBytes = 64;        ///< what has fewer than one byte in so many of the rest is a statistic of each row, and no transposition
  int64_t largestMade = 4096;   ///< points that a block makes at once of few values before its own; a longer sum is walked
  int64_t windowStep = 4;       ///< elements from one window to the next: whole sectors are used, if not by one access
  int64_t windowResults = 8;    ///< of a thread, whose windows overlap: what they share is read once
  int64_t windowRows = 16;      ///< of a tile of such results
  int64_t windowVectors = 4;    ///< of a thread, where results beside each other are vectors
  int64_t windowBlocks = 2;     ///< of a multiprocessor that such results are to keep busy; threads have fewer of them before that
  int64_t windowWork = 1 << 24; ///< terms of vectors' windows from which a launch that turns their weights pays,
  int64_t windowReuse = 512;    ///< and of each weight
  int64_t groupRow = 32;        ///< bytes of a group's channels from which on copies bring them to a unit: 32 × 128 × 112² with 256 outputs
                                ///< takes 0.65 and 0.32 ms on units with 8 and 16 channels a group (docs/lab/2026-11-28-unseen-16.md)
  int64_t groupResults = 16;    ///< of a group that a thread has otherwise
  int64_t windowTerms = 256;    ///< of a sum that one thread has
  int64_t windowThreads = 1024; ///< of a multiprocessor that such sums keep busy; fewer of them are shared by warps
  int64_t shortWindow = 64;     ///< terms of sums that are over before vectors of results are too few
  int64_t warpsOfFound = 4;     ///< most of a block, and results of a thread, whose sums are of what computed places find: corners of
  int64_t resultsOfFound = 4;   ///< samples, of each channel (docs/lab/2026-11-28-unseen-18.md)
  int64_t fewThreads = 1024; ///< of a multiprocessor, which have a point each before they have vectors (docs/lab/2026-11-28-chains-14.md)
  int64_t askedBytes = 64;   ///< of a thread at a time: more are no faster (steps of optimizers, docs/lab/2026-11-27-chains-9.md)
};

/// Rows that a block reduces (ReductionPlan.cpp).
struct RowCosts {
  int64_t blocks = 8;             ///< that a multiprocessor should have, where a cluster's can share rows out
  int64_t perThread = 32;         ///< elements of one tile that a thread holds
  int64_t longRowRegisters = 128; ///< of a thread that holds twice as many, in f32
  int64_t longRowFrom = 8192;     ///< such rows: longer than this,
  int64_t longRowTo = 16384;      ///< and no longer than this
  int64_t loopTile = 4096;        ///< of a row that is walked, with what lengthens it
  int64_t shortestWalk = 1024;    ///< its shortest tile
  int64_t spare = 10;             ///< of a row's last tile one part in so many may lie beyond its end
  int64_t shortRow = 1024;        ///< that is never walked
  int64_t perWalk = 16;           ///< elements of a thread in a round
  int64_t perBlock = 4;           ///< short rows to a block, a warp each
  int64_t shortPerThread = 64;    ///< elements of a thread of several short rows: of windows of 11 x 11, and no more
  int64_t largestHeld = 32768;    ///< elements that one block holds for several statements to go over
  int64_t halvesFull = 75;        ///< percent of its tile, above which one block holds a row of halves (docs/lab/2026-11-27-windows.md)
  int64_t heldByTwo = 16384;      ///< with which a second block has room: 256 threads with 64 elements each
  int64_t heldPerThread = 64;     ///< of these
  int64_t heldThreads = 1024;     ///< of a block with longer rows, 32 elements each
  int64_t twiceBits = 16;         ///< elements of such rows that are walked twice instead: the second walk finds them in L2,
  int64_t twiceRows = 4;          ///< where a multiprocessor has so many rows and more (docs/lab/2026-11-26-odd-rows.md)
  int64_t heldByElements = 8192;  ///< elements of a block's part where vectors do not fit: each takes an address
};

/// Columns side by side that blocks reduce (ReductionPlan.cpp).
struct ColumnCosts {
  int64_t bytesInFlight = 128;     ///< of a thread
  int64_t wholeBytesInFlight = 64; ///< of one with columns from end to end, which shares registers with more of its kind
  int64_t byElements = 64;         ///< columns of rows that vectors do not fit: requests of one block meet in most sectors
  int64_t elementsInFlight = 32;   ///< of a thread of these (docs/lab/2026-11-26-planner-2.md)
  int64_t blocks = 2;              ///< of a multiprocessor
  int64_t shortSum = 64;           ///< over after one load of each thread: columns keep it busy there
  int64_t states = 32;             ///< elements of a thread whose states have several values
  int64_t wholeThreads = 1024;     ///< of a multiprocessor whose blocks have columns from end to end
  double wholeLeastBusy = 0.9;     ///< part of the last wave's blocks from which such blocks need no sharing out
};

/// Sums that multiply each element of a streamed operand by several of the other one (ReductionPlan.cpp, te-thin-products).
struct StreamedCosts {
  int64_t withoutUnit = 16;    ///< points of the other operand up to which CUDA cores keep up with memory
  int64_t besideUnit = 8;      ///< the same beside a unit that would multiply zeros for most of its rows
  int64_t byElements = 4;      ///< the same where a thread loads as many of the thin side for each element
  int64_t leastThick = 64;     ///< points of the streamed side
  int64_t fewPoints = 8;       ///< that leave registers for a second block
  int64_t leastShared = 4;     ///< more than so many points are shared by four warps
  int64_t loads = 16;          ///< on their way, of a thread
  int64_t longest = 64;        ///< rows of a tile of columns
  int64_t blocks = 4;          ///< of columns, of a multiprocessor
  int64_t vectorsPerPoint = 8; ///< columns, in vectors, that a block has for each point
  int64_t rows = 32;           ///< of a block
  int64_t rowsByElements = 8;  ///< by elements a thread has loads for few of them
};

/// Long sums that several blocks, or launches of parts, share (Sharing.cpp, te-split-reduce).
struct SharingCosts {
  int64_t length = 512;                ///< of a sum
  int64_t elements = int64_t(1) << 22; ///< of all of them
  int64_t rounds = 16;                 ///< of one block, each of which waits for memory:
  int64_t row = 4096, rows = 256;      ///< elements of such a round, along and across rows
  double leastBusy = 0.9;              ///< part of the last wave's blocks below which a cluster shares further
  int64_t blocks = 8;                  ///< of a multiprocessor, of parts of plain sums
  int64_t streamedBlocks = 4;          ///< the same of streamed ones; `blocks` for 5 to 8 points
  int64_t streamedColumnBlocks = 32;   ///< of columns so many over the points, from 2 to `blocks`
  int64_t columns = 128;               ///< neighbouring results of a block
  int64_t leastPart = 64;              ///< elements of a part
  int64_t mostColumnParts = 256;       ///< that one block adds up, of as many columns
  int64_t mostParts = 4096;            ///< or of one result
  int64_t shorter = 4;                 ///< parts so many times shorter than wanted are too many
  int64_t rowBlocks = 2;               ///< of a multiprocessor, that a cluster fills
  int64_t rowsElements = 8192;         ///< of short rows that a block reduces, and then what they are reduced to
  int64_t leastRows = 8;               ///< of such a block
  int64_t rowsBlocks = 1;              ///< of a multiprocessor, of such rows
  int64_t mostRowParts = 16384;        ///< that one block adds up, of such rows
  int64_t leastProductPart = 256;      ///< of a product's sum: a shorter one is over before a second launch starts
  int64_t leastProductParts = 4;       ///< two or three do not pay for the second launch
  int64_t coresPerMultiprocessor = 4;  ///< tiles of CUDA cores, where nothing else is known
  // Fitted to f32 products in 1 to 24 parts, H200, docs/lab/2026-11-26-planner-4.md.
  int64_t mostCoresParts = 32; ///< of products on CUDA cores
  double leastGain = 1.05;     ///< so many times as long as parts takes the whole sum of a product
  double coresRate = 1.8e5;    ///< multiply-adds of a multiprocessor in a microsecond, in tiles of 128 × 128
  double coresBlock = 0.7;     ///< microseconds until a block's first slot is there, and in which its results leave
  double coresAlone = 1.15;    ///< times as long as beside another one takes a block that is alone on its multiprocessor
  int64_t mostFedParts = 64;   ///< of products that tensor copies feed
  double unequal = 1.1;        ///< times as long: parts that differ pay for checks of where they end
};

/// Scans (ScanPlan.cpp, te-split-scan).
struct ScanCosts {
  int64_t perThread = 16;    ///< elements of a row at a time: vectors on their way, and registers for four blocks
  int64_t columnRounds = 32; ///< elements of a column at a time
  int64_t threads = 256;
  int64_t row = 4096;            ///< a chunk
  int64_t longestRow = 8 * 4096; ///< that takes a block no longer than three launches more
  int64_t rowBlocks = 2;         ///< of a multiprocessor
  int64_t leastColumn = 64;      ///< elements of a chunk of a column
  int64_t columnBlocks = 16;     ///< of 32 columns, of a multiprocessor
  int64_t perThreadBehind = 32;  ///< elements of a tile that asks those before it: fewer warps to meet, more loads on their way
  int64_t threadsBehind = 128;   ///< of a block that has one
  int64_t registersHeld = 40;    ///< of a thread whose elements wait in shared memory (docs/lab/2026-11-28-scatters-12.md)
  int64_t bytesBeside = 1536;    ///< of shared memory, beside them: the device's own, and what warps tell each other
  int64_t registersAhead = 96;   ///< for what later rounds read
  int64_t mostAhead = 8;         ///< rounds: as long as memory takes, and more text is compiled for longer
};

/// Folds and recurrences (FoldPlan.cpp).
struct FoldCosts {
  int64_t mostWarps = 4;         ///< of blocks whose threads walk alone
  int64_t mostStates = 4;        ///< of a thread beside a recurrence: what it has asked for needs the registers
  int64_t threadsOfStates = 256; ///< of a multiprocessor, from which a thread has several states
  int64_t threadsAlone = 1024;   ///< of a multiprocessor, from which each result has a thread of its own
  int64_t threads = 256;
  int64_t states = 16;        ///< values of a thread's states, which leave registers for loads on their way
  int64_t mostPerThread = 4;  ///< states
  int64_t largestInTile = 64; ///< points of an index beside a recurrence that a tile has all of
  int64_t mostWarpsOfStates =
      1;                 ///< the same of threads with several states: rows of few enough points that what is summed runs along memory
  int64_t mostAhead = 4; ///< steps of a recurrence, of which each waits for the one before it
  // What a step of a recurrence takes beside its work, in microseconds (docs/lab/2026-11-28-planner-14.md).
  double sumRound = 0.25;        ///< of a round of a sum of earlier elements: a load, and the meeting of those who need it
  double stepEnd = 0.5;          ///< from the last element of a step to the first load of the next one
  int64_t heldBytes = 128 << 10; ///< that every step reads anew and the first cache has still
  int64_t warpsBeside = 16;      ///< of a multiprocessor, of blocks whose steps overlap
};

/// Reductions over segments that data bounds (SegmentPlan.cpp).
struct SegmentCosts {
  int64_t threads = 256; ///< of a block
  int64_t perThread = 4; ///< points on their way
  int64_t elements = 16; ///< of a thread that has several results, for each of its points a sum
  int64_t rows = 8;      ///< of a warp: each asks of all their points which are its own
  int64_t unknown = 64;  ///< points of a segment, where nothing says how many
};

/// Scatters (ScatterPlan.cpp).
struct ScatterCosts {
  int64_t tallyBytes = 48 * 1024; ///< of shared memory, a block's copies of the result
  int64_t pointsPerElement = 16;  ///< from which copies pay
};

/// Launches that merge (Merging.cpp).
struct MergingCosts {
  double rate = 1e6;             ///< bytes a microsecond, where a target has no rates
  double start = 2;              ///< microseconds of a launch, the same
  double oneBlock = 2;           ///< from a block's first load to its last store
  double shortBytes = 1 << 25;   ///< of reductions whose start is a good part of their time
  double share = 0.25;           ///< of the smaller launch's bytes that must be saved,
  double smallBytes = 1 << 20;   ///< where it has more than so many: less is a launch's time
  int64_t points = 1 << 16;      ///< of a launch that needs blocks for the whole device
  double cacheRate = 1.5;        ///< of the second-level cache, over memory's
  int64_t blockPoints = 1 << 11; ///< of a block that makes few values first
  double mostBytes = 1 << 15;    ///< that it reads for them
  int64_t unknownExtent = 4096;  ///< what an extent counts for of which nothing is known
};

/// Products of which one takes the other's results (Chain.cpp, ChainPlan.cpp, ChainSets.cpp).
struct ChainCosts {
  int64_t tileRows = 128, tileColumns = 256; ///< of a product that stands alone, for comparison
  int64_t mostColumns = 256;                 ///< of the second product: one tile has them all
  int64_t mostSummed = 256;                  ///< points of the first one's sum that stay in slots for the whole loop
  int64_t round = 48;                        ///< columns that a round of a cascade costs beside its own, where
  int64_t fewColumns = 64;                   ///< the second product has no more than so many (docs/lab/2026-11-25-attention.md)
  int64_t plainFill = 40;       ///< registers of warps that fill one ring with the next box along an index; with 56 causal d 128 spilled
  int64_t fewestRegisters = 24; ///< of warps that fill, where a set of products needs all others
  int64_t besideSets = 16;      ///< registers beside a set's sums: operands take the place of sums
  int64_t mostStages = 4;       ///< slots beyond which copies are never what a round waits for
  int64_t mostWalkStages = 8;   ///< the same of a walk over one product
  int64_t largestInTile = 256;  ///< points of an index of a product's tile that are reduced in it
  double partOverhead = 1.5;    ///< microseconds of a part of a walk from its first copy to its first product, and from its last one on
  int64_t mostParts = 256;      ///< of a walk: one block merges them
  int64_t partColumns = 256;    ///< of a round of a walk
  double pointTerms = 256;      ///< of which chains are slower than products by what a point takes beside its terms
  double pairsFilled = 0.9;     ///< of the turns of all multiprocessors, by pairs of a long and a short tile, for blocks to stay
  // Three warpgroups of rows, with one product in flight each, hide each other's exponentials (docs/lab/2026-11-26-attention-4.md):
  int64_t threesWalk = 2048;     ///< points of a walk from which they do,
  int64_t threesFill = 32;       ///< registers that the warps that fill keep,
  double threesTime = 15.0 / 16; ///< and what a row takes of the time of one of 128 rows
  double coresProduct = 0.85;    ///< of the peak, that large products reach on CUDA cores (H200, docs/lab/2026-11-27-unseen-14.md),
  double coresChain = 0.65;      ///< and chains
  int64_t mostOnCores = 128;     ///< columns of a tile there, and terms of its first product, that registers and slots have room for
  int64_t threesRound = 96;      ///< columns of a round with two products in flight each: they stay apart in time (chains-9)
                                 // Of a cascade that looks for its reference only where terms get large (chains-12):
  int64_t seldomRound = 112;     ///< columns of a round of three warpgroups, which instructions bound,
  int64_t seldomColumns = 2;     ///< and columns of results for one of a round from which not to scale them saves two warpgroups more than
                                 ///< waiting for a branch costs
  int64_t mostPieces = 16;       ///< of a tile, within which a mask is the same: each lane of a search loads one element a piece
  double pairsWhole = 0.95;      ///< of the rows of all pairs, that are there at least: one tile of the last pair may have few, or none
};

/// Products side by side (SiblingPlan.cpp).
struct SiblingCosts {
  int64_t fewestStages = 3; ///< two leave the unit waiting for the second while the first is brought again
  int64_t combining = 32;   ///< registers of a thread for what a statement makes of several sums at once
  int64_t narrowest = 64;   ///< bytes of a slot's rows: shorter ones are as many requests as longer ones
};

/// Launches beside each other (Beside.cpp).
struct BesideCosts {
  double least = 1;   ///< microseconds that one launch must save,
  double part = 0.03; ///< and of the time apart so much: 1024×4096 by 4096 and 2 × 1024 gains by 6 %, 4096 rows lose by 1 % (an H100)
};

/// Products on warpgroups (WarpgroupPlan.cpp).
struct WarpgroupCosts {
  // What a tile takes: fitted to 2000 times of 37 products and 60 schedules, H200, docs/lab/2026-11-26-planner-3.md.
  double bestRate = 0.96;  ///< of the unit's, that the best tile reaches
  double slotRows = 990;   ///< rows of slots that a multiprocessor's tensor copies bring in a microsecond, 64 bytes or 128
  double beyondRows = 550; ///< the same rows beyond a tensor's end, which copies fill with zeros (docs/lab/2026-11-27-planner-11.md), or
                           ///< leave out (tile-cut-tails): plans without the term were worse (docs/lab/2026-11-28-planner-12.md)
  double result = 0.55e-4; ///< microseconds that a result takes to leave
  double resultBehind = 0.15e-4;       ///< the same while another team multiplies
  double besideMemory = 0.25;          ///< part of the shorter of what memory and the rest take that the longer one does not hide
  double leastGain = 1.025;            ///< so many times as long as columns by 8, or in place of rows, take measured tiles, or rows
  int64_t shortestPart = 32;           ///< columns of an epilogue's part, which waits for the one before it
  int64_t largestPart = 160 * 128;     ///< its results: more take the place of slots
  double leastSlot = 0.125;            ///< microseconds of a slot, whatever lies in it: its barriers
  double startOfTeams = 0.4;           ///< microseconds until the second team has its first tile, and of the last tile's results
  double startOfCluster = 1.6;         ///< microseconds in which the blocks of clusters meet
  int64_t manyRounds = 16;             ///< of the device, from which three warpgroups gain: 0.7 to 1.5 % in 21, -2 % in 3
  double oneInFlight = 1.04;           ///< times as long where the unit waits while sums are added up (f8 4096³ and 8192³)
  int64_t straddlingBytes = 160 << 10; ///< of slots where rows straddle lines and blocks have few tiles: 6 slots instead of 8 are
  int64_t straddlingTiles = 32;        ///< 1.02 times as fast at 1000³, 5 instead of 6 1.01 at 1400³, but 8 are 1.07 at 1000×1000×4000
  double givenTileRate = 175;          ///< percent of the best tile's rate, of tiles that a condition on data gives: where operands
  double givenTileReuse = 64;          ///< come as fast as so many multiply-adds for each are done
  int64_t fillRegisters = 56;          ///< of a thread that fills: fewer spill index arithmetic
  int64_t fewWaves = 2;                ///< of tiles, of launches with no more of which two rows side by side are
  int64_t evenGroups = 8;              ///< of rows of tiles, up to which one low group shows in the time (docs/lab/2026-11-27-products.md)
  int64_t fewRaster = 2; ///< 1.02 times as fast as eight where rows are no fewer than columns (docs/lab/2026-11-26-planner-2.md)
};

/// Copies that products' operands and results go through (te-repack, te-windows, te-reader-windows).
struct CopyCosts {
  int64_t workspaceRowBytes =
      128;               ///< rows of workspaces: with 8208 bytes a box's rows lie in two lines each, and a product took 1.5 times as long
  int64_t shortRow = 32; ///< elements of a row that is worth no copy
  int64_t longRowBytes = 64;  ///< of slots, which need no neighbours
  int64_t largestWindow = 64; ///< points of a window of which a tile has all
  double scattered = 8.8e4;   ///< results in a microsecond of which each is stored into a sector of its own

  /// Elements of `bits` bits of which rows of workspaces are multiples.
  int64_t elementsOfRow(int64_t bits) const { return workspaceRowBytes * 8 / bits; }
};

/// What a thread does within a launch (passes/tile, passes/lowerings).
struct ThreadCosts {
  double readsPerWrite = 4;        ///< a launch that writes more than one byte in so many leaves the cache to what it writes
  int64_t readers = 4;             ///< tiles of another index that may read an element, side by side, before it has to stay
  double unknownExtent = 1 << 20;  ///< what an extent counts for of which nothing is known
  int64_t leastStagedBytes = 2048; ///< of a tile: rows of biases and scales stay loads
  int64_t besideEarlyLoads = 64;   ///< registers beside accumulators and what is asked for early: addresses, an epilogue at work
  int64_t masks = 8;               ///< registers of a round's masks
  int64_t addresses = 8;           ///< registers for addresses of what a round loads itself
  int64_t manyAccesses = 16;       ///< of a launch, or walks of a row, from which a thread has less of each: NVRTC takes long for every one
  int64_t fewestQuotients = 4;     ///< of a loop, from which a reciprocal and a second copy of it come to less than the divisions
  int64_t mostTableBytes = 16384;  ///< of shared memory for a table that data chooses from (docs/lab/2026-11-26-scans-3.md)
  int64_t readsOfTable = 4;        ///< of each element by a block, from which a table's copy pays
  int64_t besideRound = 40; ///< registers that a round of a walk takes beside its products, their factors and what is asked for early
};

/// Tables that data chooses from (te-split-tables). Times are of a look without a meeting (docs/lab/2026-11-27-scatters-10.md).
struct TableCosts {
  int64_t banks = 32;        ///< of shared memory, of words
  int64_t fewBytes = 256;    ///< of a table in whose banks two words meet at most
  double meeting = 3.4;      ///< times that lanes' words of a larger one take
  double look = 1.5;         ///< of a part, with its mask
  int64_t mostIndexBits = 8; ///< of what chooses: four are masked at once
};

/// Sets of chained products of which blocks add up a sum in any order (ChainSetPlan.cpp).
struct AddedCosts {
  int64_t raster = 1; ///< of their tiles: blocks that add to one sum run at one time (docs/lab/2026-11-28-scatters-11.md)
};

/// Reductions over pairs of what is read (PairPlan.cpp; docs/lab/2026-11-28-unseen-15.md).
struct PairCosts {
  int64_t fewestLanes = 32, fewestWalked = 32; ///< of each side: else its loads serve few pairs
  int64_t rows = 64;                           ///< of a block, along the lanes
  int64_t warps = 8;                           ///< which share what is walked
  int64_t perThread = 16;                      ///< pairs of a round
  int64_t ofOne = 32;                          ///< the same where one element of what is walked makes a pair
  int64_t blocks = 2;                          ///< of a multiprocessor
};

/// Filters of each channel along one index (ChannelPlan.cpp; docs/lab/2026-11-28-unseen-15.md).
struct ChannelCosts {
  int64_t lanes = 8;        ///< along the channels, with a vector each
  int64_t warps = 4;        ///< of a block
  int64_t results = 16;     ///< of a thread
  int64_t most = 128;       ///< terms of a thread's results in a round
  int64_t round = 8;        ///< terms of a result in a round
  int64_t fewestMoved = 16; ///< neighbours that share a filter
};

/// Products on other units and on CUDA cores (ProductPlan.cpp).
struct CoresCosts {
  int smallTilePercent = 90; ///< of the rate of 128 × 128 tiles, of 64 × 64 ones: 1.01 to 1.34 times as fast where chosen so
  int64_t fewestPoints = 4;  ///< of mma.sync's 16 rows that pay for those that are zeros
  int64_t warpsOfFew = 4;    ///< of a multiprocessor, up to which a tile of few has more of them,
  int64_t fewestResults = 8; ///< with no fewer results a thread
  int64_t passing = 64;      ///< registers of a thread for an operand on its way, beside its 64 results
  int64_t besideCopies = 40; ///< registers beside accumulators and copies: fragments and indices
  int64_t roundPoints = 6;   ///< of a sum that take as long as a round's barrier, copies' addresses and waits
  int64_t shortestRow = 32;  ///< words of a tile along memory
  // Of windows that warps fill word by word: 120 tilings of 12 convolutions, H100, docs/lab/2026-11-26-sequences-6.md.
  int64_t wordRow = 4;     ///< words of a row at least,
  int64_t wordReuse = 256; ///< and so many over the points that each word is brought for: shorter ones wait for the filling
  double wordRow32 = 0.02; ///< part of the time more of rows of 32 words that lie apart: twice as much of half as many, or for 32 points
  double wordFar = 0.005;  ///< the same of each further point of an index outside the rows' own
  int apartPercent = 104;  ///< time of tiles whose rows lie apart in memory
  int farPercent = 108;    ///< and of those that have points of an index outside the rows' own: their rows lie in as many pages
  int64_t smallBlocks = 4; ///< of 64 × 64 words, that a multiprocessor has registers for
  int64_t wordFill = 96;   ///< registers of a thread that fills slots word by word: with 56 pooled convolutions spill
  int64_t wordSlots = 128 << 10; ///< bytes of a block's slots that threads fill word by word: 1.09 times as fast as with half of it
  int64_t alone = 150;           ///< percent of the longest of unequal tiles, below which a multiprocessor has one block,
  int64_t longestFirst = 90;     ///< and from which the longest come first
  int64_t fourWarps = 6144;      ///< results of a tile with a side of 24, 48 or 96: 48 a thread
  int64_t sideFill = 4;          ///< rows of a tile that take as long as filling the other side: where 24, 48 and 96 of them are weighed
  int64_t shortSum = 1024;       ///< whose next tile's slots fill while results leave: 1.05, 1.03, 1.01 times as fast at 256, 512, 1024
};

/// Sets of statements whose windows stay in a block (te-block-windows). None of these has been timed on a card: they are counts of
/// instructions, and what is gained must be far from them.
struct BlockCosts {
  double leastGain = 0.15;    ///< of the launches' time, below which they stay as they are
  int64_t largestWindow = 64; ///< terms of a reduction that are written out
  int64_t mostStatements = 12;
  int64_t mostOperations = 768; ///< of a statement, with what it takes in
  int64_t warps = 8;            ///< of a block,
  int64_t roundPoints = 4;      ///< and points of each thread in a round
  int64_t mostPoints = 4096;    ///< of a statement in a block: of few waves of blocks all read memory, and then their own, together
  int64_t fewestPoints = 512;
  int64_t longestRow = 256, longestSide = 64, longestLine = 4096; ///< points along memory, along others, of one dim alone
  int64_t residentBlocks = 3;                                     ///< of a multiprocessor, whose memory they share
  double pointWork = 6;                                           ///< instructions of a point beside its statement's arithmetic,
  double ownRead = 1.5, memoryRead = 3; ///< of an element of shared memory, and of one whose address is computed and asked about
  double phases = 0.2;                  ///< of what the other units take, that blocks wait for between statements
};

/// Products on warpgroups whose sums leave the unit's accumulators, those of several slots together (WarpgroupPlan.cpp).
struct LeavingCosts {
  double slot = 0.1; ///< microseconds of a slot beside its products: tf32x3 and bf16x3 of 4096³ in 128, 160 and 176 columns, H100 and H200
};

/// Tiles that begin where vectors do, whatever the length of rows (RowForm.cpp; docs/lab/2026-11-26-odd-rows.md).
struct AlignedRowCosts {
  int64_t leastWarps = 4; ///< of a block that goes along one row, a vector in each lane: shorter rows share blocks
  int64_t forShared = 3;  ///< tensors of rows for one that rows share: of that an element of each lane takes as many requests as a vector
  int64_t spare = 4;      ///< one in so many points of tiles of pointwise statements may lie outside the row
};

/// Scatters whose points are sorted or added up in integers (te-sort-scatters, which is told no target and asks `kMeasuredCosts`). Times
/// are nanoseconds, docs/lab/2026-11-26-scatters-4.md and -5.md.
struct SortingCosts {
  double launch = 3000, byte = 1.0 / 3000;
  double atomic = 0.02; ///< of one of many
  // By merging: 2^20 points in 2.6 ms.
  int64_t chunk = 1024;      ///< points that are sorted by comparing all pairs,
  double pairs = 0.1;        ///< which takes so long for each
  int64_t fan = 32;          ///< runs that are merged at once, at most
  double step = 0.0033;      ///< of a binary search
  int launchesOfMerging = 7; ///< beside those that merge
  // By counting.
  int64_t block = 256;        ///< points that are ranked by comparing all pairs,
  double pairsOfBlock = 0.05; ///< in nanoseconds for a point, whose digit is compared with those of its block
  int64_t mostBits = 10;      ///< of a digit: a block has a count for each of its values
  int launchesOfDigit = 5;    ///< zeros, counts, their sums, ranks, places
  int64_t bytesOfPoint = 80;  ///< that these move for a point,
  int64_t bytesOfCount = 16;  ///< and for a count
  double timesAsFast = 2;     ///< the model has to say, since no card has timed it
  int launchesOfWords = 3;    ///< of exact sums,
  double mostBytes = 0x1p30;  ///< and of their words: a card has room for them beside what the program has
  int64_t likelyWords = 6;    ///< that values of one program use, of data of which nothing is known
  int64_t mostParts = 2048;   ///< of the points, in which it is asked which words they use: one block can merge them
  double bytesOfChosen = 32;  ///< that memory brings for an element that data chooses: a sector
  // Counts by a search in what is counted, sorted (SearchCounts.cpp).
  double comparison = 1e-4;                  ///< of all pairs (bucketize of 4M by 256: 111 us, docs/lab/2026-11-26-scatters-6.md),
  double found = 4e-4, foundInCaches = 2e-3; ///< of a step of a search in a table that a block keeps, and in one that caches keep
  double bytesOfTable = 1 << 14;             ///< that a block keeps in shared memory
  int launchesOfSearch = 3;                  ///< a sort and a search
};

/// Orders and parts of sums of products (te-factor-sums): the same for all targets, since with a policy the order decides what is rounded,
/// which is part of the program. In multiply-adds of CUDA cores.
struct FactorCosts {
  int64_t unknown = 1024;     ///< what a size counts as of which nothing is known
  double element = 16;        ///< of a partial sum, written and read
  double statement = 1 << 22; ///< another launch
  double worthwhile = 2;      ///< how much less the steps must be
  double unit = 16;           ///< multiply-adds of a matrix unit in the time of one
  double pointByPoint = 4;    ///< one whose operands are loaded for it, where a product's tile has them for many
};

/// `kMeasuredCosts` are those of an H200 and an H100, which stand in for all other targets, too.
struct TargetCosts {
  PointwiseCosts pointwise;
  RowCosts rows;
  ColumnCosts columns;
  StreamedCosts streamed;
  SharingCosts sharing;
  ScanCosts scans;
  FoldCosts folds;
  SegmentCosts segments;
  ScatterCosts scatters;
  MergingCosts merging;
  ChainCosts chains;
  SiblingCosts siblings;
  BesideCosts beside;
  WarpgroupCosts warpgroups;
  CoresCosts cores;
  CopyCosts copies;
  ThreadCosts threads;
  BlockCosts blocks;
  LeavingCosts leaving;
  AlignedRowCosts alignedRows;
  SortingCosts sorting;
  FactorCosts factors;
  TableCosts tables;
  AddedCosts added;
  PairCosts pairs;
  ChannelCosts channels;
};

} // namespace kernelc
