// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Storage types in generated code against support/ElementType.h, bit for bit.
#include "support/ElementType.h"

#include <bit>
#include <cstring>
#include <limits>

#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

/// y[i] = body(x[i]).
std::string pointwise(const std::string &from, const std::string &to, const std::string &body, const std::string &fromMlir,
                      const std::string &toMlir) {
  return "te.kernel @f sizes [\"N\"] args [\"x\"] : [\"" + from + "\"] [affine_map<()[s0] -> (s0)>]\n outs [\"y\"] : [\"" + to +
         "\"] [affine_map<()[s0] -> (s0)>] {\n^bb0(%x: tensor<?x" + fromMlir +
         ">):\n %y = te.compute [\"i\"] extents affine_map<()[s0] -> (s0)> {\n"
         " ^bb0(%i: index):\n %v = te.read %x[%i] : tensor<?x" +
         fromMlir + ">\n" + body + "\n te.yield %w : " + toMlir + "\n } {name = \"y\"} : tensor<?x" + toMlir +
         ">\n te.return %y : tensor<?x" + toMlir + ">\n}";
}

struct Narrow {
  const char *name, *mlir;
  ElementType type;
  int bits;
  bool convert; ///< narrows with te.convert
};
const Narrow kNarrow[] = {{"bf16", "bf16", ElementType::bf16, 16, false},
                          {"f16", "f16", ElementType::f16, 16, false},
                          {"f8e4m3", "f8E4M3FN", ElementType::f8e4m3, 8, true},
                          {"f8e5m2", "f8E5M2", ElementType::f8e5m2, 8, true}};

float widened(ElementType t, uint16_t bits) {
  switch (t) {
  case ElementType::bf16: return fromBF16(bits);
  case ElementType::f16: return fromF16(bits);
  case ElementType::f8e4m3: return fromF8E4M3(uint8_t(bits));
  default: return fromF8E5M2(uint8_t(bits));
  }
}
template <typename T> uint16_t narrowed(ElementType t, T v) {
  switch (t) {
  case ElementType::bf16: return toBF16(v);
  case ElementType::f16: return toF16(v);
  case ElementType::f8e4m3: return toF8E4M3(v);
  default: return toF8E5M2(v);
  }
}
bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

TEST(NarrowTypes, WidenEveryPattern) {
  for (const Narrow &t : kNarrow) {
    int64_t n = int64_t(1) << t.bits;
    std::vector<uint16_t> in16(n);
    std::vector<uint8_t> in8(n);
    for (int64_t i = 0; i < n; ++i) {
      in16[i] = uint16_t(i);
      in8[i] = uint8_t(i);
    }
    TensorView x{t.bits == 16 ? static_cast<void *>(in16.data()) : in8.data(), t.type, {n}, {1}};
    auto text = pointwise(t.name, "f32", std::string(" %w = arith.extf %v : ") + t.mlir + " to f32", t.mlir, "f32");
    std::vector<float> own(n);
    std::vector<double> f64(n);
    ASSERT_TRUE(mustCompile(text)->run({n}, {x}, {view(own, {n})}).ok());
    ASSERT_TRUE(mustCompile(text, Arithmetic::F64)->run({n}, {x}, {view(f64, {n})}).ok());
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(same(own[i], widened(t.type, uint16_t(i)))) << t.name << " " << i << " " << own[i];
      ASSERT_TRUE(same(f64[i], widened(t.type, uint16_t(i)))) << t.name << " " << i << " " << f64[i];
    }
  }
}

template <typename T> std::vector<T> interesting() {
  std::vector<T> v = {0,
                      T(-0.0),
                      1,
                      -1,
                      448,
                      449,
                      464,
                      465,
                      480,
                      57344,
                      61440,
                      65504,
                      65519.9f,
                      65520,
                      1e30f,
                      -1e30f,
                      std::numeric_limits<T>::infinity(),
                      -std::numeric_limits<T>::infinity(),
                      std::numeric_limits<T>::quiet_NaN(),
                      std::numeric_limits<T>::denorm_min(),
                      T(3.4e38),
                      T(3.39e38)};
  for (int e = -140; e < 128; ++e)
    for (int i = 0; i < 64; ++i)
      v.push_back(T(std::ldexp(1 + i / 64.0 + (i % 3) * 0x1p-20, e) * (i & 1 ? -1 : 1)));
  for (int i = 0; i < 40000; ++i)
    v.push_back(T(std::ldexp(double(noise(i)), int(noise(i + 77777) * 30))));
  return v;
}

