// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/DiskCache.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <random>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "runtime/CompileProcess.h"
#include "support/CompileUnits.h"

namespace kernelc {
namespace {

constexpr int64_t kDefaultBytes = int64_t(2) << 30;
constexpr uint64_t kMaxEntryBytes = uint64_t(256) << 20;
constexpr DiskCache::Kind kKinds[] = {DiskCache::Kind::Request, DiskCache::Kind::Content, DiskCache::Kind::Host, DiskCache::Kind::Tuning};

const char *kindName(DiskCache::Kind kind) {
  static constexpr const char *kNames[] = {"request", "content", "host", "tuning"};
  return kNames[size_t(kind)];
}

/// A name no other process or thread uses.
std::string temporaryName() {
  static std::atomic<uint64_t> counter{0};
  std::random_device random;
  return absl::StrCat(getpid(), "-", absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8), "-", counter++);
}

const char *environment(const char *name) {
  const char *value = std::getenv(name);
  return value && *value ? value : nullptr;
}

} // namespace

std::string DiskCache::defaultPath() {
  if (const char *dir = environment("KERNELC_CACHE_DIR"))
    return dir;
  // A relative XDG_CACHE_HOME is to be ignored, says its specification.
  if (const char *xdg = environment("XDG_CACHE_HOME"); xdg && xdg[0] == '/')
    return absl::StrCat(xdg, "/kernelc");
  if (const char *home = environment("HOME"); home && home[0] == '/')
    return absl::StrCat(home, "/.cache/kernelc");
  return "";
}

bool DiskCache::mayHold(Kind kind, std::string path) {
  if (path.empty())
    path = defaultPath();
  return !path.empty() && ::access(absl::StrCat(path, "/v2/", kindName(kind)).c_str(), F_OK) == 0;
}

std::optional<int64_t> DiskCache::parseSize(absl::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
    case 'k':
    case 'K': shift = 10; break;
    case 'm':
    case 'M': shift = 20; break;
    case 'g':
    case 'G': shift = 30; break;
    default: break;
    }
  }
  if (shift)
    text.remove_suffix(1);
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0 || value > (int64_t(1) << 50) >> shift)
    return std::nullopt;
  return value << shift;
}

void DiskCache::warnOnce(const std::string &text) {
  if (warned_.exchange(true))
    return;
  if (warn_)
    warn_(text);
  else
    std::fprintf(stderr, "kernelc: warning: %s\n", text.c_str());
}

std::unique_ptr<DiskCache> DiskCache::open(Options options) {
  std::unique_ptr<DiskCache> cache(new DiskCache);
  cache->warn_ = std::move(options.warn);
  cache->path_ = options.path.empty() ? defaultPath() : options.path;
  cache->maxBytes_ = options.maxBytes >= 0 ? options.maxBytes : kDefaultBytes;
  if (const char *size = environment("KERNELC_CACHE_SIZE"); size && options.maxBytes < 0) {
    if (auto parsed = parseSize(size))
      cache->maxBytes_ = *parsed;
    else
      cache->warnOnce(absl::StrCat("KERNELC_CACHE_SIZE='", size, "' is no size such as 500M or 2G; using the default"));
  }
  auto off = [&](std::string why, bool warn) {
    cache->reason_ = std::move(why);
    if (warn)
      cache->warnOnce(absl::StrCat("running without the kernel cache: ", cache->reason_));
    return std::move(cache);
  };
  if (cache->maxBytes_ == 0)
    return off("its size is set to 0", false);
  if (cache->path_.empty())
    return off("neither KERNELC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set", true);
  absl::StatusOr<PrivateDir> top = PrivateDir::open(cache->path_, /*create=*/true);
  absl::StatusOr<PrivateDir> root = top.ok() ? top->sub("v2", /*create=*/true) : top.status();
  if (!root.ok())
    return off(std::string(root.status().message()), true);
  cache->root_.emplace(std::move(*root));
  return cache;
}

