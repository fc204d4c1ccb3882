// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/PackedLaunch.h"

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace kernelc {

void PackedLaunch::packArg(const PointerArg &arg, const CheckedArgs &args, size_t slot) {
  int64_t offset = arg.byteOffset.evaluate(args.env());
  if (arg.param < 0) {
    workspacePatches_.push_back({slot, offset});
    return;
  }
  argumentPatches_.push_back({slot, arg.param, offset});
  packArgument(argumentPatches_.back(), args);
}

void PackedLaunch::packArgument(const ArgumentPatch &patch, const CheckedArgs &args) {
  // Little endian: a scalar's low bits come first, whatever the type's width.
  const DeviceTensor *t = args.tensor(patch.param);
  uint64_t bits = t ? reinterpret_cast<cuda::DevicePtr>(t->data) + patch.offset : std::get<ScalarValue>(args.values[patch.param]).bits;
  std::memcpy(slots_[patch.slot].bytes, &bits, sizeof(bits));
}

void PackedLaunch::rebind(const CheckedArgs &args) {
  for (const ArgumentPatch &patch : argumentPatches_)
    packArgument(patch, args);
  for (MapPatch &patch : mapPatches_)
    if (patch.plan.param >= 0)
      patch.plan.base = reinterpret_cast<cuda::DevicePtr>(args.tensor(patch.plan.param)->data) + patch.plan.offset;
}

absl::StatusOr<PackedLaunch> PackedLaunch::pack(const Kernel &kernel, const Launch &launch, const LoadedEntry &entry,
                                                const CheckedArgs &args, Device &device) {
  PackedLaunch packed;
  packed.entry_ = entry;
  auto fail = [&](auto &&...parts) {
    return absl::InvalidArgumentError(absl::StrCat(locPrefix(kernel.loc), launch.entry, ": ", parts...));
  };
  int64_t grid = launch.grid.evaluate(args.env());
  if (grid < 0 || grid > std::numeric_limits<int32_t>::max())
    return fail("a grid of ", grid, " blocks is outside 0 to 2^31 - 1; the tensors are too large for this variant");
  if (grid % launch.cluster)
    return fail("a grid of ", grid, " blocks is no multiple of the cluster of ", launch.cluster);
  int64_t shared = launch.sharedBytes.evaluate(args.env());
  if (shared < 0 || shared > entry.maxDynamicShared)
    return fail("needs ", shared, " bytes of dynamic shared memory; at most ", entry.maxDynamicShared, " are left for it");
  packed.config_.gridX = unsigned(grid);
  packed.config_.gridY = packed.config_.gridZ = 1;
  packed.config_.blockX = launch.block;
  packed.config_.blockY = packed.config_.blockZ = 1;
  packed.config_.sharedBytes = unsigned(shared);
  packed.cluster_ = launch.cluster;
  packed.dependent_ = launch.dependent;
  if (grid == 0)
    return packed;

  packed.slots_.resize(launch.args.size());
  for (size_t i = 0; i < launch.args.size(); ++i) {
    unsigned char *bytes = packed.slots_[i].bytes;
    const LaunchArg &arg = launch.args[i];
    if (auto *pointer = std::get_if<PointerArg>(&arg)) {
      packed.packArg(*pointer, args, i);
    } else if (auto *scalar = std::get_if<ScalarArg>(&arg)) {
      packed.argumentPatches_.push_back({i, scalar->param, 0});
      packed.packArgument(packed.argumentPatches_.back(), args);
    } else if (auto *size = std::get_if<SizeArg>(&arg)) {
      int64_t value = size->value.evaluate(args.env());
      // The kernel may read it as signed or unsigned; outside both it is a wrong variant.
      if (size->bits == 32 && (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<uint32_t>::max()))
        return fail("argument ", i, " is ", value, ", which does not fit in 32 bits; the tensors are too large for this variant");
      std::memcpy(bytes, &value, sizeof(value));
    } else {
      absl::StatusOr<TensorMapPlan> plan = planTensorMap(kernel, std::get<TensorMapArg>(arg), args, device);
      if (!plan.ok())
        return plan.status();
      packed.mapPatches_.push_back({i, *plan});
    }
  }
  for (Slot &slot : packed.slots_)
    packed.params_.push_back(slot.bytes);
  return packed;
}

absl::Status PackedLaunch::launch(Device &device, cuda::StreamHandle stream, cuda::DevicePtr workspace) {
  const cuda::CudaDriver &d = device.driver();
  for (const WorkspacePatch &p : workspacePatches_) {
    cuda::DevicePtr address = workspace + p.offset;
    std::memcpy(slots_[p.slot].bytes, &address, sizeof(address));
  }
  for (const MapPatch &p : mapPatches_) {
    auto *map = reinterpret_cast<cuda::TensorMap *>(slots_[p.slot].bytes);
    if (cuda::Result r = encodeTensorMap(d, p.plan, workspace, map); r != cuda::kSuccess)
      return device.check(r, "cuTensorMapEncodeTiled", entry_.note);
  }
  cuda::LaunchAttribute attributes[2] = {};
  config_.stream = stream;
  config_.attributes = attributes;
  config_.numAttributes = 0;
  if (cluster_ > 1) {
    cuda::LaunchAttribute &cluster = attributes[config_.numAttributes++];
    cluster.id = cuda::kAttrClusterDimension;
    cluster.clusterDim = {cluster_, 1, 1};
  }
  if (dependent_) {
    cuda::LaunchAttribute &dependent = attributes[config_.numAttributes++];
    dependent.id = cuda::kAttrProgrammaticSerialization;
    dependent.flag = 1;
  }
  device.recordLaunch(entry_.note);
  return device.check(d.cuLaunchKernelEx(&config_, entry_.function, params_.data(), nullptr), "cuLaunchKernelEx", entry_.note);
}

} // namespace kernelc
