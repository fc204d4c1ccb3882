// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/PlanAttr.h"

#include "passes/plan/Beside.h"
#include "passes/plan/Legality.h"

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace kernelc::te {

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
        b.getNamedAttr("unit", b.getStringAttr(nameOf(l.unit))),
        b.getNamedAttr("cluster_index", b.getI64IntegerAttr(l.clusterIndex)),
    };
    if (!l.loops.empty())
      fields.push_back(b.getNamedAttr("loops", b.getDenseI64ArrayAttr(l.loops)));
    if (!l.unroll.empty())
      fields.push_back(b.getNamedAttr("unroll", b.getDenseI64ArrayAttr(l.unroll)));
    for (const ScheduleNumber &n : kScheduleNumbers)
      if (!isLeftOut(n, l))
        fields.push_back(b.getNamedAttr(n.key, b.getI64IntegerAttr(l.*n.field)));
    for (const ScheduleFlag &f : kScheduleFlags)
      if (!isLeftOut(f, l))
        fields.push_back(b.getNamedAttr(f.key, b.getBoolAttr(l.*f.field)));
    launches.push_back(b.getDictionaryAttr(fields));
  }
  kernel.setPlanAttr(b.getDictionaryAttr({
      b.getNamedAttr("target", b.getStringAttr(plan.target)),
      b.getNamedAttr("size_div", b.getDenseI64ArrayAttr(plan.sizeDiv)),
      b.getNamedAttr("size_max", b.getDenseI64ArrayAttr(plan.sizeMax)),
      b.getNamedAttr("launches", b.getArrayAttr(launches)),
  }));
}

namespace {

/// The fields of one dictionary of a plan. One that is missing leaves what was there; one of another type is malformed.
class Fields {
public:
  explicit Fields(DictionaryAttr fields) : fields_(fields) {}

  void read(StringRef key, SmallVectorImpl<int64_t> &list) {
    if (auto a = get<DenseI64ArrayAttr>(key))
      list.assign(a.asArrayRef().begin(), a.asArrayRef().end());
  }
  void read(StringRef key, int64_t &number) {
    auto a = get<IntegerAttr>(key);
    if (a && a.getType().isSignlessInteger(64))
      number = a.getInt();
    else if (a)
      malformed_ = key;
  }
  void read(StringRef key, bool &flag) {
    if (auto a = get<BoolAttr>(key))
      flag = a.getValue();
  }
  void read(StringRef key, std::string &text) {
    if (auto a = get<StringAttr>(key))
      text = a.getValue().str();
  }
  void read(StringRef key, AffineMap &map) {
    if (auto a = get<AffineMapAttr>(key))
      map = a.getValue();
  }
  /// `visit` says of each entry whether it is well formed.
  void read(StringRef key, llvm::function_ref<bool(Attribute)> visit) {
    if (auto a = get<ArrayAttr>(key); a && !llvm::all_of(a, visit))
      malformed_ = key;
  }
  /// The last field that was of another type; empty where there was none.
  StringRef malformed() const { return malformed_; }

private:
  template <typename T> T get(StringRef key) {
    Attribute a = fields_.get(key);
    if (a && !isa<T>(a))
      malformed_ = key;
    return dyn_cast_or_null<T>(a);
  }

