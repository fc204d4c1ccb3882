// Runs clang on the text and loads the result. Flags are chosen so that the host
// computes what the device computes: no contraction (NVRTC runs with
// --fmad=false), wrapping integers, no aliasing rules, calls kept convergent.
#include "emulator/HostCompiler.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/DebugInfo/Symbolize/Symbolize.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace kernelc::emulator {
namespace {

const char kPrelude[] =
#include "emulator/HostPrelude.inc"
    ;

absl::StatusOr<std::string> findClang(const EmulatorOptions &options) {
  std::string name = options.clang;
  if (name.empty())
    if (const char *env = std::getenv("KERNELC_CLANG"))
      name = env;
  if (name.empty())
    name = "clang++-22";
  if (auto path = llvm::sys::findProgramByName(name))
    return *path;
  return absl::NotFoundError(
      absl::StrCat("the emulator needs a host compiler: '", name,
                   "' was not found; install clang-22 or set KERNELC_CLANG"));
}

std::vector<std::string> compilerFlags(const EmulatorOptions &options) {
  std::vector<std::string> flags = {"-std=c++20",
                                    options.optimize > 0 ? "-O1" : "-O0",
                                    "-gline-tables-only",
                                    "-w",
                                    "-fPIC",
                                    "-shared",
                                    "-DKC_HOST",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fno-strict-aliasing",
                                    "-fwrapv",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-finite-loops",
                                    "-fno-delete-null-pointer-checks",
                                    "-fconvergent-functions",
                                    "-fno-vectorize",
                                    "-fno-slp-vectorize",
                                    "-fno-threadsafe-statics",
                                    "-fno-stack-protector",
                                    "-fvisibility=hidden",
                                    "-nostdlib++",
                                    "-fno-sanitize-link-runtime",
                                    "-fsanitize-coverage=edge,trace-pc-guard",
                                    "-mllvm",
                                    "-sanitizer-coverage-prune-blocks=0",
                                    "-ftemplate-depth=512",
                                    "-fbracket-depth=1024"};
  if (options.checks)
    for (const char *f :
         {"-fsanitize=thread", "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm",
          "-tsan-distinguish-volatile=1", "-mllvm", "-tsan-instrument-read-before-write=1"})
      flags.push_back(f);
  return flags;
}

std::string hexDigest(absl::string_view data) {
  llvm::BLAKE3 hash;
  hash.update(llvm::StringRef(data.data(), data.size()));
  auto bytes = hash.final<16>();
  return llvm::toHex(llvm::ArrayRef<uint8_t>(bytes.data(), bytes.size()), /*LowerCase=*/true);
}

absl::Status writeFile(const std::string &path, absl::string_view content) {
  std::error_code ec;
  llvm::raw_fd_ostream os(path, ec);
  if (!ec) {
    os << llvm::StringRef(content.data(), content.size());
    os.close();
    ec = os.error();
    os.clear_error();
  }
  return ec ? absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", ec.message()))
            : absl::OkStatus();
}

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// clang's errors, each as the CUDA line, the `.kc` line and what is the matter.
absl::Status explainErrors(const std::string &log, const LineMarks &marks,
                           const EmulatorOptions &options) {
  std::vector<std::string> out;
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    size_t at = line.find("error: ");
    if (at == absl::string_view::npos)
      continue;
    std::string what(line.substr(at + 7)), where, construct;
    size_t file = line.find("text.cu:");
    if (file != absl::string_view::npos && file < at) {
      CodeLocation loc = locateLine(marks, std::atoi(std::string(line.substr(file + 8)).c_str()));
      where = absl::StrCat(options.textName, ":", loc.line);
      if (loc.sourceLine)
        absl::StrAppend(&where, " (", loc.sourceFile, ":", loc.sourceLine, ")");
      absl::StrAppend(&where, ": ");
      construct = std::string(absl::StripAsciiWhitespace(marks.textOf(loc.line)));
    }
    if (absl::StrContains(what, "poisoned"))
      what = "inline asm, __shared__ and __constant__ are not modelled; device-only code belongs "
             "inside #ifndef KC_HOST";
    else if (absl::StrContains(what, "undeclared identifier") ||
             absl::StrContains(what, "unknown type name"))
      what = absl::StrCat(what, ": the emulator has no model of it");
    out.push_back(absl::StrCat(where, what, construct.empty() ? "" : "\n    ", construct));
    if (out.size() == 8)
      break;
  }
  if (out.empty())
    out.push_back(log.substr(0, 2000));
  return absl::InvalidArgumentError(
      absl::StrCat("the CUDA text cannot run on the emulator:\n", absl::StrJoin(out, "\n")));
}

