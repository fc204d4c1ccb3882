// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-turn-results: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/LinearRead.h"
#include "passes/plan/CopyPolicy.h"
#include "passes/plan/Rewrite.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TETURNRESULTS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// A product's indices as its result has them: for each subscript of the result, whether that is a batch, or where it comes among rows and
/// columns.
struct ResultDims {
  SmallVector<unsigned> batch, rows; ///< subscripts; rows: of the side that lies across memory first, then of the other one
};

/// Of what `result` has come to, if a matrix unit fed by tensor copies makes it.
std::optional<ResultDims> findResultDims(OpResult result) {
  Operation *op = result.getOwner();
  auto reduce = dyn_cast<ReduceOp>(op);
  auto cascade = dyn_cast<CascadeOp>(op);
  std::optional<Contraction> c = reduce    ? findContraction(reduce)
                                 : cascade ? findContraction(cascade, result.getResultNumber())
                                           : std::nullopt;
  if (!c || (reduce && (reduce.getOutMap() || reduce.getInit())) || !findWarpgroupForm(*c) || hasOwnLaunch(op))
    return std::nullopt;
  SmallVector<unsigned> own =
      cascade ? cascade.getOwnDims(result.getResultNumber()) : llvm::to_vector(llvm::seq(0u, reduce.getNumParallel()));
  // Columns lie beside each other in a thread; what is read from registers has the rows.
  bool fromB = findOperandRead(c->a) && !findOperandRead(c->b);
  ResultDims found;
  auto add = [&](ArrayRef<unsigned> dims, SmallVectorImpl<unsigned> &to) {
    for (auto [at, d] : llvm::enumerate(own))
      if (llvm::is_contained(dims, d))
        to.push_back(at);
  };
  add(c->batch, found.batch);
  add(fromB ? c->n : c->m, found.rows);
  add(fromB ? c->m : c->n, found.rows);
  return found.batch.size() + found.rows.size() == own.size() ? std::optional(found) : std::nullopt;
}

/// y[a, c, b] = f(p[a, c, b])  →  laid[b, a, c] = f(p[a, c, b]),  y[a, c, b] = laid[b, a, c], b a batch of the product p.
class ResultTurner {
public:
  ResultTurner(const CopyPolicy &policy, const SizeFacts &facts) : policy_(policy), facts_(facts) {}

  struct Site {
    ComputeOp made;
    ReadOp read;                 ///< of the product's result
    bool isWhole;                ///< all of `made` is laid: nothing else that it reads runs along its last index
    SmallVector<unsigned> order; ///< of what is laid, in memory: dims of `made`, or of the product's result
    AffineMap shape, extents;    ///< of what is laid
  };
  StringRef name() const { return "te-turn-results"; }

  FailureOr<std::optional<Site>> find(Operation *statement) {
    auto made = dyn_cast<ComputeOp>(statement);
    std::optional<Site> none;
    if (!made || !made.getNumParallel() || made.getOutMap() || made.getShape() || made.getCondition() || made.getYield().getCondition() ||
        hasOwnLaunch(made) || isInBlock(made) || isPointByPoint(made) || !isOnlyReturned(made))
      return none;
    SmallVector<ReadOp> reads, ofProduct;
    made->walk([&](ReadOp read) { reads.push_back(read); });
    for (ReadOp read : reads)
      if (auto result = dyn_cast<OpResult>(read.getTensor()); result && findResultDims(result))
        ofProduct.push_back(read);
    if (ofProduct.size() != 1)
      return none;
    Site site{made, ofProduct.front(), false, {}, {}, {}};
    return describe(site, reads) && pays(site) ? std::optional(site) : none;
  }

