// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/Faults.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/compile/SizeExprOf.h"
#include "driver/compile/SourceLocOf.h"
#include "ir/te/Faults.h"
#include "runtime/LaunchCheck.h"

namespace kernelc {

/// The kernel's last input where its name, kind and type are those of a record; else -1. Others may be called so.
static int findLikeRecord(const Kernel &signature) {
  int last = -1;
  for (size_t i = 0; i < signature.params.size(); ++i)
    if (signature.params[i].kind != ParamKind::Output)
      last = int(i);
  if (last < 0)
    return -1;
  const Param &p = signature.params[last];
  const bool isLike = p.name == te::kRecord && p.kind == ParamKind::InOut && p.type == ElementType::i64 && p.dims.size() == 1;
  return isLike ? last : -1;
}

FaultTexts::FaultTexts(Program &program, const Kernel &signature) : program_(program), kernel_(signature.name) {
  const int like = findLikeRecord(signature);
  if (like < 0)
    return;
  const Param &p = signature.params[like];
  const SourceLoc &own = signature.loc;
  int64_t count = 0;
  // A record stands where its kernel's name does, as no parameter of a text can.
  const bool isRecord = own.line > 0 && p.loc.file == own.file && p.loc.line == own.line && p.loc.column == own.column;
  count_ = isRecord && p.dims[0].isConstant(&count) ? size_t(count) : entries().size();
  param_ = count_ ? like : -1;
}

const std::vector<FaultTexts::Entry> &FaultTexts::entries() const {
  absl::call_once(once_, [this] { entries_ = read(); });
  return entries_;
}

std::vector<FaultTexts::Entry> FaultTexts::read() const {
  std::vector<Entry> entries;
  (void)program_.withModule([&](mlir::ModuleOp module) -> absl::Status {
    for (auto op : module.getOps<te::KernelOp>()) {
      if (op.getSymName() != kernel_)
        continue;
      for (const te::Fault &f : te::getFaults(op)) {
        Entry e{sourceLocOf(f.loc), f.what, {f.indices.begin(), f.indices.end()}, {}, {}};
        for (mlir::AffineExpr low : f.lows.getResults())
          e.lows.push_back(sizeExprOf(low));
        for (mlir::AffineExpr extent : f.extents.getResults())
          e.extents.push_back(sizeExprOf(extent));
        entries.push_back(std::move(e));
      }
    }
    return absl::OkStatus();
  });
  return entries;
}

void FaultTexts::clear(int64_t *record) const { std::fill_n(record, count_, te::kNoFault); }

absl::Status FaultTexts::check(const int64_t *record, const std::vector<int64_t> &sizes) const {
  for (size_t i = 0; i < count_; ++i) {
    if (record[i] == te::kNoFault)
      continue;
    if (i >= entries().size()) // the text was read before, and is the same
      return absl::InternalError(absl::StrCat("kernel '", kernel_, "': guard ", i, " has found something, and nothing says what"));
    const Entry &e = entries()[i];
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
