// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarriers: phases, arrivals and transaction bytes. An arrival releases, a wait
// for a complete phase acquires. The object's state lives here; its eight bytes
// in shared memory only stand for it in the checks (initialised, and ordered with
// the first use).
#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

constexpr const char *kCopyArrival = "cp.async.mbarrier.arrive";

static std::string describeMbarrier(const Thread &t) {
  for (auto &[offset, bar] : t.block->mbarriers)
    if (offset == t.waitArg >> 1)
      return absl::StrCat("parity ", t.waitArg & 1, " of the mbarrier at shared byte ", offset, " (in phase ", bar.phase, "; ",
                          bar.count - bar.pending, " of ", bar.count, " arrivals, ", bar.bytes, " bytes outstanding)");
  return "an mbarrier";
}

Mbarrier &Machine::mbarrierAt(void *p, int cta, const char *what, uint32_t pc, Block **owner, size_t *offset) {
  Thread &t = self();
  Domain &domain = *t.block->domain;
  Block *block = sharedBlockOf(t, p, 8);
  if (!block || reinterpret_cast<uintptr_t>(p) % 8)
    fail(FindingKind::OutOfBounds, absl::StrCat(what, ": not an 8-byte aligned address in shared memory"), what, pc);
  size_t at = size_t(static_cast<unsigned char *>(p) - block->shared);
  if (cta >= 0) {
    if (size_t(cta) >= domain.blocks.size())
      fail(FindingKind::InvalidOperation, absl::StrCat(what, ": the cluster has no block ", cta), what, pc);
    block = domain.blocks[size_t(cta)].get();
    checkAlive(*block, what, pc);
  }
  auto it = block->mbarriers.find(at);
  if (it == block->mbarriers.end())
    fail(FindingKind::BarrierProtocol, absl::StrCat(what, ": the mbarrier at shared byte ", at, " was never initialised"), what, pc);
  // The init must have happened before; uses order themselves.
  if (checks())
    block->shadow->visit(at, 8, [&](ShadowCell &cell, size_t) {
      if (cell.write.clock && !ordered(t, cell.write, reinterpret_cast<uintptr_t>(p)))
        report(FindingKind::DataRace, absl::StrCat("the mbarrier at shared byte ", at, " is used with no barrier after its initialisation"),
               party(t, what, pc), party(cell.write));
    });
  *owner = block;
  *offset = at;
  return it->second;
}

Mbarrier &Machine::ownMbarrier(void *p, const char *what, const char *instruction, uint32_t pc, size_t *offset) {
  Block *block;
  Mbarrier &bar = mbarrierAt(p, -1, what, pc, &block, offset);
  if (block != self().block)
    fail(FindingKind::InvalidOperation, absl::StrCat(instruction, " works on the block's own mbarriers only"), what, pc);
  return bar;
}

void Machine::mbarrierInit(void *p, unsigned count, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  if (sharedBlockOf(t, p, 8) != t.block || reinterpret_cast<uintptr_t>(p) % 8 || count == 0 || count >= (1u << 20))
    fail(FindingKind::InvalidOperation,
         absl::StrCat("mbarrier.init with count ", count,
                      ": the count is 1 to 2^20 - 1, the address an 8-byte "
                      "aligned one in the block's shared memory"),
         "mbarrier.init", at);
  access(actor(t, true, at), p, 8, true);
  Mbarrier &bar = t.block->mbarriers[size_t(static_cast<unsigned char *>(p) - t.block->shared)];
  uint16_t agent = bar.agent.index;
  bar = Mbarrier();
  bar.agent.index = agent;
  bar.count = bar.pending = count;
  bar.initialiser = &t;
}

void Machine::fenceMbarriers(Thread &t) {
  for (auto &[offset, bar] : t.block->mbarriers)
    if (bar.initialiser == &t)
      bar.initFenced = true;
}

void Machine::mbarrierStep(Block &block, Mbarrier &bar) {
  if (bar.pending || bar.bytes)
    return;
  bar.phase++;
  bar.pending = bar.count;
  bar.completed = std::move(bar.released);
  bar.released.reset();
  bar.joinedFrom.reset();
  std::vector<Thread *> waiting;
  waiting.swap(bar.waiting);
  for (Thread *w : waiting)
    makeReady(*w); // each looks again at its parity
}

bool Machine::takeArrival(Mbarrier &bar, size_t offset, const Thread &t, const char *what, uint32_t at) {
  if (bar.pending == 0) {
    report(FindingKind::BarrierProtocol,
           absl::StrCat("more than ", bar.count, " arrivals in phase ", bar.phase, " of the mbarrier at shared byte ", offset,
                        ", which still waits for ", bar.bytes, " bytes"),
           party(t, what, at));
    return false;
  }
  bar.pending--;
  if (checks() && !bar.released)
    bar.released = std::make_shared<Clocks>();
  return true;
}

