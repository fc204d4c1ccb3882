// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-repack: see Passes.td. What a factor is made of, and its values in memory: MaterializeFactor.cpp. How its tensor lies, and the copy
// that would lie better: FactorLayout.cpp. This says which of them pay, and makes the copies. What a tensor copy can make of one is
// passes/tile/Box's to say.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/OperationSupport.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Strides.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/Rewrite.h"
#include "passes/products/FactorLayout.h"
#include "passes/products/MaterializeFactor.h"
#include "passes/products/WindowWeights.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEREPACK
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// A factor that is computed, written down first.
class FactorWriter {
public:
  /// Of the product `c`, whose second factor it is, or the first. What is made is added to `copies`.
  FactorWriter(const Repacking &of, const Contraction &c, bool isSecond, SmallVectorImpl<ComputeOp> &copies)
      : of_(of), c_(c), isSecond_(isSecond), copies_(copies) {}

  struct Site {
    ReduceOp reduce;
    ComputedFactor found;
  };
  StringRef name() const { return "te-repack"; }

  FailureOr<std::optional<Site>> find(Operation *op) {
    auto reduce = cast<ReduceOp>(op);
    auto found =
        findComputedFactor(of_, reduce, c_, isSecond_ ? c_.b : c_.a, isSecond_ ? c_.n : c_.m, isSecond_ ? c_.bUnsigned : c_.aUnsigned);
    return found ? std::optional(Site{reduce, *found}) : std::nullopt;
  }
  RewriteSketch sketch(const Site &site) const {
    RewriteSketch s;
    sketchMaterialize(s, of_, site.reduce, site.found);
    return s;
  }
  bool pays(const Site &site, const RewriteSketch &) const {
    return paysMaterialized(of_, of_.workOf(site.reduce, c_).value_or(0), site.found);
  }
  void apply(const Site &site) { copies_.push_back(materialize(of_, site.reduce, site.found)); }

private:
  const Repacking &of_;
  const Contraction &c_;
  bool isSecond_;
  SmallVectorImpl<ComputeOp> &copies_;
};

/// A factor whose tensor is copied so that it lies better.
class FactorCopier {
public:
  explicit FactorCopier(const Repacking &of) : of_(of) {}
  /// Whose factors are looked at; null: of a sum of windows.
  void setProduct(const Contraction *c) { c_ = c; }
  void setFactor(Value factor) { factor_ = factor; }
  const FactorLayout &layout() const { return layout_; }

  struct Site {
    Operation *statement; ///< a sum, or a cascade of which one component is a sum of products
    Value factor;
    FactorCopy how;
  };
  StringRef name() const { return "te-repack"; }

  FailureOr<std::optional<Site>> find(Operation *op) {
    std::optional<FactorCopy> how =
        c_ ? layout_.find(op, *c_, factor_) : findWindowWeights(of_, cast<ReduceOp>(op), factor_.getDefiningOp<ReadOp>());
    return how ? std::optional(Site{op, factor_, *how}) : std::nullopt;
  }
  RewriteSketch sketch(const Site &site) const;
  void apply(const Site &site);

private:
  AffineMap extentsOf(Value tensor, unsigned last) const;
  Value makeCopy(Value tensor, unsigned last);
  /// From the tensor's order of dims to the copy's.
  template <typename T> static void toCopy(SmallVectorImpl<T> &list, unsigned last) {
    std::rotate(list.begin() + last, list.begin() + last + 1, list.end());
  }

  const Repacking &of_;
  FactorLayout layout_{of_};
  const Contraction *c_ = nullptr;
  Value factor_;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> copies_; ///< of a tensor, with a dim last
};

class Repacker {
public:
  Repacker(KernelOp kernel, const CopyPolicy &policy) : of_(kernel, policy) {}

