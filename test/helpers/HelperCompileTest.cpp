// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every helper case compiles with NVRTC for the device it is meant for, without a
// word of complaint: no GPU is needed to find a mistake in the PTX.
#include <gtest/gtest.h>

#include "runtime/Nvrtc.h"
#include "test/helpers/HelperCase.h"

namespace kernelc::helpers {
namespace {

class HelperCompile : public testing::TestWithParam<HelperCaseMaker> {};

TEST_P(HelperCompile, WithoutComplaints) {
  static auto *nvrtc = new absl::StatusOr<std::unique_ptr<Nvrtc>>(Nvrtc::load());
  if (!nvrtc->ok())
    GTEST_SKIP() << nvrtc->status();
  HelperCase c = GetParam().make();
  auto cubin = (**nvrtc)->compileToCubin(c.variant().cudaText, GetParam().name + ".cu", c.variant().target);
  ASSERT_TRUE(cubin.ok()) << cubin.status() << "\n" << c.variant().cudaText;
  EXPECT_TRUE(cubin->diagnostics.empty()) << cubin->log << "\n" << c.variant().cudaText;
}

INSTANTIATE_TEST_SUITE_P(All, HelperCompile, testing::ValuesIn(allHelperCases()), [](const auto &info) { return info.param.name; });

} // namespace
} // namespace kernelc::helpers
