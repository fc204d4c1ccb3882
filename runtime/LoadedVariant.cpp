// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/LoadedVariant.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/CompileLog.h"
#include "runtime/LaunchCheck.h"

namespace kernelc {

/// The driver reads the size from the image's own headers: a short one would be read past its end.
static absl::Status checkImage(const Variant &variant, absl::string_view cubin) {
  if (cubin.size() >= 64 && cubin.substr(0, 4) == "\x7f"
                                                  "ELF")
    return absl::OkStatus();
  return withKind(
      absl::InvalidArgumentError(absl::StrCat("the image of variant '", variant.name, "' is no cubin (", cubin.size(), " bytes)")),
      RuntimeErrorKind::InvalidImage);
}

absl::StatusOr<std::shared_ptr<LoadedVariant>> LoadedVariant::load(Device &device, const Kernel &kernel, const Variant &variant,
                                                                   absl::Span<const absl::string_view> cubins) {
  KERNELC_RETURN_IF_ERROR(device.usable());
  if (!device.info().canRun(variant.target))
    return absl::FailedPreconditionError(absl::StrCat(locPrefix(kernel.loc), "kernel '", kernel.name, "' was compiled for ", variant.target,
                                                      ", which does not run on ", device.info().name, " (", device.info().target(), ")"));
  for (absl::string_view cubin : cubins)
    KERNELC_RETURN_IF_ERROR(checkImage(variant, cubin));
  auto scope = ContextScope::enter(device);
  if (!scope.ok())
    return scope.status();
  KERNELC_RETURN_IF_ERROR(device.checkNoCapture(absl::StrCat("loading kernel '", kernel.name, "'")));
  // Tensor maps of empty tensors point there; arguments are packed where nothing may allocate.
  for (const Launch &l : variant.launches)
    for (const LaunchArg &a : l.args)
      if (std::holds_alternative<TensorMapArg>(a))
        KERNELC_RETURN_IF_ERROR(device.spareBytes(0).status());
  std::shared_ptr<LoadedVariant> loaded(new LoadedVariant(device));
  std::map<const char *, cuda::Library> libraries; // launches that share an image share what it becomes
  for (size_t i = 0; i < variant.launches.size(); ++i) {
    cuda::Library &library = libraries[cubins[i].data()];
    if (!library) {
      std::string image(cubins[i]); // aligned, as the driver expects
      KERNELC_RETURN_IF_ERROR(device.check(
          device.driver().cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData"));
      loaded->libraries_.push_back(library);
    }
    absl::StatusOr<LoadedEntry> entry = loaded->open(kernel, variant.launches[i], library);
    if (!entry.ok())
      return entry.status();
    loaded->entries_.push_back(*entry);
  }
  return loaded;
}

LoadedVariant::~LoadedVariant() {
  for (cuda::Library library : libraries_)
    device_.unload(library);
}

absl::StatusOr<LoadedEntry> LoadedVariant::open(const Kernel &kernel, const Launch &launch, cuda::Library library) {
  const cuda::CudaDriver &d = device_.driver();
  LoadedEntry entry;
  entry.note = device_.internNote({launch.entry, kernel.loc});
  cuda::KernelHandle handle = nullptr;
  KERNELC_RETURN_IF_ERROR(device_.check(d.cuLibraryGetKernel(&handle, library, launch.entry.c_str()), "cuLibraryGetKernel", entry.note));
  KERNELC_RETURN_IF_ERROR(device_.check(d.cuKernelGetFunction(&entry.function, handle), "cuKernelGetFunction", entry.note));
  if (d.cuFuncLoad)
    KERNELC_RETURN_IF_ERROR(device_.check(d.cuFuncLoad(entry.function), "cuFuncLoad", entry.note));

  int maxThreads = 0, staticShared = 0;
  KERNELC_RETURN_IF_ERROR(
      device_.check(d.cuFuncGetAttribute(&maxThreads, cuda::kFuncMaxThreadsPerBlock, entry.function), "cuFuncGetAttribute", entry.note));
  KERNELC_RETURN_IF_ERROR(
      device_.check(d.cuFuncGetAttribute(&staticShared, cuda::kFuncSharedBytes, entry.function), "cuFuncGetAttribute", entry.note));
  if (launch.block > uint32_t(maxThreads))
    return absl::FailedPreconditionError(absl::StrCat(locPrefix(kernel.loc), launch.entry, " is launched with ", launch.block,
                                                      " threads a block, but its registers allow ", maxThreads));
  int64_t limit = device_.info().maxSharedBytes - staticShared;
  int64_t wanted = limit;
  if (launch.sharedBytes.isConstant(&wanted) && wanted > limit)
    return absl::FailedPreconditionError(absl::StrCat(locPrefix(kernel.loc), launch.entry, " needs ", wanted,
                                                      " bytes of dynamic shared memory; ", device_.info().name, " has ", limit,
                                                      " left for it"));
  entry.maxDynamicShared = wanted;
  constexpr int64_t kDefaultLimit = 48 * 1024; // what every kernel may use unasked
  if (wanted + staticShared > kDefaultLimit)
    KERNELC_RETURN_IF_ERROR(device_.check(d.cuFuncSetAttribute(entry.function, cuda::kFuncMaxDynamicSharedBytes, int(wanted)),
                                          "cuFuncSetAttribute", entry.note));
  constexpr uint32_t kPortableCluster = 8;
  if (launch.cluster > kPortableCluster)
    KERNELC_RETURN_IF_ERROR(
        device_.check(d.cuFuncSetAttribute(entry.function, cuda::kFuncNonPortableClusterAllowed, 1), "cuFuncSetAttribute", entry.note));
  if (launch.cluster > 1 && !device_.info().clusters)
    return absl::FailedPreconditionError(absl::StrCat(launch.entry, " uses clusters, which ", device_.info().name, " lacks"));
  return entry;
}

} // namespace kernelc
