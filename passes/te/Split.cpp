// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-split: see Passes.td. Finds the indices that are worth splitting; Digits.h splits.
#include "passes/Passes.h"

#include <unordered_map>

#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"
#include "passes/index/Requirements.h"
#include "passes/plan/PlanAttr.h"
#include "passes/te/Digits.h"
#include "passes/te/GroupedContraction.h"
#include "passes/te/Residues.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESPLIT
#include "passes/Passes.h.inc"

using namespace te;

namespace {

class DigitSplitter {
public:
  DigitSplitter(KernelOp kernel, ArrayRef<int64_t> sizeDiv) : kernel_(kernel) {
    divisors_ = requiredDivisors(kernel, {sizeDiv, {}});
    for (Attribute a : kernel.getRequirements())
      noteRequirement(cast<IntegerSetAttr>(a).getValue());
  }

  void run() {
    while (splitOneParallel())
      ;
    SmallVector<ReduceOp> work(kernel_.getBlock().getOps<ReduceOp>());
    while (!work.empty()) {
      ReduceOp r = work.pop_back_val();
      for (unsigned d = r.getNumParallel(); d < r.getNumDims(); ++d)
        if (std::optional<Digits> digits = digitsOfReduced(r, d)) {
          work.push_back(splitReducedDim(r, d, *digits)); // the high part may have digits of its own
          forget();
          break;
        }
    }
    for (ReduceOp r : llvm::to_vector(kernel_.getBlock().getOps<ReduceOp>()))
      while (r)
        r = walkOneResidue(r);
  }

private:
  /// The product that `reduce` is: asked of each index of each statement, and the same until a statement changes.
  const std::optional<Contraction> &contractionOf(ReduceOp reduce) {
    auto [at, isNew] = contractions_.try_emplace(reduce);
    if (isNew)
      at->second = findContraction(reduce);
    return at->second;
  }

  /// And the residues that its condition picks.
  ArrayRef<Residue> residuesOf(ReduceOp reduce) {
    auto [at, isNew] = residues_.try_emplace(reduce);
    if (isNew)
      at->second = findResidues(reduce);
    return at->second;
  }
  void forget() { // (a statement has changed)
    contractions_.clear();
    residues_.clear();
  }

  void noteRequirement(IntegerSet set) {
    for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
      AffineExpr e = set.getConstraint(i);
      auto bin = dyn_cast<AffineBinaryOpExpr>(e);
      if (!set.isEq(i)) { // G - 1 >= 0
        auto c = bin && e.getKind() == AffineExprKind::Add ? dyn_cast<AffineConstantExpr>(bin.getRHS()) : AffineConstantExpr();
        if (c && c.getValue() < 0)
          positive_.push_back(bin.getLHS());
        continue;
      }
      if (!bin || e.getKind() != AffineExprKind::Mod)
        continue;
      if (!isa<AffineConstantExpr>(bin.getRHS())) // H % G == 0
        multiples_.push_back({bin.getLHS(), bin.getRHS()});
    }
  }

  /// An index below `extent` as digits of `radix`, where they come out even.
  std::optional<Digits> digitsBy(AffineExpr radix, AffineExpr extent) {
    if (auto c = dyn_cast<AffineConstantExpr>(radix)) {
      int64_t divisor = knownDivisor(extent, {divisors_, {}});
      bool isWhole = divisor == c.getValue() && isa<AffineConstantExpr>(extent);
      return divisor % c.getValue() == 0 && !isWhole ? std::optional(Digits{radix, extent.floorDiv(radix)}) : std::nullopt;
    }
    if (auto product = dyn_cast<AffineBinaryOpExpr>(extent); product && extent.getKind() == AffineExprKind::Mul)
      for (auto [low, high] : {std::pair(product.getLHS(), product.getRHS()), std::pair(product.getRHS(), product.getLHS())})
        if (radix == low)
          return Digits{radix, high};
    for (auto [multiple, divisor] : multiples_) {
      if (extent != multiple || !llvm::is_contained(positive_, divisor))
        continue;
      if (radix == multiple.floorDiv(divisor))
        return Digits{radix, divisor};
      if (radix == divisor)
        return Digits{radix, multiple.floorDiv(divisor)};
    }
    return std::nullopt;
  }

