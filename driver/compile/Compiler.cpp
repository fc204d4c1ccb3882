// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/Compiler.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "codegen/EmitCuda.h"
#include "driver/compile/EqualLaunches.h"
#include "driver/compile/Guard.h"
#include "driver/compile/PrintVariant.h"
#include "driver/compile/SizeExprOf.h"
#include "driver/compile/SourceLocOf.h"
#include "driver/compile/TextHeader.h"
#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/Passes.h"
#include "passes/index/Affine.h"
#include "passes/index/Requirements.h"
#include "passes/index/Strides.h"
#include "passes/plan/PlanAttr.h"
#include "support/Saturating.h"
#include "support/TargetNames.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {

te::KernelOp findKernel(ModuleOp module, const std::string &name) {
  for (auto kernel : module.getOps<te::KernelOp>())
    if (name.empty() || kernel.getSymName() == name)
      return kernel;
  return {};
}

OwningOpRef<ModuleOp> isolate(ModuleOp module, const std::string &name) {
  OwningOpRef<ModuleOp> one = ModuleOp::create(module.getLoc());
  if (te::KernelOp kernel = findKernel(module, name))
    one->push_back(kernel->clone());
  return one;
}

namespace {

std::string str(Attribute a) { return cast<StringAttr>(a).getValue().str(); }

ElementType typeOfParam(te::KernelOp kernel, int param) {
  int next = int(kernel.getArgTypes().size());
  if (param < next)
    return te::getElementType(cast<StringAttr>(kernel.getArgTypes()[param]));
  for (unsigned o = 0;; ++o)
    if (kernel.getAlias(o) < 0 && next++ == param)
      return te::getElementType(cast<StringAttr>(kernel.getOutTypes()[o]));
}

/// `strides`: the kernel's last sizes (see addStrides).
TePlanOptions planOptions(te::KernelOp kernel, const VariantOptions &options, ArrayRef<te::StrideSize> strides) {
  TePlanOptions p;
  p.target = options.target;
  unsigned own = kernel.getNumSizes() - strides.size();
  for (unsigned i = 0; i < kernel.getNumSizes(); ++i) {
    if (i >= own) {
      te::StrideSize s = strides[i - own];
      const ParamGuard &g = options.params[s.param];
      int rows = int(g.pitch) * 8 / elementBits(typeOfParam(kernel, s.param));
      p.sizeDiv.push_back(g.layout == LayoutClass::InnerUnit ? std::max(1, rows) : 1);
      p.sizeMax.push_back(-1);
      p.sizeLike.push_back(-1);
      continue;
    }
    auto it = options.facts.find(kernel.getSizeName(i).str());
    p.sizeDiv.push_back(it == options.facts.end() ? 1 : it->second.divisor);
    p.sizeMax.push_back(it == options.facts.end() ? -1 : it->second.max);
    p.sizeLike.push_back(it == options.facts.end() ? -1 : it->second.like);
  }
  auto div = llvm::to_vector_of<int64_t>(p.sizeDiv), max = llvm::to_vector_of<int64_t>(p.sizeMax);
  p.sizeDiv = te::requiredDivisors(kernel, {div, max});
  return p;
}

/// `e` with the kernel's last sizes as the strides that they are.
SizeExpr withStrides(const SizeExpr &e, te::KernelOp kernel, ArrayRef<te::StrideSize> strides) {
  std::vector<SizeTerm> terms = e.terms();
  int64_t own = int64_t(kernel.getNumSizes()) - int64_t(strides.size());
  for (SizeTerm &t : terms)
    if (t.op == SizeTerm::Size && t.value >= own)
      t = SizeExpr::stride(strides[t.value - own].param, strides[t.value - own].dim).terms()[0];
  return SizeExpr(std::move(terms));
}

/// The tensor map of a `tensor_map` argument source (see passes/lowerings/ChannelToCu.cpp).
TensorMapArg tensorMapOf(DictionaryAttr dict, const std::map<int64_t, SizeExpr> &workspaceOffset) {
  TensorMapArg m;
  int64_t source = dict.getAs<IntegerAttr>("tensor_map").getInt();
  m.base = source < 0 ? PointerArg{-1, workspaceOffset.at(source)} : PointerArg{int(source), SizeExpr(0)};
  Type element = dict.getAs<TypeAttr>("element").getValue();
  m.roundsToTf32 = isa<FloatTF32Type>(element);
  // Only the width matters to a copy that does not round.
  switch (m.roundsToTf32 ? 32 : element.getIntOrFloatBitWidth()) {
  case 64: m.type = ElementType::i64; break;
  case 32: m.type = m.roundsToTf32 ? ElementType::f32 : ElementType::i32; break;
  case 16: m.type = ElementType::u16; break;
  default: m.type = ElementType::u8; break;
  }
  auto list = [&](StringRef name, std::vector<SizeExpr> &to) {
    for (AffineExpr e : dict.getAs<AffineMapAttr>(name).getValue().getResults())
      to.push_back(sizeExprOf(e));
  };
  list("window", m.dims);
  list("strides", m.strides);
  auto box = dict.getAs<AffineMapAttr>("box").getValue().getResults();
  for (auto [size, step] : llvm::zip(box, dict.getAs<DenseI64ArrayAttr>("steps").asArrayRef())) {
    m.box.push_back(sizeExprOf((size - 1) * step + 1)); // a box counts what lies between steps, too
    m.elementStrides.push_back(uint32_t(step));
  }
  m.swizzleBytes = int(dict.getAs<IntegerAttr>("swizzle").getInt());
  return m;
}

/// Workspaces of the cu.kernels by their source numbers. Fails with a diagnostic where memory has no room for one.
FailureOr<std::map<int64_t, Workspace>> collectWorkspaces(ArrayRef<cu::KernelOp> kernels, te::KernelOp kernel) {
  std::map<int64_t, Workspace> workspaces;
  for (cu::KernelOp k : kernels)
    for (auto [i, a] : llvm::enumerate(k.getArgSources())) {
      auto dict = cast<DictionaryAttr>(a);
      auto map = dict.getAs<IntegerAttr>("tensor_map");
      auto source = map ? map : dict.getAs<IntegerAttr>("source");
      if (!source || source.getInt() >= 0)
        continue;
      Type element =
          map ? dict.getAs<TypeAttr>("element").getValue() : cast<MemRefType>(k.getBlock().getArgument(i).getType()).getElementType();
      SizeExpr bytes(isa<FloatTF32Type>(element) ? 4 : std::max(1u, element.getIntOrFloatBitWidth() / 8));
      for (AffineExpr e : dict.getAs<AffineMapAttr>("shape").getValue().getResults())
        bytes = bytes * sizeExprOf(e);
      auto [it, isNew] = workspaces.try_emplace(source.getInt());
      Workspace &workspace = it->second;
      if (isNew) // (a launch that reads it may see less of it than the one before that writes it)
        workspace.bytes = bytes;
      if (failed(checkBytesExist(bytes, kernel.getNumSizes(), "what this launch keeps for later ones", k.getLoc())))
        return failure();
      if (!map)
        workspace.name = cu::findName(k.getBlock().getArgument(i).getLoc()).str();
    }
  return workspaces;
}

/// How many blocks a launch has; the kernel's grid counts clusters of tiles.
SizeExpr gridOf(cu::KernelOp k) {
  SizeExpr grid = sizeExprOf(k.getGrid().getResult(0));
  int64_t cluster = k.getCluster();
  if (k.getPersistent()) {
    SizeExpr atOnce = SizeExpr::binary(SizeTerm::FloorDiv, SizeExpr::smCount() * SizeExpr(int64_t(k.getMinBlocks())), cluster);
    if (cluster > 1) // of more blocks than multiprocessors too
      atOnce = SizeExpr::binary(SizeTerm::Max, atOnce, SizeExpr(1));
    grid = SizeExpr::binary(SizeTerm::Min, grid, atOnce);
    if (k.getRecords()) // each has a block (cu-join)
      grid = SizeExpr::binary(SizeTerm::Max, grid, SizeExpr(k.getRecords()));
  }
  return cluster > 1 ? grid * SizeExpr(cluster) : grid;
}

/// What a launch passes for argument `i` of its kernel. `offsets`: of workspaces.
LaunchArg argumentOf(cu::KernelOp k, unsigned i, te::KernelOp kernel, ArrayRef<te::StrideSize> strides,
                     const std::map<int64_t, SizeExpr> &offsets) {
  auto dict = cast<DictionaryAttr>(k.getArgSources()[i]);
  if (auto size = dict.getAs<IntegerAttr>("size"))
    return SizeArg{withStrides(SizeExpr::size(size.getInt()), kernel, strides), int(k.getIndexBits())};
  if (dict.contains("tensor_map")) {
    TensorMapArg map = tensorMapOf(dict, offsets);
    for (SizeExpr &s : map.strides)
      s = withStrides(s, kernel, strides);
    return map;
  }
  int64_t source = dict.getAs<IntegerAttr>("source").getInt();
  if (source < 0)
    return PointerArg{-1, offsets.at(source)};
  if (isa<MemRefType>(k.getBlock().getArgument(i).getType()))
    return PointerArg{int(source), SizeExpr(0)};
  return ScalarArg{int(source)};
}

/// Launches and workspaces of the cu.kernels in `module`. Fails with a diagnostic where memory has no room for a workspace, or a
/// launch has more blocks than a GPU takes, whatever the sizes.
LogicalResult describeLaunches(ModuleOp module, te::KernelOp kernel, ArrayRef<te::StrideSize> strides, Variant &variant) {
  auto kernels = llvm::to_vector(module.getOps<cu::KernelOp>());
  FailureOr<std::map<int64_t, Workspace>> workspaces = collectWorkspaces(kernels, kernel);
  if (failed(workspaces))
    return failure();
  std::map<int64_t, SizeExpr> workspaceOffset;
  variant.workspaceBytes = SizeExpr(0);
  for (auto &[source, workspace] : *workspaces) {
    if (workspace.name.empty()) // only tensor copies meet it
      workspace.name = absl::StrCat("workspace ", -source);
    workspaceOffset[source] = workspace.byteOffset = variant.workspaceBytes;
    variant.workspaceBytes = variant.workspaceBytes + ceilDiv(workspace.bytes, 256) * SizeExpr(256);
    variant.workspaces.push_back(workspace);
  }
  for (cu::KernelOp k : kernels) {
    Launch launch;
    launch.entry = k.getSymName().str();
    launch.grid = gridOf(k);
    if (failed(checkBlocks(launch.grid, kernel.getNumSizes(), launch.entry, k.getLoc())))
      return failure();
    launch.block = k.getThreads();
    launch.cluster = k.getCluster();
    launch.dependent = k.walk([](cu::LaunchWaitOp) { return WalkResult::interrupt(); }).wasInterrupted();
    launch.sharedBytes = int64_t(k.getSharedBytes());
    launch.schedule = k.getSchedule().str();
    for (unsigned i = 0; i < k.getArgSources().size(); ++i)
      launch.args.push_back(argumentOf(k, i, kernel, strides, workspaceOffset));
    variant.launches.push_back(std::move(launch));
  }
  return success();
}

/// What the passes settle about a variant beside its kernels.
struct Settled {
  SmallVector<te::StrideSize> strides; ///< the kernel's last sizes
  std::optional<Guard> guard;          ///< by the plan, whose statements lowering may merge; none: any call is taken
};

absl::StatusOr<Variant> printVariant(ModuleOp cu, const VariantOptions &options, const Kernel &kernel, const Settled &settled) {
  te::KernelOp planned = findKernel(cu, kernel.name);
  Variant variant;
  variant.name = options.name;
  variant.target = options.target;
  if (settled.guard) {
    variant.guard = settled.guard->condition;
    variant.guardText = settled.guard->text;
  }
  variant.params = options.params;
  if (variant.params.empty())
    variant.params.resize(kernel.params.size(), ParamGuard{LayoutClass::Dense, 16});
  if (failed(describeLaunches(cu, planned, settled.strides, variant)))
    return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "' cannot be launched; see the diagnostics"));
  codegen::EmitOptions emit;
  emit.target = findTarget(options.target);
  emit.header = absl::StrCat(
      "kernel ", kernel.name, kernel.loc.file.empty() ? "" : " of ", kernel.loc.file.substr(kernel.loc.file.rfind('/') + 1),
      kernel.loc.line ? absl::StrCat(":", kernel.loc.line) : "", ", for ", options.target, "\n", describeVariant(kernel, variant));
  if (StringRef precision = te::getAppliedPrecision(planned); !precision.empty())
    absl::StrAppend(&emit.header, "\nprecision ", precision.str());
  auto text = codegen::emitCuda(*shareEntries(cu, variant), emit);
  if (failed(text))
    return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "' could not be printed; see the diagnostics"));
  variant.cudaText = *text;
  return variant;
}

