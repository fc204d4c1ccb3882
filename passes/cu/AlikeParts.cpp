// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/AlikeParts.h"

#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/cu/LinearIndex.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {

bool isScalarExpression(Operation *op) {
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() && op->getNumResults() > 0 && isMemoryEffectFree(op) &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<MemRefType>);
}

bool isProduct(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<cu::WgmmaOp, cu::WgmmaRegistersOp, cu::WgmmaFenceOp, cu::WgmmaCommitOp, cu::WgmmaWaitOp, cu::SetRegistersOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

SmallVector<Operation *> statementsOf(Block &block) {
  SmallVector<Operation *> statements;
  for (Operation &op : block)
    if (!isScalarExpression(&op) && !isa<memref::AllocaOp, cu::SharedOp>(op) && !op.hasTrait<OpTrait::IsTerminator>())
      statements.push_back(&op);
  return statements;
}

namespace {

/// Numbers the loads of a block in the order in which its other statements ask for them.
class LoadOrder {
public:
  explicit LoadOrder(Block &block) : block_(block) {
    for (Operation &op : block)
      if (!isScalarExpression(&op) && !isa<memref::LoadOp>(op))
        op.walk([&](Operation *inner) { visitOperands(inner); });
  }

  /// Puts loads with nothing but expressions between them into that order; those that no statement asks for come last.
  void sort(MutableArrayRef<Operation *> loads) const {
    llvm::stable_sort(loads, [&](Operation *x, Operation *y) { return numberOf(x) < numberOf(y); });
  }

private:
  unsigned numberOf(Operation *load) const {
    auto known = numbers_.find(load);
    return known == numbers_.end() ? ~0u : known->second;
  }

  void visitOperands(Operation *op) {
    for (Value v : op->getOperands())
      if (Operation *maker = v.getDefiningOp(); maker && maker->getBlock() == &block_ && seen_.insert(maker).second) {
        bool isLoad = isa<memref::LoadOp>(maker);
        if (isLoad || isScalarExpression(maker))
          visitOperands(maker);
        if (isLoad)
          numbers_.try_emplace(maker, numbers_.size());
      }
  }

  Block &block_;
  llvm::DenseMap<Operation *, unsigned> numbers_;
  llvm::SmallPtrSet<Operation *, 32> seen_;
};

} // namespace

SmallVector<Operation *> innerStatementsOf(Block &block) {
  SmallVector<Operation *> list;
  LoadOrder order(block);
  size_t firstLoad = 0;
  auto endLoads = [&] {
    order.sort(MutableArrayRef(list).drop_front(firstLoad));
    firstLoad = list.size();
  };
  for (Operation &op : block) {
    if (isScalarExpression(&op))
      continue;
    bool isLoad = isa<memref::LoadOp>(op);
    if (!isLoad)
      endLoads();
    list.push_back(&op);
    if (!isLoad)
      firstLoad = list.size();
  }
  endLoads();
  return list;
}

llvm::hash_code shapeOf(Operation *op) {
  llvm::hash_code shape = llvm::hash_combine(op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer());
  for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
    shape = llvm::hash_combine(shape, type.getAsOpaquePointer());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation *inner : innerStatementsOf(block))
        shape = llvm::hash_combine(shape, shapeOf(inner));
  return shape;
}

int64_t linesOf(Operation *op) {
  int64_t lines = 0;
  op->walk([&](Operation *inner) {
    lines += !isScalarExpression(inner) && !isa<cu::CommentOp>(inner) && !inner->hasTrait<OpTrait::IsTerminator>();
  });
  return lines;
}

int64_t unrolledRoundsOf(scf::ForOp loop) {
  bool counts = getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1 && loop.getNumResults() == 0;
  return counts && cu::kUnroll.isAllOn(loop) ? std::max<int64_t>(0, getConstantIntValue(loop.getUpperBound()).value_or(0)) : 0;
}

