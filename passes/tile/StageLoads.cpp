// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-stage-loads: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "passes/tile/Access.h"
#include "passes/tile/Box.h"
#include "passes/tile/Carried.h"
#include "support/Target.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILESTAGELOADS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// Of a ring, and what its slots are aligned to.
constexpr int64_t kBarriers = 1024;

int64_t bytesOf(RankedTensorType tile) { return tile.getNumElements() * tile.getElementTypeBitWidth() / 8; }

struct TileStageLoadsPass : impl::TileStageLoadsBase<TileStageLoadsPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (!func.getProducerWarps())
      return;
    // Parts of one tensor take turns in one ring.
    llvm::MapVector<std::tuple<Block *, Value, AffineMap, Type>, SmallVector<LoadOp>> families;
    func.walk([&](LoadOp load) {
      if (isStageable(func, load))
        families[{load->getBlock(), load.getBase(), load.getMap(), load.getResult().getType()}].push_back(load);
    });
    // A warp fills each ring: the largest tiles come first, and what there is no warp for stays loads.
    llvm::SmallPtrSet<Value, 8> channels;
    func.walk([&](AcquireOp acquire) { channels.insert(acquire.getChannel()); });
    auto ordered = families.takeVector();
    llvm::stable_sort(ordered, [](const auto &a, const auto &b) {
      return bytesOf(cast<RankedTensorType>(std::get<Type>(a.first))) > bytesOf(cast<RankedTensorType>(std::get<Type>(b.first)));
    });
    // So does what shared memory has no room for: whole tiles beside the parts that the plan counts.
    int64_t warps = int64_t(func.getProducerWarps()), room = roomOf(func);
    for (Value channel : channels)
      warps -= cast<ChannelType>(channel.getType()).getFillingWarps();
    for (auto &[key, loads] : ordered) {
      int64_t bytes = slotsOf(loads) * bytesOf(loads.front().getResult().getType()) + kBarriers;
      if (warps <= 0 || bytes > room)
        continue;
      if (failed(stage(func, loads)))
        return signalPassFailure();
      --warps;
      room -= bytes;
    }
  }

  static int64_t slotsOf(ArrayRef<LoadOp> loads) { return std::min<int64_t>(2, loads.size()); }

  static const Target *targetOf(FuncOp func) { return findTarget(absl::string_view(func.getTarget().data(), func.getTarget().size())); }

  /// What rings and sums over rows of several warps leave of a block's shared memory.
  static int64_t roomOf(FuncOp func) {
    const Target *target = targetOf(func);
    if (!target)
      return std::numeric_limits<int64_t>::max();
    int64_t room = target->maxSharedPerBlock - kBarriers;
    int64_t rows = -1;
    func.walk([&](DotOp dot) { rows = dot.getM().empty() ? -1 : dot.getM().back(); });
    func.walk([&](RingOp ring) {
      RingType type = ring.getType();
      if (!ring.getOf())
        room -= ShapedType::getNumElements(type.getShape()) * type.getElementType().getIntOrFloatBitWidth() / 8 * type.getSlots();
    });
    func.walk([&](tile::ReduceOp reduce) {
      if (llvm::is_contained(reduce.getDims(), rows))
        for (Value sums : reduce.getResults())
          room -= bytesOf(cast<RankedTensorType>(sums.getType())) * (func.getWarps() + 1);
    });
    return room;
  }

  static RingType ringOf(FuncOp func, LoadOp load, int64_t slots) {
    auto type = load.getResult().getType();
    int64_t dim = contiguousDim(func, load.getBase(), load.getMap(), type.getShape());
    return dim < 0 ? RingType() : RingType::get(load.getContext(), type.getShape(), type.getElementType(), slots, dim);
  }

  /// Whether a tensor copy can bring it: behind the product, not in its loop.
  static bool isStageable(FuncOp func, LoadOp load) {
    const Target *target = targetOf(func);
    int64_t leastBytes = (target ? *target->costs : kMeasuredCosts).threads.leastStagedBytes;
    Operation *loop = load->getParentOp();
    bool once = loop == func || (isa<scf::ForOp>(loop) && loop->getParentOp() == func);
    if (!once || llvm::any_of(*load->getBlock(), llvm::IsaPred<DotOp>) || !load.getIndexTiles().empty() ||
        (load.getPadding() && !isZeroPadded(load)) || bytesOf(load.getResult().getType()) < leastBytes ||
        load.getResult().getType().getElementTypeBitWidth() < 8)
      return false;
    RingType ring = ringOf(func, load, 1);
    std::string why;
    return ring && findBox(func, load.getBase(), load.getMap(), load.getBounds(), ring, why);
  }

  LogicalResult stage(FuncOp func, ArrayRef<LoadOp> loads) {
    OpBuilder setup = OpBuilder::atBlockBegin(&func.getBlock());
    int64_t parts = loads.size(), slots = slotsOf(loads);
    LoadOp first = loads.front();
    Location loc = cu::unnamed(first.getLoc());
    auto named = [&](StringRef name) { return NameLoc::get(setup.getStringAttr(name), loc); };
    Value ring = RingOp::create(setup, first.getLoc(), ringOf(func, first, slots));
    Value channel = ChannelOp::create(setup, loc, ChannelType::get(setup.getContext(), slots, /*reader=*/32, /*fillers=*/0));
    // Numbers go on from tile to tile.
    Value before;
    if (auto loop = dyn_cast<scf::ForOp>(first->getParentOp())) {
      FailureOr<Value> count = carryCount(loop, "brought", loc, [&](OpBuilder &b, Value brought) -> Value {
        return arith::AddIOp::create(b, named("next"), brought, arith::ConstantIndexOp::create(b, loc, parts));
      });
      if (failed(count))
        return loop.emitOpError() << "cannot carry a count of copies";
      before = *count;
    }
    int64_t part = 0;
    for (LoadOp load : loads) {
      OpBuilder b(load);
      Value number = arith::ConstantIndexOp::create(b, loc, part++);
      if (before)
        number = arith::AddIOp::create(b, named("number"), before, number);
      AcquireOp::create(b, loc, channel, number, bytesOf(load.getResult().getType()));
      RingCopyOp::create(b, load.getLoc(), ring, number, load, load.getOffsets(), channel);
      AwaitOp::create(b, loc, channel, number);
      Value tile = RingLoadOp::create(b, load.getLoc(), load.getResult().getType(), ring, number);
      ReleaseOp::create(b, loc, channel, number);
      load.getResult().replaceAllUsesWith(tile);
      load->erase();
    }
    return success();
  }
};

} // namespace
} // namespace kernelc
