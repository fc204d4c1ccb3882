// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/ThreadCode.h"

#include "ir/cu/Marks.h"
#include "passes/index/Affine.h"
#include "passes/tile/RoundMasks.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Layout;

std::string ThreadCode::registerName(StringRef name, const llvm::Twine &suffix) {
  bool isTensor = llvm::any_of(func.getBlock().getArguments(), [&](Value arg) { return cu::findName(arg.getLoc()) == name; });
  return isTensor ? (name + suffix).str() : name.str();
}

std::string ThreadCode::loopName(const Digit &d) {
  if (d.dim < 0)
    return "r";
  return indexName(d.dim).str() + (d.stride == 1 ? "_elem" : "_by" + std::to_string(d.stride));
}

Value ThreadCode::index(int64_t v, Location loc) { return arith::ConstantIndexOp::create(b, loc, v); }

Value ThreadCode::add(Value x, Value y, Location loc) {
  if (!x || !y)
    return x ? x : y;
  if (matchPattern(x, m_Zero()))
    return y;
  if (matchPattern(y, m_Zero()))
    return x;
  return arith::AddIOp::create(b, loc, x, y);
}

Value ThreadCode::mul(Value x, int64_t k, Location loc) { return k == 1 ? x : arith::MulIOp::create(b, loc, x, index(k, loc)); }

Value ThreadCode::expand(AffineExpr e, ValueRange dims, Location loc, bool computed) {
  Value v = expandAs(e, dims, loc, computed);
  if (Operation *op = v.getDefiningOp(); computed && op && isa<AffineBinaryOpExpr>(e))
    cu::kComputed.putOn(op);
  return v;
}

/// Whether a form is never negative. What data say, behind the launch's indices, is any number, and so is a place before an aligned row.
static bool isNatural(tile::FuncOp func, AffineExpr e) {
  auto mayBeNegative = [&](AffineExpr part) {
    auto d = dyn_cast<AffineDimExpr>(part);
    bool isAny = d && (d.getPosition() >= func.getRank() || func.mayBeginBefore(d.getPosition()));
    return isAny ? WalkResult::interrupt() : WalkResult::advance();
  };
  return te::isNonNegative(e) && !e.walk(mayBeNegative).wasInterrupted();
}

Value ThreadCode::expandAs(AffineExpr e, ValueRange dims, Location loc, bool computed) {
  switch (e.getKind()) {
  case AffineExprKind::Constant: return index(cast<AffineConstantExpr>(e).getValue(), loc);
  case AffineExprKind::DimId: return dims[cast<AffineDimExpr>(e).getPosition()];
  case AffineExprKind::SymbolId: return sizes[cast<AffineSymbolExpr>(e).getPosition()];
  default: break;
  }
  auto bin = cast<AffineBinaryOpExpr>(e);
  Location plain = cu::unnamed(loc); // a name is that of the whole
  Value x = expand(bin.getLHS(), dims, plain, computed);
  // x + y * -1 reads better as x - y.
  if (e.getKind() == AffineExprKind::Add) {
    if (auto m = dyn_cast<AffineBinaryOpExpr>(bin.getRHS()); m && m.getKind() == AffineExprKind::Mul)
      if (auto c = dyn_cast<AffineConstantExpr>(m.getRHS()); c && c.getValue() == -1)
        return arith::SubIOp::create(b, loc, x, expand(m.getLHS(), dims, plain, computed));
    if (auto c = dyn_cast<AffineConstantExpr>(bin.getRHS()); c && c.getValue() < 0)
      return arith::SubIOp::create(b, loc, x, index(-c.getValue(), loc));
    return add(x, expand(bin.getRHS(), dims, plain, computed), loc);
  }
  Value y = expand(bin.getRHS(), dims, plain, computed);
  bool natural = isNatural(func, bin.getLHS()) && isNatural(func, bin.getRHS());
  switch (e.getKind()) {
  case AffineExprKind::Mul: return arith::MulIOp::create(b, loc, x, y);
  case AffineExprKind::FloorDiv: return natural ? Value(arith::DivSIOp::create(b, loc, x, y)) : arith::FloorDivSIOp::create(b, loc, x, y);
  case AffineExprKind::CeilDiv:
    if (natural) {
      Value more = arith::AddIOp::create(b, plain, x, arith::SubIOp::create(b, plain, y, index(1, plain)));
      return arith::DivSIOp::create(b, loc, more, y);
    }
    return arith::CeilDivSIOp::create(b, loc, x, y);
  default: {
    if (natural)
      return arith::RemSIOp::create(b, loc, x, y);
    Value q = arith::FloorDivSIOp::create(b, plain, x, y);
    return arith::SubIOp::create(b, loc, x, arith::MulIOp::create(b, plain, q, y));
  }
  }
}

