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
schedule f for sm_90a when N >= 1024 { launch y { tile y.i: 128; ring x, w slots 4 } }
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

} // namespace
} // namespace kernelc::frontend
