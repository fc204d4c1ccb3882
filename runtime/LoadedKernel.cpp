// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/LoadedKernel.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/LoadedVariant.h"
#include "runtime/PackedLaunch.h"
#include "support/ArtifactCheck.h"

namespace kernelc {

LoadedKernel::LoadedKernel(Device &device, Kernel kernel)
    : device_(device), kernel_(std::move(kernel)), variants_(kernel_.variants.size()) {}
LoadedKernel::~LoadedKernel() = default;

absl::StatusOr<std::unique_ptr<LoadedKernel>> LoadedKernel::create(Device &device, Kernel kernel) {
  KERNELC_RETURN_IF_ERROR(checkKernel(kernel));
  return std::unique_ptr<LoadedKernel>(new LoadedKernel(device, std::move(kernel)));
}

absl::Status LoadedKernel::checkIndex(int index) const {
  if (index >= 0 && size_t(index) < kernel_.variants.size())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("kernel '", kernel_.name, "' has no variant ", index, "; it has ", kernel_.variants.size()));
}

absl::Status LoadedKernel::loadVariant(int index, absl::string_view cubin) {
  KERNELC_RETURN_IF_ERROR(checkIndex(index));
  return loadVariant(index, std::vector<absl::string_view>(kernel_.variants[index].launches.size(), cubin));
}

absl::Status LoadedKernel::loadVariant(int index, absl::Span<const absl::string_view> cubins) {
  KERNELC_RETURN_IF_ERROR(checkIndex(index));
  const Variant &described = kernel_.variants[index];
  if (cubins.size() != described.launches.size())
    return absl::InvalidArgumentError(absl::StrCat("variant '", described.name, "' of kernel '", kernel_.name, "' has ",
                                                   described.launches.size(), " launches, not ", cubins.size()));
  auto variant = LoadedVariant::load(device_, kernel_, described, cubins);
  if (!variant.ok())
    return variant.status();
  absl::MutexLock lock(&mutex_);
  variants_[index] = std::move(*variant);
  return absl::OkStatus();
}

std::shared_ptr<LoadedVariant> LoadedKernel::loaded(int index) const {
  absl::MutexLock lock(&mutex_);
  return index >= 0 && size_t(index) < variants_.size() ? variants_[index] : nullptr;
}

bool LoadedKernel::isLoaded(int index) const { return loaded(index) != nullptr; }

absl::StatusOr<CheckedArgs> LoadedKernel::check(absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes) const {
  return checkArguments(kernel_, values, sizes, device_.ordinal(), device_.info().smCount);
}

absl::StatusOr<int> LoadedKernel::selectVariant(absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes) const {
  absl::StatusOr<CheckedArgs> args = check(values, sizes);
  if (!args.ok())
    return args.status();
  return kernelc::selectVariant(kernel_, *args);
}

absl::StatusOr<BoundLaunch> LoadedKernel::bind(absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes) const {
  KERNELC_RETURN_IF_ERROR(device_.usable());
  absl::StatusOr<CheckedArgs> args = check(values, sizes);
  if (!args.ok())
    return args.status();
  absl::StatusOr<int> index = kernelc::selectVariant(kernel_, *args);
  if (!index.ok())
    return index.status();
  const Variant &variant = kernel_.variants[*index];
  BoundLaunch bound(device_);
  bound.variantIndex_ = *index;
  bound.variant_ = loaded(*index);
  if (!bound.variant_)
    return withKind(absl::FailedPreconditionError(
                        absl::StrCat(locPrefix(kernel_.loc), "variant '", variant.name, "' of kernel '", kernel_.name, "' is not loaded")),
                    RuntimeErrorKind::NotLoaded);

  int64_t workspace = variant.workspaceBytes.evaluate(args->env());
  if (workspace < 0)
    return absl::InternalError(absl::StrCat(locPrefix(kernel_.loc), "kernel '", kernel_.name, "': the size of its workspace comes to ",
                                            workspace, " bytes; it cannot be negative"));
  bound.workspaceBytes_ = size_t(workspace);
  for (size_t i = 0; i < variant.launches.size(); ++i) {
    absl::StatusOr<PackedLaunch> packed = PackedLaunch::pack(kernel_, variant.launches[i], bound.variant_->entry(i), *args, device_);
    if (!packed.ok())
      return packed.status();
    if (!packed->isEmpty())
      bound.launches_.push_back(std::move(*packed));
  }
  return bound;
}

BoundLaunch::BoundLaunch(Device &device) : device_(&device) {}
BoundLaunch::BoundLaunch(BoundLaunch &&) noexcept = default;
BoundLaunch &BoundLaunch::operator=(BoundLaunch &&) noexcept = default;
BoundLaunch::~BoundLaunch() = default;
void BoundLaunch::rebind(const CheckedArgs &args) {
  for (PackedLaunch &l : launches_)
    l.rebind(args);
}
int BoundLaunch::numLaunches() const { return int(launches_.size()); }

absl::Status BoundLaunch::launch(Stream &stream, cuda::DevicePtr workspace) {
  if (&stream.device() != device_)
    return absl::InvalidArgumentError(absl::StrCat("the stream belongs to CUDA device ", stream.device().ordinal(),
                                                   ", but the arguments are on device ", device_->ordinal()));
  auto scope = ContextScope::enter(*device_);
  if (!scope.ok())
    return scope.status();
  if (launches_.empty())
    return absl::OkStatus();
  if (workspaceBytes_ && !workspace) {
    absl::StatusOr<cuda::DevicePtr> own = stream.workspace(workspaceBytes_);
    if (!own.ok())
      return own.status();
    workspace = *own;
  }
  if (workspace % 256)
    return absl::InvalidArgumentError("the workspace must be aligned to 256 bytes");
  for (PackedLaunch &l : launches_)
    KERNELC_RETURN_IF_ERROR(l.launch(*device_, stream.handle(), workspace));
  if (!device_->runtime().launchBlocking())
    return absl::OkStatus();
  absl::StatusOr<bool> capturing = stream.isCapturing();
  if (!capturing.ok() || *capturing)
    return capturing.status();
  return device_->check(device_->driver().cuStreamSynchronize(stream.handle()), "cuStreamSynchronize", launches_.back().note());
}

} // namespace kernelc
