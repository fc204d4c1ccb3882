// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of one cluster that exchange values: a thread each, of which one runs at a time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mlir/IR/Operation.h"
#include "reference/tile/TileValue.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kernelc::reference {

class TileCluster {
public:
  using Values = std::vector<TileValue>;
  explicit TileCluster(int64_t blocks) : values_(blocks), locks_(blocks) {}

  /// Runs `block` for every rank; the first failure.
  absl::Status run(llvm::function_ref<absl::Status(int64_t rank)> block);

  /// What every block brings to `op`. An error where one of them comes to another op, or to none.
  absl::StatusOr<std::vector<Values>> meet(int64_t rank, mlir::Operation *op, Values values);

private:
  std::mutex running_;
  std::condition_variable changed_;
  std::vector<Values> values_, last_;
  std::vector<std::unique_lock<std::mutex>> locks_; ///< of `running_`, by rank
  mlir::Operation *op_ = nullptr;                   ///< where the blocks meet now
  size_t here_ = 0, ended_ = 0, meetings_ = 0;
};

} // namespace kernelc::reference
