// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic that mma.sync and wgmma share: operands widened exactly to f64,
// products and sums in f64 (exact for integers), one rounding by the caller.
#pragma once

namespace kernelc::emulator {

enum class NarrowKind { Bf16, F16, Tf32, S8, U8, E4M3, E5M2 };

/// The value of the element stored at `p`. tf32 ignores the low 13 bits, as the
/// unit does.
double decodeNarrow(NarrowKind kind, const unsigned char *p);

/// sums[rows, columns] += a[rows, k] * b[k, columns], all row-major.
void multiplyAdd(const double *a, const double *b, double *sums, int rows, int columns, int k);

} // namespace kernelc::emulator
