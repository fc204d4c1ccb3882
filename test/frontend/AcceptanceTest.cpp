// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is accepted depends on what a program means: not on the order of its factors and indices, not on its spelling,
// and with known sizes on no less than without them.
#include "frontend/Emit.h"
#include "test/frontend/FrontendTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

std::string withRanges(const std::string &text) {
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto r = formatKcWithRanges(context, text, "test.kc");
  return mlir::failed(r) ? "<failed>" : *r;
}

const char *const kAccepted[] = {
    // Covers by a product of sizes.
    "def f(x: f32[A, B]) -> (y: f32[A * B]) { y[a * B + b] = x[a, b] }",
    "def f(x: f32[A, B]) -> (y: f32[B * A]) { y[b + B * a] = x[a, b] }",
    "def f(x: f32[A, B, C]) -> (y: f32[A * B * C]) { y[(a * B + b) * C + c] = x[a, b, c] }",
    "def f(x: f32[A, B, C]) -> (y: f32[C * (A * B)]) { y[c + b * C + a * B * C] = x[a, b, c] }",
    "def f(x: f32[G, P], z: f32[G, Q]) -> (y: f32[G * (P + Q)]) {\n  y[g * (P + Q) + o] = x[g, o]\n  y[g * (P + Q) + P + o] = z[g, o]\n}",
    "def f(x: f32[A, B], z: f32[A, B]) -> (y: f32[2 * A * B]) {\n  y[2 * (a * B + b)] = x[a, b]\n  y[2 * (a * B + b) + 1] = z[a, b]\n}",
    "def f(x: f32[A, B]) -> (y: f32[A * B + 1]) {\n  y[0] = 0\n  y[b * A + a + 1] = x[a, b]\n}",
    "def f(x: f32[N, C, H], w: f32[P, I, R]) -> (y: f32[N, P, H - R + 1]) {\n  require H >= R\n  require C % I == 0\n"
    "  require P % (C // I) == 0\n  y[n, g * (P // (C // I)) + o, h] = sum[i, r](x[n, g * I + i, h + r] * "
    "w[g * (P // (C // I)) + o, i, r]) where g in 0:C // I, o in 0:P // (C // I)\n}",
    // Windows, of fixed and of moving length.
    "def f(x: f32[N]) -> (y: f32[P]) {\n  require N >= P\n  y[p] = mean[k in p * N // P:((p + 1) * N + P - 1) // P](x[k])\n}",
    "def f(x: f32[N]) -> (y: f32[P]) {\n  require N >= P\n  y[p] = max[p * N // P <= k < ((p + 1) * N + P - 1) // P](x[k])\n}",
    "def f(x: f32[N]) -> (y: f32[P]) {\n  require N >= P\n  y[p] = max[((p + 1) * N + P - 1) // P > k >= p * N // P](x[k])\n}",
    "def f(x: f32[N]) -> (y: f32[N], z: f32[N]) {\n  y[i] = x[i] where N > i >= 1\n  y[0] = 0\n  z[i] = x[i]\n  require N >= 1\n}",
    "def f(x: bf16[M, K], w: bf16[G, K], o: i32[G + 1]) -> (y: f32[M]) { y[i] = sum[k](x[i, k] * w[g, k]) where o[g + 1] > i >= o[g] }",
    "def f(x: f32[2 * N]) -> (y: f32[N]) { y[i] = sum[k in i:2 * i + 1](x[k]) }",
    "def f(x: f32[N]) -> (y: f32[N]) { y[i] = sum[k, i - 2 <= k, k <= i + 2](x[k]) }",
    // Ranges from several subscripts.
    "def f(x: f32[N], w: f32[K]) -> (y: f32[N - K + 1]) {\n  require K <= N\n  y[i] = sum[k](x[i + k] * w[K - 1 - k])\n}",
    "def f(x: f32[N], w: f32[N]) -> (y: f32[]) { y[] = sum[k](x[k - 1] * w[k + 1]) }",
    "def f(x: f32[N], w: f32[2 * N]) -> (y: f32[]) { y[] = sum[k](x[k + 1] * w[2 * k + 2]) }",
    "def f(x: f32[N * M]) -> (y: f32[]) {\n  require M >= 1\n  y[] = sum[k](x[M * k])\n}",
    "def f(x: f32[N]) -> (y: f32[N - 1]) {\n  let step[i] = x[i + 1] * 2\n  y[i] = step[i]\n}",
};

