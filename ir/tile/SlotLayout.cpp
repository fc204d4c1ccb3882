#include "ir/tile/SlotLayout.h"

#include <algorithm>

namespace kernelc::tile {

SlotLayout::SlotLayout(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, int64_t contiguousDim)
    : contiguous(contiguousDim), rowStride(shape.size(), 0) {
  int64_t extent = shape[contiguous];
  width = std::min(extent, 128 / elementBytes);
  rows = 1;
  for (size_t d = shape.size(); d-- > 0;)
    if (int64_t(d) != contiguous) {
      rowStride[d] = rows;
      rows *= shape[d];
    }
  elements = rows * extent;
  int64_t bytes = width * elementBytes;
  swizzleBytes = bytes >= 32 ? bytes : 0;
  chunk = std::min(width, 16 / elementBytes);
  chunks = width / chunk;
  rowShift = bytes >= 128 ? 0 : bytes >= 64 ? 1 : 2;
}

} // namespace kernelc::tile
