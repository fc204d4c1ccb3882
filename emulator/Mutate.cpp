// Textual mutants of emitted CUDA, as switches in one text. The printer puts one
// statement on a line, which is what this relies on; a call inside a larger expression
// is left alone.
#include "emulator/Mutate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "emulator/HostCompiler.h"

namespace kernelc::emulator {
namespace {

/// What the emulator follows: a race, a stale read or a lost completion that one of
/// these prevents is a finding without it, whatever the schedule of the run.
const char *const kSynchronising[] = {
    "__syncthreads(",         "__syncwarp(",         "__threadfence",      "kc_bar_sync(",
    "kc_bar_arrive(",         "kc_cluster_sync(",    "kc_cluster_arrive(", "kc_cluster_wait(",
    "kc_cp_async_wait<",      "kc_cp_async_commit(", "kc_mbarrier_wait(",  "kc_mbarrier_arrive",
    "kc_mbarrier_expect_tx(", "kc_fence_",           "kc_wgmma_fence(",    "kc_wgmma_commit(",
    "kc_wgmma_wait<",         "kc_tma_commit(",      "kc_tma_wait"};
/// The end of the statement that begins at `at`: past its semicolon.
size_t statementEnd(absl::string_view line, size_t at) {
  size_t end = line.find(';', at);
  return end == absl::string_view::npos ? line.size() : end + 1;
}

/// Whether the block that line `open` opens only synchronises, and prefetches: where nothing needs the calls, too many
/// of them are as good as too few.
bool holdsOnlySynchronisation(const std::vector<std::string> &lines, size_t open) {
  const std::string close(lines[open].find_first_not_of(' '), ' ');
  bool any = false;
  for (size_t i = open + 1; i < lines.size(); i++) {
    if (lines[i] == close + "}")
      return any;
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    auto startsLine = [&](const char *call) { return absl::StartsWith(line, call); };
    if (startsLine("kc_prefetch_") || std::any_of(std::begin(kSynchronising), std::end(kSynchronising), startsLine))
      any = true;
    else if (!line.empty() && line != "}" && !startsLine("#line") && !startsLine("const int ") && !startsLine("if ("))
      return false;
  }
  return false;
}

/// The array or variable that an assignment such as `*(uint4 *)(&a[i]) = ..`, `*(uint4 *)(a) = ..` or `a[i] = ..` writes;
/// empty for what is no assignment, or declares its target.
absl::string_view assignedName(absl::string_view line) {
  size_t equals = line.find(" = ");
  if (equals == absl::string_view::npos)
    return {};
  absl::string_view left = line.substr(0, equals);
  if (size_t address = left.find(")("); absl::StartsWith(left, "*(") && address != absl::string_view::npos) {
    left.remove_prefix(address + 2);
    absl::ConsumePrefix(&left, "&");
  }
  absl::string_view name = left.substr(0, left.find_first_of("[)"));
  return absl::StrContains(name, ' ') ? absl::string_view() : name;
}

/// Whether `name` is an array in shared memory, declared before line `before`.
bool isShared(const std::vector<std::string> &lines, size_t before, absl::string_view name) {
  std::string declared = absl::StrCat(" *const ", name, " = (");
  return std::any_of(lines.begin(), lines.begin() + int64_t(before), [&](const std::string &l) {
    return absl::StrContains(l, declared) && absl::StrContains(l, "(kc_shared()");
  });
}

/// Whether `name` is a variable or an array of the thread, declared without a value in lines (from, to).
bool isOwn(const std::vector<std::string> &lines, size_t from, size_t to, absl::string_view name) {
  return std::any_of(lines.begin() + int64_t(from) + 1, lines.begin() + int64_t(to), [&](const std::string &l) {
    return absl::EndsWith(l, ";") && (absl::StrContains(l, absl::StrCat(" ", name, "[")) || absl::StrContains(l, absl::StrCat(" ", name, ";"))) &&
           !absl::StrContains(l, "=") && !absl::StrContains(l, "kc_");
  });
}

/// The line behind the block that line `open` opens.
size_t blockEnd(const std::vector<std::string> &lines, size_t open) {
  const std::string close = std::string(lines[open].find_first_not_of(' '), ' ') + "}";
  size_t end = open + 1;
  while (end < lines.size() && lines[end] != close)
    end++;
  return end;
}

/// Whether the block that line `open` opens writes nothing but shared memory and variables of its own.
bool writesOnlyInside(const std::vector<std::string> &lines, size_t open) {
  for (size_t i = open + 1, end = blockEnd(lines, open); i < end; i++) {
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]), name = assignedName(line);
    if (!name.empty() && !isShared(lines, open, name) && !isOwn(lines, open, i, name))
      return false;
    if (name.empty() && (absl::StrContains(line, "kc_tma_") || absl::StrContains(line, "kc_cp_") || absl::StrContains(line, "atomic") || absl::StrContains(line, "__st")))
      return false;
  }
  return true;
}

