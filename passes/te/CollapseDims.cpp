// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-collapse-dims: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/index/Strides.h"
#include "passes/plan/PlanAttr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TECOLLAPSEDIMS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Of dims d and d + 1 of statements and tensors, which of them are one wherever they stand.
class Collapser {
public:
  Collapser(KernelOp kernel, SizeFacts facts) : kernel_(kernel), facts_(facts) {
    for (Attribute record : kernel.getScheduleAttr() ? kernel.getScheduleAttr().getValue() : ArrayRef<Attribute>())
      for (NamedAttribute field : cast<DictionaryAttr>(record))
        if (auto byIndex = dyn_cast<DictionaryAttr>(field.getValue()))
          for (NamedAttribute index : byIndex)
            named_.insert(index.getName().getValue());
  }

  /// Makes one dim of some that lie beside each other; false where none does.
  bool run() {
    for (BlockArgument arg : kernel_.getBlock().getArguments())
      addTensor(arg);
    for (Operation *op : getDomainOps(kernel_)) {
      addStatement(op);
      for (Value result : op->getResults())
        addTensor(result);
    }
    for (Value returned : kernel_.getReturn().getOperands())
      if (isa<BlockArgument>(returned))
        drop(returned);
    for (unsigned o = 0; o < kernel_.getOutNames().size(); ++o)
      if (int64_t alias = kernel_.getAlias(o); alias >= 0) { // (one type and shape)
        drop(kernel_.getBlock().getArgument(alias));
        drop(kernel_.getReturn().getOperand(o));
      }
    while (dropWhatDisagrees())
      ;
    for (auto &[tensor, dims] : tensors_)
      for (unsigned r : dims.set_bits())
        if (pays(tensor, r))
          return collapse(tensor, r), true;
    return false;
  }

private:
  static unsigned rankOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getRank(); }
  void drop(Value tensor) {
    if (auto at = tensors_.find(tensor); at != tensors_.end())
      at->second.reset();
  }
  void addTensor(Value tensor) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    if (!type || type.getRank() < 2)
      return;
    bool isDense = !getParamStrides(kernel_, findParam(tensor)) && llvm::all_of(tensor.getUsers(), llvm::IsaPred<ReadOp, ReturnOp>);
    tensors_.insert({tensor, llvm::BitVector(type.getRank() - 1, isDense)});
  }
  void addStatement(Operation *op) {
    unsigned dims = getExtents(op).getNumResults(), parallel = getNumParallel(op);
    llvm::BitVector &pairs = statements_[op] = llvm::BitVector(dims ? dims - 1 : 0, false);
    auto reduce = dyn_cast<ReduceOp>(op);
    bool isPlain = isa<ComputeOp, ReduceOp>(op) && !findInit(op);
    auto compute = dyn_cast<ComputeOp>(op);
    bool isMoved = compute ? compute.getOutMap() || compute.getShape() : reduce && (reduce.getOutMap() || reduce.getShape());
    if (!isPlain || isMoved)
      return;
    Block &body = op->getRegion(0).front();
    std::optional<IntegerSet> set = getCondition(op);
    auto isFree = [&](unsigned d) {
      bool isAsked = set && llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(d); });
      return !isAsked && !named_.contains(cast<StringAttr>(getIndices(op)[d]).getValue()) &&
             llvm::all_of(body.getArgument(d).getUsers(), llvm::IsaPred<ReadOp>);
    };
    for (unsigned d = 0; d + 1 < dims; ++d)
      if ((d + 1 < parallel || d >= parallel) && isFree(d) && isFree(d + 1))
        pairs.set(d);
  }
  AffineExpr pinned(AffineExpr e) { return withPinnedSizes(e, facts_); }

  /// The pair of the statement that subscripts r and r + 1 of `read` are, each one index and nothing else; nothing where they are none.
  std::optional<unsigned> pairOf(Operation *op, ReadOp read, unsigned r) {
    AffineMap map = read.getMapOrIdentity();
    auto first = dyn_cast<AffineDimExpr>(map.getResult(r)), second = dyn_cast<AffineDimExpr>(map.getResult(r + 1));
    if (!first || !second)
      return std::nullopt;
    std::optional<unsigned> d = findIndex(op, read.getOperands_()[first.getPosition()]);
    std::optional<unsigned> next = findIndex(op, read.getOperands_()[second.getPosition()]);
    bool isWhole = d && next && *next == *d + 1 && isUnchecked(read) &&
                   pinned(getExtents(op).getResult(*next)) == pinned(getTensorShape(read.getTensor()).getResult(r + 1));
    auto standsElsewhere = [&](unsigned index) {
      Value v = op->getRegion(0).front().getArgument(index);
      return llvm::any_of(llvm::enumerate(map.getResults()), [&](auto e) {
        return e.index() != r && e.index() != r + 1 && llvm::any_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
                 return operand.value() == v && e.value().isFunctionOfDim(operand.index());
               });
      });
    };
    return isWhole && !standsElsewhere(*d) && !standsElsewhere(*next) ? d : std::nullopt;
  }

  /// Takes out pairs of which a reader, a result or a statement has not both, as one; false where all agree.
  bool dropWhatDisagrees() {
    bool any = false;
    auto keep = [&](llvm::BitVector &pairs, unsigned d, bool does) {
      if (d >= pairs.size())
        return; // (a tensor may have more dims than its statement has indices)
      any |= pairs[d] && !does;
      pairs[d] = pairs[d] && does;
    };
    for (auto &[op, pairs] : statements_) {
      for (Value result : op->getResults())
        if (auto at = tensors_.find(result); at != tensors_.end())
          for (unsigned d = 0; d < at->second.size(); ++d) {
            bool does = d < pairs.size() && pairs[d] && at->second[d];
            keep(at->second, d, does);
            keep(pairs, d, does);
          }
      op->walk([&, op = op, &pairs = pairs](ReadOp read) {
        auto at = tensors_.find(read.getTensor());
        llvm::BitVector asOne(pairs.size());
        for (unsigned r = 0; at != tensors_.end() && r < at->second.size(); ++r) {
          std::optional<unsigned> d = pairOf(op, read, r);
          keep(at->second, r, d && pairs[*d]);
          if (d && at->second[r])
            asOne.set(*d);
        }
        for (unsigned d : llvm::to_vector(pairs.set_bits()))
          if (!asOne[d] && (isRead(op, read, d) || isRead(op, read, d + 1)))
            keep(pairs, d, false);
      });
    }
    return any;
  }
  static bool isRead(Operation *op, ReadOp read, unsigned d) {
    return llvm::is_contained(read.getOperands_(), Value(op->getRegion(0).front().getArgument(d)));
  }

  /// Whether its rows begin or end inside of vectors, or are a product's and shorter than a line.
  bool pays(Value tensor, unsigned r) {
    constexpr int64_t kVectorBytes = 16, kLineBytes = 128;
    int64_t bytes = std::max(1u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8);
    AffineExpr row = getTensorShape(tensor).getResult(r + 1);
    int64_t most = knownMax(row, facts_);
    bool isShort = most >= 0 && most * bytes < kLineBytes &&
                   llvm::any_of(
                       tensor.getUsers(),
                       [](Operation *user) {
                         auto reduce = dyn_cast<ReduceOp>(user->getParentOp());
                         return reduce && findGeneralContraction(reduce);
                       });
    return r + 2 == rankOf(tensor) && (isShort || knownDivisor(row, facts_) * bytes % kVectorBytes != 0);
  }

  /// All pairs that have to go with the one of `tensor`.
  void collapse(Value tensor, unsigned r);
  void collapseTensor(Value tensor, unsigned r);
  void collapseStatement(Operation *op, unsigned d);
  static AffineMap joined(AffineMap shape, unsigned d) {
    SmallVector<AffineExpr> results(shape.getResults());
    results[d] = results[d] * results[d + 1];
    results.erase(results.begin() + d + 1);
    return AffineMap::get(shape.getNumDims(), shape.getNumSymbols(), results, shape.getContext());
  }

  KernelOp kernel_;
  SizeFacts facts_;
  llvm::StringSet<> named_; ///< indices that schedules speak of
  llvm::MapVector<Value, llvm::BitVector> tensors_;
  llvm::MapVector<Operation *, llvm::BitVector> statements_;
};

