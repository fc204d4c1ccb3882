// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every operator of the selection, at small sizes of the same character, on the emulator for
// sm_80 and sm_90a: no findings, every output within the oracle's bound. The kernels of a file
// share a host compilation. What the language refuses must be refused in the words expected.
#include "test/conformance/ConformanceCases.h"

namespace kernelc::conformance {
namespace {

using Param = std::pair<std::string, std::string>; // file, target

class Operators : public ::testing::TestWithParam<Param> {};

TEST_P(Operators, AgreeWithTheOracleWithoutFindings) {
  const auto &[file, target] = GetParam();
  std::vector<std::pair<Form, const Sizes *>> runs; // one for each of `compiled`
  std::vector<emulator::CompiledExample> compiled;
  const std::vector<Form> forms = formsOf(file);
  for (const Form &f : forms) {
    SCOPED_TRACE(f.name());
    for (const Sizes &sizes : f.op.small) {
      emulator::CompiledExample e = compileForm(f, target, sizes);
      if (!f.op.refusal.empty()) {
        EXPECT_THAT(e.error, ::testing::HasSubstr(f.op.refusal));
        continue;
      }
      ASSERT_EQ(e.error + e.skip, "");
      runs.push_back({f, &sizes});
      compiled.push_back(std::move(e));
    }
  }
  std::vector<emulator::KernelRunner::Text> texts;
  for (const auto &e : compiled)
    texts.push_back({&e.kernel, &e.variant()});
  auto runners = emulator::KernelRunner::createAll(texts);
  for (size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(runs[i].first.name());
    ASSERT_TRUE(runners[i].ok()) << runners[i].status() << "\n" << compiled[i].variant().cudaText;
    auto arguments = emulator::pickArguments(compiled[i], 20261122 + unsigned(i), 1, {.only = *runs[i].second});
    emulator::Difference d = emulator::findDifference(compiled[i], *runners[i], arguments);
    EXPECT_EQ(d.kind, "") << d.sizes << "\n" << d.text << "\n" << compiled[i].variant().cudaText;
  }
}

std::vector<Param> eachFileAndTarget() {
  std::vector<Param> params;
  for (const std::string &f : conformanceFiles())
    for (const char *target : {"sm_90a", "sm_80"})
      params.push_back({f, target});
  return params;
}

INSTANTIATE_TEST_SUITE_P(All, Operators, ::testing::ValuesIn(eachFileAndTarget()),
                         [](const auto &info) { return stem(info.param.first) + "_" + info.param.second; });

// The selection is every second operator, 1 to 99; numbers from 900 on are our own.
TEST(OperatorSelection, IsComplete) {
  std::vector<int> numbers, expected;
  for (int n = 1; n < 100; n += 2)
    expected.push_back(n);
  for (const std::string &file : conformanceFiles())
    for (const Operator &op : operatorsOf(file)) {
      SCOPED_TRACE(op.number);
      if (op.number < 900)
        numbers.push_back(op.number);
      EXPECT_NE(op.title, "");
      EXPECT_NE(op.kernel, "");
      EXPECT_FALSE(op.small.empty());
      for (const Sizes &small : op.small)
        EXPECT_EQ(small.size(), op.full.size());
    }
  EXPECT_THAT(numbers, ::testing::UnorderedElementsAreArray(expected));
}

} // namespace
} // namespace kernelc::conformance
