// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The disk cache in one process: keys, integrity, hostile directories, bounds.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fcntl.h>

#include "support/Checksum.h"
#include "support/StableHash.h"
#include "test/runtime/CacheFixture.h"

namespace kernelc {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using DiskCacheTest = CacheFixture;

TEST_F(DiskCacheTest, StoresAndFinds) {
  auto cache = open();
  ASSERT_TRUE(cache->enabled()) << cache->reason();
  EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt);
  std::string payload("cubin\0bytes", 11);
  cache->put(Kind::Content, key("a"), payload);
  EXPECT_EQ(cache->get(Kind::Content, key("a")), payload);
  EXPECT_EQ(cache->get(Kind::Request, key("a")), std::nullopt) << "kinds are apart";
  EXPECT_EQ(open()->get(Kind::Content, key("a")), payload) << "another process finds it";
  cache->put(Kind::Content, key("a"), "newer");
  EXPECT_EQ(cache->get(Kind::Content, key("a")), "newer");
  cache->drop(Kind::Content, key("a"));
  EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt);
  EXPECT_EQ(cache->counters().hits, 2);
  EXPECT_EQ(cache->counters().misses, 3);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(DiskCacheTest, EmptyPayload) {
  auto cache = open();
  cache->put(Kind::Request, key("e"), "");
  EXPECT_EQ(cache->get(Kind::Request, key("e")), "");
}

TEST_F(DiskCacheTest, FilesArePrivate) {
  auto cache = open();
  cache->put(Kind::Content, key("a"), "x");
  struct stat st;
  ASSERT_EQ(stat(fileOf(key("a")).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  for (fs::path p = fileOf(key("a")).parent_path(); p != top; p = p.parent_path()) {
    ASSERT_EQ(stat(p.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0700u) << p;
  }
  EXPECT_THAT(std::distance(fs::directory_iterator(path / "v2" / "tmp"), {}), 0) << "no temporary is left";
}

TEST(CacheKeyTest, EveryPartCounts) {
  std::vector<CacheKey> keys = {CacheKey::content("text", "sm_90a", "-a", "13.0", "b1"),
                                CacheKey::content("text2", "sm_90a", "-a", "13.0", "b1"),
                                CacheKey::content("text", "sm_90", "-a", "13.0", "b1"),
                                CacheKey::content("text", "sm_90a", "-b", "13.0", "b1"),
                                CacheKey::content("text", "sm_90a", "-a", "13.1", "b1"),
                                CacheKey::content("text", "sm_90a", "-a", "13.0", "b2"),
                                CacheKey::request("text", "-a", "sm_90a", "b1"),
                                CacheKey::request("text", "-a", "sm_90a", "b2"),
                                CacheKey::request("text", "-b", "sm_90a", "b1"),
                                CacheKey::request("text", "-a", "sm_80", "b1"),
                                CacheKey().add("ab", "c"),
                                CacheKey().add("a", "bc"),
                                CacheKey().add("a", "b").add("c", "")};
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(keys[i].hash(), keys[j].hash()) << i << " " << j;
  std::string longText(10000, 'x'), other = longText;
  other[9999] = 'y';
  EXPECT_NE(CacheKey().add("t", longText).hash(), CacheKey().add("t", other).hash());
  EXPECT_EQ(CacheKey().add("t", "1").note("kernel", "f").hash(), CacheKey().add("t", "1").hash()) << "notes do not count";
}

TEST(CacheKeyTest, HashesAreStable) {
  // A change here means that every user's cache starts anew: do it knowingly.
  EXPECT_EQ(CacheKey().add("text", "a").add("target", "sm_90a").hash(),
            StableHash().add("text").add("a").add("target").add("sm_90a").hex());
}

TEST_F(DiskCacheTest, EveryFlippedByteIsDetectedAndHealed) {
  auto cache = open();
  CacheKey k = key("flip").note("kernel", "f");
  cache->put(Kind::Content, k, "some payload bytes");
  const std::string good = slurp(fileOf(k));
  ASSERT_GT(good.size(), 100u);
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit : {0, 7}) {
      std::string bad = good;
      bad[i] = char(bad[i] ^ (1 << bit));
      spill(fileOf(k), bad);
      ASSERT_EQ(cache->get(Kind::Content, k), std::nullopt) << "byte " << i;
      ASSERT_FALSE(fs::exists(fileOf(k))) << "the damaged entry is gone";
    }
  }
  EXPECT_EQ(cache->counters().damaged, int64_t(2 * good.size()));
  cache->put(Kind::Content, k, "some payload bytes");
  EXPECT_EQ(cache->get(Kind::Content, k), "some payload bytes");
  EXPECT_THAT(warnings, SizeIs(1)) << "said once";
}

TEST_F(DiskCacheTest, EveryTruncationAndExtensionIsDetected) {
  auto cache = open();
  CacheKey k = key("cut");
  cache->put(Kind::Content, k, "payload");
  const std::string good = slurp(fileOf(k));
  for (size_t n = 0; n < good.size(); ++n) {
    spill(fileOf(k), good.substr(0, n));
    ASSERT_EQ(cache->get(Kind::Content, k), std::nullopt) << n;
  }
  spill(fileOf(k), good + '\0');
  EXPECT_EQ(cache->get(Kind::Content, k), std::nullopt);
  spill(fileOf(k), std::string(good.size(), '\0'));
  EXPECT_EQ(cache->get(Kind::Content, k), std::nullopt);
}

TEST_F(DiskCacheTest, AValidEntryUnderAnotherNameIsNoHit) {
  auto cache = open();
  cache->put(Kind::Content, key("a"), "for a");
  cache->put(Kind::Content, key("b"), "for b");
  spill(fileOf(key("b")), slurp(fileOf(key("a"))));
  EXPECT_EQ(cache->get(Kind::Content, key("b")), std::nullopt);
}

TEST(CacheEntryTest, HugeLengthsAreRefused) {
  CacheEntry e{CacheKey().add("a", "b"), "payload"};
  std::string good = e.encode();
  // Lengths with a right checksum: only the framing is wrong.
  for (size_t at = 16; at + 8 + sizeof(Checksum) <= good.size(); ++at) {
    std::string bad = good.substr(0, good.size() - sizeof(Checksum));
    for (int i = 0; i < 8; ++i)
      bad[at + i] = '\xff';
    Checksum sum = checksumOf(bad);
    bad.append(reinterpret_cast<const char *>(sum.data()), sum.size());
    if (auto decoded = CacheEntry::decode(bad)) // a change inside a string is legal
      EXPECT_EQ(decoded->encode(), bad);
  }
}

TEST_F(DiskCacheTest, SymlinkedRootIsRefused) {
  fs::create_directory(top / "elsewhere");
  fs::create_directory_symlink(top / "elsewhere", path);
  auto cache = open();
  EXPECT_FALSE(cache->enabled());
  EXPECT_THAT(cache->reason(), HasSubstr("symbolic link"));
  cache->put(Kind::Content, key("a"), "x");
  EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt);
  EXPECT_TRUE(fs::is_empty(top / "elsewhere"));
  EXPECT_THAT(warnings, SizeIs(1));
}

