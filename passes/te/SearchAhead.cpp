// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/SearchAhead.h"

#include "ir/te/Marks.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/CascadeMasks.h"
#include "passes/analysis/Definitions.h"
#include "passes/index/TileCondition.h"
#include "passes/plan/Chain.h"
#include "passes/plan/WalkParts.h"
#include "passes/te/StatementWriter.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::te {
namespace {

using P = arith::CmpIPredicate;

/// Data of the points that a cascade walks against data of its rows, or of all of them.
struct Meeting {
  Value part;
  Value walked, fixed;
  P relation;                   ///< of `walked` to `fixed`
  SmallVector<unsigned> common; ///< the cascade's dims that either has, but the one walked and the rows
  std::optional<unsigned> row;
};

/// What `v` is computed from.
llvm::SetVector<Operation *> sliceOf(Value v) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getBlock() == v.getParentBlock(); };
  (void)getBackwardSlice(v, &slice, options);
  return slice;
}

/// Whether `v` can be computed at another place, ahead of `at`: of indices, and of tensors that are there.
bool isKnownAhead(CascadeOp op, Value v, Operation *at) {
  auto isIndex = [&](Value operand) {
    auto arg = dyn_cast<BlockArgument>(operand);
    return !arg || arg.getOwner() != &op.getBlock() || arg.getArgNumber() < op.getNumDims();
  };
  if (!v.getDefiningOp())
    return isIndex(v);
  return llvm::all_of(sliceOf(v), [&](Operation *def) {
    auto read = dyn_cast<ReadOp>(def);
    Operation *made = read ? read.getTensor().getDefiningOp() : nullptr;
    return llvm::all_of(def->getOperands(), isIndex) && (!made || made->isBeforeInBlock(at));
  });
}

std::optional<Meeting> findMeeting(CascadeOp op, const ProductWalk &walk, Value part) {
  auto compare = part.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getLhs().getType().isInteger(1) || findLinearBound(part) ||
      !llvm::is_contained({P::eq, P::slt, P::sle, P::sgt, P::sge}, compare.getPredicate()))
    return std::nullopt;
  llvm::BitVector left = findSupport(compare.getLhs(), op.getNumDims()), right = findSupport(compare.getRhs(), op.getNumDims());
  if (left[walk.walked] == right[walk.walked])
    return std::nullopt;
  bool isLeft = left[walk.walked];
  Meeting m{part,
            isLeft ? compare.getLhs() : compare.getRhs(),
            isLeft ? compare.getRhs() : compare.getLhs(),
            isLeft ? compare.getPredicate() : turnRelation(compare.getPredicate()),
            {},
            {}};
  const llvm::BitVector &walked = isLeft ? left : right, &fixed = isLeft ? right : left;
  llvm::BitVector rows(op.getNumDims());
  for (unsigned r : rowsOf(walk))
    if (std::optional<unsigned> d = findIndex(op, ReadOp(walk.read).getOperands_()[r]))
      rows.set(*d);
  Operation *at = walk.producer;
  if (walked.anyCommon(rows) || !isKnownAhead(op, m.walked, at) || !isKnownAhead(op, m.fixed, at))
    return std::nullopt;
  for (unsigned d = 0; d < op.getNumParallel(); ++d)
    if (rows[d] && fixed[d]) {
      if (m.row)
        return std::nullopt;
      m.row = d;
    } else if (walked[d] || fixed[d]) {
      m.common.push_back(d);
    }
  return m;
}

/// Writes the searches of one meeting, and what they say into the mask.
class AheadSearch : StatementWriter {
public:
  AheadSearch(CascadeOp op, const ProductWalk &walk, const Meeting &meeting)
      : StatementWriter(walk.producer, "rows"), op_(op), m_(meeting), walked_(walk.walked) {}

  void write() {
    Value least = m_.relation == P::sle || m_.relation == P::slt ? Value() : ofRows(Combiner::Min, "_least");
    Value most = m_.relation == P::sge || m_.relation == P::sgt ? Value() : ofRows(Combiner::Max, "_most");
    Value first = ofPoints(Combiner::Min, "_first", least, most);
    Value past = isEndedByPlace() ? Value() : ofPoints(Combiner::Max, "_past", least, most);
    for (Value v = op_.getElementValue(0); auto select = v.getDefiningOp<arith::SelectOp>(); v = select.getTrueValue())
      if (llvm::is_contained(splitConjuncts(select.getCondition()), m_.part))
        return bound(select, first, past);
  }

private:
  int64_t rows() const { return 64; } // of the unit, and so of each tile a part or all
  AffineExpr extent(unsigned d) { return op_.getExtents().getResult(d); }
  StringRef indexName(unsigned d) { return cast<StringAttr>(op_.getIndices()[d]).getValue(); }
  Value toI64(Value v) {
    if (v.getType().isIndex())
      return arith::IndexCastOp::create(b, loc(), b.getI64Type(), v);
    return v.getType().isInteger(64) ? v : arith::ExtSIOp::create(b, loc(), b.getI64Type(), v).getResult();
  }

