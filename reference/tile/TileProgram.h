// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One program (block) of a tile.func being interpreted: its values, rings and
// channels. Internal to the interpreter.
#pragma once

#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/tile/Tile.h"
#include "reference/tile/TileCluster.h"
#include "reference/tile/TileMemory.h"
#include "reference/tile/TileScalars.h"

namespace kernelc::reference {

/// What all programs of a launch share.
struct TileLaunch {
  tile::FuncOp func;
  absl::Span<const int64_t> sizes;
  TileArithmetic arithmetic = TileArithmetic::Own;
  std::vector<TensorView> tensors;              ///< per block argument; scalars rank 0
  llvm::SmallVector<int64_t> extents, programs; ///< per launch index
  int64_t numBlocks = 1;
  /// What tiles have told those behind them (tile.look_back), by the place of the node's first word.
  std::map<std::pair<unsigned, int64_t>, std::vector<TileElement>> told;
  /// By op; null where it has none.
  llvm::DenseMap<mlir::Operation *, ScalarFunction> scalars;

  int64_t evaluate(mlir::AffineExpr e, llvm::ArrayRef<int64_t> dims) const;
  /// Whether a point lies inside the extents of the indices in `mask`.
  bool isInside(llvm::ArrayRef<int64_t> mask, llvm::ArrayRef<int64_t> point) const {
    return llvm::all_of(mask, [&](int64_t d) { return point[d] >= 0 && point[d] < extents[d]; });
  }
};

class TileProgram {
public:
  /// `cluster`: where blocks of one meet; null where they do not.
  TileProgram(TileLaunch &launch, int64_t block, TileCluster *cluster = nullptr) : launch_(launch), cluster_(cluster), block_(block) {}
  absl::Status run();

private:
  /// Numbers in their slots; in roles each number has its own.
  struct Ring {
    std::map<int64_t, std::pair<int64_t, TileValue>> slots; ///< by slot: number and box
  };
  struct Channel {
    std::map<int64_t, int64_t> announced, brought; ///< bytes by number
  };

  absl::Status runBlock(mlir::Block &block);
  absl::Status runOp(mlir::Operation *op);
  absl::Status runControl(mlir::Operation *op);
  absl::Status runExtreme(tile::ExtremeOp op);
  absl::Status runSearch(mlir::Operation *op, int64_t from, int64_t end, mlir::Region &condition);
  /// Zero in `box`, which starts at `offsets`, where the condition does not hold.
  absl::Status runMask(TileValue &box, mlir::OperandRange offsets, const TileValue &all, mlir::Region &condition);
  absl::Status runElementwise(mlir::Operation *op);
  absl::Status runFind(tile::FindWhereOp op);
  absl::Status runTileMask(tile::MaskOp op);
  absl::Status runRingMask(tile::RingMaskOp op);
  absl::Status runTicket(tile::TicketOp op);
  /// Numbers that a block has once: which it is, and what is computed of them.
  absl::Status runScalar(mlir::Operation *op);
  int64_t programId(tile::ProgramIdOp op);
  absl::Status runConstant(mlir::arith::ConstantOp op);
  absl::Status runShape(mlir::Operation *op);
  absl::Status runLoad(tile::LoadOp op);
  absl::Status runStore(tile::StoreOp op);
  absl::Status runScatter(tile::ScatterOp op);
  absl::Status runRings(mlir::Operation *op);
  absl::Status runRingCopy(tile::RingCopyOp op);
  absl::Status runRingLoad(tile::RingLoadOp op);
  absl::Status runBoxStore(tile::BoxStoreOp op);
  absl::Status runAwait(tile::AwaitOp op);
  absl::Status runReduce(mlir::Operation *op, te::Combiner kind, llvm::ArrayRef<int64_t> dims);
  /// A reduction of states by the op's own region.
  absl::Status runStates(tile::ReduceOp op);
  absl::Status runStateScan(tile::ScanOp op);
  absl::Status runCombine(tile::CombineOp op);
  absl::Status runScan(tile::ScanOp op);
  absl::Status runClusterReduce(tile::ClusterReduceOp op);
  /// (Blocks run one after the other: those before have said what they come to.)
  absl::Status runLookBack(tile::LookBackOp op);
  /// Merges b, a state of as many tiles, into a.
  void mergeStates(te::Combiner kind, mlir::Type type, std::vector<TileValue> &a, llvm::ArrayRef<const TileValue *> b) const;
  absl::Status runDot(tile::DotOp op);

  /// Adds the subscripts by data of the element at these coordinates of the tile.
  using ByData = llvm::function_ref<void(llvm::ArrayRef<int64_t>, llvm::SmallVectorImpl<int64_t> &)>;
  /// tile.load, and the box that ring_copy brings.
  absl::StatusOr<TileValue> load(mlir::Operation *op, mlir::Value base, mlir::AffineMap map, mlir::OperandRange offsets, ByData byData,
                                 llvm::ArrayRef<int64_t> mask, te::BoundsMode bounds, const TileValue *padding,
                                 llvm::ArrayRef<int64_t> shape, bool ofSlot = false);
  absl::Status store(mlir::Operation *op, const TileValue &value, mlir::Value base, mlir::AffineMap map, mlir::OperandRange offsets,
                     llvm::ArrayRef<int64_t> mask, const TileValue *condition, llvm::ArrayRef<int64_t> clip);
  absl::StatusOr<const TileValue *> slotOf(mlir::Operation *op, mlir::Value ring, int64_t number);
  void fillSlot(mlir::Value ring, int64_t number, TileValue value);
  /// Element by element: the combiner's meaning on `type`.
  TileElement combine(te::Combiner kind, mlir::Type type, TileElement a, TileElement b) const;

  const TileValue &value(mlir::Value v) const { return values_.find(v)->second; }
  int64_t index(mlir::Value v) const { return value(v).index(); }
  llvm::SmallVector<int64_t> indices(mlir::ValueRange values) const;
  static absl::Status unsupported(mlir::Operation *op);

  TileLaunch &launch_;
  TileCluster *cluster_;
  int64_t block_;
  int64_t team_ = 0; ///< of the consumer
  bool inRoles_ = false;
  llvm::DenseMap<mlir::Value, TileValue> values_;
  llvm::DenseMap<mlir::Value, Ring> rings_;
  llvm::DenseMap<mlir::Value, Channel> channels_;
};

/// "file:line: " of an op, for messages.
std::string whereIs(mlir::Operation *op);

} // namespace kernelc::reference
