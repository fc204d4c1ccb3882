// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The examples of docs/language.md and docs/limits.md: a block ```kc compiles, a block
// ```kc error: TEXT is refused with a message that contains TEXT.
#include "test/frontend/FrontendTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

/// Holds the blocks of a page to their marks; there have to be at least so many.
void checkPage(const std::string &page, unsigned least) {
  std::ifstream in(std::string(KERNELC_DOCS) + "/" + page);
  ASSERT_TRUE(in) << "docs/" << page << " is missing";
  std::string line, info, text;
  unsigned number = 0, start = 0, blocks = 0;
  while (std::getline(in, line)) {
    ++number;
    if (line.rfind("```kc", 0) == 0) {
      info = line.substr(5);
      text.clear();
      start = number;
    } else if (line == "```" && start) {
      ++blocks;
      Imported r(text);
      std::string where = "docs/" + page + ":" + std::to_string(start);
      if (info.empty()) {
        EXPECT_TRUE(r.module) << where << ": " << (r.errors.empty() ? "" : r.errors.front());
        EXPECT_NE(formatted(text), "<failed>") << where;
      } else {
        ASSERT_EQ(info.rfind(" error: ", 0), 0u) << where << ": unknown mark '" << info << "'";
        EXPECT_FALSE(r.module) << where;
        EXPECT_THAT(r.errors, testing::Contains(testing::HasSubstr(info.substr(8)))) << where;
      }
      start = 0;
    } else if (start) {
      text += line + "\n";
    }
  }
  EXPECT_GE(blocks, least);
}

TEST(Docs, ExamplesOfTheLanguageReference) { checkPage("language.md", 25); }
TEST(Docs, GapsOfTheLimits) { checkPage("limits.md", 20); }

} // namespace
} // namespace kernelc::frontend
