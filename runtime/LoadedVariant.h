// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One cubin in the driver: its library handle and, per launch, the function with
// its attributes set. Internal to LoadedKernel.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/Device.h"

namespace kernelc {

/// A launch's entry, ready.
struct LoadedEntry {
  cuda::Function function = nullptr;
  const LaunchNote *note = nullptr;
  int64_t maxDynamicShared = 0; ///< bytes a launch may ask for
};

/// Unloaded with its last owner; a BoundLaunch is one.
class LoadedVariant {
public:
  static absl::StatusOr<std::shared_ptr<LoadedVariant>> load(Device &device, const Kernel &kernel, const Variant &variant,
                                                             absl::string_view cubin);
  ~LoadedVariant();
  const LoadedEntry &entry(size_t launch) const { return entries_[launch]; }

private:
  explicit LoadedVariant(Device &device) : device_(device) {}
  absl::StatusOr<LoadedEntry> open(const Kernel &kernel, const Launch &launch);
  Device &device_;
  cuda::Library library_ = nullptr;
  std::vector<LoadedEntry> entries_;
};

} // namespace kernelc
