// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/LinearIndex.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace kernelc {

void LinearIndex::addParts(Value v, int64_t factor, llvm::function_ref<bool(Value)> isWhole) {
  if (std::optional<int64_t> number = getConstantIntValue(v)) {
    constant += factor * *number;
    return;
  }
  Operation *op = v.getDefiningOp();
  bool hasParts = op && !isWhole(v);
  if (hasParts && isa<arith::AddIOp, arith::SubIOp>(op)) {
    addParts(op->getOperand(0), factor, isWhole);
    addParts(op->getOperand(1), isa<arith::SubIOp>(op) ? -factor : factor, isWhole);
    return;
  }
  if (hasParts && isa<arith::MulIOp>(op))
    for (unsigned i : {0, 1})
      if (std::optional<int64_t> by = getConstantIntValue(op->getOperand(i)))
        return addParts(op->getOperand(1 - i), factor * *by, isWhole);
  add(v, factor);
}

void LinearIndex::add(Value v, int64_t factor) {
  for (auto &[value, f] : terms)
    if (value == v) {
      f += factor;
      return;
    }
  terms.push_back({v, factor});
}

void LinearIndex::add(const LinearIndex &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [v, f] : other.terms)
    add(v, factor * f);
}

int64_t LinearIndex::factorOf(Value v) const {
  for (auto [value, factor] : terms)
    if (value == v)
      return factor;
  return 0;
}

bool LinearIndex::operator==(const LinearIndex &other) const {
  auto isIn = [](const LinearIndex &x, const LinearIndex &y) {
    return llvm::all_of(x.terms, [&](auto &term) { return y.factorOf(term.first) == term.second; });
  };
  return constant == other.constant && isIn(*this, other) && isIn(other, *this);
}

Value LinearIndex::build(OpBuilder &b, Location loc) const {
  Value sum;
  auto addOne = [&](Value v) { sum = sum ? Value(arith::AddIOp::create(b, loc, sum, v)) : v; };
  for (auto [v, factor] : terms)
    if (factor)
      addOne(factor == 1 ? v : Value(arith::MulIOp::create(b, loc, v, arith::ConstantIndexOp::create(b, loc, factor))));
  if (constant || !sum)
    addOne(arith::ConstantIndexOp::create(b, loc, constant));
  return sum;
}

} // namespace kernelc
