// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/WorkerChild.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/WorkerProtocol.h"

namespace kernelc {
namespace {

/// How soon an interrupt is seen.
constexpr int kPeriodMilliseconds = 20;
/// Longer replies are none: cubins have a few megabytes.
constexpr uint64_t kMaxReply = uint64_t(1) << 30;

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

/// What finding and opening NVRTC may need.
std::vector<std::string> minimalEnvironment(const std::string &nvrtcFile) {
  std::vector<std::string> environment;
  for (const char *name : {"LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "HOME", "LANG"})
    if (const char *value = std::getenv(name))
      environment.push_back(absl::StrCat(name, "=", value));
  const char *named = std::getenv("KERNELC_LIBNVRTC");
  if (!nvrtcFile.empty() || named)
    environment.push_back(absl::StrCat("KERNELC_LIBNVRTC=", nvrtcFile.empty() ? std::string(named) : nvrtcFile));
  return environment;
}

int spawn(pid_t *pid, std::string program, std::vector<std::string> environment, int in, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  sigset_t none, pipe; // whatever this thread blocks; a signal to the process group (Ctrl-C) ends the worker too
  sigemptyset(&none);
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char *> variables;
  for (std::string &v : environment)
    variables.push_back(v.data());
  variables.push_back(nullptr);
  char *argv[] = {program.data(), nullptr};
  int error = posix_spawn(pid, program.c_str(), &actions, &attributes, argv, variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// The message in `bytes`, without its length, once it is there.
std::optional<absl::string_view> wholeMessage(absl::string_view bytes) {
  if (bytes.size() < worker::kLengthBytes)
    return std::nullopt;
  uint64_t length = worker::decodeLength(bytes);
  bytes.remove_prefix(worker::kLengthBytes);
  return length <= bytes.size() ? std::optional(bytes.substr(0, length)) : std::nullopt;
}

} // namespace

WorkerChild::~WorkerChild() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    wait();
  }
}

void WorkerChild::abandon() {
  pid_ = -1;
  toChild_ = UniqueFd();
  fromChild_ = UniqueFd();
}

int WorkerChild::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

absl::Status WorkerChild::start(const std::string &program, const std::string &nvrtcFile) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0)
    return errnoStatus(errno, "pipe");
  UniqueFd inRead(in[0]);
  toChild_ = UniqueFd(in[1]);
  if (pipe2(out, O_CLOEXEC) != 0)
    return errnoStatus(errno, "pipe");
  fromChild_ = UniqueFd(out[0]);
  UniqueFd outWrite(out[1]);
  if (int error = spawn(&pid_, program, minimalEnvironment(nvrtcFile), inRead.get(), outWrite.get())) {
    pid_ = -1;
    return absl::UnavailableError(absl::StrCat(errnoStatus(error, absl::StrCat("starting ", program)).message(),
                                               "; KERNELC_NVRTC_WORKER (--nvrtc-worker) names the program that compiles"));
  }
  // A text as a whole, and its cubin: neither side waits for the other to look. Where the system allows less, they do.
  constexpr int kPipeBytes = 1 << 20;
  fcntl(toChild_.get(), F_SETPIPE_SZ, kPipeBytes);
  fcntl(fromChild_.get(), F_SETPIPE_SZ, kPipeBytes);
  fcntl(toChild_.get(), F_SETFL, O_NONBLOCK);
  fcntl(fromChild_.get(), F_SETFL, O_NONBLOCK);
  return absl::OkStatus();
}

bool WorkerChild::isIdle() const {
  pollfd fd = {fromChild_.get(), POLLIN, 0}; // it says nothing unasked: what comes is its end
  return pid_ > 0 && poll(&fd, 1, 0) == 0;
}

absl::Status WorkerChild::converse(absl::string_view message, std::string *reply, absl::Time deadline, const std::atomic<bool> *stop,
                                   int *ended) {
  send(message);
  while (true) {
    int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0)
      return absl::DeadlineExceededError("");
    if (stop && *stop)
      return absl::CancelledError("");
    absl::StatusOr<bool> done = advance(int(std::min<int64_t>(left + 1, kPeriodMilliseconds)), reply, ended);
    if (!done.ok() || *done)
      return done.status();
  }
}

void WorkerChild::send(absl::string_view message) {
  toSend_ = std::string(message);
  received_.clear();
}

absl::StatusOr<bool> WorkerChild::advance(int milliseconds, std::string *reply, int *ended) {
  *ended = -1;
  BlockSigpipe quiet;
  char buffer[65536];
  pollfd fds[2] = {{fromChild_.get(), POLLIN, 0}, {toChild_.get(), POLLOUT, 0}};
  int ready = poll(fds, toSend_.empty() ? 1 : 2, milliseconds);
  if (ready < 0 && errno != EINTR)
    return errnoStatus(errno, "poll");
  if (ready <= 0)
    return false;
  if (!toSend_.empty() && fds[1].revents) {
    ssize_t n = write(toChild_.get(), toSend_.data(), toSend_.size());
    bool gone = n < 0 && errno != EAGAIN && errno != EINTR; // its reply or death says why
    toSend_.erase(0, gone ? toSend_.size() : n > 0 ? size_t(n) : 0);
  }
  if (!fds[0].revents)
    return false;
  ssize_t n;
  while ((n = read(fromChild_.get(), buffer, sizeof(buffer))) > 0) {
    received_.append(buffer, size_t(n));
    if (std::optional<absl::string_view> whole = wholeMessage(received_)) {
      *reply = std::string(*whole);
      return true;
    }
  }
  if (n == 0) {
    *ended = wait();
    return true;
  }
  if (errno != EAGAIN && errno != EINTR)
    return errnoStatus(errno, "reading from the compiler");
  if (received_.size() >= worker::kLengthBytes && worker::decodeLength(received_) > kMaxReply)
    return absl::InternalError("the program that compiles gives no replies that a kernelc-nvrtc-worker would give");
  return false;
}

} // namespace kernelc
