// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's launch path, on host memory: sizes, variants and whole runs.
#include "emulator/RunKernel.h"

#include "absl/strings/str_cat.h"
#include "emulator/PlacedRun.h"
#include "support/TensorLayout.h"

namespace kernelc::emulator {
absl::StatusOr<std::vector<int64_t>> solveSizes(const Kernel &kernel, absl::Span<const TensorView> params,
                                                absl::Span<const int64_t> given) {
  std::vector<int64_t> sizes(kernel.sizes.size(), 0);
  for (size_t i = 0; i < sizes.size(); i++) {
    const SizeRecipe &r = kernel.sizes[i];
    if (r.constant) {
      sizes[i] = *r.constant;
    } else if (r.param >= 0) {
      if (size_t(r.param) >= params.size() || size_t(r.dim) >= params[r.param].shape.size())
        return absl::InvalidArgumentError(
            absl::StrCat("size ", r.name, " needs dimension ", r.dim, " of '", kernel.params[r.param].name, "'"));
      int64_t extent = params[r.param].shape[r.dim], value = extent - r.offset;
      if (r.scale == 0 || value % r.scale)
        return absl::InvalidArgumentError(absl::StrCat("dimension ", r.dim, " of '", kernel.params[r.param].name, "' is ", extent,
                                                       ", which is not ", r.scale, " * ", r.name, " + ", r.offset));
      sizes[i] = value / r.scale;
    } else if (i < given.size()) {
      sizes[i] = given[i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat("nothing determines size ", r.name));
    }
    if (!r.constant && i < given.size() && given[i] != sizes[i])
      return absl::InvalidArgumentError(absl::StrCat("size ", r.name, " is ", sizes[i], " by the tensors, ", given[i], " was given"));
  }
  return sizes;
}

std::vector<std::vector<int64_t>> stridesOf(const RunArguments &args) {
  std::vector<std::vector<int64_t>> strides;
  for (const TensorView &v : args.params)
    strides.push_back(visibleStrides(v.type, v.shape, v.strides));
  return strides;
}

absl::Status checkVariant(const Kernel &kernel, const Variant &variant, const RunArguments &args, absl::Span<const int64_t> sizes,
                          int smCount) {
  auto strides = stridesOf(args);
  SizeEnv env{sizes, smCount, strides};
  if (!variant.guard.empty() && !variant.guard.evaluate(env))
    return absl::FailedPreconditionError(absl::StrCat("variant ", variant.name, " does not apply: ", variant.guardText));
  for (size_t i = 0; i < variant.params.size() && i < args.params.size(); i++) {
    const TensorView &v = args.params[i];
    const ParamGuard &g = variant.params[i];
    if (kernel.params[i].kind == ParamKind::Scalar)
      continue;
    if (v.numElements() == 0)
      continue;
    if (!hasLayout(g, v.type, v.shape, v.strides))
      return absl::FailedPreconditionError(
          absl::StrCat("variant ", variant.name, " does not take the strides of '", kernel.params[i].name, "'"));
    uint32_t offset = i < args.placement.size() ? args.placement[i] : 0;
    if (g.alignment && offset % g.alignment)
      return absl::FailedPreconditionError(
          absl::StrCat("variant ", variant.name, " needs '", kernel.params[i].name, "' aligned to ", g.alignment, " bytes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelRunner> KernelRunner::create(const Kernel &kernel, const Variant &variant, const EmulatorOptions &options) {
  return std::move(createAll({Text{&kernel, &variant}}, options).front());
}

std::vector<absl::StatusOr<KernelRunner>> KernelRunner::createAll(absl::Span<const Text> texts, const EmulatorOptions &options) {
  std::vector<std::string> sources;
  for (const Text &t : texts)
    sources.push_back(t.variant->cudaText);
  std::vector<absl::StatusOr<KernelRunner>> runners;
  auto modules = EmulatedModule::compileAll(sources, options);
  for (size_t i = 0; i < texts.size(); i++)
    if (modules[i].ok())
      runners.push_back(
          KernelRunner(*texts[i].kernel, *texts[i].variant, options, std::shared_ptr<EmulatedModule>(*std::move(modules[i]))));
    else
      runners.push_back(modules[i].status());
  return runners;
}

absl::StatusOr<Report> KernelRunner::run(const RunArguments &args) const {
  absl::StatusOr<std::unique_ptr<PlacedRun>> placed = PlacedRun::create(*kernel_, *variant_, args, options_);
  if (!placed.ok())
    return placed.status();
  Report all;
  all.seed = options_.seed;
  for (size_t i = 0; i < (*placed)->launches() && all.ok(); i++) { // what follows a finding would only report the consequences
    absl::StatusOr<Report> report = (*placed)->launch(i, *module_, options_);
    if (!report.ok())
      return report.status();
    all.findings.insert(all.findings.end(), report->findings.begin(), report->findings.end());
    all.counts += report->counts;
    all.sites.insert(all.sites.end(), report->sites.begin(), report->sites.end());
    all.steps += report->steps;
  }
  (*placed)->copyBack();
  if (all.ok())
    (*placed)->findUnwritten(all);
  return all;
}

absl::StatusOr<Report> runKernel(const Kernel &kernel, const Variant &variant, const RunArguments &args, const EmulatorOptions &options) {
  auto runner = KernelRunner::create(kernel, variant, options);
  if (!runner.ok())
    return runner.status();
  return runner->run(args);
}

} // namespace kernelc::emulator
