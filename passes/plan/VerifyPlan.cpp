// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-verify-plan: see Passes.td. It holds a plan against the statements' own access maps, and knows nothing of how te-plan
// and te-copy-inouts came to it: no function that they decide by is called here.
#include "passes/plan/VerifyPlan.h"

#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/InternalError.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/index/Meeting.h"
#include "passes/plan/PlanAttr.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEVERIFYPLAN
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// A read over the dims of the statement whose body it is in; a null subscript is anything.
SmallVector<AffineExpr> subscriptsOf(ReadOp read, Operation *statement) {
  AffineMap map = read.getMapOrIdentity();
  bool isMoved = read.getBounds() == BoundsMode::Edge || read.getBounds() == BoundsMode::Reflect || read.getBounds() == BoundsMode::Wrap;
  SmallVector<AffineExpr> dims, subscripts;
  llvm::BitVector data(map.getNumDims());
  for (auto [n, v] : llvm::enumerate(read.getOperands_())) {
    std::optional<unsigned> d = findIndex(statement, v);
    data[n] = !d;
    dims.push_back(getAffineDimExpr(d.value_or(0), read.getContext()));
  }
  for (AffineExpr e : map.getResults()) {
    bool isKnown = !isMoved && llvm::none_of(data.set_bits(), [&](unsigned d) { return e.isFunctionOfDim(d); });
    unsigned rank = getExtents(statement).getNumResults();
    subscripts.push_back(isKnown ? simplifyAffineExpr(e.replaceDims(dims), rank, map.getNumSymbols()) : AffineExpr());
  }
  return subscripts;
}

/// Where a statement writes, over its dims; null subscripts are anything.
SmallVector<AffineExpr> targetOf(Operation *statement) {
  if (auto scatter = dyn_cast<ScatterOp>(statement))
    return SmallVector<AffineExpr>(scatter.getShape().getNumResults());
  std::optional<AffineMap> out;
  if (auto c = dyn_cast<ComputeOp>(statement))
    out = c.getOutMap();
  if (auto r = dyn_cast<ReduceOp>(statement))
    out = r.getOutMap();
  if (auto r = dyn_cast<RecurrenceOp>(statement))
    out = r.getOutMap();
  if (out)
    return llvm::map_to_vector(out->getResults(),
                               [&](AffineExpr e) { return simplifyAffineExpr(e, out->getNumDims(), out->getNumSymbols()); });
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0; d < getNumParallel(statement); ++d)
    dims.push_back(getAffineDimExpr(d, statement->getContext()));
  return dims;
}

bool isDim(AffineExpr e, unsigned d) {
  auto dim = dyn_cast_or_null<AffineDimExpr>(e);
  return dim && dim.getPosition() == d;
}

class Verifier {
public:
  Verifier(KernelOp kernel, const KernelPlan &plan)
      : kernel_(kernel), plan_(plan), facts_{plan.sizeDiv, plan.sizeMax}, ops_(getDomainOps(kernel)) {}

  LogicalResult run() {
    placeStatements();
    joinMemories();
    for (Operation *op : ops_)
      if (failed(verifyStatement(op)))
        return failure();
    return verifyReturned();
  }

private:
  /// Where a statement stands in the plan.
  struct Place {
    size_t launch = 0, member = 0;
    ArrayRef<int64_t> dims;
  };
  const LaunchPlan &launchOf(Operation *op) { return plan_.launches[at_[op].launch]; }
  static std::string nameOf(Operation *op) {
    auto name = op->getAttrOfType<StringAttr>("name");
    return name ? ("'" + name.getValue() + "'").str() : "a statement without a name";
  }
  InFlightDiagnostic wrong(Operation *op) {
    return emitInternalError(op) << "the plan of kernel '" << kernel_.getSymName() << "' is wrong in launch '" << launchOf(op).name
                                 << "': ";
  }

