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
    for (CopyGroup &group : t->copyGroups)
      for (PendingCopy &copy : group.copies)
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
    if (isWgmmaCommitted(*t->block, number) && findOtherWgmma(*t->block, number) == 128)
      runWgmmaGroup(*t->block, number);
  }
  }
}

} // namespace kernelc::emulator
