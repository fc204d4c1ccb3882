// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-chain-products: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Rewrite.h"
#include "passes/plan/Schedule.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TECHAINPRODUCTS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// A sum that the launch of a set adds to memory.
struct AddedSum {
  ReduceOp sum;
  Operation *front; ///< the first statement of the set
  unsigned row, column;
  ReduceOp last; ///< of those that take what it takes: its products run beside the additions
};

/// Marks the readers of sets that pay, and says of others why they do not form one. Returns the sums that are added.
std::vector<AddedSum> markSets(KernelOp kernel, const Target &target, const SizeFacts &facts) {
  std::vector<std::pair<Operation *, std::string>> refused;
  std::vector<AddedSum> sums;
  FailureOr<KernelSchedule> schedule = getKernelSchedule(kernel, target.name);
  std::vector<ChainSet> sets = findChainSets(kernel, target, facts, /*unmarked=*/true, &refused);
  for (auto &[reader, why] : refused)
    emitRemark(reader->getLoc()) << "this product and others that take the same results have a launch each: " << why;
  auto meet = [](ChainSet &x, ChainSet &y) {
    return llvm::any_of(x.producers, [&](ReduceOp p) { return llvm::is_contained(y.producers, p); });
  };
  for (ChainSet &set : sets) {
    std::vector<ChainSet *> together;
    for (ChainSet &other : sets)
      if (meet(set, other))
        together.push_back(&other);
    bool isGiven = succeeded(schedule) && schedule->addsInMemory && !set.added.empty();
    if (!isGiven && !paysAsSets(together, target, facts))
      continue;
    for (SetReader &r : llvm::concat<SetReader>(set.readers, set.added))
      r.op.setInSet(true);
    for (SetReader &r : set.added) {
      AddedSum &added =
          sums.emplace_back(AddedSum{r.op, set.producers.front(), r.rows().front(), r.columns().front(), set.readers.front().op});
      for (SetReader &reader : set.readers)
        if (added.last->isBeforeInBlock(reader.op))
          added.last = reader.op;
    }
  }
  return sums;
}

/// Starts sums that a set's launch adds to memory at zeros, which are there before it.
class SumsFromZero {
public:
  explicit SumsFromZero(std::vector<AddedSum> sums) : sums_(std::move(sums)) {}

  using Site = AddedSum;
  StringRef name() const { return "te-chain-products"; }

  FailureOr<std::optional<Site>> find(Operation *statement) {
    auto found = llvm::find_if(sums_, [&](const AddedSum &s) { return s.sum == statement; });
    return found == sums_.end() || ReduceOp(found->sum).getInit() ? std::optional<Site>() : std::optional<Site>(*found);
  }
  RewriteSketch sketch(const Site &site) const {
    RewriteSketch s;
    StatementSketch sum = s.sketchOf(site.sum);
    TensorSketch whole = sum.stores.front(), added = {layoutOf(site).shape, whole.element};
    AffineMap points = ReduceOp(site.sum).getExtents().getSubMap(llvm::to_vector(llvm::seq(0u, sum.parallel)));
    s.drop(site.sum);
    s.make({ComputeOp::getOperationName(), added.shape, added.shape.getNumResults(), {}, {added}});
    sum.loads.push_back(added);
    sum.stores.front() = added;
    s.make({ComputeOp::getOperationName(), points, sum.parallel, {added}, {whole}});
    s.make(std::move(sum));
    return s;
  }
  void apply(const Site &site) {
    ReduceOp sum = site.sum;
    sum.emitRemark() << "the launch of others that take the same results adds what its tiles come to into memory, since the order is any: "
                        "that is faster than to compute those once more";
    AddedLayout layout = layoutOf(site);
    auto type = RankedTensorType::get(SmallVector<int64_t>(layout.shape.getNumResults(), ShapedType::kDynamic),
                                      sum.getResult().getType().getElementType());
    makeReadable(sum, layout.subscripts);
    sum.getInitMutable().assign(makeZeros(sum, layout.shape, type, site.front));
    sum.setOutMap(layout.subscripts);
    sum.setShape(layout.shape);
    sum.getResult().setType(type);
    if (site.last->isBeforeInBlock(sum) && !isReadBetween(site))
      sum->moveBefore(site.last);
  }

private:
  static AddedLayout layoutOf(const Site &site) { return layoutOfAdded(site.sum, site.row, site.column); }

