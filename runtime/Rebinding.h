// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New addresses and numbers for a call that was checked before: what does not hang on them is not asked again.
// Replacing allocates nothing; the checks that addresses decide (null, alignment, overlaps) are all made.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/LaunchCheck.h"

namespace kernelc {

/// One per Kernel::params: a tensor's address, or a scalar's bits.
struct NewArgument {
  void *data = nullptr;
  uint64_t bits = 0;
};

/// A call's arguments, whose addresses and scalars may be replaced. One thread at a time.
class Rebinding {
public:
  /// `variant`: what the arguments are bound to, whose guard then decides on alignments. Null: nothing asks for more than the elements do.
  Rebinding(const Kernel &kernel, CheckedArgs args, const Variant *variant = nullptr);
  const CheckedArgs &args() const { return args_; }
  /// InvalidArgument, as checkArguments has it, for addresses that the kernel refuses; FailedPrecondition for one
  /// that is less aligned than the variant needs: another variant's. Then nothing is replaced.
  absl::Status replace(const Kernel &kernel, absl::Span<const NewArgument> values);

private:
  /// The bytes of a tensor, from its address on.
  struct Span {
    int64_t begin = 0, end = 0;
    uintptr_t alignment = 1; ///< that an address needs
    bool isTensor = false;
  };
  absl::Status checkAddress(const Param &param, const Span &span, void *data) const;
  bool overlap(size_t a, size_t b, absl::Span<const NewArgument> values) const;

  CheckedArgs args_;
  std::vector<Span> spans_;
  std::vector<std::pair<size_t, size_t>> apart_; ///< what is written, and what it must not overlap
};

} // namespace kernelc
