#include "driver/WorkCount.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "driver/SizeExprOf.h"
#include "ir/te/Te.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kernelc {
namespace {

/// Floating-point operations of one point of a statement. Casts and selections are free.
int64_t flopsPerPoint(mlir::Operation *statement) {
  int64_t count = 0;
  statement->walk([&](mlir::Operation *op) {
    if (op == statement || op->getNumResults() != 1 || !mlir::isa<mlir::FloatType>(op->getResult(0).getType()))
      return;
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    if (dialect == "math" ||
        mlir::isa<mlir::arith::AddFOp, mlir::arith::SubFOp, mlir::arith::MulFOp, mlir::arith::DivFOp, mlir::arith::MaximumFOp,
                  mlir::arith::MinimumFOp, mlir::arith::NegFOp, mlir::arith::RemFOp>(op))
      ++count;
  });
  if (auto reduce = mlir::dyn_cast<te::ReduceOp>(statement))
    count += mlir::isa<mlir::FloatType>(mlir::cast<mlir::RankedTensorType>(reduce.getResult().getType()).getElementType());
  return count;
}

/// Whether `v` is a float of at most 16 bits, read as f32 or rounded to that.
bool isNarrow(mlir::Value v) {
  auto extended = v.getDefiningOp<mlir::arith::ExtFOp>();
  return extended && extended.getIn().getType().getIntOrFloatBitWidth() <= 16;
}

bool isTf32(mlir::Value v) { return v.getDefiningOp<te::RoundOp>() != nullptr; }

/// Operands of the product that a float sum adds up; nothing for other statements.
std::optional<std::pair<mlir::Value, mlir::Value>> factorsOf(te::ReduceOp reduce) {
  if (reduce.getKind() != te::Combiner::Sum || reduce.getYield().getValues().size() != 1)
    return std::nullopt;
  auto product = reduce.getYield().getValues()[0].getDefiningOp<mlir::arith::MulFOp>();
  if (!product || !product.getType().isF32())
    return std::nullopt;
  return std::make_pair(product.getLhs(), product.getRhs());
}

int64_t points(mlir::AffineMap extents, absl::Span<const int64_t> sizes) {
  int64_t n = 1;
  for (mlir::AffineExpr e : extents.getResults())
    n *= std::max<int64_t>(0, sizeExprOf(e).evaluate({sizes}));
  return n;
}

} // namespace

absl::StatusOr<WorkCount> countWork(Program &program, const Kernel &kernel, absl::Span<const int64_t> sizes) {
  WorkCount work;
  for (const Param &p : kernel.params) {
    int64_t elements = 1;
    for (const SizeExpr &d : p.dims)
      elements *= d.evaluate({sizes});
    work.bytes += (elements * elementBits(p.type) + 7) / 8 * (p.kind == ParamKind::InOut ? 2 : p.kind == ParamKind::Scalar ? 0 : 1);
  }
  absl::Status s = program.withModule([&](mlir::ModuleOp module) -> absl::Status {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == kernel.name) {
        for (mlir::Operation &statement : op.getBlock()) {
          if (auto compute = mlir::dyn_cast<te::ComputeOp>(statement))
            work.flops += flopsPerPoint(&statement) * points(compute.getExtents(), sizes);
          else if (auto reduce = mlir::dyn_cast<te::ReduceOp>(statement)) {
            int64_t flops = flopsPerPoint(&statement) * points(reduce.getExtents(), sizes);
            work.flops += flops;
            auto factors = factorsOf(reduce);
            if (!factors)
              continue;
            auto [a, b] = *factors;
            if (isNarrow(a) && isNarrow(b))
              work.matrixFlops += flops;
            else if ((isTf32(a) || isNarrow(a)) && (isTf32(b) || isNarrow(b)))
              work.tf32Flops += flops;
          }
        }
        return absl::OkStatus();
      }
    return absl::NotFoundError(absl::StrCat("there is no kernel '", kernel.name, "'"));
  });
  if (!s.ok())
    return s;
  return work;
}

} // namespace kernelc