/// Compiles into `object`; the intermediate files stand in `directory`.
absl::Status compileTo(const std::string &clang, const std::string &directory,
                       const std::string &object, const LineMarks &marks, const std::string &wrapper,
                       const EmulatorOptions &options) {
  std::string textPath = directory + "/text.cu", mainPath = directory + "/main.cpp",
              preludePath = directory + "/prelude.h", logPath = directory + "/log";
  std::string blanked = marks.blanked();
  for (auto &[path, content] :
       {std::pair<std::string, absl::string_view>{textPath, blanked},
        {mainPath, wrapper},
        {preludePath, kPrelude}})
    if (absl::Status s = writeFile(path, content); !s.ok())
      return s;
  std::vector<std::string> args = {clang};
  for (const std::string &f : compilerFlags(options))
    args.push_back(f);
  std::string lld = (llvm::sys::path::parent_path(clang) + "/ld.lld").str();
  if (llvm::sys::fs::exists(lld) || llvm::sys::findProgramByName("ld.lld-22"))
    args.push_back("-fuse-ld=lld");
  for (const std::string &f :
       {std::string("-include"), preludePath, std::string("-x"), std::string("c++"), mainPath,
        std::string("-o"), object, std::string("-lm")})
    args.push_back(f);
  std::vector<llvm::StringRef> refs(args.begin(), args.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(logPath),
                                                llvm::StringRef(logPath)};
  std::string message;
  int rc = llvm::sys::ExecuteAndWait(clang, refs, std::nullopt, redirects, /*SecondsToWait=*/120,
                                     /*MemoryLimit=*/0, &message);
  if (rc == 0)
    return absl::OkStatus();
  if (rc < 0)
    return absl::UnavailableError(absl::StrCat(clang, " did not finish: ", message));
  return explainErrors(readFile(logPath), marks, options);
}

// dlopen hands out one instance per file; so do we.
std::mutex registryLock;
std::map<std::string, std::weak_ptr<LoadedText>> &registry() {
  static auto *map = new std::map<std::string, std::weak_ptr<LoadedText>>;
  return *map;
}

} // namespace

