// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/HostCheck.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/compile/Compiler.h"
#include "driver/jit/HostRun.h"
#include "driver/jit/JitKernelImpl.h"

namespace kernelc {
namespace {

/// The kernel with all excluded terms admitted that matrix units may let through, in f64.
absl::StatusOr<std::shared_ptr<const reference::ReferenceKernel>> compileAdmitting(Program &program, const Kernel &signature) {
  std::shared_ptr<const reference::ReferenceKernel> code;
  absl::Status compiled = program.withModule([&](mlir::ModuleOp module) -> absl::Status {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    if (failed(admitExcludedTerms(*copy)))
      return absl::InternalError("te-admit-excluded failed");
    auto cpu = reference::ReferenceKernel::compile(copy->lookupSymbol<te::KernelOp>(signature.name), reference::Arithmetic::F64);
    if (cpu.ok())
      code = *std::move(cpu);
    return cpu.status();
  });
  if (!compiled.ok())
    return compiled;
  return code;
}

} // namespace

static absl::StatusOr<std::vector<int64_t>> sizesOf(const Kernel &signature, absl::Span<const HostTensor> tensors,
                                                    absl::Span<const NamedSize> named) {
  std::vector<MaybeShape> shapes(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (signature.params[i].kind != ParamKind::Scalar)
      shapes[i] = tensors[i].shape();
  return solveSizes(signature, shapes, named);
}

static absl::StatusOr<reference::CheckReport> compare(JitKernel &kernel, const Place &place, absl::Span<const TensorView> args,
                                                      absl::Span<const HostTensor> tensors, absl::Span<const int64_t> sizes) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<std::shared_ptr<CpuKernel>> oracle =
      compileForCpu(kernel.program(), signature, reference::Arithmetic::F64WithError,
                    place.kind == Place::Cuda ? reference::Sums::OnMatrixUnits : reference::Sums::InF32);
  if (!oracle.ok())
    return oracle.status();
  std::vector<TensorView> outs;
  for (int p : (*oracle)->outputParams)
    outs.push_back(tensors[p].view());
  reference::CheckOptions options;
  if (place.kind != Place::Cpu)
    options.admitting = [&] { return compileAdmitting(kernel.program(), signature); };
  absl::StatusOr<reference::CheckReport> checked =
      reference::checkOutputs(*(*oracle)->code, sizes, args, outs, kernel.threadPool(), options);
  if (!checked.ok())
    return checked.status();
  if (int record = kernel.recordParam(); record >= 0) { // the run has said what it holds
    auto at = std::find((*oracle)->outputParams.begin(), (*oracle)->outputParams.end(), record) - (*oracle)->outputParams.begin();
    checked->outputs.erase(checked->outputs.begin() + at);
  }
  return checked;
}

absl::StatusOr<reference::CheckReport> checkResults(JitKernel &kernel, const Place &place, absl::Span<const TensorView> args,
                                                    absl::Span<const HostTensor> tensors, absl::Span<const NamedSize> named) {
  absl::StatusOr<std::vector<int64_t>> sizes = sizesOf(kernel.signature(), tensors, named);
  return sizes.ok() ? compare(kernel, place, args, tensors, *sizes) : sizes.status();
}

absl::StatusOr<CheckResult> checkOnHost(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors,
                                        absl::Span<const NamedSize> named) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<std::vector<int64_t>> sizes = sizesOf(signature, tensors, named);
  if (!sizes.ok())
    return sizes.status();
  clearRecord(kernel, tensors);
  // The oracle wants the inputs as they were before the device updated any.
  std::vector<HostTensor> before(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (signature.params[i].kind == ParamKind::InOut) {
      before[i] = tensors[i].copy();
      if (!before[i].data())
        return absl::ResourceExhaustedError("no memory for a copy of the arguments");
    }
  CallReport report;
  absl::Status ran = runOnHost(kernel, place, tensors, named, &report);
  if (!ran.ok() && report.findings.empty())
    return ran;
  std::vector<TensorView> args;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (signature.params[i].kind != ParamKind::Output)
      args.push_back((before[i].data() ? before[i] : tensors[i]).view());
  absl::StatusOr<reference::CheckReport> checked = compare(kernel, place, args, tensors, *sizes);
  if (!checked.ok())
    return checked.status();
  CheckResult result;
  result.failed = checked->failed() || !report.findings.empty();
  result.unbounded = checked->numUnbounded();
  result.text = checked->toString();
  result.outputs = std::move(checked->outputs);
  if (!result.text.empty() && result.text.back() != '\n')
    result.text += '\n';
  for (const std::string &f : report.findings)
    absl::StrAppend(&result.text, f, f.empty() || f.back() != '\n' ? "\n" : "");
  if (!report.counts.empty())
    absl::StrAppend(&result.text, "counts: ", report.counts, "\n");
  return result;
}

} // namespace kernelc
