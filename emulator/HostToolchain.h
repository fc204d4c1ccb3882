// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host's clang and lld: what they are called with, and the precompiled prelude.
// Knows files and flags, not what is in the texts.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/Emulator.h"

namespace kernelc::emulator {

class HostToolchain {
public:
  /// NotFound without a clang.
  static absl::StatusOr<HostToolchain> find(const EmulatorOptions &options);
  /// Compiler, flags and prelude: two builds of one text with one key are the same.
  const std::string &key() const { return key_; }
  /// Compiles `main` (a file beside what it includes) into the shared object `object`. What
  /// the compiler complains about, empty when it does not; Unavailable when it does not run.
  absl::StatusOr<std::string> build(const std::string &main, const std::string &object, int secondsToWait) const;

private:
  absl::StatusOr<std::string> run(const std::string &program, std::vector<std::string> args, const std::string &logPath,
                                  int secondsToWait) const;
  /// The precompiled prelude, made now if need be; empty where none can be kept.
  std::string precompiledPrelude() const;
  std::string clang_, linker_, key_, preludeFolder_;
  std::vector<std::string> flags_;
};

/// 32 hexadecimal digits of `data`.
std::string hexDigest(absl::string_view data);
/// Writes a new file; what a failure leaves of it is the caller's.
absl::Status writeFile(const std::string &path, absl::string_view content);

} // namespace kernelc::emulator
