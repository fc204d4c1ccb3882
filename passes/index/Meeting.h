// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether the points of two statements can meet in one element: integer points of a polyhedron over the sizes, the dims of both,
// and what their subscripts divide. What is not linear is any number, so that "apart" is always true and "may meet" need not be.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc::te {

class Meeting {
public:
  /// Sizes as the kernel requires them and the facts bound them: at least 1, too, where they have a bound.
  Meeting(KernelOp kernel, const SizeFacts &facts);
  /// `sizes` of them, of which no more is known.
  Meeting(unsigned sizes, const SizeFacts &facts);

  /// Adds a point of the statement's domain, or one that is inside its extents alone; returns its number.
  unsigned addPoint(mlir::Operation *statement, bool inDomain = true);
  /// One with dims from 0 to these ends; null: any number.
  unsigned addPoint(llvm::ArrayRef<mlir::AffineExpr> extents);
  /// Both subscripts are one, `a` over the dims of point `p`, `b` over those of `q`. Null is any number.
  void addEqual(mlir::AffineExpr a, unsigned p, mlir::AffineExpr b, unsigned q);
  /// e >= 0, over the dims of point `p`.
  void addAtLeastZero(mlir::AffineExpr e, unsigned p = 0);

  bool isEmpty() const { return isEmptyWith({}); }
  /// Whether e >= 0 wherever all else holds, `e` over the dims of point `p`.
  bool isNeverNegative(mlir::AffineExpr e, unsigned p);
  /// Whether dim i of point p and dim j of point q agree wherever all else holds.
  bool agree(unsigned p, unsigned i, unsigned q, unsigned j) const;

private:
  using Form = llvm::SmallVector<int64_t, 16>; ///< the constant, then a coefficient per variable
  static void add(Form &to, const Form &what, int64_t times);
  Form variable();
  Form linear(mlir::AffineExpr e, unsigned p);
  void boundProduct(const Form &product, mlir::AffineExpr x, mlir::AffineExpr y, unsigned p);
  bool isEmptyWith(const Form &atLeastZero) const;

  SizeFacts facts_;
  unsigned numVariables_ = 0;
  std::vector<Form> sizes_;
  std::vector<std::vector<Form>> points_;
  std::vector<llvm::SmallVector<int64_t>> extents_; ///< of the points' dims; -1: no number
  std::vector<Form> equalities_, inequalities_;
  llvm::DenseMap<std::pair<mlir::AffineExpr, unsigned>, Form> known_; ///< quotients, and what is not linear
};

} // namespace kernelc::te
