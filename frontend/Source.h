// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where text came from, and how problems in it are reported.
//
// A Loc is a byte offset in one of the compilation's files, with the text around it
// that messages underline. Diagnostics turns it into an MLIR location. It counts errors and stops at kMaxErrors, which bounds the
// time that a text full of them takes (how many are shown is decided in driver/compile/Diagnostics.h); nothing here decides what is
// an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"

namespace kernelc::frontend {

struct Loc {
  uint32_t offset = 0;
  uint32_t file = 0; ///< 0 is the user's text, 1 the prelude, others are imported
  /// What is underlined, around `offset`; the token at `offset` where they are equal.
  uint32_t begin = 0, end = 0;
};

struct SourceFile {
  std::string name;
  llvm::StringRef text; ///< not owned
  std::vector<uint32_t> lineStarts;
};

class Diagnostics {
public:
  static constexpr unsigned kMaxErrors = 200;

  explicit Diagnostics(mlir::MLIRContext &context) : context(context) {}
  /// Registers a text and gives its file number.
  uint32_t addFile(llvm::StringRef name, llvm::StringRef text);
  const SourceFile &file(uint32_t i) const { return files[i]; }

  mlir::FileLineColLoc location(Loc loc) const;
  /// The same for messages: with what is underlined, as a FileLineColRange.
  mlir::Location underlined(Loc loc) const;
  /// An error at `loc`; silent once kMaxErrors were reported.
  mlir::InFlightDiagnostic error(Loc loc);
  /// An error that is not in the text.
  mlir::InFlightDiagnostic errorElsewhere();
  /// A warning at `loc`: the text means something, but hardly what was meant.
  mlir::InFlightDiagnostic warning(Loc loc) { return mlir::emitWarning(underlined(loc)); }
  /// A place that belongs to what `d` says.
  mlir::Diagnostic &note(mlir::InFlightDiagnostic &d, Loc loc) { return d.attachNote(underlined(loc)); }
  unsigned numErrors() const { return errors; }
  bool full() const { return errors >= kMaxErrors; }
  /// `count` were reported: those since were withheld, or are to be reported now.
  void forgetErrors(unsigned count) { errors = count; }
  mlir::MLIRContext &getContext() const { return context; }

private:
  mlir::InFlightDiagnostic counted(mlir::InFlightDiagnostic d);

  mlir::MLIRContext &context;
  std::vector<SourceFile> files;
  unsigned errors = 0;
};

/// The candidate nearest to `name` (support/Spelling.h), or "" when none is near.
std::string findNearest(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// "i, j" for two: what an example in a message names the indices of `rank` dims.
std::string exampleIndices(size_t rank);
/// "2 dims, but 1 subscript stands here"
std::string describeRank(size_t dims, size_t subscripts);

} // namespace kernelc::frontend
