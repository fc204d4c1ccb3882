// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/roofline/WorkCount.h"

#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "driver/roofline/PointCount.h"
#include "driver/roofline/ValueForms.h"
#include "ir/te/Factors.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/index/IndexArithmetic.h"

using namespace mlir;

namespace kernelc {
namespace {

/// What an operation is done by.
enum class Unit { None, Flop, Matrix, Tf32, Int, MatrixInt };

bool isData(Type t) { return isa<FloatType>(t) || (isa<IntegerType>(t) && !t.isInteger(1)); }

/// Casts, selections, comparisons and subscripts are free.
Unit unitOf(Operation *op) {
  if (op->getNumResults() != 1 || !isData(op->getResult(0).getType()))
    return Unit::None;
  bool counts =
      op->getName().getDialectNamespace() == "math" ||
      isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::MaximumFOp, arith::MinimumFOp, arith::NegFOp, arith::RemFOp>(
          op) ||
      isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
          arith::RemSIOp, arith::RemUIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp,
          arith::XOrIOp, arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op);
  if (!counts)
    return Unit::None;
  return isa<FloatType>(op->getResult(0).getType()) ? Unit::Flop : Unit::Int;
}

/// A factor as matrix units take it: bits of a float (tf32: 19), 8 of a small integer; 0 for others.
int operandBits(Value v) {
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<te::RoundOp>(op))
    return 19;
  if (auto cast = dyn_cast_or_null<arith::ExtFOp>(op))
    return int(cast.getIn().getType().getIntOrFloatBitWidth());
  if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    Operation *wide = op->getOperand(0).getDefiningOp();
    return isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(wide) ? operandBits(op->getOperand(0)) : 0;
  }
  if (isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) && op->getOperand(0).getType().getIntOrFloatBitWidth() <= 8)
    return 8;
  return 0;
}

/// What multiplies and adds the product `v` of two narrow factors: nothing where it is none.
Unit productUnit(Value v) {
  if (auto multiply = v.getDefiningOp<arith::MulIOp>())
    return operandBits(multiply.getLhs()) && operandBits(multiply.getRhs()) ? Unit::MatrixInt : Unit::None;
  int narrow = 0;
  bool tf32 = false;
  if (v.getType().isF32())
    for (OpOperand *factor : te::findFactors(v))
      if (int bits = operandBits(factor->get()); bits > 0) {
        ++narrow;
        tf32 |= bits > 16;
      }
  return narrow < 2 ? Unit::None : tf32 ? Unit::Tf32 : Unit::Matrix;
}

class Counter {
public:
  Counter(te::KernelOp kernel, ArrayRef<int64_t> sizes, WorkCount &work) : kernel_(kernel), forms_(kernel, sizes), work_(work) {}

  void run() {
    for (Operation &statement : kernel_.getBlock())
      if (isa<te::ComputeOp, te::ReduceOp, te::ScatterOp>(statement))
        count(&statement);
  }

private:
  /// Points that fulfil `c`; nothing where that depends on data.
  std::optional<PointSet> pointsWhere(Value c) {
    if (auto compare = c.getDefiningOp<arith::CmpIOp>())
      return pointsWhere(compare);
    Operation *op = c.getDefiningOp();
    if (APInt constant; op && matchPattern(c, m_ConstantInt(&constant)))
      return constant.isZero() ? !PointSet::all() : PointSet::all();
    if (!isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
      return std::nullopt;
    std::optional<PointSet> x = pointsWhere(op->getOperand(0)), y = pointsWhere(op->getOperand(1));
    if (!x || !y)
      return std::nullopt;
    return isa<arith::AndIOp>(op) ? *x & *y : isa<arith::OrIOp>(op) ? *x | *y : (*x & !*y) | (!*x & *y);
  }

  std::optional<PointSet> pointsWhere(arith::CmpIOp compare) {
    if (!compare.getLhs().getType().isIndex())
      return std::nullopt;
    SmallVector<Value> leaves(dims_);
    AffineExpr x = forms_.fixed(te::affineOf(compare.getLhs(), leaves)), y = forms_.fixed(te::affineOf(compare.getRhs(), leaves));
    if (leaves.size() != dims_.size() || !x.isPureAffine() || !y.isPureAffine())
      return std::nullopt;
    auto where = [](AffineExpr form, bool isEquality = false) { return PointSet::where({form, isEquality}); };
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq: return where(x - y, true);
    case arith::CmpIPredicate::ne: return !where(x - y, true);
    case arith::CmpIPredicate::sge: return where(x - y);
    case arith::CmpIPredicate::sgt: return where(x - y - 1);
    case arith::CmpIPredicate::sle: return where(y - x);
    case arith::CmpIPredicate::slt: return where(y - x - 1);
    default: return std::nullopt;
    }
  }

