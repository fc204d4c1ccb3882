// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The laws of cascades, on random states: what te-derive-cascades writes is interpreted here, in f64 and region by region, and
// states of sets of points, moved and merged, are compared with the state of their union.
#include <cmath>
#include <random>

#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "passes/Passes.h"

#include <gtest/gtest.h>

namespace kernelc::test {
namespace {

using namespace mlir;
using State = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// A kernel of one row x with the statements `body`, whose last result is %y.
std::string rowKernel(const std::string &body) {
  return "te.kernel @k sizes [\"N\"] args [\"x\"] : [\"f64\"] [affine_map<()[s0] -> (s0)>]\n"
         "    outs [\"y\"] : [\"f64\"] [affine_map<()[s0] -> ()>] {\n^bb0(%x: tensor<?xf64>):\n" +
         body + "  te.return %y : tensor<f64>\n}\n";
}
std::string reduction(const std::string &name, const std::string &kind, const std::string &body) {
  return "  %" + name + " = te.reduce " + kind + " [\"j\"] parallel 0 extents affine_map<()[s0] -> (s0)> {\n  ^bb0(%j: index):\n" +
         "    %v = te.read %x[%j] : tensor<?xf64>\n" + body + "  } : tensor<f64>\n";
}

class CascadeLaws : public ::testing::Test {
protected:
  te::CascadeOp derive(const std::string &text) {
    context_.loadDialect<te::TeDialect, arith::ArithDialect, math::MathDialect>();
    module_ = parseSourceString<ModuleOp>(text, &context_);
    if (!module_)
      return {};
    PassManager pm(&context_);
    TeDeriveCascadesOptions options;
    options.always = true;
    pm.addNestedPass<te::KernelOp>(createTeDeriveCascades(options));
    te::CascadeOp found;
    if (succeeded(pm.run(*module_)))
      module_->walk([&](te::CascadeOp op) { found = op; });
    return found;
  }

  /// What `v` comes to, a read being `u`.
  double value(Value v, Block &block, const std::vector<double> &arguments, double u) {
    if (auto arg = dyn_cast<BlockArgument>(v))
      return arguments[arg.getArgNumber()];
    Operation *op = v.getDefiningOp();
    auto in = [&](unsigned i) { return value(op->getOperand(i), block, arguments, u); };
    if (isa<te::ReadOp>(op))
      return u;
    if (auto c = dyn_cast<arith::ConstantOp>(op)) {
      auto f = dyn_cast<FloatAttr>(c.getValue());
      return f ? f.getValueAsDouble() : double(cast<IntegerAttr>(c.getValue()).getInt());
    }
    if (isa<arith::AddFOp>(op))
      return in(0) + in(1);
    if (isa<arith::SubFOp>(op))
      return in(0) - in(1);
    if (isa<arith::MulFOp>(op))
      return in(0) * in(1);
    if (isa<arith::DivFOp>(op))
      return in(0) / in(1);
    if (isa<arith::NegFOp>(op))
      return -in(0);
    if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      return combine(isa<arith::MaximumFOp>(op) ? te::Combiner::Max : te::Combiner::Min, in(0), in(1));
    if (isa<math::ExpOp>(op))
      return std::exp(in(0));
    if (isa<math::Exp2Op>(op))
      return std::exp2(in(0));
    if (isa<math::AbsFOp>(op))
      return std::fabs(in(0));
    if (isa<arith::AndIOp>(op))
      return in(0) != 0 && in(1) != 0;
    if (isa<arith::OrIOp>(op))
      return in(0) != 0 || in(1) != 0;
    if (isa<arith::SelectOp>(op))
      return in(0) != 0 ? in(1) : in(2);
    if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
      EXPECT_EQ(compare.getPredicate(), arith::CmpFPredicate::OEQ);
      return in(0) == in(1);
    }
    ADD_FAILURE() << "an operation that this test does not know: " << op->getName().getStringRef().str();
    return 0;
  }