  void placeStatements();
  void joinMemories();
  LogicalResult verifyStatement(Operation *op);
  LogicalResult verifySteps(RecurrenceOp op);
  LogicalResult verifyWalk(Operation *op);
  LogicalResult verifyMemberRead(Operation *op, ReadOp read);
  LogicalResult verifyOwnRead(Operation *op, ReadOp read);
  LogicalResult verifyMemoryRead(Operation *op, ReadOp read);
  LogicalResult verifyWriter(Operation *op);
  LogicalResult verifyReturned();

  /// The statements that write to the memory in which `tensor` lies.
  ArrayRef<Operation *> writersTo(Value tensor) { return writers_[memory_.getLeaderValue(tensor.getAsOpaquePointer())]; }
  bool isLeftInMemory(Operation *op);
  bool isByFirstTile(Operation *op, int64_t index);
  bool isAdded(Operation *op);
  bool isOneTile(const LaunchPlan &l, int64_t index);
  bool areApart(ReadOp read, Operation *reader, Operation *writer);
  bool isOwnPoint(ReadOp read, Operation *writer);
  bool isWaitedFor(Operation *reader, Operation *writer);
  bool staysInTile(ReadOp read, Operation *reader, Operation *writer);
  bool staysAtPoint(ReadOp read, Operation *reader, Operation *writer);
  std::optional<unsigned> dimOf(Operation *op, int64_t index) {
    auto it = llvm::find(at_[op].dims.take_front(getNumParallel(op)), index);
    return it == at_[op].dims.take_front(getNumParallel(op)).end() ? std::nullopt : std::optional<unsigned>(it - at_[op].dims.begin());
  }
  /// The index that the blocks of a cluster share out; -1: none.
  static int64_t sharedIndex(const LaunchPlan &l) {
    return l.cluster > 1 && !llvm::is_contained(l.grid, l.clusterIndex) ? l.clusterIndex : -1;
  }

  KernelOp kernel_;
  const KernelPlan &plan_;
  SizeFacts facts_;
  SmallVector<Operation *> ops_;
  llvm::DenseMap<Operation *, Place> at_;
  llvm::EquivalenceClasses<void *> memory_;
  llvm::DenseMap<void *, SmallVector<Operation *>> writers_;
};

/// (getPlan has seen that every statement is computed once, in its place behind what it needs.)
void Verifier::placeStatements() {
  for (auto [n, l] : llvm::enumerate(plan_.launches))
    for (auto [m, ordinal] : llvm::enumerate(l.ops))
      at_[ops_[ordinal]] = Place{n, m, l.dims[m]};
}

/// What goes on from a tensor lies where that does, and what updates an argument in its memory.
void Verifier::joinMemories() {
  for (BlockArgument a : kernel_.getBlock().getArguments())
    memory_.insert(a.getAsOpaquePointer());
  for (Operation *op : ops_)
    for (Value result : op->getResults()) {
      memory_.insert(result.getAsOpaquePointer());
      if (Value init = findInit(op))
        memory_.unionSets(init.getAsOpaquePointer(), result.getAsOpaquePointer());
    }
  for (auto [n, v] : llvm::enumerate(kernel_.getReturn().getOperands()))
    if (int64_t alias = kernel_.getAlias(n); alias >= 0)
      memory_.unionSets(kernel_.getBlock().getArgument(alias).getAsOpaquePointer(), v.getAsOpaquePointer());
  for (Operation *op : ops_)
    for (Value result : op->getResults())
      writers_[memory_.getLeaderValue(result.getAsOpaquePointer())].push_back(op);
}

/// Whether any result of op is needed where its launch's registers are not.
bool Verifier::isLeftInMemory(Operation *op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    Operation *statement = user;
    while (statement->getParentOp() != kernel_)
      statement = statement->getParentOp();
    return statement == user || at_[statement].launch != at_[op].launch; // returned or gone on from, or read elsewhere
  });
}

/// Whether one tile has all points of a launch index.
bool Verifier::isOneTile(const LaunchPlan &l, int64_t index) {
  Meeting sizes(kernel_, facts_);
  sizes.addAtLeastZero(l.extents.getResult(index) - l.tiles[index] - 1);
  return sizes.isEmpty();
}

