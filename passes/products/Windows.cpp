// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-windows: see Passes.td. Finds the reduced indices that may run along memory as one, and
// writes the operands down so that they do.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/index/LinearRead.h"
#include "passes/plan/CopyPolicy.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Rewrite.h"
#include "passes/products/Repacking.h"
#include "support/Saturating.h"
#include "support/Target.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEWINDOWS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// What rows of tensor copies start at.
constexpr int64_t kRowBytes = 16;

/// An operand x[.., a * q + b * s + rest, .., c, ..] of which s and c become one index, and the
/// other operand, which has both alone.
struct Windows {
  LinearRead x, f;
  unsigned taps, tapSubscript;                       ///< s, and its subscript in x
  std::optional<unsigned> channels;                  ///< c
  unsigned channelSubscript = 0;                     ///< in x
  unsigned fTapSubscript = 0, fChannelSubscript = 0; ///< in f
  int64_t step;                                      ///< b
  int64_t padded;                                    ///< elements from one s (c's whole range) to the next
  AffineExpr span;                                   ///< of a * q apart: so many positions along x

  bool isMerged(unsigned d) const { return d == taps || (channels && d == *channels); }
};

class Merger {
public:
  explicit Merger(const CopyPolicy &policy) : target_(*policy.target), least_(policy.copies), facts_(policy.facts()) {}

  struct Site {
    ReduceOp reduce;
    Windows windows;
  };
  StringRef name() const { return "te-windows"; }

  FailureOr<std::optional<Site>> find(Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    std::optional<Contraction> c = reduce ? findContraction(reduce) : std::nullopt;
    if (!c || !target_.wgmma || !findWarpgroupType(*c) || reduce.getCondition() || c->where)
      return std::optional<Site>();
    std::optional<Windows> w = findWindows(reduce, *c, c->a, c->b);
    if (!w)
      w = findWindows(reduce, *c, c->b, c->a);
    return w ? std::optional(Site{reduce, *w}) : std::nullopt;
  }
  RewriteSketch sketch(const Site &site) const;
  /// Whether the product is long enough for a pass over the windows' tensor before it.
  bool pays(const Site &site, const RewriteSketch &sketch) const;
  void apply(const Site &site);

private:
  /// How an operand is copied, and read again.
  struct Copy {
    SmallVector<AffineExpr> extents;    ///< of the copy's domain
    SmallVector<AffineExpr> map;        ///< what it reads
    SmallVector<AffineExpr> subscripts; ///< of the copy, over the reduction's old dims
  };
  std::optional<Windows> findWindows(ReduceOp reduce, const Contraction &c, Value xFactor, Value fFactor);
  static bool findTaps(ReduceOp reduce, const Contraction &c, Windows &w);
  static void findChannels(const Contraction &c, Windows &w);
  Copy copyOfWindows(ReduceOp reduce, const Windows &w) const;
  Copy copyOfTaps(ReduceOp reduce, const Windows &w) const;
  SmallVector<AffineExpr> shapeOf(const Copy &copy, ReadOp read) const;
  ComputeOp makeCopy(ReduceOp reduce, ReadOp read, const Copy &copy, const Windows &w, bool isTaps);
  static SmallVector<AffineExpr> extentsOf(ReduceOp reduce, const Windows &w);

  static AffineExpr extentOf(ReduceOp reduce, unsigned d) { return reduce.getExtents().getResult(d); }
  /// How many points there are at most; nothing where their number is not bounded.
  std::optional<double> pointsOf(AffineMap extents) const;
  /// The least and the greatest value of a subscript.
  static std::pair<AffineExpr, AffineExpr> rangeOf(ReduceOp reduce, const LinearRead &read, unsigned subscript);
  const Target &target_;
  LeastWork least_;
  SizeFacts facts_;
};

std::pair<AffineExpr, AffineExpr> Merger::rangeOf(ReduceOp reduce, const LinearRead &read, unsigned subscript) {
  AffineExpr low = read.rest[subscript], high = low;
  for (auto [d, c] : llvm::enumerate(read.coefficients[subscript]))
    (c > 0 ? high : low) = (c > 0 ? high : low) + (extentOf(reduce, d) - 1) * c;
  unsigned symbols = reduce.getExtents().getNumSymbols();
  return {simplifyAffineExpr(low, 0, symbols), simplifyAffineExpr(high, 0, symbols)};
}

