// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores and scatters of the tile interpreter.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reference/tile/TileProgram.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

int64_t floorMod(int64_t x, int64_t y) { return y ? ((x % y) + y) % y : 0; }

/// Subscripts by the bounds rule; false where pad says that nothing is read.
bool applyBounds(te::BoundsMode mode, const TensorView &t, MutableArrayRef<int64_t> at) {
  for (auto [d, s] : llvm::enumerate(at)) {
    int64_t n = t.shape[d];
    switch (mode) {
    case te::BoundsMode::Pad:
      if (s < 0 || s >= n)
        return false;
      break;
    case te::BoundsMode::Edge: s = std::max<int64_t>(0, std::min(s, n - 1)); break;
    case te::BoundsMode::Wrap: s = floorMod(s, n); break;
    case te::BoundsMode::Reflect: {
      int64_t period = std::max<int64_t>(1, 2 * (n - 1)), folded = floorMod(s, period);
      s = std::max<int64_t>(0, std::min(std::min(folded, period - folded), n - 1));
      break;
    }
    default: break;
    }
  }
  return true;
}

absl::Status leaves(Operation *op, const TensorView &t, ArrayRef<int64_t> at) {
  return absl::OutOfRangeError(absl::StrCat(whereIs(op), op->getName().getStringRef().str(), " leaves its tensor: subscripts [",
                                            absl::StrJoin(at, ", "), "] of shape [", absl::StrJoin(t.shape, ", "), "]"));
}

} // namespace

absl::StatusOr<TileValue> TileProgram::load(Operation *op, Value base, AffineMap map, OperandRange offsets, ByData byData,
                                            ArrayRef<int64_t> mask, te::BoundsMode bounds, const TileValue *padding,
                                            ArrayRef<int64_t> shape, bool ofSlot) {
  const TensorView &t = launch_.tensors[cast<BlockArgument>(base).getArgNumber()];
  SmallVector<int64_t> times(shape.size(), 1); // points of the tile that share an element of a slot
  for (AffineExpr subscript : map.getResults())
    subscript.walk([&](AffineExpr e) { // d floordiv c
      auto quotient = dyn_cast<AffineBinaryOpExpr>(e);
      auto d = quotient && e.getKind() == AffineExprKind::FloorDiv ? dyn_cast<AffineDimExpr>(quotient.getLHS()) : AffineDimExpr(nullptr);
      bool shares = ofSlot && cast<MemRefType>(base.getType()).getElementTypeBitWidth() == 8;
      if (auto c = shares && d ? dyn_cast<AffineConstantExpr>(quotient.getRHS()) : AffineConstantExpr())
        times[d.getPosition()] = c.getValue();
    });
  TileValue result(shape);
  SmallVector<int64_t> at(shape.size(), 0), start = indices(offsets), dims, subscripts(map.getNumResults());
  size_t flat = 0;
  do {
    TileElement &e = result.elements[flat++];
    dims.clear();
    for (auto [o, c, n] : llvm::zip(start, at, times))
      dims.push_back(o + c * n);
    if (!launch_.isInside(mask, dims))
      continue;
    byData(at, dims);
    for (auto [s, expression] : llvm::zip(subscripts, map.getResults()))
      s = launch_.evaluate(expression, dims);
    if (!applyBounds(bounds, t, subscripts)) {
      if (padding)
        e = padding->at(at);
      continue;
    }
    if (!isInside(t, subscripts))
      return leaves(op, t, subscripts);
    e = readElement(t, subscripts);
  } while (advance(at, shape));
  return result;
}

absl::Status TileProgram::store(Operation *op, const TileValue &value, Value base, AffineMap map, OperandRange offsets,
                                ArrayRef<int64_t> mask, const TileValue *condition, ArrayRef<int64_t> clip) {
  const TensorView &t = launch_.tensors[cast<BlockArgument>(base).getArgNumber()];
  SmallVector<int64_t> at(value.shape.size(), 0), start = indices(offsets), dims(at), subscripts(map.getNumResults());
  size_t flat = 0;
  do {
    TileElement e = value.elements[flat++];
    for (auto [d, o, c] : llvm::zip(dims, start, at))
      d = o + c;
    if (!launch_.isInside(mask, dims) || (condition && !condition->at(at).i))
      continue;
    for (auto [s, expression] : llvm::zip(subscripts, map.getResults()))
      s = launch_.evaluate(expression, dims);
    if (llvm::any_of(clip, [&](int64_t r) { return subscripts[r] >= t.shape[r]; }))
      continue;
    if (!isInside(t, subscripts))
      return leaves(op, t, subscripts);
    writeElement(t, subscripts, e);
  } while (advance(at, value.shape));
  return absl::OkStatus();
}

absl::Status TileProgram::runScatter(tile::ScatterOp op) {
  const TensorView &t = launch_.tensors[cast<BlockArgument>(op.getBase()).getArgNumber()];
  const TileValue &v = value(op.getValue());
  Type type = op.getValue().getType().getElementType();
  SmallVector<int64_t> at(v.shape.size(), 0), start = indices(op.getOffsets()), dims, subscripts(op.getMap().getNumResults());
  size_t flat = 0;
  do {
    TileElement e = v.elements[flat++];
    dims.clear();
    for (auto [o, c] : llvm::zip(start, at))
      dims.push_back(o + c);
    if (!launch_.isInside(op.getMask(), dims) || (op.getCondition() && !value(op.getCondition()).at(at).i))
      continue;
    for (Value tile : op.getIndexTiles())
      dims.push_back(value(tile).at(at).i);
    for (auto [s, expression] : llvm::zip(subscripts, op.getMap().getResults()))
      s = launch_.evaluate(expression, dims);
    if (!isInside(t, subscripts)) {
      if (op.getGuarded())
        continue;
      return leaves(op, t, subscripts);
    }
    writeElement(t, subscripts, op.getKind() ? combine(*op.getKind(), type, readElement(t, subscripts), e) : e);
  } while (advance(at, v.shape));
  return absl::OkStatus();
}

absl::Status TileProgram::runLoad(tile::LoadOp op) {
  const TileValue *padding = op.getPadding() ? &value(op.getPadding()) : nullptr;
  auto byTiles = [&](ArrayRef<int64_t> at, SmallVectorImpl<int64_t> &dims) {
    for (Value tile : op.getIndexTiles())
      dims.push_back(value(tile).at(at).i);
  };
  auto loaded = load(op, op.getBase(), op.getMap(), op.getOffsets(), byTiles, op.getMask(), op.getBounds(), padding,
                     cast<RankedTensorType>(op.getResult().getType()).getShape());
  if (!loaded.ok())
    return loaded.status();
  values_[op.getResult()] = *std::move(loaded);
  return absl::OkStatus();
}

absl::Status TileProgram::runStore(tile::StoreOp op) {
  return store(op, value(op.getValue()), op.getBase(), op.getMap(), op.getOffsets(), op.getMask(),
               op.getCondition() ? &value(op.getCondition()) : nullptr, op.getClip());
}

} // namespace kernelc::reference
