// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/ThreadSets.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {

//===----------------------------------------------------------------------===//
// ThreadFunction
//===----------------------------------------------------------------------===//

std::optional<ThreadFunction::Code> ThreadFunction::codeOf(Operation *op) {
  using Result = std::optional<Code>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<arith::ConstantOp>([](auto) { return Code::Constant; })
      .Case<cu::WarpgroupOp>([](auto) { return Code::Warpgroup; })
      .Case<arith::AddIOp>([](auto) { return Code::Add; })
      .Case<arith::SubIOp>([](auto) { return Code::Sub; })
      .Case<arith::MulIOp>([](auto) { return Code::Mul; })
      .Case<arith::DivSIOp>([](auto) { return Code::Div; })
      .Case<arith::RemSIOp>([](auto) { return Code::Rem; })
      .Case<arith::MinSIOp>([](auto) { return Code::Min; })
      .Case<arith::MaxSIOp>([](auto) { return Code::Max; })
      .Case<arith::XOrIOp>([](auto) { return Code::Xor; })
      .Case<arith::AndIOp>([](auto) { return Code::And; })
      .Case<arith::OrIOp>([](auto) { return Code::Or; })
      .Case<arith::SelectOp>([](auto) { return Code::Select; })
      .Case<arith::CmpIOp>([](auto) { return Code::Compare; })
      .Default([](Operation *) { return Result(); });
}

std::optional<unsigned> ThreadFunction::compile(Value v) {
  if (auto it = places_.find(v); it != places_.end())
    return it->second;
  Operation *op = v.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<cu::ThreadIdOp>(op))
    return places_[v] = 0;
  std::optional<Code> code = codeOf(op);
  if (!code)
    return std::nullopt;
  Step step{*code, 0, 0, 0, 0};
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant)))
    step.constant = v.getType().isInteger(1) ? int64_t(constant.getZExtValue()) : constant.getSExtValue();
  else if (*code == Code::Constant)
    return std::nullopt;
  if (auto c = dyn_cast<arith::CmpIOp>(op))
    step.constant = int64_t(c.getPredicate());
  unsigned *places[] = {&step.x, &step.y, &step.z};
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    std::optional<unsigned> at = compile(operand);
    if (!at)
      return std::nullopt;
    *places[i] = *at;
  }
  steps_.push_back(step);
  return places_[v] = numValues() - 1;
}

static int64_t compare(arith::CmpIPredicate predicate, int64_t x, int64_t y) {
  switch (predicate) {
  case arith::CmpIPredicate::eq: return x == y;
  case arith::CmpIPredicate::ne: return x != y;
  case arith::CmpIPredicate::slt: return x < y;
  case arith::CmpIPredicate::sle: return x <= y;
  case arith::CmpIPredicate::sgt: return x > y;
  case arith::CmpIPredicate::sge: return x >= y;
  case arith::CmpIPredicate::ult: return uint64_t(x) < uint64_t(y);
  case arith::CmpIPredicate::ule: return uint64_t(x) <= uint64_t(y);
  case arith::CmpIPredicate::ugt: return uint64_t(x) > uint64_t(y);
  case arith::CmpIPredicate::uge: return uint64_t(x) >= uint64_t(y);
  }
  return 0;
}

void ThreadFunction::evaluate(MutableArrayRef<int64_t> values) const {
  unsigned at = inputs_;
  for (const Step &s : steps_) {
    int64_t x = values[s.x], y = values[s.y];
    auto result = [&]() -> int64_t {
      switch (s.code) {
      case Code::Constant: return s.constant;
      case Code::Warpgroup: return values[0] / 128;
      case Code::Add: return x + y;
      case Code::Sub: return x - y;
      case Code::Mul: return x * y;
      case Code::Div: return y == 0 ? 0 : y == -1 ? int64_t(0 - uint64_t(x)) : x / y; // (-2^63 / -1 wraps)
      case Code::Rem: return y == 0 || y == -1 ? 0 : x % y;
      case Code::Min: return std::min(x, y);
      case Code::Max: return std::max(x, y);
      case Code::Xor: return x ^ y;
      case Code::And: return x & y;
      case Code::Or: return x | y;
      case Code::Select: return x ? y : values[s.z];
      case Code::Compare: return compare(arith::CmpIPredicate(s.constant), x, y);
      }
      return 0;
    };
    values[at++] = result();
  }
}