/// The number of the warpgroup in the block.
static Value blockWarpgroup(ThreadCode &c, Location loc) {
  return cu::WarpgroupOp::create(c.b, c.named("warpgroup", loc), c.b.getIndexType());
}

void ThreadCode::syncWarpgroup(Location loc) {
  Value number = func.getConsumerWarps() > 4 ? blockWarpgroup(*this, loc) : Value();
  Value id = add(number, index(2, loc), named("barrier", loc));
  cu::NamedSyncOp::create(b, loc, id, 128);
}

void ThreadCode::syncTeam(Location loc) {
  int64_t groups = std::max<int64_t>(1, int64_t(func.getConsumerWarps()) / 4);
  Value id = index(2 + groups, loc); // behind the warpgroups' own
  cu::NamedSyncOp::create(b, loc, func.getPingpong() > 1 ? add(team(loc), id, named("barrier", loc)) : id, int64_t(func.getWarps()) * 32);
}

Value ThreadCode::warpgroup(Location loc) {
  int64_t groups = func.getWarps() / 4;
  if (groups <= 1)
    return index(0, loc);
  Value number = blockWarpgroup(*this, loc);
  return inTeam && func.getPingpong() > 1 ? Value(arith::RemSIOp::create(b, loc, number, index(groups, loc))) : number;
}

Value ThreadCode::team(Location loc) {
  Value number = blockWarpgroup(*this, loc);
  int64_t groups = func.getWarps() / 4;
  return groups > 1 ? Value(arith::DivSIOp::create(b, loc, number, index(groups, loc))) : number;
}

Value ThreadCode::thread(Location loc) {
  Value number = cu::ThreadIdOp::create(b, loc, b.getIndexType());
  if (firstThread) {
    int64_t fillers = int64_t(func.getProducerWarps()) * 32;
    if (firstThread % fillers == 0) // which no compiler takes for negative
      return arith::RemSIOp::create(b, named("filler", loc), number, index(fillers, loc));
    return arith::SubIOp::create(b, named("filler", loc), number, index(firstThread, loc));
  }
  return inTeam && func.getPingpong() > 1 ? Value(arith::RemSIOp::create(b, loc, number, index(func.getWarps() * 32, loc))) : number;
}

Value ThreadCode::lane(Location loc) { return arith::RemSIOp::create(b, named("lane", loc), thread(loc), index(32, loc)); }

Value ThreadCode::warp(Location loc) { return arith::DivSIOp::create(b, named("warp", loc), thread(loc), index(32, loc)); }

Value ThreadCode::digitOf(Value number, ArrayRef<int64_t> sizes, size_t i, Location loc) {
  int64_t before = 1, total = 1;
  for (auto [j, size] : llvm::enumerate(sizes)) {
    before *= j < i ? size : 1;
    total *= size;
  }
  if (before > 1)
    number = arith::DivSIOp::create(b, loc, number, index(before, loc));
  if (before * sizes[i] < total)
    number = arith::RemSIOp::create(b, loc, number, index(sizes[i], loc));
  return number;
}

/// `nameOf`: of a digit that is a coordinate by itself.
static void forDigits(ThreadCode &c, ArrayRef<Digit> digits, Value number, Location loc,
                      llvm::function_ref<std::string(const Digit &)> nameOf, llvm::function_ref<void(const Digit &, Value)> visit) {
  SmallVector<int64_t> sizes = llvm::map_to_vector(digits, [](const Digit &d) { return d.size; });
  for (auto [i, d] : llvm::enumerate(digits))
    if (d.size > 1)
      visit(d, c.digitOf(number, sizes, i, d.dim >= 0 && d.stride == 1 ? c.named(nameOf(d), loc) : loc));
}

