// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Rewrite.h"

#include "ir/te/InternalError.h"
#include "ir/te/TeShape.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A map from the sizes in one form for all that mean the same.
AffineMap canonical(AffineMap map) {
  for (AffineMap before; map && map != before;) {
    before = map;
    map = simplifyAffineMap(map);
  }
  return map;
}

/// The tensors that bodies of a statement read; not a recurrence's own.
void collectLoads(Region &body, llvm::SetVector<Value> &loads, ArrayRef<ReadOp> except = {}) {
  body.walk([&](ReadOp read) {
    if (!findRecurrence(read.getTensor()) && !llvm::is_contained(except, read))
      loads.insert(read.getTensor());
  });
}

std::string textOf(const TensorSketch &t) {
  std::string text;
  llvm::raw_string_ostream(text) << t.element << " " << t.shape;
  return text;
}

std::string textOf(const StatementSketch &s) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << s.kind << " over " << s.extents << ", " << s.parallel << " parallel, from";
  for (const TensorSketch &t : s.loads)
    os << " [" << textOf(t) << "]";
  os << " to";
  for (const TensorSketch &t : s.stores)
    os << " [" << textOf(t) << "]";
  return text;
}

} // namespace

TensorSketch sketchTensor(Value tensor) {
  return {canonical(getTensorShape(tensor)), cast<RankedTensorType>(tensor.getType()).getElementType()};
}

bool StatementSketch::operator==(const StatementSketch &other) const {
  return kind == other.kind && parallel == other.parallel && extents == other.extents && stores == other.stores &&
         loads.size() == other.loads.size() && std::is_permutation(loads.begin(), loads.end(), other.loads.begin());
}

void RewriteSketch::make(StatementSketch statement) {
  statement.extents = canonical(statement.extents);
  for (SmallVector<TensorSketch> *list : {&statement.loads, &statement.stores})
    for (TensorSketch &t : *list)
      t.shape = canonical(t.shape);
  made_.push_back(std::move(statement));
}

void RewriteSketch::replace(Value tensor, SmallVector<TensorSketch> by) {
  for (TensorSketch &t : by)
    t.shape = canonical(t.shape);
  replaced_[tensor] = std::move(by);
}

StatementSketch RewriteSketch::sketchOf(Operation *statement) const {
  StatementSketch s{statement->getName().getStringRef(), canonical(getExtents(statement)), getNumParallel(statement), {}, {}};
  llvm::SetVector<Value> loads;
  if (Value init = findInit(statement)) // what it goes on from
    loads.insert(init);
  for (Region &body : statement->getRegions())
    collectLoads(body, loads);
  for (Value tensor : loads)
    addLoad(tensor, s.loads);
  for (Value result : statement->getResults())
    s.stores.push_back(sketchTensor(result));
  return s;
}

SmallVector<TensorSketch> RewriteSketch::loadsIn(ArrayRef<Region *> bodies, ArrayRef<ReadOp> except) const {
  llvm::SetVector<Value> tensors;
  for (Region *body : bodies)
    collectLoads(*body, tensors, except);
  SmallVector<TensorSketch> loads;
  for (Value tensor : tensors)
    addLoad(tensor, loads);
  return loads;
}

void RewriteSketch::addLoad(Value tensor, SmallVectorImpl<TensorSketch> &loads) const {
  auto by = replaced_.find(tensor);
  if (by == replaced_.end())
    loads.push_back(sketchTensor(tensor));
  else
    loads.append(by->second.begin(), by->second.end());
}

std::vector<StatementSketch> predictStatements(KernelOp kernel, const RewriteSketch &sketch) {
  std::vector<StatementSketch> statements(sketch.made());
  for (Operation *statement : getDomainOps(kernel))
    if (!llvm::is_contained(sketch.gone(), statement))
      statements.push_back(sketch.sketchOf(statement));
  return statements;
}

LogicalResult verifyRewrite(KernelOp kernel, std::vector<StatementSketch> predicted, StringRef rewrite) {
  RewriteSketch asTheyStand;
  for (Operation *statement : getDomainOps(kernel)) {
    StatementSketch own = asTheyStand.sketchOf(statement);
    auto found = llvm::find(predicted, own);
    if (found == predicted.end())
      return emitInternalError(statement) << rewrite << " has made what its sketch does not say: " << textOf(own);
    predicted.erase(found);
  }
  if (!predicted.empty())
    return emitInternalError(kernel) << rewrite << " has not made what its sketch says: " << textOf(predicted.front());
  return success();
}

} // namespace kernelc::te
