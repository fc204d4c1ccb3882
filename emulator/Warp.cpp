// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warp-wide operations: lanes post their part and leave; the last one computes
// for all. Shuffles and votes order no memory; __syncwarp does.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "emulator/Machine.h"

namespace kernelc::emulator {
namespace {

const char *warpOpName(kce::WarpOp op) {
  switch (op) {
  case kce::WarpOp::Sync: return "__syncwarp";
  case kce::WarpOp::Shuffle: return "shuffle";
  case kce::WarpOp::Vote: return "vote";
  case kce::WarpOp::Match: return "match";
  case kce::WarpOp::Reduce: return "warp reduction";
  case kce::WarpOp::LdMatrix: return "ldmatrix";
  case kce::WarpOp::StMatrix: return "stmatrix";
  case kce::WarpOp::Mma: return "mma.sync";
  }
  return "warp operation";
}

bool isAligned(kce::WarpOp op) { return op == kce::WarpOp::LdMatrix || op == kce::WarpOp::StMatrix || op == kce::WarpOp::Mma; }

std::string describeWarp(const Thread &t) {
  const Warp &w = t.block->warps[t.linear / 32];
  for (const WarpGroup &g : w.open)
    if (unsigned(g.op) == t.waitArg && (g.arrived >> (t.linear % 32) & 1))
      return absl::StrFormat("warp operation %s (lanes %08x of %08x arrived, %08x have exited)", warpOpName(g.op), g.arrived, g.mask,
                             w.exited);
  return "a warp operation";
}

uint64_t reduceLanes(kce::ReduceMode mode, bool isSigned, uint64_t a, uint64_t b) {
  uint32_t x = uint32_t(a), y = uint32_t(b);
  bool less = isSigned ? int32_t(x) < int32_t(y) : x < y;
  switch (mode) {
  case kce::ReduceMode::Add: return uint32_t(x + y);
  case kce::ReduceMode::Min: return less ? x : y;
  case kce::ReduceMode::Max: return less ? y : x;
  case kce::ReduceMode::And: return x & y;
  case kce::ReduceMode::Or: return x | y;
  case kce::ReduceMode::Xor: return x ^ y;
  }
  return 0;
}

} // namespace

void Machine::warpOp(kce::WarpOp op, kce::WarpArgs *args, const void *pc) {
  Thread &t = self();
  Warp &warp = t.block->warps[t.linear / 32];
  unsigned lane = t.linear % 32, bit = 1u << lane;
  t.warpArgs = args;
  t.warpPc = offsetOf(pc);
  unsigned mask = args->mask & warp.existing;
  if (!(args->mask & bit) || (isAligned(op) && warp.existing != ~0u)) {
    report(FindingKind::InvalidOperation,
           isAligned(op) ? absl::StrCat(warpOpName(op), " needs a warp of 32 threads")
                         : absl::StrFormat("%s by a lane outside its mask %08x", warpOpName(op), args->mask),
           party(t, warpOpName(op), t.warpPc));
    abandon();
  }
  if (mask & warp.exited) {
    report(FindingKind::BarrierDivergence,
           absl::StrFormat("%s names lanes %08x, of which %08x have ended", warpOpName(op), mask, mask & warp.exited),
           party(t, warpOpName(op), t.warpPc));
    abandon();
  }
  WarpGroup *group = nullptr;
  for (WarpGroup &g : warp.open)
    if (g.op == op && g.mask == mask && !(g.arrived & bit))
      group = &g;
  if (!group) {
    warp.open.push_back({op, mask, 0});
    group = &warp.open.back();
  }
  group->arrived |= bit;
  if (group->arrived != mask) {
    block(describeWarp, uint64_t(op), pc);
    return;
  }
  WarpGroup full = *group;
  warp.open.erase(warp.open.begin() + (group - warp.open.data()));
  runWarpOp(*t.block, warp, full);
  if (options_.counts && full.mask == warp.existing)
    settleRequests(*t.block, warp);
  for (unsigned i = 0; i < 32; i++)
    if ((full.mask >> i & 1) && i != lane)
      makeReady(*t.block->threads[warp.first + i]);
}

/// The lanes that take part in an operation.
class Machine::Lanes {
public:
  Lanes(Block &block, const Warp &warp, unsigned mask) : block_(block), first_(warp.first), mask_(mask) {}