  LogicalResult run() {
    SmallVector<ComputeOp> written;
    llvm::DenseSet<Operation *> inSets;
    for (ChainSet &set : findChainSets(of_.kernel, of_.target, of_.facts))
      for (SetReader &reader : llvm::concat<SetReader>(set.readers, set.added))
        inSets.insert(reader.op);
    for (ReduceOp reduce : llvm::to_vector(of_.kernel.getBlock().getOps<ReduceOp>()))
      if (std::optional<Contraction> c = findContraction(reduce)) {
        for (unsigned k : c->k)
          walkForwards(reduce, k);
        if (inSets.contains(reduce) || findChain(reduce, of_.target, of_.facts))
          continue; // what it takes from registers never is in memory
        for (bool isSecond : {false, true}) {
          FactorWriter writer(of_, *c, isSecond, written);
          if (failed(rewriteAt(of_.kernel, reduce, writer)))
            return failure();
        }
      }
    shareCopies(written);
    for (ReduceOp reduce : llvm::to_vector(of_.kernel.getBlock().getOps<ReduceOp>()))
      if (std::optional<Contraction> c = findGeneralContraction(reduce); c && isWorthCopies(reduce, *c)) {
        copier_.setProduct(&*c);
        for (Value factor : {c->a, c->b}) {
          copier_.setFactor(factor);
          if (failed(rewriteAt(of_.kernel, reduce, copier_)))
            return failure();
        }
      }
    return succeeded(turnChained()) ? turnWindowWeights() : failure();
  }

private:
  /// What products take that are components of cascades, beside what they take from registers.
  LogicalResult turnChained() {
    for (CascadeOp cascade : llvm::to_vector(of_.kernel.getBlock().getOps<CascadeOp>()))
      for (unsigned k = 0; k < cascade.getNumComponents(); ++k)
        if (std::optional<Contraction> c = findContraction(cascade, k); c && isWorthCopies(cascade, *c)) {
          copier_.setProduct(&*c);
          for (Value factor : {c->a, c->b}) {
            copier_.setFactor(factor);
            if (failed(rewriteAt(of_.kernel, cascade, copier_)))
              return failure();
          }
        }
    return success();
  }
  LogicalResult turnWindowWeights() {
    copier_.setProduct(nullptr);
    for (ReduceOp reduce : llvm::to_vector(of_.kernel.getBlock().getOps<ReduceOp>())) {
      if (findGeneralContraction(reduce))
        continue;
      SmallVector<ReadOp> reads;
      reduce->walk([&](ReadOp read) { reads.push_back(read); });
      for (ReadOp read : reads) {
        copier_.setFactor(read.getResult());
        if (failed(rewriteAt(of_.kernel, reduce, copier_)))
          return failure();
      }
    }
    return success();
  }
  /// Whatever their indices are called: both factors of `sum[m](f(x[m, i]) * f(x[m, j]))` are one.
  static bool isSame(ComputeOp copy, ComputeOp other) {
    ArrayAttr own = copy.getIndices();
    copy.setIndicesAttr(other.getIndices());
    bool isSame = OperationEquivalence::isEquivalentTo(copy, other, OperationEquivalence::IgnoreLocations);
    copy.setIndicesAttr(own);
    return isSame;
  }

  /// Products of one operand read one copy of it: of those that are alike the first stays.
  static void shareCopies(ArrayRef<ComputeOp> copies) {
    SmallVector<ComputeOp> kept;
    for (ComputeOp copy : copies) {
      auto same = llvm::find_if(kept, [&](ComputeOp other) { return isSame(copy, other); });
      if (same == kept.end()) {
        kept.push_back(copy);
        continue;
      }
      copy.replaceAllUsesWith(same->getResult());
      copy.erase();
    }
  }

  /// Whether the product goes to the unit that tensor copies feed, or to CUDA cores whose slots asynchronous copies fill, and
  /// is long enough that a pass over its operands before it is paid back.
  bool isWorthCopies(Operation *statement, const Contraction &c) {
    const FactorLayout &layout = copier_.layout();
    bool cores = layout.isOnCores(c);
    if (!cores && !(of_.target.wgmma && findWarpgroupForm(c)))
      return false;
    if (cores && isChained(statement, of_.target, of_.facts)) // whose rows each block brings once
      return false;
    std::optional<double> work = of_.workOf(statement, c);
    if (!work)
      return false;
    double copied = 0;
    bool rows = false; // copied because of how they begin, or because no tile runs along them
    for (Value factor : {c.a, c.b})
      if (layout.find(statement, c, factor)) {
        Value tensor = findOperandRead(factor).getTensor();
        copied += of_.elementsOf(tensor);
        rows |= !layout.isAligned(tensor) || layout.runsAcross(statement, c, factor);
      }
    const LeastWork &least = cores ? of_.policy.cores : rows ? of_.policy.rows : of_.policy.copies;
    return copied && least.isMet(*work, copied);
  }

