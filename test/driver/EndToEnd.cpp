// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EndToEnd.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "driver/compile/Compiler.h"
#include "driver/compile/Registration.h"
#include "driver/compile/ScheduleFile.h"
#include "emulator/RunKernel.h"
#include "frontend/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "reference/Reference.h"
#include "support/TensorLayout.h"

namespace kernelc::test {
namespace {

struct Buffer {
  std::vector<uint8_t> bytes;
  TensorView view;
  int64_t first = 0;      ///< element [0, .., 0]
  uint32_t placement = 0; ///< of it, see RunArguments
};

double read(const TensorView &v, int64_t i) {
  switch (v.type) {
  case ElementType::f64: return static_cast<double *>(v.data)[i];
  case ElementType::f32: return static_cast<float *>(v.data)[i];
  case ElementType::f16: return fromF16(static_cast<uint16_t *>(v.data)[i]);
  case ElementType::bf16: return fromBF16(static_cast<uint16_t *>(v.data)[i]);
  case ElementType::f8e4m3: return fromF8E4M3(static_cast<uint8_t *>(v.data)[i]);
  case ElementType::f8e5m2: return fromF8E5M2(static_cast<uint8_t *>(v.data)[i]);
  case ElementType::i64: return double(static_cast<int64_t *>(v.data)[i]);
  case ElementType::u64: return double(static_cast<uint64_t *>(v.data)[i]);
  case ElementType::i32: return static_cast<int32_t *>(v.data)[i];
  case ElementType::u32: return static_cast<uint32_t *>(v.data)[i];
  case ElementType::i16: return static_cast<int16_t *>(v.data)[i];
  case ElementType::u16: return static_cast<uint16_t *>(v.data)[i];
  case ElementType::i8: return static_cast<int8_t *>(v.data)[i];
  case ElementType::u4:
  case ElementType::i4: {
    int nibble = static_cast<uint8_t *>(v.data)[i / 2] >> (i % 2 * 4) & 15;
    return v.type == ElementType::i4 && nibble > 7 ? nibble - 16 : nibble;
  }
  default: return static_cast<uint8_t *>(v.data)[i];
  }
}

void write(const TensorView &v, int64_t i, double x) {
  switch (v.type) {
  case ElementType::f64: static_cast<double *>(v.data)[i] = x; break;
  case ElementType::f32: static_cast<float *>(v.data)[i] = float(x); break;
  case ElementType::f16: static_cast<uint16_t *>(v.data)[i] = toF16(x); break;
  case ElementType::bf16: static_cast<uint16_t *>(v.data)[i] = toBF16(x); break;
  case ElementType::f8e4m3: static_cast<uint8_t *>(v.data)[i] = toF8E4M3(x); break;
  case ElementType::f8e5m2: static_cast<uint8_t *>(v.data)[i] = toF8E5M2(x); break;
  case ElementType::i64:
  case ElementType::u64: static_cast<int64_t *>(v.data)[i] = int64_t(x); break;
  case ElementType::i32:
  case ElementType::u32: static_cast<int32_t *>(v.data)[i] = int32_t(x); break;
  case ElementType::i16:
  case ElementType::u16: static_cast<int16_t *>(v.data)[i] = int16_t(x); break;
  case ElementType::u4:
  case ElementType::i4: {
    uint8_t &byte = static_cast<uint8_t *>(v.data)[i / 2];
    int shift = int(i % 2) * 4;
    byte = uint8_t((byte & ~(15 << shift)) | (int(x) & 15) << shift);
    break;
  }
  default: static_cast<int8_t *>(v.data)[i] = int8_t(x); break;
  }
}

bool isPacked(ElementType type) { return elementBits(type) < 8; }
int64_t unitBytes(ElementType type) { return std::max(8, elementBits(type)) / 8; }

/// Elements from [0, .., 0] to the element with row-major number i.
int64_t offsetOf(const TensorView &v, int64_t i) {
  int64_t offset = 0;
  for (size_t d = v.shape.size(); d-- > 0; i /= v.shape[d])
    offset += i % v.shape[d] * v.strides[d];
  return offset;
}

Buffer makeBuffer(ElementType type, std::vector<int64_t> shape, const std::string &layout = "") {
  Buffer b;
  TensorView &v = b.view;
  v.type = type;
  v.shape = shape;
  v.strides = denseStrides(shape);
  size_t rank = shape.size();
  if (layout == "rows") {
    int64_t unit = 128 / elementBits(type), row = shape.back() / unit * unit + 2 * unit;
    for (size_t d = rank - 1; d-- > 0; row *= shape[d])
      v.strides[d] = row;
  } else if (layout == "step") {
    for (int64_t &s : v.strides)
      s *= 2;
  } else if (layout == "transposed") {
    int64_t stride = 1;
    for (size_t d = 0; d < rank; stride *= shape[d++])
      v.strides[d] = stride;
  } else if (layout == "reversed") {
    v.strides.back() = -1;
    b.first = shape.back() - 1;
  } else if (layout == "repeated") {
    v.strides[0] = 0;
  } else if (layout == "shifted") {
    b.placement = uint32_t(unitBytes(type));
  }
  int64_t last = b.first + 1;
  for (size_t d = 0; d < rank; ++d)
    last += std::max<int64_t>(0, (shape[d] - 1) * v.strides[d]);
  b.bytes.assign(isPacked(type) ? size_t(last + 1) / 2 : size_t(last * unitBytes(type)), 0xff); // poison
  return b;
}

/// Small multiples of 1/4: exact in every float type, so that sums of products
/// differ only where the program really rounds.
void fillRandom(Buffer &b, uint32_t seed, bool fine) {
  b.view.data = b.bytes.data() + b.first * unitBytes(b.view.type);
  std::mt19937 rng(seed);
  for (int64_t i = 0, n = b.view.numElements(); i < n; ++i) {
    int v = int(rng() % 17) - 8;
    int64_t at = offsetOf(b.view, i);
    if (b.view.type == ElementType::i8 || b.view.type == ElementType::u8)
      static_cast<uint8_t *>(b.view.data)[at] = uint8_t(rng());
    else if (b.view.type == ElementType::boolean)
      static_cast<uint8_t *>(b.view.data)[at] = rng() & 1;
    else if (fine && b.view.type == ElementType::f32)
      write(b.view, at, double(rng()) / 0x1p30 - 2);
    else
      write(b.view, at, isFloat(b.view.type) ? v / 4.0 : isUnsignedInteger(b.view.type) ? v + 8 : v);
  }
}

/// Bytes that belong to no element of an output still hold the poison.
bool gapsUntouched(Buffer b) {
  int64_t elements = b.view.numElements();
  if (isPacked(b.view.type)) { // and what stands behind the last of an odd number of them
    TensorView bytes{b.bytes.data(), b.view.type, b.view.shape, b.view.strides};
    for (int64_t i = 0; i < elements; ++i)
      write(bytes, offsetOf(bytes, i), -1);
    if (elements % 2)
      write(bytes, elements, -1);
    elements = 0;
  }
  for (int64_t i = 0; i < elements; ++i)
    std::memset(b.bytes.data() + (b.first + offsetOf(b.view, i)) * unitBytes(b.view.type), 0xff, size_t(unitBytes(b.view.type)));
  return std::all_of(b.bytes.begin(), b.bytes.end(), [](uint8_t x) { return x == 0xff; });
}

double tolerance(ElementType t) {
  switch (t) {
  case ElementType::f64: return 1e-12;
  case ElementType::f32: return 2e-5;
  case ElementType::f16: return 2e-3;
  case ElementType::bf16: return 1e-2;
  case ElementType::f8e4m3: return 0.13;
  case ElementType::f8e5m2: return 0.26;
  default: return 0;
  }
}

/// A case on its way: imported, and compiled for its sizes.
struct Compiled {
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Kernel kernel;
  std::vector<int64_t> sizes;
};

/// What went wrong, or an empty string.
std::string compileCase(const Case &c, Compiled &to) {
  registerDialects(to.registry);
  to.context = std::make_unique<mlir::MLIRContext>(to.registry, mlir::MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(to.context.get(), [&](mlir::Diagnostic &d) {
    absl::StrAppend(&diagnostics, d.str(), "\n");
    return mlir::success();
  });
  frontend::ImportOptions import;
  import.kernel = c.kernel;
  to.module = c.isMlir ? mlir::parseSourceString<mlir::ModuleOp>(c.text, to.context.get())
                       : frontend::importKc(*to.context, c.text, "test.kc", import);
  if (!to.module)
    return "import: " + diagnostics;
  if (!c.schedule.empty())
    if (absl::Status s = attachSchedules(*to.module, c.schedule, "schedule", c.kernel); !s.ok())
      return s.ToString();
  PrecisionPolicy policy;
  if (!c.precision.empty())
    if (absl::Status s = addPrecision(policy, c.precision); !s.ok())
      return s.ToString();
  if (mlir::failed(applyPrecision(*to.module, policy)))
    return "precision: " + diagnostics;
  auto kernel = describeKernel(*to.module, c.kernel);
  if (!kernel.ok())
    return kernel.status().ToString();
  to.kernel = *kernel;
  for (const SizeRecipe &r : to.kernel.sizes) {
    auto it = c.sizes.find(r.name);
    if (it == c.sizes.end())
      return "no value for size " + r.name;
    to.sizes.push_back(it->second);
  }
  VariantOptions options;
  options.target = c.target;
  if (c.specialise)
    options.facts = factsFor(to.kernel, to.sizes);
  if (c.general)
    options.params = generalParams(to.kernel);
  else if (!c.layouts.empty())
    for (const Param &p : to.kernel.params) {
      auto it = c.layouts.find(p.name);
      std::vector<int64_t> shape;
      for (const SizeExpr &d : p.dims)
        shape.push_back(d.evaluate({to.sizes}));
      Buffer b = makeBuffer(p.type, shape, it == c.layouts.end() ? "" : it->second);
      options.params.push_back(narrowestGuard(p.kind, p.type, shape, b.view.strides, b.placement ? b.placement : 16));
    }
  if (absl::Status s = addVariant(*to.module, options, to.kernel); !s.ok())
    return s.ToString() + "\n" + diagnostics;
  return "";
}

} // namespace

std::string cudaTextOf(const Case &c) {
  Compiled compiled;
  std::string wrong = compileCase(c, compiled);
  return wrong.empty() ? compiled.kernel.variants[0].cudaText : wrong;
}

std::string runCase(const Case &c) {
  Compiled compiled;
  if (std::string wrong = compileCase(c, compiled); !wrong.empty())
    return wrong;
  auto &module = compiled.module;
  Kernel *kernel = &compiled.kernel;
  const std::vector<int64_t> &sizes = compiled.sizes;
  SizeEnv env{sizes, 3, {}};
  std::vector<Buffer> device, host;
  std::vector<TensorView> inputs, hostOuts;
  std::vector<size_t> outParams;
  for (size_t i = 0; i < kernel->params.size(); ++i) {
    const Param &p = kernel->params[i];
    std::vector<int64_t> shape;
    for (const SizeExpr &d : p.dims)
      shape.push_back(d.evaluate(env));
    auto layout = c.layouts.find(p.name);
    device.push_back(makeBuffer(p.type, shape, layout == c.layouts.end() ? "" : layout->second));
    host.push_back(makeBuffer(p.type, shape));
    if (p.kind != ParamKind::Output) {
      fillRandom(device[i], uint32_t(i + 1), c.fine);
      if (auto given = c.values.find(p.name); given != c.values.end())
        for (int64_t e = 0; e < device[i].view.numElements(); ++e)
          if (p.type == ElementType::i64)
            static_cast<int64_t *>(device[i].view.data)[offsetOf(device[i].view, e)] = given->second.at(size_t(e));
          else
            write(device[i].view, offsetOf(device[i].view, e), double(given->second.at(size_t(e))));
      host[i].view.data = host[i].bytes.data();
      for (int64_t e = 0, n = device[i].view.numElements(), unit = unitBytes(p.type); e < n; ++e)
        if (isPacked(p.type))
          write(host[i].view, e, read(device[i].view, offsetOf(device[i].view, e)));
        else
          std::memcpy(host[i].bytes.data() + e * unit, device[i].bytes.data() + (device[i].first + offsetOf(device[i].view, e)) * unit,
                      size_t(unit));
    }
    if (p.kind == ParamKind::Output || p.kind == ParamKind::InOut)
      outParams.push_back(i);
  }
  for (size_t i = 0; i < device.size(); ++i) {
    device[i].view.data = device[i].bytes.data() + device[i].first * unitBytes(device[i].view.type);
    host[i].view.data = host[i].bytes.data();
    if (kernel->params[i].kind != ParamKind::Output)
      inputs.push_back(host[i].view);
  }
  te::KernelOp op;
  for (auto k : module->getOps<te::KernelOp>())
    if (k.getSymName() == kernel->name)
      op = k;
  auto reference = reference::ReferenceKernel::compile(op, reference::Arithmetic::Own);
  if (!reference.ok())
    return "reference: " + reference.status().ToString();
  // Outputs in source order: an inout's memory, or the next pure output.
  int64_t next = int64_t(op.getBlock().getNumArguments());
  std::vector<size_t> outs;
  for (unsigned o = 0; o < op.getOutNames().size(); ++o)
    outs.push_back(op.getAlias(o) >= 0 ? size_t(op.getAlias(o)) : size_t(next++));
  for (size_t o : outs)
    hostOuts.push_back(host[o].view);
  if (absl::Status s = (*reference)->run(sizes, inputs, hostOuts); !s.ok())
    return "reference: " + s.ToString();

  emulator::RunArguments args;
  for (Buffer &b : device) {
    args.params.push_back(b.view);
    args.placement.push_back(b.placement);
  }
  if (kernel->variants[0].cudaText.find(c.expect) == std::string::npos)
    return "there is no '" + c.expect + "' in\n" + kernel->variants[0].cudaText;
  args.sizes = sizes;
  auto report = emulator::runKernel(*kernel, kernel->variants[0], args);
  if (!report.ok())
    return "emulator: " + report.status().ToString() + "\n" + kernel->variants[0].cudaText;
  if (!report->findings.empty())
    return "emulator: " + report->findings[0].message + "\n" + kernel->variants[0].cudaText;
  for (size_t o : outParams) {
    if (!gapsUntouched(device[o]))
      return absl::StrCat("output ", kernel->params[o].name, ": something between its elements was written\n",
                          kernel->variants[0].cudaText);
    const TensorView &got = device[o].view, &want = host[o].view;
    for (int64_t i = 0, n = got.numElements(); i < n; ++i) {
      double g = read(got, offsetOf(got, i)), w = read(want, i);
      bool same = (std::isnan(g) && std::isnan(w)) || g == w || std::fabs(g - w) <= tolerance(got.type) * std::max(1.0, std::fabs(w));
      if (!same)
        return absl::StrCat("output ", kernel->params[o].name, " element ", i, ": got ", g, ", want ", w, "\n",
                            kernel->variants[0].cudaText);
    }
  }
  return "";
}

} // namespace kernelc::test
