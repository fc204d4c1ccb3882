// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies from a tensor into slots of shared memory, without registers where the target can: vectors, each by a thread.
#include "passes/index/Affine.h"
#include "passes/lowerings/DotLowering.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/MaskNames.h"
#include "passes/tile/Access.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Layout;
using tile::SlotLayout;

/// By how much `e` grows with dim `d`, where that is the same everywhere.
static std::optional<AffineExpr> slopeAlong(AffineExpr e, unsigned d) {
  AffineExpr zero = getAffineConstantExpr(0, e.getContext());
  if (!e.isFunctionOfDim(d))
    return zero;
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin)
    return zero + 1;
  std::optional<AffineExpr> x = slopeAlong(bin.getLHS(), d), y = slopeAlong(bin.getRHS(), d);
  if (!x || !y)
    return std::nullopt;
  if (e.getKind() == AffineExprKind::Add)
    return *x + *y;
  if (e.getKind() == AffineExprKind::Mul && !bin.getRHS().isFunctionOfDim(d) && bin.getRHS().isSymbolicOrConstant())
    return *x * bin.getRHS();
  return std::nullopt;
}

namespace {

/// Copies of vectors from a tensor into a slot, by threads.
class VectorCopy {
public:
  VectorCopy(ThreadCode &c, tile::RingCopyOp op)
      : c_(c), b_(c.b), op_(op), loc_(cu::unnamed(op.getLoc())), ring_(op.getRing().getType()), shape_(ring_.getShape()),
        address_(c, ring_, loc_), bytes_(bytesOf(ring_.getElementType())), dim_(address_.layout().contiguous) {}

  void run() {
    int64_t most = std::min<int64_t>(16 / bytes_, shape_[dim_]);
    bool masked = llvm::is_contained(op_.getMask(), dim_);
    vector_ = std::min(copiedVector(c_.func, op_.getBase(), op_.getMap(), op_.getBounds(), dim_, masked, most), address_.layout().chunk);
    start_ = address_.slotStart(c_.scalars.lookup(op_.getNumber()));
    int64_t neighbours = contiguousDim(c_.func, op_.getBase(), op_.getMap(), shape_);
    bool across = neighbours >= 0 && neighbours != dim_ && vector_ == 1;
    Layout layout = across ? acrossLayout(neighbours) : alongLayout();
    if (covers(layout))
      byDigits(withoutUnread(c_, op_.getRing(), std::move(layout), dim_, whole_));
    else
      byNumbers();
  }

private:
  /// The threads that copy: the launch's, or those that fill slots.
  int64_t warps() { return op_.getChannel() ? op_.getChannel().getType().getFillers() / 32 : int64_t(c_.func.getWarps()); }

  /// Rows of the slot are runs of the tensor: neighbouring threads bring a row's vectors, then those of the row that lies behind it in the
  /// slot. (Rows of few words so lie in different banks, and a pool's windows side by side in memory.)
  Layout alongLayout() {
    SmallVector<int64_t> order{dim_};
    llvm::append_range(order, llvm::reverse(address_.layout().rowDims));
    return tile::blockedLayout(shape_, order, vector_, warps());
  }

  /// Rows of the slot lie across the tensor's, whose neighbours run along `neighbours`: elements of a sector of
  /// memory by neighbouring threads, which the padding of the slot spreads over the banks.
  Layout acrossLayout(int64_t neighbours) {
    constexpr int64_t kSector = 32;
    return tile::acrossLayout(shape_, neighbours, dim_, kSector / bytes_, warps());
  }

  /// Whether each element is in a thread's vector.
  bool covers(const Layout &layout) {
    int64_t points = 1;
    for (const tile::Digits *digits : {&layout.reg, &layout.lane, &layout.warp})
      for (const Digit &d : *digits)
        points *= d.dim >= 0 ? d.size : 1;
    bool hasVector = vector_ == 1 || (!layout.reg.empty() && layout.reg[0] == Digit{dim_, 1, vector_});
    return hasVector && points == llvm::product_of(shape_);
  }