  /// `points` where `c` has that outcome; all of them, with a word about it, where that is not known.
  PointSet termsWhere(const PointSet &points, Value c, bool outcome) {
    std::optional<PointSet> where = pointsWhere(c);
    if (!where)
      work_.upperBound = "a condition depends on data";
    return !where ? points : points & (outcome ? *where : !*where);
  }

  bool isIdentity(Value v, te::Combiner kind) {
    Attribute constant;
    if (!matchPattern(v, m_Constant(&constant)))
      return false;
    if (auto f = dyn_cast<FloatAttr>(constant)) {
      switch (kind) {
      case te::Combiner::Sum: return f.getValue().isZero();
      case te::Combiner::Prod: return f.getValue().isExactlyValue(1);
      case te::Combiner::Max: return f.getValue().isInfinity() && f.getValue().isNegative();
      case te::Combiner::Min: return f.getValue().isInfinity() && !f.getValue().isNegative();
      default: return false;
      }
    }
    auto i = dyn_cast<IntegerAttr>(constant);
    return i && ((kind == te::Combiner::Sum && i.getValue().isZero()) || (kind == te::Combiner::Prod && i.getValue().isOne()));
  }

  /// The outer index that constraint `c` of a reduction ties a reduced one to, if nothing else depends on it. Of such scans each
  /// result has one term more than its neighbour.
  std::optional<unsigned> findScanned(Operation *statement, IntegerSet set, unsigned c) {
    auto reduce = dyn_cast<te::ReduceOp>(statement);
    for (unsigned j = 0; reduce && !reduce.isArg() && j < reduce.getNumParallel(); ++j) {
      bool isFree = reduce.getBlock().getArgument(j).use_empty() && llvm::none_of(llvm::seq(0u, set.getNumConstraints()), [&](unsigned o) {
                      return o != c && set.getConstraint(o).isFunctionOfDim(j);
                    });
      for (unsigned k = reduce.getNumParallel(); isFree && k < reduce.getNumDims(); ++k)
        if (te::findScanTie(reduce, c, j, k))
          return j;
    }
    return std::nullopt;
  }

