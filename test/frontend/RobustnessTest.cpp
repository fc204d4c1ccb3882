// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No text crashes the frontend or keeps it busy: limits, and mutations of the
// examples. A result that comes without errors must verify.
#include <ctime>
#include <limits>
#include <random>

#include "frontend/Lexer.h"
#include "test/frontend/FrontendTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

using testing::HasSubstr;

std::string repeat(const std::string &s, size_t n) {
  std::string out;
  out.reserve(s.size() * n);
  for (size_t i = 0; i < n; ++i)
    out += s;
  return out;
}

std::string kernelOf(const std::string &value) { return "def f(x: f32[N]) -> (y: f32[N]) { y[i] = " + value + " }"; }

/// Imports within seconds of processor time and expects an error that says `what`.
void expectLimit(const std::string &text, const std::string &what) {
  std::clock_t start = std::clock();
  Imported r(text);
  double took = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_FALSE(r.module);
  ASSERT_FALSE(r.errors.empty());
  EXPECT_THAT(r.errors.front(), HasSubstr(what));
  EXPECT_LT(took, 5.0);
}

TEST(Robustness, LongSum) { expectLimit(kernelOf("x[i]" + repeat(" + x[i]", 50000)), "20000 operations"); }
TEST(Robustness, LongSubscript) { expectLimit(kernelOf("x.pad(0)[i" + repeat(" + i // 3", 30000) + "]"), "20000 operations"); }
TEST(Robustness, ManyReductions) { expectLimit(kernelOf("x[i]" + repeat(" + sum[k](x[k])", 513)), "512 reductions"); }
TEST(Robustness, DeepParentheses) { expectLimit(kernelOf(repeat("(", 100000)), "256 levels"); }
TEST(Robustness, DeepBrackets) { expectLimit(kernelOf(repeat("x[", 100000)), "256 levels"); }
TEST(Robustness, DeepSigns) { expectLimit(kernelOf(repeat("-", 100000) + "1"), "256 levels"); }
TEST(Robustness, DeepNots) { expectLimit(kernelOf(repeat("not ", 100000) + "1"), "256 levels"); }
TEST(Robustness, DeepPowers) { expectLimit(kernelOf(repeat("2 ** ", 100000) + "1"), "256 levels"); }
TEST(Robustness, DeepSelects) { expectLimit(kernelOf(repeat("1 if x[i] > 0 else ", 50000) + "1"), "256 levels"); }
TEST(Robustness, DeepTypes) { expectLimit("def f(x: " + repeat("(a: ", 100000), "256 levels"); }
TEST(Robustness, LargeText) { expectLimit(std::string((1 << 20) + 1, ' '), "the limit is"); }

TEST(Robustness, LongLiterals) {
  std::string threes = repeat("3", 60000), zeros = repeat("0", 60000);
  const std::pair<std::string, double> floats[] = {{"1." + threes, 4.0 / 3},
                                                   {threes + ".0", std::numeric_limits<double>::infinity()},
                                                   {"0." + zeros + "1", 0},
                                                   {"1" + zeros + "e-60000", 1},
                                                   {"0." + zeros + "25e60000", 0.25},
                                                   {"1e" + threes, std::numeric_limits<double>::infinity()},
                                                   {"1e-" + threes, 0},
                                                   {"1e" + zeros + "2", 100},
                                                   {"9007199254740993.0" + zeros + "1", 9007199254740994}}; // above the tie
  for (auto &[text, value] : floats) {
    EXPECT_EQ(parseFloat(text), value) << text.substr(0, 20);
    EXPECT_TRUE(Imported(kernelOf("x[i] * " + text)).module) << text.substr(0, 20);
  }
  for (const std::string &text : {threes, "0x" + threes, "0b1" + zeros, zeros + "8"})
    expectLimit(kernelOf("x[i] * " + text), "is not a number of 64 bits");
  expectLimit(kernelOf("x[i] * 1." + threes + "x"), "is not a number");
}