template <typename T> void checkNarrowing(const char *from) {
  auto v = interesting<T>();
  int64_t n = int64_t(v.size());
  for (const Narrow &t : kNarrow) {
    auto text =
        pointwise(from, t.name, std::string(t.convert ? " %w = te.convert %v : " : " %w = arith.truncf %v : ") + from + " to " + t.mlir,
                  from, t.mlir);
    std::vector<uint16_t> out16(n);
    std::vector<uint8_t> out8(n);
    TensorView y{t.bits == 16 ? static_cast<void *>(out16.data()) : out8.data(), t.type, {n}, {1}};
    ASSERT_TRUE(mustCompile(text)->run({n}, {view(v, {n})}, {y}).ok());
    for (int64_t i = 0; i < n; ++i) {
      uint16_t got = t.bits == 16 ? out16[i] : out8[i], want = narrowed(t.type, v[i]);
      if (std::isnan(v[i]))
        ASSERT_TRUE(std::isnan(widened(t.type, got))) << t.name;
      else
        ASSERT_EQ(got, want) << t.name << " of " << v[i] << " is " << widened(t.type, got) << " not " << widened(t.type, want);
    }
  }
}
TEST(NarrowTypes, NarrowFromF32) { checkNarrowing<float>("f32"); }
TEST(NarrowTypes, NarrowFromF64) { checkNarrowing<double>("f64"); }

// Nearest with ties away from zero; NaN and infinities as they are, and what is beyond
// the largest tf32 is infinite.
TEST(NarrowTypes, RoundToTf32) {
  std::vector<float> v = {0.0f,
                          -0.0f,
                          1.0f,
                          1.0f + 0x1p-11f,
                          1.0f + 0x1p-10f + 0x1p-11f,
                          1.0f + 0x1p-11f - 0x1p-23f,
                          -1.0f - 0x1p-11f,
                          0x1.fffffep127f,
                          0x1.ffdffep127f,
                          INFINITY,
                          -INFINITY,
                          NAN,
                          0x1p-136f,
                          0x1p-137f,
                          0x1p-138f};
  std::vector<float> want = {0.0f,     -0.0f,     1.0f, 1.0f + 0x1p-10f, 1.0f + 0x1p-9f, 1.0f, -1.0f - 0x1p-10f, INFINITY, 0x1.ffcp127f,
                             INFINITY, -INFINITY, NAN,  0x1p-136f,       0x1p-136f,      0.0f};
  int64_t n = int64_t(v.size());
  std::vector<float> got(n);
  auto text = pointwise("f32", "f32", " %w = te.round %v to tf32 : f32", "f32", "f32");
  ASSERT_TRUE(mustCompile(text)->run({n}, {view(v, {n})}, {view(got, {n})}).ok());
  for (int64_t i = 0; i < n; ++i)
    EXPECT_TRUE(same(got[i], want[i])) << v[i] << " is " << got[i] << " not " << want[i];
}

TEST(NarrowTypes, FloatToIntegerSaturates) {
  std::vector<float> v = {0, 1.9f, -1.9f, 127.5f, 128, -128.9f, -129, 1e20f, -1e20f, INFINITY, -INFINITY, NAN, 255.5f, 300};
  int64_t n = int64_t(v.size());
  std::vector<int8_t> s(n);
  std::vector<uint8_t> u(n);
  ASSERT_TRUE(
      mustCompile(pointwise("f32", "i8", " %w = te.convert %v : f32 to i8", "f32", "i8"))->run({n}, {view(v, {n})}, {view(s, {n})}).ok());
  ASSERT_TRUE(mustCompile(pointwise("f32", "u8", " %w = te.convert %v to_unsigned : f32 to i8", "f32", "i8"))
                  ->run({n}, {view(v, {n})}, {view(u, {n})})
                  .ok());
  EXPECT_EQ(s, (std::vector<int8_t>{0, 1, -1, 127, 127, -128, -128, 127, -128, 127, -128, 0, 127, 127}));
  EXPECT_EQ(u, (std::vector<uint8_t>{0, 1, 0, 127, 128, 0, 0, 255, 0, 255, 0, 0, 255, 255}));
}

