#include "support/TensorLayout.h"

#include <algorithm>
#include <cstdlib>

namespace kernelc {
namespace {

bool isEmpty(absl::Span<const int64_t> shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

} // namespace

LayoutClass classifyLayout(ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  int64_t dense = 1;
  bool isDense = true, innerUnit = true;
  if (isEmpty(shape))
    return LayoutClass::Dense;
  for (size_t d = shape.size(); d-- > 0;) {
    bool innermost = d + 1 == shape.size();
    if (shape[d] == 1)
      continue;
    isDense &= strides[d] == dense;
    innerUnit &= innermost ? strides[d] == 1 : strides[d] > 0 && strides[d] % (128 / elementBits(type)) == 0;
    dense *= shape[d];
  }
  return isDense ? LayoutClass::Dense : innerUnit ? LayoutClass::InnerUnit : LayoutClass::Any;
}

std::vector<int64_t> visibleStrides(ElementType type, absl::Span<const int64_t> shape, absl::Span<const int64_t> given) {
  std::vector<int64_t> strides(given.begin(), given.end());
  bool empty = isEmpty(shape);
  int64_t unit = std::max(1, 128 / elementBits(type));
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
