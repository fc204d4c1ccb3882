// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the emitters of statements share. The units of a step (StatementEmitter.h) are points, or small tiles of points, of the part of a
// result that the runner asks for.
#pragma once

#include "reference/Combine.h"

namespace kernelc::reference {

/// Lower and upper bound of every parallel dim, of the part that a run of the step computes.
struct StepWindow {
  llvm::SmallVector<mlir::Value> lower, upper;
};
StepWindow loadWindow(FunctionEnv &env, const Step &step);

/// How many units each of the step's unit dims has.
llvm::SmallVector<mlir::Value> countUnits(Builder &b, const Step &step, const StepWindow &window);

/// A unit's number in each of the unit dims, of which the last moves fastest. The counts are positive: no unit exists otherwise.
llvm::SmallVector<mlir::Value> delineariseUnit(Builder &b, mlir::Value unit, llvm::ArrayRef<mlir::Value> counts);

/// The subscripts that `map` makes of `dims`.
llvm::SmallVector<mlir::Value> emitSubscripts(Builder &b, FunctionEnv &env, mlir::AffineMap map, mlir::ValueRange dims);

/// The first failure among those that callbacks of loops have met.
class FirstFailure {
public:
  /// True when `s` is none.
  bool keep(const absl::Status &s) {
    if (status_.ok())
      status_ = s;
    return s.ok();
  }
  bool isEmpty() const { return status_.ok(); }
  const absl::Status &status() const { return status_; }

private:
  absl::Status status_;
};

/// What the body of a reduction, which `body` has emitted, yields: a term and its condition. An index outside its tensor is said to the
/// runner. Nothing after a failure.
std::optional<Term> findTerm(Builder &b, FunctionEnv &env, ScalarEmitter &body, te::YieldOp yield, int number, FirstFailure &failure);

/// Says to the runner that step `number` met an index outside its tensor where `bad` holds (null: nowhere) and
/// `condition` (null: always).
void reportBad(Builder &b, FunctionEnv &env, int number, mlir::Value bad, mlir::Value condition);

} // namespace kernelc::reference