LogicalResult Verifier::verifyStatement(Operation *op) {
  SmallVector<ReadOp> reads;
  op->walk([&](ReadOp read) { reads.push_back(read); });
  if (auto recurrence = dyn_cast<RecurrenceOp>(op); recurrence && failed(verifySteps(recurrence)))
    return failure();
  if (isa<ReduceOp, CascadeOp>(op) && !findScanOf(op) && failed(verifyWalk(op)))
    return failure();
  for (ReadOp read : reads) {
    if (findRecurrence(read.getTensor())) // by steps, in order
      continue;
    Operation *producer = read.getTensor().getDefiningOp();
    bool isMember = producer && at_[producer].launch == at_[op].launch;
    if (failed(isMember ? verifyMemberRead(op, read) : verifyMemoryRead(op, read)))
      return failure();
  }
  if (Value init = findInit(op)) {
    int64_t from = init.getDefiningOp() ? int64_t(at_[init.getDefiningOp()].launch) : -1;
    for (Operation *writer : writersTo(init))
      if (int64_t n = at_[writer].launch;
          writer != init.getDefiningOp() && writer != op && n >= from && n < int64_t(at_[op].launch) && isLeftInMemory(writer))
        return wrong(op) << nameOf(op) << " goes on from memory that " << nameOf(writer) << " has overwritten";
  }
  return isLeftInMemory(op) ? verifyWriter(op) : success();
}

/// A block that walks a launch index reduces over it: those of a reduction's results are on the grid, or one tile has all of them.
LogicalResult Verifier::verifyWalk(Operation *op) {
  const LaunchPlan &l = launchOf(op);
  std::optional<int64_t> scanned = findScannedIndex(l, ops_);
  for (int64_t index : at_[op].dims.take_front(getNumParallel(op)))
    if (!llvm::is_contained(l.grid, index) && !llvm::is_contained(l.loops, index) && index != scanned && !isOneTile(l, index))
      return wrong(op) << nameOf(op) << " has results along '" << l.indices[index] << "', which a block walks";
  return success();
}

/// A block has all steps of its systems, and takes them one by one.
LogicalResult Verifier::verifySteps(RecurrenceOp op) {
  const LaunchPlan &l = launchOf(op);
  ArrayRef<int64_t> own = at_[op].dims.take_front(op.getNumParallel()).drop_front(op.getFree());
  if (l.ops.size() != 1 || llvm::any_of(own, [&](int64_t index) { return llvm::is_contained(l.grid, index) || index == sharedIndex(l); }))
    return wrong(op) << nameOf(op) << " reads what other blocks may not have defined";
  if (l.tiles[own.front()] != 1)
    return wrong(op) << nameOf(op) << " has tiles of " << l.tiles[own.front()] << " steps, which need each other";
  return success();
}

