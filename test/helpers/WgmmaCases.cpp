// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix descriptors, and wgmma of every type, shape, operand order and swizzle, with A
// in shared memory or in registers. Operands are laid out by the host, as the PTX
// manual's canonical layouts say; two steps along K, the second by kc_desc_advance or, with A in
// registers, by one helper for both.
#include "codegen/WgmmaHelper.h"
#include "test/helpers/Cases.h"
#include "test/helpers/Narrow.h"

namespace kernelc::helpers {
namespace {

/// A kind of wgmma: kc_wgmma_NAME<N, TransposeA, TransposeB>, or kc_wgmma_NAME<N>
/// where both operands must run along K; kc_wgmma_rs_NAME<N, TransposeB> and
/// kc_wgmma_rs_NAME<N> with A in registers. A new type is a new row.
struct Family {
  const char *name;
  Narrow a, b;
  bool transposes;
  /// Runs every N; a few do for other families whose text differs in the types' names only.
  bool everyN = false;
};
const Family kFamilies[] = {{"bf16", Narrow::Bf16, Narrow::Bf16, true, true},
                            {"f16", Narrow::F16, Narrow::F16, true},
                            {"tf32", Narrow::Tf32, Narrow::Tf32, false, true},
                            {"s8", Narrow::S8, Narrow::S8, false, true},
                            {"u8", Narrow::U8, Narrow::U8, false},
                            {"s8u8", Narrow::S8, Narrow::U8, false},
                            {"u8s8", Narrow::U8, Narrow::S8, false},
                            {"e4m3", Narrow::E4M3, Narrow::E4M3, false},
                            {"e5m2", Narrow::E5M2, Narrow::E5M2, false},
                            {"e4m3e5m2", Narrow::E4M3, Narrow::E5M2, false},
                            {"e5m2e4m3", Narrow::E5M2, Narrow::E4M3, false}};

/// What keeps the accumulators in their registers until the products are waited for.
const char *holdName(const Family &f) { return isInteger(f.a) ? "kc_wgmma_hold_int" : "kc_wgmma_hold"; }

/// Where the elements of one operand lie in its region, and its descriptor's fields.
struct OperandLayout {
  int rows, element, swizzle;
  bool alongRows;                            ///< MN-major
  int depth() const { return 64 / element; } ///< K of both steps

  int offset(int mn, int k) const {
    int at;
    if (!alongRows) {
      int byte = k * element, panel = swizzle ? swizzle : 16;
      at = byte / panel * rows * panel + mn * panel + byte % panel;
    } else {
      int panel = (swizzle ? swizzle : 16) / element;
      at = mn / panel * depth() * panel * element + k * panel * element + mn % panel * element;
    }
    // 16-byte chunks change places with the number of their 128-byte line.
    int keys = swizzle == 128 ? 8 : swizzle == 64 ? 4 : swizzle == 32 ? 2 : 1;
    return at ^ at / 128 % keys * 16;
  }
  /// Bytes from one core matrix to the next: along K without swizzle (K-major), or
  /// from panel to panel of rows (MN-major); unused in swizzled K-major.
  int leading() const { return alongRows ? swizzle ? depth() * swizzle : 128 : swizzle ? 16 : rows * 16; }
  int stride() const { return alongRows && !swizzle ? depth() * 16 : swizzle ? 8 * swizzle : 128; }
  /// Bytes from one step along K (32 bytes of it) to the next.
  int advance() const {
    int half = depth() / 2;
    return alongRows ? half * (swizzle ? swizzle : 16) : swizzle == 32 ? rows * 32 : swizzle ? 32 : 2 * rows * 16;
  }
};

const int kMostColumns = 256;

struct Product {
  Family family;
  bool inRegisters; ///< A
  int ta, tb, swizzle;
  std::vector<int> columns; ///< the N to run
  bool exact;
  bool isRun = false; ///< one helper for both steps