/// Whether the block that line `open` opens only brings data into shared memory, asynchronously or through
/// registers of its own, and does nothing else: done once too often it is not read, or a race, which is a finding.
bool holdsOnlyCopies(const std::vector<std::string> &lines, size_t open) {
  static const char *const kHarmlessStarts[] = {"#", "const ", "for (", "if (", "kc_cp_async_", "}"};
  const std::string close(lines[open].find_first_not_of(' '), ' ');
  bool any = false;
  for (size_t i = open + 1; i < lines.size(); i++) {
    if (lines[i] == close + "}")
      return any;
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    if (absl::string_view name = assignedName(line); !name.empty()) {
      bool shared = isShared(lines, open, name);
      if (!shared && !isOwn(lines, open, i, name))
        return false;
      any |= shared;
      continue;
    }
    bool declares = absl::EndsWith(line, ";") && !absl::StrContains(line, "kc_") && absl::StrContains(line, " ") &&
                    (!absl::StrContains(line, "(") || absl::StartsWith(line, "alignas("));
    if (!line.empty() && !declares &&
        std::none_of(std::begin(kHarmlessStarts), std::end(kHarmlessStarts), [&](const char *start) { return absl::StartsWith(line, start); }))
      return false;
    any |= absl::StartsWith(line, "kc_cp_async_") && absl::StrContains(line, "(&");
  }
  return false;
}

/// Whether the block that line `open` opens only sets registers of the thread, declared before it, to constants: what that
/// does too often shows in values or is written over.
bool holdsOnlyRegisters(const std::vector<std::string> &lines, size_t open) {
  const std::string close(lines[open].find_first_not_of(' '), ' ');
  auto isRegister = [&](absl::string_view name) {
    std::string array = absl::StrCat(" ", name, "[");
    return std::any_of(lines.begin(), lines.begin() + int64_t(open), [&](const std::string &l) {
      return absl::EndsWith(l, "];") && absl::StrContains(l, array) && !absl::StrContains(l, "=") && !absl::StrContains(l, "__shared__");
    });
  };
  bool any = false;
  for (size_t i = open + 1; i < lines.size(); i++) {
    if (lines[i] == close + "}")
      return any;
    absl::string_view line = absl::StripAsciiWhitespace(lines[i]);
    if (absl::StartsWith(line, "#") || absl::StartsWith(line, "for (") || absl::StartsWith(line, "const int ") || line == "}")
      continue;
    absl::string_view name = assignedName(line);
    if (name.empty() || !isRegister(name) || line.find_first_of("([", line.find(" = ")) != absl::string_view::npos)
      return false;
    any = true;
  }
  return false;
}

/// The lines of `if (name) {` where nothing else mentions `name`, defined in line `from`, in its kernel; else none.
std::vector<size_t> blocksGuardedBy(const std::vector<std::string> &lines, size_t from, const std::string &name) {
  std::vector<size_t> blocks;
  for (size_t i = from + 1; i < lines.size() && !absl::StartsWith(lines[i], "}"); i++) {
    if (absl::StripAsciiWhitespace(lines[i]) == absl::StrCat("if (", name, ") {")) {
      blocks.push_back(i);
      continue;
    }
    for (size_t at = lines[i].find(name); at != std::string::npos; at = lines[i].find(name, at + 1)) {
      auto isWord = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
      if (!(at > 0 && isWord(lines[i][at - 1])) && !(at + name.size() < lines[i].size() && isWord(lines[i][at + name.size()])))
        return {};
    }
  }
  return blocks;
}

