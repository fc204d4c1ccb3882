// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-masked-bytes: see Passes.td.
#include "ir/cu/Cu.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/cu/DeadCode.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUMASKEDBYTES
#include "passes/Passes.h.inc"

namespace {

/// `bytes[at] >> shift & mask`, a number that is not negative in any type that holds it.
struct Field {
  memref::AllocaOp bytes;
  Value at;
  uint64_t shift = 0, mask = 0;
};

constexpr unsigned kByte = 8, kBytesOfWord = 4;
constexpr uint64_t kAllBits = 255;

memref::AllocaOp privateArray(Value memory) {
  auto array = memory.getDefiningOp<memref::AllocaOp>();
  return array && array.getType().getRank() == 1 ? array : memref::AllocaOp();
}

bool isBytes(memref::AllocaOp array) {
  MemRefType type = array.getType();
  return type.getElementType().isInteger(kByte) && type.getNumElements() % kBytesOfWord == 0;
}

/// The one store to an array that is otherwise only loaded from; null where there is none.
memref::StoreOp findFill(memref::AllocaOp array) {
  memref::StoreOp fill;
  for (Operation *user : array->getUsers()) {
    if (isa<memref::LoadOp, cu::LookOp>(user))
      continue;
    auto store = dyn_cast<memref::StoreOp>(user);
    if (!store || fill)
      return {};
    fill = store;
  }
  return fill;
}

/// Whether nobody writes to `array` from where `first` stands on up to `last`, both in the block that declares it.
bool isKept(memref::AllocaOp array, Operation *first, Operation *last) {
  Block *block = array->getBlock();
  Operation *from = block->findAncestorOpInBlock(*first), *to = block->findAncestorOpInBlock(*last);
  if (!from || !to)
    return false;
  return llvm::all_of(array->getUsers(), [&](Operation *user) {
    if (isa<memref::LoadOp, cu::LookOp>(user))
      return true;
    // (all writes stand before all reads in the block, so that no loop inside it writes again between two reads)
    Operation *place = block->findAncestorOpInBlock(*user);
    return place && place != from && place != to && place->isBeforeInBlock(from) && place->isBeforeInBlock(to);
  });
}

bool hasTop(const Field &f, Type type) { return type.isInteger() && f.mask >> (type.getIntOrFloatBitWidth() - 1) & 1; }

std::optional<Field> findField(Value v, Operation *reader);

/// The field that an element of another array holds, if one statement fills that array with fields.
std::optional<Field> findThrough(memref::LoadOp load, Operation *reader) {
  memref::AllocaOp array = privateArray(load.getMemRef());
  if (array && isBytes(array))
    return Field{array, load.getIndices()[0], 0, kAllBits};
  memref::StoreOp fill = array ? findFill(array) : memref::StoreOp();
  if (!fill)
    return std::nullopt;
  std::optional<Field> stored = findField(fill.getValueToStore(), fill);
  if (!stored || stored->at != fill.getIndices()[0] || !isKept(array, load, reader) || !isKept(stored->bytes, fill, reader))
    return std::nullopt;
  stored->at = load.getIndices()[0];
  return stored;
}

std::optional<Field> findField(Value v, Operation *reader) {
  Operation *op = v.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return findThrough(load, reader);
  bool isShift = isa<arith::ShRUIOp, arith::ShRSIOp>(op), isMask = isa<arith::AndIOp>(op);
  bool isSigned = isa<arith::ExtSIOp, arith::IndexCastOp, arith::ShRSIOp>(op);
  if (!isShift && !isMask && !isa<arith::ExtUIOp, arith::ExtSIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return std::nullopt;
  std::optional<Field> field = findField(op->getOperand(0), reader);
  if (!field || (isSigned && hasTop(*field, op->getOperand(0).getType())))
    return std::nullopt;
  APInt number;
  if ((isShift || isMask) && !matchPattern(op->getOperand(1), m_ConstantInt(&number)))
    return std::nullopt;
  uint64_t n = isShift || isMask ? number.getZExtValue() : 0;
  if (isMask)
    field->mask &= n;
  if (isShift && n >= kByte)
    return std::nullopt;
  if (isShift) {
    field->shift += n;
    field->mask >>= n;
  }
  return field;
}

/// Splits a subscript into the row (null: none) and the field that it is the sum of.
std::pair<Value, std::optional<Field>> splitSubscript(memref::LoadOp load) {
  Value at = load.getIndices()[0];
  auto sum = at.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return {Value(), findField(at, load)};
  for (unsigned side : {0u, 1u})
    if (std::optional<Field> field = findField(sum->getOperand(side), load))
      return {sum->getOperand(1 - side), field};
  return {Value(), std::nullopt};
}

bool isTable(memref::LoadOp load) {
  auto type = load.getMemRefType();
  bool isShared = cu::spaceOf(load.getMemRef()) == cu::Shared && type.getRank() == 1 && !type.getElementType().isIndex();
  return isShared && type.getElementTypeBitWidth() >= kByte && llvm::isPowerOf2_64(type.getElementTypeBitWidth());
}

bool takeLook(memref::LoadOp load) {
  auto [row, field] = splitSubscript(load);
  if (!field || field->mask == 0 || !isKept(field->bytes, load, load))
    return false;
  uint64_t element = load.getMemRefType().getElementTypeBitWidth() / kByte;
  if (field->mask * element > kAllBits || (element == 1 && field->mask == kAllBits)) // (a whole byte needs no mask)
    return false;
  OpBuilder b(load);
  if (!row)
    row = arith::ConstantIndexOp::create(b, load.getLoc(), 0);
  Value look =
      cu::LookOp::create(b, load.getLoc(), load.getType(), load.getMemRef(), row, field->bytes, field->at, field->shift, field->mask);
  load.replaceAllUsesWith(look);
  load.erase();
  return true;
}

struct CuMaskedBytesPass : impl::CuMaskedBytesBase<CuMaskedBytesPass> {
  void runOnOperation() override {
    SmallVector<memref::LoadOp> loads;
    getOperation().getBody().walk([&](memref::LoadOp load) {
      if (isTable(load))
        loads.push_back(load);
    });
    bool changed = false;
    for (memref::LoadOp load : loads)
      changed |= takeLook(load);
    if (changed)
      eraseDead(getOperation());
  }
};

} // namespace
} // namespace kernelc
