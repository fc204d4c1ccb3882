// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/SlotNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::codegen {

/// An array of barriers has one for each slot.
static bool isBarriers(cu::SharedOp array) { return llvm::any_of(array->getUsers(), llvm::IsaPred<cu::MbarrierInitOp>); }

/// `q` of `q_slots`, and of the barriers `q_full` and `q_empty`.
static std::string nameOf(cu::SharedOp array) {
  StringRef name = cu::findName(array.getLoc());
  name.consume_back("slots");
  if (isBarriers(array) && !name.consume_back("_full"))
    name.consume_back("_empty");
  name.consume_back("_");
  return name.str();
}

static int64_t elementsOf(cu::SharedOp array) { return cast<MemRefType>(array.getType()).getNumElements(); }

SlotNames::SlotNames(cu::KernelOp kernel) {
  sizes_.single = "_slot_size", sizes_.several = "slot_size";
  stages_.single = "_stages", stages_.several = "stages";
  SmallVector<cu::SharedOp> arrays;
  kernel.walk([&](cu::SharedOp array) { arrays.push_back(array); });
  auto traceAll = [&](cu::SharedOp array) {
    traced_.clear();
    for (OpOperand &use : array->getUses()) { // an array's index stands behind it
      unsigned behind = use.getOperandNumber() + 1;
      if (behind < use.getOwner()->getNumOperands() && use.getOwner()->getOperand(behind).getType().isIndex())
        traceOperand(array, use.getOwner()->getOpOperand(behind));
    }
  };
  for (cu::SharedOp array : arrays) {
    traceAll(array); // for its slots
    if (slotsOf_.contains(array))
      traceAll(array); // for constants
  }
}

/// Whether an index differs from thread to thread.
static bool dependsOnThread(Value v) {
  Operation *op = v.getDefiningOp();
  return op && (isa<cu::ThreadIdOp>(op) || (op->getNumRegions() == 0 && llvm::any_of(op->getOperands(), dependsOnThread)));
}

/// An array of n slots is read and written at `number % n * size`, where n times size is all of it.
void SlotNames::findSlots(cu::SharedOp array, Value slot, int64_t size) {
  auto rest = slot.getDefiningOp<arith::RemSIOp>();
  std::optional<int64_t> slots = rest ? getConstantIntValue(rest.getRhs()) : std::nullopt;
  if (!slots || *slots < 2 || dependsOnThread(slot) || *slots * size != elementsOf(array) || slotsOf_.contains(array))
    return;
  slotsOf_[array] = *slots;
  add(sizes_, array, size);
  add(stages_, array, *slots);
}

void SlotNames::add(Numbers &numbers, cu::SharedOp array, int64_t value) {
  numbers.ofArray[array] = numbers.all.size();
  numbers.all.push_back({{array}, value, "", false});
}

/// Arrays that share a constant share its name, if it says the same of both.
void SlotNames::claim(Numbers &numbers, cu::SharedOp array, OpOperand &use) {
  unsigned own = numbers.ofArray.lookup(array);
  auto [at, isNew] = numbers.uses.try_emplace(&use, own);
  if (isNew || at->second == own)
    return;
  Number &first = numbers.all[at->second], &second = numbers.all[own];
  if (first.value != second.value)
    return;
  unsigned kept = at->second;
  for (cu::SharedOp other : second.arrays) {
    first.arrays.push_back(other);
    numbers.ofArray[other] = kept;
  }
  second.arrays.clear();
  for (auto &[operand, number] : numbers.uses)
    number = number == own ? kept : number;
}

void SlotNames::traceOperand(cu::SharedOp array, OpOperand &operand) {
  std::optional<int64_t> number = getConstantIntValue(operand.get());
  if (!number)
    trace(array, operand.get());
  else if (slotsOf_.contains(array) && !isBarriers(array) && *number > 0 && *number % sizes_.all[sizes_.ofArray.lookup(array)].value == 0)
    claim(sizes_, array, operand);
}