absl::StatusOr<PrivateDir> DiskCache::shard(Kind kind, const std::string &hash, bool create) const {
  absl::StatusOr<PrivateDir> dir = root_->sub(kindName(kind), create);
  return dir.ok() ? dir->sub(hash.substr(0, 2), create) : dir.status();
}

std::optional<std::string> DiskCache::lookUp(Kind kind, const CacheKey &key) {
  std::optional<std::string> payload = find(kind, key);
  counters_.hits += payload.has_value();
  return payload;
}

std::optional<std::string> DiskCache::get(Kind kind, const CacheKey &key) {
  std::optional<std::string> payload = lookUp(kind, key);
  counters_.misses += !payload;
  return payload;
}

std::optional<std::string> DiskCache::find(Kind kind, const CacheKey &key) {
  if (!enabled())
    return std::nullopt;
  std::string hash = key.hash();
  absl::StatusOr<PrivateDir> dir = shard(kind, hash, /*create=*/false);
  absl::StatusOr<std::string> bytes = dir.ok() ? dir->read(hash, kMaxEntryBytes, /*touch=*/true) : dir.status();
  if (absl::IsNotFound(bytes.status()))
    return std::nullopt;
  if (!dir.ok() || absl::IsUnavailable(bytes.status())) {
    warnOnce(absl::StrCat("the kernel cache in ", path_, " cannot be read: ", bytes.status().message()));
    return std::nullopt;
  }
  std::optional<CacheEntry> entry = bytes.ok() ? CacheEntry::decode(*bytes) : std::nullopt;
  // The parts are compared too: a renamed file is no hit.
  if (entry && entry->key.parts() == key.parts())
    return std::move(entry->payload);
  // Damaged or planted: take it away, so that the next put heals it.
  ++counters_.damaged;
  dir->remove(hash);
  warnOnce(absl::StrCat("kernel cache: entry ", hash.substr(0, 12), " in ", path_, " was ", bytes.ok() ? "damaged" : "refused",
                        bytes.ok() ? "" : absl::StrCat(" (", bytes.status().message(), ")"),
                        kind == Kind::Tuning ? " and is forgotten" : " and is compiled again"));
  return std::nullopt;
}

absl::Status DiskCache::store(Kind kind, const CacheKey &key, absl::string_view payload) {
  std::string hash = key.hash(), temporary = temporaryName();
  absl::StatusOr<PrivateDir> tmp = root_->sub("tmp", /*create=*/true);
  if (!tmp.ok())
    return tmp.status();
  absl::StatusOr<PrivateDir> dir = shard(kind, hash, /*create=*/true);
  if (!dir.ok())
    return dir.status();
  CacheEntry entry{key, std::string(payload)};
  std::string bytes = entry.encode();
  if (bytes.size() > kMaxEntryBytes || int64_t(bytes.size()) > maxBytes_)
    return absl::OkStatus(); // too large to keep
  if (absl::Status s = tmp->write(temporary, bytes); !s.ok())
    return s;
  if (absl::Status s = tmp->renameTo(temporary, *dir, hash); !s.ok())
    return s;
  ++counters_.stored;

  // Counting the directory costs milliseconds: at the first put, then every 2 %.
  bool due = false;
  {
    absl::MutexLock lock(&pruneMutex_);
    due = sincePrune_ < 0;
    sincePrune_ = std::max<int64_t>(sincePrune_, 0) + int64_t(bytes.size());
    due |= sincePrune_ > maxBytes_ / 50;
    if (due)
      sincePrune_ = 0;
  }
  if (due) {
    removeOldTemporaries();
    prune();
  }
  return absl::OkStatus();
}

void DiskCache::put(Kind kind, const CacheKey &key, absl::string_view payload) {
  if (!enabled())
    return;
  absl::Status s = store(kind, key, payload);
  if (absl::IsResourceExhausted(s)) { // disk full: give back half of ours, try once more
    prune(maxBytes_ / 2);
    s = store(kind, key, payload);
  }
  if (!s.ok())
    warnOnce(absl::StrCat("the kernel cache in ", path_, " cannot be written: ", s.message()));
}

