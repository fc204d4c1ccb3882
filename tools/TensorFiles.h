// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FILE.npy and FILE.safetensors:TENSOR as host tensors.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/jit/HostTensor.h"

namespace kernelc::tools {

/// Reads a tensor that must be of `type` (see support/NpyFile.h for what files leave open).
absl::StatusOr<HostTensor> loadTensor(const std::string &path, ElementType type);
/// Whether tensors can go to these paths: .npy or .safetensors:TENSOR, each once, in folders
/// that can be written to. To be asked before there are any.
absl::Status checkTargets(const std::vector<std::string> &paths);
/// Writes each tensor to its path; those of one .safetensors file together. Files are
/// replaced atomically. checkTargets() has found the paths good.
absl::Status storeTensors(const std::vector<std::pair<std::string, const HostTensor *>> &tensors);

} // namespace kernelc::tools
