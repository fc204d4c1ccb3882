// Grouped products: rows that belong to groups whose bounds are data, and other conditions that bound
// points of a product by data.
#include "EndToEnd.h"

#include <gmock/gmock.h>

namespace kernelc::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string grouped(const char *type = "bf16", bool transposed = false, const char *rest = "", const char *offsets = "i32") {
  std::string t = type;
  return "def m(x: " + t + "[M, K], w: " + t + (transposed ? "[G, N, K]" : "[G, K, N]") + ", off: " + offsets +
         "[G + 1]) -> (y: f32[M, N]) {" + rest + " y[i, n] = sum[k](x[i, k] * " + (transposed ? "w[g, n, k]" : "w[g, k, n]") +
         ") where off[g] <= i < off[g + 1] }";
}

Case on(const std::string &text, int64_t m, int64_t n, int64_t k, std::vector<int64_t> off, const std::string &target,
        const std::string &expect = "kc_find_where") {
  Case c{text, {{"M", m}, {"N", n}, {"K", k}, {"G", int64_t(off.size()) - 1}}, "", target};
  c.expect = expect;
  c.values["off"] = off;
  return c;
}

const char *kTargets[] = {"sm_90a", "sm_80"};

// Empty groups, bounds within tiles and at their borders, both layouts of the weights.
TEST(Grouped, Sizes) {
  for (const char *target : kTargets)
    for (bool transposed : {false, true}) {
      EXPECT_EQ(runCase(on(grouped("bf16", transposed), 300, 136, 136, {0, 0, 70, 128, 128, 256, 300, 300}, target)), "")
          << target << transposed;
      EXPECT_EQ(runCase(on(grouped("bf16", transposed), 128, 64, 64, {0, 128}, target)), "") << target << transposed;
    }
}

// Rows in no group are zero; groups that overlap add up; bounds outside of x, and the wrong way round.
TEST(Grouped, AnyBounds) {
  for (const char *target : kTargets)
    for (std::vector<int64_t> off : {std::vector<int64_t>{5, 40, 90}, {100, 20, 130, 60}, {-7, 30, 1000}, {200, 300}, {50, 50, 50}})
      EXPECT_EQ(runCase(on(grouped(), 150, 72, 72, off, target)), "") << target << off[0];
}

TEST(Grouped, RaggedExtents) {
  for (const char *target : kTargets) {
    EXPECT_EQ(runCase(on(grouped(), 1, 72, 72, {0, 0, 1, 1}, target, "")), "") << target;
    EXPECT_EQ(runCase(on(grouped("f16", true), 77, 67, 45, {0, 10, 77}, target)), "") << target;
    EXPECT_EQ(runCase(on(grouped("f32"), 70, 33, 45, {0, 10, 61}, target)), "") << target;
    EXPECT_EQ(runCase(on(grouped(), 0, 72, 72, {0, 0}, target, "")), "") << target;
    EXPECT_EQ(runCase(on(grouped(), 40, 72, 0, {0, 40}, target, "")), "") << target;
    Case general = on(grouped(), 90, 72, 72, {0, 30, 30, 90}, target);
    general.specialise = false;
    EXPECT_EQ(runCase(general), "") << target;
    general.general = true;
    EXPECT_EQ(runCase(general), "") << target;
  }
}

} // namespace
} // namespace kernelc::test
