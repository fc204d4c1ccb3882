// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many blocks share out what a launch walks of a product's results, where rows alone do not fill the device.
#pragma once

#include "passes/plan/Chain.h"

namespace kernelc::te {

/// Parts of a walk, and what it takes with them.
struct WalkParts {
  int64_t chunk = 0; ///< points of a part, the last of which may have fewer; 0: one block walks all
  double time = 0;   ///< microseconds
};

/// The best parts of a walk over `walked` columns (-1: not known) by `tilesOfRows` tiles. `column`: microseconds that a tile takes for
/// one; `values`: that each row has in a part's state.
WalkParts shareOutWalk(double tilesOfRows, int64_t walked, double column, double values, const Target &target);

/// Microseconds that one column of a tile of rows takes, where so many terms are summed for each of its points: in a loop that does
/// something with each point.
double timeOfColumn(double terms, const Target &target);

/// The parts of the walk of `cascade`.
WalkParts partsOfWalk(CascadeOp cascade, const ProductWalk &walk, const Target &target, const SizeFacts &facts);

/// Whether each tile of `cascade` searching what it walks takes longer, on a multiprocessor, than launches that search ahead.
bool paysToSearchAhead(CascadeOp cascade, const ProductWalk &walk, const Target &target, const SizeFacts &expected);

} // namespace kernelc::te
