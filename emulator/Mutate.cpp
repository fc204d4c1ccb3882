// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the mutants of a text (MutantText.cpp) and judges what they show.
#include "emulator/Mutate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "emulator/HostCompiler.h"
#include "emulator/PlacedRun.h"

namespace kernelc::emulator {

const char *verdictName(Verdict verdict) {
  return verdict == Verdict::Detected ? "detected" : verdict == Verdict::Redundant ? "redundant" : "missed";
}

std::string Mutant::toString() const {
  return absl::StrCat("line ", where.line, where.sourceLine ? absl::StrCat(" (", where.sourceFile, ":", where.sourceLine, ")") : "", ": ",
                      verdictName(verdict), why.empty() ? "" : absl::StrCat(" (", why, ")"), ": ",
                      mask ? "condition made true: " : "removed: ", removed);
}

std::string MutationScore::toString() const {
  std::string s = absl::StrFormat("%d of %d mutants detected, %d of them by a finding; %d redundant, %d missed: %.1f %%\n", detected, total,
                                  byFinding, redundant, missed, percent());
  for (const Mutant &m : survivors)
    absl::StrAppend(&s, "  ", m.toString(), "\n");
  if (survivors.size() > 1)
    absl::StrAppend(&s, survivorsNeedEachOther ? "  taking away all of these at once is detected: some stand in for others\n"
                                               : "  taking away all of these at once changes nothing either\n");
  return s;
}

namespace {

/// Runs the mutants on the same arguments and compares with what the original gave. What a mutant does not reach is not run again:
/// neither the arguments on which it is as the original, nor the launches before it, nor those behind it once the memory is the same.
class Judge {
public:
  Judge(const Kernel &kernel, const Variant &variant, const std::vector<RunArguments> &runs, const std::vector<RunArguments> &spares,
        const EmulatorOptions &options)
      : kernel_(kernel), variant_(variant), spares_(spares), options_(options) {
    for (const RunArguments &args : runs)
      addTrial(args);
  }

  /// `text` is the variant's with `count` switches.
  absl::Status begin(const std::string &text, size_t count);

  /// What running with switch `number` (or all of `numbers`) set to `how` showed: nothing,
  /// or a finding's kind or "a wrong value".
  struct Outcome {
    bool finding = false;
    std::string seen;
    bool detected() const { return !seen.empty(); }
  };
  Outcome run(absl::Span<const size_t> numbers, uint8_t how, absl::Span<const uint64_t> seeds);
  /// Whether the original ever does something else than with switch `number` set.
  bool differs(size_t number) const {
    return std::any_of(trials_.begin(), trials_.end(), [&](const auto &t) { return t->meets(number); });
  }
  /// Whether switch `number` set to 1 shows once switch `other` is, too.
  bool showsBeside(size_t other, size_t number);

private:
  /// A set of arguments, and what the original makes of them.
  struct Trial {
    RunArguments args;
    std::unique_ptr<PlacedRun> placed;
    uint64_t steps = 0;
    // By launch:
    std::vector<MemoryImage> before; ///< what stood before it, and at last what stands at the end
    std::vector<uint64_t> launchSteps;
    std::vector<std::vector<bool>> met; ///< of each switch whether it would do something else there

    /// The first launch from `from` on that one of `numbers` would change; the number of launches where there is none.
    size_t firstMet(absl::Span<const size_t> numbers, size_t from) const {
      while (from < met.size() && std::none_of(numbers.begin(), numbers.end(), [&](size_t n) { return bool(met[from][n]); }))
        from++;
      return from;
    }
    bool meets(size_t number) const { return firstMet({number}, 0) < met.size(); }
  };

