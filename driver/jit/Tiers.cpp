// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/Tiers.h"

#include <algorithm>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "driver/jit/CompilePolicy.h"
#include "support/Interrupt.h"

namespace kernelc {
namespace {

/// What fast code takes at most, in times of full code; what a kernel takes, in times of the roofline; how long a fast compile takes at
/// most where a machine has nothing else to do; and how much longer one in pieces takes. docs/lab/2026-11-25-compile-time.md has the
/// measurements, of the last docs/lab/2026-11-28-first-launch-13.md.
constexpr double kSlowdown = 97, kSlowdownOfPieces = 12, kOverRoofline = 1.5, kLongestFast = 0.5, kSecondsOfPieces = 0.04;
/// What the full compile takes at least, in times of the fast one.
constexpr double kFullOfFast = 2, kFullOfPieces = 1.5;

} // namespace

absl::StatusOr<CompilePolicy> parseCompilePolicy(absl::string_view name) {
  if (name == "block")
    return CompilePolicy::Block;
  if (name == "tiered")
    return CompilePolicy::Tiered;
  if (name == "strict")
    return CompilePolicy::Strict;
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no policy for compiling; there are block, tiered and strict"));
}

absl::StatusOr<std::unique_ptr<RunningCode>> RunningCode::start(SessionState &session, VariantCode known, const std::vector<size_t> &cold,
                                                                absl::string_view target, absl::string_view programName) {
  absl::StatusOr<Nvrtc *> nvrtc = session.getNvrtc();
  if (!nvrtc.ok())
    return nvrtc.status();
  CompileProcess *process = session.getCompileProcess(**nvrtc);
  if (!process || (*nvrtc)->version() < std::pair(13, 0))
    return nullptr;
  std::unique_ptr<RunningCode> code(new RunningCode(session, std::string(target), std::string(programName)));
  code->code_ = std::move(known);
  if (cold.empty() || cold.size() > std::max(1u, std::thread::hardware_concurrency()) || !isWorthFastCode(code->code_))
    return nullptr;
  std::vector<size_t> longestFirst = cold; // a worker that is warm gets the first
  std::sort(longestFirst.begin(), longestFirst.end(),
            [&](size_t a, size_t b) { return code->code_.units[a].text.size() > code->code_.units[b].text.size(); });
  for (size_t u : longestFirst) {
    absl::StatusOr<std::unique_ptr<RunningCompile>> running = process->start(code->code_.units[u].text, programName, target);
    if (!running.ok())
      return nullptr; // who waits for it will hear why
    code->running_.emplace_back(u, *std::move(running));
  }
  return code;
}

bool RunningCode::isReady(absl::Duration atMost) {
  const absl::Time until = absl::Now() + atMost;
  return std::all_of(running_.begin(), running_.end(),
                     [&](auto &r) { return r.second->isReady(std::max(absl::ZeroDuration(), until - absl::Now())); });
}

absl::StatusOr<VariantCode> RunningCode::take() {
  absl::StatusOr<Nvrtc *> nvrtc = session_.getNvrtc();
  if (!nvrtc.ok())
    return nvrtc.status();
  for (auto &[unit, running] : running_) {
    absl::StatusOr<Cubin> cubin = running->take();
    if (!cubin.ok())
      return cubin.status();
    session_.getCache().putCubin(**nvrtc, code_.units[unit].text, programName_, target_, *cubin);
    code_.cubins[unit] = *std::move(cubin);
  }
  return std::move(code_);
}

static bool hasProduct(absl::string_view text) { return absl::StrContains(text, "fmaf(") || absl::StrContains(text, "kc_multiply_"); }

bool isWorthFastCode(const VariantCode &code) {
  bool isWorth = false;
  for (size_t u = 0; u < code.units.size(); ++u) {
    absl::string_view text = code.units[u].text;
    if (code.cubins[u].bytes.empty() && (absl::StrContains(text, "kc_wgmma_") || absl::StrContains(text, "kc_mma_")))
      return false;
    isWorth |= code.cubins[u].bytes.empty() && hasProduct(text);
  }
  return isWorth;
}

absl::StatusOr<VariantCode> RunningCode::compileFast(const FastWay &way) {
  absl::StatusOr<Nvrtc *> nvrtc = session_.getNvrtc();
  if (!nvrtc.ok())
    return nvrtc.status();
  CompileProcess *process = session_.getCompileProcess(**nvrtc);
  if (!process)
    return absl::UnavailableError("there is no worker that compiles");
  // As loops in C, which this way of compiling does not write out, or as loops over pieces of PTX, whose sums stay in registers.
  const std::vector<std::string> options = {"--Ofast-compile=mid", way.inPieces ? "-DKC_LOOPS=4" : "-DKC_LOOPS"};
  std::vector<std::pair<size_t, std::unique_ptr<RunningCompile>>> fast;
  std::vector<std::pair<size_t, RunningCompile *>> needed; // texts without a product are compiled as soon either way
  for (auto &[unit, full] : running_) {
    if (!hasProduct(code_.units[unit].text)) {
      needed.emplace_back(unit, full.get());
      continue;
    }
    absl::StatusOr<std::unique_ptr<RunningCompile>> started = process->start(code_.units[unit].text, programName_, target_, options);
    if (!started.ok())
      return started.status();
    needed.emplace_back(unit, started->get());
    fast.emplace_back(unit, *std::move(started));
  }
  constexpr absl::Duration kPeriod = absl::Milliseconds(2);
  for (bool isDone = false; !isDone;) {
    if (isReady())
      return absl::UnavailableError("the full code was there before");
    if (isInterrupted())
      return absl::CancelledError("compiling was interrupted");
    isDone = std::all_of(needed.begin(), needed.end(), [&](auto &n) { return n.second->isReady(kPeriod); });
  }
  VariantCode result = code_;
  for (auto &[unit, running] : needed) {
    absl::StatusOr<Cubin> cubin = running->answer();
    if (!cubin.ok())
      return cubin.status();
    result.cubins[unit] = *std::move(cubin);
  }
  return result;
}

FastWay FastWay::find(double seconds, const VariantCode &code) {
  const FastWay loops{false, kSlowdown, kFullOfFast}, pieces{true, kSlowdownOfPieces, kFullOfPieces};
  for (size_t u = 0; u < code.units.size(); ++u)
    if (code.cubins[u].bytes.empty() && hasProduct(code.units[u].text) && !absl::StrContains(code.units[u].text, "kc_multiply_f32<"))
      return loops;
  return seconds * kOverRoofline * (kSlowdown - kSlowdownOfPieces) < kSecondsOfPieces ? loops : pieces;
}

bool FastWay::endsEarlier(double seconds, absl::Duration compiled) const {
  return seconds > 0 && seconds * kOverRoofline * slowdown < absl::ToDoubleSeconds(compiled) * (fullOfFast - 1);
}

bool FastWay::mayEndEarlier(double seconds) const { return endsEarlier(seconds, absl::Seconds(kLongestFast)); }

} // namespace kernelc
