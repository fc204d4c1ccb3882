// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the frontend proves is true: random kernels are imported, and every access
// that te calls in bounds is evaluated at every point of its domain for all small
// sizes; so is what the statements of each output cover. A wrong proof would be a
// silent out-of-bounds access.
#include <random>

#include "frontend/Prover.h"
#include "test/frontend/FrontendTesting.h"
#include "llvm/ADT/TypeSwitch.h"
#include "gtest/gtest.h"

namespace kernelc::frontend {
namespace {

using namespace mlir;

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}
  std::string pick(std::vector<std::string> list) { return list[random() % list.size()]; }
  bool chance(unsigned percent) { return random() % 100 < percent; }

  std::string size() { return pick({"N", "M", "N", "M", "N + 1", "N - 1", "2 * N", "N * M", "N // 2", "N // M", "M % 3", "4", "N + M"}); }
  std::string subscript(const std::vector<std::string> &indices, int depth = 1) {
    std::string i = pick(indices);
    if (depth == 0 || chance(25))
      return chance(70) ? i : pick({"0", "1", "N - 1", "M", "N // 2"});
    std::string a = subscript(indices, depth - 1);
    switch (random() % 13) {
    case 0: return "(" + a + " + " + subscript(indices, depth - 1) + ")";
    case 1: return "(" + a + " - " + subscript(indices, depth - 1) + ")";
    case 2: return "(" + a + " + 1)";
    case 9: return "min(" + a + ", " + pick({"N - 1", "M - 1", i}) + ")";
    case 10: return "max(" + a + " - 1, 0)";
    case 11: return "(" + a + " ^ " + pick({"1", "2", "3"}) + ")";
    case 12: return "(" + pick({"1", "4"}) + " | " + a + ")";
    case 3: return "(2 * " + a + ")";
    case 4: return "(" + a + " // 2)";
    case 5: return "(" + a + " % 2)";
    case 6: return "(" + a + " // (N // M))";
    case 7: return "(" + a + " * M + " + i + ")";
    default: return "(" + a + " % " + pick({"N", "M"}) + ")";
    }
  }
  std::string condition(const std::vector<std::string> &indices) {
    return subscript(indices, 1) + pick({" < ", " <= ", " > ", " == "}) + pick({"N", "M", "1", "0", "N - 1", indices[0]});
  }
  std::string kernel() {
    std::string t = "def f(x: f32[" + size() + "], w: f32[" + size() + ", " + size() + "]) -> (y: f32[" + size() + "], z: f32[" + size() +
                    ", " + size() + "]) {\n";
    for (const char *r : {"N % M == 0", "N <= M", "N >= 2", "M >= N + 1", "N % 4 == 0", "M == 2 * N", "M % 2 == 0"})
      if (chance(15))
        t += "  require " + std::string(r) + "\n";
    auto body = [&](std::vector<std::string> in) {
      std::vector<std::string> withK = in;
      withK.push_back("k");
      std::string a = "x[" + subscript(in) + "]";
      if (chance(35)) {
        std::string bracket = pick({"k", "k in 0:N", "k in 0:M", "k in 1:N", "k, k <= " + in[0], in[0] + " <= k < N",
                                    in[0] + " - 1 <= k < " + in[0] + " + 2", "k, " + condition(withK)});
        a += " + sum[" + bracket + "](w[" + subscript(withK) + ", " + subscript(withK) + "] * x[" + subscript(withK, 1) + "])";
      }
      if (chance(40))
        a = a + " if " + condition(in) + " else " + (chance(50) ? "0" : "x[" + subscript(in, 1) + "]");
      return a;
    };
    if (chance(60))
      t += "  y[i] = " + body({"i"}) + "\n";
    else if (chance(50))
      t += "  y[" + subscript({"i"}, 1) + "] = 1 where i in 0:" + size() + "\n  y[" + subscript({"i"}, 1) + "] = 2 where i in 0:" + size() +
           "\n";
    else
      t += "  y[" + pick({"i * M + j", "i + N * j", "2 * i + j", "i"}) + "] = 1 where i in 0:" + size() + ", j in 0:" + size() + "\n";
    t +=
        "  z[" + pick({"i, j", "j, i", "i // 2, i % 2", "i // M, i % M"}) + "] = 3" + (chance(30) ? " where i in 0:" + size() : "") + "\n}";
    return t;
  }
  std::mt19937 random;
};

