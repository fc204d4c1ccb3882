// Random programs: what the emitted CUDA gives on the emulator against the oracle.
// A fixed number in CI; more with KERNELC_FUZZ_COUNT and KERNELC_FUZZ_SEED. Every
// program runs in a child process, so that a crash names its seed.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "test/emulator/ExampleHarness.h"
#include "test/emulator/ProgramGenerator.h"

namespace kernelc::emulator {
namespace {

enum Outcome { Agrees = 0, Unsupported = 1, Invalid = 2, Differs = 3, Crashed = 4 };

Outcome runProgram(const std::string &text, uint64_t seed, std::string &why) {
  Case c{"", "fuzz", seed % 2 ? "sm_80" : "sm_90a", seed % 3 == 0};
  CompiledExample e = compileText(text, "fuzz.kc", c);
  why = e.skip + e.error;
  if (!e.skip.empty())
    return Unsupported;
  if (!e.error.empty())
    return Invalid;
  why = compareWithOracle(e, unsigned(seed), 2);
  if (!why.empty() && std::getenv("KERNELC_FUZZ_TEXT"))
    why += "\n" + e.variant().cudaText;
  return why.empty() ? Agrees : Differs;
}

/// In a child: what it prints comes back through a pipe.
Outcome runIsolated(const std::string &text, uint64_t seed, std::string &why) {
  int pipes[2];
  if (::pipe(pipes) != 0)
    return Crashed;
  pid_t child = ::fork();
  if (child == 0) {
    ::close(pipes[0]);
    ::alarm(120);
    Outcome outcome = runProgram(text, seed, why);
    why.resize(std::min<size_t>(why.size(), 60000));
    (void)!::write(pipes[1], why.data(), why.size());
    ::_exit(outcome);
  }
  ::close(pipes[1]);
  char buffer[4096];
  why.clear();
  for (ssize_t n; (n = ::read(pipes[0], buffer, sizeof buffer)) > 0;)
    why.append(buffer, size_t(n));
  ::close(pipes[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status))
    return Outcome(WEXITSTATUS(status));
  why = "killed by signal " + std::to_string(WTERMSIG(status));
  return Crashed;
}

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *v = std::getenv(name);
  return v ? std::strtoull(v, nullptr, 10) : otherwise;
}

TEST(Fuzz, GeneratedProgramsAgreeWithTheOracle) {
  uint64_t count = fromEnvironment("KERNELC_FUZZ_COUNT", 12), first = fromEnvironment("KERNELC_FUZZ_SEED", 1);
  int outcomes[5] = {};
  for (uint64_t seed = first; seed < first + count; seed++) {
    std::string text = generateProgram(seed), why;
    Outcome outcome = runIsolated(text, seed, why);
    outcomes[outcome]++;
    EXPECT_NE(outcome, Differs) << "seed " << seed << "\n" << text << why;
    EXPECT_NE(outcome, Crashed) << "seed " << seed << "\n" << text << why;
    if (outcome == Unsupported || outcome == Invalid)
      std::printf("seed %llu: %s\n%s", (unsigned long long)seed, text.c_str(), why.c_str());
  }
  std::printf("%d agree, %d unsupported, %d not legal, %d differ, %d crash\n", outcomes[Agrees],
              outcomes[Unsupported], outcomes[Invalid], outcomes[Differs], outcomes[Crashed]);
  EXPECT_GT(outcomes[Agrees], 0);
}

TEST(Fuzz, TheSameSeedGivesTheSameProgram) {
  for (uint64_t seed = 1; seed < 50; seed++)
    EXPECT_EQ(generateProgram(seed), generateProgram(seed));
  EXPECT_NE(generateProgram(1), generateProgram(2));
}

} // namespace
} // namespace kernelc::emulator
