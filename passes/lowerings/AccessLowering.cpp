// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the elements of an access are, and how many of them an instruction takes.
#include "passes/lowerings/AccessLowering.h"

#include "passes/index/Affine.h"
#include "passes/lowerings/MaskNames.h"
#include "passes/tile/RowVector.h"
#include "passes/tile/SideBySide.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Layout;

AccessLowering::AccessLowering(ThreadCode &c, AffineMap map, Value base, Value tileValue, OperandRange offsets, ArrayRef<int64_t> mask,
                               Location loc)
    : c_(c), map_(map), shape_(shapeOfBase(c.func, base)), tensor_(base), base_(c.bases.lookup(base)), offsets_(offsets),
      tile_(cast<RankedTensorType>(tileValue.getType()).getShape()), mask_(mask.begin(), mask.end()),
      strides_(layoutOfBase(c.func, base).strides), layout_(tile::getLayout(tileValue)),
      rank_(cast<RankedTensorType>(tileValue.getType()).getRank()), loc_(loc) {
  int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
  bool isLoad = tileValue.getDefiningOp<tile::LoadOp>() && tileValue.getDefiningOp<tile::LoadOp>().getBase() == base;
  ContiguousRun run = isLoad ? contiguousRun(c.func, base, map, tile_) : ContiguousRun{contiguousDim(c.func, base, map, tile_)};
  bool liesAlong = !layout_.reg.empty() && run.dim >= 0 && layout_.reg[0].dim == run.dim && layout_.reg[0].stride == 1;
  int64_t most = liesAlong ? layout_.reg[0].size & -layout_.reg[0].size : 1; // (of 5 taps no vector of 4 has the last)
  vector_ = provableVector(c.func, base, map, run, llvm::is_contained(mask, run.dim), std::min(16 / bytes * run.perElement, most));
  if (vector_ == 1) {
    vector_ = rowVector(c.func, base, map, run, std::min(16 / bytes, most));
    partial_ = vector_ > 1;
  }
  if (vector_ > 1)
    run_ = run;
  else if (isLoad)
    shiftVectors(base, run, llvm::is_contained(mask, run.dim), std::min(16 / bytes, most));
}

void AccessLowering::shiftVectors(Value base, const ContiguousRun &run, bool ragged, int64_t most) {
  if (run.dim < 0 || run.step != 1 || run.perElement != 1)
    return;
  int64_t offset = 0;
  for (auto [term, by] : te::splitTerms(map_.getResults().back()))
    if (auto c = dyn_cast<AffineConstantExpr>(term))
      offset += c.getValue() * by;
  for (int64_t v = llvm::bit_floor(uint64_t(most)); v > 1; v /= 2) {
    ContiguousRun shifted{run.dim, 1, 1, (offset % v + v) % v};
    if (shifted.phase == 0 || provableVector(c_.func, base, map_, shifted, ragged, v) != v)
      continue;
    vector_ = v;
    run_ = shifted;
    return;
  }
}

void AccessLowering::scalarOnly() {
  vector_ = 1;
  run_ = {};
  partial_ = false;
}

tile::Digits AccessLowering::cutIntoBatches(int64_t most) {
  int64_t batches = llvm::divideCeil(layout_.numRegisters(), most);
  if (batches == 1 || layout_.reg.back().size % batches)
    return {};
  Digit slowest = layout_.reg.pop_back_val();
  int64_t size = slowest.size / batches;
  layout_.reg.push_back({slowest.dim, slowest.stride, size});
  layout_.reg.push_back({slowest.dim, slowest.stride * size, batches});
  return {layout_.reg.back()};
}

std::optional<AccessLowering::MeetingDigits> AccessLowering::findMeeting() const {
  auto isFree = [&](int64_t d) { return d >= 0 && (!llvm::is_contained(mask_, d) || llvm::is_contained(c_.func.getGridDims(), d)); };
  auto matches = [&](const Digit &one, const Digit &other) -> std::optional<MeetingDigits> {
    if (!isFree(one.dim) || !isFree(other.dim) || one.dim == other.dim)
      return std::nullopt;
    MeetingDigits found{one, other, 0};
    for (auto [r, e] : llvm::enumerate(map_.getResults())) {
      if (!e.isFunctionOfDim(one.dim) && !e.isFunctionOfDim(other.dim))
        continue;
      int64_t own = te::linearCoefficient(e, one.dim).value_or(0) * one.stride;
      int64_t term = te::linearCoefficient(e, other.dim).value_or(0) * other.stride;
      if (own <= 0 || term <= 0 || term % own || (found.by && found.by != term / own))
        return std::nullopt;
      found.by = term / own;
      found.subscripts.push_back(r);
    }
    return found.by && found.points() < one.size * other.size ? std::optional(found) : std::nullopt;
  };
  std::optional<MeetingDigits> best;
  ArrayRef<Digit> digits = ArrayRef(layout_.reg).drop_front(vector_ > 1 ? 1 : 0); // (vectors stay whole)
  for (const Digit &one : digits)
    for (const Digit &other : digits)
      if (auto found = matches(one, other))
        if (!best || found->points() * best->one.size * best->other.size < best->points() * one.size * other.size)
          best = found;
  return best;
}

