// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Domains, combiners, bounds modes, init and out_map against loops written out here.
#include <functional>
#include <limits>

#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

/// y[i] reduced over j in [0, N) of x[i, j] (f32 or i32), with `where` / yield suffixes.
std::string reduceText(const std::string &kind, const std::string &type, const std::string &source, const std::string &set = "",
                       const std::string &body = "", const std::string &yield = "%v") {
  bool arg = kind.rfind("arg", 0) == 0;
  std::string out = arg ? "i64" : type, outSource = arg ? "i64" : source;
  return "te.kernel @r sizes [\"M\", \"N\"] args [\"x\"] : [\"" + source + "\"] [affine_map<()[s0, s1] -> (s0, s1)>]\n outs [\"y\"] : [\"" +
         outSource + "\"] [affine_map<()[s0, s1] -> (s0)>] {\n^bb0(%x: tensor<?x?x" + type + ">):\n %y = te.reduce " + kind +
         " [\"i\", \"j\"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)>" + (set.empty() ? "" : " where " + set) +
         " {\n ^bb0(%i: index, %j: index):\n %v = te.read %x[%i, %j] : tensor<?x?x" + type + ">\n" + body + "\n te.yield " + yield + " : " +
         type + "\n } {name = \"y\"} : tensor<?x" + out + ">\n te.return %y : tensor<?x" + out + ">\n}";
}

template <typename T, typename R>
std::vector<R> run2d(const std::string &text, std::vector<T> x, int64_t m, int64_t n, Arithmetic a = Arithmetic::Own,
                     ElementType type = ElementOf<T>::type) {
  std::vector<R> y(m, R(77));
  auto kernel = mustCompile(text, a);
  if (!kernel)
    return y;
  TensorView out = view(y, {m});
  out.type = kernel->outputType(0);
  auto s = kernel->run({m, n}, {view(x, {m, n}, type)}, {out});
  EXPECT_TRUE(s.ok()) << s;
  return y;
}

using F = std::vector<float>;
using I = std::vector<int32_t>;
using L = std::vector<int64_t>;

TEST(Domain, FloatCombiners) {
  F x = {3, -1, 2, 2, 7, 7, -5, 0, kNan, 1, 2, 3};
  auto run = [&](const char *kind) { return run2d<float, float>(reduceText(kind, "f32", "f32"), x, 3, 4); };
  auto check = [](F got, F want) {
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << i << ": " << got[i];
  };
  check(run("sum"), {6, 9, kNan});
  check(run("prod"), {-12, 0, kNan});
  check(run("max"), {3, 7, kNan});
  check(run("min"), {-1, -5, kNan});
}

TEST(Domain, EmptyReductionsGiveTheIdentity) {
  for (auto [kind, want] : {std::pair<const char *, float>{"sum", 0}, {"prod", 1}, {"max", -kInf}, {"min", kInf}})
    EXPECT_EQ((run2d<float, float>(reduceText(kind, "f32", "f32"), {}, 2, 0)), (F{want, want})) << kind;
  for (auto [kind, want] : {std::pair<const char *, int32_t>{"sum", 0},
                            {"prod", 1},
                            {"max", INT32_MIN},
                            {"min", INT32_MAX},
                            {"maxu", 0},
                            {"minu", -1},
                            {"and", -1},
                            {"or", 0},
                            {"xor", 0}})
    EXPECT_EQ((run2d<int32_t, int32_t>(reduceText(kind, "i32", "i32"), {}, 2, 0)), (I{want, want})) << kind;
}

TEST(Domain, IntegerCombiners) {
  I x = {5, -3, 12, 6, 1 << 30, 1 << 30, 1 << 30, 7};
  auto run = [&](const char *kind) { return run2d<int32_t, int32_t>(reduceText(kind, "i32", "i32"), x, 2, 4); };
  EXPECT_EQ(run("sum"), (I{20, int32_t(0xc0000007)}));
  EXPECT_EQ(run("prod"), (I{-1080, 0}));
  EXPECT_EQ(run("max"), (I{12, 1 << 30}));
  EXPECT_EQ(run("min"), (I{-3, 7}));
  EXPECT_EQ(run("maxu"), (I{-3, 1 << 30}));
  EXPECT_EQ(run("minu"), (I{5, 7}));
  EXPECT_EQ(run("and"), (I{5 & -3 & 12 & 6, 0}));
  EXPECT_EQ(run("or"), (I{-1, (1 << 30) | 7}));
  EXPECT_EQ(run("xor"), (I{5 ^ -3 ^ 12 ^ 6, (1 << 30) ^ 7}));
}