TEST(Robustness, LongNames) {
  std::string name = repeat("n", 100000);
  EXPECT_TRUE(Imported("def " + name + "f(" + name + "x: f32[" + name + "N]) -> (" + name + "y: f32[" + name + "N]) { " + name + "y[" +
                       name + "i] = " + name + "x[" + name + "i] }")
                  .module);
  expectLimit(kernelOf(name + "[i]"), "unknown tensor");
}

TEST(Robustness, ManyDims) {
  std::string dims, indices;
  for (int i = 0; i < 2000; ++i) {
    dims += (i ? ", N" : "N") + std::to_string(i);
    indices += (i ? ", i" : "i") + std::to_string(i);
  }
  expectLimit("def f(x: f32[" + dims + "]) -> (y: f32[]) { y[] = sum[" + indices + "](x[" + indices + "]) }",
              "more than 32 entries in the shape");
  expectLimit("def f(x: f32[N]) -> (y: f32[]) { y[] = sum[" + indices + "](x[i0]) }", "more than 32 entries in a bracket");
}

TEST(Robustness, ManyRequirements) {
  std::string text = "def f(x: f32[N]) -> (y: f32[N]) {\n";
  for (int i = 2; i < 400; ++i)
    text += "  require N % " + std::to_string(i) + " == 0\n";
  expectLimit(text + "  y[i] = x[i]\n}\n", "more than 64 'require's");
}

TEST(Robustness, ManyPieces) {
  std::string text = "def f(x: f32[N]) -> (y: f32[N]) {\n";
  for (int i = 0; i < 1000; ++i)
    text += "  y[i] = x[i] where i % 1000 == " + std::to_string(i) + "\n";
  expectLimit(text + "}\n", "more than 64 statements define 'y'");
}

/// `count` statements, each `statement` with its number in place of every '#', compile within a second.
void expectPieces(const std::string &params, int count, const std::string &statement) {
  std::string text = "def f(" + params + ") {\n";
  for (int i = 0; i < count; ++i) {
    std::string one = statement;
    for (size_t at; (at = one.find('#')) != std::string::npos;)
      one.replace(at, 1, std::to_string(i));
    text += "  " + one + "\n";
  }
  std::clock_t start = std::clock();
  Imported r(text + "}\n");
  double took = double(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(r.module) << r.errors.front();
  EXPECT_LT(took, 5.0);
}

TEST(Robustness, ManyResidues) { expectPieces("x: f32[N]) -> (y: f32[N]", 64, "y[i] = x[i] where i % 64 == #"); }
TEST(Robustness, ManyResiduesOfSubscripts) { expectPieces("x: f32[61 * N]) -> (y: f32[61 * N]", 61, "y[61 * i + #] = x[61 * i + #]"); }
TEST(Robustness, ManyResiduesOfTwoDims) {
  expectPieces("x: f32[M, N]) -> (y: f32[M, N]", 64, "y[i, j] = x[i, j] where i % 8 == # // 8, j % 8 == # % 8");
}
TEST(Robustness, ManyRanges) { expectPieces("x: f32[192]) -> (y: f32[192]", 64, "y[i] = x[i] where i in 3 * #:3 * # + 3"); }
TEST(Robustness, AMissingResidueIsNamed) {
  std::string text = "def f(x: f32[N]) -> (y: f32[N]) {\n";
  for (int i = 0; i < 62; ++i)
    text += "  y[i] = x[i] where i % 63 == " + std::to_string(i) + "\n";
  expectLimit(text + "}\n", "leave elements undefined, as y[62] with N = ");
}

TEST(Robustness, ExponentialInlining) {
  std::string text = "fn g0(x) { x + x }\n";
  for (int i = 1; i < 60; ++i)
    text += "fn g" + std::to_string(i) + "(x) { g" + std::to_string(i - 1) + "(g" + std::to_string(i - 1) + "(x)) }\n";
  expectLimit(text + kernelOf("g59(x[i])"), "");
}

TEST(Robustness, DeepInlining) {
  std::string text = "fn g0(x) { x }\n";
  for (int i = 1; i < 2000; ++i)
    text += "fn g" + std::to_string(i) + "(x) { g" + std::to_string(i - 1) + "(x) + 1 }\n";
  expectLimit(text + kernelOf("g1999(x[i])"), "levels deep");
}

TEST(Robustness, ALongSumWithinTheLimitsCompiles) {
  Imported r(kernelOf("x[i]" + repeat(" + x[i]", 5000)));
  ASSERT_TRUE(r.module) << r.errors.front();
}

TEST(Robustness, SharedSquaresStaySmall) {
  Imported r(kernelOf(repeat("(", 100) + "x[i]" + repeat(" ** 64)", 100)));
  ASSERT_TRUE(r.module) << r.errors.front();
}

void checkAnything(const std::string &text) {
  Imported r(text);
  if (r.module)
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*r.module))) << text;
  else
    EXPECT_FALSE(r.errors.empty()) << "failed without a word:\n" << text;
  std::string once = formatted(text);
  if (once != "<failed>")
    EXPECT_EQ(formatted(once), once) << text;
}

