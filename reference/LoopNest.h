// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops over the dims of a domain with the bounds that its integer set implies.
// A constraint becomes a bound of the innermost loop it speaks of where it is
// linear in that dim, and a test inside that loop otherwise.
#pragma once

#include "mlir/IR/IntegerSet.h"
#include "reference/Emit.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kernelc::reference {

struct LoopDim {
  unsigned dim;
  Value lower, upper, step; ///< step null: 1
};

using LoopBody = llvm::function_ref<llvm::SmallVector<Value>(mlir::ValueRange iters)>;

/// One scf.for. `body` gets the induction variable and the carried values.
llvm::SmallVector<Value> emitFor(Builder &b, Value lower, Value upper, Value step, mlir::ValueRange iters,
                                 llvm::function_ref<llvm::SmallVector<Value>(Value iv, mlir::ValueRange iters)> body);
/// scf.if; a null `otherwise` yields `iters` (must have the then side's types).
llvm::SmallVector<Value> emitIf(Builder &b, Value condition, mlir::ValueRange iters, llvm::function_ref<llvm::SmallVector<Value>()> then);

class LoopNest {
public:
  /// `set` may be null. `sizes` are its symbols.
  LoopNest(Builder &b, mlir::IntegerSet set, mlir::ValueRange sizes) : b(b), set_(set), sizes_(sizes) {}

  /// Emits `loops`, outermost first, around `body`; `dims` holds the value of every
  /// dim of the domain and receives the loops' variables. Constraints that speak of
  /// no loop dim guard the whole nest. Returns what the carried values became.
  llvm::SmallVector<Value> emit(llvm::ArrayRef<LoopDim> loops, llvm::MutableArrayRef<Value> dims, mlir::ValueRange iters, LoopBody body);

private:
  llvm::SmallVector<Value> emitLevel(llvm::ArrayRef<LoopDim> loops, int depth, llvm::MutableArrayRef<Value> dims, mlir::ValueRange iters,
                                     LoopBody body);
  /// Tightens [lower, upper) by constraint i, or says that it cannot.
  bool tighten(unsigned i, unsigned dim, mlir::ValueRange dims, Value &lower, Value &upper);
  Value holds(unsigned i, mlir::ValueRange dims);

  Builder &b;
  mlir::IntegerSet set_;
  mlir::ValueRange sizes_;
};

} // namespace kernelc::reference