/// What another member of the launch makes is read from the registers that hold it: at its own point, and all of the tile is there.
LogicalResult Verifier::verifyMemberRead(Operation *op, ReadOp read) {
  Operation *producer = read.getTensor().getDefiningOp();
  const LaunchPlan &l = launchOf(op);
  if (isInBlock(producer))
    return verifyOwnRead(op, read);
  SmallVector<int64_t> made = llvm::map_to_vector(getResultDims(read.getTensor()), [&](unsigned d) { return at_[producer].dims[d]; });
  auto compute = dyn_cast<ComputeOp>(producer);
  if (isa<ScatterOp>(producer) || isAdded(producer))
    return wrong(op) << nameOf(op) << " reads " << nameOf(producer) << ", to which other tiles of the launch add";
  if (compute && (compute.getCondition() || compute.getYield().getCondition() || compute.getOutMap()))
    return wrong(op) << nameOf(op) << " reads " << nameOf(producer) << ", of which the launch has a part";
  // In a loop that statements share, a round has what it makes, and nothing of what is still being reduced over the loop.
  auto isWalkedBy = [&](int64_t index) { return llvm::is_contained(l.loops, index) && llvm::is_contained(at_[op].dims, index); };
  if (llvm::any_of(at_[producer].dims.drop_front(getNumParallel(producer)), isWalkedBy))
    return wrong(op) << nameOf(op) << " reads " << nameOf(producer) << " in the loop that reduces it";
  std::optional<int64_t> scanned = findScannedIndex(l, ops_); // which all of the launch is in the loop over
  if (scanned && isReducedOver(l, at_[producer].member, ops_, *scanned) && llvm::is_contained(at_[op].dims, *scanned) &&
      !isOneTile(l, *scanned))
    return wrong(op) << nameOf(op) << " reads " << nameOf(producer) << " in the loop that reduces it";
  for (int64_t index : made)
    if (!llvm::is_contained(l.grid, index) && !isWalkedBy(index) && index != scanned && (index == sharedIndex(l) || !isOneTile(l, index)))
      return wrong(op) << nameOf(op) << " reads " << nameOf(producer) << ", of which a block has one tile at a time";
  SmallVector<AffineExpr> at = subscriptsOf(read, op);
  for (auto [e, index] : llvm::zip(at, made)) {
    auto d = dyn_cast_or_null<AffineDimExpr>(e);
    if (!d || at_[op].dims[d.getPosition()] != index)
      return wrong(op) << nameOf(op) << " reads " << nameOf(producer) << " elsewhere than at the point that its thread has";
  }
  return success();
}

/// What a block has made in memory of its own is read at any of its points: all of them are there, and none is another block's.
LogicalResult Verifier::verifyOwnRead(Operation *op, ReadOp read) {
  Operation *producer = read.getTensor().getDefiningOp();
  const LaunchPlan &l = launchOf(op);
  auto made = cast<ComputeOp>(producer);
  if (made.getInit() || made.getOutMap() || made.getCondition() || made.getYield().getCondition() || isLeftInMemory(producer) ||
      at_[producer].member >= at_[op].member)
    return wrong(op) << nameOf(op) << " reads " << nameOf(producer) << ", which its block does not have as a whole before it";
  SmallVector<AffineExpr> at = subscriptsOf(read, op);
  for (auto [d, index] : llvm::enumerate(at_[producer].dims)) {
    if (!llvm::is_contained(l.grid, index))
      continue;
    auto own = dyn_cast_or_null<AffineDimExpr>(at[d]);
    if (l.tiles[index] != 1 || !own || at_[op].dims[own.getPosition()] != index || sharedIndex(l) >= 0 || l.cluster > 1)
      return wrong(op) << nameOf(op) << " reads points of " << nameOf(producer) << " that another block has";
  }
  return read.getBounds() == BoundsMode::InBounds
             ? success()
             : wrong(op) << nameOf(op) << " reads " << nameOf(producer) << " outside of what its block has";
}

/// Whether the read is at the element that its point writes, and at no other point's.
bool Verifier::isOwnPoint(ReadOp read, Operation *writer) {
  SmallVector<AffineExpr> at = subscriptsOf(read, writer), to = targetOf(writer);
  if (isa<ScatterOp>(writer))
    return false;
  if (at == to)
    return true; // where a statement writes is another element for each point
  Meeting meeting(kernel_, facts_);
  unsigned p = meeting.addPoint(writer), q = meeting.addPoint(writer);
  for (auto [a, b] : llvm::zip(at, to))
    meeting.addEqual(a, p, b, q);
  for (unsigned d = 0; d < getNumParallel(writer); ++d)
    if (!meeting.agree(p, d, q, d))
      return false;
  return true;
}

/// Whether no element that is read is one that `writer` writes.
bool Verifier::areApart(ReadOp read, Operation *reader, Operation *writer) {
  Meeting meeting(kernel_, facts_);
  unsigned p = meeting.addPoint(reader), q = meeting.addPoint(writer);
  for (auto [a, b] : llvm::zip(subscriptsOf(read, reader), targetOf(writer)))
    meeting.addEqual(a, p, b, q);
  return meeting.isEmpty();
}

