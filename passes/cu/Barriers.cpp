// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-barriers: see Passes.td.
#include <map>
#include <set>

#include "passes/Passes.h"
#include "passes/cu/Access.h"
#include "llvm/ADT/SetOperations.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUBARRIERS
#include "passes/Passes.h.inc"

namespace {

/// An access that no barrier has followed yet.
struct Pending {
  Operation *since; ///< the access, or the wait that ended it: a barrier belongs behind
  Age age, sinceAge;
  bool inFlight; ///< a copy that may still be running
  bool operator==(const Pending &o) const { return since == o.since && age == o.age && sinceAge == o.sinceAge && inFlight == o.inFlight; }
};

/// What is pending at one point, by access: of few, where barriers are.
struct State {
  std::map<unsigned, SmallVector<Pending, 2>> pending;

  void add(unsigned access, const Pending &p) {
    SmallVector<Pending, 2> &list = pending[access];
    if (!llvm::is_contained(list, p))
      list.push_back(p);
  }
  ArrayRef<Pending> of(unsigned access) const {
    auto it = pending.find(access);
    return it == pending.end() ? ArrayRef<Pending>() : it->second;
  }
  void unite(const State &other) {
    for (auto &[n, list] : other.pending)
      for (const Pending &p : list)
        add(n, p);
  }
  /// Whether `other` has nothing that this lacks.
  bool covers(const State &other) const {
    return llvm::all_of(other.pending, [&](auto &entry) {
      return llvm::all_of(entry.second, [&](const Pending &p) { return llvm::is_contained(of(entry.first), p); });
    });
  }
};

struct Conflict {
  unsigned first, second;
  Pending how;
};

/// A walk over the kernel's ops, in the order in which any thread runs them.
class Walk {
public:
  Walk(SharedAccesses &accesses, Operation *leftOut = nullptr) : accesses_(accesses), leftOut_(leftOut) {}

  /// The first two accesses that need a barrier between them and have none, where `state` is what the ops before left
  /// pending; else it is brought behind the op.
  std::optional<Conflict> findConflict(Operation &op, State &state) {
    visit(op, state);
    return conflict_;
  }
  /// Pairs that are not this pass's to order, and that no barrier orders.
  const std::set<std::pair<unsigned, unsigned>> &unordered() const { return unordered_; }

private:
  void visit(Block &block, State &state) {
    for (Operation &op : block) {
      if (conflict_)
        return;
      visit(op, state);
    }
  }

  void visit(Operation &op, State &state) {
    if (&op == leftOut_)
      return;
    if (isa<cu::SyncOp>(op)) {
      meet(*accesses_.threads().together(op.getBlock()), state);
    } else if (isa<cu::ClusterSyncOp>(op)) {
      meet(accesses_.threads().atMost(op.getBlock()), state);
    } else if (auto wait = dyn_cast<cu::CpAsyncWaitOp>(op)) {
      land(wait, state);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      visitLoop(loop, state);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      visitBranch(branch, state);
    } else {
      for (unsigned n : accesses_.of(&op))
        make(n, state);
    }
  }

  void make(unsigned n, State &state) {
    const SharedAccess &a = accesses_.all()[n];
    for (unsigned peer : accesses_.peersOf(n))
      for (const Pending &p : state.of(peer)) {
        if (p.inFlight || !accesses_.mayMeet(peer, p.age, n))
          continue;
        if (a.isOrdered || accesses_.all()[peer].isOrdered) {
          unordered_.insert({peer, n});
        } else if (!conflict_) {
          conflict_ = Conflict{peer, n, p};
          return;
        }
      }
    state.add(n, {a.op, {}, {}, a.async});
  }

  /// A barrier of `threads`: what they have done comes before what they do.
  void meet(const llvm::BitVector &threads, State &state) {
    for (auto it = state.pending.begin(); it != state.pending.end();) {
      auto &[n, list] = *it;
      if (!accesses_.threadsOf(n).test(threads)) // a subset
        llvm::erase_if(list, [](const Pending &p) { return !p.inFlight; });
      it = list.empty() ? state.pending.erase(it) : std::next(it);
    }
  }

  /// Copies that a wait may have ended; the last groups run on.
  void land(cu::CpAsyncWaitOp wait, State &state) {
    for (auto &[n, list] : state.pending) {
      SmallVector<Pending, 2> before = list;
      if (wait.getPending() == 0)
        llvm::erase_if(list, [](const Pending &p) { return p.inFlight; });
      for (const Pending &p : before)
        if (p.inFlight)
          state.add(n, {wait, p.age, {}, false});
    }
  }

