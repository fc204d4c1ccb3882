// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/FactorLayout.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/LinearRead.h"
#include "passes/index/Strides.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {

bool FactorLayout::isOnCores(const Contraction &c) const {
  return of_.target.asyncCopy && !hasUnit(c, of_.target) && llvm::all_of(ArrayRef{c.a, c.b}, [](Value factor) {
           ReadOp read = findOperandRead(factor);
           return read && read.getResult().getType().getIntOrFloatBitWidth() >= 32;
         });
}

/// CUDA cores multiply vectors of rows by vectors of columns: an operand whose neighbours run along the summed index is
/// turned on its way into its slot, word by word, unless a copy in memory has turned it before; so are the weights of a convolution,
/// `f[o, c, r, s]`. Where tensor copies fill slots, rows that do not begin at whole vectors are copied, too; elsewhere what ends inside
/// a vector would be brought word by word in any case.
std::optional<FactorCopy> FactorLayout::forCores(Operation *statement, const Contraction &c, Value factor) const {
  ReadOp read = findOperandRead(factor);
  unsigned rank = cast<RankedTensorType>(read.getTensor().getType()).getRank();
  if (rank < 2 || !(readsZeroOutside(read) || isUnchecked(read)))
    return std::nullopt;
  AffineMap map = read.getMapOrIdentity();
  auto has = [&](AffineExpr e, unsigned d) { return movesWith(read, e, [&](unsigned index) { return index == d; }); };
  AffineExpr alongMemory = map.getResult(fastestDim(getTensorShape(read.getTensor())));
  auto isAlong = [&](ArrayRef<unsigned> list) { return llvm::any_of(list, [&](unsigned d) { return has(alongMemory, d); }); };
  ArrayRef<unsigned> outer = factor == c.a ? c.m : c.n;
  // Tensor copies bring a workspace's rows, whichever way they end; asynchronous ones would take them word by word. An index that is cut at
  // its product's tiles is one all the same.
  bool isCut = outer.size() > 1 && areDigitsOfOne(statement, read, outer);
  bool runsAlongSum = isAlong(c.k) && !isAlong(outer), isFed = of_.target.feedsCores && c.k.size() == 1 && (outer.size() == 1 || isCut);
  int64_t bytes = read.getResult().getType().getIntOrFloatBitWidth() / 8;
  for (unsigned d : llvm::reverse(outer)) {
    SmallVector<unsigned> at; // the subscripts that have it
    for (auto [r, e] : llvm::enumerate(map.getResults()))
      if (has(e, d))
        at.push_back(r);
    if (at.size() != 1 || !(isCut || isa<AffineDimExpr>(map.getResult(at[0]))))
      continue;
    bool isUnfed = isFed && at[0] + 1 == rank && !isAligned(read.getTensor());
    bool isWhole = isFed || knownDivisor(getExtents(statement).getResult(d), of_.facts) * bytes % kRowBytes == 0;
    if (isUnfed || (runsAlongSum && isWhole))
      return FactorCopy{at[0]};
  }
  return std::nullopt;
}

std::optional<FactorCopy> FactorLayout::find(Operation *statement, const Contraction &c, Value factor) const {
  if (isOnCores(c))
    return forCores(statement, c, factor);
  if (!findOperandRead(c.a) || !findOperandRead(c.b))
    return forChain(statement, c, factor);
  std::optional<FactorCopy> best;
  int64_t fewest = 3, longest = -1;
  // Both operands run along one summed index: the one that asks for fewest copies of those
  // with rows worth a copy, then the longest.
  for (unsigned k : c.k) {
    if (!c.isTiledK(k))
      continue;
    bool possible = true;
    int64_t copies = 0, length = knownMax(getExtents(statement).getResult(k), of_.facts);
    std::optional<FactorCopy> own;
    for (Value operand : {c.a, c.b}) {
      std::optional<std::optional<FactorCopy>> copy = along(statement, c, operand, k);
      possible &= copy.has_value();
      copies += copy && *copy;
      if (copy && operand == factor)
        own = *copy;
    }
    if (length >= 0 && length < of_.target.costs->copies.shortRow)
      copies += 1;
    if (!possible || copies > fewest || (copies == fewest && length <= longest))
      continue;
    best = own;
    fewest = copies;
    longest = length;
  }
  return best;
}

