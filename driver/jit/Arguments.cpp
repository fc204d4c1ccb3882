// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/Arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kernelc {

absl::StatusOr<std::vector<int64_t>> solveSizes(const Kernel &kernel, absl::Span<const MaybeShape> shapes,
                                                absl::Span<const NamedSize> named, bool partial) {
  for (const NamedSize &n : named) {
    if (n.second < 0)
      return absl::InvalidArgumentError(
          absl::StrCat(locPrefix(kernel.loc), "size '", n.first, "' is ", n.second, "; sizes are not negative"));
    if (std::none_of(kernel.sizes.begin(), kernel.sizes.end(), [&](const SizeRecipe &s) { return s.name == n.first; }))
      return absl::InvalidArgumentError(absl::StrCat(locPrefix(kernel.loc), "kernel '", kernel.name, "' has no size '", n.first, "'"));
  }
  for (size_t i = 0; i < shapes.size() && i < kernel.params.size(); ++i)
    if (shapes[i] && shapes[i]->size() != kernel.params[i].dims.size())
      return absl::InvalidArgumentError(absl::StrCat(
          locPrefix(kernel.params[i].loc), "parameter '", kernel.params[i].name, "': expected rank ", kernel.params[i].dims.size(),
          shapeFormula(kernel, kernel.params[i]), ", got a tensor of shape [", absl::StrJoin(*shapes[i], ", "), "]"));
  std::vector<int64_t> sizes;
  for (const SizeRecipe &r : kernel.sizes) {
    int64_t value = r.constant.value_or(-1);
    for (const NamedSize &n : named)
      if (n.first == r.name && value < 0)
        value = n.second;
    // A contradiction with a name is found by checkArguments; the tensors win here.
    if (!r.constant && r.param >= 0 && size_t(r.param) < shapes.size() && shapes[r.param] && size_t(r.dim) < shapes[r.param]->size()) {
      int64_t rest = (*shapes[r.param])[r.dim] - r.offset;
      if (r.scale == 0 || rest % r.scale || rest / r.scale < 0)
        return absl::InvalidArgumentError(
            absl::StrCat(locPrefix(kernel.params[r.param].loc), "parameter '", kernel.params[r.param].name, "': dimension ", r.dim, " is ",
                         (*shapes[r.param])[r.dim], ", but must be ", r.scale == 1 ? "" : absl::StrCat(r.scale, " * "), r.name,
                         r.offset ? absl::StrCat(r.offset < 0 ? " - " : " + ", std::abs(r.offset)) : "", " for some ", r.name, " >= 0"));
      value = rest / r.scale;
    }
    if (value < 0 && !partial)
      return absl::InvalidArgumentError(absl::StrCat(locPrefix(kernel.loc), "nothing determines size '", r.name, "' of kernel '",
                                                     kernel.name, "': pass a tensor that has it, or give it by name (", r.name,
                                                     "=..; to the command line --set ", r.name, "=..)"));
    sizes.push_back(value);
  }
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> shapeOf(const Kernel &kernel, int param, absl::Span<const int64_t> sizes) {
  const Param &p = kernel.params[param];
  std::vector<int64_t> shape;
  for (const SizeExpr &dim : p.dims) {
    for (const SizeTerm &t : dim.terms())
      if (t.op == SizeTerm::Size && sizes[t.value] < 0)
        return absl::InvalidArgumentError(absl::StrCat(locPrefix(p.loc), "nothing determines size '", kernel.sizes[t.value].name,
                                                       "', which the shape of '", p.name, "' needs: give it by name (",
                                                       kernel.sizes[t.value].name, "=..; to the command line --set ",
                                                       kernel.sizes[t.value].name, "=..)"));
    shape.push_back(dim.evaluate({sizes}));
    if (shape.back() < 0)
      return absl::InvalidArgumentError(absl::StrCat(locPrefix(p.loc), "parameter '", p.name,
                                                     "' would have a negative extent in dimension ", shape.size() - 1, " (", shape.back(),
                                                     ")"));
  }
  return shape;
}

} // namespace kernelc