std::optional<Windows> Merger::findWindows(ReduceOp reduce, const Contraction &c, Value xFactor, Value fFactor) {
  ReadOp xRead = findOperandRead(xFactor), fRead = findOperandRead(fFactor);
  auto isPlain = [](ReadOp r) { return readsZeroOutside(r) || isUnchecked(r); };
  auto x = lineariseRead(reduce, xRead), f = lineariseRead(reduce, fRead);
  if (!x || !f || !isPlain(xRead) || !isPlain(fRead))
    return std::nullopt;
  Windows w{*x, *f};
  if (!findTaps(reduce, c, w))
    return std::nullopt;
  findChannels(c, w);
  int64_t bytes = xRead.getResult().getType().getIntOrFloatBitWidth() / 8;
  int64_t channels = w.channels ? knownMax(extentOf(reduce, *w.channels), facts_) : 1;
  if (channels < 1 || Count(channels) * bytes >= target_.costs->copies.longRowBytes)
    return std::nullopt;
  // Each window starts at a multiple of what tensor copies ask.
  w.padded = channels;
  auto startsAligned = [&] {
    for (unsigned d = 0; d < reduce.getNumParallel(); ++d)
      if (w.x.coefficients[w.tapSubscript][d] * w.padded * bytes % kRowBytes)
        return false;
    return true;
  };
  while (!startsAligned())
    ++w.padded;
  w.span = (extentOf(reduce, w.taps) - 1) * std::abs(w.step) + 1;
  return w;
}

/// The windows along the last subscript that has some: one reduced index beside parallel ones.
bool Merger::findTaps(ReduceOp reduce, const Contraction &c, Windows &w) {
  auto reducedIn = [&](unsigned subscript) { return llvm::count_if(c.k, [&](unsigned k) { return w.x.coefficients[subscript][k] != 0; }); };
  bool found = false;
  for (unsigned r = 0; r < w.x.coefficients.size(); ++r)
    for (unsigned k : c.k) {
      if (!w.x.coefficients[r][k] || reducedIn(r) != 1 || w.x.subscriptsWith(k).size() != 1)
        continue;
      SmallVector<unsigned> beside;
      for (unsigned d = 0; d < reduce.getNumParallel(); ++d)
        if (w.x.coefficients[r][d])
          beside.push_back(d);
      bool forward = llvm::all_of(beside, [&](unsigned d) { return w.x.coefficients[r][d] > 0; });
      bool areBatches = llvm::all_of(beside, [&](unsigned d) { return llvm::is_contained(c.batch, d); }); // (or none)
      SmallVector<unsigned> inF = w.f.subscriptsWith(k);
      if (areBatches || !forward || inF.size() != 1 || !w.f.isAlone(inF[0], k))
        continue;
      w.taps = k;
      w.tapSubscript = r;
      w.fTapSubscript = inF[0];
      w.step = w.x.coefficients[r][k];
      found = true;
    }
  return found;
}

/// Channels: a reduced index beside batches only, in both.
void Merger::findChannels(const Contraction &c, Windows &w) {
  auto besideBatches = [&](const LinearRead &r, unsigned subscript, unsigned k) {
    for (auto [d, coefficient] : llvm::enumerate(r.coefficients[subscript]))
      if (coefficient && d != k && !llvm::is_contained(c.batch, d))
        return false;
    return r.coefficients[subscript][k] == 1;
  };
  for (unsigned k : c.k) {
    SmallVector<unsigned> inX = w.x.subscriptsWith(k), inF = w.f.subscriptsWith(k);
    if (k == w.taps || inX.size() != 1 || inF.size() != 1 || !besideBatches(w.x, inX[0], k) || !besideBatches(w.f, inF[0], k))
      continue;
    if (w.channels && inX[0] < w.channelSubscript)
      continue;
    w.channels = k;
    w.channelSubscript = inX[0];
    w.fChannelSubscript = inF[0];
  }
}

bool Merger::pays(const Site &site, const RewriteSketch &sketch) const {
  // (Of the two copies the windows' alone: taps are few.)
  std::optional<double> work = pointsOf(ReduceOp(site.reduce).getExtents()), copied = pointsOf(sketch.made().front().extents);
  return work && copied && least_.isMet(*work, *copied);
}

std::optional<double> Merger::pointsOf(AffineMap extents) const {
  double points = 1;
  for (AffineExpr e : extents.getResults()) {
    int64_t most = knownMax(e, facts_);
    if (most < 0)
      return std::nullopt;
    points *= double(most);
  }
  return points;
}

