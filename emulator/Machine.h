// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emulated device during one launch: blocks, warps, threads as fibers, the
// scheduler, and the checks on every access. Internal to emulator/. A Machine
// lives on one OS thread; `Machine::current()` is the one that runs there.
#pragma once

#include <random>

#include "emulator/Emulator.h"
#include "emulator/Fiber.h"
#include "emulator/HostCompiler.h"
#include "emulator/MachineState.h"

namespace kernelc::emulator {

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

  // -- logical time (MachineClocks.cpp)
  bool ordered(const Thread &t, const Stamp &s, uintptr_t address) const;
  bool fencedBefore(const Thread &t, const Stamp &s) const;
  /// Whether the read `s`, which happened before what `t` does, is over for the async proxy too.
  bool readIsOver(const Thread &t, const Stamp &s) const;
  /// Whether `who` may stand for the read `s` on the record: `who` came after it and knows
  /// whether it is over for the async proxy.
  bool covers(const Actor &who, const Stamp &s, uintptr_t address) const;
  /// The knowledge of `t` with its own entries put in.
  void contribute(const Thread &t, Clocks &into) const;
  ClocksRef join(const std::vector<Thread *> &threads, const Clocks *extra);
  void acquire(Thread &t, const Clocks &what);
  void allocateAgent(Thread &t, Agent &agent, const char *name);
  /// What reads operands of the thread's warpgroup; 0: nothing yet.
  uint16_t wgmmaAgent(const Thread &t) const;
  void fenceMbarriers(Thread &t);
  void fence(Thread &t, int scope);
  /// What `t` knows, and what it did, up to now.
  ClocksRef snapshot(const Thread &t) const;
  void atomicOrder(Thread &t, const void *p, size_t size, bool reads, bool writes, kce::Order order);

  // -- operations
  void barrier(int id, int threads, bool wait, int predicate, const void *pc);
  unsigned lastBarrierVote(unsigned mode);
  void warpOp(kce::WarpOp op, kce::WarpArgs *args, const void *pc);
  void runWarpOp(Block &block, Warp &warp, const WarpGroup &group);
  void matrixOp(Block &block, Warp &warp, kce::WarpOp op);
  void mmaOp(Block &block, Warp &warp);
  uint64_t atomic(kce::AtomicOp op, kce::ScalarKind kind, void *p, uint64_t operand, uint64_t compare, kce::Order order, const void *pc);
  void cpAsync(void *dst, const void *src, unsigned bytes, unsigned srcBytes, const void *pc);
  void cpAsyncCommit();
  void cpAsyncWait(int pending);
  void cpAsyncArrive(void *bar, const void *pc);
  void mbarrierInit(void *bar, unsigned count, const void *pc);
  void mbarrierArrive(void *bar, int cta, unsigned bytes, bool expect, const void *pc);
  void mbarrierWait(void *bar, unsigned parity, const void *pc);
  void tmaLoad(int rank, void *dst, const void *map, const int *coords, void *bar, unsigned multicast, const void *pc);
  void tmaStore(int rank, const void *map, const void *src, const int *coords, bool reduceAdd, const void *pc);
  void tmaPrefetch(int rank, const void *map, const int *coords, const void *pc);
  void bulkPrefetch(const void *p, unsigned bytes, const void *pc);
  void tmaCommit();
  void tmaWait(int pending, bool readOnly);
  void wgmma(const kce::WgmmaArgs &args, const void *pc);
  void wgmmaFence();
  void wgmmaCommit();
  void wgmmaWait(int pending, const void *pc);
  void setMaxRegisters(int count, bool increase, const void *pc);
  void clusterBarrier(bool arrive, bool wait, const void *pc);
  void *mapShared(void *p, unsigned cta, const void *pc);
  void storeAsync(void *to, const void *value, unsigned bytes, void *bar, unsigned cta, const void *pc);

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
  Mbarrier &ownMbarrier(void *bar, const char *what, const char *instruction, uint32_t pc, size_t *offset); // of the thread's block
  void mbarrierStep(Block &block, Mbarrier &bar);
  void finishMbarriers(Domain &domain);
  // Tma.cpp
  PackedTensorMap readTensorMap(const void *map, int rank, const char *what, uint32_t pc);
  void checkRowStart(const Transfer &op, const char *what, uint32_t at);
  void checkTransfer(const Transfer &op, const Actor &global, const Actor &shared);
  /// One of the arrivals that the running phase takes; false, and a finding about `t`, if it has taken all.
  bool takeArrival(Mbarrier &bar, size_t offset, const Thread &t, const char *what, uint32_t at);
  /// Lands the copies that an mbarrier waits for, and arrives.
  void completeCopyArrival(size_t index);
  /// The mbarrier that a transfer completes on, and the agent that stands for its transfers.
  Mbarrier &beginTransfer(Transfer &op, void *bar, unsigned rank, const char *what, uint32_t at);
  void finishTransfer(const Transfer &op, size_t bytes);
  void completeLoad(size_t index);
  void completeStore(Transfer &op);
  // EarlyWork.cpp
  void noteCommitted(Thread &t, EarlyWork::Kind kind);
  void doEarlyWork();
  // DistributedShared.cpp
  void checkAlive(const Block &block, const char *what, uint32_t pc);
  void noteRemote(const Actor &who, Block &block);
  void checkRemote(Domain &domain);
  // WgmmaRegisters.cpp
  void checkRegistersA(Thread &t, const WgmmaOp &op);
  void checkOperand(Thread &t, uintptr_t at, size_t size, bool write, const void *pc);
  // Wgmma.cpp
  /// Runs one instruction of the warpgroup's group `group`, counted from the oldest.
  /// Runs the warpgroup's next group; false where a thread has not committed it.
  bool runWgmmaGroup(Block &block, unsigned warpgroup);
  /// The first thread whose instructions of the next group are others than thread 0's; 128: none.
  unsigned findOtherWgmma(Block &block, unsigned warpgroup);
  /// Whether all threads have committed the next group.
  bool isWgmmaCommitted(Block &block, unsigned warpgroup);
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
  std::deque<Transfer> loads_;           ///< issued, not complete
  std::deque<CopyArrival> copyArrivals_; ///< not there yet
  std::vector<EarlyWork> early_;         ///< under a seed
  int64_t domainCount_ = 0, nextDomain_ = 0;
  std::vector<int64_t> order_; ///< in which they are admitted; empty: that of their numbers
  unsigned blockThreads_ = 0;
  bool hasTensorMaps_ = false; ///< without one nothing writes through the async proxy
  std::deque<Thread *> ready_;
  std::mt19937_64 random_;
  Thread *running_ = nullptr;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  bool abandoned_ = false;
  uint64_t stepsUsed_ = 0, slice_ = 0, idleYields_ = 0;

  std::vector<Region> regions_; ///< by address
  Region *lastRegion_ = nullptr;
  std::unordered_map<const void *, Published> atomics_;
  uint32_t atomicCount_ = 0;
  std::map<std::pair<uint32_t, bool>, AccessSite> sites_;
};

const kce::Api &hostApi();

} // namespace kernelc::emulator
