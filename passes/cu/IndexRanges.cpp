// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/IndexRanges.h"

#include <numeric>

#include "ir/cu/Marks.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {

namespace {

int64_t saturate(__int128 v) { return v > Range::kNoBound ? Range::kNoBound : v < -Range::kNoBound ? -Range::kNoBound : int64_t(v); }

/// Divisors that cannot be kept small are of no use.
int64_t smallDivisor(__int128 d) { return d > (int64_t(1) << 40) ? 1 : int64_t(d); }

Range unite(Range x, Range y) { return {std::min(x.low, y.low), std::max(x.high, y.high), std::gcd(x.divisor, y.divisor)}; }
Range meet(Range x, Range y) {
  Range r{std::max(x.low, y.low), std::min(x.high, y.high), x.divisor};
  return r.low <= r.high ? r : x; // a contradiction is code that never runs: anything holds there
}

/// x / y and x % y as C has them, y positive where it is not negative.
Range divide(Range x, Range y) {
  y.low = y.low == 0 ? 1 : y.low;
  if (y.low < 0 || y.high < y.low)
    return {};
  auto div = [](int64_t a, int64_t b) { return a <= -Range::kNoBound || a >= Range::kNoBound ? a : a / b; };
  int64_t corners[] = {div(x.low, y.low), div(x.low, y.high), div(x.high, y.low), div(x.high, y.high)};
  bool exact = y.low == y.high && x.divisor % y.low == 0;
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4), exact ? x.divisor / y.low : 1};
}
/// Rounded down.
Range floorDivide(Range x, Range y) {
  Range r = divide(x, y); // towards zero, and so at most one more
  return x.isNonNegative() ? r : Range{saturate(__int128(r.low) - 1), r.high, 1};
}
Range remainder(Range x, Range y) {
  y.low = y.low == 0 ? 1 : y.low;
  if (y.low < 0 || y.high < y.low)
    return {};
  if (x.low >= 0 && x.high < y.low)
    return x;
  // Multiples of g, and so no more than y - g.
  int64_t g = std::gcd(x.divisor, y.divisor), most = y.high - std::max<int64_t>(g, 1);
  return {x.low >= 0 ? 0 : std::max(x.low, -most), x.high <= 0 ? 0 : std::min(x.high, most), g};
}

} // namespace

Range operator+(Range x, Range y) {
  return {saturate(__int128(x.low) + y.low), saturate(__int128(x.high) + y.high), std::gcd(x.divisor, y.divisor)};
}
Range operator-(Range x, Range y) {
  return {saturate(__int128(x.low) - y.high), saturate(__int128(x.high) - y.low), std::gcd(x.divisor, y.divisor)};
}
Range operator*(Range x, Range y) {
  __int128 corners[] = {__int128(x.low) * y.low, __int128(x.low) * y.high, __int128(x.high) * y.low, __int128(x.high) * y.high};
  return {saturate(*std::min_element(corners, corners + 4)), saturate(*std::max_element(corners, corners + 4)),
          smallDivisor(__int128(x.divisor) * y.divisor)};
}

IndexRanges::Facts &IndexRanges::factsAt(Operation *user) {
  Operation *op = user;
  while (op != kernel_ && !isa<scf::IfOp>(op->getParentOp()))
    op = op->getParentOp();
  if (op == kernel_)
    return facts_[nullptr];
  auto [it, isNew] = facts_.try_emplace(op->getBlock());
  if (isNew)
    for (; op != kernel_; op = op->getParentOp())
      if (auto around = dyn_cast<scf::IfOp>(op->getParentOp()))
        assume(around.getCondition(), op->getBlock() == around.thenBlock(), it->second);
  return it->second;
}

Range IndexRanges::at(Value v, Operation *user) { return compute(v, factsAt(user)); }

void IndexRanges::assume(Value condition, bool holds, Facts &facts) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>(); both && holds) {
    assume(both.getLhs(), true, facts);
    assume(both.getRhs(), true, facts);
    return;
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return;
  auto bound = [&](Value v, Range by) { facts.known[v] = meet(facts.known.count(v) ? facts.known[v] : Range(), by); };
  auto limit = [&](Value small, Value large, int64_t gap) { // small + gap <= large
    bound(small, {-Range::kNoBound, saturate(__int128(of(large).high) - gap)});
    bound(large, {saturate(__int128(of(small).low) + gap), Range::kNoBound});
  };
  Value x = compare.getLhs(), y = compare.getRhs();
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt: return holds ? limit(x, y, 1) : limit(y, x, 0);
  case arith::CmpIPredicate::sle: return holds ? limit(x, y, 0) : limit(y, x, 1);
  case arith::CmpIPredicate::sgt: return holds ? limit(y, x, 1) : limit(x, y, 0);
  case arith::CmpIPredicate::sge: return holds ? limit(y, x, 0) : limit(x, y, 1);
  case arith::CmpIPredicate::eq:
    if (holds)
      bound(x, of(y));
    return;
  default: return;
  }
}

