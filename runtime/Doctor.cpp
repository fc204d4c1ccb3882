// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Doctor.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "runtime/CompileProcess.h"
#include "runtime/CudaDriver.h"
#include "runtime/Device.h"
#include "runtime/DiskCache.h"
#include "runtime/Nvrtc.h"

namespace kernelc {
namespace {

using absl::StrCat;

std::string bytesText(int64_t bytes) {
  if (bytes >= int64_t(1) << 30)
    return absl::StrFormat("%.1f GiB", double(bytes) / (int64_t(1) << 30));
  return absl::StrFormat("%.1f MiB", double(bytes) / (1 << 20));
}

void describeNvrtc(std::vector<std::string> *lines) {
  auto nvrtc = Nvrtc::load();
  if (!nvrtc.ok()) {
    lines->push_back(StrCat("NVRTC: ", nvrtc.status().message()));
    return;
  }
  std::string archs = absl::StrJoin((*nvrtc)->architectures(), " ");
  lines->push_back(StrCat("NVRTC: ", (*nvrtc)->version().first, ".", (*nvrtc)->version().second, " from ", (*nvrtc)->path(), " (build ",
                          (*nvrtc)->buildId().substr(0, 12), ")"));
  lines->push_back(StrCat("NVRTC targets: sm_ ", archs));
  std::string worker = CompileProcess::findWorker();
  lines->push_back(StrCat("NVRTC runs in: ", worker.empty() ? "this process, without limits" : worker));
}

void describeDriver(std::vector<std::string> *lines) {
  auto driver = cuda::CudaDriver::load();
  if (!driver.ok()) {
    lines->push_back(StrCat("driver: ", driver.status().message()));
    lines->push_back("GPUs: none; compiling, the reference and the emulator work all the same");
    return;
  }
  const cuda::CudaDriver &d = **driver;
  lines->push_back(StrCat("driver: CUDA ", cuda::cudaVersionString(d.version()), " from ", d.path()));
  int count = 0;
  if (cuda::Result r = d.cuDeviceGetCount(&count); r != cuda::kSuccess)
    lines->push_back(StrCat("GPUs: ", d.errorName(r)));
  for (int i = 0; i < count; ++i) {
    cuda::DeviceId id = 0;
    char name[256] = "?";
    DeviceInfo info;
    size_t memory = 0;
    // A GPU that does not answer still gets its line.
    bool ok = d.cuDeviceGet(&id, i) == 0 && d.cuDeviceGetName(name, sizeof(name) - 1, id) == 0 && d.cuDeviceTotalMem(&memory, id) == 0 &&
              d.cuDeviceGetAttribute(&info.major, cuda::kComputeCapabilityMajor, id) == 0 &&
              d.cuDeviceGetAttribute(&info.minor, cuda::kComputeCapabilityMinor, id) == 0 &&
              d.cuDeviceGetAttribute(&info.smCount, cuda::kMultiprocessorCount, id) == 0;
    lines->push_back(
        StrCat("GPU ", i, ": ", name,
               ok ? StrCat(", ", info.target(), ", ", info.smCount, " SMs, ", bytesText(int64_t(memory))) : " (does not answer)"));
  }
  if (count == 0)
    lines->push_back("GPUs: none");
}

void describeCache(std::vector<std::string> *lines) {
  std::vector<std::string> warnings;
  auto cache = DiskCache::open({"", -1, [&](const std::string &w) { warnings.push_back(w); }});
  if (!cache->enabled()) {
    lines->push_back(StrCat("cache: off: ", cache->reason()));
    return;
  }
  int64_t bytes = 0;
  std::vector<DiskCache::EntryInfo> entries = cache->list();
  for (const auto &e : entries)
    bytes += int64_t(e.bytes);
  lines->push_back(
      StrCat("cache: ", cache->path(), ", ", entries.size(), " entries, ", bytesText(bytes), " of ", bytesText(cache->maxBytes())));
  for (const std::string &w : warnings)
    lines->push_back(StrCat("cache: ", w));
}

void describeVariables(const DoctorOptions &options, std::vector<std::string> *lines) {
  for (const EnvironmentVariable &v : environmentVariables()) {
    const char *value = std::getenv(v.name);
    auto flag = std::find_if(options.flags.begin(), options.flags.end(), [&](const auto &f) { return f.first == v.name; });
    std::string from = !value                        ? StrCat("not set: ", v.fallback)
                       : flag != options.flags.end() ? StrCat(value, " from ", flag->second)
                                                     : StrCat(value, " from the environment");
    lines->push_back(StrCat(v.name, ": ", from, " (", v.meaning, ")"));
  }
  std::vector<std::string> unknown;
  for (char **e = environ; e && *e; ++e) {
    absl::string_view text(*e), name = text.substr(0, text.find('='));
    bool known = std::any_of(environmentVariables().begin(), environmentVariables().end(),
                             [&](const EnvironmentVariable &v) { return name == v.name; });
    if (absl::StartsWith(name, "KERNELC_") && !known)
      unknown.push_back(StrCat(name, ": set, but kernelc reads no such variable"));
  }
  std::sort(unknown.begin(), unknown.end());
  lines->insert(lines->end(), unknown.begin(), unknown.end());
}

} // namespace

const std::vector<EnvironmentVariable> &environmentVariables() {
  static const auto *const variables = new std::vector<EnvironmentVariable>{
      {"KERNELC_CACHE_DIR", "folder of the kernel cache", "$XDG_CACHE_HOME/kernelc or ~/.cache/kernelc"},
      {"KERNELC_CACHE_SIZE", "bound of the cache, such as 500M; 0 turns it off", "2G"},
      {"KERNELC_CLANG", "the clang++ that the emulator compiles with", "clang++-22 on PATH"},
      {"KERNELC_COMPILE", "what calls do whose code is not there yet: block, tiered or strict", "tiered"},
      {"KERNELC_LAUNCH_BLOCKING", "1: wait after every launch, so that a fault names its kernel", "0"},
      {"KERNELC_LIBCUDA", "the CUDA driver library", "libcuda.so.1"},
      {"KERNELC_LIBNVRTC", "the NVRTC library", "libnvrtc.so.13 or .12, by name, in the toolkit, in Python wheels"},
      {"KERNELC_LIBRARY", "libkernelc.so for the Python package", "beside the package, the bundle's lib folder, then the loader's search"},
      {"KERNELC_LINEINFO", "1: cubins carry the .kc lines, for profilers", "0"},
      {"KERNELC_NVRTC_WORKER", "the kernelc-nvrtc-worker that compiles under limits",
       "the one beside the program or the library; 0: NVRTC runs in this process, without limits"},
      {"KERNELC_UNTUNED", "1: no schedules that 'kernelc tune' has kept in the cache", "0"},
  };
  return *variables;
}

std::vector<std::string> doctorReport(const DoctorOptions &options) {
  std::vector<std::string> lines;
  for (const auto &[name, version] : options.versions)
    lines.push_back(StrCat(name, ": ", version));
  describeNvrtc(&lines);
  describeDriver(&lines);
  describeCache(&lines);
  describeVariables(options, &lines);
  return lines;
}

std::string driverVersionText() {
  auto driver = cuda::CudaDriver::load();
  return driver.ok() ? StrCat("CUDA driver ", cuda::cudaVersionString((*driver)->version())) : "no CUDA driver";
}

std::string nvrtcVersionText() {
  auto nvrtc = Nvrtc::load();
  return nvrtc.ok() ? StrCat("NVRTC ", (*nvrtc)->version().first, ".", (*nvrtc)->version().second) : "no NVRTC";
}

} // namespace kernelc
