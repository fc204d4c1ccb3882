// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scheduling. Blocks are admitted in launch order; the next one
// starts when those before it have ended or only spin, so that kernels whose
// blocks wait for earlier ones (tickets, split-K, persistent) run to their end.
#include "emulator/Machine.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "support/Interrupt.h"

namespace kernelc::emulator {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

static thread_local Machine *currentMachine = nullptr;
Machine *Machine::current() { return currentMachine; }

namespace {
constexpr uint64_t kSlice = 50'000;        // basic blocks between two looks at the budget
constexpr size_t kSharedGuard = 64 * 1024; // unmapped, beyond the block's shared memory
size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }
} // namespace

Machine::Machine(LoadedText &text, const kce::Entry &entry, const LaunchSpec &spec, const EmulatorOptions &options)
    : text_(text), entry_(entry), spec_(spec), options_(options), state_(*text.module().state), random_(options.seed) {
  report_.seed = options.seed;
  blockThreads_ = spec.block[0] * spec.block[1] * spec.block[2];
  int64_t blocks = int64_t(spec.grid[0]) * spec.grid[1] * spec.grid[2];
  domainCount_ = options.onlyClusters.empty() ? blocks / spec.cluster : int64_t(options.onlyClusters.size());
  // A device promises no order of blocks: a random schedule has one of its own.
  constexpr int64_t kMostShuffled = 1 << 20;
  if (options.seed && options.onlyClusters.empty() && domainCount_ <= kMostShuffled) {
    order_.resize(size_t(domainCount_));
    for (int64_t i = 0; i < domainCount_; i++) {
      size_t at = size_t(random_() % uint64_t(i + 1));
      order_[size_t(i)] = order_[at];
      order_[at] = i;
    }
  }
  for (unsigned i = 0; i < entry.count; i++)
    hasTensorMaps_ |= entry.sizes[i] == PackedTensorMap::kParameterBytes; // nothing else is as large
  for (const std::vector<uint8_t> &a : spec.args)
    args_.push_back(const_cast<uint8_t *>(a.data()));
  for (const GlobalBuffer &b : spec.buffers) {
    Region r;
    r.base = reinterpret_cast<uintptr_t>(b.base);
    r.bytes = b.bytes;
    r.buffer = &b;
    if (b.writable && options.checks)
      r.shadow = std::make_unique<Shadow>(b.bytes + 4);
    regions_.push_back(std::move(r));
  }
  std::sort(regions_.begin(), regions_.end(), [](const Region &a, const Region &b) { return a.base < b.base; });
  sharedMapping_ = roundUp(std::max<int64_t>(spec.sharedBytes, 1), 4096);
  state_ = kce::State();
  state_.blockDim = {spec.block[0], spec.block[1], spec.block[2]};
  state_.gridDim = {spec.grid[0], spec.grid[1], spec.grid[2]};
  state_.clusterSize = spec.cluster;
  state_.switches = options.switches.data();
  *text.module().api = &hostApi();
}

Machine::~Machine() {
  for (unsigned char *s : allShared_)
    ::munmap(s - kSharedGuard, sharedMapping_ + 2 * kSharedGuard);
}

// -- fibers

void enterFiber(transfer_t from) {
  auto *t = static_cast<Thread *>(from.data);
  Machine &m = *t->machine;
  m.scheduler_ = from.fctx;
  m.entry_.call(m.args_.data());
  m.retire(*t);
  jump_fcontext(m.scheduler_, nullptr);
}

