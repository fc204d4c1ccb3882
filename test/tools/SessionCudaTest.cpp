// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The session's GPU path without a GPU; see SessionCudaFixture.h.
#include "test/tools/SessionCudaFixture.h"

#include <algorithm>
#include <thread>

#include "driver/jit/Faults.h"
#include "driver/jit/HostRun.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

TEST_F(SessionCuda, CopiesLaunchesAndCopiesBack) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(100);
  scaleOnHost(prepare(**kernel, valuesOf(t)));
  CallReport report;
  ASSERT_EQ(runOnHost(**kernel, {Place::Cuda}, t, {}, &report), absl::OkStatus());
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(t[2].as<float>()[i], 3 * i);
  EXPECT_THAT(fakecuda::misuses(), testing::IsEmpty());
}

TEST_F(SessionCuda, ABoundCallLaunchesWithoutLoadingAgain) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(64);
  std::vector<LaunchValue> values = valuesOf(t); // the fake's device memory is the host's
  scaleOnHost(prepare(**kernel, values));
  auto bound = (*kernel)->bind({Place::Cuda}, values);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->numLaunches(), 1);
  int64_t loads = fakecuda::callCount("cuLibraryLoadData"), allocations = fakecuda::callCount("cuMemAlloc");
  size_t before = fakecuda::launches().size();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(bound->launch(nullptr), absl::OkStatus());
  auto again = (*kernel)->bind({Place::Cuda}, values);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(fakecuda::callCount("cuLibraryLoadData"), loads);
  EXPECT_EQ(fakecuda::callCount("cuMemAlloc"), allocations);
  EXPECT_EQ(fakecuda::launches().size(), before + 3);
  EXPECT_EQ(t[2].as<float>()[5], 15);
  // As aligned as any address that was bound, whatever the allocator gave.
  alignas(256) float x[64], y[64];
  std::copy_n(t[1].as<float>(), 64, x);
  std::vector<NewArgument> next = {{nullptr, ScalarValue::fromDouble(ElementType::f32, 7)->bits}, {x}, {y}};
  ASSERT_EQ(bound->rebind(next), absl::OkStatus());
  ASSERT_EQ(bound->launch(nullptr), absl::OkStatus());
  EXPECT_EQ(y[5], 35) << "another scalar, another result";
  EXPECT_EQ(t[2].as<float>()[5], 15);
}

/// y[n] = table[x[n]] of 10 and 4 elements, whose guard finds the points of `found`, one a launch; -1: none.
class SessionCudaGuards : public SessionCuda {
protected:
  void SetUp() override {
    SessionCuda::SetUp();
    if (IsSkipped())
      return;
    auto kernel = session_->compile("def f(table: f32[V], x: i32[N]) -> (y: f32[N]) { y[n] = table[x[n]] }");
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    kernel_ = *kernel;
    values_ = {table_.deviceTensor(), x_.deviceTensor(), y_.deviceTensor()};
    Kernel k = prepare(*kernel_, values_);
    for (const Launch &l : k.variants[0].launches)
      for (size_t i = 0; i < l.args.size(); ++i)
        if (auto *p = std::get_if<PointerArg>(&l.args[i]); p && p->param == kernel_->recordParam())
          fakecuda::onLaunch(l.entry, [this, i](const fakecuda::Launched &launched) {
            auto *record = launched.arg<int64_t *>(int(i));
            int64_t point = next_ < found_.size() ? found_[next_++] : -1;
            *record = point < 0 ? *record : std::min(*record, point);
          });
  }
  std::vector<int64_t> found_;
  size_t next_ = 0;
  HostTensor table_{ElementType::f32, {10}}, x_{ElementType::i32, {4}}, y_{ElementType::f32, {4}};
  std::shared_ptr<JitKernel> kernel_;
  std::vector<LaunchValue> values_;
};

TEST_F(SessionCudaGuards, SayWhatTheyFoundAtTheNextCallAndOnce) {
  found_ = {-1, 2, 1};
  auto bound = kernel_->bind({Place::Cuda}, values_);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->launch(nullptr), absl::OkStatus());
  EXPECT_EQ(bound->launch(nullptr), absl::OkStatus()) << "it is running still";
  absl::Status said = bound->launch(nullptr);
  EXPECT_EQ(said.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(said.message(), HasSubstr(":1:63: subscript 0 of 'table' leaves 0:V at n = 2 (kernel 'f')"));
  EXPECT_EQ(bound->launch(nullptr), absl::OkStatus()) << "said once; this launch finds the next";
  EXPECT_THAT(kernel_->call({Place::Cuda}, values_).message(), HasSubstr("at n = 1")) << "of any call of the kernel";
  EXPECT_EQ(kernel_->call({Place::Cuda}, values_), absl::OkStatus());
  EXPECT_THAT(fakecuda::misuses(), testing::IsEmpty());
}

TEST_F(SessionCudaGuards, SayWhatTheyFoundAtASynchronisation) {
  found_ = {3};
  ASSERT_EQ(kernel_->call({Place::Cuda}, values_), absl::OkStatus());
  EXPECT_THAT(DeviceFaults::takeAny().message(), HasSubstr("at n = 3"));
  EXPECT_EQ(DeviceFaults::takeAny(), absl::OkStatus());
}

