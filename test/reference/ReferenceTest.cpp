// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

const char *kScale = R"(
te.kernel @scale sizes ["M", "N"] args ["x", "a"] : ["f32", "f32"]
    [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> ()>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>, %a: f32):
  %y = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    %n = te.size affine_map<()[s0, s1] -> (s1)>
    %ni = arith.index_cast %n : index to i64
    %nf = arith.sitofp %ni : i64 to f32
    %w = arith.mulf %v, %a : f32
    %z = arith.addf %w, %nf : f32
    te.yield %z : f32
  } {name = "y"} : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
})";

TEST(Reference, ElementwiseWithScalarAndSize) {
  auto kernel = mustCompile(kScale);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{3, 5}, {1, 1}, {0, 4}, {4, 0}, {7, 5000}}) {
    auto x = noiseVector(m * n);
    std::vector<float> y(m * n, -1), a = {2.5f};
    ThreadPool pool(3);
    ASSERT_TRUE(kernel->run({m, n}, {view(x, {m, n}), view(a, {})}, {view(y, {m, n})}, &pool).ok());
    for (int64_t i = 0; i < m * n; ++i)
      ASSERT_EQ(y[i], x[i] * 2.5f + float(n));
  }
}

TEST(Reference, F64ComputesInDouble) {
  auto kernel = mustCompile(kScale, Arithmetic::F64);
  std::vector<float> x = {0.1f, 0.7f}, a = {0.3f};
  std::vector<double> y(2);
  ASSERT_TRUE(kernel->run({1, 2}, {view(x, {1, 2}), view(a, {})}, {view(y, {1, 2})}).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(y[i], double(x[i]) * double(0.3f) + 2.0);
}

TEST(Reference, StridedInputsAndOutputs) {
  auto kernel = mustCompile(kScale);
  int64_t m = 4, n = 6;
  auto x = noiseVector(100);
  std::vector<float> a = {1.0f}, y(100, 7.0f);
  // Transposed and reversed input; zero strides; an output with gaps, columns reversed.
  struct {
    std::vector<int64_t> in;
    int64_t offset;
  } inputs[] = {{{1, 4}, 0}, {{-6, -1}, 23}, {{0, 1}, 0}, {{1, 0}, 3}, {{0, 0}, 9}, {{6, 1}, 0}};
  for (auto &in : inputs) {
    std::fill(y.begin(), y.end(), 7.0f);
    TensorView xv{x.data() + in.offset, ElementType::f32, {m, n}, in.in};
    TensorView yv{y.data() + 2 * (n - 1), ElementType::f32, {m, n}, {15, -2}};
    ASSERT_TRUE(kernel->run({m, n}, {xv, view(a, {})}, {yv}).ok());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float &got = y[2 * (n - 1) + 15 * i - 2 * j];
        EXPECT_EQ(got, x[in.offset + i * in.in[0] + j * in.in[1]] + float(n));
        got = 7.0f;
      }
    for (float v : y)
      EXPECT_EQ(v, 7.0f);
  }
}

/// `inner`: affine results of the reads of x and w over (i, j, k).
std::string matmulText(const char *xMap, const char *wMap, const char *xShape, const char *wShape) {
  return std::string(R"(
te.kernel @matmul sizes ["M", "N", "K"] args ["x", "w"] : ["f32", "f32"]
    [affine_map<()[s0, s1, s2] -> ()") +
         xShape + ")>, affine_map<()[s0, s1, s2] -> (" + wShape + R"()>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1, s2] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>):
  %y = te.reduce sum ["i", "j", "k"] parallel 2 extents affine_map<()[s0, s1, s2] -> (s0, s1, s2)> {
  ^bb0(%i: index, %j: index, %k: index):
    %a = te.read %x[%i, %j, %k] map affine_map<(d0, d1, d2)[s0, s1, s2] -> ()" +
         xMap + R"()> : tensor<?x?xf32>
    %b = te.read %w[%i, %j, %k] map affine_map<(d0, d1, d2)[s0, s1, s2] -> ()" +
         wMap + R"()> : tensor<?x?xf32>
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  } {name = "y"} : tensor<?x?xf32>
  te.return %y : tensor<?x?xf32>
})";
}

