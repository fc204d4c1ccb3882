// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints tokens in the canonical layout. Changes white space only, so that no
// program changes its meaning; `format(format(t)) == format(t)`.
#pragma once

#include <string>

#include "frontend/Parser.h"

namespace kernelc::frontend {

std::string format(const TokenList &tokens, llvm::ArrayRef<Role> roles);

} // namespace kernelc::frontend
