// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The record of who touched which bytes: per 4-byte word the last write and the
// reads since, split into bytes where accesses are smaller. It decides nothing
// about order: the caller supplies "did that happen before me?" and "does whoever
// comes after me know all about it?".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/Clocks.h"

namespace kernelc::emulator {

/// One word, or one byte of a split word.
struct ShadowCell {
  Stamp write;
  Stamp read;         ///< the only reader since the write, when `list` is 0
  uint32_t list = 0;  ///< 1 + index of the list of readers and atomics
  uint32_t split = 0; ///< 1 + index of the first of four byte cells
};

/// The shadow of one address range, paged in on first touch. Of a range that is huge and hardly touched (rows far apart) it takes little.
class Shadow {
public:
  explicit Shadow(size_t bytes) : folders_((bytes + kPageBytes * kFolderPages - 1) / (kPageBytes * kFolderPages)) {}

  /// Visits the cells of [offset, offset + size) for an access that covers them:
  /// whole words where the access does and the word is not split, bytes elsewhere.
  template <class Fn> void visit(size_t offset, size_t size, Fn &&fn) {
    size_t end = offset + size;
    while (offset < end) {
      ShadowCell &word = wordAt(offset);
      size_t from = offset & 3, to = end - (offset - from) < 4 ? end - (offset - from) : 4;
      if (from == 0 && to == 4 && !word.split) {
        fn(word, offset);
      } else {
        if (!word.split)
          splitWord(word);
        for (size_t i = from; i < to; i++)
          fn(bytes_[word.split - 1 + i], offset - from + i);
      }
      offset += to - from;
    }
  }
  std::vector<Stamp> &list(ShadowCell &cell);
  void dropList(ShadowCell &cell);
  void clear();

private:
  static constexpr size_t kPageBytes = 4096, kFolderPages = 4096;
  using Page = std::unique_ptr<ShadowCell[]>;
  ShadowCell &wordAt(size_t offset) {
    auto &folder = folders_[offset / (kPageBytes * kFolderPages)];
    if (!folder)
      folder = std::make_unique<Page[]>(kFolderPages);
    auto &page = folder[offset / kPageBytes % kFolderPages];
    if (!page)
      page = std::make_unique<ShadowCell[]>(kPageBytes / 4);
    return page[offset % kPageBytes / 4];
  }
  void splitWord(ShadowCell &word);

  std::vector<std::unique_ptr<Page[]>> folders_;
  std::vector<ShadowCell> bytes_;
  std::vector<std::vector<Stamp>> lists_;
  std::vector<uint32_t> freeLists_;
};

/// Runs the race rules for one access of `me` over one cell. `ordered(stamp)`
/// says whether that access happened before; `covered(stamp)` whether `me` may stand
/// for that read from now on; `conflict(stamp)` is called for every recorded access
/// that did not happen before and that `me` conflicts with.
template <class Ordered, class Covered, class Conflict>
void recordAccess(Shadow &shadow, ShadowCell &cell, const Stamp &me, Ordered &&ordered, Covered &&covered, Conflict &&conflict) {
  const bool write = me.flags & Stamp::Write, atomic = me.flags & Stamp::Atomic;
  if (cell.write.clock && !ordered(cell.write))
    conflict(cell.write);
  if (cell.list) {
    for (const Stamp &s : shadow.list(cell)) {
      bool conflicts = atomic ? !(s.flags & Stamp::Atomic) : write || (s.flags & Stamp::Write);
      if (conflicts && !ordered(s))
        conflict(s);
      else if (!write && !atomic && !(s.flags & Stamp::Atomic))
        break; // a plain read conflicts with atomics only, and those stand first
    }
  } else if (cell.read.clock && (write || atomic) && !ordered(cell.read)) {
    conflict(cell.read);
  }
  if (write && !atomic) {
    cell.write = me;
    cell.read = Stamp();
    if (cell.list)
      shadow.dropList(cell);
    return;
  }
  if (!cell.list && !atomic && (!cell.read.clock || covered(cell.read))) {
    cell.read = me;
    return;
  }
  std::vector<Stamp> &list = shadow.list(cell);
  if (cell.read.clock) {
    list.push_back(cell.read);
    cell.read = Stamp();
  }
  if (!list.empty()) {
    Stamp &last = atomic ? list.front() : list.back();
    if (last.domain == me.domain && last.agent == me.agent && last.flags == me.flags) {
      last = me;
      return;
    }
  }
  // What I cover need not be kept: whoever comes after me comes after it.
  // An atomic does not stand in for a plain read, nor a read for an atomic write.
  constexpr size_t kMost = 4096;
  if ((list.size() & (list.size() - 1)) == 0 && list.size() >= 4 && list.size() < kMost)
    std::erase_if(list, [&](const Stamp &s) { return s.flags == me.flags && covered(s); });
  if (list.size() >= kMost) // of so many readers the first and the latest are kept; looking through all for each would take too long
    (atomic ? list.front() : list.back()) = me;
  else if (atomic)
    list.insert(list.begin(), me);
  else
    list.push_back(me);
}

} // namespace kernelc::emulator
