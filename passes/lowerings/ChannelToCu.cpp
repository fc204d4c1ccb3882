// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Channels: mbarriers, waits by parity, and the tensor copies that complete them.
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/SlotAddress.h"
#include "passes/tile/Tails.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {

namespace {

/// Where `number` stands: its slot, and the parity of its pass over the slots.
struct Position {
  Value slot, parity;
};

/// `passesAhead` 1 gives the parity of the pass before.
Position positionOf(ThreadCode &c, tile::ChannelType channel, Value number, int64_t passesAhead, Location loc) {
  OpBuilder &b = c.b;
  Value slots = c.index(channel.getSlots(), loc);
  auto named = [&](const llvm::Twine &n) { return NameLoc::get(b.getStringAttr(n), loc); };
  StringRef whose = number.getDefiningOp() ? cu::findName(number.getLoc()) : StringRef();
  Value slot = arith::RemSIOp::create(b, named(whose == "previous" || whose == "last" ? (whose + "_slot").str() : "slot"), number, slots);
  Value pass = arith::DivSIOp::create(b, loc, number, slots);
  if (passesAhead)
    pass = arith::AddIOp::create(b, loc, pass, c.index(passesAhead, loc));
  return {slot, arith::RemSIOp::create(b, loc, pass, c.index(2, loc))};
}

} // namespace

/// One thread of the block makes `count` mbarriers in each array, which take so many arrivals.
static void initBarriers(ThreadCode &c, int64_t count, ArrayRef<std::pair<Value, int64_t>> arrays, Location loc) {
  c.ifZero(c.thread(loc), "leader", loc, [&] {
    auto loop = scf::ForOp::create(c.b, loc, c.index(0, loc), c.index(count, loc), c.index(1, loc));
    loop.getInductionVar().setLoc(NameLoc::get(c.b.getStringAttr("slot"), loc));
    {
      OpBuilder::InsertionGuard guard(c.b);
      c.b.setInsertionPoint(loop.getBody()->getTerminator());
      for (auto [array, arrivals] : arrays)
        cu::MbarrierInitOp::create(c.b, loc, array, loop.getInductionVar(), arrivals);
    }
    cu::MbarrierFenceOp::create(c.b, loc);
  });
}

/// `q_`, where copies fill slots of q alone.
static std::string nameOfSlots(tile::ChannelOp op) {
  llvm::SmallSetVector<StringRef, 2> names;
  for (Operation *user : op.getResult().getUsers())
    if (auto copy = dyn_cast<tile::RingCopyOp>(user))
      names.insert(cu::findName(copy.getRing().getLoc()));
  return names.size() == 1 && !names.front().empty() ? (names.front() + "_").str() : std::string();
}

void lowerChannel(ThreadCode &c, tile::ChannelOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto type = op.getResult().getType();
  int64_t slots = type.getSlots(), readers = int64_t(c.func.getWarps()) * 32 / type.getReader() * int64_t(c.func.getCluster());
  std::string of = nameOfSlots(op);
  Channel channel{c.sharedArray(slots, c.b.getI64Type(), loc, of + "full"), c.sharedArray(slots, c.b.getI64Type(), loc, of + "empty")};
  c.channels[op] = channel;
  initBarriers(c, slots, {{channel.full, 1 + type.getFillers()}, {channel.empty, readers}}, loc);
}

/// How many threads pass a turn on: one of each warpgroup of a team, or of each warp of a warpgroup. A team that waits for its products in
/// its turn is together by then; a warpgroup that only starts them is not: each of its warps says that it has had the turn, before the next
/// but one can be over.
static int64_t arrivalsOfTurn(ThreadCode &c) { return c.func.getPingpong() == 1 ? 4 : int64_t(c.func.getWarps()) / 4; }

void lowerOrder(ThreadCode &c, tile::OrderOp op) {
  Location loc = cu::unnamed(op.getLoc());
  int64_t teams = op.getResult().getType().getTeams();
  Value turns = c.orders[op] = c.sharedArray(teams, c.b.getI64Type(), loc, "turns");
  initBarriers(c, teams, {{turns, arrivalsOfTurn(c)}}, loc);
}

