// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every example and every kernel of this folder at sizes where arithmetic on sizes goes wrong: 0, 1, 2, and the
// numbers around 2^31. Each size in turn, fixed alone, fixed with all others, and given at the call; for sm_80 and sm_90a,
// to CUDA text, C header and JSON. What comes out is text or a diagnostic, whatever the size: never a crash, never an internal
// error; with all sizes known it is text, of all that can exist. With 0 and 1 the kernels also run, on the CPU and on the emulator.
//
// CI takes a sample, always the same; KERNELC_SIZES_ALL=1 takes everything, KERNELC_SIZES_ALL=norms.kc all of a file.
#include <csignal>
#include <ctime>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "driver/compile/CudaHeader.h"
#include "driver/compile/Guard.h"
#include "support/ArtifactJson.h"
#include "test/conformance/ConformanceCases.h"

namespace kernelc::conformance {
namespace {

enum class Way { FixedAlone, FixedWithAll, Given };
constexpr Way kWays[] = {Way::FixedAlone, Way::FixedWithAll, Way::Given};
constexpr const char *kWayNames[] = {"fixed alone", "fixed with all", "given"};

struct SizeCase {
  std::string file, kernel, target;
  Way way;
  Sizes sizes; ///< all of the kernel's
  std::string size;
  int64_t value;

  std::string name() const {
    std::string others;
    for (const auto &[n, v] : sizes)
      absl::StrAppend(&others, " ", n, "=", v);
    return absl::StrCat(std::filesystem::path(file).filename().string(), " ", kernel, " ", target, " ", size, "=", value, " ",
                        kWayNames[int(way)], ":", others);
  }
};

bool takesAll() { return std::getenv("KERNELC_SIZES_ALL") != nullptr; }

/// Which case a crash belongs to.
std::string current;
void nameTheCrash(int signal) {
  [[maybe_unused]] auto n = ::write(2, current.data(), current.size());
  ::_exit(128 + signal);
}

/// The kernels of a text without any size fixed; empty where the text needs some fixed.
std::vector<Kernel> kernelsIn(const std::string &file) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) {});
  std::vector<Kernel> kernels;
  auto module = frontend::importKc(context, emulator::readFile(file), "file.kc", {});
  if (module)
    for (auto op : module->getOps<te::KernelOp>())
      kernels.push_back(*describeKernel(*module, op.getSymName().str()));
  return kernels;
}

/// Sizes for a kernel, small ones but for `size`, that its requirements and shapes allow; empty where there are none.
Sizes sizesWith(const Kernel &kernel, const std::string &size, int64_t value) {
  std::mt19937 random(uint32_t(value) + uint32_t(size.size()));
  // Of large ones there is enough as it is, and what runs has the product of all of them to do.
  const int64_t least = value > 2 ? 2 : kernel.sizes.size() > 4 ? 3 : kernel.sizes.size() > 3 ? 8 : 24;
  const int64_t kSmall[] = {least, 8, 4, 1, 3, 16, 32, 64, 128};
  for (int attempt = 0; attempt < 2000; ++attempt) {
    Sizes sizes;
    std::vector<int64_t> values;
    for (size_t i = 0; i < kernel.sizes.size(); ++i) {
      const std::string &name = kernel.sizes[i].name;
      size_t choice = attempt < int(std::size(kSmall)) ? size_t(attempt) : random() % std::size(kSmall);
      values.push_back(name == size ? value : kSmall[choice]);
      sizes[name] = values.back();
    }
    SizeEnv env{values, 1, {}};
    bool legal = true;
    for (const Require &r : kernel.requires_)
      legal &= r.condition.evaluate(env) != 0;
    for (const Param &p : kernel.params)
      for (const SizeExpr &d : p.dims)
        legal &= d.evaluate(env) >= 0;
    if (legal)
      return sizes;
  }
  return {};
}

