// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-block-windows: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/plan/PlanAttr.h"
#include "passes/te/BlockTimes.h"
#include "passes/te/BlockWriter.h"
#include "support/Target.h"
#include "support/TargetRates.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEBLOCKWINDOWS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// What is known of a set after trying it out on a copy of the kernel.
struct Trial {
  unsigned rounds = 0, launches = 0;
  double apart = 0; ///< microseconds of as many launches
  std::string kept; ///< the names of what would stay in the block
  std::optional<BlockTiles> tiles;
  double gain() const { return tiles ? 1 - tiles->time / apart : 0; }
};

class BlockSets {
public:
  BlockSets(KernelOp kernel, const KnownTarget &known)
      : kernel_(kernel), target_(*known.target), costs_(target_.costs->blocks), facts_(known.facts()) {}

  void run() {
    // From the last statement on: what is read last takes in most.
    for (size_t ordinal = getDomainOps(kernel_).size(); ordinal-- > 0;)
      if (ordinal < getDomainOps(kernel_).size())
        visit(ordinal);
  }

private:
  static std::string nameOf(Operation *op) {
    auto name = op->getAttrOfType<StringAttr>("name");
    return name ? ("'" + name.getValue() + "'").str() : std::string("a statement without a name");
  }

  /// Which of the sets that end in statement `ordinal` pays most, if one does.
  void visit(size_t ordinal) {
    std::optional<Trial> best;
    for (unsigned rounds = 1;; ++rounds) {
      std::optional<BlockSet> found = findBlockSet(kernel_, getDomainOps(kernel_)[ordinal], rounds, costs_);
      if (!found && rounds >= kLeastTries)
        break;
      std::optional<Trial> own = found ? tryOut(*found, ordinal, rounds) : std::nullopt;
      if (own && own->tiles && (!best || !best->tiles || own->apart - own->tiles->time > best->apart - best->tiles->time))
        best = std::move(own);
      else if (own && !best)
        best = std::move(own);
    }
    if (!best)
      return;
    Operation *sink = getDomainOps(kernel_)[ordinal];
    std::string times = best->tiles
                            ? llvm::formatv("{0:f1} us by the model in place of {1:f1} of {2} launches, with {3:f2} times the points "
                                            "and {4} bytes of shared memory a block",
                                            best->tiles->time, best->apart, best->launches, best->tiles->points, best->tiles->bytes)
                                  .str()
                            : std::string("no tile of them fits in shared memory");
    if (best->gain() < costs_.leastGain) {
      std::string text = best->kept + " could stay in the blocks that read " + (best->kept.find(',') == std::string::npos ? "it" : "them") +
                         ", and do not: " + times;
      if (best->tiles)
        text += llvm::formatv(", and {0:P0} at least must be saved", costs_.leastGain).str();
      setBlockText(sink, text);
      sink->emitRemark() << text;
      return;
    }
    BlockSet set = *findBlockSet(kernel_, sink, best->rounds, costs_);
    makePointwise(set, costs_);
    ComputeOp written = writeBlocks(set, best->tiles->tiles, sets_++);
    std::string text = best->kept + " stays in the blocks that read it, at windows of points: " + times;
    setBlockText(written, text);
    written->emitRemark() << text;
  }

  /// Rounds that are tried even where the first of them reads nothing at windows.
  static constexpr unsigned kLeastTries = 3;

  std::optional<Trial> tryOut(const BlockSet &found, size_t ordinal, unsigned rounds) {
    Trial trial;
    trial.rounds = rounds;
    std::tie(trial.apart, trial.launches) = timeApart(found, target_, facts_);
    auto copy = cast<KernelOp>(kernel_->clone());
    BlockSet set = *findBlockSet(copy, getDomainOps(copy)[ordinal], rounds, costs_);
    if (makePointwise(set, costs_)) {
      trial.tiles = chooseTiles(set, target_, facts_);
      SmallVector<std::string> names;
      for (const BlockMember &m : set.members)
        if (!m.isSink)
          names.push_back(nameOf(m.op));
      trial.kept = llvm::join(names, ", ");
    }
    copy->erase();
    return trial.kept.empty() ? std::nullopt : std::optional(trial);
  }

  KernelOp kernel_;
  const Target &target_;
  const BlockCosts &costs_;
  SizeFacts facts_;
  int64_t sets_ = 0;
};

struct TeBlockWindowsPass : impl::TeBlockWindowsBase<TeBlockWindowsPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    if (findTargetRates(known->target->name))
      BlockSets(getOperation(), *known).run();
  }
};

} // namespace
} // namespace kernelc
