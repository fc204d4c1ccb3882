// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is refused before a launch, with the message that says so; and which
// variant is picked.
#include "runtime/LaunchCheck.h"

#include <gmock/gmock.h>

#include "runtime/CudaError.h"
#include "support/TensorLayout.h"
#include "test/runtime/TestKernels.h"

namespace kernelc {
namespace {

using namespace testing_kernels;
using testing::HasSubstr;

constexpr ElementType bf16 = ElementType::bf16;

std::vector<LaunchValue> mmArgs(int64_t m = 128, int64_t k = 64, int64_t n = 256) {
  return {tensorAt(1 << 20, bf16, {m, k}), tensorAt(2 << 20, bf16, {n, k}), tensorAt(3 << 20, bf16, {m, n})};
}
DeviceTensor &T(std::vector<LaunchValue> &args, int i) { return std::get<DeviceTensor>(args[i]); }

std::string errorOf(const std::vector<LaunchValue> &args, std::vector<NamedSize> sizes = {}, Kernel kernel = matmul()) {
  auto r = checkArguments(kernel, args, sizes, 0, 132);
  if (r.ok())
    return "ok";
  EXPECT_EQ(r.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(r.status().message());
}

TEST(CheckArguments, SolvesSizes) {
  auto r = checkArguments(matmul(), mmArgs(), {}, 0, 132);
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_THAT(r->sizes, testing::ElementsAre(128, 64, 256));
  EXPECT_EQ(r->strides[0], (std::vector<int64_t>{64, 1}));
}

TEST(CheckArguments, Count) {
  auto args = mmArgs();
  args.pop_back();
  EXPECT_EQ(errorOf(args), "mm.kc:3:5: kernel 'mm' takes 3 arguments (x, w, y), got 2");
}

TEST(CheckArguments, TypeRankDevice) {
  auto args = mmArgs();
  T(args, 0).type = ElementType::f16;
  EXPECT_EQ(
      errorOf(args),
      "mm.kc:3:8: parameter 'x': expected elements of type bf16, got f16; nothing is converted on the way in: convert the array, in NumPy "
      "with x.astype(ml_dtypes.bfloat16)");
  args = mmArgs();
  T(args, 2).type = ElementType::f64;
  EXPECT_THAT(errorOf(args), testing::HasSubstr("got f64; nothing is converted on the way out: pass an array of "));
  args = mmArgs();
  T(args, 1) = tensorAt(2 << 20, bf16, {256, 8, 8});
  EXPECT_EQ(errorOf(args), "mm.kc:3:23: parameter 'w': expected rank 2 [N, K], got a tensor of shape [256, 8, 8]");
  args = mmArgs();
  T(args, 2).device = 3;
  EXPECT_EQ(errorOf(args), "mm.kc:3:44: parameter 'y': is on CUDA device 3, but the kernel runs on device 0");
  args = mmArgs();
  T(args, 0).strides.pop_back();
  EXPECT_THAT(errorOf(args), HasSubstr("2 extents but 1 strides"));
}

TEST(CheckArguments, ScalarsAndTensorsAreNotMixedUp) {
  std::vector<LaunchValue> args = {tensorAt(4096, ElementType::f32, {}), tensorAt(8192, ElementType::f32, {8}),
                                   tensorAt(16384, ElementType::f32, {8})};
  EXPECT_EQ(errorOf(args, {}, axpy()), "axpy.kc:1:10: parameter 'a': expected a scalar, got a tensor");
  args[0] = ScalarValue{ElementType::f64, 0};
  EXPECT_EQ(errorOf(args, {}, axpy()), "axpy.kc:1:10: parameter 'a': expected a scalar of type f32, got f64");
  args[0] = ScalarValue{ElementType::f32, 0};
  EXPECT_EQ(errorOf(args, {}, axpy()), "ok");
  args[1] = ScalarValue{ElementType::f32, 0};
  EXPECT_EQ(errorOf(args, {}, axpy()), "axpy.kc:1:18: parameter 'x': expected a tensor, got a scalar");
}

TEST(CheckArguments, Extents) {
  auto args = mmArgs();
  T(args, 1) = tensorAt(2 << 20, bf16, {256, 72});
  EXPECT_EQ(errorOf(args), "mm.kc:3:23: parameter 'w': expected extent 64 (= K) in dimension 1, got 72");
  args = mmArgs();
  T(args, 0).shape[0] = -1;
  EXPECT_THAT(errorOf(args), HasSubstr("negative extent in shape [-1, 64]"));
}

TEST(CheckArguments, NullAndMisaligned) {
  auto args = mmArgs();
  T(args, 2).data = nullptr;
  EXPECT_EQ(errorOf(args), "mm.kc:3:44: parameter 'y': is null, but has shape [128, 256]");
  EXPECT_EQ(errorOf({tensorAt(0, bf16, {0, 64}), tensorAt(2 << 20, bf16, {256, 64}), tensorAt(0, bf16, {0, 256})}), "ok")
      << "no elements, no address";
  args = mmArgs();
  T(args, 0).data = reinterpret_cast<void *>((1 << 20) + 1);
  EXPECT_THAT(errorOf(args), HasSubstr("not a multiple of its element size, 2 bytes"));
}

TEST(CheckArguments, SpansThatOverflow) {
  auto args = mmArgs();
  T(args, 0).strides[0] = INT64_MAX / 4;
  EXPECT_THAT(errorOf(args), HasSubstr("spans more memory than can be addressed"));
  T(args, 0).strides[0] = INT64_MIN;
  EXPECT_THAT(errorOf(args), HasSubstr("spans more memory"));
  T(args, 0) = tensorAt(1 << 20, bf16, {INT64_MAX, 2}, {0, 0});
  EXPECT_THAT(errorOf(args), HasSubstr("spans more memory"));
}

TEST(CheckArguments, Requires) {
  EXPECT_EQ(errorOf(mmArgs(128, 60, 256)), "mm.kc:4:3: kernel 'mm' requires K % 8 == 0; got M = 128, K = 60, N = 256");
}

TEST(CheckArguments, Overlaps) {
  auto args = mmArgs();
  T(args, 2).data = T(args, 0).data;
  EXPECT_THAT(errorOf(args), HasSubstr("mm.kc:3:44: parameter 'y': is written, but overlaps parameter 'x'"));
  args = mmArgs();
  T(args, 1).data = T(args, 0).data;
  T(args, 1).shape[0] = T(args, 0).shape[0];
  T(args, 2) = tensorAt(3 << 20, bf16, {128, 128});
  EXPECT_EQ(errorOf(args), "ok") << "inputs may overlap";
  args = mmArgs();
  T(args, 2).strides = {0, 1};
  EXPECT_THAT(errorOf(args), HasSubstr("elements of it overlap each other"));
}

TEST(CheckArguments, OutputsMustNotOverlapEachOther) {
  Kernel k = axpy();
  k.params[1].kind = ParamKind::InOut;
  std::vector<LaunchValue> args = {ScalarValue{ElementType::f32, 0}, tensorAt(4096, ElementType::f32, {8}),
                                   tensorAt(4096 + 28, ElementType::f32, {8})};
  EXPECT_THAT(errorOf(args, {}, k), HasSubstr("parameter 'y': is written, but overlaps parameter 'x'"));
  T(args, 2).data = reinterpret_cast<void *>(4096 + 32);
  EXPECT_EQ(errorOf(args, {}, k), "ok");
}

TEST(CheckArguments, NamedSizes) {
  EXPECT_EQ(errorOf(mmArgs(), {{"M", 128}}), "ok");
  EXPECT_EQ(errorOf(mmArgs(), {{"M", 127}}), "mm.kc:3:5: size 'M' was given as 127, but the arguments make it 128");
  EXPECT_EQ(errorOf(mmArgs(), {{"Q", 1}}), "mm.kc:3:5: kernel 'mm' has no size 'Q'; its sizes are M, K, N");
  Kernel k = matmul();
  k.sizes.push_back({"W", -1, -1, 1, 0, {}});
  EXPECT_EQ(errorOf(mmArgs(), {}, k), "mm.kc:3:5: size 'W' follows from no argument: give it by name (W=...)");
  EXPECT_EQ(errorOf(mmArgs(), {{"W", 5}}, k), "ok");
  k.sizes[3].constant = 7;
  EXPECT_EQ(errorOf(mmArgs(), {{"W", 5}}, k), "mm.kc:3:5: size 'W' was given as 5, but is compiled in as 7");
}

TEST(CheckArguments, AffineRecipes) {
  // def half(x: f32[2 * N + 1]) -> (y: f32[N])
  Kernel k = axpy();
  k.params[1].dims = {SizeExpr(2) * SizeExpr::size(0) + 1};
  k.sizes = {{"N", 1, 0, 2, 1, {}}};
  auto args = [](int64_t x, int64_t y) {
    return std::vector<LaunchValue>{ScalarValue{ElementType::f32, 0}, tensorAt(4096, ElementType::f32, {x}),
                                    tensorAt(1 << 20, ElementType::f32, {y})};
  };
  EXPECT_EQ(errorOf(args(9, 4), {}, k), "ok");
  EXPECT_EQ(errorOf(args(8, 4), {}, k), "axpy.kc:1:18: parameter 'x': dimension 0 is 8, but must be 2 * N + 1 for some N >= 0");
  EXPECT_THAT(errorOf(args(0, 0), {}, k), HasSubstr("must be 2 * N + 1"));
}

LayoutClass classifyLayout(const DeviceTensor &t) { return kernelc::classifyLayout(t.type, t.shape, t.strides); }

TEST(ClassifyLayout, Classes) {
  EXPECT_EQ(classifyLayout(tensorAt(64, bf16, {4, 8})), LayoutClass::Dense);
  EXPECT_EQ(classifyLayout(tensorAt(64, bf16, {4, 8}, {16, 1})), LayoutClass::InnerUnit);
  EXPECT_EQ(classifyLayout(tensorAt(64, bf16, {4, 8}, {9, 1})), LayoutClass::Any) << "rows 18 bytes apart";
  EXPECT_EQ(classifyLayout(tensorAt(64, bf16, {4, 8}, {1, 4})), LayoutClass::Any);
  EXPECT_EQ(classifyLayout(tensorAt(64, bf16, {4, 8}, {0, 1})), LayoutClass::Any);
  EXPECT_EQ(classifyLayout(tensorAt(64, bf16, {4, 8}, {-8, 1})), LayoutClass::Any);
  EXPECT_EQ(classifyLayout(tensorAt(64, bf16, {1, 8}, {3, 1})), LayoutClass::Dense) << "an extent of 1 has no stride";
  EXPECT_EQ(classifyLayout(tensorAt(64, bf16, {})), LayoutClass::Dense);
  EXPECT_EQ(classifyLayout(tensorAt(0, bf16, {0, 5}, {7, 7})), LayoutClass::Dense);
}

TEST(SelectVariant, FirstThatHolds) {
  auto pick = [](std::vector<LaunchValue> args, Kernel k = matmul()) -> absl::StatusOr<int> {
    auto checked = checkArguments(k, args, {}, 0, 132);
    if (!checked.ok())
      return checked.status();
    return selectVariant(k, *checked);
  };
  EXPECT_EQ(*pick(mmArgs()), 0);
  auto args = mmArgs();
  T(args, 0).data = reinterpret_cast<void *>((1 << 20) + 2);
  EXPECT_EQ(*pick(args), 1) << "misaligned for TMA";
  args = mmArgs();
  T(args, 1).strides = {1, 256};
  EXPECT_EQ(*pick(args), 1) << "transposed";

  Kernel strict = matmul();
  strict.variants.pop_back();
  strict.variants[0].guard = SizeExpr::binary(SizeTerm::Le, 1024, SizeExpr::size(0));
  auto none = pick(mmArgs(), strict);
  EXPECT_EQ(findErrorKind(none.status()), RuntimeErrorKind::NoVariant);
  EXPECT_EQ(none.status().message(), "mm.kc:3:5: no variant of kernel 'mm' takes these arguments:\n  tma: needs 1024 <= M");
}

TEST(CheckArguments, StridesOfUnitExtentsAreAligned) {
  auto r = checkArguments(matmul(),
                          std::vector<LaunchValue>{tensorAt(1 << 20, bf16, {1, 72}, {5, 1}), tensorAt(2 << 20, bf16, {256, 72}),
                                                   tensorAt(3 << 20, bf16, {1, 256})},
                          {}, 0, 132);
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_EQ(r->strides[0], (std::vector<int64_t>{128, 1})); // rows of every pitch
}

} // namespace
} // namespace kernelc
