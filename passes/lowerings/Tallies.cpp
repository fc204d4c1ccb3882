// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/Tallies.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/analysis/Reduction.h"
#include "passes/tile/Access.h"

using namespace mlir;

namespace kernelc {

static Type elementOf(tile::ScatterOp op) { return op.getValue().getType().getElementType(); }

/// The tensor's elements, counted row by row.
static Value countElements(ThreadCode &c, tile::ScatterOp op, Location loc) {
  AffineExpr count = getAffineConstantExpr(1, op.getContext());
  for (AffineExpr e : shapeOfBase(c.func, op.getBase()).getResults())
    count = count * e;
  return c.expand(count, {}, loc);
}

Value tallyAddress(ThreadCode &c, tile::ScatterOp op, ArrayRef<Value> subscripts) {
  Location loc = cu::unnamed(op.getLoc());
  Value at = c.index(0, loc);
  for (auto [s, extent] : llvm::zip(subscripts, shapeOfBase(c.func, op.getBase()).getResults()))
    at = c.add(arith::MulIOp::create(c.b, loc, at, c.expand(extent, {}, loc)), s, loc);
  if (op.getTallies() == 1)
    return at;
  Value copy = c.warp(loc);
  if (int64_t(op.getTallies()) < int64_t(c.func.getWarps()))
    copy = arith::RemSIOp::create(c.b, loc, copy, c.index(op.getTallies(), loc));
  return c.add(at, c.mul(copy, op.getElements(), loc), loc);
}

void openTallies(ThreadCode &c) {
  c.func.walk([&](tile::ScatterOp op) {
    if (!op.getTallies() || c.tallies.contains(op.getBase()))
      return;
    Location loc = cu::unnamed(op.getLoc());
    int64_t all = op.getTallies() * op.getElements();
    Value copies = c.sharedArray(all, elementOf(op), loc, (cu::findName(op.getBase().getLoc()) + "_tally").str());
    c.tallies[op.getBase()] = copies;
    Value identity = arith::ConstantOp::create(c.b, loc, te::identityOf(*op.getKind(), elementOf(op), c.b));
    cu::CommentOp::create(c.b, loc, "Empty the block's copies.");
    shareOut(c, all, c.kernel.getThreads(), "t", loc, [&](Value t) { memref::StoreOp::create(c.b, loc, identity, copies, t); });
  });
}

/// Where element `number`, row by row, of the tensor is.
static Value placeOf(ThreadCode &c, tile::ScatterOp op, Value number, Location loc) {
  AffineMap strides = layoutOfBase(c.func, op.getBase()).strides, shape = shapeOfBase(c.func, op.getBase());
  if (!strides)
    return number;
  Value at = c.index(0, loc);
  for (unsigned d = shape.getNumResults(); d-- > 0;) {
    Value extent = c.expand(shape.getResult(d), {}, loc), subscript = number;
    if (d > 0) {
      subscript = arith::RemSIOp::create(c.b, loc, number, extent);
      number = arith::DivSIOp::create(c.b, loc, number, extent);
    }
    at = c.add(at, scaled(c, subscript, strides.getResult(d), loc), loc);
  }
  return at;
}

static void closeTally(ThreadCode &c, tile::ScatterOp op, Value copies) {
  Location loc = cu::unnamed(op.getLoc());
  te::Combiner kind = *op.getKind();
  cu::CommentOp::create(c.b, loc, "Combine the block's copies with the tensor.");
  shareOut(c, op.getElements(), c.kernel.getThreads(), "t", loc, [&](Value t) {
    Value count = countElements(c, op, loc), exists; // (below the most that there are, which is shared out)
    if (getConstantIntValue(count) != int64_t(op.getElements()))
      exists = arith::CmpIOp::create(c.b, loc, arith::CmpIPredicate::slt, t, count);
    c.inBranch(exists, loc, [&] {
      Value sum = memref::LoadOp::create(c.b, loc, copies, t);
      if (op.getTallies() > 1) {
        auto loop = scf::ForOp::create(c.b, loc, c.index(1, loc), c.index(op.getTallies(), loc), c.index(1, loc), sum);
        loop.getInductionVar().setLoc(c.named("copy", loc));
        OpBuilder::InsertionGuard guard(c.b);
        c.b.setInsertionPointToEnd(loop.getBody());
        Value at = c.add(t, c.mul(loop.getInductionVar(), op.getElements(), loc), loc);
        Value next = te::combine(kind, loop.getRegionIterArg(0), memref::LoadOp::create(c.b, loc, copies, at), c.b, loc);
        scf::YieldOp::create(c.b, loc, next);
        sum = loop.getResult(0);
      }
      Value any;
      if (isa<IntegerType>(sum.getType())) {
        Value identity = arith::ConstantOp::create(c.b, loc, te::identityOf(kind, sum.getType(), c.b));
        any = arith::CmpIOp::create(c.b, loc, arith::CmpIPredicate::ne, sum, identity);
      }
      c.inBranch(any, loc, [&] {
        cu::AtomicOp::create(c.b, loc, te::stringifyCombiner(kind), sum, c.bases.lookup(op.getBase()), placeOf(c, op, t, loc));
      });
    });
  });
}

void closeTallies(ThreadCode &c) {
  llvm::SmallPtrSet<const void *, 2> done;
  c.func.walk([&](tile::ScatterOp op) {
    if (op.getTallies() && done.insert(op.getBase().getAsOpaquePointer()).second)
      closeTally(c, op, c.tallies.lookup(op.getBase()));
  });
}

} // namespace kernelc
