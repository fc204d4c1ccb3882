// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ldmatrix, stmatrix and mma.sync, fragment by fragment: inputs and outputs are the
// registers of every lane, as the PTX manual lays them out.
#include <cmath>

#include "test/helpers/Cases.h"
#include "test/helpers/Narrow.h"

namespace kernelc::helpers {
namespace {

/// fn(register, half, element) for four 8 x 8 matrices of 16-bit elements: which half of which of the 4 · 32 registers
/// stands for which element of an image whose row rows[l] lane l names, row l % 8 of matrix l / 8.
template <class Fn> void eachMatrixElement(const std::vector<int32_t> &rows, bool transposed, Fn &&fn) {
  for (int l = 0; l < 32; l++)
    for (int m = 0; m < 4; m++)
      for (int h = 0; h < 2; h++) {
        int row = l / 4, column = 2 * (l % 4) + h;
        if (transposed)
          std::swap(row, column);
        fn(size_t(4 * l + m), h, size_t(8 * rows[size_t(8 * m + row)] + column));
      }
}

void addFragments(std::vector<HelperCaseMaker> &cases) {
  for (bool transposed : {false, true}) {
    std::string name = transposed ? "ldmatrix_x4_trans" : "ldmatrix_x4";
    HelperCaseMaker maker{name, 75, 75, {"kc_" + name, "kc_shared"}, nullptr};
    maker.make = [=] {
      auto image = randomBits<uint16_t>(256, 50);
      std::vector<int32_t> rows(32);
      std::vector<uint32_t> registers(128);
      for (int l = 0; l < 32; l++)
        rows[size_t(l)] = (l * 13 + 5) % 32;
      eachMatrixElement(rows, transposed, [&](size_t r, int half, size_t at) { registers[r] |= uint32_t(image[at]) << 16 * half; });
      return CaseBuilder(maker)
          .input("image", image)
          .input("rows", rows)
          .output("registers", registers)
          .launch("load", 32,
                  fill(R"(
  unsigned short *s = (unsigned short *)kc_shared();
  int t = threadIdx.x;
  for (int i = 0; i < 8; i++) s[8 * t + i] = image[8 * t + i];
  __syncwarp();
  unsigned r[4];
  $f$(r, s + 8 * rows[t]);
  for (int i = 0; i < 4; i++) registers[4 * t + i] = r[i];)",
                       {{"f", "kc_" + name}}),
                  512)
          .build();
    };
    cases.push_back(maker);
  }
  for (bool transposed : {false, true}) {
    std::string name = transposed ? "stmatrix_x4_trans" : "stmatrix_x4";
    HelperCaseMaker store{name, 90, 90, {"kc_" + name, "kc_shared"}, nullptr};
    store.make = [=] {
      auto registers = randomBits<uint32_t>(128, 51);
      std::vector<int32_t> rows(32);
      std::vector<uint16_t> image(256);
      for (int l = 0; l < 32; l++)
        rows[size_t(l)] = (l * 7 + 3) % 32;
      eachMatrixElement(rows, transposed, [&](size_t r, int half, size_t at) { image[at] = uint16_t(registers[r] >> 16 * half); });
      return CaseBuilder(store)
          .input("registers", registers)
          .input("rows", rows)
          .output("image", image)
          .launch("store", 32,
                  fill(R"(
  unsigned short *s = (unsigned short *)kc_shared();
  int t = threadIdx.x;
  unsigned r[4];
  for (int i = 0; i < 4; i++) r[i] = registers[4 * t + i];
  $f$(s + 8 * rows[t], r);
  __syncwarp();
  for (int i = 0; i < 8; i++) image[8 * t + i] = s[8 * t + i];)",
                       {{"f", "kc_" + name}}),
                  512)
          .build();
    };
    cases.push_back(store);
  }
}

/// A product m16n8k: types of A and B, K, spelling.
struct Mma {
  std::string helper;
  int generation;
  Narrow a, b;
  int k;
};

enum class Inputs { Exact, Random };

