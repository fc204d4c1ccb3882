// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Examples compiled for a target, with arguments of small awkward sizes: what the
// tests that run whole examples on the emulator share.
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <sstream>

#include "driver/compile/Compiler.h"
#include "driver/compile/Registration.h"
#include "driver/compile/ScheduleFile.h"
#include "emulator/RunKernel.h"
#include "frontend/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "reference/Check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::emulator {

struct Case {
  std::string file, kernel, target;
  bool general = false;
  /// If not empty, all sizes by name: compiled as a session would for dense tensors of them.
  std::map<std::string, int64_t> sizes = {};
  std::string precision = {}; ///< the caller's policy, as contract=tf32
};

inline void PrintTo(const Case &c, std::ostream *os) { *os << c.kernel << " " << c.target; }

inline std::string readFile(const std::string &path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

/// `text` with every tensor of f32 made one of `type`.
inline std::string withTensorsOf(std::string text, const std::string &type) {
  for (size_t at = 0; (at = text.find("f32[", at)) != std::string::npos; at += type.size())
    text.replace(at, 3, type);
  return text;
}

/// Kernels of one file, by its `def` lines.
inline std::vector<std::string> kernelsOf(const std::string &text) {
  std::vector<std::string> names;
  std::stringstream s(text);
  for (std::string line; std::getline(s, line);)
    if (line.rfind("def ", 0) == 0)
      names.push_back(line.substr(4, line.find('(') - 4));
  return names;
}

inline std::vector<Case> allCases() {
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

/// With `specials`, some floats are infinite, NaN, zeros of either sign, or very small.
inline void fill(TensorView view, std::mt19937 &random, bool specials = false) {
  size_t n = size_t(view.numElements());
  auto real = [&] {
    const float kSpecials[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1e-41f, 1e30f};
    if (specials && random() % 5 == 0)
      return kSpecials[random() % std::size(kSpecials)];
    return float(int(random() % 2001) - 1000) / 1000.0f;
  };
  for (size_t i = 0; i < n; i++) {
    switch (view.type) {
    case ElementType::f64: static_cast<double *>(view.data)[i] = real(); break;
    case ElementType::f32: static_cast<float *>(view.data)[i] = real(); break;
    case ElementType::f16: static_cast<uint16_t *>(view.data)[i] = toF16(real()); break;
    case ElementType::bf16: static_cast<uint16_t *>(view.data)[i] = toBF16(real()); break;
    case ElementType::f8e4m3: static_cast<uint8_t *>(view.data)[i] = toF8E4M3(real()); break;
    case ElementType::f8e5m2: static_cast<uint8_t *>(view.data)[i] = toF8E5M2(real()); break;
    case ElementType::i64:
    case ElementType::u64: static_cast<int64_t *>(view.data)[i] = random() % 3; break;
    case ElementType::i32:
    case ElementType::u32: static_cast<int32_t *>(view.data)[i] = int32_t(random() % 3); break;
    case ElementType::i16:
    case ElementType::u16: static_cast<int16_t *>(view.data)[i] = int16_t(random() % 3); break;
    case ElementType::boolean: static_cast<uint8_t *>(view.data)[i] = random() & 1; break;
    case ElementType::i4:
    case ElementType::u4:
      static_cast<uint8_t *>(view.data)[i / 2] = uint8_t(random()); // both of its byte
      break;
    default: static_cast<uint8_t *>(view.data)[i] = uint8_t(random() % 3); break;
    }
  }
}

/// One kernel of an example with its oracle; `skip` says why it could not be compiled.
struct CompiledExample {
  Kernel kernel;
  std::unique_ptr<reference::ReferenceKernel> oracle;
  std::string error, skip;
  const Variant &variant() const { return kernel.variants.front(); }
};

/// What a session would assume of dense, aligned tensors of these sizes.
inline VariantOptions optionsForSizes(const Kernel &kernel, const std::map<std::string, int64_t> &byName) {
  VariantOptions options;
  std::vector<int64_t> sizes;
  for (const SizeRecipe &r : kernel.sizes)
    sizes.push_back(r.constant ? *r.constant : byName.at(r.name));
  options.facts = factsFor(kernel, sizes);
  for (const Param &p : kernel.params) {
    int64_t elements = 1;
    for (const SizeExpr &d : p.dims)
      elements *= d.evaluate({sizes});
    options.index32 &= elements < int64_t(1) << 30;
  }
  return options;
}

/// The schedule file to compile a kernel of `module` with, or "".
using ScheduleFor = std::function<std::string(mlir::ModuleOp module, const VariantOptions &options)>;

inline CompiledExample compileText(const std::string &text, const std::string &fileName, const Case &c,
                                   const ScheduleFor &scheduleFor = {}) {
  CompiledExample e;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.disableMultithreading();
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) { diagnostics += d.str() + "\n"; });
  frontend::ImportOptions import;
  import.kernel = c.kernel;
  auto module = frontend::importKc(context, text, fileName, import);
  if (!module) {
    e.error = diagnostics;
    return e;
  }
  PrecisionPolicy policy;
  if (absl::Status s = c.precision.empty() ? absl::OkStatus() : addPrecision(policy, c.precision); !s.ok()) {
    e.error = s.ToString();
    return e;
  }
  if (mlir::failed(applyPrecision(*module, policy))) {
    e.error = diagnostics;
    return e;
  }
  auto kernel = describeKernel(*module, c.kernel);
  if (!kernel.ok()) {
    e.error = kernel.status().ToString();
    return e;
  }
  VariantOptions options;
  if (!c.sizes.empty())
    options = optionsForSizes(*kernel, c.sizes);
  else if (!c.general)
    options.facts = denseFacts(*kernel);
  options.target = c.target;
  std::string schedule = scheduleFor ? scheduleFor(*module, options) : "";
  if (!schedule.empty())
    if (absl::Status attached = attachSchedules(*module, schedule, "schedule", c.kernel); !attached.ok()) {
      e.skip = attached.ToString();
      return e;
    }
  if (absl::Status added = addVariant(*module, options, *kernel); !added.ok()) {
    e.skip = added.ToString() + "\n" + diagnostics;
    return e;
  }
  for (te::KernelOp op : module->getOps<te::KernelOp>())
    if (op.getName() == c.kernel) {
      auto oracle = reference::ReferenceKernel::compile(op, reference::Arithmetic::F64WithError);
      if (oracle.ok())
        e.oracle = std::move(*oracle);
      else
        e.error = oracle.status().ToString();
    }
  e.kernel = *std::move(kernel);
  return e;
}

