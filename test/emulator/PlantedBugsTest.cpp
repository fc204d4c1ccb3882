// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One planted bug per class, each with the report it must give; and the repaired
// twin where the difference is the point. reference/reliability.md section 7
// lists where such bugs were found in the field.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

using std::string;
using K = FindingKind;

/// Every line of `body` behind a mark of its own: planted.kc:10, 11, ...
string marked(const string &body) {
  string out;
  int number = 10;
  for (absl::string_view line : absl::StrSplit(body, '\n'))
    absl::StrAppend(&out, "#line ", number++, " \"planted.kc\"\n", line, "\n");
  return out;
}

/// A kernel over x (input), y (output, n floats), 4 KiB of shared memory.
struct Planted {
  std::vector<float> x = std::vector<float>(256, 1.0f), y = std::vector<float>(256);
  std::vector<int> counters = std::vector<int>(8, 0);
  EmulatorOptions options;
  uint32_t block = 64, grid = 1;
  int64_t shared = 4096;

  Launcher launcher(const string &body) {
    Launcher l("extern \"C\" __global__ void __launch_bounds__(1024) kc_planted(const float* x, "
               "float* y, int* c) {\n"
               "  float* s = reinterpret_cast<float*>(kc_shared());\n"
               "  int t = threadIdx.x; (void)t; (void)s;\n" +
                   marked(body) + "}\n",
               options);
    l.in("x", x).out("y", y).inout("counters", counters).grid(grid).block(block).shared(shared);
    return l;
  }
  Report finds(const string &body, K kind, std::vector<string> parts) { return launcher(body).runFinding(kind, std::move(parts)); }
  void clean(const string &body) { launcher(body).runClean(); }
};

TEST(PlantedBugs, MissingBarrierBetweenWriteAndRead) {
  Planted p;
  Report r =
      p.finds("s[t] = x[t];\n"
              "y[t] = s[63 - t];",
              K::DataRace,
              {"kc_planted", "shared memory byte", "write by thread (", "planted.kc:10", "read by thread (", "planted.kc:11", "block 0"});
  for (const Finding &f : r.findings)
    if (f.kind == K::DataRace)
      EXPECT_EQ(f.first.where.line + f.second.where.line, 5 + 7);
  p.clean("s[t] = x[t]; __syncthreads(); y[t] = s[63 - t];");
}

TEST(PlantedBugs, APromiseThatPointsNeverMeet) {
  Planted p;
  // One thread's own writes, and those of two: of a promise, ordered or not.
  p.finds("kc_write_once(&y[2 * t], 1.0f);\nkc_write_once(&y[2 * t + (t != 5)], 2.0f);", K::WrittenTwice,
          {"two points of a 'unique' scatter write 'y' at byte 40", "planted.kc:10", "planted.kc:11", "thread (5,0,0)"});
  p.finds("kc_write_once(&y[t], 1.0f);\n__syncthreads();\nif (t == 0) kc_write_once(&y[7], 2.0f);", K::WrittenTwice,
          {"'y' at byte 28", "planted.kc:10", "planted.kc:12"});
  p.clean("y[t] = 0.0f; kc_write_once(&y[t], 1.0f); kc_write_once(&y[t + 64], 1.0f);");
}

TEST(PlantedBugs, FoundForEverySchedule) {
  for (uint64_t seed = 0; seed < 5; seed++) {
    Planted p;
    p.options.seed = seed;
    p.finds("s[t] = x[t]; y[t] = s[(t + 1) & 63];", K::DataRace, {"shared memory"});
  }
}

TEST(PlantedBugs, MissingLoopBackBarrier) {
  Planted p;
  p.finds("for (int k = 0; k < 4; k++) {\n  s[t] = x[64 * k + t];\n  __syncthreads();\n  y[64 * k "
          "+ t] = s[63 - t];\n}",
          K::DataRace, {"planted.kc:11", "planted.kc:13"});
  p.clean("for (int k = 0; k < 4; k++) { s[t] = x[64 * k + t]; __syncthreads(); y[64 * k + t] = "
          "s[63 - t]; "
          "__syncthreads(); }");
}

TEST(PlantedBugs, TwoWritersOfOnePlace) {
  Planted p;
  p.finds("s[t / 2] = x[t]; __syncthreads(); y[t] = s[t / 2];", K::DataRace, {"write by", "and write by"});
}

TEST(PlantedBugs, PaddingAndCopyMeet) { // zero padding of a tile written beside the copy-in
  Planted p;
  p.finds("s[t] = x[t]; if (t < 2) s[62 + t] = 0.0f; __syncthreads(); y[t] = s[t];", K::DataRace, {"write"});
}

