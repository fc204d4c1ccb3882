// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a rewrite of te makes is held against its sketch: one that does as it says passes, one that makes more, less or something else is
// an internal error.
#include "passes/plan/Rewrite.h"

#include <gmock/gmock.h>

#include "ir/te/TeShape.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace kernelc::te {
namespace {

constexpr const char *kProgram = R"mlir(
te.kernel @f sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>] outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
^bb0(%x: tensor<?xf32>):
  %t = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %x[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "t"} : tensor<?xf32>
  %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
  ^bb0(%i: index):
    %v = te.read %t[%i] : tensor<?xf32>
    te.yield %v : f32
  } {name = "y"} : tensor<?xf32>
  te.return %y : tensor<?xf32>
}
)mlir";

/// Copies what a statement gives, for those who read it, into rows of 32; `Says` is what the sketch gets wrong.
enum class Says { Truth, OtherRows, OtherTensor, NoReader, Nothing, OneMore };

class Copier {
public:
  explicit Copier(Says says) : says_(says) {}

  struct Site {
    ComputeOp op;
  };
  StringRef name() const { return "the test's rewrite"; }

  FailureOr<std::optional<Site>> find(Operation *op) {
    auto compute = dyn_cast<ComputeOp>(op);
    bool isRead = compute && llvm::any_of(compute->getUsers(), llvm::IsaPred<ReadOp>);
    return isRead ? std::optional(Site{compute}) : std::nullopt;
  }

  RewriteSketch sketch(const Site &site) const {
    ComputeOp op = site.op;
    RewriteSketch s;
    TensorSketch before = sketchTensor(op.getResult()), rows{rowsOf(op, says_ == Says::OtherRows ? 64 : 32), before.element};
    StatementSketch copy{ComputeOp::getOperationName(), op.getExtents(), 1, {before}, {rows}};
    if (says_ == Says::OtherTensor)
      copy.loads.clear();
    for (int n = says_ == Says::OneMore ? 2 : says_ != Says::Nothing; n > 0; --n)
      s.make(copy);
    if (says_ != Says::NoReader)
      s.replace(op.getResult(), {rows});
    return s;
  }

  void apply(const Site &site) {
    ComputeOp op = site.op;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Location loc = op.getLoc();
    auto copy = ComputeOp::create(b, loc, op.getResult().getType(), op.getIndices(), op.getExtents(), IntegerSetAttr(), Value(),
                                  AffineMapAttr(), AffineMapAttr::get(rowsOf(op, 32)), StringAttr(), false);
    Block &body = copy.getBody().emplaceBlock();
    body.addArgument(b.getIndexType(), loc);
    op.getResult().replaceAllUsesWith(copy.getResult());
    b.setInsertionPointToStart(&body);
    Value v = ReadOp::create(b, loc, b.getF32Type(), op.getResult(), body.getArguments(), AffineMapAttr(),
                             BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    YieldOp::create(b, loc, v, Value());
  }

private:
  static AffineMap rowsOf(ComputeOp op, int64_t multiple) {
    return AffineMap::get(0, 1, op.getExtents().getResult(0).ceilDiv(multiple) * multiple);
  }

  Says says_;
};

/// What is said of the rewrite; "" where it is carried out.
std::string faultOf(Says says, unsigned *statements = nullptr) {
  DialectRegistry registry;
  registry.insert<TeDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(kProgram, &context);
  if (!module)
    return "no program";
  auto kernel = *module->getOps<KernelOp>().begin();
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { said += d.str(); });
  bool ok = succeeded(rewriteEach(kernel, Copier(says)));
  if (statements)
    *statements = getDomainOps(kernel).size();
  return ok && said.empty() ? "" : said;
}

TEST(Rewrite, DoesWhatItsSketchSays) {
  unsigned statements = 0;
  EXPECT_EQ(faultOf(Says::Truth, &statements), "");
  EXPECT_EQ(statements, 3u); // what a rewrite makes is not rewritten again
}

TEST(Rewrite, IsAnInternalErrorWhereItDoesNot) {
  using testing::HasSubstr;
  for (Says says : {Says::OtherRows, Says::OtherTensor, Says::NoReader, Says::Nothing})
    EXPECT_THAT(faultOf(says), HasSubstr("internal error: the test's rewrite has made what its sketch does not say: te.compute over"));
  EXPECT_THAT(faultOf(Says::OneMore), HasSubstr("internal error: the test's rewrite has not made what its sketch says: te.compute over"));
}

} // namespace
} // namespace kernelc::te
