// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/tile/TileCluster.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "reference/tile/TileProgram.h"

namespace kernelc::reference {

absl::Status TileCluster::run(llvm::function_ref<absl::Status(int64_t rank)> block) {
  absl::Status first;
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < values_.size(); ++rank)
    threads.emplace_back([&, rank] {
      locks_[rank] = std::unique_lock(running_);
      absl::Status s = block(int64_t(rank));
      if (first.ok())
        first = s;
      ++ended_;
      changed_.notify_all();
      locks_[rank].unlock();
    });
  for (std::thread &t : threads)
    t.join();
  return first;
}

absl::StatusOr<std::vector<TileCluster::Values>> TileCluster::meet(int64_t rank, mlir::Operation *op, Values values) {
  auto apart = [&] {
    return absl::FailedPreconditionError(
        absl::StrCat(whereIs(op), "not all blocks of the cluster come to '", op->getName().getStringRef().str(), "'"));
  };
  if (ended_ || (here_ && op_ != op))
    return apart();
  op_ = op;
  values_[rank] = std::move(values);
  if (++here_ == values_.size()) {
    last_ = values_;
    here_ = 0;
    ++meetings_;
    changed_.notify_all();
    return last_;
  }
  size_t meeting = meetings_;
  changed_.wait(locks_[rank], [&] { return meetings_ != meeting || ended_; });
  if (meetings_ == meeting)
    return apart();
  return last_;
}

} // namespace kernelc::reference
