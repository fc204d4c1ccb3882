// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How often NVRTC is asked: once per unit, once for launches that run equal code, and after a change only for the launch
// that has changed. Without NVRTC there is nothing to ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "driver/jit/HostRun.h"
#include "driver/jit/KeptKernel.h"
#include "driver/jit/Session.h"
#include "driver/verify/HostValues.h"
#include "runtime/DiskCache.h"
#include "support/Interrupt.h"

namespace kernelc {
namespace {

std::string layers(int number) {
  std::string text = "def net(x: f32[M, D]";
  for (int i = 0; i < number; ++i)
    absl::StrAppend(&text, ", w", i, ": f32[D, D]");
  absl::StrAppend(&text, ") -> (y: f32[M, D]) {\n");
  for (int i = 0; i + 1 < number; ++i)
    absl::StrAppend(&text, "  let h", i, "[i, j] = relu(sum[k](", i ? absl::StrCat("h", i - 1) : "x", "[i, k] * w", i, "[k, j]))\n");
  return absl::StrCat(text, "  y[i, j] = relu(sum[k](h", number - 2, "[i, k] * w", number - 1, "[k, j]))\n}\n");
}

constexpr char kSteps[] = R"(def steps(x: f32[M, N], w: f32[N, N]) -> (y: f32[M, N]) {
  let m[i] = max[j](x[i, j])
  let p[i, j] = sum[k](exp(x[i, k] - m[i]) * w[k, j])
  let n[i] = sum[j](p[i, j] * p[i, j])
  y[i, j] = sum[k](p[i, k] * w[j, k]) / sqrt(n[i])
}
)";

class CompileUnitsSession : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    if (absl::Status s = Session::create(options())->nvrtc().status(); !s.ok())
      GTEST_SKIP() << s;
  }
  SessionOptions options() {
    SessionOptions o;
    o.cachePath = folder;
    return o;
  }
  struct Compiled {
    Variant variant;
    VariantCode code;
    int64_t stored = 0; ///< entries that it added to the cache
  };
  absl::StatusOr<Compiled> compile(const std::string &text, const std::vector<std::vector<int64_t>> &shapes) {
    auto session = Session::create(options());
    auto kernel = session->compile(text);
    if (!kernel.ok())
      return kernel.status();
    std::vector<HostTensor> tensors;
    std::vector<LaunchValue> values;
    for (const std::vector<int64_t> &shape : shapes)
      tensors.emplace_back(ElementType::f32, shape);
    for (HostTensor &t : tensors)
      values.push_back(t.deviceTensor());
    auto variant = (*kernel)->variantFor("sm_90a", values);
    if (!variant.ok())
      return variant.status();
    int64_t before = session->cache().counters().stored;
    auto code = session->compileVariant(variant->variants[0], "test.cu");
    if (!code.ok())
      return code.status();
    return Compiled{variant->variants[0], *std::move(code), session->cache().counters().stored - before};
  }
  std::string folder = testing::TempDir() + "/kernelc-units-XXXXXX";
};

TEST_F(CompileUnitsSession, EqualLayersAreCompiledOnce) {
  std::vector<std::vector<int64_t>> shapes(12, {256, 256});
  shapes[0] = shapes[11] = {512, 256};
  auto net = compile(layers(10), shapes);
  ASSERT_TRUE(net.ok()) << net.status();
  EXPECT_GE(net->variant.launches.size(), 10u);
  // The first waits for nobody, and the last writes what the caller sees.
  EXPECT_LE(net->code.units.size(), 4u) << net->variant.cudaText;
  EXPECT_EQ(net->stored, int64_t(net->code.units.size()));
  EXPECT_EQ(net->code.images(net->variant).size(), net->variant.launches.size());
  for (const Cubin &cubin : net->code.cubins)
    EXPECT_EQ(cubin.kernels.size(), 1u);
}

