// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One scatter, on its way to statements without one (te-sort-scatters). ScatterSorter.cpp has the points: their indices, what the
// scatter's body says there. ScatterOwners.cpp lets each row ask the points that may reach it; where data says which do,
// ScatterOrder.cpp or, where they are many, ScatterDigits.cpp sorts them and ScatterSums.cpp adds them up, or ScatterExact.cpp adds them up
// in an order that is no matter.
#pragma once

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/index/Affine.h"
#include "passes/index/IndexArithmetic.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

inline constexpr int64_t kPointBits = 32; ///< of a key

/// How points are sorted by merging: so many runs at once, and about how long all takes, in nanoseconds.
struct SortCost {
  int64_t fan;
  double time;
};
SortCost costOfMerges(int64_t points);
/// Bits of a row's number that are counted at a time, where that is clearly faster; 0: points are merged. -1 of either: any number.
int64_t digitBits(int64_t points, int64_t rows);

/// No target is known here: what is decided is the same for all.
inline const SortingCosts &sortingCosts() { return kMeasuredCosts.sorting; }

class ScatterSorter {
public:
  /// `likely`: facts of sizes that need not hold, of the call that the plan is made for.
  ScatterSorter(ScatterOp op, const SizeFacts &facts, const SizeFacts &likely)
      : b(op), op_(op), facts_(facts), likely_(likely), symbols_(op.getExtents().getNumSymbols()) {
    shareOutDims();
  }

  /// The index of which data of others says where it begins and ends, and that no subscript tells apart; nothing without one.
  std::optional<unsigned> findSpan();
  /// Reduces the points of each span of index `walked` first; returns the scatter that takes this one's place.
  ScatterOp takeSpans(unsigned walked);
  /// So few rows that each may ask all points.
  bool hasFewRows();
  /// Whether indices alone say where points go, and say from a row which points reach it: those are found, and are not many more than
  /// there are.
  bool findOwners();
  /// Each row asks the points that findOwners has found, or all.
  void askPoints();
  /// Whether exact sums, which take more memory for each result and an atomic for each point, are over before a sort would be.
  bool paysExactly();
  void sumExactly();
  mlir::LogicalResult checkSizes();
  void sortPoints();

private:
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;

  ReduceOp reduceSpans(llvm::ArrayRef<unsigned> order);
  void shareOutDims();
  mlir::AffineExpr dim(unsigned d) { return b.getAffineDimExpr(d); }
  mlir::AffineExpr number(int64_t n) { return b.getAffineConstantExpr(n); }
  mlir::AffineMap over(llvm::ArrayRef<mlir::AffineExpr> exprs, unsigned dims = 0) {
    return mlir::AffineMap::get(dims, symbols_, exprs, b.getContext());
  }
  mlir::Value index(int64_t v) { return mlir::arith::ConstantIndexOp::create(b, loc(), v); }
  mlir::Value integer(int64_t v) { return mlir::arith::ConstantIntOp::create(b, loc(), v, 64); }
  mlir::Value toInteger(mlir::Value v) { return mlir::arith::IndexCastOp::create(b, loc(), b.getI64Type(), v); }
  mlir::Value toIndex(mlir::Value v) { return mlir::arith::IndexCastOp::create(b, loc(), b.getIndexType(), v); }
  mlir::Value compare(mlir::arith::CmpIPredicate p, mlir::Value x, mlir::Value y) { return mlir::arith::CmpIOp::create(b, loc(), p, x, y); }
  mlir::Value both(mlir::Value x, mlir::Value y) { return !x ? y : !y ? x : mlir::Value(mlir::arith::AndIOp::create(b, loc(), x, y)); }
  mlir::Value value(mlir::AffineExpr e, mlir::ValueRange operands) {
    return materialize(b, loc(), mlir::simplifyAffineExpr(e, operands.size(), symbols_), operands, symbols_);
  }
  mlir::Location loc() { return op_.getLoc(); }
  mlir::Location called(llvm::StringRef name) { return mlir::NameLoc::get(b.getStringAttr(name), loc()); }
  mlir::StringAttr named(const llvm::Twine &suffix) { return b.getStringAttr(op_.getName().value_or("scatter") + suffix); }
  mlir::RankedTensorType typeOf(llvm::ArrayRef<mlir::AffineExpr> shape, mlir::Type element);

