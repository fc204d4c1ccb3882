// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/capi/Handles.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

using namespace kernelc;

kc_kernel::kc_kernel(std::shared_ptr<JitKernel> k) : kernel(std::move(k)) {
  std::vector<std::string> names;
  for (const SizeRecipe &s : kernel->signature().sizes)
    names.push_back(s.name);
  for (const Param &p : kernel->visible().params)
    shapes.push_back(
        absl::StrCat("[", absl::StrJoin(p.dims, ", ", [&](std::string *out, const SizeExpr &d) { out->append(d.toString(names)); }), "]"));
}

static std::string &lastError() {
  thread_local std::string text;
  return text;
}

namespace kernelc::capi {

kc_code finish(const absl::Status &status) {
  lastError() = std::string(status.message());
  return kc_code(status.raw_code());
}

absl::Status usable(const GatePass &pass) {
  if (pass.wasTurnedAway())
    return absl::CancelledError("this process ends, and another thread has called kc_prepare_exit");
  return pass.isOpen()
             ? absl::OkStatus()
             : absl::FailedPreconditionError("this process was forked while another thread compiled or ran a kernel, and what that thread "
                                             "held stays held here; start workers with exec, or Python's 'spawn' method");
}

absl::Status missing(const char *what) { return absl::InvalidArgumentError(absl::StrCat(what, " is null")); }

} // namespace kernelc::capi

const char *kc_last_error(void) { return lastError().c_str(); }
