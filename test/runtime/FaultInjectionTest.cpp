// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every driver call of a whole session fails once, with an ordinary, a memory and a
// sticky error: each time a status comes back, nothing leaks, nothing crashes, and
// no rule of the driver is broken.
#include "runtime/LoadedKernel.h"

#include "test/runtime/FakeDeviceTest.h"
#include "test/runtime/TestKernels.h"

namespace kernelc {
namespace {

using namespace testing_kernels;

/// Uses everything the runtime has; stops at the first failure.
absl::Status session() {
  auto runtime = Runtime::create(KERNELC_FAKE_LIBCUDA);
  if (!runtime.ok())
    return runtime.status();
  auto device = (*runtime)->device(1);
  if (!device.ok())
    return device.status();
  auto stream = Stream::create(**device);
  if (!stream.ok())
    return stream.status();
  auto borrowed = Stream::borrow(**device, nullptr);
  auto start = Event::create(**device), stop = Event::create(**device, true);
  if (!start.ok() || !stop.ok())
    return start.ok() ? stop.status() : start.status();
  auto memory = (*device)->queryMemory();
  if (!memory.ok())
    return memory.status();

  auto kernel = LoadedKernel::create(**device, matmul());
  if (!kernel.ok())
    return kernel.status();
  const std::string product = fakecuda::makeCubin({{"kc_mm", {128, 128, 8, 8, 4, 8}, 384, 1024}}),
                    reduction = fakecuda::makeCubin({{"kc_mm_reduce", {8, 8}}});
  KERNELC_RETURN_IF_ERROR((*kernel)->loadVariant(0, std::vector<absl::string_view>{product, reduction}));
  auto x = Buffer::allocate(**device, 128 * 64 * 2), y = Buffer::allocate(**device, 128 * 128 * 2);
  if (!x.ok() || !y.ok())
    return x.ok() ? y.status() : x.status();
  std::vector<char> host(128 * 64 * 2);
  KERNELC_RETURN_IF_ERROR(x->copyFromHost(host.data(), host.size(), **stream));
  KERNELC_RETURN_IF_ERROR(y->fill(0, **stream));
  KERNELC_RETURN_IF_ERROR((*start)->record(**stream));
  for (int64_t k : {64, 0}) {
    std::vector<LaunchValue> args = {tensor(x->data(), ElementType::bf16, {128, k}), tensor(x->data(), ElementType::bf16, {128, k}),
                                     tensor(y->data(), ElementType::bf16, {128, 128})};
    for (LaunchValue &v : args)
      std::get<DeviceTensor>(v).device = 1;
    auto bound = (*kernel)->bind(args);
    if (!bound.ok())
      return bound.status();
    KERNELC_RETURN_IF_ERROR(bound->launch(**stream));
    KERNELC_RETURN_IF_ERROR(bound->launch(*borrowed));
  }
  KERNELC_RETURN_IF_ERROR((*stop)->record(**stream));
  KERNELC_RETURN_IF_ERROR((*stream)->waitFor(**stop));
  KERNELC_RETURN_IF_ERROR((*stop)->synchronize());
  if (auto done = (*stop)->isDone(); !done.ok())
    return done.status();
  if (auto ms = (*stop)->millisecondsSince(**start); !ms.ok())
    return ms.status();
  KERNELC_RETURN_IF_ERROR(x->copyToHost(host.data(), host.size(), **stream));
  return (*device)->synchronize();
}

class FaultInjection : public testing::TestWithParam<cuda::Result> {};

TEST_P(FaultInjection, EveryCallSite) {
  fakecuda::reset();
  ASSERT_TRUE(session().ok()) << session();
  ASSERT_EQ(fakecuda::liveObjects(), 0);
  fakecuda::reset();
  ASSERT_TRUE(session().ok());
  int64_t calls = fakecuda::callCount();
  ASSERT_GT(calls, 100);
  int reported = 0;
  for (int64_t n = 0; n < calls; ++n) {
    fakecuda::reset();
    fakecuda::failCall(n, GetParam());
    absl::Status status = session();
    ASSERT_TRUE(fakecuda::failureDelivered()) << "call " << n;
    // Failures in destructors and of calls with a second try have nobody to report to.
    reported += !status.ok();
    bool sticky = isSticky(GetParam());
    // What a destroying call that failed did not destroy stays, and nothing else.
    if (!sticky && !status.ok())
      EXPECT_LE(fakecuda::liveObjects(), 1) << "call " << n << ": " << status;
    EXPECT_THAT(fakecuda::misuses(), testing::IsEmpty()) << "call " << n;
    EXPECT_EQ(fakecuda::currentContext(), nullptr) << "call " << n << ": " << status;
    if (sticky && !status.ok() && n > 20)
      EXPECT_EQ(findErrorKind(status), RuntimeErrorKind::DeviceLost) << "call " << n << ": " << status;
  }
  EXPECT_GT(reported, calls * 3 / 5);
  fakecuda::reset();
}

INSTANTIATE_TEST_SUITE_P(Errors, FaultInjection, testing::Values(1, 2, 700));

} // namespace
} // namespace kernelc
