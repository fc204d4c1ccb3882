// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which variant of a class serves sizes, and when they get one of their own.
#include "driver/jit/SizeClasses.h"

#include <gtest/gtest.h>

#include <set>

#include "driver/compile/SizeFacts.h"
#include "driver/jit/Session.h"

namespace kernelc {
namespace {

constexpr char kProduct[] = "def mm(a: bf16[M, K], b: bf16[N, K]) -> (c: bf16[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }";

class SizeClassesTest : public testing::Test {
protected:
  void SetUp() override {
    SessionOptions options;
    options.diskCache = false;
    auto kernel = Session::create(options)->compile(kProduct);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    kernel_ = *kernel;
    classes_.emplace(kernel_->program(), kernel_->signature());
  }
  /// Of calls with so many rows, whose other sizes are known.
  static VariantOptions rows(int64_t m) {
    VariantOptions o;
    o.target = "sm_90a";
    o.facts = {{"M", classOf(m, 1)}, {"N", factOf(1024)}, {"K", factOf(8192)}};
    o.params.assign(3, ParamGuard{LayoutClass::Dense, 16});
    return o;
  }
  std::shared_ptr<JitKernel> kernel_;
  std::optional<SizeClasses> classes_;
};

// Sums of 80 rows are cut into parts, and tiles have their width: of 8192 rows that takes three times as long.
TEST_F(SizeClassesTest, SizesThatLoseGetAVariantOnceTheyComeAgain) {
  EXPECT_EQ(classes_->find("rows", rows(80)).key, "");
  EXPECT_EQ(classes_->settle("rows", rows(80), true), "rows");
  EXPECT_EQ(classes_->settle("rows", rows(8192), false), "rows");
  EXPECT_TRUE(classes_->find("rows", rows(8192)).isWaiting);
  EXPECT_FALSE(classes_->comeAgain("rows", rows(8192)));
  EXPECT_TRUE(classes_->comeAgain("rows", rows(8192)));
  EXPECT_EQ(classes_->settle("rows", rows(8192), true), "rows #2");
  EXPECT_FALSE(classes_->find("rows", rows(8192)).isWaiting);
  // Others that this one serves well go to it, and few rows stay where they are.
  EXPECT_EQ(classes_->settle("rows", rows(16384), true), "rows #2");
  EXPECT_EQ(classes_->settle("rows", rows(72), true), "rows");
  // Rows of a few more or less are of one step, which is settled once.
  EXPECT_EQ(classes_->find("rows", rows(8190)).key, "rows #2");
}

TEST_F(SizeClassesTest, AClassHasFourVariantsAtMost) {
  std::set<std::string> keys;
  for (int64_t m = 80; m < 40000; m += m / 3)
    keys.insert(classes_->settle("rows", rows(m), true));
  EXPECT_GT(keys.size(), 1u);
  EXPECT_LE(keys.size(), 4u);
}

} // namespace
} // namespace kernelc