namespace {

/// Whose a turn is: the team's, and how many it has had before; of one team's turns each of its warpgroups has one.
struct Turn {
  Value team, before;
};

Turn turnOf(ThreadCode &c, Value number, int64_t teams, Location loc) {
  if (c.func.getPingpong() == 1)
    return {c.warpgroup(loc), number};
  return {arith::RemSIOp::create(c.b, loc, number, c.index(teams, loc)), arith::DivSIOp::create(c.b, loc, number, c.index(teams, loc))};
}

} // namespace

/// Barrier g says that a turn of team g may begin. That of team 0 is one phase behind: its first
/// turn begins at once, as the phase before the first is over.
void lowerTakeTurn(ThreadCode &c, tile::TakeTurnOp op) {
  Location loc = cu::unnamed(op.getLoc());
  int64_t teams = op.getOrder().getType().getTeams();
  Turn turn = turnOf(c, c.scalars.lookup(op.getTurn()), teams, loc);
  // Turns of team g > 0 count from 1, those of team 0 from 0.
  Value first = arith::DivSIOp::create(c.b, loc, c.add(turn.team, c.index(teams - 1, loc), loc), c.index(teams, loc));
  Value phase = c.add(c.add(turn.before, first, loc), c.index(1, loc), loc);
  cu::MbarrierWaitOp::create(c.b, loc, c.orders.lookup(op.getOrder()), turn.team, arith::RemSIOp::create(c.b, loc, phase, c.index(2, loc)));
}

/// The number of a thread among the `size` that read together; 0 speaks for them.
static Value threadOf(ThreadCode &c, int64_t size, Location loc) {
  Value thread = c.thread(loc);
  return int64_t(c.func.getWarps()) * 32 == size ? thread : Value(arith::RemSIOp::create(c.b, loc, thread, c.index(size, loc)));
}

void lowerPassTurn(ThreadCode &c, tile::PassTurnOp op) {
  Location loc = cu::unnamed(op.getLoc());
  int64_t teams = op.getOrder().getType().getTeams();
  Turn turn = turnOf(c, c.scalars.lookup(op.getTurn()), teams, loc);
  Value team = arith::RemSIOp::create(c.b, loc, c.add(turn.team, c.index(1, loc), loc), c.index(teams, loc));
  bool byWarp = c.func.getPingpong() == 1;
  if (byWarp)
    cu::WarpSyncOp::create(c.b, loc);
  c.ifZero(threadOf(c, byWarp ? 32 : 128, loc), byWarp ? "warp_leader" : "group_leader", loc,
           [&] { cu::MbarrierArriveOp::create(c.b, loc, c.orders.lookup(op.getOrder()), team, Value()); });
}

namespace {

/// What a copy leaves out, in its lowering.
struct CutTail {
  Tail tail;
  Value left;         ///< points of the index from the tile's first on: of the last tile fewer than it has
  AffineExpr present; ///< of them in the last tile, over the sizes
  int64_t points;     ///< of a tile

  /// Whether this is the last tile.
  Value ends(ThreadCode &c, StringRef base, Location loc) const {
    return arith::CmpIOp::create(c.b, c.named(base + "_ends", loc), arith::CmpIPredicate::slt, left, c.index(points, loc));
  }
};

} // namespace

static std::optional<CutTail> cutTailOf(ThreadCode &c, tile::RingCopyOp op, const Box &box, Location loc) {
  if (!op.getTail())
    return std::nullopt;
  std::optional<Tail> tail = findTail(c.func, op, box);
  assert(tail && "checkLowerable looks at tails");
  AffineExpr extent = c.func.getExtents().getResult(tail->index);
  int64_t points = op.getRing().getType().getShape()[tail->index];
  Value left = arith::SubIOp::create(c.b, c.named(c.indexName(tail->index) + "_left", loc), c.expand(extent, {}, loc),
                                     c.scalars.lookup(op.getOffsets()[tail->index]));
  return CutTail{*tail, left, (extent + (points - 1)) % points + 1, points};
}

