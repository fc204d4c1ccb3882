// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/CopyPolicy.h"

#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {

bool CopyPolicy::paysToTurn(double elements, double bytes) const {
  return elements / target->costs->copies.scattered > 2 * elements * bytes / target->partRates.memory + target->partRates.launch;
}

FailureOr<std::optional<CopyPolicy>> getCopyPolicy(KernelOp kernel, StringRef target, ArrayRef<int64_t> sizeDiv, ArrayRef<int64_t> sizeMax,
                                                   int64_t work, int64_t reuse) {
  FailureOr<const Target *> known = getTarget(kernel, target);
  if (failed(known) || failed(checkSizeFacts(kernel, sizeDiv, sizeMax)))
    return failure();
  FailureOr<KernelSchedule> schedule = getKernelSchedule(kernel, target);
  if (failed(schedule))
    return failure();
  if (schedule->copies == Copies::Never)
    return std::optional<CopyPolicy>();
  bool always = schedule->copies == Copies::Always;
  auto least = [&](int64_t targetWork, int64_t targetReuse) {
    return always ? LeastWork() : LeastWork{work < 0 ? targetWork : work, reuse < 0 ? targetReuse : reuse};
  };
  const Target &t = **known;
  CopyPolicy policy{&t,
                    llvm::to_vector(sizeDiv),
                    llvm::to_vector(sizeMax),
                    least(t.repackWork, t.repackReuse),
                    least(t.coresWork, t.coresReuse),
                    least(t.repackRowsWork, t.repackRowsReuse),
                    least(t.costs->pointwise.windowWork, t.costs->pointwise.windowReuse)};
  policy.sizeDiv.resize(kernel.getNumSizes(), 1);
  policy.sizeMax.resize(kernel.getNumSizes(), -1);
  return std::optional(policy);
}

} // namespace kernelc::te
