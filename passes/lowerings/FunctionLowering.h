// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One tile.func on its way to a cu.kernel: the state that the parts of tile-to-cu which
// make functions, loops and elementwise code share. Memory, reductions, rings and dots need
// no more than ThreadCode and have files of their own.
#pragma once

#include <map>

#include "passes/lowerings/DotToCu.h"

namespace kernelc {

/// What the lowering of a function needs beyond what the verifiers ask: layouts, boxes that are boxes, products that
/// its unit takes. Fails with a diagnostic.
mlir::LogicalResult checkLowerable(tile::FuncOp func);

/// Ops of which runs with one layout become one loop (ElementwiseToCu.cpp).
bool isElementwise(mlir::Operation *op);
/// Whether its second operand mostly leaves its first one as it is (tile.scale, differences with what is mostly zero): not elementwise
/// then.
bool isMostlyNeutral(mlir::Operation *op);

class SlotAddress;

class FunctionLowering {
public:
  FunctionLowering(mlir::OpBuilder &b, tile::FuncOp func) : b_(b), func_(func), c_(b, func) {}

  /// The cu.kernel of the function, before it; the function is left alone.
  mlir::LogicalResult run();

private:
  // KernelToCu.cpp
  void makeKernel();
  void addArguments();
  /// Makes what its arguments are that lie in shared memory.
  void openOwnMemory();
  llvm::DenseMap<int64_t, mlir::Value> programIdsOf(mlir::Value number, mlir::Location loc);
  void dropUnusedArguments();
  void prefetchTensorMaps();

  // TileToCu.cpp
  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation *op);
  /// The number of a tile along a grid index.
  mlir::Value programId(tile::ProgramIdOp id);
  mlir::Value expandApply(tile::ApplyOp apply);
  mlir::LogicalResult lowerSearch(tile::CountWhereOp op);
  mlir::LogicalResult lowerSearch(tile::FindWhereOp op);
  mlir::LogicalResult lowerSearch(tile::ExtremeOp op);
  /// What starts, ends or orders copies by threads.
  void lowerWait(tile::AsyncCommitOp op);
  void lowerWait(tile::AsyncWaitOp op);
  void lowerWait(tile::BarrierOp op);
  mlir::LogicalResult lowerDotOp(tile::DotOp dot);
  void lowerDotWait(tile::DotWaitOp wait);
  /// Index arithmetic is the same in threads. Fails with a diagnostic where `op` is something else.
  mlir::LogicalResult copyScalar(mlir::Operation *op);

  // Comments.cpp
  /// The comment ahead of what `op` becomes; empty where names say enough.
  std::string describe(mlir::Operation *op);

  // ControlToCu.cpp
  /// Carried tiles live in arrays that the body updates; scalars stay carried.
  mlir::LogicalResult lowerFor(mlir::scf::ForOp loop);
  /// The array of the tile that `loop` carries as its i-th value, as it is before the first round.
  mlir::Value placeCarried(mlir::scf::ForOp loop, unsigned i);
  /// The builder is left where a round's code stands. Null: there is one round at most, in a branch.
  mlir::scf::ForOp openRounds(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::Value> inits);
  void goOnInPlace(mlir::scf::ForOp loop, unsigned i);
  void handOn(mlir::ValueRange yielded, llvm::ArrayRef<mlir::Value> arrays, mlir::Location loc);
  /// `body` where the loop goes round not at all.
  void ifNoRounds(mlir::scf::ForOp loop, llvm::function_ref<void()> body);
  mlir::LogicalResult lowerIf(mlir::scf::IfOp branch);
  mlir::LogicalResult lowerRoles(tile::RolesOp roles);
  /// The condition of a search, tile's to cu's.
  mlir::LogicalResult lowerCondition(mlir::Region &from, mlir::Value held, mlir::Region &to);

  // MaskToCu.cpp
  mlir::LogicalResult lowerRingMask(tile::RingMaskOp op);
  struct SlotVector;
  /// The builder is left in a branch of those for which `holds` is false.
  void unless(mlir::Value holds, mlir::Location loc);
  /// The same where the condition of `op` does not hold at a point of the slot. Fails after a diagnostic.
  mlir::LogicalResult unlessKept(tile::RingMaskOp op, llvm::ArrayRef<mlir::Value> coords, mlir::Location loc);
  /// A loop over this thread's vectors of the slot at `start`; the builder is left in it.
  SlotVector openSlotVectors(tile::RingType ring, SlotAddress &address, mlir::Value start, mlir::Location loc);

  // ElementwiseToCu.cpp
  std::string nameOf(mlir::Value v);
  RegTile registersToGoOnIn(mlir::Operation *op, const tile::Layout &layout);
  void lowerRun(llvm::ArrayRef<mlir::Operation *> run);
  void lowerSlice(tile::SliceOp slice);
  void lowerMostlyNeutral(mlir::Operation *op);
  mlir::Value fetch(mlir::Value tile, const OpenDigits &open, llvm::DenseMap<mlir::Value, mlir::Value> &inRun);
  void scalarOp(mlir::Operation *op, const OpenDigits &open, llvm::DenseMap<mlir::Value, mlir::Value> &inRun);
  /// `layout`: the array's registers, if not those of `from`.
  void copyTile(mlir::Value from, mlir::Value toArray, mlir::Location loc, std::optional<tile::Layout> layout = {});

  mlir::OpBuilder &b_;
  tile::FuncOp func_;
  cu::KernelOp kernel_;
  ThreadCode c_;
  /// Per block of code and tile number: the tile's number along each grid index.
  std::map<std::pair<mlir::Block *, void *>, llvm::DenseMap<int64_t, mlir::Value>> programIds_;
  llvm::DenseMap<mlir::Value, RegTile> inPlace_;       ///< tile value → the registers it should be left in
  llvm::DenseMap<mlir::Operation *, ReadAhead> ahead_; ///< of dots whose fragments are read a round ahead
};

} // namespace kernelc
