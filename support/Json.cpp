// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kernelc {
namespace {

/// Length of the well-formed UTF-8 sequence at the front; 0 when there is none.
size_t utf8Length(absl::string_view s) {
  auto at = [&](size_t i) -> unsigned { return i < s.size() ? uint8_t(s[i]) : 0; };
  auto follows = [&](size_t i) { return (at(i) & 0xc0) == 0x80; };
  unsigned c = at(0);
  if (s.empty())
    return 0;
  if (c < 0x80)
    return 1;
  if (c >= 0xc2 && c <= 0xdf)
    return follows(1) ? 2 : 0;
  if (c >= 0xe0 && c <= 0xef) {
    bool overlong = c == 0xe0 && at(1) < 0xa0, surrogate = c == 0xed && at(1) >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    bool overlong = c == 0xf0 && at(1) < 0x90, beyond = c == 0xf4 && at(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void appendUtf8(std::string *out, uint32_t c) {
  if (c < 0x80) {
    out->push_back(char(c));
  } else if (c < 0x800) {
    out->push_back(char(0xc0 | c >> 6));
    out->push_back(char(0x80 | (c & 63)));
  } else if (c < 0x10000) {
    out->push_back(char(0xe0 | c >> 12));
    out->push_back(char(0x80 | (c >> 6 & 63)));
    out->push_back(char(0x80 | (c & 63)));
  } else {
    out->push_back(char(0xf0 | c >> 18));
    out->push_back(char(0x80 | (c >> 12 & 63)));
    out->push_back(char(0x80 | (c >> 6 & 63)));
    out->push_back(char(0x80 | (c & 63)));
  }
}

/// Characters that stand in strings as they are.
struct PlainChars {
  bool is[256] = {};
  constexpr PlainChars() {
    for (int c = 0x20; c < 0x80; ++c)
      is[c] = c != '"' && c != '\\';
  }
};
constexpr PlainChars kPlain;

/// The names of an object's members: a few are compared, more are hashed.
class MemberNames {
public:
  /// False: `members`, which were inserted before, have one of that name.
  bool insert(const std::string &name, const JsonObject &members) {
    if (members.size() < kFew)
      return std::none_of(members.begin(), members.end(), [&](const auto &m) { return m.first == name; });
    if (hashed_.empty())
      for (const auto &[before, value] : members)
        hashed_.insert(before);
    return hashed_.insert(name).second;
  }

private:
  static constexpr size_t kFew = 24;
  absl::flat_hash_set<std::string> hashed_;
};

/// Recursive descent; the first error stops it.
class Reader {
public:
  Reader(absl::string_view text, const JsonLimits &limits) : text_(text), limits_(limits) {}
  /// Notes where the value at `path` stands.
  std::optional<JsonSpan> find(const std::vector<std::string> &path) {
    sought_ = &path;
    absl::StatusOr<Json> all = run();
    if (all.ok() && path.empty())
      return JsonSpan{0, 0, text_.find_first_not_of(" \t\r\n"), pos_};
    return all.ok() ? found_ : std::nullopt;
  }

  absl::StatusOr<Json> run() {
    if (text_.size() > limits_.maxBytes)
      return absl::InvalidArgumentError(absl::StrCat("JSON of ", text_.size(), " bytes is above the limit of ", limits_.maxBytes));
    Json result;
    skipSpace();
    if (value(&result, 0)) {
      skipSpace();
      if (pos_ != text_.size())
        fail("expected the end of the text");
    }
    if (!error_.empty())
      return absl::InvalidArgumentError(error_);
    return result;
  }

private:
  bool fail(absl::string_view what) {
    if (!error_.empty())
      return false;
    size_t line = 1, begin = 0;
    for (size_t i = 0; i < pos_ && i < text_.size(); ++i)
      if (text_[i] == '\n') {
        ++line;
        begin = i + 1;
      }
    error_ = absl::StrCat(line, ":", pos_ - begin + 1, ": ", what);
    return false;
  }
  char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }
  void skipSpace() {
    while (pos_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r'))
      ++pos_;
  }
  bool expect(char c) {
    skipSpace();
    if (peek() != c || pos_ == text_.size())
      return fail(absl::StrCat("expected '", std::string(1, c), "'"));
    ++pos_;
    skipSpace();
    return true;
  }

  bool value(Json *out, int depth) {
    if (depth > limits_.maxDepth)
      return fail(absl::StrCat("nested deeper than ", limits_.maxDepth));
    if (++values_ > limits_.maxValues)
      return fail("too many values");
    switch (peek()) {
    case '{': return object(out, depth);
    case '[': return array(out, depth);
    case '"': {
      std::string s;
      if (!string(&s))
        return false;
      *out = Json(std::move(s));
      return true;
    }
    case 't': return word("true", Json(true), out);
    case 'f': return word("false", Json(false), out);
    case 'n': return word("null", Json(), out);
    default: return number(out);
    }
  }

  /// The value of a member or element, one step down the path.
  bool step(absl::string_view name, JsonSpan span, Json *out, int depth) {
    bool follows = sought_ && onPath_ == size_t(depth) && onPath_ < sought_->size() && (*sought_)[onPath_] == name;
    onPath_ += follows;
    span.value = pos_;
    if (!value(out, depth + 1))
      return false;
    span.valueEnd = pos_;
    if (follows && onPath_ == sought_->size())
      found_ = span;
    onPath_ -= follows;
    return true;
  }

  const char *expectedValue() const {
    if (peek() == '/' || peek() == '#')
      return "expected a value; JSON has no comments";
    if (peek() == '\'')
      return "expected a value; JSON has double quotes, as in \"text\"";
    if (absl::StartsWith(text_.substr(pos_), "True") || absl::StartsWith(text_.substr(pos_), "False"))
      return "expected a value; JSON has true and false";
    if (absl::StartsWith(text_.substr(pos_), "None"))
      return "expected a value; JSON has null";
    if (absl::ascii_isalpha(peek()))
      return "expected a value; words stand in double quotes, as in \"text\"";
    return "expected a value";
  }

  bool word(absl::string_view w, Json v, Json *out) {
    if (text_.substr(pos_, w.size()) != w)
      return fail(expectedValue());
    pos_ += w.size();
    *out = std::move(v);
    return true;
  }

  bool object(Json *out, int depth) {
    JsonObject members;
    MemberNames names;
    if (!expect('{'))
      return false;
    while (peek() != '}') {
      std::string name;
      if (!members.empty() && !expect(','))
        return false;
      if (peek() == '}')
        return fail("expected a member; JSON has no ',' after the last one");
      if (peek() != '"')
        return fail(peek() == '\'' ? "expected a member name in double quotes, as in \"name\"" : "expected a member name in quotes");
      JsonSpan span;
      span.name = pos_;
      if (!string(&name))
        return false;
      span.nameEnd = pos_;
      if (!names.insert(name, members))
        return fail(absl::StrCat("member \"", name, "\" stands twice"));
      members.emplace_back(std::move(name), Json());
      if (!expect(':') || !step(members.back().first, span, &members.back().second, depth))
        return false;
      skipSpace();
    }
    ++pos_;
    *out = Json(std::move(members));
    return true;
  }

  bool array(Json *out, int depth) {
    JsonArray items;
    if (!expect('['))
      return false;
    while (peek() != ']') {
      if (!items.empty() && !expect(','))
        return false;
      if (peek() == ']')
        return fail("expected a value; JSON has no ',' after the last one");
      const std::string number = sought_ ? std::to_string(items.size()) : "";
      items.emplace_back();
      if (!step(number, {}, &items.back(), depth))
        return false;
      skipSpace();
    }
    ++pos_;
    *out = Json(std::move(items));
    return true;
  }

  bool hex4(uint32_t *c) {
    *c = 0;
    for (int i = 0; i < 4; ++i, ++pos_) {
      char h = peek();
      int digit = h >= '0' && h <= '9' ? h - '0' : h >= 'a' && h <= 'f' ? h - 'a' + 10 : h >= 'A' && h <= 'F' ? h - 'A' + 10 : -1;
      if (digit < 0)
        return fail("expected four hexadecimal digits");
      *c = *c * 16 + uint32_t(digit);
    }
    return true;
  }

  bool escape(std::string *out) {
    static constexpr absl::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    char e = peek();
    ++pos_;
    if (size_t i = kNames.find(e); e && i != absl::string_view::npos) {
      out->push_back(kValues[i]);
      return true;
    }
    uint32_t c = 0, low = 0;
    if (e != 'u')
      return fail("unknown escape");
    if (!hex4(&c))
      return false;
    if (c >= 0xdc00 && c <= 0xdfff)
      return fail("a surrogate stands alone");
    if (c >= 0xd800 && c <= 0xdbff) {
      if (text_.substr(pos_, 2) != "\\u")
        return fail("a surrogate stands alone");
      pos_ += 2;
      if (!hex4(&low))
        return false;
      if (low < 0xdc00 || low > 0xdfff)
        return fail("a surrogate stands alone");
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    appendUtf8(out, c);
    return true;
  }

  bool string(std::string *out) {
    ++pos_; // the quote
    while (true) {
      size_t begin = pos_;
      while (pos_ < text_.size() && kPlain.is[uint8_t(text_[pos_])])
        ++pos_;
      out->append(text_.data() + begin, pos_ - begin);
      if (pos_ >= text_.size())
        return fail("the string does not end");
      char c = text_[pos_];
      if (c == '"') {
        ++pos_;
        return true;
      }
      if (uint8_t(c) < 0x20)
        return fail("a control character in a string must be escaped");
      if (c == '\\') {
        ++pos_;
        if (!escape(out))
          return false;
        continue;
      }
      size_t n = utf8Length(text_.substr(pos_));
      if (n == 0)
        return fail("bytes that are no UTF-8");
      out->append(text_.data() + pos_, n);
      pos_ += n;
    }
  }

  bool digits() {
    size_t begin = pos_;
    while (peek() >= '0' && peek() <= '9')
      ++pos_;
    return pos_ > begin || fail("expected a digit");
  }

  bool number(Json *out) {
    size_t begin = pos_;
    bool isInteger = true;
    if (peek() == '-')
      ++pos_;
    if (!(peek() >= '0' && peek() <= '9'))
      return fail(expectedValue());
    if (peek() == '0')
      ++pos_; // no digits may follow: "01" then fails as trailing text
    else if (!digits())
      return false;
    if (peek() == '.') {
      isInteger = false;
      ++pos_;
      if (!digits())
        return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      isInteger = false;
      ++pos_;
      if (peek() == '+' || peek() == '-')
        ++pos_;
      if (!digits())
        return false;
    }
    absl::string_view token = text_.substr(begin, pos_ - begin);
    if (isInteger) {
      int64_t v = 0;
      if (!absl::SimpleAtoi(token, &v))
        return fail("an integer beyond 64 bits");
      *out = Json(v);
      return true;
    }
    double d = 0;
    if (!absl::SimpleAtod(token, &d) || !std::isfinite(d))
      return fail("a number beyond the range of double");
    *out = Json(d);
    return true;
  }

  absl::string_view text_;
  const JsonLimits &limits_;
  size_t pos_ = 0, values_ = 0;
  const std::vector<std::string> *sought_ = nullptr;
  size_t onPath_ = 0; ///< steps of `sought_` that lead to where the reader is
  std::optional<JsonSpan> found_;
  std::string error_;
};

class Writer {
public:
  explicit Writer(int indent) : indent_(indent) {}

  bool value(const Json &v, int level) {
    if (v.isNull()) {
      out += "null";
    } else if (auto *b = v.asBool()) {
      out += *b ? "true" : "false";
    } else if (auto *i = v.asInt()) {
      absl::StrAppend(&out, *i);
    } else if (auto *d = v.asDouble()) {
      return number(*d);
    } else if (auto *s = v.asString()) {
      return string(*s);
    } else if (auto *a = v.asArray()) {
      // Arrays of plain values stay on one line.
      bool plain = true;
      for (const Json &e : *a)
        plain &= !e.asArray() && !e.asObject();
      return items(a->size(), '[', ']', plain ? -1 : level, [&](size_t i) { return value((*a)[i], level + 1); });
    } else {
      const JsonObject &o = *v.asObject();
      return items(o.size(), '{', '}', level, [&](size_t i) {
        if (!string(o[i].first))
          return false;
        out += indent_ ? ": " : ":";
        return value(o[i].second, level + 1);
      });
    }
    return true;
  }

  std::string out;

private:
  template <typename Item> bool items(size_t n, char open, char close, int level, Item item) {
    bool lines = indent_ && level >= 0 && n > 0;
    out += open;
    for (size_t i = 0; i < n; ++i) {
      if (i)
        out += lines || !indent_ ? "," : ", ";
      if (lines)
        newline(level + 1);
      if (!item(i))
        return false;
    }
    if (lines)
      newline(level);
    out += close;
    return true;
  }
  void newline(int level) {
    out += '\n';
    out.append(size_t(level) * size_t(indent_), ' ');
  }
  bool number(double d) {
    if (!std::isfinite(d))
      return false;
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof(buffer), d).ptr; // shortest that reads back
    absl::string_view s(buffer, size_t(end - buffer));
    absl::StrAppend(&out, s, s.find_first_of(".e") == absl::string_view::npos ? ".0" : "");
    return true;
  }
  bool string(const std::string &s) {
    if (!isUtf8(s))
      return false;
    out += '"';
    for (char c : s) {
      switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      default:
        if (uint8_t(c) < 0x20)
          absl::StrAppendFormat(&out, "\\u%04x", unsigned(c));
        else
          out += c;
      }
    }
    out += '"';
    return true;
  }
  int indent_;
};

} // namespace

const char *Json::kindName() const {
  static constexpr const char *kNames[] = {"null", "a boolean", "an integer", "a number", "a string", "an array", "an object"};
  return kNames[value_.index()];
}

const Json *Json::find(absl::string_view name) const {
  if (const JsonObject *o = asObject())
    for (const auto &[key, value] : *o)
      if (key == name)
        return &value;
  return nullptr;
}

absl::StatusOr<Json> parseJson(absl::string_view text, const JsonLimits &limits) { return Reader(text, limits).run(); }

std::optional<JsonSpan> findInJson(absl::string_view text, const std::vector<std::string> &path) { return Reader(text, {}).find(path); }

absl::StatusOr<std::string> printJson(const Json &value, int indent) {
  Writer writer(indent);
  if (!writer.value(value, 0))
    return absl::InvalidArgumentError("JSON holds neither bytes that are no UTF-8 nor numbers that are not finite");
  return std::move(writer.out);
}

bool isUtf8(absl::string_view bytes) {
  while (!bytes.empty()) {
    size_t n = utf8Length(bytes);
    if (n == 0)
      return false;
    bytes.remove_prefix(n);
  }
  return true;
}

} // namespace kernelc
