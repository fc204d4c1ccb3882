// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a run's tensors and workspaces lie, and its launches.
#include "emulator/PlacedRun.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kernelc::emulator {
namespace {

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

absl::Status checkShapes(const Kernel &kernel, const RunArguments &args, const SizeEnv &env) {
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

/// The bytes at `from` if they are not those of `before`, else `before`.
MemoryImage::Bytes imageOf(const uint8_t *from, size_t bytes, const MemoryImage::Bytes &before) {
  if (!from)
    return nullptr;
  if (before && std::memcmp(before->data(), from, bytes) == 0)
    return before;
  return std::make_shared<const std::vector<uint8_t>>(from, from + bytes);
}

bool isSame(const uint8_t *memory, size_t bytes, const MemoryImage::Bytes &image) {
  return !memory || std::memcmp(memory, image->data(), bytes) == 0;
}

} // namespace

unsigned char *PlacedRun::Arena::allocate(size_t bytes, size_t offset) {
  memory_.emplace_back(bytes + offset + 2 * kGap);
  return memory_.back().data() ? memory_.back().data() + kGap + offset : nullptr;
}

absl::StatusOr<std::unique_ptr<PlacedRun>> PlacedRun::create(const Kernel &kernel, const Variant &variant, const RunArguments &args,
                                                             const EmulatorOptions &options) {
  std::unique_ptr<PlacedRun> run(new PlacedRun(kernel, variant, args));
  auto sizes = solveSizes(kernel, args.params, args.sizes);
  if (!sizes.ok())
    return sizes.status();
  run->sizes_ = *std::move(sizes);
  run->strides_ = stridesOf(args);
  run->smCount_ = options.smCount;
  if (absl::Status s = checkShapes(kernel, args, run->env()); !s.ok())
    return s;
  if (absl::Status s = checkVariant(kernel, variant, args, run->sizes_, options.smCount); !s.ok())
    return s;
  if (absl::Status s = run->place(options); !s.ok())
    return s;
  return run;
}

absl::Status PlacedRun::placeParam(size_t param, bool checks) {
  const Param &p = kernel_.params[param];
  const TensorView &v = args_.params[param];
  Placed &at = placed_[param];
  ByteRange span = spanOf(v);
  auto noMemory = [&](absl::string_view why) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for '", p.name, "' on the emulator, whose elements are spread over ",
                                                     span.size(), " bytes", why.empty() ? "" : ": ", why));
  };
  absl::StatusOr<std::vector<ByteRange>> pages = pagesOf(v);
  if (!pages.ok())
    return noMemory(pages.status().message());
  at.pages = *std::move(pages);
  uint32_t offset = param < args_.placement.size() ? args_.placement[param] : 0;
  // [0, .., 0] is not the lowest element where a stride is negative.
  unsigned char *low = arena_.allocate(size_t(span.size()), (offset + uint64_t(span.low)) % 256);
  if (!low)
    return noMemory("");
  at.base = low - span.low;
  for (const ByteRange &r : at.pages)
    std::memcpy(at.base + r.low, static_cast<unsigned char *>(v.data) + r.low, size_t(r.size()));
  uint8_t *flags = nullptr; // of the byte [0, .., 0] starts at
  if (p.kind == ParamKind::Output && checks && span.size()) {
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
  for (const ByteRange &r : whole ? std::vector<ByteRange>{span} : at.pages) {
    buffers_.push_back({p.name, at.base + r.low, size_t(r.size()), p.kind != ParamKind::Input, flags ? flags + r.low : nullptr});
    ofOutput_.push_back(isWritten(param));
  }
  return absl::OkStatus();
}

bool PlacedRun::placeWorkspace(std::string name, int64_t offset, size_t bytes, bool checks) {
  if (!bytes)
    return true;
  Placed &at = workspaces_[offset];
  at.base = arena_.allocate(bytes, 0);
  at.initialised = SparseMemory(bytes + 16);
  if (!at.base || !at.initialised.data())
    return false;
  // The runtime promises nothing about what a workspace holds: what earlier calls and other kernels have left there.
  constexpr size_t kMostPoisoned = size_t(1) << 26; // of more, only what is touched shall take memory
  std::memset(at.base, 0xdb, std::min(bytes, kMostPoisoned));
  buffers_.push_back({std::move(name), at.base, bytes, true, checks ? at.initialised.data() : nullptr});
  ofOutput_.push_back(false);
  return true;
}

