// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/tile/SlotLayout.h"

#include <algorithm>

namespace kernelc::tile {

SlotLayout::SlotLayout(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, int64_t contiguousDim, int64_t pad)
    : contiguous(contiguousDim), rowStride(shape.size(), 0) {
  int64_t extent = shape[contiguous];
  bool swizzled = pad == kSwizzled;
  width = swizzled ? std::min(extent, 128 / elementBytes) : extent;
  if (int64_t whole = extent & -extent; swizzled && (extent % width || width & (width - 1)))
    width = std::min(whole, 128 / elementBytes);
  pitch = swizzled ? width : width + pad;
  rows = 1;
  for (size_t d = shape.size(); d-- > 0;)
    if (int64_t(d) != contiguous) {
      rowStride[d] = rows;
      rows *= shape[d];
    }
  elements = swizzled ? rows * extent : rows * pitch;
  int64_t bytes = width * elementBytes;
  swizzleBytes = bytes >= 32 && swizzled ? bytes : 0;
  chunk = std::min(width, 16 / elementBytes);
  chunks = width / chunk;
  rowShift = bytes >= 128 ? 0 : bytes >= 64 ? 1 : 2;
}

int64_t paddingOf(int64_t extent, int64_t elementBytes) { return extent * elementBytes % 32 == 0 ? 16 / elementBytes : 0; }

} // namespace kernelc::tile