/// The bytes of what the copies of an acquire's number leave out; null where they bring all.
static Value absentBytes(ThreadCode &c, tile::AcquireOp acquire) {
  Location loc = cu::unnamed(acquire.getLoc());
  Value sum;
  c.func.walk([&](tile::RingCopyOp op) {
    if (!op.getTail() || findAcquire(op) != acquire)
      return;
    std::string why;
    std::optional<Box> box = findBox(c.func, op, why);
    CutTail cut = *cutTailOf(c, op, *box, loc);
    auto ring = op.getRing().getType();
    int64_t bytes = llvm::product_of(ring.getShape()) * ring.getElementType().getIntOrFloatBitWidth() / 8;
    std::string base = cu::findName(op.getBase().getLoc()).str();
    Value absent;
    if (cut.tail.dim) {
      Value last = c.expand(cut.present - 1, {}, loc);
      Value beyond = c.mul(arith::SubIOp::create(c.b, loc, c.index(cut.points - 1, loc), last), bytes / cut.points,
                           c.named(base + "_beyond", loc)); // bytes
      absent = arith::SelectOp::create(c.b, c.named(base + "_absent", loc), cut.ends(c, base, loc), beyond, c.index(0, loc));
    } else {
      int64_t width = box->sizes[0];
      Value left = cut.left;
      if (c.func.getCluster() > 1 && cut.tail.index == int64_t(c.func.getClusterIndex())) // a cluster's last blocks may have no tile
        left = arith::MaxSIOp::create(c.b, loc, left, c.index(0, loc));
      Value there = arith::DivSIOp::create(c.b, loc, c.add(left, c.index(width - 1, loc), loc), c.index(width, loc));
      there = arith::MinSIOp::create(c.b, loc, there, c.index(box->panels, loc));
      absent =
          c.mul(arith::SubIOp::create(c.b, loc, c.index(box->panels, loc), there), bytes / box->panels, c.named(base + "_absent", loc));
    }
    sum = sum ? c.add(sum, absent, loc) : absent;
  });
  return sum;
}

void lowerAcquire(ThreadCode &c, tile::AcquireOp op) {
  Location loc = cu::unnamed(op.getLoc());
  const Channel &channel = c.channels[op.getChannel()];
  Position at = positionOf(c, op.getChannel().getType(), c.scalars.lookup(op.getNumber()), 1, loc);
  cu::MbarrierWaitOp::create(c.b, loc, channel.empty, at.slot, at.parity);
  c.ifFirstFiller(op.getChannel().getType(), loc, [&] {
    if (op.getBytes())
      cu::MbarrierExpectOp::create(c.b, loc, channel.full, at.slot, op.getBytes(), absentBytes(c, op));
    else // threads copy all of it
      cu::MbarrierArriveOp::create(c.b, loc, channel.full, at.slot, Value());
  });
}

void lowerFilled(ThreadCode &c, tile::FilledOp op) {
  Location loc = cu::unnamed(op.getLoc());
  Position at = positionOf(c, op.getChannel().getType(), c.scalars.lookup(op.getNumber()), 0, loc);
  cu::MbarrierArriveCopiesOp::create(c.b, loc, c.channels[op.getChannel()].full, at.slot);
}

void lowerAwait(ThreadCode &c, tile::AwaitOp op) {
  Location loc = cu::unnamed(op.getLoc());
  Position at = positionOf(c, op.getChannel().getType(), c.scalars.lookup(op.getNumber()), 0, loc);
  cu::MbarrierWaitOp::create(c.b, loc, c.channels[op.getChannel()].full, at.slot, at.parity);
}

bool isFence(tile::FuncOp func, tile::AsyncWaitOp wait) {
  return func.getUnit() == Unit::Wgmma && llvm::any_of(*wait->getBlock(), llvm::IsaPred<tile::DotOp>);
}

