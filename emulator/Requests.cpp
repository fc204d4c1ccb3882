// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bank conflicts and coalescing: the accesses of a warp's lanes at one place are
// put together to the request the hardware would make of them. Lanes meet again
// at synchronisations; between two of them, the n-th passage of each lane through
// a place belongs to the n-th request there.
#include <algorithm>

#include "emulator/Machine.h"

namespace kernelc::emulator {
namespace {

/// Wavefronts for the distinct 4-byte words touched: the fullest of 32 banks.
unsigned wavefronts(std::vector<uintptr_t> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  unsigned perBank[32] = {}, most = 0;
  for (uintptr_t w : words)
    most = std::max(most, ++perBank[w % 32]);
  return most;
}

} // namespace

void Machine::countRequest(Thread &t, uint32_t pc, const void *p, size_t size) {
  if (!options_.counts || size > 16)
    return;
  bool shared = sharedBlockOf(t, p, 1);
  Warp &warp = t.block->warps[t.linear / 32];
  uint64_t place = uint64_t(pc) << 1 | shared;
  Request &r = warp.requests[place << 24 | (t.passed[place]++ & 0xffffff)];
  r.pc = pc;
  r.shared = shared;
  r.size = std::max(r.size, unsigned(size));
  r.mask |= 1u << (t.linear % 32);
  r.address[t.linear % 32] = reinterpret_cast<uintptr_t>(p);
}

void Machine::settleRequests(Block &block, Warp &warp) {
  for (auto &[key, request] : warp.requests)
    settleRequest(request);
  warp.requests.clear();
  for (unsigned i = 0; i < 32 && warp.first + i < block.threads.size(); i++)
    block.threads[warp.first + i]->passed.clear();
}

void Machine::settleRequest(const Request &r) {
  AccessSite &site = sites_[{r.pc, r.shared}];
  site.shared = r.shared;
  site.bytes = int(r.size);
  site.requests++;
  uint64_t transactions = 0, minimum = 0;
  if (r.shared) {
    // Requests of 8 and 16 bytes go in halves and quarters of the warp.
    unsigned lanes = r.size <= 4 ? 32 : r.size <= 8 ? 16 : 8;
    for (unsigned first = 0; first < 32; first += lanes) {
      std::vector<uintptr_t> words;
      for (unsigned i = first; i < first + lanes; i++)
        if (r.mask >> i & 1)
          for (uintptr_t b = r.address[i] / 4; b <= (r.address[i] + r.size - 1) / 4; b++)
            words.push_back(b);
      transactions += wavefronts(words);
      minimum += !words.empty();
    }
    report_.counts.sharedRequests++;
    report_.counts.sharedWavefronts += transactions;
    report_.counts.sharedMinimum += minimum;
  } else {
    std::vector<uintptr_t> sectors, words;
    for (unsigned i = 0; i < 32; i++)
      if (r.mask >> i & 1)
        for (uintptr_t b = r.address[i]; b < r.address[i] + r.size; b++) {
          words.push_back(b);
          if (sectors.empty() || sectors.back() != b / 32)
            sectors.push_back(b / 32);
        }
    auto distinct = [](std::vector<uintptr_t> &v) {
      std::sort(v.begin(), v.end());
      return uint64_t(std::unique(v.begin(), v.end()) - v.begin());
    };
    transactions = distinct(sectors);
    minimum = (distinct(words) + 31) / 32;
    report_.counts.globalRequests++;
    report_.counts.globalSectors += transactions;
    report_.counts.globalMinimum += minimum;
  }
  site.transactions += transactions;
  site.minimum += minimum;
}

void Machine::countMatrix(uint32_t pc, const uintptr_t *rows, bool first) {
  if (!options_.counts)
    return;
  std::vector<uintptr_t> words;
  for (int r = 0; r < 8; r++)
    for (int i = 0; i < 4; i++)
      words.push_back(rows[r] / 4 + uintptr_t(i));
  unsigned taken = wavefronts(words);
  AccessSite &site = sites_[{pc, true}];
  site.shared = true;
  site.bytes = 16;
  site.requests += first;
  site.transactions += taken;
  site.minimum++;
  report_.counts.sharedRequests += first;
  report_.counts.sharedWavefronts += taken;
  report_.counts.sharedMinimum++;
}

} // namespace kernelc::emulator
