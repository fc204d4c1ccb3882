// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of the tile interpreter.
#include <cmath>

#include "reference/tile/RegionFunction.h"
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

absl::Status TileProgram::runStates(tile::ReduceOp op) {
  RegionFunction combine(op.getCombine(), launch_.arithmetic);
  size_t n = op.getInputs().size();
  SmallVector<TileElement> identity(n);
  bool known = combine.isKnown();
  for (auto [e, a] : llvm::zip(identity, *op.getIdentity()))
    known &= findConstant(a, launch_.arithmetic, e);
  if (!known)
    return unsupported(op);
  std::vector<TileValue> outs;
  for (auto [result, start] : llvm::zip(op.getResults(), identity)) {
    outs.emplace_back(cast<RankedTensorType>(result.getType()).getShape());
    std::fill(outs.back().elements.begin(), outs.back().elements.end(), start);
  }
  SmallVector<const TileValue *> inputs = llvm::map_to_vector(op.getInputs(), [&](Value v) { return &value(v); });
  SmallVector<int64_t> at(inputs[0]->shape.size(), 0);
  SmallVector<TileElement> both(2 * n);
  size_t flat = 0;
  do {
    int64_t to = 0;
    for (size_t d = 0; d < at.size(); ++d)
      to = to * outs[0].shape[d] + (outs[0].shape[d] == 1 ? 0 : at[d]);
    for (size_t k = 0; k < n; ++k) {
      both[k] = outs[k].elements[size_t(to)];
      both[n + k] = inputs[k]->elements[flat];
    }
    ++flat;
    combine.run(both);
    for (size_t k = 0; k < n; ++k)
      outs[k].elements[size_t(to)] = combine.result(k);
  } while (advance(at, inputs[0]->shape));
  for (auto [result, out] : llvm::zip(op.getResults(), outs))
    values_[result] = std::move(out);
  return absl::OkStatus();
}

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

absl::Status TileProgram::runStateScan(tile::ScanOp op) {
  RegionFunction combine(op.getCombine(), launch_.arithmetic);
  if (!combine.isKnown())
    return unsupported(op);
  size_t n = op.getInputs().size(), dim = size_t(op.getDim());
  SmallVector<const TileValue *> inputs = llvm::map_to_vector(op.getInputs(), [&](Value v) { return &value(v); });
  std::vector<TileValue> outs(n, TileValue(inputs[0]->shape)), totals;
  for (Value v : op.getCarries())
    totals.push_back(value(v));
  int64_t length = inputs[0]->shape[dim];
  SmallVector<int64_t> edge(inputs[0]->shape), at(edge.size(), 0);
  edge[dim] = 1;
  SmallVector<TileElement> both(2 * n);
  size_t flat = 0;
  do {
    SmallVector<int64_t> point(at);
    for (int64_t step = 0; step < length; ++step) {
      point[dim] = op.getReverse() ? length - 1 - step : step;
      for (size_t k = 0; k < n; ++k) { // from the end what has been combined stands behind
        both[op.getReverse() ? n + k : k] = totals[k].elements[flat];
        both[op.getReverse() ? k : n + k] = inputs[k]->at(point);
      }
      combine.run(both);
      for (size_t k = 0; k < n; ++k) {
        outs[k].at(point) = op.getExclusive() ? totals[k].elements[flat] : combine.result(k);
        totals[k].elements[flat] = combine.result(k);
      }
    }
    ++flat;
  } while (advance(at, edge));
  for (size_t k = 0; k < n; ++k) {
    values_[op.getOuts()[k]] = std::move(outs[k]);
    values_[op.getTotals()[k]] = std::move(totals[k]);
  }
  return absl::OkStatus();
}

