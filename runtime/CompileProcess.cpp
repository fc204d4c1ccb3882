// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CompileProcess.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/PrivateDir.h"

extern char **environ;

namespace kernelc {
namespace {

// Request and reply are sequences of strings, each a 64-bit little-endian length and
// its bytes; the request's end is the end of the file.
void put(std::string *out, absl::string_view s) {
  uint64_t n = s.size();
  for (int i = 0; i < 8; ++i)
    out->push_back(char(n >> (8 * i)));
  out->append(s.data(), s.size());
}
bool take(absl::string_view *in, std::string *s) {
  uint64_t n = 0;
  if (in->size() < 8)
    return false;
  for (int i = 0; i < 8; ++i)
    n |= uint64_t(uint8_t((*in)[i])) << (8 * i);
  in->remove_prefix(8);
  if (n > in->size())
    return false;
  *s = std::string(in->substr(0, n));
  in->remove_prefix(n);
  return true;
}

constexpr int kOutOfMemoryStatus = 3;
constexpr absl::string_view kOk = "ok", kFailed = "failed";

/// Reads until the end; false on an error.
bool readAll(int fd, std::string *bytes) {
  char buffer[65536];
  while (true) {
    ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n == 0)
      return true;
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    bytes->append(buffer, size_t(n));
  }
}

bool writeAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

/// A started worker with the pipes to it. Killed and reaped at the end.
class Child {
public:
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
  }
  absl::Status start(const std::string &program) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0)
      return errnoStatus(errno, "pipe");
    UniqueFd inRead(in[0]);
    toChild = UniqueFd(in[1]);
    if (pipe2(out, O_CLOEXEC) != 0)
      return errnoStatus(errno, "pipe");
    fromChild = UniqueFd(out[0]);
    UniqueFd outWrite(out[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, inRead.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, outWrite.get(), STDOUT_FILENO);
    std::string path = program;
    char *argv[] = {path.data(), nullptr};
    int error = posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
      pid_ = -1;
      return absl::UnavailableError(absl::StrCat(errnoStatus(error, absl::StrCat("starting ", program)).message(),
                                                 "; KERNELC_NVRTC_WORKER (--nvrtc-worker) names the program that compiles"));
    }
    fcntl(toChild.get(), F_SETFL, O_NONBLOCK);
    fcntl(fromChild.get(), F_SETFL, O_NONBLOCK);
    return absl::OkStatus();
  }
  /// Reaps; the status of waitpid().
  int wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }
  UniqueFd toChild, fromChild;

private:
  pid_t pid_ = -1;
};

/// Sends the request and collects the reply, both at once, until `deadline`.
absl::Status converse(Child &child, absl::string_view request, std::string *reply, absl::Time deadline) {
  char buffer[65536];
  while (true) {
    int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0)
      return absl::DeadlineExceededError("");
    pollfd fds[2] = {{child.fromChild.get(), POLLIN, 0}, {child.toChild.get(), POLLOUT, 0}};
    int ready = poll(fds, child.toChild.valid() ? 2 : 1, int(std::min<int64_t>(left + 1, INT_MAX)));
    if (ready < 0 && errno != EINTR)
      return errnoStatus(errno, "poll");
    if (ready <= 0)
      continue;
    if (child.toChild.valid() && fds[1].revents) {
      ssize_t n = write(child.toChild.get(), request.data(), request.size());
      if (n > 0)
        request.remove_prefix(size_t(n));
      bool gone = n < 0 && errno != EAGAIN && errno != EINTR; // its reply or death says why
      if (request.empty() || gone)
        child.toChild = UniqueFd();
    }
    if (fds[0].revents) {
      ssize_t n = read(child.fromChild.get(), buffer, sizeof(buffer));
      if (n == 0)
        return absl::OkStatus();
      if (n > 0)
        reply->append(buffer, size_t(n));
      else if (errno != EAGAIN && errno != EINTR)
        return errnoStatus(errno, "reading from the compiler");
    }
  }
}

/// A broken pipe must be an error of write(), not a signal, in this thread only.
class BlockSigpipe {
public:
  BlockSigpipe() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set_, &old_);
  }
  ~BlockSigpipe() {
    timespec zero = {};
    while (!sigismember(&old_, SIGPIPE) && sigtimedwait(&set_, nullptr, &zero) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }

private:
  sigset_t set_, old_;
};

} // namespace

CompileProcess::CompileProcess(std::string worker, CompileLimits limits)
    : worker_(worker.empty() ? findWorker() : std::move(worker)), limits_(limits) {}

