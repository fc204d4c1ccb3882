// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/MutantTrial.h"

#include "absl/strings/str_cat.h"
#include "driver/compile/PlanKernel.h"
#include "driver/compile/ScheduleFile.h"
#include "driver/compile/SizeExprOf.h"
#include "driver/verify/MutantArguments.h"
#include "support/Json.h"

using namespace mlir;

namespace kernelc {
namespace {

/// The index space of a statement and the tiles that its launch walks it in.
struct TiledSpace {
  std::vector<SizeExpr> extents;
  SmallVector<int64_t> tiles;
};

double pointsOf(ArrayRef<TiledSpace> spaces, const std::vector<int64_t> &sizes) {
  SizeEnv env{sizes, 3, {}};
  double points = 0;
  for (const TiledSpace &s : spaces) {
    double all = 1;
    for (const auto &[extent, tile] : llvm::zip(s.extents, s.tiles))
      all *= double(llvm::divideCeil(std::max<int64_t>(extent.evaluate(env), 0), tile) * tile);
    points += all;
  }
  return points;
}

/// The widest tiles of a trial: those of 64 (wgmma) and 32 (mma.sync) are what a few warps multiply at a time; CUDA cores take any.
int64_t widestTile(const te::LaunchPlan &launch, int64_t cores) {
  return launch.unit == Unit::Wgmma ? 64 : launch.unit == Unit::Mma ? 32 : cores;
}

/// Raises to `n` what is known of the sizes in the extent of the launch's index `i`.
void noteSizes(std::map<std::string, int64_t> &known, te::KernelOp kernel, const te::LaunchPlan &launch, unsigned i, int64_t n) {
  for (auto [s, name] : llvm::enumerate(kernel.getSizes()))
    if (launch.extents.getResult(i).isFunctionOfSymbol(unsigned(s))) {
      int64_t &value = known[cast<StringAttr>(name).str()];
      value = std::max(value, n);
    }
}

/// The records of products with small tiles, on CUDA cores of `cores`, and rings of three slots: the same text but for its
/// numbers, all of which small sizes reach. "" where the plan has none.
std::string smallTiles(ModuleOp module, const VariantOptions &options, const std::string &kernel, int64_t cores, TileWidths &widths,
                       SmallVectorImpl<TiledSpace> &spaces) {
  widths = {};
  spaces.clear();
  JsonArray records;
  absl::StatusOr<PlannedKernel> planned = planKernel(module, kernel, options);
  if (!planned.ok())
    return "";
  for (const te::LaunchPlan &l : planned->plan.launches) {
    for (unsigned i = 0; i < l.tiles.size(); ++i)
      noteSizes(widths.widest, planned->kernel, l, i, l.tiles[i]);
    SmallVector<int64_t> most(l.tiles);
    if (l.stages >= 2) {
      JsonObject tiles;
      for (auto [i, index] : llvm::enumerate(l.indices))
        if (int64_t widest = widestTile(l, cores); l.tiles[i] > widest) {
          tiles.push_back({index, widest});
          most[i] = widest;
        }
      const int64_t stages = std::min<int64_t>(l.stages, 3);
      for (unsigned i = 0; i < l.tiles.size(); ++i)
        if (!llvm::is_contained(l.grid, i))
          noteSizes(widths.depths, planned->kernel, l, i, most[i] * (stages + 1) + 1);
      records.push_back(JsonObject{{"kernel", kernel},
                                   {"launch", l.name},
                                   {"tiles", std::move(tiles)},
                                   {"stages", stages},
                                   {"warps", std::min<int64_t>(l.warps, 4)}});
    }
    for (ArrayRef<int64_t> dims : l.dims) { // (statements of one launch may sum over indices of their own)
      TiledSpace &space = spaces.emplace_back();
      for (int64_t d : dims) {
        space.extents.push_back(sizeExprOf(l.extents.getResult(unsigned(d))));
        space.tiles.push_back(most[d]);
      }
    }
  }
  return records.empty() ? "" : *printJson(records);
}

/// A variant of the kernel with small tiles, and arguments for it.
struct Trial {
  Kernel kernel; ///< its one variant
  std::vector<std::unique_ptr<MutantArguments>> arguments;
};

absl::StatusOr<Trial> makeTrial(Program &program, const Kernel &signature, const std::string &target, int64_t cores, double mostPoints) {
  Trial trial{signature, {}};
  Kernel &kernel = trial.kernel;
  kernel.variants.clear();
  TileWidths widths;
  std::map<size_t, SubscriptUse> uses;
  SmallVector<TiledSpace> spaces;
  absl::Status compiled = program.withModule([&](ModuleOp module) -> absl::Status {
    VariantOptions options;
    options.target = target;
    options.facts = denseFacts(kernel);
    OwningOpRef<ModuleOp> copy = module.clone();
    uses = findSubscriptUses(findKernel(*copy, kernel.name), kernel);
    std::string small = smallTiles(*copy, options, kernel.name, cores, widths, spaces);
    if (!small.empty() && attachSchedules(*copy, small, "small tiles", kernel.name).ok() && addVariant(*copy, options, kernel).ok())
      return absl::OkStatus();
    kernel.variants.clear();
    return addVariant(module, options, kernel); // a schedule that this kernel cannot have
  });
  if (!compiled.ok())
    return compiled;
  auto points = [&](const std::vector<int64_t> &sizes) { return pointsOf(spaces, sizes); };
  trial.arguments = pickMutantArguments(kernel, kernel.variants[0], widths, points, mostPoints, uses);
  return trial;
}

/// The trial with the widest tiles of which enough sets of small sizes take little time; else the one that takes least. Tiles are made
/// smaller for kernels of many indices, whose sums take more than their points say (those that are taken again exactly).
absl::StatusOr<Trial> findTrial(Program &program, const Kernel &signature, const std::string &target) {
  struct Step {
    int64_t cores;
    double mostPoints;
    size_t sets;
  };
  constexpr Step kSteps[] = {{32, 3e7, 6}, {16, 1e6, 6}, {8, 6e5, 3}, {8, 4e6, 1}, {8, 3e7, 1}, {8, 2e8, 1}, {8, 2e9, 1}};
  for (const Step &step : kSteps) {
    absl::StatusOr<Trial> trial = makeTrial(program, signature, target, step.cores, step.mostPoints);
    auto counts = [](const auto &a) { return !a->spare && !llvm::is_contained(a->args.sizes, 0); };
    if (!trial.ok() || size_t(llvm::count_if(trial->arguments, counts)) >= step.sets)
      return trial;
  }
  return absl::FailedPreconditionError(absl::StrCat("kernel '", signature.name, "': no small sizes are legal; give some with --set"));
}

} // namespace

absl::StatusOr<emulator::MutationScore> measureKernelMutants(Program &program, const Kernel &signature, const std::string &target,
                                                             const std::function<void(const emulator::Mutant &)> &judged, size_t jobs) {
  absl::StatusOr<Trial> trial = findTrial(program, signature, target);
  if (!trial.ok())
    return trial.status();
  std::vector<emulator::RunArguments> runs, spares;
  for (auto &a : trial->arguments)
    (a->spare ? spares : runs).push_back(a->args);
  emulator::EmulatorOptions options;
  options.smCount = 1; // a persistent block then walks several tiles even of small problems
  return emulator::measureMutants(trial->kernel, trial->kernel.variants[0], runs, options, judged, jobs, spares);
}

} // namespace kernelc
