// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the emulated device consists of during a launch: domains, blocks, warps,
// threads, barriers and work in flight. Plain state; Machine acts on it.
#pragma once

#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/Clocks.h"
#include "emulator/HostApi.h"
#include "emulator/Report.h"
#include "emulator/Shadow.h"
#include "emulator/TensorMap.h"

namespace kernelc::emulator {

struct Block;
struct Domain;
struct Thread;
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
  uint32_t clock; ///< of the thread's copy agent
  unsigned char data[16];
  bool isDone = false;
  void land() {
    if (!std::exchange(isDone, true))
      std::memcpy(dst, data, bytes);
  }
};

struct CopyGroup {
  std::vector<PendingCopy> copies;
  uint32_t clock; ///< of its last copies; groups, and what lies between arrivals on mbarriers, count it
};

/// An mbarrier's arrival that comes once a thread's copies up to `clock` are there.
struct CopyArrival {
  Thread *thread;
  uint32_t clock;
  size_t barrier; ///< its offset in the thread's block
  uint32_t pc;
};

/// Which words of a fiber's stack were written since its last wgmma.fence: registers with
/// operand A are nobody's until a wgmma names them.
class RegisterWrites {
public:
  bool isOn() const { return epoch_ != 0; }
  /// Begins, or begins anew.
  void fence() { epoch_++; }
  void note(uintptr_t at, size_t size) {
    for (uintptr_t word = at / 4; word <= (at + size - 1) / 4; word++) {
      if (word / kWords != lastPage_ || !last_) { // a thread goes on writing near where it has written
        lastPage_ = word / kWords;
        last_ = &pages_[lastPage_]; // stays where it is as others are added
      }
      (*last_)[word % kWords] = epoch_;
    }
  }
  bool any(uintptr_t at, size_t size) const {
    for (uintptr_t word = at / 4; word <= (at + size - 1) / 4; word++)
      if (auto page = pages_.find(word / kWords); page != pages_.end() && page->second[word % kWords] == epoch_)
        return true;
    return false;
  }

private:
  static constexpr size_t kWords = 64;
  uint32_t epoch_ = 0;
  std::unordered_map<uintptr_t, std::array<uint32_t, kWords>> pages_;
  uintptr_t lastPage_ = 0;
  std::array<uint32_t, kWords> *last_ = nullptr;
};

/// A wgmma issued and not yet executed, as one thread sees it.
struct WgmmaOp {
  kce::WgmmaArgs args;
  uint32_t a[4] = {};
  uint32_t pc = 0;
  uint32_t issued = 0; ///< with A in registers: the thread's clock at the issue
};
/// A tensor copy, or an st.async, between issue and completion.
struct Transfer {
  PackedTensorMap map;
  unsigned storedBytes = 0; ///< of an st.async, whose value is `stored`; else 0
  unsigned char stored[16];
  int coords[5] = {};
  Block *block = nullptr; ///< whose shared memory
  size_t offset = 0;      ///< in it
  size_t barrier = 0;     ///< load: offset of the mbarrier in the same block
  uint32_t sequence = 0;  ///< load: clock of the mbarrier's agent
  bool reduceAdd = false;
  bool isDone = false; ///< store: before its issuer's wait
  Party issuer;
};

struct Thread {
  enum Status : uint8_t { Ready, Waiting, Done };
  Machine *machine = nullptr;
  Block *block = nullptr;
  unsigned linear = 0; ///< in the block
  uint16_t agent = 0;  ///< in the domain
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
  uint32_t clock = 1, fencedClock = 0, consumedClock = 0;
  /// Snapshots at the last fence of the device and of any scope: what an atomic publishes.
  ClocksRef released, releasedNearby;
  /// Read by atomics, known after the next fence of the device, or of any scope.
  std::shared_ptr<Clocks> pendingAcquire, pendingNearby;
  // Asynchronous work.
  Agent copyAgent, bulkAgent, storeAgent; ///< cp.async; TMA stores: source reads, global writes
  std::vector<PendingCopy> openCopies;
  std::deque<CopyGroup> copyGroups;
  uint32_t toldCopies = 0; ///< clock of the last copies whose arrival an mbarrier waits for
  std::vector<Transfer> openStores;
  std::deque<std::vector<Transfer>> storeGroups;
  unsigned storesRead = 0; ///< leading groups whose source has been read already
  std::vector<WgmmaOp> openWgmma;
  std::deque<std::vector<WgmmaOp>> wgmmaGroups;           ///< committed, not waited for
  uint32_t wgmmaWaited = 0;                               ///< groups before those
  std::vector<std::pair<uintptr_t, size_t>> accumulators; ///< register arrays any wgmma wrote
  uintptr_t operandsFrom = UINTPTR_MAX, operandsTo = 0;   ///< all registers that any wgmma has named lie between
  bool wgmmaFenceNeeded = true;
  RegisterWrites registerWrites;
  int registers = 0;                             ///< by setmaxnreg
  uint64_t clusterPhase = 0;                     ///< that its last arrival counted for
  bool clusterArrived = false;                   ///< and has not been waited for
  std::shared_ptr<Clocks> clusterReleased;       ///< by the last complete phase
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
  Agent agent;                      ///< of the TMA loads that complete on it
  std::shared_ptr<Clocks> released; ///< by the arrivals of this phase
  ClocksRef completed;              ///< of the last complete phase
  ClocksRef joinedFrom, joinedTo;   ///< the last join of a waiter, which many share
  std::vector<Thread *> waiting;
  const Thread *initialiser = nullptr;
  bool initFenced = false;
  Party lastTransfer;
};
/// Four warps that issue wgmma together, and wait for it each for itself.
struct Warpgroup {
  uint16_t agent = 0;                           ///< that reads shared memory; 0: not allocated
  std::array<std::vector<Thread *>, 4> waiting; ///< lanes of each warp that have come to its wait
  std::vector<Thread *> stalled;                ///< one of each warp that waits for the others to commit
  uint32_t ran = 0;                             ///< groups that have run
};
/// A thread has committed work of a kind, which under a seed may be done before a wait asks for it.
struct EarlyWork {
  enum Kind : uint8_t { Copies, Stores, Products } kind;
  Thread *thread;
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
  std::map<unsigned, Stamp> remote; ///< last access by each thread of another block
  std::optional<Stamp> beforeStart; ///< the first access by another block that may come before this one starts
};

/// What atomics have published at one address.
struct Published {
  Clocks all;                           ///< behind fences of the device, for everyone
  std::map<uint32_t, ClocksRef> nearby; ///< behind any fence, for the domain of the publisher
};

/// The blocks that share one logical time: a cluster, usually of one block.
struct Domain {
  uint32_t id = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  unsigned agents = 0;                 ///< allocated so far; threads come first
  std::vector<std::string> agentNames; ///< of those after the threads
  unsigned live = 0;
  NamedBarrier cluster;
  uint64_t clusterPhase = 1;
};

/// Who makes an access, and with whose knowledge.
struct Actor {
  Thread *thread = nullptr; ///< its clocks decide what happened before
  uint16_t agent = 0;
  uint16_t flags = 0; ///< Stamp::Flags
  uint32_t clock = 0;
  uint32_t pc = 0;
  uint32_t atomic = 0; ///< number of the atomic
};

} // namespace kernelc::emulator
