// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Faults.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace kernelc::te {

void setFaults(KernelOp kernel, ArrayRef<Fault> faults) {
  Builder b(kernel);
  SmallVector<Attribute> entries;
  for (const Fault &f : faults) {
    SmallVector<StringRef> indices(f.indices.begin(), f.indices.end());
    entries.push_back(
        b.getDictionaryAttr({b.getNamedAttr("at", LocationAttr(f.loc)), b.getNamedAttr("what", b.getStringAttr(f.what)),
                             b.getNamedAttr("indices", b.getStrArrayAttr(indices)), b.getNamedAttr("lows", AffineMapAttr::get(f.lows)),
                             b.getNamedAttr("extents", AffineMapAttr::get(f.extents))}));
  }
  if (entries.empty())
    kernel.removeFaultsAttr();
  else
    kernel.setFaultsAttr(b.getArrayAttr(entries));
}

bool hasValidFaults(KernelOp kernel) {
  ArrayAttr entries = kernel.getFaultsAttr();
  return !entries || llvm::all_of(entries, [](Attribute entry) {
    auto fault = dyn_cast<DictionaryAttr>(entry);
    if (!fault || !fault.getAs<LocationAttr>("at") || !fault.getAs<StringAttr>("what"))
      return false;
    auto names = fault.getAs<ArrayAttr>("indices");
    auto lows = fault.getAs<AffineMapAttr>("lows"), extents = fault.getAs<AffineMapAttr>("extents");
    return names && lows && extents && llvm::all_of(names, llvm::IsaPred<StringAttr>) && lows.getValue().getNumResults() == names.size() &&
           extents.getValue().getNumResults() == names.size();
  });
}

SmallVector<Fault> getFaults(KernelOp kernel) {
  SmallVector<Fault> faults;
  if (ArrayAttr all = kernel.getFaultsAttr())
    for (auto entry : all.getAsRange<DictionaryAttr>()) {
      Fault f{Location(entry.getAs<LocationAttr>("at")),
              entry.getAs<StringAttr>("what").str(),
              {},
              entry.getAs<AffineMapAttr>("lows").getValue(),
              entry.getAs<AffineMapAttr>("extents").getValue()};
      for (auto name : entry.getAs<ArrayAttr>("indices").getAsRange<StringAttr>())
        f.indices.push_back(name.str());
      faults.push_back(std::move(f));
    }
  return faults;
}

} // namespace kernelc::te