  RewriteSketch sketch(const Site &site) const {
    ComputeOp made = site.made;
    RewriteSketch s;
    if (site.isWhole) {
      StatementSketch laid = s.sketchOf(made);
      StatementSketch turned{laid.kind, laid.extents, laid.parallel, {{site.shape, laid.stores.front().element}}, laid.stores};
      laid.stores = turned.loads;
      s.drop(made);
      s.make(std::move(laid));
      s.make(std::move(turned));
      return s;
    }
    Value product = ReadOp(site.read).getTensor();
    TensorSketch before = sketchTensor(product), laid{site.shape, before.element};
    s.make({ComputeOp::getOperationName(), site.extents, unsigned(site.order.size()), {before}, {laid}});
    s.replace(product, {laid});
    return s;
  }

  void apply(const Site &site) {
    ComputeOp made = site.made;
    made.emitRemark() << "what runs along memory is an index of which a tile has one point: the results are written in another order and "
                         "turned by a launch of their own, which is faster than to store each of them into a sector of its own";
    OpBuilder b(made);
    ComputeOp laid = site.isWhole ? makeLaid(site, b) : makeLaidProduct(site, b);
    if (site.isWhole) {
      Block &body = made.getBlock();
      while (!body.empty())
        body.back().erase();
      OpBuilder inside = OpBuilder::atBlockEnd(&body);
      YieldOp::create(inside, made.getLoc(), readLaid(site, laid, llvm::to_vector_of<Value>(body.getArguments()), inside), Value());
    } else {
      ReadOp read = site.read;
      OpBuilder inside(read);
      read.replaceAllUsesWith(readLaid(site, laid, llvm::to_vector_of<Value>(read.getOperands_()), inside));
      read.erase();
    }
    setOwnLaunch(made);
  }

private:
  static bool isOnlyReturned(ComputeOp made) {
    return llvm::all_of(made.getResult().getUsers(), [](Operation *user) { return isa<ReturnOp>(user); });
  }

  /// Fills in how results would lie; false where they lie well as they are, or are no plain function of the product's.
  bool describe(Site &site, ArrayRef<ReadOp> reads) {
    ReadOp read = site.read;
    auto result = cast<OpResult>(read.getTensor());
    ResultDims dims = *findResultDims(result);
    AffineMap shape = getTensorShape(site.made.getResult()), map = read.getMapOrIdentity();
    unsigned last = fastestDim(shape), rank = site.made.getNumParallel();
    LinearRead linear = lineariseSubscripts(site.made, read, &facts_);
    SmallVector<unsigned> own(map.getNumResults(), rank); // of each subscript the dim of `made`
    for (unsigned r = 0; r < map.getNumResults(); ++r)
      for (unsigned d = 0; d < rank; ++d)
        if (linear.isAlone(r, d))
          own[r] = d;
    llvm::SmallDenseSet<unsigned> seen(own.begin(), own.end());
    bool isPermuted = isUnchecked(read) && own.size() == rank && seen.size() == rank && !seen.contains(rank);
    bool isAcross = llvm::any_of(dims.batch, [&](unsigned r) { return own[r] == last && knownMax(shape.getResult(last), facts_) > 1; });
    if (!isPermuted || !isAcross || dims.rows.empty())
      return false;
    auto movesAlong = [&](ReadOp other) {
      return llvm::any_of(other.getMapOrIdentity().getResults(),
                          [&](AffineExpr e) { return movesWith(other, e, [&](unsigned d) { return d == last; }); });
    };
    site.isWhole = llvm::none_of(reads, [&](ReadOp other) { return other != read && movesAlong(other); });
    if (!site.isWhole && !llvm::all_of(result.getUsers(), [&](Operation *user) { return user == read; }))
      return false;
    for (unsigned r : llvm::concat<const unsigned>(dims.batch, dims.rows))
      site.order.push_back(site.isWhole ? own[r] : r);
    site.extents = site.isWhole ? site.made.getExtents() : getTensorShape(result);
    site.shape = permuted(site.extents, site.order);
    return true;
  }