/// runPipeline, which also settles how many bits indices have.
OwningOpRef<ModuleOp> runPasses(ModuleOp module, VariantOptions &options, Stage stage, Settled &settled) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (stage == Stage::Te)
    return copy;
  te::KernelOp kernel = findKernel(*copy, "");
  if (!kernel) {
    module.emitError() << "there is no kernel to compile";
    return {};
  }
  absl::StatusOr<Kernel> signature = describeKernel(*copy); // as callers see it
  if (!signature.ok()) {
    kernel.emitError() << signature.status().message();
    return {};
  }
  settled.strides.assign(te::addStrides(kernel, options.params));
  // The pipelines verify what they hand on; after each pass that would be a quarter of the time.
  PassManager te(module.getContext());
  te.enableVerifier(false);
  buildTePipeline(te, planOptions(kernel, options, settled.strides));
  if (failed(te.run(*copy)))
    return {};
  FailureOr<Guard> guard = settleGuard(kernel, *signature, kernel.getNumSizes() - settled.strides.size(), options);
  if (failed(guard))
    return {};
  settled.guard = *std::move(guard);
  if (stage == Stage::Plan)
    return copy;
  PassManager cuda(module.getContext());
  cuda.enableVerifier(false);
  buildCudaPipeline(cuda,
                    stage == Stage::Tile      ? CudaStop::Tile
                    : stage == Stage::Layouts ? CudaStop::Layouts
                                              : CudaStop::Cu,
                    options.index32);
  if (failed(cuda.run(*copy)))
    return {};
  return copy;
}

} // namespace

