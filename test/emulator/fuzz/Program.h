// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Index-notation programs as trees, so that a reducer can take parts of them away:
// what FuzzTest generates, prints as `.kc` text and shrinks. Knows nothing of how
// programs are drawn or run.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kernelc::fuzz {

/// The type of an expression's value, after narrow types have been widened.
enum class Class { F32, F64, I32, I64, U32, U64, Bool };
const char *typeName(Class c);
inline bool isFloat(Class c) { return c == Class::F32 || c == Class::F64; }
inline bool isInteger(Class c) { return !isFloat(c) && c != Class::Bool; }

/// One dim of an access: "2 * i + 1" of a dim "2 * A".
struct Subscript {
  std::string text, dim;
};

struct Expr {
  enum Kind { Plain, Read, Reduce };
  Kind kind = Plain;
  Class type = Class::F32;
  /// Plain: the text, $0 .. $9 standing for `args`. Read: the element type of a parameter,
  /// or "" for a statement's result, which `name` then gives. Reduce: the operator.
  std::string text;
  /// Reduce: the element, then conditions. Read: what a subscript "$0" stands for.
  std::vector<Expr> args;

  std::string name;   ///< Read: of a `let` or output; of parameters, a number that tells equal ones apart
  std::string bounds; ///< Read: "", ".edge", ...
  std::vector<Subscript> subscripts;

  std::vector<std::string> indices; ///< Reduce
  std::vector<std::string> ranges;  ///< Reduce: how each is written, "" where its accesses say it
};

struct Statement {
  bool let = false, inout = false;
  std::string target, element; ///< of a `let`: "" for the type of its value
  std::vector<Subscript> left;
  std::string op = "="; ///< or "+=", "max=", ...
  Expr value;
  std::string where; ///< "i in 0:A", or ""
};

/// A function of the program's own: `fn g0[j](a: f16, b) -> f32 { body }`.
struct Function {
  std::string name, indices, params, result; ///< indices "[j]" or "", result "-> f32" or ""
  Expr body;                                 ///< of names of `params`; may begin with a `let`
  Class type = Class::F32;                   ///< of the call, and of its arguments
  unsigned numParams = 1;
};

/// A compile-time parameter with its default.
struct Constant {
  std::string name, type, value;
};

struct Program {
  std::vector<Function> functions;   ///< called by name in expressions; of later ones, too
  std::vector<Constant> compileTime; ///< named in expressions
  std::vector<Statement> statements;
  std::vector<std::string> clauses;  ///< `require` and precision, one a line
  std::map<char, int64_t> constants; ///< sizes that are numbers

  /// One kernel `fuzz`, behind the functions that it calls. Parameters follow from the reads; a size that no parameter
  /// gives gets one of its own.
  std::string print() const;
  /// Sizes of the kernel in use: 'A', 'B', ...
  std::string sizes() const;
};

/// The size of an index: i has A, j has B, and so on.
inline char sizeOf(const std::string &index) { return char('A' + (index[0] - 'i')); }

/// `e` and everything inside, outermost first.
template <class Visit> void walk(const Expr &e, Visit visit) {
  visit(e);
  for (const Expr &a : e.args)
    walk(a, visit);
}

} // namespace kernelc::fuzz
