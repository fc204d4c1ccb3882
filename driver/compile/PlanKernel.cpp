// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/PlanKernel.h"

using namespace mlir;

namespace kernelc {

absl::StatusOr<PlannedKernel> planKernel(ModuleOp module, const std::string &name, const VariantOptions &options) {
  PlannedKernel planned;
  planned.module = runPipeline(*isolate(module, name), options, Stage::Plan);
  if (!planned.module)
    return absl::InternalError("the kernel cannot be planned");
  planned.kernel = findKernel(*planned.module, name);
  FailureOr<te::KernelPlan> plan = te::getPlan(planned.kernel);
  if (failed(plan))
    return absl::InternalError("the kernel has no plan");
  planned.plan = std::move(*plan);
  return planned;
}

} // namespace kernelc
