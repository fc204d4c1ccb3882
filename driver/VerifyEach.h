// Whether each te pass keeps a kernel's meaning, on one call's arguments: the kernel
// after the pass runs on the CPU and is compared with the f64 reference of the
// kernel as it was written. Names the pass; does not say what it did wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/HostTensor.h"
#include "driver/Session.h"

namespace mlir {
class OpPassManager;
}

namespace kernelc {

struct PassVerdict {
  std::string pass; ///< "source" for the kernel before any pass
  bool passed = false;
  std::string text; ///< a line per output
};

/// The kernel as written, then after each pass of the te pipeline for `target` and
/// `sizes`, up to the first that changed an output beyond its error bound.
/// `tensors` follow Kernel::params and are not written to. `pipeline` builds other
/// passes instead of those (for tests).
absl::StatusOr<std::vector<PassVerdict>> verifyTePasses(JitKernel &kernel, const std::string &target,
                                                        absl::Span<const HostTensor> tensors,
                                                        const std::vector<int64_t> &sizes,
                                                        const std::function<void(mlir::OpPassManager &)> &pipeline = {});

} // namespace kernelc