void checkMatmul(bool transposeX, bool transposeW, Arithmetic arithmetic) {
  auto kernel = mustCompile(matmulText(transposeX ? "d2, d0" : "d0, d2", transposeW ? "d1, d2" : "d2, d1", transposeX ? "s2, s0" : "s0, s2",
                                       transposeW ? "s1, s2" : "s2, s1"),
                            arithmetic);
  ThreadPool pool(2);
  for (auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1}, {5, 67, 33}, {8, 64, 16}, {9, 130, 7}, {3, 4, 0}, {0, 4, 4}, {33, 31, 65}}) {
    auto x = noiseVector(m * k, 1), w = noiseVector(k * n, 2);
    std::vector<float> y(m * n, 99);
    std::vector<double> yd(m * n, 99);
    bool own = arithmetic == Arithmetic::Own;
    auto xv = transposeX ? view(x, {k, m}) : view(x, {m, k});
    auto wv = transposeW ? view(w, {n, k}) : view(w, {k, n});
    auto s = kernel->run({m, n, k}, {xv, wv}, {own ? view(y, {m, n}) : view(yd, {m, n})}, &pool);
    ASSERT_TRUE(s.ok()) << s;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t q = 0; q < k; ++q)
          sum += double(transposeX ? x[q * m + i] : x[i * k + q]) * double(transposeW ? w[j * k + q] : w[q * n + j]);
        ASSERT_NEAR(own ? y[i * n + j] : yd[i * n + j], sum, own ? 2e-5 : 1e-13) << m << " " << n << " " << k;
      }
  }
}

TEST(Reference, MatmulNN) { checkMatmul(false, false, Arithmetic::Own); }
TEST(Reference, MatmulNT) { checkMatmul(false, true, Arithmetic::Own); }
TEST(Reference, MatmulTN) { checkMatmul(true, false, Arithmetic::Own); }
TEST(Reference, MatmulTT) { checkMatmul(true, true, Arithmetic::Own); }
TEST(Reference, MatmulF64) {
  checkMatmul(false, false, Arithmetic::F64);
  checkMatmul(false, true, Arithmetic::F64);
}

TEST(Reference, ResultsDoNotDependOnThreads) {
  auto kernel = mustCompile(matmulText("d0, d2", "d2, d1", "s0, s2", "s2, s1"));
  int64_t m = 130, n = 77, k = 301;
  auto x = noiseVector(m * k, 1), w = noiseVector(k * n, 2);
  std::vector<std::vector<float>> results;
  for (int threads : {0, 1, 2, 5}) {
    std::vector<float> y(m * n);
    ThreadPool pool(std::max(threads, 1));
    ASSERT_TRUE(kernel->run({m, n, k}, {view(x, {m, k}), view(w, {k, n})}, {view(y, {m, n})}, threads ? &pool : nullptr).ok());
    results.push_back(y);
  }
  for (auto &r : results)
    EXPECT_EQ(r, results[0]);
}

const char *kSoftmax = R"(
te.kernel @softmax sizes ["M", "N"] args ["x"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>]
    outs ["y"] : ["f32"] [affine_map<()[s0, s1] -> (s0, s1)>] {
^bb0(%x: tensor<?x?xf32>):
  %m = te.reduce max ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
    te.yield %v : f32
  } {name = "m"} : tensor<?xf32>
  %e = te.compute ["i", "j"] extents affine_map<()[s0, s1] -> (s0, s1)> {
  ^bb0(%i: index, %j: index):
    %v = te.read %x[%i, %j] : tensor<?x?xf32>
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

TEST(Reference, Softmax) {
  auto kernel = mustCompile(kSoftmax);
  int64_t m = 9, n = 301;
  auto x = noiseVector(m * n);
  std::vector<float> y(m * n);
  ASSERT_TRUE(kernel->run({m, n}, {view(x, {m, n})}, {view(y, {m, n})}).ok());
  for (int64_t i = 0; i < m; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j)
      sum += std::exp(double(x[i * n + j]));
    for (int64_t j = 0; j < n; ++j)
      ASSERT_NEAR(y[i * n + j], std::exp(double(x[i * n + j])) / sum, 1e-8);
  }
}

TEST(Reference, BadArgumentsAreStatuses) {
  auto kernel = mustCompile(kScale);
  std::vector<float> x(6), y(6), a(1);
  auto code = [&](absl::Status s) { return s.code(); };
  auto good = view(x, {2, 3}), out = view(y, {2, 3}), scalar = view(a, {});
  EXPECT_EQ(code(kernel->run({2}, {good, scalar}, {out})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(kernel->run({2, 3}, {good}, {out})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(kernel->run({2, 4}, {good, scalar}, {out})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(kernel->run({-2, 3}, {good, scalar}, {out})), absl::StatusCode::kInvalidArgument);
  auto null = good;
  null.data = nullptr;
  EXPECT_EQ(code(kernel->run({2, 3}, {null, scalar}, {out})), absl::StatusCode::kInvalidArgument);
  auto wrong = good;
  wrong.type = ElementType::i32;
  EXPECT_EQ(code(kernel->run({2, 3}, {wrong, scalar}, {out})), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(kernel->run({2, 3}, {good, scalar}, {out}).ok());
}

} // namespace
} // namespace kernelc::reference
