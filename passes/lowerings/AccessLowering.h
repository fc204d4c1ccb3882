// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One access of a tile to memory (tile.load, tile.store, tile.scatter): where its elements are, how many of them an instruction takes,
// and which of them are there at all. Of its methods AccessLowering.cpp has places and vectors, AccessBorders.cpp masks and borders.
#pragma once

#include "passes/lowerings/ThreadCode.h"
#include "passes/tile/Access.h"
#include "passes/tile/TilePoints.h"

namespace kernelc {

class AccessLowering {
public:
  AccessLowering(ThreadCode &c, mlir::AffineMap map, mlir::Value base, mlir::Value tileValue, mlir::OperandRange offsets,
                 llvm::ArrayRef<int64_t> mask, mlir::Location loc);

  const tile::Layout &layout() const { return layout_; }
  mlir::Value base() const { return base_; }
  /// Elements of a vector, which stand in as many registers side by side; 1: there are none.
  int64_t vector() const { return vector_; }
  /// How the neighbours of a vector lie in memory.
  const ContiguousRun &run() const { return run_; }
  /// Whether neighbours along one index are neighbours in memory.
  bool runsAlong() const { return contiguousDim(c_.func, tensor_, map_, tile_) >= 0; }
  void scalarOnly();
  /// Cuts the slowest registers, so that batches of at most `most` remain. Returns the digit that counts those.
  tile::Digits cutIntoBatches(int64_t most);
  /// Vectors of registers that lie side by side in memory whatever indices they differ in (SideBySide), of `most` of them at most.
  struct SideBySideVectors {
    int64_t count;
    tile::Digits others; ///< of the registers, by which vectors differ
  };
  std::optional<SideBySideVectors> findSideBySide(int64_t most);
  /// Runs `body(registerIndex, digits)` for each of them.
  void forEachSideBySide(const SideBySideVectors &vectors, llvm::function_ref<void(mlir::Value, const OpenDigits &)> body);
  /// The subscripts of such a vector: sums of what the tile's place, the thread's and the registers' come to, of which loops change the
  /// first and instructions hold the last.
  llvm::SmallVector<mlir::Value> subscriptsByParts(const OpenDigits &open);
  /// Digits of the registers of which only a sum says what is read, one + `by` · other: windows that meet, `x[h + r, w]`. A mask asks for
  /// indices of the grid alone, whose points beyond the extent nobody stores.
  struct MeetingDigits {
    tile::Digit one, other;
    int64_t by;
    llvm::SmallVector<int64_t> subscripts; ///< that move with them
    int64_t points() const { return one.size + by * (other.size - 1); }
  };
  std::optional<MeetingDigits> findMeeting() const;
  /// One digit of as many points in the place of both, the first of the registers, or the first behind a vector's.
  void joinDigits(const MeetingDigits &meeting);
  /// Runs `body(registerIndex, digits)` for every vector of the layout.
  void forEachVector(llvm::function_ref<void(mlir::Value, OpenDigits &)> body);

  /// The launch coordinates of the open element.
  llvm::SmallVector<mlir::Value> coordinates(const OpenDigits &open);
  llvm::SmallVector<mlir::Value> subscripts(mlir::ValueRange coords);
  /// Address of subscripts.
  mlir::Value address(llvm::ArrayRef<mlir::Value> subscripts);

