// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/VerifyTrial.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "driver/compile/SizeExprOf.h"
#include "ir/te/TeShape.h"
#include "reference/Check.h"
#include "reference/RingKernel.h"
#include "reference/tile/TileInterpreter.h"

namespace kernelc {
namespace {

/// Whole numbers in [-2, 2] ([0, 2] where there is no sign).
void fillSmall(HostTensor &t, std::mt19937 &random) {
  TensorView v = t.view();
  for (int64_t i = 0; i < t.numElements(); ++i) {
    float x = float(int(random() % 5) - 2);
    switch (v.type) {
    case ElementType::f64: t.as<double>()[i] = x; break;
    case ElementType::f32: t.as<float>()[i] = x; break;
    case ElementType::f16: t.as<uint16_t>()[i] = toF16(x); break;
    case ElementType::bf16: t.as<uint16_t>()[i] = toBF16(x); break;
    case ElementType::f8e4m3: t.as<uint8_t>()[i] = toF8E4M3(x); break;
    case ElementType::f8e5m2: t.as<uint8_t>()[i] = toF8E5M2(x); break;
    default: break; // integers stay as they were given: they may be subscripts
    }
  }
}

} // namespace

absl::StatusOr<std::unique_ptr<VerifyTrial>> VerifyTrial::create(const Kernel &signature, std::shared_ptr<CpuKernel> oracle,
                                                                 te::KernelOp source, absl::Span<const HostTensor> tensors,
                                                                 const std::vector<int64_t> &sizes, Inputs inputs, ThreadPool *pool) {
  std::unique_ptr<VerifyTrial> trial(new VerifyTrial());
  trial->signature_ = &signature;
  trial->inputs_ = inputs;
  trial->oracle_ = std::move(oracle);
  trial->sizes_ = sizes;
  trial->pool_ = pool;
  std::mt19937 random(1);
  for (size_t i = 0; i < tensors.size(); ++i) {
    bool output = signature.params[i].kind == ParamKind::Output;
    bool ring = inputs == Ring && isFloat(tensors[i].type());
    HostTensor t = ring ? HostTensor(ElementType::i32, tensors[i].shape()) : tensors[i].copy();
    if (!t.data())
      return absl::ResourceExhaustedError("no memory for the arguments");
    if (inputs == SmallIntegers && !output)
      fillSmall(t, random);
    for (int64_t e = 0; ring && !output && e < t.numElements(); ++e)
      t.as<uint32_t>()[e] = uint32_t(random());
    trial->tensors_.push_back(std::move(t));
  }
  if (inputs != Ring)
    return trial;
  // What integers make of the kernel as it was written.
  for (int p : trial->oracle_->outputParams) {
    HostTensor result(trial->tensors_[size_t(p)].type(), trial->tensors_[size_t(p)].shape());
    if (!result.data())
      return absl::ResourceExhaustedError("no memory for the results");
    trial->expected_.push_back(std::move(result));
  }
  auto kernel = reference::compileRingKernel(source);
  if (!kernel.ok())
    return kernel.status();
  std::vector<TensorView> args, outs;
  for (size_t i = 0; i < trial->tensors_.size(); ++i)
    if (signature.params[i].kind != ParamKind::Output)
      args.push_back(trial->tensors_[i].view());
  for (HostTensor &t : trial->expected_)
    outs.push_back(t.view());
  if (absl::Status s = (*kernel)->run(sizes, args, outs, pool); !s.ok())
    return s;
  return trial;
}

absl::StatusOr<std::vector<HostTensor>> VerifyTrial::copies() const {
  std::vector<HostTensor> all;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    all.push_back(tensors_[i].copy());
    if (!all.back().data())
      return absl::ResourceExhaustedError("no memory for the arguments");
    if (signature_->params[i].kind == ParamKind::Output) // what nobody writes shows
      __builtin_memset(all.back().data(), 0xff, all.back().bytes());
  }
  return all;
}

