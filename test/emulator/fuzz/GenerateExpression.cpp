// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/fuzz/GenerateExpression.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kernelc::fuzz {
namespace {

bool has(const Names &list, const std::string &x) { return std::find(list.begin(), list.end(), x) != list.end(); }
std::string sizeText(const std::string &index) { return std::string(1, sizeOf(index)); }
Subscript alone(const std::string &index) { return {index, sizeText(index)}; }

} // namespace

std::string ExpressionGenerator::storageOf(Class c) {
  if (c == Class::F32 && narrow_)
    return pick<std::string>({"f32", "f32", "f16", "bf16", "bf16", "f8e4m3", "f8e5m2"});
  if (c == Class::I32 && narrow_)
    return pick<std::string>({"i32", "i32", "i16", "i8", "i8", "u8", "u16", "i4", "u4"});
  return typeName(c);
}

Expr ExpressionGenerator::plain(Class c, std::string text, std::vector<Expr> args) {
  Expr e;
  e.type = c;
  e.text = std::move(text);
  e.args = std::move(args);
  return e;
}

Names ExpressionGenerator::unused(const Names &scope) {
  Names free;
  for (const std::string &i : kIndices)
    if (!has(scope, i))
      free.push_back(i);
  return free;
}

Expr ExpressionGenerator::read(Class c, Names indices) {
  if (chance(3))
    std::shuffle(indices.begin(), indices.end(), random_);
  Expr e;
  e.kind = Expr::Read;
  e.type = c;
  e.text = storageOf(c);
  e.name = std::to_string(below(2)); // often the same tensor again
  for (const std::string &i : indices)
    e.subscripts.push_back(alone(i));
  return e;
}

Expr ExpressionGenerator::readDisplaced(Class c, const Names &scope) {
  Expr e = read(c, {});
  std::string bounds = pick<std::string>({"", "", ".pad(0)", ".pad(1)", ".edge", ".wrap", ".reflect"});
  e.bounds = bounds;
  const bool strided = std::any_of(constants_.begin(), constants_.end(), [](const Constant &k) { return k.type == "i64"; }) && chance(3);
  for (const std::string &i : scope) {
    std::string s = sizeText(i), j = pick(scope), t = sizeText(j);
    if (e.subscripts.size() == 5 || chance(4))
      continue;
    if (strided && bounds.empty()) {
      e.subscripts.push_back({"c_a * " + i, "c_a * " + s});
      continue;
    }
    if (!bounds.empty())
      e.subscripts.push_back({i + pick<std::string>({"", " + 1", " - 1", " - 2", " + " + j, " - " + j}), s});
    else
      e.subscripts.push_back(pick<Subscript>({{i, s},
                                              {i + " + 1", s + " + 1"},
                                              {"2 * " + i, "2 * " + s},
                                              {"2 * " + i + " + 1", "2 * " + s},
                                              {"3 * " + i + " + " + j, "3 * " + s + " + " + t},
                                              {i + " + " + j, s + " + " + t},
                                              {i + " // 2", "(" + s + " + 1) // 2"},
                                              {i + " % 3", "3"},
                                              {s + " - 1 - " + i, s},
                                              {"0", "1"}}));
  }
  return e;
}

Expr ExpressionGenerator::gather(Class c, const Names &scope) {
  if (scope.empty())
    return leaf(c, scope);
  Expr e = read(c, {});
  e.bounds = pick<std::string>({".pad(0)", ".edge", ".wrap", ".reflect"});
  Names some = {pick(scope)};
  e.args = {read(chance(2) ? Class::I32 : Class::I64, some)};
  e.args[0].text = typeName(e.args[0].type);
  e.subscripts = {{"$0", sizeText(pick(scope))}};
  for (const std::string &i : scope)
    if (chance(2) && e.subscripts.size() < 4)
      e.subscripts.push_back(alone(i));
  return e;
}