bool storesEachOnce(memref::StoreOp store, Operation *root) {
  if (store.getIndices().size() != 1)
    return false;
  LinearIndex at = LinearIndex::of(store.getIndices().front());
  SmallVector<std::pair<int64_t, int64_t>> digits; // factor, rounds
  for (Operation *op = store; op != root; op = op->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!loop || !unrolledRoundsOf(loop))
      return false;
    digits.push_back({at.factorOf(loop.getInductionVar()), unrolledRoundsOf(loop)});
  }
  llvm::sort(digits);
  int64_t reached = 1;
  for (auto [factor, rounds] : digits) {
    if (factor < reached)
      return false;
    reached = factor * rounds;
  }
  return at.terms.size() == digits.size();
}

std::optional<SmallVector<ArrayUse, 3>> arrayUsesOf(Operation *op) {
  SmallVector<ArrayUse, 3> uses;
  auto add = [&](OpOperand &array, auto subscripts) {
    if (cu::spaceOf(array.get()) != cu::Private && cu::spaceOf(array.get()) != cu::Shared)
      return;
    ArrayUse use{array.getOperandNumber(), {}};
    for (OpOperand &s : subscripts)
      use.subscripts.push_back(s.getOperandNumber());
    uses.push_back(use);
  };
  auto one = [](OpOperand &o) { return MutableArrayRef<OpOperand>(&o, 1); };
  auto many = [](MutableOperandRange r) { return MutableArrayRef<OpOperand>(r.begin(), r.end()); };
  bool known = llvm::TypeSwitch<Operation *, bool>(op)
                   .Case<memref::LoadOp, memref::StoreOp>([&](auto o) {
                     add(o.getMemrefMutable(), many(o.getIndicesMutable()));
                     return true;
                   })
                   .Case<cu::CopyOp, cu::AddVectorOp>([&](auto o) {
                     add(o.getSourceMutable(), many(o.getSourceIndicesMutable()));
                     add(o.getTargetMutable(), many(o.getTargetIndicesMutable()));
                     return true;
                   })
                   .Case<cu::LdmatrixOp>([&](cu::LdmatrixOp o) {
                     add(o.getSourceMutable(), many(o.getSourceIndicesMutable()));
                     add(o.getTargetMutable(), many(o.getTargetIndicesMutable()));
                     return true;
                   })
                   .Case<cu::GatherOp>([&](cu::GatherOp o) {
                     add(o.getSourceMutable(), many(o.getElementsMutable()));
                     add(o.getTargetMutable(), many(o.getTargetIndicesMutable()));
                     return true;
                   })
                   .Case<cu::StmatrixOp>([&](cu::StmatrixOp o) {
                     add(o.getSourceMutable(), one(o.getSourceIndexMutable()));
                     add(o.getTargetMutable(), one(o.getTargetIndexMutable()));
                     return true;
                   })
                   .Case<cu::RoundTf32Op>([&](cu::RoundTf32Op o) {
                     add(o.getFragmentMutable(), many(o.getIndicesMutable()));
                     return true;
                   })
                   .Case<cu::MmaOp>([&](cu::MmaOp o) {
                     add(o.getAccMutable(), many(o.getAccIndicesMutable()));
                     add(o.getAMutable(), many(o.getAIndicesMutable()));
                     add(o.getBMutable(), many(o.getBIndicesMutable()));
                     return true;
                   })
                   .Default([](Operation *) { return false; });
  return known ? std::optional(uses) : std::nullopt;
}

std::optional<Progression> findProgression(ArrayRef<int64_t> numbers) {
  int64_t count = int64_t(numbers.size()), base = numbers[0], step = numbers[1] - base;
  for (int64_t period = count; period >= 2; --period)
    if (llvm::all_of(llvm::seq<int64_t>(0, count), [&](int64_t part) { return numbers[part] == base + step * (part % period); }))
      return Progression{base, step, period == count ? 0 : period};
  return std::nullopt;
}

/// The numbers that count for code: those that halve, too, as a binary search's steps do.
static std::optional<Progression> findSteps(ArrayRef<int64_t> numbers) {
  if (std::optional<Progression> grown = findProgression(numbers))
    return grown;
  int64_t half = numbers[0];
  for (int64_t number : numbers) {
    if (number != half || half <= 0)
      return std::nullopt;
    half /= 2;
  }
  return Progression{numbers[0], 0, 0, /*halves=*/true};
}

static std::optional<int64_t> numberOf(Value v) { return v.getType().isIndex() ? getConstantIntValue(v) : std::nullopt; }

