// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared by the frontend's unit tests: imports a text and keeps its diagnostics.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/Import.h"
#include "ir/te/Te.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

namespace kernelc::frontend {

struct Imported {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> errors;

  explicit Imported(const std::string &text, const ImportOptions &options = {}) {
    context.disableMultithreading();
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
      errors.push_back(d.str());
      return mlir::success();
    });
    module = importKc(context, text, "test.kc", options);
  }
  /// The first kernel.
  te::KernelOp kernel() { return *module->getOps<te::KernelOp>().begin(); }
  std::string print() {
    std::string s;
    llvm::raw_string_ostream os(s);
    module->print(os);
    return s;
  }
};

inline std::string formatted(const std::string &text) {
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto r = formatKc(context, text, "test.kc");
  return mlir::failed(r) ? "<failed>" : *r;
}

inline std::vector<std::pair<std::string, std::string>> exampleTexts() {
  std::vector<std::pair<std::string, std::string>> out;
  for (auto &entry : std::filesystem::directory_iterator(KERNELC_EXAMPLES)) {
    if (entry.path().extension() != ".kc")
      continue;
    std::stringstream s;
    s << std::ifstream(entry.path()).rdbuf();
    out.push_back({entry.path().filename().string(), s.str()});
  }
  return out;
}

} // namespace kernelc::frontend
