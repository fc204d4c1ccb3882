// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cubins that FakeCuda loads, in the place of those that NVRTC would make of a real text.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "driver/jit/Session.h"
#include "runtime/DiskCache.h"
#include "runtime/Nvrtc.h"
#include "support/CompileUnits.h"
#include "test/runtime/FakeCuda.h"

namespace kernelc {

inline int argumentBytes(const Kernel &k, const LaunchArg &a) {
  if (auto *s = std::get_if<ScalarArg>(&a))
    return std::max(1, elementBits(k.params[s->param].type) / 8);
  if (auto *z = std::get_if<SizeArg>(&a))
    return z->bits / 8;
  return std::holds_alternative<TensorMapArg>(a) ? 128 : 8;
}

/// With the entries of the kernel's first variant.
inline std::string fakeCubinOf(const Kernel &kernel) {
  std::vector<fakecuda::FakeEntry> entries;
  for (const Launch &l : kernel.variants[0].launches) {
    fakecuda::FakeEntry e;
    e.name = l.entry;
    for (const LaunchArg &a : l.args)
      e.paramBytes.push_back(argumentBytes(kernel, a));
    entries.push_back(e);
  }
  return fakecuda::makeCubin(entries);
}

/// Puts `cubin` into the session's cache, under the key of the unit. The session has NVRTC.
inline void storeCubin(Session &session, const CompileUnit &unit, const std::string &target, const std::string &cubin) {
  session.cache().put(DiskCache::Kind::Content, DiskCache::contentKey(**session.nvrtc(), unit.text, target),
                      absl::StrCat(absl::string_view("\0", 1), cubin));
}

} // namespace kernelc