/// `x != x`: part of how two values combine, no mask.
bool isNanTest(absl::string_view condition) {
  std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(condition, absl::MaxSplits(" != ", 1));
  return sides.first == sides.second;
}

} // namespace

const char *verdictName(Verdict verdict) {
  return verdict == Verdict::Detected ? "detected" : verdict == Verdict::Redundant ? "redundant" : "missed";
}

std::string Mutant::toString() const {
  return absl::StrCat("line ", where.line,
                      where.sourceLine ? absl::StrCat(" (", where.sourceFile, ":", where.sourceLine, ")") : "", ": ",
                      verdictName(verdict), why.empty() ? "" : absl::StrCat(" (", why, ")"), ": ",
                      mask ? "condition made true: " : "removed: ", removed);
}

Mutants mutantsOf(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  LineMarks marks(text);
  Mutants mutants;
  bool deviceOnly = false, inKernel = false;
  // Puts a switch around [from, to) of the line.
  auto add = [&](size_t index, size_t from, size_t to, bool mask) {
    std::string &line = lines[index], old = line.substr(from, to - from);
    size_t number = mutants.all.size();
    Mutant m;
    m.where = locateLine(marks, int(index) + 1);
    m.mask = mask;
    m.removed = std::string(absl::StripAsciiWhitespace(old));
    mutants.all.push_back(std::move(m));
    std::string with =
        mask ? absl::StrCat("(kce_forced(", number, ") || kce_mask(", number, ", (", old, ")))")
             : absl::StrCat("{ if (kce_kept(", number, ")) { ", old, " } }");
    line.replace(from, to - from, with);
  };
  for (size_t i = 0; i < lines.size(); i++) {
    const std::string line = lines[i];
    if (absl::StartsWith(line, "#ifndef KC_HOST"))
      deviceOnly = true;
    if (absl::StartsWith(line, "#e"))
      deviceOnly = false;
    inKernel = (inKernel || absl::StrContains(line, "__global__")) && !absl::StartsWith(line, "}");
    if (deviceOnly || !inKernel || absl::StrContains(line, "__global__"))
      continue;
    for (const char *call : kSynchronising)
      if (size_t at = line.find(call); at != std::string::npos) {
        add(i, at, statementEnd(line, at), false);
        break;
      }
    // Masks: `const bool name = ...;` and `if (...)`, made true.
    if (size_t at = line.find("const bool "); at != std::string::npos) {
      size_t equals = line.find(" = ", at), end = line.rfind(';');
      if (equals != std::string::npos && end != std::string::npos && end > equals && !isNanTest(line.substr(equals + 3, end - equals - 3))) {
        std::vector<size_t> blocks = blocksGuardedBy(lines, i, line.substr(at + 11, equals - at - 11));
        auto allHold = [&](bool (*holds)(const std::vector<std::string> &, size_t)) {
          return !blocks.empty() && std::all_of(blocks.begin(), blocks.end(), [&](size_t block) { return holds(lines, block); });
        };
        bool onlySynchronises = allHold(holdsOnlySynchronisation), onlyCopies = allHold(holdsOnlyCopies), onlyRegisters = allHold(holdsOnlyRegisters);
        add(i, equals + 3, end, true);
        mutants.all.back().onlySynchronises = onlySynchronises;
        mutants.all.back().onlyCopies = onlyCopies;
        mutants.all.back().onlyRegisters = onlyRegisters;
      }
    } else if (size_t at = line.find("if ("); at != std::string::npos && absl::EndsWith(line, "{")) {
      size_t close = line.rfind(')');
      if (close != std::string::npos && close > at + 4) {
        bool onlySynchronises = holdsOnlySynchronisation(lines, i), onlyCopies = holdsOnlyCopies(lines, i),
             onlyRegisters = holdsOnlyRegisters(lines, i), onlyInside = writesOnlyInside(lines, i); // before its own lines change
        add(i, at + 4, close, true);
        mutants.all.back().lastLine = onlyInside ? int(blockEnd(lines, i)) : 0;
        mutants.all.back().onlyRegisters = onlyRegisters;
        mutants.all.back().onlySynchronises = onlySynchronises;
        mutants.all.back().onlyCopies = onlyCopies;
      }
    }
  }
  mutants.text = absl::StrJoin(lines, "\n");
  return mutants;
}

