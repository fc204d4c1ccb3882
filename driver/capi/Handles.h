// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stands behind kernelc.h's handles, and how its functions begin and end. Internal to driver/capi.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driver/capi/kernelc.h"
#include "driver/jit/Session.h"
#include "support/ThreadGate.h"

struct kc_session {
  std::shared_ptr<kernelc::Session> session;
};
struct kc_program {
  std::vector<std::shared_ptr<kernelc::JitKernel>> kernels;
};
struct kc_kernel {
  explicit kc_kernel(std::shared_ptr<kernelc::JitKernel> k);
  std::shared_ptr<kernelc::JitKernel> kernel;
  std::vector<std::string> shapes; ///< of the parameters, for kc_param
};
struct kc_bound {
  kernelc::BoundCall call;
};

namespace kernelc::capi {

/// The code of `status`, whose text becomes kc_last_error() of this thread.
kc_code finish(const absl::Status &status);

/// Whether this process may call at all; see ThreadGate.h.
absl::Status usable(const GatePass &pass);
#define KC_ENTER()                                                                                                                         \
  ::kernelc::GatePass pass;                                                                                                                \
  if (absl::Status usableStatus = ::kernelc::capi::usable(pass); !usableStatus.ok())                                                       \
  return ::kernelc::capi::finish(usableStatus)

absl::Status missing(const char *what);

/// The options as far as the caller's struct reaches; the rest as by default.
template <typename T> absl::StatusOr<T> readOptions(const T *given) {
  T options{};
  if (!given)
    return options;
  if (given->size < sizeof(size_t) || given->size > 4096)
    return absl::InvalidArgumentError("the options' size field is not set: it is the sizeof of their struct");
  std::memcpy(&options, given, std::min(given->size, sizeof(T)));
  return options;
}

/// A handle's end. Nothing where another thread's call was cut off by fork(), and where the process ends.
template <typename Handle> void destroy(Handle *handle) {
  GatePass pass(GatePass::AtExit::Leave);
  if (pass.isOpen())
    delete handle;
}

/// NamedSize of kc_named; with `Named` Constants::value_type of either struct.
template <typename Named = NamedSize, typename T> absl::StatusOr<std::vector<Named>> namedOf(const T *named, size_t count) {
  std::vector<Named> out;
  if (count > 0 && !named)
    return absl::InvalidArgumentError(absl::StrCat("the array of ", count, " named values is null"));
  for (size_t i = 0; i < count; ++i) {
    if (!named[i].name)
      return missing("a size's name");
    out.push_back({named[i].name, named[i].value});
  }
  return out;
}

} // namespace kernelc::capi
