// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA texts to a loaded shared object: blanks `#line`, adds the prelude and the
// entry tables, compiles, maps clang's complaints back to the texts. It must not run
// any of the code.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "emulator/Emulator.h"
#include "emulator/HostApi.h"
#include "support/LineMarks.h"

namespace kernelc::emulator {

/// A `__global__` function found in a text.
struct EntryDecl {
  std::string name;
  unsigned maxThreads = 0, minBlocks = 1;
};
std::vector<EntryDecl> findEntries(absl::string_view text);

/// Line `line` of the CUDA text and where its `#line` mark says it comes from.
CodeLocation locateLine(const LineMarks &marks, int line);

class HostObject;

/// One text of a host build in memory. Immutable but for the state behind `module`,
/// which all texts of the build share and `inUse` protects.
class LoadedText {
public:
  /// In one build if they can be; what does not compile fails alone.
  static std::vector<absl::StatusOr<std::shared_ptr<LoadedText>>> load(absl::Span<const std::string> texts, const EmulatorOptions &options);
  LoadedText(std::shared_ptr<HostObject> object, absl::string_view text, unsigned index);
  const kce::Module &module() const;
  const kce::Entry *findEntry(absl::string_view name) const;
  /// The place of the instruction before return address `pc`.
  CodeLocation locate(const void *pc) const;
  uintptr_t imageBase() const;
  /// Constants of the text live there.
  bool inImage(const void *p) const;
  std::mutex &inUse() const;

private:
  std::shared_ptr<HostObject> object_;
  LineMarks marks_;
  unsigned index_;
};

} // namespace kernelc::emulator
