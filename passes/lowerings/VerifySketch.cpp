// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/VerifySketch.h"

#include "ir/te/InternalError.h"
#include "ir/te/TeShape.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc {

using namespace te;

namespace {

/// What the function moves: a tensor's source, and a box.
struct Moved {
  int64_t source;
  SmallVector<int64_t> box;
};

std::string boxText(ArrayRef<int64_t> box) {
  return llvm::join(llvm::map_range(box, [](int64_t n) { return std::to_string(n); }), " x ");
}

class SketchVerifier {
public:
  SketchVerifier(const LaunchPlan &launch, LaunchSketch sketch, tile::FuncOp func) : l_(launch), sketch_(std::move(sketch)), func_(func) {}

  LogicalResult run() {
    if (func_.getExtents() != l_.extents || func_.getTiles() != ArrayRef(l_.tiles) || func_.getGridDims() != ArrayRef(l_.grid))
      return wrong("S1") << "it has other extents, tiles or grid than its plan";
    collect();
    for (const Moved &m : loads_)
      if (llvm::none_of(sketch_.loads, [&](const Transfer &t) { return t.source == m.source && isWithin(m.box, t.box); }))
        return wrong("S2") << "it takes a box of " << boxText(m.box) << " of " << nameOf(m.source) << ", which the plan does not count";
    for (const Transfer &t : sketch_.loads)
      if (!t.isAsked && !isAmong(t, loads_))
        return wrong("S3") << "it does not take the box of " << boxText(t.box) << " of " << nameOf(t.source) << " that the plan counts";
    for (const Moved &m : stores_)
      if (llvm::none_of(sketch_.stores, [&](const Transfer &t) { return t.source == m.source && m.box == t.box; }))
        return wrong("S4") << "it leaves a box of " << boxText(m.box) << " in " << nameOf(m.source) << ", which the plan does not count";
    for (const Transfer &t : sketch_.stores)
      if (!isAmong(t, stores_))
        return wrong("S4") << "it does not leave the box of " << boxText(t.box) << " in " << nameOf(t.source) << " that the plan counts";
    return success();
  }

private:
  InFlightDiagnostic wrong(StringRef rule) {
    return emitInternalError(func_) << "launch '" << l_.name << "' is not as it was planned [" << rule << "]: ";
  }
  static bool isWithin(ArrayRef<int64_t> inner, ArrayRef<int64_t> outer) {
    return llvm::all_of(llvm::zip(inner, outer), [](auto pair) { return std::get<0>(pair) <= std::get<1>(pair); });
  }
  static bool isAmong(const Transfer &t, ArrayRef<Moved> moved) {
    return llvm::any_of(moved, [&](const Moved &m) { return m.source == t.source && m.box == t.box; });
  }
  std::string nameOf(int64_t source) {
    const auto *at = llvm::find(func_.getSources(), source);
    return at == func_.getSources().end()
               ? "a tensor that it does not have"
               : ("'" + cast<StringAttr>(func_.getArgNames()[at - func_.getSources().begin()]).getValue() + "'").str();
  }
  int64_t sourceOf(Value base) { return func_.getSources()[cast<BlockArgument>(base).getArgNumber()]; }

  void collect() {
    func_.walk([&](Operation *op) {
      auto add = [&](std::vector<Moved> &to, Value base, Value moved) {
        if (tile::isOwnMemory(sourceOf(base)))
          return;
        to.push_back({sourceOf(base), SmallVector<int64_t>(cast<RankedTensorType>(moved.getType()).getShape())});
      };
      if (auto load = dyn_cast<tile::LoadOp>(op))
        add(loads_, load.getBase(), load.getResult());
      else if (auto store = dyn_cast<tile::StoreOp>(op))
        add(stores_, store.getBase(), store.getValue());
      else if (auto scatter = dyn_cast<tile::ScatterOp>(op))
        add(stores_, scatter.getBase(), scatter.getValue());
    });
  }

  const LaunchPlan &l_;
  LaunchSketch sketch_;
  tile::FuncOp func_;
  std::vector<Moved> loads_, stores_;
};

} // namespace

LogicalResult verifySketches(KernelOp kernel, const KernelPlan &plan, const llvm::DenseMap<Value, int64_t> &source,
                             ArrayRef<tile::FuncOp> functions) {
  for (auto [n, launch] : llvm::enumerate(plan.launches)) {
    auto isOf = [&, n = n](tile::FuncOp f) { return f.getKernel() == kernel.getSymName() && int64_t(f.getNumber()) == int64_t(n); };
    if (llvm::count_if(functions, isOf) != 1)
      return emitInternalError(kernel) << "launch '" << launch.name << "' of the plan is not one function [S1]";
    if (failed(SketchVerifier(launch, sketchLaunch(kernel, launch, source), *llvm::find_if(functions, isOf)).run()))
      return failure();
  }
  return success();
}

} // namespace kernelc
