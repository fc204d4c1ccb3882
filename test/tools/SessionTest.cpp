// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The JIT session on the CPU and on the emulator: values, specialisation, its bound,
// the caches, threads, and errors.
#include "driver/jit/Session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "driver/compile/CacheKeys.h"
#include "driver/compile/Program.h"
#include "driver/jit/HostRun.h"
#include "driver/tune/PlannedSchedule.h"
#include "driver/verify/HostCheck.h"
#include "driver/verify/HostValues.h"
#include "ir/te/Faults.h"
#include "runtime/DiskCache.h"
#include "support/ArtifactJson.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

constexpr char kScale[] = "def scale(a: f32, x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = a * x[i, j] }";
constexpr char kSoftmax[] = "def s(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](x[i, j]) }";

std::string freshFolder() {
  std::string name = testing::TempDir() + "/kernelc-session-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

SessionOptions withCache(const std::string &path) {
  SessionOptions o;
  o.cachePath = path;
  o.cpuThreads = 2;
  return o;
}

std::vector<HostTensor> softmaxTensors(int64_t m, int64_t n) {
  std::vector<HostTensor> t;
  t.emplace_back(ElementType::f32, std::vector<int64_t>{m, n});
  t.emplace_back(ElementType::f32, std::vector<int64_t>{m, n});
  fillRandom(t[0], 1);
  return t;
}

TEST(Session, RunsOnTheCpu) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel = session->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<HostTensor> t;
  t.emplace_back(ElementType::f32, std::vector<int64_t>{});
  t.emplace_back(ElementType::f32, std::vector<int64_t>{2, 3});
  t.emplace_back(ElementType::f32, std::vector<int64_t>{2, 3});
  *t[0].as<float>() = 2;
  for (int i = 0; i < 6; ++i)
    t[1].as<float>()[i] = float(i);
  ASSERT_EQ(runOnHost(**kernel, {Place::Cpu}, t), absl::OkStatus());
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(t[2].as<float>()[i], 2 * i);
}

TEST(Session, EmulatorAgreesWithTheReference) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel = session->compile(kSoftmax);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  for (auto [m, n] : {std::pair<int64_t, int64_t>{3, 33}, {2, 256}}) {
    auto t = softmaxTensors(m, n);
    auto result = checkOnHost(**kernel, {Place::Emulator}, t);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->passed()) << result->text;
  }
}

TEST(Session, AtMostMaxVariantsAreSpecialised) {
  SessionOptions options = withCache(freshFolder());
  options.maxVariants = 2;
  auto session = Session::create(options);
  auto kernel = session->compile(kSoftmax);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto variantOf = [&](int64_t n) {
    auto t = softmaxTensors(1, n);
    std::vector<LaunchValue> values{t[0].deviceTensor(), t[1].deviceTensor()};
    auto k = (*kernel)->variantFor("sm_80", values);
    EXPECT_TRUE(k.ok()) << k.status();
    return k.ok() ? k->variants[0].name : "";
  };
  EXPECT_EQ(variantOf(32), "specialised");
  EXPECT_EQ(variantOf(64), "ranged");
  EXPECT_EQ(variantOf(4096), "general"); // the third kind of sizes
  EXPECT_EQ(variantOf(32), "specialised");
}

// A size that varies from call to call has a variant for the first value and one for each class of others.
TEST(Session, ManyValuesOfASizeShareFourVariants) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel = session->compile("def mm(a: bf16[M, K], b: bf16[N, K]) -> (c: bf16[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto tensor = [](uintptr_t gigabyte, int64_t rows, int64_t columns) { // (nobody reads it)
    return DeviceTensor{reinterpret_cast<void *>(gigabyte << 30), ElementType::bf16, {rows, columns}, {columns, 1}, 0};
  };
  std::set<std::string> texts;
  for (int64_t m : {512, 1, 2, 3, 7, 16, 33, 64, 100, 256, 777, 1000, 2048, 4096}) {
    auto k = (*kernel)->variantFor("sm_90a", {tensor(1, m, 1024), tensor(2, 512, 1024), tensor(3, m, 512)});
    ASSERT_TRUE(k.ok()) << k.status();
    const Variant &v = k->variants[0];
    texts.insert(v.cudaText);
    std::vector<int64_t> sizes;
    for (const SizeRecipe &r : k->sizes)
      sizes.push_back(r.name == "M" ? m : r.name == "N" ? 512 : 1024);
    EXPECT_TRUE(v.guard.empty() || v.guard.evaluate(SizeEnv{sizes})) << m << ": " << v.guardText;
  }
  EXPECT_LE(texts.size(), 4u);
}