TEST_F(DiskCacheTest, SymlinkedFoldersAreNotFollowed) {
  for (const char *folder : {"v2/content", "v2/tmp"}) {
    fs::remove_all(path);
    fs::remove_all(top / "elsewhere");
    fs::create_directory(top / "elsewhere");
    fs::create_directories(path / "v2");
    fs::permissions(path, fs::perms::owner_all);
    fs::permissions(path / "v2", fs::perms::owner_all);
    fs::create_directory_symlink(top / "elsewhere", path / folder);
    auto cache = open();
    cache->put(Kind::Content, key("a"), "x");
    EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt) << folder;
    EXPECT_TRUE(fs::is_empty(top / "elsewhere")) << folder;
  }
}

TEST_F(DiskCacheTest, SymlinkedEntryIsNeitherReadNorWrittenThrough) {
  auto cache = open();
  cache->put(Kind::Content, key("a"), "mine");
  fs::path file = fileOf(key("a")), target = top / "victim";
  fs::copy(file, target);
  std::string before = slurp(target);
  fs::remove(file);
  fs::create_symlink(target, file);
  EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt);
  fs::remove(file);
  fs::create_symlink(target, file);
  cache->put(Kind::Content, key("a"), "new");
  EXPECT_EQ(slurp(target), before);
  EXPECT_EQ(cache->get(Kind::Content, key("a")), "new");
}

