// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/Supplies.h"

#include "ir/te/ScheduleLoc.h"
#include "ir/tile/SlotLayout.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/tile/Access.h"
#include "passes/tile/ByData.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

/// Whether a tensor copy can bring an operand as it stands.
bool isBox(Value operand) {
  auto load = operand.getDefiningOp<LoadOp>();
  return load && isSameInPieces(load) && (!load.getPadding() || isZeroPadded(load));
}

/// Takes a mask of a box off an operand; null where there is none.
MaskOp takeMask(OpOperand &operand) {
  auto mask = operand.get().getDefiningOp<MaskOp>();
  if (mask)
    operand.set(mask.getValue());
  return mask;
}

/// Whether warps search for the tiles that they walk, which fillers would do each for itself.
bool searches(FuncOp func) {
  return func.walk([](Operation *op) { return isSearch(op) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
}

bool holdsDot(Operation *op) {
  return op->walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

} // namespace

LogicalResult Supplies::find(ArrayRef<DotOp> dots) {
  for (DotOp dot : dots) {
    FailureOr<Supply> supply = supplyOf(dot);
    if (failed(supply))
      return failure();
    supplies_.push_back(*supply);
  }
  for (auto [n, supply] : llvm::enumerate(supplies_)) {
    for (LoadOp load : supply.loads())
      lastReader_[load] = n;
    if (DotOp(supply.dot).getBRounded())
      rounded_.insert(supply.second);
    if (supply.direct && DotOp(supply.dot).getARounded())
      rounded_.insert(supply.first.front());
  }
  isCrowded_ = isCrowded();
  handOver();
  for (Supply &s : supplies_)
    s.held = canHold(s);
  return success();
}

FailureOr<Supply> Supplies::supplyOf(DotOp dot) {
  Supply s{dot};
  s.aMask = takeMask(dot.getAMutable());
  s.bMask = takeMask(dot.getBMutable());
  s.direct = isBox(dot.getA());
  s.inRegisters = !s.direct || needsRegisters(dot);
  bool fromProduct = false;
  if (s.direct)
    s.first.push_back(dot.getA().getDefiningOp<LoadOp>());
  else
    s.first = boxesBehind(dot, fromProduct);
  s.across = func_.getUnit() == Unit::Wgmma && fromProduct && liesAcross(dot);
  if (s.across) { // (what else it is made of, another dot has brought, or those load who multiply)
    s.inRegisters = false;
    s.first.clear();
  }
  if (fromProduct) // what no tensor copy brings beside the other product's results is loaded by those who multiply
    llvm::erase_if(s.first, [&](LoadOp load) { return !canTravel(load, dot); });
  auto refuse = [&] { return mlir::emitError(te::getScheduleLoc(dot)); };
  if ((s.first.empty() && !fromProduct) || !isBox(dot.getB()))
    return refuse()
           << "this product needs operands that are loaded as they stand, the first perhaps computed from such: producer warps only copy";
  if (!s.direct && dot.getARounded())
    return refuse() << "this product rounds a first operand that is computed: only tensor copies round";
  if (!s.direct && func_.getUnit() != Unit::Wgmma)
    return refuse() << "this product computes its first operand, which unit " << nameOf(func_.getUnit())
                    << " takes from shared memory: no warp that only copies can fill it; use the unit wgmma, or no producer "
                       "warps";
  s.second = dot.getB().getDefiningOp<LoadOp>();
  // (a mask is one round's, and one product's)
  for (auto [mask, load] : {std::pair(s.aMask, s.first.empty() ? LoadOp() : s.first.front()), std::pair(s.bMask, s.second)})
    if (mask && (load->getBlock() != dot->getBlock() ||
                 llvm::any_of(load->getUsers(), [&](Operation *user) { return user != mask && user != dot; })))
      return refuse() << "this product masks an operand in its slot that other rounds or products read, too";
  return s;
}

SmallVector<LoadOp> Supplies::vectorsOf(Supply &s) {
  constexpr int64_t kFewestDots = 3, kSlotBytes = 128; // (slots of tensor copies begin at multiples of it)
  SmallVector<LoadOp> found;
  Block *block = s.loop().getBody();
  bool isFirst = llvm::find_if(supplies_, [&](Supply &other) { return other.loop() == s.loop(); }) == &s;
  if (func_.getUnit() != Unit::Wgmma || !isFirst || llvm::range_size(block->getOps<DotOp>()) < kFewestDots)
    return found;
  for (LoadOp load : block->getOps<LoadOp>()) {
    auto type = load.getResult().getType();
    bool isOperand = llvm::any_of(supplies_, [&](Supply &other) { return llvm::is_contained(other.loads(), load); });
    if (isOperand || !isBox(load) || llvm::count_if(type.getShape(), [](int64_t n) { return n > 1; }) != 1 ||
        type.getNumElements() * type.getElementTypeBitWidth() / 8 % kSlotBytes || !isOnlyRead(load.getBase()))
      continue;
    vectors_.insert(load);
    if (canTravel(load, s.dot))
      found.push_back(load);
    else
      vectors_.erase(load);
  }
  return found;
}

RingType Supplies::ringOf(LoadOp load, DotOp dot) {
  if (isVector(load)) {
    auto type = load.getResult().getType();
    int64_t along = contiguousRun(func_, load.getBase(), load.getMap(), type.getShape()).dim;
    return along < 0 ? RingType()
                     : RingType::get(func_.getContext(), type.getShape(), type.getElementType(), std::max<int64_t>(2, func_.getStages()),
                                     along, /*pad=*/0);
  }
  RingType boxes = boxesOf(load, dot);
  if (!isCopiedByThreads(load, dot) || runsAlongRows(boxes, dot))
    return boxes;
  // What runs along the sum, or along nothing, is turned on its way, element by element: the padding spreads it over the banks.
  auto type = load.getResult().getType();
  int64_t rows = lastOf(load, dot);
  return RingType::get(func_.getContext(), type.getShape(), type.getElementType(), std::max<int64_t>(2, func_.getStages()), rows,
                       paddingOf(type.getDimSize(rows), type.getElementTypeBitWidth() / 8));
}

bool Supplies::isCopiedByThreads(LoadOp load, DotOp dot) {
  if (func_.getUnit() != Unit::Simt || func_.getCluster() > 1 || load->getBlock() != dot->getBlock() || searches(func_))
    return false;
  RingType boxes = boxesOf(load, dot);
  std::string why;
  return !(boxes && findBox(func_, load.getBase(), load.getMap(), load.getBounds(), boxes, why)) &&
         isCopyable(func_, load, runsAlongRows(boxes, dot) ? boxes.getContiguous() : lastOf(load, dot)); // along its slot (see ringOf)
}

bool Supplies::runsAlongRows(RingType boxes, DotOp dot) { return boxes && !llvm::is_contained(dot.getK(), int64_t(boxes.getContiguous())); }

int64_t Supplies::lastOf(LoadOp load, DotOp dot) {
  ArrayRef<int64_t> outer = dot.getA() == load.getResult() ? dot.getM() : dot.getN();
  auto several = llvm::find_if(llvm::reverse(outer), [&](int64_t d) { return load.getResult().getType().getDimSize(d) > 1; });
  return several == llvm::reverse(outer).end() ? outer.back() : *several;
}

RingType Supplies::boxesOf(LoadOp load, DotOp dot) {
  auto type = load.getResult().getType();
  int64_t contiguous = contiguousRun(func_, load.getBase(), load.getMap(), type.getShape()).dim;
  if (contiguous < 0)
    return {};
  bool eachRound = load->getBlock() == dot->getBlock();
  int64_t slots = eachRound ? std::max<int64_t>(2, func_.getStages()) : 1;
  // Vectors along rows of slots meet each bank once as they are.
  bool isPlain = func_.getUnit() == Unit::Simt && !llvm::is_contained(dot.getK(), contiguous);
  return RingType::get(func_.getContext(), boxShape(load.getMap(), type.getShape()), type.getElementType(), slots, contiguous,
                       isPlain ? 0 : kSwizzled);
}

bool Supplies::canTravel(LoadOp load, DotOp dot) {
  RingType ring = ringOf(load, dot);
  std::string why;
  return ring && ring.getElementType().getIntOrFloatBitWidth() >= 8 &&
         findBox(func_, load.getBase(), load.getMap(), load.getBounds(), ring, why);
}

bool Supplies::needsRegisters(DotOp dot) {
  auto load = dot.getA().getDefiningOp<LoadOp>();
  auto type = load.getResult().getType();
  return func_.getUnit() == Unit::Wgmma && type.getElementTypeBitWidth() == 32 &&
         !llvm::is_contained(dot.getK(), contiguousDim(func_, load.getBase(), load.getMap(), type.getShape()));
}

SmallVector<LoadOp> Supplies::boxesBehind(DotOp dot, bool &fromProduct) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == dot->getBlock() && !holdsDot(op); };
  (void)getBackwardSlice(dot.getA(), &slice, options);
  auto isLeft = [](Value v) { return v.getDefiningOp() && holdsDot(v.getDefiningOp()); };
  fromProduct = isLeft(dot.getA()) || llvm::any_of(slice, [&](Operation *op) { return llvm::any_of(op->getOperands(), isLeft); });
  SmallVector<LoadOp> loads;
  for (Operation &op : *dot->getBlock())
    if (auto load = dyn_cast<LoadOp>(op); load && slice.contains(load) && isBox(load) &&
                                          load.getResult().getType().getShape() == cast<RankedTensorType>(dot.getA().getType()).getShape())
      loads.push_back(load);
  return loads;
}