  DictionaryAttr fields_;
  StringRef malformed_;
};

/// Whether `list` holds numbers below `count`, each once.
bool areDistinct(ArrayRef<int64_t> list, size_t count) {
  llvm::BitVector found(count);
  for (int64_t i : list) {
    if (i < 0 || size_t(i) >= count || found[i])
      return false;
    found.set(i);
  }
  return true;
}

constexpr int64_t kMostPoints = int64_t(1) << 31; ///< of a launch's tile

/// What makes a launch's index space one, and its statements statements of it.
LogicalResult checkIndexSpace(KernelOp kernel, const LaunchPlan &l, ArrayRef<Operation *> ops) {
  size_t rank = l.indices.size();
  auto wrong = [&] { return kernel.emitOpError() << "plan of launch '" << l.name << "'"; };
  if (!l.extents || l.extents.getNumResults() != rank || l.tiles.size() != rank || l.dims.size() != l.ops.size())
    return wrong() << ": indices, extents, tiles and dims disagree";
  if (l.extents.getNumDims() || l.extents.getNumSymbols() != kernel.getNumSizes())
    return wrong() << ": extents must be a map from the kernel's sizes";
  if (l.ops.empty() || !areDistinct(l.ops, ops.size()) || !llvm::is_sorted(l.ops) || !areDistinct(l.grid, rank) ||
      !areDistinct(l.loops, rank) || llvm::any_of(l.loops, [&](int64_t i) { return llvm::is_contained(l.grid, i); }))
    return wrong() << " names a statement or an index that is not there, none, or one twice or out of order";
  for (auto [op, dims] : llvm::zip(l.ops, l.dims)) {
    // What a scan combines, and what its results are, lie along one index.
    SmallVector<int64_t> distinct(dims);
    if (std::optional<Scan> scan = findScanOf(ops[op]);
        scan && distinct.size() > scan->reduced && distinct[scan->reduced] == distinct[scan->along])
      distinct.erase(distinct.begin() + scan->reduced);
    if (!areDistinct(distinct, rank))
      return wrong() << " names a statement or an index that is not there";
    AffineMap own = getExtents(ops[op]);
    if (own.getNumResults() != dims.size() ||
        !llvm::all_of(llvm::zip(own.getResults(), dims), [&](auto d) { return std::get<0>(d) == l.extents.getResult(std::get<1>(d)); }))
      return wrong() << ": statement " << op << " has other extents than the indices that 'dims' gives it";
  }
  // Of the indices that some statement has together: what they share a loop for has others.
  for (ArrayRef<int64_t> dims : l.dims) {
    int64_t points = 1;
    for (int64_t d : dims) {
      int64_t t = l.tiles[d];
      if (t <= 0)
        break; // a schedule may say that
      if (t > kMostPoints / points)
        return wrong() << ": tiles of more than " << kMostPoints << " points";
      points *= t;
    }
  }
  return success();
}

/// A statement runs in one launch, and what it reads is made in that or one before it.
LogicalResult checkOrder(KernelOp kernel, const KernelPlan &plan, ArrayRef<Operation *> ops) {
  llvm::DenseMap<Operation *, size_t> launchOf;
  for (auto [n, l] : llvm::enumerate(plan.launches))
    for (int64_t ordinal : l.ops)
      if (!launchOf.try_emplace(ops[ordinal], n).second)
        return kernel.emitOpError() << "plan of launch '" << l.name << "': statement " << ordinal << " is another launch's, too";
  for (auto [ordinal, op] : llvm::enumerate(ops)) {
    auto own = launchOf.find(op);
    if (own == launchOf.end())
      return kernel.emitOpError() << "has a plan without statement " << ordinal;
    WalkResult result = op->walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (auto made = launchOf.find(v.getDefiningOp()); v.getDefiningOp() && made != launchOf.end() && made->second > own->second)
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return kernel.emitOpError() << "plan of launch '" << plan.launches[own->second].name << "': statement " << ordinal
                                  << " reads what a later launch makes";
  }
  return success();
}

LogicalResult check(KernelOp kernel, const LaunchPlan &l, ArrayRef<Operation *> ops) {
  if (failed(checkIndexSpace(kernel, l, ops)))
    return failure();
  if (!l.unroll.empty() && l.unroll.size() != l.indices.size())
    return kernel.emitOpError() << "plan of launch '" << l.name << "': 'unroll' has " << l.unroll.size() << " entries for "
                                << l.indices.size() << " indices";
  return checkRecord(kernel, l, ops);
}

} // namespace

std::optional<int64_t> findScannedIndex(const LaunchPlan &l, ArrayRef<Operation *> ops) {
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims))
    if (std::optional<Scan> scan = findScanOf(ops[ordinal]); scan && dims[scan->along] == dims[scan->reduced])
      return dims[scan->along];
  return std::nullopt;
}

bool isReducedOver(const LaunchPlan &l, size_t member, ArrayRef<Operation *> ops, int64_t index) {
  ArrayRef<int64_t> dims = l.dims[member], kept = dims.take_front(getNumParallel(ops[l.ops[member]]));
  return llvm::is_contained(dims.drop_front(kept.size()), index) && !llvm::is_contained(kept, index);
}

bool isMadeIn(const LaunchPlan &l, ArrayRef<Operation *> ops, Value tensor) {
  Operation *maker = tensor.getDefiningOp();
  return maker && llvm::any_of(l.ops, [&](int64_t ordinal) { return ops[ordinal] == maker; });
}

bool isStored(const LaunchPlan &l, ArrayRef<Operation *> ops, Value result) {
  Operation *kernel = result.getDefiningOp()->getParentOp();
  return llvm::any_of(result.getUsers(), [&](Operation *user) {
    Operation *statement = user;
    while (statement->getParentOp() != kernel)
      statement = statement->getParentOp();
    return statement == user || llvm::none_of(l.ops, [&](int64_t ordinal) { return ops[ordinal] == statement; });
  });
}

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