  /// The sum as its readers know it, in their launches: where it lies in memory is the launch's that adds.
  static void makeReadable(ReduceOp sum, AffineMap subscripts) {
    OpBuilder b(sum->getContext());
    b.setInsertionPointAfter(sum);
    unsigned rank = sum.getNumParallel();
    ComputeOp copy = makePoints(sum, sum.getResult().getType(), sum.getExtents().getSubMap(llvm::to_vector(llvm::seq(0u, rank))),
                                b.getArrayAttr(sum.getIndices().getValue().take_front(rank)), sum.getNameAttr(), b);
    sum.getResult().replaceAllUsesWith(copy.getResult());
    OpBuilder inside = OpBuilder::atBlockEnd(&copy.getBlock());
    Value read =
        ReadOp::create(inside, sum.getLoc(), sum.getResult().getType().getElementType(), sum.getResult(), copy.getBlock().getArguments(),
                       AffineMapAttr::get(subscripts), BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    YieldOp::create(inside, sum.getLoc(), read, Value());
  }
  static Value makeZeros(ReduceOp sum, AffineMap shape, RankedTensorType type, Operation *front) {
    OpBuilder b(front);
    SmallVector<Attribute> names;
    for (unsigned d = 0; d < shape.getNumResults(); ++d)
      names.push_back(b.getStringAttr("z" + llvm::Twine(d)));
    StringAttr name = sum.getNameAttr() ? b.getStringAttr(sum.getNameAttr().getValue() + "_zeros") : StringAttr();
    ComputeOp zeros = makePoints(sum, type, shape, b.getArrayAttr(names), name, b);
    OpBuilder inside = OpBuilder::atBlockEnd(&zeros.getBlock());
    YieldOp::create(inside, sum.getLoc(),
                    arith::ConstantOp::create(inside, sum.getLoc(), inside.getZeroAttr(type.getElementType())).getResult(), Value());
    return zeros.getResult();
  }
  /// A pointwise statement whose body is still to be written.
  static ComputeOp makePoints(ReduceOp sum, RankedTensorType type, AffineMap extents, ArrayAttr indices, StringAttr name, OpBuilder &b) {
    auto points = ComputeOp::create(b, sum.getLoc(), type, indices, extents, IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(),
                                    name, false);
    Block &block = points.getBody().emplaceBlock();
    for (unsigned d = 0; d < extents.getNumResults(); ++d)
      block.addArgument(b.getIndexType(), sum.getLoc());
    return points;
  }
  /// Whether the sum takes what is made behind the last of the others.
  static bool isReadBetween(const Site &site) {
    bool isRead = false;
    ReduceOp(site.sum).walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (Operation *def = v.getDefiningOp(); def && def->getBlock() == site.last->getBlock())
          isRead |= !def->isBeforeInBlock(site.last);
    });
    return isRead;
  }

  std::vector<AddedSum> sums_;
};

/// Products that `readers`, of which `first` stands in front, have for themselves, beside those that others read.
struct OwnProducts {
  ReduceOp first;
  SmallVector<Operation *> readers;
  SmallVector<ReduceOp> products;
};

RewriteSketch sketchOwn(const OwnProducts &own) {
  RewriteSketch s;
  for (ReduceOp product : own.products)
    s.make(s.sketchOf(product));
  return s;
}

