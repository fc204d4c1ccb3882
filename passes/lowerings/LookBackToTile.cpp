// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans along the grid: a block has one tile of a row, and asks those before it what they come to (tile.look_back). Its flags
// are memory of their own, which a small launch before this one zeroes.
#include "passes/lowerings/LaunchEmitter.h"
#include "passes/lowerings/LookBack.h"

#include "ir/cu/Cu.h"
#include "ir/te/ScheduleLoc.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"
#include "passes/plan/LongScans.h"

using namespace mlir;

namespace kernelc {

using namespace te;

std::optional<int64_t> LaunchEmitter::findLookBack() const {
  std::optional<int64_t> along = findScannedIndex(l_, ops_);
  return along && llvm::is_contained(l_.grid, *along) ? along : std::nullopt;
}

bool LaunchEmitter::holdsScans() const {
  std::optional<int64_t> along = findLookBack();
  const Target *target = findTarget(absl::string_view(plan_.target.data(), plan_.target.size()));
  return along && target && blocksThatHold(l_, ops_, *along, {plan_.sizeDiv, plan_.sizeMax}, *target);
}

SmallVector<LaunchEmitter::LookBackTensor> LaunchEmitter::lookBackTensors() {
  SmallVector<LookBackTensor> tensors;
  std::optional<int64_t> along = findLookBack();
  if (!along)
    return tensors;
  constexpr int64_t kMostTiles = int64_t(1) << 30;
  SizeFacts facts{plan_.sizeDiv, plan_.sizeMax};
  auto tilesOf = [&](int64_t index) { return l_.extents.getResult(index).ceilDiv(l_.tiles[index]); };
  AffineExpr nodes = tilesOf(*along), length = nodes + 1; // (the ticket)
  int64_t parts = 1;                                      // of the largest state: all have room and levels for one like it
  for (int64_t ordinal : l_.ops)
    if (findScanOf(ops_[ordinal]))
      parts = std::max(parts, wordsOfState(ops_[ordinal]));
  int64_t most = knownMax(nodes, facts), tiles = kLookBackNode;
  for (levels_ = 1; tiles < (most < 0 ? kMostTiles : std::min(most, kMostTiles)); ++levels_, tiles *= kLookBackNode) {
    nodes = nodes.floorDiv(kLookBackNode);
    length = length + nodes;
  }
  int64_t source = -1; // behind the kernel's own workspaces, and those of other launches
  for (Operation *op : ops_)
    for (Value v : op->getResults())
      source = std::min(source, buffers_.sourceOf(v) - 1);
  source -= int64_t(ops_.size()) * (&l_ - plan_.launches.data());
  SmallVector<AffineExpr> dims;
  for (int64_t g : l_.grid)
    if (g != *along)
      dims.push_back(tilesOf(g));
  dims.push_back(length * parts);
  AffineMap shape = AffineMap::get(0, l_.extents.getNumSymbols(), dims, b_.getContext());
  for (int64_t ordinal : l_.ops)
    if (findScanOf(ops_[ordinal]))
      tensors.push_back({nameOf(ops_[ordinal]) + "_words", shape, source--});
  return tensors;
}

void LaunchEmitter::emitZeroes(ArrayRef<LookBackTensor> tensors) {
  if (tensors.empty())
    return;
  constexpr int64_t kWarps = 4, kTile = 256;
  Location loc = cu::unnamed(ops_[l_.ops.back()]->getLoc());
  unsigned rank = tensors.front().shape.getNumResults(), symbols = l_.extents.getNumSymbols();
  AffineMap extents = tensors.front().shape; // of all
  SmallVector<std::string> indexNames;
  for (unsigned d = 0; d < rank; ++d)
    indexNames.push_back(d + 1 < rank ? "row" + (d ? std::to_string(d) : std::string()) : "word");
  SmallVector<StringRef> names, types, indices(indexNames.begin(), indexNames.end());
  SmallVector<AffineMap> shapes;
  SmallVector<int64_t> sources, tiles(rank, 1), grid = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  tiles.back() = kTile;
  for (const LookBackTensor &t : tensors) {
    names.push_back(t.name);
    types.push_back("");
    shapes.push_back(t.shape);
    sources.push_back(t.source);
  }
  std::string symbol = ("kc_" + kernel_.getSymName() + "_" + l_.name + "_words").str();
  while (llvm::any_of(plan_.launches, [&](const LaunchPlan &l) { return StringRef(symbol).ends_with("_" + l.name); }))
    symbol += "_";
  auto func = tile::FuncOp::create(b_, te::getLaunchLoc(loc, kernel_, l_.name), symbol, kernel_.getSizes(), plan_.sizeDiv, plan_.sizeMax,
                                   b_.getStrArrayAttr(names), b_.getStrArrayAttr(types), b_.getAffineMapArrayAttr(shapes), sources,
                                   b_.getStrArrayAttr(indices), extents, tiles, grid, kWarps);
  func.setTarget(plan_.target);
  func.setFollowed(l_.dependent);
  func.setKernel(kernel_.getSymName());
  OpBuilder::InsertionGuard guard(b_);
  Block &block = func.getBody().emplaceBlock();
  b_.setInsertionPointToStart(&block);
  SmallVector<Value> offsets;
  for (unsigned d = 0; d < rank; ++d) {
    Value pid = tile::ProgramIdOp::create(b_, loc, b_.getIndexType(), d, Value());
    offsets.push_back(arith::MulIOp::create(b_, NameLoc::get(b_.getStringAttr(indexNames[d] + "0"), loc), pid, constant(tiles[d], loc)));
  }
  auto type = RankedTensorType::get(tiles, b_.getI64Type());
  AffineMap all = AffineMap::get(rank, symbols, b_.getMultiDimIdentityMap(rank).getResults(), b_.getContext());
  for (const LookBackTensor &t : tensors) {
    Value arg = block.addArgument(MemRefType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), b_.getI64Type()),
                                  NameLoc::get(b_.getStringAttr(t.name), loc));
    Value none = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, b_.getI64IntegerAttr(0)));
    tile::StoreOp::create(b_, loc, none, arg, all, offsets, ArrayRef<int64_t>{int64_t(rank) - 1}, Value(), ArrayRef<int64_t>());
  }
}

