// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/MultiplyHelper.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace kernelc::codegen {
namespace {

/// A thread's vectors of one operand, in registers `a0, a1, ..`; `first` is the number of the first one's address among those of the asm.
struct Vectors {
  char letter;
  int count, width, step, first;
  int vectors() const { return count / width; }
  bool isValid() const { return (width == 2 || width == 4) && count > 0 && count <= 16 && count % width == 0; }
};

/// `"ld.shared.v4.f32 {a0, a1, a2, a3}, [%64 + " #k " * 512];\n"`, a line each.
std::string fetchText(const Vectors &v) {
  std::string text;
  for (int i = 0; i < v.vectors(); ++i) {
    std::string registers;
    for (int e = 0; e < v.width; ++e)
      registers += (e ? ", " : "") + (v.letter + std::to_string(i * v.width + e));
    text += "  \"ld.shared.v" + std::to_string(v.width) + ".f32 {" + registers + "}, [%" + std::to_string(v.first + i) + " + \" #k \" * " +
            std::to_string(v.step * int(sizeof(float))) + "];\\n\" \\\n";
  }
  return text;
}

/// Operands of the asm, so many a line.
std::string operandsText(const char *before, int count, const char *behind) {
  constexpr int kOfLine = 8;
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i ? i % kOfLine ? ", " : ",\n        " : "") + (before + std::to_string(i)) + behind;
  return text;
}

} // namespace

std::optional<std::string> multiplyHelperText(llvm::StringRef name) {
  llvm::StringRef numbers = name;
  if (!numbers.consume_front("kc_multiply_f32<") || !numbers.consume_back(">"))
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef> parts;
  numbers.split(parts, ", ");
  constexpr size_t kParts = 8;
  int n[kParts] = {};
  if (parts.size() != kParts)
    return std::nullopt;
  for (size_t i = 0; i < kParts; ++i)
    if (parts[i].getAsInteger(10, n[i]))
      return std::nullopt;
  const int rounds = n[0], sums = n[1] * n[4];
  const Vectors a{'a', n[1], n[2], n[3], sums};
  if (!a.isValid())
    return std::nullopt;
  const Vectors b{'b', n[4], n[5], n[6], sums + a.vectors()};
  if (!b.isValid() || rounds < 1)
    return std::nullopt;
  std::string text = "// KC_ADD(s, i, j): sum s += row i * column j, all in registers; KC_ROUND(k): loads and adds of round k.\n";
  if (n[7])
    text += "// Back and forth over the columns: a register that was read last is read next.\n";
  text += "template <> __device__ __forceinline__ void " + name.str() +
          "(\n    float *d, const float *const *a, const float *const *b) {\n"
          "#if defined(KC_HOST) || defined(KC_LOOPS)\n  kc_multiply_loops" +
          "<" + numbers.str() +
          ">(d, a, b);\n#else\n"
          "#define KC_ADD(d, a, b) \"fma.rn.f32 %\" #d \", a\" #a \", b\" #b \", %\" #d \";\\n\"\n#define KC_ROUND(k) \\\n" +
          fetchText(a) + fetchText(b);
  for (int row = 0; row < a.count; ++row)
    for (int nth = 0; nth < b.count; ++nth) {
      const int column = n[7] && row % 2 ? b.count - 1 - nth : nth;
      const bool ends = nth + 1 == b.count, breaks = ends || nth % 4 == 3;
      text += (nth % 4 ? " " : "  ") + ("KC_ADD(" + std::to_string(row * b.count + column)) + ", " + std::to_string(row) + ", " +
              std::to_string(column) + ")" +
              (!breaks                      ? ""
               : ends && row + 1 == a.count ? "\n"
                                            : " \\\n");
    }
  text += "  asm volatile(\"{\\n.reg .f32 a<" + std::to_string(a.count) + ">, b<" + std::to_string(b.count) + ">;\\n\"";
  for (int k = 0; k < rounds; ++k)
    text += (k % 8 ? " " : "\n      ") + ("KC_ROUND(" + std::to_string(k) + ")");
  return text + " \"}\"\n      : " + operandsText("\"+f\"(d[", sums, "])") +
         "\n      : " + operandsText("\"r\"(kc_address(a[", a.vectors(), "]))") + ",\n        " +
         operandsText("\"r\"(kc_address(b[", b.vectors(), "]))") + "\n      : \"memory\");\n#undef KC_ADD\n#undef KC_ROUND\n#endif\n}";
}

} // namespace kernelc::codegen
