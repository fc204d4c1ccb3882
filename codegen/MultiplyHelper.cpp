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

/// `"ld.shared.v4.f32 {a" #s "_0, a" #s "_1, a" #s "_2, a" #s "_3}, [%64 + " #k " * 512];\n"`, a line each.
std::string fetchText(const Vectors &v) {
  std::string text;
  for (int i = 0; i < v.vectors(); ++i) {
    std::string registers;
    for (int e = 0; e < v.width; ++e)
      registers += (e ? ", " : "") + std::string(1, v.letter) + "\" #s \"_" + std::to_string(i * v.width + e);
    text += "  \"ld.shared.v" + std::to_string(v.width) + ".f32 {" + registers + "}, [%" + std::to_string(v.first + i) + " + \" #k \" * " +
            std::to_string(v.step * int(sizeof(float))) + "];\\n\"" + (i + 1 < v.vectors() ? " \\\n" : "");
  }
  return text;
}

/// The multiply-adds of a round, four a line; with `turns`, odd rows go over the columns backwards.
std::string addsText(const Vectors &a, const Vectors &b, bool turns) {
  std::string text;
  for (int row = 0; row < a.count; ++row)
    for (int nth = 0; nth < b.count; ++nth) {
      const int column = turns && row % 2 ? b.count - 1 - nth : nth;
      const bool ends = nth + 1 == b.count;
      text += (nth % 4 ? " " : "  ") + ("KC_ADD(s, " + std::to_string(row * b.count + column)) + ", " + std::to_string(row) + ", " +
              std::to_string(column) + ")";
      if (ends || nth % 4 == 3)
        text += ends && row + 1 == a.count ? "\n" : " \\\n";
    }
  return text;
}

/// Each round's loads before its multiply-adds; with `ahead`, before those of the round before, into the other set of registers.
std::string roundsText(int rounds, bool ahead) {
  auto fetch = [&](int k) { return "KC_FETCH(" + std::to_string(k) + ", " + std::to_string(ahead ? k % 2 : 0) + ")"; };
  std::string text = ahead ? " \\\n      " + fetch(0) : "";
  for (int k = 0; k < rounds; ++k) {
    text += k % 4 ? " " : " \\\n      ";
    if (!ahead || k + 1 < rounds)
      text += fetch(ahead ? k + 1 : k) + " ";
    text += "KC_ADDS(" + std::to_string(ahead ? k % 2 : 0) + ")";
  }
  return text;
}

/// Operands of the asm, so many a line.
std::string operandsText(const std::string &before, int count, const std::string &behind) {
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
  const bool turns = n[7] % 2, ahead = n[7] / 2;
  const Vectors a{'a', n[1], n[2], n[3], sums};
  if (!a.isValid())
    return std::nullopt;
  const Vectors b{'b', n[4], n[5], n[6], sums + a.vectors()};
  if (!b.isValid() || rounds < 1)
    return std::nullopt;
  std::string text = "// KC_FETCH(k, s): loads of round k into set s of registers; KC_ADD(s, d, i, j): sum d += row i * column j there.\n";
  if (ahead)
    text += "// Each round's loads stand before the multiply-adds of the round before: ptxas moves few of them up.\n";
  if (turns)
    text += "// Back and forth over the columns: a register that was read last is read next.\n";
  text += "template <> __device__ __forceinline__ void " + name.str() +
          "(\n    float *d, const float *const *a, const float *const *b) {\n"
          "#if defined(KC_HOST) || KC_LOOPS + 0 == 1\n  kc_multiply_loops" +
          "<" + numbers.str() +
          ">(d, a, b);\n#else\n"
          "#define KC_ADD(s, d, i, j) \"fma.rn.f32 %\" #d \", a\" #s \"_\" #i \", b\" #s \"_\" #j \", %\" #d \";\\n\"\n"
          "#define KC_FETCH(k, s) \\\n" +
          fetchText(a) + " \\\n" + fetchText(b) + "\n#define KC_ADDS(s) \\\n" + addsText(a, b, turns);
  // A compile that shall be fast has loops in C, or (KC_LOOPS=4) a loop over short pieces: ptxas takes the longer for each multiply-add of
  // one.
  constexpr int kOfPiece = 4;
  const int piece = rounds % kOfPiece ? rounds : kOfPiece;
  text += "#ifdef KC_LOOPS\n#define KC_ROUNDS" + roundsText(piece, ahead) + "\n  for (int k = 0; k < " + std::to_string(rounds) +
          "; k += " + std::to_string(piece) + ")\n#else\n#define KC_ROUNDS" + roundsText(rounds, ahead) +
          "\n  constexpr int k = 0;\n#endif\n";
  for (const Vectors &v : {a, b}) {
    const std::string registers = std::string(1, v.letter), count = "_<" + std::to_string(v.count) + ">";
    text += (v.letter == 'a' ? "    asm volatile(\"{\\n.reg .f32 " : ", ") + registers + "0" + count +
            (ahead ? ", " + registers + "1" + count : "");
  }
  auto addressesOf = [](const Vectors &v) {
    const std::string letter(1, v.letter);
    return operandsText("\"r\"(kc_address(" + letter + "[", v.vectors(), "]) + k * " + std::to_string(v.step * int(sizeof(float))) + ")");
  };
  return text + ";\\n\" KC_ROUNDS \"}\"\n      : " + operandsText("\"+f\"(d[", sums, "])") + "\n      : " + addressesOf(a) + ",\n        " +
         addressesOf(b) + "\n      : \"memory\");\n#undef KC_ADD\n#undef KC_ADDS\n#undef KC_FETCH\n#undef KC_ROUNDS\n#endif\n}";
}

} // namespace kernelc::codegen
