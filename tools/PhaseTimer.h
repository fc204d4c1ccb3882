// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

namespace kernelc::tools {

/// What each phase takes of the processors and by the clock, for --timing.
class PhaseTimer {
public:
  void phase(const std::string &name) {
    auto now = std::chrono::steady_clock::now();
    double cpu = double(std::clock()) * 1e3 / CLOCKS_PER_SEC;
    if (!current_.empty())
      add({current_, cpu - cpu_, std::chrono::duration<double, std::milli>(now - start_).count()});
    current_ = name;
    start_ = now;
    cpu_ = cpu;
  }
  /// Within the current phase another one, of which there is one line however often it comes.
  class Other {
  public:
    Other(PhaseTimer &timer, const std::string &name) : timer_(timer), before_(timer.current_) { timer.phase(name); }
    ~Other() { timer_.phase(before_); }

  private:
    PhaseTimer &timer_;
    std::string before_;
  };
  void print() {
    phase("");
    Phase total{"total", 0, 0};
    for (const Phase &p : phases_) {
      print(p);
      total.cpu += p.cpu;
      total.wall += p.wall;
    }
    print(total);
  }

private:
  struct Phase {
    std::string name;
    double cpu, wall; ///< milliseconds
  };
  static void print(const Phase &p) { std::cerr << absl::StrFormat("%10.3f ms CPU %10.3f ms  %s\n", p.cpu, p.wall, p.name); }

  void add(const Phase &phase) {
    auto known = std::find_if(phases_.begin(), phases_.end(), [&](const Phase &p) { return p.name == phase.name; });
    if (known == phases_.end()) {
      phases_.push_back(phase);
      return;
    }
    known->cpu += phase.cpu;
    known->wall += phase.wall;
  }

  std::string current_;
  std::chrono::steady_clock::time_point start_;
  double cpu_ = 0;
  std::vector<Phase> phases_;
};

} // namespace kernelc::tools
