// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/runtime/CountAllocations.h"

#include <cstdlib>
#include <new>

#include "test/runtime/FakeCuda.h"

namespace {

thread_local bool counting = false;
thread_local int64_t allocations = 0;

void *allocate(std::size_t bytes, std::size_t alignment) {
  if (counting && !kernelc::fakecuda::insideDriver())
    ++allocations;
  bytes = (bytes + alignment) / alignment * alignment; // never zero
  if (void *p = std::aligned_alloc(alignment, bytes))
    return p;
  std::abort();
}

} // namespace

void *operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void *operator new[](std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void *operator new(std::size_t bytes, std::align_val_t a) { return allocate(bytes, std::size_t(a)); }
void *operator new[](std::size_t bytes, std::align_val_t a) { return allocate(bytes, std::size_t(a)); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t) noexcept { std::free(p); }
void operator delete(void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void *p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace kernelc {

int64_t countAllocations(const std::function<void()> &body) {
  allocations = 0;
  counting = true;
  body();
  counting = false;
  return allocations;
}

} // namespace kernelc
