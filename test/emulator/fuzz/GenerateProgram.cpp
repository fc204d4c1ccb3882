// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements and their forms on the left; GenerateExpression.cpp draws the right sides.
#include "test/emulator/fuzz/GenerateProgram.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "test/emulator/fuzz/GenerateExpression.h"

namespace kernelc::fuzz {
namespace {

class ProgramGenerator {
public:
  explicit ProgramGenerator(uint64_t seed) : random_(seed), x_(random_, seed % 4 != 0) {}

  Program run() {
    main_ = x_.pick<Class>({Class::F32, Class::F32, Class::F32, Class::F32, Class::I32, Class::I32, Class::F64, Class::I64, Class::U32,
                            Class::U64, Class::Bool});
    if (x_.chance(6))
      x_.setPointwise();
    if (x_.chance(2))
      program_.functions = x_.drawFunctions(main_);
    if (x_.chance(2))
      program_.compileTime = x_.drawConstants();
    if (x_.chance(4))
      program_.constants[char('A' + x_.below(6))] = x_.pick<int64_t>({3, 4, 8, 16, 32});
    for (unsigned lets = x_.below(4), n = 0; n < lets; n++)
      addLet(n);
    unsigned outputs = x_.chance(4) ? 2 : 1;
    for (unsigned n = 0; n < outputs; n++)
      addOutput("y" + std::to_string(n));
    if (x_.chance(6))
      program_.clauses.push_back(
          absl::StrCat("require ", std::string(1, char('A' + x_.below(3))), " % ", x_.pick<std::string>({"2", "4", "8"}), " == 0"));
    if (main_ == Class::F32 && x_.chance(4))
      program_.clauses.push_back("precision(contract = " + x_.pick<std::string>({"tf32", "tf32x3", "bf16", "bf16x3", "f16"}) + ")");
    return std::move(program_);
  }

private:
  Names drawIndices(unsigned most) {
    Names all = kIndices;
    unsigned rank = x_.below(most + 1);
    if (x_.chance(3))
      std::shuffle(all.begin(), all.end(), random_);
    all.resize(rank);
    return all;
  }
  static std::vector<Subscript> subscripts(const Names &indices) {
    std::vector<Subscript> s;
    for (const std::string &i : indices)
      s.push_back({i, std::string(1, sizeOf(i))});
    return s;
  }
  Class drawClass() { return x_.chance(5) ? x_.pick<Class>({Class::F32, Class::I32, Class::I64, Class::Bool, Class::F64}) : main_; }

  void addLet(unsigned n) {
    Class c = drawClass();
    Names on = drawIndices(3);
    Statement s;
    s.let = true;
    s.target = "t" + std::to_string(n);
    s.left = subscripts(on);
    if (c == Class::F32 && x_.chance(5))
      s.element = x_.pick<std::string>({"bf16", "f16"});
    // A let's indices have their ranges from what it reads.
    if (Names rows, columns; x_.chance(3) && (c == Class::F32 || c == Class::I32) && split(on, rows, columns))
      s.value = x_.product(c, rows, columns, reducedFor(on), {});
    else
      s.value = x_.expression(c, on, 2);
    program_.statements.push_back(s);
    x_.define(s.target, on, c);
  }

  bool split(const Names &on, Names &rows, Names &columns) {
    if (on.size() < 2)
      return false;
    size_t at = 1 + x_.below(unsigned(on.size() - 1));
    rows.assign(on.begin(), on.begin() + int64_t(at));
    columns.assign(on.begin() + int64_t(at), on.end());
    return true;
  }
  Names reducedFor(const Names &on) {
    Names free;
    for (const std::string &i : kIndices)
      if (std::find(on.begin(), on.end(), i) == on.end())
        free.push_back(i);
    std::shuffle(free.begin(), free.end(), random_);
    free.resize(std::min<size_t>(free.size(), x_.chance(5) ? 2 : 1));
    return free;
  }

  /// The element type that a result of class c is stored as.
  std::string storedAs(Class c) {
    if (c == Class::F32)
      return x_.pick<std::string>({"f32", "f32", "bf16", "f16"});
    return typeName(c);
  }

