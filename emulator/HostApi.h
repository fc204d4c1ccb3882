// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The binary interface between the host build of a CUDA text and the emulator:
// what the prelude calls, and what the shared object exports. Included by the
// emulator and, embedded, by every host build, so it includes nothing and uses
// builtin types only. Whatever changes here changes kHostApiVersion.
#pragma once

namespace kce {

inline constexpr unsigned kHostApiVersion = 7;

struct Dim3 {
  unsigned x, y, z;
};

/// What the running fiber sees; the scheduler rewrites it at every switch.
struct State {
  unsigned long long stackLow = 0, stackSize = 0; ///< of the fiber: accesses there are private
  unsigned char *shared = nullptr;
  Dim3 thread{}, block{}, blockDim{}, gridDim{};
  unsigned clusterRank = 0, clusterSize = 1;
  unsigned watchStack = 0;           ///< nonzero: report stack accesses too (operands of wgmma in flight)
  long long steps = 0;               ///< basic blocks left before the step budget is spent
  unsigned char *switches = nullptr; ///< by number; see EmulatorOptions::switches
};

enum Access : unsigned {
  kRead = 0,
  kWrite = 1,
  kVolatile = 2,
  kAnyAlignment = 4, ///< the compiler already split it: alignment is not the program's claim
  kOnce = 8,         ///< a write that no other such write of the launch meets, by the program's promise
};

/// Operations of a whole warp: every lane of `mask` arrives, then all go on.
enum class WarpOp : unsigned {
  Sync,
  Shuffle,
  Vote,
  Match,
  Reduce,
  LdMatrix,
  StMatrix,
  Mma,
};
enum class ShuffleMode : unsigned { Index, Up, Down, Xor };
enum class VoteMode : unsigned { Any, All, Ballot };
enum class ReduceMode : unsigned { Add, Min, Max, And, Or, Xor };
enum class MmaKind : unsigned {
  Bf16K16,
  F16K16,
  F16K8,
  Tf32K8,
  S8K32,
  U8K32,
  S8U8K32,
  U8S8K32,
  E4M3K32,
  E5M2K32,
  E4M3E5M2K32,
  E5M2E4M3K32
};

/// One lane's part of a warp operation; lives on the lane's stack.
struct WarpArgs {
  unsigned mask = 0xffffffffu;
  unsigned mode = 0;            ///< ShuffleMode, VoteMode, ReduceMode, MmaKind
  unsigned long long value = 0; ///< in: operand; out: result
  int lane = 0;                 ///< shuffle: source lane, delta or xor mask
  int width = 32;
  bool isSigned = false;
  bool transposed = false; ///< ldmatrix, stmatrix
  int count = 0;           ///< ldmatrix, stmatrix: number of 8x8 matrices
  void *row = nullptr;     ///< ldmatrix, stmatrix: this lane's row
  void *d = nullptr;       ///< registers
  const void *a = nullptr;
  const void *b = nullptr;
};

enum class AtomicOp : unsigned { Load, Store, Add, Min, Max, And, Or, Xor, Exchange, CompareSwap, Inc, Dec };
/// What an atomic orders besides itself, at the scope of the device; bits.
enum class Order : unsigned { Relaxed = 0, Acquire = 1, Release = 2, AcquireRelease = 3 };
enum class ScalarKind : unsigned { I32, U32, I64, U64, F32, F64, Bf16x2, F16x2, F16, Bf16 };
enum class Convert : unsigned { F32ToF16, F32ToBf16, F32ToE4M3, F32ToE5M2, F64ToF16, F64ToBf16, F64ToE4M3, F64ToE5M2 };
enum class Widen : unsigned { F16, Bf16, E4M3, E5M2 };

enum class WgmmaKind : unsigned { Bf16, F16, Tf32, S8, U8, E4M3, E5M2 };
struct WgmmaArgs {
  WgmmaKind typeA = WgmmaKind::Bf16, typeB = WgmmaKind::Bf16; ///< of one width
  int n = 0;
  bool transposeA = false, transposeB = false;
  bool accumulate = false;
  void *d = nullptr;                    ///< n/2 accumulators of this thread
  const unsigned *registersA = nullptr; ///< four, or null when A is in shared memory
  unsigned long long descA = 0, descB = 0;
};

/// The emulator's entry points. All act for the fiber that runs.
struct Api {
  void (*access)(const void *p, unsigned long size, unsigned access, const void *pc);
  void (*outOfSteps)(const void *pc);
  void (*barrier)(int id, int threads, bool wait);       ///< threads 0: the whole block
  unsigned (*barrierVote)(unsigned mode, int predicate); ///< 0 and, 1 or, 2 count
  void (*warp)(WarpOp op, WarpArgs *args);
  unsigned long long (*atomic)(AtomicOp op, ScalarKind kind, void *p, unsigned long long operand, unsigned long long compare, Order order);
  void (*fence)(int scope); ///< 0 block, 1 device, 2 system, 3 proxy.async
  void (*yield)();
  unsigned long long (*clock)();
  void (*trap)(const char *what);
  void (*divisionByZero)(const void *pc);
  unsigned (*convert)(Convert kind, double v);
  float (*widen)(Widen kind, unsigned bits);
  // cp.async
  void (*cpAsync)(void *dst, const void *src, unsigned bytes, unsigned srcBytes);
  void (*cpAsyncCommit)();
  void (*cpAsyncWait)(int pending);
  void (*cpAsyncArrive)(void *bar);
  // mbarriers; cta < 0: this block's own
  void (*mbarrierInit)(void *bar, unsigned count);
  void (*mbarrierArrive)(void *bar, int cta, unsigned expectBytes, bool expect);
  void (*mbarrierWait)(void *bar, unsigned parity);
  void (*mbarrierInitFence)();
  // st.async: to block `cta` of the cluster, whose mbarrier (the same offset as `bar`) hears of it
  void (*storeAsync)(void *to, const void *value, unsigned bytes, void *bar, unsigned cta);
  // TMA; coords innermost first. multicast 0: this block only
  void (*tmaLoad)(int rank, void *dst, const void *map, const int *coords, void *bar, unsigned multicast);
  void (*tmaStore)(int rank, const void *map, const void *src, const int *coords, bool reduceAdd);
  void (*tmaPrefetch)(int rank, const void *map, const int *coords);
  void (*bulkPrefetch)(const void *p, unsigned bytes);
  void (*tmaCommit)();
  void (*tmaWait)(int pending, bool readOnly);
  // wgmma
  void (*wgmma)(const WgmmaArgs *args);
  void (*wgmmaFence)();
  void (*wgmmaCommit)();
  void (*wgmmaWait)(int pending);
  void (*setMaxRegisters)(int count, bool increase);
  void (*clusterBarrier)(bool arrive, bool wait);
  void *(*mapShared)(void *p, unsigned cta);
};

struct Entry {
  const char *name;
  void (*call)(void **args);
  unsigned count;
  const unsigned *sizes; ///< bytes of each parameter
  unsigned maxThreads;   ///< from __launch_bounds__, 0 if absent
  unsigned minBlocks;    ///< its second number, which shares out registers; 1 if absent
};

/// What the shared object exports under the name `kce_module`.
struct Module {
  unsigned version;
  State *state;
  const Api **api;
  const Entry *entries;
  unsigned count;
};

} // namespace kce