void Collapser::collapse(Value tensor, unsigned r) {
  SmallVector<std::pair<Value, unsigned>> tensors{{tensor, r}};
  SmallVector<std::pair<Operation *, unsigned>> statements;
  auto addTensor = [&](Value t, unsigned d) {
    if (!llvm::is_contained(tensors, std::pair(t, d)))
      tensors.push_back({t, d});
  };
  auto addStatement = [&](Operation *op, unsigned d) {
    if (llvm::is_contained(statements, std::pair(op, d)))
      return;
    statements.push_back({op, d});
    for (Value result : op->getResults())
      if (d + 1 < getNumParallel(op))
        addTensor(result, d);
    op->walk([&](ReadOp read) {
      for (unsigned s = 0; s + 1 < rankOf(read.getTensor()); ++s)
        if (pairOf(op, read, s) == d)
          addTensor(read.getTensor(), s);
    });
  };
  for (size_t n = 0; n < tensors.size(); ++n) { // (grows)
    auto [t, d] = tensors[n];
    if (Operation *op = t.getDefiningOp())
      addStatement(op, d);
    for (Operation *user : t.getUsers())
      if (auto read = dyn_cast<ReadOp>(user))
        if (std::optional<unsigned> at = pairOf(read->getParentOp(), read, d))
          addStatement(read->getParentOp(), *at);
  }
  for (auto [op, d] : statements)
    collapseStatement(op, d);
  for (auto [t, d] : tensors)
    collapseTensor(t, d);
}

