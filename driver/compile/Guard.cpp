// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/Guard.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/SizeExprOf.h"
#include "ir/cu/Cu.h"
#include "ir/te/Limits.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/plan/PlanAttr.h"
#include "support/SizeRange.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace kernelc {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostBytes = int64_t(1) << 57; // what a GPU can address
constexpr const char *kWide = "fix every size (--set), or compile --variant general";

class GuardBuilder {
public:
  GuardBuilder(te::KernelOp planned, const te::KernelPlan &plan, const Kernel &signature, const VariantOptions &options, unsigned ownSizes)
      : kernel_(planned), plan_(plan), signature_(signature), options_(options), ownSizes_(ownSizes), guard_{.place = planned.getLoc()} {
    for (unsigned i = 0; i < ownSizes_; ++i) {
      auto it = options_.facts.find(nameOf(i));
      ranges_.push_back({1, it != options_.facts.end() && it->second.max >= 0 ? it->second.max : kNoLimit});
    }
  }

  Guard build() {
    for (unsigned i = 0; i < ownSizes_; ++i)
      addFact(i);
    if (options_.index32 && guard_.whyNever.empty()) {
      addTensors();
      addCounts();
      guard_.wideWould = !guard_.whyNever.empty();
    }
    if (!options_.index32) // which reach less far
      addLimits();
    return std::move(guard_);
  }

private:
  std::string nameOf(unsigned size) { return kernel_.getSizeName(size).str(); }

  void never(std::string why, std::string wayOut, Location place) {
    if (guard_.whyNever.empty()) {
      guard_.whyNever = std::move(why);
      guard_.wayOut = std::move(wayOut);
      guard_.place = place;
    }
  }

  /// Whether sizes of 1 and more can pass it.
  bool add(const SizeExpr &condition, const std::string &words) {
    int64_t constant;
    if (condition.isConstant(&constant) && constant)
      return true;
    guard_.condition = guard_.condition.isConstant() ? condition : SizeExpr::binary(SizeTerm::And, guard_.condition, condition);
    if (said_.insert(words).second)
      absl::StrAppend(&guard_.text, guard_.text.empty() ? "" : " and ", words);
    return rangeOf(condition, ranges_).high != 0;
  }

  void addFact(unsigned i) {
    auto it = options_.facts.find(nameOf(i));
    if (it == options_.facts.end())
      return;
    const auto &[name, fact] = *it;
    if (fact.divisor > 1)
      add(SizeExpr::binary(SizeTerm::Eq, SizeExpr::binary(SizeTerm::Mod, SizeExpr::size(i), fact.divisor), 0),
          absl::StrCat(name, " % ", fact.divisor, " == 0"));
    if (fact.max < 0)
      return;
    // Passes assume that a size with an upper bound is at least 1 (te::knownPositive): the guard has to check it.
    add(SizeExpr::binary(SizeTerm::Le, 1, SizeExpr::size(i)), absl::StrCat(name, " >= 1"));
    add(SizeExpr::binary(SizeTerm::Le, SizeExpr::size(i), fact.max), absl::StrCat(name, " <= ", fact.max));
    if (fact.max < fact.divisor)
      never(absl::StrCat("no '", name, "' from 1 to ", fact.max, " is a multiple of ", fact.divisor), "leave that fact out",
            kernel_.getLoc());
  }

  void addFits(ArrayRef<SizeExpr> dims, const std::string &name, int param, Location place) {
    SizeExpr elements(1), span(1);
    bool dense = param < 0 || options_.params.empty() || options_.params[param].layout == LayoutClass::Dense;
    for (auto [d, e] : llvm::enumerate(dims)) {
      elements = elements * e;
      if (dense)
        continue;
      // How far the last element is, either way; nothing along an extent of 0.
      SizeExpr stride = SizeExpr::stride(param, int(d));
      SizeExpr steps = SizeExpr::binary(SizeTerm::Max, e - 1, 0);
      span = span + steps * SizeExpr::binary(SizeTerm::Max, stride, SizeExpr(0) - stride);
    }
    SizeExpr most = dense ? elements : SizeExpr::binary(SizeTerm::Max, elements, span);
    if (!add(SizeExpr::binary(SizeTerm::Lt, most, cu::kFits32), absl::StrCat("fits32(", param < 0 ? "workspace" : name, ")")))
      never(absl::StrCat("'", name, "' has ", atLeast(elements), " elements, and indices of 32 bits reach fewer than 2^30"), kWide, place);
  }