/// Whether what `writer` stores is computed from what `reader` reduces, in one launch.
bool Verifier::isWaitedFor(Operation *reader, Operation *writer) {
  if (isa<ComputeOp>(reader) || findScannedIndex(launchOf(reader), ops_)) // (a scan's next tile is still to be read)
    return false;
  SmallVector<Operation *> work{writer};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (op == reader)
      return true;
    op->walk([&](ReadOp read) {
      Operation *producer = read.getTensor().getDefiningOp();
      if (producer && at_[producer].launch == at_[writer].launch && seen.insert(producer).second)
        work.push_back(producer);
    });
  }
  return false;
}

/// Whether what a reduction reads is written by the tile alone that reduces it, and after that: an element is read for those of its
/// results only that the point which writes it has, as far as the grid goes.
bool Verifier::staysInTile(ReadOp read, Operation *reader, Operation *writer) {
  const LaunchPlan &l = launchOf(reader);
  SmallVector<AffineExpr> at = subscriptsOf(read, reader), to = targetOf(writer);
  Meeting meeting(kernel_, facts_);
  unsigned p = 0, q = 0;
  for (int64_t index : l.grid) {
    std::optional<unsigned> d = dimOf(reader, index), w = dimOf(writer, index);
    if (!d || !w) {
      if (!isOneTile(l, index))
        return false;
      continue;
    }
    bool isPlain = llvm::any_of(llvm::zip(at, to), [&](auto pair) { return isDim(std::get<0>(pair), *d) && isDim(std::get<1>(pair), *w); });
    if (isPlain)
      continue;
    if (!p) {
      p = meeting.addPoint(reader);
      q = meeting.addPoint(writer);
      for (auto [a, b] : llvm::zip(at, to))
        meeting.addEqual(a, p, b, q);
    }
    if (!meeting.agree(p, *d, q, *w))
      return false;
  }
  // Of blocks that share an index out, those wait for each other that reduce over it.
  int64_t shared = sharedIndex(l);
  return shared < 0 || (!dimOf(reader, shared) && llvm::is_contained(at_[reader].dims, shared));
}

/// Whether both are pointwise over the launch's grid, whose threads read all before they write, and what is read is written at the
/// same point of it.
bool Verifier::staysAtPoint(ReadOp read, Operation *reader, Operation *writer) {
  const LaunchPlan &l = launchOf(reader);
  // (A tile is loaded where a condition does not hold, too.)
  if (!isa<ComputeOp>(reader) || !isa<ComputeOp>(writer) || getCondition(reader) || findScannedIndex(l, ops_))
    return false;
  for (Operation *op : {reader, writer})
    if (!llvm::all_of(at_[op].dims, [&](int64_t index) { return llvm::is_contained(l.grid, index); }))
      return false;
  Meeting meeting(kernel_, facts_);
  unsigned p = meeting.addPoint(reader), q = meeting.addPoint(writer);
  for (auto [a, b] : llvm::zip(subscriptsOf(read, reader), targetOf(writer)))
    meeting.addEqual(a, p, b, q);
  return llvm::all_of(l.grid, [&](int64_t index) {
    std::optional<unsigned> d = dimOf(reader, index), w = dimOf(writer, index);
    return d && w && meeting.agree(p, *d, q, *w);
  });
}

LogicalResult Verifier::verifyMemoryRead(Operation *op, ReadOp read) {
  Operation *producer = read.getTensor().getDefiningOp();
  int64_t from = producer ? int64_t(at_[producer].launch) : -1, here = at_[op].launch;
  for (Operation *writer : writersTo(read.getTensor())) {
    int64_t n = at_[writer].launch;
    if (writer == producer || n < from || n > here || !isLeftInMemory(writer))
      continue;
    if (producer && n == from && n < here && at_[writer].member < at_[producer].member)
      continue; // another piece of what the producer goes on from
    if (n < here) {
      if (!areApart(read, op, writer))
        return wrong(op) << nameOf(op) << " reads what " << nameOf(writer) << " has overwritten in launch '" << plan_.launches[n].name
                         << "'";
      continue;
    }
    const LaunchPlan &l = launchOf(op);
    int64_t shared = sharedIndex(l);
    bool isOrdered = writer == op ? isOwnPoint(read, op) && (shared < 0 || llvm::is_contained(at_[op].dims, shared))
                                  : (isWaitedFor(op, writer) && staysInTile(read, op, writer)) || staysAtPoint(read, op, writer);
    if (!isOrdered && !areApart(read, op, writer))
      return wrong(op) << nameOf(op) << " reads elements that another tile or thread overwrites when it computes " << nameOf(writer)
                       << ", and nothing orders them; a copy is needed";
  }
  return success();
}

