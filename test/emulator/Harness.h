// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared by the emulator's tests: launch a text on vectors and look at findings.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "emulator/Emulator.h"

namespace kernelc::emulator {

/// Collects arguments and buffers of one launch.
class Launcher {
public:
  explicit Launcher(const std::string &text, EmulatorOptions options = {}) : options_(options) {
    auto module = EmulatedModule::compile(text, options);
    status_ = module.status();
    if (module.ok())
      module_ = *std::move(module);
    EXPECT_TRUE(status_.ok()) << status_;
    if (module_)
      spec.entry = module_->entries().front();
  }
  template <class T> Launcher &in(const std::string &name, std::vector<T> &v) { return add(name, v, false, true); }
  template <class T> Launcher &out(const std::string &name, std::vector<T> &v) { return add(name, v, true, false); }
  template <class T> Launcher &inout(const std::string &name, std::vector<T> &v) { return add(name, v, true, true); }
  template <class T> Launcher &arg(T v) {
    spec.args.push_back(packArg(v));
    return *this;
  }
  Launcher &grid(uint32_t x, uint32_t y = 1) {
    spec.grid[0] = x, spec.grid[1] = y;
    return *this;
  }
  Launcher &block(uint32_t x, uint32_t y = 1) {
    spec.block[0] = x, spec.block[1] = y;
    return *this;
  }
  Launcher &shared(int64_t bytes) {
    spec.sharedBytes = bytes;
    return *this;
  }
  Report run() {
    if (!module_)
      return {};
    auto report = module_->launch(spec, options_);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : Report();
  }
  /// Runs and expects no findings.
  Report runClean() {
    Report r = run();
    EXPECT_TRUE(r.ok()) << r.toString();
    return r;
  }
  /// Runs and expects a finding of `kind` whose message holds every string given.
  Report runFinding(FindingKind kind, std::vector<std::string> parts = {}) {
    Report r = run();
    for (const Finding &f : r.findings) {
      bool all = f.kind == kind;
      for (const std::string &p : parts)
        all &= f.message.find(p) != std::string::npos;
      if (all)
        return r;
    }
    ADD_FAILURE() << "no " << findingKindName(kind) << " with " << ::testing::PrintToString(parts) << " in:\n" << r.toString();
    return r;
  }
  LaunchSpec spec;
  EmulatorOptions options_;

private:
  template <class T> Launcher &add(const std::string &name, std::vector<T> &v, bool writable, bool initialised) {
    uint8_t *flags = nullptr;
    if (!initialised) {
      flags_.push_back(std::make_unique<std::vector<uint8_t>>(v.size() * sizeof(T) + 16, 0));
      flags = flags_.back()->data();
    }
    spec.buffers.push_back({name, v.data(), v.size() * sizeof(T), writable, flags});
    spec.args.push_back(packArg(v.data()));
    return *this;
  }
  absl::Status status_;
  std::unique_ptr<EmulatedModule> module_;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> flags_;
};

} // namespace kernelc::emulator
