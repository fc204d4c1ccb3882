// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cache in a folder of its own, and a collector of warnings.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "runtime/DiskCache.h"

namespace kernelc {

class CacheFixture : public testing::Test {
protected:
  using Kind = DiskCache::Kind;
  void SetUp() override {
    // A developer's own settings must not reach the tests.
    for (const char *v : {"KERNELC_CACHE_DIR", "KERNELC_CACHE_SIZE", "XDG_CACHE_HOME"})
      unsetenv(v);
    char name[] = "/tmp/kernelc-cache-test-XXXXXX";
    top = mkdtemp(name);
    path = top / "cache";
  }
  void TearDown() override { std::filesystem::remove_all(top); }

  std::unique_ptr<DiskCache> open(int64_t maxBytes = 1 << 30) {
    return DiskCache::open({path.string(), maxBytes, [this](const std::string &w) { warnings.push_back(w); }});
  }
  static CacheKey key(const std::string &name) { return CacheKey().add("text", name).add("target", "sm_90a"); }
  std::filesystem::path fileOf(const CacheKey &key, const char *kind = "content") const {
    std::string hash = key.hash();
    return path / "v2" / kind / hash.substr(0, 2) / hash;
  }
  static std::string slurp(const std::filesystem::path &p) {
    std::ifstream in(p, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  static void spill(const std::filesystem::path &p, const std::string &bytes) {
    std::ofstream(p, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::filesystem::path top, path;
  std::vector<std::string> warnings;
};

} // namespace kernelc
