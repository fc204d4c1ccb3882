// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One kernel on its three kinds of device.
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/jit/JitKernelImpl.h"
#include "driver/jit/ScheduleCheck.h"
#include "ir/te/Te.h"
#include "support/Target.h"

namespace kernelc {

VariantSet &JitKernel::Impl::setFor(const std::string &target) {
  absl::MutexLock lock(&mutex);
  auto &set = sets[target];
  if (!set)
    set = std::make_unique<VariantSet>(*session, program, signature, target);
  return *set;
}

absl::StatusOr<std::shared_ptr<CpuKernel>> compileForCpu(te::KernelOp kernel, reference::Arithmetic arithmetic, reference::Sums sums) {
  auto cpu = std::make_shared<CpuKernel>();
  absl::StatusOr<std::unique_ptr<reference::ReferenceKernel>> code = reference::ReferenceKernel::compile(kernel, arithmetic, sums);
  if (!code.ok())
    return code.status();
  cpu->code = *std::move(code);
  int next = int(kernel.getBlock().getNumArguments());
  for (unsigned o = 0; o < kernel.getOutNames().size(); ++o)
    cpu->outputParams.push_back(kernel.getAlias(o) >= 0 ? int(kernel.getAlias(o)) : next++);
  return cpu;
}

absl::StatusOr<std::shared_ptr<CpuKernel>> compileForCpu(Program &program, const Kernel &signature, reference::Arithmetic arithmetic,
                                                         reference::Sums sums) {
  absl::StatusOr<std::shared_ptr<CpuKernel>> cpu = absl::NotFoundError(absl::StrCat("there is no kernel '", signature.name, "'"));
  absl::Status s = program.withModule([&](mlir::ModuleOp module) -> absl::Status {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == signature.name)
        cpu = compileForCpu(op, arithmetic, sums);
    return cpu.status();
  });
  if (!s.ok())
    return s;
  return cpu;
}

absl::StatusOr<std::shared_ptr<CpuKernel>> JitKernel::Impl::getCpu() {
  absl::MutexLock lock(&mutex);
  if (!cpu) {
    absl::StatusOr<std::shared_ptr<CpuKernel>> compiled = compileForCpu(*program, signature, reference::Arithmetic::Own);
    if (!compiled.ok())
      return compiled.status();
    cpu = *std::move(compiled);
  }
  return cpu;
}

absl::StatusOr<std::shared_ptr<emulator::KernelRunner>> JitKernel::Impl::getRunner(const std::shared_ptr<const CompiledVariant> &variant) {
  absl::MutexLock lock(&mutex);
  auto &entry = runners[variant.get()];
  if (entry)
    return entry;
  emulator::EmulatorOptions options;
  options.checks = session->options.emulatorChecks;
  options.counts = options.checks;
  options.seed = session->options.emulatorSeed;
  options.textName = absl::StrCat(signature.name, ".cu");
  if (DiskCache &cache = session->getCache(); cache.enabled())
    options.cache = [&cache, name = options.textName](absl::string_view toolchain, absl::string_view texts, const auto &make) {
      CacheKey key = CacheKey().add("CUDA text", texts).add("host compiler", toolchain);
      key.note("program", name);
      return cache.getOrCompute(DiskCache::Kind::Host, key, make);
    };
  absl::StatusOr<emulator::KernelRunner> runner = emulator::KernelRunner::create(variant->kernel, variant->variant(), options);
  if (!runner.ok())
    return runner.status();
  entry = std::make_shared<emulator::KernelRunner>(*std::move(runner));
  return entry;
}

JitKernel::JitKernel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JitKernel::~JitKernel() = default;

const Kernel &JitKernel::signature() const { return impl_->signature; }
const Kernel &JitKernel::visible() const { return impl_->visible; }
int JitKernel::recordParam() const { return impl_->faults.param(); }
absl::Status JitKernel::checkRecord(const int64_t *record, const std::vector<int64_t> &sizes) const {
  return impl_->faults.check(record, sizes);
}

std::vector<LaunchValue> JitKernel::withRecord(absl::Span<const LaunchValue> values, int64_t *record, int device) const {
  std::vector<LaunchValue> all(values.begin(), values.end());
  int param = recordParam();
  if (param >= 0 && values.size() + 1 == impl_->signature.params.size() && size_t(param) <= all.size())
    all.insert(all.begin() + param, DeviceTensor{record, ElementType::i64, {int64_t(impl_->faults.count())}, {1}, device});
  return all;
}

Program &JitKernel::program() const { return *impl_->program; }
const std::vector<std::string> &JitKernel::warnings() const { return impl_->program->warnings(); }
ThreadPool *JitKernel::threadPool() const { return &impl_->session->getPool(); }

