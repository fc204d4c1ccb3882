// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/WgmmaHelper.h"

#include "llvm/ADT/SmallVector.h"

namespace kernelc::codegen {
namespace {

/// One type of both operands (PTX ISA, "wgmma.mma_async": 32 bytes of k a product).
struct Kind {
  const char *name, *shape, *types;
  bool integer, transposable;
};
constexpr Kind kKinds[] = {
    {"bf16", "k16", "f32.bf16.bf16", false, true},
    {"f16", "k16", "f32.f16.f16", false, true},
    {"tf32", "k8", "f32.tf32.tf32", false, false},
    {"s8", "k32", "s32.s8.s8", true, false},
    {"u8", "k32", "s32.u8.u8", true, false},
    {"s8u8", "k32", "s32.s8.u8", true, false},
    {"u8s8", "k32", "s32.u8.s8", true, false},
    {"e4m3", "k32", "f32.e4m3.e4m3", false, false},
    {"e5m2", "k32", "f32.e5m2.e5m2", false, false},
    {"e4m3e5m2", "k32", "f32.e4m3.e5m2", false, false},
    {"e5m2e4m3", "k32", "f32.e5m2.e4m3", false, false},
};

} // namespace

std::optional<std::string> wgmmaHelperText(llvm::StringRef name) {
  llvm::StringRef rest = name;
  if (!rest.consume_front("kc_wgmma_") || !rest.consume_back(">"))
    return std::nullopt;
  const bool inRegisters = rest.consume_front("rs_"); // A, which then has no order
  auto [type, numbers] = rest.split('<');
  const Kind *kind = nullptr;
  for (const Kind &k : kKinds)
    if (type == k.name)
      kind = &k;
  llvm::SmallVector<llvm::StringRef> parts;
  numbers.split(parts, ", ");
  const size_t orders = !kind || !kind->transposable ? 0 : inRegisters ? 1 : 2;
  int n = 0;
  if (!kind || parts.size() != 1 + orders || parts[0].getAsInteger(10, n) || n < 8 || n > 256 || n % 8 ||
      (kind->integer && n > 24 && n % 16))
    return std::nullopt;
  for (llvm::StringRef order : llvm::ArrayRef(parts).drop_front())
    if (order != "0" && order != "1")
      return std::nullopt;
  auto operand = [&](int i) { return "%" + std::to_string(n / 2 + i); };
  const int last = inRegisters ? 5 : 2;
  // D += A * B; the last operand decides whether the old D counts.
  std::string text = "template <> __device__ __forceinline__ void " + name.str() + "(" + (kind->integer ? "int" : "float") + " *d, " +
                     (inRegisters ? "const unsigned *a" : "unsigned long long a") +
                     ",\n    unsigned long long b, bool accumulate) {\n"
                     "  asm volatile(\n      \"{\\n.reg .pred p;\\nsetp.ne.b32 p, " +
                     operand(last) + ", 0;\\n\"\n      \"wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + kind->shape + "." +
                     kind->types + " {\"\n      \"";
  for (int i = 0; i < n / 2; ++i)
    text += (i ? i % 16 ? ", " : ", \"\n      \"" : "") + ("%" + std::to_string(i));
  text += "}, \"\n      \"";
  text += inRegisters ? "{" + operand(0) + ", " + operand(1) + ", " + operand(2) + ", " + operand(3) + "}" : operand(0);
  text += ", " + operand(last - 1) + ", p";
  if (!kind->integer) // signs of the operands
    text += ", 1, 1";
  for (llvm::StringRef order : llvm::ArrayRef(parts).drop_front())
    text += ", " + order.str();
  text += ";\\n}\"\n      : ";
  const char *constraint = kind->integer ? "\"+r\"(d[" : "\"+f\"(d[";
  for (int i = 0; i < n / 2; ++i)
    text += (i ? i % 8 ? ", " : ",\n        " : "") + (constraint + std::to_string(i) + "])");
  const char *a = inRegisters ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(a)";
  return text + "\n      : " + a + ", \"l\"(b), \"r\"((int)accumulate));\n}";
}

} // namespace kernelc::codegen