  void addCount(AffineExpr e, StringRef name, Location place) {
    SizeExpr count = sizeExprOf(e);
    if (!add(SizeExpr::binary(SizeTerm::Lt, count, cu::kFits32), absl::StrCat("fits32(", name.str(), ")")))
      never(absl::StrCat("'", name.str(), "' counts ", atLeast(count), ", and indices of 32 bits reach less than 2^30"), kWide, place);
  }

  std::string atLeast(const SizeExpr &e) {
    SizeRange range = rangeOf(e, ranges_);
    return absl::StrCat(range.isConstant() ? "" : "at least ", range.low);
  }

  void addTensors() {
    // As callers see them: in elements, dims as written.
    for (auto [i, p] : llvm::enumerate(signature_.params))
      addFits(p.dims, p.name, int(i), placeOfParam(kernel_, p.name));
    SmallVector<Operation *> ops = te::getDomainOps(kernel_);
    for (const te::LaunchPlan &l : plan_.launches)
      for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims))
        for (Value result : ops[ordinal]->getResults())
          addFits(te::isStored(l, ops, result) ? shapeOf(result) : walkedExtents(ops[ordinal], l, dims), tensorNameOf(ops[ordinal]), -1,
                  ops[ordinal]->getLoc());
  }

  static std::string tensorNameOf(Operation *op) {
    auto name = op->getAttrOfType<StringAttr>("name");
    return name ? name.getValue().str() : "a workspace";
  }

  SmallVector<SizeExpr> shapeOf(Value tensor) {
    return llvm::map_to_vector(te::getTensorShape(tensor).getResults(), [](AffineExpr e) { return sizeExprOf(e); });
  }

  /// Of what never lies in memory a block counts the points that it walks; those along the grid are other blocks'.
  SmallVector<SizeExpr> walkedExtents(Operation *op, const te::LaunchPlan &l, ArrayRef<int64_t> dims) {
    SmallVector<SizeExpr> extents;
    for (auto [extent, index] : llvm::zip(te::getExtents(op).getResults(), dims))
      if (!llvm::is_contained(l.grid, index))
        extents.push_back(sizeExprOf(extent));
    return extents;
  }

  /// What no tensor bounds: sizes that are no dim of one, and how far sums over expressions of sizes go.
  void addCounts() {
    SmallVector<AffineExpr> bounded;
    for (Attribute a : llvm::concat<const Attribute>(kernel_.getArgShapes().getValue(), kernel_.getOutShapes().getValue()))
      llvm::append_range(bounded, cast<AffineMapAttr>(a).getValue().getResults());
    auto isOpen = [&](AffineExpr e, StringRef name) {
      auto fact = isa<AffineSymbolExpr>(e) ? options_.facts.find(name.str()) : options_.facts.end();
      return (fact == options_.facts.end() || fact->second.max < 0) && !llvm::is_contained(bounded, e);
    };
    for (unsigned i = 0; i < ownSizes_; ++i)
      if (AffineExpr size = getAffineSymbolExpr(i, kernel_.getContext()); isOpen(size, nameOf(i)))
        addCount(size, nameOf(i), kernel_.getLoc());
    for (Operation *op : te::getDomainOps(kernel_))
      for (unsigned d = te::getNumParallel(op); d < te::getExtents(op).getNumResults(); ++d) {
        AffineExpr extent = te::getExtents(op).getResult(d);
        StringRef name = cast<StringAttr>(te::getIndices(op)[d]).getValue();
        if (!isa<AffineSymbolExpr>(extent) && isOpen(extent, name))
          addCount(extent, name, op->getLoc());
      }
  }

  void addLimits() {
    for (const te::Limit &limit : te::getLimits(kernel_)) {
      SizeExpr count = sizeExprOf(limit.count);
      if (!add(SizeExpr::binary(SizeTerm::Lt, count, limit.below), absl::StrCat("fewer than ", limit.below, " ", limit.what)))
        never(absl::StrCat("there would be ", atLeast(count), " ", limit.what, ", and fewer than ", limit.below, " are possible"),
              "divide the work among several calls", kernel_.getLoc());
    }
  }

  te::KernelOp kernel_;
  const te::KernelPlan &plan_;
  const Kernel &signature_;
  const VariantOptions &options_;
  unsigned ownSizes_;
  Guard guard_;
  std::vector<SizeRange> ranges_;
  llvm::StringSet<> said_; ///< workspaces share their words
};

} // namespace

