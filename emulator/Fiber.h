// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fibers for CUDA threads: stacks with guard pages, switched by Boost.Context.
#pragma once

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <vector>

namespace kernelc::emulator {

/// Hands out stacks and takes them back; one per live CUDA thread.
class StackPool {
public:
  static constexpr size_t kBytes = 256 * 1024, kGuard = 4096;
  StackPool() = default;
  StackPool(const StackPool &) = delete;
  ~StackPool() {
    for (char *s : all_)
      ::munmap(s, kBytes + kGuard);
  }
  /// The lowest usable address, or null when the system has no memory left.
  char *take() {
    if (!free_.empty()) {
      char *s = free_.back();
      free_.pop_back();
      return s + kGuard;
    }
    void *m = ::mmap(nullptr, kBytes + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
      return nullptr;
    ::mprotect(m, kGuard, PROT_NONE);
    all_.push_back(static_cast<char *>(m));
    return all_.back() + kGuard;
  }
  void give(char *stack) { free_.push_back(stack - kGuard); }

private:
  std::vector<char *> all_, free_;
};

} // namespace kernelc::emulator
