// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wgmma: four warps issue a matrix product whose operands are read, and whose
// accumulators are written, when the group is waited for, or under a seed at any time
// between. Descriptors are decoded from their bits (reference/hopper.md 1.4). Shared
// memory is read by the warpgroup's agent, whose clock counts groups.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"
#include "emulator/MatrixDescriptor.h"
#include "emulator/MatrixProduct.h"

namespace kernelc::emulator {
namespace {

int elementBytes(kce::WgmmaKind kind) {
  switch (kind) {
  case kce::WgmmaKind::Bf16:
  case kce::WgmmaKind::F16: return 2;
  case kce::WgmmaKind::Tf32: return 4;
  default: return 1;
  }
}

NarrowKind narrowKind(kce::WgmmaKind kind) {
  switch (kind) {
  case kce::WgmmaKind::Bf16: return NarrowKind::Bf16;
  case kce::WgmmaKind::F16: return NarrowKind::F16;
  case kce::WgmmaKind::Tf32: return NarrowKind::Tf32;
  case kce::WgmmaKind::S8: return NarrowKind::S8;
  case kce::WgmmaKind::U8: return NarrowKind::U8;
  case kce::WgmmaKind::E4M3: return NarrowKind::E4M3;
  case kce::WgmmaKind::E5M2: return NarrowKind::E5M2;
  }
  return NarrowKind::Bf16;
}

bool validN(kce::WgmmaKind kind, int n) {
  if (n < 8 || n > 256 || n % 8)
    return false;
  bool integer = kind == kce::WgmmaKind::S8 || kind == kce::WgmmaKind::U8;
  return !integer || n % 16 == 0 || n == 8 || n == 24;
}

} // namespace

void Machine::checkWgmmaOperand(Thread &t, const WgmmaOp &op, bool isA) {
  MatrixDescriptor d(isA ? op.args.descA : op.args.descB);
  int bytes = elementBytes(op.args.typeA), k = 32 / bytes, rows = isA ? 64 : op.args.n;
  bool mnMajor = isA ? op.args.transposeA : op.args.transposeB;
  Warpgroup &group = t.block->warpgroups[t.linear / 128];
  Actor read{&t, group.agent.index, Stamp::AsyncProxy, group.agent.issued + 1, op.pc, 0};
  int perChunk = 16 / bytes;
  for (int mn = 0; mn < rows; mn += mnMajor ? perChunk : 1)
    for (int kk = 0; kk < k; kk += mnMajor ? 1 : perChunk) {
      size_t at = d.offset(mn, kk, bytes, mnMajor);
      if (int64_t(at) + 16 > spec_.sharedBytes)
        fail(FindingKind::OutOfBounds,
             absl::StrCat("wgmma reads operand ", isA ? "A" : "B", " at shared byte ", at, " of ", spec_.sharedBytes), "wgmma", op.pc);
      if (checks())
        access(read, t.block->shared + at, 16, false);
    }
}

void Machine::wgmma(const kce::WgmmaArgs &args, const void *pc) {
  Thread &t = self();
  uint32_t at = offsetOf(pc);
  t.warpPc = at;
  if (t.linear / 128 >= t.block->warpgroups.size())
    fail(FindingKind::InvalidOperation, "wgmma needs a warpgroup of 128 threads", "wgmma", at);
  if (!validN(args.typeA, args.n) || ((args.transposeA || args.transposeB) && elementBytes(args.typeA) != 2))
    fail(FindingKind::InvalidOperation,
         absl::StrCat("wgmma of n = ", args.n, args.transposeA || args.transposeB ? " with a transposed operand" : "",
                      " does not exist for this type"),
         "wgmma", at);
  if (checks() && t.wgmmaFenceNeeded)
    report(FindingKind::OperandInFlight, "wgmma.fence is missing between ordinary use of the registers and wgmma", party(t, "wgmma", at));
  WgmmaOp op;
  op.args = args;
  op.pc = at;
  if (args.registersA) {
    std::memcpy(op.a, args.registersA, sizeof op.a);
    checkRegistersA(t, op);
    op.issued = t.clock++; // reads from here on do not feed it
  }
  std::pair<uintptr_t, size_t> d{reinterpret_cast<uintptr_t>(args.d), size_t(args.n) * 2};
  bool known = false;
  for (auto &a : t.accumulators)
    known |= a == d;
  if (!known)
    t.accumulators.push_back(d);
  state_.watchStack = 1;
  // Warps read for themselves: one lane of each speaks for its knowledge.
  if (t.linear % 32 == 0) {
    Warpgroup &group = t.block->warpgroups[t.linear / 128];
    if (!group.agent.index) {
      Domain &domain = *t.block->domain;
      group.agent.index = uint16_t(domain.agents++);
      domain.agentNames.push_back(absl::StrCat("wgmma@", t.agent));
    }
    group.agent.issued = group.agent.done + uint32_t(t.wgmmaGroups.size());
    if (!args.registersA)
      checkWgmmaOperand(t, op, true);
    checkWgmmaOperand(t, op, false);
  }
  t.openWgmma.push_back(op);
}

void Machine::wgmmaCommit() {
  Thread &t = self();
  t.wgmmaGroups.push_back(std::move(t.openWgmma));
  t.openWgmma.clear();
  noteCommitted(t, EarlyWork::Products);
}

static std::string describeWgmma(const Thread &t) {
  return absl::StrCat("warpgroup wgmma.wait_group (", t.block->warpgroups[t.linear / 128].waiting.size(), " of 128 threads arrived)");
}

void Machine::wgmmaWait(int pending, const void *pc) {
  Thread &t = self();
  t.warpPc = offsetOf(pc);
  if (t.linear / 128 >= t.block->warpgroups.size())
    fail(FindingKind::InvalidOperation, "wgmma needs a warpgroup of 128 threads", "wgmma.wait_group", t.warpPc);
  Warpgroup &group = t.block->warpgroups[t.linear / 128];
  group.waiting.push_back(&t);
  group.pending = pending;
  if (group.waiting.size() < 128) {
    block(describeWgmma, 0, pc);
    return;
  }
  const Thread &first = *group.waiting.front();
  for (Thread *w : group.waiting)
    if (w->warpPc != first.warpPc || w->wgmmaGroups.size() != first.wgmmaGroups.size())
      fail(FindingKind::BarrierDivergence, "threads of one warpgroup issue different wgmma", "wgmma.wait_group", t.warpPc);
  while (t.wgmmaGroups.size() > size_t(pending)) {
    if (group.ahead)
      group.ahead--;
    else
      for (size_t i = 0, count = t.block->threads[t.linear / 128 * 128]->wgmmaGroups.front().size(); i < count; i++)
        runWgmma(*t.block, t.linear / 128, 0, i);
    for (Thread *w : group.waiting) {
      for (const WgmmaOp &op : w->wgmmaGroups.front())
        w->consumedClock = std::max(w->consumedClock, op.issued);
      w->wgmmaGroups.pop_front();
    }
    group.agent.done++;
  }
  std::vector<Thread *> all;
  all.swap(group.waiting);
  for (Thread *w : all)
    if (w != &t)
      makeReady(*w);
}

unsigned Machine::findOtherWgmma(Block &block, unsigned warpgroup, size_t group, size_t index) {
  const std::vector<WgmmaOp> &first = block.threads[warpgroup * 128]->wgmmaGroups[group];
  const WgmmaOp &op = first[index];
  for (unsigned i = 1; i < 128; i++) {
    const std::vector<WgmmaOp> &ops = block.threads[warpgroup * 128 + i]->wgmmaGroups[group];
    if (ops.size() != first.size() || ops[index].pc != op.pc || ops[index].args.descB != op.args.descB ||
        ops[index].args.descA != op.args.descA || ops[index].args.accumulate != op.args.accumulate)
      return i;
  }
  return 128;
}

void Machine::runWgmma(Block &block, unsigned warpgroup, size_t group, size_t index) {
  auto opOf = [&](unsigned lane) -> const WgmmaOp & { return block.threads[warpgroup * 128 + lane]->wgmmaGroups[group][index]; };
  const WgmmaOp &op = opOf(0);
  const kce::WgmmaArgs &x = op.args;
  if (unsigned other = findOtherWgmma(block, warpgroup, group, index); other < 128)
    fail(FindingKind::BarrierDivergence,
         absl::StrCat("threads 0 and ", other,
                      " of one warpgroup issue different wgmma: instruction, descriptors and "
                      "accumulate must be the same"),
         "wgmma", op.pc);
  report_.counts.mma++;
  int bytes = elementBytes(x.typeA), k = 32 / bytes, n = x.n;
  NarrowKind kindA = narrowKind(x.typeA), kindB = narrowKind(x.typeB);
  std::vector<double> a(size_t(64 * k)), b(size_t(n * k)), sums(size_t(64 * n), 0.0);
  if (x.registersA) { // rows l/4 and +8 of the warp's 16; K as in mma.sync
    int per = 4 / bytes;
    for (unsigned t = 0; t < 128; t++) {
      const uint32_t *regs = opOf(t).a;
      for (int r = 0; r < 4; r++)
        for (int i = 0; i < per; i++) {
          unsigned row = t / 32 * 16 + t % 32 / 4 + 8 * (r & 1);
          int kk = (r >> 1) * 4 * per + int(t % 4) * per + i;
          a[row * size_t(k) + size_t(kk)] = decodeNarrow(kindA, reinterpret_cast<const unsigned char *>(&regs[r]) + i * bytes);
        }
    }
  } else {
    MatrixDescriptor d(x.descA);
    for (int r = 0; r < 64; r++)
      for (int kk = 0; kk < k; kk++)
        a[size_t(r * k + kk)] = decodeNarrow(kindA, block.shared + d.offset(r, kk, bytes, x.transposeA));
  }
  MatrixDescriptor d(x.descB);
  for (int c = 0; c < n; c++)
    for (int kk = 0; kk < k; kk++)
      b[size_t(kk * n + c)] = decodeNarrow(kindB, block.shared + d.offset(c, kk, bytes, x.transposeB));
  bool integer = x.typeA == kce::WgmmaKind::S8 || x.typeA == kce::WgmmaKind::U8;
  auto eachElement = [&](auto &&fn) {
    for (unsigned t = 0; t < 128; t++) {
      float *out = static_cast<float *>(opOf(t).args.d);
      for (int i = 0; i < n / 2; i++) {
        size_t row = t / 32 * 16 + t % 32 / 4 + 8 * unsigned(i >> 1 & 1);
        fn(sums[row * size_t(n) + size_t(i / 4 * 8) + 2 * (t % 4) + unsigned(i & 1)], out + i);
      }
    }
  };
  if (x.accumulate)
    eachElement([&](double &sum, float *d) { sum = integer ? double(*reinterpret_cast<int32_t *>(d)) : double(*d); });
  multiplyAdd(a.data(), b.data(), sums.data(), 64, n, k);
  eachElement([&](double sum, float *d) {
    if (integer)
      *reinterpret_cast<int32_t *>(d) = int32_t(uint32_t(int64_t(sum)));
    else
      *d = float(sum);
  });
}

} // namespace kernelc::emulator
