#include "driver/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "tools/Commands.h"

int kernelc::tools::optMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  kernelc::registerDialects(registry);
  kernelc::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "kernelc's optimizer driver\n", registry));
}
