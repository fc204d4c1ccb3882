// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flags are chosen so that the host computes what the device computes: no contraction
// (NVRTC runs with --fmad=false), wrapping integers, no aliasing rules, calls kept
// convergent. The prelude is compiled once per user and kept; the linker is called
// without clang's driver: both are most of the time of a small kernel's build.
#include "emulator/HostToolchain.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/StringExtras.h"
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

std::vector<std::string> compilerFlags(const EmulatorOptions &options) {
  std::vector<std::string> flags = {"-std=c++20",
                                    options.optimize > 0 ? "-O1" : "-O0",
                                    "-gline-tables-only",
                                    "-w",
                                    "-ferror-limit=0",
                                    "-fPIC",
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
                                    "-fsanitize-coverage=edge,trace-pc-guard",
                                    "-mllvm",
                                    "-sanitizer-coverage-prune-blocks=0",
                                    "-fsanitize=integer-divide-by-zero",
                                    "-fno-sanitize-recover=integer-divide-by-zero",
                                    "-ftemplate-depth=512",
                                    "-fbracket-depth=1024"};
  if (options.checks)
    for (const char *f : {"-fsanitize=thread", "-mllvm", "-tsan-instrument-func-entry-exit=0", "-mllvm", "-tsan-distinguish-volatile=1",
                          "-mllvm", "-tsan-instrument-read-before-write=1"})
      flags.push_back(f);
  return flags;
}

/// Tells one compiler from another of the same name.
std::string identityOf(const std::string &program) {
  struct stat s{};
  if (::stat(program.c_str(), &s) != 0)
    return program;
  return absl::StrCat(program, ":", s.st_size, ":", int64_t(s.st_mtim.tv_sec));
}

/// A folder that only this user may write to, or nothing.
std::string privateFolder(const std::string &path) {
  ::mkdir(path.c_str(), 0700);
  struct stat s{};
  bool mine = ::lstat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == ::geteuid() && (s.st_mode & 077) == 0;
  return mine ? path : "";
}

absl::Status publish(const std::string &fresh, const std::string &path) {
  std::error_code ec = llvm::sys::fs::rename(fresh, path);
  return ec ? absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", ec.message())) : absl::OkStatus();
}

} // namespace

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
  return ec ? absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", ec.message())) : absl::OkStatus();
}

absl::StatusOr<HostToolchain> HostToolchain::find(const EmulatorOptions &options) {
  std::string name = options.clang, from = "";
  if (name.empty())
    if (const char *env = std::getenv("KERNELC_CLANG"); env && *env) {
      name = env;
      from = " that KERNELC_CLANG (--clang) names";
    }
  if (name.empty())
    name = "clang++-22";
  auto clang = llvm::sys::findProgramByName(name);
  if (!clang || !llvm::sys::fs::can_execute(*clang)) // a path is taken as it is
    return absl::NotFoundError(absl::StrCat("the emulator needs a host compiler, and '", name, "'", from,
                                            " was not found; install clang-22, or give a clang++ with KERNELC_CLANG or --clang"));
  HostToolchain tools;
  tools.clang_ = *clang;
  std::string beside = (llvm::sys::path::parent_path(*clang) + "/ld.lld").str();
  if (llvm::sys::fs::exists(beside))
    tools.linker_ = beside;
  else if (auto lld = llvm::sys::findProgramByName("ld.lld-22"))
    tools.linker_ = *lld;
  tools.flags_ = compilerFlags(options);
  tools.key_ = hexDigest(
      absl::StrCat(identityOf(tools.clang_), "\1", identityOf(tools.linker_), "\1", absl::StrJoin(tools.flags_, " "), "\1", kPrelude));
  llvm::SmallString<128> temporary;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, temporary);
  tools.preludeFolder_ = privateFolder(absl::StrCat(std::string(temporary.str()), "/kernelc-emulator-", ::geteuid()));
  return tools;
}

