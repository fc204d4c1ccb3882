// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls: which function is meant, casts and math. See Elaborate.h.
#include <cmath>

#include "frontend/Elaborate.h"
#include "frontend/Habits.h"
#include "frontend/ImportedFiles.h"
#include "frontend/MathFunctions.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::frontend {

unsigned mathArity(StringRef name) {
  return llvm::StringSwitch<unsigned>(name)
      .Cases({"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt"}, 1)
      .Cases({"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh"}, 1)
      .Cases({"acosh", "atanh", "erf", "erfc", "floor", "ceil", "round", "rint", "trunc", "abs"}, 1)
      .Cases({"fabs", "isnan", "isinf", "isfinite"}, 1)
      .Cases({"pow", "atan2", "copysign", "fmod"}, 2)
      .Case("fma", 3)
      .Default(0);
}

/// "j in 0:n": of sum[j in 0:n](..), or an example.
StringRef Elaborator::textOfBracket(const Expr *e) const {
  if (e->loc.file != 0)
    return "k";
  StringRef rest = diags.file(0).text.substr(e->loc.offset + e->text.size()).ltrim();
  StringRef inside = rest.consume_front("[") ? rest.take_until([](char c) { return c == ']' || c == '\n'; }) : "";
  return inside.empty() || inside.contains('[') ? "k" : inside.trim();
}

Node *Elaborator::elaborateCall(const Expr *e, const Scope *scope) {
  if (scope->find(e->text)) {
    error(e->loc) << "'" << e->text << "' is not a function";
    return nullptr;
  }
  if (elementNamed(e->text))
    return elaborateCast(e, scope);
  if (auto it = fns.find(e->text); it != fns.end())
    return elaborateFn(it->second, e, scope);
  if (reducers.contains(e->text)) {
    if (e->hasBracket)
      return elaborateReduce(e, scope);
    error(e->loc) << "'" << e->text << "' is a reducer and names the indices that it reduces, as in '" << e->text << "[k](..)'";
    return nullptr;
  }
  if (e->hasBracket && reductionNamed(e->text))
    return elaborateReduce(e, scope);
  if (!e->hasBracket && (e->text == "min" || e->text == "max"))
    return elaborateMinMax(e, scope);
  if (!e->hasBracket && mathArity(e->text))
    return elaborateMath(e, scope);
  if (!e->hasBracket && e->text == "popcount")
    return elaboratePopcount(e, scope);
  if (!reportNoCall(e))
    reportUnknownFunction(e);
  return nullptr;
}

bool Elaborator::reportNoCall(const Expr *e) {
  if (e->text == "view") {
    error(e->loc) << "a view is a tensor; write its subscripts, as in 'view(..)[i, j]'";
    return true;
  }
  if (reductionNamed(e->text)) {
    error(e->loc) << "'" << e->text << "' needs the indices it reduces, as in '" << e->text << "[k](..)'";
    return true;
  }
  if (llvm::is_contained({"inf", "nan", "pi"}, e->text)) {
    error(e->whole()) << "'" << e->text << "' is a number, not a function; write '" << e->text << "'";
    return true;
  }
  if (!tensors.contains(e->text) || e->loc.file != 0)
    return false;
  StringRef text = diags.file(0).text; // x(i, j)
  StringRef subs = e->named.empty() ? "" : text.slice(e->named.front().value->begin, e->named.back().value->end);
  error(e->whole()) << "'" << e->text << "' is a tensor, whose subscripts stand in square brackets; write '" << e->text << "[" << subs
                    << "]'";
  return true;
}

/// Whether a definition of kernel `name` stands in `text`.
static bool definesKernel(StringRef text, StringRef name) {
  std::string head = ("def " + name + "(").str();
  return text.starts_with(head) || text.contains("\n" + head);
}

void Elaborator::reportUnknownFunction(const Expr *e) {
  SmallVector<StringRef> known = {"sum", "prod",  "max",  "min",   "any",   "all",   "xor",   "argmax", "argmin", "mean",
                                  "exp", "exp2",  "log",  "sqrt",  "rsqrt", "tanh",  "erf",   "sin",    "cos",    "pow",
                                  "abs", "floor", "ceil", "round", "fma",   "log1p", "expm1", "cbrt"};
  for (auto &f : fns)
    if (f.second->kind == Definition::Fn)
      known.push_back(f.getKey());
  std::string near = findNearest(e->text, known);
  auto d = error(e->loc);
  auto kernel = fns.find(("def " + e->text).str()); // how Import.cpp keeps the kernels of imported files
  if (kernel != fns.end() || definesKernel(diags.file(0).text, e->text)) {
    d << "'" << e->text << "' is a kernel";
    if (kernel != fns.end())
      d << " of '" << diags.file(kernel->second->nameLoc.file).name << "'";
    d << ", and no kernel calls another; what several compute is a function, as in 'fn twice(x) { 2 * x }'";
    return;
  }
  d << "unknown function '" << e->text << "'";
  StringRef reduction = reductionMeant(e->text);
  std::string file = standardFileOf(e->text);
  if (e->hasBracket && !reduction.empty())
    d << "; write '" << reduction << "[" << textOfBracket(e) << "](..)'";
  else if (auto [head, index] = e->text.split('_'); reductionNamed(head) && !index.empty() && !fns.contains(near)) // sum_j(..)
    d << "; the indices of a reduction stand in a bracket, as in '" << head << "[" << (index.size() > 2 ? "k" : index) << "](..)'";
  else if (!file.empty())
    d << "; 'import \"" << file << "\"' at the top of the text makes it known";
  else if (StringRef hint = hintForFunction(e->text); !hint.empty())
    d << "; " << hint;
  else if (e->named.size() == 1 && e->named[0].value->kind == Expr::String) // float("-inf")
    d << "; a string is not a value: infinities are 'inf' and '-inf'";
  else if (StringRef type = elementTypeMeant(e->text); !type.empty())
    d << "; did you mean the cast '" << type << "(..)'?";
  else if (!near.empty())
    d << "; did you mean '" << near << "'?";
}

