#include <fstream>
#include <iostream>
#include <sstream>

#include "driver/Registration.h"
#include "frontend/Import.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/Commands.h"

namespace kernelc::tools {
namespace {

/// Reads a whole file, "-" for standard input.
bool readFile(const std::string &path, std::string &text) {
  std::stringstream s;
  if (path == "-") {
    s << std::cin.rdbuf();
  } else {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
      std::cerr << "kernelc: cannot read '" << path << "'\n";
      return false;
    }
    s << in.rdbuf();
  }
  text = s.str();
  return true;
}

} // namespace

int compileCommand(const std::vector<std::string> &args) {
  std::string text;
  if (args.empty() || !readFile(args[0], text))
    return args.empty() ? 2 : 1;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, args[0]), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = frontend::importKc(context, text, args[0]);
  if (!module)
    return 1;
  module->print(llvm::outs());
  return 0;
}

int fmtCommand(const std::vector<std::string> &args) {
  std::string text;
  if (args.empty() || !readFile(args[0], text))
    return args.empty() ? 2 : 1;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, args[0]), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto formatted = frontend::formatKc(context, text, args[0]);
  if (mlir::failed(formatted))
    return 1;
  llvm::outs() << *formatted;
  return 0;
}

} // namespace kernelc::tools
