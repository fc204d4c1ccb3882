// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random expressions over the indices in scope: what GenerateProgram.cpp puts on the
// right of its statements. Every index has a size of its own, so that accesses are in
// bounds by the dims that parameters are given.
#pragma once

#include <random>

#include "test/emulator/fuzz/Operators.h"

namespace kernelc::fuzz {

using Names = std::vector<std::string>;
inline const Names kIndices = {"i", "j", "k", "l", "m", "n"};

class ExpressionGenerator {
public:
  /// `narrow`: parameters may have element types that widen.
  ExpressionGenerator(std::mt19937_64 &random, bool narrow) : random_(random), narrow_(narrow) {}

  /// A value of class `c`; its first operand reads every index of `scope`, which gives them their ranges.
  Expr expression(Class c, const Names &scope, int depth);
  /// `sum[k](a * b)` with both operands' indices as a product has them.
  Expr product(Class c, const Names &rows, const Names &columns, const Names &reduced, const Names &batch);
  /// A parameter at the plain indices, in any order.
  Expr read(Class c, Names indices);

  /// Results that expressions may read from now on.
  void define(const std::string &name, const Names &indices, Class c) { defined_.push_back({name, indices, c}); }
  /// Functions that expressions may call and constants that they may name from now on.
  std::vector<Function> drawFunctions(Class most);
  std::vector<Constant> drawConstants();
  /// Values may be infinite or NaN: nothing reduces.
  void setPointwise() { pointwise_ = true; }

  unsigned below(unsigned n) { return unsigned(random_() % n); }
  bool chance(unsigned n) { return below(n) == 0; }
  template <class T> T pick(const std::vector<T> &v) { return v[below(unsigned(v.size()))]; }
  std::string storageOf(Class c);

private:
  Expr term(Class c, const Names &scope, int depth);
  Expr leaf(Class c, const Names &scope);
  Expr readDisplaced(Class c, const Names &scope);
  Expr gather(Class c, const Names &scope);
  Expr reduction(Class c, const Names &scope, int depth);
  Expr window(Class c, const Names &scope);
  Expr normalisation(Class c, const Names &scope, int depth);
  Expr indexCondition(const Names &scope);
  Expr functionBody(Class c, const Names &params, int depth);
  Function function(const std::string &name, Class of);
  /// One that gives `c`, or null.
  const Function *functionOf(Class c);
  Expr call(const Function &f, const Names &scope, int depth);
  Expr plain(Class c, std::string text, std::vector<Expr> args = {});
  Names unused(const Names &scope);

  struct Defined {
    std::string name;
    Names indices;
    Class type;
  };
  std::mt19937_64 &random_;
  bool narrow_, pointwise_ = false;
  std::vector<Defined> defined_;
  std::vector<Function> functions_;
  std::vector<Constant> constants_;
};

} // namespace kernelc::fuzz