  /// Σ_k a[m, K - 1 - k] · b[n, K - 1 - k]  →  Σ_k a[m, k] · b[n, k]: no tensor copy walks an index backwards.
  void walkForwards(ReduceOp reduce, unsigned k) {
    Value index = reduce.getBlock().getArgument(k);
    SmallVector<ReadOp> reads;
    for (OpOperand &use : index.getUses()) {
      auto read = dyn_cast<ReadOp>(use.getOwner());
      if (!read)
        return;
      for (AffineExpr e : read.getMapOrIdentity().getResults())
        if (unsigned d = use.getOperandNumber() - 1; e.isFunctionOfDim(d) && linearCoefficient(e, d).value_or(1) > 0)
          return;
      if (!llvm::is_contained(reads, read))
        reads.push_back(read);
    }
    unsigned symbols = reduce.getExtents().getNumSymbols();
    AffineExpr last = reduce.getExtents().getResult(k) - 1;
    auto backwards = [&](AffineExpr e, unsigned d, unsigned dims) {
      AffineExpr self = getAffineDimExpr(d, e.getContext());
      return simplifyAffineExpr(e.replace(self, last - self), dims, symbols);
    };
    for (ReadOp read : reads) {
      AffineMap map = read.getMapOrIdentity();
      SmallVector<AffineExpr> subscripts;
      for (AffineExpr e : map.getResults()) {
        for (auto [d, operand] : llvm::enumerate(read.getOperands_()))
          if (operand == index)
            e = backwards(e, d, map.getNumDims());
        subscripts.push_back(e);
      }
      read.setMapAttr(AffineMapAttr::get(AffineMap::get(map.getNumDims(), symbols, subscripts, map.getContext())));
    }
    if (std::optional<IntegerSet> set = reduce.getCondition()) {
      SmallVector<AffineExpr> constraints;
      for (AffineExpr e : set->getConstraints())
        constraints.push_back(backwards(e, k, reduce.getNumDims()));
      reduce.setCondition(IntegerSet::get(reduce.getNumDims(), symbols, constraints, set->getEqFlags()));
    }
  }

  Repacking of_;
  FactorCopier copier_{of_};
};

RewriteSketch FactorCopier::sketch(const Site &site) const {
  Operation *statement = site.statement;
  ReadOp read = findOperandRead(site.factor);
  TensorSketch from = sketchTensor(read.getTensor()), copy{extentsOf(read.getTensor(), site.how.last), from.element};
  RewriteSketch s;
  StatementSketch own = s.sketchOf(statement);
  own.loads = s.loadsIn(llvm::map_to_vector(statement->getRegions(), [](Region &body) { return &body; }), {read});
  Value known = copies_.lookup({read.getTensor(), site.how.last});
  if (!known)
    s.make({ComputeOp::getOperationName(), copy.shape, unsigned(copy.shape.getNumResults()), {from}, {copy}});
  bool isRead = false; // by its other factor
  statement->walk([&](ReadOp other) { isRead |= known && other.getTensor() == known; });
  if (!isRead)
    own.loads.push_back(copy);
  s.drop(statement);
  s.make(own);
  return s;
}

