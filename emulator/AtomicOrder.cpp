// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What fences and atomics order. An atomic that writes publishes what its thread knew
// at its last fence; one that reads learns what was published there, once its thread
// fences again. Release and acquire do the same for one atomic. A fence of the block
// reaches the threads of the domain only.
#include "emulator/Machine.h"

namespace kernelc::emulator {
namespace {

/// What a reader of `domain` finds at an address: for its next fence, or for its next
/// fence of the device.
void gather(uint32_t domain, const Published &from, Clocks &nearby, Clocks &all) {
  for (auto [address, number] : from.all.observed)
    nearby.observed[address] = number;
  if (auto own = from.nearby.find(domain); own != from.nearby.end())
    nearby.merge(*own->second);
  for (const auto &[publisher, clocks] : from.all.others) {
    if (publisher == domain) {
      nearby.merge(*clocks);
      continue;
    }
    all.mergeOther(publisher, clocks);
    for (const auto &[further, known] : clocks->others)
      if (further != domain)
        all.mergeOther(further, known);
  }
}

void mergeInto(std::shared_ptr<Clocks> &pending, const Clocks &what) {
  if (!pending)
    pending = std::make_shared<Clocks>();
  pending->merge(what);
}

} // namespace

void Machine::fence(Thread &t, int scope) {
  if (!checks())
    return;
  if (scope == 3) {
    t.fencedClock = t.clock++;
    t.copyAgent.fenced = t.copyAgent.done;
    fenceMbarriers(t);
    return;
  }
  bool ofDevice = scope > 0;
  for (std::shared_ptr<Clocks> *pending : {&t.pendingNearby, ofDevice ? &t.pendingAcquire : nullptr})
    if (pending && *pending) {
      acquire(t, **pending);
      pending->reset();
    }
  t.releasedNearby = snapshot(t);
  if (ofDevice)
    t.released = t.releasedNearby;
  t.clock++;
}

ClocksRef Machine::snapshot(const Thread &t) const {
  auto known = std::make_shared<Clocks>(*t.clocks);
  contribute(t, *known);
  return known;
}

void Machine::atomicOrder(Thread &t, const void *p, size_t size, bool reads, bool writes, kce::Order order) {
  uint32_t domain = t.block->domain->id;
  bool acquires = unsigned(order) & unsigned(kce::Order::Acquire), releases = unsigned(order) & unsigned(kce::Order::Release);
  if (auto it = atomics_.find(p); reads && it != atomics_.end()) {
    Clocks nearby, all;
    gather(domain, it->second, nearby, all);
    if (acquires) {
      acquire(t, nearby);
      acquire(t, all);
    } else {
      mergeInto(t.pendingNearby, nearby);
      mergeInto(t.pendingAcquire, all);
    }
  }
  if (!writes)
    return;
  Published &published = atomics_[p];
  if (!reads)
    published = Published();
  for (size_t i = 0; i < size; i += 4)
    published.all.observed[(reinterpret_cast<uintptr_t>(p) + i) & ~uintptr_t(3)] = atomicCount_;
  ClocksRef everywhere = releases ? snapshot(t) : t.released, nearby = releases ? everywhere : t.releasedNearby;
  if (everywhere) {
    published.all.mergeOther(domain, everywhere);
    for (const auto &[further, known] : everywhere->others)
      published.all.mergeOther(further, known);
  }
  if (nearby && nearby != everywhere) {
    auto both = std::make_shared<Clocks>(*nearby);
    ClocksRef &known = published.nearby[domain];
    if (known)
      both->merge(*known);
    known = both;
  }
  if (releases)
    t.clock++;
}

} // namespace kernelc::emulator