TEST(Domain, BoolCombiners) {
  std::vector<uint8_t> x = {0, 0, 0, 1, 0, 255, 1, 1, 1};
  auto run = [&](const char *kind) {
    return run2d<uint8_t, uint8_t>(reduceText(kind, "i1", "bool"), x, 3, 3, Arithmetic::Own, ElementType::boolean);
  };
  EXPECT_EQ(run("any"), (std::vector<uint8_t>{0, 1, 1}));
  EXPECT_EQ(run("all"), (std::vector<uint8_t>{0, 0, 1}));
}

TEST(Domain, ArgReductions) {
  F x = {1, 5, 5, 2, kNan, 9, kNan, 1, -kInf, -kInf, -kInf, -kInf};
  for (Arithmetic a : {Arithmetic::Own, Arithmetic::F64}) {
    EXPECT_EQ((run2d<float, int64_t>(reduceText("argmax", "f32", "f32"), x, 3, 4, a)), (L{1, 0, 0}));
    EXPECT_EQ((run2d<float, int64_t>(reduceText("argmin", "f32", "f32"), x, 3, 4, a)), (L{0, 3, 0}));
  }
  I y = {1, -2, 7, 7};
  EXPECT_EQ((run2d<int32_t, int64_t>(reduceText("argmax", "i32", "i32"), y, 1, 4)), (L{2}));
  EXPECT_EQ((run2d<int32_t, int64_t>(reduceText("argmaxu", "i32", "i32"), y, 1, 4)), (L{1}));
  EXPECT_EQ((run2d<int32_t, int64_t>(reduceText("argmin", "i32", "i32"), y, 1, 4)), (L{1}));
  EXPECT_EQ((run2d<int32_t, int64_t>(reduceText("argminu", "i32", "i32"), y, 1, 4)), (L{0}));
}

TEST(Domain, IntegerSets) {
  int64_t m = 7, n = 9;
  I x(m * n);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = int32_t(i * i % 101);
  struct Case {
    const char *set;
    std::function<bool(int64_t, int64_t)> holds;
  };
  Case cases[] = {
      {"affine_set<(d0, d1)[s0, s1] : (d0 - d1 >= 0)>", [](int64_t i, int64_t j) { return j <= i; }},
      {"affine_set<(d0, d1)[s0, s1] : (d0 - d1 == 0)>", [](int64_t i, int64_t j) { return j == i; }},
      {"affine_set<(d0, d1)[s0, s1] : (d1 - d0 + 2 >= 0, d0 - d1 + 2 >= 0)>", [](int64_t i, int64_t j) { return std::abs(i - j) <= 2; }},
      {"affine_set<(d0, d1)[s0, s1] : (d1 * 2 - d0 - 3 >= 0)>", [](int64_t i, int64_t j) { return 2 * j - i - 3 >= 0; }},
      {"affine_set<(d0, d1)[s0, s1] : (d0 - d1 * 3 >= 0)>", [](int64_t i, int64_t j) { return i >= 3 * j; }},
      {"affine_set<(d0, d1)[s0, s1] : (d1 mod 3 == 0)>", [](int64_t i, int64_t j) { return j % 3 == 0; }},
      {"affine_set<(d0, d1)[s0, s1] : ((d0 + d1) mod s0 - 2 >= 0)>", [=](int64_t i, int64_t j) { return (i + j) % m >= 2; }},
      {"affine_set<(d0, d1)[s0, s1] : (d1 floordiv 4 - d0 floordiv 4 == 0)>", [](int64_t i, int64_t j) { return i / 4 == j / 4; }},
      {"affine_set<(d0, d1)[s0, s1] : (d0 - 3 >= 0)>", [](int64_t i, int64_t) { return i >= 3; }},
      {"affine_set<(d0, d1)[s0, s1] : (s0 - 8 >= 0)>", [=](int64_t, int64_t) { return m >= 8; }},
      {"affine_set<(d0, d1)[s0, s1] : (d1 * s0 - 20 >= 0)>", [=](int64_t, int64_t j) { return j * m >= 20; }},
  };
  for (auto &c : cases) {
    I want(m);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        want[i] += c.holds(i, j) ? x[i * n + j] : 0;
    EXPECT_EQ((run2d<int32_t, int32_t>(reduceText("sum", "i32", "i32", c.set), x, m, n)), want) << c.set;
  }
}

