// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops, branches and roles. Carried tiles live in arrays that the body updates; scalars stay
// carried.
#include "ir/cu/Marks.h"
#include "ir/tile/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/FunctionLowering.h"
#include "support/Target.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

static bool isTile(Value v) { return isa<RankedTensorType>(v.getType()); }

/// A branch decides whether copies start. It has no results: a tile that only some threads have could not be laid out.
LogicalResult FunctionLowering::lowerIf(scf::IfOp branch) {
  if (branch.getNumResults())
    return branch.emitOpError() << "with results cannot be lowered to threads";
  auto created = scf::IfOp::create(b_, branch.getLoc(), c_.scalars.lookup(branch.getCondition()), bool(branch.elseBlock()));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(created.thenBlock()->getTerminator());
  if (failed(lowerBlock(*branch.thenBlock())))
    return failure();
  if (!branch.elseBlock())
    return success();
  b_.setInsertionPoint(created.elseBlock()->getTerminator());
  return lowerBlock(*branch.elseBlock());
}

/// The consumer's threads come first, so that its code numbers threads, lanes and
/// warps as if it were alone.
LogicalResult FunctionLowering::lowerRoles(RolesOp roles) {
  Location loc = cu::unnamed(roles.getLoc());
  bool inCluster = func_.getCluster() > 1;
  if (inCluster)
    cu::ClusterSyncOp::create(b_, loc); // channels have been made, the others' too
  int64_t consumers = func_.getConsumerWarps() * 32, threads = consumers + func_.getProducerWarps() * 32;
  // A launch gives every thread its even share.
  const Target *target = findTarget(absl::string_view(func_.getTarget().data(), func_.getTarget().size()));
  int64_t even = target->registersPerSm / (threads * func_.getMinBlocks()) / 8 * 8;
  bool exchange = int64_t(roles.getConsumerRegisters()) > even;
  Value group = cu::WarpgroupOp::create(b_, NameLoc::get(b_.getStringAttr("warpgroup"), loc), b_.getIndexType());
  Value produces = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sge, group, c_.index(consumers / 128, loc));
  auto branch = scf::IfOp::create(b_, loc, produces, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  cu::CommentOp::create(b_, loc, "Warps that fill slots.");
  if (exchange)
    cu::SetRegistersOp::create(b_, loc, roles.getProducerRegisters(), false);
  int64_t warp = 0;
  for (Region &producer : roles.getProducers()) {
    ChannelType channel;
    producer.walk([&](AcquireOp acquire) { channel = acquire.getChannel().getType(); }); // (a producer has one)
    int64_t fillers = channel ? channel.getFillers() : 0, warps = channel ? channel.getFillingWarps() : 1;
    // One thread; its warp, where lanes search together; or whole warps, where threads copy.
    bool together = producer.walk([](LeaderOp) { return WalkResult::interrupt(); }).wasInterrupted();
    Value who = fillers || together ? c_.warp(loc) : c_.thread(loc), runs;
    int64_t it = consumers / 32 + warp;
    auto compare = [&](arith::CmpIPredicate predicate, int64_t number) -> Value {
      return arith::CmpIOp::create(b_, loc, predicate, who, c_.index(number, loc));
    };
    if (!fillers) {
      runs = compare(arith::CmpIPredicate::eq, together ? it : 32 * it);
    } else if (warps < int64_t(func_.getProducerWarps())) {
      runs = compare(arith::CmpIPredicate::slt, it + warps);
      if (warp)
        runs = arith::AndIOp::create(b_, loc, compare(arith::CmpIPredicate::sge, it), runs);
    }
    warp += warps;
    llvm::SaveAndRestore<int64_t> first(c_.firstThread, fillers ? 32 * it : 0);
    LogicalResult ok = success();
    c_.inBranch(runs, loc, [&] { ok = lowerBlock(producer.front()); });
    if (failed(ok))
      return failure();
  }
  b_.setInsertionPoint(branch.elseBlock()->getTerminator());
  cu::CommentOp::create(b_, loc, "Warps that multiply what lies in slots.");
  if (exchange)
    cu::SetRegistersOp::create(b_, loc, roles.getConsumerRegisters(), true);
  c_.inTeam = true;
  LogicalResult ok = lowerBlock(roles.getConsumer().front());
  c_.inTeam = false;
  b_.setInsertionPointAfter(branch);
  if (inCluster) // no block ends while another one may still write to its memory
    cu::ClusterSyncOp::create(b_, loc);
  return ok;
}

