// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Zeros of which only the pages that are touched take memory: what a run keeps for each
// byte of a tensor whose elements lie far apart costs no more than the elements.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace kernelc::emulator {

class SparseMemory {
public:
  static constexpr size_t kPage = 4096;

  SparseMemory() = default;
  /// data() is null where the system has no room for so many addresses.
  explicit SparseMemory(size_t bytes) : bytes_((bytes + kPage - 1) / kPage * kPage) {
    void *m = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = m == MAP_FAILED ? nullptr : static_cast<uint8_t *>(m);
  }
  SparseMemory(SparseMemory &&other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  SparseMemory &operator=(SparseMemory &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SparseMemory() {
    if (data_)
      ::munmap(data_, bytes_);
  }
  uint8_t *data() const { return data_; }

private:
  uint8_t *data_ = nullptr;
  size_t bytes_ = 0;
};

} // namespace kernelc::emulator
