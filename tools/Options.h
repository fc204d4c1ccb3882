// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Command-line options as every subcommand takes them: `--name VALUE`,
// `--name=VALUE`, `-o PATH`, flags, positionals, and `--color`, which all commands know. An unknown option suggests the
// nearest. Parsing prints only its own complaints (stderr) and `--help` (stdout).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kernelc::tools {

/// Exit codes of all tools.
enum ExitCode { kDone = 0, kFailed = 1, kUsage = 2, kInternal = 70 };

class Options {
public:
  /// `usage` is what follows "kernelc <command>"; `summary` one sentence.
  Options(std::string command, std::string usage, std::string summary);

  Options &flag(const std::string &name, bool &target, const std::string &help);
  Options &value(const std::string &name, std::string &target, const std::string &metavar, const std::string &help);
  /// May be given several times.
  Options &list(const std::string &name, std::vector<std::string> &target, const std::string &metavar, const std::string &help);
  /// An option that stands for the environment variable `variable`: giving it sets that.
  Options &environment(const std::string &name, const std::string &variable, const std::string &metavar, const std::string &help);
  Options &positionals(std::vector<std::string> &target);

  /// An exit code to end with, or nothing to go on.
  std::optional<int> parse(const std::vector<std::string> &args);

  /// "kernelc run: `message`" and how to get help, on stderr. Returns kUsage.
  int usageError(const std::string &message) const;

private:
  struct Option {
    std::string name, metavar, help;
    std::function<void(const std::string &)> set;
    bool takesValue = true;
  };
  const Option *find(const std::string &name) const;
  std::string nearest(const std::string &name) const;
  std::string hintFor(const std::string &name, const std::string &arg) const;
  void printHelp() const;

  std::string command_, usage_, summary_, color_ = "auto";
  std::vector<Option> options_;
  std::vector<std::string> *positionals_ = nullptr;
};

/// The word of `words` nearest to `word` (support/Spelling.h); "" when none is near.
std::string findNearest(const std::string &word, const std::vector<std::string> &words);

/// Every KERNELC_* variable: its option, and what it does. The doctor lists them.
struct EnvironmentOption {
  const char *option, *variable, *metavar, *help;
};
const std::vector<EnvironmentOption> &environmentOptions();
/// Adds all of them.
void addEnvironmentOptions(Options &options);
/// Whether an option set this variable in this process.
bool wasSetByOption(const std::string &variable);

} // namespace kernelc::tools
