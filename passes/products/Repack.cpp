// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-repack: see Passes.td. Says which operands are worth a copy and makes it; what a
// tensor copy can make of the copy is passes/tile/Box's to say.
#include "passes/Passes.h"

#include "ir/te/Factors.h"
#include "ir/te/TeShape.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/IndexForm.h"
#include "passes/index/Affine.h"
#include "passes/index/LinearRead.h"
#include "passes/index/Strides.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/CopyPolicy.h"
#include "passes/plan/PlanAttr.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEREPACK
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// What rows of a tensor copy's source are multiples of.
constexpr int64_t kRowBytes = 16;

class Repacker {
public:
  Repacker(KernelOp kernel, const CopyPolicy &policy) : kernel_(kernel), target_(*policy.target), policy_(policy), facts_(policy.facts()) {}

  void run() {
    llvm::DenseSet<Operation *> inSets;
    for (ChainSet &set : findChainSets(kernel_, target_, facts_))
      for (SetReader &reader : set.readers)
        inSets.insert(reader.op);
    for (ReduceOp reduce : llvm::to_vector(kernel_.getBlock().getOps<ReduceOp>()))
      if (std::optional<Contraction> c = findContraction(reduce)) {
        for (unsigned k : c->k)
          walkForwards(reduce, k);
        if (inSets.contains(reduce) || findChain(reduce, target_, facts_))
          continue; // what it takes from registers never is in memory
        materialize(reduce, *c, c->a, c->m, c->aUnsigned);
        materialize(reduce, *c, c->b, c->n, c->bUnsigned);
      }
    for (ReduceOp reduce : llvm::to_vector(kernel_.getBlock().getOps<ReduceOp>()))
      if (std::optional<Contraction> c = findGeneralContraction(reduce); c && isWorthCopies(reduce, *c)) {
        repack(reduce, *c, c->a);
        repack(reduce, *c, c->b);
      }
  }

private:
  /// Whether the product goes to the unit that tensor copies feed, or to CUDA cores whose slots asynchronous copies fill, and
  /// is long enough that a pass over its operands before it is paid back.
  bool isWorthCopies(ReduceOp reduce, const Contraction &c) {
    bool cores = isOnCores(c);
    if (!cores && !(target_.wgmma && findWarpgroupType(c)))
      return false;
    std::optional<double> work = workOf(reduce, c);
    if (!work)
      return false;
    double copied = 0;
    bool rows = false; // copied because of how they begin
    for (Value factor : {c.a, c.b})
      if (copyFor(reduce, c, factor)) {
        Value tensor = findOperandRead(factor).getTensor();
        copied += elementsOf(tensor);
        rows |= !isAligned(tensor);
      }
    const LeastWork &least = cores ? policy_.cores : rows ? policy_.rows : policy_.copies;
    return copied && least.isMet(*work, copied);
  }

  /// No more than so many, of a product whose extents are bounded.
  double elementsOf(Value tensor) {
    double elements = 1;
    for (AffineExpr e : getTensorShape(tensor).getResults()) {
      int64_t most = knownMax(e, facts_);
      elements *= most < 0 ? 0x1p40 : double(most);
    }
    return elements;
  }

  /// `e` as it is where it is known to be a multiple of `unit`.
  AffineExpr roundUp(AffineExpr e, int64_t unit) { return knownDivisor(e, facts_) % unit == 0 ? e : e.ceilDiv(unit) * unit; }