TEST(PlantedBugs, BlockSizesThatAreNoMultipleOfAWarp) {
  for (uint32_t block : {33u, 48u, 63u}) {
    Planted p;
    p.block = block;
    string n = std::to_string(block - 1);
    p.finds("s[t] = x[t]; y[t] = s[" + n + " - t];", K::DataRace, {"shared memory"});
    p.clean("s[t] = x[t]; __syncthreads(); y[t] = s[" + n + " - t];");
  }
}

TEST(PlantedBugs, MissingSyncwarpInsideAWarp) {
  Planted p;
  p.block = 32;
  p.finds("s[t] = x[t]; y[t] = s[31 - t];", K::DataRace, {"shared memory"});
  p.clean("s[t] = x[t]; __syncwarp(); y[t] = s[31 - t];");
}

TEST(PlantedBugs, SyncwarpDoesNotReachOtherWarps) {
  Planted p;
  p.finds("s[t] = x[t]; __syncwarp(); y[t] = s[63 - t];", K::DataRace, {"shared memory"});
}

TEST(PlantedBugs, ShufflesOrderNoMemory) {
  Planted p;
  p.block = 32;
  p.finds("s[t] = x[t]; float v = __shfl_xor_sync(~0u, x[t], 1); y[t] = s[31 - t] + v;", K::DataRace, {"shared"});
}

TEST(PlantedBugs, MoreThanAThousandThreadsAreSeen) {
  Planted p;
  p.block = 1024;
  p.finds("if (t == 1023) s[0] = 1.0f; if (t == 5) y[0] = s[0];", K::DataRace, {"(1023,0,0)", "(5,0,0)"});
}

TEST(PlantedBugs, BytesOfOneWordAreApart) {
  Planted p;
  p.clean("unsigned char* b = kc_shared(); b[t] = (unsigned char)t; __syncthreads(); y[t] = b[63 - "
          "t];");
  p.finds("unsigned char* b = kc_shared(); b[t] = (unsigned char)t; y[t] = b[t ^ 1];", K::DataRace, {"shared"});
}

TEST(PlantedBugs, BlocksWriteOnePlace) {
  Planted p;
  p.grid = 2;
  p.finds("y[t] = x[t];", K::DataRace, {"'y' byte", "nothing orders these blocks", "block 0", "block 1"});
}

TEST(PlantedBugs, GlobalExchangeWithoutBarrier) {
  Planted p;
  p.finds("y[t] = x[t]; y[64 + t] = y[63 - t];", K::DataRace, {"'y'"});
  p.clean("y[t] = x[t]; __syncthreads(); y[64 + t] = y[63 - t];");
}

TEST(PlantedBugs, BeyondATensor) {
  Planted p;
  p.finds("y[t] = x[t + 193];", K::OutOfBounds, {"0 bytes past the end of 'x' (1024 bytes)", "thread (63,0,0)", "planted.kc:10"});
  p.finds("y[t] = x[t - 1];", K::OutOfBounds, {"4-byte read", "thread (0,0,0)"});
}

TEST(PlantedBugs, IndexOverflowOf32Bits) {
  Planted p;
  p.finds("int big = 1 << 30; y[t] = x[(t + big) * 4 % 256 - 4 * (big >> 29)];", K::OutOfBounds, {"before 'x'"});
}

TEST(PlantedBugs, BeyondSharedMemory) {
  Planted p;
  p.shared = 252;
  p.finds("s[t] = x[t];", K::OutOfBounds, {"0 bytes past the end of shared memory (252 bytes)", "thread (63,0,0)"});
}

TEST(PlantedBugs, VectorRunsOverTheEnd) {
  Planted p;
  p.x.resize(254);
  p.finds("float4 v = *reinterpret_cast<const float4*>(x + 4 * t); y[t] = v.x;", K::OutOfBounds, {"over the end of 'x'", "by 8"});
}

TEST(PlantedBugs, SharedReadBeforeAnyWrite) {
  Planted p;
  p.finds("if (t < 60) s[t] = x[t]; __syncthreads(); y[t] = s[t];", K::Uninitialised, {"shared memory byte 2"});
}

TEST(PlantedBugs, AccumulatingIntoAnUnwrittenOutput) {
  Planted p;
  p.finds("y[t] += x[t];", K::Uninitialised, {"'y' at byte 0"});
}

TEST(PlantedBugs, VectorOnAnUnalignedView) {
  Planted p;
  p.finds("float4 v = *reinterpret_cast<const float4*>(x + 1); y[t] = v.x;", K::Misaligned, {"16-byte read", "4 bytes past"});
}

TEST(PlantedBugs, WriteToAnInput) {
  Planted p;
  p.finds("const_cast<float*>(x)[t] = 0.0f;", K::WriteToInput, {"'x' is an input"});
}

