// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The source file of a command: the options that say which kernel of which text,
// and reading it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/compile/ProgramOptions.h"
#include "tools/Options.h"

namespace kernelc::tools {

struct SourceOptions {
  std::string kernel;
  std::vector<std::string> sets;
  std::vector<std::string> precision;
  std::string tolerance, schedule;

  /// Adds --kernel, --set and what else belongs to every command on a source.
  void add(Options &options);
};

struct Source {
  std::string text;
  ProgramOptions options;
};

/// Reads `path` ("-": stdin) and interprets the options.
absl::StatusOr<Source> readSource(const std::string &path, const SourceOptions &options);

/// Adds the NAME=VALUE of every `--set`; VALUE a number, True or False.
absl::Status addConstants(Constants &constants, const std::vector<std::string> &sets);

} // namespace kernelc::tools
