// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of a kernel's variants on devices: what calls get, and when they get better code.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "driver/jit/JitKernelImpl.h"
#include "driver/roofline/Roofline.h"
#include "support/Interrupt.h"

namespace kernelc {

std::shared_ptr<LoadedKernel> JitKernel::Impl::findLoaded(Device &device, const CompiledVariant &variant, CompilePolicy policy,
                                                          bool *better) {
  absl::MutexLock lock(&mutex);
  auto entry = loaded.find({&device, &variant});
  if (entry == loaded.end())
    return nullptr;
  *better = entry->second.better && (policy == CompilePolicy::Block || entry->second.better->isReady());
  return entry->second.loaded;
}

bool JitKernel::Impl::isFast(Device &device, const LoadedKernel &kernel) {
  absl::MutexLock lock(&mutex);
  for (auto &[key, entry] : loaded)
    if (key.first == &device && entry.loaded.get() == &kernel)
      return entry.better != nullptr;
  return false;
}

absl::StatusOr<std::shared_ptr<LoadedKernel>> JitKernel::Impl::loadCode(Device &device, const CompiledVariant &variant,
                                                                        const VariantCode &code) {
  absl::StatusOr<std::unique_ptr<LoadedKernel>> created = LoadedKernel::create(device, variant.kernel);
  if (!created.ok())
    return created.status();
  KERNELC_RETURN_IF_ERROR((*created)->loadVariant(0, code.images(variant.variant())));
  return std::shared_ptr<LoadedKernel>(*std::move(created));
}

absl::StatusOr<std::shared_ptr<LoadedKernel>> JitKernel::Impl::load(Device &device, VariantSet &set, const CompiledVariant &variant,
                                                                    bool mayCompile) {
  for (int attempt = 0;; ++attempt) {
    absl::StatusOr<VariantCode> code = set.code(variant, mayCompile);
    if (!code.ok())
      return code.status();
    absl::StatusOr<std::shared_ptr<LoadedKernel>> result = loadCode(device, variant, *code);
    if (result.ok() || attempt || findErrorKind(result.status()) != RuntimeErrorKind::InvalidImage)
      return result;
    set.dropCode(variant); // whatever the cache holds, the driver does not take it
  }
}

absl::StatusOr<std::shared_ptr<LoadedKernel>> JitKernel::Impl::getLoaded(Device &device, VariantSet &set, const CompiledVariant &variant,
                                                                         CompilePolicy policy, const CheckedArgs &args) {
  absl::MutexLock lock(&mutex);
  Serving &entry = loaded[{&device, &variant}];
  if (entry.better && policy == CompilePolicy::Block)
    while (!entry.better->isReady(absl::Milliseconds(20)) && !isInterrupted()) {
    }
  if (entry.better && entry.better->isReady())
    takeBetter(device, set, variant, entry);
  if (entry.loaded)
    return entry.loaded;
  if (policy == CompilePolicy::Tiered && (entry.loaded = loadTiered(device, set, variant, args, entry)))
    return entry.loaded;
  absl::StatusOr<std::shared_ptr<LoadedKernel>> created = load(device, set, variant, policy != CompilePolicy::Strict);
  if (created.ok())
    entry.loaded = *created;
  return created;
}

std::shared_ptr<LoadedKernel> JitKernel::Impl::loadTiered(Device &device, VariantSet &set, const CompiledVariant &variant,
                                                          const CheckedArgs &args, Serving &entry) {
  const std::string name = absl::StrCat(signature.name, ".cu");
  std::vector<size_t> cold;
  absl::StatusOr<VariantCode> known = session->findCode(variant.variant(), &cold);
  if (!known.ok())
    return nullptr;
  if (cold.empty()) { // where the driver refuses it, load() takes it away
    absl::StatusOr<std::shared_ptr<LoadedKernel>> kept = loadCode(device, variant, *known);
    if (!kept.ok())
      return nullptr;
    set.remarkOn(*known);
    return *kept;
  }
  absl::StatusOr<std::unique_ptr<RunningCode>> full = RunningCode::start(*session, *std::move(known), cold, variant.variant().target, name);
  if (!full.ok() || !*full)
    return nullptr;
  absl::StatusOr<WorkCount> work = countWork(*program, signature, args.sizes);
  const double seconds = work.ok() ? rooflineOf(*work, peaksOf(device)).seconds : 0;
  const absl::Time start = absl::Now();
  absl::StatusOr<VariantCode> fast = absl::UnavailableError("");
  const FastWay way = FastWay::find(seconds, (*full)->code());
  if (way.mayEndEarlier(seconds))
    fast = (*full)->compileFast(way);
  const absl::Duration took = absl::Now() - start;
  entry.better = *std::move(full);
  if (fast.ok() && !entry.better->isReady() && way.endsEarlier(seconds, took))
    if (absl::StatusOr<std::shared_ptr<LoadedKernel>> result = loadCode(device, variant, *fast); result.ok()) {
      session->remark(absl::StrFormat("kernel '%s' runs code that was compiled fast, in %.0f ms, until NVRTC is done with the other",
                                      signature.name, absl::ToDoubleMilliseconds(took)));
      return *result;
    }
  while (!entry.better->isReady(absl::Milliseconds(20)))
    if (isInterrupted()) {
      entry.better = nullptr; // its workers go; who compiles now says what has happened
      return nullptr;
    }
  takeBetter(device, set, variant, entry);
  return entry.loaded;
}

void JitKernel::Impl::takeBetter(Device &device, VariantSet &set, const CompiledVariant &variant, Serving &entry) {
  const bool replaces = entry.loaded != nullptr;
  absl::StatusOr<VariantCode> code = entry.better->take();
  entry.better = nullptr;
  absl::StatusOr<std::shared_ptr<LoadedKernel>> result =
      code.ok() ? loadCode(device, variant, *code) : absl::StatusOr<std::shared_ptr<LoadedKernel>>(code.status());
  if (result.ok()) {
    set.remarkOn(*code);
    entry.loaded = *std::move(result);
    if (replaces)
      session->remark(absl::StrCat("kernel '", signature.name, "' runs NVRTC's full code now"));
  } else if (replaces) {
    session->remark(absl::StrCat("kernel '", signature.name, "' keeps the code that was compiled fast: ", result.status().message()));
  }
}

} // namespace kernelc