Expr ExpressionGenerator::indexCondition(const Names &scope) {
  if (scope.empty())
    return plain(Class::Bool, pick<std::string>({"(1 < 2)", "(0 == 1)"}));
  std::string a = pick(scope), b = pick(scope), s = sizeText(a);
  if (!constants_.empty() && chance(3)) {
    const Constant &k = pick(constants_);
    if (k.type == "bool")
      return plain(Class::Bool, absl::StrCat("(", a, " <= ", b, " or ", k.name, ")"));
    if (k.type == "i64")
      return plain(Class::Bool, absl::StrCat("(", a, " % ", k.name, " == 0)"));
  }
  return plain(Class::Bool, pick<std::string>({"(" + a + " <= " + b + ")", "(" + a + " < " + b + " + 2)", "(" + a + " % 3 == 1)",
                                               "(" + a + " + " + b + " < " + s + ")", "(" + b + " - " + a + " <= 3)", "(" + a + " >= 1)",
                                               "(" + a + " != " + s + " - 1)", "(" + a + " // 2 == " + b + ")"}));
}

Expr ExpressionGenerator::expression(Class c, const Names &scope, int depth) {
  if (c == Class::Bool)
    return plain(c, pick<std::string>({"($0 or $1)", "($0 and $1)"}),
                 {plain(c, "($0 > 0)", {read(Class::F32, scope)}), term(c, scope, depth)});
  return plain(c, pick<std::string>({"$0 + ($1)", "$0 * ($1)", "$0 - ($1)", "max($0, $1)"}), {read(c, scope), term(c, scope, depth)});
}

Expr ExpressionGenerator::term(Class c, const Names &scope, int depth) {
  if (depth <= 0)
    return leaf(c, scope);
  if (const Function *f = functionOf(c); f && scope.size() < 5 && chance(2))
    return call(*f, scope, depth);
  switch (below(12)) {
  case 0:
  case 1: return reduction(c, scope, depth);
  case 2: return normalisation(c, scope, depth);
  case 3: return window(c, scope);
  case 4: return readDisplaced(c, scope);
  case 5: return chance(3) ? gather(c, scope) : leaf(c, scope);
  case 6:
    return c == Class::Bool ? indexCondition(scope)
                            : plain(c, "($0 if $1 else $2)", {term(c, scope, depth - 1), indexCondition(scope), leaf(c, scope)});
  default: {
    const Operator *op = pick(operatorsOf(c));
    std::vector<Expr> args;
    for (size_t i = 0; i < operandCount(*op); i++)
      args.push_back(term(operandClass(*op, i, c), scope, i == 0 ? depth - 1 : depth - 2));
    return plain(c, op->text, std::move(args));
  }
  }
}

Expr ExpressionGenerator::leaf(Class c, const Names &scope) {
  std::vector<const Defined *> fits;
  for (const Defined &d : defined_)
    if (d.type == c && std::all_of(d.indices.begin(), d.indices.end(), [&](const std::string &i) { return has(scope, i); }))
      fits.push_back(&d);
  if (!fits.empty() && chance(2)) {
    const Defined *d = pick(fits);
    Expr e;
    e.kind = Expr::Read;
    e.type = c;
    e.name = d->name;
    for (const std::string &i : d->indices)
      e.subscripts.push_back(alone(i));
    return e;
  }
  if (c == Class::Bool)
    return chance(2) ? indexCondition(scope) : read(c, {});
  if (!constants_.empty() && chance(2))
    if (const Constant &k = pick(constants_); k.type != "bool" && (k.type == "i64" || isFloat(c)))
      return plain(c, absl::StrCat(typeName(c), "(", k.name, ")"));
  if (chance(4)) {
    if (isFloat(c))
      return plain(c, pick<std::string>({"0.5", "1.25", "2.0", "0.0", "-1.5"}));
    if (c == Class::I64 && !scope.empty())
      return plain(c, pick(scope));
    return plain(c, typeName(c) + ("(" + pick<std::string>({"1", "2", "3", "7"}) + ")"));
  }
  Names some;
  for (const std::string &i : scope)
    if (!chance(3) && some.size() < 5)
      some.push_back(i);
  return read(c, some);
}

