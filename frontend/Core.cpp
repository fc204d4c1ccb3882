// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The types of Core.h.
#include "frontend/Core.h"

namespace kernelc::frontend {

llvm::StringRef name(Ty t) {
  switch (t) {
  case Ty::Error: return "error";
  case Ty::IntLit: return "integer literal";
  case Ty::FloatLit: return "float literal";
  case Ty::Bool: return "bool";
  case Ty::I32: return "i32";
  case Ty::U32: return "u32";
  case Ty::I64: return "i64";
  case Ty::U64: return "u64";
  case Ty::F32: return "f32";
  case Ty::F64: return "f64";
  case Ty::Tuple: return "a tuple";
  }
  return "";
}

Ty widened(ElementType t) {
  switch (t) {
  case ElementType::f64: return Ty::F64;
  case ElementType::i64: return Ty::I64;
  case ElementType::u64: return Ty::U64;
  case ElementType::u32: return Ty::U32;
  case ElementType::boolean: return Ty::Bool;
  default: return kernelc::isFloat(t) ? Ty::F32 : Ty::I32;
  }
}

ElementType elementOf(Ty t) {
  switch (t) {
  case Ty::Bool: return ElementType::boolean;
  case Ty::U32: return ElementType::u32;
  case Ty::I64: return ElementType::i64;
  case Ty::U64: return ElementType::u64;
  case Ty::F64: return ElementType::f64;
  case Ty::F32:
  case Ty::FloatLit: return ElementType::f32;
  default: return ElementType::i32;
  }
}

int64_t lowestOf(ElementType t) { return isSignedInteger(t) ? -(int64_t(1) << (elementBits(t) - 1)) : 0; }

int64_t highestOf(ElementType t) {
  int bits = t == ElementType::boolean ? 1 : elementBits(t) - isSignedInteger(t);
  return (int64_t(1) << bits) - 1;
}

} // namespace kernelc::frontend