TEST(Domain, DataConditions) {
  F x = {1, -2, 3, -4, -1, -1, 2, kNan};
  auto text = reduceText("sum", "f32", "f32", "", " %z = arith.constant 0.0 : f32\n %c = arith.cmpf ogt, %v, %z : f32", "%v where %c");
  EXPECT_EQ((run2d<float, float>(text, x, 2, 4)), (F{4, 2}));
  auto arg = reduceText("argmax", "f32", "f32", "", " %z = arith.constant 0.0 : f32\n %c = arith.cmpf olt, %v, %z : f32", "%v where %c");
  EXPECT_EQ((run2d<float, int64_t>(arg, x, 2, 4)), (L{1, 0}));
}

TEST(Domain, BoundsModes) {
  auto text = [](const std::string &mode) {
    return "te.kernel @b sizes [\"N\", \"R\"] args [\"x\"] : [\"f32\"] [affine_map<()[s0, s1] -> (s0)>]\n outs [\"y\"] : [\"f32\"] "
           "[affine_map<()[s0, s1] -> (s1)>] {\n"
           "^bb0(%x: tensor<?xf32>):\n %p = arith.constant -9.0 : f32\n %y = te.compute [\"i\"] extents affine_map<()[s0, s1] -> (s1)> {\n "
           "^bb0(%i: index):\n"
           " %v = te.read %x[%i] map affine_map<(d0)[s0, s1] -> (d0 - 8)> " +
           mode + " : tensor<?xf32>\n te.yield %v : f32\n } {name = \"y\"} : tensor<?xf32>\n te.return %y : tensor<?xf32>\n}";
  };
  for (int64_t n : {0, 1, 2, 5}) {
    F x(n);
    for (int64_t i = 0; i < n; ++i)
      x[i] = float(i + 1);
    int64_t r = 20;
    auto run = [&](const char *mode) {
      F y(r, 77);
      EXPECT_TRUE(mustCompile(text(mode))->run({n, r}, {view(x, {n})}, {view(y, {r})}).ok());
      return y;
    };
    F pad = run("pad %p"), edge = run("edge"), reflect = run("reflect"), wrap = run("wrap");
    for (int64_t i = 0; i < r; ++i) {
      int64_t at = i - 8;
      EXPECT_EQ(pad[i], at >= 0 && at < n ? x[at] : -9.0f);
      if (n == 0)
        continue; // nothing to read; it only must not crash
      EXPECT_EQ(edge[i], x[std::min(std::max<int64_t>(at, 0), n - 1)]);
      EXPECT_EQ(wrap[i], x[((at % n) + n) % n]);
      int64_t m = at;
      while (n > 1 && (m < 0 || m >= n))
        m = m < 0 ? -m : 2 * (n - 1) - m;
      EXPECT_EQ(reflect[i], x[n == 1 ? 0 : m]);
    }
  }
}

const char *kGather = R"(
te.kernel @gather sizes ["N", "V"] args ["idx", "t"] : ["i32", "f32"] [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0)>] {
^bb0(%idx: tensor<?xi32>, %t: tensor<?xf32>):
  %y = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %k = te.read %idx[%i] : tensor<?xi32>
    %m = arith.constant -1 : i32
    %none = arith.cmpi eq, %k, %m : i32
    %kk = arith.index_cast %k : i32 to index
    %v = te.read %t[%kk] : tensor<?xf32>
    %z = arith.constant 0.5 : f32
    %w = arith.select %none, %z, %v : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
})";

