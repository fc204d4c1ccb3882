// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What run, check, bench and explain share: a kernel of a source, a device, and
// arguments from the command line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/jit/Session.h"
#include "tools/Options.h"
#include "tools/Source.h"
#include "tools/Values.h"

namespace kernelc::tools {

struct CallOptions {
  SourceOptions source;
  std::string device = "auto", arch;
  std::vector<std::string> positionals; ///< FILE.kc, then NAME=VALUE
  std::string variant = "default";
  std::vector<NamedSize> like; ///< not an option of all commands: sizes that stay open, and whose values this call has
  std::string seed;            ///< of the emulator's order of threads; "": in order
  bool diskCache = true;       ///< not an option: off for commands that only look at the cache
  bool tuned = true;           ///< not an option: off where schedules are searched
  bool hasArguments = true;    ///< not an option: off where sizes and values come later
  bool runs = true;            ///< not an option: off where nothing runs, so that tensors need no values and remarks no second place

  void add(Options &options);
};

/// A kernel ready to be called.
struct Call {
  std::shared_ptr<Session> session;
  std::shared_ptr<JitKernel> kernel;
  Place place;
  HostArguments arguments;
};

/// Reads, compiles the front half, chooses the device (`auto` says on stderr which)
/// and makes the arguments.
absl::StatusOr<Call> prepareCall(const CallOptions &options);

} // namespace kernelc::tools
