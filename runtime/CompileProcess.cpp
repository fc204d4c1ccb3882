// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CompileProcess.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/WorkerChild.h"
#include "runtime/WorkerProtocol.h"

namespace kernelc {
namespace {

/// Why a worker has ended without a reply.
absl::Status deathOf(int status, absl::string_view what, const std::string &worker, const CompileLimits &limits) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == worker::kOutOfMemoryStatus)
    return absl::ResourceExhaustedError(absl::StrCat(what, " needs more than ", limits.memoryBytes >> 20, " MiB"));
  if (WIFEXITED(status))
    return absl::InternalError(absl::StrCat(what, ": the worker ", worker, " ended with status ", WEXITSTATUS(status), " and no reply"));
  int signal = WTERMSIG(status);
  if (signal == SIGINT || signal == SIGTERM)
    return absl::CancelledError(absl::StrCat(what, " was interrupted"));
  if (signal == SIGXCPU)
    return absl::ResourceExhaustedError(
        absl::StrCat(what, " took more than ", absl::FormatDuration(limits.cpu), " of CPU time; unroll less, or split the kernel"));
  if (signal == SIGKILL)
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": the compiler was killed (", strsignal(signal), "), most likely for want of memory"));
  return absl::InternalError(
      absl::StrCat(what, ": the compiler died (", strsignal(signal), "); with memory limited to ", limits.memoryBytes >> 20, " MiB"));
}

absl::StatusOr<Cubin> cubinOf(absl::string_view reply, absl::string_view text, absl::string_view what) {
  std::optional<std::vector<std::string>> strings = worker::decodeStrings(reply);
  if (strings && strings->size() == 3 && (*strings)[0] == worker::kOk) {
    Cubin cubin;
    cubin.log = std::move((*strings)[1]);
    cubin.bytes = std::move((*strings)[2]);
    CompileLog log = parseCompileLog(cubin.log, text);
    cubin.diagnostics = std::move(log.diagnostics);
    cubin.kernels = std::move(log.kernels);
    return cubin;
  }
  if (strings && strings->size() == 3 && (*strings)[0] == worker::kFailed && (*strings)[1].size() == 1)
    return absl::Status(absl::StatusCode((*strings)[1][0]), (*strings)[2]);
  return absl::InternalError(absl::StrCat(what, ": the worker's reply makes no sense"));
}

std::string folderOf(const std::string &path) { return path.substr(0, path.rfind('/') + 1); }

} // namespace

CompileProcess::CompileProcess(std::string worker, CompileLimits limits, std::string nvrtcFile)
    : worker_(worker.empty() ? findWorker() : std::move(worker)), limits_(limits), nvrtcFile_(std::move(nvrtcFile)) {}
CompileProcess::~CompileProcess() = default;

std::string CompileProcess::findWorker() {
  if (const char *env = std::getenv("KERNELC_NVRTC_WORKER"); env && *env)
    return absl::string_view(env) == "0" ? "" : env;
  std::vector<std::string> folders;
  char self[PATH_MAX];
  if (ssize_t n = readlink("/proc/self/exe", self, sizeof(self)); n > 0 && n < ssize_t(sizeof(self)))
    folders.push_back(folderOf(std::string(self, size_t(n))));
  Dl_info library{};
  if (dladdr(reinterpret_cast<void *>(&CompileProcess::findWorker), &library) && library.dli_fname && strchr(library.dli_fname, '/')) {
    folders.push_back(folderOf(library.dli_fname));
    folders.push_back(folders.back() + "../bin/");
  }
  for (const std::string &folder : folders)
    if (std::string path = folder + "kernelc-nvrtc-worker"; access(path.c_str(), X_OK) == 0)
      return path;
  return "";
}

void CompileProcess::afterForkInChild() {
  for (std::unique_ptr<WorkerChild> &child : idle_) // they answer the other process
    child->abandon();
  idle_.clear();
  mutex_.unlock();
}

absl::StatusOr<std::unique_ptr<WorkerChild>> CompileProcess::take(bool *isNew) const {
  *isNew = false;
  for (;;) {
    std::unique_ptr<WorkerChild> child;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (idle_.empty())
        break;
      child = std::move(idle_.back());
      idle_.pop_back();
    }
    if (child->isIdle())
      return child;
  }
  *isNew = true;
  auto child = std::make_unique<WorkerChild>();
  if (absl::Status s = child->start(worker_, nvrtcFile_); !s.ok())
    return s;
  return child;
}

void CompileProcess::giveBack(std::unique_ptr<WorkerChild> child) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.size() < std::max(1u, std::thread::hardware_concurrency()))
    idle_.push_back(std::move(child));
}

void CompileProcess::prepare(int count) const {
  std::vector<std::unique_ptr<WorkerChild>> waiting;
  bool isNew = false;
  const int most = std::max(1, int(std::thread::hardware_concurrency()) / 2);
  for (int i = 0; i < std::min(count, most); ++i)
    if (absl::StatusOr<std::unique_ptr<WorkerChild>> child = take(&isNew); child.ok()) // else the first text says why not
      waiting.push_back(*std::move(child));
  while (!waiting.empty()) { // those that were there lie on top
    giveBack(std::move(waiting.back()));
    waiting.pop_back();
  }
}

