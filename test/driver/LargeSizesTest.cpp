// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors of 2^30 elements and more, of which a few blocks touch a few pages: the first blocks, some in the middle and
// the last of each launch run on the emulator, on address space that takes memory only where it is touched. What is read says where
// it was read from; every element that was written must be what stands at its place.
#include <csignal>
#include <functional>

#include "driver/compile/Compiler.h"
#include "driver/compile/Registration.h"
#include "emulator/Emulator.h"
#include "emulator/SparseMemory.h"
#include "frontend/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "support/TensorView.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using emulator::SparseMemory;

/// Floats that say where they stand: pages are filled when somebody reads them first.
class TellingFloats {
public:
  /// Whole numbers below `modulus`, of which neighbours differ, and places that are powers of two apart.
  TellingFloats(int64_t elements, int64_t modulus) : memory_(size_t(elements) * 4), bytes_(size_t(elements) * 4), modulus_(modulus) {
    ::mprotect(memory_.data(), bytes_, PROT_NONE);
    all().push_back(this);
    struct sigaction action = {};
    action.sa_sigaction = fill;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &action, all().size() == 1 ? &former() : nullptr);
  }
  TellingFloats(const TellingFloats &) = delete;
  ~TellingFloats() {
    std::erase(all(), this);
    if (all().empty())
      ::sigaction(SIGSEGV, &former(), nullptr);
  }
  float *data() const { return reinterpret_cast<float *>(memory_.data()); }
  float at(int64_t i) const { return float(i % modulus_ + 1); }

private:
  static std::vector<TellingFloats *> &all() {
    static std::vector<TellingFloats *> list;
    return list;
  }
  static struct sigaction &former() {
    static struct sigaction action;
    return action;
  }
  static void fill(int, siginfo_t *info, void *) {
    auto at = reinterpret_cast<uintptr_t>(info->si_addr) / SparseMemory::kPage * SparseMemory::kPage;
    for (TellingFloats *t : all())
      if (size_t offset = at - reinterpret_cast<uintptr_t>(t->memory_.data()); offset < t->bytes_) {
        auto *page = reinterpret_cast<float *>(at);
        ::mprotect(page, SparseMemory::kPage, PROT_READ | PROT_WRITE);
        for (size_t i = 0; i < SparseMemory::kPage / 4; ++i)
          page[i] = t->at(int64_t(offset / 4 + i));
        return;
      }
    ::sigaction(SIGSEGV, &former(), nullptr); // a fault of its own
  }

  SparseMemory memory_;
  size_t bytes_;
  int64_t modulus_;
};

struct Large {
  const char *text;
  std::map<std::string, int64_t> sizes;
  /// y at a place, counted from its start, where x tells where it is.
  std::function<float(const TellingFloats &x, int64_t place)> expected;
  int64_t modulus = 16777213; ///< a prime, and exact in f32
};

/// Visits the floats of those pages that were touched.
template <class Fn> void forEachTouched(const SparseMemory &memory, int64_t elements, Fn &&fn) {
  constexpr size_t kAtOnce = size_t(1) << 30;
  size_t bytes = size_t(elements) * 4;
  std::vector<unsigned char> resident(kAtOnce / SparseMemory::kPage);
  for (size_t from = 0; from < bytes; from += kAtOnce) {
    size_t length = std::min(kAtOnce, bytes - from);
    ASSERT_EQ(::mincore(memory.data() + from, length, resident.data()), 0);
    for (size_t page = 0; page * SparseMemory::kPage < length; ++page)
      if (resident[page] & 1)
        for (size_t at = from + page * SparseMemory::kPage; at < std::min(bytes, from + (page + 1) * SparseMemory::kPage); at += 4)
          fn(int64_t(at / 4), *reinterpret_cast<const float *>(memory.data() + at));
  }
}

