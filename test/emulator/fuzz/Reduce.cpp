// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/fuzz/Reduce.h"

#include <algorithm>
#include <set>

namespace kernelc::fuzz {
namespace {

/// Where an expression stands: the path of operand numbers from a statement's value.
using Path = std::vector<size_t>;

Expr &at(Expr &e, const Path &path) {
  Expr *here = &e;
  for (size_t i : path)
    here = &here->args[i];
  return *here;
}

void collect(const Expr &e, Path &here, std::vector<Path> &all) {
  all.push_back(here);
  for (size_t i = 0; i < e.args.size(); i++) {
    here.push_back(i);
    collect(e.args[i], here, all);
    here.pop_back();
  }
}

size_t weight(const Expr &e) {
  size_t n = 0;
  walk(e, [&](const Expr &x) {
    n += 2 + x.indices.size() + x.subscripts.size() + (x.bounds.empty() ? 0 : 1);
    for (const std::string &r : x.ranges)
      n += r.empty() ? 0 : 1;
  });
  return n;
}

Expr literal(Class c) {
  Expr e;
  e.type = c;
  e.text = c == Class::Bool ? "(0 < 1)" : isFloat(c) ? "1.0" : std::string(typeName(c)) + "(1)";
  return e;
}

/// Collects the cases, each a copy of one with a change.
class Steps {
public:
  explicit Steps(const Case &from) : from_(from) {}

  std::vector<Case> all() {
    statements();
    schedule();
    sizes();
    for (size_t s = 0; s < from_.program.statements.size(); s++)
      expressions([=](Program &p) -> Expr & { return p.statements[s].value; });
    for (size_t f : calledFunctions())
      expressions([=](Program &p) -> Expr & { return p.functions[f].body; });
    plainer();
    return std::move(found_);
  }

private:
  template <class Change> void step(Change change) {
    Case c = from_;
    change(c);
    found_.push_back(std::move(c));
  }

  /// Others are not printed.
  std::vector<size_t> calledFunctions() const {
    std::string text = from_.program.print();
    std::vector<size_t> called;
    for (size_t n = 0; n < from_.program.functions.size(); n++)
      if (text.find("fn " + from_.program.functions[n].name) != std::string::npos)
        called.push_back(n);
    return called;
  }

  void statements() {
    const auto &list = from_.program.statements;
    for (size_t s = list.size(); s-- > 0;)
      if (list.size() > 1)
        step([&](Case &c) { c.program.statements.erase(c.program.statements.begin() + int64_t(s)); });
    for (size_t n = 0; n < from_.program.clauses.size(); n++)
      step([&](Case &c) { c.program.clauses.erase(c.program.clauses.begin() + int64_t(n)); });
    for (size_t n : calledFunctions())
      if (!from_.program.functions[n].result.empty())
        step([&](Case &c) { c.program.functions[n].result.clear(); });
    for (size_t s = 0; s < list.size(); s++) {
      if (!list[s].where.empty())
        step([&](Case &c) { c.program.statements[s].where.clear(); });
      // An index of the left, and with it of the right's accesses.
      for (size_t i = 0; i < list[s].left.size(); i++)
        step([&](Case &c) { dropIndex(c, c.program.statements[s], i); });
    }
  }

  /// Without the ith index of the left, everywhere in the program where accesses and results have it.
  static void dropIndex(Case &c, Statement &s, size_t i) {
    std::string index = s.left[i].text, target = s.target;
    s.left.erase(s.left.begin() + int64_t(i));
    forEach(s.value, [&](Expr &e) {
      if (e.kind == Expr::Read)
        e.subscripts.erase(std::remove_if(e.subscripts.begin(), e.subscripts.end(), [&](const Subscript &x) { return x.text == index; }),
                           e.subscripts.end());
    });
    for (Statement &other : c.program.statements)
      forEach(other.value, [&](Expr &e) {
        if (e.kind == Expr::Read && e.text.empty() && e.name == target && i < e.subscripts.size() && &other != &s)
          e.subscripts.erase(e.subscripts.begin() + int64_t(i));
      });
  }

  template <class Visit> static void forEach(Expr &e, Visit visit) {
    visit(e);
    for (Expr &a : e.args)
      forEach(a, visit);
  }

  void schedule() {
    size_t n = from_.schedule.size();
    if (n > 1) {
      step([&](Case &c) { c.schedule.clear(); });
      step([&](Case &c) { c.schedule.erase(c.schedule.begin(), c.schedule.begin() + int64_t(n / 2)); });
      step([&](Case &c) { c.schedule.resize(n / 2); });
    }
    for (size_t i = 0; i < n; i++)
      step([&](Case &c) { c.schedule.erase(c.schedule.begin() + int64_t(i)); });
  }

  void sizes() {
    for (const auto &[name, n] : from_.sizes)
      for (int64_t less : {int64_t(1), n / 2, n - 1})
        if (less >= 1 && less < n)
          step([&, name = name](Case &c) { c.sizes[name] = less; });
  }

