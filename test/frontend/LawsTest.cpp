// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which laws the frontend finds to hold of a reducer: lawful ones of many kinds, and a hundred that break one law each.
#include "test/frontend/FrontendTesting.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

struct Found {
  bool monoid, commutative;
  std::string text;
};

/// A kernel that reduces by `reducer` ("(a, b: T) identity e { .. }"): elements `element` of x: f32[N], n: i32[N], s: i8[N], u: u8[N],
/// c: bool[N].
Found lawsOf(const std::string &reducer, const std::string &element) {
  std::string text = "reducer f" + reducer +
                     "\ndef g(x: f32[N], d: f64[N], n: i32[N], l: i64[N], s: i8[N], u: u8[N], v: u32[N], c: bool[N]) -> " +
                     "(y: f32[]) {\n\n let w[] = f[k in 0:N](" + element + ")\n  y[] = 0.0 if w[] != w[] else 1.0\n}\n";
  bool tuple = reducer.find(": (") != std::string::npos;
  if (tuple) { // any field
    size_t at = reducer.find(": (") + 3;
    std::string field = reducer.substr(at, reducer.find(':', at) - at);
    size_t where = text.find("w[] != w[]");
    text.replace(where, 10, "w[]." + field + " != w[]." + field);
  }
  Imported imported(text);
  if (!imported.module) {
    ADD_FAILURE() << text << (imported.errors.empty() ? "" : imported.errors.front());
    return {};
  }
  Found found{};
  imported.module->walk([&](te::FoldOp op) { found = {op.getMonoid(), op.getCommutative(), op.getLawText().str()}; });
  return found;
}

const std::pair<const char *, const char *> kLawful[] = {
    {"(a, b: f32) identity 0 { a + b }", "x[k]"},
    {"(a, b: f32) identity 1 { a * b }", "x[k]"},
    {"(a, b: f32) identity -inf { max(a, b) }", "x[k]"},
    {"(a, b: f32) identity inf { min(a, b) }", "x[k]"},
    {"(a, b: i32) identity 0 { a + b }", "n[k]"},
    {"(a, b: i32) identity 0 { a ^ b }", "n[k]"},
    {"(a, b: u8) identity 255 { a & b }", "u[k]"},
    {"(a, b: bool) identity False { a or b }", "c[k]"},
    {"(a, b: f64) identity 0 { a + b }", "d[k]"},
    {"(a, b: (re: f32, im: f32)) identity (1, 0) { (a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re) }", "x[k], 2 * x[k]"},
    {"(a, b: (n: f32, mean: f32, m2: f32)) identity (0, 0, 0) { let n = a.n + b.n\n let d = b.mean - a.mean\n let w = b.n / n if n > 0 "
     "else 0\n"
     "(n, a.mean + d * w, a.m2 + b.m2 + d * d * a.n * w) }",
     "1, x[k], 0"},
    {"(a, b: (n: f32, mean: f32, m2: f32)) identity (0, 0, 0) { let n = a.n + b.n\n let d = b.mean - a.mean\n"
     "(n, a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n) if a.n > 0 and b.n > 0 else (b if a.n == 0 else a) }",
     "1, x[k], 0"},
    {"(a, b: (m: f32, s: f32)) identity (-inf, 0) { let m = max(a.m, b.m)\n (m, a.s * (1 if a.m == m else exp(a.m - m)) "
     "+ b.s * (1 if b.m == m else exp(b.m - m))) }",
     "x[k], 1"},
    {"(a, b: (lo: i32, hi: i32)) identity (2147483647, -2147483648) { (min(a.lo, b.lo), max(a.hi, b.hi)) }", "n[k], n[k]"},
};

const std::pair<const char *, const char *> kOrdered[] = {
    // monoids whose order counts
    {"(a, b: (a: f32, b: f32)) identity (1, 0) { (a.a * b.a, b.a * a.b + b.b) }", "x[k], x[k]"},
    {"(a, b: (f: bool, v: f32)) identity (False, 0) { (a.f or b.f, b.v if b.f else a.v + b.v) }", "c[k], x[k]"},
    {"(a, b: (some: bool, v: f32)) identity (False, 0) { b if b.some else a }", "True, x[k]"},
    {"(a, b: (c: i32, o: i32)) identity (0, 0) { let m = min(a.o, b.c)\n (a.c + b.c - m, a.o + b.o - m) }",
     "i32(u[k] == 41), i32(u[k] == 40)"},
    {"(a, b: (p: i32, q: i32, r: i32, s: i32)) identity (1, 0, 0, 1) { (a.p * b.p + a.q * b.r, a.p * b.q + a.q * b.s, a.r * b.p + a.s * "
     "b.r,"
     " a.r * b.q + a.s * b.s) }",
     "n[k], 1, 1, 0"},
};

