// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings and channels of the tile interpreter: slots by their numbers, and what channels have announced and brought.
#include "absl/strings/str_cat.h"
#include "reference/tile/TileProgram.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::reference {

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
  using namespace tile;
  return llvm::TypeSwitch<Operation *, absl::Status>(op)
      .Case<RingOp, ChannelOp, OrderOp, TakeTurnOp, PassTurnOp, AsyncCommitOp, AsyncWaitOp, BarrierOp, BoxDrainOp, ReleaseOp>(
          [](auto) { return absl::OkStatus(); })
      .Case([&](RingCopyOp copy) { return runRingCopy(copy); })
      .Case([&](RingStoreOp put) {
        fillSlot(put.getRing(), index(put.getNumber()), value(put.getValue()));
        return absl::OkStatus();
      })
      .Case([&](RingLoadOp take) { return runRingLoad(take); })
      .Case([&](BoxStoreOp store) { return runBoxStore(store); })
      .Case([&](AcquireOp acquire) {
        channels_[acquire.getChannel()].announced[index(acquire.getNumber())] += acquire.getBytes();
        return absl::OkStatus();
      })
      .Case([&](AwaitOp await) { return runAwait(await); })
      .Default([](Operation *other) { return unsupported(other); });
}

absl::Status TileProgram::runRingCopy(tile::RingCopyOp copy) {
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
  auto loaded = load(copy, copy.getBase(), copy.getMap(), copy.getOffsets(), ofPiece, copy.getMask(), bounds, nullptr, ring.getShape(),
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

absl::Status TileProgram::runRingLoad(tile::RingLoadOp take) {
  auto box = slotOf(take, take.getRing(), index(take.getNumber()));
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

absl::Status TileProgram::runBoxStore(tile::BoxStoreOp op) {
  auto box = slotOf(op, op.getRing(), index(op.getNumber()));
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, launch_.func.getRank()));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, op.getMap().getNumResults())); // a tensor copy ends where the tensor does
  return box.ok() ? store(op, **box, op.getBase(), op.getMap(), op.getOffsets(), all, nullptr, dims) : box.status();
}

absl::Status TileProgram::runAwait(tile::AwaitOp await) {
  Channel &c = channels_[await.getChannel()];
  int64_t n = index(await.getNumber());
  if (!c.announced.count(n) || c.announced[n] != c.brought[n])
    return absl::FailedPreconditionError(
        absl::StrCat(whereIs(await), "number ", n, " is awaited: ", c.announced[n], " bytes are announced and ", c.brought[n], " brought"));
  return absl::OkStatus();
}

} // namespace kernelc::reference
