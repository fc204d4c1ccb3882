// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that need a kernel's masks: sets of small sizes around its tiles, and values that reach beyond both ends of
// what they index. For measuring mutants (emulator/Mutate.h) where nobody says sizes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/jit/HostTensor.h"
#include "emulator/RunKernel.h"
#include "ir/te/Te.h"

namespace kernelc {

/// How a launch walks the indices in whose extents a size is, by the size's name.
struct TileWidths {
  std::map<std::string, int64_t> widest; ///< the widest tile
  std::map<std::string, int64_t> depths; ///< extents that are summed in rounds: for a round more than a ring has slots, and a point
};

/// Points that the launches go through with these sizes, those of whole tiles.
using LaunchedPoints = std::function<double(const std::vector<int64_t> &sizes)>;

/// What an integer argument indexes, directly or through arithmetic: the extents of the dims it is a subscript of.
struct SubscriptUse {
  std::vector<SizeExpr> extents;
  bool mustStayInside = false; ///< the program says so; else values beyond are defined
};
/// By parameter (Kernel::params).
std::map<size_t, SubscriptUse> findSubscriptUses(te::KernelOp kernel, const Kernel &signature);

/// Arguments with memory of their own.
struct MutantArguments {
  std::vector<HostTensor> tensors;
  emulator::RunArguments args;
  std::string sizes;  ///< "M=3 N=17"
  bool spare = false; ///< of use only where it makes a condition false that holds on all others
};

/// Up to twenty sets that the variant's guard and every requirement allow and that take at most `mostPoints`: some at random,
/// some of several tiles, some of a tile and a bit of the next one, some of more rounds than a ring has slots or of none. Behind them spare
/// ones, small, of sizes that few powers of two divide.
std::vector<std::unique_ptr<MutantArguments>> pickMutantArguments(const Kernel &kernel, const Variant &variant, const TileWidths &widths,
                                                                  const LaunchedPoints &points, double mostPoints,
                                                                  const std::map<size_t, SubscriptUse> &uses);

} // namespace kernelc
