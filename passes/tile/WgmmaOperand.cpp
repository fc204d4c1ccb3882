// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/WgmmaOperand.h"

#include "ir/tile/SlotLayout.h"
#include "llvm/ADT/STLExtras.h"

namespace kernelc {

int64_t WgmmaOperand::outerOffset(int64_t n) const {
  if (!transposed)
    return n * rowBytes;
  return n / panelWidth * panelBytes + n % panelWidth * elementBytes;
}

int64_t WgmmaOperand::kOffset(int64_t k) const {
  if (transposed)
    return k * rowBytes;
  return k / panelWidth * panelBytes + k % panelWidth * elementBytes;
}

std::optional<WgmmaOperand> findWgmmaOperand(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, int64_t contiguous,
                                             llvm::ArrayRef<int64_t> outer, llvm::ArrayRef<int64_t> k, std::string &why) {
  auto no = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  auto tiled = [&](llvm::ArrayRef<int64_t> dims) { return llvm::count_if(dims, [&](int64_t d) { return shape[d] > 1; }); };
  if (!llvm::is_sorted(outer) || !llvm::is_sorted(k))
    return no("its indices stand in another order than the launch's");
  tile::SlotLayout slot(shape, elementBytes, contiguous);
  WgmmaOperand o{};
  o.transposed = llvm::is_contained(outer, contiguous);
  if (o.transposed && elementBytes != 2)
    return no("only 16-bit types may be contiguous along rows or columns");
  // Rows of a panel are one class, in its order; the contiguous index is all of the other.
  if (tiled(o.transposed ? outer : k) != 1)
    return no("the contiguous index is tiled together with another of its class");
  if (slot.swizzleBytes == 0)
    return no("rows are shorter than 32 bytes");
  if (slot.rows % 8)
    return no("there are fewer than eight rows");
  o.swizzleBytes = slot.swizzleBytes;
  o.elementBytes = elementBytes;
  o.panelWidth = slot.width;
  o.rowBytes = slot.width * elementBytes;
  o.panelBytes = slot.rows * o.rowBytes;
  o.strideBytes = 8 * o.rowBytes;
  o.leadingBytes = o.transposed ? o.panelBytes : 16;
  return o;
}

} // namespace kernelc
