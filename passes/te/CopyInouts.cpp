// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-copy-inouts: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Inouts.h"
#include "passes/analysis/Memories.h"
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
  explicit Protector(KernelOp kernel) : kernel_(kernel), memories_(kernel) {}

  void run() {
    for (Operation *reader : getDomainOps(kernel_))
      reader->walk([&](ReadOp read) {
        if (Operation *writer = memories_.findOverwriter(read, reader))
          endangered_[writer][reader].push_back(read);
      });
    for (const Memory &m : memories_.all())
      keepOrder(m);
    for (const Memory &m : memories_.all())
      for (Value written : llvm::reverse(m.versions))
        if (auto found = endangered_.find(written.getDefiningOp()); found != endangered_.end())
          protect(found->first, found->second, m.name);
    if (!earlier_.empty())
      reorder();
  }

private:
  using Reads = llvm::MapVector<Operation *, SmallVector<ReadOp>>; // by statement, in the order of the block

  /// What overwrites the work of another statement without need of it stays behind it.
  void keepOrder(const Memory &m) {
    for (auto [before, after] : llvm::zip(m.versions, ArrayRef(m.versions).drop_front()))
      if (Operation *first = before.getDefiningOp(); first && !dependsOn(after.getDefiningOp(), first))
        earlier_[after.getDefiningOp()].insert(first);
  }

  /// Gives every statement that reads what `writer` overwrites a place before it, or a copy.
  void protect(Operation *writer, const Reads &readers, StringRef name) {
    SmallVector<ReadOp> late;
    for (auto &[reader, reads] : readers) {
      if (reader != writer && sharesLaunch(reader, writer))
        continue;
      if (reader == writer || runsAfter(reader, writer))
        llvm::append_range(late, reads);
      else
        earlier_[writer].insert(reader);
    }
    if (late.empty())
      return;
    emitRemark(late.front().getLoc())
        << "'" << name << "' is read elsewhere than where it is written, or after that: what it held is copied to a workspace first";
    for (ReadOp read : late)
      read.getTensorMutable().assign(copyOf(read.getTensor(), name));
  }

  /// Whether `reader` and `writer` are of pointwise statements over the same points that update one memory in pieces, and read at each
  /// point what is written there: one launch, which reads all that it does before it writes.
  bool sharesLaunch(Operation *reader, Operation *writer) {
    size_t version = 0;
    const Memory *memory = memories_.find(writer->getResult(0), version);
    auto isPiece = [&](Operation *op) { return op && llvm::is_contained(memory->versions, op->getResult(0)); };
    if (!memory || !isPiece(reader))
      return false;
    SmallVector<Operation *> pieces;
    for (Value v : ArrayRef(memory->versions).drop_front(memory->versions.front().getDefiningOp() ? 0 : 1)) {
      Operation *op = v.getDefiningOp();
      bool isLast = v == memory->versions.back(), isPlain = isa<ComputeOp>(op) && getExtents(op) == getExtents(writer);
      op->walk([&](ReadOp read) { isPlain &= isa<BlockArgument>(read.getTensor()); });
      // What is there between two pieces nobody asks for.
      isPlain &= isLast || llvm::all_of(op->getUsers(), [&](Operation *user) { return isPiece(user) && findInit(user) == v; });
      isPlain &= llvm::all_of(pieces, [&](Operation *other) { return writeApart(kernel_, {}, other, op); });
      if (!isPlain)
        return false;
      pieces.push_back(op);
    }
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, getNumParallel(writer)));
    bool atPoint = true;
    for (Operation *op : pieces)
      op->walk([&](ReadOp read) {
        size_t unused = 0;
        if (memories_.find(read.getTensor(), unused) == memory)
          atPoint &= llvm::all_of(pieces, [&](Operation *piece) {
            return readsApart(read, op, piece) || isReadAtPointWritten(kernel_, {}, dims, dims, dims, read, op, piece);
          });
      });
    return atPoint;
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

  /// What a tensor holds until the next statement writes to its memory.
  Value copyOf(Value tensor, StringRef name) {
    Value &copied = copies_[tensor];
    if (copied)
      return copied;
    OpBuilder b(kernel_.getContext());
    if (Operation *def = tensor.getDefiningOp())
      b.setInsertionPointAfter(def);
    else
      b.setInsertionPointToStart(&kernel_.getBlock());
    size_t version = 0;
    const Memory *memory = memories_.find(tensor, version);
    Operation *next = memory->versions[version + 1].getDefiningOp();
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<Attribute> names;
    for (int64_t d = 0; d < type.getRank(); ++d)
      names.push_back(b.getStringAttr("i" + std::to_string(d)));
    ComputeOp copy = copyTensor(b, next->getLoc(), tensor, type, getTensorShape(tensor), b.getArrayAttr(names), name + "_before");
    earlier_[next].insert(copy);
    return copied = copy.getResult();
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
  Memories memories_;
  llvm::MapVector<Operation *, Reads> endangered_; ///< by the statement that overwrites what they read
  llvm::DenseMap<Value, Value> copies_;
  llvm::MapVector<Operation *, llvm::SetVector<Operation *>> earlier_; ///< what runs before a writer
};

struct TeCopyInoutsPass : impl::TeCopyInoutsBase<TeCopyInoutsPass> {
  void runOnOperation() override { Protector(getOperation()).run(); }
};

} // namespace
} // namespace kernelc
