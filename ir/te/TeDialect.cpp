// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Te.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "ir/te/TeDialect.cpp.inc"
#include "ir/te/TeEnums.cpp.inc"

void kernelc::te::TeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/te/TeOps.cpp.inc"
      >();
}
