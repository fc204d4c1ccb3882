// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One translation unit for all texts of a build: each stands in a namespace of its own,
// its entries under names of their own, because clang's start and the prelude cost more
// than a small kernel. A text that says more to the preprocessor than the emitted ones
// is built alone, so that it cannot change the others.
#include "emulator/HostCompiler.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "emulator/HostObject.h"
#include "emulator/HostToolchain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace kernelc::emulator {
namespace {

using Result = absl::StatusOr<std::shared_ptr<LoadedText>>;

std::string fileName(unsigned index) { return absl::StrCat("text", index, ".cu"); }

/// Whether nothing in `text` outlasts it: no macro, no file of somebody else's.
bool fitsBesideOthers(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "#"))
      continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    bool harmless = false;
    for (const char *known : {"line", "if", "else", "elif", "endif", "pragma unroll"})
      harmless |= absl::StartsWith(line, known);
    if (!harmless)
      return false;
  }
  return true;
}

/// The translation unit that includes text 0, 1, .. and ends in their tables.
std::string unitOf(const std::vector<std::vector<EntryDecl>> &texts) {
  std::string unit, tables, modules;
  const bool alone = texts.size() == 1;
  for (unsigned i = 0; i < texts.size(); i++) {
    std::string scope = alone ? "" : absl::StrCat("kce_text", i), suffix = alone ? "" : absl::StrCat("_kce", i);
    if (!alone)
      absl::StrAppend(&unit, "namespace ", scope, " {\n");
    for (const EntryDecl &e : texts[i])
      if (!alone)
        absl::StrAppend(&unit, "#define ", e.name, " ", e.name, suffix, "\n");
    absl::StrAppend(&unit, "#include \"", fileName(i), "\"\n");
    for (const EntryDecl &e : texts[i])
      if (!alone)
        absl::StrAppend(&unit, "#undef ", e.name, "\n");
    if (!alone)
      absl::StrAppend(&unit, "}\n");
    absl::StrAppend(&tables, "static constexpr Entry entries", i, "[] = {\n");
    for (const EntryDecl &e : texts[i])
      absl::StrAppend(&tables, "  Thunk<&", scope, "::", e.name, suffix, ">::entry(\"", e.name, "\", ", e.maxThreads, ", ", e.minBlocks,
                      "),\n");
    absl::StrAppend(&tables, "};\n");
    absl::StrAppend(&modules, "  {kce::kHostApiVersion, &kce::state, &kce::apiTable, kce::entries", i, ", ", texts[i].size(), "},\n");
  }
  return absl::StrCat(unit, "namespace kce {\n", tables,
                      "}\nextern \"C\" __attribute__((visibility(\"default\"))) const kce::Module "
                      "kce_modules[] = {\n",
                      modules, "};\n");
}

/// The number of the text that a complaint is about, or -1.
int textOf(absl::string_view complaint) {
  size_t cu = complaint.find(".cu:"), name = complaint.rfind("text", cu);
  int index = -1;
  if (cu == absl::string_view::npos || name == absl::string_view::npos ||
      !absl::SimpleAtoi(complaint.substr(name + 4, cu - name - 4), &index))
    return -1;
  return index;
}

/// clang's errors in text `index`, each as the CUDA line, the `.kc` line and what is the
/// matter; empty if it has none.
std::string explainErrors(const std::string &log, unsigned index, absl::string_view text, const EmulatorOptions &options) {
  LineMarks marks(text);
  std::vector<std::string> out;
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    size_t at = line.find("error: ");
    if (at == absl::string_view::npos || textOf(line.substr(0, at)) != int(index))
      continue;
    std::string what(line.substr(at + 7));
    CodeLocation loc = locateLine(marks, std::atoi(std::string(line.substr(line.find(".cu:") + 4)).c_str()));
    std::string where = absl::StrCat(options.textName, ":", loc.line);
    if (loc.sourceLine)
      absl::StrAppend(&where, " (", loc.sourceFile, ":", loc.sourceLine, ")");
    std::string construct(absl::StripAsciiWhitespace(marks.textOf(loc.line)));
    if (absl::StrContains(what, "poisoned"))
      what = "inline asm, __shared__ and __constant__ are not modelled; device-only code belongs "
             "inside #ifndef KC_HOST";
    else if (absl::StrContains(what, "undeclared identifier") || absl::StrContains(what, "unknown type name"))
      what = absl::StrCat(what, ": the emulator has no model of it");
    out.push_back(absl::StrCat(where, ": ", what, construct.empty() ? "" : "\n    ", construct));
    if (out.size() == 8)
      break;
  }
  return absl::StrJoin(out, "\n");
}

