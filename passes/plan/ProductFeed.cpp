// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether tensor copies can bring what the factors of a product read.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/index/LinearRead.h"
#include "passes/index/Strides.h"
#include "passes/tile/Access.h"
#include "passes/tile/WgmmaOperand.h"
using namespace mlir;

namespace kernelc::te {

std::optional<Box> Scheduler::findReadBox(const LaunchPlan &l, ReadOp read, ArrayRef<unsigned> outer, ArrayRef<unsigned> k,
                                          ArrayRef<int64_t> dims, SmallVectorImpl<int64_t> &box, std::string &why, int64_t pad) {
  auto no = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  SmallVector<AffineExpr> toLaunch;
  SmallVector<Value> byData;
  for (Value v : read.getOperands_()) {
    auto arg = dyn_cast<BlockArgument>(v);
    bool isIndex = arg && arg.getArgNumber() < dims.size();
    toLaunch.push_back(getAffineDimExpr(isIndex ? dims[arg.getArgNumber()] : l.indices.size() + byData.size(), read.getContext()));
    if (!isIndex)
      byData.push_back(v);
  }
  AffineMap map = read.getMapOrIdentity();
  SmallVector<AffineExpr> subscripts;
  for (AffineExpr e : map.getResults())
    subscripts.push_back(e.replaceDims(toLaunch));
  map = AffineMap::get(l.indices.size() + byData.size(), map.getNumSymbols(), subscripts, read.getContext());
  box.assign(l.indices.size(), 1);
  for (unsigned d : llvm::concat<const unsigned>(outer, k))
    box[dims[d]] = l.tiles[dims[d]];
  SmallVector<int64_t> points(box.begin(), box.end());
  std::optional<Pieces> pieces = findPieces(map, box);
  if (!pieces)
    return no("pages and tiles do not divide each other");
  if (!llvm::all_of(byData, [&](Value v) { return isSameInPieces(l, v, dims, *pieces); }))
    return no("a subscript is data, other data for each row");
  box = boxShape(map, points);
  int64_t bytes = std::max(1u, read.getResult().getType().getIntOrFloatBitWidth() / 8);
  TensorRead access{map, getTensorShape(read.getTensor()), l.extents, box, bytes, false, llvm::BitVector(box.size())};
  access.points = points;
  access.pad = pad;
  int64_t param = findParam(read.getTensor());
  access.strides = getParamStrides(getKernel(read), param);
  access.alignment = getParamAlignment(getKernel(read), param);
  if (read.getBounds() == BoundsMode::Pad) {
    access.zeroOutside = true;
    if (!readsZeroOutside(read))
      return no("what lies outside is not zero");
  } else if (!isUnchecked(read)) {
    return no("subscripts are clamped or wrapped");
  }
  for (unsigned d : k)
    access.reduced.set(dims[d]);
  return findBox(access, facts_, why);
}

bool Scheduler::isSameInPieces(const LaunchPlan &l, Value data, ArrayRef<int64_t> dims, const Pieces &pieces) {
  auto isSame = [&](AffineExpr e, unsigned position, unsigned d) {
    return !variesInTile(e, position, dims[d] == pieces.along ? pieces.points : l.tiles[dims[d]]);
  };
  SmallVector<Value> work{data};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (auto arg = dyn_cast<BlockArgument>(v)) { // (a scalar of the kernel is the same everywhere)
      bool isIndex = arg.getArgNumber() < dims.size(), isOfBody = isDomainOp(arg.getOwner()->getParentOp());
      if (isOfBody && (!isIndex || !isSame(getAffineDimExpr(0, v.getContext()), 0, arg.getArgNumber())))
        return false;
      continue;
    }
    Operation *op = v.getDefiningOp();
    auto read = dyn_cast<ReadOp>(op);
    if (!read) {
      llvm::append_range(work, op->getOperands());
      continue;
    }
    for (auto [n, operand] : llvm::enumerate(read.getOperands_())) {
      auto index = dyn_cast<BlockArgument>(operand);
      if (!index || index.getArgNumber() >= dims.size())
        work.push_back(operand);
      else if (!llvm::all_of(read.getMapOrIdentity().getResults(), [&, n = n](AffineExpr e) { return isSame(e, n, index.getArgNumber()); }))
        return false;
    }
  }
  return true;
}

bool Scheduler::rowsStraddleLines(Value factor) {
  constexpr int64_t kLineBytes = 128;
  ReadOp read = findOperandRead(factor);
  int64_t bytes = std::max(1u, read.getResult().getType().getIntOrFloatBitWidth() / 8);
  AffineMap shape = getTensorShape(read.getTensor()), strides = getParamStrides(kernel_, findParam(read.getTensor()));
  auto straddles = [&](AffineExpr pitch) {
    int64_t divisor = knownDivisor(pitch, facts_) * bytes;
    bool sharesLine = divisor > 0 && kLineBytes % divisor == 0 && knownMax(pitch, facts_) * bytes == divisor; // short rows side by side
    return divisor % kLineBytes != 0 && !sharesLine;
  };
  if (!strides)
    return shape.getNumResults() > 1 && straddles(shape.getResults().back());
  return llvm::any_of(strides.getResults(), [&](AffineExpr s) { return s != getAffineConstantExpr(1, s.getContext()) && straddles(s); });
}

