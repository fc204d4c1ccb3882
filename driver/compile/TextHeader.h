// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the head of a CUDA text says to people who would launch it by hand. Nothing reads it.
#pragma once

#include <string>

#include "support/Artifact.h"

namespace kernelc {

/// What the variant assumes of sizes, and of each launch its blocks, threads, shared memory and tensor maps: lines.
std::string describeVariant(const Kernel &kernel, const Variant &variant);

} // namespace kernelc
