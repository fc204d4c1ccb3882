// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Storage of the shadow: splitting words, lists of readers.
#include "emulator/Shadow.h"

namespace kernelc::emulator {

void Shadow::splitWord(ShadowCell &word) {
  ShadowCell whole = word;
  uint32_t first = uint32_t(bytes_.size());
  std::vector<Stamp> readers;
  if (whole.list)
    readers = lists_[whole.list - 1];
  for (int i = 0; i < 4; i++) {
    ShadowCell byte;
    byte.write = whole.write;
    byte.read = whole.read;
    bytes_.push_back(byte);
    if (whole.list)
      list(bytes_.back()) = readers;
  }
  if (word.list)
    dropList(word);
  word.split = first + 1;
}

std::vector<Stamp> &Shadow::list(ShadowCell &cell) {
  if (!cell.list) {
    if (freeLists_.empty()) {
      lists_.emplace_back();
      cell.list = uint32_t(lists_.size());
    } else {
      cell.list = freeLists_.back() + 1;
      freeLists_.pop_back();
    }
  }
  return lists_[cell.list - 1];
}

void Shadow::dropList(ShadowCell &cell) {
  lists_[cell.list - 1].clear();
  freeLists_.push_back(cell.list - 1);
  cell.list = 0;
}

void Shadow::clear() {
  for (auto &folder : folders_)
    folder.reset();
  bytes_.clear();
  lists_.clear();
  freeLists_.clear();
}

} // namespace kernelc::emulator