/// Whether all tiles along a launch index make what `op` does, of which the first one writes it: nothing of the launch overwrites what
/// the others still read for it.
bool Verifier::isByFirstTile(Operation *op, int64_t index) {
  if (llvm::is_contained(at_[op].dims, index) || isa<ScatterOp>(op) || findInit(op))
    return false;
  return op->walk([&](ReadOp read) {
             Operation *producer = read.getTensor().getDefiningOp();
             if (producer && at_[producer].launch == at_[op].launch)
               return WalkResult::advance(); // from registers
             bool written = llvm::any_of(writersTo(read.getTensor()), [&](Operation *w) { return at_[w].launch == at_[op].launch; });
             return written ? WalkResult::interrupt() : WalkResult::advance();
           }).wasInterrupted() == false;
}

/// Whether each block has a part of a sum, by its tile of an index of the grid, and adds it to what is in memory, in any order.
bool Verifier::isAdded(Operation *op) {
  auto sum = dyn_cast<ReduceOp>(op);
  return sum && sum.getAnyOrder() && sum.getInit() && llvm::any_of(at_[op].dims.drop_front(getNumParallel(op)), [&](int64_t index) {
           return llvm::is_contained(launchOf(op).grid, index);
         });
}

/// What one tile writes no other one does, nor another statement of the launch.
LogicalResult Verifier::verifyWriter(Operation *op) {
  const LaunchPlan &l = launchOf(op);
  for (int64_t index : l.grid)
    if (!dimOf(op, index) && !isOneTile(l, index) && !isByFirstTile(op, index) && !(isAdded(op) && llvm::is_contained(at_[op].dims, index)))
      return wrong(op) << nameOf(op) << " is written by every tile along '" << l.indices[index] << "'";
  for (Value result : op->getResults())
    for (Operation *other : writersTo(result)) {
      if (other == op || at_[other].launch != at_[op].launch || at_[other].member > at_[op].member || !isLeftInMemory(other))
        continue;
      Meeting meeting(kernel_, facts_);
      unsigned p = meeting.addPoint(op), q = meeting.addPoint(other);
      for (auto [a, b] : llvm::zip(targetOf(op), targetOf(other)))
        meeting.addEqual(a, p, b, q);
      if (!meeting.isEmpty())
        return wrong(op) << nameOf(op) << " writes elements that " << nameOf(other) << " writes, and nothing orders them";
    }
  return success();
}

/// Nothing overwrites what the kernel returns.
LogicalResult Verifier::verifyReturned() {
  for (Value v : kernel_.getReturn().getOperands()) {
    Operation *last = v.getDefiningOp();
    for (Operation *writer : writersTo(v))
      if (writer != last && isLeftInMemory(writer) && (!last || at_[writer].launch > at_[last].launch))
        return wrong(writer) << nameOf(writer) << " overwrites what is returned";
  }
  return success();
}

struct TeVerifyPlanPass : impl::TeVerifyPlanBase<TeVerifyPlanPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyPlan(getOperation())))
      signalPassFailure();
  }
};

} // namespace

LogicalResult te::verifyPlan(KernelOp kernel) {
  FailureOr<KernelPlan> plan = getPlan(kernel);
  return failure(failed(plan) || failed(Verifier(kernel, *plan).run()));
}

} // namespace kernelc