  void addOutput(const std::string &name) {
    Class c = drawClass();
    Names on = drawIndices(5);
    Statement s;
    s.target = name;
    s.left = subscripts(on);
    s.element = storedAs(c);
    Names rows, columns;
    switch (x_.below(10)) {
    case 0:
    case 1:
    case 2: // a product with an epilogue
      if (on.size() > 4 || (c != Class::F32 && c != Class::I32) || !split(on, rows, columns))
        break;
      {
        Names batch;
        if (rows.size() > 1 && x_.chance(2)) {
          batch = {rows[0]};
          rows.erase(rows.begin());
        }
        s.value = x_.product(c, rows, columns, reducedFor(on), batch);
        if (x_.chance(2))
          s.value = epilogue(c, s.value, on);
      }
      return add(s, on, c);
    case 3: // a reduction by its assignment
      if (on.size() > 4 || c == Class::Bool)
        break;
      {
        s.op = isFloat(c) ? x_.pick<std::string>({"+=", "+=", "max=", "min="})
                          : x_.pick<std::string>({"+=", "max=", "min=", "xor=", "and=", "or="});
        s.inout = x_.chance(3);
        Names inner = on, reduced = reducedFor(on);
        inner.push_back(reduced[0]);
        s.value = x_.expression(c, inner, 1);
      }
      return add(s, on, c);
    case 4: // two statements that cover an output together
      if (on.empty())
        break;
      return addHalves(s, on, c);
    case 5: // what was there before
      s.inout = true;
      s.value = x_.expression(c, on, 2);
      {
        Expr before;
        before.kind = Expr::Read;
        before.type = c;
        before.name = name;
        before.subscripts = s.left;
        Expr both;
        both.type = c;
        both.text = c == Class::Bool ? "($0 or $1)" : "$0 + ($1)";
        both.args = {before, s.value};
        s.value = both;
      }
      return add(s, on, c);
    default: break;
    }
    s.value = x_.expression(c, on, 3);
    add(s, on, c);
  }

  Expr epilogue(Class c, Expr sum, const Names &on) {
    Expr e;
    e.type = c;
    e.text = c == Class::I32 ? x_.pick<std::string>({"$0 + $1", "max($0, $1)"})
                             : x_.pick<std::string>({"gelu($0 + $1)", "$0 + $1", "relu($0) * $1", "($0 if $1 > 0 else 0.0)"});
    e.args = {std::move(sum), x_.read(c, x_.chance(2) ? on : Names{on.back()})};
    return e;
  }

  void addHalves(Statement s, const Names &on, Class c) {
    narrow(s, c);
    const std::string &i = on[x_.below(unsigned(on.size()))], size(1, sizeOf(i));
    size_t at = size_t(std::find(on.begin(), on.end(), i) - on.begin());
    bool interleaved = x_.chance(2);
    Statement second = s;
    s.left[at] = {interleaved ? "2 * " + i : i, "2 * " + size};
    second.left[at] = {interleaved ? "2 * " + i + " + 1" : i + " + " + size, "2 * " + size};
    s.value = x_.expression(c, on, 2);
    second.value = x_.expression(c, on, 2);
    if (!interleaved)
      s.where = second.where = i + " in 0:" + size;
    program_.statements.push_back(s);
    program_.statements.push_back(second);
  }

  /// Stores an integer as one of a few bits, now and then.
  void narrow(Statement &s, Class c) {
    if (c == Class::I32 && s.op == "=" && x_.chance(4))
      s.element = x_.pick<std::string>({"i4", "i4", "u4", "i8"});
  }

  void add(Statement s, const Names &on, Class c) {
    narrow(s, c);
    program_.statements.push_back(s);
    if (!s.inout && s.element == typeName(c)) // later statements read what was stored
      x_.define(s.target, on, c);
  }

  std::mt19937_64 random_;
  ExpressionGenerator x_;
  Program program_;
  Class main_ = Class::F32;
};

} // namespace

Program generateProgram(uint64_t seed) { return ProgramGenerator(seed).run(); }

} // namespace kernelc::fuzz