TEST(Robustness, MutatedExamples) {
  auto texts = exampleTexts();
  std::mt19937 random(7);
  const std::string pieces[] = {
      "(",     ")",      "[",     "]",    "{",       "}",       ",",   ":",           "=",      "+",     "*",       "//",
      "%",     "**",     "if",    "else", "i",       "j",       "k",   "N",           "M",      "0",     "-1",      "9223372036854775807",
      "1e308", "sum[k]", "where", "let",  "x",       "y",       "not", "in",          "i // 0", "N * N", ".pad(0)", "bf16(",
      "\"",    "#",      "\xff",  "inf",  "mean[i]", "require", "i64", "softmax[j](", "<=",     "0:N"};
  for (int round = 0; round < 1500; ++round) {
    std::string text = texts[random() % texts.size()].second;
    for (int edits = 1 + random() % 3; edits > 0; --edits) {
      size_t at = random() % (text.size() + 1), length = random() % 4;
      switch (random() % 4) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, " " + pieces[random() % std::size(pieces)] + " "); break;
      case 2: { // one token for another
        size_t end = at;
        while (end < text.size() && isalnum(static_cast<unsigned char>(text[end])))
          ++end;
        text.replace(at, end - at, pieces[random() % std::size(pieces)]);
        break;
      }
      default: text.insert(at, text.substr(random() % text.size(), 12)); break;
      }
    }
    checkAnything(text);
  }
}

TEST(Robustness, TruncatedExamples) {
  for (auto &[name, text] : exampleTexts())
    for (size_t n = 0; n < text.size(); n += 7)
      checkAnything(text.substr(0, n));
}

TEST(Robustness, NoiseOfTheLargestLength) {
  std::mt19937 random(3);
  std::string bytes(1 << 20, ' '), ascii = bytes;
  for (char &c : bytes)
    c = char(random());
  for (char &c : ascii)
    c = char(32 + random() % 95);
  const char *words[] = {"def ", "let ", "f(", ")", "[i]", "x", "= ", "+ ", "sum[k](", "{ ", "}", "-> ", "1 ", "if ", ", ", ": "};
  std::string grammar = "def f(x: f32[N]) -> (y: f32[N]) { ";
  while (grammar.size() < (1 << 20) - 16)
    grammar += words[random() % std::size(words)];
  for (const std::string &text : {bytes, ascii, grammar})
    expectLimit(text, "");
}

TEST(Robustness, EmptyAndBinary) {
  checkAnything("");
  checkAnything(std::string(100, '\0'));
  std::string bytes;
  for (int i = 0; i < 256; ++i)
    bytes += char(i);
  checkAnything(bytes);
}

} // namespace
} // namespace kernelc::frontend