// Tiles are those of the call that a variant was compiled for; other sizes that it takes find it as it is. A process that
// begins with those finds nothing of it on disk.
TEST(Session, TilesFollowTheFirstCallOfAVariant) {
  SessionOptions options = withCache(freshFolder());
  auto tensor = [](uintptr_t gigabyte, int64_t rows, int64_t columns) { // (nobody reads it)
    return DeviceTensor{reinterpret_cast<void *>(gigabyte << 30), ElementType::bf16, {rows, columns}, {columns, 1}, 0};
  };
  auto textOf = [&](JitKernel &kernel, int64_t n) -> std::string {
    DeviceTensor a = tensor(1, 4096, 4096), b = tensor(2, n, 4096), c = tensor(3, 4096, n);
    auto k = kernel.variantFor("sm_90a", {a, b, c});
    EXPECT_TRUE(k.ok()) << k.status();
    return k.ok() ? k->variants[0].cudaText : "";
  };
  for (auto [first, second, tile] : {std::tuple(4224, 4480, "tile j 128;"), std::tuple(4480, 4224, "tile j 224;")}) {
    auto session = Session::create(options);
    auto kernel = session->compile("def mm(a: bf16[M, K], b: bf16[N, K]) -> (c: bf16[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }");
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    std::string text = textOf(**kernel, first);
    EXPECT_NE(text.find(tile), std::string::npos) << first;
    EXPECT_EQ(text, textOf(**kernel, second));
  }
}

TEST(Session, VariantsFollowLayoutsAndAlignments) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel = session->compile(kSoftmax);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<HostTensor> t;
  t.emplace_back(ElementType::f32, std::vector<int64_t>{8, 128});
  t.emplace_back(ElementType::f32, std::vector<int64_t>{4, 64});
  auto guardOf = [&](int64_t first, std::vector<int64_t> strides) {
    DeviceTensor x{t[0].as<float>() + first, ElementType::f32, {4, 64}, strides, 0};
    auto k = (*kernel)->variantFor("sm_80", {x, t[1].deviceTensor()});
    EXPECT_TRUE(k.ok()) << k.status();
    return k.ok() ? k->variants[0].params[0] : ParamGuard{LayoutClass::Dense, 0};
  };
  auto expect = [&](ParamGuard g, LayoutClass layout, uint32_t alignment) {
    EXPECT_EQ(int(g.layout), int(layout));
    EXPECT_EQ(g.alignment, alignment);
  };
  expect(guardOf(0, {64, 1}), LayoutClass::Dense, 16);
  expect(guardOf(2, {64, 1}), LayoutClass::Dense, 8);
  expect(guardOf(0, {128, 1}), LayoutClass::InnerUnit, 16);
  expect(guardOf(1, {68, 1}), LayoutClass::InnerUnit, 4);
  EXPECT_EQ(guardOf(0, {68, 1}).order, std::vector<int>());
  EXPECT_EQ(guardOf(0, {68, 1}).pitch, 16u);
  EXPECT_EQ(guardOf(0, {96, 1}).pitch, 128u);
  expect(guardOf(0, {1, 4}), LayoutClass::Dense, 16); // a transposed view
  EXPECT_EQ(guardOf(0, {1, 4}).order, (std::vector<int>{1, 0}));
  expect(guardOf(0, {1, 8}), LayoutClass::InnerUnit, 16);
  EXPECT_EQ(guardOf(0, {1, 8}).order, (std::vector<int>{1, 0}));
  expect(guardOf(0, {1, 5}), LayoutClass::Any, 16);
  expect(guardOf(0, {66, 1}), LayoutClass::Any, 16);
  expect(guardOf(0, {0, 1}), LayoutClass::Any, 16);
  expect(guardOf(63, {64, -1}), LayoutClass::Any, 4);
}