/// x[.., a * q + b * s + rest, .., c]  as  P[.., (a * q + s') * padded + c], zero where x or c has nothing
Merger::Copy Merger::copyOfWindows(ReduceOp reduce, const Windows &w) const {
  MLIRContext *context = reduce.getContext();
  Copy copy;
  auto &[extents, map, subscripts] = copy;
  map.resize(w.x.coefficients.size());
  auto dim = [&](unsigned d) { return getAffineDimExpr(d, context); };
  auto linear = [&](unsigned r, AffineExpr e, llvm::function_ref<bool(unsigned)> counts) {
    for (auto [d, coefficient] : llvm::enumerate(w.x.coefficients[r]))
      if (coefficient && counts(d))
        e = e + dim(d) * coefficient;
    return e;
  };
  AffineExpr channelRest = w.channels ? w.x.rest[w.channelSubscript] : AffineExpr();
  for (unsigned r = 0; r < w.x.coefficients.size(); ++r) {
    if (r == w.tapSubscript)
      continue;
    if (w.channels && r == w.channelSubscript) { // the batches beside it are dims of their own
      for (auto [d, coefficient] : llvm::enumerate(w.x.coefficients[r]))
        if (coefficient && d != *w.channels) {
          channelRest = channelRest + dim(extents.size()) * coefficient;
          extents.push_back(extentOf(reduce, d));
          subscripts.push_back(dim(d));
        }
      continue;
    }
    auto [low, high] = rangeOf(reduce, w.x, r);
    map[r] = dim(extents.size()) + low;
    extents.push_back(high - low + 1);
    subscripts.push_back(linear(r, w.x.rest[r] - low, [](unsigned) { return true; }));
  }
  auto [low, high] = rangeOf(reduce, w.x, w.tapSubscript);
  AffineExpr run = dim(extents.size());
  map[w.tapSubscript] = run.floorDiv(w.padded) + low;
  if (w.channels)
    map[w.channelSubscript] = channelRest + run % w.padded;
  extents.push_back((high - low + 1) * w.padded);
  AffineExpr start = linear(w.tapSubscript, getAffineConstantExpr(0, context), [&](unsigned d) { return d != w.taps; });
  subscripts.push_back(start * w.padded);
  return copy;
}

/// f[.., s, .., c]  as  G[.., s' * padded + c], zero between the steps of s and beyond c
Merger::Copy Merger::copyOfTaps(ReduceOp reduce, const Windows &w) const {
  MLIRContext *context = reduce.getContext();
  Copy copy;
  auto &[extents, map, subscripts] = copy;
  map.resize(w.f.coefficients.size());
  auto dim = [&](unsigned d) { return getAffineDimExpr(d, context); };
  AffineExpr channelRest;
  for (unsigned r = 0; r < w.f.coefficients.size(); ++r) {
    if (r == w.fTapSubscript)
      continue;
    bool isChannel = w.channels && r == w.fChannelSubscript;
    AffineExpr e = w.f.rest[r];
    for (auto [d, coefficient] : llvm::enumerate(w.f.coefficients[r])) {
      if (!coefficient || (isChannel && d == *w.channels))
        continue;
      e = e + dim(extents.size()) * coefficient;
      extents.push_back(extentOf(reduce, d));
      subscripts.push_back(dim(d));
    }
    map[r] = e;
    if (isChannel)
      channelRest = e;
  }
  AffineExpr run = dim(extents.size()), position = run.floorDiv(w.padded), tap = position.floorDiv(std::abs(w.step));
  map[w.fTapSubscript] = w.f.rest[w.fTapSubscript] + (w.step > 0 ? tap : extentOf(reduce, w.taps) - 1 - tap);
  if (w.channels)
    map[w.fChannelSubscript] = channelRest + run % w.padded;
  extents.push_back(w.span * w.padded);
  return copy;
}

/// Rows of a copy begin where tensor copies find them.
SmallVector<AffineExpr> Merger::shapeOf(const Copy &copy, ReadOp read) const {
  int64_t perRow = target_.costs->copies.elementsOfRow(ReadOp(read).getResult().getType().getIntOrFloatBitWidth());
  SmallVector<AffineExpr> shape(copy.extents);
  shape.back() = shape.back().ceilDiv(perRow) * perRow;
  return shape;
}