TEST_F(DiskCacheTest, HardLinksFifosAndFoldersAreRefused) {
  auto cache = open();
  cache->put(Kind::Content, key("a"), "mine");
  fs::create_hard_link(fileOf(key("a")), top / "second");
  EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt);
  ASSERT_EQ(mkfifo(fileOf(key("a")).c_str(), 0600), 0);
  EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt) << "and does not hang";
  fs::create_directory(fileOf(key("a")));
  EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt);
  cache->put(Kind::Content, key("a"), "x"); // cannot replace a folder
  EXPECT_EQ(cache->get(Kind::Content, key("a")), std::nullopt);
}

TEST_F(DiskCacheTest, WritableByOthersIsRefused) {
  {
    open()->put(Kind::Content, key("a"), "x");
  }
  fs::permissions(fileOf(key("a")), fs::perms::group_write, fs::perm_options::add);
  EXPECT_EQ(open()->get(Kind::Content, key("a")), std::nullopt);
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  auto cache = open();
  EXPECT_FALSE(cache->enabled());
  EXPECT_THAT(cache->reason(), HasSubstr("chmod go-w"));
}

TEST_F(DiskCacheTest, ForeignOwnersAreRefused) {
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root to give files away";
  {
    open()->put(Kind::Content, key("a"), "x");
  }
  ASSERT_EQ(chown(fileOf(key("a")).c_str(), 65534, 65534), 0);
  EXPECT_EQ(open()->get(Kind::Content, key("a")), std::nullopt);
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  auto cache = open();
  EXPECT_FALSE(cache->enabled());
  EXPECT_THAT(cache->reason(), HasSubstr("belongs to another user"));
}

/// Runs `body` in a child without root's privileges, owning `top`.
template <typename Body> int inPlainUser(const fs::path &top, Body body) {
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0) {
      for (const auto &e : fs::recursive_directory_iterator(top))
        (void)!lchown(e.path().c_str(), 65534, 65534);
      if (chown(top.c_str(), 65534, 65534) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
        _exit(99);
    }
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST_F(DiskCacheTest, ReadOnlyCacheStillReads) {
  {
    open()->put(Kind::Content, key("a"), "x");
  }
  int failed = inPlainUser(top, [&] {
    for (const auto &e : fs::recursive_directory_iterator(path))
      if (e.is_directory())
        fs::permissions(e.path(), fs::perms::owner_read | fs::perms::owner_exec);
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_exec);
    auto cache = open();
    if (!cache->enabled() || cache->get(Kind::Content, key("a")) != "x")
      return 1;
    for (int i = 0; i < 3; ++i) // a new shard, and the old one
      cache->put(Kind::Content, key(std::to_string(i)), "y");
    cache->put(Kind::Content, key("a"), "z");
    if (cache->get(Kind::Content, key("a")) != "x")
      return 2;
    auto r = cache->getOrCompute(Kind::Content, key("b"), [] { return std::string("computed"); });
    if (!r.ok() || *r != "computed")
      return 3;
    for (const auto &e : fs::recursive_directory_iterator(path))
      if (e.is_directory())
        fs::permissions(e.path(), fs::perms::owner_all);
    return warnings.size() == 1 ? 0 : 4;
  });
  EXPECT_EQ(failed, 0);
  fs::permissions(path, fs::perms::owner_all);
}

TEST_F(DiskCacheTest, UnwritableParent) {
  int failed = inPlainUser(top, [&] {
    fs::permissions(top, fs::perms::owner_read | fs::perms::owner_exec);
    auto cache = open();
    int result = cache->enabled() ? 1 : warnings.size() != 1 ? 2 : 0;
    auto r = cache->getOrCompute(Kind::Content, key("b"), [] { return std::string("computed"); });
    fs::permissions(top, fs::perms::owner_all);
    return result ? result : !r.ok();
  });
  EXPECT_EQ(failed, 0);
}

