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
  // Slowest first; behind a pad those before the contiguous dim come last.
  int64_t rank = int64_t(shape.size());
  for (int64_t d = swizzled ? 0 : contiguous + 1; d < rank; ++d)
    if (d != contiguous)
      rowDims.push_back(d);
  for (int64_t d = 0; !swizzled && d < contiguous; ++d)
    rowDims.push_back(d);
  for (size_t n = rowDims.size(); n-- > 0;) {
    rowStride[rowDims[n]] = rows;
    rows *= shape[rowDims[n]];
  }
  elements = swizzled ? rows * extent : rows * pitch;
  int64_t bytes = width * elementBytes;
  swizzleBytes = bytes >= 32 && swizzled ? bytes : 0;
  chunk = std::min(width, 16 / elementBytes);
  chunks = width / chunk;
  rowShift = bytes >= 128 ? 0 : bytes >= 64 ? 1 : 2;
}

size_t packedDims(llvm::ArrayRef<int64_t> shape, int64_t contiguous, llvm::ArrayRef<int64_t> dims) {
  size_t packed = 0;
  int64_t next = contiguous; // the dim that lies there next
  for (size_t i = dims.size(); i-- > 0;) {
    if (shape[dims[i]] == 1)
      continue;
    while (packed && next >= 0 && shape[next] == 1)
      --next;
    if (dims[i] != next)
      break;
    ++packed;
    --next;
  }
  return packed;
}

int64_t paddingOf(int64_t extent, int64_t elementBytes) { return extent * elementBytes % 32 == 0 ? 16 / elementBytes : 0; }

} // namespace kernelc::tile
