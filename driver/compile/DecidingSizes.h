// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which sizes of a kernel decide how its work is shared out: a variant that was made for a thousand points of a sum does all of a
// million in one block.
#pragma once

#include <set>
#include <string>

#include "ir/te/Te.h"

namespace kernelc {

struct DecidingSizes {
  std::set<std::string> walked;    ///< that a reduction, a product's sum or a scan goes along: parts are cut by what is likely of them
  std::set<std::string> scattered; ///< of the points or the rows of a scatter whose order counts: a bound of them decides whether it sorts
};

/// Of a kernel as the frontend makes it.
DecidingSizes decidingSizesOf(te::KernelOp kernel);

/// The bound of the class that a size of `n` is of, where it is one of these; -1 of sizes beyond all classes. So few classes that a kernel
/// of one such size has no more variants than a set holds.
int64_t decidingBound(int64_t n);

} // namespace kernelc
