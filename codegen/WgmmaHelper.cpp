// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/WgmmaHelper.h"

#include "llvm/ADT/STLExtras.h"
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

/// What a helper's name says.
struct Helper {
  const Kind *kind = nullptr;
  bool inRegisters = false; ///< A, which then has no order
  int n = 0;
  llvm::SmallVector<int> orders;
  int products = 1, stepB = 0; ///< with A in registers; bytes from the b of one to that of the next
};

std::optional<Helper> readName(llvm::StringRef rest) {
  if (!rest.consume_front("kc_wgmma_") || !rest.consume_back(">"))
    return std::nullopt;
  Helper helper;
  helper.inRegisters = rest.consume_front("rs_");
  auto [type, list] = rest.split('<');
  for (const Kind &k : kKinds)
    if (type == k.name)
      helper.kind = &k;
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ", ");
  llvm::SmallVector<int> numbers;
  for (llvm::StringRef part : parts)
    if (part.getAsInteger(10, numbers.emplace_back()))
      return std::nullopt;
  const int n = helper.n = numbers.front();
  if (!helper.kind || n < 8 || n > 256 || n % 8 || (helper.kind->integer && n > 24 && n % 16))
    return std::nullopt;
  const size_t orders = !helper.kind->transposable ? 0 : helper.inRegisters ? 1 : 2;
  const bool isRun = helper.inRegisters && numbers.size() == 3 + orders;
  if (!isRun && numbers.size() != 1 + orders)
    return std::nullopt;
  helper.orders.assign(numbers.begin() + 1, numbers.begin() + 1 + orders);
  if (isRun) {
    helper.products = numbers[1 + orders];
    helper.stepB = numbers.back();
  }
  bool isKnown = llvm::all_of(helper.orders, [](int order) { return order == 0 || order == 1; });
  return isKnown && (!isRun || helper.products > 1) ? std::optional(helper) : std::nullopt;
}

/// The operands of the assembly: D's registers, then A's words or its descriptor, B's descriptor, whether the old D counts, and the
/// descriptors of the further products. These are computed in C: NVVM and ptxas keep them where they kept those of single products.
class Writer {
public:
  explicit Writer(const Helper &helper) : h_(helper), wordsOfA_(helper.inRegisters ? 4 * helper.products : 1) {}

  std::string text(llvm::StringRef name) const {
    const bool isRun = h_.products > 1;
    std::string text = "template <> __device__ __forceinline__ void " + name.str() + "(" + (h_.kind->integer ? "int" : "float") + " *d, " +
                       (h_.inRegisters ? "const unsigned *a" : "unsigned long long a") +
                       ",\n    unsigned long long b, bool accumulate) {\n";
    if (isRun) // inside, where a compile unit has all of it or nothing
      text += "#define KC_D \\\n  \"{" + registers(" \\\n  ") + "}\"\n";
    text += "  asm volatile(\n      \"{\\n.reg .pred p;\\nsetp.ne.b32 p, " + operand(wordsOfA_ + 1) + ", 0;\\n\"\n      \"";
    if (isRun)
      text += ".reg .pred q;\\nsetp.eq.b32 q, 0, 0;\\n\"\n      \"";
    for (int i = 0; i < h_.products; ++i)
      text += product(i) + (i + 1 < h_.products ? "\\n\"\n      \"" : "\\n}\"\n      : ");
    return text + bindings() + (isRun ? "\n#undef KC_D\n}" : "\n}");
  }

private:
  std::string operand(int i) const { return "%" + std::to_string(h_.n / 2 + i); }

  /// All of D's, in lines of 16.
  std::string registers(llvm::StringRef lineEnd) const {
    std::string text;
    for (int i = 0; i < h_.n / 2; ++i)
      text += (i ? i % 16 ? ", " : ", \"" + lineEnd.str() + "\"" : "") + ("%" + std::to_string(i));
    return text;
  }

  /// D += A * B of product `i`; the last operand decides whether the old D counts.
  std::string product(int i) const {
    std::string text, a = operand(0), b = operand(i ? wordsOfA_ + 1 + i : wordsOfA_);
    if (h_.inRegisters)
      a = "{" + operand(4 * i) + ", " + operand(4 * i + 1) + ", " + operand(4 * i + 2) + ", " + operand(4 * i + 3) + "}";
    text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(h_.n) + h_.kind->shape + "." + h_.kind->types;
    text += h_.products > 1 ? " \" KC_D \"" : " {\"\n      \"" + registers("\n      ") + "}";
    text += ", " + (h_.products > 1 ? "" : std::string("\"\n      \"")) + a + ", " + b + (i ? ", q" : ", p");
    if (!h_.kind->integer) // signs of the operands
      text += ", 1, 1";
    for (int order : h_.orders)
      text += ", " + std::to_string(order);
    return text + ";";
  }

  std::string bindings() const {
    std::string text;
    auto add = [&](int i, const char *binding) { text += (i ? i % 8 ? ", " : ",\n        " : "") + (binding + std::to_string(i) + "])"); };
    for (int i = 0; i < h_.n / 2; ++i)
      add(i, h_.kind->integer ? "\"+r\"(d[" : "\"+f\"(d[");
    text += "\n      : ";
    for (int i = 0; h_.inRegisters && i < wordsOfA_; ++i)
      add(i, "\"r\"(a[");
    text += std::string(h_.inRegisters ? "" : "\"l\"(a)") + ", \"l\"(b), \"r\"((int)accumulate)";
    for (int i = 1; i < h_.products; ++i)
      text += (i % 4 ? ", " : ",\n        ") + ("\"l\"(b + " + std::to_string(h_.stepB / 16 * i) + ")");
    return text + ");";
  }

  const Helper &h_;
  const int wordsOfA_;
};

} // namespace

std::optional<std::string> wgmmaHelperText(llvm::StringRef name) {
  std::optional<Helper> helper = readName(name);
  return helper ? std::optional(Writer(*helper).text(name)) : std::nullopt;
}

} // namespace kernelc::codegen