LogicalResult FunctionLowering::lowerCondition(Region &from, Value held, Region &to) {
  Location loc = cu::unnamed(held.getLoc());
  Block &block = to.emplaceBlock();
  c_.scalars[from.getArgument(0)] = block.addArgument(b_.getIndexType(), from.getArgument(0).getLoc());
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&block);
  if (failed(lowerBlock(from.front())))
    return failure();
  if (held.getType().isIndex())
    cu::GivesOp::create(b_, loc, c_.scalars.lookup(held));
  else
    cu::HoldsOp::create(b_, loc, c_.element(held, {}, loc));
  return success();
}

void FunctionLowering::ifNoRounds(scf::ForOp loop, llvm::function_ref<void()> body) {
  Value from = c_.scalars.lookup(loop.getLowerBound()), to = c_.scalars.lookup(loop.getUpperBound());
  std::optional<int64_t> first = getConstantIntValue(from), end = getConstantIntValue(to);
  if (first && end && *first < *end)
    return;
  // All rounds or none: NVRTC would follow both to the end of the tile, and run out of registers. What is done in vain
  // is less than a step of the product.
  if (to.getDefiningOp<arith::SelectOp>())
    return body();
  Location loc = cu::unnamed(loop.getLoc());
  Value none = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sge, from, to);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(scf::IfOp::create(b_, loc, none, false).thenBlock()->getTerminator());
  body();
}

/// Whether `init` is what a loop beside `loop` has come to, which nobody else needs.
static bool isLoopsAlone(Value init, scf::ForOp loop) {
  if (auto wait = init.getDefiningOp<DotWaitOp>(); wait && init.hasOneUse())
    init = wait.getAcc();
  auto before = init.getDefiningOp<scf::ForOp>();
  return before && init.hasOneUse() && before->getBlock() == loop->getBlock();
}

Value FunctionLowering::placeCarried(scf::ForOp loop, unsigned i) {
  Location loc = loop.getLoc();
  BlockArgument arg = loop.getRegionIterArg(i);
  Value init = loop.getInitArgs()[i];
  Layout layout = carriedLayout(loop, i);
  // A last round goes on in the registers of the rounds before it, and a sum in those of one that it starts from.
  if ((kLastRound.isOn(loop) || init.getDefiningOp<DotWaitOp>()) && isLoopsAlone(init, loop) && c_.tiles.lookup(init).layout == layout) {
    RegTile before = c_.tiles.lookup(init);
    c_.tiles[arg] = before; // (an entry moves when another is made)
    c_.tiles[loop.getResult(i)] = before;
    return before.array;
  }
  // Terms that a loop in another one adds to what that carries are added there.
  if (auto start = dyn_cast<BlockArgument>(init);
      start && init.hasOneUse() && layout != getLayout(arg) && c_.tiles.lookup(init).layout == layout) {
    RegTile around = c_.tiles.lookup(init);
    c_.tiles[arg] = around;
    c_.tiles[loop.getResult(i)] = around;
    return around.array;
  }
  // A loop without a name carries what has names of its own.
  StringRef name = cu::findName(loc);
  if (name.empty())
    name = cu::findName(arg.getLoc());
  if (name.empty())
    name = "carried";
  Value array = c_.allocate(layout.numRegisters(), cast<RankedTensorType>(arg.getType()).getElementType(),
                            c_.named(c_.registerName(name, "_acc"), loc));
  Location plain = cu::unnamed(loc);
  if (func_.getUnit() == Unit::Wgmma && startsAfreshInFirstRound(arg))
    ifNoRounds(loop, [&] { copyTile(init, array, plain); });
  else
    copyTile(init, array, plain, layout);
  c_.tiles[arg] = {layout, array};
  c_.tiles[loop.getResult(i)] = {layout, array};
  return array;
}

scf::ForOp FunctionLowering::openRounds(scf::ForOp loop, ArrayRef<Value> inits) {
  Location plain = cu::unnamed(loop.getLoc());
  Value from = c_.scalars.lookup(loop.getLowerBound()), to = c_.scalars.lookup(loop.getUpperBound());
  if (kLastRound.isOn(loop) && inits.empty()) {
    Value some = arith::CmpIOp::create(b_, plain, arith::CmpIPredicate::slt, from, to);
    b_.setInsertionPoint(scf::IfOp::create(b_, plain, some, false).thenBlock()->getTerminator());
    c_.scalars[loop.getInductionVar()] = from;
    return {};
  }
  auto created = scf::ForOp::create(b_, plain, from, to, c_.scalars.lookup(loop.getStep()), inits);
  cu::kUnroll.copy(loop, created);
  if (!cu::kUnroll.isOn(loop))
    cu::kTiles.putOn(created);
  created.getInductionVar().setLoc(loop.getInductionVar().getLoc());
  c_.scalars[loop.getInductionVar()] = created.getInductionVar();
  if (inits.empty())
    b_.setInsertionPoint(created.getBody()->getTerminator());
  else
    b_.setInsertionPointToEnd(created.getBody());
  return created;
}

