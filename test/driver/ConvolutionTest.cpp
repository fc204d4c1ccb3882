// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions as PyTorch lays them out, channels first: on warpgroups wherever they are products,
// and right in any case.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

Case conv(const std::string &text, std::map<std::string, int64_t> sizes, const std::string &expect = "kc_wgmma_",
          const char *copies = "always") {
  Case c{text, sizes, "", "sm_90a"};
  // (sums as short as these would be cut to fill a device, in parts that the unit does not take)
  c.schedule = std::string(R"([{"kernel": "conv", "parts": 1, "copies": ")") + copies + "\"}]";
  c.expect = expect;
  if (text.find("f32[") != std::string::npos)
    c.precision = "contract=tf32";
  return c;
}

std::string withType(std::string text, const std::string &type) {
  for (size_t at; (at = text.find("TYPE")) != std::string::npos;)
    text.replace(at, 4, type);
  return text;
}

const char *kPlain = R"(def conv(x: TYPE[N, C, H, W], f: TYPE[O, C, R, S]) -> (y: TYPE[N, O, H - R + 1, W - S + 1]) {
  require R <= H
  require S <= W
  y[n, o, p, q] = sum[c, r, s](x[n, c, p + r, q + s] * f[o, c, r, s])
})";

// Both operands are transposed so that channels are neighbours; results stay where they are, also
// where their rows are no multiples of 16 bytes.
TEST(Convolution, ChannelsFirst) {
  for (const char *type : {"bf16", "f32"})
    for (int64_t width : {66, 43})
      EXPECT_EQ(runCase(conv(withType(kPlain, type), {{"N", 1}, {"C", 40}, {"H", 4}, {"W", width}, {"O", 72}, {"R", 3}, {"S", 3}})), "")
          << type << width;
  std::string text = cudaTextOf(conv(withType(kPlain, "bf16"), {{"N", 1}, {"C", 40}, {"H", 4}, {"W", 66}, {"O", 72}, {"R", 3}, {"S", 3}}));
  for (const char *wanted : {"kc_conv_x_rows_f_rows(", "tile c 64; tile r 1; tile s 1"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
}

// Without copies another unit takes them.
TEST(Convolution, ChannelsFirstInPlace) {
  EXPECT_EQ(runCase(conv(withType(kPlain, "bf16"), {{"N", 1}, {"C", 24}, {"H", 6}, {"W", 43}, {"O", 40}, {"R", 3}, {"S", 5}}, "kc_mma_",
                         "never")),
            "");
}

TEST(Convolution, StridePaddingDilation) {
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, C, H, W], f: bf16[O, C, 3, 3]) -> (y: bf16[N, O, (H - 1) // 2 + 1, (W - 1) // 3 + 1]) {
  y[n, o, p, q] = sum[c, r, s](x.pad(0)[n, c, p * 2 + r * 2 - 2, q * 3 + s - 1] * f[o, c, r, s])
})",
                         {{"N", 2}, {"C", 40}, {"H", 9}, {"W", 50}, {"O", 24}})),
            "");
}

// 1 x 1: a product whose columns are pixels; rows of images that are no multiples of 16 bytes.
TEST(Convolution, Pointwise) {
  EXPECT_EQ(
      runCase(conv(
          R"(def conv(x: bf16[N, C, H, W], f: bf16[O, C]) -> (y: bf16[N, O, H, W]) { y[n, o, p, q] = sum[c](x[n, c, p, q] * f[o, c]) })",
          {{"N", 2}, {"C", 40}, {"H", 5}, {"W", 72}, {"O", 72}})),
      "");
}

TEST(Convolution, Groups) {
  // A dim of its own, as a view has it; or a group's number times its channels.
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, G, C, H, W], f: bf16[G, O, C, 3, 3]) -> (y: bf16[N, G, O, H, W]) {
  y[n, g, o, p, q] = sum[c, r, s](x.pad(0)[n, g, c, p + r - 1, q + s - 1] * f[g, o, c, r, s])
})",
                         {{"N", 1}, {"G", 2}, {"C", 40}, {"H", 3}, {"W", 40}, {"O", 72}})),
            "");
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, 128, H, W], f: bf16[2, O, 64, 3, 3]) -> (y: bf16[N, 2, O, H, W]) {
  y[n, g, o, p, q] = sum[c in 0:64, r, s](x.pad(0)[n, g * 64 + c, p + r - 1, q + s - 1] * f[g, o, c, r, s])
})",
                         {{"N", 1}, {"H", 2}, {"W", 40}, {"O", 72}})),
            "");
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, 80, H, W], f: bf16[2, O, 40, 3, 3]) -> (y: bf16[N, 2, O, H, W]) {
  y[n, g, o, p, q] = sum[c in 0:40, r, s](x.pad(0)[n, g * 40 + c, p + r - 1, q + s - 1] * f[g, o, c, r, s])
})",
                         {{"N", 1}, {"H", 4}, {"W", 40}, {"O", 24}}, "kc_mma_")),
            "");
}

// The sum over taps that run backwards; f has its channels first.
TEST(Convolution, Transposed) {
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, C, H, W], f: bf16[C, O, 3, 3]) -> (y: bf16[N, O, H + 2, W + 2]) {
  y[n, o, p, q] = sum[c, r, s](x.pad(0)[n, c, p - r, q - s] * f[c, o, r, s])
})",
                         {{"N", 1}, {"C", 40}, {"H", 2}, {"W", 38}, {"O", 72}})),
            "");
}

TEST(Convolution, OneAndThreeDims) {
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, C, L], f: bf16[O, C, 3]) -> (y: bf16[N, O, L - 2]) {
  require L >= 3
  y[n, o, q] = sum[c, s](x[n, c, q + s] * f[o, c, s])
})",
                         {{"N", 2}, {"C", 40}, {"L", 130}, {"O", 72}})),
            "");
  EXPECT_EQ(runCase(conv(R"(def conv(x: f32[N, C, D, H, W], f: f32[O, C, 3, 3, 3]) -> (y: f32[N, O, D, H, W]) {
  y[n, o, d, p, q] = sum[c, t, r, s](x.pad(0)[n, c, d + t - 1, p + r - 1, q + s - 1] * f[o, c, t, r, s])
})",
                         {{"N", 1}, {"C", 40}, {"D", 2}, {"H", 2}, {"W", 40}, {"O", 72}})),
            "");
}

} // namespace
} // namespace kernelc::test
