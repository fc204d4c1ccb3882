// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/EqualLaunches.h"

#include "ir/cu/Cu.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace kernelc {
namespace {

/// Takes away what does not reach the code: comments, the entry's name, where its arguments come from. (Other names are
/// locations, which the comparison ignores.)
void keepCodeOnly(cu::KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  kernel.setSymName("k");
  kernel.setSchedule("");
  kernel.setArgSourcesAttr(ArrayAttr::get(context, {}));
  kernel.setGrid(AffineMap::getConstantMap(0, context)); // how many blocks run it
  SmallVector<Operation *> comments;
  kernel.walk([&](cu::CommentOp comment) { comments.push_back(comment); });
  for (Operation *comment : comments)
    comment->erase();
}

} // namespace

OwningOpRef<ModuleOp> shareEntries(ModuleOp module, Variant &variant) {
  OwningOpRef<ModuleOp> printed = module.clone();
  if (variant.launches.size() < 2)
    return printed;
  OwningOpRef<ModuleOp> codes = module.clone();
  auto kernels = llvm::to_vector(printed->getOps<cu::KernelOp>());
  auto code = llvm::to_vector(codes->getOps<cu::KernelOp>());
  for (cu::KernelOp kernel : code)
    keepCodeOnly(kernel);
  SmallVector<size_t> first; // of those that differ
  for (size_t i = 0; i < code.size(); ++i) {
    auto equal = llvm::find_if(
        first, [&](size_t f) { return OperationEquivalence::isEquivalentTo(code[f], code[i], OperationEquivalence::IgnoreLocations); });
    if (equal == first.end()) {
      first.push_back(i);
      continue;
    }
    variant.launches[i].entry = variant.launches[*equal].entry;
    kernels[i].erase();
  }
  return printed;
}

} // namespace kernelc
