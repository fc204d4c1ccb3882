// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// |device - f64| <= bound, with the CPU in the program's own types as the device,
// over every op; and the bounds are not idle: they stay near the rounding they are for.
#include <limits>

#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

struct Result {
  std::vector<double> own, f64, bound;
};

/// One input x of f32 [N], output f32 [N] by `body` from %v (f32) to %w (`out` type).
std::string unaryText(const std::string &body, const std::string &out = "f32") {
  std::string source = out == "i1" ? "bool" : out;
  return "te.kernel @f sizes [\"N\"] args [\"x\"] : [\"f32\"] [affine_map<()[s0] -> (s0)>] outs [\"y\"] : [\"" + source +
         "\"] [affine_map<()[s0] -> (s0)>] {\n^bb0(%x: tensor<?xf32>):\n%y = te.compute [\"i\"] extents affine_map<()[s0] -> (s0)> "
         "{\n^bb0(%i: index):\n"
         "%v = te.read %x[%i] : tensor<?xf32>\n" +
         body + "\nte.yield %w : " + out + "\n} {name = \"y\"} : tensor<?x" + out + ">\nte.return %y : tensor<?x" + out + ">\n}";
}

/// Runs `text` (one f32 input, one output of n elements) as device and as oracle.
Result runBoth(const std::string &text, std::vector<int64_t> sizes, std::vector<float> x, std::vector<int64_t> xShape) {
  auto own = mustCompile(text), oracle = mustCompile(text, Arithmetic::F64WithError);
  Result r;
  if (!own || !oracle)
    return r;
  auto shape = own->outputShape(0, sizes);
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  r.f64.resize(n);
  r.bound.resize(n);
  std::vector<float> device(n);
  std::vector<int64_t> integers(n), exact(n);
  bool isF = isFloat(own->outputType(0));
  auto s = own->run(sizes, {view(x, xShape)}, {isF ? view(device, shape) : view(integers, shape)});
  EXPECT_TRUE(s.ok()) << s;
  s = oracle->run(sizes, {view(x, xShape)}, {isF ? view(r.f64, shape) : view(exact, shape)}, nullptr, {view(r.bound, shape)});
  EXPECT_TRUE(s.ok()) << s;
  for (int64_t i = 0; i < n; ++i) {
    r.own.push_back(isF ? double(device[i]) : double(integers[i]));
    if (!isF)
      r.f64[i] = double(exact[i]);
  }
  return r;
}

/// Every element within its bound; how many bounds are infinite is returned.
int checkBounds(const Result &r, const std::string &what) {
  int unbounded = 0;
  for (size_t i = 0; i < r.own.size(); ++i) {
    double d = r.own[i], v = r.f64[i], e = r.bound[i];
    EXPECT_FALSE(std::isnan(e)) << what << " " << i;
    if (std::isinf(e)) {
      ++unbounded;
      continue;
    }
    bool agree = std::isfinite(v) ? std::fabs(d - v) <= e : (d == v || (std::isnan(d) && std::isnan(v)));
    EXPECT_TRUE(agree) << what << " [" << i << "]: device " << d << " f64 " << v << " bound " << e;
  }
  return unbounded;
}

std::vector<float> spread() {
  std::vector<float> x;
  for (int i = 0; i < 3000; ++i)
    x.push_back(std::ldexp(noise(i), int(noise(i + 5000) * 9)));
  for (float v : {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 100.0f, -100.0f, 1e-30f, 1e30f, 1e-42f, INFINITY, -INFINITY, NAN})
    x.push_back(v);
  return x;
}

/// A value with an error of its own: t = v / 3 * 3, about 2 ulps off.
const char *kApproximate = "%c3 = arith.constant 3.0 : f32\n%q = arith.divf %v, %c3 : f32\n%t = arith.mulf %q, %c3 : f32\n";

TEST(ErrorBounds, EveryUnaryFunction) {
  for (const char *op : {"absf", "acos",  "acosh",     "asin",  "asinh", "atan",  "atanh", "cbrt", "ceil",  "cos",
                         "cosh", "erf",   "erfc",      "exp",   "exp2",  "expm1", "floor", "log",  "log10", "log1p",
                         "log2", "round", "roundeven", "rsqrt", "sin",   "sinh",  "sqrt",  "tan",  "tanh",  "trunc"}) {
    auto x = spread();
    int64_t n = int64_t(x.size());
    std::string call = std::string("%w = math.") + op + " ";
    Result exact = runBoth(unaryText(call + "%v : f32"), {n}, x, {n});
    checkBounds(exact, op);
    Result rough = runBoth(unaryText(kApproximate + call + "%t : f32"), {n}, x, {n});
    int unbounded = checkBounds(rough, std::string(op) + " of approximate");
    bool domainLimited = std::string("acos acosh asin atanh log log10 log1p log2 rsqrt sqrt tan cosh sinh").find(op) != std::string::npos;
    EXPECT_LT(unbounded, domainLimited ? int(n) : int(n) / 10) << op;
    // Exact input: the bound is a few ulps, not more, and for exponentials what flushing those below the normal numbers to zero is off by.
    bool isExp = std::string(op) == "exp";
    for (size_t i = 0; i < exact.own.size(); ++i)
      if (std::isfinite(exact.f64[i]) && std::isfinite(exact.bound[i])) {
        double ulps = 6 + (isExp ? std::fmin(std::fabs(x[i]), 128.0f) : 0), flushed = isExp ? 0x1p-125 : 0x1p-145;
        EXPECT_LE(exact.bound[i], ulps * 0x1p-23 * std::fabs(exact.f64[i]) + flushed) << op << " at " << x[i];
      }
  }
}

