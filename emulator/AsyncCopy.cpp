// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cp.async: the copy is made when its group is waited for (under a seed, earlier), so that a
// missing wait shows as stale data too; for the race checks the write belongs to the
// thread's copy agent, whose clock counts groups.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

void Machine::cpAsync(void *dst, const void *src, unsigned bytes, unsigned srcBytes, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  t.warpPc = at;
  auto invalid = [&](FindingKind kind, std::string message) {
    report(kind, std::move(message), party(t, "cp.async", at));
    abandon();
  };
  if (!sharedBlockOf(t, dst, bytes))
    invalid(FindingKind::OutOfBounds,
            absl::StrCat("cp.async of ", bytes, " bytes to offset ", int64_t(static_cast<unsigned char *>(dst) - t.block->shared), " of ",
                         spec_.sharedBytes, " bytes of shared memory"));
  if (srcBytes > bytes)
    invalid(FindingKind::InvalidOperation, absl::StrCat("cp.async of ", bytes, " bytes with a source of ", srcBytes));
  if (reinterpret_cast<uintptr_t>(dst) % bytes || (srcBytes && reinterpret_cast<uintptr_t>(src) % bytes))
    invalid(FindingKind::Misaligned, absl::StrCat("cp.async of ", bytes, " bytes needs both addresses multiples of that"));
  if (srcBytes && sharedBlockOf(t, src, 1))
    invalid(FindingKind::InvalidOperation, "the source of cp.async must be in global memory");
  allocateAgent(t, t.copyAgent, "cp.async");
  Actor read = actor(t, false, at), write = actor(t, true, at);
  if (srcBytes) {
    read.agent = t.copyAgent.index;
    read.clock = t.copyAgent.issued + 1;
    access(read, src, srcBytes, false);
    countRequest(t, at, src, srcBytes);
  }
  write.agent = t.copyAgent.index;
  write.clock = t.copyAgent.issued + 1;
  access(write, dst, bytes, true);
  countRequest(t, at, dst, bytes);
  PendingCopy copy{static_cast<unsigned char *>(dst), bytes, write.clock, {}, false};
  std::memcpy(copy.data, src, srcBytes); // the rest is zero
  t.openCopies.push_back(copy);
}

void Machine::cpAsyncCommit() {
  Thread &t = self();
  t.copyGroups.push_back({std::move(t.openCopies), ++t.copyAgent.issued});
  t.openCopies.clear();
  noteCommitted(t, EarlyWork::Copies);
}

void Machine::cpAsyncWait(int pending) {
  Thread &t = self();
  while (t.copyGroups.size() > size_t(pending)) {
    for (PendingCopy &c : t.copyGroups.front().copies)
      c.land();
    t.copyAgent.done = t.copyGroups.front().clock;
    t.copyGroups.pop_front();
  }
}

} // namespace kernelc::emulator