  /// An index below `extent` as digits of `radix`: where they come out even, or as they stand where another index like it was split.
  std::optional<Digits> digitsAsOthers(AffineExpr radix, AffineExpr extent) {
    if (std::optional<Digits> even = digitsBy(radix, extent))
      return even;
    for (const Digits &digits : active_)
      if (digits.endsEarly && digits.radix == radix && digits.highExtent == extent.ceilDiv(radix))
        return digits;
    return std::nullopt;
  }

  /// The one radix of `use`: of several constants the smallest, if it divides the others.
  AffineExpr radixOf(const DigitUse &use) {
    if (use.radices.size() == 1)
      return use.radices[0];
    AffineConstantExpr least;
    for (AffineExpr r : use.radices) {
      auto c = dyn_cast<AffineConstantExpr>(r);
      if (!c)
        return {};
      if (!least || c.getValue() < least.getValue())
        least = c;
    }
    bool chain = llvm::all_of(use.radices, [&](AffineExpr r) { return cast<AffineConstantExpr>(r).getValue() % least.getValue() == 0; });
    return chain ? least : AffineExpr();
  }

  /// Whether `e` is the subscript along memory of a tensor whose bytes hold several elements each, d floordiv 2: it walks d as
  /// one without would.
  static bool isPacked(ReadOp read, AffineExpr e, unsigned position) {
    return e == read.getMapOrIdentity().getResults().back() && read.getResult().getType().isInteger(8) &&
           neighboursIn(e, position).value_or(1) > 1;
  }

  /// Whether `read` decides between values, and is nothing else to its body.
  static bool isChoice(ReadOp read) {
    SmallVector<Operation *> work{read};
    while (!work.empty())
      for (OpOperand &use : work.pop_back_val()->getUses()) {
        Operation *user = use.getOwner();
        if (isa<arith::SelectOp>(user) && use.getOperandNumber() == 0)
          continue;
        bool isTest = isa<arith::CmpIOp, arith::CmpFOp, arith::AndIOp, arith::OrIOp, arith::ExtSIOp, arith::ExtUIOp>(user);
        if (!isTest)
          return false;
        work.push_back(user);
      }
    return true;
  }

