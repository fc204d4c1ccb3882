// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/PassVerifier.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/PrintVariant.h"
#include "driver/verify/HostValues.h"
#include "ir/cu/Cu.h"
#include "ir/tile/Tile.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

namespace kernelc {
namespace {

constexpr char kBarriers[] = "cu-barriers";

const char *describe(VerifyTrial::Inputs inputs) {
  return inputs == VerifyTrial::Given           ? ""
         : inputs == VerifyTrial::SmallIntegers ? "with small whole numbers: "
                                                : "with integers modulo 2^32: ";
}

/// All that running `module` depends on.
std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, mlir::OpPrintingFlags().printGenericOpForm());
  return text;
}

/// A te kernel as the trials of one pass run it, compiled once for those of the same types.
class TeCode {
public:
  explicit TeCode(te::KernelOp kernel) : kernel_(kernel) {}
  absl::StatusOr<VerifyTrial::Verdict> run(const VerifyTrial &trial) {
    auto &code = trial.inputs() == VerifyTrial::Ring ? ring_ : own_;
    if (!code)
      code = VerifyTrial::compileTe(kernel_, trial.inputs());
    return code->ok() ? trial.runTe(kernel_, ***code) : code->status();
  }

private:
  te::KernelOp kernel_;
  std::optional<absl::StatusOr<std::unique_ptr<reference::ReferenceKernel>>> own_, ring_;
};

} // namespace

bool isLaunchOf(mlir::Operation *op, const std::string &kernel) {
  auto func = dyn_cast<tile::FuncOp>(op);
  auto launch = dyn_cast<cu::KernelOp>(op);
  llvm::StringRef name = func ? func.getKernel() : launch ? launch.getKernel() : llvm::StringRef();
  return name.empty() || name == kernel;
}

class AfterEachPass : public mlir::PassInstrumentation {
public:
  explicit AfterEachPass(PassVerifier &verifier) : verifier_(verifier) {}

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override {
    if (!isPass(pass) || verifier_.isDone())
      return;
    PassFailure &failure = verifier_.failure_;
    mlir::ModuleOp module = moduleOf(op);
    std::string text;
    llvm::raw_string_ostream out(text);
    pass->printAsTextualPipeline(out);
    failure.before = module.clone();
    failure.pass = op == module ? text : absl::StrCat(op->getName().getStringRef().str(), "(", text, ")");
    // Neighbours of `op` go through the same passes, one function after the other.
    if (op == module) {
      failure.beforeGroup = {};
    } else if (!failure.beforeGroup || op->getName() != groupName_) {
      failure.beforeGroup = module.clone();
      groupName_ = op->getName();
      group_.clear();
    }
    if (op != module && std::find(group_.begin(), group_.end(), text) == group_.end())
      group_.push_back(text);
    failure.group = absl::StrCat(op->getName().getStringRef().str(), "(", absl::StrJoin(group_, ","), ")");
    // A replay, too, has to know that the barriers are still to come.
    if (llvm::any_of(module.getOps<cu::KernelOp>(), [&](cu::KernelOp k) { return verifier_.awaitsBarriers(k); }) &&
        pass->getArgument() != kBarriers)
      for (std::string *pipeline : {&failure.pass, &failure.group})
        absl::StrAppend(pipeline, ",cu.kernel(", kBarriers, ")");
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    if (!isPass(pass))
      return;
    mlir::ModuleOp module = moduleOf(op);
    std::string name = pass->getArgument().str();
    // A pass over functions is judged function by function, if there are several.
    if (op != module) {
      int64_t siblings = llvm::count_if(*module.getBody(), [&](mlir::Operation &o) { return o.getName() == op->getName(); });
      if (siblings > 1)
        absl::StrAppend(&name, " of ", mlir::SymbolTable::getSymbolName(op).str());
    }
    if (auto kernel = mlir::dyn_cast<cu::KernelOp>(op); kernel && pass->getArgument() == kBarriers)
      verifier_.synchronised_.insert(kernel.getSymName().str());
    verifier_.check(name, module);
  }

private:
  /// Not an adaptor around the passes of a nested op.
  static bool isPass(mlir::Pass *pass) { return !pass->getArgument().empty(); }
  static mlir::ModuleOp moduleOf(mlir::Operation *op) {
    auto module = mlir::dyn_cast<mlir::ModuleOp>(op);
    return module ? module : op->getParentOfType<mlir::ModuleOp>();
  }
  PassVerifier &verifier_;
  std::optional<mlir::OperationName> groupName_;
  std::vector<std::string> group_;
};

std::string describeSizes(const Kernel &signature, const std::vector<int64_t> &sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    absl::StrAppend(&text, i ? ", " : "", signature.sizes[i].name, "=", sizes[i]);
  return text;
}

absl::StatusOr<VerifyCall> makeVerifyCall(const Kernel &signature, std::vector<int64_t> sizes, uint64_t seed) {
  VerifyCall call;
  for (const Param &p : signature.params) {
    std::vector<int64_t> shape;
    for (const SizeExpr &e : p.dims)
      shape.push_back(e.evaluate({sizes, 1, {}}));
    call.tensors.emplace_back(p.type, shape);
    if (!call.tensors.back().data())
      return absl::ResourceExhaustedError("no memory for the arguments");
    if (p.kind != ParamKind::Output)
      fillRandom(call.tensors.back(), seed + call.tensors.size());
  }
  call.sizes = std::move(sizes);
  return call;
}

