// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program kernelc-nvrtc-worker; see CompileProcess.h.
#include <unistd.h>

#include "runtime/CompileProcess.h"

int main() { return kernelc::runCompileWorker(STDIN_FILENO, STDOUT_FILENO); }