/// What the compiler complains about in no text, a template of the prelude's for instance.
std::string unplacedErrors(const std::string &log) {
  std::vector<std::string> out;
  for (absl::string_view line : absl::StrSplit(log, '\n'))
    if (size_t at = line.find("error: "); at != absl::string_view::npos && out.size() < 8)
      out.push_back(std::string(line.substr(at + 7)));
  return out.empty() ? log.substr(0, 2000) : absl::StrJoin(out, "\n");
}

absl::Status refused(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("the CUDA text cannot run on the emulator:\n", why));
}

// Builds that are loaded, by what they are made from.
std::mutex registryLock;
std::map<std::string, std::weak_ptr<HostObject>> &registry() {
  static auto *map = new std::map<std::string, std::weak_ptr<HostObject>>;
  return *map;
}

/// A folder of this user only, removed unless released.
class TemporaryFolder {
public:
  TemporaryFolder() {
    llvm::SmallString<128> path;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
    path_ = absl::StrCat(std::string(path), "/kernelc-emulator-XXXXXX");
    if (!::mkdtemp(path_.data()))
      path_.clear();
  }
  ~TemporaryFolder() {
    if (!path_.empty())
      llvm::sys::fs::remove_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  /// Empty when none could be made.
  const std::string &path() const { return path_; }
  std::string release() { return std::exchange(path_, ""); }

private:
  std::string path_;
};

/// Compiles several CUDA texts for the CPU, and links them into one shared object.
class Build {
public:
  Build(const HostToolchain &tools, std::vector<absl::string_view> texts, const EmulatorOptions &options)
      : tools_(tools), texts_(std::move(texts)), options_(options) {}

  /// The object, or null with `complaints()`.
  absl::StatusOr<std::shared_ptr<HostObject>> run();
  const std::string &complaints() const { return complaints_; }

private:
  /// The bytes of the object; an error with `complaints()` where the compiler has some.
  absl::StatusOr<std::string> compile(const std::string &directory, const std::string &unit);

