// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  bool specialise = true;    ///< facts of the sizes; else the general variant
  std::string precision;     ///< the caller's policy, as contract=tf32
  bool fine = false;         ///< f32 inputs that need all their bits
  std::string schedule = {}; ///< text of a schedule file; empty: the cost model's
  bool isMlir = false;       ///< text is te, not .kc
  /// How tensors that are not dense and aligned are laid out, by parameter; a word of
  /// rows (rows 16 bytes longer, up to the next multiple), step (every other element),
  /// transposed (the first dim fastest), reversed (the last dim backwards), repeated
  /// (stride 0 along the first dim), shifted (dense, one element beyond the alignment).
  std::map<std::string, std::string> layouts = {};
  bool general = false;                                    ///< the variant that takes any layout
  std::string expect = {};                                 ///< must be in the CUDA text
  std::map<std::string, std::vector<int64_t>> values = {}; ///< of integer inputs that are not random, by parameter
};

/// An empty string, or what went wrong: a diagnostic, an emulator finding, or the
/// first element out of tolerance.
std::string runCase(const Case &c);

/// The CUDA text of the case's variant, or what went wrong.
std::string cudaTextOf(const Case &c);

} // namespace kernelc::test