  /// The same, one round of `loop` later: what was in the same round of it, in whatever rounds of loops inside, is in the one before.
  static Age later(Age age, scf::ForOp loop) {
    if (!age.loop || loop->isProperAncestor(age.loop))
      return {loop, true};
    return age.loop == loop ? Age{loop, false} : age;
  }
  State later(const State &state, scf::ForOp loop) {
    State next;
    for (auto &[n, list] : state.pending)
      for (Pending p : list) {
        if (loop->isAncestor(accesses_.all()[n].op))
          p.age = later(p.age, loop);
        if (loop->isAncestor(p.since))
          p.sinceAge = later(p.sinceAge, loop);
        next.add(n, p);
      }
    return next;
  }

  void visitLoop(scf::ForOp loop, State &state) {
    ArrayRef<unsigned> inside = accesses_.of(loop);
    bool orders = loop.walk([&](Operation *op) {
                        return isa<cu::SyncOp, cu::ClusterSyncOp, cu::CpAsyncWaitOp>(op) && op != leftOut_ ? WalkResult::interrupt()
                                                                                                           : WalkResult::advance();
                      })
                      .wasInterrupted();
    if (!orders) {
      // All rounds are of one phase: whatever any of them does is pending in each.
      for (unsigned n : inside)
        state.add(n, {accesses_.all()[n].op, {loop, false}, {loop, false}, accesses_.all()[n].async});
      if (!inside.empty())
        visit(*loop.getBody(), state);
      return;
    }
    State entry = state;
    while (!conflict_) {
      State round = state;
      visit(*loop.getBody(), round);
      State next = entry;
      next.unite(later(round, loop));
      if (state.covers(next)) {
        state.unite(round);
        return;
      }
      state.unite(next);
    }
  }

  void visitBranch(scf::IfOp branch, State &state) {
    State before = state;
    visit(*branch.thenBlock(), state);
    bool same = accesses_.threads().isUniform(branch.getCondition());
    auto addAll = [&](Block *block) {
      for (Operation &op : *block)
        for (unsigned n : accesses_.of(&op))
          state.add(n, {accesses_.all()[n].op, {}, {}, accesses_.all()[n].async});
    };
    // Where threads part, those of either side run beside the others, and have not met
    // them when both go on together.
    if (!same)
      addAll(branch.thenBlock());
    if (Block *otherwise = branch.elseBlock()) {
      if (!same)
        before.unite(state);
      visit(*otherwise, before);
      if (!same)
        addAll(otherwise);
    }
    state.unite(before);
  }

  SharedAccesses &accesses_;
  Operation *leftOut_;
  std::optional<Conflict> conflict_;
  std::set<std::pair<unsigned, unsigned>> unordered_;
};

class BarrierPlacement {
public:
  explicit BarrierPlacement(cu::KernelOp kernel) : kernel_(kernel), accesses_(kernel) {}