  /// The reads of op's body that use dim d; of a product, and of what is made of a product's results, not those by which data picks
  /// blocks: they are the same throughout tiles that fit the blocks, whole indices or not.
  template <typename Fn> void forReads(Operation *op, unsigned d, Fn fn) {
    SmallVector<ReadOp> picks;
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (const std::optional<Contraction> &c = contractionOf(reduce); c && c->where)
        picks = findReads(c->where);
      bool ofProduct = false;
      reduce.walk([&](ReadOp read) {
        auto made = dyn_cast_or_null<ReduceOp>(read.getTensor().getDefiningOp());
        ofProduct |= made && contractionOf(made);
      });
      if (ofProduct)
        reduce.walk([&](ReadOp read) {
          if (isChoice(read))
            picks.push_back(read);
        });
    }
    Value index = op->getRegion(0).front().getArgument(d);
    for (OpOperand &operand : index.getUses())
      if (auto read = dyn_cast<ReadOp>(operand.getOwner()); read && !llvm::is_contained(picks, read))
        fn(read, operand.getOperandNumber() - 1);
  }

  /// Runs of neighbours shorter than this cost an access along the index itself more than the digits save.
  static constexpr int64_t kShortestRun = 32;
  static bool areLongRuns(const Digits &digits) {
    auto radix = dyn_cast<AffineConstantExpr>(digits.radix);
    return radix && radix.getValue() >= kShortestRun;
  }

  std::optional<Digits> digitsOfReduced(ReduceOp r, unsigned d) {
    if (r.isArg() || findScan(r))
      return std::nullopt; // the position is the index itself; a scan goes from one to the next
    DigitUse use;
    bool plainRows = false; // where an access walks the index along memory
    forReads(r, d, [&](ReadOp read, unsigned position) {
      for (AffineExpr e : read.getMapOrIdentity().getResults())
        if (isPacked(read, e, position))
          use.plain = plainRows = true;
        else
          noteUse(e, position, use);
      DigitUse last;
      if (read.getMapOrIdentity().getNumResults())
        noteUse(read.getMapOrIdentity().getResults().back(), position, last);
      plainRows |= last.plain;
    });
    AffineExpr radix = radixOf(use);
    auto c = dyn_cast_or_null<AffineConstantExpr>(radix);
    if (!radix || (c ? use.plain && c.getValue() < kShortestRun : plainRows))
      return std::nullopt;
    return digitsAsOthers(radix, r.getExtents().getResult(d));
  }

  //===--- Parallel indices ------------------------------------------------===//
  // A product asks first; statements it reads and that read it follow, so that all of
  // them have the same indices and may share launches.

  bool splitOneParallel() {
    for (Operation &op : llvm::make_early_inc_range(kernel_.getBlock())) {
      if (!isa<ComputeOp, ReduceOp>(op))
        continue;
      for (unsigned d = 0; d < getNumParallel(&op); ++d) {
        std::optional<Digits> digits = digitsOfParallel(&op, d);
        if (!digits || !canSplitParallelDim(&op, d, digits->endsEarly) || (!llvm::is_contained(needed_, *digits) && walksMemory(&op, d)))
          continue;
        if (!llvm::is_contained(active_, *digits))
          active_.push_back(*digits);
        splitParallelDim(&op, d, *digits);
        forget();
        return true;
      }
    }
    return false;
  }

  std::optional<Digits> digitsOfParallel(Operation *op, unsigned d) {
    AffineExpr extent = getExtents(op).getResult(d);
    DigitUse use;
    forReads(op, d, [&](ReadOp read, unsigned position) {
      for (AffineExpr e : read.getMapOrIdentity().getResults())
        if (!isPacked(read, e, position))
          noteUse(e, position, use);
    });
    AffineExpr radix = radixOf(use);
    std::optional<Digits> digits = radix ? digitsAsOthers(radix, extent) : std::nullopt;
    auto reduce = dyn_cast<ReduceOp>(op);
    if (std::optional<Digits> phases = reduce ? phasesOf(reduce, d) : std::nullopt) {
      needed_.push_back(*phases);
      return phases;
    }
    if (digits && (llvm::is_contained(active_, *digits) || (reduce && contractionOf(reduce) && !endsInOutput(reduce, d))))
      return digits;
    if (digits && reduce && findGroupedContraction(reduce, d, *digits)) {
      needed_.push_back(*digits);
      return digits;
    }
    if (digits && (d + 1 < getNumParallel(op) || areLongRuns(*digits)) && readsGroupsOf(op, d, *digits)) {
      needed_.push_back(*digits);
      return digits;
    }
    return digitsOfReaders(op, d);
  }

  /// The digits of a product's index by which its condition picks every n-th point of a sum: each low digit, a batch, sums points that are
  /// known beforehand.
  std::optional<Digits> phasesOf(ReduceOp reduce, unsigned d) {
    if (!contractionOf(reduce))
      return std::nullopt;
    AffineExpr extent = reduce.getExtents().getResult(d);
    for (const Residue &residue : residuesOf(reduce)) {
      auto points = dyn_cast<AffineConstantExpr>(extent);
      if (residue.parallel != d || (points && points.getValue() <= residue.modulus))
        continue;
      AffineExpr radix = getAffineConstantExpr(residue.modulus, extent.getContext());
      if (std::optional<Digits> even = digitsBy(radix, extent))
        return even;
      Digits phases{radix, extent.ceilDiv(radix)};
      phases.endsEarly = true;
      return phases;
    }
    return std::nullopt;
  }

  /// What stands in the place of a reduction one of whose dims is walked in the steps of its phase; null where none is. A product's phase
  /// is a batch by now, so that its tiles are dense; elsewhere each result has its own.
  static ReduceOp walkOneResidue(ReduceOp reduce) {
    if (reduce.isArg()) // whose result is the index as it is written
      return {};
    for (const Residue &residue : findResidues(reduce)) {
      auto phases = dyn_cast<AffineConstantExpr>(reduce.getExtents().getResult(residue.parallel));
      if ((phases && phases.getValue() <= residue.modulus) || !findContraction(reduce))
        if (ReduceOp walked = walkResidue(reduce, residue))
          return walked;
    }
    return {};
  }

  /// Whether a pointwise statement reads what a group of points of its index, along memory a long run, is reduced to: with the group's
  /// digits for indices it has the points of that reduction, and a block that holds them reads them once for both.
  bool readsGroupsOf(Operation *op, unsigned d, const Digits &digits) {
    if (!isa<ComputeOp>(op))
      return false;
    return op
        ->walk([&](ReadOp read) {
          auto reduce = read.getTensor().getDefiningOp<ReduceOp>();
          if (!reduce || contractionOf(reduce))
            return WalkResult::advance();
          auto reduced = getExtents(reduce).getResults().drop_front(reduce.getNumParallel());
          bool reads = false;
          for (auto [position, v] : llvm::enumerate(read.getOperands_()))
            if (findIndex(op, v) == d)
              for (AffineExpr e : read.getMapOrIdentity().getResults())
                reads |= e == getAffineDimExpr(position, e.getContext()).floorDiv(digits.radix);
          return reads && llvm::is_contained(reduced, digits.radix) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Whether an output that reads a product has the index along memory: it stays whole there, and would be another launch.
  static bool endsInOutput(ReduceOp reduce, unsigned d) {
    return d + 1 == reduce.getNumParallel() && llvm::any_of(reduce.getResult().getUsers(), [](Operation *user) {
             auto compute = dyn_cast<ComputeOp>(user->getParentOp());
             return compute && llvm::any_of(compute.getResult().getUsers(), llvm::IsaPred<ReturnOp>);
           });
  }

  /// The digits by which a statement that was split reads dim d of op's result.
  std::optional<Digits> digitsOfReaders(Operation *op, unsigned d) {
    for (const Digits &digits : active_) {
      if (digitsAsOthers(digits.radix, getExtents(op).getResult(d)) != digits)
        continue;
      for (Operation *user : op->getResult(0).getUsers())
        if (auto read = dyn_cast<ReadOp>(user); read && findDigits(read, d, digits.radix))
          return digits;
    }
    return std::nullopt;
  }

  /// Whether many points of the statement read the same element: for all that is summed, and along another index of the results. Its
  /// bytes are few beside those of what has all indices.
  static bool isSharedByPoints(Operation *op, ReadOp read) {
    unsigned parallel = getNumParallel(op);
    llvm::BitVector support = findSupport(read.getResult(), getExtents(op).getNumResults());
    return support.find_next(int(parallel) - 1) < 0 && support.count() < parallel;
  }

  /// Whether an access that keeps the index whole walks it along memory: digits would
  /// cut its rows into runs.
  bool walksMemory(Operation *op, unsigned d) {
    bool walks = false;
    forReads(op, d, [&](ReadOp read, unsigned position) {
      if (isSharedByPoints(op, read))
        return;
      DigitUse last;
      if (AffineMap map = read.getMapOrIdentity(); map.getNumResults()) {
        noteUse(map.getResults().back(), position, last);
        last.plain |= isPacked(read, map.getResults().back(), position);
        if (std::abs(linearCoefficient(map.getResults().back(), position).value_or(1)) >= kShortestRun)
          last.plain = false; // (a head's number before its columns: runs are what they were)
      }
      Operation *producer = read.getTensor().getDefiningOp();
      walks |= last.plain && !(producer && canSplitParallelDim(producer, getNumParallel(producer) - 1));
    });
    bool returned = llvm::any_of(op->getResult(0).getUsers(), [](Operation *user) { return isa<ReturnOp>(user); });
    return walks || (returned && d + 1 == getNumParallel(op));
  }

  KernelOp kernel_;
  std::unordered_map<Operation *, std::optional<Contraction>> contractions_; ///< of statements as they stand
  std::unordered_map<Operation *, SmallVector<Residue>> residues_;           ///< the same
  SmallVector<int64_t> divisors_;
  SmallVector<AffineExpr> positive_;
  SmallVector<std::pair<AffineExpr, AffineExpr>> multiples_; ///< first % second == 0
  SmallVector<Digits> active_;                               ///< of parallel indices that were split
  SmallVector<Digits> needed_;                               ///< of those without which there is no contraction
};

struct TeSplitPass : impl::TeSplitBase<TeSplitPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<int64_t> div(sizeDiv.begin(), sizeDiv.end());
    if (failed(checkSizeFacts(getOperation(), div, {})))
      return signalPassFailure();
    DigitSplitter(getOperation(), div).run();
  }
};

} // namespace
} // namespace kernelc
