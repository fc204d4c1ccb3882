// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/tile/Layout.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "llvm/ADT/STLExtras.h"

namespace kernelc::tile {

int64_t Layout::numRegisters() const {
  int64_t n = 1;
  for (const Digit &d : reg)
    n *= d.size;
  return n;
}

int64_t Layout::numWarps() const {
  int64_t n = 1;
  for (const Digit &d : warp)
    n *= d.size;
  return n;
}

Layout Layout::dropDims(llvm::ArrayRef<int64_t> lost) const {
  Layout out;
  auto isLost = [&](const Digit &d) { return llvm::is_contained(lost, d.dim); };
  for (const Digit &d : reg)
    if (!isLost(d))
      out.reg.push_back(d);
  auto replicate = [&](const Digits &from, Digits &to) {
    for (Digit d : from) {
      if (isLost(d))
        d = {-1, 0, d.size};
      if (d.dim < 0 && !to.empty() && to.back().dim < 0)
        to.back().size *= d.size;
      else
        to.push_back(d);
    }
  };
  replicate(lane, out.lane);
  replicate(warp, out.warp);
  return out;
}

std::optional<Layout> Layout::slice(int64_t dim, int64_t extent) const {
  for (const Digits *list : {&lane, &warp})
    for (const Digit &d : *list)
      if (d.dim == dim && d.size > 1 && d.stride * d.size > extent)
        return std::nullopt;
  Layout out{{}, lane, warp};
  for (Digit d : reg) {
    if (d.dim == dim) {
      if (d.stride >= extent)
        continue;
      d.size = std::min(d.size, extent / d.stride);
    }
    out.reg.push_back(d);
  }
  return out;
}

llvm::SmallVector<int64_t> Layout::shape(int64_t rank) const {
  llvm::SmallVector<int64_t> s(rank, 1);
  for (const Digits *list : {&reg, &lane, &warp})
    for (const Digit &d : *list)
      if (d.dim >= 0)
        s[d.dim] += d.stride * (d.size - 1);
  return s;
}

Layout blockedLayout(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order, int64_t vector, int64_t warps,
                     llvm::ArrayRef<int64_t> warpOrder) {
  Layout out;
  llvm::SmallVector<int64_t> done(shape.size(), 1); // extent covered so far, per dim
  auto take = [&](Digits &to, int64_t dim, int64_t want) {
    int64_t n = std::gcd(want, shape[dim] / done[dim]); // (the smaller one of two powers of two)
    if (n > 1) {
      to.push_back({dim, done[dim], n});
      done[dim] *= n;
    }
    return n;
  };
  auto distribute = [&](Digits &to, int64_t want, llvm::ArrayRef<int64_t> dims) {
    for (int64_t dim : dims) {
      if (want == 1)
        break;
      want /= take(to, dim, want);
    }
    if (want > 1)
      to.push_back({-1, 0, want});
  };
  if (!order.empty())
    take(out.reg, order[0], vector);
  distribute(out.lane, 32, order);
  distribute(out.warp, warps, warpOrder.empty() ? order : warpOrder);
  for (int64_t dim : order)
    take(out.reg, dim, shape[dim] / done[dim]);
  return out;
}

Layout acrossLayout(llvm::ArrayRef<int64_t> shape, int64_t from, int64_t to, int64_t sector, int64_t warps) {
  // Sectors are a dim of their own, behind the others.
  int64_t sectors = shape.size();
  llvm::SmallVector<int64_t> cut(shape), order{from, to, sectors};
  cut[from] = std::min(sector, shape[from]);
  cut.push_back(shape[from] / cut[from]);
  for (int64_t d = sectors; d-- > 0;)
    if (d != from && d != to)
      order.push_back(d);
  Layout out = blockedLayout(cut, order, 1, warps);
  for (Digits *list : {&out.reg, &out.lane, &out.warp})
    for (Digit &d : *list)
      if (d.dim == sectors)
        d = {from, d.stride * cut[from], d.size};
  return out;
}

Digits spreadDigits(llvm::ArrayRef<Digit> linear, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> extents) {
  Digits out;
  for (Digit d : linear) {
    if (d.dim < 0) {
      out.push_back(d);
      continue;
    }
    int64_t stride = d.stride, size = d.size, radix = 1;
    for (size_t i = 0; i < dims.size() && size > 1; ++i) {
      int64_t end = radix * extents[i];
      if (stride < end) {
        assert(stride % radix == 0 && "a digit must start on a multiple of its radix");
        int64_t n = std::min(size, std::max<int64_t>(end / stride, 1));
        assert(size % n == 0 && "a digit must cut a radix evenly");
        if (n > 1)
          out.push_back({dims[i], stride / radix, n});
        size /= n;
        stride *= n;
      }
      radix = end;
    }
    if (size > 1)
      out.push_back({-1, 0, size});
  }
  return out;
}

} // namespace kernelc::tile