TEST(PlantedBugs, BarrierInAThreadDependentIf) {
  Planted p;
  p.finds("s[t] = x[t]; if (t < 60) __syncthreads(); y[t] = s[t];", K::BarrierDivergence,
          {"60 threads", "__syncthreads (60 of 64 arrived)", "4 threads have ended"});
}

TEST(PlantedBugs, EarlyReturnBeforeABarrier) {
  Planted p;
  p.finds("if (t >= 50) return; s[t] = x[t]; __syncthreads(); y[t] = s[t];", K::BarrierDivergence, {"14 threads have ended"});
}

TEST(PlantedBugs, DifferentBarriersMeet) {
  Planted p;
  p.finds("if (t < 32) { s[t] = 1.0f; __syncthreads(); y[t] = s[t]; }\n else { s[t] = 2.0f;\n "
          "__syncthreads();\n y[t] = s[t] + 1.0f; }",
          K::BarrierDivergence, {"different __syncthreads", "planted.kc:10", "planted.kc:12"});
}

TEST(PlantedBugs, NamedBarrierThatNobodyFills) {
  Planted p;
  p.finds("kc_bar_sync(1, 64 - 32 * (t >= 32)); y[t] = 1.0f; if (t >= 32) kc_bar_sync(2, 64);", K::BarrierProtocol, {"barrier 1"});
  p.finds("if (t < 32) kc_bar_sync(3, 64); y[t] = 1.0f;", K::Deadlock, {"barrier 3 (32 of 64 arrived)", "32 threads"});
}

TEST(PlantedBugs, NamedBarriersOrderTheirThreads) {
  Planted p;
  p.clean("if (t < 32) { s[t] = x[t]; kc_bar_arrive(1, 64); } else { kc_bar_sync(1, 64); y[t] = "
          "s[t - 32]; } if (t < 32) y[t] = 0.0f;");
  p.finds("if (t < 32) { kc_bar_arrive(1, 64); s[t] = x[t]; } else { kc_bar_sync(1, 64); y[t] = "
          "s[t - 32]; }",
          K::DataRace, {"shared"});
}

TEST(PlantedBugs, LoopThatNeverEnds) {
  Planted p;
  p.options.stepBudget = 1'000'000;
  p.finds("for (int i = 0; i >= 0; i = (i + 1) & 7) y[t] = (float)i;", K::StepBudget, {"step budget of 1000000", "planted.kc:10"});
}

TEST(PlantedBugs, WaitForAFlagNobodySets) {
  Planted p;
  p.options.stepBudget = 1'000'000;
  p.finds("while (((volatile int*)c)[0] == 0) {}\n y[t] = 1.0f;", K::StepBudget, {"did not end"});
}

TEST(PlantedBugs, AtomicThenReadWithoutBarrier) {
  Planted p;
  p.finds("if (t == 0) s[0] = 0.0f; __syncthreads(); atomicAdd(&s[0], x[t]); y[t] = s[0];", K::DataRace, {"atomic", "read"});
  p.clean("if (t == 0) s[0] = 0.0f; __syncthreads(); atomicAdd(&s[0], x[t]); __syncthreads(); y[t] "
          "= s[0];");
}

TEST(PlantedBugs, AtomicOnAnUnclearedCounter) {
  Planted p;
  p.finds("atomicAdd(&s[0], x[t]); __syncthreads(); y[t] = s[0];", K::Uninitialised, {"shared memory byte 0"});
}

TEST(PlantedBugs, TicketWithoutFence) {
  const char *body = "y[64 * blockIdx.x + t] = x[t]; __syncthreads();\n"
                     "int* last = (int*)s; if (t == 0) { %s *last = atomicAdd(&c[0], 1) == 1; %s } "
                     "__syncthreads();\n"
                     "if (*last) y[128 + t] = y[t] + y[64 + t];";
  auto with = [&](const char *release, const char *acquire) {
    char text[400];
    std::snprintf(text, sizeof text, body, release, acquire);
    return string(text);
  };
  Planted p;
  p.grid = 2;
  p.clean(with("__threadfence();", "__threadfence();"));
  p.counters[0] = 0;
  p.finds(with("", "__threadfence();"), K::DataRace, {"'y'", "nothing orders these blocks"});
  p.counters[0] = 0;
  p.finds(with("__threadfence();", ""), K::DataRace, {"'y'", "nothing orders these blocks"});
}

TEST(PlantedBugs, CpAsyncReadBeforeItsWait) {
  Planted p;
  p.finds("kc_cp_async_16(s + 4 * t, x + 4 * (t & 31)); kc_cp_async_commit(); y[t] = s[4 * t]; "
          "kc_cp_async_wait<0>();",
          K::DataRace, {"cp.async write by thread", "read by thread"});
}

