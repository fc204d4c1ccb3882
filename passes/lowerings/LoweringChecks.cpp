// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tile-to-cu takes, checked before any of it is lowered: the lowering itself cannot fail half way.
#include "passes/lowerings/FunctionLowering.h"

#include "ir/te/ScheduleLoc.h"
#include "passes/tile/Tails.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

/// Of one tile in one thread. Far beyond what registers hold, and still a fraction of the local
/// memory that a thread can have.
constexpr int64_t kMaxBytesPerThread = 16 * 1024;

/// Everything below reads layouts off types, and makes an array per tile.
LogicalResult checkLayout(FuncOp func, Operation *op, Value v) {
  auto tile = dyn_cast<RankedTensorType>(v.getType());
  if (!tile)
    return success();
  if (!isa_and_nonnull<LayoutAttr>(tile.getEncoding()))
    return op->emitOpError() << "makes a tile without a layout; run tile-layouts first";
  Type element = tile.getElementType();
  int64_t bytes = getLayout(v).numRegisters() * (element.isIndex() ? 8 : std::max(1u, element.getIntOrFloatBitWidth() / 8));
  if (bytes > kMaxBytesPerThread)
    return mlir::emitError(te::getScheduleLoc(func))
           << "the schedule of '" << func.getSymName() << "' makes a tile of which a thread holds " << bytes << " bytes; at most "
           << kMaxBytesPerThread << " are supported: make the launch's tiles smaller, or its warps more";
  return success();
}

/// A tile that a thread has in registers, and does not make where it is used.
LogicalResult checkHeld(Operation *op, Value tile) {
  if (!isRematerialized(tile.getDefiningOp()))
    return success();
  return op->emitOpError() << "takes a tile that is computed where it is used; results of products and loads are held in registers";
}

LogicalResult checkBoxCopy(FuncOp func, RingCopyOp copy) {
  if (!copy.getChannel() || copy.getByThreads())
    return success();
  std::string why;
  std::optional<Box> box = findBox(func, copy, why);
  if (!box)
    return copy.emitOpError() << "is no box that a tensor copy can bring: " << why << "; tile-pipeline makes such copies of boxes only";
  if (int64_t blocks = copy.getMulticast() ? func.getCluster() : 1; blocks > 1 && !canShareBox(*box, blocks))
    return copy.emitOpError() << "is no box that the " << blocks << " blocks of a cluster can share";
  if (!copy.getTail())
    return success();
  std::optional<Tail> tail = findTail(func, copy, *box);
  if (!tail || tail->index != int64_t(*copy.getTail()) || !findAcquire(copy))
    return copy.emitOpError() << "[C2] has a tail that somebody reads, or that none is told of; tile-cut-tails finds those";
  return success();
}

LogicalResult checkBoxStore(FuncOp func, BoxStoreOp store) {
  RingType ring = store.getRing().getType();
  std::string why;
  std::optional<Box> box = findStoreBox(func, store.getBase(), store.getMap(), ring, why);
  if (!box)
    return store.emitOpError() << "is no box that a tensor copy can store: " << why
                               << "; tile-stage-stores makes such stores of boxes only";
  int64_t groups = func.getWarps() / 4,
          shares = int64_t(store.getShared()) == ring.getContiguous() ? box->panels : box->sizes[slowestDim(*box)];
  if (func.getWarps() % 4 || shares % groups)
    return store.emitOpError() << "has a box of " << shares << " parts, which the function's " << func.getWarps()
                               << " warps do not share out by whole warpgroups";
  return success();
}

LogicalResult checkDot(FuncOp func, DotOp dot) {
  if (!dot.getNumber())
    return dot.emitOpError() << "has operands in registers; run tile-pipeline first";
  auto elementOf = [](Value v) {
    auto ring = dyn_cast<RingType>(v.getType());
    return ring ? ring.getElementType() : cast<RankedTensorType>(v.getType()).getElementType();
  };
  bool simt = func.getUnit() == Unit::Simt;
  if (!simt && !dot.isProduct())
    return dot.emitOpError() << "has a term of its own, which unit " << nameOf(func.getUnit()) << " does not compute; use the unit simt";
  if (!isa<RingType>(dot.getB().getType()) || (simt && !isa<RingType>(dot.getA().getType())))
    return dot.emitOpError() << "has an operand in registers that unit " << nameOf(func.getUnit())
                             << " takes from a slot; run tile-pipeline first";
  Type a = elementOf(dot.getA()), b = elementOf(dot.getB());
  unsigned bits = a.getIntOrFloatBitWidth();
  auto isTaken = [](Type t) { return t.isF32() || t.isF16() || t.isBF16() || t.isInteger(8) || isa<Float8E4M3FNType, Float8E5M2Type>(t); };
  if (!simt && (!isTaken(a) || !isTaken(b) || bits != b.getIntOrFloatBitWidth()))
    return dot.emitOpError() << "multiplies " << a << " and " << b << ", which unit " << nameOf(func.getUnit()) << " does not take";
  auto product = dot.getResult().getType().getElementType();
  bool widens = bits <= product.getIntOrFloatBitWidth() && b.getIntOrFloatBitWidth() <= product.getIntOrFloatBitWidth();
  if (!widens || (!simt && !product.isF32() && !product.isInteger(32)))
    return dot.emitOpError() << "sums " << a << " and " << b << " in " << product << ", which unit " << nameOf(func.getUnit())
                             << " does not";
  return success();
}

} // namespace

LogicalResult checkLowerable(FuncOp func) {
  WalkResult result = func.walk([&](Operation *op) -> WalkResult {
    for (Value v : op->getResults())
      if (failed(checkLayout(func, op, v)))
        return WalkResult::interrupt();
    LogicalResult ok = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                           .Case([&](RingCopyOp copy) { return checkBoxCopy(func, copy); })
                           .Case([&](BoxStoreOp store) { return checkBoxStore(func, store); })
                           .Case([&](DotOp dot) { return checkDot(func, dot); })
                           .Case([&](DotWaitOp wait) { return checkHeld(wait, wait.getAcc()); })
                           .Case([&](SliceOp slice) { return checkHeld(slice, slice.getInput()); })
                           .Default([](Operation *) { return success(); });
    return failed(ok) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace kernelc
