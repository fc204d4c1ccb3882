// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sequences of statements on one `inout`: as a kernel's text, and carried out one after the other in plain C++, each on the state
// before it. That is all that the language says of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kernelc::inouts {

/// Which elements a statement writes. `Turned` are those of x[j, i]; of rank 1 the mirrored ones of a part.
enum class Write { Full, Part, Data, Mirrored, Turned };
/// Where it reads the `inout`. `Old` is a `let` that stands before all statements.
enum class Read { Own, Elsewhere, Broadcast, Reduction, Old };
inline constexpr int kWrites = 5, kReads = 5;

struct Statement {
  Write write;
  Read read;
};

/// On `x`, of i32[N] or i32[N, N], with `m` of the same shape beside it.
struct Sequence {
  int rank;
  std::vector<Statement> statements;

  std::string name() const; ///< a kernel's: s2_full_own_part_old
  std::string text() const; ///< a `def`
  /// `x` afterwards; integers wrap.
  std::vector<int32_t> expected(std::vector<int32_t> x, const std::vector<int32_t> &m, int64_t n) const;
};

/// Sequence `number` of those of `length` statements, of which there are countOf(length); of rank 1 and 2 in turns.
Sequence sequenceOf(int length, uint64_t number);
uint64_t countOf(int length);

} // namespace kernelc::inouts
