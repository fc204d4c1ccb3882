#include "driver/VerifyEach.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "driver/PrintVariant.h"
#include "driver/VerifyTrial.h"
#include "ir/cu/Cu.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

namespace kernelc {
namespace {

const char *describe(VerifyTrial::Inputs inputs) {
  return inputs == VerifyTrial::Given ? "" : inputs == VerifyTrial::SmallIntegers ? "with small whole numbers: " : "with integers modulo 2^32: ";
}

/// Judges modules between passes; nothing more after the first failure.
class Checker {
public:
  Checker(const Kernel &signature, const VariantOptions &variant, bool runCu) : signature_(signature), variant_(variant), runCu_(runCu) {}
  std::vector<std::unique_ptr<VerifyTrial>> trials;
  absl::Status status;
  std::vector<PassVerdict> verdicts;

  bool isDone() const { return !status.ok() || (!verdicts.empty() && !verdicts.back().passed); }

  /// The lowest level in `module` is what is run.
  void check(const std::string &pass, mlir::ModuleOp module) {
    if (isDone())
      return;
    PassVerdict verdict{pass, true, ""};
    std::string text;
    Variant variant;
    bool cu = !module.getOps<cu::KernelOp>().empty(), tile = !module.getOps<tile::FuncOp>().empty();
    if (cu) {
      if (!runCu_)
        return;
      mlir::OwningOpRef<mlir::ModuleOp> synchronised = withBarriers(module);
      if (!synchronised)
        return fail(pass, absl::InternalError("cu-barriers finds no place for a barrier"));
      auto printed = printVariant(*synchronised, variant_, signature_);
      if (!printed.ok())
        return fail(pass, printed.status());
      variant = *std::move(printed);
      if (variant.cudaText == lastText_) { // the same text means the same
        verdicts.push_back(verdict);
        return;
      }
      lastText_ = variant.cudaText;
    }
    for (auto &trial : trials) {
      if (cu && trial->inputs() == VerifyTrial::Ring)
        continue; // the text has floats
      auto run = cu ? trial->runVariant(variant) : tile ? trial->runTile(module) : trial->runTe(kernelOf(module));
      // A pass may leave the ring where the source did not: then this says nothing.
      if (absl::IsUnimplemented(run.status()) && trial->inputs() == VerifyTrial::Ring)
        continue;
      if (!run.ok())
        return fail(pass, run.status());
      verdict.passed &= run->passed;
      absl::StrAppend(&verdict.text, describe(trial->inputs()), run->text,
                      run->text.empty() || run->text.back() == '\n' ? "" : "\n");
    }
    verdicts.push_back(std::move(verdict));
  }

  /// From now on what `kernel` has of barriers is all that it gets.
  void setSynchronised(mlir::StringRef kernel) { synchronised_.insert(kernel.str()); }

