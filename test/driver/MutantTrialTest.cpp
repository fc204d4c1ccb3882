// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mutants of whole kernels on sizes and values that kernelc picks: of masks made true and synchronisation taken away nothing goes
// unseen. The survey of all examples and conformance kernels is test/conformance/mutants.py.
#include "driver/verify/MutantTrial.h"

#include <fstream>
#include <sstream>

#include "driver/verify/HostValues.h"
#include "driver/verify/MutantArguments.h"
#include "gtest/gtest.h"

namespace kernelc {
namespace {

struct Case {
  const char *name, *text;   ///< or FILE.kc of the examples
  double mostRedundant = 25; ///< percent
  const char *target = "sm_90a";
};
void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

std::string textOf(const Case &c) {
  std::string text = c.text;
  if (text.size() < 3 || text.substr(text.size() - 3) != ".kc")
    return text;
  std::ifstream in(std::string(KERNELC_EXAMPLES) + "/" + text);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

class MutantTrial : public ::testing::TestWithParam<Case> {};

TEST_P(MutantTrial, MissesNothing) {
  const Case &c = GetParam();
  auto program = Program::create(textOf(c), {});
  ASSERT_TRUE(program.ok()) << program.status();
  auto kernel = (*program)->findKernel(c.name);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto score = measureKernelMutants(**program, **kernel, c.target);
  ASSERT_TRUE(score.ok()) << score.status();
  EXPECT_GE(score->total, 1); // (most ends are proved, and not asked)
  EXPECT_GE(score->percent(), 98) << score->toString();
  EXPECT_LE(100.0 * score->redundant / score->total, c.mostRedundant) << score->toString();
}

const Case kCases[] = {
    {"softmax_rows", "softmax.kc"},
    {"layer_norm", "layernorm.kc"},
    {"transpose", "transpose.kc"},
    // What lies beyond a row wins against negative numbers alone, and the guard allows no single row.
    {"row_argmax", "argmax.kc"},
    // A mask that leaves out tiles: rounds too many multiply zeros, and after a tile of a block of two the next one always follows. Copies
    // that read nothing have one test less, which was among those found.
    {"block_sparse", "block_sparse.kc", 53, "sm_80"},
    // The mask keeps columns inside, and nothing asks for them again.
    {"gather_rows", "def gather_rows(x: f32[M, N], idx: i32[R]) -> (y: f32[R, N]) { y[r, j] = x.pad(0)[idx[r], j] }", 0},
    {"gather_edge",
     "def gather_edge(x: f16[M], idx: i64[R, S]) -> (y: f16[R, S]) {\n  require M >= 1\n  y[r, s] = x.edge()[idx[r, s] + 1]\n}"},
    {"gather_sum", "def gather_sum(x: f32[M, N], idx: i32[R, K]) -> (y: f32[R, N]) { y[r, j] = sum[k](x.pad(0)[idx[r, k], j]) }"},
    {"resize_linear",
     "def resize_linear(x: f32[H, W]) -> (y: f32[2 * H, 2 * W]) {\n"
     "  y[i, j] = 0.25 * (x.edge()[i // 2, j // 2] + x.edge()[(i + 1) // 2, j // 2] + x.edge()[i // 2, (j + 1) // 2] +\n"
     "                    x.edge()[(i + 1) // 2, (j + 1) // 2])\n}",
     90},
    {"max_filter",
     "def max_filter(x: f32[H, W]) -> (y: f32[H, W]) { y[i, j] = max[r in 0:3, s in 0:3](x.pad(-inf)[i + r - 1, j + s - 1]) }", 45},
};
INSTANTIATE_TEST_SUITE_P(Kernels, MutantTrial, ::testing::ValuesIn(kCases), [](const auto &info) { return std::string(info.param.name); });

// Subscripts reach beyond both ends where that is defined, and stay inside where the program says that they do.
TEST(MutantArguments, ReachBothEndsOfWhatTheyIndex) {
  auto program = Program::create("def f(x: f32[M], z: f32[M], i: i32[R], j: i32[R], n: i32[R]) -> (y: f32[R]) {\n"
                                 "  y[r] = x.pad(0)[i[r] - 1] + z.assume_inbounds()[j[r]] + f32(n[r])\n}",
                                 {});
  ASSERT_TRUE(program.ok()) << program.status();
  Kernel kernel = (*program)->kernels()[0];
  std::map<size_t, SubscriptUse> uses;
  ASSERT_TRUE((*program)
                  ->withModule([&](mlir::ModuleOp module) {
                    uses = findSubscriptUses(*module.getOps<te::KernelOp>().begin(), kernel);
                    return absl::OkStatus();
                  })
                  .ok());
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_FALSE(uses[2].mustStayInside);
  EXPECT_TRUE(uses[3].mustStayInside);
  bool below = false, beyond = false, several = false;
  auto picked =
      pickMutantArguments(kernel, Variant(), {{{"M", 32}, {"R", 32}}, {}}, [](const std::vector<int64_t> &) { return 0.0; }, 1e6, uses);
  EXPECT_GE(picked.size(), 6u);
  for (const auto &a : picked) {
    int64_t extent = a->tensors[0].shape()[0];
    several |= extent > 32;
    for (int64_t r = 0; r < a->tensors[2].numElements(); ++r) {
      below |= loadElement(a->tensors[2], r) < 0;
      beyond |= loadElement(a->tensors[2], r) >= double(extent);
      double inside = loadElement(a->tensors[3], r);
      EXPECT_TRUE(inside >= 0 && inside < double(extent)) << inside << " of " << a->sizes;
    }
  }
  EXPECT_TRUE(below && beyond && several);
}

// A ring's slots are filled again, and not at all.
TEST(MutantArguments, WalkMoreRoundsThanSlotsAndNone) {
  auto program = Program::create("def f(a: f16[5, M, K], w: f16[5, N, K]) -> (y: f32[M, N]) {\n"
                                 "  y[i, j] = sum[p, k](a[p, i, k] * w[p, j, k])\n}",
                                 {});
  ASSERT_TRUE(program.ok()) << program.status();
  auto picked = pickMutantArguments((*program)->kernels()[0], Variant(), {{{"M", 64}, {"N", 64}, {"K", 64}}, {{"K", 257}}},
                                    [](const std::vector<int64_t> &) { return 0.0; }, 1e6, {});
  auto extentOf = [](const auto &a) { return a->tensors[0].shape()[2]; };
  EXPECT_TRUE(llvm::any_of(picked, [&](const auto &a) { return extentOf(a) >= 257; }));
  EXPECT_TRUE(llvm::any_of(picked, [&](const auto &a) { return extentOf(a) == 0; }));
}

} // namespace
} // namespace kernelc
