// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/BlockWriter.h"

#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/IndexArithmetic.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// The same as a pointwise statement: its terms one after the other.
ComputeOp writeOut(ReduceOp reduce) {
  OpBuilder b(reduce);
  Location loc = reduce.getLoc();
  unsigned parallel = reduce.getNumParallel(), symbols = reduce.getExtents().getNumSymbols();
  ArrayRef<AffineExpr> extents = reduce.getExtents().getResults();
  auto compute =
      ComputeOp::create(b, loc, reduce.getResult().getType(), b.getArrayAttr(reduce.getIndices().getValue().take_front(parallel)),
                        AffineMap::get(0, symbols, extents.take_front(parallel), b.getContext()), IntegerSetAttr(), Value(),
                        AffineMapAttr(), AffineMapAttr(), reduce.getNameAttr(), false);
  Block &body = compute.getBody().emplaceBlock();
  for (unsigned d = 0; d < parallel; ++d)
    body.addArgument(b.getIndexType(), loc);
  b.setInsertionPointToStart(&body);
  SmallVector<int64_t> at(extents.size() - parallel, 0), ends;
  for (AffineExpr e : extents.drop_front(parallel))
    ends.push_back(cast<AffineConstantExpr>(e).getValue());
  Value sum;
  for (bool more = true; more;) {
    IRMapping mapping;
    mapping.map(reduce.getBlock().getArguments().take_front(parallel), body.getArguments());
    for (auto [arg, place] : llvm::zip(reduce.getBlock().getArguments().drop_front(parallel), at))
      mapping.map(arg, arith::ConstantIndexOp::create(b, loc, place).getResult());
    for (Operation &op : reduce.getBlock().without_terminator())
      b.clone(op, mapping);
    Value term = mapping.lookupOrDefault(reduce.getYield().getValues()[0]);
    sum = sum ? combine(reduce.getKind(), sum, term, b, loc) : term;
    more = false;
    for (size_t d = at.size(); d-- > 0 && !more;)
      if (++at[d] < ends[d])
        more = true;
      else
        at[d] = 0;
  }
  YieldOp::create(b, loc, sum, Value());
  reduce.getResult().replaceAllUsesWith(compute.getResult());
  reduce.erase();
  return compute;
}

/// The statement that alone reads `made`, at its own points; null where there is none.
Operation *findPointReader(const BlockSet &set, Operation *made) {
  Operation *only = nullptr;
  for (Operation *user : made->getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    Operation *reader = read ? read->getParentOp() : nullptr;
    std::optional<SmallVector<Window>> windows = reader && set.find(reader) ? findWindows(read, reader) : std::nullopt;
    if (!windows || read.getBounds() != BoundsMode::InBounds || (only && only != reader) ||
        !llvm::all_of(*windows, [](const Window &w) { return w.isPoint(); }))
      return nullptr;
    only = reader;
  }
  return only;
}

class MemberWriter {
public:
  MemberWriter(const BlockSet &set, const BlockMember &m, ArrayRef<int64_t> tiles, int64_t number,
               llvm::DenseMap<Operation *, ComputeOp> &written)
      : set_(set), m_(m), tiles_(tiles), number_(number), written_(written), op_(cast<ComputeOp>(m.op)), b_(set.sink), loc_(m.op->getLoc()),
        rank_(tiles.size()), symbols_(op_.getExtents().getNumSymbols()) {}

  ComputeOp run() {
    open();
    IRMapping mapping;
    for (Operation &op : op_.getBlock().without_terminator()) {
      if (auto read = dyn_cast<ReadOp>(op)) {
        mapping.map(read.getResult(), rewrite(read, mapping));
        continue;
      }
      for (Value v : op.getOperands())
        mapCoordinate(v, mapping);
      b_.clone(op, mapping);
    }
    Value yielded = op_.getYield().getValues()[0];
    mapCoordinate(yielded, mapping);
    Value value = mapping.lookupOrDefault(yielded);
    if (m_.bounds == BoundsMode::Pad)
      value = arith::SelectOp::create(b_, loc_, isInside(), value, arith::ConstantOp::create(b_, loc_, m_.padding));
    YieldOp::create(b_, loc_, value, Value());
    return result_;
  }

private:
  AffineExpr dim(unsigned d) { return getAffineDimExpr(d, b_.getContext()); }
  /// Which dim of the new statement counts a block's points along dim k of the set.
  unsigned innerOf(const BlockMember &, unsigned k) {
    return rank_ + llvm::count_if(llvm::seq(k), [&](unsigned d) { return set_.wide[d]; });
  }
  /// Where a member's points in a block start along dim k.
  AffineExpr startOf(const BlockMember &of, unsigned k) { return set_.wide[k] ? dim(k) * (of.scale[k] * tiles_[k]) + of.low[k] : dim(k); }
  AffineExpr pointAt(unsigned k) { return set_.wide[k] ? startOf(m_, k) + dim(innerOf(m_, k)) : dim(k); }
  unsigned dimOf(const BlockMember &of, unsigned k) { return llvm::find(of.blockDims, k) - of.blockDims.begin(); }
  AffineExpr extentOf(unsigned k) { return op_.getExtents().getResult(dimOf(m_, k)); }

