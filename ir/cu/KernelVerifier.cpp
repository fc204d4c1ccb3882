// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a cu.kernel asks of its own attributes and of all that stands in it: [C1] to [C9] of its description.
#include "ir/cu/KernelVerifier.h"

#include "ir/cu/Marks.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::cu {
namespace {

constexpr int64_t kMostBytes = int64_t(1) << 31; ///< of an array

class KernelVerifier {
public:
  explicit KernelVerifier(KernelOp kernel) : kernel_(kernel), sizes_(kernel.getSizes().size()) {}

  LogicalResult run() {
    if (failed(checkSources()) || failed(checkLaunch()))
      return failure();
    for (BlockArgument a : kernel_.getBlock().getArguments())
      if (failed(checkType(kernel_, a.getType())))
        return failure();
    WalkResult result = kernel_.walk([&](Operation *op) {
      return (op == kernel_ || succeeded(checkOp(op))) && succeeded(verifyMarks(op, {kMarks}, "ir/cu/Marks.h", "[C8] "))
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

private:
  LogicalResult checkSources() { // [C1]
    unsigned args = kernel_.getBlock().getNumArguments();
    if (kernel_.getArgSources().size() != args)
      return kernel_.emitOpError() << "[C1] has " << args << " arguments and " << kernel_.getArgSources().size() << " arg_sources";
    for (auto [i, a] : llvm::enumerate(kernel_.getArgSources())) {
      auto source = dyn_cast<DictionaryAttr>(a);
      auto isIn = [&](StringRef key, int64_t least, int64_t most) {
        Attribute given = source.get(key);
        auto number = dyn_cast_or_null<IntegerAttr>(given);
        return !given || (number && number.getType().isSignlessInteger(64) && number.getInt() >= least && number.getInt() <= most);
      };
      constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
      if (!source || !isIn("size", 0, int64_t(sizes_) - 1) || !isIn("div", 1, kAny) || !isIn("max", -1, kAny))
        return kernel_.emitOpError() << "[C1] arg_sources has no dictionary for argument " << i
                                     << ", or one whose size is none of the kernel's, divisor not positive, or bound below -1";
      if (source.contains("size") && !kernel_.getBlock().getArgument(i).getType().isIndex())
        return kernel_.emitOpError() << "[C1] argument " << i << " is a size and no index";
    }
    return success();
  }

  LogicalResult checkLaunch() {
    AffineMap grid = kernel_.getGrid();
    if (grid.getNumDims() || grid.getNumSymbols() != sizes_ || grid.getNumResults() != 1) // [C2]
      return kernel_.emitOpError() << "[C2] grid must go from the kernel's " << sizes_ << " sizes to one number";
    auto wrong = [&](StringRef what, uint64_t value) {
      return LogicalResult(kernel_.emitOpError() << "[C3] has " << int64_t(value) << " as " << what);
    };
    auto isIn = [](uint64_t value, int64_t least, int64_t most) { return int64_t(value) >= least && int64_t(value) <= most; };
    if (!isIn(kernel_.getThreads(), 1, 1024))
      return wrong("threads, which are 1 to 1024", kernel_.getThreads());
    if (!isIn(kernel_.getSharedBytes(), 0, kMostBytes))
      return wrong("shared_bytes, which are not negative", kernel_.getSharedBytes());
    if (!isIn(kernel_.getMinBlocks(), 1, 32))
      return wrong("min_blocks, which are 1 to 32", kernel_.getMinBlocks());
    if (!isIn(kernel_.getCluster(), 1, 16))
      return wrong("cluster, which is of 1 to 16 blocks", kernel_.getCluster());
    if (kernel_.getIndexBits() != 32 && kernel_.getIndexBits() != 64)
      return kernel_.emitOpError() << "[C3] has indices of " << kernel_.getIndexBits() << " bits; CUDA C has 32 and 64";
    return success();
  }

  LogicalResult checkType(Operation *op, Type type) { // [C4]
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref) {
      if (type.isInteger() && type.getIntOrFloatBitWidth() > 64)
        return op->emitOpError() << "[C4] computes with " << type << "; integers have at most 64 bits";
      return success();
    }
    Type element = memref.getElementType();
    if (!memref.getLayout().isIdentity() || !(element.isIndex() || (element.isIntOrFloat() && element.getIntOrFloatBitWidth() <= 64)))
      return op->emitOpError() << "[C4] has " << memref << "; arrays are plain ones of numbers";
    if (Attribute space = memref.getMemorySpace(); space && !isa<IntegerAttr>(space))
      return op->emitOpError() << "[C4] has " << memref << ", in no address space of the dialect";
    return success();
  }

  /// An array of the block's or of a thread's.
  LogicalResult checkArray(Operation *op, MemRefType type) { // [C4]
    int64_t bytes = 8;
    bool ok = type.hasStaticShape();
    for (int64_t n : type.getShape()) {
      ok = ok && n >= 1 && n <= kMostBytes / bytes;
      bytes *= ok ? n : 1;
    }
    return ok ? success() : LogicalResult(op->emitOpError() << "[C4] makes " << type << "; arrays have known, positive extents");
  }

  LogicalResult checkAccess(Operation *op, Value memory, ValueRange indices) { // [C5]
    if (cast<MemRefType>(memory.getType()).getRank() == int64_t(indices.size()))
      return success();
    return op->emitOpError() << "[C5] names an element by " << indices.size() << " indices of " << memory.getType();
  }
  LogicalResult checkCount(Operation *op, int64_t value, int64_t least, int64_t most, StringRef what) { // [C6]
    if (value >= least && value <= most)
      return success();
    return op->emitOpError() << "[C6] has " << value << " as " << what << ", which is " << least << " to " << most;
  }

  static LogicalResult all(std::initializer_list<LogicalResult> results) {
    return success(llvm::all_of(results, [](LogicalResult r) { return succeeded(r); }));
  }

  template <typename Search> LogicalResult checkSearch(Search search) { // [C7]
    Block &block = search.getCondition().front();
    bool isNumber = isa<ExtremeOp>(search), isOver = block.getNumArguments() == 1 && block.getArgument(0).getType().isIndex();
    if (isOver && !block.empty() && (isNumber ? isa<GivesOp>(block.back()) : isa<HoldsOp>(block.back())))
      return success();
    return search.emitOpError() << "[C7] has a condition over one index, which ends in cu." << (isNumber ? "gives" : "holds");
  }

  LogicalResult checkOp(Operation *op) {
    for (Type t : op->getResultTypes())
      if (failed(checkType(op, t)))
        return failure();
    if (failed(checkControl(op)))
      return failure();
    constexpr int64_t kMostCount = 128, kMostPending = 1024;
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](SharedOp o) {
          return all({checkArray(o, cast<MemRefType>(o.getResult().getType())), checkCount(o, o.getOffset(), 0, kMostBytes, "offset")});
        })
        .Case([&](memref::AllocaOp o) { return checkArray(o, o.getType()); })
        .Case<CopyOp, CpAsyncOp, AddVectorOp>([&](auto o) {
          return all({checkAccess(o, o.getSource(), o.getSourceIndices()), checkAccess(o, o.getTarget(), o.getTargetIndices()),
                      checkCount(o, o.getCount(), 1, kMostCount, "count")});
        })
        .Case<AtomicOp, WriteOnceOp>([&](auto o) { return checkAccess(o, o.getBase(), o.getIndices()); })
        .Case<TakeNumberOp, TellOp, AskOp>([&](auto o) { return checkAccess(o, o.getBase(), o.getIndex()); })
        .Case([&](LdmatrixOp o) {
          return all({checkAccess(o, o.getSource(), o.getSourceIndices()), checkAccess(o, o.getTarget(), o.getTargetIndices()),
                      checkCount(o, o.getCount(), 1, 4, "count")});
        })
        .Case([&](GatherOp o) {
          return all({checkAccess(o, o.getTarget(), o.getTargetIndices()), checkCount(o, o.getElements().size(), 1, 4, "elements"),
                      checkAccess(o, o.getSource(), o.getElements().take_front(1))});
        })
        .Case([&](StmatrixOp o) {
          return all({checkAccess(o, o.getSource(), o.getSourceIndex()), checkAccess(o, o.getTarget(), o.getTargetIndex())});
        })
        .Case([&](DealBytesOp o) { return checkAccess(o, o.getFragment(), o.getX()); })
        .Case([&](RoundTf32Op o) { return checkAccess(o, o.getFragment(), o.getIndices()); })
        .Case([&](MmaOp o) {
          return all({checkAccess(o, o.getAcc(), o.getAccIndices()), checkAccess(o, o.getA(), o.getAIndices()),
                      checkAccess(o, o.getB(), o.getBIndices())});
        })
        .Case<MbarrierInitOp, MbarrierExpectOp, MbarrierArriveOp, MbarrierArriveCopiesOp, MbarrierWaitOp>(
            [&](auto o) { return checkAccess(o, o.getBarrier(), o.getIndex()); })
        .Case([&](LookOp o) {
          constexpr int64_t kMostShift = 7, kMostMask = 255;
          return all({checkAccess(o, o.getTable(), o.getRow()), checkAccess(o, o.getBytes(), o.getIndex()),
                      checkCount(o, o.getShift(), 0, kMostShift, "shift"), checkCount(o, o.getMask(), 1, kMostMask, "mask")});
        })
        .Case([&](ClusterLoadOp o) { return checkAccess(o, o.getSource(), o.getIndex()); })
        .Case([&](ClusterStoreOp o) { return checkAccess(o, o.getDestination(), o.getIndex()); })
        .Case([&](TmaLoadOp o) {
          return all({checkAccess(o, o.getTarget(), o.getTargetIndex()), checkAccess(o, o.getBarrier(), o.getBarrierIndex()),
                      checkCount(o, o.getCoordinates().size(), 1, 5, "coordinates")});
        })
        .Case([&](TmaStoreOp o) {
          return all({checkAccess(o, o.getSource(), o.getSourceIndex()), checkCount(o, o.getCoordinates().size(), 1, 5, "coordinates")});
        })
        .Case([&](SmemDescOp o) { return checkAccess(o, o.getSource(), o.getIndex()); })
        .Case([&](WgmmaOp o) { return all({checkAccess(o, o.getAcc(), o.getAccIndex()), checkCount(o, o.getN(), 8, 256, "n")}); })
        .Case([&](WgmmaRegistersOp o) {
          return all(
              {checkAccess(o, o.getAcc(), o.getAccIndex()), checkAccess(o, o.getA(), o.getAIndex()), checkCount(o, o.getN(), 8, 256, "n")});
        })
        .Case<CpAsyncWaitOp, TmaWaitReadOp, WgmmaWaitOp>([&](auto o) { return checkCount(o, o.getPending(), 0, kMostPending, "pending"); })
        .Case([&](ShuffleXorOp o) { return checkCount(o, o.getMask(), 0, 31, "mask"); })
        .Case([&](NamedSyncOp o) { return checkCount(o, o.getThreads(), 1, 1024, "threads"); })
        .Case<CountWhereOp, FindWhereOp, ExtremeOp>([&](auto o) { return checkSearch(o); })
        .Case([&](LambdaOp o) { return checkLambda(o); })
        .Default([](Operation *) { return success(); });
  }

