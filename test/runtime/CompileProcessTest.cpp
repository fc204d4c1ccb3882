// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compilation under limits, with the real worker and with programs that are none.
#include "runtime/CompileProcess.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "test/runtime/CacheFixture.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

constexpr const char *kText = "#line 7 \"copy.kc\"\n"
                              "extern \"C\" __global__ void kc_copy(float *y, const float *x) { y[threadIdx.x] = x[threadIdx.x]; }\n";

/// Compile time grows faster than n: 1,000 take more than 20 seconds.
std::string chain(int n) {
  std::string s = "extern \"C\" __global__ void kc_long(float *y, const float *x) { float a = x[0];\n";
  for (int i = 0; i < n; ++i)
    absl::StrAppend(&s, "a = a * x[", i, "] + x[(int)a & 1023];\n");
  return s + "y[0] = a; }\n";
}

class CompileProcessTest : public CacheFixture {
protected:
  void SetUp() override {
    CacheFixture::SetUp();
    auto n = Nvrtc::load();
    if (!n.ok())
      GTEST_SKIP() << n.status();
    nvrtc = std::move(*n);
  }
  std::unique_ptr<Nvrtc> nvrtc;
  const std::string worker = KERNELC_TEST_NVRTC_WORKER;
};

TEST_F(CompileProcessTest, SameBytesAsInProcess) {
  auto here = nvrtc->compileToCubin(kText, "copy.cu", "sm_90a");
  auto there = CompileProcess(worker).compileToCubin(kText, "copy.cu", "sm_90a");
  ASSERT_TRUE(here.ok() && there.ok()) << there.status();
  EXPECT_EQ(here->bytes, there->bytes);
  EXPECT_EQ(here->kernels[0].registers, there->kernels[0].registers);
}

