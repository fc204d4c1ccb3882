// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ldmatrix, stmatrix and mma.sync on fragments laid out as the PTX manual says.
// Products are exact in f32 or integers; floating sums are taken in f64 and
// rounded to f32 once per instruction, which the hardware's own order stays
// within rounding of.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "emulator/Machine.h"
#include "emulator/MatrixProduct.h"

namespace kernelc::emulator {

void Machine::matrixOp(Block &block, Warp &warp, kce::WarpOp op) {
  bool store = op == kce::WarpOp::StMatrix;
  auto lane = [&](unsigned i) -> Thread & { return *block.threads[warp.first + i]; };
  const kce::WarpArgs &first = *lane(0).warpArgs;
  for (int m = 0; m < first.count; m++) {
    unsigned char *rows[8];
    uintptr_t addresses[8];
    for (unsigned r = 0; r < 8; r++) {
      Thread &t = lane(unsigned(m) * 8 + r);
      rows[r] = static_cast<unsigned char *>(t.warpArgs->row);
      if (!sharedBlockOf(t, rows[r], 16)) {
        report(FindingKind::OutOfBounds,
               absl::StrCat(store ? "stmatrix" : "ldmatrix", " row address lies outside shared memory (offset ",
                            int64_t(rows[r] - block.shared), " of ", spec_.sharedBytes, ")"),
               party(t, store ? "stmatrix" : "ldmatrix", t.warpPc));
        abandon();
      }
      access(actor(t, store, t.warpPc), rows[r], 16, /*aligned=*/true);
      addresses[r] = reinterpret_cast<uintptr_t>(rows[r]);
    }
    countMatrix(lane(0).warpPc, addresses, m == 0);
    // Lane l holds elements 2(l%4), 2(l%4)+1 of row l/4; transposed, of column l/4.
    for (unsigned l = 0; l < 32; l++) {
      uint32_t *reg = static_cast<uint32_t *>(lane(l).warpArgs->d) + m;
      for (unsigned h = 0; h < 2; h++) {
        unsigned row = l / 4, column = 2 * (l % 4) + h;
        if (first.transposed)
          std::swap(row, column);
        unsigned char *element = rows[row] + 2 * column;
        uint16_t bits;
        if (store) {
          bits = uint16_t(*reg >> (16 * h));
          std::memcpy(element, &bits, 2);
        } else {
          std::memcpy(&bits, element, 2);
          *reg = h == 0 ? bits : (*reg & 0xffffu) | uint32_t(bits) << 16;
        }
      }
    }
  }
}

namespace {

/// Shape of an mma: elements of K per 32-bit register and of the instruction.
struct MmaShape {
  int k, perRegister;
  bool integer;
};
MmaShape shapeOf(kce::MmaKind kind) {
  switch (kind) {
  case kce::MmaKind::Bf16K16:
  case kce::MmaKind::F16K16: return {16, 2, false};
  case kce::MmaKind::F16K8: return {8, 2, false};
  case kce::MmaKind::Tf32K8: return {8, 1, false};
  case kce::MmaKind::S8K32:
  case kce::MmaKind::U8K32:
  case kce::MmaKind::S8U8K32:
  case kce::MmaKind::U8S8K32: return {32, 4, true};
  case kce::MmaKind::E4M3K32:
  case kce::MmaKind::E5M2K32:
  case kce::MmaKind::E4M3E5M2K32:
  case kce::MmaKind::E5M2E4M3K32: return {32, 4, false};
  }
  return {};
}

/// Of operand A (`isA`) or B.
NarrowKind narrowKind(kce::MmaKind kind, bool isA) {
  switch (kind) {
  case kce::MmaKind::Bf16K16: return NarrowKind::Bf16;
  case kce::MmaKind::F16K16:
  case kce::MmaKind::F16K8: return NarrowKind::F16;
  case kce::MmaKind::Tf32K8: return NarrowKind::Tf32;
  case kce::MmaKind::S8K32: return NarrowKind::S8;
  case kce::MmaKind::U8K32: return NarrowKind::U8;
  case kce::MmaKind::S8U8K32: return isA ? NarrowKind::S8 : NarrowKind::U8;
  case kce::MmaKind::U8S8K32: return isA ? NarrowKind::U8 : NarrowKind::S8;
  case kce::MmaKind::E4M3K32: return NarrowKind::E4M3;
  case kce::MmaKind::E5M2K32: return NarrowKind::E5M2;
  case kce::MmaKind::E4M3E5M2K32: return isA ? NarrowKind::E4M3 : NarrowKind::E5M2;
  case kce::MmaKind::E5M2E4M3K32: return isA ? NarrowKind::E5M2 : NarrowKind::E4M3;
  }
  return NarrowKind::F16;
}

} // namespace

void Machine::mmaOp(Block &block, Warp &warp) {
  auto args = [&](unsigned i) -> kce::WarpArgs & { return *block.threads[warp.first + i]->warpArgs; };
  kce::MmaKind kind = kce::MmaKind(args(0).mode);
  MmaShape shape = shapeOf(kind);
  NarrowKind aKind = narrowKind(kind, true), bKind = narrowKind(kind, false);
  // Registers hold K in two halves of 4 lanes each; A has rows l/4 and l/4 + 8.
  int half = 4 * shape.perRegister, halves = shape.k / half, bytes = 4 / shape.perRegister;
  double a[16 * 32], b[32 * 8], sums[16 * 8];
  for (unsigned l = 0; l < 32; l++) {
    const auto *ra = static_cast<const unsigned char *>(args(l).a), *rb = static_cast<const unsigned char *>(args(l).b);
    int group = int(l / 4), base = int(l % 4) * shape.perRegister;
    for (int h = 0; h < halves; h++)
      for (int i = 0; i < shape.perRegister; i++) {
        int k = h * half + base + i;
        a[group * shape.k + k] = decodeNarrow(aKind, ra + 8 * h + bytes * i);
        a[(group + 8) * shape.k + k] = decodeNarrow(aKind, ra + 8 * h + 4 + bytes * i);
        b[k * 8 + group] = decodeNarrow(bKind, rb + 4 * h + bytes * i);
      }
  }
  auto eachElement = [&](auto &&fn) {
    for (unsigned l = 0; l < 32; l++)
      for (int i = 0; i < 4; i++)
        fn(sums[(l / 4 + 8 * unsigned(i >> 1)) * 8 + 2 * (l % 4) + unsigned(i & 1)], static_cast<float *>(args(l).d) + i);
  };
  if (shape.integer) {
    eachElement([](double &sum, float *d) { sum = *reinterpret_cast<int32_t *>(d); });
    multiplyAdd(a, b, sums, 16, 8, shape.k);
    eachElement([](double sum, float *d) { *reinterpret_cast<int32_t *>(d) = int32_t(uint32_t(int64_t(sum))); });
  } else {
    eachElement([](double &sum, float *d) { sum = *d; });
    multiplyAdd(a, b, sums, 16, 8, shape.k);
    eachElement([](double sum, float *d) { *d = float(sum); });
  }
}

} // namespace kernelc::emulator
