// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops of rounds of multiply-adds on CUDA cores, as a helper computes several of their rounds at a time. Private to codegen/.
#pragma once

#include <optional>
#include <string>

#include "ir/cu/Cu.h"

namespace kernelc::codegen {

/// A loop whose rounds fetch a row vector and a column vector from shared memory and add each row times each column to registers. The
/// addresses of a round are those of the round before plus numbers. Written out in C, each of the thousand multiply-adds passes through
/// all of NVVM; in the helper they are one piece of PTX.
struct ProductRounds {
  /// What a round fetches of one operand.
  struct Operand {
    mlir::memref::AllocaOp registers;
    cu::CopyOp copy;
    mlir::Value vector;           ///< number of the vector that is copied: a loop's variable; none where there is only one
    int64_t count = 0, width = 0; ///< elements of all vectors, of one
    int64_t step = 0;             ///< so many elements on lies what the next round fetches
    int64_t vectors() const { return count / width; }
  };
  mlir::scf::ForOp loop, multiply; ///< the rounds; what multiplies in one
  Operand rows, columns;
  mlir::Value sums;
  int64_t rounds = 0; ///< in one call
  bool turns = false; ///< every second row goes over the columns backwards
  bool ahead = false; ///< loads stand a round before their use, where the registers are bounded anyway

  const Operand *findOperand(mlir::Operation *op) const {
    return op == rows.registers || op == rows.copy ? &rows : op == columns.registers || op == columns.copy ? &columns : nullptr;
  }
  /// `kc_multiply_f32<16, 8, 4, 128, 8, 4, 128>`
  std::string helper() const;
};

/// Whether the text tells ptxas how many blocks share the registers; else it weighs registers against loads that stand early.
bool boundsRegisters(cu::KernelOp kernel);

/// Nothing where `loop` is not of that form, or is not to be unrolled.
std::optional<ProductRounds> findProductRounds(mlir::scf::ForOp loop);

} // namespace kernelc::codegen
