// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime on a real GPU: NVRTC, driver, TMA, graphs, faults. Skipped, visibly,
// where there is none.
#include "runtime/LoadedKernel.h"
#include "runtime/Nvrtc.h"

#include <cmath>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "absl/time/clock.h"
#include "test/runtime/TestKernels.h"

namespace kernelc {
namespace {

using namespace testing_kernels;

class GpuTest : public testing::Test {
protected:
  void SetUp() override {
    auto n = Nvrtc::load();
    auto r = Runtime::instance();
    if (!n.ok() || !r.ok())
      GTEST_SKIP() << (n.ok() ? r.status() : n.status());
    auto d = (*r)->device(0);
    ASSERT_TRUE(d.ok()) << d.status();
    nvrtc = std::move(*n);
    device = *d;
    stream = std::move(*Stream::create(*device));
  }
  std::unique_ptr<LoadedKernel> load(Kernel kernel, const char *text) {
    kernel.variants[0].target = device->info().target();
    kernel.variants[0].cudaText = text;
    auto cubin = nvrtc->compileToCubin(text, "test.cu", device->info().target());
    EXPECT_TRUE(cubin.ok()) << cubin.status();
    auto loaded = LoadedKernel::create(*device, kernel);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (!cubin.ok() || !loaded.ok())
      return nullptr;
    absl::Status s = (*loaded)->loadVariant(0, cubin->bytes);
    EXPECT_TRUE(s.ok()) << s;
    return std::move(*loaded);
  }
  std::unique_ptr<Nvrtc> nvrtc;
  Device *device = nullptr;
  std::unique_ptr<Stream> stream;
};

constexpr const char *kAxpy = "#line 1 \"axpy.kc\"\n"
                              "extern \"C\" __global__ void kc_axpy(float a, const float *x, float *y, int n) {\n"
                              "  int i = blockIdx.x * 256 + threadIdx.x;\n"
                              "  if (i < n) y[i] = a * x[i];\n"
                              "}\n";

TEST_F(GpuTest, Axpy) {
  auto kernel = load(axpy(), kAxpy);
  ASSERT_TRUE(kernel);
  const int64_t n = 100003;
  auto x = Buffer::allocate(*device, n * 4), y = Buffer::allocate(*device, n * 4);
  std::vector<float> host(n);
  for (int64_t i = 0; i < n; ++i)
    host[i] = float(i % 1000);
  ASSERT_TRUE(x->copyFromHost(host.data(), n * 4, *stream).ok());
  auto bound = kernel->bind({*ScalarValue::fromDouble(ElementType::f32, 2.5), tensor(x->data(), ElementType::f32, {n}),
                             tensor(y->data(), ElementType::f32, {n})});
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE(bound->launch(*stream).ok());
  ASSERT_TRUE(y->copyToHost(host.data(), n * 4, *stream).ok());
  for (int64_t i = 0; i < n; ++i)
    ASSERT_EQ(host[i], 2.5f * float(i % 1000));

  // Launch cost, for the record: argument packing is done, so this is the driver's.
  absl::Time start = absl::Now();
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(bound->launch(*stream).ok());
  absl::Duration each = (absl::Now() - start) / 1000;
  ASSERT_TRUE(stream->synchronize().ok());
  RecordProperty("launch_ns", int(absl::ToInt64Nanoseconds(each)));
  start = absl::Now();
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(kernel
                    ->bind({*ScalarValue::fromDouble(ElementType::f32, 2.5), tensor(x->data(), ElementType::f32, {n}),
                            tensor(y->data(), ElementType::f32, {n})})
                    .ok());
  RecordProperty("bind_ns", int(absl::ToInt64Nanoseconds((absl::Now() - start) / 1000)));
}

// One block loads a 64 x 8 box of a [rows, 64] bf16 tensor by TMA and stores what it
// got as f32: rows past the end read as zero.
TEST_F(GpuTest, TensorMapsLoadAndZeroFill) {
  if (device->info().major < 9)
    GTEST_SKIP() << "TMA needs compute capability 9.0";
  Kernel k;
  k.name = "tma";
  SizeExpr m = SizeExpr::size(0);
  k.params = {{"x", ElementType::bf16, ParamKind::Input, {m, 64}, {}}, {"y", ElementType::f32, ParamKind::Output, {8, 64}, {}}};
  k.sizes = {{"M", 0, 0, 1, 0, {}}};
  Variant v;
  v.name = "default";
  v.params = {{LayoutClass::InnerUnit, 16}, {LayoutClass::Dense, 4}};
  v.workspaceBytes = 256;
  Launch l;
  l.entry = "kc_tma";
  l.grid = 2;
  l.cluster = 2;
  l.block = 128;
  l.sharedBytes = 100000;
  TensorMapArg a;
  a.base.param = 0;
  a.dims = {64, m};
  a.strides = {SizeExpr::stride(0, 0) * 2};
  a.box = {64, 8};
  a.elementStrides = {1, 1};
  l.args = {a, PointerArg{1, {}}, PointerArg{-1, {}}};
  v.launches = {l};
  k.variants = {v};
  auto kernel = load(k, R"(
struct alignas(64) TMap { char b[128]; };
extern __shared__ __align__(1024) unsigned char sm[];
extern "C" __global__ void __cluster_dims__(2, 1, 1) kc_tma(const __grid_constant__ TMap map, float *y, unsigned *space) {
  unsigned s, bar;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(s) : "l"(sm));
  bar = s + 8192;
  if (blockIdx.x != 0) { if (threadIdx.x == 0) *space = 1; return; }
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(1024) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(s), "l"(&map), "r"(0), "r"(0), "r"(bar) : "memory");
  }
  __syncthreads();
  asm volatile("{ .reg .pred P; W: mbarrier.try_wait.parity.shared::cta.b64 P, [%0], 0; @P bra.uni D; bra.uni W; D: }" ::"r"(bar) : "memory");
  for (int i = threadIdx.x; i < 512; i += 128) y[i] = __uint_as_float((unsigned)((unsigned short *)sm)[i] << 16);
}
)");
  ASSERT_TRUE(kernel);
  for (int64_t rows : {8, 3, 0}) {
    auto x = Buffer::allocate(*device, 16 * 72 * 2), y = Buffer::allocate(*device, 512 * 4);
    std::vector<uint16_t> in(16 * 72);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = toBF16(float(i % 200));
    ASSERT_TRUE(x->copyFromHost(in.data(), in.size() * 2, *stream).ok());
    auto bound = kernel->bind(
        {tensor(rows ? x->data() : nullptr, ElementType::bf16, {rows, 64}, {72, 1}), tensor(y->data(), ElementType::f32, {8, 64})});
    ASSERT_TRUE(bound.ok()) << bound.status();
    ASSERT_TRUE(bound->launch(*stream).ok());
    std::vector<float> out(512);
    absl::Status s = y->copyToHost(out.data(), 2048, *stream);
    ASSERT_TRUE(s.ok()) << s;
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 64; ++c)
        ASSERT_EQ(out[r * 64 + c], r < rows ? float((r * 72 + c) % 200) : 0.0f) << rows << " rows: " << r << "," << c;
  }
}

