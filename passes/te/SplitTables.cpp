// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-split-tables: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/LinearBits.h"
#include "passes/plan/PlanAttr.h"
#include "passes/te/StatementWriter.h"
#include "support/Target.h"
#include "support/TargetCosts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESPLITTABLES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

bool isCast(Operation *op) { return isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp>(op); }

/// The unsigned integer that a subscript is a cast of; null where it is none.
Value integerOf(Value subscript) {
  Value v = subscript;
  for (Operation *op = v.getDefiningOp(); isCast(op); op = v.getDefiningOp()) {
    bool isSigned = isa<arith::IndexCastOp>(op) && !isa_and_nonnull<arith::ExtUIOp>(op->getOperand(0).getDefiningOp());
    if (isSigned && op != subscript.getDefiningOp())
      break;
    v = op->getOperand(0);
    if (isSigned)
      break;
  }
  return v == subscript || v.getType().isIndex() ? Value() : v;
}

/// A table whose elements are linear in one of its indices, and the reads that look elements up.
class TableSplitter : StatementWriter {
public:
  TableSplitter(ComputeOp table, const TargetCosts &costs)
      : StatementWriter(table, table.getName().value_or("table")), table_(table), costs_(costs.tables), threads_(costs.threads) {}

  bool find() {
    bool isPlain = isDefinition(table_) && table_.getResult().getType().getElementType().isInteger() && !table_.getResult().use_empty();
    for (unsigned d = 0; isPlain && d < table_.getNumDims(); ++d) {
      auto extent = dyn_cast<AffineConstantExpr>(table_.getExtents().getResult(d));
      if (!extent || extent.getValue() <= 1 || !llvm::isPowerOf2_64(uint64_t(extent.getValue())))
        continue;
      dim_ = d;
      points_ = uint64_t(extent.getValue());
      if (!pays() || !llvm::all_of(table_.getResult().getUses(), [&](OpOperand &use) { return takesLook(use); }))
        continue;
      if (LinearBits(table_.getBlock().getArgument(d), points_).isLinear(table_.getYield().getValues()[0]))
        return true;
    }
    return false;
  }

  void split() {
    Value parts = writeParts();
    for (OpOperand &use : llvm::make_early_inc_range(table_.getResult().getUses()))
      lookUp(cast<ReadOp>(use.getOwner()), parts);
    table_.erase();
  }

private:
  unsigned bits() const { return llvm::Log2_64(points_); }
  unsigned bitsOf(unsigned part) const { return std::min(width_, bits() - part * width_); }

  /// Whether one look in each part takes less time than one in the table, where lanes wait for each other's banks.
  bool pays() {
    unsigned words = llvm::divideCeil(table_.getResult().getType().getElementTypeBitWidth(), 32u);
    unsigned most = llvm::Log2_64(std::max<uint64_t>(2, uint64_t(costs_.banks) / words));
    parts_ = llvm::divideCeil(bits(), most);
    width_ = llvm::divideCeil(bits(), parts_);
    // (a table that does not fit into shared memory stays in caches, where one look in a large table costs less than two in small ones)
    uint64_t row = points_ * table_.getResult().getType().getElementTypeBitWidth() / 8, bytes = row;
    for (auto [d, e] : llvm::enumerate(table_.getExtents().getResults()))
      if (d != dim_) {
        auto extent = dyn_cast<AffineConstantExpr>(e);
        if (!extent || extent.getValue() < 1)
          return false;
        bytes *= uint64_t(extent.getValue());
      }
    if (row <= uint64_t(costs_.fewBytes) || bytes > uint64_t(threads_.mostTableBytes))
      return false;
    return parts_ > 1 && parts_ * costs_.look < costs_.meeting;
  }

  /// Whether an integer that a body computes chooses the element, and no other subscript of the read depends on it.
  bool takesLook(OpOperand &use) {
    auto read = dyn_cast<ReadOp>(use.getOwner());
    if (!read || read.getBounds() != BoundsMode::InBounds || read.getTensor() != table_.getResult())
      return false;
    AffineMap map = read.getMapOrIdentity();
    auto at = dyn_cast<AffineDimExpr>(map.getResult(dim_));
    if (!at)
      return false;
    for (auto [r, e] : llvm::enumerate(map.getResults()))
      if (r != dim_ && e.isFunctionOfDim(at.getPosition()))
        return false;
    Value subscript = read.getOperands_()[at.getPosition()], chosen = integerOf(subscript);
    // Integers wider than a byte are not masked four at a time (cu-masked-bytes), and to take them apart costs more than the looks.
    bool isByte = chosen && chosen.getType().getIntOrFloatBitWidth() <= unsigned(costs_.mostIndexBits);
    return isByte && chosen.getDefiningOp() && chosen.getDefiningOp()->getBlock() == read->getBlock();
  }

