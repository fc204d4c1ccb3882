// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Searches by whole warps: how many numbers a condition holds for, which is the first, the extremes of what is said of numbers.
#include <algorithm>

#include "test/helpers/Cases.h"

namespace kernelc::helpers {

void addSearchCases(std::vector<HelperCaseMaker> &cases) {
  HelperCaseMaker maker{"count_and_find_where", 75, 75, {"kc_count_where", "kc_find_where"}, nullptr};
  maker.make = [maker] {
    // Of 1000 numbers every seventh, none from 300 to 699.
    std::vector<uint8_t> on(1000);
    for (size_t i = 0; i < on.size(); i++)
      on[i] = i % 7 == 3 && (i < 300 || i >= 700);
    std::vector<int32_t> from, ends, counts, found;
    for (int end : {0, 1, 3, 4, 31, 32, 33, 64, 300, 700, 704, 999, 1000})
      for (int first : {0, 3, 4, 31, 32, 298, 299, 640, 998, 1000}) {
        int count = 0, at = first;
        for (int i = 0; i < end; i++)
          count += on[size_t(i)];
        while (at < end && !on[size_t(at)])
          at++;
        from.push_back(first);
        ends.push_back(end);
        counts.push_back(count);
        found.push_back(first < end ? at : end);
      }
    return CaseBuilder(maker)
        .input("on", on)
        .input("from", from)
        .input("ends", ends)
        .output("counts", counts)
        .output("found", found)
        .launch("search", 96,
                fill(R"(
  for (int c = threadIdx.x / 32; c < $n$; c += 3) {
    const int count = kc_count_where<int>(ends[c], [&](const int i) { return on[i] != 0; });
    const int first = kc_find_where<int>(from[c], ends[c], [&](const int i) { return on[i] != 0; });
    if (threadIdx.x % 32 == 0) counts[c] = count, found[c] = first;
  })",
                     {{"n", std::to_string(ends.size())}}))
        .build();
  };
  cases.push_back(maker);

  HelperCaseMaker anyLane{"find_lane", 75, 75, {"kc_find_lane"}, nullptr};
  anyLane.make = [maker = anyLane] {
    // No lane of the first warp, one of the second, all of the third.
    std::vector<uint8_t> on(96);
    std::vector<int32_t> found(96);
    for (size_t i = 0; i < on.size(); i++) {
      on[i] = i == 32 + 17 || i >= 64;
      found[i] = i < 32 ? 32 : 0;
    }
    return CaseBuilder(maker)
        .input("on", on)
        .output("found", found)
        .launch("lanes", 96, "  found[threadIdx.x] = kc_find_lane(on[threadIdx.x] != 0);")
        .build();
  };
  cases.push_back(anyLane);

  HelperCaseMaker looks{"look_by_bytes", 75, 75, {"kc_word", "kc_byte", "kc_look"}, nullptr};
  looks.make = [maker = looks] {
    // Four bytes are masked as a word, and each is what one looks up.
    std::vector<uint8_t> bytes(128);
    std::vector<int32_t> table(16), found(128);
    for (size_t i = 0; i < table.size(); i++)
      table[i] = int32_t(i * i * 40503 - 7);
    for (size_t i = 0; i < bytes.size(); i++) {
      bytes[i] = uint8_t(i * 151 + 13);
      found[i] = table[bytes[i] & 15];
    }
    return CaseBuilder(maker)
        .input("bytes", bytes)
        .input("table", table)
        .output("found", found)
        .launch("looks", 128,
                "  const int i = threadIdx.x;\n"
                "  const unsigned word = kc_word((const signed char *)bytes, i) & 0x0f0f0f0fu;\n"
                "  found[i] = kc_look(table, kc_byte(word, i) * 4);")
        .build();
  };
  cases.push_back(looks);

  HelperCaseMaker extremes{"largest_and_smallest", 75, 75, {"kc_largest", "kc_smallest"}, nullptr};
  extremes.make = [maker = extremes] {
    std::vector<int32_t> values(1000), starts, ends, largest, smallest;
    for (size_t i = 0; i < values.size(); i++)
      values[i] = int32_t(i * 7919 % 2003) - 1000;
    for (int end : {0, 1, 31, 32, 33, 511, 512, 513, 999, 1000})
      for (int start : {-2000, -5, 0, 900, 2000}) {
        starts.push_back(start);
        ends.push_back(end);
        largest.push_back(std::max(start, *std::max_element(values.begin(), values.begin() + std::max(end, 1))));
        smallest.push_back(std::min(start, *std::min_element(values.begin(), values.begin() + std::max(end, 1))));
        if (end == 0)
          largest.back() = smallest.back() = start;
      }
    return CaseBuilder(maker)
        .input("values", values)
        .input("starts", starts)
        .input("ends", ends)
        .output("largest", largest)
        .output("smallest", smallest)
        .launch("extremes", 96,
                fill(R"(
  for (int c = threadIdx.x / 32; c < $n$; c += 3) {
    const int most = kc_largest<int>(starts[c], ends[c], [&](const int i) { return values[i]; });
    const long long least = kc_smallest<long long>(starts[c], ends[c], [&](const long long i) { return (long long)values[i]; });
    if (threadIdx.x % 32 == 0) largest[c] = most, smallest[c] = (int)least;
  })",
                     {{"n", std::to_string(ends.size())}}))
        .build();
  };
  cases.push_back(extremes);
}

} // namespace kernelc::helpers
