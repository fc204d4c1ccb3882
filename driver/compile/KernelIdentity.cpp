// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/KernelIdentity.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/compile/CacheKeys.h"
#include "ir/te/Faults.h"
#include "ir/te/Te.h"
#include "support/Json.h"
#include "support/StableHash.h"
#include "llvm/Support/raw_ostream.h"

namespace kernelc {
namespace {

using mlir::ArrayAttr;
using mlir::StringAttr;

/// Gives names of one kind numbers, in the order in which they are met.
class Numbering {
public:
  explicit Numbering(char prefix) : prefix_(prefix) {}
  StringAttr operator()(StringAttr name) {
    auto at = std::find(names.begin(), names.end(), name.getValue());
    size_t number = size_t(at - names.begin());
    if (at == names.end())
      names.push_back(name.str());
    return StringAttr::get(name.getContext(), prefix_ + std::to_string(number));
  }
  ArrayAttr operator()(ArrayAttr list) {
    llvm::SmallVector<mlir::Attribute> out;
    for (auto name : list.getAsRange<StringAttr>())
      out.push_back((*this)(name));
    return ArrayAttr::get(list.getContext(), out);
  }
  std::vector<std::string> names;

private:
  char prefix_;
};

KernelIdentity identify(te::KernelOp kernel) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(kernel.getContext()));
  auto op = mlir::cast<te::KernelOp>(kernel->clone());
  module->push_back(op);
  Numbering sizes('s'), tensors('t'), indices('i');
  op.setSymName("k");
  op.setSizesAttr(sizes(op.getSizes()));
  op.setArgNamesAttr(tensors(op.getArgNames()));
  op.setOutNamesAttr(tensors(op.getOutNames()));
  op.setRequirementTextsAttr(ArrayAttr::get(op.getContext(), {})); // spellings of the requirements, which are compared themselves
  te::setFaults(op, {});                                           // messages of guards, with places in the file: the code is the same
  op->walk([&](mlir::Operation *statement) {
    if (auto list = statement->getAttrOfType<ArrayAttr>("indices"))
      statement->setAttr("indices", indices(list));
    if (auto name = statement->getAttrOfType<StringAttr>("name"))
      statement->setAttr("name", tensors(name));
  });
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return {toHex(Sha256::of(text)), std::move(sizes.names), std::move(indices.names), std::move(tensors.names)};
}

absl::StatusOr<KernelIdentity> identityUnder(const Program &program, const std::string &name, const Constants &constants) {
  ProgramOptions options = program.options();
  options.constants = constants;
  options.kernel = name;
  options.schedule.clear();
  absl::StatusOr<std::shared_ptr<Program>> alone = Program::create(program.text(), std::move(options));
  if (!alone.ok())
    return alone.status();
  absl::StatusOr<KernelIdentity> identity = absl::NotFoundError(absl::StrCat("there is no kernel '", name, "'"));
  absl::Status status = (*alone)->withModule([&](mlir::ModuleOp module) {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == name)
        identity = identify(op);
    return identity.status();
  });
  return status.ok() ? identity : status;
}

JsonArray toJson(const std::vector<std::string> &names) { return JsonArray(names.begin(), names.end()); }

bool readNames(const Json *list, std::vector<std::string> &names) {
  if (!list || !list->asArray())
    return false;
  for (const Json &n : *list->asArray()) {
    if (!n.asString())
      return false;
    names.push_back(*n.asString());
  }
  return true;
}

} // namespace

absl::StatusOr<KernelIdentity> identityOf(const Program &program, const std::string &name) {
  Constants constants = program.options().constants;
  absl::StatusOr<KernelIdentity> identity = identityUnder(program, name, constants);
  // A constant without which the kernel has a size of its name has fixed that size.
  for (const auto &[constant, value] : program.options().constants) {
    Constants fewer = constants;
    fewer.erase(constant);
    if (!identity.ok() || !std::holds_alternative<int64_t>(value))
      continue;
    absl::StatusOr<KernelIdentity> free = identityUnder(program, name, fewer);
    if (!free.ok() || std::find(free->sizes.begin(), free->sizes.end(), constant) == free->sizes.end())
      continue;
    identity = std::move(free);
    constants = std::move(fewer);
  }
  return identity;
}

absl::StatusOr<KernelIdentity> identityOf(const Program &program, const std::string &name, DiskCache &cache) {
  CacheKey key = requestKey(program, "identity of " + name, "");
  key.note("program", name);
  absl::StatusOr<std::string> text = cache.getOrCompute(DiskCache::Kind::Request, key, [&]() -> absl::StatusOr<std::string> {
    absl::StatusOr<KernelIdentity> fresh = identityOf(program, name);
    if (!fresh.ok())
      return fresh.status();
    return printJson(JsonObject{{"digest", fresh->digest},
                                {"sizes", toJson(fresh->sizes)},
                                {"indices", toJson(fresh->indices)},
                                {"tensors", toJson(fresh->tensors)}});
  });
  if (!text.ok())
    return text.status();
  absl::StatusOr<Json> json = parseJson(*text);
  KernelIdentity identity;
  if (!json.ok() || !json->find("digest") || !json->find("digest")->asString() || !readNames(json->find("sizes"), identity.sizes) ||
      !readNames(json->find("indices"), identity.indices) || !readNames(json->find("tensors"), identity.tensors))
    return identityOf(program, name); // written by a build that thought otherwise
  identity.digest = *json->find("digest")->asString();
  return identity;
}

std::string renamed(const std::string &name, const std::vector<std::string> &from, const std::vector<std::string> &to) {
  std::string result;
  for (size_t at = 0; at < name.size();) {
    size_t best = from.size(), length = 0;
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
      size_t end = at + from[i].size();
      if (from[i].size() > length && name.compare(at, from[i].size(), from[i]) == 0 && (end == name.size() || name[end] == '_'))
        best = i, length = from[i].size();
    }
    if (best < from.size())
      result += to[best];
    else
      length = std::min(name.find('_', at), name.size()) - at, result += name.substr(at, length);
    at += length;
    if (at < name.size() && name[at] == '_')
      result += name[at++];
  }
  return result;
}

} // namespace kernelc
