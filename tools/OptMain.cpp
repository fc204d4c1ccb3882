#include "driver/Registration.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/Commands.h"
#include "tools/OptVerify.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

namespace {

/// As mlir::MlirOptMain, with the passes checked.
mlir::LogicalResult runVerified(const std::string &input, const std::string &output, mlir::DialectRegistry &registry,
                                kernelc::tools::OptVerify &verify) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(input, &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return mlir::failure();
  }
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
    verify.attach(pm);
    return mlir::success();
  });
  if (mlir::failed(mlir::MlirOptMain(out->os(), std::move(file), registry, config)))
    return mlir::failure();
  out->keep();
  // Expected diagnostics have been compared already: they are what a test wants.
  return mlir::success(config.shouldVerifyDiagnostics() || !verify.hasFailed());
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
  if (!semantics)
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  OptVerify verify({sizes, seed, reproducer});
  return mlir::asMainReturnCode(runVerified(input, output, registry, verify));
}
