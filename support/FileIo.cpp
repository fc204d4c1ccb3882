// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/FileIo.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace kernelc {
namespace {

absl::Status failure(const char *what, const std::string &path) {
  int error = errno;
  std::string text = absl::StrCat(what, " '", path, "': ", std::strerror(error));
  if (error == ENOENT)
    return absl::NotFoundError(text);
  if (error == ENOSPC || error == EDQUOT)
    return absl::ResourceExhaustedError(text);
  if (error == EACCES || error == EPERM)
    return absl::PermissionDeniedError(text);
  return absl::UnavailableError(text);
}

} // namespace

absl::StatusOr<InputFile> InputFile::open(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return failure("cannot open", path);
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a regular file"));
  }
  return InputFile(fd, uint64_t(info.st_size), path);
}

InputFile::InputFile(InputFile &&other) noexcept : fd_(other.fd_), size_(other.size_), path_(std::move(other.path_)) { other.fd_ = -1; }

InputFile::~InputFile() {
  if (fd_ >= 0)
    ::close(fd_);
}

absl::Status InputFile::read(uint64_t offset, void *to, size_t bytes) const {
  char *at = static_cast<char *>(to);
  while (bytes > 0) {
    ssize_t n = ::pread(fd_, at, std::min<size_t>(bytes, size_t(1) << 30), off_t(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failure("cannot read", path_);
    if (n == 0)
      return absl::DataLossError(absl::StrCat("'", path_, "' ends at byte ", offset, ", ", bytes, " bytes early"));
    at += n;
    offset += uint64_t(n);
    bytes -= size_t(n);
  }
  return absl::OkStatus();
}

absl::Status OutputFile::write(const void *data, size_t bytes) {
  const char *at = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t n = ::write(fd_, at, std::min<size_t>(bytes, size_t(1) << 30));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failure("cannot write", path_);
    at += n;
    bytes -= size_t(n);
  }
  return absl::OkStatus();
}

absl::Status writeFileAtomically(const std::string &path, absl::FunctionRef<absl::Status(OutputFile &)> fill) {
  static std::atomic<unsigned> counter{0};
  std::string temporary;
  int fd = -1;
  do { // a name that nobody has, so that writers of one path do not meet
    temporary = absl::StrCat(path, ".", ::getpid(), ".", counter.fetch_add(1), ".tmp");
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0)
    return failure("cannot create a file beside", path);
  OutputFile out(fd, path);
  absl::Status status = fill(out);
  if (status.ok() && ::fsync(fd) != 0)
    status = failure("cannot write", path);
  if (::close(fd) != 0 && status.ok())
    status = failure("cannot write", path);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0)
    status = failure("cannot replace", path);
  if (!status.ok())
    ::unlink(temporary.c_str());
  return status;
}

} // namespace kernelc