/// Whether a fence stands behind all that warps have read of slots themselves in this block. (A later one would also wait for what they
/// do in between: where they add to memory, for as long as that takes.)
static bool isFenced(ThreadCode &c, tile::ReleaseOp op) {
  auto mayRead = [](Operation *inner) {
    bool takesSlot = llvm::any_of(inner->getOperandTypes(), llvm::IsaPred<tile::RingType>);
    return takesSlot && !isa<tile::DotOp, tile::RingStoreOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  };
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    if (auto wait = dyn_cast<tile::AsyncWaitOp>(before); wait && isFence(c.func, wait))
      return true;
    if (before->walk(mayRead).wasInterrupted())
      return false;
  }
  return false;
}

void lowerRelease(ThreadCode &c, tile::ReleaseOp op) {
  Location loc = cu::unnamed(op.getLoc());
  Position at = positionOf(c, op.getChannel().getType(), c.scalars.lookup(op.getNumber()), 0, loc);
  Value empty = c.channels[op.getChannel()].empty;
  int64_t reader = op.getChannel().getType().getReader();
  if (reader == 32) {
    // Its lanes have read, each before a tensor copy overwrites that: loads alone may still be queued, but for those that a
    // product has taken from registers.
    if (!op.getTaken() && !isFenced(c, op))
      cu::ProxyFenceOp::create(c.b, loc);
    cu::WarpSyncOp::create(c.b, loc);
  }
  Value thread = threadOf(c, reader, loc);
  if (c.func.getCluster() == 1)
    return c.ifZero(thread, reader == 32 ? "warp_leader" : "group_leader", loc,
                    [&] { cu::MbarrierArriveOp::create(c.b, loc, empty, at.slot, Value()); });
  // The producer fills for the cluster, so it waits for the readers of all blocks: one thread tells each block.
  Value tells = arith::CmpIOp::create(c.b, loc, arith::CmpIPredicate::slt, thread, c.index(c.func.getCluster(), loc));
  auto branch = scf::IfOp::create(c.b, loc, tells, false);
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  cu::MbarrierArriveOp::create(c.b, loc, empty, at.slot, thread);
}

/// A tensor map parameter for `box` of the tensor behind `base`; with `cut` that of the last tile.
static Value addTensorMap(ThreadCode &c, Value base, const Box &box, Type element, Location loc, const CutTail *cut = nullptr) {
  OpBuilder &b = c.b;
  unsigned argument = cast<BlockArgument>(base).getArgNumber(), symbols = c.func.getSizes().size();
  auto field = [&](StringRef name, Attribute value) { return b.getNamedAttr(name, value); };
  auto map = [&](ArrayRef<AffineExpr> list) { return AffineMapAttr::get(AffineMap::get(0, symbols, list, b.getContext())); };
  SmallVector<AffineExpr> sizes;
  for (auto [d, size] : llvm::enumerate(box.sizes)) {
    sizes.push_back(getAffineConstantExpr(size, b.getContext()));
    if (cut && d == cut->tail.dim)
      sizes.back() = cut->present * (size / cut->points);
  }
  auto source = b.getDictionaryAttr({
      field("tensor_map", b.getI64IntegerAttr(c.func.getSources()[argument])),
      field("shape", AffineMapAttr::get(c.func.getArgShape(argument))),
      field("element", TypeAttr::get(element)), // tf32: f32 that the copy rounds
      field("window", map(box.window)),
      field("strides", map(box.strides)),
      field("box", map(sizes)),
      field("steps", b.getDenseI64ArrayAttr(box.steps)),
      field("swizzle", b.getI64IntegerAttr(box.swizzleBytes)),
  });
  SmallVector<Attribute> sources(c.kernel.getArgSources().getValue());
  if (auto same = llvm::find(sources, source); same != sources.end())
    return c.kernel.getBlock().getArgument(same - sources.begin());
  sources.push_back(source);
  c.kernel.setArgSourcesAttr(b.getArrayAttr(sources));
  std::string name = (cu::findName(base.getLoc()) + "_map").str();
  return c.kernel.getBlock().addArgument(cu::memrefIn({128}, b.getI8Type(), cu::Param), NameLoc::get(b.getStringAttr(name), loc));
}