SmallVector<Value> ThreadCode::threadCoordinates(const Layout &layout, int64_t rank, Location loc) {
  SmallVector<Value> coords(rank);
  auto partsOf = [&](int64_t dim) {
    auto isPart = [&](const Digit &d) { return d.dim == dim && d.size > 1; };
    return llvm::count_if(layout.lane, isPart) + llvm::count_if(layout.warp, isPart);
  };
  for (bool isLane : {true, false}) {
    const tile::Digits &digits = isLane ? layout.lane : layout.warp;
    if (llvm::none_of(digits, [](const Digit &d) { return d.dim >= 0; }))
      continue;
    // The sum of several parts is the thread's.
    auto nameOf = [&](const Digit &d) { return indexName(d.dim).str() + (partsOf(d.dim) == 1 ? "_thread" : isLane ? "_lane" : "_warp"); };
    forDigits(*this, digits, isLane ? lane(loc) : warp(loc), loc, nameOf, [&](const Digit &d, Value v) {
      if (d.dim >= 0)
        coords[d.dim] = add(coords[d.dim], mul(v, d.stride, named(nameOf(d), loc)), named(indexName(d.dim) + "_thread", loc));
    });
  }
  return coords;
}

SmallVector<Value> ThreadCode::coordinates(const Layout &layout, const OpenDigits &open, int64_t rank, Location loc) {
  SmallVector<Value> coords = threadCoordinates(layout, rank, loc);
  for (const Digit &d : layout.reg)
    if (Value v = open.valueOf(d))
      coords[d.dim] = add(coords[d.dim], mul(v, d.stride, loc), named(indexName(d.dim) + "_in", loc));
  return coords;
}

Value ThreadCode::registerCoordinate(const Layout &layout, const OpenDigits &open, int64_t dim, Location loc) {
  Value sum;
  for (const Digit &d : layout.reg)
    if (Value v = d.dim == dim ? open.valueOf(d) : Value())
      sum = add(sum, mul(v, d.stride, loc), named(indexName(dim) + "_in", loc));
  return sum;
}

Value ThreadCode::isFirstReplica(const Layout &layout, Location loc) {
  Value all;
  auto visit = [&](const Digit &d, Value v) {
    if (d.dim >= 0)
      return;
    Value zero = arith::CmpIOp::create(b, named("writes", loc), arith::CmpIPredicate::eq, v, index(0, loc));
    all = all ? Value(arith::AndIOp::create(b, named("writes", loc), all, zero)) : zero;
  };
  auto any = [](const tile::Digits &list) { return llvm::any_of(list, [](const Digit &d) { return d.dim < 0 && d.size > 1; }); };
  auto nameOf = [&](const Digit &d) { return indexName(d.dim).str() + "_thread"; };
  if (any(layout.lane))
    forDigits(*this, layout.lane, lane(loc), loc, nameOf, visit);
  if (any(layout.warp))
    forDigits(*this, layout.warp, warp(loc), loc, nameOf, visit);
  return all;
}

Value ThreadCode::registerIndex(const Layout &layout, const OpenDigits &open, Location loc) {
  Value r;
  int64_t before = 1;
  for (const Digit &d : layout.reg) {
    if (Value v = open.valueOf(d))
      r = add(r, mul(v, before, loc), named("reg", loc));
    before *= d.size;
  }
  return r ? r : index(0, loc);
}

Value ThreadCode::allocate(int64_t count, Type element, Location loc) {
  return memref::AllocaOp::create(b, loc, cu::memrefIn({count}, element, cu::Private));
}

void ThreadCode::overDigits(ArrayRef<Digit> digits, Location loc, OpenDigits &open, llvm::function_ref<void()> body) {
  if (digits.empty())
    return body();
  const Digit &d = digits.back(); // slowest
  if (d.size == 1) {
    open.digits.push_back({d, index(0, loc)});
    overDigits(digits.drop_back(), loc, open, body);
    open.digits.pop_back();
    return;
  }
  auto loop = scf::ForOp::create(b, loc, index(0, loc), index(d.size, loc), index(1, loc));
  loop.getInductionVar().setLoc(named(loopName(d), loc));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  open.digits.push_back({d, loop.getInductionVar()});
  overDigits(digits.drop_back(), loc, open, body);
  open.digits.pop_back();
}

