// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a reader of the CUDA text is told ahead of each phase: one line, in one place.
#include "ir/cu/Marks.h"
#include "passes/lowerings/FunctionLowering.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

/// The copies that `op` starts, of warps that multiply too; none of a producer's.
bool startsCopies(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        auto copy = dyn_cast<RingCopyOp>(inner);
        return (copy && !copy.getChannel()) || isa<RingStoreOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool holdsDot(Operation *op) {
  return op->walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Takes indices off the front of a loop variable's name, with underscores between them, until what says that it walks them is left.
bool takeIndices(FuncOp func, StringRef name, SmallVector<StringRef> &taken) {
  for (Attribute index : func.getIndices()) {
    StringRef rest = name;
    if (!rest.consume_front(cast<StringAttr>(index).getValue()))
      continue;
    taken.push_back(cast<StringAttr>(index).getValue());
    if (rest == "0" || rest == "_tile" || rest == "_round" || rest == "_full" ||
        (rest.consume_front("_") && takeIndices(func, rest, taken)))
      return true;
    taken.pop_back();
  }
  return false;
}

/// The launch indices that a loop walks, by the name of its variable: `k_tile`, `j0`, `r_s_c_tile`; as in "r, s, c".
std::string walkedIndices(FuncOp func, scf::ForOp loop) {
  SmallVector<StringRef> taken;
  return takeIndices(func, cu::findName(loop.getInductionVar().getLoc()), taken) ? llvm::join(taken, ", ") : std::string();
}

/// `, for max_j`: what a walk comes to, by the names of what the loop carries, or else of what it stores.
std::string purposeOf(scf::ForOp loop) {
  llvm::SmallSetVector<StringRef, 2> names;
  for (BlockArgument arg : loop.getRegionIterArgs()) {
    StringRef name = cu::findName(loop.getLoc());
    names.insert(name.empty() ? cu::findName(arg.getLoc()) : name);
  }
  if (names.empty())
    for (StoreOp store : loop.getOps<StoreOp>())
      names.insert(cu::findName(store.getBase().getLoc()));
  constexpr size_t kMost = 3; // more is no help
  bool tells = !names.empty() && names.size() <= kMost && llvm::none_of(names, [](StringRef name) { return name.empty(); });
  return tells ? ", for " + llvm::join(names, ", ") : std::string();
}

std::string describeLoop(FuncOp func, scf::ForOp loop) {
  if (llvm::any_of(*loop.getBody(), llvm::IsaPred<RolesOp>) || cu::findName(loop.getInductionVar().getLoc()) == "tile")
    return "The tiles of this block.";
  if (cu::kUnroll.isOn(loop))
    return "Prologue: the first tiles, on their way into their slots.";
  std::string indices = walkedIndices(func, loop);
  if (indices.empty())
    return {};
  bool multiplies = llvm::any_of(*loop.getBody(), llvm::IsaPred<DotOp>);
  return multiplies ? "Main loop: products of tiles along " + indices + "." : "Walk " + indices + " in tiles" + purposeOf(loop) + ".";
}

std::string describeBranch(scf::IfOp branch) {
  auto exists = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!exists || !startsCopies(branch) || holdsDot(branch))
    return {};
  if (auto loop = dyn_cast<scf::ForOp>(branch->getParentOp()); loop && llvm::any_of(*loop.getBody(), llvm::IsaPred<DotOp>))
    return "A later tile, on its way into the slot that was read last.";
  auto prologue = dyn_cast<scf::ForOp>(branch->getParentOp());
  return prologue && cu::kUnroll.isOn(prologue) ? std::string() : "Prologue: a first tile, on its way into its slot.";
}

/// `Combine a, b over j: registers, lanes, warps.`
std::string describeReduce(ThreadCode &c, tile::ReduceOp op) {
  std::string over;
  for (int64_t d : op.getDims())
    over += (over.empty() ? "" : ", ") + c.indexName(d).str();
  Layout layout = getLayout(op.getInputs()[0]);
  if (auto held = c.tiles.find(op.getInputs()[0]); held != c.tiles.end()) // (a loop may have combined registers already)
    layout = held->second.layout;
  auto reduces = [&](const Digits &digits) {
    return llvm::any_of(digits, [&](const Digit &d) { return d.size > 1 && llvm::is_contained(op.getDims(), d.dim); });
  };
  std::string steps;
  for (auto [digits, step] : {std::pair(&layout.reg, "registers"), {&layout.lane, "lanes"}, {&layout.warp, "warps"}})
    if (reduces(*digits))
      steps += (steps.empty() ? "" : ", then ") + std::string(step);
  return steps.empty() ? std::string() : "Combine over " + over + ": " + steps + ".";
}

/// `4 slots of 128 by 64 elements.`
std::string describeRing(RingOp op) {
  RingType ring = op.getResult().getType();
  if (op.getOf())
    return {};
  std::string shape;
  for (int64_t extent : ring.getShape())
    if (extent > 1)
      shape += (shape.empty() ? "" : " by ") + std::to_string(extent);
  if (shape.empty())
    shape = "1";
  return std::to_string(ring.getSlots()) + (ring.getSlots() == 1 ? " slot of " : " slots of ") + shape + " elements.";
}

} // namespace

std::string FunctionLowering::describe(Operation *op) {
  auto named = [](const char *before, Value base) {
    StringRef name = cu::findName(base.getLoc());
    return name.empty() ? std::string() : (before + name + ".").str();
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<LoadOp>([&](LoadOp o) { return named("Load ", o.getBase()); })
      .Case<StoreOp>([&](StoreOp o) { return named("Store ", o.getBase()); })
      .Case<ScatterOp>([&](ScatterOp o) { return named(o.getKind() ? "Combine with " : "Store ", o.getBase()); })
      .Case<tile::ReduceOp>([&](tile::ReduceOp o) { return describeReduce(c_, o); })
      .Case<TicketOp>([](auto) { return "The next tile, in the order in which blocks start."; })
      .Case<LookBackOp>([](auto) { return "What the tiles before this one come to."; })
      .Case<ConvertLayoutOp>([](auto) { return "To other threads, through shared memory."; })
      .Case<ChannelOp>([](auto) { return "Barriers of the slots: which are full, which are empty."; })
      .Case<AcquireOp>([](AcquireOp o) {
        return !o.getChannel().getType().getFillers() ? "Once the slot is empty, tensor copies fill it."
               : o.getBytes()                         ? "Once the slot is empty, tensor copies and these threads fill it."
                                                      : "Once the slot is empty, these threads fill it.";
      })
      .Case<FilledOp>([](auto) { return "It is full when the copies of all are there."; })
      .Case<RingOp>([](RingOp o) { return describeRing(o); })
      .Case<AwaitOp>([](auto) { return "Wait until the slot is full."; })
      .Case<BoxDrainOp>(
          [](BoxDrainOp o) { return o->getNextNode() ? "Wait until the slot may be written again." : "Wait until all has been read."; })
      .Case<BoxStoreOp>([](auto) { return "A tensor copy stores what the warpgroup has put there."; })
      .Case<scf::ForOp>([&](scf::ForOp o) { return describeLoop(func_, o); })
      .Case<scf::IfOp>([](scf::IfOp o) { return describeBranch(o); })
      .Default([](Operation *) { return std::string(); });
}

} // namespace kernelc