OwningOpRef<ModuleOp> runPipeline(ModuleOp module, const VariantOptions &options, Stage stage) {
  Settled settled;
  VariantOptions own = options;
  return runPasses(module, own, stage, settled);
}

static LogicalResult runOnKernels(ModuleOp module, std::unique_ptr<Pass> pass) {
  PassManager pm(module.getContext());
  pm.addNestedPass<te::KernelOp>(std::move(pass));
  return pm.run(module);
}

LogicalResult excludeMaskedTerms(ModuleOp module) { return runOnKernels(module, createTeExcludeMasked()); }

LogicalResult admitExcludedTerms(ModuleOp module) { return runOnKernels(module, createTeAdmitExcluded()); }

LogicalResult applyPrecision(ModuleOp module, const PrecisionPolicy &caller) {
  bool any = false;
  for (auto kernel : module.getOps<te::KernelOp>()) {
    if (!caller.empty())
      te::setPrecision(kernel, caller);
    FailureOr<PrecisionPolicy> policy = te::getPrecision(kernel);
    if (failed(policy))
      return failure();
    any |= !policy->empty();
  }
  if (!any)
    return success();
  PassManager pm(module.getContext());
  buildPrecisionPipeline(pm);
  return pm.run(module);
}

absl::StatusOr<Kernel> describeKernel(ModuleOp module, const std::string &name) {
  te::KernelOp op = findKernel(module, name);
  if (!op)
    return absl::NotFoundError(name.empty() ? "the file defines no kernel" : absl::StrCat("there is no kernel '", name, "'"));
  Kernel k;
  k.name = op.getSymName().str();
  k.loc = sourceLocOf(op.getLoc());
  auto dimsOf = [](AffineMap shape) {
    std::vector<SizeExpr> dims;
    for (AffineExpr e : shape.getResults())
      dims.push_back(sizeExprOf(e));
    return dims;
  };
  for (unsigned i = 0; i < op.getNumSizes(); ++i)
    k.sizes.push_back({op.getSizeName(i).str()});
  k.quotients = findQuotients(op);
  for (BlockArgument arg : op.getBlock().getArguments()) {
    unsigned i = arg.getArgNumber();
    Param p;
    p.name = str(op.getArgNames()[i]);
    p.type = te::getElementType(cast<StringAttr>(op.getArgTypes()[i]));
    p.kind = isa<RankedTensorType>(arg.getType()) ? ParamKind::Input : ParamKind::Scalar;
    p.dims = dimsOf(op.getArgShape(i));
    p.loc = sourceLocOf(arg.getLoc());
    k.params.push_back(std::move(p));
  }
  for (unsigned o = 0; o < op.getOutNames().size(); ++o) {
    if (int64_t alias = op.getAlias(o); alias >= 0) {
      k.params[alias].kind = ParamKind::InOut;
      continue;
    }
    Param p;
    p.name = str(op.getOutNames()[o]);
    p.type = te::getElementType(cast<StringAttr>(op.getOutTypes()[o]));
    p.kind = ParamKind::Output;
    p.dims = dimsOf(op.getOutShape(o));
    p.loc = sourceLocOf(placeOfParam(op, p.name));
    k.params.push_back(std::move(p));
  }
  // A size is solved from the first input dim that is scale * size + offset.
  for (auto [i, a] : llvm::enumerate(op.getArgShapes()))
    for (auto [d, e] : llvm::enumerate(cast<AffineMapAttr>(a).getValue().getResults()))
      if (auto linear = solvableSize(e); linear && k.sizes[linear->size].param < 0) {
        SizeRecipe &r = k.sizes[linear->size];
        r.param = i;
        r.dim = d;
        r.scale = linear->scale;
        r.offset = linear->offset;
      }
  for (auto [i, a] : llvm::enumerate(op.getRequirements())) {
    Require r;
    IntegerSet set = cast<IntegerSetAttr>(a).getValue();
    r.condition = sizeExprOf(set);
    r.text = i < op.getRequirementTexts().size() ? str(op.getRequirementTexts()[i]) : r.condition.toString({});
    r.loc = k.loc;
    k.requires_.push_back(std::move(r));
  }
  return k;
}

