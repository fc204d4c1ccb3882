// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The algebra of cascades: how a sum over an index that uses earlier reductions over that index moves to new values of them.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Reductions over one and the same points that feed each other. Their bodies stand in one block, without repetition: its
/// arguments are the dims, then for each member what it comes to. A member may lack parallel dims that others have.
struct Chain {
  llvm::SmallVector<ReduceOp> members;
  llvm::SmallVector<llvm::SmallVector<unsigned>> own; ///< per member: the parallel dims of its result, in its order
  struct Domain {
    mlir::ArrayAttr indices;
    mlir::AffineMap extents;
    mlir::IntegerSetAttr condition;
  } domain;
  unsigned parallel = 0, dims = 0; ///< of the domain
  bool mayBeEmpty = true;          ///< whether some result may be over no point
  mlir::Block *block = nullptr;
  llvm::SmallVector<mlir::Value> terms; ///< per member
  mlir::Value where;                    ///< in the block: the condition on data under which points count; null: all do

  Combiner kindOf(unsigned member) const { return ReduceOp(members[member]).getKind(); }
  mlir::Value argument(unsigned member) const { return block->getArgument(dims + member); }
};

/// How component g moves from the earlier values x to x', for one term u:
enum class Motion {
  Stays,       ///< g(u, x') = g(u, x): nothing earlier is used
  Exponential, ///< exp(κ (v - x)) w(u) (λ (v - x))^p: times exp(κ (x - x')), and the binomial theorem in λ (x - x'); x the maximum
               ///< of v, or the minimum with κ < 0
  Power,       ///< (v / x)^p: times (x / x')^p; x the maximum of |v|
  Moment,      ///< (v - s / n)^p: the binomial theorem in s / n - s' / n'; s the sum of v, n of 1
};

/// A component of a cascade.
struct Component {
  Combiner kind;
  Motion motion = Motion::Stays;
  mlir::Value term;                  ///< in the chain's block; of moments v; null: 1 for each point
  unsigned member = 0;               ///< an argument of the chain: x, or s of moments
  unsigned reference = 0;            ///< the component which that is
  double scale = 1;                  ///< κ
  mlir::Value exponential;           ///< exp(κ (v - x)), as the term has it
  mlir::Value factor;                ///< of a maximum or minimum that others refer to: v is `term` times it, the same everywhere
  bool weighted = false;             ///< there is another factor
  unsigned power = 0;                ///< p
  double shift = 1;                  ///< λ
  unsigned count = 0;                ///< component n
  llvm::SmallVector<unsigned> lower; ///< the components of powers 2 .. p - 1 of moments, 0 .. p - 1 beside exponentials
};

/// A member of the chain as components: the sum of its parts, each with its factors that are free of the index.
struct Part {
  unsigned component;
  bool negative = false;
  llvm::SmallVector<mlir::Value> factors, divisors; ///< in the chain's block
  std::optional<unsigned> plain;                    ///< of weighted exponentials, the component without weights
  mlir::Value outside;                              ///< of exponentials, exp(κ (x - y)) where the program subtracts y
  std::optional<unsigned> count;                    ///< where there may be no point, a component that counts them
  mlir::Value center;                               ///< of moments: what the program subtracts from v
};

struct Separation {
  llvm::SmallVector<Component> components;
  llvm::SmallVector<llvm::SmallVector<Part>> members; ///< per member of the chain
};

/// What stands in the way: the operation of a member's body whose value is no product of a term and a coefficient.
struct Inseparable {
  unsigned member;
  mlir::Operation *factor;
};

/// Writes each body as a finite sum of coefficient(earlier results) × term(index). Adds operations to the chain's block.
std::optional<Inseparable> separate(const Chain &chain, Separation &into);

} // namespace kernelc::te
