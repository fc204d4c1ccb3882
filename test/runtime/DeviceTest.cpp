// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Driver loading, devices, contexts, streams, events and buffers on the fake driver.
#include "runtime/Device.h"

#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include "test/runtime/FakeDeviceTest.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

TEST(CudaDriverLoad, MissingLibrary) {
  auto d = cuda::CudaDriver::load("/nonexistent/libcuda.so.1");
  ASSERT_FALSE(d.ok());
  EXPECT_EQ(d.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(d.status().message()), HasSubstr("/nonexistent/libcuda.so.1"));
  EXPECT_THAT(std::string(d.status().message()), HasSubstr("KERNELC_LIBCUDA"));
}

TEST(CudaDriverLoad, NotADriver) {
  auto d = cuda::CudaDriver::load("libm.so.6");
  EXPECT_EQ(d.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(CudaDriverLoad, EnvironmentOverrides) {
  fakecuda::reset();
  setenv("KERNELC_LIBCUDA", KERNELC_FAKE_LIBCUDA, 1);
  auto d = cuda::CudaDriver::load();
  unsetenv("KERNELC_LIBCUDA");
  ASSERT_TRUE(d.ok()) << d.status();
  EXPECT_EQ((*d)->version(), 13000);
  EXPECT_EQ((*d)->path(), KERNELC_FAKE_LIBCUDA);
  EXPECT_STREQ((*d)->errorName(700), "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_STREQ((*d)->errorName(123456), "CUDA_ERROR_UNKNOWN");
}

TEST(CudaDriverLoad, OldDriverNamesWhatItLacks) {
  fakecuda::reset();
  fakecuda::hideFunction("cuLibraryLoadData");
  fakecuda::hideFunction("cuTensorMapEncodeTiled");
  auto d = cuda::CudaDriver::load(KERNELC_FAKE_LIBCUDA);
  EXPECT_EQ(d.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(d.status().message()), HasSubstr("cuLibraryLoadData, cuTensorMapEncodeTiled"));
  fakecuda::reset();
  fakecuda::hideFunction("cuFuncLoad"); // optional: CUDA 12.4
  EXPECT_TRUE(cuda::CudaDriver::load(KERNELC_FAKE_LIBCUDA).ok());
}

TEST(CudaDriverLoad, NoDevice) {
  fakecuda::reset();
  fakecuda::setDeviceCount(0);
  auto r = Runtime::create(KERNELC_FAKE_LIBCUDA);
  EXPECT_EQ(r.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(r.status().message()), HasSubstr("CUDA_ERROR_NO_DEVICE"));
}

TEST(DeviceInfo, Targets) {
  DeviceInfo h200{"H200", 9, 0}, a100{"A100", 8, 0}, l4{"L4", 8, 9};
  EXPECT_EQ(h200.target(), "sm_90a");
  EXPECT_EQ(a100.target(), "sm_80");
  EXPECT_TRUE(h200.canRun("sm_90a"));
  EXPECT_TRUE(h200.canRun("sm_90"));
  EXPECT_FALSE(h200.canRun("sm_80"));
  EXPECT_FALSE(h200.canRun("sm_100a"));
  EXPECT_TRUE(l4.canRun("sm_80"));
  EXPECT_FALSE(a100.canRun("sm_89"));
  EXPECT_FALSE(a100.canRun("compute_80"));
  EXPECT_FALSE(a100.canRun(""));
  EXPECT_FALSE(a100.canRun("sm_"));
}

TEST(RuntimeErrors, StickyCodes) {
  for (int sticky : {226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911})
    EXPECT_TRUE(isSticky(sticky)) << sticky;
  for (int transient : {0, 1, 2, 600, 701, 900})
    EXPECT_FALSE(isSticky(transient)) << transient;
}

TEST(RuntimeErrors, KindsTravelWithTheStatus) {
  for (auto k : {RuntimeErrorKind::DeviceLost, RuntimeErrorKind::ForkedContext, RuntimeErrorKind::ColdInCapture,
                 RuntimeErrorKind::NoVariant, RuntimeErrorKind::NotLoaded, RuntimeErrorKind::InvalidImage})
    EXPECT_EQ(findErrorKind(withKind(absl::InternalError("x"), k)), k);
  EXPECT_EQ(findErrorKind(absl::InternalError("x")), std::nullopt);
}

using DeviceTest = FakeDeviceTest;

TEST_F(DeviceTest, KnowsItsFacts) {
  EXPECT_EQ(runtime->deviceCount(), 2);
  EXPECT_EQ(device->info().name, "Fake H200");
  EXPECT_EQ(device->info().smCount, 132);
  EXPECT_EQ(device->info().maxSharedBytes, 232448);
  EXPECT_EQ(*runtime->device(0), device);
  EXPECT_NE(*runtime->device(1), device);
  auto none = runtime->device(2);
  EXPECT_EQ(none.status().message(), "no CUDA device 2: the driver shows 2");
  EXPECT_FALSE(runtime->device(-1).ok());
}

TEST_F(DeviceTest, RestoresTheCallersContext) {
  fakecuda::pushForeignContext();
  cuda::Context foreign = fakecuda::currentContext();
  {
    auto stream = makeStream();
    auto buffer = Buffer::allocate(*device, 100);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(fakecuda::currentContext(), foreign);
    EXPECT_TRUE(stream->synchronize().ok());
    EXPECT_TRUE(device->synchronize().ok());
    EXPECT_EQ(fakecuda::currentContext(), foreign);
  }
  EXPECT_EQ(fakecuda::currentContext(), foreign);
  cuda::Context popped;
  runtime->driver().cuCtxPopCurrent(&popped);
}

TEST_F(DeviceTest, BuffersCopy) {
  auto stream = makeStream();
  auto buffer = Buffer::allocate(*device, 16);
  ASSERT_TRUE(buffer.ok());
  int in[4] = {1, 2, 3, 4}, out[4] = {};
  ASSERT_TRUE(buffer->copyFromHost(in, 16, *stream).ok());
  ASSERT_TRUE(buffer->copyToHost(out, 8, *stream, 8).ok());
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], 4);
  ASSERT_TRUE(buffer->fill(0, *stream).ok());
  ASSERT_TRUE(buffer->copyToHost(out, 16, *stream).ok());
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(buffer->copyToHost(out, 9, *stream, 8).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(buffer->copyFromHost(in, 1, *stream, SIZE_MAX).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(DeviceTest, EmptyBuffersAndMoves) {
  auto stream = makeStream();
  auto empty = Buffer::allocate(*device, 0);
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->address(), 0u);
  EXPECT_TRUE(empty->fill(1, *stream).ok());
  auto a = Buffer::allocate(*device, 8);
  Buffer b = std::move(*a);
  *a = std::move(b);
  EXPECT_NE(a->address(), 0u);
  EXPECT_EQ(b.address(), 0u);
}

TEST_F(DeviceTest, OutOfMemoryIsNotFinal) {
  auto big = Buffer::allocate(*device, size_t(1) << 40);
  EXPECT_EQ(big.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(big.status().message()), HasSubstr("1099511627776 bytes: CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_TRUE(Buffer::allocate(*device, 64).ok());
}

TEST_F(DeviceTest, Events) {
  auto stream = makeStream();
  auto a = Event::create(*device), b = Event::create(*device);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_FALSE((*b)->millisecondsSince(**a).ok()) << "not recorded yet";
  ASSERT_TRUE((*a)->record(*stream).ok());
  ASSERT_TRUE((*b)->record(*stream).ok());
  ASSERT_TRUE((*b)->synchronize().ok());
  EXPECT_TRUE(*(*b)->isDone());
  EXPECT_FLOAT_EQ(*(*b)->millisecondsSince(**a), 0.5f);
  EXPECT_TRUE(stream->waitFor(**a).ok());
}

TEST_F(DeviceTest, WorkspaceGrowsOnceAndStays) {
  auto stream = makeStream();
  auto small = stream->workspace(1000);
  auto large = stream->workspace(100000);
  ASSERT_TRUE(small.ok() && large.ok());
  EXPECT_NE(*small, *large);
  EXPECT_EQ(*small % 256, 0u);
  int64_t allocations = fakecuda::callCount("cuMemAlloc");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(*stream->workspace(1000 * i), *large);
  EXPECT_EQ(fakecuda::callCount("cuMemAlloc"), allocations);
  memset(reinterpret_cast<void *>(*small), 1, 1000); // still valid: a graph may hold it
}

// A stream that kernelc never saw: the default stream answers for blocking ones, the
// caller has to name others.
TEST_F(DeviceTest, CapturesOfUnknownStreamsAreFound) {
  const cuda::CudaDriver &d = runtime->driver();
  auto scope = ContextScope::enter(*device);
  for (unsigned flags : {0u, unsigned(cuda::kStreamNonBlocking)}) {
    cuda::StreamHandle theirs = nullptr;
    ASSERT_EQ(d.cuStreamCreate(&theirs, flags), 0);
    EXPECT_TRUE(device->checkNoCapture("loading", theirs).ok());
    ASSERT_EQ(d.cuStreamBeginCapture(theirs, cuda::kCaptureGlobal), 0);
    EXPECT_EQ(device->checkNoCapture("loading").ok(), flags != 0);
    absl::Status named = device->checkNoCapture("loading", theirs);
    EXPECT_EQ(findErrorKind(named), RuntimeErrorKind::ColdInCapture);
    EXPECT_THAT(std::string(named.message()), testing::HasSubstr("loading while a stream is capturing a graph would break the capture"));
    cuda::Graph graph = nullptr;
    EXPECT_EQ(d.cuStreamEndCapture(theirs, &graph), 0) << "asking left the capture intact";
    d.cuGraphDestroy(graph);
    EXPECT_TRUE(device->checkNoCapture("loading", theirs).ok());
    d.cuStreamDestroy(theirs);
  }
}

TEST_F(DeviceTest, WorkspaceDoesNotGrowInCapture) {
  auto stream = makeStream();
  auto scope = ContextScope::enter(*device);
  ASSERT_TRUE(stream->workspace(1000).ok());
  ASSERT_EQ(runtime->driver().cuStreamBeginCapture(stream->handle(), cuda::kCaptureGlobal), 0);
  EXPECT_TRUE(stream->workspace(1000).ok());
  auto cold = stream->workspace(1 << 20);
  EXPECT_EQ(findErrorKind(cold.status()), RuntimeErrorKind::ColdInCapture);
  cuda::Graph graph = nullptr;
  EXPECT_EQ(runtime->driver().cuStreamEndCapture(stream->handle(), &graph), 0) << "the capture is intact";
  runtime->driver().cuGraphDestroy(graph);
}

TEST_F(DeviceTest, StickyErrorsLatch) {
  expectLost = true;
  auto stream = makeStream();
  auto buffer = Buffer::allocate(*device, 64);
  const LaunchNote *note = device->internNote({"kc_bad", {"bad.kc", 7, 1}});
  EXPECT_EQ(note, device->internNote({"kc_bad", {"bad.kc", 7, 1}}));
  device->recordLaunch(note);
  fakecuda::failCall(1, 700); // 0 is cuCtxGetCurrent
  absl::Status first = device->synchronize();
  EXPECT_EQ(findErrorKind(first), RuntimeErrorKind::DeviceLost);
  EXPECT_THAT(std::string(first.message()), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_THAT(std::string(first.message()), HasSubstr("kc_bad (bad.kc:7)"));
  int64_t calls = fakecuda::callCount();
  EXPECT_EQ(stream->synchronize(), first) << "later calls repeat the first error";
  EXPECT_EQ(Buffer::allocate(*device, 8).status(), first);
  EXPECT_EQ(fakecuda::callCount(), calls) << "and do not reach the driver";
  auto other = runtime->device(1);
  (void)other; // the fake driver is dead by now; only no crash is asked for
}

TEST_F(DeviceTest, ForkedChildIsTold) {
  auto stream = makeStream();
  auto buffer = Buffer::allocate(*device, 64);
  pid_t child = fork();
  if (child == 0) {
    int64_t calls = fakecuda::callCount();
    bool ok = findErrorKind(stream->synchronize()) == RuntimeErrorKind::ForkedContext &&
              findErrorKind(Buffer::allocate(*device, 1).status()) == RuntimeErrorKind::ForkedContext &&
              findErrorKind(runtime->device(0).status()) == RuntimeErrorKind::ForkedContext;
    stream.reset();
    {
      Buffer moved = std::move(*buffer);
    }
    ok &= fakecuda::callCount() == calls;
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(stream->synchronize().ok()) << "the parent goes on";
}

TEST_F(DeviceTest, BorrowedStreamsAreNotDestroyed) {
  {
    auto s = Stream::borrow(*device, nullptr);
    EXPECT_TRUE(s->synchronize().ok());
  }
  EXPECT_EQ(fakecuda::callCount("cuStreamDestroy"), 0);
}

} // namespace
} // namespace kernelc
