// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What parts of addresses in shared memory are called: by the slots that they lead to.
#include "codegen/Names.h"

#include "ir/cu/Cu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc::codegen {
namespace {

/// The arrays that an index says elements of, through index arithmetic and what lambdas are called with.
struct Reached {
  llvm::SetVector<Value> arrays;
  bool others = false; ///< memory that is not shared, conditions, bounds of loops
};

Reached reachedFrom(Value index) {
  Reached reached;
  llvm::SetVector<Value> work;
  work.insert(index);
  for (size_t i = 0; i < work.size(); ++i)
    for (OpOperand &use : work[i].getUses()) {
      Operation *user = use.getOwner();
      unsigned at = use.getOperandNumber();
      Value before = at ? user->getOperand(at - 1) : Value(); // an array's index stands behind it
      bool isSubscript = before && isa<MemRefType>(before.getType());
      if (isSubscript && cu::spaceOf(before) == cu::Shared)
        reached.arrays.insert(before);
      else if (auto call = dyn_cast<cu::CallOp>(user); call && at > 0)
        work.insert(call.getCallee().getDefiningOp<cu::LambdaOp>().getBlock().getArgument(at - 1));
      else if (!isSubscript && user->getNumResults() == 1 && user->getNumRegions() == 0 && user->getResult(0).getType().isIndex())
        work.insert(user->getResult(0));
      else
        reached.others = true;
    }
  return reached;
}

/// The word in front of the number of a slot, if it is another round's: `next` of `next_tile % 4 * 4096`.
StringRef roundOf(Value start) {
  auto product = start.getDefiningOp<arith::MulIOp>();
  auto slot = (product ? product.getLhs() : start).getDefiningOp<arith::RemSIOp>();
  StringRef word = slot ? cu::findName(slot.getLhs().getLoc()).split('_').first : StringRef();
  return llvm::is_contained({"next", "last", "previous"}, word) ? word : StringRef();
}

} // namespace

std::string nameOfAddressPart(Value index, StringRef wanted) {
  static constexpr StringRef kParts[] = {"swizzle", "chunk", "in_chunk", "in_panel", "row_start", "offset", "remainder", "quotient"};
  if (wanted == "slot_start")
    if (StringRef word = roundOf(index); !word.empty())
      return (word + "_" + wanted).str();
  bool isPart = llvm::is_contained(kParts, wanted), isPlace = wanted.ends_with("_in_slot");
  if (!index.getType().isIndex() || !(isPart || isPlace))
    return wanted.str();
  Reached reached = reachedFrom(index);
  if (isPlace)
    return reached.arrays.size() > 1 ? "in_slot" : wanted.str();
  StringRef name = reached.arrays.size() == 1 && !reached.others ? cu::findName(reached.arrays.front().getLoc()) : StringRef();
  return name.consume_back("_slots") ? (name + "_" + wanted).str() : wanted.str();
}

} // namespace kernelc::codegen
