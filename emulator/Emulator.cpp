// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The public entry points: argument checking around HostCompiler and Machine.
#include "emulator/Emulator.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "emulator/HostCompiler.h"
#include "emulator/Machine.h"
#include "emulator/TensorMap.h"
#include "support/Interrupt.h"

namespace kernelc::emulator {

EmulatedModule::EmulatedModule(std::shared_ptr<LoadedText> text, EmulatorOptions options)
    : text_(std::move(text)), options_(std::move(options)) {}
EmulatedModule::~EmulatedModule() = default;

absl::StatusOr<std::unique_ptr<EmulatedModule>> EmulatedModule::compile(absl::string_view text, const EmulatorOptions &options) {
  return std::move(compileAll({std::string(text)}, options).front());
}

std::vector<absl::StatusOr<std::unique_ptr<EmulatedModule>>> EmulatedModule::compileAll(absl::Span<const std::string> texts,
                                                                                        const EmulatorOptions &options) {
  std::vector<absl::StatusOr<std::unique_ptr<EmulatedModule>>> modules;
  for (auto &loaded : LoadedText::load(texts, options))
    if (loaded.ok())
      modules.push_back(std::unique_ptr<EmulatedModule>(new EmulatedModule(*std::move(loaded), options)));
    else
      modules.push_back(loaded.status());
  return modules;
}

std::vector<std::string> EmulatedModule::entries() const {
  std::vector<std::string> names;
  for (unsigned i = 0; i < text_->module().count; i++)
    names.push_back(text_->module().entries[i].name);
  return names;
}

static absl::Status checkLaunch(const LaunchSpec &spec, const kce::Entry &entry, const EmulatorOptions &options) {
  auto bad = [&](auto &&...parts) { return absl::InvalidArgumentError(absl::StrCat("launch of ", spec.entry, ": ", parts...)); };
  uint64_t threads = uint64_t(spec.block[0]) * spec.block[1] * spec.block[2];
  if (threads == 0 || threads > 1024)
    return bad("a block of ", threads, " threads; 1 to 1024 are possible");
  if (entry.maxThreads && threads > entry.maxThreads)
    return bad("a block of ", threads, " threads exceeds __launch_bounds__(", entry.maxThreads, ")");
  if (spec.cluster == 0 || spec.cluster > 16 || spec.grid[0] % spec.cluster)
    return bad("a grid of ", spec.grid[0], " is no multiple of the cluster of ", spec.cluster);
  if (spec.grid[1] > 65535 || spec.grid[2] > 65535 || spec.grid[0] > 0x7fffffffu)
    return bad("grid ", spec.grid[0], "x", spec.grid[1], "x", spec.grid[2], " is beyond the device's limits");
  if (spec.sharedBytes < 0 || spec.sharedBytes > options.maxSharedBytes)
    return bad(spec.sharedBytes, " bytes of shared memory; the device has ", options.maxSharedBytes);
  if (spec.args.size() != entry.count)
    return bad(spec.args.size(), " arguments for ", entry.count, " parameters");
  for (unsigned i = 0; i < entry.count; i++)
    if (spec.args[i].size() != entry.sizes[i])
      return bad("argument ", i, " has ", spec.args[i].size(), " bytes, the parameter ", entry.sizes[i]);
  return absl::OkStatus();
}

absl::StatusOr<Report> EmulatedModule::launch(const LaunchSpec &spec) const { return launch(spec, options_); }

absl::StatusOr<Report> EmulatedModule::launch(const LaunchSpec &spec, const EmulatorOptions &options) const {
  const kce::Entry *entry = text_->findEntry(spec.entry);
  if (!entry)
    return absl::NotFoundError(absl::StrCat("the text has no entry '", spec.entry, "'; it has ", absl::StrJoin(entries(), ", ")));
  if (absl::Status s = checkLaunch(spec, *entry, options); !s.ok())
    return s;
  if (uint64_t(spec.grid[0]) * spec.grid[1] * spec.grid[2] == 0)
    return Report();
  std::lock_guard<std::mutex> lock(text_->inUse());
  EmulatorOptions effective = options;
  effective.checks = options.checks && options_.checks; // the build decides
  Report report = Machine(*text_, *entry, spec, effective).run();
  if (isInterrupted())
    return absl::CancelledError("interrupted");
  return report;
}

absl::Status encodeTensorMap(const HostTensorMap &map, void *out128) {
  auto bad = [](auto &&...parts) { return absl::InvalidArgumentError(absl::StrCat("tensor map: ", parts...)); };
  uint64_t element = uint64_t(elementBits(map.type)) / 8;
  if (map.rank < 1 || map.rank > 5 || element == 0)
    return bad("rank ", map.rank, " of ", elementTypeName(map.type), "; ranks are 1 to 5, elements whole bytes");
  if (reinterpret_cast<uintptr_t>(map.base) % 16)
    return bad("the base address is not a multiple of 16");
  for (int i = 0; i < map.rank; i++) {
    if (map.dims[i] == 0 || map.dims[i] > (1ull << 32))
      return bad("dimension ", i, " is ", map.dims[i]);
    if (map.box[i] == 0 || map.box[i] > 256)
      return bad("box dimension ", i, " is ", map.box[i], "; 1 to 256 are possible");
    if (map.elementStrides[i] == 0 || map.elementStrides[i] > 8)
      return bad("element stride ", i, " is ", map.elementStrides[i], "; 1 to 8 are possible");
    if (i > 0 && (map.strides[i] % 16 || map.strides[i] >= (1ull << 40)))
      return bad("stride ", i, " is ", map.strides[i], " bytes, not a multiple of 16 below 2^40");
  }
  if (map.roundsToTf32 && map.type != ElementType::f32)
    return bad("only f32 is rounded to tf32, not ", elementTypeName(map.type));
  uint64_t inner = map.box[0] * element;
  if (inner % 16)
    return bad("the box's inner dimension is ", inner, " bytes, not a multiple of 16");
  if (map.swizzleBytes != 0 && map.swizzleBytes != 32 && map.swizzleBytes != 64 && map.swizzleBytes != 128)
    return bad("a swizzle of ", map.swizzleBytes, " bytes; 0, 32, 64 or 128");
  if (map.swizzleBytes && inner > uint64_t(map.swizzleBytes))
    return bad("the box's inner dimension of ", inner, " bytes exceeds the swizzle of ", map.swizzleBytes);
  PackedTensorMap packed;
  packed.base = reinterpret_cast<uint64_t>(map.base);
  packed.type = uint8_t(map.type);
  packed.rank = uint8_t(map.rank);
  packed.swizzleBytes = uint8_t(map.swizzleBytes);
  packed.roundsToTf32 = map.roundsToTf32;
  for (int i = 0; i < map.rank; i++) {
    packed.lastIndex[i] = uint32_t(map.dims[i] - 1);
    packed.box[i] = uint16_t(map.box[i]);
    packed.elementStrides[i] = uint8_t(map.elementStrides[i]);
    packed.strides[i] = i ? map.strides[i] : element;
  }
  std::memset(out128, 0, 128);
  std::memcpy(out128, &packed, sizeof packed);
  return absl::OkStatus();
}

} // namespace kernelc::emulator