TEST_F(SessionCudaGuards, SayAtOnceWhatTheyFoundWhereTheCallWaits) {
  found_ = {0};
  std::vector<HostTensor> all;
  all.push_back(std::move(table_));
  all.push_back(std::move(x_));
  all.emplace_back(ElementType::i64, std::vector<int64_t>{1});
  all.push_back(std::move(y_));
  EXPECT_THAT(runOnHost(*kernel_, {Place::Cuda}, all).message(), HasSubstr("at n = 0"));
  EXPECT_EQ(runOnHost(*kernel_, {Place::Cuda}, all), absl::OkStatus());
}

TEST_F(SessionCuda, ARefusedCubinIsCompiledAgainOnce) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(32);
  Kernel k = prepare(**kernel, valuesOf(t));
  store(k.variants[0], "not a cubin");
  // FakeCuda refuses NVRTC's cubin too: the second refusal is final and says so.
  absl::Status s = runOnHost(**kernel, {Place::Cuda}, t);
  EXPECT_EQ(findErrorKind(s), RuntimeErrorKind::InvalidImage) << s;
}

TEST_F(SessionCuda, StridesReachTheLaunch) {
  auto kernel = session_->compile("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> x(200), y(64);
  DeviceTensor tx{x.data(), ElementType::f32, {8, 8}, {2, 20}, 0}, ty{y.data(), ElementType::f32, {8, 8}, {8, 1}, 0};
  Kernel k = prepare(**kernel, {tx, ty});
  EXPECT_EQ(k.variants[0].params[0].layout, LayoutClass::Any);
  EXPECT_EQ(k.variants[0].params[1].layout, LayoutClass::Dense);
  auto bound = (*kernel)->bind({Place::Cuda}, {tx, ty});
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->launch(nullptr), absl::OkStatus());
  const Launch &l = k.variants[0].launches[0];
  std::vector<int> strides;
  for (size_t i = 0; i < l.args.size(); ++i)
    if (auto *size = std::get_if<SizeArg>(&l.args[i]); size && size->value.terms()[0].op == SizeTerm::Stride)
      strides.push_back(fakecuda::launches().back().arg<int>(i));
  EXPECT_EQ(strides, (std::vector<int>{2, 20}));
}

TEST_F(SessionCuda, AnArtifactRefusesAnotherLayoutByName) {
  auto kernel = session_->compile("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> x(200), y(64);
  DeviceTensor tx{x.data(), ElementType::f32, {8, 8}, {8, 1}, 0}, ty{y.data(), ElementType::f32, {8, 8}, {8, 1}, 0};
  Kernel k = prepare(**kernel, {tx, ty});
  auto select = [&](const DeviceTensor &t) {
    auto args = checkArguments(k, {t, ty}, {}, 0, 1);
    return args.ok() ? selectVariant(k, *args).status() : args.status();
  };
  EXPECT_EQ(select(tx), absl::OkStatus());
  DeviceTensor transposed = tx, shifted = tx;
  transposed.strides = {1, 8};
  shifted.data = x.data() + 1;
  EXPECT_EQ(findErrorKind(select(transposed)), RuntimeErrorKind::NoVariant);
  EXPECT_THAT(std::string(select(transposed).message()), HasSubstr("needs 'x' with dense row-major"));
  EXPECT_THAT(std::string(select(shifted).message()), HasSubstr("needs 'x' aligned to 16 bytes"));
}

TEST_F(SessionCuda, TensorsOfAnotherDeviceAreRefused) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(8);
  std::vector<LaunchValue> values = valuesOf(t);
  std::get<DeviceTensor>(values[1]).device = 1;
  EXPECT_THAT(std::string((*kernel)->bind({Place::Cuda}, values).status().message()), HasSubstr("is on CUDA device 1"));
}

/// The addresses of workspaces that the last launch of `kernel` got.
std::vector<uint64_t> workspacesOf(const Kernel &kernel) {
  std::vector<uint64_t> addresses;
  const std::vector<LaunchArg> &args = kernel.variants[0].launches.back().args;
  for (size_t i = 0; i < args.size(); ++i)
    if (auto *p = std::get_if<PointerArg>(&args[i]); p && p->param < 0)
      addresses.push_back(fakecuda::launches().back().arg<uint64_t>(i));
  return addresses;
}

TEST_F(SessionCuda, ThreadsShareNoWorkspaceOnTheirOwnStreams) {
  auto kernel = session_->compile("def s(x: f32[N]) -> (y: f32[]) { y[] = sum[i](x[i]) }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> x(1 << 20), y(2);
  auto valuesFor = [&](int thread) {
    return std::vector<LaunchValue>{DeviceTensor{x.data(), ElementType::f32, {1 << 20}, {1}, 0},
                                    DeviceTensor{y.data() + thread, ElementType::f32, {}, {}, 0}};
  };
  Kernel k = prepare(**kernel, valuesFor(0));
  auto bound = (*kernel)->bind({Place::Cuda}, valuesFor(0));
  ASSERT_TRUE(bound.ok()) << bound.status();
  auto launch = [&](cuda::StreamHandle stream) {
    EXPECT_EQ(bound->launch(stream), absl::OkStatus());
    return workspacesOf(k);
  };
  std::vector<uint64_t> own = launch(cuda::kStreamPerThread), other, afterwards, shared = launch(nullptr), fromOther;
  ASSERT_FALSE(own.empty()) << "the kernel has no workspace";
  std::thread([&] { other = launch(cuda::kStreamPerThread), fromOther = launch(nullptr); }).join();
  afterwards = launch(cuda::kStreamPerThread);
  EXPECT_NE(own, other);
  EXPECT_EQ(own, afterwards);
  EXPECT_EQ(shared, fromOther) << "one stream, one workspace";
}

} // namespace
} // namespace kernelc
