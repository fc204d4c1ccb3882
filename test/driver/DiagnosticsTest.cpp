// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bridge from MLIR diagnostics to a status: whose fault an error is decides the exit status of the tools.
#include "driver/compile/Diagnostics.h"

#include "frontend/Source.h"
#include "ir/te/InternalError.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/Te.h"
#include "mlir/IR/BuiltinOps.h"
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

TEST(Diagnostics, AStatusShowsTheFirstErrorsAndSaysHowManyMoreThereAre) {
  mlir::MLIRContext context;
  DiagnosticLog log(context, "", "a.kc");
  auto emit = [&](unsigned line) { mlir::emitError(mlir::FileLineColLoc::get(&context, "a.kc", line, 1)) << "wrong"; };
  for (unsigned line = DiagnosticLog::kMaxShown; line > 0; --line)
    emit(line);
  EXPECT_THAT(std::string(log.status("x").message()), ::testing::Not(::testing::HasSubstr("not shown")));
  emit(100);
  EXPECT_THAT(std::string(log.status("x").message()), ::testing::EndsWith("\na.kc:20:1: error: wrong\na.kc: 1 more error is not shown"));
  emit(101);
  EXPECT_THAT(std::string(log.status("x").message()), ::testing::EndsWith("a.kc: 2 more errors are not shown"));
  for (unsigned line = 102; log.errors().size() < frontend::Diagnostics::kMaxErrors; ++line)
    emit(line);
  EXPECT_THAT(std::string(log.status("x").message()), ::testing::EndsWith("a.kc: at least 180 more errors are not shown"));
}

TEST(Diagnostics, WhatIsSpokenOfIsUnderlinedAndErrorsStandInTheOrderOfTheText) {
  mlir::MLIRContext context;
  std::string text = "y = a +\n\tb * µc # d\n";
  DiagnosticLog log(context, text, "a.kc");
  auto file = mlir::StringAttr::get(&context, "a.kc");
  auto at = [&](unsigned line, unsigned column) -> mlir::Location { return mlir::FileLineColLoc::get(file, line, column); };
  auto fused = [&](mlir::Location caret, mlir::Location range) { return mlir::FusedLoc::get(&context, {caret, range}); };
  // A range over two lines is underlined in the caret's; a character of two bytes has one mark, comments have none.
  mlir::emitError(fused(at(2, 4), mlir::FileLineColRange::get(file, 1, 5, 3, 1))) << "second";
  mlir::emitError(fused(at(1, 7), mlir::FileLineColRange::get(file, 1, 5, 1, 8))) << "first";
  ASSERT_EQ(log.errors().size(), 2u);
  EXPECT_EQ(log.errors()[0], "a.kc:1:7: error: first\n  y = a +\n      ~~^");
  EXPECT_EQ(log.errors()[1], "a.kc:2:4: error: second\n  \tb * µc # d\n  \t~~^~~~");
}

TEST(Diagnostics, ErrorsOfSchedulesPointIntoTheirFile) {
  mlir::MLIRContext context;
  context.loadDialect<te::TeDialect>();
  std::string text = "def f", schedule = R"([{"kernel": "f", "launch": "y", "target": "sm_80", "warps": 2},
 {"kernel": "f", "launch": "y", "tiles": {"i": 3}}])";
  mlir::OwningOpRef<mlir::ModuleOp> op(mlir::ModuleOp::create(mlir::FileLineColLoc::get(&context, "a.kc", 1, 5)));
  DiagnosticLog log(context, text, "a.kc");
  log.setSchedule(schedule, "s.json");
  auto report = [&](llvm::StringRef launch, llvm::ArrayRef<llvm::StringRef> keys, bool isName) {
    mlir::emitError(te::getScheduleLoc(*op, "f", launch, keys, isName)) << "wrong";
    return log.errors().back();
  };
  std::string note = "\na.kc:1:5: note: what it schedules\n  def f\n      ^";
  EXPECT_EQ(report("y", {"warps"}, false),
            "s.json:1:61: error: wrong\n  [{\"kernel\": \"f\", \"launch\": \"y\", \"target\": \"sm_80\", \"warps\": 2},\n" +
                std::string(62, ' ') + "^" + note);
  EXPECT_EQ(report("y", {"tiles", "i"}, true),
            "s.json:2:43: error: wrong\n   {\"kernel\": \"f\", \"launch\": \"y\", \"tiles\": {\"i\": 3}}]\n" + std::string(44, ' ') +
                "^~~" + note);
  // Of a launch without a record, as the cost model's own, the program is what there is.
  EXPECT_EQ(report("z", {"warps"}, false), "a.kc:1:5: error: wrong\n  def f\n      ^");
}

} // namespace
} // namespace kernelc