  LogicalResult run() {
    if (failed(checkGiven()))
      return failure();
    if (failed(placeMissing()))
      return failure();
    dropRedundant();
    nameThreads();
    return success();
  }

private:
  /// A barrier stands where whole warps come together.
  LogicalResult checkGiven() {
    WalkResult result = kernel_.walk([&](cu::SyncOp sync) {
      const llvm::BitVector *threads = accesses_.threads().together(sync->getBlock());
      if (threads && ThreadSets::isWarps(*threads))
        return WalkResult::advance();
      sync.emitOpError() << "stands where not all threads of a warp arrive together";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// Places what is missing, op by op of the kernel: what a barrier changes lies behind it.
  LogicalResult placeMissing() {
    State state;
    Block &block = kernel_.getBlock();
    for (Block::iterator at = block.begin(); at != block.end();) {
      Operation *previous = at->getPrevNode();
      State next = state;
      if (std::optional<Conflict> conflict = Walk(accesses_).findConflict(*at, next)) {
        if (failed(separate(*conflict)))
          return failure();
        at = previous ? std::next(previous->getIterator()) : block.begin(); // the barrier, if it stands here
        continue;
      }
      state = std::move(next);
      ++at;
    }
    return success();
  }

  static Operation *ancestorIn(Block *block, Operation *op) { return block->findAncestorOpInBlock(*op); }

  /// Places a barrier as late as it may stand, outside of every loop and branch that
  /// only the second access is in.
  LogicalResult separate(const Conflict &c) {
    Operation *from = c.how.since, *to = accesses_.all()[c.second].op;
    // The loop whose next round the second access is in, if it is.
    scf::ForOp around = c.how.sinceAge.loop;
    if (around && !around->isProperAncestor(to))
      around = {};
    Block *block = around ? around.getBody() : from->getBlock();
    while (!ancestorIn(block, to))
      block = block->getParentOp()->getBlock();
    auto canMeet = [&](Block *b) {
      const llvm::BitVector *threads = accesses_.threads().together(b);
      return threads && ThreadSets::isWarps(*threads);
    };
    while (!canMeet(block))
      block = block->getParentOp()->getBlock();
    Operation *before = ancestorIn(block, to);
    bool isBetween = around ? around->isProperAncestor(before) : ancestorIn(block, from) != before;
    if (!isBetween || isa_and_nonnull<cu::SyncOp>(before->getPrevNode())) {
      InFlightDiagnostic error = to->emitOpError() << "meets in shared memory what another thread does, where no barrier can stand between";
      error.attachNote(accesses_.all()[c.first].op->getLoc()) << "the other access";
      return error;
    }
    OpBuilder b(before);
    cu::SyncOp::create(b, cu::unnamed(before->getLoc()));
    return success();
  }

  /// Takes away every barrier without which nothing changes, innermost first.
  void dropRedundant() {
    std::map<int, SmallVector<cu::SyncOp>> barriers; // by depth, in program order
    kernel_.walk([&](cu::SyncOp sync) {
      if (sync.getStep())
        return;
      int depth = 0;
      for (Operation *op = sync->getParentOp(); op != kernel_; op = op->getParentOp())
        depth -= isa<scf::ForOp>(op);
      barriers[depth].push_back(sync);
    });
    Walk with(accesses_);
    State atEnd;
    for (Operation &op : kernel_.getBlock())
      (void)with.findConflict(op, atEnd);
    for (auto &[depth, list] : barriers) {
      State state; // behind the ops before `at`: they are the same with the barrier and without
      Operation *at = &kernel_.getBlock().front();
      for (cu::SyncOp sync : list) {
        for (Operation *around = ancestorIn(&kernel_.getBlock(), sync); at != around; at = at->getNextNode())
          (void)Walk(accesses_).findConflict(*at, state);
        Walk without(accesses_, sync);
        State next = state;
        Operation *op = at;
        while (op && !without.findConflict(*op, next))
          op = op->getNextNode();
        if (op || !llvm::set_is_subset(without.unordered(), with.unordered()))
          continue;
        if (at == sync)
          at = sync->getNextNode();
        sync.erase();
      }
    }
  }

  /// Barriers of a role get a number and a count.
  void nameThreads() {
    int64_t lowest = 1;
    kernel_.walk([&](cu::NamedSyncOp sync) { taken_.push_back(accesses_.ranges().at(sync.getId(), sync)); });
    SmallVector<std::pair<const llvm::BitVector *, int64_t>> named;
    SmallVector<cu::SyncOp> barriers;
    kernel_.walk([&](cu::SyncOp sync) { barriers.push_back(sync); });
    for (cu::SyncOp sync : barriers) {
      const llvm::BitVector *threads = accesses_.threads().together(sync->getBlock());
      if (threads->all())
        continue;
      auto known = llvm::find_if(named, [&](auto &n) { return *n.first == *threads; });
      if (known == named.end()) {
        while (llvm::any_of(taken_, [&](Range r) { return r.low <= lowest && lowest <= r.high; }))
          ++lowest;
        named.push_back({threads, lowest++});
        known = named.end() - 1;
      }
      OpBuilder b(sync);
      Value id = arith::ConstantIndexOp::create(b, sync.getLoc(), known->second);
      cu::NamedSyncOp::create(b, sync.getLoc(), id, threads->count());
      sync.erase();
    }
  }

  cu::KernelOp kernel_;
  SharedAccesses accesses_;
  SmallVector<Range> taken_; ///< numbers of barriers in use
};

struct CuBarriersPass : impl::CuBarriersBase<CuBarriersPass> {
  void runOnOperation() override {
    if (failed(BarrierPlacement(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
