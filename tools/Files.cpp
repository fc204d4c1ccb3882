// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/Files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "support/Spelling.h"

namespace kernelc::tools {
namespace {

/// The folder that is missing on the way to a file, or the file beside it whose name is nearest, as the end of a sentence.
std::string hintForMissing(const std::string &path) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(path).parent_path(), name = fs::path(path).filename();
  if (folder.empty())
    folder = ".";
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return absl::StrCat("; there is no folder '", folder.string(), "'");
  std::vector<std::string> names;
  for (const fs::directory_entry &e : fs::directory_iterator(folder, error))
    if (e.path().extension() == name.extension() && names.size() < 1000)
      names.push_back(e.path().filename().string());
  std::string near = findNearest(name.string(), std::vector<absl::string_view>(names.begin(), names.end()));
  return near.empty() || near == name.string() ? ""
                                               : absl::StrCat("; did you mean '", (fs::path(path).parent_path() / near).string(), "'?");
}

absl::Status failure(absl::string_view verb, const std::string &path) {
  int number = errno;
  return absl::UnavailableError(
      absl::StrCat("cannot ", verb, " '", path, "': ", strerror(number), number == ENOENT ? hintForMissing(path) : ""));
}

absl::Status writeAll(int fd, absl::string_view bytes, const std::string &name) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failure("write", name);
    bytes.remove_prefix(size_t(n));
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::string> readInput(const std::string &path) {
  int fd = path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return failure("read", path);
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      absl::Status s = failure("read", path);
      if (fd)
        ::close(fd);
      return s;
    }
    if (n == 0)
      break;
    bytes.append(buffer, size_t(n));
  }
  if (fd)
    ::close(fd);
  return bytes;
}

absl::Status writeOutput(const std::string &path, absl::string_view bytes) {
  if (path == "-")
    return writeAll(1, bytes, "standard output");
  struct stat st{};
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode)) { // a device or pipe has no name to rename to
    int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
      return failure("write", path);
    absl::Status s = writeAll(fd, bytes, path);
    ::close(fd);
    return s;
  }
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  int fd = ::mkstemp(temporary.data());
  if (fd < 0)
    return failure("write", path);
  mode_t mask = ::umask(0);
  ::umask(mask);
  absl::Status s = ::fchmod(fd, 0666 & ~mask) == 0 ? writeAll(fd, bytes, path) : failure("write", path);
  if (::close(fd) != 0 && s.ok())
    s = failure("write", path);
  if (s.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    s = failure("write", path);
  if (!s.ok())
    ::unlink(temporary.c_str());
  return s;
}

std::string publishReproducer(const std::string &path, absl::string_view text) {
  std::string file = path;
  if (file.empty()) {
    const char *tmp = ::getenv("TMPDIR");
    file = absl::StrCat(tmp && *tmp ? tmp : "/tmp", "/kernelc-verify-XXXXXX.mlir");
    int fd = ::mkstemps(file.data(), 5);
    if (fd < 0)
      return "";
    ::close(fd);
  }
  return writeOutput(file, text).ok() ? file : "";
}

} // namespace kernelc::tools