absl::Status addVariant(ModuleOp module, const VariantOptions &options, Kernel &kernel) {
  const Target *target = findTarget(options.target);
  if (!target)
    return absl::InvalidArgumentError(absl::StrCat("unknown target '", options.target, "'", suggestTarget(options.target)));
  if (!options.params.empty() && options.params.size() != kernel.params.size())
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", kernel.name, "' has ", kernel.params.size(), " parameters, not ", options.params.size()));
  // Only the kernel in question travels down the pipeline.
  te::KernelOp source = findKernel(module, kernel.name);
  if (!source)
    return absl::NotFoundError(absl::StrCat("there is no kernel '", kernel.name, "'"));
  OwningOpRef<ModuleOp> one = isolate(module, kernel.name);
  Settled settled;
  VariantOptions own = options;
  OwningOpRef<ModuleOp> cu = runPasses(*one, own, Stage::Cu, settled);
  if (!cu)
    return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name, "' could not be compiled; see the diagnostics"));
  absl::StatusOr<Variant> variant = printVariant(*cu, own, kernel, settled);
  if (!variant.ok())
    return variant.status();
  kernel.variants.push_back(*std::move(variant));
  return absl::OkStatus();
}

absl::StatusOr<Variant> printVariant(ModuleOp module, const VariantOptions &options, const Kernel &kernel) {
  if (!findTarget(options.target) || !findKernel(module, kernel.name))
    return absl::InvalidArgumentError(absl::StrCat("no kernel '", kernel.name, "', or no target '", options.target, "'"));
  return printVariant(module, options, kernel, Settled());
}

std::vector<ParamGuard> generalParams(const Kernel &kernel) {
  std::vector<ParamGuard> params;
  for (const Param &p : kernel.params) {
    bool packed = elementBits(p.type) < 8 && p.kind != ParamKind::Input; // results leave by whole bytes: see checkPacked
    ParamGuard any{packed ? LayoutClass::Dense : LayoutClass::Any, uint32_t(std::max(1, elementBits(p.type) / 8))};
    params.push_back(p.kind == ParamKind::Scalar ? ParamGuard{LayoutClass::Dense, 16} : any);
  }
  return params;
}

} // namespace kernelc