absl::Status PlacedRun::place(const EmulatorOptions &options) {
  placed_.resize(kernel_.params.size());
  for (size_t i = 0; i < kernel_.params.size(); i++)
    if (kernel_.params[i].kind != ParamKind::Scalar)
      if (absl::Status s = placeParam(i, options.checks); !s.ok())
        return s;
  // Each workspace lies apart from the others, so that a step over its end is seen.
  bool enough = true;
  auto bytesOf = [&](const SizeExpr &bytes) { return size_t(std::max<int64_t>(0, bytes.evaluate(env()))); };
  for (const Workspace &w : variant_.workspaces)
    enough &= placeWorkspace(w.name, w.byteOffset.evaluate(env()), bytesOf(w.bytes), options.checks);
  if (variant_.workspaces.empty()) // not said what lies in it
    enough = placeWorkspace("workspace", 0, bytesOf(variant_.workspaceBytes), options.checks);
  if (!enough)
    return absl::ResourceExhaustedError("no memory for the workspace");
  spare_ = arena_.allocate(256, 0);
  if (!spare_)
    return absl::ResourceExhaustedError("no memory for tensors without elements");
  buffers_.push_back({"a tensor without elements", spare_, 256, true, nullptr});
  ofOutput_.push_back(false);
  return absl::OkStatus();
}

unsigned char *PlacedRun::addressOf(const PointerArg &arg, const SizeEnv &env) const {
  int64_t offset = arg.byteOffset.evaluate(env);
  if (arg.param >= 0)
    return placed_[size_t(arg.param)].base + offset;
  auto w = workspaces_.upper_bound(offset);
  if (w == workspaces_.begin())
    return nullptr; // of no bytes
  --w;
  return w->second.base + (offset - w->first);
}

absl::StatusOr<std::vector<uint8_t>> PlacedRun::packTensorMap(const TensorMapArg &arg, const SizeEnv &env, const std::string &entry) const {
  HostTensorMap map;
  map.base = addressOf(arg.base, env);
  map.type = arg.type;
  map.rank = int(arg.dims.size());
  map.swizzleBytes = arg.swizzleBytes;
  map.roundsToTf32 = arg.roundsToTf32;
  for (int i = 0; i < map.rank && i < 5; i++) {
    map.dims[i] = uint64_t(arg.dims[size_t(i)].evaluate(env));
    map.box[i] = uint32_t(arg.box[size_t(i)].evaluate(env));
    map.elementStrides[i] = size_t(i) < arg.elementStrides.size() ? arg.elementStrides[size_t(i)] : 1;
    if (i > 0)
      map.strides[i] = uint64_t(arg.strides[size_t(i) - 1].evaluate(env));
  }
  // A window without elements becomes one over spare bytes, as in runtime/TensorMap.cpp.
  if (std::any_of(map.dims, map.dims + map.rank, [](uint64_t d) { return int64_t(d) <= 0; })) {
    map.base = spare_;
    std::fill_n(map.dims, map.rank, 1);
    std::fill_n(map.strides, map.rank, 16);
  }
  std::vector<uint8_t> packed(128);
  if (absl::Status s = encodeTensorMap(map, packed.data()); !s.ok())
    return absl::InvalidArgumentError(absl::StrCat(entry, ": ", s.message()));
  return packed;
}

