// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVRTC, opened at run time: CUDA C text in, cubin (or PTX) and a structured log
// out. Needs no GPU. Thread-safe: several threads may compile at once. It keeps
// nothing between calls and caches nothing: DiskCache.h does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/CompileLog.h"

namespace kernelc {

/// A compiled text. `bytes` is an ELF image for exactly one architecture.
struct Cubin {
  std::string bytes;
  std::string log; ///< as NVRTC and ptxas wrote it
  std::vector<CompileDiagnostic> diagnostics;
  std::vector<KernelResources> kernels;
};

class Nvrtc {
public:
  /// Opens the library: `path` if given, else $KERNELC_LIBNVRTC, else the first of
  /// candidatePaths() that opens. Unavailable, with the list, when none does.
  static absl::StatusOr<std::unique_ptr<Nvrtc>> load(std::string path = "");
  /// Where load() looks, in order: version 13 before 12; by name, below the
  /// toolkit's folders, then inside the Python wheels.
  static std::vector<std::string> candidatePaths();

  /// {13, 0}.
  std::pair<int, int> version() const { return version_; }
  const std::string &path() const { return path_; }
  /// The file that this is, whatever name found it; empty when unknown.
  std::string file() const;
  /// Tells two builds of one version apart; part of the cubin's cache key.
  const std::string &buildId() const { return buildId_; }
  /// Compute capabilities it compiles for, e.g. {75, 80, 90}.
  const std::vector<int> &architectures() const { return architectures_; }

  /// The options every text is compiled with; a golden list, tested. With
  /// $KERNELC_LINEINFO=1 also -lineinfo: profilers then show the `.kc` lines.
  static std::vector<std::string> options(absl::string_view arch);

  /// Compiles `text` for `arch` ("sm_90a"). `programName` appears in messages that
  /// `#line` does not cover. `extra` follows options(arch); only those that
  /// isAllowedOption() accepts. InvalidArgument when the text does not compile:
  /// the message has one "file:line: error: ..." per error.
  absl::StatusOr<Cubin> compileToCubin(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                       absl::Span<const std::string> extra = {}) const;
  /// The same, to PTX text.
  absl::StatusOr<std::string> compileToPtx(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                           absl::Span<const std::string> extra = {}) const;

  /// True for options that change code, not what files NVRTC reads or writes.
  static bool isAllowedOption(absl::string_view option);

private:
  struct Functions;
  struct Program;
  Nvrtc();

public:
  ~Nvrtc();

private:
  absl::StatusOr<std::unique_ptr<Program>> compile(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                                   absl::Span<const std::string> extra) const;
  std::unique_ptr<Functions> fn_;
  std::string path_, buildId_;
  std::pair<int, int> version_;
  std::vector<int> architectures_;
};

} // namespace kernelc
