// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that is written out once per part: what the parts have in common, and how they differ.
#pragma once

#include "ir/cu/Cu.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <map>

namespace kernelc {

/// Whether an op only computes scalars, so that it can be computed again or elsewhere. All others are statements.
bool isScalarExpression(mlir::Operation *op);

/// Whether an op starts or awaits products of warpgroups, which run on behind the statements that start them, or says how many registers
/// there are: ptxas follows them best where they stand.
bool isProduct(mlir::Operation *op);

/// The statements of a block in order: neither expressions, nor arrays, nor the terminator.
llvm::SmallVector<mlir::Operation *> statementsOf(mlir::Block &block);

/// What is no expression in a block inside of a part: in order, except that the loads between two other ops come as these and later ones
/// ask for them, operand by operand. Parts may have read the same in another order.
llvm::SmallVector<mlir::Operation *> innerStatementsOf(mlir::Block &block);

/// What statements that are alike have in common, whatever their operands are.
llvm::hash_code shapeOf(mlir::Operation *op);

/// How many lines a statement is, about.
int64_t linesOf(mlir::Operation *op);

/// The rounds of a loop that is unrolled fully and counts from 0 by ones; 0 of any other.
int64_t unrolledRoundsOf(mlir::scf::ForOp loop);

/// Whether rounds of all loops around the store, out to `root`, have subscripts of their own.
bool storesEachOnce(mlir::memref::StoreOp store, mlir::Operation *root);

/// An array that an op takes, and the operands that say which of its elements are meant.
struct ArrayUse {
  unsigned array;
  llvm::SmallVector<unsigned, 2> subscripts;
};
/// All private and shared arrays that `op` takes by subscripts; nothing where it may take one as a whole.
std::optional<llvm::SmallVector<ArrayUse, 3>> arrayUsesOf(mlir::Operation *op);

/// Numbers of parts 0, 1, 2, ..: base + step * part, or base + step * (part mod period), or base >> part.
struct Progression {
  int64_t base = 0, step = 0, period = 0;
  bool halves = false;
  bool operator==(const Progression &o) const = default;
  /// The greatest of `count` numbers, where they grow.
  int64_t most(int64_t count) const { return base + step * ((period ? period : count) - 1); }
};
std::optional<Progression> findProgression(llvm::ArrayRef<int64_t> numbers);

/// One value or op for each part.
using Values = llvm::SmallVector<mlir::Value, 8>;
using Ops = llvm::SmallVector<mlir::Operation *, 8>;

Values operandsOf(const Ops &ops, unsigned i);

/// A number that is added to a value: v = rest + addend. `rest` is null for a number alone.
struct Sum {
  mlir::Value rest;
  int64_t addend = 0;
};
Sum sumOf(mlir::Value v);

/// Compares parts, statement by statement. Values are alike where they are the same value, results of statements that
/// are alike, arrays of one type (in shared memory: that lie in progression), numbers in progression, or expressions of alike values.
class AlikeParts {
public:
  /// Parts whose private arrays are made in `block`.
  explicit AlikeParts(mlir::Block *block) : block_(block) {}

  bool areAlike(const Ops &statements);
  /// Arrays of which each part has its own.
  const llvm::MapVector<mlir::Value, Values> &arrays() const { return arrays_; }
  /// Shared memory that is each part's own: the first part's array → how many elements each one lies from it.
  const llvm::MapVector<mlir::Value, Progression> &shared() const { return shared_; }
  /// Arrays that parts hand on: the first of arrays() → those that parts write, of which each is what the next part reads.
  const llvm::MapVector<mlir::Value, Values> &chains() const { return chains_; }
  static bool isOneValue(const Values &values) { return llvm::all_equal(values); }
  /// The numbers of `values` in progression; nothing where they are no numbers.
  static std::optional<Progression> numbersOf(const Values &values);
  /// `values` without what is added to each; nothing where nothing is.
  static std::optional<std::pair<Values, Progression>> withoutAddends(const Values &values);
  /// The ops that make `values`, all expressions of one kind; nothing else.
  static std::optional<Ops> expressionsOf(const Values &values);
  bool areAlike(const Values &values);

private:
  bool areAlike(mlir::Region &first, const Ops &statements, unsigned region);
  bool compare(const Values &values);
  bool areArrays(const Values &values);
  bool isChain(const Values &values);
  bool areShared(const Values &values);
  void bind(const Values &values) { bound_[values.front()] = values; }

  mlir::Block *block_;
  llvm::DenseMap<mlir::Value, Values> bound_;   ///< what statements of the first part make → of all parts
  llvm::MapVector<mlir::Value, Values> arrays_; ///< the first part's → all
  llvm::MapVector<mlir::Value, Progression> shared_;
  llvm::MapVector<mlir::Value, Values> chains_;
  llvm::DenseMap<mlir::Value, mlir::Value> firstOf_;      ///< an array → the first part's
  std::map<std::vector<const void *>, bool> expressions_; ///< compared before
};

} // namespace kernelc