  void byDigits(const Layout &layout) {
    ArrayRef<Digit> copies = ArrayRef(layout.reg).drop_front(vector_ > 1);
    steps_.assign(shape_.size(), 0);
    for (const Digit &d : copies)
      steps_[d.dim] = std::gcd(steps_[d.dim], d.stride);
    c_.inBranch(c_.isFirstReplica(layout, loc_), loc_, [&] {
      OpenDigits open;
      c_.overDigits(copies, loc_, open, [&] {
        SmallVector<Value> own = c_.threadCoordinates(layout, shape_.size(), loc_), more(shape_.size());
        for (int64_t d = 0; d < int64_t(shape_.size()); ++d)
          more[d] = c_.registerCoordinate(layout, open, d, loc_);
        copy(own, more);
      });
    });
  }

  /// Vector by vector, whatever the shape is.
  void byNumbers() {
    int64_t perRow = shape_[dim_] / vector_, total = address_.layout().rows * perRow;
    shareOut(c_, total, warps() * 32, "copy", loc_, [&](Value id) {
      Value row = id, column = c_.index(0, loc_);
      if (perRow > 1) {
        row = arith::DivSIOp::create(b_, c_.named("row", loc_), id, c_.index(perRow, loc_));
        column = c_.mul(arith::RemSIOp::create(b_, loc_, id, c_.index(perRow, loc_)), vector_, c_.named("column", loc_));
      }
      SmallVector<Value> coords(shape_.size());
      spreadLinear(c_, row, address_.layout().rowDims, shape_, coords, loc_);
      coords[dim_] = column;
      copy(coords, SmallVector<Value>(shape_.size()));
    });
  }

  /// x + y, where a null value is 0.
  Value sum(Value x, Value y, StringRef name) {
    Value v = c_.add(x, y, c_.named(name, loc_));
    return v ? v : c_.index(0, loc_);
  }

  /// One vector: from the element at `own` + `more` of the tile to the same one of the slot. `more` is what a thread's copies differ by:
  /// what it adds to both addresses is added last, so that it is a number in the instruction where it is known.
  void copy(ArrayRef<Value> own, ArrayRef<Value> more) {
    SmallVector<Value> coords, base; // in the tensor's subscripts; without what is added last
    AffineMap tensorShape = shapeOfBase(c_.func, op_.getBase()), strides = layoutOfBase(c_.func, op_.getBase()).strides;
    AffineExpr address = linearAddress(op_.getMap(), tensorShape, strides);
    Value added;
    for (auto [d, offset] : llvm::enumerate(c_.scalarsOf(op_.getOffsets()))) {
      std::string name = c_.indexName(d).str();
      coords.push_back(sum(offset, c_.add(own[d], more[d], c_.named(name + "_in", loc_)), name));
      std::optional<AffineExpr> slope = more[d] ? slopeAlong(address, d) : std::nullopt;
      if (!slope) {
        base.push_back(coords.back());
        continue;
      }
      base.push_back(sum(offset, own[d], name));
      added = c_.add(added, scaled(c_, more[d], *slope, loc_), loc_);
    }
    Value valid = isInside(coords, tensorShape);
    Value from = c_.add(linearIn(base, tensorShape, strides), added, loc_);
    Value source = c_.bases.lookup(op_.getBase()), target = c_.rings.lookup(op_.getRing()), to = placeInSlot(own, more);
    // (Where `valid` is false nothing is read, wherever `from` is.)
    if (c_.hasAsyncCopy)
      cu::CpAsyncOp::create(b_, loc_, source, from, target, to, valid, vector_, /*signalled=*/bool(op_.getChannel()));
    else
      copyThroughRegisters(source, from, target, to, valid);
  }

  /// The condition under which the vector at `coords` lies inside the tensor; null where it always does.
  Value isInside(ArrayRef<Value> coords, AffineMap tensorShape) {
    Value valid;
    auto require = [&](const llvm::Twine &name, arith::CmpIPredicate predicate, Value x, Value y) {
      Value holds = arith::CmpIOp::create(b_, c_.named(name, loc_), predicate, x, y);
      valid = valid ? Value(arith::AndIOp::create(b_, c_.named("inside", loc_), valid, holds)) : holds;
    };
    for (int64_t d : llvm::make_filter_range(op_.getMask(), [&](int64_t d) { return !llvm::is_contained(whole_, d); }))
      require(c_.indexName(d) + "_inside", arith::CmpIPredicate::slt, coords[d], c_.expand(c_.func.getExtent(d), {}, loc_));
    if (op_.getBounds() != te::BoundsMode::Pad)
      return valid;
    for (auto [r, e] : llvm::enumerate(op_.getMap().getResults())) {
      auto [keepsLow, keepsHigh] = findKeptEnds(c_.func, op_.getMap(), tensorShape, r, shape_, op_.getMask());
      if (keepsLow && keepsHigh)
        continue;
      Value s = subscriptAt(c_, e, coords, loc_);
      if (!keepsLow)
        require(maskName(c_, e, "not_negative"), arith::CmpIPredicate::sge, s, c_.index(0, loc_));
      if (!keepsHigh)
        require(maskName(c_, e, "inside"), arith::CmpIPredicate::slt, s, c_.expand(tensorShape.getResult(r), {}, loc_));
    }
    return valid;
  }