/// Where a part of a box starts: in elements of the slot, and per coordinate. Null: at
/// the start of the whole.
struct Share {
  explicit Share(const Box &box) : coordinates(box.sizes.size()) {}
  Value element;
  SmallVector<Value> coordinates;
};

/// Part `rank` of `parts` along the slowest dim: rows. `box` becomes the part.
static Share takeRows(ThreadCode &c, Box &box, tile::RingType ring, int64_t parts, Value rank, Location loc) {
  Share share(box);
  size_t slowest = slowestDim(box);
  tile::SlotLayout slot = SlotAddress::layoutOf(ring);
  box.sizes[slowest] /= parts;
  share.element = c.mul(rank, slot.rows / parts * slot.width, c.named("own_start", loc));
  share.coordinates[slowest] = c.mul(rank, box.sizes[slowest] * box.steps[slowest], c.named("own_row", loc));
  return share;
}

/// Part `rank` of `parts` along the contiguous dim: whole panels. `box` becomes the part.
static Share takePanels(ThreadCode &c, Box &box, tile::RingType ring, int64_t parts, Value rank, Location loc) {
  Share share(box);
  tile::SlotLayout slot = SlotAddress::layoutOf(ring);
  box.panels /= parts;
  share.element = c.mul(rank, box.panels * slot.rows * slot.width, c.named("own_start", loc));
  share.coordinates[0] = c.mul(rank, box.panels * slot.width, c.named("own_column", loc));
  return share;
}

/// This block's part of `box` when `blocks` of a cluster bring it together: some of its
/// panels, or rows. `box` becomes the part.
static Share takeShare(ThreadCode &c, Box &box, tile::RingType ring, int64_t blocks, Location loc) {
  assert(canShareBox(box, blocks) && "tile-pipeline shares what can be shared");
  Value rank = cu::ClusterRankOp::create(c.b, NameLoc::get(c.b.getStringAttr("rank"), loc), c.b.getIndexType());
  return box.panels % blocks ? takeRows(c, box, ring, blocks, rank, loc) : takePanels(c, box, ring, blocks, rank, loc);
}

/// The copies that make up `box`, the part `share` of what slot `number` holds from offsets `at` on (and what data says behind them):
/// `visit(coordinates, first element, columns before it)`; null: none.
static void forEachPanel(ThreadCode &c, Value base, const Box &box, const Share &share, tile::RingType ring, Value number,
                         ArrayRef<Value> at, Location loc, llvm::function_ref<void(ArrayRef<Value>, Value, Value)> visit) {
  SlotAddress address(c, ring, loc);
  const tile::SlotLayout &slot = address.layout();
  Value start = address.slotStart(number);
  SmallVector<Value> whole;
  for (AffineExpr e : box.starts)
    whole.push_back(c.expand(e, at, c.named(cu::findName(base.getLoc()) + "_start", loc)));
  OpenDigits open;
  c.overDigits(tile::Digit{int64_t(ring.getContiguous()), slot.width, box.panels}, loc, open, [&] {
    auto perPanel = [&](int64_t elements) { return box.panels > 1 ? c.mul(open.digits.front().second, elements, loc) : Value(); };
    SmallVector<Value> coordinates(whole);
    Value column = perPanel(slot.width);
    coordinates[0] = c.add(whole[0], column, loc);
    Value element = c.add(start, perPanel(slot.rows * slot.width), loc);
    for (auto [coordinate, more] : llvm::zip(coordinates, share.coordinates))
      coordinate = c.add(coordinate, more, loc);
    visit(coordinates, c.add(element, share.element, loc), c.add(column, share.coordinates[0], loc));
  });
}