std::string MutationScore::toString() const {
  std::string s = absl::StrFormat("%d of %d mutants detected, %d of them by a finding; %d redundant, %d missed: %.1f %%\n", detected,
                                  total, byFinding, redundant, missed, percent());
  for (const Mutant &m : survivors)
    absl::StrAppend(&s, "  ", m.toString(), "\n");
  if (survivors.size() > 1)
    absl::StrAppend(&s, survivorsNeedEachOther ? "  taking away all of these at once is detected: some stand in for others\n"
                                               : "  taking away all of these at once changes nothing either\n");
  return s;
}

namespace {

/// Runs the mutants on the same arguments and compares with what the original gave.
class Judge {
public:
  Judge(const Kernel &kernel, const Variant &variant, const std::vector<RunArguments> &runs,
        const EmulatorOptions &options)
      : kernel_(kernel), variant_(variant), runs_(runs), options_(options) {
    std::stable_sort(runs_.begin(), runs_.end(), [](const RunArguments &a, const RunArguments &b) { return elementsOf(a) < elementsOf(b); });
    for (size_t i = 0, n = runs_.size(); i < n; i++)
      addSpecials(i);
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

private:
  static int64_t elementsOf(const RunArguments &args) {
    int64_t n = 0;
    for (const TensorView &v : args.params)
      n += v.numElements();
    return n;
  }
  /// Run i once more with a few infinities and NaN among its inputs. What a mask keeps out is often
  /// multiplied by zeros, so that only these show it.
  void addSpecials(size_t i) {
    RunArguments args = runs_[i];
    bool any = false;
    for (size_t p = 0; p < args.params.size(); p++) {
      TensorView &v = args.params[p];
      if (kernel_.params[p].kind != ParamKind::Input || !isFloat(v.type) || v.numElements() == 0)
        continue;
      const auto *bytes = static_cast<const uint8_t *>(v.data);
      size_t size = size_t(elementBits(v.type)) / 8, n = size_t(v.numElements());
      copies_.emplace_back(bytes, bytes + n * size);
      v.data = copies_.back().data();
      uint64_t random = 88172645463325252u + p;
      for (size_t k = 0; k < n / (i % 2 ? 97 : 997) + 1; k++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        storeSpecial(v, size_t(random % n), k);
      }
      any = true;
    }
    if (any)
      runs_.push_back(std::move(args));
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
  using Bytes = std::vector<std::vector<uint8_t>>;
  Bytes snapshot(const RunArguments &args) const {
    Bytes bytes;
    for (size_t i = 0; i < args.params.size(); i++) {
      const TensorView &v = args.params[i];
      bool written =
          kernel_.params[i].kind == ParamKind::Output || kernel_.params[i].kind == ParamKind::InOut;
      size_t n = written ? size_t(v.numElements() * elementBits(v.type) + 7) / 8 : 0;
      const auto *p = static_cast<const uint8_t *>(v.data);
      bytes.emplace_back(p, p + n);
    }
    return bytes;
  }
  static void restore(const RunArguments &args, const Bytes &bytes) {
    for (size_t i = 0; i < args.params.size(); i++)
      if (!bytes[i].empty())
        std::memcpy(args.params[i].data, bytes[i].data(), bytes[i].size());
  }

  const Kernel &kernel_;
  const Variant &variant_;
  std::vector<RunArguments> runs_; ///< the smallest first, then those with specials
  std::deque<std::vector<uint8_t>> copies_; ///< of inputs with specials
  EmulatorOptions options_;
  Variant switched_;
  std::vector<uint8_t> switches_;
  std::optional<KernelRunner> runner_;
  std::vector<Bytes> before_, expected_;
};

absl::Status Judge::begin(const std::string &text, size_t count) {
  for (const RunArguments &args : runs_)
    for (const TensorView &v : args.params)
      if (v.strides != denseStrides(v.shape))
        return absl::InvalidArgumentError("mutants are measured on dense tensors");
  switched_ = variant_;
  switched_.cudaText = text;
  auto runners = KernelRunner::createAll({{&kernel_, &variant_}, {&kernel_, &switched_}}, options_);
  for (auto &runner : runners)
    if (!runner.ok())
      return runner.status();
  uint64_t steps = 0;
  for (const RunArguments &args : runs_) {
    before_.push_back(snapshot(args));
    auto report = runners[0]->run(args);
    if (!report.ok())
      return report.status();
    if (!report->ok())
      return absl::FailedPreconditionError(
          absl::StrCat("the unchanged text has findings:\n", report->toString()));
    expected_.push_back(snapshot(args));
    restore(args, before_.back());
    steps = std::max(steps, report->steps);
  }
  switches_.assign(count, 0);
  // A mutant that runs this much longer has no end.
  options_.stepBudget = std::min(options_.stepBudget, 20 * steps + 1'000'000);
  options_.stopAtFirst = true;
  options_.switches = switches_;
  runner_ = *std::move(runners[1]);
  runner_->setOptions(options_);
  Outcome same = run({}, 0, {options_.seed});
  return same.detected() ? absl::InternalError(absl::StrCat(
                               "the text with switches, none of them set, shows ", same.seen))
                         : absl::OkStatus();
}

Judge::Outcome Judge::run(absl::Span<const size_t> numbers, uint8_t how,
                          absl::Span<const uint64_t> seeds) {
  Outcome outcome;
  for (size_t n : numbers)
    switches_[n] = how;
  for (uint64_t seed : seeds) {
    runner_->setSeed(seed);
    for (size_t r = 0; r < runs_.size() && !outcome.detected(); r++) {
      auto report = runner_->run(runs_[r]);
      outcome.finding = !report.ok() || !report->ok();
      if (outcome.finding)
        outcome.seen = report.ok() ? findingKindName(report->findings[0].kind)
                                   : std::string(report.status().message());
      else if (snapshot(runs_[r]) != expected_[r])
        outcome.seen = "a wrong value";
      restore(runs_[r], before_[r]);
    }
    if (outcome.detected())
      break;
  }
  for (size_t n : numbers)
    switches_[n] = 0;
  return outcome;
}

} // namespace

absl::StatusOr<MutationScore> measureMutants(const Kernel &kernel, const Variant &variant,
                                             const std::vector<RunArguments> &runs,
                                             const EmulatorOptions &options,
                                             const std::function<void(const Mutant &)> &judged) {
  Mutants mutants = mutantsOf(variant.cudaText);
  Judge judge(kernel, variant, runs, options);
  if (absl::Status s = judge.begin(mutants.text, mutants.all.size()); !s.ok())
    return s;
  const uint64_t kSchedules[] = {options.seed, 11, 12};
  MutationScore score;
  std::vector<size_t> surviving;
  for (size_t i = 0; i < mutants.all.size(); i++) {
    Mutant &m = mutants.all[i];
    // What a mask keeps out does not depend on the order of threads.
    Judge::Outcome outcome = judge.run({i}, 1, absl::MakeSpan(kSchedules).first(m.mask ? 1 : 3));
    score.total++;
    if (outcome.detected()) {
      m.verdict = Verdict::Detected;
      m.why = outcome.seen;
      score.detected++;
      score.byFinding += outcome.finding;
    } else {
      // Where the trap is never met, original and mutant do the same.
      bool differs = judge.run({i}, 2, {options.seed}).detected();
      // A short cut past masks: they alone keep out what is to be kept out, and without them it shows.
      std::vector<size_t> masks{i};
      for (size_t j = 0; j < mutants.all.size(); j++)
        if (mutants.all[j].mask && mutants.all[j].where.line > m.where.line && mutants.all[j].where.line <= m.lastLine)
          masks.push_back(j);
      m.isShortCut = differs && masks.size() > 1 && judge.run(masks, 1, {options.seed}).detected();
      m.verdict = !differs || m.isShortCut || !m.mask || m.onlySynchronises || m.onlyCopies || m.onlyRegisters ? Verdict::Redundant : Verdict::Missed;
      m.why = !differs      ? m.mask ? "always true at these sizes" : "never reached at these sizes"
              : m.onlySynchronises ? "guards synchronisation or hints that nothing needs at these sizes"
              : m.onlyCopies ? "guards copies that nothing reads at these sizes"
              : m.onlyRegisters ? "guards registers that are written over at these sizes"
              : m.isShortCut ? "a short cut past the masks inside"
              : !m.mask     ? "no access needs it at these sizes"
                            : "neither a finding nor another value";
      (m.verdict == Verdict::Redundant ? score.redundant : score.missed)++;
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
