// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operators that the kernels of this folder stand for, as their comments say:
//
//     # 1 Square matrix multiplication       number and title
//     #   small M=37 K=37 N=37               sizes of the same character, for tests; also several
//     #   small M=72 K=72 N=72               such lines, as for rows that tensor copies take
//     #   full M=4096 K=4096 N=4096          the benchmark's own
//     #   also bf16 tf32                     other types of tensors, or policies
//     #   spills f32                         forms of which ptxas spills registers at full size
//     #   refused is a scan                  part of the message of what is not supported yet
//     def ..                                 the kernel of all operators since the last one
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kernelc::conformance {

using Sizes = std::map<std::string, int64_t>;

struct Operator {
  int number = 0;
  std::string title, file, kernel;
  std::vector<Sizes> small;
  Sizes full;
  std::vector<std::string> forms = {"f32"}; ///< f32 and what `also` lists
  std::vector<std::string> spills;
  std::string refusal; ///< empty: must work
};

/// Of one file, in order.
std::vector<Operator> operatorsOf(const std::string &path);
/// The `.kc` files of this folder.
std::vector<std::string> conformanceFiles();

} // namespace kernelc::conformance
