// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts of emitCuda taken apart and put together: device helpers in a file of their own, several kernels in one.
#pragma once

#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace kernelc::codegen {

/// A text as two: what it calls, for a file `name`, and the kernels, which include that.
struct SeparateText {
  std::string helpers, kernels;
};
SeparateText separateHelpers(llvm::StringRef text, llvm::StringRef name);

/// Texts for one target as one, with each typedef and each helper once: all headers, then what is called, then the kernels. One text
/// stays as it is.
std::string joinTexts(llvm::ArrayRef<std::string> texts, int generation);

} // namespace kernelc::codegen
