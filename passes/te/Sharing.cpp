#include "passes/te/Sharing.h"

#include "ir/te/TeShape.h"
#include "passes/te/Contraction.h"

using namespace mlir;

namespace kernelc::te {

bool isWorthSharing(int64_t results, int64_t length) {
  constexpr int64_t kLength = 512, kElements = int64_t(1) << 22;
  return length >= kLength && results * length >= kElements;
}

/// Another statement, or an earlier value of the output, is written through the same tensor.
static bool continues(Operation *op) {
  if (auto r = dyn_cast<ReduceOp>(op))
    return r.getInit() || r.getOutMap();
  auto c = dyn_cast<ComputeOp>(op);
  return c && (c.getInit() || c.getOutMap());
}

static bool updatesInputs(KernelOp kernel) {
  for (unsigned o = 0; o < kernel.getOutNames().size(); ++o)
    if (kernel.getAlias(o) >= 0)
      return true;
  return false;
}

bool standsAlone(Operation *op) {
  bool alone = !continues(op) && !updatesInputs(getKernel(op));
  for (Value result : op->getResults())
    alone &= llvm::all_of(result.getUsers(), [](Operation *user) { return isa<ReturnOp>(user); });
  op->walk([&](ReadOp read) { alone &= isa<BlockArgument>(read.getTensor()); });
  return alone;
}

std::string whyNotShared(KernelOp kernel, const LaunchPlan &launch, int64_t index, ArrayRef<Operation *> ops) {
  // Blocks read what they have not written themselves while the first of them writes.
  if (updatesInputs(kernel))
    return "an output updates an input";
  if (launch.producerWarps || launch.persistent)
    return "its blocks have roles or walk several tiles";
  bool reduces = false;
  for (auto [n, ordinal] : llvm::enumerate(launch.ops)) {
    Operation *op = ops[ordinal];
    if (continues(op))
      return "a statement continues from earlier values";
    if (auto r = dyn_cast<ReduceOp>(op); r && findContraction(r))
      return "its product takes all of a sum in one block";
    if (isa<ComputeOp>(op)) {
      for (Operation *user : op->getResult(0).getUsers()) {
        while (!isa<ReturnOp>(user) && !isDomainOp(user))
          user = user->getParentOp();
        if (llvm::any_of(launch.ops, [&](int64_t other) { return ops[other] == user; }))
          return "a statement reads what another one of the launch writes";
      }
      continue;
    }
    reduces |= llvm::is_contained(ArrayRef<int64_t>(launch.dims[n]).drop_front(getNumParallel(op)), index);
  }
  return reduces ? "" : "nothing is reduced over it";
}

} // namespace kernelc::te