  const HostToolchain &tools_;
  std::vector<absl::string_view> texts_;
  const EmulatorOptions &options_;
  std::string complaints_;
};

absl::StatusOr<std::string> Build::compile(const std::string &directory, const std::string &unit) {
  std::string main = directory + "/main.cpp", object = directory + "/kernel.so";
  for (unsigned i = 0; i < texts_.size(); i++)
    if (absl::Status s = writeFile(absl::StrCat(directory, "/", fileName(i)), LineMarks(texts_[i]).blanked()); !s.ok())
      return s;
  if (absl::Status s = writeFile(main, unit); !s.ok())
    return s;
  auto complaints = tools_.build(main, object, /*secondsToWait=*/120 + 5 * int(texts_.size()));
  if (!complaints.ok())
    return complaints.status();
  complaints_ = *std::move(complaints);
  if (!complaints_.empty())
    return absl::InvalidArgumentError("the CUDA text does not compile");
  auto bytes = llvm::MemoryBuffer::getFile(object, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return bytes ? absl::StatusOr<std::string>((*bytes)->getBuffer().str())
               : absl::UnavailableError(absl::StrCat("cannot read ", object, ": ", bytes.getError().message()));
}

absl::StatusOr<std::shared_ptr<HostObject>> Build::run() {
  std::vector<std::vector<EntryDecl>> entries;
  for (absl::string_view t : texts_)
    entries.push_back(findEntries(t));
  // The marks count too: a live build is shared, and with it what its lines come from.
  std::string unit = unitOf(entries), sources = absl::StrCat(unit, "\1", absl::StrJoin(texts_, "\1")),
              digest = hexDigest(absl::StrCat(tools_.key(), "\1", sources));
  if (options_.cache) {
    std::lock_guard<std::mutex> lock(registryLock);
    if (auto it = registry().find(digest); it != registry().end())
      if (std::shared_ptr<HostObject> live = it->second.lock())
        return live;
  }
  TemporaryFolder folder;
  if (folder.path().empty())
    return absl::UnavailableError(absl::StrCat("cannot create a temporary folder: ", std::strerror(errno)));
  // What runs is always a file of this process's own, made or checked just now.
  std::string object = folder.path() + "/kernel.so";
  auto make = [&] { return compile(folder.path(), unit); };
  absl::StatusOr<std::string> bytes = options_.cache ? options_.cache(tools_.key(), sources, make) : make();
  if (!complaints_.empty())
    return nullptr;
  if (!bytes.ok())
    return bytes.status();
  if (!llvm::sys::fs::exists(object))
    if (absl::Status s = writeFile(object, *bytes); !s.ok())
      return s;
  auto loaded = HostObject::open(object, folder.release()); // the object's now
  if (loaded.ok() && options_.cache) {
    std::lock_guard<std::mutex> lock(registryLock);
    registry()[digest] = *loaded;
  }
  return loaded;
}

} // namespace

LoadedText::LoadedText(std::shared_ptr<HostObject> object, absl::string_view text, unsigned index)
    : object_(std::move(object)), marks_(text), index_(index) {}

const kce::Module &LoadedText::module() const { return object_->modules()[index_]; }
uintptr_t LoadedText::imageBase() const { return object_->imageBase(); }
bool LoadedText::inImage(const void *p) const { return object_->inImage(p); }
std::mutex &LoadedText::inUse() const { return object_->inUse; }

std::vector<Result> LoadedText::load(absl::Span<const std::string> texts, const EmulatorOptions &options) {
  auto tools = HostToolchain::find(options);
  if (!tools.ok())
    return std::vector<Result>(texts.size(), tools.status());
  std::vector<Result> results(texts.size(), Result(absl::InternalError("not built")));
  std::vector<std::vector<size_t>> groups(1); // what is built together; the first may be empty
  for (size_t i = 0; i < texts.size(); i++) {
    if (findEntries(texts[i]).empty())
      results[i] = absl::InvalidArgumentError("the CUDA text has no __global__ function");
    else if (fitsBesideOthers(texts[i]))
      groups[0].push_back(i);
    else
      groups.push_back({i});
  }
  while (!groups.empty()) {
    std::vector<size_t> group = std::move(groups.back());
    groups.pop_back();
    if (group.empty())
      continue;
    std::vector<absl::string_view> members;
    for (size_t i : group)
      members.push_back(texts[i]);
    Build build(*tools, members, options);
    auto object = build.run();
    std::vector<size_t> rest;
    for (unsigned k = 0; k < group.size(); k++) {
      Result &result = results[group[k]];
      if (!object.ok()) {
        result = object.status();
      } else if (*object) {
        result = std::make_shared<LoadedText>(*object, texts[group[k]], k);
      } else {
        std::string why = explainErrors(build.complaints(), k, texts[group[k]], options);
        if (why.empty())
          rest.push_back(group[k]);
        else
          result = refused(why);
      }
    }
    if (rest.size() < group.size())
      groups.push_back(rest);
    else if (rest.size() > 1) // nobody's fault by name
      for (size_t i : rest)
        groups.push_back({i});
    else
      results[rest[0]] = refused(unplacedErrors(build.complaints()));
  }
  return results;
}

const kce::Entry *LoadedText::findEntry(absl::string_view name) const {
  for (unsigned i = 0; i < module().count; i++)
    if (name == module().entries[i].name)
      return &module().entries[i];
  return nullptr;
}

CodeLocation LoadedText::locate(const void *pc) const {
  int line = pc ? object_->lineIn(fileName(index_), pc) : 0;
  return line ? locateLine(marks_, line) : CodeLocation();
}

} // namespace kernelc::emulator