absl::StatusOr<VerifyTrial::Verdict> VerifyTrial::judge(absl::Span<const HostTensor> results) const {
  if (inputs_ == Ring) {
    Verdict v{true, ""};
    for (size_t o = 0; o < expected_.size(); ++o) {
      const HostTensor &got = results[size_t(oracle_->outputParams[o])], &want = expected_[o];
      if (!__builtin_memcmp(got.data(), want.data(), want.bytes()))
        continue;
      size_t width = want.bytes() / size_t(std::max<int64_t>(1, want.numElements())), at = 0;
      while (!__builtin_memcmp(got.as<char>() + at * width, want.as<char>() + at * width, width))
        ++at;
      v.passed = false;
      absl::StrAppend(&v.text, signature_->params[size_t(oracle_->outputParams[o])].name, ": differs modulo 2^32, first at flat index ", at,
                      "\n");
    }
    return v;
  }
  std::vector<TensorView> args, outs;
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (signature_->params[i].kind != ParamKind::Output)
      args.push_back(tensors_[i].view());
  for (int p : oracle_->outputParams)
    outs.push_back(results[size_t(p)].view());
  auto report = reference::checkOutputs(*oracle_->code, sizes_, args, outs, pool_);
  if (!report.ok())
    return report.status();
  return Verdict{!report->failed(), report->toString()}; // what has no bound shows no change
}

/// A tensor as `kernel` has it now: of two elements to a byte its bytes, once te-emulate-narrow-types has run; with one dim for several
/// behind te-collapse-dims.
static TensorView viewFor(TensorView view, mlir::Attribute type, mlir::Attribute shape, const std::vector<int64_t> &sizes) {
  ElementType now = te::getElementType(mlir::cast<mlir::StringAttr>(type));
  std::vector<int64_t> extents;
  for (mlir::AffineExpr e : mlir::cast<mlir::AffineMapAttr>(shape).getValue().getResults())
    extents.push_back(sizeExprOf(e).evaluate({sizes, 1, {}}));
  bool isPacked = elementBits(view.type) < 8 && elementBits(now) >= 8;
  if (!isPacked && extents.size() == view.shape.size()) // (dims that became one are dense)
    return view;
  return {view.data, isPacked ? now : view.type, extents, denseStrides(extents)};
}

absl::StatusOr<std::unique_ptr<reference::ReferenceKernel>> VerifyTrial::compileTe(te::KernelOp kernel, Inputs inputs) {
  return inputs == Ring ? reference::compileRingKernel(kernel) : reference::ReferenceKernel::compile(kernel, reference::Arithmetic::Own);
}

absl::StatusOr<VerifyTrial::Verdict> VerifyTrial::runTe(te::KernelOp kernel, const reference::ReferenceKernel &code) const {
  auto results = copies();
  if (!results.ok())
    return results.status();
  std::vector<TensorView> args, outs;
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (signature_->params[i].kind != ParamKind::Output)
      args.push_back(viewFor(tensors_[i].view(), kernel.getArgTypes()[i], kernel.getArgShapes()[i], sizes_));
  for (auto [o, p] : llvm::enumerate(oracle_->outputParams))
    outs.push_back(viewFor((*results)[size_t(p)].view(), kernel.getOutTypes()[o], kernel.getOutShapes()[o], sizes_));
  if (absl::Status s = code.run(sizes_, args, outs, pool_); !s.ok())
    return s;
  return judge(*results);
}

absl::StatusOr<VerifyTrial::Verdict> VerifyTrial::runTile(mlir::ModuleOp module) const {
  auto results = copies();
  if (!results.ok())
    return results.status();
  std::vector<TensorView> params;
  for (const HostTensor &t : *results)
    params.push_back(t.view());
  absl::Status s = reference::runTileFunctions(module, signature_->name, sizes_, params,
                                               inputs_ == Ring ? reference::TileArithmetic::Ring : reference::TileArithmetic::Own);
  // An access outside or a ring out of turn is a meaning that has been changed.
  if (absl::IsOutOfRange(s) || absl::IsFailedPrecondition(s))
    return Verdict{false, absl::StrCat(s.message(), "\n")};
  if (!s.ok())
    return s;
  return judge(*results);
}

absl::StatusOr<VerifyTrial::Verdict> VerifyTrial::runText(const emulator::KernelRunner &runner) const {
  auto results = copies();
  if (!results.ok())
    return results.status();
  emulator::RunArguments args;
  for (const HostTensor &t : *results)
    args.params.push_back(t.view());
  args.sizes = sizes_;
  auto report = runner.run(args);
  if (!report.ok())
    return report.status();
  if (!report->ok())
    return Verdict{false, report->toString()};
  return judge(*results);
}

} // namespace kernelc
