// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ProductRounds.h"

#include "codegen/MultiplyHelper.h"
#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::codegen {
namespace {

using Numbers = llvm::SmallDenseMap<Value, int64_t>;

/// What an index comes to where the variables are these numbers.
std::optional<int64_t> evaluate(Value v, const Numbers &variables) {
  if (auto found = variables.find(v); found != variables.end())
    return found->second;
  if (std::optional<int64_t> number = getConstantIntValue(v))
    return number;
  Operation *op = v.getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return std::nullopt;
  auto x = evaluate(op->getOperand(0), variables), y = evaluate(op->getOperand(1), variables);
  if (!x || !y)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *x + *y;
  if (isa<arith::SubIOp>(op))
    return *x - *y;
  if (isa<arith::MulIOp>(op))
    return *x * *y;
  if (isa<arith::XOrIOp>(op))
    return *x ^ *y;
  if (*y > 0 && *x >= 0 && isa<arith::RemSIOp>(op))
    return *x % *y;
  if (*y > 0 && *x >= 0 && isa<arith::DivSIOp>(op))
    return *x / *y;
  return std::nullopt;
}

bool dependsOn(Value v, Value variable) {
  Operation *op = v.getDefiningOp();
  return v == variable || (op && llvm::any_of(op->getOperands(), [&](Value x) { return dependsOn(x, variable); }));
}

/// What an index grows by with each one of `variable`; nothing where that is no number.
std::optional<int64_t> findFactor(Value v, Value variable) {
  if (v == variable)
    return 1;
  if (!dependsOn(v, variable))
    return 0;
  Operation *op = v.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    auto x = findFactor(op->getOperand(0), variable), y = findFactor(op->getOperand(1), variable);
    if (!x || !y)
      return std::nullopt;
    return isa<arith::SubIOp>(op) ? *x - *y : *x + *y;
  }
  if (!isa<arith::MulIOp>(op))
    return std::nullopt;
  for (unsigned i : {0, 1})
    if (std::optional<int64_t> by = getConstantIntValue(op->getOperand(i))) {
      auto x = findFactor(op->getOperand(1 - i), variable);
      return x ? std::optional(*x * *by) : std::nullopt;
    }
  return std::nullopt;
}

/// The rounds of a loop from 0 in steps of one that leaves nothing.
std::optional<int64_t> findRounds(scf::ForOp loop) {
  bool counts = getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1 && loop.getNumResults() == 0;
  return counts ? getConstantIntValue(loop.getUpperBound()) : std::nullopt;
}

bool isIndexArithmetic(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() || (op->getNumRegions() == 0 && op->getNumResults() == 1 && isMemoryEffectFree(op));
}

/// The only op of a type in a body of index arithmetic.
template <class Op> Op findOnly(Block &body) {
  Op only;
  for (Operation &op : body) {
    auto found = dyn_cast<Op>(op);
    if ((found && only) || (!found && !isIndexArithmetic(&op)))
      return {};
    only = found ? found : only;
  }
  return only;
}

/// What nothing but `loop` knows.
bool isOnlyIn(memref::AllocaOp registers, scf::ForOp loop) {
  return llvm::all_of(registers->getUsers(), [&](Operation *user) { return loop->isProperAncestor(user); });
}

class Finder {
public:
  explicit Finder(scf::ForOp loop) {
    found_.loop = loop;
    auto kernel = loop->getParentOfType<cu::KernelOp>();
    found_.ahead = kernel && boundsRegisters(kernel);
  }

  bool find() {
    std::optional<int64_t> all = findRounds(found_.loop), some = cu::kUnroll.findRoundsOn(found_.loop);
    if (!all || !cu::kUnroll.isOn(found_.loop))
      return false;
    found_.rounds = some.value_or(*all);
    if (found_.rounds < 2 || *all % found_.rounds != 0)
      return false;
    SmallVector<cu::CopyOp> copies;
    for (Operation &op : *found_.loop.getBody()) {
      auto inner = dyn_cast<scf::ForOp>(op);
      auto copy = inner ? findOnly<cu::CopyOp>(*inner.getBody()) : dyn_cast<cu::CopyOp>(op);
      if (copy && !found_.multiply)
        copies.push_back(copy);
      else if (inner && !found_.multiply)
        found_.multiply = inner;
      else if (!isIndexArithmetic(&op) && !isa<cu::CommentOp>(op))
        return false;
    }
    return found_.multiply && copies.size() == 2 && multiplies() && llvm::all_of(copies, [&](auto copy) { return fetches(copy); }) &&
           found_.rows.copy && found_.columns.copy && multiplyHelperText(found_.helper());
  }
  const ProductRounds &found() const { return found_; }

private:
  /// Whether the copy, once or in a loop of its own, fills an operand's registers vector by vector.
  bool fetches(cu::CopyOp copy) {
    ProductRounds::Operand *operand = copy.getTarget() == found_.rows.registers.getResult()      ? &found_.rows
                                      : copy.getTarget() == found_.columns.registers.getResult() ? &found_.columns
                                                                                                 : nullptr;
    if (!operand || operand->copy || copy.getStreaming() || cu::spaceOf(copy.getSource()) != cu::Shared ||
        copy.getSourceIndices().size() != 1 || copy.getTargetIndices().size() != 1)
      return false;
    operand->copy = copy;
    operand->width = copy.getCount();
    int64_t vectors = 1;
    if (auto inner = dyn_cast<scf::ForOp>(copy->getParentOp()); inner != found_.loop) {
      vectors = findRounds(inner).value_or(0);
      operand->vector = inner.getInductionVar();
    }
    for (int64_t v = 0; v < vectors; ++v) {
      Numbers variables;
      if (operand->vector)
        variables[operand->vector] = v;
      if (evaluate(copy.getTargetIndices()[0], variables) != v * operand->width)
        return false;
    }
    auto step = findFactor(copy.getSourceIndices()[0], found_.loop.getInductionVar());
    operand->step = step.value_or(0);
    return step && vectors * operand->width == operand->count;
  }