  /// parts[p, .., v, ..] = table[.., v << place of p, ..]: a statement of few elements.
  Value writeParts() {
    SmallVector<AffineExpr> extents{number(parts_)};
    llvm::append_range(extents, table_.getExtents().getResults());
    extents[dim_ + 1] = number(int64_t(1) << width_);
    std::string own = (table_.getName().value_or("table") + "_part").str();
    SmallVector<StringRef> names{own};
    for (Attribute name : table_.getIndices())
      names.push_back(cast<StringAttr>(name).getValue());
    auto op = makeCompute(named("_parts"), names, extents, elementType(), [&](ValueRange at) {
      IRMapping mapping;
      for (auto [d, v] : llvm::enumerate(at.drop_front()))
        mapping.map(table_.getBlock().getArgument(unsigned(d)), v);
      Value step = index(1);
      for (unsigned part = 1; part < parts_; ++part)
        step = arith::SelectOp::create(b, loc(), compare(arith::CmpIPredicate::eq, at[0], index(part)), index(int64_t(1) << part * width_),
                                       step);
      mapping.map(table_.getBlock().getArgument(dim_), arith::MulIOp::create(b, loc(), at[dim_ + 1], step).getResult());
      return cloneValue(table_.getYield().getValues()[0], mapping, b);
    });
    setPointByPoint(op);
    return op.getResult();
  }

  void lookUp(ReadOp read, Value parts) {
    OpBuilder at(read);
    Location where = read.getLoc();
    AffineMap map = read.getMapOrIdentity();
    unsigned place = cast<AffineDimExpr>(map.getResult(dim_)).getPosition();
    Value chosen = integerOf(read.getOperands_()[place]), all;
    auto constant = [&](uint64_t n) -> Value {
      return arith::ConstantOp::create(at, where, at.getIntegerAttr(chosen.getType(), APInt(widthOf(chosen), n)));
    };
    for (unsigned part = 0; part < parts_; ++part) {
      Value field = chosen;
      if (part)
        field = arith::ShRUIOp::create(at, where, field, constant(part * width_));
      if (part * width_ + bitsOf(part) < widthOf(chosen))
        field = arith::AndIOp::create(at, where, field, constant((uint64_t(1) << bitsOf(part)) - 1));
      SmallVector<Value> operands(read.getOperands_());
      operands[place] = arith::IndexCastUIOp::create(at, where, at.getIndexType(), field);
      SmallVector<AffineExpr> subscripts{at.getAffineConstantExpr(part)};
      llvm::append_range(subscripts, map.getResults());
      auto own = AffineMapAttr::get(AffineMap::get(map.getNumDims(), map.getNumSymbols(), subscripts, at.getContext()));
      Value look = ReadOp::create(at, where, elementType(), parts, operands, own, read.getBoundsAttr(), Value());
      all = all ? arith::XOrIOp::create(at, where, all, look).getResult() : look;
    }
    read.replaceAllUsesWith(all);
    read.erase();
  }

  static unsigned widthOf(Value v) { return v.getType().getIntOrFloatBitWidth(); }
  Type elementType() { return table_.getResult().getType().getElementType(); }

  ComputeOp table_;
  const TableCosts &costs_;
  const ThreadCosts &threads_;
  unsigned dim_ = 0, parts_ = 1, width_ = 0; ///< the index that chooses the element; how many of its bits a part takes
  uint64_t points_ = 0;                      ///< the extent of that index
};

struct TeSplitTablesPass : impl::TeSplitTablesBase<TeSplitTablesPass> {
  using TeSplitTablesBase::TeSplitTablesBase;
  void runOnOperation() override {
    FailureOr<const Target *> known = getTarget(getOperation(), target);
    if (failed(known))
      return signalPassFailure();
    for (ComputeOp table : llvm::to_vector(getOperation().getBlock().getOps<ComputeOp>()))
      if (TableSplitter splitter(table, *(*known)->costs); splitter.find())
        splitter.split();
  }
};

} // namespace
} // namespace kernelc
