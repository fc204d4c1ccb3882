// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cache on disk: request -> artifact, content -> cubin, the emulator's builds
// for the host, and what `kernelc tune` has found. Never needed for
// correctness: whatever goes wrong, callers compile instead, and the first trouble
// is said once. Safe among threads and processes; entries are immutable, published
// by rename, checked on every read and removed when damaged. Trusts only files of
// this user that nobody else can write. Locks only save work.
//
//   <root>/v2/{request,content,host,tuning}/ab/<hash>   <root>/v2/{tmp,lock}
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/CacheEntry.h"
#include "runtime/Nvrtc.h"
#include "runtime/PrivateDir.h"

namespace kernelc {

class CompileProcess;

class DiskCache {
public:
  enum class Kind { Request, Content, Host, Tuning };

  struct Options {
    std::string path;                              ///< empty: defaultPath()
    int64_t maxBytes = -1;                         ///< negative: $KERNELC_CACHE_SIZE, else 2 GiB; 0 turns the cache off
    std::function<void(const std::string &)> warn; ///< empty: one line on stderr
  };

  /// $KERNELC_CACHE_DIR, else $XDG_CACHE_HOME/kernelc, else $HOME/.cache/kernelc;
  /// empty when none is set.
  static std::string defaultPath();
  /// Whether a cache in `path` (empty: defaultPath()) may hold entries of a kind. Makes nothing.
  static bool mayHold(Kind kind, std::string path = "");
  /// Bytes from "500M", "2G", "1073741824"; nothing for other text.
  static std::optional<int64_t> parseSize(absl::string_view text);

  /// Never fails: a cache that cannot be used is off, and says why.
  static std::unique_ptr<DiskCache> open(Options options);
  static std::unique_ptr<DiskCache> open() { return open(Options()); }

  bool enabled() const { return root_.has_value(); }
  const std::string &path() const { return path_; }
  /// Why it is off; empty when it is on.
  const std::string &reason() const { return reason_; }
  int64_t maxBytes() const { return maxBytes_; }

  /// The payload stored under `key`, or nothing.
  std::optional<std::string> get(Kind kind, const CacheKey &key);
  /// The same where a miss is not counted: who goes on to make what is missing counts it.
  std::optional<std::string> lookUp(Kind kind, const CacheKey &key);
  void countMiss() { ++counters_.misses; }
  /// Stores; best effort.
  void put(Kind kind, const CacheKey &key, absl::string_view payload);
  /// Forgets an entry, e.g. a cubin that the driver refused.
  void drop(Kind kind, const CacheKey &key);

  /// get(), or else `compute`, then put(). Among processes one computes while the
  /// others wait, at most `deadline` and until `*stop`; then they compute for themselves.
  absl::StatusOr<std::string> getOrCompute(Kind kind, const CacheKey &key, const std::function<absl::StatusOr<std::string>()> &compute,
                                           absl::Duration deadline = absl::Seconds(30), const std::atomic<bool> *stop = nullptr);
  /// compileToCubin() through the cache, diagnostics included; in `process`, if given
  /// (then `nvrtc` only says which version and build that is), until `*stop`.
  absl::StatusOr<Cubin> compile(const Nvrtc &nvrtc, absl::string_view text, absl::string_view programName, absl::string_view arch,
                                absl::Span<const std::string> extra = {}, const CompileProcess *process = nullptr,
                                const std::atomic<bool> *stop = nullptr);
  /// What compile() would find without compiling; counts a hit, and leaves the count of misses to compile().
  std::optional<Cubin> findCubin(const Nvrtc &nvrtc, absl::string_view text, absl::string_view arch,
                                 absl::Span<const std::string> extra = {});
  /// The same of a text of which only the name is known.
  std::optional<Cubin> findNamedCubin(const Nvrtc &nvrtc, absl::string_view name, absl::string_view arch);
  /// The name of a text's code in keys: of two texts of one name one code is kept.
  static std::string nameOfCode(absl::string_view text);
  /// Stores what was compiled elsewhere, where compile() and findCubin() find it.
  void putCubin(const Nvrtc &nvrtc, absl::string_view text, absl::string_view programName, absl::string_view arch, const Cubin &cubin);
  /// The key of that: comments and `#line` marks count only where they reach the cubin (-lineinfo).
  static CacheKey contentKey(const Nvrtc &nvrtc, absl::string_view text, absl::string_view arch, absl::Span<const std::string> extra = {});

  struct EntryInfo {
    Kind kind;
    std::string shard, hash; ///< folder and file name
    uint64_t bytes;
    absl::Time lastUse;
    CacheKey key; ///< parts and notes; empty when the entry is damaged
    bool damaged = false;
  };
  /// All entries, last used first.
  std::vector<EntryInfo> list() const;
  /// Why get(kind, key) would miss, for people: which parts differ from the nearest entry.
  std::string why(Kind kind, const CacheKey &key) const;
  struct Verified {
    int good = 0, removed = 0, stuck = 0; ///< stuck: damaged, and could not be removed
  };
  /// Reads every entry; removes damaged ones.
  Verified verify();
  struct Pruned {
    int removed = 0, stuck = 0; ///< stuck: could not be removed
  };
  /// Removes least recently used entries until at most `maxBytes` are left
  /// (negative: the cache's own bound); those that tune has made last, since nothing makes them again by itself.
  Pruned prune(int64_t maxBytes = -1);
  /// Removes all entries.
  Pruned clear() { return prune(0); }

  struct Counters {
    std::atomic<int64_t> hits{0}, misses{0}, damaged{0}, stored{0}, evicted{0};
  };
  const Counters &counters() const { return counters_; }

private:
  struct Located {
    Kind kind;
    std::string shard;
    FileFacts facts;
  };
  DiskCache() = default;
  void warnOnce(const std::string &text);
  std::optional<std::string> find(Kind kind, const CacheKey &key);
  absl::StatusOr<PrivateDir> shard(Kind kind, const std::string &hash, bool create) const;
  std::vector<Located> scan() const;
  void removeOldTemporaries();
  absl::Status store(Kind kind, const CacheKey &key, absl::string_view payload);
  UniqueFd lock(const std::string &hash, absl::Time deadline, const std::function<bool()> &published);

  std::string path_, reason_;
  int64_t maxBytes_ = 0;
  std::function<void(const std::string &)> warn_;
  std::optional<PrivateDir> root_;
  std::atomic<bool> warned_{false};
  Counters counters_;
  absl::Mutex pruneMutex_;
  int64_t sincePrune_ ABSL_GUARDED_BY(pruneMutex_) = -1; ///< bytes stored; -1: not yet counted
};

} // namespace kernelc
