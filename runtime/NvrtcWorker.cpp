// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program kernelc-nvrtc-worker: compiles texts that it reads from stdin, one after
// the other, under limits; see CompileProcess.h. It ends when its parent does, or after
// a minute without work.
#include <cerrno>
#include <malloc.h>
#include <new>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/Nvrtc.h"
#include "runtime/WorkerProtocol.h"

using namespace kernelc;

namespace {

constexpr int kMalformed = 2;
constexpr int kIdleMilliseconds = 60 * 1000;

void limit(int what, rlim_t soft, rlim_t hard) {
  rlimit r{soft, hard};
  setrlimit(decltype(RLIMIT_AS)(what), &r);
}

/// Ends the process with its parent, also in the middle of a compilation.
void *watchParent(void *) {
  pid_t parent = getppid();
  pollfd in = {STDIN_FILENO, 0, 0}; // POLLHUP is always reported
  while (poll(&in, 1, 1000) >= 0 || errno == EINTR)
    if ((in.revents & (POLLHUP | POLLERR)) || getppid() != parent) // a fork of the parent may hold the pipe open
      _exit(0);
  return nullptr;
}

void startWatching() {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024); // of the address space
  if (pthread_create(&thread, &attributes, watchParent, nullptr) == 0)
    pthread_detach(thread);
  pthread_attr_destroy(&attributes);
}

bool readExactly(char *to, size_t bytes) {
  while (bytes) {
    ssize_t n = read(STDIN_FILENO, to, bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    to += n;
    bytes -= size_t(n);
  }
  return true;
}

bool writeAll(absl::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

/// The next request; nothing when there is none in time, or the other side has gone.
bool readMessage(std::string *message) {
  pollfd in = {STDIN_FILENO, POLLIN, 0};
  int ready;
  while ((ready = poll(&in, 1, kIdleMilliseconds)) < 0 && errno == EINTR) {
  }
  char length[worker::kLengthBytes];
  if (ready <= 0 || !readExactly(length, sizeof(length)))
    return false;
  message->resize(worker::decodeLength({length, sizeof(length)}));
  return readExactly(message->data(), message->size());
}

/// A text takes tens of megabytes, in pieces that the heap would give back at once: the next text would have their pages cleared
/// again, which under a hypervisor takes longer than compiling. An idle worker ends after a minute.
void keepMemory() {
  constexpr int kNever = 1 << 30, kStep = 16 << 20;
  mallopt(M_MMAP_THRESHOLD, kNever);
  mallopt(M_TRIM_THRESHOLD, kNever);
  mallopt(M_TOP_PAD, kStep);
}

/// CPU time counts from the process's start, so that the limit moves on with each text.
void limitCpu(int64_t seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  limit(RLIMIT_CPU, rlim_t(used.ru_utime.tv_sec + used.ru_stime.tv_sec + seconds + 1), RLIM_INFINITY);
}

std::string compile(const absl::StatusOr<std::unique_ptr<Nvrtc>> &nvrtc, const worker::Request &request) {
  absl::StatusOr<Cubin> cubin = nvrtc.ok() ? (*nvrtc)->compileToCubin(request.text, request.programName, request.arch, request.options)
                                           : absl::StatusOr<Cubin>(nvrtc.status());
  if (cubin.ok())
    return worker::encodeStrings({worker::kOk, cubin->log, cubin->bytes});
  char code = char(cubin.status().code());
  return worker::encodeStrings({worker::kFailed, absl::string_view(&code, 1), cubin.status().message()});
}

} // namespace

int main() {
  syscall(SYS_close_range, 3u, ~0u, 0u); // nothing of the parent's
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  limit(RLIMIT_CORE, 0, 0);
  limit(RLIMIT_FSIZE, 0, 0);
  limit(RLIMIT_NOFILE, 64, 64);
  mallopt(M_ARENA_MAX, 1); // an arena a thread would take address space
  keepMemory();
  std::set_new_handler([] { _exit(worker::kOutOfMemoryStatus); });
  startWatching();
  auto nvrtc = Nvrtc::load(); // before the limit of memory: its libraries are no part of the budget's purpose
  std::string message;
  while (readMessage(&message)) {
    std::optional<worker::Request> request = worker::decodeRequest(message);
    if (!request)
      return kMalformed;
    limit(RLIMIT_AS, rlim_t(request->memoryBytes), rlim_t(request->memoryBytes));
    limitCpu(request->cpuSeconds);
    if (!writeAll(compile(nvrtc, *request)))
      return kMalformed;
  }
  return 0;
}
