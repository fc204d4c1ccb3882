// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/Registration.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/Commands.h"
#include "tools/OptText.h"
#include "tools/OptVerify.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

namespace {

/// Whether MLIR's parser can be given the text; where not, says why.
bool isParsable(llvm::StringRef name, llvm::StringRef text) {
  if (text.starts_with("ML\xefR")) // bytecode
    return true;
  kernelc::tools::TextFault fault = kernelc::tools::findTextFault(text);
  if (!fault.message.empty())
    llvm::errs() << name << ":" << fault.line << ":" << fault.column << ": error: " << fault.message << "\n";
  return fault.message.empty();
}

/// As mlir::MlirOptMain, on what its parser survives; with `verify`, the passes are checked.
mlir::LogicalResult run(const std::string &input, const std::string &output, mlir::DialectRegistry &registry,
                        kernelc::tools::OptVerify *verify) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(input, &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return mlir::failure();
  }
  if (!isParsable(input == "-" ? "<stdin>" : llvm::StringRef(input), file->getBuffer()))
    return mlir::failure();
  std::unique_ptr<llvm::ToolOutputFile> out = mlir::openOutputFile(output, &error);
  if (!out) {
    llvm::errs() << error << "\n";
    return mlir::failure();
  }
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  mlir::MlirOptMainConfig passes = config;
  config.setPassPipelineSetupFn([&](mlir::PassManager &pm) {
    if (mlir::failed(passes.setupPassPipeline(pm)))
      return mlir::failure();
    if (verify)
      verify->attach(pm);
    return mlir::success();
  });
  if (mlir::failed(mlir::MlirOptMain(out->os(), std::move(file), registry, config)))
    return mlir::failure();
  out->keep();
  // Expected diagnostics have been compared already: they are what a test wants.
  return mlir::success(config.shouldVerifyDiagnostics() || !verify || !verify->hasFailed());
}

} // namespace

int kernelc::tools::optMain(int argc, char **argv) {
  namespace cl = llvm::cl;
  cl::opt<bool> semantics("verify-semantics",
                          cl::desc("Run the kernels before and after every pass and name the first that changed their meaning"));
  cl::opt<std::string> sizes("verify-sizes",
                             cl::desc("NAME=N,.. to run them at; several sets with ';'. Else small awkward sizes are chosen"));
  cl::opt<uint64_t> seed("verify-seed", cl::desc("Of the inputs and of the sizes chosen"), cl::init(1));
  cl::opt<std::string> reproducer("verify-reproducer", cl::desc("The file for the reduced reproducer; else one in TMPDIR"));
  mlir::DialectRegistry registry;
  kernelc::registerDialects(registry);
  kernelc::registerPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "kernelc's optimizer driver\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  if (!semantics)
    return mlir::asMainReturnCode(run(input, output, registry, nullptr));
  OptVerify verify({sizes, seed, reproducer});
  return mlir::asMainReturnCode(run(input, output, registry, &verify));
}