  Thread &lane(unsigned i) const { return *block_.threads[first_ + i]; }
  kce::WarpArgs &args(unsigned i) const { return *lane(i).warpArgs; }
  unsigned mask() const { return mask_; }
  bool has(unsigned i) const { return mask_ >> i & 1; }
  template <typename F> void forEach(F f) const {
    for (unsigned i = 0; i < 32; i++)
      if (has(i))
        f(i);
  }

private:
  Block &block_;
  unsigned first_, mask_;
};

void Machine::syncLanes(const Lanes &w) {
  std::vector<Thread *> lanes;
  w.forEach([&](unsigned i) { lanes.push_back(&w.lane(i)); });
  ClocksRef known = join(lanes, nullptr);
  for (Thread *l : lanes) {
    l->clocks = known;
    l->clock++;
  }
}

void Machine::shuffleLanes(const Lanes &w) {
  uint64_t values[32] = {};
  w.forEach([&](unsigned i) { values[i] = w.args(i).value; });
  w.forEach([&](unsigned i) {
    kce::WarpArgs &a = w.args(i);
    int width = a.width, segment = int(i) / width * width, source = int(i);
    switch (kce::ShuffleMode(a.mode)) {
    case kce::ShuffleMode::Index: source = segment + (a.lane & (width - 1)); break;
    case kce::ShuffleMode::Up: source = int(i) - a.lane < segment ? int(i) : int(i) - a.lane; break;
    case kce::ShuffleMode::Down: source = int(i) + a.lane >= segment + width ? int(i) : int(i) + a.lane; break;
    case kce::ShuffleMode::Xor: source = (int(i) ^ a.lane) >= segment + width ? int(i) : int(i) ^ a.lane; break;
    }
    if (!w.has(unsigned(source))) {
      report(FindingKind::InvalidOperation, absl::StrFormat("shuffle reads lane %d, which is not in its mask %08x", source, w.mask()),
             party(w.lane(i), "shuffle", w.lane(i).warpPc));
      source = int(i);
    }
    a.value = values[source];
  });
}

void Machine::voteLanes(const Lanes &w) {
  unsigned ballot = 0;
  w.forEach([&](unsigned i) { ballot |= w.args(i).value ? 1u << i : 0; });
  w.forEach([&](unsigned i) {
    kce::VoteMode mode = kce::VoteMode(w.args(i).mode);
    w.args(i).value = mode == kce::VoteMode::Any ? ballot != 0 : mode == kce::VoteMode::All ? ballot == w.mask() : ballot;
  });
}

void Machine::matchLanes(const Lanes &w) {
  uint64_t result[32] = {};
  w.forEach([&](unsigned i) { w.forEach([&](unsigned j) { result[i] |= w.args(i).value == w.args(j).value ? 1u << j : 0; }); });
  w.forEach([&](unsigned i) { w.args(i).value = result[i]; });
}

void Machine::reduceOverLanes(const Lanes &w) {
  unsigned first = unsigned(__builtin_ctz(w.mask()));
  uint64_t all = w.args(first).value;
  w.forEach([&](unsigned i) {
    if (i != first)
      all = reduceLanes(kce::ReduceMode(w.args(i).mode), w.args(i).isSigned, all, w.args(i).value);
  });
  w.forEach([&](unsigned i) { w.args(i).value = all; });
}

void Machine::checkAligned(const Lanes &w, kce::WarpOp op) {
  for (unsigned i = 1; i < 32; i++)
    if (w.lane(i).warpPc != w.lane(0).warpPc) {
      report(FindingKind::BarrierDivergence, absl::StrCat("lanes of one warp execute different ", warpOpName(op), " instructions"),
             party(w.lane(0), warpOpName(op), w.lane(0).warpPc), party(w.lane(i), warpOpName(op), w.lane(i).warpPc));
      return;
    }
}

void Machine::runWarpOp(Block &block, Warp &warp, const WarpGroup &group) {
  Lanes w(block, warp, group.mask);
  if (isAligned(group.op))
    checkAligned(w, group.op);
  auto onRegisters = [&](void (Machine::*run)(const Lanes &)) {
    report_.counts.warpOps++;
    (this->*run)(w);
  };
  switch (group.op) {
  case kce::WarpOp::Sync:
    if (checks())
      syncLanes(w);
    return;
  case kce::WarpOp::Shuffle: return onRegisters(&Machine::shuffleLanes);
  case kce::WarpOp::Vote: return onRegisters(&Machine::voteLanes);
  case kce::WarpOp::Match: return onRegisters(&Machine::matchLanes);
  case kce::WarpOp::Reduce: return onRegisters(&Machine::reduceOverLanes);
  case kce::WarpOp::LdMatrix:
  case kce::WarpOp::StMatrix: return matrixOp(block, warp, group.op);
  case kce::WarpOp::Mma: report_.counts.mma++; return mmaOp(block, warp);
  }
}

} // namespace kernelc::emulator
