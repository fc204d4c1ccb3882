// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers of wgmma in flight: the accumulators, and operand A where it is in
// registers. From issue to wait they are nobody's; before the issue, wgmma.fence orders
// them with ordinary accesses.
#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {

void Machine::wgmmaFence() {
  Thread &t = self();
  t.wgmmaFenceNeeded = false;
  t.registerWrites.fence();
  state_.watchStack = 1; // hooks report accesses to the stack from here on
}

void Machine::checkRegistersA(Thread &t, const WgmmaOp &op) {
  if (checks() && t.registerWrites.any(reinterpret_cast<uintptr_t>(op.args.registersA), sizeof op.a))
    report(FindingKind::OperandInFlight, "wgmma.fence is missing between writing the registers with operand A and wgmma",
           party(t, "wgmma", op.pc));
}

void Machine::checkOperand(Thread &t, uintptr_t at, size_t size, bool write, const void *pc) {
  if (write && t.registerWrites.isOn())
    t.registerWrites.note(at, size);
  if (at >= t.operandsTo || at + size <= t.operandsFrom)
    return; // most of a kernel's variables
  bool accumulator = false;
  for (auto &[base, bytes] : t.accumulators)
    accumulator |= at < base + bytes && base < at + size;
  if (accumulator)
    t.wgmmaFenceNeeded = true;
  auto check = [&](const WgmmaOp &op) {
    auto meets = [&](const void *p, size_t bytes) {
      uintptr_t base = reinterpret_cast<uintptr_t>(p);
      return at < base + bytes && base < at + size;
    };
    bool isD = accumulator && meets(op.args.d, size_t(op.args.n) * 2);
    if (isD || (op.args.registersA && meets(op.args.registersA, sizeof op.a)))
      report(FindingKind::OperandInFlight,
             absl::StrCat(isD ? "accumulators" : "registers with operand A", " are touched before the wgmma that ",
                          isD ? "writes" : "reads", " them was waited for"),
             party(t, write ? "write" : "read", offsetOf(pc)), party(t, "wgmma", op.pc));
  };
  for (const WgmmaOp &op : t.openWgmma)
    check(op);
  for (auto &group : t.wgmmaGroups)
    for (const WgmmaOp &op : group)
      check(op);
}

} // namespace kernelc::emulator
