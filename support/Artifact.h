// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The artifact: everything the compiler hands to the runtime, as plain data.
//
// A kernel has parameters, sizes with their solving recipes, requirements and
// variants; a variant has a guard, CUDA text, workspace bytes and launches; a
// launch has an entry, a 1-D grid, block and cluster extents, shared bytes and
// arguments. This header knows neither MLIR nor CUDA. It must not execute
// anything: evaluation of size expressions is in SizeExpr.h, the textual (JSON)
// form in ArtifactJson.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/ElementType.h"
#include "support/SizeExpr.h"

namespace kernelc {

/// A position in the user's source. Line and column count from 1; 0 = unknown.
struct SourceLoc {
  std::string file;
  int line = 0;
  int column = 0;
};

/// How a parameter is passed. Outputs come after inputs in `Kernel::params`.
enum class ParamKind { Input, Output, InOut, Scalar };

/// One parameter of a kernel. Tensors are strided, the last index fastest by
/// default; `dims` are expressions over the kernel's sizes (empty for rank 0).
struct Param {
  std::string name;
  ElementType type = ElementType::f32;
  ParamKind kind = ParamKind::Input;
  std::vector<SizeExpr> dims;
  SourceLoc loc;
};

/// How the runtime finds the value of one size: from dimension `dim` of
/// parameter `param`, where extent = scale * size + offset (exactly, or a launch
/// error). `param` < 0: the caller must give it by name. `constant`: fixed.
struct SizeRecipe {
  std::string name;
  int param = -1;
  int dim = -1;
  int64_t scale = 1;
  int64_t offset = 0;
  std::optional<int64_t> constant;
};

/// A `require`, checked before anything is launched. Nonzero means satisfied.
struct Require {
  SizeExpr condition;
  std::string text; ///< as the user wrote it
  SourceLoc loc;
};

/// One kernel argument of a launch.
struct PointerArg { ///< address of a parameter, or of the workspace (param = -1)
  int param = -1;
  SizeExpr byteOffset;
};
struct ScalarArg { ///< the value of a Scalar parameter, in its own type
  int param = -1;
};
struct SizeArg { ///< an integer computed from sizes
  SizeExpr value;
  int bits = 32; ///< 32 or 64
};
/// A TMA tensor map, encoded at each launch and passed by value. `dims` and `box`
/// run from the innermost dimension outwards; `strides` (bytes) leave out the
/// innermost. It describes the access window: what lies outside reads as zero.
/// A box may depend on sizes: that of a tensor's last tile has the rows that are there.
struct TensorMapArg {
  PointerArg base;
  ElementType type = ElementType::bf16;
  std::vector<SizeExpr> dims;
  std::vector<SizeExpr> strides;
  std::vector<SizeExpr> box;
  std::vector<uint32_t> elementStrides;
  int swizzleBytes = 0;      ///< 0, 32, 64 or 128
  bool roundsToTf32 = false; ///< f32 arrives rounded to tf32
};
using LaunchArg = std::variant<PointerArg, ScalarArg, SizeArg, TensorMapArg>;

/// One kernel launch. The grid is one-dimensional; a grid of 0 is skipped.
struct Launch {
  std::string entry;
  SizeExpr grid;
  uint32_t block = 0;
  uint32_t cluster = 1;
  SizeExpr sharedBytes;
  std::vector<LaunchArg> args;
  std::string schedule;   ///< one line for people
  bool dependent = false; ///< may start before the launch before it has ended; its kernel waits for that
};

/// What a variant assumes of one tensor parameter.
enum class LayoutClass {
  Dense,     ///< row-major, no gaps
  InnerUnit, ///< unit stride innermost, other strides multiples of 16 bytes or more (ParamGuard::pitch)
  Any,
};
struct ParamGuard {
  LayoutClass layout = LayoutClass::Dense;
  uint32_t alignment = 1; ///< bytes the base address must be a multiple of
  uint32_t pitch = 16;    ///< InnerUnit: bytes that the other strides are multiples of, 16 or 128 (a line of L2)
  std::vector<int> order; ///< of the dims, slowest first, in which the layout is as `layout` says; empty: as written

  /// The dim at a place of that order.
  int dimAt(size_t place) const { return order.empty() ? int(place) : order[place]; }
};

/// What launches of a variant hand on to later ones: `bytes` of the workspace, from `byteOffset`.
struct Workspace {
  std::string name;
  SizeExpr byteOffset, bytes;
};

/// A compile unit of a variant's text by the name that its code has in caches: read instead of the text where the code is there.
struct UnitKey {
  std::vector<std::string> entries;
  std::string code; ///< a digest of what of its text decides about its code
};

/// One specialisation of a kernel: one CUDA text, a cubin for each compile unit.
struct Variant {
  std::string name;
  std::string target; ///< "sm_90a", ...
  SizeExpr guard;     ///< over sizes; nonzero = usable; empty = always
  std::string guardText;
  std::vector<ParamGuard> params; ///< parallel to Kernel::params
  std::string cudaText;
  SizeExpr workspaceBytes;           ///< device memory that holds anything when a launch begins
  std::vector<Workspace> workspaces; ///< what lies in it; they do not overlap
  std::vector<Launch> launches;
  std::vector<std::string> remarks; ///< fallbacks taken, with reasons
  std::vector<UnitKey> units;       ///< of all launches, or none where nobody has looked
};

/// A compiled kernel.
struct Kernel {
  std::string name;
  SourceLoc loc;
  std::vector<Param> params; ///< inputs and scalars as written, then pure outputs
  std::vector<SizeRecipe> sizes;
  std::vector<SizeExpr> quotients; ///< extents of statements that divide a size, such as the columns of a head, E // H; over sizes
  std::vector<Require> requires_;
  std::vector<Variant> variants;
};

} // namespace kernelc