void ThreadCode::inBranch(Value condition, Location loc, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

void ThreadCode::ifZero(Value number, StringRef name, Location loc, llvm::function_ref<void()> body) {
  inBranch(arith::CmpIOp::create(b, named(name, loc), arith::CmpIPredicate::eq, number, index(0, loc)), loc, body);
}

void ThreadCode::ifFirstFiller(tile::ChannelType channel, Location loc, llvm::function_ref<void()> body) {
  if (channel.getFillers())
    ifZero(thread(loc), "first_filler", loc, body);
  else
    body();
}

Value ThreadCode::sharedArray(int64_t count, Type element, Location loc, StringRef name, int64_t alignment) {
  int64_t bits = std::max(8u, element.isIndex() ? 64u : element.getIntOrFloatBitWidth());
  int64_t bytes = llvm::alignTo(count * bits / 8, kSharedUnit);
  auto gap = llvm::find_if(sharedGaps, [&](auto &g) { return alignment == kSharedUnit && g.second - g.first >= bytes; });
  int64_t offset;
  if (gap != sharedGaps.end()) {
    offset = gap->first;
    gap->first += bytes;
  } else {
    offset = llvm::alignTo(sharedBytes, alignment);
    if (sharedBytes < offset)
      sharedGaps.push_back({sharedBytes, offset});
    sharedBytes = offset + bytes;
  }
  return cu::SharedOp::create(b, named(name, loc), cu::memrefIn({count}, element, cu::Shared), offset);
}

Value ThreadCode::loadRegister(const RegTile &t, const OpenDigits &open, Location loc) {
  Location plain = cu::unnamed(loc);
  Value r = registerIndex(t.layout, open, plain);
  return memref::LoadOp::create(b, loc, t.array, t.first ? add(r, index(t.first, plain), plain) : r);
}

void overSteps(ThreadCode &c, int64_t mask, int64_t lanes, SmallVector<Value> &state, Location loc,
               llvm::function_ref<SmallVector<Value>(Value, ValueRange, ValueRange)> combined) {
  if (lanes < 2)
    return;
  auto loop = scf::ForOp::create(c.b, loc, c.index(0, loc), c.index(int64_t(llvm::Log2_64_Ceil(lanes)), loc), c.index(1, loc), state);
  loop.getInductionVar().setLoc(c.named("step", loc));
  for (auto [before, carried] : llvm::zip(state, loop.getRegionIterArgs())) {
    StringRef name = cu::findName(before.getLoc());
    carried.setLoc(c.named(name.empty() ? "partial" : name, loc));
  }
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPointToEnd(loop.getBody());
  Value step = loop.getInductionVar();
  SmallVector<Value> other = llvm::map_to_vector(
      loop.getRegionIterArgs(), [&](Value v) -> Value { return cu::ShuffleXorOp::create(c.b, loc, v.getType(), v, uint64_t(mask), step); });
  scf::YieldOp::create(c.b, loc, combined(step, loop.getRegionIterArgs(), other));
  state = llvm::to_vector_of<Value>(loop.getResults());
}

Speakers findSpeakers(ThreadCode &c, const tile::Digits &lane, llvm::function_ref<bool(const Digit &)> isJoined, Location loc) {
  SmallVector<int64_t> all = llvm::map_to_vector(lane, [](const Digit &d) { return d.size; });
  Speakers s;
  for (auto [i, d] : llvm::enumerate(lane)) {
    if (d.size == 1)
      continue;
    Value digit = c.digitOf(c.lane(loc), all, i, loc);
    if (!isJoined(d) && d.dim >= 0) {
      s.place = c.add(s.place, c.mul(digit, s.places, loc), loc);
      s.places *= d.size;
      continue;
    }
    Value first = arith::CmpIOp::create(c.b, c.named("first_lane", loc), arith::CmpIPredicate::eq, digit, c.index(0, loc));
    s.speaks = s.speaks ? Value(arith::AndIOp::create(c.b, c.named("first_lane", loc), s.speaks, first)) : first;
  }
  return s;
}

Value scaled(ThreadCode &code, Value subscript, AffineExpr stride, Location loc) {
  if (auto constant = dyn_cast<AffineConstantExpr>(stride))
    return code.mul(subscript, constant.getValue(), loc);
  return arith::MulIOp::create(code.b, loc, subscript, code.expand(stride, {}, loc));
}

bool isRematerialized(Operation *op) {
  if (auto load = dyn_cast_or_null<tile::RingLoadOp>(op))
    return isStoredAtOnce(load);
  if (auto broadcast = dyn_cast_or_null<tile::BroadcastOp>(op))
    return isa_and_nonnull<tile::IndexOp>(broadcast.getInput().getDefiningOp());
  return op && op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) &&
         isa<arith::ConstantOp, tile::SplatOp, tile::IndexOp, tile::InsideOp>(op);
}

