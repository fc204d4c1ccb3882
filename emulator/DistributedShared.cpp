// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Distributed shared memory: the addresses of other blocks of the cluster, st.async to
// them, and whether they are still there. A block's shared memory lives as long as one
// of its threads, so something (a cluster barrier, an mbarrier) must order every access
// of another block behind the start of one of them and before the end of one; the checks
// ask for that order, whatever the schedule of the run.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

static std::string orphanMessage(const Block &block) {
  return absl::StrCat("shared memory of block ", block.rank,
                      " of the cluster is accessed by another block, and nothing keeps it from "
                      "ending before (a cluster barrier is missing)");
}

void *Machine::mapShared(void *p, unsigned cta, const void *pc) {
  Thread &t = self();
  Domain &domain = *t.block->domain;
  if (cta >= domain.blocks.size() || sharedBlockOf(t, p, 1) != t.block)
    fail(FindingKind::InvalidOperation, absl::StrCat("mapa to block ", cta, " of a cluster of ", domain.blocks.size()), "mapa",
         offsetOf(pc));
  return domain.blocks[cta]->shared + (static_cast<unsigned char *>(p) - t.block->shared);
}

void Machine::storeAsync(void *to, const void *value, unsigned bytes, void *bar, unsigned cta, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  if (bytes != 4 && bytes != 8 && bytes != 16)
    fail(FindingKind::InvalidOperation, absl::StrCat("st.async of ", bytes, " bytes; 4, 8 and 16 exist"), "st.async", at);
  auto *target = static_cast<unsigned char *>(mapShared(to, cta, pc));
  Transfer op;
  op.storedBytes = bytes;
  std::memcpy(op.stored, value, bytes);
  op.issuer = party(t, "st.async", at);
  Mbarrier &barrier = beginTransfer(op, bar, cta, "st.async", at);
  op.offset = size_t(target - op.block->shared);
  Actor write{&t, barrier.agent.index, Stamp::Write, op.sequence, at, 0};
  access(write, target, bytes, /*aligned=*/true);
  loads_.push_back(std::move(op));
}

void Machine::checkAlive(const Block &block, const char *what, uint32_t pc) {
  if (block.live == 0)
    fail(FindingKind::BarrierProtocol, orphanMessage(block), what, pc);
}

void Machine::noteRemote(const Actor &who, Block &block) {
  const Thread &t = *who.thread;
  checkAlive(block, who.flags & Stamp::Write ? "write" : "read", who.pc);
  Stamp stamp{t.block->domain->id, who.agent, who.flags, who.clock, who.pc, who.atomic};
  if (!block.beforeStart &&
      std::none_of(block.threads.begin(), block.threads.end(), [&](const auto &other) { return t.clocks->seenAt(other->agent) > 0; }))
    block.beforeStart = stamp;
  if (who.agent == t.agent)
    block.remote[who.agent] = stamp;
}

void Machine::checkRemote(Domain &domain) {
  for (auto &block : domain.blocks) {
    if (block->beforeStart)
      report(FindingKind::BarrierProtocol,
             absl::StrCat("shared memory of block ", block->rank,
                          " of the cluster is accessed by another block, and nothing says that it "
                          "has started (a cluster barrier is missing)"),
             party(*block->beforeStart));
    for (const auto &[agent, stamp] : block->remote) {
      bool waited = false;
      for (auto &t : block->threads)
        waited |= t->clocks->seenAt(agent) >= stamp.clock;
      if (!waited)
        report(FindingKind::BarrierProtocol, orphanMessage(*block), party(stamp));
    }
  }
}

} // namespace kernelc::emulator