/// The new value may be left in the old one's registers when the old one is not needed later.
void FunctionLowering::goOnInPlace(scf::ForOp loop, unsigned i) {
  BlockArgument arg = loop.getRegionIterArg(i);
  Value next = loop.getBody()->getTerminator()->getOperand(i);
  Operation *def = next.getDefiningOp();
  if (def && def->getBlock() == loop.getBody() &&
      llvm::all_of(arg.getUsers(), [&](Operation *u) { return u->getBlock() == def->getBlock() && (u == def || u->isBeforeInBlock(def)); }))
    inPlace_[next] = c_.tiles.lookup(arg);
}

/// Whatever was not left in place is copied; first into temporaries what is a carried tile itself, whose
/// registers another copy may overwrite.
void FunctionLowering::handOn(ValueRange yielded, ArrayRef<Value> arrays, Location loc) {
  SmallVector<std::pair<Value, Value>> moves;
  for (auto [next, array] : llvm::zip(yielded, arrays)) {
    if (!array || !isa<BlockArgument>(next) || c_.tiles.lookup(next).array == array)
      continue;
    Layout layout = getLayout(next);
    Value temporary = c_.allocate(layout.numRegisters(), cast<RankedTensorType>(next.getType()).getElementType(), loc);
    copyTile(next, temporary, loc);
    moves.push_back({temporary, array});
  }
  for (auto [next, array] : llvm::zip(yielded, arrays))
    if (array && !isa<BlockArgument>(next) && (isRematerialized(next.getDefiningOp()) || c_.tiles.lookup(next).array != array))
      copyTile(next, array, loc);
  for (auto [from, to] : moves) {
    Digit all{-1, 1, cast<MemRefType>(from.getType()).getNumElements()};
    OpenDigits open;
    c_.overDigits(all, loc, open, [&] {
      Value r = open.valueOf(all);
      memref::StoreOp::create(b_, loc, memref::LoadOp::create(b_, loc, from, r), to, r);
    });
  }
}

LogicalResult FunctionLowering::lowerFor(scf::ForOp loop) {
  Location plain = cu::unnamed(loop.getLoc());
  SmallVector<Value> arrays, inits; // of each carried value (null: a scalar); of scalars
  for (auto [i, init] : llvm::enumerate(loop.getInitArgs())) {
    arrays.push_back(isTile(init) ? placeCarried(loop, i) : Value());
    if (!arrays.back())
      inits.push_back(c_.scalars.lookup(init));
  }
  OpBuilder::InsertionGuard guard(b_);
  DotOp readAhead = findReadAhead(c_, loop);
  if (readAhead)
    ahead_.try_emplace(readAhead, c_, loop, readAhead);
  scf::ForOp created = openRounds(loop, inits);
  if (!created)
    cu::CommentOp::create(b_, plain, "The last round: some of its points lie beyond the end.");
  unsigned scalars = 0;
  for (auto [i, arg] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (arrays[i]) {
      goOnInPlace(loop, i);
      continue;
    }
    created.getRegionIterArg(scalars).setLoc(arg.getLoc());
    c_.scalars[arg] = created.getRegionIterArg(scalars);
    c_.scalars[loop.getResult(i)] = created.getResult(scalars++);
  }
  if (readAhead)
    ahead_.find(readAhead)->second.begin(c_);
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  if (readAhead)
    ahead_.find(readAhead)->second.finish(c_, c_.scalars.lookup(loop.getUpperBound()));
  ValueRange yielded = loop.getBody()->getTerminator()->getOperands();
  handOn(yielded, arrays, loop.getLoc());
  SmallVector<Value> next;
  for (auto [v, array] : llvm::zip(yielded, arrays))
    if (!array)
      next.push_back(c_.scalars.lookup(v));
  if (!next.empty())
    scf::YieldOp::create(b_, plain, next);
  return success();
}

} // namespace kernelc
