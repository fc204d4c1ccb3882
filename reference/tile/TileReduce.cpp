// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions and products of the tile interpreter.
#include <cmath>

#include "reference/tile/TileProgram.h"
#include "reference/tile/TileScalars.h"

using namespace mlir;

namespace kernelc::reference {

using te::Combiner;

TileElement TileProgram::combine(Combiner kind, Type type, TileElement a, TileElement b) const {
  if (isa<FloatType>(type) && launch_.arithmetic == TileArithmetic::Own) {
    switch (kind) {
    case Combiner::Sum: return {.f = roundedTo(type, a.f + b.f)};
    case Combiner::Prod: return {.f = roundedTo(type, a.f * b.f)};
    case Combiner::Max: return std::isnan(a.f) || a.f > b.f ? a : b;
    default: return std::isnan(a.f) || a.f < b.f ? a : b;
    }
  }
  unsigned w = isa<FloatType>(type) ? 32 : widthOf(type);
  uint64_t mask = w >= 64 ? ~uint64_t(0) : (uint64_t(1) << w) - 1, ua = uint64_t(a.i) & mask, ub = uint64_t(b.i) & mask;
  switch (kind) {
  case Combiner::Sum: return {.i = wrapped(int64_t(uint64_t(a.i) + uint64_t(b.i)), w)};
  case Combiner::Prod: return {.i = wrapped(int64_t(uint64_t(a.i) * uint64_t(b.i)), w)};
  case Combiner::Max: return a.i > b.i ? a : b;
  case Combiner::Min: return a.i < b.i ? a : b;
  case Combiner::MaxU: return ua > ub ? a : b;
  case Combiner::MinU: return ua < ub ? a : b;
  case Combiner::Any:
  case Combiner::Or: return {.i = a.i | b.i};
  case Combiner::All:
  case Combiner::And: return {.i = a.i & b.i};
  default: return {.i = a.i ^ b.i};
  }
}

namespace {

bool isArg(Combiner k) { return k == Combiner::ArgMax || k == Combiner::ArgMin || k == Combiner::ArgMaxU || k == Combiner::ArgMinU; }

/// Whether key a beats key b, or equals it. NaN is the largest key.
std::pair<bool, bool> compareKeys(Combiner kind, Type type, TileElement a, TileElement b) {
  bool max = kind == Combiner::ArgMax || kind == Combiner::ArgMaxU;
  if (isa<FloatType>(type)) {
    bool nanA = std::isnan(a.f), nanB = std::isnan(b.f);
    if (nanA || nanB)
      return {max ? nanA && !nanB : nanB && !nanA, nanA && nanB};
    return {max ? a.f > b.f : a.f < b.f, a.f == b.f};
  }
  if (kind == Combiner::ArgMaxU || kind == Combiner::ArgMinU) {
    unsigned w = widthOf(type);
    uint64_t mask = w >= 64 ? ~uint64_t(0) : (uint64_t(1) << w) - 1, ua = uint64_t(a.i) & mask, ub = uint64_t(b.i) & mask;
    return {max ? ua > ub : ua < ub, ua == ub};
  }
  return {max ? a.i > b.i : a.i < b.i, a.i == b.i};
}

/// (key, position) of the better one; the first position among equal keys.
bool takesFirst(Combiner kind, Type type, TileElement keyA, TileElement positionA, TileElement keyB, TileElement positionB) {
  auto [better, equal] = compareKeys(kind, type, keyA, keyB);
  return better || (equal && positionA.i < positionB.i);
}

} // namespace

absl::Status TileProgram::runReduce(Operation *op, Combiner kind, ArrayRef<int64_t> dims) {
  const TileValue &input = value(op->getOperand(0));
  const TileValue *positions = isArg(kind) ? &value(op->getOperand(1)) : nullptr;
  auto outType = cast<RankedTensorType>(op->getResult(0).getType());
  Type type = outType.getElementType();
  if (launch_.arithmetic == TileArithmetic::Ring && isa<FloatType>(type) && kind != Combiner::Sum && kind != Combiner::Prod)
    return unsupported(op);
  TileValue out(outType.getShape()), outPositions(outType.getShape());
  std::vector<bool> begun(out.elements.size(), false);
  SmallVector<int64_t> at(input.shape.size(), 0);
  size_t flat = 0;
  do {
    int64_t to = 0;
    for (size_t d = 0; d < at.size(); ++d)
      to = to * out.shape[d] + (out.shape[d] == 1 ? 0 : at[d]);
    TileElement v = input.elements[flat], p = positions ? positions->elements[flat] : TileElement{.i = 0};
    TileElement &sum = out.elements[size_t(to)], &position = outPositions.elements[size_t(to)];
    ++flat;
    if (!begun[size_t(to)]) {
      sum = v, position = p, begun[size_t(to)] = true;
    } else if (!positions) {
      sum = combine(kind, type, sum, v);
    } else if (!takesFirst(kind, type, sum, position, v, p)) {
      sum = v, position = p;
    }
  } while (advance(at, input.shape));
  values_[op->getResult(0)] = std::move(out);
  if (positions)
    values_[op->getResult(1)] = std::move(outPositions);
  return absl::OkStatus();
}

void TileProgram::mergeStates(Combiner kind, Type type, std::vector<TileValue> &a, ArrayRef<const TileValue *> b) const {
  for (size_t e = 0; e < a[0].elements.size(); ++e) {
    if (!isArg(kind))
      a[0].elements[e] = combine(kind, type, a[0].elements[e], b[0]->elements[e]);
    else if (!takesFirst(kind, type, a[0].elements[e], a[1].elements[e], b[0]->elements[e], b[1]->elements[e]))
      a[0].elements[e] = b[0]->elements[e], a[1].elements[e] = b[1]->elements[e];
  }
}

absl::Status TileProgram::runCombine(tile::CombineOp op) {
  Combiner kind = op.getKind();
  size_t half = op.getInputs().size() / 2;
  Type type = getElementTypeOrSelf(op.getInputs()[0]);
  if (launch_.arithmetic == TileArithmetic::Ring && isa<FloatType>(type) && kind != Combiner::Sum && kind != Combiner::Prod)
    return unsupported(op);
  std::vector<TileValue> merged;
  SmallVector<const TileValue *> other;
  for (size_t i = 0; i < half; ++i) {
    merged.push_back(value(op.getInputs()[i]));
    other.push_back(&value(op.getInputs()[half + i]));
  }
  mergeStates(kind, type, merged, other);
  for (auto [result, v] : llvm::zip(op.getResults(), merged))
    values_[result] = std::move(v);
  return absl::OkStatus();
}

absl::Status TileProgram::runClusterReduce(tile::ClusterReduceOp op) {
  Combiner kind = op.getKind();
  Type type = getElementTypeOrSelf(op.getInputs()[0]);
  if (!cluster_ || (launch_.arithmetic == TileArithmetic::Ring && isa<FloatType>(type) && kind != Combiner::Sum && kind != Combiner::Prod))
    return unsupported(op);
  TileCluster::Values own;
  for (Value v : op.getInputs())
    own.push_back(value(v));
  auto all = cluster_->meet(block_ % int64_t(launch_.func.getCluster()), op, std::move(own));
  if (!all.ok())
    return all.status();
  std::vector<TileValue> merged = all->front();
  for (size_t b = 1; b < all->size(); ++b)
    mergeStates(kind, type, merged, llvm::map_to_vector((*all)[b], [](const TileValue &v) { return &v; }));
  for (auto [result, v] : llvm::zip(op.getResults(), merged))
    values_[result] = std::move(v);
  return absl::OkStatus();
}

namespace {

/// The term of a dot that is no product, on elements.
class TermFunction {
public:
  TermFunction(tile::DotOp dot, TileArithmetic arithmetic) {
    if (dot.isProduct())
      return;
    Block &block = dot.getTerm().front();
    llvm::DenseMap<Value, size_t> numbers;
    auto numberOf = [&](Value v) {
      if (auto [it, isNew] = numbers.try_emplace(v, values_.size()); !isNew)
        return it->second;
      values_.push_back({});
      if (Attribute constant; matchPattern(v, m_Constant(&constant)))
        known_ &= findConstant(constant, arithmetic, values_.back());
      return values_.size() - 1;
    };
    for (Value argument : block.getArguments())
      numberOf(argument);
    for (Operation &op : block.without_terminator()) {
      if (op.hasTrait<OpTrait::ConstantLike>())
        continue;
      Step step{findScalarFunction(&op, arithmetic), {}, 0};
      known_ &= bool(step.function) && op.getNumOperands() <= 3;
      for (Value operand : op.getOperands())
        step.operands.push_back(numberOf(operand));
      step.result = numberOf(op.getResult(0));
      steps_.push_back(std::move(step));
    }
    result_ = numberOf(cast<tile::TermOp>(block.getTerminator()).getValue());
  }

