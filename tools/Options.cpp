// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/Options.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include "support/Spelling.h"
#include "tools/Messages.h"

namespace kernelc::tools {
namespace {

std::set<std::string> &optionVariables() {
  static auto *variables = new std::set<std::string>();
  return *variables;
}

} // namespace

std::string findNearest(const std::string &word, const std::vector<std::string> &words) {
  return kernelc::findNearest(word, std::vector<absl::string_view>(words.begin(), words.end()));
}

Options::Options(std::string command, std::string usage, std::string summary)
    : command_(std::move(command)), usage_(std::move(usage)), summary_(std::move(summary)) {}

Options &Options::flag(const std::string &name, bool &target, const std::string &help) {
  options_.push_back({name, "", help, [&target](const std::string &) { target = true; }, false});
  return *this;
}
Options &Options::value(const std::string &name, std::string &target, const std::string &metavar, const std::string &help) {
  options_.push_back({name, metavar, help, [&target](const std::string &v) { target = v; }});
  return *this;
}
Options &Options::list(const std::string &name, std::vector<std::string> &target, const std::string &metavar, const std::string &help) {
  options_.push_back({name, metavar, help, [&target](const std::string &v) { target.push_back(v); }});
  return *this;
}
Options &Options::environment(const std::string &name, const std::string &variable, const std::string &metavar, const std::string &help) {
  bool isFlag = metavar.empty();
  options_.push_back({name, metavar, help + " [" + variable + "]",
                      [variable, isFlag](const std::string &v) {
                        ::setenv(variable.c_str(), isFlag ? "1" : v.c_str(), 1);
                        optionVariables().insert(variable);
                      },
                      !isFlag});
  return *this;
}
Options &Options::positionals(std::vector<std::string> &target) {
  positionals_ = &target;
  return *this;
}

const Options::Option *Options::find(const std::string &name) const {
  for (const Option &o : options_)
    if (o.name == name)
      return &o;
  return nullptr;
}

std::string Options::nearest(const std::string &name) const {
  std::vector<std::string> names{"--help"};
  for (const Option &o : options_)
    names.push_back(o.name);
  // What compilers of other languages call it.
  static const std::pair<const char *, const char *> kMeant[] = {
      {"-D", "--set"},          {"--define", "--set"},         {"--output", "-o"},      {"--out", "-o"},      {"--target", "--arch"},
      {"--gpu", "--arch"},      {"--backend", "--device"},     {"--inplace", "-i"},     {"--in-place", "-i"}, {"--write", "-i"},
      {"--iters", "--repeats"}, {"--iterations", "--repeats"}, {"--reps", "--repeats"}, {"--like", "--set"},  {"--size", "--set"}};
  for (auto &[theirs, ours] : kMeant)
    if ((name == theirs || (name.starts_with("-D") && theirs == std::string("-D"))) && find(ours))
      return ours;
  return findNearest(name, names);
}

/// What to write for an unknown option, as the end of a sentence.
std::string Options::hintFor(const std::string &name, const std::string &arg) const {
  if (std::string near = nearest(name); !near.empty())
    return "; did you mean '" + near + "'?";
  if (name == "--rtol" || name == "--atol" || name == "--eps")
    return "; how far a result may be off follows from the program, and its policy from '--tolerance rel=2e-3' or '--precision "
           "contract=tf32'";
  if (name.size() == 3 && name.starts_with("-O"))
    return "; there are no levels of optimisation: leave it out";
  size_t equals = arg.find('=');
  if (equals != std::string::npos && find("--set")) { // --M=64, --x=iota
    std::string given = name.substr(name.find_first_not_of('-')) + arg.substr(equals);
    bool isNumber = equals + 1 < arg.size() && arg.find_first_not_of("0123456789", equals + 1) == std::string::npos;
    return isNumber || !positionals_ ? "; a size is fixed by '--set " + given + "'"
                                     : "; an input is given without dashes, as '" + given + "'";
  }
  return "";
}

int Options::usageError(const std::string &message) const {
  std::cerr << "kernelc " << command_ << ": " << message << "\n"
            << "usage: kernelc " << command_ << " " << usage_ << "  (--help lists the options)\n";
  return kUsage;
}

std::optional<int> Options::parse(const std::vector<std::string> &args) {
  value("--color", color_, "auto|always|never", "colours in messages (auto: on a terminal, unless NO_COLOR is set)");
  bool onlyPositionals = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string &arg = args[i];
    if (onlyPositionals || arg.size() < 2 || arg[0] != '-') {
      if (!positionals_)
        return usageError("unexpected argument '" + arg + "'");
      positionals_->push_back(arg);
      continue;
    }
    if (arg == "--") {
      onlyPositionals = true;
      continue;
    }
    if (arg == "--help" || arg == "-h") {
      printHelp();
      return kDone;
    }
    size_t equals = arg.compare(0, 2, "--") == 0 ? arg.find('=') : std::string::npos;
    std::string name = arg.substr(0, equals);
    const Option *option = find(name);
    if (name == "--help")
      return usageError("option '--help' takes no value");
    if (!option) {
      return usageError("unknown option '" + name + "'" + hintFor(name, arg));
    }
    if (!option->takesValue) {
      if (equals != std::string::npos)
        return usageError("option '" + name + "' takes no value");
      option->set("");
    } else if (equals != std::string::npos) {
      option->set(arg.substr(equals + 1));
    } else if (i + 1 < args.size()) {
      option->set(args[++i]);
    } else {
      return usageError("option '" + name + "' needs a value (" + option->metavar + ")");
    }
  }
  if (!setColor(color_))
    return usageError("--color is auto, always or never, not '" + color_ + "'");
  return std::nullopt;
}

void Options::printHelp() const {
  std::cout << "usage: kernelc " << command_ << " " << usage_ << "\n\n" << summary_ << "\n\noptions:\n";
  for (const Option &o : options_) {
    std::string left = "  " + o.name + (o.metavar.empty() ? "" : " " + o.metavar);
    left.resize(std::max<size_t>(left.size() + 2, 28), ' ');
    std::cout << left << o.help << "\n";
  }
}

const std::vector<EnvironmentOption> &environmentOptions() {
  static const auto *all = new std::vector<EnvironmentOption>{
      {"--cache-dir", "KERNELC_CACHE_DIR", "DIR", "where compiled kernels are kept"},
      {"--cache-size", "KERNELC_CACHE_SIZE", "SIZE", "at most so much of them (500M, 2G; 0 turns the cache off)"},
      {"--libcuda", "KERNELC_LIBCUDA", "FILE", "the CUDA driver library"},
      {"--libnvrtc", "KERNELC_LIBNVRTC", "FILE", "the NVRTC library"},
      {"--nvrtc-worker", "KERNELC_NVRTC_WORKER", "FILE", "the kernelc-nvrtc-worker that compiles under limits (0: none)"},
      {"--clang", "KERNELC_CLANG", "FILE", "the clang++ that the emulator compiles with"},
      {"--lineinfo", "KERNELC_LINEINFO", "", "cubins carry the .kc lines, for profilers"},
      {"--untuned", "KERNELC_UNTUNED", "", "no schedules that 'kernelc tune' has kept: the cost model's"},
      {"--launch-blocking", "KERNELC_LAUNCH_BLOCKING", "", "wait after every launch, so that a fault names its kernel"},
  };
  return *all;
}

void addEnvironmentOptions(Options &options) {
  for (const EnvironmentOption &e : environmentOptions())
    options.environment(e.option, e.variable, e.metavar, e.help);
}

bool wasSetByOption(const std::string &variable) { return optionVariables().count(variable); }

} // namespace kernelc::tools