  te::KernelOp kernelOf(mlir::ModuleOp module) const {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == signature_.name)
        return op;
    return {};
  }

private:
  /// A copy of `module` in which kernels that cu-barriers has not seen yet have gone
  /// through it: until then no order is promised between their threads.
  mlir::OwningOpRef<mlir::ModuleOp> withBarriers(mlir::ModuleOp module) const {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    for (auto kernel : copy->getOps<cu::KernelOp>()) {
      if (synchronised_.count(kernel.getSymName().str()))
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

  void fail(const std::string &pass, const absl::Status &s) {
    status = absl::Status(s.code(), absl::StrCat("after ", pass, ": ", s.message()));
  }

  const Kernel &signature_;
  const VariantOptions &variant_;
  bool runCu_;
  std::string lastText_;
  std::set<std::string> synchronised_;
};

class AfterEachPass : public mlir::PassInstrumentation {
public:
  explicit AfterEachPass(Checker &checker) : checker_(checker) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    if (pass->getArgument().empty()) // an adaptor around the passes of a nested op, or a pass that changes nothing
      return;
    auto module = mlir::dyn_cast<mlir::ModuleOp>(op);
    std::string name = pass->getArgument().str();
    // A pass over functions is judged function by function, if there are several.
    if (!module) {
      module = op->getParentOfType<mlir::ModuleOp>();
      int64_t siblings = llvm::count_if(*module.getBody(), [&](mlir::Operation &o) { return o.getName() == op->getName(); });
      if (siblings > 1)
        absl::StrAppend(&name, " of ", mlir::SymbolTable::getSymbolName(op).str());
    }
    if (auto kernel = mlir::dyn_cast<cu::KernelOp>(op); kernel && pass->getArgument() == createCuBarriers()->getArgument())
      checker_.setSynchronised(kernel.getSymName());
    checker_.check(name, module);
  }

private:
  Checker &checker_;
};

/// While alive, passes run on one thread: the checks read the whole module.
class OneThread {
public:
  explicit OneThread(mlir::MLIRContext *context) : context_(context), was_(context->isMultithreadingEnabled()) { context_->disableMultithreading(); }
  ~OneThread() { context_->disableMultithreading(!was_); }

private:
  mlir::MLIRContext *context_;
  bool was_;
};

} // namespace

absl::StatusOr<std::vector<PassVerdict>> verifyPasses(JitKernel &kernel, absl::Span<const HostTensor> tensors, const std::vector<int64_t> &sizes,
                                                      const VerifyOptions &options) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<std::shared_ptr<CpuKernel>> oracle = compileForCpu(kernel.program(), signature, reference::Arithmetic::F64WithError);
  if (!oracle.ok())
    return oracle.status();
  VariantOptions variant;
  variant.target = options.target;
  variant.facts = factsFor(signature, sizes);
  Checker checker(signature, variant, options.runCu);
  absl::Status ran = kernel.program().withModule([&](mlir::ModuleOp module) -> absl::Status {
    OneThread oneThread(module.getContext());
    mlir::OwningOpRef<mlir::ModuleOp> one = mlir::ModuleOp::create(module.getLoc());
    te::KernelOp source = checker.kernelOf(module);
    one->push_back(source->clone());
    for (VerifyTrial::Inputs inputs : {VerifyTrial::Given, VerifyTrial::SmallIntegers, VerifyTrial::Ring}) {
      auto trial = VerifyTrial::create(signature, *oracle, source, tensors, sizes, inputs, kernel.threadPool());
      if (trial.ok())
        checker.trials.push_back(*std::move(trial));
      else if (!absl::IsUnimplemented(trial.status())) // more than a ring
        return trial.status();
    }
    checker.check("source", *one);
    TePlanOptions plan;
    plan.target = options.target;
    for (unsigned i = 0; i < source.getNumSizes(); ++i) {
      const SizeFact &fact = variant.facts[source.getSizeName(i).str()];
      plan.sizeDiv.push_back(fact.divisor);
      plan.sizeMax.push_back(fact.max);
    }
    mlir::PassManager te(module.getContext()), cuda(module.getContext());
    if (options.te)
      options.te(te);
    else
      buildTePipeline(te, plan);
    if (options.cuda)
      options.cuda(cuda);
    else if (!options.te)
      buildCudaPipeline(cuda, options.runCu ? CudaStop::Cu : CudaStop::Layouts, variant.index32);
    for (mlir::PassManager *passes : {&te, &cuda}) {
      passes->addInstrumentation(std::make_unique<AfterEachPass>(checker));
      if (mlir::failed(passes->run(*one)))
        return absl::InternalError(absl::StrCat("a pass failed on kernel '", signature.name, "'"));
    }
    return absl::OkStatus();
  });
  if (!checker.status.ok())
    return checker.status;
  // A pass that fails after another changed the meaning is not the news.
  if (!ran.ok() && !checker.isDone())
    return ran;
  return checker.verdicts;
}

} // namespace kernelc
