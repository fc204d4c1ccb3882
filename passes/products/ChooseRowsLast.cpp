// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/ChooseRowsLast.h"

#include "ir/te/Factors.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"
#include "passes/products/StepCosts.h"
#include "passes/products/SumBody.h"

using namespace mlir;

namespace kernelc::te {
namespace {

class RowChooser {
public:
  RowChooser(ReduceOp reduce, ArrayRef<int64_t> sizeMax)
      : reduce_(reduce), b_(reduce), dims_(reduce.getNumDims()), parallel_(reduce.getNumParallel()), sizeMax_(sizeMax) {}

  bool run() {
    bool isPlain = reduce_.getKind() == Combiner::Sum && !reduce_.getInit() && !reduce_.getOutMap() && !reduce_.getCondition() &&
                   !reduce_.getYield().getCondition();
    if (!isPlain || !findContraction(reduce_))
      return false;
    SmallVector<OpOperand *> factors = findFactors(reduce_.getYield().getValues()[0]);
    for (OpOperand *factor : factors)
      if (findChoice(factor->get()) && isAlone(factors, factor->get()) && pays()) {
        write();
        return true;
      }
    return false;
  }

private:
  /// Whether `factor` is an element of a row that data chooses: sets `read_`, the subscript's place and the indices that choose.
  bool findChoice(Value factor) {
    read_ = findOperandRead(factor);
    if (!read_ || (read_.getBounds() == BoundsMode::Pad && !readsZeroOutside(read_)) || !read_.getMapOrIdentity().isIdentity())
      return false;
    int64_t found = -1;
    for (auto [place, operand] : llvm::enumerate(read_.getOperands_()))
      if (!findIndex(reduce_, operand)) {
        if (found >= 0)
          return false;
        found = int64_t(place);
      }
    if (found < 0)
      return false;
    place_ = unsigned(found);
    choosing_ = findSupport(read_.getOperands_()[place_], dims_);
    return choosing_.any() && choosing_.find_next(int(parallel_) - 1) < 0;
  }

  /// Whether nothing else of the sum has an index that chooses.
  bool isAlone(ArrayRef<OpOperand *> factors, Value own) {
    for (OpOperand *other : factors)
      if (other->get() != own && findSupport(other->get(), dims_).anyCommon(choosing_))
        return false;
    for (auto [place, operand] : llvm::enumerate(read_.getOperands_()))
      if (place != place_ && choosing_[*findIndex(reduce_, operand)])
        return false;
    return true;
  }

  AffineExpr rows() { return getTensorShape(read_.getTensor()).getResult(place_); }

  bool pays() {
    SizeFacts facts{{}, sizeMax_};
    Count chosen = 1;
    for (unsigned d : choosing_.set_bits()) {
      int64_t extent = knownMax(reduce_.getExtents().getResult(d), facts);
      if (extent < 0)
        return false;
      chosen *= extent;
    }
    int64_t rows = knownMax(this->rows(), facts);
    return rows >= 0 && Count(rows) * int64_t(factorCosts().worthwhile) <= chosen;
  }

  void write() {
    SmallVector<unsigned> kept, summed, order = llvm::to_vector(llvm::seq(parallel_));
    for (unsigned d = 0; d < dims_; ++d)
      if (d >= parallel_)
        summed.push_back(d);
      else if (!choosing_[d])
        kept.push_back(d);
    Value product = makeProduct(kept, summed);
    Location loc = reduce_.getLoc();
    auto op = ComputeOp::create(b_, loc, reduce_.getResult().getType(), indicesOf(reduce_, order), extentsOf(reduce_, order),
                                IntegerSetAttr(), Value(), AffineMapAttr(), reduce_.getShapeAttr(), reduce_.getNameAttr(), false);
    writeBody(op.getBody().emplaceBlock(), reduce_, order, [&](OpBuilder &b, IRMapping &mapping) -> Value {
      Value subscript = read_.getOperands_()[place_];
      cloneTerms(b, reduce_, subscript, mapping);
      SmallVector<Value> at{mapping.lookupOrDefault(subscript)};
      for (unsigned d : kept)
        at.push_back(mapping.lookup(reduce_.getBlock().getArgument(d)));
      Type element = reduce_.getResult().getType().getElementType();
      Value zero = read_.getBounds() == BoundsMode::Pad ? arith::ConstantOp::create(b, loc, b.getZeroAttr(element)).getResult() : Value();
      return ReadOp::create(b, loc, element, product, at, AffineMapAttr(), read_.getBoundsAttr(), zero);
    });
    reduce_.getResult().replaceAllUsesWith(op.getResult());
    reduce_.erase();
  }

  /// The product of all rows, which are the first dim.
  Value makeProduct(ArrayRef<unsigned> kept, ArrayRef<unsigned> summed) {
    SmallVector<unsigned> order(kept);
    llvm::append_range(order, summed);
    SmallVector<Attribute> names{b_.getStringAttr("row")};
    SmallVector<AffineExpr> extents{rows()};
    for (unsigned d : order) {
      names.push_back(reduce_.getIndices()[d]);
      extents.push_back(reduce_.getExtents().getResult(d));
    }
    Location loc = reduce_.getLoc();
    auto type =
        RankedTensorType::get(SmallVector<int64_t>(kept.size() + 1, ShapedType::kDynamic), reduce_.getResult().getType().getElementType());
    auto map = AffineMap::get(0, reduce_.getExtents().getNumSymbols(), extents, b_.getContext());
    auto sum = ReduceOp::create(b_, loc, type, Combiner::Sum, b_.getArrayAttr(names), kept.size() + 1, map, IntegerSetAttr(), Value(),
                                AffineMapAttr(), AffineMapAttr(), StringAttr());
    sum.setAnyOrder(reduce_.getAnyOrder());
    Block &block = sum.getBody().emplaceBlock();
    Value row = block.addArgument(b_.getIndexType(), loc);
    writeBody(block, reduce_, order, [&](OpBuilder &b, IRMapping &mapping) {
      SmallVector<Value> operands;
      for (auto [place, operand] : llvm::enumerate(read_.getOperands_()))
        operands.push_back(place == place_ ? row : mapping.lookup(operand));
      Value element = ReadOp::create(b, read_.getLoc(), read_.getResult().getType(), read_.getTensor(), operands, read_.getMapAttr(),
                                     BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
      mapping.map(read_.getResult(), element);
      Value term = reduce_.getYield().getValues()[0];
      cloneTerms(b, reduce_, term, mapping);
      return mapping.lookupOrDefault(term);
    });
    return sum.getResult();
  }

  ReduceOp reduce_;
  OpBuilder b_;
  unsigned dims_, parallel_;
  ArrayRef<int64_t> sizeMax_;
  ReadOp read_;
  unsigned place_ = 0; ///< of the subscript that data says
  llvm::BitVector choosing_;
};

} // namespace

bool chooseRowsLast(ReduceOp reduce, ArrayRef<int64_t> sizeMax) { return RowChooser(reduce, sizeMax).run(); }

} // namespace kernelc::te