void LaunchEmitter::addLookBack(ArrayRef<LookBackTensor> tensors) {
  for (const LookBackTensor &t : tensors)
    lookBackArgs_.push_back(
        func_.getBlock().addArgument(MemRefType::get(SmallVector<int64_t>(t.shape.getNumResults(), ShapedType::kDynamic), b_.getI64Type()),
                                     NameLoc::get(b_.getStringAttr(t.name), func_.getLoc())));
}

Value LaunchEmitter::takeTicket(Location loc) {
  return tile::TicketOp::create(b_, NameLoc::get(b_.getStringAttr("tile"), loc), b_.getIndexType(), lookBackArgs_.front());
}

void LaunchEmitter::placeLookBack(int64_t along, bool isReverse, Location loc) {
  auto as = [&](StringRef name) { return NameLoc::get(b_.getStringAttr(name), loc); };
  auto count = [&](int64_t g) -> Value {
    return tile::ApplyOp::create(b_, as(l_.indices[g] + "_tiles"), b_.getIndexType(),
                                 AffineMap::get(0, l_.extents.getNumSymbols(), func_.getNumPrograms(g)), ValueRange{});
  };
  tilesAlong_ = count(along);
  row_ = constant(0, loc);
  for (int64_t g : l_.grid) {
    if (g == along)
      continue;
    Value pid = tile::ProgramIdOp::create(b_, loc, b_.getIndexType(), g, tileNumber_);
    row_ = arith::AddIOp::create(b_, as("row"), arith::MulIOp::create(b_, loc, row_, count(g)), pid);
  }
  numberAlong_ = tile::ProgramIdOp::create(b_, loc, b_.getIndexType(), along, tileNumber_);
  if (isReverse) { // the last tile first
    Value last = arith::SubIOp::create(b_, loc, tilesAlong_, constant(1, loc));
    Value at = arith::SubIOp::create(b_, loc, last, numberAlong_);
    c_.offsets[along] = arith::MulIOp::create(b_, as(l_.indices[along] + "0"), at, constant(l_.tiles[along], loc));
  }
}

/// What the tiles before this one come to, of a scan `op` whose own totals are `totals`.
LaunchEmitter::Values LaunchEmitter::lookBack(Operation *op, Combiner kind, ValueRange totals, bool isReverse, Location loc) {
  auto fold = dyn_cast<FoldOp>(op);
  SmallVector<Type> types(totals.getTypes());
  ArrayAttr neutral =
      fold ? fold.getIdentityAttr() : b_.getArrayAttr(Attribute(identityOf(kind, cast<RankedTensorType>(types[0]).getElementType(), b_)));
  auto look = tile::LookBackOp::create(b_, NameLoc::get(b_.getStringAttr("before"), loc), types, kind, totals, numberAlong_, tilesAlong_,
                                       row_, lookBackArgs_[nextLookBack_++], uint64_t(levels_), isReverse, neutral);
  if (fold)
    copyCombine(b_, fold, look.getCombine(), fold.getDescending(), loc);
  return Values(look.getResults().begin(), look.getResults().end());
}

} // namespace kernelc
