// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The JSON reader against the grammar, and print after parse as identity.
#include "support/Json.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gmock/gmock.h>

namespace kernelc {
namespace {

using testing::HasSubstr;

std::string errorOf(absl::string_view text, JsonLimits limits = {}) {
  auto r = parseJson(text, limits);
  return r.ok() ? "ok" : std::string(r.status().message());
}

TEST(Json, ReadsEveryKind) {
  auto j = parseJson(R"( {"a": [1, -2, 3.5, 1e3, true, false, null], "b": {"c": "x"}} )");
  ASSERT_TRUE(j.ok()) << j.status();
  const JsonArray &a = *j->find("a")->asArray();
  EXPECT_EQ(*a[0].asInt(), 1);
  EXPECT_EQ(*a[1].asInt(), -2);
  EXPECT_EQ(*a[2].asDouble(), 3.5);
  EXPECT_EQ(*a[3].asDouble(), 1000.0);
  EXPECT_TRUE(*a[4].asBool());
  EXPECT_FALSE(*a[5].asBool());
  EXPECT_TRUE(a[6].isNull());
  EXPECT_EQ(*j->find("b")->find("c")->asString(), "x");
  EXPECT_EQ(j->find("none"), nullptr);
  EXPECT_EQ(a[0].find("x"), nullptr);
}

TEST(Json, Strings) {
  EXPECT_EQ(*parseJson(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00")")->asString(),
            "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(parseJson(R"("\u0000")")->asString()->size(), 1u);
  for (const char *bad : {R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")", R"("\x")", R"("\u12g4")", "\"\n\"", "\"abc", "\"\\", "\"\\u",
                          "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\""})
    EXPECT_NE(errorOf(bad), "ok") << bad;
}

TEST(Json, RefusesWhatTheGrammarRefuses) {
  for (const char *bad : {"",          " ",        "{",   "[",   "]",   "[1,]", "[,1]", "[1 2]",   "{\"a\":1,}", "{a:1}",
                          "{\"a\" 1}", "{\"a\":}", "01",  "-",   "+1",  ".5",   "1.",   "1e",      "1e+",        "0x1",
                          "NaN",       "Infinity", "tru", "nul", "1 2", "[1]]", "'a'",  "// c\n1", "1e999",      "99999999999999999999"})
    EXPECT_NE(errorOf(bad), "ok") << bad;
  for (const char *good : {"0", "-0", "1", "-1.5e-3", "[]", "{}", "\"\"", "null", "9223372036854775807", "-9223372036854775808"})
    EXPECT_EQ(errorOf(good), "ok") << good;
}

TEST(Json, ErrorsHavePlaces) {
  EXPECT_EQ(errorOf("{\n  \"a\": 1,\n  \"a\": 2}"), "3:6: member \"a\" stands twice");
  EXPECT_EQ(errorOf("[1,\n x]"), "2:2: expected a value; words stand in double quotes, as in \"text\"");
}

TEST(Json, Limits) {
  EXPECT_EQ(errorOf(std::string(33, '[') + std::string(33, ']')), "ok");
  EXPECT_THAT(errorOf(std::string(34, '[') + std::string(34, ']')), HasSubstr("nested deeper than 32"));
  EXPECT_THAT(errorOf(std::string(1000000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(errorOf("[1,2,3]", {100, 8, 3}), HasSubstr("too many values"));
  EXPECT_THAT(errorOf("[1,2,3]", {5, 8, 30}), HasSubstr("above the limit of 5"));
}

TEST(Json, PrintsWhatItRead) {
  for (const char *text :
       {R"({"a":[1,2.5,"x\n\u0001\"",null,true],"b":{},"c":[],"d":[[1],{"e":-0.0}]})", "1e+300", "0.1", "-9223372036854775808"}) {
    auto j = parseJson(text);
    ASSERT_TRUE(j.ok()) << j.status();
    for (int indent : {0, 1, 2}) {
      auto printed = printJson(*j, indent);
      ASSERT_TRUE(printed.ok());
      EXPECT_EQ(*parseJson(*printed), *j) << *printed;
    }
  }
  EXPECT_EQ(*printJson(*parseJson(R"({"a": [1, 2], "b": [{"c": 1.0}]})"), 1),
            "{\n \"a\": [1, 2],\n \"b\": [\n  {\n   \"c\": 1.0\n  }\n ]\n}");
  EXPECT_EQ(*printJson(*parseJson(R"({"a": [1, 2]})")), R"({"a":[1,2]})");
}

TEST(Json, RefusesToPrintWhatJsonCannotSay) {
  EXPECT_FALSE(printJson(Json(std::string("\xff"))).ok());
  EXPECT_FALSE(printJson(Json(std::numeric_limits<double>::infinity())).ok());
  EXPECT_FALSE(printJson(JsonObject{{"\xc3", Json()}}).ok());
}

TEST(Json, RandomDoublesSurvive) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random();
    double d;
    memcpy(&d, &bits, 8);
    if (std::isfinite(d)) {
      auto back = parseJson(*printJson(Json(d)));
      ASSERT_TRUE(back.ok() && back->asDouble()) << d;
      ASSERT_EQ(*back->asDouble(), d);
    }
  }
}

TEST(Json, AValueIsFoundByItsPath) {
  std::string text = "[ {\"a\": 1}, {\"b\": {\"a\": \"x\", \"c\": [2, 34]}} ]";
  auto at = [&](const std::vector<std::string> &path) {
    std::optional<JsonSpan> s = findInJson(text, path);
    return s ? text.substr(s->name, s->nameEnd - s->name) + "=" + text.substr(s->value, s->valueEnd - s->value) : "none";
  };
  EXPECT_EQ(at({"0", "a"}), "\"a\"=1");
  EXPECT_EQ(at({"1", "b", "a"}), "\"a\"=\"x\"");
  EXPECT_EQ(at({"1", "b", "c", "1"}), "=34");
  EXPECT_EQ(at({"1"}), "={\"b\": {\"a\": \"x\", \"c\": [2, 34]}}");
  EXPECT_EQ(at({}), "=" + text);
  EXPECT_EQ(at({"1", "a"}), "none"); // one step deeper, under another name
  EXPECT_EQ(at({"0", "b"}), "none");
  EXPECT_EQ(at({"2"}), "none");
}

TEST(Json, ACommaBehindTheLastIsNamed) {
  EXPECT_EQ(parseJson("[1,]").status().message(), "1:4: expected a value; JSON has no ',' after the last one");
  EXPECT_EQ(parseJson("{\"a\": 1,\n}").status().message(), "2:1: expected a member; JSON has no ',' after the last one");
}

} // namespace
} // namespace kernelc
