// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every part of tile-to-cu needs to write per-thread code: sizes, thread
// coordinates, register arrays, loops over register digits, shared memory.
#pragma once

#include <functional>

#include "ir/cu/Cu.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc {

/// A tile value on its way through a thread: its layout and the private array
/// that holds this thread's elements, in register order.
struct RegTile {
  tile::Layout layout;
  mlir::Value array; ///< memref<N x T, 5>
  int64_t first = 0; ///< register: where a part of another tile begins
};
using RegTiles = std::vector<RegTile>;

/// The loop variables of an open nest over register digits.
struct OpenDigits {
  llvm::SmallVector<std::pair<tile::Digit, mlir::Value>> digits;
  mlir::Value valueOf(const tile::Digit &d) const {
    for (const auto &[digit, v] : digits)
      if (digit == d)
        return v;
    return {};
  }
};

/// What the warps of a block have of a reduction, in shared memory: any thread can put an element together.
struct WarpPartials {
  int64_t elements = 0;                                                ///< of the block's tile
  std::function<llvm::SmallVector<mlir::Value>(mlir::Value)> combined; ///< the state of element e, of all warps
  std::function<mlir::Value(const OpenDigits &)> element;              ///< which one a thread holds at the open digits
};

/// The mbarriers of a channel: memref<slots x i64, 3> each.
struct Channel {
  mlir::Value full, empty;
};

class ThreadCode {
public:
  ThreadCode(mlir::OpBuilder &b, tile::FuncOp func) : b(b), func(func) {}

  mlir::OpBuilder &b;
  tile::FuncOp func;
  llvm::SmallVector<mlir::Value> sizes;             ///< per size, null where not passed
  llvm::DenseMap<mlir::Value, mlir::Value> scalars; ///< tile-level index and scalar values
  llvm::SmallVector<mlir::Value> scalarsOf(mlir::ValueRange values) const {
    return llvm::map_to_vector(values, [&](mlir::Value v) { return scalars.lookup(v); });
  }
  llvm::DenseMap<mlir::Value, mlir::Value> bases; ///< tensors → flat memrefs in global memory
  llvm::DenseMap<mlir::Value, RegTile> tiles;
  llvm::DenseMap<mlir::Value, mlir::Value> readAs; ///< broadcasts whose readers take the elements of another tile, where that has them
  llvm::DenseMap<mlir::Operation *, WarpPartials> partials; ///< of reductions that a merge in a cluster's first block finishes
  llvm::DenseMap<mlir::Value, mlir::Value> rings;           ///< rings → arrays in shared memory
  llvm::DenseMap<mlir::Value, Channel> channels;
  llvm::DenseMap<mlir::Value, mlir::Value> orders;                    ///< orders → their mbarriers
  llvm::DenseMap<mlir::Value, mlir::Value> tallies;                   ///< tensors → copies in shared memory that scatters combine in
  llvm::DenseMap<mlir::Operation *, std::function<void()>> heldScans; ///< make the results of scans that wait for their look-back
  cu::KernelOp kernel;                                                ///< what is being filled
  bool hasLdmatrix = false;                                           ///< the target loads fragments
  bool hasStmatrix = false;                                           ///< the target stores fragments
  bool hasVectorAdds = false;                                         ///< it adds neighbours in memory by one instruction
  bool hasAsyncCopy = false;                                          ///< the target copies without registers
  int64_t sharedBytes = 0;
  llvm::SmallVector<std::pair<int64_t, int64_t>> sharedGaps; ///< what alignment leaves between slots: small arrays lie there (from, to)
  int64_t firstThread = 0;                                   ///< of the warps that fill slots side by side, who are numbered from it
  bool inTeam = false;                                       ///< threads are numbered within a team of the consumer
  bool owesClusterWait = false; ///< this block has arrived at the cluster's barrier and has not waited (endClusterReduce)

  /// `loc` with a name for the CUDA text.
  mlir::Location named(const llvm::Twine &name, mlir::Location loc) { return mlir::NameLoc::get(b.getStringAttr(name), loc); }
  /// The name of launch index `dim`.
  llvm::StringRef indexName(int64_t dim) { return llvm::cast<mlir::StringAttr>(func.getIndices()[dim]).getValue(); }
  /// `name` for registers: with `suffix` where a tensor of the kernel goes by it already.
  std::string registerName(llvm::StringRef name, const llvm::Twine &suffix);
  /// The name of the loop over a digit: of an index's elements, or of its steps by so many.
  std::string loopName(const tile::Digit &d);

