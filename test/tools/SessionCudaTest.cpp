// The session's GPU path without a GPU: real compiler, real cache, FakeCuda as the
// driver. The cubins are FakeCuda's, put into the cache under the keys of the real
// texts; what runs on "the device" is a host function per entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/HostRun.h"
#include "driver/Session.h"
#include "runtime/DiskCache.h"
#include "runtime/Nvrtc.h"
#include "test/runtime/FakeCuda.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

constexpr char kScale[] = "def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }";

int argumentBytes(const Kernel &k, const LaunchArg &a) {
  if (auto *s = std::get_if<ScalarArg>(&a))
    return std::max(1, elementBits(k.params[s->param].type) / 8);
  if (auto *z = std::get_if<SizeArg>(&a))
    return z->bits / 8;
  return std::holds_alternative<TensorMapArg>(a) ? 128 : 8;
}

class SessionCuda : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("KERNELC_LIBCUDA", KERNELC_FAKE_LIBCUDA, 1);
    SessionOptions options;
    std::string folder = testing::TempDir() + "/kernelc-session-cuda-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    options.cachePath = folder;
    session_ = Session::create(options);
    if (!session_->nvrtc().ok())
      GTEST_SKIP() << "no NVRTC, whose version the cache's keys name: " << session_->nvrtc().status().message();
    auto runtime = Runtime::instance();
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    auto device = (*runtime)->device(0);
    ASSERT_TRUE(device.ok()) << device.status();
    target_ = (*device)->info().target();
  }

  /// Compiles for these arguments and puts a fake cubin where the session will look.
  Kernel prepare(JitKernel &kernel, absl::Span<const LaunchValue> values) {
    auto k = kernel.variantFor(target_, values);
    EXPECT_TRUE(k.ok()) << k.status();
    const Variant &v = k->variants[0];
    std::vector<fakecuda::FakeEntry> entries;
    for (const Launch &l : v.launches) {
      fakecuda::FakeEntry e;
      e.name = l.entry;
      for (const LaunchArg &a : l.args)
        e.paramBytes.push_back(argumentBytes(*k, a));
      entries.push_back(e);
    }
    store(v, fakecuda::makeCubin(entries));
    return *k;
  }
  void store(const Variant &v, const std::string &cubin) {
    Nvrtc &nvrtc = **session_->nvrtc();
    CacheKey key = CacheKey::content(v.cudaText, target_, absl::StrJoin(Nvrtc::options(target_), "\n"),
                                     absl::StrCat(nvrtc.version().first, ".", nvrtc.version().second), nvrtc.buildId());
    session_->cache().put(DiskCache::Kind::Content, key, absl::StrCat(absl::string_view("\0", 1), cubin));
  }
  std::vector<HostTensor> tensors(int64_t n) {
    std::vector<HostTensor> t;
    t.emplace_back(ElementType::f32, std::vector<int64_t>{});
    t.emplace_back(ElementType::f32, std::vector<int64_t>{n});
    t.emplace_back(ElementType::f32, std::vector<int64_t>{n});
    *t[0].as<float>() = 3;
    for (int64_t i = 0; i < n; ++i)
      t[1].as<float>()[i] = float(i);
    return t;
  }
  static std::vector<LaunchValue> valuesOf(const std::vector<HostTensor> &t) {
    return {t[0].scalar(), t[1].deviceTensor(), t[2].deviceTensor()};
  }
  /// What the kernel would do, from the arguments that reached the driver.
  static void scaleOnHost(const Kernel &k) {
    const Launch &l = k.variants[0].launches[0];
    std::vector<int> position(3, -1);
    int size = -1;
    for (size_t i = 0; i < l.args.size(); ++i) {
      if (auto *p = std::get_if<PointerArg>(&l.args[i]))
        position[p->param] = int(i);
      else if (auto *s = std::get_if<ScalarArg>(&l.args[i]))
        position[s->param] = int(i);
      else
        size = int(i);
    }
    fakecuda::onLaunch(l.entry, [=](const fakecuda::Launched &launched) {
      float a = launched.arg<float>(position[0]);
      auto *x = launched.arg<const float *>(position[1]);
      auto *y = launched.arg<float *>(position[2]);
      int n = launched.arg<int>(size);
      for (int i = 0; i < n; ++i)
        y[i] = a * x[i];
    });
  }

  std::shared_ptr<Session> session_;
  std::string target_;
};

