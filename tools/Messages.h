// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How messages look on standard error: colours where a person reads them. What they
// say is decided before.
#pragma once

#include <string>

namespace kernelc::tools {

/// "auto" (a terminal, unless NO_COLOR is set or TERM is dumb), "always" or "never"; false for another word.
bool setColor(const std::string &mode);

/// Prints diagnostics as driver/compile/Diagnostics renders them, and a newline.
void printMessage(const std::string &text);

/// The same text with the sequences of a terminal: place and message bold, the severity and what is underlined in colours.
std::string colored(const std::string &text);

} // namespace kernelc::tools
