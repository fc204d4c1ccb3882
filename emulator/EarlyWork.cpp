// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a device may do long before a wait asks for it. Without a seed, copies, stores and products are
// done at the latest moment, at the wait. Under a seed each may also be done at any time since it was
// committed, so that what reads results too soon, or changes operands too soon, gives other values.
#include "emulator/Machine.h"

namespace kernelc::emulator {

void Machine::noteCommitted(Thread &t, EarlyWork::Kind kind) {
  if (options_.seed)
    early_.push_back({kind, &t});
}

void Machine::doEarlyWork() {
  size_t picked = random_() % early_.size();
  auto [kind, t] = early_[picked];
  early_[picked] = early_.back();
  early_.pop_back();
  switch (kind) {
  case EarlyWork::Copies:
    for (auto &group : t->copyGroups)
      for (PendingCopy &copy : group)
        copy.land();
    return;
  case EarlyWork::Stores:
    for (auto &group : t->storeGroups)
      for (Transfer &op : group)
        completeStore(op);
    return;
  case EarlyWork::Products: {
    // In order, and together: a group whose last threads have not come, or that differ, waits for the wait.
    unsigned number = t->linear / 128;
    Warpgroup &warpgroup = t->block->warpgroups[number];
    size_t group = warpgroup.ahead;
    for (unsigned i = 0; i < 128; i++)
      if (t->block->threads[number * 128 + i]->wgmmaGroups.size() <= group)
        return;
    size_t count = t->block->threads[number * 128]->wgmmaGroups[group].size();
    for (size_t i = 0; i < count; i++)
      if (findOtherWgmma(*t->block, number, group, i) < 128)
        return;
    for (size_t i = 0; i < count; i++)
      runWgmma(*t->block, number, group, i);
    warpgroup.ahead++;
  }
  }
}

} // namespace kernelc::emulator
