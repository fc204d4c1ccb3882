// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joins of logical clocks.
#include "emulator/Clocks.h"

#include <algorithm>

namespace kernelc::emulator {

static void put(std::vector<uint32_t> &v, unsigned agent, uint32_t clock) {
  if (agent >= v.size())
    v.resize(agent + 1, 0);
  v[agent] = std::max(v[agent], clock);
}

static void mergeVector(std::vector<uint32_t> &into, const std::vector<uint32_t> &from) {
  if (into.size() < from.size())
    into.resize(from.size(), 0);
  for (size_t i = 0; i < from.size(); i++)
    into[i] = std::max(into[i], from[i]);
}

void Clocks::setSeen(unsigned agent, uint32_t clock) { put(seen, agent, clock); }
void Clocks::setFenced(unsigned agent, uint32_t clock) { put(fenced, agent, clock); }
void Clocks::setConsumed(unsigned agent, uint32_t clock) { put(consumed, agent, clock); }

void Clocks::mergeOther(uint32_t domain, const ClocksRef &clocks) {
  ClocksRef &mine = others[domain];
  if (mine == clocks)
    return;
  if (!mine) {
    mine = clocks;
    return;
  }
  auto both = std::make_shared<Clocks>();
  mergeVector(both->seen, mine->seen);
  mergeVector(both->seen, clocks->seen);
  mergeVector(both->fenced, mine->fenced);
  mergeVector(both->fenced, clocks->fenced);
  mergeVector(both->consumed, mine->consumed);
  mergeVector(both->consumed, clocks->consumed);
  mine = both;
}

void Clocks::merge(const Clocks &other) {
  mergeVector(seen, other.seen);
  mergeVector(fenced, other.fenced);
  mergeVector(consumed, other.consumed);
  for (const auto &[domain, clocks] : other.others)
    mergeOther(domain, clocks);
  for (auto [address, number] : other.observed)
    observed[address] = std::max(observed[address], number);
}

} // namespace kernelc::emulator
