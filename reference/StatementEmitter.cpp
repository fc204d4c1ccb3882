// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/StatementEmitter.h"

#include "absl/strings/str_cat.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "reference/Combine.h"
#include "reference/ComputeEmitter.h"
#include "reference/FoldEmitter.h"
#include "reference/RecurrenceEmitter.h"
#include "reference/ReduceEmitter.h"
#include "reference/ScanEmitter.h"
#include "reference/ScatterEmitter.h"
#include "reference/SizeExprs.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

/// What the runner has to know of a statement to compute a part of it.
template <typename OpT> void describe(OpT op, const Program &program, const llvm::DenseMap<Value, int> &slotOf, Step &step) {
  int sizes = int(program.sizes.size());
  step.extents = toSizeExprs(op.getExtents());
  step.parallel = int(op.getNumParallel());
  step.operations = std::distance(op.getBlock().begin(), op.getBlock().end());
  if constexpr (std::is_same_v<OpT, te::ScatterOp>)
    step.outDims.assign(op.getShape().getNumResults(), -1);
  else if constexpr (std::is_same_v<OpT, te::RecurrenceOp>)
    step.outDims.assign(op.getResultShape().getNumResults(), -1); // each element may need all others
  else
    for (AffineExpr e : op.getOutMapOrIdentity().getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      step.outDims.push_back(dim ? int(dim.getPosition()) : -1);
    }
  op->walk([&](te::ReadOp read) {
    Step::Read r;
    auto slot = slotOf.find(read.getTensor());
    if (slot == slotOf.end())
      return;
    r.slot = slot->second;
    SmallVector<AffineExpr> dims;
    r.whole = read.getBounds() != te::BoundsMode::InBounds;
    for (Value v : read.getOperands_()) {
      auto arg = dyn_cast<BlockArgument>(v);
      r.whole |= !arg;
      dims.push_back(getAffineDimExpr(arg ? arg.getArgNumber() : 0, op.getContext()));
    }
    if (!r.whole)
      for (AffineExpr e : read.getMapOrIdentity().getResults())
        r.subscripts.push_back(toSizeExpr(e.replaceDims(dims), sizes));
    step.reads.push_back(std::move(r));
  });
}

/// The step's entry: loads the result's addresses and calls the body with them as
/// parameters that alias nothing, which is what lets LLVM vectorise.
void emitEntry(Builder &b, const Program &program, int out, LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp body) {
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  auto pointer = [&](int index) -> Value {
    Value address =
        LLVM::GEPOp::create(b, block->getArgument(0).getType(), b.getI64Type(), block->getArgument(0), ArrayRef<LLVM::GEPArg>{index});
    Value word = LLVM::LoadOp::create(b, b.getI64Type(), address);
    return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), word);
  };
  int base = program.slots[out].context;
  LLVM::CallOp::create(b, body,
                       ValueRange{block->getArgument(0), pointer(base), pointer(base + 1), block->getArgument(1), block->getArgument(2)});
  LLVM::ReturnOp::create(b, ValueRange());
}

} // namespace

absl::StatusOr<Step> emitStatement(ModuleOp module, Operation *op, Arithmetic arithmetic, const Program &program,
                                   const llvm::DenseMap<Value, int> &slotOf, int out, int number, const EmitOptions &options) {
  Builder b(op->getLoc(), OpBuilder::atBlockEnd(module.getBody()));
  Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  auto voidType = LLVM::LLVMVoidType::get(b.getContext());
  Step step;
  step.symbol = absl::StrCat("step", number);
  step.name = program.slots[out].name;
  step.location = locationText(op->getLoc());
  step.out = out;
  step.window = program.contextWords;
  if (auto compute = dyn_cast<te::ComputeOp>(op))
    describe(compute, program, slotOf, step);
  else if (auto reduce = dyn_cast<te::ReduceOp>(op))
    describe(reduce, program, slotOf, step);
  else if (auto fold = dyn_cast<te::FoldOp>(op))
    describe(fold, program, slotOf, step);
  else if (auto recurrence = dyn_cast<te::RecurrenceOp>(op))
    describe(recurrence, program, slotOf, step);
  else if (auto scatter = dyn_cast<te::ScatterOp>(op))
    describe(scatter, program, slotOf, step);
  else
    return unsupported(op);
  auto entry = LLVM::LLVMFuncOp::create(b, step.symbol, LLVM::LLVMFunctionType::get(voidType, {ptr, i64, i64}));
  auto body = LLVM::LLVMFuncOp::create(b, step.symbol + "_body", LLVM::LLVMFunctionType::get(voidType, {ptr, ptr, ptr, i64, i64}),
                                       LLVM::Linkage::Internal);
  for (unsigned i : {0u, 1u, 2u})
    body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  emitEntry(b, program, out, entry, body);

  Block *block = body.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  auto done = LLVM::ReturnOp::create(b, ValueRange());
  // What is loaded once goes before the marker, everything else after it.
  b.setInsertionPoint(done);
  Operation *marker = LLVM::PoisonOp::create(b, i64);
  FunctionEnv env(arithmetic, program, slotOf, marker, block->getArgument(0));
  env.setAddresses(out, block->getArgument(1), block->getArgument(2));
  Value begin = block->getArgument(3), end = block->getArgument(4);
  absl::Status status;
  if (auto compute = dyn_cast<te::ComputeOp>(op))
    status = emitCompute(b, env, compute, out, number, begin, end, step);
  else if (auto scatter = dyn_cast<te::ScatterOp>(op))
    status = emitScatter(b, env, scatter, out, number, step);
  else if (auto recurrence = dyn_cast<te::RecurrenceOp>(op))
    status = emitRecurrence(b, env, recurrence, out, number, begin, end, step);
  else if (auto fold = dyn_cast<te::FoldOp>(op))
    status = emitFold(b, env, fold, out, number, begin, end, step);
  else if (std::optional<te::Scan> scan = te::findScanOf(op, /*positions=*/true))
    status = emitScan(b, env, cast<te::ReduceOp>(op), *scan, out, number, begin, end, step);
  else
    status = emitReduce(b, env, cast<te::ReduceOp>(op), out, number, options.vectorBytes, begin, end, step);
  if (!status.ok())
    return status;
  if (auto reduce = dyn_cast<te::ReduceOp>(op)) {
    step.fill = !reduce.getInit() && reduce.getOutMap();
    step.pattern = Accumulator(reduce, env, false).identityBytes();
  }
  return step;
}

} // namespace kernelc::reference
