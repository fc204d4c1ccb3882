// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/ByData.h"

#include "ir/cu/Cu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/index/Affine.h"
#include "passes/tile/Access.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

bool isPointwise(Operation *op) { return op->hasTrait<OpTrait::Elementwise>() || isa<ConvertOp>(op); }

/// Whether `tile` is the same at all points of each piece.
bool isSame(Value tile, const Pieces &pieces) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return false;
  if (isa<SplatOp>(op) || matchPattern(tile, m_Constant()))
    return true;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return isSame(broadcast.getInput(), pieces);
  auto isFree = [&](int64_t d) { // of what an op says of an index itself
    return typeOf(tile).getDimSize(d) == 1;
  };
  if (auto index = dyn_cast<IndexOp>(op))
    return isFree(index.getDim());
  if (auto inside = dyn_cast<InsideOp>(op))
    return llvm::all_of(inside.getMask(), isFree);
  if (auto load = dyn_cast<LoadOp>(op)) {
    for (auto [d, extent] : llvm::enumerate(typeOf(tile).getShape())) {
      if (extent == 1)
        continue;
      int64_t points = int64_t(d) == pieces.along ? pieces.points : extent;
      if (llvm::any_of(load.getMap().getResults(), [&, d = d](AffineExpr e) { return te::variesInTile(e, d, points); }))
        return false;
    }
    bool isPadded = load.getPadding() && isa<RankedTensorType>(load.getPadding().getType());
    return llvm::all_of(load.getIndexTiles(), [&](Value v) { return isSame(v, pieces); }) &&
           (!isPadded || isSame(load.getPadding(), pieces));
  }
  return isPointwise(op) && llvm::all_of(op->getOperands(), [&](Value v) { return isSame(v, pieces); });
}

/// One element of tiles, at the first point of a piece.
class ElementMaker {
public:
  ElementMaker(OpBuilder &b, unsigned symbols, int64_t along, int64_t first, Location loc)
      : b_(b), symbols_(symbols), along_(along), first_(first), loc_(loc) {}

  Value make(Value tile) {
    if (Value done = done_.lookup(tile))
      return done;
    Operation *op = tile.getDefiningOp();
    Value made;
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      made = make(broadcast.getInput());
    } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto value = cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>();
      made = arith::ConstantOp::create(b_, loc_, unit(tile), SplatElementsAttr::get(unit(tile), value));
    } else {
      SmallVector<Value> operands; // (what moves with the piece is made first)
      std::optional<unsigned> moved = offsetOf(op);
      for (OpOperand &operand : op->getOpOperands()) {
        Value v = operand.get();
        operands.push_back(isa<RankedTensorType>(v.getType()) ? make(v) : operand.getOperandNumber() == moved ? shifted(v) : v);
      }
      Operation *copy = b_.clone(*op);
      copy->setOperands(operands);
      copy->getResult(0).setType(unit(tile));
      made = copy->getResult(0);
    }
    return done_[tile] = made;
  }

  Value shifted(Value offset) {
    if (first_ == 0)
      return offset;
    if (Value done = moved_.lookup(offset))
      return done;
    return moved_[offset] =
               ApplyOp::create(b_, loc_, b_.getIndexType(), AffineMap::get(1, symbols_, b_.getAffineDimExpr(0) + first_), offset);
  }

private:
  RankedTensorType unit(Value tile) {
    return RankedTensorType::get(SmallVector<int64_t>(typeOf(tile).getRank(), 1), typeOf(tile).getElementType());
  }
  /// The operand that says where `op` is along the index that pieces lie along.
  std::optional<unsigned> offsetOf(Operation *op) const {
    if (along_ < 0)
      return std::nullopt;
    if (auto load = dyn_cast<LoadOp>(op))
      return load.getOffsets().getBeginOperandIndex() + along_;
    if (auto inside = dyn_cast<InsideOp>(op))
      return inside.getOffsets().getBeginOperandIndex() + along_;
    auto index = dyn_cast<IndexOp>(op);
    return index && int64_t(index.getDim()) == along_ ? std::optional<unsigned>(0) : std::nullopt;
  }

  OpBuilder &b_;
  unsigned symbols_;
  int64_t along_, first_;
  Location loc_;
  llvm::DenseMap<Value, Value> done_, moved_;
};

} // namespace

bool isSameInPieces(LoadOp load) {
  std::optional<Pieces> pieces = findPieces(load.getMap(), load.getResult().getType().getShape());
  return pieces && llvm::all_of(load.getIndexTiles(), [&](Value tile) { return isSame(tile, *pieces); });
}

SmallVector<Value> makeByPieces(OpBuilder &b, FuncOp func, LoadOp load) {
  if (load.getIndexTiles().empty())
    return {};
  Location loc = cu::unnamed(load.getLoc());
  ArrayRef<int64_t> shape = load.getResult().getType().getShape();
  Pieces pieces = *findPieces(load.getMap(), shape);
  te::SizeFacts facts{func.getSizeDiv(), func.getSizeMax()};
  AffineMap extents = func.getExtents(), tensor = shapeOfBase(func, load.getBase());
  unsigned symbols = extents.getNumSymbols(), rank = func.getRank();
  auto size = [&](AffineExpr e) { return ApplyOp::create(b, loc, b.getIndexType(), AffineMap::get(0, symbols, e), ValueRange()); };
  Value outside = arith::ConstantIndexOp::create(b, loc, -1);
  SmallVector<Value> values;
  for (int64_t piece = 0; piece < pieces.count; ++piece) {
    ElementMaker maker(b, symbols, pieces.along, piece * pieces.points, loc);
    for (auto [n, tile] : llvm::enumerate(load.getIndexTiles())) {
      Value one = maker.make(tile);
      Value v = ElementOp::create(b, tile.getLoc(), typeOf(one).getElementType(), one);
      if (!v.getType().isIndex())
        v = arith::IndexCastOp::create(b, loc, b.getIndexType(), v);
      // Coordinates have 32 bits: what leaves the tensor stays just outside.
      for (auto [subscript, extent] : llvm::zip(load.getMap().getResults(), tensor.getResults()))
        if (load.getBounds() == te::BoundsMode::Pad && subscript == b.getAffineDimExpr(rank + n))
          v = arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, v, size(extent)), outside);
      // Beyond the extent a table says nothing.
      for (auto [d, points] : llvm::enumerate(shape))
        if (points > 1 && llvm::is_contained(load.getMask(), int64_t(d)) && te::knownDivisor(extents.getResult(d), facts) % points) {
          Value offset = int64_t(d) == pieces.along ? maker.shifted(load.getOffsets()[d]) : load.getOffsets()[d];
          Value holds = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, offset, size(extents.getResult(d)));
          v = arith::SelectOp::create(b, loc, holds, v, outside);
        }
      values.push_back(v);
    }
  }
  return values;
}

} // namespace kernelc