TEST_F(DiskCacheTest, FullDiskWarnsOnceAndLeavesNothing) {
  pid_t child = fork();
  if (child == 0) {
    // A file-size limit makes write() fail half way, as a full disk does.
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto cache = open();
    for (int i = 0; i < 3; ++i)
      cache->put(Kind::Content, key(std::to_string(i)), std::string(5000, 'x'));
    bool ok = warnings.size() == 1 && cache->get(Kind::Content, key("0")) == std::nullopt && fs::is_empty(path / "v2" / "tmp") &&
              cache->list().empty();
    cache->put(Kind::Content, key("small"), "fits");
    _exit(ok && cache->get(Kind::Content, key("small")) == "fits" ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(DiskCacheTest, WhereItLives) {
  std::string home = getenv("HOME") ? getenv("HOME") : "";
  setenv("HOME", "/home/x", 1);
  EXPECT_EQ(DiskCache::defaultPath(), "/home/x/.cache/kernelc");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(DiskCache::defaultPath(), "/xdg/kernelc");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(DiskCache::defaultPath(), "/home/x/.cache/kernelc");
  setenv("KERNELC_CACHE_DIR", "/k", 1);
  EXPECT_EQ(DiskCache::defaultPath(), "/k");
  for (const char *v : {"KERNELC_CACHE_DIR", "XDG_CACHE_HOME", "HOME"})
    unsetenv(v);
  EXPECT_EQ(DiskCache::defaultPath(), "");
  auto cache = DiskCache::open({"", 1 << 20, [this](const std::string &w) { warnings.push_back(w); }});
  EXPECT_FALSE(cache->enabled());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("neither KERNELC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set")));
  setenv("HOME", home.c_str(), 1);
}

TEST_F(DiskCacheTest, SizesParse) {
  EXPECT_EQ(DiskCache::parseSize("100"), 100);
  EXPECT_EQ(DiskCache::parseSize("2K"), 2048);
  EXPECT_EQ(DiskCache::parseSize("500M"), int64_t(500) << 20);
  EXPECT_EQ(DiskCache::parseSize("3g"), int64_t(3) << 30);
  for (const char *bad : {"", "G", "-1", "1T", "x", "99999999999G", "1.5G"})
    EXPECT_EQ(DiskCache::parseSize(bad), std::nullopt) << bad;
  setenv("KERNELC_CACHE_SIZE", "0", 1);
  EXPECT_FALSE(open(-1)->enabled());
  EXPECT_THAT(warnings, IsEmpty()) << "it was asked for";
  setenv("KERNELC_CACHE_SIZE", "many", 1);
  EXPECT_TRUE(open(-1)->enabled());
  EXPECT_THAT(warnings, SizeIs(1));
  setenv("KERNELC_CACHE_SIZE", "7M", 1);
  EXPECT_EQ(open(-1)->maxBytes(), 7 << 20);
  unsetenv("KERNELC_CACHE_SIZE");
}

TEST_F(DiskCacheTest, LeastRecentlyUsedGoesFirst) {
  auto cache = open();
  for (const char *name : {"a", "b", "c", "d"})
    cache->put(Kind::Content, key(name), std::string(1000, 'x'));
  uint64_t each = fs::file_size(fileOf(key("a")));
  // Times of use: b oldest, then d, a, c.
  int age = 40;
  for (const char *name : {"b", "d", "a", "c"}) {
    timespec t[2] = {{0, UTIME_OMIT}, {time(nullptr) - age--, 0}};
    utimensat(AT_FDCWD, fileOf(key(name)).c_str(), t, 0);
  }
  EXPECT_TRUE(cache->get(Kind::Content, key("b"))) << "a read makes it recent";
  EXPECT_EQ(cache->prune(int64_t(2 * each)).removed, 2);
  EXPECT_TRUE(cache->get(Kind::Content, key("b")));
  EXPECT_TRUE(cache->get(Kind::Content, key("c")));
  EXPECT_FALSE(cache->get(Kind::Content, key("a")));
  EXPECT_FALSE(cache->get(Kind::Content, key("d")));
}

TEST_F(DiskCacheTest, WhatNothingMakesAgainGoesLast) {
  auto cache = open();
  EXPECT_FALSE(DiskCache::mayHold(Kind::Tuning, cache->path()));
  cache->put(Kind::Tuning, key("found"), std::string(1000, 'x'));
  EXPECT_TRUE(DiskCache::mayHold(Kind::Tuning, cache->path()));
  for (const char *name : {"a", "b", "c"})
    cache->put(Kind::Content, key(name), std::string(1000, 'x'));
  uint64_t each = fs::file_size(fileOf(key("a")));
  EXPECT_EQ(cache->prune(int64_t(each + each / 2)).removed, 3);
  EXPECT_TRUE(cache->get(Kind::Tuning, key("found")));
  EXPECT_EQ(cache->clear().removed, 1);
}

TEST_F(DiskCacheTest, StaysWithinItsBound) {
  const int64_t bound = 200000;
  auto cache = open(bound);
  for (int i = 0; i < 100; ++i) {
    cache->put(Kind::Content, key(std::to_string(i)), std::string(4000, 'x'));
    int64_t total = 0;
    for (const auto &e : cache->list())
      total += int64_t(e.bytes);
    ASSERT_LE(total, bound * 105 / 100) << i;
  }
  EXPECT_TRUE(cache->get(Kind::Content, key("99")));
  EXPECT_GT(cache->counters().evicted, 40);
  cache->put(Kind::Content, key("huge"), std::string(bound + 1, 'x'));
  EXPECT_FALSE(cache->get(Kind::Content, key("huge"))) << "larger than the whole cache";
}

TEST_F(DiskCacheTest, ListVerifyClear) {
  auto cache = open();
  cache->put(Kind::Content, key("a").note("kernel", "softmax"), "x");
  cache->put(Kind::Request, key("b"), "y");
  auto entries = cache->list();
  ASSERT_THAT(entries, SizeIs(2));
  for (const auto &e : entries)
    if (e.kind == Kind::Content) {
      EXPECT_THAT(e.key.notes(), ElementsAre(testing::Pair("kernel", "softmax")));
    }
  spill(fileOf(key("b"), "request"), "junk");
  fs::create_directories(path / "v2/content/zz");
  spill(path / "v2/content/zz/stray", "junk");
  fs::permissions(path / "v2/content/zz", fs::perms::owner_all);
  auto v = cache->verify();
  EXPECT_EQ(v.good, 1);
  EXPECT_EQ(v.removed, 2);
  EXPECT_EQ(cache->clear().removed, 1);
  EXPECT_THAT(cache->list(), IsEmpty());
}

TEST_F(DiskCacheTest, SaysWhatItCannotRemove) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  auto cache = open();
  cache->put(Kind::Request, key("a"), "value");
  fs::path shard = fileOf(key("a"), "request").parent_path();
  fs::permissions(shard, fs::perms::owner_read | fs::perms::owner_exec);
  DiskCache::Pruned p = cache->clear();
  fs::permissions(shard, fs::perms::owner_all);
  EXPECT_EQ(p.removed, 0);
  EXPECT_EQ(p.stuck, 1);
  EXPECT_THAT(cache->list(), SizeIs(1));
}

