// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The JIT: kernels from source text, compiled for the arguments of each call and
// run on a GPU, on the CPU, or on the emulator. The only place where compiler and
// runtime meet. Shows no MLIR.
//
// Everything here is thread-safe. Failures are absl::Status: InvalidArgument for a
// program or arguments that are wrong (with source lines), Unimplemented for what
// kernelc cannot do yet, and the runtime's own codes (see runtime/CudaError.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/compile/ProgramOptions.h"
#include "driver/jit/Arguments.h"
#include "driver/jit/CompilePolicy.h"
#include "driver/jit/Place.h"
#include "runtime/LoadedKernel.h"
#include "runtime/Rebinding.h"
#include "runtime/VariantCode.h"
#include "support/Artifact.h"

namespace kernelc {

class DiskCache;
class JitKernel;
class Nvrtc;
struct Cubin;
class Program;
class ThreadPool;
enum class VariantUse;
struct SessionState;
struct SharedStream;

struct SessionOptions {
  bool diskCache = true;
  std::string cachePath;   ///< empty: DiskCache::defaultPath()
  int64_t cacheBytes = -1; ///< see DiskCache::Options
  /// Specialised variants per kernel and target; then the general one serves.
  int maxVariants = 8;
  /// No specialisation: the general variant always (`--variant general`).
  bool generalOnly = false;
  /// The architecture that the emulator runs.
  std::string emulatorTarget = "sm_90a";
  /// Races, bounds, ... on the emulator; without them only values.
  bool emulatorChecks = true;
  /// On the emulator, 0: threads in order; else in a random order from this seed, again and again the same.
  uint64_t emulatorSeed = 0;
  /// Threads of the CPU device; 0: one per hardware thread.
  int cpuThreads = 0;
  /// Whether kernels without a schedule of their own take what `kernelc tune` has kept in the cache (driver/jit/TuningStore.h);
  /// $KERNELC_UNTUNED=1 forbids it too.
  bool tuned = true;
  /// What calls do on a GPU whose code is not there yet; nothing: as $KERNELC_COMPILE says, else tiered.
  std::optional<CompilePolicy> compile;
  /// Hears of remarks: schedules taken from the cache, slow code that NVRTC reports, fallbacks. May be empty.
  std::function<void(const std::string &)> remark;
};

/// What a call did, for those who ask.
struct CallReport {
  std::string variant; ///< "" on the CPU
  std::string variantGuard;
  std::vector<std::string> findings; ///< of the emulator; a call with findings fails
  std::string counts;                ///< of the emulator
  double seconds = 0;                ///< of the device's work where it is known (CPU, emulator)
};

struct LaunchReport; // PlanReport.h

class Session {
public:
  static std::shared_ptr<Session> create(SessionOptions options = {});
  ~Session();

  /// All kernels of a source text. `isNew`: findAll has just said that the disk cache does not know it, which is not asked again.
  absl::StatusOr<std::vector<std::shared_ptr<JitKernel>>> compileAll(std::string text, ProgramOptions options = {}, bool isNew = false);
  /// The same of a text that the disk cache knows; NotFound of any other, which is not read.
  absl::StatusOr<std::vector<std::shared_ptr<JitKernel>>> findAll(std::string text, ProgramOptions options = {});
  /// The kernel `name` of a text; "" when it defines exactly one.
  absl::StatusOr<std::shared_ptr<JitKernel>> compile(std::string text, absl::string_view name = "", ProgramOptions options = {});

  /// The default device: cuda where a driver and a GPU answer, else cpu. `why`
  /// (if given) says what was found.
  Place defaultPlace(std::string *why = nullptr);

  const SessionOptions &options() const;
  DiskCache &cache();
  /// NVRTC, opened at the first call.
  absl::StatusOr<Nvrtc *> nvrtc();
  /// A CUDA text by NVRTC, through the cache; in a process of its own, where there is a
  /// kernelc-nvrtc-worker.
  absl::StatusOr<Cubin> compileToCubin(absl::string_view cudaText, absl::string_view programName, absl::string_view target);
  /// Gets NVRTC going while passes still make what it will compile.
  void prepareCompiler();
  /// Compiles all units of a variant as compileToCubin does, several at a time.
  absl::StatusOr<VariantCode> compileVariant(const Variant &variant, absl::string_view programName);

private:
  explicit Session(std::shared_ptr<SessionState> state) : state_(std::move(state)) {}
  std::shared_ptr<SessionState> state_;
};

/// Arguments checked, and on a GPU packed, once, to be launched many times. One thread at a time.
class BoundCall {
  friend class JitKernel;

public:
  /// On the CPU or the emulator.
  BoundCall(std::shared_ptr<JitKernel> kernel, const Place &place, CheckedArgs args);
  /// On a GPU; `launch` is of `loaded`.
  BoundCall(std::shared_ptr<JitKernel> kernel, const Place &place, CheckedArgs args, BoundLaunch launch, const LoadedKernel &loaded,
            bool isFast = false);
  BoundCall(BoundCall &&) noexcept;
  ~BoundCall();
  /// Queues the launches on the caller's stream (null: the default one). No
  /// compilation, no allocation once the stream's workspace is warm. On the CPU and the emulator: runs.
  absl::Status launch(cuda::StreamHandle stream);
  /// New addresses and scalars for the launches that follow; see Rebinding.
  absl::Status rebind(absl::Span<const NewArgument> values);
  int numLaunches() const { return launch_ ? launch_->numLaunches() : 0; }

