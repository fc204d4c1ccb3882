// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// formatKc: the layout, that it is idempotent, and that it keeps the program.
#include "test/frontend/FrontendTesting.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

TEST(Format, Spacing) {
  EXPECT_EQ(formatted("def f(x:f32[ N ])->(y:f32[N]){y[i]=-x[i]**-2+( 1 )}"),
            "def f(x: f32[N]) -> (y: f32[N]) { y[i] = -x[i] ** -2 + (1) }\n");
  EXPECT_EQ(formatted("def f(x: f32[N]) -> (y: f32[N]) {\ny[i]=x[i]  where i in 0:N-1,i!=3\n}"),
            "def f(x: f32[N]) -> (y: f32[N]) {\n  y[i] = x[i] where i in 0:N - 1, i != 3\n}\n");
  EXPECT_EQ(formatted("def f(x: f32[N]) -> (y: f32[]) {\ny[] min=x[i] ;y[]+=f(x[i],eps = 2)\n}"),
            "def f(x: f32[N]) -> (y: f32[]) {\n  y[] min= x[i]\n  y[] += f(x[i], eps=2)\n}\n");
}

TEST(Format, KeepsComments) {
  const char *text = "# top\n\n\n\ndef f(x: f32[N]) -> (y: f32[N]) {   # here\n# own line\n"
                     "  y[i] = x[i] # end\n\n\n  # last\n}\n# bottom";
  EXPECT_EQ(formatted(text), "# top\n\ndef f(x: f32[N]) -> (y: f32[N]) {  # here\n  # own line\n"
                             "  y[i] = x[i]  # end\n\n  # last\n}\n# bottom\n");
}

TEST(Format, WholeGrammar) {
  const char *text = R"(import "other.kc"
reducer last_max(a, b: (v: f32, i: i64)) identity (-inf, -1) { b if b.v >= a.v else a }
fn gf(a: u8, b: u8) -> u8 { let t = a << 1; (t ^ b) & 255 }
schedule f for sm_90a { launch y { tile i: 128, j: 64; stages: 4; persistent: true }; copies: never }
def f(x: f32[N], const k: i64 = 3, inout z: i4[2 * N, M // 4]) -> (y: f32[N]) {
  require N % 8 == 0
  precision(contract = tf32, accumulate = f32)
  let t[i]: bf16 = sum[2 <= k < n - 2, k != 3](x.edge[k]) if not a and b or c else view(x, "b -> b", h=8)[i]
  y.unique[p[i]] = rand(seed, i) where off[g] <= i < off[g + 1]
  h[x[n]] last_max= (x[n], n)
  z[i, j] and= ~x[i] >> 3
}
)";
  std::string once = formatted(text);
  ASSERT_NE(once, "<failed>");
  EXPECT_EQ(formatted(once), once);
}

TEST(Format, IdempotentOnExamplesAndKeepsTheirMeaning) {
  auto texts = exampleTexts();
  ASSERT_GE(texts.size(), 15u);
  for (auto &[name, text] : texts) {
    std::string once = formatted(text);
    EXPECT_EQ(once, text) << name << " is not in canonical layout; run kernelc fmt";
    // White space is all that may change.
    std::string squeezed = text;
    for (char &c : squeezed)
      if (c == '\n' && squeezed.find('#') == std::string::npos)
        c = ' ';
    Imported a(text), b(formatted(squeezed));
    ASSERT_TRUE(a.module && b.module) << name;
    EXPECT_EQ(a.print(), b.print()) << name;
  }
}

TEST(Format, FailsWhereTheTextDoesNotParse) { EXPECT_EQ(formatted("def f( {"), "<failed>"); }

std::string withRanges(const std::string &text, const ImportOptions &options = {}) {
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto r = formatKcWithRanges(context, text, "test.kc", options);
  return mlir::failed(r) ? "<failed>" : *r;
}

TEST(FormatRanges, SaysEveryIndexOnce) {
  const char *text = "# about\ndef f(x: f32[M, M]) -> (y: f32[M], z: f32[M // 2]) {\n"
                     "let p[i, j]=softmax[j](x[i,j])\n\n# row\ny[i] = sum[k in 0:i](p[i, k])  # end\n"
                     "z[i] = max[q](x[2 * i, q]) if i > 3 else 0\n}";
  std::string once = withRanges(text);
  EXPECT_EQ(once, "# about\ndef f(x: f32[M, M]) -> (y: f32[M], z: f32[M // 2]) {\n"
                  "  # ranges: i in 0:M, j in 0:M\n  let p[i, j] = softmax[j](x[i, j])\n\n"
                  "  # row\n  # ranges: i in 0:M, k in 0:i (within 0:M - 1)\n"
                  "  y[i] = sum[k in 0:i](p[i, k])  # end\n"
                  "  # ranges: i in 0:M // 2, q in 0:M\n"
                  "  z[i] = max[q](x[2 * i, q]) if i > 3 else 0\n}\n");
  EXPECT_EQ(withRanges(once), once);
  EXPECT_EQ(formatted(once), once);
}

TEST(FormatRanges, FollowsTheText) {
  const char *text = "# ranges: old in 0:1\ndef f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }\n";
  EXPECT_EQ(withRanges(text), "# ranges: i in 0:N\ndef f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }\n");
  ImportOptions set;
  set.constants["N"] = 8;
  EXPECT_EQ(withRanges(text, set), "# ranges: i in 0:8\ndef f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }\n");
  // No ranges for a program with errors.
  EXPECT_EQ(withRanges("def f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i + 1] }"), "<failed>");
}

TEST(FormatRanges, IdempotentOnExamples) {
  for (auto &[name, text] : exampleTexts()) {
    std::string once = withRanges(text);
    ASSERT_NE(once, "<failed>") << name;
    EXPECT_NE(once.find("# ranges: "), std::string::npos) << name;
    EXPECT_EQ(withRanges(once), once) << name;
    EXPECT_EQ(formatted(once), once) << name;
    Imported a(text), b(once);
    ASSERT_TRUE(a.module && b.module) << name;
    EXPECT_EQ(a.print(), b.print()) << name;
  }
}

} // namespace
} // namespace kernelc::frontend
