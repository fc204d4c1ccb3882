// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/LinearBits.h"

#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::te {
namespace {

unsigned widthOf(Value v) { return v.getType().isIndex() ? 64 : v.getType().getIntOrFloatBitWidth(); }
uint64_t maskOf(Value v) { return widthOf(v) >= 64 ? ~uint64_t(0) : (uint64_t(1) << widthOf(v)) - 1; }
bool hasTop(Value v, uint64_t bits) { return bits >> (widthOf(v) - 1) & 1; }

std::optional<uint64_t> constantOf(Value v) {
  APInt n;
  return matchPattern(v, m_ConstantInt(&n)) ? std::optional(n.getZExtValue()) : std::nullopt;
}

} // namespace

bool LinearBits::isSteady(Value v) {
  if (v == index_)
    return false;
  if (auto found = steady_.find(v); found != steady_.end())
    return found->second;
  Operation *op = v.getDefiningOp();
  bool isSteady =
      !op || op->getBlock() != index_.getParentBlock() || llvm::all_of(op->getOperands(), [&](Value x) { return this->isSteady(x); });
  return steady_[v] = isSteady;
}

LinearBits::Bits LinearBits::of(Value v) {
  if (auto found = known_.find(v); found != known_.end())
    return found->second;
  Bits bits = v.getType().isIntOrIndex() ? find(v) : Bits();
  bits.most &= v.getType().isIntOrIndex() ? maskOf(v) : 0;
  return known_[v] = bits;
}

LinearBits::Bits LinearBits::find(Value v) {
  if (std::optional<uint64_t> n = constantOf(v))
    return {Kind::Steady, *n};
  Operation *op = v.getDefiningOp();
  if (!op || op->getBlock() != index_.getParentBlock())
    return {Kind::Steady, maskOf(v)};
  auto side = [&](unsigned i) { return of(op->getOperand(i)); };
  Bits found = llvm::TypeSwitch<Operation *, Bits>(op)
                   .Case([&](arith::AndIOp) -> Bits {
                     Bits a = side(0), b = side(1);
                     bool isOther = a.kind == Kind::Other || b.kind == Kind::Other || (a.kind == Kind::Linear && b.kind == Kind::Linear);
                     return {isOther ? Kind::Other : std::max(a.kind, b.kind), a.most & b.most};
                   })
                   .Case([&](arith::XOrIOp) -> Bits {
                     Bits a = side(0), b = side(1);
                     return {a.kind == b.kind ? a.kind : Kind::Other, a.most | b.most};
                   })
                   .Case<arith::OrIOp, arith::AddIOp>([&](auto) { return ofDisjoint(side(0), side(1)); })
                   .Case([&](arith::MulIOp) { return ofProduct(side(0), side(1)); })
                   .Case<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>([&](auto) { return ofShift(op); })
                   .Case([&](arith::SelectOp) { return ofChoice(op); })
                   .Default([&](Operation *) { return ofCast(op); });
  // An op without a rule is steady if its operands are.
  if (found.kind == Kind::Other && isSteady(v))
    return {Kind::Steady, maskOf(v)};
  return found;
}

/// Sums without a carry are xor.
LinearBits::Bits LinearBits::ofDisjoint(Bits a, Bits b) {
  bool isXor = a.kind == b.kind && a.kind != Kind::Other && !(a.most & b.most);
  return {isXor ? a.kind : Kind::Other, isXor ? a.most | b.most : ~uint64_t(0)};
}

/// A product with a single bit is the other factor, shifted, or zero. If both factors depend on the index, it is not linear.
LinearBits::Bits LinearBits::ofProduct(Bits a, Bits b) {
  if (a.kind == Kind::Other || b.kind == Kind::Other || (a.kind == Kind::Linear && b.kind == Kind::Linear))
    return {};
  if (!a.isOneBit())
    std::swap(a, b);
  if (!a.isOneBit())
    return {a.kind == b.kind ? a.kind : Kind::Other};
  return {std::max(a.kind, b.kind), b.most << llvm::countr_zero(a.most)};
}

LinearBits::Bits LinearBits::ofShift(Operation *op) {
  Bits x = of(op->getOperand(0));
  std::optional<uint64_t> by = constantOf(op->getOperand(1));
  if (!by || *by >= widthOf(op->getOperand(0)))
    return {};
  if (isa<arith::ShLIOp>(op))
    return {x.kind, x.most << *by};
  bool spreads = isa<arith::ShRSIOp>(op) && hasTop(op->getOperand(0), x.most);
  return {x.kind, spreads ? ~uint64_t(0) : x.most >> *by};
}

LinearBits::Bits LinearBits::ofCast(Operation *op) {
  if (!isa<arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return {};
  Value from = op->getOperand(0);
  Bits x = of(from);
  bool extends = isa<arith::ExtSIOp>(op) || (isa<arith::IndexCastOp>(op) && widthOf(from) < widthOf(op->getResult(0)));
  return {x.kind, extends && hasTop(from, x.most) ? ~uint64_t(0) : x.most};
}

bool LinearBits::isBit(Value condition, bool &isInverted) {
  isInverted = false;
  Bits own = of(condition);
  if (own.kind == Kind::Linear && own.isOneBit())
    return true;
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || !(compare.getPredicate() == arith::CmpIPredicate::eq || compare.getPredicate() == arith::CmpIPredicate::ne))
    return false;
  Bits bit = of(compare.getLhs());
  std::optional<uint64_t> n = constantOf(compare.getRhs());
  if (bit.kind != Kind::Linear || !bit.isOneBit() || !n || (*n != 0 && *n != bit.most))
    return false;
  isInverted = (compare.getPredicate() == arith::CmpIPredicate::eq) == (*n == 0);
  return true;
}

LinearBits::Bits LinearBits::ofChoice(Operation *op) {
  auto choice = cast<arith::SelectOp>(op);
  Bits yes = of(choice.getTrueValue()), no = of(choice.getFalseValue());
  bool isInverted = false;
  if (isBit(choice.getCondition(), isInverted)) {
    Bits set = isInverted ? no : yes, clear = isInverted ? yes : no;
    bool isProduct = set.kind == Kind::Steady && clear.kind == Kind::Steady && clear.most == 0;
    return isProduct ? Bits{Kind::Linear, set.most} : Bits();
  }
  // (a steady zero is linear)
  auto fits = [](Bits b) { return b.kind == Kind::Linear || (b.kind == Kind::Steady && b.most == 0); };
  bool isLinear = isSteady(choice.getCondition()) && fits(yes) && fits(no);
  return isLinear ? Bits{Kind::Linear, yes.most | no.most} : Bits();
}

} // namespace kernelc::te