TEST(Domain, GatherIsGuarded) {
  auto kernel = mustCompile(kGather);
  I idx = {2, 0, -1, 1};
  F t = {10, 11, 12}, y(4);
  // -1 is read out of bounds, but not used.
  auto run = [&](int64_t v) { return kernel->run({4, v}, {view(idx, {4}), view(t, {v})}, {view(y, {4})}); };
  ASSERT_TRUE(run(3).ok());
  EXPECT_EQ(y, (F{12, 10, 0.5f, 11}));
  idx[3] = 3;
  absl::Status s = run(3);
  EXPECT_EQ(s.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(s.message().find("'y'"), absl::string_view::npos) << s;
  idx[3] = INT32_MIN;
  EXPECT_EQ(run(3).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(run(0).code(), absl::StatusCode::kOutOfRange);
}

// Sums of rows that data names, over points whose lanes name different ones; as floats and as bounds of their errors.
TEST(Domain, SumsOfGathers) {
  auto kernel = mustCompile(R"(
te.kernel @sums sizes ["M", "N", "K"] args ["idx", "t"] : ["i32", "f32"] [affine_map<()[s0, s1, s2] -> (s1)>, affine_map<()[s0, s1, s2] -> (s0, s2)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1, s2] -> (s1)>] {
^bb0(%idx: tensor<?xi32>, %t: tensor<?x?xf32>):
  %y = te.reduce sum ["j", "k"] parallel 1 extents affine_map<()[s0, s1, s2] -> (s1, s2)> {
  ^bb0(%j: index, %k: index):
    %n = te.read %idx[%j] : tensor<?xi32>
    %i = arith.index_cast %n : i32 to index
    %v = te.read %t[%i, %k] assume : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
})");
  constexpr int64_t kRows = 3, kPoints = 37, kTerms = 2;
  I idx(kPoints);
  for (int64_t j = 0; j < kPoints; ++j)
    idx[j] = int(j % kRows);
  F t = {1, 2, 10, 20, 100, 200}, y(kPoints);
  ASSERT_TRUE(kernel->run({kRows, kPoints, kTerms}, {view(idx, {kPoints}), view(t, {kRows, kTerms})}, {view(y, {kPoints})}).ok());
  for (int64_t j = 0; j < kPoints; ++j)
    EXPECT_EQ(y[j], j % kRows == 0 ? 3 : j % kRows == 1 ? 30 : 300) << j;
}

const char *kConcat = R"(
te.kernel @concat sizes ["M", "N"] args ["a", "b", "acc"] : ["f32", "f32", "f32"]
    [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s1)>, affine_map<()[s0, s1] -> (s0)>]
    outs ["y", "z", "acc"] : ["f32", "f32", "f32"] [affine_map<()[s0, s1] -> (s0 + s1)>, affine_map<()[s0, s1] -> (s0 * 2)>, affine_map<()[s0, s1] -> (s0)>]
    attributes {out_alias = array<i64: -1, -1, 2>} {
^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>, %acc: tensor<?xf32>):
  %y0 = te.compute ["i"] extents affine_map<()[s0, s1] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %a[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", shape = affine_map<()[s0, s1] -> (s0 + s1)>, partial} : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0, s1] -> (s1)> init %y0 : tensor<?xf32> {
  ^bb0(%i: index):
    %v = te.read %b[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y", out_map = affine_map<(d0)[s0, s1] -> (d0 + s0)>, shape = affine_map<()[s0, s1] -> (s0 + s1)>} : tensor<?xf32>
  %z = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %b[%j] : tensor<?xf32>
    te.yield %v : f32
  } {name = "z", out_map = affine_map<(d0)[s0, s1] -> (d0 * 2)>, shape = affine_map<()[s0, s1] -> (s0 * 2)>} : tensor<?xf32>
  %r = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> where affine_set<(d0, d1)[s0, s1] : (d0 - 1 >= 0)> init %acc : tensor<?xf32> {
  ^bb0(%i: index, %j: index):
    %v = te.read %b[%j] : tensor<?xf32>
    %w = te.read %acc[%i] : tensor<?xf32>
    %p = arith.mulf %v, %w : f32
    te.yield %p : f32
  } {name = "acc"} : tensor<?xf32>
  te.return %y, %z, %r : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
})";

