// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/index/LinearRead.h"

#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"
#include "passes/index/Runs.h"

using namespace mlir;

namespace kernelc::te {

SmallVector<unsigned> LinearRead::subscriptsWith(unsigned d) const {
  SmallVector<unsigned> found;
  for (unsigned r = 0; r < coefficients.size(); ++r)
    if (others[r] ? !rest[r] || rest[r].isFunctionOfDim(d) : coefficients[r][d] != 0)
      found.push_back(r);
  return found;
}

bool LinearRead::isAlone(unsigned r, unsigned d) const {
  if (others[r])
    return false;
  for (auto [other, c] : llvm::enumerate(coefficients[r]))
    if (c != (other == d ? 1 : 0))
      return false;
  return rest[r] == getAffineConstantExpr(0, rest[r].getContext());
}

namespace {

/// A subscript over the dims of `op`; null where it depends on anything else.
AffineExpr overDimsOf(Operation *op, ReadOp read, AffineExpr subscript) {
  SmallVector<AffineExpr> toOp;
  for (Value v : read.getOperands_()) {
    std::optional<unsigned> d = findIndex(op, v);
    if (!d)
      return {};
    toOp.push_back(getAffineDimExpr(*d, op->getContext()));
  }
  return simplifyAffineExpr(subscript.replaceDims(toOp), getExtents(op).getNumResults(), getExtents(op).getNumSymbols());
}

std::optional<SmallVector<int64_t>> coefficientsOf(AffineExpr e, unsigned dims) {
  SmallVector<int64_t> row(dims, 0);
  for (unsigned d = 0; d < dims; ++d) {
    if (!e.isFunctionOfDim(d))
      continue;
    std::optional<int64_t> c = linearCoefficient(e, d);
    if (!c)
      return std::nullopt;
    row[d] = *c;
  }
  return row;
}

} // namespace

bool movesWith(ReadOp read, AffineExpr subscript, llvm::function_ref<bool(unsigned)> isOne) {
  return llvm::any_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
    std::optional<unsigned> d = findIndex(read->getParentOp(), operand.value());
    return d && isOne(*d) && subscript.isFunctionOfDim(operand.index());
  });
}

std::optional<SmallVector<int64_t>> lineariseSubscript(Operation *op, ReadOp read, unsigned r) {
  AffineExpr e = overDimsOf(op, read, read.getMapOrIdentity().getResult(r));
  return e ? coefficientsOf(e, getExtents(op).getNumResults()) : std::nullopt;
}

LinearRead lineariseSubscripts(Operation *op, ReadOp read, const SizeFacts *facts) {
  unsigned dims = getExtents(op).getNumResults(), symbols = getExtents(op).getNumSymbols();
  SmallVector<AffineExpr> none(dims, getAffineConstantExpr(0, op->getContext()));
  LinearRead found{read, {}, {}, llvm::BitVector(read.getMapOrIdentity().getNumResults())};
  for (auto [r, subscript] : llvm::enumerate(read.getMapOrIdentity().getResults())) {
    AffineExpr e = overDimsOf(op, read, subscript);
    if (e && facts)
      e = withPinnedSizes(e, dims, symbols, *facts);
    std::optional<SmallVector<int64_t>> row = e ? coefficientsOf(e, dims) : std::nullopt;
    found.others[r] = !row;
    found.coefficients.push_back(row.value_or(SmallVector<int64_t>(dims, 0)));
    found.rest.push_back(row ? simplifyAffineExpr(e.replaceDims(none), 0, symbols) : e);
  }
  return found;
}

bool areDigitsOfOne(Operation *op, ReadOp read, ArrayRef<unsigned> indices) {
  LinearRead linear = lineariseSubscripts(op, read);
  SmallVector<unsigned> at = linear.subscriptsWith(indices.back());
  if (at.size() != 1 || linear.others[at[0]] || linear.rest[at[0]] != getAffineConstantExpr(0, op->getContext()))
    return false;
  for (auto [d, c] : llvm::enumerate(linear.coefficients[at[0]])) {
    bool isDigit = llvm::is_contained(indices, d);
    if (isDigit ? linear.subscriptsWith(d) != at || c == 0 || (c == 1) != (d == indices.back()) : c != 0)
      return false;
  }
  return true;
}

std::optional<LinearRead> lineariseRead(Operation *op, ReadOp read) {
  LinearRead found = lineariseSubscripts(op, read);
  return found.others.none() ? std::optional(std::move(found)) : std::nullopt;
}

} // namespace kernelc::te
