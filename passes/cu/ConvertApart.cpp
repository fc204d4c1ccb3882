// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/ConvertApart.h"

#include "ir/cu/Marks.h"
#include "passes/cu/IndexRanges.h"
#include "passes/cu/LinearIndex.h"

using namespace mlir;

namespace kernelc {

/// What an integer is as an index; null where it is none.
static Value indexOf(Value v) {
  auto cast = v.getDefiningOp<arith::IndexCastOp>();
  Value index = cast ? cast.getIn() : v;
  return index.getType().isIndex() ? index : Value();
}

void convertApart(cu::KernelOp kernel) {
  constexpr int64_t kExact = int64_t(1) << 24; // all smaller integers are f32 numbers
  IndexRanges ranges(kernel);
  SmallVector<arith::SIToFPOp> conversions;
  kernel.getBody().walk([&](arith::SIToFPOp op) { conversions.push_back(op); });
  for (arith::SIToFPOp op : conversions) {
    Value index = op.getType().isF32() ? indexOf(op.getIn()) : Value();
    if (!index)
      continue;
    LinearIndex steady, numbers;
    LinearIndex all = LinearIndex::of(index);
    for (auto [v, factor] : all.terms)
      (cu::isUnrolledVariable(v) ? numbers : steady).add(v, factor);
    numbers.constant = all.constant;
    if (numbers.terms.empty() || steady.terms.empty())
      continue;
    OpBuilder b(op);
    Location loc = op.getLoc();
    auto convert = [&](const LinearIndex &part) -> Value {
      Value v = part.build(b, loc);
      Range range = ranges.of(v);
      if (range.low < -kExact || range.high > kExact)
        return {};
      return arith::SIToFPOp::create(b, loc, op.getType(), arith::IndexCastOp::create(b, loc, b.getI64Type(), v));
    };
    Range whole = ranges.of(index);
    Value first = whole.low < -kExact || whole.high > kExact ? Value() : convert(steady), second = first ? convert(numbers) : Value();
    if (!second)
      continue;
    op.replaceAllUsesWith(arith::AddFOp::create(b, loc, first, second).getResult());
    op.erase();
  }
}

} // namespace kernelc