void lowerBoxStore(ThreadCode &c, tile::BoxStoreOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  std::string why;
  std::optional<Box> box = findStoreBox(c.func, op.getBase(), op.getMap(), ring, why);
  assert(box && "tile-stage-stores makes only boxes");
  int64_t groups = c.func.getWarps() / 4;
  bool byPanels = int64_t(op.getShared()) == ring.getContiguous();
  Share share = groups == 1 ? Share(*box)
                : byPanels  ? takePanels(c, *box, ring, groups, c.warpgroup(loc), loc)
                            : takeRows(c, *box, ring, groups, c.warpgroup(loc), loc);
  Value map = addTensorMap(c, op.getBase(), *box, ring.getElementType(), loc);
  cu::ProxyFenceOp::create(c.b, loc);
  c.syncWarpgroup(loc);
  c.ifZero(threadOf(c, 128, loc), "group_leader", loc, [&] {
    forEachPanel(c, op.getBase(), *box, share, ring, c.scalars.lookup(op.getNumber()), c.scalarsOf(op.getOffsets()), loc,
                 [&](ArrayRef<Value> coordinates, Value from, Value) {
                   cu::TmaStoreOp::create(c.b, loc, map, c.rings.lookup(op.getRing()), from, coordinates);
                 });
    cu::TmaCommitOp::create(c.b, loc);
  });
}

void lowerBoxDrain(ThreadCode &c, tile::BoxDrainOp op) {
  Location loc = cu::unnamed(op.getLoc());
  c.ifZero(threadOf(c, 128, loc), "group_leader", loc, [&] { cu::TmaWaitReadOp::create(c.b, loc, op.getPending()); });
  if (op->getNextNode()) // at the end no slot is written again
    c.syncWarpgroup(loc);
}

void lowerBoxCopy(ThreadCode &c, tile::RingCopyOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  std::string why;
  std::optional<Box> box = findBox(c.func, op, why);
  assert(box && "tile-pipeline lets only boxes through");
  Value number = c.scalars.lookup(op.getNumber());
  Position at = positionOf(c, op.getChannel().getType(), number, 0, loc);
  int64_t blocks = op.getMulticast() ? c.func.getCluster() : 1;
  tile::SlotLayout slot = SlotAddress::layoutOf(ring);
  const Box whole = *box;
  Share share = blocks > 1 ? takeShare(c, *box, ring, blocks, loc) : Share(*box);
  Type element = op.getRounded() ? Type(FloatTF32Type::get(c.b.getContext())) : ring.getElementType();
  std::optional<CutTail> cut = cutTailOf(c, op, whole, loc);
  Value map = addTensorMap(c, op.getBase(), *box, element, loc), last, ends;
  if (cut && cut->tail.dim) {
    last = addTensorMap(c, op.getBase(), *box, element, loc, &*cut);
    ends = cut->ends(c, cu::findName(op.getBase().getLoc()), loc);
  }
  // Copies of parts of rows leave lines that the next part's still takes from: they are not to leave first
  // (docs/lab/2026-11-26-attention-3.md).
  bool isStreaming = op.getStreaming() && box->panels == 1;
  const Pieces &pieces = box->pieces;
  SmallVector<Value> byData = c.scalarsOf(op.getIndices());
  size_t each = byData.size() / pieces.count;
  for (int64_t piece = 0; piece < pieces.count; ++piece) {
    SmallVector<Value> from = c.scalarsOf(op.getOffsets());
    if (piece) {
      from[pieces.along] = c.add(from[pieces.along], c.index(piece * pieces.points, loc), loc);
      share.element = c.index(piece * slot.rows / pieces.count * slot.width, loc);
    }
    llvm::append_range(from, ArrayRef(byData).slice(piece * each, each));
    auto bring = [&](ArrayRef<Value> coordinates, Value to) {
      cu::TmaLoadOp::create(c.b, loc, map, c.rings.lookup(op.getRing()), to, c.channels[op.getChannel()].full, at.slot, coordinates, last,
                            ends, blocks > 1 ? (int64_t(1) << blocks) - 1 : 0, isStreaming);
    };
    forEachPanel(c, op.getBase(), *box, share, ring, number, from, loc, [&](ArrayRef<Value> coordinates, Value to, Value column) {
      Value there; // (a panel begins before the index's end, or lies beyond it)
      if (cut && !cut->tail.dim)
        there = arith::CmpIOp::create(c.b, loc, arith::CmpIPredicate::slt, column ? column : c.index(0, loc), cut->left);
      c.inBranch(there, loc, [&] { bring(coordinates, to); });
    });
  }
}

} // namespace kernelc
