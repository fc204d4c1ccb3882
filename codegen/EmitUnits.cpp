// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements of the matrix units: fragments, and products of a warp or a warpgroup.
#include "codegen/Emitter.h"
#include "codegen/Helpers.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::codegen {

// What a warp multiplies (mma.sync).

bool Emitter::emitWarpUnit(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<cu::LdmatrixOp>([&](cu::LdmatrixOp o) {
        bool words = cast<MemRefType>(o.getTarget().getType()).getElementTypeBitWidth() == 32;
        std::string to = address(o.getTarget(), o.getTargetIndices());
        callHelper(o, "kc_ldmatrix_x" + llvm::Twine(o.getCount()) + (o.getTrans() ? "_trans" : ""),
                   (words ? to : "(unsigned *)" + to) + ", " + address(o.getSource(), o.getSourceIndices()));
        return true;
      })
      .Case<cu::StmatrixOp>([&](cu::StmatrixOp o) {
        callHelper(o, o.getTrans() ? "kc_stmatrix_x4_trans" : "kc_stmatrix_x4",
                   address(o.getTarget(), o.getTargetIndex()) + ", (const unsigned *)" + address(o.getSource(), o.getSourceIndex()));
        return true;
      })
      .Case<cu::DealBytesOp>([&](cu::DealBytesOp o) {
        callHelper(o, "kc_deal_bytes", element(o.getFragment(), o.getX()) + ", " + element(o.getFragment(), o.getY()));
        return true;
      })
      .Case<cu::RoundTf32Op>([&](cu::RoundTf32Op o) {
        use("kc_round_tf32");
        std::string word = element(o.getFragment(), o.getIndices());
        line(word + " = kc_round_tf32(" + word + ");");
        return true;
      })
      .Case<cu::MmaOp>([&](cu::MmaOp o) {
        std::string a = address(o.getA(), o.getAIndices());
        bool isWords = cast<MemRefType>(o.getA().getType()).getElementTypeBitWidth() == 32; // else what another product left
        callHelper(o, "kc_mma_" + o.getShape(),
                   address(o.getAcc(), o.getAccIndices()) + ", " + (isWords ? a : "(const unsigned *)" + a) + ", " +
                       address(o.getB(), o.getBIndices()),
                   " of shape " + o.getShape());
        return true;
      })
      .Default(false);
}

// What a warpgroup multiplies (wgmma). Accumulators are written, and operands in registers read, behind the compiler's back between
// fence and wait: `hold` tells it so.

void Emitter::hold(Value accumulators) {
  auto type = cast<MemRefType>(accumulators.getType());
  std::string name = type.getElementType().isF32() ? "kc_wgmma_hold" : "kc_wgmma_hold_int";
  use(name);
  line(name + "<" + llvm::Twine(type.getNumElements()) + ">(" + names_.get(accumulators) + ");");
}

void Emitter::holdOperand(Value registers) {
  auto type = cast<MemRefType>(registers.getType());
  use("kc_wgmma_hold_a");
  line("kc_wgmma_hold_a<" + llvm::Twine(type.getNumElements() * type.getElementTypeBitWidth() / 32) + ">((unsigned *)" +
       names_.get(registers) + ");");
}

/// The last argument of a product: whether it is added to what the accumulator holds.
std::string Emitter::accumulates(bool fresh, Value accumulate) {
  return fresh ? "false" : accumulate ? operand(accumulate, kConditional) : "true";
}

/// The name of a product's helper: `kc_wgmma_bf16<160, 0, 1>`. 16-bit operands say which of them lie transposed.
static std::string wgmmaName(StringRef base, StringRef type, int64_t columns, ArrayRef<bool> transposed) {
  std::string name = (base + type + "<" + llvm::Twine(columns)).str();
  if (type == "bf16" || type == "f16")
    for (bool t : transposed)
      name += t ? ", 1" : ", 0";
  return name + ">";
}

namespace {

/// Products with A in registers that stand one behind the other and add to the same registers: of one helper, since each statement of
/// assembly is as many values for NVVM as it names registers. From one to the next A goes on by four words and B by the same bytes;
/// the call's operands are the first one's. (With A in shared memory there is little to win, and ptxas puts some of them one after the
/// other, C7514.)
class ProductRun {
public:
  /// Whether `op` is a product in the run of one before it.
  static bool isInside(Operation *op) {
    auto product = dyn_cast<cu::WgmmaRegistersOp>(op);
    return product && firstOf(product) != product;
  }

