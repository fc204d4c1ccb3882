// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/PrivateDir.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace kernelc {
namespace {

constexpr int kDirFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

absl::Status checkPrivate(const struct stat &st, absl::string_view what) {
  if (st.st_uid != geteuid())
    return absl::PermissionDeniedError(absl::StrCat(what, " belongs to another user"));
  if (st.st_mode & 022)
    return absl::PermissionDeniedError(absl::StrCat(what, " is writable by other users; run chmod go-w on it"));
  return absl::OkStatus();
}

/// mkdir -p with mode 0700. Errors show when the last one is opened.
void makeDirs(const std::string &path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0700);
  mkdir(path.c_str(), 0700);
}

int openRetrying(int dir, const char *name, int flags, mode_t mode = 0) {
  int fd;
  do
    fd = openat(dir, name, flags, mode);
  while (fd < 0 && errno == EINTR);
  return fd;
}

} // namespace

UniqueFd &UniqueFd::operator=(UniqueFd &&other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

UniqueFd::~UniqueFd() {
  if (fd_ >= 0)
    close(fd_);
}

absl::Status errnoStatus(int error, absl::string_view what) {
  char buffer[128];
  std::string text = absl::StrCat(what, ": ", strerror_r(error, buffer, sizeof(buffer)));
  switch (error) {
  case ENOENT: return absl::NotFoundError(text);
  case EACCES:
  case EPERM:
  case EROFS:
  case ELOOP:
  case ENOTDIR: return absl::PermissionDeniedError(text);
  case ENOSPC:
  case EDQUOT:
  case EFBIG: return absl::ResourceExhaustedError(text);
  default: return absl::UnavailableError(text);
  }
}

absl::StatusOr<PrivateDir> PrivateDir::adopt(UniqueFd fd, absl::string_view what) {
  struct stat st;
  if (fstat(fd.get(), &st) != 0)
    return errnoStatus(errno, what);
  if (absl::Status s = checkPrivate(st, what); !s.ok())
    return s;
  return PrivateDir(std::move(fd));
}

absl::StatusOr<PrivateDir> PrivateDir::open(const std::string &path, bool create) {
  if (create)
    makeDirs(path);
  UniqueFd fd(openRetrying(AT_FDCWD, path.c_str(), kDirFlags));
  if (!fd.valid())
    return errno == ELOOP || errno == ENOTDIR
               ? absl::PermissionDeniedError(absl::StrCat(path, " is not a directory, or is a symbolic link"))
               : errnoStatus(errno, path);
  return adopt(std::move(fd), path);
}

absl::StatusOr<PrivateDir> PrivateDir::sub(const std::string &name, bool create) const {
  UniqueFd fd(openRetrying(fd_.get(), name.c_str(), kDirFlags));
  if (!fd.valid() && errno == ENOENT && create) {
    if (mkdirat(fd_.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
      return errnoStatus(errno, absl::StrCat("creating directory ", name));
    fd = UniqueFd(openRetrying(fd_.get(), name.c_str(), kDirFlags));
  }
  if (!fd.valid())
    return errnoStatus(errno, absl::StrCat("directory ", name));
  return adopt(std::move(fd), absl::StrCat("directory ", name));
}

absl::StatusOr<std::string> PrivateDir::read(const std::string &name, uint64_t maxBytes, bool touch) const {
  // O_NONBLOCK: a FIFO in the place of a file must not hang us.
  UniqueFd fd(openRetrying(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid())
    return errnoStatus(errno, name);
  struct stat st;
  if (fstat(fd.get(), &st) != 0)
    return errnoStatus(errno, name);
  if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
    return absl::PermissionDeniedError(absl::StrCat(name, " is not a plain file"));
  if (absl::Status s = checkPrivate(st, name); !s.ok())
    return s;
  if (uint64_t(st.st_size) > maxBytes)
    return absl::ResourceExhaustedError(absl::StrCat(name, " has ", st.st_size, " bytes, more than ", maxBytes));
  std::string bytes(size_t(st.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errnoStatus(errno, name);
    if (n == 0)
      break; // shorter than it was: the caller's checksum will tell
    done += size_t(n);
  }
  bytes.resize(done);
  if (touch) {
    const timespec now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
    futimens(fd.get(), now);
  }
  return bytes;
}

absl::Status PrivateDir::write(const std::string &name, absl::string_view bytes) const {
  UniqueFd fd(openRetrying(fd_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid())
    return errnoStatus(errno, absl::StrCat("creating ", name));
  auto fail = [&](int error) {
    unlinkat(fd_.get(), name.c_str(), 0);
    return errnoStatus(error, absl::StrCat("writing ", name));
  };
  while (!bytes.empty()) {
    ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail(errno);
    bytes.remove_prefix(size_t(n));
  }
  if (fsync(fd.get()) != 0)
    return fail(errno);
  // Network file systems report a full disk only here.
  if (close(fd.release()) != 0 && errno != EINTR)
    return fail(errno);
  return absl::OkStatus();
}

absl::Status PrivateDir::renameTo(const std::string &name, const PrivateDir &target, const std::string &to) const {
  if (renameat(fd_.get(), name.c_str(), target.fd_.get(), to.c_str()) == 0)
    return absl::OkStatus();
  int error = errno;
  unlinkat(fd_.get(), name.c_str(), 0);
  return errnoStatus(error, absl::StrCat("publishing ", to));
}

bool PrivateDir::remove(const std::string &name) const { return unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT; }

absl::StatusOr<UniqueFd> PrivateDir::openLock(const std::string &name) const {
  UniqueFd fd(openRetrying(fd_.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd.valid())
    return errnoStatus(errno, absl::StrCat("lock ", name));
  struct stat st;
  if (fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode))
    return absl::PermissionDeniedError(absl::StrCat("lock ", name, " is not a plain file"));
  if (absl::Status s = checkPrivate(st, name); !s.ok())
    return s;
  return fd;
}

namespace {
/// Calls visit(name, facts) for every entry but "." and "..".
template <typename Visit> void forEachEntry(int dir, Visit visit) {
  int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = copy < 0 ? nullptr : fdopendir(copy);
  if (!stream) {
    if (copy >= 0)
      close(copy);
    return;
  }
  while (const dirent *e = readdir(stream)) {
    struct stat st;
    if (e->d_name[0] != '.' && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
      visit(std::string(e->d_name), st);
  }
  closedir(stream);
}
} // namespace

std::vector<std::string> PrivateDir::directories() const {
  std::vector<std::string> names;
  forEachEntry(fd_.get(), [&](std::string name, const struct stat &st) {
    if (S_ISDIR(st.st_mode))
      names.push_back(std::move(name));
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<FileFacts> PrivateDir::files() const {
  std::vector<FileFacts> found;
  forEachEntry(fd_.get(), [&](std::string name, const struct stat &st) {
    if (!S_ISDIR(st.st_mode))
      found.push_back({std::move(name), uint64_t(st.st_size), int64_t(st.st_mtim.tv_sec) * 1000000000 + st.st_mtim.tv_nsec});
  });
  std::sort(found.begin(), found.end(), [](const FileFacts &a, const FileFacts &b) { return a.name < b.name; });
  return found;
}

} // namespace kernelc