TEST(ErrorBounds, EveryBinaryFunction) {
  for (const char *op : {"arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maximumf", "arith.minimumf", "arith.maxnumf",
                         "arith.minnumf", "arith.remf", "math.atan2", "math.copysign", "math.powf"}) {
    auto x = spread();
    int64_t n = int64_t(x.size());
    // The other operand: the mirrored element, exact and approximate.
    std::string other = "%o = te.read %x[%i] map affine_map<(d0)[s0] -> (s0 - d0 - 1)> : tensor<?xf32>\n";
    checkBounds(runBoth(unaryText(other + "%w = " + op + " %v, %o : f32"), {n}, x, {n}), op);
    checkBounds(runBoth(unaryText(other + kApproximate + "%w = " + op + " %t, %o : f32"), {n}, x, {n}), std::string(op) + " approx left");
    checkBounds(runBoth(unaryText(other + kApproximate + "%w = " + op + " %o, %t : f32"), {n}, x, {n}), std::string(op) + " approx right");
    Result both = runBoth(unaryText(other + kApproximate + "%u = arith.mulf %o, %q : f32\n%w = " + op + " %t, %u : f32"), {n}, x, {n});
    checkBounds(both, std::string(op) + " both");
  }
  auto x = spread();
  int64_t n = int64_t(x.size());
  checkBounds(runBoth(unaryText(std::string(kApproximate) + "%w = math.fma %t, %q, %v : f32"), {n}, x, {n}), "fma");
}

TEST(ErrorBounds, CastsCountTheirRounding) {
  for (const char *type : {"bf16", "f16", "f8E4M3FN", "f8E5M2"}) {
    std::string t = type, narrow = t[1] == '8' ? "te.convert" : "arith.truncf";
    auto x = spread();
    int64_t n = int64_t(x.size());
    Result r =
        runBoth(unaryText(kApproximate + std::string("%h = ") + narrow + " %t : f32 to " + t + "\n%w = arith.extf %h : " + t + " to f32"),
                {n}, x, {n});
    int unbounded = checkBounds(r, type);
    EXPECT_LT(unbounded, n / 2);
  }
  auto x = spread();
  int64_t n = int64_t(x.size());
  EXPECT_LT(checkBounds(runBoth(unaryText(std::string(kApproximate) + "%w = te.round %t to tf32 : f32"), {n}, x, {n}), "tf32"), n / 2);
}

TEST(ErrorBounds, ComparisonsWithinTheErrorMayGoEitherWay) {
  // step(t - v): t is v up to rounding, so the device may take either side.
  std::string body = std::string(kApproximate) + "%c = arith.cmpf oeq, %t, %v : f32\n%one = arith.constant 1.0 : f32\n%five = "
                                                 "arith.constant 5.0 : f32\n%w = arith.select %c, %one, %five : f32";
  auto x = noiseVector(500);
  Result r = runBoth(unaryText(body), {500}, x, {500});
  EXPECT_EQ(checkBounds(r, "select"), 0);
  for (double e : r.bound)
    EXPECT_EQ(e, 4);
  // Far from the threshold nothing is uncertain.
  body = std::string(kApproximate) + "%z = arith.constant 10.0 : f32\n%c = arith.cmpf olt, %t, %z : f32\n%one = arith.constant 1.0 : "
                                     "f32\n%five = arith.constant 5.0 : f32\n%w = arith.select %c, %one, %five : f32";
  r = runBoth(unaryText(body), {500}, x, {500});
  for (double e : r.bound)
    EXPECT_EQ(e, 0);
}

TEST(ErrorBounds, IntegersFromApproximateFloats) {
  auto x = spread();
  int64_t n = int64_t(x.size());
  std::string toInt =
      std::string(kApproximate) +
      "%k = arith.constant 100.0 : f32\n%s = arith.mulf %t, %k : f32\n%r = math.roundeven %s : f32\n%w = te.convert %r : f32 to i64";
  Result r = runBoth(unaryText(toInt, "i64"), {n}, x, {n});
  int unbounded = checkBounds(r, "to integer");
  EXPECT_LT(unbounded, n / 10);
  int exact = 0;
  for (double e : r.bound)
    exact += e == 0;
  EXPECT_GT(exact, n / 2);
  // Exact floats give exact integers.
  r = runBoth(unaryText("%w = te.convert %v : f32 to i64", "i64"), {n}, x, {n});
  for (double e : r.bound)
    EXPECT_EQ(e, 0);
  EXPECT_EQ(checkBounds(r, "exact integer"), 0);
}

