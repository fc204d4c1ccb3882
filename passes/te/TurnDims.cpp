// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/TurnDims.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// For each dim of what `read` reads the reader's dim that it is read at; nothing where it is read in another way.
std::optional<SmallVector<unsigned>> findPlaces(ReadOp read) {
  if (!read.getMapOrIdentity().isIdentity() || read.getBounds() != BoundsMode::InBounds)
    return std::nullopt;
  SmallVector<unsigned> places;
  for (Value v : read.getOperands_()) {
    std::optional<unsigned> d = findIndex(read->getParentOp(), v);
    if (!d || llvm::is_contained(places, *d))
      return std::nullopt;
    places.push_back(*d);
  }
  return places;
}

/// Whether `op` is a reduction that reads a sum of products.
bool walksProduct(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || findContraction(reduce))
    return false;
  bool found = false;
  reduce.walk([&](ReadOp read) {
    auto product = read.getTensor().getDefiningOp<ReduceOp>();
    found |= product && findContraction(product);
  });
  return found;
}

/// The dims of `op` in the order that all of its readers have them in; nothing where there is no such order, or `op` is a sum of products
/// that none walks. (Reductions alone are as good in one order as in another: rows of a tile are reduced as columns are.)
std::optional<SmallVector<unsigned>> orderOfReaders(ReduceOp op) {
  std::optional<SmallVector<unsigned>> order;
  bool isWalked = walksProduct(op), areReductions = true;
  for (Operation *user : op.getResult().getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    std::optional<SmallVector<unsigned>> places = read ? findPlaces(read) : std::nullopt;
    if (!places)
      return std::nullopt;
    SmallVector<unsigned> own = llvm::to_vector(llvm::seq<unsigned>(0, places->size()));
    llvm::sort(own, [&](unsigned a, unsigned b) { return (*places)[a] < (*places)[b]; });
    if (order && *order != own)
      return std::nullopt;
    order = own;
    auto reduce = dyn_cast<ReduceOp>(read->getParentOp());
    areReductions &= reduce && !findContraction(reduce);
    isWalked |= walksProduct(read->getParentOp());
  }
  return isWalked && !areReductions ? order : std::nullopt;
}

template <typename T> SmallVector<T> inOrder(ArrayRef<unsigned> order, ArrayRef<T> list) {
  SmallVector<T> turned = llvm::map_to_vector(order, [&](unsigned d) { return list[d]; });
  turned.append(list.begin() + order.size(), list.end());
  return turned;
}

void turn(ReduceOp op, ArrayRef<unsigned> order) {
  OpBuilder b(op);
  unsigned dims = op.getNumDims(), parallel = op.getNumParallel();
  AffineMap extents = op.getExtents();
  if (std::optional<IntegerSet> set = op.getCondition()) {
    SmallVector<AffineExpr> by(dims);
    for (unsigned d = 0; d < dims; ++d)
      by[d < parallel ? order[d] : d] = b.getAffineDimExpr(d);
    op.setConditionAttr(IntegerSetAttr::get(set->replaceDimsAndSymbols(by, {}, dims, set->getNumSymbols())));
  }
  op.setIndicesAttr(b.getArrayAttr(inOrder<Attribute>(order, op.getIndices().getValue())));
  op.setExtentsAttr(
      AffineMapAttr::get(AffineMap::get(0, extents.getNumSymbols(), inOrder<AffineExpr>(order, extents.getResults()), b.getContext())));
  RankedTensorType type = op.getResult().getType();
  op.getResult().setType(RankedTensorType::get(inOrder<int64_t>(order, type.getShape()), type.getElementType()));
  Block &block = op.getBlock();
  SmallVector<Value> before(block.getArguments().take_front(parallel));
  for (unsigned d = 0; d < parallel; ++d)
    before[order[d]].replaceAllUsesWith(block.insertArgument(d, b.getIndexType(), before[order[d]].getLoc()));
  block.eraseArguments(parallel, parallel);
  for (Operation *user : op.getResult().getUsers()) {
    auto read = cast<ReadOp>(user);
    SmallVector<Value> at(read.getOperands_());
    read.getOperands_Mutable().assign(inOrder<Value>(order, at));
  }
}

} // namespace

void takeReadersOrder(KernelOp kernel) {
  // (those who read first)
  SmallVector<ReduceOp> reductions = llvm::to_vector(kernel.getBlock().getOps<ReduceOp>());
  for (ReduceOp op : llvm::reverse(reductions)) {
    bool isPlain = !op.isArg() && !op.getInit() && !op.getOutMap() && getStreamedDims(op).empty();
    std::optional<SmallVector<unsigned>> order = isPlain ? orderOfReaders(op) : std::nullopt;
    if (order && !llvm::is_sorted(*order))
      turn(op, *order);
  }
}

} // namespace kernelc::te
