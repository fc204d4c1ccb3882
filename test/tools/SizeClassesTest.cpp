// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which variant of a class serves sizes, and when they get one of their own.
#include "driver/jit/SizeClasses.h"

#include <gtest/gtest.h>

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
  using Room = SizeClasses::Room;
  /// Of calls with so many rows, whose other sizes are known.
  static SizeClasses::Question rows(int64_t m) {
    VariantOptions o;
    o.target = "sm_90a";
    o.facts = {{"M", classOf(m, 1)}, {"N", factOf(1024)}, {"K", factOf(8192)}};
    o.params.assign(3, ParamGuard{LayoutClass::Dense, 16});
    return {"rows", o};
  }
  std::string settle(int64_t m, Room room, bool stays) {
    std::optional<SizeClasses::Member> member = classes_->settle(rows(m), room, stays);
    return member ? member->key : "none";
  }
  std::shared_ptr<JitKernel> kernel_;
  std::optional<SizeClasses> classes_;
};

// Sums of 80 rows are cut into parts, and tiles have their width: of 8192 rows that takes three times as long.
TEST_F(SizeClassesTest, SizesThatLoseGetAVariantOnceTheyComeAgain) {
  EXPECT_EQ(classes_->find(rows(80)), "");
  EXPECT_EQ(settle(80, Room::More, false), "rows");
  EXPECT_EQ(settle(8192, Room::More, false), "rows");
  EXPECT_TRUE(classes_->isWaiting(rows(8192)));
  EXPECT_FALSE(classes_->comeAgain(rows(8192)));
  EXPECT_TRUE(classes_->comeAgain(rows(8192)));
  EXPECT_EQ(settle(8192, Room::More, true), "rows #2");
  EXPECT_FALSE(classes_->isWaiting(rows(8192)));
  // Others that this one serves well go to it.
  EXPECT_EQ(settle(16384, Room::More, true), "rows #2");
  // Rows of a few more or less are of one step, which is settled once.
  EXPECT_EQ(classes_->find(rows(8190)), "rows #2");
}

// Narrow tiles multiply at a lower rate than wide ones, which few rows have nothing of.
TEST_F(SizeClassesTest, TilesOfFewRowsAreSlowForMany) {
  EXPECT_EQ(settle(777, Room::More, true), "rows");
  EXPECT_EQ(settle(16384, Room::More, true), "rows #2");
}

// Few rows are the columns of turned tiles where their number has a bound; a variant with a bound serves no more rows than that.
TEST_F(SizeClassesTest, FewRowsHaveABound) {
  std::optional<SizeClasses::Member> few = classes_->settle(rows(100), Room::More, true);
  ASSERT_TRUE(few);
  EXPECT_EQ(few->options.facts["M"].max, 128);
  EXPECT_EQ(settle(4096, Room::First, false), "rows #2");
}

// 200 rows have a variant of their own, as channels have: of the step of 150 rows, up to 256, it takes some.
TEST_F(SizeClassesTest, AVariantTakesAllSizesOfAStepOrNone) {
  std::optional<SizeClasses::Member> own = classes_->settle(rows(200), Room::More, true);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->options.facts["M"].max, 200);
  std::optional<SizeClasses::Member> step = classes_->settle(rows(150), Room::More, true);
  ASSERT_TRUE(step);
  EXPECT_NE(step->key, own->key);
  EXPECT_EQ(classes_->find(rows(250)), step->key);
}

TEST_F(SizeClassesTest, WithoutRoomSizesGoWhereTheyFit) {
  EXPECT_EQ(settle(8192, Room::None, true), "none");
  EXPECT_EQ(settle(8192, Room::First, true), "rows");
  EXPECT_EQ(settle(80, Room::First, true), "rows");
  EXPECT_FALSE(classes_->isWaiting(rows(80)));
}

} // namespace
} // namespace kernelc