/// The type, and the shape of what callers pass. Reads have followed.
void Collapser::collapseTensor(Value tensor, unsigned r) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape(type.getShape());
  bool isKnown = shape[r] != ShapedType::kDynamic && shape[r + 1] != ShapedType::kDynamic;
  shape[r] = isKnown ? shape[r] * shape[r + 1] : ShapedType::kDynamic;
  shape.erase(shape.begin() + r + 1);
  for (Operation *user : tensor.getUsers())
    if (auto read = dyn_cast<ReadOp>(user)) {
      AffineMap map = read.getMapOrIdentity();
      read.setMapAttr(AffineMapAttr::get(map.dropResult(r + 1)));
    }
  tensor.setType(RankedTensorType::get(shape, type.getElementType()));
  auto replace = [&](ArrayAttr shapes, unsigned n) {
    SmallVector<Attribute> all(shapes.getValue());
    all[n] = AffineMapAttr::get(joined(cast<AffineMapAttr>(all[n]).getValue(), r));
    return ArrayAttr::get(kernel_.getContext(), all);
  };
  if (auto arg = dyn_cast<BlockArgument>(tensor))
    kernel_.setArgShapesAttr(replace(kernel_.getArgShapes(), arg.getArgNumber()));
  for (auto [o, returned] : llvm::enumerate(kernel_.getReturn().getOperands()))
    if (returned == tensor)
      kernel_.setOutShapesAttr(replace(kernel_.getOutShapes(), o));
}

void Collapser::collapseStatement(Operation *op, unsigned d) {
  OpBuilder b(op);
  SmallVector<Attribute> names(getIndices(op).getValue());
  names[d] = b.getStringAttr(cast<StringAttr>(names[d]).getValue() + "_" + cast<StringAttr>(names[d + 1]).getValue());
  names.erase(names.begin() + d + 1);
  AffineMap extents = joined(getExtents(op), d);
  Block &body = op->getRegion(0).front();
  // A read that has both has them in subscripts beside each other, of which the second goes with the tensor's dim.
  for (Operation *user : llvm::make_early_inc_range(body.getArgument(d + 1).getUsers())) {
    auto read = cast<ReadOp>(user);
    for (OpOperand &operand : read->getOpOperands())
      if (operand.get() == body.getArgument(d + 1))
        operand.set(body.getArgument(d));
  }
  body.eraseArgument(d + 1);
  auto setAll = [&](auto statement) {
    statement.setIndicesAttr(b.getArrayAttr(names));
    statement.setExtents(extents);
    if (std::optional<IntegerSet> set = statement.getCondition())
      statement.setCondition(withoutDim(*set, d + 1));
  };
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (d < reduce.getParallel())
      reduce.setParallel(reduce.getParallel() - 1);
    setAll(reduce);
  } else {
    setAll(cast<ComputeOp>(op));
  }
}

struct TeCollapseDimsPass : impl::TeCollapseDimsBase<TeCollapseDimsPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getFaults().empty())
      return; // records of them say which point was at fault, by its indices
    auto div = llvm::to_vector_of<int64_t>(sizeDiv), max = llvm::to_vector_of<int64_t>(sizeMax);
    while (Collapser(kernel, {div, max}).run())
      ;
  }
};

} // namespace
} // namespace kernelc