void DiskCache::drop(Kind kind, const CacheKey &key) {
  if (!enabled())
    return;
  std::string hash = key.hash();
  if (absl::StatusOr<PrivateDir> dir = shard(kind, hash, /*create=*/false); dir.ok())
    dir->remove(hash);
}

UniqueFd DiskCache::lock(const std::string &hash, absl::Time deadline, const std::function<bool()> &published) {
  // One byte of one file per key (nearly): open-file-description locks keep threads
  // apart as well as processes, and vanish with their holder. The file stays for ever.
  absl::StatusOr<PrivateDir> dir = root_->sub("lock", /*create=*/true);
  if (!dir.ok())
    return UniqueFd();
  absl::StatusOr<UniqueFd> file = dir->openLock("keys");
  if (!file.ok())
    return UniqueFd();
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = off_t(std::strtoull(hash.substr(0, 15).c_str(), nullptr, 16));
  range.l_len = 1;
  absl::Duration pause = absl::Milliseconds(1);
  while (true) {
    if (fcntl(file->get(), F_OFD_SETLK, &range) == 0)
      return std::move(*file);
    if (errno != EAGAIN && errno != EACCES && errno != EINTR)
      return UniqueFd(); // no locks on this file system
    if (absl::Now() + pause > deadline || published())
      return UniqueFd();
    absl::SleepFor(pause);
    pause = std::min(pause * 2, absl::Milliseconds(50));
  }
}

absl::StatusOr<std::string> DiskCache::getOrCompute(Kind kind, const CacheKey &key,
                                                    const std::function<absl::StatusOr<std::string>()> &compute, absl::Duration deadline,
                                                    const std::atomic<bool> *stop) {
  if (!enabled())
    return compute();
  std::optional<std::string> found = get(kind, key);
  if (found)
    return *found;
  UniqueFd held = lock(key.hash(), absl::Now() + deadline, [&] {
    found = find(kind, key);
    return found.has_value() || (stop && *stop);
  });
  if (!found)
    found = find(kind, key); // the previous holder has published meanwhile
  if (found)
    return *found;
  absl::StatusOr<std::string> fresh = compute();
  if (fresh.ok())
    put(kind, key, *fresh);
  return fresh;
}

/// The payload is the log, a zero byte, the cubin: diagnostics are read from the log again.
static std::string encodeCubin(const Cubin &cubin) {
  return absl::StrCat(absl::string_view(cubin.log).substr(0, cubin.log.find('\0')), absl::string_view("\0", 1), cubin.bytes);
}
static std::optional<Cubin> decodeCubin(absl::string_view payload, absl::string_view text) {
  size_t end = payload.find('\0');
  if (end == std::string::npos)
    return std::nullopt;
  Cubin cubin;
  cubin.log = std::string(payload.substr(0, end));
  cubin.bytes = std::string(payload.substr(end + 1));
  CompileLog log = parseCompileLog(cubin.log, text);
  cubin.diagnostics = std::move(log.diagnostics);
  cubin.kernels = std::move(log.kernels);
  return cubin;
}

static CacheKey namedKey(const Nvrtc &nvrtc, absl::string_view code, absl::string_view arch, const std::vector<std::string> &options) {
  return CacheKey::content(code, arch, absl::StrJoin(options, "\n"), absl::StrCat(nvrtc.version().first, ".", nvrtc.version().second),
                           nvrtc.buildId());
}

CacheKey DiskCache::contentKey(const Nvrtc &nvrtc, absl::string_view text, absl::string_view arch, absl::Span<const std::string> extra) {
  std::vector<std::string> options = Nvrtc::options(arch);
  options.insert(options.end(), extra.begin(), extra.end());
  bool marksCount = std::any_of(options.begin(), options.end(), [](const std::string &o) {
    return o == "-lineinfo" || o == "--generate-line-info" || o == "--device-debug" || o == "-G";
  });
  return namedKey(nvrtc, marksCount ? std::string(text) : codeOf(text), arch, options);
}

