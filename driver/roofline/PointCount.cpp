// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/roofline/PointCount.h"

#include <algorithm>
#include <numeric>

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
namespace {

/// Points and residues that are looked at one by one.
constexpr double kMostSteps = 2e7;
/// Terms of a PointSet beyond which it is not counted.
constexpr size_t kMostTerms = 64;

/// a * q + b of the counted dim's quotient q.
struct Line {
  int64_t a = 0, b = 0;
};

/// A set of dims that constraints tie to each other.
class Component {
public:
  Component(llvm::ArrayRef<int64_t> extents, std::vector<unsigned> dims, std::vector<PointConstraint> constraints)
      : extents_(extents), dims_(std::move(dims)), constraints_(std::move(constraints)), point_(extents.size(), 0) {
    counted_ = *std::max_element(dims_.begin(), dims_.end(), [&](unsigned x, unsigned y) { return extents_[x] < extents_[y]; });
    double period = 1;
    for (const PointConstraint &c : constraints_)
      c.form.walk([&](AffineExpr e) {
        if (e.getKind() == AffineExprKind::Mod || e.getKind() == AffineExprKind::FloorDiv || e.getKind() == AffineExprKind::CeilDiv)
          if (auto divisor = dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(e).getRHS()); e.isFunctionOfDim(counted_) && divisor)
            period *= double(std::max<int64_t>(1, divisor.getValue()));
      });
    // One by one where the divisors are as large as the extent.
    isLinear_ = period < double(extents_[counted_]);
    step_ = isLinear_ ? int64_t(period) : extents_[counted_];
  }

  std::optional<int64_t> count() {
    double steps = double(step_) * double(constraints_.size());
    for (unsigned d : dims_)
      steps *= d == counted_ ? 1 : double(extents_[d]);
    if (steps > kMostSteps)
      return std::nullopt;
    int64_t total = 0;
    bool more = true;
    while (more) {
      for (int64_t residue = 0; residue < step_; ++residue) {
        std::optional<int64_t> n = countResidue(residue);
        if (!n)
          return std::nullopt;
        total += *n;
      }
      more = false;
      for (unsigned d : dims_) {
        if (d == counted_)
          continue;
        if (++point_[d] < extents_[d]) {
          more = true;
          break;
        }
        point_[d] = 0;
      }
    }
    return total;
  }

private:
  /// Values of the counted dim that are residue + q * step and fulfil everything.
  std::optional<int64_t> countResidue(int64_t residue) {
    point_[counted_] = residue;
    int64_t low = 0, high = isLinear_ ? (extents_[counted_] - 1 - residue) / step_ : 0; // of q
    for (const PointConstraint &c : constraints_) {
      std::optional<Line> l = lineOf(c.form);
      if (!l)
        return std::nullopt;
      if (c.isEquality) {
        if (l->a == 0 ? l->b != 0 : l->b % l->a != 0)
          return 0;
        if (l->a != 0) {
          low = std::max(low, -l->b / l->a);
          high = std::min(high, -l->b / l->a);
        }
      } else if (l->a == 0) {
        if (l->b < 0)
          return 0;
      } else if (l->a > 0) {
        low = std::max(low, llvm::divideCeilSigned(-l->b, l->a));
      } else {
        high = std::min(high, llvm::divideFloorSigned(l->b, -l->a));
      }
    }
    return std::max<int64_t>(0, high - low + 1);
  }

  std::optional<Line> lineOf(AffineExpr e) const {
    if (auto c = dyn_cast<AffineConstantExpr>(e))
      return Line{0, c.getValue()};
    if (auto d = dyn_cast<AffineDimExpr>(e))
      return Line{d.getPosition() == counted_ && isLinear_ ? step_ : 0, point_[d.getPosition()]};
    auto binary = dyn_cast<AffineBinaryOpExpr>(e);
    if (!binary)
      return std::nullopt;
    std::optional<Line> x = lineOf(binary.getLHS()), y = lineOf(binary.getRHS());
    if (!x || !y)
      return std::nullopt;
    switch (e.getKind()) {
    case AffineExprKind::Add: return Line{x->a + y->a, x->b + y->b};
    case AffineExprKind::Mul:
      if (x->a && y->a)
        return std::nullopt;
      return Line{x->a * y->b + y->a * x->b, x->b * y->b};
    default: break;
    }
    if (y->a || y->b < 0 || (y->b && x->a % y->b))
      return std::nullopt;
    if (y->b == 0) // as the language has it
      return Line{0, 0};
    if (e.getKind() == AffineExprKind::Mod)
      return Line{0, llvm::mod(x->b, y->b)};
    return Line{x->a / y->b,
                e.getKind() == AffineExprKind::FloorDiv ? llvm::divideFloorSigned(x->b, y->b) : llvm::divideCeilSigned(x->b, y->b)};
  }

  llvm::ArrayRef<int64_t> extents_;
  std::vector<unsigned> dims_;
  std::vector<PointConstraint> constraints_;
  std::vector<int64_t> point_; ///< of the enumerated dims; of the counted one its residue
  unsigned counted_ = 0;
  bool isLinear_ = true; ///< in q; else q is 0
  int64_t step_ = 1;
};

} // namespace

