// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/VerifyReproducer.h"

#include "absl/strings/str_cat.h"
#include "driver/verify/AwkwardSizes.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace kernelc {
namespace {

/// What one file of the reproducer's form would hold.
struct Candidate {
  OwningOpRef<ModuleOp> module;
  std::vector<int64_t> sizes;
};

class Reducer {
public:
  /// Tries at most `runs` candidates.
  Reducer(const std::string &kernel, const std::string &pass, bool runCu, uint64_t seed, int runs)
      : kernel_(kernel), pass_(pass), runCu_(runCu), seed_(seed), runs_(runs) {}

  /// Whether the pass changes the meaning of the candidate, which was right before.
  bool shows(Candidate &c) {
    if (runs_-- <= 0)
      return false;
    ScopedDiagnosticHandler quiet(c.module->getContext(), [](Diagnostic &) { return success(); });
    PassManager pm(c.module->getContext());
    if (failed(parsePassPipeline(pass_, pm, llvm::nulls())) || failed(mlir::verify(*c.module)))
      return false;
    OwningOpRef<ModuleOp> copy = c.module->clone();
    te::KernelOp source = findKernel(*copy);
    auto signature = describeKernel(*copy, kernel_);
    if (!signature.ok() || c.sizes.size() != signature->sizes.size() ||
        !areLegalSizes(*signature, findSizeFacts(*copy, source, pass_), c.sizes))
      return false;
    auto call = makeVerifyCall(*signature, c.sizes, seed_);
    if (!call.ok())
      return false;
    std::vector<VerifyCall> calls;
    calls.push_back(*std::move(call));
    auto verifier = PassVerifier::create(source, *signature, std::move(calls), {runCu_, addsBarriers()}, nullptr);
    if (!verifier.ok())
      return false;
    (*verifier)->check("source", *copy);
    if ((*verifier)->isDone())
      return false;
    pm.addInstrumentation((*verifier)->instrumentation());
    return succeeded(pm.run(*copy)) && (*verifier)->hasFailed();
  }

  void reduceSizes(Candidate &c) {
    te::KernelOp source = findKernel(*c.module);
    auto signature = describeKernel(*c.module, kernel_);
    if (!signature.ok())
      return;
    std::vector<SizeFact> facts = findSizeFacts(*c.module, source, pass_);
    for (size_t i = 0; i < c.sizes.size(); ++i)
      for (int64_t least : {1, 2, 3, 5, 8, 16, 17, 32, 33, 64, 65, 128}) {
        int64_t n = (least + facts[i].divisor - 1) / facts[i].divisor * facts[i].divisor;
        if (n >= c.sizes[i])
          break;
        Candidate smaller{c.module->clone(), c.sizes};
        smaller.sizes[i] = n;
        setDenseStrides(source, *signature, smaller.sizes);
        if (!shows(smaller))
          continue;
        c.sizes = smaller.sizes;
        break;
      }
  }

  /// The outputs, statements and ops of bodies that the failure does not need. te alone: what
  /// is lowered must go on doing what its te says.
  void reduceOps(Candidate &c) {
    for (bool again = true; again && runs_ > 0;) {
      again = false;
      for (unsigned edit = 0; runs_ > 0; ++edit) {
        Candidate less{c.module->clone(), c.sizes};
        std::optional<bool> edited = apply(findKernel(*less.module), edit);
        if (!edited)
          break;
        if (!*edited || !shows(less))
          continue;
        c.module = std::move(less.module);
        again = true;
        --edit; // what follows has moved up
      }
    }
  }