ComputeOp Merger::makeCopy(ReduceOp reduce, ReadOp read, const Copy &how, const Windows &w, bool isTaps) {
  ArrayRef<AffineExpr> extents = how.extents, map = how.map;
  OpBuilder b(reduce);
  Location loc = reduce.getLoc();
  MLIRContext *context = b.getContext();
  unsigned symbols = reduce.getExtents().getNumSymbols();
  auto mapOf = [&](unsigned dims, ArrayRef<AffineExpr> e) { return simplifyAffineMap(AffineMap::get(dims, symbols, e, context)); };
  Type element = read.getResult().getType();
  SmallVector<AffineExpr> shape = shapeOf(how, read);
  SmallVector<std::string> names;
  for (size_t d = 0; d < extents.size(); ++d)
    names.push_back(d + 1 < extents.size() ? "d" + std::to_string(d) : "run");
  SmallVector<StringRef> indices(names.begin(), names.end());
  std::string name = nameOfOperand(read.getTensor()) + (isTaps ? "_taps" : "_runs");
  auto type = RankedTensorType::get(SmallVector<int64_t>(extents.size(), ShapedType::kDynamic), element);
  auto copy = ComputeOp::create(b, loc, type, b.getStrArrayAttr(indices), mapOf(0, extents), IntegerSetAttr(), Value(), AffineMapAttr(),
                                AffineMapAttr::get(mapOf(0, shape)), b.getStringAttr(name), false);
  Block &body = copy.getBody().emplaceBlock();
  for (size_t d = 0; d < extents.size(); ++d)
    body.addArgument(b.getIndexType(), loc);
  b.setInsertionPointToStart(&body);
  SmallVector<Value> point(body.getArguments().begin(), body.getArguments().end());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  Value value = ReadOp::create(b, loc, element, read.getTensor(), point, AffineMapAttr::get(mapOf(extents.size(), map)),
                               BoundsModeAttr::get(context, BoundsMode::Pad), zero);
  // What the tensor has behind the channels, or beside the taps, is another's.
  auto keepWhere = [&](arith::CmpIPredicate predicate, Value v, Value limit) {
    Value counts = arith::CmpIOp::create(b, loc, predicate, v, limit);
    value = arith::SelectOp::create(b, loc, counts, value, zero);
  };
  auto constant = [&](int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); };
  AffineExpr channels = w.channels ? extentOf(reduce, *w.channels) : getAffineConstantExpr(1, context);
  if (channels != getAffineConstantExpr(w.padded, context)) {
    Value limit = SizeOp::create(b, loc, AffineMapAttr::get(mapOf(0, channels)));
    keepWhere(arith::CmpIPredicate::slt, arith::RemSIOp::create(b, loc, point.back(), constant(w.padded)), limit);
  }
  if (isTaps && std::abs(w.step) > 1) {
    Value position = arith::DivSIOp::create(b, loc, point.back(), constant(w.padded));
    keepWhere(arith::CmpIPredicate::eq, arith::RemSIOp::create(b, loc, position, constant(std::abs(w.step))), constant(0));
  }
  YieldOp::create(b, loc, value, Value());
  return copy;
}

/// Of the reduction, with what is merged as its last index.
SmallVector<AffineExpr> Merger::extentsOf(ReduceOp reduce, const Windows &w) {
  SmallVector<AffineExpr> extents;
  for (unsigned d = 0; d < reduce.getNumDims(); ++d)
    if (!w.isMerged(d))
      extents.push_back(extentOf(reduce, d));
  extents.push_back(w.span * w.padded);
  return extents;
}

RewriteSketch Merger::sketch(const Site &site) const {
  ReduceOp reduce = site.reduce;
  const Windows &w = site.windows;
  RewriteSketch s;
  auto mapOf = [&](ArrayRef<AffineExpr> e) { return AffineMap::get(0, reduce.getExtents().getNumSymbols(), e, reduce.getContext()); };
  StatementSketch own = s.sketchOf(reduce);
  own.loads = s.loadsIn({&reduce.getBody()}, {w.x.read, w.f.read});
  for (auto [copy, read] : {std::pair(copyOfWindows(reduce, w), w.x.read), std::pair(copyOfTaps(reduce, w), w.f.read)}) {
    TensorSketch from = sketchTensor(ReadOp(read).getTensor()), to{mapOf(shapeOf(copy, read)), from.element};
    s.make({ComputeOp::getOperationName(), mapOf(copy.extents), unsigned(copy.extents.size()), {from}, {to}});
    own.loads.push_back(to);
  }
  s.drop(reduce);
  own.extents = mapOf(extentsOf(reduce, w));
  s.make(own);
  return s;
}