  /// The new statement, without a body yet.
  void open() {
    SmallVector<Attribute> names(rank_);
    SmallVector<AffineExpr> extents(rank_);
    std::string suffix = m_.isSink ? std::string() : "_" + (op_.getName() ? op_.getName()->str() : std::to_string(written_.size()));
    for (unsigned k = 0; k < rank_; ++k) {
      auto name = cast<StringAttr>(getIndices(set_.sink)[k]).getValue();
      AffineExpr end = set_.extentOf(k);
      names[k] = b_.getStringAttr(set_.wide[k] ? name + "_block" : name);
      extents[k] = set_.wide[k] ? simplifyAffineExpr(end.ceilDiv(tiles_[k]), 0, symbols_) : end;
      if (set_.wide[k]) {
        names.push_back(b_.getStringAttr(name + suffix));
        extents.push_back(b_.getAffineConstantExpr(m_.extent(k, tiles_[k])));
      }
    }
    AffineMapAttr out, shape;
    IntegerSetAttr clip;
    auto type =
        RankedTensorType::get(SmallVector<int64_t>(extents.size(), ShapedType::kDynamic), op_.getResult().getType().getElementType());
    if (m_.isSink) {
      SmallVector<AffineExpr> points, left;
      for (unsigned k : m_.blockDims)
        points.push_back(pointAt(k));
      for (unsigned k = 0; k < rank_; ++k)
        if (set_.wide[k])
          left.push_back(extentOf(k) - 1 - pointAt(k));
      type = op_.getResult().getType();
      out = AffineMapAttr::get(AffineMap::get(extents.size(), symbols_, points, b_.getContext()));
      shape = op_.getExtentsAttr();
      clip = IntegerSetAttr::get(IntegerSet::get(extents.size(), symbols_, left, SmallVector<bool>(left.size(), false)));
    }
    result_ = ComputeOp::create(b_, loc_, type, b_.getArrayAttr(names), AffineMap::get(0, symbols_, extents, b_.getContext()), clip,
                                Value(), out, shape, op_.getNameAttr(), false);
    result_.setInBlock({number_, int64_t(rank_)});
    Block &body = result_.getBody().emplaceBlock();
    for (size_t d = 0; d < extents.size(); ++d)
      body.addArgument(b_.getIndexType(), loc_);
    b_.setInsertionPointToStart(&body);
  }

  Value materialize(AffineExpr e) { return te::materialize(b_, loc_, e, result_.getBlock().getArguments(), symbols_); }
  bool isClamped(unsigned k) { return m_.bounds == BoundsMode::Edge && set_.wide[k]; }

  /// The statement's own coordinate along dim k: its point, or the one nearest to it that there is.
  Value coordinate(unsigned k) {
    Value &known = coordinates_.try_emplace(k).first->second;
    if (known)
      return known;
    known = materialize(pointAt(k));
    if (isClamped(k)) {
      Value last = materialize(extentOf(k) - 1), zero = arith::ConstantIndexOp::create(b_, loc_, 0);
      known = arith::MaxSIOp::create(b_, loc_, zero, arith::MinSIOp::create(b_, loc_, known, last));
    }
    return known;
  }
  /// The same, counted from the first of the block's.
  Value local(unsigned k) {
    Value &known = locals_.try_emplace(k).first->second;
    if (!known)
      known = arith::SubIOp::create(b_, loc_, coordinate(k), materialize(startOf(m_, k)));
    return known;
  }

  void mapCoordinate(Value v, IRMapping &mapping) {
    if (std::optional<unsigned> d = findIndex(op_, v); d && !mapping.contains(v))
      mapping.map(v, coordinate(m_.blockDims[*d]));
  }

  Value isInside() {
    Value all;
    auto add = [&](arith::CmpIPredicate is, Value point, Value end) {
      Value holds = arith::CmpIOp::create(b_, loc_, is, point, end);
      all = all ? arith::AndIOp::create(b_, loc_, all, holds).getResult() : holds;
    };
    for (unsigned k = 0; k < rank_; ++k) {
      if (set_.wide[k])
        add(arith::CmpIPredicate::sge, coordinate(k), arith::ConstantIndexOp::create(b_, loc_, 0));
      if (set_.wide[k] || extentOf(k) != set_.extentOf(k)) // (the set's results may be more)
        add(arith::CmpIPredicate::slt, coordinate(k), materialize(extentOf(k)));
    }
    return all;
  }