/// A[16, k] and B[k, 8] of values that `encode` stores; C starts as `c`.
HelperCase makeMma(const HelperCaseMaker &maker, const Mma &mma, Inputs inputs) {
  const int k = mma.k, per = 4 / narrowBytes(mma.a), halves = k / (4 * per), registers = 2 * halves;
  bool integer = isInteger(mma.a);
  std::vector<double> a(size_t(16 * k)), b(size_t(8 * k));
  std::vector<uint32_t> fragmentsA(size_t(32 * registers)), fragmentsB(size_t(32 * halves));
  NarrowSource sourceA(mma.a, inputs == Inputs::Exact, 60), sourceB(mma.b, inputs == Inputs::Exact, 61);
  for (int l = 0; l < 32; l++)
    for (int h = 0; h < halves; h++)
      for (int i = 0; i < per; i++) {
        int column = h * 4 * per + l % 4 * per + i, shift = 32 / per * i;
        for (int half = 0; half < 2; half++) {
          auto [bits, value] = sourceA.next();
          a[size_t((l / 4 + 8 * half) * k + column)] = value;
          fragmentsA[size_t(l * registers + 2 * h + half)] |= bits << shift;
        }
        auto [bits, value] = sourceB.next();
        b[size_t(column * 8 + l / 4)] = value;
        fragmentsB[size_t(l * halves + h)] |= bits << shift;
      }
  std::string body =
      fill(R"(
  int t = threadIdx.x;
  unsigned ra[$na$], rb[$nb$];
  $T$ d[4];
  for (int i = 0; i < $na$; i++) ra[i] = a[$na$ * t + i];
  for (int i = 0; i < $nb$; i++) rb[i] = b[$nb$ * t + i];
  for (int i = 0; i < 4; i++) d[i] = c[4 * t + i];
  $f$(d, ra, rb);
  for (int i = 0; i < 4; i++) out[4 * t + i] = d[i];)",
           {{"na", std::to_string(registers)}, {"nb", std::to_string(halves)}, {"T", integer ? "int" : "float"}, {"f", mma.helper}});
  CaseBuilder builder(maker);
  builder.input("a", fragmentsA).input("b", fragmentsB);
  auto place = [](int l, int i) { return std::pair(l / 4 + 8 * (i >> 1), 2 * (l % 4) + (i & 1)); };
  if (integer) {
    auto c = randomBits<int32_t>(128, 62), out = c;
    for (int e = 0; e < 128; e++)
      for (int x = 0; x < k; x++) {
        auto [row, column] = place(e / 4, e % 4);
        out[size_t(e)] = int32_t(uint32_t(out[size_t(e)]) + uint32_t(int32_t(a[size_t(row * k + x)]) * int32_t(b[size_t(x * 8 + column)])));
      }
    builder.input("c", c).output("out", out);
  } else {
    auto c = inputs == Inputs::Exact ? smallIntegers(128, 62) : uniform(128, 62), out = c;
    std::vector<double> bound;
    for (int e = 0; e < 128; e++) {
      auto [row, column] = place(e / 4, e % 4);
      DotProduct dot(c[size_t(e)], mma.a);
      for (int x = 0; x < k; x++)
        dot.add(a[size_t(row * k + x)], b[size_t(x * 8 + column)]);
      out[size_t(e)] = float(dot.sum);
      bound.push_back(dot.bound());
    }
    builder.input("c", c).output("out", out, Compare::Bits, inputs == Inputs::Exact ? std::vector<double>() : bound);
  }
  return builder.launch("mma", 32, body).build();
}

