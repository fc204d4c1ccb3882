// CUDA text to a loaded shared object: blanks `#line`, adds the prelude and the
// entry table, runs clang, maps its complaints back to the text. It must not run
// any of the code.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "emulator/Emulator.h"
#include "emulator/HostApi.h"
#include "support/LineMarks.h"

namespace kernelc::emulator {

/// A `__global__` function found in a text.
struct EntryDecl {
  std::string name;
  unsigned maxThreads = 0;
};
std::vector<EntryDecl> findEntries(absl::string_view text);

/// Line `line` of the CUDA text and where its `#line` mark says it comes from.
CodeLocation locateLine(const LineMarks &marks, int line);

/// A host build in memory. Immutable but for the fiber state behind `module`,
/// which `inUse` protects.
class LoadedText {
public:
  static absl::StatusOr<std::shared_ptr<LoadedText>> load(absl::string_view text,
                                                          const EmulatorOptions &options);
  ~LoadedText();
  const kce::Module &module() const { return *module_; }
  const kce::Entry *findEntry(absl::string_view name) const;
  /// The place of the instruction before return address `pc`.
  CodeLocation locate(const void *pc) const;
  uintptr_t imageBase() const { return imageBase_; }
  /// Constants of the text live there.
  bool inImage(const void *p) const { return uintptr_t(p) - imageBase_ < imageBytes_; }
  std::mutex inUse;

private:
  LoadedText(absl::string_view text) : marks_(text) {}
  LineMarks marks_;
  std::string objectPath_, temporaryDirectory_;
  void *handle_ = nullptr;
  uintptr_t imageBase_ = 0, imageBytes_ = 0;
  const kce::Module *module_ = nullptr;
};

} // namespace kernelc::emulator
