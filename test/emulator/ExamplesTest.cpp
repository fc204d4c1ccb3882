// Every example, compiled for sm_80 and sm_90a, on the emulator at small awkward
// sizes: no findings, and every output within the oracle's bound. The seed of
// sizes and data is in the test's name.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "driver/Compiler.h"
#include "driver/Registration.h"
#include "emulator/RunKernel.h"
#include "frontend/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "reference/Check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::emulator {
namespace {

struct Case {
  std::string file, kernel, target;
  bool general = false;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.kernel << " " << c.target; }

std::string readFile(const std::string &path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

/// Kernels of one file, by its `def` lines.
std::vector<std::string> kernelsOf(const std::string &text) {
  std::vector<std::string> names;
  std::stringstream s(text);
  for (std::string line; std::getline(s, line);)
    if (line.rfind("def ", 0) == 0)
      names.push_back(line.substr(4, line.find('(') - 4));
  return names;
}

std::vector<Case> allCases() {
  std::vector<std::string> files;
  for (auto &entry : std::filesystem::directory_iterator(KERNELC_EXAMPLES))
    if (entry.path().extension() == ".kc")
      files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const std::string &f : files)
    for (const std::string &k : kernelsOf(readFile(f)))
      for (const char *target : {"sm_90a", "sm_80"})
        for (bool general : {false, true})
          if (!general || std::string(target) == "sm_80")
            cases.push_back({f, k, target, general});
  return cases;
}

void fill(TensorView view, std::mt19937 &random) {
  size_t n = size_t(view.numElements());
  auto real = [&] { return float(int(random() % 2001) - 1000) / 1000.0f; };
  for (size_t i = 0; i < n; i++) {
    switch (view.type) {
    case ElementType::f64:
      static_cast<double *>(view.data)[i] = real();
      break;
    case ElementType::f32:
      static_cast<float *>(view.data)[i] = real();
      break;
    case ElementType::f16:
      static_cast<uint16_t *>(view.data)[i] = toF16(real());
      break;
    case ElementType::bf16:
      static_cast<uint16_t *>(view.data)[i] = toBF16(real());
      break;
    case ElementType::f8e4m3:
      static_cast<uint8_t *>(view.data)[i] = toF8E4M3(real());
      break;
    case ElementType::f8e5m2:
      static_cast<uint8_t *>(view.data)[i] = toF8E5M2(real());
      break;
    case ElementType::i64:
    case ElementType::u64:
      static_cast<int64_t *>(view.data)[i] = random() % 3;
      break;
    case ElementType::i32:
    case ElementType::u32:
      static_cast<int32_t *>(view.data)[i] = int32_t(random() % 3);
      break;
    case ElementType::i16:
    case ElementType::u16:
      static_cast<int16_t *>(view.data)[i] = int16_t(random() % 3);
      break;
    case ElementType::boolean:
      static_cast<uint8_t *>(view.data)[i] = random() & 1;
      break;
    default:
      static_cast<uint8_t *>(view.data)[i] = uint8_t(random() % 3);
      break;
    }
  }
}

class Examples : public ::testing::TestWithParam<Case> {};

TEST_P(Examples, AgreeWithTheOracleWithoutFindings) {
  const Case &c = GetParam();
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.disableMultithreading();
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &d) { diagnostics += d.str() + "\n"; });
  frontend::ImportOptions import;
  import.kernel = c.kernel;
  auto module = frontend::importKc(context, readFile(c.file),
                                   std::filesystem::path(c.file).filename().string(), import);
  ASSERT_TRUE(module) << diagnostics;
  auto kernel = describeKernel(*module, c.kernel);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  VariantOptions options;
  options.target = c.target;
  if (!c.general)
    options.facts = denseFacts(*kernel);
  absl::Status added = addVariant(*module, options, *kernel);
  if (!added.ok()) // a diagnostic is an answer, a crash is not
    GTEST_SKIP() << "the compiler does not support it yet: " << added << diagnostics;
  const Variant &variant = kernel->variants.front();
  te::KernelOp op;
  for (te::KernelOp k : module->getOps<te::KernelOp>())
    if (k.getName() == c.kernel)
      op = k;
  ASSERT_TRUE(op);
  auto oracle = reference::ReferenceKernel::compile(op, reference::Arithmetic::F64WithError);
  ASSERT_TRUE(oracle.ok()) << oracle.status();
  EmulatorOptions emulator;
  auto runner = KernelRunner::create(*kernel, variant, emulator);
  ASSERT_TRUE(runner.ok()) << runner.status();

  std::mt19937 random(20251121);
  const int64_t extents[] = {1, 2, 3, 5, 7, 8, 16, 17, 24, 31, 32, 33, 40, 64, 65, 72, 136, 200};
  int runs = 0;
  for (int attempt = 0; attempt < 3000 && runs < 3; attempt++) {
    emulator.seed = unsigned(runs);
    std::vector<int64_t> sizes;
    for (const SizeRecipe &r : kernel->sizes)
      sizes.push_back(
          r.constant ? *r.constant
                     : extents[random() % (kernel->sizes.size() > 3 ? 9 : std::size(extents))]);
    // The work is at least the product of all sizes, in whole tiles.
    double work = 1;
    for (int64_t n : sizes)
      work *= double(n);
    if (work > (sizes.size() > 4 ? 5e4 : 4e6))
      continue;
    SizeEnv env{sizes, emulator.smCount, {}};
    bool legal = variant.guard.empty() || variant.guard.evaluate(env);
    for (const Require &r : kernel->requires_)
      legal &= r.condition.evaluate(env) != 0;
    std::vector<std::vector<uint64_t>> storage;
    RunArguments args;
    int64_t total = 0;
    for (const Param &p : kernel->params) {
      TensorView v{nullptr, p.type, {}, {}};
      for (const SizeExpr &d : p.dims) {
        v.shape.push_back(d.evaluate(env));
        legal &= v.shape.back() > 0;
      }
      v.strides = denseStrides(v.shape);
      total += legal ? v.numElements() : 0;
      args.params.push_back(v);
    }
    if (!legal || total > 200000)
      continue;
    for (TensorView &v : args.params) {
      storage.emplace_back(size_t(v.numElements()) + 2);
      v.data = storage.back().data();
      fill(v, random);
    }
    std::vector<std::vector<uint64_t>> before = storage;
    std::string shape;
    for (size_t i = 0; i < sizes.size(); i++)
      shape += kernel->sizes[i].name + "=" + std::to_string(sizes[i]) + " ";
    args.sizes = sizes;
    auto report = runner->run(args);
    ASSERT_TRUE(report.ok()) << shape << report.status();
    ASSERT_TRUE(report->ok()) << shape << "\n" << report->toString() << "\n" << variant.cudaText;
    std::vector<TensorView> ins, outs;
    for (size_t i = 0; i < kernel->params.size(); i++) {
      TensorView v = args.params[i];
      if (kernel->params[i].kind != ParamKind::Input && kernel->params[i].kind != ParamKind::Scalar)
        outs.push_back(v);
      if (kernel->params[i].kind != ParamKind::Output) {
        v.data = before[i].data();
        ins.push_back(v);
      }
    }
    auto check = reference::checkOutputs(**oracle, sizes, ins, outs);
    ASSERT_TRUE(check.ok()) << shape << check.status();
    ASSERT_TRUE(check->passed()) << shape << "\n" << check->toString();
    runs++;
  }
  EXPECT_GT(runs, 0) << "no sizes satisfy the guard " << variant.guardText;
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(allCases()), [](const auto &info) {
  return info.param.kernel + "_" + info.param.target + (info.param.general ? "_general" : "") +
         "_seed20251121";
});

} // namespace
} // namespace kernelc::emulator
