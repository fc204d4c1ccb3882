// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "emulator/TensorPages.h"

#include <algorithm>
#include <cstdlib>

#include "emulator/SparseMemory.h"
#include "support/Saturating.h"

namespace kernelc::emulator {
namespace {

constexpr int64_t kPage = SparseMemory::kPage;

/// `count` places, `stride` bytes apart.
struct Steps {
  int64_t stride, count;
};

/// The steps by which a tensor's elements lie behind the first one in memory, shortest first, without those that
/// only repeat places that others reach.
std::vector<Steps> stepsOf(const TensorView &v) {
  std::vector<Steps> all;
  for (size_t d = 0; d < v.shape.size(); ++d)
    if (v.shape[d] > 1 && v.strides[d])
      all.push_back({std::abs(v.strides[d]), v.shape[d]}); // in elements
  std::sort(all.begin(), all.end(), [](const Steps &a, const Steps &b) { return a.stride < b.stride; });
  std::vector<Steps> steps;
  for (const Steps &s : all) {
    // { a s | a < n } and { b k s | b < m } are the multiples of s together if k <= n: windows that overlap.
    int64_t k = steps.empty() ? 0 : s.stride / steps.back().stride;
    if (k && s.stride % steps.back().stride == 0 && k <= steps.back().count)
      steps.back().count += k * (s.count - 1);
    else
      steps.push_back(s);
  }
  return steps;
}

} // namespace

ByteRange spanOf(const TensorView &v) {
  int64_t bits = elementBits(v.type), first = 0, last = 0;
  for (size_t i = 0; i < v.shape.size(); i++) {
    if (v.shape[i] == 0)
      return {};
    int64_t reach = (v.shape[i] - 1) * v.strides[i];
    (reach < 0 ? first : last) += reach;
  }
  return {first * bits / 8, (last * bits + bits + 7) / 8};
}

absl::StatusOr<std::vector<ByteRange>> pagesOf(const TensorView &v) {
  ByteRange span = spanOf(v);
  if (!span.size())
    return std::vector<ByteRange>();
  const int64_t bits = elementBits(v.type);
  std::vector<Steps> steps = stepsOf(v);
  // Elements whose gaps hold no page are one run.
  int64_t run = 1;
  size_t apart = 0;
  for (; apart < steps.size() && (steps[apart].stride - run) * bits < kPage * 8; ++apart)
    run = std::max(run, steps[apart].stride * (steps[apart].count - 1) + run);
  Count runs = 1;
  for (size_t i = apart; i < steps.size(); ++i)
    runs *= steps[i].count;
  constexpr int64_t kMostRuns = 1 << 24;
  if (runs > kMostRuns)
    return absl::ResourceExhaustedError("its rows are too many that lie pages apart");
  const int64_t base = int64_t(reinterpret_cast<uintptr_t>(v.data)), runBytes = (run * bits + 7) / 8;
  std::vector<ByteRange> ranges;
  std::vector<int64_t> at(steps.size(), 0);
  for (int64_t n = 0; n < int64_t(runs); ++n) {
    int64_t element = 0;
    for (size_t i = apart; i < steps.size(); ++i)
      element += at[i] * steps[i].stride;
    int64_t low = span.low + element * bits / 8, high = low + runBytes;
    low = std::max(span.low, (base + low) / kPage * kPage - base);
    high = std::min(span.high, (base + high + kPage - 1) / kPage * kPage - base);
    if (!ranges.empty() && low >= ranges.back().low && low <= ranges.back().high)
      ranges.back().high = std::max(ranges.back().high, high);
    else
      ranges.push_back({low, high});
    for (size_t i = apart; i < steps.size() && ++at[i] == steps[i].count; ++i)
      at[i] = 0;
  }
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange &a, const ByteRange &b) { return a.low < b.low; });
  std::vector<ByteRange> merged;
  for (const ByteRange &r : ranges)
    if (!merged.empty() && r.low <= merged.back().high)
      merged.back().high = std::max(merged.back().high, r.high);
    else
      merged.push_back(r);
  return merged;
}

} // namespace kernelc::emulator
