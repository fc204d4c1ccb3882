// tile.cluster_reduce: what crosses the blocks of a cluster.
//
// Each block leaves its tile in shared memory; then each reads those of all, its threads
// sharing the elements out, in the order of the blocks: the result is the same everywhere and
// in every run.
#include "passes/lowerings/DotLowering.h"
#include "passes/te/Reduction.h"

using namespace mlir;

namespace kernelc {

using tile::Layout;

namespace {

/// The type in which elements of `t` can be read from another block.
Type exchangeType(Type t) {
  MLIRContext *context = t.getContext();
  if (t.isIndex())
    return IntegerType::get(context, 64);
  if (t.getIntOrFloatBitWidth() >= 32)
    return t;
  return isa<FloatType>(t) ? Type(Float32Type::get(context)) : IntegerType::get(context, 32);
}

/// `v` as a value of the wider or narrower type `to`, which holds it exactly.
Value convertExactly(Value v, Type to, OpBuilder &b, Location loc) {
  Type from = v.getType();
  if (from == to)
    return v;
  if (from.isIndex() || to.isIndex())
    return arith::IndexCastOp::create(b, loc, to, v);
  bool widens = to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
  if (isa<FloatType>(from))
    return widens ? Value(arith::ExtFOp::create(b, loc, to, v)) : arith::TruncFOp::create(b, loc, to, v);
  return widens ? Value(arith::ExtUIOp::create(b, loc, to, v)) : arith::TruncIOp::create(b, loc, to, v);
}

} // namespace

void lowerClusterReduce(ThreadCode &c, tile::ClusterReduceOp op) {
  Location loc = cu::unnamed(op.getLoc());
  OpBuilder &b = c.b;
  auto named = [&](StringRef name) { return NameLoc::get(b.getStringAttr(name), loc); };
  Layout layout = tile::getLayout(op.getInputs()[0]);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getInputs()[0].getType()).getShape();
  int64_t elements = 1;
  SmallVector<int64_t> strides(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = elements;
    elements *= shape[d];
  }
  auto slot = [&](const OpenDigits &open) {
    Value s;
    for (auto [stride, v] : llvm::zip(strides, c.coordinates(layout, open, shape.size(), loc)))
      if (v)
        s = c.add(s, c.mul(v, stride, loc), loc);
    return s ? s : c.index(0, loc);
  };
  auto inBranch = [&](Value condition, llvm::function_ref<void()> body) {
    if (!condition)
      return body();
    auto branch = scf::IfOp::create(b, loc, condition, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    body();
  };

  SmallVector<Value> parts, totals;
  SmallVector<Type> types;
  for (Value in : op.getInputs()) {
    types.push_back(cast<RankedTensorType>(in.getType()).getElementType());
    parts.push_back(c.sharedArray(elements, exchangeType(types.back()), loc, "part"));
    totals.push_back(c.sharedArray(elements, types.back(), loc, "total"));
  }
  OpenDigits open;
  inBranch(c.isFirstReplica(layout, loc), [&] {
    c.overDigits(layout.reg, loc, open, [&] {
      for (auto [in, part] : llvm::zip(op.getInputs(), parts)) {
        Type type = cast<MemRefType>(part.getType()).getElementType();
        memref::StoreOp::create(b, loc, convertExactly(c.element(in, open, loc), type, b, loc), part, slot(open));
      }
    });
  });
  cu::ClusterSyncOp::create(b, loc);
  {
    OpBuilder::InsertionGuard guard(b);
    int64_t threads = int64_t(c.func.getWarps()) * 32;
    Value e = c.add(openLoop(c, 0, elements, threads, "e", loc), c.thread(loc), loc);
    Value mine = elements % threads ? Value(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, e, c.index(elements, loc))) : Value();
    inBranch(mine, [&] {
      auto loop = scf::ForOp::create(b, loc, c.index(0, loc), c.index(c.func.getCluster(), loc), c.index(1, loc),
                                     te::identityState(op.getKind(), types[0], types.size(), b, loc));
      loop.getInductionVar().setLoc(named("block"));
      for (Value a : loop.getRegionIterArgs())
        a.setLoc(named("total"));
      {
        OpBuilder::InsertionGuard inner(b);
        b.setInsertionPointToEnd(loop.getBody());
        SmallVector<Value> theirs;
        for (auto [part, type] : llvm::zip(parts, types)) {
          Type held = cast<MemRefType>(part.getType()).getElementType();
          Value v = cu::ClusterLoadOp::create(b, named("theirs"), held, part, e, loop.getInductionVar());
          theirs.push_back(convertExactly(v, type, b, loc));
        }
        scf::YieldOp::create(b, loc, te::combineStates(op.getKind(), loop.getRegionIterArgs(), theirs, b, loc));
      }
      for (auto [v, total] : llvm::zip(loop.getResults(), totals))
        memref::StoreOp::create(b, loc, v, total, e);
    });
  }
  // Nobody leaves, or writes its part again, while another may still read it.
  cu::ClusterSyncOp::create(b, loc);
  for (auto [result, total] : llvm::zip(op.getResults(), totals))
    c.tiles[result] = {layout, c.allocate(layout.numRegisters(), cast<RankedTensorType>(result.getType()).getElementType(), op.getLoc())};
  c.overDigits(layout.reg, loc, open, [&] {
    for (auto [result, total] : llvm::zip(op.getResults(), totals))
      memref::StoreOp::create(b, loc, memref::LoadOp::create(b, loc, total, slot(open)), c.tiles.lookup(result).array,
                              c.registerIndex(layout, open, loc));
  });
}

} // namespace kernelc