Range IndexRanges::compute(Value v, Facts &facts) {
  if (auto it = facts.computed.find(v); it != facts.computed.end())
    return it->second;
  facts.computed[v] = {}; // carried values go round in circles
  Range r = derive(v, facts);
  if (auto it = facts.known.find(v); it != facts.known.end())
    r = meet(r, it->second);
  return facts.computed[v] = r;
}

/// What the launch passes for an argument that is a size; null for others.
static DictionaryAttr findSizeSource(cu::KernelOp kernel, BlockArgument arg) {
  ArrayAttr sources = kernel.getArgSources();
  auto source = arg.getArgNumber() < sources.size() ? dyn_cast<DictionaryAttr>(sources[arg.getArgNumber()]) : DictionaryAttr();
  return source && source.contains("size") ? source : DictionaryAttr();
}

/// A size is what the guard says of it.
Range IndexRanges::ofArgument(BlockArgument arg) {
  DictionaryAttr source = findSizeSource(kernel_, arg);
  if (!source)
    return {};
  auto div = source.getAs<IntegerAttr>("div"), max = source.getAs<IntegerAttr>("max");
  if (max && max.getInt() >= 0) // a size with a bound is positive (te::knownPositive)
    return {std::min<int64_t>(1, max.getInt()), max.getInt(), div ? div.getInt() : 1};
  return {0, fits32_ ? cu::kFits32 : Range::kNoBound, div ? div.getInt() : 1};
}

Range IndexRanges::ofSize(unsigned size) {
  for (BlockArgument arg : kernel_.getBlock().getArguments())
    if (DictionaryAttr source = findSizeSource(kernel_, arg); source && source.getAs<IntegerAttr>("size").getInt() == size)
      return ofArgument(arg);
  return {0, Range::kNoBound};
}

Range IndexRanges::ofSizes(AffineExpr e) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return Range::just(c.getValue());
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return ofSize(s.getPosition());
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin)
    return {};
  Range x = ofSizes(bin.getLHS()), y = ofSizes(bin.getRHS());
  switch (e.getKind()) {
  case AffineExprKind::Add: return x + y;
  case AffineExprKind::Mul: return x * y;
  case AffineExprKind::FloorDiv: return x.isNonNegative() ? divide(x, y) : Range();
  case AffineExprKind::CeilDiv: return x.isNonNegative() ? divide(x + y, y) : Range();
  default: return x.isNonNegative() ? remainder(x, y) : Range();
  }
}

Range IndexRanges::derive(Value v, Facts &facts) {
  if (Operation *op = v.getDefiningOp())
    return ofOp(op, facts);
  Operation *parent = v.getParentBlock()->getParentOp();
  if (parent == kernel_)
    return ofArgument(cast<BlockArgument>(v));
  if (cu::isSearch(parent)) {
    Value end = parent->getOperand(isa<cu::CountWhereOp>(parent) ? 0 : 1);
    return {0, std::max<int64_t>(0, compute(end, facts).high - 1)};
  }
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop || v != loop.getInductionVar())
    return {};
  Range from = compute(loop.getLowerBound(), facts), to = compute(loop.getUpperBound(), facts), step = compute(loop.getStep(), facts);
  int64_t last = saturate(__int128(to.high) - 1);
  if (from.low == from.high && to.high < Range::kNoBound && step.low == step.high && step.low > 0 && last >= from.low)
    last = from.low + (last - from.low) / step.low * step.low;
  return {from.low, std::max(from.low, last), std::gcd(from.divisor, step.divisor)};
}

Range IndexRanges::ofOp(Operation *op, Facts &facts) {
  Range r = ofResult(op, facts);
  auto most = cu::kMost.findOn(op);
  return most && fits32_ ? meet(r, {0, *most}) : r;
}

/// Of what is stored in an array of this block's or thread's, in whatever branch and round.
Range IndexRanges::ofElements(Value array) {
  std::optional<Range> all;
  if (!isa_and_nonnull<memref::AllocaOp, cu::SharedOp>(array.getDefiningOp()))
    return {};
  for (Operation *user : array.getUsers())
    if (auto store = dyn_cast<memref::StoreOp>(user)) {
      Range stored = of(store.getValueToStore());
      all = all ? unite(*all, stored) : stored;
    } else if (!isa<memref::LoadOp>(user)) {
      return {};
    }
  return all.value_or(Range());
}

