#include "codegen/WgmmaHelper.h"

#include "llvm/ADT/SmallVector.h"

namespace kernelc::codegen {

std::optional<std::string> wgmmaHelperText(llvm::StringRef name) {
  llvm::StringRef rest = name;
  if (!rest.consume_front("kc_wgmma_") || !rest.consume_back(">"))
    return std::nullopt;
  auto [type, numbers] = rest.split('<');
  llvm::SmallVector<llvm::StringRef> parts;
  numbers.split(parts, ", ");
  int n = 0, ta = 0, tb = 0;
  if ((type != "bf16" && type != "f16") || parts.size() != 3 || parts[0].getAsInteger(10, n) || parts[1].getAsInteger(10, ta) ||
      parts[2].getAsInteger(10, tb) || n < 8 || n > 256 || n % 8)
    return std::nullopt;
  // D += A * B; the last operand decides whether the old D counts (PTX ISA, "wgmma.mma_async").
  std::string text = "template <> __device__ __forceinline__ void " + name.str() +
                     "(float *d, unsigned long long a, unsigned long long b, int accumulate) {\n"
                     "  asm volatile(\n      \"{\\n.reg .pred p;\\nsetp.ne.b32 p, %" + std::to_string(n / 2 + 2) +
                     ", 0;\\n\"\n      \"wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32." + type.str() + "." +
                     type.str() + " {";
  for (int i = 0; i < n / 2; ++i)
    text += (i ? i % 16 ? ", " : ", \"\n      \"" : "") + ("%" + std::to_string(i));
  text += "}, \"\n      \"%" + std::to_string(n / 2) + ", %" + std::to_string(n / 2 + 1) + ", p, 1, 1, " + std::to_string(ta) + ", " +
          std::to_string(tb) + ";\\n}\"\n      : ";
  for (int i = 0; i < n / 2; ++i)
    text += (i ? i % 8 ? ", " : ",\n        " : "") + ("\"+f\"(d[" + std::to_string(i) + "])");
  return text + "\n      : \"l\"(a), \"l\"(b), \"r\"(accumulate));\n}";
}

} // namespace kernelc::codegen
