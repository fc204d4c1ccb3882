// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one bridge from MLIR diagnostics to text and absl::Status: while a
// DiagnosticLog lives, its context reports into it. It decides nothing: severities
// come from whoever reported.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "driver/compile/ImportReader.h"
#include "mlir/IR/Diagnostics.h"

namespace kernelc {

class DiagnosticLog {
public:
  /// Errors that a status shows, in the order of the text; it says how many more there are.
  static constexpr size_t kMaxShown = 20;

  /// `text` is quoted, with a caret, where a location is in `fileName`. Both must
  /// outlive the log. One thread at a time, as the context.
  DiagnosticLog(mlir::MLIRContext &context, absl::string_view text, absl::string_view fileName);

  /// Errors about records of schedules point into this file, with a note in the program.
  void setSchedule(absl::string_view text, absl::string_view fileName) {
    schedule_ = text;
    scheduleName_ = fileName;
  }
  /// Files that the program imports are read anew by `reader` (null: none), where a line of one is quoted.
  void setImports(ImportReader reader) { readImport_ = std::move(reader); }

  bool hasErrors() const { return !errors_.empty(); }
  /// Rendered: "file:line:column: error: ..", the line with a caret and what is underlined, notes. In the order of the text.
  const std::vector<std::string> &errors() const { return errors_; }
  /// Rendered alike.
  const std::vector<std::string> &warnings() const { return warnings_; }
  const std::vector<std::string> &remarks() const { return remarks_; }

  /// InvalidArgument with the first kMaxShown errors, Internal where one of them is (ir/te/InternalError.h), and with `what` when a step
  /// failed without saying why.
  absl::Status status(absl::string_view what) const;

private:
  std::string render(mlir::Location loc, mlir::DiagnosticSeverity severity, const std::string &message) const;
  absl::string_view text_, fileName_, schedule_, scheduleName_;
  ImportReader readImport_;
  std::string renderInProgram(mlir::Location loc, mlir::DiagnosticSeverity severity, const std::string &message) const;
  void addError(mlir::Location loc, std::string text);
  std::vector<std::string> errors_, warnings_, remarks_;
  std::vector<std::pair<unsigned, unsigned>> places_; ///< line and column of each error; of one elsewhere those of the one before
  bool isInternal_ = false;
  mlir::ScopedDiagnosticHandler handler_;
};

} // namespace kernelc
