// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pipelines, read as a list. Each comment says why a pass stands where it stands.
#include "passes/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace kernelc {
namespace {

/// Verifies where one dialect hands over to the next, and what a pipeline leaves behind. The
/// compiler runs its pipelines without MLIR's verification after each pass; kernelc-opt has it.
struct VerifyPass : PassWrapper<VerifyPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyPass)
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verify(getOperation())))
      signalPassFailure();
  }
};

} // namespace

void buildPrecisionPipeline(OpPassManager &pm) {
  pm.addNestedPass<te::KernelOp>(createTeStoreOperands());
  pm.addNestedPass<te::KernelOp>(createTeSimplify());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // What is rounded are the operands of each step.
  TeFactorSumsOptions steps;
  steps.policies = true;
  pm.addNestedPass<te::KernelOp>(createTeFactorSums(steps));
  pm.addNestedPass<te::KernelOp>(createTeGroupFactors());
  pm.addNestedPass<te::KernelOp>(createTePrecisionCast());
}

/// What the plan knows of sizes, for a pass that asks.
template <typename Options> static Options withSizes(Options own, const TePlanOptions &options) {
  own.sizeDiv = options.sizeDiv;
  own.sizeMax = options.sizeMax;
  return own;
}
/// And for which target it is.
template <typename Options> static Options withFacts(Options own, const TePlanOptions &options) {
  own.target = options.target;
  return withSizes(std::move(own), options);
}
/// And what sizes are likely.
template <typename Options> static Options withLikely(Options own, const TePlanOptions &options) {
  own.sizeLike = options.sizeLike;
  return withSizes(std::move(own), options);
}

/// What the text wrote in many ways is written in one.
static void addNormalForms(OpPassManager &pm, const TePlanOptions &options) {
  // Before anything is inlined: error bounds know what the text says in one statement. (equal calls of erf merge)
  pm.addPass(createCSEPass());
  pm.addNestedPass<te::KernelOp>(createTeUpliftMath());
  // Bytes have addresses; what packs them is inlined like any definition.
  TeEmulateNarrowTypesOptions bytes;
  bytes.sizeDiv = options.sizeDiv;
  pm.addNestedPass<te::KernelOp>(createTeEmulateNarrowTypes(bytes));
  // What products would take from memory is no definition any more.
  pm.addNestedPass<te::KernelOp>(createTeStoreOperands(withFacts(TeStoreOperandsOptions(), options)));
  pm.addNestedPass<te::KernelOp>(createTeSimplify());
  // Inlining brings equal subexpressions next to each other, and equal
  // reductions of them; canonicalize first so that they look equal.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // One of equal reductions that CSE does not see to be equal, before what they are is looked into.
  pm.addNestedPass<te::KernelOp>(createTeShareReductions());
  // Tables that are left are read by data; their parts are statements like others.
  TeSplitTablesOptions tables;
  tables.target = options.target;
  pm.addNestedPass<te::KernelOp>(createTeSplitTables(tables));
  pm.addNestedPass<te::KernelOp>(createTeCollapseDims(withSizes(TeCollapseDimsOptions(), options)));
}

/// Scatters and windows become sums over points that others pick.
static void addPicks(OpPassManager &pm, const TePlanOptions &options) {
  // Before reductions take the masks that say what a count counts into their domains.
  pm.addNestedPass<te::KernelOp>(createTeSearchCounts(withLikely(withFacts(TeSearchCountsOptions(), options), options)));
  // Scatters become sums here, ahead of the passes that mask and split sums.
  TeSortScattersOptions scatters;
  scatters.owners = true;
  pm.addNestedPass<te::KernelOp>(createTeSortScatters(withLikely(scatters, options)));
  // A producer moves into the window of its reader; te-simplify makes its new subscripts affine maps again.
  pm.addNestedPass<te::KernelOp>(createTeReaderWindows(withFacts(TeReaderWindowsOptions(), options)));
  pm.addNestedPass<te::KernelOp>(createTeSimplify());
}

