// The source file of a command: the options that say which kernel of which text,
// and reading it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/ProgramOptions.h"
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

/// NAME=VALUE; VALUE an integer, True or False.
absl::StatusOr<std::pair<std::string, int64_t>> parseSet(const std::string &text);

} // namespace kernelc::tools
