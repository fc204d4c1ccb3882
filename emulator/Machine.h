// The emulated device during one launch: blocks, warps, threads as fibers, the
// scheduler, and the checks on every access. Internal to emulator/. A Machine
// lives on one OS thread; `Machine::current()` is the one that runs there.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "emulator/Clocks.h"
#include "emulator/Emulator.h"
#include "emulator/Fiber.h"
#include "emulator/HostCompiler.h"
#include "emulator/Shadow.h"
#include "emulator/TensorMap.h"

namespace kernelc::emulator {

struct Block;
struct Domain;
class Machine;

/// An asynchronous stand-in of one thread or warpgroup: its clock counts groups.
struct Agent {
  uint16_t index = 0;  ///< 0: not allocated (agent 0 is a thread)
  uint32_t issued = 0; ///< clock of the group being issued is issued + 1
  uint32_t done = 0, fenced = 0;
};

struct PendingCopy {
  unsigned char *dst;
  unsigned bytes;
  unsigned char data[16];
};

/// A wgmma issued and not yet executed, as one thread sees it.
struct WgmmaOp {
  kce::WgmmaArgs args;
  uint32_t a[4] = {};
  uint32_t pc = 0;
};
/// A TMA transfer between issue and completion.
struct TmaOp {
  PackedTensorMap map;
  int coords[5] = {};
  Block *block = nullptr;   ///< whose shared memory
  size_t offset = 0;        ///< in it
  size_t barrier = 0;       ///< load: offset of the mbarrier in the same block
  uint32_t sequence = 0;    ///< load: clock of the mbarrier's agent
  bool reduceAdd = false;
  Party issuer;
};

struct Thread {
  enum Status : uint8_t { Ready, Waiting, Done };
  Machine *machine = nullptr;
  Block *block = nullptr;
  unsigned linear = 0;  ///< in the block
  uint16_t agent = 0;   ///< in the domain
  kce::Dim3 index{};
  Status status = Ready;
  boost::context::detail::fcontext_t context = nullptr;
  char *stack = nullptr;
  // What it waits for, for the deadlock report.
  std::string (*describeWait)(const Thread &) = nullptr;
  uint64_t waitArg = 0;
  uint32_t waitPc = 0;
  // Logical time.
  ClocksRef clocks;
  uint32_t clock = 1, fencedClock = 0;
  ClocksRef released;       ///< snapshot at the last fence: what an atomic publishes
  std::shared_ptr<Clocks> pendingAcquire; ///< read by atomics, known after the next fence
  // Asynchronous work.
  Agent copyAgent, bulkAgent, storeAgent; ///< cp.async; TMA stores: source reads, global writes
  std::vector<PendingCopy> openCopies;
  std::deque<std::vector<PendingCopy>> copyGroups;
  std::vector<TmaOp> openStores;
  std::deque<std::vector<TmaOp>> storeGroups;
  unsigned storesRead = 0;  ///< leading groups whose source has been read already
  std::vector<WgmmaOp> openWgmma;
  std::deque<std::vector<WgmmaOp>> wgmmaGroups;
  std::vector<std::pair<uintptr_t, size_t>> accumulators; ///< register arrays any wgmma wrote
  bool wgmmaFenceNeeded = true;
  int registers = 0;        ///< by setmaxnreg
  uint64_t clusterPhase = 0; ///< that its last arrival counted for
  std::shared_ptr<Clocks> clusterReleased; ///< by the last complete phase
  std::unordered_map<uint64_t, uint32_t> passed; ///< places since the last synchronisation
  kce::WarpArgs *warpArgs = nullptr;
  uint32_t warpPc = 0;
};

/// A warp operation for which lanes are still missing.
struct WarpGroup {
  kce::WarpOp op;
  unsigned mask = 0, arrived = 0;
};
/// One warp-wide memory request being collected from its lanes.
struct Request {
  uint32_t pc = 0;
  bool shared = false;
  unsigned size = 0, mask = 0;
  uintptr_t address[32];
};
struct Warp {
  std::unordered_map<uint64_t, Request> requests; ///< by place and how often it was passed
  unsigned existing = 0, exited = 0;
  unsigned first = 0; ///< linear index of lane 0
  std::vector<WarpGroup> open;
};

struct NamedBarrier {
  unsigned expected = 0, arrivals = 0;
  uint32_t pc = 0;
  std::vector<Thread *> waiting;
  std::shared_ptr<Clocks> released; ///< by those who arrived without waiting
  int predicateSum = 0;
};

struct Mbarrier {
  unsigned count = 0, pending = 0;
  int64_t bytes = 0; ///< announced and not yet delivered
  uint64_t phase = 0;
  Agent agent;       ///< of the TMA loads that complete on it
  std::shared_ptr<Clocks> released; ///< by the arrivals of this phase
  ClocksRef completed;              ///< of the last complete phase
  ClocksRef joinedFrom, joinedTo;   ///< the last join of a waiter, which many share
  std::vector<Thread *> waiting;
  const Thread *initialiser = nullptr;
  bool initFenced = false;
};
/// Four warps that issue wgmma together.
struct Warpgroup {
  Agent agent;
  std::vector<Thread *> waiting;
  int pending = 0;
};

struct Block {
  Domain *domain = nullptr;
  int64_t linear = 0;
  kce::Dim3 index{};
  unsigned rank = 0; ///< in the cluster
  unsigned char *shared = nullptr;
  std::vector<uint8_t> sharedInit; ///< one per byte; 0 = never written
  std::unique_ptr<Shadow> shadow;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Warp> warps;
  NamedBarrier barriers[16];
  std::map<size_t, Mbarrier> mbarriers; ///< by offset
  std::vector<Warpgroup> warpgroups;
  int64_t spareRegisters = 0;
  std::vector<Thread *> waitingForRegisters;
  unsigned live = 0, exited = 0;
};

/// The blocks that share one logical time: a cluster, usually of one block.
struct Domain {
  uint32_t id = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  unsigned agents = 0; ///< allocated so far; threads come first
  std::vector<std::string> agentNames; ///< of those after the threads
  unsigned live = 0;
  NamedBarrier cluster;
  uint64_t clusterPhase = 1;
};

/// Who makes an access, and with whose knowledge.
struct Actor {
  Thread *thread = nullptr; ///< its clocks decide what happened before
  uint16_t agent = 0;
  uint16_t flags = 0;       ///< Stamp::Flags
  uint32_t clock = 0;
  uint32_t pc = 0;
  uint32_t atomic = 0; ///< number of the atomic
};

class Machine {
public:
  Machine(LoadedText &text, const kce::Entry &entry, const LaunchSpec &spec, const EmulatorOptions &options);
  ~Machine();
  Report run();
  static Machine *current();
  Thread &self() { return *running_; }

