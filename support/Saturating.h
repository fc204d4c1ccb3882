// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic that stops at a limit in place of wrapping. Sizes are whatever a
// caller says, and the product of two of them need not fit into 64 bits: a number that
// has wrapped can be anything, zero included, one that has stopped is still large.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>

namespace kernelc {

/// The nearest 64-bit number.
constexpr int64_t saturate(__int128 v) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  return v < kLeast ? kLeast : v > kMost ? kMost : int64_t(v);
}
constexpr int64_t addSaturated(int64_t a, int64_t b) { return saturate(__int128(a) + b); }
constexpr int64_t subSaturated(int64_t a, int64_t b) { return saturate(__int128(a) - b); }
constexpr int64_t mulSaturated(int64_t a, int64_t b) { return saturate(__int128(a) * b); }

/// How many points, tiles, blocks or bytes there are, as the compiler reckons with them: exact up to 2^60, which is more
/// than any memory has; what is more stays there, so that a few of them can still be added up and rounded. Never negative.
class Count {
public:
  static constexpr int64_t kMost = int64_t(1) << 60;

  template <std::integral T> constexpr Count(T n) : n_(n < T(0) ? 0 : uint64_t(n) > uint64_t(kMost) ? kMost : int64_t(n)) {}
  constexpr explicit operator int64_t() const { return n_; }
  constexpr explicit operator double() const { return double(n_); }

  friend constexpr Count operator*(Count a, Count b) { return Count(mulSaturated(a.n_, b.n_)); }
  friend constexpr Count operator+(Count a, Count b) { return Count(a.n_ + b.n_); }
  /// How many `b` go into it; of nothing, as many as of one.
  friend constexpr Count operator/(Count a, Count b) { return Count(a.n_ / std::max<int64_t>(1, b.n_)); }
  friend constexpr Count ceilDiv(Count a, Count b) { return a / b + Count(a.n_ % std::max<int64_t>(1, b.n_) != 0); }
  constexpr Count &operator*=(Count b) { return *this = *this * b; }
  friend constexpr auto operator<=>(Count a, Count b) = default;

private:
  int64_t n_;
};

} // namespace kernelc
