// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fibers for CUDA threads: stacks with guard pages, switched by Boost.Context.
#pragma once

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <vector>

namespace kernelc::emulator {

/// Hands out stacks and takes them back; one per live CUDA thread. The next launch on the same OS thread has them
/// again: mapping stacks takes longer than a short launch, and mutants are thousands of these.
class StackPool {
public:
  static constexpr size_t kBytes = 256 * 1024, kGuard = 4096;
  StackPool() { free_.swap(spare().stacks); }
  StackPool(const StackPool &) = delete;
  ~StackPool() {
    std::vector<char *> &kept = spare().stacks;
    kept.insert(kept.end(), free_.begin(), free_.end());
    for (; kept.size() > kMostSpare; kept.pop_back())
      ::munmap(kept.back(), kBytes + kGuard);
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
    return static_cast<char *>(m) + kGuard;
  }
  void give(char *stack) { free_.push_back(stack - kGuard); }

private:
  static constexpr size_t kMostSpare = 2048; ///< a few pages of each have been touched
  struct Stacks {
    std::vector<char *> stacks;
    ~Stacks() {
      for (char *s : stacks)
        ::munmap(s, kBytes + kGuard);
    }
  };
  static Stacks &spare() {
    static thread_local Stacks stacks;
    return stacks;
  }
  std::vector<char *> free_;
};

} // namespace kernelc::emulator
