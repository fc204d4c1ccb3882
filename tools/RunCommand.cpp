// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc run: a kernel on given or generated arguments.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "driver/jit/HostRun.h"
#include "driver/verify/HostValues.h"
#include "tools/Call.h"
#include "tools/Commands.h"
#include "tools/Failure.h"
#include "tools/TensorFiles.h"

namespace kernelc::tools {
namespace {

/// Integers in full, floats to six digits.
std::string elementText(const HostTensor &t, int64_t i) {
  if (t.type() == ElementType::u64)
    return absl::StrCat(static_cast<const uint64_t *>(t.data())[i]);
  if (t.type() == ElementType::i64)
    return absl::StrCat(static_cast<const int64_t *>(t.data())[i]);
  return isFloat(t.type()) ? absl::StrFormat("%.6g", loadElement(t, i)) : absl::StrCat(int64_t(loadElement(t, i)));
}

/// What is shown of a result that goes to no file.
std::string preview(const Param &p, const HostTensor &t) {
  std::vector<std::string> elements;
  for (int64_t i = 0; i < std::min<int64_t>(t.numElements(), 8); ++i)
    elements.push_back(elementText(t, i));
  return absl::StrCat(p.name, ": ", elementTypeName(p.type), "[", absl::StrJoin(t.shape(), ", "), "] = ", absl::StrJoin(elements, " "),
                      t.numElements() > 8 ? " ..." : "", "\n");
}

struct OutputFile {
  int param;
  std::string path;
};

absl::StatusOr<std::vector<OutputFile>> parseOutputs(const Kernel &kernel, const std::vector<std::string> &texts) {
  std::vector<OutputFile> files;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    std::vector<std::string> names;
    int found = -1;
    for (size_t i = 0; i < kernel.params.size(); ++i)
      if (kernel.params[i].kind == ParamKind::Output || kernel.params[i].kind == ParamKind::InOut) {
        names.push_back(kernel.params[i].name);
        if (kernel.params[i].name == text.substr(0, equals))
          found = int(i);
      }
    if (equals == std::string::npos || found < 0)
      return absl::InvalidArgumentError(absl::StrCat(
          "-o ", text, ": expected NAME=FILE with an output of kernel '", kernel.name, "' (", absl::StrJoin(names, ", "), ")",
          equals == std::string::npos && !names.empty() ? absl::StrCat("; write -o ", names.front(), "=", text) : std::string()));
    files.push_back({found, text.substr(equals + 1)});
  }
  return files;
}

absl::Status run(const CallOptions &options, const std::vector<std::string> &outputs, bool time) {
  absl::StatusOr<Call> call = prepareCall(options);
  if (!call.ok())
    return call.status();
  const Kernel &kernel = call->kernel->signature();
  absl::StatusOr<std::vector<OutputFile>> files = parseOutputs(kernel, outputs);
  if (!files.ok())
    return files.status();
  std::vector<std::string> targets;
  for (const OutputFile &f : *files)
    targets.push_back(f.path);
  if (absl::Status s = checkTargets(targets); !s.ok())
    return s;
  CallReport report;
  if (absl::Status s = runOnHost(*call->kernel, call->place, call->arguments.tensors, {}, &report); !s.ok())
    return s;
  if (time)
    std::cerr << absl::StrFormat("kernelc: %s took %.3f ms on %s\n", kernel.name, report.seconds * 1e3, toString(call->place));
  std::vector<std::pair<std::string, const HostTensor *>> products;
  for (const OutputFile &f : *files)
    products.push_back({f.path, &call->arguments.tensors[f.param]});
  if (absl::Status s = storeTensors(products); !s.ok())
    return s;
  if (files->empty())
    for (size_t i = 0; i < kernel.params.size(); ++i)
      if (int(i) != call->kernel->recordParam() &&
          (kernel.params[i].kind == ParamKind::Output || kernel.params[i].kind == ParamKind::InOut))
        std::cout << preview(kernel.params[i], call->arguments.tensors[i]);
  return absl::OkStatus();
}

} // namespace

int runCommand(const std::vector<std::string> &args) {
  CallOptions call;
  std::vector<std::string> outputs;
  bool time = false;
  Options options(
      "run", "FILE.kc [NAME=VALUE ...] [-o NAME=FILE.npy ...]",
      "Runs a kernel. VALUE is FILE.npy, FILE.safetensors:TENSOR, random[:SEED][:LO..HI][:specials], zeros, ones, iota or a number;\n"
      "a tensor without one is random. Without -o the first elements of each output are printed.");
  call.add(options);
  options.list("-o", outputs, "NAME=FILE", "writes an output (.npy, or .safetensors:TENSOR)")
      .flag("--time", time, "how long it took, on stderr");
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (call.positionals.empty())
    return options.usageError("which file?");
  absl::Status status = run(call, outputs, time);
  return status.ok() ? int(kDone) : reportFailure(status);
}

} // namespace kernelc::tools
