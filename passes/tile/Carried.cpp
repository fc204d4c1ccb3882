#include "passes/tile/Carried.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace kernelc {

FailureOr<Value> carryCount(scf::ForOp &loop, StringRef name, Location loc, llvm::function_ref<Value(OpBuilder &, Value)> next) {
  Location induction = loop.getInductionVar().getLoc();
  SmallVector<Location> carried = llvm::map_to_vector(loop.getRegionIterArgs(), [](Value v) { return v.getLoc(); });
  IRRewriter rewriter(loop->getContext());
  rewriter.setInsertionPoint(loop);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  auto counted = loop.replaceWithAdditionalYields(rewriter, zero, /*replaceInitOperandUsesInLoop=*/false,
                                                  [&](OpBuilder &b, Location, ArrayRef<BlockArgument> args) {
                                                    return SmallVector<Value>{next(b, args[0])};
                                                  });
  if (failed(counted))
    return failure();
  loop = cast<scf::ForOp>(counted->getOperation());
  loop.getInductionVar().setLoc(induction);
  for (auto [arg, at] : llvm::zip(loop.getRegionIterArgs(), carried))
    arg.setLoc(at);
  BlockArgument count = loop.getRegionIterArgs().back();
  count.setLoc(NameLoc::get(rewriter.getStringAttr(name), loc));
  return Value(count);
}

} // namespace kernelc