  // -- scheduling
  void makeReady(Thread &t);
  /// Leaves the running fiber, which someone must make ready again.
  void block(std::string (*describe)(const Thread &), uint64_t arg, const void *pc);
  void yield();
  void outOfSteps(const void *pc);
  /// Ends the launch; never returns to the fiber.
  [[noreturn]] void abandon();

  // -- accesses (Access.cpp)
  void hookAccess(const void *p, size_t size, unsigned access, const void *pc);
  /// Checks and records; false if the bytes must not be touched.
  bool access(const Actor &who, const void *p, size_t size, bool aligned);
  Actor actor(Thread &t, bool write, uint32_t pc, bool atomic = false);
  /// `p` lies in the shared memory of a live block of t's domain.
  Block *sharedBlockOf(const Thread &t, const void *p, size_t size);

  // -- counts (Requests.cpp)
  void countRequest(Thread &t, uint32_t pc, const void *p, size_t size);
  void countMatrix(uint32_t pc, const uintptr_t *rows, bool first);
  void settleRequests(Block &block, Warp &warp);
  void settleRequest(const Request &r);

  // -- logical time (Machine.cpp)
  bool ordered(const Thread &t, const Stamp &s, uintptr_t address) const;
  bool fencedBefore(const Thread &t, const Stamp &s) const;
  /// The knowledge of `t` with its own entries put in.
  void contribute(const Thread &t, Clocks &into) const;
  ClocksRef join(const std::vector<Thread *> &threads, const Clocks *extra);
  void acquire(Thread &t, const Clocks &what);
  void allocateAgent(Thread &t, Agent &agent, const char *name);
  const Agent *wgmmaAgent(const Thread &t) const;
  void fenceMbarriers(Thread &t);
  void fence(Thread &t, int scope);
  void atomicOrder(Thread &t, const void *p, size_t size, bool reads, bool writes);

  // -- operations
  void barrier(int id, int threads, bool wait, int predicate, const void *pc);
  unsigned lastBarrierVote(unsigned mode);
  void warpOp(kce::WarpOp op, kce::WarpArgs *args, const void *pc);
  void runWarpOp(Block &block, Warp &warp, const WarpGroup &group);
  void matrixOp(Block &block, Warp &warp, kce::WarpOp op);
  void mmaOp(Block &block, Warp &warp);
  uint64_t atomic(kce::AtomicOp op, kce::ScalarKind kind, void *p, uint64_t operand, uint64_t compare,
                  const void *pc);
  void cpAsync(void *dst, const void *src, unsigned bytes, unsigned srcBytes, const void *pc);
  void cpAsyncCommit();
  void cpAsyncWait(int pending);
  void mbarrierInit(void *bar, unsigned count, const void *pc);
  void mbarrierArrive(void *bar, int cta, unsigned bytes, bool expect, const void *pc);
  void mbarrierWait(void *bar, unsigned parity, const void *pc);
  void tmaLoad(int rank, void *dst, const void *map, const int *coords, void *bar, unsigned multicast,
               const void *pc);
  void tmaStore(int rank, const void *map, const void *src, const int *coords, bool reduceAdd, const void *pc);
  void tmaCommit();
  void tmaWait(int pending, bool readOnly);
  void wgmma(const kce::WgmmaArgs &args, const void *pc);
  void wgmmaFence() { self().wgmmaFenceNeeded = false; }
  void wgmmaCommit();
  void wgmmaWait(int pending, const void *pc);
  void setMaxRegisters(int count, bool increase, const void *pc);
  void clusterBarrier(bool arrive, bool wait, const void *pc);
  void *mapShared(void *p, unsigned cta, const void *pc);

