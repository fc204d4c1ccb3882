// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/OptVerify.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "driver/verify/AwkwardSizes.h"
#include "driver/verify/PassVerifier.h"
#include "driver/verify/VerifyReproducer.h"
#include "mlir/IR/Diagnostics.h"
#include "tools/Files.h"

namespace kernelc::tools {
namespace {

/// So many sets of sizes where the user names none.
constexpr int kSets = 3;

/// "M=5,N=7;M=1,N=3" to values in the order of the kernel's sizes.
absl::StatusOr<std::vector<std::vector<int64_t>>> parseSizes(const std::string &text, te::KernelOp kernel, const Kernel &signature) {
  std::vector<std::vector<int64_t>> sets;
  for (absl::string_view set : absl::StrSplit(text, ';')) {
    std::vector<int64_t> sizes(signature.sizes.size(), -1);
    for (absl::string_view entry : absl::StrSplit(set, ',')) {
      std::pair<std::string, std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
      size_t i = 0;
      while (i < sizes.size() && signature.sizes[i].name != parts.first)
        ++i;
      if (i == sizes.size() || !absl::SimpleAtoi(parts.second, &sizes[i]) || sizes[i] < 0)
        return absl::InvalidArgumentError(
            absl::StrCat("--verify-sizes: expected NAME=N,.. with sizes of kernel '", signature.name, "', got '", entry, "'"));
    }
    setDenseStrides(kernel, signature, sizes);
    for (size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] < 0)
        return absl::InvalidArgumentError(
            absl::StrCat("--verify-sizes: size '", signature.sizes[i].name, "' of kernel '", signature.name, "' has no value"));
    sets.push_back(std::move(sizes));
  }
  return sets;
}

} // namespace

/// One verifier for each te.kernel of the module that the pipeline runs on.
class VerifySemantics : public mlir::PassInstrumentation {
public:
  VerifySemantics(OptVerify &owner, std::string pipeline) : owner_(owner), pipeline_(std::move(pipeline)) {}
  ~VerifySemantics() override {
    for (auto &one : kernels_)
      if (!one.verifier->isDone() && one.verifier->verdicts().size() > 1)
        llvm::errs() << "kernel '" << one.verifier->signature().name << "' means the same after " << one.verifier->verdicts().size() - 1
                     << " passes at " << one.sizes << "\n";
  }

  void runBeforePass(mlir::Pass *pass, mlir::Operation *op) override {
    auto module = mlir::dyn_cast<mlir::ModuleOp>(op);
    if (!module)
      module = op->getParentOfType<mlir::ModuleOp>();
    if (!begun_) {
      begun_ = true;
      begin(module);
    }
    for (auto &one : kernels_)
      one.checks->runBeforePass(pass, op);
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    for (auto &one : kernels_) {
      bool was = one.verifier->isDone();
      one.checks->runAfterPass(pass, op);
      if (!was)
        report(one, op);
    }
  }

private:
  struct One {
    std::unique_ptr<PassVerifier> verifier;
    std::unique_ptr<mlir::PassInstrumentation> checks;
    std::string sizes; ///< for people
    mlir::Location loc;
  };

  void begin(mlir::ModuleOp module) {
    if (module.getOps<te::KernelOp>().empty())
      fail(module.getLoc(),
           "there is no te.kernel in the module: nothing says what its functions are to compute (kernelc leaves it beside them)");
    for (auto kernel : module.getOps<te::KernelOp>())
      if (absl::Status s = add(module, kernel); !s.ok())
        fail(kernel.getLoc(), std::string(s.message()));
  }

  absl::Status add(mlir::ModuleOp module, te::KernelOp kernel) {
    auto signature = describeKernel(module, kernel.getSymName().str());
    if (!signature.ok())
      return signature.status();
    std::vector<SizeFact> facts = findSizeFacts(module, kernel, pipeline_);
    absl::StatusOr<std::vector<std::vector<int64_t>>> sets =
        pickAwkwardSizes(module, kernel, *signature, facts, kSets, owner_.options_.seed);
    if (!owner_.options_.sizes.empty())
      sets = parseSizes(owner_.options_.sizes, kernel, *signature);
    if (!sets.ok())
      return sets.status();
    if (sets->empty())
      return absl::InvalidArgumentError(
          absl::StrCat("no small sizes of kernel '", signature->name, "' meet its requirements; name some: --verify-sizes=.."));
    std::vector<VerifyCall> calls;
    std::string text;
    for (const std::vector<int64_t> &sizes : *sets) {
      auto call = makeVerifyCall(*signature, sizes, owner_.options_.seed);
      if (!call.ok())
        return call.status();
      absl::StrAppend(&text, text.empty() ? "" : "; ", describeSizes(*signature, sizes));
      calls.push_back(*std::move(call));
    }
    // Barriers that a pass of the pipeline will add are added for the runs before it.
    bool add = llvm::StringRef(pipeline_).contains("cu-barriers") || module.getOps<cu::KernelOp>().empty();
    auto verifier = PassVerifier::create(kernel, *signature, std::move(calls), {.runCu = true, .addBarriers = add}, nullptr);
    if (!verifier.ok())
      return verifier.status();
    (*verifier)->check("source", module);
    One one{*std::move(verifier), nullptr, text, kernel.getLoc()};
    one.checks = one.verifier->instrumentation();
    report(one, nullptr);
    kernels_.push_back(std::move(one));
    return absl::OkStatus();
  }

  /// What is news of the last check; `op` is what the pass ran on, null before all passes.
  void report(One &one, mlir::Operation *op) {
    PassVerifier &v = *one.verifier;
    if (!v.isDone())
      return;
    if (!v.status().ok())
      return fail(one.loc, std::string(v.status().message()));
    owner_.failed_ = true;
    mlir::InFlightDiagnostic error = mlir::emitError(one.loc);
    if (op)
      error << "pass '" << v.verdicts().back().pass << "' changed what kernel '" << v.signature().name << "' computes at ";
    else
      error << "before any pass the module computes something else than its kernel '" << v.signature().name << "' says, at ";
    error << describeSizes(v.signature(), v.failure().sizes);
    error.attachNote() << v.verdicts().back().text;
    if (!op)
      return;
    std::string file = publishReproducer(owner_.options_.reproducer, buildVerifyReproducer(v.failure(), v.signature(), /*runCu=*/true));
    error.attachNote() << (file.empty() ? "the reproducer could not be written" : "its first line replays it: " + file);
  }

  void fail(mlir::Location loc, const std::string &message) {
    owner_.failed_ = true;
    mlir::emitError(loc) << "--verify-semantics: " << message;
  }

  OptVerify &owner_;
  std::string pipeline_;
  bool begun_ = false;
  std::vector<One> kernels_;
};

void OptVerify::attach(mlir::PassManager &pm) {
  std::string pipeline;
  llvm::raw_string_ostream out(pipeline);
  pm.printAsTextualPipeline(out);
  pm.getContext()->disableMultithreading(); // the checks read the whole module
  pm.addInstrumentation(std::make_unique<VerifySemantics>(*this, pipeline));
}

} // namespace kernelc::tools