  /// As long as it can be.
  explicit ProductRun(cu::WgmmaRegistersOp first) : last_(first) {
    for (cu::WgmmaRegistersOp next; (next = neighbour(last_, &Operation::getNextNode)); last_ = next, ++products_) {
      std::optional<int64_t> by = stepTo(last_, next);
      if (!by || (products_ > 1 && step_ != *by))
        break;
      step_ = *by;
    }
  }
  /// A helper's name, with what it has to know of the run.
  std::string nameOf(StringRef helper) const {
    return products_ == 1 ? helper.str() : (helper.drop_back() + ", " + llvm::Twine(products_) + ", " + llvm::Twine(step_) + ">").str();
  }

private:
  /// The product whose run `product` belongs to: of those that could stand in one, runs follow each other from the first on.
  static cu::WgmmaRegistersOp firstOf(cu::WgmmaRegistersOp product) {
    cu::WgmmaRegistersOp first = product, other;
    while ((other = neighbour(first, &Operation::getPrevNode)) && stepTo(other, first))
      first = other;
    while ((other = ProductRun(first).last_)->isBeforeInBlock(product))
      first = neighbour(other, &Operation::getNextNode);
    return first;
  }

  static cu::WgmmaRegistersOp neighbour(Operation *op, Operation *(Operation::*step)()) {
    Operation *other = (op->*step)();
    while (other && isa<cu::DescAdvanceOp, arith::ConstantOp>(other))
      other = (other->*step)();
    return dyn_cast_if_present<cu::WgmmaRegistersOp>(other);
  }

  /// How many bytes descriptor `to` lies behind `from`.
  static std::optional<int64_t> distance(Value from, Value to) {
    auto split = [](Value descriptor) -> std::pair<Value, std::optional<int64_t>> {
      auto advance = descriptor.getDefiningOp<cu::DescAdvanceOp>();
      if (!advance)
        return {descriptor, 0};
      return {advance.getDescriptor(), getConstantIntValue(advance.getBytes())};
    };
    auto [root, begin] = split(from);
    auto [other, end] = split(to);
    return root == other && begin && end ? std::optional(*end - *begin) : std::nullopt;
  }

  /// How many bytes the second operand of `b` lies behind that of `a`; nothing where it may not stand in the same run.
  static std::optional<int64_t> stepTo(cu::WgmmaRegistersOp a, cu::WgmmaRegistersOp b) {
    auto isBehind = [](Value from, Value to, int64_t by) {
      std::optional<int64_t> at = getConstantIntValue(from), then = getConstantIntValue(to);
      return at && then && *then - *at == by;
    };
    const int64_t words = 128 / cast<MemRefType>(a.getA().getType()).getElementTypeBitWidth(); // elements of four
    bool isAlike = a.getType() == b.getType() && a.getN() == b.getN() && a.getTransposeB() == b.getTransposeB();
    if (!isAlike || b.getFresh() || b.getAccumulate() || a.getAcc() != b.getAcc() || a.getA() != b.getA() ||
        !isBehind(a.getAccIndex(), b.getAccIndex(), 0) || !isBehind(a.getAIndex(), b.getAIndex(), words))
      return std::nullopt;
    std::optional<int64_t> by = distance(a.getB(), b.getB());
    return by && *by % 16 == 0 ? by : std::nullopt;
  }

  cu::WgmmaRegistersOp last_;
  int products_ = 1;
  int64_t step_ = 0;
};

} // namespace

bool Emitter::emitWarpgroupUnit(Operation *op) {
  if (ProductRun::isInside(op))
    return true;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<cu::WgmmaFenceOp>([&](cu::WgmmaFenceOp o) {
        if (!o.getFresh())
          hold(o.getAcc());
        if (o.getA())
          holdOperand(o.getA());
        return callHelper(o, "kc_wgmma_fence", ""), true;
      })
      .Case<cu::DescAdvanceOp>([](auto o) { return llvm::all_of(o->getUsers(), &ProductRun::isInside); }) // the helper computes it
      .Case<cu::WgmmaCommitOp>([&](auto o) { return callHelper(o, "kc_wgmma_commit", ""), true; })
      .Case<cu::WgmmaWaitOp>([&](cu::WgmmaWaitOp o) {
        use("kc_wgmma_wait");
        line("kc_wgmma_wait<" + llvm::Twine(o.getPending()) + ">();");
        return hold(o.getAcc()), true;
      })
      .Case<cu::WgmmaOp>([&](cu::WgmmaOp o) {
        callHelper(o, wgmmaName("kc_wgmma_", o.getType(), o.getN(), {o.getTransposeA() != 0, o.getTransposeB() != 0}),
                   address(o.getAcc(), o.getAccIndex()) + ", " + operand(o.getA(), kConditional) + ", " + operand(o.getB(), kConditional) +
                       ", " + accumulates(o.getFresh(), o.getAccumulate()));
        return true;
      })
      .Case<cu::WgmmaRegistersOp>([&](cu::WgmmaRegistersOp o) {
        callHelper(o, ProductRun(o).nameOf(wgmmaName("kc_wgmma_rs_", o.getType(), o.getN(), {o.getTransposeB() != 0})),
                   address(o.getAcc(), o.getAccIndex()) + ", (const unsigned *)" + address(o.getA(), o.getAIndex()) + ", " +
                       operand(o.getB(), kConditional) + ", " + accumulates(o.getFresh(), o.getAccumulate()));
        return true;
      })
      .Default(false);
}

bool Emitter::emitUnit(Operation *op) { return emitWarpUnit(op) || emitWarpgroupUnit(op); }

} // namespace kernelc::codegen
