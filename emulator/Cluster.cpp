// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clusters: their barrier; and the register pool of setmaxnreg, which a block's warps
// trade among themselves.
#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

static std::string describeCluster(const Thread &t) {
  const NamedBarrier &b = t.block->domain->cluster;
  return absl::StrCat("the cluster barrier (", b.arrivals, " of ", b.expected, " arrived)");
}
static std::string describeRegisters(const Thread &t) {
  return absl::StrCat("setmaxnreg.inc to ", t.waitArg, " registers (", t.block->spareRegisters, " registers of the block are free)");
}

void Machine::clusterBarrier(bool arrive, bool wait, const void *pc) {
  Thread &t = self();
  Domain &domain = *t.block->domain;
  NamedBarrier &b = domain.cluster;
  b.expected = blockThreads_ * spec_.cluster;
  if (arrive) {
    if (t.clusterArrived)
      fail(FindingKind::BarrierProtocol, "a thread arrives twice at the cluster barrier and has not waited between", "cluster barrier",
           offsetOf(pc));
    t.clusterPhase = domain.clusterPhase;
    if (checks()) {
      if (!b.released)
        b.released = std::make_shared<Clocks>();
      b.released->merge(*t.clocks);
      contribute(t, *b.released);
      t.clock++;
    }
    if (++b.arrivals == b.expected) {
      domain.clusterPhase++;
      report_.counts.barriers++;
      b.arrivals = 0;
      // What this phase released stays for those who wait later.
      for (auto &block : domain.blocks)
        for (auto &other : block->threads)
          other->clusterReleased = b.released;
      b.released.reset();
      std::vector<Thread *> waiting;
      waiting.swap(b.waiting);
      for (Thread *w : waiting)
        makeReady(*w);
    }
  }
  if (!wait) {
    t.clusterArrived = true;
    return;
  }
  if (!arrive && !t.clusterArrived)
    fail(FindingKind::BarrierProtocol, "a thread waits at the cluster barrier and has not arrived", "cluster barrier", offsetOf(pc));
  t.clusterArrived = false;
  if (t.clusterPhase == domain.clusterPhase) {
    b.waiting.push_back(&t);
    block(describeCluster, 0, pc);
  }
  if (t.clusterReleased) {
    acquire(t, *t.clusterReleased);
    t.clusterReleased.reset();
  }
}

void Machine::setMaxRegisters(int count, bool increase, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  if (count < 24 || count > 256 || count % 8)
    fail(FindingKind::InvalidOperation, absl::StrCat("setmaxnreg ", count, ": multiples of 8 from 24 to 256"), "setmaxnreg", at);
  if (increase ? count < t.registers : count > t.registers)
    fail(FindingKind::InvalidOperation,
         absl::StrCat("setmaxnreg.", increase ? "inc" : "dec", " to ", count, " from ", t.registers, " registers"), "setmaxnreg", at);
  Block &b = *t.block;
  while (b.spareRegisters < count - t.registers) {
    b.waitingForRegisters.push_back(&t);
    block(describeRegisters, uint64_t(count), pc);
  }
  b.spareRegisters -= count - t.registers;
  t.registers = count;
  std::vector<Thread *> waiting;
  waiting.swap(b.waitingForRegisters);
  for (Thread *w : waiting)
    makeReady(*w);
}

} // namespace kernelc::emulator