TEST(Acceptance, KnownSizesRefuseNothing) {
  for (const char *text : kAccepted) {
    Imported open(text);
    ASSERT_TRUE(open.module) << text << "\n" << open.errors.front();
    std::vector<std::string> sizes;
    for (mlir::Attribute s : open.kernel().getSizes())
      sizes.push_back(mlir::cast<mlir::StringAttr>(s).getValue().str());
    for (unsigned which = 1; which < 1u << sizes.size(); ++which)
      for (int64_t value : {1, 2, 3, 4, 7}) {
        ImportOptions options;
        for (size_t i = 0; i < sizes.size(); ++i)
          if (which >> i & 1)
            options.constants[sizes[i]] = value + int64_t(i) % 2;
        Imported fixed(text, options);
        if (!fixed.module) // not for these sizes
          EXPECT_THAT(fixed.errors.front(), AnyOf(HasSubstr("never holds"), HasSubstr("dims are not negative"))) << text;
        else
          EXPECT_TRUE(mlir::succeeded(mlir::verify(*fixed.module))) << text;
      }
  }
}

TEST(Acceptance, SizesMayBePutInAfterwards) {
  for (const char *text : kAccepted) {
    Imported r(text);
    ASSERT_TRUE(r.module) << text;
    te::KernelOp kernel = r.kernel();
    std::string first = kernel.getSizeName(0).str();
    unsigned sizes = kernel.getNumSizes();
    fixSizes(kernel, {{first, int64_t(3)}, {"other", int64_t(1)}});
    EXPECT_EQ(kernel.getNumSizes(), sizes - 1);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*r.module))) << text;
    EXPECT_THAT(r.print(), testing::Not(HasSubstr("\"" + first + "\""))) << text;
  }
}

TEST(Acceptance, TheOrderOfFactorsGivesTheSameRange) {
  const char *head = "def f(x: f32[N], w: f32[K]) -> (y: f32[N - K + 1]) {\n  require K <= N\n  y[i] = sum[k](";
  for (const char *product : {"x[i + k] * w[K - 1 - k]", "w[K - 1 - k] * x[i + k]"})
    EXPECT_THAT(withRanges(std::string(head) + product + ")\n}"), HasSubstr("k in 0:K\n")) << product;
  for (const char *product : {"x[k + 1] * w[k + K - N - 1]", "w[k + K - N - 1] * x[k + 1]"}) // no bound of the two is the tighter one
    EXPECT_EQ(withRanges("def f(x: f32[N], w: f32[K]) -> (y: f32[]) { y[] = sum[k](" + std::string(product) + ") }"), "<failed>")
        << product;
}

TEST(Acceptance, AmbiguousRangesAreNamed) {
  for (const char *product : {"x[k + 1] * w[k + 2]", "w[k + 2] * x[k + 1]"}) {
    Imported r("def f(x: f32[N], w: f32[K]) -> (y: f32[]) { y[] = sum[k](" + std::string(product) + ") }");
    ASSERT_FALSE(r.module);
    EXPECT_THAT(r.errors.front(),
                testing::AllOf(HasSubstr("the range of index 'k' is ambiguous: its subscripts allow "), HasSubstr("-1:N - 1"),
                               HasSubstr("-2:K - 2"), HasSubstr("say with 'require' which is smaller")));
  }
}

TEST(Acceptance, AScanIsAcceptedInEachSpelling) {
  for (const char *sum : {"sum[j, j <= i](x[j])", "sum[j, i >= j](x[j])", "sum[j in 0:i + 1](x[j])", "sum[0 <= j <= i](x[j])",
                          "sum[j in i:N](x[j])", "sum[j, 2 * j <= i](x[j])", "sum[j, j >= 1, j <= i](x[j])"}) {
    Imported r("def f(x: f32[N]) -> (y: f32[N]) { y[i] = " + std::string(sum) + " }");
    EXPECT_TRUE(r.module) << sum << ": " << (r.errors.empty() ? "" : r.errors.front());
  }
}

} // namespace
} // namespace kernelc::frontend
