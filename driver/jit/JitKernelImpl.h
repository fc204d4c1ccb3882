// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of a JitKernel. Internal to the driver.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "driver/jit/Faults.h"
#include "driver/jit/Session.h"
#include "driver/jit/SessionState.h"
#include "driver/jit/Tiers.h"
#include "driver/jit/VariantSet.h"
#include "emulator/RunKernel.h"
#include "reference/Reference.h"

namespace kernelc {

/// The kernel on the CPU, and which parameter each of its outputs is.
struct CpuKernel {
  std::unique_ptr<reference::ReferenceKernel> code;
  std::vector<int> outputParams;
};

/// A kernel's variant on a device.
struct Serving {
  std::shared_ptr<LoadedKernel> loaded; ///< what calls get
  std::unique_ptr<RunningCode> better;  ///< while that is fast code: what takes its place
};

struct JitKernel::Impl {
  Impl(std::shared_ptr<SessionState> s, std::shared_ptr<Program> p, const Kernel &k)
      : session(std::move(s)), program(std::move(p)), signature(k), visible(k), faults(*program, k) {
    if (faults.param() >= 0)
      visible.params.erase(visible.params.begin() + faults.param());
  }

  const std::shared_ptr<SessionState> session;
  const std::shared_ptr<Program> program;
  const Kernel &signature; ///< owned by the program
  Kernel visible;
  const FaultTexts faults;
  DeviceFaults deviceFaults{faults};

  absl::Mutex mutex;
  std::shared_ptr<CpuKernel> cpu ABSL_GUARDED_BY(mutex);
  std::atomic<bool> scheduleChecked = false; ///< for the CPU, which needs no schedule
  std::map<std::string, std::unique_ptr<VariantSet>> sets ABSL_GUARDED_BY(mutex);
  std::map<std::pair<Device *, const CompiledVariant *>, Serving> loaded ABSL_GUARDED_BY(mutex);
  std::map<const CompiledVariant *, std::shared_ptr<emulator::KernelRunner>> runners ABSL_GUARDED_BY(mutex);

  VariantSet &setFor(const std::string &target);
  absl::StatusOr<std::shared_ptr<CpuKernel>> getCpu();
  /// The kernel on the CPU, once its schedule was looked at; the variant of the emulator, and what runs it.
  absl::StatusOr<std::shared_ptr<CpuKernel>> readyCpu(const CheckedArgs &args);
  absl::StatusOr<std::shared_ptr<emulator::KernelRunner>> readyRunner(const CheckedArgs &args,
                                                                      std::shared_ptr<const CompiledVariant> *variant);
  /// The variant on the device if it is there already, else null. `better`: whether other code is to take its place.
  std::shared_ptr<LoadedKernel> findLoaded(Device &device, const CompiledVariant &variant, CompilePolicy policy, bool *better);
  absl::StatusOr<std::shared_ptr<LoadedKernel>> getLoaded(Device &device, VariantSet &set, const CompiledVariant &variant,
                                                          CompilePolicy policy, const CheckedArgs &args);
  /// Whether that is fast code.
  bool isFast(Device &device, const LoadedKernel &kernel);
  /// The code on the device, compiled if need be.
  absl::StatusOr<std::shared_ptr<LoadedKernel>> load(Device &device, VariantSet &set, const CompiledVariant &variant, bool mayCompile);
  absl::StatusOr<std::shared_ptr<LoadedKernel>> loadCode(Device &device, const CompiledVariant &variant, const VariantCode &code);
  /// The full code where the disk cache has it; fast code where that ends before the full code is there; else the full code; null where
  /// this is not known or not worth it.
  std::shared_ptr<LoadedKernel> loadTiered(Device &device, VariantSet &set, const CompiledVariant &variant, const CheckedArgs &args,
                                           Serving &entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  /// Lets full code that has come take the place of fast code; where it failed, that stays.
  void takeBetter(Device &device, VariantSet &set, const CompiledVariant &variant, Serving &entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  absl::StatusOr<std::shared_ptr<emulator::KernelRunner>> getRunner(const std::shared_ptr<const CompiledVariant> &variant);
};

/// Compiles a kernel for the CPU; the second, the kernel of that name.
absl::StatusOr<std::shared_ptr<CpuKernel>> compileForCpu(te::KernelOp kernel, reference::Arithmetic arithmetic,
                                                         reference::Sums sums = reference::Sums::OnMatrixUnits);
absl::StatusOr<std::shared_ptr<CpuKernel>> compileForCpu(Program &program, const Kernel &signature, reference::Arithmetic arithmetic,
                                                         reference::Sums sums = reference::Sums::OnMatrixUnits);
/// An argument as host memory. Scalars point into `value`.
TensorView hostView(const LaunchValue &value);

} // namespace kernelc