Range IndexRanges::ofResult(Operation *op, Facts &facts) {
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant)))
    return Range::just(constant.getSExtValue());
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIndex())
    return {}; // other integers wrap
  auto operand = [&](unsigned i) { return compute(op->getOperand(i), facts); };
  constexpr int64_t kMaxGrid = std::numeric_limits<int32_t>::max();
  constexpr int64_t kMaxResident = 1 << 20; // blocks that all multiprocessors of a device hold at once
  return llvm::TypeSwitch<Operation *, Range>(op)
      .Case<cu::ThreadIdOp>([&](auto) { return Range{0, int64_t(kernel_.getThreads()) - 1}; })
      .Case<cu::WarpgroupOp>([&](auto) { return Range{0, std::max<int64_t>(0, int64_t(kernel_.getThreads()) / 128 - 1)}; })
      .Case<cu::OpaqueOp>([&](auto) { return operand(0); })
      .Case<cu::ClusterRankOp>([&](auto) { return Range{0, int64_t(kernel_.getCluster()) - 1}; })
      .Case<cu::BlockIdOp>([&](auto) {
        Range tiles = ofSizes(kernel_.getGrid().getResult(0)), blocks = tiles * Range::just(kernel_.getCluster());
        return Range{0, std::clamp<int64_t>(blocks.high, 1, kMaxGrid) - 1};
      })
      .Case<cu::GridSizeOp>([&](auto) { return Range{1, kernel_.getPersistent() ? kMaxResident : kMaxGrid}; })
      .Case<cu::CountWhereOp>([&](auto) { return Range{0, std::max<int64_t>(0, operand(0).high)}; })
      .Case([&](cu::ExtremeOp extreme) {
        Range start = operand(0), given = compute(extreme.getHeld(), facts);
        return Range{std::min(start.low, given.low), std::max(start.high, given.high)};
      })
      .Case<cu::FindWhereOp>([&](auto) { return Range{0, std::max<int64_t>(0, operand(1).high)}; })
      .Case<arith::AddIOp>([&](auto) { return operand(0) + operand(1); })
      .Case<arith::SubIOp>([&](auto) { return operand(0) - operand(1); })
      .Case<arith::MulIOp>([&](auto) { return operand(0) * operand(1); })
      .Case<arith::DivSIOp>([&](auto) { return divide(operand(0), operand(1)); })
      .Case<arith::FloorDivSIOp>([&](auto) { return floorDivide(operand(0), operand(1)); })
      .Case<arith::CeilDivSIOp>([&](auto) { // by what is positive: that of what is one less than the divisor more
        Range x = operand(0), y = operand(1);
        return y.low > 0 && y.low == y.high ? floorDivide(x + Range{y.low - 1, y.low - 1}, y) : Range();
      })
      .Case<memref::LoadOp>([&](memref::LoadOp load) { return ofElements(load.getMemRef()); })
      .Case<arith::RemSIOp>([&](auto) { return remainder(operand(0), operand(1)); })
      .Case<arith::MinSIOp>([&](auto) {
        Range x = operand(0), y = operand(1);
        return Range{std::min(x.low, y.low), std::min(x.high, y.high), std::gcd(x.divisor, y.divisor)};
      })
      .Case<arith::MaxSIOp>([&](auto) {
        Range x = operand(0), y = operand(1);
        return Range{std::max(x.low, y.low), std::max(x.high, y.high), std::gcd(x.divisor, y.divisor)};
      })
      .Case<arith::SelectOp>([&](auto) { return unite(operand(1), operand(2)); })
      .Case<arith::XOrIOp, arith::OrIOp>([&](auto) {
        Range x = operand(0), y = operand(1);
        int64_t most = std::max(x.high, y.high);
        if (!x.isNonNegative() || !y.isNonNegative() || most >= Range::kNoBound)
          return Range();
        return Range{0, int64_t(llvm::NextPowerOf2(uint64_t(most))) - 1};
      })
      .Case<arith::AndIOp>([&](auto) {
        Range x = operand(0), y = operand(1);
        return x.isNonNegative() && y.isNonNegative() ? Range{0, std::min(x.high, y.high)} : Range();
      })
      .Default([](Operation *) { return Range(); });
}

} // namespace kernelc
