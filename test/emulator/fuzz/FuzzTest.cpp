// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs under random schedules: what the emitted CUDA gives on the emulator
// against the oracle. A fixed number in CI; more with KERNELC_FUZZ_COUNT from
// KERNELC_FUZZ_SEED on. A failure is shrunk before it is shown, unless
// KERNELC_FUZZ_REDUCE is 0.
#include <cstdio>
#include <cstdlib>

#include "test/emulator/fuzz/GenerateProgram.h"
#include "test/emulator/fuzz/Reduce.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::fuzz {
namespace {

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *v = std::getenv(name);
  return v ? std::strtoull(v, nullptr, 10) : otherwise;
}

/// The smallest case found that fails as `c` did.
Case shrunk(Case c, const CaseResult &how) {
  // At the sizes that failed, if it does so there.
  for (size_t at = 0, equals; (equals = how.sizes.find('=', at)) != std::string::npos; at = how.sizes.find(' ', equals) + 1)
    c.sizes[how.sizes.substr(at, equals - at)] = std::strtoll(how.sizes.c_str() + equals + 1, nullptr, 10);
  auto fails = [&](const Case &smaller) {
    CaseResult r = runCase(smaller);
    return r.outcome == how.outcome && r.kind == how.kind;
  };
  if (!fails(c))
    c.sizes.clear();
  return reduceCase(c, fails, int(fromEnvironment("KERNELC_FUZZ_REDUCE", 150)));
}

TEST(Fuzz, GeneratedProgramsAgreeWithTheOracle) {
  uint64_t count = fromEnvironment("KERNELC_FUZZ_COUNT", 16), first = fromEnvironment("KERNELC_FUZZ_SEED", 1);
  int outcomes[4] = {}, scheduled = 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    Case c = drawCase(seed);
    CaseResult r = runCase(c);
    outcomes[int(r.outcome)]++;
    scheduled += r.outcome == Outcome::Agrees && !c.schedule.empty();
    if (r.failed()) {
      ADD_FAILURE() << c.toString() << r.sizes << r.why.substr(0, 4000);
      if (fromEnvironment("KERNELC_FUZZ_REDUCE", 150) > 0) {
        Case least = shrunk(c, r);
        ADD_FAILURE() << "seed " << seed << ", shrunk:\n" << least.toString() << runCase(least).why.substr(0, 4000);
      }
    } else if (r.outcome == Outcome::Unsupported && std::getenv("KERNELC_FUZZ_UNSUPPORTED")) {
      std::printf("not compiled:\n%s%s\n", c.toString().c_str(), r.why.c_str());
    }
    if (count > 50 && (seed - first + 1) % 25 == 0)
      std::printf("after seed %llu: %d agree, %d not compiled, %d differ, %d crash\n", (unsigned long long)seed, outcomes[0], outcomes[1],
                  outcomes[2], outcomes[3]);
    std::fflush(stdout);
  }
  std::printf("%d agree (%d of them under a schedule of their own), %d not compiled, %d differ, %d crash\n", outcomes[0], scheduled,
              outcomes[1], outcomes[2], outcomes[3]);
  EXPECT_GT(outcomes[0], int(count / 3)) << "most programs should be legal";
}

TEST(Fuzz, ProgramsHaveFunctionsAndConstantsOfTheirOwn) {
  int functions = 0, ofRows = 0, constants = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    std::string text = generateProgram(seed).print();
    functions += text.find("fn g") != std::string::npos;
    ofRows += text.find("[j](e) {") != std::string::npos || text.find("[j](e) -> ") != std::string::npos;
    if (std::getenv("KERNELC_FUZZ_PRINT"))
      std::printf("%s", text.c_str());
    constants += text.find("const c_") != std::string::npos;
  }
  EXPECT_GT(functions, 30);
  EXPECT_GT(ofRows, 5);
  EXPECT_GT(constants, 30);
}

TEST(Fuzz, TheSameSeedGivesTheSameCase) {
  for (uint64_t seed = 1; seed < 50; seed++)
    EXPECT_EQ(generateProgram(seed).print(), generateProgram(seed).print());
  EXPECT_NE(generateProgram(1).print(), generateProgram(2).print());
  EXPECT_EQ(drawCase(4).toString(), drawCase(4).toString());
}

} // namespace
} // namespace kernelc::fuzz