/// Of a product whose other factor comes from registers: its rows or columns lie along memory, if none of its indices does.
std::optional<FactorCopy> FactorLayout::forChain(Operation *statement, const Contraction &c, Value factor) const {
  ReadOp read = findOperandRead(factor);
  ArrayRef<unsigned> outer = factor == c.a ? c.m : c.n;
  if (!read || outer.size() != 1 || !runsAcross(statement, c, factor))
    return std::nullopt;
  LinearRead linear = lineariseSubscripts(statement, read, &of_.facts);
  SmallVector<unsigned> at = linear.subscriptsWith(outer.front());
  return at.size() == 1 && linear.isAlone(at[0], outer.front()) ? std::optional(FactorCopy{at[0]}) : std::nullopt;
}

bool FactorLayout::runsAcross(Operation *statement, const Contraction &c, Value factor) const {
  ReadOp read = findOperandRead(factor);
  if (!read || !(readsZeroOutside(read) || isUnchecked(read)))
    return false;
  LinearRead linear = lineariseSubscripts(statement, read, &of_.facts);
  unsigned last = fastestDim(getTensorShape(read.getTensor()));
  return llvm::any_of(c.batch, [&](unsigned d) {
    int64_t most = knownMax(getExtents(statement).getResult(d), of_.facts);
    return linear.isAlone(last, d) && most != 1;
  });
}

/// Whether an operand passes through registers as it lies.
static bool passesRegisters(const Contraction &c, Value factor) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return form && (factor == c.a ? form->aInRegisters : form->bInRegisters);
}

/// The copy of `factor` that a product asks for whose operands run along `k`: none inside where
/// it is fine as it is; nothing at all where none helps.
std::optional<std::optional<FactorCopy>> FactorLayout::along(Operation *statement, const Contraction &c, Value factor, unsigned k) const {
  ReadOp read = findOperandRead(factor);
  auto type = cast<RankedTensorType>(read.getTensor().getType());
  LinearRead linear = lineariseSubscripts(statement, read, &of_.facts);
  if (type.getRank() < 2 || !(readsZeroOutside(read) || isUnchecked(read)))
    return std::nullopt;
  unsigned last = fastestDim(getTensorShape(read.getTensor()));
  auto asItIs = [&] { return isAligned(read.getTensor()) ? std::nullopt : std::optional<FactorCopy>(FactorCopy{last}); };
  SmallVector<unsigned> at = linear.subscriptsWith(k);
  bool alone = at.size() == 1 && (linear.isAlone(at[0], k) || isBesideGroups(statement, c.batch, linear, at[0], k));
  if (alone && at[0] == last)
    return asItIs();
  // Units take 16-bit operands that are contiguous along rows or columns, too; and others from registers.
  ArrayRef<unsigned> outer = factor == c.a ? c.m : c.n;
  for (unsigned d : outer)
    if ((type.getElementTypeBitWidth() == 16 || passesRegisters(c, factor)) &&
        (linear.isAlone(last, d) || isBesideGroups(statement, outer, linear, last, d)))
      return asItIs();
  if (!alone)
    return std::nullopt;
  return std::optional<FactorCopy>(FactorCopy{at[0]});
}

/// Whether subscript `r` is d beside the numbers of groups, `g * 64 + d`, g one of `groups`: rows of slots are whole where groups are
/// multiples of the narrowest swizzle, and worth a copy from a length on.
bool FactorLayout::isBesideGroups(Operation *statement, ArrayRef<unsigned> groups, const LinearRead &read, unsigned r, unsigned d) const {
  const int64_t bytes = std::max(1u, ReadOp(read.read).getResult().getType().getIntOrFloatBitWidth() / 8);
  const int64_t row = 2 * kRowBytes / bytes; // of the narrowest swizzle
  int64_t points = knownDivisor(getExtents(statement).getResult(d), of_.facts);
  if (read.others[r] || read.coefficients[r][d] != 1 || points % row || points * bytes < of_.target.costs->copies.longRowBytes)
    return false;
  for (auto [g, coefficient] : llvm::enumerate(read.coefficients[r]))
    if (coefficient && g != d && !(llvm::is_contained(groups, g) && coefficient % row == 0))
      return false;
  return true;
}

bool FactorLayout::isAligned(Value tensor) const {
  int64_t bytes = std::max(1u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8), param = findParam(tensor);
  if (getParamAlignment(of_.kernel, param) % kRowBytes)
    return false;
  if (AffineMap strides = getParamStrides(of_.kernel, param))
    return strides.getResults().back() == getAffineConstantExpr(1, strides.getContext()) &&
           llvm::all_of(strides.getResults().drop_back(),
                        [&](AffineExpr s) { return knownDivisor(s * bytes, of_.facts) % kRowBytes == 0; });
  AffineMap shape = getTensorShape(tensor);
  return knownDivisor(shape.getResult(fastestDim(shape)) * bytes, of_.facts) % kRowBytes == 0;
}

} // namespace kernelc::te