  OperandLayout layoutA() const { return {64, narrowBytes(family.a), swizzle, ta != 0}; }
  OperandLayout layoutB() const { return {kMostColumns, narrowBytes(family.a), swizzle, tb != 0}; }
  std::string helper(int n) const {
    std::string name = std::string(inRegisters ? "kc_wgmma_rs_" : "kc_wgmma_") + family.name + "<" + std::to_string(n);
    if (family.transposes && !inRegisters)
      name += ", " + std::to_string(ta);
    if (family.transposes)
      name += ", " + std::to_string(tb);
    if (isRun)
      name += ", 2, " + std::to_string(layoutB().advance());
    return name + ">";
  }
  std::string name() const {
    std::string order = family.transposes ? "_" + std::string(ta ? "t" : "n") + (tb ? "t" : "n") : "";
    return std::string(inRegisters ? "wgmma_rs_" : "wgmma_") + family.name + order + "_swizzle" + std::to_string(swizzle) +
           (exact ? columns.size() > 8 ? "_every_n" : "" : "_random") + (isRun ? "_run" : "");
  }
};

/// Registers of A, [step][register][thread]: rows l / 4 and 8 below; k runs along the four
/// lanes of a row, then from the first two registers to the others (PTX ISA).
std::vector<uint32_t> fragmentsOf(const std::vector<uint32_t> &bits, int depth, int element) {
  std::vector<uint32_t> registers(2 * 4 * 128);
  const int per = 4 / element;
  for (int step = 0; step < 2; step++)
    for (int r = 0; r < 4; r++)
      for (int t = 0; t < 128; t++)
        for (int i = 0; i < per; i++) {
          int row = t / 32 * 16 + t % 32 / 4 + r % 2 * 8, k = step * depth / 2 + r / 2 * 4 * per + t % 4 * per + i;
          registers[size_t((step * 4 + r) * 128 + t)] |= bits[size_t(row * depth + k)] << 32 / per * i;
        }
  return registers;
}

const int kRegionA = 16384, kRegionB = 32768;

HelperCase makeProduct(const HelperCaseMaker &maker, const Product &p) {
  const int element = narrowBytes(p.family.a);
  const OperandLayout a = p.layoutA(), b = p.layoutB();
  const int depth = a.depth();
  auto image = randomBits<uint8_t>(kRegionA + kRegionB, 120);
  std::vector<uint32_t> bitsOfA;
  auto fillOperand = [&](const OperandLayout &layout, Narrow type, int base, unsigned seed) {
    NarrowSource source(type, p.exact, seed);
    std::vector<double> values(size_t(layout.rows * depth));
    for (int r = 0; r < layout.rows; r++)
      for (int k = 0; k < depth; k++) {
        auto [bits, value] = source.next();
        values[size_t(r * depth + k)] = value;
        if (base == 0)
          bitsOfA.push_back(bits);
        if (base || !p.inRegisters)
          std::memcpy(&image[size_t(base + layout.offset(r, k))], &bits, size_t(element));
      }
    return values;
  };
  auto left = fillOperand(a, p.family.a, 0, 121), right = fillOperand(b, p.family.b, kRegionA, 122);

  const size_t most = kMostColumns / 2 * 128; // accumulators of a warpgroup
  bool integer = isInteger(p.family.a);
  auto start = p.exact ? smallIntegers(most, 123) : uniform(most, 123);
  auto startBits = randomBits<int32_t>(most, 123);
  std::vector<float> out;
  std::vector<int32_t> outBits;
  std::vector<double> bound;
  // The first product ignores the accumulators where N / 8 is odd.
  auto keeps = [](int n) { return n / 8 % 2 == 0; };
  for (int n : p.columns)
    for (size_t e = 0; e < size_t(n / 2) * 128; e++) {
      int i = int(e / 128), t = int(e % 128);
      size_t row = size_t(t / 32 * 16 + t % 32 / 4 + 8 * (i >> 1 & 1)), column = size_t(i / 4 * 8 + 2 * (t % 4) + (i & 1));
      DotProduct dot(keeps(n) && !integer ? start[e] : 0.0, p.family.a);
      uint32_t sum = keeps(n) ? uint32_t(startBits[e]) : 0;
      for (size_t k = 0; k < size_t(depth); k++) {
        double x = left[row * size_t(depth) + k], y = right[column * size_t(depth) + k];
        dot.add(x, y);
        sum += integer ? uint32_t(int32_t(x) * int32_t(y)) : 0;
      }
      out.push_back(float(dot.sum));
      outBits.push_back(int32_t(sum));
      bound.push_back(dot.bound());
    }
  CaseBuilder builder(maker);
  builder.input("image", image);
  if (p.inRegisters)
    builder.input("a", fragmentsOf(bitsOfA, depth, element));
  if (integer)
    builder.input("start", startBits).output("out", outBits);
  else
    builder.input("start", start).output("out", out, Compare::Bits, p.exact ? std::vector<double>() : bound);

  size_t offset = 0;
  for (int n : p.columns) {
    builder.launch("n" + std::to_string(n), 128,
                   fill(R"(
  unsigned char *smem = kc_shared();
  int t = threadIdx.x;
  for (int i = t; i < $bytes$ / 16; i += 128) ((uint4 *)smem)[i] = ((const uint4 *)image)[i];
  kc_fence_proxy_async();
  __syncthreads();
  $T$ d[$half$];
#pragma unroll
  for (int i = 0; i < $half$; i++) d[i] = start[128 * i + t];
$operandA$
  unsigned long long b = kc_smem_desc(smem + $regionA$, $leadingB$, $strideB$, $swizzle$);
  kc_wgmma_fence();
  $f$(d, $firstA$, b, $keep$);$second$
  kc_wgmma_commit();
  kc_wgmma_wait<0>();$hold$
#pragma unroll
  for (int i = 0; i < $half$; i++) out[$offset$ + 128 * i + t] = d[i];)",
                        {{"operandA", p.inRegisters ? "  unsigned ra[8];\n#pragma unroll\n  for (int i = 0; i "
                                                      "< 8; i++) ra[i] = a[128 * i + t];"
                                                    : "  unsigned long long da = kc_smem_desc(smem, "
                                                      "$leadingA$, $strideA$, $swizzle$);"},
                         {"second", p.isRun ? "" : "\n  $f$(d, $secondA$, kc_desc_advance(b, $advanceB$), 1);"},
                         {"firstA", p.inRegisters ? "ra" : "da"},
                         {"secondA", p.inRegisters ? "ra + 4" : "kc_desc_advance(da, $advanceA$)"},
                         {"bytes", std::to_string(kRegionA + kRegionB)},
                         {"T", integer ? "int" : "float"},
                         {"half", std::to_string(n / 2)},
                         {"swizzle", std::to_string(p.swizzle)},
                         {"regionA", std::to_string(kRegionA)},
                         {"leadingA", std::to_string(a.leading())},
                         {"leadingB", std::to_string(b.leading())},
                         {"strideA", std::to_string(a.stride())},
                         {"strideB", std::to_string(b.stride())},
                         {"advanceA", std::to_string(a.advance())},
                         {"advanceB", std::to_string(b.advance())},
                         {"f", p.helper(n)},
                         {"keep", keeps(n) ? "1" : "0"},
                         {"hold", std::string("\n  ") + holdName(p.family) + "<" + std::to_string(n / 2) + ">(d);" +
                                      (p.inRegisters ? "\n  kc_wgmma_hold_a<8>(ra);" : "")},
                         {"offset", std::to_string(offset)}}),
                   kRegionA + kRegionB);
    offset += size_t(n / 2) * 128;
  }
  return builder.build();
}

void addProduct(std::vector<HelperCaseMaker> &cases, Product p) {
  HelperCaseMaker maker{
      p.name(),
      90,
      90,
      {"kc_shared", "kc_smem_desc", "kc_wgmma_fence", "kc_wgmma_commit", "kc_wgmma_wait", holdName(p.family), "kc_fence_proxy_async"},
      nullptr};
  if (!p.isRun)
    maker.helpers.push_back("kc_desc_advance");
  if (p.inRegisters)
    maker.helpers.push_back("kc_wgmma_hold_a");
  for (int n : p.columns)
    maker.helpers.push_back(p.helper(n));
  maker.make = [=] { return makeProduct(maker, p); };
  cases.push_back(maker);
}

} // namespace