using Values = std::map<unsigned, int64_t>;

/// Calls `visit` for each point of a box, at most `limit` of them.
void forEachPoint(ArrayRef<int64_t> extents, llvm::function_ref<void(const Values &)> visit) {
  for (int64_t e : extents)
    if (e <= 0)
      return;
  Values at;
  SmallVector<int64_t> p(extents.size(), 0);
  while (true) {
    for (unsigned i = 0; i < p.size(); ++i)
      at[i] = p[i];
    visit(at);
    unsigned k = 0;
    for (; k < p.size(); ++k) {
      if (++p[k] < extents[k])
        break;
      p[k] = 0;
    }
    if (k == p.size())
      return;
  }
}

bool holds(IntegerSet set, const Values &dims, const Values &symbols) {
  for (unsigned i = 0; i < set.getNumConstraints(); ++i) {
    int64_t v = evaluate(set.getConstraint(i), dims, symbols);
    if (set.isEq(i) ? v != 0 : v < 0)
      return false;
  }
  return true;
}

SmallVector<int64_t> evaluateAll(AffineMap map, const Values &dims, const Values &symbols) {
  SmallVector<int64_t> out;
  for (AffineExpr e : map.getResults())
    out.push_back(evaluate(e, dims, symbols));
  return out;
}

/// Value of a subscript that the region computes.
int64_t evaluateIndex(Value v, const Values &point, const Values &symbols) {
  if (auto arg = dyn_cast<BlockArgument>(v))
    return point.at(arg.getArgNumber());
  auto operand = [&](unsigned i) { return evaluateIndex(v.getDefiningOp()->getOperand(i), point, symbols); };
  return TypeSwitch<Operation *, int64_t>(v.getDefiningOp())
      .Case([&](arith::ConstantOp op) { return cast<IntegerAttr>(op.getValue()).getInt(); })
      .Case([&](te::SizeOp op) { return evaluate(op.getMap().getResult(0), {}, symbols); })
      .Case([&](arith::AddIOp) { return operand(0) + operand(1); })
      .Case([&](arith::SubIOp) { return operand(0) - operand(1); })
      .Case([&](arith::MulIOp) { return operand(0) * operand(1); })
      .Case([&](arith::MinSIOp) { return std::min(operand(0), operand(1)); })
      .Case([&](arith::MaxSIOp) { return std::max(operand(0), operand(1)); })
      .Case([&](arith::OrIOp) { return operand(0) | operand(1); })
      .Case([&](arith::XOrIOp) { return operand(0) ^ operand(1); })
      .Case([&](arith::IndexCastOp) { return operand(0); })
      .Case([&](arith::FloorDivSIOp op) {
        return evaluate(getAffineDimExpr(0, op.getContext()).floorDiv(getAffineSymbolExpr(0, op.getContext())), {{0, operand(0)}},
                        {{0, operand(1)}});
      })
      .Case([&](arith::SelectOp) { return operand(0) ? operand(1) : operand(2); })
      .Case([&](arith::CmpIOp op) {
        return int64_t(arith::applyCmpPredicate(op.getPredicate(), APInt(64, uint64_t(operand(0))), APInt(64, uint64_t(operand(1)))));
      })
      .Default([](Operation *op) {
        ADD_FAILURE() << "an unexpected op in a subscript: " << op->getName().getStringRef().str();
        return 0;
      });
}

struct Checker {
  te::KernelOp kernel;
  const Values &symbols;
  const std::string &text;
  unsigned reads = 0;

  SmallVector<int64_t> shapeOf(Value tensor) {
    AffineMap map = isa<BlockArgument>(tensor)
                        ? kernel.getArgShape(cast<BlockArgument>(tensor).getArgNumber())
                        : TypeSwitch<Operation *, AffineMap>(tensor.getDefiningOp()).Case<te::ComputeOp, te::ReduceOp>([](auto op) {
                            return op.getResultShape();
                          });
    return evaluateAll(map, {}, symbols);
  }