bool Supplies::liesAcross(DotOp dot) {
  SmallVector<Value> work{dot.getA()};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != dot->getBlock() || !seen.insert(op).second)
      continue;
    auto other = dyn_cast<DotOp>(op);
    if (other && llvm::any_of(dot.getK(), [&](int64_t d) { return llvm::is_contained(other.getM(), d); }))
      return true;
    if (!other)
      llvm::append_range(work, op->getOperands());
  }
  return false;
}

bool Supplies::runsOn(const Supply &s) {
  return func_.getUnit() != Unit::Simt && !s.inRegisters && !s.across && isa<BlockArgument>(DotOp(s.dot).getAcc());
}

bool Supplies::canHold(Supply &s) {
  if (!func_.getHeld() || func_.getUnit() != Unit::Wgmma || !isPlain(s) || s.dot.getARounded() || !s.over.empty() || findFilledWith(s) ||
      sideBySide(s).size() > 1)
    return false;
  LoadOp load = s.first.front();
  return load->getBlock() != s.dot->getBlock() && s.second->getBlock() == s.dot->getBlock() &&
         load.getResult().getType().getElementTypeBitWidth() == 16 &&
         llvm::count_if(supplies_, [&](const Supply &other) { return llvm::is_contained(other.loads(), load); }) == 1;
}

