// Compiles a kernel from text, runs its CUDA text on the emulator with all checks
// on, and compares with the CPU reference. Shared by the tests of this folder.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kernelc::test {

struct Case {
  std::string text;                     ///< .kc
  std::map<std::string, int64_t> sizes; ///< by name
  std::string kernel;                   ///< empty: the only one
  std::string target = "sm_80";
  bool specialise = true;               ///< facts of the sizes; else the general variant
  std::string precision;                ///< the caller's policy, as contract=tf32
  bool fine = false;                    ///< f32 inputs that need all their bits
  std::string schedule = {};            ///< text of a schedule file; empty: the cost model's
  bool isMlir = false;                  ///< text is te, not .kc
};

/// An empty string, or what went wrong: a diagnostic, an emulator finding, or the
/// first element out of tolerance.
std::string runCase(const Case &c);

/// The CUDA text of the case's variant, or what went wrong.
std::string cudaTextOf(const Case &c);

} // namespace kernelc::test