  void addSpecials(size_t i) {
    size_t tensors = size_t(std::count_if(kernel_.params.begin(), kernel_.params.end(), isFloatInput));
    addSpecials(i, std::nullopt);
    if (tensors > 1)
      addSpecials(i, i % tensors);
  }
  void addTrial(RunArguments args) {
    trials_.push_back(std::make_unique<Trial>());
    trials_.back()->args = std::move(args);
  }
  static bool isFloatInput(const Param &p) { return p.kind == ParamKind::Input && isFloat(p.type); }
  /// Trial i once more with a few infinities and NaN among its inputs, or in one of the floating ones, the `only`th. What a mask
  /// keeps out is often multiplied by zeros, so that only these show it. Where those of one factor are everywhere, they hide what those of
  /// the other show.
  void addSpecials(size_t i, std::optional<size_t> only) {
    RunArguments args = trials_[i]->args;
    bool any = false;
    for (size_t p = 0, number = 0; p < args.params.size(); p++) {
      TensorView &v = args.params[p];
      if (!isFloatInput(kernel_.params[p]) || (only && number++ != *only) || v.numElements() == 0)
        continue;
      const auto *bytes = static_cast<const uint8_t *>(v.data);
      size_t size = size_t(elementBits(v.type)) / 8, n = size_t(v.numElements());
      copies_.emplace_back(bytes, bytes + n * size);
      v.data = copies_.back().data();
      uint64_t random = 88172645463325252u + p + (only ? 7919 * (i + 1) : 0);
      for (size_t k = 0; k < n / (!only && i % 2 ? 97 : 997) + 1; k++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        storeSpecial(v, size_t(random % n), k);
      }
      any = true;
    }
    if (any)
      addTrial(std::move(args));
  }
  static void storeSpecial(const TensorView &v, size_t at, size_t which) {
    double value = which % 3 == 0 ? NAN : which % 3 == 1 ? INFINITY : -INFINITY;
    switch (v.type) {
    case ElementType::f64: static_cast<double *>(v.data)[at] = value; break;
    case ElementType::f32: static_cast<float *>(v.data)[at] = float(value); break;
    case ElementType::f16: static_cast<uint16_t *>(v.data)[at] = toF16(float(value)); break;
    case ElementType::bf16: static_cast<uint16_t *>(v.data)[at] = toBF16(float(value)); break;
    case ElementType::f8e4m3: static_cast<uint8_t *>(v.data)[at] = 0x7f; break; // it has no infinity
    case ElementType::f8e5m2: static_cast<uint8_t *>(v.data)[at] = which % 2 ? 0x7c : 0x7e; break;
    default: break;
    }
  }
  /// Adds to `met` the switches that would change something on `trial`; whether there are new ones.
  static bool addMet(const Trial &trial, std::vector<bool> &met) {
    auto count = [&] { return std::count(met.begin(), met.end(), true); };
    const auto before = count();
    for (const std::vector<bool> &launch : trial.met)
      std::transform(met.begin(), met.end(), launch.begin(), met.begin(), std::logical_or<>());
    return count() > before;
  }
  void sortTrials() {
    std::stable_sort(trials_.begin(), trials_.end(), [](const auto &a, const auto &b) { return a->steps < b->steps; });
  }
  /// Leaves those of the fewest steps, and those that alone show what some switch would change.
  void dropLongTrials();
  /// Those on which a mutant differs that differs nowhere else.
  absl::Status addSpares(const EmulatedModule &original);
  /// The original on the trial's arguments, launch by launch: what it leaves, and which switches would change it.
  absl::Status record(Trial &trial, const EmulatedModule &original);
  /// One launch with the switches as they are, at most `budget` steps.
  absl::StatusOr<Report> launch(Trial &trial, size_t number, uint64_t seed, uint64_t budget);
  Outcome runTrial(Trial &trial, absl::Span<const size_t> numbers, uint64_t seed);

