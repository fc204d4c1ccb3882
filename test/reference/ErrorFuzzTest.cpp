// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random straight-line programs over floats, casts, comparisons and integers, then
// reduced or not: the CPU in the program's types stays within the oracle's bounds.
#include <random>

#include "absl/strings/str_cat.h"
#include "reference/Check.h"
#include "test/reference/ReferenceTestUtil.h"

namespace kernelc::reference {
namespace {

/// Grows the text of a body; every value is an f32.
class BodyMaker {
public:
  explicit BodyMaker(std::mt19937 &engine) : engine_(engine) {}

  std::string make(int steps) {
    text_ = "%v0 = te.read %x[%i, %j] : tensor<?x?xf32>\n"
            "%v1 = te.read %x[%i, %j] map affine_map<(d0, d1)[s0, s1] -> (s0 - d0 - 1, s1 - d1 - 1)> : tensor<?x?xf32>\n"
            "%small = arith.constant 0.01 : f32\n%half = arith.constant 0.5 : f32\n%ten = arith.constant 10.0 : f32\n%c7 = arith.constant "
            "7 : i32\n";
    count_ = 2;
    for (int i = 0; i < steps; ++i)
      step();
    return text_;
  }
  std::string last() const { return absl::StrCat("%v", count_ - 1); }
  std::string any() { return absl::StrCat("%v", engine_() % 2 ? count_ - 1 : int(engine_() % unsigned(count_))); }

private:
  void line(const std::string &rest) { absl::StrAppend(&text_, "%v", count_++, " = ", rest, "\n"); }
  std::string temp(const std::string &rest) {
    std::string t = absl::StrCat("%t", temps_++);
    absl::StrAppend(&text_, t, " = ", rest, "\n");
    return t;
  }
  void step() {
    std::string a = any(), b = any(), c = any();
    switch (engine_() % 20) {
    case 0: return line("arith.addf " + a + ", " + b + " : f32");
    case 1: return line("arith.subf " + a + ", " + b + " : f32");
    case 2: return line("arith.mulf " + a + ", " + b + " : f32");
    case 3: return line("arith.divf " + a + ", " + b + " : f32");
    case 4: return line("arith.maximumf " + a + ", " + b + " : f32");
    case 5: return line("arith.minimumf " + a + ", " + b + " : f32");
    case 6: return line("math.fma " + a + ", " + b + ", " + c + " : f32");
    case 7: {
      std::string t = temp("arith.cmpf " + std::string(engine_() % 2 ? "olt" : "oge") + ", " + a + ", " + b + " : f32");
      return line("arith.select " + t + ", " + b + ", " + c + " : f32");
    }
    case 8: return line("math.exp " + temp("arith.minimumf " + a + ", %ten : f32") + " : f32");
    case 9: return line("math.tanh " + a + " : f32");
    case 10: return line("math.sqrt " + temp("math.absf " + a + " : f32") + " : f32");
    case 11: return line("math.rsqrt " + temp("arith.addf " + temp("math.absf " + a + " : f32") + ", %small : f32") + " : f32");
    case 12: return line("math.log " + temp("arith.addf " + temp("math.absf " + a + " : f32") + ", %small : f32") + " : f32");
    case 13: return line("arith.extf " + temp("arith.truncf " + a + " : f32 to bf16") + " : bf16 to f32");
    case 14: return line("arith.extf " + temp("arith.truncf " + a + " : f32 to f16") + " : f16 to f32");
    case 15: return line("arith.extf " + temp("te.convert " + a + " : f32 to f8E4M3FN") + " : f8E4M3FN to f32");
    case 16: return line("math.floor " + a + " : f32");
    case 17: {
      std::string i = temp("te.convert " + temp("arith.mulf " + a + ", %ten : f32") + " : f32 to i32");
      std::string j = temp("arith.addi " + i + ", %c7 : i32");
      return line("arith.sitofp " + temp("arith.maxsi " + i + ", " + j + " : i32") + " : i32 to f32");
    }
    case 18: return line("math.erf " + a + " : f32");
    default: {
      std::string p = temp("arith.cmpf olt, " + a + ", %half : f32"), q = temp("arith.cmpf ogt, " + b + ", %half : f32");
      return line("arith.select " + temp(std::string(engine_() % 2 ? "arith.andi " : "arith.ori ") + p + ", " + q + " : i1") + ", " + a +
                  ", " + c + " : f32");
    }
    }
  }

  std::mt19937 &engine_;
  std::string text_;
  int count_ = 0, temps_ = 0;
};

std::string program(std::mt19937 &engine) {
  BodyMaker body(engine);
  std::string text = body.make(3 + int(engine() % 8));
  const char *kinds[] = {"", "sum", "max", "min", "prod", "argmax"};
  std::string kind = kinds[engine() % 6], condition;
  if (engine() % 3 == 0 && !kind.empty()) {
    text += "%cond = arith.cmpf olt, " + body.any() + ", " + body.any() + " : f32\n";
    condition = " where %cond";
  }
  std::string out = kind == "argmax" ? "i64" : "f32", head = kind.empty() ? "te.compute" : "te.reduce " + kind;
  std::string shape = kind.empty() ? "(s0, s1)" : "(s0)", type = absl::StrCat("tensor<?x", kind.empty() ? "?x" : "", out, ">");
  return "te.kernel @f sizes [\"M\", \"N\"] args [\"x\"] : [\"f32\"] [affine_map<()[s0, s1] -> (s0, s1)>] outs [\"y\"] : [\"" + out +
         "\"] [affine_map<()[s0, s1] -> " + shape + ">] {\n^bb0(%x: tensor<?x?xf32>):\n%y = " + head + " [\"i\", \"j\"] " +
         (kind.empty() ? "" : "parallel 1 ") + "extents affine_map<()[s0, s1] -> (s0, s1)> {\n^bb0(%i: index, %j: index):\n" + text +
         "te.yield " + body.last() + condition + " : f32\n} {name = \"y\"} : " + type + "\nte.return %y : " + type + "\n}";
}

TEST(ErrorFuzz, BoundsHold) {
  // Others with --gtest_random_seed=N. (UnitTest::random_seed() would be the time of day without it.)
  std::mt19937 engine(20240611 + unsigned(GTEST_FLAG_GET(random_seed)));
  int64_t bounded = 0, elements = 0;
  for (int k = 0; k < 25; ++k) {
    std::string text = program(engine);
    auto own = mustCompile(text), oracle = mustCompile(text, Arithmetic::F64WithError);
    ASSERT_TRUE(own && oracle) << text;
    int64_t m = 24, n = 20;
    auto x = noiseVector(m * n, engine());
    for (float &v : x)
      v *= float(1 << (engine() % 4));
    auto shape = own->outputShape(0, {m, n});
    std::vector<float> f(m * n);
    std::vector<int64_t> i(m * n);
    TensorView out = own->outputType(0) == ElementType::f32 ? view(f, shape) : view(i, shape);
    ASSERT_TRUE(own->run({m, n}, {view(x, {m, n})}, {out}).ok());
    auto report = checkOutputs(*oracle, {m, n}, {view(x, {m, n})}, {out});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->failed()) << report->toString() << text;
    elements += report->outputs[0].elements;
    bounded += report->outputs[0].elements - report->outputs[0].unchecked;
  }
  EXPECT_GT(bounded, elements * 3 / 4);
}

} // namespace
} // namespace kernelc::reference
