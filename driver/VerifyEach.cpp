#include "driver/VerifyEach.h"

#include "absl/strings/str_cat.h"
#include "driver/Compiler.h"
#include "driver/JitKernelImpl.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "reference/Check.h"

namespace kernelc {
namespace {

/// One call: its arguments and what it must give.
class Checker {
public:
  Checker(const Kernel &signature, std::shared_ptr<CpuKernel> oracle, absl::Span<const HostTensor> tensors,
          const std::vector<int64_t> &sizes, ThreadPool *pool)
      : signature_(signature), oracle_(std::move(oracle)), tensors_(tensors), sizes_(sizes), pool_(pool) {}

  /// Judges `kernel`; nothing more after the first failure.
  void check(const std::string &pass, te::KernelOp kernel) {
    if (!status.ok() || (!verdicts.empty() && !verdicts.back().passed))
      return;
    absl::StatusOr<reference::CheckReport> report = run(kernel);
    if (!report.ok())
      status = absl::Status(report.status().code(), absl::StrCat("after ", pass, ": ", report.status().message()));
    else
      verdicts.push_back({pass, report->passed(), report->toString()});
  }
  const std::string &kernelName() const { return signature_.name; }

  absl::Status status;
  std::vector<PassVerdict> verdicts;

private:
  absl::StatusOr<reference::CheckReport> run(te::KernelOp kernel) {
    absl::StatusOr<std::unique_ptr<reference::ReferenceKernel>> code =
        reference::ReferenceKernel::compile(kernel, reference::Arithmetic::Own);
    if (!code.ok())
      return code.status();
    std::vector<TensorView> args, outs;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (signature_.params[i].kind != ParamKind::Output)
        args.push_back(tensors_[i].view());
    std::vector<HostTensor> results;
    for (int p : oracle_->outputParams) {
      results.emplace_back(tensors_[p].type(), tensors_[p].shape());
      if (!results.back().data())
        return absl::ResourceExhaustedError("no memory for the results");
      outs.push_back(results.back().view());
    }
    if (absl::Status s = (*code)->run(sizes_, args, outs, pool_); !s.ok())
      return s;
    return reference::checkOutputs(*oracle_->code, sizes_, args, outs, pool_);
  }

  const Kernel &signature_;
  std::shared_ptr<CpuKernel> oracle_;
  absl::Span<const HostTensor> tensors_;
  const std::vector<int64_t> &sizes_;
  ThreadPool *pool_;
};

class AfterEachPass : public mlir::PassInstrumentation {
public:
  explicit AfterEachPass(Checker &checker) : checker_(checker) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    if (pass->getArgument().empty()) // an adaptor around the passes of a nested op
      return;
    op->walk([&](te::KernelOp kernel) {
      if (kernel.getSymName() == checker_.kernelName())
        checker_.check(pass->getArgument().str(), kernel);
      return mlir::WalkResult::skip();
    });
  }

private:
  Checker &checker_;
};

} // namespace

absl::StatusOr<std::vector<PassVerdict>> verifyTePasses(JitKernel &kernel, const std::string &target,
                                                        absl::Span<const HostTensor> tensors,
                                                        const std::vector<int64_t> &sizes,
                                                        const std::function<void(mlir::OpPassManager &)> &pipeline) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<std::shared_ptr<CpuKernel>> oracle =
      compileForCpu(kernel.program(), signature, reference::Arithmetic::F64WithError);
  if (!oracle.ok())
    return oracle.status();
  Checker checker(signature, *oracle, tensors, sizes, kernel.threadPool());
  absl::Status ran = kernel.program().withModule([&](mlir::ModuleOp module) -> absl::Status {
    mlir::OwningOpRef<mlir::ModuleOp> one = mlir::ModuleOp::create(module.getLoc());
    TePlanOptions options;
    options.target = target;
    std::map<std::string, SizeFact> facts = factsFor(signature, sizes);
    for (auto op : module.getOps<te::KernelOp>()) {
      if (op.getSymName() != signature.name)
        continue;
      checker.check("source", op);
      one->push_back(op->clone());
      for (unsigned i = 0; i < op.getNumSizes(); ++i) {
        const SizeFact &fact = facts[op.getSizeName(i).str()];
        options.sizeDiv.push_back(fact.divisor);
        options.sizeMax.push_back(fact.max);
      }
    }
    mlir::PassManager passes(module.getContext());
    if (pipeline)
      pipeline(passes);
    else
      buildTePipeline(passes, options);
    passes.addInstrumentation(std::make_unique<AfterEachPass>(checker));
    if (mlir::failed(passes.run(*one)))
      return absl::InternalError(absl::StrCat("a te pass failed on kernel '", signature.name, "'"));
    return absl::OkStatus();
  });
  if (!checker.status.ok())
    return checker.status;
  // A pass that fails after another changed the meaning is not the news.
  if (!ran.ok() && (checker.verdicts.empty() || checker.verdicts.back().passed))
    return ran;
  return checker.verdicts;
}

} // namespace kernelc