TEST(NarrowTypes, NibblesAndBools) {
  // i4 in, i4 out: adds one with wrap-around; odd length, then a reversed view.
  auto kernel = mustCompile(pointwise("i4", "i4", " %c = arith.constant 1 : i4\n %w = arith.addi %v, %c : i4", "i4", "i4"));
  std::vector<uint8_t> x = {0x21, 0xf8, 0x07}, y = {0xee, 0xee, 0xee};
  TensorView xv{x.data(), ElementType::i4, {5}, {1}}, yv{y.data(), ElementType::i4, {5}, {1}};
  ASSERT_TRUE(kernel->run({5}, {xv}, {yv}).ok());
  EXPECT_EQ(y, (std::vector<uint8_t>{0x32, 0x09, 0xe8})); // the last high nibble is not ours
  // Views count nibbles from the base: every second element.
  TensorView every{x.data(), ElementType::i4, {3}, {2}}, out{y.data(), ElementType::i4, {3}, {1}};
  ASSERT_TRUE(kernel->run({3}, {every}, {out}).ok());
  EXPECT_EQ(y[0], 0x92);
  EXPECT_EQ(y[1] & 15, 8);
  auto sign = mustCompile(pointwise("i4", "i32", " %w = arith.extsi %v : i4 to i32", "i4", "i32"));
  std::vector<int32_t> wide(5);
  ASSERT_TRUE(sign->run({5}, {xv}, {view(wide, {5})}).ok());
  EXPECT_EQ(wide, (std::vector<int32_t>{1, 2, -8, -1, 7}));
  auto flip = mustCompile(pointwise("bool", "bool", " %c = arith.constant true\n %w = arith.xori %v, %c : i1", "i1", "i1"));
  std::vector<uint8_t> in = {0, 1, 255, 2}, res(4, 9);
  TensorView bi{in.data(), ElementType::boolean, {4}, {1}}, bo{res.data(), ElementType::boolean, {4}, {1}};
  ASSERT_TRUE(flip->run({4}, {bi}, {bo}).ok());
  EXPECT_EQ(res, (std::vector<uint8_t>{1, 0, 0, 0}));
}

TEST(NarrowTypes, DivisionAndShiftsAreDefinedEverywhere) {
  std::vector<int32_t> x = {7, -7, 7, -7, 0, INT32_MIN, INT32_MIN, 5}, d = {2, 2, -2, -2, 0, -1, 0, 0};
  auto run = [&](const std::string &op) {
    std::string text =
        "te.kernel @f sizes [\"N\"] args [\"x\", \"d\"] : [\"i32\", \"i32\"] [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]\n"
        "outs [\"y\"] : [\"i32\"] [affine_map<()[s0] -> (s0)>] {\n^bb0(%x: tensor<?xi32>, %d: tensor<?xi32>):\n"
        "%y = te.compute [\"i\"] extents affine_map<()[s0] -> (s0)> {\n^bb0(%i: index):\n%a = te.read %x[%i] : tensor<?xi32>\n%b = te.read "
        "%d[%i] : tensor<?xi32>\n"
        "%w = " +
        op + " %a, %b : i32\nte.yield %w : i32\n} {name = \"y\"} : tensor<?xi32>\nte.return %y : tensor<?xi32>\n}";
    std::vector<int32_t> y(x.size());
    int64_t n = int64_t(x.size());
    EXPECT_TRUE(mustCompile(text)->run({n}, {view(x, {n}), view(d, {n})}, {view(y, {n})}).ok());
    return y;
  };
  EXPECT_EQ(run("arith.divsi"), (std::vector<int32_t>{3, -3, -3, 3, 0, INT32_MIN, 0, 0}));
  EXPECT_EQ(run("arith.floordivsi"), (std::vector<int32_t>{3, -4, -4, 3, 0, INT32_MIN, 0, 0}));
  EXPECT_EQ(run("arith.ceildivsi"), (std::vector<int32_t>{4, -3, -3, 4, 0, INT32_MIN, 0, 0}));
  EXPECT_EQ(run("arith.remsi"), (std::vector<int32_t>{1, -1, 1, -1, 0, 0, 0, 0}));
  EXPECT_EQ(run("arith.divui"), (std::vector<int32_t>{3, 0x7ffffffc, 0, 0, 0, 0, 0, 0}));
  d = {33, 1, 0, 32, 31, 1, 64, -1};
  EXPECT_EQ(run("arith.shli"), (std::vector<int32_t>{14, -14, 7, -7, 0, 0, INT32_MIN, INT32_MIN}));
}

} // namespace
} // namespace kernelc::reference
