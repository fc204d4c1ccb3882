// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel computes, whatever it and its parts are called: the name under which
// schedules found for it are kept. Two texts that differ in names, comments and places have
// one identity, and so have a kernel and itself with sizes fixed by `--set`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/compile/Program.h"
#include "runtime/DiskCache.h"

namespace kernelc {

struct KernelIdentity {
  std::string digest;               ///< over the kernel as te, with names in the order of their appearance for names
  std::vector<std::string> sizes;   ///< those that are no constants, fixed ones included
  std::vector<std::string> indices; ///< the kernel's names, in that order; of tensors those of statements too
  std::vector<std::string> tensors;
};

/// The identity of kernel `name` of a program; imports it, without the constants that fix sizes.
absl::StatusOr<KernelIdentity> identityOf(const Program &program, const std::string &name);
/// The same through a cache, which need not import what it has seen.
absl::StatusOr<KernelIdentity> identityOf(const Program &program, const std::string &name, DiskCache &cache);

/// `name`, one of `from` or made of such and of words that passes add (`k_part`, `r_s`), with the
/// names of `to` that stand at their places.
std::string renamed(const std::string &name, const std::vector<std::string> &from, const std::vector<std::string> &to);

} // namespace kernelc
