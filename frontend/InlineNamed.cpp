// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lets that only name a part of what statements read which are defined together: each of these computes it where it reads it.
#include "frontend/JointMembers.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

class Inliner {
public:
  Inliner(std::vector<Member> &members, TextWriter &text, std::deque<Statement> &made, llvm::StringSet<> &named)
      : members_(members), text_(text), inlined_(made), named_(named) {}

  bool inlineOne() {
    for (Member &m : members_) {
      bool isNamed = !m.output && m.statements.size() == 1 && m.general->type.name.empty() &&
                     llvm::all_of(m.general->where, [](const BracketItem &i) { return bool(i.lo); });
      auto reads = isNamed ? readsOfLet(m) : std::nullopt;
      if (!reads || !meetsNoBracket(m, *reads))
        continue;
      auto onAccess = [&](const Expr *e, Expr *copy, const TextWriter::Names &) -> Expr * {
        if (e->text != m.name)
          return nullptr;
        TextWriter::Names names;
        for (auto [sub, arg] : llvm::zip(m.general->subscripts, copy->args))
          names[sub->text] = arg;
        return text_.copy(
            m.general->value, names, [](const Expr *, Expr *, const TextWriter::Names &) -> Expr * { return nullptr; },
            [](const Expr *, Expr *) {});
      };
      for (Member &reader : members_)
        for (const Statement *&s : reader.statements)
          if (&reader != &m) {
            Statement &made = inlined_.emplace_back(*s);
            made.value = text_.copy(s->value, {}, onAccess, [](const Expr *, Expr *) {});
            reader.general = reader.general == s ? &made : reader.general;
            s = &made;
          }
      named_.insert(m.name);
      members_.erase(members_.begin() + (&m - members_.data()));
      return true;
    }
    return false;
  }

private:
  /// The reads of `m` in the group's text; nothing where one stands in a bracket, has a bounds form or an element that another has.
  std::optional<SmallVector<const Expr *>> readsOfLet(const Member &m) {
    SmallVector<const Expr *> reads;
    bool ok = true;
    auto isRead = [&](const Expr *e) { return e->kind == Expr::Access && e->text == m.name; };
    for (const Member &reader : members_)
      for (const Statement *s : reader.statements)
        visit(s->value, [&](const Expr *e) {
          if (e->kind == Expr::Call && e->hasBracket)
            visit(e, [&](const Expr *inner) { ok &= !isRead(inner); });
          if (!isRead(e))
            return;
          ok &= &reader != &m && e->mode.empty() && e->args.size() == m.general->subscripts.size() &&
                llvm::none_of(reads, [&](const Expr *other) { return areAlike(e, other); });
          reads.push_back(e);
        });
    return ok ? std::optional(reads) : std::nullopt;
  }

  /// Whether no index in the subscripts of `reads` is one that a bracket in the text of `m` declares.
  static bool meetsNoBracket(const Member &m, ArrayRef<const Expr *> reads) {
    bool ok = true;
    visit(m.general->value, [&](const Expr *e) {
      if (e->kind == Expr::Call && e->hasBracket)
        for (StringRef own : declaredNames(e, [](StringRef) { return false; }))
          for (const Expr *read : reads)
            visit(read, [&](const Expr *part) { ok &= part->kind != Expr::Name || part->text != own; });
    });
    return ok;
  }

  std::vector<Member> &members_;
  TextWriter &text_;
  std::deque<Statement> &inlined_;
  llvm::StringSet<> &named_;
};

} // namespace

void inlineNamed(std::vector<Member> &members, TextWriter &text, std::deque<Statement> &made, llvm::StringSet<> &named) {
  Inliner inliner(members, text, made, named);
  while (inliner.inlineOne())
    ;
}

} // namespace kernelc::frontend
