// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who touches which memory that threads share, and whether two such accesses can meet
// at one address: what cu-barriers reasons with. Facts only: nothing here changes IR.
#pragma once

#include "passes/cu/IndexRanges.h"
#include "passes/cu/LinearIndex.h"
#include "passes/cu/ThreadSets.h"

namespace kernelc {

/// One access of one op to shared memory, or to a tensor that the kernel both reads
/// and writes.
struct SharedAccess {
  enum Kind { Read, Write, Signal }; ///< Signal: an mbarrier's own, atomic
  mlir::Operation *op;
  Kind kind;
  mlir::Value memory;
  mlir::Value index; ///< null: anywhere in `memory`
  int64_t width;     ///< neighbours from `index` on
  bool async;        ///< done only when a cp_async_wait says so
  bool isOrdered;    ///< by something else than barriers of all threads, or in global memory
};

/// How an access that has been made and one that follows lie to each other: in the same
/// round of every loop around both, or the first in an earlier round of `loop`, in the
/// one just before if `previous`.
struct Age {
  mlir::scf::ForOp loop;
  bool previous = false;
  bool operator==(const Age &o) const { return loop == o.loop && previous == o.previous; }
};

class SharedAccesses {
public:
  explicit SharedAccesses(cu::KernelOp kernel);

  llvm::ArrayRef<SharedAccess> all() const { return accesses_; }
  /// The numbers of the accesses of an op, those in its regions included.
  llvm::ArrayRef<unsigned> of(mlir::Operation *op) const {
    auto it = byOp_.find(op);
    return it == byOp_.end() ? llvm::ArrayRef<unsigned>() : it->second;
  }
  /// Accesses of memory that access `n` touches too, at least one of the two writing.
  llvm::ArrayRef<unsigned> peersOf(unsigned n) const { return peers_[n]; }
  /// The threads that may make it.
  const llvm::BitVector &threadsOf(unsigned n) { return threads_.atMost(accesses_[n].op->getBlock()); }
  ThreadSets &threads() { return threads_; }
  IndexRanges &ranges() { return ranges_; }

  /// Whether a thread may make access `second` where another has made `first`.
  bool mayMeet(unsigned first, Age age, unsigned second);

private:
  /// What is left of a difference: the values that are not the same on both sides.
  struct Difference {
    int64_t constant = 0;
    llvm::SmallVector<std::tuple<mlir::Value, int64_t, bool>> left; ///< value, factor, of the first
  };

  void add(mlir::Operation *op, SharedAccess::Kind kind, mlir::Value memory, mlir::ValueRange indices, int64_t width, bool async = false);
  void collect(mlir::Operation *op);
  bool overlap(const SharedAccess &a, const SharedAccess &b);
  LinearIndex decompose(mlir::Value v, mlir::Operation *user, bool fully);
  Difference subtract(mlir::Value x, mlir::Operation *user, Age age, mlir::Value y, mlir::Operation *other, bool fully);
  bool isApart(const SharedAccess &a, Age age, const SharedAccess &b);
  bool isOneThreadEach(const SharedAccess &a, mlir::scf::ForOp loop);
  bool isOneThreadEach(const SharedAccess &a, const SharedAccess &b, mlir::scf::ForOp loop);
  static bool areVersions(const SharedAccess &a, const SharedAccess &b);
  /// Whom an access leads where.
  struct Visits {
    std::vector<std::pair<int64_t, int64_t>> places; ///< address and thread
    std::map<const void *, int64_t> same;            ///< what all addresses have beside: uniform values, and their factors
  };
  std::optional<Visits> visitsOf(const SharedAccess &a, mlir::scf::ForOp loop);
  bool tryOut(const SharedAccess &a, mlir::scf::ForOp loop);

  cu::KernelOp kernel_;
  IndexRanges ranges_;
  ThreadSets threads_;
  std::vector<SharedAccess> accesses_;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned>> byOp_;
  std::vector<llvm::SmallVector<unsigned>> peers_;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Operation *>, bool> oneThreadEach_; ///< by access and loop
  std::map<std::tuple<unsigned, mlir::Operation *, bool, unsigned>, bool> meet_;
};

} // namespace kernelc
