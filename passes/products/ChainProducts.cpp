// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-chain-products: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Rewrite.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TECHAINPRODUCTS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Marks the readers of sets that pay, and says of others why they do not form one.
void markSets(KernelOp kernel, const Target &target, const SizeFacts &facts) {
  std::vector<std::pair<Operation *, std::string>> refused;
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
    if (paysAsSets(together, target, facts))
      for (SetReader &r : set.readers)
        r.op.setInSet(true);
  }
}

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
      for (SetReader &r : sets_[n].readers) {
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
    return llvm::any_of(sets_,
                        [&](const ChainSet &set) { return llvm::any_of(set.readers, [&](const SetReader &r) { return r.op == op; }); });
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
    markSets(kernel, target, facts);
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
