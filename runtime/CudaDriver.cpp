// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CudaDriver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kernelc::cuda {

std::string cudaVersionString(int version) { return absl::StrCat(version / 1000, ".", version % 1000 / 10); }

const char *CudaDriver::errorName(Result error) const {
  const char *name = nullptr;
  if (!cuGetErrorName || cuGetErrorName(error, &name) != kSuccess || !name)
    return "CUDA_ERROR_UNKNOWN";
  return name;
}

const char *CudaDriver::errorText(Result error) const {
  const char *text = nullptr;
  if (!cuGetErrorString || cuGetErrorString(error, &text) != kSuccess || !text)
    return "unknown error";
  return text;
}

absl::StatusOr<std::unique_ptr<CudaDriver>> CudaDriver::load(std::string path) {
  const char *env = std::getenv("KERNELC_LIBCUDA");
  if (path.empty())
    path = env && *env ? env : "libcuda.so.1";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return absl::UnavailableError(absl::StrCat("no CUDA driver: cannot open ", path, " (", reason ? reason : "unknown reason",
                                               "); install the NVIDIA driver, or set KERNELC_LIBCUDA to its libcuda.so.1"));
  }
  auto getProc = reinterpret_cast<GetProcAddressFn>(dlsym(library, "cuGetProcAddress_v2"));
  if (!getProc)
    return absl::FailedPreconditionError(absl::StrCat(path, " has no cuGetProcAddress_v2: the driver is older than CUDA 12.0; "
                                                            "kernelc needs driver 525 or later"));

  std::unique_ptr<CudaDriver> driver(new CudaDriver);
  driver->path_ = path;
  std::vector<const char *> missing;
  auto resolve = [&](const char *name, int version, bool required, auto &slot) {
    void *fn = nullptr;
    int status = 0;
    if (getProc(name, &fn, version, /*flags=*/0, &status) != kSuccess || status != 0)
      fn = nullptr;
    slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(fn);
    if (!fn && required)
      missing.push_back(name);
  };
#define KERNELC_CUDA_RESOLVE(name, version, required, params) resolve(#name, version, required, driver->name);
  KERNELC_CUDA_API(KERNELC_CUDA_RESOLVE)
#undef KERNELC_CUDA_RESOLVE
  if (!missing.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(path, " lacks ", absl::StrJoin(missing, ", "), "; kernelc needs a driver for CUDA 12.0 (525) or later"));

  if (Result r = driver->cuInit(0); r != kSuccess)
    return absl::UnavailableError(absl::StrCat("cuInit: ", driver->errorName(r), " (", driver->errorText(r), ") from ", path));
  if (Result r = driver->cuDriverGetVersion(&driver->version_); r != kSuccess)
    return absl::UnavailableError(absl::StrCat("cuDriverGetVersion: ", driver->errorName(r)));
  return driver;
}

} // namespace kernelc::cuda
