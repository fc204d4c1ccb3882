// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/VariantSet.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/compile/CacheKeys.h"
#include "driver/compile/ScheduleFile.h"
#include "driver/jit/KeptKernel.h"
#include "ir/te/Te.h"
#include "support/TensorLayout.h"

namespace kernelc {
namespace {

/// Whether every tensor argument is small enough for 32-bit offsets.
bool fits32(const CheckedArgs &args) {
  for (size_t i = 0; i < args.values.size(); ++i)
    if (const DeviceTensor *t = args.tensor(int(i))) {
      int64_t elements = 1;
      for (int64_t d : t->shape)
        elements *= d; // checkArguments bounded the count and the span
      if (std::max(elements, elementSpan(t->shape, args.strides[i])) >= int64_t(1) << 30)
        return false;
    }
  return true;
}

/// What two elements of a byte ask of layouts: a byte is written by one thread, and read at an offset that is not negative.
absl::Status checkPacked(const Kernel &signature, const CheckedArgs &args) {
  for (size_t i = 0; i < args.values.size(); ++i) {
    const DeviceTensor *t = args.tensor(int(i));
    const Param &p = signature.params[i];
    if (!t || elementBits(t->type) >= 8 || !elementSpan(t->shape, t->strides))
      continue;
    if (p.kind != ParamKind::Input && classifyLayout(t->type, t->shape, t->strides) != LayoutClass::Dense)
      return absl::InvalidArgumentError(
          absl::StrCat("parameter '", p.name, "': results of ", elementTypeName(t->type),
                       " are written a byte at a time on GPUs, so that they have to be dense; write to a dense tensor"));
    if (readsBackwards(t->shape, t->strides))
      return absl::InvalidArgumentError(absl::StrCat("parameter '", p.name, "': a tensor of ", elementTypeName(t->type),
                                                     " with a negative stride cannot be read on GPUs; copy it"));
  }
  return absl::OkStatus();
}

/// What holds of the arguments' layouts and addresses.
std::vector<ParamGuard> paramsFor(const Kernel &signature, const CheckedArgs &args) {
  std::vector<ParamGuard> params;
  for (size_t i = 0; i < args.values.size(); ++i) {
    ParamGuard g{LayoutClass::Dense, 16};
    if (const DeviceTensor *t = args.tensor(int(i)); t && elementSpan(t->shape, t->strides)) {
      while (reinterpret_cast<uintptr_t>(t->data) % g.alignment)
        g.alignment /= 2;
      g = narrowestGuard(signature.params[i].kind, t->type, t->shape, t->strides, g.alignment);
    }
    params.push_back(g);
  }
  return params;
}

} // namespace

VariantOptions optionsFor(const Kernel &signature, const std::string &target, const CheckedArgs &args, bool general) {
  VariantOptions o;
  o.target = target;
  o.index32 = fits32(args);
  o.mayWiden = true; // for a workspace that is larger than any argument
  o.name = general ? "general" : "specialised";
  if (!general)
    o.facts = factsFor(signature, args.sizes);
  o.params = general ? generalParams(signature) : paramsFor(signature, args);
  return o;
}

VariantSet::Choice VariantSet::choiceOf(const CheckedArgs &args, bool general) const {
  VariantOptions options = optionsFor(signature_, target_, args, general);
  std::string key = keyOf(options);
  return {std::move(options), std::move(key), {}};
}

VariantSet::Choice VariantSet::choose(const CheckedArgs &args) const {
  if (session_.options.generalOnly)
    return choiceOf(args, true);
  Choice own = choiceOf(args, false);
  if (!variants_.count(own.key))
    own = widen(std::move(own));
  if (own.question || variants_.count(own.key) || int(variants_.size()) < session_.options.maxVariants)
    return own;
  return choiceOf(args, true);
}

std::string VariantSet::keyOf(const VariantOptions &options) const {
  std::string key = describeOptions(options);
  if (deciding_)
    for (const auto &[name, fact] : options.facts)
      if (fact.max < 0 && fact.like > 0 && deciding_->walked.count(name))
        absl::StrAppend(&key, " ", name, "~", decidingBound(fact.like));
  return key;
}

void VariantSet::findDeciding() {
  if (deciding_ || !first_)
    return;
  deciding_.emplace();
  absl::Status status = program_->withModule([&](mlir::ModuleOp module) {
    if (te::KernelOp kernel = findKernel(module, signature_.name))
      *deciding_ = decidingSizesOf(kernel);
    return absl::OkStatus();
  });
  (void)status; // who compiles the variant says why it does not
}

VariantSet::Choice VariantSet::widen(Choice own) const {
  if (!first_)
    return own;
  const std::map<std::string, SizeFact> dense = denseFacts(signature_);
  std::vector<int64_t> sizes;
  for (const SizeRecipe &size : signature_.sizes)
    sizes.push_back(own.options.facts[size.name].like);
  const std::set<std::string> ofColumns = sizesOfColumns(signature_, sizes);
  for (auto &[name, fact] : own.options.facts) {
    auto was = first_->facts.find(name);
    bool isVaried = varied_.count(name) || was == first_->facts.end() || was->second.divisor != fact.divisor || was->second.max != fact.max;
    // Several head dims have a variant each, as long as there is room for classes of the other sizes.
    bool isColumns = ofColumns.count(name) || (deciding_ && deciding_->walked.count(name) && isWorthItself(fact.like));
    if (!isVaried || (isColumns && int(variants_.size()) < session_.options.maxVariants / 2))
      continue;
    auto row = dense.find(name);
    fact = classOf(fact.like, row == dense.end() ? 1 : row->second.divisor);
    if (fact.max < 0 && deciding_ && deciding_->scattered.count(name))
      fact.max = decidingBound(fact.like);
  }
  std::string key = keyOf(own.options);
  if (key == own.key)
    return own;
  own.options.name = "ranged";
  own.question = {std::move(key), own.options};
  own.key = classes_.find(*own.question);
  return own;
}

VariantSet::Choice VariantSet::settle(Choice choice, const CheckedArgs &args, bool better) {
  if (!choice.question || (!choice.key.empty() && !better))
    return choice;
  // Other classes, as that of one row, keep some room.
  constexpr int kForOthers = 2;
  const int room = session_.options.maxVariants - int(variants_.size());
  std::optional<SizeClasses::Member> member = classes_.settle(*choice.question,
                                                              room > kForOthers ? SizeClasses::Room::More
                                                              : room > 0        ? SizeClasses::Room::First
                                                                                : SizeClasses::Room::None,
                                                              better);
  if (!member)
    return choiceOf(args, true);
  return {std::move(member->options), std::move(member->key), std::move(choice.question)};
}

std::shared_ptr<const CompiledVariant> VariantSet::lookUp(const CheckedArgs &args, Choice &choice) const {
  for (;;) {
    auto entry = variants_.find(choice.key);
    if (entry == variants_.end())
      return nullptr;
    const Variant &v = entry->second->variant();
    if (v.guard.empty() || v.guard.evaluate(args.env()) || !choice.options.index32)
      return entry->second;
    // A workspace that is larger than any argument: offsets need 64 bits.
    choice.options.index32 = false;
    choice.key = keyOf(choice.options);
  }
}

std::shared_ptr<const CompiledVariant> VariantSet::find(const CheckedArgs &args, VariantUse use, bool &better) {
  absl::MutexLock lock(&mutex_);
  Choice choice = choose(args);
  const bool waits = choice.question && (choice.key.empty() || classes_.isWaiting(*choice.question));
  better = waits && (use == VariantUse::Bind || (use == VariantUse::Call && classes_.comeAgain(*choice.question)));
  return lookUp(args, choice);
}

absl::StatusOr<std::shared_ptr<const CompiledVariant>> VariantSet::get(const CheckedArgs &args, std::optional<CompilePolicy> forDevice,
                                                                       bool better) {
  if (absl::Status s = checkPacked(signature_, args); !s.ok())
    return s;
  absl::MutexLock lock(&mutex_);
  forDevice_ = forDevice;
  if (Choice wanted = choose(args); !lookUp(args, wanted))
    findDeciding();
  for (Choice choice = settle(choose(args), args, better);;) {
    std::shared_ptr<const CompiledVariant> found = lookUp(args, choice);
    if (found && (found->isChosen || forDevice != CompilePolicy::Block))
      return found;
    absl::StatusOr<Kernel> kernel = compile(choice.options);
    if (!kernel.ok())
      return kernel.status();
    noteSizes(choice.options);
    auto compiled = std::make_shared<CompiledVariant>();
    compiled->kernel = *std::move(kernel);
    compiled->index = found ? found->index : int(variants_.size());
    compiled->isChosen = forDevice == CompilePolicy::Block;
    if (found)
      replaced_.push_back(std::move(found));
    variants_[choice.key] = std::move(compiled);
  }
}

absl::StatusOr<Kernel> VariantSet::compile(const VariantOptions &options) {
  std::optional<TunedSchedule> tuned;
  if (session_.options.tuned)
    tuned = findTuned(session_.getCache(), *program_, signature_, options, session_.options.remark);
  absl::StatusOr<Kernel> kernel = compileBy(tuned ? &*tuned : nullptr, options);
  if (!tuned && kernel.ok() && forDevice_)
    keepBest(options, *kernel);
  if (tuned && kernel.ok()) {
    std::vector<std::string> &remarks = kernel->variants[0].remarks;
    remarks.insert(remarks.begin(), tuned->remark);
  } else if (tuned) {
    std::string why = noLongerHolds(signature_, target_, kernel.status());
    if (kernel = compileBy(nullptr, options); kernel.ok())
      kernel->variants[0].remarks.insert(kernel->variants[0].remarks.begin(), why);
  }
  if (kernel.ok())
    for (const std::string &r : kernel->variants[0].remarks)
      session_.remark(r);
  return kernel;
}

void VariantSet::noteSizes(const VariantOptions &options) {
  if (!first_)
    first_ = options;
  for (const auto &[name, fact] : options.facts)
    if (auto was = first_->facts.find(name);
        was == first_->facts.end() || was->second.divisor != fact.divisor || was->second.max != fact.max)
      varied_.insert(name);
}

void VariantSet::keepBest(const VariantOptions &options, Kernel &kernel) {
  absl::StatusOr<Nvrtc *> nvrtc = session_.getNvrtc();
  if (!nvrtc.ok())
    return; // who compiles says so
  std::vector<CodeAhead> seen;
  auto compile = [&](const Variant &variant) {
    absl::StatusOr<VariantCode> code = session_.compileVariant(variant, absl::StrCat(signature_.name, ".cu"));
    if (code.ok())
      seen.push_back({variant.cudaText, *code});
    return code;
  };
  keepBestPlan({session_.getCache(), nameOf(**nvrtc), compile, *forDevice_ == CompilePolicy::Block}, *program_, options, kernel);
  ahead_.reset();
  for (CodeAhead &a : seen)
    if (a.text == kernel.variants[0].cudaText)
      ahead_ = std::move(a);
}

absl::StatusOr<Kernel> VariantSet::compileBy(const TunedSchedule *tuned, const VariantOptions &options) {
  CacheKey key = variantKey(*program_, signature_, options, tuned ? tuned->schedule : "");
  const bool mayCompile = forDevice_ != CompilePolicy::Strict;
  absl::StatusOr<std::string> bytes = session_.getCache().getOrCompute(DiskCache::Kind::Request, key, [&]() -> absl::StatusOr<std::string> {
    if (!mayCompile)
      return refusedByPolicy(absl::StrCat("kernel '", signature_.name, "'"), session_.getCache());
    absl::StatusOr<Kernel> fresh = compileFresh(tuned, options);
    return fresh.ok() ? keptOf(*std::move(fresh)) : absl::StatusOr<std::string>(fresh.status());
  });
  if (!bytes.ok())
    return bytes.status();
  std::optional<Kernel> kernel = readKept(*bytes);
  if (!kernel) // written by a build that thought otherwise
    return compileFresh(tuned, options);
  return *std::move(kernel);
}

absl::StatusOr<Kernel> VariantSet::compileFresh(const TunedSchedule *tuned, const VariantOptions &options) {
  if (forDevice_)
    session_.prepareCompiler();
  Kernel kernel = signature_;
  std::vector<std::string> remarks;
  absl::Status s = program_->withModule(
      [&](mlir::ModuleOp module) -> absl::Status {
        auto own = llvm::find_if(module.getOps<te::KernelOp>(), [&](te::KernelOp k) { return k.getSymName() == signature_.name; });
        bool isScheduled = own != module.getOps<te::KernelOp>().end() && (*own).getScheduleAttr(); // the text's word counts
        if (!tuned || isScheduled)
          return addVariant(module, options, kernel);
        mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone(); // the schedule is this variant's alone
        if (absl::Status attached = attachSchedules(*copy, tuned->schedule, "tuned schedule", signature_.name); !attached.ok())
          return attached;
        return addVariant(*copy, options, kernel);
      },
      &remarks);
  if (!s.ok())
    return s;
  for (std::string &r : remarks)
    kernel.variants.back().remarks.push_back(std::move(r));
  return kernel;
}

std::optional<VariantCode> VariantSet::takeAhead(const Variant &variant) {
  absl::MutexLock lock(&mutex_);
  std::optional<CodeAhead> ahead = std::exchange(ahead_, std::nullopt);
  return ahead && ahead->text == variant.cudaText ? std::optional(std::move(ahead->code)) : std::nullopt;
}

absl::StatusOr<VariantCode> VariantSet::code(const CompiledVariant &variant, bool mayCompile) {
  if (std::optional<VariantCode> ahead = takeAhead(variant.variant())) {
    remarkOn(*ahead);
    return *std::move(ahead);
  }
  absl::StatusOr<VariantCode> code = session_.compileVariant(variant.variant(), absl::StrCat(signature_.name, ".cu"), mayCompile);
  if (absl::IsInvalidArgument(code.status())) // the text is ours: that it does not compile is never the user's fault
    return absl::InternalError(
        absl::StrCat("NVRTC refuses the CUDA text of kernel '", signature_.name, "' for ", target_, ":\n", code.status().message()));
  if (!code.ok())
    return code.status();
  remarkOn(*code);
  return code;
}

void VariantSet::remarkOn(const VariantCode &code) const {
  for (const Cubin &cubin : code.cubins)
    for (const CompileDiagnostic &d : cubin.diagnostics)
      if (d.severity == CompileDiagnostic::PerformanceError)
        session_.remark(toString(d));
}

void VariantSet::dropCode(const CompiledVariant &variant) {
  absl::StatusOr<Nvrtc *> nvrtc = session_.getNvrtc();
  if (!nvrtc.ok())
    return;
  for (const CompileUnit &unit : compileUnitsOf(variant.variant()))
    session_.getCache().drop(DiskCache::Kind::Content, DiskCache::contentKey(**nvrtc, unit.text, target_));
}

} // namespace kernelc
