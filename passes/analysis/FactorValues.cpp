// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a value in a statement's body is made of, and on which of the statement's dims it depends.
#include "passes/analysis/Contraction.h"

#include "ir/te/TeShape.h"
#include "passes/index/Domain.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc::te {

llvm::BitVector findSupport(Value value, unsigned numDims) {
  llvm::BitVector dims(numDims);
  llvm::SmallVector<Value> work{value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (auto arg = dyn_cast<BlockArgument>(v)) {
      Operation *parent = arg.getOwner()->getParentOp();
      auto cascade = dyn_cast<CascadeOp>(parent);
      if (arg.getArgNumber() < numDims && isDomainOp(parent))
        dims.set(arg.getArgNumber());
      else if (cascade && arg.getOwner() == &cascade.getBlock())
        for (unsigned d : cascade.getOwnDims(arg.getArgNumber() - cascade.getNumDims()))
          dims.set(d);
      continue;
    }
    Operation *op = v.getDefiningOp();
    if (isDomainOp(op) || !seen.insert(op).second)
      continue;
    if (auto read = dyn_cast<ReadOp>(op)) {
      AffineMap map = read.getMapOrIdentity();
      for (auto [i, operand] : llvm::enumerate(read.getOperands_()))
        if (map.isFunctionOfDim(i))
          work.push_back(operand);
      if (read.getPadding())
        work.push_back(read.getPadding());
      continue;
    }
    llvm::append_range(work, op->getOperands());
  }
  return dims;
}

int64_t findUniformTile(Value condition, unsigned d) {
  constexpr int64_t kLargest = 4096;
  int64_t tile = 0;
  auto limit = [&](int64_t most) { tile = tile == 0 ? most : std::min(tile, most); };
  auto isDim = [&](Value v) {
    auto arg = dyn_cast<BlockArgument>(v);
    return arg && arg.getArgNumber() == d && isDomainOp(arg.getOwner()->getParentOp());
  };
  llvm::SmallVector<Value> work;
  for (Value part : splitConjuncts(condition)) {
    std::optional<LinearBound> bound = findLinearBound(part);
    work.push_back(bound ? bound->bound : part);
  }
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (isDim(v))
      limit(1);
    Operation *op = v.getDefiningOp();
    if (!op || isDomainOp(op) || !seen.insert(op).second)
      continue;
    auto read = dyn_cast<ReadOp>(op);
    if (!read) {
      llvm::append_range(work, op->getOperands());
      continue;
    }
    for (auto [i, operand] : llvm::enumerate(read.getOperands_())) {
      if (!isDim(operand)) {
        work.push_back(operand);
        continue;
      }
      for (AffineExpr e : read.getMapOrIdentity().getResults()) {
        int64_t most = kLargest;
        while (variesInTile(e, i, most))
          most /= 2;
        if (e.isFunctionOfDim(i))
          limit(most);
      }
    }
    if (read.getPadding())
      work.push_back(read.getPadding());
  }
  return tile;
}

Value stripWidening(Value value) {
  if (Operation *op = value.getDefiningOp())
    if (isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op))
      return op->getOperand(0);
  return value;
}

ReadOp findOperandRead(Value factor) {
  if (auto round = factor.getDefiningOp<RoundOp>())
    return round.getInput().getDefiningOp<ReadOp>();
  return stripWidening(factor).getDefiningOp<ReadOp>();
}

bool isUnchecked(ReadOp read) { return read.getBounds() == BoundsMode::InBounds || read.getBounds() == BoundsMode::Assume; }

bool readsZeroOutside(ReadOp read) {
  return read.getBounds() == BoundsMode::Pad &&
         (matchPattern(read.getPadding(), m_AnyZeroFloat()) || matchPattern(read.getPadding(), m_Zero()));
}

SmallVector<ReadOp> findReads(Value factor) {
  SmallVector<ReadOp> reads;
  SmallVector<Value> work{factor};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || isDomainOp(op) || !seen.insert(op).second)
      continue;
    if (auto read = dyn_cast<ReadOp>(op))
      reads.push_back(read);
    llvm::append_range(work, op->getOperands());
  }
  return reads;
}

Type narrowestType(Value factor) {
  Operation *op = factor.getDefiningOp();
  if (auto round = dyn_cast_or_null<RoundOp>(op))
    return round.getTo();
  if (op && isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return stripWidening(op->getOperand(0)).getType();
  return stripWidening(factor).getType();
}

} // namespace kernelc::te