TEST_F(CompileUnitsSession, AChangedStatementCompilesItsLaunchOnly) {
  std::vector<std::vector<int64_t>> shapes(3, {512, 512});
  auto first = compile(kSteps, shapes);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_GE(first->code.units.size(), 3u) << first->variant.cudaText;
  EXPECT_EQ(first->stored, int64_t(first->code.units.size()));
  EXPECT_EQ(compile(kSteps, shapes)->stored, 0);
  auto moved = compile(absl::StrCat("# a comment\n\n", kSteps), shapes);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(moved->stored, 0) << "lines are no part of the code";
  auto changed = compile(absl::StrReplaceAll(kSteps, {{"/ sqrt(n[i])", "/ sqrt(n[i] + 1.0)"}}), shapes);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->code.units.size(), first->code.units.size());
  EXPECT_EQ(changed->stored, 1) << changed->variant.cudaText;
}

/// Many processes meet one cold kernel: one of them compiles each unit, the others take what it has made.
TEST_F(CompileUnitsSession, ProcessesCompileOnce) {
  ::setenv("KERNELC_NVRTC_WORKER", KERNELC_TEST_NVRTC_WORKER, 1);
  const std::string log = folder + "/stored";
  std::vector<pid_t> children;
  for (int c = 0; c < 32; ++c) {
    pid_t child = fork();
    if (child == 0) {
      auto compiled = compile(kSteps, std::vector<std::vector<int64_t>>(3, {512, 512}));
      if (!compiled.ok())
        _exit(1);
      std::ofstream out(log, std::ios::app);
      out << std::string(size_t(compiled->stored), 'x') << std::flush;
      _exit(out ? 0 : 2);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ::unsetenv("KERNELC_NVRTC_WORKER");
  std::ifstream in(log);
  const std::string stored(std::istreambuf_iterator<char>(in), {});
  auto again = compile(kSteps, std::vector<std::vector<int64_t>>(3, {512, 512}));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(stored.size(), again->code.units.size());
  EXPECT_EQ(again->stored, 0);
}

/// A cache that takes nothing: no room (a limit on the length of files), or no permission. The kernel compiles all the same.
TEST_F(CompileUnitsSession, WhereNothingCanBeStoredKernelsCompile) {
  ::setenv("KERNELC_NVRTC_WORKER", KERNELC_TEST_NVRTC_WORKER, 1);
  for (const char *how : {"full", "forbidden"}) {
    SCOPED_TRACE(how);
    pid_t child = fork();
    if (child == 0) {
      folder = absl::StrCat(folder, "/", how);
      ::mkdir(folder.c_str(), 0700);
      if (absl::string_view(how) == "full") {
        signal(SIGXFSZ, SIG_IGN);
        rlimit none = {0, 0};
        setrlimit(RLIMIT_FSIZE, &none);
      } else {
        ::chmod(folder.c_str(), 0500);
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) // root may write everywhere
          _exit(3);
      }
      auto compiled = compile(kSteps, std::vector<std::vector<int64_t>>(3, {512, 512}));
      _exit(!compiled.ok() ? 1 : compiled->stored != 0 || compiled->code.cubins[0].bytes.empty() ? 2 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ::unsetenv("KERNELC_NVRTC_WORKER");
}

absl::Time interruptAt = absl::InfiniteFuture();

TEST_F(CompileUnitsSession, InterruptsEndAllUnitsAtOnce) {
  ::setenv("KERNELC_NVRTC_WORKER", KERNELC_TEST_NVRTC_WORKER, 1);
  Variant v;
  v.target = "sm_90a";
  for (const char *name : {"a", "b", "c", "d"}) { // of minutes each
    absl::StrAppend(&v.cudaText, "\nextern \"C\" __global__ void kc_", name, "(float *y, const float *x) {\n  float s = x[0];\n");
    for (int i = 0; i < 2000; ++i)
      absl::StrAppend(&v.cudaText, "  s = s * x[", i, "] + x[(int)s & 1023];\n");
    absl::StrAppend(&v.cudaText, "  y[0] = s;\n}\n");
    v.launches.emplace_back();
    v.launches.back().entry = absl::StrCat("kc_", name);
  }
  auto session = Session::create(options());
  ASSERT_TRUE(session->nvrtc().ok());
  setInterruptQuestion([] { return absl::Now() > interruptAt; });
  absl::Status status;
  absl::Time ended;
  {
    InterruptScope scope;
    interruptAt = absl::Now() + absl::Milliseconds(500);
    status = session->compileVariant(v, "long.cu").status();
    ended = absl::Now();
  }
  setInterruptQuestion(nullptr);
  ::unsetenv("KERNELC_NVRTC_WORKER");
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_LT(ended - interruptAt, absl::Seconds(1)) << "a fifth of that, but for other work on the machine";
  EXPECT_EQ(session->cache().counters().stored.load(), 0);
}

TEST_F(CompileUnitsSession, AWorkerThatCannotBeStartedIsAnErrorWhereItWasNamed) {
  ::setenv("KERNELC_NVRTC_WORKER", "/none/worker", 1);
  std::vector<std::vector<int64_t>> shapes(3, {64, 64});
  EXPECT_EQ(compile(kSteps, shapes).status().code(), absl::StatusCode::kUnavailable);
  ::setenv("KERNELC_NVRTC_WORKER", "0", 1);
  EXPECT_TRUE(compile(kSteps, shapes).ok());
  ::unsetenv("KERNELC_NVRTC_WORKER");
}

TEST_F(CompileUnitsSession, RemarksAreOfTheLaunchAndItsLines) {
  // 96 live values per thread do not fit in 32 registers.
  auto variantAt = [](int line) {
    Variant v;
    v.target = "sm_90a";
    v.cudaText =
        absl::StrCat("#line 3 \"two.kc\"\nextern \"C\" __global__ void kc_copy(float *x) {\n  x[0] = x[1];\n}\n\n#line ", line, R"( "two.kc"
extern "C" __global__ void __launch_bounds__(1024, 2) kc_spill(float *x, int n) {
  float a[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) a[i] = x[i * n + threadIdx.x];
  for (int t = 0; t < n; ++t) {
#pragma unroll
    for (int i = 0; i < 96; ++i) a[i] = a[i] * a[(i + 7) % 96] + a[(i * 5) % 96];
  }
#pragma unroll
  for (int i = 0; i < 96; ++i) x[i * n + threadIdx.x] = a[i];
}
)");
    for (const char *entry : {"kc_copy", "kc_spill"}) {
      v.launches.emplace_back();
      v.launches.back().entry = entry;
    }
    return v;
  };
  auto session = Session::create(options());
  for (int line : {5, 9}) { // the second time from the cache, where the log is kept without places
    auto code = session->compileVariant(variantAt(line), "two.cu");
    ASSERT_TRUE(code.ok()) << code.status();
    EXPECT_EQ(session->cache().counters().stored.load(), 2);
    EXPECT_TRUE(code->cubins[0].diagnostics.empty());
    ASSERT_EQ(code->cubins[1].diagnostics.size(), 1u);
    EXPECT_EQ(code->cubins[1].diagnostics[0].function, "kc_spill");
    EXPECT_EQ(code->cubins[1].diagnostics[0].loc.line, line);
    Variant named = variantAt(line);
    nameUnits(named);
    code = session->compileVariant(named, "two.cu");
    ASSERT_TRUE(code.ok()) << code.status();
    ASSERT_EQ(code->cubins[1].diagnostics.size(), 1u);
    EXPECT_EQ(code->cubins[1].diagnostics[0].loc.line, line);
  }
}

TEST_F(CompileUnitsSession, CodeIsFoundByTheNamesOfUnits) {
  auto session = Session::create(options());
  absl::StatusOr<Compiled> first = compile(kSteps, {{64, 64}, {64, 64}, {64, 64}});
  ASSERT_TRUE(first.ok()) << first.status();
  Variant named = first->variant;
  EXPECT_TRUE(named.units.empty());
  nameUnits(named);
  ASSERT_EQ(named.units.size(), first->code.units.size());
  named.cudaText.clear(); // nobody reads it
  absl::StatusOr<VariantCode> found = session->compileVariant(named, "steps.cu");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(session->cache().counters().stored.load(), 0);
  EXPECT_EQ(session->cache().counters().hits.load(), int64_t(named.units.size()));
  for (size_t u = 0; u < named.units.size(); ++u) {
    EXPECT_EQ(found->units[u].entries, first->code.units[u].entries);
    EXPECT_EQ(found->cubins[u].bytes, first->code.cubins[u].bytes);
  }
}

TEST(KeptKernel, ComesBackAsItWas) {
  Kernel kernel;
  kernel.name = "k";
  Variant &v = kernel.variants.emplace_back();
  v.name = "general";
  v.target = "sm_90a";
  v.cudaText = "extern \"C\" __global__ void k0(float *x) {\n  x[0] = 1; // \\ {\"text\": 3}\n}\n";
  v.launches.emplace_back();
  v.launches[0].entry = "k0";
  v.launches[0].grid = 1;
  v.launches[0].block = 32;
  absl::StatusOr<std::string> kept = keptOf(kernel);
  ASSERT_TRUE(kept.ok()) << kept.status();
  std::optional<Kernel> read = readKept(*kept);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "k");
  EXPECT_EQ(read->variants[0].cudaText, v.cudaText);
  ASSERT_EQ(read->variants[0].units.size(), 1u);
  EXPECT_EQ(read->variants[0].units[0].entries, std::vector<std::string>{"k0"});
  EXPECT_EQ(read->variants[0].units[0].code, DiskCache::nameOfCode(v.cudaText));
  for (size_t n = 0; n < kept->size(); ++n)
    EXPECT_FALSE(readKept(absl::string_view(*kept).substr(0, n)) && n + 2 < kept->size()) << n;
  EXPECT_FALSE(readKept("{\"text\": 99999999999, \"units\": []}\n{}"));
  EXPECT_FALSE(readKept("{\"text\": -1, \"units\": []}\n{}"));
  EXPECT_FALSE(readKept(absl::StrReplaceAll(*kept, {{"\"k0\"]]", "1]]"}})));
}

TEST_F(CompileUnitsSession, SharedEntriesComputeEachLayer) {
  auto session = Session::create(options());
  auto kernel = session->compile(layers(4));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<HostTensor> tensors;
  for (int p = 0; p < 6; ++p) {
    tensors.emplace_back(ElementType::f32, std::vector<int64_t>{p == 0 || p == 5 ? 24 : 16, 16});
    fillRandom(tensors.back(), unsigned(p));
  }
  std::vector<LaunchValue> values;
  for (HostTensor &t : tensors)
    values.push_back(t.deviceTensor());
  auto variant = (*kernel)->variantFor(session->options().emulatorTarget, values);
  ASSERT_TRUE(variant.ok()) << variant.status();
  ASSERT_LT(compileUnitsOf(variant->variants[0]).size(), variant->variants[0].launches.size()) << variant->variants[0].cudaText;
  std::vector<float> results[2];
  for (Place::Kind kind : {Place::Cpu, Place::Emulator}) {
    ASSERT_EQ(runOnHost(**kernel, {kind}, tensors), absl::OkStatus());
    results[kind == Place::Emulator].assign(tensors[5].as<float>(), tensors[5].as<float>() + 24 * 16);
  }
  for (size_t i = 0; i < results[0].size(); ++i)
    ASSERT_NEAR(results[0][i], results[1][i], 1e-4 * (1 + std::abs(results[0][i]))) << i;
}

} // namespace
} // namespace kernelc