  static double combine(te::Combiner kind, double a, double b) {
    if (kind == te::Combiner::Sum)
      return a + b;
    if (std::isnan(a) || std::isnan(b))
      return std::nan("");
    return kind == te::Combiner::Max ? std::max(a, b) : std::min(a, b);
  }
  static double identity(te::Combiner kind) { return kind == te::Combiner::Sum ? 0 : kind == te::Combiner::Max ? -kInf : kInf; }

  /// The op's meaning: component by component, with the final values of those before.
  State stateOf(te::CascadeOp op, const std::vector<double> &points) {
    State state;
    for (unsigned k = 0; k < op.getNumComponents(); ++k) {
      double all = identity(op.getComponentKind(k));
      std::vector<double> arguments(op.getNumDims(), 0);
      arguments.insert(arguments.end(), state.begin(), state.end());
      for (double u : points)
        all = combine(op.getComponentKind(k), all, value(op.getElementValue(k), op.getBlock(), arguments, u));
      state.push_back(all);
    }
    return state;
  }
  double rescaled(te::CascadeOp op, unsigned k, const State &state, const State &to) {
    std::vector<double> arguments(state);
    arguments.insert(arguments.end(), to.begin(), to.end());
    arguments.resize(2 * op.getNumComponents(), 0);
    return value(op.getRescaledValue(k), op.getRescale().front(), arguments, 0);
  }
  State merge(te::CascadeOp op, const State &a, const State &b) {
    State all;
    for (unsigned k = 0; k < op.getNumComponents(); ++k)
      all.push_back(combine(op.getComponentKind(k), rescaled(op, k, a, all), rescaled(op, k, b, all)));
    return all;
  }
  std::vector<double> results(te::CascadeOp op, const State &state) {
    std::vector<double> all;
    for (unsigned k = 0; k < op.getNumComponents(); ++k)
      all.push_back(value(op.getFinalValue(k), op.getFinalize().front(), state, 0));
    return all;
  }

  static std::string differs(const std::vector<double> &a, const std::vector<double> &b) {
    for (size_t k = 0; k < a.size(); ++k) {
      bool same = (std::isnan(a[k]) && std::isnan(b[k])) || a[k] == b[k] ||
                  std::fabs(a[k] - b[k]) <= 1e-9 * (1 + std::fabs(a[k]) + std::fabs(b[k]));
      if (!same)
        return "component " + std::to_string(k) + " is " + std::to_string(a[k]) + " and " + std::to_string(b[k]);
    }
    return "";
  }

  /// A point: mostly a number, at times something worse, as often as `bad` says.
  double draw(double bad) {
    static const double special[] = {kInf, -kInf, -kInf, std::nan(""), 0, 0, -0.0};
    double r = std::uniform_real_distribution<>(0, 1)(random_);
    return r < bad ? special[random_() % std::size(special)] : std::normal_distribution<>(0, 3)(random_);
  }
  std::vector<double> drawSet(double bad) {
    std::vector<double> set(random_() % 5);
    for (double &u : set)
      u = draw(bad);
    return set;
  }

  /// Any partition into sets, empty ones too, in either order, comes to what the formulas say.
  void expectLaws(const std::string &text, unsigned components) {
    te::CascadeOp op = derive(text);
    ASSERT_TRUE(op) << text;
    EXPECT_EQ(op.getNumComponents(), components);
    for (int n = 0; n < 4000; ++n) {
      double bad = n % 4 == 0 ? 0 : n % 4 == 1 ? 0.9 : 0.25;
      std::vector<double> all;
      State merged = stateOf(op, {});
      std::string sets;
      for (int part = 0; part < 4; ++part) {
        std::vector<double> set = drawSet(bad);
        for (double u : set)
          sets += " " + std::to_string(u);
        sets += ";";
        all.insert(all.end(), set.begin(), set.end());
        State own = stateOf(op, set);
        merged = part % 2 ? merge(op, merged, own) : merge(op, own, merged);
      }
      EXPECT_EQ(differs(results(op, merged), results(op, stateOf(op, all))), "") << "for" << sets;
      expectIdentityStays(op, bad);
    }
  }

