// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Long statements over a thread's registers, written once for a part of them.
#pragma once

#include "ir/cu/Cu.h"

namespace kernelc {

/// for reg in 0..64 (unrolled):        for part in 0..4 (a loop):
///   t[reg] = f(t[reg])                  for reg in 0..16 (unrolled):
///                                         t[reg] = f(t[reg])
///                                       turn t by 16: its next part comes first
///
/// Registers have no subscripts, so that a loop over them is written out: of a function that is dozens of instructions, thousands. Moves
/// give the same registers to each part. They are few beside `f`, and after the last part every element is where it was. The order of
/// all rounds stays.
///
/// Of loops that are unrolled fully, come to more than half of `budget` operations (functions count as what they are made of), and
/// touch nothing but registers, or store. An array that begins in them takes the place of one that ends there; where none does, it would
/// be alive in all parts beside what it is made from, and the loop stays unrolled. So it does where much is read from memory
/// beside it: functions begin as those reads arrive, and others begin among functions, for which a loop would have them wait. Reads behind
/// it may wait where other warps have work: in blocks of few threads, of which a multiprocessor has several, and in persistent ones.
void turnParts(cu::KernelOp kernel, int64_t budget);

} // namespace kernelc
