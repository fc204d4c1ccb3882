// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-join: see Passes.td.
#include "ir/cu/Beside.h"
#include "ir/cu/Marks.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "passes/Passes.h"
#include "passes/cu/DeadCode.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUJOIN
#include "passes/Passes.h.inc"

namespace {

class Joiner {
public:
  explicit Joiner(ArrayRef<cu::KernelOp> parts) : parts_(parts), first_(parts.front()), b_(first_) {}

  LogicalResult run() {
    if (failed(check()))
      return failure();
    makeKernel();
    Location loc = cu::unnamed(first_.getLoc());
    block_ = narrow(cu::BlockIdOp::create(b_, named("block"), b_.getIndexType()));
    SmallVector<Value> own = countBlocks();
    for (size_t n = 0; n + 1 < parts_.size(); ++n) {
      Value isOwn = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::slt, block_, own[n]);
      auto branch = scf::IfOp::create(b_, loc, isOwn, /*withElseRegion=*/true);
      move(parts_[n], own[n], branch.thenBlock());
      b_.setInsertionPoint(branch.elseBlock()->getTerminator());
      block_ = narrow(arith::SubIOp::create(b_, named("block_of_rest"), block_, own[n]));
    }
    move(parts_.back(), own.back(), b_.getInsertionBlock());
    for (cu::KernelOp part : parts_)
      part.erase();
    eraseDead(kernel_); // (not every part asks for its tiles, or for its block's number)
    return success();
  }

private:
  LogicalResult check() {
    for (cu::KernelOp part : ArrayRef(parts_).drop_front())
      if (part.getThreads() != first_.getThreads() || part.getMinBlocks() != first_.getMinBlocks() ||
          part.getCluster() != first_.getCluster() || part.getPersistent() != first_.getPersistent() ||
          part.getIndexBits() != first_.getIndexBits() || part.getSizes() != first_.getSizes() || part.getTarget() != first_.getTarget())
        return part.emitOpError()
               << "cannot be joined to '" << first_.getSymName()
               << "': threads, blocks a multiprocessor, cluster, persistence, index width, sizes and target must be the same";
    return success();
  }

  Location named(StringRef name) { return NameLoc::get(b_.getStringAttr(name), cu::unnamed(first_.getLoc())); }
  /// There are no more blocks than 31 bits count.
  static Value narrow(Value v) {
    cu::kNarrow.putOn(v.getDefiningOp());
    return v;
  }
  Value number(int64_t n) { return arith::ConstantIndexOp::create(b_, cu::unnamed(first_.getLoc()), n); }

  /// The kernel of all, without a body, and with the arguments of each once.
  void makeKernel() {
    std::string name = first_.getSymName().str(), schedule = first_.getSchedule().str();
    AffineExpr grid = first_.getGrid().getResult(0);
    uint64_t bytes = first_.getSharedBytes();
    for (cu::KernelOp part : ArrayRef(parts_).drop_front()) {
      StringRef own = part.getSymName();
      size_t common = 0; // kc_KERNEL_
      for (size_t at = 0; at < std::min(own.size(), first_.getSymName().size()) && own[at] == first_.getSymName()[at]; ++at)
        common = own[at] == '_' ? at + 1 : common;
      name += ("_" + own.drop_front(common)).str();
      schedule += ("; beside it: " + part.getSchedule().ltrim("schedule:").ltrim()).str();
      grid = grid + part.getGrid().getResult(0);
      bytes = std::max(bytes, part.getSharedBytes());
    }
    kernel_ = cu::KernelOp::create(b_, first_.getLoc(), name, first_.getSizes(), b_.getArrayAttr({}),
                                   AffineMap::get(0, first_.getSizes().size(), grid), first_.getThreads(), bytes, 1, 1, schedule);
    kernel_.setMinBlocks(first_.getMinBlocks());
    kernel_.setPersistent(first_.getPersistent());
    kernel_.setCluster(first_.getCluster());
    kernel_.setTarget(first_.getTarget());
    kernel_.setIndexBits(first_.getIndexBits());
    kernel_.setKernelAttr(first_.getKernelAttr());
    kernel_.setRecords(parts_.size());
    Block &block = kernel_.getBody().emplaceBlock();
    SmallVector<Attribute> sources;
    auto argumentFor = [&](Attribute source, Type type, Location loc) {
      for (auto [i, known] : llvm::enumerate(sources))
        if (known == source && block.getArgument(i).getType() == type)
          return block.getArgument(i);
      sources.push_back(source);
      return block.addArgument(type, loc);
    };
    for (cu::KernelOp part : parts_)
      for (auto [arg, source] : llvm::zip(part.getBlock().getArguments(), part.getArgSources())) {
        BlockArgument own = argumentFor(source, arg.getType(), arg.getLoc());
        arg.replaceAllUsesWith(own);
        if (auto size = cast<DictionaryAttr>(source).getAs<IntegerAttr>("size"))
          sizes_[unsigned(size.getInt())] = own;
      }
    grid.walk([&](AffineExpr e) { // (a part's own that only its grid asks for)
      auto symbol = dyn_cast<AffineSymbolExpr>(e);
      if (!symbol || sizes_.count(symbol.getPosition()))
        return;
      NamedAttribute size = b_.getNamedAttr("size", b_.getI64IntegerAttr(symbol.getPosition()));
      Location loc = NameLoc::get(cast<StringAttr>(first_.getSizes()[symbol.getPosition()]), cu::unnamed(first_.getLoc()));
      sizes_[symbol.getPosition()] = argumentFor(b_.getDictionaryAttr(size), b_.getIndexType(), loc);
    });
    kernel_.setArgSourcesAttr(b_.getArrayAttr(sources));
    b_.setInsertionPointToStart(&block);
  }

