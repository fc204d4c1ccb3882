// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/Compile.h"

#include "absl/strings/str_cat.h"
#include "ir/te/TeShape.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "reference/ErrorRules.h"
#include "reference/ExpandCascades.h"
#include "reference/InlineComputes.h"
#include "reference/NarrowFloats.h"
#include "reference/SizeExprs.h"
#include "reference/StatementEmitter.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

/// The kernel in a module of its own in `context`, which shares nothing with the caller's.
absl::StatusOr<OwningOpRef<ModuleOp>> copyKernel(te::KernelOp kernel, MLIRContext &context) {
  OwningOpRef<ModuleOp> wrapper = ModuleOp::create(kernel.getLoc());
  wrapper->push_back(kernel->clone());
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(writeBytecodeToFile(*wrapper, stream)))
    return absl::InternalError("the kernel cannot be serialised");
  OwningOpRef<ModuleOp> copy = parseSourceString<ModuleOp>(bytes, &context);
  if (!copy)
    return absl::InternalError("the kernel cannot be read back");
  return copy;
}

std::string nameOf(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("name");
  return name ? name.str() : "";
}

class ProgramBuilder {
public:
  ProgramBuilder(te::KernelOp kernel, Arithmetic arithmetic) : kernel_(kernel), arithmetic_(arithmetic) {}

  void build() {
    program.kernel = kernel_.getSymName().str();
    for (unsigned i = 0; i < kernel_.getNumSizes(); ++i)
      program.sizes.push_back(kernel_.getSizeName(i).str());
    program.contextWords = kContextSizes + int(program.sizes.size());
    for (auto [set, i] : llvm::zip(kernel_.getRequirements(), llvm::seq(1000000)))
      program.requirements.push_back(
          {toSizeExpr(cast<IntegerSetAttr>(set).getValue()),
           i < int(kernel_.getRequirementTexts().size()) ? cast<StringAttr>(kernel_.getRequirementTexts()[i]).str() : ""});
    for (BlockArgument arg : kernel_.getBlock().getArguments()) {
      unsigned i = arg.getArgNumber();
      int slot = addSlot(arg, parameterName(kernel_.getArgNames(), i), kernel_.getArgShape(i));
      program.slots[slot].arg = int(i);
      program.args.push_back({program.slots[slot].name, parameterType(kernel_.getArgTypes(), i), program.slots[slot].dims, slot});
      fixBits(slot, arg.getType());
    }
    for (Operation &op : kernel_.getBlock().without_terminator()) {
      if (!te::isDomainOp(&op))
        continue;
      Value result = op.getResult(0);
      int slot = addSlot(result, nameOf(&op), te::getTensorShape(result));
      fixBits(slot, result.getType());
      if (auto recurrence = dyn_cast<te::RecurrenceOp>(op))
        for (Region &region : recurrence->getRegions())
          slotOf[region.front().getArguments().back()] = slot;
      if (Value init = te::findInit(&op); init && init.getDefiningOp() && init.hasOneUse())
        program.slots[slot].sharesWith = slotOf.lookup(init);
    }
    for (auto [i, out] : llvm::enumerate(kernel_.getReturn().getOuts())) {
      ElementType type = parameterType(kernel_.getOutTypes(), i);
      if (arithmetic_ != Arithmetic::Own && isFloat(type))
        type = ElementType::f64;
      program.outs.push_back({parameterName(kernel_.getOutNames(), i), type, toSizeExprs(kernel_.getOutShape(i)), slotOf.lookup(out)});
    }
  }

  Program program;
  llvm::DenseMap<Value, int> slotOf;

private:
  static std::string parameterName(ArrayAttr names, unsigned i) { return cast<StringAttr>(names[i]).str(); }
  static ElementType parameterType(ArrayAttr types, unsigned i) { return te::getElementType(cast<StringAttr>(types[i])); }

  int addSlot(Value v, std::string name, AffineMap shape) {
    Slot s;
    s.name = std::move(name);
    s.dims = toSizeExprs(shape);
    s.context = program.contextWords;
    program.contextWords += 2 + 2 * int(s.dims.size());
    slotOf[v] = int(program.slots.size());
    program.slots.push_back(std::move(s));
    return int(program.slots.size()) - 1;
  }