std::string DiskCache::nameOfCode(absl::string_view text) { return CacheKey::shorten(codeOf(text)); }

absl::StatusOr<Cubin> DiskCache::compile(const Nvrtc &nvrtc, absl::string_view text, absl::string_view programName, absl::string_view arch,
                                         absl::Span<const std::string> extra, const CompileProcess *process,
                                         const std::atomic<bool> *stop) {
  CacheKey key = contentKey(nvrtc, text, arch, extra);
  key.note("program", programName);
  absl::StatusOr<std::string> payload = getOrCompute(
      Kind::Content, key,
      [&]() -> absl::StatusOr<std::string> {
        absl::StatusOr<Cubin> cubin =
            process ? process->compileToCubin(text, programName, arch, extra, stop) : nvrtc.compileToCubin(text, programName, arch, extra);
        if (!cubin.ok())
          return cubin.status();
        return encodeCubin(*cubin);
      },
      absl::Seconds(30), stop);
  if (!payload.ok())
    return payload.status();
  if (std::optional<Cubin> cubin = decodeCubin(*payload, text))
    return *std::move(cubin);
  return absl::InternalError("the kernel cache returned a payload without a log");
}

void DiskCache::putCubin(const Nvrtc &nvrtc, absl::string_view text, absl::string_view programName, absl::string_view arch,
                         const Cubin &cubin) {
  CacheKey key = contentKey(nvrtc, text, arch);
  key.note("program", programName);
  put(Kind::Content, key, encodeCubin(cubin));
}

std::optional<Cubin> DiskCache::findCubin(const Nvrtc &nvrtc, absl::string_view text, absl::string_view arch,
                                          absl::Span<const std::string> extra) {
  std::optional<std::string> payload = find(Kind::Content, contentKey(nvrtc, text, arch, extra));
  if (!payload)
    return std::nullopt;
  ++counters_.hits;
  return decodeCubin(*payload, text);
}

std::optional<Cubin> DiskCache::findNamedCubin(const Nvrtc &nvrtc, absl::string_view name, absl::string_view arch) {
  std::optional<std::string> payload = find(Kind::Content, namedKey(nvrtc, name, arch, Nvrtc::options(arch)));
  if (!payload)
    return std::nullopt;
  ++counters_.hits;
  return decodeCubin(*payload, "");
}

std::vector<DiskCache::Located> DiskCache::scan() const {
  std::vector<Located> all;
  for (Kind kind : kKinds) {
    absl::StatusOr<PrivateDir> top = enabled() ? root_->sub(kindName(kind), /*create=*/false) : absl::NotFoundError("");
    if (!top.ok())
      continue;
    for (const std::string &name : top->directories())
      if (absl::StatusOr<PrivateDir> dir = top->sub(name, /*create=*/false); dir.ok())
        for (FileFacts &facts : dir->files())
          all.push_back({kind, name, std::move(facts)});
  }
  std::sort(all.begin(), all.end(), [](const Located &a, const Located &b) {
    return std::pair(b.facts.usedNanos, a.facts.name) < std::pair(a.facts.usedNanos, b.facts.name);
  });
  return all;
}

std::vector<DiskCache::EntryInfo> DiskCache::list() const {
  std::vector<EntryInfo> infos;
  for (const Located &l : scan()) {
    EntryInfo info{l.kind, l.shard, l.facts.name, l.facts.bytes, absl::FromUnixNanos(l.facts.usedNanos), {}, true};
    if (absl::StatusOr<PrivateDir> dir = shard(l.kind, l.shard, /*create=*/false); dir.ok())
      if (absl::StatusOr<std::string> bytes = dir->read(l.facts.name, kMaxEntryBytes, /*touch=*/false); bytes.ok())
        if (std::optional<CacheEntry> entry = CacheEntry::decode(*bytes);
            entry && entry->key.hash() == l.facts.name && l.facts.name.substr(0, 2) == l.shard) {
          info.key = std::move(entry->key);
          info.damaged = false;
        }
    infos.push_back(std::move(info));
  }
  return infos;
}

