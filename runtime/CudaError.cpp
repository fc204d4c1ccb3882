// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CudaError.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace kernelc {
namespace {

constexpr absl::string_view kPayloadUrl = "kernelc/runtime-error";
constexpr absl::string_view kNames[] = {"DeviceLost", "ForkedContext", "ColdInCapture", "NoVariant", "NotLoaded", "InvalidImage"};

// 214 and 220 (uncorrectable ECC and NVLink errors) leave the context unusable too.
constexpr cuda::Result kSticky[] = {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911};

} // namespace

absl::string_view toString(RuntimeErrorKind kind) { return kNames[static_cast<int>(kind)]; }

absl::Status withKind(absl::Status status, RuntimeErrorKind kind) {
  status.SetPayload(kPayloadUrl, absl::Cord(toString(kind)));
  return status;
}

std::optional<RuntimeErrorKind> findErrorKind(const absl::Status &status) {
  absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  if (!payload)
    return std::nullopt;
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (*payload == kNames[i])
      return static_cast<RuntimeErrorKind>(i);
  return std::nullopt;
}

bool isSticky(cuda::Result error) { return std::find(std::begin(kSticky), std::end(kSticky), error) != std::end(kSticky); }

absl::Status toStatus(const cuda::CudaDriver &driver, cuda::Result error, absl::string_view call) {
  if (error == cuda::kSuccess)
    return absl::OkStatus();
  std::string text = absl::StrCat(call, ": ", driver.errorName(error), " (", driver.errorText(error), ")");
  switch (error) {
  case cuda::kOutOfMemory: return absl::ResourceExhaustedError(text);
  case cuda::kDeinitialized:
  case cuda::kNoDevice: return absl::UnavailableError(text);
  case cuda::kInvalidImage:
  case cuda::kNoBinaryForGpu:
  case cuda::kInvalidPtx: return withKind(absl::FailedPreconditionError(text), RuntimeErrorKind::InvalidImage);
  default: return absl::InternalError(text);
  }
}

} // namespace kernelc
