// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every example on a GPU, over sizes that fit tiles and sizes that do not, against
// the f64 reference and its error bounds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "driver/jit/Session.h"
#include "driver/verify/HostCheck.h"
#include "driver/verify/HostValues.h"

namespace kernelc {
namespace {

struct Case {
  std::string file, kernel;
  std::vector<NamedSize> sizes;
  Constants constants;
};

std::string examplesFolder() {
  if (const char *given = std::getenv("KERNELC_EXAMPLES"))
    return given;
  std::string beside = "../examples"; // as the bundle lies
  return std::ifstream(beside + "/softmax.kc") ? beside : KERNELC_EXAMPLES;
}

std::shared_ptr<Session> &session() {
  static auto *s = new std::shared_ptr<Session>(Session::create());
  return *s;
}

class GpuExamples : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    std::string why;
    if (session()->defaultPlace(&why).kind != Place::Cuda)
      GTEST_SKIP() << "no GPU: " << why;
  }
};

TEST_P(GpuExamples, MatchesReference) {
  const Case &c = GetParam();
  std::ifstream in(examplesFolder() + "/" + c.file);
  std::stringstream text;
  text << in.rdbuf();
  ASSERT_FALSE(text.str().empty()) << examplesFolder() << "/" << c.file;
  ProgramOptions options;
  options.fileName = c.file;
  options.constants = c.constants;
  auto kernel = session()->compile(text.str(), c.kernel, options);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  const Kernel &signature = (*kernel)->signature();
  auto sizes = solveSizes(signature, {}, c.sizes);
  ASSERT_TRUE(sizes.ok()) << sizes.status().message();
  std::vector<HostTensor> tensors;
  for (size_t i = 0; i < signature.params.size(); ++i) {
    auto shape = shapeOf(signature, int(i), *sizes);
    ASSERT_TRUE(shape.ok()) << shape.status().message();
    tensors.emplace_back(signature.params[i].type, *shape);
    if (signature.params[i].kind != ParamKind::Output)
      fillRandom(tensors.back(), i);
  }
  auto result = checkOnHost(**kernel, Place{Place::Cuda}, tensors, c.sizes);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->passed()) << result->text;
}

std::string nameOf(const testing::TestParamInfo<Case> &info) {
  std::string name = info.param.kernel;
  for (const NamedSize &s : info.param.sizes)
    name += "_" + s.first + std::to_string(s.second);
  for (const auto &[k, v] : info.param.constants)
    name += "_" + k + toString(v);
  return name;
}

INSTANTIATE_TEST_SUITE_P(Elementwise, GpuExamples,
                         testing::Values(Case{"saxpy.kc", "saxpy", {{"N", 1}}}, Case{"saxpy.kc", "saxpy", {{"N", 4097}}},
                                         Case{"saxpy.kc", "saxpy", {{"N", 1 << 20}}}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Rows, GpuExamples,
                         testing::Values(Case{"softmax.kc", "softmax_rows", {{"M", 3}, {"N", 1}}},
                                         Case{"softmax.kc", "softmax_rows", {{"M", 129}, {"N", 1000}}},
                                         Case{"softmax.kc", "softmax_rows", {{"M", 64}, {"N", 8192}}},
                                         Case{"softmax.kc", "softmax_rows", {{"M", 5}, {"N", 40001}}},
                                         Case{"layernorm.kc", "layer_norm", {{"M", 33}, {"N", 768}}},
                                         Case{"layernorm.kc", "layer_norm", {{"M", 7}, {"N", 5003}}}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Matrix, GpuExamples,
                         testing::Values(Case{"matmul.kc", "nn", {{"M", 128}, {"K", 64}, {"N", 256}}},
                                         Case{"matmul.kc", "nn", {{"M", 37}, {"K", 129}, {"N", 61}}},
                                         Case{"matmul.kc", "nt", {{"M", 200}, {"K", 96}, {"N", 136}}},
                                         Case{"matmul.kc", "tn", {{"K", 72}, {"M", 130}, {"N", 100}}},
                                         Case{"matmul.kc", "tt", {{"K", 50}, {"M", 66}, {"N", 34}}},
                                         Case{"matmul_i8.kc", "matmul_i8", {{"M", 256}, {"K", 512}, {"N", 384}}},
                                         Case{"matmul_i8.kc", "matmul_i8", {{"M", 77}, {"K", 83}, {"N", 59}}},
                                         Case{"matmul_i8.kc", "matmul_i8_nn", {{"M", 144}, {"K", 96}, {"N", 208}}},
                                         Case{"matmul_i8.kc", "matmul_i8_nn", {{"M", 1301}, {"K", 1311}, {"N", 1303}}},
                                         Case{"matmul_tf32.kc", "matmul_tf32_tn", {{"M", 1301}, {"K", 1311}, {"N", 1303}}},
                                         Case{"matmul.kc", "nn", {{"M", 1301}, {"K", 1311}, {"N", 1303}}},
                                         Case{"matmul_i8.kc", "linear_w8", {{"M", 144}, {"K", 96}, {"N", 208}}},
                                         Case{"matmul_tf32.kc", "matmul_tf32", {{"M", 256}, {"K", 512}, {"N", 384}}},
                                         Case{"matmul_tf32.kc", "matmul_tf32", {{"M", 77}, {"K", 83}, {"N", 59}}},
                                         Case{"matmul_tf32.kc", "linear_tf32", {{"M", 144}, {"K", 96}, {"N", 208}}},
                                         Case{"matmul_tf32.kc", "matmul_tf32_tn", {{"M", 144}, {"K", 100}, {"N", 208}}},
                                         Case{"linear.kc", "linear", {{"M", 256}, {"K", 512}, {"N", 384}}},
                                         Case{"linear.kc", "linear", {{"M", 77}, {"K", 40}, {"N", 24}}},
                                         Case{"linear.kc", "linear", {{"M", 3}, {"K", 33}, {"N", 5}}}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(
    Composed, GpuExamples,
    testing::Values(Case{"gram.kc", "gram", {{"N", 1000}, {"K", 328}}},
                    Case{"sum_of_products.kc", "sum_of_products", {{"M", 2048}, {"K", 256}, {"N", 2048}}},
                    Case{"block_sparse.kc", "block_sparse", {{"M", 1000}, {"K", 1024}, {"N", 576}}},
                    Case{"block_sparse.kc", "block_sparse", {{"M", 3}, {"K", 64}, {"N", 128}}},
                    Case{"grouped.kc", "grouped", {{"M", 300}, {"K", 136}, {"G", 9}, {"N", 200}}},
                    Case{"linear_stats.kc", "linear_stats", {{"M", 640}, {"K", 200}, {"N", 1024}}},
                    Case{"linear_stats.kc", "linear_stats", {{"M", 100}, {"K", 72}, {"N", 136}}},
                    Case{"conv2d.kc", "conv2d", {{"N", 2}, {"H", 14}, {"W", 15}, {"C", 16}, {"R", 3}, {"S", 3}, {"O", 24}}},
                    Case{"attention.kc", "attention", {{"B", 1}, {"H", 4}, {"S", 64}, {"D", 32}, {"G", 2}, {"T", 80}}},
                    Case{"attention.kc", "attention", {{"B", 1}, {"H", 4}, {"S", 48}, {"D", 64}, {"G", 2}, {"T", 48}}, {{"causal", 1}}}),
    nameOf);

} // namespace
} // namespace kernelc
