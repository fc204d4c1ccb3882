#include "codegen/Names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace kernelc::codegen {

std::string sanitizeName(StringRef wanted) {
  static const llvm::StringSet<> reserved = {
      "alignas", "alignof", "and", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "class", "compl", "concept", "const", "constexpr", "continue", "decltype", "default", "delete", "do",
      "double", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
      "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr", "operator", "or",
      "private", "protected", "public", "register", "requires", "return", "short", "signed", "sizeof", "static",
      "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typeid", "typename", "union",
      "unsigned", "using", "virtual", "void", "volatile", "while", "xor", "warpSize", "threadIdx", "blockIdx",
      "blockDim", "gridDim", "min", "max", "abs", "uint", "ushort", "uchar", "int2", "int4", "float2", "float4", "uint2",
      "uint4", "y0", "y1", "j0", "j1", "yn", "jn", "div", "index", "time", "printf", "assert", "NULL", "INFINITY",
      "NAN", "linux", "unix", "main"};
  // Functions that the text may call, as they are and with an f behind.
  static const llvm::StringSet<> functions = {
      "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan",
      "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "pow", "fabs", "fmod", "floor", "ceil", "trunc", "round",
      "rint", "copysign", "fma", "fmax", "fmin"};
  std::string out;
  for (char c : wanted)
    out += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (out.empty() || llvm::isDigit(out[0]))
    out = "v" + out;
  StringRef function = out;
  function.consume_back("f");
  if (reserved.contains(out) || functions.contains(out) || functions.contains(function) || StringRef(out).starts_with("kc_") || StringRef(out).starts_with("__"))
    out += "_";
  return out;
}

std::string NameTable::fresh(StringRef wanted) {
  std::string base = sanitizeName(wanted);
  for (unsigned n = used_[base];; ++n) {
    std::string name = n == 0 ? base : base + "_" + std::to_string(n);
    used_[base] = n + 1;
    if (n == 0 || !used_.contains(name)) {
      used_.try_emplace(name, 1);
      return name;
    }
  }
}

const std::string &NameTable::declare(Value value, StringRef wanted) { return names_[value] = fresh(wanted); }

const std::string &NameTable::get(Value value) const {
  auto it = names_.find(value);
  assert(it != names_.end() && "value has no name");
  return it->second;
}

} // namespace kernelc::codegen