void addWgmmaCases(std::vector<HelperCaseMaker> &cases) {
  HelperCaseMaker descriptor{"smem_desc", 90, 90, {"kc_smem_desc", "kc_desc_advance", "kc_shared", "kc_address"}, nullptr};
  descriptor.make = [descriptor] {
    // Fields of 14 bits in units of 16 bytes: start, leading at 16, stride at 32; swizzle at 62.
    const uint64_t modes[] = {0, 3, 2, 1};
    std::vector<int32_t> offsets, leading, stride, swizzle, steps;
    std::vector<uint64_t> out, advanced;
    auto random = randomBits<uint32_t>(128 * 4, 124);
    for (size_t t = 0; t < 128; t++) {
      int mode = int(t % 4);
      offsets.push_back(int32_t(random[4 * t] % 4096 * 16));
      leading.push_back(int32_t(random[4 * t + 1] % 16384 * 16));
      stride.push_back(int32_t(random[4 * t + 2] % 16384 * 16));
      swizzle.push_back(mode ? 16 << mode : 0);
      steps.push_back(int32_t(random[4 * t + 3] % 64 * 16));
      out.push_back(uint64_t(offsets[t] / 16) + (uint64_t(leading[t] / 16) << 16) + (uint64_t(stride[t] / 16) << 32) + (modes[mode] << 62));
      advanced.push_back(out[t] + uint64_t(steps[t] / 16));
    }
    return CaseBuilder(descriptor)
        .input("offsets", offsets)
        .input("leading", leading)
        .input("stride", stride)
        .input("swizzle", swizzle)
        .input("steps", steps)
        .output("out", out)
        .output("advanced", advanced)
        .launch("descriptor", 128, R"(
  int t = threadIdx.x;
  unsigned long long d = kc_smem_desc(kc_shared() + offsets[t], leading[t], stride[t], swizzle[t]);
  unsigned long long base = kc_address(kc_shared()) / 16;
  out[t] = d - base;
  advanced[t] = kc_desc_advance(d, steps[t]) - base;)",
                65536)
        .build();
  };
  cases.push_back(descriptor);

  for (const Family &f : kFamilies)
    for (bool inRegisters : {false, true})
      for (int ta = 0; ta <= int(f.transposes && !inRegisters); ta++)
        for (int tb = 0; tb <= int(f.transposes); tb++) {
          Product p{f, inRegisters, ta, tb, 128, {}, true};
          std::vector<int> few;
          for (int n = 8; n <= kMostColumns; n += 8)
            if (codegen::wgmmaHelperText(p.helper(n))) {
              p.columns.push_back(n);
              if (n == 8 || n == 64 || n == 256)
                few.push_back(n);
            }
          if (f.everyN && !ta && !tb)
            addProduct(cases, p);
          p.columns = few;
          if (!f.everyN || ta || tb)
            addProduct(cases, p);
          for (int swizzle : {64, 32, 0}) {
            p.swizzle = swizzle;
            addProduct(cases, p);
          }
          p.isRun = true;
          for (int swizzle : inRegisters ? std::vector<int>{128, 0} : std::vector<int>()) {
            p.swizzle = swizzle;
            addProduct(cases, p);
          }
          p.isRun = false;
          if (isInteger(f.a))
            continue; // exact on every input
          p.swizzle = 128;
          p.exact = false;
          addProduct(cases, p);
        }
}

} // namespace kernelc::helpers
