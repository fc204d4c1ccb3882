// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/SizeExpr.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "support/FloorDivide.h"
#include "support/Saturating.h"

namespace kernelc {
namespace {

int64_t floorDiv(int64_t a, int64_t b) { return b == -1 ? subSaturated(0, a) : floorDivide(a, b); }

int64_t floorMod(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;
  int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

int64_t ceilDiv(int64_t a, int64_t b) {
  int64_t q = floorDiv(a, b);
  return b != 0 && b != -1 && a % b != 0 ? q + 1 : q;
}

int64_t apply(SizeTerm::Op op, int64_t a, int64_t b) {
  switch (op) {
  case SizeTerm::Add: return addSaturated(a, b);
  case SizeTerm::Sub: return subSaturated(a, b);
  case SizeTerm::Mul: return mulSaturated(a, b);
  case SizeTerm::FloorDiv: return floorDiv(a, b);
  case SizeTerm::CeilDiv: return ceilDiv(a, b);
  case SizeTerm::Mod: return floorMod(a, b);
  case SizeTerm::Min: return std::min(a, b);
  case SizeTerm::Max: return std::max(a, b);
  case SizeTerm::Eq: return a == b;
  case SizeTerm::Ne: return a != b;
  case SizeTerm::Lt: return a < b;
  case SizeTerm::Le: return a <= b;
  case SizeTerm::And: return a && b;
  case SizeTerm::Or: return a || b;
  default: return 0;
  }
}

const char *symbol(SizeTerm::Op op) {
  switch (op) {
  case SizeTerm::Add: return " + ";
  case SizeTerm::Sub: return " - ";
  case SizeTerm::Mul: return " * ";
  case SizeTerm::FloorDiv: return " // ";
  case SizeTerm::Mod: return " % ";
  case SizeTerm::Eq: return " == ";
  case SizeTerm::Ne: return " != ";
  case SizeTerm::Lt: return " < ";
  case SizeTerm::Le: return " <= ";
  case SizeTerm::And: return " and ";
  case SizeTerm::Or: return " or ";
  default: return nullptr;
  }
}

bool isIdentity(SizeTerm::Op op, int64_t rhs) {
  return ((op == SizeTerm::Add || op == SizeTerm::Sub) && rhs == 0) ||
         ((op == SizeTerm::Mul || op == SizeTerm::FloorDiv || op == SizeTerm::CeilDiv) && rhs == 1);
}

} // namespace

SizeExpr SizeExpr::binary(SizeTerm::Op op, const SizeExpr &a, const SizeExpr &b) {
  int64_t x, y;
  bool constA = a.isConstant(&x), constB = b.isConstant(&y);
  if (constA && constB)
    return SizeExpr(apply(op, x, y));
  if (constB && isIdentity(op, y))
    return a;
  if (constA && ((op == SizeTerm::Add && x == 0) || (op == SizeTerm::Mul && x == 1)))
    return b;
  std::vector<SizeTerm> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  terms.push_back({op, 0});
  return SizeExpr(std::move(terms));
}

bool SizeExpr::isConstant(int64_t *value) const {
  if (terms_.size() > 1 || (terms_.size() == 1 && terms_[0].op != SizeTerm::Const))
    return false;
  if (value)
    *value = terms_.empty() ? 0 : terms_[0].value;
  return true;
}

int64_t SizeExpr::evaluate(const SizeEnv &env) const {
  // Launch path: a fixed stack, no allocation. Deeper programs are refused by
  // the artifact reader.
  constexpr int kMaxDepth = 64;
  int64_t stack[kMaxDepth];
  int depth = 0;
  for (const SizeTerm &t : terms_) {
    if (t.op <= SizeTerm::SmCount) {
      if (depth == kMaxDepth)
        return 0;
      int64_t v = t.value;
      if (t.op == SizeTerm::Size)
        v = size_t(t.value) < env.sizes.size() ? env.sizes[t.value] : 0;
      else if (t.op == SizeTerm::Stride) {
        size_t p = t.value >> 8, d = t.value & 0xff;
        v = p < env.strides.size() && d < env.strides[p].size() ? env.strides[p][d] : 0;
      } else if (t.op == SizeTerm::SmCount)
        v = env.smCount;
      stack[depth++] = v;
    } else if (t.op == SizeTerm::Not) {
      if (depth < 1)
        return 0;
      stack[depth - 1] = !stack[depth - 1];
    } else {
      if (depth < 2)
        return 0;
      --depth;
      stack[depth - 1] = apply(t.op, stack[depth - 1], stack[depth]);
    }
  }
  return depth ? stack[depth - 1] : 0;
}

std::string SizeExpr::toString(absl::Span<const std::string> names) const {
  std::vector<std::string> stack;
  for (const SizeTerm &t : terms_) {
    switch (t.op) {
    case SizeTerm::Const: stack.push_back(absl::StrCat(t.value)); continue;
    case SizeTerm::Size: stack.push_back(size_t(t.value) < names.size() ? names[t.value] : absl::StrCat("size", t.value)); continue;
    case SizeTerm::Stride: stack.push_back(absl::StrCat("stride(", t.value >> 8, ", ", t.value & 0xff, ")")); continue;
    case SizeTerm::SmCount: stack.push_back("sm_count"); continue;
    case SizeTerm::Not:
      if (!stack.empty())
        stack.back() = absl::StrCat("not ", stack.back());
      continue;
    default: break;
    }
    if (stack.size() < 2)
      return "<malformed>";
    std::string b = stack.back();
    stack.pop_back();
    std::string &a = stack.back();
    if (const char *s = symbol(t.op))
      a = absl::StrCat("(", a, s, b, ")");
    else
      a = absl::StrCat(t.op == SizeTerm::Min ? "min(" : t.op == SizeTerm::Max ? "max(" : "ceildiv(", a, ", ", b, ")");
  }
  std::string s = stack.empty() ? "0" : stack.back();
  if (s.size() > 2 && s.front() == '(' && s.back() == ')') {
    int level = 0;
    for (size_t i = 0; i < s.size(); ++i) {
      level += s[i] == '(' ? 1 : s[i] == ')' ? -1 : 0;
      if (level == 0 && i + 1 < s.size())
        return s;
    }
    return s.substr(1, s.size() - 2);
  }
  return s;
}

} // namespace kernelc
