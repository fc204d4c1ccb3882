// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bridge from MLIR diagnostics to a status: whose fault an error is decides the exit status of the tools.
#include "driver/Diagnostics.h"

#include "ir/te/InternalError.h"
#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc {
namespace {

TEST(Diagnostics, AnErrorIsTheProgramsUnlessItSaysOtherwise) {
  mlir::MLIRContext context;
  DiagnosticLog log(context, "", "a.kc");
  auto at = mlir::FileLineColLoc::get(&context, "a.kc", 3, 5);
  mlir::emitError(at) << "expected a name";
  EXPECT_EQ(log.status("x").code(), absl::StatusCode::kInvalidArgument);
  mlir::emitError(at) << te::kInternalError << "the plan is wrong";
  EXPECT_EQ(log.status("x").code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(log.status("x").message()), ::testing::HasSubstr("a.kc:3:5: error: internal error: the plan is wrong"));
}

TEST(Diagnostics, AStepThatFailsInSilenceIsAtFaultItself) {
  mlir::MLIRContext context;
  DiagnosticLog log(context, "", "a.kc");
  EXPECT_EQ(log.status("x").code(), absl::StatusCode::kInternal);
}

} // namespace
} // namespace kernelc
