// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/Memories.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Inouts.h"

using namespace mlir;

namespace kernelc::te {

namespace {

StringRef nameOf(Value v) {
  auto name = v.getDefiningOp()->getAttrOfType<StringAttr>("name");
  return name ? name.getValue() : "workspace";
}

} // namespace

Places placeTensors(KernelOp kernel) {
  Places places;
  auto &source = places.source;
  int64_t args = kernel.getBlock().getNumArguments(), outputs = 0;
  for (BlockArgument a : kernel.getBlock().getArguments())
    source[a] = a.getArgNumber();
  for (auto [i, v] : llvm::enumerate(kernel.getReturn().getOperands())) {
    int64_t alias = kernel.getAlias(i);
    int64_t own = alias >= 0 ? alias : args + outputs++;
    if (auto it = source.find(v); it != source.end() && it->second != own && !places.torn)
      places.torn = i;
    for (Value chain = v; chain; chain = findInit(chain.getDefiningOp()))
      if (!isa<BlockArgument>(chain))
        source[chain] = own;
  }
  int64_t workspaces = 0;
  for (Operation *op : getDomainOps(kernel))
    for (Value v : op->getResults())
      if (!source.contains(v)) {
        Value init = findInit(op);
        source[v] = init ? source.lookup(init) : -1 - workspaces++;
      }
  for (Operation *op : getDomainOps(kernel))
    if (auto recurrence = dyn_cast<RecurrenceOp>(op))
      for (Region &region : recurrence->getRegions())
        source[region.front().getArguments().back()] = source.lookup(recurrence.getResult());
  return places;
}

Memories::Memories(KernelOp kernel) {
  Places places = placeTensors(kernel);
  llvm::MapVector<int64_t, Memory> bySource;
  for (auto [n, v] : llvm::enumerate(kernel.getReturn().getOperands())) {
    Memory &m = bySource[places.source.lookup(v)];
    m.name = cast<StringAttr>(kernel.getOutNames()[n]).getValue();
    if (int64_t alias = kernel.getAlias(n); alias >= 0)
      m.versions.assign(1, kernel.getBlock().getArgument(alias));
  }
  for (Operation *op : getDomainOps(kernel))
    for (Value v : op->getResults())
      bySource[places.source.lookup(v)].versions.push_back(v);
  for (auto &[source, m] : bySource) {
    if (m.versions.size() < 2)
      continue;
    if (m.name.empty())
      m.name = nameOf(m.versions.back());
    for (auto [n, v] : llvm::enumerate(m.versions))
      at_[v] = {memories_.size(), n};
    memories_.push_back(std::move(m));
  }
}

const Memory *Memories::find(Value tensor, size_t &version) const {
  auto it = at_.find(tensor);
  if (it == at_.end())
    return nullptr;
  version = it->second.second;
  return &memories_[it->second.first];
}

Operation *Memories::findOverwriter(ReadOp read, Operation *reader) const {
  size_t version = 0;
  const Memory *memory = find(read.getTensor(), version);
  if (!memory)
    return nullptr;
  for (Value later : ArrayRef(memory->versions).drop_front(version + 1)) {
    Operation *writer = later.getDefiningOp();
    bool apart = readsApart(read, reader, writer);
    if (writer == reader) // which stands before those that write later
      return apart || readsOwnPoint(read, writer) ? nullptr : writer;
    if (!apart)
      return writer;
  }
  return nullptr;
}

} // namespace kernelc::te