  bool addsBarriers() const { return llvm::StringRef(pass_).contains("cu-barriers"); }
  te::KernelOp findKernel(ModuleOp module) const {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == kernel_)
        return op;
    return {};
  }

private:
  /// Makes the kernel less by its nth edit: an output goes, or an op's place is taken by one
  /// of its operands. False if that is none; nothing beyond the last.
  static std::optional<bool> apply(te::KernelOp kernel, unsigned edit) {
    unsigned outputs = kernel.getOutNames().size();
    if (edit < outputs)
      return outputs > 1 && dropOutput(kernel, edit);
    edit -= outputs;
    Operation *op = nullptr;
    unsigned at = 0;
    kernel.walk([&](Operation *o) {
      if (o->getNumResults() != 1 || o == kernel)
        return;
      for (unsigned k = 0; k < o->getNumOperands(); ++k)
        if (!op && edit-- == 0)
          op = o, at = k;
    });
    if (!op)
      return std::nullopt;
    if (op->getOperand(at).getType() != op->getResult(0).getType() || op->getOperand(at) == op->getResult(0))
      return false;
    op->getResult(0).replaceAllUsesWith(op->getOperand(at));
    eraseUnused(kernel);
    return true;
  }

  static bool dropOutput(te::KernelOp kernel, unsigned o) {
    auto without = [&](ArrayAttr a) {
      SmallVector<Attribute> rest(a.getValue());
      rest.erase(rest.begin() + o);
      return ArrayAttr::get(kernel.getContext(), rest);
    };
    kernel.setOutNamesAttr(without(kernel.getOutNames()));
    kernel.setOutTypesAttr(without(kernel.getOutTypes()));
    kernel.setOutShapesAttr(without(kernel.getOutShapes()));
    SmallVector<int64_t> alias(kernel.getOutAlias());
    if (!alias.empty()) {
      alias.erase(alias.begin() + o);
      kernel.setOutAlias(alias);
    }
    kernel.getReturn().getOutsMutable().erase(o);
    eraseUnused(kernel);
    return true;
  }

  static void eraseUnused(te::KernelOp kernel) {
    for (bool again = true; again;) {
      again = false;
      kernel.walk<WalkOrder::PostOrder, mlir::ReverseIterator>([&](Operation *op) {
        if (op != kernel && isOpTriviallyDead(op)) {
          op->erase();
          again = true;
        }
      });
    }
  }

  std::string kernel_, pass_;
  bool runCu_;
  uint64_t seed_;
  int runs_;
};

/// Erases other kernels from `module`; whether what is left is te alone.
bool keepOnly(ModuleOp module, const std::string &kernel) {
  bool te = true;
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    auto source = dyn_cast<te::KernelOp>(op);
    if ((source && source.getSymName() != kernel) || !isLaunchOf(&op, kernel))
      op.erase();
    else
      te &= bool(source);
  }
  return te;
}

} // namespace

std::string buildVerifyReproducer(PassFailure &failure, const Kernel &signature, bool runCu) {
  Candidate best{failure.before->clone(), failure.sizes};
  std::string pipeline = failure.pass, comment = "// Not seen with random inputs; this is the module as it was.\n";
  uint64_t seed = 1;
  bool cu = !failure.before->getOps<cu::KernelOp>().empty(); // clang compiles each candidate
  auto reduced = [&](mlir::ModuleOp before, const std::string &passes) {
    for (uint64_t s : {1, 2, 3}) {
      Candidate c{before.clone(), failure.sizes};
      bool te = keepOnly(*c.module, signature.name);
      Reducer reducer(signature.name, passes, runCu, s, cu ? 20 : 200);
      if (!reducer.shows(c))
        continue;
      reducer.reduceSizes(c);
      if (te)
        reducer.reduceOps(c);
      best = std::move(c);
      pipeline = passes;
      comment = "";
      seed = s;
      return true;
    }
    return false;
  };
  if (!reduced(*failure.before, failure.pass) && failure.beforeGroup)
    reduced(*failure.beforeGroup, failure.group);
  std::string sizes;
  for (size_t i = 0; i < best.sizes.size(); ++i)
    absl::StrAppend(&sizes, i ? "," : " --verify-sizes=", signature.sizes[i].name, "=", best.sizes[i]);
  std::string text = absl::StrCat("// RUN: kernelc-opt %s --verify-semantics", sizes, " --verify-seed=", seed,
                                  " --pass-pipeline='builtin.module(", pipeline, ")'\n", comment);
  llvm::raw_string_ostream out(text);
  best.module->print(out);
  return text;
}

} // namespace kernelc