SmallVector<Supply *> Supplies::sideBySide(Supply &s) {
  SmallVector<Supply *> all;
  for (Supply &other : supplies_)
    if (other.loop() == s.loop())
      all.push_back(&other);
  bool together = all.size() > 1 && llvm::all_of(all, [&](Supply *other) { return runsOn(*other) && !other->aMask && !other->bMask; });
  return together ? all : SmallVector<Supply *>{&s};
}

bool Supplies::isPlain(const Supply &x) { return x.direct && !x.inRegisters && !x.aMask && !x.bMask; }

Supply *Supplies::findNext(Supply &s) {
  DotOp dot = s.dot;
  auto next = dot->hasOneUse() ? dyn_cast<DotOp>(*dot->user_begin()) : DotOp();
  if (!next || next.getAcc() != dot.getResult() || next->getBlock() != dot->getBlock() || func_.getUnit() != Unit::Wgmma || !isPlain(s))
    return nullptr;
  auto found = llvm::find_if(supplies_, [&](Supply &other) { return other.dot == next; });
  return found != supplies_.end() && isPlain(*found) ? &*found : nullptr;
}

Supply *Supplies::findFilledWith(Supply &s) {
  Supply *next = findNext(s);
  if (next || !isCrowded_ || !isPlain(s))
    return next;
  auto startsAfresh = [&](Supply &x) { return x.dot->getBlock() == s.dot->getBlock() && isPlain(x) && isZeroTile(x.dot.getAcc()); };
  auto after = llvm::find_if(llvm::make_range(&s + 1, supplies_.data() + supplies_.size()), startsAfresh);
  return after != supplies_.data() + supplies_.size() ? &*after : nullptr;
}

bool Supplies::isCrowded() {
  llvm::SmallPtrSet<Operation *, 8> seen, behind;
  size_t channels = 0;
  for (Supply &s : supplies_) {
    llvm::SmallPtrSet<Block *, 2> places;
    for (LoadOp load : s.loads())
      if (seen.insert(load).second)
        places.insert(load->getBlock());
    channels += behind.contains(s.dot) ? 0 : places.size();
    if (Supply *next = findNext(s))
      behind.insert(next->dot);
  }
  return channels > size_t(func_.getProducerWarps());
}

void Supplies::handOver() {
  for (auto [n, s] : llvm::enumerate(supplies_))
    if (Supply *next = findFilledWith(s)) {
      for (LoadOp load : llvm::concat<LoadOp>(s.over, s.loads())) {
        size_t &last = lastReader_[load];
        last = std::max(last, size_t(next - supplies_.data()));
        next->over.push_back(load);
      }
    }
}

} // namespace kernelc
