// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Rebinding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kernelc {

Rebinding::Rebinding(const Kernel &kernel, CheckedArgs args, const Variant *variant) : args_(std::move(args)) {
  for (size_t i = 0; i < args_.values.size(); ++i) {
    Span span;
    if (const DeviceTensor *t = args_.tensor(int(i))) {
      int64_t low = 0, high = 0, bits = elementBits(t->type);
      bool empty = std::find(t->shape.begin(), t->shape.end(), 0) != t->shape.end();
      for (size_t d = 0; d < t->shape.size() && !empty; ++d)
        (t->strides[d] < 0 ? low : high) += t->strides[d] * (t->shape[d] - 1);
      uintptr_t alignment =
          std::max<uintptr_t>(std::max<int64_t>(1, bits / 8), variant && i < variant->params.size() ? variant->params[i].alignment : 1);
      span = {empty ? 0 : (low * bits - 7) / 8, empty ? 0 : ((high + 1) * bits + 7) / 8, alignment, true};
    }
    spans_.push_back(span);
  }
  for (size_t i = 0; i < spans_.size(); ++i)
    for (size_t j = 0; j < spans_.size(); ++j)
      if (mustBeApart(kernel, i, j))
        apart_.emplace_back(i, j);
}

absl::Status Rebinding::checkAddress(const Param &param, const Span &span, void *data) const {
  if (span.begin == span.end)
    return absl::OkStatus();
  if (!data)
    return absl::InvalidArgumentError(absl::StrCat(locPrefix(param.loc), "parameter '", param.name, "': is null"));
  if (reinterpret_cast<uintptr_t>(data) % span.alignment)
    return absl::FailedPreconditionError(absl::StrCat(locPrefix(param.loc), "parameter '", param.name,
                                                      "': expected an address that is a multiple of ", span.alignment,
                                                      " bytes, which the bound code needs; bind again"));
  return absl::OkStatus();
}

bool Rebinding::overlap(size_t a, size_t b, absl::Span<const NewArgument> values) const {
  const Span &sa = spans_[a], &sb = spans_[b];
  auto *da = static_cast<char *>(values[a].data), *db = static_cast<char *>(values[b].data);
  if (da + sa.begin >= db + sb.end || db + sb.begin >= da + sa.end)
    return false;
  DeviceTensor ta = *args_.tensor(int(a)), tb = *args_.tensor(int(b));
  ta.data = da;
  tb.data = db;
  return mayOverlap(ta, tb);
}

absl::Status Rebinding::replace(const Kernel &kernel, absl::Span<const NewArgument> values) {
  if (values.size() != spans_.size())
    return absl::InvalidArgumentError(
        absl::StrCat(locPrefix(kernel.loc), "kernel '", kernel.name, "' takes ", spans_.size(), " arguments, got ", values.size()));
  for (size_t i = 0; i < spans_.size(); ++i)
    if (spans_[i].isTensor)
      if (absl::Status s = checkAddress(kernel.params[i], spans_[i], values[i].data); !s.ok())
        return s;
  for (auto [i, j] : apart_)
    if (overlap(i, j, values))
      return overlapError(kernel, i, j);
  for (size_t i = 0; i < spans_.size(); ++i)
    if (auto *t = std::get_if<DeviceTensor>(&args_.values[i]))
      t->data = values[i].data;
    else
      std::get<ScalarValue>(args_.values[i]).bits = values[i].bits;
  return absl::OkStatus();
}

} // namespace kernelc
