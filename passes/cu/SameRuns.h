// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements that stand in several places: what the places have in common, what they differ by, and a lambda of both.
#pragma once

#include "mlir/IR/Dominance.h"
#include "passes/cu/AlikeParts.h"

#include <map>
#include <optional>

namespace kernelc {

/// The same statements in several places of a kernel, each place's in a block of its own or one behind the other.
class SameRuns {
public:
  /// `runs`: as many statements each, in the order of the text.
  SameRuns(llvm::ArrayRef<llvm::SmallVector<mlir::Operation *>> runs, mlir::DominanceInfo &dominance);

  /// The first statement that is not the same in all places, or hands a result on to where the lambda's statements do not reach.
  std::optional<unsigned> findDifference();
  /// How many numbers the places differ by. Only where there is no difference.
  size_t countArguments() const { return arguments_.size(); }
  /// Writes the lambda ahead of the first place, and calls of it in place of the statements.
  cu::LambdaOp outline();

private:
  /// What values, one of each place, are to the lambda.
  enum class Kind {
    Different,
    Captured,   ///< one value, which is there where the lambda is written: the first place's name of it
    Made,       ///< of a statement or block of the lambda, or an array that no other statement uses
    Expression, ///< computed by the lambda
    Sum,        ///< of values that are the same, and an argument
    Argument,
  };
  /// Sums that places differ in by one addend, which in some is 0.
  struct SumOf {
    Values own; ///< what each place has beside
    llvm::SmallVector<Values, 4> common;
  };
  struct Known {
    Kind kind;
    bool isOne = false;     ///< the same number in every place
    unsigned arguments = 0; ///< how many it takes, some of them more than once
  };

  struct Before { // (of no meaning: only for maps)
    bool operator()(const Values &x, const Values &y) const {
      auto pointer = [](mlir::Value v) { return v.getAsOpaquePointer(); };
      return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(),
                                          [&](mlir::Value a, mlir::Value b) { return std::less<>()(pointer(a), pointer(b)); });
    }
  };

  Ops statement(unsigned i) const;
  bool isInRun(mlir::Operation *op, unsigned place) const;
  bool isOnlyUsedInRun(mlir::Value v, unsigned place) const;
  bool areSame(const Ops &statements, unsigned top);
  bool areSame(const Ops &statements, unsigned region, unsigned top);
  Known classify(const Values &values);
  Known compare(const Values &values);
  bool compareSums(const Values &values);
  bool isSame(mlir::Value first, mlir::Value other, unsigned place) const;
  mlir::Value findSame(mlir::Value first, mlir::Value in, unsigned place, const llvm::DenseSet<mlir::Value> &taken) const;
  void takeCommon(mlir::Value first, const Values &values, SumOf &sum, std::vector<llvm::DenseSet<mlir::Value>> &taken) const;
  Values makeRest(llvm::ArrayRef<llvm::SmallVector<mlir::Value>> addends);
  bool areOwnArrays(const Values &values) const;
  bool stayInPlace(const Ops &ops) const;
  /// The expressions that make `values`, alike in all but their operands.
  std::optional<Ops> expressionsOf(const Values &values) const;
  /// Whether `v` is there ahead of `place`, or can be computed there.
  bool isKnownAt(mlir::Value v, mlir::Operation *place) const;
  void bind(const Values &values);
  void use(const Values &values, unsigned top);

  mlir::StringAttr nameOfArgument(const Values &values) const;
  void makeOutside(mlir::OpBuilder &b, const Values &values);
  mlir::Value makeExpression(mlir::OpBuilder &b, const Values &values);
  mlir::Value makeSum(mlir::OpBuilder &b, const Values &values);
  void makeStatement(mlir::OpBuilder &b, const Ops &statements);
  mlir::Value find(mlir::OpBuilder &b, const Values &values);
  void call(unsigned place, cu::LambdaOp lambda);

  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> runs_; ///< by place
  mlir::DominanceInfo &dominance_;
  mlir::Operation *place_; ///< ahead of which the lambda stands
  std::map<Values, Known, Before> known_;
  llvm::DenseMap<mlir::Value, Values> made_;                                 ///< the first place's → all
  llvm::DenseSet<mlir::Value> inside_;                                       ///< what made_ has of all places
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Block *>> blocks_;   ///< the first place's → all
  llvm::SmallVector<llvm::SmallVector<Values>> used_;                        ///< by each statement
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Values>> expressions_; ///< the first place's → of which places' values it is one
  std::map<Values, SumOf, Before> sums_;
  std::map<std::pair<unsigned, std::vector<const void *>>, mlir::Value> rests_; ///< of a place and its addends
  llvm::SmallVector<Values> arguments_;
  std::map<Values, mlir::Value, Before> written_; ///< values of the lambda
};

/// A scalar expression that may be computed wherever its operands are: none in which lanes exchange.
bool isMovable(mlir::Operation *op);
/// The statements of a block in order that are compared: neither movable expressions nor comments.
llvm::SmallVector<mlir::Operation *> comparedIn(mlir::Block &block);

} // namespace kernelc
