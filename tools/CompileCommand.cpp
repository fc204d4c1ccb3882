// kernelc compile: text to any stage of the pipeline.
#include <fstream>
#include <iostream>
#include <sstream>

#include "driver/Compiler.h"
#include "driver/Registration.h"
#include "frontend/Import.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
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
  std::string text, emit = "cuda", path;
  VariantOptions options;
  bool useFacts = true;
  frontend::ImportOptions import;
  for (size_t i = 0; i < args.size(); ++i) {
    auto next = [&] { return i + 1 < args.size() ? args[++i] : std::string(); };
    if (args[i] == "--emit") emit = next();
    else if (args[i] == "--arch") options.target = next();
    else if (args[i] == "--general") useFacts = false;
    else if (args[i] == "--kernel") import.kernel = next();
    else if (args[i] == "--fact") { // NAME:DIV:MAX
      std::string f = next();
      size_t a = f.find(':'), b = f.find(':', a + 1);
      options.facts[f.substr(0, a)] = {std::stoll(f.substr(a + 1, b - a - 1)), std::stoll(f.substr(b + 1))};
    } else path = args[i];
  }
  if (path.empty() || !readFile(path, text))
    return path.empty() ? 2 : 1;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.disableMultithreading();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, path), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (llvm::StringRef(path).ends_with(".mlir"))
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  else
    module = frontend::importKc(context, text, path, import);
  if (!module)
    return 1;
  if (emit == "te") {
    module->print(llvm::outs());
    return 0;
  }
  auto kernel = describeKernel(*module, import.kernel);
  if (!kernel.ok()) {
    std::cerr << kernel.status().message() << "\n";
    return 1;
  }
  if (options.facts.empty() && useFacts)
    options.facts = denseFacts(*kernel);
  if (emit != "cuda") {
    Stage stage = emit == "plan" ? Stage::Plan : emit == "tile" ? Stage::Tile : emit == "layouts" ? Stage::Layouts : Stage::Cu;
    auto result = runPipeline(*module, options, stage);
    if (!result)
      return 1;
    result->print(llvm::outs());
    return 0;
  }
  if (absl::Status s = addVariant(*module, options, *kernel); !s.ok()) {
    std::cerr << s.message() << "\n";
    return 1;
  }
  std::cout << kernel->variants[0].cudaText;
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
