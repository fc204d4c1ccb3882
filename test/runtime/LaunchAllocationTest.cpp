// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A warm launch asks the heap for nothing: neither of the host nor of the driver.
#include "test/runtime/CountAllocations.h"
#include "test/runtime/FakeDeviceTest.h"
#include "test/runtime/TestKernels.h"

#include "runtime/LoadedKernel.h"

namespace kernelc {
namespace {

using LaunchAllocation = FakeDeviceTest;

TEST_F(LaunchAllocation, TheCounterSeesWhatIsAllocated) {
  EXPECT_EQ(countAllocations([] {}), 0);
  std::vector<int> v;
  EXPECT_GT(countAllocations([&] { v.resize(1000); }), 0);
}

// Two launches, tensor maps, a workspace, a cluster.
TEST_F(LaunchAllocation, WarmLaunchesAllocateNothing) {
  auto kernel = LoadedKernel::create(*device, testing_kernels::matmul());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::string cubin = fakecuda::makeCubin({{"kc_mm", {128, 128, 8, 8, 4, 8}, 384, 1024}, {"kc_mm_reduce", {8, 8}}});
  ASSERT_TRUE((*kernel)->loadVariant(0, cubin).ok());
  constexpr auto t = ElementType::bf16;
  std::vector<LaunchValue> values{testing_kernels::tensorAt(1 << 20, t, {128, 64}), testing_kernels::tensorAt(2 << 20, t, {128, 64}),
                                  testing_kernels::tensorAt(3 << 20, t, {128, 128})};
  auto bound = (*kernel)->bind(values);
  ASSERT_TRUE(bound.ok()) << bound.status();
  auto stream = makeStream();
  ASSERT_TRUE(bound->launch(*stream).ok()); // the stream's workspace
  absl::Status status;
  EXPECT_EQ(countAllocations([&] { status = bound->launch(*stream); }), 0);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(fakecuda::launches().size(), 4u);
}

} // namespace
} // namespace kernelc
