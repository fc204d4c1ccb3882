// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Fold.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "passes/te/Digits.h"
#include "passes/te/Parts.h"

using namespace mlir;

namespace kernelc::te {
namespace {

RankedTensorType tensorOf(unsigned rank, Type element) {
  return RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), element);
}

/// A fold as `op` over these dims, with `fields`; its element is empty.
FoldOp makeFold(OpBuilder &b, FoldOp op, ArrayRef<Attribute> names, ArrayRef<AffineExpr> extents, unsigned parallel, IntegerSetAttr where,
                ArrayRef<int64_t> fields, StringAttr name) {
  SmallVector<Type> types =
      llvm::map_to_vector(fields, [&](int64_t f) -> Type { return tensorOf(parallel, op.getComponentType(unsigned(f))); });
  auto made = FoldOp::create(b, op.getLoc(), types, b.getArrayAttr(names), parallel,
                             AffineMap::get(0, op.getExtents().getNumSymbols(), extents, b.getContext()), where, op.getIdentity(), fields,
                             op.getMonoid(), op.getCommutative(), false, name);
  Block &element = made.getElement().emplaceBlock();
  for (size_t d = 0; d < names.size(); ++d)
    element.addArgument(b.getIndexType(), op.getLoc());
  IRMapping mapping;
  op.getCombine().cloneInto(&made.getCombine(), mapping);
  return made;
}

} // namespace

void splitFold(FoldOp op, int64_t chunk, bool isShorter) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  unsigned parallel = op.getNumParallel(), dims = op.getNumDims();
  SmallVector<Attribute> names(op.getIndices().getValue());
  SmallVector<AffineExpr> sizes(op.getExtents().getResults());
  Attribute part = b.getStringAttr(cast<StringAttr>(names[parallel]).getValue() + "_part");
  AffineExpr count = isShorter ? sizes[parallel].ceilDiv(chunk) : sizes[parallel].floorDiv(chunk);
  sizes[parallel] = b.getAffineConstantExpr(chunk);
  SmallVector<Attribute> outerNames(names.begin(), names.begin() + parallel);
  SmallVector<AffineExpr> outerSizes(sizes.begin(), sizes.begin() + parallel);
  outerNames.push_back(part);
  outerSizes.push_back(count);
  names.insert(names.begin() + parallel, part);
  sizes.insert(sizes.begin() + parallel, count);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, op.getNumComponents()));
  StringAttr partName = op.getNameAttr() ? b.getStringAttr(op.getNameAttr().getValue() + "_part") : StringAttr();

  FoldOp inner = makeFold(b, op, names, sizes, parallel + 1, splitCondition(op, chunk, isShorter), all, partName);
  FoldOp outer = makeFold(b, op, outerNames, outerSizes, parallel, {}, op.getFields(), op.getNameAttr());
  copyHints(op, outer);
  {
    Block &element = inner.getBlock();
    b.setInsertionPointToStart(&element);
    IRMapping mapping;
    for (unsigned d = 0; d < dims; ++d)
      mapping.map(op.getBlock().getArgument(d), element.getArgument(d < parallel ? d : d + 1));
    Value start = arith::MulIOp::create(b, loc, element.getArgument(parallel), arith::ConstantIndexOp::create(b, loc, chunk));
    mapping.map(op.getBlock().getArgument(parallel), arith::AddIOp::create(b, loc, start, element.getArgument(parallel + 1)).getResult());
    for (Operation &o : op.getBlock())
      b.clone(o, mapping);
  }
  b.setInsertionPointToStart(&outer.getBlock());
  SmallVector<Value> at(outer.getBlock().getArguments().begin(), outer.getBlock().getArguments().end()), state;
  for (Value result : inner.getResults())
    state.push_back(ReadOp::create(b, loc, cast<RankedTensorType>(result.getType()).getElementType(), result, at, AffineMapAttr(),
                                   BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value()));
  YieldOp::create(b, loc, state, Value());
  for (auto [from, to] : llvm::zip(op.getResults(), outer.getResults())) {
    to.setType(from.getType());
    from.replaceAllUsesWith(to);
  }
  op.erase();
}

void sketchSplitFold(RewriteSketch &sketch, FoldOp op, int64_t chunk, bool isShorter) {
  const StatementSketch own = sketch.sketchOf(op);
  const Digits digits = digitsOfParts(op.getExtents().getResult(own.parallel), chunk, isShorter);
  AffineMap inner = splitExtents(op.getExtents(), own.parallel, digits), states = takeExtents(inner, own.parallel + 1);
  SmallVector<TensorSketch> parts;
  for (unsigned k = 0; k < op.getNumComponents(); ++k)
    parts.push_back({states, op.getComponentType(k)});
  SmallVector<TensorSketch> merged = sketch.loadsIn({&op.getCombine()});
  merged.append(parts);
  sketch.drop(op);
  sketch.make({own.kind, inner, own.parallel + 1, own.loads, parts});
  sketch.make({own.kind, states, own.parallel, merged, own.stores});
}

} // namespace kernelc::te