TEST(Domain, InitOutMapPartialAndInout) {
  F a = {1, 2, 3}, b = {10, 20}, acc = {5, 6, 7}, y(5), z(6, 99);
  auto kernel = mustCompile(kConcat);
  // acc is updated in place.
  auto s = kernel->run({3, 2}, {view(a, {3}), view(b, {2}), view(acc, {3})}, {view(y, {5}), view(z, {6}), view(acc, {3})});
  ASSERT_TRUE(s.ok()) << s;
  EXPECT_EQ(y, (F{1, 2, 3, 10, 20}));
  EXPECT_EQ(z, (F{30, 0, 30, 0, 30, 0}));
  EXPECT_EQ(acc, (F{5, 6 + 30 * 6, 7 + 30 * 7}));
  std::vector<double> yd(5), zd(6), accd(3);
  F acc2 = {5, 6, 7};
  auto f64 = mustCompile(kConcat, Arithmetic::F64);
  ASSERT_TRUE(f64->run({3, 2}, {view(a, {3}), view(b, {2}), view(acc2, {3})}, {view(yd, {5}), view(zd, {6}), view(accd, {3})}).ok());
  EXPECT_EQ(accd, (std::vector<double>{5, 186, 217}));
  EXPECT_EQ(yd[4], 20);
}

TEST(Domain, UnsupportedOpsAndFailedRequirementsAreStatuses) {
  std::string text = kGather;
  auto at = text.find("%z = arith.constant 0.5 : f32");
  text.replace(at, 29, "%z, %zc = math.sincos %v : f32");
  auto kernel = compileText(text, Arithmetic::Own);
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kInvalidArgument); // [C6]: no scalar of a body
  std::string needs = kGather;
  at = needs.find("(s0)>] {");
  needs.replace(at, 8,
                "(s0)>] attributes {requirements = [affine_set<()[s0, s1] : (s0 mod 2 == 0)>], requirement_texts = [\"N % 2 == 0\"]} {");
  I idx = {0};
  F t = {1}, y = {0};
  auto s = mustCompile(needs)->run({1, 1}, {view(idx, {1}), view(t, {1})}, {view(y, {1})});
  EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(s.message().find("N % 2 == 0"), absl::string_view::npos);
}

TEST(Domain, ExhaustedMemoryIsAStatus) {
  // A temporary of 2^55 bytes.
  std::string text = R"(
te.kernel @big sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (1)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (1)>] {
^bb0(%x: tensor<?xf32>):
  %t = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[] map affine_map<()[s0] -> (0)> : tensor<?xf32>
    %w = math.exp %v : f32
    te.yield %w : f32
  } {name = "t"} : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (1)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] : tensor<?xf32>
    %u = te.read %t[%i] map affine_map<(d0)[s0] -> (s0 - d0 - 1)> : tensor<?xf32>
    %w = arith.addf %v, %u : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
})";
  F x = {1}, y = {0};
  auto s = mustCompile(text)->run({int64_t(1) << 53}, {view(x, {1})}, {view(y, {1})});
  EXPECT_EQ(s.code(), absl::StatusCode::kResourceExhausted) << s;
}