  LogicalResult checkLambda(LambdaOp lambda) { // [C9]
    auto type = cast<FunctionType>(lambda.getResult().getType());
    bool takesNumbers = llvm::all_of(type.getInputs(), [](Type t) { return t.isIntOrIndexOrFloat(); });
    if (!takesNumbers || type.getNumResults() || lambda.getBlock().getArgumentTypes() != type.getInputs())
      return lambda.emitOpError() << "[C9] takes the arguments of its type, which are numbers, and gives nothing";
    for (OpOperand &use : lambda.getResult().getUses())
      if (!isa<CallOp>(use.getOwner()) || use.getOperandNumber() != 0)
        return use.getOwner()->emitOpError() << "[C9] takes a lambda, and is no cu.call of it";
    return success();
  }

  LogicalResult checkControl(Operation *op) { // [C7]
    bool ours = op->getDialect() == kernel_->getDialect();
    if (op->getNumRegions() && !isa<scf::ForOp, scf::IfOp, LambdaOp>(op) && !isSearch(op))
      return op->emitOpError() << "[C7] is no control flow of a cu.kernel: that is scf.for, scf.if, lambdas and searches";
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !loop.getInductionVar().getType().isIndex())
      return op->emitOpError() << "[C7] must count by an index";
    // Memory is that of the launch and what SharedOp and alloca make, as it stands.
    for (Value v : op->getOperands())
      if (isa<BaseMemRefType>(v.getType()) && !(ours || isa<memref::LoadOp, memref::StoreOp>(op)))
        return op->emitOpError() << "[C4] takes memory, and is no access of this dialect, memref.load or memref.store";
    for (Type t : op->getResultTypes())
      if (isa<BaseMemRefType>(t) && !isa<SharedOp, memref::AllocaOp>(op))
        return op->emitOpError() << "[C4] makes memory; cu.shared and memref.alloca do";
    return success();
  }

  KernelOp kernel_;
  size_t sizes_;
};

} // namespace

LogicalResult verifyKernel(KernelOp kernel) { return KernelVerifier(kernel).run(); }

} // namespace kernelc::cu
