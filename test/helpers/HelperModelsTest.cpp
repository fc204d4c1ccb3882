// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every device helper's emulator model against plain C++, bit for bit, and the
// check that no helper is without a case. The same cases run on a GPU
// (HelperDeviceTest.cpp) against the same expectation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "codegen/Helpers.h"
#include "codegen/WgmmaHelper.h"
#include "emulator/RunKernel.h"
#include "support/TensorLayout.h"
#include "test/helpers/HelperCase.h"

namespace kernelc::helpers {
namespace {

using emulator::EmulatorOptions;
using emulator::KernelRunner;
using emulator::RunArguments;

class HelperModels : public testing::TestWithParam<HelperCaseMaker> {};

TEST_P(HelperModels, ComputeWhatIsExpected) {
  HelperCase c = GetParam().make();
  auto runner = KernelRunner::create(c.kernel, c.variant());
  ASSERT_TRUE(runner.ok()) << runner.status() << "\n" << c.variant().cudaText;
  std::vector<std::vector<uint8_t>> bytes = c.before;
  RunArguments args;
  for (size_t i = 0; i < c.kernel.params.size(); i++) {
    const Param &p = c.kernel.params[i];
    int64_t count = p.dims[0].evaluate({});
    bytes[i].resize(size_t(count * elementBits(p.type) / 8));
    args.params.push_back({bytes[i].data(), p.type, {count}, {1}});
  }
  auto report = runner->run(args);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->ok()) << report->toString() << c.variant().cudaText;
  for (size_t i = 0; i < c.kernel.params.size(); i++)
    if (c.kernel.params[i].kind != ParamKind::Input)
      EXPECT_EQ(explainDifference(c, i, bytes[i]), "");
}

INSTANTIATE_TEST_SUITE_P(All, HelperModels, testing::ValuesIn(allHelperCases()), [](const auto &info) { return info.param.name; });

/// The spellings that some case is about: "kc_f32_to_bf16 of 80".
std::set<std::string> coveredSpellings() {
  std::set<std::string> covered;
  for (const HelperCaseMaker &m : allHelperCases())
    for (const std::string &helper : m.helpers) {
      if (codegen::wgmmaHelperText(helper))
        covered.insert(helper);
      std::string name = helper.substr(0, helper.find('<'));
      int newest = 0;
      for (const codegen::HelperSpelling &s : codegen::helperSpellings())
        if (s.name == name && s.generation <= m.generation)
          newest = std::max(newest, s.generation);
      covered.insert(name + " of " + std::to_string(newest));
    }
  return covered;
}

TEST(HelperCompleteness, EverySpellingHasACase) {
  std::set<std::string> covered = coveredSpellings();
  std::vector<std::string> missing;
  for (const codegen::HelperSpelling &s : codegen::helperSpellings())
    if (!covered.count(s.name + " of " + std::to_string(s.generation)))
      missing.push_back(s.name + " of " + std::to_string(s.generation));
  EXPECT_THAT(missing, testing::IsEmpty()) << "add their cases to test/helpers/*Cases.cpp";
}

/// What the text of a wgmma helper depends on besides its N and the names of its types.
std::string wgmmaForm(const std::string &name, const std::string &text) {
  bool integer = text.find("s32.") != std::string::npos;
  return std::string(name.find("_rs_") != std::string::npos ? "A in registers, " : "") + (integer ? "integer, " : "") +
         std::to_string(std::count(name.begin(), name.end(), ',')) + " orders";
}

TEST(HelperCompleteness, EveryGeneratedWgmmaHasACase) {
  std::set<std::string> covered = coveredSpellings();
  std::set<std::pair<std::string, int>> formsCovered, forms;
  std::vector<std::string> missing;
  size_t shapes = 0;
  auto check = [&](const std::string &name, int n) {
    auto text = codegen::wgmmaHelperText(name);
    if (!text)
      return;
    shapes++;
    std::pair<std::string, int> form{wgmmaForm(name, *text), n};
    forms.insert(form);
    if (covered.count(name))
      formsCovered.insert(form);
    else if (n == 8 || n == 64 || n == 256) // of each helper
      missing.push_back(name);
  };
  // Every spelling that may be a template of shapes, with one to three numbers.
  for (const codegen::HelperSpelling &s : codegen::helperSpellings())
    for (int n = 8; n <= 256; n += 8) {
      std::string name = s.name + "<" + std::to_string(n);
      check(name + ">", n);
      for (const char *b : {", 0", ", 1"}) {
        check(name + b + ">", n);
        for (const char *c : {", 0", ", 1"})
          check(name + b + c + ">", n);
      }
    }
  EXPECT_THAT(missing, testing::IsEmpty()) << "add a row to kFamilies of test/helpers/WgmmaCases.cpp";
  EXPECT_EQ(forms, formsCovered) << "a family of each form has to run every N";
  EXPECT_GE(shapes, 800u);
}

TEST(HelperCompleteness, NamesAreUnique) {
  std::set<std::string> names;
  for (const HelperCaseMaker &m : allHelperCases())
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
}

} // namespace
} // namespace kernelc::helpers