Node *Elaborator::elaborateCast(const Expr *e, const Scope *scope) {
  if (e->hasBracket || e->named.size() != 1 || !e->named[0].name.empty()) {
    error(e->loc) << "a cast takes one value, as in '" << e->text << "(x)'";
    return nullptr;
  }
  Node *n = elaborate(e->named[0].value, scope);
  return n ? castTo(n, *elementNamed(e->text), e->loc) : nullptr;
}

Node *Elaborator::elaborateMinMax(const Expr *e, const Scope *scope) {
  if (e->named.size() < 2) {
    error(e->loc) << "'" << e->text << "' takes two values or more; a reduction names its indices, as in '" << e->text << "[k](..)'";
    return nullptr;
  }
  Node *result = nullptr;
  for (const NamedArg &a : e->named) {
    Node *n = elaborate(a.value, scope);
    if (!n)
      return nullptr;
    result = result ? makeBinary(e->text == "min" ? Node::Min : Node::Max, result, n, e->loc) : n;
    if (!result)
      return nullptr;
  }
  return result;
}

/// The ones among the bits of the type that the operand has in memory, as an i32.
Node *Elaborator::elaboratePopcount(const Expr *e, const Scope *scope) {
  Node *n = e->named.size() == 1 ? elaborate(e->named[0].value, scope) : nullptr;
  if (e->named.size() != 1)
    error(e->loc) << "'popcount' takes 1 value, not " << e->named.size();
  if (!n)
    return nullptr;
  if (!isInt(n->type) && n->type != Ty::Bool) {
    error(e->named[0].value->loc) << "'popcount' needs an integer, not " << name(n->type);
    return nullptr;
  }
  n = n->type == Ty::Bool ? convert(n, Ty::I32) : concrete(n);
  if (n && n->narrow && isSignedInteger(*n->narrow) && elementBits(*n->narrow) < 32)
    n = makeBinary(Node::BitAnd, n, makeInt((int64_t(1) << elementBits(*n->narrow)) - 1, n->type, e->loc), e->loc);
  if (!n)
    return nullptr;
  Node *ones = make(Node::Math, n->type, e->loc);
  ones->callee = "popcount";
  ones->ops.push_back(n);
  ones->narrow = ElementType::u8;
  if (ones->type != Ty::I32) {
    ones = castTo(ones, ElementType::i32, e->loc);
    ones->narrow = ElementType::u8;
  }
  return ones;
}

Node *Elaborator::makeIntegerAbs(Node *of, Loc loc) {
  bool isConst = of->type == Ty::IntLit && of->isConst();
  if (isConst && of->intValue >= 0)
    return of;
  Node *n = make(isConst ? Node::Neg : Node::Math, of->type == Ty::Bool ? Ty::I32 : of->type, loc);
  n->callee = "abs";
  n->ops.push_back(convert(of, n->type));
  if (!n->ops[0])
    return nullptr;
  fold(n);
  return n;
}

/// Functions of literals that are literals.
static std::optional<double> foldMath(StringRef name, double x) {
  return llvm::StringSwitch<std::optional<double>>(name)
      .Case("sqrt", std::sqrt(x))
      .Case("rsqrt", 1 / std::sqrt(x))
      .Case("exp", std::exp(x))
      .Case("log", std::log(x))
      .Default(std::nullopt);
}

Node *Elaborator::elaborateMath(const Expr *e, const Scope *scope) {
  unsigned arity = mathArity(e->text);
  if (e->named.size() != arity) {
    error(e->loc) << "'" << e->text << "' takes " << arity << (arity == 1 ? " value" : " values") << ", not " << e->named.size()
                  << "; write '" << e->text
                  << (arity == 1   ? "(x)'"
                      : arity == 2 ? "(x, y)'"
                                   : "(x, y, z)'");
    return nullptr;
  }
  SmallVector<Node *> args;
  for (const NamedArg &a : e->named) {
    Node *n = elaborate(a.value, scope);
    if (!n)
      return nullptr;
    args.push_back(n);
  }
  if (e->text == "abs" && !isFloat(args[0]->type))
    return makeIntegerAbs(args[0], e->loc);
  for (Node *&a : args) {
    if (isInt(a->type) && a->type != Ty::IntLit) {
      error(a->loc) << "'" << e->text << "' needs a float, not " << name(a->type) << "; write f32(..)";
      return nullptr;
    }
    if ((a->type == Ty::IntLit || a->type == Ty::Bool) && !(a = convert(a, Ty::FloatLit)))
      return nullptr;
  }
  if (arity == 1 && args[0]->isConst() && args[0]->type == Ty::FloatLit)
    if (std::optional<double> folded = foldMath(e->text, args[0]->floatValue))
      return makeFloat(*folded, Ty::FloatLit, e->loc);
  for (size_t i = 1; i < args.size(); ++i)
    if (!unify(args[0], args[i], e->loc, e->text))
      return nullptr;
  bool test = e->text.starts_with("is");
  // Of literals it adapts to its context, as they do; a test has to decide.
  Ty type = test && args[0]->type == Ty::FloatLit ? Ty::F64 : args[0]->type;
  for (Node *&a : args)
    if (!(a = convert(a, type)))
      return nullptr;
  Node *n = make(Node::Math, test ? Ty::Bool : type, e->loc);
  n->callee = e->text;
  n->ops.append(args.begin(), args.end());
  return n;
}

} // namespace kernelc::frontend
