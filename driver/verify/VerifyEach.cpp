// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/VerifyEach.h"

#include "absl/strings/str_cat.h"
#include "driver/verify/PassVerifier.h"
#include "driver/verify/VerifyReproducer.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"

namespace kernelc {
namespace {

/// While alive, passes run on one thread: the checks read the whole module.
class OneThread {
public:
  explicit OneThread(mlir::MLIRContext *context) : context_(context), was_(context->isMultithreadingEnabled()) {
    context_->disableMultithreading();
  }
  ~OneThread() { context_->disableMultithreading(!was_); }

private:
  mlir::MLIRContext *context_;
  bool was_;
};

} // namespace

absl::StatusOr<std::vector<PassVerdict>> verifyPasses(JitKernel &kernel, absl::Span<const HostTensor> tensors,
                                                      const std::vector<int64_t> &sizes, const VerifyOptions &options) {
  const Kernel &signature = kernel.signature();
  std::vector<VerifyCall> calls(1);
  calls[0].sizes = sizes;
  for (const HostTensor &t : tensors) {
    calls[0].tensors.push_back(t.copy());
    if (!calls[0].tensors.back().data())
      return absl::ResourceExhaustedError("no memory for the arguments");
  }
  std::vector<PassVerdict> verdicts;
  absl::Status status = kernel.program().withModule([&](mlir::ModuleOp module) -> absl::Status {
    OneThread oneThread(module.getContext());
    mlir::OwningOpRef<mlir::ModuleOp> one = isolate(module, signature.name);
    te::KernelOp source = *one->getOps<te::KernelOp>().begin();
    auto created = PassVerifier::create(source, signature, std::move(calls), {.runCu = options.runCu}, kernel.threadPool());
    if (!created.ok())
      return created.status();
    PassVerifier &verifier = **created;
    verifier.check("source", *one);
    TePlanOptions plan;
    plan.target = options.target;
    std::map<std::string, SizeFact> facts = factsFor(signature, sizes);
    for (unsigned i = 0; i < source.getNumSizes(); ++i) {
      const SizeFact &fact = facts[source.getSizeName(i).str()];
      plan.sizeDiv.push_back(fact.divisor);
      plan.sizeMax.push_back(fact.max);
      plan.sizeLike.push_back(fact.like);
    }
    mlir::PassManager te(module.getContext()), cuda(module.getContext());
    if (options.te)
      options.te(te);
    else
      buildTePipeline(te, plan);
    if (options.cuda)
      options.cuda(cuda);
    else if (!options.te)
      buildCudaPipeline(cuda, options.runCu ? CudaStop::Cu : CudaStop::Layouts);
    for (mlir::PassManager *passes : {&te, &cuda}) {
      passes->addInstrumentation(verifier.instrumentation());
      bool ran = mlir::succeeded(passes->run(*one));
      if (verifier.isDone()) // a pass that fails after another changed the meaning is not the news
        break;
      if (!ran)
        return absl::InternalError(absl::StrCat("a pass failed on kernel '", signature.name, "'"));
    }
    if (!verifier.status().ok())
      return verifier.status();
    verdicts = verifier.verdicts();
    if (verifier.hasFailed() && verdicts.size() > 1)
      verdicts.back().reproducer = buildVerifyReproducer(verifier.failure(), signature, options.runCu);
    return absl::OkStatus();
  });
  if (!status.ok())
    return status;
  return verdicts;
}

} // namespace kernelc