bool PointConstraint::operator<(const PointConstraint &o) const {
  return std::pair(form.getAsOpaquePointer(), isEquality) < std::pair(o.form.getAsOpaquePointer(), o.isEquality);
}

int64_t multiplyCounts(int64_t x, int64_t y) {
  int64_t product;
  return __builtin_mul_overflow(x, y, &product) ? std::numeric_limits<int64_t>::max() : product;
}

std::optional<int64_t> countPoints(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<PointConstraint> constraints) {
  for (int64_t e : extents)
    if (e <= 0)
      return 0;
  std::vector<unsigned> root(extents.size());
  std::iota(root.begin(), root.end(), 0u);
  auto find = [&](unsigned d) {
    while (root[d] != d)
      d = root[d];
    return d;
  };
  std::vector<int> firstDim; // of each constraint
  for (const PointConstraint &c : constraints) {
    int first = -1;
    for (unsigned d = 0; d < extents.size(); ++d)
      if (c.form.isFunctionOfDim(d)) {
        if (first >= 0)
          root[find(d)] = find(unsigned(first));
        else
          first = int(d);
      }
    firstDim.push_back(first);
    if (auto number = dyn_cast<AffineConstantExpr>(c.form);
        first < 0 && number && (c.isEquality ? number.getValue() != 0 : number.getValue() < 0))
      return 0;
    if (first < 0 && !isa<AffineConstantExpr>(c.form))
      return std::nullopt;
  }
  int64_t total = 1;
  for (unsigned r = 0; r < extents.size(); ++r) {
    std::vector<unsigned> dims;
    for (unsigned d = 0; d < extents.size(); ++d)
      if (find(d) == r)
        dims.push_back(d);
    std::vector<PointConstraint> own;
    for (auto [c, first] : llvm::zip(constraints, firstDim))
      if (first >= 0 && find(unsigned(first)) == r)
        own.push_back(c);
    if (own.empty()) {
      for (unsigned d : dims)
        total = multiplyCounts(total, extents[d]);
      continue;
    }
    std::optional<int64_t> n = Component(extents, std::move(dims), std::move(own)).count();
    if (!n)
      return std::nullopt;
    total = multiplyCounts(total, *n);
  }
  return total;
}

//===----------------------------------------------------------------------===//
// PointSet
//===----------------------------------------------------------------------===//

void PointSet::add(Conjunction c, int64_t factor) {
  if (unknown_)
    return;
  if ((terms_[c] += factor) == 0)
    terms_.erase(c);
  unknown_ = terms_.size() > kMostTerms;
}

PointSet PointSet::all() {
  PointSet s;
  s.add({}, 1);
  return s;
}

PointSet PointSet::where(PointConstraint c) {
  PointSet s;
  s.add({c}, 1);
  return s;
}

PointSet PointSet::operator&(const PointSet &o) const {
  PointSet s;
  s.unknown_ = unknown_ || o.unknown_;
  for (const auto &[x, n] : terms_)
    for (const auto &[y, m] : o.terms_) {
      Conjunction both;
      std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
      s.add(std::move(both), n * m);
    }
  return s;
}

PointSet PointSet::operator|(const PointSet &o) const {
  PointSet s = *this;
  s.unknown_ |= o.unknown_;
  for (const auto &[c, n] : o.terms_)
    s.add(c, n);
  for (const auto &[c, n] : (*this & o).terms_)
    s.add(c, -n);
  return s;
}

PointSet PointSet::operator!() const {
  PointSet s = all();
  s.unknown_ = unknown_;
  for (const auto &[c, n] : terms_)
    s.add(c, -n);
  return s;
}

std::optional<int64_t> PointSet::count(llvm::ArrayRef<int64_t> extents) const {
  if (unknown_)
    return std::nullopt;
  int64_t total = 0;
  for (const auto &[c, factor] : terms_) {
    std::optional<int64_t> n = countPoints(extents, c);
    if (!n)
      return std::nullopt;
    total += factor * *n;
  }
  return total;
}

PointSet PointSet::project(llvm::ArrayRef<unsigned> kept) const {
  auto isKept = [&](const PointConstraint &c) {
    bool all = true;
    c.form.walk([&](AffineExpr e) {
      if (auto d = dyn_cast<AffineDimExpr>(e))
        all &= llvm::is_contained(kept, d.getPosition());
    });
    return all;
  };
  // Where a term is taken away, one with fewer conditions would take too much.
  if (unknown_)
    return all();
  bool single = terms_.size() == 1 && terms_.begin()->second == 1;
  PointSet s;
  for (const auto &[c, factor] : terms_) {
    Conjunction own;
    for (const PointConstraint &k : c) {
      if (!isKept(k)) {
        if (!single)
          return all();
        continue;
      }
      llvm::DenseMap<AffineExpr, AffineExpr> by;
      for (auto [i, d] : llvm::enumerate(kept))
        by[getAffineDimExpr(d, k.form.getContext())] = getAffineDimExpr(unsigned(i), k.form.getContext());
      own.push_back({k.form.replace(by), k.isEquality});
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    s.add(std::move(own), factor);
  }
  return s;
}

} // namespace kernelc
