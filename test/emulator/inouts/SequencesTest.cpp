// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All sequences of two statements on one `inout`, and every 97th of those of three: what the emulator leaves for sm_80 or sm_90a, which
// take turns, with all checks on, and what the CPU device leaves, is what the statements leave one after the other.
// KERNELC_INOUTS_STEP=1: all of them, for both targets.
#include <cstdlib>
#include <memory>
#include <random>

#include "driver/compile/Compiler.h"
#include "driver/compile/Registration.h"
#include "emulator/RunKernel.h"
#include "frontend/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "reference/Reference.h"
#include "test/emulator/inouts/Sequence.h"
#include "gtest/gtest.h"

namespace kernelc::inouts {
namespace {

using emulator::KernelRunner;

/// More than a block's tile of vectors in rank 1, and a block a row in rank 2.
int64_t extentOf(int rank) { return rank == 1 ? 2060 : 12; }

struct Inputs {
  std::vector<int32_t> x, m;
  std::vector<int64_t> shape;
  std::vector<int32_t> result;
  Inputs(const Sequence &s, unsigned seed) {
    std::mt19937 random(seed);
    int64_t n = extentOf(s.rank), elements = s.rank == 1 ? n : n * n;
    shape.assign(size_t(s.rank), n);
    for (int64_t i = 0; i < elements; ++i) {
      x.push_back(int32_t(random() % 19) - 9);
      m.push_back(int32_t(random() % 3) - 1);
    }
    result = x;
  }
  TensorView view(std::vector<int32_t> &v) const { return {v.data(), ElementType::i32, shape, denseStrides(shape)}; }
};

/// Where the kernel's result is not the sequence's.
std::string difference(const Sequence &s, const Inputs &in) {
  std::vector<int32_t> expected = s.expected(in.x, in.m, in.shape[0]);
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != in.result[i])
      return "element " + std::to_string(i) + " is " + std::to_string(in.result[i]) + ", expected " + std::to_string(expected[i]);
  return "";
}

/// A kernel for both targets, not built yet.
struct Compiled {
  Sequence sequence;
  std::vector<Kernel> kernels;
};

class Compiler {
public:
  Compiler() : context_(registry()) { context_.disableMultithreading(); }

  /// Compiles one sequence for `targets`, and runs it on the CPU device. What goes wrong is a failure of the test.
  Compiled compile(const Sequence &s, llvm::ArrayRef<const char *> targets) {
    Compiled c{s, {}};
    std::string diagnostics, text = s.text();
    mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic &d) {
      if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
        diagnostics += d.str() + "\n";
    });
    auto module = frontend::importKc(context_, text, "inout.kc", {});
    if (!module) {
      ADD_FAILURE() << text << diagnostics;
      return c;
    }
    runOnCpu(s, *module);
    for (const char *target : targets) {
      absl::StatusOr<Kernel> kernel = describeKernel(*module);
      VariantOptions options;
      options.target = target;
      absl::Status added = kernel.ok() ? addVariant(*module, options, *kernel) : kernel.status();
      if (added.ok())
        c.kernels.push_back(*std::move(kernel));
      else
        ADD_FAILURE() << text << target << ": " << added << "\n" << diagnostics;
    }
    return c;
  }

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry r;
    registerDialects(r);
    return r;
  }

  static void runOnCpu(const Sequence &s, mlir::ModuleOp module) {
    auto kernel = reference::ReferenceKernel::compile(*module.getOps<te::KernelOp>().begin(), reference::Arithmetic::Own);
    ASSERT_TRUE(kernel.ok()) << s.text() << kernel.status();
    Inputs in(s, 1);
    TensorView x = in.view(in.result), m = in.view(in.m);
    absl::Status ran = (*kernel)->run({in.shape[0]}, {x, m}, {x});
    EXPECT_TRUE(ran.ok()) << s.text() << ran;
    EXPECT_EQ(difference(s, in), "") << s.text() << "on the CPU";
  }

  mlir::MLIRContext context_;
};

/// Builds a batch in one host compilation and runs each kernel.
void runBatch(const std::vector<Compiled> &batch) {
  std::vector<KernelRunner::Text> texts;
  std::vector<const Sequence *> sequences;
  for (const Compiled &c : batch)
    for (const Kernel &k : c.kernels) {
      texts.push_back({&k, &k.variants.front()});
      sequences.push_back(&c.sequence);
    }
  auto runners = KernelRunner::createAll(texts);
  ASSERT_EQ(runners.size(), texts.size());
  for (size_t n = 0; n < runners.size(); ++n) {
    const Sequence &s = *sequences[n];
    std::string where = s.text() + texts[n].variant->target;
    ASSERT_TRUE(runners[n].ok()) << where << runners[n].status();
    Inputs in(s, 2);
    emulator::RunArguments args;
    args.params = {in.view(in.result), in.view(in.m)};
    auto report = runners[n]->run(args);
    ASSERT_TRUE(report.ok()) << where << report.status();
    EXPECT_TRUE(report->ok()) << where << "\n" << report->toString();
    EXPECT_EQ(difference(s, in), "") << where;
  }
}

/// Every `step`-th sequence of `length` statements from the `first` on, in batches.
void runAll(int length, uint64_t first, uint64_t step) {
  constexpr size_t kBatch = 48;
  static const char *const kTargets[] = {"sm_80", "sm_90a"};
  const llvm::ArrayRef<const char *> targets = kTargets;
  const bool takesTurns = !std::getenv("KERNELC_INOUTS_STEP");
  Compiler compiler;
  std::vector<Compiled> batch;
  uint64_t count = 0;
  for (uint64_t n = first; n < countOf(length); n += step) {
    batch.push_back(compiler.compile(sequenceOf(length, n), takesTurns ? targets.slice(count % 2, 1) : targets));
    ++count;
    if (batch.size() == kBatch || n + step >= countOf(length)) {
      runBatch(batch);
      batch.clear();
    }
  }
  std::printf("%llu sequences of %d statements\n", static_cast<unsigned long long>(count), length);
}

// Shares, so that a test runner has something to share out.
class Inouts : public ::testing::TestWithParam<uint64_t> {};
constexpr uint64_t kShares = 4;

TEST_P(Inouts, TwoStatements) { runAll(2, GetParam(), kShares); }

TEST_P(Inouts, ThreeStatements) {
  const char *given = std::getenv("KERNELC_INOUTS_STEP");
  // One that shares no factor with their number: all writes and reads come in all places.
  uint64_t step = given ? std::strtoull(given, nullptr, 10) : 97;
  ASSERT_GT(step, 0u);
  // Processes that share the work: n of them with a step of n, each with another first one below n.
  const char *first = std::getenv("KERNELC_INOUTS_FIRST");
  runAll(3, (first ? std::strtoull(first, nullptr, 10) : 0) + GetParam() * step, kShares * step);
}

INSTANTIATE_TEST_SUITE_P(Sequences, Inouts, ::testing::Range<uint64_t>(0, kShares));

} // namespace
} // namespace kernelc::inouts
