// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which op is run by what, control flow, searches and elementwise code. Numbers, constants and shapes are in TileShapes.cpp, loads and
// stores in TileAccess.cpp, rings and channels in TileRings.cpp, reductions in TileReduce.cpp, products in TileDot.cpp.
#include "reference/tile/TileProgram.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::reference {

absl::Status TileProgram::unsupported(Operation *op) {
  return absl::UnimplementedError(absl::StrCat(whereIs(op), "'", op->getName().getStringRef().str(), "' cannot be interpreted"));
}

SmallVector<int64_t> TileProgram::indices(ValueRange values) const {
  SmallVector<int64_t> out;
  for (Value v : values)
    out.push_back(index(v));
  return out;
}

absl::Status TileProgram::run() {
  Block &block = launch_.func.getBlock();
  for (auto [arg, tensor] : llvm::zip(block.getArguments(), launch_.tensors))
    if (!isa<MemRefType>(arg.getType()))
      values_[arg] = TileValue({}, readElement(tensor, {}));
  return runBlock(block);
}

absl::Status TileProgram::runBlock(Block &block) {
  for (Operation &op : block.without_terminator()) // all ops where there is none
    if (absl::Status s = runOp(&op); !s.ok())
      return s;
  return absl::OkStatus();
}

absl::Status TileProgram::runOp(Operation *op) {
  using namespace tile;
  return llvm::TypeSwitch<Operation *, absl::Status>(op)
      .Case<scf::ForOp, scf::IfOp, RolesOp>([&](auto) { return runControl(op); })
      .Case([&](CountWhereOp count) { return runSearch(op, 0, index(count.getEnd()), count.getCondition()); })
      .Case([&](FindWhereOp find) { return runFind(find); })
      .Case([&](ExtremeOp extreme) { return runExtreme(extreme); })
      .Case([&](MaskOp mask) { return runTileMask(mask); })
      .Case([&](RingMaskOp mask) { return runRingMask(mask); })
      .Case<ProgramIdOp, BlockIdOp, ClusterRankOp, TeamOp, NumBlocksOp, LeaderOp, ApplyOp>([&](auto) { return runScalar(op); })
      .Case<IndexOp, InsideOp, SplatOp, BroadcastOp, SliceOp, ConvertLayoutOp, DotWaitOp, ElementOp>([&](auto) { return runShape(op); })
      .Case([&](arith::ConstantOp constant) { return runConstant(constant); })
      .Case([&](tile::ReduceOp reduce) {
        return reduce.getIdentity() ? runStates(reduce) : runReduce(op, reduce.getKind(), reduce.getDims());
      })
      .Case([&](tile::ScanOp scan) { return runScan(scan); })
      .Case([&](CombineOp combine) { return runCombine(combine); })
      .Case([&](ClusterReduceOp meet) { return runClusterReduce(meet); })
      .Case([&](LookBackOp look) { return runLookBack(look); })
      .Case([&](TicketOp ticket) { return runTicket(ticket); })
      .Case([&](DotOp dot) { return runDot(dot); })
      .Case([&](tile::LoadOp load) { return runLoad(load); })
      .Case([&](tile::StoreOp store) { return runStore(store); })
      .Case([&](tile::ScatterOp scatter) { return runScatter(scatter); })
      .Default([&](Operation *) {
        StringRef dialect = op->getName().getDialectNamespace();
        bool isElementwise = isa<ConvertOp>(op) || dialect == "arith" || dialect == "math";
        return isElementwise ? runElementwise(op) : runRings(op);
      });
}

absl::Status TileProgram::runFind(tile::FindWhereOp find) {
  if (find.getFound() && index(find.getFound())) {
    values_[find.getResult()] = TileValue::scalar(index(find.getFrom()));
    return absl::OkStatus();
  }
  return runSearch(find, index(find.getFrom()), index(find.getEnd()), find.getCondition());
}

absl::Status TileProgram::runTileMask(tile::MaskOp mask) {
  TileValue kept = value(mask.getValue()); // the condition's values move those that there are
  absl::Status s = runMask(kept, mask.getOffsets(), value(mask.getAll()), mask.getCondition());
  values_[mask.getResult()] = std::move(kept);
  return s;
}

absl::Status TileProgram::runRingMask(tile::RingMaskOp mask) {
  auto box = slotOf(mask, mask.getRing(), index(mask.getNumber()));
  if (!box.ok())
    return box.status();
  TileValue kept = **box;
  absl::Status s = runMask(kept, mask.getOffsets(), value(mask.getAll()), mask.getCondition());
  fillSlot(mask.getRing(), index(mask.getNumber()), std::move(kept));
  return s;
}

absl::Status TileProgram::runTicket(tile::TicketOp ticket) {
  const TensorView &words = launch_.tensors[cast<BlockArgument>(ticket.getWords()).getArgNumber()];
  SmallVector<int64_t> first(words.shape.size(), 0);
  int64_t number = readElement(words, first).i;
  writeElement(words, first, {.i = number + 1});
  values_[ticket.getResult()] = TileValue::scalar(number);
  return absl::OkStatus();
}

