// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels and captured graphs: a cold call on a capturing stream is refused before
// anything is compiled or loaded, a warm one is captured and allocates nothing.
#include "test/runtime/CountAllocations.h"
#include "test/tools/SessionCudaFixture.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

class SessionCapture : public SessionCuda {
protected:
  void SetUp() override {
    SessionCuda::SetUp();
    if (IsSkipped())
      return;
    device_ = *(*Runtime::instance())->device(0);
    auto scope = ContextScope::enter(*device_);
    // As frameworks make them: kernelc learns of it at the call and nowhere else.
    ASSERT_EQ(device_->driver().cuStreamCreate(&stream_, cuda::kStreamNonBlocking), 0);
  }
  void begin() {
    auto scope = ContextScope::enter(*device_);
    ASSERT_EQ(device_->driver().cuStreamBeginCapture(stream_, cuda::kCaptureGlobal), 0);
  }
  /// Ends the capture and replays it.
  void replay() {
    const cuda::CudaDriver &d = device_->driver();
    auto scope = ContextScope::enter(*device_);
    cuda::Graph graph = nullptr;
    cuda::GraphExec exec = nullptr;
    ASSERT_EQ(d.cuStreamEndCapture(stream_, &graph), 0) << "the capture is broken";
    ASSERT_EQ(d.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
    ASSERT_EQ(d.cuGraphLaunch(exec, stream_), 0);
    d.cuGraphExecDestroy(exec);
    d.cuGraphDestroy(graph);
  }
  Device *device_ = nullptr;
  cuda::StreamHandle stream_ = nullptr;
};

TEST_F(SessionCapture, AColdCallIsRefusedAndTheCaptureGoesOn) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(64);
  std::vector<LaunchValue> values = valuesOf(t);
  int64_t loads = fakecuda::callCount("cuLibraryLoadData"), misses = session_->cache().counters().misses.load();
  begin();
  absl::Status cold = (*kernel)->call({Place::Cuda}, values, {}, stream_);
  EXPECT_EQ(findErrorKind(cold), RuntimeErrorKind::ColdInCapture);
  EXPECT_EQ(cold.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(cold.message()), HasSubstr("compiling and loading kernel 'scale' while a stream is capturing a graph"));
  EXPECT_EQ(findErrorKind((*kernel)->bind({Place::Cuda}, values, {}, stream_).status()), RuntimeErrorKind::ColdInCapture);
  EXPECT_EQ(fakecuda::callCount("cuLibraryLoadData"), loads);
  EXPECT_EQ(session_->cache().counters().misses.load(), misses) << "nothing was compiled";
  replay();

  // The same call works once the capture has ended.
  scaleOnHost(prepare(**kernel, values));
  EXPECT_EQ((*kernel)->call({Place::Cuda}, values, {}, stream_), absl::OkStatus());
  EXPECT_EQ(t[2].as<float>()[5], 15);
  EXPECT_THAT(fakecuda::misuses(), testing::IsEmpty());
}

TEST_F(SessionCapture, AWarmCallIsCaptured) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(64);
  std::vector<LaunchValue> values = valuesOf(t);
  scaleOnHost(prepare(**kernel, values));
  ASSERT_EQ((*kernel)->call({Place::Cuda}, values), absl::OkStatus()); // on another stream
  *t[2].as<float>() = t[2].as<float>()[5] = -1;
  begin();
  ASSERT_EQ((*kernel)->call({Place::Cuda}, values, {}, stream_), absl::OkStatus());
  EXPECT_EQ(t[2].as<float>()[5], -1) << "captured, not run";
  replay();
  EXPECT_EQ(t[2].as<float>()[5], 15);
  EXPECT_THAT(fakecuda::misuses(), testing::IsEmpty());
}

// Loaded, but for other sizes: still cold.
TEST_F(SessionCapture, AnotherVariantIsCold) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(64), odd = tensors(63);
  scaleOnHost(prepare(**kernel, valuesOf(t)));
  ASSERT_EQ((*kernel)->call({Place::Cuda}, valuesOf(t), {}, stream_), absl::OkStatus());
  begin();
  EXPECT_EQ(findErrorKind((*kernel)->call({Place::Cuda}, valuesOf(odd), {}, stream_)), RuntimeErrorKind::ColdInCapture);
  EXPECT_EQ((*kernel)->call({Place::Cuda}, valuesOf(t), {}, stream_), absl::OkStatus());
  replay();
}

TEST_F(SessionCapture, ABoundLaunchAllocatesNothing) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(64);
  std::vector<LaunchValue> values = valuesOf(t);
  scaleOnHost(prepare(**kernel, values));
  auto bound = (*kernel)->bind({Place::Cuda}, values);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->launch(stream_), absl::OkStatus());
  absl::Status status;
  int64_t calls = fakecuda::callCount("cuMemAlloc");
  EXPECT_EQ(countAllocations([&] { status = bound->launch(stream_); }), 0);
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(fakecuda::callCount("cuMemAlloc"), calls);
}

} // namespace
} // namespace kernelc
