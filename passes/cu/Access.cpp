// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/Access.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {

namespace {

int64_t bytesOf(Value memory) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  return element.isIndex() ? 8 : std::max(8u, element.getIntOrFloatBitWidth()) / 8;
}

bool isDefinedIn(Value v, Operation *op) {
  Operation *def = v.getDefiningOp();
  return op->isAncestor(def ? def : v.getParentBlock()->getParentOp());
}

} // namespace

SharedAccesses::SharedAccesses(cu::KernelOp kernel) : kernel_(kernel), ranges_(kernel), threads_(kernel) {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { collect(op); });
  // Boxes, and copies that an mbarrier tells of, come and go under the rules of their mbarriers and groups, what other blocks write under
  // the cluster's barrier.
  auto touchesBox = [](Operation *op, Value memory) {
    if (auto load = dyn_cast<cu::TmaLoadOp>(op))
      return load.getTarget() == memory;
    if (auto copy = dyn_cast<cu::CpAsyncOp>(op))
      return copy.getSignalled() && copy.getTarget() == memory;
    if (auto store = dyn_cast<cu::ClusterStoreOp>(op))
      return store.getDestination() == memory;
    return isa<cu::TmaStoreOp>(op);
  };
  std::vector<SharedAccess> boxes;
  llvm::copy_if(accesses_, std::back_inserter(boxes), [&](const SharedAccess &a) { return touchesBox(a.op, a.memory); });
  auto inBox = [&](const SharedAccess &a) { return llvm::any_of(boxes, [&](const SharedAccess &box) { return overlap(a, box); }); };
  std::vector<bool> ordered;
  for (const SharedAccess &a : accesses_)
    ordered.push_back(cu::spaceOf(a.memory) != cu::Shared || inBox(a));
  for (auto [a, is] : llvm::zip(accesses_, ordered))
    a.isOrdered = is;
  peers_.resize(accesses_.size());
  for (unsigned i = 0; i < accesses_.size(); ++i) {
    for (Operation *op = accesses_[i].op; op != kernel_; op = op->getParentOp())
      byOp_[op].push_back(i);
    for (unsigned j = 0; j < accesses_.size(); ++j)
      if ((accesses_[i].kind != accesses_[j].kind || accesses_[i].kind == SharedAccess::Write) && overlap(accesses_[i], accesses_[j]))
        peers_[i].push_back(j);
  }
}

void SharedAccesses::add(Operation *op, SharedAccess::Kind kind, Value memory, ValueRange indices, int64_t width, bool async) {
  if (cu::spaceOf(memory) == cu::Shared || cu::spaceOf(memory) == cu::Global)
    accesses_.push_back({op, kind, memory, indices.size() == 1 ? indices[0] : Value(), width, async, false});
}

