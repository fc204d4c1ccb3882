// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order between streams that others made, on FakeCuda, whose log says what waits for what.
#include "runtime/StreamOrder.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "test/runtime/FakeDeviceTest.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

class StreamOrder : public FakeDeviceTest {
protected:
  static std::string nameOf(cuda::StreamHandle s) { return absl::StrCat(reinterpret_cast<uintptr_t>(s)); }
};

TEST_F(StreamOrder, TheLaterStreamWaitsForTheEarlierOne) {
  auto a = makeStream(), b = makeStream();
  struct {
    cuda::StreamHandle later, earlier;
    std::string log;
  } cases[] = {{a->handle(), b->handle(), absl::StrCat("wait ", nameOf(a->handle()), " for ", nameOf(b->handle()), "\n")},
               {a->handle(), a->handle(), ""},
               {nullptr, b->handle(), absl::StrCat("wait 0 for ", nameOf(b->handle()), "\n")},
               {a->handle(), nullptr, absl::StrCat("wait ", nameOf(a->handle()), " for 0\n")},
               {a->handle(), cuda::kStreamPerThread, absl::StrCat("wait ", nameOf(a->handle()), " for 2\n")}};
  for (const auto &c : cases) {
    fakecuda::clearStreamLog();
    int64_t alive = fakecuda::liveObjects();
    EXPECT_EQ(orderStreams(*device, c.later, c.earlier), absl::OkStatus());
    EXPECT_EQ(fakecuda::streamLog(), c.log);
    EXPECT_EQ(fakecuda::liveObjects(), alive) << "an event stayed";
  }
  EXPECT_EQ(synchronizeStream(*device, a->handle()), absl::OkStatus());
  EXPECT_THAT(fakecuda::streamLog(), HasSubstr(absl::StrCat("synchronize ", nameOf(a->handle()))));
}

TEST_F(StreamOrder, FailuresNameTheCall) {
  auto a = makeStream(), b = makeStream();
  for (const char *name : {"cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"}) {
    // The calls before it: the context's, and those of this list.
    for (int n = 0; n < 8; ++n) {
      fakecuda::failCall(n, cuda::kInvalidValue);
      absl::Status s = orderStreams(*device, a->handle(), b->handle());
      if (absl::StrContains(s.message(), name))
        break;
      ASSERT_LT(n, 7) << name << " never failed";
    }
    fakecuda::failCall(1 << 30, cuda::kInvalidValue);
  }
}

TEST_F(StreamOrder, MemorySaysItsDevice) {
  auto buffer = Buffer::allocate(*device, 64);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_EQ(*findMemoryDevice(*runtime, buffer->data()), 0);
  void *other = fakecuda_new_memory(1, 64);
  EXPECT_EQ(*findMemoryDevice(*runtime, static_cast<char *>(other) + 63), 1);
  fakecuda_make_foreign(other);
  absl::Status foreign = findMemoryDevice(*runtime, other).status();
  EXPECT_EQ(foreign.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(foreign.message()), HasSubstr("belongs to a CUDA context that another library made"));
  int local = 0;
  EXPECT_EQ(findMemoryDevice(*runtime, &local).status().code(), absl::StatusCode::kInvalidArgument);
  auto scope = ContextScope::enter(*device);
  EXPECT_EQ(device->driver().cuMemFree(reinterpret_cast<cuda::DevicePtr>(other)), cuda::kSuccess);
}

} // namespace
} // namespace kernelc