TEST(Domain, RankZeroArgumentsAsOutputsAndSharedValues) {
  const char *text = R"(
te.kernel @k sizes ["N"] args ["x", "c"] : ["f32", "i4"] [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]
    outs ["d", "d2", "x2", "c2", "s"] : ["f32", "f32", "f32", "i4", "f32"]
    [affine_map<()[s0] -> ()>, affine_map<()[s0] -> ()>, affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> ()>] {
^bb0(%x: tensor<?xf32>, %c: tensor<?xi4>):
  %d = te.reduce sum ["k"] parallel 0 extents affine_map<()[s0] -> (s0)> {
  ^bb0(%k: index):
    %v = te.read %x[%k] : tensor<?xf32>
    %w = arith.mulf %v, %v : f32
    te.yield %w : f32
  } {name = "d"} : tensor<f32>
  %s = te.compute [] extents affine_map<()[s0] -> ()> {
    %v = te.read %d[] : tensor<f32>
    %w = math.sqrt %v : f32
    te.yield %w : f32
  } {name = "s"} : tensor<f32>
  te.return %d, %d, %x, %c, %s : tensor<f32>, tensor<f32>, tensor<?xf32>, tensor<?xi4>, tensor<f32>
})";
  F x = {1, 2, 2};
  std::vector<uint8_t> c = {0x21, 0x0f}, c2(2);
  for (int64_t n : {3, 0}) {
    for (Arithmetic a : {Arithmetic::Own, Arithmetic::F64, Arithmetic::F64WithError}) {
      auto kernel = mustCompile(text, a);
      std::vector<double> out[4], err[5];
      std::vector<TensorView> outs, errors;
      std::vector<float> own[4];
      int f = 0;
      for (int i = 0; i < 5; ++i) {
        std::vector<int64_t> shape = i == 2 || i == 3 ? std::vector<int64_t>{n} : std::vector<int64_t>{};
        err[i].resize(4, -1);
        errors.push_back(view(err[i], shape));
        if (i == 3) {
          outs.push_back({c2.data(), ElementType::i4, shape, denseStrides(shape)});
          continue;
        }
        out[f].resize(4, -1);
        own[f].resize(4, -1);
        outs.push_back(a == Arithmetic::Own ? view(own[f], shape) : view(out[f], shape));
        ++f;
      }
      TensorView cv{c.data(), ElementType::i4, {n}, {1}};
      auto s = kernel->run({n}, {view(x, {n}), cv}, outs, nullptr, a == Arithmetic::F64WithError ? errors : std::vector<TensorView>());
      ASSERT_TRUE(s.ok()) << s;
      auto at = [&](int i, int j) { return a == Arithmetic::Own ? double(own[i][j]) : out[i][j]; };
      EXPECT_EQ(at(0, 0), n ? 9 : 0);
      EXPECT_EQ(at(1, 0), n ? 9 : 0);
      EXPECT_EQ(at(3, 0), n ? 3 : 0);
      EXPECT_EQ(at(2, 1), n ? 2 : -1);
      if (n)
        EXPECT_EQ(c2, (std::vector<uint8_t>{0x21, 0x0f}));
      if (n && a == Arithmetic::F64WithError) {
        EXPECT_EQ(err[2][2], 0);
        EXPECT_EQ(err[3][1], 0);
        EXPECT_GT(err[0][0], 0);
      }
    }
  }
}

TEST(Domain, InliningKeepsMeaning) {
  // A chain with shifted and permuted reads; every link is inlined into the last.
  std::string text = R"(
te.kernel @chain sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s1, s0)>] {
^bb0(%x: tensor<?x?xf32>):
  %t = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 - d0 - 1, d1 + 1)> edge : tensor<?x?xf32>
    %w = arith.addf %v, %v : f32
    te.yield %w : f32
  } {name = "t"} : tensor<?x?xf32>
  %u = te.compute ["j", "i"] extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%j: index, %i: index):
    %v = te.read %t[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "u"} : tensor<?x?xf32>
  %y = te.compute ["a", "b"] extents affine_map<()[s0, s1] -> (s1, s0)> {
  ^bb0(%a: index, %b: index):
    %v = te.read %u[%a, %b] : tensor<?x?xf32>
    %n = arith.index_cast %a : index to i32
    %f = arith.sitofp %n : i32 to f32
    %w = arith.subf %v, %f : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
})";
  int64_t m = 3, n = 4;
  auto x = noiseVector(m * n);
  F y(m * n);
  ASSERT_TRUE(mustCompile(text)->run({m, n}, {view(x, {m, n})}, {view(y, {n, m})}).ok());
  for (int64_t a = 0; a < n; ++a)
    for (int64_t b = 0; b < m; ++b)
      EXPECT_EQ(y[a * m + b], 2 * x[(m - 1 - b) * n + std::min(a + 1, n - 1)] - float(a));
}

} // namespace
} // namespace kernelc::reference
