// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files as a whole, with errors as statuses. Knows no format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kernelc {

/// An open file that is read from; closes itself.
class InputFile {
public:
  static absl::StatusOr<InputFile> open(const std::string &path);
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) = delete;
  ~InputFile();
  /// Size when it was opened.
  uint64_t size() const { return size_; }
  /// Reads exactly `bytes` at `offset`; a shorter file is an error.
  absl::Status read(uint64_t offset, void *to, size_t bytes) const;
  const std::string &path() const { return path_; }

private:
  InputFile(int fd, uint64_t size, std::string path) : fd_(fd), size_(size), path_(std::move(path)) {}
  int fd_;
  uint64_t size_;
  std::string path_;
};

/// Where a file's new contents go.
class OutputFile {
public:
  explicit OutputFile(int fd, const std::string &path) : fd_(fd), path_(path) {}
  absl::Status write(const void *data, size_t bytes);

private:
  int fd_;
  const std::string &path_;
};

/// Replaces `path` by what `fill` writes: into a temporary name beside it, synced,
/// then renamed. On any error, a full disk included, `path` is as it was.
absl::Status writeFileAtomically(const std::string &path, absl::FunctionRef<absl::Status(OutputFile &)> fill);

} // namespace kernelc