void SharedAccesses::collect(Operation *op) {
  using A = SharedAccess;
  auto matrix = [](Value memory) { return std::max<int64_t>(1, 16 / bytesOf(memory)); }; // one row of 16 bytes a lane
  auto readDescribed = [&](Value descriptor) {                                           // by the product, wherever the descriptor is made
    while (auto advance = descriptor.getDefiningOp<cu::DescAdvanceOp>())
      descriptor = advance.getDescriptor();
    if (auto made = descriptor.getDefiningOp<cu::SmemDescOp>())
      add(op, A::Read, made.getSource(), {}, 0);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<memref::LoadOp>([&](auto o) { add(o, A::Read, o.getMemRef(), o.getIndices(), 1); })
      .Case<memref::StoreOp>([&](auto o) { add(o, A::Write, o.getMemRef(), o.getIndices(), 1); })
      .Case<cu::LookOp>([&](auto o) { add(o, A::Read, o.getTable(), {}, 0); }) // of what data says
      .Case<cu::WriteOnceOp>([&](auto o) { add(o, A::Write, o.getBase(), o.getIndices(), 1); })
      .Case<cu::TakeNumberOp, cu::TellOp, cu::AskOp>([&](auto o) { add(o, A::Signal, o.getBase(), o.getIndex(), 1); })
      .Case<cu::AtomicOp>([&](auto o) { add(o, A::Signal, o.getBase(), o.getIndices(), 1); }) // in order with each other
      .Case<cu::AddVectorOp>([&](auto o) { add(o, A::Signal, o.getTarget(), o.getTargetIndices(), o.getCount()); })
      .Case<cu::CopyOp>([&](auto o) {
        add(o, A::Read, o.getSource(), o.getSourceIndices(), o.getCount());
        add(o, A::Write, o.getTarget(), o.getTargetIndices(), o.getCount());
      })
      .Case<cu::CpAsyncOp>([&](auto o) {
        add(o, A::Read, o.getSource(), o.getSourceIndices(), o.getCount());
        add(o, A::Write, o.getTarget(), o.getTargetIndices(), o.getCount(), /*async=*/!o.getSignalled());
      })
      .Case<cu::LdmatrixOp>([&](auto o) { add(o, A::Read, o.getSource(), o.getSourceIndices(), matrix(o.getSource())); })
      .Case<cu::StmatrixOp>([&](auto o) { add(o, A::Write, o.getTarget(), o.getTargetIndex(), matrix(o.getTarget())); })
      .Case<cu::GatherOp>([&](cu::GatherOp o) {
        for (Value e : o.getElements())
          add(o, A::Read, o.getSource(), e, 1);
      })
      .Case<cu::MbarrierInitOp>([&](auto o) { add(o, A::Write, o.getBarrier(), o.getIndex(), 1); })
      .Case<cu::MbarrierExpectOp, cu::MbarrierArriveOp, cu::MbarrierArriveCopiesOp, cu::MbarrierWaitOp>(
          [&](auto o) { add(o, A::Signal, o.getBarrier(), o.getIndex(), 1); })
      .Case<cu::TmaLoadOp>([&](auto o) {
        add(o, A::Write, o.getTarget(), {}, 0);
        add(o, A::Signal, o.getBarrier(), o.getBarrierIndex(), 1);
      })
      .Case<cu::TmaStoreOp>([&](auto o) { add(o, A::Read, o.getSource(), {}, 0); })
      .Case<cu::ClusterLoadOp>([&](auto o) { add(o, A::Read, o.getSource(), {}, 0); }) // of any block's
      .Case<cu::ClusterStoreOp>([&](auto o) { add(o, A::Write, o.getDestination(), {}, 0); })
      .Case<cu::SmemDescOp>([](auto) {})
      .Case<cu::WgmmaOp>([&](auto o) {
        readDescribed(o.getA());
        readDescribed(o.getB());
      })
      .Case<cu::WgmmaRegistersOp>([&](auto o) { readDescribed(o.getB()); })
      .Default([&](Operation *o) {
        for (Value v : o->getOperands())
          if (isa<MemRefType>(v.getType()))
            add(o, A::Write, v, {}, 0); // not known: the worst
      });
}

bool SharedAccesses::overlap(const SharedAccess &a, const SharedAccess &b) {
  if (cu::spaceOf(a.memory) != cu::spaceOf(b.memory))
    return false;
  auto first = a.memory.getDefiningOp<cu::SharedOp>(), second = b.memory.getDefiningOp<cu::SharedOp>();
  if (!first || !second)
    return a.memory == b.memory; // parameters are __restrict__
  auto end = [](cu::SharedOp s) {
    return int64_t(s.getOffset()) + cast<MemRefType>(s.getResult().getType()).getNumElements() * bytesOf(s.getResult());
  };
  return int64_t(first.getOffset()) < end(second) && int64_t(second.getOffset()) < end(first);
}

bool SharedAccesses::mayMeet(unsigned first, Age age, unsigned second) {
  auto [known, isNew] = meet_.try_emplace({first, age.loop, age.previous, second}, true);
  if (!isNew)
    return known->second;
  const SharedAccess &a = accesses_[first], &b = accesses_[second];
  llvm::BitVector both = threadsOf(first);
  both |= threadsOf(second);
  auto isOne = [&] { return first == second ? isOneThreadEach(a, age.loop) : areVersions(a, b) && isOneThreadEach(a, b, age.loop); };
  bool meet = both.count() > 1 && !isApart(a, age, b) && !isOne();
  return known->second = meet;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

LinearIndex SharedAccesses::decompose(Value v, Operation *user, bool fully) {
  // What a branch bounds has a smaller range than its parts.
  return LinearIndex::of(v, [&](Value part) { return !fully && ranges_.isGuarded(part, user); });
}

/// x - y, x as it was `age` ago and in another thread.
SharedAccesses::Difference SharedAccesses::subtract(Value x, Operation *user, Age age, Value y, Operation *other, bool fully) {
  LinearIndex a = decompose(x, user, fully), b = decompose(y, other, fully);
  Difference d{a.constant - b.constant, {}};
  for (auto [v, f] : a.terms) {
    bool isNow = !age.loop || !isDefinedIn(v, age.loop);
    if (age.loop && age.previous && v == age.loop.getInductionVar())
      if (auto step = getConstantIntValue(age.loop.getStep())) {
        d.constant -= f * *step;
        isNow = true;
      }
    auto same = llvm::find_if(b.terms, [&](auto &term) { return term.first == v; });
    if (isNow && same != b.terms.end() && threads_.isUniform(v)) {
      f -= same->second;
      b.terms.erase(same);
    }
    if (f)
      d.left.push_back({v, f, true});
  }
  for (auto [v, f] : b.terms)
    d.left.push_back({v, -f, false});
  return d;
}

/// Whether the addresses lie apart by their ranges, or in slots whose numbers differ
/// by a constant that is no multiple of the number of slots.
bool SharedAccesses::isApart(const SharedAccess &a, Age age, const SharedAccess &b) {
  if (!a.index || !b.index || bytesOf(a.memory) != bytesOf(b.memory))
    return false;
  auto baseOf = [&](const SharedAccess &s) {
    auto shared = s.memory.getDefiningOp<cu::SharedOp>();
    return shared ? int64_t(shared.getOffset()) / bytesOf(s.memory) : 0;
  };
  Difference d = subtract(a.index, a.op, age, b.index, b.op, /*fully=*/false);
  d.constant += baseOf(a) - baseOf(b);
  int64_t slot = 0;
  auto slots = [&](Value v) -> std::optional<int64_t> {
    auto rem = v.getDefiningOp<arith::RemSIOp>();
    std::optional<int64_t> count = rem ? getConstantIntValue(rem.getRhs()) : std::nullopt;
    return count.value_or(0) > 0 && threads_.isUniform(v) && ranges_.of(v).isNonNegative() ? count : std::nullopt;
  };
  for (auto &[v, f, ofFirst] : d.left) {
    if (!ofFirst || slot || !slots(v))
      continue;
    for (auto &[w, g, otherOfFirst] : d.left) {
      if (otherOfFirst || f != -g || slots(w) != slots(v))
        continue;
      Difference numbers = subtract(v.getDefiningOp()->getOperand(0), a.op, age, w.getDefiningOp()->getOperand(0), b.op, /*fully=*/true);
      if (!numbers.left.empty())
        continue;
      slot = numbers.constant % *slots(v) ? std::abs(f) : 0;
      f = g = 0;
      break;
    }
  }
  Range rest = Range::just(d.constant);
  for (auto [v, f, ofFirst] : d.left)
    if (f)
      rest = rest + ranges_.at(v, ofFirst ? a.op : b.op) * Range::just(f);
  if (slot)
    return slot + rest.low >= b.width && rest.high - slot <= -a.width;
  return rest.low >= b.width || rest.high <= -a.width;
}

/// Whether they write one memory in the two branches of one question, of which each round takes one.
bool SharedAccesses::areVersions(const SharedAccess &a, const SharedAccess &b) {
  auto branch = a.op->getParentOfType<scf::IfOp>();
  return branch && a.kind == SharedAccess::Write && b.kind == SharedAccess::Write && a.memory == b.memory && branch->isProperAncestor(b.op);
}

static bool isConstantLoop(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  return loop && getConstantIntValue(loop.getLowerBound()) && getConstantIntValue(loop.getUpperBound()) &&
         getConstantIntValue(loop.getStep()).value_or(0) > 0;
}

bool SharedAccesses::isOneThreadEach(const SharedAccess &a, scf::ForOp loop) {
  if (!loop || !a.index)
    return false;
  // Over all constant loops around at once, where that holds: then it does over each.
  scf::ForOp widest = loop;
  while (isConstantLoop(widest->getParentOp()))
    widest = cast<scf::ForOp>(widest->getParentOp());
  auto tried = [&](scf::ForOp over) {
    auto [known, isNew] = oneThreadEach_.try_emplace({a.op, over}, false);
    return isNew ? known->second = tryOut(a, over) : known->second;
  };
  return tried(widest) || (widest != loop && tried(loop));
}

namespace {

/// A loop variable of constant bounds.
struct Variable {
  int64_t from, to, step;
};

/// Calls `visit` for all values of `variables` from number `n` on, which come to stand behind the thread's in `values`.
void overValues(ArrayRef<Variable> variables, size_t n, MutableArrayRef<int64_t> values, llvm::function_ref<void()> visit) {
  if (n == variables.size())
    return visit();
  const Variable &v = variables[n];
  for (int64_t i = v.from; i < v.to; i += v.step) {
    values[1 + n] = i;
    overValues(variables, n + 1, values, visit);
  }
}

/// The loops from around `op` to `widest`, whose variables `function` has from then on; none where they have too many points for
/// `threads`, or unknown ones.
std::optional<SmallVector<Variable>> findVariables(Operation *op, scf::ForOp widest, int64_t threads, ThreadFunction &function) {
  constexpr int64_t kMostPoints = 1 << 16;
  SmallVector<Variable> variables;
  int64_t points = threads;
  do {
    op = op->getParentOp();
    auto inner = dyn_cast<scf::ForOp>(op);
    if (!inner)
      continue;
    if (!isConstantLoop(inner))
      return std::nullopt;
    Variable v{*getConstantIntValue(inner.getLowerBound()), *getConstantIntValue(inner.getUpperBound()),
               *getConstantIntValue(inner.getStep())};
    variables.push_back(v);
    function.addVariable(inner.getInductionVar());
    __int128 rounds = (__int128(v.to) - v.from + v.step - 1) / v.step;
    if (rounds > kMostPoints || points > kMostPoints)
      return std::nullopt;
    points *= std::max<int64_t>(0, int64_t(rounds));
  } while (op != widest);
  return points > kMostPoints ? std::nullopt : std::optional(variables);
}

/// Whether two threads get to elements that overlap. `visits`: address and thread.
bool meet(std::vector<std::pair<int64_t, int64_t>> visits, int64_t width) {
  llvm::sort(visits);
  for (size_t i = 1; i < visits.size(); ++i)
    if (visits[i].second != visits[i - 1].second && visits[i].first < visits[i - 1].first + width)
      return true;
  return false;
}

} // namespace

/// Which threads get where, over all rounds of `loop` and the loops in it: thread numbers and constant loops have few values.
std::optional<SharedAccesses::Visits> SharedAccesses::visitsOf(const SharedAccess &a, scf::ForOp loop) {
  ThreadFunction function;
  llvm::BitVector threads = threads_.atMost(a.op->getBlock());
  std::optional<SmallVector<Variable>> variables = findVariables(a.op, loop, threads.count(), function);
  if (!variables)
    return std::nullopt;
  LinearIndex form = decompose(a.index, a.op, /*fully=*/true);
  Visits found;
  SmallVector<std::pair<unsigned, int64_t>> terms;
  for (auto [v, f] : form.terms) {
    if (threads_.isUniform(v) && !isDefinedIn(v, loop)) {
      found.same[v.getAsOpaquePointer()] = f;
      continue;
    }
    std::optional<unsigned> place = function.compile(v);
    if (!place)
      return std::nullopt;
    terms.push_back({*place, f});
  }
  SmallVector<std::pair<unsigned, bool>> conditions; // of the branches around it, those that can be evaluated
  for (Operation *op = a.op; op != kernel_; op = op->getParentOp())
    if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp()))
      if (auto place = function.compile(branch.getCondition()))
        conditions.push_back({*place, op->getBlock() == branch.thenBlock()});
  SmallVector<int64_t> values(function.numValues());
  auto visit = [&] {
    function.evaluate(values);
    if (llvm::any_of(conditions, [&](auto &c) { return bool(values[c.first]) != c.second; }))
      return;
    int64_t address = form.constant;
    for (auto [place, f] : terms)
      address += f * values[place];
    found.places.push_back({address, values[0]});
  };
  for (unsigned t : threads.set_bits()) {
    values[0] = t;
    overValues(*variables, 0, values, visit);
  }
  return found;
}

bool SharedAccesses::tryOut(const SharedAccess &a, scf::ForOp loop) {
  std::optional<Visits> visits = visitsOf(a, loop);
  return visits && !meet(std::move(visits->places), a.width);
}

bool SharedAccesses::isOneThreadEach(const SharedAccess &a, const SharedAccess &b, scf::ForOp loop) {
  if (!loop || !a.index || !b.index)
    return false;
  std::optional<Visits> x = visitsOf(a, loop), y = visitsOf(b, loop);
  if (!x || !y || x->same != y->same)
    return false;
  llvm::append_range(x->places, y->places);
  return !meet(std::move(x->places), std::max(a.width, b.width));
}

} // namespace kernelc
