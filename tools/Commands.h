// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The subcommands of the multi-call binary. Each takes the arguments after its
// name and returns an exit status: 0 done, 1 the input or the check failed,
// 2 usage, 70 internal error.
#pragma once

#include <string>
#include <vector>

namespace kernelc::tools {

int tuneCommand(const std::vector<std::string> &args);
int benchCommand(const std::vector<std::string> &args);
int cacheCommand(const std::vector<std::string> &args);
int checkCommand(const std::vector<std::string> &args);
int compileCommand(const std::vector<std::string> &args);
int doctorCommand(const std::vector<std::string> &args);
int explainCommand(const std::vector<std::string> &args);
int fmtCommand(const std::vector<std::string> &args);
int runCommand(const std::vector<std::string> &args);
int versionCommand();
int optMain(int argc, char **argv);

} // namespace kernelc::tools
