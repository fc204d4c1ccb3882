// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mutation score of a kernel whose synchronisation is all needed, and of one
// with a barrier too many.
#include "emulator/Mutate.h"

#include "absl/strings/str_split.h"
#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

/// y[i] = x[N - 1 - i] within blocks of 64, through shared memory.
Kernel reverse(const std::string &extra = "") {
  Kernel k;
  k.name = "reverse";
  k.sizes = {{"N", 0, 0}};
  k.params = {{"x", ElementType::f32, ParamKind::Input, {SizeExpr::size(0)}},
              {"y", ElementType::f32, ParamKind::Output, {SizeExpr::size(0)}}};
  Variant v;
  v.cudaText = R"(
#ifndef KC_HOST
static __device__ void kc_helper() { __syncthreads(); }
#endif
extern "C" __global__ void __launch_bounds__(64) kc_reverse(const float *x, float *y, int N) {
  float *s = (float *)kc_shared();
  const int tid = (int)threadIdx.x;
  const int base = (int)blockIdx.x * 64;
  const int count = min(N - base, 64);
  const bool cond = tid < count;
  if (cond) {
    s[tid] = x[base + tid];
  }
  __syncthreads();
)" + extra + R"(
  if (tid < count) {
    y[base + tid] = s[count - 1 - tid];
  }
}
)";
  SizeExpr n = SizeExpr::size(0);
  v.launches = {{"kc_reverse", ceilDiv(n, 64), 64, 1, SizeExpr(512), {PointerArg{0, {}}, PointerArg{1, {}}, SizeArg{n}}, ""}};
  k.variants = {v};
  return k;
}

MutationScore measure(const Kernel &k, size_t jobs = 1) {
  std::vector<float> x(100), y(100);
  for (int i = 0; i < 100; i++)
    x[i] = float(i);
  RunArguments args;
  args.params = {{x.data(), ElementType::f32, {100}, {1}}, {y.data(), ElementType::f32, {100}, {1}}};
  auto score = measureMutants(k, k.variants[0], {args}, {}, {}, jobs);
  EXPECT_TRUE(score.ok()) << score.status();
  return score.ok() ? *score : MutationScore();
}

TEST(Mutate, EveryMutantOfATightKernelIsDetected) {
  MutationScore score = measure(reverse());
  EXPECT_EQ(score.total, 4) << score.toString(); // a barrier, a named mask, two conditions
  EXPECT_EQ(score.detected, 4) << score.toString();
}

// A comment behind a statement ends it: what follows is none.
TEST(Mutate, CommentsBehindStatementsEndThem) {
  MutationScore score = measure(reverse(
      "  const int slots = 2; // slots\n  __syncthreads(); // once more\n  const int last = slots - 1, first =\n      0; // of them\n"));
  EXPECT_EQ(score.total, 5) << score.toString();
  EXPECT_EQ(score.redundant, 2) << score.toString(); // either barrier may go
  EXPECT_EQ(score.missed, 0) << score.toString();
}

TEST(Mutate, SurplusBarriersSurvive) {
  MutationScore score = measure(reverse("  __syncthreads();"));
  EXPECT_EQ(score.total, 5);
  ASSERT_EQ(score.survivors.size(), 2u) << score.toString(); // either of the two may go
  EXPECT_EQ(score.survivors[0].removed, "__syncthreads();");
  EXPECT_EQ(score.redundant, 2);
  EXPECT_EQ(score.missed, 0);
  EXPECT_TRUE(score.survivorsNeedEachOther); // but not both
  EXPECT_THAT(score.toString(), ::testing::HasSubstr("3 of 5 mutants detected, "));
}

TEST(Mutate, ProcessesThatShareTheMutantsSayTheSame) {
  Kernel k = reverse("  __syncthreads();");
  MutationScore alone = measure(k);
  for (size_t jobs : {2, 3, 40}) {
    MutationScore shared = measure(k, jobs);
    EXPECT_EQ(shared.toString(), alone.toString());
    EXPECT_EQ(shared.byFinding, alone.byFinding);
  }
}

