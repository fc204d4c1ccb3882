// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operators' kernels, compiled: what the tests of this folder share.
#pragma once

#include "test/conformance/Operators.h"
#include "test/emulator/ExampleHarness.h"

namespace kernelc::conformance {

struct Form {
  Operator op;
  std::string form; ///< f32, another type of tensors, or a policy
  std::string name() const { return std::to_string(op.number) + " " + op.kernel + " " + form; }
};

/// Every form of a file's operators.
inline std::vector<Form> formsOf(const std::string &path) {
  std::vector<Form> forms;
  for (const Operator &op : operatorsOf(path))
    for (const std::string &form : op.forms)
      forms.push_back({op, form});
  return forms;
}

inline emulator::CompiledExample compileForm(const Form &f, const std::string &target, const Sizes &sizes) {
  emulator::Case c{f.op.file, f.op.kernel, target};
  c.sizes = sizes;
  std::string text = emulator::readFile(f.op.file);
  if (f.form == "tf32" || f.form == "bf16x3")
    c.precision = "contract=" + f.form;
  else
    text = emulator::withTensorsOf(text, f.form);
  return emulator::compileText(text, std::filesystem::path(f.op.file).filename().string(), c);
}

/// For names of tests: convolution_transposed.
inline std::string stem(const std::string &path) { return std::filesystem::path(path).stem().string(); }

} // namespace kernelc::conformance
