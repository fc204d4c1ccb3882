// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See ImportedFiles.h.
#include "frontend/ImportedFiles.h"

#include <set>

#include "frontend/Std.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

namespace path = llvm::sys::path;

/// `name`, as a file in `folder` imports it, relative to the program's folder; nothing, and `why`, where it leaves it.
std::optional<std::string> resolve(StringRef name, StringRef folder, std::string &why) {
  if (name.empty() || name.contains('\0') || name.contains('\\')) {
    why = "is no file name";
    return std::nullopt;
  }
  if (path::is_absolute(name, path::Style::posix)) {
    why = "is absolute; write it relative to this file";
    return std::nullopt;
  }
  if (name.starts_with("std/"))
    return name.str();
  llvm::SmallString<128> full(folder);
  path::append(full, path::Style::posix, name);
  path::remove_dots(full, /*remove_dot_dot=*/true, path::Style::posix);
  if (full.empty() || full == "." || full.starts_with("..")) {
    why = "leaves the folder of the program; put a copy of that file into it";
    return std::nullopt;
  }
  return full.str().str();
}

const char *standardFile(StringRef file) {
  for (const StandardFile &f : kStandardFiles)
    if (file == f.path)
      return f.text;
  return nullptr;
}

bool defines(StringRef text, StringRef name) {
  for (StringRef keyword : {"\nfn ", "\nreducer "}) {
    std::string head = (keyword + name).str();
    for (size_t at = text.find(head); at != StringRef::npos; at = text.find(head, at + 1)) {
      StringRef next = text.substr(at + head.size()).take_front();
      if (next == "(" || next == "[")
        return true;
    }
  }
  return false;
}

StringRef nameOf(const Definition &import) { return import.name.drop_front().drop_back(); } // its quotes

} // namespace

std::string standardFileOf(StringRef name) {
  for (const StandardFile &f : kStandardFiles)
    if (defines(f.text, name))
      return f.path;
  return "";
}

std::optional<std::string> ImportedFiles::read(const std::string &file, std::string &why) {
  if (StringRef(file).starts_with("std/")) {
    if (const char *text = standardFile(file))
      return std::string(text);
    SmallVector<StringRef> known;
    for (const StandardFile &f : kStandardFiles)
      known.push_back(f.path);
    std::string near = findNearest(file, known);
    why = near.empty() ? "there are " + llvm::join(known, ", ") : "did you mean '" + near + "'?";
    return std::nullopt;
  }
  if (!reader) {
    why = "a text that is no file has no folder to import from";
    return std::nullopt;
  }
  return reader(file, why);
}

void ImportedFiles::loadOne(const Definition &import, StringRef folder) {
  StringRef name = nameOf(import);
  std::string why;
  std::optional<std::string> file = resolve(name, folder, why);
  if (!file) {
    diags.error(import.nameLoc) << "'" << name << "' " << why;
    return;
  }
  auto known = state.find(*file);
  if (known != state.end()) {
    if (known->second)
      return;
    auto d = diags.error(import.nameLoc);
    d << "'" << *file << "' imports itself: ";
    for (auto at = llvm::find(chain, *file); at != chain.end(); ++at)
      d << *at << ", ";
    d << *file;
    return;
  }
  if (state.size() >= kMaxFiles) {
    diags.error(import.nameLoc) << "a program imports at most " << unsigned(kMaxFiles) << " files";
    return;
  }
  state[*file] = false;
  std::optional<std::string> text = read(*file, why);
  if (!text) {
    auto d = diags.error(import.nameLoc);
    d << "cannot import '" << name << "': " << why;
    if (std::string ignored; path::extension(name).empty() && read(*file + ".kc", ignored))
      d << "; write 'import \"" << name << ".kc\"'";
    state[*file] = true;
    return;
  }
  texts.push_back(std::move(*text));
  uint32_t number = diags.addFile(*file, texts.back());
  if (auto own = lex(diags, number)) {
    tokens.push_back(std::move(*own));
    ParseResult result = Parser(diags, tokens.back()).run();
    chain.push_back(*file);
    loadAll(result.ast, path::parent_path(*file, path::Style::posix));
    chain.pop_back();
    parsed.push_back(std::move(result));
  }
  state[*file] = true;
}

void ImportedFiles::loadAll(const Ast &ast, StringRef folder) {
  for (const Definition &d : ast.definitions)
    if (d.kind == Definition::Import && !d.isBroken && !diags.full())
      loadOne(d, folder);
}

static void collectTexts(StringRef text, StringRef folder, const FileReader &reader, std::set<std::string> &seen, std::string &all) {
  for (size_t at = text.find("import"); at != StringRef::npos; at = text.find("import", at + 6)) {
    StringRef rest = text.substr(at + 6).ltrim();
    if (rest.empty() || (rest[0] != '"' && rest[0] != '\''))
      continue;
    std::string why;
    std::optional<std::string> file = resolve(rest.drop_front().split(rest[0]).first, folder, why);
    if (!file || StringRef(*file).starts_with("std/") || seen.size() >= ImportedFiles::kMaxFiles || !seen.insert(*file).second)
      continue;
    std::string own = reader(*file, why).value_or("");
    all += *file + "\n" + std::to_string(own.size()) + "\n" + own;
    collectTexts(own, path::parent_path(*file, path::Style::posix), reader, seen, all);
  }
}

std::string importedTexts(StringRef text, const FileReader &reader) {
  std::set<std::string> seen;
  std::string all;
  if (reader)
    collectTexts(text, "", reader, seen, all);
  return all;
}

} // namespace kernelc::frontend