/// Σ_{.., s, .., c} x[..] · f[..]  →  Σ_{.., run} P[.., start + run] · G[.., run]
void Merger::apply(const Site &site) {
  ReduceOp reduce = site.reduce;
  const Windows &w = site.windows;
  Copy windows = copyOfWindows(reduce, w), taps = copyOfTaps(reduce, w);
  ComputeOp x = makeCopy(reduce, w.x.read, windows, w, false), f = makeCopy(reduce, w.f.read, taps, w, true);
  OpBuilder b(reduce);
  Location loc = reduce.getLoc();
  MLIRContext *context = b.getContext();
  unsigned symbols = reduce.getExtents().getNumSymbols();
  SmallVector<Attribute> indices;
  SmallVector<AffineExpr> extents = extentsOf(reduce, w), toNew(reduce.getNumDims(), getAffineConstantExpr(0, context));
  SmallVector<std::string> merged;
  for (unsigned d = 0; d < reduce.getNumDims(); ++d) {
    if (w.isMerged(d)) {
      merged.push_back(cast<StringAttr>(reduce.getIndices()[d]).getValue().str());
      continue;
    }
    toNew[d] = getAffineDimExpr(indices.size(), context);
    indices.push_back(reduce.getIndices()[d]);
  }
  AffineExpr run = getAffineDimExpr(indices.size(), context);
  indices.push_back(b.getStringAttr(llvm::join(merged, "_")));
  auto made = ReduceOp::create(b, loc, cast<RankedTensorType>(reduce.getResult().getType()), reduce.getKind(), b.getArrayAttr(indices),
                               reduce.getNumParallel(), simplifyAffineMap(AffineMap::get(0, symbols, extents, context)), IntegerSetAttr(),
                               Value(), AffineMapAttr(), reduce.getShapeAttr(), reduce.getNameAttr());
  copyHints(reduce, made);
  Block &block = made.getBody().emplaceBlock();
  for (size_t d = 0; d < extents.size(); ++d)
    block.addArgument(b.getIndexType(), loc);
  b.setInsertionPointToStart(&block);
  SmallVector<Value> point(block.getArguments().begin(), block.getArguments().end());
  IRMapping mapping;
  for (unsigned d = 0; d < reduce.getNumDims(); ++d)
    if (auto dim = dyn_cast<AffineDimExpr>(toNew[d]))
      mapping.map(reduce.getBlock().getArgument(d), block.getArgument(dim.getPosition()));
  auto readAt = [&](ComputeOp copy, SmallVector<AffineExpr> subscripts, bool isTaps) -> Value {
    for (AffineExpr &e : subscripts)
      e = e.replaceDims(toNew);
    if (isTaps)
      subscripts.push_back(run);
    else
      subscripts.back() = subscripts.back() + run;
    AffineMap map = simplifyAffineMap(AffineMap::get(extents.size(), symbols, subscripts, context));
    return ReadOp::create(b, loc, copy.getResult().getType().getElementType(), copy.getResult(), point, AffineMapAttr::get(map),
                          BoundsModeAttr::get(context, BoundsMode::InBounds), Value());
  };
  for (Operation &op : reduce.getBlock()) {
    if (&op == w.x.read)
      mapping.map(op.getResult(0), readAt(x, windows.subscripts, false));
    else if (&op == w.f.read)
      mapping.map(op.getResult(0), readAt(f, taps.subscripts, true));
    else
      b.clone(op, mapping);
  }
  emitRemark(loc) << "rows of '" << nameOfOperand(ReadOp(w.x.read).getTensor()) << "' along a summed index are shorter than "
                  << target_.costs->copies.longRowBytes << " bytes: it is copied, padded, so that windows along "
                  << llvm::join(merged, " and ") << " are rows of tensor copies";
  reduce.getResult().replaceAllUsesWith(made.getResult());
  reduce.erase();
}

struct TeWindowsPass : impl::TeWindowsBase<TeWindowsPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<std::optional<CopyPolicy>> policy =
        getCopyPolicy(getOperation(), target, llvm::to_vector_of<int64_t>(sizeDiv), llvm::to_vector_of<int64_t>(sizeMax), work, reuse);
    if (failed(policy))
      return signalPassFailure();
    if (*policy && failed(rewriteEach(getOperation(), Merger(**policy))))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
