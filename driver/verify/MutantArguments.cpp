// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/verify/MutantArguments.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "driver/compile/SizeExprOf.h"
#include "driver/verify/HostValues.h"
#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace kernelc {
namespace {

/// Parameters whose elements the index value `v` is made of.
void findSources(Value v, const std::map<void *, size_t> &params, llvm::SmallPtrSetImpl<void *> &seen, std::vector<size_t> &found) {
  Operation *op = v.getDefiningOp();
  if (!op || !seen.insert(v.getAsOpaquePointer()).second)
    return;
  if (auto read = dyn_cast<te::ReadOp>(op)) {
    if (auto it = params.find(read.getTensor().getAsOpaquePointer()); it != params.end())
      found.push_back(it->second);
    else if (Operation *definition = read.getTensor().getDefiningOp(); definition && te::isDomainOp(definition))
      for (Value y : te::getYield(definition).getValues())
        findSources(y, params, seen, found);
    return;
  }
  for (Value o : op->getOperands())
    findSources(o, params, seen, found);
}

/// Sizes to draw from: ones, primes, powers of two and their neighbours.
constexpr int64_t kExtents[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 24, 31, 32, 33, 40, 64, 65, 72, 136, 200};
constexpr size_t kFew = 10; ///< of them, for kernels of many sizes
constexpr int64_t kSeveral[] = {1, 2, 3, 8, 40, 72, 104, 136, 200, 264};

/// What floating tensors hold: numbers of either sign or of one, and then a NaN each; or numbers far below one, of many magnitudes.
/// A mask whose zeros meet zeros anyway is seen by the NaN that it lets in; one before a maximum by zeros among negative numbers; one
/// that keeps a short form of a quotient, say, to the numbers for which it is exact by those for which it is not.
enum class Floats { Mixed, Negative, Positive, Tiny };

class Picker {
public:
  Picker(const Kernel &kernel, const Variant &variant, const LaunchedPoints &points, double mostPoints,
         const std::map<size_t, SubscriptUse> &uses)
      : kernel_(kernel), variant_(variant), points_(points), mostPoints_(mostPoints), uses_(uses) {}

  std::vector<std::unique_ptr<MutantArguments>> picked;

  void pick(unsigned seed, int count, bool large, Floats floats = Floats::Mixed) {
    random_.seed(seed);
    floats_ = floats;
    for (int attempt = 0, found = 0; attempt < 5000 && found < count; ++attempt) {
      std::vector<int64_t> sizes;
      double work = 1;
      for (const SizeRecipe &r : kernel_.sizes) {
        size_t choices = kernel_.sizes.size() > 3 ? kFew : std::size(kExtents);
        int64_t n = large ? kSeveral[random_() % std::size(kSeveral)] : kExtents[random_() % choices];
        // Guards ask for multiples of 16 bytes, of some sizes; where nothing else is legal, requirements for more.
        int64_t multiple = attempt > 2500 && random_() % 2 ? 128 : attempt > 500 && attempt % 4 == 1 ? 32 : 8;
        if (attempt % 2 == 0 || random_() % 2)
          multiple = 1;
        sizes.push_back(r.constant ? *r.constant : (n + multiple - 1) / multiple * multiple);
        work *= double(sizes.back());
      }
      double most = large ? 1e6 : sizes.size() > 4 ? 5e4 : 4e6, least = sizes.size() > 2 ? 3e5 : sizes.size() > 1 ? 5e3 : 300;
      if (work <= most && (!large || attempt >= 4000 || work >= least))
        found += add(std::move(sizes));
    }
  }

  /// n for as many sizes as a run has time for, those of wide tiles first (where `narrow` is 1 no others), and `narrow` for
  /// the rest, or the next number that guards let through.
  void pickWide(const TileWidths &widths, int64_t n, int64_t narrow = 2, Floats floats = Floats::Mixed) {
    floats_ = floats;
    constexpr double kPoints = 5e5;
    std::vector<std::pair<int64_t, std::string>> order;
    for (const SizeRecipe &r : kernel_.sizes)
      if (!r.constant) {
        auto it = widths.widest.find(r.name);
        order.push_back({it == widths.widest.end() ? 0 : -it->second, r.name});
      }
    std::sort(order.begin(), order.end());
    std::map<std::string, bool> isWide;
    double points = 1;
    for (const auto &[width, name] : order) {
      bool wide = points * double(n) <= kPoints && (narrow > 1 || width < -1);
      points *= wide ? double(n) : 1;
      isWide[name] = wide;
    }
    for (int64_t rest = narrow; rest <= 8; rest *= 2) {
      std::vector<int64_t> sizes;
      for (const SizeRecipe &r : kernel_.sizes)
        sizes.push_back(r.constant ? *r.constant : isWide[r.name] ? n : rest);
      if (add(std::move(sizes)))
        return;
    }
  }