absl::StatusOr<std::unique_ptr<PassVerifier>> PassVerifier::create(te::KernelOp source, const Kernel &signature,
                                                                   std::vector<VerifyCall> calls, const Options &options,
                                                                   ThreadPool *pool) {
  absl::StatusOr<std::shared_ptr<CpuKernel>> oracle = compileForCpu(source, reference::Arithmetic::F64WithError);
  if (!oracle.ok())
    return oracle.status();
  std::unique_ptr<PassVerifier> verifier(new PassVerifier(signature, options));
  verifier->calls_ = calls.size();
  for (const VerifyCall &call : calls)
    for (VerifyTrial::Inputs inputs : {VerifyTrial::Given, VerifyTrial::SmallIntegers, VerifyTrial::Ring}) {
      auto trial = VerifyTrial::create(verifier->signature_, *oracle, source, call.tensors, call.sizes, inputs, pool);
      if (trial.ok())
        verifier->trials_.push_back(*std::move(trial));
      else if (!absl::IsUnimplemented(trial.status())) // more than a ring
        return trial.status();
    }
  return verifier;
}

std::unique_ptr<mlir::PassInstrumentation> PassVerifier::instrumentation() { return std::make_unique<AfterEachPass>(*this); }

void PassVerifier::check(const std::string &pass, mlir::ModuleOp module) {
  if (isDone())
    return;
  PassVerdict verdict{pass, true, "", ""};
  auto ofKernel = [&](mlir::Operation *op) { return isLaunchOf(op, signature_.name); };
  bool cu = llvm::any_of(module.getOps<cu::KernelOp>(), ofKernel), tile = llvm::any_of(module.getOps<tile::FuncOp>(), ofKernel);
  Variant variant;
  std::optional<emulator::KernelRunner> runner;
  if (cu) {
    if (!options_.runCu)
      return;
    auto printed = printText(module);
    if (!printed.ok())
      return fail(pass, printed.status());
    variant = *std::move(printed);
  }
  // The same text means the same.
  std::string text = cu ? variant.cudaText : textOf(module);
  if (text == lastText_) {
    verdicts_.push_back(verdict);
    return;
  }
  lastText_ = std::move(text);
  if (cu) {
    auto built = emulator::KernelRunner::create(signature_, variant);
    if (!built.ok())
      return fail(pass, built.status());
    runner = *std::move(built);
  }
  TeCode te(kernelOf(module));
  for (auto &trial : trials_) {
    if (cu && trial->inputs() == VerifyTrial::Ring)
      continue; // the text has floats
    auto run = cu ? trial->runText(*runner) : tile ? trial->runTile(module) : te.run(*trial);
    // A pass may leave the ring where the source did not: then this says nothing.
    if (absl::IsUnimplemented(run.status()) && trial->inputs() == VerifyTrial::Ring)
      continue;
    if (!run.ok())
      return fail(pass, run.status());
    if (run->passed)
      continue;
    if (verdict.passed)
      failure_.sizes = trial->sizes();
    verdict.passed = false;
    absl::StrAppend(&verdict.text, calls_ > 1 ? absl::StrCat("at ", describeSizes(signature_, trial->sizes()), ": ") : "",
                    describe(trial->inputs()), run->text, run->text.empty() || run->text.back() == '\n' ? "" : "\n");
  }
  verdicts_.push_back(std::move(verdict));
}

bool PassVerifier::awaitsBarriers(cu::KernelOp kernel) const {
  return options_.addBarriers && !synchronised_.count(kernel.getSymName().str());
}

te::KernelOp PassVerifier::kernelOf(mlir::ModuleOp module) const {
  for (auto op : module.getOps<te::KernelOp>())
    if (op.getSymName() == signature_.name)
      return op;
  return {};
}

/// A copy of `module` with the cu of this kernel alone, in which what cu-barriers has not
/// seen yet has gone through it: until then no order is promised between threads.
mlir::OwningOpRef<mlir::ModuleOp> PassVerifier::withBarriers(mlir::ModuleOp module) const {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  for (auto kernel : llvm::make_early_inc_range(copy->getOps<cu::KernelOp>())) {
    if (!isLaunchOf(kernel, signature_.name)) {
      kernel.erase();
      continue;
    }
    if (!awaitsBarriers(kernel))
      continue;
    mlir::PassManager pm(module.getContext(), cu::KernelOp::getOperationName());
    pm.addPass(mlir::createCanonicalizerPass());
    pm.addPass(mlir::createCSEPass());
    pm.addPass(mlir::createLoopInvariantCodeMotionPass());
    pm.addPass(mlir::createCSEPass());
    pm.addPass(createCuBarriers());
    if (mlir::failed(pm.run(kernel)))
      return {};
  }
  return copy;
}

absl::StatusOr<Variant> PassVerifier::printText(mlir::ModuleOp module) const {
  mlir::OwningOpRef<mlir::ModuleOp> synchronised = withBarriers(module);
  if (!synchronised)
    return absl::InternalError("cu-barriers finds no place for a barrier");
  cu::KernelOp any = *synchronised->getOps<cu::KernelOp>().begin();
  VariantOptions options;
  options.target = any.getTarget().str();
  options.index32 = any.getIndexBits() == 32;
  return printVariant(*synchronised, options, signature_);
}

void PassVerifier::fail(const std::string &pass, const absl::Status &s) {
  status_ = absl::Status(s.code(), absl::StrCat("after ", pass, ": ", s.message()));
}

} // namespace kernelc
