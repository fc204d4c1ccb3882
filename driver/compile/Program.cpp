// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/Program.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/Diagnostics.h"
#include "driver/compile/Guard.h"
#include "driver/compile/Registration.h"
#include "driver/compile/ScheduleFile.h"
#include "frontend/Import.h"
#include "frontend/ImportedFiles.h"
#include "ir/te/Te.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace kernelc {

Program::Program(std::string text, ProgramOptions options)
    : text_(std::move(text)), options_(std::move(options)), readImport_(makeImportReader(options_.fileName)) {
  if (!absl::EndsWith(options_.fileName, ".mlir"))
    imports_ = frontend::importedTexts(text_, readImport_);
}

absl::StatusOr<std::shared_ptr<Program>> Program::create(std::string text, ProgramOptions options) {
  std::shared_ptr<Program> program(new Program(std::move(text), std::move(options)));
  absl::MutexLock lock(&program->mutex_);
  if (absl::Status s = program->import(&program->warnings_); !s.ok())
    return s;
  for (auto op : program->module_->getOps<te::KernelOp>()) {
    absl::StatusOr<Kernel> kernel = describeKernel(*program->module_, op.getSymName().str());
    if (!kernel.ok())
      return kernel.status();
    program->kernels_.push_back(*std::move(kernel));
  }
  if (program->kernels_.empty())
    return absl::InvalidArgumentError(absl::StrCat(program->options_.fileName, ": error: the file defines no kernel"));
  return program;
}

std::shared_ptr<Program> Program::createLazy(std::string text, ProgramOptions options, std::vector<Kernel> kernels) {
  std::shared_ptr<Program> program(new Program(std::move(text), std::move(options)));
  program->kernels_ = std::move(kernels);
  return program;
}

absl::Status Program::import(std::vector<std::string> *warnings) {
  if (module_)
    return absl::OkStatus();
  if (!context_) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    // One thread per context: kernels compile in parallel by having one each.
    context_ = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
    context_->printOpOnDiagnostic(false); // users read their own text, not ours
  }
  DiagnosticLog log(*context_, text_, options_.fileName);
  log.setImports(readImport_);
  if (absl::EndsWith(options_.fileName, ".mlir")) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text_, mlir::ParserConfig(context_.get()), options_.fileName);
  } else {
    frontend::ImportOptions import;
    import.constants = options_.constants;
    import.kernel = options_.kernel;
    import.readImport = readImport_;
    module_ = frontend::importKc(*context_, text_, options_.fileName, import);
    if (module_ && mlir::failed(excludeMaskedTerms(*module_)))
      module_ = nullptr;
  }
  if (!module_ || mlir::failed(checkTensorsExist(*module_)) || mlir::failed(applyPrecision(*module_, options_.precision))) {
    module_ = nullptr;
    return log.status("reading the program");
  }
  if (warnings)
    *warnings = log.warnings();
  return options_.schedule.empty() ? absl::OkStatus()
                                   : attachSchedules(*module_, options_.schedule, options_.scheduleName, options_.kernel);
}

absl::StatusOr<const Kernel *> Program::findKernel(absl::string_view name) const {
  std::vector<absl::string_view> names;
  for (const Kernel &k : kernels_) {
    if (k.name == name || (name.empty() && kernels_.size() == 1))
      return &k;
    names.push_back(k.name);
  }
  std::string all = absl::StrJoin(names, ", ");
  if (name.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(options_.fileName, " defines several kernels (", all, "); say which one, as with --kernel ", names[0]));
  return absl::NotFoundError(absl::StrCat(options_.fileName, " has no kernel '", name, "'; it defines ", all));
}

absl::Status Program::withModule(absl::FunctionRef<absl::Status(mlir::ModuleOp)> fn, std::vector<std::string> *remarks) {
  absl::MutexLock lock(&mutex_);
  if (absl::Status s = import(); !s.ok())
    return s;
  DiagnosticLog log(*context_, text_, options_.fileName);
  log.setSchedule(options_.schedule, options_.scheduleName);
  absl::Status status = fn(*module_);
  if (remarks)
    for (const auto *list : {&log.warnings(), &log.remarks()})
      remarks->insert(remarks->end(), list->begin(), list->end());
  if (!status.ok() && log.hasErrors())
    return log.status("compiling");
  return status;
}

} // namespace kernelc
