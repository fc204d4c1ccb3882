// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensors of a run, by source number: the kernel's parameters and its
// workspaces. Knows element types; every access is checked against the extents.
#pragma once

#include <map>
#include <memory>

#include "absl/types/span.h"
#include "reference/tile/TileValue.h"
#include "support/TensorView.h"

namespace kernelc::reference {

class TileMemory {
public:
  explicit TileMemory(absl::Span<const TensorView> params) : params_(params.begin(), params.end()) {}
  /// Parameter `source`, or workspace -1 - w: made of `type` and `shape` at its first
  /// need, of bytes that are no sensible value.
  const TensorView &tensor(int64_t source, ElementType type, const std::vector<int64_t> &shape);

  /// Takes what a block has left in memory of its own: the next one finds bytes of no sensible value.
  void forgetOwn();

private:
  std::vector<TensorView> params_;
  std::map<int64_t, TensorView> workspaces_;
  std::vector<std::unique_ptr<uint64_t[]>> storage_;
};

/// Whether `at` lies inside `t`.
bool isInside(const TensorView &t, llvm::ArrayRef<int64_t> at);
TileElement readElement(const TensorView &t, llvm::ArrayRef<int64_t> at);
void writeElement(const TensorView &t, llvm::ArrayRef<int64_t> at, TileElement v);

} // namespace kernelc::reference