  mlir::Value index(int64_t v, mlir::Location loc);
  mlir::Value add(mlir::Value x, mlir::Value y, mlir::Location loc);
  mlir::Value mul(mlir::Value x, int64_t k, mlir::Location loc);
  /// An affine expression of the given dims and the sizes; `computed`: of a value that no tensor's size bounds (cu.computed).
  mlir::Value expand(mlir::AffineExpr e, mlir::ValueRange dims, mlir::Location loc, bool computed = false);

  /// The threads of this warpgroup of a role are here, and their shared memory writes are seen.
  void syncWarpgroup(mlir::Location loc);
  /// The same, of all threads of this team of the consumer.
  void syncTeam(mlir::Location loc);
  /// Which warpgroup of its team (or role) this thread is in.
  mlir::Value warpgroup(mlir::Location loc);
  /// Which of the consumer's teams it is in.
  mlir::Value team(mlir::Location loc);
  mlir::Value thread(mlir::Location loc);
  mlir::Value lane(mlir::Location loc);
  mlir::Value warp(mlir::Location loc);
  /// Digit `i` of `number` < Π sizes, the first digit the fastest.
  mlir::Value digitOf(mlir::Value number, llvm::ArrayRef<int64_t> sizes, size_t i, mlir::Location loc);
  /// The part of each dim's coordinate that lanes and warps add.
  llvm::SmallVector<mlir::Value> threadCoordinates(const tile::Layout &layout, int64_t rank, mlir::Location loc);
  /// threadCoordinates plus what the open register digits add.
  llvm::SmallVector<mlir::Value> coordinates(const tile::Layout &layout, const OpenDigits &open, int64_t rank, mlir::Location loc);
  /// What the open digits of registers add to the coordinate along `dim`; null: nothing.
  mlir::Value registerCoordinate(const tile::Layout &layout, const OpenDigits &open, int64_t dim, mlir::Location loc);
  /// Whether this thread is the first of those that hold the same elements; null
  /// when there is only one.
  mlir::Value isFirstReplica(const tile::Layout &layout, mlir::Location loc);

  /// The register number in `layout` that the open digits name.
  mlir::Value registerIndex(const tile::Layout &layout, const OpenDigits &open, mlir::Location loc);
  mlir::Value allocate(int64_t count, mlir::Type element, mlir::Location loc);
  /// Loops over register digits, slowest first; `body` runs innermost.
  void overDigits(llvm::ArrayRef<tile::Digit> digits, mlir::Location loc, OpenDigits &open, llvm::function_ref<void()> body);
  /// `body` under a condition, if there is one.
  void inBranch(mlir::Value condition, mlir::Location loc, llvm::function_ref<void()> body);
  /// The same for the threads for which `number` is zero: `name` says who that is.
  void ifZero(mlir::Value number, llvm::StringRef name, mlir::Location loc, llvm::function_ref<void()> body);
  /// `body` for the one thread that speaks for the fillers of a channel; every thread that runs this is it where there are none.
  void ifFirstFiller(tile::ChannelType channel, mlir::Location loc, llvm::function_ref<void()> body);
  /// Bytes of shared memory that a warp reads at once; all arrays begin at its multiples.
  static constexpr int64_t kSharedUnit = 128;
  /// `count` elements of shared memory, from a multiple of `alignment` bytes on.
  mlir::Value sharedArray(int64_t count, mlir::Type element, mlir::Location loc, llvm::StringRef name, int64_t alignment = kSharedUnit);
  mlir::Value loadRegister(const RegTile &tile, const OpenDigits &open, mlir::Location loc);
  /// The element of `tile` at the open digits: from its registers, or made here
  /// for the tiles that are free to make wherever they are used (isRematerialized).
  mlir::Value element(mlir::Value tile, const OpenDigits &open, mlir::Location loc);

private:
  mlir::Value expandAs(mlir::AffineExpr e, mlir::ValueRange dims, mlir::Location loc, bool computed);
};

