// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bulk prefetches into L2: no effect, but the hardware's rules on their operands, and
// the language's: no access outside of a tensor.
#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

void Machine::bulkPrefetch(const void *p, unsigned bytes, const void *pc) {
  uint32_t at = offsetOf(pc);
  if (reinterpret_cast<uintptr_t>(p) % 16 || bytes % 16)
    fail(FindingKind::Misaligned, absl::StrCat("cp.async.bulk.prefetch of ", bytes, " bytes: address and size are multiples of 16"),
         "prefetch", at);
  const Region *region = bytes ? regionOf(p) : nullptr;
  if (bytes && (!region || reinterpret_cast<uintptr_t>(p) - region->base + bytes > region->bytes)) {
    reportOutside(actor(self(), false, at), p, bytes);
    abandon();
  }
}

void Machine::tmaPrefetch(int rank, const void *map, const int *coords, const void *pc) {
  uint32_t at = offsetOf(pc);
  Transfer op;
  op.map = readTensorMap(map, rank, "TMA prefetch", at);
  std::copy(coords, coords + rank, op.coords);
  checkRowStart(op, "TMA prefetch", at);
}

} // namespace kernelc::emulator