/// Which addends of an index are whole slots.
void SlotNames::trace(cu::SharedOp array, Value index) {
  if (!traced_.insert(index).second)
    return;
  Operation *op = index.getDefiningOp();
  if (isBarriers(array)) {
    if (!slotsOf_.contains(array))
      return findSlots(array, index, 1);
    auto loop = op ? scf::ForOp() : dyn_cast<scf::ForOp>(index.getParentBlock()->getParentOp());
    if (loop && getConstantIntValue(loop.getUpperBound()) == slotsOf_.lookup(array))
      return claim(stages_, array, loop.getUpperBoundMutable());
    return claimStages(array, index);
  }
  if (!op) {
    auto lambda = dyn_cast<cu::LambdaOp>(index.getParentBlock()->getParentOp());
    for (Operation *call : lambda ? SmallVector<Operation *>(lambda->getUsers()) : SmallVector<Operation *>())
      traceOperand(array, cast<cu::CallOp>(call).getArgumentsMutable()[cast<BlockArgument>(index).getArgNumber()]);
  } else if (isa<arith::AddIOp>(op)) {
    traceOperand(array, op->getOpOperand(0));
    traceOperand(array, op->getOpOperand(1));
  } else if (auto size = isa<arith::MulIOp>(op) ? getConstantIntValue(op->getOperand(1)) : std::nullopt) {
    if (!slotsOf_.contains(array))
      return findSlots(array, op->getOperand(0), *size);
    traceOperand(array, op->getOpOperand(1));
    if (*size == sizes_.all[sizes_.ofArray.lookup(array)].value)
      claimStages(array, op->getOperand(0));
  }
}

/// What takes a number of a slot from numbers that count on: `number % 4`, and whose turn it is, `number / 4`.
void SlotNames::claimStages(cu::SharedOp array, Value slot) {
  auto rest = slot.getDefiningOp<arith::RemSIOp>();
  int64_t stages = stages_.all[stages_.ofArray.lookup(array)].value;
  if (!rest || getConstantIntValue(rest.getRhs()) != stages)
    return;
  for (Operation *user : rest.getLhs().getUsers())
    if (isa<arith::RemSIOp, arith::DivSIOp>(user) && user->getOperand(0) == rest.getLhs() &&
        getConstantIntValue(user->getOperand(1)) == stages)
      claim(stages_, array, user->getOpOperand(1));
}

void SlotNames::reserve(Numbers &numbers, NameTable &names) {
  auto isUsed = [&](unsigned number) { return llvm::any_of(numbers.uses, [&](auto &use) { return use.second == number; }); };
  for (auto [number, n] : llvm::enumerate(numbers.all)) {
    if (n.arrays.empty())
      continue;
    std::string own = nameOf(n.arrays.front());
    bool isSeveral = own.empty() || llvm::any_of(n.arrays, [&](cu::SharedOp array) { return nameOf(array) != own; });
    if (isUsed(number) || !isSeveral)
      n.name = names.fresh(isSeveral ? numbers.several : own + numbers.single);
  }
}

void SlotNames::reserve(NameTable &names) {
  reserve(sizes_, names);
  reserve(stages_, names);
}

std::string SlotNames::ask(Numbers &numbers, unsigned number) {
  numbers.all[number].isUsed = !numbers.all[number].name.empty();
  return numbers.all[number].name;
}

Expr SlotNames::find(OpOperand &use) {
  for (Numbers *numbers : {&sizes_, &stages_}) {
    auto found = numbers->uses.find(&use);
    if (found == numbers->uses.end())
      continue;
    int64_t times = *getConstantIntValue(use.get()) / numbers->all[found->second].value;
    std::string name = ask(*numbers, found->second);
    if (name.empty())
      return {"", 0};
    return times == 1 ? Expr{name, kPrimary} : Expr{std::to_string(times) + " * " + name, kMultiplicative};
  }
  return {"", 0};
}

std::string SlotNames::sizeOf(cu::SharedOp array) {
  auto found = sizes_.ofArray.find(array);
  return found == sizes_.ofArray.end() ? "" : ask(sizes_, found->second);
}

std::string SlotNames::allOf(cu::SharedOp array) {
  std::string size = sizeOf(array);
  return size.empty() ? "" : ask(stages_, stages_.ofArray.lookup(array)) + " * " + size;
}

std::string SlotNames::declared(const Numbers &numbers) {
  std::string text;
  for (const Number &n : numbers.all)
    if (n.isUsed)
      text += (text.empty() ? "" : ", ") + n.name + " = " + std::to_string(n.value);
  return text;
}

} // namespace kernelc::codegen
