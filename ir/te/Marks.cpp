// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Marks.h"

using namespace mlir;

namespace kernelc::te {

bool areParallelDims(Operation *op, Attribute dims) {
  auto list = dyn_cast<DenseI64ArrayAttr>(dims);
  int64_t parallel = getNumParallel(op);
  return list && llvm::all_of(list.asArrayRef(), [&](int64_t d) { return d >= 0 && d < parallel; });
}

bool areBlockDims(Operation *op, Attribute numbers) {
  auto list = dyn_cast<DenseI64ArrayAttr>(numbers);
  return list && list.size() == 2 && list[0] >= 0 && list[1] > 0 && list[1] <= int64_t(getNumParallel(op));
}

LogicalResult verifyMarks(Operation *op) { return kernelc::verifyMarks(op, {kMarks}, "ir/te/Marks.h"); }

} // namespace kernelc::te
