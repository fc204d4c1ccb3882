// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/Jit.h"

#include <mutex>

#include "absl/strings/str_cat.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "reference/MathLibrary.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace kernelc::reference {

struct JitModule::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

JitModule::JitModule() : impl_(std::make_unique<Impl>()) {}
JitModule::~JitModule() = default;

unsigned hostVectorBytes() {
  static const unsigned bytes = [] {
    auto features = llvm::sys::getHostCPUFeatures();
    return features.lookup("avx512f") ? 64u : features.lookup("avx") ? 32u : 16u;
  }();
  return bytes;
}

static absl::Status toStatus(llvm::Error error, absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", llvm::toString(std::move(error))));
}

static LogicalResult lowerToLLVM(ModuleOp module) {
  LLVMConversionTarget target(*module.getContext());
  target.addLegalOp<ModuleOp>();
  LLVMTypeConverter converter(module.getContext());
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  return applyFullConversion(module, target, std::move(patterns));
}

/// Straight-line code so long that LLVM's instruction selection and scheduling, which
/// are not linear in it, would take many seconds.
static bool isHuge(const llvm::Module &module) {
  constexpr size_t kMaxBlock = 1500;
  for (const llvm::Function &f : module)
    for (const llvm::BasicBlock &block : f)
      if (block.size() > kMaxBlock)
        return true;
  return false;
}

/// The standard pipeline without what takes time and finds nothing here: tiles are
/// unrolled and vectors along parallel dims are explicit already.
static void optimise(llvm::Module &module, llvm::TargetMachine *machine, bool huge) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = !huge;
  tuning.LoopInterleaving = !huge;
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  builder.buildPerModuleDefaultPipeline(huge ? llvm::OptimizationLevel::O1 : llvm::OptimizationLevel::O2).run(module, modules);
}

absl::StatusOr<std::unique_ptr<JitModule>> JitModule::create(ModuleOp module) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  if (failed(lowerToLLVM(module)))
    return absl::InternalError("the reference's lowering to LLVM failed");
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, *context, "reference");
  if (!code)
    return absl::InternalError("the reference's translation to LLVM IR failed");

  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return toStatus(builder.takeError(), "this host's CPU");
  bool huge = isHuge(*code);
  builder->setCodeGenOptLevel(huge ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Aggressive);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return toStatus(machine.takeError(), "target machine");
  code->setDataLayout((*machine)->createDataLayout());
  code->setTargetTriple((*machine)->getTargetTriple());
  // The optimiser asks the functions, not the machine, for their features.
  for (llvm::Function &f : *code)
    if (!f.isDeclaration()) {
      f.addFnAttr("target-cpu", builder->getCPU());
      f.addFnAttr("target-features", builder->getFeatures().getString());
      if (hostVectorBytes() == 64)
        f.addFnAttr("prefer-vector-width", "512");
    }
  optimise(*code, machine->get(), huge);

  auto jit = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(*builder).create();
  if (!jit)
    return toStatus(jit.takeError(), "JIT");
  llvm::orc::SymbolMap symbols;
  for (auto [name, address] : runtimeSymbols())
    symbols[(*jit)->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                              llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (auto error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return toStatus(std::move(error), "runtime symbols");
  if (auto error = (*jit)->addIRModule(llvm::orc::ThreadSafeModule(std::move(code), std::move(context))))
    return toStatus(std::move(error), "JIT module");
  std::unique_ptr<JitModule> result(new JitModule());
  result->impl_->jit = std::move(*jit);
  return result;
}

absl::StatusOr<void *> JitModule::lookup(const std::string &symbol) {
  auto address = impl_->jit->lookup(symbol);
  if (!address)
    return toStatus(address.takeError(), absl::StrCat("symbol ", symbol));
  return address->toPtr<void *>();
}

} // namespace kernelc::reference
