// What happens to memory that several statements write to, statement by statement: an `inout`'s above all, and that of an
// output or a workspace which is written in parts. A statement that reads such memory reads what was there before the next
// statement that writes the same elements: it runs earlier, or in the same launch and block, or it reads a copy.
#pragma once

#include "ir/te/Te.h"
#include "passes/te/PlanAttr.h"

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

/// Whether `read`, in the body of `writer`, reads the element that its point writes.
bool readsOwnPoint(ReadOp read, mlir::Operation *writer);

/// Whether `writer` is known to write no element that `read` reads, which stands in the body of `reader`.
bool readsApart(ReadOp read, mlir::Operation *reader, mlir::Operation *writer);

/// Whether `later` needs what `op` computes, at one remove or several.
bool dependsOn(mlir::Operation *later, mlir::Operation *op);

/// Whether reader's block has read all that `read` reads when it writes, where reader and writer are in launch `l`: the reader is
/// a reduction that the writer waits for, and what a block reads no other one writes.
bool isReadBeforeWritten(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, ReadOp read, mlir::Operation *reader,
                         mlir::Operation *writer);

} // namespace kernelc::te
