// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/LaunchCheck.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/CudaError.h"
#include "support/TensorLayout.h"

namespace kernelc {
namespace {

std::string shapeText(absl::Span<const int64_t> shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

template <typename... Parts> absl::Status paramError(const Param &p, Parts &&...parts) {
  return absl::InvalidArgumentError(absl::StrCat(locPrefix(p.loc), "parameter '", p.name, "': ", parts...));
}

std::vector<std::string> sizeNames(const Kernel &kernel) {
  std::vector<std::string> names;
  for (const SizeRecipe &s : kernel.sizes)
    names.push_back(s.name);
  return names;
}

/// As the argument of NumPy's astype().
std::string numpyName(ElementType t) {
  switch (t) {
  case ElementType::bf16: return "ml_dtypes.bfloat16";
  case ElementType::f8e4m3: return "ml_dtypes.float8_e4m3fn";
  case ElementType::f8e5m2: return "ml_dtypes.float8_e5m2";
  case ElementType::boolean: return "'bool'";
  default: break;
  }
  absl::string_view name = elementTypeName(t);
  return absl::StrCat("'", name[0] == 'f' ? "float" : name[0] == 'u' ? "uint" : "int", name.substr(1), "'");
}

/// What one argument must satisfy by itself.
absl::Status checkTensor(const Kernel &kernel, const Param &p, const DeviceTensor &t, int device) {
  if (t.type != p.type)
    return paramError(
        p, "expected elements of type ", elementTypeName(p.type), ", got ", elementTypeName(t.type),
        p.kind == ParamKind::Output
            ? absl::StrCat("; nothing is converted on the way out: pass an array of ", elementTypeName(p.type))
            : absl::StrCat("; nothing is converted on the way in: convert the array, in NumPy with x.astype(", numpyName(p.type), ")"));
  if (t.shape.size() != p.dims.size())
    return paramError(p, "expected rank ", p.dims.size(), shapeFormula(kernel, p), ", got a tensor of shape ", shapeText(t.shape));
  if (t.strides.size() != t.shape.size())
    return paramError(p, "has ", t.shape.size(), " extents but ", t.strides.size(), " strides");
  if (t.device != device)
    return paramError(p, "is on CUDA device ", t.device, ", but the kernel runs on device ", device);

  bool empty = false;
  // The count and the span in bits must fit, or every later offset could wrap.
  int64_t count = 1, span = elementBits(t.type);
  bool overflow = false;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    if (t.shape[d] < 0)
      return paramError(p, "has a negative extent in shape ", shapeText(t.shape));
    if (t.shape[d] == 0) {
      empty = true;
      continue;
    }
    int64_t reach = 0, magnitude = 0;
    overflow |= t.strides[d] == std::numeric_limits<int64_t>::min();
    magnitude = overflow ? 0 : std::abs(t.strides[d]);
    overflow |= __builtin_mul_overflow(count, t.shape[d], &count);
    overflow |= __builtin_mul_overflow(magnitude, t.shape[d] - 1, &reach);
    overflow |= __builtin_mul_overflow(reach, int64_t(elementBits(t.type)), &reach);
    overflow |= __builtin_add_overflow(span, reach, &span);
  }
  constexpr int64_t kMaxSpan = int64_t(1) << 60; // bits; 2^57 bytes is all that a GPU can address
  if (overflow || span > kMaxSpan)
    return paramError(p, "shape ", shapeText(t.shape), " with strides ", shapeText(t.strides), " spans more memory than can be addressed");
  if (empty)
    return absl::OkStatus();
  if (!t.data)
    return paramError(p, "is null, but has shape ", shapeText(t.shape));
  int64_t elementBytes = std::max(1, elementBits(t.type) / 8);
  if (reinterpret_cast<uintptr_t>(t.data) % elementBytes)
    return paramError(p, "starts at an address that is not a multiple of its element size, ", elementBytes, " bytes");
  return absl::OkStatus();
}

absl::Status checkValues(const Kernel &kernel, absl::Span<const LaunchValue> values, int device) {
  if (values.size() != kernel.params.size()) {
    std::vector<std::string> names;
    for (const Param &p : kernel.params)
      names.push_back(p.name);
    return absl::InvalidArgumentError(absl::StrCat(locPrefix(kernel.loc), "kernel '", kernel.name, "' takes ", kernel.params.size(),
                                                   " arguments (", absl::StrJoin(names, ", "), "), got ", values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const Param &p = kernel.params[i];
    const auto *tensor = std::get_if<DeviceTensor>(&values[i]);
    const auto *scalar = std::get_if<ScalarValue>(&values[i]);
    if ((p.kind == ParamKind::Scalar) != (scalar != nullptr))
      return paramError(p, p.kind == ParamKind::Scalar ? "expected a scalar, got a tensor" : "expected a tensor, got a scalar");
    if (scalar && scalar->type != p.type)
      return paramError(p, "expected a scalar of type ", elementTypeName(p.type), ", got ", elementTypeName(scalar->type));
    if (tensor)
      KERNELC_RETURN_IF_ERROR(checkTensor(kernel, p, *tensor, device));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> solveFromDim(const Kernel &kernel, const SizeRecipe &recipe, const CheckedArgs &args) {
  const Param &p = kernel.params[recipe.param];
  const DeviceTensor &t = *args.tensor(recipe.param);
  int64_t extent = t.shape[recipe.dim], rest = 0;
  bool wrong = __builtin_sub_overflow(extent, recipe.offset, &rest);
  if (wrong || rest % recipe.scale || rest / recipe.scale < 0)
    return paramError(p, "dimension ", recipe.dim, " is ", extent, ", but must be ",
                      recipe.scale == 1 ? "" : absl::StrCat(recipe.scale, " * "), recipe.name,
                      recipe.offset ? absl::StrCat(recipe.offset < 0 ? " - " : " + ", std::abs(recipe.offset)) : "", " for some ",
                      recipe.name, " >= 0");
  return rest / recipe.scale;
}

absl::Status solveSizes(const Kernel &kernel, absl::Span<const NamedSize> named, CheckedArgs *args) {
  for (const NamedSize &n : named)
    if (std::none_of(kernel.sizes.begin(), kernel.sizes.end(), [&](const SizeRecipe &s) { return s.name == n.first; }))
      return absl::InvalidArgumentError(absl::StrCat(locPrefix(kernel.loc), "kernel '", kernel.name, "' has no size '", n.first,
                                                     "'; its sizes are ", absl::StrJoin(sizeNames(kernel), ", ")));
  for (const SizeRecipe &recipe : kernel.sizes) {
    auto given = std::find_if(named.begin(), named.end(), [&](const NamedSize &n) { return n.first == recipe.name; });
    std::optional<int64_t> value;
    if (recipe.constant) {
      value = *recipe.constant;
    } else if (recipe.param >= 0) {
      absl::StatusOr<int64_t> solved = solveFromDim(kernel, recipe, *args);
      if (!solved.ok())
        return solved.status();
      value = *solved;
    }
    if (given != named.end() && value && *value != given->second)
      return absl::InvalidArgumentError(absl::StrCat(locPrefix(kernel.loc), "size '", recipe.name, "' was given as ", given->second,
                                                     ", but ", recipe.constant ? "is compiled in as " : "the arguments make it ", *value));
    if (!value && given == named.end())
      return absl::InvalidArgumentError(absl::StrCat(locPrefix(kernel.loc), "size '", recipe.name,
                                                     "' follows from no argument: give it by name (", recipe.name, "=...)"));
    args->sizes.push_back(value ? *value : given->second);
  }
  return absl::OkStatus();
}

absl::Status checkExtents(const Kernel &kernel, const CheckedArgs &args) {
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const DeviceTensor *t = args.tensor(int(i));
    for (size_t d = 0; t && d < t->shape.size(); ++d) {
      int64_t expected = kernel.params[i].dims[d].evaluate(args.env());
      if (expected == t->shape[d])
        continue;
      std::vector<std::string> names = sizeNames(kernel);
      std::string formula = kernel.params[i].dims[d].toString(names);
      std::string value = absl::StrCat(expected);
      std::string said = formula == value ? " (fixed by the text or when it was compiled)" : absl::StrCat(" (= ", formula, ")");
      return paramError(kernel.params[i], "expected extent ", value, said, " in dimension ", d, ", got ", t->shape[d]);
    }
  }
  return absl::OkStatus();
}

absl::Status checkRequires(const Kernel &kernel, const CheckedArgs &args) {
  for (const Require &r : kernel.requires_) {
    if (r.condition.evaluate(args.env()))
      continue;
    std::vector<std::string> values;
    for (size_t i = 0; i < kernel.sizes.size(); ++i)
      values.push_back(absl::StrCat(kernel.sizes[i].name, " = ", args.sizes[i]));
    return absl::InvalidArgumentError(
        absl::StrCat(locPrefix(r.loc), "kernel '", kernel.name, "' requires ", r.text, "; got ", absl::StrJoin(values, ", ")));
  }
  return absl::OkStatus();
}

bool isWritten(const Param &p) { return p.kind == ParamKind::Output || p.kind == ParamKind::InOut; }

absl::Status checkOverlaps(const Kernel &kernel, const CheckedArgs &args) {
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (!isWritten(kernel.params[i]))
      continue;
    const DeviceTensor &out = *args.tensor(int(i));
    if (mayOverlapItself(out))
      return paramError(kernel.params[i], "is written, but elements of it overlap each other: shape ", shapeText(out.shape),
                        " with strides ", shapeText(out.strides));
    for (size_t j = 0; j < kernel.params.size(); ++j)
      if (mustBeApart(kernel, i, j) && mayOverlap(out, *args.tensor(int(j))))
        return overlapError(kernel, i, j);
  }
  return absl::OkStatus();
}

std::string layoutName(const ParamGuard &g) {
  switch (g.layout) {
  case LayoutClass::Dense: return "dense row-major";
  case LayoutClass::InnerUnit: return absl::StrCat("unit stride innermost and the other strides multiples of ", g.pitch, " bytes");
  case LayoutClass::Any: return "any layout";
  }
  return "";
}

/// Why `variant` does not take the arguments; empty when it does.
std::string findObstacle(const Kernel &kernel, const Variant &variant, const CheckedArgs &args) {
  if (!variant.guard.empty() && !variant.guard.evaluate(args.env())) {
    std::vector<std::string> names = sizeNames(kernel);
    return absl::StrCat("needs ", variant.guardText.empty() ? variant.guard.toString(names) : variant.guardText);
  }
  for (size_t i = 0; i < variant.params.size(); ++i) {
    const DeviceTensor *t = args.tensor(int(i));
    const ParamGuard &g = variant.params[i];
    if (!t)
      continue;
    if (!hasLayout(g, t->type, t->shape, t->strides))
      return absl::StrCat("needs '", kernel.params[i].name, "' with ", layoutName(g),
                          g.order.empty() ? "" : absl::StrCat(", its dims in the order ", absl::StrJoin(g.order, ", ")));
    bool empty = std::find(t->shape.begin(), t->shape.end(), 0) != t->shape.end();
    if (!empty && reinterpret_cast<uintptr_t>(t->data) % std::max(1u, g.alignment))
      return absl::StrCat("needs '", kernel.params[i].name, "' aligned to ", g.alignment, " bytes");
  }
  return "";
}

} // namespace

std::string shapeFormula(const Kernel &kernel, const Param &p) {
  std::vector<std::string> dims;
  for (const auto &dim : p.dims)
    dims.push_back(dim.toString(sizeNames(kernel)));
  return dims.empty() ? "" : absl::StrCat(" [", absl::StrJoin(dims, ", "), "]");
}

std::string locPrefix(const SourceLoc &loc) {
  if (loc.line == 0)
    return "";
  return loc.column ? absl::StrCat(loc.file, ":", loc.line, ":", loc.column, ": ") : absl::StrCat(loc.file, ":", loc.line, ": ");
}

bool mustBeApart(const Kernel &kernel, size_t i, size_t j) {
  const Param &p = kernel.params[i], &q = kernel.params[j];
  return isWritten(p) && i != j && q.kind != ParamKind::Scalar && !(isWritten(q) && j > i);
}

absl::Status overlapError(const Kernel &kernel, size_t i, size_t j) {
  return paramError(kernel.params[i], "is written, but overlaps parameter '", kernel.params[j].name,
                    "'; pass a copy, or declare one parameter as inout");
}

absl::StatusOr<CheckedArgs> checkArguments(const Kernel &kernel, absl::Span<const LaunchValue> values,
                                           absl::Span<const NamedSize> namedSizes, int device, int64_t smCount) {
  KERNELC_RETURN_IF_ERROR(checkValues(kernel, values, device));
  CheckedArgs args;
  args.values.assign(values.begin(), values.end());
  args.smCount = smCount;
  for (size_t i = 0; i < values.size(); ++i)
    if (const DeviceTensor *t = args.tensor(int(i)))
      args.strides.push_back(visibleStrides(t->type, t->shape, t->strides));
    else
      args.strides.emplace_back();
  KERNELC_RETURN_IF_ERROR(solveSizes(kernel, namedSizes, &args));
  KERNELC_RETURN_IF_ERROR(checkExtents(kernel, args));
  KERNELC_RETURN_IF_ERROR(checkRequires(kernel, args));
  KERNELC_RETURN_IF_ERROR(checkOverlaps(kernel, args));
  return args;
}

absl::StatusOr<int> selectVariant(const Kernel &kernel, const CheckedArgs &args) {
  std::string reasons;
  for (size_t i = 0; i < kernel.variants.size(); ++i) {
    std::string obstacle = findObstacle(kernel, kernel.variants[i], args);
    if (obstacle.empty())
      return int(i);
    absl::StrAppend(&reasons, "\n  ", kernel.variants[i].name, ": ", obstacle);
  }
  return withKind(absl::FailedPreconditionError(absl::StrCat(locPrefix(kernel.loc), "no variant of kernel '", kernel.name,
                                                             "' takes these arguments:", reasons.empty() ? " it has none" : reasons)),
                  RuntimeErrorKind::NoVariant);
}

} // namespace kernelc
