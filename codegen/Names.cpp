// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/Names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace kernelc::codegen {

namespace {

/// float4, uchar2, ...
bool isVectorType(StringRef name) {
  if (name.empty() || name.back() < '1' || name.back() > '4')
    return false;
  name = name.drop_back();
  name.consume_front("u");
  return llvm::is_contained({StringRef("char"), StringRef("short"), StringRef("int"), StringRef("long"), StringRef("longlong"),
                             StringRef("float"), StringRef("double"), StringRef("half")},
                            name);
}

/// Words of the languages, macros and what the text itself uses.
bool isReserved(StringRef name) {
  static const llvm::StringSet<> words = {
#include "codegen/ReservedNames.inc"
  };
  static const llvm::StringSet<> used = {"warpSize", "threadIdx", "blockIdx", "blockDim", "gridDim", "dim3",   "min",
                                         "max",      "abs",       "uint",     "ushort",   "uchar",   "size_t", "div",
                                         "index",    "time",      "printf",   "INFINITY", "NAN",     "main",   "isnan",
                                         "isinf",    "isfinite",  "signbit",  "mbarrier"};
  // Functions that the text may call, as they are and with an f behind.
  static const llvm::StringSet<> functions = {"exp",   "exp2",  "expm1", "log",      "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt",
                                              "sin",   "cos",   "tan",   "asin",     "acos", "atan",  "atan2", "sinh", "cosh",  "tanh",
                                              "asinh", "acosh", "atanh", "erf",      "erfc", "pow",   "fabs",  "fmod", "floor", "ceil",
                                              "trunc", "round", "rint",  "copysign", "fma",  "fmax",  "fmin"};
  // Macros of the CUDA headers and of kernelc's own text; what the standard keeps for compilers.
  static const StringRef families[] = {"cuda", "CUDA", "CU_", "NV_", "kc_", "KC_", "KCE_", "__"};
  StringRef function = name;
  function.consume_back("f");
  bool keptForCompilers = name.size() > 1 && name[0] == '_' && llvm::isUpper(name[1]);
  return words.contains(name) || used.contains(name) || functions.contains(name) || functions.contains(function) || isVectorType(name) ||
         keptForCompilers || llvm::any_of(families, [&](StringRef family) { return name.starts_with(family); });
}

} // namespace

std::string sanitizeName(StringRef wanted) {
  std::string out;
  for (char c : wanted)
    out += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (out.empty() || llvm::isDigit(out[0]))
    out = "v" + out;
  return isReserved(out) ? out + "_" : out;
}

std::string NameTable::fresh(StringRef wanted) {
  const std::string base = sanitizeName(wanted);
  auto numbered = [&](unsigned n) { return n ? base + (base.back() == '_' ? "" : "_") + std::to_string(n) : base; };
  unsigned n = firstFree_.lookup(base);
  while (!taken_.insert(numbered(n)).second)
    ++n;
  firstFree_[base] = n + 1;
  visible_.push_back({numbered(n), base, n});
  return numbered(n);
}

void NameTable::leave(size_t outside) {
  for (; visible_.size() > outside; visible_.pop_back()) {
    const Visible &name = visible_.back();
    taken_.erase(name.name);
    unsigned &free = firstFree_[name.base];
    free = std::min(free, name.number);
  }
}

const std::string &NameTable::declare(Value value, StringRef wanted) { return names_[value] = fresh(wanted); }

const std::string &NameTable::get(Value value) const {
  auto it = names_.find(value);
  assert(it != names_.end() && "value has no name");
  return it->second;
}

} // namespace kernelc::codegen
