// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/Session.h"

#include <atomic>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/compile/CacheKeys.h"
#include "driver/compile/Program.h"
#include "driver/jit/JitKernelImpl.h"
#include "driver/jit/SessionState.h"
#include "driver/jit/VariantSet.h"
#include "support/ArtifactJson.h"

namespace kernelc {

static CompilePolicy policyOf(const SessionOptions &options) {
  if (options.compile)
    return *options.compile;
  const char *named = std::getenv("KERNELC_COMPILE");
  if (!named || !*named)
    return CompilePolicy::Tiered;
  absl::StatusOr<CompilePolicy> policy = parseCompilePolicy(named);
  if (!policy.ok() && options.remark)
    options.remark(absl::StrCat("KERNELC_COMPILE: ", policy.status().message(), "; tiered is taken"));
  return policy.ok() ? *policy : CompilePolicy::Tiered;
}

SessionState::SessionState(SessionOptions o) : options(std::move(o)), policy(policyOf(options)) {}

DiskCache &SessionState::getCache() {
  absl::MutexLock lock(&mutex);
  if (!cache) {
    DiskCache::Options o;
    o.path = options.cachePath;
    o.maxBytes = options.diskCache ? options.cacheBytes : 0;
    if (options.remark)
      o.warn = options.remark;
    cache = DiskCache::open(std::move(o));
  }
  return *cache;
}

absl::StatusOr<Nvrtc *> SessionState::getNvrtc() {
  absl::MutexLock lock(&mutex);
  if (!nvrtc) {
    absl::StatusOr<std::unique_ptr<Nvrtc>> loaded = Nvrtc::load();
    if (!loaded.ok())
      return loaded.status();
    nvrtc = *std::move(loaded);
  }
  return nvrtc.get();
}

CompileProcess *SessionState::getCompileProcess(const Nvrtc &nvrtc) {
  std::string worker = CompileProcess::findWorker();
  absl::MutexLock lock(&mutex);
  if (worker.empty() || worker == refusedWorker)
    return nullptr;
  std::unique_ptr<CompileProcess> &process = compileProcesses[worker];
  if (!process)
    process = std::make_unique<CompileProcess>(worker, CompileLimits(), nvrtc.file());
  return process.get();
}

void SessionState::prepareCompiler() {
  absl::StatusOr<Nvrtc *> loaded = getNvrtc();
  if (CompileProcess *process = loaded.ok() ? getCompileProcess(**loaded) : nullptr)
    process->prepare(policy == CompilePolicy::Tiered ? 4 : 1); // for full and fast code
}

absl::StatusOr<Cubin> SessionState::compileToCubin(absl::string_view cudaText, absl::string_view programName, absl::string_view target,
                                                   const std::atomic<bool> *stop) {
  absl::StatusOr<Nvrtc *> loaded = getNvrtc();
  if (!loaded.ok())
    return loaded.status();
  CompileProcess *process = getCompileProcess(**loaded);
  absl::StatusOr<Cubin> cubin = getCache().compile(**loaded, cudaText, programName, target, {}, process, stop);
  const char *named = std::getenv("KERNELC_NVRTC_WORKER");
  if (!process || !absl::IsUnavailable(cubin.status()) || (named && *named))
    return cubin;
  // Nobody asked for the worker that lies there: NVRTC does without.
  bool isNews;
  {
    absl::MutexLock lock(&mutex);
    isNews = std::exchange(refusedWorker, process->worker()) != process->worker();
  }
  if (isNews)
    remark(absl::StrCat("NVRTC runs without limits in this process: ", cubin.status().message()));
  return getCache().compile(**loaded, cudaText, programName, target, {}, nullptr, stop);
}

ThreadPool &SessionState::getPool() {
  absl::MutexLock lock(&mutex);
  if (!pool)
    pool = std::make_unique<ThreadPool>(options.cpuThreads);
  return *pool;
}

namespace {
/// A number of this thread's own, never 0. Unlike thread ids it is not used again, so that no thread takes over a workspace
/// which a thread that ended may still have work on.
uint64_t threadNumber() {
  static std::atomic<uint64_t> last = 0;
  thread_local uint64_t own = ++last;
  return own;
}
} // namespace

SharedStream &SessionState::streamFor(Device &device, cuda::StreamHandle handle) {
  absl::MutexLock lock(&mutex);
  auto &shared = streams[{&device, handle, handle == cuda::kStreamPerThread ? threadNumber() : 0}];
  if (!shared) {
    shared = std::make_unique<SharedStream>();
    absl::MutexLock own(&shared->mutex);
    shared->stream = Stream::borrow(device, handle);
  }
  return *shared;
}

static CacheKey signatureKey(const std::string &text, const ProgramOptions &options) {
  std::shared_ptr<Program> lazy = Program::createLazy(text, options, {});
  CacheKey key = requestKey(*lazy, options.kernel.empty() ? "signatures" : "signature of " + options.kernel, "");
  key.note("program", options.fileName);
  return key;
}

/// The program of a text, `key` being its signatures' key; null where the cache does not know it.
static std::shared_ptr<Program> findProgram(DiskCache &disk, const CacheKey &key, const std::string &text, const ProgramOptions &options) {
  if (std::optional<std::string> json = disk.lookUp(DiskCache::Kind::Request, key))
    if (absl::StatusOr<std::vector<Kernel>> kernels = artifactFromJson(*json); kernels.ok() && !kernels->empty())
      return Program::createLazy(text, options, *std::move(kernels));
  return nullptr;
}

std::shared_ptr<Program> SessionState::findProgram(const std::string &text, const ProgramOptions &programOptions) {
  return kernelc::findProgram(getCache(), signatureKey(text, programOptions), text, programOptions);
}

absl::StatusOr<std::shared_ptr<Program>> SessionState::getProgram(std::string text, ProgramOptions programOptions, bool isNew) {
  DiskCache &disk = getCache();
  const CacheKey key = signatureKey(text, programOptions);
  if (std::shared_ptr<Program> known = isNew ? nullptr : kernelc::findProgram(disk, key, text, programOptions))
    return known;
  disk.countMiss();
  absl::StatusOr<std::shared_ptr<Program>> program = Program::create(std::move(text), std::move(programOptions));
  if (program.ok() && (*program)->warnings().empty()) // which are said each time
    if (absl::StatusOr<std::string> json = artifactToJson((*program)->kernels(), /*indent=*/0); json.ok())
      disk.put(DiskCache::Kind::Request, key, *json);
  return program;
}

std::shared_ptr<Session> Session::create(SessionOptions options) {
  return std::shared_ptr<Session>(new Session(std::make_shared<SessionState>(std::move(options))));
}

Session::~Session() = default;

static std::vector<std::shared_ptr<JitKernel>> kernelsOf(const std::shared_ptr<SessionState> &state,
                                                         const std::shared_ptr<Program> &program) {
  std::vector<std::shared_ptr<JitKernel>> kernels;
  for (const Kernel &k : program->kernels())
    kernels.push_back(std::make_shared<JitKernel>(std::make_unique<JitKernel::Impl>(state, program, k)));
  return kernels;
}

absl::StatusOr<std::vector<std::shared_ptr<JitKernel>>> Session::compileAll(std::string text, ProgramOptions options, bool isNew) {
  absl::StatusOr<std::shared_ptr<Program>> program = state_->getProgram(std::move(text), std::move(options), isNew);
  if (!program.ok())
    return program.status();
  return kernelsOf(state_, *program);
}

absl::StatusOr<std::vector<std::shared_ptr<JitKernel>>> Session::findAll(std::string text, ProgramOptions options) {
  if (std::shared_ptr<Program> program = state_->findProgram(text, options))
    return kernelsOf(state_, program);
  return absl::NotFoundError("the disk cache does not know this text");
}

absl::StatusOr<std::shared_ptr<JitKernel>> Session::compile(std::string text, absl::string_view name, ProgramOptions options) {
  // Imported whole, so that an unknown name can be answered with the known ones.
  absl::StatusOr<std::shared_ptr<Program>> program = state_->getProgram(std::move(text), std::move(options));
  if (!program.ok())
    return program.status();
  absl::StatusOr<const Kernel *> kernel = (*program)->findKernel(name);
  if (!kernel.ok())
    return kernel.status();
  return std::make_shared<JitKernel>(std::make_unique<JitKernel::Impl>(state_, *program, **kernel));
}

Place Session::defaultPlace(std::string *why) {
  absl::StatusOr<Device *> device = Runtime::deviceAt(0);
  if (why)
    *why = device.ok() ? absl::StrCat("cuda:0 (", (*device)->info().name, ")") : absl::StrCat("cpu, because ", device.status().message());
  if (device.ok())
    return {Place::Cuda, 0};
  return {Place::Cpu};
}

const SessionOptions &Session::options() const { return state_->options; }
DiskCache &Session::cache() { return state_->getCache(); }
absl::StatusOr<Nvrtc *> Session::nvrtc() { return state_->getNvrtc(); }
absl::StatusOr<Cubin> Session::compileToCubin(absl::string_view cudaText, absl::string_view programName, absl::string_view target) {
  return state_->compileToCubin(cudaText, programName, target, nullptr);
}
void Session::prepareCompiler() { state_->prepareCompiler(); }
absl::StatusOr<VariantCode> Session::compileVariant(const Variant &variant, absl::string_view programName) {
  return state_->compileVariant(variant, programName);
}

} // namespace kernelc