absl::StatusOr<std::string> HostToolchain::run(const std::string &program, std::vector<std::string> args, const std::string &logPath,
                                               int secondsToWait) const {
  args.insert(args.begin(), program);
  std::vector<llvm::StringRef> refs(args.begin(), args.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(logPath), llvm::StringRef(logPath)};
  std::string message;
  int rc = llvm::sys::ExecuteAndWait(program, refs, std::nullopt, redirects, secondsToWait,
                                     /*MemoryLimit=*/0, &message);
  if (rc < 0)
    return absl::UnavailableError(absl::StrCat(program, " did not finish: ", message));
  if (rc == 0)
    return "";
  auto log = llvm::MemoryBuffer::getFile(logPath);
  std::string text = log ? (*log)->getBuffer().str() : "";
  return text.empty() ? absl::StrCat(program, " failed with exit status ", rc) : text;
}

std::string HostToolchain::precompiledPrelude() const {
  if (preludeFolder_.empty())
    return "";
  std::string stem = absl::StrCat(preludeFolder_, "/", key_), header = stem + ".h", compiled = stem + ".pch", sum = stem + ".sum",
              fresh = absl::StrCat(stem, ".", ::getpid());
  auto contentOf = [](const std::string &path) {
    auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    return file ? (*file)->getBuffer().str() : std::string();
  };
  // A damaged one makes of every kernel one that does not compile, or another one.
  if (std::string content = contentOf(compiled); !content.empty() && contentOf(sum) == hexDigest(content))
    return compiled;
  // Others may be at it too: the last one wins, all have made the same.
  if (!writeFile(fresh + ".h", kPrelude).ok() || !publish(fresh + ".h", header).ok()) {
    llvm::sys::fs::remove(fresh + ".h");
    return "";
  }
  std::vector<std::string> args = flags_;
  for (const std::string &a : {std::string("-x"), std::string("c++-header"), std::string("-Xclang"), std::string("-fno-pch-timestamp"),
                               header, std::string("-o"), fresh + ".pch"})
    args.push_back(a);
  auto complaints = run(clang_, args, fresh + ".log", /*secondsToWait=*/120);
  llvm::sys::fs::remove(fresh + ".log");
  bool made = complaints.ok() && complaints->empty() && writeFile(fresh + ".sum", hexDigest(contentOf(fresh + ".pch"))).ok() &&
              publish(fresh + ".pch", compiled).ok() && publish(fresh + ".sum", sum).ok();
  if (!made)
    for (const char *suffix : {".pch", ".sum"})
      llvm::sys::fs::remove(fresh + suffix);
  return made ? compiled : "";
}

absl::StatusOr<std::string> HostToolchain::build(const std::string &main, const std::string &object, int secondsToWait) const {
  const std::string directory = llvm::sys::path::parent_path(main).str(), log = directory + "/log", unlinked = directory + "/kernel.o",
                    header = directory + "/prelude.h";
  std::string precompiled = precompiledPrelude();
  std::vector<std::string> args = flags_;
  if (precompiled.empty())
    if (absl::Status s = writeFile(header, kPrelude); !s.ok())
      return s;
  args.push_back(precompiled.empty() ? "-include" : "-include-pch");
  args.push_back(precompiled.empty() ? header : precompiled);
  for (const std::string &a : {std::string("-x"), std::string("c++"), main})
    args.push_back(a);
  if (linker_.empty()) {
    for (const std::string &a : {std::string("-shared"), std::string("-nostdlib++"), std::string("-fno-sanitize-link-runtime"),
                                 std::string("-o"), object, std::string("-lm")})
      args.push_back(a);
    return run(clang_, args, log, secondsToWait);
  }
  for (const std::string &a : {std::string("-c"), std::string("-o"), unlinked})
    args.push_back(a);
  auto complaints = run(clang_, args, log, secondsToWait);
  if (!complaints.ok() || !complaints->empty())
    return complaints;
  // What it calls of libm and libc, this process has already.
  return run(linker_, {"-shared", unlinked, "-o", object}, log, secondsToWait);
}

} // namespace kernelc::emulator