  Value rewrite(ReadOp read, IRMapping &mapping) {
    auto made = written_.find(read.getTensor().getDefiningOp());
    bool isOwn = made != written_.end();
    SmallVector<Value> leaves(result_.getBlock().getArguments());
    SmallVector<AffineExpr> operands;
    for (Value v : read.getOperands_()) {
      std::optional<unsigned> d = findIndex(op_, v);
      unsigned k = d ? m_.blockDims[*d] : 0;
      if (!d) {
        operands.push_back(affineOf(mapping.lookupOrDefault(v), leaves));
      } else if (!isClamped(k)) {
        operands.push_back(pointAt(k));
      } else {
        leaves.push_back(isOwn ? local(k) : coordinate(k));
        AffineExpr leaf = dim(leaves.size() - 1);
        operands.push_back(isOwn ? startOf(m_, k) + leaf : leaf);
      }
    }
    AffineMap map = read.getMapOrIdentity();
    SmallVector<AffineExpr> results;
    if (isOwn) {
      const BlockMember &producer = *set_.find(made->first);
      for (unsigned k = 0; k < rank_; ++k)
        results.push_back(dim(k));
      for (unsigned k : set_.wide.set_bits())
        results.push_back(map.getResult(dimOf(producer, k)).replaceDims(operands) - startOf(producer, k));
    } else {
      for (AffineExpr e : map.getResults())
        results.push_back(e.replaceDims(operands));
    }
    for (AffineExpr &e : results)
      e = simplifyAffineExpr(e, leaves.size(), symbols_);
    // Leaves that no result depends on are left out.
    SmallVector<Value> used;
    SmallVector<AffineExpr> places(leaves.size(), b_.getAffineConstantExpr(0));
    for (size_t n = 0; n < leaves.size(); ++n)
      if (llvm::any_of(results, [&](AffineExpr e) { return e.isFunctionOfDim(n); })) {
        places[n] = dim(used.size());
        used.push_back(leaves[n]);
      }
    for (AffineExpr &e : results)
      e = e.replaceDims(places);
    BoundsMode bounds = isOwn ? BoundsMode::InBounds : read.getBounds();
    Value padding = read.getPadding() && !isOwn ? mapping.lookupOrDefault(read.getPadding()) : Value();
    // Blocks have points beyond the extents; what is read for those is not used.
    bool isProved = bounds == BoundsMode::InBounds || bounds == BoundsMode::Assume;
    if (!isOwn && isProved && m_.bounds != BoundsMode::Edge) {
      bounds = BoundsMode::Pad;
      padding = arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(read.getResult().getType())));
    }
    return ReadOp::create(b_, read.getLoc(), read.getResult().getType(), isOwn ? made->second.getResult() : read.getTensor(), used,
                          AffineMapAttr::get(AffineMap::get(used.size(), symbols_, results, b_.getContext())),
                          BoundsModeAttr::get(b_.getContext(), bounds), padding);
  }

  const BlockSet &set_;
  const BlockMember &m_;
  ArrayRef<int64_t> tiles_;
  int64_t number_;
  llvm::DenseMap<Operation *, ComputeOp> &written_;
  ComputeOp op_, result_;
  OpBuilder b_;
  Location loc_;
  unsigned rank_, symbols_;
  llvm::DenseMap<unsigned, Value> coordinates_, locals_;
};

} // namespace

bool makePointwise(BlockSet &set, const BlockCosts &costs) {
  for (BlockMember &m : set.members)
    if (auto reduce = dyn_cast<ReduceOp>(m.op)) {
      bool isSink = m.op == set.sink;
      m.op = writeOut(reduce);
      if (isSink)
        set.sink = m.op;
    }
  for (size_t n = set.members.size(); n-- > 0;) {
    Operation *made = set.members[n].op;
    if (set.members[n].isSink || !findPointReader(set, made))
      continue;
    IRRewriter rewriter(made->getContext());
    while (!made->use_empty()) {
      auto read = cast<ReadOp>(*made->user_begin());
      if (!findDefinition(read) || failed(inlineRead(rewriter, read)))
        break;
    }
    if (!made->use_empty())
      continue;
    made->erase();
    set.members.erase(set.members.begin() + n);
  }
  return llvm::all_of(
             set.members,
             [&](const BlockMember &m) { return int64_t(m.op->getRegion(0).front().getOperations().size()) <= costs.mostOperations; }) &&
         set.measure();
}

ComputeOp writeBlocks(BlockSet &set, ArrayRef<int64_t> tiles, int64_t number) {
  llvm::DenseMap<Operation *, ComputeOp> written;
  for (const BlockMember &m : set.members) {
    ComputeOp made = MemberWriter(set, m, tiles, number, written).run();
    written[m.op] = made;
  }
  ComputeOp sink = written[set.sink];
  set.sink->getResult(0).replaceAllUsesWith(sink.getResult());
  for (const BlockMember &m : llvm::reverse(set.members))
    m.op->erase();
  return sink;
}

} // namespace kernelc::te
