// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences that need each other: statements that read what later ones define, and these what the first ones do. They are written as
// one statement that reads itself, before anything is checked:
//
//   h[t, i] = f(h.pad(0)[t - 1, i], c.pad(0)[t - 1, i])
//   c[t, i] = g(h[t, i], c.pad(0)[t - 1, i])
//
// where all that is read lies a fixed number of steps before, as a let of tuples (Recurrence.cpp),
//
//   let hc[t, i]: (h: f32, c: f32) = (f(hc.pad(0)[t - 1, i].h, ..), g(hc[t, i].h, ..))
//   h[t, i] = hc[t, i].h
//
// and otherwise as one tensor whose steps are those of one after those of the other (Order.cpp): h has the even ones, c the odd ones.
//
//   let hc[t, i] = f(..) if t % 2 == 0 else g(..)          of which each reads element t - 1 of c as hc[t - 1], of h as hc[t - 2]
//   h[t, i] = hc[2 * t, i]
//
// The statements themselves stay, with that tensor on the right: what has to be proved of them is proved of them.
#include "frontend/JoinStatements.h"
#include "frontend/JointMembers.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

/// Which tensors of a kernel need each other.
class GroupFinder {
public:
  explicit GroupFinder(ArrayRef<Statement> body, const Definition &def) : body_(body) {
    llvm::StringSet<> others; // what is written in another way, too, or lies in memory
    for (const Param &p : def.params)
      others.insert(p.name);
    for (const Statement &s : body)
      if (s.kind == Statement::Assign && !mayJoin(s))
        others.insert(s.target);
    for (const Statement &s : body)
      if (mayJoin(s) && !others.contains(s.target)) {
        auto [reads, isNew] = reads_.try_emplace(s.target);
        if (isNew)
          names_.push_back(s.target);
        for (StringRef n : readsOf(s))
          reads->second.insert(n);
      }
  }

  /// Names in the order of their first statements; empty where no tensors need each other.
  SmallVector<StringRef> find() {
    for (StringRef name : names_) {
      llvm::StringSet<> behind = reachedFrom(name);
      SmallVector<StringRef> group;
      if (behind.contains(name))
        llvm::copy_if(names_, std::back_inserter(group),
                      [&](StringRef other) { return behind.contains(other) && reachedFrom(other).contains(name); });
      if (group.size() > 1)
        return group;
    }
    return {};
  }

private:
  llvm::StringSet<> reachedFrom(StringRef name) {
    llvm::StringSet<> seen;
    SmallVector<StringRef> work{name};
    while (!work.empty())
      for (auto &next : reads_[work.pop_back_val()])
        if (reads_.count(next.getKey()) && seen.insert(next.getKey()).second)
          work.push_back(next.getKey());
    return seen;
  }

  ArrayRef<Statement> body_;
  SmallVector<StringRef> names_;
  llvm::StringMap<llvm::StringSet<>> reads_;
};

} // namespace

bool Sema::joinMutual() {
  for (;;) {
    SmallVector<StringRef> group = GroupFinder(kernel.def->body, *kernel.def).find();
    if (group.empty())
      return true;
    std::optional<std::vector<Statement>> body = joinStatements(diags, kernel, kernel.def->body, group);
    if (!body)
      return false;
    Definition &made = kernel.madeDefinitions.emplace_back(*kernel.def);
    made.body = std::move(*body);
    kernel.def = &made;
  }
}

} // namespace kernelc::frontend