TEST(PlantedBugs, CpAsyncOfOthersNeedsTheBarrier) {
  Planted p;
  string copy = "kc_cp_async_16(s + 4 * t, x + 4 * t); kc_cp_async_commit(); kc_cp_async_wait<0>();";
  p.finds(copy + " y[t] = s[4 * (63 - t)];", K::DataRace, {"cp.async write"});
  p.clean(copy + " __syncthreads(); y[t] = s[4 * (63 - t)];");
}

TEST(PlantedBugs, CpAsyncWaitOfTooFewGroups) {
  Planted p;
  p.finds("kc_cp_async_16(s + 4 * t, x + 4 * t); kc_cp_async_commit(); kc_cp_async_16(s + 256 + 4 "
          "* t, x + 4 * t); "
          "kc_cp_async_commit(); kc_cp_async_wait<1>(); __syncthreads(); y[t] = s[256 + 4 * (63 - "
          "t)]; kc_cp_async_wait<0>();",
          K::DataRace, {"cp.async write"});
}

TEST(PlantedBugs, CpAsyncOverwritesWhatIsStillRead) {
  Planted p;
  p.finds("s[t] = x[t]; __syncthreads(); y[t] = s[63 - t];\n"
          "if (t < 16) { kc_cp_async_16(s + 4 * t, x); kc_cp_async_commit(); kc_cp_async_wait<0>(); }",
          K::DataRace, {"cp.async write", "read by thread"});
}

TEST(PlantedBugs, CpAsyncNeverWaitedFor) {
  Planted p;
  p.finds("kc_cp_async_16(s + 4 * t, x + 4 * t); kc_cp_async_commit(); y[t] = 0.0f;", K::LostAsyncWork, {"cp.async"});
}

TEST(PlantedBugs, CpAsyncMisaligned) {
  Planted p;
  p.finds("kc_cp_async_16(s + t, x + 4 * t); kc_cp_async_commit(); kc_cp_async_wait<0>(); y[t] = 0;", K::Misaligned, {"cp.async of 16"});
}

TEST(PlantedBugs, LdmatrixRowMisalignedOrOutside) {
  Planted p;
  p.block = 32;
  p.finds("s[t] = x[t]; __syncwarp(); unsigned r[1]; kc_ldmatrix_x1(r, s + 2 * (t & 7)); y[t] = r[0];", K::Misaligned, {"16-byte"});
  p.finds("unsigned r[1]; kc_ldmatrix_x1(r, kc_shared() + 4096 + 16 * t); y[t] = r[0];", K::OutOfBounds, {"ldmatrix", "4096"});
}

TEST(PlantedBugs, MatrixInstructionsNeedWholeWarps) {
  Planted p;
  p.block = 48;
  p.finds("unsigned a[4] = {0, 0, 0, 0}, b[2] = {0, 0}; float d[4] = {0, 0, 0, 0}; "
          "kc_mma_m16n8k16_bf16(d, a, b); y[t] = d[0];",
          K::InvalidOperation, {"mma.sync needs a warp of 32 threads", "(32,0,0)"});
}

TEST(PlantedBugs, ShuffleWithLanesThatAreGone) {
  Planted p;
  p.block = 32;
  p.finds("if (t >= 16) return; y[t] = __shfl_xor_sync(~0u, x[t], 1);", K::BarrierDivergence, {"shuffle"});
  p.clean("if (t >= 16) return; y[t] = __shfl_xor_sync(0xffffu, x[t], 1);");
  p.finds("if (t >= 16) return; y[t] = __shfl_xor_sync(0xffu, x[t], 1);", K::InvalidOperation, {"outside its mask"});
}

TEST(PlantedBugs, DivergentWarpInstruction) {
  Planted p;
  p.block = 32;
  p.finds("unsigned a[4] = {0, 0, 0, 0}, b[2] = {0, 0}; float d[4] = {0, 0, 0, 0};\n"
          "if (t < 16) { kc_mma_m16n8k16_bf16(d, a, b); y[t] = d[0]; }\n"
          "else { kc_mma_m16n8k16_bf16(d, a, b); y[t] = d[1] + 1.0f; }",
          K::BarrierDivergence, {"different mma.sync", "planted.kc:11", "planted.kc:12"});
}

TEST(PlantedBugs, AssertionsAndTraps) {
  Planted p;
  p.finds("assert(t < 60); y[t] = 0.0f;", K::Trap, {"assertion failed: t < 60", "(60,0,0)"});
}

TEST(PlantedBugs, DivisionByZero) {
  Planted p;
  p.finds("y[t] = float(100 / (t - 7));", K::InvalidOperation, {"by zero", "(7,0,0)", "planted.kc"});
  p.finds("y[t] = float(100u % (unsigned)(t / 64));", K::InvalidOperation, {"by zero", "planted.kc"});
  p.finds("y[t] = float(100ll % (long long)(t / 64));", K::InvalidOperation, {"by zero", "planted.kc"});
}

} // namespace
} // namespace kernelc::emulator
