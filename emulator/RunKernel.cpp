// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's launch path, on host memory.
#include "emulator/RunKernel.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "emulator/SparseMemory.h"
#include "emulator/TensorPages.h"
#include "support/TensorLayout.h"

namespace kernelc::emulator {
namespace {

/// Guarded memory for all buffers of a run: unmapped-looking gaps between them,
/// each starting at 256 bytes plus its placement.
class Arena {
public:
  static constexpr size_t kGap = 1 << 16;
  unsigned char *allocate(size_t bytes, size_t offset) {
    memory_.emplace_back(bytes + offset + 2 * kGap);
    return memory_.back().data() ? memory_.back().data() + kGap + offset : nullptr;
  }

private:
  std::vector<SparseMemory> memory_;
};

/// Visits the byte offset of every innermost run of elements.
template <class Fn> void forEachElement(const TensorView &v, Fn &&fn) {
  int64_t n = v.numElements();
  std::vector<int64_t> at(v.shape.size(), 0);
  for (int64_t e = 0; e < n; e++) {
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); i++)
      offset += at[i] * v.strides[i];
    fn(offset);
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < v.shape[i])
        break;
      at[i] = 0;
    }
  }
}

struct Placed {
  unsigned char *base = nullptr; ///< where the view's data pointer lands
  std::vector<ByteRange> pages;  ///< of the view
  SparseMemory initialised;      ///< a flag for each byte of its span
};

} // namespace

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

