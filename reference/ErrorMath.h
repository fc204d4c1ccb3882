// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic on error bounds: f64 values or vectors where null means zero.
#pragma once

#include <cmath>
#include <limits>

#include "mlir/Dialect/Math/IR/Math.h"
#include "reference/Emit.h"

namespace kernelc::reference {

class ErrorMath {
public:
  /// Bounds have as many lanes as `like`.
  ErrorMath(Builder &b, Value like) : b(b), type_(shapedLike(b.getF64Type(), like.getType())) {}

  Value constant(double v) { return constFloat(b, type_, v); }
  Value zero() { return constant(0); }
  Value infinity() { return constant(std::numeric_limits<double>::infinity()); }
  Value add(Value x, Value y) { return mlir::arith::AddFOp::create(b, w(x), w(y)); }
  Value sub(Value x, Value y) { return mlir::arith::SubFOp::create(b, w(x), w(y)); }
  Value mul(Value x, Value y) { return mlir::arith::MulFOp::create(b, w(x), w(y)); }
  Value div(Value x, Value y) { return mlir::arith::DivFOp::create(b, w(x), w(y)); }
  Value abs(Value x) { return mlir::math::AbsFOp::create(b, w(x)); }
  Value max(Value x, Value y) { return mlir::arith::MaximumFOp::create(b, w(x), w(y)); }
  Value min(Value x, Value y) { return mlir::arith::MinNumFOp::create(b, w(x), w(y)); }
  Value select(Value c, Value t, Value f) {
    Value values[] = {c, w(t), w(f)};
    unifyLanes(b, values);
    return mlir::arith::SelectOp::create(b, values[0], values[1], values[2]);
  }
  Value isNan(Value x) { return cmp(mlir::arith::CmpFPredicate::UNO, x, x); }
  Value isFinite(Value x) { return less(abs(x), infinity()); }
  Value less(Value x, Value y) { return cmp(mlir::arith::CmpFPredicate::OLT, x, y); }
  /// x may be as small as `reach`, or `reach` is infinite or NaN.
  Value atMost(Value x, Value reach) {
    Value unbounded = cmp(mlir::arith::CmpFPredicate::UGE, reach, infinity());
    return mlir::arith::OrIOp::create(b, unbounded, cmp(mlir::arith::CmpFPredicate::OLE, x, reach));
  }
  Value cmp(mlir::arith::CmpFPredicate p, Value x, Value y) { return mlir::arith::CmpFOp::create(b, p, w(x), w(y)); }

  // Null means zero.
  Value addMaybe(Value x, Value y) { return !x || !y ? (x ? x : y) : add(x, y); }
  Value maxMaybe(Value x, Value y) { return !x || !y ? (x ? x : y) : max(x, y); }
  Value scaled(Value x, Value e) { return e ? mul(abs(x), e) : Value(); }
  /// |x| ey + |y| ex + ex ey
  Value product(Value x, Value ex, Value y, Value ey) {
    Value p = addMaybe(scaled(x, ey), scaled(y, ex));
    return ex && ey ? add(p, mul(ex, ey)) : p;
  }
  /// p, but where it is NaN: zero if the operands' errors `from` are, else infinity.
  Value clean(Value p, Value from) {
    if (!p || !from)
      return p;
    Value exact = cmp(mlir::arith::CmpFPredicate::OEQ, from, zero());
    return select(isNan(p), select(exact, zero(), infinity()), p);
  }
  /// The bound after v was rounded with relative error u and absolute error tiny:
  /// infinity where |v| may exceed `largest`; where v is not finite, zero if p is.
  Value rounded(Value p, Value v, double u, double tiny, double largest) {
    Value size = abs(v);
    Value e = addMaybe(p, Value());
    if (u > 0) {
      // The oracle's own rounding comes on top.
      Value step = mul(p ? add(size, p) : size, constant(u + 0x1p-53));
      e = e ? add(e, step) : step;
    }
    if (tiny > 0) { // of what is not exactly zero
      Value exact = cmp(mlir::arith::CmpFPredicate::OEQ, p ? add(size, p) : size, zero());
      Value least = select(exact, zero(), constant(tiny));
      e = e ? add(e, least) : least;
    }
    if (!e)
      e = zero();
    Value finite = less(size, infinity());
    if (!std::isinf(largest))
      e = select(cmp(mlir::arith::CmpFPredicate::UGT, add(size, e), constant(largest)), infinity(), e);
    Value kept = p ? select(less(p, infinity()), zero(), infinity()) : zero();
    return select(finite, e, kept);
  }

private:
  Value w(Value v) { return splat(b, v, mlir::isa<mlir::VectorType>(type_) ? mlir::cast<mlir::VectorType>(type_).getNumElements() : 1); }

  Builder &b;
  Type type_;
};

} // namespace kernelc::reference
