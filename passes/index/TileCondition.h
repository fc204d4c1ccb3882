// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What conditions on data say of whole tiles: where they compare numbers of points with data,
// from which point on or up to which they hold.
#pragma once

#include <optional>

#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kernelc::te {

/// form <relation> bound, as in `off[g] <= i`: something linear in the indices of a domain op
/// against data that depends on other indices, or on few of these.
struct LinearBound {
  mlir::AffineExpr form;               ///< over the op's dims
  mlir::Value bound;                   ///< a scalar of the body, index or i64
  mlir::arith::CmpIPredicate relation; ///< sle, slt, sge, sgt or eq
};

/// The conditions that hold together where `condition`, a scalar of a body, does.
llvm::SmallVector<mlir::Value> splitConjuncts(mlir::Value condition);

/// The conditions none of which holds where `condition` does not.
llvm::SmallVector<mlir::Value> splitDisjuncts(mlir::Value condition);

/// What `relation` between signed numbers is with its sides the other way round.
mlir::arith::CmpIPredicate turnRelation(mlir::arith::CmpIPredicate relation);

/// `condition` as a bound of points by data; nothing where it is something else.
std::optional<LinearBound> findLinearBound(mlir::Value condition);

/// The dim that `condition` says is data (`a[k] == i`: i), and that data; nothing for other conditions.
std::optional<std::pair<unsigned, mlir::Value>> findNamedDim(mlir::Value condition);

} // namespace kernelc::te