// A mutant is run from the launch on that it changes, to the end or to where the memory is as it was.
TEST(Mutate, LaunchesHandOnWhatAMutantChanges) {
  auto measureWith = [](const std::string &first, const std::string &last) {
    Kernel k = reverse();
    Variant &v = k.variants[0];
    auto step = [](const std::string &name, const std::string &body) {
      return "extern \"C\" __global__ void __launch_bounds__(64) " + name + "(float *w, float *y, int N) {\n" +
             "  const int i = (int)blockIdx.x * 64 + (int)threadIdx.x;\n  const int size = N;\n" + body + "}\n";
    };
    v.cudaText = step("kc_first", first) + step("kc_second", "  w[128 + i] = w[i] + 1.0f;\n") + step("kc_last", last);
    v.workspaceBytes = SizeExpr(2048);
    v.launches.clear();
    for (const char *name : {"kc_first", "kc_second", "kc_last"})
      v.launches.push_back({name, SizeExpr(2), 64, 1, {}, {PointerArg{-1, {}}, PointerArg{1, {}}, SizeArg{SizeExpr::size(0)}}, ""});
    return measure(k);
  };
  const std::string store = "  if (i < size) {\n    y[i] = w[128 + i];\n  }\n";
  // What the first launch leaves reaches the output through the second one.
  MutationScore score = measureWith("  w[i] = 2.0f;\n  if (i == 7) {\n    w[i] = 5.0f;\n  }\n", store);
  EXPECT_EQ(score.detected, 2) << score.toString();
  EXPECT_THAT(score.toString(), ::testing::HasSubstr("2 of 2 mutants detected, 1 of them by a finding")); // the store leaves y
  // It does not where the last one reads other elements.
  score = measureWith("  w[i] = 2.0f;\n  if (i >= 100) {\n    w[i] = 5.0f;\n  }\n",
                      "  if (i < size) {\n    y[i] = i < 100 ? 1.0f : w[128 + i];\n  }\n");
  EXPECT_EQ(score.detected, 1) << score.toString();
  EXPECT_EQ(score.missed, 1) << score.toString();
  // Memory that is the same needs no look at what follows: the mutant writes what is there.
  score = measureWith("  w[i] = 2.0f;\n  if (i == 7) {\n    w[i] = 2.0f;\n  }\n", store);
  EXPECT_EQ(score.missed, 1) << score.toString();
  // Two that change nothing, in launches with one between them, change nothing together.
  score = measureWith("  w[i] = 2.0f;\n  if (i == 7) {\n    w[i] = 2.0f;\n  }\n",
                      "  if (i < size) {\n    y[i] = w[128 + i];\n  }\n  if (i == 9) {\n    w[256 + i] = 1.0f;\n  }\n");
  EXPECT_EQ(score.missed, 2) << score.toString();
  EXPECT_FALSE(score.survivorsNeedEachOther) << score.toString();
}