  /// Points beyond the extents of `dims` are not asked for but read as the last that is inside.
  void clamp(llvm::ArrayRef<int64_t> dims);
  /// Whether a vector lies inside the tensor or outside it as a whole.
  bool straddlesNoBorder() const;
  /// Inside the extents of the masked dims; null when nothing is masked. Of vectors that may lie inside in part: of the other dims.
  mlir::Value inside(llvm::ArrayRef<mlir::Value> coords);
  /// Runs `whole` where all of the vector at `coords` lies inside, and elsewhere `element(e, its coordinates)` for those of its elements
  /// that do and `outside(e)`, if any, for the others.
  void forEachInside(llvm::ArrayRef<mlir::Value> coords, llvm::function_ref<void()> whole,
                     llvm::function_ref<void(mlir::Value, llvm::ArrayRef<mlir::Value>)> element,
                     llvm::function_ref<void(mlir::Value)> outside = {});
  /// Whether the subscripts of `dims` lie before the tensor's end; null without dims.
  mlir::Value before(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<mlir::Value> subscripts);
  /// Applies edge, reflect or wrap to subscripts; for pad, returns whether they are inside the tensor. Stands where `inside` holds.
  /// `knownDim`: a dim of the tensor whose subscript is inside already, or -1.
  mlir::Value applyBounds(te::BoundsMode mode, llvm::SmallVectorImpl<mlir::Value> &subscripts, int64_t knownDim = -1);
  /// Whether the elements of a vector begin inside a vector of memory, `run().phase` behind its start: two of those hold them.
  bool isShifted() const { return vector_ > 1 && run_.step == 1 && run_.phase > 0; }
  /// Whether no bounds form moves the elements of a vector apart: along the run, all points are inside the tensor.
  bool keepsRun() const;
  /// Whether all elements of the vector whose first has these subscripts are inside the tensor's rows; null: they always are.
  mlir::Value rowInside(llvm::ArrayRef<mlir::Value> subscripts);
  /// Whether subscripts are inside already, where one of them may be so far outside that it takes a division to say where it is read;
  /// null elsewhere.
  mlir::Value insideUnlessNear(te::BoundsMode mode, llvm::ArrayRef<mlir::Value> subscripts);
  mlir::Value conjunction(mlir::Value x, mlir::Value y);

private:
  /// Whether `points` points along `d` lie inside its extent, from `at` on.
  mlir::Value insideAlong(int64_t d, mlir::Value at, int64_t points);
  /// Which ends of dim `d` are never left, wherever the point is that is asked for.
  KeptEnds keptEnds(unsigned d) const;
  /// Whether `points` subscripts from `s` on are inside dim `d`, too, by the ends that are not `kept`; null: nothing is asked.
  mlir::Value insideRow(unsigned d, mlir::Value s, int64_t points, KeptEnds kept, mlir::Value inside = {});
  /// Subscript `s` of dim `d` by the bounds form; `kept`: the ends that it does not leave.
  mlir::Value moveInside(te::BoundsMode mode, unsigned d, mlir::Value s, KeptEnds kept);
  /// The same by a remainder, wherever it is.
  mlir::Value moveFar(te::BoundsMode mode, mlir::Value s, mlir::Value n);
  TilePoints pointsOf() const;
  /// Whether it is never further outside than one period (wrap) or two mirrors reach.
  bool staysNear(te::BoundsMode mode, unsigned d) const;
  mlir::Value floorMod(mlir::Value x, mlir::Value y);
  /// Takes vectors around what lies a constant number of elements behind their starts, if the access may.
  void shiftVectors(mlir::Value base, const ContiguousRun &run, bool ragged, int64_t most);

  ThreadCode &c_;
  mlir::AffineMap map_, shape_;
  mlir::Value tensor_, base_; ///< the function's argument; the kernel's
  mlir::OperandRange offsets_;
  llvm::ArrayRef<int64_t> tile_; ///< the shape of what is loaded or stored
  llvm::SmallVector<int64_t> mask_, clamped_;
  mlir::AffineMap strides_; ///< null: dense row-major
  tile::Layout layout_;
  int64_t rank_;
  mlir::Location loc_;
  int64_t vector_ = 1;
  bool partial_ = false; ///< a border of the index may lie inside a vector
  ContiguousRun run_;
};

/// if (condition) then() else otherwise(), the latter possibly absent; then() alone without a condition.
void guarded(mlir::OpBuilder &b, mlir::Location loc, mlir::Value condition, llvm::function_ref<void()> then,
             llvm::function_ref<void()> otherwise = {});

/// Whether a tile that has no registers is the same at all points.
bool isAlikeEverywhere(mlir::Value tile);

/// The registers of what is stored. What is the same at all points has an array of its own where vectors of it leave.
RegTile registersOf(ThreadCode &c, mlir::Value tile, const AccessLowering &access, mlir::Location loc);

/// Every step-th of the elements around `from` to `count` registers of `array`: whole vectors, of which another load takes the rest.
void pickElements(ThreadCode &c, mlir::Value source, mlir::Value from, mlir::Value array, mlir::Value first, int64_t count, int64_t step,
                  int64_t phase, bool streaming, mlir::Location loc);

/// The `count` elements around `from`, which lie `phase` behind the start of a vector, to registers of `array`: of two vectors.
void shiftElements(ThreadCode &c, mlir::Value source, mlir::Value from, mlir::Value array, mlir::Value first, int64_t count, int64_t phase,
                   bool streaming, mlir::Location loc);

} // namespace kernelc
