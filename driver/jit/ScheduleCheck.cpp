// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/ScheduleCheck.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "driver/compile/Compiler.h"
#include "driver/jit/VariantSet.h"
#include "ir/te/Te.h"

using namespace mlir;

namespace kernelc {
namespace {

/// The targets that the records of `kernel` are for; "" stands for any.
std::set<std::string> targetsOf(te::KernelOp kernel) {
  std::set<std::string> targets;
  if (ArrayAttr records = kernel.getScheduleAttr())
    for (Attribute a : records)
      if (auto record = dyn_cast<DictionaryAttr>(a)) {
        auto target = record.getAs<StringAttr>("target");
        targets.insert(target ? target.getValue().str() : "");
      }
  return targets;
}

} // namespace

absl::Status checkSchedule(Program &program, const Kernel &signature, const std::string &target, const CheckedArgs &args) {
  return program.withModule([&](ModuleOp module) -> absl::Status {
    OwningOpRef<ModuleOp> one = isolate(module, signature.name);
    for (const std::string &named : targetsOf(findKernel(*one, signature.name)))
      if (!runPipeline(*one, optionsFor(signature, named.empty() ? target : named, args, /*general=*/false), Stage::Plan))
        return absl::InvalidArgumentError(absl::StrCat("the schedule of kernel '", signature.name, "' is refused; see the diagnostics"));
    return absl::OkStatus();
  });
}

} // namespace kernelc
