// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One kernel launch with every argument laid out as the driver wants it. Internal
// to BoundLaunch.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/LoadedVariant.h"
#include "runtime/TensorMap.h"

namespace kernelc {

class PackedLaunch {
public:
  PackedLaunch() = default;
  PackedLaunch(PackedLaunch &&) noexcept = default; // the heap blocks stay, so params_ stays valid
  PackedLaunch &operator=(PackedLaunch &&) noexcept = default;

  /// Evaluates grid, shared bytes and arguments. Empty when the grid is 0.
  static absl::StatusOr<PackedLaunch> pack(const Kernel &kernel, const Launch &launch, const LoadedEntry &entry, const CheckedArgs &args,
                                           Device &device);
  /// The same launch on other addresses and scalars. The new addresses are aligned as the old ones.
  void rebind(const CheckedArgs &args);
  bool isEmpty() const { return config_.gridX == 0; }
  const LaunchNote *note() const { return entry_.note; }
  /// Fills in the workspace's address, encodes tensor maps, launches.
  absl::Status launch(Device &device, cuda::StreamHandle stream, cuda::DevicePtr workspace);

private:
  struct alignas(128) Slot { ///< room for the largest argument
    unsigned char bytes[128];
  };
  struct WorkspacePatch {
    size_t slot;
    int64_t offset;
  };
  struct ArgumentPatch { ///< a tensor's address and the offset from it, or a scalar
    size_t slot;
    int param;
    int64_t offset;
  };
  struct MapPatch {
    size_t slot;
    TensorMapPlan plan;
  };
  void packArgument(const ArgumentPatch &patch, const CheckedArgs &args);
  void packArg(const PointerArg &arg, const CheckedArgs &args, size_t slot);

  LoadedEntry entry_;
  cuda::LaunchConfig config_ = {};
  uint32_t cluster_ = 1;
  bool dependent_ = false;
  std::vector<Slot> slots_;
  std::vector<void *> params_; ///< one address per slot
  std::vector<WorkspacePatch> workspacePatches_;
  std::vector<ArgumentPatch> argumentPatches_;
  std::vector<MapPatch> mapPatches_;
};

} // namespace kernelc
