// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc and kernelc-opt: one multi-call binary. Which tool runs is decided by
// the name it is called by, or by the first argument.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/Commands.h"
#include "tools/Failure.h"
#include "tools/Options.h"

using namespace kernelc::tools;

namespace {

struct Command {
  const char *name;
  int (*run)(const std::vector<std::string> &);
  const char *summary;
};
const Command kCommands[] = {
    {"compile", compileCommand, "a source text to CUDA C, a cubin, or any form on the way"},
    {"run", runCommand, "run a kernel on a GPU, the CPU or the emulator"},
    {"check", checkCommand, "compare a device with the f64 reference"},
    {"bench", benchCommand, "how fast a kernel is on a GPU"},
    {"tune", tuneCommand, "search faster schedules on a GPU"},
    {"explain", explainCommand, "what a kernel becomes: launches, bytes, flops, occupancy"},
    {"cache", cacheCommand, "look after the cache of compiled kernels"},
    {"doctor", doctorCommand, "what this installation has found"},
    {"fmt", fmtCommand, "the canonical layout of a source text"},
};

void printUsage(std::ostream &out) {
  out << "usage: kernelc COMMAND [options]   (kernelc COMMAND --help)\n\n";
  for (const Command &c : kCommands)
    out << "  " << c.name << std::string(10 - std::string(c.name).size(), ' ') << c.summary << "\n";
  out << "  opt       mlir-opt for kernelc's dialects and passes (also as kernelc-opt)\n"
      << "  --version what kernelc and what it found\n";
}

/// What other tools call a command; empty for none.
std::string commandMeant(const std::string &word) {
  static const std::pair<const char *, const char *> kMeant[] = {
      {"build", "compile"},  {"emit", "compile"}, {"codegen", "compile"}, {"test", "check"},      {"verify", "check"},
      {"validate", "check"}, {"time", "bench"},   {"profile", "bench"},   {"benchmark", "bench"}, {"autotune", "tune"},
      {"optimize", "tune"},  {"format", "fmt"},   {"info", "explain"},    {"show", "explain"},    {"describe", "explain"},
      {"execute", "run"},    {"exec", "run"},     {"launch", "run"},      {"clean", "cache"},     {"version", "--version"}};
  for (auto &[theirs, ours] : kMeant)
    if (word == theirs)
      return ours;
  return "";
}

/// `code`, or a failure where not all of standard output could be written.
int afterOutput(int code) {
  if (std::cout.flush() || code != kDone)
    return code;
  return reportFailure(absl::UnavailableError(std::string("cannot write 'standard output': ") + std::strerror(errno)));
}

} // namespace

int main(int argc, char **argv) {
  std::string self = argc > 0 ? argv[0] : "kernelc";
  self = self.substr(self.find_last_of('/') + 1);
  if (self == "kernelc-opt")
    return optMain(argc, argv);
  std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args[0] == "opt")
    return optMain(argc - 1, argv + 1);
  if (args.empty()) {
    printUsage(std::cerr);
    return kUsage;
  }
  if (args.size() > 1 && args[0] == "help" && args[1] != "opt")
    for (const Command &c : kCommands)
      if (args[1] == c.name)
        return afterOutput(c.run({"--help"}));
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    printUsage(std::cout);
    return afterOutput(kDone);
  }
  if (args[0] == "--version")
    return afterOutput(versionCommand());
  installCrashHandler();
  // A limit on file sizes is like a full disk: an error of the write, which cleans up.
  std::signal(SIGXFSZ, SIG_IGN);
  rememberCommand(args);
  std::vector<std::string> names{"opt", "--version", "--help"};
  for (const Command &c : kCommands) {
    if (args[0] == c.name)
      return afterOutput(c.run({args.begin() + 1, args.end()}));
    names.push_back(c.name);
  }
  std::string near = commandMeant(args[0]);
  if (near.empty())
    near = findNearest(args[0], names);
  std::cerr << "kernelc: unknown " << (args[0][0] == '-' ? "option" : "command") << " '" << args[0] << "'"
            << (args[0].ends_with(".kc") ? "; a command stands before the file, as in 'kernelc compile " + args[0] + "'"
                : near.empty()           ? ""
                                         : "; did you mean '" + near + "'?")
            << "\n";
  printUsage(std::cerr);
  return kUsage;
}