TEST(Session, TensorsOfTwoElementsAByteAreDenseWhereTheyAreWritten) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel = session->compile("def f(x: i4[M, N]) -> (y: i4[M, N]) { y[i, j] = i4(-x.pad(0)[i, j + 1]) }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  alignas(16) uint8_t memory[2][64];
  auto compile = [&](std::vector<int64_t> xStrides, std::vector<int64_t> yStrides) {
    DeviceTensor x{memory[0] + 16, ElementType::i4, {4, 5}, xStrides, 0}, y{memory[1] + 16, ElementType::i4, {4, 5}, yStrides, 0};
    return (*kernel)->variantFor("sm_80", {x, y}).status();
  };
  EXPECT_TRUE(compile({5, 1}, {5, 1}).ok());
  EXPECT_TRUE(compile({6, 1}, {5, 1}).ok());
  EXPECT_TRUE(compile({1, 4}, {5, 1}).ok());
  EXPECT_THAT(compile({5, 1}, {6, 1}).message(),
              ::testing::HasSubstr("parameter 'y': results of i4 are written a byte at a time on GPUs, so that they have to be dense"));
  EXPECT_THAT(compile({-5, 1}, {5, 1}).message(),
              ::testing::HasSubstr("parameter 'x': a tensor of i4 with a negative stride cannot be read on GPUs; copy it"));
}

TEST(Session, TheDistanceOfElementsDecidesTheIndexWidth) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel = session->compile("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = 2 * x[i, j] }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  HostTensor y(ElementType::f32, {2, 4});
  auto bitsOf = [&](int64_t stride) {
    // Only the address counts here; nothing runs.
    DeviceTensor x{reinterpret_cast<void *>(uintptr_t(1) << 44), ElementType::f32, {2, 4}, {stride, 1}, 0};
    auto k = (*kernel)->variantFor("sm_80", {x, y.deviceTensor()});
    EXPECT_TRUE(k.ok()) << k.status();
    int bits = 0;
    if (k.ok())
      for (const LaunchArg &a : k->variants[0].launches[0].args)
        if (auto *size = std::get_if<SizeArg>(&a))
          bits = size->bits;
    return bits;
  };
  EXPECT_EQ(bitsOf(int64_t(1) << 29), 32);
  EXPECT_EQ(bitsOf(int64_t(1) << 30), 64);
}

// What a search starts at: tiles up to a power of two that covers the index, but one point of a batch.
TEST(Session, PlannedTilesAreBoundByWhatTheyMayHave) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel =
      session->compile("def m(x: bf16[B, M, K], w: bf16[B, K, N]) -> (y: bf16[B, M, N]) { y[n, i, j] = sum[k](x[n, i, k] * w[n, k, j]) }");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  HostTensor x(ElementType::bf16, {4, 64, 96}), w(ElementType::bf16, {4, 96, 48}), y(ElementType::bf16, {4, 64, 48});
  auto planned = plannedSchedule(**kernel, "sm_90a", {x.deviceTensor(), w.deviceTensor(), y.deviceTensor()});
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::map<std::string, int64_t> bounds;
  for (const LaunchRecord::Tile &t : (*planned)[0].tiles)
    bounds[t.index] = t.bound;
  EXPECT_EQ(bounds, (std::map<std::string, int64_t>{{"n", 1}, {"i", 64}, {"j", 64}, {"k", 128}}));
}

TEST(Session, ASearchStartsFromOtherUnitsAndParts) {
  auto session = Session::create(withCache(freshFolder()));
  auto starts = [&](const char *text, std::vector<HostTensor> t, const std::string &schedule = "") {
    ProgramOptions options;
    options.schedule = schedule;
    auto kernel = session->compile(text, "", options);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    std::vector<LaunchValue> values;
    for (HostTensor &x : t)
      values.push_back(x.deviceTensor());
    auto points = startingPoints(*session, **kernel, "sm_90a", values);
    EXPECT_TRUE(points.ok()) << points.status();
    return points.value_or(std::vector<SchedulePoint>());
  };
  auto tensors = [](std::vector<std::vector<int64_t>> shapes, ElementType type) {
    std::vector<HostTensor> t;
    for (auto &shape : shapes)
      t.emplace_back(type, shape);
    return t;
  };
  const char *product = "def m(a: bf16[M, K], b: bf16[N, K]) -> (c: bf16[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }";
  std::vector<std::string> units;
  for (const SchedulePoint &p : starts(product, tensors({{512, 256}, {512, 256}, {512, 512}}, ElementType::bf16)))
    if (p.size() == 1)
      units.push_back(std::string(nameOf(*p[0].unit)));
  EXPECT_THAT(units, testing::ElementsAre("wgmma", "simt", "mma"));
  // Of a schedule that somebody gave, and of a kernel that knows no products or long sums, there is one.
  EXPECT_EQ(starts(product, tensors({{512, 256}, {512, 256}, {512, 512}}, ElementType::bf16),
                   R"([{"kernel": "m", "launch": "c", "unit": "mma"}])")
                .size(),
            1u);
  EXPECT_EQ(starts("def twice(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + x[i] }", tensors({{512}, {512}}, ElementType::f32)).size(), 1u);
  // Parts of a long sum: one record of the whole kernel, and two launches.
  bool isSplit = false;
  for (const SchedulePoint &p :
       starts("def total(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }", tensors({{4, 65536}, {4}}, ElementType::f32)))
    isSplit |= p.size() == 3 && p[0].launch.empty() && p[0].numbers.count("parts") && p[0].numbers.at("parts") == 8;
  EXPECT_TRUE(isSplit);
}

