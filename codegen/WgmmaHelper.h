// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of wgmma helpers, one specialisation per shape: inline assembly names
// every accumulator register, so it cannot be a template.
#pragma once

#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace kernelc::codegen {

/// The text of "kc_wgmma_bf16<128, 0, 1>": columns, transposed a, transposed b; or, of types
/// that are contiguous along k only, of "kc_wgmma_s8<128>"; two names where a and b differ,
/// "kc_wgmma_s8u8<128>". With a in four registers, "kc_wgmma_rs_bf16<128, 1>": columns,
/// transposed b; behind these may stand, of several products that add to the same registers in one piece of assembly, how many
/// they are and how many bytes behind one's b that of the next lies: "kc_wgmma_rs_bf16<128, 1, 4, 32>". Nothing for other names.
std::optional<std::string> wgmmaHelperText(llvm::StringRef name);

} // namespace kernelc::codegen