  /// For each size that is summed in rounds: first so large that the slots of a ring are filled a second time, then 0; all other sizes are
  /// small. Only then do the kernels need what frees slots and waits for them, and what a tile without rounds leaves.
  void pickDeep(const TileWidths &widths) {
    constexpr int64_t kFewOfOthers = 8, kMost = 40000;
    floats_ = Floats::Mixed;
    for (const auto &[name, depth] : widths.depths)
      for (int64_t n : {depth, int64_t(0)})
        for (int64_t multiple : {1, 8, 32}) { // as guards ask; the first that they let through
          std::vector<int64_t> sizes;
          for (const SizeRecipe &r : kernel_.sizes)
            sizes.push_back(r.constant ? *r.constant : r.name == name ? (n + multiple - 1) / multiple * multiple : kFewOfOthers);
          if (add(std::move(sizes), kMost, /*leastExtent=*/0))
            break;
        }
  }

  /// Sizes of an odd number of vectors of any width, and such bits beyond the widest tile.
  void pickSpares(const TileWidths &widths, int count) {
    random_.seed(21);
    double most = 1e6; // or what others take
    for (const auto &a : picked)
      most = std::max(most, points_(a->args.sizes));
    mostPoints_ = std::min(mostPoints_, most);
    const size_t first = picked.size();
    for (int attempt = 0; attempt < 2000 && picked.size() < first + size_t(count); ++attempt) {
      std::vector<int64_t> sizes;
      const size_t wide = random_() % (2 * kernel_.sizes.size()); // half of the sets have none
      for (const SizeRecipe &r : kernel_.sizes) {
        int64_t n = (1 + 2 * int64_t(random_() % 6)) << random_() % 5;
        auto width = widths.widest.find(r.name);
        if (sizes.size() == wide && width != widths.widest.end())
          n += width->second;
        sizes.push_back(r.constant ? *r.constant : n);
      }
      add(std::move(sizes));
    }
    std::for_each(picked.begin() + int64_t(first), picked.end(), [](auto &a) { a->spare = true; });
  }

  /// Conditions on few bools that hold here and fail there: rows that begin with False, that alternate, and of which only the last is
  /// True, of four bools where the sizes allow it.
  void pickBools() {
    constexpr int64_t kRow = 4, kFew = 16; // of more than a few, random ones hold here and fail there
    int64_t row = 0;
    std::vector<int64_t> sizes;
    auto workOf = [](const std::vector<int64_t> &n) { return std::accumulate(n.begin(), n.end(), 1.0, std::multiplies<>()); };
    for (const auto &a : picked)
      if (int64_t n = rowOfBools(a->args.sizes); n <= kFew && (n > row || (n == row && n > 0 && workOf(a->args.sizes) < workOf(sizes)))) {
        row = n;
        sizes = a->args.sizes;
      }
    std::vector<int64_t> wide = sizes;
    for (size_t s = 0; row > 0 && row < kRow && s < sizes.size(); ++s) {
      std::vector<int64_t> wider = wide;
      wider[s] *= kRow / row;
      if (!kernel_.sizes[s].constant && rowOfBools(wider) > rowOfBools(wide))
        wide = wider;
    }
    constexpr int64_t kMost = 40000;
    for (auto pattern : {Bools::NotFirst, Bools::Alternating, Bools::OnlyLast}) {
      bools_ = pattern;
      if (row > 0 && !add(wide, kMost) && row > 1)
        add(sizes, kMost);
    }
    bools_ = Bools::Any;
  }

private:
  enum class Bools { Any, NotFirst, Alternating, OnlyLast };