  /// The set where all of `where` are 0 or more.
  static mlir::IntegerSetAttr setOf(llvm::ArrayRef<mlir::AffineExpr> where, unsigned dims, unsigned symbols);
  mlir::Value makeCompute(const llvm::Twine &name, mlir::AffineExpr extent, mlir::Type element,
                          llvm::function_ref<mlir::Value(mlir::Value)> body);
  mlir::Value makeSum(const llvm::Twine &name, llvm::ArrayRef<mlir::AffineExpr> extents, unsigned parallel, mlir::Type element,
                      llvm::ArrayRef<mlir::AffineExpr> where, Body body);
  mlir::Value makePermuted(const llvm::Twine &name, llvm::ArrayRef<mlir::AffineExpr> extents, llvm::ArrayRef<mlir::AffineExpr> where,
                           Body body);
  mlir::Value read(mlir::Value tensor, mlir::ValueRange operands, mlir::AffineExpr subscript = {}, bool padded = false);
  void fill(mlir::Region &region, unsigned dims, llvm::function_ref<void(mlir::ValueRange)> body);
  /// Clones what `roots` are computed from in the scatter's body, whose indices are `indices`.
  /// `padded`: reads that would lie outside give zero.
  mlir::IRMapping cloneBody(llvm::ArrayRef<mlir::Value> roots, mlir::ValueRange indices, bool padded = false);
  /// Indices of the key's dims of point `point`; others are null.
  llvm::SmallVector<mlir::Value> indicesOf(mlir::Value point);
  /// The constraints and data conditions that speak of carried dims, or those that do not.
  mlir::Value conditionAt(mlir::ValueRange indices, mlir::IRMapping &body, bool carried);
  llvm::SmallVector<mlir::Value> conditionRoots(bool carried);
  bool isCarried(mlir::Value v);

  /// What the sums go on from: null where that is the identity.
  mlir::Value startOf();
  void replaceBy(mlir::Operation *sum);

  double timeToAsk();
  mlir::Value findUsedWords(int64_t width);
  mlir::Value isUsed(mlir::Value used, mlir::Value at);
  mlir::Value makeZeros(llvm::ArrayRef<llvm::StringRef> names, llvm::ArrayRef<mlir::AffineExpr> places, mlir::Value used);
  /// A point's value as a word of an exact sum: the mantissa in its place, and the word's number.
  std::pair<mlir::Value, mlir::Value> wordOf(mlir::Value v, int64_t width);
  /// What a word of an exact sum stands for, as f64.
  mlir::Value numberOf(mlir::Value word, mlir::Value at, int64_t width);

  mlir::Value makeKeys();
  mlir::Value sortKeys();
  mlir::Value sortChunks(mlir::Value keys);
  mlir::Value mergeRuns(mlir::Value sorted, int64_t length, int64_t fan);
  mlir::AffineExpr blocks();
  mlir::Value sortByDigits(mlir::Value keys, int64_t bits);
  /// Sorts keys by `bits` bits of their rows, from bit `shift` on; those that agree there keep their order.
  mlir::Value sortByDigit(mlir::Value keys, int64_t shift, int64_t bits);
  mlir::Value makeDigits(mlir::Value keys, int64_t shift, int64_t bits);
  mlir::Value countDigits(mlir::Value digits, int64_t bits);
  mlir::Value startDigits(mlir::Value counts, int64_t bits);
  /// How many of the `length` elements of `sorted` from `start` on (all, if null) are below `key`.
  mlir::Value countBelow(mlir::Value sorted, mlir::Value start, int64_t length, mlir::Value key);
  mlir::Value makeSegments(mlir::Value sorted);
  /// The row of the result at indices `out`, as an expression of them.
  mlir::AffineExpr rowOf();
  mlir::Value pointNumber(mlir::Value key) { return mlir::arith::AndIOp::create(b, loc(), key, integer((int64_t(1) << kPointBits) - 1)); }
  ReduceOp startSum(const llvm::Twine &name, llvm::ArrayRef<mlir::AffineExpr> lead, mlir::AffineExpr last, mlir::RankedTensorType type,
                    mlir::IntegerSetAttr where, mlir::Value init);
  /// The value of point `point` (an i64) with the carried indices `carried`, and whether it counts there (null: always). `padded`: the
  /// point may be none, -1.
  std::pair<mlir::Value, mlir::Value> valueAt(mlir::Value point, mlir::ValueRange carried, bool padded = false);
  mlir::Value makeShares(mlir::Value sorted, mlir::Value segments);
  mlir::Value makeEnds(mlir::Value segments);
  void sumSegments(mlir::Value sorted, mlir::Value segments);
  void sumShares(mlir::Value sorted, mlir::Value segments, mlir::Value shares, mlir::Value ends);

  mlir::OpBuilder b;
  ScatterOp op_;
  SizeFacts facts_, likely_;
  unsigned symbols_;
  llvm::SmallVector<int64_t> carriedBy_;  ///< per dim of the domain, the dim of the result that it is; -1: of the key
  llvm::SmallVector<int64_t> carriedDim_; ///< per dim of the result, the dim of the domain that it is; -1: the key says
  /// What findOwners has found, over the result's dims and then the domain's: per dim of the domain its value at a point that reaches
  /// the row, null where every value may; and what must be 0 or more, or with `true` 0.
  llvm::SmallVector<mlir::AffineExpr> solved_;
  llvm::SmallVector<std::pair<mlir::AffineExpr, bool>> reaches_;
  mlir::AffineExpr points_, rows_;
  bool asksForWords_ = false; ///< which words of an exact sum values use, before they are zeroed
};

} // namespace kernelc::te
