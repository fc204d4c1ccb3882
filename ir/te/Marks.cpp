// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Marks.h"

using namespace mlir;

namespace kernelc::te {

LogicalResult verifyMarks(Operation *op) { return kernelc::verifyMarks(op, {kMarks}, "ir/te/Marks.h"); }

} // namespace kernelc::te