void Machine::mbarrierArrive(void *p, int cta, unsigned bytes, bool expect, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  Block *block;
  size_t offset;
  Mbarrier &bar = mbarrierAt(p, cta, "mbarrier.arrive", at, &block, &offset);
  if (block != t.block)
    noteRemote(actor(t, true, at, /*atomic=*/true), *block);
  if (expect)
    bar.bytes += bytes;
  if (!takeArrival(bar, offset, t, "mbarrier.arrive", at))
    abandon();
  if (checks()) {
    bar.released->merge(*t.clocks);
    contribute(t, *bar.released);
    t.clock++;
  }
  mbarrierStep(*block, bar);
}

void Machine::cpAsyncArrive(void *p, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  size_t offset;
  ownMbarrier(p, kCopyArrival, kCopyArrival, at, &offset);
  allocateAgent(t, t.copyAgent, "cp.async");
  // What the thread copies from here on is told apart. It knows no more about its copies than before.
  t.toldCopies = ++t.copyAgent.issued;
  copyArrivals_.push_back({&t, t.toldCopies, offset, at});
}

void Machine::completeCopyArrival(size_t index) {
  CopyArrival arrival = copyArrivals_[index];
  copyArrivals_.erase(copyArrivals_.begin() + index);
  Thread &t = *arrival.thread;
  auto land = [&](std::vector<PendingCopy> &copies) {
    for (PendingCopy &copy : copies)
      if (copy.clock <= arrival.clock)
        copy.land();
  };
  for (CopyGroup &group : t.copyGroups)
    land(group.copies);
  land(t.openCopies);
  Mbarrier &bar = t.block->mbarriers[arrival.barrier];
  if (!takeArrival(bar, arrival.barrier, t, kCopyArrival, arrival.pc)) {
    abandoned_ = true; // no thread is running that could end
    return;
  }
  if (checks()) // its copies; nothing else that the thread has done
    bar.released->setSeen(t.copyAgent.index, arrival.clock);
  mbarrierStep(*t.block, bar);
}

void Machine::mbarrierWait(void *p, unsigned parity, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  size_t offset;
  Mbarrier &bar = ownMbarrier(p, "mbarrier.wait", "mbarrier.try_wait", at, &offset);
  // Parity p is complete when the phase now running has the other parity.
  while ((bar.phase & 1) == (parity & 1)) {
    bar.waiting.push_back(&t);
    this->block(describeMbarrier, uint64_t(offset) << 1 | (parity & 1), pc);
  }
  if (!checks() || !bar.completed)
    return;
  if (bar.joinedFrom != t.clocks) { // waiters mostly know the same: join once for all
    bar.joinedFrom = t.clocks;
    acquire(t, *bar.completed);
    bar.joinedTo = t.clocks;
  } else {
    t.clocks = bar.joinedTo;
  }
}

Mbarrier &Machine::beginTransfer(Transfer &op, void *bar, unsigned rank, const char *what, uint32_t at) {
  Thread &t = self();
  Domain &domain = *t.block->domain;
  Mbarrier &barrier = mbarrierAt(bar, int(rank), what, at, &op.block, &op.barrier);
  if (checks() && !barrier.initFenced)
    report(FindingKind::ProxyFence,
           absl::StrCat("the mbarrier at shared byte ", op.barrier,
                        " was initialised without fence.mbarrier_init (or fence.proxy.async) afterwards"),
           party(t, what, at));
  if (!barrier.agent.index) {
    barrier.agent.index = uint16_t(domain.agents++);
    domain.agentNames.push_back(absl::StrCat(what, "@", t.agent));
  }
  op.sequence = ++barrier.agent.issued;
  barrier.lastTransfer = op.issuer;
  return barrier;
}

void Machine::finishTransfer(const Transfer &op, size_t bytes) {
  Mbarrier &bar = op.block->mbarriers[op.barrier];
  bar.bytes -= int64_t(bytes);
  if (checks()) {
    if (!bar.released)
      bar.released = std::make_shared<Clocks>();
    bar.released->setSeen(bar.agent.index, op.sequence);
  }
  mbarrierStep(*op.block, bar);
}

void Machine::finishMbarriers(Domain &domain) {
  if (!checks())
    return;
  std::erase_if(loads_, [&](const Transfer &op) { return op.block->domain == &domain; });
  for (auto &block : domain.blocks)
    for (auto &[offset, bar] : block->mbarriers) {
      bool waited = bar.agent.issued == 0;
      for (auto &t : block->threads)
        waited |= t->clocks->seenAt(bar.agent.index) >= bar.agent.issued;
      if (!waited)
        report(FindingKind::LostAsyncWork, absl::StrCat("a ", bar.lastTransfer.what, " was never waited for"), bar.lastTransfer);
      if (bar.bytes != 0)
        report(FindingKind::BarrierProtocol,
               absl::StrCat("the mbarrier at shared byte ", offset, " ends with ", bar.bytes > 0 ? bar.bytes : -bar.bytes, " bytes ",
                            bar.bytes > 0 ? "announced and not delivered" : "delivered and not announced"),
               party(*bar.initialiser, "mbarrier", 0));
    }
}

} // namespace kernelc::emulator
