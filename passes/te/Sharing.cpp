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

/// The statement that `user` is, or is part of.
static Operation *statementOf(Operation *user) {
  while (!isa<ReturnOp>(user) && !isDomainOp(user))
    user = user->getParentOp();
  return user;
}

/// Whether what op makes is read by `isReader` only, and what op reads is made by none but `from`.
static bool isBetween(Operation *op, Operation *from, llvm::function_ref<bool(Operation *)> isReader) {
  bool is = true;
  for (Value result : op->getResults())
    is &= llvm::all_of(result.getUsers(), [&](Operation *user) { return isReader(statementOf(user)); });
  op->walk([&](ReadOp read) { is &= isa<BlockArgument>(read.getTensor()) || read.getTensor().getDefiningOp() == from; });
  return is;
}

bool standsAlone(Operation *op) {
  auto isOutput = [](Operation *user) { return isa<ReturnOp>(user); };
  auto isPointwise = [&](Operation *user) {
    auto c = dyn_cast<ComputeOp>(user);
    return c && !continues(c) && getExtents(c).getResults() == getExtents(op).getResults().take_front(getNumParallel(op)) &&
           isBetween(c, op, isOutput);
  };
  return !continues(op) && !updatesInputs(getKernel(op)) &&
         isBetween(op, nullptr, [&](Operation *user) { return isOutput(user) || isPointwise(user); });
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
      for (Operation *user : op->getResult(0).getUsers())
        if (llvm::any_of(launch.ops, [&](int64_t other) { return ops[other] == statementOf(user); }))
          return "a statement reads what another one of the launch writes";
      continue;
    }
    reduces |= llvm::is_contained(ArrayRef<int64_t>(launch.dims[n]).drop_front(getNumParallel(op)), index);
  }
  return reduces ? "" : "nothing is reduced over it";
}

} // namespace kernelc::te