inline CompiledExample compileExample(const Case &c) {
  return compileText(readFile(c.file), std::filesystem::path(c.file).filename().string(), c);
}

/// The first run of a kernel on the emulator that is not as it should be.
struct Difference {
  std::string kind;  ///< "" for none, "values", the kind of a finding, "no sizes", "status"
  std::string sizes; ///< "M=3 N=17 "
  std::string text;
};
/// Runs the kernel on the emulator for each of `count` sets of sizes (or for `only`): whether
/// there are findings and whether every output is within the oracle's bound.
Difference findDifference(const CompiledExample &e, unsigned seed, int count, const std::map<std::string, int64_t> &only = {},
                          bool specials = false);

/// The same as text: empty when there is none.
inline std::string compareWithOracle(const CompiledExample &e, unsigned seed, int count) {
  Difference d = findDifference(e, seed, count);
  return d.kind.empty() ? "" : d.sizes + "\n" + d.text;
}

/// Arguments with memory of their own.
struct ExampleArguments {
  std::vector<std::vector<uint64_t>> storage;
  RunArguments args;
  std::string sizes; ///< "M=3 N=17 "
};

/// Which sizes and values.
struct Picks {
  std::map<std::string, int64_t> only = {}; ///< if not empty: these sizes
  bool specials = false;                    ///< values as fill() has them
  double maxWork = 4e6;                     ///< of the product of all sizes
  bool mayBeEmpty = false;                  ///< extents may be 0
};

