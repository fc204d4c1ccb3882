// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc doctor and kernelc --version: what this installation has found.
#include <iostream>

#include "driver/compile/Build.h"
#include "runtime/Doctor.h"
#include "tools/Commands.h"
#include "tools/Options.h"
#include "llvm/Config/llvm-config.h"

namespace kernelc::tools {

int doctorCommand(const std::vector<std::string> &args) {
  Options options("doctor", "", "Says what was found: versions, driver, GPUs, NVRTC, cache, variables, and what to do about gaps.");
  addEnvironmentOptions(options);
  if (std::optional<int> code = options.parse(args))
    return *code;
  DoctorOptions doctor;
  doctor.versions = {{"kernelc", std::string(versionString()) + " (build " + buildId() + ")"}, {"MLIR", LLVM_VERSION_STRING}};
  for (const EnvironmentOption &e : environmentOptions())
    if (wasSetByOption(e.variable))
      doctor.flags.push_back({e.variable, e.option});
  for (const std::string &line : doctorReport(doctor))
    std::cout << line << "\n";
  return kDone;
}

int versionCommand() {
  std::cout << "kernelc " << versionString() << ", MLIR " << LLVM_VERSION_STRING << ", " << nvrtcVersionText() << ", "
            << driverVersionText() << "\n";
  return kDone;
}

} // namespace kernelc::tools