TEST_F(GpuTest, GraphsReplay) {
  auto kernel = load(axpy(), kAxpy);
  auto cold = LoadedKernel::create(*device, axpy());
  const int64_t n = 1000;
  auto x = Buffer::allocate(*device, n * 4), y = Buffer::allocate(*device, n * 4);
  std::vector<float> ones(n, 1.0f), out(n);
  ASSERT_TRUE(x->copyFromHost(ones.data(), n * 4, *stream).ok());
  auto bound = kernel->bind(
      {*ScalarValue::fromDouble(ElementType::f32, 3), tensor(x->data(), ElementType::f32, {n}), tensor(y->data(), ElementType::f32, {n})});
  ASSERT_TRUE(bound.ok());
  const cuda::CudaDriver &d = device->driver();
  auto scope = ContextScope::enter(*device);
  ASSERT_EQ(d.cuStreamBeginCapture(stream->handle(), cuda::kCaptureGlobal), 0);
  EXPECT_TRUE(bound->launch(*stream).ok());
  EXPECT_EQ(findErrorKind((*cold)->loadVariant(0, std::string("\x7f"
                                                              "ELF") +
                                                      std::string(100, 'x'))),
            device->info().canRun("sm_90a") ? std::optional(RuntimeErrorKind::ColdInCapture) : std::nullopt);
  cuda::Graph graph = nullptr;
  cuda::GraphExec exec = nullptr;
  ASSERT_EQ(d.cuStreamEndCapture(stream->handle(), &graph), 0) << "the capture survived";
  ASSERT_EQ(d.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  for (int i = 0; i < 10000; ++i)
    ASSERT_EQ(d.cuGraphLaunch(exec, stream->handle()), 0);
  ASSERT_TRUE(y->copyToHost(out.data(), n * 4, *stream).ok());
  EXPECT_EQ(out[n - 1], 3.0f);
  d.cuGraphExecDestroy(exec);
  d.cuGraphDestroy(graph);
}

// A trap poisons the process, so it happens in one of its own (exec, not fork alone:
// CUDA is up here already).
TEST_F(GpuTest, FaultsNameTheKernel) {
  if (getenv("KERNELC_TEST_TRAP")) {
    auto kernel = load(axpy(), "extern \"C\" __global__ void kc_axpy(float a, const float *x, float *y, int n) { __trap(); }");
    auto bound = kernel->bind(
        {*ScalarValue::fromDouble(ElementType::f32, 3), tensorAt(4096, ElementType::f32, {8}), tensorAt(8192, ElementType::f32, {8})});
    absl::Status launched = bound->launch(*stream), lost = stream->synchronize();
    bool ok = launched.ok() && findErrorKind(lost) == RuntimeErrorKind::DeviceLost &&
              lost.message().find("kc_axpy (axpy.kc:1)") != absl::string_view::npos && bound->launch(*stream) == lost;
    fprintf(stderr, "%s\n", lost.ToString().c_str());
    fflush(nullptr);
    _exit(ok ? 0 : 1);
  }
  pid_t child = fork();
  if (child == 0) {
    setenv("KERNELC_TEST_TRAP", "1", 1);
    char filter[] = "--gtest_filter=GpuTest.FaultsNameTheKernel", self[] = "/proc/self/exe";
    char *args[] = {self, filter, nullptr};
    execv(self, args);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(GpuTest, BadImagesAreTyped) {
  auto kernel = LoadedKernel::create(*device, axpy());
  if (!device->info().canRun("sm_90a"))
    GTEST_SKIP() << "the test's artifact is for sm_90a";
  EXPECT_EQ(findErrorKind((*kernel)->loadVariant(0, std::string("\x7f"
                                                                "ELF\2\1\1") +
                                                        std::string(1000, '\0'))),
            RuntimeErrorKind::InvalidImage);
}

} // namespace
} // namespace kernelc