Location placeOfParam(te::KernelOp kernel, StringRef name) {
  for (BlockArgument arg : kernel.getBlock().getArguments())
    if (cast<StringAttr>(kernel.getArgNames()[arg.getArgNumber()]).getValue() == name)
      return arg.getLoc();
  Location place = kernel.getLoc();
  kernel.getReturn().getLoc()->walk([&](Location l) {
    if (auto named = dyn_cast<NameLoc>(l); named && named.getName() == name)
      place = l;
    return WalkResult::advance();
  });
  return place;
}

FailureOr<Guard> settleGuard(te::KernelOp planned, const Kernel &signature, unsigned ownSizes, VariantOptions &options) {
  FailureOr<te::KernelPlan> plan = te::getPlan(planned);
  if (failed(plan))
    return failure();
  auto build = [&] { return GuardBuilder(planned, *plan, signature, options, ownSizes).build(); };
  Guard guard = build();
  if (guard.whyNever.empty())
    return guard;
  if (guard.wideWould && options.mayWiden) {
    options.index32 = false;
    guard = build();
    if (guard.whyNever.empty())
      return guard;
  }
  return emitError(guard.place) << "no call can use this variant: " << guard.whyNever << "; " << guard.wayOut;
}

LogicalResult checkBytesExist(const SizeExpr &bytes, size_t sizes, const std::string &what, Location place) {
  std::vector<SizeRange> open(sizes, {1, kNoLimit});
  if (rangeOf(bytes, open).low <= kMostBytes)
    return success();
  return emitError(place) << what << " cannot exist: it would have more than 2^57 bytes, which is all that can be addressed";
}

LogicalResult checkBlocks(const SizeExpr &grid, size_t sizes, const std::string &launch, Location place) {
  std::vector<SizeRange> open(sizes, {1, kNoLimit});
  int64_t least = rangeOf(grid, open).low;
  if (least <= std::numeric_limits<int32_t>::max())
    return success();
  return emitError(place) << "launch '" << launch << "' has " << least
                          << " blocks, and a GPU takes 2^31 - 1; divide the work among several calls";
}

LogicalResult checkTensorsExist(ModuleOp module) {
  bool exist = true;
  for (auto kernel : module.getOps<te::KernelOp>()) {
    std::vector<SizeRange> open(kernel.getNumSizes(), {0, kNoLimit});
    std::vector<std::string> names;
    for (unsigned i = 0; i < kernel.getNumSizes(); ++i)
      names.push_back(kernel.getSizeName(i).str());
    auto check = [&](Attribute named, Attribute type, AffineMap shape) {
      StringRef name = cast<StringAttr>(named).getValue();
      auto typeName = cast<StringAttr>(type);
      SizeExpr bits(elementBits(te::getElementType(typeName)));
      std::vector<std::string> dims;
      for (AffineExpr e : shape.getResults()) {
        SizeExpr dim = sizeExprOf(e);
        bits = bits * dim;
        dims.push_back(dim.toString(names));
      }
      if (rangeOf(bits, open).low <= kMostBytes * 8)
        return;
      emitError(placeOfParam(kernel, name)) << "'" << name << "' cannot exist: " << typeName.getValue() << "[" << absl::StrJoin(dims, ", ")
                                            << "] has more than 2^57 bytes, which is all that can be addressed";
      exist = false;
    };
    for (unsigned i = 0; i < kernel.getArgNames().size(); ++i)
      check(kernel.getArgNames()[i], kernel.getArgTypes()[i], kernel.getArgShape(i));
    for (unsigned o = 0; o < kernel.getOutNames().size(); ++o)
      if (kernel.getAlias(o) < 0)
        check(kernel.getOutNames()[o], kernel.getOutTypes()[o], kernel.getOutShape(o));
  }
  return success(exist);
}

} // namespace kernelc