Value ThreadCode::element(Value tileValue, const OpenDigits &open, Location loc) {
  if (Value other = readAs.lookup(tileValue))
    return element(other, open, loc);
  Operation *op = tileValue.getDefiningOp();
  if (!isRematerialized(op))
    return loadRegister(tiles.lookup(tileValue), open, loc);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return element(broadcast.getInput(), open, loc);
  Value v;
  int64_t rank = cast<RankedTensorType>(tileValue.getType()).getRank();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    v = arith::ConstantOp::create(b, loc, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  } else if (auto splat = dyn_cast<tile::SplatOp>(op)) {
    v = scalars.lookup(splat.getInput());
  } else if (auto index = dyn_cast<tile::IndexOp>(op)) {
    loc = cu::unnamed(loc);
    SmallVector<Value> coords = coordinates(tile::getLayout(tileValue), open, rank, loc);
    v = add(scalars.lookup(index.getOffset()), coords[index.getDim()], named(indexName(index.getDim()), loc));
  } else {
    auto inside = cast<tile::InsideOp>(op);
    loc = cu::unnamed(loc);
    SmallVector<Value> coords = coordinates(tile::getLayout(tileValue), open, rank, loc);
    for (int64_t d : inside.getMask()) {
      Value offset = scalars.lookup(inside.getOffsets()[d]), end = expand(func.getExtent(d), {}, loc), at;
      if (isRoundOfProducts(inside->getParentOp()) && !func.isAlignedAlong(unsigned(d))) {
        // One number a round for all of a thread's points, which differ by constants.
        Value first = add(offset, threadCoordinates(tile::getLayout(tileValue), rank, loc)[d], loc);
        at = registerCoordinate(tile::getLayout(tileValue), open, d, loc);
        end = arith::SubIOp::create(b, named(indexName(d) + "_room", loc), end, first);
      } else {
        at = add(offset, coords[d], named(indexName(d), loc));
      }
      at = at ? at : this->index(0, loc);
      Value below = arith::CmpIOp::create(b, named(indexName(d) + "_inside", loc), arith::CmpIPredicate::slt, at, end);
      if (func.mayBeginBefore(unsigned(d))) {
        Value begun = arith::CmpIOp::create(b, named(indexName(d) + "_begun", loc), arith::CmpIPredicate::sge, at, this->index(0, loc));
        below = arith::AndIOp::create(b, named("inside", loc), begun, below);
      }
      v = v ? Value(arith::AndIOp::create(b, named("inside", loc), v, below)) : below;
    }
  }
  return v;
}

Value openLoop(ThreadCode &c, int64_t from, int64_t to, int64_t step, StringRef name, Location loc) {
  if (to - from <= step)
    return c.index(from, loc);
  auto loop = scf::ForOp::create(c.b, loc, c.index(from, loc), c.index(to, loc), c.index(step, loc));
  loop.getInductionVar().setLoc(c.named(name, loc));
  c.b.setInsertionPoint(loop.getBody()->getTerminator());
  return loop.getInductionVar();
}

void shareOut(ThreadCode &c, int64_t count, int64_t threads, StringRef name, Location loc, llvm::function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard guard(c.b);
  Value number = c.add(openLoop(c, 0, count, threads, (name + "0").str(), loc), c.thread(loc), c.named(name, loc)), mine;
  if (count % threads)
    mine = arith::CmpIOp::create(c.b, loc, arith::CmpIPredicate::slt, number, c.index(count, loc));
  c.inBranch(mine, loc, [&] { body(number); });
}

} // namespace kernelc
