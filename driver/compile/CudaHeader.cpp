// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/CudaHeader.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "codegen/Names.h"

namespace kernelc {
namespace {

/// What every header brings along; guarded, since several may meet in one file.
constexpr absl::string_view kSupport = R"(#ifndef KERNELC_HEADER_SUPPORT
#define KERNELC_HEADER_SUPPORT
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* What does not fit into 64 bits is the nearest number that does. Division and remainder floor; by zero they give 0. */
static inline int64_t kc_add(int64_t a, int64_t b) { return b > 0 && a > INT64_MAX - b ? INT64_MAX : b < 0 && a < INT64_MIN - b ? INT64_MIN : a + b; }
static inline int64_t kc_sub(int64_t a, int64_t b) { return b < 0 && a > INT64_MAX + b ? INT64_MAX : b > 0 && a < INT64_MIN + b ? INT64_MIN : a - b; }
static inline int64_t kc_mul(int64_t a, int64_t b) {
  int over = a > 0 ? (b > 0 ? a > INT64_MAX / b : b < INT64_MIN / a) : (b > 0 ? a < INT64_MIN / b : a < 0 && b < 0 && b < INT64_MAX / a);
  return !over ? a * b : (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
static inline int64_t kc_mod(int64_t a, int64_t b) { int64_t r; if (b == 0 || b == -1) return 0; r = a % b; return r != 0 && (r < 0) != (b < 0) ? r + b : r; }
static inline int64_t kc_floordiv(int64_t a, int64_t b) { if (b == 0) return 0; if (b == -1) return kc_sub(0, a); return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t kc_ceildiv(int64_t a, int64_t b) { return kc_floordiv(a, b) + (b != 0 && b != -1 && a % b != 0); }
static inline int64_t kc_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t kc_max(int64_t a, int64_t b) { return a < b ? b : a; }
#endif
)";

/// Names of parameters and sizes as the launcher has them: no word of C or C++, and never one of ours.
struct CNames {
  explicit CNames(const Kernel &kernel) {
    for (const Param &p : kernel.params)
      params.push_back(add(p.name));
    for (const SizeRecipe &r : kernel.sizes)
      sizes.push_back(add(r.name));
  }
  std::vector<std::string> params, sizes;

private:
  std::string add(const std::string &name) {
    std::string c = codegen::sanitizeName(name);
    bool isCuda = absl::StartsWithIgnoreCase(c, "cu"), isType = absl::EndsWith(c, "_t");
    if (isCuda || isType || c == "restrict" || c == "memset")
      c += "_";
    while (std::find(used.begin(), used.end(), c) != used.end())
      c += "_";
    used.push_back(c);
    return c;
  }
  std::vector<std::string> used;
};

std::string cExpr(const Kernel &kernel, const CNames &names, const SizeExpr &e) {
  std::vector<std::string> stack;
  auto pop = [&] {
    std::string s = stack.empty() ? "0" : std::move(stack.back());
    if (!stack.empty())
      stack.pop_back();
    return s;
  };
  for (const SizeTerm &t : e.terms()) {
    auto infix = [&](const char *op) {
      std::string b = pop(), a = pop();
      stack.push_back(absl::StrCat("(", a, " ", op, " ", b, ")"));
    };
    auto call = [&](const char *fn) {
      std::string b = pop(), a = pop();
      stack.push_back(absl::StrCat(fn, "(", a, ", ", b, ")"));
    };
    switch (t.op) {
    case SizeTerm::Const: stack.push_back(absl::StrCat("INT64_C(", t.value, ")")); break;
    case SizeTerm::Size: stack.push_back(names.sizes[t.value]); break;
    case SizeTerm::SmCount: stack.push_back("(int64_t)kc_self->smCount"); break;
    case SizeTerm::Stride: {
      const Param &p = kernel.params[t.value >> 8];
      if (kernel.variants[0].params[t.value >> 8].layout != LayoutClass::Dense) {
        stack.push_back(absl::StrCat("kc_s_", names.params[t.value >> 8], "[", t.value & 0xff, "]"));
        break;
      }
      std::string product = "INT64_C(1)";
      for (size_t d = size_t(t.value & 0xff) + 1; d < p.dims.size(); ++d)
        product = absl::StrCat("kc_mul(", product, ", ", cExpr(kernel, names, p.dims[d]), ")");
      stack.push_back(product);
      break;
    }
    case SizeTerm::Add: call("kc_add"); break;
    case SizeTerm::Sub: call("kc_sub"); break;
    case SizeTerm::Mul: call("kc_mul"); break;
    case SizeTerm::FloorDiv: call("kc_floordiv"); break;
    case SizeTerm::CeilDiv: call("kc_ceildiv"); break;
    case SizeTerm::Mod: call("kc_mod"); break;
    case SizeTerm::Min: call("kc_min"); break;
    case SizeTerm::Max: call("kc_max"); break;
    case SizeTerm::Eq: infix("=="); break;
    case SizeTerm::Ne: infix("!="); break;
    case SizeTerm::Lt: infix("<"); break;
    case SizeTerm::Le: infix("<="); break;
    case SizeTerm::And: infix("&&"); break;
    case SizeTerm::Or: infix("||"); break;
    case SizeTerm::Not: stack.push_back(absl::StrCat("(!", pop(), ")")); break;
    }
  }
  return pop();
}

const char *cType(ElementType t) {
  switch (t) {
  case ElementType::f64: return "double";
  case ElementType::f32: return "float";
  case ElementType::i64: return "int64_t";
  case ElementType::i32: return "int32_t";
  case ElementType::i16: return "int16_t";
  case ElementType::i8: return "int8_t";
  case ElementType::u64: return "uint64_t";
  case ElementType::u32: return "uint32_t";
  case ElementType::f16:
  case ElementType::bf16:
  case ElementType::u16: return "uint16_t";
  default: return "uint8_t";
  }
}

const char *mapType(ElementType t) {
  switch (t) {
  case ElementType::f64: return "CU_TENSOR_MAP_DATA_TYPE_FLOAT64";
  case ElementType::f32: return "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
  case ElementType::f16: return "CU_TENSOR_MAP_DATA_TYPE_FLOAT16";
  case ElementType::bf16: return "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
  case ElementType::i64: return "CU_TENSOR_MAP_DATA_TYPE_INT64";
  case ElementType::i32: return "CU_TENSOR_MAP_DATA_TYPE_INT32";
  case ElementType::u64: return "CU_TENSOR_MAP_DATA_TYPE_UINT64";
  case ElementType::u32: return "CU_TENSOR_MAP_DATA_TYPE_UINT32";
  case ElementType::i16:
  case ElementType::u16: return "CU_TENSOR_MAP_DATA_TYPE_UINT16";
  default: return "CU_TENSOR_MAP_DATA_TYPE_UINT8";
  }
}

class HeaderWriter {
public:
  HeaderWriter(const Kernel &kernel) : k_(kernel), v_(kernel.variants[0]), names_(kernel), prefix_("kc_" + kernel.name) {}

  std::string write(absl::Span<const absl::string_view> cubins) {
    std::vector<absl::string_view> images; // equal launches share one
    for (absl::string_view cubin : cubins) {
      auto found = std::find_if(images.begin(), images.end(), [&](absl::string_view i) { return i.data() == cubin.data(); });
      imageOf_.push_back(size_t(found - images.begin()));
      if (found == images.end())
        images.push_back(cubin);
    }
    absl::StrAppend(&out_, "/* kernel ", k_.name, ", compiled by kernelc for ", v_.target, "\n   ",
                    anyStrided() ? "takes tensors with any strides" : "assumes dense tensors",
                    v_.guardText.empty() ? "" : absl::StrCat(", ", v_.guardText), " */\n", kSupport, "\n");
    for (size_t i = 0; i < images.size(); ++i)
      bytes(images[i], i);
    absl::StrAppend(
        &out_, "\ntypedef struct {\n  CUlibrary libraries[", std::max<size_t>(1, images.size()), "];\n  CUfunction functions[",
        std::max<size_t>(1, v_.launches.size()), "];\n  int smCount;\n",
        hasMaps() ? "  CUdeviceptr spare; /* zeros for windows without elements, and behind them a place for what is stored there */\n"
                  : "",
        "} ", prefix_, "_t;\n\n");
    load(images.size());
    workspace();
    launch();
    return std::move(out_);
  }

private:
  void bytes(absl::string_view cubin, size_t index) {
    absl::StrAppend(&out_, "static const unsigned char ", prefix_, "_cubin_", index, "[] = {");
    for (size_t i = 0; i < cubin.size(); ++i)
      absl::StrAppend(&out_, i % 24 ? "" : "\n  ", int((unsigned char)cubin[i]), ",");
    absl::StrAppend(&out_, "\n};\n");
  }

  void load(size_t images) {
    absl::StrAppend(&out_, "/* Needs a current context of a device that runs ", v_.target, ". */\nstatic inline CUresult ", prefix_,
                    "_load(", prefix_,
                    "_t *kc_self) {\n  CUkernel kernel;\n  CUdevice device;\n  CUresult r;\n"
                    "  if ((r = cuCtxGetDevice(&device))) return r;\n"
                    "  if ((r = cuDeviceGetAttribute(&kc_self->smCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device))) return r;\n");
    for (size_t i = 0; i < images; ++i)
      absl::StrAppend(&out_, "  if ((r = cuLibraryLoadData(&kc_self->libraries[", i, "], ", prefix_, "_cubin_", i,
                      ", 0, 0, 0, 0, 0, 0))) return r;\n");
    for (size_t i = 0; i < v_.launches.size(); ++i)
      absl::StrAppend(&out_, "  if ((r = cuLibraryGetKernel(&kernel, kc_self->libraries[", imageOf_[i], "], \"", v_.launches[i].entry,
                      "\"))) return r;\n", "  if ((r = cuKernelGetFunction(&kc_self->functions[", i, "], kernel))) return r;\n");
    if (hasMaps())
      absl::StrAppend(
          &out_, "  if ((r = cuMemAlloc(&kc_self->spare, 512))) return r;\n  if ((r = cuMemsetD8(kc_self->spare, 0, 512))) return r;\n");
    absl::StrAppend(&out_, "  return CUDA_SUCCESS;\n}\nstatic inline CUresult ", prefix_, "_unload(", prefix_, "_t *kc_self) {\n",
                    hasMaps() ? "  CUresult r = cuMemFree(kc_self->spare);\n  if (r) return r;\n" : "", "  for (int i = 0; i < ", images,
                    "; ++i) {\n    CUresult unloaded = cuLibraryUnload(kc_self->libraries[i]);\n"
                    "    if (unloaded) return unloaded;\n  }\n  return CUDA_SUCCESS;\n}\n\n");
  }

  std::string cText(const SizeExpr &e) const { return cExpr(k_, names_, e); }
  std::string pointer(const PointerArg &a) const {
    return absl::StrCat(a.param < 0 ? "kc_workspace" : names_.params[a.param], " + (CUdeviceptr)", cText(a.byteOffset));
  }
  bool isStrided(size_t param) const { return v_.params[param].layout != LayoutClass::Dense && !k_.params[param].dims.empty(); }
  bool anyStrided() const {
    for (size_t p = 0; p < k_.params.size(); ++p)
      if (isStrided(p))
        return true;
    return false;
  }
  bool hasMaps() const {
    for (const Launch &l : v_.launches)
      for (const LaunchArg &a : l.args)
        if (std::holds_alternative<TensorMapArg>(a))
          return true;
    return false;
  }

  std::string sizeParams() const {
    std::string s;
    for (const std::string &name : names_.sizes)
      absl::StrAppend(&s, ", int64_t ", name);
    return s;
  }
  std::string unusedSizes() const {
    std::string s = "  (void)kc_self;";
    for (const std::string &name : names_.sizes)
      absl::StrAppend(&s, " (void)", name, ";");
    return s + "\n";
  }

  void workspace() {
    absl::StrAppend(&out_, "/* Bytes of device memory, 256-byte aligned, that a launch needs. */\nstatic inline size_t ", prefix_,
                    "_workspace_bytes(const ", prefix_, "_t *kc_self", sizeParams(), ") {\n", unusedSizes(), "  return (size_t)",
                    cText(v_.workspaceBytes), ";\n}\n\n");
  }

  void launch() {
    absl::StrAppend(&out_, "/* Queues the kernel on `kc_stream`. ",
                    anyStrided() ? "Strides count elements; none given (0) are those of a dense tensor" : "Every tensor is dense",
                    ", the last dim fastest", anyStrided() ? "" : ": strides cannot be given",
                    ".\n"
                    "   CUDA_ERROR_INVALID_VALUE for sizes or addresses it was not compiled for, and where a `require` fails. */\n"
                    "static inline CUresult ",
                    prefix_, "_launch(", prefix_, "_t *kc_self, CUstream kc_stream");
    for (size_t p = 0; p < k_.params.size(); ++p) {
      absl::StrAppend(&out_, ", ", k_.params[p].kind == ParamKind::Scalar ? cType(k_.params[p].type) : "CUdeviceptr", " ",
                      names_.params[p]);
      if (isStrided(p))
        absl::StrAppend(&out_, ", const int64_t *kc_strides_", names_.params[p]);
    }
    absl::StrAppend(&out_, sizeParams(), ", CUdeviceptr kc_workspace) {\n", unusedSizes(), "  (void)kc_workspace;\n");
    for (size_t p = 0; p < k_.params.size(); ++p)
      if (isStrided(p))
        strides(p);
    for (const Require &r : k_.requires_)
      absl::StrAppend(&out_, "  if (!", cText(r.condition), ") return CUDA_ERROR_INVALID_VALUE; /* require ",
                      absl::StrReplaceAll(r.text, {{"*/", "* /"}}), " */\n");
    if (!v_.guard.empty())
      absl::StrAppend(&out_, "  if (!", cText(v_.guard), ") return CUDA_ERROR_INVALID_VALUE;\n");
    for (size_t p = 0; p < v_.params.size(); ++p)
      if (v_.params[p].alignment > 1 && k_.params[p].kind != ParamKind::Scalar)
        absl::StrAppend(&out_, "  if (", names_.params[p], " % ", v_.params[p].alignment, ") return CUDA_ERROR_INVALID_VALUE;\n");
    for (size_t l = 0; l < v_.launches.size(); ++l)
      oneLaunch(v_.launches[l], l);
    absl::StrAppend(&out_, "  return CUDA_SUCCESS;\n}\n");
  }

  /// The strides of a parameter: those given, or a dense tensor's. What is written has one place for each element, and
  /// elements of less than a byte run forwards only.
  void strides(size_t index) {
    const Param &p = k_.params[index];
    const std::string &name = names_.params[index];
    std::string local = "kc_s_" + name;
    absl::StrAppend(&out_, "  int64_t ", local, "[", p.dims.size(), "];\n  ", local, "[", p.dims.size() - 1, "] = 1;\n");
    for (size_t d = p.dims.size() - 1; d-- > 0;)
      absl::StrAppend(&out_, "  ", local, "[", d, "] = kc_mul(", local, "[", d + 1, "], ", cText(p.dims[d + 1]), ");\n");
    absl::StrAppend(&out_, "  if (kc_strides_", name, ") memcpy(", local, ", kc_strides_", name, ", sizeof ", local, ");\n");
    for (size_t d = 0; d < p.dims.size(); ++d) {
      if (p.kind != ParamKind::Input)
        absl::StrAppend(&out_, "  if (", local, "[", d, "] == 0 && ", cText(p.dims[d]), " > 1) return CUDA_ERROR_INVALID_VALUE;\n");
      if (elementBits(p.type) < 8)
        absl::StrAppend(&out_, "  if (", local, "[", d, "] < 0 && ", cText(p.dims[d]), " > 1) return CUDA_ERROR_INVALID_VALUE;\n");
    }
    absl::StrAppend(&out_, "  (void)", local, ";\n");
  }

  void oneLaunch(const Launch &launch, size_t index) {
    absl::StrAppend(&out_, "  {\n    const int64_t kc_grid = ", cText(launch.grid), ", kc_shared = ", cText(launch.sharedBytes),
                    ";\n    if (kc_grid > INT32_MAX) return CUDA_ERROR_INVALID_VALUE;\n");
    std::vector<std::string> addresses;
    for (size_t a = 0; a < launch.args.size(); ++a) {
      std::string name = absl::StrCat("kc_arg", a);
      addresses.push_back("&" + name);
      if (auto *p = std::get_if<PointerArg>(&launch.args[a]))
        absl::StrAppend(&out_, "    CUdeviceptr ", name, " = ", pointer(*p), ";\n");
      else if (auto *s = std::get_if<ScalarArg>(&launch.args[a]))
        absl::StrAppend(&out_, "    ", cType(k_.params[s->param].type), " ", name, " = ", names_.params[s->param], ";\n");
      else if (auto *z = std::get_if<SizeArg>(&launch.args[a]))
        absl::StrAppend(&out_, "    int", z->bits, "_t ", name, " = (int", z->bits, "_t)", cText(z->value), ";\n");
      else
        tensorMap(std::get<TensorMapArg>(launch.args[a]), name);
    }
    std::string cluster, dependent;
    if (launch.cluster > 1)
      cluster = absl::StrCat("    kc_attributes[kc_attribute_count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;\n"
                             "    kc_attributes[kc_attribute_count].value.clusterDim.x = ",
                             launch.cluster,
                             ";\n"
                             "    kc_attributes[kc_attribute_count].value.clusterDim.y = 1;\n"
                             "    kc_attributes[kc_attribute_count++].value.clusterDim.z = 1;\n");
    if (launch.dependent)
      dependent = "    kc_attributes[kc_attribute_count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;\n"
                  "    kc_attributes[kc_attribute_count++].value.programmaticStreamSerializationAllowed = 1;\n";
    absl::StrAppend(&out_, "    void *kc_args[] = {", addresses.empty() ? "0" : absl::StrJoin(addresses, ", "), "};\n",
                    "    CUlaunchAttribute kc_attributes[2];\n    unsigned kc_attribute_count = 0;\n    CUlaunchConfig kc_config;\n    "
                    "CUresult r;\n    memset(&kc_config, 0, sizeof kc_config);\n",
                    cluster, dependent,
                    "    kc_config.gridDimX = (unsigned)kc_grid; kc_config.gridDimY = kc_config.gridDimZ = 1;\n"
                    "    kc_config.blockDimX = ",
                    launch.block,
                    "; kc_config.blockDimY = kc_config.blockDimZ = 1;\n"
                    "    kc_config.sharedMemBytes = (unsigned)kc_shared; kc_config.hStream = kc_stream;\n"
                    "    kc_config.attrs = kc_attributes; kc_config.numAttrs = kc_attribute_count;\n"
                    "    if (kc_shared > 49152 && (r = cuFuncSetAttribute(kc_self->functions[",
                    index,
                    "], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)kc_shared))) return r;\n"
                    "    if (kc_grid > 0 && (r = cuLaunchKernelEx(&kc_config, kc_self->functions[",
                    index, "], kc_args, 0))) return r;\n  }\n");
  }

  void tensorMap(const TensorMapArg &m, const std::string &name) {
    auto list = [&](const std::vector<SizeExpr> &es, const char *type) {
      std::vector<std::string> parts;
      for (const SizeExpr &e : es)
        parts.push_back(absl::StrCat("(", type, ")", cText(e)));
      return parts.empty() ? std::string("0") : absl::StrJoin(parts, ", ");
    };
    const char *swizzle = m.swizzleBytes == 128  ? "CU_TENSOR_MAP_SWIZZLE_128B"
                          : m.swizzleBytes == 64 ? "CU_TENSOR_MAP_SWIZZLE_64B"
                          : m.swizzleBytes == 32 ? "CU_TENSOR_MAP_SWIZZLE_32B"
                                                 : "CU_TENSOR_MAP_SWIZZLE_NONE";
    // A window without elements becomes one over the spare bytes, as in runtime/TensorMap.cpp.
    std::string empty, clear, large;
    for (size_t i = 0; i < m.dims.size(); ++i) {
      absl::StrAppend(&empty, i ? " || " : "", "(int64_t)", name, "_dims[", i, "] <= 0");
      absl::StrAppend(&large, i ? " || " : "", "(int64_t)", name, "_dims[", i, "] > (INT64_C(1) << 31)");
      absl::StrAppend(&clear, " ", name, "_dims[", i, "] = 1;");
    }
    for (size_t i = 0; i < m.strides.size(); ++i)
      absl::StrAppend(&clear, " ", name, "_strides[", i, "] = 16;");
    bool isRead = m.base.param >= 0 && k_.params[m.base.param].kind == ParamKind::Input;
    absl::StrAppend(&out_, "    CUtensorMap ", name, ";\n    CUdeviceptr ", name, "_base = ", pointer(m.base), ";\n    cuuint64_t ", name,
                    "_dims[] = {", list(m.dims, "cuuint64_t"), "};\n    cuuint64_t ", name, "_strides[] = {", list(m.strides, "cuuint64_t"),
                    "};\n    const cuuint32_t ", name, "_box[] = {", list(m.box, "cuuint32_t"), "};\n    const cuuint32_t ", name,
                    "_steps[] = {", absl::StrJoin(m.elementStrides, ", "), "};\n    CUresult ", name, "_r;\n    if (", empty, ") {", clear,
                    " ", name, "_base = kc_self->spare", isRead ? "" : " + 256", "; }\n    if (", large,
                    ") return CUDA_ERROR_INVALID_VALUE; /* coordinates are ints */\n    ", name, "_r = cuTensorMapEncodeTiled(&", name,
                    ", ", m.roundsToTf32 ? "CU_TENSOR_MAP_DATA_TYPE_TFLOAT32" : mapType(m.type), ", ", m.dims.size(), ", (void *)", name,
                    "_base, ", name, "_dims, ", name, "_strides, ", name, "_box, ", name, "_steps, CU_TENSOR_MAP_INTERLEAVE_NONE, ",
                    swizzle, ", CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);\n    if (", name, "_r) return ",
                    name, "_r;\n");
  }

  const Kernel &k_;
  const Variant &v_;
  const CNames names_;
  const std::string prefix_;
  std::vector<size_t> imageOf_; ///< by launch
  std::string out_;
};

} // namespace

std::string emitCudaHeader(const Kernel &kernel, absl::Span<const absl::string_view> cubins) { return HeaderWriter(kernel).write(cubins); }

} // namespace kernelc
