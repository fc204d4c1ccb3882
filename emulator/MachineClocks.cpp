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
    if (const Agent *mma = wgmmaAgent(t); mma && s.agent == mma->index && s.clock <= mma->done)
      return true;
  }
  return t.clocks->seenAt(s.agent) >= s.clock;
}

bool Machine::fencedBefore(const Thread &t, const Stamp &s) const {
  if (s.domain != t.block->domain->id)
    return true;
  if (s.agent == t.agent)
    return t.fencedClock >= s.clock;
  if (s.agent == t.copyAgent.index && t.copyAgent.index)
    return t.copyAgent.fenced >= s.clock;
  return t.clocks->fencedAt(s.agent) >= s.clock;
}

void Machine::contribute(const Thread &t, Clocks &into) const {
  into.setSeen(t.agent, t.clock);
  into.setFenced(t.agent, t.fencedClock);
  for (const Agent *a : {&t.copyAgent, &t.bulkAgent, &t.storeAgent, wgmmaAgent(t)})
    if (a && a->index) {
      into.setSeen(a->index, a->done);
      into.setFenced(a->index, a->fenced);
    }
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

const Agent *Machine::wgmmaAgent(const Thread &t) const {
  unsigned group = t.linear / 128;
  return group < t.block->warpgroups.size() ? &t.block->warpgroups[group].agent : nullptr;
}

void Machine::allocateAgent(Thread &t, Agent &agent, const char *name) {
  if (agent.index)
    return;
  Domain &d = *t.block->domain;
  agent.index = uint16_t(d.agents++);
  d.agentNames.push_back(absl::StrCat(name, "@", t.agent));
}

} // namespace kernelc::emulator
