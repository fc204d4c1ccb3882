// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic read-modify-writes. They do not race with each other; what they order
// is decided in Machine::atomicOrder.
#include <cstring>

#include "emulator/Machine.h"
#include "support/ElementType.h"

namespace kernelc::emulator {
namespace {

size_t scalarBytes(kce::ScalarKind kind) {
  switch (kind) {
  case kce::ScalarKind::I64:
  case kce::ScalarKind::U64:
  case kce::ScalarKind::F64: return 8;
  case kce::ScalarKind::F16:
  case kce::ScalarKind::Bf16: return 2;
  default: return 4;
  }
}

template <class T> uint64_t combine(kce::AtomicOp op, uint64_t oldBits, uint64_t operandBits) {
  T old, operand, result{};
  std::memcpy(&old, &oldBits, sizeof(T));
  std::memcpy(&operand, &operandBits, sizeof(T));
  switch (op) {
  case kce::AtomicOp::Add: result = T(old + operand); break;
  case kce::AtomicOp::Min: result = operand < old ? operand : old; break;
  case kce::AtomicOp::Max: result = old < operand ? operand : old; break;
  case kce::AtomicOp::Inc: result = old >= operand ? T(0) : T(old + T(1)); break;
  case kce::AtomicOp::Dec: result = old == T(0) || old > operand ? operand : T(old - T(1)); break;
  default: result = old; break;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, &result, sizeof(T));
  return bits;
}

/// Each 16-bit float of a word for itself; only sums exist.
uint64_t addHalves(bool bf16, int count, uint64_t old, uint64_t operand) {
  uint64_t result = 0;
  for (int i = 0; i < count; i++) {
    uint16_t a = uint16_t(old >> 16 * i), b = uint16_t(operand >> 16 * i);
    uint16_t sum = bf16 ? toBF16(fromBF16(a) + fromBF16(b)) : toF16(fromF16(a) + fromF16(b));
    result |= uint64_t(sum) << 16 * i;
  }
  return result;
}

uint64_t combineBits(kce::AtomicOp op, kce::ScalarKind kind, uint64_t old, uint64_t operand, uint64_t compare) {
  switch (op) {
  case kce::AtomicOp::Load: return old;
  case kce::AtomicOp::Store:
  case kce::AtomicOp::Exchange: return operand;
  case kce::AtomicOp::And: return old & operand;
  case kce::AtomicOp::Or: return old | operand;
  case kce::AtomicOp::Xor: return old ^ operand;
  case kce::AtomicOp::CompareSwap: return old == compare ? operand : old;
  default: break;
  }
  switch (kind) {
  case kce::ScalarKind::I32: return combine<int32_t>(op, old, operand);
  case kce::ScalarKind::U32: return combine<uint32_t>(op, old, operand);
  case kce::ScalarKind::I64: return combine<int64_t>(op, old, operand);
  case kce::ScalarKind::U64: return combine<uint64_t>(op, old, operand);
  case kce::ScalarKind::F32: return combine<float>(op, old, operand);
  case kce::ScalarKind::F64: return combine<double>(op, old, operand);
  case kce::ScalarKind::Bf16x2:
  case kce::ScalarKind::F16x2: return addHalves(kind == kce::ScalarKind::Bf16x2, 2, old, operand);
  case kce::ScalarKind::Bf16:
  case kce::ScalarKind::F16: return addHalves(kind == kce::ScalarKind::Bf16, 1, old, operand);
  }
  return old;
}

} // namespace

uint64_t Machine::atomic(kce::AtomicOp op, kce::ScalarKind kind, void *p, uint64_t operand, uint64_t compare, kce::Order order,
                         const void *pc) {
  Thread &t = self();
  size_t size = scalarBytes(kind);
  bool writes = op != kce::AtomicOp::Load, reads = op != kce::AtomicOp::Store;
  access(actor(t, writes, offsetOf(pc), /*atomic=*/true), p, size, /*aligned=*/true);
  countRequest(t, offsetOf(pc), p, size);
  uint64_t old = 0;
  std::memcpy(&old, p, size);
  if (writes) {
    uint64_t result = combineBits(op, kind, old, operand, compare);
    std::memcpy(p, &result, size);
  }
  if (checks())
    atomicOrder(t, p, size, reads, writes, order);
  yield(); // whoever spins on it must see the others move
  return old;
}

} // namespace kernelc::emulator
