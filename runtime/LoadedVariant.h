// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A variant in the driver: the libraries of its cubins and, per launch, the function
// with its attributes set. Internal to LoadedKernel.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
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
  /// As LoadedKernel::loadVariant.
  static absl::StatusOr<std::shared_ptr<LoadedVariant>> load(Device &device, const Kernel &kernel, const Variant &variant,
                                                             absl::Span<const absl::string_view> cubins);
  ~LoadedVariant();
  const LoadedEntry &entry(size_t launch) const { return entries_[launch]; }

private:
  explicit LoadedVariant(Device &device) : device_(device) {}
  absl::StatusOr<LoadedEntry> open(const Kernel &kernel, const Launch &launch, cuda::Library library);
  Device &device_;
  std::vector<cuda::Library> libraries_;
  std::vector<LoadedEntry> entries_;
};

} // namespace kernelc