TensorView hostView(const LaunchValue &value) {
  if (const auto *t = std::get_if<DeviceTensor>(&value))
    return {t->data, t->type, t->shape, t->strides};
  const auto &s = std::get<ScalarValue>(value);
  return {const_cast<uint64_t *>(&s.bits), s.type, {}, {}};
}

absl::StatusOr<std::shared_ptr<CpuKernel>> JitKernel::Impl::readyCpu(const CheckedArgs &args) {
  if (!scheduleChecked) {
    KERNELC_RETURN_IF_ERROR(checkSchedule(*program, signature, session->options.emulatorTarget, args));
    scheduleChecked = true;
  }
  return getCpu();
}

absl::StatusOr<std::shared_ptr<emulator::KernelRunner>> JitKernel::Impl::readyRunner(const CheckedArgs &args,
                                                                                     std::shared_ptr<const CompiledVariant> *variant) {
  absl::StatusOr<std::shared_ptr<const CompiledVariant>> found = setFor(session->options.emulatorTarget).get(args);
  if (!found.ok())
    return found.status();
  *variant = *std::move(found);
  return getRunner(*variant);
}

absl::Status JitKernel::callCpu(const CheckedArgs &args, CallReport *report) {
  absl::StatusOr<std::shared_ptr<CpuKernel>> cpu = impl_->readyCpu(args);
  if (!cpu.ok())
    return cpu.status();
  std::vector<TensorView> in, out;
  for (size_t i = 0; i < args.values.size(); ++i)
    if (impl_->signature.params[i].kind != ParamKind::Output)
      in.push_back(hostView(args.values[i]));
  for (int p : (*cpu)->outputParams)
    out.push_back(hostView(args.values[p]));
  auto start = std::chrono::steady_clock::now();
  absl::Status s = (*cpu)->code->run(args.sizes, in, out, &impl_->session->getPool());
  if (report)
    report->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return s;
}

/// What replays the run, for people.
static std::string underSeed(const emulator::Report &report) {
  return report.seed ? absl::StrCat("; threads in the order of seed ", report.seed) : "";
}

absl::Status JitKernel::callEmulator(const CheckedArgs &args, CallReport *report) {
  std::shared_ptr<const CompiledVariant> variant;
  absl::StatusOr<std::shared_ptr<emulator::KernelRunner>> runner = impl_->readyRunner(args, &variant);
  if (!runner.ok())
    return runner.status();
  emulator::RunArguments run;
  for (const LaunchValue &v : args.values) {
    run.params.push_back(hostView(v));
    // The emulator's copy starts where the tensor does, as far as alignment goes.
    const auto *t = std::get_if<DeviceTensor>(&v);
    run.placement.push_back(t ? uint32_t(reinterpret_cast<uintptr_t>(t->data) % 256) : 0);
  }
  run.sizes = args.sizes;
  auto start = std::chrono::steady_clock::now();
  absl::StatusOr<emulator::Report> result = (*runner)->run(run);
  if (!result.ok())
    return result.status();
  std::vector<std::string> findings;
  for (const emulator::Finding &f : result->findings)
    findings.push_back(f.message);
  if (report) {
    report->variant = variant->variant().name;
    report->variantGuard = variant->variant().guardText;
    report->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report->findings = findings;
    const emulator::Counts &c = result->counts;
    report->counts =
        absl::StrCat(c.barriers, " barriers, ", c.globalRequests, " global requests in ", c.globalSectors, " sectors, ", c.sharedRequests,
                     " shared requests in ", c.sharedWavefronts, " wavefronts, ", c.bankConflicts(), " bank conflicts", underSeed(*result));
  }
  if (!findings.empty())
    return absl::DataLossError(absl::StrCat("the emulator found mistakes in kernel '", impl_->signature.name, "'", underSeed(*result),
                                            ":\n", absl::StrJoin(findings, "\n")));
  return absl::OkStatus();
}

/// Host tensors have no ordinal: whatever the caller left there is ignored.
static absl::StatusOr<CheckedArgs> checkHostArguments(const Kernel &kernel, absl::Span<const LaunchValue> values,
                                                      absl::Span<const NamedSize> sizes) {
  std::vector<LaunchValue> host(values.begin(), values.end());
  for (LaunchValue &v : host)
    if (auto *t = std::get_if<DeviceTensor>(&v))
      t->device = 0;
  return checkArguments(kernel, host, sizes, 0, 1);
}

absl::Status JitKernel::callOnHost(const Place &place, const CheckedArgs &args, CallReport *report) {
  const FaultTexts &faults = impl_->faults;
  if (faults.param() < 0)
    return runOnHost(place, args, report);
  auto *record = static_cast<int64_t *>(args.tensor(faults.param())->data);
  faults.clear(record);
  absl::Status status = runOnHost(place, args, report);
  return status.ok() || absl::IsOutOfRange(status) ? faults.check(record, args.sizes) : status;
}

