// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bar.sync and bar.arrive: named barriers of a block; id 0 over the whole block
// is __syncthreads.
#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

static std::string describeBarrier(const Thread &t) {
  const NamedBarrier &b = t.block->barriers[t.waitArg];
  return absl::StrCat(t.waitArg == 0 ? "__syncthreads" : absl::StrCat("barrier ", t.waitArg), " (", b.arrivals, " of ", b.expected,
                      " arrived)");
}

void Machine::joinBarrier(NamedBarrier &b, int id, int threads, uint32_t at) {
  Thread &t = self();
  unsigned expected = threads ? std::min(unsigned(threads), blockThreads_) : blockThreads_;
  if (b.arrivals == 0) {
    b.expected = expected;
    b.pc = at;
    return;
  }
  if (b.expected != expected)
    report(FindingKind::BarrierProtocol,
           absl::StrCat("barrier ", id, " is used with ", expected, " and with ", b.expected, " threads at once"), party(t, "barrier", at));
  if (id == 0 && threads == 0 && b.pc != at && !b.waiting.empty())
    report(FindingKind::BarrierDivergence, "threads of one block meet at different __syncthreads()", party(t, "barrier", at),
           party(*b.waiting.front(), "barrier", b.pc));
}

void Machine::releaseBarrier(Block &block, NamedBarrier &b) {
  std::vector<Thread *> all;
  all.swap(b.waiting);
  if (checks()) {
    ClocksRef known = join(all, b.released.get());
    for (Thread *w : all) {
      w->clocks = known;
      w->clock++;
    }
  }
  if (options_.counts)
    for (Thread *w : all)
      if (w->linear % 32 == 0)
        settleRequests(block, block.warps[w->linear / 32]);
  for (Thread *w : all) {
    w->waitArg = uint64_t(uint32_t(b.predicateSum)) << 32 | b.arrivals; // for barrierVote
    if (w != &self())
      makeReady(*w);
  }
  b.arrivals = 0;
  b.predicateSum = 0;
  b.released.reset();
  report_.counts.barriers++;
}

void Machine::barrier(int id, int threads, bool wait, int predicate, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  if (id < 0 || id > 15 || threads < 0 || threads % 32 != 0 || unsigned(threads) > (blockThreads_ + 31) / 32 * 32) {
    report(FindingKind::InvalidOperation,
           absl::StrCat("barrier ", id, " with ", threads,
                        " threads: ids are 0 to 15, counts multiples of 32 "
                        "within the block"),
           party(t, wait ? "bar.sync" : "bar.arrive", at));
    abandon();
  }
  NamedBarrier &b = t.block->barriers[id];
  joinBarrier(b, id, threads, at);
  b.arrivals++;
  b.predicateSum += predicate != 0;
  if (!wait && checks()) {
    if (!b.released)
      b.released = std::make_shared<Clocks>();
    b.released->merge(*t.clocks);
    contribute(t, *b.released);
    t.clock++;
  }
  if (wait)
    b.waiting.push_back(&t);
  if (b.arrivals >= b.expected)
    releaseBarrier(*t.block, b);
  else if (wait)
    block(describeBarrier, uint64_t(id), pc);
}

unsigned Machine::lastBarrierVote(unsigned mode) {
  uint32_t sum = uint32_t(self().waitArg >> 32), count = uint32_t(self().waitArg);
  return mode == 0 ? sum == count : mode == 1 ? sum != 0 : sum;
}

} // namespace kernelc::emulator
