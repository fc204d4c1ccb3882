// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Searches by whole warps: how many numbers a condition holds for, and which is the first.
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
}

} // namespace kernelc::helpers
