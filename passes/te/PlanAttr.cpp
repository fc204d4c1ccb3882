#include "passes/te/PlanAttr.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace kernelc::te {

SmallVector<Operation *> getDomainOps(KernelOp kernel) {
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getBlock())
    if (isDomainOp(&op))
      ops.push_back(&op);
  return ops;
}

void setPlan(KernelOp kernel, const KernelPlan &plan) {
  Builder b(kernel.getContext());
  SmallVector<Attribute> launches;
  for (const LaunchPlan &l : plan.launches) {
    SmallVector<Attribute> dims;
    for (const auto &d : l.dims)
      dims.push_back(b.getDenseI64ArrayAttr(d));
    SmallVector<StringRef> names(l.indices.begin(), l.indices.end());
    launches.push_back(b.getDictionaryAttr({
        b.getNamedAttr("name", b.getStringAttr(l.name)),
        b.getNamedAttr("ops", b.getDenseI64ArrayAttr(l.ops)),
        b.getNamedAttr("dims", b.getArrayAttr(dims)),
        b.getNamedAttr("indices", b.getStrArrayAttr(names)),
        b.getNamedAttr("extents", AffineMapAttr::get(l.extents)),
        b.getNamedAttr("tiles", b.getDenseI64ArrayAttr(l.tiles)),
        b.getNamedAttr("grid", b.getDenseI64ArrayAttr(l.grid)),
        b.getNamedAttr("warps", b.getI64IntegerAttr(l.warps)),
        b.getNamedAttr("min_blocks", b.getI64IntegerAttr(l.minBlocks)),
        b.getNamedAttr("raster", b.getI64IntegerAttr(l.raster)),
        b.getNamedAttr("fill_late", b.getBoolAttr(l.fillLate)),
        b.getNamedAttr("stages", b.getI64IntegerAttr(l.stages)),
        b.getNamedAttr("unit", b.getStringAttr(l.unit)),
        b.getNamedAttr("cluster", b.getI64IntegerAttr(l.cluster)),
        b.getNamedAttr("cluster_index", b.getI64IntegerAttr(l.clusterIndex)),
        b.getNamedAttr("persistent", b.getBoolAttr(l.persistent)),
        b.getNamedAttr("dependent", b.getBoolAttr(l.dependent)),
        b.getNamedAttr("producer_warps", b.getI64IntegerAttr(l.producerWarps)),
    }));
  }
  kernel->setAttr("plan", b.getDictionaryAttr({
                              b.getNamedAttr("target", b.getStringAttr(plan.target)),
                              b.getNamedAttr("size_div", b.getDenseI64ArrayAttr(plan.sizeDiv)),
                              b.getNamedAttr("size_max", b.getDenseI64ArrayAttr(plan.sizeMax)),
                              b.getNamedAttr("launches", b.getArrayAttr(launches)),
                          }));
}

namespace {

SmallVector<int64_t> toList(Attribute a) {
  auto list = dyn_cast_or_null<DenseI64ArrayAttr>(a);
  return list ? SmallVector<int64_t>(list.asArrayRef()) : SmallVector<int64_t>();
}
int64_t toInt(Attribute a, int64_t otherwise) {
  auto i = dyn_cast_or_null<IntegerAttr>(a);
  return i ? i.getInt() : otherwise;
}
std::string toString(Attribute a) {
  auto s = dyn_cast_or_null<StringAttr>(a);
  return s ? s.getValue().str() : "";
}

LogicalResult check(KernelOp kernel, const LaunchPlan &l, ArrayRef<Operation *> ops) {
  size_t rank = l.indices.size();
  if (!l.extents || l.extents.getNumResults() != rank || l.tiles.size() != rank || l.dims.size() != l.ops.size())
    return kernel.emitOpError() << "plan of launch '" << l.name << "': indices, extents, tiles and dims disagree";
  for (auto [op, dims] : llvm::zip(l.ops, l.dims)) {
    if (op < 0 || op >= int64_t(ops.size()) || llvm::any_of(dims, [&](int64_t d) { return d < 0 || d >= int64_t(rank); }))
      return kernel.emitOpError() << "plan of launch '" << l.name << "' names a statement or an index that is not there";
  }
  for (int64_t t : l.tiles)
    if (t <= 0 || (t & (t - 1)))
      return kernel.emitOpError() << "plan of launch '" << l.name << "': tile size " << t << " is not a power of two";
  if (l.cluster > 1 && (!l.persistent || !l.producerWarps || !llvm::is_contained(l.grid, l.clusterIndex)))
    return kernel.emitOpError() << "plan of launch '" << l.name << "': a cluster walks tiles of the grid persistently, with producer warps";
  if (l.producerWarps && (l.warps % 4 || l.producerWarps % 4))
    return kernel.emitOpError() << "plan of launch '" << l.name << "': roles are whole warpgroups, not " << l.warps << " and "
                                << l.producerWarps << " warps";
  return success();
}

} // namespace

