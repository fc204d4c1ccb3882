// te-copy-inouts: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/te/Inouts.h"
#include "passes/te/TensorCopy.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TECOPYINOUTS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

class Protector {
public:
  explicit Protector(KernelOp kernel) : kernel_(kernel) {}

  void run() {
    for (const Update &u : findUpdates(kernel_))
      protect(u);
    if (!earlier_.empty())
      reorder();
  }

private:
  /// Gives every statement that reads what `u` overwrites a place before it, or a copy.
  void protect(const Update &u) {
    SmallVector<ReadOp> late;
    llvm::SetVector<Operation *> readers; // (in the order of the block)
    for (Operation *op : getDomainOps(kernel_))
      if (!readsOf(op, u.before).empty())
        readers.insert(op);
    for (Operation *reader : readers) {
      SmallVector<ReadOp> reads = readsOf(reader, u.before);
      if (reader == u.writer)
        llvm::copy_if(reads, std::back_inserter(late), [&](ReadOp r) { return !readsOwnPoint(r, reader); });
      else if (runsAfter(reader, u.writer))
        llvm::append_range(late, reads);
      else
        earlier_[u.writer].insert(reader);
    }
    if (late.empty())
      return;
    emitRemark(late.front().getLoc()) << "'" << u.name
                                      << "' is read elsewhere than where it is written, or after that: what it held is copied to a workspace first";
    ComputeOp copy = copyOf(u);
    earlier_[u.writer].insert(copy);
    for (ReadOp read : late)
      read.getTensorMutable().assign(copy.getResult());
  }

  /// Whether `op` needs `writer`, or has a place behind it already.
  bool runsAfter(Operation *op, Operation *writer) {
    SmallVector<Operation *> work{op};
    llvm::SmallPtrSet<Operation *, 8> seen;
    while (!work.empty()) {
      Operation *next = work.pop_back_val();
      if (next == writer || dependsOn(next, writer))
        return true;
      // Places are passed on: what `next` needs may have one behind the writer.
      for (auto &[behind, before] : earlier_)
        if ((next == behind || dependsOn(next, behind)) && seen.insert(behind).second)
          work.append(before.begin(), before.end());
    }
    return false;
  }

  ComputeOp copyOf(const Update &u) {
    OpBuilder b(kernel_.getContext());
    if (Operation *def = u.before.getDefiningOp())
      b.setInsertionPointAfter(def);
    else
      b.setInsertionPointToStart(&kernel_.getBlock());
    auto type = cast<RankedTensorType>(u.before.getType());
    SmallVector<Attribute> names;
    for (int64_t d = 0; d < type.getRank(); ++d)
      names.push_back(b.getStringAttr("i" + std::to_string(d)));
    return copyTensor(b, u.writer->getLoc(), u.before, type, getTensorShape(u.before), b.getArrayAttr(names), u.name + "_before");
  }

  /// Every statement behind what it needs and what must run before it, else in the old order.
  void reorder() {
    SmallVector<Operation *> waiting = getDomainOps(kernel_);
    llvm::SmallPtrSet<Operation *, 16> placed;
    Operation *end = kernel_.getBlock().getTerminator();
    auto isReady = [&](Operation *op) {
      bool ready = true;
      op->walk([&](Operation *inner) {
        for (Value v : inner->getOperands())
          if (Operation *def = v.getDefiningOp(); def && def->getBlock() == op->getBlock() && isDomainOp(def))
            ready &= placed.contains(def);
      });
      auto before = earlier_.find(op);
      return ready && (before == earlier_.end() || llvm::all_of(before->second, [&](Operation *b) { return placed.contains(b); }));
    };
    while (!waiting.empty()) {
      auto next = llvm::find_if(waiting, isReady);
      assert(next != waiting.end() && "places are given without cycles");
      (*next)->moveBefore(end);
      placed.insert(*next);
      waiting.erase(next);
    }
  }

  KernelOp kernel_;
  llvm::MapVector<Operation *, llvm::SetVector<Operation *>> earlier_; ///< what runs before a writer
};

struct TeCopyInoutsPass : impl::TeCopyInoutsBase<TeCopyInoutsPass> {
  void runOnOperation() override { Protector(getOperation()).run(); }
};

} // namespace
} // namespace kernelc