absl::StatusOr<Report> PlacedRun::launch(size_t number, const EmulatedModule &module, const EmulatorOptions &options) {
  const Launch &launch = variant_.launches[number];
  const SizeEnv env = this->env();
  int64_t grid = launch.grid.evaluate(env);
  if (grid <= 0)
    return Report();
  LaunchSpec spec;
  spec.entry = launch.entry;
  if (grid > 0x7fffffff)
    return absl::InvalidArgumentError(absl::StrCat(launch.entry, ": a grid of ", grid, " blocks"));
  spec.grid[0] = uint32_t(grid);
  spec.block[0] = launch.block;
  spec.cluster = launch.cluster;
  spec.sharedBytes = launch.sharedBytes.evaluate(env);
  spec.buffers = buffers_;
  for (const LaunchArg &arg : launch.args) {
    if (const auto *p = std::get_if<PointerArg>(&arg)) {
      spec.args.push_back(packArg(addressOf(*p, env)));
    } else if (const auto *s = std::get_if<ScalarArg>(&arg)) {
      const TensorView &v = args_.params[size_t(s->param)];
      const auto *bytes = static_cast<const uint8_t *>(v.data);
      spec.args.emplace_back(bytes, bytes + std::max(1, elementBits(v.type) / 8));
    } else if (const auto *s = std::get_if<SizeArg>(&arg)) {
      int64_t v = s->value.evaluate(env);
      spec.args.push_back(s->bits == 32 ? packArg(int32_t(v)) : packArg(v));
    } else {
      absl::StatusOr<std::vector<uint8_t>> map = packTensorMap(std::get<TensorMapArg>(arg), env, launch.entry);
      if (!map.ok())
        return map.status();
      spec.args.push_back(*std::move(map));
    }
  }
  return module.launch(spec, options);
}

void PlacedRun::copyBack() const {
  for (size_t i = 0; i < kernel_.params.size(); i++)
    if (isWritten(i))
      for (const ByteRange &r : placed_[i].pages)
        std::memcpy(static_cast<unsigned char *>(args_.params[i].data) + r.low, placed_[i].base + r.low, size_t(r.size()));
}

void PlacedRun::findUnwritten(Report &report) const {
  for (size_t i = 0; i < kernel_.params.size() && report.ok(); i++) {
    if (!isWritten(i) || !placed_[i].initialised.data())
      continue;
    // An output element nobody wrote is a mistake even when nobody reads it.
    int64_t missing = 0, first = -1, index = 0;
    const uint8_t *flags = placed_[i].initialised.data() - spanOf(args_.params[i]).low;
    forEachElement(args_.params[i], [&](int64_t e) {
      if (!flags[e * elementBits(args_.params[i].type) / 8]) {
        first = first < 0 ? index : first;
        missing++;
      }
      index++;
    });
    if (missing) {
      Finding f;
      f.kind = FindingKind::Uninitialised;
      f.kernel = kernel_.name;
      f.message = absl::StrCat(kernel_.name, ": ", missing, " elements of output '", kernel_.params[i].name,
                               "' were never written, the first at flat index ", first);
      report.findings.push_back(std::move(f));
    }
  }
}

MemoryImage PlacedRun::save(const MemoryImage *before) const {
  MemoryImage image;
  for (size_t i = 0; i < buffers_.size(); i++) {
    const GlobalBuffer &b = buffers_[i];
    const auto *bytes = b.writable ? static_cast<const uint8_t *>(b.base) : nullptr;
    image.bytes.push_back(imageOf(bytes, b.bytes, before ? before->bytes[i] : nullptr));
    image.written.push_back(imageOf(b.initialised, b.bytes, before ? before->written[i] : nullptr));
  }
  return image;
}

void PlacedRun::load(const MemoryImage &image) {
  for (size_t i = 0; i < buffers_.size(); i++) {
    if (image.bytes[i])
      std::memcpy(buffers_[i].base, image.bytes[i]->data(), buffers_[i].bytes);
    if (image.written[i])
      std::memcpy(buffers_[i].initialised, image.written[i]->data(), buffers_[i].bytes);
  }
}

bool PlacedRun::holds(const MemoryImage &image) const {
  for (size_t i = 0; i < buffers_.size(); i++)
    if (buffers_[i].writable && (!isSame(static_cast<const uint8_t *>(buffers_[i].base), buffers_[i].bytes, image.bytes[i]) ||
                                 !isSame(buffers_[i].initialised, buffers_[i].bytes, image.written[i])))
      return false;
  return true;
}

bool PlacedRun::hasOutputsOf(const MemoryImage &image) const {
  for (size_t i = 0; i < buffers_.size(); i++)
    if (ofOutput_[i] && !isSame(static_cast<const uint8_t *>(buffers_[i].base), buffers_[i].bytes, image.bytes[i]))
      return false;
  return true;
}

} // namespace kernelc::emulator
