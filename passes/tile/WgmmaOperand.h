// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What wgmma's matrix descriptors can say of a ring's slots (PTX ISA, "Shared memory
// matrix layout"; strides per swizzle mode in docs of ir/tile/SlotLayout.h).
#pragma once

#include <optional>
#include <string>

#include "llvm/ADT/ArrayRef.h"

namespace kernelc {

/// An operand as a matrix of outer (M or N) by K elements in one slot. All in bytes.
struct WgmmaOperand {
  bool transposed;      ///< contiguous along the outer index, not along K
  int64_t leadingBytes; ///< between panels along the outer index (transposed)
  int64_t strideBytes;  ///< between groups of eight rows
  int64_t swizzleBytes;
  int64_t elementBytes, panelWidth, panelBytes, rowBytes;

  /// From the operand's start to outer element `n`: a multiple of 8, or of the panel.
  int64_t outerOffset(int64_t n) const;
  /// From the operand's start to element `k` along K: a multiple of 32 bytes' worth.
  int64_t kOffset(int64_t k) const;
};

/// `shape` is the slot's box over the launch's indices, `outer` and `k` the indices
/// of the operand's classes, slowest first. Nothing when no descriptor describes it;
/// then `why` says so.
std::optional<WgmmaOperand> findWgmmaOperand(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, int64_t contiguous,
                                             llvm::ArrayRef<int64_t> outer, llvm::ArrayRef<int64_t> k, std::string &why);

} // namespace kernelc