  template <typename OpT> void checkOp(OpT op, std::map<SmallVector<int64_t>, int> *written) {
    SmallVector<int64_t> extents = evaluateAll(op.getExtents(), {}, symbols), shape = shapeOf(op.getResult());
    forEachPoint(extents, [&](const Values &point) {
      if (op.getCondition() && !holds(*op.getCondition(), point, symbols))
        return;
      op.getBody().walk([&](te::ReadOp read) {
        if (read.getBounds() != te::BoundsMode::InBounds)
          return;
        ++reads;
        Values operands;
        for (auto [i, v] : llvm::enumerate(read.getOperands_()))
          operands[i] = evaluateIndex(v, point, symbols);
        SmallVector<int64_t> at = evaluateAll(read.getMapOrIdentity(), operands, symbols), dims = shapeOf(read.getTensor());
        for (auto [a, d] : llvm::zip(at, dims))
          ASSERT_TRUE(a >= 0 && a < d) << text << "\nreads " << a << " of " << d << " with N = " << symbols.at(0)
                                       << ", M = " << symbols.at(1);
      });
      Values parallel;
      for (unsigned i = 0; i < op.getNumParallel(); ++i)
        parallel[i] = point.at(i);
      SmallVector<int64_t> out = evaluateAll(op.getOutMapOrIdentity(), parallel, symbols);
      for (auto [a, d] : llvm::zip(out, shape))
        ASSERT_TRUE(a >= 0 && a < d) << text << "\nwrites " << a << " of " << d;
      if (written && op.getNumParallel() == op.getNumDims())
        ++(*written)[out];
    });
  }

  void checkOutput(Value out) {
    std::map<SmallVector<int64_t>, int> written;
    bool pointwise = true;
    for (Value v = out; v;) {
      auto compute = v.getDefiningOp<te::ComputeOp>();
      if (!compute) {
        pointwise = false;
        break;
      }
      checkOp(compute, &written);
      v = compute.getInit();
    }
    if (!pointwise)
      return;
    int64_t elements = 1;
    for (int64_t d : shapeOf(out))
      elements *= d;
    ASSERT_EQ(int64_t(written.size()), elements) << text << "\nwith N = " << symbols.at(0) << ", M = " << symbols.at(1);
    for (auto &[at, times] : written)
      ASSERT_EQ(times, 1) << text;
  }
};

TEST(Soundness, RandomKernels) {
  Generator generator(11);
  unsigned accepted = 0, reads = 0;
  for (int round = 0; round < KERNELC_SOUNDNESS_ROUNDS && !testing::Test::HasFailure(); ++round) {
    std::string text = generator.kernel();
    Imported r(text);
    if (!r.module)
      continue;
    ++accepted;
    te::KernelOp kernel = r.kernel();
    ASSERT_LE(kernel.getNumSizes(), 2u);
    bool swapped = kernel.getNumSizes() > 0 && kernel.getSizeName(0) == "M";
    for (int64_t n = 0; n <= 5; ++n)
      for (int64_t m = 0; m <= 5; ++m) {
        Values symbols = {{0, swapped ? m : n}, {1, swapped ? n : m}};
        bool launches = true;
        for (Attribute a : kernel.getRequirements())
          launches &= holds(cast<IntegerSetAttr>(a).getValue(), {}, symbols);
        auto nonNegative = [&](ArrayAttr shapes) {
          for (Attribute a : shapes)
            for (int64_t d : evaluateAll(cast<AffineMapAttr>(a).getValue(), {}, symbols))
              launches &= d >= 0;
        };
        nonNegative(kernel.getArgShapes());
        nonNegative(kernel.getOutShapes());
        if (!launches)
          continue;
        Checker checker{kernel, symbols, text};
        for (Operation &op : kernel.getBlock()) {
          if (auto c = dyn_cast<te::ComputeOp>(op))
            checker.checkOp(c, nullptr);
          else if (auto d = dyn_cast<te::ReduceOp>(op))
            checker.checkOp(d, nullptr);
        }
        for (Value out : kernel.getReturn().getOuts())
          checker.checkOutput(out);
        reads += checker.reads;
      }
  }
  // Most random kernels are rightly refused; enough must get through to test anything.
  EXPECT_GE(accepted, 20u);
  EXPECT_GE(reads, 1000u);
  RecordProperty("accepted", int(accepted));
  RecordProperty("reads", int(reads));
}

} // namespace
} // namespace kernelc::frontend
