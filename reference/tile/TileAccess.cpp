// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads, stores, rings and channels of the tile interpreter.
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

absl::Status TileProgram::scatter(tile::ScatterOp op) {
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

void TileProgram::fillSlot(Value ring, int64_t number, TileValue v) {
  int64_t slot = inRoles_ ? number : number % cast<tile::RingType>(ring.getType()).getSlots();
  rings_[ring].slots[slot] = {number, std::move(v)};
}

absl::StatusOr<const TileValue *> TileProgram::slotOf(Operation *op, Value ring, int64_t number) {
  int64_t slot = inRoles_ ? number : number % cast<tile::RingType>(ring.getType()).getSlots();
  auto &slots = rings_[ring].slots;
  auto it = slots.find(slot);
  if (it == slots.end() || it->second.first != number)
    return absl::FailedPreconditionError(absl::StrCat(whereIs(op), op->getName().getStringRef().str(), " reads number ", number,
                                                      " of a ring, whose slot holds ",
                                                      it == slots.end() ? "nothing" : absl::StrCat("number ", it->second.first)));
  return &it->second.second;
}

absl::Status TileProgram::runRings(Operation *op) {
  if (auto load_ = dyn_cast<tile::LoadOp>(op)) {
    const TileValue *padding = load_.getPadding() ? &value(load_.getPadding()) : nullptr;
    auto byTiles = [&](ArrayRef<int64_t> at, SmallVectorImpl<int64_t> &dims) {
      for (Value tile : load_.getIndexTiles())
        dims.push_back(value(tile).at(at).i);
    };
    auto loaded = load(op, load_.getBase(), load_.getMap(), load_.getOffsets(), byTiles, load_.getMask(), load_.getBounds(), padding,
                       cast<RankedTensorType>(load_.getResult().getType()).getShape());
    if (!loaded.ok())
      return loaded.status();
    values_[load_.getResult()] = *std::move(loaded);
    return absl::OkStatus();
  }
  if (auto store_ = dyn_cast<tile::StoreOp>(op))
    return store(op, value(store_.getValue()), store_.getBase(), store_.getMap(), store_.getOffsets(), store_.getMask(),
                 store_.getCondition() ? &value(store_.getCondition()) : nullptr, store_.getClip());
  if (auto scatter_ = dyn_cast<tile::ScatterOp>(op))
    return scatter(scatter_);
  if (isa<tile::RingOp, tile::ChannelOp, tile::OrderOp, tile::TakeTurnOp, tile::PassTurnOp, tile::AsyncCommitOp, tile::AsyncWaitOp,
          tile::BarrierOp, tile::BoxDrainOp, tile::ReleaseOp>(op))
    return absl::OkStatus();
  if (auto copy = dyn_cast<tile::RingCopyOp>(op)) {
    auto ring = copy.getRing().getType();
    int64_t number = index(copy.getNumber());
    // A tensor copy writes zeros outside the tensor, whatever the bounds say.
    te::BoundsMode bounds = copy.getChannel() ? te::BoundsMode::Pad : copy.getBounds();
    int64_t each = int64_t(copy.getMap().getNumDims()) - int64_t(copy.getOffsets().size());
    auto ofPiece = [&](ArrayRef<int64_t> at, SmallVectorImpl<int64_t> &dims) {
      int64_t piece =
          copy.getAlong() ? at[*copy.getAlong()] * (int64_t(copy.getIndices().size()) / each) / ring.getShape()[*copy.getAlong()] : 0;
      for (Value v : copy.getIndices().slice(each ? piece * each : 0, each))
        dims.push_back(index(v));
    };
    auto loaded = load(op, copy.getBase(), copy.getMap(), copy.getOffsets(), ofPiece, copy.getMask(), bounds, nullptr, ring.getShape(),
                       /*ofSlot=*/true);
    if (!loaded.ok())
      return loaded.status();
    if (copy.getRounded() && launch_.arithmetic == TileArithmetic::Own)
      for (TileElement &e : loaded->elements)
        e.f = roundedToTf32(e.f);
    if (copy.getChannel())
      channels_[copy.getChannel()].brought[number] += TileValue::count(ring.getShape()) * ring.getElementType().getIntOrFloatBitWidth() / 8;
    fillSlot(copy.getRing(), number, *std::move(loaded));
    return absl::OkStatus();
  }
  if (auto put = dyn_cast<tile::RingStoreOp>(op)) {
    fillSlot(put.getRing(), index(put.getNumber()), value(put.getValue()));
    return absl::OkStatus();
  }
  if (auto take = dyn_cast<tile::RingLoadOp>(op)) {
    auto box = slotOf(op, take.getRing(), index(take.getNumber()));
    if (!box.ok())
      return box.status();
    ArrayRef<int64_t> shape = take.getResult().getType().getShape(), slot = (*box)->shape;
    if (shape == slot) {
      values_[take.getResult()] = TileValue(**box);
      return absl::OkStatus();
    }
    TileValue spread(shape); // neighbours share elements
    SmallVector<int64_t> at(shape.size(), 0), from(at);
    size_t flat = 0;
    do {
      for (auto [f, c, extent, whole] : llvm::zip(from, at, slot, shape))
        f = c / (whole / extent);
      spread.elements[flat++] = (*box)->at(from);
    } while (advance(at, shape));
    values_[take.getResult()] = std::move(spread);
    return absl::OkStatus();
  }
  if (auto store_ = dyn_cast<tile::BoxStoreOp>(op)) {
    auto box = slotOf(op, store_.getRing(), index(store_.getNumber()));
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, launch_.func.getRank()));
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, store_.getMap().getNumResults())); // a tensor copy ends where the tensor does
    return box.ok() ? store(op, **box, store_.getBase(), store_.getMap(), store_.getOffsets(), all, nullptr, dims) : box.status();
  }
  if (auto acquire = dyn_cast<tile::AcquireOp>(op)) {
    channels_[acquire.getChannel()].announced[index(acquire.getNumber())] += acquire.getBytes();
    return absl::OkStatus();
  }
  if (auto await = dyn_cast<tile::AwaitOp>(op)) {
    Channel &c = channels_[await.getChannel()];
    int64_t n = index(await.getNumber());
    if (!c.announced.count(n) || c.announced[n] != c.brought[n])
      return absl::FailedPreconditionError(
          absl::StrCat(whereIs(op), "number ", n, " is awaited: ", c.announced[n], " bytes are announced and ", c.brought[n], " brought"));
    return absl::OkStatus();
  }
  return unsupported(op);
}

} // namespace kernelc::reference
