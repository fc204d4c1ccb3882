// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile functions run one program after the other on the CPU: the meaning of tile IR,
// for checking passes. Async means now: a ring is filled where its copy is issued and
// waits wait for nothing. Of two roles the producer runs first, each number of a ring
// in a box of its own; a channel only checks that what is awaited has been announced
// and brought. Layouts are ignored. Slow, and strict: an access that leaves its tensor,
// or a slot that holds another number than the reader wants, is an error.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "reference/tile/TileValue.h"
#include "support/TensorView.h"

namespace kernelc::reference {

/// Runs the tile.funcs of kernel `kernel` in `module`, in order. `params` follow the
/// kernel's parameters (inputs, then outputs that update no input; scalars as rank-0
/// views); with Ring, floats are i32 views. Unimplemented names an op and its location;
/// OutOfRange is an access outside its tensor; FailedPrecondition a ring or channel
/// used out of turn.
absl::Status runTileFunctions(mlir::ModuleOp module, llvm::StringRef kernel, absl::Span<const int64_t> sizes,
                              absl::Span<const TensorView> params, TileArithmetic arithmetic = TileArithmetic::Own);

} // namespace kernelc::reference
