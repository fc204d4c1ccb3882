// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shape of a rewrite of te that is weighed before it is carried out: `find` says whether there is one at a statement; `sketch` says
// which statements will go and which will stand there, with the tensors that they take from memory and leave there; `pays` weighs these;
// `apply` carries it out. What was made is held against the sketch; a difference is an internal error. Sketch.h is the same for the
// launches of a plan.
#pragma once

#include <vector>

#include "ir/te/Te.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc::te {

/// A tensor that a statement reads or leaves.
struct TensorSketch {
  mlir::AffineMap shape; ///< over the sizes
  mlir::Type element;
  bool operator==(const TensorSketch &) const = default;
};
TensorSketch sketchTensor(mlir::Value tensor);

/// A statement as far as it is weighed: each tensor that it reads counts once, whatever it reads of it.
struct StatementSketch {
  llvm::StringRef kind; ///< name of the op
  mlir::AffineMap extents;
  unsigned parallel = 0;
  llvm::SmallVector<TensorSketch> loads, stores; ///< loads in any order
  bool operator==(const StatementSketch &other) const;
};

/// What a rewrite will do to a kernel's statements.
class RewriteSketch {
public:
  /// A statement that goes.
  void drop(mlir::Operation *statement) { gone_.push_back(statement); }
  /// One that will stand there.
  void make(StatementSketch statement);
  /// Statements that stay find `tensor` in another shape, or others in its place.
  void replace(mlir::Value tensor, llvm::SmallVector<TensorSketch> by);
  /// `statement` as it will be if nothing changes but what it reads.
  StatementSketch sketchOf(mlir::Operation *statement) const;
  /// The tensors that these bodies of a statement read, each once, but for what only `except` reads.
  llvm::SmallVector<TensorSketch> loadsIn(llvm::ArrayRef<mlir::Region *> bodies, llvm::ArrayRef<ReadOp> except = {}) const;

  llvm::ArrayRef<StatementSketch> made() const { return made_; }
  llvm::ArrayRef<mlir::Operation *> gone() const { return gone_; }

private:
  void addLoad(mlir::Value tensor, llvm::SmallVectorImpl<TensorSketch> &loads) const;

  llvm::SmallVector<mlir::Operation *> gone_;
  std::vector<StatementSketch> made_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<TensorSketch>> replaced_;
};

/// The statements that `sketch` says `kernel` will have.
std::vector<StatementSketch> predictStatements(KernelOp kernel, const RewriteSketch &sketch);
/// Whether those are what it has, in any order; if not, an internal error that names `rewrite` and what differs.
mlir::LogicalResult verifyRewrite(KernelOp kernel, std::vector<StatementSketch> predicted, llvm::StringRef rewrite);

/// Carries out what `rewrite` finds at `statement`, if it finds something. A rewrite has
///   using Site = ..;                                        what is to be done there
///   llvm::StringRef name() const;                           for messages
///   mlir::FailureOr<std::optional<Site>> find(Operation *); fails with a diagnostic
///   RewriteSketch sketch(const Site &) const;
///   bool pays(const Site &, const RewriteSketch &) const;   where it need not be carried out
///   void apply(const Site &);
/// Returns whether there was something that paid. (What chooses among many ways to cut a statement, as te-split-reduce among parts, does so
/// in `find`: a sketch of each is what it saves.)
template <typename RewriteT> mlir::FailureOr<bool> rewriteAt(KernelOp kernel, mlir::Operation *statement, RewriteT &rewrite) {
  mlir::FailureOr<std::optional<typename RewriteT::Site>> site = rewrite.find(statement);
  if (mlir::failed(site))
    return mlir::failure();
  if (!*site)
    return false;
  RewriteSketch sketch = rewrite.sketch(**site);
  if constexpr (requires { rewrite.pays(**site, sketch); })
    if (!rewrite.pays(**site, sketch))
      return false;
  std::vector<StatementSketch> predicted = predictStatements(kernel, sketch);
  rewrite.apply(**site);
  if (mlir::failed(verifyRewrite(kernel, std::move(predicted), rewrite.name())))
    return mlir::failure();
  return true;
}

/// The same at each statement of `kernel`, in order; those that a rewrite makes are not asked again.
template <typename RewriteT> mlir::LogicalResult rewriteEach(KernelOp kernel, RewriteT &&rewrite) {
  for (mlir::Operation &statement : llvm::make_early_inc_range(kernel.getBlock()))
    if (mlir::failed(rewriteAt(kernel, &statement, rewrite)))
      return mlir::failure();
  return mlir::success();
}

} // namespace kernelc::te
