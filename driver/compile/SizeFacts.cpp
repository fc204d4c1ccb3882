// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/SizeFacts.h"

#include <algorithm>
#include <numeric>

#include "driver/compile/SizeExprOf.h"
#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"
#include "support/Saturating.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {

bool isWorthItself(int64_t n) {
  constexpr int64_t kRow = 8, kMostColumns = 256;
  return n > 1 && (n % 2 == 1 ? n <= te::kMostTaps : n % kRow == 0 && n <= kMostColumns);
}

SizeFact factOf(int64_t n) {
  SizeFact f;
  if (isWorthItself(n)) {
    f.divisor = f.max = f.like = n;
    return f;
  }
  f.divisor = n > 0 ? std::min<int64_t>(n & -n, 32768) : 1;
  if (n > 0 && n <= Count::kMost) {
    // Powers of two; beyond 512 also the three multiples of a quarter between two of them, so that tiles are chosen for
    // a size of which this one is at least four fifths.
    int64_t step = n <= 512 ? 1 : int64_t(llvm::bit_floor(uint64_t(n - 1))) / 4;
    f.max = n <= 512 ? int64_t(llvm::PowerOf2Ceil(uint64_t(n))) : llvm::alignTo(n, step);
    f.like = n;
  }
  return f;
}

SizeFact classOf(int64_t n, int64_t rows) {
  constexpr int64_t kUnitRows = 64;
  SizeFact f;
  f.divisor = n > 0 && n % rows == 0 ? rows : 1;
  f.max = n == 1 ? 1 : n > 0 && n <= kUnitRows ? kUnitRows : -1;
  f.like = n > 0 ? n : -1;
  return f;
}

std::map<std::string, SizeFact> factsFor(const Kernel &kernel, const std::vector<int64_t> &sizes) {
  std::map<std::string, SizeFact> facts;
  for (size_t i = 0; i < kernel.sizes.size() && i < sizes.size(); ++i)
    facts[kernel.sizes[i].name] = factOf(sizes[i]);
  for (const std::string &name : sizesOfColumns(kernel, sizes)) {
    SizeFact &f = facts[name];
    f.divisor = f.max = f.like;
  }
  return facts;
}

std::set<std::string> sizesOfColumns(const Kernel &kernel, const std::vector<int64_t> &sizes) {
  std::set<std::string> names;
  SizeEnv env;
  env.sizes = sizes;
  auto isKnown = [&](const SizeTerm &t) { return t.op != SizeTerm::Size || sizes[t.value] > 0; };
  for (const SizeExpr &quotient : kernel.quotients)
    if (sizes.size() == kernel.sizes.size() && llvm::all_of(quotient.terms(), isKnown) && isWorthItself(quotient.evaluate(env)))
      for (const SizeTerm &t : quotient.terms())
        if (t.op == SizeTerm::Size && sizes[t.value] <= Count::kMost)
          names.insert(kernel.sizes[t.value].name);
  return names;
}

std::map<std::string, SizeFact> denseFacts(const Kernel &kernel) {
  std::map<std::string, SizeFact> facts;
  for (const Param &p : kernel.params) {
    if (p.dims.empty())
      continue;
    const auto &terms = p.dims.back().terms();
    if (terms.size() != 1 || terms[0].op != SizeTerm::Size)
      continue;
    SizeFact &f = facts[kernel.sizes[terms[0].value].name];
    f.divisor = std::lcm(f.divisor, int64_t(128 / elementBits(p.type)));
  }
  return facts;
}

std::vector<SizeExpr> findQuotients(te::KernelOp kernel) {
  std::vector<SizeExpr> quotients;
  for (Operation *op : te::getDomainOps(kernel))
    for (AffineExpr e : te::getExtents(op).getResults()) {
      bool divides = false;
      e.walk([&](AffineExpr part) { divides |= part.getKind() == AffineExprKind::FloorDiv || part.getKind() == AffineExprKind::CeilDiv; });
      if (SizeExpr extent = divides ? sizeExprOf(e) : SizeExpr(); divides && !llvm::is_contained(quotients, extent))
        quotients.push_back(std::move(extent));
    }
  return quotients;
}

} // namespace kernelc