namespace {

/// How `now` differs from `then`, a line per part. Of values of several lines only
/// the lines that differ.
std::vector<std::string> differences(const CacheKey &then, const CacheKey &now) {
  std::vector<std::string> lines;
  const CacheKey::Part none;
  auto only = [](const std::string &a, const std::string &b) {
    std::vector<std::string> kept, others = absl::StrSplit(b, '\n');
    for (const std::string &line : std::vector<std::string>(absl::StrSplit(a, '\n')))
      if (std::find(others.begin(), others.end(), line) == others.end())
        kept.push_back(line);
    return absl::StrJoin(kept, "; ");
  };
  for (size_t i = 0; i < std::max(now.parts().size(), then.parts().size()); ++i) {
    const CacheKey::Part &n = i < now.parts().size() ? now.parts()[i] : none;
    const CacheKey::Part &t = i < then.parts().size() ? then.parts()[i] : none;
    if (n != t)
      lines.push_back(absl::StrCat("  ", n.first.empty() ? t.first : n.first, ": cached '", only(t.second, n.second), "', now '",
                                   only(n.second, t.second), "'"));
  }
  return lines;
}

} // namespace

std::string DiskCache::why(Kind kind, const CacheKey &key) const {
  if (!enabled())
    return absl::StrCat("the cache is off: ", reason_);
  const EntryInfo *nearest = nullptr;
  std::pair<size_t, bool> fewest; // parts that differ, then whether it is of another program
  std::vector<EntryInfo> entries = list();
  for (const EntryInfo &e : entries) {
    if (e.kind != kind || e.damaged)
      continue;
    std::pair<size_t, bool> n = {differences(e.key, key).size(), e.key.notes() != key.notes()};
    if (n.first == 0)
      return absl::StrCat("a hit: entry ", e.hash.substr(0, 12), ", ", e.bytes, " bytes");
    if (!nearest || n < fewest) {
      fewest = n;
      nearest = &e;
    }
  }
  if (!nearest)
    return absl::StrCat("a miss: no ", kindName(kind), " entry is stored");
  return absl::StrCat("a miss; the nearest entry, ", nearest->hash.substr(0, 12), ", differs in\n",
                      absl::StrJoin(differences(nearest->key, key), "\n"));
}

DiskCache::Verified DiskCache::verify() {
  Verified result;
  for (const EntryInfo &e : list()) {
    if (!e.damaged) {
      ++result.good;
      continue;
    }
    absl::StatusOr<PrivateDir> dir = shard(e.kind, e.shard, /*create=*/false);
    ++(dir.ok() && dir->remove(e.hash) ? result.removed : result.stuck);
  }
  return result;
}

DiskCache::Pruned DiskCache::prune(int64_t maxBytes) {
  int64_t total = 0;
  Pruned result;
  if (maxBytes < 0)
    maxBytes = maxBytes_;
  const std::vector<Located> all = scan(); // last used first: what lies past the bound goes
  for (bool tuning : {true, false})
    for (const Located &l : all) {
      if ((l.kind == Kind::Tuning) != tuning)
        continue;
      total += int64_t(l.facts.bytes); // of all that stay before it too: once past the bound, it stays so
      if (total <= maxBytes)
        continue;
      absl::StatusOr<PrivateDir> dir = shard(l.kind, l.shard, /*create=*/false);
      if (!dir.ok() || !dir->remove(l.facts.name)) {
        ++result.stuck;
        continue;
      }
      ++result.removed;
      ++counters_.evicted;
    }
  return result;
}

void DiskCache::removeOldTemporaries() {
  absl::StatusOr<PrivateDir> tmp = root_->sub("tmp", /*create=*/false);
  if (!tmp.ok())
    return;
  // An hour is far beyond any write; what is older was left by a killed process.
  int64_t old = absl::ToUnixNanos(absl::Now() - absl::Hours(1));
  for (const FileFacts &f : tmp->files())
    if (f.usedNanos < old)
      tmp->remove(f.name);
}

} // namespace kernelc