  /// The multiply-adds of a product, where its extents are bounded: long enough for all we know is not enough.
  std::optional<double> workOf(ReduceOp reduce, const Contraction &c) {
    double work = 1;
    for (unsigned d : llvm::concat<const unsigned>(c.batch, c.m, c.n, c.k)) {
      int64_t most = knownMax(reduce.getExtents().getResult(d), facts_);
      if (most < 0)
        return std::nullopt;
      work *= double(most);
    }
    return work;
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

  /// Whether a subscript of a factor is one index, backwards. (Beside others, as in `x[p - r]`, tiles have one point of it.)
  static bool walksBackwards(ReduceOp reduce, Value factor) {
    ReadOp read = findOperandRead(factor);
    std::optional<LinearRead> linear = read ? lineariseRead(reduce, read) : std::nullopt;
    return linear && llvm::any_of(linear->coefficients, [](ArrayRef<int64_t> row) {
             return llvm::count(row, 0) + 1 == int64_t(row.size()) && llvm::any_of(row, [](int64_t c) { return c < 0; });
           });
  }

  /// Whether `factor` is an element of a tensor of the unit's type, or one that the copy rounds to it.
  static bool isStored(Value factor, Type unitType) {
    ReadOp read = findOperandRead(factor);
    return read && (isa<FloatTF32Type>(unitType) ? read.getResult().getType().isF32() : read.getResult().getType() == unitType);
  }

  /// Whether `factor` is made of elements of products alone, at their own points, which nobody else reads: what their launch writes then
  /// is no more than it writes anyway.
  static bool isLeftByProducts(ReduceOp reduce, Value factor) {
    SmallVector<ReadOp> reads = findReads(factor);
    return !reads.empty() && llvm::all_of(reads, [&](ReadOp read) {
      auto product = read.getTensor().getDefiningOp<ReduceOp>();
      llvm::BitVector seen(reduce.getNumDims());
      bool isOnly = product && findContraction(product) && product->hasOneUse() && read.getMapOrIdentity().isIdentity() &&
                    read.getBounds() == BoundsMode::InBounds && llvm::equal(read.getOperands_(), reads.front().getOperands_());
      return isOnly && llvm::all_of(llvm::enumerate(read.getOperands_()), [&](auto operand) {
               std::optional<unsigned> d = findIndex(reduce, operand.value());
               bool isOwn = d && !seen[*d] && reduce.getExtents().getResult(*d) == product.getExtents().getResult(operand.index());
               if (isOwn)
                 seen.set(*d);
               return isOwn;
             });
    });
  }

  /// factor = f(T[..], ..)  →  P[batch, outer, k] = f(T[..], ..) in the unit's type;  factor = P[batch, outer, k]
  void materialize(ReduceOp reduce, const Contraction &c, Value factor, ArrayRef<unsigned> outer, bool isUnsigned) {
    Type unitType = operandType(c, factor, "wgmma", target_);
    if (!target_.wgmma || !unitType || c.isAMasked() || c.isBMasked())
      return;
    std::optional<double> work = workOf(reduce, c);
    bool isFree = isLeftByProducts(reduce, factor);
    if ((!work && !isFree) || (isStored(factor, unitType) && !walksBackwards(reduce, factor)))
      return;
    llvm::BitVector support = findSupport(factor, reduce.getNumDims());
    SmallVector<unsigned> dims(c.batch);
    llvm::append_range(dims, outer);
    for (bool tiled : {false, true}) // rows run along an index that tiles have several points of
      llvm::copy_if(c.k, std::back_inserter(dims), [&](unsigned d) { return support[d] && c.isTiledK(d) == tiled; });
    SmallVector<IndexForm> forms = llvm::map_to_vector(dims, [&](unsigned d) { return indexFormOf(reduce, factor, d); });
    double copied = 1;
    for (const IndexForm &taken : forms)
      copied *= double(knownMax(taken.extent, facts_));
    if (!isFree && !policy_.copies.isMet(*work, copied))
      return;
    // The value that the unit takes, and what leads to it.
    auto round = factor.getDefiningOp<RoundOp>();
    Value value = round ? round.getInput() : isa<FloatTF32Type>(unitType) ? factor : stripWidening(factor);
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    auto isForm = [&](Operation *op) {
      return llvm::any_of(forms, [&](const IndexForm &d) {
        return llvm::any_of(op->getResults(), [&](Value v) { return llvm::is_contained(d.values, v); });
      });
    };
    options.filter = [&](Operation *op) { return op->getBlock() == &reduce.getBlock() && !isForm(op); };
    if (failed(getBackwardSlice(value, &slice, options)) || llvm::any_of(slice, [](Operation *op) { return !isPure(op); }))
      return;
    std::string name = "operand";
    for (Operation *op : slice)
      if (auto read = dyn_cast<ReadOp>(op)) {
        name = nameOf(read.getTensor());
        break;
      }
    OpBuilder b(reduce);
    Location loc = factor.getLoc();
    AffineMap extents = reduce.getExtents();
    SmallVector<AffineExpr> domain, rows;
    SmallVector<Attribute> indices;
    for (auto [d, taken] : llvm::zip(dims, forms)) {
      domain.push_back(taken.extent);
      indices.push_back(reduce.getIndices()[d]);
    }
    Type element = isa<FloatTF32Type>(unitType) ? Type(b.getF32Type()) : unitType;
    int64_t perRow = target_.costs->copies.workspaceRowBytes * 8 / element.getIntOrFloatBitWidth();
    rows = domain;
    rows.back() = roundUp(rows.back(), perRow);
    auto mapOf = [&](ArrayRef<AffineExpr> e) { return AffineMap::get(0, extents.getNumSymbols(), e, b.getContext()); };
    auto type = RankedTensorType::get(SmallVector<int64_t>(dims.size(), ShapedType::kDynamic), element);
    auto copy = ComputeOp::create(b, loc, type, b.getArrayAttr(indices), mapOf(domain), IntegerSetAttr(), Value(), AffineMapAttr(),
                                  AffineMapAttr::get(mapOf(rows)), b.getStringAttr(name + "_rows"), false);
    if (!isFree)
      emitRemark(reduce.getLoc()) << (isStored(factor, unitType) ? "an operand walks an index of '" : "an operand is computed from '")
                                  << name << (isStored(factor, unitType) ? "' backwards" : "'")
                                  << ": it is written to an aligned workspace first";
    Block &body = copy.getBody().emplaceBlock();
    IRMapping mapping;
    for (auto [d, taken] : llvm::zip(dims, forms)) {
      Value index = body.addArgument(b.getIndexType(), loc);
      if (taken.values.empty())
        mapping.map(reduce.getBlock().getArgument(d), index);
      for (Value v : taken.values)
        mapping.map(v, index);
    }
    b.setInsertionPointToStart(&body);
    for (Operation &op : reduce.getBlock())
      if (slice.contains(&op))
        b.clone(op, mapping);
    Value stored = mapping.lookupOrDefault(value);
    if (stored.getType() != element) { // exact: the unit's type holds the factor's
      if (stored.getType().getIntOrFloatBitWidth() < 32)
        stored = arith::ExtFOp::create(b, loc, b.getF32Type(), stored);
      if (!element.isF32())
        stored = arith::TruncFOp::create(b, loc, element, stored);
    }
    YieldOp::create(b, loc, stored, Value());

    // At the factor's place, widened as it was.
    if (Operation *def = factor.getDefiningOp())
      b.setInsertionPointAfter(def);
    SmallVector<Value> point;
    SmallVector<AffineExpr> subscripts;
    for (auto [n, d] : llvm::enumerate(dims)) {
      subscripts.push_back(forms[n].form.replace(b.getAffineDimExpr(0), b.getAffineDimExpr(n)));
      point.push_back(reduce.getBlock().getArgument(d));
    }
    auto map = AffineMap::get(dims.size(), extents.getNumSymbols(), subscripts, b.getContext());
    Value wide = ReadOp::create(b, loc, element, copy.getResult(), point, map.isIdentity() ? AffineMapAttr() : AffineMapAttr::get(map),
                                BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    if (round || isa<FloatTF32Type>(unitType)) // what is a tf32 already stays the same
      wide = RoundOp::create(b, loc, wide, TypeAttr::get(unitType));
    else if (isa<FloatType>(element))
      wide = arith::ExtFOp::create(b, loc, factor.getType(), wide);
    else if (isUnsigned)
      wide = arith::ExtUIOp::create(b, loc, factor.getType(), wide);
    else
      wide = arith::ExtSIOp::create(b, loc, factor.getType(), wide);
    for (OpOperand *use : findUsesIn(reduce.getYield().getValues()[0], factor))
      use->set(wide);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(reduce.getBlock())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// How a tensor is copied: `last` is the dim that comes last in the copy.
  struct Copy {
    unsigned last;
  };

  /// Whether CUDA cores multiply words that asynchronous copies bring.
  bool isOnCores(const Contraction &c) {
    return target_.asyncCopy && !hasUnit(c, target_) && llvm::all_of(ArrayRef{c.a, c.b}, [](Value factor) {
             ReadOp read = findOperandRead(factor);
             return read && read.getResult().getType().getIntOrFloatBitWidth() >= 32;
           });
  }

  /// CUDA cores multiply vectors of rows by vectors of columns: an operand whose neighbours run along the summed index is
  /// turned on its way into its slot, word by word, unless a copy in memory has turned it before; so are the weights of a convolution,
  /// `f[o, c, r, s]`. Where tensor copies fill slots, rows that do not begin at whole vectors are copied, too; elsewhere what ends inside
  /// a vector would be brought word by word in any case.
  std::optional<Copy> copyForCores(ReduceOp reduce, const Contraction &c, Value factor) {
    ReadOp read = findOperandRead(factor);
    unsigned rank = cast<RankedTensorType>(read.getTensor().getType()).getRank();
    if (rank < 2 || !(readsZeroOutside(read) || isUnchecked(read)))
      return std::nullopt;
    AffineMap map = read.getMapOrIdentity();
    auto has = [&](AffineExpr e, unsigned d) {
      return llvm::any_of(llvm::enumerate(read.getOperands_()),
                          [&](auto operand) { return findIndex(reduce, operand.value()) == d && e.isFunctionOfDim(operand.index()); });
    };
    ArrayRef<AffineExpr> runs = map.getResults(); // the last one says what runs along memory, but for dims of one element
    while (runs.size() > 1 && isa<AffineConstantExpr>(runs.back()) && getTensorShape(read.getTensor()).getResult(runs.size() - 1) == 1)
      runs = runs.drop_back();
    auto along = [&](ArrayRef<unsigned> list) { return llvm::any_of(list, [&](unsigned d) { return has(runs.back(), d); }); };
    ArrayRef<unsigned> outer = factor == c.a ? c.m : c.n;
    // Tensor copies bring a workspace's rows, whichever way they end; asynchronous ones would take them word by word.
    bool runsAlongSum = along(c.k) && !along(outer), isFed = target_.feedsCores && c.k.size() == 1 && outer.size() == 1;
    int64_t bytes = read.getResult().getType().getIntOrFloatBitWidth() / 8;
    for (unsigned d : llvm::reverse(outer)) {
      SmallVector<unsigned> at; // the subscripts that have it
      for (auto [r, e] : llvm::enumerate(map.getResults()))
        if (has(e, d))
          at.push_back(r);
      if (at.size() != 1 || !isa<AffineDimExpr>(map.getResult(at[0])))
        continue;
      bool isUnfed = isFed && at[0] + 1 == rank && !isAligned(read.getTensor());
      bool isWhole = isFed || knownDivisor(reduce.getExtents().getResult(d), facts_) * bytes % kRowBytes == 0;
      if (isUnfed || (runsAlongSum && isWhole))
        return Copy{at[0]};
    }
    return std::nullopt;
  }

  /// The copy that makes tensor copies possible for a factor; nothing where they are
  /// possible already or no copy would help.
  std::optional<Copy> copyFor(ReduceOp reduce, const Contraction &c, Value factor) {
    if (isOnCores(c))
      return copyForCores(reduce, c, factor);
    std::optional<Copy> best;
    int64_t fewest = 3, longest = -1;
    // Both operands run along one summed index: the one that asks for fewest copies of those
    // with rows worth a copy, then the longest.
    for (unsigned k : c.k) {
      if (!c.isTiledK(k))
        continue;
      bool possible = true;
      int64_t copies = 0, length = knownMax(reduce.getExtents().getResult(k), facts_);
      std::optional<Copy> own;
      for (Value operand : {c.a, c.b}) {
        std::optional<std::optional<Copy>> copy = copyAlong(reduce, c, operand, k);
        possible &= copy.has_value();
        copies += copy && *copy;
        if (copy && operand == factor)
          own = *copy;
      }
      if (length >= 0 && length < target_.costs->copies.shortRow)
        copies += 1;
      if (!possible || copies > fewest || (copies == fewest && length <= longest))
        continue;
      best = own;
      fewest = copies;
      longest = length;
    }
    return best;
  }

  /// The copy of `factor` that a product asks for whose operands run along `k`: none inside where
  /// it is fine as it is; nothing at all where none helps.
  std::optional<std::optional<Copy>> copyAlong(ReduceOp reduce, const Contraction &c, Value factor, unsigned k) {
    ReadOp read = findOperandRead(factor);
    auto type = cast<RankedTensorType>(read.getTensor().getType());
    LinearRead linear = lineariseSubscripts(reduce, read);
    if (type.getRank() < 2 || !(readsZeroOutside(read) || isUnchecked(read)))
      return std::nullopt;
    unsigned last = type.getRank() - 1;
    auto asItIs = [&] { return isAligned(read.getTensor()) ? std::nullopt : std::optional<Copy>(Copy{last}); };
    SmallVector<unsigned> at = linear.subscriptsWith(k);
    bool alone = at.size() == 1 && (linear.isAlone(at[0], k) || isBesideGroups(reduce, c.batch, linear, at[0], k));
    if (alone && at[0] == last)
      return asItIs();
    // Units take 16-bit operands that are contiguous along rows or columns, too; and others from registers.
    ArrayRef<unsigned> outer = factor == c.a ? c.m : c.n;
    for (unsigned d : outer)
      if ((type.getElementTypeBitWidth() == 16 || passesRegisters(c, factor)) &&
          (linear.isAlone(last, d) || isBesideGroups(reduce, outer, linear, last, d)))
        return asItIs();
    if (!alone)
      return std::nullopt;
    return std::optional<Copy>(Copy{at[0]});
  }

  /// Whether an operand passes through registers as it lies.
  static bool passesRegisters(const Contraction &c, Value factor) {
    std::optional<WarpgroupForm> form = findWarpgroupForm(c);
    return form && (factor == c.a ? form->aInRegisters : form->bInRegisters);
  }

  /// Whether subscript `r` is d beside the numbers of groups that are whole rows of slots, `g * 64 + d`, g one of `groups`.
  bool isBesideGroups(ReduceOp reduce, ArrayRef<unsigned> groups, const LinearRead &read, unsigned r, unsigned d) {
    int64_t row = 128 / std::max(1u, ReadOp(read.read).getResult().getType().getIntOrFloatBitWidth() / 8);
    if (read.others[r] || read.coefficients[r][d] != 1 || knownDivisor(reduce.getExtents().getResult(d), facts_) % row)
      return false;
    for (auto [g, coefficient] : llvm::enumerate(read.coefficients[r]))
      if (coefficient && g != d && !(llvm::is_contained(groups, g) && coefficient % row == 0))
        return false;
    return true;
  }

  /// Whether rows of the tensor start at multiples of 16 bytes.
  bool isAligned(Value tensor) {
    int64_t bytes = std::max(1u, cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth() / 8), param = findParam(tensor);
    if (getParamAlignment(kernel_, param) % kRowBytes)
      return false;
    if (AffineMap strides = getParamStrides(kernel_, param))
      return strides.getResults().back() == getAffineConstantExpr(1, kernel_.getContext()) &&
             llvm::all_of(strides.getResults().drop_back(), [&](AffineExpr s) { return knownDivisor(s * bytes, facts_) % kRowBytes == 0; });
    return knownDivisor(getTensorShape(tensor).getResults().back() * bytes, facts_) % kRowBytes == 0;
  }

  /// factor = T[map]  →  P[i.., j] = T[..] if j < rows' length else 0;  factor = P[map']
  void repack(ReduceOp reduce, const Contraction &c, Value factor) {
    std::optional<Copy> how = copyFor(reduce, c, factor);
    if (!how)
      return;
    ReadOp read = findOperandRead(factor);
    Value tensor = read.getTensor();
    unsigned rank = read.getTensor().getType().getRank();
    Value &copy = copies_[{tensor, how->last}];
    if (!copy) {
      copy = makeCopy(tensor, how->last);
      if (how->last + 1 == rank)
        emitRemark(reduce.getLoc()) << "the rows of '" << nameOf(tensor) << "' are not known to be multiples of " << kRowBytes
                                    << " bytes: it is copied into an aligned workspace first";
      else if (isOnCores(c))
        emitRemark(reduce.getLoc()) << "'" << nameOf(tensor)
                                    << "' runs along the summed index, where CUDA cores multiply vectors of rows by vectors "
                                    << "of columns: it is transposed into a workspace first";
      else
        emitRemark(reduce.getLoc()) << "'" << nameOf(tensor) << "' is not contiguous along the summed index that its rows of "
                                    << read.getResult().getType() << " should run along: it is transposed into a workspace first";
    }
    SmallVector<AffineExpr> subscripts(read.getMapOrIdentity().getResults());
    toCopy(subscripts, how->last);
    AffineMap map = read.getMapOrIdentity();
    read.setMapAttr(AffineMapAttr::get(AffineMap::get(map.getNumDims(), map.getNumSymbols(), subscripts, map.getContext())));
    read.getTensorMutable().assign(copy);
  }

  /// From the tensor's order of dims to the copy's.
  template <typename T> static void toCopy(SmallVectorImpl<T> &list, unsigned last) {
    std::rotate(list.begin() + last, list.begin() + last + 1, list.end());
  }

  std::string nameOf(Value tensor) {
    if (auto arg = dyn_cast<BlockArgument>(tensor))
      return cast<StringAttr>(kernel_.getArgNames()[arg.getArgNumber()]).str();
    auto name = tensor.getDefiningOp()->getAttrOfType<StringAttr>("name");
    return name ? name.str() : "operand";
  }

  Value makeCopy(Value tensor, unsigned last) {
    OpBuilder b(kernel_.getContext());
    if (Operation *def = tensor.getDefiningOp())
      b.setInsertionPointAfter(def);
    else
      b.setInsertionPointToStart(&kernel_.getBlock());
    Location loc = tensor.getLoc();
    auto type = cast<RankedTensorType>(tensor.getType());
    int64_t rank = type.getRank(), bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
    AffineMap shape = getTensorShape(tensor);
    // Rows that are shorter than an L2 line share it evenly.
    int64_t most = knownMax(shape.getResult(last), facts_), rowBytes = target_.costs->copies.workspaceRowBytes;
    if (most > 0)
      rowBytes = std::clamp<int64_t>(llvm::PowerOf2Ceil(uint64_t(std::min<int64_t>(most, target_.costs->copies.workspaceRowBytes) * bytes)),
                                     kRowBytes, target_.costs->copies.workspaceRowBytes);
    int64_t perRow = rowBytes / bytes;
    SmallVector<AffineExpr> extents(shape.getResults());
    SmallVector<std::string> names;
    for (int64_t d = 0; d < rank; ++d)
      names.push_back("d" + std::to_string(d));
    toCopy(extents, last);
    toCopy(names, last);
    extents.back() = roundUp(extents.back(), perRow);
    SmallVector<StringRef> indices(names.begin(), names.end());
    auto result = RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), type.getElementType());
    auto copy =
        ComputeOp::create(b, loc, result, b.getStrArrayAttr(indices), AffineMap::get(0, shape.getNumSymbols(), extents, b.getContext()),
                          IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(), b.getStringAttr(nameOf(tensor) + "_rows"), false);
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

  KernelOp kernel_;
  const Target &target_;
  const CopyPolicy &policy_;
  SizeFacts facts_;
  llvm::DenseMap<std::pair<Value, unsigned>, Value> copies_; ///< of a tensor, with a dim last
};

struct TeRepackPass : impl::TeRepackBase<TeRepackPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<std::optional<CopyPolicy>> policy =
        getCopyPolicy(getOperation(), target, llvm::to_vector_of<int64_t>(sizeDiv), llvm::to_vector_of<int64_t>(sizeMax), work, reuse);
    if (failed(policy))
      return signalPassFailure();
    if (*policy)
      Repacker(getOperation(), **policy).run();
  }
};

} // namespace
} // namespace kernelc