absl::Status TileProgram::runScan(tile::ScanOp op) {
  const TileValue &input = value(op.getInput());
  Combiner kind = op.getKind();
  Type type = getElementTypeOrSelf(op.getInput());
  if (op.getIdentity())
    return runStateScan(op);
  if (launch_.arithmetic == TileArithmetic::Ring && isa<FloatType>(type) && kind != Combiner::Sum && kind != Combiner::Prod)
    return unsupported(op);
  TileValue out(input.shape), total(value(op.getCarry()));
  size_t dim = size_t(op.getDim());
  int64_t length = input.shape[dim];
  SmallVector<int64_t> edge(input.shape), at(input.shape.size(), 0);
  edge[dim] = 1;
  size_t flat = 0;
  do {
    TileElement &sum = total.elements[flat++];
    SmallVector<int64_t> point(at);
    for (int64_t step = 0; step < length; ++step) {
      point[dim] = op.getReverse() ? length - 1 - step : step;
      TileElement next = combine(kind, type, sum, input.at(point));
      out.at(point) = op.getExclusive() ? sum : next;
      sum = next;
    }
  } while (advance(at, edge));
  values_[op.getOut()] = std::move(out);
  values_[op.getTotal()] = std::move(total);
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

namespace {

/// How what tiles tell each other combines, in the order of the scan; of none there is none.
class LookBackStates {
public:
  using State = SmallVector<TileElement, 2>;

  /// `combine`: of two elements by the op's combiner.
  LookBackStates(tile::LookBackOp op, TileArithmetic arithmetic, llvm::function_ref<TileElement(TileElement, TileElement)> combine)
      : op_(op), isRing_(arithmetic == TileArithmetic::Ring), region_(op.getCombine(), arithmetic), combine_(combine) {}

  bool isKnown() {
    if (!op_.getCombine().empty())
      return region_.isKnown();
    bool isOfRing = op_.getKind() == Combiner::Sum || op_.getKind() == Combiner::Prod;
    return !isRing_ || !isa<FloatType>(getElementTypeOrSelf(op_.getTotals()[0])) || isOfRing;
  }

  State combined(const State &a, const State &b) {
    if (a.empty() || b.empty())
      return a.empty() ? b : a;
    if (op_.getCombine().empty())
      return State{combine_(a[0], b[0])};
    State both(op_.getReverse() ? b : a), next;
    llvm::append_range(both, op_.getReverse() ? a : b);
    region_.run(both);
    for (size_t k = 0; k < a.size(); ++k)
      next.push_back(region_.result(k));
    return next;
  }

private:
  tile::LookBackOp op_;
  bool isRing_;
  RegionFunction region_;
  llvm::function_ref<TileElement(TileElement, TileElement)> combine_;
};

} // namespace

absl::Status TileProgram::runLookBack(tile::LookBackOp op) {
  using State = LookBackStates::State;
  Type type = getElementTypeOrSelf(op.getTotals()[0]);
  auto combineTwo = [&](TileElement x, TileElement y) { return combine(op.getKind(), type, x, y); };
  LookBackStates states(op, launch_.arithmetic, combineTwo);
  if (!states.isKnown())
    return unsupported(op);
  State own, before;
  for (Value v : op.getTotals())
    own.push_back(value(v).elements[0]);
  unsigned argument = cast<BlockArgument>(op.getWords()).getArgNumber();
  const TensorView &words = launch_.tensors[argument];
  int64_t parts = 0, row = words.shape.back() * index(op.getRow()), all = words.numElements();
  for (Value v : op.getTotals())
    parts += tile::LookBackOp::wordsOf(getElementTypeOrSelf(v));
  int64_t first = 1, nodes = index(op.getCount()), place = index(op.getNumber());
  bool tells = true;
  for (int64_t level = 0; level < int64_t(op.getLevels()); ++level) {
    auto locate = [&](int64_t node) { return row + (first + node) * parts; };
    if (tells) {
      if (locate(place) + parts > std::min(all, row + words.shape.back()))
        return absl::OutOfRangeError(absl::StrCat(whereIs(op), "node ", place, " of level ", level, " has no place"));
      launch_.told[{argument, locate(place)}] = std::vector<TileElement>(own.begin(), own.end());
    }
    State left;
    for (int64_t node = place / 32 * 32; node < place; ++node) {
      auto theirs = launch_.told.find({argument, locate(node)});
      if (theirs == launch_.told.end())
        return absl::FailedPreconditionError(absl::StrCat(whereIs(op), "tile ", index(op.getNumber()), " waits for node ", node,
                                                          " of level ", level, ", which no tile before it has made"));
      left = states.combined(left, State(theirs->second.begin(), theirs->second.end()));
    }
    own = states.combined(left, own);
    before = states.combined(left, before);
    tells = tells && place % 32 == 31;
    place /= 32;
    first += nodes;
    nodes /= 32;
  }
  if (before.empty()) {
    before.resize(op.getTotals().size());
    for (auto [e, a] : llvm::zip(before, op.getIdentity()))
      if (!findConstant(a, launch_.arithmetic, e))
        return unsupported(op);
  }
  for (auto [result, v] : llvm::zip(op.getResults(), before)) {
    TileValue tile(cast<RankedTensorType>(result.getType()).getShape());
    tile.elements[0] = v;
    values_[result] = std::move(tile);
  }
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

} // namespace kernelc::reference