void AccessLowering::joinDigits(const MeetingDigits &meeting) {
  Digit joined{meeting.one.dim, meeting.one.stride, meeting.points()};
  llvm::erase_if(layout_.reg, [&](const Digit &d) { return d == meeting.one || d == meeting.other; });
  layout_.reg.insert(layout_.reg.begin() + (vector_ > 1 ? 1 : 0), joined);
}

void AccessLowering::forEachVector(llvm::function_ref<void(Value, OpenDigits &)> body) {
  OpenDigits open;
  ArrayRef<Digit> digits = layout_.reg;
  if (vector_ == 1)
    return c_.overDigits(digits, loc_, open, [&] { body(c_.registerIndex(layout_, open, loc_), open); });
  Digit first = digits.front();
  c_.overDigits(digits.drop_front(), loc_, open, [&] {
    // The vector digit in steps of the vector.
    auto step = [&](Value v) {
      open.digits.push_back({first, v});
      body(c_.registerIndex(layout_, open, loc_), open);
      open.digits.pop_back();
    };
    if (first.size == vector_)
      return step(c_.index(0, loc_));
    auto loop = scf::ForOp::create(c_.b, loc_, c_.index(0, loc_), c_.index(first.size, loc_), c_.index(vector_, loc_));
    OpBuilder::InsertionGuard guard(c_.b);
    c_.b.setInsertionPoint(loop.getBody()->getTerminator());
    step(loop.getInductionVar());
  });
}

SmallVector<Value> AccessLowering::coordinates(const OpenDigits &open) {
  SmallVector<Value> coords = c_.coordinates(layout_, open, rank_, loc_);
  for (auto [d, v] : llvm::enumerate(coords)) {
    v = c_.add(c_.scalars.lookup(offsets_[d]), v, c_.named(c_.indexName(d), loc_));
    if (!v)
      v = c_.index(0, loc_);
  }
  for (int64_t d : clamped_) {
    int64_t last = vector_ > 1 && layout_.reg[0].dim == d ? vector_ : 1;
    coords[d] = arith::MinSIOp::create(c_.b, c_.named(c_.indexName(d), loc_), coords[d], c_.expand(c_.func.getExtent(d) - last, {}, loc_));
  }
  return coords;
}

SmallVector<Value> AccessLowering::subscripts(ValueRange coords) {
  SmallVector<Value> out;
  for (AffineExpr e : map_.getResults())
    out.push_back(subscriptAt(c_, e, coords, loc_));
  return out;
}

std::optional<AccessLowering::SideBySideVectors> AccessLowering::findSideBySide(int64_t most) {
  for (int64_t count = most; count > 1; count /= 2)
    if (std::optional<tile::Digits> others = SideBySide(c_.func, tensor_, map_, mask_, tile_, layout_).find(count))
      return SideBySideVectors{count, *others};
  return std::nullopt;
}

void AccessLowering::forEachSideBySide(const SideBySideVectors &vectors, llvm::function_ref<void(Value, const OpenDigits &)> body) {
  Layout firsts = {vectors.others, layout_.lane, layout_.warp}; // of each vector's registers
  std::swap(firsts, layout_);
  OpenDigits open;
  c_.overDigits(vectors.others, loc_, open, [&] { body(c_.mul(c_.registerIndex(layout_, open, loc_), vectors.count, loc_), open); });
  std::swap(firsts, layout_);
}

SmallVector<Value> AccessLowering::subscriptsByParts(const OpenDigits &open) {
  // What registers differ by, over their digits.
  MLIRContext *context = map_.getContext();
  SmallVector<AffineExpr> own(rank_, getAffineConstantExpr(0, context));
  SmallVector<Value> digits;
  for (auto &[digit, v] : open.digits) {
    own[digit.dim] = own[digit.dim] + getAffineDimExpr(digits.size(), context) * digit.stride;
    digits.push_back(v);
  }
  SmallVector<Value> tile = c_.scalarsOf(offsets_), thread = c_.threadCoordinates(layout_, rank_, loc_);
  for (Value &v : thread)
    v = v ? v : c_.index(0, loc_);
  return llvm::map_to_vector(map_.getResults(), [&](AffineExpr e) {
    AffineExpr ofRegisters = simplifyAffineExpr(e.replaceDims(own), digits.size(), map_.getNumSymbols());
    Value sum = c_.add(subscriptAt(c_, e, tile, loc_), subscriptAt(c_, e, thread, loc_), loc_);
    return ofRegisters == 0 ? sum : c_.add(sum, c_.expand(ofRegisters, digits, loc_), loc_);
  });
}

