// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Nvrtc.h"

#include <cstdlib>
#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <link.h>
#include <sys/stat.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "support/LineMarks.h"

namespace kernelc {

#define KERNELC_NVRTC_API(X)                                                                                                               \
  X(nvrtcVersion, (int *major, int *minor))                                                                                                \
  X(nvrtcGetNumSupportedArchs, (int *count))                                                                                               \
  X(nvrtcGetSupportedArchs, (int *archs))                                                                                                  \
  X(nvrtcCreateProgram,                                                                                                                    \
    (void **program, const char *text, const char *name, int numHeaders, const char *const *headers, const char *const *names))            \
  X(nvrtcDestroyProgram, (void **program))                                                                                                 \
  X(nvrtcCompileProgram, (void *program, int numOptions, const char *const *options))                                                      \
  X(nvrtcGetCUBINSize, (void *program, size_t *size))                                                                                      \
  X(nvrtcGetCUBIN, (void *program, char *bytes))                                                                                           \
  X(nvrtcGetPTXSize, (void *program, size_t *size))                                                                                        \
  X(nvrtcGetPTX, (void *program, char *bytes))                                                                                             \
  X(nvrtcGetProgramLogSize, (void *program, size_t *size))                                                                                 \
  X(nvrtcGetProgramLog, (void *program, char *log))

struct Nvrtc::Functions {
  const char *(*nvrtcGetErrorString)(int error) = nullptr;
#define X(name, params) int(*name) params = nullptr;
  KERNELC_NVRTC_API(X)
#undef X
};

/// Owns one nvrtcProgram.
struct Nvrtc::Program {
  const Functions &fn;
  void *handle = nullptr;
  explicit Program(const Functions &fn) : fn(fn) {}
  ~Program() {
    if (handle)
      fn.nvrtcDestroyProgram(&handle);
  }
  absl::Status error(const char *call, int result) const {
    return absl::InternalError(absl::StrCat(call, ": ", fn.nvrtcGetErrorString(result)));
  }
  /// Reads a size-then-bytes pair of calls.
  absl::StatusOr<std::string> read(const char *what, int (*size)(void *, size_t *), int (*bytes)(void *, char *)) const {
    size_t n = 0;
    if (int r = size(handle, &n))
      return error(what, r);
    std::string s(n, '\0');
    if (n)
      if (int r = bytes(handle, s.data()))
        return error(what, r);
    return s;
  }
};

Nvrtc::Nvrtc() : fn_(std::make_unique<Functions>()) {}
Nvrtc::~Nvrtc() = default;

namespace {

/// The GNU build id of the loaded object that holds `symbol`, in hex.
std::string findBuildId(const void *symbol) {
  struct Search {
    uintptr_t address;
    std::string id;
  } search{reinterpret_cast<uintptr_t>(symbol), ""};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto *s = static_cast<Search *>(data);
        bool holds = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto &p = info->dlpi_phdr[i];
          uintptr_t begin = info->dlpi_addr + p.p_vaddr;
          holds |= p.p_type == PT_LOAD && s->address >= begin && s->address < begin + p.p_memsz;
        }
        if (!holds)
          return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto &p = info->dlpi_phdr[i];
          if (p.p_type != PT_NOTE)
            continue;
          const char *at = reinterpret_cast<const char *>(info->dlpi_addr + p.p_vaddr);
          const char *end = at + p.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
            const char *name = at + sizeof(*note);
            const char *desc = name + ((note->n_namesz + 3) & ~3u);
            at = desc + ((note->n_descsz + 3) & ~3u);
            if (at <= end && note->n_type == NT_GNU_BUILD_ID)
              s->id = absl::BytesToHexString(absl::string_view(desc, note->n_descsz));
          }
        }
        return 1;
      },
      &search);
  return search.id;
}

void appendGlob(const std::string &pattern, std::vector<std::string> *paths) {
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths->insert(paths->end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
}

} // namespace

