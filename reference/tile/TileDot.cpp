// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of the tile interpreter.
#include <cmath>
#include <limits>

#include "reference/tile/RegionFunction.h"
#include "reference/tile/TileProgram.h"

using namespace mlir;

namespace kernelc::reference {

using te::Combiner;

namespace {

/// A product of two tiles, or of slots, element by element.
class DotRun {
public:
  /// `combine`: of two elements of the sum, in the program's arithmetic.
  DotRun(tile::DotOp op, const TileValue &a, const TileValue &b, TileArithmetic arithmetic,
         llvm::function_ref<TileElement(TileElement, TileElement)> combine)
      : op_(op), a_(a), b_(b), type_(getElementTypeOrSelf(op.getAcc())),
        floats_(isa<FloatType>(elementType(op.getA())) && arithmetic == TileArithmetic::Own), term_(op.getTerm(), arithmetic),
        combine_(combine) {}

  /// Whether what it combines has a meaning in this arithmetic.
  bool isKnown(TileArithmetic arithmetic) {
    bool sums = arithmetic != TileArithmetic::Ring || !isa<FloatType>(type_) || op_.getKind() == Combiner::Sum;
    return op_.isProduct() || (term_.isKnown() && sums);
  }

  /// Adds the terms to each element of `out`: `count` at most; of a product all, but behind so many those that `a` does not mark absent.
  void run(TileValue &out, int64_t count) {
    SmallVector<int64_t> kShape(out.shape.size(), 1), at(out.shape.size(), 0);
    for (int64_t k : op_.getK())
      kShape[k] = std::max(a_.shape[k], b_.shape[k]);
    size_t flat = 0;
    do {
      addTerms(out.elements[flat++], at, kShape, count);
    } while (advance(at, out.shape));
  }

private:
  static Type elementType(Value v) { // of a tile or a ring
    auto ring = dyn_cast<tile::RingType>(v.getType());
    return ring ? ring.getElementType() : getElementTypeOrSelf(v.getType());
  }
  TileElement read(const TileValue &t, ArrayRef<int64_t> at, Value from, bool isUnsigned, bool rounded) const {
    TileElement e = t.at(at);
    if (floats_ && rounded)
      e.f = roundedToTf32(e.f);
    if (!floats_ && isUnsigned && !isa<FloatType>(elementType(from)))
      e.i &= 255;
    return e;
  }
  void addTerms(TileElement &sum, ArrayRef<int64_t> at, ArrayRef<int64_t> kShape, int64_t count) {
    SmallVector<int64_t> k(kShape.size(), 0), full(at);
    double real = sum.f;
    uint64_t whole = uint64_t(sum.i);
    int64_t number = 0;
    do {
      bool isBehind = number++ >= count;
      if (isBehind && !op_.isProduct())
        break;
      for (int64_t d : op_.getK())
        full[d] = k[d];
      TileElement x = read(a_, full, op_.getA(), op_.getAUnsigned(), op_.getARounded());
      TileElement y = read(b_, full, op_.getB(), op_.getBUnsigned(), op_.getBRounded());
      if (!op_.isProduct())
        sum = combine_(sum, term_.run({x, y}));
      else if (floats_)
        real += isBehind && x.f == 0 && std::signbit(x.f) ? 0 : x.f * y.f;
      else
        whole += uint64_t(x.i) * uint64_t(y.i);
    } while (advance(k, kShape));
    if (!op_.isProduct())
      return;
    if (floats_)
      sum.f = roundedTo(type_, real);
    else
      sum.i = wrapped(int64_t(whole), isa<FloatType>(type_) ? 32 : widthOf(type_));
  }

  tile::DotOp op_;
  const TileValue &a_, &b_;
  Type type_;
  bool floats_;
  RegionFunction term_;
  llvm::function_ref<TileElement(TileElement, TileElement)> combine_;
};

} // namespace

absl::Status TileProgram::runDot(tile::DotOp op) {
  auto operand = [&](Value v, Value number) -> absl::StatusOr<const TileValue *> {
    if (isa<tile::RingType>(v.getType()))
      return slotOf(op, v, number ? index(number) : 0);
    return &value(v);
  };
  auto a = operand(op.getA(), op.getNumberOfA()), b = operand(op.getB(), op.getNumber());
  if (!a.ok() || !b.ok())
    return a.ok() ? b.status() : a.status();
  auto combined = [&](TileElement x, TileElement y) { return combine(op.getKind(), getElementTypeOrSelf(op.getAcc()), x, y); };
  DotRun dot(op, **a, **b, launch_.arithmetic, combined);
  if (!dot.isKnown(launch_.arithmetic))
    return unsupported(op);
  TileValue out(value(op.getAcc()));
  dot.run(out, op.getCount() ? index(op.getCount()) : std::numeric_limits<int64_t>::max());
  values_[op.getResult()] = std::move(out);
  return absl::OkStatus();
}

} // namespace kernelc::reference
