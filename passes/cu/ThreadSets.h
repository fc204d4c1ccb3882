// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which threads of the block run which code, and what an index value is in one thread
// and one iteration. Facts only: nothing here changes IR.
#pragma once

#include <map>
#include <optional>

#include "ir/cu/Cu.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc {

/// Values as functions of the thread's number and of loop variables, to be evaluated
/// many times.
class ThreadFunction {
public:
  /// Places of the inputs: the thread first, then variables as they are added.
  ThreadFunction() { inputs_ = 1; }
  void addVariable(mlir::Value v) { places_[v] = inputs_++; }
  /// Where `v` will stand among the results of evaluate(); nothing when it depends on
  /// anything but the inputs. All variables are added before the first call.
  std::optional<unsigned> compile(mlir::Value v);
  /// `values` starts with the inputs; the rest is filled in.
  void evaluate(llvm::MutableArrayRef<int64_t> values) const;
  unsigned numInputs() const { return inputs_; }
  unsigned numValues() const { return inputs_ + unsigned(steps_.size()); }

private:
  enum class Code { Constant, Warpgroup, Add, Sub, Mul, Div, Rem, Min, Max, Xor, And, Or, Select, Compare };
  static std::optional<Code> codeOf(mlir::Operation *op);
  struct Step {
    Code code;
    unsigned x, y, z;
    int64_t constant; ///< or the predicate
  };
  llvm::SmallVector<Step> steps_;
  llvm::DenseMap<mlir::Value, unsigned> places_;
  unsigned inputs_;
};

class ThreadSets {
public:
  explicit ThreadSets(cu::KernelOp kernel) : kernel_(kernel) {}

  /// Whether all threads that are at the same place have the same value here.
  bool isUniform(mlir::Value v);
  /// Whether all threads have the same in a private array, wherever they are in the program.
  bool holdsUniform(mlir::memref::AllocaOp array);

  /// The threads that enter a block, all of them together or none. Null: not known, or
  /// not together.
  const llvm::BitVector *together(mlir::Block *block);
  /// Those that may run it: of the nearest block around it whose threads are known.
  const llvm::BitVector &atMost(mlir::Block *block);

  /// Whether a barrier can be given to exactly these: whole warps.
  static bool isWarps(const llvm::BitVector &threads);

private:
  std::optional<llvm::BitVector> compute(mlir::Block *block);
  bool isUniformLoad(mlir::memref::LoadOp load);
  bool isUniformResult(mlir::scf::ForOp loop, unsigned result);
  /// Whether barriers that all threads come to are what orders accesses to shared memory (those that cu-barriers will still place among
  /// them). Then threads that are at the same place have passed as many, and read the same at one address: a store between two of
  /// these loads would have a barrier on either side.
  bool isOrderedByBarriers();

  cu::KernelOp kernel_;
  llvm::DenseMap<mlir::Value, bool> uniform_;
  std::optional<bool> orderedByBarriers_;
  std::map<mlir::Block *, std::optional<llvm::BitVector>> sets_;
};

} // namespace kernelc