  /// A reduction over `length` points of each piece of rows, the last index of which is `last`. `isOfAll`: of all that is walked, which no
  /// tile makes for itself.
  Value reduce(Combiner kind, StringRef name, StringRef last, AffineExpr length, IntegerSetAttr condition, bool isOfAll,
               llvm::function_ref<Value(ValueRange pieces, Value last)> body) {
    SmallVector<StringRef> names = llvm::map_to_vector(m_.common, [&](unsigned d) { return indexName(d); });
    SmallVector<AffineExpr> extents = llvm::map_to_vector(m_.common, [&](unsigned d) { return extent(d); });
    std::string piece = m_.row ? (indexName(*m_.row) + "_piece").str() : "";
    if (m_.row) {
      names.push_back(piece);
      extents.push_back(extent(*m_.row).ceilDiv(rows()));
    }
    auto type = typeOf(extents, b.getI64Type());
    names.push_back(last);
    extents.push_back(length);
    unsigned parallel = extents.size() - 1;
    auto op = ReduceOp::create(b, loc(), type, kind, b.getStrArrayAttr(names), parallel, over(extents), condition, Value(), AffineMapAttr(),
                               AffineMapAttr(), named(name));
    op.setOwnLaunch(isOfAll);
    return fill(op, [&](ValueRange at) { return SmallVector<Value>{body(at.drop_back(), at.back())}; }).getResult();
  }

  /// `side` at the point of which `d` is `at`.
  Value cloneAt(Value side, ValueRange pieces, unsigned d, Value at) {
    IRMapping mapping;
    for (auto [n, common] : llvm::enumerate(m_.common))
      mapping.map(op_.getBlock().getArgument(common), pieces[n]);
    mapping.map(op_.getBlock().getArgument(d), at);
    return toI64(cloneValue(side, mapping, b));
  }

  /// The least, or most, of what the rows of a piece have; null where there are no rows.
  Value ofRows(Combiner kind, StringRef name) {
    if (!m_.row)
      return {};
    unsigned piece = m_.common.size(), last = piece + 1;
    std::string in = (indexName(*m_.row) + "_in").str();
    IntegerSetAttr exist = where(extent(*m_.row) - 1 - dim(piece) * rows() - dim(last), last + 1);
    return reduce(kind, name, in, number(rows()), exist, /*isOfAll=*/false, [&](ValueRange pieces, Value at) {
      Value row = value(b.getAffineDimExpr(0) * rows() + b.getAffineDimExpr(1), {pieces.back(), at});
      return cloneAt(m_.fixed, pieces, *m_.row, row);
    });
  }

  /// The first point, or the one behind the last, whose data the rows may meet.
  Value ofPoints(Combiner kind, StringRef name, Value least, Value most) {
    bool isFirst = kind == Combiner::Min;
    return reduce(kind, name, indexName(walked_), extent(walked_), IntegerSetAttr(), /*isOfAll=*/true, [&](ValueRange pieces, Value at) {
      Value v = cloneAt(m_.walked, pieces, walked_, at), holds;
      if (m_.row) {
        for (auto [limit, relation] : {std::pair(least, P::sge), std::pair(most, P::sle)})
          if (limit) {
            Value here = compare(relation, v, read(limit, pieces));
            holds = holds ? both(holds, here) : here;
          }
      } else {
        holds = compare(m_.relation, v, cloneAt(m_.fixed, pieces, walked_, at));
      }
      Value found = isFirst ? at : value(dim(0) + 1, at);
      Value none = isFirst ? value(extent(walked_), {}) : index(0);
      return toI64(arith::SelectOp::create(b, loc(), holds, found, none));
    });
  }

  /// Whether the results' place bounds what is walked from above (causal rows): it mostly ends at points that meet.
  bool isEndedByPlace() {
    std::optional<IntegerSet> set = op_.getCondition();
    return set && llvm::any_of(set->getConstraints(), [&](AffineExpr e) {
             std::optional<int64_t> c = linearCoefficient(e, walked_);
             bool hasOthers = llvm::any_of(llvm::seq(0u, op_.getNumParallel()), [&](unsigned d) { return e.isFunctionOfDim(d); });
             return c && *c < 0 && hasOthers;
           });
  }

  void bound(arith::SelectOp select, Value first, Value past) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(select);
    SmallVector<Value> at = llvm::map_to_vector(m_.common, [&](unsigned d) -> Value { return op_.getBlock().getArgument(d); });
    SmallVector<AffineExpr> subscripts = llvm::map_to_vector(llvm::seq<unsigned>(0, at.size()), [&](unsigned d) { return dim(d); });
    if (m_.row) {
      subscripts.push_back(dim(at.size()).floorDiv(rows()));
      at.push_back(op_.getBlock().getArgument(*m_.row));
    }
    Value j = op_.getBlock().getArgument(walked_), all = select.getCondition();
    for (auto [tensor, relation] : {std::pair(first, P::sge), std::pair(past, P::slt)})
      if (tensor) {
        Value holds = compare(relation, j, toIndex(read(tensor, at, subscripts)));
        kImplied.putOn(holds.getDefiningOp());
        all = both(all, holds);
      }
    select.getConditionMutable().assign(all);
  }

  CascadeOp op_;
  const Meeting &m_;
  unsigned walked_;
};

} // namespace

void searchAhead(KernelOp kernel, const Target &target, const SizeFacts &facts, const SizeFacts &expected) {
  SmallVector<CascadeOp> cascades = llvm::to_vector(kernel.getBlock().getOps<CascadeOp>());
  for (CascadeOp op : cascades) {
    std::optional<ProductWalk> walk = findJoinedWalk(op, target, facts);
    if (!walk || walk->products.empty() || !paysToSearchAhead(op, *walk, target, expected))
      continue;
    for (Value part : findPointMasks(op))
      if (std::optional<Meeting> m = findMeeting(op, *walk, part))
        AheadSearch(op, *walk, *m).write();
  }
}

} // namespace kernelc::te
