// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel on a device: cubins loaded and ready, arguments bound once, launched
// many times. Loading is eager, because a lazy load at the first launch may wait
// for running kernels. Compiling is somebody else's business (driver/jit/Session).
#pragma once

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "runtime/Device.h"
#include "runtime/LaunchCheck.h"
#include "runtime/Stream.h"
#include "support/Artifact.h"

namespace kernelc {

class LoadedVariant;
class PackedLaunch;

/// One call of a kernel, checked and packed. launch() may be repeated; it does not
/// allocate and takes no lock (but for the stream's first workspace). One thread at
/// a time. The tensors must outlive the work.
class BoundLaunch {
public:
  BoundLaunch(BoundLaunch &&) noexcept;
  BoundLaunch &operator=(BoundLaunch &&) noexcept;
  ~BoundLaunch();

  /// Queues the kernel's launches on `stream`. `workspace`: device memory of
  /// workspaceBytes(), 256-byte aligned; 0 takes the
  /// stream's own. Capturable once the stream's workspace is large enough.
  absl::Status launch(Stream &stream, cuda::DevicePtr workspace = 0);

  /// The same call on other addresses and scalars, as Rebinding lets them through.
  void rebind(const CheckedArgs &args);

  size_t workspaceBytes() const { return workspaceBytes_; }
  /// The variant in use, an index into Kernel::variants.
  int variant() const { return variantIndex_; }
  /// Kernel launches per call; 0 when every grid is empty.
  int numLaunches() const;

private:
  friend class LoadedKernel;
  BoundLaunch(Device &device);
  Device *device_;
  std::shared_ptr<LoadedVariant> variant_; ///< keeps the code loaded
  int variantIndex_ = -1;
  size_t workspaceBytes_ = 0;
  std::vector<PackedLaunch> launches_;
};

/// Thread-safe.
class LoadedKernel {
public:
  /// Takes a well-formed kernel (else InvalidArgument); loads nothing yet.
  static absl::StatusOr<std::unique_ptr<LoadedKernel>> create(Device &device, Kernel kernel);
  ~LoadedKernel();

  const Kernel &kernel() const { return kernel_; }
  Device &device() const { return device_; }

  /// Loads the cubins of Kernel::variants[index] and readies its entries. `cubins`: for each
  /// launch the image with its entry; an image that stands there several times (the same memory)
  /// is loaded once. InvalidImage when the driver refuses the bytes; ColdInCapture while a
  /// stream captures.
  absl::Status loadVariant(int index, absl::Span<const absl::string_view> cubins);
  /// All entries in one image.
  absl::Status loadVariant(int index, absl::string_view cubin);
  bool isLoaded(int index) const;

  /// Which variant these arguments want, loaded or not.
  absl::StatusOr<int> selectVariant(absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes = {}) const;
  /// Checks (see checkArguments), picks the first variant that holds, evaluates and
  /// packs. NotLoaded when that variant has no cubin yet.
  absl::StatusOr<BoundLaunch> bind(absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes = {}) const;

private:
  LoadedKernel(Device &device, Kernel kernel);
  absl::Status checkIndex(int index) const;
  std::shared_ptr<LoadedVariant> loaded(int index) const;
  absl::StatusOr<CheckedArgs> check(absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes) const;

  Device &device_;
  const Kernel kernel_;
  mutable absl::Mutex mutex_;
  std::vector<std::shared_ptr<LoadedVariant>> variants_ ABSL_GUARDED_BY(mutex_);
};

} // namespace kernelc