  Value expand(AffineMap grid) {
    AffineExpr e = grid.getResult(0);
    if (auto constant = dyn_cast<AffineConstantExpr>(e))
      return number(constant.getValue());
    SmallVector<Value> symbols;
    for (unsigned s = 0; s < grid.getNumSymbols(); ++s)
      symbols.push_back(sizes_.count(s) ? sizes_[s] : number(0));
    return affine::expandAffineExpr(b_, named("tiles"), e, {}, symbols);
  }

  /// How many blocks each part has: one a tile, where blocks stay and are fewer than tiles its share of them, and at least one.
  SmallVector<Value> countBlocks() {
    Location loc = cu::unnamed(first_.getLoc());
    SmallVector<Value> tiles;
    for (cu::KernelOp part : parts_)
      tiles.push_back(expand(part.getGrid()));
    Value cluster = number(int64_t(first_.getCluster()));
    auto inBlocks = [&](Value v) { return first_.getCluster() > 1 ? arith::MulIOp::create(b_, loc, v, cluster).getResult() : v; };
    if (!first_.getPersistent())
      return llvm::map_to_vector(tiles, inBlocks);
    Value left = cu::GridSizeOp::create(b_, named("blocks"), b_.getIndexType());
    if (first_.getCluster() > 1)
      left = arith::DivSIOp::create(b_, named("clusters"), left, cluster);
    Value blocks = narrow(left), all = tiles.front(), one = number(1);
    for (Value t : ArrayRef(tiles).drop_front())
      all = b_.createOrFold<arith::AddIOp>(named("all_tiles"), all, t);
    Value isEach = arith::CmpIOp::create(b_, named("block_a_tile"), arith::CmpIPredicate::eq, blocks, all);
    SmallVector<Value> own(parts_.size());
    for (size_t n = 1; n < parts_.size(); ++n) {
      Value share = arith::MulIOp::create(b_, loc, blocks, number(parts_[n].getBeside()));
      share = arith::DivSIOp::create(b_, named("share"), share, number(cu::kBesideParts));
      share = arith::SelectOp::create(b_, loc, isEach, tiles[n], arith::MinSIOp::create(b_, loc, share, tiles[n]));
      // Those that are still to come have one each.
      Value most = arith::SubIOp::create(b_, loc, left, number(int64_t(parts_.size() - n)));
      share = arith::MaxSIOp::create(b_, loc, arith::MinSIOp::create(b_, loc, share, most), one);
      own[n] = share;
      left = narrow(arith::SubIOp::create(b_, named("blocks_left"), left, share));
    }
    own[0] = left;
    return llvm::map_to_vector(own, inBlocks);
  }

  /// The body of a part as that of a branch, in which blocks are counted from its first one.
  void move(cu::KernelOp part, Value blocks, Block *to) {
    part.walk([&](Operation *op) {
      if (isa<cu::BlockIdOp, cu::GridSizeOp>(op))
        op->getResult(0).replaceAllUsesWith(isa<cu::BlockIdOp>(op) ? block_ : blocks);
    });
    Block::iterator end = to->mightHaveTerminator() ? to->getTerminator()->getIterator() : to->end();
    for (Operation &op : llvm::make_early_inc_range(part.getBlock()))
      if (isa<cu::BlockIdOp, cu::GridSizeOp>(op))
        op.erase();
      else
        op.moveBefore(to, end);
  }

  SmallVector<cu::KernelOp> parts_;
  cu::KernelOp first_, kernel_;
  OpBuilder b_;
  Value block_; ///< this block's number among those of the parts that are left
  llvm::DenseMap<unsigned, Value> sizes_;
};

struct CuJoinPass : impl::CuJoinBase<CuJoinPass> {
  void runOnOperation() override {
    std::vector<SmallVector<cu::KernelOp>> launches;
    for (auto kernel : getOperation().getOps<cu::KernelOp>()) {
      if (kernel.getBeside() && launches.empty()) {
        kernel.emitOpError() << "stands beside a kernel before it, and there is none";
        return signalPassFailure();
      }
      if (kernel.getBeside())
        launches.back().push_back(kernel);
      else
        launches.push_back({kernel});
    }
    for (ArrayRef<cu::KernelOp> parts : launches)
      if (parts.size() > 1 && failed(Joiner(parts).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