  bool isKnown() const { return known_; }

  TileElement operator()(TileElement x, TileElement y) {
    values_[0] = x;
    values_[1] = y;
    for (const Step &step : steps_) {
      TileElement operands[3] = {};
      for (auto [to, from] : llvm::zip(operands, step.operands))
        to = values_[from];
      values_[step.result] = step.function(operands);
    }
    return values_[result_];
  }

private:
  struct Step {
    ScalarFunction function;
    SmallVector<size_t, 3> operands;
    size_t result;
  };
  std::vector<TileElement> values_;
  std::vector<Step> steps_;
  size_t result_ = 0;
  bool known_ = true;
};

} // namespace

absl::Status TileProgram::runDot(tile::DotOp op) {
  auto operand = [&](Value v, Value number) -> absl::StatusOr<const TileValue *> {
    if (isa<tile::RingType>(v.getType()))
      return slotOf(op, v, number ? index(number) : 0);
    return &value(v);
  };
  auto a = operand(op.getA(), op.getNumberOfA()), b = operand(op.getB(), op.getNumber());
  if (!a.ok() || !b.ok())
    return a.ok() ? b.status() : a.status();
  auto elementType = [](Value v) { // of a tile or a ring
    auto ring = dyn_cast<tile::RingType>(v.getType());
    return ring ? ring.getElementType() : getElementTypeOrSelf(v.getType());
  };
  bool floats = isa<FloatType>(elementType(op.getA())) && launch_.arithmetic == TileArithmetic::Own;
  auto read = [&](const TileValue &t, ArrayRef<int64_t> at, Value from, bool isUnsigned, bool rounded) -> TileElement {
    TileElement e = t.at(at);
    if (floats && rounded)
      e.f = roundedToTf32(e.f);
    if (!floats && isUnsigned && !isa<FloatType>(elementType(from)))
      e.i &= 255;
    return e;
  };
  TileValue out(value(op.getAcc()));
  Type type = getElementTypeOrSelf(op.getAcc());
  TermFunction term(op, launch_.arithmetic);
  if (!op.isProduct() &&
      (!term.isKnown() || (launch_.arithmetic == TileArithmetic::Ring && isa<FloatType>(type) && op.getKind() != Combiner::Sum)))
    return unsupported(op);
  int64_t count = op.getCount() ? index(op.getCount()) : std::numeric_limits<int64_t>::max();
  SmallVector<int64_t> kShape(out.shape.size(), 1), at(out.shape.size(), 0);
  for (int64_t k : op.getK())
    kShape[k] = std::max((*a)->shape[k], (*b)->shape[k]);
  size_t flat = 0;
  do {
    TileElement &sum = out.elements[flat++];
    SmallVector<int64_t> k(kShape.size(), 0), full(at);
    double real = sum.f;
    uint64_t whole = uint64_t(sum.i);
    int64_t number = 0;
    do {
      if (number++ >= count)
        break;
      for (int64_t d : op.getK())
        full[d] = k[d];
      TileElement x = read(**a, full, op.getA(), op.getAUnsigned(), op.getARounded());
      TileElement y = read(**b, full, op.getB(), op.getBUnsigned(), op.getBRounded());
      if (!op.isProduct())
        sum = combine(op.getKind(), type, sum, term(x, y));
      else if (floats)
        real += x.f * y.f;
      else
        whole += uint64_t(x.i) * uint64_t(y.i);
    } while (advance(k, kShape));
    if (!op.isProduct())
      continue;
    if (floats)
      sum.f = roundedTo(type, real);
    else
      sum.i = wrapped(int64_t(whole), isa<FloatType>(type) ? 32 : widthOf(type));
  } while (advance(at, out.shape));
  values_[op.getResult()] = std::move(out);
  return absl::OkStatus();
}

} // namespace kernelc::reference