//===----------------------------------------------------------------------===//
// ThreadSets
//===----------------------------------------------------------------------===//

/// Whether the kernel only reads this tensor: then equal addresses hold equal values.
static bool isReadOnly(Value tensor) {
  return isa<BlockArgument>(tensor) && cu::spaceOf(tensor) == cu::Global && llvm::all_of(tensor.getUsers(), [&](Operation *user) {
           if (auto copy = dyn_cast<cu::CopyOp>(user))
             return copy.getTarget() != tensor;
           return isa<memref::LoadOp, cu::CpAsyncOp>(user);
         });
}

/// What a search gives a warp hangs on what its condition reads and on values from outside it.
static SmallVector<Value> inputsOfSearch(Operation *search) {
  SmallVector<Value> inputs(search->getOperands());
  search->walk([&](Operation *inner) {
    for (Value v : inner->getOperands())
      if (!search->isAncestor(v.getParentBlock()->getParentOp()))
        inputs.push_back(v);
  });
  return inputs;
}

/// What a load of a private array reads, where the last op before it in its block that may write the array stores that element.
static Value storedBefore(memref::LoadOp load) {
  for (Operation *op = load->getPrevNode(); op; op = op->getPrevNode()) {
    auto writes = [&](Operation *inner) {
      return !isa<memref::LoadOp>(inner) && llvm::is_contained(inner->getOperands(), load.getMemRef());
    };
    if (!op->walk([&](Operation *inner) { return writes(inner) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted())
      continue;
    auto store = dyn_cast<memref::StoreOp>(op);
    return store && store.getMemRef() == load.getMemRef() && store.getIndices() == load.getIndices() ? store.getValue() : Value();
  }
  return {};
}

bool ThreadSets::isOrderedByBarriers() {
  if (!orderedByBarriers_)
    orderedByBarriers_ = !kernel_
                              .walk([](Operation *op) {
                                return isa<cu::MbarrierWaitOp, cu::NamedSyncOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
                              })
                              .wasInterrupted();
  return *orderedByBarriers_;
}

bool ThreadSets::isUniformLoad(memref::LoadOp load) {
  if (!llvm::all_of(load.getIndices(), [&](Value x) { return isUniform(x); }))
    return false;
  if (auto array = load.getMemRef().getDefiningOp<memref::AllocaOp>()) {
    Value stored = storedBefore(load);
    return stored ? isUniform(stored) : holdsUniform(array);
  }
  if (cu::spaceOf(load.getMemRef()) == cu::Shared)
    return isOrderedByBarriers();
  return isReadOnly(load.getMemRef());
}

bool ThreadSets::isUniformResult(scf::ForOp loop, unsigned result) {
  auto all = [&](ValueRange values) { return llvm::all_of(values, [&](Value x) { return isUniform(x); }); };
  if (!all({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}) || !isUniform(loop.getInitArgs()[result]))
    return false;
  // Round by round: if it is so before one, is it behind it?
  llvm::DenseMap<Value, bool> before = uniform_;
  uniform_[loop.getRegionIterArg(result)] = true;
  if (isUniform(loop.getYieldedValues()[result]))
    return true;
  uniform_ = std::move(before);
  return uniform_[loop.getRegionIterArg(result)] = false;
}

bool ThreadSets::holdsUniform(memref::AllocaOp array) {
  auto all = [&](ValueRange values) { return llvm::all_of(values, [&](Value x) { return isUniform(x); }); };
  // Whether every thread that has the array comes to `op`.
  auto isEverywhere = [&](Operation *op) {
    for (Operation *outer = op->getParentOp(); outer != array->getParentOp(); outer = outer->getParentOp())
      if (auto loop = dyn_cast<scf::ForOp>(outer); !loop || !all({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}))
        return false;
    return true;
  };
  return llvm::all_of(array->getUsers(), [&](Operation *user) {
    if (isa<memref::LoadOp>(user))
      return true;
    if (auto store = dyn_cast<memref::StoreOp>(user))
      return isUniform(store.getValue()) && all(store.getIndices()) && isEverywhere(store);
    auto copy = dyn_cast<cu::CopyOp>(user);
    return copy && copy.getTarget() == array && isReadOnly(copy.getSource()) && all(copy.getSourceIndices()) &&
           all(copy.getTargetIndices()) && isEverywhere(copy);
  });
}

bool ThreadSets::isUniform(Value v) {
  auto [it, isNew] = uniform_.try_emplace(v, false); // round a circle: not known
  if (!isNew)
    return it->second;
  auto all = [&](ValueRange values) { return llvm::all_of(values, [&](Value x) { return isUniform(x); }); };
  bool result = false;
  if (auto load = v.getDefiningOp<memref::LoadOp>()) {
    result = isUniformLoad(load);
  } else if (auto loop = v.getDefiningOp<scf::ForOp>()) {
    result = isUniformResult(loop, cast<OpResult>(v).getResultNumber());
  } else if (Operation *op = v.getDefiningOp(); cu::isSearch(op)) {
    result = llvm::all_of(inputsOfSearch(op), [&](Value x) { return isa<MemRefType>(x.getType()) ? isReadOnly(x) : isUniform(x); });
  } else if (op) {
    result = !isa<cu::ThreadIdOp, cu::WarpgroupOp, cu::ShuffleXorOp>(op) && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
             all(op->getOperands());
  } else if (v.getParentBlock() == &kernel_.getBlock()) {
    result = true;
  } else if (auto loop = dyn_cast<scf::ForOp>(v.getParentBlock()->getParentOp()); loop && v == loop.getInductionVar()) {
    result = all({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
  }
  return uniform_[v] = result;
}

const llvm::BitVector *ThreadSets::together(Block *block) {
  auto it = sets_.find(block);
  if (it == sets_.end())
    it = sets_.emplace(block, compute(block)).first;
  return it->second ? &*it->second : nullptr;
}

const llvm::BitVector &ThreadSets::atMost(Block *block) {
  while (true) {
    if (const llvm::BitVector *known = together(block))
      return *known;
    block = block->getParentOp()->getBlock();
  }
}

std::optional<llvm::BitVector> ThreadSets::compute(Block *block) {
  Operation *parent = block->getParentOp();
  unsigned threads = unsigned(kernel_.getThreads());
  if (parent == kernel_)
    return llvm::BitVector(threads, true);
  const llvm::BitVector *around = together(parent->getBlock());
  if (!around)
    return std::nullopt;
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    bool same = isUniform(loop.getLowerBound()) && isUniform(loop.getUpperBound()) && isUniform(loop.getStep());
    return same ? std::optional(*around) : std::nullopt;
  }
  auto branch = dyn_cast<scf::IfOp>(parent);
  if (!branch)
    return std::nullopt;
  if (isUniform(branch.getCondition()))
    return *around;
  ThreadFunction function;
  std::optional<unsigned> condition = function.compile(branch.getCondition());
  if (!condition)
    return std::nullopt;
  llvm::BitVector set(threads);
  SmallVector<int64_t> values(function.numValues());
  for (unsigned t : around->set_bits()) {
    values[0] = t;
    function.evaluate(values);
    set[t] = bool(values[*condition]) == (block == branch.thenBlock());
  }
  return set;
}

bool ThreadSets::isWarps(const llvm::BitVector &threads) {
  for (unsigned t = 0; t < threads.size(); ++t)
    if (threads[t] != threads[t / 32 * 32])
      return false;
  return threads.any();
}

} // namespace kernelc