bool Scheduler::canFeedWgmma(const LaunchPlan &l, Value factor, ArrayRef<unsigned> outer, ArrayRef<unsigned> k, ArrayRef<int64_t> dims,
                             std::string &why) {
  ReadOp read = findOperandRead(factor);
  SmallVector<int64_t> box;
  std::optional<Box> found = findReadBox(l, read, outer, k, dims, box, why);
  auto isShared = [&](unsigned d) { return box[dims[d]] != l.tiles[dims[d]]; };
  if (found && (llvm::any_of(outer, isShared) || llvm::any_of(k, isShared))) {
    why = "points of a tile share its elements";
    return false;
  }
  int64_t bytes = read.getResult().getType().getIntOrFloatBitWidth() / 8;
  auto inOrder = [&](ArrayRef<unsigned> list) { // (as dots have them: LaunchEmitter::dotForm)
    SmallVector<int64_t> indices = indicesOf(list, dims);
    llvm::sort(indices);
    return indices;
  };
  return found && findWgmmaOperand(box, bytes, found->contiguous, inOrder(outer), inOrder(k), why);
}

bool Scheduler::canFeedCores(const LaunchPlan &l, Value factor, ArrayRef<unsigned> outer, ArrayRef<unsigned> k, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> box;
  std::string why;
  std::optional<Box> found = findReadBox(l, findOperandRead(factor), outer, k, dims, box, why, /*pad=*/0);
  auto isWhole = [&](unsigned d) { return box[dims[d]] == l.tiles[dims[d]]; };
  return found && llvm::all_of(outer, isWhole) && llvm::all_of(k, isWhole) && llvm::is_contained(indicesOf(outer, dims), found->contiguous);
}

bool Scheduler::isWindowOfWords(Value factor, ArrayRef<unsigned> outer, ArrayRef<unsigned> k) const {
  constexpr int64_t kWord = 4;
  ReadOp read = findOperandRead(factor);
  auto movesAlong = [&](AffineExpr subscript, ArrayRef<unsigned> list) {
    return movesWith(read, subscript, [&](unsigned d) { return llvm::is_contained(list, d); });
  };
  bool isWindow = llvm::any_of(read.getMapOrIdentity().getResults(),
                               [&](AffineExpr subscript) { return movesAlong(subscript, outer) && movesAlong(subscript, k); });
  auto isIndex = [&](Value v) {
    auto arg = dyn_cast<BlockArgument>(v);
    return arg && isDomainOp(arg.getOwner()->getParentOp());
  };
  return isWindow && target_.asyncCopy && runsAlong(read, outer) && read.getResult().getType().getIntOrFloatBitWidth() == 8 * kWord &&
         llvm::all_of(read.getOperands_(), isIndex) && (isUnchecked(read) || readsZeroOutside(read));
}

bool Scheduler::canCopyWords(const LaunchPlan &l, Value factor, ArrayRef<unsigned> outer, ArrayRef<unsigned> k, ArrayRef<int64_t> dims) {
  constexpr int64_t kVectorWords = 4;
  auto isIndex = [&](Value v) { return cast<BlockArgument>(v).getArgNumber() < dims.size(); };
  return isWindowOfWords(factor, outer, k) && llvm::all_of(findOperandRead(factor).getOperands_(), isIndex) &&
         tileProduct(l, outer, dims) >= kVectorWords;
}

bool Scheduler::canFeedRegisters(const LaunchPlan &l, Value factor, ArrayRef<unsigned> outer, ArrayRef<unsigned> k, ArrayRef<int64_t> dims,
                                 int64_t &bytes, std::string &why) {
  bytes = 0;
  why = "nothing is read at every point";
  auto isMade = [&](ReadOp read) { return isMadeIn(l, ops_, read.getTensor()); }; // another statement leaves it in registers
  SmallVector<ReadOp> reads = findReads(factor);
  if (llvm::any_of(reads, isMade))
    return true; // what else is read is loaded where no tensor copy brings it
  for (ReadOp read : reads) {
    llvm::BitVector support = findSupport(read.getResult(), dims.size());
    auto isFree = [&](unsigned d) { return l.tiles[dims[d]] == 1 || support[d]; };
    if (!llvm::all_of(outer, isFree) || !llvm::all_of(k, isFree))
      continue; // a row, a scale: loaded
    SmallVector<int64_t> box;
    if (read.getResult().getType().getIntOrFloatBitWidth() < 8 || !findReadBox(l, read, outer, k, dims, box, why))
      return false;
    bytes += read.getResult().getType().getIntOrFloatBitWidth() / 8;
  }
  return bytes > 0;
}

int64_t Scheduler::bytesBeside(const LaunchPlan &l, ArrayRef<int64_t> rows, int64_t walked) {
  int64_t bytes = 0;
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    SmallVector<unsigned> outer, k;
    for (auto [d, index] : llvm::enumerate(dims))
      if (index == walked || llvm::is_contained(rows, index))
        (index == walked ? k : outer).push_back(unsigned(d));
    ops_[ordinal]->walk([&](ReadOp read) {
      if (isMadeIn(l, ops_, read.getTensor()))
        return;
      llvm::BitVector support = findSupport(read.getResult(), dims.size());
      auto isFree = [&](unsigned d) { return l.tiles[dims[d]] == 1 || support[d]; };
      SmallVector<int64_t> box;
      std::string why;
      int64_t bits = read.getResult().getType().getIntOrFloatBitWidth();
      if (!k.empty() && !outer.empty() && llvm::all_of(outer, isFree) && llvm::all_of(k, isFree) && bits >= 8 &&
          findReadBox(l, read, outer, k, dims, box, why))
        bytes += tileProduct(l, outer, dims) * tileProduct(l, k, dims) * bits / 8;
    });
  }
  return bytes;
}

SmallVector<int64_t> Scheduler::indicesOf(ArrayRef<unsigned> list, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(list, [&](unsigned d) { return dims[d]; });
}

} // namespace kernelc::te
