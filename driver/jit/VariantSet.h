// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variants of one kernel for one architecture: which one a call gets, compiled
// to CUDA text on first need and to a cubin on demand. Internal to the driver.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "driver/compile/Compiler.h"
#include "driver/compile/DecidingSizes.h"
#include "driver/compile/Program.h"
#include "driver/jit/PlanChoice.h"
#include "driver/jit/SessionState.h"
#include "driver/jit/SizeClasses.h"
#include "driver/jit/TuningStore.h"
#include "runtime/LaunchCheck.h"

namespace kernelc {

/// A kernel with exactly one variant.
struct CompiledVariant {
  Kernel kernel;
  int index = 0;         ///< its number in the set
  bool isChosen = false; ///< among the kernel's plans, by their code
  const Variant &variant() const { return kernel.variants[0]; }
};

/// What a variant is asked for. Sizes that one call has may be served by a variant of other sizes; a bound call is launched often.
enum class VariantUse { Prepare, Call, Bind };

/// Thread-safe.
class VariantSet {
public:
  VariantSet(SessionState &session, std::shared_ptr<Program> program, const Kernel &signature, std::string target)
      : session_(session), program_(std::move(program)), signature_(signature), target_(std::move(target)),
        classes_(*program_, signature_) {}

  /// The variant for these arguments if it is there already, else null. In `better`: whether get() should make one for their own sizes.
  std::shared_ptr<const CompiledVariant> find(const CheckedArgs &args, VariantUse use, bool &better);
  /// The variant for these arguments; makes it if it is not there yet. `better`: as find() says. `forDevice`: code() will be wanted next,
  /// under that policy: the best of the kernel's plans (PlanChoice.h). Under `strict` only the disk cache is asked, under `tiered` an
  /// earlier choice.
  absl::StatusOr<std::shared_ptr<const CompiledVariant>> get(const CheckedArgs &args, std::optional<CompilePolicy> forDevice = {},
                                                             bool better = false);
  /// The cubins of a variant, through the disk cache.
  absl::StatusOr<VariantCode> code(const CompiledVariant &variant, bool mayCompile = true);
  /// Says what NVRTC found slow.
  void remarkOn(const VariantCode &code) const;
  /// Forgets a variant's cubins, one of which the driver refused.
  void dropCode(const CompiledVariant &variant);

private:
  struct Choice {
    VariantOptions options;
    std::string key;                               ///< "" where no variant was settled on yet
    std::optional<SizeClasses::Question> question; ///< of sizes that share variants
  };
  Choice choose(const CheckedArgs &args) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// What tells variants apart: what they assume, and of sizes that decide how work is shared out the class that they were made for.
  std::string keyOf(const VariantOptions &options) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// What is compiled for `choice` where there is nothing yet; `better`: also in place of a slower variant.
  Choice settle(Choice choice, const CheckedArgs &args, bool better) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Choice choiceOf(const CheckedArgs &args, bool general) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Asks the program, once a second variant is to be made, which sizes decide.
  void findDeciding() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// `own`, or once there is a variant for other sizes one for all sizes of a class.
  Choice widen(Choice own) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// The variant for these arguments; null when `choice` would have to be compiled first.
  std::shared_ptr<const CompiledVariant> lookUp(const CheckedArgs &args, Choice &choice) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// What choosing a plan has read or compiled is not asked for again.
  struct CodeAhead {
    std::string text;
    VariantCode code;
  };
  std::optional<VariantCode> takeAhead(const Variant &variant);
  void noteSizes(const VariantOptions &options) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// Lets another plan take the place of one whose code is slow, as far as the policy lets it.
  void keepBest(const VariantOptions &options, Kernel &kernel) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Kernel> compile(const VariantOptions &options) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  /// By a tuned schedule, if there is one that holds; else by the program's own, or the cost model's.
  absl::StatusOr<Kernel> compileBy(const TunedSchedule *tuned, const VariantOptions &options) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Kernel> compileFresh(const TunedSchedule *tuned, const VariantOptions &options) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SessionState &session_;
  std::shared_ptr<Program> program_;
  const Kernel &signature_;
  const std::string target_;
  absl::Mutex mutex_;
  std::optional<CompilePolicy> forDevice_ ABSL_GUARDED_BY(mutex_); ///< of the get() that is compiling
  std::optional<VariantOptions> first_ ABSL_GUARDED_BY(mutex_);    ///< what the first variant assumes
  std::set<std::string> varied_ ABSL_GUARDED_BY(mutex_);           ///< sizes that calls had several of
  std::optional<DecidingSizes> deciding_ ABSL_GUARDED_BY(mutex_);  ///< once a second variant was asked for
  std::optional<CodeAhead> ahead_ ABSL_GUARDED_BY(mutex_);         ///< of the last get()
  SizeClasses classes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<const CompiledVariant>> variants_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const CompiledVariant>>
      replaced_ ABSL_GUARDED_BY(mutex_); ///< whose place is another's; code of devices names them
};

/// What the variant for these arguments assumes; `general`: nothing of them.
VariantOptions optionsFor(const Kernel &signature, const std::string &target, const CheckedArgs &args, bool general);

} // namespace kernelc