  // -- findings (MachineReport.cpp)
  Party party(const Thread &t, std::string what, uint32_t pc);
  Party party(const Stamp &s);
  void report(FindingKind kind, std::string message, Party first, Party second = {});
  uint32_t offsetOf(const void *pc) const { return uint32_t(uintptr_t(pc) - text_.imageBase()); }
  CodeLocation locate(uint32_t pc);
  static std::string describe(const Party &p);
  bool checks() const { return options_.checks; }
  Counts &counts() { return report_.counts; }
  int64_t sharedBytes() const { return spec_.sharedBytes; }
  unsigned blockThreads() const { return blockThreads_; }
  uint64_t stepsSoFar() const { return stepsUsed_ + slice_ - uint64_t(state_.steps); }

private:
  friend void enterFiber(boost::context::detail::transfer_t);
  struct Region {
    uintptr_t base = 0;
    size_t bytes = 0;
    const GlobalBuffer *buffer = nullptr;
    std::unique_ptr<Shadow> shadow;
  };
  void admitDomain();
  void retire(Thread &t);
  void closeDomain(Domain &domain);
  [[noreturn]] void fail(FindingKind kind, std::string message, const char *what, uint32_t pc);
  // Mbarrier.cpp
  Mbarrier &mbarrierAt(void *bar, int cta, const char *what, uint32_t pc, Block **owner, size_t *offset);
  void mbarrierStep(Block &block, Mbarrier &bar);
  void finishMbarriers(Domain &domain);
  // Tma.cpp
  PackedTensorMap readTensorMap(const void *map, int rank, const char *what, uint32_t pc);
  void checkTransfer(const TmaOp &op, const Actor &global, const Actor &shared);
  void completeLoad(size_t index);
  void completeStore(const TmaOp &op);
  // Wgmma.cpp
  void checkOperand(Thread &t, uintptr_t at, size_t size, bool write, const void *pc);
  void runWgmma(Block &block, unsigned warpgroup, size_t index);
  void checkWgmmaOperand(Thread &t, const WgmmaOp &op, bool isA);
  bool happenedBefore(const Actor &who, const Stamp &s, uintptr_t address, const char *what, size_t at);
  void switchTo(Thread &t);
  Thread *pickReady();
  void reportStuck(FindingKind kind);
  Region *regionOf(const void *p);
  void accessShared(const Actor &who, Block &block, size_t offset, size_t size);
  void accessGlobal(const Actor &who, Region &region, size_t offset, size_t size);
  void reportConflict(const Actor &who, const Stamp &other, const std::string &where);
  void reportOutside(const Actor &who, const void *p, size_t size);
  std::string reportKey(FindingKind kind, const Party &a, const Party &b) const;

  LoadedText &text_;
  const kce::Entry &entry_;
  const LaunchSpec &spec_;
  const EmulatorOptions &options_;
  kce::State &state_;
  Report report_;
  std::map<std::string, size_t> findingIndex_;
  std::unordered_map<uint32_t, CodeLocation> locations_;
  std::vector<void *> args_;

  StackPool stacks_;
  std::vector<unsigned char *> freeShared_, allShared_;
  size_t sharedMapping_ = 0;
  std::vector<std::unique_ptr<Domain>> live_;
  std::deque<TmaOp> loads_; ///< issued, not complete
  int64_t domainCount_ = 0, nextDomain_ = 0;
  unsigned blockThreads_ = 0;
  std::deque<Thread *> ready_;
  std::mt19937_64 random_;
  Thread *running_ = nullptr;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  bool abandoned_ = false;
  uint64_t stepsUsed_ = 0, slice_ = 0, idleYields_ = 0;

  std::vector<Region> regions_; ///< by address
  Region *lastRegion_ = nullptr;
  std::unordered_map<const void *, std::shared_ptr<Clocks>> atomics_; ///< what was published where
  uint32_t atomicCount_ = 0;
  std::map<std::pair<uint32_t, bool>, AccessSite> sites_;
};

const kce::Api &hostApi();

} // namespace kernelc::emulator
