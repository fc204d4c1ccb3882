// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table through which a host build reaches the machine that runs it. The
// return address of each entry is the place in the kernel.
#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"
#include "support/ElementType.h"

namespace kernelc::emulator {
namespace {

#define HERE __builtin_return_address(0)
Machine &machine() { return *Machine::current(); }

// The device's conversions give one NaN, whatever came in.
unsigned convert(kce::Convert kind, double v) {
  bool to16 = kind == kce::Convert::F32ToF16 || kind == kce::Convert::F32ToBf16 || kind == kce::Convert::F64ToF16 ||
              kind == kce::Convert::F64ToBf16;
  if (to16 && v != v)
    return 0x7fff;
  switch (kind) {
  case kce::Convert::F32ToF16: return toF16(float(v));
  case kce::Convert::F32ToBf16: return toBF16(float(v));
  case kce::Convert::F32ToE4M3: return toF8E4M3(float(v));
  case kce::Convert::F32ToE5M2: return toF8E5M2(float(v));
  case kce::Convert::F64ToF16: return toF16(v);
  case kce::Convert::F64ToBf16: return toBF16(v);
  case kce::Convert::F64ToE4M3: return toF8E4M3(v);
  case kce::Convert::F64ToE5M2: return toF8E5M2(v);
  }
  return 0;
}
float widen(kce::Widen kind, unsigned bits) {
  switch (kind) {
  case kce::Widen::F16: return (bits & 0x7fff) > 0x7c00 ? absl::bit_cast<float>(0x7fffffffu) : fromF16(uint16_t(bits));
  case kce::Widen::Bf16: return fromBF16(uint16_t(bits));
  case kce::Widen::E4M3: return fromF8E4M3(uint8_t(bits));
  case kce::Widen::E5M2: return fromF8E5M2(uint8_t(bits));
  }
  return 0;
}

// Plain functions, not lambdas: a lambda's invoker would be the return address.
void access(const void *p, unsigned long size, unsigned flags, const void *pc) { machine().hookAccess(p, size, flags, pc); }
void outOfSteps(const void *pc) { machine().outOfSteps(pc); }
void barrier(int id, int threads, bool wait) { machine().barrier(id, threads, wait, 0, HERE); }
unsigned barrierVote(unsigned mode, int predicate) {
  machine().barrier(0, 0, true, predicate, HERE);
  return machine().lastBarrierVote(mode);
}
void warp(kce::WarpOp op, kce::WarpArgs *args) { machine().warpOp(op, args, HERE); }
unsigned long long atomic(kce::AtomicOp op, kce::ScalarKind kind, void *p, unsigned long long operand, unsigned long long compare,
                          kce::Order order) {
  return machine().atomic(op, kind, p, operand, compare, order, HERE);
}
void fence(int scope) { machine().fence(machine().self(), scope); }
void yield() { machine().yield(); }
unsigned long long clockNow() { return machine().stepsSoFar(); }
void trap(const char *what) {
  Machine &m = machine();
  m.report(FindingKind::Trap, what, m.party(m.self(), "stop", m.offsetOf(HERE)));
  m.abandon();
}
void divisionByZero(const void *pc) {
  Machine &m = machine();
  m.report(FindingKind::InvalidOperation, "a division of integers by zero, whose result is undefined",
           m.party(m.self(), "division", m.offsetOf(pc)));
  m.abandon();
}
void cpAsync(void *dst, const void *src, unsigned bytes, unsigned srcBytes) { machine().cpAsync(dst, src, bytes, srcBytes, HERE); }
void cpAsyncCommit() { machine().cpAsyncCommit(); }
void cpAsyncWait(int pending) { machine().cpAsyncWait(pending); }
void cpAsyncArrive(void *bar) { machine().cpAsyncArrive(bar, HERE); }
void mbarrierInit(void *bar, unsigned count) { machine().mbarrierInit(bar, count, HERE); }
void mbarrierArrive(void *bar, int cta, unsigned bytes, bool expect) { machine().mbarrierArrive(bar, cta, bytes, expect, HERE); }
void mbarrierWait(void *bar, unsigned parity) { machine().mbarrierWait(bar, parity, HERE); }
void mbarrierInitFence() { machine().fenceMbarriers(machine().self()); }
void tmaLoad(int rank, void *dst, const void *map, const int *coords, void *bar, unsigned multicast) {
  machine().tmaLoad(rank, dst, map, coords, bar, multicast, HERE);
}
void tmaStore(int rank, const void *map, const void *src, const int *coords, bool reduceAdd) {
  machine().tmaStore(rank, map, src, coords, reduceAdd, HERE);
}
void storeAsync(void *to, const void *value, unsigned bytes, void *bar, unsigned cta) {
  machine().storeAsync(to, value, bytes, bar, cta, HERE);
}
void tmaPrefetch(int rank, const void *map, const int *coords) { machine().tmaPrefetch(rank, map, coords, HERE); }
void bulkPrefetch(const void *p, unsigned bytes) { machine().bulkPrefetch(p, bytes, HERE); }
void tmaCommit() { machine().tmaCommit(); }
void tmaWait(int pending, bool readOnly) { machine().tmaWait(pending, readOnly); }
void wgmma(const kce::WgmmaArgs *args) { machine().wgmma(*args, HERE); }
void wgmmaFence() { machine().wgmmaFence(); }
void wgmmaCommit() { machine().wgmmaCommit(); }
void wgmmaWait(int pending) { machine().wgmmaWait(pending, HERE); }
void setMaxRegisters(int count, bool increase) { machine().setMaxRegisters(count, increase, HERE); }
void clusterBarrier(bool arrive, bool wait) { machine().clusterBarrier(arrive, wait, HERE); }
void *mapShared(void *p, unsigned cta) { return machine().mapShared(p, cta, HERE); }

kce::Api makeApi() {
  kce::Api api{};
  api.access = access;
  api.outOfSteps = outOfSteps;
  api.barrier = barrier;
  api.barrierVote = barrierVote;
  api.warp = warp;
  api.atomic = atomic;
  api.fence = fence;
  api.yield = yield;
  api.clock = clockNow;
  api.trap = trap;
  api.divisionByZero = divisionByZero;
  api.convert = convert;
  api.widen = widen;
  api.cpAsync = cpAsync;
  api.cpAsyncCommit = cpAsyncCommit;
  api.cpAsyncWait = cpAsyncWait;
  api.cpAsyncArrive = cpAsyncArrive;
  api.mbarrierInit = mbarrierInit;
  api.mbarrierArrive = mbarrierArrive;
  api.mbarrierWait = mbarrierWait;
  api.mbarrierInitFence = mbarrierInitFence;
  api.tmaLoad = tmaLoad;
  api.tmaStore = tmaStore;
  api.storeAsync = storeAsync;
  api.tmaPrefetch = tmaPrefetch;
  api.bulkPrefetch = bulkPrefetch;
  api.tmaCommit = tmaCommit;
  api.tmaWait = tmaWait;
  api.wgmma = wgmma;
  api.wgmmaFence = wgmmaFence;
  api.wgmmaCommit = wgmmaCommit;
  api.wgmmaWait = wgmmaWait;
  api.setMaxRegisters = setMaxRegisters;
  api.clusterBarrier = clusterBarrier;
  api.mapShared = mapShared;
  return api;
}

} // namespace

const kce::Api &hostApi() {
  static const kce::Api api = makeApi();
  return api;
}

} // namespace kernelc::emulator