SmallVector<int64_t> expectedSizes(ArrayRef<int64_t> max, ArrayRef<int64_t> like) {
  SmallVector<int64_t> expected(max);
  expected.resize(std::max(max.size(), like.size()), -1);
  for (auto [i, n] : llvm::enumerate(like))
    if (expected[i] < 0)
      expected[i] = n;
  return expected;
}

FailureOr<KnownTarget> getKnownTarget(KernelOp kernel, StringRef name, ArrayRef<int64_t> div, ArrayRef<int64_t> max,
                                      ArrayRef<int64_t> like) {
  FailureOr<const Target *> found = getTarget(kernel, name);
  if (failed(found) || failed(checkSizeFacts(kernel, div, max)))
    return failure();
  return KnownTarget{*found, llvm::to_vector(div), llvm::to_vector(max), expectedSizes(max, like)};
}

/// A launch as its record says; what it says of the kernel is not checked yet.
static FailureOr<LaunchPlan> readLaunch(KernelOp kernel, DictionaryAttr dict) {
  LaunchPlan l;
  Fields fields(dict);
  fields.read("name", l.name);
  fields.read("ops", l.ops);
  fields.read("dims", [&](Attribute entry) {
    auto list = dyn_cast<DenseI64ArrayAttr>(entry);
    if (list)
      l.dims.emplace_back(list.asArrayRef());
    return bool(list);
  });
  fields.read("indices", [&](Attribute entry) {
    auto name = dyn_cast<StringAttr>(entry);
    if (name)
      l.indices.push_back(name.getValue().str());
    return bool(name);
  });
  fields.read("extents", l.extents);
  fields.read("tiles", l.tiles);
  fields.read("grid", l.grid);
  fields.read("loops", l.loops);
  fields.read("unroll", l.unroll);
  std::string unit(nameOf(l.unit));
  fields.read("unit", unit);
  std::optional<Unit> known = findUnit(unit);
  if (!known)
    return kernel.emitOpError() << "plan of launch '" << l.name << "': 'unit' must be " << kUnitNames << ", not '" << unit << "'";
  l.unit = *known;
  fields.read("cluster_index", l.clusterIndex);
  for (const ScheduleNumber &n : kScheduleNumbers) {
    l.*n.field = std::max(n.least, l.*n.field);
    fields.read(n.key, l.*n.field);
  }
  for (const ScheduleFlag &f : kScheduleFlags)
    fields.read(f.key, l.*f.field);
  if (!fields.malformed().empty())
    return kernel.emitOpError() << "plan of launch '" << l.name << "': '" << fields.malformed() << "' is malformed";
  return l;
}

FailureOr<KernelPlan> getPlan(KernelOp kernel) {
  DictionaryAttr dict = kernel.getPlanAttr();
  if (!dict)
    return kernel.emitOpError() << "has no plan; run te-plan first";
  KernelPlan plan;
  Fields all(dict);
  all.read("target", plan.target);
  all.read("size_div", plan.sizeDiv);
  all.read("size_max", plan.sizeMax);
  SmallVector<Operation *> ops = getDomainOps(kernel);
  auto launches = dict.getAs<ArrayAttr>("launches");
  if (!launches || !all.malformed().empty() || plan.sizeDiv.size() != kernel.getNumSizes() || plan.sizeMax.size() != kernel.getNumSizes())
    return kernel.emitOpError() << "has a malformed plan";
  if (failed(checkSizeFacts(kernel, plan.sizeDiv, plan.sizeMax)) || failed(getTarget(kernel, plan.target)))
    return failure();
  for (Attribute a : launches) {
    auto d = dyn_cast<DictionaryAttr>(a);
    if (!d)
      return kernel.emitOpError() << "has a malformed plan";
    FailureOr<LaunchPlan> l = readLaunch(kernel, d);
    if (failed(l) || failed(check(kernel, *l, ops)))
      return failure();
    if (l->dependent && plan.launches.empty())
      return kernel.emitOpError() << "plan of launch '" << l->name << "': no launch before it that it could depend on";
    plan.launches.push_back(std::move(*l));
  }
  if (failed(checkOrder(kernel, plan, ops)) || failed(checkBeside(kernel, plan)))
    return failure();
  return plan;
}

} // namespace kernelc::te