std::vector<SizeCase> casesOf(std::initializer_list<int64_t> values) {
  std::vector<std::string> files = conformanceFiles();
  for (auto &entry : std::filesystem::directory_iterator(KERNELC_EXAMPLES))
    if (entry.path().extension() == ".kc")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  if (const char *only = std::getenv("KERNELC_SIZES_ALL"); only && std::string(only) != "1")
    std::erase_if(files, [&](const std::string &f) { return f.find(only) == std::string::npos; });
  std::vector<SizeCase> cases;
  for (const std::string &file : files)
    for (const Kernel &kernel : kernelsIn(file))
      for (const SizeRecipe &size : kernel.sizes)
        for (int64_t value : values)
          if (Sizes sizes = sizesWith(kernel, size.name, value); !sizes.empty())
            for (const char *target : {"sm_80", "sm_90a"})
              for (Way way : kWays)
                cases.push_back({file, kernel.name, target, way, sizes, size.name, value});
  return cases;
}

/// About one in `every` of them, spread over files, targets and ways; all on request.
std::vector<SizeCase> sampleOf(std::vector<SizeCase> cases, uint32_t every) {
  std::vector<SizeCase> sample;
  for (size_t i = 0; i < cases.size(); ++i)
    if (takesAll() || (uint32_t(i) * 2654435761u >> 12) % every == 0)
      sample.push_back(std::move(cases[i]));
  return sample;
}

struct Compiled {
  emulator::CompiledExample example;
  std::unique_ptr<reference::ReferenceKernel> cpu;
  std::string diagnostics;
  absl::Status status;
};

/// As `kernelc compile` and a session do it.
Compiled compile(const SizeCase &c, bool runs) {
  Compiled out;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      absl::StrAppend(&out.diagnostics, d.str(), "\n");
  });
  frontend::ImportOptions import;
  import.kernel = c.kernel;
  for (const auto &[name, value] : c.sizes)
    if (c.way == Way::FixedWithAll || (c.way == Way::FixedAlone && name == c.size))
      import.constants[name] = value;
  auto module = frontend::importKc(context, emulator::readFile(c.file), "file.kc", import);
  if (!module || mlir::failed(checkTensorsExist(*module)) || mlir::failed(applyPrecision(*module, {}))) {
    out.status = absl::InvalidArgumentError("import");
    return out;
  }
  Kernel kernel = *describeKernel(*module, c.kernel);
  VariantOptions options;
  options.mayWiden = c.way != Way::FixedAlone;
  if (c.way == Way::Given)
    options = emulator::optionsForSizes(kernel, c.sizes);
  else
    options.facts = denseFacts(kernel);
  options.mayWiden = c.way != Way::FixedAlone;
  options.target = c.target;
  out.status = addVariant(*module, options, kernel);
  if (!out.status.ok())
    return out;
  emitCudaHeader(kernel, std::vector<absl::string_view>(kernel.variants[0].launches.size()));
  out.status = artifactToJson({kernel}).status();
  out.example.kernel = std::move(kernel);
  if (!runs)
    return out;
  for (te::KernelOp op : module->getOps<te::KernelOp>()) {
    auto oracle = reference::ReferenceKernel::compile(op, reference::Arithmetic::F64WithError);
    auto cpu = reference::ReferenceKernel::compile(op, reference::Arithmetic::Own);
    out.status.Update(oracle.status());
    out.status.Update(cpu.status());
    if (out.status.ok()) {
      out.example.oracle = *std::move(oracle);
      out.cpu = *std::move(cpu);
    }
  }
  return out;
}

class SizesOfKernels : public ::testing::Test {
protected:
  void SetUp() override {
    for (int signal : {SIGFPE, SIGSEGV, SIGABRT})
      std::signal(signal, nameTheCrash);
  }
};