Value AccessLowering::address(ArrayRef<Value> subscripts) {
  Value a;
  // What loops do not change of it is declared ahead of them.
  Location row = c_.named(cu::findName(base_.getLoc()) + "_row", loc_);
  if (strides_) {
    for (auto [s, stride] : llvm::zip(subscripts, strides_.getResults()))
      a = c_.add(a, scaled(c_, s, stride, loc_), row);
    return a ? a : c_.index(0, loc_);
  }
  for (auto [d, s] : llvm::enumerate(subscripts)) {
    if (a)
      a = arith::MulIOp::create(c_.b, row, a, c_.expand(shape_.getResult(d), {}, loc_));
    a = a ? arith::AddIOp::create(c_.b, row, a, s) : s;
  }
  return a ? a : c_.index(0, loc_);
}

void spreadElements(ThreadCode &c, Value source, Value from, Value array, Value first, int64_t elements, int64_t times, bool streaming,
                    Location loc) {
  Value vector;
  if (elements > 1) {
    vector = c.allocate(elements, cast<MemRefType>(source.getType()).getElementType(), loc);
    cu::CopyOp::create(c.b, loc, source, from, vector, c.index(0, loc), elements, streaming);
  } else {
    vector = memref::LoadOp::create(c.b, loc, source, from, streaming);
  }
  auto loop = scf::ForOp::create(c.b, loc, c.index(0, loc), c.index(elements * times, loc), c.index(1, loc));
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPoint(loop.getBody()->getTerminator());
  Value i = loop.getInductionVar(), element = vector;
  if (elements > 1)
    element = memref::LoadOp::create(c.b, loc, vector, Value(arith::DivSIOp::create(c.b, loc, i, c.index(times, loc))));
  memref::StoreOp::create(c.b, loc, element, array, c.add(first, i, loc));
}

void pickElements(ThreadCode &c, Value source, Value from, Value array, Value first, int64_t count, int64_t step, int64_t phase,
                  bool streaming, Location loc) {
  Value vector = c.allocate(count * step, cast<MemRefType>(source.getType()).getElementType(), loc);
  if (phase)
    from = arith::SubIOp::create(c.b, loc, from, c.index(phase, loc));
  cu::CopyOp::create(c.b, loc, source, from, vector, c.index(0, loc), count * step, streaming);
  auto loop = scf::ForOp::create(c.b, loc, c.index(0, loc), c.index(count, loc), c.index(1, loc));
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPoint(loop.getBody()->getTerminator());
  Value i = loop.getInductionVar(), at = c.mul(i, step, loc);
  Value element = memref::LoadOp::create(c.b, loc, vector, phase ? c.add(at, c.index(phase, loc), loc) : at);
  memref::StoreOp::create(c.b, loc, element, array, c.add(first, i, loc));
}

void shiftElements(ThreadCode &c, Value source, Value from, Value array, Value first, int64_t count, int64_t phase, bool streaming,
                   Location loc) {
  Value vectors = c.allocate(2 * count, cast<MemRefType>(source.getType()).getElementType(), loc);
  from = arith::SubIOp::create(c.b, loc, from, c.index(phase, loc));
  cu::CopyOp::create(c.b, loc, source, from, vectors, c.index(0, loc), count, streaming);
  cu::CopyOp::create(c.b, loc, source, c.add(from, c.index(count, loc), loc), vectors, c.index(count, loc), count, streaming);
  OpBuilder::InsertionGuard guard(c.b);
  Value e = openLoop(c, 0, count, 1, "e", loc);
  Value element = memref::LoadOp::create(c.b, loc, vectors, c.add(e, c.index(phase, loc), loc));
  memref::StoreOp::create(c.b, loc, element, array, c.add(first, e, loc));
}

bool isAlikeEverywhere(Value tile) { return isa_and_nonnull<arith::ConstantOp, tile::SplatOp>(tile.getDefiningOp()); }

RegTile registersOf(ThreadCode &c, Value tile, const AccessLowering &access, Location loc) {
  if (access.vector() == 1 || !isAlikeEverywhere(tile))
    return c.tiles.lookup(tile);
  RegTile value{access.layout(),
                c.allocate(access.layout().numRegisters(), cast<RankedTensorType>(tile.getType()).getElementType(), tile.getLoc())};
  OpenDigits open;
  c.overDigits(value.layout.reg, loc, open, [&] {
    memref::StoreOp::create(c.b, loc, c.element(tile, open, loc), value.array, c.registerIndex(value.layout, open, loc));
  });
  return value;
}

} // namespace kernelc
