// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A session on FakeCuda: real compiler, real cache. The cubins are FakeCuda's, put into
// the cache under the keys of the real texts; what runs on "the device" is a host
// function per entry. Skipped without NVRTC.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "driver/jit/HostTensor.h"
#include "driver/jit/Session.h"
#include "test/runtime/FakeCuda.h"
#include "test/tools/FakeCubin.h"

namespace kernelc {

inline constexpr char kScale[] = "def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }";

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
    store(k->variants[0], fakeCubinOf(*k));
    return *k;
  }
  void store(const Variant &v, const std::string &cubin) {
    for (const CompileUnit &unit : compileUnitsOf(v))
      storeCubin(*session_, unit, target_, cubin);
  }
  std::vector<HostTensor> tensors(int64_t n) {
    elements_ = int(n);
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
  /// What the kernel would do, from the arguments that reached the driver; a variant may know the size.
  void scaleOnHost(const Kernel &k) {
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
    fakecuda::onLaunch(l.entry, [=, known = elements_](const fakecuda::Launched &launched) {
      float a = launched.arg<float>(position[0]);
      auto *x = launched.arg<const float *>(position[1]);
      auto *y = launched.arg<float *>(position[2]);
      int n = size < 0 ? known : launched.arg<int>(size);
      for (int i = 0; i < n; ++i)
        y[i] = a * x[i];
    });
  }

  int elements_ = 0; ///< of the last tensors
  std::shared_ptr<Session> session_;
  std::string target_;
};

} // namespace kernelc
