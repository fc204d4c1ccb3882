// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/JointMembers.h"

using namespace mlir;

namespace kernelc::frontend {

bool mayJoin(const Statement &s) {
  return (s.kind == Statement::Let || s.kind == Statement::Assign) && s.op == "=" && s.mode.empty() && s.hasSubscripts &&
         s.type.fields.empty();
}

SmallVector<StringRef> readsOf(const Statement &s) {
  SmallVector<StringRef> names;
  auto take = [&](const Expr *e) {
    visit(e, [&](const Expr *part) {
      if (part->kind == Expr::Access)
        names.push_back(part->text);
    });
  };
  take(s.value);
  for (const Expr *sub : s.subscripts)
    take(sub);
  for (const BracketItem &i : s.where)
    for (const Expr *e : {i.expr, i.lo, i.hi})
      take(e);
  return names;
}

Member makeMember(StringRef name, ArrayRef<Statement> body, const Definition &def) {
  Member m;
  m.name = name;
  for (const Statement &s : body)
    if (mayJoin(s) && s.target == name)
      m.statements.push_back(&s);
  for (const Param &p : def.outputs)
    if (p.name == name)
      m.output = &p;
  return m;
}

} // namespace kernelc::frontend