absl::Status TileProgram::runControl(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [arg, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
      values_[arg] = TileValue(value(init));
    int64_t end = index(loop.getUpperBound()), step = index(loop.getStep());
    if (step <= 0)
      return absl::FailedPreconditionError(absl::StrCat(whereIs(op), "a loop with step ", step));
    for (int64_t i = index(loop.getLowerBound()); i < end; i += step) {
      values_[loop.getInductionVar()] = TileValue::scalar(i);
      if (absl::Status s = runBlock(*loop.getBody()); !s.ok())
        return s;
      std::vector<TileValue> next; // yields may exchange the carried values
      for (Value v : loop.getYieldedValues())
        next.push_back(value(v));
      for (auto [arg, v] : llvm::zip(loop.getRegionIterArgs(), next))
        values_[arg] = std::move(v);
    }
    for (auto [result, arg] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
      values_[result] = TileValue(value(arg));
    return absl::OkStatus();
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Region &taken = index(branch.getCondition()) ? branch.getThenRegion() : branch.getElseRegion();
    if (taken.empty())
      return absl::OkStatus();
    if (absl::Status s = runBlock(taken.front()); !s.ok())
      return s;
    for (auto [result, v] : llvm::zip(branch.getResults(), taken.front().getTerminator()->getOperands()))
      values_[result] = TileValue(value(v));
    return absl::OkStatus();
  }
  auto roles = cast<tile::RolesOp>(op);
  inRoles_ = true;
  for (Region &producer : roles.getProducers())
    if (absl::Status s = runBlock(producer.front()); !s.ok())
      return s;
  for (team_ = 0; team_ < int64_t(launch_.func.getPingpong()); ++team_)
    if (absl::Status s = runBlock(roles.getConsumer().front()); !s.ok())
      return s;
  return absl::OkStatus();
}

absl::Status TileProgram::runSearch(Operation *op, int64_t from, int64_t end, Region &condition) {
  bool counts = isa<tile::CountWhereOp>(op);
  int64_t count = 0;
  for (int64_t i = from; i < end; ++i) {
    values_[condition.getArgument(0)] = TileValue::scalar(i);
    if (absl::Status s = runBlock(condition.front()); !s.ok())
      return s;
    if (!value(condition.front().getTerminator()->getOperand(0)).elements[0].i)
      continue;
    ++count;
    if (!counts)
      end = i; // found
  }
  values_[op->getResult(0)] = TileValue::scalar(counts ? count : end);
  return absl::OkStatus();
}

absl::Status TileProgram::runExtreme(tile::ExtremeOp op) {
  int64_t most = index(op.getStart());
  for (int64_t i = 0; i < index(op.getEnd()); ++i) {
    values_[op.getCandidate()] = TileValue::scalar(i);
    if (absl::Status s = runBlock(op.getCondition().front()); !s.ok())
      return s;
    int64_t given = index(op.getHeld());
    most = op.getKind() == te::Combiner::Max ? std::max(most, given) : std::min(most, given);
  }
  values_[op.getResult()] = TileValue::scalar(most);
  return absl::OkStatus();
}

absl::Status TileProgram::runMask(TileValue &box, OperandRange offsets, const TileValue &all, Region &condition) {
  if (all.elements[0].i)
    return absl::OkStatus();
  SmallVector<int64_t> at(box.shape.size(), 0), start = indices(offsets);
  size_t flat = 0;
  do {
    for (auto [argument, o, c] : llvm::zip(condition.getArguments(), start, at))
      values_[argument] = TileValue::scalar(o + c);
    if (absl::Status s = runBlock(condition.front()); !s.ok())
      return s;
    if (!value(condition.front().getTerminator()->getOperand(0)).elements[0].i)
      box.elements[flat] = {.i = 0}; // zero as a float too
    ++flat;
  } while (advance(at, box.shape));
  return absl::OkStatus();
}

absl::Status TileProgram::runElementwise(Operation *op) {
  auto [it, isNew] = launch_.scalars.try_emplace(op);
  if (isNew) {
    auto convert = dyn_cast<tile::ConvertOp>(op);
    it->second = convert ? convertFunction(getElementTypeOrSelf(convert.getInput()), getElementTypeOrSelf(convert.getResult()),
                                           convert.getToUnsigned(), launch_.arithmetic)
                         : findScalarFunction(op, launch_.arithmetic);
  }
  const ScalarFunction &f = it->second;
  if (!f || op->getNumOperands() > 3)
    return unsupported(op);
  const TileValue *operands[3] = {};
  for (auto [i, v] : llvm::enumerate(op->getOperands()))
    operands[i] = &value(v);
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  TileValue result(type ? type.getShape() : ArrayRef<int64_t>());
  TileElement x[3] = {};
  for (size_t e = 0; e < result.elements.size(); ++e) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i) // a condition may be one scalar
      x[i] = operands[i]->elements[operands[i]->elements.size() == 1 ? 0 : e];
    result.elements[e] = f(x);
  }
  values_[op->getResult(0)] = std::move(result);
  return absl::OkStatus();
}

} // namespace kernelc::reference