/// Products and the domains that they are summed over get their shape.
static void addProducts(OpPassManager &pm, const TePlanOptions &options) {
  // Factors are where products are: in steps of fewer, where that is less work.
  TeFactorSumsOptions steps;
  steps.sizeMax = options.sizeMax;
  pm.addNestedPass<te::KernelOp>(createTeFactorSums(steps));
  // As two operands each, and of types by which the plan chooses units.
  pm.addNestedPass<te::KernelOp>(createTeGroupFactors());
  pm.addNestedPass<te::KernelOp>(createTePrecisionCast());
  // What masks compare is one index where it was written as two; te-split parts it again, for products that stay alone.
  pm.addNestedPass<te::KernelOp>(createTeJoinDigits(withSizes(TeJoinDigitsOptions(), options)));
  // Masks have reached the reductions they mask; what follows reads domains.
  pm.addNestedPass<te::KernelOp>(createTeMaskToDomain());
  pm.addNestedPass<te::KernelOp>(createTeScan());
  TeSplitOptions digits;
  digits.sizeDiv = options.sizeDiv;
  pm.addNestedPass<te::KernelOp>(createTeSplit(digits));
  // What is walked is one index again, or for the first time.
  pm.addNestedPass<te::KernelOp>(createTeJoinDigits(withSizes(TeJoinDigitsOptions(), options)));
}

/// Reductions are arranged for blocks: fewer walks, parts, several in a launch.
static void addReductions(OpPassManager &pm, const TePlanOptions &options) {
  // Rows that data gives an operand each: the products of their groups are products like others.
  pm.addNestedPass<te::KernelOp>(createTeGroupRows(withLikely(withFacts(TeGroupRowsOptions(), options), options)));
  // What is left are the products that are worth tiles of their own.
  pm.addNestedPass<te::KernelOp>(createTeThinProducts(withFacts(TeThinProductsOptions(), options)));
  // Products have their shape; what is left are reductions that would walk long rows again.
  pm.addNestedPass<te::KernelOp>(createTeDeriveCascades(withFacts(TeDeriveCascadesOptions(), options)));
  // What cascades have left to sums of products.
  pm.addNestedPass<te::KernelOp>(createTeLiftFactors());
  pm.addNestedPass<te::KernelOp>(createTeReduceInTiles(withFacts(TeReduceInTilesOptions(), options)));
  // Who reads a product's results is known now.
  pm.addNestedPass<te::KernelOp>(createTeChainProducts(withFacts(TeChainProductsOptions(), options)));
  // Where rows are few; totals of chunks are reductions like others.
  pm.addNestedPass<te::KernelOp>(createTeSplitScan(withLikely(withFacts(TeSplitScanOptions(), options), options)));
  pm.addNestedPass<te::KernelOp>(createTeSplitReduce(withLikely(withFacts(TeSplitReduceOptions(), options), options)));
  // Subscripts of the parts become affine maps again, decided masks fold.
  pm.addNestedPass<te::KernelOp>(createTeSimplify());
}

/// Tensors lie as those who read them take them.
static void addCopies(OpPassManager &pm, const TePlanOptions &options) {
  // Copies that simplification would undo: first those that change what is summed.
  pm.addNestedPass<te::KernelOp>(createTeWindows(withFacts(TeWindowsOptions(), options)));
  pm.addNestedPass<te::KernelOp>(createTeRepack(withFacts(TeRepackOptions(), options)));
  pm.addNestedPass<te::KernelOp>(createTeLayBatches());
  pm.addNestedPass<te::KernelOp>(createTeTurnResults(withFacts(TeTurnResultsOptions(), options)));
  // Statements have the form in which they would be launches; nothing is inlined any more.
  pm.addNestedPass<te::KernelOp>(createTeBlockWindows(withFacts(TeBlockWindowsOptions(), options)));
  // Nothing is inlined any more: the keys stay where they are.
  pm.addNestedPass<te::KernelOp>(createTeSortScatters(withLikely(TeSortScattersOptions(), options)));
  // Statements are what they will be: who reads what an inout held, and who overwrites it.
  pm.addNestedPass<te::KernelOp>(createTeCopyInouts());
}

void buildTePipeline(OpPassManager &pm, const TePlanOptions &options) {
  addNormalForms(pm, options);
  addPicks(pm, options);
  addProducts(pm, options);
  addReductions(pm, options);
  addCopies(pm, options);
  // Nothing matches exponentials any more.
  pm.addNestedPass<te::KernelOp>(createTeBaseTwo());
  pm.addNestedPass<te::KernelOp>(createTePlan(options));
  // All is decided by facts; what they pin down need not be passed.
  pm.addNestedPass<te::KernelOp>(createTeFixSizes());
  pm.addPass(std::make_unique<VerifyPass>());
}

