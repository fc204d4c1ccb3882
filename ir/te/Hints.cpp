// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Hints.h"

#include "ir/te/Marks.h"

using namespace mlir;

namespace kernelc::te {

bool hasOwnLaunch(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getOwnLaunch(); });
}
void setOwnLaunch(Operation *op) {
  onDomainOp(op, [](auto o) { o.setOwnLaunch(true); });
}
bool isPointByPoint(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getPointByPoint(); });
}
void setPointByPoint(Operation *op) {
  onDomainOp(op, [](auto o) { o.setPointByPoint(true); });
}
bool isBehindParts(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getBehindParts(); });
}
void setBehindParts(Operation *op) {
  onDomainOp(op, [](auto o) { o.setBehindParts(true); });
}

StringRef getBlockText(Operation *op) {
  return onDomainOp(op, [](auto o) { return o.getBlockText(); });
}
void setBlockText(Operation *op, StringRef text) {
  onDomainOp(op, [&](auto o) { o.setBlockText(text); });
}
ArrayRef<int64_t> getBlockOf(Operation *op) {
  auto compute = dyn_cast<ComputeOp>(op);
  return compute ? compute.getInBlock() : ArrayRef<int64_t>();
}

bool isInTile(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getInTile();
}
bool isSegmented(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getSegmented();
}
ArrayRef<int64_t> getStreamedDims(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce ? reduce.getStreamed() : ArrayRef<int64_t>();
}

StringRef getLawText(Operation *op) {
  if (auto fold = dyn_cast<FoldOp>(op))
    return fold.getLawText();
  auto recurrence = dyn_cast<RecurrenceOp>(op);
  return recurrence ? recurrence.getLawText() : StringRef();
}

bool isHighPart(Operation *op) {
  auto round = dyn_cast<RoundOp>(op);
  return round ? round.getHighPart() : kHighPart.isOn(op);
}
void setHighPart(Operation *op) {
  if (auto round = dyn_cast<RoundOp>(op))
    round.setHighPart(true);
  else
    kHighPart.putOn(op);
}

void copyHints(Operation *from, Operation *to) {
  assert(from->getName() == to->getName() && "hints of statements of one kind");
  onDomainOp(to, [&](auto o) {
    auto own = cast<decltype(o)>(from);
    o.setOwnLaunch(own.getOwnLaunch());
    o.setPointByPoint(own.getPointByPoint());
    o.setBehindParts(own.getBehindParts());
    o.setBlockText(own.getBlockText());
    if constexpr (std::is_same_v<decltype(o), ReduceOp>) {
      o.setSegmented(own.getSegmented());
      o.setAllExist(own.getAllExist());
      o.setInTile(own.getInTile());
      o.setWalks(own.getWalks());
      o.setInSet(own.getInSet());
      o.setAnyOrder(own.getAnyOrder());
      o.setNoSiblingAttr(own.getNoSiblingAttr());
      o.setStreamedAttr(own.getStreamedAttr());
      o.setPrecisionAttr(own.getPrecisionAttr());
    } else if constexpr (std::is_same_v<decltype(o), ComputeOp>) {
      o.setInBlockAttr(own.getInBlockAttr());
    } else if constexpr (llvm::is_one_of<decltype(o), FoldOp, RecurrenceOp>::value) {
      o.setLawTextAttr(own.getLawTextAttr());
    }
  });
}

} // namespace kernelc::te
