// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bound of float sums holds for every order of summation, worst ones included, and is no larger than what partial sums can be.
#include <algorithm>
#include <numeric>
#include <random>

#include "support/ElementType.h"
#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

std::string sumText(const char *type, bool isNarrow) {
  std::string t = type, wide = isNarrow ? "%v = arith.extf %u : f8E4M3FN to f32\n" : "";
  std::string stored = isNarrow ? "f8E4M3FN" : "f32";
  return "te.kernel @f sizes [\"K\"] args [\"x\", \"w\"] : [\"" + t + "\", \"" + t +
         "\"] [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>] "
         "outs [\"y\"] : [\"f32\"] [affine_map<()[s0] -> ()>] {\n^bb0(%x: tensor<?x" +
         stored + ">, %w: tensor<?x" + stored +
         ">):\n"
         "%y = te.reduce sum [\"k\"] parallel 0 extents affine_map<()[s0] -> (s0)> {\n^bb0(%k: index):\n"
         "%u = te.read %x[%k] : tensor<?x" +
         stored + ">\n%s = te.read %w[%k] : tensor<?x" + stored + ">\n" +
         (isNarrow ? "%v = arith.extf %u : f8E4M3FN to f32\n%z = arith.extf %s : f8E4M3FN to f32\n%p = arith.mulf %v, %z : f32\n"
                   : "%p = arith.mulf %u, %s : f32\n") +
         "te.yield %p : f32\n} {name = \"y\"} : tensor<f32>\nte.return %y : tensor<f32>\n}";
}

struct Bounded {
  double value = 0, bound = 0;
};

Bounded boundOf(const ReferenceKernel &oracle, TensorView x, TensorView w, int64_t n) {
  Bounded b;
  TensorView value{&b.value, ElementType::f64, {}, {}}, bound{&b.bound, ElementType::f64, {}, {}};
  auto status = oracle.run({n}, {x, w}, {value}, nullptr, {bound});
  EXPECT_TRUE(status.ok()) << status;
  return b;
}

/// Sequential, in the order given, in blocks of `block` whose sums are then added.
float addUp(const std::vector<float> &terms, size_t block) {
  float sum = 0;
  for (size_t i = 0; i < terms.size(); i += block) {
    float part = 0;
    for (size_t j = i; j < std::min(terms.size(), i + block); ++j)
      part += terms[j];
    sum += part;
  }
  return sum;
}

float addPairs(std::vector<float> terms) {
  for (; terms.size() > 1; terms.resize((terms.size() + 1) / 2))
    for (size_t i = 0; i < terms.size() / 2; ++i)
      terms[i] = terms[2 * i] + terms[2 * i + 1], i + 1 == terms.size() / 2 && terms.size() % 2 ? terms[i + 1] = terms.back() : 0;
  return terms.empty() ? 0 : terms[0];
}

TEST(SumBounds, HoldForEveryOrder) {
  auto module = sumText("f32", false);
  auto oracle = mustCompile(module, Arithmetic::F64WithError);
  std::mt19937 random(7);
  for (int64_t n : {1, 2, 3, 37, 1000, 20000})
    for (int kind = 0; kind < 5; ++kind) {
      std::vector<float> x, w;
      for (int64_t k = 0; k < n; ++k) {
        float v = float(int(random() % 2000001) - 1000000) * 1e-6f;
        x.push_back(kind == 1   ? std::fabs(v)
                    : kind == 2 ? std::ldexp(v, int(random() % 30) - 15)
                    : kind == 3 ? (k % 2 ? 1 : -1) * (1 + v * 1e-4f)
                                : v);
        w.push_back(kind == 4 ? 1.0f : float(int(random() % 2001) - 1000) * 1e-3f);
        if (kind == 1)
          w.back() = std::fabs(w.back());
      }
      Bounded b = boundOf(*oracle, view(x, {n}), view(w, {n}), n);
      std::vector<float> products;
      double magnitudes = 0;
      for (int64_t k = 0; k < n; ++k) {
        products.push_back(x[size_t(k)] * w[size_t(k)]);
        magnitudes += std::fabs(double(x[size_t(k)]) * w[size_t(k)]);
      }
      auto expect = [&](float got, const char *order) {
        EXPECT_LE(std::fabs(double(got) - b.value), b.bound) << order << " of " << n << ", kind " << kind;
      };
      for (int round = 0; round < 8; ++round) {
        std::shuffle(products.begin(), products.end(), random);
        expect(addUp(products, size_t(n)), "random");
        expect(addUp(products, 7), "in blocks");
        expect(addPairs(products), "in pairs");
      }
      std::sort(products.begin(), products.end());
      expect(addUp(products, size_t(n)), "negative first");
      std::reverse(products.begin(), products.end());
      expect(addUp(products, size_t(n)), "positive first");
      std::sort(products.begin(), products.end(), [](float a, float c) { return std::fabs(a) > std::fabs(c); });
      expect(addUp(products, size_t(n)), "largest first");
      // Of both signs, partial sums reach about half of the magnitudes.
      double classic = double(n + 2) * 0x1p-24 * magnitudes;
      EXPECT_LE(b.bound, classic * (n < 100 ? 1.6 : kind == 1 || kind == 2 ? 1.01 : 0.6) + 1e-40) << n << ", kind " << kind;
    }
}

TEST(SumBounds, KnowWhereNoMatrixUnitAdds) {
  mlir::DialectRegistry registry;
  registry.insert<te::TeDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(sumText("f8e4m3", true), &context);
  ASSERT_TRUE(module);
  te::KernelOp kernel = *module->getOps<te::KernelOp>().begin();
  auto onUnits = ReferenceKernel::compile(kernel, Arithmetic::F64WithError),
       inF32 = ReferenceKernel::compile(kernel, Arithmetic::F64WithError, Sums::InF32);
  ASSERT_TRUE(onUnits.ok() && inF32.ok());
  const int64_t n = 2048;
  std::vector<uint8_t> x, w;
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    x.push_back(toF8E4M3(noise(i)));
    w.push_back(toF8E4M3(noise(i + 99991)));
    sum += fromF8E4M3(x.back()) * fromF8E4M3(w.back());
  }
  auto tensor = [&](std::vector<uint8_t> &v) { return TensorView{v.data(), ElementType::f8e4m3, {n}, {1}}; };
  Bounded units = boundOf(**onUnits, tensor(x), tensor(w), n), exact = boundOf(**inF32, tensor(x), tensor(w), n);
  EXPECT_EQ(units.value, exact.value);
  EXPECT_LE(std::fabs(double(sum) - exact.value), exact.bound);
  EXPECT_GT(units.bound, 50 * exact.bound);
}

} // namespace
} // namespace kernelc::reference
