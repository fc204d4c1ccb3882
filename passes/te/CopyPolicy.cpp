#include "passes/te/CopyPolicy.h"

using namespace mlir;

namespace kernelc::te {

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
  CopyPolicy policy{*known, llvm::to_vector(sizeDiv), llvm::to_vector(sizeMax), work, reuse};
  policy.sizeDiv.resize(kernel.getNumSizes(), 1);
  policy.sizeMax.resize(kernel.getNumSizes(), -1);
  if (schedule->copies == Copies::Always) {
    policy.work = policy.reuse = policy.coresWork = policy.coresReuse = policy.rowsWork = policy.rowsReuse = 0;
  } else {
    policy.work = work < 0 ? policy.target->repackWork : work;
    policy.reuse = reuse < 0 ? policy.target->repackReuse : reuse;
    policy.coresWork = work < 0 ? policy.target->coresWork : work;
    policy.coresReuse = reuse < 0 ? policy.target->coresReuse : reuse;
    policy.rowsWork = work < 0 ? policy.target->repackRowsWork : work;
    policy.rowsReuse = reuse < 0 ? policy.target->repackRowsReuse : reuse;
  }
  return std::optional(policy);
}

} // namespace kernelc::te
