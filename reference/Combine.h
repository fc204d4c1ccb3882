// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accumulators of reductions: what a combiner keeps between terms, how a term
// goes in, and what comes out, per arithmetic. Loops are those of the emitters of statements.
#pragma once

#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

/// One term of a reduction as the body gives it.
struct Term {
  Scalar value;
  /// i1 data condition; null v: always counts.
  Scalar condition;
  /// The factors when the term is a product and the accumulator takes them; `value`
  /// is not used then.
  Scalar factor0, factor1;
  /// i64 position along the reduced dim, for arg reductions.
  Value index;
  /// It stands before those that have been taken in: of equal ones it is the first.
  bool isBefore = false;
};

/// What adding up rounds. Matrix units sum products of f8 in accumulators of their own: an
/// instruction aligns 32 of them and the accumulator to the largest of these 33, cuts each below
/// 2^-13 of it, and cuts their sum to 13 bits of fraction (Ada and Hopper: SageAttention2,
/// arXiv 2411.10958; DeepSeek-V3, arXiv 2412.19437, 3.3.2: "around 14 bits").
/// That is at most 34 · 2^-13 of what the accumulator has reached, per instruction. After at most
/// `kept` products the sum is added to an f32; with accumulate = fast never.
struct SumUnit {
  double step = 0;         ///< rounding unit of one step
  bool few = false;        ///< and the accumulators of a unit of few bits
  bool fast = false;       ///< which hold the whole sum
  bool inParts = false;    ///< of terms that are sums of parts, added one by one
  int64_t kept = 0;        ///< how many of these a unit adds before the sum leaves it
  bool ofElements = false; ///< of what no factor leaves: see isSumOfElements
  static constexpr double kFew = 0x1p-13, kProducts = 32, kKept = 128;
  static constexpr double kCut = 0x1.1p-23; ///< of a product of parts that a unit adds
};

class Accumulator {
public:
  /// `inLoop`: LLVM may vectorise the loop, so floating sums are reassociable.
  Accumulator(te::ReduceOp op, FunctionEnv &env, bool inLoop);
  /// Of values of type `yielded` that are combined one at a time, in order.
  Accumulator(te::Combiner kind, Type yielded, FunctionEnv &env);

  /// State before the first term; `start` continues from a given value.
  llvm::SmallVector<Value> begin(Builder &b, int64_t lanes, const Scalar *start);
  llvm::SmallVector<Value> add(Builder &b, mlir::ArrayRef<Value> state, const Term &term);
  /// The result in emitted form.
  Scalar finish(Builder &b, mlir::ArrayRef<Value> state);
  unsigned stateSize() const;
  /// Whether products should come as factors: they are fused into the sum, or (with
  /// errors) their rounding is counted in the sum's.
  bool takesFactors() const { return takesFactors_; }
  /// The identity of the combiner as an element in memory.
  std::array<uint8_t, 8> identityBytes() const;

private:
  Value combine(Builder &b, Value x, Value y);
  Value identity(Builder &b, Type type) const;
  llvm::SmallVector<Value> addArg(Builder &b, mlir::ArrayRef<Value> state, const Term &term);

  te::Combiner kind_;
  FunctionEnv &env_;
  Type yielded_;  ///< as the program has it
  Type computed_; ///< as it is accumulated (scalar)
  bool inLoop_, takesFactors_, isFloat_, isArg_, withError_;
  SumUnit unit_; ///< what a sum's steps round
};

} // namespace kernelc::reference
