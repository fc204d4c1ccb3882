// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar Core expressions, evaluated in the compiler: what tests of a reducer's laws run, and what constants are.
//
// Floats are numbers of long double, rounded only by casts: reductions are over reals. Integers wrap at their width, as on
// every device. A value is *vague* where arithmetic has made a NaN, or an infinity by division by zero, on the way to it:
// no real number says what it should be.
#pragma once

#include <string>

#include "frontend/Core.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace kernelc::frontend {

struct Number {
  long double f = 0; ///< of floats
  int64_t i = 0;     ///< of integers and bools; of u64 its bits
  bool vague = false;
};

class ScalarProgram {
public:
  /// Of `roots`, trees over constants and Node::Param; or, with `leaves`, over these, whose values are then the parameters.
  explicit ScalarProgram(llvm::ArrayRef<Node *> roots, llvm::ArrayRef<Node *> leaves = {});
  /// Whether all that stands in the trees can be evaluated here.
  bool isKnown() const { return known_; }
  /// What the roots come to with these parameters.
  void run(llvm::ArrayRef<Number> params, llvm::MutableArrayRef<Number> results) const;

private:
  struct Step {
    const Node *node;
    llvm::SmallVector<unsigned, 3> operands; ///< numbers of steps
    long double (*function)(long double) = nullptr;
    int param = -1; ///< a leaf's
  };
  Number evaluate(const Step &s, llvm::ArrayRef<Number> values, llvm::ArrayRef<Number> params) const;

  std::vector<Step> steps_;
  llvm::SmallVector<unsigned> roots_;
  mutable std::vector<Number> values_;
  bool known_ = true;
};

/// What `roots` are computed from: reads, indices, sizes, scalars and reductions, each once.
llvm::SmallVector<Node *> findLeaves(llvm::ArrayRef<Node *> roots);
/// Whether `n` is made of constants, and can be evaluated here.
bool isConstant(Node *n);
/// What a constant is, as an attribute of type `type`.
mlir::TypedAttr evaluateConstant(Node *n, mlir::Type type);
std::string print(const Number &v, ElementType type);

} // namespace kernelc::frontend
