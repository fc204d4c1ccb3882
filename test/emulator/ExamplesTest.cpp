// Every example, compiled for sm_80 and sm_90a, on the emulator at small awkward
// sizes: no findings, every output within the oracle's bound; and how many of the
// mutants of a few of them the checks detect. The seed is in the test's name.
#include "test/emulator/ExampleHarness.h"

#include "emulator/Mutate.h"
#include "passes/te/PlanAttr.h"
#include "support/Json.h"

namespace kernelc::emulator {
namespace {

class Examples : public ::testing::TestWithParam<Case> {};

TEST_P(Examples, AgreeWithTheOracleWithoutFindings) {
  CompiledExample e = compileExample(GetParam());
  if (!e.skip.empty()) // a diagnostic is an answer, a crash is not
    GTEST_SKIP() << "the compiler does not support it yet: " << e.skip;
  ASSERT_EQ(e.error, "");
  EXPECT_EQ(compareWithOracle(e, 20251121, 3), "") << e.variant().cudaText;
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(allCases()), [](const auto &info) {
  return info.param.kernel + "_" + info.param.target + (info.param.general ? "_general" : "") +
         "_seed20251121";
});

/// The line of `text` that holds its nth character, from 1.
int lineOf(const std::string &text, size_t at) {
  return 1 + int(std::count(text.begin(), text.begin() + int64_t(at), '\n'));
}

TEST(ExampleFindings, NameTheCudaLineAndTheSourceLine) {
  CompiledExample e = compileText("def normal(x: f32[M, N]) -> (y: f32[M, N]) {\n"
                                  "  let s[i] = max[j](x[i, j])\n"
                                  "  let t[i] = sum[j](exp(x[i, j] - s[i]))\n"
                                  "  y[i, j] = x[i, j] / t[i]\n"
                                  "}\n",
                                  "folder/normal.kc", {"", "normal", "sm_80"});
  ASSERT_EQ(e.error + e.skip, "");
  // Without the barrier of the first reduction, line 2.
  std::string &text = e.kernel.variants[0].cudaText;
  size_t barrier = text.find("__syncthreads();"), write = text.rfind("partials[warp] = ", barrier);
  ASSERT_NE(barrier, std::string::npos) << text;
  ASSERT_NE(write, std::string::npos) << text;
  text.replace(barrier, 16, ";               ");
  EmulatorOptions options;
  options.seed = 1; // in order, the first threads would read what nobody has written yet
  auto runner = KernelRunner::create(e.kernel, e.variant(), options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  auto run = pickArguments(e, 1, 1);
  ASSERT_FALSE(run.empty());
  auto report = runner->run(run[0]->args);
  ASSERT_TRUE(report.ok()) << report.status();
  auto race = llvm::find_if(report->findings, [](const Finding &f) { return f.kind == FindingKind::DataRace; });
  ASSERT_NE(race, report->findings.end()) << report->toString() << text;
  const Finding &f = *race;
  const Party &writer = f.first.what == "write" ? f.first : f.second;
  EXPECT_EQ(writer.where.line, lineOf(text, write)) << text;
  for (const Party &p : {f.first, f.second}) {
    EXPECT_EQ(p.where.sourceFile, "normal.kc");
    EXPECT_EQ(p.where.sourceLine, 2);
  }
  EXPECT_THAT(f.message, ::testing::HasSubstr("(normal.kc:2)"));
}

/// `text` without the fences of those who read a slot and give it back, as it was emitted once.
std::string withoutFencesOfReaders(std::string text) {
  const std::string fence = "kc_fence_proxy_async();\n";
  for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    size_t next = text.find_first_not_of(' ', at + fence.size());
    if (text.compare(next, 12, "__syncwarp()") == 0)
      text.erase(at, fence.size() - 1);
  }
  return text;
}

struct SlotReaders {
  const char *name, *file, *kernel, *schedule;
};
class ExampleProxyFences : public ::testing::TestWithParam<SlotReaders> {};

TEST_P(ExampleProxyFences, OfReadersAreMissed) {
  const SlotReaders &c = GetParam();
  auto schedule = [&](mlir::ModuleOp, const VariantOptions &) { return std::string(c.schedule); };
  CompiledExample e = compileText(readFile(std::string(KERNELC_EXAMPLES) + "/" + c.file), c.file, {"", c.kernel, "sm_90a"}, schedule);
  ASSERT_EQ(e.error + e.skip, "");
  auto run = pickArguments(e, 1, 1, {.only = {{"M", 72}, {"N", 264}, {"K", 520}}});
  ASSERT_FALSE(run.empty());
  auto report = [&] {
    auto runner = KernelRunner::create(e.kernel, e.variant(), {});
    EXPECT_TRUE(runner.ok()) << runner.status();
    auto report = runner->run(run[0]->args);
    EXPECT_TRUE(report.ok()) << report.status();
    return *report;
  };
  EXPECT_TRUE(report().ok()) << report().toString();
  std::string &text = e.kernel.variants[0].cudaText, before = text;
  text = withoutFencesOfReaders(text);
  ASSERT_NE(text, before);
  Report r = report();
  auto missing = llvm::find_if(r.findings, [](const Finding &f) { return f.kind == FindingKind::ProxyFence; });
  ASSERT_NE(missing, r.findings.end()) << r.toString();
  EXPECT_THAT(missing->message, ::testing::HasSubstr("without fence.proxy.async by the reader"));
  EXPECT_EQ(missing->first.where.sourceFile, c.file);
  EXPECT_EQ(missing->second.what, "read");
}

INSTANTIATE_TEST_SUITE_P(
    Hopper, ExampleProxyFences,
    ::testing::Values(SlotReaders{"residual", "linear_residual.kc", "linear_residual", ""},
                      SlotReaders{"products", "sum_of_products.kc", "sum_of_products", ""},
                      SlotReaders{"mma", "linear.kc", "linear",
                                  R"([{"kernel": "linear", "launch": "y", "unit": "mma", "warps": 4, "producer_warps": 4}])"},
                      SlotReaders{"simt", "linear.kc", "linear",
                                  R"([{"kernel": "linear", "launch": "y", "unit": "simt", "warps": 4, "producer_warps": 4}])"}),
    [](const auto &info) { return std::string(info.param.name); });

class ExampleMutants : public ::testing::TestWithParam<Case> {};

/// Per size, the widest tile of an index whose extent it is in.
using TileWidths = std::map<std::string, int64_t>;

/// The records of products with tiles of 64 and rings of three slots: the same text but
/// for its numbers, all of which small sizes reach.
std::string smallTiles(mlir::ModuleOp module, const VariantOptions &options, const std::string &kernel, TileWidths &widths) {
  JsonArray records;
  mlir::OwningOpRef<mlir::ModuleOp> planned = runPipeline(module, options, Stage::Plan);
  if (!planned)
    return "";
  for (auto op : planned->getOps<te::KernelOp>()) {
    auto plan = te::getPlan(op);
    if (op.getSymName() != kernel || mlir::failed(plan))
      continue;
    for (const te::LaunchPlan &l : plan->launches) {
      for (unsigned i = 0; i < l.tiles.size(); ++i)
        for (unsigned s = 0; s < op.getNumSizes(); ++s)
          if (l.extents.getResult(i).isFunctionOfSymbol(s)) {
            int64_t &width = widths[mlir::cast<mlir::StringAttr>(op.getSizes()[s]).str()];
            width = std::max(width, l.tiles[i]);
          }
      if (l.stages < 2)
        continue;
      JsonObject tiles;
      for (auto [i, index] : llvm::enumerate(l.indices))
        if (int64_t most = l.unit == "wgmma" ? 64 : 32; l.tiles[i] > most)
          tiles.push_back({index, most});
      JsonObject record{{"kernel", kernel}, {"launch", l.name}, {"tiles", std::move(tiles)}, {"stages", std::min<int64_t>(l.stages, 3)},
                        {"warps", std::min<int64_t>(l.warps, 4)}};
      records.push_back(std::move(record));
    }
  }
  return records.empty() ? "" : *printJson(records);
}

/// n for as many sizes as a run has time for, those of wide tiles first, and 2 for the others.
std::map<std::string, int64_t> wideSizes(const TileWidths &widths, int64_t n) {
  constexpr double kPoints = 5e5;
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto &[name, width] : widths)
    order.push_back({-width, name});
  std::sort(order.begin(), order.end());
  std::map<std::string, int64_t> sizes;
  double points = 1;
  for (const auto &[width, name] : order) {
    bool wide = points * double(n) <= kPoints;
    points *= wide ? double(n) : 1;
    sizes[name] = wide ? n : 2;
  }
  return sizes;
}

TEST_P(ExampleMutants, AreDetected) {
  const Case &c = GetParam();
  TileWidths widths;
  ScheduleFor schedule = [&](mlir::ModuleOp module, const VariantOptions &options) { return smallTiles(module, options, c.kernel, widths); };
  CompiledExample e = compileText(readFile(c.file), std::filesystem::path(c.file).filename().string(), c, schedule);
  if (!e.skip.empty()) // a schedule that this kernel cannot have
    e = compileExample(c);
  if (!e.skip.empty())
    GTEST_SKIP() << e.skip;
  ASSERT_EQ(e.error, "");
  auto picked = pickArguments(e, 7, 3);
  for (auto &p : pickArguments(e, 8, 3, {.large = true}))
    picked.push_back(std::move(p));
  // A tile and a bit of the next one along indices that are cut: there a tile that is copied ahead ends within.
  for (int64_t n : {24, 40, 72})
    for (auto &p : pickArguments(e, 9, 1, {.only = wideSizes(widths, n)}))
      picked.push_back(std::move(p));
  std::vector<RunArguments> runs;
  for (auto &p : picked)
    runs.push_back(p->args);
  EmulatorOptions options;
  options.smCount = 1; // a persistent block then walks several tiles even of small problems
  auto score = measureMutants(e.kernel, e.variant(), runs, options);
  ASSERT_TRUE(score.ok()) << score.status();
  std::printf("| %s | %s | %d | %d | %d | %d |\n", GetParam().kernel.c_str(), GetParam().target.c_str(), score->total, score->detected,
              score->redundant, score->missed);
  std::fflush(stdout);
  EXPECT_GE(score->percent(), 98.0) << score->toString();
}

/// Where every synchronisation and mask is needed. Pipelined products keep guards
/// of loads that masks make harmless anyway; `kernelc check --mutate` reports them.
std::vector<Case> tightCases() {
  std::vector<Case> cases;
  for (const Case &c : allCases())
    if (std::getenv("KERNELC_MUTATE_ALL") ? !c.general : c.target == "sm_90a" && (c.kernel == "softmax_rows" || c.kernel == "row_logsumexp" ||
                                 c.kernel == "layer_norm" || c.kernel == "transpose"))
      cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Tight, ExampleMutants, ::testing::ValuesIn(tightCases()),
                         [](const auto &info) { return info.param.kernel + "_" + info.param.target; });

} // namespace
} // namespace kernelc::emulator
