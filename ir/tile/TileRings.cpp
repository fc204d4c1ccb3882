// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of rings, roles and dots.
#include "ir/te/Combiners.h"
#include "ir/tile/Tile.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::tile;

LogicalResult RingLoadOp::verify() {
  auto ring = getRing().getType();
  auto tile = getResult().getType();
  bool shared = tile.getElementType().isInteger(8) && tile.getRank() == int64_t(ring.getShape().size()) &&
                llvm::all_of(llvm::zip(tile.getShape(), ring.getShape()),
                             [](auto e) { return std::get<1>(e) > 0 && std::get<0>(e) % std::get<1>(e) == 0; });
  if ((tile.getShape() != ring.getShape() && !shared) || tile.getElementType() != ring.getElementType()) // [C1]
    return emitOpError() << "has the ring's shape and element type, or with bytes multiples of its extents";
  return success();
}

void RolesOp::print(OpAsmPrinter &p) {
  for (auto [i, producer] : llvm::enumerate(getProducers())) {
    p << " producer ";
    if (i == 0)
      p << "registers " << getProducerRegisters() << ' ';
    p.printRegion(producer);
  }
  p << " consumer registers " << getConsumerRegisters() << ' ';
  p.printRegion(getConsumer());
  p.printOptionalAttrDict((*this)->getAttrs(), {"producer_registers", "consumer_registers"});
}

ParseResult RolesOp::parse(OpAsmParser &p, OperationState &state) {
  auto registers = [&](StringRef name) -> ParseResult {
    int64_t count;
    if (p.parseKeyword("registers") || p.parseInteger(count))
      return failure();
    state.addAttribute(name, p.getBuilder().getI64IntegerAttr(count));
    return success();
  };
  Region *consumer = state.addRegion(); // the first, however it is printed
  for (bool first = true; first || succeeded(p.parseOptionalKeyword("producer")); first = false) {
    if (first && (p.parseKeyword("producer") || registers("producer_registers")))
      return failure();
    if (p.parseRegion(*state.addRegion()))
      return failure();
  }
  return failure(p.parseKeyword("consumer") || registers("consumer_registers") || p.parseRegion(*consumer) ||
                 p.parseOptionalAttrDict(state.attributes));
}

namespace {
/// Shape and element type of an operand of a dot, a ring or a tile.
struct DotOperand {
  ArrayRef<int64_t> shape;
  Type element;
};
std::optional<DotOperand> findDotOperand(Value v) {
  if (auto ring = dyn_cast<RingType>(v.getType()))
    return DotOperand{ring.getShape(), ring.getElementType()};
  auto tile = dyn_cast<RankedTensorType>(v.getType());
  return tile ? std::optional(DotOperand{tile.getShape(), tile.getElementType()}) : std::nullopt;
}
} // namespace

LogicalResult DotOp::verify() {
  auto type = getAcc().getType();
  if (getResult().getType() != type)
    return emitOpError() << "has the accumulator's type";
  std::optional<DotOperand> a = findDotOperand(getA()), b = findDotOperand(getB());
  size_t rank = type.getRank();
  if (!a || !b || a->shape.size() != rank || b->shape.size() != rank || (isa<RingType>(getA().getType()) && !getNumber()) ||
      (isa<RingType>(getB().getType()) && !getNumber()) || (getANumber() && !(getNumber() && isa<RingType>(getA().getType()))))
    return emitOpError() << "[C2] takes rings, at a number, or tiles, with the accumulator's " << rank << " dims";
  auto isFloat = [](Type t) { return isa<FloatType>(t); };
  if (isFloat(a->element) != isFloat(type.getElementType()) || isFloat(b->element) != isFloat(type.getElementType()) ||
      !a->element.isIntOrFloat() || !b->element.isIntOrFloat() || !type.getElementType().isIntOrFloat())
    return emitOpError() << "[C3] sums floats in floats, or integers in integers, not " << a->element << " and " << b->element << " in "
                         << type.getElementType();
  llvm::BitVector named(rank);
  for (auto [dims, is] : {std::pair(getM(), 'm'), std::pair(getN(), 'n'), std::pair(getK(), 'k')}) {
    if (dims.empty())
      return emitOpError() << "[C1] names no index in '" << is << "'";
    for (int64_t d : dims) {
      if (d < 0 || d >= int64_t(rank) || named[d])
        return emitOpError() << "[C1] names index " << d << " of " << rank << " in '" << is << "', or names it twice";
      named.set(d);
      int64_t rows = is == 'm'   ? type.getDimSize(d)
                     : is == 'k' ? a->shape[d]
                                 : 1,
              columns = is == 'n'   ? type.getDimSize(d)
                        : is == 'k' ? rows
                                    : 1;
      if (a->shape[d] != rows || b->shape[d] != columns || (is == 'k' && type.getDimSize(d) != 1))
        return emitOpError() << "[C1] has operands of " << a->shape[d] << " and " << b->shape[d] << " and results of " << type.getDimSize(d)
                             << " points along index " << d << ", one of '" << is << "'";
    }
  }
  return success();
}

LogicalResult DotOp::verifyRegions() {
  if (isProduct()) {
    std::optional<DotOperand> a = findDotOperand(getA());
    return getCount() && !a->element.isF32()
               ? emitOpError() << "[C5] has a count of points, and no mark says in " << a->element << " which of the others are absent"
               : success();
  }
  Type type = getAcc().getType().getElementType();
  Block &term = getTerm().front();
  auto end = dyn_cast<TermOp>(term.back());
  if (!getTerm().hasOneBlock() || term.getArgumentTypes() != ArrayRef<Type>{type, type} || !end || end.getValue().getType() != type)
    return emitOpError() << "[C4] has a term of two " << type << " that ends in a tile.term of one";
  if (te::isArg(getKind()))
    return emitOpError() << "[C4] combines its terms by " << stringifyCombiner(getKind()) << ", which wants positions, too";
  for (Operation &op : term.without_terminator())
    if (op.getNumRegions() || !isMemoryEffectFree(&op) || llvm::any_of(op.getResultTypes(), llvm::IsaPred<ShapedType>))
      return op.emitOpError() << "[C4] is no scalar op without effects, which a dot's term is made of";
  for (Operation &op : term)
    for (Value v : op.getOperands())
      if (v.getParentRegion() != &getTerm() && !matchPattern(v, m_Constant()))
        return op.emitOpError() << "[C4] takes what is neither made in the dot's term nor a constant";
  return success();
}

LogicalResult RingOp::verify() {
  if (!getOf())
    return success();
  RingType type = getType(), of = cast<RingType>(getOf().getType());
  auto elements = [](RingType ring) {
    return SmallVector<int64_t>(llvm::make_filter_range(ring.getShape(), [](int64_t n) { return n > 1; }));
  };
  auto run = [](RingType ring) {
    return ring.getContiguous() < 0 ? -1
                                    : llvm::count_if(ring.getShape().take_front(ring.getContiguous()), [](int64_t n) { return n > 1; });
  };
  if (elements(type) != elements(of) || run(type) != run(of) || type.getElementType() != of.getElementType() ||
      type.getSlots() != of.getSlots() || type.getPad() != of.getPad())
    return emitOpError() << "has slots that are not those of " << of;
  return success();
}

LogicalResult DotWaitOp::verify() {
  if (getResult().getType() != getAcc().getType())
    return emitOpError() << "has the accumulator's type";
  if (getPending() < 0 || getPending() > 7)
    return emitOpError() << "counts 0 to 7 dots in flight, not " << getPending();
  return success();
}
