#include "support/StrictJson.h"

#include <cstring>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kernelc {
namespace {

class Parser {
public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<JsonValue> parse() {
    JsonValue v;
    if (value(v, 0)) {
      space();
      if (at_ == text_.size())
        return v;
      fail("nothing more");
    }
    return absl::InvalidArgumentError(absl::StrCat("JSON: expected ", expected_, " at byte ", at_));
  }

private:
  static constexpr int kMaxDepth = 64;

  bool fail(const char *expected) {
    if (!expected_)
      expected_ = expected;
    return false;
  }
  void space() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) && text_[at_])
      ++at_;
  }
  bool eat(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c)
      return false;
    ++at_;
    return true;
  }
  bool word(absl::string_view w) {
    if (text_.substr(at_, w.size()) != w)
      return false;
    at_ += w.size();
    return true;
  }

  bool value(JsonValue &v, int depth) {
    space();
    if (at_ >= text_.size() || depth > kMaxDepth)
      return fail(depth > kMaxDepth ? "less nesting" : "a value");
    char c = text_[at_];
    if (c == '{')
      return object(v, depth);
    if (c == '[')
      return array(v, depth);
    if (c == '"') {
      v.kind = JsonValue::String;
      return string(v.string);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
      return number(v);
    if (word("true") || word("false")) {
      v.kind = JsonValue::Bool;
      v.boolean = c == 't';
      return true;
    }
    return word("null") || fail("a value");
  }

  bool object(JsonValue &v, int depth) {
    v.kind = JsonValue::Object;
    ++at_;
    if (eat('}'))
      return true;
    absl::flat_hash_set<std::string> keys;
    do {
      space();
      std::string key;
      if (at_ >= text_.size() || text_[at_] != '"' || !string(key))
        return fail("a key");
      if (!keys.insert(key).second)
        return fail("a key that is not there twice");
      if (!eat(':'))
        return fail("':'");
      v.object.push_back({std::move(key), JsonValue()});
      if (!value(v.object.back().value, depth + 1))
        return false;
    } while (eat(','));
    return eat('}') || fail("',' or '}'");
  }

  bool array(JsonValue &v, int depth) {
    v.kind = JsonValue::Array;
    ++at_;
    if (eat(']'))
      return true;
    do {
      v.array.emplace_back();
      if (!value(v.array.back(), depth + 1))
        return false;
    } while (eat(','));
    return eat(']') || fail("',' or ']'");
  }

  bool digits() {
    size_t start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
      ++at_;
    return at_ > start;
  }

  bool number(JsonValue &v) {
    size_t start = at_;
    bool integer = true;
    if (text_[at_] == '-')
      ++at_;
    size_t first = at_;
    if (!digits() || (text_[first] == '0' && at_ > first + 1))
      return fail("a number without leading zeros");
    if (at_ < text_.size() && text_[at_] == '.') {
      integer = false;
      ++at_;
      if (!digits())
        return fail("digits");
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      integer = false;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-'))
        ++at_;
      if (!digits())
        return fail("digits");
    }
    absl::string_view token = text_.substr(start, at_ - start);
    if (!absl::SimpleAtod(token, &v.number))
      return fail("a number");
    v.kind = integer && absl::SimpleAtoi(token, &v.integer) ? JsonValue::Integer : JsonValue::Number;
    return true;
  }

  bool hex4(unsigned &to) {
    to = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      char c = at_ < text_.size() ? text_[at_] : 0;
      int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
      if (d < 0)
        return fail("four hexadecimal digits");
      to = to << 4 | unsigned(d);
    }
    return true;
  }

  static void encode(unsigned c, std::string &to) {
    if (c < 0x80) {
      to += char(c);
    } else if (c < 0x800) {
      to += {char(0xc0 | c >> 6), char(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      to += {char(0xe0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    } else {
      to += {char(0xf0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
    }
  }

  bool escape(std::string &to) {
    static const char kFrom[] = "\"\\/bfnrt", kTo[] = "\"\\/\b\f\n\r\t";
    char c = at_ < text_.size() ? text_[at_++] : 0;
    if (const char *p = c ? std::strchr(kFrom, c) : nullptr) {
      to += kTo[p - kFrom];
      return true;
    }
    unsigned code;
    if (c != 'u' || !hex4(code))
      return fail("an escape");
    if (code >= 0xd800 && code < 0xdc00) {
      unsigned low;
      if (!word("\\u") || !hex4(low) || low < 0xdc00 || low > 0xdfff)
        return fail("the second half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      return fail("a character");
    }
    encode(code, to);
    return true;
  }

  /// One UTF-8 sequence of more than one byte: shortest form, no surrogates.
  bool multibyte(std::string &to) {
    unsigned char c = static_cast<unsigned char>(text_[at_]);
    unsigned n = c >= 0xf0 && c < 0xf5 ? 3 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xc2 && c < 0xe0 ? 1 : 0;
    if (!n || at_ + n >= text_.size())
      return fail("valid UTF-8");
    unsigned code = c & (0x3f >> n);
    for (unsigned i = 1; i <= n; ++i) {
      unsigned char d = static_cast<unsigned char>(text_[at_ + i]);
      if ((d & 0xc0) != 0x80)
        return fail("valid UTF-8");
      code = code << 6 | (d & 63);
    }
    if ((n == 2 && code < 0x800) || (n == 3 && (code < 0x10000 || code > 0x10ffff)) || (code >= 0xd800 && code < 0xe000))
      return fail("valid UTF-8");
    to.append(text_.data() + at_, n + 1);
    at_ += n + 1;
    return true;
  }

  bool string(std::string &to) {
    ++at_;
    while (at_ < text_.size()) {
      unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20)
        return fail("no control characters in a string");
      if (c >= 0x80) {
        if (!multibyte(to))
          return false;
        continue;
      }
      ++at_;
      if (c != '\\')
        to += char(c);
      else if (!escape(to))
        return false;
    }
    return fail("'\"'");
  }

  absl::string_view text_;
  size_t at_ = 0;
  const char *expected_ = nullptr;
};

} // namespace

const JsonValue *JsonValue::find(absl::string_view key) const {
  for (auto &[k, v] : object)
    if (k == key)
      return &v;
  return nullptr;
}

absl::StatusOr<JsonValue> parseJson(absl::string_view text) { return Parser(text).parse(); }

std::string quoteJson(absl::string_view text) {
  std::string s = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      s += {'\\', char(c)};
    else if (c < 0x20)
      absl::StrAppendFormat(&s, "\\u%04x", c);
    else
      s += char(c);
  }
  return s + '"';
}

} // namespace kernelc
