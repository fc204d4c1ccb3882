// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a variant may assume of its sizes: what holds of those of a call, and is worth a specialisation. All of it is a function of its
// arguments alone.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/Artifact.h"

namespace kernelc {

namespace te {
class KernelOp;
}

/// What a variant may assume of one size.
struct SizeFact {
  int64_t divisor = 1;
  int64_t max = -1; ///< -1: no bound; else the size is also at least 1
  /// The size for which the cost model compares tiles, at most `max` (-1: `max` itself). The code is right for other sizes as well.
  int64_t like = -1;
};

/// Whether a size of `n` is worth a variant that takes no other: an odd one up to 15, as windows have, or a multiple of 8 up to 256, as
/// head dims and channels have, whole rows of which tensor copies take and chains of products hold in registers.
bool isWorthItself(int64_t n);

/// What holds of a size of `n` and is worth a specialisation; see factsFor().
SizeFact factOf(int64_t n);

/// What holds of all sizes of the class that `n` is of, where a size varies from call to call: that it is one; that it is less than the
/// rows of a unit's tile, which makes products change sides; or nothing. `rows`: what rows of memory have to be multiples of, which
/// decides whether tensor copies and vectors take them; kept where n is one. Tiles are chosen for n itself.
SizeFact classOf(int64_t n, int64_t rows);

/// The facts that hold of concrete sizes and are worth a specialisation: the power of two that divides each (rows that are a whole tile
/// need no masks), and a bound: the next power of two, or beyond 512 the next quarter of the way to it (which tiles fill the device, what
/// fits registers, how far a reduction is split). What is worth it itself is exactly that. Of the bound's range tiles are chosen for the
/// sizes themselves (SizeFact::like).
std::map<std::string, SizeFact> factsFor(const Kernel &kernel, const std::vector<int64_t> &sizes);

/// The sizes that an extent divides which is worth a variant itself: of heads of E // H columns, E. Each is exactly what it is in the
/// facts.
std::set<std::string> sizesOfColumns(const Kernel &kernel, const std::vector<int64_t> &sizes);

/// The extents of the kernel's statements that divide a size, each once, as Kernel::quotients.
std::vector<SizeExpr> findQuotients(te::KernelOp kernel);

/// The facts of the variant `compile` emits: rows of 16-byte multiples.
std::map<std::string, SizeFact> denseFacts(const Kernel &kernel);

} // namespace kernelc
