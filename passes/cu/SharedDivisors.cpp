// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-shared-divisors: see Passes.td.
#include "ir/cu/Marks.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUSHAREDDIVISORS
#include "passes/Passes.h.inc"

namespace {

/// What a divisor lies between where a reciprocal and one correction round as a division does (kc_divide_by).
constexpr double kLeastDivisor = 1.0, kLargestDivisor = 0x1p100;

bool isPrivateArray(Value memory) { return memory.getDefiningOp<memref::AllocaOp>() && cu::spaceOf(memory) == cu::Private; }

/// Whether threads may go apart over `loop`: nothing in it waits, exchanges or copies.
bool isOfOneThread(scf::ForOp loop) {
  bool all = loop->getNumResults() == 0;
  loop->walk([&](Operation *op) {
    bool isPlain = isa<memref::LoadOp, memref::StoreOp, memref::AllocaOp, scf::YieldOp, scf::IfOp>(op) ||
                   isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect());
    auto inner = dyn_cast<scf::ForOp>(op);
    all &= isPlain || (inner && cu::kUnroll.isAllOn(inner));
  });
  return all;
}

/// Whether `v` is the same in all rounds of `loop`, and can be had ahead of it: it stands there, or is loaded from an array that the loop
/// does not change.
bool isFixed(Value v, scf::ForOp loop) {
  if (loop.isDefinedOutsideOfLoop(v))
    return true;
  auto load = v.getDefiningOp<memref::LoadOp>();
  auto writes = [&](Operation *user) { return !isa<memref::LoadOp>(user) && loop->isAncestor(user); };
  return load && isPrivateArray(load.getMemRef()) && loop.isDefinedOutsideOfLoop(load.getMemRef()) &&
         llvm::all_of(load.getIndices(), [&](Value at) { return loop.isDefinedOutsideOfLoop(at); }) &&
         llvm::none_of(load.getMemRef().getUsers(), writes);
}

/// Whether `division` is a quotient of f32 by what is the same in all rounds of `loop`.
bool dividesByFixed(arith::DivFOp division, scf::ForOp loop) {
  Value by = division.getRhs();
  return by.getType().isF32() && !matchPattern(by, m_Constant()) && !matchPattern(division.getLhs(), m_Constant()) &&
         division.getFastmath() == arith::FastMathFlags::none && isFixed(by, loop);
}

/// How often `op` is computed in one pass of `loop`, all of whose loops are unrolled.
int64_t timesOf(Operation *op, scf::ForOp loop) {
  int64_t times = 1;
  for (auto at = op->getParentOfType<scf::ForOp>(); at; at = at->getParentOfType<scf::ForOp>()) {
    times *= getConstantIntValue(at.getUpperBound()).value_or(1);
    if (at == loop)
      break;
  }
  return times;
}

/// The outermost unrolled loop around `division` in which its divisor stays; null where it is none, or has fewer than `fewest` quotients.
scf::ForOp findLoop(arith::DivFOp division, int64_t fewest) {
  scf::ForOp found;
  for (auto loop = division->getParentOfType<scf::ForOp>();
       loop && cu::kUnroll.isAllOn(loop) && isOfOneThread(loop) && dividesByFixed(division, loop);
       loop = loop->getParentOfType<scf::ForOp>())
    found = loop;
  return found && timesOf(division, found) >= fewest ? found : scf::ForOp();
}

Value isBetween(OpBuilder &b, Location loc, Value v) {
  auto number = [&](double n) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(n))); };
  Value least = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, v, number(kLeastDivisor));
  Value most = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, v, number(kLargestDivisor));
  return arith::AndIOp::create(b, loc, least, most);
}

/// Makes two of `loop`, and asks of the divisor which it takes.
void divideOnce(arith::DivFOp division, scf::ForOp loop) {
  OpBuilder b(loop);
  Location loc = division.getLoc();
  Value shared = division.getRhs();
  Value by = loop.isDefinedOutsideOfLoop(shared) ? shared : b.clone(*shared.getDefiningOp())->getResult(0);
  auto branch = scf::IfOp::create(b, loc, isBetween(b, loc, by), true);
  OpBuilder otherwise = branch.getElseBodyBuilder();
  otherwise.clone(*loop);
  loop->moveBefore(branch.thenBlock()->getTerminator());
  auto isSame = [&](arith::DivFOp other) {
    auto load = other.getRhs().getDefiningOp<memref::LoadOp>(), first = shared.getDefiningOp<memref::LoadOp>();
    return other.getRhs() == shared || (load && first && load.getMemRef() == first.getMemRef() && load.getIndices() == first.getIndices());
  };
  SmallVector<arith::DivFOp> same;
  loop->walk([&](arith::DivFOp other) {
    if (isSame(other))
      same.push_back(other);
  });
  for (arith::DivFOp other : same) {
    other.getRhsMutable().assign(by);
    other.setFastmath(arith::FastMathFlags::arcp);
  }
}

struct CuSharedDivisorsPass : impl::CuSharedDivisorsBase<CuSharedDivisorsPass> {
  void runOnOperation() override {
    const Target *target = findTarget(absl::string_view(getOperation().getTarget().data(), getOperation().getTarget().size()));
    const int64_t fewest = (target ? *target->costs : kMeasuredCosts).threads.fewestQuotients;
    SmallVector<arith::DivFOp> divisions;
    getOperation().getBody().walk([&](arith::DivFOp division) { divisions.push_back(division); });
    for (arith::DivFOp division : divisions)
      if (scf::ForOp loop = findLoop(division, fewest))
        divideOnce(division, loop);
  }
};

} // namespace
} // namespace kernelc