std::string CompileProcess::findWorker() {
  if (const char *env = std::getenv("KERNELC_NVRTC_WORKER"); env && *env)
    return env;
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
  if (n <= 0 || n == sizeof(self))
    return "";
  std::string path(self, size_t(n));
  path = path.substr(0, path.rfind('/') + 1) + "kernelc-nvrtc-worker";
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

absl::StatusOr<Cubin> CompileProcess::compileToCubin(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                                     absl::Span<const std::string> extra) const {
  if (worker_.empty())
    return absl::UnavailableError("there is no kernelc-nvrtc-worker beside this program; set KERNELC_NVRTC_WORKER");
  std::string request, reply;
  put(&request, absl::StrCat(limits_.memoryBytes));
  put(&request, absl::StrCat(absl::ToInt64Seconds(limits_.wall) + 1));
  for (absl::string_view s : {text, programName, arch})
    put(&request, s);
  for (const std::string &e : extra)
    put(&request, e);

  BlockSigpipe quiet;
  Child child;
  if (absl::Status s = child.start(worker_); !s.ok())
    return s;
  absl::Status talked = converse(child, request, &reply, absl::Now() + limits_.wall);
  std::string what = absl::StrCat("compiling ", programName, " for ", arch);
  if (absl::IsDeadlineExceeded(talked))
    return absl::DeadlineExceededError(absl::StrCat(what, " took more than ", absl::FormatDuration(limits_.wall), "; the text has ",
                                                    text.size(), " bytes: unroll less, or split the kernel"));
  if (!talked.ok())
    return talked;
  int status = child.wait();
  absl::string_view in = reply;
  std::string verdict, code, message;
  if (WIFEXITED(status) && take(&in, &verdict)) {
    Cubin cubin;
    if (verdict == kOk && take(&in, &cubin.log) && take(&in, &cubin.bytes)) {
      CompileLog log = parseCompileLog(cubin.log, text);
      cubin.diagnostics = std::move(log.diagnostics);
      cubin.kernels = std::move(log.kernels);
      return cubin;
    }
    if (verdict == kFailed && take(&in, &code) && take(&in, &message) && code.size() == 1)
      return absl::Status(absl::StatusCode(code[0]), message);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryStatus)
    return absl::ResourceExhaustedError(absl::StrCat(what, " needs more than ", limits_.memoryBytes >> 20, " MiB"));
  if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": the compiler was killed (", strsignal(WTERMSIG(status)), "), most likely for want of memory or time"));
  if (WIFSIGNALED(status))
    return absl::InternalError(absl::StrCat(what, ": the compiler died (", strsignal(WTERMSIG(status)), "); with memory limited to ",
                                            limits_.memoryBytes >> 20, " MiB"));
  return absl::InternalError(absl::StrCat(what, ": the worker ", worker_, " ended with status ", WEXITSTATUS(status), " and no reply"));
}

int runCompileWorker(int in, int out) {
  std::string bytes, memory, seconds, text, name, arch, option, reply;
  if (!readAll(in, &bytes))
    return 2;
  absl::string_view request = bytes;
  if (!take(&request, &memory) || !take(&request, &seconds) || !take(&request, &text) || !take(&request, &name) || !take(&request, &arch))
    return 2;
  std::vector<std::string> extra;
  while (take(&request, &option))
    extra.push_back(option);
  const std::pair<int, rlim_t> limits[] = {{RLIMIT_AS, rlim_t(std::strtoull(memory.c_str(), nullptr, 10))},
                                           {RLIMIT_CPU, rlim_t(std::strtoull(seconds.c_str(), nullptr, 10))}, // if the parent dies
                                           {RLIMIT_CORE, 0}};
  // Running out of memory must end this process and say so.
  std::set_new_handler([] { _exit(kOutOfMemoryStatus); });
  auto nvrtc = Nvrtc::load(); // before the limits: its libraries are no part of the budget's purpose
  for (auto [what, value] : limits) {
    rlimit r{value, value};
    setrlimit(decltype(RLIMIT_AS)(what), &r);
  }
  absl::StatusOr<Cubin> cubin = nvrtc.ok() ? (*nvrtc)->compileToCubin(text, name, arch, extra) : nvrtc.status();
  if (cubin.ok()) {
    put(&reply, kOk);
    put(&reply, cubin->log);
    put(&reply, cubin->bytes);
  } else {
    put(&reply, kFailed);
    put(&reply, std::string(1, char(cubin.status().code())));
    put(&reply, cubin.status().message());
  }
  return writeAll(out, reply) ? 0 : 2;
}

} // namespace kernelc