LogicalResult checkSizeFacts(KernelOp kernel, ArrayRef<int64_t> div, ArrayRef<int64_t> max) {
  unsigned sizes = kernel.getNumSizes();
  if (div.size() > sizes || max.size() > sizes)
    return kernel.emitError() << "size-div or size-max has more entries than the kernel's " << sizes << " sizes";
  for (auto [i, d] : llvm::enumerate(div))
    if (d < 1)
      return kernel.emitError() << "size-div: " << d << " divides no size '" << kernel.getSizeName(i) << "'; 1 says nothing";
  for (auto [i, m] : llvm::enumerate(max))
    if (m < -1)
      return kernel.emitError() << "size-max: " << m << " bounds no size '" << kernel.getSizeName(i) << "'; -1 says nothing";
  return success();
}

FailureOr<KernelPlan> getPlan(KernelOp kernel) {
  auto dict = kernel->getAttrOfType<DictionaryAttr>("plan");
  if (!dict)
    return kernel.emitOpError() << "has no plan; run te-plan first";
  KernelPlan plan;
  plan.target = toString(dict.get("target"));
  plan.sizeDiv = toList(dict.get("size_div"));
  plan.sizeMax = toList(dict.get("size_max"));
  SmallVector<Operation *> ops = getDomainOps(kernel);
  auto launches = dict.getAs<ArrayAttr>("launches");
  if (!launches || plan.sizeDiv.size() != kernel.getNumSizes() || plan.sizeMax.size() != kernel.getNumSizes())
    return kernel.emitOpError() << "has a malformed plan";
  if (failed(checkSizeFacts(kernel, plan.sizeDiv, plan.sizeMax)))
    return failure();
  for (Attribute a : launches) {
    auto d = dyn_cast<DictionaryAttr>(a);
    if (!d)
      return kernel.emitOpError() << "has a malformed plan";
    LaunchPlan l;
    l.name = toString(d.get("name"));
    l.ops = toList(d.get("ops"));
    if (auto dims = d.getAs<ArrayAttr>("dims"))
      for (Attribute list : dims)
        l.dims.push_back(toList(list));
    if (auto names = d.getAs<ArrayAttr>("indices"))
      for (Attribute n : names)
        l.indices.push_back(toString(n));
    if (auto m = d.getAs<AffineMapAttr>("extents"))
      l.extents = m.getValue();
    l.tiles = toList(d.get("tiles"));
    l.grid = toList(d.get("grid"));
    l.warps = toInt(d.get("warps"), 4);
    l.minBlocks = toInt(d.get("min_blocks"), 1);
    l.raster = toInt(d.get("raster"), 1);
    if (auto late = d.getAs<BoolAttr>("fill_late"))
      l.fillLate = late.getValue();
    l.cluster = toInt(d.get("cluster"), 1);
    l.clusterIndex = toInt(d.get("cluster_index"), 0);
    if (auto persistent = d.getAs<BoolAttr>("persistent"))
      l.persistent = persistent.getValue();
    if (auto dependent = d.getAs<BoolAttr>("dependent"))
      l.dependent = dependent.getValue();
    l.stages = toInt(d.get("stages"), 1);
    l.unit = toString(d.get("unit"));
    l.producerWarps = toInt(d.get("producer_warps"), 0);
    if (failed(check(kernel, l, ops)))
      return failure();
    if (l.dependent && plan.launches.empty())
      return kernel.emitOpError() << "plan of launch '" << l.name << "': no launch before it that it could depend on";
    plan.launches.push_back(std::move(l));
  }
  return plan;
}

} // namespace kernelc::te
