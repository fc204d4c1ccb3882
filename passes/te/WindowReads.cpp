// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/WindowReads.h"

#include <map>
#include <set>

#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::te {

namespace {

constexpr unsigned kSector = 32; ///< bytes of memory that come together

/// A read of a statement, once however often it stands there.
struct Tap {
  Value tensor;
  SmallVector<AffineExpr> at; ///< over the statement's dims, and `data` behind them
  SmallVector<Value> data;
  bool isOwn = false;
  unsigned bytes = 0; ///< as a lane asks for it

  bool operator==(const Tap &t) const { return tensor == t.tensor && at == t.at && data == t.data; }
};

std::vector<Tap> tapsOf(const BlockSet &set, const BlockMember &m) {
  std::vector<Tap> taps;
  m.op->walk([&](ReadOp read) {
    SmallVector<Value> leaves;
    Tap tap{read.getTensor(), subscriptsOf(read, m.op, leaves)};
    llvm::append_range(tap.data, ArrayRef(leaves).drop_front(getExtents(m.op).getNumResults()));
    const BlockMember *made = set.find(read.getTensor().getDefiningOp());
    tap.isOwn = made && !made->isSink;
    // Neighbours of a row are neighbours in memory, or each has a sector of its own.
    unsigned row = llvm::find(m.blockDims, unsigned(m.blockDims.size() - 1)) - m.blockDims.begin();
    auto isAlong = [&](unsigned d) { return !tap.at.empty() && tap.at.back().isFunctionOfDim(d); };
    bool isApart = !tap.isOwn && !isAlong(row) && llvm::any_of(llvm::seq<unsigned>(0, m.blockDims.size()), isAlong);
    tap.bytes = isApart ? kSector : std::max(4u, read.getTensor().getType().getElementTypeBitWidth() / 8);
    if (!llvm::is_contained(taps, tap))
      taps.push_back(std::move(tap));
  });
  return taps;
}

/// How many different elements `neighbours` points along `dim` read, a point.
WindowReads countAlong(ArrayRef<Tap> taps, unsigned dim, int64_t neighbours) {
  using Key = std::vector<const void *>;
  std::map<Key, std::pair<const Tap *, std::set<int64_t>>> places; // of taps that differ by a number along `dim` alone
  for (const Tap &tap : taps) {
    Key key{tap.tensor.getAsOpaquePointer()};
    for (Value v : tap.data)
      key.push_back(v.getAsOpaquePointer());
    int64_t first = 0, step = 0;
    for (AffineExpr e : tap.at) {
      if (int64_t by = linearCoefficient(e, dim).value_or(0); by != 0 && step == 0) {
        step = by;
        for (auto [term, times] : splitTerms(e))
          if (auto number = dyn_cast<AffineConstantExpr>(term))
            first += number.getValue() * times;
        e = e - first;
      }
      key.push_back(e.getAsOpaquePointer());
    }
    auto &[sample, at] = places[key];
    sample = &tap;
    for (int64_t p = 0; p < neighbours; ++p)
      at.insert(first + p * step);
  }
  WindowReads reads;
  for (const auto &[key, group] : places) {
    double each = double(group.second.size()) / double(neighbours);
    (group.first->isOwn ? reads.own : reads.memory) += each;
    reads.bytes += each * group.first->bytes;
  }
  return reads;
}

} // namespace

WindowReads readsOf(const BlockSet &set, const BlockMember &m, int64_t neighbours) {
  std::vector<Tap> taps = tapsOf(set, m);
  std::optional<WindowReads> best;
  for (auto [dim, blockDim] : llvm::enumerate(m.blockDims)) {
    bool isWalked = set.wide[blockDim] && blockDim + 1 != m.blockDims.size();
    WindowReads reads = countAlong(taps, unsigned(dim), isWalked ? neighbours : 1);
    if (!best || reads.own + reads.memory < best->own + best->memory)
      best = reads;
  }
  return *best;
}

} // namespace kernelc::te