static void addTilePasses(OpPassManager &pm) {
  pm.addPass(createTeToTile());
  pm.addPass(std::make_unique<VerifyPass>());
  // Resident launches load a tile once per statement: CSE makes that once.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Equal loads have merged: what is left once is read once.
  pm.addPass(createTileStreamLoads());
  // And what rounds do not change is read before them.
  pm.addNestedPass<tile::FuncOp>(createTileHoistLoads());
  // Operands of products go through shared memory; what is left in registers
  // after that is what needs a layout.
  pm.addNestedPass<tile::FuncOp>(createTilePipeline());
  // Epilogues of roles, cut into parts that fit small buffers; equal parts merge by CSE.
  pm.addNestedPass<tile::FuncOp>(createTileStageStores());
  pm.addPass(createCSEPass());
  // What the parts read, now that they are small and equal loads have merged.
  pm.addNestedPass<tile::FuncOp>(createTileStageLoads());
  // The loads behind a product that are left. Before roles are split, so that a team loads while it waits for its turn.
  pm.addNestedPass<tile::FuncOp>(createTileLoadEarly());
  pm.addNestedPass<tile::FuncOp>(createTileSpecializeWarps());
  // Only the loops of warps that multiply: those of warps that fill stay short.
  pm.addNestedPass<tile::FuncOp>(createTileOverlapDots());
  pm.addNestedPass<tile::FuncOp>(createTileSkewDots());
  pm.addNestedPass<tile::FuncOp>(createTileSplitRounds());
  pm.addPass(createCanonicalizerPass());
  // Loops that still read memory themselves. No folding behind it: the last round adds up as the full rounds do.
  pm.addNestedPass<tile::FuncOp>(createTilePeelRounds());
  // The rounds that are left as they are to be.
  pm.addNestedPass<tile::FuncOp>(createTileInsideRounds());
  // Loops that walk in order have the rounds they will have.
  pm.addNestedPass<tile::FuncOp>(createTileLoadAhead());
  // Slots have all readers that they will have.
  pm.addNestedPass<tile::FuncOp>(createTileCutTails());
}

static void addCuPasses(OpPassManager &pm, bool fits32) {
  pm.addPass(createTileToCu());
  // Before anything simplifies the values that the lowering has marked.
  CuWidenOptions computed;
  computed.fits32 = fits32;
  pm.addNestedPass<cu::KernelOp>(createCuWiden(computed));
  // Index arithmetic is written without thought for repetition.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createCSEPass());
  // Whether a value changes in the loop that stores it shows by where it stands.
  pm.addNestedPass<cu::KernelOp>(createCuForwardCopies());
  // Numbers stand where arrays held them.
  pm.addNestedPass<cu::KernelOp>(createCuFoldDecided());
  pm.addPass(createCSEPass());
  // Bytes are read where vectors have brought them.
  pm.addNestedPass<cu::KernelOp>(createCuMaskedBytes());
  // What is left of the loops is what will be printed.
  pm.addNestedPass<cu::KernelOp>(createCuUnroll());
  // Addresses look equal where they are; nothing moves any more.
  pm.addNestedPass<cu::KernelOp>(createCuBarriers());
  // Nothing looks at single parts of epilogues and prologues any more.
  pm.addNestedPass<cu::KernelOp>(createCuRoll());
  // Variables of parts are arrays now, which may be copies of each other.
  pm.addNestedPass<cu::KernelOp>(createCuForwardCopies());
  pm.addNestedPass<cu::KernelOp>(createCuFoldDecided());
  pm.addPass(createCSEPass());
  // Equal conditions are one value, and barriers stand where they will be.
  pm.addNestedPass<cu::KernelOp>(createCuJoinGuards());
  // Loops that are left for digits nobody tells apart.
  pm.addNestedPass<cu::KernelOp>(createCuFlatten());
  // Loops are as they will be printed; those of quotients by one number are printed twice.
  pm.addNestedPass<cu::KernelOp>(createCuSharedDivisors());
  // Every index value that the text will declare is there.
  CuNarrowOptions width;
  width.fits32 = fits32;
  pm.addNestedPass<cu::KernelOp>(createCuNarrow(width));
  // Marks are part of what is compared, and nothing moves any more.
  pm.addNestedPass<cu::KernelOp>(createCuOutline());
  // Each kernel is as it would be alone.
  pm.addPass(createCuJoin());
}

void buildCudaPipeline(OpPassManager &pm, CudaStop stop, bool fits32) {
  addTilePasses(pm);
  if (stop == CudaStop::Tile)
    return;
  pm.addNestedPass<tile::FuncOp>(createTileLayouts());
  // Masks that every round still has. Behind layouts, which say how many points of an index a thread has.
  pm.addNestedPass<tile::FuncOp>(createTileClampLoads());
  pm.addPass(std::make_unique<VerifyPass>());
  if (stop == CudaStop::Layouts)
    return;
  addCuPasses(pm, fits32);
  pm.addPass(std::make_unique<VerifyPass>());
}

} // namespace kernelc
