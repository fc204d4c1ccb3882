// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products whose tiles are picked by data (block-sparse masks): what is passed over is neither
// loaded nor multiplied.
#include "EndToEnd.h"

#include <gmock/gmock.h>

namespace kernelc::test {
namespace {

using testing::HasSubstr;

std::string blocks(int64_t block, const char *type = "bf16", bool transposed = false, const char *mask = "mask[k // B, j // B]") {
  std::string m = mask, b = std::to_string(block);
  for (size_t at; (at = m.find('B')) != std::string::npos;)
    m.replace(at, 1, b);
  return std::string("def m(a: ") + type + "[M, K], w: " + type + (transposed ? "[N, K]" : "[K, N]") + ", mask: bool[(K + " + b +
         " - 1) // " + b + ", (N + " + b + " - 1) // " + b + "]) -> (c: f32[M, N]) { c[i, j] = sum[k, " + m + "](a[i, k] * " +
         (transposed ? "w[j, k]" : "w[k, j]") + ") }";
}

Case on(const std::string &text, std::map<std::string, int64_t> sizes, const std::string &target, const std::string &expect = "") {
  Case c{text, sizes, "", target};
  c.expect = expect;
  return c;
}

TEST(Selection, BlocksOfEverySize) {
  for (int64_t block : {32, 64, 128, 48})
    for (bool transposed : {false, true}) {
      std::string text = blocks(block, "bf16", transposed);
      EXPECT_EQ(runCase(on(text, {{"M", 136}, {"K", 4 * block}, {"N", 3 * block}}, "sm_90a", "kc_find_where")), "") << text;
      EXPECT_EQ(runCase(on(text, {{"M", 72}, {"K", 5 * block}, {"N", 2 * block}}, "sm_80", "kc_find_where")), "") << text;
    }
  for (int64_t block : {8, 16})
    EXPECT_EQ(runCase(on(blocks(block), {{"M", 72}, {"K", 6 * block}, {"N", 5 * block}}, "sm_80", "kc_find_where")), "") << block;
}

// Sizes that end within a block, and none at all.
TEST(Selection, RaggedSizes) {
  for (const char *target : {"sm_90a", "sm_80"}) {
    EXPECT_EQ(runCase(on(blocks(64), {{"M", 72}, {"K", 200}, {"N", 136}}, target)), "") << target;
    EXPECT_EQ(runCase(on(blocks(64, "f32"), {{"M", 33}, {"K", 131}, {"N", 70}}, target, "kc_find_where")), "") << target;
    Case general = on(blocks(64), {{"M", 72}, {"K", 200}, {"N", 136}}, target);
    general.specialise = false;
    EXPECT_EQ(runCase(general), "") << target;
    EXPECT_EQ(runCase(on(blocks(64), {{"M", 8}, {"K", 0}, {"N", 64}}, target)), "") << target;
  }
}

const char *kRows =
    "def m(a: f16[M, K], w: f16[N, K], s: u8[M // 64, K // 64]) -> (c: f16[M, N]) {\n"
    "  require M % 64 == 0\n  require K % 64 == 0\n  c[i, j] = relu(sum[k, s[i // 64, k // 64] > 100](a[i, k] * w[j, k])) }";

// Of rows; of both operands' blocks; beside a triangle; by a number; with scales and an epilogue.
TEST(Selection, OtherConditions) {
  std::map<std::string, int64_t> sizes{{"M", 192}, {"K", 256}, {"N", 192}};
  for (const char *target : {"sm_90a", "sm_80"}) {
    for (const char *mask :
         {"not mask[k // B, j // B]", "mask[k // B, j // B] and k <= i", "mask[k // B, j // B] and mask[(k + B) // (2 * B), j // B]"})
      EXPECT_EQ(runCase(on(blocks(32, "bf16", false, mask), sizes, target)), "") << mask << target;
    EXPECT_EQ(runCase(on(kRows, sizes, target, "kc_find_where")), "") << target;
    const char *batched = "def m(a: bf16[B, M, K], w: bf16[B, K, N], s: bool[B, K // 64]) -> (c: bf16[B, M, N]) {\n"
                          "  require K >= 64\n  c[b, i, j] = sum[k, s.edge[b, k // 64]](a[b, i, k] * w[b, k, j]) }";
    EXPECT_EQ(runCase(on(batched, {{"B", 3}, {"M", 72}, {"K", 192}, {"N", 72}}, target)), "") << target;
  }
}

// A mask of points is no choice of blocks.
TEST(Selection, MasksOfPointsStayMasks) {
  std::string text = blocks(64, "bf16", false, "mask[k // B, j // B] and a[i, k] > 0");
  Case c = on(text, {{"M", 24}, {"K", 128}, {"N", 64}}, "sm_80");
  EXPECT_EQ(runCase(c), "");
  EXPECT_THAT(cudaTextOf(c), testing::Not(HasSubstr("kc_find_where")));
}

TEST(Selection, SchedulesThatCutBlocksAreRefused) {
  Case c = on(blocks(64), {{"M", 256}, {"K", 256}, {"N", 256}}, "sm_90a");
  c.schedule = R"([{"kernel": "m", "launch": "c", "tiles": {"j": 128}}])";
  EXPECT_THAT(runCase(c), HasSubstr("the condition picks blocks of 64 along 'j', so that its tile is no more than that, not 128"));
  Case shared = on("def m(a: bf16[M, K], w: bf16[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k, k <= i](a[i, k] * w[j, k]) }",
                   {{"M", 256}, {"K", 256}, {"N", 256}}, "sm_90a");
  shared.schedule = R"([{"kernel": "m", "launch": "c", "cluster": 2}])";
  EXPECT_THAT(runCase(shared), HasSubstr("the condition depends on 'i', along which the 2 blocks of a cluster share what they load"));
}

TEST(Selection, Schedules) {
  for (const char *fields : {R"("cluster": 2)", R"("persistent": false)", R"("pingpong": 2, "warps": 4, "stages": 4)",
                             R"("unit": "mma", "producer_warps": 0, "persistent": false, "warps": 4, "stages": 3, "tiles": {"k": 32})",
                             R"("unit": "simt", "producer_warps": 0, "persistent": false, "warps": 4, "stages": 2, "tiles": {"k": 16})"}) {
    Case c = on(blocks(64), {{"M", 400}, {"K", 320}, {"N", 200}}, "sm_90a", "kc_find_where");
    c.schedule = std::string(R"([{"kernel": "m", "launch": "c", )") + fields + "}]";
    EXPECT_EQ(runCase(c), "") << fields;
  }
}

} // namespace
} // namespace kernelc::test
