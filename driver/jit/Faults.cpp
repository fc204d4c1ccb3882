// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/Faults.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/compile/SizeExprOf.h"
#include "driver/compile/SourceLocOf.h"
#include "ir/te/Faults.h"
#include "runtime/LaunchCheck.h"

namespace kernelc {

FaultTexts::FaultTexts(Program &program, const Kernel &signature) : kernel_(signature.name) {
  (void)program.withModule([&](mlir::ModuleOp module) -> absl::Status {
    for (auto op : module.getOps<te::KernelOp>()) {
      if (op.getSymName() != signature.name)
        continue;
      for (const te::Fault &f : te::getFaults(op)) {
        Entry e{sourceLocOf(f.loc), f.what, {f.indices.begin(), f.indices.end()}, {}, {}};
        for (mlir::AffineExpr low : f.lows.getResults())
          e.lows.push_back(sizeExprOf(low));
        for (mlir::AffineExpr extent : f.extents.getResults())
          e.extents.push_back(sizeExprOf(extent));
        entries_.push_back(std::move(e));
      }
      if (!entries_.empty())
        param_ = int(op.getBlock().getNumArguments()) - 1;
    }
    return absl::OkStatus();
  });
}

void FaultTexts::clear(int64_t *record) const { std::fill_n(record, entries_.size(), te::kNoFault); }

absl::Status FaultTexts::check(const int64_t *record, const std::vector<int64_t> &sizes) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (record[i] == te::kNoFault)
      continue;
    const Entry &e = entries_[i];
    std::string at;
    int64_t rest = record[i];
    for (size_t d = e.indices.size(); d-- > 0;) {
      int64_t extent = std::max<int64_t>(1, e.extents[d].evaluate({sizes}));
      at = absl::StrCat(e.indices[d], " = ", e.lows[d].evaluate({sizes}) + rest % extent, at.empty() ? "" : ", ", at);
      rest /= extent;
    }
    return absl::OutOfRangeError(absl::StrCat(locPrefix(e.loc), e.what, at.empty() ? "" : " at ", at, " (kernel '", kernel_, "')"));
  }
  return absl::OkStatus();
}

namespace {

absl::Mutex theMutex(absl::kConstInit);
std::vector<DeviceFaults *> &all() ABSL_EXCLUSIVE_LOCKS_REQUIRED(theMutex) {
  static auto *list = new std::vector<DeviceFaults *>; // never destroyed: kernels may outlive static objects
  return *list;
}

} // namespace

DeviceFaults::DeviceFaults(const FaultTexts &texts) : texts_(texts) {
  absl::MutexLock lock(&theMutex);
  all().push_back(this);
}

DeviceFaults::~DeviceFaults() {
  absl::MutexLock lock(&theMutex);
  std::erase(all(), this);
}

absl::StatusOr<int64_t *> DeviceFaults::recordFor(Device &device, const std::vector<int64_t> &sizes) {
  absl::MutexLock lock(&mutex_);
  int64_t *&record = records_[sizes];
  if (!record) {
    absl::StatusOr<void *> memory = device.allocateShared(texts_.count() * sizeof(int64_t));
    if (!memory.ok())
      return memory.status();
    record = static_cast<int64_t *>(*memory);
    texts_.clear(record);
  }
  return record;
}

absl::Status DeviceFaults::take() {
  absl::MutexLock lock(&mutex_);
  for (auto &[sizes, record] : records_) {
    std::vector<int64_t> seen(texts_.count());
    for (size_t i = 0; i < seen.size(); ++i) // a GPU may write at any time
      seen[i] = std::min<int64_t>(te::kNoFault, __atomic_load_n(&record[i], __ATOMIC_RELAXED));
    absl::Status status = texts_.check(seen.data(), sizes);
    if (status.ok())
      continue;
    texts_.clear(record);
    return status;
  }
  return absl::OkStatus();
}

absl::Status DeviceFaults::takeAny() {
  absl::MutexLock lock(&theMutex);
  for (DeviceFaults *kernel : all())
    KERNELC_RETURN_IF_ERROR(kernel->take());
  return absl::OkStatus();
}

} // namespace kernelc