TEST_F(SizesOfKernels, AreTextOrADiagnostic) {
  constexpr int64_t k31 = int64_t(1) << 31;
  constexpr double kLongest = 20; // seconds of CPU: nothing is walked point by point
  int texts = 0, refused = 0;
  double longest = 0;
  std::map<std::string, int> reasons;
  for (const SizeCase &c : sampleOf(casesOf({0, 1, 2, k31 - 1, k31, k31 + 1}), 8)) {
    current = c.name() + "\n";
    std::clock_t start = std::clock();
    Compiled compiled = compile(c, /*runs=*/false);
    double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, kLongest) << c.name();
    longest = std::max(longest, seconds);
    if ((texts + refused) % 1000 == 999)
      std::cout << texts + refused + 1 << " .." << std::endl;
    if (compiled.status.ok()) {
      ++texts;
      continue;
    }
    ++refused;
    auto says = [&](const char *text) { return compiled.diagnostics.find(text) != std::string::npos; };
    const char *kNever = "no call can use this variant", *kImpossible = "cannot exist", *kBlocks = "blocks, and a GPU takes",
               *kSorts = "sorts fewer than 2^32 points";
    const char *reason = says(kNever) ? kNever : says(kImpossible) ? kImpossible : says(kBlocks) ? kBlocks : says(kSorts) ? kSorts : "else";
    ++reasons[reason];
    EXPECT_FALSE(absl::IsInternal(compiled.status)) << c.name() << "\n" << compiled.status;
    // Where all is known there is nothing that the compiler may assume and no call could have.
    EXPECT_TRUE(c.value > 2 &&
                (reason == kImpossible || reason == kBlocks || reason == kSorts || (reason == kNever && c.way == Way::FixedAlone)))
        << c.name() << "\n"
        << compiled.status << "\n"
        << compiled.diagnostics;
  }
  std::cout << texts << " texts, " << refused << " refused, the longest in " << longest << " s\n";
  for (const auto &[reason, count] : reasons)
    std::cout << count << " " << reason << "\n";
}

/// What is wrong with what the CPU computes in the program's own types; empty: nothing.
std::string runOnCpu(const Compiled &c, const emulator::ExampleArguments &run) {
  std::vector<std::vector<uint64_t>> storage = run.storage;
  std::vector<TensorView> before, ins, outs;
  for (size_t i = 0; i < run.args.params.size(); ++i) {
    TensorView v = run.args.params[i], copy = v;
    copy.data = storage[i].data();
    ParamKind kind = c.example.kernel.params[i].kind;
    if (kind != ParamKind::Output) {
      before.push_back(v);
      ins.push_back(copy);
    }
    if (kind != ParamKind::Input && kind != ParamKind::Scalar)
      outs.push_back(copy);
  }
  if (absl::Status s = c.cpu->run(run.args.sizes, ins, outs); !s.ok())
    return s.ToString();
  auto check = reference::checkOutputs(*c.example.oracle, run.args.sizes, before, outs);
  return !check.ok() ? check.status().ToString() : check->passed() ? "" : check->toString();
}

TEST_F(SizesOfKernels, ZeroAndOneRun) {
  std::vector<SizeCase> cases = sampleOf(casesOf({0, 1}), 48);
  constexpr size_t kBatch = 16; // share a host compilation
  int ran = 0;
  for (size_t first = 0; first < cases.size(); first += kBatch) {
    size_t count = std::min(kBatch, cases.size() - first);
    std::vector<Compiled> compiled;
    std::vector<emulator::KernelRunner::Text> texts;
    for (size_t i = 0; i < count; ++i) {
      current = cases[first + i].name() + "\n";
      compiled.push_back(compile(cases[first + i], /*runs=*/true));
    }
    for (Compiled &c : compiled)
      if (c.status.ok())
        texts.push_back({&c.example.kernel, &c.example.variant()});
    auto runners = emulator::KernelRunner::createAll(texts);
    for (size_t i = 0, n = 0; i < count; ++i) {
      const SizeCase &c = cases[first + i];
      SCOPED_TRACE(c.name());
      current = c.name() + "\n";
      ASSERT_TRUE(compiled[i].status.ok()) << compiled[i].status << compiled[i].diagnostics;
      auto &runner = runners[n++];
      ASSERT_TRUE(runner.ok()) << runner.status();
      auto runs = emulator::pickArguments(compiled[i].example, 20261125, 1, {.only = c.sizes, .mayBeEmpty = true});
      if (runs.empty()) // a guard asks for multiples that the others are not
        continue;
      ++ran;
      EXPECT_EQ(runOnCpu(compiled[i], *runs[0]), "");
      emulator::Difference d = emulator::findDifference(compiled[i].example, *runner, runs);
      EXPECT_EQ(d.kind, "") << d.sizes << "\n" << d.text << "\n" << compiled[i].example.variant().cudaText;
    }
  }
  std::cout << ran << " of " << cases.size() << " ran\n";
  EXPECT_GT(ran, int(cases.size()) / 2);
}

} // namespace
} // namespace kernelc::conformance
