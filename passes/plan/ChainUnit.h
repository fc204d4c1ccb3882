// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// On which unit the products of a chain run: matrix units take f16 and bf16, CUDA cores f32.
#pragma once

#include "passes/analysis/UnitOperands.h"

namespace kernelc::te {

/// Whether CUDA cores multiply `c` in a chain: f32 by f32. What they take of another product's results goes through slots that the
/// warps write which read them.
bool isOnCores(const Contraction &c);

/// Whether a condition excludes terms by factor `b`, or a, for some results of the other factor's point and not for others.
bool isTied(const Contraction &c, bool b);

/// Where a product of a chain takes its factors from: one of them at most is in registers, as it is made of another product's results.
std::optional<WarpgroupForm> findChainForm(const Contraction &c);

/// What the unit of a chain's products makes and takes.
struct ChainUnit {
  bool onCores;
  int64_t bytes;         ///< of an operand's element in a slot
  double product, chain; ///< multiply-adds of a multiprocessor in a microsecond: in large products alone, and in chains
  double tileRows;       ///< rows that the others of a tile of `ChainCosts::tileRows` are not lost with
  int64_t fewestColumns; ///< of the second product: on CUDA cores a warp has whole rows, of as many columns as its threads lie along
  int64_t mostColumns;   ///< of the second product, which a tile has all of
  int64_t mostSummed;    ///< terms of a first product, which a tile has all of; -1: it may have a part
};
ChainUnit unitOfChain(const Contraction &c, const Target &target);

} // namespace kernelc::te
