// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a `#line` mark means, and the text that compilers get.
#include "support/LineMarks.h"

#include <gtest/gtest.h>

namespace kernelc {
namespace {

const char kText[] = "// helpers\n"
                     "#line 3 \"a.kc\"\n"
                     "void f() {\n"
                     "  x();\n"
                     "\n"
                     "#line 5 \"b.kc\"\n"
                     "  y();\n"
                     "#line 3 \"a.kc\"\n"
                     "  z(1, \\\n"
                     "    2);\n"
                     "}\n";

TEST(LineMarks, HoldUntilTheNext) {
  LineMarks marks(kText);
  EXPECT_EQ(marks.at(1).line, 0) << "nothing stands before it";
  EXPECT_EQ(marks.at(2).line, 0) << "a mark";
  for (int line : {3, 4, 5, 9, 10, 11}) {
    EXPECT_EQ(marks.at(line).file, "a.kc") << line;
    EXPECT_EQ(marks.at(line).line, 3) << line;
  }
  EXPECT_EQ(marks.at(7).file, "b.kc");
  EXPECT_EQ(marks.at(7).line, 5);
  EXPECT_EQ(marks.textOf(7), "  y();");
  EXPECT_EQ(marks.at(0).line, 0);
  EXPECT_EQ(marks.at(99).line, 0);
}

TEST(LineMarks, BlankedKeepsLineNumbers) {
  std::string blanked = LineMarks(kText).blanked();
  EXPECT_EQ(blanked, "// helpers\n\nvoid f() {\n  x();\n\n\n  y();\n\n  z(1, \\\n    2);\n}\n");
  EXPECT_EQ(LineMarks("no end").blanked(), "no end");
}

TEST(LineMarks, PinnedStopsTheCount) {
  EXPECT_EQ(LineMarks(kText).pinned(), "// helpers\n"
                                       "#line 3 \"a.kc\"\n"
                                       "void f() {\n"
                                       "#line 3\n"
                                       "  x();\n"
                                       "\n"
                                       "#line 5 \"b.kc\"\n"
                                       "  y();\n"
                                       "#line 3 \"a.kc\"\n"
                                       "  z(1, \\\n"
                                       "    2);\n"
                                       "#line 3\n"
                                       "}\n");
  EXPECT_EQ(LineMarks("int a;\nint b;\n").pinned(), "int a;\nint b;\n");
}

TEST(LineMarks, PinningTwiceIsPinningOnce) {
  std::string once = LineMarks(kText).pinned();
  EXPECT_EQ(LineMarks(once).pinned(), once);
}

TEST(LineMarks, AnyTextIsSafe) {
  for (const char *text :
       {"", "\n", "#", "#line", "#line x", "#line 99999999999 \"a\"", "#line 4", "#line 4 \"", "#liner 4 \"a\"\nx", "\\"}) {
    LineMarks marks(text);
    for (int line = -1; line < 4; ++line)
      EXPECT_EQ(marks.at(line).line, 0) << text;
    EXPECT_EQ(marks.pinned(), text);
  }
}

} // namespace
} // namespace kernelc
