// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logical time for the race checks. An *agent* is a thread of a domain (a block,
// or the blocks of a cluster) or an asynchronous operation's stand-in; its clock
// counts its releases. A Clocks value says, per agent, up to which time its
// accesses are known to have happened. Values are immutable and shared: after a
// barrier all threads hold the same one.
//
// Three vectors: `seen` orders ordinary accesses; `fenced` holds only what also went
// through fence.proxy.async, for accesses in the async proxy; `consumed`, of reads alone,
// what a product has taken from the registers that they filled (MachineClocks.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace kernelc::emulator {

struct Clocks;
using ClocksRef = std::shared_ptr<const Clocks>;

struct Clocks {
  std::vector<uint32_t> seen, fenced, consumed;
  /// What is known of other domains (through atomics and fences), by domain.
  std::map<uint32_t, ClocksRef> others;
  /// Per word address, the last atomic this side has observed there and fenced:
  /// coherence puts all atomics up to that one before what follows.
  std::map<uintptr_t, uint32_t> observed;

  uint32_t seenAt(unsigned agent) const { return agent < seen.size() ? seen[agent] : 0; }
  uint32_t fencedAt(unsigned agent) const { return agent < fenced.size() ? fenced[agent] : 0; }
  uint32_t consumedAt(unsigned agent) const { return agent < consumed.size() ? consumed[agent] : 0; }
  void setSeen(unsigned agent, uint32_t clock);
  void setFenced(unsigned agent, uint32_t clock);
  void setConsumed(unsigned agent, uint32_t clock);
  /// Takes the later time of every agent.
  void merge(const Clocks &other);
  void mergeOther(uint32_t domain, const ClocksRef &clocks);
};

/// One access on record. Clock 0 means none.
struct Stamp {
  /// Anything: a read of what nobody may have written; what comes of it may go nowhere, and is wrong if it does.
  enum Flags : uint16_t { Atomic = 1, AsyncProxy = 2, Write = 4, Once = 8, Anything = 16 };
  uint32_t domain = 0;
  uint16_t agent = 0;
  uint16_t flags = 0;
  uint32_t clock = 0;
  uint32_t pc = 0;     ///< offset in the host build's image
  uint32_t atomic = 0; ///< number of the atomic in launch order, 0 for others
};

} // namespace kernelc::emulator