/// A reduction over one or two indices that are not in scope.
Expr ExpressionGenerator::reduction(Class c, const Names &scope, int depth) {
  Names free = unused(scope);
  if (free.empty() || scope.size() > 4 || pointwise_)
    return leaf(c, scope);
  Names reduced = {free[below(unsigned(free.size()))]};
  if (free.size() > 2 && chance(4)) {
    std::string second = pick(free);
    if (second != reduced[0])
      reduced.push_back(second);
  }
  Expr e;
  e.kind = Expr::Reduce;
  e.type = c;
  e.text = c == Class::Bool ? pick<std::string>({"any", "all"})
           : isFloat(c)     ? pick<std::string>({"sum", "sum", "sum", "max", "min", "mean", "prod"})
                            : pick<std::string>({"sum", "sum", "max", "min", "prod", "xor"});
  if (c == Class::I64 && chance(2)) {
    e.text = pick<std::string>({"argmax", "argmin"});
    reduced.resize(1);
  }
  e.indices = reduced;
  e.ranges.assign(reduced.size(), "");
  Names inner = scope;
  inner.insert(inner.end(), reduced.begin(), reduced.end());
  Class of = e.text.rfind("arg", 0) == 0 ? pick<Class>({Class::F32, Class::I32, Class::I64, Class::U32}) : c;
  if (chance(2) && c != Class::Bool && of == c) { // a contraction
    Names left = reduced, right = reduced;
    for (const std::string &i : scope) {
      unsigned side = below(5);
      if (side != 0 && left.size() < 5)
        left.push_back(i);
      if (side <= 1 && right.size() < 5)
        right.push_back(i);
    }
    e.args = {plain(c, "$0 * $1", {read(c, left), read(c, right)})};
  } else {
    e.args = {of == Class::Bool ? term(of, inner, depth - 1)
                                : plain(of, pick<std::string>({"$0 + ($1)", "$0 * ($1)"}),
                                        {read(of, inner.size() > 5 ? reduced : inner), term(of, inner, depth - 1)})};
  }
  if (e.text == "prod" && isFloat(c)) // of values near one
    e.args = {plain(c, "(1 + 0.05 * tanh($0))", {e.args[0]})};
  bool needsElements = e.text == "argmax" || e.text == "argmin" || e.text == "mean"; // of an empty set nothing worth comparing
  if (!needsElements && chance(4)) {
    const std::string &r = reduced[0];
    std::string s = sizeText(r), o = scope.empty() ? "2" : pick(scope);
    e.ranges[0] = pick<std::string>({r + " in 1:" + s, r + " in 0:" + s + " // 2", "1 <= " + r + " < " + s, r + " in 0:" + s});
  }
  if (!needsElements && !scope.empty() && chance(5)) { // a scan, where the element is free of that index
    const std::string &r = reduced[0], o = pick(scope);
    e.args.push_back(plain(Class::Bool, pick<std::string>({r + " <= " + o, r + " < " + o, r + " >= " + o, r + " > " + o}), {}));
    if (chance(2)) {
      Names others = inner;
      others.erase(std::remove(others.begin(), others.end(), o), others.end());
      e.args[0] = of == Class::Bool ? plain(of, "($0 > 0)", {read(Class::F32, others)}) : read(of, others);
    }
  }
  if (!needsElements && chance(4))
    e.args.push_back(indexCondition(inner));
  else if (!needsElements && chance(6)) // a condition on data
    e.args.push_back(plain(Class::Bool, "($0 > 0)", {read(Class::F32, reduced)}));
  return e;
}