Sum sumOf(Value v) {
  if (std::optional<int64_t> number = numberOf(v))
    return {{}, *number};
  Sum sum{v, 0};
  for (auto add = v.getDefiningOp<arith::AddIOp>(); add && v.getType().isIndex(); add = sum.rest.getDefiningOp<arith::AddIOp>()) {
    std::optional<int64_t> number = numberOf(add.getRhs());
    if (!number)
      break;
    sum = {add.getLhs(), sum.addend + *number};
  }
  return sum;
}

std::optional<Progression> AlikeParts::numbersOf(const Values &values) {
  SmallVector<int64_t> numbers;
  for (Value v : values)
    if (std::optional<int64_t> number = numberOf(v))
      numbers.push_back(*number);
    else
      return std::nullopt;
  return findSteps(numbers);
}

std::optional<std::pair<Values, Progression>> AlikeParts::withoutAddends(const Values &values) {
  Values rest;
  SmallVector<int64_t> addends;
  for (Value v : values) {
    Sum sum = sumOf(v);
    if (!sum.rest)
      return std::nullopt;
    rest.push_back(sum.rest);
    addends.push_back(sum.addend);
  }
  std::optional<Progression> progression = findSteps(addends);
  if (!progression || rest == values)
    return std::nullopt;
  return std::pair(rest, *progression);
}

std::optional<Ops> AlikeParts::expressionsOf(const Values &values) {
  Ops ops;
  for (Value v : values) {
    Operation *op = v.getDefiningOp();
    if (!op || !isScalarExpression(op) || op->getNumResults() != 1)
      return std::nullopt;
    ops.push_back(op);
  }
  bool same = llvm::all_of(ops, [&](Operation *op) {
    return op->getName() == ops[0]->getName() && op->getAttrDictionary() == ops[0]->getAttrDictionary() &&
           op->getResultTypes() == ops[0]->getResultTypes() && op->getOperandTypes() == ops[0]->getOperandTypes();
  });
  return same ? std::optional(ops) : std::nullopt;
}

Values operandsOf(const Ops &ops, unsigned i) {
  return Values(llvm::map_range(ops, [&](Operation *op) { return op->getOperand(i); }));
}

bool AlikeParts::areAlike(const Values &values) {
  if (isOneValue(values))
    return !bound_.contains(values.front());
  if (auto known = bound_.find(values.front()); known != bound_.end() && known->second == values)
    return true;
  if (values.front().getDefiningOp<memref::AllocaOp>())
    return areArrays(values);
  if (values.front().getDefiningOp<cu::SharedOp>())
    return areShared(values);
  std::vector<const void *> key;
  for (Value v : values)
    key.push_back(v.getAsOpaquePointer());
  if (auto known = expressions_.find(key); known != expressions_.end())
    return known->second;
  return expressions_[key] = compare(values);
}

bool AlikeParts::compare(const Values &values) {
  if (numbersOf(values))
    return true;
  if (auto parted = withoutAddends(values))
    return areAlike(parted->first);
  std::optional<Ops> ops = expressionsOf(values);
  return ops && ops->front()->getNumOperands() &&
         llvm::all_of(llvm::seq<unsigned>(0, ops->front()->getNumOperands()), [&](unsigned i) { return areAlike(operandsOf(*ops, i)); });
}

/// What each part writes is what the next one reads.
bool AlikeParts::isChain(const Values &values) {
  for (auto &[first, read] : arrays_) {
    if (auto known = chains_.find(first); known != chains_.end()) {
      if (known->second == values)
        return true;
      continue;
    }
    auto last = values.back().getDefiningOp<memref::AllocaOp>();
    if (ArrayRef<Value>(read).drop_front() != ArrayRef<Value>(values).drop_back() || !last || last.getType() != first.getType() ||
        last->getBlock() != block_ || firstOf_.contains(last))
      continue;
    firstOf_[last] = first;
    chains_[first] = values;
    return true;
  }
  return false;
}

