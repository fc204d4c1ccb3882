// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions that have the shape of a product, with another term or another combiner.
#include "ir/te/Combiners.h"
#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// Finds the two values that a term is made of, each of which depends on parallel indices that the other does not.
class TermOperands {
public:
  explicit TermOperands(ReduceOp reduce) : reduce_(reduce) {}

  /// False where the term is made of something else.
  bool find(Value &a, Value &b) {
    Value term = reduce_.getYield().getValues()[0];
    if (!findSides(term) || !descend(term) || a_.size() != 1 || b_.size() != 1)
      return false;
    a = a_.front();
    b = b_.front();
    return true;
  }

private:
  llvm::BitVector parallelSupport(Value v) {
    llvm::BitVector dims = findSupport(v, reduce_.getNumDims());
    dims.reset(reduce_.getNumParallel(), reduce_.getNumDims());
    return dims;
  }

  static bool contains(const llvm::BitVector &all, const llvm::BitVector &some) { return !some.test(all); }

  /// The two largest sets of parallel indices that reads depend on, of which each has one that the other lacks.
  bool findSides(Value term) {
    SmallVector<llvm::BitVector> largest;
    for (ReadOp read : findReads(term)) {
      llvm::BitVector own = parallelSupport(read.getResult());
      if (llvm::any_of(largest, [&](const llvm::BitVector &other) { return contains(other, own); }))
        continue;
      llvm::erase_if(largest, [&](const llvm::BitVector &other) { return contains(own, other); });
      largest.push_back(own);
    }
    if (largest.size() != 2)
      return false;
    sides_[0] = largest[0];
    sides_[1] = largest[1];
    return true;
  }

  /// Collects the largest parts of the term that one side has all indices of.
  bool descend(Value v) {
    Operation *op = v.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      return true;
    llvm::BitVector own = parallelSupport(v);
    for (auto [side, found] : {std::pair(&sides_[0], &a_), std::pair(&sides_[1], &b_)})
      if (contains(*side, own)) {
        found->insert(v);
        return true;
      }
    // What is left joins both: scalar arithmetic, which CUDA cores do for each pair.
    StringRef dialect = op ? op->getName().getDialectNamespace() : "";
    return (dialect == "arith" || dialect == "math") && op->getNumRegions() == 0 &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return descend(operand); });
  }

  ReduceOp reduce_;
  llvm::BitVector sides_[2];
  llvm::SmallSetVector<Value, 4> a_, b_;
};

} // namespace

std::optional<Contraction> findGeneralContraction(ReduceOp reduce) {
  if (std::optional<Contraction> product = findContraction(reduce))
    return product;
  if (reduce.isArg() || reduce.getInit() || reduce.getOutMap() || !getStreamedDims(reduce).empty() || reduce.getCondition() ||
      reduce.getYield().getCondition())
    return std::nullopt;
  Contraction c;
  c.term = reduce.getYield().getValues()[0];
  Type type = c.term.getType();
  if (type.getIntOrFloatBitWidth() < 32 || !TermOperands(reduce).find(c.a, c.b) || c.a.getType() != type || c.b.getType() != type)
    return std::nullopt;
  std::optional<Contraction> found = classify(reduce, c);
  if (found)
    found->unitType = {}; // matrix units multiply
  return found;
}

} // namespace kernelc::te
