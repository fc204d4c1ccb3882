// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/fuzz/Program.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kernelc::fuzz {
namespace {

bool isSize(const std::string &s, size_t at) {
  auto word = [](char c) { return std::isalnum((unsigned char)c) || c == '_'; };
  return s[at] >= 'A' && s[at] <= 'F' && (at == 0 || !word(s[at - 1])) && (at + 1 == s.size() || !word(s[at + 1]));
}

/// The text of one kernel while its parameters are found.
class Printer {
public:
  explicit Printer(const Program &program) : program_(program) {}

  std::string run() {
    std::string body;
    for (const std::string &c : program_.clauses)
      absl::StrAppend(&body, "  ", c, "\n");
    std::vector<std::string> outputs, inouts;
    for (const Statement &s : program_.statements) {
      std::string dims = withConstants(dimsOf(s.left)), typed = absl::StrCat(s.target, ": ", s.element, "[", dims, "]");
      std::vector<std::string> &list = s.inout ? inouts : outputs;
      if (!s.let && std::find(list.begin(), list.end(), typed) == list.end())
        list.push_back(typed);
      bool packed = s.element == "i4" || s.element == "u4" || s.element == "i8"; // an i32 has to be cast
      std::string value = packed ? absl::StrCat(s.element, "(", print(s.value), ")") : print(s.value);
      absl::StrAppend(&body, s.let ? "  let " : "  ", s.target, "[",
                      absl::StrJoin(s.left, ", ", [](std::string *o, const Subscript &x) { *o += x.text; }), "]",
                      s.let && !s.element.empty() ? ": " + s.element : "", " ", s.op, " ", value,
                      s.where.empty() ? "" : " where " + s.where, "\n");
    }
    body = withConstants(body);
    std::vector<std::string> all;
    for (const Param &p : params_)
      all.push_back(absl::StrCat(p.name, ": ", p.type, "[", p.dims, "]"));
    // Behind the kernel's own text: names are looked for in it.
    std::string functions = printFunctions(body);
    std::string everything = absl::StrCat(body, absl::StrJoin(outputs, " "), absl::StrJoin(inouts, " "), absl::StrJoin(all, " "));
    std::set<char> used;
    for (size_t i = 0; i < everything.size(); i++)
      if (isSize(everything, i))
        used.insert(everything[i]);
    for (char size : used)
      if (!isGiven(size))
        all.push_back(absl::StrCat("size", std::string(1, char(size - 'A' + 'a')), ": f32[", std::string(1, size), "]"));
    for (const std::string &s : inouts)
      all.push_back("inout " + s);
    for (const Constant &c : program_.compileTime)
      if (mentions(everything + functions, c.name))
        all.push_back(absl::StrCat("const ", c.name, ": ", c.type, " = ", c.value));
    return absl::StrCat(functions, "def fuzz(", absl::StrJoin(all, ", "), ")",
                        outputs.empty() ? "" : " -> (" + absl::StrJoin(outputs, ", ") + ")", " {\n", body, "}\n");
  }

private:
  struct Param {
    std::string name, type, dims, number;
  };

  static bool mentions(const std::string &text, const std::string &name) { return text.find(name) != std::string::npos; }

  /// Those that `body` calls, and those that these call.
  std::string printFunctions(const std::string &body) {
    std::string text;
    for (auto f = program_.functions.rbegin(); f != program_.functions.rend(); ++f)
      if (mentions(body, f->name) || mentions(text, f->name))
        text = absl::StrCat("fn ", f->name, f->indices, "(", f->params, ")", f->result, " { ", print(f->body), " }\n", text);
    return text;
  }

  static std::string dimsOf(const std::vector<Subscript> &list) {
    return absl::StrJoin(list, ", ", [](std::string *o, const Subscript &x) { *o += x.dim; });
  }
  std::string withConstants(const std::string &s) const {
    std::string out;
    for (size_t i = 0; i < s.size(); i++) {
      auto constant = isSize(s, i) ? program_.constants.find(s[i]) : program_.constants.end();
      absl::StrAppend(&out, constant == program_.constants.end() ? std::string(1, s[i]) : std::to_string(constant->second));
    }
    return out;
  }
  bool isGiven(char size) const {
    return std::any_of(params_.begin(), params_.end(), [&](const Param &p) {
      std::string dims = ", " + p.dims + ",";
      return dims.find(absl::StrCat(", ", std::string(1, size), ",")) != std::string::npos;
    });
  }

  std::string paramOf(const Expr &read) {
    std::string dims = withConstants(dimsOf(read.subscripts));
    for (const Param &p : params_)
      if (p.type == read.text && p.dims == dims && p.number == read.name)
        return p.name;
    params_.push_back({"x" + std::to_string(params_.size()), read.text, dims, read.name});
    return params_.back().name;
  }

  std::string print(const Expr &e) {
    switch (e.kind) {
    case Expr::Plain: return expand(e.text, e.args);
    case Expr::Read: {
      std::string tensor = e.text.empty() ? e.name : paramOf(e);
      std::string inside = absl::StrJoin(e.subscripts, ", ", [](std::string *o, const Subscript &x) { *o += x.text; });
      return absl::StrCat(tensor, e.bounds, "[", expand(inside, e.args), "]");
    }
    case Expr::Reduce: {
      std::string element = print(e.args[0]);
      std::vector<std::string> bracket;
      for (size_t i = 0; i < e.indices.size(); i++) {
        const std::string &k = e.indices[i];
        bracket.push_back(!e.ranges[i].empty()        ? e.ranges[i]
                          : standsAlone(e.args[0], k) ? k
                                                      : absl::StrCat(k, " in 0:", std::string(1, sizeOf(k))));
      }
      for (size_t i = 1; i < e.args.size(); i++)
        bracket.push_back(print(e.args[i]));
      return absl::StrCat(e.text, "[", absl::StrJoin(bracket, ", "), "](", element, ")");
    }
    }
    return "";
  }

  std::string expand(const std::string &text, const std::vector<Expr> &args) {
    std::string out;
    for (size_t i = 0; i < text.size(); i++)
      if (text[i] == '$')
        out += print(args[size_t(text[++i] - '0')]);
      else
        out += text[i];
    return out;
  }

  /// Whether an access inside gives the range of `index`.
  static bool standsAlone(const Expr &e, const std::string &index) {
    bool found = false;
    walk(e, [&](const Expr &x) {
      for (const Subscript &s : x.subscripts)
        found |= x.kind == Expr::Read && x.bounds.empty() && !x.text.empty() && s.text == index;
    });
    return found;
  }

  const Program &program_;
  std::vector<Param> params_;
};

} // namespace

const char *typeName(Class c) {
  static const char *const names[] = {"f32", "f64", "i32", "i64", "u32", "u64", "bool"};
  return names[int(c)];
}

std::string Program::print() const { return Printer(*this).run(); }

std::string Program::sizes() const {
  std::string text = print(), found;
  for (size_t i = 0; i < text.size(); i++)
    if (isSize(text, i) && found.find(text[i]) == std::string::npos)
      found += text[i];
  return found;
}

} // namespace kernelc::fuzz
