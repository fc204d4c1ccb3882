// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc fmt: canonical layout of a source text.
#include <iostream>

#include "driver/compile/Diagnostics.h"
#include "frontend/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/Commands.h"
#include "tools/Failure.h"
#include "tools/Files.h"
#include "tools/Options.h"
#include "tools/Source.h"

namespace kernelc::tools {
namespace {

/// `ranges`: with the inferred ranges as comments, for the sizes and constants set.
absl::StatusOr<std::string> format(const std::string &path, const frontend::ImportOptions *ranges) {
  absl::StatusOr<std::string> text = readInput(path);
  if (!text.ok())
    return text;
  rememberSource(path, *text);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string name = path == "-" ? "<stdin>" : path;
  DiagnosticLog log(context, *text, name);
  mlir::FailureOr<std::string> formatted =
      ranges ? frontend::formatKcWithRanges(context, *text, name, *ranges) : frontend::formatKc(context, *text, name);
  if (mlir::failed(formatted))
    return log.status("formatting");
  return *formatted;
}

} // namespace

int fmtCommand(const std::vector<std::string> &args) {
  std::vector<std::string> files, sets;
  std::string output = "-";
  bool inPlace = false, check = false, ranges = false;
  Options options("fmt", "FILE.kc ... [-i | --check | -o PATH]", "Prints source texts in the canonical layout.");
  options.flag("-i", inPlace, "rewrites the files")
      .flag("--check", check, "only says which files would change; fails if any does")
      .flag(
          "--ranges", ranges,
          "a comment line before every statement with the inferred ranges of its indices ('# ranges: ..'; lines of that form are replaced)")
      .list("--set", sets, "NAME=VALUE", "fixes a size or a const parameter, for --ranges")
      .value("-o", output, "PATH", "where the text goes (-: stdout)")
      .positionals(files);
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (files.empty())
    return options.usageError("which file?");
  if (!sets.empty() && !ranges)
    return options.usageError("--set goes with --ranges: the layout depends on no size");
  frontend::ImportOptions import;
  if (absl::Status s = addConstants(import.constants, sets); !s.ok())
    return reportFailure(s);
  bool changed = false;
  std::string all;
  for (const std::string &file : files) {
    absl::StatusOr<std::string> formatted = format(file, ranges ? &import : nullptr);
    if (!formatted.ok())
      return reportFailure(formatted.status());
    if (!inPlace && !check) {
      all += *formatted;
      continue;
    }
    absl::StatusOr<std::string> before = readInput(file);
    if (!before.ok())
      return reportFailure(before.status());
    if (*before == *formatted)
      continue;
    changed = true;
    if (check)
      std::cerr << "kernelc: " << file << " is not in the canonical layout" << (ranges ? " with its ranges" : "") << "\n";
    else if (absl::Status s = writeOutput(file, *formatted); !s.ok())
      return reportFailure(s);
  }
  if (!inPlace && !check)
    if (absl::Status s = writeOutput(output, all); !s.ok())
      return reportFailure(s);
  return check && changed ? kFailed : kDone;
}

} // namespace kernelc::tools