absl::Status JitKernel::runOnHost(const Place &place, const CheckedArgs &args, CallReport *report) {
  return place.kind == Place::Cpu ? callCpu(args, report) : callEmulator(args, report);
}

absl::Status JitKernel::call(const Place &place, absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes,
                             cuda::StreamHandle stream, CallReport *report, std::optional<CompilePolicy> compile) {
  if (place.kind == Place::Cuda) {
    absl::StatusOr<BoundCall> bound = bindFor(VariantUse::Call, place, values, sizes, stream, compile);
    return bound.ok() ? bound->launch(stream) : bound.status();
  }
  std::vector<int64_t> record(impl_->faults.count() + 8); // aligned as tensors are
  auto *aligned = reinterpret_cast<int64_t *>((reinterpret_cast<uintptr_t>(record.data()) + 63) / 64 * 64);
  absl::StatusOr<CheckedArgs> args = checkHostArguments(impl_->signature, withRecord(values, aligned, 0), sizes);
  return args.ok() ? callOnHost(place, *args, report) : args.status();
}

namespace {
/// What to compile for: the device's own target, or the newest known one whose code it runs.
std::string targetOf(const DeviceInfo &info) {
  std::string own = info.target();
  if (findTarget(own))
    return own;
  std::string best = own; // unknown: the compiler says so
  for (const Target &t : allTargets())
    if (info.canRun(t.name))
      best = t.name;
  return best;
}
} // namespace

absl::StatusOr<BoundCall> JitKernel::bind(const Place &place, absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes,
                                          std::optional<cuda::StreamHandle> stream, std::optional<CompilePolicy> compile) {
  return bindFor(VariantUse::Bind, place, values, sizes, stream, compile);
}

absl::Status JitKernel::prepare(const Place &place, absl::Span<const LaunchValue> values, absl::Span<const NamedSize> sizes,
                                std::optional<cuda::StreamHandle> stream, std::optional<CompilePolicy> compile) {
  return bindFor(VariantUse::Prepare, place, values, sizes, stream, compile).status();
}

absl::StatusOr<BoundCall> JitKernel::bindFor(VariantUse use, const Place &place, absl::Span<const LaunchValue> values,
                                             absl::Span<const NamedSize> sizes, std::optional<cuda::StreamHandle> stream,
                                             std::optional<CompilePolicy> compile) {
  if (place.kind != Place::Cuda)
    return bindOnHost(place, values, sizes);
  const CompilePolicy policy = compile.value_or(impl_->session->policy);
  absl::StatusOr<Device *> device = Runtime::deviceAt(place.ordinal);
  if (!device.ok())
    return device.status();
  if (values.size() != impl_->visible.params.size() || recordParam() < 0)
    return bindOnDevice(use, **device, place, values, sizes, stream, policy);
  absl::StatusOr<CheckedArgs> args = checkArguments(impl_->visible, values, sizes, place.ordinal, (*device)->info().smCount);
  if (!args.ok())
    return args.status();
  absl::StatusOr<int64_t *> record = impl_->deviceFaults.recordFor(**device, args->sizes);
  if (!record.ok())
    return record.status();
  return bindOnDevice(use, **device, place, withRecord(values, *record, place.ordinal), sizes, stream, policy);
}

absl::StatusOr<BoundCall> JitKernel::bindOnDevice(VariantUse use, Device &device, const Place &place, absl::Span<const LaunchValue> values,
                                                  absl::Span<const NamedSize> sizes, std::optional<cuda::StreamHandle> stream,
                                                  CompilePolicy policy) {
  absl::StatusOr<CheckedArgs> args = checkArguments(impl_->signature, values, sizes, place.ordinal, device.info().smCount);
  if (!args.ok())
    return args.status();
  VariantSet &set = impl_->setFor(targetOf(device.info()));
  bool betterVariant = false, betterCode = false;
  std::shared_ptr<const CompiledVariant> warm = set.find(*args, use, betterVariant);
  std::shared_ptr<LoadedKernel> ready = warm ? impl_->findLoaded(device, *warm, policy, &betterCode) : nullptr;
  betterVariant &= policy != CompilePolicy::Strict;
  if ((betterCode || betterVariant) && device.checkNoCapture("loading", stream).ok()) // never while a graph is captured
    ready = nullptr;
  if (!ready) {
    // Said before minutes may go into compiling what could not be loaded then.
    KERNELC_RETURN_IF_ERROR(device.checkNoCapture(absl::StrCat("compiling and loading kernel '", signature().name, "'"), stream));
    absl::StatusOr<std::shared_ptr<const CompiledVariant>> variant = set.get(*args, policy, betterVariant);
    if (!variant.ok())
      return variant.status();
    absl::StatusOr<std::shared_ptr<LoadedKernel>> loaded = impl_->getLoaded(device, set, **variant, policy, *args);
    if (!loaded.ok())
      return loaded.status();
    ready = *std::move(loaded);
  }
  absl::StatusOr<BoundLaunch> bound = ready->bind(values, sizes);
  if (!bound.ok())
    return bound.status();
  return BoundCall(shared_from_this(), place, *std::move(args), *std::move(bound), *ready, impl_->isFast(device, *ready));
}