/// One input x and one output y, both of f32 and dense.
void expectRight(const Large &c, const std::string &target, bool general) {
  SCOPED_TRACE(std::string(c.text) + " " + target + (general ? " general" : ""));
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      ADD_FAILURE() << d.str();
  });
  frontend::ImportOptions import;
  for (const auto &[name, value] : c.sizes)
    import.constants[name] = value;
  auto module = frontend::importKc(context, c.text, "test.kc", import);
  ASSERT_TRUE(module);
  Kernel kernel = *describeKernel(*module);
  VariantOptions options;
  options.target = target;
  options.mayWiden = true;
  if (general) {
    options.index32 = false;
    options.params = generalParams(kernel);
  }
  ASSERT_TRUE(addVariant(*module, options, kernel).ok());
  const Variant &variant = kernel.variants[0];
  std::vector<std::vector<int64_t>> strides;
  std::vector<int64_t> elements;
  for (const Param &p : kernel.params) {
    std::vector<int64_t> shape;
    elements.push_back(1);
    for (const SizeExpr &d : p.dims) {
      shape.push_back(d.evaluate({}));
      elements.back() *= shape.back();
    }
    strides.push_back(denseStrides(shape));
  }
  SizeEnv env{{}, 132, strides};
  EXPECT_TRUE(variant.guard.empty() || variant.guard.evaluate(env)) << variant.guardText;
  TellingFloats x(elements[0], c.modulus);
  SparseMemory y(size_t(elements[1]) * 4);
  ASSERT_TRUE(x.data() && y.data());
  emulator::EmulatorOptions run;
  run.checks = false; // bounds are checked all the same
  auto emulated = emulator::EmulatedModule::compile(variant.cudaText, run);
  ASSERT_TRUE(emulated.ok()) << emulated.status();
  for (const Launch &launch : variant.launches) {
    int64_t grid = launch.grid.evaluate(env), clusters = grid / launch.cluster;
    ASSERT_GT(clusters, 2);
    std::vector<int64_t> blocks = {0, 1, clusters / 2 - 1, clusters / 2, clusters / 3, clusters - 2, clusters - 1};
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    emulator::LaunchSpec spec;
    spec.entry = launch.entry;
    spec.grid[0] = uint32_t(grid);
    spec.block[0] = launch.block;
    spec.cluster = launch.cluster;
    spec.sharedBytes = launch.sharedBytes.evaluate(env);
    spec.buffers = {{"x", x.data(), size_t(elements[0]) * 4, false}, {"y", y.data(), size_t(elements[1]) * 4, true}};
    for (const LaunchArg &a : launch.args) {
      if (const auto *p = std::get_if<PointerArg>(&a)) {
        ASSERT_TRUE(p->param == 0 || p->param == 1);
        spec.args.push_back(emulator::packArg(p->param ? static_cast<void *>(y.data()) : x.data()));
      } else {
        const auto *s = std::get_if<SizeArg>(&a);
        ASSERT_NE(s, nullptr);
        spec.args.push_back(s->bits == 32 ? emulator::packArg(int32_t(s->value.evaluate(env))) : emulator::packArg(s->value.evaluate(env)));
      }
    }
    run.onlyClusters = blocks;
    auto report = (*emulated)->launch(spec, run);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->ok()) << report->toString() << variant.cudaText;
  }
  int64_t written = 0, wrong = 0, last = -1;
  forEachTouched(y, elements[1], [&](int64_t place, float value) {
    if (value == 0)
      return; // of a page that others share
    ++written;
    last = place;
    if (float want = c.expected(x, place); value != want && ++wrong <= 3)
      ADD_FAILURE() << "place " << place << ": " << value << ", not " << want << "\n" << variant.cudaText;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(written, 0);
  EXPECT_EQ(last, elements[1] - 1);
}

constexpr int64_t k30 = int64_t(1) << 30, k31 = int64_t(1) << 31;

TEST(LargeSizes, RowsAroundTheLimits) {
  const char *copy = "def copy(x: f32[N]) -> (y: f32[N]) { y[i] = x[N - 1 - i] }";
  for (int64_t n : {k30 - 1, k30, k31 - 1, k31, k31 + 17, 2 * k31 + 4})
    for (bool general : {false, true})
      expectRight({copy, {{"N", n}}, [n](const TellingFloats &x, int64_t i) { return x.at(n - 1 - i); }}, n % 3 ? "sm_80" : "sm_90a",
                  general);
}

TEST(LargeSizes, ProductsOfSizes) {
  constexpr int64_t m = 65539, n = 65540;
  const char *turned = "def t(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }";
  const char *sums = "def s(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }";
  const char *strided = "def d(x: f32[M, N]) -> (y: f32[M]) { y[i] = x[M - 1 - i, (i * 40503) % N] + 1 }";
  for (const char *target : {"sm_80", "sm_90a"}) {
    for (bool general : {false, true})
      expectRight({turned, {{"M", m}, {"N", n}}, [](const TellingFloats &x, int64_t at) { return x.at(at % m * n + at / m); }}, target,
                  general);
    expectRight(
        {strided, {{"M", m}, {"N", n}}, [](const TellingFloats &x, int64_t i) { return x.at((m - 1 - i) * n + i * 40503 % n) + 1; }},
        target, false);
    // Sums of 65540 numbers up to 7 are exact.
    expectRight({sums,
                 {{"M", m}, {"N", n}},
                 [](const TellingFloats &x, int64_t i) {
                   float sum = 0;
                   for (int64_t j = 0; j < n; ++j)
                     sum += x.at(i * n + j);
                   return sum;
                 },
                 7},
                target, false);
  }
}

} // namespace
} // namespace kernelc::test