  void fixBits(int index, Type type) {
    Slot &s = program.slots[index];
    Type element = getElementTypeOrSelf(type);
    bool isArg = s.arg >= 0;
    s.isFloat = isa<FloatType>(element);
    s.hasError = !isArg && arithmetic_ == Arithmetic::F64WithError;
    s.bits = !isArg && s.isFloat && arithmetic_ != Arithmetic::Own ? 64
             : isArg && element.isInteger(4)                       ? 4
                                                                   : std::max(8u, element.getIntOrFloatBitWidth());
  }

  te::KernelOp kernel_;
  Arithmetic arithmetic_;
};

/// The last step that touches each slot's memory; outputs live on.
void findLastUses(Program &program, ArrayRef<Operation *> ops, const llvm::DenseMap<Value, int> &slotOf) {
  auto root = [&](int s) {
    while (program.slots[s].sharesWith >= 0)
      s = program.slots[s].sharesWith;
    return s;
  };
  for (auto [i, op] : llvm::enumerate(ops)) {
    program.slots[root(program.steps[i].out)].lastUse = int(i);
    op->walk([&, i = i](Operation *inner) {
      for (Value v : inner->getOperands())
        if (auto it = slotOf.find(v); it != slotOf.end())
          program.slots[root(it->second)].lastUse = int(i);
    });
  }
  for (const Program::Parameter &out : program.outs)
    program.slots[root(out.slot)].lastUse = int(ops.size());
}

absl::StatusOr<Step> makeStep(ModuleOp code, Operation &op, Arithmetic arithmetic, ProgramBuilder &builder, const EmitOptions &options) {
  int out = builder.slotOf.lookup(op.getResult(0));
  auto step = emitStatement(code, &op, arithmetic, builder.program, builder.slotOf, out, int(builder.program.steps.size()), options);
  if (!step.ok())
    return step;
  builder.program.contextWords += 2 * step->parallel;
  if (step->stateWords > 0)
    ++builder.program.contextWords;
  if (Value init = te::findInit(&op); init && builder.program.slots[out].sharesWith < 0)
    step->copyFrom = builder.slotOf.lookup(init);
  auto partial = dyn_cast<te::ComputeOp>(op);
  if (partial && !partial.getInit() &&
      (partial.getPartial() || partial.getCondition() || partial.getYield().getCondition() || partial.getOutMap()))
    step->fill = true; // with zeros: nothing may depend on what memory held
  if (auto recurrence = dyn_cast<te::RecurrenceOp>(op); recurrence && !recurrence.getInit() && recurrence.getPartial())
    step->fill = true;
  return step;
}

} // namespace

absl::StatusOr<std::unique_ptr<ReferenceKernel::Impl>> compileKernel(te::KernelOp original, Arithmetic arithmetic, Sums sums) {
  DialectRegistry registry;
  registry.insert<te::TeDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, cf::ControlFlowDialect, LLVM::LLVMDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto copy = copyKernel(original, context);
  if (!copy.ok())
    return copy.status();
  auto kernel = cast<te::KernelOp>((*copy)->getBody()->front());
  if (sums == Sums::InF32)
    kernel.setSumsInF32(true);
  expandCascades(kernel);
  expandFolds(kernel);
  inlineComputes(kernel);

  ProgramBuilder builder(kernel, arithmetic);
  builder.build();
  auto impl = std::make_unique<ReferenceKernel::Impl>();
  impl->arithmetic = arithmetic;

  OwningOpRef<ModuleOp> code = ModuleOp::create(kernel.getLoc());
  EmitOptions options;
  options.vectorBytes = hostVectorBytes();
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getBlock().without_terminator()) {
    if (!te::isDomainOp(&op)) {
      // Scalars hoisted to the kernel are emitted where they are used.
      if (op.getNumResults() == 1 && !isa<ShapedType>(op.getResult(0).getType()) && !op.getNumRegions())
        continue;
      return unsupported(&op);
    }
    auto step = makeStep(*code, op, arithmetic, builder, options);
    if (!step.ok())
      return step.status();
    builder.program.steps.push_back(std::move(*step));
    ops.push_back(&op);
  }
  findLastUses(builder.program, ops, builder.slotOf);
  impl->program = std::move(builder.program);

  auto jit = JitModule::create(*code);
  if (!jit.ok())
    return jit.status();
  impl->code = std::move(*jit);
  for (const Step &step : impl->program.steps) {
    auto f = impl->code->lookup(step.symbol);
    if (!f.ok())
      return f.status();
    impl->functions.push_back(reinterpret_cast<StepFunction>(*f));
  }
  return impl;
}

} // namespace kernelc::reference
