// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loading, binding and launching on the fake driver.
#include "runtime/LoadedKernel.h"
#include "runtime/Rebinding.h"

#include <cstdlib>
#include <cstring>
#include <thread>

#include "test/runtime/FakeDeviceTest.h"
#include "test/runtime/TestKernels.h"

namespace kernelc {
namespace {

using namespace testing_kernels;
using testing::ElementsAre;
using testing::HasSubstr;

std::string axpyCubin() { return fakecuda::makeCubin({{"kc_axpy", {4, 8, 8, 4}}}); }
std::string matmulCubin() { return fakecuda::makeCubin({{"kc_mm", {128, 128, 8, 8, 4, 8}, 384, 1024}, {"kc_mm_reduce", {8, 8}}}); }
std::string generalCubin() { return fakecuda::makeCubin({{"kc_mm_general", {8, 8, 8, 8, 8}}}); }

class LoadedKernelTest : public FakeDeviceTest {
protected:
  std::unique_ptr<LoadedKernel> load(Kernel kernel, std::vector<std::string> cubins) {
    auto k = LoadedKernel::create(*device, std::move(kernel));
    EXPECT_TRUE(k.ok()) << k.status();
    for (size_t i = 0; i < cubins.size(); ++i) {
      absl::Status s = (*k)->loadVariant(int(i), cubins[i]);
      EXPECT_TRUE(s.ok()) << s;
    }
    return std::move(*k);
  }
  static std::vector<LaunchValue> mm(int64_t m, int64_t k, int64_t n) {
    constexpr auto t = ElementType::bf16;
    return {tensorAt(1 << 20, t, {m, k}), tensorAt(2 << 20, t, {n, k}), tensorAt(3 << 20, t, {m, n})};
  }
};

TEST_F(LoadedKernelTest, RunsAxpy) {
  auto kernel = load(axpy(), {axpyCubin()});
  auto stream = makeStream();
  const int64_t n = 1000;
  auto x = Buffer::allocate(*device, n * 4), y = Buffer::allocate(*device, n * 4);
  std::vector<float> host(n);
  for (int64_t i = 0; i < n; ++i)
    host[i] = float(i);
  ASSERT_TRUE(x->copyFromHost(host.data(), n * 4, *stream).ok());
  fakecuda::onLaunch("kc_axpy", [](const fakecuda::Launched &l) {
    float a = l.arg<float>(0);
    auto *x = l.arg<const float *>(1);
    auto *y = l.arg<float *>(2);
    int n = l.arg<int>(3);
    for (unsigned t = 0; t < l.grid * l.block; ++t)
      if (int(t) < n)
        y[t] = a * x[t];
  });
  auto bound = kernel->bind({*ScalarValue::fromDouble(ElementType::f32, 2.5), tensor(x->data(), ElementType::f32, {n}),
                             tensor(y->data(), ElementType::f32, {n})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE(bound->launch(*stream).ok());
  ASSERT_TRUE(y->copyToHost(host.data(), n * 4, *stream).ok());
  for (int64_t i = 0; i < n; ++i)
    ASSERT_EQ(host[i], 2.5f * float(i));
  EXPECT_EQ(fakecuda::launches()[0].grid, 4u);
}

TEST_F(LoadedKernelTest, PacksEveryKindOfArgument) {
  auto kernel = load(matmul(), {matmulCubin(), generalCubin()});
  auto stream = makeStream();
  auto bound = kernel->bind(mm(256, 512, 384));
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->variant(), 0);
  EXPECT_EQ(bound->workspaceBytes(), 256u + 256 * 384 * 4);
  EXPECT_EQ(bound->numLaunches(), 2);
  ASSERT_TRUE(bound->launch(*stream).ok());

  auto launched = fakecuda::launches();
  ASSERT_EQ(launched.size(), 2u);
  EXPECT_EQ(launched[0].entry, "kc_mm");
  EXPECT_EQ(launched[0].grid, 12u);
  EXPECT_EQ(launched[0].block, 384u);
  EXPECT_EQ(launched[0].cluster, 2u);
  EXPECT_EQ(launched[0].shared, 200000u);
  EXPECT_EQ(launched[0].stream, stream->handle());
  auto map = launched[0].arg<fakecuda::EncodedMap>(0);
  EXPECT_EQ(map.magic, fakecuda::kMapMagic);
  EXPECT_EQ(map.base, uint64_t(1 << 20));
  EXPECT_EQ(map.type, uint32_t(cuda::kMapBF16));
  EXPECT_EQ(map.dims0, 512u);
  EXPECT_EQ(map.dims1, 256u);
  EXPECT_EQ(map.stride0, 1024u);
  EXPECT_EQ(map.box0, 64u);
  EXPECT_EQ(map.box1, 128u);
  EXPECT_EQ(map.swizzle, uint32_t(cuda::kSwizzle128B));
  EXPECT_EQ(launched[0].arg<uint64_t>(2), launched[0].arg<uint64_t>(3) + 256) << "workspace with offset, without";
  EXPECT_EQ(launched[0].arg<int32_t>(4), 256);
  EXPECT_EQ(launched[0].arg<int64_t>(5), 384);
  EXPECT_EQ(launched[1].grid, 132u) << "min(sm_count, tiles)";
  EXPECT_EQ(launched[1].arg<uint64_t>(1), uint64_t(3 << 20));
  EXPECT_EQ(fakecuda::attribute("kc_mm", cuda::kFuncMaxDynamicSharedBytes), 200000);
}

TEST_F(LoadedKernelTest, BoxesDependOnSizes) {
  Kernel k = matmul();
  std::get<TensorMapArg>(k.variants[0].launches[0].args[0]).box[1] = SizeExpr::binary(SizeTerm::Mod, SizeExpr::size(0), 128);
  auto kernel = load(k, {matmulCubin(), generalCubin()});
  auto stream = makeStream();
  auto bound = kernel->bind(mm(200, 512, 384));
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE(bound->launch(*stream).ok());
  EXPECT_EQ(fakecuda::launches()[0].arg<fakecuda::EncodedMap>(0).box1, 72u);
  EXPECT_THAT(std::string(kernel->bind(mm(256, 512, 384)).status().message()),
              HasSubstr("parameter 'x': the kernel's tensor map has a box of 0 along one dim; 1 to 256 are possible"));
}

TEST_F(LoadedKernelTest, NewAddressesReachPointersAndTensorMaps) {
  auto kernel = load(matmul(), {matmulCubin(), generalCubin()});
  auto stream = makeStream();
  auto values = mm(256, 512, 384);
  auto bound = kernel->bind(values);
  ASSERT_TRUE(bound.ok()) << bound.status();
  auto args = checkArguments(kernel->kernel(), values, {}, 0, 132);
  ASSERT_TRUE(args.ok()) << args.status();
  Rebinding rebinding(kernel->kernel(), *args, &kernel->kernel().variants[bound->variant()]);
  auto at = [](uintptr_t address) { return NewArgument{reinterpret_cast<void *>(address)}; };
  ASSERT_EQ(rebinding.replace(kernel->kernel(), {at(4 << 20), at(5 << 20), at(6 << 20)}), absl::OkStatus());
  bound->rebind(rebinding.args());
  ASSERT_TRUE(bound->launch(*stream).ok());
  auto launched = fakecuda::launches();
  ASSERT_EQ(launched.size(), 2u);
  EXPECT_EQ(launched[0].arg<fakecuda::EncodedMap>(0).base, uint64_t(4 << 20));
  EXPECT_EQ(launched[0].arg<fakecuda::EncodedMap>(1).base, uint64_t(5 << 20));
  EXPECT_EQ(launched[0].arg<uint64_t>(2), launched[0].arg<uint64_t>(3) + 256) << "the workspace stays";
  EXPECT_EQ(launched[1].arg<uint64_t>(1), uint64_t(6 << 20));

  // x is 256 KiB, y 192 KiB.
  auto replace = [&](uintptr_t x, uintptr_t w, uintptr_t y) { return rebinding.replace(kernel->kernel(), {at(x), at(w), at(y)}); };
  EXPECT_THAT(std::string(replace(4 << 20, 5 << 20, (4 << 20) + (255 << 10)).message()),
              HasSubstr("parameter 'y': is written, but overlaps parameter 'x'"));
  EXPECT_EQ(replace(4 << 20, 4 << 20, (4 << 20) + (256 << 10) + (128 << 10)), absl::OkStatus()) << "inputs may share";
  EXPECT_THAT(std::string(replace(0, 5 << 20, 6 << 20).message()), HasSubstr("parameter 'x': is null"));
  absl::Status odd = replace((4 << 20) + 8, 5 << 20, 6 << 20);
  EXPECT_EQ(odd.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(odd.message()), HasSubstr("parameter 'x': expected an address that is a multiple of 16 bytes"));
  EXPECT_EQ(rebinding.args().tensor(0)->data, at(4 << 20).data) << "what is refused changes nothing";
  EXPECT_EQ(replace((4 << 20) + 16, 5 << 20, 6 << 20), absl::OkStatus()) << "less aligned than what was bound, and as the guard asks";
}

TEST_F(LoadedKernelTest, CallersWorkspace) {
  auto kernel = load(matmul(), {matmulCubin()});
  auto stream = makeStream();
  auto bound = kernel->bind(mm(128, 64, 128));
  ASSERT_TRUE(bound.ok());
  auto own = Buffer::allocate(*device, bound->workspaceBytes());
  ASSERT_TRUE(bound->launch(*stream, own->address()).ok());
  EXPECT_EQ(fakecuda::launches()[0].arg<uint64_t>(3), own->address());
  EXPECT_EQ(bound->launch(*stream, own->address() + 8).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LoadedKernelTest, FallsBackToTheGeneralVariant) {
  auto kernel = load(matmul(), {matmulCubin(), generalCubin()});
  auto stream = makeStream();
  auto args = mm(64, 64, 64);
  std::get<DeviceTensor>(args[0]).strides = {1, 64};
  auto bound = kernel->bind(args);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->variant(), 1);
  ASSERT_TRUE(bound->launch(*stream).ok());
  auto l = fakecuda::launches()[0];
  EXPECT_EQ(l.entry, "kc_mm_general");
  EXPECT_EQ(l.arg<int64_t>(3), 1);
  EXPECT_EQ(l.arg<int64_t>(4), 64);
}

TEST_F(LoadedKernelTest, VariantsLoadOnNeed) {
  auto kernel = load(matmul(), {});
  auto bound = kernel->bind(mm(128, 64, 128));
  EXPECT_EQ(findErrorKind(bound.status()), RuntimeErrorKind::NotLoaded);
  auto wanted = kernel->selectVariant(mm(128, 64, 128));
  ASSERT_TRUE(wanted.ok());
  EXPECT_FALSE(kernel->isLoaded(*wanted));
  ASSERT_TRUE(kernel->loadVariant(*wanted, matmulCubin()).ok());
  EXPECT_TRUE(kernel->isLoaded(*wanted));
  EXPECT_TRUE(kernel->bind(mm(128, 64, 128)).ok());
  EXPECT_FALSE(kernel->loadVariant(5, "").ok());
  EXPECT_FALSE(kernel->isLoaded(5));
}

TEST_F(LoadedKernelTest, EmptyGridsAreSkipped) {
  auto kernel = load(axpy(), {axpyCubin()});
  auto stream = makeStream();
  auto bound = kernel->bind({ScalarValue{ElementType::f32, 0}, tensorAt(0, ElementType::f32, {0}), tensorAt(0, ElementType::f32, {0})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->numLaunches(), 0);
  EXPECT_TRUE(bound->launch(*stream).ok());
  EXPECT_TRUE(fakecuda::launches().empty());
}

// K = 0: the product is all zeros, so the kernel must run, with maps that load zeros.
TEST_F(LoadedKernelTest, MapsOfEmptyTensorsPointAtZeros) {
  auto kernel = load(matmul(), {matmulCubin()});
  auto stream = makeStream();
  auto args = mm(128, 0, 128);
  std::get<DeviceTensor>(args[0]).data = nullptr;
  auto bound = kernel->bind(args);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE(bound->launch(*stream).ok());
  auto map = fakecuda::launches()[0].arg<fakecuda::EncodedMap>(0);
  EXPECT_EQ(map.dims0, 1u);
  ASSERT_NE(map.base, 0u);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(reinterpret_cast<unsigned char *>(map.base)[i], 0);
}

TEST_F(LoadedKernelTest, WarmLaunchesNeitherAllocateNorLoad) {
  auto kernel = load(matmul(), {matmulCubin()});
  auto stream = makeStream();
  auto bound = kernel->bind(mm(128, 64, 128));
  ASSERT_TRUE(bound.ok() && bound->launch(*stream).ok());
  int64_t calls = fakecuda::callCount();
  ASSERT_TRUE(bound->launch(*stream).ok());
  // Current context, push, 2 tensor maps, 2 launches, pop: nothing else.
  EXPECT_EQ(fakecuda::callCount() - calls, 7);
}

TEST_F(LoadedKernelTest, LoadsAnImageForEachEntryAndASharedOneOnce) {
  load(matmul(), {matmulCubin()}); // the device's spare bytes stay
  int64_t before = fakecuda::liveObjects(), loads = fakecuda::callCount("cuLibraryLoadData");
  {
    std::string product = fakecuda::makeCubin({{"kc_mm", {128, 128, 8, 8, 4, 8}, 384, 1024}}),
                reduction = fakecuda::makeCubin({{"kc_mm_reduce", {8, 8}}});
    auto kernel = load(matmul(), {});
    ASSERT_TRUE(kernel->loadVariant(0, std::vector<absl::string_view>{product, reduction}).ok());
    EXPECT_EQ(fakecuda::callCount("cuLibraryLoadData") - loads, 2);
    auto bound = kernel->bind(mm(128, 64, 128));
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ(bound->numLaunches(), 2);
    std::string both = matmulCubin();
    ASSERT_TRUE(kernel->loadVariant(0, std::vector<absl::string_view>{both, both}).ok());
    EXPECT_EQ(fakecuda::callCount("cuLibraryLoadData") - loads, 3);
    EXPECT_THAT(std::string(kernel->loadVariant(0, std::vector<absl::string_view>{both}).message()), HasSubstr("has 2 launches, not 1"));
    EXPECT_THAT(std::string(kernel->loadVariant(0, std::vector<absl::string_view>{reduction, product}).message()),
                HasSubstr("cuLibraryGetKernel: CUDA_ERROR_NOT_FOUND"));
  }
  EXPECT_EQ(fakecuda::liveObjects(), before);
}

TEST_F(LoadedKernelTest, RefusesForeignTargetsAndBadImages) {
  Kernel k = axpy();
  k.variants[0].target = "sm_80";
  auto wrong = LoadedKernel::create(*device, k);
  EXPECT_THAT(std::string((*wrong)->loadVariant(0, axpyCubin()).message()),
              HasSubstr("axpy.kc:1:5: kernel 'axpy' was compiled for sm_80, which does not run on Fake H200 (sm_90a)"));
  auto kernel = LoadedKernel::create(*device, axpy());
  for (std::string image : {std::string(), std::string("text"),
                            std::string("\x7f"
                                        "ELF"),
                            std::string("\x7f"
                                        "ELF") +
                                std::string(100, 'x')})
    EXPECT_EQ(findErrorKind((*kernel)->loadVariant(0, image)), RuntimeErrorKind::InvalidImage) << image;
  EXPECT_THAT(std::string((*kernel)->loadVariant(0, fakecuda::makeCubin({{"kc_other", {}}})).message()),
              HasSubstr("kc_axpy (axpy.kc:1): cuLibraryGetKernel: CUDA_ERROR_NOT_FOUND"));
}

TEST_F(LoadedKernelTest, RefusesKernelsThatCannotRun) {
  auto kernel = LoadedKernel::create(*device, axpy());
  EXPECT_THAT(std::string((*kernel)->loadVariant(0, fakecuda::makeCubin({{"kc_axpy", {4, 8, 8, 4}, 128}})).message()),
              HasSubstr("launched with 256 threads a block, but its registers allow 128"));
  Kernel big = axpy();
  big.variants[0].launches[0].sharedBytes = 240000;
  auto k2 = LoadedKernel::create(*device, big);
  EXPECT_THAT(std::string((*k2)->loadVariant(0, axpyCubin()).message()), HasSubstr("needs 240000 bytes of dynamic shared memory"));
}

TEST_F(LoadedKernelTest, MalformedKernelsAreRefused) {
  Kernel k = axpy();
  k.variants[0].launches[0].args.push_back(PointerArg{7, {}});
  auto r = LoadedKernel::create(*device, k);
  EXPECT_EQ(r.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(r.status().message(), "kernel 'axpy', variant 'default', launch 0, argument 4: no tensor parameter 7");
}

TEST_F(LoadedKernelTest, NumbersThatDoNotFit) {
  auto kernel = load(axpy(), {axpyCubin()});
  const int64_t n = int64_t(1) << 40;
  // 2^40 elements need 2^32 blocks.
  auto bound = kernel->bind({ScalarValue{ElementType::f32, 0}, tensorAt(uintptr_t(1) << 44, ElementType::f32, {n}),
                             tensorAt(uintptr_t(1) << 46, ElementType::f32, {n})});
  EXPECT_THAT(std::string(bound.status().message()), HasSubstr("a grid of 4294967296 blocks is outside 0 to 2^31 - 1"));
  const int64_t m = int64_t(1) << 33;
  bound = kernel->bind({ScalarValue{ElementType::f32, 0}, tensorAt(uintptr_t(1) << 44, ElementType::f32, {m}),
                        tensorAt(uintptr_t(1) << 46, ElementType::f32, {m})});
  EXPECT_THAT(std::string(bound.status().message()), HasSubstr("argument 3 is 8589934592, which does not fit in 32 bits"));
}

TEST_F(LoadedKernelTest, GridMustFitTheCluster) {
  Kernel k = matmul();
  k.variants[0].launches[0].grid = 3;
  auto kernel = load(k, {matmulCubin()});
  EXPECT_THAT(std::string(kernel->bind(mm(128, 64, 128)).status().message()), HasSubstr("no multiple of the cluster of 2"));
}

TEST_F(LoadedKernelTest, OtherDevicesStreamIsRefused) {
  auto kernel = load(axpy(), {axpyCubin()});
  auto other = Stream::create(**runtime->device(1));
  auto bound =
      kernel->bind({ScalarValue{ElementType::f32, 0}, tensorAt(4096, ElementType::f32, {8}), tensorAt(8192, ElementType::f32, {8})});
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->launch(**other).message(), "the stream belongs to CUDA device 1, but the arguments are on device 0");
}

TEST_F(LoadedKernelTest, GraphsCaptureWarmKernels) {
  auto kernel = load(matmul(), {matmulCubin()});
  auto stream = makeStream();
  auto bound = kernel->bind(mm(128, 64, 128));
  ASSERT_TRUE(bound.ok() && bound->launch(*stream).ok());
  auto scope = ContextScope::enter(*device);
  const cuda::CudaDriver &d = runtime->driver();
  ASSERT_EQ(d.cuStreamBeginCapture(stream->handle(), cuda::kCaptureGlobal), 0);
  ASSERT_TRUE(bound->launch(*stream).ok());
  cuda::Graph graph = nullptr;
  cuda::GraphExec exec = nullptr;
  ASSERT_EQ(d.cuStreamEndCapture(stream->handle(), &graph), 0);
  ASSERT_EQ(d.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  size_t before = fakecuda::launches().size();
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(d.cuGraphLaunch(exec, stream->handle()), 0);
  EXPECT_EQ(fakecuda::launches().size(), before + 200);
  d.cuGraphExecDestroy(exec);
  d.cuGraphDestroy(graph);
}

TEST_F(LoadedKernelTest, LoadingInCaptureIsATypedErrorAndKeepsTheCapture) {
  auto stream = makeStream();
  auto kernel = LoadedKernel::create(*device, axpy());
  auto warm = load(axpy(), {axpyCubin()});
  const cuda::CudaDriver &d = runtime->driver();
  auto scope = ContextScope::enter(*device);
  ASSERT_EQ(d.cuStreamBeginCapture(stream->handle(), cuda::kCaptureGlobal), 0);
  absl::Status cold = (*kernel)->loadVariant(0, axpyCubin());
  EXPECT_EQ(findErrorKind(cold), RuntimeErrorKind::ColdInCapture);
  warm.reset(); // unloading waits for the capture's end
  EXPECT_EQ(fakecuda::callCount("cuLibraryUnload"), 0);
  cuda::Graph graph = nullptr;
  EXPECT_EQ(d.cuStreamEndCapture(stream->handle(), &graph), 0);
  d.cuGraphDestroy(graph);
  EXPECT_TRUE((*kernel)->loadVariant(0, axpyCubin()).ok());
  kernel->reset();
  EXPECT_EQ(fakecuda::callCount("cuLibraryUnload"), 2);
}

TEST_F(LoadedKernelTest, FaultsNameTheKernel) {
  expectLost = true;
  auto kernel = load(axpy(), {axpyCubin()});
  auto stream = makeStream();
  auto bound =
      kernel->bind({ScalarValue{ElementType::f32, 0}, tensorAt(4096, ElementType::f32, {8}), tensorAt(8192, ElementType::f32, {8})});
  fakecuda::faultNextLaunch(700);
  ASSERT_TRUE(bound->launch(*stream).ok()) << "faults are asynchronous";
  absl::Status lost = stream->synchronize();
  EXPECT_EQ(findErrorKind(lost), RuntimeErrorKind::DeviceLost);
  EXPECT_EQ(lost.message(), "CUDA device 0 is lost to this process: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal "
                            "memory access was encountered); last launched, newest first: kc_axpy (axpy.kc:1)");
  EXPECT_EQ(bound->launch(*stream), lost);
  EXPECT_EQ(kernel->loadVariant(0, axpyCubin()), lost);
}

TEST_F(LoadedKernelTest, BlockingLaunchesBlameTheRightKernel) {
  setenv("KERNELC_LAUNCH_BLOCKING", "1", 1);
  auto blocking = Runtime::create(KERNELC_FAKE_LIBCUDA);
  unsetenv("KERNELC_LAUNCH_BLOCKING");
  expectLost = true;
  Device *d = *(*blocking)->device(0);
  auto kernel = LoadedKernel::create(*d, axpy());
  ASSERT_TRUE((*kernel)->loadVariant(0, axpyCubin()).ok());
  auto stream = Stream::create(*d);
  auto bound =
      (*kernel)->bind({ScalarValue{ElementType::f32, 0}, tensorAt(4096, ElementType::f32, {8}), tensorAt(8192, ElementType::f32, {8})});
  ASSERT_TRUE(bound->launch(**stream).ok());
  fakecuda::faultNextLaunch(719);
  absl::Status lost = bound->launch(**stream);
  EXPECT_EQ(findErrorKind(lost), RuntimeErrorKind::DeviceLost);
  EXPECT_THAT(std::string(lost.message()), HasSubstr("kc_axpy (axpy.kc:1): cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED"));
}

TEST_F(LoadedKernelTest, BoundLaunchKeepsTheCodeLoaded) {
  auto stream = makeStream();
  auto kernel = load(axpy(), {axpyCubin()});
  auto bound =
      kernel->bind({ScalarValue{ElementType::f32, 0}, tensorAt(4096, ElementType::f32, {8}), tensorAt(8192, ElementType::f32, {8})});
  kernel.reset();
  EXPECT_EQ(fakecuda::callCount("cuLibraryUnload"), 0);
  EXPECT_TRUE(bound->launch(*stream).ok());
}

TEST_F(LoadedKernelTest, ThreadsBindAndLaunchAtOnce) {
  auto kernel = load(matmul(), {matmulCubin(), generalCubin()});
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      auto stream = Stream::create(*device);
      for (int i = 0; i < 50; ++i) {
        auto bound = kernel->bind(mm(128 * (1 + (t + i) % 4), 64, 128));
        if (!stream.ok() || !bound.ok() || !bound->launch(**stream).ok())
          ++failures;
        if (i == 25)
          failures += !kernel->loadVariant(t % 2, t % 2 ? generalCubin() : matmulCubin()).ok();
      }
    });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(fakecuda::launches().size(), 8u * 50 * 2);
}

} // namespace
} // namespace kernelc
