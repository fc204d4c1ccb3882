// The examples of docs/language.md: a block ```kc compiles, a block
// ```kc error: TEXT is refused with a message that contains TEXT.
#include "test/frontend/FrontendTesting.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

TEST(Docs, ExamplesOfTheLanguageReference) {
  std::ifstream in(std::string(KERNELC_DOCS) + "/language.md");
  ASSERT_TRUE(in) << "docs/language.md is missing";
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
      std::string where = "docs/language.md:" + std::to_string(start);
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
  EXPECT_GE(blocks, 25u);
}

} // namespace
} // namespace kernelc::frontend