TEST(Mutate, GuardsAroundMasksAreShortCuts) {
  MutationScore score = measure(reverse(R"(
  const bool whole = tid < count;
  if (whole) {
    const int at = base + tid;
    if (tid < count) {
      y[at] = s[count - 1 - tid];
    }
  }
)"));
  EXPECT_EQ(score.missed, 0) << score.toString();
  EXPECT_THAT(score.toString(), ::testing::HasSubstr("a short cut past the masks inside"));
}

TEST(Mutate, AdditionsOfZeroMayBeMade) {
  MutationScore score = measure(reverse(R"(
  if (cond) {
    const float none = (float)(count / 1000);
    if (none != 0) {
      atomicAdd(&s[tid], none);
    }
  }
  __syncthreads();
)"));
  EXPECT_THAT(score.toString(), ::testing::HasSubstr("saves the addition of a zero")) << score.toString();
}

TEST(Mutate, RegistersThatNobodyWroteShow) {
  MutationScore score = measure(reverse(R"(
  float acc[1];
  const bool later = tid < 0;
  acc[0] = later ? acc[0] : 1.0f;
  if (cond) {
    s[tid] = s[tid] * acc[0];
  }
  __syncthreads();
)"));
  EXPECT_EQ(score.missed, 0) << score.toString();
  EXPECT_EQ(score.toString().find("const bool later"), std::string::npos) << score.toString();
  for (const Mutant &m : score.survivors)
    EXPECT_NE(m.removed, "tid < 0") << score.toString();
}

TEST(Mutate, RegistersThatAreWrittenOverMayBeSetTooOften) {
  MutationScore score = measure(reverse(R"(
  float acc[2];
  const bool none = count <= 0;
  if (none) {
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      acc[i] = 0.0f;
    }
  }
  acc[0] = 1.0f;
  acc[1] = 2.0f;
)"));
  EXPECT_EQ(score.total, 6) << score.toString();
  ASSERT_EQ(score.survivors.size(), 2u) << score.toString(); // the named mask and the condition
  for (const Mutant &m : score.survivors)
    EXPECT_EQ(m.why, "guards registers that are written over or not used at these sizes") << m.toString();
  // Set behind what they are to hold, they are values.
  score = measure(reverse(R"(
  float acc[1];
  acc[0] = 1.0f;
  const bool none = count <= 0;
  if (none) {
    acc[0] = 0.0f;
  }
  if (tid < count) {
    s[tid] = s[tid] * acc[0];
  }
  __syncthreads();
)"));
  ASSERT_EQ(score.survivors.size(), 1u) << score.toString(); // the barrier before, which this one stands in for
  EXPECT_FALSE(score.survivors[0].mask);
}

TEST(Mutate, OneThreadMayMergeForAll) {
  MutationScore score = measure(reverse(R"(
  float *const t = (float *)(kc_shared() + 256);
  t[tid] = 1.0f;
  __syncthreads();
  float z;
  z = 0.0f;
  if (tid < 32) {
    float total = 0.0f;
    for (int i = 0; i < 4; ++i) {
      total = total + t[i];
    }
    z = total;
  }
  if (tid == 0) {
    s[0] = s[0] + z;
  }
  __syncthreads();
)"));
  ASSERT_EQ(score.survivors.size(), 2u) << score.toString(); // that one, and the first barrier, which the second stands in for
  EXPECT_EQ(score.missed, 0) << score.toString();
  EXPECT_EQ(score.survivors[1].why, "guards registers that are written over or not used at these sizes") << score.toString();
}

TEST(Mutate, ALastRoundMayBePassedBy) {
  auto verdictOf = [](const std::string &comment) {
    MutationScore score =
        measure(reverse("  float *const z = (float *)(kc_shared() + 256);\n  z[tid] = 1.0f;\n  float sum;\n  sum = 0.0f;\n"
                        "  if (count < 64) {\n" +
                        comment +
                        "    if (tid >= count) {\n      sum++;\n    }\n  }\n"
                        "  if (tid < count) {\n    s[tid] = s[tid] + sum;\n  }\n  __syncthreads();\n"));
    for (const Mutant &m : score.survivors)
      if (m.removed == "count < 64")
        return m.why;
    return score.toString();
  };
  EXPECT_EQ(verdictOf("    // The last round: some of its points lie beyond the end.\n"), "a short cut past the masks inside");
}

TEST(Mutate, AMaskMayBeAShortCutPastMasks) {
  auto scoreOf = [](const std::string &inner) {
    return measure(reverse("  float *const z = (float *)(kc_shared() + 256);\n  z[tid] = 1.0f;\n  if (count < 64) {\n" + inner +
                           "  }\n  if (tid < count) {\n    s[tid] = s[tid] * z[tid];\n  }\n  __syncthreads();\n"));
  };
  // What lies beyond the end is zeroed, in blocks that have an end: forced, the inner mask changes nothing elsewhere.
  MutationScore score = scoreOf("    if (tid >= count) {\n      z[tid] = 0.0f;\n    }\n    __syncthreads();\n");
  bool found = false;
  for (const Mutant &m : score.survivors)
    if (m.removed == "count < 64") {
      found = true;
      EXPECT_EQ(m.why, "a short cut past the masks inside") << score.toString();
      EXPECT_EQ(m.verdict, Verdict::Redundant);
    }
  EXPECT_TRUE(found) << score.toString();
}

TEST(Mutate, ASumThatIsTakenAgainStandsInForAMask) {
  // Zero times what stands at the first number is added, which is NaN at times: these sums are taken again without it.
  auto verdictOf = [](const std::string &condition) {
    MutationScore score =
        measure(reverse("  float sum[1];\n  float other[1];\n  other[0] = 0.0f;\n  if (tid < 1) {\n    other[0] += x[tid];\n    "
                        "other[0]++;\n  }\n"
                        "  sum[0] = s[tid % count] + 0.0f * other[0];\n  bool spoiled[1];\n  spoiled[0] = " +
                        condition +
                        ";\n  if (spoiled[0]) {\n    sum[0] = s[tid % count];\n  }\n  __syncthreads();\n"
                        "  s[tid] = sum[0];\n  __syncthreads();\n"));
    for (const Mutant &m : score.survivors)
      if (m.removed == "tid < 1")
        return m.why;
    return std::string("detected");
  };
  EXPECT_EQ(verdictOf("sum[0] != sum[0]"), "keeps out what would have to be summed again exactly");
  EXPECT_EQ(verdictOf("false"), "detected");
}

TEST(Mutate, PrefetchesAreHints) {
  Mutants m =
      mutantsOf("extern \"C\" __global__ void k() {\n  const bool cond = tid == 0;\n  if (cond) {\n    kc_prefetch_tensor_map(&a);\n  }\n"
                "  const bool other = tid == 0;\n  if (other) {\n    kc_prefetch_tensor_map(&a);\n  }\n  y[0] = other;\n}\n");
  ASSERT_EQ(m.all.size(), 4u);
  EXPECT_TRUE(m.all[0].onlySynchronises && m.all[1].onlySynchronises && m.all[3].onlySynchronises);
  EXPECT_FALSE(m.all[2].onlySynchronises); // it is stored, too
}

TEST(Mutate, ArrivalsOfOneThreadAreSynchronisation) {
  const std::string head = "extern \"C\" __global__ void k() {\n  if (more) {\n    const int slot = last % 4;\n    if (tid == 0) {\n      "
                           "kc_mbarrier_arrive(&empty[slot]);\n    }\n";
  Mutants m = mutantsOf(head + "  }\n}\n");
  ASSERT_EQ(m.all.size(), 3u);
  EXPECT_TRUE(m.all[0].onlySynchronises && m.all[1].onlySynchronises);
  EXPECT_FALSE(mutantsOf(head + "    y[slot] = 0;\n  }\n}\n").all[0].onlySynchronises);
}

TEST(Mutate, TakesEveryKindOfSynchronisationAway) {
  const std::vector<std::string> calls = {"__syncthreads();",
                                          "__syncwarp();",
                                          "__threadfence();",
                                          "kc_bar_sync(2, 128);",
                                          "kc_bar_arrive(1, 64);",
                                          "kc_cluster_sync();",
                                          "kc_cluster_arrive();",
                                          "kc_cluster_wait();",
                                          "kc_cp_async_commit();",
                                          "kc_cp_async_wait<1>();",
                                          "kc_mbarrier_wait(&full[0], 1);",
                                          "kc_mbarrier_arrive(&empty[0]);",
                                          "kc_mbarrier_arrive_cluster(&empty[0], 1);",
                                          "kc_mbarrier_expect_tx(&full[0], 16384);",
                                          "kc_fence_mbarrier_init();",
                                          "kc_fence_proxy_async();",
                                          "kc_wgmma_fence();",
                                          "kc_wgmma_commit();",
                                          "kc_wgmma_wait<0>();",
                                          "kc_tma_commit();",
                                          "kc_tma_wait_read<0>();",
                                          "kc_tma_wait<0>();"};
  std::string text = "extern \"C\" __global__ void k() {\n#line 7 \"f.kc\"\n";
  for (const std::string &c : calls)
    text += "  " + c + "\n";
  text += "  const bool nan = x != x;\n";              // how maxima combine
  text += "}\nvoid host() {\n  __syncthreads();\n}\n"; // not in a kernel
  Mutants found = mutantsOf(text);
  const std::vector<Mutant> &mutants = found.all;
  ASSERT_EQ(mutants.size(), calls.size());
  std::vector<std::string> lines = absl::StrSplit(found.text, '\n');
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(mutants[i].removed, calls[i]);
    EXPECT_EQ(mutants[i].where.line, int(i) + 3);
    EXPECT_EQ(mutants[i].where.sourceLine, 7);
    EXPECT_EQ(lines[i + 2], "  { if (kce_kept(" + std::to_string(i) + ")) { " + calls[i] + " } }");
  }
}

TEST(Mutate, SaysWhyAMaskSurvives) {
  MutationScore score = measure(reverse(R"(
  float z = 1;
  float u = 0;
  if (tid < 64) {
    z = 1;
  }
  if (tid < 32) {
    z = 1;
  }
  if (tid < 32) {
    u = x[tid];
  }
  if (tid < 32) {
    __threadfence();
  }
  if (tid < count) {
    s[tid] = s[tid] * z;
  }
  __syncthreads();
)"));
  ASSERT_EQ(score.survivors.size(), 6u) << score.toString(); // the first a barrier that the last one stands in for
  EXPECT_EQ(score.survivors[1].why, "always true at these sizes");
  EXPECT_EQ(score.survivors[1].verdict, Verdict::Redundant);
  EXPECT_EQ(score.survivors[2].verdict, Verdict::Missed); // z counts, but has that value anyway
  EXPECT_EQ(score.survivors[3].why, "guards registers that are written over or not used at these sizes"); // nobody reads u
  EXPECT_EQ(score.survivors[4].why, "guards synchronisation or hints that nothing needs at these sizes");
  EXPECT_EQ(score.survivors[5].removed, "__threadfence();");
  EXPECT_EQ(score.missed, 1);
  EXPECT_FALSE(score.survivorsNeedEachOther);
}

TEST(Mutate, KnowsWhatGuardsCopiesOnly) {
  auto onlyCopies = [](const std::string &block) {
    Mutants found = mutantsOf("extern \"C\" __global__ void k() {\n  short *const s = (short *)kc_shared();\n  if (next < tiles) {\n" +
                              block + "  }\n}\n");
    return found.all[0].onlyCopies;
  };
  const std::string copy = "    const int at = next * 32;\n    for (int i = 0; i < 4; ++i) {\n      kc_cp_async_zfill_16(&s[at + i], "
                           "&x[at], at < N ? 16 : 0);\n    }\n";
  EXPECT_TRUE(onlyCopies(copy + "    kc_cp_async_commit();\n"));
  EXPECT_FALSE(onlyCopies(copy + "    y[at] = 1;\n"));
  const std::string staged = "    alignas(16) unsigned char r[4];\n    if (next < N) {\n      *(unsigned *)&r[0] = *(const unsigned "
                             "*)&x[next];\n    } else {\n      r[0] = 0x0;\n    }\n";
  EXPECT_TRUE(onlyCopies(staged + "    s[next] = r[0];\n"));
  EXPECT_TRUE(onlyCopies("    alignas(16) char r[16];\n    *(uint4 *)r = *(const uint4 *)&x[at];\n    s[next] = r[0];\n"))
      << "all of an array in one vector";
  EXPECT_FALSE(onlyCopies(staged + "    sum = sum + r[0];\n"));
  EXPECT_FALSE(onlyCopies(staged)) << "brings nothing into shared memory";
  EXPECT_FALSE(onlyCopies(copy + "    kc_mbarrier_arrive(&full[0]);\n"));
  EXPECT_FALSE(onlyCopies("    const int at = 0;\n"));
}

TEST(Mutate, FollowsLambdasThatAreCalled) {
  auto find = [](const std::string &body, const std::string &taken = "&") {
    return mutantsOf("extern \"C\" __global__ void k() {\n  short *const s = (short *)kc_shared();\n  const auto part = [" + taken +
                     "](const int at) {\n" + body + "  };\n  if (next < tiles) {\n    part(next);\n  }\n  y[0] = 1;\n}\n")
        .all.back();
  };
  const std::string copy = "    kc_cp_async_16(&s[at], &x[at]);\n";
  EXPECT_TRUE(find(copy).onlyCopies);
  EXPECT_TRUE(find(copy, "=").onlyCopies);
  EXPECT_FALSE(find(copy + "    y[at] = 1;\n").onlyCopies);
  EXPECT_TRUE(find("    kc_mbarrier_arrive(&full[at]);\n").onlySynchronises);
  EXPECT_FALSE(find("    kc_mbarrier_arrive(&full[at]);\n    y[at] = 1;\n").onlySynchronises);
  EXPECT_FALSE(find("    s[at] = 1;\n").shortCuts.empty()) << "writes shared memory alone";
  EXPECT_TRUE(find("    y[at] = 1;\n").shortCuts.empty());
}

TEST(Mutate, TakesBrokenLinesAsOneStatement) {
  Mutants found = mutantsOf("extern \"C\" __global__ void k(const float *x,\n    float *y) {\n  const bool inside = first < N &&\n"
                            "                      last < N;\n  if (inside) {\n    y[first] =\n        x[first];\n  }\n}\n");
  ASSERT_EQ(found.all.size(), 2u);
  EXPECT_EQ(found.all[0].removed, "first < N && last < N");
  EXPECT_NE(found.text.find("y[first] = x[first];\n\n  }"), std::string::npos) << "lines keep their numbers:\n" << found.text;
}

TEST(Mutate, KnowsAssignmentsThatAdd) {
  auto findGuard = [](const std::string &statement) {
    return mutantsOf(
               "extern \"C\" __global__ void k() {\n  float sum = 0.0f;\n  for (int k = 0; k < K; k += 2) {\n    if (k < N) {\n      " +
               statement + "\n    }\n  }\n}\n")
        .all.front();
  };
  EXPECT_TRUE(findGuard("sum += x[k];").onlyRegisters);
  EXPECT_FALSE(findGuard("y[k] += x[k];").onlyRegisters);
  EXPECT_FALSE(findGuard("sum += x[k] <= 1.0f ? __shfl_xor_sync(0xffffffffu, 1.0f, 1) : 0.0f;").onlyRegisters);
}

} // namespace
} // namespace kernelc::emulator
