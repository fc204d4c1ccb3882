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
  // Rows beyond a tensor's end make rows of results that are not stored: what nobody wrote does not look right (Machine.cpp).
  Actor read{&t, wgmmaAgent(t), Stamp::AsyncProxy | Stamp::Anything, t.wgmmaWaited + uint32_t(t.wgmmaGroups.size()) + 1, op.pc, 0};
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
  auto watch = [&](const void *registers, size_t bytes) {
    uintptr_t from = reinterpret_cast<uintptr_t>(registers);
    t.operandsFrom = std::min(t.operandsFrom, from);
    t.operandsTo = std::max(t.operandsTo, from + bytes);
  };
  watch(args.d, size_t(args.n) * 2);
  if (args.registersA) {
    watch(args.registersA, sizeof op.a);
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
  // The lanes of a warp know the same of what others have done, so that one of them checks what the warp reads.
  if (t.linear % 32 == 0) {
    Warpgroup &group = t.block->warpgroups[t.linear / 128];
    if (!group.agent) {
      Domain &domain = *t.block->domain;
      group.agent = uint16_t(domain.agents++);
      domain.agentNames.push_back(absl::StrCat("wgmma@", t.agent));
    }
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
  if (t.linear / 128 >= t.block->warpgroups.size())
    return;
  Warpgroup &group = t.block->warpgroups[t.linear / 128];
  if (group.stalled.empty() || !isWgmmaCommitted(*t.block, t.linear / 128))
    return;
  std::vector<Thread *> stalled;
  stalled.swap(group.stalled);
  for (Thread *w : stalled)
    makeReady(*w); // each looks again
}

static std::string describeWgmma(const Thread &t) {
  return absl::StrCat("wgmma.wait_group (", t.block->warpgroups[t.linear / 128].waiting[t.linear / 32 % 4].size(),
                      " of the warp's 32 threads arrived)");
}

static std::string describeStalledWgmma(const Thread &) {
  return "wgmma.wait_group, until all four warps of the warpgroup have committed the products";
}

void Machine::wgmmaWait(int pending, const void *pc) {
  Thread &t = self();
  t.warpPc = offsetOf(pc);
  unsigned number = t.linear / 128;
  if (number >= t.block->warpgroups.size())
    fail(FindingKind::InvalidOperation, "wgmma needs a warpgroup of 128 threads", "wgmma.wait_group", t.warpPc);
  Warpgroup &group = t.block->warpgroups[number];
  std::vector<Thread *> &lanes = group.waiting[t.linear / 32 % 4];
  lanes.push_back(&t);
  if (lanes.size() < 32) {
    block(describeWgmma, 0, pc);
    return;
  }
  std::vector<Thread *> warp;
  warp.swap(lanes);
  for (Thread *w : warp)
    if (w->warpPc != t.warpPc || w->wgmmaWaited + w->wgmmaGroups.size() != t.wgmmaWaited + t.wgmmaGroups.size())
      fail(FindingKind::BarrierDivergence, "threads of one warp wait for different wgmma", "wgmma.wait_group", t.warpPc);
  // A product is one of all four warps: it is over for each of them when it is over.
  uint32_t last = t.wgmmaWaited + uint32_t(t.wgmmaGroups.size()) - std::min(uint32_t(pending), uint32_t(t.wgmmaGroups.size()));
  while (group.ran < last)
    if (!runWgmmaGroup(*t.block, number)) {
      group.stalled.push_back(&t);
      block(describeStalledWgmma, 0, pc);
    }
  for (Thread *w : warp)
    for (; w->wgmmaWaited < last; w->wgmmaWaited++) {
      for (const WgmmaOp &op : w->wgmmaGroups.front())
        w->consumedClock = std::max(w->consumedClock, op.issued);
      w->wgmmaGroups.pop_front();
    }
  for (Thread *w : warp)
    if (w != &t)
      makeReady(*w);
}

/// The warpgroup's next group as thread `i` has it.
static std::vector<WgmmaOp> &nextWgmma(Block &block, unsigned warpgroup, unsigned i) {
  Thread &t = *block.threads[warpgroup * 128 + i];
  return t.wgmmaGroups[block.warpgroups[warpgroup].ran - t.wgmmaWaited];
}

bool Machine::isWgmmaCommitted(Block &block, unsigned warpgroup) {
  uint32_t ran = block.warpgroups[warpgroup].ran;
  for (unsigned i = 0; i < 128; i++) {
    const Thread &t = *block.threads[warpgroup * 128 + i];
    if (t.wgmmaWaited + t.wgmmaGroups.size() <= ran)
      return false;
  }
  return true;
}

unsigned Machine::findOtherWgmma(Block &block, unsigned warpgroup) {
  const std::vector<WgmmaOp> &first = nextWgmma(block, warpgroup, 0);
  for (unsigned i = 1; i < 128; i++) {
    const std::vector<WgmmaOp> &ops = nextWgmma(block, warpgroup, i);
    if (ops.size() != first.size())
      return i;
    for (size_t n = 0; n < ops.size(); n++)
      if (ops[n].pc != first[n].pc || ops[n].args.descB != first[n].args.descB || ops[n].args.descA != first[n].args.descA ||
          ops[n].args.accumulate != first[n].args.accumulate)
        return i;
  }
  return 128;
}

bool Machine::runWgmmaGroup(Block &block, unsigned warpgroup) {
  if (!isWgmmaCommitted(block, warpgroup))
    return false;
  const std::vector<WgmmaOp> &first = nextWgmma(block, warpgroup, 0);
  if (unsigned other = findOtherWgmma(block, warpgroup); other < 128) {
    const std::vector<WgmmaOp> &ops = nextWgmma(block, warpgroup, other);
    fail(FindingKind::BarrierDivergence,
         absl::StrCat("threads 0 and ", other,
                      " of one warpgroup issue different wgmma: instructions of a group, descriptors and "
                      "accumulate must be the same"),
         "wgmma", first.empty() ? ops.front().pc : first.front().pc);
  }
  for (size_t i = 0, count = first.size(); i < count; i++)
    runWgmma(block, warpgroup, i);
  block.warpgroups[warpgroup].ran++;
  return true;
}

void Machine::runWgmma(Block &block, unsigned warpgroup, size_t index) {
  auto opOf = [&](unsigned lane) -> const WgmmaOp & { return nextWgmma(block, warpgroup, lane)[index]; };
  const kce::WgmmaArgs &x = opOf(0).args;
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
