// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every device helper's own text on a GPU, by NVRTC, against plain C++: with
// HelperModelsTest.cpp, which runs the same cases on the emulator, this says that
// models and instructions agree bit for bit. Skipped, visibly, without a GPU.
#include <gtest/gtest.h>

#include "runtime/LoadedKernel.h"
#include "runtime/Nvrtc.h"
#include "support/TensorLayout.h"
#include "test/helpers/HelperCase.h"

namespace kernelc::helpers {
namespace {

class HelperDevice : public testing::TestWithParam<HelperCaseMaker> {
protected:
  static absl::StatusOr<Device *> device() {
    auto r = Runtime::instance();
    return r.ok() ? (*r)->device(0) : absl::StatusOr<Device *>(r.status());
  }
  static Nvrtc *nvrtc() {
    static auto *loaded = new absl::StatusOr<std::unique_ptr<Nvrtc>>(Nvrtc::load());
    return loaded->ok() ? (*loaded)->get() : nullptr;
  }
};

TEST_P(HelperDevice, ComputesWhatIsExpected) {
  const HelperCaseMaker &maker = GetParam();
  auto found = device();
  if (!found.ok() || !nvrtc())
    GTEST_SKIP() << (found.ok() ? absl::UnavailableError("no NVRTC") : found.status());
  Device &gpu = **found;
  if (maker.capability > gpu.info().major * 10 + gpu.info().minor || (maker.capability == 90 && gpu.info().major != 9))
    GTEST_SKIP() << "needs compute capability " << maker.capability / 10 << ".0";
  HelperCase c = maker.make();
  c.kernel.variants[0].target = gpu.info().target();
  auto cubin = nvrtc()->compileToCubin(c.variant().cudaText, maker.name + ".cu", gpu.info().target());
  ASSERT_TRUE(cubin.ok()) << cubin.status() << "\n" << c.variant().cudaText;
  auto kernel = LoadedKernel::create(gpu, c.kernel);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  absl::Status loaded = (*kernel)->loadVariant(0, cubin->bytes);
  ASSERT_TRUE(loaded.ok()) << loaded;

  auto stream = Stream::create(gpu);
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::vector<Buffer> buffers;
  std::vector<LaunchValue> values;
  for (size_t i = 0; i < c.kernel.params.size(); i++) {
    const Param &p = c.kernel.params[i];
    int64_t count = p.dims[0].evaluate({});
    std::vector<uint8_t> bytes = c.before[i];
    bytes.resize(size_t(count * elementBits(p.type) / 8), 0xcd); // what is not written shows
    auto buffer = Buffer::allocate(gpu, bytes.size());
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    absl::Status copied = buffer->copyFromHost(bytes.data(), bytes.size(), **stream);
    ASSERT_TRUE(copied.ok()) << copied;
    values.push_back(DeviceTensor{buffer->data(), p.type, {count}, {1}, 0});
    buffers.push_back(*std::move(buffer));
  }
  auto bound = (*kernel)->bind(values);
  ASSERT_TRUE(bound.ok()) << bound.status();
  absl::Status launched = bound->launch(**stream);
  ASSERT_TRUE(launched.ok()) << launched;
  absl::Status finished = (*stream)->synchronize();
  ASSERT_TRUE(finished.ok()) << finished;
  for (size_t i = 0; i < c.kernel.params.size(); i++) {
    if (c.kernel.params[i].kind == ParamKind::Input)
      continue;
    std::vector<uint8_t> got(buffers[i].size());
    absl::Status copied = buffers[i].copyToHost(got.data(), got.size(), **stream);
    ASSERT_TRUE(copied.ok()) << copied;
    EXPECT_EQ(explainDifference(c, i, got), "");
  }
}

INSTANTIATE_TEST_SUITE_P(All, HelperDevice, testing::ValuesIn(allHelperCases()), [](const auto &info) { return info.param.name; });

} // namespace
} // namespace kernelc::helpers
