// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/TensorLayout.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace kernelc {
namespace {

constexpr uint32_t kLineBytes = 128;

bool isEmpty(absl::Span<const int64_t> shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

} // namespace

LayoutClass classifyLayout(ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                           absl::Span<const int> order) {
  int64_t dense = 1;
  bool isDense = true, innerUnit = true;
  if (isEmpty(shape))
    return LayoutClass::Dense;
  for (size_t i = shape.size(); i-- > 0;) {
    size_t d = order.empty() ? i : size_t(order[i]);
    bool innermost = i + 1 == shape.size();
    if (shape[d] == 1)
      continue;
    isDense &= strides[d] == dense;
    innerUnit &= innermost ? strides[d] == 1 : strides[d] > 0 && strides[d] % (128 / elementBits(type)) == 0;
    dense *= shape[d];
  }
  return isDense ? LayoutClass::Dense : innerUnit ? LayoutClass::InnerUnit : LayoutClass::Any;
}

bool readsBackwards(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  bool backwards = false;
  for (size_t d = 0; d < shape.size(); ++d)
    backwards |= shape[d] > 1 && strides[d] < 0;
  return backwards && !isEmpty(shape);
}

ParamGuard narrowestGuard(ParamKind kind, ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                          uint32_t alignment) {
  ParamGuard guard{classifyLayout(type, shape, strides), alignment};
  bool known = std::none_of(shape.begin(), shape.end(), [](int64_t n) { return n <= 1; });
  if (kind == ParamKind::Input && guard.layout == LayoutClass::Any && known) {
    std::vector<int> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return strides[a] > strides[b]; });
    guard.layout = classifyLayout(type, shape, strides, order);
    if (guard.layout != LayoutClass::Any)
      guard.order = order;
  }
  if (guard.layout == LayoutClass::InnerUnit) {
    guard.pitch = kLineBytes;
    if (!hasLayout(guard, type, shape, strides))
      guard.pitch = 16;
  }
  return guard;
}

bool hasLayout(const ParamGuard &guard, ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  if (elementBits(type) < 8 && readsBackwards(shape, strides))
    return false;
  if (classifyLayout(type, shape, strides, guard.order) > guard.layout)
    return false;
  if (guard.layout != LayoutClass::InnerUnit || isEmpty(shape))
    return true;
  for (size_t place = 0; place + 1 < shape.size(); ++place)
    if (int d = guard.dimAt(place); shape[d] > 1 && strides[d] * elementBits(type) % (int64_t(guard.pitch) * 8))
      return false;
  return true;
}

std::vector<int64_t> visibleStrides(ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> given) {
  std::vector<int64_t> strides(given.begin(), given.end());
  bool empty = isEmpty(shape);
  int64_t unit = std::max<int64_t>(1, kLineBytes * 8 / elementBits(type));
  for (size_t d = strides.size(); d-- > 0;) {
    if (shape[d] > 1 && !empty)
      continue;
    bool innermost = d + 1 == strides.size();
    int64_t inner = innermost ? 1 : std::abs(strides[d + 1]) * std::max<int64_t>(1, shape[d + 1]);
    strides[d] = innermost ? 1 : (inner + unit - 1) / unit * unit;
  }
  return strides;
}

int64_t elementSpan(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  if (isEmpty(shape))
    return 0;
  int64_t span = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    span += (shape[d] - 1) * std::abs(strides[d]);
  return span;
}

} // namespace kernelc