absl::StatusOr<std::shared_ptr<LoadedText>> LoadedText::load(absl::string_view text,
                                                             const EmulatorOptions &options) {
  absl::StatusOr<std::string> clang = findClang(options);
  if (!clang.ok())
    return clang.status();
  std::shared_ptr<LoadedText> loaded(new LoadedText(text));
  std::vector<EntryDecl> entries = findEntries(text);
  if (entries.empty())
    return absl::InvalidArgumentError("the CUDA text has no __global__ function");
  std::string wrapper =
      "#include \"text.cu\"\nnamespace kce {\nstatic constexpr Entry entries[] = {\n";
  for (const EntryDecl &e : entries)
    absl::StrAppend(&wrapper, "  Thunk<&::", e.name, ">::entry(\"", e.name, "\", ", e.maxThreads,
                    "),\n");
  absl::StrAppend(&wrapper,
                  "};\n}\nextern \"C\" __attribute__((visibility(\"default\"))) const kce::Module "
                  "kce_module = {\n  kce::kHostApiVersion, &kce::state, &kce::apiTable, "
                  "kce::entries, ",
                  entries.size(), "};\n");

  // The marks count too: a live build is shared, and with it what its lines come from.
  std::string key =
      hexDigest(absl::StrCat(*clang, "\1", absl::StrJoin(compilerFlags(options), " "), "\1",
                             kPrelude, "\1", text, "\1", wrapper));
  llvm::SmallString<128> work;
  if (std::error_code ec = llvm::sys::fs::createUniqueDirectory("kernelc-emulator", work))
    return absl::UnavailableError(absl::StrCat("cannot create a temporary folder: ", ec.message()));
  loaded->temporaryDirectory_ = std::string(work.str());
  std::string cached;
  if (!options.cacheDirectory.empty()) {
    cached = absl::StrCat(options.cacheDirectory, "/", key, ".so");
    std::lock_guard<std::mutex> lock(registryLock);
    if (auto it = registry().find(cached); it != registry().end())
      if (std::shared_ptr<LoadedText> live = it->second.lock())
        return live;
  }
  std::string object = loaded->temporaryDirectory_ + "/kernel.so";
  if (!cached.empty() && llvm::sys::fs::exists(cached)) {
    object = cached;
  } else {
    absl::Status s =
        compileTo(*clang, loaded->temporaryDirectory_, object, loaded->marks_, wrapper, options);
    if (!s.ok())
      return s;
    if (!cached.empty()) { // published whole, by rename
      llvm::sys::fs::create_directories(options.cacheDirectory);
      std::string fresh = absl::StrCat(cached, ".", ::getpid(), ".tmp");
      if (!llvm::sys::fs::copy_file(object, fresh) && !llvm::sys::fs::rename(fresh, cached))
        object = cached;
    }
  }
  loaded->objectPath_ = object;
  loaded->handle_ = ::dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded->handle_)
    return absl::InternalError(absl::StrCat("cannot load the host build: ", ::dlerror()));
  loaded->module_ = static_cast<const kce::Module *>(::dlsym(loaded->handle_, "kce_module"));
  if (!loaded->module_ || loaded->module_->version != kce::kHostApiVersion)
    return absl::InternalError("the host build has another interface version");
  struct link_map *link = nullptr;
  if (::dlinfo(loaded->handle_, RTLD_DI_LINKMAP, &link) == 0)
    loaded->imageBase_ = link->l_addr;
  ::dl_iterate_phdr(
      [](struct dl_phdr_info *info, size_t, void *data) {
        auto *self = static_cast<LoadedText *>(data);
        if (info->dlpi_addr == self->imageBase_)
          for (int i = 0; i < info->dlpi_phnum; i++)
            if (info->dlpi_phdr[i].p_type == PT_LOAD)
              self->imageBytes_ = std::max<uintptr_t>(
                  self->imageBytes_, info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
        return 0;
      },
      loaded.get());
  if (object == cached) {
    std::lock_guard<std::mutex> lock(registryLock);
    registry()[cached] = loaded;
  }
  return loaded;
}

LoadedText::~LoadedText() {
  if (handle_)
    ::dlclose(handle_);
  if (!temporaryDirectory_.empty())
    llvm::sys::fs::remove_directories(temporaryDirectory_);
}

const kce::Entry *LoadedText::findEntry(absl::string_view name) const {
  for (unsigned i = 0; i < module_->count; i++)
    if (name == module_->entries[i].name)
      return &module_->entries[i];
  return nullptr;
}

CodeLocation LoadedText::locate(const void *pc) const {
  if (!pc)
    return {};
  // A kernel's line, not the prelude's: the innermost inlined frame in the text.
  llvm::symbolize::LLVMSymbolizer symbolizer;
  uint64_t address = reinterpret_cast<uintptr_t>(pc) - 1 - imageBase_;
  auto frames = symbolizer.symbolizeInlinedCode(
      objectPath_, {address, llvm::object::SectionedAddress::UndefSection});
  if (!frames) {
    llvm::consumeError(frames.takeError());
    return {};
  }
  for (uint32_t i = 0; i < frames->getNumberOfFrames(); i++) {
    const llvm::DILineInfo &frame = frames->getFrame(i);
    if (absl::EndsWith(frame.FileName, "text.cu"))
      return locateLine(marks_, int(frame.Line));
  }
  return {};
}

} // namespace kernelc::emulator