  /// How many bools the longest row of a parameter has; 0 if there are none.
  int64_t rowOfBools(const std::vector<int64_t> &sizes) const {
    int64_t row = 0;
    for (const Param &p : kernel_.params)
      if (p.type == ElementType::boolean && p.kind != ParamKind::Output && !p.dims.empty())
        row = std::max(row, p.dims.back().evaluate({sizes, 3, {}}));
    return row;
  }

  bool boolOf(uint64_t bits, int64_t at, int64_t row) const {
    switch (bools_) {
    case Bools::Any: return bits & 1;
    case Bools::NotFirst: return at % row != 0;
    case Bools::Alternating: return at % row % 2 == 0;
    case Bools::OnlyLast: return at % row == row - 1;
    }
    return false;
  }

  bool add(std::vector<int64_t> sizes, int64_t mostElements = 20000, int64_t leastExtent = 1) {
    SizeEnv env{sizes, 3, {}};
    bool legal = variant_.guard.empty() || variant_.guard.evaluate(env) != 0;
    for (const Require &r : kernel_.requires_)
      legal &= r.condition.evaluate(env) != 0;
    std::vector<std::vector<int64_t>> shapes;
    int64_t elements = 0;
    for (const Param &p : kernel_.params) {
      std::vector<int64_t> &shape = shapes.emplace_back();
      int64_t n = 1;
      for (const SizeExpr &d : p.dims) {
        shape.push_back(d.evaluate(env));
        legal &= shape.back() >= leastExtent && shape.back() < 1 << 20;
        n *= legal ? shape.back() : 1;
      }
      elements += n;
    }
    // What is only read and written takes its time, too.
    if (!legal || elements > mostElements || points_(sizes) > mostPoints_)
      return false;
    auto a = std::make_unique<MutantArguments>();
    for (size_t i = 0; i < shapes.size(); ++i) {
      a->tensors.emplace_back(kernel_.params[i].type, shapes[i]);
      if (!a->tensors.back().data())
        return false;
      fill(a->tensors.back(), i, env);
      a->args.params.push_back(a->tensors.back().view());
    }
    a->args.sizes = sizes;
    for (size_t i = 0; i < sizes.size(); ++i)
      absl::StrAppend(&a->sizes, i ? " " : "", kernel_.sizes[i].name, "=", sizes[i]);
    picked.push_back(std::move(a));
    return true;
  }

  void fill(const HostTensor &t, size_t param, const SizeEnv &env) {
    auto use = uses_.find(param);
    for (int64_t i = 0, n = t.numElements(); i < n; ++i) {
      uint64_t bits = random_();
      double v;
      constexpr unsigned kZeros = 16; // one in so many, and negative: adding nothing to it is not to change its sign
      if (isFloat(t.type()) && kernel_.params[param].kind == ParamKind::InOut && (bits >> 32) % kZeros == 0)
        v = -0.0;
      else if (isFloat(t.type()) && floats_ == Floats::Tiny)
        v = tiny(bits);
      else if (isFloat(t.type()))
        v = double(floats_ == Floats::Mixed      ? int(bits % 2001) - 1000
                   : floats_ == Floats::Negative ? -1 - int(bits % 1000)
                                                 : 1 + int(bits % 1000)) /
            1000;
      else if (use != uses_.end())
        v = double(subscript(use->second, t.type(), env));
      else if (t.type() == ElementType::boolean)
        v = boolOf(bits, i, t.shape().empty() ? 1 : t.shape().back());
      else
        v = double(bits % (elementBits(t.type()) == 4 ? 8 : 3));
      storeElement(t, i, v);
    }
    if (floats_ != Floats::Mixed && floats_ != Floats::Tiny && isFloat(t.type()) && t.numElements() > 0)
      storeElement(t, borderElement(t), std::numeric_limits<double>::quiet_NaN());
  }

  /// Of either sign, from the least numbers of f32 to those whose squares are near them.
  static double tiny(uint64_t bits) {
    constexpr int kMagnitudes = 80;
    const double v = std::ldexp(1 + double(bits % 997) / 997, -70 - int(bits >> 20 & 0xffff) % kMagnitudes);
    return bits >> 40 & 1 ? v : -v;
  }

