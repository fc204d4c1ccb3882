// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/Values.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/verify/Generator.h"
#include "runtime/LaunchCheck.h"
#include "support/Constant.h"
#include "tools/Options.h"
#include "tools/TensorFiles.h"

namespace kernelc::tools {
namespace {

absl::Status fill(const HostTensor &t, const std::string &value, const Param &p, uint64_t position) {
  absl::StatusOr<Generator> generator = parseGenerator(value);
  absl::Status filled = generator.status();
  if (generator.ok() && generator->kind != Generator::Zeros) // which it is
    filled = fillFrom(*generator, t.view(), position);
  return filled.ok() ? filled : absl::InvalidArgumentError(absl::StrCat(p.name, "=", value, ": ", filled.message()));
}

absl::StatusOr<HostTensor> makeScalar(const Param &p, const std::string &value) {
  HostTensor t(p.type, {});
  uint64_t natural = 0;
  absl::StatusOr<ScalarValue> scalar;
  if (absl::SimpleAtoi(value, &natural)) {
    scalar = ScalarValue::fromUnsigned(p.type, natural);
  } else if (absl::StatusOr<Constant> number = parseConstant(value); !number.ok()) {
    scalar = number.status();
  } else if (const int64_t *integer = std::get_if<int64_t>(&*number)) {
    scalar = ScalarValue::fromInt(p.type, *integer);
  } else if (isFloat(p.type)) {
    scalar = ScalarValue::fromDouble(p.type, std::get<double>(*number));
  } else {
    scalar = absl::InvalidArgumentError(absl::StrCat("expected a number of type ", elementTypeName(p.type)));
  }
  if (!scalar.ok())
    return absl::InvalidArgumentError(absl::StrCat(p.name, "=", value, ": ", scalar.status().message()));
  __builtin_memcpy(t.data(), &scalar->bits, t.bytes());
  return t;
}

absl::StatusOr<HostTensor> allocate(const Param &p, const std::vector<int64_t> &shape) {
  int64_t elements = 1;
  bool overflow = false;
  for (int64_t d : shape)
    overflow |= __builtin_mul_overflow(elements, d, &elements);
  HostTensor t;
  if (!overflow && elements < int64_t(1) << 44)
    t = HostTensor(p.type, shape);
  if (!t.data())
    return absl::ResourceExhaustedError(absl::StrCat("no memory for '", p.name, "' of shape [", absl::StrJoin(shape, ", "), "]"));
  return t;
}

} // namespace

std::vector<LaunchValue> HostArguments::values(const Kernel &kernel) const {
  std::vector<LaunchValue> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (kernel.params[i].kind == ParamKind::Scalar)
      out.push_back(tensors[i].scalar());
    else
      out.push_back(tensors[i].deviceTensor());
  }
  return out;
}

absl::StatusOr<std::map<std::string, std::string>> parseAssignments(const Kernel &kernel, const std::vector<std::string> &texts) {
  std::map<std::string, std::string> values;
  std::vector<std::string> names;
  for (const Param &p : kernel.params)
    if (p.kind != ParamKind::Output)
      names.push_back(p.name);
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos)
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "': expected NAME=VALUE", names.empty() ? "" : absl::StrCat(", as in ", names.front(), "=", text)));
    std::string name = text.substr(0, equals);
    auto isNamed = [&](const SizeRecipe &r) { return r.name == name; };
    if (std::any_of(kernel.sizes.begin(), kernel.sizes.end(), isNamed))
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "': ", name, " is a size of kernel '", kernel.name, "', which --set ", text, " fixes"));
    auto isOutput = [&](const Param &p) { return p.kind == ParamKind::Output && p.name == name; };
    if (std::any_of(kernel.params.begin(), kernel.params.end(), isOutput))
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "': ", name, " is an output of kernel '", kernel.name, "', which -o ", name, "=FILE.npy writes"));
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      std::string near = findNearest(name, names);
      return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "' has no input '", name, "'; its inputs are ",
                                                     absl::StrJoin(names, ", "),
                                                     near.empty() ? "" : absl::StrCat(" (did you mean '", near, "'?)")));
    }
    if (!values.emplace(name, text.substr(equals + 1)).second)
      return absl::InvalidArgumentError(absl::StrCat("'", text, "': ", name, " is given twice"));
  }
  return values;
}

absl::StatusOr<HostArguments> makeArguments(const Kernel &kernel, const std::map<std::string, std::string> &values,
                                            const std::vector<NamedSize> &named, bool fillMissing) {
  HostArguments args;
  std::vector<MaybeShape> shapes(kernel.params.size());
  args.tensors.resize(kernel.params.size());
  // Files and scalars first: they tell the sizes.
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const Param &p = kernel.params[i];
    auto value = values.find(p.name);
    if (p.kind == ParamKind::Scalar) {
      if (value == values.end() && !fillMissing) {
        args.tensors[i] = HostTensor(p.type, {});
        continue;
      }
      if (value == values.end())
        return absl::InvalidArgumentError(absl::StrCat("scalar '", p.name, "' has no value: give ", p.name, "=NUMBER"));
      absl::StatusOr<HostTensor> scalar = makeScalar(p, value->second);
      if (!scalar.ok())
        return scalar.status();
      args.tensors[i] = *std::move(scalar);
    } else if (p.kind != ParamKind::Output && value != values.end() && !namesGenerator(value->second)) {
      absl::StatusOr<HostTensor> file = loadTensor(value->second, p.type);
      if (!file.ok())
        return absl::Status(file.status().code(), absl::StrCat(p.name, "=", value->second, ": ", file.status().message()));
      if (file->shape().size() != p.dims.size())
        return absl::InvalidArgumentError(absl::StrCat(p.name, "=", value->second, ": the kernel wants ", p.dims.size(),
                                                       p.dims.size() == 1 ? " dim," : " dims,", shapeFormula(kernel, p),
                                                       "; the file has shape [", absl::StrJoin(file->shape(), ", "),
                                                       "]; reshape the array, as with x.reshape(..)"));
      shapes[i] = file->shape();
      args.tensors[i] = *std::move(file);
    }
  }
  absl::StatusOr<std::vector<int64_t>> sizes = solveSizes(kernel, shapes, named);
  if (!sizes.ok())
    return sizes.status();
  args.sizes = *sizes;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const Param &p = kernel.params[i];
    if (p.kind == ParamKind::Scalar || shapes[i])
      continue;
    absl::StatusOr<std::vector<int64_t>> shape = shapeOf(kernel, int(i), args.sizes);
    if (!shape.ok())
      return shape.status();
    absl::StatusOr<HostTensor> tensor = allocate(p, *shape);
    if (!tensor.ok())
      return tensor.status();
    args.tensors[i] = *std::move(tensor);
    if (p.kind == ParamKind::Output)
      continue;
    auto value = values.find(p.name);
    std::string missing = fillMissing ? "random" : "zeros";
    if (absl::Status s = fill(args.tensors[i], value == values.end() ? missing : value->second, p, i); !s.ok())
      return s;
  }
  return args;
}

} // namespace kernelc::tools