  void count(Operation *statement) {
    dims_ = llvm::to_vector_of<Value>(statement->getRegion(0).getArguments());
    extents_ = forms_.extents(te::getExtents(statement));
    te::YieldOp yield = te::getYield(statement);
    PointSet points = PointSet::all();
    std::optional<IntegerSet> set = te::getCondition(statement);
    for (unsigned c = 0; set && c < set->getNumConstraints(); ++c)
      if (std::optional<unsigned> j = findScanned(statement, *set, c))
        extents_[*j] = 1;
      else
        points = points & PointSet::where({forms_.fixed(set->getConstraint(c)), set->isEq(c)});
    needed_.clear();
    units_.clear();
    if (yield.getCondition()) {
      need(yield.getCondition(), points);
      points = termsWhere(points, yield.getCondition(), true);
    }
    auto reduce = dyn_cast<te::ReduceOp>(statement);
    Value value = yield.getValues()[0];
    if (reduce) { // what a select replaces by the identity is no term
      while (auto select = value.getDefiningOp<arith::SelectOp>()) {
        bool kept = isIdentity(select.getFalseValue(), reduce.getKind());
        if (!kept && !isIdentity(select.getTrueValue(), reduce.getKind()))
          break;
        need(select.getCondition(), points);
        points = termsWhere(points, select.getCondition(), kept);
        value = kept ? select.getTrueValue() : select.getFalseValue();
      }
      Unit unit = markProducts(value, reduce.getKind());
      if (unit == Unit::None && isData(value.getType()))
        unit = isa<FloatType>(value.getType()) ? Unit::Flop : Unit::Int;
      SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(0, unsigned(dims_.size())));
      add(unit, forms_.tensor(statement->getResult(0)), points, all);
    }
    need(value, points);
    for (Operation &op : llvm::reverse(statement->getRegion(0).front())) {
      auto it = needed_.find(&op);
      if (it == needed_.end())
        continue;
      PointSet where = it->second;
      Unit unit = units_.count(&op) ? units_.lookup(&op) : unitOf(&op);
      if (unit != Unit::None) {
        ValueForm form = forms_.of(op.getResult(0));
        add(unit, form.id, where, form.dims);
        if (isa<math::FmaOp>(op))
          add(unit, -1 - form.id, where, form.dims);
      }
      if (auto select = dyn_cast<arith::SelectOp>(op)) {
        std::optional<PointSet> taken = pointsWhere(select.getCondition());
        need(select.getCondition(), where);
        need(select.getTrueValue(), taken ? where & *taken : where);
        need(select.getFalseValue(), taken ? where & !*taken : where);
      } else {
        for (Value o : op.getOperands())
          need(o, where);
      }
    }
  }

  /// What the sum of `v` runs on where its terms are products of narrow factors, or sums of such; those ops are marked.
  Unit markProducts(Value v, te::Combiner kind) {
    if (kind != te::Combiner::Sum)
      return Unit::None;
    if (auto sum = v.getDefiningOp<arith::AddFOp>()) {
      Unit x = markProducts(sum.getLhs(), kind), y = markProducts(sum.getRhs(), kind);
      if (x == y && x != Unit::None)
        units_[sum] = x;
      return x == y ? x : Unit::None;
    }
    Unit unit = productUnit(v);
    if (unit != Unit::None)
      units_[v.getDefiningOp()] = unit;
    return unit;
  }

  void need(Value v, const PointSet &where) {
    Operation *op = v.getDefiningOp();
    if (!op || isa<te::KernelOp>(op->getParentOp()))
      return;
    auto [it, isNew] = needed_.try_emplace(op, where);
    if (!isNew && !(it->second == where))
      it->second = it->second | where;
  }

  /// One operation of the form `id` at each point that `dims` have of `where`, if no other place has counted it.
  void add(Unit unit, int id, const PointSet &where, ArrayRef<unsigned> dims) {
    std::vector<int64_t> extents;
    for (unsigned d : dims)
      extents.push_back(extents_[d]);
    PointSet points = where.project(dims);
    if (!counted_.insert({id, extents, points.terms()}).second)
      return;
    std::optional<int64_t> n = pointsOf(points, extents);
    if (!n) {
      work_.upperBound = "a condition ties too many values of indices to each other";
      n = *PointSet::all().count(extents);
    }
    auto increase = [&](int64_t &total) {
      if (__builtin_add_overflow(total, *n, &total))
        total = std::numeric_limits<int64_t>::max();
    };
    bool isInt = unit == Unit::Int || unit == Unit::MatrixInt;
    if (unit == Unit::None)
      return;
    increase(isInt ? work_.intOps : work_.flops);
    if (unit == Unit::Matrix)
      increase(work_.matrixFlops);
    if (unit == Unit::Tf32)
      increase(work_.tf32Flops);
    if (unit == Unit::MatrixInt)
      increase(work_.matrixIntOps);
  }

  /// Ops of a body mostly count at the same points.
  std::optional<int64_t> pointsOf(const PointSet &points, const std::vector<int64_t> &extents) {
    auto [it, isNew] = points_.try_emplace({extents, points.terms()});
    if (isNew)
      it->second = points.count(extents);
    return it->second;
  }

  te::KernelOp kernel_;
  ValueForms forms_;
  WorkCount &work_;
  SmallVector<Value> dims_; ///< of the statement that is counted
  std::vector<int64_t> extents_;
  llvm::DenseMap<Operation *, PointSet> needed_; ///< where a result is used
  llvm::DenseMap<Operation *, Unit> units_;      ///< of products and sums that matrix units do
  std::set<std::tuple<int, std::vector<int64_t>, std::map<PointSet::Conjunction, int64_t>>> counted_;
  std::map<std::pair<std::vector<int64_t>, std::map<PointSet::Conjunction, int64_t>>, std::optional<int64_t>> points_;
};

} // namespace

absl::StatusOr<WorkCount> countWork(Program &program, const Kernel &kernel, absl::Span<const int64_t> sizes) {
  WorkCount work;
  for (const Param &p : kernel.params) {
    int64_t elements = 1;
    for (const SizeExpr &d : p.dims)
      elements = multiplyCounts(elements, d.evaluate({sizes}));
    int64_t bytes = elements < int64_t(1) << 55 ? (elements * elementBits(p.type) + 7) / 8 : std::numeric_limits<int64_t>::max();
    if (__builtin_add_overflow(work.bytes,
                               multiplyCounts(bytes, p.kind == ParamKind::InOut    ? 2
                                                     : p.kind == ParamKind::Scalar ? 0
                                                                                   : 1),
                               &work.bytes))
      work.bytes = std::numeric_limits<int64_t>::max();
  }
  absl::Status s = program.withModule([&](ModuleOp module) -> absl::Status {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == kernel.name) {
        Counter(op, ArrayRef<int64_t>(sizes.data(), sizes.size()), work).run();
        return absl::OkStatus();
      }
    return absl::NotFoundError(absl::StrCat("there is no kernel '", kernel.name, "'"));
  });
  if (!s.ok())
    return s;
  return work;
}

} // namespace kernelc
