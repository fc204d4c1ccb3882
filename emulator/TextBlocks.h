// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the blocks of an emitted text do: which of them are as good run once too often, or once too seldom.
#pragma once

#include <string>
#include <vector>

namespace kernelc::emulator {

/// What the emulator follows: a race, a stale read or a lost completion that one of
/// these prevents is a finding without it, whatever the schedule of the run.
inline constexpr const char *kSynchronising[] = {
    "__syncthreads(",      "__syncwarp(",        "__threadfence",      "kc_bar_sync(",           "kc_bar_arrive(",
    "kc_cluster_sync(",    "kc_cluster_arrive(", "kc_cluster_wait(",   "kc_cp_async_wait<",      "kc_cp_async_commit(",
    "kc_cp_async_arrive(", "kc_mbarrier_wait(",  "kc_mbarrier_arrive", "kc_mbarrier_expect_tx(", "kc_fence_",
    "kc_wgmma_fence(",     "kc_wgmma_commit(",   "kc_wgmma_wait<",     "kc_tma_commit(",         "kc_tma_wait"};

/// Whether the block that line `open` opens only synchronises, and prefetches: where nothing needs the calls, too many
/// of them are as good as too few.
bool holdsOnlySynchronisation(const std::vector<std::string> &lines, size_t open);

/// Whether the block that line `open` opens writes nothing but shared memory and variables of its own.
bool writesOnlyInside(const std::vector<std::string> &lines, size_t open);

/// Whether what the block that line `open` opens writes of others is written under masks of its own.
bool writesUnderMasks(const std::vector<std::string> &lines, size_t open);

/// Whether the block that line `open` opens, `if (v != 0) {`, only adds v to something.
bool addsNothing(const std::vector<std::string> &lines, size_t open);

/// Whether the block that line `open` opens is the last round of a loop over tiles: full of masks, and passed by where there is nothing
/// left.
bool isLastRound(const std::vector<std::string> &lines, size_t open);

/// Whether the block that line `open` opens only brings data into shared memory, asynchronously or through
/// registers of its own, and does nothing else: done once too often it is not read, or a race, which is a finding.
bool holdsOnlyCopies(const std::vector<std::string> &lines, size_t open);

/// Whether the block that line `open` opens does nothing but set registers of the thread; `set` gets the lines that set
/// those which are there before and behind it.
bool findRegisters(const std::vector<std::string> &lines, size_t open, std::vector<size_t> &set);

} // namespace kernelc::emulator