/// A sliding window: its range depends on another index.
Expr ExpressionGenerator::window(Class c, const Names &scope) {
  Names free = unused(scope);
  if (free.empty() || scope.empty() || c == Class::Bool || pointwise_)
    return leaf(c, scope);
  std::string r = pick(free), o = pick(scope);
  Expr e;
  e.kind = Expr::Reduce;
  e.type = c;
  e.text = pick<std::string>({"sum", "max", "min"});
  e.indices = {r};
  e.ranges = {pick<std::string>(
      {o + " - 1 <= " + r + " <= " + o + " + 1", o + " - 2 <= " + r + " < " + o + " + 2", r + " in " + o + ":" + o + " + 3"})};
  Expr x = read(c, {});
  x.bounds = pick<std::string>({".pad(0)", ".edge", ".wrap", ".reflect"});
  x.subscripts = {{r, sizeText(o)}};
  for (const std::string &i : scope)
    if (i != o && chance(2) && x.subscripts.size() < 5)
      x.subscripts.push_back(alone(i));
  e.args = {chance(2) ? x : plain(c, "$0 * $1", {x, leaf(c, scope)})};
  return e;
}

/// The prelude's functions of a row, over an index of the scope or another one.
Expr ExpressionGenerator::normalisation(Class c, const Names &scope, int depth) {
  Names free = unused(scope);
  if (!isFloat(c) || scope.empty() || free.empty() || scope.size() > 4 || pointwise_)
    return leaf(c, scope);
  std::string of = pick(scope), other = pick(free);
  Names inner = scope;
  inner.push_back(other);
  if (chance(2))
    return plain(c, pick<std::string>({"softmax", "log_softmax", "layernorm", "rmsnorm"}) + "[" + of + "]($0)",
                 {plain(c, "$0 + 0.25 * $1", {read(c, scope), leaf(c, scope)})});
  Expr e;
  e.kind = Expr::Reduce;
  e.type = c;
  e.text = pick<std::string>({"logsumexp", "var"});
  e.indices = {other};
  e.ranges = {""};
  e.args = {plain(c, "$0 + $1", {read(c, inner), term(c, inner, depth - 2)})};
  return e;
}

Expr ExpressionGenerator::product(Class c, const Names &rows, const Names &columns, const Names &reduced, const Names &batch) {
  auto operand = [&](const Names &own) {
    Names all = batch;
    all.insert(all.end(), own.begin(), own.end());
    all.insert(all.end(), reduced.begin(), reduced.end());
    return read(c, all);
  };
  Expr a = operand(rows), b = operand(columns);
  if (!chance(3)) // as units take them
    a.text = b.text = c == Class::I32   ? pick<std::string>({"i8", "i8", "i4"})
                      : c == Class::F32 ? pick<std::string>({"bf16", "bf16", "f16", "f32", "f8e4m3"})
                                        : typeName(c);
  a.name = "0", b.name = "1";
  Expr element = plain(c, "$0 * $1", {a, b});
  if (c == Class::F32 && chance(5))
    element = plain(c, "$0 * ($1)", {a, plain(c, pick<std::string>({"bf16(relu($0))", "f16($0)", "bf16($0 * 0.5)"}), {b})});
  else if (c == Class::F32 && chance(5)) { // dequantised weights
    Expr weights = b;
    weights.type = Class::I32;
    weights.text = pick<std::string>({"i8", "i4", "u4"});
    element = plain(c, "$0 * $1", {a, plain(c, pick<std::string>({"bf16($0)", "f32($0)", "f16($0)"}), {weights})});
  } else if (c == Class::F32 && chance(5) && !rows.empty())
    element = plain(c, "$0 * $1", {element, read(c, {rows[0]})}); // a scale of the sum
  Expr e;
  e.kind = Expr::Reduce;
  e.type = c;
  e.text = "sum";
  e.indices = reduced;
  e.ranges.assign(reduced.size(), "");
  e.args = {element};
  if (!rows.empty() && chance(5))
    e.args.push_back(indexCondition({rows[0], reduced[0]}));
  return e;
}

} // namespace kernelc::fuzz