TEST_F(SessionCuda, CopiesLaunchesAndCopiesBack) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(100);
  scaleOnHost(prepare(**kernel, valuesOf(t)));
  CallReport report;
  ASSERT_EQ(runOnHost(**kernel, {Place::Cuda}, t, {}, &report), absl::OkStatus());
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(t[2].as<float>()[i], 3 * i);
  EXPECT_THAT(fakecuda::misuses(), testing::IsEmpty());
}

TEST_F(SessionCuda, ABoundCallLaunchesWithoutLoadingAgain) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(64);
  std::vector<LaunchValue> values = valuesOf(t); // the fake's device memory is the host's
  scaleOnHost(prepare(**kernel, values));
  auto bound = (*kernel)->bind({Place::Cuda}, values);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->numLaunches(), 1);
  int64_t loads = fakecuda::callCount("cuLibraryLoadData"), allocations = fakecuda::callCount("cuMemAlloc");
  size_t before = fakecuda::launches().size();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(bound->launch(nullptr), absl::OkStatus());
  auto again = (*kernel)->bind({Place::Cuda}, values);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(fakecuda::callCount("cuLibraryLoadData"), loads);
  EXPECT_EQ(fakecuda::callCount("cuMemAlloc"), allocations);
  EXPECT_EQ(fakecuda::launches().size(), before + 3);
  EXPECT_EQ(t[2].as<float>()[5], 15);
}

TEST_F(SessionCuda, ARefusedCubinIsCompiledAgainOnce) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(32);
  Kernel k = prepare(**kernel, valuesOf(t));
  store(k.variants[0], "not a cubin");
  // FakeCuda refuses NVRTC's cubin too: the second refusal is final and says so.
  absl::Status s = runOnHost(**kernel, {Place::Cuda}, t);
  EXPECT_EQ(findErrorKind(s), RuntimeErrorKind::InvalidImage) << s;
}

TEST_F(SessionCuda, StridesReachTheLaunch) {
  auto kernel = session_->compile("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> x(200), y(64);
  DeviceTensor tx{x.data(), ElementType::f32, {8, 8}, {2, 20}, 0}, ty{y.data(), ElementType::f32, {8, 8}, {8, 1}, 0};
  Kernel k = prepare(**kernel, {tx, ty});
  EXPECT_EQ(k.variants[0].params[0].layout, LayoutClass::Any);
  EXPECT_EQ(k.variants[0].params[1].layout, LayoutClass::Dense);
  auto bound = (*kernel)->bind({Place::Cuda}, {tx, ty});
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->launch(nullptr), absl::OkStatus());
  const Launch &l = k.variants[0].launches[0];
  std::vector<int> strides;
  for (size_t i = 0; i < l.args.size(); ++i)
    if (auto *size = std::get_if<SizeArg>(&l.args[i]); size && size->value.terms()[0].op == SizeTerm::Stride)
      strides.push_back(fakecuda::launches().back().arg<int>(i));
  EXPECT_EQ(strides, (std::vector<int>{2, 20}));
}

TEST_F(SessionCuda, AnArtifactRefusesAnotherLayoutByName) {
  auto kernel = session_->compile("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<float> x(200), y(64);
  DeviceTensor tx{x.data(), ElementType::f32, {8, 8}, {8, 1}, 0}, ty{y.data(), ElementType::f32, {8, 8}, {8, 1}, 0};
  Kernel k = prepare(**kernel, {tx, ty});
  auto select = [&](const DeviceTensor &t) {
    auto args = checkArguments(k, {t, ty}, {}, 0, 1);
    return args.ok() ? selectVariant(k, *args).status() : args.status();
  };
  EXPECT_EQ(select(tx), absl::OkStatus());
  DeviceTensor transposed = tx, shifted = tx;
  transposed.strides = {1, 8};
  shifted.data = x.data() + 1;
  EXPECT_EQ(findErrorKind(select(transposed)), RuntimeErrorKind::NoVariant);
  EXPECT_THAT(std::string(select(transposed).message()), HasSubstr("needs 'x' with dense row-major"));
  EXPECT_THAT(std::string(select(shifted).message()), HasSubstr("needs 'x' aligned to 16 bytes"));
}

TEST_F(SessionCuda, TensorsOfAnotherDeviceAreRefused) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = tensors(8);
  std::vector<LaunchValue> values = valuesOf(t);
  std::get<DeviceTensor>(values[1]).device = 1;
  EXPECT_THAT(std::string((*kernel)->bind({Place::Cuda}, values).status().message()), HasSubstr("is on CUDA device 1"));
}

} // namespace
} // namespace kernelc