/// `others`: whose results they are, for the remark.
void makeOwn(const OwnProducts &own, StringRef others) {
  for (ReduceOp product : own.products) {
    OpBuilder b(own.first);
    auto copy = cast<ReduceOp>(b.clone(*product));
    product.getResult().replaceUsesWithIf(copy.getResult(),
                                          [&](OpOperand &use) { return llvm::is_contained(own.readers, use.getOwner()->getParentOp()); });
  }
  ReduceOp(own.first).emitRemark() << "this product takes the results of " << others
                                   << " from registers, which are computed once more for it: that is faster than to write them to memory "
                                      "and read them again";
}

/// Gives each set of chained products its own producers.
class SetSplitter {
public:
  explicit SetSplitter(std::vector<ChainSet> sets) : sets_(std::move(sets)) {}

  using Site = OwnProducts;
  StringRef name() const { return "te-chain-products"; }

  /// At the reader of a set that stands in front; of the producers that an earlier set has.
  FailureOr<std::optional<Site>> find(Operation *statement) {
    for (size_t n = 0; n < sets_.size(); ++n) {
      Site site;
      for (SetReader &r : llvm::concat<SetReader>(sets_[n].readers, sets_[n].added)) {
        site.readers.push_back(r.op);
        if (!site.first || r.op->isBeforeInBlock(site.first))
          site.first = r.op;
      }
      if (site.first != statement)
        continue;
      for (ReduceOp producer : sets_[n].producers)
        if (llvm::any_of(ArrayRef(sets_).take_front(n), [&](const ChainSet &set) { return llvm::is_contained(set.producers, producer); }))
          site.products.push_back(producer);
      return site.products.empty() ? std::nullopt : std::optional(site);
    }
    return std::optional<Site>();
  }
  RewriteSketch sketch(const Site &site) const { return sketchOwn(site); }
  void apply(const Site &site) { makeOwn(site, "others"); }

  bool hasReader(Operation *op) const {
    return llvm::any_of(sets_, [&](const ChainSet &set) {
      return llvm::any_of(llvm::concat<const SetReader>(set.readers, set.added), [&](const SetReader &r) { return r.op == op; });
    });
  }

private:
  std::vector<ChainSet> sets_;
};

/// Gives the second product of a chain its own first one, where others read that.
class ChainSplitter {
public:
  ChainSplitter(const SetSplitter &sets, const Target &target, const SizeFacts &facts) : sets_(sets), target_(target), facts_(facts) {}

  using Site = OwnProducts;
  StringRef name() const { return "te-chain-products"; }

  FailureOr<std::optional<Site>> find(Operation *statement) {
    auto reader = dyn_cast<ReduceOp>(statement);
    if (!reader || sets_.hasReader(reader))
      return std::optional<Site>();
    std::optional<ProductChain> chain = findChain(reader, target_, facts_, ChainUse::Shared);
    if (!chain || isReadBy(chain->producer, reader))
      return std::optional<Site>();
    return std::optional(Site{reader, {reader}, {chain->producer}});
  }
  RewriteSketch sketch(const Site &site) const { return sketchOwn(site); }
  void apply(const Site &site) { makeOwn(site, "another one"); }

private:
  const SetSplitter &sets_;
  const Target &target_;
  const SizeFacts &facts_;
};

struct TeChainProductsPass : impl::TeChainProductsBase<TeChainProductsPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<KnownTarget> known = getKnownTarget(kernel, target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    const Target &target = *known->target;
    const SizeFacts facts = known->facts();
    if (failed(rewriteEach(kernel, SumsFromZero(markSets(kernel, target, facts)))))
      return signalPassFailure();
    SetSplitter sets(findChainSets(kernel, target, facts));
    if (failed(rewriteEach(kernel, sets)))
      return signalPassFailure();
    for (ReduceOp reader : kernel.getBlock().getOps<ReduceOp>())
      if (std::string why = whyApart(reader, target, facts); !why.empty() && !sets.hasReader(reader))
        emitRemark(reader.getLoc()) << "this product takes the results of another one from memory: " << why;
    if (failed(rewriteEach(kernel, ChainSplitter(sets, target, facts))))
      return signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