TEST(Session, ArtifactsComeFromTheDiskCache) {
  std::string folder = freshFolder();
  std::string texts[2];
  for (std::string &text : texts) {
    auto session = Session::create(withCache(folder));
    auto kernel = session->compile(kSoftmax);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    auto t = softmaxTensors(4, 64);
    std::vector<LaunchValue> values{t[0].deviceTensor(), t[1].deviceTensor()};
    auto k = (*kernel)->variantFor("sm_80", values);
    ASSERT_TRUE(k.ok()) << k.status();
    text = k->variants[0].cudaText;
    bool isSecond = &text == &texts[1];
    EXPECT_EQ(session->cache().counters().hits.load(), isSecond ? 2 : 0); // signatures and variant
    // What came from the cache still compiles for the CPU, where the source is needed.
    EXPECT_EQ(runOnHost(**kernel, {Place::Cpu}, t), absl::OkStatus());
  }
  EXPECT_EQ(texts[0], texts[1]);
}

// What is in the cache is not read again: neither for the kernel's signature nor for whether it has guards, until one finds something.
TEST(Session, ProgramsFromTheCacheAreNotRead) {
  const std::string folder = freshFolder();
  const std::string guarded = "def take(x: f32[N], at: i32[M]) -> (y: f32[M]) { y[i] = x[at[i]] }";
  const std::string unguarded = "def add(x: f32[N], inout faults: i64[2]) -> (y: f32[N]) {\n  y[i] = x[i] + 1\n  faults[j] += 1\n}";
  auto first = Session::create(withCache(folder));
  auto take = first->compile(guarded), add = first->compile(unguarded);
  ASSERT_TRUE(take.ok() && add.ok()) << take.status() << add.status();
  ASSERT_GE((*take)->recordParam(), 0);
  EXPECT_EQ((*add)->recordParam(), -1);
  auto second = Session::create(withCache(folder));
  EXPECT_TRUE(absl::IsNotFound(second->findAll(guarded + " ").status()));
  EXPECT_EQ(second->cache().counters().misses.load(), 0);
  EXPECT_TRUE(second->findAll(guarded).ok());
  EXPECT_EQ(second->cache().counters().hits.load(), 1);
  EXPECT_TRUE(second->compileAll(guarded, {}, /*isNew=*/true).ok()); // is not asked for again
  EXPECT_EQ(second->cache().counters().hits.load(), 1);
  EXPECT_EQ(second->cache().counters().misses.load(), 1);
  auto again = second->compile(unguarded);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->recordParam(), -1);

  // Under the key of a text that nobody can read.
  const std::string broken = "no kernel is spelled so";
  CacheKey key = requestKey(*Program::createLazy(broken, {}, {}), "signatures", "");
  first->cache().put(DiskCache::Kind::Request, key, *artifactToJson({(*take)->signature()}));
  auto lazy = Session::create(withCache(folder))->compile(broken);
  ASSERT_TRUE(lazy.ok()) << lazy.status();
  EXPECT_EQ((*lazy)->recordParam(), (*take)->recordParam());
  const std::vector<int64_t> nothing(1, te::kNoFault), something(1, 3);
  EXPECT_EQ((*lazy)->checkRecord(nothing.data(), {5, 4}), absl::OkStatus());
  EXPECT_TRUE(absl::IsInternal((*lazy)->checkRecord(something.data(), {5, 4})));
  EXPECT_TRUE(absl::IsOutOfRange((*take)->checkRecord(something.data(), {5, 4})));
}

