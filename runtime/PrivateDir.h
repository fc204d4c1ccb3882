// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Directories and files that belong to one user only: opened step by step from a
// directory handle, never through a symbolic link, and refused when somebody else
// owns them or may write to them. The disk cache is built on this; it knows nothing
// of cache entries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc {

/// A file descriptor with an owner.
class UniqueFd {
public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd &&other) noexcept : fd_(other.release()) {}
  UniqueFd &operator=(UniqueFd &&other) noexcept;
  ~UniqueFd();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }

private:
  int fd_;
};

/// "<what>: <strerror>" with the errno's status code.
absl::Status errnoStatus(int error, absl::string_view what);

struct FileFacts {
  std::string name;
  uint64_t bytes = 0;
  int64_t usedNanos = 0; ///< modification time, which reading a cache entry renews
};

class PrivateDir {
public:
  /// Opens `path`, creating it (mode 0700) and its parents first if `create`.
  /// PermissionDenied when it is a link, foreign, or writable by others.
  static absl::StatusOr<PrivateDir> open(const std::string &path, bool create);
  /// The subdirectory `name`, with the same rules.
  absl::StatusOr<PrivateDir> sub(const std::string &name, bool create) const;

  /// The whole regular file, at most `maxBytes`. NotFound when there is none;
  /// PermissionDenied when it is not a plain private file (link, FIFO, second hard
  /// link, foreign owner, writable by others). `touch` renews its time of use.
  absl::StatusOr<std::string> read(const std::string &name, uint64_t maxBytes, bool touch) const;
  /// Writes a new file `name` (mode 0600, must not exist) and flushes it to disk. On
  /// failure nothing is left.
  absl::Status write(const std::string &name, absl::string_view bytes) const;
  /// Atomically makes `name` here the file `to` in `target`, replacing it.
  absl::Status renameTo(const std::string &name, const PrivateDir &target, const std::string &to) const;
  /// Removes a file. False: it is still there.
  bool remove(const std::string &name) const;
  /// A private file for locks, created if need be; never truncated or removed.
  absl::StatusOr<UniqueFd> openLock(const std::string &name) const;

  /// Names of subdirectories / regular files, sorted.
  std::vector<std::string> directories() const;
  std::vector<FileFacts> files() const;

private:
  explicit PrivateDir(UniqueFd fd) : fd_(std::move(fd)) {}
  static absl::StatusOr<PrivateDir> adopt(UniqueFd fd, absl::string_view what);
  UniqueFd fd_;
};

} // namespace kernelc