/// Each part its own, of a size by which the parts of one array for all lie as the arrays did.
bool AlikeParts::areArrays(const Values &values) {
  if (auto known = arrays_.find(values.front()); known != arrays_.end())
    return known->second == values;
  if (isChain(values))
    return true;
  for (auto [part, v] : llvm::enumerate(values)) {
    auto array = v.getDefiningOp<memref::AllocaOp>();
    if (!array || array.getType() != values.front().getType() || array.getType().getRank() != 1 || array->getBlock() != block_ ||
        firstOf_.contains(v) || !llvm::isPowerOf2_64(array.getType().getNumElements()) ||
        llvm::is_contained(ArrayRef<Value>(values).take_front(part), v))
      return false;
  }
  for (Value v : values)
    firstOf_[v] = values.front();
  arrays_[values.front()] = values;
  return true;
}

bool AlikeParts::areShared(const Values &values) {
  auto type = cast<MemRefType>(values.front().getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  SmallVector<int64_t> elements;
  for (Value v : values) {
    auto array = v.getDefiningOp<cu::SharedOp>();
    int64_t distance = array ? int64_t(array.getOffset()) - int64_t(values.front().getDefiningOp<cu::SharedOp>().getOffset()) : 0;
    if (!array || v.getType() != type || type.getRank() != 1 || bytes < 1 || distance < 0 || distance % bytes)
      return false;
    elements.push_back(distance / bytes);
  }
  std::optional<Progression> numbers = findProgression(elements);
  if (!numbers)
    return false;
  auto [known, isNew] = shared_.insert({values.front(), *numbers});
  return isNew || known->second == *numbers;
}

/// Whether `op` takes its operand `i`, an array, by subscripts.
static bool takesBySubscripts(Operation *op, unsigned i) {
  auto uses = arrayUsesOf(op);
  return uses && llvm::any_of(*uses, [&](const ArrayUse &use) { return use.array == i; });
}

bool AlikeParts::areAlike(Region &first, const Ops &statements, unsigned region) {
  if (first.empty())
    return llvm::all_of(statements, [&](Operation *op) { return op->getRegion(region).empty(); });
  SmallVector<SmallVector<Operation *>> parts;
  for (Operation *op : statements) {
    if (!op->getRegion(region).hasOneBlock() || op->getRegion(region).getArgumentTypes() != first.getArgumentTypes())
      return false;
    Block &block = op->getRegion(region).front();
    // (an array of an inner block is a part's own)
    if (parts.emplace_back(innerStatementsOf(block)).size() != parts.front().size())
      return false;
  }
  for (unsigned i = 0; i < first.getNumArguments(); ++i)
    bind(Values(llvm::map_range(statements, [&](Operation *op) { return Value(op->getRegion(region).getArgument(i)); })));
  for (unsigned i = 0; i < parts.front().size(); ++i)
    if (!areAlike(Ops(llvm::map_range(parts, [&](const SmallVector<Operation *> &list) { return list[i]; }))))
      return false;
  return true;
}

/// Bounds of loops are constants in each part or in none: NVRTC unrolls from the inside.
static bool haveOneNumber(const Values &values) {
  return llvm::none_of(values, [](Value v) { return numberOf(v).has_value(); }) || llvm::all_equal(values);
}

bool AlikeParts::areAlike(const Ops &statements) {
  Operation *first = statements.front();
  for (Operation *op : statements)
    if (op->getName() != first->getName() || op->getAttrDictionary() != first->getAttrDictionary() ||
        op->getResultTypes() != first->getResultTypes() || op->getOperandTypes() != first->getOperandTypes() ||
        op->getNumRegions() != first->getNumRegions())
      return false;
  for (unsigned i = 0; i < first->getNumOperands(); ++i) {
    Values operands = operandsOf(statements, i);
    bool isShared = !isOneValue(operands) && operands.front().getDefiningOp<cu::SharedOp>();
    if (!areAlike(operands) || (isa<scf::ForOp>(first) && !haveOneNumber(operands)) || (isShared && !takesBySubscripts(first, i)))
      return false;
  }
  for (unsigned r = 0; r < first->getNumRegions(); ++r)
    if (!areAlike(first->getRegion(r), statements, r))
      return false;
  for (unsigned i = 0; i < first->getNumResults(); ++i)
    bind(Values(llvm::map_range(statements, [&](Operation *op) { return Value(op->getResult(i)); })));
  return true;
}

} // namespace kernelc