TEST(Session, PolicyIsPartOfTheProgramAndOfTheCache) {
  const char *product = "def p(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }";
  std::string folder = freshFolder();
  auto run = [&](absl::string_view policy, bool &onUnit) {
    auto session = Session::create(withCache(folder));
    ProgramOptions options;
    if (!policy.empty())
      EXPECT_EQ(addPrecision(options.precision, policy), absl::OkStatus());
    auto kernel = session->compile(product, "p", options);
    EXPECT_TRUE(kernel.ok()) << kernel.status();
    std::vector<HostTensor> t;
    t.emplace_back(ElementType::f32, std::vector<int64_t>{16, 32});
    t.emplace_back(ElementType::f32, std::vector<int64_t>{16, 32});
    t.emplace_back(ElementType::f32, std::vector<int64_t>{16, 16});
    for (int i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 16 * 32; ++j)
        static_cast<float *>(t[i].data())[j] = 1 + 0x1p-12f; // 1 in every type of a policy
    std::vector<LaunchValue> values{t[0].deviceTensor(), t[1].deviceTensor(), t[2].deviceTensor()};
    auto variant = (*kernel)->variantFor("sm_80", values);
    EXPECT_TRUE(variant.ok()) << variant.status();
    onUnit = variant->variants[0].cudaText.find("kc_mma_") != std::string::npos;
    EXPECT_EQ(runOnHost(**kernel, {Place::Cpu}, t), absl::OkStatus());
    return static_cast<float *>(t[2].data())[0];
  };
  bool onUnit = false;
  EXPECT_GT(run("", onUnit), 32.0f);
  EXPECT_FALSE(onUnit);
  EXPECT_EQ(run("contract=tf32", onUnit), 32.0f);
  EXPECT_TRUE(onUnit);
  EXPECT_GT(run("", onUnit), 32.0f) << "what the cache holds for a policy is not for everyone";
  EXPECT_FALSE(onUnit);
  EXPECT_EQ(run("contract=bf16", onUnit), 32.0f);
}

TEST(Session, ThreadsShareAKernel) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel = session->compile(kSoftmax);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<std::thread> threads;
  std::vector<absl::Status> statuses(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      auto t = softmaxTensors(2 + i, 16);
      statuses[i] = runOnHost(**kernel, {i % 2 ? Place::Emulator : Place::Cpu}, t);
    });
  for (auto &t : threads)
    t.join();
  for (auto &s : statuses)
    EXPECT_EQ(s, absl::OkStatus());
}

TEST(Session, ErrorsCarrySourceLines) {
  auto session = Session::create(withCache(freshFolder()));
  ProgramOptions options;
  options.fileName = "f.kc";
  auto bad = session->compile("def f(x: f32[N]) -> (y: f32[N]) {\n  y[i] = x[i] + q[i]\n}", "", options);
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("f.kc:2:17: error: unknown tensor 'q'"));
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("  y[i] = x[i] + q[i]"));
  auto kernel = session->compile(kScale, "scael");
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(kernel.status().message()), HasSubstr("it defines scale"));
}

TEST(Session, ArgumentsAreCheckedBeforeAnythingRuns) {
  auto session = Session::create(withCache(freshFolder()));
  auto kernel = session->compile(kSoftmax);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = softmaxTensors(2, 8);
  std::vector<LaunchValue> values{t[0].deviceTensor(), t[0].deviceTensor()};
  absl::Status s = (*kernel)->call({Place::Cpu}, values);
  EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(s.message()), HasSubstr("overlaps parameter"));
  EXPECT_THAT(std::string((*kernel)->call({Place::Cpu}, {}).message()), HasSubstr("takes 2 arguments"));
}

TEST(Session, NoGpuIsAStatus) {
  auto session = Session::create(withCache(freshFolder()));
  std::string why;
  if (session->defaultPlace(&why).kind == Place::Cuda)
    GTEST_SKIP() << "there is a GPU: " << why;
  EXPECT_THAT(why, HasSubstr("cpu, because"));
  auto kernel = session->compile(kSoftmax);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto t = softmaxTensors(2, 8);
  EXPECT_FALSE(runOnHost(**kernel, {Place::Cuda}, t).ok());
}

TEST(Place, ParsesAndPrints) {
  for (const char *text : {"cpu", "emulator", "cuda:3"}) {
    auto place = parsePlace(text);
    ASSERT_TRUE(place.ok());
    EXPECT_EQ(toString(*place), text);
  }
  EXPECT_FALSE(parsePlace("cuda:-1").ok());
  EXPECT_FALSE(parsePlace("gpu").ok());
}

} // namespace
} // namespace kernelc
