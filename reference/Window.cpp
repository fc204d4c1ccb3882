// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/Window.h"

#include <algorithm>
#include <limits>

namespace kernelc::reference {
namespace {

/// Both ends inclusive.
struct Interval {
  int64_t low = 0, high = 0;
  bool isPoint() const { return low == high; }
};

constexpr Interval kAnything{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};

int64_t clamp(__int128 v) {
  return int64_t(std::clamp<__int128>(v, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

int64_t apply(SizeTerm::Op op, int64_t a, int64_t b) { return SizeExpr::binary(op, SizeExpr(a), SizeExpr(b)).evaluate({}); }

Interval combine(SizeTerm::Op op, Interval a, Interval b) {
  using Wide = __int128;
  if (a.isPoint() && b.isPoint())
    return {apply(op, a.low, b.low), apply(op, a.low, b.low)};
  switch (op) {
  case SizeTerm::Add: return {clamp(Wide(a.low) + b.low), clamp(Wide(a.high) + b.high)};
  case SizeTerm::Sub: return {clamp(Wide(a.low) - b.high), clamp(Wide(a.high) - b.low)};
  case SizeTerm::Mul: {
    Wide p[] = {Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low, Wide(a.high) * b.high};
    return {clamp(*std::min_element(p, p + 4)), clamp(*std::max_element(p, p + 4))};
  }
  case SizeTerm::FloorDiv:
  case SizeTerm::CeilDiv: // monotone for a positive divisor
    return b.isPoint() && b.low > 0 ? Interval{apply(op, a.low, b.low), apply(op, a.high, b.low)} : kAnything;
  case SizeTerm::Mod: {
    if (!b.isPoint() || b.low <= 0)
      return kAnything;
    bool oneRound = apply(SizeTerm::FloorDiv, a.low, b.low) == apply(SizeTerm::FloorDiv, a.high, b.low);
    return oneRound ? Interval{apply(op, a.low, b.low), apply(op, a.high, b.low)} : Interval{0, b.low - 1};
  }
  default: return kAnything;
  }
}

/// Sizes are points; what follows them are `dims`.
Interval evaluate(const SizeExpr &e, absl::Span<const int64_t> sizes, const std::vector<Interval> &dims) {
  std::vector<Interval> stack;
  for (const SizeTerm &t : e.terms()) {
    if (t.op == SizeTerm::Const) {
      stack.push_back({t.value, t.value});
    } else if (t.op == SizeTerm::Size) {
      size_t i = size_t(t.value);
      stack.push_back(i < sizes.size() ? Interval{sizes[i], sizes[i]} : dims[i - sizes.size()]);
    } else if (stack.size() >= 2) {
      Interval b = stack.back();
      stack.pop_back();
      stack.back() = combine(t.op, stack.back(), b);
    } else {
      return kAnything;
    }
  }
  return stack.empty() ? Interval{} : stack.back();
}

} // namespace

Windows planWindows(const Program &program, absl::Span<const int64_t> sizes, absl::Span<const Box> outputs) {
  SizeEnv env{sizes};
  Windows w;
  std::vector<Box> whole;
  for (const Slot &s : program.slots) {
    Box box;
    for (const SizeExpr &d : s.dims) {
      box.lower.push_back(0);
      box.upper.push_back(std::max<int64_t>(d.evaluate(env), 0));
    }
    whole.push_back(box);
  }
  auto root = [&](int s) {
    while (program.slots[s].sharesWith >= 0)
      s = program.slots[s].sharesWith;
    return s;
  };
  // What is needed so far of the memory of each root; an empty `lower` of rank > 0 is nothing.
  std::vector<Box> need(program.slots.size());
  std::vector<bool> needed(program.slots.size(), false);
  auto demand = [&](int slot, const Box &box) {
    int r = root(slot);
    if (!needed[r]) {
      needed[r] = true;
      need[r] = box;
      return;
    }
    for (size_t d = 0; d < box.lower.size(); ++d) {
      need[r].lower[d] = std::min(need[r].lower[d], box.lower[d]);
      need[r].upper[d] = std::max(need[r].upper[d], box.upper[d]);
    }
  };
  for (size_t i = 0; i < program.outs.size(); ++i)
    demand(program.outs[i].slot, outputs.empty() ? whole[program.outs[i].slot] : outputs[i]);

  w.steps.resize(program.steps.size());
  for (size_t k = program.steps.size(); k-- > 0;) {
    const Step &step = program.steps[k];
    // Results that are scattered by more than a permutation are made as a whole.
    if (std::find(step.outDims.begin(), step.outDims.end(), -1) != step.outDims.end())
      demand(step.out, whole[step.out]);
    const Box &out = need[root(step.out)];
    std::vector<Interval> dims;
    bool empty = !needed[root(step.out)];
    double points = double(step.operations);
    for (size_t d = 0; d < step.extents.size(); ++d) {
      int64_t lower = 0, upper = std::max<int64_t>(step.extents[d].evaluate(env), 0);
      for (size_t r = 0; r < step.outDims.size() && !empty; ++r)
        if (step.outDims[r] == int(d)) {
          lower = std::max(lower, out.lower[r]);
          upper = std::min(upper, out.upper[r]);
        }
      upper = empty ? lower : std::max(lower, upper);
      points *= double(upper - lower);
      if (int(d) < step.parallel) {
        w.steps[k].lower.push_back(lower);
        w.steps[k].upper.push_back(upper);
      }
      dims.push_back({lower, upper - 1});
    }
    w.work += points;
    if (points == 0 && !(step.copyFrom >= 0 || step.fill))
      continue;
    if (step.copyFrom >= 0 && !empty)
      demand(step.copyFrom, out);
    for (const Step::Read &read : step.reads) {
      Box box = whole[read.slot];
      if (points == 0)
        continue;
      for (size_t r = 0; r < read.subscripts.size() && !read.whole; ++r) {
        Interval i = evaluate(read.subscripts[r], sizes, dims);
        box.lower[r] = std::clamp(i.low, box.lower[r], box.upper[r]);
        box.upper[r] = i.high >= box.upper[r] ? box.upper[r] : std::max(i.high + 1, box.lower[r]);
      }
      demand(read.slot, box);
    }
  }
  for (size_t s = 0; s < program.slots.size(); ++s) {
    Box box = need[root(int(s))];
    if (!needed[root(int(s))]) {
      box = whole[s];
      box.upper = box.lower;
    }
    w.slots.push_back(box);
  }
  return w;
}

} // namespace kernelc::reference
