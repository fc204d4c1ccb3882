// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logical time on the machine: what happened before what, for threads and their
// asynchronous stand-ins, through barriers. What atomics and fences add stands in
// AtomicOrder.cpp.
#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

bool Machine::ordered(const Thread &t, const Stamp &s, uintptr_t address) const {
  if (s.atomic && !t.clocks->observed.empty()) {
    auto it = t.clocks->observed.find(address & ~uintptr_t(3));
    if (it != t.clocks->observed.end() && it->second >= s.atomic)
      return true;
  }
  if (s.domain != t.block->domain->id) {
    auto it = t.clocks->others.find(s.domain);
    return it != t.clocks->others.end() && it->second->seenAt(s.agent) >= s.clock;
  }
  if (s.agent == t.agent)
    return true;
  if (s.agent >= blockThreads_ * spec_.cluster) {
    if (s.agent == t.copyAgent.index && s.clock <= t.copyAgent.done)
      return true;
    if (s.agent == t.bulkAgent.index && s.clock <= t.bulkAgent.done)
      return true;
    if (s.agent == t.storeAgent.index && s.clock <= t.storeAgent.done)
      return true;
    if (s.agent == wgmmaAgent(t) && s.clock <= t.wgmmaWaited)
      return true;
  }
  return t.clocks->seenAt(s.agent) >= s.clock;
}

bool Machine::fencedBefore(const Thread &t, const Stamp &s) const {
  if (s.domain != t.block->domain->id) {
    auto it = t.clocks->others.find(s.domain);
    return it != t.clocks->others.end() && it->second->fencedAt(s.agent) >= s.clock;
  }
  if (s.agent == t.agent)
    return t.fencedClock >= s.clock;
  if (s.agent == t.copyAgent.index && t.copyAgent.index)
    return t.copyAgent.fenced >= s.clock;
  return t.clocks->fencedAt(s.agent) >= s.clock;
}

/// A barrier or an arrival orders a load with what others do through the generic proxy, but does
/// not wait for it: it may still be queued when a tensor copy of the thread that was waiting comes
/// past it (an H200 lost thousands of elements so). What ends a read for the async proxy is a proxy
/// fence of the reader behind it, or that its value has been used up: a wgmma that takes operand A
/// from registers reads registers that the loads before it have filled (a warp's loads from shared
/// memory return in order, so that the last of them stands for all), and has read them once the
/// thread has waited for it. mma.sync and arithmetic say nothing of the kind: nothing keeps them
/// before an arrival that does not depend on them. cp.async has read its source when it is waited for.
bool Machine::readIsOver(const Thread &t, const Stamp &s) const {
  if (s.agent >= blockThreads_ * spec_.cluster || fencedBefore(t, s))
    return true;
  if (s.domain != t.block->domain->id) {
    auto it = t.clocks->others.find(s.domain);
    return it != t.clocks->others.end() && it->second->consumedAt(s.agent) >= s.clock;
  }
  return (s.agent == t.agent ? t.consumedClock : t.clocks->consumedAt(s.agent)) >= s.clock;
}

bool Machine::covers(const Actor &who, const Stamp &s, uintptr_t address) const {
  const Thread &t = *who.thread;
  if (!ordered(t, s, address))
    return false;
  return !hasTensorMaps_ || (s.flags & Stamp::AsyncProxy) || (s.agent == who.agent && s.domain == t.block->domain->id) || readIsOver(t, s);
}

void Machine::contribute(const Thread &t, Clocks &into) const {
  into.setSeen(t.agent, t.clock);
  into.setFenced(t.agent, t.fencedClock);
  if (t.consumedClock)
    into.setConsumed(t.agent, t.consumedClock);
  for (const Agent *a : {&t.copyAgent, &t.bulkAgent, &t.storeAgent})
    if (a->index) {
      into.setSeen(a->index, a->done);
      into.setFenced(a->index, a->fenced);
    }
  if (uint16_t products = wgmmaAgent(t))
    into.setSeen(products, t.wgmmaWaited);
}

ClocksRef Machine::join(const std::vector<Thread *> &threads, const Clocks *extra) {
  auto all = std::make_shared<Clocks>();
  const Clocks *last = nullptr;
  for (Thread *t : threads)
    if (t->clocks.get() != last) {
      last = t->clocks.get();
      all->merge(*last);
    }
  if (extra)
    all->merge(*extra);
  for (Thread *t : threads)
    contribute(*t, *all);
  return all;
}

void Machine::acquire(Thread &t, const Clocks &what) {
  auto mine = std::make_shared<Clocks>(*t.clocks);
  mine->merge(what);
  t.clocks = std::move(mine);
}

uint16_t Machine::wgmmaAgent(const Thread &t) const {
  unsigned group = t.linear / 128;
  return group < t.block->warpgroups.size() ? t.block->warpgroups[group].agent : uint16_t(0);
}

void Machine::allocateAgent(Thread &t, Agent &agent, const char *name) {
  if (agent.index)
    return;
  Domain &d = *t.block->domain;
  agent.index = uint16_t(d.agents++);
  d.agentNames.push_back(absl::StrCat(name, "@", t.agent));
}

} // namespace kernelc::emulator
