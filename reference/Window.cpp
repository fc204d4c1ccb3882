// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/Window.h"

#include <algorithm>
#include <limits>
#include <optional>

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

/// What is needed so far of each slot's memory, which slots may share: one box around all demands.
class Demands {
public:
  Demands(const Program &program, const SizeEnv &env) : program_(program), need_(program.slots.size()) {
    for (const Slot &s : program.slots) {
      Box &box = whole_.emplace_back();
      for (const SizeExpr &d : s.dims) {
        box.lower.push_back(0);
        box.upper.push_back(std::max<int64_t>(d.evaluate(env), 0));
      }
    }
  }

  /// All of a slot.
  const Box &whole(int slot) const { return whole_[slot]; }
  /// Null where nothing is needed.
  const Box *find(int slot) const {
    const std::optional<Box> &box = need_[root(slot)];
    return box ? &*box : nullptr;
  }
  void add(int slot, const Box &box) {
    std::optional<Box> &need = need_[root(slot)];
    if (!need) {
      need = box;
      return;
    }
    for (size_t d = 0; d < box.lower.size(); ++d) {
      need->lower[d] = std::min(need->lower[d], box.lower[d]);
      need->upper[d] = std::max(need->upper[d], box.upper[d]);
    }
  }
  /// Of every slot what is needed of it, or an empty box.
  std::vector<Box> takeAll() const {
    std::vector<Box> all;
    for (size_t s = 0; s < program_.slots.size(); ++s) {
      const Box *needed = find(int(s));
      Box &box = all.emplace_back(needed ? *needed : whole_[s]);
      if (!needed)
        box.upper = box.lower;
    }
    return all;
  }

private:
  int root(int slot) const {
    while (program_.slots[slot].sharesWith >= 0)
      slot = program_.slots[slot].sharesWith;
    return slot;
  }

  const Program &program_;
  std::vector<Box> whole_;
  std::vector<std::optional<Box>> need_; ///< of slots that share with no other
};

/// The values that the loop dims of `step` take where `out` (null: nothing) is needed of its result.
std::vector<Interval> rangesOf(const Step &step, const Box *out, const SizeEnv &env) {
  std::vector<Interval> dims;
  for (size_t d = 0; d < step.extents.size(); ++d) {
    int64_t lower = 0, upper = std::max<int64_t>(step.extents[d].evaluate(env), 0);
    for (size_t r = 0; r < step.outDims.size() && out; ++r)
      if (step.outDims[r] == int(d)) {
        lower = std::max(lower, out->lower[r]);
        upper = std::min(upper, out->upper[r]);
      }
    dims.push_back({lower, (out ? std::max(lower, upper) : lower) - 1});
  }
  return dims;
}

/// What `read` takes of `box`, all of its slot, where the loop dims have the values `dims`.
Box readBox(const Step::Read &read, Box box, absl::Span<const int64_t> sizes, const std::vector<Interval> &dims) {
  for (size_t r = 0; r < read.subscripts.size() && !read.whole; ++r) {
    Interval i = evaluate(read.subscripts[r], sizes, dims);
    box.lower[r] = std::clamp(i.low, box.lower[r], box.upper[r]);
    box.upper[r] = i.high >= box.upper[r] ? box.upper[r] : std::max(i.high + 1, box.lower[r]);
  }
  return box;
}

} // namespace

Windows planWindows(const Program &program, absl::Span<const int64_t> sizes, absl::Span<const Box> outputs) {
  SizeEnv env{sizes};
  Windows w;
  Demands demands(program, env);
  for (size_t i = 0; i < program.outs.size(); ++i)
    demands.add(program.outs[i].slot, outputs.empty() ? demands.whole(program.outs[i].slot) : outputs[i]);
  w.steps.resize(program.steps.size());
  for (size_t k = program.steps.size(); k-- > 0;) {
    const Step &step = program.steps[k];
    // Results that are scattered by more than a permutation are made as a whole.
    if (std::find(step.outDims.begin(), step.outDims.end(), -1) != step.outDims.end())
      demands.add(step.out, demands.whole(step.out));
    const Box *out = demands.find(step.out);
    std::vector<Interval> dims = rangesOf(step, out, env);
    double points = double(step.operations);
    for (const Interval &range : dims) {
      points *= double(range.high + 1 - range.low);
      if (int(w.steps[k].lower.size()) < step.parallel) {
        w.steps[k].lower.push_back(range.low);
        w.steps[k].upper.push_back(range.high + 1);
      }
    }
    w.work += points;
    if (points == 0 && !(step.copyFrom >= 0 || step.fill))
      continue;
    if (step.copyFrom >= 0 && out)
      demands.add(step.copyFrom, Box(*out));
    for (const Step::Read &read : step.reads)
      if (points != 0)
        demands.add(read.slot, readBox(read, demands.whole(read.slot), sizes, dims));
  }
  w.slots = demands.takeAll();
  return w;
}

} // namespace kernelc::reference
