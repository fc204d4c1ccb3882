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
    {"bf16", "k16", "f32.bf16.bf16", false, true}, {"f16", "k16", "f32.f16.f16", false, true}, {"tf32", "k8", "f32.tf32.tf32", false, false},
    {"s8", "k32", "s32.s8.s8", true, false},       {"u8", "k32", "s32.u8.u8", true, false},
};

} // namespace

std::optional<std::string> wgmmaHelperText(llvm::StringRef name) {
  llvm::StringRef rest = name;
  if (!rest.consume_front("kc_wgmma_") || !rest.consume_back(">"))
    return std::nullopt;
  auto [type, numbers] = rest.split('<');
  const Kind *kind = nullptr;
  for (const Kind &k : kKinds)
    if (type == k.name)
      kind = &k;
  llvm::SmallVector<llvm::StringRef> parts;
  numbers.split(parts, ", ");
  int n = 0, ta = 0, tb = 0;
  if (!kind || parts.size() != (kind->transposable ? 3 : 1) || parts[0].getAsInteger(10, n) || n < 8 || n > 256 || n % 8 ||
      (kind->integer && n > 24 && n % 16))
    return std::nullopt;
  if (kind->transposable && (parts[1].getAsInteger(10, ta) || parts[2].getAsInteger(10, tb)))
    return std::nullopt;
  // D += A * B; the last operand decides whether the old D counts.
  std::string text = "template <> __device__ __forceinline__ void " + name.str() + "(" + (kind->integer ? "int" : "float") +
                     " *d, unsigned long long a, unsigned long long b, int accumulate) {\n"
                     "  asm volatile(\n      \"{\\n.reg .pred p;\\nsetp.ne.b32 p, %" + std::to_string(n / 2 + 2) +
                     ", 0;\\n\"\n      \"wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + kind->shape + "." + kind->types + " {";
  for (int i = 0; i < n / 2; ++i)
    text += (i ? i % 16 ? ", " : ", \"\n      \"" : "") + ("%" + std::to_string(i));
  text += "}, \"\n      \"%" + std::to_string(n / 2) + ", %" + std::to_string(n / 2 + 1) + ", p";
  if (!kind->integer) // signs of the operands
    text += ", 1, 1";
  if (kind->transposable)
    text += ", " + std::to_string(ta) + ", " + std::to_string(tb);
  text += ";\\n}\"\n      : ";
  const char *constraint = kind->integer ? "\"+r\"(d[" : "\"+f\"(d[";
  for (int i = 0; i < n / 2; ++i)
    text += (i ? i % 8 ? ", " : ",\n        " : "") + (constraint + std::to_string(i) + "])");
  return text + "\n      : \"l\"(a), \"l\"(b), \"r\"(accumulate));\n}";
}

} // namespace kernelc::codegen
