// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files that `import` names: found, read, parsed once each. What their definitions mean is not decided here.
//
// A path is relative to the file that imports, and has to stay in the program's folder; `std/..` are files that come with the
// compiler. Nothing here touches the disk: the caller gives a reader.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "frontend/Parser.h"

namespace kernelc::frontend {

/// The text of a file, whose path is relative to the program's folder; or nothing, and `why`.
using FileReader = std::function<std::optional<std::string>(const std::string &path, std::string &why)>;

class ImportedFiles {
public:
  static constexpr size_t kMaxFiles = 64;

  ImportedFiles(Diagnostics &diags, const FileReader &reader) : diags(diags), reader(reader) {}

  /// Loads what `ast`, of the program itself, imports, and what that imports; those first that others need.
  void load(const Ast &ast) { loadAll(ast, ""); }
  /// What was loaded, in order.
  const std::deque<ParseResult> &files() const { return parsed; }

private:
  void loadAll(const Ast &ast, llvm::StringRef folder);
  void loadOne(const Definition &import, llvm::StringRef folder);
  std::optional<std::string> read(const std::string &path, std::string &why);

  Diagnostics &diags;
  const FileReader &reader;
  std::deque<std::string> texts;
  std::deque<TokenList> tokens;
  std::deque<ParseResult> parsed;
  std::map<std::string, bool> state; ///< by path: false while its own imports are loaded
  std::vector<std::string> chain;
};

/// The file of `std/` that defines the function or reducer `name`; empty where none does.
std::string standardFileOf(llvm::StringRef name);

/// All that `text` may import, for keys of caches: what cannot be read counts as empty.
std::string importedTexts(llvm::StringRef text, const FileReader &reader);

} // namespace kernelc::frontend