  const Kernel &kernel_;
  const Variant &variant_;
  const std::vector<RunArguments> &spares_;
  std::vector<std::unique_ptr<Trial>> trials_; ///< those of the fewest steps first
  std::deque<std::vector<uint8_t>> copies_;    ///< of inputs with specials
  EmulatorOptions options_;
  Variant switched_;
  std::vector<uint8_t> switches_;
  std::optional<KernelRunner> runner_; ///< of the text with switches
};

absl::Status Judge::begin(const std::string &text, size_t count) {
  for (const auto &t : trials_)
    for (const TensorView &v : t->args.params)
      if (v.strides != denseStrides(v.shape))
        return absl::InvalidArgumentError("mutants run on dense tensors only: an argument has strides of its own");
  switched_ = variant_;
  switched_.cudaText = text;
  auto runners = KernelRunner::createAll({{&kernel_, &variant_}, {&kernel_, &switched_}}, options_);
  for (auto &runner : runners)
    if (!runner.ok())
      return runner.status();
  switches_.assign(count, 0);
  options_.stopAtFirst = true;
  options_.switches = absl::MakeSpan(switches_);
  runner_ = *std::move(runners[1]);
  const EmulatedModule &original = runners[0]->module();
  for (auto &t : trials_)
    if (absl::Status s = record(*t, original); !s.ok())
      return s;
  if (absl::Status s = addSpares(original); !s.ok())
    return s;
  dropLongTrials();
  const size_t plain = trials_.size();
  for (size_t i = 0; i < plain; i++)
    addSpecials(i);
  for (size_t i = plain; i < trials_.size(); i++)
    if (absl::Status s = record(*trials_[i], original); !s.ok())
      return s;
  sortTrials();
  return absl::OkStatus();
}

absl::Status Judge::addSpares(const EmulatedModule &original) {
  constexpr uint64_t kMostSteps = 400'000'000;
  std::vector<bool> met(switches_.size());
  for (const auto &t : trials_)
    addMet(*t, met);
  uint64_t steps = 0;
  for (const RunArguments &args : spares_) {
    if (steps > kMostSteps || std::find(met.begin(), met.end(), false) == met.end())
      break;
    addTrial(args);
    if (absl::Status s = record(*trials_.back(), original); !s.ok())
      return s;
    steps += trials_.back()->steps;
    if (!addMet(*trials_.back(), met))
      trials_.pop_back();
  }
  return absl::OkStatus();
}

void Judge::dropLongTrials() {
  constexpr uint64_t kMostSteps = 200'000'000; // a survivor takes a second or two
  sortTrials();
  std::vector<bool> met(switches_.size());
  uint64_t steps = 0;
  std::erase_if(trials_, [&](const auto &t) {
    bool meetsNew = addMet(*t, met);
    steps += t->steps;
    return steps > kMostSteps && !meetsNew;
  });
}

absl::Status Judge::record(Trial &trial, const EmulatedModule &original) {
  absl::StatusOr<std::unique_ptr<PlacedRun>> placed = PlacedRun::create(kernel_, variant_, trial.args, options_);
  if (!placed.ok())
    return placed.status();
  trial.placed = *std::move(placed);
  PlacedRun &run = *trial.placed;
  trial.before = {run.save()};
  for (size_t i = 0; i < run.launches(); i++) {
    auto report = run.launch(i, original, options_);
    if (!report.ok())
      return report.status();
    if (i + 1 == run.launches())
      run.findUnwritten(*report);
    if (!report->ok())
      return absl::FailedPreconditionError(absl::StrCat("the unchanged text has findings:\n", report->toString()));
    trial.launchSteps.push_back(report->steps);
    trial.steps += report->steps;
  }
  const MemoryImage wanted = run.save(&trial.before[0]);
  run.load(trial.before[0]);
  Outcome same;
  for (size_t i = 0; i < run.launches() && !same.detected(); i++) {
    std::fill(switches_.begin(), switches_.end(), 2);
    auto report = launch(trial, i, options_.seed, options_.stepBudget);
    if (!report.ok() || !report->ok())
      same.seen = report.ok() ? report->toString() : std::string(report.status().message());
    std::vector<bool> &met = trial.met.emplace_back();
    for (uint8_t &s : switches_)
      met.push_back(s == 4);
    trial.before.push_back(run.save(&trial.before.back()));
  }
  std::fill(switches_.begin(), switches_.end(), 0);
  if (!same.detected() && !run.hasOutputsOf(wanted))
    same.seen = "a wrong value";
  return same.detected() ? absl::InternalError(absl::StrCat("the text with switches, none of them set, shows ", same.seen))
                         : absl::OkStatus();
}

absl::StatusOr<Report> Judge::launch(Trial &trial, size_t number, uint64_t seed, uint64_t budget) {
  EmulatorOptions options = options_;
  options.seed = seed;
  options.stepBudget = budget;
  return trial.placed->launch(number, runner_->module(), options);
}

Judge::Outcome Judge::runTrial(Trial &trial, absl::Span<const size_t> numbers, uint64_t seed) {
  Outcome outcome;
  PlacedRun &run = *trial.placed;
  const size_t end = run.launches();
  size_t at = end; // memory holds what it held before launch `at`
  for (size_t i = trial.firstMet(numbers, 0); i < end; i = trial.firstMet(numbers, at)) {
    if (i != at)
      run.load(trial.before[i]);
    bool same = true;
    do {
      // A mutant that runs this much longer has no end.
      auto report = launch(trial, i, seed, std::min(options_.stepBudget, 20 * trial.launchSteps[i] + 1'000'000));
      if (!report.ok() || !report->ok()) {
        outcome.finding = true;
        outcome.seen = report.ok() ? findingKindName(report->findings[0].kind) : std::string(report.status().message());
        return outcome;
      }
      same = run.holds(trial.before[++i]);
    } while (i < end && !same);
    if (!same) {
      Report report;
      run.findUnwritten(report);
      outcome.finding = !report.ok();
      outcome.seen = outcome.finding                       ? findingKindName(report.findings[0].kind)
                     : run.hasOutputsOf(trial.before[end]) ? ""
                                                           : "a wrong value";
      return outcome;
    }
    at = i;
  }
  return outcome;
}

Judge::Outcome Judge::run(absl::Span<const size_t> numbers, uint8_t how, absl::Span<const uint64_t> seeds) {
  Outcome outcome;
  for (size_t n : numbers)
    switches_[n] = how;
  for (uint64_t seed : seeds)
    for (size_t t = 0; t < trials_.size() && !outcome.detected(); t++)
      outcome = runTrial(*trials_[t], numbers, seed);
  for (size_t n : numbers)
    switches_[n] = 0;
  return outcome;
}

bool Judge::showsBeside(size_t other, size_t number) {
  auto results = [&](Trial &trial, bool set) -> std::optional<MemoryImage> {
    switches_[other] = 1, switches_[number] = set;
    trial.placed->load(trial.before[0]);
    bool fine = true;
    for (size_t i = 0; i < trial.placed->launches() && fine; i++) {
      auto report = launch(trial, i, options_.seed, options_.stepBudget);
      fine = report.ok() && report->ok();
    }
    switches_[other] = switches_[number] = 0;
    return fine ? std::optional(trial.placed->save()) : std::nullopt;
  };
  for (auto &t : trials_)
    if (t->meets(number))
      if (auto without = results(*t, false); without && (!results(*t, true) || !t->placed->hasOutputsOf(*without)))
        return true;
  return false;
}

/// What became of mutant `i` of `mutants`, and whether it was a finding that told.
bool judgeMutant(Judge &judge, Mutants &mutants, size_t i, absl::Span<const uint64_t> schedules) {
  Mutant &m = mutants.all[i];
  const uint64_t seed = schedules[0];
  // What a mask keeps out does not depend on the order of threads.
  Judge::Outcome outcome = judge.run({i}, 1, schedules.first(m.mask ? 1 : schedules.size()));
  if (outcome.detected()) {
    m.verdict = Verdict::Detected;
    m.why = outcome.seen;
    return outcome.finding;
  }
  bool differs = judge.differs(i);
  // A short cut past masks: they alone keep out what is to be kept out, and without them it shows.
  auto isShortCut = [&] {
    std::vector<size_t> masks{i};
    auto isWithin = [&](int line) {
      return std::any_of(m.shortCuts.begin(), m.shortCuts.end(), [&](auto block) { return line > block.first && line <= block.second; });
    };
    for (size_t j = 0; j < mutants.all.size(); j++)
      if (mutants.all[j].mask && isWithin(mutants.all[j].where.line))
        masks.push_back(j);
    return masks.size() > 1 && judge.run(masks, 1, {seed}).detected();
  };
  // Garbage in what it sets too often does not show either: nobody uses it.
  auto areUnused = [&](size_t n) { return !judge.run({n}, 3, {seed}).detected() && !judge.run({n}, 5, {seed}).detected(); };
  // Without the second, exact sums it shows.
  auto isSummedAgain = [&] { return m.mask && mutants.sumsAgain && judge.showsBeside(mutants.all.size(), i); };
  const char *redundant = !differs                          ? m.mask ? "always true at these sizes" : "never reached at these sizes"
                          : m.onlySynchronises              ? "guards synchronisation or hints that nothing needs at these sizes"
                          : m.onlyCopies                    ? "guards copies that nothing reads at these sizes"
                          : m.addsNothing                   ? "saves the addition of a zero"
                          : m.onlyRegisters && areUnused(i) ? "guards registers that are written over or not used at these sizes"
                          : !m.mask                         ? "no access needs it at these sizes"
                          : isShortCut()                    ? "a short cut past the masks inside"
                          : isSummedAgain()                 ? "keeps out what would have to be summed again exactly"
                                                            : nullptr;
  m.verdict = redundant ? Verdict::Redundant : Verdict::Missed;
  m.why = redundant ? redundant : "neither a finding nor another value";
  return false;
}

/// One process's share of the mutants, each the next that nobody has taken, as lines on `pipe`: number, verdict, finding, why.
[[noreturn]] void judgeShare(Judge &judge, Mutants &mutants, std::atomic<size_t> &next, absl::Span<const uint64_t> schedules, int pipe) {
  for (size_t i; (i = next.fetch_add(1)) < mutants.all.size();) {
    bool finding = judgeMutant(judge, mutants, i, schedules);
    std::string why = absl::StrReplaceAll(mutants.all[i].why, {{"\n", " "}});
    std::string line = absl::StrCat(i, " ", int(mutants.all[i].verdict), " ", int(finding), " ", why, "\n");
    for (size_t at = 0; at < line.size();) {
      ssize_t written = ::write(pipe, line.data() + at, line.size() - at);
      if (written <= 0)
        ::_exit(1);
      at += size_t(written);
    }
  }
  ::_exit(0);
}

/// All mutants judged by `jobs` processes; `findings`: whether a finding told.
absl::Status judgeInShares(Judge &judge, Mutants &mutants, size_t jobs, absl::Span<const uint64_t> schedules, std::vector<char> &findings) {
  std::vector<std::pair<pid_t, int>> shares;
  // Survivors take much longer than what is detected: processes take mutants one by one.
  void *shared = ::mmap(nullptr, sizeof(std::atomic<size_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return absl::InternalError("no memory that processes share");
  auto &next = *new (shared) std::atomic<size_t>(0);
  static_assert(std::atomic<size_t>::is_always_lock_free);
  for (size_t n = 0; n < jobs; n++) {
    int ends[2];
    if (::pipe(ends) != 0)
      return absl::InternalError("no pipe for a process that judges mutants");
    pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      judgeShare(judge, mutants, next, schedules, ends[1]);
    }
    ::close(ends[1]);
    if (child < 0)
      return absl::InternalError("no process that judges mutants");
    shares.push_back({child, ends[0]});
  }
  bool whole = true;
  for (auto [child, end] : shares) {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(end, buffer, sizeof buffer)) > 0;)
      text.append(buffer, size_t(n));
    ::close(end);
    int status = 0;
    whole &= ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      std::vector<absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 3));
      size_t i = 0;
      int verdict = 0;
      if (words.size() < 4 || !absl::SimpleAtoi(words[0], &i) || i >= mutants.all.size() || !absl::SimpleAtoi(words[1], &verdict))
        return absl::InternalError("a process that runs mutants wrote a line that is no verdict");
      mutants.all[i].verdict = Verdict(verdict);
      findings[i] = words[2] == "1";
      mutants.all[i].why = std::string(words[3]);
    }
  }
  ::munmap(shared, sizeof(std::atomic<size_t>));
  return whole ? absl::OkStatus() : absl::InternalError("a process that judges mutants has ended early");
}

} // namespace

