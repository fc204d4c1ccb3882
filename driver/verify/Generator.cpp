// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/Generator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "driver/verify/HostValues.h"

namespace kernelc {
namespace {

absl::StatusOr<Generator::Range> parseRange(absl::string_view text) {
  std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits("..", 1));
  Generator::Range range;
  if (!absl::SimpleAtod(ends.first, &range.low) || !absl::SimpleAtod(ends.second, &range.high) || !std::isfinite(range.low) ||
      !std::isfinite(range.high))
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no range; expected two numbers, as in 0..1"));
  if (!(range.low < range.high))
    return absl::InvalidArgumentError(absl::StrCat("the range ", text, " is empty"));
  return range;
}

/// The integers of [low, high), which have to be values of the type.
struct Integers {
  int64_t first;
  uint64_t count;
};
absl::StatusOr<Integers> integersIn(const Generator::Range &range, ElementType type) {
  int bits = type == ElementType::boolean ? 1 : elementBits(type), magnitude = std::min(isSignedInteger(type) ? bits - 1 : bits, 62);
  double least = isSignedInteger(type) ? -std::ldexp(1, magnitude) : 0, end = std::ldexp(1, magnitude);
  double first = std::ceil(range.low), last = std::ceil(range.high); // past the last one
  if (first >= last)
    return absl::InvalidArgumentError(absl::StrCat("no integer lies in ", range.low, "..", range.high));
  if (first < least || last > end)
    return absl::InvalidArgumentError(absl::StrCat("values of type ", elementTypeName(type), " are made in ", least, "..", end, ", not in ",
                                                   range.low, "..", range.high));
  return Integers{int64_t(first), uint64_t(int64_t(last) - int64_t(first))};
}

absl::Status fillRange(const Generator::Range &range, const TensorView &t, uint64_t key) {
  // A value that rounds to one outside is drawn again.
  constexpr int kDraws = 1000;
  for (int64_t i = 0, n = t.numElements(); i < n; ++i) {
    uint64_t bits = mixBits(key + uint64_t(i));
    bool inside = false;
    for (int draw = 0; draw < kDraws && !inside; ++draw, bits = mixBits(bits)) {
      // By halves: the difference of two large ends may overflow.
      double at = double(bits >> 11) * 0x1p-53;
      storeElement(t.type, t.data, i, range.low * (1 - at) + range.high * at);
      double got = loadElement(t.type, t.data, i);
      inside = got >= range.low && got < range.high;
    }
    if (!inside)
      return absl::InvalidArgumentError(
          absl::StrCat("no value of type ", elementTypeName(t.type), " was found in ", range.low, "..", range.high));
  }
  return absl::OkStatus();
}

/// NaN, inf and -inf, in turns, in place of one element in so many, or of one at least.
void placeSpecials(const TensorView &t, uint64_t key) {
  constexpr int64_t kOneIn = 200;
  constexpr double kSpecials[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity()};
  int64_t n = t.numElements();
  uint64_t first = mixBits(key);
  for (int64_t k = 0; n > 0 && k <= n / kOneIn; ++k)
    storeElement(t.type, t.data, int64_t(mixBits(first + uint64_t(k)) % uint64_t(n)), kSpecials[(first + uint64_t(k)) % 3]);
}

absl::Status fillRandomly(const Generator &g, const TensorView &t, uint64_t seed) {
  uint64_t key = mixBits(seed);
  if (!g.range)
    fillRandom(t.type, t.data, t.numElements(), seed);
  else if (isFloat(t.type))
    return fillRange(*g.range, t, key);
  else {
    absl::StatusOr<Integers> integers = integersIn(*g.range, t.type);
    if (!integers.ok())
      return integers.status();
    for (int64_t i = 0, n = t.numElements(); i < n; ++i)
      storeElement(t.type, t.data, i, double(integers->first + int64_t(mixBits(key + uint64_t(i)) % integers->count)));
  }
  return absl::OkStatus();
}

} // namespace

bool namesGenerator(absl::string_view text) {
  return text == "zeros" || text == "ones" || text == "iota" || text == "random" || absl::StartsWith(text, "random:");
}

absl::StatusOr<Generator> parseGenerator(absl::string_view text) {
  if (text == "zeros" || text == "ones" || text == "iota")
    return Generator{text == "zeros" ? Generator::Zeros : text == "ones" ? Generator::Ones : Generator::Iota, {}, {}};
  auto expected = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(why, "; expected zeros, ones, iota or random[:SEED][:LO..HI][:specials]"));
  };
  if (!namesGenerator(text))
    return expected(absl::StrCat("'", text, "' makes no values"));
  Generator g;
  std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() > 1 && parts.back() == "specials") {
    g.specials = true;
    parts.pop_back();
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    uint64_t seed;
    if (absl::StrContains(parts[i], "..") && i + 1 == parts.size()) {
      absl::StatusOr<Generator::Range> range = parseRange(parts[i]);
      if (!range.ok())
        return expected(range.status().message());
      g.range = *range;
    } else if (i == 1 && absl::SimpleAtoi(parts[i], &seed)) {
      g.seed = seed;
    } else {
      return expected(i == 1 ? absl::StrCat("the seed '", parts[i], "' is not a number") : absl::StrCat("'", parts[i], "' is too much"));
    }
  }
  return g;
}

absl::Status fillFrom(const Generator &g, const TensorView &t, uint64_t seed) {
  int64_t n = t.numElements();
  if (g.kind != Generator::Random) {
    for (int64_t i = 0; i < n; ++i)
      storeElement(t.type, t.data, i, g.kind == Generator::Zeros ? 0 : g.kind == Generator::Ones ? 1 : double(i));
    return absl::OkStatus();
  }
  seed = g.seed.value_or(seed);
  if (absl::Status filled = fillRandomly(g, t, seed); !filled.ok())
    return filled;
  if (g.specials && isFloat(t.type))
    placeSpecials(t, mixBits(~seed));
  return absl::OkStatus();
}

} // namespace kernelc
