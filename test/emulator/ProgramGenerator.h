// Random index-notation programs, typed and in bounds by construction, from a
// seed: what the differential tests compile and run.
#pragma once

#include <cstdint>
#include <string>

namespace kernelc::emulator {

struct GeneratorOptions {
  int lets = 3;       ///< at most
  int rank = 4;       ///< of outputs, at most
  int depth = 3;      ///< of expressions
  bool narrow = true; ///< f16, bf16 parameters and casts
  bool integers = true;
};

/// One kernel `fuzz` in `.kc` text. The same seed gives the same text.
std::string generateProgram(uint64_t seed, const GeneratorOptions &options = {});

} // namespace kernelc::emulator
