// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which integers are linear over xor in an index: f(a ^ b) = f(a) ^ f(b).
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc::te {

/// Knows shifts, masks, xor, casts, sums and ors of values that share no bit, products with a single bit, and choices by one. Products over
/// fields of 2^n elements, checksums and parities consist of these.
class LinearBits {
public:
  /// `index` counts from 0 to below `points`, a power of two.
  LinearBits(mlir::Value index, uint64_t points) : index_(index) { known_[index] = {Kind::Linear, points - 1}; }

  bool isLinear(mlir::Value v) { return of(v).kind == Kind::Linear; }

private:
  enum class Kind { Steady, Linear, Other };
  struct Bits {
    Kind kind = Kind::Other;
    uint64_t most = ~uint64_t(0); ///< the bits that may be set
    bool isOneBit() const { return most && !(most & (most - 1)); }
  };

  Bits of(mlir::Value v);
  Bits find(mlir::Value v);
  Bits ofProduct(Bits a, Bits b);
  Bits ofShift(mlir::Operation *op);
  Bits ofCast(mlir::Operation *op);
  Bits ofChoice(mlir::Operation *op);
  Bits ofDisjoint(Bits a, Bits b);
  /// Whether a condition is that one linear bit is set (`isInverted`: is not).
  bool isBit(mlir::Value condition, bool &isInverted);
  bool isSteady(mlir::Value v);

  mlir::Value index_;
  llvm::DenseMap<mlir::Value, Bits> known_;
  llvm::DenseMap<mlir::Value, bool> steady_;
};

} // namespace kernelc::te