  /// Of the value that `of` finds in a program.
  template <class Of> void expressions(Of of) {
    Program program = from_.program;
    Expr &value = of(program);
    std::vector<Path> paths;
    Path here;
    collect(value, here, paths);
    for (const Path &path : paths) {
      const Expr &e = at(value, path);
      auto change = [&](auto f) { step([&](Case &c) { f(at(of(c.program), path)); }); };
      // An operand, or an operand's, in its place; else one.
      for (const Expr &a : e.args)
        if (a.type == e.type)
          change([&](Expr &x) { x = Expr(a); });
      if (!e.args.empty())
        change([&](Expr &x) { x = literal(x.type); });
      else if (e.kind == Expr::Read && e.subscripts.empty())
        change([&](Expr &x) { x = literal(x.type); });
      if (e.kind == Expr::Reduce)
        reductions(e, change);
      if (e.kind == Expr::Read && !e.text.empty())
        accesses(e, change);
    }
  }

  template <class ChangeFn> void reductions(const Expr &e, ChangeFn change) {
    for (size_t i = 1; i < e.args.size(); i++)
      change([&](Expr &x) { x.args.erase(x.args.begin() + int64_t(i)); });
    for (size_t i = 0; i < e.ranges.size(); i++)
      if (!e.ranges[i].empty())
        change([&](Expr &x) { x.ranges[i].clear(); });
    for (size_t i = 0; i < e.indices.size() && e.indices.size() > 1; i++)
      change([&](Expr &x) {
        std::string index = x.indices[i];
        x.indices.erase(x.indices.begin() + int64_t(i));
        x.ranges.erase(x.ranges.begin() + int64_t(i));
        forEach(x, [&](Expr &r) {
          r.subscripts.erase(std::remove_if(r.subscripts.begin(), r.subscripts.end(), [&](const Subscript &t) { return t.text == index; }),
                             r.subscripts.end());
        });
      });
    if (e.text != "sum" && e.type != Class::Bool && e.text.rfind("arg", 0) != 0)
      change([&](Expr &x) { x.text = "sum"; });
  }

  template <class ChangeFn> void accesses(const Expr &e, ChangeFn change) {
    for (size_t i = 0; i < e.subscripts.size(); i++) {
      change([&](Expr &x) { x.subscripts.erase(x.subscripts.begin() + int64_t(i)); });
      // The first index in it alone.
      const std::string &t = e.subscripts[i].text;
      size_t index = t.find_first_of("ijklmn");
      if (t.size() > 1 && index != std::string::npos && t[0] != '$')
        change([&](Expr &x) {
          std::string name(1, t[index]);
          x.subscripts[i] = {name, std::string(1, sizeOf(name))};
        });
    }
    if (!e.bounds.empty())
      change([&](Expr &x) { x.bounds.clear(); });
  }

  void plainer() {
    for (size_t s = 0; s < from_.program.statements.size(); s++) {
      const Statement &st = from_.program.statements[s];
      if (!st.element.empty() && (st.let || st.element == "bf16" || st.element == "f16"))
        step([&](Case &c) { c.program.statements[s].element = st.let ? "" : "f32"; });
      else if (st.element == "i8" || st.element == "i4" || st.element == "u4")
        step([&](Case &c) { c.program.statements[s].element = "i32"; });
      if (st.inout)
        step([&](Case &c) { c.program.statements[s].inout = false; });
    }
    std::set<std::string> types;
    for (const Statement &s : from_.program.statements)
      walk(s.value, [&](const Expr &e) {
        if (e.kind == Expr::Read && !e.text.empty() && e.text != typeName(e.type))
          types.insert(e.text);
      });
    for (const std::string &type : types)
      step([&](Case &c) {
        for (Statement &s : c.program.statements)
          forEach(s.value, [&](Expr &e) {
            if (e.kind == Expr::Read && e.text == type)
              e.text = typeName(e.type);
          });
      });
    for (const auto &[size, n] : from_.program.constants)
      step([&, size = size](Case &c) { c.program.constants.erase(size); });
    if (from_.general)
      step([&](Case &c) { c.general = false; });
  }

  const Case &from_;
  std::vector<Case> found_;
};

} // namespace

std::vector<Case> smallerCases(const Case &c) { return Steps(c).all(); }

size_t weightOf(const Case &c) {
  size_t n = c.program.clauses.size() + 2 * c.schedule.size();
  for (const Statement &s : c.program.statements)
    n += 3 + s.left.size() + weight(s.value);
  for (const Function &f : c.program.functions)
    n += 3 + (f.result.empty() ? 0 : 1) + weight(f.body);
  return n;
}

Case reduceCase(Case c, const std::function<bool(const Case &)> &fails, int budget) {
  std::set<std::string> tried = {c.toString()};
  for (bool shrunk = true; shrunk && budget > 0;) {
    shrunk = false;
    for (Case &smaller : smallerCases(c)) {
      if (budget <= 0 || !tried.insert(smaller.toString()).second)
        continue;
      budget--;
      if (!fails(smaller))
        continue;
      c = std::move(smaller);
      shrunk = true;
      break;
    }
  }
  return c;
}

} // namespace kernelc::fuzz