absl::StatusOr<BoundCall> JitKernel::bindOnHost(const Place &place, absl::Span<const LaunchValue> values,
                                                absl::Span<const NamedSize> sizes) {
  std::shared_ptr<int64_t[]> record;
  int64_t *aligned = nullptr;
  if (recordParam() >= 0) {
    record = std::make_shared<int64_t[]>(impl_->faults.count() + 8);
    aligned = reinterpret_cast<int64_t *>((reinterpret_cast<uintptr_t>(record.get()) + 63) / 64 * 64);
  }
  absl::StatusOr<CheckedArgs> args = checkHostArguments(impl_->signature, withRecord(values, aligned, 0), sizes);
  if (!args.ok())
    return args.status();
  std::shared_ptr<const CompiledVariant> variant;
  absl::Status ready = place.kind == Place::Cpu ? impl_->readyCpu(*args).status() : impl_->readyRunner(*args, &variant).status();
  if (!ready.ok())
    return ready;
  BoundCall bound(shared_from_this(), place, *std::move(args));
  bound.record_ = std::move(record);
  return bound;
}

absl::StatusOr<Kernel> JitKernel::variantFor(const std::string &target, absl::Span<const LaunchValue> values,
                                             absl::Span<const NamedSize> sizes, bool asLoaded) {
  alignas(64) static int64_t nothing[1]; // an address, of which nothing is read
  absl::StatusOr<CheckedArgs> args = checkArguments(impl_->signature, withRecord(values, nothing, 0), sizes, 0, 1);
  if (!args.ok())
    return args.status();
  absl::StatusOr<std::shared_ptr<const CompiledVariant>> variant =
      impl_->setFor(target).get(*args, asLoaded ? std::optional(CompilePolicy::Block) : std::nullopt);
  if (!variant.ok())
    return variant.status();
  Kernel kernel = (*variant)->kernel;
  kernel.variants[0].units.clear(); // names of the cache, no part of what was compiled
  return kernel;
}

BoundCall::BoundCall(std::shared_ptr<JitKernel> kernel, const Place &place, CheckedArgs args)
    : kernel_(std::move(kernel)), place_(place), args_(kernel_->signature(), std::move(args)) {}
BoundCall::BoundCall(std::shared_ptr<JitKernel> kernel, const Place &place, CheckedArgs args, BoundLaunch launch,
                     const LoadedKernel &loaded, bool isFast)
    : kernel_(std::move(kernel)), place_(place), args_(kernel_->signature(), std::move(args), &loaded.kernel().variants[launch.variant()]),
      launch_(std::move(launch)), device_(&loaded.device()), isFast_(isFast) {}
BoundCall::BoundCall(BoundCall &&) noexcept = default;
BoundCall::~BoundCall() = default;

absl::Status BoundCall::rebind(absl::Span<const NewArgument> values) {
  KERNELC_RETURN_IF_ERROR(args_.replace(kernel_->signature(), values));
  if (launch_)
    launch_->rebind(args_.args());
  return absl::OkStatus();
}

void BoundCall::takeBetterCode(cuda::StreamHandle stream) {
  const Kernel &signature = kernel_->signature();
  std::vector<NamedSize> sizes;
  for (size_t i = 0; i < signature.sizes.size(); ++i)
    sizes.push_back({signature.sizes[i].name, args_.args().sizes[i]});
  absl::StatusOr<BoundCall> again = kernel_->bind(place_, args_.args().values, sizes, stream);
  if (!again.ok() || again->launch_->variant() != launch_->variant()) // then what is bound goes on
    return;
  launch_ = std::move(again->launch_);
  isFast_ = again->isFast_;
}

absl::Status BoundCall::launch(cuda::StreamHandle stream) {
  if (!launch_)
    return kernel_->callOnHost(place_, args_.args(), nullptr);
  if (isFast_)
    takeBetterCode(stream);
  if (kernel_->recordParam() >= 0)
    KERNELC_RETURN_IF_ERROR(kernel_->impl_->deviceFaults.take()); // of earlier launches
  if (!last_ || lastHandle_ != stream || stream == cuda::kStreamPerThread) {
    last_ = &kernel_->impl_->session->streamFor(*device_, stream);
    lastHandle_ = stream;
  }
  absl::MutexLock lock(&last_->mutex);
  return launch_->launch(*last_->stream);
}

} // namespace kernelc