TEST(Laws, HoldOfLawfulReducers) {
  for (auto [reducer, element] : kLawful) {
    Found found = lawsOf(reducer, element);
    EXPECT_TRUE(found.monoid && found.commutative) << reducer << "\n" << found.text;
    EXPECT_EQ(found.text, "") << reducer;
  }
}

TEST(Laws, OrderedMonoidsKeepTheirOrder) {
  for (auto [reducer, element] : kOrdered) {
    Found found = lawsOf(reducer, element);
    EXPECT_TRUE(found.monoid) << reducer << "\n" << found.text;
    EXPECT_FALSE(found.commutative) << reducer;
    EXPECT_NE(found.text.find("is not commutative"), std::string::npos) << found.text;
  }
}

/// The language's own example: its identity is none at -inf and at NaN.
TEST(Laws, LastMaxHasNoIdentity) {
  Found found = lawsOf("(a, b: (v: f32, i: i64)) identity (-inf, -1) { b if b.v >= a.v else a }", "x[k], k");
  EXPECT_FALSE(found.monoid);
  EXPECT_NE(found.text.find("identity (-inf, -1) is not neutral"), std::string::npos) << found.text;
}

struct Planted {
  std::string reducer, element, law; ///< a part of the message; empty: any
};

/// Reducers that break one law each, by kinds of mistake and their places.
std::vector<Planted> plantedReducers() {
  std::vector<Planted> all;
  auto add = [&](const std::string &reducer, const std::string &element, const char *law) {
    all.push_back({reducer, element, law ? law : ""});
  };
  const char *identity = "is not neutral", *associative = "is not associative", *commutative = "is not commutative";
  // An identity that is another number.
  for (const char *e : {"1", "-1", "0.5", "inf", "-inf", "nan", "1e-3", "1e30"})
    add(std::string("(a, b: f32) identity ") + e + " { a + b }", "x[k]", identity);
  for (const char *e : {"0", "-1", "2", "0.999", "inf"})
    add(std::string("(a, b: f32) identity ") + e + " { a * b }", "x[k]", identity);
  for (const char *e : {"0", "-3e38", "-1e30", "1"})
    add(std::string("(a, b: f32) identity ") + e + " { max(a, b) }", "x[k]", identity);
  for (const char *e : {"0", "2147483646", "-1", "7"})
    add(std::string("(a, b: i32) identity ") + e + " { min(a, b) }", "n[k]", identity);
  for (const char *e : {"127", "254", "0", "1"})
    add(std::string("(a, b: u8) identity ") + e + " { a & b }", "u[k]", identity);
  for (const char *e : {"1", "-2", "1e-6", "inf"})
    add(std::string("(a, b: f64) identity ") + e + " { a + b }", "d[k]", identity);
  for (const char *e : {"1", "2", "128", "4294967295"})
    add(std::string("(a, b: u32) identity ") + e + " { a | b }", "v[k]", identity);
  for (const char *e : {"0", "-1", "-9223372036854775807"})
    add(std::string("(a, b: i64) identity ") + e + " { max(a, b) }", "l[k]", identity);
  // Comparisons that lose NaN, or -inf.
  for (const char *op : {">", ">=", "<", "<="})
    add(std::string("(a, b: f32) identity ") + (op[0] == '>' ? "-inf" : "inf") + " { a if a " + op + " b else b }", "x[k]", nullptr);
  for (const char *op : {">", ">="})
    add(std::string("(a, b: (v: f32, i: i64)) identity (-inf, -1) { a if a.v ") + op + " b.v else b }", "x[k], k", nullptr);
  // Saturation and rounding between steps.
  for (int high : {127, 100, 64})
    add("(a, b: i8) identity 0 { i8(min(max(a + b, " + std::to_string(-high - (high == 127)) + "), " + std::to_string(high) + ")) }",
        "s[k]", nullptr);
  for (int high : {200, 255})
    add("(a, b: i32) identity 0 { min(a + b, " + std::to_string(high) + ") }", "n[k]", nullptr);
  for (const char *f : {"floor", "round", "trunc", "ceil"})
    add(std::string("(a, b: f32) identity 0 { ") + f + "(a + b) }", "x[k]", nullptr);
  // Differences, quotients, means and powers.
  for (const char *e : {"a - b", "b - a", "(a + b) / 2", "a - 2 * b", "a + 2 * b", "abs(a) + b", "a + abs(b)", "sqrt(abs(a + b))", "-a - b",
                        "a * 0.5 + b", "a * b + a", "a + b + 1", "a + b + a * 0.001", "exp(a) + b", "(a + b) * 0.5", "a * abs(b)"})
    add(std::string("(a, b: f32) identity 0 { ") + e + " }", "x[k]", nullptr);
  for (const char *e : {"a - b", "b - a", "a + b + 1", "a * 2 + b", "a + b * b", "(a + b) // 2", "a // 2 + b", "a | b << 1", "a ^ b >> 1",
                        "~(a & b)", "a + b if a < 100 else a", "a + b if a != 7 else b", "max(a, b) + 1", "abs(a) + abs(b)"})
    add(std::string("(a, b: i32) identity 0 { ") + e + " }", "n[k]", nullptr);
  for (const char *e : {"a and not b", "not (a or b)", "a == b and a", "not a and b"})
    add(std::string("(a, b: bool) identity False { ") + e + " }", "c[k]", nullptr);
  // Only the order counts.
  for (const char *e : {"a", "b"})
    add(std::string("(a, b: (some: bool, v: f32)) identity (False, 0) { ") + (e[0] == 'a' ? "a if a.some else b" : "b if b.some else a") +
            " }",
        "True, x[k]", commutative);
  for (const char *e : {"(a.a * b.a, b.a * a.b + b.b)", "(a.a * b.a, a.a * b.b + a.b)"})
    add(std::string("(a, b: (a: i32, b: i32)) identity (1, 0) { ") + e + " }", "n[k], n[k]", commutative);
  // Tuples of which one field is wrong.
  for (const char *e : {"(a.n + b.n, a.s - b.s)", "(a.n + b.n, (a.s + b.s) / 2)", "(a.n, a.s + b.s)", "(a.n + b.n, a.s + b.s + a.n)",
                        "(a.n + b.n, a.s * b.s)", "(max(a.n, b.n), a.s + b.s)", "(a.n + b.n, a.s + b.s if a.n < 9 else a.s)"})
    add(std::string("(a, b: (n: f32, s: f32)) identity (0, 0) { ") + e + " }", "x[k], x[k]", nullptr);
  // Statistics: a mean that forgets counts, states that are not merged, an identity that divides by zero.
  add("(a, b: (n: f32, mean: f32)) identity (0, 0) { (a.n + b.n, (a.mean + b.mean) / 2) }", "1, x[k]", nullptr);
  add("(a, b: (n: f32, mean: f32)) identity (0, 0) { (a.n + b.n, (a.n * a.mean + b.n * b.mean) / (a.n + b.n)) }", "1, x[k]", identity);
  add("(a, b: (m: f32, s: f32)) identity (-inf, 0) { let m = max(a.m, b.m)\n (m, a.s * exp(a.m - m) + b.s * exp(b.m - m)) }", "x[k], 1",
      identity);
  add("(a, b: (m: f32, s: f32)) identity (-inf, 0) { (max(a.m, b.m), a.s + b.s * exp(b.m - a.m)) }", "x[k], 1", nullptr);
  add("(a, b: (c: i32, o: i32)) identity (0, 0) { let m = min(a.o, b.c)\n (a.c + b.c - m, a.o + b.o) }", "i32(c[k]), i32(not c[k])",
      associative);
  for (const char *t : {"f16", "bf16"})
    add(std::string("(a, b: ") + t + ") identity 1 { " + t + "(a * b - 1) }", "x[k]", nullptr);
  return all;
}

TEST(Laws, AHundredPlantedReducersAreFound) {
  std::vector<Planted> all = plantedReducers();
  EXPECT_GE(all.size(), 100u);
  for (const Planted &p : all) {
    Found found = lawsOf(p.reducer, p.element);
    bool isFound = !p.law.empty() ? found.text.find(p.law) != std::string::npos : !found.monoid;
    EXPECT_TRUE(isFound) << p.reducer << "\n" << found.text;
    EXPECT_NE(found.text.find("reducer 'f': "), std::string::npos) << p.reducer;
  }
}

} // namespace
} // namespace kernelc::frontend