std::string reduceText(const std::string &kind, const std::string &body, const std::string &yield, const std::string &out = "f32") {
  return "te.kernel @r sizes [\"M\", \"N\"] args [\"x\"] : [\"f32\"] [affine_map<()[s0, s1] -> (s0, s1)>] outs [\"y\"] : [\"" + out +
         "\"] [affine_map<()[s0, s1] -> (s0)>] {\n^bb0(%x: tensor<?x?xf32>):\n%y = te.reduce " + kind +
         " [\"i\", \"j\"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {\n^bb0(%i: index, %j: index):\n%v = te.read %x[%i, %j] : "
         "tensor<?x?xf32>\n" +
         body + "\nte.yield " + yield + " : f32\n} {name = \"y\"} : tensor<?x" + out + ">\nte.return %y : tensor<?x" + out + ">\n}";
}

TEST(ErrorBounds, Reductions) {
  int64_t m = 40, n = 100;
  auto x = noiseVector(m * n);
  std::string uncertain = std::string(kApproximate) + "%c = arith.cmpf oge, %t, %v : f32\n";
  for (const char *kind : {"sum", "prod", "max", "min"}) {
    Result plain = runBoth(reduceText(kind, "", "%v"), {m, n}, x, {m, n});
    EXPECT_EQ(checkBounds(plain, kind), 0);
    EXPECT_EQ(checkBounds(runBoth(reduceText(kind, kApproximate, "%t"), {m, n}, x, {m, n}), kind), 0);
    // A prefix of every row counts surely, so that even a max is bounded.
    std::string some = uncertain + "%f = arith.constant 5 : index\n%p = arith.cmpi ult, %j, %f : index\n%d = arith.ori %c, %p : i1\n";
    EXPECT_EQ(checkBounds(runBoth(reduceText(kind, some, "%v where %d"), {m, n}, x, {m, n}), std::string(kind) + " where"), 0);
    for (int64_t i = 0; i < m; ++i) {
      double size = 0;
      for (int64_t j = 0; j < n; ++j)
        size += std::fabs(x[i * n + j]);
      double limit = kind[0] == 's' ? 2.0 * double(n) * 0x1p-24 * size : kind[0] == 'p' ? 1e-3 * std::fabs(plain.f64[i]) + 1e-40 : 0;
      EXPECT_LE(plain.bound[i], limit) << kind;
    }
  }
}

TEST(ErrorBounds, ArgReductionsOfApproximateKeys) {
  // Row 0: a clear winner; row 1: a tie up to rounding; row 2: exact keys tie below the winner.
  std::vector<float> x = {1, 2, 9, 3, 0.1f, 0.7f, 0.7f, 0.2f, 4, 4, 5, 1};
  for (const char *kind : {"argmax", "argmin"}) {
    Result exact = runBoth(reduceText(kind, "", "%v", "i64"), {3, 4}, x, {3, 4});
    EXPECT_EQ(exact.bound, (std::vector<double>{0, 0, 0}));
    Result rough = runBoth(reduceText(kind, kApproximate, "%t", "i64"), {3, 4}, x, {3, 4});
    EXPECT_EQ(rough.bound[0], 0);
    if (std::string(kind) == "argmax")
      EXPECT_EQ(rough.bound[1], std::numeric_limits<double>::infinity());
    EXPECT_EQ(rough.bound[2], 0);
    checkBounds(exact, kind);
    checkBounds(rough, kind);
  }
}

TEST(ErrorBounds, SoftmaxWithMaskedRows) {
  // exp(x - max) / sum over j <= i with -inf elsewhere, as attention has it.
  std::string text = R"(
te.kernel @softmax sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %ninf = arith.constant 0xFF800000 : f32
  %k = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %a = arith.constant 0.3 : f32
    %sc = arith.mulf %v, %a : f32
    %c = arith.cmpi sle, %j, %i : index
    %w = arith.select %c, %sc, %ninf : f32
    te.yield %w : f32
  } {name = "k"} : tensor<?x?xf32>
  %m = te.reduce max ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %k[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "m"} : tensor<?xf32>
  %e = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %k[%i, %j] : tensor<?x?xf32>
    %mi = te.read %m[%i] : tensor<?xf32>
    %d = arith.subf %v, %mi : f32
    %w = math.exp %d : f32
    te.yield %w : f32
  } {name = "e"} : tensor<?x?xf32>
  %s = te.reduce sum ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %e[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "s"} : tensor<?xf32>
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %e[%i, %j] : tensor<?x?xf32>
    %si = te.read %s[%i] : tensor<?xf32>
    %w = arith.divf %v, %si : f32
    te.yield %w : f32
  } {name = "y"} : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
})";
  int64_t m = 20, n = 50;
  auto x = noiseVector(m * n);
  for (float &v : x)
    v *= 20;
  Result r = runBoth(text, {m, n}, x, {m, n});
  EXPECT_EQ(checkBounds(r, "softmax"), 0);
  for (size_t i = 0; i < r.bound.size(); ++i)
    EXPECT_LE(r.bound[i], 3e-5 * r.f64[i] + 0x1p-122) << i; // (exponentials below the normal numbers may be zero, quotients off by 2^-123)
}

} // namespace
} // namespace kernelc::reference