std::vector<int> CompileProcess::idleWorkers() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<int> pids;
  for (const std::unique_ptr<WorkerChild> &child : idle_)
    pids.push_back(int(child->pid()));
  return pids;
}

std::string CompileProcess::encode(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                   absl::Span<const std::string> extra) const {
  worker::Request request{limits_.memoryBytes, absl::ToInt64Seconds(limits_.cpu), std::string(text), std::string(programName),
                          std::string(arch),   {extra.begin(), extra.end()}};
  // The worker does not see this process's environment.
  std::vector<std::string> options = Nvrtc::options(arch);
  if (std::count(options.begin(), options.end(), "-lineinfo") && !std::count(extra.begin(), extra.end(), "-lineinfo"))
    request.options.push_back("-lineinfo");
  return worker::encode(request);
}

static absl::Status noWorker() {
  return absl::UnavailableError("there is no kernelc-nvrtc-worker beside this program; set KERNELC_NVRTC_WORKER");
}

static absl::Status tookTooLong(absl::string_view what, const CompileLimits &limits, size_t bytes) {
  return absl::DeadlineExceededError(absl::StrCat(what, " took more than ", absl::FormatDuration(limits.wall), "; the text has ", bytes,
                                                  " bytes: unroll less, or split the kernel"));
}

absl::StatusOr<Cubin> CompileProcess::compileToCubin(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                                     absl::Span<const std::string> extra, const std::atomic<bool> *stop) const {
  if (worker_.empty())
    return noWorker();
  std::string what = absl::StrCat("compiling ", programName, " for ", arch), reply;
  const std::string message = encode(text, programName, arch, extra);
  const absl::Time deadline = absl::Now() + limits_.wall;
  absl::StatusOr<std::unique_ptr<WorkerChild>> child;
  absl::Status talked;
  int ended;
  for (bool isNew = false;;) {
    child = take(&isNew);
    if (!child.ok())
      return child.status();
    talked = (*child)->converse(message, &reply, deadline, stop, &ended);
    if (isNew || ended != 0) // else it had waited long enough, and went just now
      break;
  }
  if (absl::IsDeadlineExceeded(talked))
    return tookTooLong(what, limits_, text.size());
  if (absl::IsCancelled(talked))
    return absl::CancelledError(absl::StrCat(what, " was interrupted"));
  if (!talked.ok())
    return talked;
  if (ended >= 0)
    return deathOf(ended, what, worker_, limits_);
  giveBack(*std::move(child));
  return cubinOf(reply, text, what);
}

absl::StatusOr<std::unique_ptr<RunningCompile>> CompileProcess::start(absl::string_view text, absl::string_view programName,
                                                                      absl::string_view arch, absl::Span<const std::string> extra) const {
  if (worker_.empty())
    return noWorker();
  bool isNew = false;
  absl::StatusOr<std::unique_ptr<WorkerChild>> child = take(&isNew);
  if (!child.ok())
    return child.status();
  (*child)->send(encode(text, programName, arch, extra));
  std::unique_ptr<RunningCompile> running(
      new RunningCompile(*this, *std::move(child), text, absl::StrCat("compiling ", programName, " for ", arch)));
  (void)running->isReady(); // as much of the text as the pipe takes
  return running;
}

RunningCompile::RunningCompile(const CompileProcess &process, std::unique_ptr<WorkerChild> child, absl::string_view text, std::string what)
    : process_(process), child_(std::move(child)), text_(text), what_(std::move(what)), deadline_(absl::Now() + process.limits_.wall),
      owner_(getpid()) {}

RunningCompile::~RunningCompile() {
  if (child_ && owner_ != getpid()) // it answers the other process
    child_->abandon();
}

bool RunningCompile::isReady(absl::Duration atMost) {
  if (answer_)
    return true;
  if (owner_ != getpid()) {
    answer_ = absl::UnavailableError(absl::StrCat(what_, " is another process's"));
    return true;
  }
  std::string reply;
  int ended = -1;
  absl::StatusOr<bool> done = false;
  for (const absl::Time until = absl::Now() + atMost;;) {
    done = child_->advance(int(std::clamp<int64_t>(absl::ToInt64Milliseconds(until - absl::Now()), 0, 20)), &reply, &ended);
    if (!done.ok() || *done || absl::Now() >= std::min(until, deadline_))
      break;
  }
  if (!done.ok())
    answer_ = done.status();
  else if (*done && ended >= 0)
    answer_ = deathOf(ended, what_, process_.worker_, process_.limits_);
  else if (*done)
    answer_ = cubinOf(reply, text_, what_);
  else if (absl::Now() > deadline_)
    answer_ = tookTooLong(what_, process_.limits_, text_.size());
  if (answer_ && done.ok() && *done && ended < 0)
    process_.giveBack(std::move(child_));
  return answer_.has_value();
}

absl::StatusOr<Cubin> RunningCompile::answer() const {
  return answer_ ? *answer_ : absl::StatusOr<Cubin>(absl::FailedPreconditionError(absl::StrCat(what_, " has not ended")));
}

absl::StatusOr<Cubin> RunningCompile::take() {
  return answer_ ? *std::move(answer_) : absl::StatusOr<Cubin>(absl::FailedPreconditionError(absl::StrCat(what_, " has not ended")));
}

} // namespace kernelc
