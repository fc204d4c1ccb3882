// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc cache: what the disk cache holds, and why something is not in it.
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "driver/compile/Program.h"
#include "driver/jit/CacheQuestion.h"
#include "runtime/DiskCache.h"
#include "support/CompileUnits.h"
#include "tools/Call.h"
#include "tools/Commands.h"
#include "tools/Failure.h"
#include "tools/Options.h"

namespace kernelc::tools {
namespace {

/// What an entry holds, for people.
const char *contentOf(DiskCache::Kind kind) {
  static constexpr const char *kNames[] = {"artifact", "cubin", "host", "tuned"};
  return kNames[size_t(kind)];
}

std::string noteOf(const CacheKey &key, absl::string_view name) {
  for (const CacheKey::Part &p : key.notes())
    if (p.first == name)
      return p.second;
  for (const CacheKey::Part &p : key.parts())
    if (p.first == name)
      return p.second;
  return "";
}

void listEntries(const DiskCache &cache) {
  for (const DiskCache::EntryInfo &e : cache.list()) {
    std::string what = e.damaged ? "DAMAGED" : absl::StrCat(noteOf(e.key, "program"), " ", noteOf(e.key, "target"));
    if (std::string found = noteOf(e.key, "found"); !found.empty())
      absl::StrAppend(&what, " (", found, ")");
    std::cout << absl::StrFormat("%-8s %s %10d  %s  %s\n", contentOf(e.kind), e.hash.substr(0, 12), e.bytes,
                                 absl::FormatTime("%Y-%m-%d %H:%M", e.lastUse, absl::LocalTimeZone()), what);
  }
}

/// The sizes of a call, from "M=64,N=4096".
absl::StatusOr<std::vector<NamedSize>> parseLike(const std::string &text) {
  std::vector<NamedSize> sizes;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    std::pair<absl::string_view, absl::string_view> given = absl::StrSplit(part, absl::MaxSplits('=', 1));
    int64_t value = 0;
    if (given.first.empty() || !absl::SimpleAtoi(given.second, &value) || value < 0)
      return absl::InvalidArgumentError(absl::StrCat("--like ", text, ": expected the sizes of a call, as in --like M=64,N=4096"));
    sizes.push_back({std::string(given.first), value});
  }
  return sizes;
}

/// Whether a call would find its kernel, and if not, which parts of the key differ
/// from the nearest entry. kFailed on a miss.
int whyCall(DiskCache &cache, const CallOptions &options) {
  absl::StatusOr<Call> call = prepareCall(options);
  if (!call.ok())
    return reportFailure(call.status());
  std::string target = options.arch.empty() ? "sm_90a" : options.arch;
  absl::StatusOr<CacheKey> key =
      variantKey(*call->kernel, target, options.variant == "general", call->arguments.values(call->kernel->signature()), cache);
  if (!key.ok())
    return reportFailure(key.status());
  std::string answer = cache.why(DiskCache::Kind::Request, *key);
  std::cout << call->kernel->signature().name << " for " << target << ": " << answer << "\n";
  return answer.rfind("a hit", 0) == 0 ? kDone : kFailed;
}

/// Compiles what a call with these arguments needs on a GPU of that architecture, if the cache does not have it.
absl::Status warmCall(CallOptions options) {
  options.diskCache = true;
  absl::StatusOr<Call> call = prepareCall(options);
  if (!call.ok())
    return call.status();
  const std::string target = options.arch.empty() ? "sm_90a" : options.arch, name = call->kernel->signature().name;
  const std::vector<LaunchValue> values = call->arguments.values(call->kernel->signature());
  absl::StatusOr<Nvrtc *> nvrtc = call->session->nvrtc();
  if (!nvrtc.ok())
    return nvrtc.status();
  absl::StatusOr<Kernel> kernel = call->kernel->variantFor(target, values);
  if (!kernel.ok())
    return kernel.status();
  size_t cold = 0;
  for (const CompileUnit &unit : compileUnitsOf(kernel->variants[0]))
    cold += !call->session->cache().findCubin(**nvrtc, unit.text, target);
  kernel = call->kernel->variantFor(target, values, {}, /*asLoaded=*/true);
  if (!kernel.ok())
    return kernel.status();
  absl::StatusOr<VariantCode> code = call->session->compileVariant(kernel->variants[0], absl::StrCat(name, ".cu"));
  if (!code.ok())
    return code.status();
  std::cout << name << " for " << target << ": " << kernel->variants[0].launches.size() << " launches of " << code->units.size()
            << " compile units, " << cold << " of them compiled now\n";
  return absl::OkStatus();
}

/// The same of each of `calls`, the open sizes of one, or of what the arguments say alone.
absl::Status warm(CallOptions options, const std::vector<std::vector<NamedSize>> &calls) {
  if (calls.empty())
    return warmCall(std::move(options));
  for (const std::vector<NamedSize> &sizes : calls) {
    options.like = sizes;
    if (absl::Status done = warmCall(options); !done.ok())
      return done;
  }
  return absl::OkStatus();
}

/// Keeps a schedule file for calls with these arguments, as tune would.
absl::Status keep(DiskCache &cache, const CallOptions &options) {
  if (options.source.schedule.empty())
    return absl::InvalidArgumentError("keep takes --schedule FILE");
  if (options.variant != "default")
    return absl::InvalidArgumentError("tuned schedules belong to specialised variants");
  absl::StatusOr<Call> call = prepareCall(options);
  if (!call.ok())
    return call.status();
  std::string target = options.arch.empty() ? "sm_90a" : options.arch;
  const ProgramOptions &program = call->kernel->program().options();
  return keepSchedule(*call->kernel, target, call->arguments.values(call->kernel->signature()), program.schedule, program.scheduleName,
                      cache);
}

/// The parts of every entry of a kernel: what a call must equal to hit it.
int why(const DiskCache &cache, const std::string &kernel) {
  bool any = false;
  for (const DiskCache::EntryInfo &e : cache.list()) {
    std::string program = noteOf(e.key, "program");
    if (e.damaged || (program != kernel && program != kernel + ".cu"))
      continue;
    any = true;
    std::cout << contentOf(e.kind) << " " << e.hash.substr(0, 12) << "\n";
    for (const CacheKey::Part &p : e.key.parts())
      std::cout << "  " << p.first << ": " << p.second << "\n";
  }
  if (!any)
    std::cerr << "kernelc: the cache holds nothing of kernel '" << kernel << "'\n";
  return any ? kDone : kFailed;
}

/// What is wrong with the words of the command; empty: nothing.
std::string findMistake(const std::vector<std::string> &words) {
  static const std::vector<std::string> kVerbs = {"ls", "why", "warm", "keep", "verify", "prune", "clear", "path"};
  const std::string verb = words.empty() ? "" : words[0];
  if (verb.empty())
    return "what?";
  if (std::find(kVerbs.begin(), kVerbs.end(), verb) == kVerbs.end()) {
    std::string near = verb == "list"                       ? "ls"
                       : verb == "clean" || verb == "purge" ? "clear"
                       : verb == "dir" || verb == "where"   ? "path"
                                                            : findNearest(verb, kVerbs);
    return "unknown action '" + verb + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?");
  }
  bool ofKernel = verb == "why" || verb == "warm" || verb == "keep";
  if (ofKernel ? words.size() >= 2 : words.size() == 1)
    return "";
  return verb == "why"    ? "why KERNEL"
         : verb == "warm" ? "warm FILE.kc"
         : verb == "keep" ? "keep FILE.kc --schedule FILE"
                          : "unexpected argument";
}

/// Carries out words[0], about which nothing is wrong, on `cache`; `bytes`: what pruning leaves, -1 the limit that is set; `calls`: open
/// sizes, where they are given.
int runVerb(DiskCache &cache, CallOptions &call, int64_t bytes, const std::vector<std::vector<NamedSize>> &calls) {
  std::vector<std::string> &words = call.positionals;
  const std::string verb = words[0];
  if (!calls.empty() && verb != "warm")
    call.like = calls.front();
  if (verb == "path") {
    std::cout << cache.path() << "\n";
    return kDone;
  }
  if (!cache.enabled())
    return reportFailure(absl::UnavailableError("the cache is off: " + cache.reason()));
  if (verb == "why" && words.size() == 2)
    return why(cache, words[1]);
  if (verb == "why") {
    call.source.kernel = words[1];
    words.erase(words.begin(), words.begin() + 2);
    return whyCall(cache, call);
  }
  if (verb == "keep" || verb == "warm") {
    words.erase(words.begin());
    absl::Status done = verb == "keep" ? keep(cache, call) : warm(call, calls);
    return done.ok() ? int(kDone) : reportFailure(done);
  }
  if (verb == "ls") {
    listEntries(cache);
  } else if (verb == "verify") {
    DiskCache::Verified v = cache.verify();
    std::cout << v.good << " good, " << v.removed << " damaged and removed\n";
    if (v.stuck)
      return reportFailure(
          absl::PermissionDeniedError(absl::StrCat(v.stuck, " damaged and not removed: ", cache.path(), " cannot be written")));
    return v.removed ? kFailed : kDone;
  } else {
    DiskCache::Pruned p = verb == "clear" ? cache.clear() : cache.prune(bytes);
    std::cout << p.removed << " removed\n";
    if (p.stuck)
      return reportFailure(absl::PermissionDeniedError(absl::StrCat(p.stuck, " not removed: ", cache.path(), " cannot be written")));
  }
  return kDone;
}

} // namespace

