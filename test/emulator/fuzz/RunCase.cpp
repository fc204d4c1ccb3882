// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reference against the emulator, in a child process, so that a crash of the
// compiler is a result as well.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "test/emulator/ExampleHarness.h"
#include "test/emulator/fuzz/Case.h"
#include "test/emulator/fuzz/GenerateProgram.h"

namespace kernelc::fuzz {
namespace {

using emulator::CompiledExample;

constexpr char kKernel[] = "fuzz";
constexpr unsigned kSecondsPerCase = 100;

/// Runs `work` in a child, which hands back what it returns as text.
std::string isolated(const std::function<std::string()> &work, int &signal) {
  int pipes[2];
  signal = 0;
  if (::pipe(pipes) != 0)
    return "";
  pid_t child = ::fork();
  if (child == 0) {
    ::close(pipes[0]);
    // Of the processor, which a busy machine does not use up; and an alarm would not outlive
    // the host compiler, which sets one of its own.
    rlimit limit{kSecondsPerCase, kSecondsPerCase};
    ::setrlimit(RLIMIT_CPU, &limit);
    std::string text = work();
    for (size_t done = 0; done < text.size();) {
      ssize_t n = ::write(pipes[1], text.data() + done, text.size() - done);
      if (n <= 0)
        break;
      done += size_t(n);
    }
    ::_exit(0);
  }
  ::close(pipes[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(pipes[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, size_t(n));
  ::close(pipes[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return text;
}

emulator::Case described(const Case &c) { return {"", kKernel, c.target, c.general}; }

CompiledExample compiled(const Case &c) {
  return emulator::compileText(c.program.print(), "fuzz.kc", described(c), [&](mlir::ModuleOp module, const VariantOptions &options) {
    return c.schedule.empty() ? "" : printSchedule(c.schedule, kKernel, planLaunches(module, kKernel, options));
  });
}

/// The launches of the cost model's plan; none where the program has no plan.
std::vector<Launch> planned(const Case &c) {
  int signal = 0;
  std::string text = isolated(
      [&] {
        std::string lines;
        emulator::compileText(c.program.print(), "fuzz.kc", described(c), [&](mlir::ModuleOp module, const VariantOptions &options) {
          for (const Launch &l : planLaunches(module, kKernel, options)) {
            absl::StrAppend(&lines, lines.empty() ? "" : "\n", l.name, " ", std::string(nameOf(l.unit)));
            for (size_t i = 0; i < l.indices.size(); i++)
              absl::StrAppend(&lines, " ", l.indices[i], " ", l.tiles[i]);
          }
          return "only the plan"; // no schedule: ends there
        });
        return lines;
      },
      signal);
  std::vector<Launch> launches;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    std::vector<std::string> words = absl::StrSplit(line, ' ');
    Launch l{words[0], findUnit(words[1]).value_or(Unit::Simt), {}, {}};
    for (size_t i = 2; i + 1 < words.size(); i += 2) {
      l.indices.push_back(words[i]);
      l.tiles.push_back(std::stoll(words[i + 1]));
    }
    launches.push_back(std::move(l));
  }
  return launches;
}

/// Nothing is summed, so that infinities and NaN mean the same in every order.
bool isPointwise(const Program &program) {
  bool pointwise = true;
  for (const Statement &s : program.statements) {
    pointwise &= s.op == "=";
    walk(s.value, [&](const Expr &e) { pointwise &= e.kind != Expr::Reduce && e.text.find("[") == std::string::npos; });
  }
  return pointwise;
}

CaseResult runHere(const Case &c, const TextChange &planted) {
  CompiledExample e = compiled(c);
  if (!e.skip.empty() || !e.error.empty())
    return {Outcome::Unsupported, "diagnostic", e.skip + e.error, ""};
  if (planted)
    planted(e.kernel.variants.front().cudaText);
  emulator::Difference d = emulator::findDifference(e, unsigned(c.seed), 2, c.sizes, isPointwise(c.program));
  if (d.kind == "no sizes")
    return {Outcome::Unsupported, d.kind, d.text, ""};
  return {d.kind.empty() ? Outcome::Agrees : Outcome::Differs, d.kind, d.text, d.sizes};
}

constexpr char kSeparator = '\x1f';

} // namespace

std::string Case::toString() const {
  std::string s = absl::StrCat("# target ", target, general ? ", general" : "", ", seed ", seed);
  for (const auto &[name, n] : sizes)
    absl::StrAppend(&s, ", ", name, "=", n);
  absl::StrAppend(&s, "\n", program.print());
  for (const ScheduleField &f : schedule)
    absl::StrAppend(&s, "# schedule ", f.launch, ": ", f.key, " = ", f.value, "\n");
  return s;
}

CaseResult runCase(const Case &c, const TextChange &planted) {
  int signal = 0;
  std::string text = isolated(
      [&] {
        CaseResult r = runHere(c, planted);
        return absl::StrCat(int(r.outcome), std::string(1, kSeparator), r.kind, std::string(1, kSeparator), r.sizes,
                            std::string(1, kSeparator), r.why);
      },
      signal);
  std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(kSeparator, 3));
  int outcome = 0;
  if (signal != 0 || parts.size() != 4 || !absl::SimpleAtoi(parts[0], &outcome))
    return {Outcome::Crashed, absl::StrCat("signal ", signal), absl::StrCat("ended by signal ", signal), ""};
  return {Outcome(outcome), parts[1], parts[3], parts[2]};
}

Case drawCase(uint64_t seed) {
  Case c;
  c.program = generateProgram(seed);
  c.seed = seed;
  c.target = seed % 2 ? "sm_80" : "sm_90a";
  // The fast variant wants multiples of 16 bytes; of many sizes that is more work than a test should have.
  c.general = seed % 5 == 0 || c.program.sizes().size() > 4;
  if (seed % 4 == 3)
    return c; // with the cost model's schedule
  // A schedule that the compiler refuses tests its message only: up to three draws.
  std::vector<Launch> launches = planned(c);
  for (uint64_t attempt = 0; attempt < 3; attempt++) {
    Case with = c;
    with.schedule = drawSchedule(seed * 3 + attempt, launches);
    int signal = 0;
    std::string refused = isolated(
        [&] {
          CompiledExample e = compiled(with);
          return e.skip + e.error;
        },
        signal);
    if (refused.empty() || signal != 0) // a compiler that goes down is worth a run
      return with;
  }
  return c;
}

} // namespace kernelc::fuzz