static std::vector<std::vector<int64_t>> stridesOf(const RunArguments &args) {
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

static absl::Status checkShapes(const Kernel &kernel, const RunArguments &args, const SizeEnv &env) {
  if (args.params.size() != kernel.params.size())
    return absl::InvalidArgumentError(
        absl::StrCat(kernel.name, " takes ", kernel.params.size(), " arguments, ", args.params.size(), " were given"));
  for (size_t i = 0; i < kernel.params.size(); i++) {
    const Param &p = kernel.params[i];
    const TensorView &v = args.params[i];
    if (v.type != p.type)
      return absl::InvalidArgumentError(absl::StrCat("'", p.name, "' is ", elementTypeName(p.type), ", not ", elementTypeName(v.type)));
    std::vector<int64_t> wanted;
    for (const SizeExpr &d : p.dims)
      wanted.push_back(d.evaluate(env));
    if (wanted != v.shape)
      return absl::InvalidArgumentError(
          absl::StrCat("'", p.name, "' has shape [", absl::StrJoin(v.shape, ", "), "], expected [", absl::StrJoin(wanted, ", "), "]"));
  }
  for (const Require &r : kernel.requires_)
    if (!r.condition.evaluate(env))
      return absl::InvalidArgumentError(absl::StrCat(r.loc.file, ":", r.loc.line, ": requires ", r.text));
  return absl::OkStatus();
}

absl::StatusOr<Report> KernelRunner::run(const RunArguments &args) const {
  const Kernel &kernel = *kernel_;
  auto sizes = solveSizes(kernel, args.params, args.sizes);
  if (!sizes.ok())
    return sizes.status();
  auto strides = stridesOf(args);
  SizeEnv env{*sizes, options_.smCount, strides};
  if (absl::Status s = checkShapes(kernel, args, env); !s.ok())
    return s;
  if (absl::Status s = checkVariant(kernel, *variant_, args, *sizes, options_.smCount); !s.ok())
    return s;

  Arena arena;
  std::vector<GlobalBuffer> buffers;
  std::vector<Placed> placed(kernel.params.size());
  for (size_t i = 0; i < kernel.params.size(); i++) {
    const Param &p = kernel.params[i];
    if (p.kind == ParamKind::Scalar)
      continue;
    const TensorView &v = args.params[i];
    Placed &at = placed[i];
    ByteRange span = spanOf(v);
    auto noMemory = [&](absl::string_view why) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for '", p.name, "' on the emulator, whose elements are spread over ",
                                                       span.size(), " bytes", why.empty() ? "" : ": ", why));
    };
    absl::StatusOr<std::vector<ByteRange>> pages = pagesOf(v);
    if (!pages.ok())
      return noMemory(pages.status().message());
    at.pages = *std::move(pages);
    uint32_t offset = i < args.placement.size() ? args.placement[i] : 0;
    // [0, .., 0] is not the lowest element where a stride is negative.
    unsigned char *low = arena.allocate(size_t(span.size()), (offset + uint64_t(span.low)) % 256);
    if (!low)
      return noMemory("");
    at.base = low - span.low;
    for (const ByteRange &r : at.pages)
      std::memcpy(at.base + r.low, static_cast<unsigned char *>(v.data) + r.low, size_t(r.size()));
    uint8_t *flags = nullptr; // of the byte [0, .., 0] starts at
    if (p.kind == ParamKind::Output && options_.checks && span.size()) {
      at.initialised = SparseMemory(size_t(span.size()) + 16);
      if (!at.initialised.data())
        return noMemory("");
      flags = at.initialised.data() - span.low;
      // Bytes between the elements of a strided output are nobody's to write, but
      // they hold values; only the elements start out unwritten.
      for (const ByteRange &r : at.pages)
        std::memset(flags + r.low, 1, size_t(r.size()));
      int64_t bits = elementBits(v.type), unit = std::max<int64_t>(1, bits / 8);
      forEachElement(v, [&](int64_t e) { std::memset(flags + e * bits / 8, 0, size_t(unit)); });
    }
    // What lies between pages of elements is outside, as long as these are few enough to tell apart.
    constexpr size_t kMostParts = 1024;
    bool whole = at.pages.empty() || at.pages.size() > kMostParts;
    for (const ByteRange &r : whole ? std::vector<ByteRange>{span} : at.pages)
      buffers.push_back({p.name, at.base + r.low, size_t(r.size()), p.kind != ParamKind::Input, flags ? flags + r.low : nullptr});
  }
  // Each workspace lies apart from the others, so that a step over its end is seen.
  std::map<int64_t, Placed> workspaces; // by offset
  auto place = [&](std::string name, int64_t offset, size_t bytes) {
    if (!bytes)
      return true;
    Placed &at = workspaces[offset];
    at.base = arena.allocate(bytes, 0);
    if (!at.base)
      return false;
    at.initialised = SparseMemory(bytes + 16);
    if (!at.initialised.data())
      return false;
    // Tickets are zero at entry; everything else must be written before it is read.
    buffers.push_back({std::move(name), at.base, bytes, true, options_.checks ? at.initialised.data() : nullptr, true});
    return true;
  };
  bool enough = true;
  for (const Workspace &w : variant_->workspaces)
    enough &= place(w.name, w.byteOffset.evaluate(env), size_t(std::max<int64_t>(0, w.bytes.evaluate(env))));
  if (variant_->workspaces.empty()) // not said what lies in it
    enough = place("workspace", 0, size_t(std::max<int64_t>(0, variant_->workspaceBytes.evaluate(env))));
  if (!enough)
    return absl::ResourceExhaustedError("no memory for the workspace");

  auto pointer = [&](const PointerArg &a) -> unsigned char * {
    int64_t offset = a.byteOffset.evaluate(env);
    if (a.param >= 0)
      return placed[size_t(a.param)].base + offset;
    auto w = workspaces.upper_bound(offset);
    if (w == workspaces.begin())
      return nullptr; // of no bytes
    --w;
    return w->second.base + (offset - w->first);
  };
  unsigned char *spare = arena.allocate(256, 0);
  if (!spare)
    return absl::ResourceExhaustedError("no memory for tensors without elements");
  buffers.push_back({"a tensor without elements", spare, 256, true, nullptr});
  Report all;
  all.seed = options_.seed;
  for (const Launch &launch : variant_->launches) {
    int64_t grid = launch.grid.evaluate(env);
    if (grid <= 0)
      continue;
    LaunchSpec spec;
    spec.entry = launch.entry;
    if (grid > 0x7fffffff)
      return absl::InvalidArgumentError(absl::StrCat(launch.entry, ": a grid of ", grid, " blocks"));
    spec.grid[0] = uint32_t(grid);
    spec.block[0] = launch.block;
    spec.cluster = launch.cluster;
    spec.sharedBytes = launch.sharedBytes.evaluate(env);
    spec.buffers = buffers;
    for (const LaunchArg &arg : launch.args) {
      if (const auto *p = std::get_if<PointerArg>(&arg)) {
        spec.args.push_back(packArg(pointer(*p)));
      } else if (const auto *s = std::get_if<ScalarArg>(&arg)) {
        const TensorView &v = args.params[size_t(s->param)];
        const auto *bytes = static_cast<const uint8_t *>(v.data);
        spec.args.emplace_back(bytes, bytes + std::max(1, elementBits(v.type) / 8));
      } else if (const auto *s = std::get_if<SizeArg>(&arg)) {
        int64_t v = s->value.evaluate(env);
        spec.args.push_back(s->bits == 32 ? packArg(int32_t(v)) : packArg(v));
      } else {
        const auto &m = std::get<TensorMapArg>(arg);
        HostTensorMap map;
        map.base = pointer(m.base);
        map.type = m.type;
        map.rank = int(m.dims.size());
        map.swizzleBytes = m.swizzleBytes;
        map.roundsToTf32 = m.roundsToTf32;
        for (int i = 0; i < map.rank && i < 5; i++) {
          map.dims[i] = uint64_t(m.dims[size_t(i)].evaluate(env));
          map.box[i] = m.box[size_t(i)];
          map.elementStrides[i] = size_t(i) < m.elementStrides.size() ? m.elementStrides[size_t(i)] : 1;
          if (i > 0)
            map.strides[i] = uint64_t(m.strides[size_t(i) - 1].evaluate(env));
        }
        // A window without elements becomes one over spare bytes, as in runtime/TensorMap.cpp.
        if (std::any_of(map.dims, map.dims + map.rank, [](uint64_t d) { return int64_t(d) <= 0; })) {
          map.base = spare;
          std::fill_n(map.dims, map.rank, 1);
          std::fill_n(map.strides, map.rank, 16);
        }
        std::vector<uint8_t> packed(128);
        if (absl::Status s = encodeTensorMap(map, packed.data()); !s.ok())
          return absl::InvalidArgumentError(absl::StrCat(launch.entry, ": ", s.message()));
        spec.args.push_back(std::move(packed));
      }
    }
    absl::StatusOr<Report> report = module_->launch(spec, options_);
    if (!report.ok())
      return report.status();
    all.findings.insert(all.findings.end(), report->findings.begin(), report->findings.end());
    all.counts += report->counts;
    all.sites.insert(all.sites.end(), report->sites.begin(), report->sites.end());
    all.steps += report->steps;
    if (!report->ok())
      break; // what follows would only report the consequences
  }
  for (size_t i = 0; i < kernel.params.size(); i++) {
    const Param &p = kernel.params[i];
    if (p.kind != ParamKind::Output && p.kind != ParamKind::InOut)
      continue;
    for (const ByteRange &r : placed[i].pages)
      std::memcpy(static_cast<unsigned char *>(args.params[i].data) + r.low, placed[i].base + r.low, size_t(r.size()));
    // An output element nobody wrote is a mistake even when nobody reads it.
    if (all.ok() && placed[i].initialised.data()) {
      int64_t missing = 0, first = -1, index = 0;
      const uint8_t *flags = placed[i].initialised.data() - spanOf(args.params[i]).low;
      forEachElement(args.params[i], [&](int64_t e) {
        if (!flags[e * elementBits(args.params[i].type) / 8]) {
          first = first < 0 ? index : first;
          missing++;
        }
        index++;
      });
      if (missing) {
        Finding f;
        f.kind = FindingKind::Uninitialised;
        f.kernel = kernel.name;
        f.message = absl::StrCat(kernel.name, ": ", missing, " elements of output '", p.name,
                                 "' were never written, the first at flat index ", first);
        all.findings.push_back(std::move(f));
      }
    }
  }
  return all;
}

absl::StatusOr<Report> runKernel(const Kernel &kernel, const Variant &variant, const RunArguments &args, const EmulatorOptions &options) {
  auto runner = KernelRunner::create(kernel, variant, options);
  if (!runner.ok())
    return runner.status();
  return runner->run(args);
}

} // namespace kernelc::emulator
