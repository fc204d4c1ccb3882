// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Convolutions over few channels: windows that overlap in memory, brought by tensor copies.
#include "EndToEnd.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

/// Copies whatever the size, and the product on warpgroups.
Case conv(const std::string &text, std::map<std::string, int64_t> sizes, const std::string &expect = "kc_wgmma_bf16<") {
  Case c{text, sizes, "", "sm_90a"};
  c.schedule = R"([{"kernel": "conv", "copies": "always"}])";
  c.expect = expect;
  return c;
}

std::string str(int64_t v) { return std::to_string(v); }

std::string conv2d(int taps, int stride, int dilation, int pad, const char *type = "bf16", const char *c = "C") {
  std::string reach = str(dilation * (taps - 1) + 1 - 2 * pad), out = " - " + reach + ") // " + str(stride) + " + 1, ";
  return std::string("def conv(x: ") + type + "[N, H, W, " + c + "], f: " + type + "[O, " + str(taps) + ", " + str(taps) + ", " + c +
         "]) -> (y: " + type + "[N, (H" + out + "(W" + out +
         "O]) {\n  require H >= 11\n  require W >= 11\n  y[n, p, q, o] = sum[r, s, c](x.pad(0)[n, p * " + str(stride) + " + r * " +
         str(dilation) + " - " + str(pad) + ", q * " + str(stride) + " + s * " + str(dilation) + " - " + str(pad) +
         ", c] * f[o, r, s, c])\n}";
}

TEST(Windows, FirstLayers) {
  for (auto [taps, stride, pad, channels] :
       {std::tuple{7, 2, 3, 3}, {3, 1, 1, 3}, {5, 1, 0, 1}, {3, 2, 1, 16}, {11, 4, 2, 3}, {4, 4, 0, 5}})
    EXPECT_EQ(runCase(conv(conv2d(taps, stride, 1, pad), {{"N", 2}, {"H", 13}, {"W", 67}, {"C", channels}, {"O", 40}})), "")
        << taps << " " << stride << " " << pad << " " << channels;
}

TEST(Windows, TheCopyIsMade) {
  std::string text = cudaTextOf(conv(conv2d(7, 2, 1, 3), {{"N", 2}, {"H", 41}, {"W", 67}, {"C", 3}, {"O", 40}}));
  for (const char *wanted : {"kc_conv_x_runs(", "kc_conv_f_taps(", "tile s_c 32", "kc_tma_load_4d("})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
  // Rows that are long enough stay where they are.
  text = cudaTextOf(conv(conv2d(3, 1, 1, 1), {{"N", 2}, {"H", 41}, {"W", 67}, {"C", 32}, {"O", 40}}));
  EXPECT_EQ(text.find("_runs("), std::string::npos);
  EXPECT_NE(text.find("kc_wgmma_bf16<"), std::string::npos);
}

TEST(Windows, Dilation) {
  EXPECT_EQ(runCase(conv(conv2d(3, 1, 2, 2), {{"N", 1}, {"H", 12}, {"W", 45}, {"C", 3}, {"O", 24}})), "");
  EXPECT_EQ(runCase(conv(conv2d(3, 2, 3, 0), {{"N", 1}, {"H", 12}, {"W", 45}, {"C", 2}, {"O", 24}})), "");
}

TEST(Windows, OtherTypes) {
  std::map<std::string, int64_t> sizes{{"N", 1}, {"H", 12}, {"W", 45}, {"C", 3}, {"O", 24}};
  EXPECT_EQ(runCase(conv(conv2d(7, 2, 1, 3, "f16"), sizes, "kc_wgmma_f16<")), "");
  Case tf32 = conv(conv2d(7, 2, 1, 3, "f32"), sizes, "kc_wgmma_tf32<");
  tf32.precision = "contract=tf32";
  EXPECT_EQ(runCase(tf32), "");
  Case f8 = conv(conv2d(5, 1, 1, 2, "f8e4m3"), sizes, "kc_wgmma_e4m3<");
  f8.text.replace(f8.text.find("(y: ") + 4, 6, "f32");
  EXPECT_EQ(runCase(f8), "");
}

TEST(Windows, OneAndThreeDims) {
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, L, C], f: bf16[O, 9, C]) -> (y: bf16[N, L - 8, O]) {
  require L >= 9
  y[n, q, o] = sum[s, c](x[n, q + s, c] * f[o, s, c])
})",
                         {{"N", 3}, {"L", 150}, {"C", 3}, {"O", 40}})),
            "");
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, D, H, W, C], f: bf16[O, 3, 3, 3, C]) -> (y: bf16[N, D, H, W, O]) {
  y[n, d, p, q, o] = sum[t, r, s, c](x.pad(0)[n, d + t - 1, p + r - 1, q + s - 1, c] * f[o, t, r, s, c])
})",
                         {{"N", 1}, {"D", 4}, {"H", 9}, {"W", 70}, {"C", 2}, {"O", 40}})),
            "");
}

// Channels first, filters in any order, backwards (a transposed convolution), groups.
TEST(Windows, OtherOrders) {
  std::map<std::string, int64_t> sizes{{"N", 2}, {"H", 12}, {"W", 75}, {"C", 3}, {"O", 24}};
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, C, H, W], f: bf16[O, C, 3, 3]) -> (y: bf16[N, O, H, W]) {
  y[n, o, p, q] = sum[c, r, s](x.pad(0)[n, c, p + r - 1, q + s - 1] * f[o, c, r, s])
})",
                         sizes)),
            "");
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, H, W, C], f: bf16[3, 3, C, O]) -> (y: bf16[N, H + 2, W + 2, O]) {
  y[n, p, q, o] = sum[r, s, c](x.pad(0)[n, p - r, q - s, c] * f[r, s, c, o])
})",
                         sizes)),
            "");
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, H, W, 8], f: bf16[2, O, 3, 3, 4]) -> (y: bf16[N, H, W, 2, O]) {
  y[n, p, q, g, o] = sum[r, s, c in 0:4](x.pad(0)[n, p + r - 1, q + s - 1, g * 4 + c] * f[g, o, r, s, c])
})",
                         {{"N", 2}, {"H", 12}, {"W", 75}, {"O", 24}})),
            "");
}

TEST(Windows, NoChannelsAtAll) {
  EXPECT_EQ(runCase(conv(R"(def conv(x: bf16[N, H, W], f: bf16[O, 3, 5]) -> (y: bf16[N, H, W, O]) {
  y[n, p, q, o] = sum[r, s](x.pad(0)[n, p + r - 1, q + s - 2] * f[o, r, s])
})",
                         {{"N", 2}, {"H", 12}, {"W", 75}, {"O", 24}})),
            "");
}

} // namespace
} // namespace kernelc::test
