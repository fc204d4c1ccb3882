// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-widen: see Passes.td.
#include "ir/cu/Marks.h"
#include "passes/Passes.h"
#include "passes/cu/IndexRanges.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUWIDEN
#include "passes/Passes.h.inc"

namespace {

bool isArith(Operation *op) { return isa<arith::ArithDialect>(op->getDialect()); }

/// Whether the low 32 bits of the result follow from those of the operands.
bool keepsLowBits(Operation *op) { return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::SelectOp>(op); }

/// Replaces index values by i64 ones where 32 bits may not be enough.
class Widening {
public:
  explicit Widening(cu::KernelOp kernel) : kernel_(kernel), ranges_(kernel, /*fits32=*/true) {}

  void run() {
    SmallVector<Operation *> ops;
    kernel_.getBody().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) // while everything is an index
      if (cu::kComputed.isOn(op) && isExact(op->getResult(0)) && !ranges_.at(op->getResult(0), op).fitsIn32Bits())
        tooLarge_.insert(op);
    if (tooLarge_.empty())
      return;
    for (Operation *op : ops)
      if (isArith(op) && op->getNumResults() == 1 && op->getResult(0).getType().isIndex() && ranges_.of(op->getResult(0)).isKnown())
        known_.insert(op);
    widenArrays(ops);
    for (Operation *op : ops)
      widen(op);
    for (Operation *op : llvm::reverse(ops))
      if (replaced_.contains(op) && isOpTriviallyDead(op))
        op->erase();
  }

private:
  /// Whether the high bits count: not where a value is only added up and multiplied to an offset, which 32 bits hold.
  bool isExact(Value v) {
    auto [it, isNew] = exact_.try_emplace(v, false);
    if (!isNew)
      return it->second;
    bool exact = llvm::any_of(v.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (keepsLowBits(user))
        return isExact(user->getResult(0));
      if (auto store = dyn_cast<memref::StoreOp>(user))
        return use.get() == store.getValueToStore();
      return isArith(user) || isa<scf::ForOp, cu::GivesOp>(user) || cu::isSearch(user);
    });
    return exact_[v] = exact;
  }

  /// Arrays of indices that something too large may be stored to hold i64.
  void widenArrays(ArrayRef<Operation *> ops) {
    llvm::SmallPtrSet<Value, 8> reached; // what follows from something too large
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation *op : ops) {
        auto follows = [&](Value v) { return reached.contains(v) || (v.getDefiningOp() && tooLarge_.contains(v.getDefiningOp())); };
        if (auto store = dyn_cast<memref::StoreOp>(op)) {
          Value array = store.getMemRef();
          if (follows(store.getValueToStore()) && store.getMemRefType().getElementType().isIndex() && canHoldWide(array)) {
            setElementType(array);
            changed = true;
          }
        } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
          if (arrays_.contains(load.getMemRef()))
            changed |= reached.insert(load.getResult()).second;
        } else if (op->getNumResults() == 1 && op->getResult(0).getType().isIndex() && isArith(op) && !isOfOffset(op) &&
                   llvm::any_of(op->getOperands(), follows)) {
          changed |= reached.insert(op->getResult(0)).second;
        }
      }
    }
  }

  static bool canHoldWide(Value array) {
    return isa_and_nonnull<memref::AllocaOp, cu::SharedOp>(array.getDefiningOp()) &&
           llvm::all_of(array.getUsers(), llvm::IsaPred<memref::LoadOp, memref::StoreOp>);
  }

  void setElementType(Value array) {
    auto type = cast<MemRefType>(array.getType());
    array.setType(MemRefType::Builder(type).setElementType(IntegerType::get(array.getContext(), 64)));
    arrays_.insert(array);
  }

  /// `v` as an i64.
  Value asWide(Value v, OpBuilder &b, Location loc) {
    if (Value w = wide_.lookup(v))
      return w;
    if (!v.getType().isIndex())
      return v;
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), v);
  }

  /// `op` of i64, if it has an operand that is one or its result is too large; other users get the result as an index.
  void widen(Operation *op) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      if (arrays_.contains(store.getMemRef()))
        store->setOperand(0, asWide(store.getValueToStore(), b, loc));
      return;
    }
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      if (arrays_.contains(load.getMemRef())) {
        Value v = memref::LoadOp::create(b, loc, load.getMemRef(), load.getIndices());
        becomes(op, v, b);
      }
      return;
    }
    if (!isArith(op) || isOfOffset(op) ||
        (!tooLarge_.contains(op) && llvm::none_of(op->getOperands(), [&](Value v) { return wide_.count(v); })))
      return;
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
      Value v = op->getOperand(0);
      if (!v.getType().isIndex()) // from data
        return becomes(op, integer(asWide(v, b, loc), b.getI64Type(), isa<arith::IndexCastUIOp>(op), b, loc), b);
      op->getResult(0).replaceAllUsesWith(integer(wide_.lookup(v), op->getResult(0).getType(), false, b, loc));
      replaced_.insert(op);
      return;
    }
    SmallVector<Value> operands;
    for (Value v : op->getOperands())
      operands.push_back(asWide(v, b, loc));
    if (!op->getResult(0).getType().isIndex()) { // a comparison
      op->setOperands(operands);
      return;
    }
    OperationState state(loc, op->getName(), operands, b.getI64Type(), op->getAttrs());
    Operation *wide = b.create(state);
    if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(wide); flags && known_.contains(op))
      wide->setAttr(flags.getIntegerOverflowAttrName(),
                    arith::IntegerOverflowFlagsAttr::get(op->getContext(), arith::IntegerOverflowFlags::nsw));
    becomes(op, wide->getResult(0), b);
  }

  /// `v` in as many bits as `type` has.
  static Value integer(Value v, Type type, bool isUnsigned, OpBuilder &b, Location loc) {
    unsigned from = v.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
    if (from == to)
      return v;
    if (from > to)
      return arith::TruncIOp::create(b, loc, type, v);
    return isUnsigned ? Value(arith::ExtUIOp::create(b, loc, type, v)) : arith::ExtSIOp::create(b, loc, type, v);
  }

  void becomes(Operation *op, Value wide, OpBuilder &b) {
    wide_[op->getResult(0)] = wide;
    replaced_.insert(op);
    b.setInsertionPointAfter(op);
    Value narrow = arith::IndexCastOp::create(b, op->getLoc(), b.getIndexType(), wide);
    op->getResult(0).replaceUsesWithIf(
        narrow, [&](OpOperand &use) { return (!isArith(use.getOwner()) || isOfOffset(use.getOwner())) && !storesToWide(use); });
    if (narrow.use_empty())
      narrow.getDefiningOp()->erase();
  }

  bool isOfOffset(Operation *op) { return keepsLowBits(op) && !isExact(op->getResult(0)); }

  bool storesToWide(OpOperand &use) {
    auto store = dyn_cast<memref::StoreOp>(use.getOwner());
    return store && use.get() == store.getValueToStore() && arrays_.contains(store.getMemRef());
  }

  cu::KernelOp kernel_;
  IndexRanges ranges_;
  llvm::DenseMap<Value, bool> exact_;
  llvm::SmallPtrSet<Operation *, 16> tooLarge_, known_, replaced_; ///< known_: 64 bits hold the result
  llvm::SmallPtrSet<Value, 4> arrays_;
  llvm::DenseMap<Value, Value> wide_; ///< i64 of an index
};

struct CuWidenPass : impl::CuWidenBase<CuWidenPass> {
  using CuWidenBase::CuWidenBase;

  void runOnOperation() override {
    if (fits32)
      Widening(getOperation()).run();
    getOperation().getBody().walk([](Operation *op) { cu::kComputed.removeFrom(op); });
  }
};

} // namespace
} // namespace kernelc