std::vector<std::string> Nvrtc::candidatePaths() {
  std::vector<std::string> toolkits, sites;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = std::getenv(variable); value && *value)
      toolkits.push_back(value);
  toolkits.push_back("/usr/local/cuda");
  if (const char *env = std::getenv("VIRTUAL_ENV"); env && *env)
    sites.push_back(absl::StrCat(env, "/lib/python3*/site-packages"));
  if (const char *home = std::getenv("HOME"); home && *home)
    sites.push_back(absl::StrCat(home, "/.local/lib/python3*/site-packages"));
  for (const char *s : {"/usr/local/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages", "/usr/lib/python3*/site-packages",
                        "/usr/lib/python3/dist-packages"})
    sites.push_back(s);

  std::vector<std::string> paths;
  for (const char *major : {"13", "12"}) {
    std::string file = absl::StrCat("libnvrtc.so.", major);
    paths.push_back(file);
    for (const std::string &t : toolkits)
      for (const char *lib : {"/lib64/", "/lib/", "/targets/x86_64-linux/lib/"})
        paths.push_back(absl::StrCat(t, lib, file));
    for (const std::string &s : sites) {
      appendGlob(absl::StrCat(s, "/nvidia/cu", major, "/lib/", file), &paths);
      appendGlob(absl::StrCat(s, "/nvidia/cuda_nvrtc/lib/", file), &paths);
    }
  }
  return paths;
}

absl::StatusOr<std::unique_ptr<Nvrtc>> Nvrtc::load(std::string path) {
  const char *env = std::getenv("KERNELC_LIBNVRTC");
  if (path.empty() && env)
    path = env;
  std::vector<std::string> candidates = path.empty() ? candidatePaths() : std::vector<std::string>{path};
  void *library = nullptr;
  std::string reason;
  for (const std::string &candidate : candidates) {
    if ((library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL))) {
      path = candidate;
      break;
    }
    const char *e = dlerror();
    reason = e ? e : "";
  }
  if (!library)
    return absl::UnavailableError(
        absl::StrCat("no NVRTC: tried ", absl::StrJoin(candidates, ", "), " (last: ", reason,
                     "); install the CUDA toolkit or `pip install nvidia-cuda-nvrtc`, or set KERNELC_LIBNVRTC to libnvrtc.so.13"));

  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
  nvrtc->path_ = path;
  std::vector<const char *> missing;
  auto resolve = [&](const char *name, auto &slot) {
    slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(dlsym(library, name));
    if (!slot)
      missing.push_back(name);
  };
  resolve("nvrtcGetErrorString", nvrtc->fn_->nvrtcGetErrorString);
#define X(name, params) resolve(#name, nvrtc->fn_->name);
  KERNELC_NVRTC_API(X)
#undef X
  if (!missing.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is no usable NVRTC: it lacks ", absl::StrJoin(missing, ", "), "; version 12 or later is needed"));
  const Functions &fn = *nvrtc->fn_;
  int count = 0;
  if (int r = fn.nvrtcVersion(&nvrtc->version_.first, &nvrtc->version_.second))
    return absl::InternalError(absl::StrCat("nvrtcVersion: ", fn.nvrtcGetErrorString(r)));
  if (int r = fn.nvrtcGetNumSupportedArchs(&count))
    return absl::InternalError(absl::StrCat("nvrtcGetNumSupportedArchs: ", fn.nvrtcGetErrorString(r)));
  nvrtc->architectures_.resize(count > 0 ? count : 0);
  if (int r = count > 0 ? fn.nvrtcGetSupportedArchs(nvrtc->architectures_.data()) : 0)
    return absl::InternalError(absl::StrCat("nvrtcGetSupportedArchs: ", fn.nvrtcGetErrorString(r)));
  nvrtc->buildId_ = findBuildId(reinterpret_cast<const void *>(fn.nvrtcVersion));
  if (nvrtc->buildId_.empty()) {
    struct stat st{};
    if (stat(nvrtc->file().c_str(), &st) == 0)
      nvrtc->buildId_ = absl::StrCat("size", st.st_size);
  }
  return nvrtc;
}

std::string Nvrtc::file() const {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void *>(fn_->nvrtcVersion), &info) && info.dli_fname ? info.dli_fname : "";
}

std::vector<std::string> Nvrtc::options(absl::string_view arch) {
  std::vector<std::string> options = {absl::StrCat("-arch=", arch), "-std=c++17", "-default-device", "--fmad=false",
                                      // No kernel includes a file; this stops lookups relative to the working directory.
                                      "--no-source-include", "--ptxas-options=-v", "--ptxas-options=--warn-on-spills"};
  // Not always: the tables make a cubin three to four times as large.
  const char *lineInfo = std::getenv("KERNELC_LINEINFO");
  if (lineInfo && *lineInfo && absl::string_view(lineInfo) != "0")
    options.push_back("-lineinfo");
  return options;
}

bool Nvrtc::isAllowedOption(absl::string_view option) {
  static constexpr absl::string_view kExact[] = {"-lineinfo", "--generate-line-info", "--device-debug", "-G", "--Ofast-compile=mid"};
  static constexpr absl::string_view kPrefix[] = {"--maxrregcount=", "-D", "--define-macro=", "--ptxas-options=--register-usage-level="};
  for (absl::string_view e : kExact)
    if (option == e)
      return true;
  for (absl::string_view p : kPrefix)
    if (absl::StartsWith(option, p))
      return true;
  return false;
}