  /// Whether results beside each other in memory, and read once more, take less time than each in a sector of its own.
  bool pays(const Site &site) const {
    double elements = 1;
    for (AffineExpr e : site.shape.getResults()) {
      int64_t most = knownMax(e, facts_);
      if (most < 0)
        return false;
      elements *= double(most);
    }
    Type laid = site.isWhole ? getElementTypeOrSelf(ComputeOp(site.made).getResult().getType())
                             : getElementTypeOrSelf(ReadOp(site.read).getTensor().getType());
    return policy_.paysToTurn(elements, std::max(1u, laid.getIntOrFloatBitWidth() / 8));
  }

  static AffineMap permuted(AffineMap map, ArrayRef<unsigned> order) { return map.getSubMap(order); }

  ComputeOp makeLaid(const Site &site, OpBuilder &b) {
    ComputeOp made = site.made;
    ComputeOp laid = makePoints(site, made.getIndices(), b);
    IRMapping values;
    made.getBody().cloneInto(&laid.getBody(), values);
    return laid;
  }

  ComputeOp makeLaidProduct(const Site &site, OpBuilder &b) {
    ReadOp read = site.read;
    SmallVector<Attribute> names;
    for (unsigned d = 0; d < site.order.size(); ++d)
      names.push_back(b.getStringAttr("d" + Twine(d)));
    ComputeOp laid = makePoints(site, b.getArrayAttr(names), b);
    Block &body = laid.getBody().emplaceBlock();
    for (unsigned d = 0; d < site.order.size(); ++d)
      body.addArgument(b.getIndexType(), read.getLoc());
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    Value element =
        ReadOp::create(inside, read.getLoc(), read.getResult().getType(), read.getTensor(), llvm::to_vector_of<Value>(body.getArguments()),
                       AffineMapAttr(), BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    YieldOp::create(inside, read.getLoc(), element, Value());
    return laid;
  }

  /// A pointwise statement whose body is still to be written.
  static ComputeOp makePoints(const Site &site, ArrayAttr indices, OpBuilder &b) {
    ComputeOp made = site.made;
    Type element = getElementTypeOrSelf(site.isWhole ? made.getResult().getType() : ReadOp(site.read).getTensor().getType());
    auto type = RankedTensorType::get(SmallVector<int64_t>(site.order.size(), ShapedType::kDynamic), element);
    AffineMap identity = b.getMultiDimIdentityMap(site.order.size());
    AffineMap out =
        AffineMap::get(site.order.size(), site.shape.getNumSymbols(), permuted(identity, site.order).getResults(), b.getContext());
    std::string name = made.getName() ? (*made.getName() + "_laid").str() : "laid";
    return ComputeOp::create(b, made.getLoc(), type, indices, site.extents, IntegerSetAttr(), Value(), AffineMapAttr::get(out),
                             AffineMapAttr::get(site.shape), b.getStringAttr(name), false);
  }

  /// What is laid of `point`, whose subscripts are in the order of the statement that lays.
  Value readLaid(const Site &site, ComputeOp laid, ArrayRef<Value> point, OpBuilder &b) {
    ReadOp read = site.read;
    AffineMap identity = b.getMultiDimIdentityMap(site.order.size());
    AffineMap from = site.isWhole ? identity : read.getMapOrIdentity();
    AffineMap map = AffineMap::get(from.getNumDims(), site.shape.getNumSymbols(), permuted(from, site.order).getResults(), b.getContext());
    return ReadOp::create(b, read.getLoc(), getElementTypeOrSelf(laid.getResult().getType()), laid.getResult(), point,
                          AffineMapAttr::get(map), BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  }

  const CopyPolicy &policy_;
  const SizeFacts &facts_;
};

struct TeTurnResultsPass : impl::TeTurnResultsBase<TeTurnResultsPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<std::optional<CopyPolicy>> policy =
        getCopyPolicy(getOperation(), target, llvm::to_vector_of<int64_t>(sizeDiv), llvm::to_vector_of<int64_t>(sizeMax), -1, -1);
    if (failed(policy))
      return signalPassFailure();
    if (!*policy || !(*policy)->target->wgmma)
      return;
    const SizeFacts facts = (*policy)->facts();
    if (failed(rewriteEach(getOperation(), ResultTurner(**policy, facts))))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