TEST_F(DiskCacheTest, WhyExplainsAMiss) {
  auto cache = open();
  CacheKey stored = CacheKey::content("text", "sm_90a", "-a", "13.0", "build1");
  EXPECT_EQ(cache->why(Kind::Content, stored), "a miss: no content entry is stored");
  cache->put(Kind::Content, stored, "x");
  cache->put(Kind::Content, CacheKey::content("other", "sm_80", "-b", "12.8", "build0"), "y");
  EXPECT_THAT(cache->why(Kind::Content, stored), HasSubstr("a hit"));
  std::string why = cache->why(Kind::Content, CacheKey::content("text", "sm_90a", "-a", "13.1", "build2"));
  EXPECT_THAT(why, HasSubstr("NVRTC version: cached '13.0', now '13.1'"));
  EXPECT_THAT(why, HasSubstr("NVRTC build: cached 'build1', now 'build2'"));
  EXPECT_THAT(why, testing::Not(HasSubstr("target")));
}

TEST_F(DiskCacheTest, ComputesOnceAndDoesNotStoreFailures) {
  auto cache = open();
  int calls = 0;
  auto fail = cache->getOrCompute(Kind::Content, key("a"), [&]() -> absl::StatusOr<std::string> {
    ++calls;
    return absl::InvalidArgumentError("no");
  });
  EXPECT_FALSE(fail.ok());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(*cache->getOrCompute(Kind::Content, key("a"),
                                   [&]() -> absl::StatusOr<std::string> {
                                     ++calls;
                                     return std::string("yes");
                                   }),
              "yes");
  EXPECT_EQ(calls, 2);
}

TEST_F(DiskCacheTest, OldTemporariesAreSwept) {
  {
    open()->put(Kind::Content, key("a"), "x");
  }
  spill(path / "v2/tmp/dead", "x");
  spill(path / "v2/tmp/young", "x");
  timespec t[2] = {{0, UTIME_OMIT}, {time(nullptr) - 7200, 0}};
  utimensat(AT_FDCWD, (path / "v2/tmp/dead").c_str(), t, 0);
  open()->put(Kind::Content, key("b"), "x");
  EXPECT_FALSE(fs::exists(path / "v2/tmp/dead"));
  EXPECT_TRUE(fs::exists(path / "v2/tmp/young"));
}

} // namespace
} // namespace kernelc