absl::StatusOr<std::unique_ptr<Nvrtc::Program>> Nvrtc::compile(absl::string_view text, absl::string_view programName,
                                                               absl::string_view arch, absl::Span<const std::string> extra) const {
  std::vector<std::string> all = options(arch);
  // Without declarations that no emitted text uses (textures, launches from a device): a fifth of the front end's time.
  // And without a cache of NVRTC's own: ours lies above it, and each process would open the files of that one first.
  if (version_ >= std::pair(13, 0))
    all.insert(all.end(), {"--minimal", "--no-cache"});
  for (const std::string &e : extra) {
    if (!isAllowedOption(e))
      return absl::InvalidArgumentError(
          absl::StrCat("NVRTC option '", e, "' is not allowed: it may make the compiler read or write files"));
    all.push_back(e);
  }
  std::vector<const char *> raw;
  for (const std::string &o : all)
    raw.push_back(o.c_str());

  auto program = std::make_unique<Program>(*fn_);
  // Pinned: messages and line tables then name the `.kc` line of every line.
  std::string textZ = LineMarks(text).pinned(), nameZ(programName);
  if (int r = fn_->nvrtcCreateProgram(&program->handle, textZ.c_str(), nameZ.c_str(), 0, nullptr, nullptr))
    return program->error("nvrtcCreateProgram", r);
  int result = fn_->nvrtcCompileProgram(program->handle, int(raw.size()), raw.data());
  if (result == 0)
    return program;

  absl::StatusOr<std::string> log = program->read("nvrtcGetProgramLog", fn_->nvrtcGetProgramLogSize, fn_->nvrtcGetProgramLog);
  constexpr int kOutOfMemory = 1, kInvalidOption = 5, kCompilationError = 6;
  absl::StatusCode code = result == kOutOfMemory     ? absl::StatusCode::kResourceExhausted
                          : result == kInvalidOption ? absl::StatusCode::kInvalidArgument
                                                     : absl::StatusCode::kInternal;
  if (result != kCompilationError)
    return absl::Status(
        code, absl::StrCat("NVRTC: ", fn_->nvrtcGetErrorString(result), " for ", arch, log.ok() && log->size() > 1 ? "\n" + *log : ""));
  std::string message = absl::StrCat("the CUDA text ", programName, " does not compile for ", arch, ":");
  if (!log.ok())
    return absl::InvalidArgumentError(message + " (no log)");
  CompileLog parsed = parseCompileLog(*log, text);
  for (const CompileDiagnostic &d : parsed.diagnostics)
    if (d.severity == CompileDiagnostic::Error)
      absl::StrAppend(&message, "\n", toString(d));
  if (!parsed.hasErrors())
    absl::StrAppend(&message, "\n", *log);
  return absl::InvalidArgumentError(message);
}

absl::StatusOr<Cubin> Nvrtc::compileToCubin(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                            absl::Span<const std::string> extra) const {
  if (!absl::StartsWith(arch, "sm_"))
    return absl::InvalidArgumentError(absl::StrCat("a cubin needs a real architecture such as sm_90a, got '", arch, "'"));
  auto program = compile(text, programName, arch, extra);
  if (!program.ok())
    return program.status();
  auto bytes = (*program)->read("nvrtcGetCUBIN", fn_->nvrtcGetCUBINSize, fn_->nvrtcGetCUBIN);
  if (!bytes.ok())
    return bytes.status();
  auto log = (*program)->read("nvrtcGetProgramLog", fn_->nvrtcGetProgramLogSize, fn_->nvrtcGetProgramLog);
  if (!log.ok())
    return log.status();
  while (!log->empty() && log->back() == '\0')
    log->pop_back();
  CompileLog parsed = parseCompileLog(*log, text);
  return Cubin{std::move(*bytes), std::move(*log), std::move(parsed.diagnostics), std::move(parsed.kernels)};
}

absl::StatusOr<std::string> Nvrtc::compileToPtx(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                                absl::Span<const std::string> extra) const {
  auto program = compile(text, programName, arch, extra);
  if (!program.ok())
    return program.status();
  auto ptx = (*program)->read("nvrtcGetPTX", fn_->nvrtcGetPTXSize, fn_->nvrtcGetPTX);
  while (ptx.ok() && !ptx->empty() && ptx->back() == '\0')
    ptx->pop_back();
  return ptx;
}

} // namespace kernelc