/// factor = T[map]  →  P[i.., j] = T[..] if j < rows' length else 0;  factor = P[map']
void FactorCopier::apply(const Site &site) {
  const Location loc = site.statement->getLoc();
  const unsigned last = site.how.last;
  ReadOp read = findOperandRead(site.factor);
  Value tensor = read.getTensor();
  Value &copy = copies_[{tensor, last}];
  if (!copy) {
    copy = makeCopy(tensor, last);
    if (last == fastestDim(getTensorShape(tensor)))
      emitRemark(loc) << "the rows of '" << nameOfOperand(tensor) << "' are not known to be multiples of " << kRowBytes
                      << " bytes: it is copied into an aligned workspace first";
    else if (!c_)
      emitRemark(loc) << "'" << nameOfOperand(tensor)
                      << "' runs along the summed index, where results beside each other are vectors: it is transposed into a "
                      << "workspace first";
    else if (layout_.isOnCores(*c_))
      emitRemark(loc) << "'" << nameOfOperand(tensor)
                      << "' runs along the summed index, where CUDA cores multiply vectors of rows by vectors "
                      << "of columns: it is transposed into a workspace first";
    else
      emitRemark(loc) << "'" << nameOfOperand(tensor) << "' is not contiguous along the summed index that its rows of "
                      << read.getResult().getType() << " should run along: it is transposed into a workspace first";
  }
  SmallVector<AffineExpr> subscripts(read.getMapOrIdentity().getResults());
  toCopy(subscripts, last);
  AffineMap map = read.getMapOrIdentity();
  read.setMapAttr(AffineMapAttr::get(AffineMap::get(map.getNumDims(), map.getNumSymbols(), subscripts, map.getContext())));
  read.getTensorMutable().assign(copy);
}

/// Of the copy, and of the domain that it is written over.
AffineMap FactorCopier::extentsOf(Value tensor, unsigned last) const {
  int64_t bytes = std::max(1u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8);
  AffineMap shape = getTensorShape(tensor);
  // Rows that are shorter than an L2 line share it evenly.
  int64_t most = knownMax(shape.getResult(last), of_.facts), rowBytes = of_.target.costs->copies.workspaceRowBytes;
  if (most > 0)
    rowBytes =
        std::clamp<int64_t>(llvm::PowerOf2Ceil(uint64_t(std::min<int64_t>(most, of_.target.costs->copies.workspaceRowBytes) * bytes)),
                            kRowBytes, of_.target.costs->copies.workspaceRowBytes);
  SmallVector<AffineExpr> extents(shape.getResults());
  toCopy(extents, last);
  extents.back() = of_.roundUp(extents.back(), rowBytes / bytes);
  return AffineMap::get(0, shape.getNumSymbols(), extents, tensor.getContext());
}

Value FactorCopier::makeCopy(Value tensor, unsigned last) {
  KernelOp kernel = of_.kernel;
  OpBuilder b(kernel.getContext());
  if (Operation *def = tensor.getDefiningOp())
    b.setInsertionPointAfter(def);
  else
    b.setInsertionPointToStart(&kernel.getBlock());
  Location loc = tensor.getLoc();
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank();
  SmallVector<std::string> names;
  for (int64_t d = 0; d < rank; ++d)
    names.push_back("d" + std::to_string(d));
  toCopy(names, last);
  SmallVector<StringRef> indices(names.begin(), names.end());
  auto result = RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), type.getElementType());
  auto copy = ComputeOp::create(b, loc, result, b.getStrArrayAttr(indices), extentsOf(tensor, last), IntegerSetAttr(), Value(),
                                AffineMapAttr(), AffineMapAttr(), b.getStringAttr(nameOfOperand(tensor) + "_rows"), false);
  Block &body = copy.getBody().emplaceBlock();
  for (int64_t d = 0; d < rank; ++d)
    body.addArgument(b.getIndexType(), loc);
  b.setInsertionPointToStart(&body);
  SmallVector<Value> point(body.getArguments().begin(), body.getArguments().end());
  std::rotate(point.begin() + last, point.end() - 1, point.end());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value element = ReadOp::create(b, loc, type.getElementType(), tensor, point, AffineMapAttr(),
                                 BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
  YieldOp::create(b, loc, element, Value());
  return copy.getResult();
}

struct TeRepackPass : impl::TeRepackBase<TeRepackPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<std::optional<CopyPolicy>> policy =
        getCopyPolicy(getOperation(), target, llvm::to_vector_of<int64_t>(sizeDiv), llvm::to_vector_of<int64_t>(sizeMax), work, reuse);
    if (failed(policy))
      return signalPassFailure();
    if (*policy && failed(Repacker(getOperation(), **policy).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
