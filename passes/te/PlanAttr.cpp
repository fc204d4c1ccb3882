#include "passes/te/PlanAttr.h"

#include "passes/te/Sharing.h"

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
    SmallVector<NamedAttribute> fields{
        b.getNamedAttr("name", b.getStringAttr(l.name)),
        b.getNamedAttr("ops", b.getDenseI64ArrayAttr(l.ops)),
        b.getNamedAttr("dims", b.getArrayAttr(dims)),
        b.getNamedAttr("indices", b.getStrArrayAttr(names)),
        b.getNamedAttr("extents", AffineMapAttr::get(l.extents)),
        b.getNamedAttr("tiles", b.getDenseI64ArrayAttr(l.tiles)),
        b.getNamedAttr("grid", b.getDenseI64ArrayAttr(l.grid)),
        b.getNamedAttr("unit", b.getStringAttr(l.unit)),
        b.getNamedAttr("cluster_index", b.getI64IntegerAttr(l.clusterIndex)),
    };
    for (const ScheduleNumber &n : kScheduleNumbers)
      fields.push_back(b.getNamedAttr(n.key, b.getI64IntegerAttr(l.*n.field)));
    for (const ScheduleFlag &f : kScheduleFlags)
      fields.push_back(b.getNamedAttr(f.key, b.getBoolAttr(l.*f.field)));
    launches.push_back(b.getDictionaryAttr(fields));
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
  auto wrong = [&] { return kernel.emitError() << "schedule of launch '" << l.name << "': "; };
  for (int64_t t : l.tiles)
    if (t <= 0 || ((t & (t - 1)) && (l.unit != "wgmma" || t % 8)))
      return wrong() << "tile size " << t << " is not a power of two (nor a multiple of 8, as columns of the unit wgmma may be)";
  if ((l.warps & (l.warps - 1)) && !(l.unit == "wgmma" && l.producerWarps && l.warps == 12))
    return wrong() << l.warps << " warps; they are a power of two, or the 12 of three warpgroups of the unit wgmma beside producer warps";
  if (l.clusterIndex < 0 || l.clusterIndex >= int64_t(std::max<size_t>(1, rank)))
    return wrong() << "a cluster along an index that is not there";
  if (l.cluster > 1 && rank && !llvm::is_contained(l.grid, l.clusterIndex)) {
    if (std::string why = whyNotShared(kernel, l, l.clusterIndex, ops); !why.empty())
      return wrong() << "the blocks of a cluster cannot share '" << l.indices[l.clusterIndex] << "' out: " << why;
    if (l.cluster & (l.cluster - 1))
      return wrong() << "a cluster of " << l.cluster << " blocks; it is a power of two";
  } else if (l.cluster > 1 && !l.producerWarps) {
    return wrong() << "a cluster of " << l.cluster << " blocks shares what producer warps load of a product, and there are none";
  }
  if (l.pingpong > 1 && (!l.producerWarps || l.grid.empty()))
    return wrong() << "pingpong " << l.pingpong << ": teams take tiles of the grid in turns, which producer warps load for them";
  if (l.warps * l.pingpong + l.producerWarps > 32)
    return wrong() << l.warps * l.pingpong + l.producerWarps << " warps; a block has 32";
  if (l.part & (l.part - 1))
    return wrong() << "parts of " << l.part << " columns; they are powers of two";
  if (l.producerWarps && (l.warps % 4 || l.producerWarps % 4))
    return wrong() << "with producer warps roles are whole warpgroups, of 4 warps each, not " << l.warps << " and " << l.producerWarps
                   << " warps";
  return success();
}

} // namespace

FailureOr<const Target *> getTarget(KernelOp kernel, StringRef name) {
  if (const Target *found = findTarget(absl::string_view(name.data(), name.size())))
    return found;
  return kernel.emitError() << "unknown target '" << name << "'";
}

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
    l.unit = toString(d.get("unit"));
    l.clusterIndex = toInt(d.get("cluster_index"), 0);
    for (const ScheduleNumber &n : kScheduleNumbers)
      l.*n.field = toInt(d.get(n.key), std::max(n.least, l.*n.field));
    for (const ScheduleFlag &f : kScheduleFlags)
      if (auto flag = d.getAs<BoolAttr>(f.key))
        l.*f.field = flag.getValue();
    if (failed(check(kernel, l, ops)))
      return failure();
    if (l.dependent && plan.launches.empty())
      return kernel.emitOpError() << "plan of launch '" << l.name << "': no launch before it that it could depend on";
    plan.launches.push_back(std::move(l));
  }
  return plan;
}

} // namespace kernelc::te