absl::StatusOr<MutationScore> measureMutants(const Kernel &kernel, const Variant &variant, const std::vector<RunArguments> &runs,
                                             const EmulatorOptions &options, const std::function<void(const Mutant &)> &judged, size_t jobs,
                                             const std::vector<RunArguments> &spares) {
  Mutants mutants = mutantsOf(variant.cudaText);
  Judge judge(kernel, variant, runs, spares, options);
  if (absl::Status s = judge.begin(mutants.text, mutants.all.size() + mutants.sumsAgain); !s.ok())
    return s;
  const uint64_t kSchedules[] = {options.seed, 11, 12};
  std::vector<char> findings(mutants.all.size());
  if (jobs > 1)
    if (absl::Status s = judgeInShares(judge, mutants, std::min(jobs, mutants.all.size()), kSchedules, findings); !s.ok())
      return s;
  MutationScore score;
  std::vector<size_t> surviving;
  for (size_t i = 0; i < mutants.all.size(); i++) {
    if (jobs <= 1)
      findings[i] = judgeMutant(judge, mutants, i, kSchedules);
    const Mutant &m = mutants.all[i];
    score.total++;
    score.byFinding += findings[i];
    (m.verdict == Verdict::Detected ? score.detected : m.verdict == Verdict::Redundant ? score.redundant : score.missed)++;
    if (m.verdict != Verdict::Detected) {
      score.survivors.push_back(m);
      surviving.push_back(i);
    }
    if (judged)
      judged(m);
  }
  if (surviving.size() > 1)
    score.survivorsNeedEachOther = judge.run(surviving, 1, kSchedules).detected();
  return score;
}

} // namespace kernelc::emulator