  memref::AllocaOp findRegisters(memref::LoadOp load, int64_t count) {
    auto registers = load.getMemRef().getDefiningOp<memref::AllocaOp>();
    bool isAll = registers && load.getIndices().size() == 1 && registers.getType().getNumElements() == count;
    return isAll && isOnlyIn(registers, found_.loop) ? registers : memref::AllocaOp();
  }

  /// Whether the two inner loops add each row times each column to a sum of its own.
  bool multiplies() {
    scf::ForOp overRows = found_.multiply, overColumns;
    memref::LoadOp row;
    for (Operation &op : *overRows.getBody()) {
      auto load = dyn_cast<memref::LoadOp>(op);
      auto inner = dyn_cast<scf::ForOp>(op);
      if ((load && row) || (inner && overColumns) || (!load && !inner && !isIndexArithmetic(&op)))
        return false;
      row = load ? load : row;
      overColumns = inner ? inner : overColumns;
    }
    auto store = overColumns ? findOnlyStore(*overColumns.getBody()) : memref::StoreOp();
    auto fma = store ? store.getValueToStore().getDefiningOp<math::FmaOp>() : math::FmaOp();
    auto column = fma ? fma.getB().getDefiningOp<memref::LoadOp>() : memref::LoadOp();
    auto sum = fma ? fma.getC().getDefiningOp<memref::LoadOp>() : memref::LoadOp();
    if (!row || !column || !sum || fma.getA() != row.getResult() || !fma.getType().isF32() || sum.getMemRef() != store.getMemRef() ||
        sum.getIndices() != store.getIndices() || sum.getIndices().size() != 1 || cu::spaceOf(sum.getMemRef()) != cu::Private)
      return false;
    found_.sums = sum.getMemRef();
    found_.rows.count = findRounds(overRows).value_or(0), found_.columns.count = findRounds(overColumns).value_or(0);
    found_.rows.registers = findRegisters(row, found_.rows.count);
    found_.columns.registers = findRegisters(column, found_.columns.count);
    bool isWhole = cast<MemRefType>(found_.sums.getType()).getNumElements() == found_.rows.count * found_.columns.count;
    return found_.rows.registers && found_.columns.registers && isWhole && inOrder(overRows, overColumns, row, column, sum);
  }

  /// The store of a body of loads and arithmetic.
  static memref::StoreOp findOnlyStore(Block &body) {
    memref::StoreOp only;
    for (Operation &op : body) {
      auto store = dyn_cast<memref::StoreOp>(op);
      if ((store && only) || (!store && !isa<memref::LoadOp>(op) && !isIndexArithmetic(&op)))
        return {};
      only = store ? store : only;
    }
    return only;
  }

  /// Whether rows, columns and sums stand in the order of their numbers, or the columns of every second row backwards.
  bool inOrder(scf::ForOp overRows, scf::ForOp overColumns, memref::LoadOp row, memref::LoadOp column, memref::LoadOp sum) {
    const int64_t columns = found_.columns.count;
    for (bool turns : {false, true}) {
      bool fits = true;
      for (int64_t r = 0; fits && r < found_.rows.count; ++r)
        for (int64_t c = 0; fits && c < columns; ++c) {
          Numbers variables{{overRows.getInductionVar(), r}, {overColumns.getInductionVar(), c}};
          const int64_t at = turns && r % 2 ? columns - 1 - c : c;
          fits = evaluate(row.getIndices()[0], variables) == r && evaluate(column.getIndices()[0], variables) == at &&
                 evaluate(sum.getIndices()[0], variables) == r * columns + at;
        }
      found_.turns = turns;
      if (fits)
        return true;
    }
    return false;
  }

  ProductRounds found_;
};

} // namespace

std::string ProductRounds::helper() const {
  std::string numbers;
  for (int64_t n : {rounds, rows.count, rows.width, rows.step, columns.count, columns.width, columns.step})
    numbers += std::to_string(n) + ", ";
  return "kc_multiply_f32<" + numbers + std::to_string(int(turns) + 2 * int(ahead)) + ">";
}

bool boundsRegisters(cu::KernelOp kernel) {
  return kernel.getMinBlocks() > 1 || kernel.walk([](cu::SetRegistersOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

std::optional<ProductRounds> findProductRounds(scf::ForOp loop) {
  Finder finder(loop);
  return finder.find() ? std::optional(finder.found()) : std::nullopt;
}

} // namespace kernelc::codegen
