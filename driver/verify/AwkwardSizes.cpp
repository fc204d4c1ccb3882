// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/AwkwardSizes.h"

#include <numeric>
#include <random>
#include <set>

#include "ir/tile/Tile.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "passes/index/Strides.h"

using namespace mlir;

namespace kernelc {
namespace {

/// Beyond this product of all sizes a run in the interpreter takes seconds.
constexpr double kMaxWork = 5e4;

void meet(SizeFact &fact, int64_t divisor, int64_t max) {
  fact.divisor = std::lcm(fact.divisor, std::max<int64_t>(divisor, 1));
  if (max >= 0)
    fact.max = fact.max < 0 ? max : std::min(fact.max, max);
}

/// The numbers of `key=1,2,3` or `key={1,2,3}` wherever it stands in `text`.
void forEachOption(llvm::StringRef text, llvm::StringRef key, llvm::function_ref<void(size_t, int64_t)> fn) {
  for (size_t at = text.find(key); at != llvm::StringRef::npos; at = text.find(key, at + 1)) {
    llvm::StringRef rest = text.substr(at + key.size());
    rest.consume_front("{");
    int64_t number;
    for (size_t i = 0; !rest.consumeInteger(10, number); ++i) {
      fn(i, number);
      if (!rest.consume_front(","))
        break;
    }
  }
}

/// The extents of tiles in the functions and plans of `module`.
std::set<int64_t> findTiles(ModuleOp module) {
  std::set<int64_t> tiles;
  auto add = [&](Attribute a) {
    if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(a))
      for (int64_t t : list.asArrayRef())
        if (t > 1 && t <= 128)
          tiles.insert(t);
  };
  for (Operation &op : *module.getBody()) {
    if (auto func = dyn_cast<tile::FuncOp>(op))
      add(func.getTilesAttr());
    auto kernel = dyn_cast<te::KernelOp>(op);
    DictionaryAttr plan = kernel ? kernel.getPlanAttr() : DictionaryAttr();
    auto launches = plan ? plan.getAs<ArrayAttr>("launches") : ArrayAttr();
    for (Attribute l : launches ? launches.getValue() : llvm::ArrayRef<Attribute>())
      if (auto launch = dyn_cast<DictionaryAttr>(l))
        add(launch.get("tiles"));
  }
  if (tiles.empty())
    tiles = {32, 64};
  return tiles;
}

} // namespace

std::vector<SizeFact> findSizeFacts(ModuleOp module, te::KernelOp kernel, llvm::StringRef pipeline) {
  std::vector<SizeFact> facts(kernel.getNumSizes());
  auto divides = [&](size_t i, int64_t n) {
    if (i < facts.size())
      meet(facts[i], n, -1);
  };
  auto bounds = [&](size_t i, int64_t n) {
    if (i < facts.size())
      meet(facts[i], 1, n);
  };
  forEachOption(pipeline, "size-div=", divides);
  forEachOption(pipeline, "size-max=", bounds);
  auto both = [&](Attribute div, Attribute max) {
    if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(div))
      for (auto [i, n] : llvm::enumerate(list.asArrayRef()))
        divides(i, n);
    if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(max))
      for (auto [i, n] : llvm::enumerate(list.asArrayRef()))
        bounds(i, n);
  };
  if (DictionaryAttr plan = kernel.getPlanAttr())
    both(plan.get("size_div"), plan.get("size_max"));
  for (auto func : module.getOps<tile::FuncOp>())
    if (func.getKernel() == kernel.getSymName())
      both(func.getSizeDivAttr(), func.getSizeMaxAttr());
  return facts;
}

std::set<size_t> setDenseStrides(te::KernelOp kernel, const Kernel &signature, std::vector<int64_t> &sizes) {
  std::set<size_t> strides;
  for (size_t p = 0; p < signature.params.size(); ++p) {
    AffineMap map = te::getParamStrides(kernel, int64_t(p));
    if (!map)
      continue;
    int64_t stride = 1;
    for (size_t d = signature.params[p].dims.size(); d-- > 0;) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(map.getResult(d))) {
        sizes[symbol.getPosition()] = stride;
        strides.insert(symbol.getPosition());
      }
      stride *= signature.params[p].dims[d].evaluate({sizes, 1, {}});
    }
  }
  return strides;
}

bool areLegalSizes(const Kernel &signature, const std::vector<SizeFact> &facts, const std::vector<int64_t> &sizes) {
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] % facts[i].divisor || (facts[i].max >= 0 && (sizes[i] > facts[i].max || sizes[i] < 1)))
      return false;
  SizeEnv env{sizes, 1, {}};
  for (const Require &r : signature.requires_)
    if (!r.condition.evaluate(env))
      return false;
  for (const Param &p : signature.params)
    for (const SizeExpr &d : p.dims)
      if (d.evaluate(env) < 1)
        return false;
  return true;
}

std::vector<std::vector<int64_t>> pickAwkwardSizes(ModuleOp module, te::KernelOp kernel, const Kernel &signature,
                                                   const std::vector<SizeFact> &facts, int count, uint64_t seed) {
  std::vector<int64_t> extents = {1, 2, 3, 5, 7, 11, 13};
  for (int64_t tile : findTiles(module))
    extents.insert(extents.end(), {tile - 1, tile, tile + 1});
  std::vector<std::vector<int64_t>> picked;
  std::mt19937_64 random(seed);
  for (int attempt = 0; attempt < 5000 && int(picked.size()) < count; ++attempt) {
    std::vector<int64_t> sizes;
    for (const SizeFact &fact : facts) {
      // Requirements may ask for multiples that no fact names.
      int64_t multiple = std::lcm(fact.divisor, attempt < 1000 ? 1 : int64_t(1) << random() % 8);
      int64_t n = attempt ? extents[random() % extents.size()] : 1;
      sizes.push_back((n + multiple - 1) / multiple * multiple);
    }
    std::set<size_t> strides = setDenseStrides(kernel, signature, sizes);
    double work = 1;
    for (size_t i = 0; i < sizes.size(); ++i)
      work *= strides.count(i) ? 1 : double(sizes[i]);
    // What facts ask for may be more work: then the least of it.
    if ((work > kMaxWork && attempt < 2000) || work > 40 * kMaxWork)
      continue;
    if (areLegalSizes(signature, facts, sizes) && std::find(picked.begin(), picked.end(), sizes) == picked.end())
      picked.push_back(std::move(sizes));
  }
  return picked;
}

} // namespace kernelc
