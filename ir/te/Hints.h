// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hints: what passes leave on statements for later ones, above all for the planner. They are declared attributes, those of all statements
// in Te_DomainOp, those of reductions in te.reduce (TeOps.td, which says what each means); these functions ask any statement.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

bool hasOwnLaunch(mlir::Operation *statement);
void setOwnLaunch(mlir::Operation *statement);
bool isPointByPoint(mlir::Operation *statement);
void setPointByPoint(mlir::Operation *statement);
bool isBehindParts(mlir::Operation *statement);
void setBehindParts(mlir::Operation *statement);

/// What te-block-windows has to say of a set that the statement ends, or of why it ends none; empty otherwise.
llvm::StringRef getBlockText(mlir::Operation *statement);
void setBlockText(mlir::Operation *statement, llvm::StringRef text);
/// `in_block` of a pointwise statement; empty of others.
llvm::ArrayRef<int64_t> getBlockOf(mlir::Operation *statement);
inline bool isInBlock(mlir::Operation *statement) { return !getBlockOf(statement).empty(); }

/// Of reductions; no other statement has them.
bool isInTile(mlir::Operation *statement);
bool isSegmented(mlir::Operation *statement);
/// The dims that `streamed` names, for which a sum of products reads one operand once; none of other statements.
llvm::ArrayRef<int64_t> getStreamedDims(mlir::Operation *statement);

/// What the compiler has to say of the laws of a fold or a recurrence; empty of other statements.
llvm::StringRef getLawText(mlir::Operation *statement);

/// Whether a rounding gives the high part of what it rounds (te.round says what that is; roundings of arith have a mark).
bool isHighPart(mlir::Operation *rounding);
void setHighPart(mlir::Operation *rounding);

/// Leaves on `to` what passes have left on `from`, of which it is another form: a statement of the same kind.
void copyHints(mlir::Operation *from, mlir::Operation *to);

} // namespace kernelc::te
