// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedule files: JSON records, put on the kernels they are for.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace kernelc {

/// Reads `text`, a JSON list of records
///   {"kernel": "linear", "launch": "y", "target": "sm_90a", "tiles": {"i": 128}, ..}
/// and puts each on its kernel's `schedule` attribute, where te-plan finds it (see
/// passes/plan/Schedule.h for the keys). `target` may be left out: any. `launch` is left out where a record is about the whole kernel:
/// {"kernel": "linear", "copies": "never"}. `fileName` goes into messages, which quote the text. InvalidArgument for what is no such list
/// or names no known target; a kernel that the module does not have is NotFound, unless the module holds `onlyKernel` alone.
absl::Status attachSchedules(mlir::ModuleOp module, const std::string &text, const std::string &fileName, const std::string &onlyKernel);

/// Bytes of a text.
struct TextRange {
  size_t begin, end;
};
/// Where the records of a schedule file say what te::getScheduleLoc() names by `parts` (kernel, launch, "name" or "value", keys):
/// the last one of that launch that has the keys, else its last one at all. Nothing where there is none.
std::optional<TextRange> findScheduled(absl::string_view text, llvm::ArrayRef<llvm::StringRef> parts);

} // namespace kernelc