/// Up to `count` sets of sizes that satisfy the guard and every require.
inline std::vector<std::unique_ptr<ExampleArguments>> pickArguments(const CompiledExample &e, unsigned seed, int count,
                                                                    const Picks &picks = {}) {
  const auto &[only, specials, maxWork, mayBeEmpty] = picks;
  std::vector<std::unique_ptr<ExampleArguments>> picked;
  std::mt19937 random(seed);
  const int64_t extents[] = {1, 2, 3, 5, 7, 8, 16, 17, 24, 31, 32, 33, 40, 64, 65, 72, 136, 200};
  for (int attempt = 0; attempt < (only.empty() ? 5000 : 1) && int(picked.size()) < count; attempt++) {
    auto a = std::make_unique<ExampleArguments>();
    std::vector<int64_t> &sizes = a->args.sizes;
    double work = 1; // at least the product of all sizes, in whole tiles
    for (const SizeRecipe &r : e.kernel.sizes) {
      size_t choices = e.kernel.sizes.size() > 3 ? 9 : std::size(extents);
      sizes.push_back(r.constant ? *r.constant : extents[random() % choices]);
      // Guards ask for multiples of 16 bytes; where nothing else is legal, requirements for more.
      int64_t multiple = attempt % 2 == 0 ? 1 : attempt > 2500 && random() % 2 ? 128 : attempt > 500 && attempt % 4 == 1 ? 32 : 8;
      if (!r.constant)
        sizes.back() = (sizes.back() + multiple - 1) / multiple * multiple;
      if (auto given = only.find(r.name); given != only.end() && !r.constant)
        sizes.back() = given->second;
      work *= double(sizes.back());
      a->sizes += r.name + "=" + std::to_string(sizes.back()) + " ";
    }
    if (only.empty() && work > std::min(sizes.size() > 4 ? 5e4 : 4e6, maxWork))
      continue;
    SizeEnv env{sizes, 3, {}};
    bool legal = e.variant().guard.empty() || e.variant().guard.evaluate(env);
    for (const Require &r : e.kernel.requires_)
      legal &= r.condition.evaluate(env) != 0;
    for (const Param &p : e.kernel.params) {
      TensorView v{nullptr, p.type, {}, {}};
      for (const SizeExpr &d : p.dims) {
        v.shape.push_back(d.evaluate(env));
        legal &= v.shape.back() >= (mayBeEmpty ? 0 : 1);
      }
      v.strides = denseStrides(v.shape);
      a->args.params.push_back(v);
    }
    if (!legal)
      continue;
    for (TensorView &v : a->args.params) {
      a->storage.emplace_back(size_t(v.numElements()) + 2);
      v.data = a->storage.back().data();
      fill(v, random, specials);
    }
    picked.push_back(std::move(a));
  }
  return picked;
}

/// Runs the kernel with each of `runs`.
inline Difference findDifference(const CompiledExample &e, const KernelRunner &runner,
                                 const std::vector<std::unique_ptr<ExampleArguments>> &runs) {
  if (runs.empty())
    return {"no sizes", "", "no sizes satisfy the guard " + e.variant().guardText};
  for (auto &run : runs) {
    auto before = run->storage;
    auto report = runner.run(run->args);
    if (!report.ok())
      return {"status", run->sizes, report.status().ToString()};
    if (!report->ok())
      return {findingKindName(report->findings[0].kind), run->sizes, report->toString()};
    std::vector<TensorView> ins, outs;
    for (size_t i = 0; i < e.kernel.params.size(); i++) {
      TensorView v = run->args.params[i];
      ParamKind kind = e.kernel.params[i].kind;
      if (kind != ParamKind::Input && kind != ParamKind::Scalar)
        outs.push_back(v);
      if (kind != ParamKind::Output) {
        v.data = before[i].data();
        ins.push_back(v);
      }
    }
    auto check = reference::checkOutputs(*e.oracle, run->args.sizes, ins, outs);
    if (!check.ok())
      return {"status", run->sizes, check.status().ToString()};
    if (check->failed())
      return {"values", run->sizes, check->toString()};
  }
  return {};
}

inline Difference findDifference(const CompiledExample &e, unsigned seed, int count, const std::map<std::string, int64_t> &only,
                                 bool specials) {
  auto runner = KernelRunner::create(e.kernel, e.variant());
  if (!runner.ok())
    return {"status", "", runner.status().ToString()};
  return findDifference(e, *runner, pickArguments(e, seed, count, {only, specials}));
}

} // namespace kernelc::emulator