  /// The element of the tensor at `coords`.
  Value linearIn(ArrayRef<Value> coords, AffineMap tensorShape, AffineMap strides) {
    Value linear;
    StringRef base = cu::findName(op_.getBase().getLoc());
    for (auto [r, e] : llvm::enumerate(op_.getMap().getResults())) {
      Location row = c_.named(base + (r + 1 == op_.getMap().getNumResults() ? "_at" : "_row"), loc_);
      Value s = subscriptAt(c_, e, coords, loc_);
      if (strides)
        linear = c_.add(linear, scaled(c_, s, strides.getResult(r), loc_), row);
      else if (!linear)
        linear = s;
      else
        linear = arith::AddIOp::create(b_, row, arith::MulIOp::create(b_, row, linear, c_.expand(tensorShape.getResult(r), {}, loc_)), s);
    }
    return linear;
  }

  /// Whether what a thread's copies differ by along `d` moves them in the slot, too: by whole periods of its swizzle.
  bool isLinearInSlot(int64_t d) {
    const SlotLayout &slot = address_.layout();
    bool isSwizzled = slot.swizzleBytes && slot.chunks > 1;
    if (d == dim_)
      return !isSwizzled && slot.width == shape_[d];
    return !isSwizzled || steps_[d] * slot.rowStride[d] % (slot.chunks << slot.rowShift) == 0;
  }

  /// Where `own` + `more` of the slot lies, with what copies differ by added last.
  Value placeInSlot(ArrayRef<Value> own, ArrayRef<Value> more) {
    const SlotLayout &slot = address_.layout();
    Value added;
    SmallVector<Value> coords(own);
    for (auto [d, m] : llvm::enumerate(more))
      if (m && isLinearInSlot(d))
        added = c_.add(added, c_.mul(m, int64_t(d) == dim_ ? 1 : slot.rowStride[d] * slot.pitch, loc_), loc_);
      else
        coords[d] = c_.add(own[d], m, c_.named(c_.indexName(d) + "_in", loc_));
    Value at = c_.add(start_, address_.at(coords), loc_);
    nameIfUnnamed(c_, at, cu::findName(op_.getBase().getLoc()) + "_in_slot");
    return c_.add(at, added, loc_);
  }

  void copyThroughRegisters(Value source, Value from, Value target, Value to, Value valid) {
    Value temporary = c_.allocate(vector_, ring_.getElementType(), loc_);
    if (valid) {
      Value zero = arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(ring_.getElementType())));
      OpBuilder::InsertionGuard guard(b_);
      Value i = openLoop(c_, 0, vector_, 1, "e", loc_);
      memref::StoreOp::create(b_, loc_, zero, temporary, i);
    }
    c_.inBranch(valid, loc_, [&] { cu::CopyOp::create(b_, loc_, source, from, temporary, c_.index(0, loc_), vector_); });
    cu::CopyOp::create(b_, loc_, temporary, c_.index(0, loc_), target, to, vector_);
  }

  ThreadCode &c_;
  OpBuilder &b_;
  tile::RingCopyOp op_;
  Location loc_;
  tile::RingType ring_;
  ArrayRef<int64_t> shape_;
  SlotAddress address_;
  int64_t bytes_, dim_;        ///< bytes of an element; the slot's contiguous dim
  int64_t vector_ = 1;         ///< elements of a vector
  Value start_;                ///< the slot's first element
  SmallVector<int64_t> steps_; ///< between a thread's copies, along each dim
  SmallVector<int64_t> whole_; ///< dims whose points are copied as far as there are any
};

} // namespace

void lowerRingCopy(ThreadCode &c, tile::RingCopyOp op) {
  if (op.getChannel() && !op.getByThreads())
    return c.ifFirstFiller(op.getChannel().getType(), cu::unnamed(op.getLoc()), [&] { lowerBoxCopy(c, op); });
  VectorCopy(c, op).run();
}

} // namespace kernelc