int cacheCommand(const std::vector<std::string> &args) {
  CallOptions call;
  call.device = "cpu"; // nothing runs
  call.diskCache = call.runs = false;
  std::string size;
  std::vector<std::string> likes;
  Options options("cache",
                  "ls | why KERNEL [FILE.kc [NAME=VALUE ...]] | warm FILE.kc [NAME=VALUE ...] [--like SIZE=N,..] | keep FILE.kc "
                  "[NAME=VALUE ...] --schedule FILE | "
                  "verify | prune | clear | path",
                  "Looks after the cache of compiled kernels. 'why' prints the parts of a kernel's keys; with a file it says whether\n"
                  "a call with these arguments would be a hit, and if not, what differs from the nearest entry. 'warm' compiles ahead\n"
                  "what a call with these arguments needs, of tensors of the sizes of --like. 'keep' puts a schedule there that 'kernelc "
                  "tune' has found elsewhere, for calls with\n"
                  "these arguments.");
  options.value("--to", size, "SIZE", "prune: leave at most so much (500M, 2G)")
      .list("--like", likes, "SIZE=N,..", "the sizes of a call, which stay open in the kernel; warm: once for each call to compile for");
  call.add(options);
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (std::string mistake = findMistake(call.positionals); !mistake.empty())
    return options.usageError(mistake);
  std::optional<int64_t> bytes = size.empty() ? std::optional<int64_t>(-1) : DiskCache::parseSize(size);
  if (!bytes)
    return options.usageError("--to takes a size such as 500M");
  std::vector<std::vector<NamedSize>> calls;
  for (const std::string &like : likes) {
    absl::StatusOr<std::vector<NamedSize>> sizes = parseLike(like);
    if (!sizes.ok())
      return options.usageError(std::string(sizes.status().message()));
    calls.push_back(*std::move(sizes));
  }
  const std::string &verb = call.positionals[0];
  if (calls.size() > 1 && verb != "warm")
    return options.usageError(verb + " takes one --like");
  if (!calls.empty() && verb != "warm" && verb != "keep" && (verb != "why" || call.positionals.size() == 2))
    return options.usageError("--like belongs to warm, keep and why FILE.kc");
  std::unique_ptr<DiskCache> cache = DiskCache::open();
  return runVerb(*cache, call, *bytes, calls);
}

} // namespace kernelc::tools
