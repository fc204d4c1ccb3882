// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every load and store of the kernel comes through here: is the address inside
// something, aligned, written before it is read, and ordered with the accesses
// of others. Accesses by helpers (ldmatrix, cp.async, ...) use the same rules.
#include "emulator/Machine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kernelc::emulator {

Actor Machine::actor(Thread &t, bool write, uint32_t pc, bool atomic) {
  Actor a;
  a.thread = &t;
  a.agent = t.agent;
  a.clock = t.clock;
  a.flags = (write ? Stamp::Write : 0) | (atomic ? Stamp::Atomic : 0);
  a.pc = pc;
  a.atomic = atomic ? ++atomicCount_ : 0;
  return a;
}

Block *Machine::sharedBlockOf(const Thread &t, const void *p, size_t size) {
  uintptr_t at = reinterpret_cast<uintptr_t>(p);
  for (auto &b : t.block->domain->blocks) {
    uintptr_t base = reinterpret_cast<uintptr_t>(b->shared);
    if (at >= base && at + size <= base + size_t(spec_.sharedBytes))
      return b.get();
  }
  return nullptr;
}

Machine::Region *Machine::regionOf(const void *p) {
  uintptr_t at = reinterpret_cast<uintptr_t>(p);
  if (lastRegion_ && at - lastRegion_->base < lastRegion_->bytes)
    return lastRegion_;
  auto it = std::upper_bound(regions_.begin(), regions_.end(), at, [](uintptr_t a, const Region &r) { return a < r.base; });
  if (it == regions_.begin())
    return nullptr;
  --it;
  if (at - it->base >= it->bytes)
    return nullptr;
  return lastRegion_ = &*it;
}

void Machine::hookAccess(const void *p, size_t size, unsigned flags, const void *pc) {
  if (!running_)
    return;
  Thread &t = *running_;
  uintptr_t at = reinterpret_cast<uintptr_t>(p);
  bool write = flags & kce::kWrite, isVolatile = flags & kce::kVolatile;
  if (at - reinterpret_cast<uintptr_t>(t.stack) < StackPool::kBytes) {
    checkOperand(t, at, size, write, pc);
    return;
  }
  if (size == 0)
    return;
  Actor who = actor(t, write, offsetOf(pc), isVolatile);
  if (flags & kce::kOnce)
    who.flags |= Stamp::Once;
  access(who, p, size, !(flags & kce::kAnyAlignment));
  countRequest(t, offsetOf(pc), p, size);
  if (isVolatile) {
    atomicOrder(t, p, size, !write, write, kce::Order::Relaxed);
    yield();
  }
}

bool Machine::access(const Actor &who, const void *p, size_t size, bool aligned) {
  uintptr_t at = reinterpret_cast<uintptr_t>(p);
  bool write = who.flags & Stamp::Write;
  if (aligned && at % size != 0) {
    report(FindingKind::Misaligned, absl::StrCat("address is ", at % size, " bytes past a multiple of the access's ", size, " bytes"),
           party(*who.thread, absl::StrCat(size, "-byte ", write ? "write" : "read"), who.pc));
    abandon();
  }
  if (Block *b = sharedBlockOf(*who.thread, p, size)) {
    if (checks())
      accessShared(who, *b, at - reinterpret_cast<uintptr_t>(b->shared), size);
    return true;
  }
  if (Region *r = regionOf(p)) {
    if (at - r->base + size <= r->bytes) {
      accessGlobal(who, *r, at - r->base, size);
      return true;
    }
  }
  if (!write && text_.inImage(p))
    return true;
  reportOutside(who, p, size);
  abandon();
}

