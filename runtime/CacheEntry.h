// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One entry of the disk cache as bytes: the parts of its key, notes, payload and a
// checksum over all of it, in one file, so that it is published and read as a unit.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace kernelc {

/// What a result depends on, part by part. Long values are kept as their digest.
class CacheKey {
public:
  using Part = std::pair<std::string, std::string>;
  /// Adds a part; the order counts.
  CacheKey &add(absl::string_view name, absl::string_view value);
  /// Adds something for people (a kernel's name), which is not part of the key.
  CacheKey &note(absl::string_view name, absl::string_view value);

  const std::vector<Part> &parts() const { return parts_; }
  const std::vector<Part> &notes() const { return notes_; }
  /// 64 hexadecimal digits over all parts.
  std::string hash() const;

  /// The request key: source text, options, target, and the build of kernelc.
  static CacheKey request(absl::string_view text, absl::string_view options, absl::string_view target, absl::string_view build);
  /// What a part keeps of its value: the value, or a digest of a long one.
  static std::string shorten(absl::string_view value);
  /// The content key: CUDA text (or what a part keeps of it), target, NVRTC options, its version and build.
  static CacheKey content(absl::string_view cudaText, absl::string_view target, absl::string_view options, absl::string_view nvrtcVersion,
                          absl::string_view nvrtcBuild);

private:
  friend struct CacheEntry;
  std::vector<Part> parts_, notes_;
};

struct CacheEntry {
  CacheKey key;
  std::string payload;

  std::string encode() const;
  /// Nothing when any byte is wrong, missing or too many.
  static std::optional<CacheEntry> decode(absl::string_view bytes);
};

} // namespace kernelc