  /// The first element of a part of the tensor (a matrix, a row, ..) or its last: what a read beyond the neighbouring part meets.
  int64_t borderElement(const HostTensor &t) {
    int64_t part = t.numElements();
    size_t depth = t.shape().empty() ? 0 : random_() % 2 ? 1 : 1 + random_() % t.shape().size();
    for (size_t d = 0; d < depth; ++d)
      part /= t.shape()[d];
    int64_t first = int64_t(random_() % uint64_t(t.numElements() / part)) * part;
    return random_() % 4 ? first : first + part - 1;
  }

  /// The ends of a dim, what lies on either side, or any place.
  int64_t subscript(const SubscriptUse &use, ElementType type, const SizeEnv &env) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const SizeExpr &e : use.extents)
      least = std::min(least, e.evaluate(env));
    int64_t extent = use.extents[random_() % use.extents.size()].evaluate(env), v;
    if (use.mustStayInside)
      v = int64_t(random_() % uint64_t(std::max<int64_t>(1, least)));
    else
      switch (random_() % 8) {
      case 0: v = -1 - int64_t(random_() % 3); break;
      case 1: v = extent + int64_t(random_() % 3); break;
      case 2: v = 0; break;
      case 3: v = extent - 1; break;
      default: v = int64_t(random_() % uint64_t(std::max<int64_t>(1, extent)));
      }
    int bits = elementBits(type) - isSignedInteger(type);
    int64_t most = bits >= 62 ? std::numeric_limits<int64_t>::max() : (int64_t(1) << bits) - 1;
    return std::clamp(v, isSignedInteger(type) ? -most : 0, most);
  }

  const Kernel &kernel_;
  const Variant &variant_;
  const LaunchedPoints &points_;
  double mostPoints_; ///< that a set makes the launches go through
  const std::map<size_t, SubscriptUse> &uses_;
  std::mt19937_64 random_;
  Floats floats_ = Floats::Mixed;
  Bools bools_ = Bools::Any;
};

} // namespace

std::map<size_t, SubscriptUse> findSubscriptUses(te::KernelOp kernel, const Kernel &signature) {
  std::map<void *, size_t> params;
  size_t argument = 0;
  for (size_t i = 0; i < signature.params.size(); ++i)
    if (signature.params[i].kind != ParamKind::Output && argument < kernel.getBlock().getNumArguments())
      params[kernel.getBlock().getArgument(unsigned(argument++)).getAsOpaquePointer()] = i;
  std::map<size_t, SubscriptUse> uses;
  kernel.walk([&](te::ReadOp read) {
    AffineMap map = read.getMapOrIdentity(), shape = te::getTensorShape(read.getTensor());
    for (auto [n, operand] : llvm::enumerate(read.getOperands_())) {
      std::vector<size_t> sources;
      llvm::SmallPtrSet<void *, 16> seen;
      findSources(operand, params, seen, sources);
      for (size_t p : sources)
        for (unsigned r = 0; r < map.getNumResults(); ++r)
          if (map.getResult(r).isFunctionOfDim(unsigned(n)) && !isFloat(signature.params[p].type)) {
            uses[p].extents.push_back(sizeExprOf(shape.getResult(r)));
            uses[p].mustStayInside |= read.getBounds() == te::BoundsMode::Assume;
          }
    }
  });
  return uses;
}

std::vector<std::unique_ptr<MutantArguments>> pickMutantArguments(const Kernel &kernel, const Variant &variant, const TileWidths &widths,
                                                                  const LaunchedPoints &points, double mostPoints,
                                                                  const std::map<size_t, SubscriptUse> &uses) {
  Picker picker(kernel, variant, points, mostPoints, uses);
  picker.pick(7, 3, false);
  picker.pick(8, 3, true);
  picker.pick(9, 2, false, Floats::Negative);
  picker.pick(10, 2, false, Floats::Positive);
  picker.pick(11, 1, false, Floats::Tiny);
  for (int64_t n : {24, 40, 72})
    picker.pickWide(widths, n);
  // One part of a tile alone: what lies beyond it is another row.
  for (Floats floats : {Floats::Negative, Floats::Positive})
    picker.pickWide(widths, 24, 1, floats);
  picker.pickDeep(widths);
  picker.pickBools();
  picker.pickSpares(widths, 24);
  return std::move(picker.picked);
}

} // namespace kernelc