void Machine::accessShared(const Actor &who, Block &block, size_t offset, size_t size) {
  const Thread &t = *who.thread;
  bool write = who.flags & Stamp::Write, atomic = who.flags & Stamp::Atomic;
  if (&block != t.block)
    noteRemote(who, block);
  if ((!write && !(who.flags & Stamp::Anything)) || atomic) {
    for (size_t i = 0; i < size; i++)
      if (!block.sharedInit[offset + i]) {
        report(FindingKind::Uninitialised, absl::StrCat("shared memory byte ", offset + i, " is read before anything wrote it"),
               party(t, absl::StrCat(size, "-byte read"), who.pc));
        std::fill_n(block.sharedInit.begin() + offset, size, 1); // once per place
        break;
      }
  }
  if (write)
    std::fill_n(block.sharedInit.begin() + offset, size, 1);
  Stamp me{t.block->domain->id, who.agent, who.flags, who.clock, who.pc, who.atomic};
  uintptr_t base = reinterpret_cast<uintptr_t>(block.shared);
  block.shadow->visit(offset, size, [&](ShadowCell &cell, size_t at) {
    recordAccess(
        *block.shadow, cell, me, [&](const Stamp &s) { return happenedBefore(who, s, base + at, "shared memory", at); },
        [&](const Stamp &s) { return covers(who, s, base + at); },
        [&](const Stamp &s) { reportConflict(who, s, absl::StrCat("shared memory byte ", at)); });
  });
}

bool Machine::happenedBefore(const Actor &who, const Stamp &s, uintptr_t address, const char *what, size_t at) {
  const Thread &t = *who.thread;
  if (!ordered(t, s, address))
    return false;
  // The async proxy sees a generic write only behind a proxy fence of its writer, and does not
  // wait for a generic read without one of its reader.
  if (!(who.flags & Stamp::AsyncProxy) || (s.flags & Stamp::AsyncProxy))
    return true;
  bool wasWrite = s.flags & Stamp::Write, isWrite = who.flags & Stamp::Write;
  if (wasWrite ? fencedBefore(t, s) : !isWrite || readIsOver(t, s))
    return true;
  report(FindingKind::ProxyFence,
         absl::StrCat(what, " byte ", at, " was ",
                      wasWrite ? "written by ordinary stores and is then accessed asynchronously, "
                                 "without fence.proxy.async by the writer in between"
                               : "read by ordinary loads and is then written asynchronously, "
                                 "without fence.proxy.async by the reader in between"),
         party(Stamp{t.block->domain->id, who.agent, who.flags, who.clock, who.pc, who.atomic}), party(s));
  return true;
}

void Machine::accessGlobal(const Actor &who, Region &region, size_t offset, size_t size) {
  const Thread &t = *who.thread;
  bool write = who.flags & Stamp::Write, atomic = who.flags & Stamp::Atomic;
  (write ? report_.counts.globalStoreBytes : report_.counts.globalLoadBytes) += size;
  const GlobalBuffer &buffer = *region.buffer;
  if (write && !buffer.writable) {
    report(FindingKind::WriteToInput, absl::StrCat("'", buffer.name, "' is an input"), party(t, absl::StrCat(size, "-byte write"), who.pc));
    abandon();
  }
  if (!checks())
    return;
  if (buffer.initialised) {
    uint8_t *init = buffer.initialised + offset;
    if ((!write || atomic) && std::find(init, init + size, 0) != init + size)
      report(FindingKind::Uninitialised, absl::StrCat("'", buffer.name, "' at byte ", offset, " is read before anything wrote it"),
             party(t, absl::StrCat(size, "-byte read"), who.pc));
    if (write)
      std::fill_n(init, size, 1);
  }
  if (!region.shadow)
    return;
  Stamp me{t.block->domain->id, who.agent, who.flags, who.clock, who.pc, who.atomic};
  region.shadow->visit(offset, size, [&](ShadowCell &cell, size_t at) {
    if ((me.flags & cell.write.flags & Stamp::Once) && cell.write.clock) {
      report(FindingKind::WrittenTwice, absl::StrCat("two points of a 'unique' scatter write '", buffer.name, "' at byte ", at),
             party(t, "write", who.pc), party(cell.write));
      return;
    }
    recordAccess(
        *region.shadow, cell, me, [&](const Stamp &s) { return happenedBefore(who, s, region.base + at, "global memory", at); },
        [&](const Stamp &s) { return covers(who, s, region.base + at); },
        [&](const Stamp &s) { reportConflict(who, s, absl::StrCat("'", buffer.name, "' byte ", at)); });
  });
}

} // namespace kernelc::emulator