  const Place &place() const { return place_; }
  const CheckedArgs &args() const { return args_.args(); }
  const JitKernel &kernel() const { return *kernel_; }

private:
  std::shared_ptr<JitKernel> kernel_;
  Place place_;
  Rebinding args_;
  std::shared_ptr<int64_t[]> record_; ///< of guards, on the CPU and the emulator
  std::optional<BoundLaunch> launch_;
  Device *device_ = nullptr;     ///< of launch_
  SharedStream *last_ = nullptr; ///< of the stream used last
  bool isFast_ = false;          ///< whether launch_ is of fast code, whose place better code takes
  void takeBetterCode(cuda::StreamHandle stream);
  cuda::StreamHandle lastHandle_ = nullptr;
};

class JitKernel : public std::enable_shared_from_this<JitKernel> {
public:
  /// Parameters, sizes and requirements; no variants.
  const Kernel &signature() const;
  /// The same as the text has it: without the record of the kernel's guards (Faults.h).
  const Kernel &visible() const;
  /// That record among signature().params, which call and bind give where `values` lack it; -1: there is none.
  int recordParam() const;
  /// OutOfRange where a record says so, of a call with these sizes.
  absl::Status checkRecord(const int64_t *record, const std::vector<int64_t> &sizes) const;
  Program &program() const;
  /// Of the whole text: what it says that hardly was meant, rendered with its line.
  const std::vector<std::string> &warnings() const;
  /// The session's threads.
  ThreadPool *threadPool() const;

  /// Runs on `place`, and says what guards have found (OutOfRange; the results are there), on a GPU at a later call or
  /// synchronisation. `values` follow Kernel::params; their memory is the place's (host
  /// memory on the CPU and the emulator). On a GPU the work is queued on `stream`
  /// (null: the default stream) and the call returns; else it has finished. A warm call
  /// may be captured into a graph; one that must compile or load is refused (see bind).
  absl::Status call(const Place &place, absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes = {},
                    cuda::StreamHandle stream = nullptr, CallReport *report = nullptr, std::optional<CompilePolicy> compile = std::nullopt);
  /// Compiles and loads what these arguments need, and packs them. Where
  /// something is missing while a stream captures a graph, nothing is done: ColdInCapture.
  /// `stream`: one of the caller's to ask that; those that kernelc made, the default one
  /// and all that synchronise with it are always asked.
  absl::StatusOr<BoundCall> bind(const Place &place, absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes = {},
                                 std::optional<cuda::StreamHandle> stream = std::nullopt,
                                 std::optional<CompilePolicy> compile = std::nullopt);

  /// Compiles and loads what call() with these arguments needs, and runs nothing; refused as bind() is.
  absl::Status prepare(const Place &place, absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes = {},
                       std::optional<cuda::StreamHandle> stream = std::nullopt, std::optional<CompilePolicy> compile = std::nullopt);

  /// What the planner says of these launches, of the first of its plans (PlanReport.h).
  absl::StatusOr<std::vector<LaunchReport>> reportPlan(const std::string &target, absl::Span<const LaunchValue> values,
                                                       absl::Span<const NamedSize> sizes = {});
  /// Compiles for these arguments and `target` without running: the artifact with
  /// the variant that they would get. `asLoaded`: by NVRTC, too, so that it has the plan that a device's would.
  absl::StatusOr<Kernel> variantFor(const std::string &target, absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes = {},
                                    bool asLoaded = false);

  ~JitKernel();
  struct Impl;
  explicit JitKernel(std::unique_ptr<Impl> impl);

private:
  friend class BoundCall;
  absl::StatusOr<BoundCall> bindOnHost(const Place &place, absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes);
  absl::Status callOnHost(const Place &place, const CheckedArgs &args, CallReport *report);
  absl::Status runOnHost(const Place &place, const CheckedArgs &args, CallReport *report);
  /// `values` with the record `record`, if they lack it.
  std::vector<LaunchValue> withRecord(absl::Span<const LaunchValue> values, int64_t *record, int device) const;
  absl::StatusOr<BoundCall> bindFor(VariantUse use, const Place &place, absl::Span<const LaunchValue> values,
                                    absl::Span<const NamedSize> sizes, std::optional<cuda::StreamHandle> stream,
                                    std::optional<CompilePolicy> compile);
  absl::StatusOr<BoundCall> bindOnDevice(VariantUse use, Device &device, const Place &place, absl::Span<const LaunchValue> values,
                                         absl::Span<const NamedSize> sizes, std::optional<cuda::StreamHandle> stream, CompilePolicy policy);
  absl::Status callCpu(const CheckedArgs &args, CallReport *report);
  absl::Status callEmulator(const CheckedArgs &args, CallReport *report);
  std::unique_ptr<Impl> impl_;
};

} // namespace kernelc
