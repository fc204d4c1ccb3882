// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tensors of a kernel lie in one memory, one after the other, and who overwrites what a statement reads: of an `inout`, and
// of outputs and workspaces that several statements write.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Where each tensor of a kernel lies.
struct Places {
  /// Parameters by their numbers, outputs that update none behind them, workspaces -1, -2, ..
  llvm::DenseMap<mlir::Value, int64_t> source;
  /// An output that would have to be in two places.
  std::optional<unsigned> torn;
};
Places placeTensors(KernelOp kernel);

/// The tensors that lie in one memory, in the order in which it comes to hold them: the argument, where there is one, and what
/// each statement leaves. A later one has overwritten an earlier one in whole or in part, whether it reads it or not.
struct Memory {
  llvm::SmallVector<mlir::Value> versions;
  llvm::StringRef name;
};

/// All memory of a kernel that is written to after it holds something; a snapshot: of the order of statements, too.
class Memories {
public:
  explicit Memories(KernelOp kernel);

  /// Outputs in their order, then workspaces.
  llvm::ArrayRef<Memory> all() const { return memories_; }
  /// The memory of a tensor, with its place among the versions; null where nothing is overwritten.
  const Memory *find(mlir::Value tensor, size_t &version) const;
  /// The first statement after it was written that may overwrite what `read`, in the body of `reader`, reads; null where there is none.
  /// What `reader` itself overwrites at the point that reads it does not count.
  mlir::Operation *findOverwriter(ReadOp read, mlir::Operation *reader) const;

private:
  std::vector<Memory> memories_;
  llvm::DenseMap<mlir::Value, std::pair<size_t, size_t>> at_; ///< memory, version
};

} // namespace kernelc::te
