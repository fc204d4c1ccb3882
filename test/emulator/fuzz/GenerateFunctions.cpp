// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions and compile-time parameters of random programs, and what uses them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "test/emulator/fuzz/GenerateExpression.h"

namespace kernelc::fuzz {

std::vector<Constant> ExpressionGenerator::drawConstants() {
  // No letter in their names is an index.
  for (unsigned n = below(3); n > 0; n--)
    constants_.push_back(pick<Constant>({{"c_a", "i64", pick<std::string>({"1", "2", "3", "4"})},
                                         {"c_b", "bool", pick<std::string>({"True", "False"})},
                                         {"c_f", "f32", pick<std::string>({"0.5", "-1.25", "2.0"})}}));
  auto sameName = [](const Constant &a, const Constant &b) { return a.name == b.name; };
  std::sort(constants_.begin(), constants_.end(), [](const Constant &a, const Constant &b) { return a.name < b.name; });
  constants_.erase(std::unique(constants_.begin(), constants_.end(), sameName), constants_.end());
  return constants_;
}

std::vector<Function> ExpressionGenerator::drawFunctions(Class most) {
  std::vector<Function> drawn;
  for (unsigned n = 0, count = 1 + below(3); n < count; n++) {
    Class c = most == Class::Bool || chance(4) ? pick<Class>({Class::F32, Class::I32, Class::F64, Class::I64}) : most;
    drawn.push_back(function("g" + std::to_string(n), c));
    functions_.push_back(drawn.back()); // the next one may call it
  }
  return drawn;
}

Function ExpressionGenerator::function(const std::string &name, Class of) {
  Function f;
  f.name = name;
  f.type = of;
  const Class c = f.type;
  if (!pointwise_ && chance(4)) { // of a row
    f.indices = "[j]";
    f.params = "e";
    f.body = plain(c, pick<std::string>({"e - max[j](e)", "e * min[j](e)", "max[j](e) - min[j](e)", "let m = max[j](e)\n  m - e"}));
    if (chance(3))
      f.result = absl::StrCat(" -> ", typeName(c));
    return f;
  }
  // Names of the kernel, too: a function's own hide them.
  Names params = chance(3) ? Names{"x0", "t0"} : Names{"a", "b"};
  params.resize(1 + below(2));
  f.numParams = unsigned(params.size());
  // Typed ones convert as a store would; not to fewer bits where infinities would come of it.
  auto type = [&] { return pointwise_ ? typeName(c) : storageOf(c); };
  f.params = absl::StrJoin(
      params, ", ", [&](std::string *o, const std::string &p) { absl::StrAppend(o, p, chance(3) ? ": " + std::string(type()) : ""); });
  if (chance(3))
    f.result = absl::StrCat(" -> ", type());
  if (chance(3)) {
    Names with = params;
    with.push_back("s");
    f.body = plain(c, "let s = $0\n  $1", {functionBody(c, params, 1), functionBody(c, with, 1)});
  } else if (!pointwise_ && isFloat(c) && chance(4)) { // an index of its own, by a name that the caller has as well
    f.body = plain(c, absl::StrCat("$0 * sum[i in 0:3](", typeName(c), "(i) + 1)"), {functionBody(c, params, 1)});
  } else {
    f.body = functionBody(c, params, 2);
  }
  return f;
}

const Function *ExpressionGenerator::functionOf(Class c) {
  std::vector<const Function *> fits;
  for (const Function &f : functions_)
    if (f.type == c)
      fits.push_back(&f);
  return fits.empty() ? nullptr : pick(fits);
}

Expr ExpressionGenerator::functionBody(Class c, const Names &params, int depth) {
  if (depth <= 0 || chance(5))
    return plain(c, params[below(unsigned(params.size()))]);
  if (chance(5)) {
    if (const Function *f = functionOf(c); f && f->indices.empty()) {
      Expr e = plain(c, f->name + (f->numParams == 1 ? "($0)" : "($0, $1)"));
      for (unsigned i = 0; i < f->numParams; i++)
        e.args.push_back(functionBody(c, params, depth - 1));
      return e;
    }
  }
  const Operator *op = pick(operatorsOf(c));
  std::vector<Expr> args;
  for (size_t i = 0; i < operandCount(*op); i++) {
    Class of = operandClass(*op, i, c);
    args.push_back(of == c             ? functionBody(c, params, depth - 1)
                   : of == Class::Bool ? plain(of, "($0 > 1)", {functionBody(c, params, 0)})
                                       : plain(of, absl::StrCat(typeName(of), "(3)")));
  }
  return plain(c, op->text, std::move(args));
}

Expr ExpressionGenerator::call(const Function &f, const Names &scope, int depth) {
  if (!f.indices.empty()) {
    if (scope.empty())
      return leaf(f.type, scope);
    return plain(f.type, absl::StrCat(f.name, "[", pick(scope), "]($0)"),
                 {plain(f.type, "$0 + $1", {read(f.type, scope), leaf(f.type, scope)})});
  }
  Expr e = plain(f.type, f.name + (f.numParams == 1 ? "($0)" : "($0, $1)"));
  for (unsigned i = 0; i < f.numParams; i++)
    e.args.push_back(term(f.type, scope, i == 0 ? depth - 1 : depth - 2));
  return e;
}

} // namespace kernelc::fuzz