/// A loop; returns its variable with the builder inside (a loop of one round is none).
mlir::Value openLoop(ThreadCode &code, int64_t from, int64_t to, int64_t step, llvm::StringRef name, mlir::Location loc);
/// `body` for every number below `count`, each by one of `threads` threads; the loop is named `name`.
void shareOut(ThreadCode &code, int64_t count, int64_t threads, llvm::StringRef name, mlir::Location loc,
              llvm::function_ref<void(mlir::Value)> body);

/// A loop over the doublings of `mask` below `mask * lanes`: each round has the state of this lane and that of the lane whose number
/// differs in `mask << step`, and `combined(step, mine, other)` is the next one. `state` is carried from round to round.
void overSteps(ThreadCode &code, int64_t mask, int64_t lanes, llvm::SmallVector<mlir::Value> &state, mlir::Location loc,
               llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange, mlir::ValueRange)> combined);

/// Lanes that differ in digits of which `isJoined` holds, or in none of a tile, have the same to say.
struct Speakers {
  mlir::Value place;  ///< which of those who speak this lane is or goes with; null: there is one place
  int64_t places = 1; ///< how many speak
  mlir::Value speaks; ///< whether it is the one that speaks; null: all are
};
Speakers findSpeakers(ThreadCode &code, const tile::Digits &lane, llvm::function_ref<bool(const tile::Digit &)> isJoined,
                      mlir::Location loc);

/// A subscript times its stride, an expression of the sizes.
mlir::Value scaled(ThreadCode &code, mlir::Value subscript, mlir::AffineExpr stride, mlir::Location loc);

/// Constants, splats, coordinates, masks, and what goes from a slot to memory at once: never held in registers as a tile.
bool isRematerialized(mlir::Operation *op);

// The parts of tile-to-cu, one file each.
void lowerLoad(ThreadCode &code, tile::LoadOp op);
/// `elements` neighbours in memory at `from`, each to `times` registers of `array` that are neighbours, the first at `first`.
void spreadElements(ThreadCode &code, mlir::Value source, mlir::Value from, mlir::Value array, mlir::Value first, int64_t elements,
                    int64_t times, bool streaming, mlir::Location loc);
void lowerStore(ThreadCode &code, tile::StoreOp op);
void lowerScatter(ThreadCode &code, tile::ScatterOp op);
/// The copies in shared memory that the function's scatters combine in, at the identity.
void openTallies(ThreadCode &code);
/// Combines those copies with the tensors, at the function's end.
void closeTallies(ThreadCode &code);
/// Whether a store takes what `load` reads from its slot to memory, element by element and with nothing between: it is lowered
/// with the load.
bool isStoredAtOnce(tile::RingLoadOp load);
/// The state that the region `combine` of a custom reduction or scan makes of two.
llvm::SmallVector<mlir::Value> combineBy(ThreadCode &code, mlir::Region &combine, mlir::ValueRange a, mlir::ValueRange b,
                                         mlir::Location loc);
void lowerReduce(ThreadCode &code, tile::ReduceOp op);
void lowerScan(ThreadCode &code, tile::ScanOp op);
void lowerLookBack(ThreadCode &code, tile::LookBackOp op);
void lowerTicket(ThreadCode &code, tile::TicketOp op);
/// The registers of carried tile `i` of a loop. Elements that are only combined until a reduction behind the loop combines
/// them with each other share one, but for neighbours in memory: sums in fewer registers, which leaves more to loads.
tile::Layout carriedLayout(mlir::scf::ForOp loop, unsigned i);
void lowerClusterReduce(ThreadCode &code, tile::ClusterReduceOp op);
/// Whether the first block of the cluster alone needs the result, to store it: the others need not wait for it.
bool mergesInFirst(tile::ClusterReduceOp op);
/// Says at the start of the kernel that this block is there to be written to, where such a merge comes.
void arriveForClusterReduce(ThreadCode &code);
/// Waits until all blocks have read what this one left for them, before the cluster meets again and at the kernel's end.
void endClusterReduce(ThreadCode &code);
/// Whether the results go nowhere but to memory, by such `stores` only, through elementwise code and merges in the
/// first block: then one of the threads that have an element needs it.
bool isOnlyStored(mlir::Operation *op, llvm::function_ref<bool(tile::StoreOp)> stores = [](tile::StoreOp) { return true; });
void lowerConvertLayout(ThreadCode &code, tile::ConvertLayoutOp op);

} // namespace kernelc