void Machine::admitDomain() {
  auto domain = std::make_unique<Domain>();
  domain->id = uint32_t(nextDomain_);
  for (unsigned rank = 0; rank < spec_.cluster; rank++) {
    auto block = std::make_unique<Block>();
    int64_t number = !order_.empty()                 ? order_[size_t(nextDomain_)]
                     : options_.onlyClusters.empty() ? nextDomain_
                                                     : options_.onlyClusters[size_t(nextDomain_)];
    int64_t linear = number * spec_.cluster + rank;
    block->domain = domain.get();
    block->linear = linear;
    block->rank = rank;
    block->index = {unsigned(linear % spec_.grid[0]), unsigned(linear / spec_.grid[0] % spec_.grid[1]),
                    unsigned(linear / spec_.grid[0] / spec_.grid[1])};
    if (freeShared_.empty()) {
      // Guard pages around it: what a helper touches beyond its block must fault.
      char *m = static_cast<char *>(
          ::mmap(nullptr, sharedMapping_ + 2 * kSharedGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      ::mprotect(m + kSharedGuard, sharedMapping_, PROT_READ | PROT_WRITE);
      allShared_.push_back(reinterpret_cast<unsigned char *>(m + kSharedGuard));
      freeShared_.push_back(allShared_.back());
    }
    block->shared = freeShared_.back();
    freeShared_.pop_back();
    std::memset(block->shared, 0xdb, sharedMapping_); // NaN-like: stale values must not look right
    if (checks()) {
      block->sharedInit.assign(size_t(spec_.sharedBytes) + 16, 0);
      block->shadow = std::make_unique<Shadow>(size_t(spec_.sharedBytes) + 4);
    }
    block->warps.resize((blockThreads_ + 31) / 32);
    for (unsigned w = 0; w < block->warps.size(); w++) {
      unsigned lanes = std::min(32u, blockThreads_ - w * 32);
      block->warps[w].existing = lanes == 32 ? ~0u : (1u << lanes) - 1;
      block->warps[w].first = w * 32;
    }
    block->warpgroups.resize(blockThreads_ / 128);
    block->live = blockThreads_;
    domain->live += blockThreads_;
    domain->blocks.push_back(std::move(block));
  }
  domain->agents = spec_.cluster * blockThreads_;
  auto none = std::make_shared<const Clocks>();
  for (auto &block : domain->blocks)
    for (unsigned i = 0; i < blockThreads_; i++) {
      auto t = std::make_unique<Thread>();
      t->machine = this;
      t->block = block.get();
      t->linear = i;
      t->agent = uint16_t(block->rank * blockThreads_ + i);
      t->index = {i % spec_.block[0], i / spec_.block[0] % spec_.block[1], i / spec_.block[0] / spec_.block[1]};
      t->clocks = none;
      t->registers = std::min<int>(65536 / int(std::max(1u, entry_.minBlocks)) / int(roundUp(blockThreads_, 32)) / 8 * 8, 256);
      t->stack = stacks_.take();
      t->context = make_fcontext(t->stack + StackPool::kBytes, StackPool::kBytes, enterFiber);
      ready_.push_back(t.get());
      block->threads.push_back(std::move(t));
    }
  live_.push_back(std::move(domain));
  nextDomain_++;
}

void Machine::switchTo(Thread &t) {
  running_ = &t;
  state_.stackLow = reinterpret_cast<uintptr_t>(t.stack);
  state_.stackSize = StackPool::kBytes;
  state_.shared = t.block->shared;
  state_.thread = t.index;
  state_.block = t.block->index;
  state_.clusterRank = t.block->rank;
  state_.watchStack = t.registerWrites.isOn();
  transfer_t back = jump_fcontext(t.context, &t);
  t.context = back.fctx;
  running_ = nullptr;
}

void Machine::makeReady(Thread &t) {
  t.status = Thread::Ready;
  t.describeWait = nullptr;
  idleYields_ = 0;
  ready_.push_back(&t);
}

void Machine::block(std::string (*describe)(const Thread &), uint64_t arg, const void *pc) {
  Thread &t = self();
  t.status = Thread::Waiting;
  t.describeWait = describe;
  t.waitArg = arg;
  t.waitPc = offsetOf(pc);
  scheduler_ = jump_fcontext(scheduler_, nullptr).fctx;
}

void Machine::yield() {
  ready_.push_back(running_);
  idleYields_++;
  scheduler_ = jump_fcontext(scheduler_, nullptr).fctx;
}

void Machine::outOfSteps(const void *pc) {
  stepsUsed_ += slice_;
  slice_ = kSlice;
  state_.steps = int64_t(kSlice);
  if (!running_)
    return;
  if (stepsUsed_ > options_.stepBudget) {
    report(FindingKind::StepBudget, absl::StrCat("the kernel did not end within its step budget of ", options_.stepBudget, " basic blocks"),
           party(*running_, "running", offsetOf(pc)));
    reportStuck(FindingKind::StepBudget);
    abandon();
  }
  yield(); // a loop that waits for another thread must let it run
}

void Machine::abandon() {
  abandoned_ = true;
  jump_fcontext(scheduler_, nullptr);
  __builtin_unreachable();
}

Thread *Machine::pickReady() {
  size_t i = options_.seed ? random_() % ready_.size() : 0;
  if (i)
    std::swap(ready_[i], ready_.front());
  Thread *t = ready_.front();
  ready_.pop_front();
  return t;
}

Report Machine::run() {
  currentMachine = this;
  state_.steps = int64_t(slice_ = kSlice);
  // Random schedules start with as many blocks as the device holds at once.
  const size_t window = size_t(std::max(1, options_.smCount / int(spec_.cluster)));
  for (uint64_t turn = 1; !abandoned_; turn++) {
    if (turn % 64 == 0 && isInterrupted())
      break;
    if (ready_.empty() && live_.empty() && nextDomain_ == domainCount_)
      break;
    bool spinning = idleYields_ > 8 * ready_.size() + 64;
    size_t wanted = options_.seed ? window : 1;
    if (nextDomain_ < domainCount_ && (live_.size() < wanted || ((ready_.empty() || spinning) && live_.size() < window))) {
      idleYields_ = 0;
      admitDomain();
      continue;
    }
    // The async engine: transfers finish when nobody can run, or, under a seed, whenever.
    if (!loads_.empty() && (ready_.empty() || spinning || (options_.seed && random_() % 16 == 0))) {
      completeLoad(options_.seed ? random_() % loads_.size() : 0);
      idleYields_ = 0;
      continue;
    }
    if (!copyArrivals_.empty() && (ready_.empty() || spinning || (options_.seed && random_() % 16 == 0))) {
      completeCopyArrival(options_.seed ? random_() % copyArrivals_.size() : 0);
      idleYields_ = 0;
      continue;
    }
    if (!early_.empty() && random_() % 16 == 0) {
      doEarlyWork();
      continue;
    }
    if (ready_.empty()) {
      reportStuck(FindingKind::Deadlock);
      break;
    }
    switchTo(*pickReady());
    if (!abandoned_ && !live_.empty())
      for (size_t i = 0; i < live_.size(); i++)
        if (live_[i]->live == 0) {
          closeDomain(*live_[i]);
          live_.erase(live_.begin() + i);
          break;
        }
  }
  for (auto &d : live_)
    for (auto &b : d->blocks)
      for (auto &t : b->threads)
        stacks_.give(t->stack);
  live_.clear();
  *text_.module().api = nullptr;
  stepsUsed_ += slice_ - uint64_t(std::max<int64_t>(0, state_.steps));
  report_.steps = stepsUsed_;
  for (auto &[place, site] : sites_) {
    site.where = locate(place.first);
    report_.sites.push_back(site);
  }
  currentMachine = nullptr;
  return std::move(report_);
}

void Machine::retire(Thread &t) {
  auto isNobodys = [&](const PendingCopy &copy) { return copy.clock > t.toldCopies; };
  bool copies = std::any_of(t.openCopies.begin(), t.openCopies.end(), isNobodys);
  for (const CopyGroup &group : t.copyGroups)
    copies |= std::any_of(group.copies.begin(), group.copies.end(), isNobodys);
  if (checks() && copies)
    report(FindingKind::LostAsyncWork, "the thread ended with cp.async copies it never waited for", party(t, "exit", t.warpPc));
  if (checks() && (!t.openStores.empty() || t.storeGroups.size() > t.storesRead))
    report(FindingKind::LostAsyncWork, "the thread ended with TMA stores whose source it never waited for",
           (t.openStores.empty() ? t.storeGroups.back() : t.openStores).back().issuer);
  if (checks() && (!t.openWgmma.empty() || !t.wgmmaGroups.empty()))
    report(FindingKind::LostAsyncWork, "the thread ended with wgmma it never waited for", party(t, "exit", t.warpPc));
  for (auto &group : t.storeGroups)
    for (Transfer &op : group)
      completeStore(op);
  t.status = Thread::Done;
  Warp &warp = t.block->warps[t.linear / 32];
  warp.exited |= 1u << (t.linear % 32);
  for (const WarpGroup &g : warp.open)
    if (g.mask & (1u << (t.linear % 32)))
      reportStuck(FindingKind::BarrierDivergence), abandon();
  t.block->live--;
  t.block->exited++;
  t.block->domain->live--;
  idleYields_ = 0;
}

void Machine::closeDomain(Domain &domain) {
  std::erase_if(early_, [&](const EarlyWork &work) { return work.thread->block->domain == &domain; });
  std::erase_if(copyArrivals_, [&](const CopyArrival &arrival) { return arrival.thread->block->domain == &domain; });
  finishMbarriers(domain);
  if (checks())
    checkRemote(domain);
  if (options_.counts)
    for (auto &b : domain.blocks)
      for (Warp &w : b->warps)
        settleRequests(*b, w);
  for (auto &b : domain.blocks) {
    for (auto &t : b->threads)
      stacks_.give(t->stack);
    freeShared_.push_back(b->shared);
    std::erase_if(atomics_, [&](const auto &entry) { return uintptr_t(entry.first) - uintptr_t(b->shared) < sharedMapping_; });
  }
}

} // namespace kernelc::emulator