  /// The same of merged states, which come to what `program` makes of the points.
  void expectMeans(const std::string &text, llvm::function_ref<double(const std::vector<double> &)> program) {
    te::CascadeOp op = derive(text);
    ASSERT_TRUE(op) << text;
    for (int n = 0; n < 4000; ++n) {
      double bad = n % 4 == 0 ? 0 : n % 4 == 1 ? 0.9 : 0.25;
      std::vector<double> a = drawSet(bad), b = drawSet(bad), all(a);
      all.insert(all.end(), b.begin(), b.end());
      std::vector<double> got = results(op, merge(op, stateOf(op, a), stateOf(op, b)));
      std::string points;
      for (double u : all)
        points += " " + std::to_string(u);
      EXPECT_EQ(differs({got.back()}, {program(all)}), "") << "for" << points;
    }
  }

  /// [L2]
  void expectIdentityStays(te::CascadeOp op, double bad) {
    State none = stateOf(op, {}), to;
    for (unsigned k = 0; k < op.getNumComponents(); ++k) {
      EXPECT_EQ(none[k], identity(op.getComponentKind(k)));
      EXPECT_EQ(rescaled(op, k, none, to), none[k]) << "component " << k;
      to.push_back(draw(bad));
    }
  }

  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
  std::mt19937 random_{20261125};
};

std::string exponentialOf(const std::string &reference, const std::string &scale = "") {
  return "    %m_ = te.read %" + reference + "[] : tensor<f64>\n    %d = arith.subf %v, %m_ : f64\n" +
         (scale.empty() ? "    %e = math.exp %d : f64\n"
                        : "    %c = arith.constant " + scale + " : f64\n    %s = arith.mulf %d, %c : f64\n    %e = math.exp2 %s : f64\n");
}
const char *const kYieldV = "    te.yield %v : f64\n";
const char *const kYieldE = "    te.yield %e : f64\n";

TEST_F(CascadeLaws, LogSumExp) {
  expectLaws(rowKernel(reduction("m", "max", kYieldV) + reduction("y", "sum", exponentialOf("m") + kYieldE)), 2);
}

TEST_F(CascadeLaws, BaseTwoAndMinimum) {
  expectLaws(rowKernel(reduction("m", "max", kYieldV) + reduction("y", "sum", exponentialOf("m", "1.44269504") + kYieldE)), 2);
  expectLaws(rowKernel(reduction("m", "min", kYieldV) + reduction("y", "sum", exponentialOf("m", "-0.5") + kYieldE)), 2);
}

// The mean under a softmax: the sum of weights leaves it, and says of a row of -inf that it is NaN.
TEST_F(CascadeLaws, Weighted) {
  expectLaws(rowKernel(reduction("m", "max", kYieldV) + reduction("l", "sum", exponentialOf("m") + kYieldE) +
                       reduction("y", "sum",
                                 exponentialOf("m") + "    %l_ = te.read %l[] : tensor<f64>\n    %p = arith.divf %e, %l_ : f64\n"
                                                      "    %w = arith.mulf %v, %v : f64\n    %t = arith.mulf %p, %w : f64\n"
                                                      "    te.yield %t : f64\n")),
             3);
}

// A sink beside the scores: what is subtracted is the larger one of it and their maximum.
TEST_F(CascadeLaws, Sinks) {
  std::string head = reduction("m", "max", kYieldV);
  auto below = [](const std::string &z) {
    return "    %m_ = te.read %m[] : tensor<f64>\n    %z = arith.constant " + z +
           " : f64\n    %y_ = arith.maximumf %m_, %z : f64\n    %d = arith.subf %v, %y_ : f64\n    %e = math.exp %d : f64\n";
  };
  for (auto [text, z] : {std::pair<const char *, double>{"0.5", 0.5},
                         {"-40.0", -40},
                         {"30.0", 30},
                         {"0xFFF0000000000000", -kInf},
                         {"0x7FF0000000000000", kInf}})
    for (bool weighted : {false, true}) {
      std::string kernel =
          rowKernel(head + reduction("y", "sum",
                                     below(text) + (weighted ? "    %w = arith.mulf %v, %v : f64\n    %t = arith.mulf %e, %w : f64\n"
                                                               "    te.yield %t : f64\n"
                                                             : kYieldE)));
      expectMeans(kernel, [&](const std::vector<double> &points) {
        double y = z, sum = 0;
        for (double u : points)
          y = combine(te::Combiner::Max, y, u);
        for (double u : points) // (an infinite weight of a term that is zero: as an excluded one, it counts as NaN)
          sum += std::exp(u - y) * (weighted ? u * u : 1);
        return sum;
      });
    }
}

// The mean of the distance to the maximum, and of its square.
TEST_F(CascadeLaws, ExponentialMoments) {
  std::string weigh = exponentialOf("m") + "    %t = arith.mulf %e, %d : f64\n";
  expectLaws(rowKernel(reduction("m", "max", kYieldV) + reduction("y", "sum", weigh + "    te.yield %t : f64\n")), 3);
  expectLaws(rowKernel(reduction("m", "max", kYieldV) +
                       reduction("y", "sum", weigh + "    %q = arith.mulf %t, %d : f64\n    te.yield %q : f64\n")),
             4);
}

// |v| / max |v|, squared.
TEST_F(CascadeLaws, ScaledByMaximum) {
  expectLaws(rowKernel(reduction("m", "max", "    %a = math.absf %v : f64\n    te.yield %a : f64\n") +
                       reduction("y", "sum",
                                 "    %m_ = te.read %m[] : tensor<f64>\n    %q = arith.divf %v, %m_ : f64\n"
                                 "    %t = arith.mulf %q, %q : f64\n    te.yield %t : f64\n")),
             2);
}

// Sums of powers of the distance to the mean, up to the fourth.
TEST_F(CascadeLaws, Moments) {
  for (int power = 2; power <= 4; ++power) {
    std::string body = "    %s_ = te.read %s[] : tensor<f64>\n    %n = arith.constant 16.0 : f64\n    %c = arith.divf %s_, %n : f64\n"
                       "    %t1 = arith.subf %v, %c : f64\n";
    for (int p = 2; p <= power; ++p)
      body += "    %t" + std::to_string(p) + " = arith.mulf %t" + std::to_string(p - 1) + ", %t1 : f64\n";
    body += "    te.yield %t" + std::to_string(power) + " : f64\n";
    te::CascadeOp op = derive(rowKernel(reduction("s", "sum", kYieldV) + reduction("y", "sum", body)));
    ASSERT_TRUE(op);
    EXPECT_EQ(op.getNumComponents(), unsigned(power + 1));
    for (int n = 0; n < 500; ++n) {
      std::vector<double> a = drawSet(0), b = drawSet(0), all(a);
      all.insert(all.end(), b.begin(), b.end());
      EXPECT_EQ(differs(results(op, merge(op, stateOf(op, a), stateOf(op, b))), results(op, stateOf(op, all))), "");
    }
  }
}

// What is no product of a term and a coefficient stays two reductions.
TEST_F(CascadeLaws, Inseparable) {
  EXPECT_FALSE(derive(rowKernel(reduction("m", "max", kYieldV) +
                                reduction("y", "sum", exponentialOf("m") + "    %t = math.tanh %e : f64\n    te.yield %t : f64\n"))));
  // The terms would be larger than one for points that the maximum has not seen.
  EXPECT_FALSE(derive(rowKernel(reduction("m", "min", kYieldV) + reduction("y", "sum", exponentialOf("m") + kYieldE))));
}

} // namespace
} // namespace kernelc::test