/// Rounds of multiply-adds on CUDA cores: 4 rows in one vector, `columns` in vectors of `width`, of a memory in which a round lies
/// `rowStep` and `columnStep` elements behind the one before.
void addMultiplyCase(std::vector<HelperCaseMaker> &cases, int rounds, int columns, int width, int rowStep, int columnStep, bool turns) {
  constexpr int kRows = 4, kFloats = 512;
  std::string helper = "kc_multiply_f32<";
  for (int n : {rounds, kRows, kRows, rowStep, columns, width, columnStep})
    helper += std::to_string(n) + ", ";
  helper += turns ? "3>" : "0>"; // 3: with loads a round ahead
  const int vectors = columns / width, sums = kRows * columns;
  HelperCaseMaker maker{"multiply_f32_" + std::to_string(rounds) + "_" + std::to_string(columns) + (turns ? "_turns" : ""),
                        75,
                        75,
                        {helper, "kc_shared"},
                        nullptr};
  maker.make = [=] {
    auto memory = uniform(kFloats, 70), c = uniform(size_t(32 * sums), 71), out = c;
    auto rowsOf = [](int t) { return t % 8 * 4; };
    auto columnsOf = [=](int t, int v) { return 64 + t / 8 * 4 + v * 20; };
    for (int t = 0; t < 32; t++)
      for (int k = 0; k < rounds; k++)
        for (int i = 0; i < kRows; i++)
          for (int j = 0; j < columns; j++) {
            float &sum = out[size_t(t * sums + i * columns + j)];
            sum = std::fmaf(memory[size_t(rowsOf(t) + k * rowStep + i)],
                            memory[size_t(columnsOf(t, j / width) + k * columnStep + j % width)], sum);
          }
    return CaseBuilder(maker)
        .input("memory", memory)
        .input("c", c)
        .output("out", out)
        .launch("multiply", 32,
                fill(R"(
  float *s = (float *)kc_shared();
  int t = threadIdx.x;
  for (int i = 0; i < 16; i++) s[16 * t + i] = memory[16 * t + i];
  __syncwarp();
  const float *a[1] = {s + t % 8 * 4}, *b[$v$];
  for (int i = 0; i < $v$; i++) b[i] = s + (64 + t / 8 * 4 + i * 20);
  float d[$n$];
  for (int i = 0; i < $n$; i++) d[i] = c[$n$ * t + i];
  $f$(d, a, b);
  for (int i = 0; i < $n$; i++) out[$n$ * t + i] = d[i];)",
                     {{"f", helper}, {"n", std::to_string(sums)}, {"v", std::to_string(vectors)}}),
                kFloats * sizeof(float))
        .build();
  };
  cases.push_back(maker);
}

} // namespace

void addMatrixCases(std::vector<HelperCaseMaker> &cases) {
  addFragments(cases);
  addMultiplyCase(cases, 3, 8, 4, 32, 40, true);
  addMultiplyCase(cases, 4, 6, 2, 36, 0, false);
  for (const Mma &mma :
       {Mma{"kc_mma_m16n8k16_bf16", 80, Narrow::Bf16, Narrow::Bf16, 16}, Mma{"kc_mma_m16n8k16_f16", 75, Narrow::F16, Narrow::F16, 16},
        Mma{"kc_mma_m16n8k16_f16", 80, Narrow::F16, Narrow::F16, 16}, Mma{"kc_mma_m16n8k8_tf32", 80, Narrow::Tf32, Narrow::Tf32, 8},
        Mma{"kc_mma_m16n8k32_s8", 80, Narrow::S8, Narrow::S8, 32}, Mma{"kc_mma_m16n8k32_u8", 80, Narrow::U8, Narrow::U8, 32},
        Mma{"kc_mma_m16n8k32_s8u8", 80, Narrow::S8, Narrow::U8, 32}, Mma{"kc_mma_m16n8k32_u8s8", 80, Narrow::U8, Narrow::S8, 32},
        Mma{"kc_mma_m16n8k32_e4m3", 89, Narrow::E4M3, Narrow::E4M3, 32}, Mma{"kc_mma_m16n8k32_e5m2", 89, Narrow::E5M2, Narrow::E5M2, 32},
        Mma{"kc_mma_m16n8k32_e4m3e5m2", 89, Narrow::E4M3, Narrow::E5M2, 32},
        Mma{"kc_mma_m16n8k32_e5m2e4m3", 89, Narrow::E5M2, Narrow::E4M3, 32}})
    for (Inputs inputs : {Inputs::Exact, Inputs::Random}) {
      if (inputs == Inputs::Random && isInteger(mma.a))
        continue; // exact on every input
      HelperCaseMaker maker{mma.helper.substr(3) + "_" + std::to_string(mma.generation) + (inputs == Inputs::Exact ? "_exact" : "_random"),
                            mma.generation,
                            mma.generation,
                            {mma.helper},
                            nullptr};
      maker.make = [=] { return makeMma(maker, mma, inputs); };
      cases.push_back(maker);
    }
}

} // namespace kernelc::helpers