TEST_F(CompileProcessTest, RunsOnWhileTheCallerDoesOtherThings) {
  CompileProcess process(worker);
  auto here = nvrtc->compileToCubin(kText, "copy.cu", "sm_90a");
  auto first = process.start(kText, "copy.cu", "sm_90a"), second = process.start("nonsense", "bad.cu", "sm_90a");
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  while (!(*first)->isReady(absl::Milliseconds(5)) || !(*second)->isReady()) {
  }
  auto there = (*first)->take();
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_EQ(here->bytes, there->bytes);
  EXPECT_EQ((*second)->take().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(process.idleWorkers().size(), 2u) << "both wait for the next text";
  // One that nobody waits for ends with it, and is no worker for others.
  auto third = process.start(chain(2000), "long.cu", "sm_90a");
  ASSERT_TRUE(third.ok());
  EXPECT_FALSE((*third)->isReady(absl::Milliseconds(50)));
  absl::Time start = absl::Now();
  third->reset();
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
  EXPECT_EQ(process.idleWorkers().size(), 1u);
  EXPECT_EQ(CompileProcess("/nonexistent/worker").start(kText, "a.cu", "sm_90a").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CompileProcessTest, AFastTextIsAnother) {
  auto fast = CompileProcess(worker).compileToCubin(kText, "copy.cu", "sm_90a", {"--Ofast-compile=mid"});
  if (nvrtc->version() < std::pair(13, 0))
    GTEST_SKIP() << "NVRTC 12 has no fast code";
  EXPECT_TRUE(fast.ok()) << fast.status();
}

TEST_F(CompileProcessTest, ErrorsComeBackWhole) {
  std::string text = "#line 3 \"bad.kc\"\nextern \"C\" __global__ void f() { x; }";
  auto here = nvrtc->compileToCubin(text, "bad.cu", "sm_90a");
  auto there = CompileProcess(worker).compileToCubin(text, "bad.cu", "sm_90a");
  EXPECT_EQ(there.status(), here.status());
  EXPECT_THAT(std::string(there.status().message()), HasSubstr("bad.kc:3: error"));
}

TEST_F(CompileProcessTest, TimeIsBounded) {
  absl::Time start = absl::Now();
  auto r = CompileProcess(worker, {absl::Milliseconds(700)}).compileToCubin(chain(2000), "long.cu", "sm_90a");
  EXPECT_EQ(r.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(r.status().message()), HasSubstr("compiling long.cu for sm_90a took more than 700ms"));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

// How NVRTC takes it depends on where it runs out; it must be an error, and contained.
TEST_F(CompileProcessTest, MemoryIsBounded) {
  auto r = CompileProcess(worker, {absl::Seconds(30), int64_t(110) << 20}).compileToCubin(kText, "copy.cu", "sm_90a");
  EXPECT_THAT(r.status().code(), testing::AnyOf(absl::StatusCode::kResourceExhausted, absl::StatusCode::kInternal)) << r.status();
  EXPECT_TRUE(CompileProcess(worker).compileToCubin(kText, "copy.cu", "sm_90a").ok()) << "the next one is fine";
}

TEST_F(CompileProcessTest, ProgramsThatAreNoWorkers) {
  EXPECT_EQ(CompileProcess("/nonexistent/worker").compileToCubin(kText, "a.cu", "sm_90a").status().code(), absl::StatusCode::kUnavailable);
  auto silent = CompileProcess("/bin/true").compileToCubin(std::string(1 << 20, ' '), "a.cu", "sm_90a");
  EXPECT_THAT(std::string(silent.status().message()), HasSubstr("ended with status 0 and no reply"));
  EXPECT_THAT(std::string(CompileProcess("/bin/false").compileToCubin(kText, "a.cu", "sm_90a").status().message()), HasSubstr("status 1"));
  // An echo is no reply either, and a request larger than a pipe must not lock up.
  EXPECT_EQ(CompileProcess("/bin/cat").compileToCubin(std::string(1 << 20, ' '), "a.cu", "sm_90a").status().code(),
            absl::StatusCode::kInternal);
}

/// The children of this process, which are workers.
std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  std::ifstream in(absl::StrCat("/proc/self/task/", getpid(), "/children"));
  for (pid_t pid; in >> pid;)
    pids.push_back(pid);
  return pids;
}

std::string contents(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(CompileProcessTest, SeveralWorkersWaitWhereSeveralAreAskedFor) {
  CompileProcess process(worker);
  process.prepare();
  std::vector<int> first = process.idleWorkers();
  process.prepare(2);
  std::vector<int> both = process.idleWorkers();
  ASSERT_EQ(both.size(), std::thread::hardware_concurrency() < 4 ? 1u : 2u);
  EXPECT_EQ(both.back(), first[0]) << "the one that has opened NVRTC is taken first";
}

TEST_F(CompileProcessTest, AWorkerIsKeptAndReplaced) {
  CompileProcess process(worker);
  process.prepare();
  process.prepare();
  std::vector<int> first = process.idleWorkers();
  ASSERT_TRUE(process.compileToCubin(kText, "copy.cu", "sm_90a").ok());
  EXPECT_EQ(process.idleWorkers(), first);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_TRUE(process.compileToCubin(kText, "copy.cu", "sm_80").ok());
  EXPECT_EQ(process.idleWorkers(), first) << "the same one";
  EXPECT_FALSE(process.compileToCubin("no C", "bad.cu", "sm_80").ok());
  EXPECT_EQ(process.idleWorkers(), first) << "a text that is wrong does a worker no harm";
  kill(first[0], SIGKILL); // between texts: nobody needs to know
  auto threads = [&] {     // the last of which closes the worker's files
    std::error_code none;
    return std::distance(std::filesystem::directory_iterator(absl::StrCat("/proc/", first[0], "/task"), none), {});
  };
  while (contents(absl::StrCat("/proc/", first[0], "/stat")).find(") Z") == std::string::npos || threads() > 1)
    absl::SleepFor(absl::Milliseconds(1));
  absl::StatusOr<Cubin> next = process.compileToCubin(kText, "copy.cu", "sm_90a");
  EXPECT_TRUE(next.ok()) << next.status();
  EXPECT_NE(process.idleWorkers(), first);
}

TEST_F(CompileProcessTest, AWarmWorkerKeepsItsMemory) {
  CompileProcess process(worker);
  // Pages that a worker was given so far: the tenth field of its state, the eighth behind its name.
  auto pages = [&] {
    std::string state = contents(absl::StrCat("/proc/", process.idleWorkers()[0], "/stat"));
    std::vector<std::string> fields = absl::StrSplit(state.substr(state.rfind(')') + 2), ' ');
    return std::stol(fields[7]);
  };
  std::string text = chain(150);
  process.prepare();
  ASSERT_TRUE(process.compileToCubin(text, "chain.cu", "sm_90a").ok());
  const long first = pages();
  ASSERT_TRUE(process.compileToCubin(text, "chain.cu", "sm_90a").ok());
  EXPECT_LT(pages() - first, 1000) << "of " << first << " in the first text";
}

TEST_F(CompileProcessTest, AWorkerHasLimitsAndNothingOfTheParents) {
  setenv("KERNELC_TEST_SECRET", "secret", 1);
  CompileProcess process(worker);
  ASSERT_TRUE(process.compileToCubin(kText, "copy.cu", "sm_90a").ok());
  std::string folder = absl::StrCat("/proc/", process.idleWorkers()[0], "/");
  EXPECT_EQ(contents(folder + "environ").find("KERNELC_TEST_SECRET"), std::string::npos);
  EXPECT_THAT(contents(folder + "status"), HasSubstr("NoNewPrivs:\t1"));
  std::string limits = contents(folder + "limits");
  EXPECT_THAT(limits, testing::ContainsRegex("Max file size +0 +0"));
  EXPECT_THAT(limits, testing::ContainsRegex("Max open files +64 +64"));
  EXPECT_THAT(limits, testing::ContainsRegex("Max address space +4294967296 +4294967296"));
  EXPECT_THAT(limits, testing::ContainsRegex("Max cpu time +12[0-9] "));
  unsetenv("KERNELC_TEST_SECRET");
}

TEST_F(CompileProcessTest, CpuTimeIsBounded) {
  CompileLimits limits;
  limits.cpu = absl::Seconds(1);
  auto r = CompileProcess(worker, limits).compileToCubin(chain(2000), "long.cu", "sm_90a");
  EXPECT_EQ(r.status().code(), absl::StatusCode::kResourceExhausted) << r.status();
  EXPECT_THAT(std::string(r.status().message()), HasSubstr("took more than 1s of CPU time"));
}

TEST_F(CompileProcessTest, InterruptsEndALongCompilation) {
  CompileProcess process(worker);
  ASSERT_TRUE(process.compileToCubin(kText, "copy.cu", "sm_90a").ok());
  const pid_t pid = process.idleWorkers()[0];
  std::atomic<bool> stop{false};
  absl::Time asked;
  std::thread other([&] {
    absl::SleepFor(absl::Milliseconds(300));
    asked = absl::Now();
    stop = true;
  });
  auto r = process.compileToCubin(chain(2000), "long.cu", "sm_90a", {}, &stop);
  absl::Time ended = absl::Now();
  other.join();
  EXPECT_EQ(r.status(), absl::CancelledError("compiling long.cu for sm_90a was interrupted"));
  EXPECT_LT(ended - asked, absl::Seconds(1)) << "a fifth of that, but for other work on the machine";
  EXPECT_NE(kill(pid, 0), 0) << "nothing is left behind";
  // Ctrl-C reaches the whole process group, and so the worker itself.
  std::thread signal([&] {
    absl::SleepFor(absl::Milliseconds(300));
    for (pid_t child : children())
      kill(child, SIGINT);
  });
  EXPECT_EQ(process.compileToCubin(chain(2000), "long.cu", "sm_90a").status().code(), absl::StatusCode::kCancelled);
  signal.join();
  EXPECT_TRUE(process.compileToCubin(kText, "copy.cu", "sm_90a").ok());
}

// KERNELC_TEST_KILLS=1000 for more.
TEST_F(CompileProcessTest, KilledWorkersAreErrorsAndTheNextTextCompiles) {
  const char *number = std::getenv("KERNELC_TEST_KILLS");
  const int wanted = number ? std::atoi(number) : 30;
  CompileProcess process(worker);
  std::atomic<int> killed{0}, finished{0};
  std::atomic<bool> done{false};
  std::thread killer([&] {
    std::mt19937 random(20261125);
    while (!done) {
      absl::SleepFor(absl::Microseconds(random() % 60000));
      for (pid_t child : children())
        killed += kill(child, SIGKILL) == 0;
    }
  });
  std::string reference = nvrtc->compileToCubin(kText, "copy.cu", "sm_90a")->bytes;
  while (killed < wanted) {
    absl::StatusOr<Cubin> r = process.compileToCubin(kText, "copy.cu", "sm_90a");
    if (r.ok())
      EXPECT_EQ(r->bytes, reference);
    else
      EXPECT_EQ(r.status().code(), absl::StatusCode::kResourceExhausted) << r.status();
    ++finished;
  }
  done = true;
  killer.join();
  EXPECT_GE(finished.load(), 1);
  // The killer may have had the last word.
  EXPECT_TRUE(process.compileToCubin(kText, "copy.cu", "sm_90a").ok() || process.compileToCubin(kText, "copy.cu", "sm_90a").ok());
}

TEST_F(CompileProcessTest, AForkStartsItsOwnWorkersAndAnEndedParentLeavesNone) {
  CompileProcess process(worker);
  ASSERT_TRUE(process.compileToCubin(kText, "copy.cu", "sm_90a").ok());
  std::vector<int> ours = process.idleWorkers();
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  pid_t child = fork();
  if (child == 0) {
    bool good = process.idleWorkers().empty() && process.compileToCubin(kText, "copy.cu", "sm_90a").ok();
    int pid = good ? process.idleWorkers()[0] : 0;
    _exit(write(pipes[1], &pid, sizeof(pid)) == sizeof(pid) ? 0 : 1); // without destructors
  }
  int theirs = 0, status = 1;
  ASSERT_EQ(read(pipes[0], &theirs, sizeof(theirs)), ssize_t(sizeof(theirs)));
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_GT(theirs, 0);
  auto hasEnded = [&] { // or waits for somebody to ask
    return kill(theirs, 0) != 0 || contents(absl::StrCat("/proc/", theirs, "/stat")).find(") Z") != std::string::npos;
  };
  for (int i = 0; i < 500 && !hasEnded(); ++i)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(hasEnded());
  EXPECT_TRUE(process.compileToCubin(kText, "copy.cu", "sm_80").ok());
  EXPECT_EQ(process.idleWorkers(), ours);
}

TEST_F(CompileProcessTest, ThreadsCompileAtOnce) {
  CompileProcess process(worker);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] { good += process.compileToCubin(kText, "copy.cu", "sm_80").ok(); });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(good, 4);
}

TEST_F(CompileProcessTest, ThroughTheCache) {
  auto cache = open();
  CompileProcess process(worker);
  auto first = cache->compile(*nvrtc, kText, "copy.cu", "sm_90a", {}, &process);
  ASSERT_TRUE(first.ok()) << first.status();
  CompileProcess broken("/bin/false");
  auto second = cache->compile(*nvrtc, kText, "copy.cu", "sm_90a", {}, &broken);
  ASSERT_TRUE(second.ok()) << "a hit needs no compiler: " << second.status();
  EXPECT_EQ(second->bytes, first->bytes);
  EXPECT_EQ(second->log, first->log);
  EXPECT_EQ(second->kernels.size(), 1u);
  EXPECT_FALSE(cache->compile(*nvrtc, kText, "copy.cu", "sm_80", {}, &broken).ok());
  EXPECT_FALSE(cache->compile(*nvrtc, kText, "copy.cu", "sm_80", {}, &broken).ok()) << "failures are not kept";
}

} // namespace
} // namespace kernelc
