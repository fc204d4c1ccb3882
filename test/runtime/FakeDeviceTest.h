// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fixture with two fake GPUs. TearDown checks that everything was given back and
// that no rule of the driver was broken.
#pragma once

#include <gmock/gmock.h>

#include "runtime/Stream.h"
#include "test/runtime/FakeCuda.h"

namespace kernelc {

class FakeDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    fakecuda::reset();
    auto r = Runtime::create(KERNELC_FAKE_LIBCUDA);
    ASSERT_TRUE(r.ok()) << r.status();
    runtime = std::move(*r);
    auto d = runtime->device(0);
    ASSERT_TRUE(d.ok()) << d.status();
    device = *d;
  }
  void TearDown() override {
    runtime.reset();
    if (!expectLost)
      EXPECT_EQ(fakecuda::liveObjects(), 0) << "something leaked";
    EXPECT_THAT(fakecuda::misuses(), testing::IsEmpty());
    EXPECT_EQ(fakecuda::currentContext(), nullptr) << "the caller's context was not restored";
    fakecuda::reset();
  }
  std::unique_ptr<Stream> makeStream() {
    auto s = Stream::create(*device);
    EXPECT_TRUE(s.ok()) << s.status();
    return std::move(*s);
  }
  std::unique_ptr<Runtime> runtime;
  Device *device = nullptr;
  bool expectLost = false; ///< a lost device frees nothing
};

} // namespace kernelc
