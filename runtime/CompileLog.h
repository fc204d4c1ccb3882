// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the CUDA compilers said about one text, as data: errors, lost performance
// (spills, ignored setmaxnreg, serialised wgmma) and the resources of each entry,
// with positions mapped to the user's source through the text's `#line` marks.
// Pure text processing: it must not call NVRTC or read files.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "support/Artifact.h"

namespace kernelc {

struct CompileDiagnostic {
  /// PerformanceError: legal code that the compiler made slow (spills, C7508,
  /// C7510 to C7514); callers treat it as a failed schedule, not as a note.
  enum Severity { Error, PerformanceError, Warning, Note };
  Severity severity = Error;
  std::string code;     ///< "C7511", "spill", "177-D", or empty
  std::string function; ///< the entry or device function, if the log names one
  SourceLoc loc;        ///< in the user's source; line 0 when unknown
  std::string message;
  std::string excerpt; ///< the offending line and caret, as the front end printed them
};

/// What ptxas reports for one entry.
struct KernelResources {
  std::string entry;
  int registers = 0;
  int64_t staticSharedBytes = 0;
  int64_t stackBytes = 0;
  int64_t spillStoreBytes = 0;
  int64_t spillLoadBytes = 0;
};

struct CompileLog {
  std::vector<CompileDiagnostic> diagnostics;
  std::vector<KernelResources> kernels;

  bool hasErrors() const;
  bool hasPerformanceErrors() const;
};

/// Reads a log of NVRTC with `--ptxas-options=-v`. `text` is the compiled CUDA text.
CompileLog parseCompileLog(absl::string_view log, absl::string_view text);

/// Where the `#line` marks of `text` put the definition of `entry`; line 0 when
/// the text has no such definition.
SourceLoc findEntryLocation(absl::string_view text, absl::string_view entry);

/// "linear.kc:4: error: ..." with the excerpt on the following lines.
std::string toString(const CompileDiagnostic &diagnostic);

} // namespace kernelc
